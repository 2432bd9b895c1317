--
-- The nearest row of each group: ecp_knn_groups() gives what DISTINCT ON gives.
--
SET max_parallel_workers_per_gather = 0;

-- documents of ten passages in clumps, so that the nearest rows are of few documents;
-- some passages have no document
CREATE FUNCTION groups_vector(i int) RETURNS real[] LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((abs(hashint4(i / 20 * 1000 + d)) % 100 +
					  abs(hashint4(i * 1000 + d)) % 40)::real ORDER BY d)
	FROM generate_series(1, 16) AS d
$$;
CREATE TABLE groups_items (gone int, id int, doc int, name text, bits varbit, more json, v real[]);
ALTER TABLE groups_items DROP gone;
INSERT INTO groups_items
	SELECT i, nullif(i / 10, 7), CASE WHEN i % 70 > 0 THEN 'Doc ' || i / 10 END, (i / 10)::bit(16), '{}',
		groups_vector(i)
	FROM generate_series(1, 3000) AS i;
ALTER TABLE groups_items ADD late int DEFAULT 5;
CREATE TABLE groups_queries AS SELECT i AS id, groups_vector(i * 97 + 7) AS v FROM generate_series(1, 20) AS i;
CREATE INDEX groups_v ON groups_items USING ecp (v) WITH (cluster_size = 1, quantizer = none);
VACUUM ANALYZE groups_items;

-- Of the answers for all queries: rows, those that belong there, and those whose group
-- came before.
CREATE FUNCTION groups_compare(index text, k int, col text DEFAULT 'doc', items text DEFAULT 'groups_items',
	op text DEFAULT '<->', condition text DEFAULT NULL,
	OUT answers bigint, OUT truth bigint, OUT same bigint, OUT twice bigint)
	LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($q$
		WITH found AS MATERIALIZED (
			SELECT q.id, g.rank, g.distance, i.%3$I AS grouped, i.v %5$s q.v AS d
			FROM groups_queries AS q, ecp_knn_groups(%1$L, q.v, %3$L, %2$s, %6$L) AS g
				JOIN %4$s AS i ON i.ctid = g.tid
		), best AS MATERIALIZED (
			SELECT q.id, b.d, row_number() OVER (PARTITION BY q.id ORDER BY b.d) AS rank
			FROM groups_queries AS q, LATERAL (SELECT * FROM (
				SELECT DISTINCT ON (%3$I) i.v %5$s q.v AS d FROM %4$s AS i WHERE %7$s ORDER BY %3$I, i.v %5$s q.v) AS x
				ORDER BY d LIMIT %2$s) AS b
		)
		SELECT (SELECT count(*) FROM found), (SELECT count(*) FROM best),
			(SELECT count(*) FROM found JOIN (SELECT id, max(d) AS d FROM best GROUP BY id) AS last USING (id)
			 WHERE found.distance = found.d AND found.d <= last.d),
			(SELECT count(*) - count(DISTINCT (id, coalesce(grouped::text, 'null'))) FROM found)
		$q$, index, k, col, items, op, condition, coalesce(condition, 'true')) INTO answers, truth, same, twice;
END $$;

-- all clusters: exact, also of text, and of a type that has only an order
SET ecp.probes = 1000;
SELECT * FROM groups_compare('groups_v', 10);
SELECT * FROM groups_compare('groups_v', 10, 'name');
SELECT * FROM groups_compare('groups_v', 10, 'bits');
-- one group; and more groups than there are
SELECT * FROM groups_compare('groups_v', 10, 'late');
SELECT * FROM groups_compare('groups_v', 10000);
-- NULL is one group
SELECT count(*), count(DISTINCT doc), count(*) FILTER (WHERE doc IS NULL) AS nulls
FROM ecp_knn_groups('groups_v', groups_vector(75), 'doc', 10000) AS g JOIN groups_items AS i ON i.ctid = g.tid;
SELECT rank, id, doc FROM ecp_knn_groups('groups_v', groups_vector(75), 'doc', 1) AS g
	JOIN groups_items AS i ON i.ctid = g.tid;

-- by the target: the search goes on until it has enough groups, and reads far less
-- than all
RESET ecp.probes;
SET ecp.target_recall = 0.99;
SELECT answers, truth, same >= 0.95 * truth AS same, twice FROM groups_compare('groups_v', 10);
SELECT answers, truth, same >= 0.95 * truth AS same, twice FROM groups_compare('groups_v', 40);
SELECT count(*) FROM ecp_knn_groups('groups_v', groups_vector(500), 'doc');
SELECT indexrelid, wanted, windows > 1 AS windows, vectors < 1500 AS few, returned, dropped, stop
FROM ecp_last_scan();
-- as few clusters as there can be, in other orders; then groups may be missing
SET ecp.probes = 1;
SELECT answers, truth, twice FROM groups_compare('groups_v', 10);
SET ecp.iterative_scan = relaxed_order;
SELECT answers, truth, twice FROM groups_compare('groups_v', 10);
SET ecp.iterative_scan = off;
SELECT answers < truth AS fewer, twice FROM groups_compare('groups_v', 10);
RESET ecp.iterative_scan;
RESET ecp.probes;
RESET ecp.target_recall;

-- rows that are changed and gone: a TID is that of the row as it is now
UPDATE groups_items SET late = 6 WHERE id % 3 = 0;
DELETE FROM groups_items WHERE id % 7 = 0;
SET ecp.probes = 1000;
SELECT * FROM groups_compare('groups_v', 10);
SET ecp.probes = 6;
SELECT answers, truth, same >= 0.95 * truth AS same, twice FROM groups_compare('groups_v', 10);
RESET ecp.probes;

-- other kinds of indexes
CREATE INDEX groups_codes ON groups_items USING ecp (v) WITH (vectors = codes);
SELECT answers, truth, same >= 0.85 * truth AS same, twice FROM groups_compare('groups_codes', 10);
DROP INDEX groups_codes;
CREATE INDEX groups_rabitq ON groups_items USING ecp (v) WITH (quantizer = rabitq);
SELECT answers, truth, same >= 0.95 * truth AS same, twice FROM groups_compare('groups_rabitq', 10);
DROP INDEX groups_rabitq;
CREATE INDEX groups_half ON groups_items USING ecp (v) WITH (vectors = half);
SELECT answers, truth, same >= 0.95 * truth AS same, twice FROM groups_compare('groups_half', 10);
DROP INDEX groups_half;
CREATE INDEX groups_ip ON groups_items USING ecp (v real_ip_ops, doc);
SELECT answers, truth, same >= 0.95 * truth AS same, twice FROM groups_compare('groups_ip', 10, op => '<#>');
DROP INDEX groups_ip;
CREATE INDEX groups_cosine ON groups_items USING ecp (v real_cosine_ops) INCLUDE (doc);
SELECT answers, truth, same >= 0.95 * truth AS same, twice FROM groups_compare('groups_cosine', 10, op => '<=>');
-- nothing is near to a vector without a direction
SELECT count(*), count(DISTINCT distance) FROM ecp_knn_groups('groups_cosine', array_fill(0::real, '{16}'), 'doc', 5);
DROP INDEX groups_cosine;
-- those of the predicate
CREATE INDEX groups_part ON groups_items USING ecp (v) WHERE id > 2500;
SELECT bool_and(id > 2500), count(DISTINCT doc)
FROM ecp_knn_groups('groups_part', groups_vector(500), 'doc') AS g JOIN groups_items AS i ON i.ctid = g.tid;
DROP INDEX groups_part;

-- rows that satisfy a condition: by keys of the index, by keys that are checked, and
-- by a query for each row, with a join, too
CREATE INDEX groups_keys ON groups_items USING ecp (v, id, name) WITH (cluster_size = 1, quantizer = none);
SET ecp.probes = 1000;
SELECT condition, c.* FROM (VALUES ('id < 150'), ('id % 3 = 1'), ('name = ''Doc 100'''), ('id < 100 AND name > ''Doc 5'''),
	('false'), ('id IN (SELECT q.id * 10 FROM groups_queries AS q)'),
	('EXISTS (SELECT FROM groups_queries AS q WHERE q.id * 2 = doc)')) AS v (condition),
	groups_compare('groups_keys', 10, condition => condition) AS c;
RESET ecp.probes;
SELECT condition, c.answers = c.truth AS all, c.same >= 0.95 * c.truth AS same, c.twice
FROM (VALUES ('id < 150'), ('id % 3 = 1'), ('id < 200 AND name > ''Doc 5''')) AS v (condition),
	groups_compare('groups_keys', 10, condition => condition) AS c;
DROP INDEX groups_keys;

-- queries that are converted; system columns; no queries and no rows
SELECT count(*) FROM ecp_knn_groups('groups_v', groups_vector(500)::float8[], 'doc');
SELECT count(*) FROM ecp_knn_groups('groups_v', groups_vector(500), 'tableoid');
SELECT count(*) FROM ecp_knn_groups('groups_v', NULL::real[], 'doc');
CREATE TABLE groups_none (doc int, v real[]);
CREATE INDEX groups_none_v ON groups_none USING ecp (v);
SELECT count(*) FROM ecp_knn_groups('groups_none_v', '{1,2}'::real[], 'doc');

-- errors
SELECT * FROM ecp_knn_groups('groups_v', '{1,2}'::real[], 'doc');
SELECT * FROM ecp_knn_groups('groups_v', '{1,2}'::text[], 'doc');
SELECT * FROM ecp_knn_groups('groups_v', groups_vector(1), 'gone');
SELECT * FROM ecp_knn_groups('groups_v', groups_vector(1), 'more');
SELECT * FROM ecp_knn_groups('groups_v', groups_vector(1), 'doc', 0);
SELECT * FROM ecp_knn_groups('groups_items', groups_vector(1), 'doc');
SELECT * FROM ecp_knn_groups('groups_v', groups_vector(1), 'doc', 10, 'id');
SELECT * FROM ecp_knn_groups('groups_v', groups_vector(1), 'doc', 10, 'true) OR (true');

-- rows that policies hide are not the best of their group, nor is there a group that
-- has no others; the policy's subquery is of rows, too
CREATE TABLE groups_allowed AS SELECT i AS doc FROM generate_series(0, 400) AS i WHERE i % 4 > 0;
CREATE ROLE regress_groups_reader;
GRANT SELECT ON groups_allowed TO regress_groups_reader;
SET ROLE regress_groups_reader;
SELECT count(*) FROM ecp_knn_groups('groups_v', groups_vector(500), 'doc');
RESET ROLE;
GRANT SELECT ON groups_items, groups_queries TO regress_groups_reader;
ALTER TABLE groups_items ENABLE ROW LEVEL SECURITY;
CREATE POLICY groups_seen ON groups_items USING (id % 2 = 0 AND doc IN (SELECT doc FROM groups_allowed));
SET ROLE regress_groups_reader;
SET ecp.probes = 1000;
SELECT * FROM groups_compare('groups_v', 10);
SET ecp.probes = 6;
SELECT answers, truth, same >= 0.95 * truth AS same, twice FROM groups_compare('groups_v', 10);
SELECT answers, truth, same >= 0.95 * truth AS same, twice FROM groups_compare('groups_v', 10, condition => 'id % 3 = 0');
SELECT bool_and(id % 2 = 0 AND doc % 4 > 0), count(DISTINCT doc)
FROM ecp_knn_groups('groups_v', groups_vector(500), 'doc', 1000) AS g JOIN groups_items AS i ON i.ctid = g.tid;
RESET ROLE;
RESET ecp.probes;

DROP TABLE groups_items, groups_queries, groups_none, groups_allowed;
DROP ROLE regress_groups_reader;
DROP FUNCTION groups_compare, groups_vector;
