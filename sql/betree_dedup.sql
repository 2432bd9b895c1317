--
-- betree: rows with the same key share items of leaves (postings)
--
-- before 18 a unique betree comes with a NOTICE (betree_reach)
-- few rows are held back, so that logs take them
SET work_mem = '64kB';
SET client_min_messages = warning;

-- rows and items of the leaves, the items with several rows
CREATE FUNCTION leaf_items(index regclass, OUT rows bigint, OUT items bigint,
						   OUT postings bigint)
LANGUAGE sql AS $$
	SELECT coalesce(sum(i.rows), 0), count(*), count(*) FILTER (WHERE i.rows > 1)
	FROM generate_series(1, pg_relation_size(index) / 8192 - 1) blkno,
		 LATERAL (SELECT kind FROM betree_node_info(index, blkno)) n,
		 LATERAL betree_page_items(index, blkno) i
	WHERE n.kind = 'leaf'
$$;

-- a build, and btree's for comparison
CREATE TABLE few (k int4, id int4) WITH (autovacuum_enabled = off);
INSERT INTO few SELECT nullif(hashint4(g) % 20, 0), g FROM generate_series(1, 30000) g;
CREATE INDEX few_k ON few USING betree (k);
CREATE INDEX few_btree ON few USING btree (k);
SELECT rows, items < 300 AS few_items, postings < 300 AS few_postings FROM leaf_items('few_k');
SELECT pg_relation_size('few_k') < pg_relation_size('few_btree') AS smaller;
SELECT betree_index_check('few_k', true);
DROP INDEX few_btree;

-- rows that come one by one, in any order of keys
CREATE TABLE grown (LIKE few) WITH (autovacuum_enabled = off);
CREATE INDEX grown_k ON grown USING betree (k) WITH (log_pages = 2);
INSERT INTO grown SELECT * FROM few;
SELECT betree_index_check('grown_k', true);
SELECT betree_flush('grown_k');
SELECT rows, items < 1000 AS few_items FROM leaf_items('grown_k');
SELECT betree_index_check('grown_k', true);

-- all forms of scans, beside a table without an index
CREATE TABLE plain AS SELECT * FROM few;
CREATE FUNCTION answers(name text)
	RETURNS TABLE (what text, n bigint, ids numeric, crc numeric) LANGUAGE plpgsql AS $$
DECLARE
	how text;
	quals text;
BEGIN
	PERFORM set_config('enable_seqscan', (name = 'plain')::text, true);
	FOREACH how IN ARRAY '{indexscan,indexonlyscan,bitmapscan}'::text[] LOOP
		IF name <> 'plain' THEN
			PERFORM set_config('enable_indexscan', (how <> 'bitmapscan')::text, true),
				set_config('enable_indexonlyscan', (how = 'indexonlyscan')::text, true),
				set_config('enable_bitmapscan', (how = 'bitmapscan')::text, true);
		END IF;
		FOREACH quals IN ARRAY ARRAY['k = 7', 'k > 3 AND k <= 9', 'k IN (-3, 5, 99, 12)',
									'k IS NULL', 'k IS NOT NULL', 'k < -12'] LOOP
			what := how || ': ' || quals;
			IF how = 'indexonlyscan' THEN
				RETURN QUERY EXECUTE format('SELECT %L, count(*), 0::numeric, sum(k)::numeric FROM %I WHERE %s',
											what, name, quals);
			ELSE
				RETURN QUERY EXECUTE format('SELECT %L, count(*), sum(id::bigint), sum(id::bigint * k) FROM %I WHERE %s',
											what, name, quals);
			END IF;
		END LOOP;
	END LOOP;
END $$;
SELECT * FROM answers('few') EXCEPT SELECT * FROM answers('plain');
SELECT * FROM answers('grown') EXCEPT SELECT * FROM answers('plain');
SELECT what, n FROM answers('few') WHERE what LIKE 'bitmapscan%';

SET enable_seqscan = off;
SET enable_sort = off;
SET enable_bitmapscan = off;

-- backward, and there and back
SELECT count(*), count(*) FILTER (WHERE k > before) AS wrong
FROM (SELECT k, lag(k) OVER () AS before
	  FROM (SELECT k FROM few WHERE k <= 9 ORDER BY k DESC OFFSET 0) s) t;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k, id FROM few WHERE k IN (4, 6) ORDER BY k;
MOVE 1490 c;
FETCH 2 c;
FETCH BACKWARD 1 c;
MOVE FORWARD ALL c;
FETCH BACKWARD 1 c;
MOVE BACKWARD ALL c;
FETCH FORWARD 1 c;
COMMIT;

-- marks: each row of one side meets all of the other with its key
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_material = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM few a JOIN grown b USING (k) WHERE a.k BETWEEN 3 AND 4;
SELECT count(*), sum(a.id::bigint * b.id) FROM few a JOIN grown b USING (k) WHERE a.k BETWEEN 3 AND 4;
SELECT sum(n * n) AS count, sum(ids * ids) AS sum
FROM (SELECT count(*) n, sum(id::bigint) AS ids FROM plain WHERE k BETWEEN 3 AND 4 GROUP BY k) s;
RESET enable_hashjoin;
RESET enable_nestloop;
RESET enable_material;

-- VACUUM takes rows out of postings, and whole ones
DELETE FROM few WHERE id % 3 = 0 OR k = 11;
DELETE FROM plain WHERE id % 3 = 0 OR k = 11;
VACUUM few;
SELECT betree_index_check('few_k', true);
SELECT rows = (SELECT count(*) FROM few) AS all_rows, items < 300 AS few_items FROM leaf_items('few_k');
SELECT * FROM answers('few') EXCEPT SELECT * FROM answers('plain');

-- rows in their places come among those that are left
INSERT INTO few SELECT hashint4(g) % 20, g FROM generate_series(30001, 39000) g;
INSERT INTO plain SELECT hashint4(g) % 20, g FROM generate_series(30001, 39000) g;
SELECT betree_index_check('few_k', true);
SELECT * FROM answers('few') EXCEPT SELECT * FROM answers('plain');
SELECT betree_flush('few_k');
SELECT betree_index_check('few_k', true);
SELECT * FROM answers('few') EXCEPT SELECT * FROM answers('plain');
DELETE FROM few;
VACUUM few;
SELECT betree_index_check('few_k', true);
SELECT * FROM leaf_items('few_k');

-- what is equal, but not the same, is kept apart and returned as it was
CREATE TABLE scales (k numeric, id int4) WITH (autovacuum_enabled = off);
INSERT INTO scales SELECT CASE WHEN g % 4 = 0 THEN 1.00 ELSE 1.0 END, g FROM generate_series(1, 4000) g;
CREATE INDEX scales_k ON scales USING betree (k);
SELECT rows, items - postings > 900 AS has_single, postings > 900 AS has_postings FROM leaf_items('scales_k');
VACUUM scales;
EXPLAIN (COSTS OFF) SELECT k FROM scales WHERE k = 1;
SELECT k::text, count(*) FROM (SELECT k FROM scales WHERE k = 1 OFFSET 0) s GROUP BY 1 ORDER BY 1;

-- also if it comes later, and cuts postings to pieces
DELETE FROM scales WHERE id % 2 = 0;
VACUUM scales;
REINDEX INDEX scales_k;
SELECT rows, items < 20 AS few_items FROM leaf_items('scales_k');
INSERT INTO scales SELECT 1.000, -g FROM generate_series(1, 2000) g;
SELECT betree_flush('scales_k');
SELECT rows, items > 3000 AS many_items FROM leaf_items('scales_k');
SELECT betree_index_check('scales_k', true);
VACUUM scales;
SELECT k::text, count(*) FROM (SELECT k FROM scales WHERE k = 1 OFFSET 0) s GROUP BY 1 ORDER BY 1;
CREATE TABLE zeros AS SELECT CASE WHEN g <= 500 THEN '-0'::float8 ELSE 0 END AS k FROM generate_series(1, 1000) g;
CREATE INDEX zeros_k ON zeros USING betree (k);
SELECT rows, items, postings FROM leaf_items('zeros_k');
VACUUM zeros;
SELECT k::text, count(*) FROM (SELECT k FROM zeros WHERE k = 0 OFFSET 0) s GROUP BY 1 ORDER BY 1;

-- several columns, long keys, and those that leave no room for others
CREATE TABLE wide (a text, b int4);
INSERT INTO wide SELECT repeat(chr(97 + g % 3), 100 * (1 + g % 13)), g % 2 FROM generate_series(1, 3000) g;
ALTER TABLE wide ALTER a SET STORAGE plain;
CREATE INDEX wide_ab ON wide USING betree (a COLLATE "C" DESC, b);
CREATE INDEX wide_md5 ON wide USING betree (md5(a), b);
SELECT rows, items < 600 AS few_items FROM leaf_items('wide_ab');
SELECT rows, items, postings FROM leaf_items('wide_md5');
SELECT betree_index_check('wide_ab', true), betree_index_check('wide_md5', true);
SELECT count(*) FROM wide WHERE a = repeat('b', 500) AND b = 1;

-- not in unique indexes, with INCLUDE columns, or without the parameter
CREATE UNIQUE INDEX few_id ON grown USING betree (id);
CREATE INDEX few_include ON grown USING betree (k) INCLUDE (id);
CREATE INDEX few_off ON grown USING betree (k) WITH (deduplicate_items = off);
SELECT i, s.postings FROM unnest('{few_id,few_include,few_off}'::regclass[]) i, leaf_items(i) s;
ALTER INDEX few_off SET (deduplicate_items = on);
REINDEX INDEX few_off;
SELECT postings > 20 AS on FROM leaf_items('few_off');
ALTER INDEX few_off SET (deduplicate_items = off);
DELETE FROM grown WHERE id % 2 = 0;
VACUUM grown;
INSERT INTO grown SELECT hashint4(g) % 20, g FROM generate_series(30001, 39000) g;
SELECT betree_flush('few_off'), betree_flush('grown_k');
SELECT betree_index_check(i, true) FROM unnest('{grown_k,few_id,few_include,few_off}'::regclass[]) i;

-- versions of rows, the dead ones purged
CREATE TABLE versions (id int4 PRIMARY KEY, k int4, n int4) WITH (autovacuum_enabled = off);
INSERT INTO versions SELECT g, g % 3, 0 FROM generate_series(1, 600) g;
CREATE INDEX versions_k ON versions USING betree (k) WITH (log_pages = 0);
CREATE INDEX versions_n ON versions (n);
DO $$
BEGIN
	FOR i IN 1 .. 30 LOOP
		UPDATE versions SET n = i;
		COMMIT;
	END LOOP;
END $$;
SELECT betree_index_check('versions_k', true);
SELECT rows < 9000 AS purged, postings > 3 AS postings FROM leaf_items('versions_k');
SELECT k, count(*), sum(n) FROM versions WHERE k >= 0 GROUP BY k ORDER BY k;

DROP TABLE few, grown, plain, scales, zeros, wide, versions;
DROP FUNCTION answers, leaf_items;
