-- The four figures of "Threading Opportunities in High-Performance Flash-Memory
-- Storage": two disks as one beside a device without a limit.
\pset footer off
\echo == Flash threading: block transfer, MB/s by processes, on two disks / on flash
SELECT variant, size, string_agg(format('%s/%s', round(raid::numeric, 1), round(flash::numeric)), '  ' ORDER BY processes) AS "1  2  4  8 processes",
	round(max(flash / raid)::numeric) AS most, round(min(flash / raid)::numeric) AS least
FROM (SELECT variant, size, processes, max(mb_s) FILTER (WHERE device = 'raid') AS raid, max(mb_s) FILTER (WHERE device = 'flash') AS flash
	FROM bench WHERE test = 'block' GROUP BY 1, 2, 3) AS b GROUP BY 1, 2 ORDER BY 1, 2;
\echo == kNN (one pass by inputs), sort, search: seconds by processes
SELECT test, variant, size, string_agg(format('%s/%s', round(raid::numeric, 2), round(flash::numeric, 2)), '  ' ORDER BY processes) AS "1  2  4  8 processes"
FROM (SELECT test, variant, size, processes, max(elapsed_s) FILTER (WHERE device = 'raid') AS raid, max(elapsed_s) FILTER (WHERE device = 'flash') AS flash
	FROM bench WHERE test <> 'block' GROUP BY 1, 2, 3, 4) AS b GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
INSERT INTO checks (what, holds, figures)
SELECT 'flash reads blocks of 4 to 64 kB at random 17 times as fast or more', min(f) >= 17, format('%s to %s; 256 kB and 1 MB, where the disks'' bytes are the limit, %s',
		round(min(f)::numeric), round(max(f)::numeric), (SELECT round(min(g)::numeric, 1) FROM (SELECT max(mb_s) FILTER (WHERE device = 'flash') / max(mb_s) FILTER (WHERE device = 'raid') AS g
			FROM bench WHERE test = 'block' AND variant = 'random read' AND size > 65536 GROUP BY size) AS l))
	FROM (SELECT max(mb_s) FILTER (WHERE device = 'flash') / max(mb_s) FILTER (WHERE device = 'raid') AS f
		FROM bench WHERE test = 'block' AND variant = 'random read' AND size <= 65536 GROUP BY size) AS r
UNION ALL SELECT 'binary search: about 100 times as fast on flash (30 to 300), each at its best', min(e) FILTER (WHERE device = 'raid') / min(e) FILTER (WHERE device = 'flash') BETWEEN 30 AND 300,
		format('%s times, %s ms for an input on the disks', round((min(e) FILTER (WHERE device = 'raid') / min(e) FILTER (WHERE device = 'flash'))::numeric), round((min(e) FILTER (WHERE device = 'raid') * 1000 / 256)::numeric, 1))
	FROM (SELECT device, elapsed_s AS e FROM bench WHERE test = 'search' AND variant = 'plain') AS s
UNION ALL SELECT 'sort is fastest with several processes on flash', min(e) FILTER (WHERE processes > 1) < 0.95 * min(e) FILTER (WHERE processes = 1), string_agg(format('%s: %s s', processes, round(e::numeric, 2)), ', ' ORDER BY processes)
	FROM (SELECT processes, elapsed_s AS e FROM bench WHERE test = 'sort' AND variant = 'total' AND device = 'flash') AS s
UNION ALL SELECT 'sort does not gain from them on the disks', min(e) FILTER (WHERE processes > 1) > 0.9 * min(e) FILTER (WHERE processes = 1), string_agg(format('%s: %s s', processes, round(e::numeric, 2)), ', ' ORDER BY processes)
	FROM (SELECT processes, elapsed_s AS e FROM bench WHERE test = 'sort' AND variant = 'total' AND device = 'raid') AS s;
