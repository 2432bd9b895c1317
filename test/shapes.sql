\set ECHO none
-- Does a query use an ecp index, and is the answer then that of a sort?  How to
-- include it: see "Rules" in test/README.

-- the ecp indexes in the plan of a query, or of a statement that was prepared, with
-- the conditions that they check
CREATE FUNCTION pg_temp.shape_plan(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	-- names of parameters and subqueries depend on the version
	RETURN (SELECT string_agg(node ->> 'Index Name' || coalesce(' ' ||
			replace(regexp_replace(node ->> 'Index Cond', '\$\d+|\(InitPlan [a-z_]*\d+\)\.col\d+', '(SELECT)', 'g'),
				'unnamed_subquery', '"ANY_subquery"'), ''), ', ')
		FROM jsonb_path_query(plan, 'strict $.**') node
		WHERE jsonb_typeof(node) = 'object' AND node ? 'Index Name' AND
			(SELECT a.amname = 'ecp' FROM pg_class c JOIN pg_am a ON a.oid = c.relam
				WHERE c.oid = (node ->> 'Index Name')::regclass));
END $$;

-- its rows, in its order
CREATE FUNCTION pg_temp.shape_rows(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	r record;
	result text := '';
BEGIN
	FOR r IN EXECUTE query LOOP
		result := result || r::text;
	END LOOP;
	RETURN result;
END $$;

-- the plan by the settings as they are; whether the index, all clusters of which are
-- read, gives what other plans do; how many rows
CREATE FUNCTION pg_temp.shape(query text, OUT index text, OUT equal boolean, OUT rows int)
LANGUAGE plpgsql AS $$
DECLARE
	exact text;
	found text;
BEGIN
	index := pg_temp.shape_plan(query);
	SET LOCAL ecp.probes = 100000;
	SET LOCAL enable_seqscan = off;
	IF index IS NOT NULL AND pg_temp.shape_plan(query) IS DISTINCT FROM index THEN
		index := index || ', and ' || coalesce(pg_temp.shape_plan(query), 'none');
	END IF;
	found := pg_temp.shape_rows(query);
	SET LOCAL enable_seqscan = on;
	SET LOCAL enable_indexscan = off;
	SET LOCAL enable_indexonlyscan = off;
	exact := pg_temp.shape_rows(query);
	equal := found = exact;
	rows := regexp_count(exact, '\(');
	RESET ecp.probes;
	RESET enable_seqscan;
	RESET enable_indexscan;
	RESET enable_indexonlyscan;
END $$;
\set ECHO all
