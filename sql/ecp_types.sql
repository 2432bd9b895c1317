--
-- All six operator classes: with every cluster read, the index and a
-- sequential scan agree in every distance; with the default probes they
-- nearly do.  Vectors share pages with their entries (8 elements), are
-- ranked in columns (bytea) and in rows (real[]), or stand in the vector part
-- and span pages (3,000 real elements).
--
CREATE FUNCTION types_byte(i int, j int) RETURNS int
LANGUAGE sql IMMUTABLE AS $$
	SELECT ((i * 7919 + 13) % 1009 * (j * 31 + 7) % 997 + i % 5 * 40) % 256
$$;
CREATE TABLE types_t AS
SELECT i AS id, array_agg(((b - 100) / 10.0)::real ORDER BY j) AS r,
	decode(string_agg(lpad(to_hex(b), 2, '0'), '' ORDER BY j), 'hex') AS b
FROM generate_series(1, 2000) i, generate_series(1, 8) j,
	LATERAL types_byte(i, j) b
GROUP BY i ORDER BY i;
CREATE TABLE types_wide AS
SELECT i AS id, array_agg(((i * 37 + j * 11) % 101 - 40)::real ORDER BY j) AS r
FROM generate_series(1, 200) i, generate_series(1, 3000) j
GROUP BY i ORDER BY i;

/*
 * For 10 queries, rows of the table shifted a little: the k nearest by the
 * index with all clusters, with the default probes, and by a sort.
 */
CREATE FUNCTION types_compare(tab text, col text, op text, opclass text,
	OUT uses_index boolean, OUT rows bigint, OUT wrong bigint,
	OUT default_recall boolean)
LANGUAGE plpgsql AS $$
DECLARE
	plan text;
	query text := format('SELECT count(*), count(*) FILTER (WHERE a.d IS DISTINCT FROM e.d) FROM
		(SELECT id, row_number() OVER (PARTITION BY id ORDER BY d) AS n, d FROM found) a
		FULL JOIN
		(SELECT id, row_number() OVER (PARTITION BY id ORDER BY d) AS n, d FROM exact) e
		USING (id, n)');
	search text := format('SELECT q.id, s.d FROM
		(SELECT id, %1$I AS v FROM %2$I WHERE id %% 20 = 3 ORDER BY id LIMIT 10) q,
		LATERAL (SELECT t.%1$I %3$s q.v AS d FROM %2$I t
				 ORDER BY t.%1$I %3$s q.v LIMIT 20) s', col, tab, op);
	r record;
BEGIN
	EXECUTE format('CREATE INDEX types_i ON %I USING ecp (%I %I)', tab, col, opclass);
	EXECUTE format('ANALYZE %I', tab);
	PERFORM set_config('enable_seqscan', 'off', true);
	uses_index := false;
	FOR r IN EXECUTE 'EXPLAIN (COSTS OFF) ' || search LOOP
		plan := r."QUERY PLAN";
		uses_index := uses_index OR plan LIKE '%Index Scan using types_i%';
	END LOOP;
	PERFORM set_config('ecp.probes', '100000', true);
	EXECUTE 'CREATE TEMP TABLE found AS ' || search;
	PERFORM set_config('enable_seqscan', 'on', true);
	PERFORM set_config('enable_indexscan', 'off', true);
	EXECUTE 'CREATE TEMP TABLE exact AS ' || search;
	PERFORM set_config('enable_indexscan', 'on', true);
	EXECUTE query INTO rows, wrong;

	PERFORM set_config('enable_seqscan', 'off', true);
	PERFORM set_config('ecp.probes', '0', true);
	DROP TABLE found;
	EXECUTE 'CREATE TEMP TABLE found AS ' || search;
	PERFORM set_config('enable_seqscan', 'on', true);
	SELECT count(*) >= 0.8 * rows INTO default_recall FROM found f
	WHERE d <= (SELECT max(d) FROM exact e WHERE e.id = f.id);
	DROP TABLE found, exact;
	DROP INDEX types_i;
END
$$;

SELECT c.opclass, t.*
FROM (VALUES
	('types_t', 'r', '<->', 'real_l2_ops'),
	('types_t', 'r', '<#>', 'real_ip_ops'),
	('types_t', 'r', '<=>', 'real_cosine_ops'),
	('types_t', 'b', '<->', 'bytea_l2_ops'),
	('types_t', 'b', '<#>', 'bytea_ip_ops'),
	('types_t', 'b', '<=>', 'bytea_cosine_ops')) c(tab, col, op, opclass),
	LATERAL types_compare(c.tab, c.col, c.op, c.opclass) t;
SELECT c.opclass, t.*
FROM (VALUES
	('types_wide', 'r', '<->', 'real_l2_ops'),
	('types_wide', 'r', '<#>', 'real_ip_ops'),
	('types_wide', 'r', '<=>', 'real_cosine_ops')) c(tab, col, op, opclass),
	LATERAL types_compare(c.tab, c.col, c.op, c.opclass) t;

DROP TABLE types_t, types_wide;
DROP FUNCTION types_compare, types_byte;
