-- Rows of bytes by L2 whose upper parts are compared first, and of which those that
-- are far away are left out of a search until they are wanted.  What a scan of all
-- clusters returns is compared with a sort, in each way to come by more rows than
-- the LIMIT has.
\pset format unaligned
SET max_parallel_workers_per_gather = 0;
SET client_min_messages = warning;
SET ecp.probes = 100000;

-- clustered, with small elements more often than large ones, and equal rows
CREATE FUNCTION parts_row(i int, dims int) RETURNS bytea
	LANGUAGE sql IMMUTABLE AS
$$SELECT string_agg(decode(lpad(to_hex(least(255,
	(hashint4(i % 40 * 1000 + d)::bigint & 127)
	* (hashint4(d * 7 + i % 40)::bigint & 127) / 100
	+ (hashint4(i / 2 * 2 * 1000 + d * 77)::bigint & 31))::int), 2, '0'), 'hex'), ''
	ORDER BY d) FROM generate_series(1, dims) d$$;

CREATE TABLE parts_t (id int PRIMARY KEY, tag int, v bytea);
CREATE TABLE parts_q (id int, v bytea);

-- the distances by the index and by a sort are the same
CREATE FUNCTION parts_same(condition text, k int) RETURNS text
	LANGUAGE plpgsql AS
$$
DECLARE
	q record;
	sql text := format('SELECT array_agg(d) FROM (SELECT v <-> $1 AS d FROM parts_t WHERE %s ORDER BY v <-> $1 LIMIT %s) s', condition, k);
	by_index float8[];
	by_sort float8[];
	same int := 0;
BEGIN
	FOR q IN SELECT * FROM parts_q LOOP
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_sort = off;
		EXECUTE sql INTO by_index USING q.v;
		RESET enable_seqscan;
		RESET enable_sort;
		SET LOCAL enable_indexscan = off;
		SET LOCAL enable_indexonlyscan = off;
		EXECUTE sql INTO by_sort USING q.v;
		RESET enable_indexscan;
		RESET enable_indexonlyscan;
		IF by_index IS NOT DISTINCT FROM by_sort THEN
			same := same + 1;
		END IF;
	END LOOP;
	RETURN same || ' of ' || (SELECT count(*) FROM parts_q);
END
$$;

-- the elements of one, two and four registers, and lengths that fill none
CREATE FUNCTION parts_all(dims int) RETURNS TABLE (what text, same text)
	LANGUAGE plpgsql AS
$$
BEGIN
	DROP INDEX IF EXISTS parts_i;
	TRUNCATE parts_t, parts_q;
	INSERT INTO parts_t SELECT i, i % 7, parts_row(i, dims) FROM generate_series(1, 1000) i;
	INSERT INTO parts_q SELECT i, parts_row(i * 10007, dims) FROM generate_series(1, 8) i;
	ANALYZE parts_t;
	CREATE INDEX parts_i ON parts_t USING ecp (v, tag) INCLUDE (id);
	RETURN QUERY VALUES
		('limit 1', parts_same('true', 1)),
		('limit 10', parts_same('true', 10)),
		('limit 150', parts_same('true', 150)),
		('more than there are', parts_same('true', 5000)),
		('key column', parts_same('tag = 3', 10)),
		('filter above', parts_same('id % 5 = 0', 10)),
		('rare', parts_same('id % 300 = 0', 10));
END
$$;
SELECT dims, what, same FROM unnest('{63,64,100,128,200,255,256}'::int[]) dims, parts_all(dims)
	ORDER BY dims, what;

-- rows that are gone make a scan take those that were left out
SELECT count(*) FROM parts_all(128);
SELECT quantizer FROM ecp_metapage_info('parts_i');
CREATE TABLE parts_gone AS
	SELECT DISTINCT n.id FROM parts_q q,
		LATERAL (SELECT id FROM parts_t t ORDER BY t.v <-> q.v LIMIT 40) n;
DELETE FROM parts_t WHERE id IN (SELECT id FROM parts_gone);
SELECT parts_same('true', 10), parts_same('tag = 3', 10);
INSERT INTO parts_t SELECT id, id % 7, parts_row(id, 128) FROM parts_gone WHERE id % 2 = 0;
UPDATE parts_t SET v = parts_row(id + 5, 128), tag = 3 WHERE id % 11 = 0;
SELECT parts_same('true', 10), parts_same('true', 100), parts_same('tag = 3', 10);
SELECT ecp_index_check('parts_i', true);
VACUUM parts_t;
SELECT parts_same('true', 10), parts_same('true', 100), parts_same('tag = 3', 10);
SELECT ecp_index_check('parts_i', true);

-- all rows in order
SET enable_seqscan = off;
SET enable_sort = off;
SELECT count(*), count(DISTINCT id), bool_and(d >= before) AS ordered FROM
	(SELECT id, d, lag(d, 1, 0) OVER (ORDER BY n) AS before FROM
		(SELECT id, d, row_number() OVER () AS n FROM
			(SELECT id, v <-> (SELECT v FROM parts_q LIMIT 1) AS d FROM parts_t
			ORDER BY v <-> (SELECT v FROM parts_q LIMIT 1)) s) s) s;

-- within a radius
SELECT count(*) > 5 AS some, bool_and(d < 700) AS within FROM
	(SELECT v <-> (SELECT v FROM parts_q LIMIT 1) AS d FROM parts_t
	WHERE v <-> (SELECT v FROM parts_q LIMIT 1) < 700
	ORDER BY v <-> (SELECT v FROM parts_q LIMIT 1) LIMIT 5000) s;
SELECT (SELECT count(*) FROM (SELECT 1 FROM parts_t
	WHERE v <-> (SELECT v FROM parts_q LIMIT 1) < 700
	ORDER BY v <-> (SELECT v FROM parts_q LIMIT 1) LIMIT 5000) s) =
	(SELECT count(*) FROM parts_t, (SELECT v AS q FROM parts_q LIMIT 1) q WHERE v <-> q < 700) AS same;

-- batches find what scans find, and the vectors of an index-only scan are whole
SELECT count(*) FROM
	(SELECT query, array_agg(distance ORDER BY distance) AS d
	FROM ecp_knn_batch('parts_i', 'SELECT id, v FROM parts_q', 10) GROUP BY query) b
	JOIN (SELECT id, (SELECT array_agg(d) FROM (SELECT t.v <-> q.v AS d FROM parts_t t
		ORDER BY t.v <-> q.v LIMIT 10) s) AS d FROM parts_q q) s ON s.id = b.query AND s.d = b.d;
VACUUM parts_t;
SELECT bool_and(i.v = t.v) FROM
	(SELECT id, v FROM parts_t ORDER BY v <-> (SELECT v FROM parts_q LIMIT 1) LIMIT 20) i
	JOIN parts_t t USING (id);

DROP TABLE parts_t, parts_q, parts_gone;
DROP FUNCTION parts_row, parts_same, parts_all;
