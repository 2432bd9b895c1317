-- Distances over real[] and bytea: the operators and functions against the
-- same computed in SQL, and the values that they must refuse.

-- the textbook values
SELECT '{1,2,3}'::real[] <-> '{4,6,3}' AS l2,
	'{1,2,3}'::real[] <#> '{4,6,3}' AS negative_ip,
	'{1,0}'::real[] <=> '{0,1}' AS cosine;
SELECT '\x010203'::bytea <-> '\x040603' AS l2,
	'\x010203'::bytea <#> '\x040603' AS negative_ip,
	'\x0100'::bytea <=> '\x0001' AS cosine;

-- the functions behind the operators, and the one without
SELECT ecp_l2_distance('{1,2,3}'::real[], '{4,6,3}') AS l2,
	ecp_inner_product('{1,2,3}'::real[], '{4,6,3}') AS ip,
	ecp_negative_inner_product('{1,2,3}'::real[], '{4,6,3}') AS negative_ip,
	ecp_cosine_distance('{1,2,3}'::real[], '{1,2,3}') AS cosine;
SELECT ecp_l2_distance('\x010203'::bytea, '\x040603') AS l2,
	ecp_inner_product('\x010203'::bytea, '\x040603') AS ip,
	ecp_negative_inner_product('\x010203'::bytea, '\x040603') AS negative_ip,
	ecp_cosine_distance('\x010203'::bytea, '\x010203') AS cosine;

-- other numeric arrays are cast
SELECT ARRAY[1, 2]::real[] <-> ARRAY[4, 6], ARRAY[1, 2]::real[] <-> ARRAY[4.5, 6];

-- strict
SELECT NULL::real[] <-> '{1}', '\x01'::bytea <=> NULL;

-- cosine: parallel, opposite, and a zero vector, which has no direction
SELECT '{1,2}'::real[] <=> '{2,4}', '{1,2}'::real[] <=> '{-1,-2}',
	'{0,0}'::real[] <=> '{1,2}', '\x0000'::bytea <=> '\x0102';
SELECT min('{0.1,0.2,0.3}'::real[] <=> ARRAY[0.1 * k, 0.2 * k, 0.3 * k]) >= 0 AS not_negative
FROM generate_series(1, 1000) k;

-- all lengths to 300, and long ones, against SQL
CREATE TABLE vectors AS
SELECT n, array_agg(((i * 7919 + n * 104729) % 256)::real ORDER BY i) AS a,
	array_agg(((i * 6007 + n * 8191) % 256)::real ORDER BY i) AS b
FROM (SELECT generate_series(1, 300) UNION ALL VALUES (784), (1000), (16000)) AS lengths (n),
	LATERAL generate_series(1, n) AS i
GROUP BY n;
ALTER TABLE vectors ADD x bytea, ADD y bytea;
UPDATE vectors SET
	x = (SELECT decode(string_agg(lpad(to_hex(e::integer), 2, '0'), '' ORDER BY o), 'hex') FROM unnest(a) WITH ORDINALITY AS u (e, o)),
	y = (SELECT decode(string_agg(lpad(to_hex(e::integer), 2, '0'), '' ORDER BY o), 'hex') FROM unnest(b) WITH ORDINALITY AS u (e, o));

-- uint8: no rounding at all
SELECT count(*) AS checked,
	count(*) FILTER (WHERE (x <-> y) <> sqrt(l2)) AS wrong_l2,
	count(*) FILTER (WHERE (x <#> y) <> -ip) AS wrong_ip,
	count(*) FILTER (WHERE abs((x <=> y) - (1 - ip / sqrt(aa * bb))) > 1e-14) AS wrong_cosine
FROM vectors, LATERAL (
	SELECT sum((p - q)::float8 ^ 2) AS l2, sum(p::float8 * q) AS ip,
		sum(p::float8 ^ 2) AS aa, sum(q::float8 ^ 2) AS bb
	FROM unnest(a, b) AS u (p, q)) AS expected;

-- real: whole numbers below 2^24 are exact, so only long sums are rounded
SELECT count(*) AS checked,
	count(*) FILTER (WHERE abs((a <-> b) - sqrt(l2)) > 1e-6 * sqrt(l2)) AS wrong_l2,
	count(*) FILTER (WHERE abs((a <#> b) + ip) > 1e-6 * ip) AS wrong_ip,
	count(*) FILTER (WHERE abs((a <=> b) - (1 - ip / sqrt(aa * bb))) > 1e-5) AS wrong_cosine,
	count(*) FILTER (WHERE n <= 250 AND (a <-> b) <> sqrt(l2)) AS inexact_l2
FROM vectors, LATERAL (
	SELECT sum((p - q)::float8 ^ 2) AS l2, sum(p::float8 * q) AS ip,
		sum(p::float8 ^ 2) AS aa, sum(q::float8 ^ 2) AS bb
	FROM unnest(a, b) AS u (p, q)) AS expected;

-- both types and both orders of arguments give the same
SELECT count(*) FILTER (WHERE (a <-> b) IS DISTINCT FROM (b <-> a)) AS l2,
	count(*) FILTER (WHERE (a <=> b) IS DISTINCT FROM (b <=> a)) AS cosine,
	count(*) FILTER (WHERE (x <#> y) IS DISTINCT FROM (y <#> x)) AS ip,
	count(*) FILTER (WHERE abs((a <-> b) - (x <-> y)) > 1e-6 * (x <-> y)) AS types
FROM vectors;

-- extremes: differences of 255 everywhere at the longest length
SELECT repeat('\x00', 1)::bytea <-> '\xff'::bytea AS one,
	decode(repeat('00', 16000), 'hex') <-> decode(repeat('ff', 16000), 'hex') = sqrt(16000 * 255.0 ^ 2) AS longest,
	decode(repeat('ff', 16000), 'hex') <#> decode(repeat('ff', 16000), 'hex') AS largest_ip;
SELECT '{3e38}'::real[] <-> '{-3e38}' AS l2, '{1e-30}'::real[] <#> '{1e-30}' AS ip,
	'{1e-30}'::real[] <-> '{3e-30}' AS small_l2, '{3e38,3e38}'::real[] <#> '{3e38,-3e38}' AS cancelled,
	'{1e-40,0}'::real[] <=> '{3e38,3e38}' AS cosine;

-- Sums of squares that a real cannot hold: distances of scaled vectors are
-- scaled, and an index returns rows in the same order as a scan of the table.
CREATE TABLE scaled AS
SELECT id, s.scale, array_agg((x * s.scale)::real ORDER BY e) AS v
FROM unnest('{1e-37,1e-22,1,1e20,1e37}'::float8[]) s (scale),
	(SELECT id, e, sin(id * e) AS x FROM generate_series(1, 40) id, generate_series(1, 20) e) elements
GROUP BY id, s.scale;
SELECT a.scale, bool_and(abs((a.v <=> b.v) - (n.v <=> m.v)) < 1e-5) AS cosine,
	bool_and(abs((a.v <-> b.v) / a.scale - (n.v <-> m.v)) < 1e-5) AS l2,
	bool_and(abs((a.v <#> b.v) / a.scale ^ 2 - (n.v <#> m.v)) < 1e-4) AS ip
FROM scaled a JOIN scaled b USING (scale) JOIN scaled n ON n.id = a.id AND n.scale = 1
	JOIN scaled m ON m.id = b.id AND m.scale = 1
GROUP BY a.scale ORDER BY a.scale;
CREATE FUNCTION pg_temp.same_order(op text) RETURNS TABLE (queries bigint, same bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET ecp.iterative_scan = off SET ecp.probes = 32767 AS $$
BEGIN
	RETURN QUERY EXECUTE format('
		SELECT count(*), count(*) FILTER (WHERE by_index = by_scan)
		FROM (SELECT v AS q FROM scaled WHERE id %% 10 = 0) queries,
			LATERAL (SELECT array_agg(d) AS by_index FROM
				(SELECT v %1$s q AS d FROM scaled ORDER BY v %1$s q LIMIT 60) r) i,
			LATERAL (SELECT array_agg(d ORDER BY d) AS by_scan FROM
				(SELECT v %1$s q AS d FROM scaled ORDER BY (v %1$s q) + 0 LIMIT 60) r) s', op);
END $$;
CREATE INDEX scaled_cosine ON scaled USING ecp (v real_cosine_ops) WITH (cluster_size = 1);
CREATE INDEX scaled_l2 ON scaled USING ecp (v real_l2_ops) WITH (cluster_size = 1);
CREATE INDEX scaled_ip ON scaled USING ecp (v real_ip_ops) WITH (cluster_size = 1);
SELECT op, r.* FROM unnest('{<=>,<->,<#>}'::text[]) op, pg_temp.same_order(op) r;
-- the same by codes
DROP INDEX scaled_cosine, scaled_l2, scaled_ip;
DELETE FROM scaled WHERE scale NOT BETWEEN 1e-22 AND 1e20;
CREATE INDEX scaled_cosine ON scaled USING ecp (v real_cosine_ops) WITH (quantizer = rabitq, cluster_size = 1);
CREATE INDEX scaled_l2 ON scaled USING ecp (v real_l2_ops) WITH (quantizer = rabitq, cluster_size = 1);
CREATE INDEX scaled_ip ON scaled USING ecp (v real_ip_ops) WITH (quantizer = rabitq, cluster_size = 1);
SELECT op, r.* FROM unnest('{<=>,<->,<#>}'::text[]) op, pg_temp.same_order(op) r;
DROP TABLE scaled;

-- refused
SELECT '{1,2}'::real[] <-> '{1,2,3}';
SELECT '\x0102'::bytea <=> '\x01';
SELECT '{}'::real[] <-> '{}';
SELECT ''::bytea <-> '';
SELECT '{1,NULL}'::real[] <-> '{1,2}';
SELECT '{{1,2},{3,4}}'::real[] <-> '{{1,2},{3,4}}';
SELECT '{1,NaN}'::real[] <-> '{1,2}';
SELECT '{1,2}'::real[] <#> '{1,Infinity}';
SELECT '{1,-Infinity}'::real[] <=> '{1,2}';
SELECT array_fill(1::real, ARRAY[16001]) <-> array_fill(1::real, ARRAY[16001]);
SELECT decode(repeat('00', 16001), 'hex') <-> decode(repeat('00', 16001), 'hex');

-- a NULL bitmap without NULLs is no reason
SELECT (ARRAY[1, NULL]::real[])[1:1] <-> '{4}' AS had_null;
-- nor is a lower bound
SELECT '[0:1]={1,2}'::real[] <-> '[5:6]={4,6}' AS bounds;

-- the error has its SQLSTATE
DO $$
BEGIN
	PERFORM '{1,2}'::real[] <-> '{1,2,3}';
EXCEPTION WHEN data_exception THEN
	RAISE NOTICE '%: %', SQLSTATE, SQLERRM;
END $$;

SELECT ecp_kernels() IN ('scalar', 'avx2', 'avx512', 'neon', 'dotprod') AS kernels_known;

DROP TABLE vectors;
