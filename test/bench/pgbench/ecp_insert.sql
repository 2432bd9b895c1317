-- one new row near a random one of workload ecp
\set id random(0, :rows - 1)
\set position random(0, 127)
\set value random(0, 255)
INSERT INTO ecpbench_bytea (id, v)
	SELECT nextval('ecpbench_ids'), set_byte(v, :position, :value) FROM ecpbench_bytea WHERE id = :id;
