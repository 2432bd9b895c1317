--
-- The model of a build against the report's published tables, without any
-- device.  A device is {latency ms, read MB/s, write MB/s, small writes/s}.
-- Table 1 gives seek plus rotation and both throughputs; it says "<1 ms" for
-- flash, where 0.7 and 0.03 ms are assumed, and it has no rate of small
-- writes, which is stated here.  110 million records of 132 bytes, 111,424
-- clusters, in-buff of 128 MB; 4 GB of memory let 40 % lie unwritten, Linux's
-- default then; CPU 10,930 + 70 s.  The NAS is not in Table 1 and so not here.
--
CREATE EXTENSION ecp_storage;
\set SHOW_CONTEXT never
SET search_path = public, ecp_models;
CREATE TEMPORARY TABLE dev (name text, fig float8[]);
INSERT INTO dev VALUES
	('Seagate', '{15.16, 46, 40, 66}'),
	('Fujitsu', '{15.67, 68, 53, 64}'),
	('STalent', '{0.7, 124, 34, 270}'),
	('Intel', '{0.03, 220, 66, 3300}');
CREATE TEMPORARY TABLE published (setup text, raw text, temp text, apart bool,
	tf_total float8, cf_total float8, tf_assign float8, cf_assign float8, tf_merge float8, cf_merge float8);
INSERT INTO published VALUES
	('Seagate', 'Seagate', 'Seagate', false, 43144, 12949, 12556, 548, 18829, 1299),
	('Fujitsu', 'Fujitsu', 'Fujitsu', false, 32895, 12689, 9975, 388, 11145, 1207),
	('STalent', 'STalent', 'STalent', false, 32540, 11528, 17120, 149, 3529, 236),
	('Intel', 'Intel', 'Intel', false, 14164, 11398, 2028, 46, 402, 244),
	('F-I-F', 'Fujitsu', 'Intel', true, 13467, 11640, 1977, 370, 208, 220),
	('I-I-I', 'Intel', 'Intel', true, 13484, 11301, 1666, 67, 180, 188);
CREATE TEMPORARY TABLE model AS
SELECT p.*, tf.total_s AS tft, cf.total_s AS cft, tf.assign_wait_s AS tfa, cf.assign_wait_s AS cfa,
	tf.merge_wait_s AS tfm, cf.merge_wait_s AS cfm, tf.appends, tf.writes, cf.runs
FROM published AS p
	JOIN dev AS a ON a.name = p.raw
	JOIN dev AS b ON b.name = p.temp,
	ecp_build_model(110e6, 132, 111424, a.fig, b.fig, a.fig, apart, cpu_assign_s => 10930, cpu_merge_s => 70) AS tf,
	ecp_build_model(110e6, 132, 111424, a.fig, b.fig, a.fig, apart, cpu_assign_s => 10930, cpu_merge_s => 70) AS cf
WHERE tf.policy = 'tempfiles' AND cf.policy = 'chunkfiles';

-- 12.1 million appends and 109 chunk files, as in the report
SELECT DISTINCT round(appends / 1e6, 1) AS appends_million, runs
FROM (SELECT appends::numeric, runs FROM model) AS m;

-- the tables: seconds of the model beside the published ones
SELECT setup, round(tft) AS tf_total, tf_total AS published, round(cft) AS cf_total, cf_total AS published,
	round(tfa) AS tf_assign, tf_assign AS published, round(cfa) AS cf_assign, cf_assign AS published,
	round(tfm) AS tf_merge, tf_merge AS published, round(cfm) AS cf_merge, cf_merge AS published
FROM model ORDER BY apart, tf_total DESC;

-- each total within a fifth; each ratio of TempFiles' I/O to ChunkFiles'
-- within a factor of 3
SELECT bool_and(abs(tft / tf_total - 1) < 0.2 AND abs(cft / cf_total - 1) < 0.2) AS totals,
	bool_and(((tfa + tfm) / (cfa + cfm)) / ((tf_assign + tf_merge) / (cf_assign + cf_merge)) BETWEEN 1.0/3 AND 3) AS io_ratios
FROM model;
-- the orders of Table 2, column by column.  (Its ChunkFiles merge puts
-- STalent just before Intel; 236 s are less than STalent takes to write
-- 14.5 GB at the 34 MB/s of Table 1, so that column is not asked for.)
SELECT array_agg(setup ORDER BY tft) = array_agg(setup ORDER BY tf_total) AS tf_total,
	array_agg(setup ORDER BY cft) = array_agg(setup ORDER BY cf_total) AS cf_total,
	array_agg(setup ORDER BY tfa) = array_agg(setup ORDER BY tf_assign) AS tf_assign,
	array_agg(setup ORDER BY cfa) = array_agg(setup ORDER BY cf_assign) AS cf_assign,
	array_agg(setup ORDER BY tfm) = array_agg(setup ORDER BY tf_merge) AS tf_merge,
	array_agg(setup ORDER BY cfm) FILTER (WHERE setup <> 'STalent')
		= array_agg(setup ORDER BY cf_merge) FILTER (WHERE setup <> 'STalent') AS cf_merge
FROM model WHERE NOT apart;
-- what the report concludes
SELECT bool_and(cft < tft) AS chunkfiles_always,
	max(tfa) = max(tfa) FILTER (WHERE setup = 'STalent') AS stalent_assign_worst,
	bool_and(tfm > tfa) FILTER (WHERE setup = 'Seagate') AS seagate_merge_over_assign,
	min(tft / cft) = min(tft / cft) FILTER (WHERE setup IN ('Intel', 'F-I-F', 'I-I-I')) AS flash_gap_smallest,
	bool_and(abs(tfm / cfm - 1) < 0.2) FILTER (WHERE apart) AS two_drives_merge_alike,
	max(cfa) FILTER (WHERE setup = 'F-I-F') > max(cfa) FILTER (WHERE setup = 'I-I-I') AS fif_waits_for_its_source,
	max(cft) FILTER (WHERE setup = 'F-I-F') < 1.05 * max(cft) FILTER (WHERE setup = 'I-I-I') AS no_need_of_flash_everywhere
FROM model;

-- in-buff from 16 MB to 1 GB: TempFiles gains, ChunkFiles does not
SELECT mb, round(tf.assign_wait_s) AS tf_assign, round(cf.assign_wait_s) AS cf_assign
FROM (VALUES (16), (64), (128), (256), (512), (1024)) AS v(mb),
	LATERAL (SELECT fig FROM dev WHERE name = 'Seagate') AS d,
	LATERAL (SELECT * FROM ecp_build_model(110e6, 132, 111424, fig, fig, fig, in_buff => mb * 1048576.0, cpu_assign_s => 10930) WHERE policy = 'tempfiles') AS tf,
	LATERAL (SELECT * FROM ecp_build_model(110e6, 132, 111424, fig, fig, fig, in_buff => mb * 1048576.0, cpu_assign_s => 10930) WHERE policy = 'chunkfiles') AS cf
ORDER BY mb;

-- What stays in memory is waited for by neither policy: but for the opening of
-- its files TempFiles is as fast
SELECT policy, round(assign_wait_s::numeric, 2) AS assign, round(merge_wait_s::numeric, 2) AS merge
FROM dev, ecp_build_model(1e6, 132, 1000, fig, fig, fig) WHERE name = 'Seagate';

-- One fast tablespace, which of the three kinds of data gains most from it?
INSERT INTO ecp_storage.ecp_device (tablespace, latency_us, read_mb_s, seq_read_mb_s, seq_write_mb_s, rand_write_iops)
VALUES ('pg_default', 15670, 68, 68, 53, 64), ('ecp_model_fast', 30, 220, 220, 66, 3300);
SET allow_in_place_tablespaces = true;
CREATE TABLESPACE ecp_model_fast LOCATION '';
CREATE TABLE pics (id int, v real[]);
ALTER TABLE pics ALTER v SET STORAGE PLAIN;
INSERT INTO pics SELECT g, array_fill(g::real, ARRAY[128]) FROM generate_series(1, 2000) AS g;
SELECT count(*) FROM ecp_plan_build('pics', 'v', '{pg_default,ecp_model_fast}');
ANALYZE pics;
SELECT count(*), count(DISTINCT (raw, temp, final)) AS placings, bool_and(total_s > 0) AS positive
FROM ecp_plan_build('pics', 'v', '{pg_default,ecp_model_fast}', in_buff => 65536, dirty => 65536);
SELECT CASE 'ecp_model_fast' WHEN raw THEN 'raw' WHEN temp THEN 'temp' ELSE 'final' END AS gains_most
FROM ecp_plan_build('pics', 'v', '{pg_default,ecp_model_fast}', in_buff => 65536, dirty => 65536)
WHERE (raw = 'ecp_model_fast')::int + (temp = 'ecp_model_fast')::int + (final = 'ecp_model_fast')::int = 1
	AND policy = 'chunkfiles'
ORDER BY total_s LIMIT 1;
SELECT count(*) FROM ecp_plan_build('pics', 'w', '{pg_default}');
SELECT count(*) FROM ecp_plan_build('pics', 'v', '{pg_global}');
SELECT count(*) FROM ecp_plan_build('pics', 'v', '{}');
SELECT * FROM ecp_build_model(1, 1, 1, '{1,1,1}', '{1,1,1,1}', '{1,1,1,1}');
SELECT * FROM ecp_build_model(1, 1, 0, '{1,1,1,1}', '{1,1,1,1}', '{1,1,1,1}');
SELECT * FROM ecp_build_model(1, 1, 1, '{inf,1,1,1}', '{1,1,1,1}', '{1,1,1,1}');
SELECT * FROM ecp_build_model(1e300, 1e300, 1, '{1,1,1,1}', '{1,1,1,1}', '{1,1,1,1}');
SELECT * FROM ecp_plan_build(4000000000, 'v', '{pg_default}');
DELETE FROM ecp_storage.ecp_device;
DROP TABLE pics;
DROP TABLESPACE ecp_model_fast;
SET client_min_messages = warning;
DROP EXTENSION ecp_storage;
