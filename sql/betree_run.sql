-- Runs: short ranges merge the log pages that they meet, and then read few.
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;

CREATE FUNCTION key_of(g int) RETURNS int8 IMMUTABLE
RETURN hashint8extended(g, 1) & 1048575;

-- The mean of the blocks that scans of short ranges read, all over the index
-- and of about 100 rows.  Bitmap scans tell the index's blocks from the table's.
-- None is at an end: from version 18 on, the planner scans for those itself.
CREATE FUNCTION run_blocks(relation text, n int) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
	rows int := (SELECT reltuples FROM pg_class WHERE oid = relation::regclass);
	low int8;
	blocks int := 0;
BEGIN
	FOR i IN 1 .. n LOOP
		low := (2 * i - 1) * 1048575::int8 / (2 * n);
		EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)'
					   || ' SELECT FROM %I WHERE k BETWEEN %s AND %s',
					   relation, low, low + 1048575::int8 * 100 / rows) INTO plan;
		plan := plan -> 0 -> 'Plan' -> 'Plans' -> 0;
		IF plan ->> 'Node Type' <> 'Bitmap Index Scan' THEN
			RAISE EXCEPTION 'another plan: %', plan;
		END IF;
		blocks := blocks + (plan ->> 'Shared Hit Blocks')::int
				  + (plan ->> 'Shared Read Blocks')::int;
	END LOOP;
	RETURN blocks::numeric / n;
END $$;

-- what a scan through the index finds, and one without it
CREATE FUNCTION run_rows(relation text, index bool, OUT n bigint, OUT total numeric)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', (NOT index)::text, true),
			set_config('enable_bitmapscan', index::text, true);
	EXECUTE format('SELECT count(*), sum(k * 3 + id) FROM %I WHERE k BETWEEN 1000 AND 900000', relation)
		INTO n, total;
	PERFORM set_config('enable_seqscan', 'off', true),
			set_config('enable_bitmapscan', 'on', true);
END $$;

CREATE TABLE run_btree (id int, k int8) WITH (autovacuum_enabled = off);
CREATE TABLE run_betree (id int, k int8) WITH (autovacuum_enabled = off);
INSERT INTO run_btree SELECT g, key_of(g) FROM generate_series(1, 60000) g;
INSERT INTO run_betree SELECT * FROM run_btree;
CREATE INDEX run_btree_k ON run_btree USING btree (k);
CREATE INDEX run_betree_k ON run_betree USING betree (k) WITH (log_pages = 40);
-- the first drain comes early
INSERT INTO run_betree SELECT g, key_of(g) FROM generate_series(60001, 80000) g;
SELECT betree_flush('run_betree_k');
INSERT INTO run_betree SELECT g, key_of(g) FROM generate_series(80001, 88000) g;
INSERT INTO run_btree SELECT g, key_of(g) FROM generate_series(60001, 88000) g;
VACUUM ANALYZE run_btree;
VACUUM ANALYZE run_betree;

-- The plan, and that one node has a log of many pages.
EXPLAIN (COSTS OFF) SELECT FROM run_betree WHERE k BETWEEN 507000 AND 508000;
SELECT log_pages > 16 AS long_log FROM betree_node_info('run_betree_k', 1);

-- The first scan reads all pages, the second merges them, others read few.
SELECT run_blocks('run_betree', 1) > 20 AS first, run_blocks('run_betree', 1) > 50 AS merges;
SELECT run_blocks('run_betree', 50) < 2.5 * run_blocks('run_btree', 50) AS few;
SELECT betree_index_check('run_betree_k', true);
SELECT run_rows('run_betree', true) = run_rows('run_betree', false) AS same_rows;

-- Inserts go on; the scans among them keep the blocks few.
DO $$
DECLARE
	of_btree numeric := 0;
	of_betree numeric := 0;
	worst numeric := 0;
	blocks numeric;
BEGIN
	FOR i IN 0 .. 39 LOOP
		INSERT INTO run_betree SELECT g, key_of(g)
			FROM generate_series(88001 + i * 1500, 88000 + (i + 1) * 1500) g;
		INSERT INTO run_btree SELECT g, key_of(g)
			FROM generate_series(88001 + i * 1500, 88000 + (i + 1) * 1500) g;
		blocks := run_blocks('run_betree', 40);
		worst := greatest(worst, blocks);
		of_betree := of_betree + blocks;
		of_btree := of_btree + run_blocks('run_btree', 40);
		IF i % 8 = 3 THEN
			PERFORM betree_index_check('run_betree_k', true);
		END IF;
	END LOOP;
	RAISE NOTICE 'mean at most 2.5 times btree''s: %', of_betree <= 2.5 * of_btree;
	IF of_betree > 2.5 * of_btree OR worst > 16 THEN
		RAISE NOTICE 'mean % and %, worst %', of_betree / 40, of_btree / 40, worst;
	END IF;
END $$;
SELECT run_rows('run_betree', true) = run_rows('run_betree', false) AS same_rows,
	   run_rows('run_betree', true) = run_rows('run_btree', false) AS as_btree;

-- Backward, in order, by LIMIT: the same rows.
SET enable_indexscan = on;
SET enable_bitmapscan = off;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT k FROM run_betree WHERE k > 500000 ORDER BY k LIMIT 100;
EXPLAIN (COSTS OFF) SELECT k FROM run_betree WHERE k < 500000 ORDER BY k DESC LIMIT 100;
SELECT (SELECT array_agg(k) FROM (SELECT k FROM run_betree WHERE k > low ORDER BY k LIMIT 500) s) =
	   (SELECT array_agg(k) FROM (SELECT k FROM run_btree WHERE k > low ORDER BY k LIMIT 500) s) AS ascending,
	   (SELECT array_agg(k) FROM (SELECT k FROM run_betree WHERE k < low ORDER BY k DESC LIMIT 500) s) =
	   (SELECT array_agg(k) FROM (SELECT k FROM run_btree WHERE k < low ORDER BY k DESC LIMIT 500) s) AS descending
FROM generate_series(100000, 1000000, 180000) low;

-- Lookups, by the filters, find what the runs hold.
CREATE TABLE run_keys AS SELECT g, key_of(g) AS k FROM generate_series(1, 148000, 31) g;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SET enable_seqscan = on;
EXPLAIN (COSTS OFF)
SELECT count(*) FROM run_keys a, LATERAL (SELECT FROM run_betree b WHERE b.k = a.k AND b.id = a.g OFFSET 0) x;
SELECT count(*) = (SELECT count(*) FROM run_keys) AS all_found
FROM run_keys a, LATERAL (SELECT FROM run_betree b WHERE b.k = a.k AND b.id = a.g OFFSET 0) x;

-- VACUUM cleans runs; the leaves that it frees move the children behind them.
DELETE FROM run_betree WHERE id % 3 = 0 OR k BETWEEN 200000 AND 400000;
DELETE FROM run_btree WHERE id % 3 = 0 OR k BETWEEN 200000 AND 400000;
VACUUM run_betree;
SELECT betree_index_check('run_betree_k', true);
SELECT run_rows('run_betree', true) = run_rows('run_btree', false) AS same_rows;
SELECT betree_flush('run_betree_k');
VACUUM run_betree;
SELECT betree_index_check('run_betree_k', true);
SELECT run_rows('run_betree', true) = run_rows('run_btree', false) AS same_rows;

-- Leaves that are freed while a run has messages for others
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SET enable_seqscan = off;
INSERT INTO run_betree SELECT g, 500000 + key_of(g) / 4 FROM generate_series(1, 9000) g;
INSERT INTO run_btree SELECT g, 500000 + key_of(g) / 4 FROM generate_series(1, 9000) g;
SELECT run_blocks('run_betree', 40) > 0 AS scanned;
DELETE FROM run_betree WHERE k < 450000;
DELETE FROM run_btree WHERE k < 450000;
VACUUM run_betree;
VACUUM run_betree;
SELECT betree_index_check('run_betree_k', true);
SELECT run_rows('run_betree', true) = run_rows('run_btree', false) AS same_rows;

-- All messages for one child: no run can be made, and no scan tries again.
CREATE TABLE run_one (id int, k int8) WITH (autovacuum_enabled = off);
INSERT INTO run_one SELECT g, g FROM generate_series(1, 60000) g;
CREATE INDEX run_one_k ON run_one USING betree (k) WITH (log_pages = 40);
INSERT INTO run_one SELECT g, g FROM generate_series(60001, 66000) g;
VACUUM ANALYZE run_one;
SELECT run_blocks('run_one', 4) > 0 AS scanned;
SELECT betree_index_check('run_one_k', true);
SELECT run_rows('run_one', true) = run_rows('run_one', false) AS same_rows;

-- nodes split, and each half goes on with its pages of the run
CREATE TABLE run_wide (id int, k int8, s text) WITH (autovacuum_enabled = off);
ALTER TABLE run_wide ALTER s SET STORAGE PLAIN;
INSERT INTO run_wide SELECT g, key_of(g), repeat('x', 150) FROM generate_series(1, 20000) g;
CREATE INDEX run_wide_k ON run_wide USING betree (k, s) WITH (log_pages = 40);
DO $$
BEGIN
	FOR i IN 0 .. 19 LOOP
		INSERT INTO run_wide SELECT g, key_of(g), repeat('x', 150)
			FROM generate_series(20001 + i * 1000, 20000 + (i + 1) * 1000) g;
		IF i = 0 THEN
			ANALYZE run_wide;
		END IF;
		PERFORM run_blocks('run_wide', 40);
		IF i % 4 = 1 THEN
			PERFORM betree_index_check('run_wide_k', true);
		END IF;
	END LOOP;
END $$;
SELECT nodes > 4 AS has_split FROM betree_index_stats('run_wide_k');
SELECT run_rows('run_wide', true) = run_rows('run_wide', false) AS same_rows;
SELECT betree_index_check('run_wide_k', true);

-- A unique index finds the keys that its runs have.
CREATE TABLE run_unique (id int, k int8) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX run_unique_k ON run_unique USING betree (k) WITH (log_pages = 40);
INSERT INTO run_unique SELECT g, g * 7919::int8 % 1000003 FROM generate_series(1, 30000) g;
SELECT betree_flush('run_unique_k');
INSERT INTO run_unique SELECT g, g * 7919::int8 % 1000003 FROM generate_series(30001, 38000) g;
ANALYZE run_unique;
SELECT run_blocks('run_unique', 2) > 0 AS merges, run_blocks('run_unique', 40) < 8 AS few;
INSERT INTO run_unique SELECT g, g * 7919::int8 % 1000003 FROM generate_series(38001, 41000) g;
SELECT run_blocks('run_unique', 40) > 0 AS merges;
DO $$
DECLARE
	refused int := 0;
BEGIN
	FOR i IN 1 .. 41000 BY 80 LOOP
		BEGIN
			INSERT INTO run_unique VALUES (0, i * 7919::int8 % 1000003);
		EXCEPTION WHEN unique_violation THEN
			refused := refused + 1;
		END;
	END LOOP;
	RAISE NOTICE '% of 513 refused', refused;
END $$;
SELECT betree_index_check('run_unique_k', true);

DROP TABLE run_btree, run_betree, run_keys, run_one, run_wide, run_unique;
DROP FUNCTION run_blocks, run_rows, key_of;
