--
-- betree: the planner's choices, beside btree's for the same rows
--

-- ANALYZE reads all rows, so that its figures do not depend on chance
CREATE TABLE bt_plan_btree (k int8, v int8) WITH (autovacuum_enabled = off);
ALTER TABLE bt_plan_btree ALTER k SET STATISTICS 400;
INSERT INTO bt_plan_btree SELECT hashint8extended(g, 1) % 1000000, g FROM generate_series(1, 100000) g;
CREATE TABLE bt_plan_betree (LIKE bt_plan_btree) WITH (autovacuum_enabled = off);
ALTER TABLE bt_plan_betree ALTER k SET STATISTICS 400;
INSERT INTO bt_plan_betree SELECT * FROM bt_plan_btree;
CREATE INDEX bt_plan_i_btree ON bt_plan_btree USING btree (k);
CREATE INDEX bt_plan_i_betree ON bt_plan_betree USING betree (k);
VACUUM ANALYZE bt_plan_btree;
VACUUM ANALYZE bt_plan_betree;

-- The plan for a query on a table with this access method's index: its first
-- nodes from the top, and the cost of the last of them.
CREATE FUNCTION bt_plan(query text, am text, OUT nodes text, OUT cost float8)
LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || replace(query, '@', am) INTO plan;
	plan := plan -> 0 -> 'Plan';
	LOOP
		nodes := concat_ws(', ', nodes, plan ->> 'Node Type');
		EXIT WHEN plan -> 'Plans' IS NULL;
		plan := plan -> 'Plans' -> 0;
	END LOOP;
	cost := plan ->> 'Total Cost';
END $$;

CREATE VIEW bt_plan_queries AS SELECT * FROM (VALUES
	(1, 'equality', 'SELECT v FROM bt_plan_@ WHERE k = 77'),
	(2, 'equality, another type', 'SELECT v FROM bt_plan_@ WHERE k = 77::int2'),
	(3, 'index-only equality', 'SELECT k FROM bt_plan_@ WHERE k = 77'),
	(4, 'small range', 'SELECT v FROM bt_plan_@ WHERE k BETWEEN 1000 AND 1040'),
	(5, 'index-only range', 'SELECT k FROM bt_plan_@ WHERE k BETWEEN 1000 AND 90000'),
	(6, 'large range', 'SELECT v FROM bt_plan_@ WHERE k > 1000'),
	(7, 'IN list', 'SELECT v FROM bt_plan_@ WHERE k IN (7, 77, 777, 7777, 77777)'),
	(8, 'ordered LIMIT', 'SELECT v FROM bt_plan_@ ORDER BY k LIMIT 10'),
	(9, 'ordered LIMIT, backward', 'SELECT v FROM bt_plan_@ WHERE k < 500000 ORDER BY k DESC LIMIT 10'),
	(10, 'max', 'SELECT max(k) FROM bt_plan_@'),
	(11, 'lookups', 'SELECT (SELECT v FROM bt_plan_@ b WHERE b.k = g LIMIT 1) FROM generate_series(1, 10) g'),
	(12, 'join of few', 'SELECT b.v FROM bt_plan_@ b JOIN generate_series(1, 10) g ON b.k = g'),
	(13, 'index-only IN list', 'SELECT k FROM bt_plan_@ WHERE k IN (7, 77, 777, 7777, 77777)'),
	(14, 'ordered IN list', 'SELECT k FROM bt_plan_@ WHERE k IN (7, 77, 777, 7777, 77777) ORDER BY k DESC LIMIT 2')
	) AS q(id, about, query);

-- the same plans as btree's
SELECT about, o.nodes AS betree,
	   CASE WHEN i.nodes <> o.nodes THEN i.nodes END AS btree
FROM bt_plan_queries, bt_plan(query, 'btree') i, bt_plan(query, 'betree') o
ORDER BY id;

-- Lookups, for which the logs have filters, cost little more than btree's.
SELECT about, o.cost / i.cost < 1.3 AS as_cheap
FROM bt_plan_queries, bt_plan(query, 'btree') i, bt_plan(query, 'betree') o
WHERE id IN (1, 2, 3, 7, 13, 14) ORDER BY id;
-- beyond memory, a page more
SET effective_cache_size = '8kB';
SELECT about, o.cost - i.cost < 2 * current_setting('random_page_cost')::float8 AS one_page_more
FROM bt_plan_queries, bt_plan(query, 'btree') i, bt_plan(query, 'betree') o
WHERE id IN (1, 2, 3) ORDER BY id;
-- a range must read the log
SELECT about, o.cost - i.cost > 10 AS log_counts
FROM bt_plan_queries, bt_plan(query, 'btree') i, bt_plan(query, 'betree') o
WHERE id IN (4) ORDER BY id;
RESET effective_cache_size;

-- both on one table: lookups and ranges go to btree, which has no log
CREATE INDEX bt_plan_i_both ON bt_plan_betree USING btree (k);
EXPLAIN (COSTS OFF) SELECT v FROM bt_plan_betree WHERE k = 77;
EXPLAIN (COSTS OFF) SELECT v FROM bt_plan_betree WHERE k BETWEEN 1000 AND 1040;
DROP INDEX bt_plan_i_both;

DROP VIEW bt_plan_queries;
DROP FUNCTION bt_plan;
DROP TABLE bt_plan_btree, bt_plan_betree;
