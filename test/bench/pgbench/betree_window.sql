-- a window of 100 x 100 of workload tiles (engines betree and gist)
\set x random(0, 9899)
\set y random(0, 9899)
SELECT count(tile) FROM betree_bench_:engine
	WHERE p <@ box(point(:x, :y), point(:x + 100, :y + 100));
