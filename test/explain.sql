\set ECHO none
-- pg_temp.explain(query): what EXPLAIN (COSTS OFF) says, by the words of one
-- version of PostgreSQL.  For tests whose plans have subqueries, which are
-- named otherwise from 17 on and from 19 on, scans that are switched off, of
-- which EXPLAIN says so from 18 on, or windows, which it names from 18 on.  How
-- to include it: see "Rules" in test/README.
CREATE FUNCTION pg_temp.explain(query text) RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		CONTINUE WHEN line ~ '^ *(Disabled: true$|Window: )';
		line := replace(line, ' (returns $0)', '');
		line := regexp_replace(line, '(InitPlan|SubPlan) [a-z]+_', '\1 ', 'g');
		RETURN NEXT replace(line, '$0', '(InitPlan 1).col1');
	END LOOP;
END $$;
\set ECHO all
