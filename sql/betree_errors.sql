--
-- betree: what is refused, and what an error leaves behind
--
-- few rows are held back, so that logs take them
SET work_mem = '64kB';

CREATE TABLE bt_errors (k int4, t text);

-- EXCLUDE
ALTER TABLE bt_errors ADD CONSTRAINT bt_errors_x EXCLUDE USING betree (k WITH =);
INSERT INTO bt_errors SELECT g FROM generate_series(1, 5000) g;
INSERT INTO bt_errors VALUES (4711);
INSERT INTO bt_errors VALUES (4711) ON CONFLICT DO NOTHING;
INSERT INTO bt_errors VALUES (NULL), (NULL);
SELECT count(*) FROM bt_errors;
SELECT betree_index_check('bt_errors_x', true);
ALTER TABLE bt_errors DROP CONSTRAINT bt_errors_x;

-- the largest tuple
\set VERBOSITY terse
ALTER TABLE bt_errors ALTER t SET STORAGE EXTERNAL;
CREATE INDEX bt_errors_t ON bt_errors USING betree (t);
INSERT INTO bt_errors SELECT g, repeat(chr(97 + g % 26), 1200) || g FROM generate_series(1, 200) g;
INSERT INTO bt_errors SELECT g, repeat('same', 300) FROM generate_series(1, 200) g;
SELECT betree_flush('bt_errors_t');
SELECT betree_index_check('bt_errors_t', true);
INSERT INTO bt_errors VALUES (0, repeat('x', 2000));
SELECT betree_index_check('bt_errors_t', true);

-- a comparison that throws in the middle of a flush: nothing is lost,
-- nothing stays locked, and others go on
CREATE FUNCTION bt_errors_cmp(a int4, b int4) RETURNS int4
LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
	IF current_setting('bt.poison', true) = 'on' AND (a = 2500 OR b = 2500) THEN
		RAISE EXCEPTION 'poison';
	END IF;
	RETURN btint4cmp(a, b);
END $$;
CREATE OPERATOR CLASS bt_errors_ops FOR TYPE int4 USING betree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 bt_errors_cmp(int4, int4);
CREATE TABLE bt_poison (k int4);
CREATE INDEX bt_poison_k ON bt_poison USING betree (k bt_errors_ops) WITH (log_pages = 2);
INSERT INTO bt_poison SELECT g * 7 % 5003 FROM generate_series(1, 5002) g;
SELECT betree_flush('bt_poison_k');
INSERT INTO bt_poison VALUES (2500), (2501);
SET bt.poison = 'on';
SELECT betree_flush('bt_poison_k');
SET bt.poison = 'off';
SELECT betree_index_check('bt_poison_k', true);
SELECT betree_flush('bt_poison_k');
SELECT betree_index_check('bt_poison_k', true);
SELECT messages_in_logs FROM betree_index_stats('bt_poison_k');

-- a comparison that comes back to its own index: an error, where it would
-- wait for the lock that its own backend holds
CREATE FUNCTION bt_reenter_cmp(a int8, b int8) RETURNS int4
LANGUAGE plpgsql STRICT AS $$
DECLARE
	action text := current_setting('bt.action', true);
BEGIN
	-- once, lest the comparisons of the action act
	PERFORM set_config('bt.action', '', true);
	IF action <> '' THEN
		EXECUTE action;
	END IF;
	RETURN btint8cmp(a, b);
END $$;
CREATE OPERATOR CLASS bt_reenter_ops FOR TYPE int8 USING betree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 bt_reenter_cmp(int8, int8);
CREATE TABLE bt_reenter (k int8);
CREATE TABLE bt_other (k int8);
CREATE TEMP TABLE bt_temp (k int8);
CREATE INDEX bt_reenter_k ON bt_reenter USING betree (k bt_reenter_ops) WITH (log_pages = 0);
CREATE INDEX bt_other_k ON bt_other USING betree (k);
CREATE INDEX bt_temp_k ON bt_temp USING betree (k bt_reenter_ops) WITH (log_pages = 0);
INSERT INTO bt_reenter SELECT generate_series(1, 1000);
INSERT INTO bt_temp SELECT generate_series(1, 1000);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT k FROM bt_reenter WHERE k = 7;
SET bt.action = 'INSERT INTO public.bt_reenter VALUES (-1)';
INSERT INTO bt_reenter VALUES (500);
SELECT k FROM bt_reenter WHERE k = 7;
SELECT betree_flush('bt_reenter_k');
SELECT betree_index_check('bt_reenter_k');
SELECT messages_in_logs FROM betree_index_stats('bt_reenter_k');
VACUUM bt_reenter;
ALTER INDEX bt_reenter_k SET (log_pages = 4);
INSERT INTO bt_reenter SELECT generate_series(1001, 2000);
SET bt.action = 'SELECT FROM bt_reenter WHERE k = 8';
SELECT k FROM bt_reenter WHERE k = 7;
SET bt.action = 'INSERT INTO bt_temp VALUES (-1)';
INSERT INTO bt_temp VALUES (500);
-- another index is another matter
SET bt.action = 'INSERT INTO bt_other VALUES (-1)';
SELECT k FROM bt_reenter WHERE k = 7;
-- after an error, also a caught one, all is as before
DO $$
BEGIN
	SET LOCAL bt.action = 'INSERT INTO bt_reenter VALUES (-1)';
	PERFORM k FROM bt_reenter WHERE k = 7;
EXCEPTION WHEN object_in_use THEN
	PERFORM set_config('bt.action', '', true);
	INSERT INTO bt_reenter VALUES (-2);
END $$;
SET bt.action = '';
SELECT k FROM bt_reenter WHERE k < 1;
SELECT count(*) FROM bt_temp;
SELECT betree_index_check('bt_reenter_k', true), betree_index_check('bt_temp_k', true);
RESET ALL;
DROP TABLE bt_reenter, bt_other, bt_temp;
DROP OPERATOR FAMILY bt_reenter_ops USING betree CASCADE;
DROP FUNCTION bt_reenter_cmp;

-- functions that want a betree index of one's own
SELECT betree_index_check('bt_errors');
SELECT betree_index_stats('pg_class_oid_index');
SELECT * FROM betree_node_info('bt_errors_t', -1);
SELECT * FROM betree_page_items('bt_errors_t', 1000000);
CREATE ROLE regress_betree;
SET ROLE regress_betree;
SELECT betree_index_check('bt_errors_t');
SELECT betree_flush('bt_errors_t');
RESET ROLE;
DROP ROLE regress_betree;
DROP TABLE bt_errors, bt_poison;
DROP OPERATOR FAMILY bt_errors_ops USING betree CASCADE;
DROP FUNCTION bt_errors_cmp;
