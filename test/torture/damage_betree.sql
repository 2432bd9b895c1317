--
-- What the damage campaign tries on betree: see damage_ecp.sql.
--
CREATE TABLE damage_config (name text, columns text, parameters text, rows int);
INSERT INTO damage_config VALUES
	('numbers', '(k)', 'log_pages = 2, flush_budget = 2', 2500),
	('texts', '(t, k)', 'log_pages = 4, log_levels = 2', 1500),
	('included', '(n, s DESC NULLS FIRST) INCLUDE (id, t)', 'log_pages = 3', 1200),
	('filtered', '(k) INCLUDE (t)', 'log_pages = 12, flush_budget = 1', 1000),
	('bloomed', '(k)', 'log_pages = 4, bloom = on', 1500),
	('plain', '(t COLLATE "C")', 'log_pages = 0', 1500),
	('equal', '(s)', 'log_pages = 2, log_levels = 3', 2000),
	('long', '(t)', 'log_pages = 3, log_levels = 4', 400),
	('empty', '(k)', 'log_pages = 4', 0);

CREATE FUNCTION damage_fill(c damage_config, first int, last int) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('INSERT INTO %I SELECT i, hashint8extended(i, 1) %% 1000000,
		%s,
		(i %% 1000) / 8.0, NULLIF(i %% 5, 2), i %% 3 = 0
		FROM generate_series(%s, %s) i', c.name,
		CASE c.name WHEN 'long' THEN 'rpad(md5(i::text), 1200, ''x'')' WHEN 'filtered' THEN 'rpad(md5(i::text), 300, ''x'')'
			ELSE 'left(md5(i::text), 1 + i % 32)' END, first, last);
END
$$;

CREATE PROCEDURE damage_setup(c damage_config)
LANGUAGE plpgsql AS $$
DECLARE
	i name := c.name || '_i';
BEGIN
	EXECUTE format('CREATE TABLE %I (id int, k int8, t text, n numeric, s smallint, b bool)', c.name);
	EXECUTE format('ALTER TABLE %I ALTER t SET STORAGE PLAIN', c.name);
	PERFORM damage_fill(c, 1, c.rows / 4);
	EXECUTE format('CREATE INDEX %I ON %I USING betree %s WITH (%s)', i, c.name, c.columns,
				   c.parameters);
	PERFORM damage_fill(c, c.rows / 4 + 1, c.rows / 2);
	PERFORM damage_save(i::regclass, 'old');
	EXECUTE format('DELETE FROM %I WHERE id %% 7 = 4 OR k < 100000', c.name);
END
$$;

-- Leaves in the middle that VACUUM will free, and what comes after it.
CREATE PROCEDURE damage_setup_empty(c damage_config)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM damage_fill(c, c.rows / 2 + 1, c.rows);
	IF c.name IN ('numbers', 'plain', 'long') THEN
		EXECUTE format('DELETE FROM %I WHERE %s', c.name,
					   CASE c.name WHEN 'numbers' THEN 'k BETWEEN 200000 AND 700000' ELSE 't > ''c''' END);
	END IF;
END
$$;
CREATE PROCEDURE damage_setup_end(c damage_config)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('DELETE FROM %I WHERE id %% 11 = 5', c.name);
	PERFORM damage_fill(c, c.rows + 1, c.rows + c.rows / 20);

	-- short ranges, which merge log pages into runs, and pages that they may merge
	IF c.name = 'filtered' THEN
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_bitmapscan = off;
		FOR i IN 0 .. 99 LOOP
			EXECUTE format('SELECT count(*) FROM %I WHERE k BETWEEN %s AND %2$s + 1000', c.name, i * 10000);
		END LOOP;
		PERFORM damage_fill(c, c.rows * 21 / 20 + 1, c.rows * 21 / 20 + 100);
	END IF;
END
$$;

CREATE TABLE damage_statement (index text, kind text, name text, sql text, truth text,
	weight int DEFAULT 8);

CREATE PROCEDURE damage_statements(c damage_config)
LANGUAGE plpgsql AS $$
DECLARE
	t name := c.name;
	i name := c.name || '_i';
	key name := substring(c.columns FROM '\((\w)');
	type text := CASE key WHEN 'k' THEN 'int8' WHEN 't' THEN 'text' WHEN 'n' THEN 'numeric' ELSE 'smallint' END;
	"order" text := key || CASE WHEN c.columns ~ 'COLLATE' THEN ' COLLATE "C"' ELSE '' END;
	one text;
	low text;
	high text;
	settings text := 'RESET ALL; SET statement_timeout = ''4s''; SET client_min_messages = error; SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; ';
	rows text := 'SELECT count(*), md5(string_agg(x::text, '','' ORDER BY x)) FROM ';
BEGIN
	EXECUTE format('SELECT quote_literal(%1$I) || ''::%3$s'' FROM %2$I WHERE %1$I IS NOT NULL ORDER BY id DESC LIMIT 1', key, t, type) INTO one;
	EXECUTE format('SELECT quote_literal(min(%1$s)) || ''::%4$s'', quote_literal(max(%1$s)) || ''::%4$s''
					FROM (SELECT %5$I FROM %3$I WHERE %5$I IS NOT NULL ORDER BY %1$s LIMIT (SELECT count(*) / 20 FROM %3$I)
						  OFFSET (SELECT count(*) / 3 FROM %3$I)) r', "order", key, t, type, key) INTO low, high;
	one := COALESCE(one, '1');
	low := COALESCE(low, '1');
	high := COALESCE(high, '2');

	INSERT INTO damage_statement VALUES
	(i, 'check', 'check', settings || format('SELECT betree_index_check(%L, true)', i), NULL),
	(i, 'read', 'ascending',
	 settings || rows || format('(SELECT %I AS x FROM %I ORDER BY %s OFFSET 0) r', key, t, "order" || CASE t WHEN 'included' THEN ', s DESC NULLS FIRST' ELSE '' END),
	 rows || format('(SELECT %I AS x FROM %I) r', key, t)),
	(i, 'read', 'descending',
	 settings || rows || format('(SELECT id AS x FROM %I ORDER BY %s OFFSET 0) r', t, "order" || ' DESC NULLS FIRST' || CASE t WHEN 'included' THEN ', s ASC NULLS LAST' ELSE '' END),
	 rows || format('(SELECT id AS x FROM %I) r', t)),
	(i, 'read', 'order',
	 settings || format('SELECT count(*) FROM (SELECT %s < lag(%1$s) OVER () AS wrong FROM (SELECT %2$I FROM %3$I WHERE %2$I IS NOT NULL ORDER BY %1$s OFFSET 0) s) r WHERE wrong', "order", key, t),
	 'SELECT 0'),
	(i, 'read', 'equal', settings || rows || format('(SELECT id AS x FROM %I WHERE %s = %s) r', t, "order", one),
	 rows || format('(SELECT id AS x FROM %I WHERE %s = %s) r', t, "order", one)),
	(i, 'read', 'one of', settings || rows || format('(SELECT id AS x FROM %I WHERE %s IN (%s, %s, %s)) r', t, "order", one, low, high),
	 rows || format('(SELECT id AS x FROM %I WHERE %s IN (%s, %s, %s)) r', t, "order", one, low, high)),
	(i, 'read', 'range', settings || rows || format('(SELECT id AS x FROM %I WHERE %s >= %s AND %2$s < %s) r', t, "order", low, high),
	 rows || format('(SELECT id AS x FROM %I WHERE %s >= %s AND %2$s < %s) r', t, "order", low, high)),
	(i, 'read', 'bitmap', settings || 'SET enable_bitmapscan = on; SET enable_indexscan = off; SET enable_indexonlyscan = off; '
		|| rows || format('(SELECT id AS x FROM %I WHERE %s > %s) r', t, "order", low),
	 rows || format('(SELECT id AS x FROM %I WHERE %s > %s) r', t, "order", low)),
	(i, 'read', 'nulls', settings || rows || format('(SELECT id AS x FROM %I WHERE %I IS NULL) r', t, key),
	 rows || format('(SELECT id AS x FROM %I WHERE %I IS NULL) r', t, key)),
	(i, 'inspect', 'backward and forward',
	 'RESET ALL; SET statement_timeout = ''4s''; SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;'
	 || format(' BEGIN; DECLARE c SCROLL CURSOR FOR SELECT id FROM %I ORDER BY %s; FETCH 20 FROM c; FETCH BACKWARD 5 FROM c; FETCH LAST FROM c; FETCH BACKWARD 50 FROM c; FETCH 3 FROM c; COMMIT', t, "order"), NULL),
	(i, 'inspect', 'first', settings || format('SELECT id FROM %I ORDER BY %s LIMIT 3', t, "order"), NULL),
	(i, 'inspect', 'nested loop', settings || format('SELECT count(*) FROM (SELECT %I AS x FROM %I ORDER BY id LIMIT 5) q JOIN %2$I t ON t.%s = q.x', key, t, "order"), NULL),
	(i, 'inspect', 'metapage_info', settings || format('SELECT * FROM betree_metapage_info(%L)', i), NULL),
	(i, 'inspect', 'node_info', settings || format('SELECT * FROM betree_node_info(%L, :block)', i), NULL),
	(i, 'inspect', 'page_items', settings || format('SELECT * FROM betree_page_items(%L, :block)', i), NULL),
	(i, 'inspect', 'index_stats', settings || format('SELECT * FROM betree_index_stats(%L)', i), NULL),
	(i, 'inspect', 'check of structure', settings || format('SELECT betree_index_check(%L)', i), NULL),
	(i, 'write', 'insert', settings || format('BEGIN; INSERT INTO %I SELECT * FROM %1$I WHERE id %% 50 = 3; ROLLBACK', t), NULL),
	(i, 'write', 'insert one', settings || format('BEGIN; INSERT INTO %I SELECT * FROM %1$I LIMIT 1; ROLLBACK', t), NULL),
	(i, 'write', 'insert many', settings || format('BEGIN; INSERT INTO %I SELECT * FROM %1$I WHERE id %% 3 = 0; ROLLBACK', t), NULL),
	(i, 'write', 'update', settings || format('BEGIN; UPDATE %I SET k = k + 1, t = t || ''a'', n = n + 1, s = s + 1 WHERE id %% 20 = 0; ROLLBACK', t), NULL),
	(i, 'write', 'vacuum', settings || ' ;; ' || format('VACUUM (INDEX_CLEANUP ON) %I', t), NULL),
	(i, 'write', 'vacuum twice', settings || ' ;; ' || format('VACUUM (INDEX_CLEANUP ON) %I ;; VACUUM (INDEX_CLEANUP ON) %1$I', t), NULL),
	(i, 'write', 'flush', settings || format('SELECT betree_flush(%L)', i), NULL),
	(i, 'write', 'insert and flush', settings || format('BEGIN; INSERT INTO %I SELECT * FROM %1$I WHERE id %% 3 = 0; ROLLBACK ;; SELECT betree_flush(%L)', t, i), NULL),
	(i, 'write', 'reindex', settings || format('REINDEX INDEX %I', i), NULL);
END
$$;

DO $$
DECLARE
	c damage_config;
BEGIN
	FOR c IN SELECT * FROM damage_config LOOP
		CALL damage_setup(c);
	END LOOP;
END
$$;
VACUUM;
DO $$
DECLARE
	c damage_config;
BEGIN
	FOR c IN SELECT * FROM damage_config LOOP
		CALL damage_setup_empty(c);
	END LOOP;
END
$$;
VACUUM;
DO $$
DECLARE
	c damage_config;
BEGIN
	FOR c IN SELECT * FROM damage_config LOOP
		CALL damage_setup_end(c);
		CALL damage_statements(c);
	END LOOP;
END
$$;
UPDATE damage_statement SET weight = 3 WHERE name IN ('reindex', 'insert many', 'insert and flush');
