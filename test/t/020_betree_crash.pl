# A betree index after crashes: at named points between the WAL records of
# seal, flush, drop, runs, split, root growth, Bloom pages and vacuum, and at
# random moments.
# After each recovery, which runs with wal_consistency_checking, the index must
# pass the checker and have all rows of its table.
#
# The named points exist only in servers with assertions and in builds with
# -DECP_DEBUG; without them the random crashes remain.  Small buffers make all
# kinds of records frequent (a build with -DBETREE_TINY even more so).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('main',
	conf => "wal_consistency_checking = 'generic'\n"
	  . "restart_after_crash = on\nautovacuum = off\nfsync = off\nwork_mem = 64kB\n"
);

$node->safe_psql(
	'postgres', q{
CREATE TABLE t (k int8, s text);
CREATE INDEX t_k ON t USING betree (k) WITH (log_pages = 2, log_levels = 2);
CREATE INDEX t_s ON t USING betree (s) WITH (log_pages = 4, bloom = on);
INSERT INTO t SELECT (g * 7919) % 100003, md5(g::text) FROM generate_series(1, 20000) g;

-- keys so wide that a node has few children, and the tree many levels
CREATE TABLE w (s text);
ALTER TABLE w ALTER s SET STORAGE EXTERNAL;
CREATE INDEX w_s ON w USING betree (s) WITH (log_pages = 3, log_levels = 3, bloom = on);

-- few keys, so that rows share items
CREATE TABLE d (k int, id int);
CREATE INDEX d_k ON d USING betree (k) WITH (log_pages = 2);
INSERT INTO d SELECT g % 7, g FROM generate_series(1, 10000) g;

-- a log of several tails
CREATE TABLE r (s text);
CREATE INDEX r_s ON r USING betree (s) WITH (log_pages = 30);
INSERT INTO r SELECT md5(g::text) FROM generate_series(1, 20000) g;
CREATE FUNCTION wide(int8) RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(md5($1 || ' ' || i), '') FROM generate_series(1, 30) i);
});

sub check_all
{
	my ($what) = @_;

	foreach my $index ('t_k', 't_s', 'w_s', 'r_s', 'd_k')
	{
		my ($ret, $out, $err) = $node->psql('postgres',
			"SELECT betree_index_check('$index', true)");
		is($ret, 0, "$index after $what") or diag($err);
	}
	is( $node->safe_psql(
			'postgres', q{
SET enable_indexscan = off; SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SELECT count(*), sum(k) FROM t WHERE k BETWEEN 100 AND 5000}),
		$node->safe_psql(
			'postgres', q{
SET enable_seqscan = off;
SELECT count(*), sum(k) FROM t WHERE k BETWEEN 100 AND 5000}),
		"answers after $what");

	# keys of the table, looked up in the filters of the log and the leaves
	is( $node->safe_psql(
			'postgres', q{
SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
SELECT count(*) FROM (SELECT DISTINCT s FROM t WHERE k % 50 = 0) d,
	LATERAL (SELECT FROM t WHERE t.s = d.s OFFSET 0) l}),
		$node->safe_psql(
			'postgres', q{
SET enable_indexscan = off; SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SELECT count(*) FROM t WHERE s IN (SELECT s FROM t WHERE k % 50 = 0)}),
		"lookups after $what");
	return;
}

# Copies of log pages, or Bloom pages, whose split an error or a crash
# prevented; VACUUM frees them
sub check_lost_pages
{
	my $lost = "SELECT lost_pages FROM betree_index_stats('w_s')";

	cmp_ok($node->safe_psql('postgres', $lost), '>', 0, 'pages were lost');
	$node->safe_psql('postgres',
		'DELETE FROM w WHERE ctid IN (SELECT ctid FROM w LIMIT 10); VACUUM w'
	);
	is($node->safe_psql('postgres', $lost), 0, 'VACUUM has freed them');
	check_all('freeing lost pages');
	return;
}

my $has_points = $node->safe_psql(
	'postgres', q{
LOAD 'ecp';
SELECT count(*) FROM pg_settings WHERE name = 'ecp.debug_stop_at'});

SKIP:
{
	skip 'built without stop points', 1 unless $has_points;

	my $insert =
	  q{INSERT INTO t SELECT (g::int8 * 104729) %% 100003, md5((g * 3)::text)
FROM generate_series(%d, %d) g};
	my $insert_wide =
	  q{INSERT INTO w SELECT wide(g) FROM generate_series(%d, %d) g};

	# messages for all of a node, and a log of several tails
	my $insert_log =
	  q{INSERT INTO r SELECT md5(g::text) FROM generate_series(%d, %d) g};
	my %is_wide =
	  map { $_ => 1 } (
		'flushed-down', 'split', 'copied', 'root-grown',
		'bloom-made', 'bloom-freed');
	my $base = 20000;
	foreach my $point (
		'sealed', 'merged',
		'shared', 'passed',
		'filter-added', 'filtered',
		'flushed-down', 'dropped',
		'copied', 'split',
		'root-grown', 'sorted',
		'tail-added', 'bloomed',
		'bloom-set', 'bloom-forgotten',
		'bloom-made', 'bloom-swapped',
		'bloom-freed', 'vacuum-deleted',
		'vacuum-log-cleaned', 'vacuum-freed',
		'vacuum-walked')
	{
		my $work =
		  $point =~ /^vacuum/
		  ? "DELETE FROM t WHERE k % 5 = 0 OR k BETWEEN 20000 AND 30000;"
		  : '';
		$node->psql('postgres', $work) if $work;
		my $sql =
			$work ? 'VACUUM t'
		  : $point eq 'tail-added'
		  ? sprintf($insert_log, $base, $base + 20000)
		  : $is_wide{$point} ? sprintf($insert_wide, $base, $base + 1000)
		  :                    sprintf($insert, $base, $base + 30000);
		$node->safe_psql('postgres', 'TRUNCATE w') if $point eq 'root-grown';
		my $logged = -s $node->logfile;
		ok(!run_with_point($node, "$point:1:panic", $sql),
			"point $point is met")
		  and restarted($node, $logged);
		check_all($point);
		$base += 30000;
	}

	# entries of old versions, which a full leaf loses
	$node->safe_psql(
		'postgres', q{
CREATE TABLE v (id int, n int);
CREATE UNIQUE INDEX v_id ON v USING betree (id) WITH (log_pages = 1);
CREATE INDEX v_n ON v (n);
INSERT INTO v SELECT g, 0 FROM generate_series(1, 300) g});
	my $logged = -s $node->logfile;
	ok( !run_with_point(
			$node,
			'purged:3:panic',
			'DO $$ BEGIN FOR i IN 1..30 LOOP UPDATE v SET n = i; COMMIT;'
			  . ' END LOOP; END $$'),
		'point purged is met') and restarted($node, $logged);
	my ($code, undef, $said) =
	  $node->psql('postgres', "SELECT betree_index_check('v_id', true)");
	is($code, 0, 'v_id after purged') or diag($said);

	# those that a check of their key, and a scan, have met in a log
	$node->safe_psql(
		'postgres', q{
CREATE INDEX v_i ON v USING betree (id) WITH (log_pages = 30);
ALTER INDEX v_id SET (log_pages = 30)});
	my $hot =
		'DO $$ BEGIN FOR i IN 1..60 LOOP UPDATE v SET n = -i WHERE id = 7;'
	  . ' COMMIT; END LOOP; END $$';
	foreach my $step (
		[ '', $hot, 'v_id', 'v_i' ],
		[
			"DROP INDEX v_id; SET enable_indexscan = off; SET enable_bitmapscan = off; $hot",
			'SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT n FROM v WHERE id = 7',
			'v_i'
		])
	{
		my ($before, $sql, @indexes) = @$step;

		$node->safe_psql('postgres', $before);
		$logged = -s $node->logfile;
		ok(!run_with_point($node, 'purged:1:panic', $sql),
			"point purged is met in @indexes")
		  and restarted($node, $logged);
		index_ok($node, $_, "$_ after that") foreach (@indexes);
	}

	# rows that leave and enter items of several
	foreach my $step (
		[ 'vacuum-deleted:2', 'VACUUM d' ],
		[ 'vacuum-walked:1', 'VACUUM d' ],
		[
			'merged:3',
			'INSERT INTO d SELECT g % 7, g FROM generate_series(1, 5000) g'
		],
		[ 'merged:1', "SELECT betree_flush('d_k')" ])
	{
		my ($point, $sql) = @$step;

		$node->safe_psql('postgres', 'DELETE FROM d WHERE id % 3 = 0');
		$logged = -s $node->logfile;
		ok(!run_with_point($node, "$point:panic", $sql),
			"point $point is met by $sql")
		  and restarted($node, $logged);
		check_all("$point, $sql");
	}

	# the same points, failing: nothing may stay locked
	foreach my $point (
		'sealed', 'filtered', 'merged', 'shared',
		'dropped', 'copied', 'split', 'bloomed',
		'bloom-set', 'bloom-forgotten', 'bloom-made', 'bloom-swapped',
		'bloom-freed', 'sorted', 'tail-added')
	{
		ok( !run_with_point(
				$node, $point,
				sprintf(
					  $is_wide{$point}       ? $insert_wide
					: $point eq 'tail-added' ? $insert_log
					: $insert,
					$base, $base + ($point eq 'bloom-swapped' ? 80000 : 20000)
				)),
			"error at $point");
		check_lost_pages() if $point =~ /^(copied|bloom-made)$/;
		$base += 80000;
		$node->safe_psql('postgres', "VACUUM t");
		check_all("error at $point");
	}
}

# random moments, with writers and vacuum under way
crash_rounds(
	$node,
	rounds => 4,
	step => 150,
	load => q{
\set k random(1, 100000)
INSERT INTO w SELECT wide(:k + g) FROM generate_series(1, 10) g;
INSERT INTO t SELECT (:k + g * 37) % 100000, md5((:k + g)::text) FROM generate_series(1, 40) g;
DELETE FROM t WHERE k BETWEEN :k AND :k + 50;
INSERT INTO r SELECT md5((:k + g)::text) FROM generate_series(1, 100) g;
INSERT INTO d SELECT (:k + g) % 7, :k FROM generate_series(1, 100) g;
DELETE FROM d WHERE id % 10 = :k % 10;
SELECT count(*) FROM r WHERE s BETWEEN md5(:k::text) AND md5(:k::text) || 'z';
DELETE FROM r WHERE s < left(md5(:k::text), 1) AND s > left(md5(:k::text), 1) || 'f';
},
	options => {
		clients => 2,
		scripts => [
			"SELECT count(*) FROM t WHERE k BETWEEN 500 AND 900;\nVACUUM t, d;\n"
		]
	},
	check => sub { check_all("random crash $_[1]") });

$node->stop;
done_testing();
