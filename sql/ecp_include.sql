--
-- INCLUDE columns: CREATE INDEX ... USING ecp (v, tenant) INCLUDE (payload),
-- and scans that need not visit the table.
--
\getenv src PG_ABS_SRCDIR
\set vectors :src '/test/vectors.sql'
\i :vectors
CREATE TABLE inc_t (id int, v real[], tenant int, flag boolean, f8 double precision,
	name text, u uuid, n numeric, doc jsonb, ch "char", short varchar(5));
INSERT INTO inc_t
SELECT i, pg_temp.spread_vector(i, 6), i % 20, i % 3 = 0, CASE WHEN i % 7 <> 0 THEN i / 8.0 END,
	CASE WHEN i % 11 <> 0 THEN 'row ' || i END, md5(i::text)::uuid, i / 4.0,
	jsonb_build_object('i', i), chr(65 + i % 7)::"char", 's' || i % 100
FROM generate_series(1, 2000) i;
CREATE INDEX inc_i ON inc_t USING ecp (v, tenant, f8)
	INCLUDE (id, name, flag, u, n, doc, ch, short);
VACUUM ANALYZE inc_t;
SELECT pg_get_indexdef('inc_i'::regclass);
SELECT attribute_bytes FROM ecp_metapage_info('inc_i');
SELECT ecp_index_check('inc_i', true);
SELECT i + 1 AS column, pg_index_column_has_property('inc_i', i + 1, 'returnable') AS returnable
FROM generate_series(0, 3) i;
SELECT pg_indexam_has_property(oid, 'can_include') FROM pg_am WHERE amname = 'ecp';

-- plans; how many rows were looked up in the table
CREATE FUNCTION inc_plan(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Scan using|Heap Fetches|^ *Filter' THEN
			RETURN NEXT regexp_replace(trim(line), ' \(actual.*', '');
		END IF;
	END LOOP;
END
$$;
SET enable_seqscan = off;
SET enable_sort = off;
SELECT inc_plan($$SELECT id, name FROM inc_t ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5$$);
SELECT inc_plan($$SELECT * FROM inc_t ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5$$);
SELECT inc_plan($$SELECT id FROM inc_t WHERE tenant = 3 AND f8 > 10 ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5$$);
SELECT inc_plan($$SELECT id FROM inc_t WHERE tenant IN (3, 4) ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5$$);
SET ecp.approximate_radius = on;
SELECT inc_plan($$SELECT id FROM inc_t WHERE v <-> '{5,5,5,5,5,5}' < 3$$);
RESET ecp.approximate_radius;
SELECT inc_plan($$SELECT id FROM inc_t WHERE id % 2 = 0 ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5$$);
-- the table's own columns are not in the index
SELECT inc_plan($$SELECT ctid FROM inc_t ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5$$);

-- the same rows and values as the table has, of the same rank
CREATE FUNCTION inc_same(columns text, condition text,
	OUT index_only boolean, OUT rows bigint, OUT same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	statement text := format('SELECT rank() OVER (ORDER BY v <-> ''{5,5,5,5,5,5}''), %s FROM inc_t
		WHERE %s ORDER BY v <-> ''{5,5,5,5,5,5}''', columns, condition);
	line text;
	by_index text[];
	by_table text[];
BEGIN
	index_only := false;
	SET LOCAL ecp.iterative_scan = relaxed_order;
	SET LOCAL ecp.probes = 100000;
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_sort = off;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		index_only := index_only OR line ~ 'Index Only Scan using';
	END LOOP;
	EXECUTE format('SELECT array_agg(q::text ORDER BY q::text) FROM (%s) q', statement) INTO by_index;
	SET LOCAL enable_indexonlyscan = off;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_sort = on;
	EXECUTE format('SELECT array_agg(q::text ORDER BY q::text) FROM (%s) q', statement) INTO by_table;
	SET LOCAL enable_indexonlyscan = on;
	SET LOCAL enable_indexscan = on;
	rows := cardinality(by_index);
	same := by_index IS NOT DISTINCT FROM by_table;
END
$$;
SELECT condition, r.* FROM unnest(ARRAY['true', 'tenant = 3', 'f8 IS NULL', 'f8 < 20.5 AND tenant IN (1, 5)',
	'name IS NULL', 'flag', 'doc @> ''{"i": 77}''', 'v <-> ''{5,5,5,5,5,5}'' < 9']) condition,
	inc_same('*', condition) r;

-- rows that came after VACUUM, rows that went, rows that changed
INSERT INTO inc_t (id, v, tenant, name) SELECT i, pg_temp.spread_vector(i * 5, 6), i % 20, 'new' FROM generate_series(3001, 3200) i;
DELETE FROM inc_t WHERE id % 5 = 0;
UPDATE inc_t SET name = 'changed', flag = NOT flag WHERE id % 7 = 0;
SELECT inc_plan($$SELECT id, name FROM inc_t ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5$$) ~ 'Only Scan|Fetches: [1-9]' AS looked_up;
SELECT condition, r.* FROM unnest(ARRAY['true', 'tenant = 3']) condition,
	inc_same('*', condition) r;
-- the same values again: the entry's TID begins a HOT chain
UPDATE inc_t SET tenant = tenant WHERE id % 13 = 0;
SELECT r.* FROM inc_same('*', 'id % 13 = 0') r;
VACUUM inc_t;
SELECT r.* FROM inc_same('*', 'id % 13 = 0') r;
SELECT ecp_maintain('inc_i') IS NOT NULL AS done;
SELECT ecp_index_check('inc_i', true);
SELECT inc_plan($$SELECT id, name FROM inc_t ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5$$);
SELECT condition, r.* FROM unnest(ARRAY['true', 'tenant = 3', 'name = ''changed''']) condition,
	inc_same('*', condition) r;

-- rows that an entry does not have are read from the table: long values, and
-- what neither vector nor key gives back
UPDATE inc_t SET name = repeat('long ', 20) WHERE id % 9 = 0;
UPDATE inc_t SET name = (SELECT string_agg(md5(g::text), '') FROM generate_series(1, 300) g) WHERE id % 27 = 0;
UPDATE inc_t SET v = ('[0:5]=' || v::text)::real[] WHERE id % 10 = 1;
UPDATE inc_t SET f8 = '-0' WHERE id % 10 = 2;
UPDATE inc_t SET f8 = 'NaN' WHERE id % 10 = 3;
UPDATE inc_t SET f8 = '-infinity' WHERE id % 10 = 4;
VACUUM inc_t;
SELECT ecp_index_check('inc_i', true);
SELECT inc_plan($$SELECT id, name FROM inc_t ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 50$$);
SELECT condition, r.* FROM unnest(ARRAY['true', 'length(name) > 50', 'f8 = 0', 'f8 = ''NaN''', 'array_lower(v, 1) = 0']) condition,
	inc_same('*', condition) r;

-- a column whose key does not give its value back can be both
CREATE INDEX inc_both ON inc_t USING ecp (v, name, u) INCLUDE (name, u, id) WITH (include_width = 24);
CREATE INDEX inc_hash ON inc_t USING ecp (v, name) INCLUDE (id) WHERE tenant > 100000;
SELECT attribute_bytes FROM ecp_metapage_info('inc_both');
SELECT pg_index_column_has_property('inc_both', 2, 'returnable') AS hash,
	pg_index_column_has_property('inc_both', 4, 'returnable') AS included;
DROP INDEX inc_i;
SELECT inc_plan($$SELECT id FROM inc_t WHERE name = 'row 6' AND u >= '00000000-0000-0000-0000-000000000000' ORDER BY v <-> '{5,5,5,5,5,5}'$$);
SELECT condition, r.* FROM unnest(ARRAY['name = ''row 6''', 'name = repeat(''long '', 20)', 'u > ''f0000000-0000-0000-0000-000000000000''']) condition,
	inc_same('id, name, u', condition) r;
-- a new width counts from the next REINDEX on
ALTER INDEX inc_both SET (include_width = 200);
UPDATE inc_t SET name = repeat('more', 20) WHERE id % 10 = 6;
VACUUM inc_t;
SELECT ecp_index_check('inc_both', true);
SELECT attribute_bytes FROM ecp_metapage_info('inc_both');
REINDEX INDEX inc_both;
SELECT attribute_bytes FROM ecp_metapage_info('inc_both');
SELECT ecp_index_check('inc_both', true);
SELECT r.* FROM inc_same('id, name, u', 'true') r;

-- without INCLUDE nothing is returned
DROP INDEX inc_both, inc_hash;
CREATE INDEX inc_key ON inc_t USING ecp (v, tenant);
SELECT inc_plan($$SELECT tenant FROM inc_t ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5$$);
DROP INDEX inc_key;

-- all kinds of pages: codes, vectors that span pages, bytes in columns and in
-- rows, an index that starts empty, each metric
CREATE TABLE inc_kinds (id int, long real[], wide real[], bytes bytea, tenant int);
CREATE INDEX inc_codes_i ON inc_kinds USING ecp (long) INCLUDE (id) WITH (quantizer = rabitq);
CREATE INDEX inc_wide_i ON inc_kinds USING ecp (wide real_cosine_ops, tenant) INCLUDE (id) WITH (quantizer = none);
CREATE INDEX inc_bytes_i ON inc_kinds USING ecp (bytes) INCLUDE (id, tenant);
INSERT INTO inc_kinds SELECT i, (SELECT array_agg((i * j) % 101 ORDER BY j)::real[] FROM generate_series(1, 200) j),
	(SELECT array_agg((i * j) % 97 + 1 ORDER BY j)::real[] FROM generate_series(1, 2500) j),
	decode(lpad(to_hex(i % 251 + 1), 14, '0a0b0c0d0e0f') || lpad(to_hex(i / 251 + 1), 2, '0'), 'hex'), i % 10
FROM generate_series(1, 500) i;
CREATE INDEX inc_cosine_i ON inc_kinds USING ecp (bytes bytea_cosine_ops, tenant) INCLUDE (id);
REINDEX INDEX inc_codes_i;
VACUUM ANALYZE inc_kinds;
SELECT x, ecp_index_check(x, true) FROM unnest('{inc_codes_i,inc_wide_i,inc_bytes_i,inc_cosine_i}'::regclass[]) x;
CREATE FUNCTION inc_digest(query text, OUT index_only boolean, OUT got bigint, OUT same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	statement text := format('SELECT count(*), sum(hashtextextended(q::text, 0)) FROM (%s) q', query);
	a record;
	b record;
BEGIN
	index_only := false;
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_sort = off;
	SET LOCAL ecp.iterative_scan = relaxed_order;
	SET LOCAL ecp.probes = 100000;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		index_only := index_only OR line ~ 'Index Only Scan using';
	END LOOP;
	EXECUTE statement INTO a;
	SET LOCAL enable_indexonlyscan = off;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_sort = on;
	EXECUTE statement INTO b;
	SET LOCAL enable_indexonlyscan = on;
	SET LOCAL enable_indexscan = on;
	got := a.count;
	same := a = b;
END
$$;
SELECT r.* FROM unnest(ARRAY[
	'SELECT id, long FROM inc_kinds ORDER BY long <-> (SELECT long FROM inc_kinds WHERE id = 3)',
	'SELECT id, wide, tenant FROM inc_kinds WHERE tenant = 3 ORDER BY wide <=> (SELECT wide FROM inc_kinds WHERE id = 3)',
	'SELECT id, bytes, tenant FROM inc_kinds ORDER BY bytes <-> (SELECT bytes FROM inc_kinds WHERE id = 3)',
	'SELECT id, bytes FROM inc_kinds WHERE tenant < 5 ORDER BY bytes <=> (SELECT bytes FROM inc_kinds WHERE id = 3)',
	'SELECT id, bytes <-> (SELECT NULL::bytea) FROM inc_kinds ORDER BY bytes <-> (SELECT NULL::bytea)']) query, inc_digest(query) r;
-- a rescan for each row, a cursor that is read in parts, a temporary table
SELECT q.id, array_agg(n.id ORDER BY n.d) FROM inc_kinds q, LATERAL (SELECT t.id, t.bytes <-> q.bytes AS d FROM inc_kinds t
	ORDER BY t.bytes <-> q.bytes LIMIT 1) n WHERE q.id < 6 GROUP BY 1 ORDER BY 1;
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM inc_kinds ORDER BY bytes <-> '\x0a0b0c0d0e0f0101';
MOVE 100 FROM c;
FETCH 1 FROM c;
MOVE ALL FROM c;
COMMIT;
CREATE TEMPORARY TABLE inc_temp AS SELECT * FROM inc_kinds;
CREATE INDEX inc_temp_i ON inc_temp USING ecp (long) INCLUDE (id);
VACUUM inc_temp;
SELECT r.* FROM inc_digest('SELECT id, long FROM inc_temp ORDER BY long <-> (SELECT long FROM inc_kinds WHERE id = 3)') r;

-- what cannot be
CREATE INDEX ON inc_kinds USING ecp (bytes) INCLUDE (id) WITH (include_width = 2000);
CREATE TABLE inc_much (v real[], a text, b text, c text);
-- the widest, beside a byte of bits
CREATE INDEX ON inc_much USING ecp (v) INCLUDE (a) WITH (include_width = 1023);
CREATE INDEX ON inc_much USING ecp (v) INCLUDE (a) WITH (include_width = 1024);
CREATE INDEX ON inc_much USING ecp (v) INCLUDE (a, b, c) WITH (include_width = 1000);
CREATE INDEX ON inc_much USING ecp (a) INCLUDE (v);
-- core's error, which from PostgreSQL 19 on says where
\set VERBOSITY sqlstate
CREATE INDEX ON inc_much USING ecp (v) INCLUDE ((a || b));
\set VERBOSITY default

DROP TABLE inc_t, inc_kinds, inc_much, inc_temp;
DROP FUNCTION inc_plan, inc_same, inc_digest;
