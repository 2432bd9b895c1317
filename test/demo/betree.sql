-- The demo's work on keys, for test/demo/run, on a server with 8 MB of shared
-- buffers: the same rows with random keys are inserted into tables
-- with a btree, with a betree and, to know what the table itself costs, with none.
\set ON_ERROR_STOP 1
\set QUIET 1
\pset footer off
SET client_min_messages = warning;
SET jit = off;
SET max_parallel_workers_per_gather = 0;
SET synchronous_commit = off;

CREATE TABLE keys_none (id uuid, n int);
CREATE TABLE keys_btree (LIKE keys_none);
CREATE TABLE keys_betree (LIKE keys_none);
CREATE TABLE inserts (method text, rows int, ms numeric, wal numeric);
COMMENT ON TABLE inserts IS 'what rounds of inserts took';

CREATE VIEW blocks_read AS
SELECT substring(relname FROM 6) AS method, idx_blks_read AS blocks
FROM pg_statio_user_indexes WHERE relname ~ '^keys_';

-- The same keys for each table: md5 of the row's number.
CREATE PROCEDURE insert_rows(method text, low int, high int) LANGUAGE plpgsql AS $$
DECLARE
	started timestamptz;
	lsn pg_lsn;
BEGIN
	lsn := pg_current_wal_insert_lsn();
	started := clock_timestamp();
	EXECUTE format('INSERT INTO keys_%s SELECT md5(i::text)::uuid, i FROM generate_series(%s, %s) i', method, low, high);
	INSERT INTO inserts VALUES (method, high - low + 1,
		1000 * extract(epoch FROM clock_timestamp() - started), pg_current_wal_insert_lsn() - lsn);
	COMMIT;
END $$;

\qecho
\qecho Random keys: a million rows with a btree, and the same with a betree ...
INSERT INTO keys_btree SELECT md5(i::text)::uuid, i FROM generate_series(1, 1000000) i;
INSERT INTO keys_betree SELECT * FROM keys_btree;
CREATE INDEX ON keys_btree (id);
CREATE INDEX ON keys_betree USING betree (id);
VACUUM (ANALYZE) keys_btree, keys_betree;

-- counters of a session are written out when it is between two statements
SELECT pg_stat_force_next_flush() \g /dev/null
CREATE TABLE reads_before AS SELECT * FROM blocks_read;
\qecho and 200,000 more, in eight rounds that begin with a checkpoint ...
SELECT CASE WHEN method = 'none' THEN 'CHECKPOINT' END,
	format('CALL insert_rows(%L, %s, %s)', method, 1000001 + 25000 * round, 1025000 + 25000 * round)
FROM generate_series(0, 7) round, unnest(ARRAY['none', 'btree', 'betree']) WITH ORDINALITY AS m(method, n)
ORDER BY round, n \gexec
SELECT pg_stat_force_next_flush() \g /dev/null
CREATE TABLE reads_after AS SELECT * FROM blocks_read;

-- Lookups of single rows afterwards, and ranges of 100, by turns: what they cost.
VACUUM (ANALYZE) keys_btree, keys_betree;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE TABLE lookups (method text, lookup_us numeric, range_us numeric);
DO $$
DECLARE
	t timestamptz[];
	lookup interval[] := '{0, 0}';
	ranges interval[] := '{0, 0}';
	k uuid;
	n bigint;
BEGIN
	FOR k IN SELECT md5((i * 37)::text)::uuid FROM generate_series(1, 20000) i LOOP
		t[1] := clock_timestamp();
		SELECT b.n INTO n FROM keys_btree b WHERE id = k;
		t[2] := clock_timestamp();
		SELECT b.n INTO n FROM keys_betree b WHERE id = k;
		t[3] := clock_timestamp();
		lookup := ARRAY[lookup[1] + (t[2] - t[1]), lookup[2] + (t[3] - t[2])];
	END LOOP;
	FOR k IN SELECT md5((i * 41)::text)::uuid FROM generate_series(1, 1000) i LOOP
		t[1] := clock_timestamp();
		SELECT count(*) INTO n FROM (SELECT id FROM keys_btree b WHERE id >= k ORDER BY id LIMIT 100) r;
		t[2] := clock_timestamp();
		SELECT count(*) INTO n FROM (SELECT id FROM keys_betree b WHERE id >= k ORDER BY id LIMIT 100) r;
		t[3] := clock_timestamp();
		ranges := ARRAY[ranges[1] + (t[2] - t[1]), ranges[2] + (t[3] - t[2])];
	END LOOP;
	INSERT INTO lookups
	SELECT (ARRAY['btree', 'betree'])[i], 1e6 * extract(epoch FROM lookup[i]) / 20000, 1e6 * extract(epoch FROM ranges[i]) / 1000
	FROM generate_series(1, 2) i;
END $$;

CREATE TABLE keys AS
WITH s AS (
	SELECT method, sum(rows) AS rows, sum(ms) AS ms, sum(wal) / sum(rows) AS wal
	FROM inserts GROUP BY method)
SELECT s.method, round(1000 * s.rows / s.ms) AS rows_s, round(s.wal - none.wal) AS wal, round((a.blocks - b.blocks)::numeric / s.rows, 3) AS reads,
	pg_indexes_size(('keys_' || s.method)::regclass) AS size, round(lookup_us, 1) AS lookup_us, round(range_us, 1) AS range_us
FROM s JOIN lookups USING (method) JOIN reads_before b USING (method) JOIN reads_after a USING (method), s AS none
WHERE none.method = 'none';
COMMENT ON TABLE keys IS 'what keys in a btree and in a betree cost';

SELECT round((SELECT wal FROM keys WHERE method = 'btree') / wal, 1) AS wal,
	round((SELECT reads FROM keys WHERE method = 'btree') / greatest(reads, .0005)) AS reads
FROM keys WHERE method = 'betree' \gset keys_
\qecho
\qecho '    betree writes 1/':keys_wal of the WAL and reads 1/:keys_reads of the blocks of btree
\qecho '    (random keys inserted into an index larger than the shared buffers of 8 MB)'
\qecho
SELECT method AS index, rows_s AS "inserted rows/s", wal AS "bytes of WAL for a row", reads AS "blocks read for a row",
	pg_size_pretty(size) AS size, lookup_us AS "lookup, µs", range_us AS "range of 100 rows, µs"
FROM keys ORDER BY method DESC;
\qecho Inserts include those into the table, the WAL does not; lookups and ranges are those of
\qecho single statements in PL/pgSQL, by turns.

SELECT betree_index_check((SELECT indexrelid FROM pg_index WHERE indrelid = 'keys_betree'::regclass), true) \g /dev/null
DROP PROCEDURE insert_rows;
DROP VIEW blocks_read;
DROP TABLE reads_before, reads_after;
