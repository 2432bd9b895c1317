--
-- Placement by LPT: the algorithm on plain arrays.
--
CREATE EXTENSION ecp_storage;
SET search_path = public, ecp_models;

-- Seed example: one target of speed 1 and two of speed 1/2.  Worked by hand:
-- 8 -> 1 (8 < 16); 6 -> 2 (12 < 14, tie of 2 and 3); 5 -> 3 (10 < 13);
-- 4 -> 1 (12 < 18); 3 -> 1 (15 < 16); 2 -> 3 (14); 1 -> 2 (14 < 16)
SELECT ecp_place_assign('{8,6,5,4,3,2,1}', '{1,0.5,0.5}');
SELECT ecp_place_makespan('{8,6,5,4,3,2,1}', '{1,0.5,0.5}', '{1,2,3,1,1,3,2}') AS makespan,
	ecp_place_bound('{8,6,5,4,3,2,1}', '{1,0.5,0.5}') AS bound;
-- the order in which the groups are named does not matter
SELECT ecp_place_assign('{1,2,3,4,5,6,8}', '{1,0.5,0.5}');
-- online they are placed as they come
SELECT ecp_place_assign('{1,2,3,4,5,6,8}', '{1,0.5,0.5}', 'online');

-- equal groups, equal targets: lowest number first, each time
SELECT ecp_place_assign('{1,1,1,1,1}', '{1,1,1}');

-- capacities are hard even where speed pulls the other way
SELECT ecp_place_assign('{8,6,5,4}', '{100,1,1}', capacities => '{8,10,10}');
-- LPT leaves 3,3 | 2 2 with no room for the last 2; best fit finds 3 3 | 2 2 2
SELECT ecp_place_assign('{3,3,2,2,2}', '{1,1}', capacities => '{6,6}');
SELECT ecp_place_assign('{8,6,5,4}', '{1,1}', capacities => '{8,8}');

-- what counts against a capacity need not be what counts against a speed
SELECT ecp_place_assign('{8,6,5,4}', '{2,1}', capacities => '{3,3}', bytes => '{1,1,2,2}');
SELECT ecp_place_assign('{8,6}', '{1}', capacities => '{2}', bytes => '{1,2}', names => '{warm,cold}');

-- a plan that has been carried out is not moved: targets 1 and 2 are equal
SELECT ecp_place_assign('{8,7,2,1}', '{1,1}', current => '{2,1,1,2}');
-- and an online placement never moves what is placed
SELECT ecp_place_assign('{8,7,2,1}', '{1,1}', 'online', current => '{1,1,1,NULL}');

-- rebalancing: nothing to do; the smallest group that is enough; misfits
SELECT ecp_place_assign('{5,5,5,5}', '{1,1}', 'rebalance', current => '{1,2,1,2}');
SELECT ecp_place_assign('{10,9,1,4,4}', '{1,1}', 'rebalance', current => '{1,1,1,2,2}', factor => 1.3);
SELECT ecp_place_assign('{6,3,3}', '{1,1}', 'rebalance', current => '{1,1,NULL}');
-- no better placement exists, so nothing moves
SELECT ecp_place_assign('{10,1}', '{1,1}', 'rebalance', current => '{1,2}');

-- Identical targets: never above 4/3 - 1/(3m) times the optimum, over all
-- instances of up to 7 groups of size 1 to 5 on 2, 3 and 4 targets; and the
-- bound is tight for 2 targets (7/6 with 3 3 2 2 2).
WITH RECURSIVE inst(w, n) AS (
	SELECT ARRAY[s]::float8[], 1 FROM generate_series(1, 5) AS s
	UNION ALL
	SELECT w || s::float8, n + 1
	FROM inst, generate_series(1, 5) AS s
	WHERE n < 7 AND s <= w[n]
), solved AS (
	SELECT m, w,
		ecp_place_makespan(w, speeds, ecp_place_assign(w, speeds)) AS lpt,
		ecp_place_makespan(w, speeds, ecp_place_assign(w, speeds, 'optimal')) AS opt,
		ecp_place_bound(w, speeds) AS bound
	FROM inst, generate_series(2, 4) AS m, array_fill(1::float8, ARRAY[m]) AS speeds
)
SELECT m, count(*) AS instances,
	count(*) FILTER (WHERE lpt > opt * (4.0/3 - 1/(3.0*m)) + 1e-9) AS above_guarantee,
	count(*) FILTER (WHERE bound > opt + 1e-9) AS bound_wrong,
	round(max(lpt / opt)::numeric, 4) AS worst
FROM solved GROUP BY m ORDER BY m;

-- different speeds: never above 2m/(m+1)
WITH RECURSIVE inst(w, n) AS (
	SELECT ARRAY[s]::float8[], 1 FROM generate_series(1, 5) AS s
	UNION ALL
	SELECT w || s::float8, n + 1
	FROM inst, generate_series(1, 5) AS s
	WHERE n < 6 AND s <= w[n]
), solved AS (
	SELECT speeds, w,
		ecp_place_makespan(w, speeds, ecp_place_assign(w, speeds)) AS lpt,
		ecp_place_makespan(w, speeds, ecp_place_assign(w, speeds, 'optimal')) AS opt,
		ecp_place_bound(w, speeds) AS bound
	FROM inst, (VALUES ('{1,2}'::float8[]), ('{1,2,4}'), ('{3,3,1}')) AS v(speeds)
)
SELECT speeds, count(*) AS instances,
	count(*) FILTER (WHERE lpt > opt * 2 * cardinality(speeds) / (cardinality(speeds) + 1) + 1e-9) AS above_guarantee,
	count(*) FILTER (WHERE bound > opt + 1e-9) AS bound_wrong
FROM solved GROUP BY speeds ORDER BY speeds;

-- Rebalancing against the fewest bytes that bring two targets to the limit,
-- found by trying every placement of six groups.
WITH inst AS (
	SELECT i, ARRAY(SELECT (1 + (i * 7 + g * g * 5 + i * g) % 9)::float8 FROM generate_series(1, 6) AS g) AS w,
		ARRAY(SELECT 1 + ((i + g) % 5 = 0)::int FROM generate_series(1, 6) AS g) AS cur
	FROM generate_series(1, 40) AS i
), mine AS (
	SELECT i, w, cur, 1.1 * ecp_place_bound(w, '{1,1}') AS lim,
		ecp_place_assign(w, '{1,1}', 'rebalance', current => cur, factor => 1.1) AS got
	FROM inst
), every AS (
	SELECT ARRAY(SELECT 1 + ((x >> g) & 1) FROM generate_series(0, 5) AS g) AS t FROM generate_series(0, 63) AS x
), judged AS (
	SELECT i,
		(SELECT coalesce(sum(w[g]) FILTER (WHERE got[g] <> cur[g]), 0) FROM generate_series(1, 6) AS g) AS moved,
		(SELECT min((SELECT coalesce(sum(w[g]) FILTER (WHERE t[g] <> cur[g]), 0) FROM generate_series(1, 6) AS g))
			FROM every WHERE ecp_place_makespan(w, '{1,1}', t) <= lim + 1e-9) AS fewest,
		ecp_place_makespan(w, '{1,1}', got) <= lim + 1e-9 AS reached
	FROM mine
)
SELECT count(*) AS instances, count(*) FILTER (WHERE fewest IS NOT NULL AND NOT reached) AS not_reached,
	count(*) FILTER (WHERE moved <= fewest) AS fewest_bytes,
	round(max(moved / nullif(fewest, 0))::numeric, 2) AS worst
FROM judged;

-- 1,400 groups from 3 MB to 25 GB with a mean of 9.3 GB on 29 targets
SELECT setseed(0.5);
CREATE TEMPORARY TABLE land AS
	SELECT array_agg(3e6 + 25e9 * random() ^ 1.7) AS w FROM generate_series(1, 1400);
SELECT strategy,
	ecp_place_makespan(w, s, ecp_place_assign(w, s, strategy)) / ecp_place_bound(w, s) - 1 < most AS within,
	most
FROM land, array_fill(1::float8, ARRAY[29]) AS s, (VALUES ('lpt', 0.01), ('online', 0.05)) AS v(strategy, most);
-- chance does not balance
SELECT ecp_place_makespan(w, s, ecp_place_assign(w, s, 'random')) / ecp_place_bound(w, s) > 1.25 AS random_is_worse
FROM land, array_fill(1::float8, ARRAY[29]) AS s;

-- errors
SELECT ecp_place_assign('{1}', '{}');
SELECT ecp_place_assign('{1}', '{0}');
SELECT ecp_place_assign('{-1}', '{1}');
SELECT ecp_place_assign('{NULL}', '{1}');
SELECT ecp_place_assign('{1}', '{1}', 'best');
SELECT ecp_place_assign('{1}', '{1}', current => '{2}');
SELECT ecp_place_assign('{1}', '{1}', current => '{1,1}');
SELECT ecp_place_assign('{1}', '{1}', capacities => '{1,1}');
SELECT ecp_place_assign('{1}', '{1}', bytes => '{1,1}');
SELECT ecp_place_assign('{1}', '{1}', names => '{a,b}');
SELECT ecp_place_assign(array_fill(1::float8, ARRAY[17]), '{1,1}', 'optimal');
SELECT ecp_place_assign('{}', '{1}');
SELECT ecp_place_assign('{1}', '{1}', current => '{-2147483648}');

-- numbers of which sums or quotients are not finite are refused, whatever the
-- strategy would make of them
SELECT ecp_place_assign(array_fill('inf'::float8, ARRAY[5]), '{1,1}', 'rebalance');
SELECT ecp_place_assign(array_fill(1e308::float8, ARRAY[8]), '{1e300,1e300}', 'lpt', NULL, array_fill(1, ARRAY[8]));
SELECT ecp_place_assign('{1e300}', '{1e-300}', 'optimal');
SELECT ecp_place_assign('{1}', '{1e308,1e308}', 'random');
SELECT ecp_place_makespan('{1}', '{inf}', '{1}');
SELECT ecp_place_bound('{1e308,1e308}', '{1}');
SELECT ecp_place_bound('{nan}', '{1}');
SELECT ecp_place_assign('{1}', '{1}', 'rebalance', factor => 'nan');
SELECT ecp_place_assign('{1}', '{1}', 'rebalance', factor => 0);
-- the largest that are not
SELECT ecp_place_assign('{1e307,2e307,4e307}', '{1,1}', s, current => '{1,1,2}')
FROM unnest('{lpt,online,rebalance,random,optimal,current}'::text[]) AS s;

-- many of both: no more memory than they take, and an end when it is asked
-- for; at the end of this there would be another error
SELECT cardinality(ecp_place_assign('{1}', array_fill(1::float8, ARRAY[100000])));
SELECT ecp_place_assign('{1}', array_fill(1::float8, ARRAY[5000]), current => '{2}');
SELECT ecp_place_bound(array_fill(1::float8, ARRAY[10000001]), '{1}');
SET statement_timeout = '200ms';
SELECT ecp_place_assign(array_fill(1::float8, ARRAY[100000]) || 2e5::float8,
	array_fill(1::float8, ARRAY[100000]), 'random',
	array_fill(0::float8, ARRAY[99999]) || 1e5::float8);
RESET statement_timeout;
SET client_min_messages = warning;
DROP EXTENSION ecp_storage;
