--
-- vectors = codes: exact distances come from the table's rows, in the right order,
-- whatever happens to the rows; and what cannot have only codes is refused.
--
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\i :explain
CREATE FUNCTION codes_vector(i int, dims int) RETURNS real[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((3 * sin(i % 37 * 13.7 + j * (i % 37 + 1) * 0.7) +
					  sin(i * 0.618 * j + j * j))::real ORDER BY j)
	FROM generate_series(1, dims) j
$$;

-- what cannot have only codes
CREATE TABLE codes_no (b bytea, s bit(64), v real[], id int);
CREATE INDEX ON codes_no USING ecp (b) WITH (vectors = codes);
CREATE INDEX ON codes_no USING ecp (s) WITH (vectors = codes);
CREATE INDEX ON codes_no USING ecp (v) INCLUDE (id) WITH (vectors = codes);
CREATE INDEX ON codes_no USING ecp (v) WITH (vectors = codes, dims = 2049);
CREATE INDEX ON codes_no USING ecp (v) WITH (vectors = code);
CREATE INDEX codes_no_i ON codes_no USING ecp (v) WITH (vectors = codes);
INSERT INTO codes_no (v) SELECT array_fill(1::real, '{2049}');
INSERT INTO codes_no (v) SELECT array_fill(1::real, '{2048}');
INSERT INTO codes_no (v) SELECT array_fill(1::real, '{2049}');
SELECT ecp_index_check('codes_no_i', true);
DROP TABLE codes_no;

-- ten rows by the index and by a sort, "same" of 200 distances, and whether few rows
-- of the table were read
CREATE TABLE codes_t (id int PRIMARY KEY, part int, v real[], d double precision[]);
ALTER TABLE codes_t ALTER v SET STORAGE PLAIN;
INSERT INTO codes_t
	SELECT i, i % 10, codes_vector(i, 100), codes_vector(i, 100)::double precision[]
	FROM generate_series(1, 3000) i;
CREATE TABLE codes_q AS
	SELECT i, codes_vector(i * 101 + 50000, 100) AS v FROM generate_series(1, 20) i;
CREATE FUNCTION codes_compare(tab regclass, expr text, op text, cast_to text,
							  cond text DEFAULT 'true')
RETURNS TABLE (same bigint, rows bigint, codes boolean, few boolean)
LANGUAGE plpgsql AS $$
DECLARE
	q record;
	by_index float8[];
	by_sort float8[];
	sql text;
BEGIN
	same := 0; rows := 0; codes := true; few := true;
	sql := format('SELECT array_agg(d) FROM (SELECT %s %s $1::%s AS d FROM %s WHERE %s ORDER BY %1$s %2$s $1::%3$s LIMIT 10) s',
				  expr, op, cast_to, tab, cond);
	FOR q IN SELECT * FROM codes_q LOOP
		SET LOCAL enable_seqscan = off;
		EXECUTE sql INTO by_index USING q.v;
		codes := codes AND (SELECT s.reranked >= cardinality(by_index) FROM ecp_last_scan() s);
		few := few AND (SELECT s.reranked < 40 + s.vectors / 10 FROM ecp_last_scan() s);
		SET LOCAL enable_seqscan = on;
		SET LOCAL enable_indexscan = off;
		EXECUTE sql INTO by_sort USING q.v;
		SET LOCAL enable_indexscan = on;
		rows := rows + cardinality(by_index);
		same := same + (SELECT count(*) FROM unnest(by_index, by_sort) u(a, b) WHERE a = b);
	END LOOP;
	RETURN NEXT;
END $$;
SET ecp.probes = 100000;
CREATE INDEX codes_i ON codes_t USING ecp (v) WITH (vectors = codes);
SELECT element, quantizer, vectors, clusters > 20 AS many FROM ecp_metapage_info('codes_i');
SELECT * FROM pg_temp.explain($$
SELECT id FROM codes_t ORDER BY v <-> (SELECT v FROM codes_q LIMIT 1) LIMIT 10$$);
SELECT * FROM codes_compare('codes_t', 'v', '<->', 'real[]');
SELECT ecp_index_check('codes_i', true);
-- a fifth of the vectors, at most, but for pages that are not full
SELECT pg_relation_size('codes_i') < 3000 * 400 * 0.4 AS small;

-- a radius, in any order; batches and votes
SELECT count(*) AS within, count(*) = (SELECT count(*) FROM codes_t
	WHERE v <-> (SELECT v FROM codes_q LIMIT 1) < 35) AS "all"
FROM (SELECT id FROM codes_t WHERE v <-> (SELECT v FROM codes_q LIMIT 1) < 35
	ORDER BY v <-> (SELECT v FROM codes_q LIMIT 1) LIMIT 3000) s;
SELECT count(*) AS rows, count(e.distance) AS "as by comparing all"
FROM ecp_knn_batch('codes_i', 'SELECT i::bigint, v FROM codes_q', 10) b
	LEFT JOIN ecp_knn_exact('codes_i', 'SELECT i::bigint, v FROM codes_q', 10) e
	USING (query, rank, distance);

-- other metrics and types; a column of attributes
DROP INDEX codes_i;
CREATE INDEX codes_i ON codes_t USING ecp (v real_ip_ops) WITH (vectors = codes);
SELECT * FROM codes_compare('codes_t', 'v', '<#>', 'real[]');
SELECT ecp_index_check('codes_i', true);
DROP INDEX codes_i;
CREATE INDEX codes_i ON codes_t USING ecp (v real_cosine_ops, part) WITH (vectors = codes, levels = 2);
SELECT * FROM codes_compare('codes_t', 'v', '<=>', 'real[]');
SELECT * FROM codes_compare('codes_t', 'v', '<=>', 'real[]', 'part = 3');
SELECT ecp_index_check('codes_i', true);

-- every row once, in the exact order; and without a direction at all
SET enable_seqscan = off;
SELECT count(*), count(DISTINCT id), bool_and(d >= before OR before IS NULL) AS ascending
FROM (SELECT id, d, lag(d) OVER () AS before FROM (SELECT id,
	v <=> (SELECT v FROM codes_q LIMIT 1) AS d FROM codes_t
	ORDER BY v <=> (SELECT v FROM codes_q LIMIT 1) LIMIT 10000) s) t;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM codes_t
	ORDER BY v <=> array_fill(0::real, '{100}') LIMIT 10000) s;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM codes_t
	ORDER BY v <=> NULL::real[] LIMIT 10000) s;
RESET enable_seqscan;
DROP INDEX codes_i;
CREATE INDEX codes_i ON codes_t USING ecp (d) WITH (vectors = codes);
SELECT * FROM codes_compare('codes_t', 'd', '<->', 'double precision[]');
SELECT ecp_index_check('codes_i', true);
DROP INDEX codes_i;

-- an index on an expression, and a partial one
CREATE FUNCTION codes_half(v real[]) RETURNS real[] LANGUAGE sql IMMUTABLE AS
	$$ SELECT array_agg(x / 2 ORDER BY n) FROM unnest(v) WITH ORDINALITY u(x, n) $$;
CREATE INDEX codes_i ON codes_t USING ecp (codes_half(v)) WITH (vectors = codes)
	WHERE id <= 1000;
SELECT * FROM codes_compare('codes_t', 'codes_half(v)', '<->', 'real[]', 'id <= 1000');
SELECT ecp_index_check('codes_i', true);
DROP INDEX codes_i;

-- rows that change: HOT chains, new versions, deleted ones, those of this
-- transaction, and of one that is rolled back
CREATE INDEX codes_i ON codes_t USING ecp (v) WITH (vectors = codes);
ALTER TABLE codes_t SET (fillfactor = 50);
UPDATE codes_t SET part = part + 1 WHERE id % 3 = 0;
UPDATE codes_t SET part = part + 1 WHERE id % 9 = 0;
UPDATE codes_t SET v = codes_vector(id + 7, 100) WHERE id % 5 = 0;
DELETE FROM codes_t WHERE id % 7 = 0;
BEGIN;
INSERT INTO codes_t SELECT i + 10000, 0, v FROM codes_q;
DELETE FROM codes_t WHERE id % 11 = 0;
SELECT same, rows FROM codes_compare('codes_t', 'v', '<->', 'real[]');
ROLLBACK;
SELECT same, rows FROM codes_compare('codes_t', 'v', '<->', 'real[]');
VACUUM codes_t;
SELECT same, rows FROM codes_compare('codes_t', 'v', '<->', 'real[]');
SELECT ecp_index_check('codes_i', true);
-- the nearest rows are gone: a scan takes those that it left out
CREATE TABLE codes_gone AS
	SELECT DISTINCT n.id FROM codes_q q,
		LATERAL (SELECT id FROM codes_t t ORDER BY t.v <-> q.v LIMIT 60) n;
BEGIN;
DELETE FROM codes_t WHERE id IN (SELECT id FROM codes_gone);
SELECT same, rows FROM codes_compare('codes_t', 'v', '<->', 'real[]');
SELECT same, rows FROM codes_compare('codes_t', 'v', '<->', 'real[]', 'id % 200 = 1');
ROLLBACK;
SELECT same, rows FROM codes_compare('codes_t', 'v', '<->', 'real[]', 'id % 200 = 1');
-- a cursor that stays as it is
BEGIN;
DECLARE c CURSOR FOR SELECT id, v <-> (SELECT v FROM codes_q LIMIT 1) < 0 AS less
	FROM codes_t ORDER BY v <-> (SELECT v FROM codes_q LIMIT 1);
MOVE 5 c;
UPDATE codes_t SET v = codes_vector(1, 100);
MOVE ALL c;
ROLLBACK;
-- one without LIMIT keeps the rows whose exact distances it knows in memory, but what
-- doc/ecp.md says of each, and 64 kB for all else
\c -
SET ecp.probes = 100000;
SET work_mem = '64kB';
SET enable_seqscan = off;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM codes_t
	ORDER BY v <-> (SELECT v FROM codes_q LIMIT 1);
MOVE 500 c;
SELECT used_bytes > 16 * 500 AS some,
	used_bytes < 80 * (SELECT count(*) FROM codes_t) + 65536 AS not_more
FROM pg_backend_memory_contexts WHERE name = 'ecp search memory';
MOVE ALL c;
SELECT used_bytes < 80 * (SELECT count(*) FROM codes_t) + 65536 AS not_more
FROM pg_backend_memory_contexts WHERE name = 'ecp search memory';
COMMIT;
RESET enable_seqscan;
RESET work_mem;

-- rows that arrive one by one, splits, buffers, and maintenance
DROP INDEX codes_i;
CREATE TABLE codes_grow (LIKE codes_t);
CREATE INDEX codes_g ON codes_grow USING ecp (v) WITH (vectors = codes, buffer_rows = 4);
INSERT INTO codes_grow SELECT i, 0, codes_vector(i, 100) FROM generate_series(1, 3000) i;
SELECT clusters > 10 AS split FROM ecp_metapage_info('codes_g');
SELECT same > 190 AS same, rows FROM codes_compare('codes_grow', 'v', '<->', 'real[]');
SELECT ecp_index_check('codes_g', true);
DELETE FROM codes_grow WHERE id % 2 = 0;
VACUUM codes_grow;
SELECT count(*) AS maintained FROM ecp_maintain('codes_g');
SELECT same > 190 AS same, rows FROM codes_compare('codes_grow', 'v', '<->', 'real[]');
SELECT ecp_index_check('codes_g', true);
SELECT recall >= 0.9 AS recalled FROM ecp_recall('codes_g', samples => 20)
	WHERE probes = 0;

-- vectors out of line, and compressed
CREATE TABLE codes_toast (id int, v real[]);
ALTER TABLE codes_toast ALTER v SET STORAGE EXTERNAL;
INSERT INTO codes_toast SELECT i, codes_vector(i, 600) FROM generate_series(1, 300) i;
ALTER TABLE codes_toast ALTER v SET STORAGE EXTENDED;
INSERT INTO codes_toast SELECT i, array_fill((i % 10)::real, '{600}')
	FROM generate_series(301, 400) i;
CREATE INDEX codes_ti ON codes_toast USING ecp (v) WITH (vectors = codes);
SET enable_seqscan = off;
SELECT id, v <-> codes_vector(77, 600) AS d FROM codes_toast
	ORDER BY v <-> codes_vector(77, 600) LIMIT 1;
SELECT count(*) FROM (SELECT v <-> array_fill(3::real, '{600}') AS d FROM codes_toast
	ORDER BY v <-> array_fill(3::real, '{600}') LIMIT 10) s WHERE d = 0;
SELECT ecp_index_check('codes_ti', true);
DROP TABLE codes_t, codes_q, codes_grow, codes_toast, codes_gone;
DROP FUNCTION codes_compare, codes_half, codes_vector;
