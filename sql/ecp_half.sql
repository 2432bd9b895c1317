--
-- The storage parameter "vectors": floats of 16 bits in the index.
--
\set SHOW_CONTEXT never

-- elements between -1 and 1 that no half holds exactly
CREATE FUNCTION pg_temp.half_vector(i int, dims int) RETURNS real[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(sin(i % 37 * 1.7 * j + j)::real + (sin(i * 0.618 * j + j * j) / 3)::real
					 ORDER BY j) FROM generate_series(1, dims) j
$$;
CREATE TABLE half_t AS
SELECT i AS id, i % 5 AS tenant, v, v::float8[] AS d
FROM generate_series(1, 2000) i, LATERAL (SELECT pg_temp.half_vector(i, 101)) s(v);

-- what the rule is, and what it says of the types of bytes and bits
CREATE TABLE half_types (r real[], d double precision[], b bytea, f bit(8));
CREATE INDEX half_r ON half_types USING ecp (r) WITH (vectors = half);
CREATE INDEX half_d ON half_types USING ecp (d) WITH (vectors = half);
CREATE INDEX half_auto ON half_types USING ecp (r) WITH (vectors = auto);
CREATE INDEX half_none ON half_types USING ecp (r);
SELECT i, element, vectors FROM unnest('{half_r,half_d,half_auto,half_none}'::text[]) i,
	ecp_metapage_info(i::regclass);
CREATE INDEX ON half_types USING ecp (b) WITH (vectors = half);
CREATE INDEX ON half_types USING ecp (f) WITH (vectors = half);
CREATE INDEX ON half_types USING ecp (r) WITH (vectors = quarter);

-- an element that no half holds: when it is inserted, when the index is built
INSERT INTO half_types (r) VALUES ('{65504,-65504,0.1}');
INSERT INTO half_types (r) VALUES ('{1,-65504.01,2}');
INSERT INTO half_types (d) VALUES ('{1,2,1e30}');
DROP INDEX half_r, half_d;
INSERT INTO half_types (r) VALUES ('{1,2,65520}');
CREATE INDEX ON half_types USING ecp (r) WITH (vectors = half);
CREATE INDEX ON half_types USING ecp (r real_ip_ops) WITH (vectors = half);
-- by cosine the length does not matter: what is large or small is scaled
TRUNCATE half_types;
INSERT INTO half_types (r) SELECT ARRAY(SELECT e * 1e30 FROM unnest(v) e)::real[] FROM half_t WHERE id <= 500
	UNION ALL SELECT ARRAY(SELECT e * 1e-30 FROM unnest(v) e)::real[] FROM half_t WHERE id > 500 AND id <= 1000;
CREATE INDEX half_scaled ON half_types USING ecp (r real_cosine_ops) WITH (vectors = half);
INSERT INTO half_types (r) SELECT ARRAY(SELECT e * 1e-20 FROM unnest(v) e)::real[] FROM half_t WHERE id > 1000 AND id <= 1500;
SELECT ecp_index_check('half_scaled', true);
SELECT recall > 0.99 AS recall FROM ecp_recall('half_scaled', 10, '{1000}', 50);
DROP TABLE half_types;

/*
 * An index on all kinds of columns and with all metrics: half of the size, checked,
 * and the ten nearest rows of 50 with all clusters.  Rows are inserted, deleted,
 * and moved by VACUUM.
 */
CREATE FUNCTION half_try(col text, opclass text, options text,
	OUT size numeric, OUT nearest numeric, OUT later numeric, OUT checked boolean)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE INDEX half_full ON half_t USING ecp (%s, tenant) WITH (vectors = full%s)',
				   col || ' ' || opclass, options);
	EXECUTE format('CREATE INDEX half_i ON half_t USING ecp (%s, tenant) WITH (vectors = half%s)',
				   col || ' ' || opclass, options);
	size := round(pg_relation_size('half_i')::numeric / pg_relation_size('half_full'), 1);
	DROP INDEX half_full;
	SELECT r.recall INTO nearest FROM ecp_recall('half_i', 10, '{1000}', 50) r;
	INSERT INTO half_t SELECT i, i % 5, s.v, s.v::float8[] FROM generate_series(2001, 2600) i,
		LATERAL (SELECT pg_temp.half_vector(i, 101)) s(v);
	DELETE FROM half_t WHERE id > 2000 AND id % 3 = 0;
	PERFORM ecp_maintain('half_i');
	SELECT r.recall INTO later FROM ecp_recall('half_i', 10, '{1000}', 50) r;
	nearest := trunc(nearest, 2);
	later := trunc(later, 2);
	checked := ecp_index_check('half_i', true) IS NOT NULL;
	DELETE FROM half_t WHERE id > 2000;
	DROP INDEX half_i;
END
$$;
SELECT c.*, t.* FROM (VALUES ('v', 'real_l2_ops', ', quantizer = none'), ('v', 'real_ip_ops', ''),
		('v', 'real_cosine_ops', ', buffer_rows = 20'), ('d', 'double_l2_ops', ''),
		('d', 'double_ip_ops', ', quantizer = none'), ('d', 'double_cosine_ops', ', quantizer = none')) c(col, opclass, options),
	LATERAL half_try(col, opclass, options) t;

-- the order is that of the rounded vectors, and nearly that of the table
CREATE INDEX half_i ON half_t USING ecp (v, tenant) WITH (vectors = half);
VACUUM ANALYZE half_t;
SET enable_seqscan = off;
CREATE FUNCTION half_order(OUT rows bigint, OUT near boolean) LANGUAGE sql AS $$
	WITH s AS (SELECT row_number() OVER () AS n, d FROM
		(SELECT v <-> (SELECT v FROM half_t WHERE id = 77) AS d FROM half_t
		 ORDER BY v <-> (SELECT v FROM half_t WHERE id = 77) LIMIT 200) x),
	p AS (SELECT n, d, max(d) OVER (ORDER BY n) AS before FROM s)
	SELECT count(*), bool_and(before - d < 0.01) FROM p
$$;
SELECT * FROM half_order();

-- a radius loses no row, however near to it one is
SET ecp.probes = 1000;
SET ecp.approximate_radius = on;
CREATE FUNCTION half_radius(op text, OUT rows bigint, OUT lost bigint) LANGUAGE plpgsql AS $$
DECLARE
	q real[] := (SELECT v FROM half_t WHERE id = 77);
	r record;
	n bigint;
BEGIN
	rows := 0;
	lost := 0;
	FOR r IN EXECUTE format('SELECT d, count(*) OVER (ORDER BY d) AS n
		FROM (SELECT v %s $1 AS d FROM half_t OFFSET 0) s', op) USING q LOOP
		CONTINUE WHEN r.n % 50 <> 1;
		EXECUTE format('SELECT count(*) FROM half_t WHERE v %s $1 <= $2', op) USING q, r.d INTO n;
		rows := rows + r.n;
		lost := lost + r.n - n;
	END LOOP;
END
$$;
CREATE INDEX half_ip ON half_t USING ecp (v real_ip_ops) WITH (vectors = half);
CREATE INDEX half_cosine ON half_t USING ecp (v real_cosine_ops) WITH (vectors = half);
SELECT * FROM half_radius('<->');
SELECT * FROM half_radius('<#>');
SELECT * FROM half_radius('<=>');
RESET ecp.approximate_radius;

-- an index-only scan returns no rounded vector, and no distance of one
CREATE INDEX half_inc ON half_t USING ecp (v) INCLUDE (id) WITH (vectors = half);
CREATE INDEX half_inc_full ON half_t USING ecp (v) INCLUDE (id) WITH (vectors = full);
SELECT pg_index_column_has_property('half_inc', 1, 'returnable') AS half,
	pg_index_column_has_property('half_inc_full', 1, 'returnable') AS "full",
	pg_index_column_has_property('half_inc', 2, 'returnable') AS included;
-- until it is rebuilt, an index is what it was built as
ALTER INDEX half_inc_full SET (vectors = half);
ALTER INDEX half_inc SET (vectors = full);
SELECT pg_index_column_has_property('half_inc', 1, 'returnable') AS half,
	pg_index_column_has_property('half_inc_full', 1, 'returnable') AS "full";
SELECT element, vectors FROM ecp_metapage_info('half_inc');
REINDEX INDEX half_inc;
SELECT element, vectors FROM ecp_metapage_info('half_inc');
SELECT pg_get_indexdef('half_i'::regclass);

-- a batch returns the distances of the table, by scans and without
CREATE INDEX half_plain ON half_t USING ecp (v real_cosine_ops) WITH (vectors = half, quantizer = none);
SELECT count(*), bool_and(b.distance = t.v <-> q.v) AS distances, bool_and(b.distance >= b.before) AS ordered
FROM (SELECT *, coalesce(lag(distance) OVER (PARTITION BY query ORDER BY rank), -1) AS before
	FROM ecp_knn_batch('half_i', (SELECT 'SELECT id, v FROM half_t WHERE id % 100 = 0'), 20)) b
	JOIN half_t t ON t.ctid = b.tid JOIN half_t q ON q.id = b.query;
SELECT count(*), bool_and(b.distance = t.v <=> q.v) AS distances, bool_and(b.distance >= b.before) AS ordered
FROM (SELECT *, coalesce(lag(distance) OVER (PARTITION BY query ORDER BY rank), -1) AS before
	FROM ecp_knn_batch('half_plain', (SELECT 'SELECT id, v FROM half_t WHERE id % 100 = 0'), 20)) b
	JOIN half_t t ON t.ctid = b.tid JOIN half_t q ON q.id = b.query;
RESET ecp.probes;
SELECT rows, misassigned < 0.5 AS assigned FROM ecp_index_drift('half_i');

-- vectors that are stored out of line
CREATE TABLE half_long (id int, v real[]);
ALTER TABLE half_long ALTER v SET STORAGE EXTERNAL;
INSERT INTO half_long SELECT i, pg_temp.half_vector(i, 1537) FROM generate_series(1, 400) i;
CREATE INDEX half_long_i ON half_long USING ecp (v real_cosine_ops) WITH (vectors = half);
INSERT INTO half_long SELECT i, pg_temp.half_vector(i, 1537) FROM generate_series(401, 500) i;
UPDATE half_long SET v = pg_temp.half_vector(id + 1000, 1537) WHERE id % 10 = 0;
SELECT ecp_index_check('half_long_i', true);
SELECT trunc(recall::numeric, 2) AS recall FROM ecp_recall('half_long_i', 10, '{100}', 50);
DROP TABLE half_t, half_long;
DROP FUNCTION half_try, half_order, half_radius;
