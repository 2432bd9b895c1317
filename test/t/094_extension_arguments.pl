# What anybody may call takes any argument: there is an answer or an error in
# words, in time and in little memory (test/torture/arguments says what else).
# ARGUMENTS has other options for it: "make test-arguments" makes many more
# calls, under sanitizers.
use strict;
use warnings;

use EcpTest;
use File::Basename qw(dirname);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster(
	'arguments',
	extension => 0,
	conf => "restart_after_crash = on\nlog_min_messages = fatal\n");
my @options = split ' ', $ENV{ARGUMENTS} || '-n 2000 -s 1';
my $program = dirname(__FILE__) . '/../torture/arguments';

local $ENV{PGHOST} = $node->host;
local $ENV{PGPORT} = $node->port;
open my $out, '-|', $^X, $program, '-l', $node->logfile, @options
  or die "could not start $program: $!\n";
while (<$out>)
{
	chomp;
	note $_;
}
close $out;
is($?, 0, 'no argument does harm');
done_testing();
