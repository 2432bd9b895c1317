-- The recipes of doc/recipes.md, on data where the answers are known: each
-- search by its own index, and the same answer as without any.

CREATE TABLE recipe_passages (id int PRIMARY KEY, document int, body text, v real[]);
INSERT INTO recipe_passages
	SELECT g, g / 8, CASE WHEN g % 11 = 0 THEN 'an old lighthouse' ELSE 'a harbour' END ||
		repeat(' and boats', g % 7),
		ARRAY[g * 37 % 101, g * 53 % 103, g * 71 % 107, g * 89 % 109]::real[]
	FROM generate_series(1, 4000) AS g;
CREATE INDEX recipe_v ON recipe_passages USING ecp (v);
CREATE INDEX recipe_words ON recipe_passages USING gin (to_tsvector('english', body));
VACUUM ANALYZE recipe_passages;
-- all clusters, so that the answers are exact
SET ecp.probes = 1000;
SET enable_seqscan = off;

-- reciprocal rank fusion
PREPARE hybrid(text, real[]) AS
WITH words AS (
	SELECT id, row_number() OVER (ORDER BY score DESC, id) AS rank
	FROM (SELECT id, ts_rank_cd(to_tsvector('english', body), query) AS score
		FROM recipe_passages, websearch_to_tsquery('english', $1) AS query
		WHERE to_tsvector('english', body) @@ query
		ORDER BY score DESC, id LIMIT 60) AS found
), near AS (
	SELECT id, row_number() OVER (ORDER BY far, id) AS rank
	FROM (SELECT id, v <-> $2 AS far FROM recipe_passages ORDER BY v <-> $2 LIMIT 60) AS found
)
SELECT id, sum(1.0 / (60 + rank)) AS score, count(*) AS searches
FROM (SELECT * FROM words UNION ALL SELECT * FROM near) AS both_lists
GROUP BY id ORDER BY score DESC, id LIMIT 10;

CREATE FUNCTION recipe_uses(query text, index text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		IF line LIKE '%' || index || '%' THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END $$;

SELECT recipe_uses($$EXECUTE hybrid('lighthouse', '{50,51,52,53}')$$, 'recipe_v') AS vectors,
	recipe_uses($$EXECUTE hybrid('lighthouse', '{50,51,52,53}')$$, 'recipe_words') AS words;
CREATE TABLE recipe_found AS EXECUTE hybrid('lighthouse', '{50,51,52,53}');
-- the scores again, from all ranks
WITH ranked AS (
	SELECT id,
		rank() OVER (ORDER BY body LIKE '%lighthouse%' DESC, ts_rank_cd(to_tsvector('english', body), 'lighthous') DESC, id)
			AS by_words,
		rank() OVER (ORDER BY ecp_l2_distance(v, '{50,51,52,53}'), id) AS by_vector
	FROM recipe_passages
), scored AS (
	SELECT id, CASE WHEN by_words <= 60 THEN 1.0 / (60 + by_words) ELSE 0 END +
		CASE WHEN by_vector <= 60 THEN 1.0 / (60 + by_vector) ELSE 0 END AS score
	FROM ranked
), best AS (
	SELECT id, score FROM scored ORDER BY score DESC, id LIMIT 10
)
SELECT count(*), count(*) FILTER (WHERE best.score = found.score) AS same
FROM best JOIN recipe_found AS found USING (id);

-- the best passage of each document
PREPARE documents(real[], int) AS
SELECT document, id, far
FROM (SELECT DISTINCT ON (document) document, id, far
	FROM (SELECT document, id, v <-> $1 AS far FROM recipe_passages ORDER BY v <-> $1 LIMIT $2 * 8) AS found
	ORDER BY document, far) AS best
ORDER BY far LIMIT $2;
SELECT recipe_uses($$EXECUTE documents('{50,51,52,53}', 10)$$, 'recipe_v') AS vectors;
CREATE TABLE recipe_documents AS EXECUTE documents('{50,51,52,53}', 10);
SELECT count(*), count(*) FILTER (WHERE best.far = found.far) AS same
FROM recipe_documents AS found JOIN (
	SELECT document, min(ecp_l2_distance(v, '{50,51,52,53}')) AS far
	FROM recipe_passages GROUP BY document ORDER BY far, document LIMIT 10) AS best USING (document);

-- prefixes first: so many candidates that the answer is that of whole vectors
CREATE INDEX recipe_prefix ON recipe_passages USING ecp ((v[1:2]));
ANALYZE recipe_passages;
PREPARE prefix_first(real[]) AS
SELECT id, v <-> $1 AS far
FROM (SELECT id, v FROM recipe_passages ORDER BY v[1:2] <-> $1[1:2] LIMIT 2000) AS candidates
ORDER BY far LIMIT 10;
SELECT recipe_uses($$EXECUTE prefix_first('{50,51,52,53}')$$, 'recipe_prefix') AS prefixes;
CREATE TABLE recipe_prefixes AS EXECUTE prefix_first('{50,51,52,53}');
SELECT count(*), count(*) FILTER (WHERE best.far = found.far) AS same
FROM recipe_prefixes AS found JOIN (
	SELECT id, ecp_l2_distance(v, '{50,51,52,53}') AS far FROM recipe_passages ORDER BY far, id LIMIT 10) AS best USING (id);

DEALLOCATE ALL;
RESET ecp.probes;
RESET enable_seqscan;
DROP TABLE recipe_passages, recipe_found, recipe_documents, recipe_prefixes;
DROP FUNCTION recipe_uses(text, text);
