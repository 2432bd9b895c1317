--
-- One search by several processes: the plan, and that the answers are those
-- of one process and of a sequential scan.
--
CREATE FUNCTION parallel_vector(i int) RETURNS real[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT array_agg((hashint4(i * 16 + j) % 1000)::real / 100 ORDER BY j)
	FROM generate_series(1, 8) j
$$;
CREATE TABLE parallel_t (id int PRIMARY KEY, tenant int, v real[]);
INSERT INTO parallel_t
SELECT i, i % 50, parallel_vector(i) FROM generate_series(1, 6000) i;
CREATE INDEX parallel_i ON parallel_t USING ecp (v, tenant)
WITH (cluster_size = 1);
VACUUM ANALYZE parallel_t;
SELECT clusters > 50 AS clusters, levels FROM ecp_index_stats('parallel_i');

-- the answer to a query, and whether it was planned for several processes
CREATE FUNCTION parallel_answer(query text, workers int)
RETURNS TABLE (n bigint, id int, d numeric, planned bool)
LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', workers::text, true);
	EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan;
	RETURN QUERY EXECUTE
		format('SELECT row_number() OVER (), id, round(d::numeric, 4), %L::bool FROM (%s) s',
			   plan::text ~ '"Workers Planned": 2', query);
END
$$;
-- do one process and three give the same rows in the same order?
CREATE FUNCTION parallel_same(query text)
RETURNS TABLE (planned bool, n bigint, same bool) LANGUAGE sql AS $$
	SELECT coalesce(bool_and(p.planned AND NOT a.planned), false), count(*),
		count(*) FILTER (WHERE a.id = p.id AND a.d = p.d) = count(*)
	FROM (SELECT * FROM parallel_answer(query, 0)) a
	FULL JOIN (SELECT * FROM parallel_answer(query, 2)) p USING (n)
$$;

SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET enable_seqscan = off;
SET enable_sort = off;
-- a page is a read
SET effective_cache_size = 1;
ALTER TABLE parallel_t SET (parallel_workers = 2);

EXPLAIN (COSTS OFF)
SELECT id, v <-> '{1,2,3,4,5,6,7,8}' AS d FROM parallel_t
ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 10;

-- the first window; by the target, which may end early, and by a number
SELECT count(*), bool_and(p.planned AND p.d <= a.d) AS no_worse
FROM parallel_answer($$SELECT id, v <-> '{1,2,3,4,5,6,7,8}' AS d
	FROM parallel_t ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 10$$, 2) p
JOIN parallel_answer($$SELECT id, v <-> '{1,2,3,4,5,6,7,8}' AS d
	FROM parallel_t ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 10$$, 0) a USING (n);
SET ecp.probes = 20;
SELECT * FROM parallel_same($$SELECT id, v <-> '{1,2,3,4,5,6,7,8}' AS d
	FROM parallel_t ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 10$$);
SET ecp.iterative_scan = off;
SELECT * FROM parallel_same($$SELECT id, v <-> '{1,2,3,4,5,6,7,8}' AS d
	FROM parallel_t ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 6000$$);
RESET ecp.iterative_scan;
SET ecp.probes = 10000;
SELECT * FROM parallel_same($$SELECT id, v <-> '{1,2,3,4,5,6,7,8}' AS d
	FROM parallel_t ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 6000$$);

-- all clusters: the answer of a sequential scan
CREATE TEMP TABLE exact AS
SELECT id, v <-> '{1,2,3,4,5,6,7,8}' AS d FROM parallel_t;
SELECT count(*), count(*) FILTER (WHERE e.id = p.id) AS same
FROM (SELECT row_number() OVER (ORDER BY d, id) AS n, id FROM exact) e
JOIN (SELECT row_number() OVER () AS n, id FROM
		(SELECT id FROM parallel_t ORDER BY v <-> '{1,2,3,4,5,6,7,8}'
		 LIMIT 6000) s) p USING (n);

-- windows behind the first: each row once, in order or nearly so
SET ecp.probes = 3;
SET ecp.iterative_scan = relaxed_order;
EXPLAIN (COSTS OFF)
SELECT id FROM parallel_t ORDER BY v <-> '{8,7,6,5,4,3,2,1}' LIMIT 6000;
SELECT count(*) = (SELECT count(*) FROM parallel_t) AS complete,
	count(DISTINCT id) = count(*) AS once
FROM (SELECT id FROM parallel_t ORDER BY v <-> '{8,7,6,5,4,3,2,1}'
	  LIMIT 6000) s;
SELECT count(*) = (SELECT count(*) FROM parallel_t WHERE id % 100 = 7) AS complete,
	count(DISTINCT id) = count(*) AS once
FROM (SELECT id FROM parallel_t WHERE id % 100 = 7
	  ORDER BY v <-> '{8,7,6,5,4,3,2,1}' LIMIT 6000) s;
SET ecp.iterative_scan = strict_order;
SELECT count(*) > 100 AS many, count(DISTINCT id) = count(*) AS once,
	count(*) FILTER (WHERE d < before) AS disorder
FROM (SELECT id, d, lag(d) OVER (ROWS UNBOUNDED PRECEDING) AS before FROM
		(SELECT id, v <-> '{8,7,6,5,4,3,2,1}' AS d FROM parallel_t
		 ORDER BY v <-> '{8,7,6,5,4,3,2,1}' LIMIT 1000) s) t;
SET ecp.max_scan_tuples = 500;
SELECT count(*) BETWEEN 100 AND 4000 AS limited
FROM (SELECT id FROM parallel_t ORDER BY v <-> '{8,7,6,5,4,3,2,1}'
	  LIMIT 6000) s;
RESET ecp.max_scan_tuples;
RESET ecp.iterative_scan;
RESET ecp.probes;

-- conditions on the key column widen the first window
EXPLAIN (COSTS OFF)
SELECT id, v <-> '{1,2,3,4,5,6,7,8}' AS d FROM parallel_t WHERE tenant = 7
ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 10;
SELECT * FROM parallel_same($$SELECT id, v <-> '{1,2,3,4,5,6,7,8}' AS d
	FROM parallel_t WHERE tenant = 7
	ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 5$$);
SELECT * FROM parallel_same($$SELECT id, v <-> '{1,2,3,4,5,6,7,8}' AS d
	FROM parallel_t WHERE tenant IN (7, 8)
	ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 5$$);
SELECT count(*) FROM (SELECT id FROM parallel_t WHERE tenant = 77
	ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 5) s;

-- a radius, ordered and not
SET ecp.approximate_radius = on;
EXPLAIN (COSTS OFF)
SELECT id FROM parallel_t WHERE v <-> '{1,2,3,4,5,6,7,8}' < 6;
EXPLAIN (COSTS OFF)
SELECT id, v <-> '{1,2,3,4,5,6,7,8}' AS d FROM parallel_t
WHERE v <-> '{1,2,3,4,5,6,7,8}' < 6
ORDER BY v <-> '{1,2,3,4,5,6,7,8}';
SELECT count(*) = (SELECT count(*) FROM exact WHERE d < 6) AS complete,
	count(DISTINCT id) = count(*) AS once
FROM parallel_t WHERE v <-> '{1,2,3,4,5,6,7,8}' < 6;
SELECT * FROM parallel_same($$SELECT id, v <-> '{1,2,3,4,5,6,7,8}' AS d
	FROM parallel_t WHERE v <-> '{1,2,3,4,5,6,7,8}' < 6
	ORDER BY v <-> '{1,2,3,4,5,6,7,8}'$$);

-- a NULL query promises all rows
SELECT count(*) = (SELECT count(*) FROM parallel_t) AS complete,
	count(DISTINCT id) = count(*) AS once
FROM (SELECT id FROM parallel_t ORDER BY v <-> NULL LIMIT 6000) s;

-- rescans, by workers that start anew
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF)
SELECT o.x, count(*), min(s.id) FROM (VALUES (1), (2), (3)) o(x)
LEFT JOIN (SELECT id FROM parallel_t ORDER BY v <-> '{1,2,3,4,5,6,7,8}'
		   LIMIT 10) s ON s.id > o.x
GROUP BY o.x;
SELECT o.x, count(*) FROM (VALUES (1), (2), (3)) o(x)
LEFT JOIN (SELECT id FROM parallel_t ORDER BY v <-> '{1,2,3,4,5,6,7,8}'
		   LIMIT 10) s ON s.id > o.x
GROUP BY o.x ORDER BY o.x;
RESET enable_material;
RESET enable_hashjoin;
RESET enable_mergejoin;

-- a prepared query, and workers without the leader
SET plan_cache_mode = force_generic_plan;
SET parallel_leader_participation = off;
SET ecp.probes = 20;
PREPARE nearest(real[]) AS
SELECT id FROM parallel_t ORDER BY v <-> $1 LIMIT 10;
EXPLAIN (COSTS OFF) EXECUTE nearest('{1,2,3,4,5,6,7,8}');
CREATE TEMP TABLE prepared AS EXECUTE nearest('{1,2,3,4,5,6,7,8}');
SELECT count(*) FROM prepared JOIN
	(SELECT id FROM exact ORDER BY d LIMIT 10) e USING (id);
DEALLOCATE nearest;
RESET plan_cache_mode;
RESET parallel_leader_participation;
RESET ecp.probes;

-- codes, several levels, vectors that span pages
CREATE TABLE parallel_codes (id int, v real[]);
INSERT INTO parallel_codes
SELECT i, (SELECT array_agg((hashint4(i * 1000 + j) % 1000)::real ORDER BY j)
		   FROM generate_series(1, 100) j) FROM generate_series(1, 2000) i;
CREATE INDEX parallel_codes_i ON parallel_codes USING ecp (v)
WITH (quantizer = rabitq, cluster_size = 4, levels = 3);
VACUUM ANALYZE parallel_codes;
ALTER TABLE parallel_codes SET (parallel_workers = 2);
SELECT format('SELECT id, v <-> %1$L AS d FROM parallel_codes ORDER BY v <-> %1$L LIMIT',
			  v) AS query FROM parallel_codes WHERE id = 7 \gset
SET ecp.probes = 10000;
SELECT * FROM parallel_same(:'query' || ' 2000');
SET ecp.probes = 10;
SELECT * FROM parallel_same(:'query' || ' 20');
RESET ecp.probes;

-- no rows
CREATE TABLE parallel_none (id int, v real[]);
CREATE INDEX ON parallel_none USING ecp (v) WITH (dims = 8);
ALTER TABLE parallel_none SET (parallel_workers = 2);
EXPLAIN (COSTS OFF)
SELECT id FROM parallel_none ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 3;
SELECT id FROM parallel_none ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 3;

-- with the usual costs a search of this size is for one process
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET effective_cache_size;
EXPLAIN (COSTS OFF)
SELECT id, v <-> '{1,2,3,4,5,6,7,8}' AS d FROM parallel_t
ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 10;

DROP TABLE parallel_t, parallel_codes, parallel_none;
DROP FUNCTION parallel_vector, parallel_answer, parallel_same;
