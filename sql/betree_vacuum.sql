--
-- betree: VACUUM removes entries wherever they are, and pages are used again
--
-- few rows are held back, so that logs take them
SET work_mem = '64kB';

CREATE TABLE bt_vacuum (k int4, t text) WITH (autovacuum_enabled = off);
CREATE INDEX bt_vacuum_k ON bt_vacuum USING betree (k);
INSERT INTO bt_vacuum SELECT g * 7919 % 30011, 'x' FROM generate_series(1, 30010) g
WHERE g * 7919 % 30011 <= 30000;

-- buffered and unbuffered entries
SELECT messages_in_logs > 0 AS some_in_logs, messages > 0 AS some_moved
  FROM betree_index_stats('bt_vacuum_k');
DELETE FROM bt_vacuum WHERE k % 2 = 0;
VACUUM bt_vacuum;
SELECT betree_index_check('bt_vacuum_k', true);
SELECT reltuples FROM pg_class WHERE relname = 'bt_vacuum_k';

-- whole leaves are freed, and taken again
SELECT betree_flush('bt_vacuum_k');
DELETE FROM bt_vacuum WHERE k BETWEEN 5000 AND 25000;
VACUUM bt_vacuum;
SELECT betree_index_check('bt_vacuum_k', true);
SELECT pg_relation_size('bt_vacuum_k') AS size \gset
SELECT count(*) > 20 AS freed
  FROM generate_series(1, :size / 8192 - 1) blkno, betree_node_info('bt_vacuum_k', blkno)
 WHERE kind = 'free';
INSERT INTO bt_vacuum SELECT g, 'y' FROM generate_series(5000, 15000) g;
SELECT betree_flush('bt_vacuum_k');
SELECT pg_relation_size('bt_vacuum_k') <= :size AS reused;
SELECT betree_index_check('bt_vacuum_k', true);

-- everything goes
DELETE FROM bt_vacuum;
VACUUM bt_vacuum;
SELECT betree_index_check('bt_vacuum_k', true);
SET enable_seqscan = off;
SELECT count(*) FROM bt_vacuum WHERE k > 0;
INSERT INTO bt_vacuum VALUES (1, 'new');
SELECT k, t FROM bt_vacuum WHERE k > 0;

-- nothing to delete
VACUUM bt_vacuum;
VACUUM ANALYZE bt_vacuum;
SELECT betree_index_check('bt_vacuum_k', true);
TRUNCATE bt_vacuum;
SELECT betree_index_check('bt_vacuum_k', true);
DROP TABLE bt_vacuum;
