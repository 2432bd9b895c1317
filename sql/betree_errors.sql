--
-- betree: what is refused, and what an error leaves behind
--

CREATE TABLE bt_errors (k int4, t text);

-- not unique; EXCLUDE does
CREATE UNIQUE INDEX ON bt_errors USING betree (k);
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
CREATE INDEX bt_poison_k ON bt_poison USING betree (k bt_errors_ops) WITH (buffer_pages = 2);
INSERT INTO bt_poison SELECT g * 7 % 5003 FROM generate_series(1, 5002) g;
SELECT betree_flush('bt_poison_k');
INSERT INTO bt_poison VALUES (2500), (2501);
SET bt.poison = 'on';
SELECT betree_flush('bt_poison_k');
SET bt.poison = 'off';
SELECT betree_index_check('bt_poison_k', true);
SELECT betree_flush('bt_poison_k');
SELECT betree_index_check('bt_poison_k', true);
SELECT buffered FROM betree_index_stats('bt_poison_k');

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
