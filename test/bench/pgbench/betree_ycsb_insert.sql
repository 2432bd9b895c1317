-- one row of workload ycsb; mix with ycsb_lookup and scan100 by -f FILE@WEIGHT
\set i random(1, 9000000000000)
INSERT INTO betree_bench_:engine VALUES (hashint8extended(:i, 1), md5(:i::text));
