--
-- Cumulative statistics: what they count, when they are to be seen, and who
-- may reset them.  A session sees its own at once; test/t/015_ecp_stat.pl has
-- the others.
--
CREATE TABLE stat_t (id int, v real[], tenant int);
INSERT INTO stat_t SELECT i, ARRAY[sin(i), cos(i * 3), sin(i * 7)]::real[], i % 10
FROM generate_series(1, 3000) i;
CREATE INDEX stat_i ON stat_t USING ecp (v, tenant);
SELECT * FROM ecp_stat_get('stat_i');
SET enable_seqscan = off;

-- searches
CREATE FUNCTION stat_search(i int) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM (SELECT id FROM stat_t
		ORDER BY v <-> ARRAY[sin(i + 0.5), cos(i), 0.5]::real[] LIMIT 10) s
$$;
EXPLAIN (COSTS OFF) SELECT id FROM stat_t ORDER BY v <-> '{0.1, 0.2, 0.3}' LIMIT 10;
CREATE TEMP TABLE stat_sums AS SELECT * FROM ecp_last_scan() WHERE false;
DO $$
BEGIN
	FOR i IN 1 .. 20 LOOP
		PERFORM stat_search(i);
		INSERT INTO stat_sums SELECT * FROM ecp_last_scan();
	END LOOP;
END $$;
SELECT s.scans, s.early_stops = l.early AS early, s.clusters = l.clusters AS clusters,
	s.pages = l.pages AS pages, s.vectors = l.vectors AS vectors,
	s.reranked = l.reranked AS reranked, s.filtered, s.returned,
	s.dropped = l.dropped AS dropped, s.inserts, s.stats_reset IS NOT NULL AS since
FROM ecp_stat_get('stat_i') s, (SELECT count(*) FILTER (WHERE early) AS early,
	sum(clusters) AS clusters, sum(pages) AS pages, sum(vectors) AS vectors,
	sum(reranked) AS reranked, sum(dropped) AS dropped FROM stat_sums) l;
SELECT count(*) FROM (SELECT id FROM stat_t WHERE tenant = 3
	ORDER BY v <-> '{0.1, 0.2, 0.3}' LIMIT 10) s;
SELECT count(*) FROM ecp_knn_batch('stat_i', 'SELECT v FROM stat_t WHERE id <= 30', 5);
SELECT scans, batch_queries, filtered > 0 AS filtered, returned FROM ecp_stat_get('stat_i');

-- inserts and maintenance
INSERT INTO stat_t SELECT i, ARRAY[sin(i), cos(i * 3), sin(i * 7)]::real[], i % 10
FROM generate_series(3001, 9000) i;
SELECT inserts, splits > 0 AS splits FROM ecp_stat_get('stat_i');
CREATE TEMP TABLE stat_before AS SELECT * FROM ecp_stat_get('stat_i');
CREATE TEMP TABLE stat_done AS SELECT * FROM ecp_maintain('stat_i');
SELECT s.splits - b.splits = d.splits AS splits, s.folds - b.folds = d.folds AS folds,
	s.merges - b.merges = d.merges AS merges, s.drops - b.drops = d.drops AS drops,
	s.regrouped - b.regrouped = d.regrouped AS regrouped,
	s.purged_pages - b.purged_pages = d.purged_pages AS purged
FROM ecp_stat_get('stat_i') s, stat_before b, stat_done d;

-- the statistics are not part of the index
SELECT ecp_index_check('stat_i', true);
SELECT schemaname, relname, indexrelname, indexrelid = 'stat_i'::regclass AS same,
	scans, inserts FROM ecp_stat_indexes WHERE relname = 'stat_t';

-- what was counted by a transaction that is undone was done nevertheless
BEGIN;
SELECT stat_search(1);
INSERT INTO stat_t VALUES (0, '{1, 1, 1}', 0);
ROLLBACK;
SELECT scans, inserts FROM ecp_stat_get('stat_i');

-- an index that is dropped, and one whose transaction is prepared or undone
BEGIN;
SELECT stat_search(1);
DROP INDEX stat_i;
ROLLBACK;
SELECT scans FROM ecp_stat_get('stat_i');
BEGIN;
CREATE TABLE stat_gone (v real[]);
CREATE INDEX stat_gone_i ON stat_gone USING ecp (v);
INSERT INTO stat_gone VALUES ('{1, 2, 3}');
SELECT inserts FROM ecp_stat_get('stat_gone_i');
DROP TABLE stat_gone;
COMMIT;

-- every kind of relation has them; a new file begins anew
CREATE TEMP TABLE stat_temp (v real[]);
CREATE INDEX stat_temp_i ON stat_temp USING ecp (v);
INSERT INTO stat_temp VALUES ('{1, 2, 3}');
CREATE UNLOGGED TABLE stat_unlogged (v real[]);
CREATE INDEX stat_unlogged_i ON stat_unlogged USING ecp (v);
INSERT INTO stat_unlogged VALUES ('{1, 2, 3}');
SELECT relname, inserts FROM ecp_stat_indexes WHERE relname IN ('stat_temp', 'stat_unlogged')
ORDER BY relname;
REINDEX INDEX stat_i;
SELECT scans, inserts FROM ecp_stat_get('stat_i');

-- reset, by the owner
SELECT stat_search(1);
CREATE ROLE regress_ecp_stat;
SET ROLE regress_ecp_stat;
SELECT scans FROM ecp_stat_indexes WHERE relname = 'stat_t';
SELECT ecp_stat_reset('stat_i');
RESET ROLE;
SELECT stats_reset AS before FROM ecp_stat_get('stat_i') \gset
SELECT ecp_stat_reset('stat_i');
SELECT scans, returned, stats_reset > :'before' AS later FROM ecp_stat_get('stat_i');
SELECT ecp_stat_reset('stat_t');
SELECT scans FROM ecp_stat_get('pg_class_oid_index');
SELECT scans FROM ecp_stat_get(0);

DROP ROLE regress_ecp_stat;
DROP TABLE stat_t, stat_unlogged;
DROP FUNCTION stat_search;
