/* sql/ecp_storage--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION ecp_storage" to load this file. \quit

-- Others may have CREATE on the schema of this extension, or own that of ecp.  So,
-- as in the script of ecp, functions are qualified by schema and operators given
-- operands of exactly their argument types.

-- Tables that queries of the library name, and functions that it names to commands,
-- are in a schema that only superusers can rename, as is what the documents compute
-- and compare.  These schemas must not exist before: nothing that others have put
-- there could be taken for what is created here.  An extension with several schemas
-- cannot be moved.

CREATE SCHEMA ecp_storage;
COMMENT ON SCHEMA ecp_storage IS 'profiles of tablespaces, targets and rules of placement';
GRANT USAGE ON SCHEMA ecp_storage TO PUBLIC;

-- ======================================================================
-- device: cost of storage, and placement of relations
-- ======================================================================

CREATE TABLE ecp_storage.ecp_device (
	tablespace name PRIMARY KEY,
	latency_us float8,
	read_mb_s float8,
	r2 float8,
	half_bandwidth bigint,
	seq_read_mb_s float8,
	seq_write_mb_s float8,
	rand_read_iops float8,
	rand_read_iops_max float8,
	rand_write_iops float8,
	rand_write_us float8,
	fsync_us float8,
	cached_mb_s float8,
	best_workers integer,
	step_read_us float8,
	mixed_ratio float8,
	plateau_us float8,
	slope_mb_s float8,
	misaligned_ratio float8,
	spread float8,
	file_bytes bigint,
	written_bytes bigint,
	wall_s float8,
	measured_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE ecp_storage.ecp_device IS 'profile of each tablespace, as measured by ecp_calibrate()';
COMMENT ON COLUMN ecp_storage.ecp_device.latency_us IS 'latency L of the fit delay = L + size / T over cold reads';
COMMENT ON COLUMN ecp_storage.ecp_device.read_mb_s IS 'throughput T of the fit';
COMMENT ON COLUMN ecp_storage.ecp_device.r2 IS 'coefficient of determination of the fit';
COMMENT ON COLUMN ecp_storage.ecp_device.half_bandwidth IS 'L * T: size of a read of which half of the time is latency';
COMMENT ON COLUMN ecp_storage.ecp_device.rand_read_iops IS 'cold random reads of 8 kB, one worker';
COMMENT ON COLUMN ecp_storage.ecp_device.rand_read_iops_max IS 'cold random reads of 8 kB, best_workers workers';
COMMENT ON COLUMN ecp_storage.ecp_device.rand_write_iops IS 'small random writes, synced at the end';
COMMENT ON COLUMN ecp_storage.ecp_device.rand_write_us IS 'delay of a small random write with its fsync';
COMMENT ON COLUMN ecp_storage.ecp_device.best_workers IS 'fewest workers that reach 90 % of the best random-read rate';
COMMENT ON COLUMN ecp_storage.ecp_device.step_read_us IS 'delay of a small cold read 128 kB after the previous one';
COMMENT ON COLUMN ecp_storage.ecp_device.mixed_ratio IS 'delay of random reads while another process writes, divided by that without writes';
COMMENT ON COLUMN ecp_storage.ecp_device.plateau_us IS 'delay of the smallest cold reads';
COMMENT ON COLUMN ecp_storage.ecp_device.slope_mb_s IS 'throughput between the two largest sizes';
COMMENT ON COLUMN ecp_storage.ecp_device.misaligned_ratio IS 'delay of misaligned random reads, divided by that of aligned ones';
COMMENT ON COLUMN ecp_storage.ecp_device.spread IS 'largest ratio between passes over the same measurement, of which the median counts';
SELECT pg_catalog.pg_extension_config_dump('ecp_storage.ecp_device', '');
GRANT SELECT ON ecp_storage.ecp_device TO PUBLIC;

-- placement of relations

CREATE TABLE ecp_storage.ecp_place_targets (
	place name NOT NULL,
	target name NOT NULL,
	is_server boolean NOT NULL,
	speed float8 CHECK (speed > 0::float8),
	capacity bigint CHECK (capacity >= 0),
	PRIMARY KEY (place, target)
);
COMMENT ON TABLE ecp_storage.ecp_place_targets IS 'tablespaces and foreign servers of each place, with speed in MB/s and capacity in bytes (null: as measured)';
SELECT pg_catalog.pg_extension_config_dump('ecp_storage.ecp_place_targets', '');
GRANT SELECT ON ecp_storage.ecp_place_targets TO PUBLIC;

CREATE TABLE ecp_storage.ecp_place_rules (
	parent regclass NOT NULL,
	prefix text NOT NULL,
	target name,
	place name,
	PRIMARY KEY (parent, prefix),
	CHECK ((target IS NULL) <> (place IS NULL))
);
COMMENT ON TABLE ecp_storage.ecp_place_rules IS 'targets of new partitions; the longest matching prefix of the name decides; delete a row to end its rule';
SELECT pg_catalog.pg_extension_config_dump('ecp_storage.ecp_place_rules',
	'WHERE EXISTS (SELECT FROM pg_catalog.pg_class WHERE oid = parent)');
GRANT SELECT ON ecp_storage.ecp_place_rules TO PUBLIC;

-- PL/pgSQL looks names up when it runs: each function has a search_path in which
-- nobody else can put anything, and names our own objects with the schema
-- ecp_storage.  What others call is in the schema of the extension.

CREATE FUNCTION ecp_storage._ecp_table_distributed(relid oid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'ecp_table_distributed' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION ecp_storage._ecp_table_distributed(oid) IS 'whether Citus distributes a table';

CREATE FUNCTION ecp_storage._ecp_table_refuse_distributed(relid oid)
RETURNS oid
AS 'MODULE_PATHNAME', 'ecp_table_refuse_distributed' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION ecp_storage._ecp_table_refuse_distributed(oid) IS 'the table; an error if Citus distributes it';

CREATE FUNCTION ecp_place_target(place name, target name, speed float8 DEFAULT NULL, capacity text DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	is_server CONSTANT boolean := NOT EXISTS (SELECT FROM pg_tablespace WHERE spcname = ecp_place_target.target);
	bytes CONSTANT bigint := pg_size_bytes(ecp_place_target.capacity);
BEGIN
	IF ecp_place_target.place IS NULL OR ecp_place_target.target IS NULL THEN
		RAISE 'place and target must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
	IF is_server AND NOT EXISTS (SELECT FROM pg_foreign_server WHERE srvname = ecp_place_target.target) THEN
		RAISE 'there is no tablespace or foreign server "%"', ecp_place_target.target
			USING ERRCODE = 'undefined_object';
	END IF;
	IF ecp_place_target.target = 'pg_global' THEN
		RAISE 'only shared relations can be placed in tablespace "%"', ecp_place_target.target
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF is_server AND (ecp_place_target.speed IS NULL OR bytes IS NULL) THEN
		RAISE 'speed and capacity of foreign server "%" must be given', ecp_place_target.target
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = 'They can be measured only for a tablespace.';
	END IF;
	IF ecp_place_target.speed <= 0 OR ecp_place_target.speed >= 'infinity' THEN
		RAISE 'speed of a target must be positive and finite'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Give megabytes per second, or null to have the measured speed taken.';
	END IF;
	IF bytes < 0 THEN
		RAISE 'capacity of a target must not be negative'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'Give null to have the free space of the file system taken.';
	END IF;
	INSERT INTO ecp_storage.ecp_place_targets AS o (place, target, is_server, speed, capacity)
	VALUES (ecp_place_target.place, ecp_place_target.target, is_server, ecp_place_target.speed, bytes)
	ON CONFLICT (place, target) DO UPDATE
		SET is_server = excluded.is_server, speed = excluded.speed, capacity = excluded.capacity;
END $$;
COMMENT ON FUNCTION ecp_place_target(name, name, float8, text) IS 'add or change a target of a place: a tablespace or a foreign server';

CREATE FUNCTION ecp_storage._ecp_place_groups(parent oid, OUT grp regclass, OUT bytes bigint,
	OUT scans bigint, OUT tablespace name, OUT split boolean, OUT bound text)
RETURNS SETOF record
LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	PERFORM ecp_storage._ecp_table_refuse_distributed(_ecp_place_groups.parent);
	RETURN QUERY
	SELECT c.oid::regclass, pg_total_relation_size(c.oid), pg_stat_get_numscans(c.oid), t.spcname,
		EXISTS (SELECT FROM pg_index AS x JOIN pg_class AS i ON i.oid = x.indexrelid
			WHERE x.indrelid = c.oid AND i.reltablespace <> c.reltablespace),
		pg_get_expr(c.relpartbound, c.oid)
	FROM pg_class AS c
		JOIN pg_database AS d ON d.datname = current_database()
		JOIN pg_tablespace AS t ON t.oid = coalesce(nullif(c.reltablespace, 0), d.dattablespace)
	WHERE c.relkind IN ('r', 'm') AND (c.oid = _ecp_place_groups.parent
		OR c.oid IN (SELECT l.relid FROM pg_partition_tree(_ecp_place_groups.parent) AS l WHERE l.isleaf));
END $$;
COMMENT ON FUNCTION ecp_storage._ecp_place_groups(oid) IS 'ecp_place_groups() for PL/pgSQL';

CREATE FUNCTION ecp_place_groups(parent regclass, OUT grp regclass, OUT bytes bigint,
	OUT scans bigint, OUT tablespace name, OUT split boolean, OUT bound text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL RESTRICTED
BEGIN ATOMIC
	SELECT * FROM ecp_storage._ecp_place_groups(parent::oid);
END;
COMMENT ON FUNCTION ecp_place_groups(regclass) IS 'groups that are moved as a unit: each leaf partition with its indexes and TOAST table';

-- Free space is told of the targets whose capacity is open, of which plans tell it
-- anyway, and of no other tablespace.

CREATE FUNCTION ecp_storage._ecp_place_free_bytes(tablespace oid)
RETURNS float8
AS 'MODULE_PATHNAME', 'ecp_place_free_bytes' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION ecp_storage._ecp_place_free_bytes(oid) IS 'bytes that are free in the file system of a tablespace';
REVOKE ALL ON FUNCTION ecp_storage._ecp_place_free_bytes(oid) FROM PUBLIC;

CREATE FUNCTION ecp_storage._ecp_place_room(target name)
RETURNS float8
LANGUAGE plpgsql VOLATILE STRICT PARALLEL RESTRICTED SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT ecp_storage._ecp_place_free_bytes(s.oid) FROM pg_tablespace AS s
		WHERE s.spcname = _ecp_place_room.target AND EXISTS (SELECT FROM ecp_storage.ecp_place_targets AS t
			WHERE t.target = s.spcname AND t.capacity IS NULL AND NOT t.is_server));
END $$;
COMMENT ON FUNCTION ecp_storage._ecp_place_room(name) IS 'bytes that are free for a target of which no capacity was given';

CREATE FUNCTION ecp_storage._ecp_place_targets(place name, OUT target name, OUT is_server boolean,
	OUT speed float8, OUT capacity float8)
RETURNS SETOF record
LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	there boolean;
BEGIN
	FOR target, is_server, speed, capacity, there IN
		SELECT t.target, t.is_server, coalesce(t.speed, d.seq_read_mb_s) * 1e6, t.capacity,
			CASE WHEN t.is_server THEN EXISTS (SELECT FROM pg_foreign_server WHERE srvname = t.target)
				ELSE EXISTS (SELECT FROM pg_tablespace WHERE spcname = t.target) END
		FROM ecp_storage.ecp_place_targets AS t LEFT JOIN ecp_storage.ecp_device AS d ON d.tablespace = t.target
		WHERE t.place = _ecp_place_targets.place
		ORDER BY t.target
	LOOP
		-- now, before anything is moved
		IF NOT there THEN
			RAISE 'target "%" of place "%" does not exist any more', target, _ecp_place_targets.place
				USING ERRCODE = 'undefined_object',
					HINT = 'Delete its row from ecp_storage.ecp_place_targets.';
		END IF;
		IF speed IS NULL THEN
			RAISE 'speed of target "%" is not known', target
				USING ERRCODE = 'object_not_in_prerequisite_state',
					HINT = 'Measure the tablespace with ecp_calibrate(), or give a speed to ecp_place_target().';
		END IF;
		RETURN NEXT;
	END LOOP;
	IF NOT FOUND THEN
		RAISE 'place "%" has no targets', _ecp_place_targets.place
			USING ERRCODE = 'undefined_object', HINT = 'Add them with ecp_place_target().';
	END IF;
END $$;
COMMENT ON FUNCTION ecp_storage._ecp_place_targets(name) IS 'targets of a place, with speed in B/s; an error if one of them is not known';

-- The speed and the capacity of a target can be left open.  The speed then is the
-- measured sequential read rate of the tablespace, and the capacity what is free in
-- its file system and what the groups hold there, both at the time of the plan.  A
-- group with an index in another tablespace counts as being on no target, so that
-- every plan brings it together.

CREATE FUNCTION ecp_storage._ecp_place_problem(parent oid, place name, weight text,
	OUT grp regclass[], OUT bytes float8[], OUT load float8[], OUT source name[], OUT split boolean[],
	OUT bound text[], OUT current integer[], OUT target name[], OUT is_server boolean[],
	OUT speed float8[], OUT capacity float8[])
LANGUAGE plpgsql STABLE STRICT PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	relation pg_class%ROWTYPE;
BEGIN
	IF _ecp_place_problem.weight NOT IN ('bytes', 'scans') THEN
		RAISE 'unrecognized weight "%"', _ecp_place_problem.weight
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Valid weights are "bytes" and "scans".';
	END IF;
	SELECT * INTO relation FROM pg_class WHERE oid = _ecp_place_problem.parent;
	IF NOT FOUND THEN
		RAISE 'relation with OID % does not exist', _ecp_place_problem.parent USING ERRCODE = 'undefined_table';
	END IF;
	IF relation.relkind NOT IN ('p', 'r', 'm') THEN
		RAISE '"%" is not a table or materialized view', relation.relname USING ERRCODE = 'wrong_object_type';
	END IF;

	SELECT array_agg(t.target), array_agg(t.is_server), array_agg(t.speed), array_agg(t.capacity)
	INTO target, is_server, speed, capacity
	FROM ecp_storage._ecp_place_targets(_ecp_place_problem.place) AS t;

	SELECT coalesce(array_agg(g.grp), '{}'), coalesce(array_agg(g.bytes), '{}'), coalesce(array_agg(g.load), '{}'),
		array_agg(g.tablespace), array_agg(g.split), array_agg(g.bound), coalesce(array_agg(g.current), '{}')
	INTO grp, bytes, load, source, split, bound, current
	FROM (SELECT g.*, g.bytes * CASE _ecp_place_problem.weight WHEN 'scans' THEN 1 + g.scans::float8 ELSE 1 END AS load,
			(SELECT t.n::integer FROM unnest(_ecp_place_problem.target, _ecp_place_problem.is_server)
					WITH ORDINALITY AS t(target, is_server, n)
				WHERE t.target = g.tablespace AND NOT t.is_server AND NOT g.split) AS current
		FROM ecp_storage._ecp_place_groups(_ecp_place_problem.parent) AS g
		ORDER BY g.grp) AS g;

	capacity := ARRAY(SELECT coalesce(t.capacity, ecp_storage._ecp_place_room(t.target)
			+ (SELECT coalesce(sum(g.bytes), 0)
				FROM unnest(_ecp_place_problem.bytes, _ecp_place_problem.current) AS g(bytes, current)
				WHERE g.current = t.n))
		FROM unnest(_ecp_place_problem.target, _ecp_place_problem.capacity) WITH ORDINALITY AS t(target, capacity, n)
		ORDER BY t.n);
END $$;
COMMENT ON FUNCTION ecp_storage._ecp_place_problem(oid, name, text) IS 'groups of a table and targets of a place, as the arithmetic takes them';

CREATE FUNCTION ecp_storage._ecp_object_name(base text, suffix text)
RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN (SELECT max(left(base, n)) FROM generate_series(0, length(base)) AS n
		WHERE octet_length(left(base, n)) + octet_length(suffix) < 64) || suffix;
END $$;
COMMENT ON FUNCTION ecp_storage._ecp_object_name(text, text) IS 'a name with this end, and as much of the base as there is room for';

-- In the script nothing of a name is outside quotes, nor in a comment: a name can
-- have a line break, and what follows it would be executed.

CREATE FUNCTION ecp_storage._ecp_place_script(parent oid, grp oid, bound text, target name, is_server boolean)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p record;
	g record;
	aside text;
BEGIN
	SELECT n.nspname, c.relname INTO p
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = _ecp_place_script.parent;
	SELECT n.nspname, c.relname INTO g
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = _ecp_place_script.grp;
	IF NOT is_server THEN
		RETURN format('ALTER TABLE %I.%I SET TABLESPACE %I; -- and its indexes', g.nspname, g.relname, target);
	END IF;
	IF bound IS NULL THEN
		RETURN '-- not a partition: cannot be moved to a server';
	END IF;
	aside := ecp_storage._ecp_object_name(g.relname, '_moved');
	RETURN format(E'-- after CREATE TABLE of this name on the server:\n'
		'ALTER TABLE %1$I.%2$I DETACH PARTITION %3$I.%4$I;\n'
		'ALTER TABLE %3$I.%4$I RENAME TO %5$I;\n'
		'CREATE FOREIGN TABLE %3$I.%4$I PARTITION OF %1$I.%2$I %6$s SERVER %7$I'
		' OPTIONS (schema_name %3$L, table_name %4$L);\n'
		'INSERT INTO %3$I.%4$I SELECT * FROM %3$I.%5$I;\n'
		'DROP TABLE %3$I.%5$I;',
		p.nspname, p.relname, g.nspname, g.relname, aside, bound, target);
END $$;
COMMENT ON FUNCTION ecp_storage._ecp_place_script(oid, oid, text, name, boolean) IS 'statements that move a group to a target';

CREATE FUNCTION ecp_place_plan(parent regclass, place name, strategy text DEFAULT 'lpt',
	weight text DEFAULT 'bytes', factor float8 DEFAULT 1.05, seed bigint DEFAULT 0,
	OUT grp regclass, OUT bytes bigint, OUT load float8, OUT source name,
	OUT target name, OUT move boolean, OUT script text)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	p record;
BEGIN
	SELECT * INTO p FROM ecp_storage._ecp_place_problem(parent, place, weight);
	RETURN QUERY
	SELECT g.grp, g.bytes::bigint, g.load, g.source, p.target[g.target], g.target > 0 AND g.target IS DISTINCT FROM g.current,
		CASE WHEN g.target > 0 AND g.target IS DISTINCT FROM g.current THEN
			ecp_storage._ecp_place_script(ecp_place_plan.parent, g.grp, g.bound, p.target[g.target], p.is_server[g.target]) END
	FROM unnest(p.grp, p.bytes, p.load, p.source, p.bound, p.current,
		ecp_models.ecp_place_assign(p.load, p.speed, strategy, p.capacity, p.current, factor, seed, p.bytes, p.grp::text[]))
			AS g(grp, bytes, load, source, bound, current, target);
END $$;
COMMENT ON FUNCTION ecp_place_plan(regclass, name, text, text, float8, bigint) IS 'planned target of each group of a partitioned table';

-- A row for each strategy, and for a file system that places each piece of a group
-- at random.  There a group is read by one worker next to the target that has most of
-- it, and all other pieces cross the network.  "current" is left out while a group is
-- on none of the targets, since it cannot be compared then.

CREATE FUNCTION ecp_place_compare(parent regclass, place name, weight text DEFAULT 'bytes',
	factor float8 DEFAULT 1.05, piece_bytes bigint DEFAULT 1073741824, seed bigint DEFAULT 0,
	OUT strategy text, OUT makespan_s float8, OUT lower_bound_s float8, OUT over_pct float8,
	OUT guarantee float8, OUT moved_bytes bigint, OUT moved_groups integer,
	OUT split_groups integer, OUT remote_bytes bigint)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	p record;
	piece record;
	goal integer[];
	npieces float8;
BEGIN
	IF piece_bytes <= 0 THEN
		RAISE 'size of pieces must be positive' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT * INTO p FROM ecp_storage._ecp_place_problem(parent, place, weight);
	lower_bound_s := ecp_models.ecp_place_bound(p.load, p.speed);

	SELECT coalesce(sum(ceil(g / piece_bytes)), 0) INTO npieces FROM unnest(p.bytes) AS g;
	IF npieces > 1e7 THEN
		RAISE 'too many pieces to place at random: %', npieces::numeric
			USING ERRCODE = 'program_limit_exceeded', HINT = 'Give a larger size of pieces.';
	END IF;
	SELECT array_agg(g.n) AS grp, array_agg(g.current) AS current,
		coalesce(array_agg(x.bytes), '{}') AS bytes,
		coalesce(array_agg(g.load * x.bytes / g.bytes), '{}') AS load
	INTO piece
	FROM unnest(p.bytes, p.load, p.current) WITH ORDINALITY AS g(bytes, load, current, n),
		LATERAL (SELECT least(g.bytes - i * piece_bytes::float8, piece_bytes) AS bytes
			FROM generate_series(0, ceil(g.bytes / piece_bytes)::integer - 1) AS i) AS x;
	goal := ecp_models.ecp_place_assign(piece.load, p.speed, 'random', p.capacity, NULL, factor, seed, piece.bytes);
	strategy := 'random_file';
	makespan_s := ecp_models.ecp_place_makespan(piece.load, p.speed, goal);
	over_pct := 100 * (makespan_s / nullif(lower_bound_s, 0) - 1);
	SELECT coalesce(sum(t.moved), 0), count(*) FILTER (WHERE t.moved > 0), count(*) FILTER (WHERE t.most < t.bytes),
		coalesce(sum(t.bytes - t.most), 0)
	INTO moved_bytes, moved_groups, split_groups, remote_bytes
	FROM (SELECT sum(h.bytes) AS bytes, max(h.bytes) AS most, sum(h.bytes) FILTER (WHERE h.moved) AS moved
		FROM (SELECT x.grp, x.target IS DISTINCT FROM x.current AS moved, sum(x.bytes) AS bytes
			FROM unnest(piece.grp, piece.bytes, piece.current, goal) AS x(grp, bytes, current, target)
			GROUP BY x.grp, x.current, x.target) AS h
		GROUP BY h.grp) AS t;
	RETURN NEXT;

	FOREACH strategy IN ARRAY '{current,random,online,lpt,rebalance}'::text[] LOOP
		goal := ecp_models.ecp_place_assign(p.load, p.speed, strategy, p.capacity, p.current, factor, seed,
			p.bytes, p.grp::text[]);
		CONTINUE WHEN 0 = ANY (goal);
		makespan_s := ecp_models.ecp_place_makespan(p.load, p.speed, goal);
		over_pct := 100 * (makespan_s / nullif(lower_bound_s, 0) - 1);
		-- of LPT on equal targets and on different ones; a capacity that could bind voids both
		guarantee := CASE WHEN strategy = 'lpt' THEN (
			SELECT CASE WHEN min(t.capacity) < (SELECT sum(g) FROM unnest(p.bytes) AS g) THEN NULL
				WHEN min(t.speed) = max(t.speed) THEN 4.0 / 3 - 1.0 / (3 * count(*))
				ELSE 2.0 * count(*) / (count(*) + 1) END
			FROM unnest(p.speed, p.capacity) AS t(speed, capacity)) END;
		SELECT coalesce(sum(g.bytes), 0), count(*) INTO moved_bytes, moved_groups
		FROM unnest(p.bytes, p.current, goal) AS g(bytes, current, target)
		WHERE g.target IS DISTINCT FROM g.current;
		split_groups := CASE strategy WHEN 'current' THEN cardinality(array_positions(p.split, true)) ELSE 0 END;
		remote_bytes := 0;
		strategy := CASE strategy WHEN 'random' THEN 'random_group' ELSE strategy END;
		RETURN NEXT;
	END LOOP;
END $$;
COMMENT ON FUNCTION ecp_place_compare(regclass, name, text, float8, bigint, bigint) IS 'makespan of each strategy, compared with the lower bound';

-- The table is locked first, since locking two indexes first could deadlock.

CREATE FUNCTION ecp_storage._ecp_place_move(relid oid, tablespace name)
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	r record;
BEGIN
	SELECT n.nspname, c.relname INTO r
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE c.oid = _ecp_place_move.relid;
	IF NOT FOUND THEN
		RAISE 'relation with OID % does not exist', relid USING ERRCODE = 'undefined_table';
	END IF;
	EXECUTE format('ALTER TABLE %I.%I SET TABLESPACE %I', r.nspname, r.relname, tablespace);
	FOR r IN
		SELECT n.nspname, c.relname
		FROM pg_index AS x JOIN pg_class AS c ON c.oid = x.indexrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE x.indrelid = _ecp_place_move.relid AND x.indislive
		ORDER BY c.oid
	LOOP
		EXECUTE format('ALTER INDEX %I.%I SET TABLESPACE %I', r.nspname, r.relname, tablespace);
	END LOOP;
END $$;
COMMENT ON FUNCTION ecp_storage._ecp_place_move(oid, name) IS 'move a table, its TOAST table and its indexes to a tablespace';

-- A group is locked (ACCESS EXCLUSIVE) only while it is copied.  The plan is not
-- stored: a plan that is made again after part of it was carried out leaves in place
-- what has been moved, so calling the procedure again resumes it.
--
-- Moves are taken in turn from the pairs (origin, target), so that no pair of devices
-- works for long while others idle; within a pair the largest first.  A move must fit
-- on its target when it is made, not only at the end: one that does not is postponed
-- until others have made room.  A group that is in use longer than lock_timeout is
-- left where it is and reported.
--
-- A procedure that commits cannot have a search_path of its own; it sets one in each
-- transaction, and until then, and after COMMIT, qualifies what it names.  The names
-- of groups in messages are as the caller's search_path has them.

CREATE PROCEDURE ecp_place_apply(parent regclass, place name, strategy text DEFAULT 'lpt',
	max_bytes text DEFAULT NULL, lock_timeout text DEFAULT '2s', weight text DEFAULT 'bytes',
	factor float8 DEFAULT 1.05)
LANGUAGE plpgsql
AS $$
#variable_conflict use_variable
DECLARE
	missing CONSTANT pg_catalog.int4 := pg_catalog.array_position(ARRAY[parent IS NULL, place IS NULL,
		strategy IS NULL, false, lock_timeout IS NULL, weight IS NULL, factor IS NULL], true);
	p pg_catalog.record;
	names pg_catalog.text[];
	goal pg_catalog.int4[];		-- number of the target of each group
	todo pg_catalog.int4[];		-- numbers of groups
	used pg_catalog.float8[];	-- bytes on each target
	budget pg_catalog.float8;	-- bytes that may still be moved
	moved_bytes pg_catalog.float8 DEFAULT 0;
	moved pg_catalog.int4 DEFAULT 0;
	g pg_catalog.int4;
BEGIN
	COMMIT;						-- fails in a transaction block, before anything is done
	IF missing IS NOT NULL THEN
		RAISE 'argument % of ecp_place_apply() must not be null', missing USING ERRCODE = 'null_value_not_allowed';
	END IF;
	SELECT * INTO p FROM ecp_storage._ecp_place_problem(parent, place, weight);
	names := p.grp::pg_catalog.text[];
	PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
	budget := coalesce(pg_size_bytes(max_bytes)::float8, 'infinity');
	IF budget < 0 THEN
		RAISE '"max_bytes" must not be negative'
			USING ERRCODE = 'invalid_parameter_value', HINT = 'Give null to move all there is to move.';
	END IF;
	goal := ecp_models.ecp_place_assign(p.load, p.speed, strategy, p.capacity, p.current, factor, 0, p.bytes, names);
	todo := ARRAY(SELECT m.n
		FROM (SELECT m.*, row_number() OVER (PARTITION BY m.current, m.target ORDER BY m.bytes DESC, m.n) AS turn
			FROM unnest(p.bytes, p.current, goal) WITH ORDINALITY AS m(bytes, current, target, n)
			WHERE m.target > 0 AND m.target IS DISTINCT FROM m.current AND NOT p.is_server[m.target]) AS m
		ORDER BY m.turn, m.bytes DESC, m.n);
	used := ARRAY(SELECT coalesce(sum(m.bytes), 0)
		FROM generate_subscripts(p.speed, 1) AS t LEFT JOIN unnest(p.bytes, p.current) AS m(bytes, current) ON m.current = t
		GROUP BY t ORDER BY t);
	LOOP
		PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
			pg_catalog.set_config('lock_timeout', lock_timeout, true);
		SELECT m.g INTO g FROM unnest(todo) WITH ORDINALITY AS m(g, n)
		WHERE p.bytes[m.g] <= budget AND used[goal[m.g]] + p.bytes[m.g] <= p.capacity[goal[m.g]]
		ORDER BY m.n LIMIT 1;
		EXIT WHEN NOT FOUND;
		todo := array_remove(todo, g);
		BEGIN
			PERFORM ecp_storage._ecp_place_move(p.grp[g], p.target[goal[g]]);
		EXCEPTION WHEN lock_not_available OR deadlock_detected OR undefined_table OR object_in_use THEN
			RAISE NOTICE 'group "%" was not moved: %', names[g], SQLERRM
				USING HINT = 'Call ecp_place_apply() again to try it once more.';
			CONTINUE;
		END;
		budget := budget - p.bytes[g];
		moved_bytes := moved_bytes + p.bytes[g];
		moved := moved + 1;
		used[goal[g]] := used[goal[g]] + p.bytes[g];
		IF p.current[g] IS NOT NULL THEN
			used[p.current[g]] := used[p.current[g]] - p.bytes[g];
		END IF;
		COMMIT;
		RAISE NOTICE 'moved group "%" from "%" to "%" (% bytes)', names[g], p.source[g], p.target[goal[g]],
			p.bytes[g]::pg_catalog.int8;
	END LOOP;
	COMMIT;
	RAISE NOTICE 'moved % groups (% bytes), % left over', moved, moved_bytes::pg_catalog.int8,
		pg_catalog.cardinality(todo);
END $$;
COMMENT ON PROCEDURE ecp_place_apply(regclass, name, text, text, text, text, float8) IS 'carry out a placement, one group in each transaction';

-- A rule that cannot be carried out would make every later CREATE TABLE of a partition
-- fail, so it is checked when it is made.

CREATE FUNCTION ecp_place_rule(parent regclass, prefix text, target name DEFAULT NULL, place name DEFAULT NULL)
RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	relation pg_class%ROWTYPE;
BEGIN
	IF ecp_place_rule.parent IS NULL OR ecp_place_rule.prefix IS NULL THEN
		RAISE 'parent and prefix must not be null'
			USING ERRCODE = 'null_value_not_allowed', HINT = 'The empty prefix matches every name.';
	END IF;
	PERFORM ecp_storage._ecp_table_refuse_distributed(ecp_place_rule.parent);
	IF (ecp_place_rule.target IS NULL) = (ecp_place_rule.place IS NULL) THEN
		RAISE 'either a target or a place must be given'
			USING ERRCODE = 'invalid_parameter_value',
				HINT = 'A target is a tablespace; of a place, the best of its targets is taken.';
	END IF;
	SELECT * INTO relation FROM pg_class WHERE oid = ecp_place_rule.parent;
	IF NOT FOUND THEN
		RAISE 'relation with OID % does not exist', ecp_place_rule.parent::oid USING ERRCODE = 'undefined_table';
	END IF;
	IF relation.relkind <> 'p' THEN
		RAISE '"%" is not a partitioned table', relation.relname USING ERRCODE = 'wrong_object_type';
	END IF;
	IF ecp_place_rule.target = 'pg_global' THEN
		RAISE 'only shared relations can be placed in tablespace "%"', ecp_place_rule.target
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF NOT EXISTS (SELECT FROM pg_tablespace WHERE spcname = ecp_place_rule.target) AND ecp_place_rule.place IS NULL THEN
		RAISE 'tablespace "%" does not exist', ecp_place_rule.target USING ERRCODE = 'undefined_object';
	END IF;
	IF ecp_place_rule.target IS NULL AND NOT EXISTS (SELECT FROM ecp_storage.ecp_place_targets AS t
			WHERE t.place = ecp_place_rule.place AND NOT t.is_server) THEN
		RAISE 'place "%" has no tablespace among its targets', ecp_place_rule.place
			USING ERRCODE = 'undefined_object', HINT = 'Add one with ecp_place_target().';
	END IF;
	INSERT INTO ecp_storage.ecp_place_rules (parent, prefix, target, place)
	VALUES (ecp_place_rule.parent, ecp_place_rule.prefix, ecp_place_rule.target, ecp_place_rule.place)
	ON CONFLICT (parent, prefix) DO UPDATE SET target = excluded.target, place = excluded.place;
END $$;
COMMENT ON FUNCTION ecp_place_rule(regclass, text, name, name) IS 'place new partitions whose name begins with the prefix in a tablespace, or on the best target of a place';

-- The rule of a new leaf partition is that of the nearest ancestor with one that
-- matches, and among those of one ancestor the one with the longest prefix.  The prefix
-- is compared with the partition's name, and with the rest of it after the ancestor's
-- name and a "_", so that rules need not repeat that.  A TABLESPACE clause takes
-- precedence over every rule.
--
-- Of a place, online LPT chooses: the target that would be ready first with one more
-- group, of the mean size of those that have data.
--
-- This runs for every role that creates a partition, whatever its rights on the tables
-- of rules and targets: as the owner, and the caller learns only where the partition
-- belongs.  It is moved as the caller, which costs nothing, as it is empty.

CREATE FUNCTION ecp_storage._ecp_place_new_tablespace(partition oid)
RETURNS name
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	rule ecp_storage.ecp_place_rules%ROWTYPE;
	p record;
	mean float8;
BEGIN
	SELECT r.* INTO rule
	FROM pg_class AS c JOIN pg_inherits AS i ON i.inhrelid = c.oid JOIN pg_class AS above ON above.oid = i.inhparent,
		pg_partition_ancestors(c.oid) WITH ORDINALITY AS a(relid, depth)
		JOIN pg_class AS named ON named.oid = a.relid JOIN ecp_storage.ecp_place_rules AS r ON r.parent = a.relid
	WHERE c.oid = _ecp_place_new_tablespace.partition AND c.relispartition AND c.relkind = 'r'
		AND c.reltablespace IN (0, above.reltablespace) AND NOT ecp_storage._ecp_table_distributed(above.oid)
		AND (starts_with(c.relname, r.prefix) OR starts_with(c.relname, named.relname || '_' || r.prefix))
	ORDER BY a.depth, length(r.prefix) DESC, r.prefix LIMIT 1;
	IF rule.place IS NULL THEN
		RETURN rule.target;
	END IF;
	SELECT * INTO p FROM ecp_storage._ecp_place_problem(rule.parent, rule.place, 'bytes');
	mean := coalesce((SELECT avg(bytes) FROM unnest(p.bytes) AS bytes WHERE bytes > 0), 1);
	SELECT t.target INTO rule.target
	FROM (SELECT t.*, (SELECT coalesce(sum(g.bytes), 0) + mean
				FROM unnest(p.bytes, p.current) AS g(bytes, current) WHERE g.current = t.n) AS used
			FROM unnest(p.target, p.is_server, p.speed, p.capacity) WITH ORDINALITY
				AS t(target, is_server, speed, capacity, n)) AS t
	WHERE NOT t.is_server AND t.used <= t.capacity
	ORDER BY t.used / t.speed, t.n LIMIT 1;
	IF NOT FOUND THEN
		RAISE 'no target of place "%" has room for a new partition', rule.place
			USING ERRCODE = 'insufficient_resources',
				DETAIL = format('The mean size of a partition is %s bytes.', round(mean));
	END IF;
	RETURN rule.target;
END $$;
COMMENT ON FUNCTION ecp_storage._ecp_place_new_tablespace(oid) IS 'the tablespace for a new partition by the rules of ecp_place_rule(), or null';

CREATE FUNCTION ecp_storage.ecp_place_new_partition()
RETURNS event_trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	relid oid;
	tablespace name;
BEGIN
	FOR relid, tablespace IN
		SELECT c.objid, ecp_storage._ecp_place_new_tablespace(c.objid)
		FROM (SELECT DISTINCT objid FROM pg_event_trigger_ddl_commands()
			WHERE classid = 'pg_class'::regclass AND command_tag = 'CREATE TABLE') AS c
	LOOP
		PERFORM ecp_storage._ecp_place_move(relid, tablespace) WHERE tablespace IS NOT NULL;
	END LOOP;
END $$;
COMMENT ON FUNCTION ecp_storage.ecp_place_new_partition() IS 'trigger function that places new partitions by the rules of ecp_place_rule()';

-- The event trigger exists only while there is a rule, however the table of rules
-- has changed: by ecp_place_rule(), by other statements, or because a dump is
-- restored.  So it costs nothing where nobody has made a rule.  Of two transactions
-- that change rules, the second waits for the first, and then decides by what that
-- has left.

CREATE FUNCTION ecp_storage._ecp_place_trigger_wanted()
RETURNS boolean
AS 'MODULE_PATHNAME', 'ecp_place_trigger_wanted' LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION ecp_storage._ecp_place_trigger_wanted() IS 'whether the event trigger is to be created or dropped; null if neither';

CREATE FUNCTION ecp_storage.ecp_place_rules_changed()
RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	wanted boolean;
BEGIN
	-- conflicts with itself, and with nothing that reads or changes rows
	LOCK TABLE ecp_storage.ecp_place_rules IN SHARE UPDATE EXCLUSIVE MODE;
	wanted := ecp_storage._ecp_place_trigger_wanted();
	IF wanted THEN
		CREATE EVENT TRIGGER ecp_place_new_partition ON ddl_command_end WHEN TAG IN ('CREATE TABLE')
			EXECUTE FUNCTION ecp_storage.ecp_place_new_partition();
		COMMENT ON EVENT TRIGGER ecp_place_new_partition IS 'places new partitions by the rules of ecp_place_rule()';
		ALTER EXTENSION ecp_storage ADD EVENT TRIGGER ecp_place_new_partition;
	ELSIF NOT wanted THEN
		ALTER EXTENSION ecp_storage DROP EVENT TRIGGER ecp_place_new_partition;
		DROP EVENT TRIGGER ecp_place_new_partition;
	END IF;
	RETURN NULL;
END $$;
COMMENT ON FUNCTION ecp_storage.ecp_place_rules_changed() IS 'trigger function that creates the event trigger with the first rule and drops it with the last';
REVOKE ALL ON FUNCTION ecp_storage.ecp_place_rules_changed() FROM PUBLIC;

CREATE TRIGGER ecp_place_rules_changed AFTER INSERT OR DELETE OR TRUNCATE ON ecp_storage.ecp_place_rules
	FOR EACH STATEMENT EXECUTE FUNCTION ecp_storage.ecp_place_rules_changed();
ALTER TABLE ecp_storage.ecp_place_rules ENABLE ALWAYS TRIGGER ecp_place_rules_changed;
COMMENT ON TRIGGER ecp_place_rules_changed ON ecp_storage.ecp_place_rules IS 'keeps the event trigger that places new partitions while there are rules';

-- build planning

CREATE FUNCTION ecp_storage._ecp_build_model(vectors float8, record_bytes float8, raw_bytes float8, clusters float8,
	raw float8[], temp float8[], final float8[], temp_with_raw boolean, temp_with_final boolean,
	in_buff float8, merge_bytes float8, dirty float8, cpu_assign_s float8, cpu_merge_s float8,
	OUT policy text, OUT assign_wait_s float8, OUT merge_wait_s float8, OUT total_s float8,
	OUT appends float8, OUT writes float8, OUT runs float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'ecp_build_model' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 2;
COMMENT ON FUNCTION ecp_storage._ecp_build_model(float8, float8, float8, float8, float8[], float8[], float8[], boolean, boolean, float8, float8, float8, float8, float8) IS 'seconds of a build with both policies on devices given by four figures or, as measured, by six';

CREATE FUNCTION ecp_storage._ecp_dirty_bytes()
RETURNS float8
AS 'MODULE_PATHNAME', 'ecp_dirty_bytes' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ecp_storage._ecp_dirty_bytes() IS 'how much written data the system keeps in memory';

CREATE FUNCTION ecp_storage._ecp_check_tablespaces(tablespaces name[], most integer)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF array_ndims(tablespaces) > 1 THEN
		RAISE 'array of tablespaces must have one dimension' USING ERRCODE = 'array_subscript_error';
	END IF;
	IF cardinality(tablespaces) NOT BETWEEN 1 AND most THEN
		RAISE 'between 1 and % tablespaces must be given', most USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF array_position(tablespaces, NULL) IS NOT NULL THEN
		RAISE 'tablespaces must not be null' USING ERRCODE = 'null_value_not_allowed';
	END IF;
END $$;
COMMENT ON FUNCTION ecp_storage._ecp_check_tablespaces(name[], integer) IS 'an error unless there is one tablespace, and at most as many';

-- A row for each way to place the three kinds of data, and each policy.  The size of
-- what would be built comes from the statistics of the table; each level of the leader
-- tree is a scan of its fan-out; one processor merges 100 MB/s into pages, and a merge
-- of runs reads into four tenths of maintenance_work_mem.

CREATE FUNCTION ecp_plan_build(rel regclass, col name,
	tablespaces name[], cluster_bytes float8 DEFAULT 131072, in_buff float8 DEFAULT 134217728,
	levels integer DEFAULT 3, dirty float8 DEFAULT 0, mul_adds_per_s float8 DEFAULT 4e9,
	OUT raw name, OUT temp name, OUT final name, OUT policy text,
	OUT assign_s float8, OUT merge_s float8, OUT total_s float8,
	OUT assign_wait_s float8, OUT merge_wait_s float8, OUT files float8)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
	kind "char";
	relname name;
	vectors float8;
	width integer;
	record_bytes float8;		-- the vector and its TID
	raw_bytes float8;
	clusters float8;
	cpu_assign_s float8;
	cpu_merge_s float8;
	attnum smallint;
	unknown name;
BEGIN
	PERFORM ecp_storage._ecp_table_refuse_distributed(rel);
	IF NOT (levels >= 1 AND cluster_bytes > 0 AND mul_adds_per_s > 0) THEN
		RAISE 'size of clusters, number of levels and speed of the CPU must be positive'
			USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM ecp_storage._ecp_check_tablespaces(tablespaces, 8);
	SELECT t.name INTO unknown FROM unnest(tablespaces) AS t(name)
	WHERE NOT EXISTS (SELECT FROM pg_tablespace AS s WHERE s.spcname = t.name) LIMIT 1;
	IF FOUND THEN
		RAISE 'tablespace "%" does not exist', unknown USING ERRCODE = 'undefined_object';
	END IF;
	SELECT t.name INTO unknown FROM unnest(tablespaces) AS t(name)
	WHERE NOT EXISTS (SELECT FROM ecp_storage.ecp_device AS d WHERE d.tablespace = t.name) LIMIT 1;
	IF FOUND THEN
		RAISE 'tablespace "%" has not been measured', unknown
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Run ecp_calibrate() on it.';
	END IF;

	SELECT c.relkind, c.relname, c.reltuples, s.avg_width, a.attnum, pg_relation_size(c.oid)
	INTO kind, relname, vectors, width, attnum, raw_bytes
	FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = col AND NOT a.attisdropped
		LEFT JOIN pg_stats AS s ON s.schemaname = n.nspname AND s.tablename = c.relname
			AND s.attname = a.attname AND NOT s.inherited
	WHERE c.oid = rel;
	IF NOT FOUND THEN
		RAISE 'relation with OID % does not exist', rel::oid USING ERRCODE = 'undefined_table';
	END IF;
	IF attnum IS NULL THEN
		RAISE 'column "%" of relation "%" does not exist', col, relname USING ERRCODE = 'undefined_column';
	END IF;
	IF NOT has_table_privilege(rel, 'SELECT') THEN
		RAISE 'permission denied for table %', relname USING ERRCODE = 'insufficient_privilege';
	END IF;
	IF kind NOT IN ('r', 'm', 't') THEN
		RAISE '"%" is not a table or materialized view', relname USING ERRCODE = 'wrong_object_type';
	END IF;
	IF vectors <= 0 OR coalesce(width, 0) <= 0 THEN
		RAISE 'size of table "%" is not known', relname
			USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Run ANALYZE on it.';
	END IF;
	record_bytes := width + 6;
	clusters := greatest(1, ceil(vectors * record_bytes / cluster_bytes));
	raw_bytes := greatest(raw_bytes, vectors * width);
	cpu_assign_s := vectors * levels * clusters ^ (1.0::float8 / levels) * (width / 4) / mul_adds_per_s;
	cpu_merge_s := vectors * record_bytes / 100e6;

	RETURN QUERY
	WITH device AS (
		SELECT t.n, t.name, ARRAY[d.latency_us / 1000, d.seq_read_mb_s, d.seq_write_mb_s, d.rand_write_iops,
			coalesce(d.step_read_us, d.latency_us) / 1000, coalesce(d.mixed_ratio, 1.5)] AS figures
		FROM unnest(tablespaces) WITH ORDINALITY AS t(name, n) JOIN ecp_storage.ecp_device AS d ON d.tablespace = t.name
	)
	SELECT r.name, t.name, f.name, m.policy, cpu_assign_s + m.assign_wait_s, cpu_merge_s + m.merge_wait_s, m.total_s,
		m.assign_wait_s, m.merge_wait_s, CASE m.policy WHEN 'tempfiles' THEN m.appends ELSE m.runs END
	FROM device AS r, device AS t, device AS f,
		ecp_storage._ecp_build_model(vectors, record_bytes, raw_bytes, clusters, r.figures, t.figures, f.figures,
			r.n = t.n, f.n = t.n, in_buff, pg_size_bytes(current_setting('maintenance_work_mem')) * 0.4,
			CASE WHEN dirty > 0 THEN dirty ELSE ecp_storage._ecp_dirty_bytes() END, cpu_assign_s, cpu_merge_s) AS m
	ORDER BY r.n, t.n, f.n, m.policy DESC;
END $$;
COMMENT ON FUNCTION ecp_plan_build(regclass, name, name[], float8, float8, integer, float8, float8) IS 'predicted seconds of a build for each placement of raw, intermediate and final data on measured tablespaces';

-- measurement

-- Calibration writes a temporary file of some hundred megabytes into the tablespace, in
-- order, and then reads and writes blocks of it: at random and in order, cold and warm,
-- by block size and by number of workers, misaligned, with fsync.  The delays of single
-- cold random reads by size give the line
--
--		delay = latency + size / throughput
--
-- by least squares of the errors relative to the delay: otherwise the largest size alone
-- would decide, and the latency, which matters for the small ones, would be noise.  A
-- device whose curve is not a line (a throttle gives the larger of two delays, not their
-- sum) is recognised by r2, and by the plateau of the small sizes and the slope of the
-- large ones, which are stored, too.
--
-- Other work on the machine disturbs a measurement either way: it makes delays longer,
-- and a process that was held up finds what was read ahead meanwhile.  So reads are
-- measured in several passes, each over all transfers of a step, and the median counts.
-- Where passes come to very different figures, or the delays do not lie on a line, a
-- notice and ecp_advise() say so.
--
-- The time is bounded: each measurement gets an equal part of what is left.  A single
-- operation cannot be stopped, least of all an fsync, so the time of one operation is
-- estimated before each measurement from those made so far.  A measurement that would
-- exceed its part is made without warming up, once; one that would exceed it by far is
-- left out, with a warning, and its figure is the estimate.  So the end is late by at
-- most one operation that took longer than any before it.  The bytes written are
-- bounded, too: a slow device gets a smaller file.

CREATE FUNCTION ecp_storage._ecp_calibrate_fill(tablespace name, bytes bigint, seconds float8,
	OUT file_bytes bigint, OUT bytes_per_s float8, OUT sync_s float8)
AS 'MODULE_PATHNAME', 'ecp_calibrate_fill' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION ecp_storage._ecp_calibrate_fill(name, bigint, float8) IS 'write the file that is measured';
REVOKE ALL ON FUNCTION ecp_storage._ecp_calibrate_fill(name, bigint, float8) FROM PUBLIC;

CREATE FUNCTION ecp_storage._ecp_check_rising(numbers integer[], smallest integer, largest integer, what text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF array_ndims(numbers) > 1 THEN
		RAISE 'array of % must have one dimension', what USING ERRCODE = 'array_subscript_error';
	END IF;
	IF cardinality(numbers) NOT BETWEEN 1 AND 32 THEN
		RAISE 'between 1 and 32 % must be given', what USING ERRCODE = 'invalid_parameter_value';
	END IF;
	IF EXISTS (SELECT FROM (SELECT n, lag(n) OVER (ORDER BY i) AS before FROM unnest(numbers) WITH ORDINALITY AS u(n, i)) AS v
			WHERE n IS NULL OR n NOT BETWEEN smallest AND largest OR n <= before) THEN
		RAISE '% must rise and be from % to %', what, smallest, largest USING ERRCODE = 'invalid_parameter_value';
	END IF;
END $$;
COMMENT ON FUNCTION ecp_storage._ecp_check_rising(integer[], integer, integer, text) IS 'an error unless the numbers rise, within bounds';

-- The measurements are of transfers, in steps: what a step finds, the next ones are
-- estimated from.  A small write stops at 16 MB, a quarter of it where each waits.

CREATE TYPE ecp_storage._ecp_transfer AS (test text, write boolean, random boolean, cold boolean, warm boolean,
	sync_each boolean, sync_end boolean, mixed boolean, block integer, apart integer, misalign integer,
	workers integer, passes integer, max_ops bigint, file_bytes bigint);
COMMENT ON TYPE ecp_storage._ecp_transfer IS 'what is measured: transfers of blocks of a file';

CREATE TYPE ecp_storage._ecp_transferred AS (launched integer, ops bigint, bytes bigint, rate float8, mb_s float8,
	delay_us float8, first_delay_us float8, written bigint);
COMMENT ON TYPE ecp_storage._ecp_transferred IS 'what workers have transferred together, delays of the first one, and bytes written';

CREATE FUNCTION ecp_storage._ecp_calibrate_transfer(what ecp_storage._ecp_transfer, seconds float8, warmup_s float8)
RETURNS ecp_storage._ecp_transferred
AS 'MODULE_PATHNAME', 'ecp_calibrate_transfer' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION ecp_storage._ecp_calibrate_transfer(ecp_storage._ecp_transfer, float8, float8) IS 'read or write blocks of the file that is measured';
REVOKE ALL ON FUNCTION ecp_storage._ecp_calibrate_transfer(ecp_storage._ecp_transfer, float8, float8) FROM PUBLIC;

CREATE FUNCTION ecp_storage._ecp_transfers(step integer, sizes integer[], workers integer[], file_bytes bigint)
RETURNS SETOF ecp_storage._ecp_transfer
LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT v.test, v.write, v.random, v.cold, v.warm, v.sync_each, v.sync_end, v.mixed, coalesce(v.block, s.size),
		v.apart, v.misalign, coalesce(v.workers, w.number), v.passes, v.max_ops, _ecp_transfers.file_bytes
	FROM (VALUES
		(1, 'read by size',               false, true,  true,  false, false, false, false, NULL::integer, 0, 0, 1, 3, 0::bigint),
		(2, 'random read by workers',     false, true,  true,  false, false, false, false, 8192,    0,      0,    NULL, 3, 0),
		(2, 'sequential read by workers', false, false, true,  false, false, false, false, 1048576, 0,      0,    NULL, 3, 0),
		(3, 'misaligned read',            false, true,  true,  false, false, false, false, 8192,    0,      4609, 1,    3, 0),
		(4, 'read in steps',              false, false, true,  false, false, false, false, 4096,    131072, 0,    1,    3, 0),
		(5, 'read beside writes',         false, true,  true,  false, false, false, true,  8192,    0,      0,    2,    1, 0),
		(6, 'cached read',                false, true,  false, true,  false, false, false, 131072,  0,      0,    1,    3, 0),
		(7, 'write and fsync',            true,  true,  false, false, true,  false, false, 8192,    0,      0,    1,    1, 512),
		(8, 'append and fsync',           true,  false, false, false, true,  false, false, 8192,    0,      0,    1,    1, 512),
		(9, 'write, fsync in the end',    true,  true,  false, false, false, true,  false, 8192,    0,      0,    1,    1, 2048))
			AS v(step, test, write, random, cold, warm, sync_each, sync_end, mixed, block, apart, misalign, workers,
				passes, max_ops)
		LEFT JOIN unnest(sizes) AS s(size) ON v.block IS NULL
		LEFT JOIN unnest(_ecp_transfers.workers) AS w(number) ON v.workers IS NULL
	WHERE v.step = _ecp_transfers.step
	ORDER BY w.number, s.size, v.block;
END $$;
COMMENT ON FUNCTION ecp_storage._ecp_transfers(integer, integer[], integer[], bigint) IS 'the measurements of a step of ecp_calibrate()';

CREATE FUNCTION ecp_storage._ecp_calibrate(tablespace name, file_bytes bigint, seconds float8, max_written bigint,
	block_bytes integer[], workers integer[], verbose boolean,
	OUT test text, OUT op text, OUT pattern text, OUT cold boolean, OUT misaligned boolean,
	OUT block integer, OUT processes integer, OUT ops bigint, OUT bytes bigint,
	OUT mb_s float8, OUT delay_us float8)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	started CONSTANT timestamptz := clock_timestamp();
	device ecp_storage.ecp_device;
	what ecp_storage._ecp_transfer;
	transfers ecp_storage._ecp_transfer[];
	one ecp_storage._ecp_transferred;
	done ecp_storage._ecp_transferred[];	-- three places for the passes of each transfer
	n integer[];				-- of them used
	nsizes integer := cardinality(block_bytes);
	left_out integer := 0;		-- transfers
	points_left integer;		-- passes, of all steps
	share float8;				-- seconds for the next pass
	estimate float8;			-- of one operation of each worker
	fill_mb_s float8;
	read_s float8 := 0;			-- what the last single read took,
	read_bytes float8 := 0;		-- which read this many bytes
	sync_s float8;				-- of a small write with its fsync
	warned boolean := false;
	message text;
	x float8[] := '{}';			-- sizes
	y float8[] := '{}';			-- their delays
	rates float8[] := '{}';		-- of random reads by number of workers
BEGIN
	PERFORM ecp_storage._ecp_check_rising(block_bytes, 512, 67108864, 'block sizes');
	PERFORM ecp_storage._ecp_check_rising(workers, 1, 64, 'numbers of workers');
	-- the writer beside reads writes half of the file once more
	file_bytes := least(file_bytes, greatest(0, greatest(max_written, 0) - 4 * 16777216) / 3 * 2);
	IF NOT (seconds > 0 AND seconds <> 'NaN') OR nsizes < 2 OR file_bytes < 2 * block_bytes[nsizes]::bigint OR file_bytes < 16777216 THEN
		RAISE 'calibration needs time, two block sizes, and a file of 16 MB and of twice the largest block'
			USING ERRCODE = 'invalid_parameter_value',
				DETAIL = format('The file may have %s bytes within the limit on bytes written.', file_bytes);
	END IF;

	SELECT f.file_bytes, f.bytes_per_s * 1e-6, f.sync_s INTO file_bytes, fill_mb_s, sync_s
	FROM ecp_storage._ecp_calibrate_fill(tablespace, file_bytes, seconds * 0.25) AS f;
	device.tablespace := tablespace;
	device.file_bytes := file_bytes;
	device.written_bytes := file_bytes;
	device.seq_write_mb_s := fill_mb_s;
	device.spread := 0;
	-- a device so slow that the file is small has no large blocks to read
	WHILE nsizes > 1 AND 2 * block_bytes[nsizes]::bigint > file_bytes LOOP
		nsizes := nsizes - 1;
		left_out := left_out + 1;
	END LOOP;
	points_left := (SELECT sum(t.passes) FROM generate_series(1, 9) AS s,
		ecp_storage._ecp_transfers(s, block_bytes[:nsizes], workers, file_bytes) AS t);

	FOR step IN 0..9 LOOP
		transfers := ARRAY(SELECT t FROM ecp_storage._ecp_transfers(step, block_bytes[:nsizes], workers, file_bytes) AS t);
		done := array_fill(NULL::ecp_storage._ecp_transferred, ARRAY[3 * cardinality(transfers)]);
		n := array_fill(0, ARRAY[cardinality(transfers)]);
		share := least(1.5, greatest(seconds - extract(epoch FROM clock_timestamp() - started), 0) / greatest(points_left, 1));
		IF step = 0 THEN		-- what has been written
			what.test := 'sequential write';
			what.write := true;
			what.block := least(1048576, file_bytes);
			transfers := ARRAY[what];
			one.launched := 1;
			one.ops := file_bytes / what.block;
			one.bytes := one.ops * what.block;
			one.mb_s := fill_mb_s;
			one.rate := fill_mb_s * 1e6 / what.block;
			one.delay_us := what.block / fill_mb_s;
			done := ARRAY[one];
			n := ARRAY[1];
		ELSIF step = 6 THEN		-- as much of the file as can be read in the time
			what := transfers[1];
			what.file_bytes := least(8388608, file_bytes);
			WHILE what.file_bytes > what.block
				AND greatest(read_s, device.latency_us * 1e-6 + what.file_bytes / (device.read_mb_s * 1e6)) > share / 2 LOOP
				what.file_bytes := what.file_bytes / 2;
			END LOOP;
			what.block := least(what.block, what.file_bytes);
			transfers[1] := what;
		ELSIF step = 9 THEN		-- as many as there is time for if each waits as the synced ones do
			what := transfers[1];
			what.max_ops := floor(least(what.max_ops, share / greatest(sync_s, 1e-6)));
			IF what.max_ops > 0 THEN
				-- a device that was idle has credit, which writes that do not count use up
				transfers[1].max_ops := (what.max_ops + 1) / 2;
				one := ecp_storage._ecp_calibrate_transfer(transfers[1], greatest(share, 0.001), 0);
				device.written_bytes := device.written_bytes + one.written;
			END IF;
			transfers[1].max_ops := greatest(what.max_ops, 1);
		END IF;

		FOR pass IN 1..CASE step WHEN 0 THEN 0 ELSE 3 END LOOP
			FOR i IN 1..cardinality(transfers) LOOP
				what := transfers[i];
				CONTINUE WHEN pass > what.passes;
				share := least(1.5, greatest(seconds - extract(epoch FROM clock_timestamp() - started), 0) / greatest(points_left, 1));
				points_left := points_left - 1;
				-- Reading is taken to be as fast as writing until a read was measured; from then on, a read
				-- of more bytes to take no more than in proportion; and when there is a line through the
				-- delays, that is taken.
				IF n[i] > 0 THEN
					estimate := done[3 * i - 2].delay_us * 1e-6;
				ELSE
					estimate := CASE WHEN what.write OR what.mixed THEN sync_s ELSE 0 END
						+ CASE WHEN what.mixed THEN 1048576 / (fill_mb_s * 1e6) ELSE 0 END;
					estimate := what.workers * (estimate + CASE WHEN what.write THEN 0
						WHEN device.read_mb_s > 0 THEN greatest(read_s, device.latency_us * 1e-6
							+ CASE WHEN what.warm THEN what.file_bytes ELSE what.block END / (device.read_mb_s * 1e6))
						WHEN read_bytes > 0 THEN read_s * greatest(1, what.block / read_bytes)
						ELSE what.block / (fill_mb_s * 1e6) END);
				END IF;
				-- an operation may take a moment, whatever its share; of several passes one is better than none
				CONTINUE WHEN estimate > greatest(share * greatest(what.passes - n[i], 2), 0.15)
					OR estimate > share AND n[i] > 0;
				IF what.cold AND estimate <= share THEN
					one := ecp_storage._ecp_calibrate_transfer(what,
						greatest(share, 0.001) - least(0.12, share / 4), least(0.12, share / 4));
				ELSE
					one := ecp_storage._ecp_calibrate_transfer(what, greatest(share, 0.001), 0);
				END IF;
				device.written_bytes := device.written_bytes + one.written;
				IF one.ops > 0 THEN
					n[i] := n[i] + 1;
					done[3 * i - 3 + n[i]] := one;
				END IF;
				IF step = 1 AND pass = 1 AND n[i] > 0 THEN
					read_s := one.delay_us * 1e-6;
					read_bytes := what.block;
				END IF;
			END LOOP;
		END LOOP;

		FOR i IN 1..cardinality(transfers) LOOP
			-- the median of the passes, of two the slower one
			what := transfers[i];
			one := (SELECT d FROM unnest(done[3 * i - 2:3 * i - 3 + n[i]]) AS d ORDER BY d.rate OFFSET (n[i] - 1) / 2 LIMIT 1);
			IF n[i] = 0 THEN
				left_out := left_out + 1;
			ELSE
				device.spread := greatest(device.spread, (SELECT max(d.rate) / nullif(min(d.rate), 0)
					FROM unnest(done[3 * i - 2:3 * i - 3 + n[i]]) AS d));
				IF one.launched < what.workers AND NOT warned THEN
					warned := true;
					RAISE NOTICE 'only % of % workers could be started', one.launched, what.workers
						USING HINT = 'Consider increasing max_worker_processes and max_parallel_workers.';
				END IF;
				test := what.test;
				op := CASE WHEN what.write THEN 'write' ELSE 'read' END;
				pattern := CASE WHEN what.random THEN 'random' ELSE 'sequential' END;
				cold := coalesce(what.cold, false);
				misaligned := coalesce(what.misalign, 0) > 0;
				block := what.block;
				processes := one.launched;
				ops := one.ops;
				bytes := one.bytes;
				mb_s := one.mb_s;
				delay_us := one.delay_us;
				RETURN NEXT;
				message := format('%s, %s bytes, %s workers: %s MB/s, %s us (%s of %s s)', test, block, processes,
					round(mb_s::numeric, 1), round(delay_us::numeric),
					round(extract(epoch FROM clock_timestamp() - started), 1), round(seconds::numeric, 1));
				IF _ecp_calibrate.verbose THEN
					RAISE INFO '%', message;
				ELSE
					RAISE DEBUG '%', message;
				END IF;
			END IF;

			CASE step
				WHEN 0 THEN
				WHEN 1 THEN
					IF one.delay_us > 0 THEN
						x := x || what.block::float8;
						y := y || one.delay_us;
					END IF;
				WHEN 2 THEN
					IF what.random THEN
						rates := rates || coalesce(one.rate, 0);
						device.rand_read_iops := coalesce(device.rand_read_iops, nullif(rates[1], 0), 1e6 / y[1]);
					ELSIF one.mb_s > 0 AND (cardinality(rates) = 1 OR one.mb_s > device.seq_read_mb_s) THEN
						device.seq_read_mb_s := one.mb_s;
					END IF;
				WHEN 3 THEN device.misaligned_ratio := coalesce(device.rand_read_iops / nullif(one.rate, 0), 1);
				WHEN 4 THEN device.step_read_us := coalesce(one.delay_us, device.plateau_us);
				WHEN 5 THEN device.mixed_ratio := greatest(1, one.first_delay_us * 1e-6 * device.rand_read_iops);
				WHEN 6 THEN device.cached_mb_s := coalesce(one.mb_s, device.seq_read_mb_s);
				WHEN 7 THEN
					device.rand_write_us := coalesce(one.delay_us, sync_s * 1e6);
					sync_s := device.rand_write_us * 1e-6;
				WHEN 8 THEN device.fsync_us := coalesce(one.delay_us, device.rand_write_us);
				WHEN 9 THEN device.rand_write_iops := coalesce(nullif(one.rate, 0), 1 / greatest(sync_s, 1e-9));
			END CASE;
		END LOOP;

		IF step = 1 THEN
			IF y = '{}' THEN
				RAISE 'too few measurements for a profile'
					USING ERRCODE = 'insufficient_resources', HINT = 'Give more time or a larger file.';
			END IF;
			IF cardinality(y) = 1 THEN
				device.read_mb_s := fill_mb_s;
				device.latency_us := greatest(0, y[1] - x[1] / fill_mb_s);
				device.r2 := 0;
			ELSE
				SELECT f.latency_us, f.mb_s, f.r2 INTO device.latency_us, device.read_mb_s, device.r2
				FROM ecp_models.ecp_delay_fit(x, y) AS f;
			END IF;
			device.half_bandwidth := floor(device.latency_us * device.read_mb_s);
			device.plateau_us := y[1];
			device.slope_mb_s := CASE WHEN y[cardinality(y)] > y[cardinality(y) - 1]
				THEN (x[cardinality(x)] - x[cardinality(x) - 1]) / (y[cardinality(y)] - y[cardinality(y) - 1])
				ELSE device.read_mb_s END;
			-- what follows reads small blocks, mostly
			read_s := y[1] * 1e-6;
			read_bytes := x[1];
			device.seq_read_mb_s := device.read_mb_s;
		ELSIF step = 2 THEN
			device.rand_read_iops_max := greatest(device.rand_read_iops, (SELECT max(r) FROM unnest(rates) AS r));
			device.best_workers := coalesce((SELECT min(w.number) FROM unnest(workers, rates) AS w(number, rate)
				WHERE w.rate > 0 AND w.rate >= 0.9 * (SELECT max(r) FROM unnest(rates) AS r)), workers[1]);
		END IF;
	END LOOP;

	IF left_out > 0 THEN
		RAISE WARNING 'tablespace "%" is too slow for a whole calibration in % s', tablespace, seconds
			USING DETAIL = left_out || CASE left_out WHEN 1
				THEN ' measurement was left out; what depends on it is an estimate.'
				ELSE ' measurements were left out; what depends on them are estimates.' END,
				HINT = 'Give more time.';
	END IF;
	IF device.r2 < 0.9 OR device.spread > 3 THEN
		RAISE NOTICE 'figures of tablespace "%" are uncertain', tablespace
			USING DETAIL = CASE WHEN device.r2 < 0.9
				THEN format('Delays by size do not lie on a line: r2 is %s.', round(device.r2::numeric, 2))
				ELSE format('Passes over the same measurement differ by a factor of %s.', round(device.spread::numeric, 1)) END,
				HINT = 'Calibrate again without other load on the machine.';
	END IF;

	device.wall_s := extract(epoch FROM clock_timestamp() - started);
	device.measured_at := now();
	DELETE FROM ecp_storage.ecp_device AS d WHERE d.tablespace = _ecp_calibrate.tablespace;
	INSERT INTO ecp_storage.ecp_device SELECT device.*;
END $$;
COMMENT ON FUNCTION ecp_storage._ecp_calibrate(name, bigint, float8, bigint, integer[], integer[], boolean) IS 'ecp_calibrate() for callers who may measure';
REVOKE ALL ON FUNCTION ecp_storage._ecp_calibrate(name, bigint, float8, bigint, integer[], integer[], boolean) FROM PUBLIC;

CREATE FUNCTION ecp_calibrate(tablespace name, file_bytes bigint DEFAULT 268435456,
	seconds float8 DEFAULT 25, max_written bigint DEFAULT 1000000000,
	block_bytes integer[] DEFAULT '{8192,32768,131072,524288,2097152,8388608}',
	workers integer[] DEFAULT '{1,2,4,8}', verbose boolean DEFAULT false,
	OUT test text, OUT op text, OUT pattern text, OUT cold boolean, OUT misaligned boolean,
	OUT block integer, OUT processes integer, OUT ops bigint, OUT bytes bigint,
	OUT mb_s float8, OUT delay_us float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION ecp_calibrate(name, bigint, float8, bigint, integer[], integer[], boolean) IS 'measure a tablespace and store its profile in ecp_storage.ecp_device';
REVOKE ALL ON FUNCTION ecp_calibrate(name, bigint, float8, bigint, integer[], integer[], boolean) FROM PUBLIC;

CREATE FUNCTION _ecp_processors() RETURNS integer
AS 'MODULE_PATHNAME', 'ecp_processors' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _ecp_processors() IS 'number of processors of the server';

CREATE FUNCTION ecp_advise(tablespace name, OUT statement text, OUT reason text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	WITH d AS (
		SELECT p.*,
			-- time of a random page divided by that of a sequential one, both cold
			greatest(1, p.seq_read_mb_s * 1e6::float8 / 8192::float8 / nullif(p.rand_read_iops, 0::float8)) AS ratio,
			greatest(1, p.rand_read_iops_max / nullif(p.rand_read_iops, 0::float8)) AS gain,
			coalesce(h.seq_read_mb_s / nullif(p.seq_read_mb_s, 0::float8), 1) AS slower
		FROM ecp_storage.ecp_device AS p
			LEFT JOIN ecp_storage.ecp_device AS h ON h.tablespace OPERATOR(pg_catalog.=) 'pg_default'
		WHERE p.tablespace OPERATOR(pg_catalog.=) ecp_advise.tablespace
	), v AS (
		SELECT d.*,
			least(best_workers, _ecp_processors()) AS processes,
			CASE WHEN r2 < 0.9::float8 OR spread > 3::float8
				THEN pg_catalog.format(' (uncertain, calibrate again without other load: %s)', pg_catalog.concat_ws(', ',
					CASE WHEN r2 < 0.9::float8 THEN pg_catalog.format('r2 %s', pg_catalog.round(r2::numeric, 2)) END,
					CASE WHEN spread > 3::float8 THEN pg_catalog.format('passes over the same measurement differ by a factor of %s', pg_catalog.round(spread::numeric, 1)) END))
				ELSE '' END AS doubt,
			pg_catalog.round(greatest(0.1, least(10, slower))::numeric, 2) AS seq_cost,
			-- PostgreSQL's default of 4 assumes a ratio of 40, with nine pages in ten cached
			pg_catalog.round((greatest(0.1, least(10, slower)) * greatest(1.1, 0.1::float8 * ratio))::numeric, 2) AS random_cost,
			least(512, greatest(1, pg_catalog.power(2, pg_catalog.round(pg_catalog.ln(gain) / pg_catalog.ln(2)) + CASE WHEN gain > 1.3::float8 THEN 2::float8 ELSE 0::float8 END)))::integer AS concurrency
		FROM d
	)
	SELECT x.statement, x.reason || v.doubt
	FROM v CROSS JOIN LATERAL (VALUES
		(1, pg_catalog.format('ALTER TABLESPACE %I SET (seq_page_cost = %s, random_page_cost = %s)', v.tablespace, seq_cost, random_cost),
			pg_catalog.format('sequential pages take %s times as long as in pg_default; a random page costs %s sequential ones, of which a tenth is counted because most are cached',
				pg_catalog.round(slower::numeric, 2), pg_catalog.round(ratio::numeric, 1))),
		(2, pg_catalog.format('ALTER TABLESPACE %I SET (effective_io_concurrency = %s, maintenance_io_concurrency = %s)', v.tablespace, concurrency, concurrency),
			pg_catalog.format('%s workers read %s times as many random pages as one', best_workers, pg_catalog.round(gain::numeric, 1))),
		(3, pg_catalog.format('SET max_parallel_workers_per_gather = %s', greatest(processes - 1, 0)),
			pg_catalog.format('%s processes reach 90 %% of the best random-read rate; one for each of %s processors is the most', best_workers, _ecp_processors())),
		(4, pg_catalog.format('SET max_parallel_maintenance_workers = %s', greatest(processes - 1, 0)),
			'the same for builds'),
		(5, pg_catalog.format('CREATE INDEX ... USING ecp ... WITH (cluster_size = %s)',
				pg_catalog.power(2, pg_catalog.round(pg_catalog.ln(least(1024, greatest(64, half_bandwidth::float8 / 1024::float8))) / pg_catalog.ln(2)))::integer),
			pg_catalog.format('at %s kB half of a read is latency (%s us and %s MB/s, r2 %s); a cluster is 64 kB to 1 MB',
				half_bandwidth / 1024, pg_catalog.round(latency_us::numeric), pg_catalog.round(read_mb_s::numeric), pg_catalog.round(r2::numeric, 2))),
		(6, pg_catalog.format('CREATE INDEX ... USING betree ... WITH (log_pages = %s)',
				least(128, greatest(38, half_bandwidth / pg_catalog.current_setting('block_size')::bigint))),
			pg_catalog.format('the default where there is this profile: a log of the half-bandwidth size, 38 pages at least and 128 at most; a synced insert anywhere would take %s us, %s B/s of 16-byte pairs',
				pg_catalog.round(rand_write_us::numeric), pg_catalog.round((16e6::float8 / nullif(rand_write_us, 0::float8))::numeric))),
		(7, pg_catalog.format('SET ecp.in_buff = ''%sMB''',
				pg_catalog.power(2, pg_catalog.ceil(pg_catalog.ln(greatest(128, least(1024, (20 * 20)::float8 * half_bandwidth::float8 / 1048576::float8))) / pg_catalog.ln(2)))::integer),
			'20 runs of 20 times the half-bandwidth size: in the merge each run is read in pieces of which 5 % of the time is latency')
	) AS x(line, statement, reason)
	ORDER BY x.line;
END;
COMMENT ON FUNCTION ecp_advise(name) IS 'recommended settings for a measured profile, with reasons; changes nothing';

-- streams

CREATE FUNCTION ecp_stream_utilisation(fps float8[], frame_bytes float8, extents float8, devices float8,
	latency_ms float8, mb_s float8, passes float8 DEFAULT 1)
RETURNS float8
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT pg_catalog.sum(f) FROM pg_catalog.unnest(fps) AS u(f)) * (extents / devices)
	* (latency_ms / 1000::float8 + passes * frame_bytes / extents / (mb_s * 1e6::float8));
COMMENT ON FUNCTION ecp_stream_utilisation(float8[], float8, float8, float8, float8, float8, float8) IS 'utilisation of each device: sum of rates * extents / devices * (latency + size / throughput)';

CREATE FUNCTION ecp_admit_extents(fps float8[], frame_bytes float8, extent_bytes float8,
	max_utilisation float8, max_delay_ms float8, link_mb_s float8, bus_mb_s float8, bus_passes float8)
RETURNS float8
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	name text;
	value float8;
	range text;
	hint text;
BEGIN
	FOR name, value, range, hint IN VALUES
		('frame_bytes', frame_bytes, 'positive and finite', 'Give the bytes of a whole frame.'),
		('extent_bytes', extent_bytes, 'positive and finite', 'Extents of 12 to 48 kB suit most devices.'),
		('max_utilisation', max_utilisation, 'positive and at most 1',
			'Give the share of its time that a component may be busy; at 0.8 some delays are tolerable.'),
		('max_delay_ms', max_delay_ms, 'positive', 'Give milliseconds, or infinity for no limit.'),
		('link_mb_s', link_mb_s, 'positive', 'Give MB/s, or infinity if there is no link.'),
		('bus_mb_s', bus_mb_s, 'positive', 'Give MB/s, or infinity if there is no bus.'),
		('bus_passes', bus_passes, 'positive and finite', 'Give how often each byte goes over the bus.'),
		-- of the rates one that is not valid, if there is one
		('fps', CASE WHEN fps IS NOT NULL THEN coalesce((SELECT coalesce(f, 0) FROM unnest(fps) AS f
			WHERE (f > 0 AND f < 'infinity') IS NOT TRUE LIMIT 1), 1) END,
			'positive and finite', 'Give the frames in a second of each stream.')
	LOOP
		IF value IS NULL THEN
			RAISE '"%" must not be null', name USING ERRCODE = 'null_value_not_allowed', HINT = hint;
		END IF;
		IF NOT (value > 0 AND value <= CASE range WHEN 'positive' THEN 'infinity'::float8
				WHEN 'positive and finite' THEN 1.7976931348623157e308 ELSE 1 END) THEN
			RAISE '"%" must be %', name, range USING ERRCODE = 'invalid_parameter_value', HINT = hint;
		END IF;
	END LOOP;
	IF cardinality(fps) NOT BETWEEN 1 AND 1000000 THEN
		RAISE 'between 1 and 1000000 streams must be given' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	RETURN ceil(frame_bytes / extent_bytes);
END $$;
COMMENT ON FUNCTION ecp_admit_extents(float8[], float8, float8, float8, float8, float8, float8, float8) IS 'number of extents of a frame; an error if the arguments are not valid for ecp_admit()';

CREATE FUNCTION ecp_admit(parent regclass, fps float8[], frame_bytes float8 DEFAULT 400000,
	extent_bytes float8 DEFAULT 50000, max_utilisation float8 DEFAULT 0.8,
	max_delay_ms float8 DEFAULT 'infinity', link_mb_s float8 DEFAULT 'infinity',
	bus_mb_s float8 DEFAULT 'infinity', bus_passes float8 DEFAULT 5,
	OUT component text, OUT utilisation float8, OUT worst_delay_ms float8,
	OUT busiest boolean, OUT headroom float8, OUT verdict text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL RESTRICTED
BEGIN ATOMIC
	WITH frame AS (
		SELECT ecp_admit_extents(fps, frame_bytes, extent_bytes, max_utilisation, max_delay_ms,
			link_mb_s, bus_mb_s, bus_passes) AS extents
	), leaf AS (
		SELECT tablespace, pg_catalog.count(*) AS share FROM ecp_place_groups(parent) GROUP BY tablespace
	), part AS (
		SELECT pg_catalog.format('tablespace %s', leaf.tablespace) AS component,
			-- extents of a frame that lie in this tablespace
			frame.extents * share::float8 / (pg_catalog.sum(share) OVER ())::float8 AS extents,
			d.plateau_us, d.latency_us, d.read_mb_s, d.cached_mb_s
		FROM frame CROSS JOIN leaf LEFT JOIN ecp_storage.ecp_device AS d ON d.tablespace OPERATOR(pg_catalog.=) leaf.tablespace
	), shared AS (
		-- resources that every byte passes through, once or several times
		SELECT 'copy out of the page cache' AS component, pg_catalog.min(cached_mb_s) AS mb_s, 1::float8 AS passes FROM part
		UNION ALL
		SELECT 'link', link_mb_s, 1::float8 WHERE link_mb_s < 'infinity'
		UNION ALL
		SELECT 'bus', bus_mb_s, bus_passes WHERE bus_mb_s < 'infinity'
	), load AS (
		SELECT component,
			ecp_stream_utilisation(fps, extents * extent_bytes, extents, 1, latency_us / 1000::float8, read_mb_s) AS utilisation,
			-- worst case: requests of all streams at the same moment
			pg_catalog.cardinality(fps)::float8 * pg_catalog.ceil(extents)
				* (latency_us / 1000::float8 + extent_bytes / read_mb_s / 1000::float8) AS worst_delay_ms
		FROM part
		UNION ALL
		SELECT component,
			ecp_stream_utilisation(fps, frame_bytes, 1, 1, 0, mb_s, passes),
			pg_catalog.cardinality(fps)::float8 * passes * frame_bytes / mb_s / 1000::float8
		FROM shared
	), total AS (
		SELECT pg_catalog.max(load.utilisation) AS most, pg_catalog.max(load.worst_delay_ms) AS delay,
			pg_catalog.bool_or(load.utilisation IS NULL) AS unknown
		FROM load
	), named AS (
		SELECT total.*,
			(SELECT load.component FROM load WHERE load.utilisation = total.most ORDER BY 1 LIMIT 1) AS busiest,
			(SELECT load.component FROM load WHERE load.worst_delay_ms = total.delay ORDER BY 1 LIMIT 1) AS slowest
		FROM total
	)
	SELECT load.component, load.utilisation, load.worst_delay_ms, load.utilisation = named.most,
		max_utilisation / nullif(load.utilisation, 0::float8),
		CASE WHEN named.unknown THEN 'not known: calibrate all tablespaces'
			WHEN named.most > max_utilisation THEN 'reject: utilisation of ' || named.busiest
			WHEN named.delay > max_delay_ms THEN 'reject: delay of ' || named.slowest
			ELSE 'accept' END
	FROM load, named
	ORDER BY load.utilisation DESC NULLS FIRST, load.component;
END;
COMMENT ON FUNCTION ecp_admit(regclass, float8[], float8, float8, float8, float8, float8, float8, float8) IS 'whether the tablespaces of a striped table, and a link and a bus if given, can serve these streams: utilisation, worst delay, busiest component, headroom as a multiple of the load, verdict';

CREATE FUNCTION ecp_stripe(coordinates integer[], devices integer)
RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT (pg_catalog.sum(c * coalesce(nullif(f, 0), (devices - 1)::bigint)) % devices::numeric + devices::numeric) % devices::numeric
	FROM (SELECT c::bigint AS c,
			pg_catalog.ceil(pg_catalog.power(pg_catalog.ceil(pg_catalog.power(devices::float8,
				1::float8 / pg_catalog.cardinality(coordinates)::float8) - 1e-9::float8), n - 1))::bigint % devices::bigint AS f
		FROM pg_catalog.unnest(coordinates) WITH ORDINALITY AS u(c, n)) AS v);
COMMENT ON FUNCTION ecp_stripe(integer[], integer) IS 'device of an extent; neighbours in one, two or three dimensions are on different devices';

CREATE FUNCTION ecp_stripe_ddl(relname text, tablespaces name[], dimensions integer DEFAULT 1, method name DEFAULT 'betree')
RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	parts name[] := parse_ident(relname);
	ours CONSTANT name := (SELECT n.nspname FROM pg_extension AS e JOIN pg_namespace AS n ON n.oid = e.extnamespace
		WHERE e.extname = 'ecp_storage');
	axes CONSTANT text := ('{ext,"x, y","x, y, z"}'::text[])[dimensions];
	device CONSTANT integer := cardinality(tablespaces);
	prefix text := '';
BEGIN
	IF axes IS NULL THEN
		RAISE 'number of dimensions must be from 1 to 3' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	PERFORM ecp_storage._ecp_check_tablespaces(tablespaces, 64);
	IF cardinality(parts) = 3 AND parts[1] = current_database() THEN
		parts := parts[2:];
	END IF;
	IF cardinality(parts) > 2 THEN
		RAISE 'improper qualified name (too many dotted names): %', relname USING ERRCODE = 'syntax_error';
	END IF;
	IF cardinality(parts) = 2 THEN
		prefix := format('%I.', parts[1]);
		parts := parts[2:];
	END IF;
	-- indexes created on the parent would all be in the default tablespace
	RETURN format(E'CREATE TABLE %1$s%2$I (stream integer NOT NULL, t timestamptz NOT NULL, %3$s, data bytea)\n'
		'\tPARTITION BY LIST ((%4$I.ecp_stripe(ARRAY[%5$s], %6$s)));\n'
		'ALTER TABLE %1$s%2$I ALTER data SET STORAGE EXTERNAL;',
		prefix, parts[1], regexp_replace(axes, '(\w+)', '\1 integer NOT NULL', 'g'), ours, axes, device)
		|| (SELECT string_agg(format(E'\nCREATE TABLE %1$s%2$I PARTITION OF %1$s%3$I FOR VALUES IN (%4$s) TABLESPACE %5$I;',
				prefix, ecp_storage._ecp_object_name(parts[1], '_' || n - 1), parts[1], n - 1, t), '' ORDER BY n)
			|| string_agg(format(E'\nCREATE INDEX ON %s%I USING %I (stream, t, %s) TABLESPACE %I;',
				prefix, ecp_storage._ecp_object_name(parts[1], '_' || n - 1), method, axes, t), '' ORDER BY n)
			FROM unnest(tablespaces) WITH ORDINALITY AS u(t, n));
END $$;
COMMENT ON FUNCTION ecp_stripe_ddl(text, name[], integer, name) IS 'statements that create a table striped over tablespaces by partitions';

CREATE FUNCTION ecp_stream_bench(parent regclass, fps float8[], time_slice float8 DEFAULT 1,
	slices integer DEFAULT 10, harmonise boolean DEFAULT false,
	OUT stream integer, OUT frames integer, OUT mean_ms float8, OUT p50_ms float8, OUT p95_ms float8,
	OUT p99_ms float8, OUT max_ms float8, OUT jitter_ms float8, OUT late integer,
	OUT utilisation float8, OUT cpd_ms float8[])
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION ecp_stream_bench(regclass, float8[], float8, integer, boolean) IS 'delays of streams played from a striped table, with a worker for each of its tablespaces';
REVOKE ALL ON FUNCTION ecp_stream_bench(regclass, float8[], float8, integer, boolean) FROM PUBLIC;

CREATE FUNCTION ecp_read_window(parent regclass, stream integer, t timestamptz, x integer, y integer,
	width integer, height integer, extent_width integer, extent_height integer,
	pixel_bytes integer DEFAULT 1, reduce integer DEFAULT 1, z integer DEFAULT 0, extent_depth integer DEFAULT 1,
	OUT columns integer, OUT lines integer, OUT pixels bytea, OUT extents bigint,
	OUT bytes_read bigint, OUT workers integer)
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION ecp_read_window(regclass, integer, timestamptz, integer, integer, integer, integer, integer, integer, integer, integer, integer, integer) IS 'window of an image striped by ecp_stripe_ddl() in two dimensions, or of plane z of one striped in three, read and reduced by a worker for each tablespace';

-- ======================================================================
-- models: what the documents compute and compare, on figures and on devices
-- ======================================================================

-- No setting and no advice follows from these.

CREATE SCHEMA ecp_models;
COMMENT ON SCHEMA ecp_models IS 'models and microbenchmarks of the documents that ecp implements';
GRANT USAGE ON SCHEMA ecp_models TO PUBLIC;

CREATE FUNCTION ecp_models.ecp_place_assign(weights float8[], speeds float8[], strategy text DEFAULT 'lpt',
	capacities float8[] DEFAULT NULL, current integer[] DEFAULT NULL,
	factor float8 DEFAULT 1.05, seed bigint DEFAULT 0, bytes float8[] DEFAULT NULL, names text[] DEFAULT NULL)
RETURNS integer[]
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_models.ecp_place_assign(float8[], float8[], text, float8[], integer[], float8, bigint, float8[], text[]) IS 'number of the target that a strategy assigns to each weight; bytes, if they are not the weights, count against capacities, and names are for messages';

CREATE FUNCTION ecp_models.ecp_place_makespan(weights float8[], speeds float8[], targets integer[])
RETURNS float8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ecp_models.ecp_place_makespan(float8[], float8[], integer[]) IS 'time at which the last target finishes';

CREATE FUNCTION ecp_models.ecp_place_bound(weights float8[], speeds float8[])
RETURNS float8
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ecp_models.ecp_place_bound(float8[], float8[]) IS 'lower bound of the makespan of any assignment';

CREATE FUNCTION ecp_models.ecp_build_model(vectors float8, record_bytes float8, clusters float8,
	raw float8[], temp float8[], final float8[], temp_apart boolean DEFAULT false,
	in_buff float8 DEFAULT 134217728, dirty float8 DEFAULT 1717986918,
	cpu_assign_s float8 DEFAULT 0, cpu_merge_s float8 DEFAULT 0,
	OUT policy text, OUT assign_wait_s float8, OUT merge_wait_s float8, OUT total_s float8,
	OUT appends float8, OUT writes float8, OUT runs float8)
RETURNS SETOF record
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS 2
BEGIN ATOMIC
	SELECT * FROM ecp_storage._ecp_build_model(vectors, record_bytes, 0, clusters,
		raw, temp, final, NOT temp_apart, NOT temp_apart, in_buff, 0, dirty, cpu_assign_s, cpu_merge_s);
END;
COMMENT ON FUNCTION ecp_models.ecp_build_model(float8, float8, float8, float8[], float8[], float8[], boolean, float8, float8, float8, float8) IS 'seconds of a build with both policies on devices given as {latency ms, read MB/s, write MB/s, small writes/s}';

-- Least squares of the errors relative to the delays.  A negative latency or throughput
-- has no meaning: the line is then put through the origin.

CREATE FUNCTION ecp_models.ecp_delay_fit(sizes float8[], delays_us float8[],
	OUT latency_us float8, OUT mb_s float8, OUT r2 float8, OUT half_bandwidth float8)
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	s record;					-- weighted sums
	slope float8 := 0;
BEGIN
	IF cardinality(sizes) <> cardinality(delays_us) OR cardinality(sizes) < 2 THEN
		RAISE 'as many sizes as delays must be given, and at least two' USING ERRCODE = 'array_subscript_error';
	END IF;
	IF EXISTS (SELECT FROM unnest(sizes || delays_us) AS n WHERE n IS NULL OR n <= 0 OR n = 'NaN') THEN
		RAISE 'sizes and delays must be positive' USING ERRCODE = 'invalid_parameter_value';
	END IF;
	SELECT sum(w) AS w, sum(w * x) AS x, sum(w * y) AS y, sum(w * x * x) AS xx, sum(w * x * y) AS xy INTO s
	FROM (SELECT x, y, 1 / (y * y) AS w FROM unnest(sizes, delays_us) AS u(x, y)) AS v;
	IF s.w * s.xx > s.x * s.x THEN
		slope := (s.w * s.xy - s.x * s.y) / (s.w * s.xx - s.x * s.x);
		latency_us := (s.y - slope * s.x) / s.w;
	END IF;
	IF slope <= 0 OR latency_us < 0 THEN
		slope := s.xy / s.xx;
		latency_us := 0;
	END IF;
	mb_s := 1 / slope;
	r2 := (SELECT coalesce(1 - sum((1 - (latency_us + slope * x) / y) ^ 2) / nullif(sum((1 - s.y / s.w / y) ^ 2), 0), 0)
		FROM unnest(sizes, delays_us) AS u(x, y));
	IF NOT (latency_us < 'infinity' AND mb_s < 'infinity' AND abs(r2) < 'infinity') THEN
		RAISE 'sizes or delays are out of range' USING ERRCODE = 'numeric_value_out_of_range';
	END IF;
	half_bandwidth := latency_us * mb_s;
END $$;
COMMENT ON FUNCTION ecp_models.ecp_delay_fit(float8[], float8[]) IS 'the line delay = latency + size / throughput through measured delays';

CREATE FUNCTION ecp_models.ecp_bench(tablespace name, tests text[] DEFAULT '{block,knn,sort,search}',
	workers integer[] DEFAULT '{1,2,4,8}', file_bytes bigint DEFAULT 67108864,
	seconds float8 DEFAULT 0.25, inputs integer[] DEFAULT '{1,4,16,64}', k integer DEFAULT 10,
	buffer_bytes bigint DEFAULT 8388608,
	OUT test text, OUT variant text, OUT processes integer, OUT size bigint,
	OUT wall_s float8, OUT mb_s float8, OUT us_per_op float8, OUT check_value float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION ecp_models.ecp_bench(name, text[], integer[], bigint, float8, integer[], integer, bigint) IS 'four microbenchmarks on a tablespace by number of workers: block transfer, nearest neighbours, external sort, binary search';
REVOKE ALL ON FUNCTION ecp_models.ecp_bench(name, text[], integer[], bigint, float8, integer[], integer, bigint) FROM PUBLIC;

CREATE FUNCTION ecp_models.ecp_memory_bench(seconds float8 DEFAULT 0.1, OUT test text, OUT mb_s float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION ecp_models.ecp_memory_bench(float8) IS 'memory throughput of initialising, copying and shuffling local and shared memory';
REVOKE ALL ON FUNCTION ecp_models.ecp_memory_bench(float8) FROM PUBLIC;

CREATE FUNCTION ecp_models.ecp_stream_simulate(fps float8[], latency_ms float8, mb_s float8, devices integer DEFAULT 8,
	extents integer DEFAULT 8, extent_bytes integer DEFAULT 50000, time_slice float8 DEFAULT 1,
	slices integer DEFAULT 1000, harmonise boolean DEFAULT false,
	OUT stream integer, OUT frames integer, OUT mean_ms float8, OUT p50_ms float8, OUT p95_ms float8,
	OUT p99_ms float8, OUT max_ms float8, OUT jitter_ms float8, OUT late integer,
	OUT utilisation float8, OUT cpd_ms float8[])
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ecp_models.ecp_stream_simulate(float8[], float8, float8, integer, integer, integer, float8, integer, boolean) IS 'delays of streams on devices of a given latency and throughput';

CREATE FUNCTION ecp_models.ecp_stream_bench_files(tablespaces name[], fps float8[], extents integer DEFAULT 8,
	extent_bytes integer DEFAULT 50000, time_slice float8 DEFAULT 1, slices integer DEFAULT 10,
	harmonise boolean DEFAULT false, file_bytes bigint DEFAULT 67108864,
	OUT stream integer, OUT frames integer, OUT mean_ms float8, OUT p50_ms float8, OUT p95_ms float8,
	OUT p99_ms float8, OUT max_ms float8, OUT jitter_ms float8, OUT late integer,
	OUT utilisation float8, OUT cpd_ms float8[])
RETURNS SETOF record
AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION ecp_models.ecp_stream_bench_files(name[], float8[], integer, integer, float8, integer, boolean, bigint) IS 'delays of streams read from files in these tablespaces, with a worker for each';
REVOKE ALL ON FUNCTION ecp_models.ecp_stream_bench_files(name[], float8[], integer, integer, float8, integer, boolean, bigint) FROM PUBLIC;
