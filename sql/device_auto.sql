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

-- not measured
CREATE INDEX auto_v ON auto USING ecp (v);
SELECT policy, why, predicted_s FROM ecp_build_report('auto_v') WHERE phase = 'total';

-- one of the two measured is not enough
INSERT INTO ecp_device (tablespace, latency_us, read_mb_s, seq_read_mb_s, seq_write_mb_s, rand_write_iops)
VALUES ('pg_default', 5000, 90, 90, 80, 190);
REINDEX INDEX auto_v;
SELECT policy, why, predicted_s FROM ecp_build_report('auto_v') WHERE phase = 'total';

-- both: data of this size stay in memory, and the opening of files decides
INSERT INTO ecp_device (tablespace, latency_us, read_mb_s, seq_read_mb_s, seq_write_mb_s, rand_write_iops)
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
DELETE FROM ecp_device;
INSERT INTO ecp_device (tablespace, latency_us, read_mb_s, half_bandwidth) VALUES ('ecp_auto', 200, 200, 40000);
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
RESET effective_cache_size;

DELETE FROM ecp_device;
DROP TABLE auto;
DROP TABLESPACE ecp_auto;
