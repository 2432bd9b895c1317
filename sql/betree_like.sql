--
-- betree: LIKE and regular expressions with a fixed prefix
--

CREATE TABLE bt_like (t text COLLATE "POSIX", c text COLLATE "C", v varchar(20), b char(10), y bytea, d text);
INSERT INTO bt_like SELECT m, m, left(m, 20), left(m, 10), m::bytea, m
	FROM (SELECT md5(i::text) AS m FROM generate_series(1, 20000) i) s;
CREATE INDEX bt_like_t ON bt_like USING betree (t text_pattern_ops);
CREATE INDEX bt_like_c ON bt_like USING betree (c DESC);
CREATE INDEX bt_like_v ON bt_like USING betree (v varchar_pattern_ops);
CREATE INDEX bt_like_b ON bt_like USING betree (b bpchar_pattern_ops);
CREATE INDEX bt_like_y ON bt_like USING betree (y);
ANALYZE bt_like;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT t FROM bt_like WHERE t LIKE 'abc%';
EXPLAIN (COSTS OFF) SELECT t FROM bt_like WHERE t ~ '^abc.*7$';
EXPLAIN (COSTS OFF) SELECT c FROM bt_like WHERE c LIKE 'abc%' ORDER BY c;
EXPLAIN (COSTS OFF) SELECT v FROM bt_like WHERE v LIKE 'abc%';
EXPLAIN (COSTS OFF) SELECT b FROM bt_like WHERE b LIKE 'abc%';
EXPLAIN (COSTS OFF) SELECT y FROM bt_like WHERE y LIKE 'abc%';
EXPLAIN (COSTS OFF) SELECT t FROM bt_like WHERE t ~>=~ 'ab' AND t ~<~ 'ac' ORDER BY t USING ~<~;

CREATE FUNCTION bt_like_counts() RETURNS bigint[] LANGUAGE sql AS $$
	SELECT ARRAY[(SELECT count(*) FROM bt_like WHERE t LIKE 'abc%'),
		(SELECT count(*) FROM bt_like WHERE t ~ '^ab.*7$'),
		(SELECT count(*) FROM bt_like WHERE c LIKE 'ab_d%'),
		(SELECT count(*) FROM bt_like WHERE v LIKE 'abc%'),
		(SELECT count(*) FROM bt_like WHERE b LIKE 'abc%'),
		(SELECT count(*) FROM bt_like WHERE y LIKE 'abc%')]
$$;
SELECT bt_like_counts();
SET enable_seqscan = on;
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SELECT bt_like_counts();
RESET ALL;

-- a family of its own with the operators the other way round is not taken for
-- core's
CREATE FUNCTION bt_like_back(text, text) RETURNS int4 LANGUAGE sql IMMUTABLE STRICT
	RETURN bttext_pattern_cmp($2, $1);
CREATE OPERATOR CLASS bt_like_back_ops FOR TYPE text USING betree AS
	OPERATOR 1 ~>~, OPERATOR 2 ~>=~, OPERATOR 3 =, OPERATOR 4 ~<=~, OPERATOR 5 ~<~,
	FUNCTION 1 bt_like_back(text, text);
CREATE INDEX bt_like_d ON bt_like USING betree (d bt_like_back_ops);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM bt_like WHERE d LIKE 'abc%';
EXPLAIN (COSTS OFF) SELECT count(*) FROM bt_like WHERE d ~>=~ 'abc' AND d ~<~ 'abd';
SELECT count(*) FROM bt_like WHERE d ~>=~ 'abc' AND d ~<~ 'abd';
RESET ALL;
DROP TABLE bt_like;
DROP FUNCTION bt_like_counts;
DROP OPERATOR FAMILY bt_like_back_ops USING betree CASCADE;
DROP FUNCTION bt_like_back;
