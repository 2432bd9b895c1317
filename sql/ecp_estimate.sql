--
-- The planner's estimate of the rows within a radius: for radii that few and many
-- rows are within, it is at most ten times too high or too low.  200 rows more, of 8,000,
-- are no fault: vectors that are all as far from the query have thinner tails than any
-- distribution that is assumed.
--
\getenv src PG_ABS_SRCDIR
\set vectors :src '/test/vectors.sql'
\i :vectors
CREATE TABLE estimate_t AS
SELECT i AS id, i % 10 AS tenant, v, v::float8[] AS d, decode(md5(i::text), 'hex') AS b,
	('x' || md5(i::text))::bit(96) AS bits
FROM generate_series(1, 8000) i, pg_temp.spread_vector(i, 8) v;
CREATE TABLE estimate_wide AS
SELECT i AS id, array_agg(((hashint4(i * 200 + j) % 1000) / 100.0 + i % 40)::real ORDER BY j) AS v
FROM generate_series(1, 2600) i, generate_series(1, 200) j GROUP BY i;
CREATE INDEX estimate_v ON estimate_t USING ecp (v);
CREATE INDEX estimate_ip ON estimate_t USING ecp (v real_ip_ops, tenant);
CREATE INDEX estimate_cosine ON estimate_t USING ecp (v real_cosine_ops);
CREATE INDEX estimate_d ON estimate_t USING ecp (d) WITH (levels = 2);
CREATE INDEX estimate_b ON estimate_t USING ecp (b) WITH (levels = 3);
CREATE INDEX estimate_bits ON estimate_t USING ecp (bits);
CREATE INDEX estimate_w ON estimate_wide USING ecp (v);
ANALYZE estimate_t, estimate_wide;

CREATE FUNCTION estimate(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan->0->'Plan'->'Plan Rows';
END
$$;

/*
 * For queries that are rows of the table, and one that is not near any: the radii
 * within which n rows are, and how many estimates are wrong.
 */
CREATE FUNCTION estimate_check(tab text, col text, op text, far text,
	OUT checked int, OUT wrong text[])
LANGUAGE plpgsql AS $$
DECLARE
	query text;
	radius float8;
	rows float8;
	n int;
BEGIN
	checked := 0;
	FOR query IN EXECUTE format('SELECT %I::text FROM %I WHERE id IN (1, 700, 1900) UNION ALL SELECT %L', col, tab, far) LOOP
		FOREACH n IN ARRAY '{5,50,500,2500}'::int[] LOOP
			EXECUTE format('SELECT %1$I %2$s %3$L FROM %4$I ORDER BY 1 OFFSET %5$s LIMIT 1', col, op, query, tab, n) INTO radius;
			EXECUTE format('SELECT count(*) FROM %4$I WHERE %1$I %2$s %3$L <= %5$L', col, op, query, tab, radius) INTO n;
			rows := estimate(format('SELECT * FROM %4$I WHERE %1$I %2$s %3$L <= %5$L', col, op, query, tab, radius));
			checked := checked + 1;
			IF rows > 10 * n + 200 OR rows < n / 10 THEN
				wrong := wrong || format('%s for %s', rows, n);
			END IF;
		END LOOP;
	END LOOP;
END
$$;
SET enable_indexscan = off;
SELECT c.col, c.op, e.* FROM (VALUES
	('estimate_t', 'v', '<->', '{90,-90,9,9,9,9,9,9}'), ('estimate_t', 'v', '<#>', '{90,-90,9,9,9,9,9,9}'),
	('estimate_t', 'v', '<=>', '{90,-90,9,9,9,9,9,9}'), ('estimate_t', 'd', '<->', '{90,-90,9,9,9,9,9,9}'),
	('estimate_t', 'b', '<->', '\x000000000000000000000000000000ff'),
	('estimate_t', 'bits', '<->', repeat('10', 48)),
	('estimate_wide', 'v', '<->', array_fill(-30, '{200}')::text)) c(tab, col, op, far),
	LATERAL estimate_check(c.tab, c.col, c.op, c.far) e;

-- all rows and none, whatever the number
SELECT estimate('SELECT * FROM estimate_t WHERE v <-> ''{1,1,1,1,1,1,1,1}'' < 1000') AS "all",
	estimate('SELECT * FROM estimate_t WHERE v <-> ''{1,1,1,1,1,1,1,1}'' < ''infinity''') AS infinity,
	estimate('SELECT * FROM estimate_t WHERE v <-> ''{1,1,1,1,1,1,1,1}'' < -1') AS none,
	estimate('SELECT * FROM estimate_t WHERE v <=> ''{1,1,1,1,1,1,1,1}'' < -1') AS none,
	estimate('SELECT * FROM estimate_t WHERE v <-> ''{1,1,1,1,1,1,1,1}'' < 1000 AND tenant = 3') BETWEEN 700 AND 900 AS tenth;

-- a third is taken if the query or the radius is not known, or if the index does
-- not have all rows, or the user must not know how many there are
SET plan_cache_mode = force_generic_plan;
PREPARE estimate_p(real[], float8) AS SELECT * FROM estimate_t WHERE v <-> $1 < $2;
SELECT estimate('EXECUTE estimate_p(''{1,1,1,1,1,1,1,1}'', -1)') AS unknown;
SET plan_cache_mode = force_custom_plan;
SELECT estimate('EXECUTE estimate_p(''{1,1,1,1,1,1,1,1}'', -1)') AS known;
SELECT estimate('EXECUTE estimate_p(''{1,1,1,1,1,1,1,1}'', ''NaN'')') AS nan,
	estimate('EXECUTE estimate_p(''{1,1}'', 1)') AS other_length,
	estimate('SELECT * FROM estimate_t WHERE v <=> ''{0,0,0,0,0,0,0,0}'' < 1') AS no_direction,
	estimate('SELECT * FROM estimate_t WHERE v <-> (SELECT ''{1,1,1,1,1,1,1,1}''::real[]) < -1') AS subquery;
CREATE ROLE estimate_reader;
GRANT SELECT ON estimate_t TO estimate_reader;
ALTER TABLE estimate_t ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON estimate_t USING (true);
SET ROLE estimate_reader;
SELECT estimate('SELECT * FROM estimate_t WHERE v <-> ''{1,1,1,1,1,1,1,1}'' < -1') > 1000 AS not_told;
RESET ROLE;
DROP INDEX estimate_w;
CREATE INDEX estimate_w ON estimate_wide USING ecp (v) WHERE id < 10;
SELECT estimate(format('SELECT * FROM estimate_wide WHERE id < 10 AND v <-> %L < -1', array_fill(1, '{200}'))) AS partial;

-- a partitioned table has the rows of its partitions; a join has fewer
CREATE TABLE estimate_p (LIKE estimate_t) PARTITION BY LIST (tenant);
CREATE TABLE estimate_p0 PARTITION OF estimate_p FOR VALUES IN (0, 1, 2, 3, 4);
CREATE TABLE estimate_p1 PARTITION OF estimate_p FOR VALUES IN (5, 6, 7, 8, 9);
INSERT INTO estimate_p TABLE estimate_t;
CREATE INDEX ON estimate_p USING ecp (v);
ANALYZE estimate_p;
SELECT estimate('SELECT * FROM estimate_p WHERE v <-> ''{1,1,1,1,1,1,1,1}'' < 1000') AS "all",
	estimate('SELECT * FROM estimate_p WHERE v <-> ''{1,1,1,1,1,1,1,1}'' < -1') AS none,
	estimate('SELECT * FROM estimate_p, estimate_wide w WHERE estimate_p.v <-> ''{1,1,1,1,1,1,1,1}'' < -1') <= 5200 AS joined;

-- a third, too, of an index that is empty, or has one cluster
CREATE TABLE estimate_small (v real[]);
CREATE INDEX ON estimate_small USING ecp (v);
SELECT estimate('SELECT * FROM estimate_small WHERE v <-> ''{1,1}'' < 1') > 1 AS unknown;
INSERT INTO estimate_small SELECT ARRAY[i, 0] FROM generate_series(1, 50) i;
ANALYZE estimate_small;
SELECT estimate('SELECT * FROM estimate_small WHERE v <-> ''{0,0}'' <= 20') AS third;

DROP TABLE estimate_t, estimate_wide, estimate_p, estimate_small;
DROP ROLE estimate_reader;
DROP FUNCTION estimate, estimate_check;
