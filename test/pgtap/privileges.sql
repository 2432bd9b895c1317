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
	'ecp_recall(''private_v'')', 'ecp_maintain(''private_v'')',
	'ecp_knn_batch(''private_v'', ''{"\\x0102"}''::bytea[])',
	'ecp_knn_exact(''private_v'', ''{"\\x0102"}''::bytea[])',
	'betree_page_items(''private_k'', 1)', 'betree_node_info(''private_k'', 1)',
	'betree_flush(''private_k'')', 'betree_index_check(''private_k'')',
	'ecp_calibrate(''pg_default'')', 'ecp_bench(''pg_default'')',
	'ecp_stream_bench(''private'', ''{1}'')', 'ecp_stream_bench_files(''{pg_default}'', ''{1}'')',
	'ecp_read_window(''private_frames'', 1, ''epoch'', 0, 0, 1, 1, 1, 1)']) AS call;
SELECT lives_ok('SELECT * FROM ' || name, name || ' can be read')
FROM unnest(ARRAY['ecp_device', 'ecp_progress', 'ecp_place_targets', 'ecp_place_rules']) AS name;
SELECT throws_ok('DELETE FROM ' || name, '42501', NULL, name || ' cannot be changed')
FROM unnest(ARRAY['ecp_device', 'ecp_place_targets', 'ecp_place_rules']) AS name;
RESET ROLE;

SELECT * FROM finish();
ROLLBACK;
