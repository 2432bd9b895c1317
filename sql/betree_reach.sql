--
-- What PostgreSQL does with a unique betree, where it asks for a unique index:
-- the table of doc/betree.md, "Unique indexes", line by line.  The outputs
-- betree_reach*.out are of 15 to 17, of 18, and of 19.
--
CREATE TABLE parent (id int NOT NULL, v int, t text);
CREATE UNIQUE INDEX parent_id ON parent USING betree (id);
REINDEX INDEX parent_id;
\set VERBOSITY terse
SET client_min_messages = warning;

-- "works", or the error of a statement
CREATE FUNCTION outcome(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'works';
EXCEPTION WHEN OTHERS THEN
	RETURN format('%s: %s', SQLSTATE, SQLERRM);
END $$;

INSERT INTO parent SELECT g, 0, 'row ' || g FROM generate_series(1, 1000) g;

-- foreign keys
SELECT outcome('CREATE TABLE child (id int REFERENCES parent (id) ON DELETE CASCADE)');
CREATE TABLE IF NOT EXISTS child (id int);
SELECT outcome('INSERT INTO child SELECT 1 + g % 1000 FROM generate_series(1, 2000) g');
SELECT outcome('INSERT INTO child VALUES (1001)');
SELECT outcome('UPDATE child SET id = 1002 WHERE id = 2');
SELECT outcome('UPDATE parent SET id = 2000 WHERE id = 1000');
DELETE FROM parent WHERE id <= 10;
SELECT count(*) FROM child WHERE id <= 10;
DROP TABLE child;

-- of another type, and of two columns in another order
CREATE TABLE parent2 (a int NOT NULL, b int8 NOT NULL);
CREATE UNIQUE INDEX parent2_ab ON parent2 USING betree (a, b);
INSERT INTO parent2 VALUES (1, 2);
SELECT outcome('CREATE TABLE child2 (x int8, y int4, FOREIGN KEY (x, y) REFERENCES parent2 (b, a))');
SELECT outcome('INSERT INTO child2 VALUES (2, 1)');
SELECT outcome('INSERT INTO child2 VALUES (1, 2)');
DROP TABLE IF EXISTS child2;
DROP TABLE parent2;

-- beside a primary key: the older index is taken, unless no column is named
CREATE TABLE after (id int PRIMARY KEY);
CREATE UNIQUE INDEX after_id ON after USING betree (id);
SELECT outcome('CREATE TABLE child (id int REFERENCES after (id))');
DROP TABLE child;
CREATE TABLE before (id int NOT NULL);
CREATE UNIQUE INDEX before_id ON before USING betree (id);
ALTER TABLE before ADD PRIMARY KEY (id);
SELECT outcome('CREATE TABLE child (id int REFERENCES before)');
DROP TABLE child;
SELECT outcome('CREATE TABLE child (id int REFERENCES before (id))');
DROP TABLE IF EXISTS child;
REINDEX INDEX CONCURRENTLY before_id;
SELECT outcome('CREATE TABLE child (id int REFERENCES before (id))');
INSERT INTO before VALUES (1);
SELECT outcome('INSERT INTO child VALUES (1)');
SELECT outcome('INSERT INTO child VALUES (2)');
SELECT outcome('DELETE FROM before');
DROP TABLE child, before, after;

-- the unique index of a partitioned table
CREATE TABLE parted (a int, b int) PARTITION BY RANGE (a);
CREATE TABLE parted1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
SELECT outcome('CREATE UNIQUE INDEX parted_b ON parted USING betree (b)');
SELECT outcome('CREATE UNIQUE INDEX parted_ab ON parted USING betree (a, b)');
CREATE TABLE parted2 (a int, b int);
CREATE UNIQUE INDEX parted2_ab ON parted2 USING betree (a, b);
ALTER TABLE parted ATTACH PARTITION parted2 FOR VALUES FROM (10) TO (20);
INSERT INTO parted VALUES (1, 1), (11, 1);
SELECT outcome('INSERT INTO parted VALUES (1, 1)');
SELECT outcome('INSERT INTO parted VALUES (11, 1)');
SELECT outcome('CREATE TABLE child (a int, b int, FOREIGN KEY (a, b) REFERENCES parted (a, b))');
SELECT outcome('INSERT INTO child VALUES (11, 1)');
SELECT outcome('INSERT INTO child VALUES (11, 2)');
DROP TABLE IF EXISTS child;
DROP TABLE parted;
-- one that is not unique
CREATE TABLE parted (a int, b int) PARTITION BY RANGE (a);
SELECT outcome('CREATE INDEX parted_a ON parted USING betree (a)');
DROP TABLE parted;

-- materialized views
CREATE MATERIALIZED VIEW view AS SELECT id, v FROM parent;
CREATE UNIQUE INDEX view_id ON view USING betree (id);
DELETE FROM parent WHERE id <= 20;
UPDATE parent SET v = 1 WHERE id <= 30;
SELECT outcome('REFRESH MATERIALIZED VIEW CONCURRENTLY view');
SELECT betree_index_check('view_id', true);
CREATE UNIQUE INDEX view_btree ON view (id);
SELECT outcome('REFRESH MATERIALIZED VIEW CONCURRENTLY view');
SELECT count(*), sum(v) FROM view;
SELECT betree_index_check('view_id', true);
DROP MATERIALIZED VIEW view;

-- the planner: a join that finds one row, and a column that others determine
CREATE TABLE other (id int, v int);
EXPLAIN (COSTS OFF) SELECT other.* FROM other LEFT JOIN parent ON parent.id = other.id;
EXPLAIN (COSTS OFF) SELECT id, v FROM parent GROUP BY id, v;
DROP TABLE other;

-- ON CONFLICT: each kind of target and action
CREATE TABLE upsert (id int, k text, live boolean, v int);
CREATE UNIQUE INDEX upsert_id ON upsert USING betree (id);
SELECT outcome('INSERT INTO upsert VALUES (1, ''a'', true, 0) ON CONFLICT DO NOTHING');
SELECT outcome('INSERT INTO upsert VALUES (1, ''b'', true, 0) ON CONFLICT (id) DO NOTHING');
SELECT outcome('INSERT INTO upsert SELECT g, ''b'', true, 0 FROM generate_series(1, 1000) g
	ON CONFLICT (id) DO UPDATE SET v = upsert.v + 1');
SELECT outcome('INSERT INTO upsert VALUES (5, ''x'', true, 0), (5, ''x'', true, 0)
	ON CONFLICT (id) DO UPDATE SET v = 7');
SELECT count(*), sum(v) FROM upsert;
DROP INDEX upsert_id;
CREATE UNIQUE INDEX upsert_k ON upsert USING betree (lower(k), id) WHERE live;
SELECT outcome('INSERT INTO upsert VALUES (1, ''A'', true, 0)
	ON CONFLICT (lower(k), id) WHERE live DO UPDATE SET v = 100');
SELECT outcome('INSERT INTO upsert VALUES (1, ''A'', true, 0)
	ON CONFLICT (lower(k), id) WHERE live AND id > 0 DO UPDATE SET v = 100');
SELECT outcome('INSERT INTO upsert VALUES (1, ''A'', true, 0) ON CONFLICT (id) DO NOTHING');
SELECT outcome('INSERT INTO upsert VALUES (1, ''A'', true, 0) ON CONFLICT (lower(k), id) DO NOTHING');
-- an operator class is one of btree
SELECT outcome('INSERT INTO upsert VALUES (1, ''A'', true, 0)
	ON CONFLICT (lower(k) text_ops, id) WHERE live DO NOTHING');
-- by the primary key
ALTER TABLE upsert ADD n int GENERATED ALWAYS AS IDENTITY PRIMARY KEY;
SELECT outcome('INSERT INTO upsert OVERRIDING SYSTEM VALUE VALUES (1, ''A'', false, 0, 1)
	ON CONFLICT ON CONSTRAINT upsert_pkey DO UPDATE SET v = 1000');
SELECT betree_index_check('upsert_k', true);
SELECT v, count(*) FROM upsert GROUP BY v ORDER BY v;
-- the way out: an exclusion constraint
CREATE TABLE excluded (id int, EXCLUDE USING betree (id WITH =));
SELECT outcome('INSERT INTO excluded VALUES (1), (1)');
SELECT outcome('INSERT INTO excluded VALUES (1), (2), (1) ON CONFLICT DO NOTHING');
SELECT outcome('INSERT INTO excluded VALUES (1) ON CONFLICT ON CONSTRAINT excluded_id_excl DO NOTHING');
SELECT outcome('INSERT INTO excluded VALUES (1) ON CONFLICT (id) DO NOTHING');
SELECT outcome('INSERT INTO excluded VALUES (1) ON CONFLICT ON CONSTRAINT excluded_id_excl DO UPDATE SET id = 3');
SELECT id FROM excluded ORDER BY id;
SELECT betree_index_check('excluded_id_excl', true);
DROP TABLE upsert, excluded;

-- MERGE
MERGE INTO parent USING (VALUES (30, 5), (2001, 6)) AS s (id, v) ON parent.id = s.id
	WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v);
SELECT id, v FROM parent WHERE v > 4 ORDER BY id;
SELECT outcome('MERGE INTO parent USING (VALUES (1), (1)) AS s (id) ON parent.id = s.id
	WHEN NOT MATCHED THEN INSERT VALUES (s.id)');

-- constraints that are made of an index
SELECT outcome('ALTER TABLE parent ADD PRIMARY KEY USING INDEX parent_id');
SELECT outcome('ALTER TABLE parent ADD UNIQUE USING INDEX parent_id');

-- the identity of rows, the order of the table, a copy of the definition
SELECT outcome('ALTER TABLE parent REPLICA IDENTITY USING INDEX parent_id');
UPDATE parent SET id = 5000 - id;
SELECT outcome('CLUSTER parent USING parent_id');
SELECT bool_and(id > before) FROM (SELECT id, lag(id) OVER (ORDER BY ctid) AS before FROM parent) p;
SELECT outcome('CREATE TABLE alike (LIKE parent INCLUDING INDEXES)');
SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 'alike'::regclass;
SELECT betree_index_check('parent_id', true);
DROP TABLE parent, alike;
DROP FUNCTION outcome;
