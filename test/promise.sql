-- Is the declared recall reached?  Sets of vectors, queries, exact answers and
-- the measurement: for test/bench/ecp_promise at full size, and for
-- test/t/030_ecp_promise.pl in small.
--
-- The set NAME is a table NAME (id, f, v) with an index NAME_i on v, and its
-- queries a table NAME_q (id, kind, v).  f is from 0 to 999, for filters.  A
-- query is "data" (from the distribution of the rows), "between" (half way
-- between two rows) or "far".  Generated rows are made of hashes of their
-- numbers, so that all runs have the same.

SET client_min_messages = warning;
CREATE SCHEMA IF NOT EXISTS ecp_promise;

-- those that are complete
CREATE TABLE IF NOT EXISTS ecp_promise.sets (name text PRIMARY KEY);

-- distance of the k-th row of those with f < below
CREATE TABLE IF NOT EXISTS ecp_promise.truth (
	name text, query int, below int, k int, d float8);
CREATE INDEX IF NOT EXISTS truth_query ON ecp_promise.truth (name, query);

-- another version's
DO $$
DECLARE
	f regprocedure;
BEGIN
	FOR f IN SELECT oid FROM pg_proc
		WHERE pronamespace = 'ecp_promise'::regnamespace
	LOOP
		EXECUTE 'DROP FUNCTION ' || f || ' CASCADE';
	END LOOP;
END $$;

-- random numbers by the number of a row and of an element

CREATE FUNCTION ecp_promise.uniform(i int, j int, seed int)
RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
	SELECT (hashint8extended(i::int8 * 4096 + j, seed) & 1125899906842623) /
		1125899906842624.0::float8
$$;

CREATE FUNCTION ecp_promise.normal(i int, j int, seed int)
RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
	SELECT sqrt(-2 * ln(1 - ecp_promise.uniform(i, j, seed))) *
		cos(2 * pi() * ecp_promise.uniform(i, j, seed + 100))
$$;

CREATE FUNCTION ecp_promise.bits(v real[]) RETURNS bit varying
LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg(CASE WHEN x > 0 THEN '1' ELSE '0' END, '')::bit varying
	FROM unnest(v) x
$$;

CREATE FUNCTION ecp_promise.unit(v real[]) RETURNS real[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((x / norm)::real) FROM unnest(v) x,
		(SELECT sqrt(sum(x::float8 * x)) AS norm FROM unnest(v) x) n
$$;

-- half way between two vectors

CREATE FUNCTION ecp_promise.between(a real[], b real[]) RETURNS real[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((x + y) / 2) FROM unnest(a, b) u (x, y)
$$;

CREATE FUNCTION ecp_promise.between(a bytea, b bytea) RETURNS bytea
LANGUAGE sql IMMUTABLE AS $$
	SELECT decode(string_agg(lpad(to_hex((get_byte(a, j) + get_byte(b, j) + 1) / 2),
		2, '0'), ''), 'hex')
	FROM generate_series(0, length(a) - 1) j
$$;

CREATE FUNCTION ecp_promise.between(a bit varying, b bit varying)
RETURNS bit varying LANGUAGE sql IMMUTABLE AS $$
	SELECT string_agg(substring(CASE WHEN j % 2 = 0 THEN a ELSE b END FROM j FOR 1)::text,
		'')::bit varying
	FROM generate_series(1, length(a)) j
$$;

-- Far queries: any bytes or bits; any direction for vectors of unit length; else
-- a point three times as far from the centre as rows are.
CREATE FUNCTION ecp_promise.far(name text, type text, unit boolean, n int)
RETURNS TABLE (q int, v text) LANGUAGE plpgsql AS $$
DECLARE
	dims int;
	centre float8[];
	radius float8;
BEGIN
	IF type LIKE 'bit%' OR type = 'bytea' THEN
		EXECUTE format('SELECT max(length(v)) FROM ecp_promise.%I WHERE id < 10', name)
			INTO dims;
		RETURN QUERY SELECT i, CASE WHEN type = 'bytea'
			THEN '\x' || string_agg(lpad(to_hex((ecp_promise.uniform(i, j, 7) * 255)::int), 2, '0'), '')
			ELSE string_agg(((ecp_promise.uniform(i, j, 7) * 2)::int % 2)::text, '') END
			FROM generate_series(1, n) i, generate_series(1, dims) j GROUP BY i;
		RETURN;
	END IF;
	EXECUTE format('WITH sample AS (SELECT id, x, j
			FROM (SELECT id, v::real[] AS v FROM ecp_promise.%1$I
				  WHERE ecp_promise.uniform(id, 0, 8) < 2000.0 /
					(SELECT count(*) FROM ecp_promise.%1$I)) t,
				unnest(v) WITH ORDINALITY u (x, j)),
		mean AS (SELECT j, avg(x) AS m FROM sample GROUP BY j)
		SELECT array_agg(m ORDER BY j), (SELECT sqrt(sum((x - m) ^ 2) /
			count(DISTINCT id)) FROM sample JOIN mean USING (j)) FROM mean', name)
		INTO centre, radius;
	dims := cardinality(centre);
	RETURN QUERY SELECT i, (CASE WHEN unit THEN direction
		ELSE (SELECT array_agg((c + 3 * radius * d)::real)
			  FROM unnest(centre, direction) u (c, d)) END)::text
		FROM (SELECT i, ecp_promise.unit(array_agg(ecp_promise.normal(i, j, 7)::real))
				AS direction
			  FROM generate_series(1, n) i, generate_series(1, dims) j
			  GROUP BY i) r;
END $$;

-- Make the queries "between" and "far" of a set; those of "data" are there.
CREATE FUNCTION ecp_promise.make_queries(name text, type text,
	unit boolean, n int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	-- what functions take
	plain text := CASE WHEN type = 'vector' THEN 'real[]' ELSE type END;
	rows int;
BEGIN
	EXECUTE format('SELECT count(*) FROM ecp_promise.%I', name) INTO rows;
	EXECUTE format('INSERT INTO ecp_promise.%2$I
		SELECT %4$s + q, ''between'', ecp_promise.between(a.v::%5$s, b.v::%5$s)::%3$s
		FROM generate_series(1, %4$s) q
			JOIN ecp_promise.%1$I a ON a.id = (ecp_promise.uniform(q, 1, 9) * (%6$s - 1))::int
			JOIN ecp_promise.%1$I b ON b.id = (ecp_promise.uniform(q, 2, 9) * (%6$s - 1))::int',
		name, name || '_q', type, n, plain, rows);
	EXECUTE format('INSERT INTO ecp_promise.%I
		SELECT 2 * %s + q, ''far'', v::%s::%s
		FROM ecp_promise.far($1, $2, $3, $4)',
		name || '_q', n, plain, type) USING name, type, unit, n;
END $$;

-- A query for rows $1 to $2 of a shape: i and v.  "self" is the number of the row
-- of which row i is a copy, "centre" that of the centre around which that is.
CREATE FUNCTION ecp_promise.rows_of(shape text, rows int, dims int, type text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	self text := CASE shape
		-- three rows in ten are copies of one of the others
		WHEN 'duplicates' THEN format('CASE WHEN i %% 10 < 7 THEN i
			ELSE (ecp_promise.uniform(i, 0, 5) * (%s - 1))::int * 10 + i %% 7 END',
			rows / 10)
		-- half of the rows, or four of five, are the same; queries are like the others
		WHEN 'one' THEN format('CASE WHEN i %% 2 = 0 AND i < %s THEN 0 ELSE i END',
			rows)
		WHEN 'most' THEN format('CASE WHEN i %% 5 > 0 AND i < %s THEN 0 ELSE i END',
			rows)
		-- groups of twenty
		WHEN 'near' THEN format('i %% %s', rows / 20)
		ELSE 'i' END;
	-- 400 rows a centre, more around some than around others
	centre text := format('(power(ecp_promise.uniform(self, 0, 3), 2) * %s)::int',
		greatest((CASE WHEN shape = 'near' THEN rows / 20 ELSE rows END) / 400, 1)) ||
		-- around other centres than "clustered"
		CASE WHEN shape = 'moved' THEN ' + 1000000' ELSE '' END;
	element text := CASE
		-- a category for each dimension
		WHEN shape = 'onehot' THEN format('CASE WHEN j = i %% %s + 1 THEN 1 ELSE 0 END',
			dims)
		WHEN shape IN ('gaussian', 'one', 'most') THEN 'ecp_promise.normal(self, j, 1)'
		WHEN shape = 'uniform' THEN 'ecp_promise.uniform(self, j, 1)'
		-- one element in twenty is not zero
		WHEN shape = 'sparse' THEN 'CASE WHEN ecp_promise.uniform(self, j, 11) < 0.05
			THEN ecp_promise.normal(self, j, 1) ELSE 0 END'
		-- rows of very different length
		WHEN shape = 'lengths' THEN
			'ecp_promise.normal(self, j, 1) * exp(1.5 * ecp_promise.normal(self, 0, 11))'
		-- far apart beside what they are wide
		WHEN shape = 'places' THEN
			'20 * ecp_promise.normal(centre, j, 4) + ecp_promise.normal(self, j, 1) / 20'
		ELSE 'ecp_promise.normal(centre, j, 4) + ecp_promise.normal(self, j, 1) / 2'
		END || CASE WHEN shape = 'near' THEN ' + ecp_promise.normal(i, j, 6) / 100'
		ELSE '' END;
	vector text := format('(SELECT array_agg((%s)::real) FROM generate_series(1, %s) j)',
		element, dims);
BEGIN
	IF type LIKE 'bit%' THEN
		vector := format('ecp_promise.bits(%s)::%s', vector, type);
	END IF;
	RETURN format('SELECT i, %s AS v FROM (SELECT i, self, %s AS centre
		FROM (SELECT i, %s AS self FROM generate_series($1, $2) i OFFSET 0) s
		OFFSET 0) s', vector, centre, self);
END $$;

-- Make a generated set; without its index.  The queries of "replaced" are like the
-- rows that replace() will make.
CREATE FUNCTION ecp_promise.make(name text, shape text, rows int, dims int,
	queries int, type text = 'real[]') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE ecp_promise.%I (id int, f int, v %s)', name, type);
	EXECUTE format('INSERT INTO ecp_promise.%I SELECT i,
		(ecp_promise.uniform(i, 0, 10) * 999.999)::int, v FROM (%s) r', name,
		ecp_promise.rows_of(CASE shape WHEN 'replaced' THEN 'clustered' ELSE shape END,
			rows, dims, type)) USING 0, rows - 1;
	EXECUTE format('CREATE TABLE ecp_promise.%I (id int, kind text, v %s)',
		name || '_q', type);
	EXECUTE format('INSERT INTO ecp_promise.%I SELECT i - %s + 1, ''data'', v FROM (%s) r',
		name || '_q', rows,
		ecp_promise.rows_of(CASE shape WHEN 'replaced' THEN 'moved' ELSE shape END,
			rows, dims, type)) USING rows, rows + queries - 1;
	PERFORM ecp_promise.make_queries(name, type, false, queries);
END $$;

-- Move every second row of a "clustered" set, which has an index by now, to other
-- places.
CREATE FUNCTION ecp_promise.replace(name text, dims int, type text = 'real[]')
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	rows int;
BEGIN
	EXECUTE format('SELECT count(*) FROM ecp_promise.%I', name) INTO rows;
	EXECUTE format('UPDATE ecp_promise.%I t SET v = r.v FROM (%s) r
		WHERE t.id = r.i AND t.id %% 2 = 1', name,
		ecp_promise.rows_of('moved', rows, dims, type)) USING 0, rows - 1;
END $$;

-- The exact answers for a set as it is, and each k.
CREATE FUNCTION ecp_promise.find_truth(name text, k int[] = '{1,10,100,1000}')
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM ecp_promise.truth t WHERE t.name = $1 AND below = 1000;
	INSERT INTO ecp_promise.truth
		SELECT name, n.query, 1000, n.rank, n.distance
		FROM ecp_knn_exact(format('ecp_promise.%I', name || '_i')::regclass,
			format('SELECT id, v FROM ecp_promise.%I', name || '_q'),
			(SELECT max(x) FROM unnest(k) x)) n
		WHERE n.rank = ANY (find_truth.k);
END $$;

-- The same of the rows with f < below; k is 10.  The index knows the order of every
-- expression that rises with a distance, but not through OFFSET.
CREATE FUNCTION ecp_promise.find_filtered(name text, op text, below int)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM ecp_promise.truth t WHERE t.name = $1 AND t.below = $3;
	EXECUTE format('INSERT INTO ecp_promise.truth
		SELECT $1, q.id, $2, 10, (SELECT max(d) FROM
			(SELECT d FROM (SELECT t.v %s q.v AS d FROM ecp_promise.%I t WHERE f < $2 OFFSET 0) r
			 ORDER BY d LIMIT 10) s)
		FROM ecp_promise.%3$I q WHERE kind = ''data''', op, name, name || '_q')
		USING name, below;
END $$;

-- Recall of k rows, and clusters read, with the settings in force: for each of
-- the first n queries the statement that a user would send.  A row counts if it is no farther
-- than the k-th of the exact answer.  "error" is the recall's standard error.
CREATE FUNCTION ecp_promise.measure(name text, op text, kind text,
	k int, n int, below int = 1000, OUT queries int, OUT recall float8, OUT error float8,
	OUT clusters float8) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_sort = off SET jit = off AS $$
DECLARE
	statement text := format('SELECT count(*) FROM (SELECT v %s $1 AS d
		FROM ecp_promise.%I %s ORDER BY v %1$s $1 LIMIT %4$s) s WHERE d <= $2',
		op, name, CASE WHEN below < 1000 THEN format('WHERE f < %s', below) END, k);
	share float8;
	squares float8 := 0;
	found int;
	read int;
	plan text := '';
	line text;
	q record;
BEGIN
	queries := 0; recall := 0; clusters := 0;
	FOR q IN EXECUTE format('SELECT q.v, t.d + 1e-6 * abs(t.d) AS d
		FROM ecp_promise.%I q JOIN ecp_promise.truth t ON t.query = q.id
		WHERE t.name = $1 AND q.kind = $2 AND t.below = $3 AND t.k = $4
		ORDER BY q.id LIMIT $5', name || '_q') USING name, kind, below, k, n
	LOOP
		IF queries = 0 THEN
			FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement USING q.v, q.d LOOP
				plan := plan || line || E'\n';
			END LOOP;
			IF strpos(plan, format('Index Scan using %I on', name || '_i')) = 0 THEN
				RAISE EXCEPTION 'the index is not used: %', plan;
			END IF;
		END IF;
		EXECUTE statement INTO found USING q.v, q.d;
		SELECT s.clusters INTO read FROM ecp_last_scan() s;
		share := least(found::float8 / k, 1);
		queries := queries + 1;
		recall := recall + share;
		squares := squares + share * share;
		clusters := clusters + read;
	END LOOP;
	IF queries = 0 THEN
		RAISE EXCEPTION 'no queries "%" of set "%"', kind, name;
	END IF;
	recall := recall / queries;
	clusters := clusters / queries;
	error := sqrt(greatest(squares / queries - recall * recall, 0) / queries);
END $$;

-- The recall at each k when a number of clusters is read for every query, of the
-- first n.
CREATE FUNCTION ecp_promise.recall_of_probes(name text, op text,
	kind text, probes int, k int[], n int, OUT recall float8[]) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_sort = off SET jit = off
SET ecp.iterative_scan = off AS $$
DECLARE
	statement text;
	found float8[];
	read int;
	queries int := 0;
	q record;
BEGIN
	PERFORM set_config('ecp.probes', probes::text, true);
	SELECT format('SELECT ARRAY[%s] FROM (SELECT v %s $1 AS d
		FROM ecp_promise.%I ORDER BY v %2$s $1 LIMIT %4$s) s',
		string_agg(format('least(count(*) FILTER (WHERE d <= $2[%s]), %s) / %2$s.0::float8',
			i, k[i]), ', '), op, name, max(k[i]))
	INTO statement FROM generate_subscripts(k, 1) i;
	recall := array_fill(0::float8, ARRAY[cardinality(k)]);
	FOR q IN EXECUTE format('SELECT v, (SELECT array_agg(d + 1e-6 * abs(d) ORDER BY k)
			FROM ecp_promise.truth t WHERE t.name = $1 AND t.query = q.id AND t.below = 1000
				AND t.k = ANY ($3)) AS d
		FROM ecp_promise.%I q WHERE q.kind = $2 ORDER BY q.id LIMIT $4',
			name || '_q') USING name, kind, k, n
	LOOP
		EXECUTE statement INTO found USING q.v, q.d;
		queries := queries + 1;
		FOR i IN 1 .. cardinality(k) LOOP
			recall[i] := recall[i] + found[i];
		END LOOP;
	END LOOP;
	SELECT s.clusters INTO read FROM ecp_last_scan() s;
	IF read > probes THEN
		RAISE EXCEPTION '% clusters were read instead of %', read, probes;
	END IF;
	FOR i IN 1 .. cardinality(k) LOOP
		recall[i] := recall[i] / queries;
	END LOOP;
END $$;
