-- Buffers for inserts: rows wait in them, are found there, and move to the
-- clusters many at a time.
CREATE TABLE b (id int, tag int, v real[]);
INSERT INTO b
	SELECT g, g % 7, ARRAY[100 * sin(g), 100 * cos(g * 1.7), 50 * sin(g * 0.3),
		g / 100.0]::real[]
	FROM generate_series(1, 6000) g;
CREATE INDEX bi ON b USING ecp (v, tag) WITH (buffer_rows = 40);
SELECT buffers, buffered_rows FROM ecp_index_drift('bi');

-- the first insert makes them
INSERT INTO b
	SELECT g, g % 7, ARRAY[100 * sin(g + 0.5), 100 * cos(g * 1.7), 50, g / 100.0]::real[]
	FROM generate_series(6001, 6400) g;
SELECT buffers > 0 AS buffers, buffered_rows, rows, rows_added FROM ecp_index_drift('bi');
SELECT ecp_index_check('bi', true);

-- every row is found once, by a full scan and, if its cluster is read, by one
-- of few clusters
SET enable_seqscan = off;
SET enable_sort = off;
SET ecp.probes = 1000000;
EXPLAIN (COSTS OFF) SELECT id FROM b ORDER BY v <-> '{1,2,3,4}';
SELECT count(*), count(DISTINCT id) FROM
	(SELECT id FROM b ORDER BY v <-> '{1,2,3,4}') x;
SELECT count(*), count(DISTINCT id) FROM
	(SELECT id FROM b WHERE tag = 3 ORDER BY v <-> '{1,2,3,4}') x;
SET ecp.probes = 1;
SET ecp.iterative_scan = off;
SELECT count(*) FROM b q CROSS JOIN LATERAL
	(SELECT id FROM b ORDER BY v <-> q.v LIMIT 1) x
WHERE q.id > 6000 AND x.id = q.id;

-- the answers for many queries are those of the scans
SELECT count(*) FROM ecp_knn_batch('bi', 'SELECT id, v FROM b WHERE id > 6000', 1) x
WHERE x.query = (SELECT id FROM b WHERE b.ctid = x.tid);

-- an index that was created without buffers answers alike
CREATE TABLE bw AS SELECT * FROM b WHERE id <= 6000;
CREATE INDEX bwi ON bw USING ecp (v, tag);
ALTER INDEX bwi SET (buffer_rows = 40);
INSERT INTO bw SELECT * FROM b WHERE id > 6000;
SELECT buffered_rows FROM ecp_index_drift('bwi');
SELECT count(*) FROM b q CROSS JOIN LATERAL
	(SELECT id FROM b ORDER BY v <-> q.v LIMIT 1) x
WHERE q.id > 6000 AND x.id = q.id;
SELECT clusters AS probed FROM ecp_last_scan() \gset
SELECT count(*) FROM b q CROSS JOIN LATERAL
	(SELECT id FROM bw ORDER BY v <-> q.v LIMIT 1) x
WHERE q.id > 6000 AND x.id = q.id;
SELECT indexrelid, clusters = :probed AS probes_alike FROM ecp_last_scan();
SELECT ecp_index_check('bwi', true);
SET ecp.probes = 1000000;
SELECT count(*), count(DISTINCT id) FROM
	(SELECT id FROM bw ORDER BY v <-> '{1,2,3,4}') x;
DROP TABLE bw;
RESET ecp.iterative_scan;
RESET ecp.probes;

-- full buffers are flushed
SELECT clusters AS clusters_before FROM ecp_index_drift('bi') \gset
INSERT INTO b
	SELECT g, g % 7, ARRAY[100 * sin(g), 100 * cos(g * 1.7), 50 * sin(g * 0.3),
		g / 200.0]::real[]
	FROM generate_series(6401, 16000) g;
SELECT s.rows, buffered_rows < 9600 AS flushed, s.clusters > :clusters_before AS more,
	max_rows <= leaf_max AS bounded
FROM ecp_index_drift('bi') s, ecp_metapage_info('bi') m;

-- few rows become a further run of their cluster
SELECT appended_runs > 0 AS appended FROM ecp_index_drift('bi');
SELECT ecp_index_check('bi', true);
SET ecp.probes = 1000000;
SELECT count(*), count(DISTINCT id) FROM
	(SELECT id FROM b ORDER BY v <-> '{1,2,3,4}') x;

-- a scan that began before sees what it saw
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM b ORDER BY v <-> '{0,0,0,60}';
MOVE 10 IN c;
INSERT INTO b SELECT 20000 + g, g % 7, ARRAY[100 * sin(g), 90, 50, g]::real[]
	FROM generate_series(1, 3000) g;
MOVE FORWARD ALL IN c;
COMMIT;
SELECT ecp_index_check('bi', true);

-- dead rows go, and VACUUM leaves the others where they are
DELETE FROM b WHERE id % 3 = 0;
VACUUM b;
SELECT buffered_rows > 0 AS buffered FROM ecp_index_drift('bi');
SELECT ecp_index_check('bi', true);
SELECT count(*) = (SELECT count(*) FROM b WHERE tag >= 0) AS all_found FROM
	(SELECT id FROM b ORDER BY v <-> '{1,2,3,4}') x;

-- ecp_maintain() empties them
SELECT splits >= 0 AS maintained FROM ecp_maintain('bi');
SELECT buffers, buffered_rows FROM ecp_index_drift('bi');
SELECT ecp_index_check('bi', true);
SELECT count(*) = (SELECT count(*) FROM b WHERE tag >= 0) AS all_found FROM
	(SELECT id FROM b ORDER BY v <-> '{1,2,3,4}') x;

-- switched off, inserts go to the clusters, and VACUUM empties what there is
INSERT INTO b SELECT 30000 + g, 0, ARRAY[g, 9, 5, g]::real[] FROM generate_series(1, 50) g;
SELECT buffered_rows FROM ecp_index_drift('bi');
ALTER INDEX bi SET (buffer_rows = 0);
INSERT INTO b SELECT 40000 + g, 0, ARRAY[g, 9, 6, g]::real[] FROM generate_series(1, 50) g;
SELECT buffered_rows FROM ecp_index_drift('bi');
VACUUM b;
SELECT buffers, buffered_rows FROM ecp_index_drift('bi');
SELECT ecp_index_check('bi', true);

-- small nodes of several levels, which are written anew for a flush and split
CREATE TABLE bn (id int, v bytea);
INSERT INTO bn
SELECT g, decode(lpad(to_hex(g % 256), 2, '0') || lpad(to_hex(g / 256), 2, '0') || repeat('07', 62), 'hex')
FROM generate_series(0, 4095) g;
CREATE INDEX bni ON bn USING ecp (v) WITH (levels = 3, cluster_size = 1, buffer_rows = 10);
INSERT INTO bn SELECT id + 10000, v FROM bn;
INSERT INTO bn SELECT id + 20000, v FROM bn;
SELECT buffers > 1 AS buffers, rows FROM ecp_index_drift('bni');
SELECT ecp_index_check('bni', true);
SELECT count(*), count(DISTINCT id) FROM
	(SELECT id FROM bn ORDER BY v <-> decode(repeat('07', 64), 'hex')) x;
DELETE FROM bn WHERE id % 9 > 0;
VACUUM bn;
SELECT ecp_index_check('bni', true);
SELECT merges >= 0 AS maintained FROM ecp_maintain('bni');
SELECT buffers, rows FROM ecp_index_drift('bni');
SELECT ecp_index_check('bni', true);

-- from an empty table, with codes, by cosine distance; unlogged and temporary
CREATE UNLOGGED TABLE be (id int, v real[]);
CREATE INDEX bei ON be USING ecp (v real_cosine_ops) WITH (buffer_rows = 20, quantizer = rabitq);
INSERT INTO be SELECT g, (SELECT array_agg(sin(g * d)) FROM generate_series(1, 64) d)::real[]
	FROM generate_series(1, 4000) g;
SELECT buffered_rows > 0 AS buffered, rows FROM ecp_index_drift('bei');
SELECT ecp_index_check('bei', true);
SET ecp.probes = 20;
SELECT count(*) > 95 AS found FROM generate_series(3901, 4000) q CROSS JOIN LATERAL
	(SELECT id FROM be ORDER BY v <=> (SELECT v FROM be WHERE id = q) LIMIT 1) x
WHERE x.id = q;
CREATE TEMP TABLE bt AS SELECT * FROM be WHERE id <= 1000;
CREATE INDEX bti ON bt USING ecp (v) WITH (buffer_rows = 20);
INSERT INTO bt SELECT id + 10000, v FROM be;
SELECT buffered_rows > 0 AS buffered, rows FROM ecp_index_drift('bti');
SELECT ecp_index_check('bti', true);
SET ecp.probes = 1000000;
SELECT count(*), count(DISTINCT id) FROM
	(SELECT id FROM bt ORDER BY v <-> (SELECT v FROM bt LIMIT 1)) x;
DROP TABLE b, bn, be, bt;
