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

-- end of ecp

-- ======================================================================
-- betree: the streaming index
-- ======================================================================

-- end of betree
