# Many queries at once on real descriptors: the right photograph wins the
# vote, and batches are complete while rows come, go and are vacuumed.
#
# The test data keeps the descriptors of a photograph together, in the order
# of photos.tsv, which tells whose each row is.

use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('batch');
load_vecs($node, 'descriptors', 'base.bvecs');

my ($first, @photos) = (0);
open my $tsv, '<', test_data('photos.tsv') or die "photos.tsv: $!";
while (<$tsv>)
{
	my ($photo, $role, $n) = (split /\t/)[ 0, 1, 6 ];
	next if $role ne 'base';
	push @photos, "($photo, $first, $first + $n)";
	$first += $n;
}
close $tsv;
$node->safe_psql(
	'postgres', 'ALTER TABLE descriptors ADD photo int;
	CREATE TABLE photos (photo int, lower int, upper int);
	INSERT INTO photos VALUES ' . join(', ', @photos) . ';
	UPDATE descriptors SET photo = p.photo FROM photos p
		WHERE id >= lower AND id < upper;
	CREATE INDEX ON descriptors (id);
	CREATE INDEX descriptors_v ON descriptors USING ecp (v);
	VACUUM ANALYZE descriptors');
is( $node->safe_psql(
		'postgres', 'SELECT count(*) FROM descriptors WHERE photo IS NULL'),
	'0',
	'each descriptor belongs to a photograph');

# Another picture of the same thing: every seventh descriptor, each with 32
# of its 128 elements changed.  The photograph itself is not there to be found.
foreach my $photo (0, 1, 13, 22)
{
	my $winner = $node->safe_psql(
		'postgres', "CREATE TEMP TABLE picture AS
			SELECT id, (SELECT string_agg(set_byte('\\x00', 0,
				CASE WHEN abs(hashint4(id * 128 + e)) % 4 = 0
				THEN least(get_byte(v, e) + abs(hashint4(id + e)) % 60, 255)
				ELSE get_byte(v, e) END), '' ORDER BY e)
				FROM generate_series(0, 127) AS e) AS v
			FROM descriptors WHERE photo = $photo AND id % 7 = 0;
		DELETE FROM descriptors WHERE photo = $photo AND id % 7 = 0;
		SELECT image
		FROM ecp_vote('descriptors_v', 'SELECT id, v FROM picture', 'photo', 3)
		LIMIT 1");
	is($winner, $photo, "photograph $photo wins the vote");
}

# Reading all clusters, a batch finds what the table has, at any moment.
my $load = start_load(
	$node, q{
	\set id random(0, 25390)
	DELETE FROM descriptors WHERE id = :id;
	INSERT INTO descriptors (id, v, photo)
		SELECT id, v, photo FROM descriptors WHERE id = (:id * 7) % 25391 LIMIT 1;
	},
	transactions => 500);
my $bad = 0;
foreach my $round (1 .. 6)
{
	$node->safe_psql('postgres', 'VACUUM descriptors') if $round % 2 == 0;
	$bad += $node->safe_psql(
		'postgres', "SET max_parallel_workers_per_gather = 2;
		SET parallel_setup_cost = 0;
		SET ecp.probes = 1000000;
		WITH b AS (SELECT query, rank, distance FROM ecp_knn_batch('descriptors_v',
				'SELECT id, v FROM descriptors WHERE id % 500 = $round ORDER BY 1', 5)),
			e AS (SELECT query, rank, distance FROM ecp_knn_exact('descriptors_v',
				'SELECT id, v FROM descriptors WHERE id % 500 = $round ORDER BY 1', 5))
		SELECT count(*) FROM
			((SELECT * FROM b EXCEPT SELECT * FROM e)
			 UNION ALL (SELECT * FROM e EXCEPT SELECT * FROM b)) AS x");
}
finish_load($load);
is($bad, 0, 'batches are exact under inserts, deletes and VACUUM');
index_ok($node, 'descriptors_v', 'the index afterwards');

# Queries in an array take the same work as those that a query returns.
my @work = map {
	$node->safe_psql(
		'postgres',
		"SET max_parallel_workers_per_gather = 0;
		BEGIN;
		SELECT count(*) FROM ecp_knn_batch('descriptors_v', $_, 5);
		SELECT pg_stat_get_xact_numscans(i), pg_stat_get_xact_blocks_fetched(i) FROM CAST('descriptors_v'::regclass AS oid) AS i;
		COMMIT"
	)
  } "'SELECT v FROM descriptors WHERE id % 40 = 0'",
  'ARRAY(SELECT v FROM descriptors WHERE id % 40 = 0)';
is($work[1], $work[0], 'an array of queries takes no more work');

# With codes each query is a scan.  Where that saves seeks, on a cold index and with
# queries enough to want each cluster, what they will want is read before; the answers
# are the same.
$node->safe_psql(
	'postgres', q(
	CREATE TABLE coded AS SELECT i AS id, ARRAY(SELECT (10 * sin(i % 37 * 13.7 + j * (i % 37 + 1) * 0.7)
			+ sin(i * 0.618 * j + j * j))::real FROM generate_series(1, 100) AS j) AS v
		FROM generate_series(1, 5000) AS i;
	CREATE INDEX coded_v ON coded USING ecp (v);
	VACUUM ANALYZE coded));
is( $node->safe_psql(
		'postgres', "SELECT quantizer FROM ecp_metapage_info('coded_v')"),
	'rabitq',
	'an index with codes');
my %answers;
foreach my $round (
	[ 'cold, 100 queries', 100, 1 ],
	[ 'cold, 1 query', 1, 0 ],
	[ 'in memory, 100 queries', 100, 0 ])
{
	my ($name, $n, $ahead) = @$round;

	$node->restart if $name =~ /cold/;
	index_ok($node, 'coded_v', $name) if $name =~ /memory/;
	my $batch =
	  "SELECT * FROM ecp_knn_batch('coded_v', 'SELECT id, v FROM coded WHERE id <= $n', 10);";
	my $answer = $node->safe_psql(
		'postgres', "SET max_parallel_workers_per_gather = 0;
		BEGIN;
		$batch
		SELECT pg_stat_get_xact_numscans(i), pg_stat_get_xact_blocks_fetched(i) AS first
			FROM CAST('coded_v'::regclass AS oid) i \\gset
		DO 'BEGIN PERFORM * FROM ecp_knn_batch(''coded_v'', ''SELECT id, v FROM coded WHERE id <= $n'', 10); END';
		SELECT pg_stat_get_xact_numscans('coded_v'::regclass) / 2,
			2 * :first - pg_stat_get_xact_blocks_fetched('coded_v'::regclass);
		COMMIT"
	);
	$answer =~ s/\n(\d+)\|(-?\d+)$//;
	is($1, $n, "$name: a scan each");
	# each page once, and some for leaders that are then cached
	is($2 > 100 ? 1 : 0, $ahead, "$name: $2 blocks ahead");
	my $alone = $node->safe_psql(
		'postgres',
		"SET enable_seqscan = off; SET ecp.enable_batch_join = off;
		SELECT q.id, row_number() OVER (PARTITION BY q.id), s.* FROM coded AS q,
			LATERAL (SELECT ctid, v <-> q.v FROM coded ORDER BY v <-> q.v LIMIT 10) AS s
		WHERE q.id <= $n");
	is($answer, $alone, "$name: the rows of scans");
	$answers{$name} = $answer;
}
is( $answers{'in memory, 100 queries'},
	$answers{'cold, 100 queries'},
	'the same rows, cold and in memory');

# 100 MB of answers are not kept in memory: what a session has mapped at most,
# with one answer and with all
$node->safe_psql(
	'postgres',
	"CREATE TABLE wide AS SELECT ARRAY[g, 1]::real[] AS v, g || repeat('x', 20000) AS t
		FROM generate_series(1, 5000) g;
	CREATE INDEX wide_v ON wide USING ecp (v);");
SKIP:
foreach my $call (
	"ecp_knn_fetch('wide_v', '{{1,1}}'::real[], '{t}', %d)",
	"ecp_vote('wide_v', 'SELECT ''{1,1}''::real[]', 't', %d)")
{
	skip 'needs /proc', 2 unless -e '/proc/self/status';
	my ($least, $most) = map {
		$node->safe_psql(
			'postgres',
			sprintf(
				"SET work_mem = '1MB';
				SET ecp.probes = 10000;
				DO 'BEGIN ASSERT (SELECT count(*) FROM %s) = %d; END';
				SELECT substring(pg_read_file('/proc/self/status') FROM 'VmPeak:\\s*(\\d+)')",
				sprintf($call, $_) =~ s/'/''/gr, $_));
	} (1, 5000);

	cmp_ok($most - $least, '<', 20000, "kB more for all rows of $call");
}

# All documents, whose distances from 200 vectors take 32 MB: within work_mem, and the
# same as with enough of it; with a condition, too.
$node->safe_psql(
	'postgres',
	"CREATE TABLE docs AS SELECT i AS id, hashint4(i) % 15000 AS doc,
			ARRAY[hashint4(i) & 1023, hashint4(i + 7) & 1023]::real[] AS v
		FROM generate_series(1, 30000) i;
	CREATE INDEX docs_v ON docs USING ecp (v);");
foreach my $condition ('NULL', q('id % 3 > 0'))
{
	my $sql =
	  "SELECT md5(string_agg(r::text, ',')) FROM ecp_knn_max_sim('docs_v',
		'SELECT v FROM docs LIMIT 200', 'doc', 300, candidates => NULL, condition => $condition) r";
	my $peak =
	  "SELECT substring(pg_read_file('/proc/self/status', 0, 4096, true) FROM 'VmPeak:\\s*(\\d+)')";
	my $warm =
	  "SELECT count(*) FROM ecp_knn_max_sim('docs_v', 'SELECT v FROM docs LIMIT 1', 'doc', candidates => NULL, condition => 'false')";
	my (undef, $before, $little, $after) = split /\n/,
	  $node->safe_psql('postgres',
		"SET work_mem = '1MB'; $warm; $peak; $sql; $peak;");

	is( $little,
		$node->safe_psql('postgres', "SET work_mem = '256MB'; $sql"),
		"all documents within little memory: condition $condition");
  SKIP:
	{
		skip 'needs /proc', 1 unless -e '/proc/self/status';
		cmp_ok($after - $before,
			'<', 8000, "kB for all documents: condition $condition");
	}
}

# A list of which the planner expects ten values takes no memory for those that it has
# already, and not much for distinct ones, before these end the query.
$node->safe_psql(
	'postgres', q(
	CREATE FUNCTION many(n int, kinds int) RETURNS SETOF int LANGUAGE sql STABLE ROWS 10
		AS 'SELECT i % kinds FROM generate_series(1, n) i';
	CREATE INDEX docs_list ON docs USING ecp (v, doc)));
SKIP:
{
	skip 'needs /proc', 4 unless -e '/proc/self/status';
	my $list =
	  "SELECT id FROM docs WHERE doc IN (SELECT many(%d, %d)) ORDER BY v <-> '{1,1}' LIMIT 3";
	my $peak =
	  "SELECT substring(pg_read_file('/proc/self/status', 0, 4096, true) FROM 'VmPeak:\\s*(\\d+)')";
	my ($few, $million, $most) = (
		sprintf($list, 10, 5),
		sprintf($list, 1000000, 5),
		sprintf($list, 1000000, 1000000));

	like($node->safe_psql('postgres', "EXPLAIN $million"),
		qr/ecp list/, 'a list');
	my ($ret, $out, $err) = $node->psql(
		'postgres',
		"SET work_mem = '1MB'; $few; $peak; $million; $peak; $most; $peak;",
		on_error_stop => 0);
	my @lines = split /\n/, $out;
	cmp_ok($lines[7] - $lines[3],
		'<', 6000, 'kB for a million values that are five');
	cmp_ok($lines[8] - $lines[3],
		'<', 12000, 'kB for a million different ones');
	like($err, qr/too many distinct values/, 'which are too many');
}

done_testing();
