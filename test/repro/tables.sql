-- Tables 2 and 3: medians of ours, and the published seconds over :share times
-- :speed.  Waiting is wall clock less CPU, as in the report.
\pset footer off
CREATE VIEW waited AS
SELECT setup, policy, phase, percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_s - cpu_s) AS wait_s,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_s) AS wall_s, min(wall_s - cpu_s) AS least_s, max(wall_s - cpu_s) AS most_s, count(*) AS n
FROM build WHERE setup <> 'sweep' GROUP BY setup, policy, phase;
CREATE VIEW ours AS
SELECT p.*, max(wait_s) FILTER (WHERE policy = 'tempfiles' AND phase = 'assignment') AS tfa, max(wait_s) FILTER (WHERE policy = 'chunkfiles' AND phase = 'assignment') AS cfa,
	max(wait_s) FILTER (WHERE policy = 'tempfiles' AND phase = 'merging') AS tfm, max(wait_s) FILTER (WHERE policy = 'chunkfiles' AND phase = 'merging') AS cfm,
	max(w.n) FILTER (WHERE policy = 'tempfiles') AS tfn, max(w.n) FILTER (WHERE policy = 'chunkfiles') AS cfn
FROM published AS p JOIN waited AS w USING (setup) GROUP BY p.setup, p.n;

\echo == Tables 2 and 3: seconds of waiting; in brackets, those of the report, scaled
SELECT setup, format('%s (%s)', round(tfa::numeric, 1), round((tf_assign / :share / :speed)::numeric, 1)) AS "TF assign",
	format('%s (%s)', round(cfa::numeric, 1), round((cf_assign / :share / :speed)::numeric, 1)) AS "CF assign",
	format('%s (%s)', round(tfm::numeric, 1), round((tf_merge / :share / :speed)::numeric, 1)) AS "TF merge",
	format('%s (%s)', round(cfm::numeric, 1), round((cf_merge / :share / :speed)::numeric, 1)) AS "CF merge",
	format('%s (%s)', round(((tfa + tfm) / (cfa + cfm))::numeric, 1), round(((tf_assign + tf_merge) / (cf_assign + cf_merge))::numeric, 1)) AS "TF/CF I/O",
	tfn AS "TF runs", cfn AS "CF runs"
FROM ours ORDER BY n;
\echo == Spread of the waiting, and what ecp_plan_build said of the phases of over 2 s
SELECT b.setup, b.policy, b.phase, count(*) AS n, round(min(wall_s - cpu_s)::numeric, 2) AS least, round(max(wall_s - cpu_s)::numeric, 2) AS most,
	round(percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_s)::numeric, 2) AS wall, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY cpu_s)::numeric, 2) AS cpu,
	round(avg(predicted_s)::numeric, 2) AS predicted,
	round((avg(predicted_s) / percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_s))::numeric, 2) AS factor
FROM build AS b JOIN published AS p USING (setup) GROUP BY p.n, b.setup, b.policy, b.phase ORDER BY p.n, b.policy, b.phase;

CREATE VIEW ratios AS
SELECT *, (tfa + tfm) / (cfa + cfm) AS gap, (tf_assign + tf_merge) / (cf_assign + cf_merge) AS gap_published FROM ours;

-- orderings
INSERT INTO checks (what, asked, measured, holds)
SELECT 'ChunkFiles waits less than TempFiles everywhere', 'TF/CF over 1', format('%s and more', round(min(gap)::numeric, 1)), bool_and(gap > 1) FROM ratios
UNION ALL SELECT 'STalent has the worst TempFiles assignment', 'more s than any other', string_agg(format('%s %s', setup, round(tfa::numeric, 1)), ', ' ORDER BY n),
	max(tfa) = max(tfa) FILTER (WHERE setup = 'STalent') FROM ratios
UNION ALL SELECT 'Seagate: TempFiles merges longer than it assigns', 'merge/assign over 1', round((tfm / tfa)::numeric, 2)::text, tfm > tfa FROM ratios WHERE setup = 'Seagate'
UNION ALL SELECT 'of single drives, the gap is smallest on Intel', 'least TF/CF', string_agg(format('%s %s', setup, round(gap::numeric, 1)), ', ' ORDER BY n),
	min(gap) = min(gap) FILTER (WHERE setup = 'Intel') FROM ratios WHERE drives = 1
UNION ALL SELECT format('%s: TempFiles merges about as fast as ChunkFiles', setup), format('TF/CF 0.5 to 2 (report %s)', round((tf_merge / cf_merge)::numeric, 2)), round((tfm / cfm)::numeric, 2)::text,
	tfm / cfm BETWEEN 0.5 AND 2 FROM ratios WHERE drives = 2
UNION ALL SELECT 'ChunkFiles assignment waits longer on F-I-F than on I-I-I', 'F-I-F/I-I-I over 1', round((f.cfa / i.cfa)::numeric, 2)::text, f.cfa > i.cfa
	FROM ratios AS f, ratios AS i WHERE f.setup = 'F-I-F' AND i.setup = 'I-I-I';
-- what the waiting is, of a whole build with the report's CPU
INSERT INTO checks (what, asked, measured, holds)
SELECT format('ChunkFiles on F-I-F and on I-I-I with the report''s CPU, scaled (%s s)', round(c::numeric, 1)), 'within 5 %', format('%s %%', round(100 * x::numeric, 1)), abs(x) < 0.05
FROM (SELECT c, (f.cfa + f.cfm + c) / (i.cfa + i.cfm + c) - 1 AS x
	FROM ratios AS f, ratios AS i, (SELECT 11000.0 / :share / :speed AS c) AS cpu WHERE f.setup = 'F-I-F' AND i.setup = 'I-I-I') AS r;
INSERT INTO checks (what, asked, measured, holds)
SELECT format('%s: TF/CF of I/O', setup), format('%s to %s (report %s)', round((gap_published / 3)::numeric, 1), round((gap_published * 3)::numeric, 1), round(gap_published::numeric, 1)),
	round(gap::numeric, 1)::text, gap / gap_published BETWEEN 1.0 / 3 AND 3
FROM ratios ORDER BY n;
-- predictions, made before each build from what ecp_calibrate() found
INSERT INTO checks (what, asked, measured, holds)
SELECT format('%s, %s: ecp_plan_build of the %s, which took %s s', setup, policy, CASE phase WHEN 'merging' THEN 'merge' ELSE phase END, round(s::numeric, 1)), 'predicted/measured 0.67 to 1.5', round(f::numeric, 2)::text, f BETWEEN 1 / 1.5 AND 1.5
FROM (SELECT p.n, setup, policy, phase, percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_s) AS s, avg(predicted_s) / percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_s) AS f
	FROM build JOIN published AS p USING (setup) GROUP BY p.n, setup, policy, phase HAVING percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_s) > 2) AS p
ORDER BY n, policy DESC, phase;
INSERT INTO checks (what, asked, measured, holds)
SELECT format('%s: auto', setup), 'at most 1.05 of the better policy''s s', format('%s, %s', a.policy, round((mine / best)::numeric, 2)), mine <= 1.05 * best
FROM (SELECT p.n, setup, b.policy, min(t.s) FILTER (WHERE t.policy = b.policy) AS mine, min(t.s) AS best
	FROM (SELECT DISTINCT setup, policy FROM build WHERE wanted = 'auto') AS b
		JOIN (SELECT setup, policy, sum(wall_s) AS s FROM waited GROUP BY setup, policy) AS t USING (setup)
		JOIN published AS p USING (setup)
	GROUP BY p.n, setup, b.policy) AS a
ORDER BY n;
