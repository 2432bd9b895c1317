--
-- Bit strings by Hamming distance.  Every answer is compared with that of a
-- sequential scan.
--
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\i :explain

-- places of rows differ between versions
\set SHOW_CONTEXT never

-- the operator
SELECT B'10110' <-> B'00111' AS d, ecp_hamming_distance(B'1', B'1') AS same,
	B'10110'::varbit <-> B'00111'::varbit AS varying,
	repeat('01', 8000)::varbit <-> repeat('10', 8000)::varbit AS longest;
SELECT count(*) AS wrong
FROM (SELECT g % 130 + 1 AS n, ('x' || repeat(md5(g::text), 5))::varbit AS a,
		('x' || repeat(md5((-g)::text), 5))::varbit AS b FROM generate_series(1, 260) g) x
WHERE substring(a, 1, n) <-> substring(b, 1, n) <>
	length(replace((substring(a, 1, n) # substring(b, 1, n))::text, '0', ''));
DO $$ BEGIN PERFORM B'101' <-> B'10'; EXCEPTION WHEN string_data_length_mismatch THEN RAISE NOTICE '%', SQLERRM; END $$;
SELECT B'' <-> B'';
SELECT repeat('0', 16001)::varbit <-> repeat('1', 16001)::varbit;
SELECT opcname, opcdefault, amvalidate(c.oid)
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
WHERE amname = 'ecp' AND opcintype = 'bit'::regtype ORDER BY opcname;

-- strings around 60 centres, an eighth of their bits turned
CREATE FUNCTION bits(s text) RETURNS bit(128) LANGUAGE sql IMMUTABLE
RETURN ('x' || md5(s))::bit(128);
CREATE FUNCTION row_bits(i int) RETURNS bit(128) LANGUAGE sql IMMUTABLE
RETURN bits('centre ' || i % 60) # (bits('a' || i) & bits('b' || i) & bits('c' || i));
CREATE TABLE b (id int, tag int, v bit(128), w bit(13), y varbit)
	WITH (parallel_workers = 2, autovacuum_enabled = off);
INSERT INTO b SELECT i, i % 20, x, substring(x, 1, 13), x
FROM (SELECT i, CASE WHEN i % 50 <> 7 THEN row_bits(i) END AS x
	  FROM generate_series(1, 4000) i) s;
ANALYZE b;
SET ecp.approximate_radius = on;

-- what no row could be inserted into is refused
CREATE TABLE long_bits (v bit(16001), longest bit(16000));
CREATE INDEX ON long_bits USING ecp (v);
CREATE INDEX ON long_bits USING ecp (longest);
INSERT INTO long_bits VALUES (repeat('01', 8001)::bit(16001), repeat('01', 8000)::bit(16000));
SELECT ecp_index_check('long_bits_longest_idx', true);
DROP TABLE long_bits;

/*
 * For 10 queries the 20 nearest rows by the index with all clusters and by a
 * sort, and the rows within a radius.
 */
CREATE FUNCTION compare(col text, what text DEFAULT 'true', OUT uses_index boolean,
	OUT rows bigint, OUT wrong bigint, OUT in_radius bigint, OUT radius_wrong bigint)
LANGUAGE plpgsql AS $$
DECLARE
	nearest text := format('SELECT q.id, row_number() OVER (PARTITION BY q.id) AS n, s.d FROM
		(SELECT id, %1$I AS v FROM b WHERE id %% 301 = 3 ORDER BY id LIMIT 10) q,
		LATERAL (SELECT t.%1$I <-> q.v AS d FROM b t WHERE %2$s
				 ORDER BY t.%1$I <-> q.v LIMIT 20) s', col, what);
	within text := format('SELECT q.id, s.id AS n, s.d FROM
		(SELECT id, %1$I AS v FROM b WHERE id %% 301 = 3 ORDER BY id LIMIT 10) q,
		LATERAL (SELECT t.id, t.%1$I <-> q.v AS d FROM b t
				 WHERE %2$s AND t.%1$I <-> q.v <= length(q.v) / 5 OFFSET 0) s', col, what);
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
	uses_index := uses_index AND line ~ 'b_i';
	EXECUTE 'CREATE TEMP TABLE found AS ' || nearest;
	EXECUTE format(differ, 'exact') INTO rows, wrong;
	DROP TABLE found;
	EXECUTE 'EXPLAIN (COSTS OFF, FORMAT JSON) ' || within INTO line;
	uses_index := uses_index AND line ~ 'b_i';
	EXECUTE 'CREATE TEMP TABLE found AS ' || within;
	EXECUTE format(differ, 'ball') INTO in_radius, radius_wrong;
	DROP TABLE found, exact, ball;
	PERFORM set_config('enable_seqscan', 'on', true);
END
$$;

-- a build, what it made, and plans
SET max_parallel_maintenance_workers = 0;
CREATE INDEX b_i ON b USING ecp (v) WITH (cluster_size = 1);
SELECT element, metric, dims, quantizer, clusters > 20 AS clusters, levels FROM ecp_metapage_info('b_i');
SELECT ecp_index_check('b_i', true);
SET enable_seqscan = off;
SELECT * FROM pg_temp.explain($$SELECT id FROM b ORDER BY v <-> (SELECT v FROM b WHERE id = 1) LIMIT 5$$);
SELECT * FROM pg_temp.explain($$SELECT id FROM b WHERE v <-> (SELECT v FROM b WHERE id = 1) < 20$$);
SELECT id, v <-> row_bits(1) AS d FROM b ORDER BY v <-> row_bits(1) LIMIT 1;
RESET enable_seqscan;
SELECT * FROM compare('v');

-- of the 10 nearest, few clusters have nearly all
SELECT probes, recall >= 0.9 AS recall, vectors < 400 AS few
FROM ecp_recall('b_i', 10, '{4,100000}', 100);
SELECT recall >= 0.95 - 0.02 AS target_met
FROM ecp_recall('b_i', 10, '{0}', 100, 2);

-- the same index by any policy, in any number of rounds, by any number of workers
CREATE FUNCTION members(index regclass) RETURNS text LANGUAGE sql AS
	'SELECT md5(string_agg(cluster || '' '' || tids::text, '','' ORDER BY cluster))
	 FROM (SELECT cluster, array_agg(t ORDER BY t) AS tids FROM ecp_clusters(index), unnest(tids) t
		   GROUP BY cluster) c';
SELECT members('b_i') AS members \gset
SET ecp.in_buff = '64kB';
SET ecp.build_policy = tempfiles;
CREATE INDEX b_j ON b USING ecp (v) WITH (cluster_size = 1);
SELECT members('b_j') = :'members' AS same, ecp_index_check('b_j', true);
DROP INDEX b_j;
SET ecp.build_policy = chunkfiles;
SET max_parallel_maintenance_workers = 2;
SET min_parallel_table_scan_size = 0;
CREATE INDEX b_j ON b USING ecp (v) WITH (cluster_size = 1);
SELECT members('b_j') = :'members' AS same, ecp_index_check('b_j', true);
DROP INDEX b_j;
RESET ecp.in_buff;
RESET ecp.build_policy;
RESET max_parallel_maintenance_workers;
RESET min_parallel_table_scan_size;

-- many queries at once
SET ecp.probes = 100000;
CREATE FUNCTION knn(call text, OUT rows bigint, OUT same bigint)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT count(*), count(*) FILTER (WHERE b.distance = s.d)
		FROM %s b FULL JOIN
		(SELECT q.id AS query, row_number() OVER (PARTITION BY q.id) AS rank, n.d
		 FROM b q, LATERAL (SELECT t.v <-> q.v AS d FROM b t ORDER BY t.v <-> q.v LIMIT 5) n
		 WHERE q.id < 40 AND q.v IS NOT NULL) s USING (query, rank)', call)
	INTO rows, same;
END
$$;
SELECT call, k.* FROM (VALUES
	($$ecp_knn_batch('b_i', 'SELECT id, v FROM b WHERE id < 40', 5)$$),
	($$ecp_knn_exact('b_i', 'SELECT id, v FROM b WHERE id < 40', 5)$$)) c(call), knn(call) k;
SELECT query, rank, distance FROM ecp_knn_batch('b_i', ARRAY[row_bits(1), NULL, row_bits(2)], 1);
SELECT * FROM ecp_knn_batch('b_i', ARRAY[B'101'], 1);
RESET ecp.probes;

-- rows change: inserts, by way of buffers too, then VACUUM and maintenance
CREATE FUNCTION change() RETURNS void LANGUAGE sql AS $$
	DELETE FROM b WHERE id % 7 = 4 AND id < 4000;
	INSERT INTO b SELECT i, i % 20, row_bits(i), substring(row_bits(i), 1, 13), row_bits(i)
	FROM generate_series(4001, 7000) i;
	UPDATE b SET v = row_bits(id + 1) WHERE id % 11 = 0;
$$;
CREATE TABLE b_first AS TABLE b;
SELECT change();
VACUUM b;
SELECT ecp_index_check('b_i', true);
SELECT * FROM compare('v');
SELECT drops >= 0 AS maintained FROM ecp_maintain('b_i');
SELECT ecp_index_check('b_i', true);
SELECT * FROM compare('v');
DROP INDEX b_i;
TRUNCATE b;
INSERT INTO b TABLE b_first;
CREATE INDEX b_i ON b USING ecp (v) WITH (cluster_size = 1, buffer_rows = 40);
SELECT change();
SELECT buffered_rows > 0 AS buffered FROM ecp_index_drift('b_i');
SELECT ecp_index_check('b_i', true);
SELECT * FROM compare('v');
SELECT drops >= 0 AS maintained FROM ecp_maintain('b_i');
SELECT ecp_index_check('b_i', true);
DROP INDEX b_i;

-- an index that begins empty, with a column for conditions and one to return
TRUNCATE b;
CREATE INDEX b_i ON b USING ecp (v, tag) INCLUDE (id) WITH (cluster_size = 1);
SELECT count(*) FROM (SELECT FROM b ORDER BY v <-> row_bits(1)) x;
INSERT INTO b TABLE b_first;
SELECT ecp_index_check('b_i', true);
SELECT * FROM compare('v');
SELECT * FROM compare('v', 'tag = 3');
VACUUM b;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id, v FROM b WHERE tag = 3 ORDER BY v <-> row_bits(3) LIMIT 4;
SELECT count(*), count(*) FILTER (WHERE v = row_bits(id)) AS same
FROM (SELECT id, v FROM b WHERE tag = 3 ORDER BY v <-> row_bits(3) LIMIT 40) x;
RESET enable_seqscan;
DROP INDEX b_i;

-- a length that is not a number of bytes
CREATE INDEX b_i ON b USING ecp (w) WITH (cluster_size = 1);
SELECT dims FROM ecp_metapage_info('b_i');
SELECT ecp_index_check('b_i', true);
SELECT * FROM compare('w');
DROP INDEX b_i;

-- bit varying says only how many there may be; the first row says how many
CREATE INDEX b_i ON b USING ecp (y);
SELECT dims FROM ecp_metapage_info('b_i');
SELECT * FROM compare('y');
INSERT INTO b (y) VALUES (B'101');
SELECT id FROM b ORDER BY y <-> B'101' LIMIT 1;
CREATE TABLE short (v bit(8), y varbit(8));
CREATE INDEX ON short USING ecp (v) WITH (dims = 9);
CREATE INDEX short_i ON short USING ecp (y) WITH (quantizer = rabitq);
INSERT INTO short (y) VALUES (B'101');
INSERT INTO short (y) VALUES (B'1011');
SELECT dims, quantizer FROM ecp_metapage_info('short_i');
INSERT INTO short (y) SELECT (g % 8)::bit(3) FROM generate_series(1, 3000) g;
SELECT ecp_index_check('short_i', true);

-- long ones, whose vectors are apart from their entries
CREATE TABLE long (id int, v varbit);
INSERT INTO long SELECT i, substr(string_agg(bits(i || ' ' || j)::varbit::text, '' ORDER BY j), 1, 13200)::varbit
FROM generate_series(1, 100) i, generate_series(1, 104) j GROUP BY i;
CREATE INDEX long_i ON long USING ecp (v) WITH (levels = 1);
INSERT INTO long SELECT id + 100, ~v FROM long;
SELECT ecp_index_check('long_i', true), dims FROM ecp_metapage_info('long_i');
SET enable_seqscan = off;
SELECT id, v <-> (SELECT v FROM long WHERE id = 7) AS d FROM long
ORDER BY v <-> (SELECT v FROM long WHERE id = 7) LIMIT 1;
SELECT id, v <-> (SELECT v FROM long WHERE id = 107) AS d FROM long
ORDER BY v <-> (SELECT v FROM long WHERE id = 107) LIMIT 1;
INSERT INTO long VALUES (0, repeat('0', 16001)::varbit);

DROP TABLE b, b_first, short, long;
DROP FUNCTION bits, row_bits, compare, members, knn, change;
