# 028_betree_queue.pl: queues keep their size
#
# Keys that ascend, or descend, are inserted at one end and deleted at the other,
# with VACUUM now and then.  The index keeps its size, for VACUUM frees empty
# leaves and merges nodes with few children; it is sound after a crash between any
# two of the WAL records of that, and while a standby replays them under its scans.
#
# Keys are so wide that a node has some 20 children, and the tree three levels.
# The named points exist only in servers with assertions and in builds with
# -DECP_DEBUG.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($primary, $standby) = ecp_primary_and_standby('main',
	conf =>
	  "wal_consistency_checking = 'generic'\nfsync = off\nautovacuum = off\n"
	  . "restart_after_crash = on\nmax_standby_streaming_delay = -1\nwork_mem = 64kB\n"
);

# up and down: the ends that messages come to and rows leave; deep: with logs in
# two levels; sparse: a row in a hundred is deleted ten rounds later
my %queues = (
	up => { with => '' },
	down => { with => '', sign => '-' },
	deep => { with => 'WITH (log_pages = 4, log_levels = 2, bloom = on)' },
	sparse => { with => 'WITH (log_pages = 6)' });
my $per = $ENV{BETREE_TINY} ? 300 : 1000;

$primary->safe_psql(
	'postgres', q{
CREATE FUNCTION key(bigint) RETURNS text LANGUAGE sql IMMUTABLE
RETURN rpad(lpad((500000000 + $1)::text, 9, '0'), 300, 'x')});
foreach my $name (sort keys %queues)
{
	$primary->safe_psql(
		'postgres', qq{
CREATE TABLE $name (n bigint, k text);
ALTER TABLE $name ALTER k SET STORAGE PLAIN;
CREATE INDEX ${name}_k ON $name USING betree (k) $queues{$name}{with}});
}

# Insert the rows of a round, delete those of the round before, and VACUUM
sub one_round
{
	my ($name, $round, $vacuum) = @_;
	my $sign = $queues{$name}{sign} || '';
	my $first = $round * $per;
	my $last = $first + $per - 1;
	my $old = $round * $per - $per / 5;
	my $delete =
	  $name eq 'sparse'
	  ? "n % 100 > 0 AND n < $old OR n < $old - 10 * $per"
	  : "n < $old";
	return
	  "INSERT INTO $name SELECT g, key($sign g) FROM generate_series($first, $last) g;\n"
	  . "DELETE FROM $name WHERE $delete;\n"
	  . ($vacuum ? "VACUUM $name;\n" : '');
}

sub pages
{
	my ($name) = @_;
	return $primary->safe_psql('postgres',
		"SELECT pg_relation_size('${name}_k') / 8192");
}

replayed($primary, $standby);
foreach my $name (sort keys %queues)
{
	my $warm = $name eq 'sparse' ? 16 : 6;
	my $rounds = 3 * $warm;
	my $first;

	foreach my $round (1 .. $rounds)
	{
		$primary->safe_psql('postgres', one_round($name, $round, 1));
		$first = pages($name) if $round == $warm;
	}
	# tails of one child each, as a node of a few children has in the tiny build
	# where rows come from anywhere, keep it from being merged
	cmp_ok(
		pages($name), '<=',
		1.3 * $first + 10,
		"queue \"$name\" is as large after $rounds rounds as after $warm"
	) unless $ENV{BETREE_TINY} && $name eq 'down';
	index_ok($primary, "${name}_k");
	$queues{$name}{round} = $rounds;
}

# when all rows have gone, a node is left for each level
$primary->safe_psql('postgres', 'DELETE FROM up; VACUUM up; VACUUM up');
is( $primary->safe_psql(
		'postgres',
		"SELECT nodes - height, leaves FROM betree_index_stats('up_k')"),
	'0|1',
	'an empty queue has one leaf');
index_ok($primary, 'up_k');

# A standby scans while it replays
my $script = '';
foreach my $i (1 .. 12)
{
	foreach my $name ('deep', 'down', 'sparse')
	{
		$script .= one_round($name, $queues{$name}{round} + $i, $i % 2);
	}
}
my $load = start_load(
	$primary, $script,
	transactions => 1,
	clients => 1);
my ($wrong, $rounds, $alarms) = (0, 0, '');
while ($load->{run}->pumpable && $rounds < 100)
{
	my $name = ('deep', 'down', 'sparse')[ $rounds % 3 ];
	my $order = $rounds % 2 ? 'DESC' : 'ASC';
	my $out = $standby->safe_psql(
		'postgres', qq{
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off;
SELECT count(*), sum(n), count(DISTINCT n) FROM
	(SELECT n FROM $name WHERE k > '' ORDER BY k $order OFFSET 0) s;
SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off;
SELECT count(*), sum(n), count(DISTINCT n) FROM $name WHERE k > '';
COMMIT;});
	my @lines = split /\n/, $out;
	$wrong++ if $lines[0] ne $lines[1];
	$standby->psql(
		'postgres',
		"SELECT betree_index_check('${name}_k', true)",
		stderr => \my $stderr);
	$alarms .= $stderr;
	$rounds++;
	$load->{run}->pump_nb;
}
ok(finish_load($load), 'load has ended') or diag($load->{err});
ok($rounds > 0, 'queries ran on the standby while it replayed');
is($wrong, 0, 'index and sequential scans agree there');
is($alarms, '', 'and the checker raises no false alarm');
replayed($primary, $standby);
foreach my $name ('deep', 'down', 'sparse')
{
	$queues{$name}{round} += 12;
	index_ok($standby, "${name}_k",
		"checker on the standby finds ${name}_k sound");
	index_ok($primary, "${name}_k");
}
$standby->stop;

SKIP:
{
	skip 'built without stop points', 1
	  unless $primary->safe_psql(
		'postgres', q{
LOAD 'ecp';
SELECT count(*) FROM pg_settings WHERE name = 'ecp.debug_stop_at'});

	# random keys, which leave messages in logs, and leftovers of splits in
	# their tails; of these a range goes.  Rows are not held back
	$primary->safe_psql(
		'postgres', q{
CREATE TABLE mixed (k text);
ALTER TABLE mixed ALTER k SET STORAGE PLAIN;
CREATE INDEX mixed_k ON mixed USING betree (k) WITH (log_pages = 6, flush_budget = 1)}
	);
	my $mixed = sub {
		my ($try) = @_;
		return
		  "SET default_transaction_isolation = serializable; TRUNCATE mixed; INSERT INTO mixed SELECT rpad(md5((g * $try)::text), 300, 'x')"
		  . " FROM generate_series(1, 3000) g; DELETE FROM mixed WHERE k BETWEEN '3' AND 'd';";
	};

	foreach my $point (
		'vacuum-freed', 'vacuum-dropped',
		'vacuum-log-freed', 'bloom-swapped',
		'vacuum-tail-cleaned', 'vacuum-merged')
	{
		my $name = $point =~ /dropped|tail/ ? 'mixed' : 'deep';

		foreach my $action ('panic', 'error')
		{
			my $met = 0;

			foreach my $try (1 .. 10)
			{
				my $logged = -s $primary->logfile;

				$primary->safe_psql('postgres',
					  $name eq 'mixed'
					? $mixed->($try)
					: one_round($name, ++$queues{$name}{round}, 0));
				$met = !run_with_point($primary, "$point:1:$action",
					"VACUUM $name");
				next unless $met;
				restarted($primary, $logged) if $action eq 'panic';
				last;
			}
			ok($met, "point $point is met, $action");
			index_ok($primary, "${name}_k", "sound after $point");
			$primary->safe_psql('postgres',
				"DELETE FROM $name WHERE ctid IN (SELECT ctid FROM $name LIMIT 10);"
				  . " VACUUM $name");
			index_ok($primary, "${name}_k", 'sound after VACUUM');
			is( $primary->safe_psql(
					'postgres',
					"SELECT lost_pages FROM betree_index_stats('${name}_k')"),
				0,
				'no page is lost');
		}
	}
}

# random moments
crash_rounds(
	$primary,
	rounds => 3,
	step => 120,
	load => sub {
		my $base = 1000000 * $_[0];
		return qq{
BEGIN;
SELECT coalesce(max(n), $base) AS n FROM deep \\gset
INSERT INTO deep SELECT g, key(g) FROM generate_series(:n + 1, :n + 100) g;
DELETE FROM deep WHERE n < :n - 500;
COMMIT;
};
	},
	options => { clients => 1, scripts => ["VACUUM deep;\n"] },
	indexes => ['deep_k']);

$primary->stop;
done_testing();
