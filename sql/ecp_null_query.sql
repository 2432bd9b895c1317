--
-- Queries without a distance: NULL (every indexed row, distance NULL) and,
-- under cosine, vectors without a direction (every indexed row, NaN).
--
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\i :explain
CREATE TABLE nullq_t (id int, v real[], b bytea);
INSERT INTO nullq_t
SELECT i, ARRAY[i % 7 + 1, i % 11, i % 13]::real[],
	decode(lpad(to_hex(i % 65536), 4, '0') || '01', 'hex')
FROM generate_series(1, 2000) i;
INSERT INTO nullq_t VALUES (2001, NULL, NULL), (2002, '{0,0,0}', '\x000000');
CREATE INDEX nullq_l2 ON nullq_t USING ecp (v);
CREATE INDEX nullq_cosine ON nullq_t USING ecp (v real_cosine_ops);
CREATE INDEX nullq_bytea ON nullq_t USING ecp (b bytea_cosine_ops);
VACUUM ANALYZE nullq_t;
SET enable_seqscan = off;
SET ecp.probes = 1;

-- NULL: the planner folds a constant away, a parameter reaches the index
SET plan_cache_mode = force_generic_plan;
PREPARE by_l2(real[]) AS
SELECT count(*), count(d), count(DISTINCT id) FROM
	(SELECT id, v <-> $1 AS d FROM nullq_t ORDER BY v <-> $1 LIMIT 5000) s;
PREPARE near_l2(real[]) AS SELECT id FROM nullq_t ORDER BY v <-> $1 LIMIT 5000;
EXPLAIN (COSTS OFF) EXECUTE near_l2(NULL);
EXECUTE by_l2(NULL);
SELECT estimated_recall, stop FROM ecp_last_scan();
EXECUTE by_l2('{1,2,3}');
SELECT stop FROM ecp_last_scan();
SELECT * FROM pg_temp.explain('SELECT id FROM nullq_t ORDER BY v <-> NULL LIMIT 3');
SELECT count(*) FROM (SELECT id FROM nullq_t ORDER BY v <-> NULL LIMIT 3) s;
SELECT stop FROM ecp_last_scan();
-- also when the settings would end the scan
SET ecp.iterative_scan = off;
SET ecp.max_scan_tuples = 10;
EXECUTE by_l2(NULL);
RESET ecp.iterative_scan;
RESET ecp.max_scan_tuples;
-- a NULL query between others
SELECT q.n, s.rows, s.distances FROM
	(VALUES (1, '{1,2,3}'::real[]), (2, NULL), (3, '{4,5,6}')) q(n, v),
	LATERAL (SELECT count(*) AS rows, count(d) AS distances FROM
		(SELECT t.v <-> q.v AS d FROM nullq_t t ORDER BY t.v <-> q.v LIMIT 3) x) s
ORDER BY q.n;

-- the zero vector is at distance NaN of everything, and is not indexed
PREPARE by_cosine(real[]) AS
SELECT count(*), count(*) FILTER (WHERE d = 'NaN') AS nan, bool_or(id = 2002) AS zero FROM
	(SELECT id, v <=> $1 AS d FROM nullq_t ORDER BY v <=> $1 LIMIT 5000) s;
EXPLAIN (COSTS OFF) EXECUTE by_cosine('{0,0,0}');
EXECUTE by_cosine('{0,0,0}');
SET ecp.probes = 1000;
EXECUTE by_cosine('{1,1,1}');
EXECUTE by_cosine(NULL);
PREPARE by_bytea(bytea) AS
SELECT count(*), count(*) FILTER (WHERE d = 'NaN') AS nan FROM
	(SELECT id, b <=> $1 AS d FROM nullq_t ORDER BY b <=> $1 LIMIT 5000) s;
EXPLAIN (COSTS OFF) EXECUTE by_bytea('\x000000');
EXECUTE by_bytea('\x000000');
EXECUTE by_bytea('\x010101');

-- L2 has no such vectors
SELECT id FROM nullq_t ORDER BY v <-> '{0,0,0}' LIMIT 1;

DEALLOCATE ALL;
DROP TABLE nullq_t;
