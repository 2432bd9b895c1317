--
-- Parallel scans of a betree: plans, and the answers of serial ones
--
-- few rows are held back, so that logs take them
SET work_mem = '64kB';
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\i :explain

-- keys so wide that a leaf parent has few rows: many parts
CREATE TABLE par (k text, n int);
ALTER TABLE par ALTER k SET STORAGE PLAIN;
INSERT INTO par SELECT rpad(md5(i::text), 300, 'x'), i FROM generate_series(1, 12000) i;
CREATE INDEX par_k ON par USING betree (k) INCLUDE (n);
INSERT INTO par SELECT rpad(md5(i::text), 300, 'x'), i FROM generate_series(12001, 14000) i;
VACUUM ANALYZE par;
SELECT height > 1 AS high, messages_in_logs > 0 AS logs FROM betree_index_stats('par_k');

SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET min_parallel_index_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET enable_seqscan = off;
SET enable_bitmapscan = off;

EXPLAIN (COSTS OFF) SELECT count(*), sum(n) FROM par WHERE k > '2';
SELECT count(*), sum(n) FROM par WHERE k > '2';
SELECT count(*), sum(n) FROM par WHERE k > '2' AND k < '3';
SELECT count(*) FROM par WHERE k < '';
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(n) FROM par WHERE k > '2';
SELECT count(*), sum(n) FROM par WHERE k > '2';
RESET enable_indexonlyscan;

-- in order, in both directions
SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT k FROM par WHERE n % 3 = 0 ORDER BY k;
SELECT count(*), count(*) FILTER (WHERE k < before) AS disorder
FROM (SELECT k, lag(k) OVER () AS before FROM (SELECT k FROM par WHERE n % 3 = 0 ORDER BY k) o) s;
EXPLAIN (COSTS OFF) SELECT k FROM par WHERE n % 3 = 0 ORDER BY k DESC;
SELECT count(*), count(*) FILTER (WHERE k > before) AS disorder
FROM (SELECT k, lag(k) OVER () AS before FROM (SELECT k FROM par WHERE n % 3 = 0 ORDER BY k DESC) o) s;
RESET enable_sort;

-- only the leader, only workers, and again and again
SET max_parallel_workers = 0;
SELECT count(*), sum(n) FROM par WHERE k > '2';
RESET max_parallel_workers;
SET parallel_leader_participation = off;
SELECT count(*), sum(n) FROM par WHERE k > '2';
RESET parallel_leader_participation;
SET enable_material = off;
SET enable_memoize = off;
SELECT * FROM pg_temp.explain($$SELECT v, (SELECT count(n + v) FROM par WHERE k > '2')
	FROM (VALUES (1), (2), (3)) AS t(v)$$);
SELECT v, (SELECT count(n + v) FROM par WHERE k > '2') FROM (VALUES (1), (2), (3)) AS t(v);

-- a scan that jumps is one process's
CREATE TABLE pt (p point, n int);
INSERT INTO pt SELECT point(i % 100, i / 100), i FROM generate_series(0, 9999) i;
CREATE INDEX pt_p ON pt USING betree (p);
ANALYZE pt;
SELECT count(*), sum(n) FROM pt WHERE p <@ box '((10,10),(20,30))';
RESET ALL;
SELECT count(*), sum(n) FROM pt WHERE p <@ box '((10,10),(20,30))';

-- the answers of a sequential scan
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SELECT count(*), sum(n) FROM par WHERE k > '2';
SELECT count(*), sum(n) FROM par WHERE k > '2' AND k < '3';
SELECT count(*) FROM par WHERE n % 3 = 0;
DROP TABLE par, pt;
