--
-- The rows of a query do not depend on its plan: conditions and orders of all
-- kinds, under settings that make each plan the cheapest, beside a sequential
-- scan and a sort.  What an ecp index cannot do is offered at no cost.
--
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\i :explain
\set vectors :src '/test/vectors.sql'
\i :vectors
CREATE DOMAIN path_number AS int;
CREATE DOMAIN path_vector AS real[];
CREATE TABLE path_t (id int, v real[], w path_vector, i2 smallint, i4 int, i8 bigint,
	f8 double precision, flag boolean, name text, code varchar(10), number path_number);
INSERT INTO path_t
SELECT i, CASE WHEN i % 50 <> 7 THEN pg_temp.spread_vector(i, 4) END, pg_temp.spread_vector(i + 1, 4),
	i % 7, nullif(i % 20, 19), i % 11, i % 5, nullif(i % 3, 2) = 0, 'n' || i % 5, 'c' || i % 6, i % 4
FROM generate_series(1, 1000) i;
CREATE INDEX path_i ON path_t USING ecp (v, i2, i4, i8, f8, flag, name, code);
CREATE INDEX path_w_i ON path_t USING ecp (w, number);
CREATE INDEX path_near_i ON path_t USING ecp (v, i4) WHERE v <-> '{5,5,5,5}' < 3;
CREATE INDEX path_i8 ON path_t (i8);
VACUUM ANALYZE path_t;

-- the rows of a query under each of some settings, beside those of no index;
-- all clusters are read, so that answers are exact
SET ecp.probes = 10000;
SET ecp.approximate_radius = on;
SET jit = off;
CREATE TABLE path_settings (name text, settings text[]);
INSERT INTO path_settings VALUES
	('as they are', '{}'),
	('index', '{enable_seqscan=off,enable_bitmapscan=off}'),
	('nothing enabled', '{enable_seqscan=off,enable_bitmapscan=off,enable_indexscan=off,enable_indexonlyscan=off,enable_tidscan=off,enable_sort=off,enable_incremental_sort=off,enable_material=off,enable_nestloop=off,enable_hashjoin=off,enable_mergejoin=off}'),
	('pages', '{seq_page_cost=1e300}'),
	('most', '{seq_page_cost=1.7e308,random_page_cost=1.7e308}'),
	('operators', '{cpu_operator_cost=1e300}'),
	('free', '{seq_page_cost=0,random_page_cost=0,cpu_operator_cost=0,cpu_tuple_cost=0,cpu_index_tuple_cost=0}'),
	('parallel', '{parallel_setup_cost=0,parallel_tuple_cost=0,min_parallel_table_scan_size=0,min_parallel_index_scan_size=0,max_parallel_workers_per_gather=1}'),
	('generic', '{plan_cache_mode=force_generic_plan,enable_seqscan=off}');
CREATE FUNCTION path_rows(query text, settings text[]) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	was text[];
	result text;
BEGIN
	was := (SELECT array_agg(current_setting(split_part(s, '=', 1))) FROM unnest(settings) s);
	PERFORM set_config(split_part(s, '=', 1), split_part(s, '=', 2), false) FROM unnest(settings) s;
	EXECUTE 'PREPARE path_query AS SELECT string_agg(q::text, '','') FROM (' || query || ') q';
	EXECUTE 'EXECUTE path_query' INTO result;
	DEALLOCATE path_query;
	PERFORM set_config(split_part(s, '=', 1), w, false) FROM unnest(settings, was) AS x (s, w);
	RETURN coalesce(result, '');
END $$;
CREATE FUNCTION path_compare(query text, parallel boolean, OUT got int, OUT differs text)
LANGUAGE plpgsql AS $$
DECLARE
	expected text := path_rows(query, '{enable_indexscan=off,enable_indexonlyscan=off,enable_bitmapscan=off}');
BEGIN
	got := regexp_count(expected, '\(');
	differs := (SELECT string_agg(name, ', ') FROM path_settings
				WHERE (parallel OR name <> 'parallel') AND path_rows(query, settings) <> expected);
EXCEPTION WHEN OTHERS THEN
	DEALLOCATE ALL;
	differs := SQLERRM;
END $$;

-- conditions without an order
SELECT condition, c.* FROM unnest(ARRAY[
	'v <-> ''{5,5,5,5}'' < 2', 'pg_temp.spread_vector(5, 4) <-> v <= 2.5', '2 > v <-> ''{5,5,5,5}''', '2 >= ''{5,5,5,5}'' <-> v',
	'v <-> ''{5,5,5,5}'' < 2::real', 'v <-> ''{5,5,5,5}'' < ''NaN''', 'v <-> ''{5,5,5,5}'' < ''-infinity''',
	'v <-> ''{5,5,5,5}'' < NULL', 'v <-> NULL < 2', 'v <-> ''{5,5,5,5}'' < (SELECT NULL::float8)', 'NOT v <-> ''{5,5,5,5}'' >= 2',
	'v <-> ''{5,5,5,5}'' < 3', 'v <-> ''{5,5,5,5}'' < 2 AND v <-> ''{5,5,5,5}'' < 1.5', 'v <-> ''{5,5,5,5}'' < 2 OR v <-> ''{1,1,1,1}'' < 2',
	'v <-> ''{5,5,5,5}'' < 2 AND v <-> ''{1,1,1,1}'' < 5', 'v IS NULL', 'v IS NULL AND i4 = 3', 'v IS NOT NULL', 'v = ''{5,5,5,5}''',
	'v @<-> row(''{5,5,5,5}'', 2)::ecp_real_ball', 'v @<-> row(''{5,5,5,5}'', NULL)::ecp_real_ball', 'v @<-> NULL',
	'v @<-> row(''{5,5,5,5}'', 2)::ecp_real_ball AND v @<-> row(''{4,5,5,5}'', 1.5)::ecp_real_ball',
	'v @<-> row(''{5,5,5,5}'', 2)::ecp_real_ball AND v @<-> row(''{5,5,5,5}'', 0)::ecp_real_ball',
	'v @<-> ANY (ARRAY[row(''{5,5,5,5}'', .2), row(''{1,1,1,1}'', 2)]::ecp_real_ball[])',
	'v @<-> ANY (ARRAY[row(''{5,5,5,5}'', 2), NULL]::ecp_real_ball[])', 'v @<-> ANY (''{}''::ecp_real_ball[])',
	'v @<-> ALL (ARRAY[row(''{5,5,5,5}'', 2), row(''{4,5,5,5}'', 2)]::ecp_real_ball[])', 'NOT v @<-> row(''{5,5,5,5}'', 2)::ecp_real_ball',
	'i4 = 3', 'i4 IN (3, 5) AND v IS NOT NULL', 'w <-> ''{5,5,5,5}'' < 2', 'w <-> ''{5,5,5,5}'' < 2 AND number = 3'])
	AS condition, path_compare(format('SELECT id FROM path_t WHERE %s ORDER BY id', condition), condition ~ '<-> v') c;
-- with an order
SELECT condition, c.* FROM unnest(ARRAY[
	'true', 'v <-> ''{5,5,5,5}'' < 2', 'v <-> ''{1,1,1,1}'' < 5', 'v @<-> row(''{5,5,5,5}'', 2)::ecp_real_ball',
	'v @<-> row(''{1,1,1,1}'', 5)::ecp_real_ball', 'v <-> ''{5,5,5,5}'' < NULL', 'v <-> ''{5,5,5,5}'' < ''NaN''',
	'v @<-> ANY (ARRAY[row(''{5,5,5,5}'', .2), row(''{1,1,1,1}'', 2)]::ecp_real_ball[])',
	'3 = i4', '3 > i4', 'i4 <> 3', 'NOT i4 = 3', 'i4 IN (3, 4, NULL)', 'i4 = ANY (''{}'')', 'i4 = ANY (NULL)', '3 = ANY (ARRAY[i4, id])',
	'i4 <> ALL (''{3,4}'')', 'i4 < ANY (''{3,4}'')', 'i4 > ALL (''{3,4}'')', 'i4 IN (3, 5000000000)', 'i4 = 3::int8', '5000000000 > i4',
	'3::int8 = i4', '3::int2 = i4', 'i2 = 3', '3 = i2', '100000 < i2', 'i8 BETWEEN 3 AND 5', '3 = i8', '3::int2 = i8', 'i4 = 3.0',
	'i4 IS NULL', 'i4 IS NOT NULL', 'i4 IS NOT DISTINCT FROM 3', 'i4 = id % 20', 'i4 = i2',
	'f8 = 3', '3::real < f8', '''NaN'' > f8', 'f8 = ''NaN''',
	'flag', 'NOT flag', 'flag = true', 'true = flag', 'flag <> true', 'false = flag', 'flag IS TRUE', 'flag IS FALSE', 'flag IS NOT TRUE',
	'flag IS NOT FALSE', 'flag IS UNKNOWN', 'flag IS NULL', 'flag IS NOT NULL', 'flag IN (true, false)', 'flag = (i4 = 3)',
	'name = ''n1''', '''n1'' = name', 'name = ''n1''::varchar', 'name IN (''n1'', NULL)', 'name LIKE ''n1%''', 'name > ''n1''', 'name = ''n1'' COLLATE "C"',
	'code = ''c1''', '''c1'' = code', 'code = ''c1''::text', 'code IN (''c1'', ''c2'')', 'code IS NULL', 'code::text = ''c1''', 'code = name',
	'(i4, i8) = (3, 5)', '(i4, i8) < (3, 5)', '(3, 5::int8) >= (i4, i8)', 'ROW(i4, i8) IS NOT NULL', '(i4, name) IN ((3, ''n3''), (4, ''n4''))',
	'i4 = 3 AND 4 = i8 AND ''n3'' = name', 'i4 = 3 AND i4 = 4', 'i4 = 3 OR i4 = 4', 'v IS NULL', 'number = 3', 'i4 = (SELECT 3)',
	'i4 = 3 AND v <-> ''{5,5,5,5}'' < 3', '3 = i4 AND 3 > v <-> ''{5,5,5,5}'''])
	AS condition, path_compare(format('SELECT id, round((v <-> ''{5,5,5,5}'')::numeric, 4) FROM path_t
WHERE %s%s ORDER BY v <-> ''{5,5,5,5}'', id LIMIT 30', condition, CASE WHEN condition <> 'v IS NULL' THEN ' AND v IS NOT NULL' END), condition ~ '4 ') c;
-- other orders
SELECT left(query, 90) AS query, c.* FROM unnest(ARRAY[
	'SELECT id FROM path_t ORDER BY ''{5,5,5,5}''::real[] <-> v LIMIT 5', 'SELECT id FROM path_t ORDER BY v <-> ''{5,5,5,5}'', v <-> ''{1,1,1,1}'', id LIMIT 5',
	'SELECT id FROM path_t ORDER BY v <-> ''{5,5,5,5}'' DESC NULLS LAST, id LIMIT 5', 'SELECT id FROM path_t ORDER BY v <-> ''{5,5,5,5}'' NULLS FIRST, id LIMIT 5',
	'SELECT id FROM path_t ORDER BY v <#> ''{5,5,5,5}'', id LIMIT 5', 'SELECT id FROM path_t ORDER BY (v <-> ''{5,5,5,5}'') + 1, id LIMIT 5',
	'SELECT id FROM path_t ORDER BY v <-> v, id LIMIT 5', 'SELECT id FROM path_t ORDER BY i4, v <-> ''{5,5,5,5}'', id LIMIT 5',
	'SELECT id FROM path_t ORDER BY w <-> ''{5,5,5,5}'', id LIMIT 5', 'SELECT id FROM path_t WHERE 3 = number ORDER BY w <-> ''{5,5,5,5}'', id LIMIT 5',
	'SELECT DISTINCT ON (v <-> ''{5,5,5,5}'') id FROM path_t WHERE v IS NOT NULL ORDER BY v <-> ''{5,5,5,5}'', id LIMIT 5',
	'SELECT count(*) FROM path_t WHERE v IS NOT NULL GROUP BY v <-> ''{5,5,5,5}'' ORDER BY v <-> ''{5,5,5,5}'' LIMIT 5',
	'SELECT a.id, b.id FROM path_t a JOIN path_t b ON b.v <-> a.v < 1 WHERE a.id < 20 ORDER BY 1, 2',
	'SELECT a.id, b.id FROM path_t a JOIN path_t b ON b.v @<-> row(a.v, 1)::ecp_real_ball WHERE a.id < 20 ORDER BY 1, 2',
	'SELECT a.id, b.n FROM path_t a, LATERAL (SELECT count(*) AS n FROM path_t b WHERE b.v <-> a.v < a.id / 10.0 AND a.i4 = b.i4) b WHERE a.id < 20 ORDER BY 1',
	'SELECT a.id, b.id FROM path_t a, LATERAL (SELECT id FROM path_t b WHERE b.v IS NOT NULL AND b.v <-> a.v < nullif(a.id, 9) / 10.0 ORDER BY b.v <-> a.v, id LIMIT 3) b WHERE a.id < 20 ORDER BY 1, 2'])
	AS query, path_compare(query, true) c;

-- as the planner sees them
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM path_t WHERE 3 = i4 AND v <-> '{5,5,5,5}' < 0.2;
EXPLAIN (COSTS OFF) SELECT id FROM path_t WHERE 3 = i4 AND 0.2 > '{5,5,5,5}' <-> v ORDER BY v <-> '{5,5,5,5}' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM path_t WHERE 'c1' = code AND 3::int8 = i4 AND flag IS FALSE ORDER BY v <-> '{5,5,5,5}', id LIMIT 10;
RESET enable_seqscan;
SET seq_page_cost = '1e300';
EXPLAIN (COSTS OFF) SELECT id FROM path_t WHERE v @<-> ANY (ARRAY[row('{5,5,5,5}', .2)::ecp_real_ball]);
EXPLAIN (COSTS OFF) SELECT id FROM path_t WHERE v @<-> row('{5,5,5,5}', 2)::ecp_real_ball AND v @<-> row('{1,1,1,1}', 3)::ecp_real_ball;
EXPLAIN (COSTS OFF) SELECT id FROM path_t WHERE v @<-> row('{5,5,5,5}', 2)::ecp_real_ball ORDER BY v <-> '{1,1,1,1}';
-- the radius of each execution of one plan
PREPARE path_p(real[], float8) AS SELECT count(*) FROM path_t WHERE v <-> $1 < $2 AND $2 > v <-> '{5,5,5,5}';
SET plan_cache_mode = force_generic_plan;
EXECUTE path_p('{5,5,5,5}', 2);
EXECUTE path_p('{1,1,1,1}', 5);
EXECUTE path_p(NULL, 2);
EXECUTE path_p('{5,5,5,5}', NULL);
EXECUTE path_p('{5,5,5,5}', 'NaN');

DROP TABLE path_t, path_settings;
DROP FUNCTION path_compare, path_rows;
DROP DOMAIN path_number, path_vector;
