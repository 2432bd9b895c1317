\set ECHO none
-- The planner's choice beside the best of the plans that it could have chosen:
-- functions for test/t/019_ecp_oracle.pl and test/bench/ecp_oracle.

-- A table of vectors of the given type and width in clusters, made of pieces so
-- that 100 million elements take seconds, with a column for filters, 0 to 9999.
CREATE FUNCTION oracle_table(name text, type text, width int, nrows int) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	npieces int := least(width, 8);
BEGIN
	SET LOCAL client_min_messages = warning;
	CREATE TEMP TABLE piece AS
	SELECT k, array_agg((((k * 7919 + j * 104729) * (k + j)) % 10007)::real / 1000 ORDER BY j) AS v
	FROM generate_series(0, 63) k, generate_series(1, width / npieces::bigint) j GROUP BY k;
	CREATE UNIQUE INDEX ON piece (k);
	EXECUTE format('CREATE TABLE %I (id int, a int, v %s)', name, type);
	-- one piece in four is of the row, the others are of its cluster
	EXECUTE format('INSERT INTO %I SELECT i, i * 7919::bigint %% 10000, (%s)::%s FROM generate_series(1, %s) i',
		name,
		(SELECT string_agg(format('(SELECT v FROM piece WHERE k = (hashint4(CASE WHEN hashint4(i * 8 + %s) & 3 = 0 THEN i ELSE i %% 100 END + %s) & 63))', n, n * 1000003), ' || ')
		 FROM generate_series(1, npieces) n),
		type, nrows);
	DROP TABLE piece;
	EXECUTE format('CREATE INDEX ON %I (a)', name);
END $$;

-- vectors of a table to ask for, as the query's parameter
CREATE FUNCTION oracle_vectors(name text, n int) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
	result text[];
BEGIN
	EXECUTE format('SELECT array_agg(quote_literal(v)) FROM %1$I
		WHERE id IN (SELECT 1 + i * 7717::bigint %% (SELECT count(*) FROM %1$I) FROM generate_series(1, %2$s) i)',
		name, n) INTO result;
	RETURN result;
END $$;

-- CPU milliseconds of an execution of the prepared query: mean of as many, by
-- turns with each vector, as take some ticks of the clock by which the kernel
-- counts
CREATE FUNCTION oracle_cpu(vectors text[]) RETURNS float8
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	start bigint;
	used bigint := 0;
	n int := 0;
	v text;
BEGIN
	start := split_part(pg_read_file('/proc/self/schedstat'), ' ', 1);
	WHILE n < 3 OR (used < 60000000 AND n < 2000) LOOP
		FOREACH v IN ARRAY vectors LOOP
			EXECUTE 'EXECUTE oracle(' || v || ')';
			n := n + 1;
		END LOOP;
		used := split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint - start;
	END LOOP;
	RETURN used / 1e6 / n;
END $$;

-- the plan without its figures; what the planner says; what all executions
-- read: blocks, rows, distances that the executor computed for a sort, vectors
-- or codes that the index compared; CPU milliseconds of one execution, if timed
CREATE TYPE oracle_cost AS (plan text, cost float8, blocks bigint, nrows bigint, sorted bigint, vectors bigint, cpu float8);

-- rows that the scans of a plan read, and those that it sorted
CREATE FUNCTION oracle_rows(node jsonb, OUT got bigint, OUT sorted bigint) LANGUAGE plpgsql AS $$
DECLARE
	child jsonb;
	r record;
BEGIN
	got := 0;
	sorted := 0;
	FOR child IN SELECT jsonb_array_elements(node -> 'Plans') LOOP
		r := oracle_rows(child);
		got := got + r.got;
		sorted := sorted + r.sorted;
	END LOOP;
	IF node ->> 'Node Type' ~ 'Scan' AND node ->> 'Node Type' <> 'Bitmap Index Scan' THEN
		got := (node ->> 'Actual Rows')::float8 * (node ->> 'Actual Loops')::int
			+ coalesce((node ->> 'Rows Removed by Filter')::float8, 0);
	END IF;
	IF node ->> 'Node Type' = 'Sort' THEN
		sorted := (node -> 'Plans' -> 0 ->> 'Actual Rows')::float8 * (node -> 'Plans' -> 0 ->> 'Actual Loops')::int;
	END IF;
END $$;

-- what a query costs under some settings
CREATE FUNCTION oracle_run(query text, vectors text[], settings text[], timed boolean) RETURNS oracle_cost
LANGUAGE plpgsql AS $$
DECLARE
	was text[];
	line text;
	plan json;
	node jsonb;
	result oracle_cost;
	r record;
	v text;
BEGIN
	settings := settings || '{plan_cache_mode=force_generic_plan,jit=off}';
	was := (SELECT array_agg(current_setting(split_part(s, '=', 1))) FROM unnest(settings) s);
	PERFORM set_config(split_part(s, '=', 1), split_part(s, '=', 2), false) FROM unnest(settings) s;
	EXECUTE 'PREPARE oracle AS ' || query;
	result.plan := '';
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) EXECUTE oracle(' || vectors[1] || ')' LOOP
		CONTINUE WHEN line ~ '^ *Disabled: true$';
		result.plan := result.plan || line || E'\n';
	END LOOP;
	result.blocks := 0;
	result.nrows := 0;
	result.sorted := 0;
	result.vectors := 0;
	FOREACH v IN ARRAY vectors LOOP
		EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE oracle(' || v || ')' INTO plan;
		node := plan::jsonb -> 0 -> 'Plan';
		result.cost := (node ->> 'Total Cost')::float8;
		result.blocks := result.blocks + (node ->> 'Shared Hit Blocks')::bigint + (node ->> 'Shared Read Blocks')::bigint;
		r := oracle_rows(node);
		result.nrows := result.nrows + r.got;
		result.sorted := result.sorted + r.sorted;
		IF result.plan ~ 'Order By: ' THEN
			result.vectors := result.vectors + (SELECT s.vectors FROM ecp_last_scan() s);
		END IF;
	END LOOP;
	IF timed THEN
		result.cpu := oracle_cpu(vectors);
	END IF;
	DEALLOCATE oracle;
	PERFORM set_config(split_part(s, '=', 1), w, false) FROM unnest(settings, was) AS x (s, w);
	RETURN result;
END $$;

-- the plans of one query, asked with each of some vectors for $1: those that
-- can be forced, and the chosen one, which is timed only if it is none of them
CREATE FUNCTION oracle(query text, asked text[], timed boolean) RETURNS TABLE (forced text, r oracle_cost)
LANGUAGE plpgsql AS $$
DECLARE
	plans text[] := '{}';
	p record;
BEGIN
	FOR p IN
		SELECT * FROM (VALUES
			('ecp', '{enable_seqscan=off,enable_bitmapscan=off,enable_sort=off}'::text[]),
			('seq', '{enable_indexscan=off,enable_indexonlyscan=off,enable_bitmapscan=off}'),
			('btree', '{enable_seqscan=off,enable_indexscan=off,enable_indexonlyscan=off}')) p (name, settings)
	LOOP
		forced := p.name;
		r := oracle_run(query, asked, p.settings, timed);
		CONTINUE WHEN (r).plan = ANY (plans);
		plans := plans || (r).plan;
		RETURN NEXT;
	END LOOP;
	forced := 'chosen';
	r := oracle_run(query, asked, '{}', false);
	RETURN NEXT;
	IF (r).plan <> ALL (plans) THEN
		forced := 'another';
		r := oracle_run(query, asked, '{}', timed);
		RETURN NEXT;
	END IF;
END $$;
\set ECHO all
