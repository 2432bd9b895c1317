-- The setting ecp.kernels: every instruction set that the machine has builds the
-- same index and gives the same answers, to the last bit, and may be exchanged
-- while a scan is open.
\getenv src PG_ABS_SRCDIR
\set vectors :src '/test/vectors.sql'
\i :vectors

LOAD 'ecp';
SHOW ecp.kernels;
SET ecp.kernels = scalar;
SELECT ecp_kernels();
SET ecp.kernels = sse;
SHOW ecp.kernels;

-- those that this machine has, and what it says of the others
CREATE TABLE instructions_here (kernels text);
DO $$
DECLARE
	name text;
	detail text;
BEGIN
	FOREACH name IN ARRAY '{scalar,avx2,avx512,neon,dotprod}'::text[] LOOP
		BEGIN
			PERFORM set_config('ecp.kernels', name, false);
			INSERT INTO instructions_here VALUES (ecp_kernels());
		EXCEPTION WHEN invalid_parameter_value THEN
			GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
			IF detail <> format('This machine does not have the instruction set "%s".', name) THEN
				RAISE;
			END IF;
		END;
	END LOOP;
END $$;
-- the best one, not the plain one, unless there is no other
SET ecp.kernels = auto;
SELECT (ecp_kernels() = 'scalar') = (count(*) = 1) AS best FROM instructions_here;

-- bytes in columns, exact floats, and codes
CREATE TABLE instructions_t (id int PRIMARY KEY, b bytea, v real[], w real[]);
INSERT INTO instructions_t
SELECT i, pg_temp.clustered_bytes(i, 37, 20), pg_temp.spread_vector(i, 21), pg_temp.spread_vector(i, 100)
FROM generate_series(1, 2000) AS i;
SET enable_seqscan = off;

-- the pages of an index, and the answers of ten queries with their distances
CREATE FUNCTION instructions_answers(name text, col text, op text, opclass text)
RETURNS TABLE (pages text, answers text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('ecp.kernels', name, false);
	EXECUTE format('CREATE INDEX instructions_i ON instructions_t USING ecp (%I %I)', col, opclass);
	SELECT string_agg(s::text, E'\n') INTO pages FROM ecp_clusters('instructions_i') AS s;
	EXECUTE format('SELECT string_agg(s.id || '' '' || d, E''\n'') FROM instructions_t AS q, '
				   'LATERAL (SELECT id, %1$I %2$s q.%1$I AS d FROM instructions_t ORDER BY %1$I %2$s q.%1$I LIMIT 20) AS s '
				   'WHERE q.id <= 10', col, op) INTO answers;
	DROP INDEX instructions_i;
	RETURN NEXT;
END $$;
SELECT col, op, count(DISTINCT pages) AS indexes, count(DISTINCT answers) AS answers,
	sum(length(answers)) > 3000 AS some
FROM (VALUES ('b', '<->', 'bytea_l2_ops'), ('b', '<=>', 'bytea_cosine_ops'),
			 ('v', '<->', 'real_l2_ops'), ('v', '<#>', 'real_ip_ops'),
			 ('w', '<->', 'real_l2_ops'), ('w', '<=>', 'real_cosine_ops')) AS c (col, op, opclass),
	instructions_here, instructions_answers(kernels, col, op, opclass)
GROUP BY col, op ORDER BY col, op;
SET ecp.kernels = auto;

-- another set for each row that a scan returns
CREATE INDEX ON instructions_t USING ecp (w);
CREATE FUNCTION instructions_changing() RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
	scan refcursor;
	names text[] = ARRAY(SELECT kernels FROM instructions_here);
	found int;
	ids int[];
BEGIN
	OPEN scan FOR SELECT id FROM instructions_t
		ORDER BY w <-> (SELECT w FROM instructions_t WHERE id = 77);
	FOR i IN 1 .. 500 LOOP
		PERFORM set_config('ecp.kernels', names[1 + i % array_length(names, 1)], false);
		FETCH scan INTO found;
		ids := ids || found;
	END LOOP;
	CLOSE scan;
	RETURN ids;
END $$;
SELECT instructions_changing() = ARRAY(
	SELECT id FROM instructions_t
	ORDER BY w <-> (SELECT w FROM instructions_t WHERE id = 77) LIMIT 500) AS same_rows;

DROP TABLE instructions_t, instructions_here;
DROP FUNCTION instructions_answers, instructions_changing;
