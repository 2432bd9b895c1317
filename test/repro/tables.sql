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

INSERT INTO checks (what, holds, figures)
SELECT 'ChunkFiles beats TempFiles everywhere', bool_and(cfa + cfm < tfa + tfm), NULL FROM ours
UNION ALL SELECT 'STalent has the worst TempFiles assignment', max(tfa) = max(tfa) FILTER (WHERE setup = 'STalent'), NULL FROM ours
UNION ALL SELECT 'Seagate: TempFiles merges longer than it assigns', bool_and(tfm > tfa), NULL FROM ours WHERE setup = 'Seagate'
UNION ALL SELECT 'the gap of single drives is smallest on Intel', min((tfa + tfm) / (cfa + cfm)) = min((tfa + tfm) / (cfa + cfm)) FILTER (WHERE setup = 'Intel'), NULL FROM ours WHERE drives = 1
UNION ALL SELECT 'two drives: TempFiles merges about as fast as ChunkFiles (factor 2)', bool_and(tfm / cfm BETWEEN 0.5 AND 2), string_agg(format('%s %s', setup, round((tfm / cfm)::numeric, 2)), ', ') FROM ours WHERE drives = 2
UNION ALL SELECT 'F-I-F waits longer than I-I-I in ChunkFiles assignment', max(cfa) FILTER (WHERE setup = 'F-I-F') > max(cfa) FILTER (WHERE setup = 'I-I-I'), NULL FROM ours
UNION ALL SELECT 'F-I-F within 5 % of I-I-I for ChunkFiles, with the report''s CPU, scaled',
	abs(max(cfa + cfm + c) FILTER (WHERE setup = 'F-I-F') / max(cfa + cfm + c) FILTER (WHERE setup = 'I-I-I') - 1) < 0.05,
	format('%s %%', round((100 * (max(cfa + cfm + c) FILTER (WHERE setup = 'F-I-F') / max(cfa + cfm + c) FILTER (WHERE setup = 'I-I-I') - 1))::numeric, 1))
	FROM ours, (SELECT 11000.0 / :share / :speed AS c) AS cpu
UNION ALL SELECT 'each TF/CF I/O ratio within a factor 3', bool_and(f BETWEEN 1.0 / 3 AND 3), string_agg(format('%s %s', setup, round(f::numeric, 2)), ', ' ORDER BY n)
	FROM (SELECT n, setup, ((tfa + tfm) / (cfa + cfm)) / ((tf_assign + tf_merge) / (cf_assign + cf_merge)) AS f FROM ours) AS r
UNION ALL SELECT 'ecp_plan_build within a factor 1.5 of every phase of over 2 s', bool_and(f BETWEEN 1 / 1.5 AND 1.5),
	format('%s to %s; outside: %s', round(min(f)::numeric, 2), round(max(f)::numeric, 2), coalesce(string_agg(format('%s %s %s %s', setup, policy, phase, round(f::numeric, 2)), ', ') FILTER (WHERE f NOT BETWEEN 1 / 1.5 AND 1.5), 'none'))
	FROM (SELECT setup, policy, phase, avg(predicted_s) / percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_s) AS f FROM build WHERE setup <> 'sweep'
		GROUP BY setup, policy, phase HAVING percentile_cont(0.5) WITHIN GROUP (ORDER BY wall_s) > 2) AS p
UNION ALL SELECT 'auto takes the better policy, or loses no more than 5 %', bool_and(mine <= 1.05 * best), string_agg(format('%s %s', setup, policy), ', ')
	FROM (SELECT setup, b.policy, min(t.s) FILTER (WHERE t.policy = b.policy) AS mine, min(t.s) AS best
		FROM (SELECT DISTINCT setup, policy FROM build WHERE wanted = 'auto') AS b
			JOIN (SELECT setup, policy, sum(wall_s) AS s FROM waited GROUP BY setup, policy) AS t USING (setup)
		GROUP BY setup, b.policy) AS a;
