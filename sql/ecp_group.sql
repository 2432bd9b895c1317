-- Leaves replaced in groups: by ecp_maintain() where an index has grown, by
-- VACUUM around splits.
CREATE TABLE gr (id int, tag int, v real[]);
CREATE INDEX gri ON gr USING ecp (v);
INSERT INTO gr
	SELECT g, g % 7, ARRAY[100 * sin(g), 100 * cos(g * 1.7), 50 * sin(g * 0.3),
		g / 100.0]::real[]
	FROM generate_series(1, 6000) g;
CREATE TABLE before AS SELECT * FROM ecp_index_drift('gri');

-- everything is young: all is trained anew, and no row is lost
SELECT regrouped >= clusters AS regrouped FROM ecp_maintain('gri'), before;
SELECT ecp_index_check('gri', heapallindexed => true);
SELECT s.rows, s.rows = b.rows AS same, s.clusters > b.clusters AS more,
	s.max_rows <= m.leaf_max AS bounded
FROM ecp_index_drift('gri') s, before b, ecp_metapage_info('gri') m;
SELECT ecp_misassigned('gri') < 0.3 AS placed;
SELECT unfinished FROM ecp_metapage_info('gri');

-- nothing is young any more
SELECT regrouped FROM ecp_maintain('gri');

-- every row is found, once
SET enable_seqscan = off;
SET ecp.probes = 1000000;
EXPLAIN (COSTS OFF) SELECT id FROM gr ORDER BY v <-> '{1,2,3,4}';
SELECT count(*), count(DISTINCT id) FROM
	(SELECT id FROM gr ORDER BY v <-> '{1,2,3,4}') x;

-- a scan that began before sees what it saw
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM gr ORDER BY v <-> '{0,0,0,60}';
MOVE 10 IN c;
INSERT INTO gr SELECT 6000 + g, g % 7, ARRAY[100 * sin(g), 90, 50, g]::real[]
	FROM generate_series(1, 3000) g;
SELECT regrouped > 0 AS regrouped FROM ecp_maintain('gri');
MOVE FORWARD ALL IN c;
COMMIT;
SELECT ecp_index_check('gri', true);

-- VACUUM, and small leaves
DELETE FROM gr WHERE id % 10 > 0;
VACUUM gr;
SELECT ecp_index_check('gri', true);
INSERT INTO gr SELECT g, g % 7, ARRAY[10 * sin(g), g % 13, 5, g / 10]::real[]
	FROM generate_series(1, 2000) g;
VACUUM gr;
SELECT regrouped >= 0 AS maintained FROM ecp_maintain('gri');
SELECT ecp_index_check('gri', true);
SELECT count(*) = (SELECT count(*) FROM gr WHERE tag >= 0) AS all_found FROM
	(SELECT id FROM gr ORDER BY v <-> '{1,2,3,4}') x;

-- equal rows, cosine, and attributes
CREATE TABLE eq (id int, tag int, v bytea);
CREATE INDEX eqi ON eq USING ecp (v bytea_cosine_ops, tag);
INSERT INTO eq SELECT g, g % 5, '\x0102030405' FROM generate_series(1, 1500) g;
INSERT INTO eq SELECT g, g % 5, decode(lpad(to_hex(g), 10, '5'), 'hex')
	FROM generate_series(1, 2500) g;
SELECT regrouped > 0 AS regrouped FROM ecp_maintain('eqi');
SELECT ecp_index_check('eqi', true);
SELECT count(*) FROM (SELECT id FROM eq WHERE tag = 3 ORDER BY v <=> '\x0102030405') x;
-- hardly any memory, and vectors that take pages
CREATE TABLE wide (id int, v real[]);
ALTER TABLE wide ALTER v SET STORAGE external;
CREATE INDEX widei ON wide USING ecp (v);
INSERT INTO wide SELECT g, array_agg(sin(g * e)::real ORDER BY e)
	FROM generate_series(1, 400) g, generate_series(1, 2100) e GROUP BY g;
SET maintenance_work_mem = '1MB';
SELECT regrouped > 0 AS regrouped FROM ecp_maintain('widei');
RESET maintenance_work_mem;
SELECT ecp_index_check('widei', true);
SELECT count(*) FROM (SELECT id FROM wide ORDER BY v <-> (SELECT v FROM wide WHERE id = 1 OFFSET 0)) x;
DROP TABLE wide, gr, eq, before;
