# Buffers for inserts (buffer_rows): no row is lost or found twice, whenever a
# flush is stopped, whatever goes on beside it, and on a standby.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf =
	"wal_consistency_checking = 'generic'\nfsync = off\nautovacuum = off\n"
  . "max_prepared_transactions = 1\n";
my $node = ecp_cluster('main', conf => $conf);
my ($has_points, undef, undef) =
  $node->psql('postgres', 'LOAD \'ecp\'; SHOW ecp.debug_stop_at');

sub load_tables
{
	my ($server) = @_;

	load_vecs($server, 'source', 'base.bvecs', limit => 6000);
	load_vecs($server, 'queries', 'query.bvecs', limit => 50);
	compare_on_scan($server);
	return;
}

load_tables($node);

# The indexes that stops are tried with.
my %shapes = (
	plain => '(v) WITH (buffer_rows = 12)',
	codes => '(v, id) WITH (buffer_rows = 12, quantizer = rabitq)',
	nodes => '(v) WITH (buffer_rows = 12, levels = 2)');
my @shapes = sort keys %shapes;

sub make_table
{
	my ($shape, $rows) = @_;

	$node->safe_psql(
		'postgres', qq(
		DROP TABLE IF EXISTS t;
		CREATE TABLE t (id int, v bytea);
		INSERT INTO t SELECT * FROM source WHERE id < $rows;
		CREATE INDEX ti ON t USING ecp $shapes{$shape}));
	return;
}

# Insert rows of the source, 50 a transaction, with a stop point set or not.
sub insert_rows
{
	my ($from, $n, $setting) = @_;
	my $stderr;
	my $text = $setting ? "SET ecp.debug_stop_at = '$setting';\n" : '';

	for (my $id = $from; $id < $from + $n; $id += 50)
	{
		$text .= sprintf(
			"INSERT INTO t SELECT * FROM source WHERE id BETWEEN %d AND %d;\n",
			$id, $id + 49);
	}
	$node->psql('postgres', $text, stderr => \$stderr, on_error_stop => 0);
	return $stderr;
}

sub all_found
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($name) = @_;

	$node->safe_psql('postgres', 'SELECT compare(7)');
	none_wrong($node, "$name: all rows are found, each once");
	return;
}

make_table('plain', 500);
plan_uses(
	$node,
	'SELECT id FROM t ORDER BY v <-> (SELECT v FROM queries WHERE id = 1) LIMIT 10000000',
	'ti',
	set => 'SET enable_seqscan = off');

SKIP:
{
	skip 'compiled without stop points', 1 if $has_points != 0;

	my $turn = 0;
	foreach my $point (
		qw(buffer-create buffer-flush replace-begin replace-alloc
		replace-fill group-close group-closed flush-append replace-parent-add
		replace-parent-end group-publish replace-published replace-stamp))
	{
		# an early one by an error, a later one by a crash, or one of them
		my @stops =
		  $point =~ /alloc|fill|close$|append|parent/
		  ? ("$point:1", "$point:7:panic")
		  : $turn % 2 ? ("$point:1")
		  :             ("$point:1:panic");

		foreach my $how (@stops)
		{
			my $shape = $shapes[ $turn++ % @shapes ];

			make_table($shape, 2000);
			# the buffers are there, and what follows is a flush
			insert_rows(2000, 50) if $point ne 'buffer-create';
			my $stderr = insert_rows(2050, 1200, $how);
			like(
				$stderr,
				qr/stop point "$point" reached|server closed the connection/,
				"$how, $shape: was stopped");
			if ($how =~ /panic/)
			{
				start_after_panic($node);
			}
			index_ok($node, 'ti', "$how: sound");
			all_found($how);
			insert_rows(4050, 600);
			index_ok($node, 'ti', "$how: sound after more rows");
			all_found("$how, after more rows");
			$node->safe_psql('postgres', q(SELECT ecp_maintain('ti')));
			is( $node->safe_psql(
					'postgres', q(
					SELECT buffers, buffered_rows, rows >= (SELECT count(*) FROM t)
					FROM ecp_index_drift('ti'))),
				'0|0|t',
				"$how: buffers are emptied");
			index_ok($node, 'ti', "$how: sound when they are empty");
		}
	}
}

# What flushes retire is freed by flushes, where no VACUUM ever comes.
make_table('plain', 4000);
insert_rows($_ * 500 % 6000, 500) for 0 .. 11;
is( $node->safe_psql(
		'postgres', q(
		SELECT retired_pages < 500 OR retired_pages < pages / 4, rows
		FROM ecp_index_drift('ti'))),
	't|10000',
	'retired pages do not pile up');
index_ok($node, 'ti');

# As long as an old transaction forbids that, flushes wait for more rows, or
# each would write its clusters anew for a few.
$shapes{held} = '(v) WITH (buffer_rows = 1, cluster_size = 8)';
make_table('held', 3000);
my $pages = "SELECT pg_relation_size('ti') / 8192";
my $before = $node->safe_psql('postgres', $pages);
$node->safe_psql('postgres',
	"BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'old'");
$node->safe_psql(
	'postgres',
	join('',
		map { "INSERT INTO t SELECT * FROM source WHERE id = $_;\n" }
		  3000 .. 3599));
my $after = $node->safe_psql('postgres', $pages);
cmp_ok($after, '<', 3 * $before,
	"an old transaction does not make the file grow with each flush ($before, then $after pages)"
);
$node->safe_psql('postgres', "ROLLBACK PREPARED 'old'");
index_ok($node, 'ti');
$node->stop;

# Inserters of the same buffers, deletes, VACUUM, maintenance, and the option
# switched off and on, beside searches here and on the standby.
($node, my $standby) = ecp_primary_and_standby('primary', conf => $conf);
load_tables($node);
make_table('plain', 1000);
replayed($node, $standby);
my $load = start_load(
	$node, q(
\set id random(0, 5999)
\set q random(0, 49)
\set kind random(1, 60)
\if :kind = 1
DELETE FROM t WHERE id BETWEEN :id AND :id + 300;
\elif :kind = 2
VACUUM t;
\elif :kind = 3
SELECT ecp_maintain('ti');
\elif :kind = 4
ALTER INDEX ti SET (buffer_rows = 0);
\elif :kind < 7
ALTER INDEX ti SET (buffer_rows = 5);
\elif :kind < 14
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT compare(:q);
COMMIT;
\else
INSERT INTO t SELECT id, v FROM source WHERE id BETWEEN :id AND :id + 19;
\endif
),
	clients => 5,
	transactions => 120);

my $set = 'SET enable_seqscan = off; SET ecp.probes = 1000000;';
my $all = q(SELECT count(*), count(DISTINCT x.tid), (SELECT count(*) FROM t)
	FROM (SELECT ctid AS tid FROM t ORDER BY v <-> (SELECT v FROM queries WHERE id = 3)) x);
ask_standby(
	$standby,
	rounds => 20,
	sql => "$set $all",
	right => sub { $_[0] =~ /^(\d+)\|\1\|\1$/m });
ok(finish_load($load), 'the load ran to its end') or diag($load->{err});
none_wrong($node, 'every search found all rows of its snapshot, each once');
index_ok($node, 'ti');

$node->safe_psql(
	'postgres', q(
	ALTER INDEX ti SET (buffer_rows = 30);
	INSERT INTO t SELECT * FROM source WHERE id < 1000));
cmp_ok(
	$node->safe_psql(
		'postgres', q(SELECT buffered_rows FROM ecp_index_drift('ti'))),
	'>', 0,
	'rows wait in buffers');
answers_alike($node, $standby, "$set $all");
answers_alike($node, $standby,
	q(SELECT buffers, buffered_rows, rows FROM ecp_index_drift('ti')));
answers_alike($node, $standby,
		'SET enable_seqscan = off; SET ecp.probes = 3; '
	  . 'SELECT id FROM t ORDER BY v <-> (SELECT v FROM queries WHERE id = 5), id LIMIT 20'
);

# Clusters that are replaced while rows wait for them: these are found beside
# the clusters that their buffer still has, also after a crash.
$node->safe_psql(
	'postgres', q(
	ALTER INDEX ti SET (buffer_rows = 0);
	VACUUM t;
	ALTER INDEX ti SET (buffer_rows = 100);
	INSERT INTO t SELECT id + 10000, v FROM source WHERE id < 1500;
	DELETE FROM t WHERE id < 10000 AND id % 4 > 0));
my $clusters =
  $node->safe_psql('postgres', q(SELECT clusters FROM ecp_index_stats('ti')));
$node->safe_psql('postgres', 'VACUUM t');
is( $node->safe_psql(
		'postgres',
		"SELECT buffered_rows > 1000, clusters < $clusters FROM ecp_index_drift('ti')"
	),
	't|t',
	'rows wait for clusters that are no more');
$node->stop('immediate');
$node->start;
index_ok($node, 'ti');
all_found('of a buffer whose clusters were replaced');

# The load above left clusters that differ from run to run: 228 to 299 of the
# 300 rows were found.
cmp_ok(
	$node->safe_psql(
		'postgres', q(
		SET enable_seqscan = off;
		SET ecp.probes = 3;
		SELECT count(*) FROM source s CROSS JOIN LATERAL
			(SELECT id FROM t ORDER BY v <-> s.v LIMIT 100) x
		WHERE s.id < 300 AND x.id = s.id + 10000)),
	'>=',
	200,
	'and by a search of few clusters');
index_ok($standby, 'ti', 'ti is sound on the standby');
$standby->promote;
$standby->safe_psql('postgres',
	'INSERT INTO t SELECT * FROM source WHERE id BETWEEN 1000 AND 5000');
index_ok($standby, 'ti', 'and takes rows when that is promoted');

$standby->stop;
$node->stop;
done_testing();
