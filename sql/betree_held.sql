--
-- Rows that a transaction holds back from a betree index, in one session: whatever reads,
-- builds, empties, moves or drops the index or its table, and whatever ends a part of the
-- transaction, finds an index with the rows that the table has.
--
-- before 18 a unique betree comes with a NOTICE (betree_reach)
SET client_min_messages = warning;
\pset tuples_only on
\pset format unaligned

-- The rows that "condition" has by an index, in a plan with this node of it, and what the
-- table says if it has others.  Read first: nothing has sent the held rows then.
CREATE FUNCTION held_rows(node text, relation text, condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT k FROM %s WHERE %s', relation, condition);
	line text;
	as_planned bool := false;
	by_index text;
	by_table text;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true),
		set_config('enable_indexscan', (node LIKE 'Index%')::text, true),
		set_config('enable_indexonlyscan', (node LIKE 'Index Only%')::text, true),
		set_config('enable_bitmapscan', (node LIKE 'Bitmap%')::text, true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		as_planned := as_planned OR line ~ (node || ' (using|on) \w*_k');
	END LOOP;
	IF NOT as_planned THEN
		RAISE 'another plan for %', query;
	END IF;
	EXECUTE format('SELECT format(''%%s rows'', count(*)) || coalesce('' '' || sum(hashint4(k::int)::int8), '''') FROM (%s) s', query) INTO by_index;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_indexscan', 'off', true),
		set_config('enable_bitmapscan', 'off', true);
	EXECUTE format('SELECT format(''%%s rows'', count(*)) || coalesce('' '' || sum(hashint4(k::int)::int8), '''') FROM (%s) s', query) INTO by_table;
	PERFORM set_config('enable_indexscan', 'on', true), set_config('enable_indexonlyscan', 'on', true),
		set_config('enable_bitmapscan', 'on', true), set_config('enable_sort', 'on', true);
	RETURN split_part(by_index, ' ', 1) || CASE WHEN by_index <> by_table THEN ', but the table ' || by_table ELSE '' END;
END $$;
-- and of a table and its index "..._k": after that, the checker
CREATE FUNCTION held_ok(relation text, condition text DEFAULT 'k > -1000000') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows text := held_rows('Index Scan', relation, condition);
	index regclass;
BEGIN
	FOR index IN SELECT indexrelid FROM pg_index i JOIN pg_class c ON c.oid = indexrelid
		JOIN pg_am a ON a.oid = relam WHERE amname = 'betree' AND indrelid = relation::regclass
	LOOP
		PERFORM betree_index_check(index, true);
	END LOOP;
	RETURN rows;
END $$;

CREATE TABLE held (k int, id int, t varchar(10)) WITH (autovacuum_enabled = off);
CREATE INDEX held_k ON held USING betree (k) WITH (log_pages = 4);
CREATE INDEX held_t ON held USING betree (t) WITH (log_pages = 4);
INSERT INTO held SELECT g * 7, 0, 'old' FROM generate_series(1, 1000) g;

-- a row that is inserted is seen at once
BEGIN; INSERT INTO held SELECT g * 3, 1, 'a' FROM generate_series(1, 50) g;
SELECT held_rows('Index Scan', 'held', 'k < 150'); COMMIT;
BEGIN; INSERT INTO held SELECT g * 3, 2, 'a' FROM generate_series(1, 50) g;
SELECT held_rows('Index Only Scan', 'held', 'k < 150'); COMMIT;
BEGIN; INSERT INTO held SELECT g * 3, 3, 'a' FROM generate_series(1, 50) g;
SELECT held_rows('Bitmap Index Scan', 'held', 'k < 150'); COMMIT;
BEGIN; INSERT INTO held SELECT g * 3, 4, 'a' FROM generate_series(1, 50) g;
SELECT held_rows('Index Scan', 'held', 'k IN (3, 15, 30, 31, 60)'); COMMIT;
BEGIN; INSERT INTO held SELECT g * 3, 5, 'a' FROM generate_series(1, 50) g;
SELECT held_rows('Index Only Scan', 'held', 'k = ANY (ARRAY[3, 15, 30, 31, 60])'); COMMIT;
BEGIN; INSERT INTO held SELECT g * 3, 6, 'a' FROM generate_series(1, 50) g;
SELECT betree_index_check('held_k', true); COMMIT;

-- by what reads the table for another one: a rescan for each row, whose plan is shown
BEGIN;
INSERT INTO held SELECT g * 3, 8, 'a' FROM generate_series(1, 50) g;
SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT g, n FROM generate_series(3, 9, 3) g, LATERAL (SELECT count(*) AS n FROM held WHERE k = g) s ORDER BY g;
SELECT g, n FROM generate_series(3, 9, 3) g, LATERAL (SELECT count(*) AS n FROM held WHERE k = g) s ORDER BY g;
COMMIT;

-- a cursor has the rows that were there when it was declared: these three ones, and none of
-- those that come before, between or after its fetches
BEGIN;
SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;
INSERT INTO held VALUES (100001, 9, 'a'), (100002, 9, 'a'), (100003, 9, 'a');
DECLARE c CURSOR FOR SELECT k FROM held WHERE k > 100000 ORDER BY k;
INSERT INTO held VALUES (100001, 10, 'a'), (100004, 10, 'a');
FETCH c;
INSERT INTO held VALUES (100001, 11, 'a'), (100002, 11, 'a'), (100005, 11, 'a');
FETCH ALL FROM c;
SELECT held_ok('held', 'k > 100000');
COMMIT;
SELECT held_ok('held');

-- statements and functions that insert and read in turns
BEGIN;
INSERT INTO held VALUES (200001, 12, 'b');
INSERT INTO held VALUES (200002, 12, 'b');
SELECT held_rows('Index Only Scan', 'held', 'k > 200000');
INSERT INTO held VALUES (200003, 12, 'b');
INSERT INTO held VALUES (200004, 12, 'b'), (200005, 12, 'b');
SELECT held_rows('Index Scan', 'held', 'k > 200000');
UPDATE held SET k = k + 10 WHERE k = 200004;
DELETE FROM held WHERE k = 200005;
-- HOT, and not
UPDATE held SET id = id + 1 WHERE k = 200003;
UPDATE held SET t = 'c' WHERE k = 200002;
SELECT held_rows('Index Scan', 'held', 'k > 200000');
SELECT held_ok('held');
COMMIT;
SELECT held_ok('held', 'k > 200000');
DO $$
DECLARE
	seen int;
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true);
	FOR i IN 1 .. 60 LOOP
		INSERT INTO held SELECT 300000 + i, i, 'd' FROM generate_series(1, i % 4);
		SELECT count(*) INTO seen FROM held WHERE k = 300000 + i;
		IF seen <> i % 4 THEN
			RAISE '% rows of %, not %', seen, i, i % 4;
		END IF;
	END LOOP;
END $$;
SELECT held_ok('held', 'k > 300000');

-- a trigger that reads by the index, one that inserts at the commit
CREATE FUNCTION held_trigger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_ARGV[0] = 'insert' THEN
		INSERT INTO held SELECT NEW.k + 1000 * g, -1, 'deferred' FROM generate_series(1, 3) g;
	ELSE
		RAISE WARNING 'the trigger sees %', held_rows('Index Scan', 'held', 'k > 400000');
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER held_row AFTER INSERT ON held FOR EACH ROW WHEN (NEW.id = 13) EXECUTE FUNCTION held_trigger('read');
CREATE CONSTRAINT TRIGGER held_commit AFTER INSERT ON held DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW WHEN (NEW.id = 13) EXECUTE FUNCTION held_trigger('insert');
BEGIN;
INSERT INTO held VALUES (400001, 13, 'e'), (400002, 13, 'e'), (400003, 0, 'e');
INSERT INTO held VALUES (400001, 0, 'e'), (400002, 0, 'e');
COMMIT;
DROP TRIGGER held_row ON held;
DROP TRIGGER held_commit ON held;
SELECT held_ok('held', 'k > 400000');

-- subtransactions: rows before and inside, of which some stay, and nothing reads them before
-- the end
BEGIN;
INSERT INTO held SELECT 500000 + g, 1, 'f' FROM generate_series(1, 10) g;
SAVEPOINT a;
INSERT INTO held SELECT 500100 + g, 2, 'f' FROM generate_series(1, 10) g;
ROLLBACK TO a;
INSERT INTO held SELECT 500200 + g, 3, 'f' FROM generate_series(1, 10) g;
RELEASE a;
INSERT INTO held SELECT 500300 + g, 4, 'f' FROM generate_series(1, 10) g;
SAVEPOINT b;
INSERT INTO held SELECT 500400 + g, 5, 'f' FROM generate_series(1, 10) g;
SAVEPOINT c;
INSERT INTO held SELECT 500500 + g, 6, 'f' FROM generate_series(1, 10) g;
RELEASE c;
INSERT INTO held SELECT 500600 + g, 7, 'f' FROM generate_series(1, 10) g;
ROLLBACK TO b;
INSERT INTO held SELECT 500700 + g, 8, 'f' FROM generate_series(1, 10) g;
COMMIT;
SELECT held_ok('held', 'k > 500000');
-- those of 5000, 5002, 5003 and 5007 stay
SELECT string_agg(k / 100 || ': ' || n, ', ' ORDER BY k / 100) FROM (SELECT min(k) AS k, count(*) AS n FROM held WHERE k > 500000 GROUP BY k / 100) s;
DO $$
BEGIN
	FOR i IN 1 .. 50 LOOP
		INSERT INTO held SELECT 600000 + i, i, 'g' FROM generate_series(1, 2);
		BEGIN
			INSERT INTO held SELECT 600000 + i, i, 'g' FROM generate_series(1, 3);
			PERFORM 1 / (i % 3);
			INSERT INTO held VALUES (600000 + i, i, 'g'), (600000 + i, i, 'g');
		EXCEPTION WHEN division_by_zero THEN
			INSERT INTO held VALUES (600000 + i, i, 'g'), (600000 + i, i, 'g');
		END;
		INSERT INTO held VALUES (600000 + i, i, 'g');
	END LOOP;
END $$;
SELECT held_ok('held', 'k > 600000');

-- transactions of a procedure
CREATE PROCEDURE held_procedure() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 20 LOOP
		INSERT INTO held SELECT 700000 + i, i, 'h' FROM generate_series(1, 1 + i % 5);
		IF i % 2 = 0 THEN
			COMMIT;
		ELSE
			INSERT INTO held VALUES (700000 + i, i, 'h'), (700000 + i, i, 'h');
			ROLLBACK;
		END IF;
	END LOOP;
	INSERT INTO held VALUES (700100, 0, 'h'), (700100, 0, 'h');
END $$;
CALL held_procedure();
SELECT held_ok('held', 'k > 700000');

-- more rows than work_mem
BEGIN;
SET LOCAL work_mem = '64kB';
INSERT INTO held SELECT 800000 + g % 1000, g, 'i' FROM generate_series(1, 10000) g;
SELECT held_ok('held', 'k >= 800000');
COMMIT;
SELECT held_ok('held', 'k >= 800000');
TRUNCATE held;
INSERT INTO held SELECT g * 7, 0, 'old' FROM generate_series(1, 1000) g;

-- isolation levels
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO held SELECT -g, 0, 'j' FROM generate_series(1, 10) g;
SELECT held_rows('Index Scan', 'held', 'k < 0');
INSERT INTO held SELECT -g, 0, 'j' FROM generate_series(1, 10) g;
COMMIT;
SELECT held_ok('held', 'k < 0');
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO held SELECT -g, 0, 'j' FROM generate_series(1, 10) g;
SELECT held_rows('Index Scan', 'held', 'k < 0');
INSERT INTO held SELECT -g, 0, 'j' FROM generate_series(1, 10) g;
COMMIT;
SELECT held_ok('held', 'k < 0');

-- TRUNCATE: of a table of before, and back; of one of the transaction, in its place
BEGIN;
INSERT INTO held SELECT -g, 0, 'k' FROM generate_series(1, 10) g;
SAVEPOINT a;
INSERT INTO held SELECT -g, 0, 'k' FROM generate_series(1, 10) g;
TRUNCATE held;
INSERT INTO held SELECT -g, 0, 'k' FROM generate_series(1, 10) g;
ROLLBACK TO a;
INSERT INTO held SELECT -g, 0, 'k' FROM generate_series(1, 5) g;
COMMIT;
SELECT held_ok('held'), held_ok('held', 'k < 0');
BEGIN;
INSERT INTO held SELECT -g, 0, 'k' FROM generate_series(1, 10) g;
TRUNCATE held;
INSERT INTO held SELECT g, 0, 'k' FROM generate_series(1, 10) g;
COMMIT;
SELECT held_ok('held');
BEGIN;
CREATE TABLE held_new (k int);
CREATE INDEX held_new_k ON held_new USING betree (k) WITH (log_pages = 4);
INSERT INTO held_new SELECT generate_series(1, 1000);
TRUNCATE held_new;
INSERT INTO held_new SELECT -g FROM generate_series(1, 10) g;
SELECT held_rows('Index Scan', 'held_new', 'k < 1000');
INSERT INTO held_new SELECT -g FROM generate_series(1, 10) g;
SAVEPOINT a;
INSERT INTO held_new SELECT -g FROM generate_series(1, 10) g;
TRUNCATE held_new;
INSERT INTO held_new SELECT -g FROM generate_series(1, 3) g;
ROLLBACK TO a;
INSERT INTO held_new SELECT -g FROM generate_series(1, 4) g;
COMMIT;
SELECT held_ok('held_new');
DROP TABLE held_new;

-- other commands on the table and its indexes, each with rows that are held before and
-- after it; the second time it is undone
CREATE PROCEDURE held_twice(command text) LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE held;
	COMMIT;
	INSERT INTO held SELECT g % 17, g, 'l' || g % 17 FROM generate_series(1, 40) g;
	EXECUTE command;
	INSERT INTO held SELECT g % 17, g, 'l' || g % 17 FROM generate_series(1, 5) g;
	COMMIT;
	RAISE WARNING '%: %, %', command, held_ok('held'), held_rows('Index Scan', 'held', 'k = 3');
	INSERT INTO held SELECT g % 17, g, 'm' || g % 17 FROM generate_series(1, 5) g;
	BEGIN
		INSERT INTO held SELECT g % 17, g, 'm' || g % 17 FROM generate_series(1, 50) g;
		EXECUTE command;
		INSERT INTO held SELECT g % 17, g, 'm' || g % 17 FROM generate_series(1, 5) g;
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		INSERT INTO held SELECT g % 17, g, 'm' || g % 17 FROM generate_series(1, 5) g;
	END;
	COMMIT;
	RAISE WARNING 'and back: %, %', held_ok('held'), held_rows('Index Scan', 'held', 'k = 3');
END $$;
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE held_space LOCATION '';
\set VERBOSITY terse
CALL held_twice('REINDEX INDEX held_k');
CALL held_twice('REINDEX TABLE held');
CREATE INDEX held_2 ON held (id);
CALL held_twice('CLUSTER held USING held_2');
DROP INDEX held_2;
CALL held_twice('DROP INDEX IF EXISTS held_2; CREATE INDEX held_2 ON held USING betree (id, k) WITH (log_pages = 4)');
DROP INDEX held_2;
CALL held_twice('ALTER TABLE held SET TABLESPACE held_space');
CALL held_twice('ALTER INDEX held_k SET TABLESPACE held_space');
CALL held_twice('ALTER INDEX held_k SET TABLESPACE pg_default');
CALL held_twice('ALTER TABLE held SET UNLOGGED');
CALL held_twice('ALTER TABLE held SET LOGGED');
CALL held_twice('ALTER TABLE held ALTER t TYPE varchar(20)');
CALL held_twice('ALTER TABLE held ALTER k TYPE int8');
CALL held_twice('ALTER TABLE held ALTER k TYPE int');
CALL held_twice('ALTER TABLE held ADD added int DEFAULT (random() * 9)::int; ALTER TABLE held DROP added');
CALL held_twice('ALTER INDEX held_k SET (log_pages = 0)');
CALL held_twice('ALTER INDEX held_k SET (log_pages = 9, log_levels = 2, bloom = on)');
CALL held_twice('ALTER INDEX held_k RESET (log_pages, log_levels)');
CALL held_twice('ALTER INDEX held_k RENAME TO held_3; ALTER INDEX held_3 RENAME TO held_k');
CALL held_twice('DROP INDEX held_k; CREATE INDEX held_k ON held USING betree (k) WITH (log_pages = 4)');
CALL held_twice('ALTER TABLE held DROP t; ALTER TABLE held ADD t text; CREATE INDEX held_t ON held USING betree (t) WITH (log_pages = 4)');
CALL held_twice('ANALYZE held');
BEGIN;
INSERT INTO held SELECT g, 0 FROM generate_series(1, 10) g;
DROP EXTENSION ecp CASCADE;
ROLLBACK;
SELECT held_ok('held');
BEGIN;
INSERT INTO held SELECT g, 0 FROM generate_series(1, 10) g;
DROP TABLE held;
COMMIT;
BEGIN;
CREATE TABLE held (k int, t varchar(10));
CREATE INDEX held_k ON held USING betree (k);
CREATE INDEX held_t ON held USING betree (t);
INSERT INTO held SELECT g, g FROM generate_series(1, 10) g;
SAVEPOINT a;
INSERT INTO held SELECT g, g FROM generate_series(1, 10) g;
DROP TABLE held;
ROLLBACK TO a;
-- the storage of an index of this transaction, under another OID
INSERT INTO held SELECT g, g FROM generate_series(1, 10) g;
SELECT 'held_t'::regclass::oid AS oid, pg_relation_filenode('held_t') AS file \gset
ALTER TABLE held ALTER t TYPE varchar(20);
SELECT 'held_t'::regclass::oid <> :oid AND pg_relation_filenode('held_t') = :file AS other_index_same_storage;
INSERT INTO held SELECT g, g FROM generate_series(1, 10) g;
COMMIT;
SELECT held_ok('held');
DROP TABLE held;
CREATE TEMP TABLE held_temp (k int) ON COMMIT DELETE ROWS;
CREATE INDEX held_temp_k ON held_temp USING betree (k) WITH (log_pages = 4);
BEGIN;
INSERT INTO held_temp SELECT generate_series(1, 100);
SELECT held_rows('Index Scan', 'held_temp', 'k > 0');
INSERT INTO held_temp SELECT generate_series(1, 100);
COMMIT;
SELECT held_ok('held_temp');
BEGIN;
INSERT INTO held_temp SELECT generate_series(1, 100);
COMMIT;
BEGIN;
INSERT INTO held_temp SELECT generate_series(1, 3);
SELECT held_ok('held_temp');
INSERT INTO held_temp SELECT generate_series(1, 3);
DROP TABLE held_temp;
CREATE TEMP TABLE held_temp (k int) ON COMMIT DROP;
CREATE INDEX held_temp_k ON held_temp USING betree (k) WITH (log_pages = 4);
INSERT INTO held_temp SELECT generate_series(1, 100);
COMMIT;
BEGIN;
CREATE TEMP TABLE held_temp (k int);
CREATE INDEX held_temp_k ON held_temp USING betree (k) WITH (log_pages = 4);
INSERT INTO held_temp SELECT generate_series(1, 100);
DISCARD TEMP;
COMMIT;

-- COPY, also of rows that are frozen at once
BEGIN;
CREATE TABLE held (k int);
CREATE INDEX held_k ON held USING betree (k) WITH (log_pages = 4);
COPY held FROM STDIN WITH (FREEZE);
3
1
2
2
\.
COPY held FROM STDIN;
7
5
\.
COMMIT;
SELECT held_ok('held');
DROP TABLE held;

-- many partitions, whose rows come in turns, with little memory
CREATE TABLE held (k int, id int) PARTITION BY HASH (id);
DO $$ BEGIN
	FOR i IN 0 .. 39 LOOP
		EXECUTE format('CREATE TABLE held_part%s PARTITION OF held FOR VALUES WITH (MODULUS 40, REMAINDER %1$s)', i);
	END LOOP;
END $$;
CREATE INDEX held_k ON held USING betree (k) WITH (log_pages = 2);
BEGIN;
SET LOCAL work_mem = '64kB';
INSERT INTO held SELECT g % 1009, g FROM generate_series(1, 8000) g;
UPDATE held SET id = id + 1 WHERE k = 10;
DELETE FROM held WHERE k = 11;
ALTER TABLE held DETACH PARTITION held_part7;
INSERT INTO held_part7 SELECT g, id FROM generate_series(1, 5) g, (SELECT id FROM held_part7 LIMIT 1) s;
COMMIT;
SELECT sum(held_rows('Index Scan', 'held_part' || g, 'k > -1')::int) FROM generate_series(0, 39) g;
SELECT count(betree_index_check(indexrelid, true)) FROM pg_index JOIN pg_class c ON c.oid = indrelid
WHERE relname ~ '^held_part' AND relkind = 'r';
DROP TABLE held, held_part7;

-- ON CONFLICT by another index, and an exclusion constraint, whose own rows are not held
CREATE TABLE held (k int, u int, EXCLUDE USING betree (u WITH =));
CREATE INDEX held_k ON held USING betree (k) WITH (log_pages = 4);
CREATE UNIQUE INDEX held_u ON held (u);
BEGIN;
INSERT INTO held SELECT g, g FROM generate_series(1, 10) g;
INSERT INTO held SELECT -g, g / 2 FROM generate_series(1, 30) g ON CONFLICT DO NOTHING;
INSERT INTO held SELECT -g, g FROM generate_series(1, 20) g ON CONFLICT (u) DO UPDATE SET k = held.k + 100 WHERE held.u > 8;
COMMIT;
SELECT held_ok('held');
DROP INDEX held_u;
BEGIN;
INSERT INTO held SELECT g, g FROM generate_series(100, 110) g;
INSERT INTO held SELECT g, g FROM generate_series(105, 115) g ON CONFLICT DO NOTHING;
SAVEPOINT a;
INSERT INTO held VALUES (1, 200), (1, 201), (1, 115);
ROLLBACK TO a;
INSERT INTO held VALUES (1, 200), (1, 201);
COMMIT;
SELECT held_ok('held');
DROP TABLE held;

-- rows that processes of a parallel plan read by the index
CREATE TABLE held (k int, id int) WITH (autovacuum_enabled = off);
CREATE INDEX held_k ON held USING betree (k) WITH (log_pages = 4);
INSERT INTO held SELECT g * 3, g FROM generate_series(1, 20000) g;
ANALYZE held;
CREATE FUNCTION held_parallel(key int) RETURNS bigint LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
	RETURN (SELECT count(*) FROM held WHERE k = key);
END $$;
CREATE TABLE held_keys AS SELECT g AS k FROM generate_series(1, 600) g;
ALTER TABLE held_keys SET (parallel_workers = 2);
BEGIN;
INSERT INTO held SELECT g * 3, 0 FROM generate_series(1, 100) g;
SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0; SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL parallel_leader_participation = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM held WHERE k = 5;
EXPLAIN (COSTS OFF) SELECT sum(held_parallel(k)) FROM held_keys;
SELECT sum(held_parallel(k)) FROM held_keys;
INSERT INTO held SELECT g * 3, 0 FROM generate_series(1, 100) g;
SELECT set_config(name, 'on', true) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT held_parallel(3) AS of_three;
SET LOCAL max_parallel_workers_per_gather = 0;
SELECT set_config(name, 'off', true) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT held_ok('held');
COMMIT;
DROP FUNCTION held_parallel;
DROP TABLE held_keys, held;

DROP PROCEDURE held_twice, held_procedure;
DROP TABLESPACE held_space;

-- comparison functions that begin subtransactions, or insert rows that are held, too
CREATE FUNCTION held_block(int, int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		RETURN btint4cmp($1, $2);
	EXCEPTION WHEN division_by_zero THEN
		RETURN NULL;
	END;
END $$;
CREATE OPERATOR CLASS held_block FOR TYPE int USING betree AS OPERATOR 1 <, OPERATOR 2 <=,
OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 held_block(int, int);
CREATE TABLE held (k int);
CREATE INDEX held_k ON held USING betree (k held_block) WITH (log_pages = 4);
BEGIN;
INSERT INTO held SELECT g * 7 % 31 FROM generate_series(1, 30) g;
SELECT held_rows('Index Scan', 'held', 'k < 20');
INSERT INTO held SELECT g * 7 % 31 FROM generate_series(1, 30) g;
SAVEPOINT a;
INSERT INTO held SELECT g * 7 % 31 FROM generate_series(1, 30) g;
ROLLBACK TO a;
INSERT INTO held SELECT g * 7 % 31 FROM generate_series(1, 30) g;
COMMIT;
SELECT held_ok('held');
-- rows that come while a scan is under way
CREATE FUNCTION held_insert(int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO held VALUES ($1 + 100), ($1 + 200);
	RETURN $1;
END $$;
SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;
EXPLAIN (COSTS OFF) SELECT held_insert(k) FROM held WHERE k < 15 ORDER BY k;
SELECT count(held_insert(k)) FROM (SELECT k FROM held WHERE k < 15 ORDER BY k OFFSET 0) s;
RESET enable_seqscan; RESET enable_bitmapscan; RESET enable_sort;
SELECT held_ok('held');
DROP FUNCTION held_insert;
DROP TABLE held;

CREATE TABLE held (k int);
CREATE INDEX held_k ON held USING betree (k) WITH (log_pages = 4);
CREATE FUNCTION held_log(int, int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO public.held SELECT $1 + g FROM generate_series(1, 100) g;
	RETURN btint4cmp($1, $2);
END $$;
CREATE OPERATOR CLASS held_log FOR TYPE int USING betree AS OPERATOR 1 <, OPERATOR 2 <=,
OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 held_log(int, int);
CREATE TABLE held_logged (k int);
CREATE INDEX held_logged_k ON held_logged USING betree (k held_log) WITH (log_pages = 4);
INSERT INTO held_logged SELECT g * 7 % 31 FROM generate_series(1, 30) g;
SELECT held_ok('held') <> '0' AS compared, betree_index_check('held_logged_k', true);
BEGIN;
INSERT INTO held VALUES (1), (2), (3);
INSERT INTO held_logged SELECT g * 7 % 31 FROM generate_series(1, 30) g;
COMMIT;
SELECT held_ok('held') <> '0' AS compared, betree_index_check('held_logged_k', true);
SET work_mem = '64kB';
INSERT INTO held_logged SELECT g * 7 % 31 FROM generate_series(1, 100) g;
RESET work_mem;
SELECT held_ok('held') <> '0' AS compared, betree_index_check('held_logged_k', true);
DROP TABLE held, held_logged;
DROP OPERATOR FAMILY held_block USING betree;
DROP OPERATOR FAMILY held_log USING betree;
DROP FUNCTION held_block, held_log;

-- and one that fails: the session goes on, wherever its error comes up
CREATE FUNCTION held_fails(int, int) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	IF 13 IN ($1, $2) THEN
		RAISE 'bad key';
	END IF;
	RETURN btint4cmp($1, $2);
END $$;
CREATE OPERATOR CLASS held_fails FOR TYPE int USING betree AS OPERATOR 1 <, OPERATOR 2 <=,
OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 held_fails(int, int);
CREATE TABLE held (k int);
CREATE INDEX held_k ON held USING betree (k held_fails) WITH (log_pages = 4);
INSERT INTO held SELECT generate_series(1, 10);
DO $$ BEGIN
	BEGIN
		INSERT INTO held SELECT generate_series(11, 20);
		BEGIN
			NULL;
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
	EXCEPTION WHEN raise_exception THEN
		RAISE WARNING 'caught: %', SQLERRM;
	END;
	INSERT INTO held SELECT generate_series(21, 25);
END $$;
DO $$ BEGIN
	INSERT INTO held VALUES (30), (31), (13);
END $$;
SELECT held_ok('held');
DROP TABLE held;
DROP OPERATOR FAMILY held_fails USING betree;
DROP FUNCTION held_fails, held_trigger, held_ok, held_rows;
