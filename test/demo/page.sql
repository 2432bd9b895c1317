-- The page of the demo, for test/demo/run: what demo.sql found, as one file of
-- HTML with drawings inside.  psql prints it as it is.
\set ON_ERROR_STOP 1
\set QUIET 1
\pset tuples_only on
\pset format unaligned
SET client_min_messages = warning;

-- A position on an axis of SIZE points that goes from LOW to HIGH.
CREATE FUNCTION pg_temp.at(value float8, low float8, high float8, size int)
RETURNS numeric LANGUAGE sql IMMUTABLE AS
$$ SELECT round(((value - low) / (high - low) * size)::numeric, 1) $$;

-- An element of text; the ampersand first.
CREATE FUNCTION pg_temp.label(x numeric, y numeric, words text, anchor text = 'middle')
RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT format('<text x="%s" y="%s" text-anchor="%s">%s</text>', x, y, anchor,
	replace(replace(words, '&', '&amp;'), '<', '&lt;')) $$;

CREATE FUNCTION pg_temp.line(x1 numeric, y1 numeric, x2 numeric, y2 numeric)
RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT format('<line x1="%s" y1="%s" x2="%s" y2="%s"/>', x1, y1, x2, y2) $$;

\qecho '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>ecp: the demo</title><style>'
\qecho 'body { font: 15px/1.5 sans-serif; max-width: 760px; margin: 2em auto; padding: 0 1em; color: #222; background: #fff }'
\qecho 'svg { display: block; margin: 1em 0; max-width: 100% } svg text { font: 12px sans-serif; fill: #444 }'
\qecho 'svg line { stroke: #ddd } svg .chunkfiles { stroke: #1f6fb2; fill: none; stroke-width: 2 } svg .tempfiles { stroke: #c4570a; fill: none; stroke-width: 2 }'
\qecho 'svg .bar { fill: #1f6fb2 } svg .other { fill: #b9c4cc } svg .right { stroke: #1f6fb2 } svg .wrong { stroke: #c4570a } svg path { fill: none; stroke-width: 1 }'
\qecho 'svg circle { stroke: none } svg circle.chunkfiles { fill: #1f6fb2 } svg circle.tempfiles { fill: #c4570a } svg rect.right, svg rect.wrong { fill: none; stroke-width: 1.5 }'
\qecho 'h1 { font-size: 1.6em } h2 { font-size: 1.15em; margin-top: 2em } .chunkfiles b, b.chunkfiles { color: #1f6fb2 } b.tempfiles { color: #c4570a }'
\qecho '</style></head><body><h1>ecp: what the demo found</h1>'
SELECT format('<p>%s descriptors (SIFT, 128 bytes each) of %s photographs, and %s queries. PostgreSQL %s, %s.</p>',
	(SELECT count(*) FROM items), (SELECT count(*) FROM photos), (SELECT count(*) FROM queries),
	current_setting('server_version'), to_char(now(), 'YYYY-MM-DD HH24:MI'));

-- ----------------------------------------------------------------------
-- Recall against time: time is logarithmic

\qecho '<h2>Recall against time</h2><p>Ten nearest neighbours of each query, on one connection. A point is a number of clusters read for a query (probes), or the default; blue: in the index that <b class="chunkfiles">chunkfiles</b> built, orange: <b class="tempfiles">tempfiles</b>. To the right: exact search in the whole table. Time is logarithmic.</p>'
\qecho '<svg viewBox="0 0 720 330" role="img"><title>recall against milliseconds a query</title><g transform="translate(50,15)">'
CREATE TEMPORARY VIEW axis AS
SELECT log(least(min(ms), .1)) - .1 AS low, log(max(ms)) + .15 AS high FROM results;
SELECT pg_temp.line(x, 0, x, 270) || pg_temp.label(x, 287, ms || ' ms')
FROM axis, unnest(ARRAY[.01, .03, .1, .3, 1, 3, 10, 30, 100, 300, 1000]) ms,
	pg_temp.at(log(ms), low, high, 640) x
WHERE x BETWEEN 0 AND 640;
SELECT pg_temp.line(0, y, 640, y) || pg_temp.label(-8, y + 4, recall::text, 'end')
FROM unnest(ARRAY[0, .2, .4, .6, .8, 1]) recall, pg_temp.at(recall, 1, 0, 270) y;
SELECT format('<polyline class="chunkfiles" points="%s"/>', string_agg(x || ',' || y, ' ' ORDER BY probes::int))
FROM results, axis, pg_temp.at(log(ms), low, high, 640) x, pg_temp.at(recall, 1, 0, 270) y
WHERE probes ~ '\d' AND search ~ 'chunk';
-- labels on both sides of the curve: the default is about as good as some number of probes
SELECT format('<circle class="%s" cx="%s" cy="%s" r="4"/>',
		CASE WHEN search ~ 'temp' THEN 'tempfiles' ELSE 'chunkfiles' END, x, y)
	|| CASE WHEN search ~ 'temp' THEN '' WHEN probes = '' THEN pg_temp.label(x, y + 18, 'exact')
		WHEN probes = 'default' THEN pg_temp.label(x - 8, y - 9, probes, 'end')
		ELSE pg_temp.label(x + 8, y + 15, probes, 'start') END
FROM results, axis, pg_temp.at(log(ms), low, high, 640) x, pg_temp.at(recall, 1, 0, 270) y;
\qecho '</g></svg>'

-- ----------------------------------------------------------------------
-- What each policy wrote and when: bytes at the end of each phase, even within it

\qecho '<h2>What each policy wrote, and when</h2>'
SELECT format('<p>So little memory was given to the builds, %s kB, that it was filled %s times with rows. ', in_buff / 1024, rounds)
FROM builds WHERE phase = 'total' AND policy = 'chunkfiles';
\qecho '<b class="tempfiles">tempfiles</b> has a file for each cluster, to which it appends each time; <b class="chunkfiles">chunkfiles</b> writes a sorted file each time. Both then merge them into the index.</p>'
\qecho '<svg viewBox="0 0 720 300" role="img"><title>megabytes written against seconds</title><g transform="translate(50,15)">'
CREATE TEMPORARY VIEW progress AS
SELECT policy, n, phase, files, opens,
	sum(wall_s) OVER w AS seconds, sum(written_bytes) OVER w / 1e6 AS mb
FROM builds WHERE phase <> 'total' WINDOW w AS (PARTITION BY policy ORDER BY n);
CREATE TEMPORARY VIEW size AS SELECT max(seconds) AS s, max(mb) AS mb FROM progress;
SELECT pg_temp.line(0, y, 640, y) || pg_temp.label(-8, y + 4, part::text, 'end')
FROM size, generate_series(0, ceil(mb)::int, 2) part, pg_temp.at(part, ceil(mb), 0, 240) y;
SELECT pg_temp.label(pg_temp.at(part, 0, 4, 640), 262, round((s * part / 4)::numeric, 2) || ' s')
FROM size, generate_series(0, 4) part;
SELECT pg_temp.label(-40, -4, 'MB', 'start');
SELECT format('<polyline class="%s" points="0,240 %s"/>', policy, string_agg(x || ',' || y, ' ' ORDER BY n))
FROM progress, size, pg_temp.at(seconds, 0, size.s, 640) x, pg_temp.at(progress.mb, ceil(size.mb), 0, 240) y
GROUP BY policy;
SELECT format('<circle class="%s" cx="%s" cy="%s" r="4"><title>end of %s</title></circle>', policy, x, y, phase)
FROM progress, size, pg_temp.at(seconds, 0, size.s, 640) x, pg_temp.at(progress.mb, ceil(size.mb), 0, 240) y;
\qecho '</g></svg>'
SELECT format('<p><b class="%s">%1$s</b>: %s files, opened %s times. A dot is the end of a phase: %s.</p>', policy,
	max(files) FILTER (WHERE phase = 'total'), max(opens) FILTER (WHERE phase = 'total'),
	string_agg(phase || ' ' || round(wall_s::numeric, 2) || ' s', ', ' ORDER BY n) FILTER (WHERE phase <> 'total'))
FROM builds GROUP BY policy ORDER BY policy DESC;

-- ----------------------------------------------------------------------
-- Cluster sizes: 30 bars

\qecho '<h2>Sizes of the clusters</h2>'
CREATE TEMPORARY VIEW bars AS
WITH c AS (SELECT rows, width_bucket(rows, 0, (max(rows) OVER ()) + 1, 30) AS bar, max(rows) OVER () AS largest
	FROM ecp_clusters('items_v'))
SELECT bar, largest, count(*) AS clusters FROM c GROUP BY bar, largest;
SELECT format('<p>%s clusters of %s rows on average, from %s to %s. How many clusters (upright) have how many rows (across):</p>',
	clusters, round(mean_rows), min_rows, max_rows)
FROM ecp_index_drift('items_v');
\qecho '<svg viewBox="0 0 720 230" role="img"><title>clusters by number of rows</title><g transform="translate(50,15)">'
SELECT pg_temp.line(0, y, 640, y) || pg_temp.label(-8, y + 4, part::text, 'end')
FROM (SELECT max(clusters) AS top FROM bars) m, generate_series(0, top, 5) part, pg_temp.at(part, top, 0, 170) y;
SELECT format('<rect class="bar" x="%s" y="%s" width="19" height="%s"/>', pg_temp.at(bar - 1, 0, 30, 640), y, 170 - y)
FROM bars, (SELECT max(clusters) AS top FROM bars) m, pg_temp.at(clusters, top, 0, 170) y;
SELECT DISTINCT pg_temp.label(pg_temp.at(part, 0, 6, 640), 190, round(largest * part / 6.0)::text)
FROM bars, generate_series(0, 6) part;
\qecho '</g></svg>'

-- ----------------------------------------------------------------------
-- A photograph: each descriptor as 4 by 4 cells of 8 directions, of
-- which the longest just stays within the frame

\qecho '<h2>A photograph, found by its descriptors</h2>'
SELECT format('<p>200 descriptors of “%s”, as if it were taken again: each number is up to 32 higher or lower. A drawing is a descriptor, 4 by 4 cells of gradients in 8 directions; a <b class="chunkfiles">blue</b> one has its nearest neighbour in the right photograph, an <b class="tempfiles">orange</b> one in another.</p>', name)
FROM photos WHERE photo = (SELECT photo FROM photograph LIMIT 1);
CREATE TEMPORARY TABLE drawn AS
SELECT p.*, row_number() OVER (ORDER BY p.id) - 1 AS n,
	CASE WHEN p.photo = (SELECT i.photo FROM items i ORDER BY i.v <-> p.v LIMIT 1) THEN 'right' ELSE 'wrong' END AS class
FROM (SELECT * FROM photograph ORDER BY id LIMIT 40) p;
\qecho '<svg viewBox="0 0 720 290" role="img"><title>40 descriptors</title>'
SELECT format('<g transform="translate(%s,%s)"><rect class="%s" width="62" height="62" rx="3"/><path class="%3$s" d="%s"/></g>',
	5 + n % 10 * 71, 2 + n / 10 * 71, class,
	(SELECT string_agg(format('M%s %sl%s %s', 11.5 + i / 8 % 4 * 13, 11.5 + i / 32 * 13,
		round((cos(pi() * (i % 8) / 4) * get_byte(v, i) / unit)::numeric, 1),
		round((sin(pi() * (i % 8) / 4) * get_byte(v, i) / unit)::numeric, 1)), '' ORDER BY i)
	FROM generate_series(0, 127) i WHERE get_byte(v, i) > 8))
FROM drawn, (SELECT max(get_byte(v, i)) / 11.0 AS unit FROM drawn, generate_series(0, 127) i) longest
ORDER BY n;
\qecho '</svg><p>The photographs they vote for, with ten neighbours of each descriptor:</p>'
\qecho '<svg viewBox="0 0 720 190" role="img"><title>votes</title>'
SELECT format('<rect class="%s" x="270" y="%s" width="%s" height="16"/>', CASE WHEN own THEN 'bar' ELSE 'other' END,
		8 + 22 * n, greatest(1, pg_temp.at(votes, 0, top, 380)))
	|| pg_temp.label(262, 21 + 22 * n, name, 'end')
	|| pg_temp.label(278 + pg_temp.at(votes, 0, top, 380), 21 + 22 * n, votes::text, 'start')
FROM (SELECT *, row_number() OVER (ORDER BY votes DESC, name) - 1 AS n, max(votes) OVER () AS top FROM votes) v
WHERE n < 8;
\qecho '</svg></body></html>'
