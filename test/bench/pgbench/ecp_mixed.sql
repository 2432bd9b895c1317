-- seven searches, two inserts, one delete of an inserted row out of ten
-- statements of workload ecp
\set id random(0, :rows - 1)
\set what random(1, 10)
\if :what <= 7
SELECT id FROM ecpbench_bytea ORDER BY v <-> (SELECT v FROM ecpbench_bytea WHERE id = :id) LIMIT 10;
\elif :what <= 9
\set position random(0, 127)
\set value random(0, 255)
INSERT INTO ecpbench_bytea (id, v)
	SELECT nextval('ecpbench_ids'), set_byte(v, :position, :value) FROM ecpbench_bytea WHERE id = :id;
\else
DELETE FROM ecpbench_bytea
	WHERE id = (SELECT id FROM ecpbench_bytea WHERE id >= 100000000 ORDER BY id LIMIT 1);
\endif
