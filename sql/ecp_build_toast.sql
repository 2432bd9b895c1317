--
-- Builds of vectors that are out of line: workers by the size of what is read,
-- a sample that reads them late, and the same index with and without workers.
--
SET maintenance_work_mem = '256MB';
SET min_parallel_table_scan_size = '256kB';

-- a tenth of the vectors have no direction, some rows have none, and some
-- vectors are compressed, in line
CREATE TABLE wide (id int, v real[], doc text) WITH (autovacuum_enabled = off);
ALTER TABLE wide ALTER v SET STORAGE external, ALTER doc SET STORAGE external;
INSERT INTO wide SELECT i, array_agg(CASE WHEN i % 10 = 0 THEN 0 ELSE sin(i / 40 * d) + sin(i * d) / 4 END ORDER BY d),
	repeat(i::text, 2000)
	FROM generate_series(1, 400) i, generate_series(1, 600) d GROUP BY i ORDER BY i;
INSERT INTO wide (id) SELECT i FROM generate_series(1, 50) i;
ALTER TABLE wide ALTER v SET STORAGE extended;
INSERT INTO wide SELECT i, array_fill((i % 7 + 1)::real, '{600}') FROM generate_series(1001, 1060) i;
UPDATE wide SET id = id WHERE id % 9 = 0;
SELECT pg_relation_size('wide') < 256 * 1024 AS small, pg_relation_size(reltoastrelid) > 9 * 256 * 1024 AS large
FROM pg_class WHERE oid = 'wide'::regclass;

CREATE FUNCTION digest(index regclass) RETURNS text LANGUAGE sql AS $$
	SELECT md5(string_agg(substr(bytes, block * 8192 + 11, 8182), '' ORDER BY block))
	FROM (SELECT pg_read_binary_file(pg_relation_filepath(index)) AS bytes) f,
		generate_series(1, length(bytes) / 8192 - 1) block
$$;
CREATE FUNCTION build(workers int, how text DEFAULT '(v real_cosine_ops)',
	OUT workers_used int, OUT rows bigint, OUT digest text)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('max_parallel_maintenance_workers', workers::text, true);
	EXECUTE 'CREATE INDEX i ON wide USING ecp ' || how;
	SELECT r.workers INTO workers_used FROM ecp_build_report('i') r WHERE phase = 'total';
	PERFORM ecp_index_check('i', true);
	rows := (SELECT reltuples FROM pg_class WHERE oid = 'i'::regclass);
	digest := digest('i');
	DROP INDEX i;
END $$;

-- vectors are 960 kB, so there are two
SELECT workers, workers_used, rows, digest = first_value(digest) OVER (ORDER BY workers) AS same
FROM generate_series(0, 3) workers, build(workers);

-- a sample of fewer rows than there are
SELECT workers, workers_used, rows, digest = first_value(digest) OVER (ORDER BY workers) AS same
FROM (VALUES (0), (2)) w (workers), build(workers, '(v) WITH (cluster_size = 4, sample_factor = 2)');

-- a column that is not indexed does not count, nor does one in an expression
SELECT workers_used FROM build(2, '((v[1:8])) WITH (cluster_size = 4)');

-- what comes before the size
ALTER TABLE wide SET (parallel_workers = 1);
SELECT workers_used FROM build(2);
ALTER TABLE wide SET (parallel_workers = 0);
SELECT workers_used FROM build(2);
ALTER TABLE wide RESET (parallel_workers);
SET maintenance_work_mem = '64MB';
SELECT workers_used FROM build(2);
SET maintenance_work_mem = '32MB';
SELECT workers_used FROM build(2);
SET maintenance_work_mem = '256MB';
SET min_parallel_table_scan_size = '8MB';
SELECT workers_used FROM build(2);
SET min_parallel_table_scan_size = '256kB';
CREATE FUNCTION unsafe(id int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
SELECT workers_used FROM build(2, '(v) WHERE unsafe(id)');

-- no vector has a direction
UPDATE wide SET v = array_fill(0::real, '{600}');
SELECT workers_used, rows FROM build(2);

DROP TABLE wide;
DROP FUNCTION digest, build, unsafe;
