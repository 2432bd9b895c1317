--
-- A recall target: measured by the build, kept by scans, overridden by
-- ecp.probes.
--
\getenv src PG_ABS_SRCDIR
\set vectors :src '/test/vectors.sql'
\i :vectors
CREATE TABLE target_t (id int PRIMARY KEY, v bytea);
INSERT INTO target_t SELECT i, pg_temp.clustered_bytes(i, 16, 400) FROM generate_series(1, 20000) i;
CREATE INDEX target_i ON target_t USING ecp (v);
CREATE TABLE target_q AS
	SELECT pg_temp.clustered_bytes(1000000 + i * 37, 16, 400) AS v FROM generate_series(1, 100) i;

-- what is asked for is reached, and costs more the more it is
CREATE FUNCTION target_recall(target float8) RETURNS TABLE (reached boolean, clusters float8)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('ecp.target_recall', target::text, true);
	RETURN QUERY SELECT r.recall >= target - 0.02, r.clusters
	FROM ecp_recall('target_i', probes => '{0}', queries => 'SELECT v FROM target_q') r;
END $$;
CREATE TEMP TABLE target_costs AS
	SELECT target, r.* FROM unnest('{0.5, 0.8, 0.9, 0.95, 0.99, 1}'::float8[]) target,
		target_recall(target) r;
SELECT target, reached, clusters > lag(clusters) OVER (ORDER BY target) AS more
FROM target_costs ORDER BY target;
-- by the settings in force first, for any number of rows
SELECT k, (array_agg(probes ORDER BY n))[1] = 0 AS first, count(*) > 3 AS more, bool_and(recall > 0) AS recall
FROM unnest('{1, 10, 1000}'::int[]) k, ecp_recall('target_i', k, samples => 10)
	WITH ORDINALITY AS r(probes, recall, clusters, vectors, ms, n)
GROUP BY k ORDER BY k;
SELECT c.clusters = s.clusters AS all_clusters
FROM target_costs c, ecp_index_drift('target_i') s WHERE target = 1;

-- between two points of the curve the upper one holds, and no target is
-- cheaper than a lower one
SELECT count(*) FILTER (WHERE clusters < 0.95 * before) AS cheaper FROM (
	SELECT clusters, lag(clusters) OVER (ORDER BY target) AS before
	FROM (SELECT i / 1000.0 FROM generate_series(500, 990, 15) i) t(target), target_recall(target)) c;
SELECT a.clusters = b.clusters AS same FROM target_recall(0.941) a, target_recall(0.95) b;

-- the storage parameter, the setting, and probes
CREATE FUNCTION target_probes() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	PERFORM id FROM target_t ORDER BY v <-> pg_temp.clustered_bytes(77, 16, 400) LIMIT 10;
	RETURN (SELECT probes FROM ecp_last_scan());
END $$;
SET enable_seqscan = off;
SET enable_sort = off;
SELECT target_probes() AS at_95 \gset
SET ecp.target_recall = 0.999;
SELECT target_probes() AS at_999 \gset
RESET ecp.target_recall;
ALTER INDEX target_i SET (target_recall = 0.999);
SELECT target_probes() = :at_999 AS by_parameter, :at_999 > :at_95 AS more;
SET ecp.target_recall = 0.95;
SELECT target_probes() = :at_95 AS by_setting;
SET ecp.probes = 7;
SELECT target_probes();
SELECT early, clusters FROM ecp_last_scan();
RESET ecp.probes;
RESET ecp.target_recall;
ALTER INDEX target_i SET (target_recall = 1.5);
SET ecp.target_recall = -1;
ALTER INDEX target_i RESET (target_recall);

-- early stops: some searches end before, some after their number of probes
CREATE TEMP TABLE target_scans (probes int, early boolean, clusters bigint);
DO $$
DECLARE
	q record;
BEGIN
	FOR q IN SELECT v FROM target_q LOOP
		PERFORM id FROM target_t ORDER BY v <-> q.v LIMIT 1;
		INSERT INTO target_scans SELECT s.probes, s.early, s.clusters FROM ecp_last_scan() s;
	END LOOP;
END $$;
SELECT bool_or(early) AS some_early,
	max(clusters) <= 2 * max(probes) AS bounded,
	min(clusters) >= min(probes) / 4 AS least FROM target_scans;

-- copies of a few vectors are where their leaders are, at no distance
CREATE TABLE target_c AS
	SELECT i AS id, pg_temp.clustered_bytes(i % 20, 16, 400) AS v FROM generate_series(1, 5000) i;
CREATE INDEX target_ci ON target_c USING ecp (v);
SELECT count(*) FROM (SELECT id FROM target_c ORDER BY v <-> pg_temp.clustered_bytes(7, 16, 400) LIMIT 10) s;
SELECT s.early, s.clusters < i.clusters / 2 AS few FROM ecp_last_scan() s, ecp_index_drift('target_ci') i;

-- an index that grew from nothing has a rule
CREATE TABLE target_g (id int, v bytea);
CREATE INDEX target_gi ON target_g USING ecp (v);
INSERT INTO target_g SELECT * FROM target_t WHERE id <= 5000;
SELECT count(*) FROM (SELECT id FROM target_g ORDER BY v <-> pg_temp.clustered_bytes(77, 16, 400) LIMIT 10) s;
SELECT probes BETWEEN 10 AND 80 AS by_rule, early FROM ecp_last_scan();

-- until its curve is measured, here with the queries that are to come
SET ecp.target_recall = 0.8;
SELECT count(*) FROM (SELECT id FROM target_g ORDER BY v <-> pg_temp.clustered_bytes(77, 16, 400) LIMIT 10) s;
SELECT probes AS by_rule FROM ecp_last_scan() \gset
SELECT probes, recall >= 0.78 AS reached
FROM ecp_recall('target_gi', probes => '{0}', queries => 'SELECT v FROM target_q', store => true);
SELECT count(*) FROM (SELECT id FROM target_g ORDER BY v <-> pg_temp.clustered_bytes(77, 16, 400) LIMIT 10) s;
SELECT probes <> :by_rule AS measured, early FROM ecp_last_scan();
RESET ecp.target_recall;
-- an index that grew keeps its word when it is measured anew
SELECT (SELECT count(*) > 0 FROM ecp_recall('target_gi', samples => 200, store => true)) AS stored,
	recall >= 0.94 AS reached FROM ecp_recall('target_gi', probes => '{0}', samples => 200, seed => 2);
SELECT ecp_index_check('target_gi', true);
SELECT count(*) > 0 AS stored FROM ecp_recall('target_gi', k => 5, store => true);
SELECT * FROM ecp_recall('target_gi', samples => 99, store => true);
SELECT * FROM ecp_recall('target_gi', queries => 'SELECT v FROM target_q LIMIT 50', store => true);
CREATE ROLE regress_ecp_target;
GRANT SELECT ON target_g TO regress_ecp_target;
SET ROLE regress_ecp_target;
SELECT count(*) FROM ecp_recall('target_gi');
SELECT * FROM ecp_recall('target_gi', store => true);
RESET ROLE;
DROP OWNED BY regress_ecp_target;
DROP ROLE regress_ecp_target;

DROP TABLE target_t, target_q, target_g, target_c;
DROP FUNCTION target_recall, target_probes;
