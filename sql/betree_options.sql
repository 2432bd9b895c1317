--
-- betree: storage parameters, and what their change does to an index in use
--
-- few rows are held back, so that logs take them
SET work_mem = '64kB';

CREATE TABLE bt_options (k int8);
CREATE INDEX bt_options_i ON bt_options USING betree (k)
	WITH (log_pages = 4, log_levels = 2, fillfactor = 80, flush_budget = 3);
SELECT reloptions FROM pg_class WHERE relname = 'bt_options_i';
INSERT INTO bt_options SELECT (g * 7919) % 50021 FROM generate_series(1, 60000) g;
SELECT betree_index_check('bt_options_i', true);

-- a plain B-tree from now on, then buffers again, longer ones
ALTER INDEX bt_options_i SET (log_pages = 0);
INSERT INTO bt_options SELECT (g::int8 * 104729) % 50021 FROM generate_series(1, 20000) g;
SELECT betree_index_check('bt_options_i', true);
ALTER INDEX bt_options_i SET (log_pages = 64, log_levels = 16);
INSERT INTO bt_options SELECT (g::int8 * 104729) % 50021 FROM generate_series(1, 60000) g;
SELECT betree_index_check('bt_options_i', true);
ALTER INDEX bt_options_i RESET (log_pages, log_levels, flush_budget);
INSERT INTO bt_options SELECT (g::int8 * 104729) % 50021 FROM generate_series(1, 20000) g;
SELECT betree_flush('bt_options_i');
SELECT betree_index_check('bt_options_i', true);
SELECT messages_in_logs FROM betree_index_stats('bt_options_i');
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT count(*), sum(k) FROM bt_options WHERE k BETWEEN 1000 AND 2000;
RESET ALL;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SELECT count(*), sum(k) FROM bt_options WHERE k BETWEEN 1000 AND 2000;
RESET ALL;

-- out of range
CREATE INDEX ON bt_options USING betree (k) WITH (log_pages = 129);
CREATE INDEX ON bt_options USING betree (k) WITH (log_pages = -2);
CREATE INDEX ON bt_options USING betree (k) WITH (log_levels = 0);
CREATE INDEX ON bt_options USING betree (k) WITH (fillfactor = 9);
CREATE INDEX ON bt_options USING betree (k) WITH (flush_budget = -1);
CREATE INDEX ON bt_options USING betree (k) WITH (pages_per_range = 1);
DROP TABLE bt_options;
