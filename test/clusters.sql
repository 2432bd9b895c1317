\set ECHO none
-- What tests of builds have in common.  How to include it: see "Rules" in
-- test/README.

-- the rows of each cluster of an ecp index
CREATE FUNCTION pg_temp.cluster_rows(index regclass, OUT cluster int, OUT tid tid)
RETURNS SETOF record LANGUAGE sql AS
	'SELECT cluster, unnest(tids) FROM ecp_clusters(index)';

-- n vectors of "dims" bytes, around_each of them around each random centre
CREATE FUNCTION pg_temp.vecs(n int, dims int, around_each int, seed float8)
RETURNS TABLE (id int, v bytea) LANGUAGE plpgsql AS $$
DECLARE
	centre int[];
	b bytea;
BEGIN
	PERFORM setseed(seed);
	FOR i IN 1 .. n LOOP
		IF i % around_each = 1 THEN
			SELECT array_agg((random() * 200)::int) INTO centre
			FROM generate_series(1, dims);
		END IF;
		b := decode(repeat('00', dims), 'hex');
		FOR d IN 0 .. dims - 1 LOOP
			b := set_byte(b, d, centre[d + 1] + (random() * 40)::int);
		END LOOP;
		id := i;
		v := b;
		RETURN NEXT;
	END LOOP;
END $$;
\set ECHO all
