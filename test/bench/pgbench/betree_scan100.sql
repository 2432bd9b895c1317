-- 100 rows of workload ycsb in key order
\set i random(1, :rows)
SELECT max(v) FROM (SELECT v FROM betree_bench_:engine
	WHERE k >= hashint8extended(:i, 1) ORDER BY k LIMIT 100) s;
