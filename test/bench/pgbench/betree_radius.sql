-- all points of workload geo within 0.1 of a place (engines betree and gist)
\set i random(1, 1000000000)
SELECT count(*) FROM betree_bench_:engine WHERE p <@ (
	SELECT circle(point(lon, lat), 0.1) FROM betree_bench_places
	WHERE n = :i % (SELECT max(n) + 1 FROM betree_bench_places));
