--
-- Many queries at once: ecp_knn_batch() gives what a scan for each query
-- gives, and ecp_knn_exact() what comparing all rows gives.
--
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\i :explain
SET max_parallel_workers_per_gather = 0;

-- vectors in clumps, so that clusters differ; some are equal
CREATE FUNCTION batch_real(i int, dims int) RETURNS real[]
	LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((abs(hashint4(i % 23 * 1000 + d)) % 100 +
					  abs(hashint4(i * 1000 + d)) % 20)::real ORDER BY d)
	FROM generate_series(1, dims) AS d
$$;
CREATE FUNCTION batch_bytes(i int, dims int) RETURNS bytea
	LANGUAGE sql IMMUTABLE AS $$
	SELECT decode(string_agg(lpad(to_hex(x::int), 2, '0'), ''), 'hex')
	FROM unnest(batch_real(i, dims)) AS x
$$;

CREATE TABLE batch_items (id int, r real[], b bytea, wide bytea);
INSERT INTO batch_items
	SELECT i, batch_real(i % 1900, 20), batch_bytes(i % 1900, 20),
		batch_bytes(i % 1900, 700)
	FROM generate_series(1, 2000) AS i;
CREATE TABLE batch_queries (id int, r real[], b bytea, wide bytea);
INSERT INTO batch_queries
	SELECT i, batch_real(i + 5000, 20), batch_bytes(i + 5000, 20),
		batch_bytes(i + 5000, 700)
	FROM generate_series(1, 200) AS i;
VACUUM ANALYZE batch_items;

-- every row of the answers of both ways that the other has not (0 = equal), and whether
-- the function left all queries to scans
CREATE FUNCTION batch_differs(index text, col text, op text, k int,
	items text DEFAULT 'batch_items') RETURNS TABLE (answers bigint, differ bigint, searched bool)
	LANGUAGE plpgsql AS $$
DECLARE
	before bigint := pg_stat_get_xact_numscans(index::regclass);
BEGIN
	EXECUTE format($q$
		WITH scans AS MATERIALIZED (
			SELECT q.id::bigint AS query, t.tid, t.distance,
				row_number() OVER (PARTITION BY q.id) AS rank
			FROM (SELECT * FROM batch_queries ORDER BY id) AS q,
				LATERAL (SELECT ctid AS tid, %2$s %3$s q.%2$s AS distance
						 FROM %5$s ORDER BY %2$s %3$s q.%2$s LIMIT %4$s) AS t
		), batch AS MATERIALIZED (
			SELECT query, tid, distance, rank
			FROM ecp_knn_batch(%1$L, 'SELECT id, %2$s FROM batch_queries', %4$s)
		)
		SELECT (SELECT count(*) FROM batch),
			(SELECT count(*) FROM
				((SELECT query, tid, distance, rank FROM scans
				  EXCEPT SELECT query, tid, distance, rank FROM batch)
				 UNION ALL
				 (SELECT query, tid, distance, rank FROM batch
				  EXCEPT SELECT query, tid, distance, rank FROM scans)) AS x)
		$q$, index, col, op, k, items) INTO answers, differ;
	-- one scan for each query is that which it is compared with
	searched := pg_stat_get_xact_numscans(index::regclass) - before >= 400;
	RETURN NEXT;
END
$$;

CREATE INDEX batch_r_l2 ON batch_items USING ecp (r) WITH (cluster_size = 1, quantizer = none);
CREATE INDEX batch_r_ip ON batch_items USING ecp (r real_ip_ops) WITH (quantizer = none);
CREATE INDEX batch_r_cos ON batch_items USING ecp (r real_cosine_ops) WITH (quantizer = none);
CREATE INDEX batch_b_l2 ON batch_items USING ecp (b) WITH (cluster_size = 1);
CREATE INDEX batch_b_ip ON batch_items USING ecp (b bytea_ip_ops);
CREATE INDEX batch_b_cos ON batch_items USING ecp (b bytea_cosine_ops);
-- vectors that pack badly, so that they are not on the entry pages
CREATE INDEX batch_wide ON batch_items USING ecp (wide) WITH (quantizer = none);

-- what the answers are compared with is a scan of the index, of fixed probes
SET ecp.probes = 12;
SET enable_seqscan = off;
SET ecp.enable_batch_join = off;
SELECT * FROM pg_temp.explain($$SELECT q.id, t.tid FROM (SELECT * FROM batch_queries ORDER BY id) AS q,
	LATERAL (SELECT ctid AS tid FROM batch_items ORDER BY r <-> q.r LIMIT 10) AS t$$);

SELECT index, d.* FROM (VALUES
	('batch_r_l2', 'r', '<->'), ('batch_r_ip', 'r', '<#>'),
	('batch_r_cos', 'r', '<=>'), ('batch_b_l2', 'b', '<->'),
	('batch_b_ip', 'b', '<#>'), ('batch_b_cos', 'b', '<=>'),
	('batch_wide', 'wide', '<->')) AS v (index, col, op),
	LATERAL batch_differs(index, col, op, 10) AS d;
-- with codes a scan may miss a row of the clusters that it reads; a batch does
-- not, so nothing in its answers is farther away
DROP INDEX batch_r_l2;
CREATE INDEX batch_codes ON batch_items USING ecp (r) WITH (quantizer = rabitq);
WITH scans AS MATERIALIZED (
	SELECT q.id AS query, t.distance,
		row_number() OVER (PARTITION BY q.id) AS rank
	FROM batch_queries AS q, LATERAL (SELECT r <-> q.r AS distance
		FROM batch_items ORDER BY r <-> q.r LIMIT 10) AS t
)
SELECT count(*), bool_and(b.distance <= s.distance)
FROM ecp_knn_batch('batch_codes', 'SELECT id, r FROM batch_queries', 10) AS b
	JOIN scans AS s USING (query, rank);
DROP INDEX batch_codes;
CREATE INDEX batch_r_l2 ON batch_items USING ecp (r) WITH (cluster_size = 1, quantizer = none);

-- k so large that scans read on, up to more rows than there are
SELECT k, d.* FROM unnest('{1, 50, 500, 1999, 3000}'::int[]) AS k,
	LATERAL batch_differs('batch_b_l2', 'b', '<->', k) AS d;
-- other settings of scans
SET ecp.probes = 3;
SELECT * FROM batch_differs('batch_b_l2', 'b', '<->', 100);
SET ecp.iterative_scan = relaxed_order;
SELECT * FROM batch_differs('batch_b_l2', 'b', '<->', 100);
SET ecp.iterative_scan = off;
SELECT * FROM batch_differs('batch_b_l2', 'b', '<->', 100);
SET ecp.probes = 1000;
SELECT * FROM batch_differs('batch_b_l2', 'b', '<->', 3000);
RESET ecp.iterative_scan;
SET ecp.probes = 12;
-- by the target: scans end where they have found enough, and so do batches
RESET ecp.probes;
SET ecp.target_recall = 0.9;
SELECT count(*) > 0 AS stored FROM ecp_recall('batch_b_l2', store => true,
	queries => 'SELECT batch_bytes(i + 6000, 20) FROM generate_series(1, 150) AS i');
SELECT k, d.* FROM unnest('{1, 4, 10, 15}'::int[]) AS k,
	LATERAL batch_differs('batch_b_l2', 'b', '<->', k) AS d;
SELECT count(*) FROM ecp_knn_batch('batch_b_l2', 'SELECT id, b FROM batch_queries', 4);
EXPLAIN (COSTS OFF) SELECT id FROM batch_items ORDER BY b <-> batch_bytes(6001, 20) LIMIT 4;
SELECT count(*) FROM (SELECT id FROM batch_items ORDER BY b <-> batch_bytes(6001, 20) LIMIT 4) AS s;
SELECT early FROM ecp_last_scan();
-- rows that are equally far away are left out or not, as a scan does
CREATE TABLE batch_ties AS SELECT i AS id, decode(string_agg(
		CASE WHEN hashint4(i % 1500 * 32 + d) > 0 THEN '00' ELSE '01' END, ''), 'hex') AS b
	FROM generate_series(1, 2000) AS i, generate_series(1, 20) AS d GROUP BY i ORDER BY i;
CREATE INDEX batch_ties_b ON batch_ties USING ecp (b) WITH (cluster_size = 4);
SELECT k, d.* FROM unnest('{1, 10}'::int[]) AS k,
	LATERAL batch_differs('batch_ties_b', 'b', '<->', k, 'batch_ties') AS d;
DROP TABLE batch_ties;
-- in several batches, and by workers
SET work_mem = '64kB';
SELECT * FROM batch_differs('batch_b_l2', 'b', '<->', 10);
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SELECT * FROM batch_differs('batch_b_l2', 'b', '<->', 10);
RESET work_mem;
RESET parallel_setup_cost;
SET max_parallel_workers_per_gather = 0;
RESET ecp.target_recall;
SET ecp.probes = 12;
-- many batches
SET work_mem = '64kB';
SELECT * FROM batch_differs('batch_b_l2', 'b', '<->', 100);
SELECT * FROM batch_differs('batch_wide', 'wide', '<->', 10);
RESET work_mem;
-- workers
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SELECT * FROM batch_differs('batch_r_l2', 'r', '<->', 10);
SELECT * FROM batch_differs('batch_wide', 'wide', '<->', 10);
SELECT * FROM batch_differs('batch_b_l2', 'b', '<->', 2000);
SET work_mem = '64kB';
SELECT * FROM batch_differs('batch_b_l2', 'b', '<->', 10);
RESET work_mem;

-- the exact answers, by workers and alone
CREATE FUNCTION exact_differs(index text, col text, op text, k int)
	RETURNS TABLE (answers bigint, differ bigint) LANGUAGE plpgsql
	SET enable_seqscan = on SET enable_indexscan = off AS $$
BEGIN
	RETURN QUERY EXECUTE format($q$
		WITH sorted AS MATERIALIZED (
			SELECT q.id::bigint AS query, t.distance, t.rank
			FROM batch_queries AS q,
				LATERAL (SELECT %2$s %3$s q.%2$s AS distance,
							row_number() OVER (ORDER BY %2$s %3$s q.%2$s) AS rank
						 FROM batch_items) AS t
			WHERE t.rank <= %4$s
		), exact AS MATERIALIZED (
			SELECT e.query, e.distance, e.rank
			FROM ecp_knn_exact(%1$L, 'SELECT id, %2$s FROM batch_queries', %4$s) AS e
				JOIN batch_items AS i ON i.ctid = e.tid
				JOIN batch_queries AS q ON q.id = e.query
			WHERE i.%2$s %3$s q.%2$s = e.distance
		)
		SELECT (SELECT count(*) FROM exact),
			(SELECT count(*) FROM
				((SELECT query, distance, rank FROM sorted
				  EXCEPT SELECT query, distance, rank FROM exact)
				 UNION ALL
				 (SELECT query, distance, rank FROM exact
				  EXCEPT SELECT query, distance, rank FROM sorted)) AS x)
		$q$, index, col, op, k);
END
$$;
SELECT * FROM exact_differs('batch_r_cos', 'r', '<=>', 10);
SET work_mem = '64kB';
SELECT * FROM exact_differs('batch_wide', 'wide', '<->', 100);
SET max_parallel_workers_per_gather = 0;
SELECT * FROM exact_differs('batch_b_ip', 'b', '<#>', 10);
RESET work_mem;
SELECT * FROM exact_differs('batch_r_l2', 'r', '<->', 5000);

-- arrays of queries: of bytea, and real[] with one dimension more
SELECT query, rank, i.id, round(distance::numeric, 3) AS distance
FROM ecp_knn_batch('batch_b_l2',
	(SELECT array_agg(b ORDER BY id) FROM batch_items WHERE id IN (7, 8)), 2) AS n
	JOIN batch_items AS i ON i.ctid = n.tid ORDER BY query, rank;
SELECT query, rank, i.id, round(distance::numeric, 3) AS distance
FROM ecp_knn_exact('batch_r_l2',
	(SELECT array_agg(r ORDER BY id) FROM batch_items WHERE id IN (7, 8)), 2) AS n
	JOIN batch_items AS i ON i.ctid = n.tid ORDER BY query, rank;
SELECT query, rank, i.id
FROM ecp_knn_batch('batch_r_l2', (SELECT r FROM batch_items WHERE id = 8), 1) AS n
	JOIN batch_items AS i ON i.ctid = n.tid;
SELECT count(*) FROM ecp_knn_batch('batch_r_l2', '{}'::real[]);
SELECT count(*) FROM ecp_knn_batch('batch_b_l2', 'SELECT b FROM batch_items WHERE false');
-- queries without a number are numbered; a NULL has no neighbours
SELECT query, count(*) FROM ecp_knn_batch('batch_b_l2',
	'SELECT CASE WHEN id <> 2 THEN b END FROM batch_queries WHERE id < 4', 5)
GROUP BY query ORDER BY query;
-- a vector without a direction, under cosine, is as far from all as from any
SELECT rank, distance FROM ecp_knn_batch('batch_r_cos', array_fill(0::real, '{20}'), 2);

-- rows that the snapshot does not see, and such that were updated in place
BEGIN;
DELETE FROM batch_items WHERE id % 3 = 0;
UPDATE batch_items SET id = -id WHERE id % 5 = 0;
SELECT * FROM batch_differs('batch_r_l2', 'r', '<->', 10);
SELECT * FROM exact_differs('batch_r_l2', 'r', '<->', 10);
INSERT INTO batch_items SELECT 10000 + id, r, b, wide FROM batch_queries;
SELECT * FROM batch_differs('batch_r_l2', 'r', '<->', 10);
SELECT count(*) FROM ecp_knn_batch('batch_r_l2', 'SELECT id, r FROM batch_queries', 1) AS n
	JOIN batch_items AS i ON i.ctid = n.tid AND i.id = 10000 + n.query;
ROLLBACK;
SELECT * FROM batch_differs('batch_r_l2', 'r', '<->', 10);
DELETE FROM batch_items WHERE id % 2 = 0;
SELECT * FROM batch_differs('batch_wide', 'wide', '<->', 10);
VACUUM batch_items;
SELECT * FROM batch_differs('batch_wide', 'wide', '<->', 10);
SELECT * FROM batch_differs('batch_b_cos', 'b', '<=>', 40);

-- part of a table, and what an expression gives
CREATE INDEX batch_part ON batch_items USING ecp ((r[1:10])) WHERE id < 1500;
SELECT count(*), count(*) FILTER (WHERE i.id < 1500),
	bool_and(i.r[1:10] <-> q.r[1:10] = n.distance)
FROM ecp_knn_exact('batch_part', 'SELECT id, r[1:10] FROM batch_queries', 5) AS n
	JOIN batch_items AS i ON i.ctid = n.tid JOIN batch_queries AS q ON q.id = n.query;
SELECT count(*), count(*) FILTER (WHERE i.id < 1500),
	bool_and(i.r[1:10] <-> q.r[1:10] = n.distance)
FROM ecp_knn_batch('batch_part', 'SELECT id, r[1:10] FROM batch_queries', 5) AS n
	JOIN batch_items AS i ON i.ctid = n.tid JOIN batch_queries AS q ON q.id = n.query;

-- temporary tables have no workers
SET max_parallel_workers_per_gather = 2;
CREATE TEMP TABLE batch_temp AS SELECT * FROM batch_items;
CREATE INDEX batch_temp_r ON batch_temp USING ecp (r) WITH (quantizer = none);
SELECT * FROM batch_differs('batch_temp_r', 'r', '<->', 10, 'batch_temp');
-- nothing in it
CREATE TABLE batch_none (r real[]);
CREATE INDEX batch_none_r ON batch_none USING ecp (r);
SELECT count(*) FROM ecp_knn_batch('batch_none_r', 'SELECT r FROM batch_queries');
SELECT count(*) FROM ecp_knn_exact('batch_none_r', 'SELECT r FROM batch_queries');

-- privileges and row security are those of the caller
CREATE ROLE regress_batch_user;
GRANT SELECT ON batch_queries TO regress_batch_user;
SET ROLE regress_batch_user;
SELECT * FROM ecp_knn_batch('batch_r_l2', 'SELECT r FROM batch_queries');
SELECT * FROM ecp_knn_exact('batch_r_l2', 'SELECT r FROM batch_queries');
RESET ROLE;
GRANT SELECT ON batch_items TO regress_batch_user;
ALTER TABLE batch_items ENABLE ROW LEVEL SECURITY;
CREATE POLICY batch_policy ON batch_items USING (id % 7 = 1 OR id < 100);
SET ROLE regress_batch_user;
SELECT index, k, d.* FROM (VALUES
	('batch_r_l2', 'r', '<->', 10), ('batch_b_cos', 'b', '<=>', 10),
	('batch_b_l2', 'b', '<->', 300)) AS v (index, col, op, k),
	LATERAL batch_differs(index, col, op, k) AS d;
SELECT count(*), count(*) FILTER (WHERE i.id IS NULL)
FROM ecp_knn_batch('batch_r_l2', 'SELECT id, r FROM batch_queries', 10) AS n
	LEFT JOIN batch_items AS i ON i.ctid = n.tid;
SELECT * FROM exact_differs('batch_r_l2', 'r', '<->', 10);
SET row_security = off;
SELECT * FROM ecp_knn_batch('batch_r_l2', 'SELECT r FROM batch_queries');
RESET row_security;
RESET ROLE;

-- with columns of the rows instead of TIDs, in the order of queries and ranks
SELECT count(*), count(*) FILTER (WHERE f.distance = n.distance
		AND f.data = jsonb_build_object('id', i.id, 'b', i.b))
FROM ecp_knn_batch('batch_r_l2', (SELECT array_agg(r ORDER BY id) FROM batch_queries), 5) AS n
	JOIN batch_items AS i ON i.ctid = n.tid
	JOIN ecp_knn_fetch('batch_r_l2', (SELECT array_agg(r ORDER BY id) FROM batch_queries), '{id,b}', 5)
		WITH ORDINALITY AS f ON (f.query, f.rank, f.ordinality) = (n.query, n.rank, n.rank + 5 * (n.query - 1));
SELECT rank, data FROM ecp_knn_fetch('batch_r_l2', (SELECT array_agg(r) FROM batch_queries), '{}', 1) WHERE query = 1;

-- refused
\set VERBOSITY terse
SELECT * FROM ecp_knn_batch('batch_r_l2', 'SELECT r FROM batch_queries', 0);
SELECT * FROM ecp_knn_batch('batch_r_l2', 'SELECT r FROM batch_queries', 10001);
SELECT * FROM ecp_knn_batch('batch_items', 'SELECT r FROM batch_queries');
SELECT * FROM ecp_knn_batch('pg_class_oid_index', 'SELECT r FROM batch_queries');
SELECT * FROM ecp_knn_batch('batch_r_l2', 'SELECT b FROM batch_queries');
SELECT * FROM ecp_knn_batch('batch_r_l2', 'SELECT r::text, r FROM batch_queries');
SELECT * FROM ecp_knn_batch('batch_r_l2', 'SELECT NULL::int, r FROM batch_queries');
SELECT * FROM ecp_knn_batch('batch_r_l2', 'SELECT 1, 2, r FROM batch_queries');
SELECT * FROM ecp_knn_batch('batch_r_l2', 'DELETE FROM batch_queries RETURNING r');
SELECT * FROM ecp_knn_batch('batch_r_l2', '{1, 2}'::real[]);
SELECT * FROM ecp_knn_batch('batch_r_l2', '{{1, 2}, {NULL, 4}}'::real[]);
SELECT * FROM ecp_knn_batch('batch_r_l2', '{{{1, 2}}}'::real[]);
SELECT * FROM ecp_knn_batch('batch_r_l2', '{1, 2}'::int[]);
SELECT * FROM ecp_knn_exact('batch_b_l2', '{1, 2}'::real[]);
SELECT * FROM ecp_knn_fetch('batch_r_l2', (SELECT array_agg(r) FROM batch_queries), '{nonsense}');
SELECT * FROM ecp_knn_fetch('batch_r_l2', (SELECT array_agg(r) FROM batch_queries), ARRAY[NULL::name]);
-- an error in a worker, and afterwards
SET parallel_setup_cost = 0;
BEGIN;
SET LOCAL statement_timeout = '1ms';
SELECT count(*) FROM ecp_knn_batch('batch_wide', 'SELECT q.wide FROM batch_queries AS q, generate_series(1, 1000)', 100);
ROLLBACK;
SELECT count(*) FROM ecp_knn_batch('batch_wide', 'SELECT wide FROM batch_queries');

SELECT ecp_index_check('batch_r_l2', true), ecp_index_check('batch_wide', true);
DROP TABLE batch_items, batch_queries, batch_none, batch_temp;
DROP ROLE regress_batch_user;
DROP FUNCTION batch_real(int, int), batch_bytes(int, int), batch_differs(text, text, text, int, text), exact_differs(text, text, text, int);
