-- ten nearest neighbours of a random row of workload ecp
\set id random(0, :rows - 1)
SELECT id FROM ecpbench_bytea ORDER BY v <-> (SELECT v FROM ecpbench_bytea WHERE id = :id) LIMIT 10;
