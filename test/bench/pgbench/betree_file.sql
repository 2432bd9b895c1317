-- a file of workload files is created
\set i random(1, 9000000000000)
INSERT INTO betree_bench_:engine VALUES (format('/home/u%s/p%s/src/%s.c',
	abs(hashint8extended(:i, 1)) % 1000, abs(hashint8extended(:i, 2)) % 100,
	left(md5(:i::text), 12)), :i);
