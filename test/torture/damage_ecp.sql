--
-- What the damage campaign tries on ecp: small indexes that together have all
-- kinds of pages, and statements that go every way through them.
--
CREATE FUNCTION damage_vector(id int, dims int) RETURNS real[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((10 * sin((id % 12) * e * 1.7)
					  + hashint8extended(id * 4096::bigint + e, 1) % 1000 / 500.0)::real
					 ORDER BY e)
	FROM generate_series(1, dims) e
$$;
CREATE FUNCTION damage_bytes(id int, dims int) RETURNS bytea
LANGUAGE sql IMMUTABLE AS $$
	SELECT decode(string_agg(lpad(to_hex((128 + 8 * x)::int), 2, '0'), '' ORDER BY n), 'hex')
	FROM unnest(damage_vector(id, dims)) WITH ORDINALITY u(x, n)
$$;

-- Rows $2 to $3, with vectors by the expression $4 of i.
CREATE FUNCTION damage_fill(name text, first int, last int, vector text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %I SELECT i, %s, NULLIF(i %% 7, 3), i * 1.5, ''row '' || i
					FROM generate_series(%s, %s) i', name, vector, first, last);
END
$$;

CREATE TABLE damage_config (name text, type text, vector text, built int, rows int,
	columns text, parameters text);
INSERT INTO damage_config VALUES
	('plain', 'real[]', 'damage_vector(i, 8)', 250, 400, '(v)',
	 'quantizer = none, levels = 2, cluster_size = 1'),
	('codes', 'real[]', 'damage_vector(i, 100)', 150, 250,
	 '(v, tenant, price) INCLUDE (id, label)',
	 'quantizer = rabitq, levels = 2, cluster_size = 4, buffer_rows = 6'),
	('nibbles', 'real[]', 'damage_vector(i, 40)', 150, 250, '(v, tenant)',
	 'vectors = codes, levels = 2, cluster_size = 1, buffer_rows = 6'),
	('wide', 'real[]', 'damage_vector(i, 1400)', 30, 45, '(v, id)', 'quantizer = none'),
	('root', 'real[]', 'damage_vector(i, 5)', 0, 40, '(v, tenant)', 'cluster_size = 8'),
	('bytes', 'bytea', 'damage_bytes(i, 64)', 300, 450, '(v, tenant) INCLUDE (id)',
	 'quantizer = rabitq, levels = 3, cluster_size = 1'),
	('alive', 'real[]', 'damage_vector(i, 6)', 100, 500, '(v) INCLUDE (id)',
	 'quantizer = none, levels = 1, cluster_size = 1, buffer_rows = 4'),
	('halves', 'real[]', 'damage_vector(i, 100)', 150, 250, '(v, tenant)',
	 'vectors = half, levels = 2, cluster_size = 4, buffer_rows = 6');

-- The table; the index of its first rows; the state that is to be stale; then
-- a life with retired pages and dead rows.
CREATE PROCEDURE damage_setup(c damage_config)
LANGUAGE plpgsql AS $$
DECLARE
	i name := c.name || '_i';
BEGIN
	EXECUTE format('CREATE TABLE %I (id int, v %s, tenant smallint, price float8, label text)',
				   c.name, c.type);
	EXECUTE format('ALTER TABLE %I ALTER v SET STORAGE PLAIN', c.name);
	PERFORM damage_fill(c.name, 1, c.built, c.vector);
	EXECUTE format('CREATE INDEX %I ON %I USING ecp %s WITH (%s)', i, c.name, c.columns,
				   c.parameters);
	PERFORM damage_fill(c.name, c.built + 1, c.built + 5, c.vector);
	PERFORM damage_save(i::regclass, 'old');
	PERFORM damage_fill(c.name, c.built + 6, c.rows, c.vector);
	EXECUTE format('DELETE FROM %I WHERE id %% 9 = 4', c.name);
	COMMIT;
	PERFORM ecp_maintain(i::regclass);
	PERFORM damage_fill(c.name, c.rows + 1, c.rows + c.rows / 5, c.vector);
END
$$;

-- "check" says whether the index is sound; "read" has one right answer, that
-- of the query "truth", which does not use the index; "inspect" may return
-- anything; "write" may change index and table, but no answer.  :block is the
-- number of a damaged block.  Statements are chosen in proportion to their
-- weights.
CREATE TABLE damage_statement (index text, kind text, name text, sql text, truth text,
	weight int DEFAULT 8);

CREATE PROCEDURE damage_statements(c damage_config)
LANGUAGE plpgsql AS $$
DECLARE
	t name := c.name;
	i name := c.name || '_i';
	q text;
	attributes bool := c.columns ~ 'tenant';
	included bool := c.columns ~ 'INCLUDE';
	settings text := 'RESET ALL; SET statement_timeout = ''4s''; SET client_min_messages = error; SET enable_seqscan = off; SET enable_bitmapscan = off; ';
	everything text := settings || 'SET ecp.iterative_scan = relaxed_order; ';
	exact text := settings || 'SET ecp.probes = 1000000; SET ecp.target_recall = 1; ';
	rows text := 'SELECT count(*), md5(string_agg(id::text, '','' ORDER BY id)) FROM ';
	near text := 'SELECT string_agg(round(d::numeric, 2)::text, '','' ORDER BY d) FROM ';
BEGIN
	EXECUTE format('SELECT quote_literal(v) || ''::%s'' FROM %I WHERE id = 7', c.type, t) INTO q;

	INSERT INTO damage_statement VALUES
	(i, 'check', 'check', settings || format('SELECT ecp_index_check(%L, true)', i), NULL),
	(i, 'read', 'all',
	 everything || rows || format('(SELECT id FROM %I ORDER BY v <-> %s LIMIT 1000000) r', t, q),
	 rows || t),
	(i, 'read', 'nearest',
	 exact || near || format('(SELECT v <-> %s AS d FROM %I ORDER BY v <-> %1$s LIMIT 15) r', q, t),
	 near || format('(SELECT v <-> %s AS d FROM %I ORDER BY d LIMIT 15) r', q, t)),
	(i, 'read', 'batch',
	 exact || near || format('(SELECT distance AS d FROM ecp_knn_batch(%L, ARRAY[%s], 12)) r', i, q),
	 near || format('(SELECT v <-> %s AS d FROM %I ORDER BY d LIMIT 12) r', q, t)),
	(i, 'read', 'radius',
	 exact || rows || format('(SELECT id FROM %I WHERE v <-> %s < %s ORDER BY v <-> %2$s LIMIT 1000000) r',
		t, q, CASE c.name WHEN 'bytes' THEN 100 ELSE 8 END),
	 rows || format('%I WHERE v <-> %s < %s', t, q, CASE c.name WHEN 'bytes' THEN 100 ELSE 8 END)),
	(i, 'inspect', 'search',
	 settings || format('SELECT id FROM %I ORDER BY v <-> %s LIMIT 5', t, q), NULL),
	(i, 'inspect', 'search by target',
	 settings || format('SET ecp.target_recall = 0.99; SELECT id FROM %I ORDER BY v <-> %s LIMIT 50', t, q), NULL),
	(i, 'inspect', 'batch of queries',
	 settings || format('SELECT count(*) FROM ecp_knn_batch(%L, ''SELECT v FROM %I LIMIT 20'', 3)', i, t), NULL),
	(i, 'inspect', 'nested loop',
	 settings || format('SELECT count(*) FROM (SELECT v FROM %I LIMIT 3) q, LATERAL (SELECT id FROM %1$I t ORDER BY t.v <-> q.v LIMIT 3) r', t), NULL),
	(i, 'inspect', 'parallel',
	 settings || format('SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_index_scan_size = 0; SET min_parallel_table_scan_size = 0; SET ecp.iterative_scan = relaxed_order; SET enable_sort = off; SELECT count(*) FROM (SELECT id FROM %I ORDER BY v <-> %s LIMIT 100) r', t, q), NULL),
	(i, 'inspect', 'clusters', settings || format('SELECT count(*), sum(rows) FROM ecp_clusters(%L)', i), NULL),
	(i, 'inspect', 'metapage_info', settings || format('SELECT * FROM ecp_metapage_info(%L)', i), NULL),
	(i, 'inspect', 'index_stats', settings || format('SELECT * FROM ecp_index_stats(%L)', i), NULL),
	(i, 'inspect', 'index_drift', settings || format('SELECT * FROM ecp_index_drift(%L)', i), NULL),
	(i, 'inspect', 'build_report', settings || format('SELECT * FROM ecp_build_report(%L)', i), NULL),
	(i, 'inspect', 'page_items', settings || format('SELECT * FROM ecp_page_items(%L, :block)', i), NULL),
	(i, 'inspect', 'misassigned', settings || format('SELECT ecp_misassigned(%L, 20)', i), NULL),
	(i, 'inspect', 'recall', settings || format('SELECT * FROM ecp_recall(%L, 3, samples => 3)', i), NULL),
	(i, 'inspect', 'exact', settings || format('SELECT count(*) FROM ecp_knn_exact(%L, ARRAY[%s], 3)', i, q), NULL),
	(i, 'inspect', 'check of structure', settings || format('SELECT ecp_index_check(%L)', i), NULL),
	(i, 'write', 'recall, stored', settings || format('SELECT * FROM ecp_recall(%L, samples => 100, store => true)', i), NULL),
	(i, 'write', 'insert',
	 settings || format('BEGIN; INSERT INTO %I SELECT * FROM %1$I WHERE id < 12; ROLLBACK', t), NULL),
	(i, 'write', 'insert many',
	 settings || format('BEGIN; INSERT INTO %I SELECT * FROM %1$I WHERE id %% 4 = 0; ROLLBACK', t), NULL),
	(i, 'write', 'update',
	 settings || format('BEGIN; UPDATE %I SET price = price + 1, tenant = tenant + 1 WHERE id %% 25 = 0; ROLLBACK', t), NULL),
	(i, 'write', 'vacuum', settings || ' ;; ' || format('VACUUM (INDEX_CLEANUP ON) %I', t), NULL),
	(i, 'write', 'vacuum twice', settings || ' ;; ' || format('VACUUM (INDEX_CLEANUP ON) %I', t) || ' ;; ' ||
		format('VACUUM (INDEX_CLEANUP ON) %I', t), NULL),
	(i, 'write', 'maintain', settings || format('SELECT * FROM ecp_maintain(%L)', i), NULL),
	(i, 'write', 'insert and maintain', settings || format('BEGIN; INSERT INTO %I SELECT * FROM %1$I WHERE id %% 4 = 0; ROLLBACK', t) || ' ;; ' || format('SELECT * FROM ecp_maintain(%L)', i), NULL),
	(i, 'write', 'reindex', settings || format('REINDEX INDEX %I', i), NULL);
	IF attributes THEN
		INSERT INTO damage_statement VALUES
		(i, 'read', 'filter',
		 everything || rows || format('(SELECT id FROM %I WHERE tenant = 5 ORDER BY v <-> %s LIMIT 1000000) r', t, q),
		 rows || t || ' WHERE tenant = 5'),
		(i, 'read', 'filter of many',
		 everything || rows || format('(SELECT id FROM %I WHERE tenant IN (1, 2, 6) ORDER BY v <-> %s LIMIT 1000000) r', t, q),
		 rows || t || ' WHERE tenant IN (1, 2, 6)');
	END IF;
	IF included THEN
		INSERT INTO damage_statement VALUES
		(i, 'inspect', 'index only',
		 everything || format('SELECT count(*), sum(id) FROM (SELECT id FROM %I ORDER BY v <-> %s LIMIT 1000000) r', t, q), NULL);
	END IF;
END
$$;

DO $$
DECLARE
	c damage_config;
BEGIN
	FOR c IN SELECT * FROM damage_config LOOP
		CALL damage_setup(c);
		CALL damage_statements(c);
	END LOOP;
END
$$;
-- too few rows for the stored curve
DELETE FROM damage_statement WHERE name = 'recall, stored' AND index IN ('root_i', 'wide_i');
UPDATE damage_statement SET weight = 1 WHERE name IN ('recall', 'recall, stored', 'parallel');
UPDATE damage_statement SET weight = 3 WHERE name IN ('reindex', 'update', 'insert many', 'insert and maintain', 'exact');
