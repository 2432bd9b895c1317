-- What was measured of each device of the report, and what its limits are.
\pset footer off
\echo == Table 1: L and T by calibration; in brackets, the limits
SELECT name, round((profile).latency_us::numeric) AS "L us", round((profile).read_mb_s::numeric) AS "T MB/s", round((profile).r2::numeric, 3) AS r2,
	format('%s (%s)', round((profile).plateau_us), round(1e6 / read_iops)) AS "plateau us",
	format('%s (%s)', round((profile).seq_read_mb_s), read_mb_s) AS "seq. read",
	format('%s (%s)', round((profile).seq_write_mb_s), write_mb_s) AS "seq. write",
	format('%s (%s)', round((profile).rand_write_iops), write_iops) AS "small writes/s",
	round((profile).wall_s::numeric, 1) AS seconds, (profile).written_bytes / 1000000 AS "MB written"
FROM setting JOIN setting_limit USING (name) WHERE name <> ALL ('{slow,middle,fast}') ORDER BY read_iops, write_iops;
