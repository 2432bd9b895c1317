--
-- Rows that are updated again and again: their dead versions are forgotten
-- without VACUUM
--
-- before 18 a unique betree comes with a NOTICE (betree_reach)
-- few rows are held back, so that logs take them
SET work_mem = '64kB';
SET client_min_messages = warning;
SET enable_seqscan = off;
SET enable_bitmapscan = off;

CREATE FUNCTION buffers(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ' || query INTO plan;
	plan := plan -> 0 -> 'Plan';
	RETURN (plan ->> 'Shared Hit Blocks')::int + (plan ->> 'Shared Read Blocks')::int;
END $$;
CREATE FUNCTION entries(index regclass) RETURNS bigint
RETURN (SELECT sum(items) FROM generate_series(1, pg_relation_size(index) /
			current_setting('block_size')::bigint - 1) b, betree_node_info(index, b)
		WHERE kind IN ('leaf', 'log'));
CREATE PROCEDURE update_hot(n int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..n LOOP
		UPDATE hot SET v = v + 1 WHERE id = 7;
		COMMIT;
	END LOOP;
END $$;

-- one row, whose versions stay in the log, or go to the leaf
CREATE TABLE hot (id int, v int) WITH (autovacuum_enabled = off);
INSERT INTO hot SELECT i, 0 FROM generate_series(1, 30000) i;
CREATE UNIQUE INDEX hot_log ON hot USING betree (id) WITH (log_pages = 30);
CREATE INDEX hot_v ON hot (v);
VACUUM ANALYZE hot;
CALL update_hot(3000);
SELECT buffers('UPDATE hot SET v = v + 1 WHERE id = 7') < 40 AS few;
SELECT pages_in_logs <= 2 AS no_log FROM betree_index_stats('hot_log');
SELECT betree_index_check('hot_log', true);
DROP INDEX hot_log;
CREATE UNIQUE INDEX hot_leaf ON hot USING betree (id) WITH (log_pages = 0);
CALL update_hot(3000);
SELECT buffers('UPDATE hot SET v = v + 1 WHERE id = 7') < 40 AS few;
SELECT leaves < 130 AS not_split FROM betree_index_stats('hot_leaf');
SELECT betree_index_check('hot_leaf', true);
DROP INDEX hot_leaf;

-- an index that is not unique: a scan removes what it finds dead, in logs and
-- leaves
CREATE INDEX hot_plain ON hot USING betree (id) WITH (log_pages = 30);
BEGIN;
DO $$ BEGIN FOR i IN 1..1000 LOOP UPDATE hot SET v = v + 1 WHERE v = (SELECT max(v) FROM hot); END LOOP; END $$;
COMMIT;
SELECT entries('hot_plain') > 30900 AS many;
SELECT id, v FROM hot WHERE id = 7;
SELECT entries('hot_plain') < 30050 AS few;
SELECT buffers('SELECT v FROM hot WHERE id = 7') < 20 AS few;
SELECT betree_index_check('hot_plain', true);
INSERT INTO hot SELECT i, i FROM generate_series(30001, 33000) i;
SELECT betree_flush('hot_plain');
DELETE FROM hot WHERE id BETWEEN 31001 AND 32000;
SELECT entries('hot_plain') > 32900 AS many;
SELECT count(*) FROM hot WHERE id BETWEEN 30901 AND 32100;
SELECT entries('hot_plain') < 32100 AS few;
SELECT betree_index_check('hot_plain', true);

-- but nothing that a snapshot still needs
DROP INDEX hot_plain;
CREATE UNIQUE INDEX hot_unique ON hot USING betree (id) WITH (log_pages = 30);
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE c CURSOR FOR SELECT id, v = 7002 AS old FROM hot WHERE id BETWEEN 6 AND 8 ORDER BY id;
FETCH 1 FROM c;
DO $$ BEGIN FOR i IN 1..100 LOOP UPDATE hot SET v = v + 1 WHERE id = 7; END LOOP; END $$;
FETCH ALL FROM c;
COMMIT;
SELECT id, v FROM hot WHERE id = 7;
INSERT INTO hot VALUES (7, 0);
SELECT betree_index_check('hot_unique', true);
VACUUM hot;
SELECT betree_index_check('hot_unique', true);
DROP TABLE hot;

-- a small table has a small log; a tail keeps what counts
CREATE TABLE counter (id int, n int) WITH (autovacuum_enabled = off);
INSERT INTO counter SELECT i, 0 FROM generate_series(1, 100) i;
CREATE UNIQUE INDEX counter_id ON counter USING betree (id);
CREATE INDEX counter_n ON counter (n);
DO $$
BEGIN
	FOR i IN 1..20000 LOOP
		UPDATE counter SET n = n + 1 WHERE id = 1 + i * 37 % 100;
		COMMIT;
	END LOOP;
END $$;
SELECT pg_relation_size('counter_id') / current_setting('block_size')::int < 12 AS small;
SELECT count(*), sum(n) FROM counter WHERE id > 0;
SELECT betree_index_check('counter_id', true);
DROP TABLE counter;
DROP PROCEDURE update_hot;
DROP FUNCTION buffers, entries;
