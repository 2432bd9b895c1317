--
-- Many queries at once, with a condition: ecp_knn_batch() gives what a search
-- for each query with this WHERE gives, and ecp_knn_exact() what comparing all
-- rows that satisfy it gives.
--
SET max_parallel_workers_per_gather = 0;
SET enable_seqscan = off;
SET ecp.enable_batch_join = off;

CREATE FUNCTION cond_real(i int, dims int) RETURNS real[]
	LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((abs(hashint4(i % 23 * 1000 + d)) % 60 +
					  abs(hashint4(i * 1000 + d)) % 40)::real ORDER BY d)
	FROM generate_series(1, dims) AS d
$$;
CREATE FUNCTION cond_bytes(i int, dims int) RETURNS bytea
	LANGUAGE sql IMMUTABLE AS $$
	SELECT decode(string_agg(lpad(to_hex(x::int), 2, '0'), ''), 'hex')
	FROM unnest(cond_real(i, dims)) AS x
$$;
CREATE TABLE cond_items (id int, r real[], b bytea, wide bytea, tenant int, small smallint, large bigint,
	f float4, d float8, flag boolean, at timestamptz, lang text, u uuid, other int);
INSERT INTO cond_items
	SELECT i, cond_real(i % 3900, 20), cond_bytes(i % 3900, 70), cond_bytes(i % 3900, 700),
		i % 50, CASE WHEN i % 7 > 0 THEN i % 11 END, i * 10000000000 / 7, i / 8.0, i / 8.0,
		CASE i % 3 WHEN 0 THEN true WHEN 1 THEN false END,
		'2026-01-01'::timestamptz + i * interval '1 hour', (ARRAY['is', 'en', 'da'])[i % 3 + 1],
		lpad(to_hex(i % 9), 32, '0')::uuid, i
	FROM generate_series(1, 4000) AS i;
CREATE TABLE cond_queries (id int, r real[], b bytea, wide bytea);
INSERT INTO cond_queries
	SELECT i, cond_real(i + 5000, 20), cond_bytes(i + 5000, 70), cond_bytes(i + 5000, 700)
	FROM generate_series(1, 200) AS i;
CREATE TABLE cond_allowed AS SELECT unnest('{3, 14, 15}'::int[]) AS tenant;
VACUUM ANALYZE cond_items, cond_queries, cond_allowed;

-- every row of the answers of both ways that the other has not (0 = equal), and
-- whether the batch left all queries to searches
CREATE FUNCTION cond_differs(condition text, index text DEFAULT 'cond_r', col text DEFAULT 'r',
	op text DEFAULT '<->', k int DEFAULT 10, OUT answers bigint, OUT differ bigint, OUT searched boolean)
	LANGUAGE plpgsql AS $$
DECLARE
	before bigint;
BEGIN
	EXECUTE format($q$
		CREATE TEMP TABLE searched AS
			SELECT q.id::bigint AS query, t.tid, t.distance, row_number() OVER (PARTITION BY q.id) AS rank
			FROM (SELECT * FROM cond_queries ORDER BY id) AS q,
				LATERAL (SELECT i.ctid AS tid, i.%1$s %2$s q.%1$s AS distance
						 FROM cond_items AS i WHERE %4$s ORDER BY i.%1$s %2$s q.%1$s LIMIT %3$s) AS t
		$q$, col, op, k, condition);
	before := pg_stat_get_xact_numscans(index::regclass);
	EXECUTE format($q$
		CREATE TEMP TABLE batch AS SELECT query, tid, distance, rank::bigint
			FROM ecp_knn_batch(%L, 'SELECT id, %s FROM cond_queries', %s, %L)
		$q$, index, col, k, condition);
	searched := pg_stat_get_xact_numscans(index::regclass) - before >= 200;
	SELECT count(*) FROM batch INTO answers;
	SELECT count(*) FROM ((TABLE searched EXCEPT TABLE batch) UNION ALL (TABLE batch EXCEPT TABLE searched)) AS x
	INTO differ;
	DROP TABLE searched, batch;
END
$$;
CREATE TABLE cond_conditions (n int GENERATED ALWAYS AS IDENTITY, condition text);
INSERT INTO cond_conditions (condition) VALUES
	('true'), ('tenant = 7'), ('7 = tenant'), ('tenant IN (3, 14, 15)'), ('tenant BETWEEN 10 AND 34'),
	('tenant > 25 AND small < 5'), ('tenant = ANY (''{}'')'), ('tenant = NULL'), ('tenant = 1000000'),
	('small IS NULL'), ('small IS NOT NULL AND tenant < 25'), ('small = 3'), ('large > 20000000000'),
	('large < 3000000000::bigint AND f >= 1'), ('f < 100'), ('d BETWEEN 50.5 AND 300'),
	('flag'), ('NOT flag'), ('flag IS NULL'), ('at >= ''2026-03-01'' AND at < ''2026-04-01''::timestamptz'),
	('at < timestamptz ''2026-01-05'' + interval ''10 days'''), ('tenant = 13 AND flag'),
	('tenant = length(''seven..'')'), ('tenant = current_setting(''ecp.probes'')::int'),
	('tenant = (SELECT min(a.tenant) FROM cond_allowed AS a)'),
	('false'), ('tenant = 1 AND tenant = 2'), ('tenant NOT IN (1, 2)'), ('tenant <> 7 AND NOT flag'),
	('tenant = 7 OR small < 2 OR at < ''2026-01-03'''), ('(flag OR tenant < 5) AND small > 3');

CREATE INDEX cond_r ON cond_items USING ecp (r, tenant, small, large, f, d, flag, at)
	WITH (cluster_size = 1, quantizer = none);
CREATE INDEX cond_lossy ON cond_items USING ecp (r real_cosine_ops, lang, u, tenant)
	WITH (cluster_size = 1, quantizer = none);
SET ecp.target_recall = 0.9;
SELECT count(*) > 0 AS stored FROM ecp_recall('cond_r', store => true,
	queries => 'SELECT cond_real(i + 6000, 20) FROM generate_series(1, 150) AS i');
SELECT count(*) > 0 AS stored FROM ecp_recall('cond_lossy', store => true,
	queries => 'SELECT cond_real(i + 6000, 20) FROM generate_series(1, 150) AS i');

-- what the index knows is a batch; stable functions and subqueries are computed first
SELECT condition, d.* FROM cond_conditions, cond_differs(condition) AS d ORDER BY n;
SELECT k, d.* FROM unnest('{1, 3, 40, 500, 2000}'::int[]) AS k, cond_differs('tenant < 20', k => k) AS d;
-- kinds that represent several values are checked
SELECT condition, d.* FROM (VALUES ('lang = ''is'''), ('lang IN (''is'', ''da'')'), ('lang = ''none'''),
	('u = ''00000000-0000-0000-0000-000000000004'''), ('lang = ''en'' AND tenant < 25'),
	('tenant < 25'), ('lang IS NULL'), ('lang IS NOT NULL'), ('lang LIKE ''e%'''), ('lang = ''is'' OR tenant = 3'),
	('lang <> ''is''')) AS v (condition),
	cond_differs(condition, 'cond_lossy', op => '<=>') AS d;
-- what it does not know is searched for
SELECT condition, d.* FROM (VALUES ('other % 3 = 0'), ('other % 40 = 7'), ('tenant = 7 OR other < 100'),
	('tenant < 25 AND other % 2 = 0'), ('lang = ''is'''), ('tenant IN (SELECT a.tenant FROM cond_allowed AS a)'),
	('EXISTS (SELECT FROM cond_allowed AS a WHERE a.tenant = id % 50)'),
	('tenant + 0 = 7'), ('current_setting(''work_mem'') = ''none'''),
	('r <-> ''{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20}'' < 150')) AS v (condition),
	cond_differs(condition) AS d;
-- another index, and a sort
CREATE INDEX cond_tenant ON cond_items (tenant, other);
SET enable_indexscan = off;
SELECT condition, d.* FROM (VALUES ('tenant = 7 AND other < 1000 AND lang = ''is'''), ('tenant = 7'),
	('tenant IN (SELECT a.tenant FROM cond_allowed AS a) AND other < 1000')) AS v (condition),
	cond_differs(condition) AS d;
RESET enable_indexscan;
DROP INDEX cond_tenant;

-- several batches, and workers
SET work_mem = '64kB';
SELECT condition, d.* FROM (VALUES ('tenant < 25'), ('tenant = 13 AND flag'), ('other % 3 = 0')) AS v (condition),
	cond_differs(condition) AS d;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SELECT condition, d.* FROM (VALUES ('tenant < 25'), ('tenant IN (3, 14, 15)'), ('tenant = 13 AND flag'),
	('at >= ''2026-03-01'' AND small IS NULL'), ('tenant = 7 OR small < 2'), ('tenant NOT IN (1, 2)'),
	('other % 3 = 0')) AS v (condition),
	cond_differs(condition) AS d;
RESET work_mem;
SELECT d.* FROM cond_differs('lang = ''is''', 'cond_lossy', op => '<=>') AS d;
SELECT d.* FROM cond_differs('lang = ''is'' OR tenant = 3', 'cond_lossy', op => '<=>') AS d;
-- a fixed number of clusters: searches with the filter, by workers
SET ecp.probes = 5;
SELECT condition, d.* FROM (VALUES ('tenant < 25'), ('tenant = 7')) AS v (condition),
	cond_differs(condition) AS d;
RESET parallel_setup_cost;
SET max_parallel_workers_per_gather = 0;
SELECT d.* FROM cond_differs('lang = ''is''', 'cond_lossy', op => '<=>') AS d;
RESET ecp.probes;
-- settings of searches
SET ecp.iterative_scan = relaxed_order;
SELECT d.* FROM cond_differs('tenant < 5') AS d;
SET ecp.iterative_scan = off;
SELECT d.* FROM cond_differs('tenant < 5') AS d;
RESET ecp.iterative_scan;
SET ecp.max_scan_tuples = 700;
SELECT d.* FROM cond_differs('tenant < 5') AS d;
RESET ecp.max_scan_tuples;

-- layouts of vectors: codes, in parts, apart from the entries, halves, codes only
DROP INDEX cond_r;
CREATE INDEX cond_codes ON cond_items USING ecp (r, tenant) WITH (cluster_size = 1, quantizer = rabitq);
CREATE INDEX cond_b ON cond_items USING ecp (b, tenant) WITH (cluster_size = 1);
CREATE INDEX cond_wide ON cond_items USING ecp (wide, tenant) WITH (quantizer = none);
SELECT condition, d.* FROM (VALUES ('tenant < 25'), ('tenant = 7'), ('other % 3 = 0')) AS v (condition),
	cond_differs(condition, 'cond_codes') AS d;
SELECT condition, d.* FROM (VALUES ('tenant < 25'), ('tenant = 7'), ('other % 3 = 0')) AS v (condition),
	cond_differs(condition, 'cond_b', 'b') AS d;
SELECT condition, d.* FROM (VALUES ('tenant < 25'), ('tenant = 7'), ('other % 3 = 0')) AS v (condition),
	cond_differs(condition, 'cond_wide', 'wide') AS d;
DROP INDEX cond_codes, cond_b;
CREATE INDEX cond_columns ON cond_items USING ecp (b bytea_cosine_ops, tenant) WITH (cluster_size = 1);
SELECT condition, d.* FROM (VALUES ('tenant < 25'), ('tenant = 7'), ('other % 3 = 0')) AS v (condition),
	cond_differs(condition, 'cond_columns', 'b', '<=>') AS d;
DROP INDEX cond_columns;
CREATE INDEX cond_half ON cond_items USING ecp (r, tenant) WITH (cluster_size = 1, vectors = half, quantizer = none);
SELECT condition, d.* FROM (VALUES ('tenant < 25'), ('tenant = 7'), ('other % 3 = 0')) AS v (condition),
	cond_differs(condition, 'cond_half') AS d;
DROP INDEX cond_half;
CREATE INDEX cond_nibbles ON cond_items USING ecp (r, tenant) WITH (vectors = codes);
SELECT condition, d.* FROM (VALUES ('tenant < 25'), ('tenant = 7'), ('other % 3 = 0')) AS v (condition),
	cond_differs(condition, 'cond_nibbles') AS d;
DROP INDEX cond_nibbles;

-- rows that come and go, insert buffers, and part of a table
CREATE INDEX cond_r ON cond_items USING ecp (r, tenant) WITH (cluster_size = 1, quantizer = none, buffer_rows = 50);
BEGIN;
DELETE FROM cond_items WHERE id % 3 = 0;
UPDATE cond_items SET other = -other WHERE id % 5 = 0;
INSERT INTO cond_items (id, r, tenant) SELECT 10000 + id, r, id % 3 FROM cond_queries;
SELECT condition, d.* FROM (VALUES ('tenant < 3'), ('tenant < 40'), ('other < 0')) AS v (condition),
	cond_differs(condition) AS d;
ROLLBACK;
SELECT d.* FROM cond_differs('tenant < 3') AS d;
CREATE INDEX cond_part ON cond_items USING ecp ((r[1:10]), tenant) WITH (quantizer = none) WHERE id < 3000;
SELECT count(*), count(*) FILTER (WHERE i.id < 3000 AND i.tenant < 10 AND i.r[1:10] <-> q.r[1:10] = n.distance)
FROM ecp_knn_batch('cond_part', 'SELECT id, r[1:10] FROM cond_queries', 5, 'tenant < 10') AS n
	JOIN cond_items AS i ON i.ctid = n.tid JOIN cond_queries AS q ON q.id = n.query;

-- the exact answers
CREATE FUNCTION cond_exact_differs(condition text, k int, OUT answers bigint, OUT differ bigint)
	LANGUAGE plpgsql SET enable_seqscan = on SET enable_indexscan = off AS $$
BEGIN
	EXECUTE format($q$
		WITH sorted AS MATERIALIZED (
			SELECT q.id::bigint AS query, t.distance, t.rank
			FROM cond_queries AS q,
				LATERAL (SELECT i.r <-> q.r AS distance, row_number() OVER (ORDER BY i.r <-> q.r) AS rank
						 FROM cond_items AS i WHERE %1$s) AS t
			WHERE t.rank <= %2$s
		), exact AS MATERIALIZED (
			SELECT e.query, e.distance, e.rank::bigint
			FROM ecp_knn_exact('cond_r', 'SELECT id, r FROM cond_queries', %2$s, %1$L) AS e
				JOIN cond_items AS i ON i.ctid = e.tid JOIN cond_queries AS q ON q.id = e.query
			WHERE i.r <-> q.r = e.distance
		)
		SELECT (SELECT count(*) FROM exact),
			(SELECT count(*) FROM ((TABLE sorted EXCEPT TABLE exact) UNION ALL (TABLE exact EXCEPT TABLE sorted)) AS x)
		$q$, condition, k) INTO answers, differ;
END
$$;
SELECT condition, d.* FROM (VALUES ('tenant = 7'), ('other % 3 = 0'), ('false'),
	('tenant IN (SELECT a.tenant FROM cond_allowed AS a)')) AS v (condition), cond_exact_differs(condition, 10) AS d;

-- arrays, columns of the rows, and what is NULL
SELECT n.query, n.rank, i.tenant, n.distance = (i.r <-> q.r) AS same
FROM ecp_knn_batch('cond_r', (SELECT array_agg(r ORDER BY id) FROM cond_queries WHERE id < 3), 2, 'tenant = 7') AS n
	JOIN cond_items AS i ON i.ctid = n.tid JOIN cond_queries AS q ON q.id = n.query ORDER BY 1, 2;
SELECT query, rank, data FROM ecp_knn_fetch('cond_r', (SELECT array_agg(r ORDER BY id) FROM cond_queries WHERE id < 3),
	'{tenant}', 2, 'tenant = 7');
SELECT count(*), count(DISTINCT data) > 1 FROM ecp_knn_fetch('cond_r', (SELECT array_agg(r) FROM cond_queries), '{tenant}', 2);
SELECT count(*) FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 2, NULL);
SELECT count(*) FROM ecp_knn_batch('cond_r', 'SELECT CASE WHEN id > 5 THEN r END FROM cond_queries', 2, 'tenant = 7');
SELECT count(*) FROM ecp_knn_batch('cond_r', 'SELECT CASE WHEN id > 5 THEN r END FROM cond_queries', 2, 'other > 7');
SELECT count(*) FROM ecp_knn_batch('cond_r', NULL::text, 2, 'true');
SELECT count(*) FROM ecp_knn_batch(NULL, 'SELECT r FROM cond_queries', 2, 'true');
SELECT count(*) FROM ecp_knn_exact('cond_r', 'SELECT r FROM cond_queries', NULL, 'true');
SELECT count(*) FROM ecp_knn_fetch('cond_r', (SELECT array_agg(r) FROM cond_queries), NULL);

-- row security: a policy that the index knows, and one that it does not
CREATE ROLE regress_cond_user;
GRANT SELECT ON cond_items, cond_queries TO regress_cond_user;
ALTER TABLE cond_items ENABLE ROW LEVEL SECURITY;
CREATE POLICY cond_policy ON cond_items USING (tenant < 20);
SET ROLE regress_cond_user;
SELECT condition, d.* FROM (VALUES ('tenant < 25'), ('tenant > 10'), ('tenant = 30'), ('other % 3 = 0'))
	AS v (condition), cond_differs(condition) AS d;
SELECT condition, d.* FROM (VALUES ('tenant > 10'), ('other % 3 = 0')) AS v (condition),
	cond_exact_differs(condition, 10) AS d;
SELECT max(i.tenant) < 20 FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'true') AS n
	JOIN cond_items AS i ON i.ctid = n.tid;
RESET ROLE;
ALTER POLICY cond_policy ON cond_items USING (other % 2 = 0);
SET ROLE regress_cond_user;
SELECT condition, d.* FROM (VALUES ('tenant < 25'), ('other % 3 = 0')) AS v (condition), cond_differs(condition) AS d;
SELECT condition, d.* FROM (VALUES ('tenant > 10'), ('other % 3 = 0')) AS v (condition),
	cond_exact_differs(condition, 10) AS d;
-- no other table, unless it may be read
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10,
	'tenant IN (SELECT a.tenant FROM cond_allowed AS a)');
RESET ROLE;
ALTER TABLE cond_items DISABLE ROW LEVEL SECURITY;

-- functions of other roles in the index do not run as the caller
CREATE TABLE cond_lent (v real[], a int);
GRANT SELECT ON cond_lent TO regress_cond_user;
INSERT INTO cond_lent SELECT ARRAY[i, i], i FROM generate_series(1, 100) AS i;
CREATE FUNCTION cond_lent(v real[]) RETURNS real[] LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	RETURN v;
END
$$;
CREATE INDEX cond_lent_v ON cond_lent USING ecp (cond_lent(v), a);
ALTER FUNCTION cond_lent(real[]) OWNER TO regress_cond_user;
SELECT count(*) FROM ecp_knn_batch('cond_lent_v', '{1, 2}'::real[], 5);
SELECT count(*) FROM ecp_knn_exact('cond_lent_v', '{1, 2}'::real[], 5, 'a < 3');
\set VERBOSITY terse
SELECT count(*) FROM ecp_knn_batch('cond_lent_v', '{1, 2}'::real[], 5, 'a < 3');
SET ROLE regress_cond_user;
SELECT count(*) FROM ecp_knn_batch('cond_lent_v', '{1, 2}'::real[], 5, 'a < 3');
RESET ROLE;

-- what is not in the index is no answer by another plan either: rows without a vector,
-- by cosine without a direction; a query without a direction is as near to all
CREATE TABLE cond_few (id int, a int, v real[]);
INSERT INTO cond_few VALUES (1, 1, '{1,2}'), (2, 1, '{3,4}'), (3, 1, NULL), (4, 2, '{5,6}'), (5, 1, '{0,0}');
CREATE INDEX cond_few_l2 ON cond_few USING ecp (v);
CREATE INDEX cond_few_cosine ON cond_few USING ecp (v real_cosine_ops);
SELECT index, query, id, rank, distance FROM unnest('{cond_few_l2,cond_few_cosine}'::regclass[]) AS index,
	ecp_knn_batch(index, '{{1,1},{0,0}}'::real[], 5, 'a = 1') AS n JOIN cond_few AS f ON f.ctid = tid
ORDER BY index, query, distance, id;
SELECT index, query, distance, data FROM unnest('{cond_few_l2,cond_few_cosine}'::regclass[]) AS index,
	ecp_knn_fetch(index, '{1,1}'::real[], '{id}', 5, 'a = 1') ORDER BY index, distance;
SELECT index, candidates, id, rank, distance FROM unnest('{cond_few_l2,cond_few_cosine}'::regclass[]) AS index,
	(VALUES (5), (NULL)) AS c (candidates),
	ecp_knn_max_sim(index, '{1,1}'::real[], 'id', 5, 5, candidates, 'a = 1') AS n JOIN cond_few AS f ON f.ctid = tid
ORDER BY index, candidates, rank;
SELECT index, id, rank, distance FROM unnest('{cond_few_l2,cond_few_cosine}'::regclass[]) AS index,
	ecp_knn_groups(index, '{1,1}'::real[], 'id', 5, 'a = 1') AS n JOIN cond_few AS f ON f.ctid = tid
ORDER BY index, rank;

-- a condition locks no rows
CREATE VIEW cond_locked AS SELECT id FROM cond_few FOR UPDATE;
SELECT * FROM ecp_knn_batch('cond_few_l2', '{1,1}'::real[], 5, 'id IN (SELECT id FROM cond_few FOR UPDATE)');
SELECT * FROM ecp_knn_exact('cond_few_l2', '{1,1}'::real[], 5, 'id IN (SELECT id FROM cond_locked)');
SELECT * FROM ecp_knn_max_sim('cond_few_l2', '{1,1}'::real[], 'id', 5, 5, NULL, 'id IN (SELECT id FROM cond_few FOR SHARE)');
SELECT * FROM ecp_knn_groups('cond_few_l2', '{1,1}'::real[], 'id', 5, 'id IN (SELECT id FROM cond_locked)');
SELECT * FROM ecp_knn_batch('cond_few_l2', 'SELECT v FROM cond_few FOR UPDATE', 5);
-- queries are read alike by all functions
SELECT * FROM ecp_recall('cond_few_l2', queries => 'SELECT');
SELECT probes, recall FROM ecp_recall('cond_few_l2', probes => '{0}', queries => 'SELECT id, v FROM cond_few');

-- refused
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, '');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'tenant');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'tenant =');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'true) OR (true');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'true; DROP TABLE cond_queries');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'true LIMIT 1');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'a.tenant = 3 FROM cond_allowed AS a');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'flag AS condition');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'flag, flag');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, '*');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'cond_allowed.tenant = 3');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'nonsense = 3');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'count(*) > 3');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'rank() OVER () > 3');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'generate_series(1, 2) > 1');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'random() < 0.5');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'tenant = $1');
SELECT * FROM ecp_knn_exact('cond_r', 'SELECT r FROM cond_queries', 10, 'tenant');
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, '1 / (tenant - tenant) = 1');
SELECT * FROM ecp_knn_batch('cond_r', '{1, 2}'::real[], 10, 'tenant = 7');
SELECT * FROM ecp_knn_batch('cond_r', '{1, 2}'::real[], 10, 'other = 7');
\set VERBOSITY default
SELECT * FROM ecp_knn_batch('cond_r', 'SELECT r FROM cond_queries', 10, 'tenant = 7 AND tenant * 2 > ''x''');

DROP VIEW cond_locked;
DROP TABLE cond_few, cond_items, cond_queries, cond_allowed, cond_conditions, cond_lent;
DROP FUNCTION cond_real(int, int), cond_bytes(int, int), cond_lent(real[]),
	cond_differs(text, text, text, text, int), cond_exact_differs(text, int);
DROP ROLE regress_cond_user;
