--
-- betree: order in both directions, NULLs, several columns, INCLUDE
--
-- A function compares the answer through an index with that of a sort over a
-- sequential scan, row by row.

CREATE TABLE bt_order (a int4, b text, c int4);
INSERT INTO bt_order
SELECT CASE WHEN g % 37 = 0 THEN NULL ELSE g % 500 END,
	   CASE WHEN g % 11 = 0 THEN NULL ELSE md5((g % 700)::text) END, g
  FROM generate_series(1, 6000) g;
CREATE INDEX bt_order_ab ON bt_order USING betree (a, b DESC) INCLUDE (c);
CREATE INDEX bt_order_ba ON bt_order USING betree (b COLLATE "C" NULLS FIRST, a DESC NULLS LAST);
INSERT INTO bt_order
SELECT CASE WHEN g % 41 = 0 THEN NULL ELSE g % 450 END,
	   CASE WHEN g % 13 = 0 THEN NULL ELSE md5((g % 800)::text) END, g
  FROM generate_series(6001, 20000) g;
VACUUM ANALYZE bt_order;

CREATE FUNCTION bt_order_same(query text, node text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	plan text := '';
	line text;
	by_index text;
	by_sort text;
	n int8;
BEGIN
	SET LOCAL enable_seqscan = off;
	SET LOCAL enable_sort = off;
	SET LOCAL enable_bitmapscan = off;
	EXECUTE 'SELECT md5(string_agg(s::text, ''|'')), count(*) FROM (' || query || ') s'
	   INTO by_index, n;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		plan := plan || line;
	END LOOP;
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_sort = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_indexonlyscan = off;
	EXECUTE 'SELECT md5(string_agg(s::text, ''|'')) FROM (' || query || ') s'
	   INTO by_sort;
	SET LOCAL enable_indexscan = on;
	SET LOCAL enable_indexonlyscan = on;
	IF position(node IN plan) = 0 THEN
		RETURN 'other plan: ' || plan;
	END IF;
	RETURN n || CASE WHEN by_index IS NOT DISTINCT FROM by_sort THEN ' same' ELSE ' DIFFERENT' END;
END $$;

SELECT bt_order_same(q, node) AS answer, q
  FROM (VALUES
  ('SELECT a, b FROM bt_order ORDER BY a, b DESC, c', 'Index Only Scan using bt_order_ab'),
  ('SELECT a, b FROM bt_order ORDER BY a, b DESC', 'Index Only Scan using bt_order_ab'),
  ('SELECT a, b FROM bt_order ORDER BY a DESC, b', 'Index Only Scan Backward using bt_order_ab'),
  ('SELECT a, b FROM bt_order WHERE a = 17 ORDER BY b DESC', 'Index Only Scan using bt_order_ab'),
  ('SELECT a, b FROM bt_order WHERE a > 17 AND a <= 30 ORDER BY a, b DESC', 'Index Only Scan using bt_order_ab'),
  ('SELECT a, b FROM bt_order WHERE a >= 17 AND a < 30::int8 ORDER BY a DESC, b', 'Index Only Scan Backward using bt_order_ab'),
  ('SELECT a, b FROM bt_order WHERE a = 5 AND b < ''8'' ORDER BY b DESC', 'Index Only Scan using bt_order_ab'),
  ('SELECT a, b FROM bt_order WHERE a IS NULL ORDER BY b DESC', 'Index Only Scan using bt_order_ab'),
  ('SELECT a, b FROM bt_order WHERE a IS NOT NULL ORDER BY a DESC, b', 'Index Only Scan Backward using bt_order_ab'),
  ('SELECT a, b FROM bt_order WHERE a IS NULL AND b IS NULL', 'Index Only Scan using bt_order_ba'),
  ('SELECT a FROM bt_order WHERE a < 3 AND a > 5 ORDER BY a', 'Index Only Scan using bt_order_ab'),
  ('SELECT a FROM bt_order WHERE a = NULL::int4 ORDER BY a', 'Result'),
  ('SELECT b COLLATE "C" AS x, a FROM bt_order ORDER BY b COLLATE "C" NULLS FIRST, a DESC NULLS LAST', 'Index Only Scan using bt_order_ba'),
  ('SELECT b COLLATE "C" AS x, a FROM bt_order ORDER BY b COLLATE "C" DESC NULLS LAST, a NULLS FIRST', 'Index Only Scan Backward using bt_order_ba'),
  ('SELECT b COLLATE "C" AS x FROM bt_order WHERE b COLLATE "C" < ''3'' ORDER BY 1 NULLS FIRST', 'Index Only Scan using bt_order_ba'),
  ('SELECT b COLLATE "C" AS x FROM bt_order WHERE b COLLATE "C" > ''d'' ORDER BY 1 DESC NULLS LAST', 'Index Only Scan Backward using bt_order_ba'),
  ('SELECT a FROM bt_order WHERE c % 2 = 0 AND a BETWEEN 3 AND 9 ORDER BY a', 'Index Only Scan using bt_order_ab')
  ) AS t(q, node);

-- IN lists
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM bt_order WHERE a IN (3, 77, 400, 9999);
SELECT count(*) FROM bt_order WHERE a IN (3, 77, 400, 9999);
SELECT count(*) FROM bt_order WHERE a = 3 OR a = 77 OR a = 400;
SELECT min(a), max(a) FROM bt_order;

-- cursors change direction, also in the middle and at the ends
SET enable_sort = off;
SET enable_bitmapscan = off;
BEGIN;
DECLARE cur SCROLL CURSOR FOR SELECT a, c FROM bt_order WHERE a BETWEEN 100 AND 140 ORDER BY a, b DESC;
FETCH 3 FROM cur;
MOVE FORWARD 500 FROM cur;
FETCH 2 FROM cur;
FETCH BACKWARD 2 FROM cur;
MOVE BACKWARD 400 FROM cur;
FETCH 1 FROM cur;
MOVE FORWARD ALL FROM cur;
FETCH BACKWARD 1 FROM cur;
MOVE BACKWARD ALL FROM cur;
FETCH 1 FROM cur;
COMMIT;

-- a flush between two fetches moves what is not yet read
CREATE FUNCTION bt_order_flush(direction text) RETURNS int8
LANGUAGE plpgsql AS $$
DECLARE
	cur refcursor;
	n int8 := 0;
	r record;
BEGIN
	OPEN cur FOR EXECUTE 'SELECT a, c FROM bt_order WHERE a IS NOT NULL ORDER BY a ' || direction;
	LOOP
		FETCH cur INTO r;
		EXIT WHEN NOT FOUND;
		n := n + 1;
		IF n = 5000 THEN
			PERFORM betree_flush('bt_order_ab');
		END IF;
	END LOOP;
	RETURN n;
END $$;
SELECT messages_in_logs > 0 AS some_in_logs FROM betree_index_stats('bt_order_ab');
SELECT bt_order_flush('ASC');
SELECT messages_in_logs FROM betree_index_stats('bt_order_ab');
INSERT INTO bt_order SELECT g % 450, 'more', g FROM generate_series(1, 1000) g;
SELECT bt_order_flush('DESC');
SELECT count(*) FROM bt_order WHERE a IS NOT NULL;

-- merge join: mark and restore
SET enable_hashjoin = off;
SET enable_nestloop = off;
SET enable_material = off;
SELECT count(*), sum(x.c - y.c) FROM bt_order x JOIN bt_order y USING (a) WHERE a < 20;
RESET ALL;
SELECT count(*), sum(x.c - y.c) FROM bt_order x JOIN bt_order y USING (a) WHERE a < 20;

SELECT betree_index_check('bt_order_ab', true);
SELECT betree_index_check('bt_order_ba', true);
DROP TABLE bt_order;
DROP FUNCTION bt_order_same, bt_order_flush;
