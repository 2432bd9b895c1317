-- Lookups by equality while logs are long: the filters of the sealed pages
-- must lead to every row that is there.
-- few rows are held back, so that logs take them
SET work_mem = '64kB';
SET enable_seqscan = off;

CREATE TABLE filter_t (id int, k int4, s text, n numeric, d int8);
CREATE INDEX filter_k ON filter_t USING betree (k) WITH (log_pages = 24);
CREATE INDEX filter_s ON filter_t USING betree (s) INCLUDE (id) WITH (log_pages = 24);
CREATE INDEX filter_nd ON filter_t USING betree (n, d DESC) WITH (log_pages = 24);
INSERT INTO filter_t
SELECT g, hashint4(g), 'key ' || hashint4(g), round((g % 900) / 7.0, g % 5), g % 11
FROM generate_series(1, 20000) g;
INSERT INTO filter_t SELECT 20000 + g FROM generate_series(1, 10) g;
VACUUM ANALYZE filter_t;

-- there are filter pages
CREATE FUNCTION filter_pages(index regclass) RETURNS bigint
RETURN (SELECT count(*)
		FROM generate_series(1, pg_relation_size(index) /
							 current_setting('block_size')::bigint - 1) AS b (block),
			 betree_node_info(index, b.block) AS i
		WHERE i.kind = 'filter');
SELECT index, filter_pages(index::regclass) > 0 AS has_filters
FROM unnest(ARRAY['filter_k', 'filter_s', 'filter_nd']) index;

-- each row is found: one index scan for each
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_bitmapscan = off;
SET enable_memoize = off;
SET enable_material = off;
EXPLAIN (COSTS OFF)
SELECT count(*) FROM filter_t a, LATERAL (SELECT FROM filter_t b WHERE b.k = a.k OFFSET 0) x;
SELECT count(*) FROM filter_t a, LATERAL (SELECT FROM filter_t b WHERE b.k = a.k OFFSET 0) x;
-- index-only
EXPLAIN (COSTS OFF)
SELECT count(*), sum(x.id - a.id)
FROM filter_t a, LATERAL (SELECT b.id FROM filter_t b WHERE b.s = a.s OFFSET 0) x;
SELECT count(*), sum(x.id - a.id)
FROM filter_t a, LATERAL (SELECT b.id FROM filter_t b WHERE b.s = a.s OFFSET 0) x;
-- of another type than the column
SELECT count(*) FROM filter_t a, LATERAL (SELECT FROM filter_t b WHERE b.k = a.k::int8 OFFSET 0) x;
-- two columns; equal values that look different
SELECT count(*), sum(x.n), sum(x.c)
FROM (SELECT DISTINCT n, d FROM filter_t) a,
	 LATERAL (SELECT n, count(*) AS c FROM filter_t b
			  WHERE b.n = a.n::numeric(12, 6) AND b.d = a.d::int2 GROUP BY n) x;
SELECT count(*), sum(n), count(*) FILTER (WHERE n = 1) FROM filter_t WHERE n IS NOT NULL;
-- nothing there
SELECT count(*) FROM filter_t WHERE k = -1;
SELECT count(*) FROM filter_t WHERE s = 'no key';
-- NULLs
SELECT count(*) FROM filter_t WHERE k IS NULL;
SELECT count(*) FROM filter_t WHERE n IS NULL AND d IS NULL;
-- bitmap scans
SET enable_bitmapscan = on;
SET enable_indexscan = off;
SELECT count(*) FROM filter_t a, LATERAL (SELECT FROM filter_t b WHERE b.k = a.k OFFSET 0) x;
RESET enable_indexscan;

-- A lookup reads few blocks of a long log:
-- root, filter, tail, leaf and what the filter names by chance.
CREATE TABLE filter_b (u uuid);
CREATE INDEX filter_u ON filter_b USING betree (u) WITH (log_pages = 64);
INSERT INTO filter_b SELECT md5(g::text)::uuid FROM generate_series(1, 15000) g;
CREATE FUNCTION blocks_of(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
	plan := plan -> 0 -> 'Plan';
	RETURN (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int;
END $$;
SET enable_bitmapscan = off;
SELECT blocks_of($$SELECT FROM filter_b WHERE u = md5('no')::uuid$$) <= 8 AS equality,
	   blocks_of($$SELECT FROM filter_b WHERE u BETWEEN md5('no')::uuid AND md5('no')::uuid$$) > 16 AS range;

-- a type without a hash function
CREATE TABLE filter_x (k tsvector);
CREATE INDEX filter_xk ON filter_x USING betree (k) WITH (log_pages = 8);
INSERT INTO filter_x
SELECT to_tsvector('simple', 'word' || g % 4000) FROM generate_series(1, 12000) g;
SELECT filter_pages('filter_xk');
SELECT count(*) FROM filter_x WHERE k = to_tsvector('simple', 'word77');

-- EXCLUDE constraints look their rows up
CREATE TABLE filter_e (k int8, EXCLUDE USING betree (k WITH =) WITH (log_pages = 24));
INSERT INTO filter_e SELECT hashint4(g) FROM generate_series(1, 12000) g;
SELECT filter_pages('filter_e_k_excl') > 0 AS has_filters;
INSERT INTO filter_e VALUES (hashint4(77));
INSERT INTO filter_e VALUES (hashint4(11111));

-- splits, drains, VACUUM
DELETE FROM filter_t WHERE id % 3 = 0;
VACUUM filter_t;
INSERT INTO filter_t
SELECT g, hashint4(g), 'key ' || hashint4(g), round((g % 900) / 7.0, g % 5), g % 11
FROM generate_series(30001, 90000) g;
SELECT count(*) FROM generate_series(1, 91000, 7) g,
	 LATERAL (SELECT FROM filter_t b WHERE b.k = hashint4(g) OFFSET 0) x;
SELECT count(*) FROM generate_series(1, 91000, 7) g
WHERE g <= 20000 AND g % 3 <> 0 OR g BETWEEN 30001 AND 90000;
SELECT betree_index_check(index::regclass, true)
FROM unnest(ARRAY['filter_k', 'filter_s', 'filter_nd', 'filter_u', 'filter_xk',
				  'filter_e_k_excl']) index;

-- A session reads the root once, then remembers it: until a split, here.
CREATE TABLE filter_r (k text, id int);
ALTER TABLE filter_r ALTER k SET STORAGE PLAIN;
INSERT INTO filter_r SELECT lpad(g::text, 400, 'x'), g FROM generate_series(2, 6000, 2) g;
CREATE INDEX filter_rk ON filter_r USING betree (k);
SELECT height >= 2 AS high FROM betree_index_stats('filter_rk');
SET enable_bitmapscan = off;
SELECT blocks_of($$SELECT FROM filter_r WHERE k = lpad('3000', 400, 'x')$$) > 0 AS warm;
SELECT blocks_of($$SELECT FROM filter_r WHERE k = lpad('3000', 400, 'x')$$) AS few \gset
-- which a serializable transaction does not
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT blocks_of($$SELECT FROM filter_r WHERE k = lpad('3000', 400, 'x')$$) - :few AS more;
COMMIT;
INSERT INTO filter_r SELECT lpad(g::text, 400, 'x'), g FROM generate_series(1, 6000, 2) g;
EXPLAIN (COSTS OFF)
SELECT count(*), sum(id) FROM generate_series(1, 6000) g, LATERAL (SELECT id FROM filter_r WHERE k = lpad(g::text, 400, 'x') OFFSET 0) x;
SELECT count(*), sum(id) FROM generate_series(1, 6000) g, LATERAL (SELECT id FROM filter_r WHERE k = lpad(g::text, 400, 'x') OFFSET 0) x;
SELECT betree_index_check('filter_rk', true);
DROP TABLE filter_t, filter_b, filter_x, filter_e, filter_r;
DROP FUNCTION filter_pages, blocks_of;
