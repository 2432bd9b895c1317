--
-- Unique betree indexes: what is refused and what is not, as by btree
--
-- before 18 a unique betree comes with a NOTICE (betree_reach)
-- few rows are held back, so that logs take them
SET work_mem = '64kB';
SET client_min_messages = warning;
\set VERBOSITY terse

-- keys in no order, one for each number
CREATE FUNCTION key(i int) RETURNS int LANGUAGE sql IMMUTABLE AS
	'SELECT ((i * 2654435761) % 4294967296 - 2147483648)::int';

-- how many of the keys of a range are refused
CREATE FUNCTION refused(tab regclass, a int, b int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	n int := 0;
BEGIN
	FOR i IN a..b LOOP
		BEGIN
			EXECUTE format('INSERT INTO %s VALUES ($1)', tab) USING key(i);
		EXCEPTION WHEN unique_violation THEN
			n := n + 1;
		END;
	END LOOP;
	RETURN n;
END $$;

-- by every way into the tree, with entries in tails, logs and leaves
CREATE TABLE un (id int8);
INSERT INTO un SELECT 3000000000 + g FROM generate_series(1, 2000) g;
CREATE UNIQUE INDEX un_tail ON un USING betree (id);
INSERT INTO un SELECT key(i) FROM generate_series(1, 200) i;
SELECT pages_in_logs, leaves FROM betree_index_stats('un_tail');
SELECT refused('un', 1, 210);
SELECT betree_index_check('un_tail', true);
DROP TABLE un;

CREATE TABLE un (id int);
CREATE UNIQUE INDEX un_log ON un USING betree (id) WITH (log_pages = 6);
INSERT INTO un SELECT key(i) FROM generate_series(1, 20000) i;
SELECT messages_in_logs > 0 AS logs, leaves > 50 AS leaves FROM betree_index_stats('un_log');
SELECT refused('un', 1, 20000);
SELECT betree_flush('un_log');
SELECT refused('un', 1, 20000);
SELECT refused('un', 20001, 20100);
SELECT betree_index_check('un_log', true);
SELECT count(*), count(DISTINCT id) FROM un;
DROP TABLE un;

-- straight into the leaves
CREATE TABLE un (id int);
CREATE UNIQUE INDEX un_leaf ON un USING betree (id) WITH (log_pages = 0);
INSERT INTO un SELECT key(i) FROM generate_series(1, 5000) i;
SELECT messages_in_logs, leaves > 10 AS leaves FROM betree_index_stats('un_leaf');
SELECT refused('un', 1, 5000);
SELECT betree_index_check('un_leaf', true);

-- logs at several levels, and the options changed: what they hold counts
ALTER INDEX un_leaf SET (log_pages = 3, log_levels = 3);
INSERT INTO un SELECT key(i) FROM generate_series(5001, 60000) i;
SELECT height, messages_in_logs > 0 AS logs FROM betree_index_stats('un_leaf');
SELECT refused('un', 58001, 60000);
ALTER INDEX un_leaf SET (log_levels = 1);
SELECT refused('un', 56001, 60000);
INSERT INTO un SELECT key(i) FROM generate_series(60001, 62000) i;
ALTER INDEX un_leaf SET (log_levels = 3);
SELECT refused('un', 58001, 62000);
SELECT betree_index_check('un_leaf', true);
DROP TABLE un;

-- the error, and statements that fail leave nothing
\set VERBOSITY default
CREATE TABLE u (a int, b text, c int);
CREATE UNIQUE INDEX u_ab ON u USING betree (a, b) INCLUDE (c);
INSERT INTO u VALUES (1, 'one', 1), (2, 'two', 2);
INSERT INTO u VALUES (3, 'three', 3), (1, 'one', 4);
\set VERBOSITY terse
SELECT * FROM u ORDER BY a, b;
INSERT INTO u VALUES (3, 'three', 3), (1, 'two', 1);
INSERT INTO u VALUES (4, 'four', 4), (4, 'four', 5);
UPDATE u SET b = 'one' WHERE a = 1;
UPDATE u SET a = 5, b = 'five';
UPDATE u SET a = a + 10;
SELECT betree_index_check('u_ab', true);
\d u

-- rows that are gone do not count
BEGIN;
DELETE FROM u WHERE a = 12;
INSERT INTO u VALUES (12, 'two', 7);
INSERT INTO u VALUES (12, 'two', 8);
ROLLBACK;
INSERT INTO u VALUES (12, 'two', 9);
BEGIN;
SAVEPOINT s;
INSERT INTO u VALUES (20, 'x', 1);
ROLLBACK TO s;
INSERT INTO u VALUES (20, 'x', 2);
DELETE FROM u WHERE a = 20;
INSERT INTO u VALUES (20, 'x', 3);
COMMIT;
DELETE FROM u WHERE a = 20;
INSERT INTO u VALUES (20, 'x', 4);
SELECT * FROM u WHERE a = 20;
VACUUM u;
SELECT betree_index_check('u_ab', true);
DROP TABLE u;

-- one key in many versions: more entries than a leaf takes
CREATE TABLE u (a int, v int) WITH (fillfactor = 100);
CREATE UNIQUE INDEX u_a ON u USING betree (a) WITH (log_pages = 1);
CREATE INDEX u_v ON u (v);
INSERT INTO u SELECT i, 0 FROM generate_series(1, 10) i;
BEGIN;
DO $$ BEGIN FOR i IN 1..1500 LOOP UPDATE u SET v = i WHERE a = 5; END LOOP; END $$;
COMMIT;
SELECT betree_flush('u_a');
SELECT count(*) FROM u WHERE a = 5;
INSERT INTO u VALUES (5, 0);
SELECT betree_index_check('u_a', true);
VACUUM u;
SELECT betree_index_check('u_a', true);
INSERT INTO u VALUES (5, 0);
DELETE FROM u WHERE a = 5;
INSERT INTO u VALUES (5, 0);
SELECT * FROM u WHERE a = 5;
-- HOT updates need no entry
CREATE TABLE hot (a int, v int) WITH (fillfactor = 50);
INSERT INTO hot SELECT g, 0 FROM generate_series(1001, 3000) g;
CREATE UNIQUE INDEX hot_a ON hot USING betree (a);
INSERT INTO hot VALUES (1, 0);
DO $$ BEGIN FOR i IN 1..50 LOOP UPDATE hot SET v = i WHERE a = 1; END LOOP; END $$;
INSERT INTO hot VALUES (1, 0);
SELECT messages_in_logs FROM betree_index_stats('hot_a');
DROP TABLE u, hot;

-- NULLs
CREATE TABLE n (a int, b int);
CREATE UNIQUE INDEX n_distinct ON n USING betree (a, b);
INSERT INTO n VALUES (NULL, 1), (NULL, 1), (1, NULL), (1, NULL), (NULL, NULL), (NULL, NULL);
CREATE UNIQUE INDEX n_same ON n USING betree (a, b) NULLS NOT DISTINCT;
DELETE FROM n WHERE ctid IN (SELECT max(ctid) FROM n GROUP BY a, b);
CREATE UNIQUE INDEX n_same ON n USING betree (a, b) NULLS NOT DISTINCT;
INSERT INTO n VALUES (NULL, 1);
INSERT INTO n VALUES (NULL, NULL);
INSERT INTO n VALUES (NULL, 2);
SELECT betree_index_check('n_distinct', true), betree_index_check('n_same', true);
DROP TABLE n;

-- partial and expression indexes
CREATE TABLE p (k text, live boolean);
CREATE UNIQUE INDEX p_live ON p USING betree (lower(k)) WHERE live;
INSERT INTO p VALUES ('A', true), ('a', false), ('A', false);
INSERT INTO p VALUES ('a', true);
UPDATE p SET live = true;
UPDATE p SET live = NOT live;
DELETE FROM p WHERE k = 'a';
UPDATE p SET live = true;
SELECT betree_index_check('p_live', true);
DROP TABLE p;

-- equal is what the operator class says, not the bytes
CREATE TABLE e (x numeric, f float8);
CREATE UNIQUE INDEX e_x ON e USING betree (x);
CREATE UNIQUE INDEX e_f ON e USING betree (f);
INSERT INTO e VALUES (1.0, 0);
INSERT INTO e VALUES (1.000, 1);
INSERT INTO e VALUES (2, '-0');
INSERT INTO e VALUES (2, 'NaN'), (3, 'NaN');
DROP TABLE e;
-- a type without hash functions: no filter tells which log pages to read
CREATE TABLE c (b varbit);
CREATE UNIQUE INDEX c_b ON c USING betree (b) WITH (log_pages = 4);
INSERT INTO c SELECT key(i)::bit(32) FROM generate_series(1, 3000) i;
SELECT messages_in_logs > 0 AS logs, leaves > 5 AS leaves FROM betree_index_stats('c_b');
DO $$
DECLARE
	n int := 0;
BEGIN
	FOR i IN 1..3010 LOOP
		BEGIN
			INSERT INTO c VALUES (key(i)::bit(32));
		EXCEPTION WHEN unique_violation THEN
			n := n + 1;
		END;
	END LOOP;
	RAISE INFO '% refused', n;
END $$;
SELECT betree_index_check('c_b', true);
DROP TABLE c;

-- building
\set VERBOSITY default
CREATE TABLE d (a int, t text);
INSERT INTO d SELECT i % 1000, 'x' FROM generate_series(0, 1000) i;
CREATE UNIQUE INDEX d_a ON d USING betree (a);
CREATE UNIQUE INDEX CONCURRENTLY d_a ON d USING betree (a);
\set VERBOSITY terse
SELECT indisvalid FROM pg_index WHERE indexrelid = 'd_a'::regclass;
REINDEX INDEX d_a;
DELETE FROM d WHERE ctid = (SELECT max(ctid) FROM d WHERE a = 0);
REINDEX INDEX CONCURRENTLY d_a;
SELECT indisvalid FROM pg_index WHERE indexrelid = 'd_a'::regclass;
SELECT refused('d', 1, 10);
INSERT INTO d VALUES (5, 'refused');
SELECT betree_index_check('d_a', true);
-- deleted rows do not count, nor those of our own transaction
BEGIN;
UPDATE d SET t = 'y';
DROP INDEX d_a;
CREATE UNIQUE INDEX d_a ON d USING betree (a);
COMMIT;
SELECT betree_index_check('d_a', true);
ALTER TABLE d ALTER a TYPE bigint;
INSERT INTO d VALUES (5, 'refused');
TRUNCATE d;
INSERT INTO d VALUES (5, 'taken');
SELECT betree_index_check('d_a', true);
CLUSTER d USING d_a;
INSERT INTO d VALUES (5, 'refused');
DROP TABLE d;

-- unlogged and temporary
CREATE UNLOGGED TABLE l (id int);
CREATE UNIQUE INDEX l_id ON l USING betree (id) WITH (log_pages = 2);
CREATE TEMP TABLE m (id int);
CREATE UNIQUE INDEX m_id ON m USING betree (id) WITH (log_pages = 2);
INSERT INTO l SELECT key(i) FROM generate_series(1, 3000) i;
INSERT INTO m SELECT key(i) FROM generate_series(1, 3000) i;
SELECT refused('l', 1, 3000), refused('m', 1, 3000);
DROP TABLE l, m;

-- partitions
CREATE TABLE r (a int, b int) PARTITION BY LIST (a);
CREATE TABLE r1 PARTITION OF r FOR VALUES IN (1);
CREATE TABLE r2 PARTITION OF r FOR VALUES IN (2);
CREATE UNIQUE INDEX r1_ab ON r1 USING betree (a, b);
INSERT INTO r VALUES (1, 1), (2, 1);
INSERT INTO r VALUES (1, 1);
DROP TABLE r;

-- as the identity of rows that are replicated
CREATE TABLE i (id int NOT NULL);
CREATE UNIQUE INDEX i_id ON i USING betree (id);
ALTER TABLE i REPLICA IDENTITY USING INDEX i_id;
SELECT relreplident FROM pg_class WHERE oid = 'i'::regclass;
DROP TABLE i;
DROP FUNCTION refused, key;
