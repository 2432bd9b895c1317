--
-- What a scan does when its first probes were not enough: ecp.iterative_scan,
-- ecp.max_scan_tuples, and what ecp_last_scan() says of it.
--
CREATE FUNCTION iterative_vector(i int) RETURNS real[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((((i * 7919 + 13) % 10007) * (j * 31 + 7) % 9973)::real / 1000
					 ORDER BY j) FROM generate_series(1, 6) j
$$;
CREATE TABLE iterative_t (id int, v real[]);
INSERT INTO iterative_t
SELECT i, iterative_vector(i) FROM generate_series(1, 5000) i;
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
SELECT index, probes, windows, clusters, returned = vectors AS all_returned,
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
SELECT windows, vectors, returned, dropped, stop FROM ecp_last_scan();
SET ecp.probes = 2;

-- a bound: the window that reaches it is the last
SET ecp.max_scan_tuples = 600;
SELECT got BETWEEN 600 AND 3000 AS bounded, got = different AS once
FROM iterative_run('true', 6000);
SELECT vectors >= 600 AS reached, stop FROM ecp_last_scan();
-- 0 is the first window alone
SET ecp.max_scan_tuples = 0;
SELECT got < 5000 AS bounded FROM iterative_run('true', 6000);
SELECT windows, stop FROM ecp_last_scan();
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

DROP TABLE iterative_t;
DROP FUNCTION iterative_run, iterative_vector;
