-- Inserts into an index that was built: the row goes to the cluster of its
-- nearest leader, into a free slot or a new run; full clusters are split, and
-- nodes above them, as far as the root.
CREATE TABLE i (id int, v bytea);
INSERT INTO i
SELECT g, decode(lpad(to_hex(g % 256), 2, '0') || lpad(to_hex(g / 256), 2, '0') || repeat('07', 62), 'hex')
FROM generate_series(0, 4095) g;
CREATE INDEX ii ON i USING ecp (v) WITH (levels = 1);
SELECT levels, rows FROM ecp_index_drift('ii');

-- a row like another one is in the other one's cluster
INSERT INTO i SELECT id + 10000, v FROM i WHERE id IN (5, 1000, 4000);
SELECT count(*) FROM i a JOIN i b ON b.id = a.id + 10000
WHERE EXISTS (SELECT FROM ecp_clusters('ii')
			  WHERE a.ctid = ANY (tids) AND b.ctid = ANY (tids));
SELECT ecp_index_check('ii', true);

-- as many again: clusters split
SELECT clusters AS clusters_before FROM ecp_metapage_info('ii') \gset
INSERT INTO i SELECT id + 20000, v FROM i WHERE id < 4096;
SELECT clusters > :clusters_before AS was_split, rows,
	max_rows <= leaf_max + page_slots AS bounded
FROM ecp_index_drift('ii'), (SELECT leaf_max, page_slots FROM ecp_metapage_info('ii')) m;
SELECT ecp_index_check('ii', true);

-- without splits runs are appended, until VACUUM splits
SET ecp.insert_split = off;
SELECT clusters AS clusters_before FROM ecp_metapage_info('ii') \gset
INSERT INTO i SELECT id + 30000, v FROM i WHERE id < 4096;
SELECT clusters - :clusters_before AS was_split, appended_runs > 0 AS appended
FROM ecp_index_drift('ii');
SELECT ecp_index_check('ii', true);
RESET ecp.insert_split;
SELECT splits > 0 AS splits FROM ecp_maintain('ii');
SELECT ecp_index_check('ii', true);

-- nodes that are full are split, too, and the tree grows
CREATE TABLE n (id int, v bytea);
INSERT INTO n SELECT * FROM i WHERE id < 500;
CREATE INDEX ni ON n USING ecp (v) WITH (levels = 2, cluster_size = 1);
SELECT levels AS levels_before, nodes AS nodes_before, clusters AS clusters_before
FROM ecp_index_drift('ni') \gset
SELECT leaf_max, node_max FROM ecp_metapage_info('ni');
INSERT INTO n SELECT i.* FROM i, generate_series(1, 3) WHERE id BETWEEN 500 AND 25000;
SELECT levels > :levels_before AS grown, nodes > 3 * :nodes_before AS more_nodes,
	clusters > 3 * :clusters_before AS more_clusters, rows
FROM ecp_index_drift('ni');
SELECT ecp_index_check('ni', true);
DELETE FROM n WHERE id % 9 > 0;
VACUUM n;
SELECT ecp_index_check('ni', true);

-- vectors over several pages
CREATE TABLE l (id int, v real[]);
CREATE INDEX li ON l USING ecp (v);
INSERT INTO l
SELECT g, array_agg(((g * e) % 1009)::real ORDER BY e)
FROM generate_series(1, 40) g, generate_series(1, 10000) e GROUP BY g;
SELECT dims, page_slots > 100 AS slots_without_vectors FROM ecp_metapage_info('li');
SELECT ecp_index_check('li', true);
SET enable_seqscan = off;
SELECT id FROM l ORDER BY v <-> (SELECT v FROM l WHERE id = 7) LIMIT 1;

-- all in one cluster: equal rows
CREATE TABLE s (id int, v bytea);
CREATE INDEX si ON s USING ecp (v);
INSERT INTO s SELECT g, decode(repeat('2a', 64), 'hex') FROM generate_series(1, 5000) g;
SELECT rows, max_rows <= leaf_max + page_slots AS bounded
FROM ecp_index_drift('si'), (SELECT leaf_max, page_slots FROM ecp_metapage_info('si')) m;
SELECT ecp_index_check('si', true);
DROP TABLE i, n, l, s;
