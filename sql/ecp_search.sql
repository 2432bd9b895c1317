--
-- Searching an ecp index: the plan, and that with all clusters read the
-- answer is that of a sequential scan, in every way in which the executor
-- can ask for it.
--
\getenv src PG_ABS_SRCDIR
\set vectors :src '/test/vectors.sql'
\i :vectors
CREATE TABLE search_t (id int PRIMARY KEY, v real[]);
INSERT INTO search_t SELECT i, pg_temp.spread_vector(i, 8) FROM generate_series(1, 3000) i;
INSERT INTO search_t VALUES (3001, NULL);
CREATE INDEX search_i ON search_t USING ecp (v);
VACUUM ANALYZE search_t;

-- the index is taken, and the distances are those of the operator
EXPLAIN (COSTS OFF)
SELECT id FROM search_t ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 5;
SET ecp.probes = 1000;
SELECT id, round((v <-> '{1,2,3,4,5,6,7,8}')::numeric, 4) AS distance
FROM search_t ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 5;
SELECT id FROM search_t ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 3 OFFSET 2;

-- every row once, in the order of a sort; rows without a vector are not
-- in the index, and come last in a sort
SET enable_seqscan = off;
EXPLAIN (COSTS OFF)
SELECT v <-> '{1,2,3,4,5,6,7,8}' AS d FROM search_t
ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 4000;
CREATE TEMP TABLE by_index AS
SELECT row_number() OVER () AS n, d FROM
	(SELECT v <-> '{1,2,3,4,5,6,7,8}' AS d FROM search_t
	 ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 4000) s;
RESET enable_seqscan;
SET enable_indexscan = off;
CREATE TEMP TABLE by_sort AS
SELECT row_number() OVER () AS n, d FROM
	(SELECT v <-> '{1,2,3,4,5,6,7,8}' AS d FROM search_t
	 ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 4000) s;
RESET enable_indexscan;
SELECT count(*) FROM by_index;
SELECT count(*) FROM by_sort;
SELECT count(*) FROM by_index JOIN by_sort USING (n, d);

-- a filter above the scan
SET enable_seqscan = off;
SET ecp.iterative_scan = relaxed_order;
EXPLAIN (COSTS OFF)
SELECT id FROM search_t WHERE id % 500 = 7
ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 10;
SELECT count(*), sum(id) FROM
	(SELECT id FROM search_t WHERE id % 500 = 7
	 ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 10) s;
RESET ecp.iterative_scan;
RESET enable_seqscan;

-- rescans: a query for each outer row
EXPLAIN (COSTS OFF)
SELECT q.i, n.id FROM generate_series(1, 40) q(i),
	LATERAL (SELECT id FROM search_t ORDER BY v <-> pg_temp.spread_vector(q.i, 8) LIMIT 1) n;
SELECT count(*), count(*) FILTER (WHERE n.id = q.i) AS itself
FROM generate_series(1, 40) q(i),
	LATERAL (SELECT id FROM search_t ORDER BY v <-> pg_temp.spread_vector(q.i, 8), id LIMIT 1) n;
SELECT count(*) FROM generate_series(1, 40) q(i),
	LATERAL (SELECT v <-> pg_temp.spread_vector(q.i, 8) AS d FROM search_t
			 ORDER BY v <-> pg_temp.spread_vector(q.i, 8) LIMIT 1) n
WHERE n.d = 0;

-- prepared, with a generic plan
SET plan_cache_mode = force_generic_plan;
PREPARE nearest(real[], int) AS
SELECT id FROM search_t ORDER BY v <-> $1 LIMIT $2;
EXPLAIN (COSTS OFF) EXECUTE nearest('{1,2,3,4,5,6,7,8}', 2);
EXECUTE nearest('{1,2,3,4,5,6,7,8}', 2);
EXECUTE nearest('{8,7,6,5,4,3,2,1}', 2);
DEALLOCATE nearest;
RESET plan_cache_mode;

-- cursors; going back needs a Materialize above the scan
BEGIN;
DECLARE c SCROLL CURSOR FOR
SELECT id FROM search_t ORDER BY v <-> '{1,2,3,4,5,6,7,8}';
FETCH 2 FROM c;
FETCH 1 FROM c;
FETCH BACKWARD 1 FROM c;
FETCH ABSOLUTE 5 FROM c;
MOVE FORWARD ALL IN c;
FETCH 1 FROM c;
FETCH 1 FROM c;
COMMIT;

-- one cursor fetched while another scan runs
BEGIN;
DECLARE a CURSOR FOR SELECT id FROM search_t ORDER BY v <-> '{1,2,3,4,5,6,7,8}';
DECLARE b CURSOR FOR SELECT id FROM search_t ORDER BY v <-> '{8,7,6,5,4,3,2,1}';
FETCH 1 FROM a;
FETCH 1 FROM b;
SAVEPOINT s;
SELECT id FROM search_t ORDER BY v <-> '{1,2,3,4,5,6,7,8,9}' LIMIT 1;
ROLLBACK TO s;
FETCH 1 FROM a;
FETCH 1 FROM b;
COMMIT;

-- what a query must not be
SELECT id FROM search_t ORDER BY v <-> '{1,2}' LIMIT 1;
SELECT id FROM search_t ORDER BY v <-> '{1,2,3,4,5,6,7,NaN}' LIMIT 1;
SELECT id FROM search_t ORDER BY v <-> '{1,2,3,4,5,6,7,NULL}' LIMIT 1;
SELECT id FROM search_t ORDER BY v <-> '{{1,2,3,4},{5,6,7,8}}' LIMIT 1;

-- an index without rows
CREATE TABLE search_empty (id int, v real[]);
CREATE INDEX search_empty_i ON search_empty USING ecp (v);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM search_empty ORDER BY v <-> '{1,2}' LIMIT 1;
SELECT id FROM search_empty ORDER BY v <-> '{1,2}' LIMIT 1;
SELECT id FROM search_empty ORDER BY v <-> NULL::real[] LIMIT 1;
RESET enable_seqscan;

-- a temporary table, whose pages are in local buffers
CREATE TEMP TABLE search_temp AS SELECT * FROM search_t;
CREATE INDEX search_temp_i ON search_temp USING ecp (v);
ANALYZE search_temp;
EXPLAIN (COSTS OFF)
SELECT id FROM search_temp ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 3;
SELECT id FROM search_temp ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 3;

-- the same file truncated and filled again within a transaction
BEGIN;
CREATE TABLE search_again (id int, v real[]);
INSERT INTO search_again SELECT i, pg_temp.spread_vector(i, 8) FROM generate_series(1, 300) i;
CREATE INDEX search_again_i ON search_again USING ecp (v);
SET LOCAL enable_seqscan = off;
SELECT id FROM search_again ORDER BY v <-> pg_temp.spread_vector(7, 8) LIMIT 1;
TRUNCATE search_again;
SELECT id FROM search_again ORDER BY v <-> pg_temp.spread_vector(7, 8) LIMIT 1;
COMMIT;

-- searches that fail in subtransactions leave the leader cache within its limit
CREATE INDEX search_nodes ON search_temp USING ecp (v) WITH (levels = 3, cluster_size = 1);
DROP INDEX search_temp_i;
SET ecp.leader_cache = '64kB';
EXPLAIN (COSTS OFF)
SELECT 1 / (id - id) FROM search_temp ORDER BY v <-> '{1,2,3,4,5,6,7,8}' LIMIT 3;
BEGIN;
DO $$
BEGIN
	FOR i IN 1 .. 100 LOOP
		BEGIN
			PERFORM 1 / (id - id) FROM search_temp
				ORDER BY v <-> pg_temp.spread_vector(i, 8) LIMIT 3;
		EXCEPTION WHEN division_by_zero THEN
		END;
	END LOOP;
END $$;
SELECT count(*) > 0 AS some, sum(total_bytes) <= 65536 AS within
FROM pg_backend_memory_contexts WHERE name = 'ecp node';
COMMIT;
RESET ecp.leader_cache;

DROP TABLE search_t, search_empty, search_temp, search_again;
