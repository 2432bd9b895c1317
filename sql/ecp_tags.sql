--
-- Key columns of tags: CREATE INDEX ... USING ecp (v, tags), with arrays and jsonb,
-- whose conditions are checked in the index as sets of fingerprints.
--
\getenv src PG_ABS_SRCDIR
\set vectors :src '/test/vectors.sql'
\i :vectors
-- disabled scans cost so much that each query would be compiled
SET jit = off;
-- the same numbers on each run: of 0 to "most"
CREATE FUNCTION pg_temp.number(i int, salt int, most int) RETURNS int
LANGUAGE sql IMMUTABLE AS $$
	SELECT (hashint4extended(i, salt) & 1073741823)::int % (most + 1)
$$;
-- up to "most" tags out of 40, the small ones oftener; some NULL, some twice
CREATE FUNCTION pg_temp.tags(i int, salt int, most int) RETURNS int[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN pg_temp.number(i, salt, 30) = 0 THEN NULL ELSE coalesce(array_agg(
		CASE WHEN pg_temp.number(i, salt + 100 + j, 60) > 0 THEN
			pg_temp.number(i, salt + j, 40) * pg_temp.number(i, salt + 200 + j, 40) / 40 END), '{}') END
	FROM generate_series(1, pg_temp.number(i, salt + 1000, most)) j
$$;
CREATE TABLE tags_t (id int, v real[], i int[], b bigint[], s smallint[], t text[], vc varchar(20)[],
	u uuid[], n numeric[], m jsonb);
INSERT INTO tags_t
SELECT id, CASE WHEN id % 50 <> 7 THEN pg_temp.spread_vector(id, 6) END,
	CASE WHEN id % 20 = 0 AND cardinality(x) > 0 THEN ARRAY[x, x] ELSE x END,
	pg_temp.tags(id, 3, 12)::bigint[], pg_temp.tags(id, 4, 4)::smallint[],
	(SELECT array_agg('tag ' || e) FROM unnest(pg_temp.tags(id, 5, 9)) e),
	(SELECT array_agg('tag ' || e) FROM unnest(pg_temp.tags(id, 6, 3)) e),
	(SELECT array_agg(md5(e::text)::uuid) FROM unnest(pg_temp.tags(id, 7, 30)) e),
	(SELECT array_agg(e / 4.0) FROM unnest(pg_temp.tags(id, 8, 5)) e),
	CASE WHEN id % 37 = 0 THEN (ARRAY['{}', '[]', '1', '"is"', 'null', '[1, 2, 3]', '{"lang": {"is": 1}}'])[1 + id % 7]::jsonb
		WHEN id % 31 <> 0 THEN jsonb_build_object('lang', (ARRAY['is', 'fo', 'de'])[1 + id % 3],
		'tags', to_jsonb(x), 'size', id % 9, 'by', jsonb_build_object('name', 'author ' || id % 40)) END
FROM generate_series(1, 1000) id, pg_temp.tags(id, 2, 12) x;

CREATE INDEX tags_i1 ON tags_t USING ecp (v, i, b, s, t, vc, u, n) WITH (tags_width = 24);
CREATE INDEX tags_i2 ON tags_t USING ecp (v, m, i) WITH (tags_width = 40);
CREATE INDEX tags_i3 ON tags_t USING ecp (v, i) WITH (tags_width = 16);
VACUUM ANALYZE tags_t;
SELECT x, attributes, attribute_bytes, ecp_index_check(x, true)
FROM unnest('{tags_i1,tags_i2,tags_i3}'::regclass[]) x, ecp_metapage_info(x);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname IN ('array_ops', 'jsonb_path_ops')
	AND opcmethod = (SELECT oid FROM pg_am WHERE amname = 'ecp');

-- a set: fingerprints in the order of their size; or, of more than seven tags in 16
-- bytes, the first bits of each, or a filter
SELECT id, i, attributes[1] FROM tags_t JOIN LATERAL (SELECT * FROM ecp_clusters('tags_i3') l,
	generate_series(l.block, l.block) page, ecp_page_items('tags_i3', page)) x ON x.tid = tags_t.ctid
WHERE id <= 8 ORDER BY id;

-- what a condition returns through one of the indexes, and without; the plan first
CREATE FUNCTION tags_compare(condition text, OUT in_index boolean, OUT got bigint, OUT same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id FROM tags_t WHERE (%s) AND v IS NOT NULL
		ORDER BY v <-> ''{5,5,5,5,5,5}''', condition);
	line text;
	index_rows int[];
	table_rows int[];
	tree boolean := false;
BEGIN
	in_index := false;
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_sort = off;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		in_index := in_index OR replace(line, '(v IS NOT NULL)', '') ~ 'Index Cond: \S';
		tree := tree OR line ~ 'Index Cond: .*@\|';
		EXIT WHEN line ~ 'InitPlan [0-9a-z_]+( |$)';
		-- the original of a tree is checked above the scan
		IF line ~ 'Filter' AND NOT tree THEN
			in_index := false;
			EXIT;
		END IF;
	END LOOP;
	EXECUTE 'SELECT array_agg(id) FROM (' || query || ') q' INTO index_rows;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_sort = on;
	SET LOCAL enable_indexscan = off;
	EXECUTE 'SELECT array_agg(id) FROM (' || query || ') q' INTO table_rows;
	SET LOCAL enable_indexscan = on;
	got := coalesce(cardinality(index_rows), 0);
	same := (SELECT array_agg(x ORDER BY x) FROM unnest(index_rows) x) IS NOT DISTINCT FROM
		(SELECT array_agg(x ORDER BY x) FROM unnest(table_rows) x);
END
$$;

SELECT condition, r.* FROM unnest(ARRAY[
	'i && ''{1,2}''', 'i && ''{39}''', 'i && ''{}''', 'i && ''{NULL}''', 'i && ''{5,NULL}''', 'i && ''{{1,2},{3,4}}''',
	'i @> ''{1}''', 'i @> ''{1,2}''', 'i @> ''{1,1,1}''', 'i @> ''{}''', 'i @> ''{1,NULL}''', 'i @> ''{0,1,2,3,4,5}''',
	'i <@ ''{0,1,2,3}''', 'i <@ ''{}''', 'i <@ ''{NULL}''', 'i <@ (SELECT array_agg(x) FROM generate_series(0, 30) x)',
	'i = ''{}''', 'i = ''{0,1}''', 'i = ''{0,NULL}''', 'i = (SELECT i FROM tags_t WHERE id = 40)', 'i = (SELECT i FROM tags_t WHERE id = 6)',
	'''{1,2}'' && i', '''{1}'' <@ i', '''{0,1,2,3}'' @> i', 'ARRAY[1] && i AND NOT i @> ''{2}''',
	'7 = ANY (i)', 'NULL = ANY (i)', '7::smallint = ANY (i)', '(SELECT 7) = ANY (i)',
	'7::bigint = ANY (i)', '4294967303 = ANY (i)', 'NULL::bigint = ANY (i)', '(SELECT 7::bigint) = ANY (i)', '(SELECT 4294967303) = ANY (i)', '7 = ANY (i) AND 3 = ANY (i)',
	'i IS NULL', 'i IS NOT NULL', 'i IS NULL AND i && ''{1}''', 'i && NULL', 'i && ''{1,2}'' AND i @> ''{3}'' AND i <@ ''{0,1,2,3,4,5,6}''']) condition,
	tags_compare(condition) r;
SELECT condition, r.* FROM unnest(ARRAY[
	'b && ''{1,2}''', 'b @> ''{1,2}''', 'b <@ ''{0,1,2,3}''', '7 = ANY (b)', '7::bigint = ANY (b)', 'b IS NULL', 'b = (SELECT b FROM tags_t WHERE id = 5)',
	's && ''{1,2}''', 's @> ''{1,2}''', 's <@ ''{0,1,2,3}''', '7::smallint = ANY (s)', '7 = ANY (s)', '65543 = ANY (s)', '7::bigint = ANY (s)',
	't && ''{tag 1,tag 2}''', 't @> ''{tag 1,tag 2}''', 't <@ ''{tag 0,tag 1,tag 2,tag 3}''', '''tag 7'' = ANY (t)', 't = ''{tag 0}''', 't && ''{none}''',
	'vc && ''{tag 1,tag 2}''', 'vc @> ''{tag 1,tag 2}''', 'vc IS NULL',
	'u && ARRAY[md5(''1'')::uuid]', 'u @> ARRAY[md5(''1'')::uuid, md5(''2'')::uuid]', 'md5(''7'')::uuid = ANY (u)',
	'u <@ (SELECT array_agg(md5(x::text)::uuid) FROM generate_series(0, 20) x)', 'u = (SELECT u FROM tags_t WHERE id = 9)',
	'n && ''{0.25,1.00}''', '0.250 = ANY (n)', 'n = ''{0.5}''',
	'i && ''{1}'' AND b @> ''{2}'' AND t && ''{tag 1,tag 3}''']) condition, tags_compare(condition) r;
SELECT condition, r.* FROM unnest(ARRAY[
	'm @> ''{"lang": "is"}''', 'm @> ''{"lang": "is", "size": 3}''', 'm @> ''{"tags": [1, 2]}''', 'm @> ''{"by": {"name": "author 7"}}''',
	'm @> ''{}''', 'm @> ''[]''', 'm @> ''{"tags": []}''', 'm @> ''1''', 'm @> ''[1]''', 'm @> ''"is"''', 'm @> ''null''', 'm @> ''{"lang": {}}''',
	'm @> ''{"lang": "xx"}''', '''{"lang": "is"}'' <@ m', 'm = ''{}''', 'm = ''[1, 2, 3]''', 'm IS NULL',
	'm @> ANY (ARRAY[''{"lang": "is"}'', ''{"size": 4}'']::jsonb[])', 'm @> ''{"lang": "is"}'' AND i && ''{1}''']) condition,
	tags_compare(condition) r;

-- conditions at random: all operators, all columns, each width
CREATE FUNCTION tags_random(columns text[], n int, salt int) RETURNS TABLE (of text, n bigint, in_index boolean, same boolean)
LANGUAGE sql AS $$
	SELECT split_part(q, ' ', 1) || ' ' || split_part(q, ' ', 2), count(*), bool_and(r.in_index), bool_and(r.same)
	FROM generate_series(1, n) x, LATERAL (SELECT columns[1 + x % cardinality(columns)] AS c) c,
		LATERAL (SELECT CASE c WHEN 'm' THEN format('m %s %L', (ARRAY['@>', '='])[1 + x % 2],
				(SELECT m FROM tags_t WHERE m IS NOT NULL ORDER BY (id + x * 17) % 1000 LIMIT 1))
			ELSE format('%s %s (SELECT %1$s FROM tags_t WHERE %1$s IS NOT NULL ORDER BY (id + %3$s * 17) %% 1000 LIMIT 1)',
				c, (ARRAY['&&', '@>', '<@', '='])[1 + (x / 7) % 4], x + salt) END AS q) q, tags_compare(q) r
	GROUP BY 1 ORDER BY 1
$$;
SELECT * FROM tags_random('{i,b,s,t,vc,u,n}', 84, 0);
SELECT * FROM tags_random('{m}', 20, 0);
BEGIN;
DROP INDEX tags_i1, tags_i2;
SELECT * FROM tags_random('{i}', 40, 5);
ROLLBACK;

-- below OR and NOT: of a set only what may be true is known, so NOT is left to the executor
SELECT condition, r.* FROM unnest(ARRAY['i && ''{1}'' OR b @> ''{2}''', 'i <@ ''{0,1,2}'' OR t && ''{tag 3}''', 'i && ''{1}'' OR i IS NULL', 'i = ''{}'' OR b = ''{1}''',
	'7 = ANY (i) OR 7 = ANY (b)', '7 = ANY (i) OR i IS NULL', '(SELECT 7) = ANY (i) OR s @> ''{3}''', 'NULL = ANY (i) OR s @> ''{3}''', 'i && NULL OR s @> ''{3}''',
	'(i && ''{1,2}'' AND s IS NOT NULL) OR (b @> ''{3}'' AND u IS NULL)', 'NOT i IS DISTINCT FROM ''{0,1}''', '''{1}'' <@ i OR ''{0,1,2,3}'' @> b',
	'(i && ''{1}'' AND NOT b && ''{2}'') OR s @> ''{3}''', 'i && ''{1}'' AND NOT (b && ''{2}'' OR i @> ''{5}'')', 'm @> ''{"lang": "is"}'' OR i && ''{33}''',
	'm = ''{}'' OR m = ''[1, 2, 3]''', 'm = ''{}'' OR m @> ''1''', '''{"size": 3}'' <@ m OR m IS NULL']) condition, tags_compare(condition) r;
SELECT condition, r.* FROM unnest(ARRAY['NOT i && ''{1}''', 'NOT i @> ''{1,2}''', 'NOT i <@ ''{0,1,2,3}''', 'i <> ''{0,1}''', 'NOT 7 = ANY (i)', '7 <> ALL (i)', '7 <> ANY (i)',
	'i IS DISTINCT FROM ''{0,1}''', 'NOT m @> ''{"lang": "is"}''', 'm <> ''{}''', 'i && ''{1}'' OR NOT i && ''{2}''', 'i && ''{1}'' OR 7 < ANY (i)', '(i && ''{1}'') IS NOT TRUE',
	'NOT (i && ''{1}'' AND b @> ''{2}'')', 'i < ''{1}'' OR i && ''{2}''']) condition, tags_compare(condition) r;
-- trees at random
CREATE FUNCTION tags_tree(depth int, salt int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	leaves text[] := ARRAY['i && ''{1,39}''', 'i @> ''{1}''', 'i @> ''{2,3}''', 'i <@ ''{0,1,2,3,4,5}''', 'i = ''{}''', 'i <> ''{0}''', 'i IS NULL', 'i IS NOT NULL',
		'7 = ANY (i)', '7 <> ALL (i)', 'b && ''{3}''', 'b @> ''{1,2}''', 'b <@ ''{0,1,2,3}''', '5 = ANY (b)', 't && ''{tag 1}''', '''tag 7'' = ANY (t)', 's @> ''{3}''',
		'n && ''{0.25}''', 'u @> ARRAY[md5(''1'')::uuid]', 'vc IS NULL', 'i IS DISTINCT FROM ''{0,1}''', '''{2}'' <@ i', 'i && NULL'];
	kind int := pg_temp.number(salt, 77, 99);
BEGIN
	IF depth = 0 OR kind < 10 THEN
		RETURN leaves[1 + pg_temp.number(salt, 78, cardinality(leaves) - 1)];
	ELSIF kind < 30 THEN
		RETURN 'NOT (' || tags_tree(depth - 1, 3 * salt + 1) || ')';
	END IF;
	RETURN '(' || tags_tree(depth - 1, 3 * salt + 2) || CASE WHEN kind < 50 THEN ' AND ' ELSE ' OR ' END || tags_tree(depth - 1, 3 * salt + 3) || ')';
END $$;
SELECT count(*), count(*) FILTER (WHERE in_index) > 0 AS some, string_agg(condition, ', ') FILTER (WHERE NOT same) AS differ
FROM (SELECT tags_tree(3, salt) AS condition FROM generate_series(1, 150) salt OFFSET 0) x, tags_compare(condition) r;
-- a type that is text, but has another equality, by which the index has no hashes
SET client_min_messages = warning;
CREATE TYPE tags_ci;
CREATE FUNCTION tags_ci_in(cstring) RETURNS tags_ci AS 'textin' LANGUAGE internal IMMUTABLE STRICT;
CREATE FUNCTION tags_ci_out(tags_ci) RETURNS cstring AS 'textout' LANGUAGE internal IMMUTABLE STRICT;
CREATE TYPE tags_ci (INPUT = tags_ci_in, OUTPUT = tags_ci_out, INTERNALLENGTH = VARIABLE, STORAGE = extended, COLLATABLE = true);
RESET client_min_messages;
CREATE CAST (text AS tags_ci) WITHOUT FUNCTION;
CREATE CAST (tags_ci AS text) WITHOUT FUNCTION;
CREATE FUNCTION tags_ci_eq(tags_ci, tags_ci) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT lower($1::text) = lower($2::text) $$;
CREATE FUNCTION tags_ci_hash(tags_ci) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT hashtext(lower($1::text)) $$;
CREATE FUNCTION tags_ci_hash(tags_ci, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$ SELECT hashtextextended(lower($1::text), $2) $$;
CREATE OPERATOR = (LEFTARG = tags_ci, RIGHTARG = tags_ci, FUNCTION = tags_ci_eq, COMMUTATOR = =, HASHES);
CREATE OPERATOR CLASS tags_ci_ops DEFAULT FOR TYPE tags_ci USING hash AS
	OPERATOR 1 =, FUNCTION 1 tags_ci_hash(tags_ci), FUNCTION 2 tags_ci_hash(tags_ci, bigint);
SELECT condition, r.* FROM unnest(ARRAY['t::tags_ci[] && ''{TAG 7}''', '''TAG 7''::tags_ci = ANY (t::tags_ci[])', 't::tags_ci[] @> ''{TAG 1}'' OR i && ''{39}''',
	't && ''{tag 7}''']) condition, tags_compare(condition) r;
-- many queries at once: the answers are those of searches, and shared where no row of
-- the table has to be checked by other conditions
CREATE TABLE tags_q AS SELECT id::bigint, pg_temp.spread_vector(id * 31, 6) AS v FROM generate_series(1, 300) id;
CREATE FUNCTION tags_batch(condition text, OUT answers bigint, OUT differ bigint, OUT searched boolean) LANGUAGE plpgsql AS $$
DECLARE
	before bigint;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_sort = off;
	EXECUTE format('CREATE TEMP TABLE searched AS SELECT q.id AS query, s.tid FROM tags_q q,
		LATERAL (SELECT ctid AS tid FROM tags_t t WHERE %s ORDER BY t.v <-> q.v LIMIT 5) s', condition);
	before := pg_stat_get_xact_numscans('tags_i1'::regclass);
	EXECUTE format('CREATE TEMP TABLE batch AS SELECT query, tid FROM ecp_knn_batch(''tags_i1'', ''SELECT id, v FROM tags_q'', 5, %L)', condition);
	searched := pg_stat_get_xact_numscans('tags_i1'::regclass) - before >= 300;
	SELECT count(*) FROM batch INTO answers;
	SELECT count(*) FROM ((TABLE searched EXCEPT TABLE batch) UNION ALL (TABLE batch EXCEPT TABLE searched)) x INTO differ;
	DROP TABLE searched, batch;
END $$;
SELECT condition, r.* FROM unnest(ARRAY['i && ''{1,2}''', 'b @> ''{1,2}''', '7 = ANY (i)', 't && ''{tag 3}'' AND i <@ ''{0,1,2,3,4,5,6,7}''', 'i IS NULL', 'u = ''{}''',
	'i && ''{39}''', 'i && ''{1}'' OR b && ''{2}''', 'NOT i && ''{1}''']) condition, tags_batch(condition) r;

-- plans
SET enable_seqscan = off;
EXPLAIN (COSTS OFF)
SELECT id FROM tags_t WHERE i && '{1,2}' AND t @> '{tag 3}' ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5;
EXPLAIN (COSTS OFF)
SELECT id FROM tags_t WHERE 7 = ANY (b) ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5;
EXPLAIN (COSTS OFF)
SELECT id FROM tags_t WHERE m @> '{"lang": "is"}' ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5;
-- a parameter that changes from row to row
SELECT x, count(*), bool_and(x = ANY (i)) FROM generate_series(0, 3) x,
	LATERAL (SELECT i FROM tags_t WHERE x = ANY (i) ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 20) q GROUP BY 1 ORDER BY 1;

-- columns that are expressions
CREATE INDEX tags_lang ON tags_t USING ecp (v, (m->>'lang'), (m->'tags')) WHERE id > 0;
ANALYZE tags_t;
EXPLAIN (COSTS OFF)
SELECT id FROM tags_t WHERE m->>'lang' = 'is' AND m->'tags' @> '[3]' AND id > 0 ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5;
SELECT condition, r.* FROM unnest(ARRAY['m->>''lang'' = ''is'' AND id > 0', 'm->>''lang'' IN (''is'', ''fo'') AND id > 0',
	'm->''tags'' @> ''[3]'' AND id > 0', 'm->''tags'' @> ''[3, 1]'' AND m->>''lang'' = ''de'' AND id > 0',
	'm->''tags'' IS NULL AND id > 0']) condition, tags_compare(condition) r;
DROP INDEX tags_lang;

-- rows that come, change and go; clusters that are written anew
DELETE FROM tags_t WHERE id % 5 = 0;
INSERT INTO tags_t (id, v, i, b, m) SELECT id, pg_temp.spread_vector(id, 6), pg_temp.tags(id, 2, 14), pg_temp.tags(id, 3, 3)::bigint[],
	jsonb_build_object('lang', 'is', 'size', id % 9) FROM generate_series(3001, 4500) id;
UPDATE tags_t SET i = i || 77 WHERE id % 10 = 1;
SELECT ecp_index_check(x, true) FROM unnest('{tags_i1,tags_i2,tags_i3}'::regclass[]) x;
VACUUM tags_t;
SELECT ecp_maintain('tags_i1') IS NOT NULL AS maintained;
SELECT ecp_index_check(x, true) FROM unnest('{tags_i1,tags_i2,tags_i3}'::regclass[]) x;
SELECT condition, r.* FROM unnest(ARRAY['i && ''{77}''', 'i @> ''{77,1}''', 'm @> ''{"size": 5}''', 'b <@ ''{1,2}''', '3 = ANY (i)']) condition, tags_compare(condition) r;

-- a builder with other files and other memory makes the same sets
SET ecp.build_policy = tempfiles;
SET maintenance_work_mem = '1MB';
REINDEX INDEX tags_i1;
SELECT ecp_index_check('tags_i1', true);
RESET ecp.build_policy;
RESET maintenance_work_mem;

-- the recall target holds among the rows that satisfy a condition
CREATE TABLE tags_many AS SELECT id, pg_temp.clustered_bytes(id, 12, 60) AS v, pg_temp.tags(id, 2, 10) AS tags FROM generate_series(1, 8000) id;
CREATE INDEX tags_many_i ON tags_many USING ecp (v, tags);
VACUUM ANALYZE tags_many;
CREATE FUNCTION tags_recall(condition text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	hits int := 0;
	wanted int := 0;
	q record;
	query text := format('SELECT array_agg(d) FROM (SELECT v <-> $1 AS d FROM tags_many WHERE %s ORDER BY v <-> $1 LIMIT 10) x', condition);
	found float8[];
	truth float8[];
	line text;
	plan text := '';
BEGIN
	FOR q IN SELECT v FROM tags_many WHERE id % 50 = 0 LOOP
		SET LOCAL enable_seqscan = off;
		IF plan = '' THEN
			FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query USING q.v LOOP
				plan := plan || line;
			END LOOP;
			IF plan !~ 'tags_many_i.*Index Cond' THEN
				RAISE EXCEPTION 'the index is not used: %', plan;
			END IF;
		END IF;
		EXECUTE query INTO found USING q.v;
		SET LOCAL enable_seqscan = on;
		SET LOCAL enable_indexscan = off;
		EXECUTE query INTO truth USING q.v;
		SET LOCAL enable_indexscan = on;
		wanted := wanted + cardinality(truth);
		hits := hits + (SELECT count(*) FROM unnest(found) f WHERE f <= truth[cardinality(truth)]);
	END LOOP;
	RETURN hits::numeric / wanted;
END $$;
SELECT condition, tags_recall(condition) >= 0.92 AS at_target FROM unnest(ARRAY['tags && ''{1}''', 'tags @> ''{1,2}''', 'tags @> ''{1,2,3}''',
	'tags <@ ''{0,1,2}''', '33 = ANY (tags)', 'tags && ''{38,39}''']) condition;

-- what is not possible
CREATE INDEX ON tags_t USING ecp (v, m) WITH (tags_width = 8);
CREATE INDEX ON tags_t USING ecp (v, m) WITH (tags_width = 136);
CREATE INDEX ON tags_t USING ecp (i, v);
CREATE INDEX ON tags_t USING ecp (v, (ARRAY[point(id, id)]));
CREATE INDEX ON tags_t USING ecp (v, (ARRAY[v]));
ALTER INDEX tags_i3 SET (tags_width = 32);
SELECT attribute_bytes FROM ecp_metapage_info('tags_i3');
SELECT r.* FROM tags_compare('i && ''{77}''') r;
DROP TABLE tags_t, tags_many, tags_q;
