-- The published figures and where ours are collected, for "run devices".
SET client_min_messages = warning;
-- the index "final" comes and goes
SET check_function_bodies = off;

-- figures: read MB/s, write MB/s, reads/s, writes/s of the report's device
CREATE TABLE setting (name text PRIMARY KEY, speed float8, figures float8[], profile ecp_storage.ecp_device);

-- its limits when it is "speed" times as fast; operations in tens
CREATE VIEW setting_limit AS
SELECT name, speed * figures[1] AS read_mb_s, speed * figures[2] AS write_mb_s,
	floor(speed * figures[3] / 10) * 10 AS read_iops, floor(speed * figures[4] / 10) * 10 AS write_iops
FROM setting;

CREATE FUNCTION ecp_repro_profile(setting text, disk name) RETURNS ecp_storage.ecp_device
LANGUAGE sql BEGIN ATOMIC
	SELECT json_populate_record(s.profile, json_build_object('tablespace', disk))
	FROM setting AS s WHERE s.name = setting;
END;

-- Tables 2 and 3 of the report, seconds; assignment and merging without CPU
CREATE TABLE published (n int, setup text PRIMARY KEY, drives int, tf_total float8, cf_total float8,
	tf_assign float8, cf_assign float8, tf_merge float8, cf_merge float8);
INSERT INTO published VALUES
	(1, 'Seagate', 1, 43144, 12949, 12556, 548, 18829, 1299), (2, 'Fujitsu', 1, 32895, 12689, 9975, 388, 11145, 1207),
	(3, 'STalent', 1, 32540, 11528, 17120, 149, 3529, 236), (4, 'Intel', 1, 14164, 11398, 2028, 46, 402, 244),
	(5, 'NAS', 1, 22335, 14564, 5314, 610, 2349, 202), (6, 'F-I-F', 2, 13467, 11640, 1977, 370, 208, 220),
	(7, 'I-I-I', 2, 13484, 11301, 1666, 67, 180, 188);

CREATE TABLE build (setup text, wanted text, policy text, repetition int, quarters int, phase text,
	wall_s float8, cpu_s float8, io_s float8, files bigint, opens bigint, rounds bigint, in_buff bigint,
	predicted_s float8, predicted_wait_s float8);

-- after a build of the index "final": its report beside what was predicted
CREATE FUNCTION ecp_repro_keep(setup text, wanted text, temp name, repetition int, quarters int, dirty float8) RETURNS bigint
LANGUAGE sql AS $$
	INSERT INTO build
	SELECT setup, wanted, r.policy, repetition, quarters, r.phase, r.wall_s, r.cpu_s, r.io_s, r.files, r.opens, r.rounds, r.in_buff,
		CASE r.phase WHEN 'assignment' THEN p.assign_s WHEN 'merging' THEN p.merge_s END,
		CASE r.phase WHEN 'assignment' THEN p.assign_wait_s WHEN 'merging' THEN p.merge_wait_s END
	FROM ecp_build_report('final'::regclass) AS r
		LEFT JOIN ecp_plan_build('raw', 'v', '{disk_a,disk_b}', in_buff => (SELECT max(in_buff) FROM ecp_build_report('final')), dirty => dirty) AS p
			ON p.raw = 'disk_a' AND p.temp = ecp_repro_keep.temp AND p.final = 'disk_a' AND p.policy = r.policy
	WHERE r.phase IN ('assignment', 'merging');
	SELECT count(*) FROM build;
$$;

CREATE TABLE bench (device text, test text, variant text, processes int, size bigint,
	wall_s float8, mb_s float8, us_per_op float8, check_value float8);

-- a line for each figure that is asked for
CREATE TABLE checks (n int GENERATED ALWAYS AS IDENTITY, what text, asked text, measured text, holds bool);
