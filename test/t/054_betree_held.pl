# Rows that a transaction has inserted, but not yet into its betree indexes (src/betree/README,
# "Held rows"): crashes before, at and after its commit, also a prepared one; a cancel
# while they go into the index; a standby; and a subscriber.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($node, $standby) = ecp_primary_and_standby('main',
	conf => "wal_consistency_checking = 'generic'\nfsync = off\n"
	  . "wal_level = logical\nmax_prepared_transactions = 4\nrestart_after_crash = on\n"
);

$node->safe_psql(
	'postgres', q{
CREATE TABLE t (k int, s text, step text) WITH (autovacuum_enabled = off);
CREATE INDEX t_k ON t USING betree (k) WITH (log_pages = 4);
CREATE INDEX t_s ON t USING betree (s) WITH (log_pages = 4);
INSERT INTO t SELECT g * 7919 % 100003, md5(g::text), 'before' FROM generate_series(1, 5000) g;
});
my $insert =
  q{INSERT INTO t SELECT g * 7919 %% 100003, md5(g::text), '%1$s' FROM generate_series(1, 300) g};

# The rows of a step, looked up by each index, and by none
sub found
{
	my ($server, $step, $rows, $what, $writers) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $by_index = 'SET enable_seqscan = off; SET enable_bitmapscan = off;'
	  . ' SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_sort = off;';
	my $plans = '';
	my @counts;

	foreach my $lookup ('k = g * 7919 % 100003', 's = md5(g::text)')
	{
		my $query =
			"SELECT count(*) FROM generate_series(1, 300) g, LATERAL"
		  . " (SELECT FROM t WHERE $lookup AND step = '$step' OFFSET 0) l";

		$plans .= $server->safe_psql('postgres',
			"$by_index EXPLAIN (COSTS OFF) $query");
		push @counts, $server->safe_psql('postgres', "$by_index $query");
	}
	like(
		$plans,
		qr/Index Scan using t_k.*Index Scan using t_s/s,
		"$what: the plans");
	is( "@counts "
		  . $server->safe_psql(
			'postgres',
			'SET enable_indexscan = off; SET enable_bitmapscan = off;'
			  . " SELECT count(*) FROM t WHERE step = '$step'"),
		"$rows $rows $rows",
		"$what: rows by the indexes and by none");
	# the checker waits for writers
	if (!$writers)
	{
		index_ok($server, $_, "$what: $_ is sound") foreach ('t_k', 't_s');
	}
	return;
}

# the commit record is flushed, and nothing else has to be
$node->safe_psql('postgres', sprintf($insert, 'committed'));
crash($node);
found($node, 'committed', 300, 'a crash after the commit');
$node->safe_psql('postgres',
		"CHECKPOINT; BEGIN; "
	  . sprintf($insert, 'two') . '; '
	  . sprintf($insert, 'two')
	  . '; COMMIT');
crash($node);
found($node, 'two', 600, 'a crash after two statements');

# before the end, while others commit
my $session = $node->background_psql('postgres');
$session->query_safe('BEGIN; ' . sprintf($insert, 'open'));
$node->safe_psql('postgres', sprintf($insert, 'other'));
found($node, 'open', 0, 'before the commit', 1);
replayed($node, $standby);
found($standby, 'open', 0, 'on the standby, before the commit');
found($standby, 'other', 300, 'on the standby, another one');
crash($node);
eval { $session->quit };
found($node, 'open', 0, 'a crash before the commit');
found($node, 'other', 300, 'a crash after the commit of another');

# prepared
$node->safe_psql('postgres',
	'BEGIN; ' . sprintf($insert, 'prepared') . "; PREPARE TRANSACTION 'p'");
found($node, 'prepared', 0, 'a prepared transaction', 1);
crash($node);
found($node, 'prepared', 0, 'a prepared transaction after a crash', 1);
$node->safe_psql('postgres', "VACUUM t; COMMIT PREPARED 'p'");
found($node, 'prepared', 300, 'a transaction that was prepared');
$node->safe_psql('postgres',
	'BEGIN; ' . sprintf($insert, 'undone') . "; PREPARE TRANSACTION 'p'");
crash($node);
$node->safe_psql('postgres', "ROLLBACK PREPARED 'p'; VACUUM t");
found($node, 'undone', 0, 'a transaction that was prepared and undone');

replayed($node, $standby);
found($standby, 'prepared', 300, 'on the standby');
$node->safe_psql('postgres', sprintf($insert, 'standby'));
replayed($node, $standby);
found($standby, 'standby', 300, 'on the standby, at once');

SKIP:
{
	skip 'built without stop points',
	  1
	  unless $node->safe_psql('postgres',
		"LOAD 'ecp'; SELECT count(*) FROM pg_settings WHERE name = 'ecp.debug_stop_at'"
	  );

	# dead while the rows of the first index, or of both, are in it, and WAL is flushed
	foreach my $count (1, 2)
	{
		my $step = "dead $count";
		my $logged = -s $node->logfile;

		ok( !run_with_point(
				$node, "held-sent:$count:panic", sprintf($insert, $step)),
			"point held-sent is met the ${count}. time"
		) and restarted($node, $logged);
		found($node, $step, 0, "a crash before the commit record, $count");
		$node->safe_psql('postgres', 'VACUUM t');
		found($node, $step, 0, "and VACUUM, $count");
	}

	# an error, and cancels: of COMMIT, of a statement that reads, of a savepoint
	ok(!run_with_point($node, 'held-sent', sprintf($insert, 'failed')),
		'an error between two indexes');
	found($node, 'failed', 0, 'an error between two indexes');
	foreach my $statement (
		'COMMIT',
		'SELECT count(*) FROM t WHERE k BETWEEN 10 AND 20',
		"PREPARE TRANSACTION 'p'")
	{
		my ($step) = map { lc } $statement =~ /(\w+)/;
		my $lock = $node->background_psql('postgres');
		my $writer = $node->background_psql('postgres', on_error_stop => 0);
		my $pid = backend_pid($writer);

		$lock->query_safe('SELECT pg_advisory_lock(7777, 1)');
		$writer->query_safe(
			"LOAD 'ecp'; SET enable_seqscan = off; SET ecp.debug_stop_at = 'held-sent:1:wait'"
		);
		$writer->query_safe('BEGIN; ' . sprintf($insert, $step));
		$writer->query_until(qr/started/, "\\echo started\n$statement;\n");
		$node->poll_query_until('postgres',
			"SELECT wait_event = 'advisory' FROM pg_stat_activity WHERE pid = $pid"
		) or die "no wait in $statement\n";
		found($node, $step, 0, "while $step waits", 1);
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
		$node->poll_query_until('postgres',
			"SELECT state LIKE 'idle%' FROM pg_stat_activity WHERE pid = $pid"
		) or die "$statement is not cancelled\n";
		$lock->quit;
		$writer->query('ROLLBACK');
		like(
			$writer->{stderr},
			qr/canceling statement/,
			"$statement is cancelled");
		$writer->{stderr} = '';
		$writer->query_safe(
			"RESET ecp.debug_stop_at; " . sprintf($insert, "$step again"));
		$writer->quit;
		found($node, $step, 0, "$statement cancelled");
		found($node, "$step again", 300, "the session after $statement");
	}

	# a cancel does not end the session where a subtransaction begins
	my $lock = $node->background_psql('postgres');
	my $writer = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = backend_pid($writer);
	my $block = sprintf($insert, 'block');

	$lock->query_safe('SELECT pg_advisory_lock(7777, 1)');
	$writer->query_safe(
		"LOAD 'ecp'; SET ecp.debug_stop_at = 'held-sent:1:wait'; BEGIN");
	$writer->query_until(
		qr/started/, qq(\\echo started
DO \$\$ BEGIN
	BEGIN
		$block;
		BEGIN
			NULL;
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
END \$\$;
));
	$node->poll_query_until('postgres',
		"SELECT wait_event = 'advisory' FROM pg_stat_activity WHERE pid = $pid"
	) or die "no wait in a block\n";
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	$lock->quit;
	$writer->query('ROLLBACK');
	unlike($writer->{stderr}, qr/FATAL|server closed/, 'a block cancelled');
	$writer->{stderr} = '';
	is(backend_pid($writer), $pid, 'the session goes on');
	$writer->quit;
	found($node, 'block', 0, 'a block cancelled');
}

# a subscriber, whose process has no active snapshot at the commit
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION ecp');
$node->safe_psql('postgres', 'CREATE TABLE rep (k int, s text)');
$node->safe_psql('other',
		'CREATE TABLE rep (k int, s text);'
	  . ' CREATE INDEX rep_k ON rep USING betree (k) WITH (log_pages = 4)');
subscribe($node, 'rep', 'other');
foreach my $step (
	[ 'many rows', 'INSERT INTO rep SELECT generate_series(1, 1000)' ],
	[
		'TRUNCATE between',
		'BEGIN; INSERT INTO rep SELECT generate_series(1, 50); TRUNCATE rep;'
		  . ' INSERT INTO rep SELECT generate_series(1, 70); COMMIT'
	],
	[
		'TRUNCATE at the end',
		'BEGIN; INSERT INTO rep SELECT generate_series(1, 50); TRUNCATE rep; COMMIT'
	],
	[
		'a savepoint',
		'BEGIN; INSERT INTO rep SELECT generate_series(1, 50); SAVEPOINT a;'
		  . ' INSERT INTO rep SELECT generate_series(51, 100); ROLLBACK TO a;'
		  . ' INSERT INTO rep SELECT generate_series(101, 150); COMMIT'
	])
{
	my ($what, $sql) = @$step;
	my $rows = 'SELECT count(k), sum(k) FROM rep WHERE k > 0';

	$node->safe_psql('postgres', $sql);
	$node->wait_for_catchup('rep');
	is( $node->safe_psql(
			'other',
			"SET enable_seqscan = off; SET enable_bitmapscan = off; $rows"),
		$node->safe_psql('postgres', $rows),
		"a subscriber: $what");
	is( $node->safe_psql('other', "SELECT betree_index_check('rep_k', true)"),
		'',
		"a subscriber: sound after $what");
}
$node->safe_psql('other', 'DROP SUBSCRIPTION rep');

$standby->stop;
$node->stop;
done_testing();
