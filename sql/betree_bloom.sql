-- Bloom filters of the leaves: lookups of absent keys read no leaf, and those
-- of the others find every row, whatever has happened to the leaves.
-- before 18 a unique betree comes with a NOTICE (betree_reach)
-- few rows are held back, so that logs take them
SET work_mem = '64kB';
SET client_min_messages = warning;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
SET enable_material = off;

-- leaves, and slots of Bloom filters
CREATE FUNCTION slots(index regclass, OUT leaves bigint, OUT slots bigint, OUT pages bigint)
RETURN (SELECT (count(*) FILTER (WHERE kind = 'leaf'), coalesce(sum(items) FILTER (WHERE kind = 'bloom'), 0),
				count(*) FILTER (WHERE kind = 'bloom'))
		FROM generate_series(1, pg_relation_size(index) /
							 current_setting('block_size')::bigint - 1) AS b (block),
			 betree_node_info(index, b.block));

CREATE TABLE bloom_t (id int, k int8, s text, n numeric, d int8);
INSERT INTO bloom_t
SELECT g, hashint8extended(g, 0), 'key ' || hashint4(g), round((g % 900) / 7.0, g % 5), g % 11
FROM generate_series(1, 15000) g;
CREATE INDEX bloom_k ON bloom_t USING betree (k) WITH (bloom = on);
CREATE INDEX bloom_s ON bloom_t USING betree (s) INCLUDE (id) WITH (bloom = on, log_pages = 4);
CREATE INDEX bloom_nd ON bloom_t USING betree (n, d DESC) WITH (bloom = on, log_pages = 0);
SELECT relname, reloptions FROM pg_class WHERE relname ~ '^bloom_' AND relkind = 'i' ORDER BY relname;
SELECT index, leaves = slots AS all_have, pages = bloom_pages AS counted, spare_pages
FROM unnest(ARRAY['bloom_k', 'bloom_s', 'bloom_nd']) index, slots(index::regclass),
	 LATERAL (SELECT bloom_pages, spare_pages FROM betree_index_stats(index::regclass)) s;
SELECT betree_index_check(index::regclass, true)
FROM unnest(ARRAY['bloom_k', 'bloom_s', 'bloom_nd']) index;

-- one row of ten is looked up, and found
CREATE FUNCTION lookups() RETURNS TABLE (of text, rows bigint, found bigint)
BEGIN ATOMIC
	SELECT 'k', count(*), (SELECT count(*) FROM bloom_t a,
		LATERAL (SELECT b.id FROM bloom_t b WHERE b.k = a.k AND b.id = a.id OFFSET 0) x
		WHERE a.id % 10 = 1) FROM bloom_t WHERE id % 10 = 1
	UNION ALL
	SELECT 's', count(*), (SELECT count(*) FROM bloom_t a,
		LATERAL (SELECT b.n FROM bloom_t b WHERE b.s = a.s AND b.id = a.id OFFSET 0) x
		WHERE a.id % 10 = 1) FROM bloom_t WHERE id % 10 = 1
	UNION ALL
	SELECT 'nd', count(*), (SELECT sum(x.c) FROM (SELECT DISTINCT n, d FROM bloom_t WHERE d = 3) a,
		LATERAL (SELECT count(b.id) AS c FROM bloom_t b
				 WHERE b.n = a.n::numeric(12, 6) AND b.d = a.d::int2 OFFSET 0) x) FROM bloom_t WHERE d = 3;
END;
EXPLAIN (COSTS OFF) SELECT id FROM bloom_t WHERE k = 1;
EXPLAIN (COSTS OFF) SELECT n FROM bloom_t WHERE s = 'key 1';
EXPLAIN (COSTS OFF) SELECT id FROM bloom_t WHERE n = 1 AND d = 1;
SELECT * FROM lookups();

-- the filters follow: flushes in place, splits, nodes that split, new pages
INSERT INTO bloom_t
SELECT g, hashint8extended(g, 0), 'key ' || hashint4(g), round((g % 900) / 7.0, g % 5), g % 11
FROM generate_series(15001, 60000) g;
SELECT betree_index_check(index::regclass, true)
FROM unnest(ARRAY['bloom_k', 'bloom_s', 'bloom_nd']) index;
SELECT * FROM lookups();
SELECT betree_flush(index::regclass)
FROM unnest(ARRAY['bloom_k', 'bloom_s', 'bloom_nd']) index;
SELECT index, slots > leaves * 0.9 AS most_have, slots <= leaves AS no_others, nodes > 1 AS split
FROM unnest(ARRAY['bloom_k', 'bloom_s', 'bloom_nd']) index, slots(index::regclass),
	 LATERAL (SELECT nodes FROM betree_index_stats(index::regclass)) s;

-- VACUUM frees leaves, which are used again
DELETE FROM bloom_t WHERE id % 3 = 0 OR k BETWEEN 0 AND 5000000000000000000
	OR s BETWEEN 'key 1' AND 'key 6' OR n < 20;
VACUUM bloom_t;
SELECT betree_index_check(index::regclass, true)
FROM unnest(ARRAY['bloom_k', 'bloom_s', 'bloom_nd']) index;
SELECT index, slots <= leaves AS no_others
FROM unnest(ARRAY['bloom_k', 'bloom_s', 'bloom_nd']) index, slots(index::regclass);
INSERT INTO bloom_t
SELECT g, hashint8extended(g, 0), 'key ' || hashint4(g), round((g % 900) / 7.0, g % 5), g % 11
FROM generate_series(60001, 80000) g;
INSERT INTO bloom_t SELECT g FROM generate_series(80001, 80010) g;
SELECT betree_index_check(index::regclass, true)
FROM unnest(ARRAY['bloom_k', 'bloom_s', 'bloom_nd']) index;
SELECT * FROM lookups();
-- NULLs; a key that is not there; another type than the column's
SELECT count(id) FROM bloom_t WHERE k IS NULL;
SELECT count(id) FROM bloom_t WHERE n IS NULL AND d IS NULL;
SELECT count(id) FROM bloom_t WHERE k = 1;
SELECT count(id) FROM bloom_t WHERE s = 'no key';
SELECT count(id), sum(n) FROM bloom_t WHERE n = 100 AND d = 3;
SELECT count(id), sum(n) FROM bloom_t WHERE n + 0 = 100 AND d + 0 = 3;
SELECT betree_flush(index::regclass)
FROM unnest(ARRAY['bloom_k', 'bloom_s', 'bloom_nd']) index;
SELECT betree_index_check(index::regclass, true)
FROM unnest(ARRAY['bloom_k', 'bloom_s', 'bloom_nd']) index;
SELECT * FROM lookups();
DROP FUNCTION lookups;
DROP TABLE bloom_t;

-- Absent keys: how many blocks are read.  No page of a temporary table that has
-- just been indexed is in the session's buffers, and none will be read twice.
CREATE FUNCTION blocks_read(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
	RETURN plan -> 0 -> 'Plan' ->> 'Local Read Blocks';
END $$;
CREATE TEMP TABLE bloom_b (k int8, v text);
INSERT INTO bloom_b SELECT 2 * g, 'v' FROM generate_series(1, 200000) g;
CREATE INDEX bloom_off ON bloom_b USING betree (k);
SELECT leaves > 500 AS leaves, bloom_pages FROM betree_index_stats('bloom_off');
DROP INDEX bloom_off;
CREATE INDEX bloom_off ON bloom_b USING betree (k);
EXPLAIN (COSTS OFF) SELECT FROM generate_series(1, 400000, 400) g,
	LATERAL (SELECT v FROM bloom_b WHERE k = g OFFSET 0) x;
SELECT blocks_read('SELECT FROM generate_series(1, 400000, 400) g,
	LATERAL (SELECT v FROM bloom_b WHERE k = g OFFSET 0) x') > 500 AS reads_leaves;
DROP INDEX bloom_off;
CREATE INDEX bloom_on ON bloom_b USING betree (k) WITH (bloom = on);
EXPLAIN (COSTS OFF) SELECT FROM generate_series(1, 400000, 400) g,
	LATERAL (SELECT v FROM bloom_b WHERE k = g OFFSET 0) x;
-- the root, nodes, Bloom pages, and a leaf for one in a hundred
SELECT blocks_read('SELECT FROM generate_series(1, 400000, 400) g,
	LATERAL (SELECT v FROM bloom_b WHERE k = g OFFSET 0) x') < 100 AS reads_none;
SELECT count(*) FROM generate_series(1, 400000, 13) g,
	LATERAL (SELECT v FROM bloom_b WHERE k = g OFFSET 0) x;
-- the same of plain index scans
DROP INDEX bloom_on;
CREATE INDEX bloom_on ON bloom_b USING betree (k) WITH (bloom = on);
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT FROM generate_series(1, 400000, 400) g,
	LATERAL (SELECT v FROM bloom_b WHERE k = g OFFSET 0) x;
SELECT blocks_read('SELECT FROM generate_series(1, 400000, 400) g,
	LATERAL (SELECT v FROM bloom_b WHERE k = g OFFSET 0) x') < 100 AS reads_none;
RESET enable_indexonlyscan;
-- an insert into a unique index, too, reads no leaf; and finds what is there
DROP INDEX bloom_on;
CREATE UNIQUE INDEX bloom_on ON bloom_b USING betree (k);
SELECT blocks_read('INSERT INTO bloom_b SELECT g, ''odd'' FROM generate_series(1, 400000, 400) g') < 100
	AS reads_none;
INSERT INTO bloom_b VALUES (399602, 'even');
INSERT INTO bloom_b VALUES (399601, 'odd');
-- where keys are there, few lookups ask the filters
CREATE FUNCTION blocks_touched(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
	plan := plan -> 0 -> 'Plan';
	RETURN (plan ->> 'Local Hit Blocks')::int + (plan ->> 'Local Read Blocks')::int;
END $$;
CREATE TEMP TABLE bloom_touched (bloom bool, index_only bool, n int);
CREATE FUNCTION touch(bloom bool) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT FROM generate_series(%s, 400000, 100) g,
		LATERAL (SELECT v FROM bloom_b WHERE k = g OFFSET 0) x';
BEGIN
	EXECUTE format('DROP INDEX bloom_on; CREATE INDEX bloom_on ON bloom_b USING betree (k) WITH (bloom = %s)', bloom);
	FOR round IN 0..1 LOOP
		PERFORM set_config('enable_indexonlyscan', CASE round WHEN 0 THEN 'off' ELSE 'on' END, true);
		PERFORM blocks_touched(format(query, 4));
		INSERT INTO bloom_touched VALUES (bloom, round = 1, blocks_touched(format(query, 4)));
	END LOOP;
END $$;
SELECT touch(false);
SELECT touch(true);
SELECT index_only, b.n < a.n * 1.03 AS few_ask FROM bloom_touched a JOIN bloom_touched b USING (index_only)
WHERE NOT a.bloom AND b.bloom ORDER BY index_only;
-- and where they are absent after that, soon all do
CREATE TEMP TABLE bloom_a (k int8, v text);
INSERT INTO bloom_a SELECT * FROM bloom_b;
CREATE INDEX bloom_again ON bloom_a USING betree (k) WITH (bloom = on);
SELECT blocks_read('SELECT FROM generate_series(2, 400000, 4000) g,
	LATERAL (SELECT v FROM bloom_a WHERE k = g OFFSET 0) x') > 90 AS reads_leaves;
SELECT blocks_read('SELECT FROM generate_series(1001, 400000, 400) g,
	LATERAL (SELECT v FROM bloom_a WHERE k = g OFFSET 0) x') < 200 AS reads_few;
DROP TABLE bloom_a;
DROP TABLE bloom_b;

-- The parameter may change: what is there is maintained, and what is not comes
-- with the next flush, or with the next split if the directory has no room.
CREATE TABLE bloom_c (k int4, v text);
CREATE INDEX bloom_ck ON bloom_c USING betree (k) WITH (log_pages = 4, bloom = on);
INSERT INTO bloom_c SELECT hashint4(g), 'v' FROM generate_series(1, 20000) g;
ALTER INDEX bloom_ck SET (bloom = off);
INSERT INTO bloom_c SELECT hashint4(g), 'v' FROM generate_series(20001, 80000) g;
SELECT betree_flush('bloom_ck');
SELECT betree_index_check('bloom_ck', true);
SELECT slots > leaves * 0.9 AS most_have FROM slots('bloom_ck');
SELECT count(*) FROM generate_series(1, 80000, 13) g,
	LATERAL (SELECT v FROM bloom_c WHERE k = hashint4(g) LIMIT 1 OFFSET 0) x;
REINDEX INDEX bloom_ck;
SELECT slots, pages FROM slots('bloom_ck');
ALTER INDEX bloom_ck SET (bloom = on);
INSERT INTO bloom_c SELECT hashint4(g), 'v' FROM generate_series(80001, 160000) g;
SELECT betree_flush('bloom_ck');
SELECT betree_index_check('bloom_ck', true);
SELECT slots > 0 AS some_have FROM slots('bloom_ck');
SELECT count(*) FROM generate_series(1, 160000, 13) g,
	LATERAL (SELECT v FROM bloom_c WHERE k = hashint4(g) LIMIT 1 OFFSET 0) x;
DROP TABLE bloom_c;

-- a type without a hash function has none; an empty and an unlogged index
CREATE TABLE bloom_x (k tsvector);
CREATE INDEX bloom_xk ON bloom_x USING betree (k) WITH (bloom = on);
INSERT INTO bloom_x
SELECT to_tsvector('simple', 'word' || g % 4000) FROM generate_series(1, 12000) g;
SELECT betree_flush('bloom_xk');
SELECT betree_index_check('bloom_xk', true);
SELECT slots, pages FROM slots('bloom_xk');
SELECT count(*) FROM bloom_x WHERE k = to_tsvector('simple', 'word77');
CREATE UNLOGGED TABLE bloom_u (k int8, EXCLUDE USING betree (k WITH =) WITH (bloom = on, log_pages = 4));
SELECT leaves, slots, pages FROM slots('bloom_u_k_excl');
INSERT INTO bloom_u SELECT hashint4(g) FROM generate_series(1, 12000) g;
INSERT INTO bloom_u VALUES (hashint4(77));
INSERT INTO bloom_u VALUES (hashint4(11111));
SELECT betree_flush('bloom_u_k_excl');
SELECT betree_index_check('bloom_u_k_excl', true);
SELECT leaves = slots AS all_have FROM slots('bloom_u_k_excl');
INSERT INTO bloom_u VALUES (hashint4(77));
DROP TABLE bloom_x, bloom_u;
DROP FUNCTION slots, blocks_read;

-- Bloom pages that others replace are used again before the next VACUUM
CREATE TABLE bloom_g (k int8);
CREATE UNIQUE INDEX bloom_gk ON bloom_g USING betree (k);
INSERT INTO bloom_g SELECT hashint8extended(g, 0) FROM generate_series(1, 200000) g;
SELECT count(*) FILTER (WHERE kind = 'free') < count(*) * 0.05 AS few_free
FROM generate_series(0, pg_relation_size('bloom_gk') / 8192 - 1) b, betree_node_info('bloom_gk', b);
SELECT betree_index_check('bloom_gk', true);
DROP TABLE bloom_g;
