--
-- L1 distance of real[] and double precision[], and Jaccard distance of bit: the
-- operators, and indexes, whose answers are compared with those of sequential scans.
--
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\i :explain

-- places of rows differ between versions
\set SHOW_CONTEXT never

-- the operators, their functions, and arrays of other numbers, which are cast
SELECT '{0,0}'::real[] <+> '{3,4}' AS l1, '{0,0}'::float8[] <+> '{0,1}' AS double, '{1,2}'::real[] <+> ARRAY[4, 0.5] AS both,
	ecp_l1_distance('{1,2,3,4,5,6,7,8,9}'::real[], '{0,3,2,5,4,7,6,9,8}') AS function,
	'{1,2,3,4,5,6,7,8,9}'::real[] <+> '{1,2,3,4,5,6,7,8,9}' AS same, NULL::real[] <+> '{1}' AS null;
SELECT B'1111' <&> B'1111' AS same, B'1111' <&> B'1110' AS quarter, B'1111' <&> B'1100' AS half,
	ecp_jaccard_distance(B'1111', B'1000') AS function, B'1111' <&> B'0000' AS none, B'0000' <&> B'0000' AS empty,
	repeat('10', 8000)::varbit <&> repeat('10', 8000)::varbit AS longest, NULL::bit <&> B'1' AS null;
-- sums that a real cannot hold, and differences that have few digits
SELECT '{3e38}'::real[] <+> '{-3e38}' AS large, '{3e38,3e38}'::real[] <+> '{-3e38,-3e38}' > 1e39 AS larger,
	'{1e-45,3e-45}'::real[] <+> '{0,0}' > 0 AS small;
-- all lengths to 300, and some long ones
SELECT count(*) AS checked, count(*) FILTER (WHERE abs((a <+> b) - l1) > 1e-6 * l1) AS wrong,
	count(*) FILTER (WHERE (a <+> b) <> (b <+> a) OR a::float8[] <+> b::float8[] <> a <+> b) AS differ
FROM (SELECT n, array_agg(sin(i * n)::real ORDER BY i) AS a, array_agg(cos(i + n)::real ORDER BY i) AS b,
			sum(abs(sin(i * n)::real::float8 - cos(i + n)::real)) AS l1
		FROM (SELECT generate_series(1, 300) UNION ALL VALUES (1000), (16000)) lengths (n), generate_series(1, n) i
		GROUP BY n) x;
SELECT count(*) AS checked, count(*) FILTER (WHERE a <&> b <> CASE shared WHEN 0 THEN 1 ELSE 1 - shared / every END) AS wrong,
	count(*) FILTER (WHERE a <&> b <> b <&> a) AS differ
FROM (SELECT a, b, length(replace((a & b)::text, '0', ''))::float8 AS shared, length(replace((a | b)::text, '0', ''))::float8 AS every
		FROM (SELECT substring(('x' || repeat(md5(g::text), 40))::varbit, 1, n) AS a,
				substring(('x' || repeat(md5((-g)::text), 40))::varbit, 1, n) AS b
			FROM generate_series(1, 3) g, generate_series(1, 1100, 7) n) x) y;

-- refused
SELECT '{1,2}'::real[] <+> '{3}';
SELECT '{}'::real[] <+> '{}';
SELECT '{1,NULL}'::real[] <+> '{1,2}';
SELECT '{1,NaN}'::real[] <+> '{1,2}';
SELECT '{1,Infinity}'::float8[] <+> '{1,2}';
SELECT B'1111' <&> B'000';
SELECT B'' <&> B'';

-- 50 clusters of rows, one of zeros; each index must give what a sort gives
CREATE TABLE l1_t (id int, tag int, v real[], d double precision[], b bit(200)) WITH (autovacuum_enabled = off);
INSERT INTO l1_t SELECT i, i % 20, v, v, b
FROM generate_series(1, 3000) i, LATERAL (SELECT array_agg((sin(i % 50 * j) * (i % 50) / 10 + sin(i * 1.7 + j * i) / 5)::real ORDER BY j) AS v
		FROM generate_series(1, 40) j WHERE i % 50 <> 7) s,
	LATERAL (SELECT ('x' || substr(repeat(md5((i % 50)::text), 2), 1, 50))::bit(200) &
		(('x' || substr(md5('a' || i) || md5('b' || i), 1, 50))::bit(200) | ('x' || substr(md5('c' || i) || md5('d' || i), 1, 50))::bit(200)) AS b) t;
UPDATE l1_t SET b = 0::bit(200) WHERE id % 500 = 1;
ANALYZE l1_t;
SET ecp.approximate_radius = on;
CREATE FUNCTION l1_compare(col text, op text, radius float8, what text DEFAULT 'true', OUT uses_index boolean,
	OUT rows bigint, OUT wrong bigint, OUT in_radius bigint, OUT radius_wrong bigint)
LANGUAGE plpgsql AS $$
DECLARE
	nearest text := format('SELECT q.id, row_number() OVER (PARTITION BY q.id) AS n, s.d FROM
		(SELECT id, %1$I AS v FROM l1_t WHERE id %% 301 = 3 ORDER BY id LIMIT 10) q,
		LATERAL (SELECT t.%1$I %2$s q.v AS d FROM l1_t t WHERE %3$s ORDER BY t.%1$I %2$s q.v LIMIT 20) s', col, op, what);
	within text := format('SELECT q.id, s.id AS n, s.d FROM
		(SELECT id, %1$I AS v FROM l1_t WHERE id %% 301 = 3 ORDER BY id LIMIT 10) q,
		LATERAL (SELECT t.id, t.%1$I %2$s q.v AS d FROM l1_t t
				 WHERE %3$s AND t.%1$I %2$s q.v <= %4$s OFFSET 0) s', col, op, what, radius);
	differ text := 'SELECT count(*), count(*) FILTER (WHERE a.d IS DISTINCT FROM e.d)
		FROM found a FULL JOIN %I e USING (id, n)';
	line text;
BEGIN
	uses_index := true;
	PERFORM set_config('ecp.probes', '100000', true);
	PERFORM set_config('ecp.iterative_scan', 'relaxed_order', true);
	PERFORM set_config('enable_indexscan', 'off', true);
	EXECUTE 'CREATE TEMP TABLE exact AS ' || nearest;
	EXECUTE 'CREATE TEMP TABLE ball AS ' || within;
	PERFORM set_config('enable_indexscan', 'on', true);
	PERFORM set_config('enable_seqscan', 'off', true);
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || nearest INTO line;
	uses_index := uses_index AND line ~ 'l1_i';
	EXECUTE 'CREATE TEMP TABLE found AS ' || nearest;
	EXECUTE format(differ, 'exact') INTO rows, wrong;
	DROP TABLE found;
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || within INTO line;
	uses_index := uses_index AND line ~ 'l1_i';
	EXECUTE 'CREATE TEMP TABLE found AS ' || within;
	EXECUTE format(differ, 'ball') INTO in_radius, radius_wrong;
	DROP TABLE found, exact, ball;
	PERFORM set_config('enable_seqscan', 'on', true);
END
$$;

-- what an index says of itself, and plans: order, radius, an expression that rises with it
CREATE INDEX l1_i ON l1_t USING ecp (v real_l1_ops, tag) WITH (cluster_size = 4);
SELECT element, metric, quantizer, clusters > 20 AS clusters FROM ecp_metapage_info('l1_i');
SET enable_seqscan = off;
SELECT * FROM pg_temp.explain($$SELECT id FROM l1_t ORDER BY v <+> (SELECT v FROM l1_t WHERE id = 1) LIMIT 5$$);
SELECT * FROM pg_temp.explain($$SELECT id FROM l1_t WHERE tag = 3 AND v <+> (SELECT v FROM l1_t WHERE id = 1) < 20$$);
SELECT * FROM pg_temp.explain($$SELECT id FROM l1_t ORDER BY 1 / (1 + (v <+> (SELECT v FROM l1_t WHERE id = 1))) DESC NULLS LAST LIMIT 5$$);
SELECT * FROM pg_temp.explain($$SELECT id FROM l1_t ORDER BY v <-> (SELECT v FROM l1_t WHERE id = 1) LIMIT 5$$);
SELECT id FROM l1_t WHERE tag = 3 ORDER BY v <+> (SELECT v FROM l1_t WHERE id = 103) LIMIT 1;
SELECT count(*) FROM (SELECT FROM l1_t ORDER BY v <+> NULL LIMIT 10000) x;
RESET enable_seqscan;
SELECT * FROM l1_compare('v', '<+>', 10);
SELECT * FROM l1_compare('v', '<+>', 20, 'tag = 3');
SELECT recall >= 0.95 - 0.02 AS target_met FROM ecp_recall('l1_i', 10, '{0}', 200, 2);
-- queries of the other type, many at once, and the exact answer
SET ecp.probes = 100000;
SELECT count(*) AS rows, count(*) FILTER (WHERE b.distance = s.d AND e.distance = s.d) AS same
FROM ecp_knn_batch('l1_i', 'SELECT id, v FROM l1_t WHERE id < 30', 5) b
	JOIN ecp_knn_exact('l1_i', 'SELECT id, v FROM l1_t WHERE id < 30', 5) e USING (query, rank)
	JOIN (SELECT q.id AS query, row_number() OVER (PARTITION BY q.id ORDER BY n.d) AS rank, n.d
		FROM l1_t q, LATERAL (SELECT t.v <+> q.d AS d FROM l1_t t ORDER BY t.v <+> q.d LIMIT 5) n
		WHERE q.id < 30 AND q.v IS NOT NULL) s USING (query, rank);
RESET ecp.probes;
DROP INDEX l1_i;

-- each type and layout, with rows that come and go
CREATE FUNCTION l1_try(col text, op text, class text, radius float8, options text,
	OUT checked boolean, OUT before record, OUT after record)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE INDEX l1_i ON l1_t USING ecp (%I %I) WITH (%s)', col, class, options);
	SELECT * INTO before FROM l1_compare(col, op, radius);
	INSERT INTO l1_t SELECT id + 3000, tag, v, d, b FROM l1_t WHERE id <= 1000;
	DELETE FROM l1_t WHERE id > 3000 AND id % 3 = 0;
	PERFORM ecp_maintain('l1_i');
	checked := ecp_index_check('l1_i', true) IS NOT NULL;
	SELECT * INTO after FROM l1_compare(col, op, radius);
	DELETE FROM l1_t WHERE id > 3000;
	DROP INDEX l1_i;
END
$$;
SELECT t.col, t.class, t.options, r.* FROM (VALUES ('v', '<+>', 'real_l1_ops', 10, 'cluster_size = 4'),
	('v', '<+>', 'real_l1_ops', 10, 'cluster_size = 4, buffer_rows = 30'),
	('v', '<+>', 'real_l1_ops', 10, 'cluster_size = 4, quantizer = rabitq'),
	('d', '<+>', 'double_l1_ops', 10, 'levels = 2, cluster_size = 4'),
	('b', '<&>', 'bit_set_ops', 0.5, 'cluster_size = 1'),
	('b', '<&>', 'bit_set_ops', 0.5, 'cluster_size = 1, buffer_rows = 30')) t(col, op, class, radius, options),
	LATERAL l1_try(t.col, t.op, t.class, t.radius, t.options) r;

-- halves: rows within a radius are those of the table
CREATE INDEX l1_i ON l1_t USING ecp (v real_l1_ops) WITH (vectors = half, cluster_size = 4);
SELECT uses_index, in_radius, radius_wrong FROM l1_compare('v', '<+>', 10);
SELECT recall > 0.99 AS recall FROM ecp_recall('l1_i', 10, '{100000}', 100);
DROP INDEX l1_i;
-- codes: if L1 and L2 distances of the rows are in proportion, beside how near the nearest
-- are, as in places of many elements; not of elements that are all at random, or mostly 0
CREATE TABLE l1_codes AS SELECT i AS id, array_agg((hashint4extended(i % 20 * 1000 + j, 1) % 1000 +
		hashint4extended(i * 1000 + j, 0) % 300)::real ORDER BY j) AS dense,
	array_agg((hashint4extended(i * 1000 + j, 0) % 1000)::real ORDER BY j) AS random,
	array_agg(CASE WHEN j % 100 = i % 100 THEN i ELSE hashint4extended(i * 1000 + j, 0) % 10 END::real ORDER BY j) AS sparse
FROM generate_series(1, 1000) i, generate_series(1, 300) j GROUP BY i;
CREATE INDEX l1_dense ON l1_codes USING ecp (dense real_l1_ops);
CREATE INDEX l1_half ON l1_codes USING ecp (dense real_l1_ops) WITH (vectors = half, cluster_size = 32);
CREATE INDEX l1_random ON l1_codes USING ecp (random real_l1_ops);
CREATE INDEX l1_sparse ON l1_codes USING ecp (sparse real_l1_ops);
CREATE INDEX l1_none ON l1_codes USING ecp (dense real_l1_ops) WITH (quantizer = none);
SELECT i AS index, quantizer, ecp_index_check(i::regclass, true), r.recall > 0.93 AS recall
FROM unnest('{l1_dense,l1_half,l1_random,l1_sparse,l1_none}'::text[]) i, ecp_metapage_info(i::regclass),
	ecp_recall(i::regclass, 10, '{0}', 100) r;
DROP TABLE l1_codes;
-- four bits an element say nothing of it
CREATE INDEX ON l1_t USING ecp (v real_l1_ops) WITH (vectors = codes);

-- Jaccard: plans, the promise, and many queries
CREATE INDEX l1_i ON l1_t USING ecp (b bit_set_ops) INCLUDE (id) WITH (cluster_size = 1);
SELECT element, metric, quantizer, clusters > 20 AS clusters FROM ecp_metapage_info('l1_i');
VACUUM l1_t;
SET enable_seqscan = off;
SELECT * FROM pg_temp.explain($$SELECT id FROM l1_t ORDER BY b <&> (SELECT b FROM l1_t WHERE id = 2) LIMIT 5$$);
SELECT * FROM pg_temp.explain($$SELECT id FROM l1_t WHERE b <&> (SELECT b FROM l1_t WHERE id = 2) < 0.3$$);
SELECT * FROM pg_temp.explain($$SELECT id FROM l1_t ORDER BY 1 - (b <&> (SELECT b FROM l1_t WHERE id = 2)) DESC NULLS LAST LIMIT 5$$);
SELECT count(*) AS rows, min(d), max(d) FROM (SELECT b <&> 0::bit(200) AS d FROM l1_t ORDER BY b <&> 0::bit(200) LIMIT 20) x;
RESET enable_seqscan;
SELECT recall >= 0.95 - 0.02 AS target_met FROM ecp_recall('l1_i', 10, '{0}', 200, 2);
SET ecp.probes = 100000;
SELECT count(*) AS rows, count(*) FILTER (WHERE b.distance = s.d AND e.distance = s.d) AS same
FROM ecp_knn_batch('l1_i', 'SELECT id, b FROM l1_t WHERE id < 30', 5) b
	JOIN ecp_knn_exact('l1_i', 'SELECT id, b FROM l1_t WHERE id < 30', 5) e USING (query, rank)
	JOIN (SELECT q.id AS query, row_number() OVER (PARTITION BY q.id ORDER BY n.d) AS rank, n.d
		FROM l1_t q, LATERAL (SELECT t.b <&> q.b AS d FROM l1_t t ORDER BY t.b <&> q.b LIMIT 5) n
		WHERE q.id < 30) s USING (query, rank);
RESET ecp.probes;
SELECT * FROM ecp_knn_batch('l1_i', ARRAY[B'101'], 1);

DROP TABLE l1_t;
DROP FUNCTION l1_compare, l1_try;
