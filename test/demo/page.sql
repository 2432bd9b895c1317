-- The page of the demo, for test/demo/run: what demo.sql and betree.sql found and
-- the neighbours of each sentence, as one file of HTML.  psql prints it as it is.
\set ON_ERROR_STOP 1
\set QUIET 1
\pset tuples_only on
\pset format unaligned
SET client_min_messages = warning;

-- A position on an axis of SIZE points that goes from LOW to HIGH.
CREATE FUNCTION pg_temp.at(value float8, low float8, high float8, size int)
RETURNS numeric LANGUAGE sql IMMUTABLE AS
$$ SELECT round(((value - low) / (high - low) * size)::numeric, 1) $$;

CREATE FUNCTION pg_temp.escape(words text) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT replace(replace(words, '&', '&amp;'), '<', '&lt;') $$;

CREATE FUNCTION pg_temp.label(x numeric, y numeric, words text, anchor text = 'middle')
RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT format('<text x="%s" y="%s" text-anchor="%s">%s</text>', x, y, anchor, pg_temp.escape(words)) $$;

CREATE FUNCTION pg_temp.line(x1 numeric, y1 numeric, x2 numeric, y2 numeric)
RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT format('<line x1="%s" y1="%s" x2="%s" y2="%s"/>', x1, y1, x2, y2) $$;

CREATE FUNCTION pg_temp.thousands(n numeric) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT ltrim(to_char(n, '999,999,999')) $$;

-- Megabytes as pg_size_pretty() counts them, for what the console shows by it.
CREATE FUNCTION pg_temp.mb(bytes numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS
$$ SELECT bytes / 1048576 $$;

-- Drawings are 380 points wide, so that their text can be read on a telephone.
\qecho '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>ecp: what the demo found</title><style>'
\qecho ':root { color-scheme: light dark; --text: #1f2328; --soft: #59636e; --back: #fff; --box: #f3f5f7; --rule: #d5dae0; --ours: #1660a8; --other: #a8480a; --peer: #6f4aa8; --grey: #b9c4cc }'
\qecho '@media (prefers-color-scheme: dark) { :root { --text: #e3e7ec; --soft: #a3adb8; --back: #14181d; --box: #20262d; --rule: #39424c; --ours: #6db3f2; --other: #f0a060; --peer: #c3a3f5; --grey: #56626d } }'
\qecho 'body { font: 17px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 0 auto; padding: 1rem; color: var(--text); background: var(--back); overflow-wrap: break-word }'
\qecho 'h1 { font-size: 1.9rem; line-height: 1.2; margin: .5em 0 } h2 { font-size: 1.3rem; line-height: 1.3; margin: 2em 0 .5em } .soft, figcaption { color: var(--soft); font-size: .93rem }'
\qecho 'b.ours { color: var(--ours) } b.other { color: var(--other) } b.peer { color: var(--peer) } figure { margin: 1em 0 } svg { display: block; width: 100%; max-width: 540px }'
\qecho 'svg text { font: 12px system-ui, sans-serif; fill: var(--soft) } svg line { stroke: var(--rule) } polyline { fill: none; stroke-width: 2 } polyline.ours { stroke: var(--ours) } polyline.other { stroke: var(--other) } polyline.peer { stroke: var(--peer) } circle.ours { fill: var(--ours) } circle.other { fill: var(--other) } circle.peer { fill: var(--peer) } circle.exact { fill: var(--text) }'
\qecho '.box { background: var(--box); border: 1px solid var(--rule); border-radius: 10px; padding: 1rem } input { box-sizing: border-box; width: 100%; font: inherit; padding: .55em .7em; color: inherit; background: var(--back); border: 1px solid var(--soft); border-radius: 8px }'
\qecho 'button { font: inherit; color: inherit; background: none; border: 0; padding: .45em .3em; margin: 0; text-align: left; width: 100%; cursor: pointer; border-radius: 6px } button:hover, button:focus-visible { background: var(--rule) } .tries { margin: .6em 0 } .tries button { width: auto; border: 1px solid var(--rule); background: var(--back); padding: .25em .75em; margin: .15em 0 }'
\qecho '#found { margin: .4em 0; padding: 0; list-style: none } #picked { font-size: 1.15rem; font-weight: 600; margin: .8em 0 0 } #near { padding: 0; margin: .5em 0 0; list-style: none } #near li { display: flex; gap: .6em; align-items: baseline; border-top: 1px solid var(--rule) } #near small { display: block; color: var(--soft) } #near b { color: var(--ours); font-variant-numeric: tabular-nums }'
\qecho 'table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums } th, td { text-align: right; padding: .35em .4em; border-bottom: 1px solid var(--rule) } th:first-child, td:first-child { text-align: left; padding-left: 0 } th { font-weight: 600 } @media (max-width: 480px) { body { font-size: 16px } table { font-size: .9rem } }'
\qecho '.bars { display: grid; grid-template-columns: auto 1fr; gap: .2em .7em; align-items: center; margin: .3em 0 1.1em } .bars i { display: block; height: 1em; border-radius: 3px; min-width: 2px; background: var(--grey) } .bars i.ours { background: var(--ours) } .bars span { display: flex; gap: .5em; align-items: center; white-space: nowrap } p.what { margin: 0 }'
\qecho '</style></head><body>'

-- ----------------------------------------------------------------------
-- The claim

SELECT format('<p class="soft">What the demo found on this machine</p><h1>ecp: %s times as fast as exact search, at a recall of %s</h1>', times, found)
FROM claim;
SELECT format('<p>%s sentences, each an embedding of 384 floats (<code>real[]</code>), and %s queries from other documents. The index was asked for a recall of <b>%s</b> of the ten nearest; it found <b>%s</b> (standard error %s), in <b>%s ms</b> a query where a scan and a sort take %s ms. It was built in %s s.</p>',
	pg_temp.thousands((SELECT count(*) FROM sentences)), (SELECT count(*) FROM queries), asked, found, error, ms, exact_ms, build_s)
FROM claim;
SELECT format('<p class="soft">One process, times inside the server, everything in memory; PostgreSQL %s, %s. Other work on the machine slows exact search the most.</p>', current_setting('server_version'), to_char(now(), 'YYYY-MM-DD HH24:MI'));

-- ----------------------------------------------------------------------
-- The playground: its neighbours were found by the index

CREATE TEMPORARY TABLE pairs AS
SELECT s.id, a.id AS other, round(100 * (1 - a.d))::int AS percent, row_number() OVER (PARTITION BY s.id ORDER BY a.d) AS rank
FROM sentences s, LATERAL (SELECT t.id, t.v <=> s.v AS d FROM sentences t ORDER BY t.v <=> s.v LIMIT 7) a
WHERE a.id <> s.id;
DELETE FROM pairs WHERE rank > 6;
CREATE TEMPORARY TABLE documents AS
SELECT source, document, row_number() OVER (ORDER BY source, document) - 1 AS n
FROM (SELECT DISTINCT source, document FROM sentences) d;
SELECT id FROM sentences WHERE sentence ~ '^Let us' ORDER BY id LIMIT 1 \gset first_
\qecho '<h2>Try it</h2><div class="box"><label for="words">Type a word or two, choose a sentence, see its nearest neighbours:</label>'
\qecho '<input id="words" type="search" autocomplete="off" placeholder="sleep" spellcheck="false"><div class="tries"></div><div aria-live="polite"><ul id="found"></ul><div id="answer"><p id="picked">'
SELECT format('%s</p><p class="soft" id="from">%s: %s</p><ul id="near">', pg_temp.escape(sentence), pg_temp.escape(source), pg_temp.escape(document))
FROM sentences WHERE id = :first_id;
SELECT format('<li><b>.%s</b><span>%s<small>%s: %s</small></span></li>', lpad(percent::text, 2, '0'), pg_temp.escape(sentence), pg_temp.escape(source), pg_temp.escape(document))
FROM pairs JOIN sentences ON sentences.id = other WHERE pairs.id = :first_id ORDER BY rank;
\qecho '</ul></div></div></div><p class="soft">The number is the cosine of the angle between two embeddings: 1 for the same direction. The index found these neighbours while this page was written; no server is needed to look at them. Choose a neighbour to go on from there.</p>'
\qecho '<script>'
SELECT 'const first = ' || :first_id || ', documents = ' || replace(json_agg(source || ': ' || document ORDER BY n)::text, '<', '\u003c') || ';' FROM documents;
SELECT 'const sentences = ' || replace(json_agg(sentence ORDER BY id)::text, '<', '\u003c') || ', origin = ' || json_agg(n ORDER BY id) || ';'
FROM sentences JOIN documents USING (source, document);
SELECT 'const near = [' || string_agg(list, ',' ORDER BY id) || '];'
FROM (SELECT id, '[' || string_agg(other || ',' || percent, ',' ORDER BY rank) || ']' AS list FROM pairs GROUP BY id) l;
\qecho 'const at = id => document.getElementById(id);'
\qecho 'const add = (parent, tag, text) => { const e = parent.appendChild(document.createElement(tag)); if (text) e.textContent = text; return e };'
\qecho 'const button = (parent, text, action) => { const b = add(parent, "button", text); b.type = "button"; b.onclick = action; return b };'
\qecho 'function pick(i) { at("picked").textContent = sentences[i]; at("from").textContent = documents[origin[i]]; at("near").replaceChildren(); at("found").replaceChildren(); at("answer").hidden = false;'
\qecho '  for (let k = 0; k < near[i].length; k += 2) { const j = near[i][k], li = add(at("near"), "li"); add(li, "b", (near[i][k + 1] / 100).toFixed(2).replace(/^0/, "")); add(button(li, sentences[j], () => pick(j)), "small", documents[origin[j]]) } }'
\qecho 'function find(go) { const words = at("words").value.toLowerCase().split(/\\s+/).filter(w => w), hits = []; at("found").replaceChildren(); at("answer").hidden = words.length > 0; if (!words.length) return;'
\qecho '  for (let i = 0; i < sentences.length && hits.length < 6; i++) { const s = " " + sentences[i].toLowerCase(); if (words.every(w => s.includes(" " + w))) hits.push(i) }'
\qecho '  if (go && hits.length) return pick(hits[0]); add(at("found"), "li", hits.length ? "Choose one of these:" : "No sentence of the set has these words."); for (const i of hits) button(add(at("found"), "li"), sentences[i], () => pick(i)); }'
\qecho 'at("words").oninput = () => find(false); at("words").onkeydown = e => { if (e.key == "Enter") find(true) };'
\qecho 'for (const t of ["sleep", "heart attack", "liberty", "taxes", "smoking", "peace"]) { button(document.querySelector(".tries"), t, () => { at("words").value = t; find(false) }); document.querySelector(".tries").append(" ") }'
\qecho 'button(document.querySelector(".tries"), "any", () => pick(Math.floor(Math.random() * sentences.length))); pick(first);'
\qecho '</script>'

-- ----------------------------------------------------------------------
-- Recall against time: time is logarithmic

\qecho '<h2>Recall against time</h2><figure><svg viewBox="0 0 380 280" role="img"><title>recall against milliseconds a query</title><g transform="translate(34,24)">'
CREATE TEMPORARY VIEW points AS
SELECT *, CASE WHEN search = 'ecp' THEN CASE WHEN value > 0 THEN 'ours' ELSE 'other' END WHEN search = 'hnsw' THEN 'peer' ELSE 'exact' END AS class
FROM results WHERE search IN ('ecp', 'hnsw', 'exact');
CREATE TEMPORARY VIEW axis AS
SELECT log(min(ms)) - .12 AS low, log(max(ms)) + .12 AS high, floor(min(recall) * 5) / 5 AS least FROM points;
CREATE TEMPORARY VIEW places AS
SELECT p.*, x, y FROM points p, axis, pg_temp.at(log(ms), low, high, 335) x, pg_temp.at(recall, 1, least, 220) y;
SELECT pg_temp.line(x, 0, x, 220) || pg_temp.label(x, 237, ms || ' ms', CASE WHEN x > 315 THEN 'end' ELSE 'middle' END)
FROM axis, unnest(ARRAY[.01, .1, 1, 10, 100, 1000]) ms, pg_temp.at(log(ms), low, high, 335) x
WHERE x BETWEEN 0 AND 335;
SELECT pg_temp.line(0, y, 335, y) || pg_temp.label(-6, y + 4, recall::text, 'end')
FROM axis, unnest(ARRAY[0, .2, .4, .6, .8, .9, 1]) recall, pg_temp.at(recall, 1, least, 220) y
WHERE recall >= least;
SELECT format('<polyline class="%s" points="%s"/>', class, string_agg(x || ',' || y, ' ' ORDER BY value))
FROM places WHERE value > 0 GROUP BY class;
-- The curve of ecp rises on the left, and ends beside its default: its numbers stand
-- left of it, and above the last two.
SELECT format('<circle class="%s" cx="%s" cy="%s" r="4"><title>%s %s: recall %s in %s ms</title></circle>', class, x, y, search, setting, round(recall, 3), round(ms, 3))
	|| CASE WHEN class = 'exact' THEN pg_temp.label(x, y + 18, 'exact')
		WHEN class = 'peer' THEN pg_temp.label(x + 2, y + 17, value::text, 'start')
		WHEN value = 32 THEN pg_temp.label(x - 3, y - 8, '32', 'start')
		WHEN value = 16 THEN pg_temp.label(x + 1, y - 8, '16', 'end')
		WHEN value > 0 THEN pg_temp.label(x - 8, y + 4, value::text, 'end') ELSE '' END
FROM places;
\qecho '</g></svg><figcaption><b class="ours">Blue</b>: a fixed number of clusters read for a query (1, 2, 4, 8, 16, 32). <b class="other">Orange</b>: the default, which stops where the recall that was asked for is reached. Black or white: exact search.'
SELECT format('<b class="peer">Violet</b>: hnsw of pgvector %s, by <code>ef_search</code> (40 by default); it was built in %s s and takes %s, ecp in %s s and %s.',
	version, round(build_s, 2), pg_size_pretty(size), build_s_of_ecp, pg_size_pretty(pg_relation_size('sentences_v')))
FROM hnsw, LATERAL (SELECT build_s AS build_s_of_ecp FROM claim) c;
\qecho 'All took turns with each query. Time is logarithmic.</figcaption></figure>'

-- ----------------------------------------------------------------------
-- What each policy wrote and when: bytes at the end of each phase, even within it

\qecho '<h2>More rows than memory: tempfiles and chunkfiles</h2>'
SELECT format('<p>The same index again, with a row buffer (in-buff) of %s kB, which the table fills %s times. <b class="other">tempfiles</b> appends the rows to a file for each cluster each time; <b class="ours">chunkfiles</b> writes them as one sorted file each time and merges those at the end. The indexes are the same; the first suits flash, the second disks.</p>', round(in_buff / 1024.0), rounds)
FROM builds WHERE phase = 'total' AND run = 'chunkfiles';
\qecho '<table><tr><th></th><th>files</th><th>opened</th><th>written</th><th>recall</th></tr>'
SELECT format('<tr><td><b class="%s">%s</b></td><td>%s</td><td>%s</td><td>%s MB</td><td>%s</td></tr>',
	CASE run WHEN 'tempfiles' THEN 'other' ELSE 'ours' END, run, files, pg_temp.thousands(opens), round(pg_temp.mb(written_bytes)),
	(SELECT round(recall, 3) FROM results WHERE search = 'ecp, ' || run))
FROM builds WHERE phase = 'total' AND run <> 'memory' ORDER BY run DESC;
\qecho '</table><figure><svg viewBox="0 0 380 230" role="img"><title>megabytes written against seconds</title><g transform="translate(34,18)">'
CREATE TEMPORARY VIEW progress AS
SELECT run, n, phase, CASE run WHEN 'tempfiles' THEN 'other' ELSE 'ours' END AS class,
	sum(wall_s) OVER w AS seconds, pg_temp.mb(sum(written_bytes) OVER w) AS mb
FROM builds WHERE phase <> 'total' AND run <> 'memory' WINDOW w AS (PARTITION BY run ORDER BY n);
CREATE TEMPORARY VIEW size AS SELECT max(seconds) AS s, ceil(max(mb) / 10)::int * 10 AS mb FROM progress;
SELECT pg_temp.line(0, y, 335, y) || pg_temp.label(-6, y + 4, part::text, 'end')
FROM size, generate_series(0, mb, 10) part, pg_temp.at(part, mb, 0, 170) y;
SELECT pg_temp.label(x, 190, trim_scale(second) || CASE second WHEN 0 THEN '' ELSE ' s' END, CASE WHEN x > 320 THEN 'end' ELSE 'middle' END)
FROM size, LATERAL (SELECT min(step) AS step FROM unnest(ARRAY[.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 20, 50, 100]) step WHERE s <= 5 * step) t,
	generate_series(0, s::numeric, step) second, pg_temp.at(second, 0, s, 335) x;
SELECT format('<polyline class="%s" points="0,170 %s"/>', class, string_agg(x || ',' || y, ' ' ORDER BY n))
FROM progress, size, pg_temp.at(seconds, 0, size.s, 335) x, pg_temp.at(progress.mb, size.mb, 0, 170) y
GROUP BY class;
SELECT format('<circle class="%s" cx="%s" cy="%s" r="4"><title>end of %s</title></circle>', class, x, y, phase)
FROM progress, size, pg_temp.at(seconds, 0, size.s, 335) x, pg_temp.at(progress.mb, size.mb, 0, 170) y;
\qecho '</g></svg><figcaption>Megabytes written against seconds; a dot is the end of a phase of the build.</figcaption></figure>'

-- ----------------------------------------------------------------------
-- Random keys

SELECT format('<h2>betree: random keys with %s of btree’s WAL and %s of its reads</h2>',
	CASE WHEN b.wal > 1 THEN '1/' || round(b.wal, 1) ELSE round(1 / b.wal, 1) || ' times' END,
	CASE WHEN b.reads > 1 THEN '1/' || round(b.reads) ELSE round(1 / b.reads, 1) || ' times' END)
FROM (SELECT n.wal::numeric / e.wal AS wal, n.reads / greatest(e.reads, .0005) AS reads
	FROM keys n, keys e WHERE n.method = 'btree' AND e.method = 'betree') b;
\qecho '<p>200,000 rows with random UUIDs, inserted into a table of a million whose index is larger than the server’s shared buffers (8 MB), with a checkpoint before each 25,000. Lower is better, except for rows per second.</p>'
CREATE TEMPORARY VIEW costs AS
SELECT n, what, method, value, max(value) OVER (PARTITION BY n) AS top, digits
FROM keys, LATERAL (VALUES (1, 'Bytes of WAL for a row, without the table’s', wal::numeric, 0), (2, 'Blocks of the index read for a row', reads, 3),
	(3, 'Rows inserted per second, into table and index', rows_s, 0), (4, 'Size of the index, MB', pg_temp.mb(size), 0),
	(5, 'Microseconds for a lookup afterwards', lookup_us, 1), (6, 'Microseconds for a range of 100 rows', range_us, 1)) v(n, what, value, digits);
SELECT format('<p class="what">%s</p><div class="bars">%s</div>', what,
	string_agg(format('%s<span><i class="%s" style="width:%s%%"></i>%s</span>', method, CASE method WHEN 'betree' THEN 'ours' ELSE '' END,
		round(65 * value / top, 1), CASE digits WHEN 0 THEN pg_temp.thousands(round(value)) ELSE round(value, digits)::text END), '' ORDER BY method DESC))
FROM costs GROUP BY n, what ORDER BY n;
\qecho '<p class="soft">The system’s cache holds both indexes here, so a read costs a copy: on data larger than memory, each is an access to the device.</p>'

\qecho '<h2>Credits</h2><p class="soft">Sentences: MedQuAD, questions and answers from websites of the National Institutes of Health and the CDC (A. Ben Abacha and D. Demner-Fushman, 2019; <a href="https://github.com/abachaa/MedQuAD">github.com/abachaa/MedQuAD</a>, <a href="https://creativecommons.org/licenses/by/4.0/">CC BY 4.0</a>; single sentences chosen and taken out of their context: no medical advice), and inaugural addresses of presidents of the United States (public domain). Embeddings: all-MiniLM-L6-v2 (Apache-2.0), rounded to a byte for each number.</p></body></html>'
