--
-- betree: IN lists and = ANY (array) as ordered index scans
--
-- Each query is asked of a table with betree indexes, whose plan must have the
-- given node, of one with btree indexes of the same names, and of a sequential
-- scan; "@" is the access method.
-- few rows are held back, so that logs take them
SET work_mem = '64kB';

CREATE FUNCTION array_fill_table(am text, first int, last int) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO array_%s
		SELECT g, CASE WHEN g %% 37 <> 0 THEN g %% 50 END,
			   CASE WHEN g %% 11 <> 0 THEN ''w'' || hashint4(g) %% 300 END,
			   CASE WHEN g %% 29 <> 0 THEN hashint8extended(g, 1) %% 5000 END,
			   round((g %% 900) / 7.0, g %% 5)
		FROM generate_series(%s, %s) g', am, first, last);
END $$;

-- long logs, on the inner nodes of a tree that the build has made
CREATE TABLE array_betree (id int4, a int4, b text COLLATE "C", k int8, n numeric)
	WITH (autovacuum_enabled = off);
CREATE TABLE array_btree (LIKE array_betree) WITH (autovacuum_enabled = off);
SELECT array_fill_table(am, 1, 20000) FROM unnest('{btree,betree}'::text[]) am;
CREATE INDEX array_k_betree ON array_betree USING betree (k) INCLUDE (id) WITH (log_pages = 24);
CREATE INDEX array_ab_betree ON array_betree USING betree (a, b DESC) WITH (log_pages = 24);
CREATE INDEX array_ba_betree ON array_betree USING betree (b NULLS FIRST, a DESC NULLS LAST);
CREATE INDEX array_n_betree ON array_betree USING betree (n DESC) WITH (log_pages = 24);
CREATE INDEX array_k_btree ON array_btree USING btree (k) INCLUDE (id);
CREATE INDEX array_ab_btree ON array_btree USING btree (a, b DESC);
CREATE INDEX array_ba_btree ON array_btree USING btree (b NULLS FIRST, a DESC NULLS LAST);
CREATE INDEX array_n_btree ON array_btree USING btree (n DESC);
SELECT array_fill_table(am, 20001, 60000) FROM unnest('{btree,betree}'::text[]) am;
VACUUM ANALYZE array_betree;
VACUUM ANALYZE array_btree;
SELECT min(messages_in_logs) > 0 AS in_logs
FROM unnest('{array_k_betree,array_ab_betree,array_n_betree}'::regclass[]) i, betree_index_stats(i);

CREATE FUNCTION array_answer(query text, am text, OUT answer text, OUT n int8)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'SELECT md5(string_agg(s::text, ''|'''
		|| CASE WHEN query ~ 'ORDER BY' THEN '' ELSE ' ORDER BY s' END
		|| ')), count(*) FROM (' || replace(query, '@', am) || ') s' INTO answer, n;
END $$;

CREATE FUNCTION array_same(query text, node text, conds text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	plan text := '';
	line text;
	got record;
	by_btree record;
	by_table record;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_sort = off;
	SET LOCAL enable_bitmapscan = off;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '@', 'betree') LOOP
		plan := concat_ws(E'\n', plan, line);
	END LOOP;
	got := array_answer(query, 'betree');
	by_btree := array_answer(query, 'btree');
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_sort = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_indexonlyscan = off;
	by_table := array_answer(query, 'betree');
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_indexonlyscan = on;
	IF plan NOT LIKE '%' || node || '_betree on%' OR
		plan !~ ('Index Cond: ' || conds) OR plan ~ 'Sort' THEN
		RETURN 'other plan: ' || plan;
	END IF;
	RETURN got.n || CASE WHEN got = by_btree AND got = by_table THEN ' same'
						 ELSE format(' DIFFERENT %s %s', by_btree, by_table) END;
END $$;

-- the case in one query
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT k FROM array_betree WHERE k = ANY ('{3,1,2}') ORDER BY k LIMIT 10;
SELECT k FROM array_betree WHERE k = ANY ('{3,1,2}') ORDER BY k LIMIT 10;
EXPLAIN (COSTS OFF) SELECT k FROM array_betree WHERE k IN (3, 1, 2) ORDER BY k DESC LIMIT 10;
SELECT k FROM array_betree WHERE k IN (3, 1, 2) ORDER BY k DESC LIMIT 10;
RESET enable_seqscan;

-- order, both directions, elements of every kind
SELECT array_same(q, node, conds) AS answer, q FROM (VALUES
('SELECT k FROM array_@ WHERE k = ANY (''{3,1,2,-4999,4999}'') ORDER BY k', 'Index Only Scan using array_k', '.k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{3,1,2,-4999,4999}'') ORDER BY k DESC', 'Index Only Scan Backward using array_k', '.k = ANY'),
('SELECT k, id FROM array_@ WHERE k = ANY (''{3,3,NULL,1,3,1}'')', 'Index Only Scan using array_k', '.k = ANY'),
('SELECT k, id, n FROM array_@ WHERE k = ANY (''{77,-3,1,70000,-70000}'')', 'Index Scan using array_k', '.k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{}'') ORDER BY k', 'Index Only Scan using array_k', '.k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{NULL,NULL}'') ORDER BY k', 'Index Only Scan using array_k', '.k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{NULL,5}'') ORDER BY k DESC', 'Index Only Scan Backward using array_k', '.k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY ((SELECT NULL::int8[])::int8[]) ORDER BY k', 'Index Only Scan using array_k', '.k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{70000,-70000}'') ORDER BY k', 'Index Only Scan using array_k', '.k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (ARRAY(SELECT generate_series(-6000, 6000, 61)::int8)) ORDER BY k', 'Index Only Scan using array_k', '.k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (ARRAY(SELECT generate_series(-6000, 6000, 61)::int8)) ORDER BY k DESC', 'Index Only Scan Backward using array_k', '.k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (ARRAY(SELECT generate_series(6000, -6000, -1)::int8)) ORDER BY k', 'Index Only Scan using array_k', '.k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (ARRAY(SELECT generate_series(6000, -6000, -1)::int8)) ORDER BY k DESC LIMIT 7000', 'Index Only Scan Backward using array_k', '.k = ANY'),
('SELECT k, id FROM array_@ WHERE k = ANY (''{{3,1},{2,4}}''::int8[])', 'Index Only Scan using array_k', '.k = ANY'),
-- other types than the column's
('SELECT k FROM array_@ WHERE k = ANY (''{3,1,2,-4999}''::int4[]) ORDER BY k', 'Index Only Scan using array_k', '.k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{3,1,2,-4999}''::int2[]) ORDER BY k DESC', 'Index Only Scan Backward using array_k', '.k = ANY'),
('SELECT a FROM array_@ WHERE a = ANY (''{3,1,2,5000000000}''::int8[]) ORDER BY a', 'Index Only Scan using array_ab', '.a = ANY'),
-- a descending column; equal values that look different
('SELECT trim_scale(n), id FROM array_@ WHERE n = ANY (''{1,2.0,100.00,NaN,1.0}'')', 'Index Scan using array_n', '.n = ANY'),
('SELECT trim_scale(n) FROM array_@ WHERE n = ANY (''{1,2.0,100.00,NaN,1.0}'') ORDER BY n', 'Index Only Scan Backward using array_n', '.n = ANY'),
-- inequalities
('SELECT k FROM array_@ WHERE k > ANY (''{4990,4995,NULL}'') ORDER BY k', 'Index Only Scan using array_k', '.k > ANY'),
('SELECT k FROM array_@ WHERE k >= ANY (''{4990,4995}'') ORDER BY k DESC', 'Index Only Scan Backward using array_k', '.k >= ANY'),
('SELECT k FROM array_@ WHERE k < ANY (''{-4995,-4990,NULL}'') ORDER BY k', 'Index Only Scan using array_k', '.k < ANY'),
('SELECT k FROM array_@ WHERE k <= ANY (''{-4995,-4990}''::int4[]) ORDER BY k DESC', 'Index Only Scan Backward using array_k', '.k <= ANY'),
('SELECT trim_scale(n) FROM array_@ WHERE n < ANY (''{0.2,0.4}'') ORDER BY n', 'Index Only Scan Backward using array_n', '.n < ANY'),
('SELECT trim_scale(n) FROM array_@ WHERE n >= ANY (''{128,127}'') ORDER BY n DESC', 'Index Only Scan using array_n', '.n >= ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{1,2,3}'') AND k > ALL (''{0,1}'') ORDER BY k', 'Index Only Scan using array_k', '.k = ANY'),
('SELECT k FROM array_@ WHERE k < ANY (''{}'') ORDER BY k', 'Index Only Scan using array_k', '.k < ANY'),
-- more than one qual on the column
('SELECT k FROM array_@ WHERE k = ANY (''{1,2,3,4}'') AND k = 3 ORDER BY k', 'Index Only Scan using array_k', '.*k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{1,2,4}'') AND k = 3 ORDER BY k', 'Index Only Scan using array_k', '.*k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{1,2,3,4,5,6}'') AND k > 2 AND k < 6::int4 ORDER BY k', 'Index Only Scan using array_k', '.*k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{1,2,3,4,5,6}''::int4[]) AND k > 2 AND k < 6::int2 ORDER BY k DESC', 'Index Only Scan Backward using array_k', '.*k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{1,2,3,4}'') AND k = ANY (''{9,3,4}'') ORDER BY k', 'Index Only Scan using array_k', '.*k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{1,2,3,4}'') AND k = ANY (''{9,3,4}''::int4[]) ORDER BY k', 'Index Only Scan using array_k', '.*k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{1,2}'') AND k = ANY (''{3,4}'') ORDER BY k', 'Index Only Scan using array_k', '.*k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{1,2,3,4}'') AND k < ANY (''{2,3}'') ORDER BY k', 'Index Only Scan using array_k', '.*k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{1,2,3,4}'') AND k < 0 ORDER BY k', 'Index Only Scan using array_k', '.*k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{1,2,3,4}'') AND k IS NOT NULL ORDER BY k', 'Index Only Scan using array_k', '.*k = ANY'),
('SELECT k FROM array_@ WHERE k = ANY (''{1,2,3,4}'') AND k IS NULL ORDER BY k', 'Index Only Scan using array_k', '.*k = ANY')
) AS t(q, node, conds);

-- several columns: arrays of any, windows that the next column bounds
SELECT array_same(q, node, conds) AS answer, q FROM (VALUES
('SELECT a, b FROM array_@ WHERE a = ANY (''{7,3,49,77}'') ORDER BY a, b DESC', 'Index Only Scan using array_ab', '.a = ANY'),
('SELECT a, b FROM array_@ WHERE a = ANY (''{7,3,49,77}'') ORDER BY a DESC, b', 'Index Only Scan Backward using array_ab', '.a = ANY'),
('SELECT a, b FROM array_@ WHERE a = ANY (''{7,3,49}'') AND b > ''w2'' ORDER BY a, b DESC', 'Index Only Scan using array_ab', '.*a = ANY.*b >'),
('SELECT a, b FROM array_@ WHERE a = ANY (''{7,3,49}'') AND b <= ''w2'' ORDER BY a DESC, b', 'Index Only Scan Backward using array_ab', '.*a = ANY.*b <='),
('SELECT a, b FROM array_@ WHERE a = ANY (''{7,3,49}'') AND b >= ''w1'' AND b < ''w15'' ORDER BY a, b DESC LIMIT 100', 'Index Only Scan using array_ab', '.*a = ANY.*b <'),
('SELECT a, b FROM array_@ WHERE a = ANY (''{7,3,49}'') AND b > ''w2'' AND b < ''w1'' ORDER BY a, b DESC', 'Index Only Scan using array_ab', '.*a = ANY.*b <'),
('SELECT a, b FROM array_@ WHERE a = ANY (''{7,3,49}'') AND b IS NULL ORDER BY a DESC, b', 'Index Only Scan Backward using array_ab', '.*a = ANY.*b IS NULL'),
('SELECT a, b FROM array_@ WHERE a = ANY (''{7,3,49}'') AND b IS NOT NULL ORDER BY a, b DESC', 'Index Only Scan using array_ab', '.*a = ANY.*b IS NOT NULL'),
('SELECT a, b FROM array_@ WHERE a = ANY (''{7,3,49}'') AND b = ''w-77'' ORDER BY a, b DESC', 'Index Only Scan using array_ab', '.*a = ANY.*b = '),
('SELECT b, a FROM array_@ WHERE b = ANY (''{w3,w-2,w100,nowhere}'') ORDER BY b NULLS FIRST, a DESC NULLS LAST', 'Index Only Scan using array_ba', '.*b = ANY'),
('SELECT b, a FROM array_@ WHERE b = ANY (''{w3,w-2,w100,nowhere}'') AND a < 20 ORDER BY b DESC NULLS LAST, a NULLS FIRST', 'Index Only Scan Backward using array_ba', '.*b = ANY.*a <'),
('SELECT b, a FROM array_@ WHERE b = ANY (''{w3,w-2,w100}'') AND a IS NULL ORDER BY b NULLS FIRST', 'Index Only Scan using array_ba', '.*b = ANY')
) AS t(q, node, conds);

-- With an array of a later column 15 and 16 do not take the scan's order for
-- granted, so these ask for none.
DROP INDEX array_ba_betree;
SELECT array_same(q, node, conds) AS answer, q FROM (VALUES
('SELECT a, b FROM array_@ WHERE a = 7 AND b = ANY (''{w3,w-2,w100}'')', 'Index Only Scan using array_ab', '.*b = ANY'),
('SELECT a, b FROM array_@ WHERE a IS NULL AND b = ANY (''{w3,w-2,w100}'')', 'Index Only Scan using array_ab', '.*b = ANY'),
('SELECT a, b FROM array_@ WHERE a = ANY (''{7,3,49,50}'') AND b = ANY (''{w3,w-2,w100,NULL}'')', 'Index Only Scan using array_ab', '.*a = ANY.*b = ANY'),
('SELECT a, b FROM array_@ WHERE a = ANY (''{7,3,49,50}'') AND b > ANY (''{w3,w28}'')', 'Index Only Scan using array_ab', '.*a = ANY.*b > ANY'),
('SELECT a, b FROM array_@ WHERE a > 40 AND a < 44 AND b = ANY (''{w3,w-2,w100}'')', 'Index Only Scan using array_ab', '.*a < 44.*b = ANY'),
('SELECT a, b FROM array_@ WHERE a = ANY (''{7,3,49,50}'') AND a > 5 AND b = ANY (''{w3,w-2}'') AND b = ANY (''{w-2,w100}'')', 'Index Only Scan using array_ab', '.*a = ANY.*b = ANY')
) AS t(q, node, conds);
-- the scan has its order all the same
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF)
SELECT a, b FROM array_betree WHERE a = ANY ('{49,3,7}') AND b = ANY ('{w-2,w3,w1,w100}');
SELECT count(*), count(*) FILTER (WHERE a < last_a OR a = last_a AND b > last_b) AS out_of_order
FROM (SELECT a, b, lag(a) OVER () AS last_a, lag(b) OVER () AS last_b FROM array_betree
	  WHERE a = ANY ('{49,3,7}') AND b = ANY ('{w-2,w3,w1,w100}')) s;

-- a million combinations are not tried one by one
CREATE FUNCTION array_blocks(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
	plan := plan -> 0 -> 'Plan';
	RETURN (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int;
END $$;
SELECT array_agg('w' || g) AS words, array_agg(g) AS numbers FROM generate_series(-500, 499) g \gset
SELECT count(*) FROM array_betree WHERE a = ANY (:'numbers') AND b = ANY (:'words');
SELECT array_blocks(format('SELECT a, b FROM array_betree WHERE a = ANY (%L) AND b = ANY (%L)',
						   :'numbers', :'words')) < 1000 AS few;
-- elements side by side cost what their range does
SELECT array_blocks(format('SELECT k FROM array_betree WHERE k = ANY (%L)', :'numbers')) <
	   array_blocks('SELECT k FROM array_betree WHERE k BETWEEN -500 AND 499') * 1.5 AS few;
-- some that lie far from each other: by the filters of the logs, not the logs,
-- of which no scan has made runs
CREATE TABLE array_far (k int8) WITH (autovacuum_enabled = off);
CREATE INDEX array_far_k ON array_far USING betree (k) WITH (log_pages = 64);
INSERT INTO array_far SELECT hashint8extended(g, 1) % 5000 FROM generate_series(1, 20000) g;
VACUUM ANALYZE array_far;
SELECT array_blocks('SELECT k FROM array_far WHERE k = ANY (''{-6000,6000}'')') <
	   array_blocks('SELECT k FROM array_far WHERE k BETWEEN 6000 AND 6000') AS few;
DROP TABLE array_far;

-- parameters: a nested loop rescans, a generic plan keeps them
CREATE TABLE array_lists (i int4, list int4[]);
INSERT INTO array_lists
SELECT i, ARRAY(SELECT hashint4(g) % 6000 FROM generate_series(i * 10, i * 10 + i % 8) g)
FROM generate_series(1, 200) i;
INSERT INTO array_lists VALUES (201, '{}'), (202, NULL), (203, '{NULL}'), (204, '{1,NULL,1}');
SET enable_memoize = off;
RESET enable_seqscan;
EXPLAIN (COSTS OFF)
SELECT count(*), sum(k * i) FROM array_lists,
	   LATERAL (SELECT k FROM array_betree WHERE k = ANY (list) ORDER BY k DESC LIMIT 5) x;
SELECT count(*), sum(k * i) FROM array_lists,
	   LATERAL (SELECT k FROM array_betree WHERE k = ANY (list) ORDER BY k DESC LIMIT 5) x;
SELECT count(*), sum(k * i) FROM array_lists,
	   LATERAL (SELECT k FROM array_btree WHERE k = ANY (list) ORDER BY k DESC LIMIT 5) x;
SET enable_seqscan = off;
SET plan_cache_mode = force_generic_plan;
PREPARE array_q(int8[], int8) AS SELECT k FROM array_betree WHERE k = ANY ($1) AND k > $2 ORDER BY k;
EXPLAIN (COSTS OFF) EXECUTE array_q('{}', 1);
EXECUTE array_q('{5,4999,-5,4999}', 0);
EXECUTE array_q('{}', 0);
EXECUTE array_q(NULL, 0);
EXECUTE array_q('{5}', NULL);
DEALLOCATE array_q;
RESET plan_cache_mode;

-- cursors turn round, in the middle and at the ends
SET enable_sort = off;
BEGIN;
DECLARE cur SCROLL CURSOR FOR SELECT k FROM array_betree WHERE k = ANY (:'numbers') ORDER BY k;
MOVE 3000 FROM cur;
FETCH 2 FROM cur;
FETCH BACKWARD 3 FROM cur;
MOVE BACKWARD 2990 FROM cur;
FETCH BACKWARD 1 FROM cur;
MOVE FORWARD ALL FROM cur;
FETCH BACKWARD 1 FROM cur;
MOVE BACKWARD ALL FROM cur;
FETCH 1 FROM cur;
COMMIT;

-- merge join: mark and restore
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_material = off;
EXPLAIN (COSTS OFF)
SELECT count(*), sum(x.id * (y.id % 7)) FROM array_betree x JOIN array_betree y USING (k)
WHERE x.k = ANY ('{9,7,77,400,401,5}') AND y.k = ANY ('{-499,7,77,400,401}');
SELECT count(*), sum(x.id * (y.id % 7)) FROM array_betree x JOIN array_betree y USING (k)
WHERE x.k = ANY ('{9,7,77,400,401,5}') AND y.k = ANY ('{-499,7,77,400,401}');
SELECT count(*), sum(x.id * (y.id % 7)) FROM array_btree x JOIN array_btree y USING (k)
WHERE x.k = ANY ('{9,7,77,400,401,5}') AND y.k = ANY ('{-499,7,77,400,401}');

-- Equal keys of several leaves are read again after each restore, while a drain
-- is under way: the first leaves have nothing in the log, the others have.
CREATE TABLE array_d (a int4, b int8);
INSERT INTO array_d SELECT g % 4, hashint8extended(g, 3) FROM generate_series(1, 20000) g;
CREATE INDEX array_d_ab ON array_d USING betree (a, b) WITH (log_pages = 24, flush_budget = 1);
DO $$
DECLARE
	i int := 20000;
BEGIN
	WHILE i % 10 <> 0 OR (SELECT draining_nodes = 0 FROM betree_index_stats('array_d_ab')) LOOP
		i := i + 1;
		INSERT INTO array_d VALUES (i % 4, hashint8extended(i, 3));
	END LOOP;
	INSERT INTO array_d SELECT j % 4, hashint8extended(j, 3) FROM generate_series(i + 1, i + 8) j;
END $$;
VACUUM ANALYZE array_d;
CREATE TABLE array_outer AS SELECT a FROM unnest('{0,0,0,2,2,3}'::int4[]) a;
CREATE INDEX ON array_outer USING btree (a);
ANALYZE array_outer;
SELECT draining_nodes, leaves > 40 AS many_leaves, messages_in_logs > 1000 AS in_log
FROM betree_index_stats('array_d_ab');
EXPLAIN (COSTS OFF)
SELECT count(*), sum(b) FROM array_outer o JOIN array_d d ON o.a = d.a WHERE d.a = ANY ('{0,2,3}');
SELECT count(*), sum(b) FROM array_outer o JOIN array_d d ON o.a = d.a WHERE d.a = ANY ('{0,2,3}');
SELECT sum(n * c), sum(n * s) FROM (SELECT a, count(*) AS n FROM array_outer GROUP BY a) o
JOIN (SELECT a, count(*) AS c, sum(b) AS s FROM array_d GROUP BY a) d USING (a);
RESET ALL;

-- bitmap scans
SET enable_seqscan = off;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM array_betree WHERE k = ANY ('{1,2,3,NULL,3}');
SELECT count(*), sum(id) FROM array_betree WHERE k = ANY (:'numbers');
SELECT count(*), sum(id) FROM array_btree WHERE k = ANY (:'numbers');
RESET ALL;

-- of a parallel scan one process takes all windows
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET min_parallel_index_scan_size = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 2;
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM array_betree WHERE a = ANY ('{1,2,3,5,8,13,21,34,49}');
SELECT count(*), sum(id) FROM array_betree WHERE a = ANY ('{1,2,3,5,8,13,21,34,49}');
SELECT count(*), sum(id) FROM array_btree WHERE a = ANY ('{1,2,3,5,8,13,21,34,49}');
RESET ALL;

-- a type without a hash function; quals that do not follow the order
SET enable_seqscan = off;
SET enable_bitmapscan = off;
CREATE TABLE array_x (id int, v tsvector, p point);
INSERT INTO array_x SELECT g, strip(to_tsvector('simple', 'word' || g % 4000)), point(g % 100, g / 100)
FROM generate_series(1, 6000) g;
CREATE INDEX array_xv ON array_x USING betree (v) WITH (log_pages = 8);
CREATE INDEX array_xp ON array_x USING betree (p) WITH (log_pages = 8);
INSERT INTO array_x SELECT g, strip(to_tsvector('simple', 'word' || g % 4000)), point(g % 100, g / 100)
FROM generate_series(6001, 12000) g;
VACUUM ANALYZE array_x;
EXPLAIN (COSTS OFF) SELECT v FROM array_x WHERE v = ANY ('{''word99'',''word77'',''no''}') ORDER BY v;
SELECT v FROM array_x WHERE v = ANY ('{''word99'',''word77'',''no''}') ORDER BY v;
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM array_x WHERE p <@ ANY (ARRAY['(3,3),(1,1)', '(99,99),(98,90)', '(3,2),(0,0)']::box[]);
SELECT count(*), sum(id) FROM array_x WHERE p <@ ANY (ARRAY['(3,3),(1,1)', '(99,99),(98,90)', '(3,2),(0,0)']::box[]);
SELECT array_blocks('SELECT id FROM array_x WHERE p <@ ANY (ARRAY[''(3,3),(1,1)'', ''(99,99),(98,90)'']::box[])') <
	   array_blocks('SELECT id FROM array_x WHERE p <@ ''(99,99),(1,1)''::box') / 3 AS few;
EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM array_x WHERE p ~= ANY ('{"(3,3)","(-1,7)","(5,7)"}');
SELECT count(*), sum(id) FROM array_x WHERE p ~= ANY ('{"(3,3)","(-1,7)","(5,7)"}');
SET enable_indexscan = off;
SET enable_seqscan = on;
SELECT v FROM array_x WHERE v = ANY ('{''word99'',''word77'',''no''}') ORDER BY v;
SELECT count(*), sum(id) FROM array_x WHERE p <@ ANY (ARRAY['(3,3),(1,1)', '(99,99),(98,90)', '(3,2),(0,0)']::box[]);
SELECT count(*), sum(id) FROM array_x WHERE p ~= ANY ('{"(3,3)","(-1,7)","(5,7)"}');
RESET ALL;

-- logs on more than one level: those above are read for one leaf at a time
CREATE TABLE array_l (t text COLLATE "C");
INSERT INTO array_l SELECT md5(g::text) || repeat('x', 90) FROM generate_series(1, 8000) g;
CREATE INDEX array_lt ON array_l USING betree (t) WITH (log_levels = 2, log_pages = 24);
INSERT INTO array_l SELECT md5(g::text) || repeat('x', 90) FROM generate_series(8001, 14000) g;
VACUUM ANALYZE array_l;
SELECT height, messages_in_logs > 1000 AS in_logs FROM betree_index_stats('array_lt');
SELECT array_agg(md5((g * 97)::text) || repeat('x', 90)) AS texts FROM generate_series(1, 50) g \gset
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT md5(string_agg(t, ',')), count(*)
FROM (SELECT t FROM array_l WHERE t = ANY (:'texts') ORDER BY t DESC) s;
SELECT md5(string_agg(t, ',' ORDER BY t DESC)), count(*)
FROM array_l WHERE t || '' = ANY (:'texts');
SELECT array_blocks(format('SELECT t FROM array_l WHERE t = ANY (%L)', :'texts')) <
	   1.5 * sum(array_blocks(format('SELECT t FROM array_l WHERE t = %L', t))) AS few
FROM unnest(:'texts'::text[]) t;
RESET ALL;

DROP TABLE array_betree, array_btree, array_lists, array_d, array_outer,
	array_x, array_l;
DROP FUNCTION array_fill_table, array_answer, array_same, array_blocks;
