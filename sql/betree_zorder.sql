-- Points in Z-order: an index scan with <@ box, <@ circle or ~= returns what
-- the operators say, also for zeros of both signs, infinities and NaN, and
-- boxes that straddle zero and powers of two; beside a sequential scan.
CREATE TABLE zorder (id int, p point);
INSERT INTO zorder
	SELECT i, point((hashint8extended(i, 1) % 100000) / 1000.0,
					(hashint8extended(i, 2) % 100000) / 1000.0)
	FROM generate_series(1, 4000) i;
INSERT INTO zorder
	SELECT 30000 + row_number() OVER (), point(x, y)
	FROM unnest('{0,-0,1,-1,64,63.999999999999,2,1e-320,-1e-320,1e308,-1e308,Infinity,-Infinity,NaN}'::float8[]) x,
		 unnest('{0,-0,1,-1,64,1e308,Infinity,-Infinity,NaN,5e-7,-5e-7}'::float8[]) y;
-- on the borders of circles
INSERT INTO zorder
	SELECT 40000 + i, point(71.3 + 0.1 * cos(i * pi() / 180), 42 + 0.1 * sin(i * pi() / 180))
	FROM generate_series(0, 359) i;
INSERT INTO zorder SELECT 50000 + i, NULL FROM generate_series(1, 10) i;
CREATE INDEX zorder_p ON zorder USING betree (p);
INSERT INTO zorder
	SELECT i, point((hashint8extended(i, 1) % 100000) / 1000.0,
					(hashint8extended(i, 2) % 100000) / 1000.0)
	FROM generate_series(4001, 7000) i;
VACUUM ANALYZE zorder;

-- the seed's query
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM zorder WHERE p <@ circle(point(71.3, 42.0), 0.1);
SELECT count(*) FROM zorder WHERE p <@ circle(point(71.3, 42.0), 0.1);
SET enable_seqscan = on;
SET enable_indexscan = off;
SELECT count(*) FROM zorder WHERE p <@ circle(point(71.3, 42.0), 0.1);
RESET enable_indexscan;

-- boxes, circles and points around everything that is odd
CREATE TABLE windows AS
	SELECT row_number() OVER () AS w, box(point(x - dx, y - dy), point(x + dx, y + dy)) AS b,
		   point(x, y) AS p, dx AS r
	FROM unnest('{0,-1,64,63.5,99.9,1e308,Infinity,-Infinity,NaN}'::float8[]) x,
		 unnest('{0,1,-64,33.3,Infinity,NaN}'::float8[]) y,
		 unnest('{0,0.5,40,Infinity}'::float8[]) dx,
		 unnest('{0,70}'::float8[]) dy;

-- asks for each window, by index and without; only differences are shown
CREATE FUNCTION compare(qual text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	w record;
	by_index text;
	by_table text;
	plan text;
	hits int8 := 0;
	ask text := 'SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM zorder WHERE ' || qual;
BEGIN
	FOR w IN SELECT * FROM windows LOOP
		BEGIN
			SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = on;
			SET LOCAL enable_indexonlyscan = on;
			SET LOCAL plan_cache_mode = force_generic_plan;
			EXECUTE ask INTO by_index USING w.b, w.p, w.r;
			SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off;
			SET LOCAL enable_indexonlyscan = off;
			EXECUTE ask INTO by_table USING w.b, w.p, w.r;
		EXCEPTION WHEN numeric_value_out_of_range OR invalid_parameter_value THEN
			CONTINUE;
		END;
		IF by_index <> by_table THEN
			RETURN NEXT format('window %s: %s %s %s: index %s, table %s',
							   w.w, w.b, w.p, w.r, by_index, by_table);
		END IF;
		hits := hits + split_part(by_table, ' ', 1)::int8;
	END LOOP;
	RETURN NEXT CASE WHEN hits > 1000 THEN 'many hits' ELSE hits || ' hits' END;
END $$;
SELECT compare('p <@ $1');
SELECT compare('p <@ circle($2, $3)');
SELECT compare('p ~= $2');
SELECT compare('p <@ $1 AND p <@ circle($2, 1.5)');

-- the order itself
EXPLAIN (COSTS OFF) SELECT p FROM zorder ORDER BY p USING #<#;
SELECT count(*) FROM (SELECT p, lag(p) OVER () AS before
	FROM (SELECT p FROM zorder WHERE p IS NOT NULL ORDER BY p USING #<#) s) t
	WHERE before #># p;
SELECT count(*) FROM zorder WHERE p #=# point(0, 0);
SELECT count(*) FROM zorder WHERE p IS NULL;
SELECT p FROM zorder ORDER BY p;

-- few blocks are read: a box with one point in a thousand
SET enable_seqscan = off;
CREATE FUNCTION blocks(query text) RETURNS int8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int8 +
		   (plan->0->'Plan'->>'Shared Read Blocks')::int8;
END $$;
SELECT blocks('SELECT p FROM zorder WHERE p <@ box(point(10, 10), point(15, 15))') <
	blocks('SELECT p FROM zorder WHERE p #>=# point(-1e308, -1e308)') / 2 AS fewer;

SELECT betree_index_check('zorder_p', true);
DROP FUNCTION compare, blocks;
DROP TABLE zorder, windows;
