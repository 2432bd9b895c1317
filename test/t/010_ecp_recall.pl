# Recall of an ecp index on real descriptors: floors at the default number of
# probes, and a rise to 1 as probes go to the number of clusters, for every
# metric, build policy, kind of leaders and 1 to 4 levels of them.  A search
# that went down a single path would stop at a ceiling below 1 whatever the
# number of probes.
#
# The floors: 0.95 is what the default aims at with k-means leaders, less 0.03:
# of 500 queries the mean varies by 0.005 from one set of leaders to another,
# and compilers and processors make other sets.  Random leaders need up to
# twice as many vectors for the same recall.
use strict;
use warnings;

use EcpTest;
use Test::More;

my $rows = 10_000;
my $node = ecp_cluster('recall', conf => "fsync = off\n");

load_vecs($node, 'items', 'base.bvecs', limit => $rows);
load_vecs($node, 'reals', 'base.bvecs', limit => $rows, type => 'real[]');
load_vecs($node, 'queries', 'query.bvecs', limit => 500);
load_vecs(
	$node, 'real_queries', 'query.bvecs',
	limit => 500,
	type => 'real[]');

sub check_index
{
	my ($name, $table, $column, $with, $floor, $policy) = @_;
	my %queries_of = (items => 'queries', sets => 'set_queries');
	my $queries = $queries_of{$table} || 'real_queries';
	my %ops = (ip => '<#>', cosine => '<=>', l1 => '<+>', set => '<&>');
	my $op = $column =~ /_(ip|cosine|l1|set)_/ ? $ops{$1} : '<->';

	$node->safe_psql(
		'postgres', qq(
		SET ecp.build_policy = $policy;
		DROP INDEX IF EXISTS i;
		CREATE INDEX i ON $table USING ecp ($column) WITH ($with)));
	# the scan is for its number of probes; with 0, what scans do is measured
	my @recall = split /\n/, $node->safe_psql(
		'postgres', qq(
		SET enable_seqscan = off;
		SELECT count(*) FROM (SELECT id FROM $table
			ORDER BY v $op (SELECT v FROM $queries LIMIT 1) LIMIT 10) s;
		SELECT r.recall FROM ecp_last_scan() s,
			LATERAL ecp_recall('i', samples => 500,
				probes => ARRAY[0, 2 * s.probes, 1000000],
				queries => 'SELECT v FROM $queries ORDER BY id') r));
	shift @recall;    # of the first SELECT
	is(scalar @recall, 3, "$name: three points");
	cmp_ok($recall[0], '>=', $floor, "$name: default probes");
	cmp_ok($recall[1], '>=', $recall[0], "$name: four times as many");
	is($recall[2], '1', "$name: all clusters");
}

foreach my $levels (1 .. 4)
{
	foreach my $leaders ('kmeans', 'random')
	{
		my $floor = $leaders eq "kmeans" ? 0.92 : 0.85;

		foreach my $metric ('l2', 'ip', 'cosine')
		{
			# each policy with every metric, and with every number of levels
			foreach my $policy ('chunkfiles', 'tempfiles')
			{
				next
				  if $policy eq 'tempfiles'
				  && $levels != 1
				  && $metric ne 'l2';
				check_index(
					"$metric $leaders $levels levels $policy",
					'items',
					"v bytea_${metric}_ops",
					"levels = $levels, leaders = $leaders",
					$floor,
					$policy);
			}
		}
	}
}
foreach my $metric ('l2', 'ip', 'cosine')
{
	check_index("real $metric", 'reals', "v real_${metric}_ops",
		'levels = 2', 0.92, 'auto');
	foreach my $kept ('half', 'codes')
	{
		check_index(
			"$kept $metric",
			'reals',
			"v real_${metric}_ops",
			"vectors = $kept",
			0.92, 'auto');
	}
}

foreach my $with ('quantizer = none', 'quantizer = rabitq', 'vectors = half')
{
	check_index("L1 $with", 'reals', 'v real_l1_ops', $with, 0.92, 'auto');
}

# sentences as sets of their trigrams, by Jaccard distance
$node->safe_psql(
	'postgres', q(
	CREATE FUNCTION trigrams(line text) RETURNS bit(512) LANGUAGE plpgsql IMMUTABLE AS $$
	DECLARE
		bits bit(512) := 0::bit(512);
	BEGIN
		FOR i IN 1 .. length(line) - 2 LOOP
			bits := set_bit(bits, ('x' || md5(substr(line, i, 3)))::bit(9)::int, 1);
		END LOOP;
		RETURN bits;
	END $$;
	CREATE TABLE sentences (role text, source text, document text, sentence text);
	COPY sentences FROM ') . test_data('sentences.tsv') . q(';
	CREATE TABLE sets AS SELECT row_number() OVER () AS id, trigrams(sentence) AS v
		FROM sentences WHERE role = 'base';
	CREATE TABLE set_queries AS SELECT row_number() OVER () AS id, trigrams(sentence) AS v
		FROM sentences WHERE role = 'query'));
check_index('Jaccard', 'sets', 'v bit_set_ops', 'seed = 1', 0.92, 'auto');

# ecp_recall() agrees with what the executor finds
$node->safe_psql(
	'postgres', q(
	DROP INDEX i;
	CREATE INDEX i ON items USING ecp (v)));

sub agrees
{
	my ($name, $set, $k, $probes) = @_;
	my $by_executor = recall_at($node, set => $set, k => $k);
	my $by_function = $node->safe_psql(
		'postgres', qq(
		$set;
		SELECT recall FROM ecp_recall('i', $k, $probes,
			queries => 'SELECT v FROM queries ORDER BY id') LIMIT 1));

	# recall_at() takes 1e-5 more for equally far, which matters for many rows
	cmp_ok(abs($by_executor - $by_function),
		'<', 5e-4,
		"$name: by the executor $by_executor, by ecp_recall() $by_function");
}
agrees('7 probes', 'SET ecp.probes = 7; SET ecp.iterative_scan = off',
	10, q('{7}'));

# the first row is what scans do by the settings
agrees('settings in force', 'SET ecp.target_recall = 0.8', 10, 'NULL');
agrees('one row', 'SET ecp.target_recall = 0.8', 1, 'NULL');
agrees('many rows', 'SET ecp.target_recall = 0.8', 1000, 'NULL');
agrees('a number of probes', 'SET ecp.probes = 1', 100, 'NULL');

# rows of the table as queries: the seed decides which, and they do not find
# themselves
my $sample =
  "SELECT recall, vectors FROM ecp_recall('i', probes => '{3}', seed => %d)";
my @samples =
  map { $node->safe_psql('postgres', sprintf($sample, $_)) } (1, 1, 2);
is($samples[0], $samples[1], 'the same seed takes the same sample');
isnt($samples[0], $samples[2], 'another seed takes another');
$node->safe_psql(
	'postgres', q(
	CREATE TABLE lonely AS SELECT id, v FROM items WHERE id < 2;
	CREATE INDEX lonely_i ON lonely USING ecp (v)));
is( $node->safe_psql(
		'postgres',
		q(SELECT recall, vectors FROM ecp_recall('lonely_i', k => 1, probes => '{1}'))
	),
	'1|2',
	'a row is not its own nearest');

# privileges
$node->safe_psql(
	'postgres', q(
	CREATE ROLE reader;
	CREATE ROLE secured;
	CREATE TABLE secrets AS SELECT id, v FROM items WHERE id < 100;
	CREATE INDEX secrets_i ON secrets USING ecp (v);
	GRANT SELECT ON secrets TO secured;
	ALTER TABLE secrets ENABLE ROW LEVEL SECURITY));
my (undef, undef, $stderr) = $node->psql('postgres',
	q(SET ROLE reader; SELECT * FROM ecp_recall('secrets_i')));
like($stderr, qr/permission denied for table secrets/, 'needs SELECT');
(undef, undef, $stderr) = $node->psql('postgres',
	q(SET ROLE secured; SELECT * FROM ecp_recall('secrets_i')));
like($stderr, qr/row-level security/, 'refuses row security');
like(
	$node->safe_psql(
		'postgres', q(SELECT count(*) FROM ecp_recall('secrets_i'))),
	qr/^[1-9]/,
	'the owner may');
(undef, undef, $stderr) =
  $node->psql('postgres', q(SELECT * FROM ecp_recall('pg_class_oid_index')));
like($stderr, qr/is not an ecp index/, 'refuses other indexes');
(undef, undef, $stderr) = $node->psql('postgres',
	q(SELECT * FROM ecp_recall('i', queries => 'SELECT 1')));
like(
	$stderr,
	qr/must be vectors of type bytea, not integer/,
	'refuses other queries');

# A target that takes much of the index is known when it has been built, and
# afterwards, with what would take less.
(undef, undef, $stderr) = $node->psql(
	'postgres', q(
	CREATE TABLE hard AS SELECT i AS id, array_agg((hashint4extended(i * 64 + j, 0) % 1000)::real) AS v
		FROM generate_series(1, 8000) i, generate_series(1, 48) j GROUP BY i;
	CREATE INDEX hard_i ON hard USING ecp (v) WITH (cluster_size = 1, target_recall = 0.999))
);
like(
	$stderr,
	qr/NOTICE:  searches of index "hard_i" read \d+ % of its clusters for a recall of 0\.999$/m,
	'a notice of a target that takes much');
my ($lower, $share) =
  $stderr =~ /HINT:  A target_recall of (\S+) takes (\d+) %/
  or fail('it has a hint');
my $notice =
  qr/NOTICE:  searches of index "hard_i" read \d+ % of its clusters for a recall of 0\.999$/m;
my $one_search =
  q(SET enable_seqscan = off; SELECT id FROM hard ORDER BY v <-> (SELECT v FROM hard LIMIT 1) LIMIT 1);
foreach my $set (
	'ALTER INDEX hard_i SET (target_recall = 0.999)',
	'SET ecp.target_recall = 0.999',
	'BEGIN; SET LOCAL ecp.target_recall = 0.999')
{
	$node->psql(
		'postgres',
		"$set; $one_search; $one_search",
		stderr => \$stderr);
	is(scalar(() = $stderr =~ /$notice/g),
		1, "the next search says so after $set");
}
$node->psql('postgres', $one_search, stderr => \$stderr);
is($stderr, '', 'and no other');
my $advice = q(SELECT advice FROM ecp_index_drift('hard_i'));
like(
	$node->safe_psql('postgres', $advice),
	qr/^set target_recall to $lower or less: 0\.999 takes \d+ % of the clusters, $lower takes $share %$/,
	'advice says the same');
is($node->safe_psql('postgres', "SET ecp.target_recall = $lower; $advice"),
	'', 'which helps');

# What is expected is what searches reach, within two errors of either.
is( $node->safe_psql(
		'postgres', q(
	SELECT abs(expected_recall - recall) < 0.015 FROM ecp_index_drift('hard_i'),
		ecp_recall('hard_i', samples => 2000) WHERE probes = 0)),
	't',
	'the recall that is expected');

# Memory follows work_mem: queries for which there is none are compared with the
# table in further passes.
SKIP:
{
	skip 'no /proc', 2 unless -r '/proc/self/status';
	$node->safe_psql(
		'postgres', q(
		CREATE TABLE few AS SELECT * FROM items WHERE id < 1200;
		CREATE INDEX few_i ON few USING ecp (v)));
	my $peak =
	  q(SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\s+(\d+)'););
	my $measure =
	  q(SELECT round(recall::numeric, 9) FROM ecp_recall('few_i', k => 1000, probes => '{3}', samples => %d););
	my $large = sprintf($measure, 1200);
	my $small = sprintf($measure, 10);
	my @little = split /\n/,
	  $node->safe_psql('postgres',
		"SET work_mem = '64kB'; $small $peak $large $peak");
	my $much = $node->safe_psql('postgres', "SET work_mem = '64MB'; $large");

	cmp_ok($little[3] - $little[1],
		'<', 5 * 1024,
		'1,200 queries with 1,000 neighbours each within work_mem');
	is($little[2], $much, 'with the same result as with more memory');
}
done_testing();
