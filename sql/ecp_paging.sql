--
-- Page after page of the nearest rows, in the three ways of doc/recipes.md: each
-- row once, all of them, in the order of one scan.
--
CREATE FUNCTION paging_vector(i bigint) RETURNS real[] LANGUAGE sql IMMUTABLE AS
	'SELECT ARRAY[(i * 7919) % 1009 / 101.0, (i * 104729) % 997 / 99.3, (i * 1299709) % 991 / 97.7, (i * 15485863) % 983 / 95.1]::real[]';
CREATE TABLE paging_t (id int PRIMARY KEY, v real[] NOT NULL);
-- every tenth row is there twice, so that pages end between rows at one distance
INSERT INTO paging_t SELECT i, paging_vector(i - (i % 10 = 0)::int) FROM generate_series(1, 5000) i;
CREATE INDEX paging_i ON paging_t USING ecp (v, id);
VACUUM ANALYZE paging_t;
CREATE FUNCTION paging_plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		CONTINUE WHEN line ~ '^ *Disabled: true$';
		RETURN NEXT line;
	END LOOP;
END $$;
-- the first 300, without an index
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
CREATE TABLE paging_all AS
SELECT row_number() OVER () AS n, id, d FROM (SELECT id, v <-> '{5,5,5,5}' AS d FROM paging_t ORDER BY d, id LIMIT 300) s;
RESET enable_indexscan;
RESET enable_indexonlyscan;
SET enable_seqscan = off;
SET enable_sort = off;
SELECT count(*) FILTER (WHERE d = before) > 10 AS ties FROM (SELECT d, lag(d) OVER (ORDER BY n) AS before FROM paging_all) s;

-- by keys: the last row of a page is where the next begins
PREPARE paging_next(float8, int) AS
SELECT id, v <-> '{5,5,5,5}' AS d FROM paging_t
WHERE (v <-> '{5,5,5,5}', id) > ($1, $2) ORDER BY d, id LIMIT 10;
PREPARE paging_next_or(float8, int) AS
SELECT id, v <-> '{5,5,5,5}' AS d FROM paging_t
WHERE v <-> '{5,5,5,5}' > $1 OR (v <-> '{5,5,5,5}' = $1 AND id > $2) ORDER BY d, id LIMIT 10;
-- without the pages before, by ids; the index checks the condition
PREPARE paging_unseen(int[]) AS
SELECT id, v <-> '{5,5,5,5}' AS d FROM paging_t
WHERE id <> ALL ($1) ORDER BY d, id LIMIT 10;
SELECT paging_plan('EXECUTE paging_next(1, 2)');
SELECT paging_plan('EXECUTE paging_next_or(1, 2)');
SELECT paging_plan('EXECUTE paging_unseen(''{1,2}'')');
-- 30 pages of each: rows, different rows, the nearest 300 in their places, and anywhere
CREATE FUNCTION paging_pages(query text, OUT n int, OUT different int, OUT in_place int, OUT near int) LANGUAGE plpgsql AS $$
DECLARE
	r record;
	last_d float8 := -1;
	last_id int := 0;
	seen int[] := '{}';
BEGIN
	FOR page IN 1 .. 30 LOOP
		FOR r IN EXECUTE format('EXECUTE ' || query, last_d, last_id, seen::text) LOOP
			last_d := r.d;
			last_id := r.id;
			seen := seen || r.id;
		END LOOP;
	END LOOP;
	n := cardinality(seen);
	different := (SELECT count(DISTINCT s) FROM unnest(seen) s);
	in_place := (SELECT count(*) FROM unnest(seen) WITH ORDINALITY s (id, n) JOIN paging_all a USING (id, n));
	near := (SELECT count(*) FROM unnest(seen) s (id) JOIN paging_all a USING (id));
END $$;
SET ecp.probes = 100000;
SELECT * FROM paging_pages('paging_next(%1$L, %2$s)');
SELECT * FROM paging_pages('paging_next_or(%1$L, %2$s)');
SELECT * FROM paging_pages('paging_unseen(%3$L)');
-- by what searches read by default: none twice, and few are missed
RESET ecp.probes;
SELECT n, different, near > 200 AS most FROM paging_pages('paging_next(%1$L, %2$s)');
SELECT n, different, near > 200 AS most FROM paging_pages('paging_unseen(%3$L)');

-- by a cursor: one scan, with a LIMIT so that it need not read all
CREATE FUNCTION paging_cursor(c refcursor, OUT n int, OUT different int, OUT in_place int) LANGUAGE plpgsql AS $$
DECLARE
	r record;
	seen int[] := '{}';
BEGIN
	LOOP
		FETCH c INTO r;
		EXIT WHEN NOT FOUND;
		seen := seen || r.id;
	END LOOP;
	n := cardinality(seen);
	different := (SELECT count(DISTINCT s) FROM unnest(seen) s);
	in_place := (SELECT count(*) FROM unnest(seen) WITH ORDINALITY s (id, n) JOIN paging_all a USING (id, n));
END $$;
SET ecp.probes = 100000;
BEGIN;
SELECT paging_plan('DECLARE c CURSOR FOR SELECT id, v <-> ''{5,5,5,5}'' AS d FROM paging_t ORDER BY d, id LIMIT 300');
DECLARE c CURSOR FOR SELECT id, v <-> '{5,5,5,5}' AS d FROM paging_t ORDER BY d, id LIMIT 300;
SELECT * FROM paging_cursor('c');
COMMIT;
-- what it has not been asked for, it has not read: without LIMIT in relaxed order
RESET ecp.probes;
BEGIN;
SET LOCAL ecp.iterative_scan = relaxed_order;
SET LOCAL ecp.probes = 2;
DECLARE c CURSOR FOR SELECT id, v <-> '{5,5,5,5}' AS d FROM paging_t ORDER BY v <-> '{5,5,5,5}';
MOVE 10 FROM c;
SELECT clusters AS first FROM ecp_last_scan() \gset
MOVE 3000 FROM c;
SELECT clusters > :first AS more FROM ecp_last_scan();
SELECT n, different FROM paging_cursor('c');
COMMIT;
-- beyond a transaction, all its rows are kept at the end of it
BEGIN;
DECLARE c CURSOR WITH HOLD FOR SELECT id, v <-> '{5,5,5,5}' AS d FROM paging_t ORDER BY d, id LIMIT 300;
MOVE 10 FROM c;
COMMIT;
DELETE FROM paging_t WHERE id = (SELECT id FROM paging_all WHERE n = 12);
FETCH 3 FROM c;
SELECT id, d FROM paging_all WHERE n BETWEEN 11 AND 13;
CLOSE c;

DROP TABLE paging_t, paging_all;
DROP FUNCTION paging_vector, paging_plan, paging_pages, paging_cursor;
