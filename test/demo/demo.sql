-- The demo's work on vectors, for test/demo/run: load the shipped sentences, build
-- the index, compare answers and times with exact search, and build it by both
-- policies in little memory.  The psql variable "data" is the folder of the
-- sentences; "pgvector" says whether there is hnsw to compare with.  What page.sql
-- shows is kept in tables.
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

-- The distances of the ten nearest: by the index; by a scan and a sort, since
-- no index can be used below OFFSET; by hnsw where the server has pgvector.
CREATE FUNCTION by_ecp(q real[]) RETURNS float8[] LANGUAGE plpgsql AS
$$ BEGIN RETURN ARRAY(SELECT s.v <=> q FROM sentences s ORDER BY s.v <=> q LIMIT 10); END $$;
CREATE FUNCTION by_sort(q real[]) RETURNS float8[] LANGUAGE plpgsql AS
$$ BEGIN RETURN ARRAY(SELECT s.v <=> q FROM (SELECT v FROM sentences OFFSET 0) s ORDER BY s.v <=> q LIMIT 10); END $$;

-- What is measured.  "default" is a search by the settings of a new session.
CREATE TABLE searches (n serial, search text, setting text, value int);
INSERT INTO searches (search, setting, value) VALUES ('exact', '', 0), ('ecp', 'default', 0);
INSERT INTO searches (search, setting, value)
SELECT 'ecp', 'probes ' || p, p FROM unnest(ARRAY[1, 2, 4, 8, 16, 32]) p;
CREATE TABLE hnsw (version text, build_s numeric, size bigint);
\if :pgvector
\qecho CREATE INDEX ON sentences_hnsw USING hnsw (v vector_cosine_ops) ...
CREATE EXTENSION vector;
CREATE TABLE sentences_hnsw AS SELECT id, v::vector(384) FROM sentences;
ALTER TABLE queries ADD h vector(384);
UPDATE queries SET h = v;
VACUUM (ANALYZE) sentences_hnsw, queries;
DO $$
DECLARE
	started timestamptz := clock_timestamp();
BEGIN
	CREATE INDEX sentences_hnsw_v ON sentences_hnsw USING hnsw (v vector_cosine_ops);
	INSERT INTO hnsw SELECT extversion, extract(epoch FROM clock_timestamp() - started), pg_relation_size('sentences_hnsw_v')
	FROM pg_extension WHERE extname = 'vector';
END $$;
CREATE FUNCTION by_hnsw(q vector) RETURNS float8[] LANGUAGE plpgsql AS
$$ BEGIN RETURN ARRAY(SELECT s.v <=> q FROM sentences_hnsw s ORDER BY s.v <=> q LIMIT 10); END $$;
INSERT INTO searches (search, setting, value)
SELECT 'hnsw', 'ef_search ' || ef, ef FROM unnest(ARRAY[10, 20, 40, 80]) ef;
\endif

-- Measure what has not been measured: queries one by one, as a client would send
-- them, and the server's time.  All searches take turns with each query, there and
-- back twice, and the fastest of the four counts, since other work on the machine
-- slows some.  Exact search takes as long for any query, and so long that other work
-- often comes between: the fastest of all is its time.
CREATE TABLE times (n int, query int, ms numeric, hits int, expected float8);
CREATE VIEW results AS
SELECT s.n, search, setting, value, avg(hits) / 10 AS recall,
	CASE search WHEN 'exact' THEN min(ms) ELSE avg(ms) END AS ms, avg(expected) AS expected, stddev(hits) / 10 / sqrt(count(*))::numeric AS error
FROM searches s JOIN (SELECT n, query, min(ms) AS ms, min(hits) AS hits, min(expected) AS expected FROM times GROUP BY n, query) t USING (n)
GROUP BY s.n, search, setting, value;
CREATE PROCEDURE measure() LANGUAGE plpgsql AS $$
DECLARE
	done int := coalesce((SELECT max(n) FROM times), 0);
	started timestamptz;
	ms numeric;
	q record;
	s searches;
	d float8[];
BEGIN
	FOR q IN SELECT *, row_number() OVER (ORDER BY id) AS number FROM queries JOIN near USING (id) ORDER BY id LOOP
		FOR s IN SELECT searches.* FROM searches, generate_series(1, 4) AS turn
			WHERE n > done AND (search <> 'exact' OR q.number <= 30) ORDER BY turn, n * (-1) ^ turn
		LOOP
			PERFORM set_config(CASE s.search WHEN 'hnsw' THEN 'hnsw.ef_search' ELSE 'ecp.probes' END, s.value::text, false);
			started := clock_timestamp();
			d := CASE s.search WHEN 'exact' THEN by_sort(q.v) WHEN 'hnsw' THEN by_hnsw(q.h) ELSE by_ecp(q.v) END;
			ms := 1000 * extract(epoch FROM clock_timestamp() - started);
			INSERT INTO times SELECT s.n, q.id, ms, count(*) FILTER (WHERE a <= q.dk + 1e-6),
				CASE s.setting WHEN 'default' THEN (SELECT estimated_recall FROM ecp_last_scan()) END
			FROM unnest(d) AS a;
		END LOOP;
	END LOOP;
END $$;
\qecho Queries, by turns with exact search, a scan and a sort ...
CALL measure();
RESET ecp.probes;

-- What was asked for, and what the searches expected where they stopped and found.
CREATE TABLE claim AS
SELECT round(e.ms / i.ms) AS times, round(i.recall, 3) AS found,
	(SELECT round(target_recall::numeric, 2) FROM ecp_index_stats('sentences_v')) AS asked,
	round(i.error, 3) AS error, round(i.ms, 2) AS ms, round(e.ms, 1) AS exact_ms,
	(SELECT round(wall_s::numeric, 2) FROM builds WHERE run = 'memory' AND phase = 'total') AS build_s
FROM results e, results i
WHERE e.search = 'exact' AND i.search = 'ecp' AND i.setting = 'default';
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
SELECT search, setting, round(recall, 3) AS "recall@10", round(ms, 3) AS "ms a query",
	round((SELECT ms FROM results WHERE search = 'exact') / ms, 1) AS "times as fast"
FROM results ORDER BY search, recall;
SELECT EXISTS (SELECT FROM hnsw) AS beside, 'pgvector ' || version || ', built in ' || round(build_s, 2) || ' s, ' || pg_size_pretty(size) AS facts,
	pg_size_pretty(pg_relation_size('sentences_v')) AS ours
FROM (SELECT) one LEFT JOIN hnsw ON true \gset hnsw_
\if :hnsw_beside
\qecho 'hnsw:' :hnsw_facts'; ecp: built in' :claim_build_s s, :hnsw_ours
\endif

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
INSERT INTO searches (search, setting, value) VALUES ('ecp, tempfiles', 'default', 0);
CALL measure();
DROP INDEX sentences_v;
SET ecp.build_policy = chunkfiles;
CREATE INDEX sentences_v ON sentences USING ecp (v real_cosine_ops);
INSERT INTO builds SELECT 'chunkfiles', row_number() OVER (), * FROM ecp_build_report('sentences_v');
INSERT INTO searches (search, setting, value) VALUES ('ecp, chunkfiles', 'default', 0);
CALL measure();
SELECT run AS policy, rounds AS "buffer filled", files, opens AS "files opened",
	pg_size_pretty(written_bytes) AS written, pg_size_pretty(read_bytes) AS read,
	round(cpu_s::numeric, 2) AS "CPU s", round(wall_s::numeric, 2) AS seconds,
	round((SELECT recall FROM results WHERE search = 'ecp, ' || run), 3) AS recall
FROM builds WHERE phase = 'total' AND run <> 'memory' ORDER BY run DESC;

DO $$
BEGIN
	PERFORM ecp_index_check('sentences_v', true);
	IF (SELECT min(recall) FROM results WHERE setting = 'default') < 0.93 THEN
		RAISE EXCEPTION 'recall with default settings is below the target of 0.95';
	END IF;
	IF (SELECT min(rounds) FROM builds WHERE phase = 'total' AND run <> 'memory') < 2 THEN
		RAISE EXCEPTION 'the table fits into the row buffer of a build';
	END IF;
END $$;
\qecho The checker finds the index sound.
DROP PROCEDURE measure;
DROP FUNCTION by_ecp, by_sort;
DROP FUNCTION IF EXISTS by_hnsw;
