# 051_betree_duplicates.pl: crashes while several sessions write few keys
#
# Many rows have the same few keys, and a unique index has many versions of each,
# with transactions that fail, VACUUM and old snapshots under way.  Each round
# ends with a server that stops at once, with a backend killed, or with a PANIC
# at a stop point, at a random moment; where it can be had.  After recovery the
# checker must find every index sound, with the rows of the table, and each
# question must have the answer of a sequential scan.  "u" counts the rows of
# "d": what a transaction changes in both must be there in both.
#
# BETREE_ROUNDS is the number of crashes, BETREE_SEED chooses others.

use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{BETREE_ROUNDS} || 5;
my $seed = $ENV{BETREE_SEED} || 51;
my $random = prng($seed);
my $node = ecp_cluster('main',
	conf => "wal_consistency_checking = 'generic'\nfsync = off\n"
	  . "restart_after_crash = on\nenable_seqscan = off\n");

# u_n: an update is not HOT, so that each makes an entry in every index
$node->safe_psql(
	'postgres', q{
CREATE FUNCTION text_of(k int) RETURNS text IMMUTABLE
	RETURN CASE WHEN k % 6 <> 5 THEN repeat(chr(97 + k % 6), 10 * (k % 6) + 1) END;

CREATE TABLE d (k int, id int, s text);
CREATE INDEX d_k ON d USING betree (k) WITH (log_pages = 2, log_levels = 2);
CREATE INDEX d_s ON d USING betree (s DESC) WITH (log_pages = 8, bloom = on);
CREATE INDEX d_two ON d USING betree ((k % 3), s DESC) WITH (log_pages = 1);

CREATE TABLE u (k int, n int);
CREATE UNIQUE INDEX u_k ON u USING betree (k) WITH (log_pages = 1);
CREATE INDEX u_n ON u USING betree ((n / 1000000)) WITH (log_pages = 2);
INSERT INTO u SELECT g, 0 FROM generate_series(1, 12) g;

CREATE TABLE v (k text, n int);
CREATE UNIQUE INDEX v_k ON v USING betree (k) INCLUDE (n) WITH (log_pages = 2, log_levels = 2);

-- only one of those who delete a key at the same time can insert it again
CREATE FUNCTION swap(key text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM v WHERE k = key;
	INSERT INTO v VALUES (key, random() * 1000);
	IF random() < 0.2 THEN
		RAISE 'changed my mind';
	END IF;
EXCEPTION WHEN unique_violation OR raise_exception THEN
	NULL;
END $$;

-- in one snapshot: keys whose rows are not as many as u says
CREATE FUNCTION miscounted() RETURNS bigint LANGUAGE sql STABLE AS $$
	SELECT count(*) FROM u LEFT JOIN (SELECT k, count(*) AS n FROM d GROUP BY k) c
		USING (k) WHERE u.n <> coalesce(c.n, 0) $$;

CREATE PROCEDURE work(times int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. times LOOP
		UPDATE u SET n = n + 40 WHERE k = 1 + i % 12;
		INSERT INTO d SELECT 1 + i % 12, random() * 1e9, text_of(1 + i % 12)
			FROM generate_series(1, 40);
		PERFORM swap((i % 5)::text);
		COMMIT;
	END LOOP;
END $$;
});

my $writer = <<'SQL';
\set k random(1, 12)
BEGIN;
UPDATE u SET n = n + 20 WHERE k = :k;
INSERT INTO d SELECT :k, random() * 1e9, text_of(:k) FROM generate_series(1, 20);
COMMIT;
SELECT swap((:k % 5)::text);
SQL
my $quitter = <<'SQL';
\set k random(1, 12)
BEGIN;
UPDATE u SET n = n + 1 WHERE k = :k;
INSERT INTO d SELECT :k, -1, text_of(:k) FROM generate_series(1, 50);
ROLLBACK;
SQL
my $sweeper = <<'SQL';
\set k random(1, 12)
\set r random(0, 9)
BEGIN;
SELECT FROM u WHERE k = :k FOR UPDATE;
WITH gone AS (DELETE FROM d WHERE k = :k AND id % 10 = :r RETURNING 1)
	UPDATE u SET n = n - (SELECT count(*) FROM gone) WHERE k = :k;
COMMIT;
VACUUM d, u, v;
SQL
my $reader = <<'SQL';
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 1 / (miscounted() = 0)::int AS counted;
SELECT count(*) FROM generate_series(1, 300000);
SELECT 1 / (miscounted() = 0)::int AS counted;
COMMIT;
SQL

my $by_table = 'SET enable_seqscan = on; SET enable_indexscan = off;'
  . ' SET enable_indexonlyscan = off; SET enable_bitmapscan = off;';
my $in_order = 'SET enable_sort = off; SET enable_hashagg = off;'
  . ' SET enable_bitmapscan = off; SET enable_incremental_sort = off;';
my $by_bitmap = 'SET enable_indexscan = off; SET enable_indexonlyscan = off;';

# index, how it is asked, question
my $sums = 'count(*), sum(id)';
my @questions = (
	[ 'd_k', $by_bitmap, "SELECT $sums FROM d WHERE k IN (2, 5, 7, 99)" ],
	[ 'd_s', $by_bitmap, "SELECT $sums FROM d WHERE s = text_of(3)" ],
	[ 'd_s', $in_order, "SELECT $sums FROM d WHERE s IS NULL" ],
	[
		'u_n', $by_bitmap,
		'SELECT count(*), sum(n) FROM u WHERE n / 1000000 = 0'
	],
	[ 'v_k', $in_order, "SELECT k, n FROM v WHERE k = '3'" ]);

foreach my $by (
	[ 'd_k', 'k', "SELECT k, $sums FROM d GROUP BY k" ],
	[ 'd_k', 'k', 'SELECT k FROM d' ],
	[ 'd_s', 's', "SELECT s, $sums FROM d GROUP BY s" ],
	[ 'd_two', 'k % 3', "SELECT k % 3, $sums FROM d GROUP BY k % 3" ],
	[ 'u_k', 'k', 'SELECT k, n FROM u' ],
	[ 'v_k', 'k', 'SELECT k, n FROM v' ])
{
	my ($index, $key, $sql) = @$by;

	push @questions, [ $index, $in_order, "$sql ORDER BY $key" ],
	  [ $index, $in_order, "$sql ORDER BY $key DESC" ];
}
foreach my $question (@questions)
{
	my ($index, $set, $sql) = @$question;

	plan_uses($node, $sql, $index, set => $set);
}

# What the load stops at, for some of which VACUUM is what gets there
my @points = (
	'sealed', 'tail-added',
	'sorted', 'filter-added',
	'filtered', 'filter-freed',
	'flushed-down', 'merged',
	'shared', 'passed',
	'dropped', 'copied',
	'split', 'purged',
	'drain', 'drain-group',
	'bloomed', 'bloom-set',
	'bloom-forgotten', 'bloom-swapped',
	'vacuum-deleted', 'vacuum-log-cleaned',
	'vacuum-walked', 'vacuum-freed',
	'vacuum-merged', 'vacuum-dropped',
	'vacuum-tail-cleaned');
@points = () unless $node->safe_psql(
	'postgres', q{
LOAD 'ecp';
SELECT count(*) FROM pg_settings WHERE name = 'ecp.debug_stop_at'});
my %crashes;

# Ends the server in one of these ways, and sees that it runs again
sub strike
{
	my ($server, $load) = @_;
	my $logged = -s $server->logfile;
	my $way = $random->(@points ? 4 : 2);
	my $what = 'immediate';

	if ($way == 1)
	{
		my $pid = $server->safe_psql('postgres',
			"SELECT pid FROM pg_stat_activity WHERE application_name = '$load->{name}'"
			  . " ORDER BY state <> 'active', random() LIMIT 1");
		$what = 'killed' if $pid && kill 'KILL', $pid;
	}
	elsif ($way > 1)
	{
		my $point = $points[ $random->(scalar @points) ];
		my $times = 1 + $random->(3);
		my $sql = $point =~ /^vacuum/ ? 'VACUUM d, u, v' : 'CALL work(300)';

		$what = $point
		  unless run_with_point($server, "$point:$times:panic", $sql);
	}
	$crashes{$what}++;
	if ($what eq 'immediate')
	{
		$server->stop('immediate');
		finish_load($load);
		$server->start;
	}
	else
	{
		finish_load($load);
		restarted($server, $logged);
	}
	unlike(
		$load->{err},
		qr/division by zero|violates|deadlock/,
		"$what: no wrong answer, and no other error, before");
	return $what;
}

crash_rounds(
	$node,
	rounds => $rounds,
	step => 200,
	load => $writer,
	options =>
	  { clients => 5, scripts => [ $writer, $quitter, $sweeper, $reader ] },
	crash => \&strike,
	check => sub {
		my ($server, $round, $what) = @_;
		my @wrong;

		index_ok($server, $_, "crash $round ($what): $_ is sound")
		  foreach 'd_k', 'd_s', 'd_two', 'u_k', 'u_n', 'v_k';
		foreach my $question (@questions)
		{
			my ($index, $set, $sql) = @$question;

			push @wrong, "$index: $sql"
			  if $server->safe_psql('postgres', "$set $sql") ne
			  $server->safe_psql('postgres', "$by_table $sql");
		}
		is("@wrong", '',
			"crash $round ($what): answers of a sequential scan");
		is($server->safe_psql('postgres', "$_ SELECT miscounted()"),
			'0', "crash $round ($what): rows are as many as counted")
		  foreach $by_table, $in_order;

		# other trees from here on
		my @options = map {
			sprintf 'ALTER INDEX %s SET (log_pages = %d, flush_budget = %d)',
			  $_, (1, 2, 8, 30)[ $random->(4) ],
			  (0, 2, 16)[ $random->(3) ]
		} 'd_k', 'd_s', 'd_two', 'u_k', 'v_k';
		$server->safe_psql('postgres', join ';', @options);
		$server->safe_psql('postgres',
				'BEGIN; DELETE FROM d WHERE id % 4 <> 0 OR k % 5 = 1;'
			  . ' UPDATE u SET n = (SELECT count(*) FROM d WHERE d.k = u.k); COMMIT'
		  )
		  if $server->safe_psql('postgres', 'SELECT sum(n) > 60000 FROM u')
		  eq 't';
	});
note(join ', ', map { "$_ $crashes{$_}" } sort keys %crashes);

$node->stop;
done_testing();
