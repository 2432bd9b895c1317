# 050_betree_build.pl: what CREATE INDEX and VACUUM of betree do in several processes
#
# The progress of a build, at points where it is held; a parallel build that is
# cancelled, whose worker is terminated, fails or crashes, which meets a duplicate,
# and beside which rows come and go; VACUUM of several indexes by workers; from PostgreSQL 18 on the height of a tree in the
# costs of plans, and from 17 on the names of waits.
#
# Builds are held in the middle of the table by an index expression that waits, in
# every process, for a file of the data directory to vanish; and, where there are
# stop points, while they write the tree.

use strict;
use warnings FATAL => 'all';

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('main',
	conf =>
	  "max_parallel_maintenance_workers = 2\nmax_worker_processes = 12\n"
	  . "min_parallel_index_scan_size = 0\n");
my $hold = $node->data_dir . '/hold';
my $per = $ENV{BETREE_TINY} ? 4000 : 20000;

$node->safe_psql(
	'postgres', qq{
CREATE TABLE items (id int, k uuid) WITH (parallel_workers = 2);
INSERT INTO items SELECT g, md5(g::text)::uuid FROM generate_series(1, $per) g;
CREATE FUNCTION waits(id int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
	'BEGIN
		WHILE id >= $per / 2 AND (pg_stat_file(''hold'', true)).size IS NOT NULL LOOP
			PERFORM pg_sleep(0.01);
		END LOOP;
		RETURN id;
	END'});

my $progress = q{
SELECT phase, tuples_done > 0, tuples_done <= tuples_total, tuples_total > 0,
	blocks_total > 0, blocks_done <= blocks_total
  FROM pg_stat_progress_create_index WHERE relid = 'items'::regclass};

sub until_idle
{
	my ($pid) = @_;

	$node->poll_query_until('postgres',
		"SELECT state ~ '^idle' FROM pg_stat_activity WHERE pid = $pid")
	  or die "session $pid goes on\n";
	return;
}

sub gone
{
	my ($name) = @_;

	is(scalar(temp_files($node)), 0, "$name: no file is left");
	is( $node->safe_psql(
			'postgres', "SELECT count(*) FROM pg_class WHERE relname = 'i'"),
		'0',
		"$name: and no index");
	return;
}

# the scan of the table, and a cancel
my ($build, $pid, @workers) =
  held_build($node,
	'CREATE UNIQUE INDEX i ON items USING betree (waits(id), k)');
is(scalar(@workers), 2, 'two workers read the table');
like(
	$node->safe_psql('postgres', $progress),
	qr/^building index: scanning table\|f\|t\|f\|t\|t$/,
	'progress: the scan of the table');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
until_idle($pid);
end_sessions($build);
gone('cancel');

# a worker is terminated: an error of the build
($build, $pid, @workers) =
  held_build($node, 'CREATE INDEX i ON items USING betree (waits(id))');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($workers[0])");
$node->poll_query_until('postgres',
	"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $workers[0])"
);
unlink $hold;
until_idle($pid);
end_sessions($build);
gone('terminated worker');

# and it can be built
$node->safe_psql('postgres',
	'CREATE INDEX i ON items USING betree (waits(id))');
index_ok($node, 'i', 'sound after a parallel build');
$node->safe_psql('postgres', 'DROP INDEX i');

# the writing of the tree, by the backend or by it and one worker; the other has gone
SKIP:
{
	skip 'built without stop points', 1
	  unless $node->safe_psql(
		'postgres', q{
LOAD 'ecp';
SELECT count(*) FROM pg_settings WHERE name = 'ecp.debug_stop_at'});

	foreach my $workers (0, 2)
	{
		my $gate = $node->background_psql('postgres');

		$gate->query_safe('SELECT pg_advisory_lock(7777, 1)');
		$build = $node->background_psql('postgres');
		$pid = backend_pid($build);
		$build->query_safe(
			"LOAD 'ecp'; SET max_parallel_maintenance_workers = $workers");
		$build->query_safe("SET ecp.debug_stop_at = 'build-loaded:2:wait'");
		$build->query_until(qr/started/,
			"\\echo started\nCREATE INDEX i ON items USING betree (k);\n");
		$node->poll_query_until('postgres',
			"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid"
		) or die "the build is not held\n";
		like(
			$node->safe_psql('postgres', $progress),
			qr/^building index: loading tuples in tree\|t\|t\|t/,
			"progress: the writing of the tree, $workers workers");
		is( $node->safe_psql(
				'postgres',
				'SELECT tuples_done, tuples_total FROM pg_stat_progress_create_index'
			),
			"2048|$per",
			'and how many tuples are in it');
		$node->poll_query_until('postgres',
			"SELECT count(*) = @{[$workers > 0]} + 0 FROM pg_stat_activity WHERE leader_pid = $pid AND pid <> $pid"
		) or die "more workers than one stay, or none\n";
		end_sessions($gate);
		until_idle($pid);
		end_sessions($build);
		index_ok($node, 'i');
		$node->safe_psql('postgres', 'DROP INDEX i');
	}

	# the worker that writes waits: a cancel, and the end of the worker
	foreach my $end ('pg_cancel_backend', 'pg_terminate_backend')
	{
		my $gate = $node->background_psql('postgres');

		$gate->query_safe('SELECT pg_advisory_lock(7777, 1)');
		$build = $node->background_psql('postgres', on_error_stop => 0);
		$pid = backend_pid($build);
		$build->query_safe(
			"LOAD 'ecp'; SET ecp.debug_stop_at = 'build-written:3:wait'");
		$build->query_until(qr/started/,
			"\\echo started\nCREATE UNIQUE INDEX i ON items USING betree (k);\n"
		);
		$node->poll_query_until('postgres',
			"SELECT count(*) = 1 FROM pg_stat_activity WHERE leader_pid = $pid AND wait_event_type = 'Lock'"
		) or die "the worker is not held\n";
		my $whom =
			$end eq 'pg_cancel_backend'
		  ? $pid
		  : $node->safe_psql(
			'postgres',
			"SELECT pid FROM pg_stat_activity WHERE leader_pid = $pid AND wait_event_type = 'Lock'"
		  );
		$node->safe_psql('postgres', "SELECT $end($whom)");
		until_idle($pid);
		end_sessions($build, $gate);
		gone("$end while a worker writes");
	}

	# its error is the build's
	my (undef, undef, $error) = $node->psql(
		'postgres', q{
SET ecp.debug_stop_at = 'build-written:3:error';
CREATE INDEX i ON items USING betree (k)});
	like(
		$error,
		qr/stop point "build-written" reached\nCONTEXT: .*parallel worker/,
		'an error of the worker that writes');
	gone('error of the worker that writes');

	# a crash
	$node->psql(
		'postgres', q{
SET ecp.debug_stop_at = 'build-written:3:panic';
CREATE INDEX i ON items USING betree (k)});
	start_after_panic($node);
	gone('crash of the worker that writes');
}

# Duplicates are met while a worker writes
my $last = 2 * $per;
$node->safe_psql('postgres',
	"INSERT INTO items SELECT $last, k FROM items WHERE id = $per - 7");
my (undef, undef, $error) =
  $node->psql('postgres', 'CREATE UNIQUE INDEX i ON items USING betree (k)');
my $twice =
  $node->safe_psql('postgres', "SELECT k FROM items WHERE id = $last");
like(
	$error,
	qr/could not create unique index "i"\nDETAIL: +Key \(k\)=\($twice\) is duplicated/,
	'a duplicate is named');
gone('duplicate');
$node->safe_psql('postgres', "DELETE FROM items WHERE id = $last");

# What a worker has logged is replayed
$node->safe_psql('postgres',
	'CREATE UNIQUE INDEX i ON items USING betree (k)');
$node->stop('immediate');
$node->start;
index_ok($node, 'i', 'sound after a parallel build and a crash');
$node->safe_psql('postgres', 'DROP INDEX i');

# concurrently, while rows come and go
my $load = start_load(
	$node, qq(
\\set id random(1, $per)
DELETE FROM items WHERE id = :id;
INSERT INTO items SELECT id + 1000000, k FROM items WHERE id = :id + 1;
DELETE FROM items WHERE id = :id + 1;
UPDATE items SET id = id WHERE id = :id + 2;
),
	clients => 2,
	transactions => 200);
$node->safe_psql('postgres',
	'CREATE UNIQUE INDEX CONCURRENTLY i ON items USING betree (k, id)');
$node->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY i');
ok(finish_load($load), 'rows came and went') or diag($load->{err});
index_ok($node, 'i', 'sound after CREATE INDEX and REINDEX CONCURRENTLY');

# VACUUM by workers, an index each
$node->safe_psql(
	'postgres', qq{
CREATE INDEX i_id ON items USING betree (id);
CREATE INDEX i_k ON items USING betree (k) WITH (log_pages = 4, bloom = on);
INSERT INTO items SELECT g + 2000000, md5(g::text)::uuid FROM generate_series(1, $per) g;
DELETE FROM items WHERE id % 3 > 0});
my ($rc, $out, $err) =
  $node->psql('postgres', 'VACUUM (PARALLEL 2, VERBOSE) items');
like(
	$err,
	qr/launched 2 parallel vacuum workers? for index vacuuming/,
	'VACUUM has workers for betree');
foreach my $index ('i', 'i_id', 'i_k')
{
	index_ok($node, $index, "$index is sound after a parallel VACUUM");
	is( $node->safe_psql(
			'postgres',
			"SELECT reltuples = (SELECT count(*) FROM items) FROM pg_class WHERE relname = '$index'"
		),
		't',
		'and its rows are counted');
}

# a wait has its name from the first use on
SKIP:
{
	skip 'waits have names from PostgreSQL 17 on', 1
	  if $node->pg_version < 17;

	is( $node->safe_psql(
			'postgres', q{
ANALYZE items;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SET enable_seqscan = off; SET enable_bitmapscan = off;
SELECT count(id) > 0 FROM items WHERE k > '00000000-0000-0000-0000-000000000000';
SELECT type, name FROM pg_wait_events WHERE name = 'BetreeParallelScan'}),
		"t\nExtension|BetreeParallelScan",
		'the wait of a parallel scan has a name');
}

SKIP:
{
	skip 'the planner asks for the height from PostgreSQL 18 on', 1
	  if $node->pg_version < 18;

	# without a log, nothing but the way down costs before the first row: 50
	# operators a page, and one for each bit of the number of rows
	$node->safe_psql(
		'postgres', q{
CREATE TABLE high (k text);
ALTER TABLE high ALTER k SET STORAGE PLAIN;
INSERT INTO high SELECT md5(g::text) || repeat('x', 1100) FROM generate_series(1, 800) g;
CREATE INDEX high_k ON high USING betree (k) WITH (log_pages = 0);
ANALYZE high});
	my $height = $node->safe_psql('postgres',
		"SELECT height FROM betree_index_stats('high_k')");
	my $plan = $node->safe_psql(
		'postgres', q{
SET enable_seqscan = off; SET enable_bitmapscan = off; SET cpu_operator_cost = 1;
EXPLAIN SELECT k FROM high WHERE k < '0'});

	cmp_ok($height, '>', 2, 'a tree higher than its size tells');
	like(
		$plan,
		qr/Index .*Scan.*\(cost=@{[50 * $height + 10]}\.\d\d\.\./,
		'the planner knows how high it is');
}

$node->stop;
done_testing();
