--
-- build_policy = auto: the policy follows from the profiles of the
-- tablespaces, and the report says why and what was predicted.
--
SET allow_in_place_tablespaces = true;
CREATE TABLESPACE ecp_auto LOCATION '';
CREATE TABLE auto (id int, v real[]);
INSERT INTO auto SELECT g, ARRAY(SELECT ((g * 7919 + d * 104729) % 1000)::real FROM generate_series(1, 32) AS d)
FROM generate_series(1, 3000) AS g;
ANALYZE auto;
SET ecp.build_policy = 'auto';
SET ecp.in_buff = '64kB';
SET ecp.build_tablespaces = 'ecp_auto';

-- without ecp_storage nothing is measured, whatever tables of others say
CREATE SCHEMA ecp_storage;
CREATE TABLE ecp_storage.ecp_device AS SELECT spcname AS tablespace, 5000::float8 AS latency_us, 90::float8 AS read_mb_s, 1::float8 AS r2,
	450000::bigint AS half_bandwidth, 90::float8 AS seq_read_mb_s, 80::float8 AS seq_write_mb_s, 190::float8 AS rand_read_iops,
	190::float8 AS rand_read_iops_max, 190::float8 AS rand_write_iops, 5000::float8 AS rand_write_us, 5000::float8 AS fsync_us,
	900::float8 AS cached_mb_s, 1 AS best_workers, 5000::float8 AS step_read_us, 1::float8 AS mixed_ratio
FROM pg_tablespace;
CREATE INDEX auto_v ON auto USING ecp (v);
SELECT policy, why, predicted_s FROM ecp_build_report('auto_v') WHERE phase = 'total';
CREATE SCHEMA ecp_auto_storage;
-- the schema of the extension is its own
\set SHOW_CONTEXT never
CREATE EXTENSION ecp_storage SCHEMA ecp_auto_storage;
\set SHOW_CONTEXT errors
ALTER SCHEMA ecp_storage RENAME TO ecp_auto_planted;
CREATE EXTENSION ecp_storage SCHEMA ecp_auto_storage;
REINDEX INDEX auto_v;
SELECT policy, why, predicted_s FROM ecp_build_report('auto_v') WHERE phase = 'total';
-- nor is a table in the place of the extension's own
BEGIN;
ALTER EXTENSION ecp_storage DROP TABLE ecp_storage.ecp_device;
INSERT INTO ecp_storage.ecp_device SELECT * FROM ecp_auto_planted.ecp_device;
REINDEX INDEX auto_v;
SELECT policy, why, predicted_s FROM ecp_build_report('auto_v') WHERE phase = 'total';
ROLLBACK;
DROP SCHEMA ecp_auto_planted CASCADE;
SET search_path = public, ecp_auto_storage;

-- not measured
REINDEX INDEX auto_v;
SELECT policy, why, predicted_s FROM ecp_build_report('auto_v') WHERE phase = 'total';

-- one of the two measured is not enough
INSERT INTO ecp_storage.ecp_device (tablespace, latency_us, read_mb_s, seq_read_mb_s, seq_write_mb_s, rand_write_iops)
VALUES ('pg_default', 5000, 90, 90, 80, 190);
REINDEX INDEX auto_v;
SELECT policy, why, predicted_s FROM ecp_build_report('auto_v') WHERE phase = 'total';

-- both: data of this size stay in memory, and the opening of files decides
INSERT INTO ecp_storage.ecp_device (tablespace, latency_us, read_mb_s, seq_read_mb_s, seq_write_mb_s, rand_write_iops)
VALUES ('ecp_auto', 5000, 90, 90, 80, 190);
REINDEX INDEX auto_v;
SELECT policy, why ~ '^predicted .* s of waiting, .* s with tempfiles' AS reason, predicted_s > 0 AS predicted
FROM ecp_build_report('auto_v') WHERE phase = 'total';

-- what was asked for is done
SET ecp.build_policy = 'tempfiles';
REINDEX INDEX auto_v;
SELECT policy, why, predicted_s FROM ecp_build_report('auto_v') WHERE phase = 'total';

-- clusters follow the tablespace of an index that exceeds the caches
RESET ecp.build_policy;
RESET ecp.in_buff;
RESET ecp.build_tablespaces;
CREATE FUNCTION leaf_target(options text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CREATE INDEX i ON auto USING ecp (v) ' || options;
	PERFORM ecp_index_check('i', true);
	RETURN (SELECT m.leaf_target FROM ecp_metapage_info('i') m);
END $$;
DELETE FROM ecp_storage.ecp_device;
INSERT INTO ecp_storage.ecp_device (tablespace, latency_us, read_mb_s, half_bandwidth) VALUES ('ecp_auto', 200, 200, 40000);
SELECT leaf_target('TABLESPACE ecp_auto') AS in_memory;
DROP INDEX i;
SET effective_cache_size = '256kB';
SELECT leaf_target('TABLESPACE ecp_auto') AS half_bandwidth;
DROP INDEX i;
SELECT leaf_target('WITH (cluster_size = 64) TABLESPACE ecp_auto') AS as_asked;
DROP INDEX i;
SELECT leaf_target('TABLESPACE pg_default') AS not_measured;
DROP INDEX i;
DROP FUNCTION leaf_target;

-- the in-buff follows the tablespace of the files, within its share of memory
SET maintenance_work_mem = '512MB';
SET ecp.build_tablespaces = 'ecp_auto';
CREATE FUNCTION in_buff() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	DROP INDEX IF EXISTS i;
	CREATE INDEX i ON auto USING ecp (v);
	RETURN (SELECT pg_size_pretty(round(r.in_buff, -6)) FROM ecp_build_report('i') r WHERE phase = 'total');
END $$;
SET client_min_messages = 'warning';
UPDATE ecp_storage.ecp_device SET half_bandwidth = 400000;
SELECT in_buff() AS slow;
UPDATE ecp_storage.ecp_device SET half_bandwidth = 40000;
SELECT in_buff() AS fast;
DELETE FROM ecp_storage.ecp_device;
SELECT in_buff() AS not_measured;
SET ecp.in_buff = '1MB';
SELECT in_buff() AS as_asked;
RESET ecp.in_buff;
RESET ecp.build_tablespaces;
RESET maintenance_work_mem;
DROP FUNCTION in_buff;

-- workers follow the tablespace of a table that exceeds the caches, unless
-- there is more to compute than to read
CREATE FUNCTION workers() RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	DROP INDEX i;
	CREATE INDEX i ON auto USING ecp (v);
	RETURN (SELECT r.workers FROM ecp_build_report('i') r WHERE phase = 'total');
END $$;
SET max_parallel_maintenance_workers = 1;
SET min_parallel_table_scan_size = 0;
SELECT workers() AS not_measured;
INSERT INTO ecp_storage.ecp_device (tablespace, seq_read_mb_s, best_workers) VALUES ('pg_default', 1, 1);
SELECT workers() AS one_reads_best;
UPDATE ecp_storage.ecp_device SET best_workers = 2;
SELECT workers() AS two_read_best;
UPDATE ecp_storage.ecp_device SET best_workers = 1, seq_read_mb_s = 1000000;
SELECT workers() AS much_to_compute;
UPDATE ecp_storage.ecp_device SET seq_read_mb_s = 1;
RESET effective_cache_size;
SELECT workers() AS in_memory;
DROP FUNCTION workers;
RESET max_parallel_maintenance_workers;
RESET min_parallel_table_scan_size;
RESET client_min_messages;

DELETE FROM ecp_storage.ecp_device;
DROP TABLE auto;
DROP TABLESPACE ecp_auto;
DROP EXTENSION ecp_storage;
DROP SCHEMA ecp_auto_storage;
