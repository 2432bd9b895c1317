--
-- Measuring a tablespace: what is measured, stored, advised, and refused.
-- No figure is looked at beyond its sign.
--
CREATE EXTENSION ecp_storage;
\set SHOW_CONTEXT never
SET search_path = public, ecp_models;
SET allow_in_place_tablespaces = true;
SET client_min_messages = warning;
CREATE TABLESPACE ecp_profile LOCATION '';

-- the fit: delays of a disk of 10 ms and 4 MB/s give these figures back
SELECT round(latency_us) AS latency_us, round(mb_s::numeric, 3) AS mb_s, round(r2::numeric, 3) AS r2, round(half_bandwidth) AS half_bandwidth
FROM ecp_delay_fit('{12500,25000,50000,100000}', '{13125,16250,22500,35000}');
-- a throttle is a plateau and a slope, not a line; r2 says so
SELECT r2 < 0.99 AS bent FROM ecp_delay_fit('{1000,2000,4000,100000,200000}', '{1000,1000,1000,10000,20000}');
-- delays that fall with the size have no latency
SELECT latency_us FROM ecp_delay_fit('{1000,2000}', '{20,10}');
SELECT ecp_delay_fit('{1}', '{1}');
SELECT ecp_delay_fit('{1,2}', '{1}');
SELECT ecp_delay_fit('{1,0}', '{1,1}');

-- nothing is known of a tablespace that was not measured
SELECT count(*) FROM ecp_advise('ecp_profile');

-- a slow device needs more time for all of it, and gets it
CREATE TEMPORARY TABLE points AS
SELECT * FROM ecp_calibrate('ecp_profile') WITH NO DATA;
DO $$
DECLARE
	limit_s float8;
BEGIN
	SET LOCAL client_min_messages = error;
	FOREACH limit_s IN ARRAY '{3,10,30,90}'::float8[] LOOP
		DELETE FROM points;
		INSERT INTO points
		SELECT * FROM ecp_calibrate('ecp_profile', file_bytes => 16777216, seconds => limit_s,
			block_bytes => '{4096,65536,1048576}', workers => '{1,2}');
		EXIT WHEN (SELECT count(*) = 15 FROM points);
	END LOOP;
END $$;
SELECT test, op, pattern, cold, misaligned, block, processes, ops > 0 AS ops, bytes = ops * block AS bytes, mb_s > 0 AS mb_s, delay_us > 0 AS delay
FROM points ORDER BY test, block, processes;
SELECT tablespace, latency_us >= 0 AS l, read_mb_s > 0 AS t, r2 <= 1 AS r2, half_bandwidth >= 0 AS half,
	seq_read_mb_s > 0 AS sr, seq_write_mb_s > 0 AS sw, rand_read_iops > 0 AS rr, rand_read_iops_max >= rand_read_iops AS best,
	rand_write_iops > 0 AS rw, rand_write_us > 0 AS rws, fsync_us > 0 AS fsync, cached_mb_s > 0 AS cached, best_workers IN (1, 2) AS workers, spread >= 1 AS spread,
	written_bytes <= 1.5 * file_bytes + 33554432 AS bounded
FROM ecp_storage.ecp_device;
-- measured again: one row
SET client_min_messages = error;
SELECT count(*) > 0 AS again FROM ecp_calibrate('ecp_profile', file_bytes => 16777216, seconds => 0.5, block_bytes => '{4096,65536}', workers => '{1}');
SET client_min_messages = warning;
SELECT count(*) FROM ecp_storage.ecp_device;
-- no file is left
SELECT count(*) FROM pg_ls_tmpdir((SELECT oid FROM pg_tablespace WHERE spcname = 'ecp_profile'));

-- what follows, on a disk and on flash whose figures are given
DELETE FROM ecp_storage.ecp_device;
INSERT INTO ecp_storage.ecp_device (tablespace, latency_us, read_mb_s, r2, half_bandwidth, seq_read_mb_s, seq_write_mb_s,
	rand_read_iops, rand_read_iops_max, rand_write_iops, rand_write_us, best_workers, cached_mb_s)
VALUES ('pg_default', 100, 2000, 0.99, 200000, 2000, 1500, 12000, 150000, 30000, 500, 8, 6000),
	('ecp_profile', 5000, 90, 0.99, 450000, 90, 80, 190, 200, 200, 5050, 1, 6000);
SELECT * FROM ecp_advise('ecp_profile') WHERE statement !~ 'max_parallel';
SELECT * FROM ecp_advise('pg_default') WHERE statement !~ 'max_parallel';
-- no more processes than processors, and that of the session is one of them
SELECT statement, reason ~ '^1 processes|the same' AS reason FROM ecp_advise('ecp_profile') WHERE statement ~ 'max_parallel';
UPDATE ecp_storage.ecp_device SET best_workers = 1000000 WHERE tablespace = 'pg_default';
SELECT substring(statement FROM '\w*max_parallel\w*') AS setting,
	substring(statement FROM '\d+')::int = _ecp_processors() - 1 AS processors, _ecp_processors() BETWEEN 1 AND 8192 AS sane
FROM ecp_advise('pg_default') WHERE statement ~ 'max_parallel';
-- a fit that is none, and passes that differ, are not passed over
UPDATE ecp_storage.ecp_device SET r2 = 0.84, spread = 9.42 WHERE tablespace = 'pg_default';
SELECT reason FROM ecp_advise('pg_default') WHERE statement ~ 'random_page_cost';
UPDATE ecp_storage.ecp_device SET r2 = 0.99, spread = 3 WHERE tablespace = 'pg_default';
SELECT count(*) AS uncertain FROM ecp_advise('pg_default') WHERE reason ~ 'uncertain';
-- the back of the envelope: 5.05 ms for each insert of 16 bytes is 3,168 B/s
SELECT reason ~ '3168 B/s' AS envelope FROM ecp_advise('ecp_profile') WHERE statement ~ 'betree';
-- defaults follow the profile of the index's tablespace.  betree: a log of the
-- half-bandwidth size, at least 38 pages (flash) and at most 128
CREATE TABLE bt_profile (k bigint, filler text);
CREATE INDEX bt_profile_flash ON bt_profile USING betree (k);
CREATE INDEX bt_profile_disk ON bt_profile USING betree (k) TABLESPACE ecp_profile;
CREATE INDEX bt_profile_given ON bt_profile USING betree (k) WITH (log_pages = 7) TABLESPACE ecp_profile;
SELECT c.relname, s.log_pages FROM pg_class AS c, betree_index_stats(c.oid) AS s WHERE c.relname ~ '^bt_profile_' ORDER BY 1;
-- what was advised is a statement that can be run, and no change
SELECT format('CREATE INDEX bt_advised ON bt_profile USING betree (k) %s TABLESPACE ecp_profile', substring(statement, 'WITH .*'))
FROM ecp_advise('ecp_profile') WHERE statement ~ 'betree' \gexec
SELECT log_pages FROM betree_index_stats('bt_advised');
-- a new figure takes effect when the index is opened again
UPDATE ecp_storage.ecp_device SET half_bandwidth = 100000000 WHERE tablespace = 'ecp_profile';
REINDEX INDEX bt_profile_disk;
SELECT log_pages FROM betree_index_stats('bt_profile_disk');
-- also in parallel workers, which open the index themselves
INSERT INTO bt_profile SELECT g, repeat('x', 500) FROM generate_series(1, 3000) AS g;
ANALYZE bt_profile;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_memoize = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM bt_profile AS a JOIN bt_profile AS b USING (k);
SELECT count(*) FROM bt_profile AS a JOIN bt_profile AS b USING (k);
RESET ALL;
SET client_min_messages = warning;
SET search_path = public, ecp_models;
DROP TABLE bt_profile;
UPDATE ecp_storage.ecp_device SET half_bandwidth = 450000 WHERE tablespace = 'ecp_profile';

-- the statements of the first lines are ones that can be run
SELECT statement FROM ecp_advise('ecp_profile') LIMIT 2 \gexec
SELECT spcoptions FROM pg_tablespace WHERE spcname = 'ecp_profile';

-- the four microbenchmarks do real work: the same result for any number of
-- workers
SELECT test, variant, size, count(*) AS runs, count(DISTINCT check_value) = 1 AS same
FROM ecp_bench('ecp_profile', tests => '{knn,sort,search}', workers => '{1,2,3}', inputs => '{1,5}', file_bytes => 2000000, buffer_bytes => 262144)
GROUP BY test, variant, size ORDER BY test, variant, size;
SELECT test, variant, count(*) AS points, bool_and(mb_s > 0) AS moved
FROM ecp_bench('ecp_profile', tests => '{block}', workers => '{1,2}', file_bytes => 8000000, seconds => 0.01)
GROUP BY test, variant ORDER BY variant;
SELECT test, mb_s > 0 AS measured FROM ecp_memory_bench(0.005);

-- refused
SELECT count(*) FROM ecp_calibrate('pg_global');
SELECT count(*) FROM ecp_calibrate('no such tablespace');
SELECT count(*) FROM ecp_calibrate('ecp_profile', file_bytes => 1000);
SELECT count(*) FROM ecp_calibrate('ecp_profile', seconds => 0);
SELECT count(*) FROM ecp_calibrate('ecp_profile', max_written => 1000000);
SELECT count(*) FROM ecp_calibrate('ecp_profile', max_written => -9223372036854775808);
SELECT count(*) FROM ecp_calibrate('ecp_profile', block_bytes => '{8192,4096}');
SELECT count(*) FROM ecp_calibrate('ecp_profile', workers => '{0}');
SELECT count(*) FROM ecp_bench('ecp_profile', tests => '{fio}', file_bytes => 2000000);
SELECT count(*) FROM ecp_bench('ecp_profile', k => 0);
SELECT count(*) FROM ecp_memory_bench(-1);
CREATE ROLE regress_ecp_profile;
SET ROLE regress_ecp_profile;
SELECT count(*) FROM ecp_calibrate('ecp_profile');
SELECT count(*) FROM ecp_bench('ecp_profile');
SELECT count(*) FROM ecp_memory_bench();
SELECT count(*) FROM ecp_stream_bench_files('{ecp_profile}', '{1}');
SELECT count(*) FROM ecp_storage.ecp_device;
-- models measure nothing, and are for everyone
SELECT ecp_place_bound('{8,6,5}', '{1,0.5}'), count(*) FROM ecp_build_model(1e6, 132, 1000, '{1,1,1,1}', '{1,1,1,1}', '{1,1,1,1}');
RESET ROLE;
-- the right to call it is not the right to the tablespace
GRANT EXECUTE ON FUNCTION ecp_bench TO regress_ecp_profile;
SET ROLE regress_ecp_profile;
SELECT count(*) FROM ecp_bench('ecp_profile');
RESET ROLE;
REVOKE ALL ON FUNCTION ecp_bench FROM regress_ecp_profile;
-- with both, a profile is stored by one who may not write to the table
GRANT EXECUTE ON FUNCTION ecp_calibrate TO regress_ecp_profile;
GRANT CREATE ON TABLESPACE ecp_profile TO regress_ecp_profile;
DELETE FROM ecp_storage.ecp_device;
SET ROLE regress_ecp_profile;
SET client_min_messages = error;
SELECT count(*) > 0 AS measured FROM ecp_calibrate('ecp_profile', file_bytes => 16777216, seconds => 0.5, block_bytes => '{4096,65536}', workers => '{1}');
DELETE FROM ecp_storage.ecp_device;
RESET ROLE;
SELECT tablespace FROM ecp_storage.ecp_device;
REVOKE ALL ON FUNCTION ecp_calibrate FROM regress_ecp_profile;
REVOKE ALL ON TABLESPACE ecp_profile FROM regress_ecp_profile;
DROP ROLE regress_ecp_profile;
DELETE FROM ecp_storage.ecp_device;
DROP TABLESPACE ecp_profile;
SET client_min_messages = warning;
DROP EXTENSION ecp_storage;
