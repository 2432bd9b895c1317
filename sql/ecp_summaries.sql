--
-- Summaries: clusters without a row that fulfils a condition on key columns are
-- passed over.
--
\getenv src PG_ABS_SRCDIR
\set vectors :src '/test/vectors.sql'
\i :vectors
SET jit = off;
-- most rows have common values; a few have rare ones, and one in 50 has many tags
CREATE FUNCTION tags_of(id int) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(t) FROM (SELECT id % 3 + 1 AS t UNION ALL SELECT 10 + id % 7
		UNION ALL SELECT 1000 + id / 40 WHERE id % 2 = 0
		UNION ALL SELECT g * 31 FROM generate_series(100, 100 + CASE WHEN id % 900 = 0 THEN 30 ELSE 7 END) g WHERE id % 50 = 0) x
$$;
CREATE TABLE summary_t AS SELECT id, pg_temp.clustered_bytes(id, 12, 60) AS v, CASE WHEN id % 333 > 0 THEN id / 20 END AS tenant,
	md5((id / 30)::text)::uuid AS owner, ARRAY['name ' || id / 25] AS names, tags_of(id) AS tags,
	jsonb_build_object('lang', 'l' || id / 35) AS meta, date '2026-01-01' + id / 20 AS day
FROM generate_series(1, 20000) id;
CREATE INDEX summary_i ON summary_t USING ecp (v, tenant, owner, names, tags, meta, day);
VACUUM ANALYZE summary_t;
SELECT ecp_index_check('summary_i', true);

-- the nearest rows by the index are those of the table; were clusters passed over?
CREATE FUNCTION compare(condition text, wanted int DEFAULT NULL, OUT got bigint, OUT same boolean, OUT skipped boolean)
LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT array_agg(d) FROM (SELECT v <-> $1 AS d FROM summary_t WHERE %s ORDER BY v <-> $1 LIMIT %s) x',
		condition, coalesce(wanted::text, 'ALL'));
	q record;
	line text;
	plan text := '';
	found float8[];
	truth float8[];
BEGIN
	got := 0;
	same := true;
	skipped := false;
	FOR q IN SELECT pg_temp.clustered_bytes(x * 997, 12, 60) AS v FROM generate_series(1, 5) x LOOP
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_sort = off;
		SET LOCAL enable_indexscan = on;
		plan := '';
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query USING q.v LOOP
			plan := plan || line;
		END LOOP;
		IF plan !~ 'summary_.*Index Cond' THEN
			RAISE EXCEPTION 'the index is not used: %', plan;
		END IF;
		EXECUTE query INTO found USING q.v;
		skipped := skipped OR (SELECT s.skipped > s.clusters / 10 FROM ecp_last_scan() s);
		SET LOCAL enable_seqscan = on;
		SET LOCAL enable_sort = on;
		SET LOCAL enable_indexscan = off;
		EXECUTE query INTO truth USING q.v;
		got := got + coalesce(cardinality(found), 0);
		same := same AND found IS NOT DISTINCT FROM truth;
	END LOOP;
END $$;
SELECT condition, r.* FROM unnest(ARRAY['tenant = 500', 'tenant IN (1, 500, 900)', 'tenant = 500::bigint', 'tenant IS NULL', 'tenant = -1',
	'owner = md5(''77'')::uuid', 'names = ''{name 300}''', '''name 3'' = ANY (names)', 'tags @> ''{1400}''', 'tags && ''{1400,1401}''', '1400 = ANY (tags)',
	'tags @> ''{1400,1}''', 'tags @> ''{1,3100,3286}''', 'tags && ''{3999}''', 'tags = (SELECT tags FROM summary_t WHERE id = 8002)', 'meta @> ''{"lang": "l99"}''',
	'tenant = 500 AND tags @> ''{1250}''', 'tenant > 500 AND tags @> ''{1400}''']) condition, compare(condition) r;
-- what summaries are not asked for
SELECT condition, r.* FROM unnest(ARRAY['tenant BETWEEN 500 AND 502', 'tags <@ ''{1,10,11}''', 'day = ''2027-01-01''', 'tags @> ''{1}''',
	'tenant = 500 OR tenant = 501']) condition, compare(condition) r;
-- the nearest few
SELECT condition, r.got, r.skipped FROM unnest(ARRAY['tenant = 500', 'tags @> ''{1400}''', '''name 3'' = ANY (names)']) condition, compare(condition, 5) r;

-- the planner knows that fewer clusters are read
CREATE FUNCTION cost(condition text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	SET LOCAL enable_seqscan = off;
	EXECUTE 'EXPLAIN (FORMAT json) SELECT id FROM summary_t WHERE ' || condition || ' ORDER BY v <-> ''\x010101010101010101010101'' LIMIT 10' INTO plan;
	RETURN plan->0->'Plan'->>'Total Cost';
END $$;
CREATE TABLE costs AS SELECT c, cost(c) AS asked FROM unnest(ARRAY['tenant = 500', 'tags @> ''{1400}''', 'tags @> ''{1}''']) c;

-- values that the clusters did not have
UPDATE summary_t SET tags = tags || 5555, tenant = 70000 WHERE id % 2500 = 1;
UPDATE summary_t SET tags = (SELECT array_agg(g) FROM generate_series(5000, 5040) g) WHERE id % 2500 = 2;
SELECT condition, r.* FROM unnest(ARRAY['tags @> ''{5555}''', 'tenant = 70000', 'tags @> ''{5007}''']) condition, compare(condition) r;
SELECT ecp_index_check('summary_i', true);
-- clusters that are divided, merged and written anew
INSERT INTO summary_t SELECT id, pg_temp.clustered_bytes(id, 12, 60), id / 20, md5((id / 30)::text)::uuid, ARRAY['name ' || id / 25], tags_of(id)
FROM generate_series(20001, 32000) id;
SELECT ecp_index_check('summary_i', true), split_clusters > 0 AS split FROM ecp_index_drift('summary_i');
DELETE FROM summary_t WHERE id % 4 > 0 AND id < 16000 AND tenant <> 70000;
VACUUM summary_t;
SELECT ecp_index_check('summary_i', true);
SELECT ecp_maintain('summary_i') IS NOT NULL AS maintained;
SELECT ecp_index_check('summary_i', true);
SELECT condition, r.* FROM unnest(ARRAY['tags @> ''{5555}''', 'tenant = 70000', 'tags @> ''{5007}''', 'tenant = 1500', 'tags @> ''{1700}''']) condition, compare(condition) r;

-- rows that wait in buffers; further runs
ALTER INDEX summary_i SET (buffer_rows = 20);
INSERT INTO summary_t (id, v, tenant, tags) SELECT id, pg_temp.clustered_bytes(id, 12, 60), 80000 + id / 400, ARRAY[7777, id] FROM generate_series(40001, 40300) id;
SELECT buffers > 0 AS buffers, buffered_rows > 0 AS waiting FROM ecp_index_drift('summary_i');
SELECT condition, r.* FROM unnest(ARRAY['tenant = 80100', 'tags @> ''{40101}''', 'tags @> ''{5555}''']) condition, compare(condition) r;
INSERT INTO summary_t (id, v, tenant, tags) SELECT id, pg_temp.clustered_bytes(id, 12, 60), 80000 + id / 400, ARRAY[7777, id] FROM generate_series(40301, 48000) id;
SELECT buffered_rows < 8000 AS flushed FROM ecp_index_drift('summary_i');
SELECT condition, r.* FROM unnest(ARRAY['tenant = 80100', 'tags @> ''{40101}''', 'tags @> ''{43210}''', 'tags @> ''{5555}''']) condition, compare(condition) r;
SELECT ecp_index_check('summary_i', true);
ALTER INDEX summary_i RESET (buffer_rows);

-- an index that began empty, with codes beside vectors; and two levels of leaders
CREATE TABLE empty_t (LIKE summary_t);
CREATE INDEX empty_i ON empty_t USING ecp (v, tenant, tags) WITH (quantizer = rabitq);
INSERT INTO empty_t SELECT * FROM summary_t;
SELECT ecp_index_check('empty_i', true);
DROP TABLE empty_t;
CREATE TEMP TABLE temporary_t AS SELECT * FROM summary_t;
CREATE INDEX temporary_i ON temporary_t USING ecp (v, tenant, tags) WITH (levels = 2);
SET enable_seqscan = off;
SELECT count(*), bool_and(tenant = 1500) FROM (SELECT tenant FROM temporary_t WHERE tenant = 1500 ORDER BY v <-> '\x010101010101010101010101' LIMIT 5) x;
SELECT skipped > clusters / 2 AS skipped FROM ecp_last_scan();
RESET enable_seqscan;
SELECT ecp_index_check('temporary_i', true);
INSERT INTO temporary_t SELECT * FROM temporary_t;
SELECT ecp_index_check('temporary_i', true);

-- searches beside buffers find as many rows as there are, and so does a batch, from
-- fewer pages
CREATE TABLE summary_q AS SELECT x::bigint AS id, pg_temp.clustered_bytes(x * 331, 12, 60) AS v FROM generate_series(1, 300) x;
CREATE FUNCTION batch(condition text, OUT answers bigint, OUT differ bigint, OUT few boolean) LANGUAGE plpgsql AS $$
DECLARE
	start bigint := pg_stat_get_xact_blocks_fetched('summary_i'::regclass);
	before bigint;
BEGIN
	SET LOCAL enable_seqscan = off;
	EXECUTE format('CREATE TEMP TABLE searched AS SELECT q.id AS query, s.d FROM summary_q q,
		LATERAL (SELECT v <-> q.v AS d FROM summary_t t WHERE %s ORDER BY t.v <-> q.v LIMIT 5) s', condition);
	before := pg_stat_get_xact_blocks_fetched('summary_i'::regclass);
	EXECUTE format('CREATE TEMP TABLE batch AS SELECT query, distance FROM ecp_knn_batch(''summary_i'', ''SELECT id, v FROM summary_q'', 5, %L)', condition);
	few := (pg_stat_get_xact_blocks_fetched('summary_i'::regclass) - before) * 4 < before - start;
	SELECT count(*) FROM batch INTO answers;
	SELECT count(*) FROM ((TABLE searched EXCEPT ALL TABLE batch) UNION ALL (TABLE batch EXCEPT ALL TABLE searched)) x INTO differ;
	DROP TABLE searched, batch;
END $$;
SET ecp.enable_batch_join = off;
SELECT condition, r.* FROM unnest(ARRAY['tenant = 1500', 'tags @> ''{1700}''', 'tenant BETWEEN 1500 AND 1501', 'tags @> ''{5555}''']) condition, batch(condition) r;
RESET ecp.enable_batch_join;
DROP TABLE summary_q;

-- without them
ANALYZE summary_t;
REINDEX INDEX summary_i;
CREATE INDEX summary_off ON summary_t USING ecp (v, tenant, owner, names, tags, meta, day) WITH (summaries = off);
SELECT pg_relation_size('summary_off') < pg_relation_size('summary_i') AS smaller;
DROP INDEX summary_i;
SELECT condition, r.* FROM unnest(ARRAY['tenant = 500', 'tags @> ''{1400}''']) condition, compare(condition) r;
SELECT c, cost(c) > 1.2 * asked AS dearer FROM costs;
SELECT ecp_index_check('summary_off', true);
DROP TABLE summary_t, costs, temporary_t;
