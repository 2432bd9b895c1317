-- one row of workload ycsb by its key
\set i random_zipfian(1, :rows, 1.01)
SELECT v FROM betree_bench_:engine WHERE k = hashint8extended(:i, 1);
