\set ECHO none
-- Vectors that tests make of a row's number.  How to include it: see "Rules" in
-- test/README.

-- elements from 0 to 10, no two vectors alike, without clusters
CREATE FUNCTION pg_temp.spread_vector(i int, dims int) RETURNS real[]
LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg((((i * 7919 + 13) % 10007) * (j * 31 + 7) % 9973)::real / 1000
					 ORDER BY j) FROM generate_series(1, dims) j
$$;

-- bytes in clusters around the given number of centres; another part has others
CREATE FUNCTION pg_temp.clustered_bytes(i int, dims int, centres int, part int = 0)
RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT decode(string_agg(lpad(to_hex((128 + 70 * sin(i % centres * 5.3 * (j + part)) +
		40 * sin(i * 0.618 * j + j * j))::int), 2, '0'), '' ORDER BY j), 'hex')
	FROM generate_series(1, dims) j
$$;
\set ECHO all
