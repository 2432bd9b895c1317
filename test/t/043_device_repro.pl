# The reproduction kit's model: every ordering of the published tables holds.
# Its other half refuses to run where it would mean nothing.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = $ENV{ECP_TOP} || '.';
my $node = ecp_cluster('main', storage => 1);
my $out =
  $node->safe_psql('postgres', slurp_file("$top/test/repro/model.sql"));

my $holds = () = $out =~ /^holds\|/mg;
is($holds, 14, 'all checks hold');
unlike($out, qr/VIOLATED/, 'none is violated');
is( $node->safe_psql(
		'postgres', 'SELECT count(*) FROM ecp_storage.ecp_device'),
	'0',
	'nothing is left behind');
$node->stop;

foreach my $share ('960', '401', '0', '08', 'none')
{
	local $ENV{REPRO_SHARE} = $share;
	my ($stdout, $stderr);
	my $ok = IPC::Run::run([ "$top/test/repro/run", 'devices' ],
		'>', \$stdout, '2>', \$stderr);
	ok(!$ok && $stdout =~ /REPRO_SHARE must be a number from 1 to 400/,
		"a share of $share is refused");
}

SKIP:
{
	skip 'running as root', 2 if $> == 0;
	my ($stdout, $stderr);
	my $ok = IPC::Run::run([ "$top/test/repro/run", 'devices' ],
		'>', \$stdout, '2>', \$stderr);
	ok(!$ok, 'devices are refused without root');
	like($stdout, qr/loop devices need root/, 'with the reason');
}

done_testing();
