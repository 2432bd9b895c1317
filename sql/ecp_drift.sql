--
-- What ecp_index_stats() says of an index that changes, and whether its
-- advice helps.
--
\getenv src PG_ABS_SRCDIR
\set vectors :src '/test/vectors.sql'
\i :vectors
CREATE TABLE drift_t (id int, v bytea);
CREATE INDEX drift_i ON drift_t USING ecp (v);
CREATE VIEW drift AS
	SELECT rows, overfull, split_clusters, misassigned < 0.5 AS placed,
		measured IS NOT NULL AS measured, rows_added, target_recall,
		round((expected_recall - target_recall)::numeric, 2) >= 0 AS kept,
		regexp_replace(advice, '[0-9.]+', 'N', 'g') AS advice
	FROM ecp_index_stats('drift_i');
\x

-- nothing there, nothing known
SELECT * FROM drift;

-- as built
INSERT INTO drift_t SELECT i, pg_temp.clustered_bytes(i, 12, 300) FROM generate_series(1, 8000) i;
REINDEX INDEX drift_i;
SELECT * FROM drift;

-- rows of another kind, without splits of clusters
SET ecp.insert_split = off;
INSERT INTO drift_t SELECT i, pg_temp.clustered_bytes(i, 12, 300, 7) FROM generate_series(8001, 20000) i;
RESET ecp.insert_split;
SELECT rows, overfull > 0 AS overfull, rows_added, advice FROM drift;
SELECT splits > 0 AS splits FROM ecp_maintain('drift_i');
SELECT rows, overfull, rows_added, advice FROM drift;
SELECT count(*) > 0 AS stored FROM ecp_recall('drift_i', samples => 200, store => true);
SELECT * FROM drift;

-- grown from nothing
TRUNCATE drift_t;
INSERT INTO drift_t SELECT i, pg_temp.clustered_bytes(i, 12, 300) FROM generate_series(1, 8000) i;
SELECT rows, split_clusters > 10 AS split, measured, advice FROM drift;
SELECT regrouped > 0 AS regrouped FROM ecp_maintain('drift_i');
SELECT rows, measured, advice FROM drift;

-- a number of probes is no promise
SELECT count(*) > 0 AS stored FROM ecp_recall('drift_i', samples => 200, store => true);
SET ecp.probes = 1;
SELECT kept, advice FROM drift;
RESET ecp.probes;
SELECT kept, advice FROM drift;

-- room that is not given back
ALTER TABLE drift_t SET (vacuum_truncate = off);
DELETE FROM drift_t WHERE id > 1000;
VACUUM drift_t;
SELECT count(*) FROM ecp_maintain('drift_i');
SELECT rows, advice FROM drift;
ALTER TABLE drift_t RESET (vacuum_truncate);
VACUUM drift_t;
SELECT rows, advice FROM drift;
REINDEX INDEX drift_i;
SELECT rows, advice FROM drift;
\x

DROP VIEW drift;
DROP TABLE drift_t;
