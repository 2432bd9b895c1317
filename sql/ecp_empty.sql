-- An index that is created on an empty table: dimensions are learnt from the
-- first row, one cluster takes everything until it splits, and dimensions are
-- forgotten when all is gone.
CREATE TABLE e (id int, v real[]);
CREATE INDEX ei ON e USING ecp (v);
SELECT dims, levels, clusters, root_block FROM ecp_metapage_info('ei');
SELECT ecp_index_check('ei', true);

-- scans of nothing, and rows that are not indexed
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM e ORDER BY v <-> '{0,0,0}' LIMIT 3;
SELECT id FROM e ORDER BY v <-> '{0,0,0}' LIMIT 3;
INSERT INTO e VALUES (0, NULL);
SELECT dims, clusters FROM ecp_metapage_info('ei');

-- the first row, aborted or not, says what the dimensions are
BEGIN;
INSERT INTO e VALUES (1, '{1,1,1}');
ROLLBACK;
SELECT dims, dims_learned, clusters FROM ecp_metapage_info('ei');
INSERT INTO e VALUES (2, '{2,2}');
INSERT INTO e VALUES (3, '{3,3,3}'), (4, '{4,4,4}');
SELECT id FROM e ORDER BY v <-> '{0,0,0}' LIMIT 3;

-- forgotten: VACUUM drops the root, and frees it when no snapshot is older
DELETE FROM e;
VACUUM e;
SELECT dims, levels, clusters FROM ecp_metapage_info('ei');
SELECT txid_current() IS NOT NULL AS next_transaction;
SELECT drops FROM ecp_maintain('ei');
SELECT retired_pages FROM ecp_metapage_info('ei');
INSERT INTO e VALUES (2, '{2,2}');
SELECT dims, dims_learned, clusters FROM ecp_metapage_info('ei');
SELECT id, v FROM e ORDER BY v <-> '{0,0}' LIMIT 3;
SELECT ecp_index_check('ei', true);

-- but not those that were asked for
DROP INDEX ei;
TRUNCATE e;
CREATE INDEX ei ON e USING ecp (v) WITH (dims = 3);
INSERT INTO e VALUES (1, '{1,1}');
INSERT INTO e VALUES (1, '{1,1,1}');
SELECT dims, dims_learned FROM ecp_metapage_info('ei');

-- vectors that are refused leave nothing behind
INSERT INTO e VALUES (1, '{1,NULL,1}');
INSERT INTO e VALUES (1, '{1,NaN,1}');
INSERT INTO e VALUES (1, '{{1,1,1}}');
SELECT ecp_index_check('ei', true);

-- it grows: leaders appear with the first split, and a search finds all
TRUNCATE e;
INSERT INTO e
SELECT g, ARRAY[(g % 100)::real, (g / 100)::real, (g % 7)::real]
FROM generate_series(0, 9999) g;
SELECT levels, clusters > 20 AS has_clusters, rows FROM ecp_index_drift('ei');
SELECT ecp_index_check('ei', true);
SET ecp.probes = 1000000;
SELECT id, v <-> '{50.2,50.1,3}' AS distance FROM e
ORDER BY v <-> '{50.2,50.1,3}' LIMIT 4;
RESET ecp.probes;

-- zero length under cosine is not indexed, nor does it say the dimensions
CREATE INDEX ec ON e USING ecp (v real_cosine_ops);
TRUNCATE e;
INSERT INTO e VALUES (1, '{0,0}');
DROP INDEX ei;
INSERT INTO e VALUES (1, '{0,0}');
SELECT dims, clusters FROM ecp_metapage_info('ec');
INSERT INTO e VALUES (2, '{1,2,3,4}');
SELECT dims, clusters FROM ecp_metapage_info('ec');
SELECT ecp_index_check('ec', true);
DROP TABLE e;
