-- VACUUM removes dead rows, frees their slots for new ones, splits, folds,
-- merges and drops clusters, frees replaced ones once no snapshot is older, and
-- gives back the end of the file (016_ecp_age.pl).
CREATE TABLE v (id int, v bytea);
INSERT INTO v
SELECT g, decode(lpad(to_hex(g % 256), 2, '0') || lpad(to_hex(g / 256), 2, '0') || repeat('07', 62), 'hex')
FROM generate_series(0, 9999) g;
CREATE INDEX vi ON v USING ecp (v);
SELECT pg_relation_size('vi') AS size_before \gset

-- half of the rows, and again
DELETE FROM v WHERE id % 2 = 0;
VACUUM v;
SELECT rows FROM ecp_index_drift('vi');
SELECT ecp_index_check('vi', true);
INSERT INTO v
SELECT g, decode(lpad(to_hex(g % 256), 2, '0') || lpad(to_hex(g / 256), 2, '0') || repeat('07', 62), 'hex')
FROM generate_series(0, 9998, 2) g;
SELECT rows, pg_relation_size('vi') <= 1.15 * :size_before AS same_size
FROM ecp_index_drift('vi');
SELECT ecp_index_check('vi', true);

-- nearly all rows: clusters are merged or dropped
SELECT clusters AS clusters_before FROM ecp_metapage_info('vi') \gset
SELECT pg_current_wal_insert_lsn() AS lsn_before \gset
DELETE FROM v WHERE id % 50 > 0 OR id > 5000;
VACUUM v;
VACUUM v;
SELECT rows, clusters < :clusters_before AS fewer FROM ecp_index_drift('vi');
SELECT ecp_index_check('vi', true);
SELECT txid_current() IS NOT NULL AS next_transaction;
SELECT splits FROM ecp_maintain('vi');
SELECT retired_pages FROM ecp_metapage_info('vi');
SELECT ecp_index_check('vi', true);

-- standbys are told before pages are free: by core's record, of GiST
CREATE TEMP TABLE flushed AS SELECT pg_current_wal_insert_lsn() AS lsn_after;
SELECT count(*) > 0 AS can_read FROM pg_available_extensions WHERE name = 'pg_walinspect' \gset
\set told true
\if :can_read
CREATE EXTENSION pg_walinspect;
\set told 'EXISTS (SELECT FROM pg_get_wal_records_info(:''lsn_before'', lsn_after) WHERE resource_manager = ''Gist'' AND record_type = ''PAGE_REUSE'')'
\endif
SELECT :told AS told FROM flushed;
\if :can_read
DROP EXTENSION pg_walinspect;
\endif
DROP TABLE flushed;

-- what was freed is used again
INSERT INTO v
SELECT g, decode(lpad(to_hex(g % 256), 2, '0') || lpad(to_hex(g / 256), 2, '0') || repeat('07', 62), 'hex')
FROM generate_series(0, 9999) g WHERE g % 50 > 0 OR g > 5000;
SELECT rows FROM ecp_index_drift('vi');
SELECT ecp_index_check('vi', true);

-- a cursor that is older reads what it began with
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL ecp.iterative_scan = relaxed_order;
DECLARE c CURSOR FOR SELECT id FROM v ORDER BY v <-> (SELECT v FROM v LIMIT 1);
FETCH 1 FROM c;
INSERT INTO v SELECT id + 100000, v FROM v;
SELECT splits IS NOT NULL AS maintained FROM ecp_maintain('vi');
MOVE ALL FROM c;
COMMIT;
SELECT ecp_index_check('vi', true);

-- no rows: the one cluster of an index stays empty
DELETE FROM v;
VACUUM v;
VACUUM v;
SELECT rows FROM ecp_index_drift('vi');
SELECT ecp_index_check('vi', true);
INSERT INTO v VALUES (1, decode(repeat('07', 64), 'hex'));
SET enable_seqscan = off;
SELECT id FROM v ORDER BY v <-> (SELECT v FROM v LIMIT 1) LIMIT 2;

-- who may
CREATE ROLE regress_ecp_vacuum;
SET ROLE regress_ecp_vacuum;
SELECT * FROM ecp_maintain('vi');
RESET ROLE;
SELECT * FROM ecp_maintain('v');
DROP ROLE regress_ecp_vacuum;
DROP TABLE v;
