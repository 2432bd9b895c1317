--
-- Rows within a radius, and the other conditions that only our own paths give
-- to the index: lists, Boolean columns.  A radius is given to the index where
-- a LIMIT asks for the nearest, or ecp.approximate_radius is on.
--
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\i :explain
\set vectors :src '/test/vectors.sql'
\i :vectors
CREATE TABLE radius_t (id int, v real[], bytes bytea, tenant int, flag boolean, name text);
INSERT INTO radius_t
SELECT i, CASE WHEN i % 50 <> 7 THEN pg_temp.spread_vector(i, 4) END,
	decode(lpad(to_hex(i % 251 + 1), 2, '0') || lpad(to_hex(i % 13 + 1), 2, '0') || '0102', 'hex'),
	i % 20, i % 3 = 0, 'n' || i % 5
FROM generate_series(1, 4000) i;
CREATE INDEX radius_i ON radius_t USING ecp (v, tenant, flag, name);
CREATE INDEX radius_ip_i ON radius_t USING ecp (v real_ip_ops, tenant);
CREATE INDEX radius_cosine_i ON radius_t USING ecp (v real_cosine_ops, tenant);
CREATE INDEX radius_bytes_i ON radius_t USING ecp (bytes);
VACUUM ANALYZE radius_t;
SET enable_seqscan = off;

-- a query for all rows within a radius is exact: no index
CREATE FUNCTION pg_temp.has_radius(query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found boolean := false;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		found := found OR line ~ 'Index Cond: .*@<->';
	END LOOP;
	RETURN found;
END
$$;
SELECT query, pg_temp.has_radius(replace(query, 'near', '(v <-> ''{5,5,5,5}'')')) FROM unnest(ARRAY[
	'SELECT id FROM radius_t WHERE near < 1', 'SELECT id FROM radius_t WHERE near < 1 LIMIT 3',
	'SELECT id FROM radius_t WHERE near < 1 ORDER BY near',
	'SELECT id FROM radius_t WHERE near < 1 ORDER BY near LIMIT ALL',
	'SELECT id FROM radius_t WHERE near < 1 ORDER BY near OFFSET 3',
	'SELECT id FROM radius_t WHERE near < 1 ORDER BY id LIMIT 3',
	'SELECT * FROM (SELECT id FROM radius_t WHERE near < 1 ORDER BY near) q ORDER BY id LIMIT 3',
	'SELECT near, count(*) FROM radius_t WHERE near < 1 GROUP BY 1 ORDER BY 1 LIMIT 3',
	'SELECT id, count(*) OVER () FROM radius_t WHERE near < 1 ORDER BY near LIMIT 3',
	'SELECT id, rank() OVER (ORDER BY near) FROM radius_t WHERE near < 1 ORDER BY id LIMIT 3',
	'SELECT id FROM radius_t WHERE id NOT IN (SELECT id FROM radius_t WHERE near < 1 ORDER BY near)',
	'SELECT FROM (VALUES (1)) x WHERE EXISTS (SELECT FROM radius_t WHERE near < 1)',
	'DELETE FROM radius_t WHERE near < 1',
	'UPDATE radius_t SET id = 0 FROM (VALUES (1)) x WHERE near < 1',
	'SELECT id FROM radius_t WHERE v @<-> ROW(''{5,5,5,5}'', 1)::ecp_real_ball']) query;
SET ecp.probes = 1;
SELECT count(*) = (SELECT count(*) FILTER (WHERE d < 3) FROM (SELECT v <-> '{5,5,5,5}' AS d FROM radius_t) q) AS exact
FROM radius_t WHERE v <-> '{5,5,5,5}' < 3;
RESET ecp.probes;
-- one for the nearest rows within it is not
SELECT query, pg_temp.has_radius(replace(query, 'near', '(v <-> ''{5,5,5,5}'')')) FROM unnest(ARRAY[
	'SELECT id FROM radius_t WHERE near < 1 ORDER BY near LIMIT 3',
	'SELECT id FROM radius_t WHERE near < 1 ORDER BY near LIMIT (SELECT 3)',
	'SELECT id, rank() OVER (ORDER BY near) FROM radius_t WHERE near < 1 ORDER BY near LIMIT 3',
	'SELECT count(*) FROM (SELECT id FROM radius_t WHERE near < 1 ORDER BY near LIMIT 3) q',
	'SELECT * FROM (SELECT id FROM radius_t WHERE near < 1 ORDER BY near) q LIMIT 3',
	'DECLARE c CURSOR FOR SELECT id FROM radius_t WHERE near < 1 ORDER BY near',
	'SELECT min(near) FROM radius_t WHERE near < 1']) query;

-- plans: a radius with and without order
SET ecp.approximate_radius = on;
EXPLAIN (COSTS OFF) SELECT id FROM radius_t WHERE v <-> '{5,5,5,5}' < 1;
EXPLAIN (COSTS OFF) SELECT id FROM radius_t WHERE 1.5 >= '{5,5,5,5}' <-> v AND tenant = 3;
EXPLAIN (COSTS OFF) SELECT id FROM radius_t WHERE v <-> '{5,5,5,5}' <= 1
ORDER BY v <-> '{5,5,5,5}' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM radius_t WHERE v <#> '{5,5,5,5}' < -100 ORDER BY v <#> '{5,5,5,5}';
EXPLAIN (COSTS OFF) SELECT id FROM radius_t WHERE v <=> '{5,5,5,5}' < 0.1;
EXPLAIN (COSTS OFF) SELECT id FROM radius_t WHERE bytes <-> '\x05050102' < 3;
-- conditions from either side, whose operator may be its own commutator
EXPLAIN (COSTS OFF) SELECT id FROM radius_t WHERE 3 = tenant AND v <-> '{5,5,5,5}' < 1;
EXPLAIN (COSTS OFF) SELECT id FROM radius_t WHERE 3::bigint = tenant AND 'n1' = name AND 1 > '{5,5,5,5}' <-> v
ORDER BY '{5,5,5,5}' <-> v LIMIT 10;
-- a radius around something else than what the order is from is a filter
EXPLAIN (COSTS OFF) SELECT id FROM radius_t WHERE v <-> '{5,5,5,5}' < 1
ORDER BY v <-> '{1,1,1,1}';
-- not a radius
SELECT * FROM pg_temp.explain($$SELECT id FROM radius_t WHERE v <-> '{5,5,5,5}' > 1$$);
-- of each row of another table
EXPLAIN (COSTS OFF) SELECT g, n FROM generate_series(1, 3) g, LATERAL (SELECT count(*) AS n
	FROM radius_t WHERE v <-> pg_temp.spread_vector(g, 4) < 0.5) r;

-- lists and Boolean columns
EXPLAIN (COSTS OFF) SELECT id FROM radius_t WHERE tenant IN (3, 5) AND flag AND name = ANY ('{n1,n2,NULL}')
ORDER BY v <-> '{5,5,5,5}' LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM radius_t WHERE NOT flag AND 3 > tenant AND name IS NOT NULL
ORDER BY v <-> '{5,5,5,5}' LIMIT 10;
-- but no index without an order or a radius, nor a list that is an exclusion
SELECT * FROM pg_temp.explain($$SELECT id FROM radius_t WHERE tenant IN (3, 5)$$);
EXPLAIN (COSTS OFF) SELECT id FROM radius_t WHERE tenant <> ALL ('{3,5}') ORDER BY v <-> '{5,5,5,5}';

-- the same rows as without the index
CREATE FUNCTION radius_compare(condition text,
	OUT in_index boolean, OUT got bigint, OUT same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id FROM radius_t WHERE %s', condition);
	line text;
	index_rows int[];
	table_rows int[];
BEGIN
	in_index := false;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		in_index := in_index OR line ~ 'Index Cond';
	END LOOP;
	EXECUTE 'SELECT array_agg(id) FROM (' || query || ') q' INTO index_rows;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	EXECUTE 'SELECT array_agg(id) FROM (' || query || ') q' INTO table_rows;
	got := cardinality(index_rows);
	same := (SELECT array_agg(x ORDER BY x) FROM unnest(index_rows) x) IS NOT DISTINCT FROM
		(SELECT array_agg(x ORDER BY x) FROM unnest(table_rows) x);
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_indexscan = on;
END
$$;
SET ecp.iterative_scan = relaxed_order;
SELECT condition, r.* FROM unnest(ARRAY[
	'v <-> ''{5,5,5,5}'' < 2', 'v <-> ''{5,5,5,5}'' <= 2', '2 > v <-> ''{5,5,5,5}'' AND tenant < 5',
	'v <-> ''{5,5,5,5}'' < 100', 'v <-> ''{5,5,5,5}'' < 0', 'v <-> ''{5,5,5,5}'' < -1',
	'v <-> ''{5,5,5,5}'' < ''infinity''', 'v <-> ''{5,5,5,5}'' < ''NaN''', 'v <-> ''{5,5,5,5}'' < ''-infinity''',
	'v <-> ''{5,5,5,5}'' < NULL', 'v <-> NULL < 2', 'v <-> (SELECT NULL::real[]) < 2',
	'v <-> ''{5,5,5,5}'' < (SELECT NULL::float8)', 'v <-> ''{5,5,5,5}'' < (SELECT 2::float8)',
	'v <-> (SELECT pg_temp.spread_vector(77, 4)) <= 0', 'v <-> ''{5,5,5,5}'' BETWEEN 1 AND 2',
	'v <-> ''{5,5,5,5}'' < 2 AND v <-> ''{5,5,5,5}'' < 1.5', 'v <-> ''{5,5,5,5}'' < 2 AND v <-> ''{6,6,6,6}'' < 2',
	'v <-> ''{5,5,5,5}'' < 2 AND v IS NOT NULL AND name = ''n1''',
	'v <#> ''{5,5,5,5}'' < -120', 'v <#> ''{5,5,5,5}'' < 0', 'v <#> ''{5,5,5,5}'' <= 1',
	'v <=> ''{5,5,5,5}'' < 0.05', 'v <=> ''{5,5,5,5}'' < 2', 'v <=> ''{0,0,0,0}'' < 2',
	'bytes <-> ''\x05050102'' < 4', 'bytes <-> ''\x05050102'' <= 0',
	'v @<-> ROW(''{5,5,5,5}'', 2)::ecp_real_ball']) condition, radius_compare(condition) r;
SET enable_sort = off;
SELECT condition, r.got, r.same FROM unnest(ARRAY[
	'v <-> ''{5,5,5,5}'' < 2', 'v <-> ''{5,5,5,5}'' < 2 AND tenant IN (1, 2, 17, 400)',
	'tenant IN (1, 2, 17, 400) AND v IS NOT NULL', 'tenant < ANY (''{3,4}'') AND v IS NOT NULL',
	'tenant = ANY (ARRAY[]::int[]) AND v IS NOT NULL', 'tenant = ANY (NULL::int[]) AND v IS NOT NULL',
	'tenant = ANY ((SELECT array_agg(g) FROM generate_series(3, 4) g)::int[]) AND v IS NOT NULL',
	'tenant IN (3, 5000000000) AND v IS NOT NULL', 'flag AND v IS NOT NULL', 'NOT flag AND v IS NOT NULL',
	'flag IS TRUE AND tenant IN (3, 4) AND v IS NOT NULL',
	'name IN (''n1'', ''n3'', NULL) AND v IS NOT NULL']) condition,
	radius_compare('id IN (SELECT id FROM radius_t WHERE ' || condition || ' ORDER BY v <-> ''{5,5,5,5}'')') r;
RESET enable_sort;

-- a small radius stops early, an order with LIMIT does not read what it need not
SET ecp.probes = 2;
SELECT count(*) FROM radius_t WHERE v <-> '{5,5,5,5}' < 0.8;
SELECT clusters < 15 AS few_clusters, stop FROM ecp_last_scan();
SELECT count(*) FROM (SELECT id FROM radius_t WHERE v <-> '{5,5,5,5}' < 100 ORDER BY v <-> '{5,5,5,5}' LIMIT 5) q;
SELECT clusters < 15 AS few_clusters, stop FROM ecp_last_scan();
RESET ecp.probes;

-- row security: conditions that could leak are not given to the index
CREATE ROLE radius_reader;
GRANT SELECT ON radius_t TO radius_reader;
ALTER TABLE radius_t ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON radius_t USING (tenant IN (3, 4));
SET ROLE radius_reader;
EXPLAIN (COSTS OFF) SELECT id FROM radius_t ORDER BY v <-> '{5,5,5,5}' LIMIT 5;
SELECT count(*), min(tenant), max(tenant) FROM (SELECT tenant FROM radius_t WHERE v <-> '{5,5,5,5}' < 100) q;
RESET ROLE;

-- partitions
CREATE TABLE radius_p (id int, v real[], tenant int) PARTITION BY HASH (id);
CREATE TABLE radius_p0 PARTITION OF radius_p FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE radius_p1 PARTITION OF radius_p FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO radius_p SELECT id, v, tenant FROM radius_t;
CREATE INDEX radius_pi ON radius_p USING ecp (v, tenant);
VACUUM ANALYZE radius_p;
EXPLAIN (COSTS OFF) SELECT id FROM radius_p WHERE v <-> '{5,5,5,5}' < 1 AND tenant IN (3, 4) ORDER BY v <-> '{5,5,5,5}' LIMIT 3;
SELECT count(*) FROM radius_p WHERE v <-> '{5,5,5,5}' < 2 AND tenant IN (3, 4);
SELECT count(*) FROM radius_t WHERE v <-> '{5,5,5,5}' < 2 AND tenant IN (3, 4);

DROP TABLE radius_t, radius_p;
DROP ROLE radius_reader;
DROP FUNCTION radius_compare;
