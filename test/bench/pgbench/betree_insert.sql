-- one row of workload uuid; pgbench -D engine=betree (or btree)
\set i random(1, 9000000000000)
INSERT INTO betree_bench_:engine VALUES (md5(:i::text)::uuid, :i);
