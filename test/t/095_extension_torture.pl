# A few rounds of test/torture, of both access methods: faults under load, with a
# model of what clients were told outside the server.  Which faults, which
# options and which rows come from the seed; what the fault hits is chance.
use strict;
use warnings;

use File::Basename qw(dirname);
use FindBin;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

use lib "$FindBin::RealBin/../torture";
use Torture::Fault;

my $torture = dirname(__FILE__) . '/../torture/torture.pl';
my $bin = $ENV{PG_CONFIG} ? `$ENV{PG_CONFIG} --bindir` : `pg_config --bindir`;
chomp $bin;
my $out = '';

IPC::Run::run(
	[
		$^X, $torture,
		'--bin', $bin,
		'--am', 'both',
		'--seed', 7,
		'--rounds', 1,
		'--steps', 5,
		'--work', 20,
		'--rows', 200,
		'--clients', 3,
		'--more', 1,
		'--only', 'backend,recovery,cancel,promote,postmaster'
	],
	'>&',
	\$out);
note($out);
like($out, qr/^faults by kind: .*promote \d/m, 'there were faults');
like(
	$out,
	qr/^rows lost 0, wrong answers 0, checker errors 0, standby differences 0, other errors 0$/m,
	'nothing is lost, nothing is wrong');
like($out, qr/^\d\d+ passed, 0 failed$/m, 'all checks passed')
  or diag($out);

# what a fault has looked for may have ended meanwhile
my $gone =
  Torture::Server->new('gone', PostgreSQL::Test::Utils::tempdir(), 0, $bin);
ok( !Torture::Fault::strike($gone->postmaster),
	'a fault that finds no process strikes none');
done_testing();
