# No row is missing: a default scan returns as many rows as there are, or as its
# LIMIT asks for, in order and none twice, however it is asked: by LIMIT, OFFSET,
# cursors, loops, prepared statements and foreign tables; also beside dead rows and
# with conditions outside the index.  And the recall of large LIMITs is the target.
use strict;
use warnings;

use EcpTest;
use Test::More;

# more for a measurement
my $most = $ENV{ROWS_MOST} || 6_000;

my $node = ecp_cluster('rows', conf => "fsync = off\nautovacuum = off\n");
my $port = $node->port;
my $host = $node->host;
$node->safe_psql(
	'postgres', qq(
	CREATE EXTENSION IF NOT EXISTS postgres_fdw;
	CREATE SERVER self FOREIGN DATA WRAPPER postgres_fdw
		OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'ecp');
	CREATE USER MAPPING FOR CURRENT_USER SERVER self;));

# Tables of n rows.  A number of each row, so that all runs have the same.
$node->safe_psql(
	'postgres', q(
	CREATE FUNCTION part(i int, j int, seed int = 0) RETURNS float8
	LANGUAGE sql IMMUTABLE AS $$
		SELECT (hashint8extended(i::int8 * 4096 + j, seed) & 1048575) / 1048576.0
	$$;
	CREATE FUNCTION make_vector(kind text, i int) RETURNS real[]
	LANGUAGE sql IMMUTABLE AS $$
		SELECT array_agg((CASE kind
				WHEN 'uniform' THEN part(i, j)
				WHEN 'clustered' THEN (i % 20) * j % 17 + 3 * part(i, j)
				WHEN 'duplicates' THEN part(i % 7, j)
				WHEN 'one-hot' THEN (i % 16 + 1 = j)::int
				ELSE part(i % 30, j) + part(i, j) END)::real ORDER BY j)
		FROM generate_series(1, CASE kind WHEN 'codes' THEN 96
			WHEN 'one-hot' THEN 16 ELSE 8 END) j
	$$;
	CREATE PROCEDURE make_table(kind text, n int) LANGUAGE plpgsql AS $$
	BEGIN
		DROP TABLE IF EXISTS r CASCADE;
		DROP FOREIGN TABLE IF EXISTS r_far;
		CREATE TABLE r AS SELECT i AS id, make_vector(kind, i) AS v
			FROM generate_series(1, n) i;
		EXECUTE format('CREATE INDEX r_v ON r USING ecp (v) WITH (quantizer = %s)',
			CASE kind WHEN 'codes' THEN 'rabitq' ELSE 'none' END);
		ANALYZE r;
		CREATE FOREIGN TABLE r_far (id int, v real[]) SERVER self
			OPTIONS (table_name 'r');
	END $$;

	-- what is wrong with an answer, or NULL, and its recall; "truth" are the
	-- distances of all rows that the query may return, in order
	CREATE FUNCTION wrong(ids int[], distances float8[], wanted bigint, truth float8[],
		OUT what text, OUT recall float8) LANGUAGE plpgsql AS $$
	DECLARE
		expected int := least(wanted, cardinality(truth));
		got int := coalesce(cardinality(ids), 0);
	BEGIN
		IF got <> expected THEN
			what := got || ' rows instead of ' || expected;
		ELSIF distances <> ARRAY(SELECT x FROM unnest(distances) x ORDER BY x) THEN
			what := 'not in order';
		ELSIF got <> (SELECT count(DISTINCT x) FROM unnest(ids) x) THEN
			what := 'a row twice';
		END IF;
		recall := CASE WHEN expected = 0 THEN 1 ELSE
			(SELECT count(*) FROM unnest(distances) x
			 WHERE x <= truth[expected])::float8 / expected END;
	END $$;

	-- rows of a query, by each way to ask for them
	CREATE FUNCTION ask(mode text, q real[], lim bigint, condition text,
		OUT ids int[], OUT d float8[]) LANGUAGE plpgsql AS $$
	DECLARE
		sql text := format('SELECT id, v <-> %L::real[] AS d FROM %s WHERE %s ORDER BY v <-> %L::real[]',
			q, CASE mode WHEN 'fdw' THEN 'r_far' WHEN 'fdw, no limit' THEN 'r_far' ELSE 'r' END,
			condition, q);
		limited text := sql || format(' LIMIT %s', lim);
		c refcursor;
		x record;
		x_ids int[] := '{}';
		x_d float8[] := '{}';
	BEGIN
		IF mode = 'offset' THEN
			EXECUTE format('SELECT array_agg(id), array_agg(d) FROM (%s LIMIT %s OFFSET %s) s',
				sql, lim - lim / 2, lim / 2) INTO ids, d;
			-- the first half, which is read again; equal rows may be in both
			EXECUTE format('SELECT array_agg(-id) || $1, array_agg(d) || $2
				FROM (SELECT * FROM (%s) s LIMIT %s) s', limited, lim / 2) USING ids, d
				INTO ids, d;
			RETURN;
		ELSIF mode IN ('generic', 'null limit') THEN
			SET LOCAL plan_cache_mode = force_generic_plan;
			EXECUTE format('PREPARE p(bigint) AS SELECT array_agg(id), array_agg(d)
				FROM (%s LIMIT $1) s', sql);
			EXECUTE format('EXECUTE p(%s)', CASE mode WHEN 'generic' THEN lim::text ELSE 'NULL' END)
				INTO ids, d;
			DEALLOCATE p;
			SET LOCAL plan_cache_mode = auto;
			RETURN;
		ELSIF mode IN ('limit', 'fdw', 'fdw, no limit') THEN
			EXECUTE format('SELECT array_agg(id), array_agg(d) FROM (%s) s',
				CASE mode WHEN 'fdw, no limit' THEN sql ELSE limited END) INTO ids, d;
			RETURN;
		ELSIF mode = 'loop' THEN
			FOR x IN EXECUTE limited LOOP
				x_ids := x_ids || x.id; x_d := x_d || x.d;
			END LOOP;
		ELSIF mode = 'loop, no limit' THEN
			FOR x IN EXECUTE sql LOOP
				x_ids := x_ids || x.id; x_d := x_d || x.d;
			END LOOP;
		ELSE
			IF mode = 'with hold' THEN
				EXECUTE 'DECLARE held CURSOR WITH HOLD FOR ' || sql;
				c := 'held';
			ELSIF mode = 'cursor, limit' THEN
				OPEN c FOR EXECUTE limited;
			ELSE
				OPEN c FOR EXECUTE sql;
			END IF;
			LOOP
				FETCH c INTO x;
				EXIT WHEN NOT FOUND;
				x_ids := x_ids || x.id; x_d := x_d || x.d;
			END LOOP;
			CLOSE c;
		END IF;
		ids := x_ids;
		d := x_d;
	END $$;

	-- is it so for all modes, LIMITs and queries?
	CREATE FUNCTION check_all(modes text[], limits bigint[], condition text = 'true',
		queries int = 3)
	RETURNS TABLE (message text) LANGUAGE plpgsql AS $$
	DECLARE
		q real[];
		mode text;
		lim bigint;
		truth float8[];
		recalls float8[];
		found record;
		answer record;
	BEGIN
		FOREACH lim IN ARRAY limits LOOP
			recalls := '{}';
			FOR q IN SELECT v FROM r WHERE id % (SELECT max(id) / queries + 1 FROM r) = 1 LOOP
				EXECUTE format('SELECT array_agg(d ORDER BY d) FROM
					(SELECT v <-> $1 AS d FROM r WHERE %s OFFSET 0) s', condition)
					USING q INTO truth;
				FOREACH mode IN ARRAY modes LOOP
					SELECT * INTO answer FROM ask(mode, q, lim, condition);
					SELECT * INTO found FROM wrong(answer.ids, answer.d,
						CASE WHEN mode ~ 'no limit|null|hold' OR mode = 'cursor' THEN 1000000 ELSE lim END,
						coalesce(truth, '{}'));
					recalls := recalls || found.recall;
					IF found.what IS NOT NULL THEN
						message := format('%s, LIMIT %s: %s', mode, lim, found.what);
						RETURN NEXT;
					END IF;
				END LOOP;
			END LOOP;
			IF (SELECT avg(x) FROM unnest(recalls) x) < 0.94 AND lim >= 1000 THEN
				message := format('LIMIT %s: recall %s', lim, (SELECT avg(x) FROM unnest(recalls) x));
				RETURN NEXT;
			END IF;
		END LOOP;
	END $$;));

my $by_index = 'SET enable_seqscan = off; SET enable_sort = off;';
my @plain = ('limit', 'offset', 'generic', 'fdw', 'cursor, limit');
my @all =
  ('null limit', 'cursor', 'with hold', 'loop, no limit', 'fdw, no limit');

# ask in these ways; the messages of what is wrong
sub wrong
{
	my ($settings, $modes, $limits, $condition, $queries) = @_;
	my $list = join(',', map { "'$_'" } @$modes);
	return $node->safe_psql('postgres',
			"$settings SELECT * FROM check_all(ARRAY[$list], '{"
		  . join(',', @$limits)
		  . "}', \$c\$"
		  . ($condition // 'true')
		  . "\$c\$, "
		  . ($queries // 3)
		  . ')');
}

foreach my $kind ('uniform', 'clustered', 'duplicates', 'one-hot', 'codes')
{
	foreach my $n (100, $most)
	{
		my $rows = $kind eq 'codes' && $n == $most ? 3_000 : $n;
		my @limits = (
			1,
			int($rows / 9),
			int($rows / 5),
			int($rows / 3),
			$rows - 1, $rows, 2 * $rows);

		$node->safe_psql('postgres', "CALL make_table('$kind', $rows)");
		is(wrong($by_index, \@plain, \@limits),
			'', "$kind, $rows rows: LIMITs");
		is(wrong('', [ 'limit', 'offset' ], \@limits),
			'', "$kind, $rows rows: LIMITs, as planned");
		is(wrong($by_index, \@all, [1]),
			'', "$kind, $rows rows: all, by the index");
		is(wrong('', \@all, [1]), '', "$kind, $rows rows: all, as planned");
		is( wrong(
				"$by_index SET work_mem = '64kB';",
				[ 'limit', 'cursor' ],
				[$rows]),
			'',
			"$kind, $rows rows: on disk");

		# more than there are of them; none of the nearest; few
		is( wrong(
				$by_index,
				[ 'limit', 'cursor, limit' ],
				[ 5, 100, $rows ],
				'id % 10 = 3'),
			'',
			"$kind, $rows rows: a condition outside the index");
		is(wrong($by_index, ['limit'], [20], "id > $rows - 15"),
			'', "$kind, $rows rows: a condition for few rows");
	}
}

# the rest of the recall curve, by the index alone: a mean, so of many queries, and
# of each of the twenty clusters
$node->safe_psql('postgres', "CALL make_table('clustered', 24000)");
is( wrong(
		$by_index, ['limit'], [ 1_000, 2_000, 4_000, 5_500, 10_000 ],
		'true', 20),
	'',
	'recall of large LIMITs');

# the same of bytes, of which those that are not near are left out by their upper parts
my $recall = $node->safe_psql(
	'postgres', qq($by_index
	CREATE TABLE b AS SELECT i AS id,
		(SELECT decode(string_agg(lpad(to_hex(
			(hashint8extended(i % 200 * 1000 + j, 1) & 127)
			+ (hashint8extended(i::int8 * 1000 + j, 2) & 63)), 2, '0'), '' ORDER BY j), 'hex')
		FROM generate_series(1, 64) j) AS v FROM generate_series(1, 24000) i;
	CREATE INDEX b_v ON b USING ecp (v);
	CREATE FUNCTION recall_of(q bytea, k int) RETURNS float8 LANGUAGE plpgsql AS \$\$
	DECLARE
		found float8[];
		truth float8[];
	BEGIN
		SELECT array_agg(d) INTO found FROM
			(SELECT v <-> q AS d FROM b ORDER BY v <-> q LIMIT k) s;
		SELECT array_agg(d ORDER BY d) INTO truth FROM
			(SELECT v <-> q AS d FROM b OFFSET 0) s;
		RETURN (SELECT count(*) FROM unnest(found) x WHERE x <= truth[k])::float8 / k;
	END \$\$;
	SELECT avg(recall_of(v, 3000)) FROM b WHERE id % 220 = 7));
cmp_ok($recall, '>=', 0.94, 'recall of large LIMITs, bytes');

# exactly as many rows as the LIMIT asks for, among dead ones
$node->safe_psql('postgres', "CALL make_table('clustered', 1000)");
my $short = $node->safe_psql(
	'postgres', qq($by_index
	CREATE FUNCTION replaced() RETURNS TABLE (message text) LANGUAGE plpgsql AS \$\$
	BEGIN
		FOR round IN 1 .. 60 LOOP
			DELETE FROM r WHERE id IN (SELECT id FROM r ORDER BY hashint4extended(id, round) LIMIT 100);
			INSERT INTO r SELECT i, make_vector('clustered', i)
				FROM generate_series(10000 + round * 100, 10000 + round * 100 + 99) i;
			RETURN QUERY SELECT round || ': ' || x.message
				FROM check_all(ARRAY['limit'], '{1000,700}') x;
		END LOOP;
	END \$\$;
	SELECT * FROM replaced()));
is($short, '', 'as many rows as there are, among dead ones');
index_ok($node, 'r_v', 'the index');
done_testing();
