-- An ecp index of every kind of relation, and through every command that
-- writes relations anew.
CREATE FUNCTION vec(g int) RETURNS bytea LANGUAGE sql IMMUTABLE
RETURN decode(lpad(to_hex(g % 256), 2, '0') || lpad(to_hex(g / 256), 2, '0') || '00ff', 'hex');

-- unlogged; what it is after a crash is in test/t
CREATE UNLOGGED TABLE u (id int, v bytea);
CREATE INDEX ui ON u USING ecp (v);
INSERT INTO u SELECT g, vec(g) FROM generate_series(1, 2000) g;
DELETE FROM u WHERE id % 3 = 0;
VACUUM u;
SELECT ecp_index_check('ui', true);
ALTER TABLE u SET LOGGED;
SELECT ecp_index_check('ui', true);
INSERT INTO u SELECT g, vec(g) FROM generate_series(2001, 3000) g;
ALTER TABLE u SET UNLOGGED;
INSERT INTO u SELECT g, vec(g) FROM generate_series(3001, 4000) g;
SELECT ecp_index_check('ui', true);

-- temporary
CREATE TEMP TABLE p (id int, v bytea);
CREATE INDEX pi ON p USING ecp (v);
INSERT INTO p SELECT g, vec(g) FROM generate_series(1, 3000) g;
DELETE FROM p WHERE id % 3 = 0;
VACUUM p;
INSERT INTO p SELECT g, vec(g) FROM generate_series(1, 3000) g;
SELECT ecp_index_check('pi', true);
CREATE TEMP TABLE pd (id int, v bytea) ON COMMIT DELETE ROWS;
CREATE INDEX pdi ON pd USING ecp (v);
BEGIN;
INSERT INTO pd SELECT g, vec(g) FROM generate_series(1, 300) g;
SELECT rows FROM ecp_index_drift('pdi');
COMMIT;
SELECT rows FROM ecp_index_drift('pdi');
INSERT INTO pd SELECT g, vec(g) FROM generate_series(1, 300) g;
SELECT ecp_index_check('pdi', true);

-- partitioned
CREATE TABLE r (id int, v bytea) PARTITION BY RANGE (id);
CREATE TABLE r1 PARTITION OF r FOR VALUES FROM (0) TO (1000);
CREATE INDEX ri ON r USING ecp (v);
CREATE TABLE r2 PARTITION OF r FOR VALUES FROM (1000) TO (2000);
INSERT INTO r SELECT g, vec(g) FROM generate_series(0, 1999) g;
SELECT ecp_index_check(i.inhrelid, true), s.rows
FROM pg_inherits i, ecp_index_drift(i.inhrelid) s
WHERE i.inhparent = 'ri'::regclass ORDER BY i.inhrelid;
SELECT ecp_index_check('ri', true);
SET enable_seqscan = off;
SET ecp.probes = 1000;
EXPLAIN (COSTS OFF) SELECT id FROM r ORDER BY v <-> vec(1000) LIMIT 3;
SELECT id FROM r ORDER BY v <-> vec(1000), id LIMIT 1;

-- commands that write the index anew, with rows before and after
CREATE TABLE t (id int, v bytea);
INSERT INTO t SELECT g, vec(g) FROM generate_series(1, 1000) g;
CREATE INDEX ti ON t USING ecp (v);
TRUNCATE t;
SELECT rows FROM ecp_index_drift('ti');
INSERT INTO t SELECT g, vec(g) FROM generate_series(1, 1500) g;
SELECT ecp_index_check('ti', true);
BEGIN;
TRUNCATE t;
INSERT INTO t SELECT g, vec(g) FROM generate_series(1, 900) g;
SELECT rows FROM ecp_index_drift('ti');
ROLLBACK;
SELECT ecp_index_check('ti', true);
REINDEX INDEX ti;
SELECT ecp_index_check('ti', true);
REINDEX INDEX CONCURRENTLY ti;
SELECT ecp_index_check('ti', true);
CREATE INDEX CONCURRENTLY ti2 ON t USING ecp (v bytea_ip_ops);
SELECT ecp_index_check('ti2', true);
CLUSTER t USING ti;
VACUUM FULL t;
SELECT ecp_index_check('ti', true);
ALTER TABLE t ALTER id TYPE bigint;
SELECT ecp_index_check('ti', true);
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_ecp_kinds LOCATION '';
ALTER INDEX ti SET TABLESPACE regress_ecp_kinds;
INSERT INTO t SELECT g, vec(g) FROM generate_series(1501, 3000) g;
SELECT ecp_index_check('ti', true);
ALTER INDEX ti SET TABLESPACE pg_default;
SELECT ecp_index_check('ti', true);
DROP TABLESPACE regress_ecp_kinds;

-- made and filled in one transaction, and in a subtransaction that fails
BEGIN;
CREATE TABLE x (id int, v bytea);
CREATE INDEX xi ON x USING ecp (v);
INSERT INTO x SELECT g, vec(g) FROM generate_series(1, 700) g;
SAVEPOINT s;
INSERT INTO x SELECT g, vec(g) FROM generate_series(701, 2000) g;
ROLLBACK TO s;
INSERT INTO x SELECT g, vec(g) FROM generate_series(701, 900) g;
COMMIT;
VACUUM x;
SELECT rows FROM ecp_index_drift('xi');
SELECT ecp_index_check('xi', true);

-- partial, and on an expression
CREATE INDEX xp ON x USING ecp (v) WHERE id % 2 = 0;
CREATE INDEX xe ON x USING ecp ((substr(v, 1, 2)));
INSERT INTO x SELECT g, vec(g) FROM generate_series(901, 1500) g;
SELECT ecp_index_check(i, true), rows
FROM unnest(ARRAY['xp', 'xe']::regclass[]) i, ecp_index_drift(i);
DROP TABLE u, p, pd, r, t, x;
DROP FUNCTION vec;

-- columns of a domain, and of bit varying, by the functions that run queries
CREATE DOMAIN pair AS real[] CHECK (cardinality(VALUE) = 2);
CREATE DOMAIN number AS int;
CREATE TABLE domains (id number, p pair, b bit varying(16));
INSERT INTO domains SELECT g, ARRAY[g, 0]::real[], g::bit(16)::bit varying FROM generate_series(1, 200) g;
CREATE INDEX domains_p ON domains USING ecp (p);
CREATE INDEX domains_b ON domains USING ecp (b);
SELECT query, rank, distance FROM ecp_knn_batch('domains_p', 'SELECT id, p FROM domains WHERE id IN (5, 9)', 2);
SELECT query, rank, distance FROM ecp_knn_exact('domains_p', (SELECT array_agg(p ORDER BY id) FROM domains WHERE id < 3), 1);
SELECT query, rank, distance FROM ecp_knn_batch('domains_b', 'SELECT b FROM domains WHERE id = 5', 1);
SELECT ecp_knn_batch('domains_p', 'SELECT b FROM domains');
SELECT probes, recall > 0.9 AS recall FROM ecp_recall('domains_p', probes => '{100}');
SELECT probes, recall > 0.9 AS recall FROM ecp_recall('domains_b', probes => '{100}');
DROP TABLE domains;
DROP DOMAIN pair, number;
