-- a device of workload device reports, in batches of 100 readings
\set i random(1, 9000000000000)
INSERT INTO betree_bench_:engine
	SELECT (abs(hashint8extended(:i + n, 1)) % 100000)::int, clock_timestamp(), n
	FROM generate_series(1, 100) n;
