--
-- Placement of the partitions of a table over tablespaces: plan, comparison,
-- moving, rules for new partitions.
--
CREATE EXTENSION ecp_storage;
SET client_min_messages = warning;
\set SHOW_CONTEXT never
SET allow_in_place_tablespaces = true;
CREATE TABLESPACE ecp_place_fast LOCATION '';
CREATE TABLESPACE ecp_place_slow LOCATION '';

CREATE TABLE land (tile text, n int, img text) PARTITION BY LIST (tile);
CREATE INDEX land_n ON land (n);
CREATE TABLE "land_32TQU" PARTITION OF land FOR VALUES IN ('32TQU');
CREATE TABLE "land_32TPT" PARTITION OF land FOR VALUES IN ('32TPT');
CREATE TABLE "land_33UVP" PARTITION OF land FOR VALUES IN ('33UVP');
CREATE TABLE "land_Ocean 1" PARTITION OF land FOR VALUES IN ('O''1');
ALTER TABLE land ALTER img SET STORAGE EXTERNAL;
INSERT INTO land
SELECT tile, g, repeat('x', 3000)
FROM (VALUES ('32TQU', 800), ('32TPT', 400), ('33UVP', 300), ('O''1', 100)) AS v(tile, rows),
	generate_series(1, rows) AS g;

-- a group is a partition with what belongs to it
SELECT grp, bytes = pg_total_relation_size(grp) AS whole, scans IS NOT NULL AS scans,
	tablespace, split, bound
FROM ecp_place_groups('land') ORDER BY grp::text COLLATE "C";

-- targets
SELECT ecp_place_target('europe', 'ecp_place_fast', speed => 200, capacity => '1GB');
SELECT ecp_place_target('europe', 'ecp_place_slow', speed => 50, capacity => '1GB');
SELECT ecp_place_target('europe', 'ecp_place_slow', speed => 100, capacity => '1GB');
SELECT * FROM ecp_storage.ecp_place_targets ORDER BY 1, 2;
SELECT ecp_place_target('europe', 'ecp_place_none');
SELECT ecp_place_target('europe', 'pg_global');
SELECT ecp_place_target('europe', 'ecp_place_slow', speed => 0);
SELECT ecp_place_target('europe', 'ecp_place_slow', speed => 'infinity');
SELECT ecp_place_target('europe', 'ecp_place_slow', capacity => '-1GB');
SELECT ecp_place_target('europe', 'ecp_place_slow', capacity => 'much');
SELECT * FROM ecp_place_plan('land', 'nowhere');
SELECT * FROM ecp_place_plan('pg_tables', 'europe');
SELECT * FROM ecp_place_plan(0::regclass, 'europe');
-- a target that was dropped, or came from a dump, is found before any move
INSERT INTO ecp_storage.ecp_place_targets VALUES ('gone', 'ecp_place_none', false, 1, 1e9), ('gone', 'ecp_place_fast', false, 1, 1e9);
CALL ecp_place_apply('land', 'gone');

-- the plan, and what it comes to
SELECT grp, source, target, move, script FROM ecp_place_plan('land', 'europe')
ORDER BY grp::text COLLATE "C";
SELECT strategy, over_pct < 25 AS near, round(guarantee::numeric, 3) AS guarantee,
	moved_groups, split_groups, remote_bytes > 0 AS remote
FROM ecp_place_compare('land', 'europe', piece_bytes => 65536)
WHERE strategy <> 'random_group';

-- nothing that does not fit is planned, nothing stored for a failed plan
SELECT ecp_place_target('tiny', 'ecp_place_fast', speed => 200, capacity => '1MB');
\set VERBOSITY terse
SELECT count(*) FROM ecp_place_plan('land', 'tiny');
\set VERBOSITY default

-- moving, in bounded steps: 2 MB is enough for one group
BEGIN;
CALL ecp_place_apply('land', 'europe');
ROLLBACK;
CALL ecp_place_apply('land', NULL);
CALL ecp_place_apply('land', 'europe', max_bytes => '-1');
CALL ecp_place_apply('land', 'europe', lock_timeout => 'soon');
CALL ecp_place_apply('land', 'europe', 'best');
CALL ecp_place_apply('land', 'europe', max_bytes => '2MB');
SELECT count(*) FILTER (WHERE move) AS to_move, count(*) FROM ecp_place_plan('land', 'europe');
CALL ecp_place_apply('land', 'europe');
SELECT count(*) FILTER (WHERE move) AS to_move, count(*) FROM ecp_place_plan('land', 'europe');
-- heap, index and TOAST have gone together
SELECT c.relname, t.spcname,
	bool_and(i.reltablespace = c.reltablespace) AS indexes_too,
	min(toast.reltablespace) = c.reltablespace AS toast_too
FROM pg_class AS c
	JOIN pg_tablespace AS t ON t.oid = c.reltablespace
	JOIN pg_index AS x ON x.indrelid = c.oid
	JOIN pg_class AS i ON i.oid = x.indexrelid
	JOIN pg_class AS toast ON toast.oid = c.reltoastrelid
WHERE c.oid IN (SELECT grp FROM ecp_place_groups('land'))
GROUP BY c.relname, t.spcname, c.reltablespace ORDER BY c.relname COLLATE "C";
SELECT count(*), sum(n), sum(length(img)) FROM land;
SELECT strategy, moved_bytes, split_groups FROM ecp_place_compare('land', 'europe')
WHERE strategy IN ('current', 'lpt', 'online', 'rebalance');

-- a group whose index is elsewhere is split, and planned as a whole
ALTER INDEX "land_33UVP_n_idx" SET TABLESPACE pg_default;
SELECT grp, split FROM ecp_place_groups('land') WHERE split;
SELECT grp, move FROM ecp_place_plan('land', 'europe', 'rebalance') WHERE move;
CALL ecp_place_apply('land', 'europe', 'rebalance');
SELECT count(*) FROM ecp_place_groups('land') WHERE split;

-- rules: the longest prefix wins, a TABLESPACE clause wins over all rules
SELECT count(*) FROM pg_event_trigger;
SELECT ecp_place_rule('land', '3', 'ecp_place_slow');
SELECT evtname, evtevent, evttags, evtenabled FROM pg_event_trigger;
SELECT ecp_place_rule('land', '32T', 'ecp_place_fast');
CREATE TABLE "land_32TXX" PARTITION OF land FOR VALUES IN ('32TXX');
CREATE TABLE "land_32UXX" PARTITION OF land FOR VALUES IN ('32UXX');
CREATE TABLE "land_32TXY" PARTITION OF land FOR VALUES IN ('32TXY') TABLESPACE ecp_place_slow;
CREATE TABLE "land_9" PARTITION OF land FOR VALUES IN ('9');
CREATE TABLE "3other" (a int);
-- no rule of its own: the target that online LPT picks
SELECT ecp_place_rule('land', '', place => 'europe');
CREATE TABLE "land_8" PARTITION OF land FOR VALUES IN ('8');
SELECT relname, coalesce(spcname, 'default') AS tablespace, relkind
FROM pg_class LEFT JOIN pg_tablespace AS t ON t.oid = reltablespace
WHERE relname ~ '^(land_(32TX|32UX|9|8)|3other)' ORDER BY relname COLLATE "C";
SELECT (SELECT target FROM ecp_place_plan('land', 'europe', 'online') WHERE grp = '"land_8"'::regclass)
	= spcname AS online_target
FROM pg_class JOIN pg_tablespace AS t ON t.oid = reltablespace WHERE relname = 'land_8';
-- what could only fail later is refused now
SELECT ecp_place_rule('land', 'x');
SELECT ecp_place_rule('land', 'x', 'ecp_place_fast', 'europe');
SELECT ecp_place_rule('land', NULL, 'ecp_place_fast');
SELECT ecp_place_rule('land', 'x', 'ecp_place_none');
SELECT ecp_place_rule('land', 'x', 'pg_global');
SELECT ecp_place_rule('land', 'x', place => 'nowhere');
SELECT ecp_place_rule('3other', 'x', 'ecp_place_fast');

-- privileges: an ordinary role may plan, but not define or move
CREATE ROLE regress_ecp_place;
SET ROLE regress_ecp_place;
SELECT count(*) FROM ecp_place_plan('land', 'europe');
SELECT ecp_place_target('europe', 'ecp_place_fast', speed => 1);
SELECT ecp_place_rule('land', 'y', 'ecp_place_fast');
RESET ROLE;
CALL ecp_place_apply('land', 'europe');
UPDATE ecp_storage.ecp_place_targets SET capacity = CASE target WHEN 'ecp_place_fast' THEN 0 ELSE capacity END;
SET ROLE regress_ecp_place;
CALL ecp_place_apply('land', 'europe');
RESET ROLE;

-- who may write rules needs no more for the event trigger, which is the
-- extension's, and goes with the last rule
BEGIN;
GRANT INSERT, UPDATE, SELECT, DELETE ON ecp_storage.ecp_place_rules TO regress_ecp_place;
CREATE VIEW regress_ecp_trigger AS
SELECT evtname, extname, evtowner = extowner AS extensions_owner
FROM pg_event_trigger AS t
	LEFT JOIN pg_depend AS d ON d.classid = 'pg_event_trigger'::regclass AND d.objid = t.oid AND d.deptype = 'e'
	LEFT JOIN pg_extension AS e ON e.oid = d.refobjid;
GRANT SELECT ON regress_ecp_trigger TO regress_ecp_place;
SET ROLE regress_ecp_place;
DELETE FROM ecp_storage.ecp_place_rules;
SELECT * FROM regress_ecp_trigger;
SELECT ecp_place_rule('land', 'y', 'ecp_place_fast');
SELECT * FROM regress_ecp_trigger;
SELECT current_user;
RESET ROLE;
TRUNCATE ecp_storage.ecp_place_rules;
SELECT * FROM regress_ecp_trigger;
COPY ecp_storage.ecp_place_rules (parent, prefix, target) FROM STDIN;
land	z	ecp_place_fast
\.
SELECT * FROM regress_ecp_trigger;
ROLLBACK;
CREATE TABLE rules (LIKE ecp_storage.ecp_place_rules);
ALTER TABLE rules OWNER TO regress_ecp_place;
SET ROLE regress_ecp_place;
CREATE TRIGGER changed AFTER DELETE ON rules EXECUTE FUNCTION ecp_storage.ecp_place_rules_changed();
RESET ROLE;
DROP TABLE rules;

-- New partitions are placed whatever rights their creator has on the schema of
-- the extension, and with no rights that are not the creator's.
BEGIN;
CREATE TEMPORARY TABLE targets ON COMMIT DROP AS TABLE ecp_storage.ecp_place_targets;
DROP EXTENSION ecp_storage;
CREATE SCHEMA regress_ecp_ext;
CREATE EXTENSION ecp_storage SCHEMA regress_ecp_ext;
INSERT INTO ecp_storage.ecp_place_targets TABLE targets;
GRANT CREATE ON SCHEMA public TO regress_ecp_place;
GRANT CREATE ON TABLESPACE ecp_place_fast TO regress_ecp_place;
SELECT has_schema_privilege('regress_ecp_place', 'regress_ecp_ext', 'USAGE') AS usage;
SET ROLE regress_ecp_place;
CREATE TABLE sea (k int) PARTITION BY LIST (k);
CREATE TABLE sea_0 PARTITION OF sea FOR VALUES IN (0);
RESET ROLE;
UPDATE ecp_storage.ecp_place_targets SET capacity = 1e9;
SELECT regress_ecp_ext.ecp_place_rule('sea', 'a', 'ecp_place_fast');
SELECT regress_ecp_ext.ecp_place_rule('sea', 'b', place => 'tiny');
SELECT regress_ecp_ext.ecp_place_rule('sea', 'c', 'ecp_place_slow');
SET ROLE regress_ecp_place;
CREATE TABLE sea_a PARTITION OF sea FOR VALUES IN (1);
CREATE TABLE sea_b PARTITION OF sea FOR VALUES IN (2);
SELECT relname, relowner::regrole, spcname
FROM pg_class LEFT JOIN pg_tablespace AS t ON t.oid = reltablespace
WHERE relname ~ '^sea_' ORDER BY relname;
SELECT current_user;
CREATE TABLE sea_c PARTITION OF sea FOR VALUES IN (3);
ROLLBACK;

-- In the script nothing of a name is outside quotes, and no character is cut:
-- this name's 50th byte is within one.
CREATE FOREIGN DATA WRAPPER ecp_place_wrapper;
CREATE SERVER ecp_place_server FOREIGN DATA WRAPPER ecp_place_wrapper;
SELECT ecp_place_target('far', 'ecp_place_server', speed => 1, capacity => '1TB');
CREATE TABLE lake (k int) PARTITION BY LIST (k);
CREATE TABLE U&"\000ADROP TABLE land; --x\00e4\00e4\00e4\00e4\00e4\00e4\00e4\00e4\00e4\00e4\00e4\00e4\00e4\00e4\00e4\00e4\00e4" PARTITION OF lake FOR VALUES IN (1);
CREATE TABLE U&"\000ADROP TABLE land;" (k int);
SELECT script FROM ecp_place_plan('lake', 'far');
SELECT script FROM ecp_place_plan(U&'"\000ADROP TABLE land;"', 'far');
DROP TABLE lake, U&"\000ADROP TABLE land;";
DELETE FROM ecp_storage.ecp_place_targets WHERE place = 'far';
DROP FOREIGN DATA WRAPPER ecp_place_wrapper CASCADE;

-- of what is said to be an operator, nothing but an operator gets into a query
CREATE TABLE shard (id int, v real[]) PARTITION BY LIST (id);
CREATE TABLE shard_1 PARTITION OF shard FOR VALUES IN (1);
CREATE TABLE shard_2 PARTITION OF shard FOR VALUES IN (2);
SELECT ecp_shard_query('shard', 'v', 10);
SELECT ecp_shard_query('shard', 'v', 10, 'public.<=>') = replace(ecp_shard_query('shard', 'v', 10), '<->', '<=>') AS qualified;
SELECT ecp_shard_query('shard_1', 'id', 1, 'pg_catalog.-');
SELECT ecp_shard_query('shard', 'v', 10, '<->$1;DROP/**/TABLE/**/shard;--');
SELECT ecp_shard_query('shard', 'v', 10, '<-> $1; DROP TABLE shard; --');
SELECT ecp_shard_query('shard', 'v', 10, '<->(real[],real[]) $1; SELECT (1');
SELECT ecp_shard_query('shard', 'v', 10, '');
SELECT ecp_shard_query('shard', 'v', 10, '<<->>');
SELECT ecp_shard_query('shard', 'w', 10);
CREATE TABLE shard_none (id int, v real[]);
SELECT ecp_shard_query('shard_none', 'v', 10);
DROP TABLE shard_none;
DROP TABLE shard;

-- a plain table is a group by itself
CREATE TABLE plain (a int);
SELECT grp, tablespace FROM ecp_place_groups('plain');

DROP TABLE land, plain, "3other";
DELETE FROM ecp_storage.ecp_place_rules;
SELECT count(*) FROM pg_event_trigger;
DELETE FROM ecp_storage.ecp_place_targets;
DROP TABLESPACE ecp_place_fast;
DROP TABLESPACE ecp_place_slow;
DROP ROLE regress_ecp_place;
DROP EXTENSION ecp_storage;
