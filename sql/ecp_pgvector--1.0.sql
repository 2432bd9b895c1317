/* sql/ecp_pgvector--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION ecp_pgvector" to load this file. \quit

-- The operators are pgvector's own.  This script adds the operator classes, with
-- the names that pgvector uses for its own access methods.

DO $$
BEGIN
	IF pg_catalog.to_regtype('halfvec') IS NULL THEN
		RAISE EXCEPTION USING
			ERRCODE = 'feature_not_supported',
			MESSAGE = 'extension "ecp_pgvector" requires version 0.7.0 or later of extension "vector"',
			HINT = 'Install it, then ALTER EXTENSION vector UPDATE.';
	END IF;
END $$;

-- ======================================================================
-- vector
-- ======================================================================

-- conditions for a radius; the planner turns "v <-> q < r" into
-- "v @<-> (q, r)", see ecp_path.c

CREATE TYPE ecp_vector_ball AS (centre vector, radius double precision);
COMMENT ON TYPE ecp_vector_ball IS
	'a vector and a distance from it, in conditions that an ecp index checks';

CREATE FUNCTION ecp_within_l2(vector, ecp_vector_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <-> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_l2(vector, ecp_vector_ball) IS
	'is the Euclidean distance at most the radius?';

CREATE OPERATOR @<-> (
	LEFTARG = vector, RIGHTARG = ecp_vector_ball, FUNCTION = ecp_within_l2
);
COMMENT ON OPERATOR @<-> (vector, ecp_vector_ball) IS
	'is the Euclidean distance at most the radius?';

CREATE FUNCTION ecp_within_ip(vector, ecp_vector_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <#> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_ip(vector, ecp_vector_ball) IS
	'is the negative inner product at most the radius?';

CREATE OPERATOR @<#> (
	LEFTARG = vector, RIGHTARG = ecp_vector_ball, FUNCTION = ecp_within_ip
);
COMMENT ON OPERATOR @<#> (vector, ecp_vector_ball) IS
	'is the negative inner product at most the radius?';

CREATE FUNCTION ecp_within_cosine(vector, ecp_vector_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <=> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_cosine(vector, ecp_vector_ball) IS
	'is the cosine distance at most the radius?';

CREATE OPERATOR @<=> (
	LEFTARG = vector, RIGHTARG = ecp_vector_ball, FUNCTION = ecp_within_cosine
);
COMMENT ON OPERATOR @<=> (vector, ecp_vector_ball) IS
	'is the cosine distance at most the radius?';

CREATE FUNCTION ecp_within_l1(vector, ecp_vector_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <+> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_l1(vector, ecp_vector_ball) IS
	'is the L1 distance at most the radius?';

CREATE OPERATOR @<+> (
	LEFTARG = vector, RIGHTARG = ecp_vector_ball, FUNCTION = ecp_within_l1
);
COMMENT ON OPERATOR @<+> (vector, ecp_vector_ball) IS
	'is the L1 distance at most the radius?';

-- support functions that describe the column; see ecp_validate.c

CREATE FUNCTION ecp_class_vector_l2(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_vector_l2(internal) IS
	'support function of vector_l2_ops: column type and metric';

CREATE FUNCTION ecp_class_vector_ip(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_vector_ip(internal) IS
	'support function of vector_ip_ops: column type and metric';

CREATE FUNCTION ecp_class_vector_cosine(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_vector_cosine(internal) IS
	'support function of vector_cosine_ops: column type and metric';

CREATE FUNCTION ecp_class_vector_l1(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_vector_l1(internal) IS
	'support function of vector_l1_ops: column type and metric';

CREATE OPERATOR FAMILY vector_l2_ops USING ecp;
COMMENT ON OPERATOR FAMILY vector_l2_ops USING ecp IS
	'vectors of pgvector by Euclidean distance';

CREATE OPERATOR CLASS vector_l2_ops DEFAULT FOR TYPE vector
	USING ecp FAMILY vector_l2_ops AS
	OPERATOR 1 <-> (vector, vector) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<-> (vector, ecp_vector_ball),
	FUNCTION 1 ecp_class_vector_l2(internal);
COMMENT ON OPERATOR CLASS vector_l2_ops USING ecp IS
	'vectors of pgvector by Euclidean distance';

CREATE OPERATOR FAMILY vector_ip_ops USING ecp;
COMMENT ON OPERATOR FAMILY vector_ip_ops USING ecp IS
	'vectors of pgvector by negative inner product';

CREATE OPERATOR CLASS vector_ip_ops FOR TYPE vector
	USING ecp FAMILY vector_ip_ops AS
	OPERATOR 1 <#> (vector, vector) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<#> (vector, ecp_vector_ball),
	FUNCTION 1 ecp_class_vector_ip(internal);
COMMENT ON OPERATOR CLASS vector_ip_ops USING ecp IS
	'vectors of pgvector by negative inner product';

CREATE OPERATOR FAMILY vector_cosine_ops USING ecp;
COMMENT ON OPERATOR FAMILY vector_cosine_ops USING ecp IS
	'vectors of pgvector by cosine distance';

CREATE OPERATOR CLASS vector_cosine_ops FOR TYPE vector
	USING ecp FAMILY vector_cosine_ops AS
	OPERATOR 1 <=> (vector, vector) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<=> (vector, ecp_vector_ball),
	FUNCTION 1 ecp_class_vector_cosine(internal);
COMMENT ON OPERATOR CLASS vector_cosine_ops USING ecp IS
	'vectors of pgvector by cosine distance';

CREATE OPERATOR FAMILY vector_l1_ops USING ecp;
COMMENT ON OPERATOR FAMILY vector_l1_ops USING ecp IS
	'vectors of pgvector by L1 distance';

CREATE OPERATOR CLASS vector_l1_ops FOR TYPE vector
	USING ecp FAMILY vector_l1_ops AS
	OPERATOR 1 <+> (vector, vector) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<+> (vector, ecp_vector_ball),
	FUNCTION 1 ecp_class_vector_l1(internal);
COMMENT ON OPERATOR CLASS vector_l1_ops USING ecp IS
	'vectors of pgvector by L1 distance';

-- "v <-> ARRAY[...]" compares v::real[] with a real[], as pgvector casts a vector
-- to real[] but no array to vector.  The families say what that is in vectors, so
-- that an index serves it, and ecp_knn_batch() such queries.

CREATE FUNCTION ecp_vector(real[]) RETURNS vector
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
	RETURN $1::vector;
COMMENT ON FUNCTION ecp_vector(real[]) IS
	'vector of pgvector from an array';

ALTER OPERATOR FAMILY vector_l2_ops USING ecp ADD
	OPERATOR 1 <-> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 2 (real[], vector) ecp_vector(real[]);

ALTER OPERATOR FAMILY vector_ip_ops USING ecp ADD
	OPERATOR 1 <#> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 2 (real[], vector) ecp_vector(real[]);

ALTER OPERATOR FAMILY vector_cosine_ops USING ecp ADD
	OPERATOR 1 <=> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 2 (real[], vector) ecp_vector(real[]);

ALTER OPERATOR FAMILY vector_l1_ops USING ecp ADD
	OPERATOR 1 <+> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 2 (real[], vector) ecp_vector(real[]);

-- ======================================================================
-- halfvec
-- ======================================================================

-- conditions for a radius; the planner turns "v <-> q < r" into
-- "v @<-> (q, r)", see ecp_path.c

CREATE TYPE ecp_halfvec_ball AS (centre halfvec, radius double precision);
COMMENT ON TYPE ecp_halfvec_ball IS
	'a vector and a distance from it, in conditions that an ecp index checks';

CREATE FUNCTION ecp_within_l2(halfvec, ecp_halfvec_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <-> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_l2(halfvec, ecp_halfvec_ball) IS
	'is the Euclidean distance at most the radius?';

CREATE OPERATOR @<-> (
	LEFTARG = halfvec, RIGHTARG = ecp_halfvec_ball, FUNCTION = ecp_within_l2
);
COMMENT ON OPERATOR @<-> (halfvec, ecp_halfvec_ball) IS
	'is the Euclidean distance at most the radius?';

CREATE FUNCTION ecp_within_ip(halfvec, ecp_halfvec_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <#> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_ip(halfvec, ecp_halfvec_ball) IS
	'is the negative inner product at most the radius?';

CREATE OPERATOR @<#> (
	LEFTARG = halfvec, RIGHTARG = ecp_halfvec_ball, FUNCTION = ecp_within_ip
);
COMMENT ON OPERATOR @<#> (halfvec, ecp_halfvec_ball) IS
	'is the negative inner product at most the radius?';

CREATE FUNCTION ecp_within_cosine(halfvec, ecp_halfvec_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <=> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_cosine(halfvec, ecp_halfvec_ball) IS
	'is the cosine distance at most the radius?';

CREATE OPERATOR @<=> (
	LEFTARG = halfvec, RIGHTARG = ecp_halfvec_ball, FUNCTION = ecp_within_cosine
);
COMMENT ON OPERATOR @<=> (halfvec, ecp_halfvec_ball) IS
	'is the cosine distance at most the radius?';

CREATE FUNCTION ecp_within_l1(halfvec, ecp_halfvec_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <+> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_l1(halfvec, ecp_halfvec_ball) IS
	'is the L1 distance at most the radius?';

CREATE OPERATOR @<+> (
	LEFTARG = halfvec, RIGHTARG = ecp_halfvec_ball, FUNCTION = ecp_within_l1
);
COMMENT ON OPERATOR @<+> (halfvec, ecp_halfvec_ball) IS
	'is the L1 distance at most the radius?';

-- support functions that describe the column; see ecp_validate.c

CREATE FUNCTION ecp_class_halfvec_l2(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_halfvec_l2(internal) IS
	'support function of halfvec_l2_ops: column type and metric';

CREATE FUNCTION ecp_class_halfvec_ip(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_halfvec_ip(internal) IS
	'support function of halfvec_ip_ops: column type and metric';

CREATE FUNCTION ecp_class_halfvec_cosine(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_halfvec_cosine(internal) IS
	'support function of halfvec_cosine_ops: column type and metric';

CREATE FUNCTION ecp_class_halfvec_l1(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_halfvec_l1(internal) IS
	'support function of halfvec_l1_ops: column type and metric';

CREATE OPERATOR FAMILY halfvec_l2_ops USING ecp;
COMMENT ON OPERATOR FAMILY halfvec_l2_ops USING ecp IS
	'half-precision vectors of pgvector by Euclidean distance';

CREATE OPERATOR CLASS halfvec_l2_ops DEFAULT FOR TYPE halfvec
	USING ecp FAMILY halfvec_l2_ops AS
	OPERATOR 1 <-> (halfvec, halfvec) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<-> (halfvec, ecp_halfvec_ball),
	FUNCTION 1 ecp_class_halfvec_l2(internal);
COMMENT ON OPERATOR CLASS halfvec_l2_ops USING ecp IS
	'half-precision vectors of pgvector by Euclidean distance';

CREATE OPERATOR FAMILY halfvec_ip_ops USING ecp;
COMMENT ON OPERATOR FAMILY halfvec_ip_ops USING ecp IS
	'half-precision vectors of pgvector by negative inner product';

CREATE OPERATOR CLASS halfvec_ip_ops FOR TYPE halfvec
	USING ecp FAMILY halfvec_ip_ops AS
	OPERATOR 1 <#> (halfvec, halfvec) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<#> (halfvec, ecp_halfvec_ball),
	FUNCTION 1 ecp_class_halfvec_ip(internal);
COMMENT ON OPERATOR CLASS halfvec_ip_ops USING ecp IS
	'half-precision vectors of pgvector by negative inner product';

CREATE OPERATOR FAMILY halfvec_cosine_ops USING ecp;
COMMENT ON OPERATOR FAMILY halfvec_cosine_ops USING ecp IS
	'half-precision vectors of pgvector by cosine distance';

CREATE OPERATOR CLASS halfvec_cosine_ops FOR TYPE halfvec
	USING ecp FAMILY halfvec_cosine_ops AS
	OPERATOR 1 <=> (halfvec, halfvec) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<=> (halfvec, ecp_halfvec_ball),
	FUNCTION 1 ecp_class_halfvec_cosine(internal);
COMMENT ON OPERATOR CLASS halfvec_cosine_ops USING ecp IS
	'half-precision vectors of pgvector by cosine distance';

CREATE OPERATOR FAMILY halfvec_l1_ops USING ecp;
COMMENT ON OPERATOR FAMILY halfvec_l1_ops USING ecp IS
	'half-precision vectors of pgvector by L1 distance';

CREATE OPERATOR CLASS halfvec_l1_ops FOR TYPE halfvec
	USING ecp FAMILY halfvec_l1_ops AS
	OPERATOR 1 <+> (halfvec, halfvec) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<+> (halfvec, ecp_halfvec_ball),
	FUNCTION 1 ecp_class_halfvec_l1(internal);
COMMENT ON OPERATOR CLASS halfvec_l1_ops USING ecp IS
	'half-precision vectors of pgvector by L1 distance';

-- ======================================================================
-- bit
-- ======================================================================

-- The type is PostgreSQL's, and ecp has operator classes with its own operators.
-- These classes have pgvector's operators and share everything else.

CREATE OPERATOR FAMILY bit_hamming_ops USING ecp;
COMMENT ON OPERATOR FAMILY bit_hamming_ops USING ecp IS
	'bit strings by the Hamming distance of pgvector';

CREATE OPERATOR CLASS bit_hamming_ops FOR TYPE bit
	USING ecp FAMILY bit_hamming_ops AS
	OPERATOR 1 <~> (bit, bit) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<-> (bit, ecp_bit_ball),
	FUNCTION 1 ecp_class_bit_hamming(internal);
COMMENT ON OPERATOR CLASS bit_hamming_ops USING ecp IS
	'bit strings by the Hamming distance of pgvector';

CREATE OPERATOR FAMILY bit_jaccard_ops USING ecp;
COMMENT ON OPERATOR FAMILY bit_jaccard_ops USING ecp IS
	'bit strings by the Jaccard distance of pgvector';

CREATE OPERATOR CLASS bit_jaccard_ops FOR TYPE bit
	USING ecp FAMILY bit_jaccard_ops AS
	OPERATOR 1 <%> (bit, bit) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<&> (bit, ecp_bit_ball),
	FUNCTION 1 ecp_class_bit_jaccard(internal);
COMMENT ON OPERATOR CLASS bit_jaccard_ops USING ecp IS
	'bit strings by the Jaccard distance of pgvector';

-- ======================================================================
-- what came of the names
-- ======================================================================

-- The extension is trusted, so that who may create ecp can use it on the columns
-- of a vector that is installed.  But the schemas of ecp and vector, which this
-- script cannot name, are searched after its own, where the caller may have put a
-- type or an operator in the place of one of theirs; of a type that is not what
-- the library takes it for, it would read what is not there.  So see, now that
-- every name has been looked up, that all objects used are of PostgreSQL or of
-- these extensions, and a superuser's.  Whoever owns an extension can make an
-- object of his a member of it, so neither is enough.
DO LANGUAGE plpgsql $check$
DECLARE
	stranger pg_catalog.text;
BEGIN
	WITH RECURSIVE member AS (
		SELECT d.classid, d.objid, e.extname
		FROM pg_catalog.pg_depend AS d
			JOIN pg_catalog.pg_extension AS e ON e.oid OPERATOR(pg_catalog.=) d.refobjid
		WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::pg_catalog.regclass::pg_catalog.oid
			AND d.deptype OPERATOR(pg_catalog.=) 'e'::pg_catalog."char"
	), ours AS (
		SELECT classid, objid FROM member WHERE extname OPERATOR(pg_catalog.=) 'ecp_pgvector'::pg_catalog.name
		UNION
		-- columns of types, entries of operator families
		SELECT d.classid, d.objid
		FROM ours JOIN pg_catalog.pg_depend AS d ON d.refclassid OPERATOR(pg_catalog.=) ours.classid
			AND d.refobjid OPERATOR(pg_catalog.=) ours.objid
		WHERE d.deptype OPERATOR(pg_catalog.=) ANY ('{a,i}'::pg_catalog."char"[])
	), used AS (
		SELECT d.refclassid AS classid, d.refobjid AS objid
		FROM ours JOIN pg_catalog.pg_depend AS d ON d.classid OPERATOR(pg_catalog.=) ours.classid
			AND d.objid OPERATOR(pg_catalog.=) ours.objid
		EXCEPT
		SELECT classid, objid FROM ours
	), owned AS (
		SELECT 'pg_catalog.pg_type'::pg_catalog.regclass::pg_catalog.oid AS classid, oid AS objid, typowner AS owner FROM pg_catalog.pg_type
		UNION ALL
		SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid, oid, proowner FROM pg_catalog.pg_proc
		UNION ALL
		SELECT 'pg_catalog.pg_operator'::pg_catalog.regclass::pg_catalog.oid, oid, oprowner FROM pg_catalog.pg_operator
		UNION ALL
		SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, oid, relowner FROM pg_catalog.pg_class
	)
	SELECT pg_catalog.pg_describe_object(classid, objid, 0) INTO stranger
	FROM used JOIN owned USING (classid, objid)
		JOIN pg_catalog.pg_roles AS r ON r.oid OPERATOR(pg_catalog.=) owned.owner
		LEFT JOIN member USING (classid, objid)
	WHERE NOT r.rolsuper OR member.extname IS NULL
		OR NOT member.extname OPERATOR(pg_catalog.=) ANY ('{ecp,vector}'::pg_catalog.name[])
	ORDER BY classid, objid LIMIT 1;

	IF stranger IS NOT NULL THEN
		RAISE EXCEPTION '% is in the place of an object of the extension ecp or vector', stranger
			USING ERRCODE = 'object_not_in_prerequisite_state',
			HINT = 'Create ecp_pgvector in another schema.';
	END IF;
END
$check$;
