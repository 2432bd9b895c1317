/* sql/ecp--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION ecp" to load this file. \quit

-- ======================================================================
-- vector: distances over real[] and bytea
-- ======================================================================

-- end of vector

-- ======================================================================
-- device: what storage costs and where things should live
-- ======================================================================

-- end of device

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
	'B-epsilon tree index access method: inserts are buffered in the tree''s nodes';

-- operator classes of betree

-- end of the operator classes of betree

-- end of betree
