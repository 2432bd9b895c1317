# Cumulative statistics of an ecp index come from all sessions: at the end of
# a session at the latest, of parallel workers without loss, and they outlive a
# restart, a crash after a checkpoint, and the promotion of a standby.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# hints are logged, as with checksums; the page is no part of generic records
my ($primary, $standby) = ecp_primary_and_standby('primary',
	conf => "wal_log_hints = on\n"
	  . "wal_consistency_checking = 'generic'\nfsync = off\n");

load_vecs($primary, 't', 'base.bvecs', limit => 3000);
$primary->safe_psql('postgres', 'CREATE INDEX ti ON t USING ecp (v)');

my $search =
  'SELECT id FROM t ORDER BY v <-> (SELECT v FROM t WHERE id = 7) LIMIT 10';
my $counted = "SELECT scans FROM ecp_stat_get('ti')";

plan_uses($primary, $search, 'ti', set => 'SET enable_seqscan = off;');

sub searches
{
	my ($node, $n, $then) = @_;
	my $sql = "SET enable_seqscan = off;\n" . "$search \\g /dev/null\n" x $n;

	return $node->safe_psql('postgres', $sql . ($then // ''));
}

# five transactions at once: the last four wait for the end of the session
is(searches($primary, 5, $counted), '5', 'a session sees its own at once');
searches($primary, 5);
ok($primary->poll_query_until('postgres', $counted, '10'),
	'those of a session that has ended');

# many at a time
my $script = $primary->basedir . '/search.sql';
append_to_file($script, "SET enable_seqscan = off;\n$search;\n");
$primary->command_ok(
	[
		'pgbench', '-n', '-c', '6', '-j', '2', '-t', '50', '-f', $script,
		'-h', $primary->host, '-p', $primary->port, 'postgres'
	],
	'six sessions search');
ok($primary->poll_query_until('postgres', $counted, '310'),
	'none of their searches is lost');

# a lock that excludes all others is not waited for
my $locker = $primary->background_psql('postgres');
$locker->query_safe('BEGIN');
$locker->query_safe('LOCK TABLE t IN ACCESS EXCLUSIVE MODE');
$locker->query_safe("REINDEX INDEX ti");
is( $primary->safe_psql(
		'postgres',
		"SELECT count(*), count(scans) FROM ecp_stat_indexes WHERE indexrelname = 'ti'"
	),
	'1|0',
	'an index that is locked shows nothing');
$locker->query_safe('ROLLBACK');
$locker->quit;

# They are hints: where there is no page, and no room for one, nothing fails, and
# no reader makes a file.
$primary->safe_psql('postgres', 'CREATE TABLE full_t AS TABLE t');
$primary->safe_psql('postgres',
	'CREATE INDEX full_i ON full_t USING ecp (v)');
my $page = relation_path($primary, 'full_i', 'fsm');
my $full =
	'SELECT id FROM full_t ORDER BY v <-> (SELECT v FROM t WHERE id = 7)'
  . ' LIMIT 10 \g /dev/null';
my $log = -s $primary->logfile;
foreach my $missing (0, 1)
{
	$primary->stop;
	unlink $page                or die "could not remove \"$page\": $!\n";
	symlink('/dev/full', $page) or die "could not link: $!\n" if !$missing;
	$primary->start;
	is( $primary->safe_psql(
			'postgres',
			"SET enable_seqscan = off;\n$full\n$full\n"
			  . "BEGIN; INSERT INTO t VALUES (-1, NULL);\n$full\nCOMMIT;\n$full\n"
			  . "SELECT scans FROM ecp_stat_get('full_i')"),
		'4',
		'a session without a page has its figures for itself');
}
ok(!-e $page, 'no search has made a page');
# but for whom a stop or a start sent away
unlike(
	slurp_file($primary->logfile, $log),
	qr/ERROR|PANIC|FATAL:  (?!the database system is|terminating connection)/,
	'nothing has failed');
$primary->safe_psql('postgres', "SELECT ecp_stat_reset('full_i')");
ok(-s $page, 'a reset makes it');
$primary->safe_psql('postgres', "SET enable_seqscan = off;\n$full");
ok( $primary->poll_query_until(
		'postgres', "SELECT scans FROM ecp_stat_get('full_i')", '1'),
	'where the figures are then');

$primary->restart;
is($primary->safe_psql('postgres', $counted), '310', 'after a restart');
$primary->safe_psql('postgres', 'CHECKPOINT');
crash($primary);
is($primary->safe_psql('postgres', $counted), '310', 'after a crash');
index_ok($primary, 'ti');

# a standby may not write; its sessions count for themselves
$primary->wait_for_catchup($standby);
my $replayed = $standby->safe_psql('postgres', $counted);
is( searches($standby, 3, $counted),
	$replayed + 3,
	'a session of a standby sees its own');
is($standby->safe_psql('postgres', $counted),
	$replayed, 'another one does not');
my ($status, undef, $stderr) =
  $standby->psql('postgres', "SELECT ecp_stat_reset('ti')");
isnt($status, 0, 'no reset on a standby');
like($stderr, qr/cannot execute ecp_stat_reset\(\) during recovery/, 'why');

$standby->promote;
searches($standby, 3);
ok($standby->poll_query_until('postgres', $counted, $replayed + 3),
	'after a promotion they are kept again');
index_ok($standby, 'ti');

done_testing();
