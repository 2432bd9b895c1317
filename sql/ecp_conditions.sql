--
-- Conditions on key columns that are no "column operator constant": which of
-- them an ecp index checks, and that its answer is then that of a sort.
--
\getenv src PG_ABS_SRCDIR
\set shapes :src '/test/shapes.sql'
\i :shapes
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
CREATE TYPE conditions_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE conditions_t (id int PRIMARY KEY, v real[] NOT NULL, tenant int, state smallint, public boolean,
	day date, at timestamptz, name text, mood conditions_mood, f8 double precision, code uuid, title text);
INSERT INTO conditions_t
SELECT i, ARRAY[(i * 7919) % 1009 / 7.0, (i * 104729) % 997 / 11.0, (i * 1299709) % 991 / 13.0, (i * 15485863) % 983 / 17.0]::real[],
	nullif(i % 13, 12), i % 5, nullif(i % 3, 2) = 0, '2026-01-01'::date + (i % 365)::int,
	'2026-01-01'::timestamptz + i * interval '1 hour', 'n' || i % 11, (enum_range(NULL::conditions_mood))[1 + i % 3],
	CASE WHEN i % 9 = 8 THEN 'NaN'::float8 ELSE i % 9 END, ('00000000-0000-0000-0000-00000000000' || i % 10)::uuid,
	(ARRAY['île ', 'a longer title ', 'a longest title ', '', NULL])[1 + i % 5] || i % 23
FROM generate_series(1, 6000::bigint) i;
CREATE INDEX conditions_i ON conditions_t USING ecp (v, tenant, state, public, day, at, name, mood, f8);
CREATE INDEX conditions_code ON conditions_t USING ecp (v real_ip_ops, code, tenant);
CREATE INDEX conditions_title ON conditions_t USING ecp (v real_cosine_ops, title text_pattern_ops);
CREATE TABLE conditions_allowed (id int PRIMARY KEY, member name);
INSERT INTO conditions_allowed VALUES (3, 'conditions_user'), (5, 'conditions_user'), (8, 'another');
VACUUM ANALYZE conditions_t, conditions_allowed;

-- the answer with each of these conditions; a part of the name stands for the index
CREATE FUNCTION pg_temp.conditions(conditions text[]) RETURNS TABLE (condition text, index text, equal boolean, rows int)
LANGUAGE sql AS $$
	SELECT c.condition, replace(s.index, 'conditions_', ''), s.equal, s.rows
	FROM unnest(conditions) WITH ORDINALITY c (condition, n),
		pg_temp.shape(format('SELECT id FROM conditions_t WHERE %s ORDER BY v <-> ''{70,45,38,29}'' LIMIT 10', c.condition)) s
	ORDER BY n
$$;
-- OR
SELECT * FROM pg_temp.conditions(ARRAY['tenant = 1 OR tenant = 2', '1 = tenant OR tenant = 2 OR tenant = NULL', 'tenant = 1 OR tenant = 2::bigint',
	'name = ''n1'' OR name = ''n2''', 'mood = ''sad'' OR mood = ''ok''', 'f8 = 3 OR f8 = ''NaN''', 'tenant = 1 OR public', 'tenant = 1 OR NOT public',
	'tenant < 2 OR tenant > 10', 'tenant IS NULL OR tenant = 4', 'day IS NULL OR day > ''2026-12-01''', 'tenant = 1 OR name = ''n3''',
	'day BETWEEN ''2026-03-01'' AND ''2026-03-31'' OR day BETWEEN ''2026-06-01'' AND ''2026-06-30''',
	'(tenant = 1 AND state = 2) OR (tenant = 2 AND state = 3) OR (public AND (tenant = 7 OR state = 0))', '(tenant, state) IN ((1, 2), (2, 3))',
	'tenant = 1 OR tenant IN (3, 4, NULL)', 'tenant = 1 OR state = tenant', '(tenant = 1 AND lower(name) = ''n1'') OR (tenant = 2 AND state = 3)',
	'tenant = 1 OR lower(name) = ''n1''', 'tenant = 1 OR tenant = 2 AND public IS NULL', 'tenant = 1 OR tenant > 3000000000']);
-- NOT
SELECT * FROM pg_temp.conditions(ARRAY['tenant <> 3', 'NOT tenant = 3', '3 <> tenant', 'tenant <> 3000000000', 'tenant <> NULL::int', 'tenant NOT IN (1, 2, 3)',
	'tenant NOT IN (1, NULL)', 'f8 <> 3', 'f8 <> ''NaN''', 'mood <> ''sad''', 'mood NOT IN (''sad'', ''ok'')', 'name <> ''n3''', 'NOT (tenant = 3 OR state = 2)',
	'NOT (tenant = 3 AND state = 2)', 'tenant NOT BETWEEN 2 AND 10', 'NOT (tenant < 5)', 'public <> true', 'NOT public', 'tenant <> ALL (''{}'')',
	'tenant <> 3 AND tenant <> 4 AND state = 2']);
-- NULL, and Booleans that may be
SELECT * FROM pg_temp.conditions(ARRAY['tenant IS NULL', 'tenant IS NOT NULL AND public IS NOT NULL', 'public IS UNKNOWN', 'public IS NOT UNKNOWN', 'public IS NOT TRUE',
	'public IS NOT FALSE', 'tenant = 1 OR public IS NOT TRUE', 'tenant IS DISTINCT FROM 3', 'tenant IS NOT DISTINCT FROM 3', 'tenant IS DISTINCT FROM NULL',
	'3 IS DISTINCT FROM tenant', 'coalesce(public, false)', 'coalesce(tenant, 0) = 0', 'tenant IS NULL OR tenant = 0']);
-- dates
SELECT * FROM pg_temp.conditions(ARRAY['day >= ''2026-03-01'' AND day < ''2026-04-01''', 'day BETWEEN ''2026-03-01'' AND ''2026-03-31''', 'day >= current_date - 10000',
	'at > timestamptz ''2026-09-01'' - interval ''1 day''', 'at >= ''2026-03-01''::date', 'at >= ''2026-03-01''::date::timestamptz', 'day > ''2026-03-01''::timestamp',
	'date_trunc(''month'', at) = ''2026-03-01''', 'at >= ''2026-03-01'' AND at < ''2026-04-01''', 'extract(month FROM day) = 3']);
-- subqueries
SELECT * FROM pg_temp.conditions(ARRAY['tenant = (SELECT id FROM conditions_allowed WHERE id = 3)', 'tenant = 1 OR tenant = (SELECT id FROM conditions_allowed WHERE id = 3)',
	'tenant = ANY (ARRAY(SELECT id FROM conditions_allowed))', 'tenant <> ALL (ARRAY(SELECT id FROM conditions_allowed))',
	'tenant = ANY (ARRAY(SELECT id FROM conditions_allowed)) OR public', 'tenant = ANY (ARRAY(SELECT id FROM conditions_allowed WHERE id > 100))',
	'tenant IN (SELECT id FROM conditions_allowed)', 'tenant NOT IN (SELECT id FROM conditions_allowed)',
	'EXISTS (SELECT FROM conditions_allowed a WHERE a.id = tenant)', 'NOT EXISTS (SELECT FROM conditions_allowed a WHERE a.id = tenant AND a.id < 5)']);
-- others
SELECT * FROM pg_temp.conditions(ARRAY['name LIKE ''n1%''', 'name ^@ ''n1''', 'name >= ''n1'' AND name < ''n2''', '(tenant, state) = (1, 2)', '(tenant, state) < (2, 3)',
	'(tenant, state, day) >= (2, 3, ''2026-06-01'')', '(2, 3) <= (tenant, state)', '(day, at) > (''2026-06-01''::timestamp, ''2026-06-01''::date)', '(tenant, id) > (3, 100)',
	'(id, tenant) > (100, 3)', '(tenant, state) < (2, NULL)', '(tenant, state) < (state, 3)', '(name, tenant) < (''n2'', 5)', '(tenant, state) <> (2, 3)', 'NOT (tenant, state) < (2, 3)', '(tenant, state) > (2, 3) OR public',
	'tenant < 2 OR (tenant = 2 AND state < 3)', 'CASE WHEN public THEN tenant = 1 ELSE false END', 'public AND tenant = 1', 'tenant + 0 = 3', 'tenant % 2 = 0',
	'tenant IN (0, 2, 4, 6, 8, 10, 12)', 'tenant = state', 'id <> 3']);
-- of a uuid the index has only the first half, which "=" and ranges check again
SELECT c, s.* FROM unnest(ARRAY['code = ''00000000-0000-0000-0000-000000000003''', 'code <> ''00000000-0000-0000-0000-000000000003''',
	'code > ''00000000-0000-0000-0000-000000000003'' OR tenant = 3', 'code <> ''00000000-0000-0000-0000-000000000003'' AND tenant <> 3']) c,
	pg_temp.shape(format('SELECT id FROM conditions_t WHERE %s ORDER BY v <#> ''{70,45,38,29}'' LIMIT 10', c)) s;
-- of a text with the operator class for patterns, its first eight bytes
SELECT c, s.* FROM unnest(ARRAY['title LIKE ''a longer%''', 'title LIKE ''a%''', 'title LIKE ''a longe_ title 1%''', 'title LIKE ''île%''', 'title LIKE ''%title%''', 'title LIKE ''7''',
	'title LIKE ''''', 'title LIKE ''%''', 'title LIKE NULL', 'title ^@ ''a longest''', 'title ~ ''^a longer title 1''', 'title ILIKE ''a long%''', 'title ILIKE ''2%''', 'title NOT LIKE ''a%''',
	'title = ''a longer title 3''', 'title IN (''7'', ''a longest title 4'')', 'title ~>=~ ''b''', 'title ~<~ ''b''', 'title < ''b''', 'title LIKE (SELECT ''a%'')',
	'title LIKE ''a longer%'' OR title LIKE ''2%''', 'title IS NULL', 'title <> ''7''', 'title COLLATE "C" = ''7''', 'title COLLATE "C" LIKE ''a long%''']) c,
	pg_temp.shape(format('SELECT id FROM conditions_t WHERE %s ORDER BY v <=> ''{70,45,38,29}'', id LIMIT 10', c)) s;
-- many operands: too many for the index
SELECT left(c, 50) AS condition, length(c), left(s.index, 50) AS index, s.equal, s.rows
FROM (SELECT string_agg(format('(tenant = %s AND state = %s)', i, i % 5), ' OR ') FROM generate_series(1, 20) i
	UNION ALL SELECT string_agg(format('(tenant = %s AND state = %s)', i % 13, i % 5), ' OR ') FROM generate_series(1, 30) i) x (c),
	pg_temp.shape(format('SELECT id FROM conditions_t WHERE %s ORDER BY v <-> ''{70,45,38,29}'' LIMIT 10', c)) s;

-- random ones: all rows that fulfil each, by the index and by the table
CREATE FUNCTION pg_temp.random_condition(depth int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	leaves text[] := ARRAY['tenant = 3', 'tenant <> 4', 'tenant < 5', 'tenant >= 9', 'tenant IN (1, NULL, 7)', 'tenant NOT IN (2, 5, 8)', 'tenant IS NULL',
		'tenant IS NOT NULL', 'public', 'public IS NOT TRUE', 'public IS UNKNOWN', 'public = false', 'state = 2', 'state <> 3', 'state > 3', '3 > state',
		'tenant IS DISTINCT FROM 6', 'NOT tenant IS DISTINCT FROM 2', 'mood = ''ok''', 'mood <> ''sad''', 'f8 <> ''NaN''', 'f8 > 6', 'f8 BETWEEN 2 AND 5',
		'name = ''n4''', 'name <> ''n5''', 'day < ''2026-04-01''', 'lower(name) = ''n6''', 'tenant = state', 'tenant <> ALL (''{}'')', 'tenant = ANY (''{}'')',
		'tenant <> 3000000000'];
BEGIN
	IF depth = 0 OR random() < 0.1 THEN
		RETURN leaves[1 + floor(random() * cardinality(leaves))];
	ELSIF random() < 0.2 THEN
		RETURN 'NOT (' || pg_temp.random_condition(depth - 1) || ')';
	END IF;
	RETURN '(' || pg_temp.random_condition(depth - 1) || CASE WHEN random() < 0.4 THEN ' AND ' ELSE ' OR ' END || pg_temp.random_condition(depth - 1) || ')';
END $$;
CREATE FUNCTION pg_temp.compare_random(n int, OUT conditions int, OUT by_index int, OUT checked int, OUT differ text) LANGUAGE plpgsql AS $$
DECLARE
	condition text;
	plan text;
	a text;
	b text;
BEGIN
	conditions := 0; by_index := 0; checked := 0;
	PERFORM setseed(0.5);
	SET LOCAL ecp.probes = 100000;
	FOR i IN 1 .. n LOOP
		condition := pg_temp.random_condition(3);
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_sort = off;
		plan := pg_temp.shape_plan(format('SELECT id FROM conditions_t WHERE %s ORDER BY v <-> ''{70,45,38,29}'' LIMIT 100', condition));
		EXECUTE format('SELECT count(*) || '' '' || coalesce(sum(hashint4(id)), 0) FROM (SELECT id FROM conditions_t WHERE %s
			ORDER BY v <-> ''{70,45,38,29}'' LIMIT 10000) s', condition) INTO a;
		RESET enable_seqscan;
		RESET enable_sort;
		EXECUTE format('SELECT count(*) || '' '' || coalesce(sum(hashint4(id)), 0) FROM conditions_t WHERE %s', condition) INTO b;
		conditions := conditions + 1;
		by_index := by_index + (plan IS NOT NULL)::int;
		checked := checked + (plan LIKE '%@|%')::int;
		IF a <> b THEN
			differ := concat_ws(', ', differ, condition);
		END IF;
	END LOOP;
	RESET ecp.probes;
END $$;
SELECT conditions, by_index > 75 AS by_index, checked > 40 AS checked, differ FROM pg_temp.compare_random(100);

-- what it saves: rows that no distance was computed for, and none of those returned is
-- discarded
SET ecp.probes = 100000;
SELECT count(*) FROM (SELECT id FROM conditions_t WHERE tenant <> 3 AND (state = 2 OR public) ORDER BY v <-> '{70,45,38,29}' LIMIT 10) s;
SELECT vectors + filtered AS rows, filtered, returned, clusters > 1 AS many FROM ecp_last_scan();
SELECT count(*), count(*) FILTER (WHERE tenant <> 3 AND (state = 2 OR public)) AS fulfil FROM conditions_t;
RESET ecp.probes;
-- parameters, and rows that are locked: these are checked again
PREPARE conditions_p(int, int, int[]) AS SELECT id FROM conditions_t WHERE (tenant = $1 OR state = $2) AND state <> ALL ($3) ORDER BY v <-> '{70,45,38,29}' LIMIT 5;
SET plan_cache_mode = force_generic_plan;
SELECT q, s.* FROM unnest(ARRAY['EXECUTE conditions_p(1, 2, ''{3,4}'')', 'EXECUTE conditions_p(1, NULL, ''{3,4}'')', 'EXECUTE conditions_p(1, 2, ''{3,NULL}'')',
	'EXECUTE conditions_p(1, 2, NULL)', 'EXECUTE conditions_p(NULL, NULL, ''{}'')']) q, pg_temp.shape(q) s;
RESET plan_cache_mode;
EXPLAIN (COSTS OFF) SELECT id FROM conditions_t WHERE tenant <> 3 ORDER BY v <-> '{70,45,38,29}' LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM conditions_t WHERE tenant <> 3 ORDER BY v <-> '{70,45,38,29}' LIMIT 5 FOR UPDATE;
EXPLAIN (COSTS OFF) SELECT id FROM conditions_t WHERE tenant = 1 OR name = 'n3' ORDER BY v <-> '{70,45,38,29}' LIMIT 5;
-- the operator of the planner is of no use by itself, and does no harm
SELECT count(*) FROM conditions_t WHERE tenant @| ROW(2, '='::unknown, 3);
SELECT q, s.* FROM unnest(ARRAY['SELECT id FROM conditions_t WHERE tenant @| ROW(1) ORDER BY v <-> ''{70,45,38,29}'' LIMIT 5']) q, pg_temp.shape(q) s;

-- joins: the other side leaves rows out, which the index does not know
SELECT q, replace(s.index, 'conditions_', '') AS index, s.equal, s.rows FROM unnest(ARRAY[
	'SELECT t.id FROM conditions_t t JOIN conditions_allowed a ON a.id = t.tenant ORDER BY t.v <-> ''{70,45,38,29}'' LIMIT 10',
	'SELECT t.id FROM conditions_t t JOIN conditions_allowed a ON a.id = t.tenant WHERE a.id = 3 ORDER BY t.v <-> ''{70,45,38,29}'' LIMIT 10',
	'SELECT t.id FROM conditions_t t JOIN conditions_t x ON x.tenant = t.tenant AND x.id <> t.id WHERE x.id = 17 ORDER BY t.v <-> x.v LIMIT 10',
	'SELECT t.id FROM conditions_t t JOIN conditions_t x ON (x.tenant = t.tenant OR t.public) AND t.state <> x.state WHERE x.id = 17 ORDER BY t.v <-> x.v LIMIT 10',
	'WITH a AS MATERIALIZED (SELECT array_agg(id) AS ids FROM conditions_allowed) SELECT t.id FROM conditions_t t WHERE tenant = ANY ((SELECT ids FROM a)::int[]) ORDER BY t.v <-> ''{70,45,38,29}'' LIMIT 10'])
	q, pg_temp.shape(q) s;

-- lists that are joined: with duplicates and NULL, of other types, empty, of a subquery or a join, for each of
-- several rows; what is no list of that kind
CREATE TABLE conditions_lists (id int, wide bigint, code uuid, title text, list int);
INSERT INTO conditions_lists SELECT nullif(i % 13, 5), nullif(i % 13, 5), ('00000000-0000-0000-0000-00000000000' || i % 10)::uuid, 'a longer title ' || i % 23, i % 400
FROM generate_series(1, 4000) i;
ANALYZE conditions_lists;
SET enable_material = off;
SET enable_memoize = off;
-- (what is planned without a sequential scan depends on the version)
SELECT q, split_part(index, ', and ', 1) AS index, equal, rows FROM unnest(ARRAY['tenant IN (SELECT id FROM conditions_lists WHERE list = 1)', 'tenant IN (SELECT wide FROM conditions_lists WHERE list = 1)',
	'tenant IN (SELECT id FROM conditions_lists WHERE list = 900)', 'EXISTS (SELECT FROM conditions_lists l WHERE l.wide = t.tenant AND list = 2)',
	'tenant IN (SELECT id FROM conditions_lists WHERE list = 1) AND state = 2 AND public', 'tenant IN (SELECT max(id) FROM conditions_lists GROUP BY list)',
	'tenant IN (SELECT l.id FROM conditions_lists l JOIN conditions_allowed a ON a.id = l.list)', 'state::int IN (SELECT id FROM conditions_lists WHERE list = 1)',
	'tenant IN (SELECT id + 1 FROM conditions_lists WHERE list = 1)', 'tenant IN (SELECT id FROM conditions_lists l WHERE l.list = t.state OFFSET 0)',
	'(tenant, state) IN (SELECT id, list FROM conditions_lists)', 'tenant IN (SELECT id FROM conditions_lists WHERE list = 1) OR public',
	'tenant NOT IN (SELECT id FROM conditions_lists WHERE list = 1)', 'tenant IN (SELECT id FROM conditions_lists WHERE list = 1) AND tenant IN (SELECT id FROM conditions_lists WHERE list = 2)',
	'tenant IN (SELECT id FROM conditions_lists WHERE list = 1) AND id IN (SELECT id FROM conditions_t WHERE public)']) q,
	pg_temp.shape(format('SELECT t.id FROM conditions_t t WHERE %s ORDER BY v <-> ''{70,45,38,29}'' LIMIT 10', q)) s;
SELECT q, s.* FROM unnest(ARRAY['SELECT id FROM conditions_t WHERE code IN (SELECT code FROM conditions_lists WHERE list = 1) ORDER BY v <#> ''{70,45,38,29}'' LIMIT 10',
	'SELECT id FROM conditions_t WHERE title IN (SELECT title FROM conditions_lists WHERE list = 1) ORDER BY v <=> ''{70,45,38,29}'', id LIMIT 10',
	'SELECT t.id FROM conditions_t t JOIN conditions_allowed a ON a.id = t.tenant ORDER BY t.v <-> ''{70,45,38,29}'' LIMIT 10',
	'SELECT t.id, a.member FROM conditions_t t JOIN conditions_allowed a ON a.id = t.tenant ORDER BY t.v <-> ''{70,45,38,29}'' LIMIT 10',
	'SELECT t.id FROM conditions_t t JOIN conditions_lists a ON a.id = t.tenant ORDER BY t.v <-> ''{70,45,38,29}'', t.id LIMIT 10',
	'SELECT t.id FROM conditions_t t WHERE tenant IN (SELECT id FROM conditions_lists WHERE list = 1) ORDER BY v <-> ''{70,45,38,29}'' LIMIT 10 FOR UPDATE',
	'SELECT t.id FROM conditions_t t WHERE tenant IN (SELECT id FROM conditions_lists WHERE list = 1) ORDER BY v <-> ''{70,45,38,29}'', id',
	'SELECT l, n.id FROM generate_series(0, 5) l, LATERAL (SELECT id FROM conditions_t WHERE tenant IN (SELECT id FROM conditions_lists WHERE list = l) ORDER BY v <-> ''{70,45,38,29}'' LIMIT 3) n'])
	q, pg_temp.shape(q) s;
EXPLAIN (COSTS OFF) SELECT t.id FROM conditions_t t WHERE tenant IN (SELECT id FROM conditions_lists WHERE list = 1) ORDER BY v <-> '{70,45,38,29}' LIMIT 10;
RESET enable_material;
RESET enable_memoize;
-- A list that leaves most rows out is for the scan, also where joining with it costs
-- less by the planner: beside an index of the vectors alone, too, of which it is none.
-- One that takes longer to read than the join is not.
CREATE TABLE conditions_days AS SELECT '2026-01-01'::date + i AS day, i FROM generate_series(0, 999) i;
CREATE UNIQUE INDEX conditions_days_i ON conditions_days (day);
CREATE INDEX conditions_alone ON conditions_t USING ecp (v);
VACUUM ANALYZE conditions_days;
SELECT q, s.index FROM unnest(ARRAY['i < 5', 'i < 700']) q,
	pg_temp.shape(format('SELECT id FROM conditions_t WHERE day IN (SELECT day FROM conditions_days WHERE %s) ORDER BY v <-> ''{70,45,38,29}'' LIMIT 10', q)) s;
EXPLAIN (COSTS OFF) SELECT id FROM conditions_t WHERE day IN (SELECT day FROM conditions_days WHERE i < 5) ORDER BY v <-> '{70,45,38,29}' LIMIT 10;
DROP TABLE conditions_lists, conditions_days;
DROP INDEX conditions_alone;
-- A list of which the planner expects ten values: how often one is there does not matter,
-- and too many distinct ones are an error, unless nested loops are off.
CREATE FUNCTION conditions_many(n int, kinds int) RETURNS SETOF int LANGUAGE sql STABLE ROWS 10 AS 'SELECT i % kinds FROM generate_series(1, n) i';
SET work_mem = '64kB';
SELECT q, s.* FROM unnest(ARRAY['tenant IN (SELECT conditions_many(100, 5))', 'mood IN (SELECT mood FROM conditions_t WHERE id < 3)']) q,
	pg_temp.shape(format('SELECT id FROM conditions_t WHERE %s ORDER BY v <-> ''{70,45,38,29}'' LIMIT 10', q)) s;
SELECT id FROM conditions_t WHERE tenant IN (SELECT conditions_many(100000, 5)) ORDER BY v <-> '{70,45,38,29}' LIMIT 3;
SELECT id FROM conditions_t WHERE tenant IN (SELECT conditions_many(13000, 13000)) ORDER BY v <-> '{70,45,38,29}' LIMIT 3;
SELECT id FROM conditions_t WHERE tenant IN (SELECT conditions_many(20000, 20000)) ORDER BY v <-> '{70,45,38,29}' LIMIT 3;
SET enable_nestloop = off;
SELECT id FROM conditions_t WHERE tenant IN (SELECT conditions_many(20000, 20000)) ORDER BY v <-> '{70,45,38,29}' LIMIT 3;
RESET enable_nestloop;
RESET work_mem;
DROP FUNCTION conditions_many;

-- dates and times compared with those of other types, also those that have no value there;
-- in the first zone a day is missing
CREATE TABLE conditions_times (id int, v real[], day date, local timestamp, at timestamptz);
INSERT INTO conditions_times
SELECT i, ARRAY[(i * 7919) % 1009, (i * 104729) % 997, i % 91]::real[],
	CASE i % 47 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN '5874897-12-31' WHEN 3 THEN '4714-11-24 BC' WHEN 4 THEN NULL
		WHEN 5 THEN '1969-12-20' ELSE '2011-12-20'::date + i % 20 END,
	CASE i % 47 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN '294276-12-31 23:59:59.999999' WHEN 3 THEN '4714-11-24 BC' WHEN 4 THEN NULL
		ELSE '2011-12-20'::timestamp + i % 400 * interval '1 hour' END,
	CASE i % 47 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN '294276-12-31 23:59:59.999999 UTC' WHEN 3 THEN '4714-11-24 UTC BC' WHEN 4 THEN NULL
		ELSE '2011-12-20 UTC'::timestamptz + i % 400 * interval '1 hour' END
FROM generate_series(1, 800) i;
CREATE INDEX conditions_times_v ON conditions_times USING ecp (v, day, local, at);
VACUUM ANALYZE conditions_times;
-- the rows of a condition, those of its table scan if that is not in the index
CREATE FUNCTION conditions_times(condition text) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off SET enable_sort = off SET ecp.probes = 100000 AS $$
DECLARE
	query text := format('SELECT id FROM conditions_times WHERE %s ORDER BY v <-> ''{70,45,38}'' LIMIT 1000', condition);
	exact text;
	found text;
BEGIN
	IF pg_temp.shape_plan(query) NOT LIKE 'conditions_times_v (%' THEN
		RETURN condition || ' is not in the index';
	END IF;
	EXECUTE format('SELECT string_agg(id::text, '','' ORDER BY id) FROM (%s) x', query) INTO found;
	EXECUTE format('SELECT string_agg(id::text, '','' ORDER BY id) FROM conditions_times WHERE %s', condition) INTO exact;
	RETURN CASE WHEN found IS DISTINCT FROM exact THEN condition || ' differs' END;
END $$;
CREATE FUNCTION conditions_zone(zone text, OUT n bigint, OUT wrong text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('timezone', zone, true);
	SELECT count(*), string_agg(r, '; ') INTO n, wrong
	FROM (VALUES ('day', 'timestamp'), ('local', 'date'), ('at', 'date'), ('at', 'timestamp')) c (name, type)
		JOIN (SELECT 'date', unnest('{infinity,-infinity,5874897-12-31,294277-01-01,294276-12-31,4714-11-24 BC,2011-12-29,2011-12-30,2011-12-31,1969-12-20}'::text[])
			UNION ALL SELECT 'timestamp', unnest('{infinity,-infinity,294276-12-31 23:59:59.999999,294276-12-31,4714-11-24 BC,4714-11-24 23:00 BC,2011-12-30,2011-12-30 00:30,2011-12-29 12:00,1969-12-20 10:00}'::text[])) x (type, value) USING (type),
		unnest('{<,<=,=,>=,>}'::text[]) op, conditions_times(format('%s %s %L::%s', name, op, value, type)) r;
END $$;
SELECT zone, c.* FROM unnest('{Pacific/Apia,Etc/GMT+12,America/New_York,UTC}'::text[]) zone, conditions_zone(zone) c;
SET timezone = 'UTC';
SELECT c, s.* FROM unnest(ARRAY['day = ANY (''{2011-12-21,2011-12-22 10:00,NULL}''::timestamp[])', 'day <> ''2011-12-21''::timestamp', 'day = ''2011-12-21''::timestamp OR at < ''2011-12-22''::date',
	'at > localtimestamp - interval ''1 day''', 'local > ''2011-12-21 UTC''::timestamptz', 'day > ''2011-12-21 UTC''::timestamptz']) c,
	pg_temp.shape(format('SELECT id FROM conditions_times WHERE %s ORDER BY v <-> ''{70,45,38}'', id LIMIT 10', c)) s;
DROP FUNCTION conditions_times, conditions_zone;
DROP TABLE conditions_times;

-- row-level security: conditions of a policy are those of the query, and of the user's
-- those that cannot tell of other rows
CREATE ROLE conditions_user;
GRANT SELECT ON conditions_t, conditions_allowed TO conditions_user;
ALTER TABLE conditions_t ENABLE ROW LEVEL SECURITY;
CREATE FUNCTION conditions_policy(condition text) RETURNS TABLE (index text, equal boolean, rows int) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE POLICY p ON conditions_t USING (%s)', condition);
	SET LOCAL ROLE conditions_user;
	RETURN QUERY SELECT replace(s.index, 'conditions_', ''), s.equal, s.rows
		FROM pg_temp.shape('SELECT id FROM conditions_t WHERE state <> 2 AND lower(name) < ''n9'' AND v <-> ''{70,45,38,29}'' < 1000 ORDER BY v <-> ''{70,45,38,29}'' LIMIT 10') s;
	RESET ROLE;
	DROP POLICY p ON conditions_t;
END $$;
SET conditions.tenant = '3';
SELECT c, p.* FROM unnest(ARRAY['tenant = current_setting(''conditions.tenant'')::int', 'tenant = current_setting(''conditions.tenant'')::int OR public', 'tenant <> 3',
	'tenant = ANY (ARRAY(SELECT a.id FROM conditions_allowed a WHERE a.member = current_user))',
	'tenant IN (SELECT a.id FROM conditions_allowed a WHERE a.member = current_user)',
	'EXISTS (SELECT FROM conditions_allowed a WHERE a.id = tenant AND a.member = current_user)']) c, conditions_policy(c) p;

DROP FUNCTION conditions_policy;
DROP TABLE conditions_t, conditions_allowed;
DROP TYPE conditions_mood;
DROP ROLE conditions_user;
