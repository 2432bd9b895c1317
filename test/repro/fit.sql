-- A throttle's delay is the larger of 1 / operations and bytes / throughput:
-- a plateau and a slope.  The line of the least squares is beside them.
\pset footer off
\echo == Three settings: plateau and slope measured; in brackets, the limits
CREATE VIEW fitted AS
SELECT name, (profile).*, 1e6 / read_iops AS true_plateau_us, l.read_mb_s AS true_mb_s
FROM setting JOIN setting_limit AS l USING (name) WHERE name = ANY ('{slow,middle,fast}');
SELECT name, format('%s (%s)', round(plateau_us), round(true_plateau_us)) AS "plateau us", round((100 * (plateau_us / true_plateau_us - 1))::numeric, 1) AS "%",
	format('%s (%s)', round(slope_mb_s::numeric, 1), true_mb_s) AS "slope MB/s", round((100 * (slope_mb_s / true_mb_s - 1))::numeric, 1) AS "%",
	round(latency_us::numeric) AS "L us", round(read_mb_s::numeric, 1) AS "T MB/s", round(r2::numeric, 3) AS r2,
	round(wall_s::numeric, 1) AS seconds, written_bytes / 1000000 AS "MB written"
FROM fitted ORDER BY true_mb_s;
INSERT INTO checks (what, asked, measured, holds)
SELECT format('%s MB/s, %s operations/s: plateau and slope', true_mb_s, round(1e6 / true_plateau_us)), 'each within 10 % of the limit', format('%s %%, %s %%', round((100 * (plateau_us / true_plateau_us - 1))::numeric, 1), round((100 * (slope_mb_s / true_mb_s - 1))::numeric, 1)),
	abs(plateau_us / true_plateau_us - 1) < 0.1 AND abs(slope_mb_s / true_mb_s - 1) < 0.1 FROM fitted ORDER BY true_mb_s;
