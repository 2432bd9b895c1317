--
-- Parallel builds of betree: the same pages for any number of workers, which are
-- seen at work; what they must not be used for; and their errors.
--
-- before 18 a unique betree comes with a NOTICE (betree_reach)
SET client_min_messages = warning;
\set SHOW_CONTEXT never
SET max_parallel_maintenance_workers = 0;
SET max_parallel_workers = 8;

-- every tenth row is updated, so that rows come in another order than their TIDs
CREATE TABLE rows (id int, u uuid, t text, n int, d numeric)
	WITH (parallel_workers = 3, fillfactor = 80, autovacuum_enabled = off);
INSERT INTO rows SELECT g, md5(g::text)::uuid, repeat(md5((g % 3000)::text), g % 7),
	CASE WHEN g % 11 > 0 THEN g % 97 END, g % 1000 / 10.0
	FROM generate_series(1, 15000) g;
UPDATE rows SET n = n WHERE id % 10 = 0;

-- All that is on the pages of an index but their LSNs and checksums
CREATE FUNCTION digest(index regclass) RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(page, '' ORDER BY block))
	FROM (SELECT block, md5(pg_read_binary_file(pg_relation_filepath(index), block * 8192 + 10, 8182)) AS page
		FROM generate_series(0, pg_relation_size(index) / 8192 - 1) block OFFSET 0) p
$$;

-- Build an index by one process and by several, with little memory, too: are
-- they all alike?  (With the table's parallel_workers the server does not ask
-- for 32 MB a process.)
CREATE FUNCTION build(what text, how text DEFAULT '', OUT pages_alike boolean)
LANGUAGE plpgsql AS $$
DECLARE
	serial text;
BEGIN
	pages_alike := true;
	FOR w IN 0 .. 3 LOOP
		PERFORM set_config('max_parallel_maintenance_workers', w::text, true);
		PERFORM set_config('maintenance_work_mem', CASE w WHEN 2 THEN '1MB' ELSE '64MB' END, true);
		EXECUTE 'CREATE ' || how || ' INDEX i ON rows USING betree ' || what;
		PERFORM betree_index_check('i', true);
		serial := coalesce(serial, digest('i'));
		pages_alike := pages_alike AND serial = digest('i');
		DROP INDEX i;
	END LOOP;
	PERFORM set_config('max_parallel_maintenance_workers', '0', true);
	PERFORM set_config('maintenance_work_mem', '1MB', true);
	EXECUTE 'CREATE ' || how || ' INDEX i ON rows USING betree ' || what;
	pages_alike := pages_alike AND serial = digest('i');
	DROP INDEX i;
END $$;

SELECT * FROM build('(u)');
SELECT * FROM build('(u)', 'UNIQUE');
SELECT * FROM build('(n)');
SELECT * FROM build('(n DESC NULLS LAST, t COLLATE "C", d) INCLUDE (id)');
SELECT * FROM build('(n, id) INCLUDE (u)', 'UNIQUE');
SELECT * FROM build('(d, t) WITH (fillfactor = 50, bloom = on)');
SELECT * FROM build('(t) WHERE n > 50');
SELECT * FROM build('((id % 100), (t || ''x''))');
SELECT * FROM build('((id::text))', 'UNIQUE');
SELECT * FROM build('(u) WHERE id < 0');

-- An error in a worker, which shows that there is one
CREATE FUNCTION fails_in_worker(int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF EXISTS (SELECT FROM pg_stat_activity WHERE pid = pg_backend_pid() AND backend_type = 'parallel worker') THEN
		RAISE EXCEPTION 'a worker fails' USING ERRCODE = 'data_exception';
	END IF;
	-- its error, however late it starts, ends this
	IF current_setting('test.wait', true) = 'on' THEN
		PERFORM pg_sleep(180);
	END IF;
	RETURN $1;
END $$;
SET max_parallel_maintenance_workers = 2;
SET maintenance_work_mem = '64MB';
SET test.wait = on;
CREATE INDEX failed ON rows USING betree (fails_in_worker(id));
CREATE UNIQUE INDEX failed ON rows USING betree (fails_in_worker(id));
RESET test.wait;
SELECT count(*) FROM pg_class WHERE relname = 'failed';

-- none for functions that must not run in one, nor for temporary tables, nor
-- where there is too little memory
ALTER FUNCTION fails_in_worker PARALLEL RESTRICTED;
CREATE INDEX alone ON rows USING betree (fails_in_worker(id));
SELECT betree_index_check('alone', true);
DROP INDEX alone;
ALTER FUNCTION fails_in_worker PARALLEL SAFE;
CREATE TEMPORARY TABLE own (id int) WITH (parallel_workers = 3);
INSERT INTO own SELECT generate_series(1, 2000);
CREATE INDEX own_id ON own USING betree (fails_in_worker(id));
SELECT betree_index_check('own_id', true);
DROP TABLE own;
ALTER TABLE rows RESET (parallel_workers);
SET min_parallel_table_scan_size = 0;
SET maintenance_work_mem = '32MB';
CREATE INDEX alone ON rows USING betree (fails_in_worker(id));
DROP INDEX alone;
SET maintenance_work_mem = '64MB';
SET test.wait = on;
CREATE INDEX failed ON rows USING betree (fails_in_worker(id));
RESET test.wait;
RESET min_parallel_table_scan_size;
ALTER TABLE rows SET (parallel_workers = 3);

-- unlogged, empty
CREATE UNLOGGED TABLE unlogged WITH (parallel_workers = 3) AS SELECT * FROM rows;
CREATE UNIQUE INDEX unlogged_u ON unlogged USING betree (u);
SELECT betree_index_check('unlogged_u', true);
TRUNCATE unlogged;
SELECT betree_index_check('unlogged_u', true);
REINDEX INDEX unlogged_u;
SELECT betree_index_check('unlogged_u', true);
DROP TABLE unlogged;

-- duplicates: which one is named may differ, that there is one may not
DO $$
BEGIN
	CREATE UNIQUE INDEX twice ON rows USING betree (d);
EXCEPTION WHEN unique_violation THEN
	RAISE INFO '%', SQLERRM;
END $$;
INSERT INTO rows (id) VALUES (0), (0);
CREATE UNIQUE INDEX nulls_u ON rows USING betree (u);
SELECT betree_index_check('nulls_u', true);
CREATE UNIQUE INDEX nulls_not ON rows USING betree (u) NULLS NOT DISTINCT;
DELETE FROM rows WHERE id = 0;
-- deleted rows are duplicates for nobody
BEGIN;
CREATE UNIQUE INDEX nulls_not ON rows USING betree (u) NULLS NOT DISTINCT;
SELECT betree_index_check('nulls_not', true);
COMMIT;

-- concurrently, and again
CREATE UNIQUE INDEX CONCURRENTLY c ON rows USING betree (u, id);
SELECT betree_index_check('c', true);
REINDEX INDEX CONCURRENTLY c;
SELECT betree_index_check('c', true);
REINDEX TABLE CONCURRENTLY rows;
SELECT betree_index_check('c', true), betree_index_check('nulls_u', true);
SET test.wait = on;
CREATE INDEX CONCURRENTLY failed ON rows USING betree (fails_in_worker(id));
RESET test.wait;
SELECT indisvalid FROM pg_index WHERE indexrelid = 'failed'::regclass;
DROP INDEX failed;

-- a CREATE INDEX in a transaction that is undone, and a serializable one
BEGIN ISOLATION LEVEL SERIALIZABLE;
CREATE INDEX undone ON rows USING betree (n);
SAVEPOINT s;
CREATE INDEX undone2 ON rows USING betree (t);
ROLLBACK TO s;
SELECT betree_index_check('undone', true);
ROLLBACK;

DROP TABLE rows;
DROP FUNCTION digest, build, fails_in_worker;
