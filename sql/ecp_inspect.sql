-- What the inspection functions say of an index that is known exactly.
CREATE TABLE s (id int, v bytea);
INSERT INTO s
SELECT g, decode(lpad(to_hex(g % 256), 2, '0') || lpad(to_hex(g / 256), 2, '0') || '0a0b', 'hex')
FROM generate_series(0, 999) g;
CREATE INDEX si ON s USING ecp (v) WITH (leaders = random, seed = 7);
\x
SELECT version, element, metric, dims, dims_learned, leaders, seed,
	leaf_target, leaf_max, structure_version, levels, unfinished, build_rows
FROM ecp_metapage_info('si');

-- the functions agree with each other and with the table
SELECT s.rows, s.clusters = m.clusters AS clusters, s.levels = m.levels AS levels,
	s.retired_pages, s.free_pages, s.appended_runs, s.dead_leaders,
	s.mean_rows * s.clusters AS rows_by_mean,
	s.min_rows <= s.mean_rows AND s.mean_rows <= s.max_rows AS ordered,
	s.pages = 2 + s.cluster_pages + s.node_pages + s.retired_pages + s.free_pages AS pages
FROM ecp_index_drift('si') s, ecp_metapage_info('si') m;
\x
SELECT sum(rows) AS rows, count(*) = (SELECT clusters FROM ecp_metapage_info('si')) AS clusters,
	min(cluster) AS first, bool_and(rows = cardinality(tids)) AS tids,
	bool_and(slots >= rows) AS slots
FROM ecp_clusters('si');
SELECT count(*) AS rows, count(DISTINCT tid) AS tids
FROM ecp_clusters('si'), unnest(tids) tid JOIN s ON s.ctid = tid;
SELECT share_small = (SELECT avg((rows < mean_rows / 2)::int)::float8 FROM ecp_clusters('si')) AS small,
	share_large = (SELECT avg((rows > mean_rows * 1.5)::int)::float8 FROM ecp_clusters('si')) AS large
FROM ecp_index_drift('si');

-- the root's leaders refer to the clusters
SELECT count(*) AS differing FROM
	(SELECT child_block, child_run
	 FROM ecp_metapage_info('si'), ecp_page_items('si', root_block) WHERE v_to IS NULL
	 EXCEPT SELECT block, run FROM ecp_clusters('si')) d;
SELECT bool_and(c.rows >= n.n) AS first_pages
FROM ecp_clusters('si') c, LATERAL (SELECT count(tid) AS n FROM ecp_page_items('si', c.block)) n;

-- errors
SELECT * FROM ecp_page_items('si', 0);
SELECT * FROM ecp_page_items('si', 1);
SELECT * FROM ecp_page_items('si', 1000000);
SELECT * FROM ecp_index_drift('s');
CREATE ROLE regress_ecp_inspect;
SET ROLE regress_ecp_inspect;
SELECT dims FROM ecp_metapage_info('si');
RESET ROLE;
GRANT SELECT ON s TO regress_ecp_inspect;
SET ROLE regress_ecp_inspect;
SELECT dims FROM ecp_metapage_info('si');
RESET ROLE;
DROP TABLE s;
DROP ROLE regress_ecp_inspect;

-- an index that CREATE INDEX CONCURRENTLY left behind, without pages: queries about
-- all indexes go on, and what reads its pages says what is wrong
CREATE FUNCTION inspect_fails(v real[]) RETURNS real[] IMMUTABLE LANGUAGE plpgsql AS
	'BEGIN IF v[1] = 7 THEN PERFORM 1 / 0; END IF; RETURN v; END';
CREATE TABLE invalid_t (v real[]);
INSERT INTO invalid_t SELECT ARRAY[i, i] FROM generate_series(1, 10) i;
CREATE INDEX CONCURRENTLY invalid_i ON invalid_t USING ecp (inspect_fails(v));
CREATE INDEX CONCURRENTLY invalid_b ON invalid_t USING betree (inspect_fails(v));
CREATE INDEX valid_i ON invalid_t USING ecp (v);
CREATE INDEX valid_b ON invalid_t USING betree (v);
SELECT relname, pg_relation_size(indexrelid) = 0 AS nothing, s.clusters, s.advice IS NULL AS no_advice,
	d.rows, m.dims, (SELECT count(*) FROM ecp_build_report(indexrelid)) AS phases
FROM pg_index JOIN pg_class c ON c.oid = indexrelid,
	ecp_index_stats(indexrelid) s, ecp_index_drift(indexrelid) d, ecp_metapage_info(indexrelid) m
WHERE indrelid = 'invalid_t'::regclass AND relname ~ '_i$' ORDER BY 1;
SELECT advice FROM ecp_index_stats('invalid_i')
UNION ALL SELECT advice FROM ecp_index_drift('invalid_i');
SELECT relname, pg_relation_size(indexrelid) = 0 AS nothing, s.height, m.height
FROM pg_index JOIN pg_class c ON c.oid = indexrelid,
	betree_index_stats(indexrelid) s, betree_metapage_info(indexrelid) m
WHERE indrelid = 'invalid_t'::regclass AND relname ~ '_b$' ORDER BY 1;
SELECT count(*) FROM ecp_clusters('invalid_i');
SELECT count(*) FROM ecp_page_items('invalid_i', 0);
SELECT ecp_misassigned('invalid_i');
SELECT count(*) FROM betree_page_items('invalid_b', 0);
SELECT betree_node_info('invalid_b', 0);
SELECT betree_flush('invalid_b');
DROP TABLE invalid_t;
DROP FUNCTION inspect_fails;
