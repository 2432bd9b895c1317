# An index is as small after a life of inserts and deletes as a fresh one, with
# VACUUM alone: clusters have their size again, and the end of the file is given
# back.  What a scan may still read is not: neither that of a cursor here or on
# a standby, nor one that a crash interrupts.
#
# Bounds of sizes are ratios to the same index after REINDEX.  A file may have an
# eighth of free pages before it is compacted.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($node, $standby) = ecp_primary_and_standby('primary',
	conf => "wal_consistency_checking = 'generic'\nfsync = off\n");
my $rows = 8000;

load_vecs($node, 'source', 'base.bvecs', limit => $rows);
$node->safe_psql(
	'postgres', q(
	CREATE TABLE t (id int, v bytea);
	ALTER TABLE t ALTER v SET STORAGE plain;
	CREATE INDEX ti ON t USING ecp (v);
	CREATE TABLE seen (step text, size int8, rows float8)));

my $all =
  'SET enable_seqscan = off; SET ecp.probes = 1; SET ecp.iterative_scan = relaxed_order;';
my $scan =
  'SELECT id FROM t ORDER BY v <-> (SELECT v FROM source WHERE id = 0)';
my $answer = "$all SET ecp.probes = 1000000; SELECT array_agg(id) FROM
	(SELECT id FROM t ORDER BY v <-> (SELECT v FROM source WHERE id = 7), id
	 LIMIT 50) s";

sub size
{
	my ($of) = @_;
	return ($of || $node)
	  ->safe_psql('postgres', "SELECT pg_relation_size('ti')");
}

sub mean_rows
{
	return $node->safe_psql('postgres',
		"SELECT mean_rows FROM ecp_index_drift('ti')");
}

# an index on all rows, and nothing in its file that is not used
sub fresh
{
	$node->safe_psql('postgres',
		'TRUNCATE t; INSERT INTO t SELECT * FROM source; VACUUM t; REINDEX INDEX ti'
	);
	return size();
}

# compare with the size and the clusters after a REINDEX
sub as_fresh
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($name, $larger) = @_;
	my ($size, $mean) = (size(), mean_rows());

	index_ok($node, 'ti', "$name: sound");
	$node->safe_psql('postgres', 'REINDEX INDEX ti');
	cmp_ok(
		$size, '<=',
		$larger * size(),
		"$name: at most $larger times a fresh file");
	cmp_ok($mean, '>=', 0.75 * mean_rows(),
		"$name: clusters have their size");
	cmp_ok($mean, '<=', 1.6 * mean_rows(), "$name: and not much more");
	return;
}

my $delete = 'DELETE FROM t WHERE id % 10 > 0';

plan_uses($node, $scan, 'ti', set => $all);

# grown from nothing, in steps and at once
for (my $from = 0; $from < $rows; $from += $rows / 10)
{
	$node->safe_psql('postgres',
		"INSERT INTO t SELECT * FROM source WHERE id >= $from AND id < $from + $rows / 10"
	);
	$node->safe_psql('postgres', 'VACUUM t');
}
as_fresh('grown in steps', 1.4);
$node->safe_psql('postgres',
	'TRUNCATE t; INSERT INTO t SELECT * FROM source');
$node->safe_psql('postgres', 'VACUUM t');
as_fresh('grown at once', 1.4);

# nine rows of ten deleted, and all
fresh();
$node->safe_psql('postgres', $delete);
$node->safe_psql('postgres', 'VACUUM t');
as_fresh('shrunk', 1.5);
fresh();
$node->safe_psql('postgres', 'DELETE FROM t');
$node->safe_psql('postgres', 'VACUUM t');
cmp_ok(size(), '<=', 16 * 8192, 'nothing is left of an index without rows');
index_ok($node, 'ti', 'it is sound');

# a table that is not to be cut keeps its index
my $size = fresh();
$node->safe_psql('postgres',
	"ALTER TABLE t SET (vacuum_truncate = off); $delete");
$node->safe_psql('postgres', 'VACUUM t');
cmp_ok(size(), '>=', $size, 'vacuum_truncate = off');
$node->safe_psql('postgres', 'ALTER TABLE t RESET (vacuum_truncate)');
$node->safe_psql('postgres', 'VACUUM t');
as_fresh('cut later', 1.5);

# Rows updated in place, all at once: the index has room for two versions of each
# and for what is replaced, and gives it back, also if VACUUM has workers.
$size = fresh();
$node->safe_psql('postgres', 'CREATE INDEX tid ON t (id)');
foreach my $round (1 .. 2)
{
	$node->safe_psql('postgres', 'UPDATE t SET v = v, id = id');
	my $stderr = '';
	$node->psql(
		'postgres',
		'SET min_parallel_index_scan_size = 0; VACUUM (PARALLEL 1, VERBOSE) t',
		stderr => \$stderr);
	like(
		$stderr,
		qr/launched 1 parallel vacuum worker/,
		"VACUUM $round has a worker");
	cmp_ok(size(), '<', 1.5 * $size, "VACUUM $round truncates the index");
}
$node->safe_psql('postgres', 'DROP INDEX tid');
as_fresh('updated twice', 1.5);

# A cursor that has read one cluster reads the others as they were when it began,
# all of which VACUUM replaces meanwhile.
sub fetch_rest
{
	my ($session) = @_;
	my @ids = split /\n/, $session->query_safe('FETCH ALL FROM c');
	return scalar @ids;
}

$size = fresh();
$node->safe_psql('postgres', $delete);
my $session = $node->background_psql('postgres');
$session->query_safe("$all BEGIN; DECLARE c CURSOR FOR $scan");
$session->query_safe('FETCH 1 FROM c');
$node->safe_psql('postgres', 'VACUUM t');
cmp_ok(mean_rows(), '>', 50, 'all clusters are replaced');
cmp_ok(size(), '>=', $size, 'nothing is cut that a cursor may read');
is(fetch_rest($session), $rows / 10 - 1, 'the cursor returns all rows');
$session->query_safe('CLOSE c');

# now it has no snapshot, but the lock: blocks are freed, and not cut
$node->safe_psql('postgres', 'VACUUM t');
cmp_ok(size(), '>=', $size,
	'nothing is cut while a transaction uses the index');
is( $node->safe_psql(
		'postgres', q(SELECT retired_pages FROM ecp_metapage_info('ti'))),
	0,
	'but what was replaced is free');
$session->query_safe('COMMIT');
$session->quit;
$node->safe_psql('postgres', 'VACUUM t');
as_fresh('cut behind the cursor', 1.5);

# a maintainer does not free what a cursor of its own session reads
$node->safe_psql('postgres',
	'TRUNCATE t; INSERT INTO t SELECT * FROM source');
my $ids = $node->safe_psql(
	'postgres',
	"$all BEGIN; DECLARE c CURSOR FOR $scan; FETCH 1 FROM c;
	SELECT regrouped > 20 FROM ecp_maintain('ti'); FETCH ALL FROM c; COMMIT");
like($ids, qr/^t$/m, 'clusters are replaced');
is(scalar(grep { /^\d+$/ } split /\n/, $ids),
	$rows, 'its cursor returns all rows');
index_ok($node, 'ti', 'sound after ecp_maintain() beside a cursor');

# crashes around the truncation
my ($has_points, undef, undef) =
  $node->psql('postgres', 'LOAD \'ecp\'; SHOW ecp.debug_stop_at');
foreach my $stop ($has_points == 0 ? qw(truncate truncated) : ())
{
	fresh();
	$node->safe_psql('postgres', $delete);
	my $expected = $node->safe_psql('postgres', $answer);
	$node->psql(
		'postgres',
		"SET ecp.debug_stop_at = '$stop:1:panic';\nVACUUM t",
		on_error_stop => 0);
	start_after_panic($node);
	is($node->safe_psql('postgres', $answer),
		$expected, "$stop: the same answer");
	$node->safe_psql('postgres', 'VACUUM t');
	as_fresh("crashed at $stop", 1.5);
}

# and one after VACUUM: the file that replay leaves is as short
fresh();
$node->safe_psql('postgres', $delete);
$node->safe_psql('postgres', 'CHECKPOINT');
$node->safe_psql('postgres', 'VACUUM t');
my $expected = $node->safe_psql('postgres', $answer);
$size = size();
crash($node);
is(size(), $size, 'replay cuts the file');
is($node->safe_psql('postgres', $answer), $expected, 'the same answer');
$node->safe_psql('postgres',
	"INSERT INTO t SELECT * FROM source WHERE id % 10 > 0");
index_ok($node, 'ti', 'the index grows again');

# A standby cuts its file, too, but not under a query.  Replay waits for the
# query here, however long it takes.  (It does not come to that if it waits for
# the query's pin on a page of the table; so this is pruned before.)
my $prune = 'VACUUM (INDEX_CLEANUP off) t';
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = -1');
$standby->reload;
fresh();
$node->safe_psql('postgres', $_) foreach $delete, $prune;
replayed($node, $standby);
$size = size($standby);
$session = $standby->background_psql('postgres');
$session->query_safe("$all BEGIN; DECLARE c CURSOR FOR $scan");
$session->query_safe('FETCH 1 FROM c');
$node->safe_psql('postgres', 'VACUUM t');
cmp_ok(size(), '<', $size / 2, 'the primary has cut the file');
$standby->poll_query_until(
	'postgres',
	q(SELECT wait_event LIKE 'RecoveryConflict%' FROM pg_stat_activity
	  WHERE backend_type = 'startup')) or die 'replay does not wait';
cmp_ok(size($standby), '>=', $size, 'the standby has not');
is(fetch_rest($session), $rows / 10 - 1, 'its cursor returns all rows');
$session->query_safe('COMMIT');
answers_alike($node, $standby, $answer);
is(size($standby), size(), 'then the standby has cut it');
index_ok($standby, 'ti', 'sound on the standby');

# with feedback, the primary waits
$standby->append_conf('postgresql.conf',
	"hot_standby_feedback = on\nwal_receiver_status_interval = 1");
$standby->reload;
fresh();
$node->safe_psql('postgres', $delete);
$node->poll_query_until(
	'postgres',
	'SELECT backend_xmin::text = pg_snapshot_xmin(pg_current_snapshot())::text
	 FROM pg_stat_replication') or die 'no feedback';
$node->safe_psql('postgres', $prune);
replayed($node, $standby);
$session->query_safe("$all BEGIN; DECLARE c CURSOR FOR $scan");
$session->query_safe('FETCH 1 FROM c');
$size = size();
$node->safe_psql('postgres', 'VACUUM t');
cmp_ok(mean_rows(), '>', 50, 'all clusters are replaced');
cmp_ok(size(), '>=', $size,
	'nothing is cut that a standby with feedback reads');
replayed($node, $standby);
is( fetch_rest($session),
	$rows / 10 - 1,
	'its cursor returns all rows, without a wait');
$session->query_safe('COMMIT');
$session->quit;
index_ok($node, 'ti', 'sound on the primary');

$standby->stop;
$node->stop;
done_testing();
