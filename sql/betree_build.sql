--
-- betree: builds of all kinds, and what inserts make of them
--
-- Each index is checked against its table, and queries through it against
-- sequential scans.
-- few rows are held back, so that logs take them
SET work_mem = '64kB';

CREATE TABLE bt_build (k int8, t text);

-- an empty one
CREATE INDEX bt_build_k ON bt_build USING betree (k);
SELECT betree_index_check('bt_build_k', true);
SELECT key_columns, columns, height FROM betree_metapage_info('bt_build_k');

-- grown by inserts: random, ascending (past the logs), all equal
INSERT INTO bt_build SELECT (g * 7919) % 100003, 'r' || g FROM generate_series(1, 30000) g;
INSERT INTO bt_build SELECT 200000 + g, 's' || g FROM generate_series(1, 10000) g;
INSERT INTO bt_build SELECT 77, 'e' || g FROM generate_series(1, 5000) g;
SELECT betree_index_check('bt_build_k', true);
SELECT height >= 1 AS height, leaves > 50 AS leaves, messages > 0 AS moved,
	   messages + messages_in_logs BETWEEN 30000 AND 35000 AS by_logs
  FROM betree_index_stats('bt_build_k');

-- flushed: everything in the leaves
SELECT betree_flush('bt_build_k');
SELECT betree_index_check('bt_build_k', true);
SELECT messages_in_logs, messages BETWEEN 30000 AND 35000 AS by_logs FROM betree_index_stats('bt_build_k');

-- built from rows
CREATE INDEX bt_build_t ON bt_build USING betree (t) WITH (fillfactor = 60);
SELECT betree_index_check('bt_build_t', true);
REINDEX INDEX bt_build_k;
SELECT betree_index_check('bt_build_k', true);
SELECT messages_in_logs, messages FROM betree_index_stats('bt_build_k');
CREATE INDEX CONCURRENTLY bt_build_c ON bt_build USING betree (k, t);
INSERT INTO bt_build SELECT g, 'after' FROM generate_series(1, 1000) g;
REINDEX INDEX CONCURRENTLY bt_build_c;
SELECT betree_index_check('bt_build_c', true);

SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(k) FROM bt_build WHERE k BETWEEN 70 AND 5000 AND t >= '';
SELECT count(*), sum(k) FROM bt_build WHERE k BETWEEN 70 AND 5000 AND t >= '';
SELECT count(*) FROM bt_build WHERE t = 'after';
RESET enable_seqscan;
RESET enable_bitmapscan;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SELECT count(*), sum(k) FROM bt_build WHERE k BETWEEN 70 AND 5000 AND t >= '';
SELECT count(*) FROM bt_build WHERE t = 'after';
RESET ALL;

-- partial, expression, unlogged, temporary, partitioned
CREATE INDEX bt_build_p ON bt_build USING betree ((k % 10)) WHERE k < 1000;
SELECT betree_index_check('bt_build_p', true);
CREATE UNLOGGED TABLE bt_build_u AS SELECT * FROM bt_build;
CREATE INDEX ON bt_build_u USING betree (k);
INSERT INTO bt_build_u SELECT g, 'u' FROM generate_series(1, 10000) g;
SELECT betree_index_check('bt_build_u_k_idx', true);
CREATE TEMPORARY TABLE bt_build_tmp AS SELECT * FROM bt_build LIMIT 1000;
CREATE INDEX ON bt_build_tmp USING betree (k);
INSERT INTO bt_build_tmp SELECT g, 'u' FROM generate_series(1, 10000) g;
SELECT betree_index_check('bt_build_tmp_k_idx', true);
CREATE TABLE bt_build_part (k int4, v int4) PARTITION BY RANGE (k);
CREATE TABLE bt_build_part1 PARTITION OF bt_build_part FOR VALUES FROM (0) TO (500);
CREATE TABLE bt_build_part2 PARTITION OF bt_build_part FOR VALUES FROM (500) TO (1000);
CREATE INDEX ON bt_build_part USING betree (k);
INSERT INTO bt_build_part SELECT g % 1000, g FROM generate_series(1, 3000) g;
SELECT betree_index_check('bt_build_part1_k_idx', true);
SET enable_seqscan = off;
SELECT k, v FROM bt_build_part WHERE k IN (3, 777) ORDER BY k, v;
RESET ALL;

-- CLUSTER
CLUSTER bt_build USING bt_build_k;
SELECT betree_index_check('bt_build_k', true);
SELECT count(*) FROM (SELECT k, lag(k) OVER (ORDER BY ctid) AS before FROM bt_build) s
 WHERE before > k;

DROP TABLE bt_build, bt_build_u, bt_build_tmp, bt_build_part;
