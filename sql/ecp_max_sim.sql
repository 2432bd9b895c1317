--
-- Documents of several vectors: ecp_knn_max_sim() gives what MaxSim in SQL gives.
--
SET max_parallel_workers_per_gather = 0;

CREATE FUNCTION max_sim_vector(i int) RETURNS real[] LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((abs(hashint4(i / 20 * 1000 + d)) % 100 +
					  abs(hashint4(i * 1000 + d)) % 40)::real ORDER BY d)
	FROM generate_series(1, 16) AS d
$$;
CREATE DOMAIN max_sim_name AS varchar(20);
CREATE TABLE max_sim_tokens (gone int, id int, doc int, name max_sim_name, bits varbit, tags int[], kind int, v real[]);
ALTER TABLE max_sim_tokens DROP gone;
INSERT INTO max_sim_tokens
	SELECT i, nullif(i / 10, 7), 'Doc ' || i / 10, (i / 10)::bit(16), '{1}', i % 3, max_sim_vector(i)
	FROM generate_series(1, 3000) AS i;
INSERT INTO max_sim_tokens VALUES (3001, 5, 'Doc 5');
CREATE TABLE max_sim_queries AS SELECT i AS id, max_sim_vector(i * 97 + 7) AS v FROM generate_series(1, 8) AS i;
CREATE INDEX max_sim_v ON max_sim_tokens USING ecp (v) WITH (cluster_size = 1, quantizer = none);
CREATE INDEX max_sim_ip ON max_sim_tokens USING ecp (v real_ip_ops) WITH (cluster_size = 1, quantizer = rabitq);
CREATE INDEX max_sim_doc ON max_sim_tokens (doc);
VACUUM ANALYZE max_sim_tokens;

-- How many documents there are, and how many of those are found where they belong, with
-- their distances, each by a row of its own.
CREATE FUNCTION max_sim_compare(index text, k int, rows int, candidates int, col text DEFAULT 'doc',
	op text DEFAULT '<->', condition text DEFAULT NULL, OUT truth bigint, OUT answers bigint, OUT same bigint)
	LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format($q$
		WITH best AS MATERIALIZED (
			SELECT grouped, row_number() OVER (ORDER BY d) AS rank, d FROM (
				SELECT grouped, sum(d) AS d FROM (
					SELECT i.%3$I::text AS grouped, q.id, min(i.v %4$s q.v) AS d
					FROM max_sim_tokens AS i, max_sim_queries AS q WHERE i.%3$I IS NOT NULL AND i.v IS NOT NULL AND %5$s
					GROUP BY 1, 2) AS x GROUP BY 1) AS y
		), found AS MATERIALIZED (
			SELECT n.rank, n.distance, i.%3$I::text AS grouped
			FROM ecp_knn_max_sim(%1$L, 'SELECT id, v FROM max_sim_queries', %3$L, %2$s, %6$L, %7$L, %8$L) AS n
				JOIN max_sim_tokens AS i ON i.ctid = n.tid
		)
		SELECT (SELECT count(*) FROM best WHERE rank <= %2$s), (SELECT count(*) FROM found),
			(SELECT count(*) FROM found JOIN best USING (grouped, rank) WHERE abs(found.distance - d) < 1e-6 * abs(d))
		$q$, index, k, col, replace(op, '%', '%%'), coalesce(condition, 'true'), rows, candidates, condition)
		INTO truth, answers, same;
END $$;

-- all documents
SELECT * FROM max_sim_compare('max_sim_v', 10, 1, NULL);
SELECT * FROM max_sim_compare('max_sim_v', 1000, 1, NULL);
SELECT * FROM max_sim_compare('max_sim_v', 10, 1, NULL, 'name');
SELECT * FROM max_sim_compare('max_sim_v', 10, 1, NULL, 'bits', '<->', 'kind = 1');
SELECT * FROM max_sim_compare('max_sim_ip', 10, 1, NULL, 'doc', '<#>');

-- candidates that are all there are, also by a type of a domain, and of varbit
SELECT * FROM max_sim_compare('max_sim_v', 10, 10000, 10000);
SELECT * FROM max_sim_compare('max_sim_v', 10, 10000, 10000, 'name');
SELECT * FROM max_sim_compare('max_sim_v', 10, 10000, 10000, 'bits');
SELECT * FROM max_sim_compare('max_sim_ip', 10, 10000, 10000, 'doc', '<#>');
SELECT * FROM max_sim_compare('max_sim_v', 10, 10000, 10000, 'doc', '<->', 'kind = 1');
SELECT * FROM max_sim_compare('max_sim_v', 10, 10000, 10000, 'doc', '<->', 'false');

-- the best candidates; k are compared at least, and their distances are exact
SELECT truth, answers, same >= 9 AS same FROM max_sim_compare('max_sim_v', 10, 1000, 100);
SELECT count(*) FROM ecp_knn_max_sim('max_sim_v', 'SELECT v FROM max_sim_queries', 'doc', 10, 1000, 1);
SELECT count(*) = count(e.distance) AS exact
FROM ecp_knn_max_sim('max_sim_v', 'SELECT v FROM max_sim_queries', 'doc', 10, 50, 20) AS n
	JOIN max_sim_tokens AS t ON t.ctid = n.tid
	LEFT JOIN (SELECT doc, x.distance FROM ecp_knn_max_sim('max_sim_v', 'SELECT v FROM max_sim_queries', 'doc', 1000, 1, NULL)
		AS x JOIN max_sim_tokens AS t ON t.ctid = x.tid) AS e ON e.doc = t.doc AND e.distance = n.distance;

-- an array; NULL as a vector adds nothing; no vectors, no documents
SELECT n.rank, doc, round(distance::numeric, 3) AS distance
FROM ecp_knn_max_sim('max_sim_v', ARRAY[max_sim_vector(75), max_sim_vector(1500)], 'doc', 3, 1, NULL) AS n
	JOIN max_sim_tokens AS t ON t.ctid = n.tid ORDER BY n.rank;
SELECT count(*), min(distance) FROM ecp_knn_max_sim('max_sim_v', 'SELECT NULL::real[] UNION ALL SELECT max_sim_vector(1500)', 'doc');
SELECT count(*) FROM ecp_knn_max_sim('max_sim_v', 'SELECT v FROM max_sim_queries WHERE false', 'doc');
SELECT count(*) FROM ecp_knn_max_sim('max_sim_v', 'SELECT v FROM max_sim_queries WHERE false', 'doc', candidates => NULL);
SELECT count(*) FROM ecp_knn_max_sim('max_sim_v', NULL::text, 'doc');

-- an index of some rows, and of an expression
CREATE INDEX max_sim_part ON max_sim_tokens USING ecp ((v[1:4])) WHERE kind = 1;
SELECT count(*), bool_and(a.distance = b.distance AND t.kind = 1) AS same
FROM ecp_knn_max_sim('max_sim_part', 'SELECT v[1:4] FROM max_sim_queries', 'doc', 10, 10000, 1000) AS a
	JOIN ecp_knn_max_sim('max_sim_part', 'SELECT v[1:4] FROM max_sim_queries', 'doc', 10, 1, NULL) AS b USING (rank, tid)
	JOIN max_sim_tokens AS t ON t.ctid = tid;
DROP INDEX max_sim_part;

-- row-level security
CREATE ROLE regress_max_sim;
GRANT SELECT ON max_sim_tokens, max_sim_queries TO regress_max_sim;
ALTER TABLE max_sim_tokens ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON max_sim_tokens USING (kind = 1 AND doc < 100);
SET ROLE regress_max_sim;
SELECT * FROM max_sim_compare('max_sim_v', 10, 1, NULL);
SELECT * FROM max_sim_compare('max_sim_v', 10, 10000, 10000);
SELECT count(*) FROM ecp_knn_max_sim('max_sim_v', 'SELECT v FROM max_sim_queries', 'doc', 1000, 10000, 10000);
RESET ROLE;
ALTER TABLE max_sim_tokens DISABLE ROW LEVEL SECURITY;
REVOKE SELECT ON max_sim_tokens FROM regress_max_sim;
SET ROLE regress_max_sim;
SELECT count(*) FROM ecp_knn_max_sim('max_sim_v', ARRAY[max_sim_vector(75)], 'doc');
RESET ROLE;

-- documents may be arrays; what cannot be
SELECT count(*) FROM ecp_knn_max_sim('max_sim_v', ARRAY[max_sim_vector(75)], 'tags');
SELECT count(*) FROM ecp_knn_max_sim('max_sim_v', ARRAY[max_sim_vector(75)], 'gone');
SELECT count(*) FROM ecp_knn_max_sim('max_sim_v', ARRAY[max_sim_vector(75)], 'ctid');
SELECT count(*) FROM ecp_knn_max_sim('max_sim_v', ARRAY[max_sim_vector(75)], 'doc', 0);
SELECT count(*) FROM ecp_knn_max_sim('max_sim_v', ARRAY[max_sim_vector(75)], 'doc', 10, 0);
SELECT count(*) FROM ecp_knn_max_sim('max_sim_v', ARRAY[max_sim_vector(75)], 'doc', 10, 10, 100000);
SELECT count(*) FROM ecp_knn_max_sim('max_sim_v', 'SELECT v[1:3] FROM max_sim_queries', 'doc', candidates => NULL);
SELECT count(*) FROM ecp_knn_max_sim('max_sim_doc', ARRAY[max_sim_vector(75)], 'doc');
CREATE TABLE max_sim_none (doc int, v real[]);
CREATE INDEX max_sim_none_v ON max_sim_none USING ecp (v);
SELECT count(*) FROM ecp_knn_max_sim('max_sim_none_v', ARRAY[max_sim_vector(75)], 'doc');

DROP TABLE max_sim_tokens, max_sim_queries, max_sim_none;
DROP FUNCTION max_sim_compare, max_sim_vector;
DROP DOMAIN max_sim_name;
DROP ROLE regress_max_sim;
