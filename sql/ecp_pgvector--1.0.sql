/* sql/ecp_pgvector--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION ecp_pgvector" to load this file. \quit

-- The operators are pgvector's own.  This script adds the operator classes, with
-- the names that pgvector uses for its own access methods.

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

-- ======================================================================
-- bit
-- ======================================================================

-- The type is PostgreSQL's, and ecp has an operator class with its own operator.
-- This class has pgvector's operator and shares everything else.

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
