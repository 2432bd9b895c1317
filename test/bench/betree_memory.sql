--
-- betree_memory.sql: betree beside btree with everything in memory, by the clock
--
--   psql -X -v rows=2000000 -v turns=15 -f test/bench/betree_memory.sql DATABASE
--
-- on a server for tests only, with shared_buffers that hold all (1 GB for two
-- million rows), max_wal_size = 4GB, autovacuum and fsync off, a build without
-- ECP_DEBUG.  The two indexes take turns on equal tables within one session, so
-- that other work on the machine meets both.  "cpu" is the time that the session
-- had a processor (Linux), which other work disturbs less.  Ratios are of sums,
-- those of inserts over more than a period of the logs, since drains come in
-- bursts; median, least and most are of the turns, by cpu.  Everything is in the
-- schema betree_memory, which is dropped at the end.
--
\set ON_ERROR_STOP on
\pset footer off
SET client_min_messages = warning;
SET max_parallel_workers_per_gather = 0;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET jit = off;
SET plan_cache_mode = force_generic_plan;
CREATE EXTENSION IF NOT EXISTS ecp;
DROP SCHEMA IF EXISTS betree_memory CASCADE;
CREATE SCHEMA betree_memory;
SET search_path = betree_memory, public;

CREATE FUNCTION uuid_of(i bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS
	$$SELECT md5(i::text)::uuid$$;
CREATE UNLOGGED TABLE source AS SELECT uuid_of(i) AS k, i FROM generate_series(1, :rows) i;
CREATE TABLE measured (nr serial, what text, n int, am text, turn int, ms float8, cpu float8);
-- milliseconds on a processor of this session so far
CREATE FUNCTION cpu_ms() RETURNS float8 LANGUAGE sql AS
	$$SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::float8 / 1e6$$;

-- Time a statement for each access method in turn; %s is the table's name.
CREATE PROCEDURE take_turns(what text, n int, turns int, tables text[], statement text)
LANGUAGE plpgsql AS $$
DECLARE
	begun timestamptz;
	cpu float8;
	which text;
BEGIN
	FOR turn IN 0..turns LOOP
		FOREACH which IN ARRAY tables LOOP
			begun := clock_timestamp();
			cpu := cpu_ms();
			EXECUTE format(replace(statement, '%turn', turn::text), which);
			COMMIT;				-- which puts rows into the index
			IF turn > 0 THEN
				INSERT INTO measured (what, n, am, turn, ms, cpu)
				VALUES (what, n, substring(which from '[^_]+$'), turn,
					extract(epoch FROM clock_timestamp() - begun) * 1000, cpu_ms() - cpu);
			END IF;
		END LOOP;
		COMMIT;
	END LOOP;
END $$;

-- n lookups by a loop, of every step-th key from "first" on
CREATE FUNCTION look_up(tab text, n int, first bigint, step bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	found_rows bigint := 0;
	found bigint;
BEGIN
	FOR nr IN 0..n - 1 LOOP
		IF tab LIKE '%btree' THEN
			SELECT t.i INTO found FROM uuid_btree t WHERE k = uuid_of(first + nr * step);
		ELSE
			SELECT t.i INTO found FROM uuid_betree t WHERE k = uuid_of(first + nr * step);
		END IF;
		found_rows := found_rows + (found IS NOT NULL)::int;
	END LOOP;
	RETURN found_rows;
END $$;

-- n index-only ranges of "length" rows
CREATE FUNCTION read_ranges(tab text, n int, length int, seed int) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
	counted bigint := 0;
	c bigint;
BEGIN
	FOR nr IN 1..n LOOP
		IF tab LIKE '%btree' THEN
			SELECT count(*) INTO c FROM (SELECT k FROM uuid_btree
				WHERE k >= uuid_of(-nr - seed * 1000) ORDER BY k LIMIT length) s;
		ELSE
			SELECT count(*) INTO c FROM (SELECT k FROM uuid_betree
				WHERE k >= uuid_of(-nr - seed * 1000) ORDER BY k LIMIT length) s;
		END IF;
		counted := counted + c;
	END LOOP;
	RETURN counted;
END $$;

-- inserts: a whole period of the logs, of a fifth of the rows
CREATE TABLE serial_btree (k bigint);
CREATE TABLE serial_betree (k bigint);
CREATE TABLE serial_table (k bigint);
INSERT INTO serial_btree SELECT i FROM generate_series(1, 100000) i;
INSERT INTO serial_betree TABLE serial_btree;
INSERT INTO serial_table TABLE serial_btree;
CREATE INDEX ON serial_btree (k);
CREATE INDEX ON serial_betree USING betree (k);
CHECKPOINT;
CALL take_turns('serial bigint', 20000, 40, '{serial_btree,serial_betree,serial_table}',
	'INSERT INTO %s SELECT 100000 + %turn * 20000 + g FROM generate_series(1, 20000) g');

CREATE TABLE uuid_btree AS SELECT k, i FROM source;
CREATE TABLE uuid_betree AS TABLE uuid_btree;
CREATE TABLE uuid_table AS TABLE uuid_btree;
CREATE INDEX ON uuid_btree (k);
CREATE INDEX uuid_k ON uuid_betree USING betree (k);
CREATE UNLOGGED TABLE more AS
	SELECT uuid_of(i) AS k, i FROM generate_series(:rows + 1, :rows + :rows * 2 / 5) i;
CREATE INDEX ON more (i);
CHECKPOINT;
SELECT format('INSERT INTO %%s SELECT k, i FROM more WHERE i > %s + %%turn * %s AND i <= %s + (%%turn + 1) * %s',
	:rows, :rows / 100, :rows, :rows / 100) AS insertion \gset
CALL take_turns('random uuid', :rows / 100, 38, '{uuid_btree,uuid_betree,uuid_table}', :'insertion');
VACUUM ANALYZE uuid_btree, uuid_betree;
SELECT messages_in_logs, pages_in_logs, leaves FROM betree_index_stats('uuid_k');

CREATE TABLE unique_btree AS SELECT k, i FROM source;
CREATE TABLE unique_betree AS TABLE unique_btree;
CREATE TABLE unique_table AS TABLE unique_btree;
CREATE UNIQUE INDEX ON unique_btree (k);
CREATE UNIQUE INDEX ON unique_betree USING betree (k);
CHECKPOINT;
CALL take_turns('unique random uuid', :rows / 100, 38, '{unique_btree,unique_betree,unique_table}', :'insertion');
DROP TABLE unique_btree, unique_betree, unique_table, serial_btree, serial_betree, serial_table, uuid_table;

-- reads: the logs as full as the inserts have left them; ranges first, since a
-- VACUUM has written the visibility map; then with empty logs
SELECT '{uuid_btree,uuid_betree}' AS both \gset
CALL take_turns('range of 100, full logs', 200, :turns, :'both', 'SELECT read_ranges(''%s'', 200, 100, %turn)');
CALL take_turns('range of 1,000, full logs', 100, :turns, :'both', 'SELECT read_ranges(''%s'', 100, 1000, %turn)');
CALL take_turns('range of 10,000, full logs', 20, :turns, :'both', 'SELECT read_ranges(''%s'', 20, 10000, %turn)');
CALL take_turns('lookup, full logs', 5000, :turns, :'both', 'SELECT look_up(''%s'', 5000, 1 + %turn, 397)');
CALL take_turns('absent key, full logs', 5000, :turns, :'both', 'SELECT look_up(''%s'', 5000, -1 - %turn, -397)');
SELECT betree_flush('uuid_k');
CALL take_turns('range of 100, empty logs', 200, :turns, :'both', 'SELECT read_ranges(''%s'', 200, 100, %turn)');
CALL take_turns('range of 10,000, empty logs', 20, :turns, :'both', 'SELECT read_ranges(''%s'', 20, 10000, %turn)');
CALL take_turns('lookup, empty logs', 5000, :turns, :'both', 'SELECT look_up(''%s'', 5000, 1 + %turn, 397)');

-- rates a second, and betree's as a part of btree's; "alone" is the table's share
WITH turn AS (
	SELECT min(nr) AS nr, what, n, turn,
		max(ms) FILTER (WHERE am = 'btree') AS ms, max(ms) FILTER (WHERE am = 'betree') AS ms2,
		max(cpu) FILTER (WHERE am = 'btree') AS cpu, max(cpu) FILTER (WHERE am = 'betree') AS cpu2,
		max(cpu) FILTER (WHERE am = 'table') AS alone
	FROM measured GROUP BY what, n, turn)
SELECT what, round((n * 1000 * count(*) / sum(cpu))::numeric) AS "btree/s cpu",
	round((n * 1000 * count(*) / sum(cpu2))::numeric) AS "betree/s cpu",
	round((sum(ms) / sum(ms2))::numeric, 2) AS clock,
	round((sum(cpu) / sum(cpu2))::numeric, 2) AS cpu,
	round(percentile_cont(0.5) WITHIN GROUP (ORDER BY cpu / nullif(cpu2, 0))::numeric, 2) AS median,
	round(min(cpu / nullif(cpu2, 0))::numeric, 2) AS least, round(max(cpu / nullif(cpu2, 0))::numeric, 2) AS most,
	round((sum(cpu - alone) / nullif(sum(cpu2 - alone), 0))::numeric, 2) AS "less table"
FROM turn GROUP BY what, n ORDER BY min(nr);
DROP SCHEMA betree_memory CASCADE;
