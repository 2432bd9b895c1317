--
-- double precision[], as drivers send lists of floats: as a parameter for a
-- column of real[], and as a column of its own.  Elements are rounded to real,
-- by the operators and in an index, so that both give the same order.
--
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\i :explain

-- places of rows differ between versions
\set SHOW_CONTEXT never

CREATE FUNCTION double_distance(a text, b text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	result float8;
BEGIN
	EXECUTE format('SELECT ''{1,2,3}''::%s <-> ''{4,6,3}''::%s', a, b) INTO result;
	RETURN result;
END
$$;

-- which operator takes which arrays: those of other numbers are cast
SELECT a.type AS "left", b.type AS "right",
	double_distance(a.type, b.type)
FROM (VALUES ('real[]'), ('double precision[]'), ('smallint[]'), ('integer[]'), ('bigint[]'), ('numeric[]')) a(type),
	(VALUES ('real[]'), ('double precision[]'), ('smallint[]'), ('integer[]'), ('bigint[]'), ('numeric[]')) b(type);
SELECT ARRAY[1, 2, 3] <-> ARRAY[4.0, 6, 3] AS constants, '{1,2,3}'::float8[] <-> '{4,6,3}' AS literal,
	'{4,6,3}' <-> '{1,2,3}'::float8[] AS literal, '{1,2,3}'::bigint[] <#> '{4,6,3}' AS literal,
	ARRAY[1, 0] <=> ARRAY[0.0, 1] AS cosine, ecp_inner_product(ARRAY[1, 2, 3], ARRAY[4, 6, 3.0]) AS ip;

-- rounded; what is too small for a real is zero, what is too large an error
SELECT '{0.1}'::float8[] <-> '{0.1}'::real[] AS l2, '{0.1,1}'::float8[] <#> '{1,0}' AS ip,
	'{1e-300,3}'::float8[] <-> '{0,3}' AS l2;
SELECT '{1,1e39}'::float8[] <-> '{0,3}';
SELECT '{1,NaN}'::float8[] <-> '{0,3}';
SELECT '{1,NULL}'::float8[] <-> '{0,3}';
SELECT '{1,2}'::float8[] <-> '{1}';
SELECT '{{1,2},{3,4}}'::float8[] <-> '{1,2}';
SELECT ecp_real('{0.1,1e-300,16777217}'), ecp_double('{0.5,2}');

CREATE TABLE double_t AS
SELECT i AS id, i % 10 AS tenant, array_agg(e::real ORDER BY j) AS v, array_agg(e ORDER BY j) AS d
FROM generate_series(1, 2000) i, generate_series(1, 8) j,
	LATERAL (SELECT ((i * 7919 + 13) % 1009 * (j * 31 + 7) % 997 + i % 5 * 40) % 256 / 7.0::float8 - 12) e(e)
GROUP BY i ORDER BY i;
ANALYZE double_t;
SELECT count(*) AS rows, count(*) FILTER (WHERE d <> v::float8[]) AS rounded FROM double_t;

/*
 * For 10 queries the 20 nearest rows by the index with all clusters and by a
 * sort, in two ways: queries of the column's type, and of the other.
 */
CREATE FUNCTION double_compare(col text, op text, opclass text,
	OUT uses_index boolean, OUT rows bigint, OUT wrong bigint, OUT checked boolean)
LANGUAGE plpgsql AS $$
DECLARE
	search text := format('SELECT q.id, q.type, s.d FROM
		(SELECT id, d AS q, 1 AS type FROM double_t WHERE id %% 20 = 3 ORDER BY id LIMIT 10) q,
		LATERAL (SELECT t.%1$I %2$s q.q AS d FROM double_t t ORDER BY t.%1$I %2$s q.q LIMIT 20) s
		UNION ALL SELECT q.id, q.type, s.d FROM
		(SELECT id, v AS q, 2 AS type FROM double_t WHERE id %% 20 = 3 ORDER BY id LIMIT 10) q,
		LATERAL (SELECT q.q %2$s t.%1$I AS d FROM double_t t ORDER BY q.q %2$s t.%1$I LIMIT 20) s', col, op);
	plan text;
	r record;
BEGIN
	EXECUTE format('CREATE INDEX double_i ON double_t USING ecp (%I %I)', col, opclass);
	PERFORM set_config('enable_seqscan', 'off', true), set_config('ecp.probes', '100000', true);
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || search INTO plan;
	uses_index := regexp_count(plan, '"Index Name": "double_i"') = 2;
	EXECUTE 'CREATE TEMP TABLE found AS ' || search;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true);
	EXECUTE 'CREATE TEMP TABLE exact AS ' || search;
	PERFORM set_config('enable_indexscan', 'on', true);
	SELECT count(*), count(*) FILTER (WHERE a.d IS DISTINCT FROM e.d) INTO rows, wrong
	FROM (SELECT *, row_number() OVER (PARTITION BY id, type ORDER BY d) AS n FROM found) a
		FULL JOIN (SELECT *, row_number() OVER (PARTITION BY id, type ORDER BY d) AS n FROM exact) e
		USING (id, type, n);
	checked := ecp_index_check('double_i', true) IS NOT NULL;
	DROP TABLE found, exact;
	DROP INDEX double_i;
END
$$;
SELECT c.col, c.opclass, r.*
FROM (VALUES ('v', '<->', 'real_l2_ops'), ('v', '<#>', 'real_ip_ops'), ('v', '<=>', 'real_cosine_ops'),
	('d', '<->', 'double_l2_ops'), ('d', '<#>', 'double_ip_ops'), ('d', '<=>', 'double_cosine_ops')) c(col, op, opclass),
	LATERAL double_compare(c.col, c.op, c.opclass) r;

-- parameters: with a plan for their values, and with one for any
CREATE INDEX double_v ON double_t USING ecp (v, tenant);
CREATE INDEX double_d ON double_t USING ecp (d, tenant);
SET enable_seqscan = off;
PREPARE nearest_v(float8[]) AS SELECT id FROM double_t ORDER BY v <-> $1 LIMIT 3;
PREPARE nearest_d(float8[]) AS SELECT id FROM double_t ORDER BY $1 <-> d LIMIT 3;
PREPARE real_d(real[]) AS SELECT id FROM double_t ORDER BY d <-> $1 LIMIT 3;
PREPARE within_v(float8[], float8) AS SELECT id FROM double_t
	WHERE v <-> $1 < $2 AND tenant = 3 ORDER BY v <-> $1 LIMIT 3;
PREPARE within_d(float8[], float8) AS SELECT id FROM double_t
	WHERE $2 > d <-> $1 AND tenant = 3 ORDER BY d <-> $1 LIMIT 3;
SET plan_cache_mode = force_custom_plan;
EXPLAIN (COSTS OFF) EXECUTE nearest_v('{0.1,1,2,3,4,5,6,7}');
EXECUTE nearest_v('{0.1,1,2,3,4,5,6,7}');
EXPLAIN (COSTS OFF) EXECUTE nearest_d('{0.1,1,2,3,4,5,6,7}');
EXECUTE nearest_d('{0.1,1,2,3,4,5,6,7}');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE nearest_v('{0.1,1,2,3,4,5,6,7}');
EXECUTE nearest_v('{0.1,1,2,3,4,5,6,7}');
EXPLAIN (COSTS OFF) EXECUTE nearest_d('{0.1,1,2,3,4,5,6,7}');
EXECUTE nearest_d('{0.1,1,2,3,4,5,6,7}');
EXPLAIN (COSTS OFF) EXECUTE real_d('{0.1,1,2,3,4,5,6,7}');
EXECUTE real_d('{0.1,1,2,3,4,5,6,7}');
EXPLAIN (COSTS OFF) EXECUTE within_v('{0.1,1,2,3,4,5,6,7}', 25);
EXECUTE within_v('{0.1,1,2,3,4,5,6,7}', 25);
EXPLAIN (COSTS OFF) EXECUTE within_d('{0.1,1,2,3,4,5,6,7}', 25);
EXECUTE within_d('{0.1,1,2,3,4,5,6,7}', 25);
EXECUTE nearest_v(NULL);
EXECUTE nearest_v('{1,2}');
EXECUTE nearest_d('{1,2,3,4,5,6,7,1e39}');
RESET plan_cache_mode;

-- lists as they are written in SQL
EXPLAIN (COSTS OFF) SELECT id FROM double_t ORDER BY v <-> ARRAY[0.1, 1, 2, 3, 4, 5, 6, 7] LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM double_t ORDER BY d <-> ARRAY[0.1, 1, 2, 3, 4, 5, 6, 7] LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM double_t ORDER BY d <-> ARRAY[0, 1, 2, 3, 4, 5, 6, 7]::smallint[] LIMIT 3;
-- a cast that is not of the column, or another distance, is no order of the index
SELECT * FROM pg_temp.explain($$SELECT id FROM double_t ORDER BY (v || '{}')::float8[] <-> '{0.1,1,2,3,4,5,6,7}' LIMIT 3$$);
SELECT * FROM pg_temp.explain($$SELECT id FROM double_t ORDER BY v <#> '{0.1,1,2,3,4,5,6,7}'::float8[] LIMIT 3$$);

-- many at once, and recall
SELECT b.query, count(*), count(*) FILTER (WHERE b.distance = e.distance) AS same
FROM ecp_knn_batch('double_v', '{{0.1,1,2,3,4,5,6,7},{1,1,1,1,1,1,1,1}}'::float8[], 5) b
	JOIN ecp_knn_exact('double_d', 'SELECT ARRAY[0.1,1,2,3,4,5,6,7]::real[] UNION ALL SELECT array_fill(1::real, ''{8}'')', 5) e
	USING (query, rank)
GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM ecp_knn_batch('double_d', ARRAY[0.1, 1, 2, 3, 4, 5, 6, 7]::real[], 5);
SELECT ecp_knn_batch('double_d', ARRAY[0.1, 1, 2, 3, 4, 5, 6, 7], 5);
SELECT probes, recall FROM ecp_recall('double_v', 5, '{100000}', 20, queries => 'SELECT d FROM double_t');

-- index-only scans return what was inserted, also if the index has it rounded
CREATE INDEX double_o ON double_t USING ecp (d) INCLUDE (id);
INSERT INTO double_t VALUES (2001, 1, '{1,2,3,4,5,6,7,8}', '{1,2,3,4,5,6,7,8}'), (2002, 1, NULL, '{1.1,2,3,4,5,6,7,8}');
VACUUM double_t;
DROP INDEX double_d;
EXPLAIN (COSTS OFF) SELECT id, d FROM double_t ORDER BY d <-> '{1,2,3,4,5,6,7,8}' LIMIT 2;
SELECT id, d FROM double_t ORDER BY d <-> '{1,2,3,4,5,6,7,8}' LIMIT 2;

-- rows that cannot be indexed
INSERT INTO double_t VALUES (2003, 1, NULL, '{1,2,3,4,5,6,7,1e39}');
SELECT ecp_index_check('double_v', true), ecp_index_check('double_o', true);

DROP TABLE double_t;
DROP FUNCTION double_compare, double_distance;
