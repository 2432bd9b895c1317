-- Tails: log pages are for intervals of children, so that short ranges read few.
-- before 18 a unique betree comes with a NOTICE (betree_reach)
-- few rows are held back, so that logs take them
SET work_mem = '64kB';
SET client_min_messages = warning;
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;

CREATE FUNCTION key_of(g int) RETURNS int8 IMMUTABLE
RETURN hashint8extended(g, 1) & 1048575;

-- The mean of the blocks that scans of short ranges read, all over the index
-- and of about 100 rows.  Bitmap scans tell the index's blocks from the table's.
-- None is at an end: from version 18 on, the planner scans for those itself.
CREATE FUNCTION tails_blocks(relation text, n int) RETURNS numeric LANGUAGE plpgsql AS $$
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
CREATE FUNCTION tails_rows(relation text, index bool, OUT n bigint, OUT total numeric)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('enable_seqscan', (NOT index)::text, true),
			set_config('enable_bitmapscan', index::text, true);
	EXECUTE format('SELECT count(*), sum(k * 3 + id) FROM %I WHERE k BETWEEN 1000 AND 900000', relation)
		INTO n, total;
	PERFORM set_config('enable_seqscan', 'off', true),
			set_config('enable_bitmapscan', 'on', true);
END $$;

CREATE TABLE tails_btree (id int, k int8) WITH (autovacuum_enabled = off);
CREATE TABLE tails_betree (id int, k int8) WITH (autovacuum_enabled = off);
INSERT INTO tails_btree SELECT g, key_of(g) FROM generate_series(1, 60000) g;
INSERT INTO tails_betree SELECT * FROM tails_btree;
CREATE INDEX tails_btree_k ON tails_btree USING btree (k);
CREATE INDEX tails_betree_k ON tails_betree USING betree (k) WITH (log_pages = 40);
-- the first drain comes early
INSERT INTO tails_betree SELECT g, key_of(g) FROM generate_series(60001, 80000) g;
SELECT betree_flush('tails_betree_k');
INSERT INTO tails_betree SELECT g, key_of(g) FROM generate_series(80001, 88000) g;
INSERT INTO tails_btree SELECT g, key_of(g) FROM generate_series(60001, 88000) g;
VACUUM ANALYZE tails_btree;
VACUUM ANALYZE tails_betree;

-- The plan, and that one node has a log of many pages.
EXPLAIN (COSTS OFF) SELECT FROM tails_betree WHERE k BETWEEN 507000 AND 508000;
SELECT log_pages > 16 AS long_log FROM betree_node_info('tails_betree_k', 1);

-- A short range reads few of them.
SELECT tails_blocks('tails_betree', 50) < 3.5 * tails_blocks('tails_btree', 50) AS few,
	   tails_blocks('tails_betree', 50) AS blocks \gset
\if :few
\echo few
\else
\echo :blocks
\endif

-- The blocks of the index that "rows" rows from 20 keys on take, as the session
-- counts them
CREATE FUNCTION tails_limit(relation text, rows int) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	index oid := (relation || '_k')::regclass;
	before bigint := pg_stat_get_xact_blocks_fetched(index);
BEGIN
	FOR i IN 1 .. 20 LOOP
		EXECUTE format('SELECT count(*) FROM (SELECT k FROM %I WHERE k >= %s ORDER BY k LIMIT %s) s',
					   relation, (i * 1048575::int8) / 25, rows);
	END LOOP;
	RETURN (pg_stat_get_xact_blocks_fetched(index) - before) / 20.0;
END $$;
SET enable_bitmapscan = off;
SET enable_indexscan = on;
SET enable_indexonlyscan = on;
EXPLAIN (COSTS OFF) SELECT k FROM tails_betree WHERE k >= 500000 ORDER BY k LIMIT 100;
SELECT tails_limit('tails_betree', 100) < 3.5 * tails_limit('tails_btree', 100) AS few,
	   tails_limit('tails_betree', 3000) < 2.5 * tails_limit('tails_btree', 3000) AS many;
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SELECT betree_index_check('tails_betree_k', true);
SELECT tails_rows('tails_betree', true) = tails_rows('tails_betree', false) AS same_rows;

-- Inserts go on; the blocks stay few.
DO $$
DECLARE
	of_btree numeric := 0;
	of_betree numeric := 0;
	worst numeric := 0;
	blocks numeric;
BEGIN
	FOR i IN 0 .. 39 LOOP
		INSERT INTO tails_betree SELECT g, key_of(g)
			FROM generate_series(88001 + i * 1500, 88000 + (i + 1) * 1500) g;
		INSERT INTO tails_btree SELECT g, key_of(g)
			FROM generate_series(88001 + i * 1500, 88000 + (i + 1) * 1500) g;
		blocks := tails_blocks('tails_betree', 40);
		worst := greatest(worst, blocks);
		of_betree := of_betree + blocks;
		of_btree := of_btree + tails_blocks('tails_btree', 40);
		IF i % 8 = 3 THEN
			PERFORM betree_index_check('tails_betree_k', true);
		END IF;
	END LOOP;
	RAISE INFO 'mean at most 2.6 times btree''s: %', of_betree <= 2.6 * of_btree;
	IF of_betree > 2.6 * of_btree OR worst > 16 THEN
		RAISE INFO 'mean % and %, worst %', of_betree / 40, of_btree / 40, worst;
	END IF;
END $$;
SELECT tails_rows('tails_betree', true) = tails_rows('tails_betree', false) AS same_rows,
	   tails_rows('tails_betree', true) = tails_rows('tails_btree', false) AS as_btree;

-- Backward, in order, by LIMIT: the same rows.
SET enable_indexscan = on;
SET enable_bitmapscan = off;
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT k FROM tails_betree WHERE k > 500000 ORDER BY k LIMIT 100;
EXPLAIN (COSTS OFF) SELECT k FROM tails_betree WHERE k < 500000 ORDER BY k DESC LIMIT 100;
SELECT (SELECT array_agg(k) FROM (SELECT k FROM tails_betree WHERE k > low ORDER BY k LIMIT 500) s) =
	   (SELECT array_agg(k) FROM (SELECT k FROM tails_btree WHERE k > low ORDER BY k LIMIT 500) s) AS ascending,
	   (SELECT array_agg(k) FROM (SELECT k FROM tails_betree WHERE k < low ORDER BY k DESC LIMIT 500) s) =
	   (SELECT array_agg(k) FROM (SELECT k FROM tails_btree WHERE k < low ORDER BY k DESC LIMIT 500) s) AS descending
FROM generate_series(100000, 1000000, 180000) low;

-- Lookups, by the filters, find what the log holds.
CREATE TABLE tails_keys AS SELECT g, key_of(g) AS k FROM generate_series(1, 148000, 31) g;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET enable_memoize = off;
SET enable_seqscan = on;
EXPLAIN (COSTS OFF)
SELECT count(*) FROM tails_keys a, LATERAL (SELECT FROM tails_betree b WHERE b.k = a.k AND b.id = a.g OFFSET 0) x;
SELECT count(*) = (SELECT count(*) FROM tails_keys) AS all_found
FROM tails_keys a, LATERAL (SELECT FROM tails_betree b WHERE b.k = a.k AND b.id = a.g OFFSET 0) x;

-- VACUUM cleans the log; the leaves that it frees move the children behind them.
DELETE FROM tails_betree WHERE id % 3 = 0 OR k BETWEEN 200000 AND 400000;
DELETE FROM tails_btree WHERE id % 3 = 0 OR k BETWEEN 200000 AND 400000;
VACUUM tails_betree;
SELECT betree_index_check('tails_betree_k', true);
SELECT tails_rows('tails_betree', true) = tails_rows('tails_btree', false) AS same_rows;
SELECT betree_flush('tails_betree_k');
VACUUM tails_betree;
SELECT betree_index_check('tails_betree_k', true);
SELECT tails_rows('tails_betree', true) = tails_rows('tails_btree', false) AS same_rows;

-- Leaves that are freed while the log has messages for others
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SET enable_seqscan = off;
INSERT INTO tails_betree SELECT g, 500000 + key_of(g) / 4 FROM generate_series(1, 9000) g;
INSERT INTO tails_btree SELECT g, 500000 + key_of(g) / 4 FROM generate_series(1, 9000) g;
SELECT tails_blocks('tails_betree', 40) > 0 AS scanned;
DELETE FROM tails_betree WHERE k < 450000;
DELETE FROM tails_btree WHERE k < 450000;
VACUUM tails_betree;
VACUUM tails_betree;
SELECT betree_index_check('tails_betree_k', true);
SELECT tails_rows('tails_betree', true) = tails_rows('tails_btree', false) AS same_rows;

-- All messages for one child: one tail is enough.
CREATE TABLE tails_one (id int, k int8) WITH (autovacuum_enabled = off);
INSERT INTO tails_one SELECT g, g FROM generate_series(1, 60000) g;
CREATE INDEX tails_one_k ON tails_one USING betree (k) WITH (log_pages = 40);
INSERT INTO tails_one SELECT g, g FROM generate_series(60001, 66000) g;
VACUUM ANALYZE tails_one;
SELECT tails_blocks('tails_one', 4) > 0 AS scanned;
SELECT betree_index_check('tails_one_k', true);
SELECT tails_rows('tails_one', true) = tails_rows('tails_one', false) AS same_rows;

-- nodes split, and each half goes on with its part of the log
CREATE TABLE tails_wide (id int, k int8, s text) WITH (autovacuum_enabled = off);
ALTER TABLE tails_wide ALTER s SET STORAGE PLAIN;
INSERT INTO tails_wide SELECT g, key_of(g), repeat('x', 150) FROM generate_series(1, 20000) g;
CREATE INDEX tails_wide_k ON tails_wide USING betree (k, s) WITH (log_pages = 40);
DO $$
BEGIN
	FOR i IN 0 .. 19 LOOP
		INSERT INTO tails_wide SELECT g, key_of(g), repeat('x', 150)
			FROM generate_series(20001 + i * 1000, 20000 + (i + 1) * 1000) g;
		IF i = 0 THEN
			ANALYZE tails_wide;
		END IF;
		PERFORM tails_blocks('tails_wide', 40);
		IF i % 4 = 1 THEN
			PERFORM betree_index_check('tails_wide_k', true);
		END IF;
	END LOOP;
END $$;
SELECT nodes > 4 AS has_split FROM betree_index_stats('tails_wide_k');
SELECT tails_rows('tails_wide', true) = tails_rows('tails_wide', false) AS same_rows;
SELECT betree_index_check('tails_wide_k', true);

-- A unique index finds the keys that its runs have.
CREATE TABLE tails_unique (id int, k int8) WITH (autovacuum_enabled = off);
CREATE UNIQUE INDEX tails_unique_k ON tails_unique USING betree (k) WITH (log_pages = 40);
INSERT INTO tails_unique SELECT g, g * 7919::int8 % 1000003 FROM generate_series(1, 30000) g;
SELECT betree_flush('tails_unique_k');
INSERT INTO tails_unique SELECT g, g * 7919::int8 % 1000003 FROM generate_series(30001, 38000) g;
ANALYZE tails_unique;
SELECT tails_blocks('tails_unique', 2) > 0 AS scanned, tails_blocks('tails_unique', 40) < 8 AS few;
INSERT INTO tails_unique SELECT g, g * 7919::int8 % 1000003 FROM generate_series(38001, 41000) g;
SELECT tails_blocks('tails_unique', 40) > 0 AS scanned;
DO $$
DECLARE
	refused int := 0;
BEGIN
	FOR i IN 1 .. 41000 BY 80 LOOP
		BEGIN
			INSERT INTO tails_unique VALUES (0, i * 7919::int8 % 1000003);
		EXCEPTION WHEN unique_violation THEN
			refused := refused + 1;
		END;
	END LOOP;
	RAISE INFO '% of 513 refused', refused;
END $$;
SELECT betree_index_check('tails_unique_k', true);

DROP TABLE tails_btree, tails_betree, tails_keys, tails_one, tails_wide, tails_unique;
DROP FUNCTION tails_blocks, tails_limit, tails_rows, key_of;

-- room that is taken for eight items at once, where items have many sizes: item
-- pointers come to where zeros are
CREATE TABLE room (n int, s text);
CREATE INDEX room_s ON room USING betree (s) WITH (log_pages = 8);
DO $$ BEGIN
	FOR i IN 1 .. 1500 LOOP
		INSERT INTO room SELECT i, repeat(chr(97 + (hashint4(i) & 15)),
			(ARRAY[1, 3, 9, 30, 100, 300])[1 + (hashint4(-i) & 65535) % 6])
			FROM generate_series(1, 1 + i % 7);
	END LOOP;
END $$;
SELECT betree_index_check('room_s', true);
DROP TABLE room;
