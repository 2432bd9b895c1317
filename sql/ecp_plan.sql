--
-- When the planner takes an ecp index, and when not.
--
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\i :explain
CREATE TABLE plan_t (id int PRIMARY KEY, kind int, v real[]);
INSERT INTO plan_t
SELECT i, i % 1000,
	ARRAY[(i * 7919) % 1009, (i * 104729) % 997, (i * 1299709) % 991,
		  (i * 15485863) % 983]::real[]
FROM generate_series(1, 20000::bigint) i;
CREATE INDEX plan_kind ON plan_t (kind);
CREATE INDEX plan_v ON plan_t USING ecp (v);
VACUUM ANALYZE plan_t;

CREATE FUNCTION plan_cost(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN (plan -> 0 -> 'Plan' ->> 'Total Cost')::float8;
END $$;
-- for a small LIMIT, whatever the settings of the search
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}' LIMIT 10;
SET ecp.probes = 1;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}' LIMIT 10;
RESET ecp.probes;
SET ecp.iterative_scan = off;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}' LIMIT 10;
RESET ecp.iterative_scan;

-- with a filter that is not very selective
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t WHERE kind < 200 ORDER BY v <-> '{1,2,3,4}' LIMIT 10;

-- of which more rows must be read until one passes, at a cost without steps
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SELECT max(cost / before::float8) < 1.2 AS smooth, max(cost) > 3 * min(cost) AS steep
FROM (SELECT cost, lag(cost) OVER (ORDER BY n DESC) AS before
	  FROM generate_series(15, 150) n,
		plan_cost('SELECT id FROM plan_t WHERE kind < ' || n || $$ ORDER BY v <-> '{1,2,3,4}' LIMIT 10$$) cost) c;
RESET enable_sort;
RESET enable_bitmapscan;
RESET enable_seqscan;

-- not against a very selective filter with its own index
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t WHERE kind = 7 ORDER BY v <-> '{1,2,3,4}' LIMIT 10;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t WHERE id = 7 ORDER BY v <-> '{1,2,3,4}' LIMIT 10;

-- not for all rows, were it the cheapest: strict_order would drop some
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}';
SET random_page_cost = 0;
SET seq_page_cost = 1000;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}';
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t WHERE kind < 200 AND v <-> '{1,2,3,4}' < 500 ORDER BY v <-> '{1,2,3,4}';
-- but by relaxed_order, which drops none, unless it is limited
SET ecp.iterative_scan = relaxed_order;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}';
SET ecp.max_scan_tuples = 100;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}';
RESET ecp.max_scan_tuples;
RESET ecp.iterative_scan;
-- for the first of them; all of them through a cursor
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}' LIMIT 3;
EXPLAIN (COSTS OFF)
DECLARE c CURSOR FOR SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}';
-- window functions say which are the first, if they have one order and look back
SELECT * FROM pg_temp.explain($$
SELECT id, row_number() OVER (ORDER BY v <-> '{1,2,3,4}') FROM plan_t LIMIT 3$$);
SELECT * FROM pg_temp.explain($$
SELECT * FROM (SELECT id, rank() OVER w, row_number() OVER w FROM plan_t
	WINDOW w AS (ORDER BY v <-> '{1,2,3,4}')) s LIMIT 3$$);
SELECT * FROM pg_temp.explain($$
SELECT id, count(*) OVER (ORDER BY v <-> '{1,2,3,4}' ROWS BETWEEN CURRENT ROW
	AND UNBOUNDED FOLLOWING) FROM plan_t LIMIT 3$$);
SELECT * FROM pg_temp.explain($$
SELECT id, row_number() OVER (ORDER BY v <-> '{1,2,3,4}'), rank() OVER (ORDER BY id)
FROM plan_t LIMIT 3$$);
RESET seq_page_cost;
RESET random_page_cost;

-- not without ORDER BY, even if nothing else is liked
SET enable_seqscan = off;
SELECT * FROM pg_temp.explain($$SELECT id FROM plan_t WHERE v IS NULL$$);
SELECT * FROM pg_temp.explain($$SELECT v FROM plan_t$$);
SELECT * FROM pg_temp.explain($$SELECT id FROM plan_t WHERE v = '{1,2,3,4}'$$);
RESET enable_seqscan;
CREATE INDEX plan_partial ON plan_t USING ecp (v) WHERE kind = 7;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM plan_t WHERE kind = 7;
RESET enable_bitmapscan;
RESET enable_seqscan;

-- a partial index for its condition
DROP INDEX plan_kind;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t WHERE kind = 7 ORDER BY v <-> '{1,2,3,4}' LIMIT 3;
DROP INDEX plan_partial;

-- not for what its operator class does not order, or orders otherwise
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t ORDER BY v <#> '{1,2,3,4}' LIMIT 10;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}' DESC LIMIT 10;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}', v <-> '{4,3,2,1}' LIMIT 10;
-- the distance from either side
EXPLAIN (COSTS OFF)
SELECT id FROM plan_t ORDER BY '{1,2,3,4}'::real[] <-> v LIMIT 10;

-- a nested loop of searches
EXPLAIN (COSTS OFF)
SELECT a.id, n.id FROM plan_t a,
	LATERAL (SELECT id FROM plan_t b ORDER BY b.v <-> a.v LIMIT 2) n
WHERE a.id < 20;

-- a small table is read as a whole
CREATE TABLE plan_small (id int, v real[]);
INSERT INTO plan_small SELECT id, v FROM plan_t WHERE id <= 20;
CREATE INDEX plan_small_v ON plan_small USING ecp (v);
ANALYZE plan_small;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_small ORDER BY v <-> '{1,2,3,4}' LIMIT 1;

-- one of 3,000 rows is not
CREATE TABLE plan_medium (id int, v real[]);
INSERT INTO plan_medium SELECT id, v FROM plan_t WHERE id <= 3000;
CREATE INDEX plan_medium_v ON plan_medium USING ecp (v);
ANALYZE plan_medium;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_medium ORDER BY v <-> '{1,2,3,4}' LIMIT 10;

-- nor is one of 1,000 wide vectors, which other plans fetch from the TOAST table
CREATE FUNCTION plan_centre(dims int) RETURNS real[] LANGUAGE plpgsql STABLE PARALLEL SAFE AS
	'BEGIN RETURN array_fill(500, ARRAY[dims])::real[]; END';
CREATE TABLE plan_wide (id int, v real[], short real[], doc text);
ALTER TABLE plan_wide ALTER doc SET STORAGE external;
INSERT INTO plan_wide
SELECT i, (SELECT array_agg((i * j * 7919) % 1009 ORDER BY j) FROM generate_series(1, 768::bigint) j)::real[],
	ARRAY[i % 101, i % 37], repeat('x', CASE WHEN i % 2 = 0 THEN 100 ELSE 20000 END)
FROM generate_series(1, 1000) i;
CREATE INDEX plan_wide_v ON plan_wide USING ecp (v);
CREATE INDEX plan_wide_a ON plan_wide (id);
EXPLAIN (COSTS OFF) -- before ANALYZE
SELECT id FROM plan_wide ORDER BY v <-> plan_centre(768) LIMIT 10;
ANALYZE plan_wide;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_wide ORDER BY v <-> plan_centre(768) LIMIT 10;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_wide WHERE v <-> plan_centre(768) < 10000
ORDER BY v <-> plan_centre(768) LIMIT 10;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_wide WHERE id > 500 ORDER BY v <-> plan_centre(768) LIMIT 10;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_wide WHERE id < 20 ORDER BY v <-> plan_centre(768) LIMIT 10;
-- all rows within a radius need their distances, too, which is work for several processes
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF)
SELECT count(*) FROM plan_wide WHERE v <-> plan_centre(768) < 10000;
RESET min_parallel_table_scan_size;
-- a sort behind a join computes the distances of the few rows that it leaves
CREATE TABLE plan_few AS SELECT i * 100 AS id FROM generate_series(1, 5) i;
ANALYZE plan_few;
EXPLAIN (COSTS OFF)
SELECT w.id FROM plan_few f JOIN plan_wide w ON w.id + 0 = f.id
ORDER BY v <-> plan_centre(768) LIMIT 10;
EXPLAIN (COSTS OFF)
SELECT w.id FROM plan_few f JOIN plan_wide w ON w.id > f.id
ORDER BY v <-> plan_centre(768) LIMIT 3;
-- and so does one of all rows within a radius
SELECT plan_cost($$SELECT w.id FROM plan_few f JOIN plan_wide w ON w.id < f.id
	WHERE v <-> plan_centre(768) < 1e9 ORDER BY v <-> plan_centre(768)$$) -
	plan_cost($$SELECT w.id FROM plan_few f JOIN plan_wide w ON w.id < f.id
	WHERE v <-> plan_centre(768) < 1e9 ORDER BY w.id$$) > 2000 AS charged;
-- an index that has the column finds the nearest more surely
CREATE INDEX plan_wide_va ON plan_wide USING ecp (v, id);
EXPLAIN (COSTS OFF)
SELECT id FROM plan_wide WHERE id > 500 ORDER BY v <-> plan_centre(768) LIMIT 10;
DROP TABLE plan_few;
DROP INDEX plan_wide_va;
DROP INDEX plan_wide_v;
CREATE INDEX plan_wide_v ON plan_wide USING ecp ((v[1:700]));
EXPLAIN (COSTS OFF)
SELECT id FROM plan_wide ORDER BY v[1:700] <-> plan_centre(700) LIMIT 10;
-- what other columns have there does not matter
SET enable_indexscan = off;
CREATE INDEX plan_wide_s ON plan_wide USING ecp (short);
SELECT plan_cost($$SELECT id FROM plan_wide ORDER BY short <-> '{1,2}'$$) < 400 AS below,
	plan_cost($$SELECT id FROM plan_wide ORDER BY v[1:700] <-> plan_centre(700)$$) > 2000 AS above;
RESET enable_indexscan;

-- partitions are merged
CREATE TABLE plan_parts (id int, v real[]) PARTITION BY HASH (id);
CREATE TABLE plan_part0 PARTITION OF plan_parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE plan_part1 PARTITION OF plan_parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO plan_parts SELECT id, v FROM plan_t;
CREATE INDEX ON plan_parts USING ecp (v);
ANALYZE plan_parts;
EXPLAIN (COSTS OFF)
SELECT id FROM plan_parts ORDER BY v <-> '{1,2,3,4}' LIMIT 10;

-- a distance that only the order wants is not computed
EXPLAIN (VERBOSE, COSTS OFF)
SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}' LIMIT 3;
SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}' LIMIT 3;
EXPLAIN (VERBOSE, COSTS OFF)
SELECT max(s.id) FROM plan_small p,
	LATERAL (SELECT id FROM plan_t ORDER BY v <-> p.v LIMIT 3) s;
SELECT max(s.id) FROM plan_small p,
	LATERAL (SELECT id FROM plan_t ORDER BY v <-> p.v LIMIT 3) s;
-- one that the query returns, or ties are decided by, or rows are sorted by, is
EXPLAIN (VERBOSE, COSTS OFF)
SELECT id, v <-> '{1,2,3,4}' FROM plan_t ORDER BY v <-> '{1,2,3,4}' LIMIT 3;
EXPLAIN (VERBOSE, COSTS OFF)
SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}' FETCH FIRST 3 ROWS WITH TIES;
EXPLAIN (VERBOSE, COSTS OFF)
SELECT id FROM plan_t WHERE id < 5 ORDER BY v <-> '{1,2,3,4}' LIMIT 3;
EXPLAIN (VERBOSE, COSTS OFF)
SELECT id FROM plan_t ORDER BY v <-> '{1,2,3,4}' LIMIT 3 FOR UPDATE;

-- what the catalog says of the column
SELECT p, pg_index_column_has_property('plan_v', 1, p)
FROM unnest(ARRAY['orderable', 'distance_orderable', 'returnable',
				  'search_array', 'search_nulls']) p;
SELECT p, pg_indexam_has_property(oid, p) FROM pg_am,
	unnest(ARRAY['can_order', 'can_unique', 'can_multi_col', 'can_exclude',
				 'can_include']) p
WHERE amname = 'ecp';
SELECT p, pg_index_has_property('plan_v', p)
FROM unnest(ARRAY['clusterable', 'index_scan', 'bitmap_scan',
				  'backward_scan']) p;

-- EXPLAIN (SETTINGS) shows the settings that decide
CREATE FUNCTION pg_temp.settings(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (SETTINGS, FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT s.key || ' = ' || s.value
		FROM json_each_text(plan -> 0 -> 'Settings') s WHERE s.key LIKE 'ecp.%' ORDER BY s.key;
END $$;
SET ecp.iterative_scan = relaxed_order;
SET ecp.max_scan_tuples = 1000;
SET ecp.probes = 3;
SET ecp.target_recall = 0.9;
SET ecp.approximate_radius = on;
SELECT pg_temp.settings('SELECT id FROM plan_t ORDER BY v <-> ''{1,2,3,4}'' LIMIT 3');
RESET ecp.iterative_scan;
RESET ecp.max_scan_tuples;
RESET ecp.probes;
RESET ecp.target_recall;
RESET ecp.approximate_radius;

DROP TABLE plan_t, plan_small, plan_medium, plan_wide, plan_parts;
DROP FUNCTION plan_cost, plan_centre;
