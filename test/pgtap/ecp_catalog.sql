-- The operators and operator classes of ecp: what each consists of, that the
-- wrong ones are found out, and what the access method says of itself.
BEGIN;
SELECT no_plan();

-- Operators
SELECT bag_eq($$
	SELECT oprname::text, oprleft::regtype::text, proname::text
	FROM pg_operator JOIN pg_proc p ON p.oid = oprcode
	WHERE oprleft = oprright AND oprleft IN ('real[]'::regtype, 'double precision[]'::regtype, 'bytea'::regtype, 'bit'::regtype)
	  AND oprname IN ('<->', '<#>', '<=>', '<+>', '<&>')
	  AND oprresult = 'float8'::regtype $$,
	$$ VALUES ('<->', 'real[]', 'ecp_l2_distance'),
		('<#>', 'real[]', 'ecp_negative_inner_product'),
		('<=>', 'real[]', 'ecp_cosine_distance'),
		('<->', 'double precision[]', 'ecp_l2_distance'),
		('<#>', 'double precision[]', 'ecp_negative_inner_product'),
		('<=>', 'double precision[]', 'ecp_cosine_distance'),
		('<->', 'bytea', 'ecp_l2_distance'),
		('<#>', 'bytea', 'ecp_negative_inner_product'),
		('<=>', 'bytea', 'ecp_cosine_distance'),
		('<+>', 'real[]', 'ecp_l1_distance'),
		('<+>', 'double precision[]', 'ecp_l1_distance'),
		('<->', 'bit', 'ecp_hamming_distance'),
		('<&>', 'bit', 'ecp_jaccard_distance') $$,
	'four distances of floats, three of bytes, two of bits');
SELECT is((SELECT count(*) FROM pg_operator
	WHERE oprleft = oprright AND oprname IN ('<->', '<#>', '<=>') AND oprcode IN (SELECT oid FROM pg_proc WHERE proname ~ '^ecp_')
	  AND oprleft IN ('smallint[]'::regtype, 'integer[]'::regtype, 'bigint[]'::regtype, 'numeric[]'::regtype)),
	12::bigint, 'and three for each of the other arrays of numbers');
SELECT is_empty($$
	SELECT oid::regoperator FROM pg_operator
	WHERE oprcode IN (SELECT oid FROM pg_proc WHERE proname ~ '^ecp_')
	  AND oprname IN ('<->', '<#>', '<=>', '<+>', '<&>') AND oprcom <> oid $$,
	'distances are their own commutators');
SELECT function_returns('ecp_inner_product', ARRAY['real[]', 'real[]'], 'double precision');
SELECT function_returns('ecp_inner_product', ARRAY['bytea', 'bytea'], 'double precision');
SELECT function_returns('ecp_kernels', ARRAY[]::text[], 'text');
SELECT is_empty($$
	SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_operator o ON o.oprcode = p.oid
	WHERE p.proname ~ '^ecp_' AND p.proname <> 'ecp_attr_tree_true' AND p.procost <> 10 $$,
	'the planner knows what a distance costs');

-- Operator classes
SELECT bag_eq($$
	SELECT opcname::text, format_type(opcintype, NULL), opcdefault
	FROM pg_opclass JOIN pg_am a ON a.oid = opcmethod WHERE amname = 'ecp' $$,
	$$ VALUES ('real_l2_ops', 'real[]', true), ('real_ip_ops', 'real[]', false),
		('real_cosine_ops', 'real[]', false), ('double_l2_ops', 'double precision[]', true),
		('double_ip_ops', 'double precision[]', false),
		('double_cosine_ops', 'double precision[]', false), ('bytea_l2_ops', 'bytea', true),
		('bytea_ip_ops', 'bytea', false), ('bytea_cosine_ops', 'bytea', false),
		('bit_ops', 'bit', true), ('bit_set_ops', 'bit', false),
		('real_l1_ops', 'real[]', false), ('double_l1_ops', 'double precision[]', false),
		('bool_ops', 'boolean', true), ('char_ops', '"char"', true),
		('int2_ops', 'smallint', true), ('int4_ops', 'integer', true),
		('int8_ops', 'bigint', true), ('oid_ops', 'oid', true),
		('float4_ops', 'real', true), ('float8_ops', 'double precision', true),
		('date_ops', 'date', true), ('time_ops', 'time without time zone', true),
		('timestamp_ops', 'timestamp without time zone', true),
		('timestamptz_ops', 'timestamp with time zone', true),
		('uuid_ops', 'uuid', true), ('enum_ops', 'anyenum', true),
		('text_ops', 'text', true), ('text_pattern_ops', 'text', false),
		('bpchar_ops', 'character', true),
		('numeric_ops', 'numeric', true), ('array_ops', 'anyarray', true),
		('jsonb_path_ops', 'jsonb', true) $$,
	'thirteen operator classes of vectors, L2 by default, and those of key columns');
SELECT bag_eq($$
	SELECT f.opfname::text AS family, oprname::text, amopstrategy::integer, amoppurpose::text,
		s.opfname::text AS sort, amproc::regproc::text
	FROM pg_amop JOIN pg_am a ON a.oid = amopmethod JOIN pg_opfamily f ON f.oid = amopfamily
		JOIN pg_opfamily s ON s.oid = amopsortfamily
		JOIN pg_operator o ON o.oid = amopopr
		JOIN pg_amproc p ON amprocfamily = f.oid AND amproclefttype = amoplefttype AND amprocnum = 1
	WHERE amname = 'ecp' $$,
	$$ VALUES ('real_l2_ops', '<->', 1, 'o', 'float_ops', 'ecp_class_real_l2'),
		('real_ip_ops', '<#>', 1, 'o', 'float_ops', 'ecp_class_real_ip'),
		('real_cosine_ops', '<=>', 1, 'o', 'float_ops', 'ecp_class_real_cosine'),
		('real_l2_ops', '<->', 1, 'o', 'float_ops', 'ecp_class_double_l2'),
		('real_ip_ops', '<#>', 1, 'o', 'float_ops', 'ecp_class_double_ip'),
		('real_cosine_ops', '<=>', 1, 'o', 'float_ops', 'ecp_class_double_cosine'),
		('bytea_l2_ops', '<->', 1, 'o', 'float_ops', 'ecp_class_bytea_l2'),
		('bytea_ip_ops', '<#>', 1, 'o', 'float_ops', 'ecp_class_bytea_ip'),
		('bytea_cosine_ops', '<=>', 1, 'o', 'float_ops', 'ecp_class_bytea_cosine'),
		('real_l1_ops', '<+>', 1, 'o', 'float_ops', 'ecp_class_real_l1'),
		('real_l1_ops', '<+>', 1, 'o', 'float_ops', 'ecp_class_double_l1'),
		('bit_set_ops', '<&>', 1, 'o', 'float_ops', 'ecp_class_bit_jaccard'),
		('bit_ops', '<->', 1, 'o', 'float_ops', 'ecp_class_bit_hamming') $$,
	'each has its operator, for ordering, and its support function');
SELECT bag_eq($$
	SELECT amproclefttype::regtype::text, amprocrighttype::regtype::text, amproc::regproc::text, count(*)
	FROM pg_amproc JOIN pg_opfamily f ON f.oid = amprocfamily JOIN pg_am a ON a.oid = opfmethod
	WHERE amname = 'ecp' AND amprocnum = 2 GROUP BY 1, 2, 3 $$,
	$$ VALUES ('real[]', 'double precision[]', 'ecp_double', 4::bigint),
		('double precision[]', 'real[]', 'ecp_real', 4) $$,
	'vectors of real and double precision are made from each other');
SELECT is_empty($$
	SELECT opcname FROM pg_opclass o JOIN pg_am a ON a.oid = opcmethod
	WHERE amname = 'ecp' AND NOT amvalidate(o.oid) $$,
	'all are valid');
-- newer minor versions already find no function for NULL of type internal
SELECT throws_matching('SELECT ecp_class_real_l2(NULL)',
	'does not exist|cannot accept a value of type internal',
	'support functions cannot be called');

-- Classes that are not what the access method needs are found out
CREATE FUNCTION no_such_class(internal) RETURNS bigint
	AS 'int8recv' LANGUAGE internal IMMUTABLE;
CREATE FUNCTION is_bad(class name) RETURNS boolean LANGUAGE sql AS $$
	SELECT NOT amvalidate(o.oid) FROM pg_opclass o JOIN pg_am a ON a.oid = opcmethod
	WHERE opcname = class AND amname = 'ecp' $$;

CREATE OPERATOR CLASS no_function FOR TYPE bytea USING ecp AS
	OPERATOR 1 <-> (bytea, bytea) FOR ORDER BY float_ops;
SELECT ok(is_bad('no_function'), 'a class without a support function is invalid');
CREATE OPERATOR CLASS no_operator FOR TYPE bytea USING ecp AS
	FUNCTION 1 ecp_class_bytea_l2(internal);
SELECT ok(is_bad('no_operator'), 'a class without an operator is invalid');
CREATE OPERATOR CLASS search_operator FOR TYPE bytea USING ecp AS
	OPERATOR 1 = (bytea, bytea),
	FUNCTION 1 ecp_class_bytea_l2(internal);
SELECT ok(is_bad('search_operator'), 'an operator for searching is invalid');
CREATE OPERATOR CLASS second_strategy FOR TYPE bytea USING ecp AS
	OPERATOR 1 <-> (bytea, bytea) FOR ORDER BY float_ops,
	OPERATOR 2 <#> (bytea, bytea) FOR ORDER BY float_ops,
	FUNCTION 1 ecp_class_bytea_l2(internal);
SELECT ok(is_bad('second_strategy'), 'a second strategy is invalid');
CREATE OPERATOR CLASS wrong_function FOR TYPE bytea USING ecp AS
	OPERATOR 1 <-> (bytea, bytea) FOR ORDER BY float_ops,
	FUNCTION 1 no_such_class(internal);
SELECT ok(is_bad('wrong_function'), 'a support function with another result is invalid');
CREATE OPERATOR FAMILY wrong_conversion USING ecp;
CREATE OPERATOR CLASS wrong_conversion FOR TYPE bytea USING ecp FAMILY wrong_conversion AS
	OPERATOR 1 <-> (bytea, bytea) FOR ORDER BY float_ops,
	FUNCTION 1 ecp_class_bytea_l2(internal);
SELECT ok(NOT is_bad('wrong_conversion'), 'a class without a conversion is valid');
ALTER OPERATOR FAMILY wrong_conversion USING ecp ADD FUNCTION 2 (double precision[], bytea) ecp_real(double precision[]);
SELECT ok(is_bad('wrong_conversion'), 'a conversion to another type is invalid');

-- The access method
SELECT is(amtype, 'i', 'ecp is an index access method') FROM pg_am WHERE amname = 'ecp';
SELECT is(pg_indexam_has_property(oid, 'can_order'), false, 'ecp has no order of its own') FROM pg_am WHERE amname = 'ecp';
SELECT is(pg_indexam_has_property(oid, 'can_unique'), false, 'ecp cannot be unique') FROM pg_am WHERE amname = 'ecp';
CREATE TABLE catalog_test (v real[]);
CREATE INDEX catalog_test_v ON catalog_test USING ecp (v);
SELECT is(pg_index_column_has_property('catalog_test_v', 1, 'distance_orderable'), true,
	'a column can be ordered by distance');
SELECT throws_ok('CREATE UNIQUE INDEX ON catalog_test USING ecp (v)', '0A000', NULL,
	'there is no unique index');

SELECT finish();
ROLLBACK;
