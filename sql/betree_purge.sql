--
-- Entries of old versions of rows leave the index before VACUUM comes
--
-- before 18 a unique betree comes with a NOTICE (betree_reach)
-- few rows are held back, so that logs take them
SET work_mem = '64kB';
SET client_min_messages = warning;

-- every update is a new version with entries in all indexes
CREATE TABLE pu (id int, v int) WITH (autovacuum_enabled = off, fillfactor = 50);
CREATE UNIQUE INDEX pu_unique ON pu USING betree (id) WITH (log_pages = 4);
CREATE INDEX pu_plain ON pu USING betree (id) WITH (log_pages = 4);
CREATE INDEX pu_leaf ON pu USING betree (id) WITH (log_pages = 0);
CREATE INDEX pu_v ON pu (v);
INSERT INTO pu SELECT i * 7919 % 3001, 0 FROM generate_series(1, 3000) i;
DO $$
BEGIN
	FOR round IN 1..40 LOOP
		UPDATE pu SET v = round;
		COMMIT;
	END LOOP;
END $$;

-- 123,000 entries have been made, which 400 pages would take, of which 3,000 count
SELECT c.relname, pg_relation_size(c.oid) / current_setting('block_size')::int < 130 AS small
FROM pg_class c WHERE c.relname IN ('pu_unique', 'pu_plain', 'pu_leaf') ORDER BY 1;
SELECT betree_index_check('pu_unique', true), betree_index_check('pu_plain', true),
	betree_index_check('pu_leaf', true);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*), sum(v) FROM pu WHERE id BETWEEN 100 AND 200;
SELECT count(*), sum(v) FROM pu WHERE id BETWEEN 100 AND 200;
INSERT INTO pu VALUES (1000, 0);

-- but not what somebody can still see
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE c CURSOR FOR SELECT id, v FROM pu WHERE id BETWEEN 100 AND 103 ORDER BY id;
FETCH 1 FROM c;
SAVEPOINT s;
UPDATE pu SET v = 100;
UPDATE pu SET v = 101;
UPDATE pu SET v = 102;
UPDATE pu SET v = 103;
FETCH ALL FROM c;
ROLLBACK TO s;
COMMIT;
SELECT count(*), min(v), max(v) FROM pu WHERE id >= 0;
VACUUM pu;
SELECT betree_index_check('pu_unique', true), betree_index_check('pu_plain', true),
	betree_index_check('pu_leaf', true);
DROP TABLE pu;

-- full leaves, in which no two entries have the same key: the versions that
-- make the old ones dead are in the batch that comes
CREATE TABLE pu (id int, v int) WITH (autovacuum_enabled = off, fillfactor = 50);
INSERT INTO pu SELECT i, 0 FROM generate_series(1, 20000) i;
CREATE INDEX pu_plain ON pu USING betree (id) WITH (log_pages = 10, fillfactor = 95);
CREATE INDEX pu_v ON pu (v);
DO $$
BEGIN
	FOR round IN 1..200 LOOP
		UPDATE pu SET v = round WHERE id % 200 = round % 200;
		COMMIT;
	END LOOP;
END $$;
SELECT leaves < 60 AS not_split FROM betree_index_stats('pu_plain');
SELECT betree_index_check('pu_plain', true);

-- batches in which live messages are behind dead ones
DROP INDEX pu_plain;
CREATE INDEX pu_plain ON pu USING betree (id) WITH (log_pages = 6, fillfactor = 95);
DO $$
BEGIN
	FOR round IN 1..150 LOOP
		UPDATE pu SET v = round WHERE hashint4(id * 1000 + round) % 50 = 0;
		COMMIT;
	END LOOP;
END $$;
SELECT betree_index_check('pu_plain', true);
DROP TABLE pu;

-- an entry whose row is gone, which only damage makes: told with a place in the
-- index, also while it is a message
CREATE TABLE pu (id int, v int) WITH (autovacuum_enabled = off, fillfactor = 50);
INSERT INTO pu SELECT i, 0 FROM generate_series(1, 3000) i;
CREATE INDEX pu_id ON pu USING betree (id) WITH (log_pages = 1, fillfactor = 100);
CREATE INDEX pu_v ON pu (v);
-- VACUUM passes over an index that it believes unfinished; the full table keeps
-- others from taking the places of these rows
ALTER TABLE pu SET (fillfactor = 100);
INSERT INTO pu SELECT 5, -1 FROM generate_series(1, 20);
DELETE FROM pu WHERE v = -1;
ALTER TABLE pu SET (fillfactor = 10);
UPDATE pg_index SET indisready = false WHERE indexrelid = 'pu_id'::regclass;
VACUUM pu;
UPDATE pg_index SET indisready = true WHERE indexrelid = 'pu_id'::regclass;
DO $$
BEGIN
	FOR round IN 1..40 LOOP
		UPDATE pu SET v = round WHERE id BETWEEN 100 AND 200;
	END LOOP;
EXCEPTION WHEN index_corrupted THEN
	RAISE INFO 'damage, told with an offset: %', SQLERRM ~ ' at offset [1-9][0-9]* of block';
END $$;
DROP TABLE pu;
