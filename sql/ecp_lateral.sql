--
-- LATERAL joins with the nearest rows of each outer row: the plan reads outer rows
-- ahead, and the rows are those of a nested loop of scans.
--
CREATE FUNCTION lateral_vector(i bigint) RETURNS real[] LANGUAGE sql IMMUTABLE AS
	'SELECT array_agg((''x'' || substr(md5(i || ''.'' || j), 1, 4))::bit(16)::int / 6553.6 ORDER BY j)::real[] FROM generate_series(1, 32) j';
CREATE TABLE lateral_t (id int PRIMARY KEY, tenant int, label text, plain int, v real[]);
INSERT INTO lateral_t
SELECT i, i % 7, 'label ' || i % 3, i % 5, lateral_vector(i) FROM generate_series(1, 3000) i;
CREATE INDEX lateral_i ON lateral_t USING ecp (v, tenant, label) WITH (seed = 3);
-- every 25th is NULL
CREATE TABLE lateral_q (id int PRIMARY KEY, tenant int, k int, w real[], w8 double precision[]);
INSERT INTO lateral_q
SELECT i, i % 7, i % 4, CASE WHEN i % 25 <> 0 THEN lateral_vector(i * 77 + 500000) END, lateral_vector(i)
FROM generate_series(1, 400) i;
VACUUM ANALYZE lateral_t, lateral_q;

-- the plan as text, without figures that vary
CREATE FUNCTION lateral_plan(query text, options text DEFAULT 'COSTS OFF', OUT lateral_plan text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	FOR lateral_plan IN EXECUTE format('EXPLAIN (%s) %s', options, query)
	LOOP
		RETURN NEXT;
	END LOOP;
END $$;
-- is it a batch, how many rows, are they the same in the same order as by scans, and were
-- batches run
CREATE FUNCTION lateral_check(query text, OUT batch bool, OUT nrows bigint, OUT equal bool, OUT batches int, OUT queries int)
LANGUAGE plpgsql AS $$
DECLARE
	line text;
	a text[];
	b text[];
BEGIN
	SELECT bool_or(p LIKE '%Custom Scan (ecp batch)%') INTO batch FROM lateral_plan(query) AS p;
	EXECUTE format('SELECT array_agg(s::text) FROM (%s) AS s', query) INTO a;
	FOR line IN SELECT * FROM lateral_plan(query, 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF')
	LOOP
		batches := coalesce(substring(line FROM 'Batches: (\d+)')::int, batches);
		queries := coalesce(substring(line FROM 'Queries: (\d+)')::int, queries);
	END LOOP;
	SET LOCAL ecp.enable_batch_join = off;
	EXECUTE format('SELECT array_agg(s::text) FROM (%s) AS s', query) INTO b;
	SET LOCAL ecp.enable_batch_join = on;
	nrows := coalesce(array_length(a, 1), 0);
	equal := a IS NOT DISTINCT FROM b;
END $$;

SELECT lateral_plan('SELECT q.id, n.* FROM lateral_q q CROSS JOIN LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');
SELECT lateral_plan('SELECT q.id, n.* FROM lateral_q q LEFT JOIN LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t WHERE tenant = 3 ORDER BY v <-> q.w LIMIT 10) n ON true');
SELECT * FROM lateral_check('SELECT q.id, n.* FROM lateral_q q CROSS JOIN LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');

SELECT query, c.* FROM unnest(ARRAY[
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 1) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 100) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 5 OFFSET 5) n',
	'SELECT q.*, n.* FROM lateral_q q LEFT JOIN LATERAL (SELECT * FROM lateral_t ORDER BY v <-> q.w LIMIT 3) n ON true',
	'SELECT q.id, n.id AS n FROM lateral_q q LEFT JOIN LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 3) n ON n.d < 11',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 3) n WHERE n.d < q.id / 30.0',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY q.w <-> v LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t WHERE tenant = 3 ORDER BY v <-> q.w LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t WHERE tenant IN (2, 4) AND tenant IS NOT NULL ORDER BY v <-> q.w LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t WHERE tenant = 99 ORDER BY v <-> q.w LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q LEFT JOIN LATERAL (SELECT id FROM lateral_t WHERE tenant = 99 ORDER BY v <-> q.w LIMIT 10) n ON true',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t WHERE v IS NOT NULL ORDER BY v <-> q.w LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM (SELECT * FROM lateral_q ORDER BY k, id DESC) q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n ORDER BY q.id, n.d',
	'SELECT q.id, n.id AS n, o.id AS o FROM lateral_q q, LATERAL (SELECT id FROM lateral_t WHERE tenant = 1 ORDER BY v <-> q.w LIMIT 2) n, LATERAL (SELECT id FROM lateral_t WHERE tenant = 2 ORDER BY v <-> q.w LIMIT 3) o',
	'SELECT q.id, n.id AS n, p.id AS p FROM lateral_q q JOIN lateral_q p ON p.id = q.id + 1, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> p.w LIMIT 3) n',
	'SELECT q.tenant, count(*), min(n.id) FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n GROUP BY q.tenant ORDER BY 1',
	'WITH q AS MATERIALIZED (SELECT * FROM lateral_q) SELECT q.id, n.id AS n FROM q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w8 LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w[1:32] LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q LEFT JOIN LATERAL (SELECT id FROM lateral_t ORDER BY v <-> CASE WHEN q.k > 1 THEN q.w ELSE (q.w8::text)::real[] END LIMIT 3) n ON true',
	'SELECT q.id, n.id AS n FROM (SELECT id, array_to_json(w) AS j FROM lateral_q) q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> translate(q.j::text, ''[]'', ''{}'')::real[] LIMIT 3) n',
	'SELECT q.id, n.id AS n FROM lateral_q q JOIN lateral_q p ON p.id = q.id + 1, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> coalesce(p.w, q.w) LIMIT 3) n',
	'SELECT x, s.* FROM generate_series(1, 3) x, LATERAL (SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w[1:32] LIMIT 10) n WHERE q.k = x OFFSET 0) s',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w[1:q.k + 32] LIMIT 10) n',
	'SELECT x, q.id, n.id AS n FROM generate_series(1, 3) x, LATERAL (SELECT * FROM lateral_q WHERE k = x) q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n',
	'SELECT x, s.* FROM generate_series(1, 3) x, LATERAL (SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t WHERE tenant = x ORDER BY v <-> q.w LIMIT 10) n OFFSET 0) s',
	'SELECT x, s.* FROM generate_series(1, 3) x, LATERAL (SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n WHERE q.k = x OFFSET 0) s'
	]) AS query, lateral_check(query) AS c;

-- the nearest pairs of all: below a sort, of the rows of several queries
SELECT lateral_plan('SELECT q.id, t.id FROM lateral_q q, lateral_t t WHERE t.tenant = 3 ORDER BY t.v <-> q.w LIMIT 10 OFFSET 2');
SELECT query, c.* FROM unnest(ARRAY[
	'SELECT q.id, t.id AS n FROM lateral_q q, lateral_t t ORDER BY t.v <-> q.w LIMIT 10',
	'SELECT q.id, t.id AS n FROM lateral_q q, lateral_t t WHERE t.tenant = 3 ORDER BY t.v <-> q.w LIMIT 10 OFFSET 2',
	'SELECT q.id, t.id AS n FROM lateral_q q JOIN lateral_q p ON p.id = q.id + 1, lateral_t t ORDER BY t.v <-> p.w LIMIT 10',
	'SELECT q.id, t.id AS n FROM lateral_q q, lateral_t t ORDER BY t.v <-> coalesce(q.w, q.w8::real[]) LIMIT 10',
	-- not these: conditions of the outer row
	'SELECT q.id, t.id AS n FROM lateral_q q JOIN lateral_t t ON t.id <> q.id ORDER BY t.v <-> q.w LIMIT 10',
	'SELECT q.id, t.id AS n FROM lateral_q q JOIN lateral_t t USING (tenant) ORDER BY t.v <-> q.w LIMIT 10'
	]) AS query, lateral_check(query) AS c;

-- each left to scans, one after the other
SELECT query, c.* FROM unnest(ARRAY[
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t WHERE plain = 1 ORDER BY v <-> q.w LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t WHERE label = ''label 1'' ORDER BY v <-> q.w LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t WHERE tenant = q.tenant ORDER BY v <-> q.w LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT q.k) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w FETCH FIRST 5 ROWS WITH TIES) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t WHERE v <-> q.w < 12 ORDER BY v <-> q.w LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t WHERE random() >= 0 ORDER BY v <-> q.w LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM (SELECT *, random() FROM lateral_q OFFSET 0) q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n WHERE q.id < 4',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n LIMIT 15',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w[1:32 / (396 - q.id) + 33] LIMIT 10) n LIMIT 300',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> coalesce(q.w, (SELECT w FROM lateral_q WHERE id = 1)) LIMIT 10) n',
	'SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> (SELECT w FROM lateral_q p WHERE p.id = q.id) LIMIT 10) n',
	'SELECT x, s.* FROM generate_series(1, 3) x, LATERAL (SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w[x:32] LIMIT 10) n WHERE x = 1 OFFSET 0) s',
	'SELECT q.id, ARRAY(SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) FROM lateral_q q'
	]) AS query, lateral_check(query) AS c;

-- with other settings, and in small batches
SET work_mem = '64kB';
SELECT nrows, equal, batches > 1 AS several, queries FROM
	lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 40) n');
SET hash_mem_multiplier = 1;
SELECT nrows, equal, batches > 1 AS several, queries FROM
	lateral_check('SELECT q.id, repeat(''x'', 100), n.* FROM (SELECT *, repeat(id::text, 500) AS long FROM lateral_q) q, LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t WHERE tenant < 3 ORDER BY v <-> q.w LIMIT 40) n WHERE length(q.long) > 0');
RESET hash_mem_multiplier;
RESET work_mem;
SET ecp.iterative_scan = off;
SELECT * FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');
SET ecp.iterative_scan = relaxed_order;
SELECT * FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');
RESET ecp.iterative_scan;
SET ecp.probes = 2;
SELECT nrows, equal, batches FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');
SELECT nrows, equal, batches FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 60) n');
RESET ecp.probes;
SET ecp.max_scan_tuples = 100;
SELECT nrows, equal FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');
RESET ecp.max_scan_tuples;
-- a search with a time to keep is a scan
SET ecp.max_ms = '1h';
SELECT batch, equal FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');
RESET ecp.max_ms;
ALTER INDEX lateral_i SET (max_ms = 3600000);
SELECT * FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');
ALTER INDEX lateral_i RESET (max_ms);

-- a batch reads the table for the rows that it returns, once
BEGIN;
SELECT batch, nrows, batches FROM lateral_check('SELECT n.* FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');
SELECT pg_stat_get_xact_blocks_fetched('lateral_t'::regclass) AS before \gset
SELECT count(*) FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n;
SELECT pg_stat_get_xact_blocks_fetched('lateral_t'::regclass) - :before <= 4000 AS once;
COMMIT;

-- dead rows, and versions of rows
DELETE FROM lateral_t WHERE id % 3 = 0;
UPDATE lateral_t SET plain = plain + 1 WHERE id % 4 = 0;
UPDATE lateral_t SET v = lateral_vector(id + 17) WHERE id % 11 = 0;
SELECT nrows, equal, batches FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, plain, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');
BEGIN;
DELETE FROM lateral_t WHERE id % 2 = 0;
UPDATE lateral_t SET plain = plain + 1 WHERE id % 5 = 0;
SELECT nrows, equal, batches FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, plain, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');
ROLLBACK;
VACUUM lateral_t;
SELECT nrows, equal, batches FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, plain, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');

-- generic plans, where the LIMIT is not known, and a key
PREPARE lateral_p(bigint, int) AS SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t WHERE tenant = $2 ORDER BY v <-> q.w LIMIT $1) n;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE lateral_p(3, 4);
CREATE TEMP TABLE lateral_a AS EXECUTE lateral_p(3, 4);
CREATE TEMP TABLE lateral_b AS EXECUTE lateral_p(NULL, 4);
SELECT count(*) FROM lateral_b;
DROP TABLE lateral_b;
SET ecp.enable_batch_join = off;
DEALLOCATE lateral_p;
CREATE TEMP TABLE lateral_b AS SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t WHERE tenant = 4 ORDER BY v <-> q.w LIMIT 3) n;
RESET ecp.enable_batch_join;
RESET plan_cache_mode;
SELECT count(*), count(*) FILTER (WHERE a.* IS DISTINCT FROM b.*) FROM (SELECT *, row_number() OVER () AS r FROM lateral_a) a
	FULL JOIN (SELECT *, row_number() OVER () AS r FROM lateral_b) b USING (r);

-- a cursor, also backward, with rows inserted meanwhile
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 2) n;
FETCH 3 FROM c;
INSERT INTO lateral_t SELECT 10000 + id, 0, 'x', 0, w FROM lateral_q WHERE w IS NOT NULL;
FETCH 2 FROM c;
MOVE 300 FROM c;
FETCH BACKWARD 2 FROM c;
ROLLBACK;
-- the rows that were rolled back are the nearest: so the answers are left to scans
SELECT nrows, equal, queries FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, plain, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');
VACUUM lateral_t;
SELECT nrows, equal, queries FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, plain, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');

-- INSERT ... SELECT, but not where rows are locked or updated
EXPLAIN (COSTS OFF) INSERT INTO lateral_a SELECT q.id, n.id FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 2) n;
SELECT count(*) FROM lateral_plan('SELECT q.id, n.id FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 2) n FOR UPDATE OF q') AS p WHERE p LIKE '%ecp batch%';
SELECT count(*) FROM lateral_plan('UPDATE lateral_a a SET n = n.id FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 1) n WHERE a.id = q.id') AS p WHERE p LIKE '%ecp batch%';

-- a vector that does not fit is an error if the query comes to it
INSERT INTO lateral_q VALUES (401, 1, 1, '{1,2,3}'), (402, 1, 1, '{1,NULL,3,4}'), (403, 1, 1, array_append((lateral_vector(7))[2:], 'NaN')), (404, 1, 1, '{{1,2,3,4}}');
SELECT q.id, n.id FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 2) n;
SELECT q.id, n.id FROM (SELECT * FROM lateral_q WHERE id <> 401) q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 2) n;
BEGIN;
DECLARE c CURSOR FOR SELECT q.id, n.id AS n FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 1) n WHERE q.id > 280;
FETCH 4 FROM c;
FETCH 500 FROM c;
ROLLBACK;
DELETE FROM lateral_q WHERE id > 400;
SELECT nrows, equal, batches FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, plain, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');

-- row security, by a column of the index and by another; privileges
CREATE ROLE regress_lateral;
GRANT SELECT ON lateral_t, lateral_q TO regress_lateral;
ALTER TABLE lateral_t ENABLE ROW LEVEL SECURITY;
CREATE POLICY lateral_policy ON lateral_t USING (tenant <> 2);
SET ROLE regress_lateral;
SELECT nrows, equal FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, tenant, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');
SELECT count(*) FROM lateral_q q, LATERAL (SELECT tenant FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n WHERE n.tenant = 2;
RESET ROLE;
DROP POLICY lateral_policy ON lateral_t;
CREATE POLICY lateral_policy ON lateral_t USING (plain <> 2);
SET ROLE regress_lateral;
SELECT batch, nrows, equal FROM lateral_check('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id, plain, v <-> q.w AS d FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n');
SELECT count(*) FROM lateral_q q, LATERAL (SELECT plain FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n WHERE n.plain = 2;
RESET ROLE;
ALTER TABLE lateral_t DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON lateral_t FROM regress_lateral;
SET ROLE regress_lateral;
SELECT count(*) FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n;
RESET ROLE;
DROP OWNED BY regress_lateral;
DROP ROLE regress_lateral;

-- other formats
SELECT lateral_plan('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n', 'COSTS OFF, VERBOSE');
SELECT p #>> '{0,Plan,Plans,0,Custom Plan Provider}' AS provider, p #>> '{0,Plan,Plans,0,Index}' AS index, p #>> '{0,Plan,Plans,0,Rows Wanted}' AS wanted,
	p #>> '{0,Plan,Plans,0,Batches}' AS batches, p #>> '{0,Plan,Plans,0,Queries}' AS queries
FROM (SELECT string_agg(l, '')::json AS p FROM lateral_plan('SELECT q.id, n.* FROM lateral_q q, LATERAL (SELECT id FROM lateral_t ORDER BY v <-> q.w LIMIT 10) n',
	'ANALYZE, COSTS OFF, TIMING OFF, FORMAT json') AS l) AS x;

-- other kinds: bytes that are stored out of line, doubles, and codes
CREATE TABLE lateral_bytes (id int, v bytea, d double precision[], r real[]);
INSERT INTO lateral_bytes SELECT i, string_agg(decode(md5((i * 131 + j)::text), 'hex'), ''), lateral_vector(i)::double precision[],
	array_agg(((i * 7919 + j * 104729) % 1009)::real ORDER BY j)
FROM generate_series(1, 1500) i, generate_series(1, 64) j GROUP BY i;
CREATE INDEX lateral_bytes_v ON lateral_bytes USING ecp (v);
CREATE INDEX lateral_bytes_d ON lateral_bytes USING ecp (d);
CREATE INDEX lateral_bytes_r ON lateral_bytes USING ecp (r real_cosine_ops) WITH (quantizer = rabitq);
VACUUM ANALYZE lateral_bytes;
SELECT query, batch, nrows, equal, queries FROM unnest(ARRAY[
	'SELECT q.id, n.* FROM lateral_bytes q, LATERAL (SELECT id, v <-> q.v AS d FROM lateral_bytes ORDER BY v <-> q.v LIMIT 5) n WHERE q.id < 200',
	'SELECT q.id, n.* FROM lateral_bytes q, LATERAL (SELECT id, d <-> q.d AS dist FROM lateral_bytes ORDER BY d <-> q.d LIMIT 5) n WHERE q.id < 200',
	'SELECT q.id, n.* FROM lateral_bytes q, LATERAL (SELECT id, r <=> q.r AS dist FROM lateral_bytes ORDER BY r <=> q.r LIMIT 5) n WHERE q.id < 200'
	]) AS query, lateral_check(query);

DROP TABLE lateral_t, lateral_q, lateral_bytes;
DROP FUNCTION lateral_vector, lateral_plan, lateral_check;
