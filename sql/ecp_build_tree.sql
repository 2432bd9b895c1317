--
-- More leaders than rows are compared with one by one: rows descend the tree of
-- leaders, many together.
--
SET client_min_messages = warning;

-- groups of eight rows that differ in an eighth of their elements
CREATE TABLE many (id int, v bytea) WITH (parallel_workers = 2, autovacuum_enabled = off);
INSERT INTO many
	SELECT i, decode(string_agg(md5(d || 'of' || i / 8), '' ORDER BY d) || md5(i::text), 'hex')
	FROM generate_series(0, 84999) i, generate_series(1, 7) d GROUP BY i ORDER BY i;

-- clusters of at most 16 rows; a row that looks into one node of each level gets
-- the wrong leader more often
CREATE FUNCTION build(options text, workers int, OUT leaders_are_many boolean,
	OUT levels int, OUT well_assigned boolean, OUT workers_used int, OUT clusters text)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('max_parallel_maintenance_workers', workers::text, true);
	EXECUTE 'CREATE INDEX many_v ON many USING ecp (v) WITH (cluster_size = 1, '
		|| options || ')';
	PERFORM ecp_index_check('many_v', true);
	SELECT d.clusters > 10000, d.levels, ecp_misassigned('many_v', 30000) < 0.38
	INTO leaders_are_many, levels, well_assigned
	FROM ecp_index_drift('many_v') d;
	SELECT r.workers INTO workers_used FROM ecp_build_report('many_v') r WHERE phase = 'total';
	SELECT md5(string_agg(pg_read_binary_file(pg_relation_filepath('many_v'), block * 8192 + 10, 8182), '' ORDER BY block))
	INTO clusters
	FROM generate_series(1, pg_relation_size('many_v') / 8192 - 1) block;
	DROP INDEX many_v;
END $$;

CREATE TEMP TABLE built AS
	SELECT o.options, w AS workers, b.*
	FROM (VALUES ('leaders = random'), ('leaders = random, levels = 3')) o(options),
		generate_series(0, 1) w, build(o.options, w) b;
SELECT options, workers_used, leaders_are_many, levels, well_assigned FROM built
ORDER BY options, workers;

-- the same index for any number of workers
SELECT options, count(DISTINCT clusters) FROM built GROUP BY options ORDER BY options;

DROP TABLE many;
DROP FUNCTION build;
