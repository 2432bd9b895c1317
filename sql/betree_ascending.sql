--
-- betree: ascending keys go past the logs, and cost what they cost btree
--
-- before 18 a unique betree comes with a NOTICE (betree_reach)
-- few rows are held back, so that logs take them
SET work_mem = '64kB';
SET client_min_messages = warning;

-- WAL of the inserts, the index's pages, and its messages, by access method
CREATE FUNCTION asc_measure(am text, keys text, kind text DEFAULT '', OUT wal numeric, OUT pages int,
	OUT messages bigint) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'CREATE TABLE asc_t AS SELECT k FROM (' || keys || ') s LIMIT 0';
	IF am <> 'none' THEN
		EXECUTE format('CREATE %s INDEX asc_k ON asc_t USING %s (k)', kind, am);
	END IF;
	EXECUTE 'EXPLAIN (ANALYZE, WAL, FORMAT JSON) INSERT INTO asc_t ' || keys INTO plan;
	wal := plan->0->'Plan'->>'WAL Bytes';
	IF am <> 'none' THEN
		pages := pg_relation_size('asc_k') / current_setting('block_size')::int;
	END IF;
	IF am = 'betree' THEN
		PERFORM betree_index_check('asc_k', true);
		SELECT s.messages + s.messages_in_logs INTO messages FROM betree_index_stats('asc_k') s;
	END IF;
	DROP TABLE asc_t;
END $$;
CREATE FUNCTION asc_compare(keys text, wal_ratio numeric, size_ratio numeric, kind text DEFAULT '',
	OUT wal bool, OUT size bool, OUT few_messages bool) LANGUAGE sql AS $$
	SELECT e.wal - n.wal <= wal_ratio * (b.wal - n.wal), e.pages <= size_ratio * b.pages, e.messages < 1000
	FROM asc_measure('none', keys) n, asc_measure('btree', keys, kind) b, asc_measure('betree', keys, kind) e;
$$;

-- serial keys; and as a unique index, which has Bloom filters
SELECT * FROM asc_compare('SELECT g::int8 AS k FROM generate_series(1, 50000) g', 1.15, 1.05);
SELECT * FROM asc_compare('SELECT g::int8 AS k FROM generate_series(1, 50000) g', 1.25, 1.15, 'UNIQUE');

-- time-ordered uuids: ascending, and those of each millisecond in any order
SELECT * FROM asc_compare($$SELECT (lpad(to_hex(1700000000000 + g), 12, '0') || '7' ||
	substr(md5(g::text), 1, 19))::uuid AS k FROM generate_series(1, 50000) g$$, 1.15, 1.05);
SELECT * FROM asc_compare($$SELECT (lpad(to_hex(1700000000000 + g / 10), 12, '0') || '7' ||
	substr(md5(g::text), 1, 19))::uuid AS k FROM generate_series(1, 50000) g$$, 1.35, 1.05);

-- rows with the same key still share items, whatever comes between
SELECT * FROM asc_compare('SELECT g / 1000 AS k FROM generate_series(1, 50000) g', 3.0, 0.6);
SELECT * FROM asc_compare('SELECT g / 2 AS k FROM generate_series(1, 50000) g', 2.5, 1.15);

\set VERBOSITY terse
-- what comes late goes into a log, and all are found
CREATE TABLE asc_u (k int8, v text);
CREATE UNIQUE INDEX asc_uk ON asc_u USING betree (k);
INSERT INTO asc_u SELECT g * 2, 'a' FROM generate_series(1, 20000) g;
INSERT INTO asc_u SELECT g * 2 + 1, 'b' FROM generate_series(1, 20000, 7) g;
INSERT INTO asc_u VALUES (40000, 'c');
INSERT INTO asc_u VALUES (15, 'c');
INSERT INTO asc_u VALUES (39988, 'c');
INSERT INTO asc_u VALUES (39989, 'c');
SELECT betree_index_check('asc_uk', true);
SELECT messages_in_logs > 0 AS some_in_logs, bloom_pages > 0 AS blooms FROM betree_index_stats('asc_uk');
SET enable_seqscan = off;
SELECT v, count(*) FROM asc_u WHERE k BETWEEN 101 AND 39999 GROUP BY v ORDER BY v;
RESET enable_seqscan;

-- after deletes the last leaf is filled again
DELETE FROM asc_u WHERE k > 39900;
VACUUM asc_u;
INSERT INTO asc_u SELECT g, 'd' FROM generate_series(39901, 41000) g;
SELECT betree_index_check('asc_uk', true);
SELECT count(*) FROM asc_u WHERE k > 39900;

-- nodes split, and the tree grows
CREATE TABLE asc_n (k text COLLATE "C");
ALTER TABLE asc_n ALTER k SET STORAGE PLAIN;
CREATE INDEX asc_nk ON asc_n USING betree (k) WITH (bloom = on);
INSERT INTO asc_n SELECT rpad(lpad(g::text, 8, '0'), 1000, 'x') FROM generate_series(1, 3000) g;
SELECT betree_index_check('asc_nk', true);
SELECT height > 2 AS high, leaves > 300 AS leaves, messages + messages_in_logs AS messages
FROM betree_index_stats('asc_nk');

DROP TABLE asc_u, asc_n;
DROP FUNCTION asc_compare, asc_measure;
