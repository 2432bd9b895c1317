-- Who may call what: someone who may not read a table learns nothing of its
-- rows from its index, and does nothing to it.
BEGIN;
SELECT no_plan();

CREATE TABLE private (v bytea, k int);
CREATE INDEX private_v ON private USING ecp (v);
CREATE INDEX private_k ON private USING betree (k);
INSERT INTO private VALUES ('\x0102', 1);
CREATE TABLE private_frames (stream int, t timestamptz, x int, y int, data bytea);

CREATE ROLE ecp_privileges_stranger;
SET ROLE ecp_privileges_stranger;
SELECT throws_ok('SELECT * FROM ' || call, '42501', NULL,
	call || ' is not for everyone')
FROM unnest(ARRAY['ecp_index_check(''private_v'')',
	'ecp_clusters(''private_v'')',
	'ecp_page_items(''private_v'', 1)', 'ecp_metapage_info(''private_v'')',
	'ecp_recall(''private_v'')', 'ecp_maintain(''private_v'')', 'ecp_forecast(''private'', ''v'')',
	'ecp_knn_batch(''private_v'', ''{"\\x0102"}''::bytea[])',
	'ecp_knn_exact(''private_v'', ''{"\\x0102"}''::bytea[])',
	'ecp_knn_groups(''private_v'', ''\x0102''::bytea, ''v'')',
	'ecp_index_stats(''private_v'')', 'ecp_index_drift(''private_v'')',
	'ecp_build_report(''private_v'')',
	'ecp_misassigned(''private_v'')',
	'ecp_vote(''private_v'', ''SELECT NULL::bytea'', ''k'')',
	'betree_metapage_info(''private_k'')', 'betree_index_stats(''private_k'')',
	'betree_page_items(''private_k'', 1)', 'betree_node_info(''private_k'', 1)',
	'betree_flush(''private_k'')', 'betree_index_check(''private_k'')',
	'ecp_storage._ecp_calibrate(''pg_default'', 1, 1, 1, ''{1}'', ''{1}'', false)',
	'ecp_storage._ecp_calibrate_fill(''pg_default'', 1, 1)',
	'ecp_storage._ecp_calibrate_transfer(ROW(NULL, true, true, true, true, true, true, true, 1, 0, 0, 1, 1, 1, 1), 1, 1)', 'ecp_storage._ecp_place_free_bytes(1663)',
	'ecp_calibrate(''pg_default'')', 'ecp_models.ecp_bench(''pg_default'')', 'ecp_models.ecp_memory_bench()',
	'ecp_models.ecp_stream_bench_files(''{pg_default}'', ''{1}'')', 'ecp_stream_bench(''private'', ''{1}'')',
	'ecp_read_window(''private_frames'', 1, ''epoch'', 0, 0, 1, 1, 1, 1)']) AS call;
SELECT lives_ok('SELECT * FROM ' || name, name || ' can be read')
FROM unnest(ARRAY['ecp_storage.ecp_device', 'ecp_storage.ecp_place_targets', 'ecp_storage.ecp_place_rules']) AS name;
SELECT throws_ok('DELETE FROM ' || name, '42501', NULL, name || ' cannot be changed')
FROM unnest(ARRAY['ecp_storage.ecp_device', 'ecp_storage.ecp_place_targets', 'ecp_storage.ecp_place_rules']) AS name;
RESET ROLE;

-- Who may read a table sees figures of its indexes.  What is in their pages is
-- the owner's, since no policy of row security is asked for that.
CREATE ROLE ecp_privileges_reader;
GRANT SELECT ON private TO ecp_privileges_reader;
ALTER TABLE private ENABLE ROW LEVEL SECURITY;
SET ROLE ecp_privileges_reader;
SELECT lives_ok('SELECT * FROM ' || call, call || ' is for readers')
FROM unnest(ARRAY['ecp_index_stats(''private_v'')', 'ecp_index_drift(''private_v'')',
	'ecp_metapage_info(''private_v'')', 'ecp_build_report(''private_v'')',
	'ecp_misassigned(''private_v'')',
	'betree_metapage_info(''private_k'')',
	'betree_index_stats(''private_k'')']) AS call;
SELECT throws_ok('SELECT * FROM ' || call, '42501', 'must be owner of index '
	|| substring(call FROM 'private_.'), call || ' is not for readers')
FROM unnest(ARRAY['ecp_clusters(''private_v'')',
	'ecp_page_items(''private_v'', 1)', 'ecp_index_check(''private_v'')',
	'ecp_maintain(''private_v'')',
	'betree_page_items(''private_k'', 1)', 'betree_node_info(''private_k'', 1)',
	'betree_flush(''private_k'')', 'betree_index_check(''private_k'')']) AS call;
RESET ROLE;

-- The owner may do all this, and his functions get no more rights when a
-- superuser does it: those of index expressions run as the table's owner.
CREATE ROLE ecp_privileges_owner;
GRANT CREATE ON SCHEMA public TO ecp_privileges_owner;
CREATE FUNCTION ecp_privileges_same(anyelement) RETURNS anyelement
	LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF current_user <> 'ecp_privileges_owner' THEN
		RAISE EXCEPTION 'called by %', current_user;
	END IF;
	RETURN $1;
END $$;
CREATE TABLE lent (v bytea, k int);
ALTER TABLE lent OWNER TO ecp_privileges_owner;
SET ROLE ecp_privileges_owner;
INSERT INTO lent VALUES ('\x0102', 1), ('\x0103', 2);
CREATE INDEX lent_v ON lent USING ecp (ecp_privileges_same(v))
	WHERE ecp_privileges_same(k) > 0;
CREATE INDEX lent_k ON lent USING betree (ecp_privileges_same(k));
CREATE TEMPORARY VIEW care AS
SELECT * FROM unnest(ARRAY['ecp_index_check(''lent_v'', true)',
	'ecp_maintain(''lent_v'')', 'betree_flush(''lent_k'')',
	'betree_index_check(''lent_k'', true)',
	'ecp_recall(''lent_v'')', 'ecp_index_drift(''lent_v'')',
	'ecp_knn_exact(''lent_v'', ''{"\\x0102"}''::bytea[])',
	'ecp_knn_batch(''lent_v'', ''{"\\x0102"}''::bytea[])']) AS call;
SELECT lives_ok('SELECT * FROM ' || call, call || ' by the owner') FROM care;
RESET ROLE;
SELECT lives_ok('SELECT * FROM ' || call, call || ' by a superuser') FROM care;
SELECT is(current_user, session_user, 'who is himself again');

-- A query given as a text runs as the caller: it reads what only that role may read.
SELECT lives_ok('SELECT * FROM ' || call, call || ' runs the query as the caller')
FROM unnest(ARRAY['ecp_recall(''lent_v'', queries => ''SELECT v FROM private'')',
	'ecp_knn_exact(''lent_v'', ''SELECT v FROM private''::text)',
	'ecp_knn_batch(''lent_v'', ''SELECT v FROM private''::text)']) AS call;

-- Policies are asked as the caller, and only then what is indexed of the rows
-- that they let through is computed, as the owner.
GRANT SELECT ON lent TO ecp_privileges_reader;
ALTER TABLE lent ENABLE ROW LEVEL SECURITY;
CREATE POLICY one ON lent USING (k = 1 AND current_user = 'ecp_privileges_reader');
SET ROLE ecp_privileges_reader;
SELECT is(found, 1, call || ' returns what policies let through')
FROM (SELECT 'ecp_knn_exact' AS call, count(*)::int AS found
	FROM ecp_knn_exact('lent_v', '{"\\x0102"}'::bytea[])) AS calls;
-- A batch is a query of the caller, which calls functions of superusers as such.
SELECT throws_ok($$SELECT * FROM ecp_knn_batch('lent_v', '{"\\x0102"}'::bytea[])$$,
	'called by ecp_privileges_reader', 'a batch computes what is indexed as the caller does');
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
