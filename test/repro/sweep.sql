-- The in-buff in quarters of the report's, on Intel.
\pset footer off
\echo == in-buff, from a quarter to sixteen times that of the report: seconds of waiting in assignment, on Intel
SELECT round(quarters / 4.0, 2) AS times, max(in_buff) / 1024 AS "in-buff kB", max(rounds) AS rounds,
	round(percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_s - cpu_s) FILTER (WHERE policy = 'tempfiles')::numeric, 2) AS tempfiles,
	round(percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_s - cpu_s) FILTER (WHERE policy = 'chunkfiles')::numeric, 2) AS chunkfiles
FROM build WHERE setup = 'sweep' AND phase = 'assignment' GROUP BY quarters ORDER BY quarters;
INSERT INTO checks (what, asked, measured, holds)
SELECT 'a larger in-buff speeds TempFiles'' assignment up', 'fewer s each time', string_agg(round(s::numeric, 1)::text, ', ' ORDER BY quarters), bool_and(s < before)
FROM (SELECT quarters, percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_s) AS s, lag(percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_s)) OVER (ORDER BY quarters) AS before
	FROM build WHERE setup = 'sweep' AND policy = 'tempfiles' AND phase = 'assignment' GROUP BY quarters) AS q;
