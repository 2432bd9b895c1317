--
-- Parallel builds: an index is the same, page by page, for any number of
-- workers, either policy and any in-buff.
--
-- the row that a process finds first is not always the same
\set SHOW_CONTEXT never
SET max_parallel_maintenance_workers = 0;

-- 6,000 vectors of 32 bytes around a few dozen centres; every tenth row is
-- updated, so that rows come in another order than their TIDs
CREATE TABLE rows (id int, v bytea, n int DEFAULT 0)
	WITH (parallel_workers = 3, fillfactor = 80, autovacuum_enabled = off);
INSERT INTO rows
	SELECT i, string_agg(decode(lpad(to_hex((abs(hashint4(i / 100 * 32 + d)) % 200)
			+ abs(hashint4(i * 32 + d)) % 40), 2, '0'), 'hex'), '' ORDER BY d)
	FROM generate_series(1, 6000) i, generate_series(0, 31) d GROUP BY i ORDER BY i;
INSERT INTO rows SELECT i, NULL FROM generate_series(1, 50) i;
UPDATE rows SET n = 1 WHERE id % 10 = 0;

-- All that is on the pages of an index but their LSNs, their checksums, and
-- the metapage, which has the times of the build.
CREATE FUNCTION digest(index regclass) RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(substr(bytes, block * 8192 + 11, 8182), '' ORDER BY block))
	FROM (SELECT pg_read_binary_file(pg_relation_filepath(index)) AS bytes) f,
		generate_series(1, length(bytes) / 8192 - 1) block
$$;

-- Build an index with these settings; was it the first of its kind, or the
-- same as that?
CREATE TABLE built (kind text PRIMARY KEY, digest text);
CREATE FUNCTION build(kind text, what text, workers int, policy text DEFAULT 'chunkfiles',
	in_buff text DEFAULT '64kB', OUT workers_used int, OUT several_rounds boolean,
	OUT same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	new text;
BEGIN
	PERFORM set_config('max_parallel_maintenance_workers', workers::text, true);
	PERFORM set_config('ecp.build_policy', policy, true);
	PERFORM set_config('ecp.in_buff', in_buff, true);
	EXECUTE 'CREATE INDEX i ON rows USING ecp (' || what || ')';
	SELECT r.workers, r.rounds > r.workers + 1 INTO workers_used, several_rounds
	FROM ecp_build_report('i') r WHERE phase = 'total';
	PERFORM ecp_index_check('i', true);
	new := digest('i');
	INSERT INTO built VALUES (kind, new) ON CONFLICT DO NOTHING;
	SELECT b.digest = new INTO same FROM built b WHERE b.kind = build.kind;
	DROP INDEX i;
END $$;

SELECT * FROM build('bytes', 'v', 0);
SELECT * FROM build('bytes', 'v', 1);
SELECT * FROM build('bytes', 'v', 2);
SELECT * FROM build('bytes', 'v', 3);
SELECT * FROM build('bytes', 'v', 0, 'tempfiles');
SELECT * FROM build('bytes', 'v', 1, 'tempfiles');
SELECT * FROM build('bytes', 'v', 3, 'tempfiles');
SELECT * FROM build('bytes', 'v', 0, 'chunkfiles', '128MB');
SELECT * FROM build('bytes', 'v', 2, 'chunkfiles', '128MB');

-- reading ahead changes nothing
SET maintenance_io_concurrency = 0;
SELECT * FROM build('bytes', 'v', 0);
SET maintenance_io_concurrency = 100;
SELECT * FROM build('bytes', 'v', 0);
SELECT * FROM build('bytes', 'v', 2);
RESET maintenance_io_concurrency;

-- key columns
SELECT * FROM build('keys', 'v, n', 0);
SELECT * FROM build('keys', 'v, n', 2);

-- two ranges of leaders
\set ranges '(v || v || v || v || v || v)) WITH (cluster_size = 9'
SELECT * FROM build('ranges', :'ranges', 0);
SELECT * FROM build('ranges', :'ranges', 2);
SELECT * FROM build('ranges', :'ranges', 2, 'tempfiles');
SELECT * FROM build('ranges', :'ranges', 2, 'chunkfiles', '128MB');

-- clusters that are cut, one so large that it is cut in pieces
UPDATE rows SET v = decode(repeat('07', 32), 'hex') WHERE id <= 3000;
SET maintenance_work_mem = '1MB';
SELECT * FROM build('equal', 'v', 0);
SELECT * FROM build('equal', 'v', 2);
SELECT * FROM build('equal', 'v', 2, 'tempfiles');
RESET maintenance_work_mem;
UPDATE rows SET v = substr(v, 1, 28) || decode(lpad(to_hex(id), 8, '0'), 'hex') WHERE id <= 3000;

-- floats, whose sums depend on the order of additions; two levels; random
CREATE FUNCTION reals(b bytea) RETURNS real[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
	$$ SELECT array_agg(get_byte(b, d) / 16.0::real ORDER BY d)
	   FROM generate_series(0, length(b) - 1) d $$;
SELECT * FROM build('floats', 'reals(v) real_cosine_ops', 0);
SELECT * FROM build('floats', 'reals(v) real_cosine_ops', 1);
SELECT * FROM build('floats', 'reals(v) real_cosine_ops', 3, 'tempfiles');
SELECT * FROM build('copies', 'reals(v || v || v)) WITH (cluster_size = 1', 0);
SELECT * FROM build('copies', 'reals(v || v || v)) WITH (cluster_size = 1', 2);
CREATE FUNCTION with_options(kind text, options text, workers int) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	new text;
BEGIN
	PERFORM set_config('max_parallel_maintenance_workers', workers::text, true);
	EXECUTE 'CREATE INDEX i ON rows USING ecp (v) WITH (' || options || ')';
	new := digest('i');
	INSERT INTO built VALUES (kind, new) ON CONFLICT DO NOTHING;
	DROP INDEX i;
	RETURN new = (SELECT b.digest FROM built b WHERE b.kind = with_options.kind);
END $$;
SELECT with_options('small', 'cluster_size = 1, levels = 3', w) FROM generate_series(0, 2) w;
SELECT with_options('random', 'leaders = random, levels = 2', w) FROM generate_series(0, 2) w;

-- an expression that is not safe in a worker; a partial index
CREATE FUNCTION unsafe(b bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN b; END';
SELECT * FROM build('unsafe', 'unsafe(v)', 2);
SET max_parallel_maintenance_workers = 2;
CREATE INDEX part ON rows USING ecp (v) WHERE id % 2 = 0;
SELECT ecp_index_check('part', true);
SELECT workers FROM ecp_build_report('part') WHERE phase = 'total';
DROP INDEX part;

-- concurrently: a snapshot; an error in a worker; nothing to index
CREATE INDEX CONCURRENTLY con ON rows USING ecp (v);
SELECT ecp_index_check('con', true);
SELECT workers FROM ecp_build_report('con') WHERE phase = 'total';
SELECT measured IS NOT NULL AS curve FROM ecp_index_drift('con');
REINDEX INDEX CONCURRENTLY con;
SELECT ecp_index_check('con', true);
DROP INDEX con;
CREATE INDEX wrong ON rows USING ecp (v) WITH (dims = 31);
UPDATE rows SET v = NULL;
CREATE INDEX nothing ON rows USING ecp (v);
SELECT ecp_index_check('nothing', true);
SELECT workers FROM ecp_build_report('nothing') WHERE phase = 'total';

DROP TABLE rows, built;
DROP FUNCTION digest, build, with_options, reals, unsafe;
