#!/usr/bin/perl
# check_layers.pl: fail if a folder of src/ includes a header it may not see.
use strict;
use warnings FATAL => 'all';

my %may_see = (
	base   => [],
	vector => ['base'],
	device => ['base'],
	ecp    => [ 'base', 'vector', 'device' ],
	betree => [ 'base', 'device' ],
	module => [ 'base', 'vector', 'device', 'ecp', 'betree' ]);  # src/*.c
my $bad = 0;

foreach my $file (grep { /\.[ch]$/ } split /\n/, `git ls-files src`)
{
	my $folder = $file =~ m{^src/(\w+)/} ? $1 : 'module';
	die "$file: folder \"$folder\" is not in the table\n" unless $may_see{$folder};
	my %ok = map { $_ => 1 } $folder, @{ $may_see{$folder} };
	open my $fh, '<', $file or die "could not open file \"$file\": $!\n";
	while (<$fh>)
	{
		next unless m{^\s*#\s*include\s+"(\w+)/} and $may_see{$1} and !$ok{$1};
		print "$file:$.: $folder may not include $1\n";
		$bad = 1;
	}
}
exit $bad;
