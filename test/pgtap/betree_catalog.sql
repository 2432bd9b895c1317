-- The operator classes of betree are those of btree: same name, type, default
-- and operators, so that a query which can use the one index can use the
-- other; and betree_adopt() makes the same of a class that core does not have.
BEGIN;
SELECT no_plan();

CREATE TEMPORARY VIEW classes AS
SELECT amname, opcname, opcintype::regtype AS type, opcdefault, opfname, c.oid
FROM pg_opclass c
	JOIN pg_am a ON a.oid = c.opcmethod
	JOIN pg_opfamily f ON f.oid = c.opcfamily
WHERE opcnamespace = 'pg_catalog'::regnamespace OR amname = 'betree';

SELECT set_eq(
	$$ SELECT opcname, type, opcdefault, opfname FROM classes
	   WHERE amname = 'betree' AND opcname <> 'point_zorder_ops' $$,
	$$ SELECT opcname, type, opcdefault, opfname FROM classes
	   WHERE amname = 'btree' $$,
	'betree has every btree operator class of core');

CREATE TEMPORARY VIEW operators AS
SELECT amname, opfname, amoplefttype::regtype AS l, amoprighttype::regtype AS r,
	amopstrategy, amopopr::regoperator AS operator
FROM pg_amop o
	JOIN pg_am a ON a.oid = o.amopmethod
	JOIN pg_opfamily f ON f.oid = o.amopfamily;

SELECT set_eq(
	$$ SELECT opfname, l, r, amopstrategy, operator FROM operators
	   WHERE amname = 'betree' AND opfname <> 'point_zorder_ops' $$,
	$$ SELECT opfname, l, r, amopstrategy, operator FROM operators
	   WHERE amname = 'btree' AND opfname <> 'point_zorder_ops' $$,
	'operators are those of btree, cross-type ones included');
SELECT set_eq(
	$$ SELECT amopstrategy, operator FROM operators
	   WHERE amname = 'betree' AND opfname = 'point_zorder_ops'
	     AND amopstrategy <= 5 $$,
	$$ SELECT amopstrategy, operator FROM operators
	   WHERE amname = 'btree' AND opfname = 'point_zorder_ops' $$,
	'the planner can find the order of point_zorder_ops in btree');

CREATE TEMPORARY VIEW support AS
SELECT amname, opfname, amproclefttype::regtype AS l,
	amprocrighttype::regtype AS r, amprocnum, amproc
FROM pg_amproc p
	JOIN pg_opfamily f ON f.oid = p.amprocfamily
	JOIN pg_am a ON a.oid = f.opfmethod;

SELECT set_eq(
	$$ SELECT opfname, l, r, amprocnum, amproc FROM support
	   WHERE amname = 'betree' AND opfname <> 'point_zorder_ops' $$,
	$$ SELECT opfname, l, r, amprocnum, amproc FROM support
	   WHERE amname = 'btree' AND opfname <> 'point_zorder_ops'
	     AND amprocnum IN (1, 2, 4)
	     -- of PostgreSQL 18 on
	     AND amproc::text <> 'range_sortsupport'
	     -- which 19 took away, as equal values may differ in their bytes
	     AND NOT (amprocnum = 4 AND opfname IN
			('bpchar_ops', 'bpchar_pattern_ops', 'oidvector_ops')) $$,
	'support functions 1, 2 and 4 are those of btree');
SELECT is_empty(
	$$ SELECT * FROM classes
	   WHERE amname = 'btree' AND type = 'point'::regtype AND opcdefault $$,
	'ORDER BY a point column is still refused');

-- validation complains, and says what about
CREATE OPERATOR FAMILY half USING betree;
CREATE OPERATOR CLASS half FOR TYPE int8 USING betree FAMILY half AS
	OPERATOR 1 <, FUNCTION 1 btint8cmp(int8, int8);
SELECT ok(NOT amvalidate(oid), 'a class without all operators is not valid')
FROM pg_opclass WHERE opcname = 'half';
CREATE OPERATOR FAMILY odd USING betree;
CREATE OPERATOR CLASS odd FOR TYPE point USING betree FAMILY odd AS
	OPERATOR 1 #<#, OPERATOR 2 #<=#, OPERATOR 3 #=#, OPERATOR 4 #>=#,
	OPERATOR 5 #>#, OPERATOR 10 <@ (point, box),
	FUNCTION 1 betree_point_cmp(point, point);
SELECT ok(NOT amvalidate(oid), 'a qual needs support function 7')
FROM pg_opclass WHERE opcname = 'odd';

-- betree_adopt, on a type of a quoted name in a quoted schema whose class has
-- cross-type members
CREATE SCHEMA "Odd ""schema";
SET LOCAL search_path = "Odd ""schema", public;
CREATE TYPE "Odd 'pair" AS (a int8, b text);
CREATE FUNCTION "cmp pair"("Odd 'pair", "Odd 'pair") RETURNS int
	IMMUTABLE STRICT LANGUAGE sql RETURN btrecordcmp($1, $2);
CREATE FUNCTION "cmp cross"("Odd 'pair", int8) RETURNS int
	IMMUTABLE STRICT LANGUAGE sql RETURN btint8cmp(($1).a, $2);
CREATE FUNCTION "lt cross"("Odd 'pair", int8) RETURNS boolean
	IMMUTABLE STRICT LANGUAGE sql RETURN ($1).a < $2;
CREATE FUNCTION "le cross"("Odd 'pair", int8) RETURNS boolean
	IMMUTABLE STRICT LANGUAGE sql RETURN ($1).a <= $2;
CREATE FUNCTION "eq cross"("Odd 'pair", int8) RETURNS boolean
	IMMUTABLE STRICT LANGUAGE sql RETURN ($1).a = $2;
CREATE FUNCTION "ge cross"("Odd 'pair", int8) RETURNS boolean
	IMMUTABLE STRICT LANGUAGE sql RETURN ($1).a >= $2;
CREATE FUNCTION "gt cross"("Odd 'pair", int8) RETURNS boolean
	IMMUTABLE STRICT LANGUAGE sql RETURN ($1).a > $2;
CREATE FUNCTION "lt pair"("Odd 'pair", "Odd 'pair") RETURNS boolean
	IMMUTABLE STRICT LANGUAGE sql RETURN record_lt($1, $2);
CREATE FUNCTION "le pair"("Odd 'pair", "Odd 'pair") RETURNS boolean
	IMMUTABLE STRICT LANGUAGE sql RETURN record_le($1, $2);
CREATE FUNCTION "eq pair"("Odd 'pair", "Odd 'pair") RETURNS boolean
	IMMUTABLE STRICT LANGUAGE sql RETURN record_eq($1, $2);
CREATE FUNCTION "ge pair"("Odd 'pair", "Odd 'pair") RETURNS boolean
	IMMUTABLE STRICT LANGUAGE sql RETURN record_ge($1, $2);
CREATE FUNCTION "gt pair"("Odd 'pair", "Odd 'pair") RETURNS boolean
	IMMUTABLE STRICT LANGUAGE sql RETURN record_gt($1, $2);
CREATE OPERATOR < (LEFTARG = "Odd 'pair", RIGHTARG = "Odd 'pair", FUNCTION = "lt pair");
CREATE OPERATOR <= (LEFTARG = "Odd 'pair", RIGHTARG = "Odd 'pair", FUNCTION = "le pair");
CREATE OPERATOR = (LEFTARG = "Odd 'pair", RIGHTARG = "Odd 'pair", FUNCTION = "eq pair");
CREATE OPERATOR >= (LEFTARG = "Odd 'pair", RIGHTARG = "Odd 'pair", FUNCTION = "ge pair");
CREATE OPERATOR > (LEFTARG = "Odd 'pair", RIGHTARG = "Odd 'pair", FUNCTION = "gt pair");
CREATE OPERATOR < (LEFTARG = "Odd 'pair", RIGHTARG = int8, FUNCTION = "lt cross");
CREATE OPERATOR <= (LEFTARG = "Odd 'pair", RIGHTARG = int8, FUNCTION = "le cross");
CREATE OPERATOR = (LEFTARG = "Odd 'pair", RIGHTARG = int8, FUNCTION = "eq cross");
CREATE OPERATOR >= (LEFTARG = "Odd 'pair", RIGHTARG = int8, FUNCTION = "ge cross");
CREATE OPERATOR > (LEFTARG = "Odd 'pair", RIGHTARG = int8, FUNCTION = "gt cross");
CREATE OPERATOR CLASS "Odd ops" DEFAULT FOR TYPE "Odd 'pair" USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 "cmp pair"("Odd 'pair", "Odd 'pair");
ALTER OPERATOR FAMILY "Odd ops" USING btree ADD
	OPERATOR 1 < ("Odd 'pair", int8), OPERATOR 2 <= ("Odd 'pair", int8),
	OPERATOR 3 = ("Odd 'pair", int8), OPERATOR 4 >= ("Odd 'pair", int8),
	OPERATOR 5 > ("Odd 'pair", int8),
	FUNCTION 1 ("Odd 'pair", int8) "cmp cross"("Odd 'pair", int8);

SELECT is(betree_adopt('"Odd ""schema"."Odd ops"'),
	'"Odd ""schema"."Odd ops"', 'a class with odd names is adopted');
SELECT set_eq(
	$$ SELECT l, r, amopstrategy, operator FROM operators
	   WHERE amname = 'betree' AND opfname = 'Odd ops' $$,
	$$ SELECT l, r, amopstrategy, operator FROM operators
	   WHERE amname = 'btree' AND opfname = 'Odd ops' $$,
	'with all its operators');
SELECT ok(amvalidate(c.oid) AND opcdefault, 'it is valid and the default')
FROM pg_opclass c JOIN pg_am a ON a.oid = opcmethod
WHERE opcname = 'Odd ops' AND amname = 'betree';
SELECT throws_ok($$ SELECT betree_adopt('"Odd ops"') $$, '42710', NULL,
	'a class is adopted once');
SELECT throws_ok($$ SELECT betree_adopt('int8_ops') $$, '42710', NULL,
	'a class of core is there already');
SELECT throws_ok($$ SELECT betree_adopt('none such') $$, '22023', NULL,
	'the argument is an identifier');
SELECT throws_ok($$ SELECT betree_adopt('none_such') $$, '42704', NULL,
	'of a class that exists');
DROP OPERATOR CLASS "Odd ops" USING betree;
CREATE ROLE betree_catalog_user;
GRANT ALL ON SCHEMA "Odd ""schema" TO betree_catalog_user;
SET LOCAL ROLE betree_catalog_user;
SELECT throws_ok($$ SELECT betree_adopt('"Odd ops"') $$, '42501', NULL,
	'only a superuser may adopt a class');
RESET ROLE;

-- Z-order: bigmin against brute force, on a grid with both signs
CREATE TEMPORARY TABLE grid AS
	SELECT point(x, y) AS p FROM generate_series(-6, 6) x, generate_series(-6, 6) y;
CREATE TEMPORARY TABLE jumps AS
	SELECT w.*, g.p AS current, betree_point_bigmin(w.low, w.high, g.p) AS next
	FROM (SELECT point(x, y) AS low, point(x + dx, y + dy) AS high
		  FROM generate_series(-6, 2, 2) x, generate_series(-6, 2, 2) y,
			   unnest('{0,3,4}'::int[]) dx, unnest('{0,1,4}'::int[]) dy) w, grid g;
SELECT is_empty(
	$$ SELECT * FROM jumps
	   WHERE next IS NOT NULL AND (NOT next <@ box(low, high) OR next #<# current) $$,
	'bigmin is in the box and not before the current point');
SELECT is_empty(
	$$ SELECT * FROM jumps j
	   WHERE EXISTS (SELECT FROM grid g WHERE g.p <@ box(low, high)
					 AND g.p #>=# current AND (next IS NULL OR g.p #<# next)) $$,
	'bigmin passes over no point of the box');
SELECT is_empty(
	$$ SELECT * FROM jumps
	   WHERE current <@ box(low, high) AND NOT next #=# current $$,
	'bigmin stays at a point of the box');
SELECT ok(point(0, 0) #=# point('-0', '-0'), 'zeros are equal');
SELECT ok(point('NaN', 1) #=# point('NaN', 1), 'NaNs are equal');
SELECT ok(point('NaN', 1) #># point('Infinity', 1), 'NaN comes after Infinity');
SELECT ok(point('-Infinity', 1) #<# point('-1e308', 1), '-Infinity comes first');

SELECT * FROM finish();
ROLLBACK;
