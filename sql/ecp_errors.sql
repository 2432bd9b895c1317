--
-- What a user does wrong at first: each error names the column, the row and the
-- way out.
--
CREATE TABLE errors (id int PRIMARY KEY, name text, data tsvector, numbers int[], v real[], d float8[], b bytea, bits bit(8));

-- the columns of an index
CREATE INDEX ON errors USING ecp (id, v);
\echo :LAST_ERROR_SQLSTATE
CREATE INDEX ON errors USING ecp (id, (lower(name)), v, d);
CREATE INDEX ON errors USING ecp (v, id, b);
\echo :LAST_ERROR_SQLSTATE
CREATE INDEX ON errors USING ecp (name);
CREATE INDEX ON errors USING ecp (id);
CREATE INDEX ON errors USING ecp (id) INCLUDE (v);
CREATE INDEX ON errors USING ecp (data);
\echo :LAST_ERROR_SQLSTATE
CREATE INDEX ON errors USING ecp (v, data);
CREATE INDEX ON errors USING ecp (numbers);
CREATE INDEX ON errors USING ecp (numbers, v);
CREATE INDEX ON errors USING ecp ((numbers::real[])) INCLUDE (data);
-- where core finds the error first, or somebody else is asked
CREATE INDEX ON errors USING ecp (v no_such_ops);
-- (which from PostgreSQL 19 on says where)
\set VERBOSITY sqlstate
CREATE INDEX ON errors USING ecp (no_such_column);
\set VERBOSITY default
CREATE INDEX ON errors USING ecp (v jsonb_ops);
CREATE INDEX ON no_such_table USING ecp (data);
CREATE INDEX ON errors USING btree (data);
CREATE INDEX ON errors USING hash (numbers);
DROP INDEX errors_numbers_data_idx;
-- not in a function
DO $$ BEGIN CREATE INDEX ON errors USING ecp (data); END $$;

-- storage parameters: those of other access methods, misspelt ones, and those
-- that only a build reads
CREATE INDEX ON errors USING ecp (v) WITH (m = 16, ef_construction = 64);
\echo :LAST_ERROR_SQLSTATE
CREATE INDEX ON errors USING ecp (v) WITH (lists = 100);
CREATE INDEX ON errors USING ecp (v) WITH (cluster_sise = 64);
CREATE INDEX ON errors USING ecp (v) WITH (target_recall = 0.05);
SET ecp.target_recall = 0.05;
\echo :LAST_ERROR_SQLSTATE
SET ecp.target_recall = 0.1;
SET ecp.target_recall = 0;
CREATE INDEX errors_set ON errors USING ecp (v) WITH (cluster_size = 64);
ALTER INDEX errors_set SET (cluster_size = 32, seed = 2, buffer_rows = 10, target_recall = 0.9);
ALTER INDEX errors_set RESET (seed);
ALTER TABLE errors_set SET (leaders = random);
ALTER INDEX errors_set SET (target_recall = 0.95);
ALTER INDEX errors_set SET (lists = 100);
ALTER INDEX errors_set SET (levels = 6);
DROP INDEX errors_set;

-- a row among others, when the index is built and later
INSERT INTO errors (id, v) VALUES (1, '{1,2,3}'), (2, '{1,2}');
CREATE INDEX errors_v ON errors USING ecp (v);
\echo :LAST_ERROR_SQLSTATE
SELECT id FROM errors WHERE ctid = '(0,2)';
DELETE FROM errors WHERE id = 2;
CREATE INDEX errors_v ON errors USING ecp (v);
INSERT INTO errors (id, v) VALUES (3, '{1,2,3}'), (4, '{1,2,3,4}');
INSERT INTO errors (id, v) VALUES (5, '{1,-Infinity,NaN}');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO errors (id, v) VALUES (5, '{1,2,NULL}');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO errors (id, v) VALUES (5, '{{1,2,3},{4,5,6}}');
\echo :LAST_ERROR_SQLSTATE
INSERT INTO errors (id, v) VALUES (5, '{}');
\echo :LAST_ERROR_SQLSTATE
UPDATE errors SET v = '{1,2,Infinity}';
CREATE INDEX errors_d ON errors USING ecp (d);
INSERT INTO errors (id, d) VALUES (5, '{1,2,-1e99}');
\echo :LAST_ERROR_SQLSTATE

-- bytes that are written as an array would be
INSERT INTO errors (id, b) VALUES (6, '\x010203');
CREATE INDEX errors_b ON errors USING ecp (b);
INSERT INTO errors (id, b) VALUES (7, '{1,2,3}');
INSERT INTO errors (id, b) VALUES (7, '\x0102');

-- queries, by the index and without
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM errors ORDER BY b <-> '{1,2,3}' LIMIT 1;
SELECT id FROM errors ORDER BY b <-> '{1,2,3}' LIMIT 1;
SELECT id FROM errors ORDER BY b <-> '[1,2]' LIMIT 1;
SELECT id FROM errors ORDER BY v <-> '{1,2}' LIMIT 1;
SELECT id FROM errors ORDER BY v <-> '{1,2,NaN}' LIMIT 1;
SELECT id FROM errors ORDER BY v <-> '{NULL,2,3}' LIMIT 1;
SELECT id FROM errors ORDER BY v <-> '{{1,2,3}}' LIMIT 1;
SELECT id FROM errors ORDER BY v <-> '{}' LIMIT 1;
RESET enable_seqscan;
SELECT '{1,2,3}' <-> '\x010203'::bytea;
SELECT '\x010203'::bytea <-> '\x0102';

-- many queries
SELECT * FROM ecp_knn_batch('errors_v', '{{1,2,3},{4,5,NaN}}'::real[], 1);
SELECT * FROM ecp_knn_batch('errors_v', 'SELECT * FROM (VALUES (11, ''{1,2,3}''::float8[]), (12, ''{1,1e99,3}''), (13, ''{1}'')) q', 1);
SELECT * FROM ecp_knn_batch('errors_v', 'SELECT * FROM (VALUES (11, ''{1,2,3}''::real[]), (13, ''{1}'')) q', 1);
SELECT * FROM ecp_knn_batch('errors_v', ARRAY[[1, 2, 3], [4, 5, 6]], 1);

DROP TABLE errors;
