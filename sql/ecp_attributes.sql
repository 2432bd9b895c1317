--
-- Key attributes: CREATE INDEX ... USING ecp (v, tenant, ...), conditions on
-- them that are checked in the index, for each type and operator.
--
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\i :explain
\set vectors :src '/test/vectors.sql'
\i :vectors
CREATE TYPE attr_mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE attr_t (id int, v real[],
	b boolean, c "char", i2 smallint, i4 integer, i8 bigint, o oid,
	f4 real, f8 double precision, d date, tm time, ts timestamp,
	tz timestamptz, u uuid, s text, vc varchar(20), ch char(8), n numeric,
	m attr_mood);
INSERT INTO attr_t
SELECT i, CASE WHEN i % 50 <> 7 THEN pg_temp.spread_vector(i, 6) END,
	CASE WHEN i % 11 <> 0 THEN i % 3 = 0 END,
	CASE WHEN i % 11 <> 1 THEN chr(65 + i % 7)::"char" END,
	CASE WHEN i % 11 <> 2 THEN (i % 40 - 20) * 1638 END,
	CASE WHEN i % 11 <> 3 THEN (i % 100 - 50) * 42949672 END,
	CASE WHEN i % 11 <> 4 THEN (i % 100 - 50) * 184467440737095516 END,
	CASE WHEN i % 11 <> 5 THEN (i % 30) * 143165576::bigint END::oid,
	CASE i % 20 WHEN 0 THEN 'NaN' WHEN 1 THEN '-infinity' WHEN 2 THEN '-0'
		WHEN 3 THEN NULL ELSE (i % 20 - 10) / 3.0 END::real,
	CASE i % 20 WHEN 0 THEN 'NaN' WHEN 1 THEN 'infinity' WHEN 2 THEN '-0'
		WHEN 3 THEN NULL ELSE (i % 20 - 10) / 3.0 END::float8,
	CASE WHEN i % 11 <> 6 THEN '2020-01-01'::date + i % 60 END,
	CASE WHEN i % 11 <> 7 THEN '00:00'::time + i % 24 * interval '1 hour' END,
	CASE WHEN i % 11 <> 8 THEN CASE WHEN i % 60 = 0 THEN '-infinity'
		ELSE '1999-12-20'::timestamp + i % 60 * interval '1 day' END END,
	CASE WHEN i % 11 <> 9 THEN '2020-01-01 UTC'::timestamptz + i % 60 * interval '1 day' END,
	CASE WHEN i % 11 <> 10 THEN ('00112233-4455-6677-' || lpad((i % 10)::text, 4, '0') ||
		'-' || lpad((i % 25)::text, 12, '0'))::uuid END,
	CASE WHEN i % 13 <> 0 THEN 'tenant ' || i % 25 END,
	CASE WHEN i % 13 <> 1 THEN 'tenant ' || i % 25 END,
	CASE WHEN i % 13 <> 2 THEN 'c' || i % 25 END,
	CASE WHEN i % 13 <> 3 THEN (i % 25) / 4.0 END,
	CASE WHEN i % 13 <> 4 THEN (ARRAY['sad', 'ok', 'happy'])[1 + i % 3]::attr_mood END
FROM generate_series(1, 3000) i;

-- three indexes, because eight columns are the limit
-- without pages of summaries, so that all pages of leaves and nodes have entries
CREATE INDEX attr_i1 ON attr_t USING ecp (v, b, c, i2, i4, i8, o) WITH (summaries = off);
CREATE INDEX attr_i2 ON attr_t USING ecp (v, f4, f8, d, tm, ts, tz, u);
CREATE INDEX attr_i3 ON attr_t USING ecp (v, s, vc, ch, n, m);
VACUUM ANALYZE attr_t;
SELECT ecp_index_check(x, true) FROM unnest('{attr_i1,attr_i2,attr_i3}'::regclass[]) x;

-- what is in the index of them: kinds, bytes a row, keys in hexadecimal
SELECT x, attributes, attribute_bytes
FROM unnest('{attr_i1,attr_i2,attr_i3}'::regclass[]) x, ecp_metapage_info(x);
SELECT count(*) AS rows, count(*) FILTER (WHERE
	attributes[1] IS DISTINCT FROM lpad(to_hex(b::int), 2, '0') OR
	attributes[2] IS DISTINCT FROM lpad(to_hex(ascii(c::text)), 2, '0') OR
	attributes[3] IS DISTINCT FROM lpad(to_hex(i2::int + 32768), 4, '0') OR
	attributes[4] IS DISTINCT FROM lpad(to_hex(i4::bigint + 2147483648), 8, '0') OR
	attributes[5] IS DISTINCT FROM lpad(to_hex(i8 # '-9223372036854775808'::bigint), 16, '0') OR
	attributes[6] IS DISTINCT FROM lpad(to_hex(o::bigint), 8, '0')) AS differing
FROM ecp_clusters('attr_i1') l, generate_series(l.block, l.block + 20) page,
	LATERAL (SELECT i.attributes, i.tid FROM ecp_index_drift('attr_i1') s
		CROSS JOIN LATERAL ecp_page_items('attr_i1', page) i
		WHERE page < s.pages AND i.tid = ANY (l.tids)) i
JOIN attr_t ON attr_t.ctid = i.tid;

-- what a condition returns through the index, and without; the plan as well
CREATE FUNCTION attr_compare(condition text, relation text DEFAULT 'attr_t',
	OUT in_index boolean, OUT got bigint, OUT same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id FROM %s WHERE %s AND v IS NOT NULL
		ORDER BY v <-> ''{5,5,5,5,5,5}''', relation, condition);
	line text;
	index_rows int[];
	table_rows int[];
BEGIN
	in_index := false;
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_sort = off;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		in_index := in_index OR line ~ 'Index Cond';
		IF line ~ 'Filter' THEN in_index := false; EXIT; END IF;
	END LOOP;
	EXECUTE 'SELECT array_agg(id) FROM (' || query || ') q' INTO index_rows;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_sort = on;
	SET LOCAL enable_indexscan = off;
	EXECUTE 'SELECT array_agg(id) FROM (' || query || ') q' INTO table_rows;
	SET LOCAL enable_indexscan = on;
	got := cardinality(index_rows);
	same := (SELECT array_agg(x ORDER BY x) FROM unnest(index_rows) x) IS NOT DISTINCT FROM
		(SELECT array_agg(x ORDER BY x) FROM unnest(table_rows) x);
END
$$;
SET ecp.iterative_scan = relaxed_order;

SELECT condition, r.* FROM unnest(ARRAY[
	'b', 'NOT b', 'b IS NULL', 'b < true', 'b >= false', 'b IS NOT NULL AND b = true',
	'c = ''C''', 'c > ''C''', 'c IS NULL',
	'i2 = 0', 'i2 < -16380', 'i2 <= 1638', 'i2 > 1638', 'i2 >= 1638', 'i2 BETWEEN -5000 AND 5000',
	'i2 = 1638::int4', 'i2 < 100000', 'i2 > 100000', 'i2 > -100000::bigint', 'i2 = 32768', 'i2 IS NULL',
	'i4 = 42949672', 'i4 < 0', 'i4 <= -2147483600', 'i4 > 2000000000', 'i4 >= 0::int2', 'i4 > 3000000000',
	'i4 < -3000000000', 'i4 <= 3000000000', 'i4 = 4294967296', 'i4 BETWEEN 0 AND 429496720', 'i4 IS NULL', 'i4 IS NOT NULL',
	'i8 = 184467440737095516', 'i8 < 0', 'i8 >= 9000000000000000000', 'i8 > -5::int2', 'i8 IS NULL',
	'o = 143165576', 'o > 3000000000', 'o < 143165576', 'o IS NULL',
	'i4 > 0 AND i2 < 0 AND b', 'i4 > 5 AND i4 < 3', 'i4 = NULL']) condition, attr_compare(condition) r;

SELECT condition, r.* FROM unnest(ARRAY[
	'f4 = 0', 'f4 = ''NaN''', 'f4 < 0.1', 'f4 <= 0.1::real', 'f4 > 1e300', 'f4 < -1e300', 'f4 >= ''-infinity''',
	'f4 > 1.0', 'f4 = 1.0', 'f4 <= 1/3.0::float8', 'f4 > ''NaN''::float8', 'f4 < ''NaN''::float8', 'f4 IS NULL',
	'f8 = 0', 'f8 = ''NaN''', 'f8 < 0.1', 'f8 <= (1/3.0)::real', 'f8 > ''infinity''', 'f8 >= 1e308', 'f8 = ''-0''', 'f8 IS NULL',
	'd = ''2020-01-05''', 'd < ''2020-01-05''', 'd >= ''2020-02-05''', 'd BETWEEN ''2020-01-05'' AND ''2020-01-10''', 'd > ''infinity''', 'd IS NULL',
	'tm = ''05:00''', 'tm < ''05:00''', 'tm IS NULL',
	'ts = ''2000-01-01''', 'ts < ''2000-01-01''', 'ts > ''-infinity''', 'ts IS NULL',
	'tz = ''2020-01-05 UTC''', 'tz >= ''2020-02-05 UTC''', 'tz IS NULL',
	'u = ''00112233-4455-6677-0005-000000000005''', 'u < ''00112233-4455-6677-0005-000000000005''',
	'u >= ''00112233-4455-6677-0005-000000000005''', 'u <> ''00112233-4455-6677-0005-000000000005'' AND u > ''00112233-4455-6677-0002-000000000005''',
	'u IS NULL']) condition, attr_compare(condition) r;

SELECT condition, r.* FROM unnest(ARRAY[
	's = ''tenant 3''', 's = ''nobody''', 's IS NULL', 's IS NOT NULL AND n = 1.25',
	'vc = ''tenant 3''', 'vc IS NULL', 'ch = ''c3''', 'ch IS NULL',
	'n = 1.5', 'n = 1.50000', 'n IS NULL', 'm = ''ok''', 'm IS NULL']) condition, attr_compare(condition) r;

-- the smallest and the largest value of each type, and their neighbours, by each
-- operator: what is counted is conditions
CREATE TABLE attr_edge (id int, v real[], b boolean, c "char", i2 smallint, i4 integer,
	i8 bigint, o oid, f4 real, f8 double precision, d date, tm time, ts timestamp,
	tz timestamptz, u uuid);
CREATE TABLE attr_edges (col text, type text, edges text[]);
INSERT INTO attr_edges VALUES
	('b', 'bool', '{f,t}'), ('i2', 'int2', '{-32768,-32767,0,32766,32767}'),
	('i4', 'int4', '{-2147483648,-2147483647,0,2147483646,2147483647}'),
	('i8', 'int8', '{-9223372036854775808,-9223372036854775807,0,9223372036854775806,9223372036854775807}'),
	('o', 'oid', '{0,1,2147483648,4294967294,4294967295}'),
	('f4', 'float4', '{-infinity,-3.4028235e38,-0,3.4028235e38,infinity,NaN}'),
	('f8', 'float8', '{-infinity,-1.7976931348623157e308,0,1.7976931348623157e308,infinity,NaN}'),
	('d', 'date', '{-infinity,4714-11-24 BC,2000-01-01,5874897-12-31,infinity}'),
	('tm', 'time', '{00:00:00,00:00:00.000001,23:59:59.999999,24:00:00}'),
	('ts', 'timestamp', '{-infinity,4714-11-24 00:00:00 BC,2000-01-01,294276-12-31 23:59:59.999999,infinity}'),
	('tz', 'timestamptz', '{-infinity,4714-11-24 00:00:00+00 BC,2000-01-01,294276-12-31 23:59:59.999999+00,infinity}'),
	('u', 'uuid', '{00000000-0000-0000-0000-000000000000,00000000-0000-0000-0000-000000000001,ffffffff-ffff-ffff-ffff-fffffffffffe,ffffffff-ffff-ffff-ffff-ffffffffffff}');
DO $$
DECLARE
	e record;
BEGIN
	FOR e IN SELECT col, type, edge FROM attr_edges, unnest(edges) edge LOOP
		EXECUTE format('INSERT INTO attr_edge (id, v, %I) SELECT count(*), pg_temp.spread_vector(count(*)::int, 6), %L::%s FROM attr_edge',
			e.col, e.edge, e.type);
	END LOOP;
END $$;
INSERT INTO attr_edge (id, v, c, i2) SELECT 1000 + g, pg_temp.spread_vector(1000 + g, 6), g::"char", g * 256
FROM generate_series(-128, 127) g;
CREATE INDEX attr_edge_i1 ON attr_edge USING ecp (v, b, c, i2, i4, i8, o);
CREATE INDEX attr_edge_i2 ON attr_edge USING ecp (v, f4, f8, d, tm, ts, tz, u);
VACUUM ANALYZE attr_edge;
SELECT col, count(*) AS conditions, sum(got) AS rows, count(*) FILTER (WHERE NOT in_index) AS elsewhere,
	count(*) FILTER (WHERE NOT same) AS wrong
FROM (SELECT col, format('%L::%s', edge, type) AS edge FROM attr_edges, unnest(edges) edge
	UNION ALL SELECT 'c', format('(%s)::"char"', g) FROM unnest('{-128,-127,-1,0,1,127}'::int[]) g) e,
	unnest('{<,<=,=,>=,>,<>}'::text[]) operator,
	attr_compare(format('%s %s %s', col, operator, edge), 'attr_edge') r
WHERE col <> 'u' OR operator <> '<>' GROUP BY 1 ORDER BY 1;
-- every value but one, and every value, and values of wider types at and beyond the edges
SELECT condition, r.* FROM unnest(ARRAY['b NOT IN (true)', 'b NOT IN (false, true)',
	'c <> ALL (ARRAY(SELECT g::"char" FROM generate_series(-128, 126) g))', 'c <> ALL (ARRAY(SELECT g::"char" FROM generate_series(-128, 127) g))',
	'c <> ALL (ARRAY(SELECT g::"char" FROM generate_series(-127, 127) g))', 'c = ANY (ARRAY(SELECT g::"char" FROM generate_series(-128, 127) g))',
	'i2 <> ALL (ARRAY(SELECT g::int2 FROM generate_series(-32768, 32766) g))', 'i2 <> ALL (ARRAY(SELECT g::int2 FROM generate_series(-32768, 32767) g))',
	'i2 <> ALL (ARRAY(SELECT g::int2 FROM generate_series(-32767, 32767) g))', 'i2 = ANY (ARRAY(SELECT g::int2 FROM generate_series(-32768, 32767) g))',
	'i2 = 32767::int4', 'i2 = 32768::int4', 'i2 <= 32767::int4', 'i2 >= 32767::int8', 'i2 > 32767::int8', 'i2 < -32768::int4', 'i2 <= -32768::int8', 'i2 > -32769::int4', 'i2 <> 32768::int4',
	'i4 = 2147483647::int8', 'i4 = 2147483648::int8', 'i4 <= 2147483647::int8', 'i4 >= 2147483647::int8', 'i4 > 2147483647::int8', 'i4 < (-2147483648)::int8', 'i4 <= (-2147483648)::int8',
	'i8 <= 32767::int2', 'f4 = 3.4028235e38::float8', 'f4 <= 3.4028234663852886e38::float8', 'f4 > 3.4028234663852886e38::float8', 'f4 >= 1e39::float8', 'f4 < -1e39::float8',
	'f4 > ''infinity''::float8', 'f4 >= ''NaN''::float8', 'f4 <= ''-infinity''::float8', 'f8 > ''infinity''::float4', 'f8 <= ''-infinity''::float4',
	'd = ''infinity''::timestamp', 'd > ''294276-12-31 23:59:59.999999''::timestamp', 'd <= ''4714-11-24 BC''::timestamp', 'd < ''-infinity''::timestamp',
	'ts >= ''5874897-12-31''::date', 'ts <= ''4714-11-24 BC''::date', 'tz = ''infinity''::date', 'tz < ''-infinity''::timestamp', 'tz <= ''-infinity''::timestamp']) condition,
	attr_compare(condition, 'attr_edge') r;
DROP TABLE attr_edge, attr_edges;

-- plans
SET enable_seqscan = off;
EXPLAIN (COSTS OFF)
SELECT id FROM attr_t WHERE i4 BETWEEN 0 AND 1000 AND b ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5;
EXPLAIN (COSTS OFF)
SELECT id FROM attr_t WHERE s = 'tenant 3' ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5;
-- rows without a vector are not in the index, nor is anything without ORDER BY
SELECT * FROM pg_temp.explain($$SELECT id FROM attr_t WHERE v IS NULL AND s = 'tenant 3' ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5$$);
SELECT * FROM pg_temp.explain($$SELECT id FROM attr_t WHERE s = 'tenant 3'$$);
SELECT count(*) FROM attr_t WHERE v IS NULL AND s = 'tenant 7';

-- a parameter that changes from row to row
EXPLAIN (COSTS OFF)
SELECT t, q.id FROM generate_series(0, 3) t, LATERAL (SELECT id FROM attr_t
	WHERE i2 = t * 1638 ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 2) q;
SELECT t, count(*), bool_and(i2 = t * 1638) FROM generate_series(0, 3) t,
	LATERAL (SELECT id, i2 FROM attr_t
	WHERE i2 = t * 1638 ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 2) q GROUP BY 1 ORDER BY 1;

-- what the scan says of it
SET ecp.probes = 1;
SET ecp.iterative_scan = off;
SELECT count(*) FROM (SELECT id FROM attr_t WHERE i4 = 42949672
	ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 3) q;
SELECT probes, clusters > 10 AS widened, windows, vectors BETWEEN 3 AND 60 AS few_compared,
	filtered > 10 * vectors AS most_filtered FROM ecp_last_scan();
RESET ecp.probes;
SET ecp.iterative_scan = relaxed_order;

-- attributes go with their rows: inserted, updated, vacuumed, split, folded
INSERT INTO attr_t (id, v, i4, s, d) SELECT 10000 + i, pg_temp.spread_vector(i, 6), i % 10, 'new ' || i % 10,
	'2021-01-01'::date + i % 10 FROM generate_series(1, 3000) i;
UPDATE attr_t SET i4 = 77, s = 'changed' WHERE id % 10 = 0;
DELETE FROM attr_t WHERE id % 4 = 1;
VACUUM attr_t;
INSERT INTO attr_t (id, v, i4, s, d) SELECT 20000 + i, pg_temp.spread_vector(i * 3, 6), i % 10, 'new ' || i % 10,
	'2021-01-01'::date + i % 10 FROM generate_series(1, 2000) i;
SELECT ecp_maintain(x) IS NOT NULL AS done FROM unnest('{attr_i1,attr_i2,attr_i3}'::regclass[]) x;
SELECT ecp_index_check(x, true) FROM unnest('{attr_i1,attr_i2,attr_i3}'::regclass[]) x;
SELECT condition, r.* FROM unnest(ARRAY['i4 = 77', 'i4 = 3', 'i4 < 0', 'i4 IS NULL', 's = ''changed''', 's = ''new 3''',
	's = ''tenant 3''', 's IS NULL', 'd = ''2021-01-04''', 'd < ''2020-02-01''', 'd IS NULL']) condition, attr_compare(condition) r;

-- an index that starts empty, one whose vectors do not stand on entry pages,
-- one of bytes, one of bytes by cosine, one on part of the table
CREATE TABLE attr_grow (id int, v real[], long real[], bytes bytea, tenant int);
CREATE INDEX attr_grow_i ON attr_grow USING ecp (v, tenant);
CREATE INDEX attr_long_i ON attr_grow USING ecp (long, tenant, id);
CREATE INDEX attr_bytes_i ON attr_grow USING ecp (bytes, tenant);
CREATE INDEX attr_cosine_i ON attr_grow USING ecp (bytes bytea_cosine_ops, tenant) WHERE tenant < 50;
INSERT INTO attr_grow SELECT i, pg_temp.spread_vector(i, 6), (SELECT array_agg((i * j) % 101 ORDER BY j)::real[] FROM generate_series(1, 1400) j),
	decode(lpad(to_hex(i % 251 + 1), 14, '0a0b0c0d0e0f') || '01', 'hex'), i % 100
FROM generate_series(1, 600) i;
REINDEX INDEX attr_bytes_i;
SELECT ecp_index_check(x, true) FROM unnest('{attr_grow_i,attr_long_i,attr_bytes_i,attr_cosine_i}'::regclass[]) x;
SET ecp.iterative_scan = relaxed_order;
SET enable_sort = off;
SELECT * FROM pg_temp.explain($$SELECT id FROM attr_grow WHERE tenant = 7 AND id > 300 ORDER BY long <-> (SELECT long FROM attr_grow WHERE id = 3)$$);
SELECT id FROM attr_grow WHERE tenant = 7 AND id > 300 ORDER BY long <-> (SELECT long FROM attr_grow WHERE id = 3);
SELECT id FROM attr_grow WHERE tenant = 7 ORDER BY v <-> pg_temp.spread_vector(107, 6);
SELECT id FROM attr_grow WHERE tenant = 7 ORDER BY bytes <-> (SELECT bytes FROM attr_grow WHERE id = 307);
EXPLAIN (COSTS OFF) SELECT id FROM attr_grow WHERE tenant = 7 AND tenant < 50 ORDER BY bytes <=> '\x0a0b0c0d0e0f0101';
SELECT count(*) FROM (SELECT id FROM attr_grow WHERE tenant = 7 AND tenant < 50 ORDER BY bytes <=> '\x0a0b0c0d0e0f0101') q;
RESET enable_sort;

-- what cannot be
CREATE INDEX ON attr_t USING ecp (i4, v);
CREATE INDEX ON attr_grow USING ecp (v, long);
CREATE TABLE attr_wide (v real[], a int, b int, c int, d int, e int, f int, g int, h int, i int);
CREATE INDEX ON attr_wide USING ecp (v, a, b, c, d, e, f, g, h, i);
CREATE TABLE attr_wrong (v real[], j tsvector);
CREATE INDEX ON attr_wrong USING ecp (v, j);

-- the operator classes are sound
SELECT opcname FROM pg_opclass JOIN pg_am a ON a.oid = opcmethod
WHERE amname = 'ecp' AND NOT amvalidate(pg_opclass.oid);

DROP TABLE attr_t, attr_grow, attr_wide, attr_wrong;
DROP FUNCTION attr_compare;
DROP TYPE attr_mood;
