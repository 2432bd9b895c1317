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
FROM (SELECT test, variant, size, processes, max(wall_s) FILTER (WHERE device = 'raid') AS raid, max(wall_s) FILTER (WHERE device = 'flash') AS flash
	FROM bench WHERE test <> 'block' GROUP BY 1, 2, 3, 4) AS b GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
INSERT INTO checks (what, asked, measured, holds)
SELECT format('random reads of %s kB, flash over disks, each at its best', size / 1024), '17 times', format('%s, %s MB/s on flash', round((flash / raid)::numeric, 1), round(flash)), flash >= 17 * raid
FROM (SELECT size, max(mb_s) FILTER (WHERE device = 'raid') AS raid, max(mb_s) FILTER (WHERE device = 'flash') AS flash
	FROM bench WHERE test = 'block' AND variant = 'random read' GROUP BY size) AS r ORDER BY size;
INSERT INTO checks (what, asked, measured, holds)
SELECT 'binary search, disks over flash, each at its best', 'about 100 times (30 to 300)', format('%s, %s ms for an input on the disks', round((raid / flash)::numeric), round((raid * 1000 / 256)::numeric, 1)), raid / flash BETWEEN 30 AND 300
FROM (SELECT min(wall_s) FILTER (WHERE device = 'raid') AS raid, min(wall_s) FILTER (WHERE device = 'flash') AS flash
	FROM bench WHERE test = 'search' AND variant = 'plain') AS s
UNION ALL SELECT CASE device WHEN 'raid' THEN 'sort does not gain from several processes on the disks' ELSE 'sort is fastest with several processes on flash' END,
	CASE device WHEN 'raid' THEN 'over 0.9 of one''s s' ELSE 'under 0.95 of one''s s' END, string_agg(format('%s: %s', processes, round(e::numeric, 2)), ', ' ORDER BY processes),
	CASE device WHEN 'raid' THEN min(e) FILTER (WHERE processes > 1) > 0.9 * min(e) FILTER (WHERE processes = 1) ELSE min(e) FILTER (WHERE processes > 1) < 0.95 * min(e) FILTER (WHERE processes = 1) END
	FROM (SELECT device, processes, wall_s AS e FROM bench WHERE test = 'sort' AND variant = 'total') AS s GROUP BY device;
-- one pass for many inputs waits for the device while they are few
INSERT INTO checks (what, asked, measured, holds)
SELECT format('kNN on %s, one process: from waiting for the device to computing', CASE device WHEN 'raid' THEN 'the disks' ELSE 'flash' END), 'an input costs less of 64 than of 1',
	format('%s ms of 1, %s of 64', round((1000 * max(e) FILTER (WHERE size = 1))::numeric, 1), round((1000 * max(e) FILTER (WHERE size = 64) / 64)::numeric, 1)),
	max(e) FILTER (WHERE size = 64) / 64 < max(e) FILTER (WHERE size = 1)
FROM (SELECT device, size, wall_s AS e FROM bench WHERE test = 'knn' AND processes = 1) AS k GROUP BY device ORDER BY device DESC;
