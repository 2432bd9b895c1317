--
-- CREATE INDEX ... USING ecp: every row of every kind of table is in exactly
-- one cluster, whatever the element kind, metric, leaders and levels; what
-- cannot be indexed is refused with an error that names the reason.
--

\getenv src PG_ABS_SRCDIR
\set clusters :src '/test/clusters.sql'
\i :clusters

CREATE FUNCTION reals(b bytea) RETURNS real[] LANGUAGE sql IMMUTABLE STRICT AS
	$$ SELECT array_agg(get_byte(b, d) / 16.0::real ORDER BY d)
	   FROM generate_series(0, length(b) - 1) d $$;

CREATE TABLE rows (id int, v bytea, r real[]);
INSERT INTO rows SELECT id, v, reals(v) FROM pg_temp.vecs(3000, 16, 50, 0.1);

-- Is the index sound, is each row in one cluster, and nothing else?
CREATE FUNCTION complete(index regclass, tab regclass DEFAULT 'rows',
	OUT missing bigint, OUT extra bigint, OUT twice bigint,
	OUT several boolean, OUT largest boolean)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM ecp_index_check(index, true);
	EXECUTE format('SELECT count(*) FILTER (WHERE c.tid IS NULL),
			count(*) FILTER (WHERE t.ctid IS NULL),
			count(c.tid) - count(DISTINCT c.tid),
			max(c.cluster) > 1,
			coalesce((SELECT max(n) FROM (SELECT count(*) AS n
				FROM pg_temp.cluster_rows(%L) GROUP BY cluster) s) <= 256, true)
		FROM %s t FULL JOIN pg_temp.cluster_rows(%L) c ON t.ctid = c.tid',
		index, tab, index)
	INTO missing, extra, twice, several, largest;
END $$;

-- element kinds and metrics
CREATE INDEX i ON rows USING ecp (v);
SELECT * FROM complete('i');
DROP INDEX i;
CREATE INDEX i ON rows USING ecp (v bytea_ip_ops);
SELECT * FROM complete('i');
DROP INDEX i;
CREATE INDEX i ON rows USING ecp (v bytea_cosine_ops);
SELECT * FROM complete('i');
DROP INDEX i;
CREATE INDEX i ON rows USING ecp (r);
SELECT * FROM complete('i');
DROP INDEX i;
CREATE INDEX i ON rows USING ecp (r real_ip_ops);
SELECT * FROM complete('i');
DROP INDEX i;
CREATE INDEX i ON rows USING ecp (r real_cosine_ops);
SELECT * FROM complete('i');
DROP INDEX i;

-- leaders and levels
CREATE INDEX i ON rows USING ecp (v) WITH (leaders = random, cluster_size = 1, levels = 3);
SELECT * FROM complete('i');
DROP INDEX i;
CREATE INDEX i ON rows USING ecp (v) WITH (cluster_size = 1, levels = 5);
SELECT * FROM complete('i');
DROP INDEX i;
CREATE INDEX i ON rows USING ecp (v) WITH (cluster_size = 1, levels = 2, sample_factor = 8);
SELECT * FROM complete('i');
DROP INDEX i;

-- the same seed gives the same clusters, another one others
CREATE INDEX i1 ON rows USING ecp (v) WITH (seed = 7);
CREATE INDEX i2 ON rows USING ecp (v) WITH (seed = 7);
CREATE INDEX i3 ON rows USING ecp (v) WITH (seed = 8);
SELECT count(*)
FROM (SELECT * FROM pg_temp.cluster_rows('i1') EXCEPT SELECT * FROM pg_temp.cluster_rows('i2')) d;
SELECT count(*) > 0 AS differ
FROM (SELECT * FROM pg_temp.cluster_rows('i1') EXCEPT SELECT * FROM pg_temp.cluster_rows('i3')) d;
DROP INDEX i1, i2, i3;

-- clusters of equal rows are cut, too
CREATE TABLE equal_rows AS
	SELECT decode(repeat('07', 16), 'hex') AS v FROM generate_series(1, 2000);
CREATE INDEX i ON equal_rows USING ecp (v);
SELECT * FROM complete('i', 'equal_rows');
DROP TABLE equal_rows;

-- few rows: no root, one leaf
CREATE TABLE few (v bytea);
CREATE INDEX i ON few USING ecp (v);
SELECT * FROM complete('i', 'few');
DROP INDEX i;
INSERT INTO few VALUES (NULL), (NULL);
CREATE INDEX i ON few USING ecp (v);
SELECT * FROM pg_temp.cluster_rows('i');
DROP INDEX i;
INSERT INTO few VALUES ('\x0102030405060708'), ('\x1112131415161718');
CREATE INDEX i ON few USING ecp (v);
SELECT cluster, tid FROM pg_temp.cluster_rows('i') ORDER BY tid;
DROP TABLE few;

-- NULL vectors are not indexed, nor is the zero vector under cosine
CREATE TABLE holes AS
	SELECT id, CASE id % 3 WHEN 0 THEN NULL WHEN 1 THEN '{0,0,0}'::real[]
		ELSE ARRAY[id, 1, 2]::real[] END AS r
	FROM generate_series(1, 30) id;
CREATE INDEX i ON holes USING ecp (r real_cosine_ops);
SELECT count(*), count(*) FILTER (WHERE id % 3 = 2) AS expected
FROM pg_temp.cluster_rows('i') c JOIN holes h ON h.ctid = c.tid;
DROP INDEX i;
CREATE INDEX i ON holes USING ecp (r);
SELECT count(*) FROM pg_temp.cluster_rows('i');
DROP TABLE holes;

-- partial and expression indexes, partitions
CREATE INDEX i ON rows USING ecp (v) WHERE id <= 100;
SELECT count(*), max(id) FROM pg_temp.cluster_rows('i') c JOIN rows r ON r.ctid = c.tid;
DROP INDEX i;
CREATE INDEX i ON rows USING ecp ((substr(v, 1, 8)));
SELECT * FROM complete('i');
DROP INDEX i;
CREATE TABLE parts (id int, v bytea) PARTITION BY RANGE (id);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (1000) TO (10000);
INSERT INTO parts SELECT id, v FROM rows;
CREATE INDEX ON parts USING ecp (v);
SELECT * FROM complete('parts1_v_idx', 'parts1');
SELECT * FROM complete('parts2_v_idx', 'parts2');
DROP TABLE parts;

-- concurrently, unlogged, temporary
CREATE INDEX CONCURRENTLY i ON rows USING ecp (v);
SELECT * FROM complete('i');
REINDEX INDEX CONCURRENTLY i;
SELECT * FROM complete('i');
DROP INDEX i;
CREATE UNLOGGED TABLE unlogged_rows AS SELECT * FROM rows;
CREATE INDEX i ON unlogged_rows USING ecp (v);
SELECT * FROM complete('i', 'unlogged_rows');
DROP TABLE unlogged_rows;
CREATE TEMP TABLE temp_rows AS SELECT * FROM rows;
CREATE INDEX i ON temp_rows USING ecp (v);
SELECT * FROM complete('i', 'temp_rows');
DROP TABLE temp_rows;

-- long vectors: inline, in the vector part, over several pages
CREATE TABLE long AS
	SELECT n, array_fill(n::real, ARRAY[dims]) AS r, dims
	FROM unnest(ARRAY[500, 900, 1100, 2500]) dims, generate_series(1, 40) n;
CREATE INDEX i500 ON long USING ecp (r) WHERE dims = 500;
CREATE INDEX i900 ON long USING ecp (r) WHERE dims = 900;
CREATE INDEX i1100 ON long USING ecp (r) WHERE dims = 1100;
CREATE INDEX i2500 ON long USING ecp (r) WHERE dims = 2500;
SELECT dims, count(*) FROM long l JOIN (
	SELECT * FROM pg_temp.cluster_rows('i500') UNION ALL
	SELECT * FROM pg_temp.cluster_rows('i900') UNION ALL
	SELECT * FROM pg_temp.cluster_rows('i1100') UNION ALL
	SELECT * FROM pg_temp.cluster_rows('i2500')) c ON c.tid = l.ctid
GROUP BY dims ORDER BY dims;
DROP TABLE long;

-- refused: other lengths, NaN, more than one column
CREATE TABLE bad (v bytea, r real[]);
INSERT INTO bad VALUES ('\x010203', '{1,2,3}'), ('\x0102', '{1,2,NaN}');
CREATE INDEX i ON bad USING ecp (v);
CREATE INDEX i ON bad USING ecp (v) WITH (dims = 2);
CREATE INDEX i ON bad USING ecp (r);
CREATE INDEX i ON bad USING ecp (v, r);
CREATE UNIQUE INDEX i ON bad USING ecp (v);
DROP TABLE bad;

-- the report has a row for each phase, and the total
CREATE INDEX i ON rows USING ecp (v);
SELECT phase, wall_s >= 0 AS wall, files, opens, policy, why, rounds
FROM ecp_build_report('i');
SELECT ecp_build_report('rows');
DROP INDEX i;

DROP FUNCTION reals, complete;
DROP TABLE rows;
