--
-- ecp_pgvector: operator classes for pgvector's types.  Every answer is
-- compared with that of a sequential scan with pgvector's operators.
--
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\i :explain
CREATE EXTENSION vector;
-- without the bridge the error names it
CREATE TABLE bridge_none (v vector(3), h halfvec(3), s sparsevec(3));
CREATE INDEX ON bridge_none USING ecp (v);
CREATE INDEX ON bridge_none USING ecp (h halfvec_cosine_ops);
CREATE EXTENSION ecp_pgvector;
CREATE INDEX ON bridge_none USING ecp (s);
CREATE INDEX ON bridge_none USING ecp (s sparsevec_l1_ops);
CREATE INDEX ON bridge_none USING ecp (v, h);
DROP TABLE bridge_none;
SELECT opcname, opcintype::regtype, opcdefault, amvalidate(c.oid)
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
WHERE amname = 'ecp' AND opcintype IN ('vector'::regtype, 'halfvec'::regtype, 'bit'::regtype)
ORDER BY opcintype::regtype::text DESC, opcname;

-- Elements that a half holds exactly, also the least, and subnormal ones
CREATE FUNCTION bridge_vector(i int) RETURNS vector
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((((i * 7919 + 13) % 1009 * (j * 31 + 7) % 997 + i % 5 * 40) % 256 - 100)::real
					 / CASE j WHEN 3 THEN 8 WHEN 5 THEN 16777216 ELSE 1 END
					 ORDER BY j)::vector
	FROM generate_series(1, 8) j
$$;
CREATE TABLE bridge (id int, tenant int, v vector(8), h halfvec(8));
INSERT INTO bridge
SELECT i, i % 20, CASE WHEN i % 50 <> 7 THEN bridge_vector(i) END,
	CASE WHEN i % 50 <> 7 THEN bridge_vector(i) END::halfvec
FROM generate_series(1, 2000) i;
INSERT INTO bridge VALUES (2001, 1, '[65504,-65504,0,1,2,3,4,5]', '[65504,-65504,0,1,2,3,4,5]');
ANALYZE bridge;
SET ecp.approximate_radius = on;

-- what a pgvector user writes, but for the name of the access method
CREATE INDEX bridge_v ON bridge USING ecp (v);
CREATE INDEX bridge_h ON bridge USING ecp (h halfvec_l2_ops);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM bridge ORDER BY v <-> '[1,2,3,4,5,6,7,8]' LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM bridge ORDER BY h <-> '[1,2,3,4,5,6,7,8]' LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM bridge WHERE v <-> '[1,2,3,4,5,6,7,8]' < 50;
EXPLAIN (COSTS OFF) SELECT id FROM bridge WHERE h <-> '[1,2,3,4,5,6,7,8]' < 50 ORDER BY h <-> '[1,2,3,4,5,6,7,8]';
SELECT element, dims, metric FROM ecp_metapage_info('bridge_v');
SELECT element, dims, metric FROM ecp_metapage_info('bridge_h');
RESET enable_seqscan;
DROP INDEX bridge_v, bridge_h;

/*
 * For 10 queries the 20 nearest rows by the index with all clusters and by a
 * sort, and the rows within a radius that 15 of them are in.
 */
CREATE FUNCTION bridge_compare(col text, op text, OUT uses_index boolean,
	OUT rows bigint, OUT wrong bigint, OUT in_radius bigint, OUT radius_wrong bigint)
LANGUAGE plpgsql AS $$
DECLARE
	nearest text := format('SELECT q.id, row_number() OVER (PARTITION BY q.id) AS n, s.d FROM
		(SELECT id, %1$I AS v FROM bridge WHERE %1$I IS NOT NULL AND id %% 20 = 3 ORDER BY id LIMIT 10) q,
		LATERAL (SELECT t.%1$I %2$s q.v AS d FROM bridge t
				 ORDER BY t.%1$I %2$s q.v LIMIT 20) s', col, op);
	within text := format('SELECT q.id, s.id AS n, s.d FROM
		(SELECT id, v, (SELECT d FROM exact e WHERE e.id = q.id AND n = 15) AS r
		 FROM (SELECT id, %1$I AS v FROM bridge WHERE %1$I IS NOT NULL AND id %% 20 = 3 ORDER BY id LIMIT 10) q) q,
		LATERAL (SELECT t.id, t.%1$I %2$s q.v AS d FROM bridge t
				 WHERE t.%1$I %2$s q.v <= q.r OFFSET 0) s', col, op);
	compare text := 'SELECT count(*), count(*) FILTER (WHERE a.d IS DISTINCT FROM e.d)
		FROM found a FULL JOIN %I e USING (id, n)';
	line text;
BEGIN
	uses_index := true;
	PERFORM set_config('ecp.probes', '100000', true);
	PERFORM set_config('enable_indexscan', 'off', true);
	EXECUTE 'CREATE TEMP TABLE exact AS ' || nearest;
	EXECUTE 'CREATE TEMP TABLE ball AS ' || within;
	PERFORM set_config('enable_indexscan', 'on', true);
	PERFORM set_config('enable_seqscan', 'off', true);
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || nearest INTO line;
	uses_index := uses_index AND line ~ 'bridge_i';
	EXECUTE 'CREATE TEMP TABLE found AS ' || nearest;
	EXECUTE format(compare, 'exact') INTO rows, wrong;
	DROP TABLE found;
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || within INTO line;
	uses_index := uses_index AND line ~ 'bridge_i';
	EXECUTE 'CREATE TEMP TABLE found AS ' || within;
	EXECUTE format(compare, 'ball') INTO in_radius, radius_wrong;
	DROP TABLE found;
	PERFORM set_config('enable_seqscan', 'on', true);
	DROP TABLE exact, ball;
END
$$;
SET ecp.iterative_scan = relaxed_order;
SET client_min_messages = warning;
\set check 'SELECT c.*, ecp_index_check(''bridge_i'', true) FROM bridge_compare(:''col'', :''op'') c;'
\set change 'DELETE FROM bridge WHERE id % 7 = 4; VACUUM bridge; INSERT INTO bridge SELECT i, i % 20, bridge_vector(i), bridge_vector(i)::halfvec FROM generate_series(2002, 2500) i; UPDATE bridge SET v = bridge_vector(id + 1), h = bridge_vector(id + 1)::halfvec WHERE id % 11 = 0;'
CREATE TABLE bridge_first AS TABLE bridge;
\set restore 'DROP INDEX bridge_i; TRUNCATE bridge; INSERT INTO bridge TABLE bridge_first;'

\set col v
\set op '<->'
\set class vector_l2_ops
CREATE INDEX bridge_i ON bridge USING ecp (:"col" :"class");
:check
:change
:check
:restore

\set col v
\set op '<#>'
\set class vector_ip_ops
CREATE INDEX bridge_i ON bridge USING ecp (:"col" :"class");
:check
:change
:check
:restore

\set col v
\set op '<=>'
\set class vector_cosine_ops
CREATE INDEX bridge_i ON bridge USING ecp (:"col" :"class");
:check
:change
:check
:restore

\set col h
\set op '<->'
\set class halfvec_l2_ops
CREATE INDEX bridge_i ON bridge USING ecp (:"col" :"class");
:check
:change
:check
:restore

\set col h
\set op '<#>'
\set class halfvec_ip_ops
CREATE INDEX bridge_i ON bridge USING ecp (:"col" :"class");
:check
:change
:check
:restore

\set col h
\set op '<=>'
\set class halfvec_cosine_ops
CREATE INDEX bridge_i ON bridge USING ecp (:"col" :"class");
:check
:change
:check
:restore

-- codes of four bits only, and exact distances from the table
\set col v
\set op '<->'
\set class vector_l2_ops
CREATE INDEX bridge_i ON bridge USING ecp (:"col" :"class") WITH (vectors = codes);
:check
:change
:check
:restore

\set col h
\set op '<#>'
\set class halfvec_ip_ops
CREATE INDEX bridge_i ON bridge USING ecp (:"col" :"class") WITH (vectors = codes);
:check
:change
:check
:restore

\set col h
\set op '<=>'
\set class halfvec_cosine_ops
CREATE INDEX bridge_i ON bridge USING ecp (:"col" :"class") WITH (vectors = codes);
:check
:change
:check
:restore

-- with a column for conditions, and filled row by row
TRUNCATE bridge;
CREATE INDEX bridge_i ON bridge USING ecp (v vector_cosine_ops, tenant);
INSERT INTO bridge TABLE bridge_first;
\set col v
\set op '<=>'
:check
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM bridge WHERE tenant = 3 ORDER BY v <=> '[1,2,3,4,5,6,7,8]' LIMIT 5;
SELECT count(*) FROM (SELECT FROM bridge WHERE tenant = 3 ORDER BY v <=> '[1,2,3,4,5,6,7,8]' LIMIT 500) q;
SELECT count(v) FROM bridge WHERE tenant = 3;

-- many queries at once, and the measurement of recall
CREATE INDEX bridge_v ON bridge USING ecp (v);
CREATE INDEX bridge_h ON bridge USING ecp (h);
SET ecp.probes = 100000;
CREATE FUNCTION bridge_knn(call text, OUT rows bigint, OUT same bigint, OUT nearest bigint)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*), count(*) FILTER (WHERE b.distance = s.d), count(*) FILTER (WHERE b.rank = 1)
		FROM %s b FULL JOIN
		(SELECT q.id AS query, row_number() OVER (PARTITION BY q.id) AS rank, n.d
		 FROM bridge q, LATERAL (SELECT t.v <-> q.v AS d FROM bridge t ORDER BY t.v <-> q.v LIMIT 5) n
		 WHERE q.id < 40 AND q.v IS NOT NULL) s USING (query, rank)', call)
	INTO rows, same, nearest;
END
$$;
SELECT call, k.* FROM (VALUES
	($$ecp_knn_batch('bridge_v', 'SELECT id, v FROM bridge WHERE id < 40', 5)$$),
	($$ecp_knn_exact('bridge_v', 'SELECT id, v FROM bridge WHERE id < 40', 5)$$),
	($$ecp_knn_batch('bridge_h', 'SELECT id, h FROM bridge WHERE id < 40', 5)$$),
	($$ecp_knn_exact('bridge_h', 'SELECT id, h FROM bridge WHERE id < 40', 5)$$),
	($$ecp_knn_batch('bridge_v', (SELECT array_agg(coalesce(v, (SELECT v FROM bridge WHERE id = 1)) ORDER BY id)
		FROM bridge WHERE id < 7), 5)$$)) c(call), bridge_knn(call) k;
SELECT count(*) FROM ecp_knn_batch('bridge_h', ARRAY['[1,2,3,4,5,6,7,8]', NULL]::halfvec[], 3);
SELECT * FROM ecp_knn_batch('bridge_v', ARRAY['[1,2,3,4,5,6,7,8]']::halfvec[], 3);
SELECT * FROM ecp_knn_exact('bridge_v', '{1,2,3,4,5,6,7,8}'::real[], 3);
SELECT probes, recall FROM ecp_recall('bridge_v', 5, '{100000}', 20);
SELECT probes, recall FROM ecp_recall('bridge_h', 5, '{100000}', 20);

-- an array instead of a vector: the column is cast to real[], which an index on
-- the column serves
EXPLAIN (COSTS OFF) SELECT id FROM bridge ORDER BY v <-> ARRAY[1, 2, 3, 4, 5, 6, 7, 8] LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM bridge ORDER BY ARRAY[0.1, 2, 3, 4, 5, 6, 7, 8] <=> v LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM bridge ORDER BY v::real[] <-> '{1,2,3,4,5,6,7,8}' LIMIT 3;
SET plan_cache_mode = force_generic_plan;
PREPARE bridge_near(real[]) AS SELECT id FROM bridge WHERE v <-> $1 < 50 ORDER BY v <-> $1 LIMIT 3;
EXPLAIN (COSTS OFF) EXECUTE bridge_near('{1,2,3,4,5,6,7,8}');
EXECUTE bridge_near('{1,2,3,4,5,6,7,8}');
SELECT id FROM bridge WHERE v <-> '[1,2,3,4,5,6,7,8]' < 50 ORDER BY v <-> '[1,2,3,4,5,6,7,8]' LIMIT 3;
EXECUTE bridge_near('{1,2,3}');
RESET plan_cache_mode;
CREATE TEMP TABLE bridge_found AS
	SELECT q.id, n.d FROM bridge q, LATERAL (SELECT t.v <-> q.v::real[] AS d FROM bridge t ORDER BY t.v <-> q.v::real[] LIMIT 5) n
	WHERE q.id < 40;
SELECT * FROM pg_temp.explain($$SELECT q.id, n.d FROM bridge q, LATERAL (SELECT t.v <-> q.v::real[] AS d FROM bridge t ORDER BY t.v <-> q.v::real[] LIMIT 5) n
	WHERE q.id < 40$$);
SET enable_indexscan = off;
SELECT count(*) FROM bridge_found;
SELECT * FROM bridge_found EXCEPT ALL
	SELECT q.id, n.d FROM bridge q, LATERAL (SELECT t.v <-> q.v::real[] AS d FROM bridge t ORDER BY t.v <-> q.v::real[] LIMIT 5) n
	WHERE q.id < 40;
RESET enable_indexscan;
RESET ecp.probes;
RESET enable_seqscan;

-- bits, by pgvector's operator and by the other
CREATE TABLE bridge_bits (id int, b bit(64));
INSERT INTO bridge_bits SELECT i, ('x' || md5(i::text))::bit(64) FROM generate_series(1, 2000) i;
CREATE INDEX bridge_b ON bridge_bits USING ecp (b bit_hamming_ops);
SET enable_seqscan = off;
SET ecp.probes = 100000;
SELECT * FROM pg_temp.explain($$SELECT id FROM bridge_bits ORDER BY b <~> (SELECT b FROM bridge_bits WHERE id = 1) LIMIT 5$$);
SELECT * FROM pg_temp.explain($$SELECT id FROM bridge_bits WHERE b <~> (SELECT b FROM bridge_bits WHERE id = 1) < 20$$);
SELECT * FROM pg_temp.explain($$SELECT id FROM bridge_bits ORDER BY b <-> (SELECT b FROM bridge_bits WHERE id = 1) LIMIT 5$$);
CREATE FUNCTION bridge_bits_sum(out real) LANGUAGE sql AS $$
	SELECT sum(d) FROM (SELECT b AS q FROM bridge_bits WHERE id <= 20) q,
		LATERAL (SELECT b <~> q AS d FROM bridge_bits ORDER BY b <~> q LIMIT 10) s $$;
CREATE FUNCTION bridge_bits_near(out bigint) LANGUAGE sql AS $$
	SELECT count(*) FROM (SELECT b AS q FROM bridge_bits WHERE id <= 20) q,
		LATERAL (SELECT FROM bridge_bits WHERE b <~> q <= 20) s $$;
SELECT bridge_bits_sum() AS index_sum, bridge_bits_near() AS index_near \gset
SET enable_seqscan = on;
SET enable_indexscan = off;
SELECT bridge_bits_sum() = :index_sum AS same, bridge_bits_near() = :index_near AS same_near,
	bridge_bits_near() > 20 AS near, ecp_index_check('bridge_b', true);
RESET enable_indexscan;
RESET enable_seqscan;
-- the signs of a vector, as pgvector has them indexed
CREATE INDEX bridge_s ON bridge USING ecp ((binary_quantize(v)::bit(8)) bit_hamming_ops);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM bridge
ORDER BY binary_quantize(v)::bit(8) <~> binary_quantize('[1,-2,3,-4,5,-6,7,8]'::vector) LIMIT 20;
SELECT ecp_index_check('bridge_s', true), max(d) FROM (
	SELECT binary_quantize(v)::bit(8) <~> B'10101011' AS d FROM bridge
	ORDER BY binary_quantize(v)::bit(8) <~> B'10101011' LIMIT 2) s;
RESET enable_seqscan;
DROP INDEX bridge_s;
SELECT count(*) AS wrong FROM bridge_bits x, bridge_bits y
WHERE x.id < 30 AND (x.b <~> y.b <> x.b <-> y.b OR x.b <%> y.b <> x.b <&> y.b);

-- L1 and Jaccard distance, as pgvector tests its own indexes by them
SET enable_seqscan = off;
CREATE TABLE bridge_l1 (v vector(3), h halfvec(3), b bit(4));
INSERT INTO bridge_l1 VALUES ('[0,0,0]', '[0,0,0]', B'0000'), ('[1,2,3]', '[1,2,3]', B'1100'),
	('[1,1,1]', '[1,1,1]', B'1111'), (NULL, NULL, NULL);
CREATE INDEX bridge_l1_v ON bridge_l1 USING ecp (v vector_l1_ops);
CREATE INDEX bridge_l1_h ON bridge_l1 USING ecp (h halfvec_l1_ops);
CREATE INDEX bridge_l1_b ON bridge_l1 USING ecp (b bit_jaccard_ops);
INSERT INTO bridge_l1 VALUES ('[1,2,4]', '[1,2,4]', B'1110');
SELECT * FROM pg_temp.explain($$SELECT v FROM bridge_l1 ORDER BY v <+> '[3,3,3]'$$);
SELECT v FROM bridge_l1 ORDER BY v <+> '[3,3,3]';
SELECT * FROM pg_temp.explain($$SELECT h FROM bridge_l1 ORDER BY h <+> '[3,3,3]'$$);
SELECT h FROM bridge_l1 ORDER BY h <+> '[3,3,3]';
SELECT * FROM pg_temp.explain($$SELECT b FROM bridge_l1 ORDER BY b <%> B'1111'$$);
SELECT b FROM bridge_l1 ORDER BY b <%> B'1111';
SELECT count(*) FROM (SELECT FROM bridge_l1 ORDER BY v <+> (SELECT NULL::vector)) x;
SELECT count(*) FROM (SELECT FROM bridge_l1 ORDER BY h <+> (SELECT NULL::halfvec)) x;
SELECT count(*) FROM (SELECT FROM bridge_l1 ORDER BY b <%> (SELECT NULL::bit)) x;
SELECT * FROM pg_temp.explain($$SELECT v FROM bridge_l1 WHERE v <+> '[1,2,3]' < 2$$);
SELECT v FROM bridge_l1 WHERE v <+> '[1,2,3]' < 2 ORDER BY v <+> '[1,2,3]';
SELECT * FROM pg_temp.explain($$SELECT v FROM bridge_l1 ORDER BY v <+> ARRAY[3, 3, 3]::real[]$$);
SELECT b FROM bridge_l1 WHERE b <%> B'1110' <= 0.25 ORDER BY b <%> B'1110';
SELECT v <+> '[3]' FROM bridge_l1;
SELECT b FROM bridge_l1 ORDER BY b <%> B'111' LIMIT 1;
DROP TABLE bridge_l1;
-- many rows of each: the nearest are those of a sort
CREATE INDEX bridge_l1_v ON bridge USING ecp (v vector_l1_ops);
CREATE INDEX bridge_j ON bridge_bits USING ecp (b bit_jaccard_ops);
CREATE FUNCTION bridge_l1_sum(out real) LANGUAGE sql AS $$
	SELECT sum(d) FROM (SELECT v AS q FROM bridge WHERE id <= 20) q,
		LATERAL (SELECT v <+> q AS d FROM bridge ORDER BY v <+> q LIMIT 10) s $$;
CREATE FUNCTION bridge_j_sum(out real) LANGUAGE sql AS $$
	SELECT sum(d) FROM (SELECT b AS q FROM bridge_bits WHERE id <= 20) q,
		LATERAL (SELECT b <%> q AS d FROM bridge_bits ORDER BY b <%> q LIMIT 10) s $$;
SELECT * FROM pg_temp.explain($$SELECT id FROM bridge ORDER BY v <+> (SELECT v FROM bridge WHERE id = 1) LIMIT 5$$);
SELECT * FROM pg_temp.explain($$SELECT id FROM bridge_bits ORDER BY b <%> (SELECT b FROM bridge_bits WHERE id = 1) LIMIT 5$$);
SELECT bridge_l1_sum() AS l1, bridge_j_sum() AS j \gset
RESET enable_seqscan;
SET enable_indexscan = off;
SELECT bridge_l1_sum() = :'l1'::real AS l1, bridge_j_sum() = :'j'::real AS jaccard, ecp_index_check('bridge_l1_v', true), ecp_index_check('bridge_j', true);
RESET enable_indexscan;
DROP INDEX bridge_l1_v, bridge_j;
DROP FUNCTION bridge_l1_sum, bridge_j_sum;
RESET ecp.probes;

-- dimensions: of the type where it says them, else of the first row
SELECT id FROM bridge ORDER BY v <-> '[1,2]' LIMIT 1;
SELECT * FROM ecp_knn_batch('bridge_v', ARRAY['[1,2]']::vector[], 3);
CREATE TABLE bridge_d (v3 vector(3), v vector, h halfvec);
CREATE INDEX bridge_d3 ON bridge_d USING ecp (v3) WITH (dims = 4);
CREATE INDEX bridge_d3 ON bridge_d USING ecp (v3) WITH (dims = 3);
DROP INDEX bridge_d3;
CREATE INDEX bridge_d3 ON bridge_d USING ecp (v3);
CREATE INDEX bridge_dv ON bridge_d USING ecp (v);
CREATE INDEX bridge_dh ON bridge_d USING ecp (h) WITH (dims = 4);
SELECT i, dims FROM unnest('{bridge_d3,bridge_dv,bridge_dh}'::regclass[]) i, ecp_metapage_info(i);
INSERT INTO bridge_d (v3) VALUES ('[1,2]');
INSERT INTO bridge_d (v) VALUES ('[1,2]');
INSERT INTO bridge_d (v) VALUES ('[1,2,3]');
INSERT INTO bridge_d (h) VALUES ('[1,2,3]');
-- vectors of several lengths in one column, as pgvector has them indexed
CREATE TABLE bridge_e (id int, v vector);
INSERT INTO bridge_e VALUES (1, '[1,2]'), (2, '[1,2,3]'), (3, '[3,2,1]'), (4, '[4,4,4]');
CREATE INDEX ON bridge_e USING ecp (v);
CREATE INDEX bridge_ei ON bridge_e USING ecp ((v::vector(3)) vector_l2_ops) WHERE vector_dims(v) = 3;
CREATE INDEX bridge_eh ON bridge_e USING ecp ((v::halfvec(3)) halfvec_ip_ops) WHERE vector_dims(v) = 3;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM bridge_e WHERE vector_dims(v) = 3 ORDER BY v::vector(3) <-> '[3,2,2]';
SELECT id FROM bridge_e WHERE vector_dims(v) = 3 ORDER BY v::vector(3) <-> '[3,2,2]';
SELECT id FROM bridge_e WHERE vector_dims(v) = 3 ORDER BY v::halfvec(3) <#> '[3,0,0]';
RESET enable_seqscan;

-- zero vectors have no direction: with cosine they are not in the index
INSERT INTO bridge_e VALUES (5, '[0,0,0]');
CREATE INDEX bridge_ec ON bridge_e USING ecp ((v::vector(3)) vector_cosine_ops) WHERE vector_dims(v) = 3;
SELECT ecp_index_check('bridge_ec', true), rows FROM ecp_index_drift('bridge_ec');

-- toasted vectors, longer than a page
CREATE TABLE bridge_w (id int, v vector(3000), h halfvec(3000));
ALTER TABLE bridge_w ALTER v SET STORAGE extended, ALTER h SET STORAGE external;
INSERT INTO bridge_w SELECT i, a, a::vector::halfvec FROM generate_series(1, 40) i,
	LATERAL (SELECT array_agg(((i * 37 + j * 11) % 101 - 40)::real ORDER BY j)::vector AS a
			 FROM generate_series(1, 3000) j) s;
CREATE INDEX bridge_wv ON bridge_w USING ecp (v);
CREATE INDEX bridge_wh ON bridge_w USING ecp (h halfvec_ip_ops);
SELECT ecp_index_check('bridge_wv', true), ecp_index_check('bridge_wh', true);
SET enable_seqscan = off;
SELECT id, v <-> (SELECT v FROM bridge_w WHERE id = 7) AS d FROM bridge_w
ORDER BY v <-> (SELECT v FROM bridge_w WHERE id = 7) LIMIT 1;
RESET enable_seqscan;

-- the planner knows that other plans fetch each wide vector from the TOAST table
CREATE TABLE bridge_wide (id int, v vector(768), h halfvec(1536));
INSERT INTO bridge_wide
SELECT i, w::real[]::vector, (w || w)::real[]::halfvec
FROM generate_series(1, 600) i,
	LATERAL (SELECT array_agg((i * j * 7919) % 1009 ORDER BY j) AS w FROM generate_series(1, 768::bigint) j) x;
CREATE INDEX bridge_wide_v ON bridge_wide USING ecp (v vector_l2_ops);
CREATE INDEX bridge_wide_h ON bridge_wide USING ecp (h halfvec_cosine_ops);
ANALYZE bridge_wide;
CREATE FUNCTION bridge_wide(dims int) RETURNS vector LANGUAGE plpgsql STABLE AS 'BEGIN RETURN array_fill(500, ARRAY[dims])::vector; END';
EXPLAIN (COSTS OFF) SELECT id FROM bridge_wide ORDER BY v <-> bridge_wide(768) LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM bridge_wide ORDER BY h <=> bridge_wide(1536)::halfvec LIMIT 10;
DROP FUNCTION bridge_wide;
DROP TABLE bridge_wide;

-- Thresholds at a row's distance, where pgvector's sums of floats differ from ours: by
-- cosine of near vectors, by inner products that cancel, and by squares which the
-- longest element of a sum swallows.  A row that is lost is within the threshold by the
-- table.
CREATE FUNCTION bridge_edges(type text, class text, op text, options text,
	OUT uses_index boolean, OUT rows bigint, OUT lost bigint)
LANGUAGE plpgsql AS $$
DECLARE
	within text := format('SELECT q.id AS query, t.id FROM edge_q q,
		LATERAL (SELECT id FROM edge t WHERE t.v %s q.v <= q.r OFFSET 0) t', op);
	line text;
BEGIN
	PERFORM set_config('ecp.probes', '100000', true);
	EXECUTE format('CREATE TEMP TABLE edge AS SELECT i AS id, (SELECT array_agg(CASE %L
			WHEN ''<=>'' THEN CASE j WHEN 1 THEN cos(i * 0.003) ELSE sin(i * 0.003) END * (1 + i %% 13 / 7.0)
			WHEN ''<#>'' THEN (i * 7919 + j * j * 104729 + i * j) %% 1009 / 1009.0 - 0.5
			ELSE (i + 5) * CASE j WHEN 1 THEN 1 ELSE 0.0002 END END::real ORDER BY j)
		FROM generate_series(1, %s) j)::%s AS v FROM generate_series(0, %s) i', op,
		CASE op WHEN '<=>' THEN 2 WHEN '<#>' THEN 100 ELSE 500 END, type,
		CASE op WHEN '<->' THEN 100 ELSE 2000 END);
	EXECUTE format('CREATE INDEX edge_i ON edge USING ecp (v %s) %s', class, options);
	PERFORM set_config('enable_indexscan', 'off', true);
	EXECUTE format('CREATE TEMP TABLE edge_q AS SELECT q.id, q.v, t.r FROM
		(SELECT id, %s AS v FROM edge LIMIT 60) q, LATERAL (SELECT t.v %s q.v AS r FROM edge t
			ORDER BY abs(t.v %2$s q.v), id OFFSET q.id LIMIT 1) t',
		CASE op WHEN '<->' THEN 'v - v' ELSE 'v' END, op);
	EXECUTE 'CREATE TEMP TABLE edge_exact AS ' || within;
	PERFORM set_config('enable_indexscan', 'on', true);
	PERFORM set_config('enable_seqscan', 'off', true);
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || within INTO line;
	uses_index := line ~ 'edge_i';
	EXECUTE 'CREATE TEMP TABLE edge_found AS ' || within;
	PERFORM set_config('enable_seqscan', 'on', true);
	rows := count(*) FROM edge_found;
	lost := count(*) FROM (TABLE edge_exact EXCEPT TABLE edge_found) l;
	DROP TABLE edge, edge_q, edge_exact, edge_found;
END
$$;
SELECT type, metric, options, e.uses_index, e.rows > 1000 AS rows, e.lost
FROM (VALUES ('vector', 'l2', '<->'), ('vector', 'ip', '<#>'), ('vector', 'cosine', '<=>'),
	('halfvec', 'l2', '<->'), ('halfvec', 'ip', '<#>'), ('halfvec', 'cosine', '<=>')) t (type, metric, op),
	unnest('{"",WITH (vectors = codes),WITH (vectors = half)}'::text[]) options,
	bridge_edges(type, type || '_' || metric || '_ops', op, options) e
ORDER BY options COLLATE "C", type COLLATE "C", metric COLLATE "C";

-- what depends on what
RESET client_min_messages;
\set VERBOSITY terse
DROP EXTENSION vector;
DROP EXTENSION ecp;
DROP EXTENSION ecp_pgvector;
DROP TABLE bridge, bridge_first, bridge_d, bridge_e, bridge_w, bridge_bits;
DROP FUNCTION bridge_compare, bridge_edges, bridge_knn, bridge_vector, bridge_bits_sum, bridge_bits_near;
DROP EXTENSION ecp_pgvector;
DROP EXTENSION vector;
