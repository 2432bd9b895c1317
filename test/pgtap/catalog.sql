-- What must hold for every object of the extensions, whatever it is: each has
-- a comment, functions say how they may be used, operator classes are valid,
-- and nothing is open to everyone that should not be.
BEGIN;
SELECT no_plan();

SELECT has_extension('ecp');
SELECT has_extension('ecp_storage');

CREATE TEMPORARY VIEW members AS
SELECT e.extname, d.classid, d.objid,
	pg_describe_object(d.classid, d.objid, 0) AS name
FROM pg_depend d
	JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
WHERE e.extname IN ('ecp', 'ecp_storage') AND d.deptype = 'e';

CREATE TEMPORARY VIEW functions AS
SELECT m.extname, m.name, p.*
FROM members m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid;

-- A comment on every object.  Types that belong to a table or to another type
-- have none of their own, nor have the parts of an operator class.
SELECT is_empty($$
	SELECT name FROM members m
	WHERE coalesce(obj_description(objid, (classid::regclass)::name), '') = ''
	  AND NOT (classid = 'pg_type'::regclass AND EXISTS
		(SELECT 1 FROM pg_type t WHERE t.oid = m.objid
		 AND (t.typrelid <> 0 OR t.typcategory = 'A')))
	  AND classid NOT IN ('pg_amop'::regclass, 'pg_amproc'::regclass)
	ORDER BY name $$,
	'every object has a comment');
SELECT is_empty($$
	SELECT name FROM members
	WHERE obj_description(objid, (classid::regclass)::name) ~ '\.$'
	ORDER BY name $$,
	'comments do not end with a full stop');

-- Functions
SELECT is_empty($$
	SELECT name FROM functions WHERE proname !~ '^_?(ecp|betree)'
	  AND NOT EXISTS (SELECT 1 FROM pg_operator o WHERE o.oprcode = functions.oid)
	  AND NOT EXISTS (SELECT 1 FROM pg_amproc a WHERE a.amproc = functions.oid)
	ORDER BY name $$,
	'functions are named after an access method, but for those of operators');
SELECT is_empty($$
	SELECT name FROM functions WHERE prosecdef AND proconfig IS NULL ORDER BY name $$,
	'a SECURITY DEFINER function has a search_path of its own');
SELECT is_empty($$
	SELECT name FROM functions f JOIN pg_operator o ON o.oprcode = f.oid
	WHERE f.provolatile <> 'i' OR f.proparallel <> 's' OR
		-- a condition may be true of NULL
		NOT f.proisstrict AND f.proname <> 'ecp_attr_tree_true'
	ORDER BY name $$,
	'functions of operators are IMMUTABLE STRICT PARALLEL SAFE');
SELECT is_empty($$
	SELECT name FROM functions f JOIN pg_amproc a ON a.amproc = f.oid
	WHERE f.provolatile <> 'i' OR f.proparallel <> 's'
	ORDER BY name $$,
	'support functions are IMMUTABLE PARALLEL SAFE');
SELECT is_empty($$
	SELECT name FROM functions
	WHERE 'regclass'::regtype = ANY (proargtypes) AND provolatile = 'i'
	ORDER BY name $$,
	'a function that reads a relation is not IMMUTABLE');
SELECT is_empty($$
	SELECT name FROM functions
	WHERE prolang = (SELECT oid FROM pg_language WHERE lanname = 'c')
	  AND probin <> '$libdir/' || extname
	ORDER BY name $$,
	'C functions come from the library of their extension');

-- Access methods, operator classes, operators
SELECT set_eq(
	$$ SELECT a.amname FROM members m JOIN pg_am a
	   ON m.classid = 'pg_am'::regclass AND m.objid = a.oid $$,
	ARRAY['ecp', 'betree']::name[],
	'the two access methods');
SELECT is_empty($$
	SELECT amname, opcname FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod
	WHERE amname IN ('ecp', 'betree') AND NOT amvalidate(c.oid) $$,
	'every operator class is valid');
SELECT is_empty($$
	SELECT amname, opcintype::regtype FROM pg_opclass c JOIN pg_am a ON a.oid = c.opcmethod
	WHERE amname IN ('ecp', 'betree') AND opcdefault
	GROUP BY 1, 2 HAVING count(*) > 1 $$,
	'one default operator class for a type');
SELECT is_empty($$
	SELECT o.oid::regoperator FROM members m JOIN pg_operator o
	ON m.classid = 'pg_operator'::regclass AND m.objid = o.oid
	WHERE oprleft = oprright AND oprcom = 0 AND oprresult = 'float8'::regtype $$,
	'distances commute');

-- Tables: only the owner may write
SELECT is_empty($$
	SELECT m.name FROM members m JOIN pg_class c
	ON m.classid = 'pg_class'::regclass AND m.objid = c.oid,
	LATERAL aclexplode(c.relacl) a
	WHERE a.grantee = 0 AND a.privilege_type <> 'SELECT' $$,
	'PUBLIC may at most read the tables');

-- The core writes nothing but its indexes, and is called by nothing but queries
SELECT is_empty($$
	SELECT name FROM members
	WHERE extname = 'ecp' AND (classid = 'pg_event_trigger'::regclass
		OR classid = 'pg_class'::regclass
			AND objid NOT IN (SELECT oid FROM pg_class WHERE relkind IN ('v', 'c')))
	ORDER BY name $$,
	'ecp has no table and no event trigger');

-- Nothing refers to the schema that the extension happened to be made in
SELECT is_empty($$
	SELECT extname FROM pg_extension WHERE extname = 'ecp' AND NOT extrelocatable $$,
	'ecp is relocatable');

-- The models have a schema of their own, in which there is nothing else, and
-- everyone may call those that measure nothing
SELECT set_eq($$
	SELECT proname FROM functions WHERE pronamespace = 'ecp_models'::regnamespace $$,
	$$ SELECT proname FROM pg_proc WHERE pronamespace = 'ecp_models'::regnamespace $$,
	'the schema of the models has functions of the extension only');
SELECT set_eq($$
	SELECT proname FROM functions WHERE pronamespace = 'ecp_models'::regnamespace
	  AND NOT (has_schema_privilege('public', 'ecp_models', 'USAGE')
		AND has_function_privilege('public', oid, 'EXECUTE')) $$,
	ARRAY['ecp_bench', 'ecp_memory_bench', 'ecp_stream_bench_files']::name[],
	'models are for everyone, measurements are not');
SELECT is(has_schema_privilege('public', 'ecp_models', 'CREATE'), false,
	'nobody else adds to the models');

SELECT * FROM finish();
ROLLBACK;
