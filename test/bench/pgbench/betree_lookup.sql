-- one row of workload uuid by its key; -D rows=N as in betree_bench --rows
\set i random(1, :rows)
SELECT v FROM betree_bench_:engine WHERE k = md5(:i::text)::uuid;
