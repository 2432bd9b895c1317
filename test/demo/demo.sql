-- The demo's work, for test/demo/run: load the shipped SIFT descriptors,
-- build the index by both policies, compare answers and times with exact
-- search, and find a photograph by its descriptors.  The psql variable "data" is
-- the folder of the .bvecs files.  What page.sql draws is kept in tables.
\set ON_ERROR_STOP 1
\set QUIET 1
\pset footer off
SET client_min_messages = warning;
SET jit = off;
SET max_parallel_workers_per_gather = 0;

CREATE EXTENSION ecp;

-- A .bvecs file is 4 bytes of length and the elements, for each vector.
\set base :data '/base.bvecs'
\set query :data '/query.bvecs'
\set photo :data '/photos.tsv'
CREATE TABLE photos (photo int PRIMARY KEY, name text, descriptors int, first_id int);
COMMENT ON TABLE photos IS 'the photographs of items, and which ids are theirs';
INSERT INTO photos
SELECT f[1]::int, substring(f[4] FROM '[^/]*$'), f[7]::int,
	sum(f[7]::int) OVER (ORDER BY f[1]::int) - f[7]::int
FROM regexp_split_to_table(pg_read_file(:'photo'), '\n') AS l(line),
	regexp_split_to_array(line, '\t') AS f
WHERE f[2] = 'base';
CREATE TABLE items (id int PRIMARY KEY, photo int, v bytea NOT NULL);
COMMENT ON TABLE items IS 'SIFT descriptors of photographs, 128 bytes each';
CREATE TABLE queries (id int PRIMARY KEY, v bytea NOT NULL);
COMMENT ON TABLE queries IS 'SIFT descriptors of other photographs';
INSERT INTO items
SELECT i, (SELECT photo FROM photos WHERE i >= first_id AND i < first_id + descriptors),
	substring((SELECT pg_read_binary_file(:'base')) FROM i * 132 + 5 FOR 128)
FROM generate_series(0, (pg_stat_file(:'base')).size / 132 - 1) AS g(n),
	LATERAL (SELECT n::int) AS l(i);
INSERT INTO queries
SELECT i, substring((SELECT pg_read_binary_file(:'query')) FROM i * 132 + 5 FOR 128)
FROM generate_series(0, (pg_stat_file(:'query')).size / 132 - 1) AS g(n),
	LATERAL (SELECT n::int) AS l(i);
VACUUM (ANALYZE) items, queries;

SELECT count(*) AS rows, pg_size_pretty(pg_relation_size('items')) AS size
FROM items \gset loaded_
\qecho
\qecho Loaded :loaded_rows descriptors of 128 bytes (:loaded_size).

-- One line of the table of results.  "near" holds what exact search found: for
-- each query the distance of its tenth neighbour.  A row of an answer counts
-- for recall if it is no farther than that.
CREATE TABLE results (n serial, search text, probes text, recall numeric, ms numeric);
CREATE TABLE near (id int, dk float8);

CREATE PROCEDURE measure(search text, probes text)
LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz;
	ms numeric;
	found bigint;
BEGIN
	started := clock_timestamp();
	CREATE TEMPORARY TABLE answers ON COMMIT DROP AS
	SELECT q.id, a.d
	FROM queries q, LATERAL (SELECT i.v <-> q.v AS d FROM items i
							 ORDER BY i.v <-> q.v LIMIT 10) a;
	ms := 1000 * extract(epoch FROM clock_timestamp() - started);
	IF NOT EXISTS (SELECT FROM near) THEN
		INSERT INTO near SELECT id, max(d) FROM answers GROUP BY id;
	END IF;
	SELECT count(*) INTO found
	FROM answers a JOIN near USING (id) WHERE a.d <= dk * (1 + 1e-6);
	INSERT INTO results (search, probes, recall, ms)
	SELECT search, probes, found / (10.0 * count(*)), ms / count(*) FROM queries;
	COMMIT;
END $$;

SET enable_indexscan = off;
CALL measure('exact, sequential scan', '');
RESET enable_indexscan;

-- So little memory that the policies have something to do: an in-buff holds
-- about 4,000 of the 25,391 rows.
SET ecp.in_buff = '512kB';
SET maintenance_work_mem = '16MB';

CREATE TABLE builds AS SELECT 0 AS n, * FROM ecp_build_report(0) WITH NO DATA;
\set keep 'INSERT INTO builds SELECT row_number() OVER (), * FROM ecp_build_report(''items_v'');'
\set report 'SELECT phase, round(wall_s::numeric, 3) AS seconds, round(cpu_s::numeric, 3) AS "of CPU", round(io_s::numeric, 3) AS "of I/O", files, opens, pg_size_pretty(read_bytes) AS read, pg_size_pretty(written_bytes) AS written FROM ecp_build_report(''items_v'');'

\qecho
\qecho CREATE INDEX items_v ON items USING ecp (v), with ecp.build_policy = tempfiles:
SET ecp.build_policy = tempfiles;
CREATE INDEX items_v ON items USING ecp (v);
:keep
:report
SET ecp.probes = 8;
CALL measure('ecp, built with tempfiles', '8');
RESET ecp.probes;
CALL measure('ecp, built with tempfiles', 'default');
DROP INDEX items_v;

\qecho and with ecp.build_policy = chunkfiles:
SET ecp.build_policy = chunkfiles;
CREATE INDEX items_v ON items USING ecp (v);
:keep
:report
\qecho The index:
SELECT clusters, levels, rows, round(mean_rows::numeric, 1) AS "rows a cluster",
	min_rows AS smallest, max_rows AS largest,
	pg_size_pretty(pg_relation_size('items_v')) AS "size of the index"
FROM ecp_index_drift('items_v');

EXPLAIN (COSTS OFF)
SELECT id FROM items ORDER BY v <-> (SELECT v FROM queries WHERE id = 0) LIMIT 10;

SET ecp.probes = 1;
CALL measure('ecp, built with chunkfiles', '1');
SET ecp.probes = 2;
CALL measure('ecp, built with chunkfiles', '2');
SET ecp.probes = 4;
CALL measure('ecp, built with chunkfiles', '4');
SET ecp.probes = 8;
CALL measure('ecp, built with chunkfiles', '8');
SET ecp.probes = 16;
CALL measure('ecp, built with chunkfiles', '16');
SET ecp.probes = 32;
CALL measure('ecp, built with chunkfiles', '32');
RESET ecp.probes;
CALL measure('ecp, built with chunkfiles', 'default');

\qecho
\qecho Ten nearest neighbours of 500 queries, one connection:
SELECT search, probes, round(recall, 3) AS "recall@10",
	round(ms, 3) AS "ms a query",
	round((SELECT ms FROM results WHERE probes = '') / ms, 1) AS "times as fast"
FROM results ORDER BY n;

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
		SELECT count(*) FILTER (WHERE d <= q.dk * (1 + 1e-6)) INTO hits
		FROM (SELECT i.v <-> q.v AS d FROM items i ORDER BY i.v <-> q.v LIMIT 10) a;
		SELECT estimated_recall INTO expected FROM ecp_last_scan();
		INSERT INTO searches VALUES (expected, hits / 10.0);
	END LOOP;
	INSERT INTO promise
	SELECT (SELECT target_recall FROM ecp_index_stats('items_v')), avg(s.expected), avg(s.found), stddev(s.found) / sqrt(count(*)) FROM searches s;
END $$;
\qecho
\qecho The default target of recall, for queries of photographs that are not in the index:
SELECT asked, round(expected, 3) AS expected, round(found, 3) AS found,
	round(error, 3) AS "standard error"
FROM promise;

-- A photograph as it might be taken again: 200 of its descriptors, with each of
-- the 128 numbers up to 32 higher or lower.  Each votes for the photographs that
-- its nearest neighbours are from.
CREATE TABLE photograph AS
SELECT id, photo,
	(SELECT string_agg(set_byte('\x00', 0, greatest(0, least(255,
		get_byte(v, i) + hashint4(id * 128 + i) % 33))), '' ORDER BY i)
	FROM generate_series(0, 127) i) AS v
FROM items WHERE photo = 7 ORDER BY hashint4(id) LIMIT 200;
CREATE TABLE votes AS
SELECT name, votes, photo = (SELECT photo FROM photograph LIMIT 1) AS own
FROM ecp_vote('items_v', 'SELECT v FROM photograph', 'photo') JOIN photos ON photo = image::int;
\qecho
\qecho 200 descriptors of a photograph taken again, and the photographs they vote for:
SELECT name, votes FROM votes ORDER BY votes DESC, name LIMIT 5;

DO $$
BEGIN
	IF NOT (SELECT own FROM votes ORDER BY votes DESC LIMIT 1) THEN
		RAISE EXCEPTION 'the photograph is not found by its descriptors';
	END IF;
	PERFORM ecp_index_check('items_v', true);
	IF (SELECT min(recall) FROM results WHERE probes = 'default') < 0.94 THEN
		RAISE EXCEPTION 'recall with default settings is below the target of 0.95';
	END IF;
END $$;
\qecho The checker finds the index sound.
DROP PROCEDURE measure;
