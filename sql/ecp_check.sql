-- ecp_index_check(): what it accepts, who may, and that it sees what is
-- missing.  Damaged pages are in test/t/004_ecp_damage.pl.
CREATE TABLE k (id int, v real[]);
INSERT INTO k SELECT g, ARRAY[g, g % 10, 1]::real[] FROM generate_series(1, 1000) g;
INSERT INTO k VALUES (0, NULL);
CREATE INDEX ki ON k USING ecp (v);
CREATE INDEX kb ON k USING btree (id);
CREATE VIEW kv AS SELECT * FROM k;
SELECT ecp_index_check('ki');
SELECT ecp_index_check('ki', heapallindexed => true);
SELECT ecp_index_check(NULL);

-- not ours
SELECT ecp_index_check('kb');
SELECT ecp_index_check('k');
SELECT ecp_index_check('kv');
SELECT ecp_index_check(1);

-- rows that the index does not have: they came while it was not ready
UPDATE pg_index SET indisready = false, indisvalid = false WHERE indexrelid = 'ki'::regclass;
INSERT INTO k VALUES (2000, '{1,2,3}');
SELECT ecp_index_check('ki', true);
SELECT ecp_recall('ki');
UPDATE pg_index SET indisready = true, indisvalid = true WHERE indexrelid = 'ki'::regclass;
SELECT ecp_index_check('ki');
SELECT ecp_index_check('ki', true);
REINDEX INDEX ki;
SELECT ecp_index_check('ki', true);

-- who may
CREATE ROLE regress_ecp_check;
SET ROLE regress_ecp_check;
SELECT ecp_index_check('ki');
RESET ROLE;
DROP ROLE regress_ecp_check;

-- a snapshot that is older than rows that were removed
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM k;
SELECT ecp_index_check('ki', true);
COMMIT;
DROP TABLE k CASCADE;
