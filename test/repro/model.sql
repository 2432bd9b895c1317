-- The published figures out of the models alone, without any device.  Prints
-- ours beside theirs; each "check" line must say "holds".
\pset footer off
SET client_min_messages = warning;
SET search_path = public, ecp_models, pg_catalog;
BEGIN;

\echo == Impact of Storage Technology: Table 1, as given to the model
\echo    (seek + rotation, sequential read and write as printed; latency of flash
\echo    below the printed "< 1 ms" and the rate of small writes are assumed)
CREATE TEMPORARY TABLE dev (name text, fig float8[]) ON COMMIT DROP;
INSERT INTO dev VALUES ('Seagate', '{15.16, 46, 40, 66}'), ('Fujitsu', '{15.67, 68, 53, 64}'),
	('STalent', '{0.7, 124, 34, 270}'), ('Intel', '{0.03, 220, 66, 3300}');
SELECT name, fig[1] AS latency_ms, fig[2] AS read_mb_s, fig[3] AS write_mb_s, fig[4] AS small_writes_s FROM dev;

CREATE TEMPORARY TABLE m ON COMMIT DROP AS
SELECT p.*, tf.total_s AS tft, cf.total_s AS cft, tf.assign_wait_s AS tfa, cf.assign_wait_s AS cfa, tf.merge_wait_s AS tfm, cf.merge_wait_s AS cfm
FROM (VALUES
	('Seagate', 'Seagate', 'Seagate', false, 43144, 12949, 12556, 548, 18829, 1299),
	('Fujitsu', 'Fujitsu', 'Fujitsu', false, 32895, 12689, 9975, 388, 11145, 1207),
	('STalent', 'STalent', 'STalent', false, 32540, 11528, 17120, 149, 3529, 236),
	('Intel', 'Intel', 'Intel', false, 14164, 11398, 2028, 46, 402, 244),
	('F-I-F', 'Fujitsu', 'Intel', true, 13467, 11640, 1977, 370, 208, 220),
	('I-I-I', 'Intel', 'Intel', true, 13484, 11301, 1666, 67, 180, 188))
	AS p(setup, raw, temp, apart, tf_total, cf_total, tf_assign, cf_assign, tf_merge, cf_merge)
	JOIN dev AS a ON a.name = p.raw JOIN dev AS b ON b.name = p.temp,
	ecp_build_model(110e6, 132, 111424, a.fig, b.fig, a.fig, apart, cpu_assign_s => 10930, cpu_merge_s => 70) AS tf,
	ecp_build_model(110e6, 132, 111424, a.fig, b.fig, a.fig, apart, cpu_assign_s => 10930, cpu_merge_s => 70) AS cf
WHERE tf.policy = 'tempfiles' AND cf.policy = 'chunkfiles';
\echo == Tables 2 and 3, seconds: model (report).  The NAS has no Table 1 figures.
SELECT setup, format('%s (%s)', round(tft), tf_total) AS "TF total", format('%s (%s)', round(cft), cf_total) AS "CF total",
	format('%s (%s)', round(tfa), tf_assign) AS "TF assign", format('%s (%s)', round(cfa), cf_assign) AS "CF assign",
	format('%s (%s)', round(tfm), tf_merge) AS "TF merge", format('%s (%s)', round(cfm), cf_merge) AS "CF merge",
	format('%s (%s)', round(((tfa + tfm) / (cfa + cfm))::numeric, 1), round((tf_assign + tf_merge)::numeric / (cf_assign + cf_merge), 1)) AS "TF/CF I/O"
FROM m ORDER BY apart, tf_total DESC;
CREATE TEMPORARY TABLE checks (n int GENERATED ALWAYS AS IDENTITY, what text, holds bool) ON COMMIT DROP;
INSERT INTO checks (what, holds)
SELECT 'ChunkFiles beats TempFiles on every device', bool_and(cft < tft) FROM m
UNION ALL SELECT 'STalent has the worst TempFiles assignment', max(tfa) = max(tfa) FILTER (WHERE setup = 'STalent') FROM m
UNION ALL SELECT 'Seagate: TempFiles merges longer than it assigns', bool_and(tfm > tfa) FILTER (WHERE setup = 'Seagate') FROM m
UNION ALL SELECT 'the gap of single drives is smallest on Intel', min(tft / cft) = min(tft / cft) FILTER (WHERE setup = 'Intel') FROM m WHERE NOT apart
UNION ALL SELECT 'two drives: TempFiles merges as fast as ChunkFiles', bool_and(tfm / cfm BETWEEN 0.8 AND 1.25) FROM m WHERE apart
UNION ALL SELECT 'F-I-F waits longer than I-I-I in ChunkFiles assignment', max(cfa) FILTER (WHERE setup = 'F-I-F') > max(cfa) FILTER (WHERE setup = 'I-I-I') FROM m
UNION ALL SELECT 'F-I-F within 5 % of I-I-I for ChunkFiles', max(cft) FILTER (WHERE setup = 'F-I-F') < 1.05 * max(cft) FILTER (WHERE setup = 'I-I-I') FROM m
UNION ALL SELECT 'each TF/CF I/O ratio within a factor 3', bool_and(((tfa + tfm) / (cfa + cfm)) / ((tf_assign + tf_merge)::float8 / (cf_assign + cf_merge)) BETWEEN 1.0/3 AND 3) FROM m;

\echo == in-buff on Seagate: seconds of waiting in assignment
SELECT mb, round(tf.assign_wait_s) AS tempfiles, round(cf.assign_wait_s) AS chunkfiles
FROM unnest('{32,128,512,2048}'::int[]) AS mb, dev,
	LATERAL (SELECT * FROM ecp_build_model(110e6, 132, 111424, fig, fig, fig, in_buff => mb * 1048576.0, cpu_assign_s => 10930) WHERE policy = 'tempfiles') AS tf,
	LATERAL (SELECT * FROM ecp_build_model(110e6, 132, 111424, fig, fig, fig, in_buff => mb * 1048576.0, cpu_assign_s => 10930) WHERE policy = 'chunkfiles') AS cf
WHERE name = 'Seagate' ORDER BY mb;

\echo == Comparing Multimedia Storage Architectures: utilisation in per cent, formula (published)
SELECT fps, format('%s (%s)', round(100 * ecp_stream_utilisation(ARRAY[fps], 400e3, 8, 8, 10, 4)::numeric, 1), gv) AS gigaview,
	format('%s (%s)', round(100 * ecp_stream_utilisation(ARRAY[fps], 400e3, 1, 1, 0, 75, passes => 5)::numeric, 1), ws) AS workstation_cluster
FROM (VALUES (32, 70, 85), (21, 46.53, 53.63), (27.06, 60, 70)) AS v(fps, gv, ws);
\echo == Delays in ms: one stream; three aligned; three harmonised (published: 50, 130 worst)
CREATE TEMPORARY TABLE s ON COMMIT DROP AS
SELECT 1 AS n, 'one of 27 frames/s' AS streams, x.* FROM ecp_stream_simulate('{21}', 10, 4, time_slice => 0.776) AS x WHERE stream IS NULL
UNION ALL SELECT 2, 'three of 8, 7 and 6, aligned', x.* FROM ecp_stream_simulate('{8,7,6}', 10, 4, time_slice => 0.776) AS x WHERE stream IS NULL
UNION ALL SELECT 3, 'three, harmonised', x.* FROM ecp_stream_simulate('{8,7,6}', 10, 4, time_slice => 0.776, harmonise => true) AS x WHERE stream IS NULL;
SELECT streams, round(p50_ms::numeric, 1) AS p50, round(p95_ms::numeric, 1) AS p95, round(p99_ms::numeric, 1) AS p99, round(max_ms::numeric, 1) AS worst, round(jitter_ms::numeric, 1) AS jitter FROM s ORDER BY n;
INSERT INTO checks (what, holds)
SELECT 'formula within 5 points of every published utilisation', bool_and(abs(100 * ecp_stream_utilisation(ARRAY[fps], 400e3, 8, 8, 10, 4) - gv) < 5 AND abs(100 * ecp_stream_utilisation(ARRAY[fps], 400e3, 1, 1, 0, 75, passes => 5) - ws) < 5)
FROM (VALUES (32, 70, 85), (21, 46.53, 53.63), (27.06, 60, 70)) AS v(fps, gv, ws)
UNION ALL SELECT 'three aligned streams at least double the worst delay of one', (SELECT max_ms FROM s WHERE n = 2) >= 2 * (SELECT max_ms FROM s WHERE n = 1)
UNION ALL SELECT 'harmonised within 1.2 times that of one', (SELECT max_ms FROM s WHERE n = 3) <= 1.2 * (SELECT max_ms FROM s WHERE n = 1);

\echo == Colocation and LPT: 1,400 groups from 3 MB to 25 GB on 29 targets, per cent over the lower bound
SELECT setseed(0.5) \g /dev/null
CREATE TEMPORARY TABLE land ON COMMIT DROP AS SELECT array_agg(3e6 + 25e9 * random() ^ 1.7) AS w FROM generate_series(1, 1400);
CREATE TEMPORARY TABLE p ON COMMIT DROP AS
SELECT strategy, published, 100 * (ecp_place_makespan(w, s, ecp_place_assign(w, s, strategy)) / ecp_place_bound(w, s) - 1) AS over
FROM land, array_fill(1::float8, ARRAY[29]) AS s, (VALUES ('lpt', '< 1'), ('online', '< 5'), ('random', '')) AS v(strategy, published);
SELECT strategy, round(over::numeric, 2) AS over_pct, published FROM p;
INSERT INTO checks (what, holds)
SELECT 'LPT offline within 1 % of the lower bound', over < 1 FROM p WHERE strategy = 'lpt'
UNION ALL SELECT 'LPT online within 5 %', over < 5 FROM p WHERE strategy = 'online'
UNION ALL SELECT 'random placement is 30 % above it or more', over >= 30 FROM p WHERE strategy = 'random';

\echo == Errata of the sources, as computed from their own figures
\echo    Report: CPU is "11,000 s everywhere", but total - assignment - merging is
\echo    11,046 to 11,891 s on local disks and 13,752 and 14,672 s on the NAS.
\echo    Report: STalent merges 14.5 GB by ChunkFiles in 236 s, less than it takes to
\echo    write them at the 34 MB/s of its Table 1 (426 s).
\echo    Report: ChunkFiles "always" wins, but with two drives TempFiles merges faster
\echo    (208 < 220, 180 < 188 s): it is true of the totals.
\echo    GigaView: 7 test functions, then "the 6 functions are", and 7 are listed.
\echo    Streaming B-tree: eps * B^eps at eps = 1/2, B = 2^10 is 16, not 256.

\echo == What must hold
SELECT CASE WHEN holds THEN 'holds' ELSE 'VIOLATED' END AS "check", what FROM checks ORDER BY n;
ROLLBACK;
