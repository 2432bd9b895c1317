--
-- One-bit codes: which indexes have them, that they find what exact scans
-- find, and that everything that moves rows brings codes along.
--
\getenv src PG_ABS_SRCDIR
\set explain :src '/test/explain.sql'
\i :explain
CREATE FUNCTION quantizer_vector(i int, dims int, spread float8 DEFAULT 1)
RETURNS real[] LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((10 * sin(i % 37 * 13.7 + j * (i % 37 + 1) * 0.7) +
					  spread * sin(i * 0.618 * j + j * j))::real ORDER BY j)
	FROM generate_series(1, dims) j
$$;
CREATE FUNCTION quantizer_bytes(v real[]) RETURNS bytea
LANGUAGE sql IMMUTABLE AS $$
	SELECT decode(string_agg(lpad(to_hex(128 + (x * 9)::int), 2, '0'), ''
							 ORDER BY n), 'hex')
	FROM unnest(v) WITH ORDINALITY u(x, n)
$$;

-- auto takes them for vectors that are long enough; not where they would not
-- fit a page
CREATE TABLE quantizer_kinds (v real[], b bytea);
CREATE FUNCTION quantizer_of(col text, dims int, options text DEFAULT '')
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('CREATE INDEX quantizer_kind ON quantizer_kinds USING ecp (%I) WITH (dims = %s %s)',
				   col, dims, options);
	SELECT quantizer INTO result FROM ecp_metapage_info('quantizer_kind');
	DROP INDEX quantizer_kind;
	RETURN result;
END $$;
SELECT dims, quantizer_of('v', dims) AS float, quantizer_of('b', dims) AS uint8,
	quantizer_of('v', dims, ', quantizer = rabitq') AS float_rabitq,
	quantizer_of('b', dims, ', quantizer = none') AS uint8_none
FROM unnest('{3, 64, 96, 128, 256, 1536, 1800, 4000}'::int[]) dims;
CREATE INDEX ON quantizer_kinds USING ecp (v) WITH (quantizer = pq);

-- an index of many clusters, and one that is a root
CREATE TABLE quantizer_t (id int PRIMARY KEY, v real[]);
ALTER TABLE quantizer_t ALTER v SET STORAGE PLAIN;
INSERT INTO quantizer_t
	SELECT i, quantizer_vector(i, 100) FROM generate_series(1, 3000) i;
CREATE TABLE quantizer_q AS
	SELECT i, quantizer_vector(i * 101 + 50000, 100) AS v
	FROM generate_series(1, 20) i;
-- ten rows by the index and by a sort, "same" of 200 distances; and that few
-- exact vectors were read
CREATE FUNCTION quantizer_compare(tab regclass, op text, cast_to text, k int DEFAULT 10)
RETURNS TABLE (same bigint, rows bigint, codes boolean, few boolean)
LANGUAGE plpgsql AS $$
DECLARE
	q record;
	by_index float8[];
	by_sort float8[];
	sql text;
BEGIN
	same := 0; rows := 0; codes := true; few := true;
	sql := format('SELECT array_agg(d) FROM (SELECT v %s $1::%s AS d FROM %s ORDER BY v %s $1::%s LIMIT %s) s',
				  op, cast_to, tab, op, cast_to, k);
	FOR q IN SELECT * FROM quantizer_q LOOP
		SET LOCAL enable_seqscan = off;
		IF cast_to = 'bytea' THEN
			EXECUTE sql INTO by_index USING quantizer_bytes(q.v);
		ELSE
			EXECUTE sql INTO by_index USING q.v;
		END IF;
		codes := codes AND (SELECT s.reranked > 0 FROM ecp_last_scan() s);
		few := few AND (SELECT s.reranked < 10 + s.vectors / 4 FROM ecp_last_scan() s);
		SET LOCAL enable_seqscan = on;
		SET LOCAL enable_indexscan = off;
		IF cast_to = 'bytea' THEN
			EXECUTE sql INTO by_sort USING quantizer_bytes(q.v);
		ELSE
			EXECUTE sql INTO by_sort USING q.v;
		END IF;
		SET LOCAL enable_indexscan = on;
		rows := rows + cardinality(by_index);
		same := same + (SELECT count(*) FROM unnest(by_index, by_sort) u(a, b) WHERE a = b);
	END LOOP;
	RETURN NEXT;
END $$;
SET ecp.probes = 100000;
CREATE INDEX quantizer_i ON quantizer_t USING ecp (v);
SELECT quantizer, clusters > 20 AS many, levels FROM ecp_metapage_info('quantizer_i');
SELECT * FROM pg_temp.explain($$SELECT id FROM quantizer_t
ORDER BY v <-> (SELECT v FROM quantizer_q LIMIT 1) LIMIT 10$$);
SELECT * FROM quantizer_compare('quantizer_t', '<->', 'real[]');
SELECT probes, recall FROM ecp_recall('quantizer_i', probes => '{100000}', samples => 20);
SELECT ecp_index_check('quantizer_i', true);
DROP INDEX quantizer_i;
CREATE INDEX quantizer_i ON quantizer_t USING ecp (v real_ip_ops);
SELECT * FROM quantizer_compare('quantizer_t', '<#>', 'real[]');
SELECT ecp_index_check('quantizer_i', true);
DROP INDEX quantizer_i;
CREATE INDEX quantizer_i ON quantizer_t USING ecp (v real_cosine_ops) WITH (levels = 2);
SELECT * FROM quantizer_compare('quantizer_t', '<=>', 'real[]');
SELECT ecp_index_check('quantizer_i', true);

-- every row once, and those without a direction at all
SET enable_seqscan = off;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM quantizer_t
	ORDER BY v <=> (SELECT v FROM quantizer_q LIMIT 1) LIMIT 10000) s;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM quantizer_t
	ORDER BY v <=> array_fill(0::real, '{100}') LIMIT 10000) s;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM quantizer_t
	ORDER BY v <=> NULL::real[] LIMIT 10000) s;
RESET enable_seqscan;
DROP INDEX quantizer_i;

-- bytes; and a table of one cluster, whose codes are relative to the origin
CREATE TABLE quantizer_b AS SELECT id, quantizer_bytes(v) AS v FROM quantizer_t;
CREATE INDEX quantizer_bi ON quantizer_b USING ecp (v) WITH (quantizer = rabitq);
SELECT * FROM quantizer_compare('quantizer_b', '<->', 'bytea');
SELECT ecp_index_check('quantizer_bi', true);
DELETE FROM quantizer_b WHERE id > 100;
DROP INDEX quantizer_bi;
CREATE INDEX quantizer_bi ON quantizer_b USING ecp (v bytea_cosine_ops) WITH (quantizer = rabitq);
SELECT quantizer, clusters, levels FROM ecp_metapage_info('quantizer_bi');
SELECT * FROM quantizer_compare('quantizer_b', '<=>', 'bytea');
SELECT ecp_index_check('quantizer_bi', true);

-- from nothing by inserts: a root without leader, splits, more runs
CREATE TABLE quantizer_g (id int, v real[]);
CREATE INDEX quantizer_gi ON quantizer_g USING ecp (v);
INSERT INTO quantizer_g SELECT * FROM quantizer_t WHERE id <= 60;
SELECT quantizer, clusters, levels FROM ecp_metapage_info('quantizer_gi');
SELECT * FROM quantizer_compare('quantizer_g', '<->', 'real[]');
SELECT ecp_index_check('quantizer_gi', true);
INSERT INTO quantizer_g SELECT * FROM quantizer_t WHERE id > 60;
SELECT clusters > 10 AS many, levels FROM ecp_metapage_info('quantizer_gi');
SELECT * FROM quantizer_compare('quantizer_g', '<->', 'real[]');
SELECT ecp_index_check('quantizer_gi', true);

-- deleted rows' slots are filled again; VACUUM folds and merges
DELETE FROM quantizer_g WHERE id % 3 > 0;
VACUUM quantizer_g;
SELECT * FROM quantizer_compare('quantizer_g', '<->', 'real[]');
INSERT INTO quantizer_g SELECT * FROM quantizer_t WHERE id % 3 = 1;
SELECT * FROM quantizer_compare('quantizer_g', '<->', 'real[]');
SELECT ecp_index_check('quantizer_gi', true);
DELETE FROM quantizer_g WHERE id % 7 > 0;
VACUUM quantizer_g;
SELECT * FROM quantizer_compare('quantizer_g', '<->', 'real[]');
SELECT ecp_index_check('quantizer_gi', true);

-- with key columns: conditions, within a distance, both, and neither, while rows
-- are moved; every row that a sort finds, in its order
CREATE TABLE quantizer_a (id int, v real[], tenant int, day date);
CREATE INDEX quantizer_ai ON quantizer_a USING ecp (v, tenant, day);
INSERT INTO quantizer_a
	SELECT id, v, NULLIF(id % 20, 0), '2026-01-01'::date + id % 31 FROM quantizer_t;
CREATE TABLE quantizer_ab (id int, v bytea, tenant int, day date);
INSERT INTO quantizer_ab SELECT id, quantizer_bytes(v), tenant, day FROM quantizer_a;
CREATE INDEX quantizer_abi ON quantizer_ab USING ecp (v, tenant, day) WITH (quantizer = rabitq);
CREATE FUNCTION quantizer_conditions(tab regclass, cast_to text)
RETURNS TABLE (condition text, in_index boolean, rows bigint, codes boolean,
	same boolean)
LANGUAGE plpgsql AS $$
DECLARE
	q text;
	sql text;
	line text;
	by_index float8[];
	by_sort float8[];
	ids_by_index int[];
	ids_by_sort int[];
BEGIN
	q := (SELECT CASE cast_to WHEN 'bytea' THEN quantizer_bytes(v)::text
		  ELSE v::text END FROM quantizer_q LIMIT 1);
	FOR condition IN SELECT replace(c, '$1', quote_literal(q) || '::' || cast_to)
		FROM unnest(ARRAY['true', 'tenant = 7', 'tenant IS NULL',
			'tenant = ANY (''{3,5}'') AND day > ''2026-01-20''',
			'day BETWEEN ''2026-01-03'' AND ''2026-01-05''',
			'v <-> $1 < ' || (SELECT CASE cast_to WHEN 'bytea' THEN '900' ELSE '98' END),
			'v <-> $1 < ' || (SELECT CASE cast_to WHEN 'bytea' THEN '900' ELSE '98' END) || ' AND tenant = 7',
			'v <-> $1 < 0', 'tenant = 99']) c
	LOOP
		sql := format('SELECT id, v <-> %L::%s AS d FROM %s WHERE %s ORDER BY d LIMIT 5000',
					  q, cast_to, tab, condition);
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_sort = off;
		SET LOCAL ecp.approximate_radius = on;
		-- with a target, searches for all rows compare vectors
		SET LOCAL ecp.probes = 1000000;
		in_index := false;
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || sql LOOP
			in_index := in_index OR line ~ 'Index Scan';
		END LOOP;
		EXECUTE 'SELECT array_agg(d), array_agg(id ORDER BY id) FROM (' || sql || ') s'
			INTO by_index, ids_by_index;
		codes := (SELECT s.reranked > 0 FROM ecp_last_scan() s);
		SET LOCAL enable_seqscan = on;
		SET LOCAL enable_sort = on;
		SET LOCAL enable_indexscan = off;
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || sql LOOP
			in_index := in_index AND line !~ 'Index Scan';
		END LOOP;
		EXECUTE 'SELECT array_agg(d), array_agg(id ORDER BY id) FROM (' || sql || ') s'
			INTO by_sort, ids_by_sort;
		SET LOCAL enable_indexscan = on;
		rows := cardinality(by_index);
		same := by_index IS NOT DISTINCT FROM by_sort AND
			ids_by_index IS NOT DISTINCT FROM ids_by_sort;
		condition := replace(condition, quote_literal(q) || '::' || cast_to, 'q');
		RETURN NEXT;
	END LOOP;
END $$;
SELECT x, quantizer, attributes FROM unnest('{quantizer_ai,quantizer_abi}'::regclass[]) x,
	ecp_metapage_info(x);
SELECT * FROM quantizer_conditions('quantizer_a', 'real[]');
SELECT * FROM quantizer_conditions('quantizer_ab', 'bytea');
DELETE FROM quantizer_a WHERE id % 3 = 0;
DELETE FROM quantizer_ab WHERE id % 3 = 0;
VACUUM quantizer_a, quantizer_ab;
UPDATE quantizer_a SET tenant = 7 WHERE id % 10 = 1;
UPDATE quantizer_ab SET tenant = 7 WHERE id % 10 = 1;
SELECT ecp_maintain(x) IS NOT NULL AS maintained, ecp_index_check(x, true)
FROM unnest('{quantizer_ai,quantizer_abi}'::regclass[]) x;
SELECT * FROM quantizer_conditions('quantizer_a', 'real[]');
SELECT * FROM quantizer_conditions('quantizer_ab', 'bytea');

DROP TABLE quantizer_a, quantizer_ab;
DROP FUNCTION quantizer_conditions;

-- rows in a few places far apart, each as wide as what leaders would be rounded to
CREATE TABLE quantizer_near AS
	SELECT i AS id, quantizer_vector(i, 100, 0.3) AS v FROM generate_series(1, 3000) i;
CREATE INDEX quantizer_ni ON quantizer_near USING ecp (v)
	WITH (cluster_size = 1, leaders = random);
TRUNCATE quantizer_q;
INSERT INTO quantizer_q
	SELECT i, quantizer_vector(i * 101, 100, 0.3) FROM generate_series(1, 20) i;
SELECT same, rows FROM quantizer_compare('quantizer_near', '<->', 'real[]', 30);
RESET ecp.probes;
SET ecp.target_recall = 0.95;
SELECT recall >= 0.92 AS promised
FROM ecp_recall('quantizer_ni', probes => '{0}', samples => 200);
RESET ecp.target_recall;
DROP TABLE quantizer_near;
DROP TABLE quantizer_kinds, quantizer_t, quantizer_q, quantizer_b, quantizer_g;
DROP FUNCTION quantizer_vector, quantizer_bytes, quantizer_of, quantizer_compare;
