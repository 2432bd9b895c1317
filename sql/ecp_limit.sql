--
-- The LIMIT of a query reaches the index scans below it: "wanted" of
-- ecp_last_scan().
--
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\set vectors :src '/test/vectors.sql'
\i :vectors
CREATE TABLE limit_t (id int PRIMARY KEY, v real[], tenant int, kind int);
INSERT INTO limit_t SELECT i, pg_temp.spread_vector(i, 4), i % 20, i % 7
FROM generate_series(1, 3000) i;
CREATE INDEX limit_i ON limit_t USING ecp (v, tenant) INCLUDE (id);
CREATE TABLE limit_q (n int, q real[]);
INSERT INTO limit_q SELECT i, pg_temp.spread_vector(i * 7, 4) FROM generate_series(1, 5) i;
CREATE TABLE limit_p (id int, v real[], part int) PARTITION BY LIST (part);
CREATE TABLE limit_p0 PARTITION OF limit_p FOR VALUES IN (0);
CREATE TABLE limit_p1 PARTITION OF limit_p FOR VALUES IN (1);
INSERT INTO limit_p SELECT i, pg_temp.spread_vector(i, 4), i % 2 FROM generate_series(1, 2000) i;
CREATE INDEX ON limit_p USING ecp (v);
VACUUM ANALYZE limit_t, limit_q, limit_p;

-- in the first query of a session
\c
SET enable_seqscan = off;
SET enable_sort = off;
SELECT id FROM limit_t ORDER BY v <-> '{1,2,3,4}' LIMIT 3;
SELECT wanted FROM ecp_last_scan();

-- the plan of a query, and what its last scan was asked for when it had ended
\i :explain
CREATE FUNCTION pg_temp.wanted(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT * FROM pg_temp.explain(query);
	EXECUTE query;
	RETURN NEXT 'wanted: ' || (SELECT wanted FROM ecp_last_scan());
END $$;

-- with an offset; none; too large a sum
SELECT pg_temp.wanted('SELECT id, kind FROM limit_t ORDER BY v <-> ''{1,2,3,4}'' LIMIT 7');
SELECT pg_temp.wanted('SELECT id FROM limit_t ORDER BY v <-> ''{1,2,3,4}'' LIMIT 7 OFFSET 30');
SELECT pg_temp.wanted('SELECT id FROM limit_t ORDER BY v <-> ''{1,2,3,4}'' OFFSET 2990');
SELECT pg_temp.wanted('SELECT id FROM limit_t ORDER BY v <-> ''{1,2,3,4}'' LIMIT ALL');
SELECT pg_temp.wanted('SELECT id FROM limit_t ORDER BY v <-> ''{1,2,3,4}'' LIMIT (SELECT NULL::int)');
SELECT pg_temp.wanted('SELECT id FROM limit_t ORDER BY v <-> ''{1,2,3,4}''
	LIMIT 9223372036854775807 OFFSET 5');
-- nothing is searched, so it is still the last
SELECT pg_temp.wanted('SELECT id FROM limit_t ORDER BY v <-> ''{1,2,3,4}'' LIMIT 0');

-- parameters
PREPARE limited(int, int) AS SELECT id FROM limit_t ORDER BY v <-> '{1,2,3,4}' LIMIT $1 OFFSET $2;
SET plan_cache_mode = force_custom_plan;
SELECT pg_temp.wanted('EXECUTE limited(11, 2)');
SET plan_cache_mode = force_generic_plan;
SELECT pg_temp.wanted('EXECUTE limited(12, 3)');
SELECT pg_temp.wanted('EXECUTE limited(NULL, 3)');
SELECT pg_temp.wanted('EXECUTE limited(13, NULL)');
RESET plan_cache_mode;

-- nodes that return every row they get
SELECT pg_temp.wanted('SELECT id, kind FROM limit_t ORDER BY v <-> ''{1,2,3,4}'', id LIMIT 7');
SELECT pg_temp.wanted('SELECT id FROM limit_t ORDER BY v <-> ''{1,2,3,4}''
	FETCH FIRST 7 ROWS WITH TIES');
SELECT pg_temp.wanted('SELECT id, rank() OVER (ORDER BY v <-> ''{1,2,3,4}'') FROM limit_t
	ORDER BY v <-> ''{1,2,3,4}'' LIMIT 7');
SELECT pg_temp.wanted('SELECT id FROM limit_t ORDER BY v <-> ''{1,2,3,4}'' LIMIT 7 FOR UPDATE');
SELECT pg_temp.wanted('SELECT id FROM limit_t ORDER BY v <-> ''{1,2,3,4}'' LIMIT 7
	FOR UPDATE SKIP LOCKED');
SELECT pg_temp.wanted('SELECT id FROM limit_t WHERE (SELECT true)
	ORDER BY v <-> ''{1,2,3,4}'' LIMIT 7');
SELECT pg_temp.wanted('SELECT id + 1 FROM (SELECT id, random() FROM limit_t
	ORDER BY v <-> ''{1,2,3,4}'' OFFSET 0) s LIMIT 7');
SELECT pg_temp.wanted('SELECT id, part FROM limit_p ORDER BY v <-> ''{1,2,3,4}'' LIMIT 7');
SELECT pg_temp.wanted('SELECT id FROM limit_p WHERE part = (SELECT 1)
	ORDER BY v <-> ''{1,2,3,4}'' LIMIT 7');
-- a radius, in any order
SET ecp.approximate_radius = on;
SELECT pg_temp.wanted('SELECT id, part FROM limit_p WHERE v <-> ''{1,2,3,4}'' < 3 LIMIT 7');
RESET ecp.approximate_radius;

-- the nearest of two
SELECT pg_temp.wanted('SELECT id FROM (SELECT id FROM limit_t
	ORDER BY v <-> ''{1,2,3,4}'' LIMIT 20) s LIMIT 7');
-- a subquery, and one for each row of another table, with a LIMIT from there
SELECT pg_temp.wanted('SELECT n FROM limit_q WHERE n = (SELECT id FROM limit_t
	ORDER BY v <-> ''{1,2,3,4}'' LIMIT 1)');
SELECT pg_temp.wanted('SELECT n, s.id FROM limit_q, LATERAL (SELECT id FROM limit_t
	ORDER BY v <-> q LIMIT 7) s');
CREATE FUNCTION limit_wanted(id int) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN (SELECT wanted FROM ecp_last_scan());
END $$;
SELECT n, string_agg(limit_wanted(id)::text, ' ') AS wanted
FROM limit_q, LATERAL (SELECT id FROM limit_t ORDER BY v <-> q LIMIT n + 2) s
GROUP BY n ORDER BY n;

-- conditions outside the index: rows until the LIMIT has its own
SELECT pg_temp.wanted('SELECT id FROM limit_t WHERE tenant = 3
	ORDER BY v <-> ''{1,2,3,4}'' LIMIT 7');
SELECT pg_temp.wanted('SELECT id FROM limit_t WHERE kind = 3
	ORDER BY v <-> ''{1,2,3,4}'' LIMIT 7');

-- joins, several rows of one; unknown: groups, cursors
SELECT pg_temp.wanted('SELECT id FROM limit_t JOIN limit_q ON n = kind
	ORDER BY v <-> ''{1,2,3,4}'' LIMIT 7');
SELECT pg_temp.wanted('SELECT count(*) FROM (SELECT id FROM limit_t
	ORDER BY v <-> ''{1,2,3,4}'' OFFSET 0) s LIMIT 7');
SELECT pg_temp.wanted('SELECT generate_series(1, 2) FROM limit_t
	ORDER BY v <-> ''{1,2,3,4}'' LIMIT 7');
BEGIN;
DECLARE near CURSOR FOR SELECT id FROM limit_t ORDER BY v <-> '{1,2,3,4}';
DECLARE near_7 CURSOR FOR SELECT id FROM limit_t ORDER BY v <-> '{1,2,3,4}' LIMIT 7;
FETCH 2 FROM near;
SELECT wanted FROM ecp_last_scan();
FETCH 2 FROM near_7;
SELECT wanted FROM ecp_last_scan();
-- the figures follow the cursor that was fetched from
FETCH 3 FROM near_7;
SELECT wanted, returned FROM ecp_last_scan();
MOVE 10 FROM near;
SELECT wanted, returned, estimated_recall FROM ecp_last_scan();
MOVE ALL FROM near_7;
SELECT wanted, returned FROM ecp_last_scan();
COMMIT;

-- a query within a query, before it starts and while it runs
CREATE FUNCTION limit_nested(n int) RETURNS real[] LANGUAGE plpgsql STABLE AS $$
DECLARE
	nearest real[] = (SELECT t.v FROM limit_t t ORDER BY t.v <-> '{4,3,2,1}' LIMIT n);
BEGIN
	RAISE NOTICE 'wanted within: %', (SELECT wanted FROM ecp_last_scan());
	RETURN nearest;
END $$;
SELECT array_length(limit_nested(1), 1) FROM limit_t ORDER BY v <-> '{1,2,3,4}' LIMIT 2;
SELECT wanted FROM ecp_last_scan();
SET client_min_messages = warning;
SELECT id FROM limit_t ORDER BY v <-> limit_nested((SELECT 1)) LIMIT 2;
SELECT wanted FROM ecp_last_scan();
RESET client_min_messages;

-- queries that end with an error
SELECT 1 / (id - id) FROM limit_t ORDER BY v <-> '{1,2,3,4}' LIMIT 5;
SELECT id FROM limit_t ORDER BY v <-> '{1,2,3,4}' LIMIT 4;
SELECT wanted FROM ecp_last_scan();
DO $$
BEGIN
	FOR i IN 1 .. 3 LOOP
		BEGIN
			PERFORM 1 / (id - id) FROM limit_t ORDER BY v <-> '{1,2,3,4}' LIMIT i;
		EXCEPTION WHEN division_by_zero THEN
			RAISE NOTICE 'wanted: %', (SELECT wanted FROM ecp_last_scan());
		END;
		PERFORM id FROM limit_t ORDER BY v <-> '{1,2,3,4}' LIMIT 10 + i;
		RAISE NOTICE 'wanted: %', (SELECT wanted FROM ecp_last_scan());
	END LOOP;
END $$;
BEGIN;
DECLARE fails CURSOR FOR SELECT 1 / (id % 2) FROM limit_t ORDER BY v <-> '{1,2,3,4}' LIMIT 9;
SAVEPOINT s;
FETCH 9 FROM fails;
ROLLBACK TO s;
SELECT count(*) FROM (SELECT id FROM limit_t ORDER BY v <-> '{1,2,3,4}' LIMIT 8) s;
SELECT wanted FROM ecp_last_scan();
COMMIT;

DROP TABLE limit_t, limit_q, limit_p;
DROP FUNCTION limit_nested(int), limit_wanted(int);
