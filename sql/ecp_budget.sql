--
-- max_ms: as much recall as a time allows.  What is asserted is counted work: a
-- thousandth of a millisecond is for the first cluster, an hour for all of them.
--
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\i :explain
-- evenly spread in all dimensions, so that rows near to a query are in many clusters
CREATE FUNCTION pg_temp.even_vector(i int) RETURNS real[] LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((hashint4extended(i, j) & 1023)::real ORDER BY j)
	FROM generate_series(1, 8) j
$$;
CREATE TABLE budget_t (id int PRIMARY KEY, v real[], tenant int, kind int);
INSERT INTO budget_t SELECT i, pg_temp.even_vector(i), i % 20, i % 7
FROM generate_series(1, 20000) i;
CREATE INDEX budget_i ON budget_t USING ecp (v, tenant);
CREATE TABLE budget_q AS
SELECT i AS n, pg_temp.even_vector(-i) AS q FROM generate_series(1, 20) i;
VACUUM ANALYZE budget_t, budget_q;
SET enable_seqscan = off;
SET enable_sort = off;

-- what the last scan of each of the queries was
CREATE FUNCTION pg_temp.searches(query text)
RETURNS TABLE (n int, rows int, ids int[], wanted bigint, early bool, recall float8,
	clusters bigint, vectors bigint, stop text)
LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN SELECT q.n FROM budget_q q ORDER BY 1 LOOP
		EXECUTE format('SELECT array_agg(id) FROM (%s) x', query)
		USING (SELECT q.q FROM budget_q q WHERE q.n = searches.n) INTO ids;
		SELECT cardinality(ids), l.wanted, l.early, l.estimated_recall, l.clusters,
			l.vectors, l.stop
		INTO rows, wanted, early, recall, clusters, vectors, stop FROM ecp_last_scan() l;
		RETURN NEXT;
	END LOOP;
END $$;
\set ten 'SELECT id FROM budget_t ORDER BY v <-> $1 LIMIT 10'

SELECT pg_temp.explain('SELECT id FROM budget_t ORDER BY v <-> ''{1,2,3,4,5,6,7,8}'' LIMIT 10');

-- no time: one cluster, and the estimate says what that is worth
SET ecp.max_ms = 0.001;
SHOW ecp.max_ms;
CREATE TEMP TABLE least AS SELECT * FROM pg_temp.searches(:'ten');
SELECT count(*), min(rows), max(clusters), bool_or(early),
	bool_and(recall BETWEEN 0 AND 0.9) AS recall, string_agg(DISTINCT stop, ', ') AS stop
FROM least;

-- time enough: the highest target of the curve
SET ecp.max_ms = '1h';
CREATE TEMP TABLE hour AS SELECT * FROM pg_temp.searches(:'ten');
SELECT count(*), min(rows), bool_and(early), min(recall) >= 0.999 AS recall,
	string_agg(DISTINCT stop, ', ') AS stop
FROM hour;
SET ecp.max_ms = -1;
SET ecp.target_recall = 0.999;
CREATE TEMP TABLE best AS SELECT * FROM pg_temp.searches(:'ten');
SELECT count(*) FILTER (WHERE h.ids = b.ids AND h.vectors = b.vectors) AS same
FROM hour h JOIN best b USING (n);

-- with a target, too, whichever is reached first
SET ecp.target_recall = 0.7;
CREATE TEMP TABLE part AS SELECT * FROM pg_temp.searches(:'ten');
SET ecp.max_ms = '1h';
SELECT count(*) FILTER (WHERE t.ids = s.ids AND t.vectors = s.vectors) AS same
FROM pg_temp.searches(:'ten') t JOIN part s USING (n);
SET ecp.max_ms = 0.001;
SELECT count(*) FILTER (WHERE t.ids = n.ids AND t.vectors = n.vectors) AS same
FROM pg_temp.searches(:'ten') t JOIN least n USING (n);
RESET ecp.target_recall;
RESET ecp.max_ms;

-- some time: between the two
SET ecp.max_ms = 0.1;
SELECT count(*) FILTER (WHERE t.vectors BETWEEN n.vectors AND h.vectors) AS between
FROM pg_temp.searches(:'ten') t JOIN least n USING (n) JOIN hour h USING (n);
RESET ecp.max_ms;

-- of the index; a setting goes before it, and -1 is none
ALTER INDEX budget_i SET (max_ms = 0.001);
SELECT max(clusters), string_agg(DISTINCT stop, ', ') AS stop FROM pg_temp.searches(:'ten');
SET ecp.max_ms = '1h';
SELECT min(clusters) > 1 AS more, string_agg(DISTINCT stop, ', ') AS stop
FROM pg_temp.searches(:'ten');
SET ecp.max_ms = -1;
SELECT min(clusters) > 1 AS more, string_agg(DISTINCT stop, ', ') AS stop
FROM pg_temp.searches(:'ten');
RESET ecp.max_ms;
ALTER INDEX budget_i RESET (max_ms);
ALTER INDEX budget_i SET (max_ms = -1);
-- from version 17 on the message has units
\set VERBOSITY sqlstate
SET ecp.max_ms = -2;
\set VERBOSITY default

SET ecp.max_ms = 0.001;
-- a fixed number of clusters, and conditions inside and outside of the index: no
-- more than the first cluster
SET ecp.probes = 20;
SELECT max(clusters), string_agg(DISTINCT stop, ', ') AS stop FROM pg_temp.searches(:'ten');
RESET ecp.probes;
SELECT max(clusters), string_agg(DISTINCT stop, ', ') AS stop
FROM pg_temp.searches('SELECT id FROM budget_t WHERE tenant = 3 ORDER BY v <-> $1 LIMIT 10');
SELECT max(clusters), string_agg(DISTINCT stop, ', ') AS stop
FROM pg_temp.searches('SELECT id FROM budget_t WHERE kind = 3 ORDER BY v <-> $1 LIMIT 10');
SELECT max(clusters), string_agg(DISTINCT stop, ', ') AS stop
FROM pg_temp.searches('SELECT id FROM budget_t WHERE v <-> $1 < 300 ORDER BY v <-> $1 LIMIT 10');

-- all rows are all rows: without a LIMIT, as a whole, by a query that is NULL
SELECT min(rows), string_agg(DISTINCT stop, ', ') AS stop
FROM pg_temp.searches('SELECT id FROM budget_t ORDER BY v <-> $1');
SELECT count(*) FROM (SELECT id FROM budget_t ORDER BY v <-> NULL LIMIT 30000) x;

-- codes, and rows that are fetched for exact distances
CREATE TABLE budget_c (id int PRIMARY KEY, v real[]);
INSERT INTO budget_c SELECT i, pg_temp.even_vector(i) FROM generate_series(1, 5000) i;
CREATE INDEX ON budget_c USING ecp (v) WITH (vectors = codes);
SELECT max(clusters), string_agg(DISTINCT stop, ', ') AS stop
FROM pg_temp.searches('SELECT id FROM budget_c ORDER BY v <-> $1 LIMIT 10');
SET ecp.max_ms = '1h';
SELECT min(recall) >= 0.999 AS recall, string_agg(DISTINCT stop, ', ') AS stop
FROM pg_temp.searches('SELECT id FROM budget_c ORDER BY v <-> $1 LIMIT 10');
RESET ecp.max_ms;
