--
-- ecp_forecast(): the rows for each type, tables with few rows or none, who may call it,
-- what it refuses, and that nothing of it is left.  Whether it is right: 035_ecp_forecast.
--
\getenv src PG_ABS_SRCDIR
\set vectors :src '/test/vectors.sql'
\i :vectors
CREATE TABLE forecast_t (id int, r real[], d double precision[], b bytea, bits bit(64), n int[]);
INSERT INTO forecast_t SELECT i, pg_temp.spread_vector(i, 8), pg_temp.spread_vector(i, 8),
	pg_temp.clustered_bytes(i, 8, 30), i::bit(64), ARRAY[i] FROM generate_series(1, 3000) i;
INSERT INTO forecast_t SELECT i FROM generate_series(3001, 4000) i;
CREATE VIEW left_over AS SELECT relname FROM pg_class WHERE relname ~ 'forecast' AND relname !~ '^forecast_';

-- a row for each value of "vectors" that the type allows; what is NULL is not counted
CREATE FUNCTION pg_temp.shown(col name, class text = NULL, options text[] = NULL, k int = 10)
RETURNS TABLE (vectors text, rows bigint, bytes bool, wal bool, memory bool, cpu_s bool, compared bool, ms bool)
LANGUAGE sql AS $$
	SELECT vectors, rows, bytes BETWEEN 8192 * 4 AND 8192 * 100, wal = bytes,
		memory BETWEEN 1 AND 67108864, cpu_s > 0,
		compared_90 BETWEEN k AND compared_95 AND compared_95 <= compared_99 AND compared_99 <= rows,
		ms_90 > 0 AND ms_99 > 0
	FROM ecp_forecast('forecast_t', col, class, options, k)
$$;
SELECT * FROM pg_temp.shown('r');
SELECT * FROM pg_temp.shown('d');
SELECT * FROM pg_temp.shown('b');
SELECT * FROM pg_temp.shown('bits');
SELECT * FROM pg_temp.shown('r', 'real_cosine_ops', '{cluster_size=16,seed=3}', 5);
SELECT vectors FROM pg_temp.shown('r', 'real_l1_ops');
ANALYZE forecast_t;
SELECT * FROM pg_temp.shown('r', 'public.real_ip_ops');
SELECT * FROM left_over;
SHOW ecp.target_recall;
SHOW client_min_messages;

-- the size of the index, of which all rows were in the sample
CREATE INDEX forecast_i ON forecast_t USING ecp (b);
SELECT bytes - pg_relation_size('forecast_i') AS difference FROM ecp_forecast('forecast_t', 'b');
DROP INDEX forecast_i;

-- few rows, none, and no WAL
CREATE UNLOGGED TABLE forecast_few (v real[]);
SELECT vectors, rows, wal, compared_95, ms_95 FROM ecp_forecast('forecast_few', 'v');
INSERT INTO forecast_few VALUES ('{1,2}'), ('{1,3}'), (NULL);
SELECT vectors, rows, wal, round(compared_95) AS compared_95 FROM ecp_forecast('forecast_few', 'v');
CREATE MATERIALIZED VIEW forecast_m AS SELECT b FROM forecast_t;
SELECT vectors, rows FROM ecp_forecast('forecast_m', 'b');
DROP MATERIALIZED VIEW forecast_m;

\set SHOW_CONTEXT never
-- who may read the column; and the rows that policies let through, of as many as there are
CREATE ROLE ecp_forecast_reader;
GRANT SELECT (b) ON forecast_t TO ecp_forecast_reader;
SET ROLE ecp_forecast_reader;
SELECT vectors, rows FROM ecp_forecast('forecast_t', 'b');
SELECT vectors, rows FROM ecp_forecast('forecast_t', 'r');
RESET ROLE;
ALTER TABLE forecast_t ENABLE ROW LEVEL SECURITY;
CREATE POLICY forecast_p ON forecast_t USING (id <= 2000);
GRANT SELECT (id) ON forecast_t TO ecp_forecast_reader;
SET ROLE ecp_forecast_reader;
SELECT vectors, rows FROM ecp_forecast('forecast_t', 'b');
RESET ROLE;
ALTER TABLE forecast_t DISABLE ROW LEVEL SECURITY;

-- refused
SELECT * FROM ecp_forecast('forecast_t', 'id');
SELECT * FROM ecp_forecast('forecast_t', 'n');
SELECT * FROM ecp_forecast('forecast_t', 'nothing');
SELECT * FROM ecp_forecast('forecast_t', NULL);
SELECT * FROM ecp_forecast('forecast_t', 'b', k => 0);
SELECT * FROM ecp_forecast('forecast_t', 'b', 'nothing');
SELECT * FROM ecp_forecast('left_over', 'relname');
CREATE TABLE forecast_parts (v real[]) PARTITION BY LIST (v);
SELECT * FROM ecp_forecast('forecast_parts', 'v');
DROP TABLE forecast_parts;
SELECT * FROM ecp_forecast('forecast_t', 'b', 'real_l2_ops');
SELECT * FROM ecp_forecast('forecast_t', 'b', options => '{lists=100}');
SELECT * FROM ecp_forecast('forecast_t', 'b', options => '{vectors=full}');
INSERT INTO forecast_few VALUES ('{1}');
SELECT * FROM ecp_forecast('forecast_few', 'v');
BEGIN READ ONLY;
SELECT * FROM ecp_forecast('forecast_t', 'b');
ROLLBACK;
SELECT * FROM left_over;

-- twice in a transaction, which goes on after an error in a subtransaction
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT vectors, rows FROM ecp_forecast('forecast_t', 'b');
SAVEPOINT before;
SELECT * FROM ecp_forecast('forecast_few', 'v');
ROLLBACK TO before;
DELETE FROM forecast_few;
SELECT vectors, rows FROM ecp_forecast('forecast_few', 'v') WHERE vectors = 'full';
COMMIT;

DROP VIEW left_over;
DROP TABLE forecast_t, forecast_few;
DROP ROLE ecp_forecast_reader;
