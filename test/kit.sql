\set ECHO none
-- The functions of the reproduction kit, and a search_path that finds them.  How
-- to include it: see "Rules" in test/README.
\set kit :src '/test/repro/functions.sql'
\i :kit
SET search_path = public, ecp_repro;
\set ECHO all
