--
-- The build policies: TempFiles and ChunkFiles make the same clusters,
-- member by member, whatever the number of rounds, and write the files that
-- they say they do.
--

\getenv src PG_ABS_SRCDIR
\set clusters :src '/test/clusters.sql'
\i :clusters

-- 6,000 vectors of 32 bytes around a few dozen centres
CREATE TABLE rows AS SELECT * FROM pg_temp.vecs(6000, 32, 100, 0.2);

-- Do two indexes have the same clusters?
CREATE FUNCTION differences(a regclass, b regclass) RETURNS bigint
LANGUAGE sql AS $$
	WITH x AS (SELECT cluster, array_agg(tid ORDER BY tid) AS members
			   FROM pg_temp.cluster_rows(a) GROUP BY cluster),
		 y AS (SELECT cluster, array_agg(tid ORDER BY tid) AS members
			   FROM pg_temp.cluster_rows(b) GROUP BY cluster)
	SELECT count(*) FROM x FULL JOIN y USING (cluster)
	WHERE x.members IS DISTINCT FROM y.members
$$;

-- one in-buff holds everything: ChunkFiles keeps it, TempFiles writes anyway
CREATE INDEX in_memory ON rows USING ecp (v);
SET ecp.build_policy = tempfiles;
CREATE INDEX tempfiles1 ON rows USING ecp (v);
SELECT policy, why, rounds, files FROM ecp_build_report('in_memory') WHERE phase = 'total';
SELECT policy, why, rounds, files > 40 AS files, files = opens / 2 AS opens
FROM ecp_build_report('tempfiles1') WHERE phase = 'total';
SELECT differences('in_memory', 'tempfiles1');

-- several rounds: an in-buff of 64 kB holds 1,424 rows of 46 bytes
SET ecp.in_buff = '64kB';
CREATE INDEX tempfiles5 ON rows USING ecp (v);
SET ecp.build_policy = chunkfiles;
CREATE INDEX chunkfiles5 ON rows USING ecp (v);
SELECT policy, rounds, in_buff, files > 40 AS files, opens > 2 * files AS opens
FROM ecp_build_report('tempfiles5') WHERE phase = 'total';
SELECT policy, why, rounds, in_buff, files, opens
FROM ecp_build_report('chunkfiles5') WHERE phase = 'total';
SELECT differences('in_memory', 'tempfiles5'), differences('in_memory', 'chunkfiles5');

-- every row is written once and read once, with a header of ten bytes; chunks
-- have small directories, besides
SELECT i,
	round(max(written_bytes) FILTER (WHERE phase = 'assignment') / (6000 * 42.0), 2) AS written,
	max(read_bytes) FILTER (WHERE phase = 'merging') / (6000 * 42.0) AS read
FROM unnest(ARRAY['tempfiles5', 'chunkfiles5']) i, ecp_build_report(i::regclass)
GROUP BY i ORDER BY i;

-- enough chunks that some are merged before the others
SET maintenance_work_mem = '1MB';
SET ecp.in_buff = '64kB';
CREATE TABLE many AS SELECT * FROM rows, generate_series(1, 10);
CREATE INDEX chunkfiles43 ON many USING ecp (v);
SELECT rounds, files > rounds AS premerged FROM ecp_build_report('chunkfiles43')
WHERE phase = 'total';
SET ecp.build_policy = tempfiles;
CREATE INDEX tempfiles43 ON many USING ecp (v);
SELECT differences('tempfiles43', 'chunkfiles43');

-- random leaders, floats under cosine
RESET maintenance_work_mem;
CREATE TABLE reals AS
	SELECT id, ARRAY[get_byte(v, 0), get_byte(v, 1), get_byte(v, 2), 1]::real[] AS r
	FROM rows;
CREATE INDEX tempfiles_r ON reals USING ecp (r real_cosine_ops)
	WITH (leaders = random, levels = 2);
SET ecp.build_policy = chunkfiles;
CREATE INDEX chunkfiles_r ON reals USING ecp (r real_cosine_ops)
	WITH (leaders = random, levels = 2);
SELECT differences('tempfiles_r', 'chunkfiles_r');

-- tablespaces for the files: by name, with the right to create in them
SET ecp.build_tablespaces = 'pg_default, pg_default';
REINDEX INDEX chunkfiles5;
SELECT rounds, files FROM ecp_build_report('chunkfiles5') WHERE phase = 'total';
SELECT differences('in_memory', 'chunkfiles5');
-- checked when they are set
SET ecp.build_tablespaces = 'pg_global';
\echo :LAST_ERROR_SQLSTATE
SET ecp.build_tablespaces = 'pg_default, no_such_tablespace';
\echo :LAST_ERROR_SQLSTATE
SET ecp.build_tablespaces = 'a,,b';
\echo :LAST_ERROR_SQLSTATE
SET ecp.build_tablespaces = 'a,b,c,d,e,f,g,h,i';
SHOW ecp.build_tablespaces;
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE policies_space LOCATION '';
CREATE ROLE policies_user;
SET ROLE policies_user;
SET ecp.build_tablespaces = 'policies_space';
\echo :LAST_ERROR_SQLSTATE
SET ecp.build_tablespaces = 'pg_default';
RESET ROLE;
GRANT CREATE ON TABLESPACE policies_space TO policies_user;
SET ROLE policies_user;
SET ecp.build_tablespaces = 'policies_space';
RESET ROLE;
-- but not strictly for others, whose tablespaces may be created later
ALTER ROLE policies_user SET ecp.build_tablespaces = 'no_such_tablespace';
ALTER ROLE policies_user SET ecp.build_tablespaces = 'a,,b';
ALTER ROLE policies_user RESET ALL;
-- a tablespace that has been dropped since
SET ecp.build_tablespaces = 'policies_space';
REINDEX INDEX chunkfiles5;
DROP TABLESPACE policies_space;
REINDEX INDEX chunkfiles5;
DROP ROLE policies_user;
RESET ecp.build_tablespaces;

-- temp_file_limit counts files that are opened again, too
SET temp_file_limit = '100kB';
REINDEX INDEX chunkfiles5;
SET ecp.build_policy = tempfiles;
REINDEX INDEX tempfiles5;
RESET temp_file_limit;
RESET ecp.build_policy;
RESET ecp.in_buff;

SELECT ecp_index_check(i::regclass, true)
FROM unnest(ARRAY['in_memory', 'tempfiles1', 'tempfiles5', 'chunkfiles5',
	'tempfiles43', 'chunkfiles43', 'tempfiles_r', 'chunkfiles_r']) i;

DROP TABLE rows, many, reals;
DROP FUNCTION differences;

-- set before the library is loaded: a warning
\c -
SET ecp.build_tablespaces = 'no_such_tablespace';
LOAD 'ecp';
SHOW ecp.build_tablespaces;
