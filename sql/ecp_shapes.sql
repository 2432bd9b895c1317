--
-- Shapes of queries: that an ecp index is used for those of which
-- doc/troubleshooting.md says so, with the answer of a sort, and not for the
-- others of its table, beside what it says to write instead.
--
\getenv src PG_ABS_SRCDIR
\set shapes :src '/test/shapes.sql'
\i :shapes
-- no two rows of these are at the same distance, nor in the same direction
CREATE FUNCTION shapes_vector(i bigint) RETURNS real[] LANGUAGE sql IMMUTABLE AS
	'SELECT ARRAY[(i * 7919) % 1009 / 101.0, (i * 104729) % 997 / 99.3, (i * 1299709) % 991 / 97.7, (i * 15485863) % 983 / 95.1]::real[]';
CREATE TABLE shapes_t (id int PRIMARY KEY, tenant int, doc int, v real[] NOT NULL, w real[]);
INSERT INTO shapes_t
SELECT i, i % 7, i / 3, shapes_vector(i), CASE WHEN i % 50 <> 0 THEN shapes_vector(i) END
FROM generate_series(1, 5000) i;
CREATE INDEX shapes_l2 ON shapes_t USING ecp (v);
CREATE INDEX shapes_cosine ON shapes_t USING ecp (v real_cosine_ops);
CREATE INDEX shapes_ip ON shapes_t USING ecp (v real_ip_ops);
CREATE INDEX shapes_null ON shapes_t USING ecp (w);
CREATE TABLE shapes_q (id int PRIMARY KEY, q real[], words text);
INSERT INTO shapes_q SELECT i, shapes_vector(i * 77 + 5), shapes_vector(i * 77 + 5)::text FROM generate_series(1, 20) i;
-- vectors that are no rows of the table
CREATE TABLE shapes_r AS SELECT i AS id, ARRAY[i * 0.37, i * 0.71, 10 - i * 0.29, i * 0.53]::real[] AS q FROM generate_series(1, 20) i;
CREATE TABLE shapes_parts (id int, v real[] NOT NULL) PARTITION BY RANGE (id);
CREATE TABLE shapes_part1 PARTITION OF shapes_parts FOR VALUES FROM (0) TO (2500);
CREATE TABLE shapes_part2 PARTITION OF shapes_parts FOR VALUES FROM (2500) TO (6000);
INSERT INTO shapes_parts SELECT id, v FROM shapes_t;
CREATE INDEX ON shapes_parts USING ecp (v);
CREATE TABLE shapes_base (id int, v real[] NOT NULL);
CREATE TABLE shapes_heir () INHERITS (shapes_base);
INSERT INTO shapes_base SELECT id, v FROM shapes_t WHERE id % 2 = 0;
INSERT INTO shapes_heir SELECT id, v FROM shapes_t WHERE id % 2 = 1;
CREATE INDEX ON shapes_base USING ecp (v);
CREATE INDEX ON shapes_heir USING ecp (v);
CREATE VIEW shapes_view AS SELECT id, tenant, v FROM shapes_t WHERE tenant > 1;
CREATE VIEW shapes_barrier WITH (security_barrier) AS SELECT id, tenant, v FROM shapes_t WHERE tenant > 1;
CREATE VIEW shapes_groups AS SELECT id, doc, v FROM shapes_t WHERE tenant > 1;
CREATE FUNCTION shapes_near(q real[], k int) RETURNS TABLE (id int) LANGUAGE sql STABLE AS
	'SELECT id FROM shapes_t ORDER BY v <-> q LIMIT k';
CREATE FUNCTION shapes_embed(words text) RETURNS real[] LANGUAGE plpgsql STABLE AS
	'BEGIN RETURN words::real[]; END';
VACUUM ANALYZE shapes_t, shapes_q, shapes_r, shapes_parts, shapes_base, shapes_heir;

-- where the query vector comes from
SELECT query, s.* FROM unnest(ARRAY[
	'SELECT id FROM shapes_t ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY ''{5,5,5,5}''::real[] <-> v LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY v <-> ARRAY[5, 5, 5, 5] LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY v <-> ''{5,5,5,5}''::double precision[] LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY v <-> shapes_embed(''{5,5,5,5}'') LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY v <-> (SELECT q FROM shapes_q WHERE id = 3) LIMIT 10',
	'WITH q AS (SELECT ''{5,5,5,5}''::real[] AS q) SELECT id FROM shapes_t, q ORDER BY v <-> q.q LIMIT 10',
	'WITH q AS MATERIALIZED (SELECT ''{5,5,5,5}''::real[] AS q) SELECT id FROM shapes_t, q ORDER BY v <-> q.q LIMIT 10',
	'WITH q AS MATERIALIZED (SELECT q FROM shapes_q WHERE id = 3) SELECT id FROM shapes_t ORDER BY v <-> (SELECT q FROM q) LIMIT 10',
	'WITH q AS MATERIALIZED (SELECT q FROM shapes_q WHERE id = 3 LIMIT 1) SELECT id FROM shapes_t, q ORDER BY v <-> q.q LIMIT 10',
	'WITH q AS (SELECT q FROM shapes_q WHERE id = 3) SELECT id FROM shapes_t, q ORDER BY v <-> q.q LIMIT 10',
	'SELECT t.id FROM shapes_t t, shapes_q q WHERE q.id = 3 ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id FROM shapes_t t JOIN shapes_t x ON t.id <> x.id WHERE x.id = 3 ORDER BY t.v <-> x.v LIMIT 10',
	'SELECT t.id FROM shapes_t t JOIN shapes_t x ON t.tenant = x.tenant WHERE x.id = 3 ORDER BY 1 - (t.v <=> x.v) DESC, t.id LIMIT 10',
	'SELECT t.id FROM shapes_t t JOIN shapes_t x ON t.v <-> x.v < 1 WHERE x.id = 3 ORDER BY t.v <-> x.v LIMIT 10',
	'SELECT t.id, d.tenant FROM shapes_t t JOIN shapes_q q ON q.id = 3 JOIN (SELECT DISTINCT tenant FROM shapes_t) d ON d.tenant = t.tenant ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id FROM shapes_t t, shapes_q q WHERE q.id = 300 ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id FROM shapes_t t, (SELECT q FROM shapes_q ORDER BY id LIMIT 1) q ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id FROM shapes_t t, (SELECT max(q) AS q FROM shapes_q) q ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id FROM shapes_t t, shapes_embed(''{5,5,5,5}'') q ORDER BY t.v <-> q LIMIT 10',
	'SELECT q.id, n.id FROM shapes_q q, LATERAL (SELECT t.id FROM shapes_t t ORDER BY t.v <-> q.q LIMIT 3) n ORDER BY q.id, n.id',
	'SELECT q.id, n.id FROM shapes_q q LEFT JOIN LATERAL (SELECT t.id FROM shapes_t t WHERE t.tenant = q.id % 7 ORDER BY t.v <-> q.q LIMIT 3) n ON true ORDER BY q.id, n.id',
	'SELECT id FROM shapes_near(''{5,5,5,5}'', 10)',
	'SELECT q.id, n.id FROM shapes_q q, shapes_near(q.q, 3) n ORDER BY q.id, n.id']) AS query, pg_temp.shape(query) s;
-- the LIMIT reaches the inner side of the join
SELECT count(*) FROM (SELECT t.id FROM shapes_t t, shapes_q q WHERE q.id = 3 ORDER BY t.v <-> q.q LIMIT 7) s;
SELECT wanted, returned FROM ecp_last_scan();
-- of several rows, for each of which the LIMIT is that of the query
SELECT query, s.* FROM unnest(ARRAY[
	'SELECT t.id, q.id FROM shapes_t t, shapes_r q WHERE q.id < 3 ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id, q.id FROM shapes_t t, shapes_r q ORDER BY t.v <-> q.q LIMIT 10 OFFSET 5',
	'SELECT t.id, q.id FROM shapes_t t, shapes_r q WHERE q.id < 3 ORDER BY 1 - (t.v <=> q.q) DESC LIMIT (SELECT 10)',
	'SELECT t.id, q.id FROM shapes_t t JOIN shapes_r q ON t.tenant = q.id % 7 ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id, q.id FROM shapes_t t JOIN shapes_r q ON t.v <-> q.q < 2 ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id, q.id FROM shapes_t t, shapes_r q WHERE q.id < 3 AND t.tenant = 3 AND t.id + q.id > 30 ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id FROM shapes_t t, shapes_q q WHERE q.words = (SELECT words FROM shapes_q WHERE id = 3) ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id FROM shapes_t t, (SELECT q FROM shapes_r ORDER BY id LIMIT 2) q ORDER BY t.v <-> q.q LIMIT 10',
	'WITH q AS MATERIALIZED (SELECT q FROM shapes_r WHERE id < 4) SELECT id FROM shapes_t, q ORDER BY v <-> q.q LIMIT 10',
	'WITH q AS MATERIALIZED (SELECT q FROM shapes_q WHERE id = 3) SELECT id FROM shapes_t, q ORDER BY v <-> q.q LIMIT 10',
	'WITH q(q) AS (VALUES (''{5,5,5,5}''::real[]), (''{1,2,3,4}'')) SELECT id FROM shapes_t, q ORDER BY v <-> q.q LIMIT 10',
	'SELECT t.id FROM shapes_t t, shapes_r q, generate_series(3, 4) p WHERE q.id < 3 AND p = t.tenant ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id FROM shapes_t t, unnest(ARRAY[''{5,5,5,5}'', ''{1,2,3,4}'']) u(q) ORDER BY t.v <-> u.q::real[] LIMIT 10']) AS query, pg_temp.shape(query) s;
-- the LIMIT of the query is not that of each row, or the table has partitions
SELECT query, s.* FROM unnest(ARRAY[
	'SELECT t.id, q.id FROM shapes_t t, shapes_r q WHERE q.id < 3 ORDER BY t.v <-> q.q, t.id LIMIT 10',
	'SELECT t.id, q.id FROM shapes_t t, shapes_r q WHERE q.id < 3 ORDER BY t.v <-> q.q FETCH FIRST 10 ROWS WITH TIES',
	'SELECT DISTINCT t.id, t.v <-> q.q FROM shapes_t t, shapes_r q WHERE q.id < 3 ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id, generate_series(1, t.tenant) FROM shapes_t t, shapes_r q WHERE q.id < 3 ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id, rank() OVER (ORDER BY t.id) FROM shapes_t t, shapes_r q WHERE q.id < 3 ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id, q.id FROM shapes_t t JOIN shapes_r q ON q.id < 3 LEFT JOIN shapes_q p ON p.id = t.tenant WHERE p.id IS NULL ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id, q.id FROM shapes_t t, shapes_r q WHERE q.id < 3 AND random() >= 0 ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id, q.id FROM shapes_t t, shapes_r q WHERE q.id < 3 ORDER BY t.v <-> q.q LIMIT 10 FOR UPDATE OF t SKIP LOCKED',
	'SELECT t.id FROM shapes_t t LEFT JOIN shapes_q q ON q.id = 3 ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id FROM shapes_parts t, shapes_q q WHERE q.id = 3 ORDER BY t.v <-> q.q LIMIT 10',
	'SELECT t.id FROM shapes_parts t ORDER BY t.v <-> (SELECT q FROM shapes_q WHERE id = 3) LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY v <-> (SELECT q FROM shapes_q WHERE shapes_q.id = shapes_t.tenant) LIMIT 10']) AS query, pg_temp.shape(query) s;
-- the nearest of which each group has a few: rows are numbered as they come
SELECT query, s.* FROM unnest(ARRAY[
	'SELECT id, d FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, row_number() OVER (PARTITION BY doc ORDER BY v <-> ''{5,5,5,5}'') AS r FROM shapes_t) s WHERE r = 1 ORDER BY d LIMIT 10',
	'SELECT * FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, row_number() OVER (PARTITION BY tenant ORDER BY v <-> ''{5,5,5,5}'') AS r FROM shapes_t) s WHERE r <= 2 ORDER BY d LIMIT 12',
	'SELECT * FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, 3 + row_number() OVER w AS r, 2 * row_number() OVER w AS s FROM shapes_t WINDOW w AS (PARTITION BY tenant ORDER BY v <-> ''{5,5,5,5}'')) s WHERE r < 6 ORDER BY d LIMIT 12',
	'SELECT * FROM (SELECT id, doc % 5 AS g, 1 - (v <=> ''{5,5,5,5}'') AS s, row_number() OVER (PARTITION BY nullif(doc % 5, 2) ORDER BY 1 - (v <=> ''{5,5,5,5}'') DESC) AS r FROM shapes_t WHERE tenant > 1) s WHERE r < 4 AND id > 7 ORDER BY s DESC LIMIT 12 OFFSET 2',
	'SELECT * FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, row_number() OVER (PARTITION BY doc::text || ''x'' ORDER BY v <-> ''{5,5,5,5}'') AS r FROM shapes_t) s ORDER BY d, id LIMIT 10',
	'WITH s AS (SELECT *, v <-> ''{5,5,5,5}'' AS d, row_number() OVER (PARTITION BY doc ORDER BY v <-> ''{5,5,5,5}'') AS r FROM shapes_groups) SELECT id, r FROM s WHERE r < 3 ORDER BY d LIMIT 10',
	'SELECT q.id, n.id, n.r FROM shapes_q q, LATERAL (SELECT * FROM (SELECT id, v <-> q.q AS d, row_number() OVER (PARTITION BY tenant ORDER BY v <-> q.q) AS r FROM shapes_t) s WHERE r = 1 ORDER BY d LIMIT 3) n ORDER BY 1, 2']) AS query, pg_temp.shape(query) s;
CREATE FUNCTION pg_temp.shape_nodes(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT concat_ws(' ', node ->> 'Node Type', node ->> 'Custom Plan Provider')
	FROM jsonb_path_query(plan, 'strict $.**') node WHERE jsonb_typeof(node) = 'object' AND node ? 'Node Type';
END $$;
SELECT pg_temp.shape_nodes('SELECT * FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, row_number() OVER (PARTITION BY tenant ORDER BY v <-> ''{5,5,5,5}'') AS r FROM shapes_t) s WHERE r = 1 ORDER BY d LIMIT 5');
SELECT count(*) FROM (SELECT * FROM (SELECT id, v <-> '{5,5,5,5}' AS d, row_number() OVER (PARTITION BY tenant ORDER BY v <-> '{5,5,5,5}') AS r FROM shapes_t) s WHERE r = 1 ORDER BY d LIMIT 5) n;
SELECT wanted, returned FROM ecp_last_scan();
-- all rows are wanted, or not by these numbers in this order alone
SELECT query, s.* FROM unnest(ARRAY[
	'SELECT * FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, row_number() OVER (PARTITION BY doc ORDER BY v <-> ''{5,5,5,5}'') AS r FROM shapes_t) s WHERE r = 1 ORDER BY d',
	'SELECT * FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, row_number() OVER (PARTITION BY doc ORDER BY v <-> ''{5,5,5,5}'') AS r FROM shapes_t) s WHERE r = 1 ORDER BY id LIMIT 10',
	'SELECT * FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, row_number() OVER (PARTITION BY doc ORDER BY v <-> ''{5,5,5,5}'') AS r FROM shapes_t) s WHERE r = 1 ORDER BY d DESC LIMIT 10',
	'SELECT * FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, row_number() OVER (PARTITION BY doc ORDER BY v <-> ''{5,5,5,6}'') AS r FROM shapes_t) s WHERE r = 1 ORDER BY d LIMIT 10',
	'SELECT * FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, rank() OVER (PARTITION BY doc ORDER BY v <-> ''{5,5,5,5}'') AS r FROM shapes_t) s WHERE r = 1 ORDER BY d LIMIT 10',
	'SELECT * FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, row_number() OVER (PARTITION BY doc, tenant ORDER BY v <-> ''{5,5,5,5}'') AS r FROM shapes_t) s WHERE r = 1 ORDER BY d LIMIT 10',
	'SELECT s.* FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, row_number() OVER (PARTITION BY doc ORDER BY v <-> ''{5,5,5,5}'') AS r FROM shapes_t) s JOIN shapes_q q USING (id) WHERE r = 1 ORDER BY d LIMIT 10',
	'SELECT count(*) FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, row_number() OVER (PARTITION BY doc ORDER BY v <-> ''{5,5,5,5}'') AS r FROM shapes_t) s WHERE r = 1 GROUP BY d ORDER BY d LIMIT 10',
	'SELECT * FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, row_number() OVER (PARTITION BY doc ORDER BY v <-> ''{5,5,5,5}'') AS r FROM shapes_t LIMIT 100) s WHERE r = 1 ORDER BY d LIMIT 10']) AS query, pg_temp.shape(query) s;
-- parameters: of a known type, of one that the operator decides, of text
PREPARE shapes_1(real[], int) AS SELECT id FROM shapes_t ORDER BY v <-> $1 LIMIT $2;
PREPARE shapes_2 AS SELECT id FROM shapes_t ORDER BY v <-> $1 LIMIT 5;
PREPARE shapes_3(text) AS SELECT id FROM shapes_t ORDER BY v <-> $1::real[] LIMIT 5;
PREPARE shapes_4(real[], float8) AS SELECT id FROM shapes_t WHERE 1 - (v <=> $1) > $2 ORDER BY 1 - (v <=> $1) DESC LIMIT 5;
\set VERBOSITY terse
PREPARE shapes_5(text) AS SELECT id FROM shapes_t ORDER BY v <-> $1 LIMIT 5;
\set VERBOSITY default
PREPARE shapes_6(real[], real[], float8) AS SELECT id FROM shapes_t WHERE v <-> $1 < $3 ORDER BY v <-> $2 LIMIT 5;
SELECT parameter_types FROM pg_prepared_statements WHERE name = 'shapes_2';
SET plan_cache_mode = force_custom_plan;
SELECT query, s.* FROM unnest(ARRAY['EXECUTE shapes_1(''{5,5,5,5}'', 5)', 'EXECUTE shapes_2(''{5,5,5,5}'')', 'EXECUTE shapes_3(''{5,5,5,5}'')',
	'EXECUTE shapes_4(''{5,5,5,5}'', 0.99)']) AS query, pg_temp.shape(query) s;
SET plan_cache_mode = force_generic_plan;
SELECT query, s.* FROM unnest(ARRAY['EXECUTE shapes_1(''{5,5,5,5}'', 5)', 'EXECUTE shapes_2(''{5,5,5,5}'')', 'EXECUTE shapes_3(''{5,5,5,5}'')',
	'EXECUTE shapes_4(''{5,5,5,5}'', 0.99)', 'EXECUTE shapes_4(''{5,5,5,5}'', NULL)', 'EXECUTE shapes_4(NULL, 0.99)',
	'EXECUTE shapes_6(''{5,5,5,5}'', ''{5,5,5,5}'', 1.5)', 'EXECUTE shapes_6(''{5,5,5,5}'', ''{4,5,6,7}'', 1.5)', 'EXECUTE shapes_6(''{5,5,5,5}'', ''{9,9,9,9}'', 1.5)',
	'EXECUTE shapes_6(NULL, ''{5,5,5,5}'', 1.5)', 'EXECUTE shapes_6(''{5,5,5,5}'', ''{5,5,5,5}'', NULL)']) AS query, pg_temp.shape(query) s;
-- the query vector is sent twice: a search ends at the radius if both are the same
SET ecp.probes = 1;
EXECUTE shapes_6('{5,5,5,5}', '{5,5,5,5}', 1.5);
SELECT stop FROM ecp_last_scan();
EXECUTE shapes_6('{5,5,5,5}', '{5,5,5,5.5}', 1.5);
SELECT stop FROM ecp_last_scan();
CREATE TEMP TABLE shapes_unordered AS EXECUTE shapes_6('{5,5,5,5}', NULL, 1.5);
SELECT count(*) FROM shapes_unordered;
RESET ecp.probes;
RESET plan_cache_mode;
-- a variable of PL/pgSQL
CREATE FUNCTION shapes_variable(OUT ids int[], OUT wanted bigint) LANGUAGE plpgsql AS $$
DECLARE
	vector real[] := '{5,5,5,5}';
	n int := 5;
BEGIN
	ids := ARRAY(SELECT id FROM shapes_t ORDER BY v <-> vector LIMIT n);
	wanted := (SELECT s.wanted FROM ecp_last_scan() s);
END $$;
SELECT v.*, ids = ARRAY(SELECT id FROM shapes_near('{5,5,5,5}', 5)) AS equal FROM shapes_variable() v;

-- the order
SELECT query, s.* FROM unnest(ARRAY[
	'SELECT id FROM shapes_t ORDER BY 1 - (v <=> ''{5,5,5,5}'') DESC LIMIT 10',
	'SELECT id, 1 - (v <=> ''{5,5,5,5}'') AS similarity FROM shapes_t ORDER BY similarity DESC LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY (v <=> ''{5,5,5,5}'') - 1 LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY (2 - (v <=> ''{5,5,5,5}'')) / 2 DESC LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY -(v <-> ''{5,5,5,5}'') DESC LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY (v <-> ''{5,5,5,5}'') * 2 LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY -0.5 * (v <-> ''{5,5,5,5}'') DESC LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY (v <#> ''{5,5,5,5}'') * -1 DESC LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY 1 / (1 + (v <-> ''{5,5,5,5}'')) DESC LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY sqrt(v <-> ''{5,5,5,5}'') LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY (v <-> ''{5,5,5,5}'')::real LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY (SELECT 3::float8) - (v <-> ''{5,5,5,5}'') DESC LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY floor(v <-> ''{5,5,5,5}''), id LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY v <-> ''{5,5,5,5}'', id DESC LIMIT 10',
	'SELECT id, v <-> ''{5,5,5,5}'' AS distance FROM shapes_t ORDER BY distance LIMIT 10',
	'SELECT id, v <-> ''{5,5,5,5}'' AS distance FROM shapes_t ORDER BY 2, 1 LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY v <-> ''{5,5,5,5}'' NULLS FIRST LIMIT 10',
	'SELECT id FROM shapes_t WHERE w IS NOT NULL ORDER BY 1 - (w <-> ''{5,5,5,5}'') DESC LIMIT 10',
	'SELECT id FROM shapes_t WHERE 1 - (w <-> ''{5,5,5,5}'') < 10 ORDER BY 1 - (w <-> ''{5,5,5,5}'') DESC LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY 1 - (w <-> ''{5,5,5,5}'') DESC NULLS LAST LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY v <-> ''{5,5,5,5}'' OFFSET 10 LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY v <-> ''{5,5,5,5}'' FETCH FIRST 10 ROWS WITH TIES',
	'SELECT id FROM shapes_t ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10 FOR UPDATE',
	'SELECT id FROM shapes_t ORDER BY 1 - (v <=> ''{5,5,5,5}'') DESC LIMIT 10 FOR SHARE SKIP LOCKED',
	'SELECT min(v <-> ''{5,5,5,5}'') FROM shapes_t']) AS query, pg_temp.shape(query) s;
-- not these: another order, or not for sure the same
SELECT query, s.* FROM unnest(ARRAY[
	'SELECT id FROM shapes_t ORDER BY v <-> ''{5,5,5,5}'' DESC LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY 1 - (v <=> ''{5,5,5,5}'') LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY 1 - (w <-> ''{5,5,5,5}'') DESC LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY (v <-> ''{5,5,5,5}'') * 0, id LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY (v <-> ''{5,5,5,5}'') * (SELECT 2), id LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY 1 / (v <-> ''{5,5,5,5}'') DESC LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY 1 / ((v <-> ''{5,5,5,5}'') - 3) DESC LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY 1 / (1 + (v <#> ''{5,5,5,5}'')) DESC LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY (v <-> ''{5,5,5,5}'') + random() * 0, id LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY round((v <-> ''{5,5,5,5}'')::numeric, 3), id LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY power(v <-> ''{5,5,5,5}'', 2) LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY exp(-(v <-> ''{5,5,5,5}'')) DESC LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY 0.7 * (v <-> ''{5,5,5,5}'') + 0.3 * tenant, id LIMIT 10',
	'SELECT id FROM shapes_t ORDER BY tenant, v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id, d FROM (SELECT id, d, row_number() OVER (ORDER BY d, id) FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d FROM shapes_t ORDER BY d LIMIT 30) s) s ORDER BY round(d::numeric, 3), id LIMIT 10',
	'SELECT id FROM (SELECT id, tenant, v <-> ''{5,5,5,5}'' AS d FROM shapes_t ORDER BY d LIMIT 100) s ORDER BY 0.7 * d + 0.3 * tenant, id LIMIT 10'])
	AS query, pg_temp.shape(query) s;

-- thresholds; the bound is never too small
SELECT query, s.* FROM unnest(ARRAY[
	'SELECT id FROM shapes_t WHERE 1 - (v <=> ''{5,5,5,5}'') > 0.995 ORDER BY v <=> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE 1 - (v <=> ''{5,5,5,5}'') >= 0.995 ORDER BY 1 - (v <=> ''{5,5,5,5}'') DESC, id LIMIT 200',
	'SELECT id FROM shapes_t WHERE 0.99 < 1 - (v <=> ''{5,5,5,5}'') ORDER BY 1 - (v <=> ''{5,5,5,5}'') DESC LIMIT 10',
	'SELECT id FROM shapes_t WHERE (v <#> ''{5,5,5,5}'') * -1 > 150 ORDER BY v <#> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE -(v <-> ''{5,5,5,5}'') > -2 ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE 10 + (v <-> ''{5,5,5,5}'') <= 12 ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE 1 - (v <=> ''{5,5,5,5}'') > -1.7976931348623157e308 ORDER BY v <=> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE 1 - (v <=> ''{5,5,5,5}'') > ''infinity'' ORDER BY v <=> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE 1 - (v <=> ''{5,5,5,5}'') > ''NaN'' ORDER BY v <=> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE round(cast(v <=> ''{5,5,5,5}'' AS numeric), 8) <= round(2 - 2 * 0.998, 8) ORDER BY v <=> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE 0.99 < round((1 - (v <=> ''{5,5,5,5}''))::numeric, 2) ORDER BY v <=> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE round((v <-> ''{5,5,5,5}'')::numeric) <= 1 ORDER BY v <-> ''{5,5,5,5}'' LIMIT 200',
	'SELECT id FROM shapes_t WHERE (v <-> ''{5,5,5,5}'')::numeric < 1e400 ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE (v <-> ''{5,5,5,5}'')::numeric < ''NaN'' ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE round((v <-> ''{5,5,5,5}'')::numeric, -1) < 10 ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE (v <-> ''{5,5,5,5}'')::numeric < id / 1e4 ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE 1 - (v <=> ''{5,5,5,5}'') < 0.9 ORDER BY v <=> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE (v <-> ''{5,5,5,5}'') * 2 < 2 ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t WHERE 1 - (v <=> (SELECT q FROM shapes_q WHERE id = 3)) > 0.9 ORDER BY v <=> (SELECT q FROM shapes_q WHERE id = 3) LIMIT 10',
	'SELECT t.id FROM shapes_t t, shapes_q q WHERE q.id = 3 AND 1 - (v <=> q.q) > 0.9 ORDER BY v <=> q.q LIMIT 10',
	'SELECT * FROM (SELECT id, v <-> ''{5,5,5,5}'' AS distance FROM shapes_t) s WHERE distance < 2 ORDER BY distance LIMIT 10',
	'SELECT * FROM (SELECT id, v <-> ''{5,5,5,5}'' AS distance FROM shapes_t ORDER BY distance LIMIT 10) s WHERE distance < 1',
	'SELECT id FROM shapes_t WHERE 1 - (v <=> ''{5,5,5,5}'') > 0.999',
	'SELECT EXISTS (SELECT FROM shapes_t WHERE v <-> ''{5,5,5,5}'' < 1 ORDER BY v <-> ''{5,5,5,5}'' LIMIT 1)',
	'SELECT coalesce((SELECT v <-> ''{5,5,5,5}'' FROM shapes_t ORDER BY v <-> ''{5,5,5,5}'' LIMIT 1) < 1, false)'])
	AS query, pg_temp.shape(query) s;
-- each row is within the bound that is its own similarity, by all ways to write one
SET ecp.probes = 100000;
SET enable_seqscan = off;
SELECT count(*) AS queries, sum(n) AS found FROM (SELECT shapes_vector(i * 331 + 7) AS q, i FROM generate_series(1, 40) i) s, LATERAL (
	SELECT (SELECT 1 FROM (SELECT id FROM shapes_t WHERE 1 - (v <=> q) >= 1 - (t.v <=> q) ORDER BY v <=> q LIMIT 5000) x WHERE x.id = t.id) +
		(SELECT 1 FROM (SELECT id FROM shapes_t WHERE 3 + (v <-> q) <= 3 + (t.v <-> q) ORDER BY v <-> q LIMIT 5000) x WHERE x.id = t.id) +
		(SELECT 1 FROM (SELECT id FROM shapes_t WHERE -(v <#> q) - 7 >= -(t.v <#> q) - 7 ORDER BY v <#> q LIMIT 5000) x WHERE x.id = t.id) AS n
	FROM shapes_t t WHERE t.id = s.i) n;
CREATE FUNCTION shapes_rounded(of int, q real[], digits int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	n int;
BEGIN
	EXECUTE format('SELECT count(*) FROM (SELECT id FROM shapes_t WHERE round((v <-> %1$L)::numeric, %2$s) <= %3$s ORDER BY v <-> %1$L LIMIT 5000) x
		WHERE id = %4$s', q, digits, (SELECT round((v <-> q)::numeric, digits) FROM shapes_t WHERE id = of), of) INTO n;
	RETURN n;
END $$;
SELECT count(*) AS queries, sum(shapes_rounded(i, shapes_vector(i * 331 + 7), d)) AS found FROM generate_series(1, 40) i, generate_series(0, 15, 3) d;
RESET ecp.probes;
RESET enable_seqscan;

-- around the search
SELECT query, s.* FROM unnest(ARRAY[
	'SELECT avg(distance), count(*) FROM (SELECT v <-> ''{5,5,5,5}'' AS distance FROM shapes_t ORDER BY distance LIMIT 10) s',
	'SELECT tenant, count(*) FROM (SELECT tenant FROM shapes_t ORDER BY v <-> ''{5,5,5,5}'' LIMIT 50) s GROUP BY tenant ORDER BY tenant',
	'SELECT id FROM shapes_t WHERE id IN (SELECT id FROM shapes_t ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10) ORDER BY id',
	'SELECT id, row_number() OVER (ORDER BY v <-> ''{5,5,5,5}'') FROM shapes_t LIMIT 10',
	'SELECT id, rank() OVER (ORDER BY 1 - (v <=> ''{5,5,5,5}'') DESC) FROM shapes_t LIMIT 10',
	'SELECT id, row_number() OVER (ORDER BY d) FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d FROM shapes_t ORDER BY d LIMIT 10) s',
	'SELECT DISTINCT ON (doc) doc, id FROM (SELECT id, doc, v <-> ''{5,5,5,5}'' AS d FROM shapes_t ORDER BY d LIMIT 30) s ORDER BY doc, d LIMIT 10',
	'SELECT DISTINCT id FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d FROM shapes_t ORDER BY d LIMIT 10) s ORDER BY id',
	'SELECT id FROM shapes_parts ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_parts ORDER BY 1 - (v <-> ''{5,5,5,5}'') DESC LIMIT 10',
	'SELECT id FROM shapes_parts WHERE id > 3000 ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_base ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id, v <-> ''{5,5,5,5}'' AS d FROM shapes_part1 UNION ALL SELECT id, v <-> ''{5,5,5,5}'' FROM shapes_heir ORDER BY d, id LIMIT 10',
	'SELECT id FROM (SELECT id, v FROM shapes_part1 UNION ALL SELECT id, v FROM shapes_heir) s ORDER BY 1 - (v <-> ''{5,5,5,5}'') DESC, id LIMIT 10',
	'(SELECT id, v <-> ''{5,5,5,5}'' AS d FROM shapes_part1 ORDER BY d LIMIT 10) UNION (SELECT id, v <-> ''{5,5,5,5}'' AS d FROM shapes_heir ORDER BY d LIMIT 10) ORDER BY d, id LIMIT 10',
	'SELECT id FROM shapes_view ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT t.id, q.id FROM shapes_t t JOIN shapes_q q ON q.id = t.tenant ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT t.id, q.id FROM shapes_t t LEFT JOIN shapes_q q ON q.id = t.id ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t t WHERE EXISTS (SELECT FROM shapes_q q WHERE q.id = t.tenant) ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT id FROM shapes_t t WHERE NOT EXISTS (SELECT FROM shapes_q q WHERE q.id = t.id) ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10'])
	AS query, pg_temp.shape(query) s;
-- not these
SELECT query, s.* FROM unnest(ARRAY[
	'SELECT id, rank FROM (SELECT id, row_number() OVER (ORDER BY v <-> ''{5,5,5,5}'') AS rank FROM shapes_t) s WHERE rank <= 10',
	'SELECT id FROM (SELECT id, tenant, row_number() OVER (PARTITION BY tenant ORDER BY v <-> ''{5,5,5,5}'') AS rank FROM shapes_t) s WHERE rank <= 2 ORDER BY tenant, rank',
	'SELECT DISTINCT ON (doc) id FROM shapes_t ORDER BY doc, v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT DISTINCT id, v <-> ''{5,5,5,5}'' AS d FROM shapes_t ORDER BY id LIMIT 10',
	'SELECT id, v <-> ''{5,5,5,5}'' AS d FROM shapes_part1 UNION SELECT id, v <-> ''{5,5,5,5}'' FROM shapes_heir ORDER BY d, id LIMIT 10',
	'SELECT tenant, min(v <-> ''{5,5,5,5}'') AS d FROM shapes_t GROUP BY tenant ORDER BY d LIMIT 10',
	'SELECT id FROM shapes_barrier WHERE id % 2 = 0 ORDER BY v <-> ''{5,5,5,5}'' LIMIT 10',
	'SELECT t.tenant, n.id FROM generate_series(0, 6) t(tenant), LATERAL (SELECT id FROM shapes_t s WHERE s.tenant = t.tenant ORDER BY v <-> ''{5,5,5,5}'' LIMIT 2) n ORDER BY t.tenant, n.id'])
	AS query, pg_temp.shape(query) s;

-- all within a radius: approximately if that is allowed, at the planner's choice
SET ecp.approximate_radius = on;
SELECT query, s.* FROM unnest(ARRAY[
	'SELECT count(*) FROM shapes_t WHERE 1 - (v <=> ''{5,5,5,5}'') > 0.995',
	'SELECT id, 1 - (w <-> ''{5,5,5,5}'') AS s FROM shapes_t WHERE 1 - (w <-> ''{5,5,5,5}'') >= -1.5 ORDER BY s DESC',
	'SELECT q.id, t.id FROM shapes_r q, LATERAL (SELECT id FROM shapes_t WHERE 1 - (v <=> q.q) > 0.999 OFFSET 0) t ORDER BY 1, 2',
	'SELECT count(*) FROM shapes_t WHERE 1 - (v <=> ''{5,5,5,5}'') > 0.2']) AS query, pg_temp.shape(query) s;
-- by another distance than the order's
SELECT s.* FROM pg_temp.shape('SELECT * FROM (SELECT id, v <-> ''{5,5,5,5}'' AS d, row_number() OVER (PARTITION BY doc ORDER BY v <-> ''{5,5,5,5}'') AS r FROM shapes_t WHERE v <=> ''{5,5,5,5}'' < 0.002) s WHERE r = 1 ORDER BY d LIMIT 10') s;
RESET ecp.approximate_radius;
SELECT s.* FROM pg_temp.shape('SELECT id FROM shapes_t WHERE 1 - (v <=> ''{5,5,5,5}'') > 0.995 ORDER BY id') s;

DROP TABLE shapes_t, shapes_q, shapes_r, shapes_parts, shapes_base, shapes_heir CASCADE;
DROP FUNCTION shapes_vector, shapes_near, shapes_embed, shapes_variable;
