--
-- What ecp_index_drift() measures of an index that changes, what
-- ecp_index_stats() knows without that, and whether their advice helps.
--
\getenv src PG_ABS_SRCDIR
\set vectors :src '/test/vectors.sql'
\i :vectors
CREATE TABLE drift_t (id int, v bytea);
CREATE INDEX drift_i ON drift_t USING ecp (v);
CREATE VIEW drift AS
	SELECT rows, overfull, split_clusters, misassigned < 0.5 AS placed,
		measured IS NOT NULL AS measured, rows_added, target_recall,
		round((expected_recall - target_recall)::numeric, 2) >= -0.01 AS kept,
		regexp_replace(advice, '[0-9.]+', 'N', 'g') AS advice
	FROM ecp_index_drift('drift_i');
CREATE VIEW stored AS
	SELECT rows, clusters > 0 AS clusters, measured IS NOT NULL AS measured, rows_added,
		target_recall, round((expected_recall - target_recall)::numeric, 2) >= -0.01 AS kept,
		regexp_replace(advice, '[0-9.]+', 'N', 'g') AS advice
	FROM ecp_index_stats('drift_i');
-- pages of the index that a query looks at, catalogs and all
CREATE FUNCTION pg_temp.touched(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE query;				-- what the session caches of catalogs
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::bigint + (plan->0->'Plan'->>'Shared Read Blocks')::bigint;
END $$;
\x

-- Nothing there, nothing known; then few rows, and more, that VACUUM counts although it
-- has none to remove, some of which are not in the index.  None of this is a reason to act.
SELECT * FROM drift;
SELECT * FROM stored;
VACUUM drift_t;
INSERT INTO drift_t SELECT i, pg_temp.clustered_bytes(i, 12, 300) FROM generate_series(1, 5) i;
INSERT INTO drift_t SELECT i, NULL FROM generate_series(1, 100) i;
SELECT rows, rows_added, advice FROM stored;
VACUUM drift_t;
SELECT rows, rows_added, advice FROM stored;
INSERT INTO drift_t SELECT i, pg_temp.clustered_bytes(i, 12, 300) FROM generate_series(6, 5000) i;
SELECT rows, rows_added, advice FROM stored;
VACUUM drift_t;
SELECT rows, measured, rows_added, advice FROM stored;
TRUNCATE drift_t;

-- as built
INSERT INTO drift_t SELECT i, pg_temp.clustered_bytes(i, 12, 300) FROM generate_series(1, 8000) i;
REINDEX INDEX drift_i;
SELECT * FROM drift;
SELECT * FROM stored;

-- rows of another kind, without splits of clusters
SET ecp.insert_split = off;
INSERT INTO drift_t SELECT i, pg_temp.clustered_bytes(i, 12, 300, 7) FROM generate_series(8001, 20000) i;
RESET ecp.insert_split;
SELECT rows, overfull > 0 AS overfull, rows_added, advice FROM drift;
SELECT rows, rows_added, advice FROM stored;
SELECT splits > 0 AS splits FROM ecp_maintain('drift_i');
SELECT rows, overfull, rows_added, advice FROM drift;
SELECT rows, rows_added, advice FROM stored;
ANALYZE drift_t;
SELECT rows, rows_added, advice FROM stored;
SELECT count(*) > 0 AS stored FROM ecp_recall('drift_i', samples => 200, store => true);
SELECT * FROM drift;
SELECT * FROM stored;

-- grown from nothing
TRUNCATE drift_t;
INSERT INTO drift_t SELECT i, pg_temp.clustered_bytes(i, 12, 300) FROM generate_series(1, 8000) i;
SELECT rows, split_clusters > 10 AS split, measured, advice FROM drift;
SELECT regrouped > 0 AS regrouped FROM ecp_maintain('drift_i');
SELECT rows, measured, advice FROM drift;
SELECT measured, advice FROM stored;

-- a number of probes is no promise
SELECT count(*) > 0 AS stored FROM ecp_recall('drift_i', samples => 200, store => true);
SET ecp.probes = 1;
SELECT kept, advice FROM drift;
SELECT kept, advice FROM stored;
RESET ecp.probes;
SELECT kept, advice FROM drift;
SELECT kept, advice FROM stored;

-- room that is not given back
ALTER TABLE drift_t SET (vacuum_truncate = off);
DELETE FROM drift_t WHERE id > 1000;
VACUUM drift_t;
SELECT count(*) FROM ecp_maintain('drift_i');
SELECT rows, advice FROM drift;
SELECT advice FROM stored;
ALTER TABLE drift_t RESET (vacuum_truncate);
VACUUM drift_t;
SELECT rows, advice FROM drift;
SELECT advice FROM stored;
REINDEX INDEX drift_i;
SELECT rows, advice FROM drift;
SELECT advice FROM stored;
\x

-- what is stored is in a few pages; a measurement reads each page once, and a few for each
-- of 256 rows that it takes, also where vectors are on pages of their own
CREATE TABLE drift_wide (id int, v bytea);
INSERT INTO drift_wide SELECT i, pg_temp.clustered_bytes(i, 200, 300) FROM generate_series(1, 8000) i;
CREATE INDEX drift_none ON drift_wide USING ecp (v) WITH (quantizer = none);
CREATE INDEX drift_rabitq ON drift_wide USING ecp (v) WITH (quantizer = rabitq);
SELECT i, pages > 200 AS large, misassigned < 0.5 AS placed, expected_recall > 0.93 AS kept,
	pg_temp.touched(format('SELECT * FROM ecp_index_stats(%L)', i)) < 10 AS few,
	pg_temp.touched(format('SELECT * FROM ecp_index_drift(%L)', i)) <= pages + node_pages + 256 * 6 AS once
FROM unnest('{drift_none, drift_rabitq}'::regclass[]) i, ecp_index_drift(i);

DROP VIEW drift, stored;
DROP TABLE drift_t, drift_wide;

-- Equally near to several leaders is no fault, nor one that REINDEX mends.
CREATE TABLE ties (id int, v real[]);
CREATE INDEX ties_i ON ties USING ecp (v) WITH (cluster_size = 1);
INSERT INTO ties SELECT i, '{1,2,3,4,5,6,7,8}' FROM generate_series(1, 3000) i;
REINDEX INDEX ties_i;
SELECT clusters > 50 AS many, misassigned, ecp_misassigned('ties_i'), advice FROM ecp_index_drift('ties_i');
TRUNCATE ties;
INSERT INTO ties
SELECT i, (SELECT array_agg((e = i % 8)::int::real ORDER BY e) FROM generate_series(0, 7) e)
FROM generate_series(1, 3000) i;
REINDEX INDEX ties_i;
SELECT clusters > 50 AS many, misassigned, ecp_misassigned('ties_i'), advice FROM ecp_index_drift('ties_i');
DROP TABLE ties;

-- with leaders = random, clusters that were cut have leaders of the same kind
CREATE TABLE cut (id int, v bytea);
INSERT INTO cut SELECT i, pg_temp.clustered_bytes(i, 64, 20) FROM generate_series(1, 6000) i;
CREATE INDEX cut_i ON cut USING ecp (v) WITH (cluster_size = 1, leaders = random);
SELECT clusters > 6000 / 16 AS cut, misassigned < 0.2 AS placed, ecp_misassigned('cut_i') < 0.2 AS sampled, advice FROM ecp_index_drift('cut_i');
DROP TABLE cut;

-- After updates and deletes an index is about as small as a fresh one, or advice
-- says what makes it so (16 pages do not matter): with vectors apart from their
-- codes, with codes alone, and where a cluster is a part of a page.
CREATE TABLE changed (id int, part int, v real[]) WITH (autovacuum_enabled = off);
INSERT INTO changed SELECT i, i % 10, pg_temp.spread_vector(i, 100)
FROM generate_series(1, 8000) i;
CREATE INDEX changed_floats ON changed USING ecp (v, part);
CREATE INDEX changed_codes ON changed USING ecp (v, part) WITH (vectors = codes);
CREATE INDEX changed_points ON changed USING ecp ((v[:2]), part);
CREATE VIEW changed_i AS
	SELECT indexrelid::regclass AS index, pages, advice LIKE 'run ecp_maintain()%' AS advised
	FROM pg_index, ecp_index_stats(indexrelid) WHERE indrelid = 'changed'::regclass;
UPDATE changed SET part = part + 100 WHERE id % 3 = 0;
VACUUM changed;
DELETE FROM changed WHERE id % 4 = 1;
VACUUM changed;
CREATE TABLE deleted AS SELECT * FROM changed_i;
SELECT format('SELECT ecp_maintain(%L) IS NOT NULL AS maintained', index) FROM deleted ORDER BY index \gexec
CREATE TABLE maintained AS SELECT * FROM changed_i;
SELECT index, ecp_index_check(index, true) FROM deleted ORDER BY 1;
REINDEX TABLE changed;
SELECT index, d.pages <= 1.25 * f.pages + 16 OR d.advised AS small_or_advised,
	m.pages <= 1.25 * f.pages AS small, m.advised, f.advised AS fresh_advised
FROM deleted d JOIN maintained m USING (index) JOIN changed_i f USING (index) ORDER BY index;
DROP VIEW changed_i;
DROP TABLE changed, deleted, maintained;
