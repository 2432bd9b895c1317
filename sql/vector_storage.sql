-- Distances of values as the heap stores them: short headers, compressed,
-- out of line, out of line and compressed; all must be read alike.

CREATE TABLE stored (how text, a real[], x bytea);

-- short header: below 127 bytes in all, stored unaligned behind an odd text
INSERT INTO stored VALUES ('short', '{1,2,3}', '\x010203');
INSERT INTO stored SELECT 'short, ' || repeat('o', i), '{1,2,3}', '\x010203' FROM generate_series(0, 7) i;
SELECT how, pg_column_size(a) < 24 + 12 AS a_short, pg_column_size(x) < 4 + 3 AS x_short,
	a <-> '{4,6,3}' AS a_l2, x <-> '\x040603' AS x_l2
FROM stored ORDER BY how;

-- plain, compressed, out of line
CREATE TABLE plain (LIKE stored);
ALTER TABLE plain ALTER a SET STORAGE plain, ALTER x SET STORAGE plain;
CREATE TABLE compressed (LIKE stored);
ALTER TABLE compressed ALTER a SET STORAGE main, ALTER x SET STORAGE main;
CREATE TABLE external (LIKE stored);
ALTER TABLE external ALTER a SET STORAGE external, ALTER x SET STORAGE external;
CREATE TABLE extended (LIKE stored);

CREATE FUNCTION long_array(n integer) RETURNS real[] LANGUAGE sql IMMUTABLE
	AS 'SELECT array_agg((i % 7)::real ORDER BY i) FROM generate_series(1, n) i';
CREATE FUNCTION long_bytes(n integer) RETURNS bytea LANGUAGE sql IMMUTABLE
	AS $$SELECT decode(string_agg('0' || (i % 7), '' ORDER BY i), 'hex') FROM generate_series(1, n) i$$;
-- nothing to compress
CREATE FUNCTION noise_bytes(n integer) RETURNS bytea LANGUAGE sql IMMUTABLE
	AS $$SELECT substring(string_agg(sha256(int4send(i)), '' ORDER BY i) FROM 1 FOR n) FROM generate_series(1, n / 32 + 1) i$$;

INSERT INTO plain VALUES ('plain', long_array(1000), long_bytes(3000));
INSERT INTO compressed VALUES ('compressed', long_array(16000), long_bytes(16000));
INSERT INTO external VALUES ('external', long_array(16000), long_bytes(16000));
INSERT INTO extended VALUES ('extended', long_array(16000), noise_bytes(16000));

SELECT how, pg_column_size(a) AS a_bytes, pg_column_size(x) AS x_bytes,
	a <-> long_array(cardinality(a)) AS a_same, a <#> long_array(cardinality(a)) AS a_ip
FROM plain;
SELECT how, pg_column_size(a) < 30000 AS a_compressed, pg_column_size(x) < 10000 AS x_compressed,
	a <-> long_array(16000) AS a_same, x <-> long_bytes(16000) AS x_same,
	a <#> a = x <#> x AS same_ip
FROM compressed;
SELECT how, pg_column_size(a) >= 64000 AS a_whole, pg_column_size(x) >= 16000 AS x_whole,
	pg_relation_size(reltoastrelid) > 0 AS toasted,
	a <-> long_array(16000) AS a_same, x <-> long_bytes(16000) AS x_same,
	a <#> a = x <#> x AS same_ip
FROM external, pg_class WHERE oid = 'external'::regclass;
SELECT how, pg_column_size(a) < 64000 AS a_compressed,
	a <-> long_array(16000) AS a_same, x <-> noise_bytes(16000) AS x_same
FROM extended;

-- the planner's cost of a distance is above that of a plain comparison
SELECT DISTINCT procost, provolatile, proisstrict, proparallel
FROM pg_proc JOIN pg_operator o ON o.oprcode = pg_proc.oid
WHERE oprname IN ('<->', '<#>', '<=>') AND oprleft IN ('real[]'::regtype, 'bytea'::regtype);

DROP TABLE stored, plain, compressed, external, extended;
DROP FUNCTION long_array, long_bytes, noise_bytes;
