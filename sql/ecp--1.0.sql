/* sql/ecp--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION ecp" to load this file. \quit

-- The extension is trusted: this script runs as the bootstrap superuser for the
-- owner of a database, who may have put anything into the schema before.  That
-- schema is searched after pg_catalog.  So nothing here replaces or fills in an
-- object, functions and operators of pg_catalog are qualified or given operands
-- of exactly their argument types, lest a better match in that schema is chosen,
-- and bodies are bound when the function is created.

-- ======================================================================
-- vector: distances over real[], bytea and bit
-- ======================================================================

CREATE FUNCTION ecp_kernels() RETURNS text
	AS 'MODULE_PATHNAME', 'ecp_kernels_sql' LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ecp_kernels() IS
	'instruction set used to compute distances on this machine';

CREATE FUNCTION ecp_l2_distance(real[], real[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_real_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_l2_distance(real[], real[]) IS
	'Euclidean distance of two vectors of real';

CREATE FUNCTION ecp_inner_product(real[], real[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_real_inner_product' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_inner_product(real[], real[]) IS
	'inner product of two vectors of real';

CREATE FUNCTION ecp_negative_inner_product(real[], real[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_real_negative_inner_product' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_negative_inner_product(real[], real[]) IS
	'negative inner product of two vectors of real';

CREATE FUNCTION ecp_cosine_distance(real[], real[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_real_cosine_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_cosine_distance(real[], real[]) IS
	'cosine distance of two vectors of real';

CREATE FUNCTION ecp_l1_distance(real[], real[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_real_l1_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_l1_distance(real[], real[]) IS
	'sum of the absolute differences of two vectors';

CREATE FUNCTION ecp_l2_distance(double precision[], double precision[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_double_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_l2_distance(double precision[], double precision[]) IS
	'Euclidean distance of two vectors of double precision, as of real';

CREATE FUNCTION ecp_inner_product(double precision[], double precision[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_double_inner_product' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_inner_product(double precision[], double precision[]) IS
	'inner product of two vectors of double precision, as of real';

CREATE FUNCTION ecp_negative_inner_product(double precision[], double precision[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_double_negative_inner_product' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_negative_inner_product(double precision[], double precision[]) IS
	'negative inner product of two vectors of double precision, as of real';

CREATE FUNCTION ecp_cosine_distance(double precision[], double precision[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_double_cosine_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_cosine_distance(double precision[], double precision[]) IS
	'cosine distance of two vectors of double precision, as of real';

CREATE FUNCTION ecp_l1_distance(double precision[], double precision[]) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_double_l1_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_l1_distance(double precision[], double precision[]) IS
	'sum of the absolute differences of two vectors of double precision, as of real';

CREATE FUNCTION ecp_real(double precision[]) RETURNS real[]
	AS 'MODULE_PATHNAME', 'ecp_real_from_double' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ecp_real(double precision[]) IS
	'vector of double precision, rounded to real';

CREATE FUNCTION ecp_double(real[]) RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'ecp_double_from_real' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ecp_double(real[]) IS
	'vector of real as one of double precision';

CREATE FUNCTION ecp_l2_distance(bytea, bytea) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_bytea_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_l2_distance(bytea, bytea) IS
	'Euclidean distance of two vectors of unsigned bytes';

CREATE FUNCTION ecp_inner_product(bytea, bytea) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_bytea_inner_product' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_inner_product(bytea, bytea) IS
	'inner product of two vectors of unsigned bytes';

CREATE FUNCTION ecp_negative_inner_product(bytea, bytea) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_bytea_negative_inner_product' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_negative_inner_product(bytea, bytea) IS
	'negative inner product of two vectors of unsigned bytes';

CREATE FUNCTION ecp_cosine_distance(bytea, bytea) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_bytea_cosine_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_cosine_distance(bytea, bytea) IS
	'cosine distance of two vectors of unsigned bytes';

CREATE FUNCTION ecp_hamming_distance(bit, bit) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_bit_hamming_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_hamming_distance(bit, bit) IS
	'number of bits in which two bit strings differ';

CREATE FUNCTION ecp_jaccard_distance(bit, bit) RETURNS float8
	AS 'MODULE_PATHNAME', 'ecp_bit_jaccard_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION ecp_jaccard_distance(bit, bit) IS
	'share of the bits set in either of two bit strings that are not set in both; 1 if there are none in both';

CREATE OPERATOR <-> (
	LEFTARG = real[], RIGHTARG = real[], FUNCTION = ecp_l2_distance,
	COMMUTATOR = <->
);
COMMENT ON OPERATOR <-> (real[], real[]) IS
	'Euclidean distance';

CREATE OPERATOR <#> (
	LEFTARG = real[], RIGHTARG = real[], FUNCTION = ecp_negative_inner_product,
	COMMUTATOR = <#>
);
COMMENT ON OPERATOR <#> (real[], real[]) IS
	'negative inner product';

CREATE OPERATOR <=> (
	LEFTARG = real[], RIGHTARG = real[], FUNCTION = ecp_cosine_distance,
	COMMUTATOR = <=>
);
COMMENT ON OPERATOR <=> (real[], real[]) IS
	'cosine distance';

CREATE OPERATOR <+> (
	LEFTARG = real[], RIGHTARG = real[], FUNCTION = ecp_l1_distance,
	COMMUTATOR = <+>
);
COMMENT ON OPERATOR <+> (real[], real[]) IS
	'L1 distance';

CREATE OPERATOR <-> (
	LEFTARG = double precision[], RIGHTARG = double precision[],
	FUNCTION = ecp_l2_distance, COMMUTATOR = <->
);
COMMENT ON OPERATOR <-> (double precision[], double precision[]) IS
	'Euclidean distance';

CREATE OPERATOR <#> (
	LEFTARG = double precision[], RIGHTARG = double precision[],
	FUNCTION = ecp_negative_inner_product, COMMUTATOR = <#>
);
COMMENT ON OPERATOR <#> (double precision[], double precision[]) IS
	'negative inner product';

CREATE OPERATOR <=> (
	LEFTARG = double precision[], RIGHTARG = double precision[],
	FUNCTION = ecp_cosine_distance, COMMUTATOR = <=>
);
COMMENT ON OPERATOR <=> (double precision[], double precision[]) IS
	'cosine distance';

CREATE OPERATOR <+> (
	LEFTARG = double precision[], RIGHTARG = double precision[],
	FUNCTION = ecp_l1_distance, COMMUTATOR = <+>
);
COMMENT ON OPERATOR <+> (double precision[], double precision[]) IS
	'L1 distance';

CREATE OPERATOR <-> (
	LEFTARG = bytea, RIGHTARG = bytea, FUNCTION = ecp_l2_distance,
	COMMUTATOR = <->
);
COMMENT ON OPERATOR <-> (bytea, bytea) IS
	'Euclidean distance';

CREATE OPERATOR <#> (
	LEFTARG = bytea, RIGHTARG = bytea, FUNCTION = ecp_negative_inner_product,
	COMMUTATOR = <#>
);
COMMENT ON OPERATOR <#> (bytea, bytea) IS
	'negative inner product';

CREATE OPERATOR <=> (
	LEFTARG = bytea, RIGHTARG = bytea, FUNCTION = ecp_cosine_distance,
	COMMUTATOR = <=>
);
COMMENT ON OPERATOR <=> (bytea, bytea) IS
	'cosine distance';

CREATE OPERATOR <-> (
	LEFTARG = bit, RIGHTARG = bit, FUNCTION = ecp_hamming_distance,
	COMMUTATOR = <->
);
COMMENT ON OPERATOR <-> (bit, bit) IS
	'Hamming distance';

CREATE OPERATOR <&> (
	LEFTARG = bit, RIGHTARG = bit, FUNCTION = ecp_jaccard_distance,
	COMMUTATOR = <&>
);
COMMENT ON OPERATOR <&> (bit, bit) IS
	'Jaccard distance';

-- Arrays of other numbers are vectors of real, too.  Where only one operand is
-- one, the parser casts it; where both are, it could not choose between real and
-- double precision.

CREATE FUNCTION ecp_l2_distance(smallint[], smallint[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1::real[] <-> $2::real[];
COMMENT ON FUNCTION ecp_l2_distance(smallint[], smallint[]) IS
	'Euclidean distance of two vectors of smallint, as of real';

CREATE OPERATOR <-> (
	LEFTARG = smallint[], RIGHTARG = smallint[], FUNCTION = ecp_l2_distance,
	COMMUTATOR = <->
);
COMMENT ON OPERATOR <-> (smallint[], smallint[]) IS
	'Euclidean distance';

CREATE FUNCTION ecp_negative_inner_product(smallint[], smallint[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1::real[] <#> $2::real[];
COMMENT ON FUNCTION ecp_negative_inner_product(smallint[], smallint[]) IS
	'negative inner product of two vectors of smallint, as of real';

CREATE OPERATOR <#> (
	LEFTARG = smallint[], RIGHTARG = smallint[], FUNCTION = ecp_negative_inner_product,
	COMMUTATOR = <#>
);
COMMENT ON OPERATOR <#> (smallint[], smallint[]) IS
	'negative inner product';

CREATE FUNCTION ecp_cosine_distance(smallint[], smallint[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1::real[] <=> $2::real[];
COMMENT ON FUNCTION ecp_cosine_distance(smallint[], smallint[]) IS
	'cosine distance of two vectors of smallint, as of real';

CREATE OPERATOR <=> (
	LEFTARG = smallint[], RIGHTARG = smallint[], FUNCTION = ecp_cosine_distance,
	COMMUTATOR = <=>
);
COMMENT ON OPERATOR <=> (smallint[], smallint[]) IS
	'cosine distance';

CREATE FUNCTION ecp_inner_product(smallint[], smallint[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN ecp_inner_product($1::real[], $2::real[]);
COMMENT ON FUNCTION ecp_inner_product(smallint[], smallint[]) IS
	'inner product of two vectors of smallint, as of real';

CREATE FUNCTION ecp_l2_distance(integer[], integer[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1::real[] <-> $2::real[];
COMMENT ON FUNCTION ecp_l2_distance(integer[], integer[]) IS
	'Euclidean distance of two vectors of integer, as of real';

CREATE OPERATOR <-> (
	LEFTARG = integer[], RIGHTARG = integer[], FUNCTION = ecp_l2_distance,
	COMMUTATOR = <->
);
COMMENT ON OPERATOR <-> (integer[], integer[]) IS
	'Euclidean distance';

CREATE FUNCTION ecp_negative_inner_product(integer[], integer[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1::real[] <#> $2::real[];
COMMENT ON FUNCTION ecp_negative_inner_product(integer[], integer[]) IS
	'negative inner product of two vectors of integer, as of real';

CREATE OPERATOR <#> (
	LEFTARG = integer[], RIGHTARG = integer[], FUNCTION = ecp_negative_inner_product,
	COMMUTATOR = <#>
);
COMMENT ON OPERATOR <#> (integer[], integer[]) IS
	'negative inner product';

CREATE FUNCTION ecp_cosine_distance(integer[], integer[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1::real[] <=> $2::real[];
COMMENT ON FUNCTION ecp_cosine_distance(integer[], integer[]) IS
	'cosine distance of two vectors of integer, as of real';

CREATE OPERATOR <=> (
	LEFTARG = integer[], RIGHTARG = integer[], FUNCTION = ecp_cosine_distance,
	COMMUTATOR = <=>
);
COMMENT ON OPERATOR <=> (integer[], integer[]) IS
	'cosine distance';

CREATE FUNCTION ecp_inner_product(integer[], integer[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN ecp_inner_product($1::real[], $2::real[]);
COMMENT ON FUNCTION ecp_inner_product(integer[], integer[]) IS
	'inner product of two vectors of integer, as of real';

CREATE FUNCTION ecp_l2_distance(bigint[], bigint[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1::real[] <-> $2::real[];
COMMENT ON FUNCTION ecp_l2_distance(bigint[], bigint[]) IS
	'Euclidean distance of two vectors of bigint, as of real';

CREATE OPERATOR <-> (
	LEFTARG = bigint[], RIGHTARG = bigint[], FUNCTION = ecp_l2_distance,
	COMMUTATOR = <->
);
COMMENT ON OPERATOR <-> (bigint[], bigint[]) IS
	'Euclidean distance';

CREATE FUNCTION ecp_negative_inner_product(bigint[], bigint[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1::real[] <#> $2::real[];
COMMENT ON FUNCTION ecp_negative_inner_product(bigint[], bigint[]) IS
	'negative inner product of two vectors of bigint, as of real';

CREATE OPERATOR <#> (
	LEFTARG = bigint[], RIGHTARG = bigint[], FUNCTION = ecp_negative_inner_product,
	COMMUTATOR = <#>
);
COMMENT ON OPERATOR <#> (bigint[], bigint[]) IS
	'negative inner product';

CREATE FUNCTION ecp_cosine_distance(bigint[], bigint[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1::real[] <=> $2::real[];
COMMENT ON FUNCTION ecp_cosine_distance(bigint[], bigint[]) IS
	'cosine distance of two vectors of bigint, as of real';

CREATE OPERATOR <=> (
	LEFTARG = bigint[], RIGHTARG = bigint[], FUNCTION = ecp_cosine_distance,
	COMMUTATOR = <=>
);
COMMENT ON OPERATOR <=> (bigint[], bigint[]) IS
	'cosine distance';

CREATE FUNCTION ecp_inner_product(bigint[], bigint[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN ecp_inner_product($1::real[], $2::real[]);
COMMENT ON FUNCTION ecp_inner_product(bigint[], bigint[]) IS
	'inner product of two vectors of bigint, as of real';

CREATE FUNCTION ecp_l2_distance(numeric[], numeric[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1::real[] <-> $2::real[];
COMMENT ON FUNCTION ecp_l2_distance(numeric[], numeric[]) IS
	'Euclidean distance of two vectors of numeric, as of real';

CREATE OPERATOR <-> (
	LEFTARG = numeric[], RIGHTARG = numeric[], FUNCTION = ecp_l2_distance,
	COMMUTATOR = <->
);
COMMENT ON OPERATOR <-> (numeric[], numeric[]) IS
	'Euclidean distance';

CREATE FUNCTION ecp_negative_inner_product(numeric[], numeric[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1::real[] <#> $2::real[];
COMMENT ON FUNCTION ecp_negative_inner_product(numeric[], numeric[]) IS
	'negative inner product of two vectors of numeric, as of real';

CREATE OPERATOR <#> (
	LEFTARG = numeric[], RIGHTARG = numeric[], FUNCTION = ecp_negative_inner_product,
	COMMUTATOR = <#>
);
COMMENT ON OPERATOR <#> (numeric[], numeric[]) IS
	'negative inner product';

CREATE FUNCTION ecp_cosine_distance(numeric[], numeric[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1::real[] <=> $2::real[];
COMMENT ON FUNCTION ecp_cosine_distance(numeric[], numeric[]) IS
	'cosine distance of two vectors of numeric, as of real';

CREATE OPERATOR <=> (
	LEFTARG = numeric[], RIGHTARG = numeric[], FUNCTION = ecp_cosine_distance,
	COMMUTATOR = <=>
);
COMMENT ON OPERATOR <=> (numeric[], numeric[]) IS
	'cosine distance';

CREATE FUNCTION ecp_inner_product(numeric[], numeric[]) RETURNS float8
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN ecp_inner_product($1::real[], $2::real[]);
COMMENT ON FUNCTION ecp_inner_product(numeric[], numeric[]) IS
	'inner product of two vectors of numeric, as of real';

-- end of vector

-- ======================================================================
-- ecp: the vector index
-- ======================================================================

CREATE FUNCTION ecphandler(internal) RETURNS index_am_handler
	AS 'MODULE_PATHNAME' LANGUAGE C;
COMMENT ON FUNCTION ecphandler(internal) IS
	'handler of the ecp index access method';

CREATE ACCESS METHOD ecp TYPE INDEX HANDLER ecphandler;
COMMENT ON ACCESS METHOD ecp IS
	'approximate nearest-neighbour index by extended Cluster Pruning';

-- ecp: conditions for a radius; the planner turns "v <-> q < r" into
-- "v @<-> (q, r)", see ecp_path.c

CREATE TYPE ecp_real_ball AS (centre real[], radius double precision);
COMMENT ON TYPE ecp_real_ball IS
	'a vector and a distance from it, in conditions that an ecp index checks';

CREATE FUNCTION ecp_within_l2(real[], ecp_real_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <-> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_l2(real[], ecp_real_ball) IS
	'is the Euclidean distance at most the radius?';

CREATE OPERATOR @<-> (
	LEFTARG = real[], RIGHTARG = ecp_real_ball, FUNCTION = ecp_within_l2
);
COMMENT ON OPERATOR @<-> (real[], ecp_real_ball) IS
	'is the Euclidean distance at most the radius?';

CREATE FUNCTION ecp_within_ip(real[], ecp_real_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <#> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_ip(real[], ecp_real_ball) IS
	'is the negative inner product at most the radius?';

CREATE OPERATOR @<#> (
	LEFTARG = real[], RIGHTARG = ecp_real_ball, FUNCTION = ecp_within_ip
);
COMMENT ON OPERATOR @<#> (real[], ecp_real_ball) IS
	'is the negative inner product at most the radius?';

CREATE FUNCTION ecp_within_cosine(real[], ecp_real_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <=> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_cosine(real[], ecp_real_ball) IS
	'is the cosine distance at most the radius?';

CREATE OPERATOR @<=> (
	LEFTARG = real[], RIGHTARG = ecp_real_ball, FUNCTION = ecp_within_cosine
);
COMMENT ON OPERATOR @<=> (real[], ecp_real_ball) IS
	'is the cosine distance at most the radius?';

CREATE FUNCTION ecp_within_l1(real[], ecp_real_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <+> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_l1(real[], ecp_real_ball) IS
	'is the L1 distance at most the radius?';

CREATE OPERATOR @<+> (
	LEFTARG = real[], RIGHTARG = ecp_real_ball, FUNCTION = ecp_within_l1
);
COMMENT ON OPERATOR @<+> (real[], ecp_real_ball) IS
	'is the L1 distance at most the radius?';

CREATE TYPE ecp_double_ball AS (centre double precision[], radius double precision);
COMMENT ON TYPE ecp_double_ball IS
	'a vector and a distance from it, in conditions that an ecp index checks';

CREATE FUNCTION ecp_within_l2(double precision[], ecp_double_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <-> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_l2(double precision[], ecp_double_ball) IS
	'is the Euclidean distance at most the radius?';

CREATE OPERATOR @<-> (
	LEFTARG = double precision[], RIGHTARG = ecp_double_ball, FUNCTION = ecp_within_l2
);
COMMENT ON OPERATOR @<-> (double precision[], ecp_double_ball) IS
	'is the Euclidean distance at most the radius?';

CREATE FUNCTION ecp_within_ip(double precision[], ecp_double_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <#> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_ip(double precision[], ecp_double_ball) IS
	'is the negative inner product at most the radius?';

CREATE OPERATOR @<#> (
	LEFTARG = double precision[], RIGHTARG = ecp_double_ball, FUNCTION = ecp_within_ip
);
COMMENT ON OPERATOR @<#> (double precision[], ecp_double_ball) IS
	'is the negative inner product at most the radius?';

CREATE FUNCTION ecp_within_cosine(double precision[], ecp_double_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <=> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_cosine(double precision[], ecp_double_ball) IS
	'is the cosine distance at most the radius?';

CREATE OPERATOR @<=> (
	LEFTARG = double precision[], RIGHTARG = ecp_double_ball, FUNCTION = ecp_within_cosine
);
COMMENT ON OPERATOR @<=> (double precision[], ecp_double_ball) IS
	'is the cosine distance at most the radius?';

CREATE FUNCTION ecp_within_l1(double precision[], ecp_double_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <+> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_l1(double precision[], ecp_double_ball) IS
	'is the L1 distance at most the radius?';

CREATE OPERATOR @<+> (
	LEFTARG = double precision[], RIGHTARG = ecp_double_ball, FUNCTION = ecp_within_l1
);
COMMENT ON OPERATOR @<+> (double precision[], ecp_double_ball) IS
	'is the L1 distance at most the radius?';

CREATE TYPE ecp_bytea_ball AS (centre bytea, radius double precision);
COMMENT ON TYPE ecp_bytea_ball IS
	'a vector and a distance from it, in conditions that an ecp index checks';

CREATE FUNCTION ecp_within_l2(bytea, ecp_bytea_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <-> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_l2(bytea, ecp_bytea_ball) IS
	'is the Euclidean distance at most the radius?';

CREATE OPERATOR @<-> (
	LEFTARG = bytea, RIGHTARG = ecp_bytea_ball, FUNCTION = ecp_within_l2
);
COMMENT ON OPERATOR @<-> (bytea, ecp_bytea_ball) IS
	'is the Euclidean distance at most the radius?';

CREATE FUNCTION ecp_within_ip(bytea, ecp_bytea_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <#> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_ip(bytea, ecp_bytea_ball) IS
	'is the negative inner product at most the radius?';

CREATE OPERATOR @<#> (
	LEFTARG = bytea, RIGHTARG = ecp_bytea_ball, FUNCTION = ecp_within_ip
);
COMMENT ON OPERATOR @<#> (bytea, ecp_bytea_ball) IS
	'is the negative inner product at most the radius?';

CREATE FUNCTION ecp_within_cosine(bytea, ecp_bytea_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <=> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_cosine(bytea, ecp_bytea_ball) IS
	'is the cosine distance at most the radius?';

CREATE OPERATOR @<=> (
	LEFTARG = bytea, RIGHTARG = ecp_bytea_ball, FUNCTION = ecp_within_cosine
);
COMMENT ON OPERATOR @<=> (bytea, ecp_bytea_ball) IS
	'is the cosine distance at most the radius?';

-- "bit" in quotes is the type without a length

CREATE TYPE ecp_bit_ball AS (centre "bit", radius double precision);
COMMENT ON TYPE ecp_bit_ball IS
	'a bit string and a distance from it, in conditions that an ecp index checks';

CREATE FUNCTION ecp_within_hamming(bit, ecp_bit_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <-> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_hamming(bit, ecp_bit_ball) IS
	'is the Hamming distance at most the radius?';

CREATE OPERATOR @<-> (
	LEFTARG = bit, RIGHTARG = ecp_bit_ball, FUNCTION = ecp_within_hamming
);
COMMENT ON OPERATOR @<-> (bit, ecp_bit_ball) IS
	'is the Hamming distance at most the radius?';

CREATE FUNCTION ecp_within_jaccard(bit, ecp_bit_ball) RETURNS boolean
	LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10
	RETURN $1 <&> ($2).centre OPERATOR(pg_catalog.<=) ($2).radius;
COMMENT ON FUNCTION ecp_within_jaccard(bit, ecp_bit_ball) IS
	'is the Jaccard distance at most the radius?';

CREATE OPERATOR @<&> (
	LEFTARG = bit, RIGHTARG = ecp_bit_ball, FUNCTION = ecp_within_jaccard
);
COMMENT ON OPERATOR @<&> (bit, ecp_bit_ball) IS
	'is the Jaccard distance at most the radius?';

-- support functions that describe the column; see ecp_validate.c

CREATE FUNCTION ecp_class_real_l2(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_real_l2(internal) IS
	'support function of real_l2_ops: element kind and metric';

CREATE FUNCTION ecp_class_real_ip(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_real_ip(internal) IS
	'support function of real_ip_ops: element kind and metric';

CREATE FUNCTION ecp_class_real_cosine(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_real_cosine(internal) IS
	'support function of real_cosine_ops: element kind and metric';

CREATE FUNCTION ecp_class_real_l1(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_real_l1(internal) IS
	'support function of real_l1_ops: element kind and metric';

CREATE FUNCTION ecp_class_double_l2(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_double_l2(internal) IS
	'support function of double_l2_ops: element kind and metric';

CREATE FUNCTION ecp_class_double_ip(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_double_ip(internal) IS
	'support function of double_ip_ops: element kind and metric';

CREATE FUNCTION ecp_class_double_cosine(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_double_cosine(internal) IS
	'support function of double_cosine_ops: element kind and metric';

CREATE FUNCTION ecp_class_double_l1(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_double_l1(internal) IS
	'support function of double_l1_ops: element kind and metric';

CREATE FUNCTION ecp_class_bytea_l2(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_bytea_l2(internal) IS
	'support function of bytea_l2_ops: element kind and metric';

CREATE FUNCTION ecp_class_bytea_ip(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_bytea_ip(internal) IS
	'support function of bytea_ip_ops: element kind and metric';

CREATE FUNCTION ecp_class_bytea_cosine(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_bytea_cosine(internal) IS
	'support function of bytea_cosine_ops: element kind and metric';

CREATE FUNCTION ecp_class_bit_hamming(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_bit_hamming(internal) IS
	'support function of bit_ops: element kind and metric';

CREATE FUNCTION ecp_class_bit_jaccard(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_bit_jaccard(internal) IS
	'support function of bit_set_ops: element kind and metric';

-- double precision[] is rounded to real, by the operators and in an index.  The
-- families have both types, so that each can be searched for in the other.

CREATE OPERATOR FAMILY real_l2_ops USING ecp;
COMMENT ON OPERATOR FAMILY real_l2_ops USING ecp IS
	'vectors of real or double precision by Euclidean distance';

CREATE OPERATOR CLASS real_l2_ops DEFAULT FOR TYPE real[]
	USING ecp FAMILY real_l2_ops AS
	OPERATOR 1 <-> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<-> (real[], ecp_real_ball),
	FUNCTION 1 ecp_class_real_l2(internal),
	FUNCTION 2 (double precision[], real[]) ecp_real(double precision[]);
COMMENT ON OPERATOR CLASS real_l2_ops USING ecp IS
	'vectors of real by Euclidean distance';

CREATE OPERATOR CLASS double_l2_ops DEFAULT FOR TYPE double precision[]
	USING ecp FAMILY real_l2_ops AS
	OPERATOR 1 <-> (double precision[], double precision[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<-> (double precision[], ecp_double_ball),
	FUNCTION 1 ecp_class_double_l2(internal),
	FUNCTION 2 (real[], double precision[]) ecp_double(real[]);
COMMENT ON OPERATOR CLASS double_l2_ops USING ecp IS
	'vectors of double precision by Euclidean distance, rounded to real';

CREATE OPERATOR FAMILY real_ip_ops USING ecp;
COMMENT ON OPERATOR FAMILY real_ip_ops USING ecp IS
	'vectors of real or double precision by negative inner product';

CREATE OPERATOR CLASS real_ip_ops FOR TYPE real[]
	USING ecp FAMILY real_ip_ops AS
	OPERATOR 1 <#> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<#> (real[], ecp_real_ball),
	FUNCTION 1 ecp_class_real_ip(internal),
	FUNCTION 2 (double precision[], real[]) ecp_real(double precision[]);
COMMENT ON OPERATOR CLASS real_ip_ops USING ecp IS
	'vectors of real by negative inner product';

CREATE OPERATOR CLASS double_ip_ops FOR TYPE double precision[]
	USING ecp FAMILY real_ip_ops AS
	OPERATOR 1 <#> (double precision[], double precision[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<#> (double precision[], ecp_double_ball),
	FUNCTION 1 ecp_class_double_ip(internal),
	FUNCTION 2 (real[], double precision[]) ecp_double(real[]);
COMMENT ON OPERATOR CLASS double_ip_ops USING ecp IS
	'vectors of double precision by negative inner product, rounded to real';

CREATE OPERATOR FAMILY real_cosine_ops USING ecp;
COMMENT ON OPERATOR FAMILY real_cosine_ops USING ecp IS
	'vectors of real or double precision by cosine distance';

CREATE OPERATOR CLASS real_cosine_ops FOR TYPE real[]
	USING ecp FAMILY real_cosine_ops AS
	OPERATOR 1 <=> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<=> (real[], ecp_real_ball),
	FUNCTION 1 ecp_class_real_cosine(internal),
	FUNCTION 2 (double precision[], real[]) ecp_real(double precision[]);
COMMENT ON OPERATOR CLASS real_cosine_ops USING ecp IS
	'vectors of real by cosine distance';

CREATE OPERATOR CLASS double_cosine_ops FOR TYPE double precision[]
	USING ecp FAMILY real_cosine_ops AS
	OPERATOR 1 <=> (double precision[], double precision[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<=> (double precision[], ecp_double_ball),
	FUNCTION 1 ecp_class_double_cosine(internal),
	FUNCTION 2 (real[], double precision[]) ecp_double(real[]);
COMMENT ON OPERATOR CLASS double_cosine_ops USING ecp IS
	'vectors of double precision by cosine distance, rounded to real';

CREATE OPERATOR FAMILY real_l1_ops USING ecp;
COMMENT ON OPERATOR FAMILY real_l1_ops USING ecp IS
	'vectors of real or double precision by L1 distance';

CREATE OPERATOR CLASS real_l1_ops FOR TYPE real[]
	USING ecp FAMILY real_l1_ops AS
	OPERATOR 1 <+> (real[], real[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<+> (real[], ecp_real_ball),
	FUNCTION 1 ecp_class_real_l1(internal),
	FUNCTION 2 (double precision[], real[]) ecp_real(double precision[]);
COMMENT ON OPERATOR CLASS real_l1_ops USING ecp IS
	'vectors of real by L1 distance';

CREATE OPERATOR CLASS double_l1_ops FOR TYPE double precision[]
	USING ecp FAMILY real_l1_ops AS
	OPERATOR 1 <+> (double precision[], double precision[]) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<+> (double precision[], ecp_double_ball),
	FUNCTION 1 ecp_class_double_l1(internal),
	FUNCTION 2 (real[], double precision[]) ecp_double(real[]);
COMMENT ON OPERATOR CLASS double_l1_ops USING ecp IS
	'vectors of double precision by L1 distance, rounded to real';

CREATE OPERATOR FAMILY bytea_l2_ops USING ecp;
COMMENT ON OPERATOR FAMILY bytea_l2_ops USING ecp IS
	'vectors of unsigned bytes by Euclidean distance';

CREATE OPERATOR CLASS bytea_l2_ops DEFAULT FOR TYPE bytea
	USING ecp FAMILY bytea_l2_ops AS
	OPERATOR 1 <-> (bytea, bytea) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<-> (bytea, ecp_bytea_ball),
	FUNCTION 1 ecp_class_bytea_l2(internal);
COMMENT ON OPERATOR CLASS bytea_l2_ops USING ecp IS
	'vectors of unsigned bytes by Euclidean distance';

CREATE OPERATOR FAMILY bytea_ip_ops USING ecp;
COMMENT ON OPERATOR FAMILY bytea_ip_ops USING ecp IS
	'vectors of unsigned bytes by negative inner product';

CREATE OPERATOR CLASS bytea_ip_ops FOR TYPE bytea
	USING ecp FAMILY bytea_ip_ops AS
	OPERATOR 1 <#> (bytea, bytea) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<#> (bytea, ecp_bytea_ball),
	FUNCTION 1 ecp_class_bytea_ip(internal);
COMMENT ON OPERATOR CLASS bytea_ip_ops USING ecp IS
	'vectors of unsigned bytes by negative inner product';

CREATE OPERATOR FAMILY bytea_cosine_ops USING ecp;
COMMENT ON OPERATOR FAMILY bytea_cosine_ops USING ecp IS
	'vectors of unsigned bytes by cosine distance';

CREATE OPERATOR CLASS bytea_cosine_ops FOR TYPE bytea
	USING ecp FAMILY bytea_cosine_ops AS
	OPERATOR 1 <=> (bytea, bytea) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<=> (bytea, ecp_bytea_ball),
	FUNCTION 1 ecp_class_bytea_cosine(internal);
COMMENT ON OPERATOR CLASS bytea_cosine_ops USING ecp IS
	'vectors of unsigned bytes by cosine distance';

-- ecp_pgvector has a class bit_hamming_ops, with pgvector's operator

CREATE OPERATOR FAMILY bit_ops USING ecp;
COMMENT ON OPERATOR FAMILY bit_ops USING ecp IS
	'bit strings by Hamming distance';

CREATE OPERATOR CLASS bit_ops DEFAULT FOR TYPE bit
	USING ecp FAMILY bit_ops AS
	OPERATOR 1 <-> (bit, bit) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<-> (bit, ecp_bit_ball),
	FUNCTION 1 ecp_class_bit_hamming(internal);
COMMENT ON OPERATOR CLASS bit_ops USING ecp IS
	'bit strings by Hamming distance';

-- pgvector has <%> for this, which ecp_pgvector has a class bit_jaccard_ops for; here it
-- would be in the way where both are in one schema

CREATE OPERATOR FAMILY bit_set_ops USING ecp;
COMMENT ON OPERATOR FAMILY bit_set_ops USING ecp IS
	'bit strings as sets, by Jaccard distance';

CREATE OPERATOR CLASS bit_set_ops FOR TYPE bit
	USING ecp FAMILY bit_set_ops AS
	OPERATOR 1 <&> (bit, bit) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 @<&> (bit, ecp_bit_ball),
	FUNCTION 1 ecp_class_bit_jaccard(internal);
COMMENT ON OPERATOR CLASS bit_set_ops USING ecp IS
	'bit strings as sets, by Jaccard distance';

-- ecp: key attributes, the key columns after the vector; see ecp_attr.h

CREATE FUNCTION ecp_class_attr_bool(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_attr_bool(internal) IS
	'support function of key attributes: boolean values';

CREATE FUNCTION ecp_class_attr_char(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_attr_char(internal) IS
	'support function of key attributes: single bytes';

CREATE FUNCTION ecp_class_attr_int2(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_attr_int2(internal) IS
	'support function of key attributes: smallint values';

CREATE FUNCTION ecp_class_attr_int4(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_attr_int4(internal) IS
	'support function of key attributes: integer values and dates';

CREATE FUNCTION ecp_class_attr_int8(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_attr_int8(internal) IS
	'support function of key attributes: bigint values, times and timestamps';

CREATE FUNCTION ecp_class_attr_oid(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_attr_oid(internal) IS
	'support function of key attributes: object identifiers and enumerations';

CREATE FUNCTION ecp_class_attr_float4(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_attr_float4(internal) IS
	'support function of key attributes: real values';

CREATE FUNCTION ecp_class_attr_float8(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_attr_float8(internal) IS
	'support function of key attributes: double precision values';

CREATE FUNCTION ecp_class_attr_uuid(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_attr_uuid(internal) IS
	'support function of key attributes: UUIDs';

CREATE FUNCTION ecp_class_attr_hash(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_attr_hash(internal) IS
	'support function of key attributes: hash values';

CREATE FUNCTION ecp_class_attr_prefix(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_attr_prefix(internal) IS
	'support function of key attributes: first bytes of texts';

CREATE FUNCTION ecp_class_attr_tags(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_attr_tags(internal) IS
	'support function of key attributes: elements of arrays';

CREATE FUNCTION ecp_class_attr_paths(internal) RETURNS integer
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_class_attr_paths(internal) IS
	'support function of key attributes: hashed paths of jsonb';

-- conditions below AND and OR, which the planner makes: see ecp_attr_tree.c
CREATE FUNCTION ecp_attr_tree_true(anyelement, record) RETURNS boolean
	AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION ecp_attr_tree_true(anyelement, record) IS
	'true: only an ecp index knows what the condition says';
CREATE OPERATOR @| (
	LEFTARG = anyelement, RIGHTARG = record, FUNCTION = ecp_attr_tree_true
);
COMMENT ON OPERATOR @| (anyelement, record) IS
	'the condition of a query that an ecp index checks for the planner';

CREATE OPERATOR FAMILY integer_ops USING ecp;
COMMENT ON OPERATOR FAMILY integer_ops USING ecp IS
	'key attributes: integers';

CREATE OPERATOR CLASS int2_ops DEFAULT FOR TYPE smallint
	USING ecp FAMILY integer_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 ecp_class_attr_int2(internal);
COMMENT ON OPERATOR CLASS int2_ops USING ecp IS
	'key attributes: smallint';

CREATE OPERATOR CLASS int4_ops DEFAULT FOR TYPE integer
	USING ecp FAMILY integer_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 ecp_class_attr_int4(internal);
COMMENT ON OPERATOR CLASS int4_ops USING ecp IS
	'key attributes: integer';

CREATE OPERATOR CLASS int8_ops DEFAULT FOR TYPE bigint
	USING ecp FAMILY integer_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 ecp_class_attr_int8(internal);
COMMENT ON OPERATOR CLASS int8_ops USING ecp IS
	'key attributes: bigint';

ALTER OPERATOR FAMILY integer_ops USING ecp ADD
	OPERATOR 1 < (smallint, integer),
	OPERATOR 2 <= (smallint, integer),
	OPERATOR 3 = (smallint, integer),
	OPERATOR 4 >= (smallint, integer),
	OPERATOR 5 > (smallint, integer),
	OPERATOR 1 < (smallint, bigint),
	OPERATOR 2 <= (smallint, bigint),
	OPERATOR 3 = (smallint, bigint),
	OPERATOR 4 >= (smallint, bigint),
	OPERATOR 5 > (smallint, bigint),
	OPERATOR 1 < (integer, smallint),
	OPERATOR 2 <= (integer, smallint),
	OPERATOR 3 = (integer, smallint),
	OPERATOR 4 >= (integer, smallint),
	OPERATOR 5 > (integer, smallint),
	OPERATOR 1 < (integer, bigint),
	OPERATOR 2 <= (integer, bigint),
	OPERATOR 3 = (integer, bigint),
	OPERATOR 4 >= (integer, bigint),
	OPERATOR 5 > (integer, bigint),
	OPERATOR 1 < (bigint, smallint),
	OPERATOR 2 <= (bigint, smallint),
	OPERATOR 3 = (bigint, smallint),
	OPERATOR 4 >= (bigint, smallint),
	OPERATOR 5 > (bigint, smallint),
	OPERATOR 1 < (bigint, integer),
	OPERATOR 2 <= (bigint, integer),
	OPERATOR 3 = (bigint, integer),
	OPERATOR 4 >= (bigint, integer),
	OPERATOR 5 > (bigint, integer);

CREATE OPERATOR FAMILY float_ops USING ecp;
COMMENT ON OPERATOR FAMILY float_ops USING ecp IS
	'key attributes: floating-point numbers';

CREATE OPERATOR CLASS float4_ops DEFAULT FOR TYPE real
	USING ecp FAMILY float_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 ecp_class_attr_float4(internal);
COMMENT ON OPERATOR CLASS float4_ops USING ecp IS
	'key attributes: real';

CREATE OPERATOR CLASS float8_ops DEFAULT FOR TYPE double precision
	USING ecp FAMILY float_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 ecp_class_attr_float8(internal);
COMMENT ON OPERATOR CLASS float8_ops USING ecp IS
	'key attributes: double precision';

ALTER OPERATOR FAMILY float_ops USING ecp ADD
	OPERATOR 1 < (real, double precision),
	OPERATOR 2 <= (real, double precision),
	OPERATOR 3 = (real, double precision),
	OPERATOR 4 >= (real, double precision),
	OPERATOR 5 > (real, double precision),
	OPERATOR 1 < (double precision, real),
	OPERATOR 2 <= (double precision, real),
	OPERATOR 3 = (double precision, real),
	OPERATOR 4 >= (double precision, real),
	OPERATOR 5 > (double precision, real);

CREATE OPERATOR FAMILY bool_ops USING ecp;
COMMENT ON OPERATOR FAMILY bool_ops USING ecp IS
	'key attributes: boolean';

CREATE OPERATOR CLASS bool_ops DEFAULT FOR TYPE boolean
	USING ecp FAMILY bool_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 ecp_class_attr_bool(internal);
COMMENT ON OPERATOR CLASS bool_ops USING ecp IS
	'key attributes: boolean';

CREATE OPERATOR FAMILY char_ops USING ecp;
COMMENT ON OPERATOR FAMILY char_ops USING ecp IS
	'key attributes: "char"';

CREATE OPERATOR CLASS char_ops DEFAULT FOR TYPE "char"
	USING ecp FAMILY char_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 ecp_class_attr_char(internal);
COMMENT ON OPERATOR CLASS char_ops USING ecp IS
	'key attributes: "char"';

CREATE OPERATOR FAMILY oid_ops USING ecp;
COMMENT ON OPERATOR FAMILY oid_ops USING ecp IS
	'key attributes: oid';

CREATE OPERATOR CLASS oid_ops DEFAULT FOR TYPE oid
	USING ecp FAMILY oid_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 ecp_class_attr_oid(internal);
COMMENT ON OPERATOR CLASS oid_ops USING ecp IS
	'key attributes: oid';

CREATE OPERATOR FAMILY datetime_ops USING ecp;
COMMENT ON OPERATOR FAMILY datetime_ops USING ecp IS
	'key attributes: dates and times of dates';

CREATE OPERATOR CLASS date_ops DEFAULT FOR TYPE date
	USING ecp FAMILY datetime_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 ecp_class_attr_int4(internal);
COMMENT ON OPERATOR CLASS date_ops USING ecp IS
	'key attributes: date';

CREATE OPERATOR CLASS timestamp_ops DEFAULT FOR TYPE timestamp
	USING ecp FAMILY datetime_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 ecp_class_attr_int8(internal);
COMMENT ON OPERATOR CLASS timestamp_ops USING ecp IS
	'key attributes: timestamp';

CREATE OPERATOR CLASS timestamptz_ops DEFAULT FOR TYPE timestamptz
	USING ecp FAMILY datetime_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 ecp_class_attr_int8(internal);
COMMENT ON OPERATOR CLASS timestamptz_ops USING ecp IS
	'key attributes: timestamptz';

ALTER OPERATOR FAMILY datetime_ops USING ecp ADD
	OPERATOR 1 < (date, timestamp),
	OPERATOR 2 <= (date, timestamp),
	OPERATOR 3 = (date, timestamp),
	OPERATOR 4 >= (date, timestamp),
	OPERATOR 5 > (date, timestamp),
	OPERATOR 1 < (timestamp, date),
	OPERATOR 2 <= (timestamp, date),
	OPERATOR 3 = (timestamp, date),
	OPERATOR 4 >= (timestamp, date),
	OPERATOR 5 > (timestamp, date),
	OPERATOR 1 < (timestamptz, date),
	OPERATOR 2 <= (timestamptz, date),
	OPERATOR 3 = (timestamptz, date),
	OPERATOR 4 >= (timestamptz, date),
	OPERATOR 5 > (timestamptz, date),
	OPERATOR 1 < (timestamptz, timestamp),
	OPERATOR 2 <= (timestamptz, timestamp),
	OPERATOR 3 = (timestamptz, timestamp),
	OPERATOR 4 >= (timestamptz, timestamp),
	OPERATOR 5 > (timestamptz, timestamp);

CREATE OPERATOR FAMILY time_ops USING ecp;
COMMENT ON OPERATOR FAMILY time_ops USING ecp IS
	'key attributes: time';

CREATE OPERATOR CLASS time_ops DEFAULT FOR TYPE time
	USING ecp FAMILY time_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 ecp_class_attr_int8(internal);
COMMENT ON OPERATOR CLASS time_ops USING ecp IS
	'key attributes: time';

CREATE OPERATOR FAMILY uuid_ops USING ecp;
COMMENT ON OPERATOR FAMILY uuid_ops USING ecp IS
	'key attributes: uuid';

CREATE OPERATOR CLASS uuid_ops DEFAULT FOR TYPE uuid
	USING ecp FAMILY uuid_ops AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 ecp_class_attr_uuid(internal);
COMMENT ON OPERATOR CLASS uuid_ops USING ecp IS
	'key attributes: uuid';

CREATE OPERATOR FAMILY enum_ops USING ecp;
COMMENT ON OPERATOR FAMILY enum_ops USING ecp IS
	'key attributes: anyenum';

CREATE OPERATOR CLASS enum_ops DEFAULT FOR TYPE anyenum
	USING ecp FAMILY enum_ops AS
	OPERATOR 3 =,
	FUNCTION 1 ecp_class_attr_oid(internal);
COMMENT ON OPERATOR CLASS enum_ops USING ecp IS
	'key attributes: anyenum, by equality';

CREATE OPERATOR FAMILY text_ops USING ecp;
COMMENT ON OPERATOR FAMILY text_ops USING ecp IS
	'key attributes: text';

CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text
	USING ecp FAMILY text_ops AS
	OPERATOR 3 =,
	FUNCTION 1 ecp_class_attr_hash(internal);
COMMENT ON OPERATOR CLASS text_ops USING ecp IS
	'key attributes: text, by equality';

CREATE OPERATOR FAMILY text_pattern_ops USING ecp;
COMMENT ON OPERATOR FAMILY text_pattern_ops USING ecp IS
	'key attributes: text, by its bytes';

CREATE OPERATOR CLASS text_pattern_ops FOR TYPE text
	USING ecp FAMILY text_pattern_ops AS
	OPERATOR 1 ~<~,
	OPERATOR 2 ~<=~,
	OPERATOR 3 =,
	OPERATOR 4 ~>=~,
	OPERATOR 5 ~>~,
	FUNCTION 1 ecp_class_attr_prefix(internal);
COMMENT ON OPERATOR CLASS text_pattern_ops USING ecp IS
	'key attributes: text, by equality and LIKE with a prefix';

CREATE OPERATOR FAMILY bpchar_ops USING ecp;
COMMENT ON OPERATOR FAMILY bpchar_ops USING ecp IS
	'key attributes: character';

CREATE OPERATOR CLASS bpchar_ops DEFAULT FOR TYPE character
	USING ecp FAMILY bpchar_ops AS
	OPERATOR 3 =,
	FUNCTION 1 ecp_class_attr_hash(internal);
COMMENT ON OPERATOR CLASS bpchar_ops USING ecp IS
	'key attributes: character, by equality';

CREATE OPERATOR FAMILY numeric_ops USING ecp;
COMMENT ON OPERATOR FAMILY numeric_ops USING ecp IS
	'key attributes: numeric';

CREATE OPERATOR CLASS numeric_ops DEFAULT FOR TYPE numeric
	USING ecp FAMILY numeric_ops AS
	OPERATOR 3 =,
	FUNCTION 1 ecp_class_attr_hash(internal);
COMMENT ON OPERATOR CLASS numeric_ops USING ecp IS
	'key attributes: numeric, by equality';

CREATE OPERATOR FAMILY array_ops USING ecp;
COMMENT ON OPERATOR FAMILY array_ops USING ecp IS
	'key attributes: arrays of tags';

CREATE OPERATOR CLASS array_ops DEFAULT FOR TYPE anyarray
	USING ecp FAMILY array_ops AS
	OPERATOR 1 &&,
	OPERATOR 2 @>,
	OPERATOR 3 =,
	OPERATOR 4 <@,
	FUNCTION 1 ecp_class_attr_tags(internal);
COMMENT ON OPERATOR CLASS array_ops USING ecp IS
	'key attributes: arrays of tags';

CREATE OPERATOR FAMILY jsonb_path_ops USING ecp;
COMMENT ON OPERATOR FAMILY jsonb_path_ops USING ecp IS
	'key attributes: jsonb, by its paths';

CREATE OPERATOR CLASS jsonb_path_ops DEFAULT FOR TYPE jsonb
	USING ecp FAMILY jsonb_path_ops AS
	OPERATOR 2 @>,
	OPERATOR 3 =,
	FUNCTION 1 ecp_class_attr_paths(internal);
COMMENT ON OPERATOR CLASS jsonb_path_ops USING ecp IS
	'key attributes: jsonb, by its paths';

ALTER OPERATOR FAMILY integer_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);
ALTER OPERATOR FAMILY float_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);
ALTER OPERATOR FAMILY bool_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);
ALTER OPERATOR FAMILY char_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);
ALTER OPERATOR FAMILY oid_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);
ALTER OPERATOR FAMILY time_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);
ALTER OPERATOR FAMILY datetime_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);
ALTER OPERATOR FAMILY uuid_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);
ALTER OPERATOR FAMILY enum_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);
ALTER OPERATOR FAMILY text_pattern_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);
ALTER OPERATOR FAMILY text_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);
ALTER OPERATOR FAMILY bpchar_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);
ALTER OPERATOR FAMILY numeric_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);
ALTER OPERATOR FAMILY array_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);
ALTER OPERATOR FAMILY jsonb_path_ops USING ecp ADD OPERATOR 20 @| (anyelement, record);

CREATE FUNCTION ecp_last_scan(OUT indexrelid regclass, OUT wanted bigint,
	OUT probes integer, OUT early boolean, OUT estimated_recall float8,
	OUT windows bigint, OUT clusters bigint, OUT skipped bigint,
	OUT pages bigint, OUT vectors bigint, OUT reranked bigint,
	OUT filtered bigint, OUT returned bigint, OUT dropped bigint, OUT stop text)
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL RESTRICTED STRICT;
COMMENT ON FUNCTION ecp_last_scan() IS
	'what the last scan of an ecp index in this session was asked for, read, dropped and returned, and why it stopped (a query whose plan has none changes nothing)';

CREATE FUNCTION ecp_recall(index regclass, k integer DEFAULT 10,
	probes integer[] DEFAULT NULL, samples integer DEFAULT 100,
	seed integer DEFAULT 1, queries text DEFAULT NULL,
	store boolean DEFAULT false,
	OUT probes integer, OUT recall float8, OUT clusters float8,
	OUT vectors float8, OUT ms float8)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000 ROWS 6;
COMMENT ON FUNCTION ecp_recall(regclass, integer, integer[], integer, integer, text, boolean) IS
	'share of the true nearest rows that an ecp index finds by the settings in force (probes 0), and by number of probes; store => true also measures and stores what recall targets require';

CREATE FUNCTION ecp_forecast(rel regclass, col name, opclass text DEFAULT NULL,
	options text[] DEFAULT NULL, k integer DEFAULT 10, OUT vectors text,
	OUT rows bigint, OUT bytes bigint, OUT memory bigint, OUT cpu_s float8,
	OUT wal bigint, OUT compared_90 float8, OUT compared_95 float8,
	OUT compared_99 float8, OUT ms_90 float8, OUT ms_95 float8, OUT ms_99 float8)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000 ROWS 3;
COMMENT ON FUNCTION ecp_forecast(regclass, name, text, text[], integer) IS
	'what an ecp index on a column would take, for each value of vectors, from indexes on a sample that are rolled back: bytes, memory, processor seconds and WAL of the build, and the rows compared and milliseconds of a query at a recall of .90, .95 and .99';

-- ecp: batches of queries

CREATE FUNCTION ecp_knn_batch(index regclass, queries anyarray,
	k integer DEFAULT 10, condition text DEFAULT NULL, OUT query bigint,
	OUT rank integer, OUT tid tid, OUT distance float8) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED
	COST 1000 ROWS 10000;
COMMENT ON FUNCTION ecp_knn_batch(regclass, anyarray, integer, text) IS
	'the k rows of a table nearest to each vector of an array, through one pass over an ecp index';

CREATE FUNCTION ecp_knn_batch(index regclass, queries text,
	k integer DEFAULT 10, condition text DEFAULT NULL, OUT query bigint,
	OUT rank integer, OUT tid tid, OUT distance float8) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED
	COST 1000 ROWS 10000;
COMMENT ON FUNCTION ecp_knn_batch(regclass, text, integer, text) IS
	'the k rows of a table nearest to each vector that a query returns, through one pass over an ecp index';

CREATE FUNCTION ecp_knn_fetch(index regclass, queries anyarray,
	columns name[], k integer DEFAULT 10, condition text DEFAULT NULL,
	OUT query bigint, OUT rank integer, OUT distance float8, OUT data jsonb)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED
	COST 1000 ROWS 10000;
COMMENT ON FUNCTION ecp_knn_fetch(regclass, anyarray, name[], integer, text) IS
	'the k rows of a table nearest to each vector of an array, with some of their columns';

CREATE FUNCTION ecp_knn_exact(index regclass, queries anyarray,
	k integer DEFAULT 10, condition text DEFAULT NULL, OUT query bigint,
	OUT rank integer, OUT tid tid, OUT distance float8) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED
	COST 100000 ROWS 10000;
COMMENT ON FUNCTION ecp_knn_exact(regclass, anyarray, integer, text) IS
	'the k rows of a table nearest to each vector of an array, by comparing all indexed rows';

CREATE FUNCTION ecp_knn_exact(index regclass, queries text,
	k integer DEFAULT 10, condition text DEFAULT NULL, OUT query bigint,
	OUT rank integer, OUT tid tid, OUT distance float8) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED
	COST 100000 ROWS 10000;
COMMENT ON FUNCTION ecp_knn_exact(regclass, text, integer, text) IS
	'the k rows of a table nearest to each vector that a query returns, by comparing all indexed rows';

CREATE FUNCTION ecp_knn_groups(index regclass, query anyelement,
	grouped_by name, k integer DEFAULT 10, condition text DEFAULT NULL,
	OUT rank integer, OUT tid tid, OUT distance float8) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED
	COST 1000 ROWS 10;
COMMENT ON FUNCTION ecp_knn_groups(regclass, anyelement, name, integer, text) IS
	'the row of a table nearest to a vector in each of the k nearest groups of rows with the same value in a column, through an ecp index';

CREATE FUNCTION ecp_knn_max_sim(index regclass, queries anyarray,
	grouped_by name, k integer DEFAULT 10, rows integer DEFAULT 100,
	candidates integer DEFAULT 200, condition text DEFAULT NULL,
	OUT rank integer, OUT tid tid, OUT distance float8) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED
	COST 10000 ROWS 10;
COMMENT ON FUNCTION ecp_knn_max_sim(regclass, anyarray, name, integer, integer, integer, text) IS
	'the documents, groups of rows with the same value in a column, nearest to an array of vectors by the sum of the least distances (MaxSim), through an ecp index';

CREATE FUNCTION ecp_knn_max_sim(index regclass, queries text,
	grouped_by name, k integer DEFAULT 10, rows integer DEFAULT 100,
	candidates integer DEFAULT 200, condition text DEFAULT NULL,
	OUT rank integer, OUT tid tid, OUT distance float8) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE PARALLEL RESTRICTED
	COST 10000 ROWS 10;
COMMENT ON FUNCTION ecp_knn_max_sim(regclass, text, name, integer, integer, integer, text) IS
	'the documents, groups of rows with the same value in a column, nearest to the vectors that a query returns by the sum of the least distances (MaxSim), through an ecp index';

CREATE FUNCTION ecp_vote(index regclass, queries text, image name,
	k integer DEFAULT 10, OUT image text, OUT votes bigint,
	OUT matches bigint, OUT nearest float8) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STABLE STRICT PARALLEL RESTRICTED
	COST 1000 ROWS 100;
COMMENT ON FUNCTION ecp_vote(regclass, text, name, integer) IS
	'images, identified by a column of the table, ranked by the number of a photograph''s descriptors that have neighbours in them';

-- ecp: several servers

CREATE FUNCTION ecp_shard_query(parent regclass, col name, k integer, operator text DEFAULT '<->')
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
	-- by name: a partition may have its columns in another order
	WITH listed AS (
		SELECT pg_catalog.string_agg(pg_catalog.quote_ident(attname), ', ' ORDER BY attnum) AS columns
		FROM pg_catalog.pg_attribute
		WHERE attrelid OPERATOR(pg_catalog.=) parent AND attnum > 0 AND NOT attisdropped
			-- an error if there is no such column
			AND pg_catalog.has_column_privilege(parent::pg_catalog.oid, col::pg_catalog.text, 'SELECT') IS NOT NULL
	),
	-- look up the operator by name, so that no other text enters the query; an error if there is none
	compared AS (
		SELECT pg_catalog.format('OPERATOR(%I.%s)', nspname, oprname) AS op
		FROM pg_catalog.pg_attribute AS a, pg_catalog.pg_operator AS o, pg_catalog.pg_namespace AS n
		WHERE attrelid OPERATOR(pg_catalog.=) parent AND attname OPERATOR(pg_catalog.=) col
			AND o.oid OPERATOR(pg_catalog.=) pg_catalog.format('%s(%s,%s)', operator,
				atttypid::pg_catalog.regtype, atttypid::pg_catalog.regtype)::pg_catalog.regoperator
			AND n.oid OPERATOR(pg_catalog.=) oprnamespace
	)
	SELECT pg_catalog.format(E'SELECT * FROM (\n%s\n) AS shards ORDER BY %I %s $1 LIMIT %s',
		pg_catalog.string_agg(pg_catalog.format('(SELECT %s FROM %s ORDER BY %I %s $1 LIMIT %s)', columns, relid, col, op, k),
			E'\nUNION ALL\n' ORDER BY relid::text),
		col, op, k)
	FROM (
		SELECT relid FROM pg_catalog.pg_partition_tree(parent) WHERE isleaf
		UNION
		-- not partitioned
		SELECT parent WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_partition_tree(parent))
	) AS leaf, listed, compared
	GROUP BY op;
END;
COMMENT ON FUNCTION ecp_shard_query(regclass, name, integer, text) IS 'query for the k rows nearest to $1 that asks each partition, which may be on a foreign server, for its own k nearest';

-- ecp: maintenance and inspection

CREATE FUNCTION ecp_maintain(index regclass,
	OUT splits bigint, OUT folds bigint, OUT merges bigint,
	OUT drops bigint, OUT regrouped bigint, OUT purged_pages bigint)
	RETURNS record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION ecp_maintain(regclass) IS
	'split, fold and merge clusters of an ecp index, choose new leaders where it has grown, and free retired pages';

CREATE FUNCTION ecp_misassigned(index regclass,
	samples integer DEFAULT 1000) RETURNS float8
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION ecp_misassigned(regclass, integer) IS
	'share of the rows of an ecp index that are nearer to the leader of another cluster than to that of their own';

CREATE FUNCTION ecp_index_check(index regclass,
	heapallindexed boolean DEFAULT false) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION ecp_index_check(regclass, boolean) IS
	'verify the structure of an ecp index and, if asked, that it has every row of its table and no others';

-- ecp: report of a build, contents of pages

CREATE FUNCTION ecp_build_report(index regclass, OUT phase text,
	OUT wall_s float8, OUT cpu_s float8, OUT io_s float8,
	OUT files bigint, OUT opens bigint, OUT read_bytes bigint,
	OUT written_bytes bigint, OUT policy text, OUT why text,
	OUT rounds bigint, OUT in_buff bigint, OUT predicted_s float8,
	OUT workers integer)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION ecp_build_report(regclass) IS
	'time, intermediate files and bytes of each phase of an ecp index build, and the policy it used';

CREATE FUNCTION ecp_metapage_info(index regclass,
	OUT version integer, OUT element text, OUT metric text,
	OUT dims integer, OUT dims_learned boolean, OUT quantizer text,
	OUT vectors text, OUT leaders text, OUT seed bigint, OUT leaf_target bigint, OUT leaf_max bigint,
	OUT node_target bigint, OUT node_max bigint, OUT page_slots integer,
	OUT structure_version bigint, OUT levels integer,
	OUT root_block bigint, OUT next_run bigint, OUT clusters bigint,
	OUT retired_pages bigint, OUT unfinished boolean,
	OUT build_rows float8, OUT attributes text[],
	OUT attribute_bytes integer) RETURNS record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION ecp_metapage_info(regclass) IS
	'contents of the metapage of an ecp index';

CREATE FUNCTION ecp_index_stats(index regclass,
	OUT clusters bigint, OUT levels integer, OUT rows bigint,
	OUT mean_rows float8, OUT pages bigint, OUT retired_pages bigint,
	OUT free_pages bigint, OUT structure_version bigint, OUT buffers bigint,
	OUT measured timestamptz, OUT rows_added bigint,
	OUT target_recall float8, OUT expected_recall float8,
	OUT advice text) RETURNS record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION ecp_index_stats(regclass) IS
	'clusters, pages, recall and advice from what the build, the last VACUUM and inserts stored in an ecp index; cheap enough to poll';

CREATE FUNCTION ecp_index_drift(index regclass,
	OUT clusters bigint, OUT levels integer, OUT nodes bigint,
	OUT rows bigint, OUT mean_rows float8, OUT min_rows bigint,
	OUT max_rows bigint, OUT share_small float8, OUT share_large float8,
	OUT free_slots bigint, OUT appended_runs bigint,
	OUT dead_leaders bigint, OUT pages bigint, OUT cluster_pages bigint,
	OUT node_pages bigint, OUT retired_pages bigint,
	OUT free_pages bigint, OUT structure_version bigint,
	OUT buffers bigint, OUT buffered_rows bigint,
	OUT overfull bigint, OUT split_clusters bigint, OUT misassigned float8,
	OUT measured timestamptz, OUT rows_added bigint,
	OUT target_recall float8, OUT expected_recall float8,
	OUT recall_loss float8, OUT advice text) RETURNS record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION ecp_index_drift(regclass) IS
	'clusters of an ecp index and their sizes, use of its pages, present recall, and advice, measured by reading the whole index once';

CREATE FUNCTION ecp_clusters(index regclass,
	OUT cluster integer, OUT block bigint, OUT run bigint,
	OUT runs integer, OUT slots bigint, OUT rows bigint,
	OUT radius real, OUT tids tid[]) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION ecp_clusters(regclass) IS
	'clusters of an ecp index with their table rows';

CREATE FUNCTION ecp_page_items(index regclass, block bigint,
	OUT slot integer, OUT tid tid, OUT child_block bigint,
	OUT child_run bigint, OUT v_from bigint, OUT v_to bigint,
	OUT child_rows bigint, OUT attributes text[]) RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION ecp_page_items(regclass, bigint) IS
	'used slots of an entry page of an ecp index';

-- end of ecp

-- ======================================================================
-- betree: the streaming index
-- ======================================================================

CREATE FUNCTION betreehandler(internal) RETURNS index_am_handler
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT;
COMMENT ON FUNCTION betreehandler(internal) IS
	'betree index access method handler';

CREATE ACCESS METHOD betree TYPE INDEX HANDLER betreehandler;
COMMENT ON ACCESS METHOD betree IS
	'B-epsilon tree index access method: inserts are collected in logs on the tree''s nodes';

-- operator classes of betree: src/tools/betree_opclasses.sql generates those for
-- core's types

CREATE OPERATOR FAMILY array_ops USING betree;
COMMENT ON OPERATOR FAMILY array_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS array_ops DEFAULT FOR TYPE anyarray
    USING betree FAMILY array_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 btarraycmp(anyarray,anyarray);
COMMENT ON OPERATOR CLASS array_ops USING betree IS
    'order of anyarray values, as in btree';

CREATE OPERATOR FAMILY bit_ops USING betree;
COMMENT ON OPERATOR FAMILY bit_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS bit_ops DEFAULT FOR TYPE bit
    USING betree FAMILY bit_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 bitcmp(bit,bit),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS bit_ops USING betree IS
    'order of bit values, as in btree';

CREATE OPERATOR FAMILY bool_ops USING betree;
COMMENT ON OPERATOR FAMILY bool_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS bool_ops DEFAULT FOR TYPE boolean
    USING betree FAMILY bool_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 btboolcmp(boolean,boolean),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS bool_ops USING betree IS
    'order of boolean values, as in btree';

CREATE OPERATOR FAMILY bpchar_ops USING betree;
COMMENT ON OPERATOR FAMILY bpchar_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS bpchar_ops DEFAULT FOR TYPE character
    USING betree FAMILY bpchar_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 bpcharcmp(character,character),
    FUNCTION 2 bpchar_sortsupport(internal);
COMMENT ON OPERATOR CLASS bpchar_ops USING betree IS
    'order of character values, as in btree';

CREATE OPERATOR FAMILY bpchar_pattern_ops USING betree;
COMMENT ON OPERATOR FAMILY bpchar_pattern_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS bpchar_pattern_ops FOR TYPE character
    USING betree FAMILY bpchar_pattern_ops AS
    OPERATOR 1 ~<~,
    OPERATOR 2 ~<=~,
    OPERATOR 3 =,
    OPERATOR 4 ~>=~,
    OPERATOR 5 ~>~,
    FUNCTION 1 btbpchar_pattern_cmp(character,character),
    FUNCTION 2 btbpchar_pattern_sortsupport(internal);
COMMENT ON OPERATOR CLASS bpchar_pattern_ops USING betree IS
    'order of character values, as in btree';

CREATE OPERATOR FAMILY bytea_ops USING betree;
COMMENT ON OPERATOR FAMILY bytea_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS bytea_ops DEFAULT FOR TYPE bytea
    USING betree FAMILY bytea_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 byteacmp(bytea,bytea),
    FUNCTION 2 bytea_sortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS bytea_ops USING betree IS
    'order of bytea values, as in btree';

CREATE OPERATOR FAMILY char_ops USING betree;
COMMENT ON OPERATOR FAMILY char_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS char_ops DEFAULT FOR TYPE "char"
    USING betree FAMILY char_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 btcharcmp("char","char"),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS char_ops USING betree IS
    'order of "char" values, as in btree';

CREATE OPERATOR FAMILY datetime_ops USING betree;
COMMENT ON OPERATOR FAMILY datetime_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS date_ops DEFAULT FOR TYPE date
    USING betree FAMILY datetime_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 date_cmp(date,date),
    FUNCTION 2 date_sortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS date_ops USING betree IS
    'order of date values, as in btree';

CREATE OPERATOR CLASS timestamp_ops DEFAULT FOR TYPE timestamp without time zone
    USING betree FAMILY datetime_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 timestamp_cmp(timestamp without time zone,timestamp without time zone),
    FUNCTION 2 timestamp_sortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS timestamp_ops USING betree IS
    'order of timestamp without time zone values, as in btree';

CREATE OPERATOR CLASS timestamptz_ops DEFAULT FOR TYPE timestamp with time zone
    USING betree FAMILY datetime_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 timestamptz_cmp(timestamp with time zone,timestamp with time zone),
    FUNCTION 2 timestamp_sortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS timestamptz_ops USING betree IS
    'order of timestamp with time zone values, as in btree';

ALTER OPERATOR FAMILY datetime_ops USING betree ADD
    OPERATOR 1 < (date, timestamp without time zone),
    OPERATOR 2 <= (date, timestamp without time zone),
    OPERATOR 3 = (date, timestamp without time zone),
    OPERATOR 4 >= (date, timestamp without time zone),
    OPERATOR 5 > (date, timestamp without time zone),
    FUNCTION 1 (date, timestamp without time zone) date_cmp_timestamp(date,timestamp without time zone),
    OPERATOR 1 < (date, timestamp with time zone),
    OPERATOR 2 <= (date, timestamp with time zone),
    OPERATOR 3 = (date, timestamp with time zone),
    OPERATOR 4 >= (date, timestamp with time zone),
    OPERATOR 5 > (date, timestamp with time zone),
    FUNCTION 1 (date, timestamp with time zone) date_cmp_timestamptz(date,timestamp with time zone),
    OPERATOR 1 < (timestamp without time zone, date),
    OPERATOR 2 <= (timestamp without time zone, date),
    OPERATOR 3 = (timestamp without time zone, date),
    OPERATOR 4 >= (timestamp without time zone, date),
    OPERATOR 5 > (timestamp without time zone, date),
    FUNCTION 1 (timestamp without time zone, date) timestamp_cmp_date(timestamp without time zone,date),
    OPERATOR 1 < (timestamp without time zone, timestamp with time zone),
    OPERATOR 2 <= (timestamp without time zone, timestamp with time zone),
    OPERATOR 3 = (timestamp without time zone, timestamp with time zone),
    OPERATOR 4 >= (timestamp without time zone, timestamp with time zone),
    OPERATOR 5 > (timestamp without time zone, timestamp with time zone),
    FUNCTION 1 (timestamp without time zone, timestamp with time zone) timestamp_cmp_timestamptz(timestamp without time zone,timestamp with time zone),
    OPERATOR 1 < (timestamp with time zone, date),
    OPERATOR 2 <= (timestamp with time zone, date),
    OPERATOR 3 = (timestamp with time zone, date),
    OPERATOR 4 >= (timestamp with time zone, date),
    OPERATOR 5 > (timestamp with time zone, date),
    FUNCTION 1 (timestamp with time zone, date) timestamptz_cmp_date(timestamp with time zone,date),
    OPERATOR 1 < (timestamp with time zone, timestamp without time zone),
    OPERATOR 2 <= (timestamp with time zone, timestamp without time zone),
    OPERATOR 3 = (timestamp with time zone, timestamp without time zone),
    OPERATOR 4 >= (timestamp with time zone, timestamp without time zone),
    OPERATOR 5 > (timestamp with time zone, timestamp without time zone),
    FUNCTION 1 (timestamp with time zone, timestamp without time zone) timestamptz_cmp_timestamp(timestamp with time zone,timestamp without time zone);

CREATE OPERATOR FAMILY enum_ops USING betree;
COMMENT ON OPERATOR FAMILY enum_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS enum_ops DEFAULT FOR TYPE anyenum
    USING betree FAMILY enum_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 enum_cmp(anyenum,anyenum),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS enum_ops USING betree IS
    'order of anyenum values, as in btree';

CREATE OPERATOR FAMILY float_ops USING betree;
COMMENT ON OPERATOR FAMILY float_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS float4_ops DEFAULT FOR TYPE real
    USING betree FAMILY float_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 btfloat4cmp(real,real),
    FUNCTION 2 btfloat4sortsupport(internal);
COMMENT ON OPERATOR CLASS float4_ops USING betree IS
    'order of real values, as in btree';

CREATE OPERATOR CLASS float8_ops DEFAULT FOR TYPE double precision
    USING betree FAMILY float_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 btfloat8cmp(double precision,double precision),
    FUNCTION 2 btfloat8sortsupport(internal);
COMMENT ON OPERATOR CLASS float8_ops USING betree IS
    'order of double precision values, as in btree';

ALTER OPERATOR FAMILY float_ops USING betree ADD
    OPERATOR 1 < (real, double precision),
    OPERATOR 2 <= (real, double precision),
    OPERATOR 3 = (real, double precision),
    OPERATOR 4 >= (real, double precision),
    OPERATOR 5 > (real, double precision),
    FUNCTION 1 (real, double precision) btfloat48cmp(real,double precision),
    OPERATOR 1 < (double precision, real),
    OPERATOR 2 <= (double precision, real),
    OPERATOR 3 = (double precision, real),
    OPERATOR 4 >= (double precision, real),
    OPERATOR 5 > (double precision, real),
    FUNCTION 1 (double precision, real) btfloat84cmp(double precision,real);

CREATE OPERATOR FAMILY integer_ops USING betree;
COMMENT ON OPERATOR FAMILY integer_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS int2_ops DEFAULT FOR TYPE smallint
    USING betree FAMILY integer_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 btint2cmp(smallint,smallint),
    FUNCTION 2 btint2sortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS int2_ops USING betree IS
    'order of smallint values, as in btree';

CREATE OPERATOR CLASS int4_ops DEFAULT FOR TYPE integer
    USING betree FAMILY integer_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 btint4cmp(integer,integer),
    FUNCTION 2 btint4sortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS int4_ops USING betree IS
    'order of integer values, as in btree';

CREATE OPERATOR CLASS int8_ops DEFAULT FOR TYPE bigint
    USING betree FAMILY integer_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 btint8cmp(bigint,bigint),
    FUNCTION 2 btint8sortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS int8_ops USING betree IS
    'order of bigint values, as in btree';

ALTER OPERATOR FAMILY integer_ops USING betree ADD
    OPERATOR 1 < (bigint, smallint),
    OPERATOR 2 <= (bigint, smallint),
    OPERATOR 3 = (bigint, smallint),
    OPERATOR 4 >= (bigint, smallint),
    OPERATOR 5 > (bigint, smallint),
    FUNCTION 1 (bigint, smallint) btint82cmp(bigint,smallint),
    OPERATOR 1 < (bigint, integer),
    OPERATOR 2 <= (bigint, integer),
    OPERATOR 3 = (bigint, integer),
    OPERATOR 4 >= (bigint, integer),
    OPERATOR 5 > (bigint, integer),
    FUNCTION 1 (bigint, integer) btint84cmp(bigint,integer),
    OPERATOR 1 < (smallint, bigint),
    OPERATOR 2 <= (smallint, bigint),
    OPERATOR 3 = (smallint, bigint),
    OPERATOR 4 >= (smallint, bigint),
    OPERATOR 5 > (smallint, bigint),
    FUNCTION 1 (smallint, bigint) btint28cmp(smallint,bigint),
    OPERATOR 1 < (smallint, integer),
    OPERATOR 2 <= (smallint, integer),
    OPERATOR 3 = (smallint, integer),
    OPERATOR 4 >= (smallint, integer),
    OPERATOR 5 > (smallint, integer),
    FUNCTION 1 (smallint, integer) btint24cmp(smallint,integer),
    OPERATOR 1 < (integer, bigint),
    OPERATOR 2 <= (integer, bigint),
    OPERATOR 3 = (integer, bigint),
    OPERATOR 4 >= (integer, bigint),
    OPERATOR 5 > (integer, bigint),
    FUNCTION 1 (integer, bigint) btint48cmp(integer,bigint),
    OPERATOR 1 < (integer, smallint),
    OPERATOR 2 <= (integer, smallint),
    OPERATOR 3 = (integer, smallint),
    OPERATOR 4 >= (integer, smallint),
    OPERATOR 5 > (integer, smallint),
    FUNCTION 1 (integer, smallint) btint42cmp(integer,smallint);

CREATE OPERATOR FAMILY interval_ops USING betree;
COMMENT ON OPERATOR FAMILY interval_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS interval_ops DEFAULT FOR TYPE interval
    USING betree FAMILY interval_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 interval_cmp(interval,interval);
COMMENT ON OPERATOR CLASS interval_ops USING betree IS
    'order of interval values, as in btree';

CREATE OPERATOR FAMILY jsonb_ops USING betree;
COMMENT ON OPERATOR FAMILY jsonb_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS jsonb_ops DEFAULT FOR TYPE jsonb
    USING betree FAMILY jsonb_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 jsonb_cmp(jsonb,jsonb);
COMMENT ON OPERATOR CLASS jsonb_ops USING betree IS
    'order of jsonb values, as in btree';

CREATE OPERATOR FAMILY macaddr8_ops USING betree;
COMMENT ON OPERATOR FAMILY macaddr8_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS macaddr8_ops DEFAULT FOR TYPE macaddr8
    USING betree FAMILY macaddr8_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 macaddr8_cmp(macaddr8,macaddr8),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS macaddr8_ops USING betree IS
    'order of macaddr8 values, as in btree';

CREATE OPERATOR FAMILY macaddr_ops USING betree;
COMMENT ON OPERATOR FAMILY macaddr_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS macaddr_ops DEFAULT FOR TYPE macaddr
    USING betree FAMILY macaddr_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 macaddr_cmp(macaddr,macaddr),
    FUNCTION 2 macaddr_sortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS macaddr_ops USING betree IS
    'order of macaddr values, as in btree';

CREATE OPERATOR FAMILY money_ops USING betree;
COMMENT ON OPERATOR FAMILY money_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS money_ops DEFAULT FOR TYPE money
    USING betree FAMILY money_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 cash_cmp(money,money),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS money_ops USING betree IS
    'order of money values, as in btree';

CREATE OPERATOR FAMILY multirange_ops USING betree;
COMMENT ON OPERATOR FAMILY multirange_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS multirange_ops DEFAULT FOR TYPE anymultirange
    USING betree FAMILY multirange_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 multirange_cmp(anymultirange,anymultirange);
COMMENT ON OPERATOR CLASS multirange_ops USING betree IS
    'order of anymultirange values, as in btree';

CREATE OPERATOR FAMILY network_ops USING betree;
COMMENT ON OPERATOR FAMILY network_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS inet_ops DEFAULT FOR TYPE inet
    USING betree FAMILY network_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 network_cmp(inet,inet),
    FUNCTION 2 network_sortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS inet_ops USING betree IS
    'order of inet values, as in btree';

CREATE OPERATOR CLASS cidr_ops FOR TYPE inet
    USING betree FAMILY network_ops AS
    STORAGE inet;
COMMENT ON OPERATOR CLASS cidr_ops USING betree IS
    'alias for the other class over inet';

CREATE OPERATOR FAMILY numeric_ops USING betree;
COMMENT ON OPERATOR FAMILY numeric_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS numeric_ops DEFAULT FOR TYPE numeric
    USING betree FAMILY numeric_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 numeric_cmp(numeric,numeric),
    FUNCTION 2 numeric_sortsupport(internal);
COMMENT ON OPERATOR CLASS numeric_ops USING betree IS
    'order of numeric values, as in btree';

CREATE OPERATOR FAMILY oid_ops USING betree;
COMMENT ON OPERATOR FAMILY oid_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS oid_ops DEFAULT FOR TYPE oid
    USING betree FAMILY oid_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 btoidcmp(oid,oid),
    FUNCTION 2 btoidsortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS oid_ops USING betree IS
    'order of oid values, as in btree';

CREATE OPERATOR FAMILY oidvector_ops USING betree;
COMMENT ON OPERATOR FAMILY oidvector_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS oidvector_ops DEFAULT FOR TYPE oidvector
    USING betree FAMILY oidvector_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 btoidvectorcmp(oidvector,oidvector);
COMMENT ON OPERATOR CLASS oidvector_ops USING betree IS
    'order of oidvector values, as in btree';

CREATE OPERATOR FAMILY pg_lsn_ops USING betree;
COMMENT ON OPERATOR FAMILY pg_lsn_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS pg_lsn_ops DEFAULT FOR TYPE pg_lsn
    USING betree FAMILY pg_lsn_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 pg_lsn_cmp(pg_lsn,pg_lsn),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS pg_lsn_ops USING betree IS
    'order of pg_lsn values, as in btree';

CREATE OPERATOR FAMILY range_ops USING betree;
COMMENT ON OPERATOR FAMILY range_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS range_ops DEFAULT FOR TYPE anyrange
    USING betree FAMILY range_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 range_cmp(anyrange,anyrange);
COMMENT ON OPERATOR CLASS range_ops USING betree IS
    'order of anyrange values, as in btree';

CREATE OPERATOR FAMILY record_image_ops USING betree;
COMMENT ON OPERATOR FAMILY record_image_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS record_image_ops FOR TYPE record
    USING betree FAMILY record_image_ops AS
    OPERATOR 1 *<,
    OPERATOR 2 *<=,
    OPERATOR 3 *=,
    OPERATOR 4 *>=,
    OPERATOR 5 *>,
    FUNCTION 1 btrecordimagecmp(record,record);
COMMENT ON OPERATOR CLASS record_image_ops USING betree IS
    'order of record values, as in btree';

CREATE OPERATOR FAMILY record_ops USING betree;
COMMENT ON OPERATOR FAMILY record_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS record_ops DEFAULT FOR TYPE record
    USING betree FAMILY record_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 btrecordcmp(record,record);
COMMENT ON OPERATOR CLASS record_ops USING betree IS
    'order of record values, as in btree';

CREATE OPERATOR FAMILY text_ops USING betree;
COMMENT ON OPERATOR FAMILY text_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS name_ops DEFAULT FOR TYPE name
    USING betree FAMILY text_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 btnamecmp(name,name),
    FUNCTION 2 btnamesortsupport(internal),
    FUNCTION 4 btvarstrequalimage(oid);
COMMENT ON OPERATOR CLASS name_ops USING betree IS
    'order of name values, as in btree';

CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text
    USING betree FAMILY text_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 bttextcmp(text,text),
    FUNCTION 2 bttextsortsupport(internal),
    FUNCTION 4 btvarstrequalimage(oid);
COMMENT ON OPERATOR CLASS text_ops USING betree IS
    'order of text values, as in btree';

CREATE OPERATOR CLASS varchar_ops FOR TYPE text
    USING betree FAMILY text_ops AS
    STORAGE text;
COMMENT ON OPERATOR CLASS varchar_ops USING betree IS
    'alias for the other class over text';

ALTER OPERATOR FAMILY text_ops USING betree ADD
    OPERATOR 1 < (name, text),
    OPERATOR 2 <= (name, text),
    OPERATOR 3 = (name, text),
    OPERATOR 4 >= (name, text),
    OPERATOR 5 > (name, text),
    FUNCTION 1 (name, text) btnametextcmp(name,text),
    OPERATOR 1 < (text, name),
    OPERATOR 2 <= (text, name),
    OPERATOR 3 = (text, name),
    OPERATOR 4 >= (text, name),
    OPERATOR 5 > (text, name),
    FUNCTION 1 (text, name) bttextnamecmp(text,name);

CREATE OPERATOR FAMILY text_pattern_ops USING betree;
COMMENT ON OPERATOR FAMILY text_pattern_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS text_pattern_ops FOR TYPE text
    USING betree FAMILY text_pattern_ops AS
    OPERATOR 1 ~<~,
    OPERATOR 2 ~<=~,
    OPERATOR 3 =,
    OPERATOR 4 ~>=~,
    OPERATOR 5 ~>~,
    FUNCTION 1 bttext_pattern_cmp(text,text),
    FUNCTION 2 bttext_pattern_sortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS text_pattern_ops USING betree IS
    'order of text values, as in btree';

CREATE OPERATOR CLASS varchar_pattern_ops FOR TYPE text
    USING betree FAMILY text_pattern_ops AS
    STORAGE text;
COMMENT ON OPERATOR CLASS varchar_pattern_ops USING betree IS
    'alias for the other class over text';

CREATE OPERATOR FAMILY tid_ops USING betree;
COMMENT ON OPERATOR FAMILY tid_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS tid_ops DEFAULT FOR TYPE tid
    USING betree FAMILY tid_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 bttidcmp(tid,tid),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS tid_ops USING betree IS
    'order of tid values, as in btree';

CREATE OPERATOR FAMILY time_ops USING betree;
COMMENT ON OPERATOR FAMILY time_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS time_ops DEFAULT FOR TYPE time without time zone
    USING betree FAMILY time_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 time_cmp(time without time zone,time without time zone),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS time_ops USING betree IS
    'order of time without time zone values, as in btree';

CREATE OPERATOR FAMILY timetz_ops USING betree;
COMMENT ON OPERATOR FAMILY timetz_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS timetz_ops DEFAULT FOR TYPE time with time zone
    USING betree FAMILY timetz_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 timetz_cmp(time with time zone,time with time zone),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS timetz_ops USING betree IS
    'order of time with time zone values, as in btree';

CREATE OPERATOR FAMILY tsquery_ops USING betree;
COMMENT ON OPERATOR FAMILY tsquery_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS tsquery_ops DEFAULT FOR TYPE tsquery
    USING betree FAMILY tsquery_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 tsquery_cmp(tsquery,tsquery);
COMMENT ON OPERATOR CLASS tsquery_ops USING betree IS
    'order of tsquery values, as in btree';

CREATE OPERATOR FAMILY tsvector_ops USING betree;
COMMENT ON OPERATOR FAMILY tsvector_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS tsvector_ops DEFAULT FOR TYPE tsvector
    USING betree FAMILY tsvector_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 tsvector_cmp(tsvector,tsvector);
COMMENT ON OPERATOR CLASS tsvector_ops USING betree IS
    'order of tsvector values, as in btree';

CREATE OPERATOR FAMILY uuid_ops USING betree;
COMMENT ON OPERATOR FAMILY uuid_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS uuid_ops DEFAULT FOR TYPE uuid
    USING betree FAMILY uuid_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 uuid_cmp(uuid,uuid),
    FUNCTION 2 uuid_sortsupport(internal),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS uuid_ops USING betree IS
    'order of uuid values, as in btree';

CREATE OPERATOR FAMILY varbit_ops USING betree;
COMMENT ON OPERATOR FAMILY varbit_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS varbit_ops DEFAULT FOR TYPE bit varying
    USING betree FAMILY varbit_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 varbitcmp(bit varying,bit varying),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS varbit_ops USING betree IS
    'order of bit varying values, as in btree';

CREATE OPERATOR FAMILY xid8_ops USING betree;
COMMENT ON OPERATOR FAMILY xid8_ops USING betree IS
    'counterpart of the btree family of this name';

CREATE OPERATOR CLASS xid8_ops DEFAULT FOR TYPE xid8
    USING betree FAMILY xid8_ops AS
    OPERATOR 1 <,
    OPERATOR 2 <=,
    OPERATOR 3 =,
    OPERATOR 4 >=,
    OPERATOR 5 >,
    FUNCTION 1 xid8cmp(xid8,xid8),
    FUNCTION 4 btequalimage(oid);
COMMENT ON OPERATOR CLASS xid8_ops USING betree IS
    'order of xid8 values, as in btree';

-- types that the oldest server does not have: oid8 came with PostgreSQL 19

DO $do$
BEGIN
    IF pg_catalog.to_regtype('pg_catalog.oid8') IS NULL THEN
        RETURN;
    END IF;
    EXECUTE $sql$
        CREATE OPERATOR FAMILY oid8_ops USING betree;
        COMMENT ON OPERATOR FAMILY oid8_ops USING betree IS
            'counterpart of the btree family of this name';
        CREATE OPERATOR CLASS oid8_ops DEFAULT FOR TYPE oid8
            USING betree FAMILY oid8_ops AS
            OPERATOR 1 <,
            OPERATOR 2 <=,
            OPERATOR 3 =,
            OPERATOR 4 >=,
            OPERATOR 5 >,
            FUNCTION 1 btoid8cmp(oid8,oid8),
            FUNCTION 2 btoid8sortsupport(internal),
            FUNCTION 4 btequalimage(oid);
        COMMENT ON OPERATOR CLASS oid8_ops USING betree IS
            'order of oid8 values, as in btree';
    $sql$;
END;
$do$;

-- points in Z-order

CREATE FUNCTION betree_point_lt(point, point) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION betree_point_lt(point, point) IS
    'implementation of #<# operator';

CREATE FUNCTION betree_point_le(point, point) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION betree_point_le(point, point) IS
    'implementation of #<=# operator';

CREATE FUNCTION betree_point_eq(point, point) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION betree_point_eq(point, point) IS
    'implementation of #=# operator';

CREATE FUNCTION betree_point_ge(point, point) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION betree_point_ge(point, point) IS
    'implementation of #>=# operator';

CREATE FUNCTION betree_point_gt(point, point) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION betree_point_gt(point, point) IS
    'implementation of #># operator';

CREATE FUNCTION betree_point_cmp(point, point) RETURNS integer
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION betree_point_cmp(point, point) IS
    'less-equal-greater in Z-order';

CREATE FUNCTION betree_point_sortsupport(internal) RETURNS void
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION betree_point_sortsupport(internal) IS
    'sort support for Z-order';

CREATE FUNCTION betree_point_bigmin(low point, high point, current point)
    RETURNS point
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION betree_point_bigmin(point, point, point) IS
    'first position in Z-order, at or after current, in the rectangle between two corners';

CREATE FUNCTION betree_point_skip(internal) RETURNS boolean
    AS 'MODULE_PATHNAME' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION betree_point_skip(internal) IS
    'next point in Z-order that can satisfy a qual';

CREATE OPERATOR #<# (
    LEFTARG = point, RIGHTARG = point, PROCEDURE = betree_point_lt,
    COMMUTATOR = #>#, NEGATOR = #>=#,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR #<# (point, point) IS 'before in Z-order';

CREATE OPERATOR #<=# (
    LEFTARG = point, RIGHTARG = point, PROCEDURE = betree_point_le,
    COMMUTATOR = #>=#, NEGATOR = #>#,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR #<=# (point, point) IS 'before or equal in Z-order';

CREATE OPERATOR #=# (
    LEFTARG = point, RIGHTARG = point, PROCEDURE = betree_point_eq,
    COMMUTATOR = #=#, RESTRICT = eqsel, JOIN = eqjoinsel, MERGES);
COMMENT ON OPERATOR #=# (point, point) IS
    'exactly equal (unlike ~=)';

CREATE OPERATOR #>=# (
    LEFTARG = point, RIGHTARG = point, PROCEDURE = betree_point_ge,
    COMMUTATOR = #<=#, NEGATOR = #<#,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR #>=# (point, point) IS 'after or equal in Z-order';

CREATE OPERATOR #># (
    LEFTARG = point, RIGHTARG = point, PROCEDURE = betree_point_gt,
    COMMUTATOR = #<#, NEGATOR = #<=#,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR #># (point, point) IS 'after in Z-order';

-- The planner identifies an order by its btree operator class.  This one is not
-- the default, so that ORDER BY a point column remains an error, as in core.
CREATE OPERATOR FAMILY point_zorder_ops USING btree;
COMMENT ON OPERATOR FAMILY point_zorder_ops USING btree IS
    'Z-order of points';

CREATE OPERATOR CLASS point_zorder_ops FOR TYPE point
    USING btree FAMILY point_zorder_ops AS
    OPERATOR 1 #<#,
    OPERATOR 2 #<=#,
    OPERATOR 3 #=#,
    OPERATOR 4 #>=#,
    OPERATOR 5 #>#,
    FUNCTION 1 betree_point_cmp(point, point),
    FUNCTION 2 betree_point_sortsupport(internal);
COMMENT ON OPERATOR CLASS point_zorder_ops USING btree IS
    'Z-order of points';

CREATE OPERATOR FAMILY point_zorder_ops USING betree;
COMMENT ON OPERATOR FAMILY point_zorder_ops USING betree IS
    'Z-order of points';

CREATE OPERATOR CLASS point_zorder_ops DEFAULT FOR TYPE point
    USING betree FAMILY point_zorder_ops AS
    OPERATOR 1 #<#,
    OPERATOR 2 #<=#,
    OPERATOR 3 #=#,
    OPERATOR 4 #>=#,
    OPERATOR 5 #>#,
    OPERATOR 10 <@ (point, box),
    OPERATOR 11 <@ (point, circle),
    OPERATOR 12 ~= (point, point),
    FUNCTION 1 betree_point_cmp(point, point),
    FUNCTION 2 betree_point_sortsupport(internal),
    FUNCTION 7 betree_point_skip(internal);
COMMENT ON OPERATOR CLASS point_zorder_ops USING betree IS
    'Z-order of points, searched by box, circle and ~=';

-- For types that have only a btree operator class.  The new one has the name and schema
-- of its model, joins the family of the name of the model's, which is created with its
-- first class, and brings the cross-type members whose left type is its own: those that a
-- search in an index of the class can use.  It is made by the commands that a user would
-- write, whose privileges are a superuser's.
--
-- Citus distributes an index only if its operator class belongs to an extension, which is
-- then installed on every node.  So in a cluster of Citus the class becomes a member of
-- its model's extension; pg_dump leaves it out then, as all that an extension makes.
CREATE FUNCTION _betree_adopt(opclass text, model_oid oid) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	model record;
	family record;
	own text;
	across text;
	extension name;
BEGIN
	SELECT c.*, f.opfname, format('%I.%I', n.nspname, c.opcname) AS class,
		format('%I.%I', n.nspname, f.opfname) AS family, format_type(c.opcintype, NULL) AS type
	INTO model
	FROM pg_opclass AS c JOIN pg_opfamily AS f ON f.oid = c.opcfamily JOIN pg_namespace AS n ON n.oid = c.opcnamespace
	WHERE c.oid = model_oid;
	IF NOT FOUND THEN
		RAISE 'operator class "%" does not exist for access method "btree"', opclass
			USING ERRCODE = 'undefined_object';
	ELSIF model.opcnamespace = 'pg_catalog'::regnamespace THEN
		RAISE 'operator class "%" is already known to access method "betree"', model.opcname
			USING ERRCODE = 'duplicate_object', DETAIL = 'The extension has a class of the same name for every btree operator class of the system catalog.';
	ELSIF NOT (SELECT r.rolsuper FROM pg_roles AS r WHERE r.rolname = current_user) THEN
		RAISE 'must be superuser to create an operator class'
			USING ERRCODE = 'insufficient_privilege', HINT = 'Ask a superuser to call betree_adopt() in this database.';
	END IF;

	-- support functions other than comparison, sortsupport and equalimage mean nothing to betree
	SELECT string_agg(m.item, ', ' ORDER BY m.kind, m.num) FILTER (WHERE m.r = model.opcintype),
		string_agg(m.item, ', ' ORDER BY m.r, m.kind, m.num) FILTER (WHERE m.r <> model.opcintype)
	INTO own, across
	FROM (SELECT o.amoprighttype, 0, o.amopstrategy, format('OPERATOR %s %s', o.amopstrategy, o.amopopr::regoperator)
		FROM pg_amop AS o
		WHERE o.amopfamily = model.opcfamily AND o.amoplefttype = model.opcintype
		UNION ALL
		SELECT p.amprocrighttype, 1, p.amprocnum, format('FUNCTION %s (%s, %s) %s', p.amprocnum,
			format_type(p.amproclefttype, NULL), format_type(p.amprocrighttype, NULL), p.amproc::regprocedure)
		FROM pg_amproc AS p
		WHERE p.amprocfamily = model.opcfamily AND p.amproclefttype = model.opcintype
			AND p.amprocnum IN (1, 2, 4)) AS m (r, kind, num, item);

	SELECT f.oid, EXISTS (SELECT FROM pg_amop AS o
		WHERE o.amopfamily = f.oid AND o.amopstrategy = 1
			AND o.amoplefttype = model.opcintype AND o.amoprighttype = model.opcintype) AS has_members
	INTO family
	FROM pg_opfamily AS f JOIN pg_am AS a ON a.oid = f.opfmethod
	WHERE a.amname = 'betree' AND f.opfname = model.opfname AND f.opfnamespace = model.opcnamespace;
	IF family.oid IS NULL THEN
		EXECUTE format('CREATE OPERATOR FAMILY %s USING betree', model.family);
	ELSIF family.has_members THEN	-- they came with another class of the family
		own := concat('STORAGE ', model.type);
		across := NULL;
	END IF;
	EXECUTE format('CREATE OPERATOR CLASS %s %s FOR TYPE %s USING betree FAMILY %s AS %s', model.class,
		CASE WHEN model.opcdefault THEN 'DEFAULT' END, model.type, model.family, own);
	IF across IS NOT NULL THEN
		EXECUTE format('ALTER OPERATOR FAMILY %s USING betree ADD %s', model.family, across);
	END IF;

	SELECT e.extname INTO extension
	FROM pg_depend AS d JOIN pg_extension AS e ON e.oid = d.refobjid
	WHERE d.classid = 'pg_opclass'::regclass AND d.objid = model_oid AND d.deptype = 'e'
		AND EXISTS (SELECT FROM pg_extension AS c WHERE c.extname = 'citus');
	IF FOUND THEN
		EXECUTE format('ALTER EXTENSION %I ADD OPERATOR CLASS %s USING betree', extension, model.class);
		IF family.oid IS NULL THEN
			EXECUTE format('ALTER EXTENSION %I ADD OPERATOR FAMILY %s USING betree', extension, model.family);
		END IF;
		RAISE NOTICE 'operator class % is on this node only', model.class
			USING HINT = 'Call betree_adopt() on all nodes, by Citus''s run_command_on_all_nodes().';
	END IF;
	RETURN model.class;
END $$;
COMMENT ON FUNCTION _betree_adopt(text, oid) IS 'part of betree_adopt(): the class is known';

-- by the caller's search_path
CREATE FUNCTION betree_adopt(opclass text) RETURNS text
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
RETURN _betree_adopt(opclass, (
	SELECT c.oid
	FROM pg_opclass AS c JOIN pg_am AS a ON a.oid = c.opcmethod JOIN pg_namespace AS n ON n.oid = c.opcnamespace,
		pg_catalog.parse_ident(opclass) AS names
	WHERE a.amname = 'btree' AND c.opcname = names[pg_catalog.cardinality(names)]
		AND (pg_catalog.cardinality(names) = 1 AND pg_opclass_is_visible(c.oid) OR
			pg_catalog.cardinality(names) = 2 AND n.nspname = names[1])));
COMMENT ON FUNCTION betree_adopt(text) IS
    'create a betree operator class from a btree operator class; returns its name';

-- end of the operator classes of betree

-- betree: maintenance and inspection

CREATE FUNCTION betree_index_check(index regclass,
								   heapallindexed boolean DEFAULT false)
	RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION betree_index_check(regclass, boolean) IS
	'verify the invariants of a betree index and, if asked, that it has every row of its table and no others';

CREATE FUNCTION betree_flush(index regclass) RETURNS void
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION betree_flush(regclass) IS
	'move all messages of a betree index to its leaves';

CREATE FUNCTION betree_metapage_info(index regclass, OUT magic text,
									 OUT version integer,
									 OUT key_columns integer,
									 OUT columns integer,
									 OUT tuple_width integer,
									 OUT height integer)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION betree_metapage_info(regclass) IS
	'metapage of a betree index';

CREATE FUNCTION betree_node_info(index regclass, blkno bigint, OUT kind text,
								 OUT level integer, OUT items integer,
								 OUT free_bytes integer, OUT seq bigint,
								 OUT sorted_items integer,
								 OUT directory_size integer,
								 OUT log_pages integer,
								 OUT directory_entries integer,
								 OUT drain bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION betree_node_info(regclass, bigint) IS
	'header of a page of a betree index';

CREATE FUNCTION betree_page_items(index regclass, blkno bigint,
								  OUT itemoffset integer, OUT itemlen integer,
								  OUT child bigint, OUT marker integer,
								  OUT attributes integer, OUT tid tid,
								  OUT rows integer, OUT key text)
	RETURNS SETOF record
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION betree_page_items(regclass, bigint) IS
	'items of a page of a betree index';

CREATE FUNCTION betree_index_stats(index regclass, OUT height integer,
								   OUT nodes bigint, OUT leaves bigint,
								   OUT pages_in_logs bigint,
								   OUT spare_pages bigint, OUT pages bigint,
								   OUT messages_in_logs bigint,
								   OUT draining_nodes bigint,
								   OUT messages bigint, OUT flushes bigint,
								   OUT messages_per_leaf_write double precision,
								   OUT leaf_write_histogram bigint[],
								   OUT write_amplification double precision,
								   OUT log_pages integer,
								   OUT lost_pages bigint,
								   OUT bloom_pages bigint)
	AS 'MODULE_PATHNAME' LANGUAGE C STRICT VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION betree_index_stats(regclass) IS
	'shape, logs and flushes of a betree index';

-- end of betree
