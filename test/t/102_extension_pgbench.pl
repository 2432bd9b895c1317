# The pgbench scripts of test/bench run on the tables that setup.sql makes: each
# some transactions by two clients, with each engine that it is for, without an
# error.  How fast they are is not looked at.
use strict;
use warnings;

use EcpTest;
use File::Basename qw(basename);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = ($ENV{ECP_TOP} || '.') . '/test/bench/pgbench';
my $rows = 2000;

# the scripts of each workload, which is named in their heads
my %scripts;
foreach my $script (sort glob "$folder/*.sql")
{
	my $name = basename($script);
	my ($head) = slurp_file($script) =~ /\A((?:--.*\n)+)/;
	my ($workload) = ($head // '') =~ /workload (\w+)/;

	next if $name eq 'setup.sql';
	ok($workload, "$name names its workload");
	push @{ $scripts{$workload} }, $script if $workload;
}

my $node = ecp_cluster('main');
foreach my $workload (sort keys %scripts)
{
	my @engines =
		$workload eq 'ecp'           ? ('betree')
	  : $workload =~ /^(tiles|geo)$/ ? ('betree', 'gist')
	  :                                ('betree', 'btree');

	# a table's name with a variable in it is no parameter
	my $mode = $workload eq 'ecp' ? 'prepared' : 'simple';

	foreach my $engine (@engines)
	{
		$node->command_ok(
			[
				'psql', '-X',
				'-q', '-d',
				$node->connstr('postgres'), '-v',
				"workload=$workload", '-v',
				"engine=$engine", '-v',
				"rows=$rows", '-f',
				"$folder/setup.sql"
			],
			"tables of $workload for $engine");
		foreach my $script (@{ $scripts{$workload} })
		{
			$node->command_like(
				[
					'pgbench', '-n',
					'-M', $mode,
					'-c', 2,
					'-t', 20,
					'-D', "engine=$engine",
					'-D', "rows=$rows",
					'-f', $script,
					'postgres'
				],
				qr{actually processed: 40/40},
				basename($script) . " with $engine");
		}
	}
}
$node->stop;
done_testing();
