--
-- What a scan does when its first probes were not enough: ecp.iterative_scan,
-- ecp.max_scan_tuples, and what ecp_last_scan() says of it.
--
\getenv src PG_ABS_SRCDIR
\set vectors :src '/test/vectors.sql'
\i :vectors
CREATE TABLE iterative_t (id int, v real[]);
INSERT INTO iterative_t
SELECT i, pg_temp.spread_vector(i, 6) FROM generate_series(1, 5000) i;
CREATE INDEX iterative_i ON iterative_t USING ecp (v);
VACUUM ANALYZE iterative_t;

-- a function, so that rows and order are seen as they come
CREATE FUNCTION iterative_run(condition text, max_rows int,
	OUT got bigint, OUT different bigint, OUT steps_back bigint)
LANGUAGE plpgsql AS $$
DECLARE
	r record;
	last float8 := '-infinity';
	seen int[] := '{}';
BEGIN
	got := 0; steps_back := 0;
	FOR r IN EXECUTE format('SELECT id, v <-> ''{5,5,5,5,5,5}'' AS d
		FROM iterative_t WHERE %s ORDER BY v <-> ''{5,5,5,5,5,5}'' LIMIT %s',
		condition, max_rows)
	LOOP
		got := got + 1;
		seen := seen || r.id;
		IF r.d < last THEN steps_back := steps_back + 1; END IF;
		last := r.d;
	END LOOP;
	different := (SELECT count(DISTINCT x) FROM unnest(seen) x);
END
$$;

SET enable_seqscan = off;
EXPLAIN (COSTS OFF)
SELECT id FROM iterative_t WHERE id % 1000 = 1
ORDER BY v <-> '{5,5,5,5,5,5}' LIMIT 5;

-- off: only the rows of the first window
SET ecp.probes = 2;
SET ecp.iterative_scan = off;
SELECT got < 5000 AS fewer, got = different AS once, steps_back
FROM iterative_run('true', 5000);
SELECT indexrelid AS index, probes, windows, clusters, returned = vectors AS all_returned,
	dropped, stop FROM ecp_last_scan();

-- relaxed: every row once, though not in order
SET ecp.iterative_scan = relaxed_order;
SELECT got, different, steps_back > 0 AS out_of_order
FROM iterative_run('true', 6000);
SELECT probes, windows > 1 AS more_windows, vectors, returned, dropped, stop
FROM ecp_last_scan();
-- a filter that keeps 1 in 1,000 gets all of its rows
SELECT got, different FROM iterative_run('id % 1000 = 1', 5);

-- strict: in order; what comes too late is dropped, and counted
SET ecp.iterative_scan = strict_order;
SELECT got = different AS once, steps_back FROM iterative_run('true', 6000);
SELECT windows > 1 AS more_windows, vectors, returned + dropped AS accounted,
	stop FROM ecp_last_scan();

-- with all clusters in the first window nothing is dropped
SET ecp.probes = 1000000;
SELECT * FROM iterative_run('true', 6000);
SELECT windows, vectors, returned, dropped, estimated_recall, stop FROM ecp_last_scan();
-- all that there is was read, though no more was wanted
SET ecp.probes = 0;
SET ecp.target_recall = 1;
SELECT * FROM iterative_run('true', 10);
SELECT wanted, windows, vectors, returned, estimated_recall, stop FROM ecp_last_scan();
RESET ecp.target_recall;
SET ecp.probes = 2;

-- a bound: the cluster that reaches it is the last, in whichever window
CREATE FUNCTION iterative_largest() RETURNS bigint LANGUAGE sql AS $$
	SELECT max(rows) FROM ecp_clusters('iterative_i') $$;
SET ecp.max_scan_tuples = 600;
SELECT got BETWEEN 600 AND 600 + iterative_largest() AS bounded, got = different AS once
FROM iterative_run('true', 6000);
SELECT vectors >= 600 AS reached, windows > 1 AS more_windows, stop FROM ecp_last_scan();
SET ecp.probes = 1000;
SELECT got BETWEEN 600 AND 600 + iterative_largest() AS bounded, got = different AS once
FROM iterative_run('true', 6000);
SELECT vectors >= 600 AS reached, windows, stop FROM ecp_last_scan();
-- also where a search may end early
SET ecp.probes = 0;
SET ecp.target_recall = 0.999;
SELECT got BETWEEN 600 AND 600 + iterative_largest() AS bounded, got = different AS once
FROM iterative_run('true', 6000);
SELECT vectors >= 600 AS reached, stop FROM ecp_last_scan();
RESET ecp.target_recall;
SET ecp.probes = 2;
-- 0 is one cluster
SET ecp.max_scan_tuples = 0;
SELECT got BETWEEN 1 AND iterative_largest() AS bounded FROM iterative_run('true', 6000);
SELECT windows, clusters, stop FROM ecp_last_scan();
RESET ecp.max_scan_tuples;

-- candidates that wait are bounded by work_mem, rows are not lost by it
SET work_mem = '64kB';
SET ecp.iterative_scan = relaxed_order;
SELECT got, different FROM iterative_run('true', 6000);
RESET work_mem;

-- few rows of many: the scan stops early
RESET ecp.probes;
RESET ecp.iterative_scan;
SELECT * FROM iterative_run('true', 10);
SELECT windows, returned, dropped, stop FROM ecp_last_scan();

-- rows that conditions on key columns keep out are read, too
CREATE INDEX iterative_key ON iterative_t USING ecp (v, id);
SET ecp.max_scan_tuples = 600;
SELECT got FROM iterative_run('id < 0', 10);
SELECT vectors + filtered BETWEEN 600 AND 600 + iterative_largest() AS bounded, stop FROM ecp_last_scan();
RESET ecp.max_scan_tuples;

-- codes are wrong for some rows: what they bring too late is dropped, also
-- with "off"
CREATE TABLE iterative_c (id int, v real[]);
INSERT INTO iterative_c SELECT i, array_agg(hashint4extended(i * 128 + j, 0) % 1000 / 100.0 ORDER BY j)
FROM generate_series(1, 2000) i, generate_series(1, 96) j GROUP BY i;
CREATE INDEX iterative_ci ON iterative_c USING ecp (v) WITH (quantizer = rabitq);
CREATE FUNCTION iterative_steps(OUT steps_back bigint, OUT dropped bigint)
LANGUAGE plpgsql AS $$
DECLARE
	q real[];
	r record;
	last float8;
BEGIN
	steps_back := 0; dropped := 0;
	FOR q IN SELECT v FROM iterative_c WHERE id % 10 = 0 LOOP
		last := '-infinity';
		FOR r IN EXECUTE 'SELECT v <-> $1 AS d FROM iterative_c ORDER BY v <-> $1 LIMIT 200' USING q LOOP
			steps_back := steps_back + (r.d < last)::int;
			last := r.d;
		END LOOP;
		dropped := dropped + (SELECT s.dropped FROM ecp_last_scan() s);
	END LOOP;
END
$$;
SET ecp.probes = 8;
SET ecp.iterative_scan = off;
SELECT quantizer FROM ecp_metapage_info('iterative_ci');
SELECT steps_back, dropped > 0 AS dropped FROM iterative_steps();

DROP TABLE iterative_t, iterative_c;
DROP FUNCTION iterative_run, iterative_largest, iterative_steps;
