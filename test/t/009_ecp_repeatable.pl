# The same index and query give the same rows, in whatever way and wherever they
# are asked: on a server that has just started with a cache for nothing, again,
# in a cache that has everything, on a standby, by a loop or a statement each,
# in a parallel worker, by a batch.  Rows and distances are compared exactly.
use strict;
use warnings;

use EcpTest;
use File::Basename qw(dirname);
use PostgreSQL::Test::Utils;
use Test::More;

# more for a measurement
my $queries = $ENV{REPEAT_QUERIES} || 60;
my $rows = $ENV{REPEAT_ROWS} || 8_000;
my $each = int($queries / 3) + 1;

my ($primary, $standby) = ecp_primary_and_standby('repeatable',
	conf => "fsync = off\nmax_parallel_workers_per_gather = 0\n");
$primary->safe_psql('postgres',
	slurp_file(dirname(__FILE__) . '/../promise.sql'));

# bytes, floats, and floats with codes
load_vecs($primary, 'loaded', 'base.bvecs', limit => $rows);
load_vecs($primary, 'loaded_q', 'query.bvecs', limit => $each);
$primary->safe_psql(
	'postgres', qq(
	CREATE TABLE ecp_promise.bytes AS SELECT id, v FROM loaded;
	CREATE TABLE ecp_promise.bytes_q AS SELECT id + 1 AS id, 'data' AS kind, v
		FROM loaded_q;
	SELECT ecp_promise.make_queries('bytes', 'bytea', false, $each);
	SELECT ecp_promise.make('floats', 'clustered', $rows, 32, $each);
	SELECT ecp_promise.make('codes', 'gaussian', $rows, 96, $each);
	CREATE INDEX bytes_i ON ecp_promise.bytes USING ecp (v);
	CREATE INDEX floats_i ON ecp_promise.floats USING ecp (v);
	CREATE INDEX codes_i ON ecp_promise.codes USING ecp (v);
	VACUUM ANALYZE));
is( $primary->safe_psql(
		'postgres',
		q(SELECT string_agg(quantizer, ' ' ORDER BY i) FROM unnest('{bytes_i,floats_i,codes_i}'::text[])
			WITH ORDINALITY x (n, i), ecp_metapage_info('ecp_promise.' || n))),
	'none none rabitq',
	'one index has codes');
my @sets = ('bytes', 'floats', 'codes');

# The rows nearest to all queries: a line "query distance row" each.  Rows of
# the same distance are in the order of their numbers.
$primary->safe_psql(
	'postgres', q(
	CREATE FUNCTION singly(name text, k int, upto int = 1000000)
	RETURNS TABLE (query int, d float8, id int) LANGUAGE plpgsql AS $$
	DECLARE
		q record;
	BEGIN
		FOR q IN EXECUTE format('SELECT id, v FROM ecp_promise.%I
				WHERE id <= %s', name || '_q', upto)
		LOOP
			RETURN QUERY EXECUTE format('SELECT %s, v <-> $1, id
				FROM ecp_promise.%I ORDER BY v <-> $1 LIMIT %s', q.id, name, k)
				USING q.v;
		END LOOP;
	END $$));
my $singly = q(SELECT * FROM singly('%1$s', %2$d) ORDER BY 1, 2, 3);
my $few = q(SELECT * FROM singly('%1$s', %2$d, 20) ORDER BY 1, 2, 3);
my $nested = q(
	SELECT q.id, n.d, n.id FROM ecp_promise.%1$s_q q,
		LATERAL (SELECT id, v <-> q.v AS d FROM ecp_promise.%1$s
				 ORDER BY v <-> q.v LIMIT %2$d) n ORDER BY 1, 2, 3);
my $batch = q(
	SELECT n.query, n.distance, t.id
	FROM ecp_knn_batch('ecp_promise.%1$s_i',
			'SELECT id, v FROM ecp_promise.%1$s_q', %2$d) n
		JOIN ecp_promise.%1$s t ON t.ctid = n.tid ORDER BY 1, 2, 3);
my $workers = 'SET max_parallel_workers_per_gather = 2;
	SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;';

# the answers to one statement for a set and a k, by query
sub answers
{
	my ($node, $sql, $set, $settings) = @_;
	my %answer;

	foreach my $k (10, 300)
	{
		my $text = $node->safe_psql('postgres',
			"SET enable_seqscan = off; $settings " . sprintf($sql, $set, $k));
		foreach (split /\n/, $text)
		{
			my ($query, $row) = split /\|/, $_, 2;
			push @{ $answer{"k = $k, query $query"} }, $row;
		}
	}
	return \%answer;
}

my %first;

# one test for each set: all answers are those of the first time
sub all_alike
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($label, $node, $sql, %opt) = @_;

	foreach my $set (@{ $opt{sets} || \@sets })
	{
		my $got = answers($node, $sql, $set, $opt{set} || '');
		my $expected = $first{$set} ||= $got;
		my @asked = grep { !$opt{upto} || (/(\d+)$/ && $1 <= $opt{upto}) }
		  sort keys %$expected;
		my @differ = grep {
			join("\n", @{ $got->{$_} || [] }) ne
			  join("\n", @{ $expected->{$_} })
		} @asked;

		is(scalar @differ, 0, "$label: $set")
		  or diag(join ', ', splice @differ, 0, 5);
	}
	return;
}

# a server with no room for the index, right after its start
replayed($primary, $standby);
$_->append_conf('postgresql.conf', "shared_buffers = 1MB\n")
  foreach ($primary, $standby);
$primary->restart;
plan_uses(
	$primary, "SELECT id FROM ecp_promise.$_
	ORDER BY v <-> (SELECT v FROM ecp_promise.${_}_q WHERE id = 1) LIMIT 10",
	"${_}_i") foreach @sets;
$primary->restart;
all_alike('first time', $primary, $singly);
is(scalar keys %{ $first{$_} }, 2 * 3 * $each, "all queries have answers: $_")
  foreach @sets;
all_alike('again', $primary, $singly);
all_alike('without reading ahead',
	$primary, $singly, set => 'SET ecp.prefetch = 0;');
all_alike('a batch on the cold server', $primary, $batch);
all_alike('a batch with workers on the cold server',
	$primary, $batch, set => $workers);
$standby->restart;
all_alike('a cold standby', $standby, $singly);

# one that has room
$_->append_conf('postgresql.conf', "shared_buffers = 128MB\n")
  foreach ($primary, $standby);
$_->restart foreach ($primary, $standby);
all_alike('first time on a large server', $primary, $singly);
all_alike('again', $primary, $singly);
all_alike('one statement for all queries', $primary, $nested);
my $forced =
  $primary->pg_version >= 16 ? 'debug_parallel_query' : 'force_parallel_mode';
my $vector = $primary->safe_psql('postgres',
	'SELECT v FROM ecp_promise.bytes_q WHERE id = 1');
like(
	$primary->safe_psql(
		'postgres',
		"$workers SET $forced = on; SET enable_seqscan = off;
		EXPLAIN (COSTS OFF) SELECT id FROM ecp_promise.bytes
		ORDER BY v <-> '$vector' LIMIT 10"),
	qr/Gather.*Index Scan using bytes_i/s,
	'a worker scans the index');
all_alike(
	'in a worker', $primary, $few,
	upto => 20,
	set => "$workers SET $forced = on;");
all_alike('a batch', $primary, $batch);
all_alike('a batch with workers', $primary, $batch, set => $workers);
all_alike('a warm standby', $standby, $singly);
all_alike('a batch on the standby', $standby, $batch);

done_testing();
