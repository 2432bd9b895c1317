# Damaged pages of both access methods, by the campaign of test/torture with a
# fixed seed: no statement ends the server, runs without end or takes all
# memory, and what the check functions call clean gives the answers of the
# table.
use strict;
use warnings;

use Test::More;

plan skip_all => 'the campaign limits memory, which sanitizers reserve'
  if $ENV{REAL_POSTGRES};

my $top = $ENV{ECP_TOP} || '.';
my %pages = (ecp => 300, betree => 400);

foreach my $am (sort keys %pages)
{
	my $report =
	  `$top/test/torture/damage --am $am --installed --pages $pages{$am} --seed 1 2>&1`;

	is($?, 0, "$am: nothing is found in $pages{$am} damaged pages")
	  or diag($report);
	like(
		$report,
		qr/^$pages{$am} pages damaged/m,
		"$am: all pages were damaged");
	note($report);
}
done_testing();
