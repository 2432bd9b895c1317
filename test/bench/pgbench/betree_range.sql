-- 10,000 rows of workload uuid in key order
\set i random(1, 1000000000)
SELECT sum(v) FROM (SELECT v FROM betree_bench_:engine
	WHERE k >= md5(:i::text)::uuid ORDER BY k LIMIT 10000) s;
