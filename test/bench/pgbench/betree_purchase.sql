-- one purchase of workload iibench: three secondary indexes
\set i random(1, 9000000000000)
INSERT INTO betree_bench_:engine VALUES (:i, now(), :i % 1000,
	abs(hashint8extended(:i, 2)) % 100000, abs(hashint8extended(:i, 3)) % 10000,
	(abs(hashint8extended(:i, 4)) % 50000) / 100.0, 'xxxxxxxxxx');
