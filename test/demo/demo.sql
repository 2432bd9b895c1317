-- The demo's work on vectors, for test/demo/run: load the shipped sentences, build
-- the index, compare answers and times with exact search, and build it by both
-- policies in little memory.  The psql variable "data" is the folder of the
-- sentences.  What page.sql shows is kept in tables.
\set ON_ERROR_STOP 1
\set QUIET 1
\pset footer off
SET client_min_messages = warning;
SET jit = off;
SET max_parallel_workers_per_gather = 0;

CREATE EXTENSION ecp;

-- Lines of text, and in the same order 4 bytes of length and 384 numbers of each
-- line, one byte each with an offset of 128.  Cosine distance needs no scale.
\set lines :data '/sentences.tsv'
\set numbers :data '/sentences.bvecs'
CREATE TABLE sentences (id int PRIMARY KEY, source text, document text, sentence text, v real[] NOT NULL);
COMMENT ON TABLE sentences IS 'sentences and their embeddings by all-MiniLM-L6-v2';
CREATE TABLE queries (LIKE sentences INCLUDING ALL);
COMMENT ON TABLE queries IS 'sentences of documents that gave none to the table sentences';
CREATE TEMPORARY TABLE lines AS
SELECT n - 1 AS id, string_to_array(line, E'\t') AS f
FROM regexp_split_to_table(rtrim(pg_read_file(:'lines'), E'\n'), '\n') WITH ORDINALITY AS l(line, n);
CREATE TEMPORARY TABLE numbers AS SELECT pg_read_binary_file(:'numbers') AS b;
CREATE TEMPORARY TABLE loaded AS
SELECT id::int, f[1] AS role, f[2] AS source, f[3] AS document, f[4] AS sentence,
	ARRAY(SELECT (get_byte(b, i) - 128)::real FROM generate_series(0, 383) i) AS v
FROM lines, LATERAL (SELECT substring((SELECT b FROM numbers) FROM (id * 388 + 5)::int FOR 384) AS b OFFSET 0) AS n;
INSERT INTO sentences SELECT id, source, document, sentence, v FROM loaded WHERE role = 'base';
INSERT INTO queries SELECT id, source, document, sentence, v FROM loaded WHERE role = 'query';
DROP TABLE lines, numbers, loaded;
VACUUM (ANALYZE) sentences, queries;

SELECT (SELECT count(*) FROM sentences) AS rows, (SELECT count(*) FROM queries) AS queries,
	pg_size_pretty(pg_relation_size('sentences')) AS size \gset loaded_
\qecho Loaded :loaded_rows sentences, an embedding of 384 floats each (:loaded_size), and
\qecho :loaded_queries queries: sentences of other documents.

-- By default the whole table fits into the memory of a build.
CREATE TABLE builds AS SELECT ''::text AS run, 0 AS n, * FROM ecp_build_report(0) WITH NO DATA;
\qecho
\qecho CREATE INDEX sentences_v ON sentences USING ecp (v real_cosine_ops) ...
CREATE INDEX sentences_v ON sentences USING ecp (v real_cosine_ops);
INSERT INTO builds SELECT 'memory', row_number() OVER (), * FROM ecp_build_report('sentences_v');

-- The distance of the tenth neighbour of each query.  A row of an answer counts
-- for recall if it is no farther than that.
CREATE TABLE near AS
SELECT q.id, e.distance AS dk
FROM ecp_knn_exact('sentences_v', 'SELECT v FROM queries ORDER BY id', 10) e
	JOIN (SELECT id, row_number() OVER (ORDER BY id) AS n FROM queries) q ON e.query = q.n AND e.rank = 10;

-- One line of the table of results: queries one by one, as a client would send
-- them, and the server's time.  By turns with exact search, if "exact" is how many
-- queries that gets.
CREATE TABLE results (n serial, search text, probes text, recall numeric, ms numeric);
CREATE PROCEDURE measure(search text, probes text, exact int = 0)
LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz;
	ms numeric := 0;
	exact_ms numeric := 0;
	hits bigint := 0;
	n int := 0;
	q record;
	d float8[];
BEGIN
	FOR q IN SELECT queries.v, dk FROM queries JOIN near USING (id) ORDER BY id LOOP
		started := clock_timestamp();
		d := ARRAY(SELECT s.v <=> q.v FROM sentences s ORDER BY s.v <=> q.v LIMIT 10);
		ms := ms + 1000 * extract(epoch FROM clock_timestamp() - started);
		hits := hits + (SELECT count(*) FROM unnest(d) AS a WHERE a <= q.dk + 1e-6);
		n := n + 1;
		CONTINUE WHEN n > exact;
		-- with OFFSET, no index can be used
		started := clock_timestamp();
		d := ARRAY(SELECT s.v <=> q.v FROM (SELECT v FROM sentences OFFSET 0) s ORDER BY s.v <=> q.v LIMIT 10);
		exact_ms := exact_ms + 1000 * extract(epoch FROM clock_timestamp() - started);
	END LOOP;
	INSERT INTO results (search, probes, recall, ms) VALUES (search, probes, hits / (10.0 * n), ms / n);
	IF exact > 0 THEN
		INSERT INTO results (search, probes, recall, ms) VALUES ('exact', '', 1, exact_ms / exact);
	END IF;
	COMMIT;
END $$;
\qecho Queries, by turns with exact search: a scan and a sort ...
CALL measure('ecp', 'default', 60);

-- What was asked for, what each search expected where it stopped, and what they found.
CREATE TABLE promise (asked numeric, expected numeric, found numeric, error numeric);
DO $$
DECLARE
	q record;
	hits int;
	expected float8;
BEGIN
	CREATE TEMPORARY TABLE searches (expected float8, found float8);
	FOR q IN SELECT queries.v, dk FROM queries JOIN near USING (id) LOOP
		SELECT count(*) FILTER (WHERE d <= q.dk + 1e-6) INTO hits
		FROM (SELECT s.v <=> q.v AS d FROM sentences s ORDER BY s.v <=> q.v LIMIT 10) a;
		SELECT estimated_recall INTO expected FROM ecp_last_scan();
		INSERT INTO searches VALUES (expected, hits / 10.0);
	END LOOP;
	INSERT INTO promise
	SELECT (SELECT target_recall FROM ecp_index_stats('sentences_v')), avg(s.expected), avg(s.found), stddev(s.found) / sqrt(count(*)) FROM searches s;
END $$;

CREATE VIEW claim AS
SELECT round(e.ms / i.ms) AS times, round(i.recall, 3) AS found, round(p.asked, 2) AS asked,
	round(p.error, 3) AS error, round(i.ms, 2) AS ms, round(e.ms, 1) AS exact_ms,
	(SELECT round(wall_s::numeric, 2) FROM builds WHERE run = 'memory' AND phase = 'total') AS build_s
FROM results e, results i, promise p
WHERE e.search = 'exact' AND i.search = 'ecp' AND i.probes = 'default';
SELECT * FROM claim \gset claim_
\qecho
\qecho '    ecp is' :claim_times 'times as fast as exact search, at a recall of' :claim_found
\qecho '    (asked:' :claim_asked', found:' :claim_found', standard error' :claim_error';'
\qecho '   ' :claim_ms ms instead of :claim_exact_ms ms a query, by one process'; built in' :claim_build_s s)
\qecho

EXPLAIN (COSTS OFF)
SELECT sentence FROM sentences ORDER BY v <=> (SELECT v FROM queries LIMIT 1) LIMIT 10;

\qecho
\qecho Three queries, and the nearest sentences (with the cosine of the angle between them):
\pset tuples_only on
\pset format unaligned
SELECT format(E'\n  %s\n%s', q.sentence, string_agg(format('    %s  %s', round((1 - a.d)::numeric, 2), a.sentence), E'\n' ORDER BY a.d))
FROM (SELECT *, row_number() OVER (PARTITION BY source ~ 'inaugural' ORDER BY hashint4(id)) AS n FROM queries) q,
	LATERAL (SELECT sentence, v <=> q.v AS d FROM sentences ORDER BY v <=> q.v LIMIT 3) a
WHERE n <= CASE WHEN source ~ 'inaugural' THEN 1 ELSE 2 END
GROUP BY q.id, q.sentence ORDER BY q.id;
\pset tuples_only off
\pset format aligned

\qecho
\qecho Recall against time: with more clusters read ("probes"), and by default
SET ecp.probes = 1;
CALL measure('ecp', '1');
SET ecp.probes = 2;
CALL measure('ecp', '2');
SET ecp.probes = 4;
CALL measure('ecp', '4');
SET ecp.probes = 8;
CALL measure('ecp', '8');
SET ecp.probes = 16;
CALL measure('ecp', '16');
SET ecp.probes = 32;
CALL measure('ecp', '32');
RESET ecp.probes;
SELECT search, probes, round(recall, 3) AS "recall@10", round(ms, 3) AS "ms a query",
	round((SELECT ms FROM results WHERE search = 'exact') / ms, 1) AS "times as fast"
FROM results ORDER BY search, recall;

-- ----------------------------------------------------------------------
-- A table larger than the build's memory: the row buffer (in-buff) is filled about
-- thirty times, each time with rows of nearly all clusters.

SET ecp.in_buff = '512kB';
SET maintenance_work_mem = '16MB';
\qecho The same index, built with a row buffer of 512 kB by each of the policies ...
DROP INDEX sentences_v;
SET ecp.build_policy = tempfiles;
CREATE INDEX sentences_v ON sentences USING ecp (v real_cosine_ops);
INSERT INTO builds SELECT 'tempfiles', row_number() OVER (), * FROM ecp_build_report('sentences_v');
CALL measure('ecp, tempfiles', 'default');
DROP INDEX sentences_v;
SET ecp.build_policy = chunkfiles;
CREATE INDEX sentences_v ON sentences USING ecp (v real_cosine_ops);
INSERT INTO builds SELECT 'chunkfiles', row_number() OVER (), * FROM ecp_build_report('sentences_v');
CALL measure('ecp, chunkfiles', 'default');
SELECT run AS policy, rounds AS "buffer filled", files, opens AS "files opened",
	pg_size_pretty(written_bytes) AS written, pg_size_pretty(read_bytes) AS read,
	round(cpu_s::numeric, 2) AS "CPU s", round(wall_s::numeric, 2) AS seconds,
	round((SELECT recall FROM results WHERE search = 'ecp, ' || run), 3) AS recall
FROM builds WHERE phase = 'total' AND run <> 'memory' ORDER BY run DESC;

DO $$
BEGIN
	PERFORM ecp_index_check('sentences_v', true);
	IF (SELECT min(recall) FROM results WHERE probes = 'default') < 0.93 THEN
		RAISE EXCEPTION 'recall with default settings is below the target of 0.95';
	END IF;
	IF (SELECT min(rounds) FROM builds WHERE phase = 'total' AND run <> 'memory') < 2 THEN
		RAISE EXCEPTION 'the table fits into the row buffer of a build';
	END IF;
END $$;
\qecho The checker finds the index sound.
DROP PROCEDURE measure;
