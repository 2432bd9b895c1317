# 023_betree_options.pl: any change of the storage parameters of a betree
#
# The parameters may change at any time, so a log made under some of them must
# drain under all others.  A walk through every change of log_pages and
# log_levels, with flush_budget and bloom changing along, inserts after each step, and
# flushes and vacuums now and then.  A drain that makes no progress ends by
# statement_timeout.  In the build of "make test-tiny" pages hold few items,
# and the walk goes through a tree of height 5 or more.

use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{BETREE_SEED} || 23;
my $random = prng($seed);
my $tiny = $ENV{BETREE_TINY};
my $node = ecp_cluster('main',
	conf => "fsync = off\nstatement_timeout = '60s'\nlog_statement = none\n");

sub runs
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($sql, $name) = @_;
	my $stderr = '';

	my $ret = $node->psql(
		'postgres', $sql,
		stderr => \$stderr,
		on_error_stop => 1);
	is("$ret $stderr", '0 ', $name);
	return;
}

# Keys that let a node have few children, so that nodes split often
sub key { return "rpad(md5($_[0]::text), 300, 'x')" }

# Splits under short logs leave nodes whose directories are full of what long
# logs had: filter pages, or log pages that no drain has been started for.
foreach my $shorter (1, 4)
{
	$node->safe_psql(
		'postgres', qq(
		CREATE TABLE long (k text COLLATE "C");
		ALTER TABLE long ALTER k SET STORAGE PLAIN;
		CREATE INDEX long_k ON long USING betree (k)
			WITH (log_pages = 128, log_levels = 2, bloom = on);
		INSERT INTO long SELECT @{[key('i')]} FROM generate_series(1, 20000) i;
	));
	runs(
		qq(ALTER INDEX long_k SET (log_pages = $shorter);
		INSERT INTO long SELECT @{[key('(-i)')]} FROM generate_series(1, 3000) i;
		SELECT betree_flush('long_k')),
		"a log of 128 pages drains under log_pages = $shorter");
	is( $node->safe_psql(
			'postgres',
			"SELECT messages_in_logs FROM betree_index_stats('long_k')"),
		0,
		'and betree_flush leaves nothing buffered');
	index_ok($node, 'long_k');
	$node->safe_psql('postgres', 'DROP TABLE long');
}

# Every change of log_pages and log_levels, in an order from the seed
my @options;
foreach my $pages (-1, 0, 1, 4, 128)
{
	push @options, map { [ $pages, $_ ] } 1, 2, 3, 16;
}
my @changes;
foreach my $from (@options)
{
	push @changes, map { [ $from, $_ ] } @options;
}
foreach my $i (reverse 1 .. $#changes)
{
	my $j = $random->($i + 1);
	@changes[ $i, $j ] = @changes[ $j, $i ];
}

my $rows = 0;

sub step
{
	my ($option) = @_;
	my $budget = (0, 1, 16)[ $random->(3) ];
	my $bloom = ('on', 'off')[ $random->(2) ];
	my $n = 1 + $random->($random->(10) == 0 ? 1000 : 100);
	my $sql =
		"ALTER INDEX walk_k SET (log_pages = $option->[0],"
	  . " log_levels = $option->[1], flush_budget = $budget,"
	  . " bloom = $bloom);\n"
	  . "INSERT INTO walk SELECT i, "
	  . key('i')
	  . " FROM generate_series($rows + 1, $rows + $n) i;\n";

	$rows += $n;
	$sql .= "SELECT betree_flush('walk_k');\n" if $random->(20) == 0;
	if ($random->(40) == 0)
	{
		my $low = $random->($rows);
		$sql .= "DELETE FROM walk WHERE id BETWEEN $low AND $low + 3000;\n"
		  . "VACUUM walk;\n";
	}
	return $sql;
}

$node->safe_psql(
	'postgres', q(
	CREATE TABLE walk (id int8, k text COLLATE "C");
	ALTER TABLE walk ALTER k SET STORAGE PLAIN;
	CREATE INDEX walk_k ON walk USING betree (k)));
while (my @some = splice @changes, 0, 100)
{
	runs(
		join('', map { step($_->[0]) . step($_->[1]) } @some),
		@some . ' changes of options, seed ' . $seed);
	index_ok($node, 'walk_k');
}
runs("SELECT betree_flush('walk_k')", 'the last flush');
is( $node->safe_psql(
		'postgres',
		"SELECT messages_in_logs FROM betree_index_stats('walk_k')"),
	0,
	'nothing is buffered after it');
plan_uses($node, 'SELECT k FROM walk ORDER BY k',
	'walk_k', set => 'SET enable_seqscan = off; SET enable_sort = off');
is( $node->safe_psql(
		'postgres',
		'SET enable_seqscan = off; SET enable_sort = off;'
		  . "SELECT md5(string_agg(k, ',')) FROM"
		  . ' (SELECT k FROM walk ORDER BY k) s'),
	$node->safe_psql(
		'postgres',
		'SET enable_indexscan = off; SET enable_indexonlyscan = off;'
		  . "SELECT md5(string_agg(k, ',')) FROM"
		  . ' (SELECT k FROM walk ORDER BY k) s'),
	'the index has the rows in order');
if ($tiny)
{
	cmp_ok(
		$node->safe_psql(
			'postgres', "SELECT height FROM betree_index_stats('walk_k')"),
		'>=', 5,
		'the tree is high');
}

$node->stop;
done_testing();
