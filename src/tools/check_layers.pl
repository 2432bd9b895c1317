#!/usr/bin/perl
#
# check_layers.pl: fail if a folder of src/ includes a header it may not see,
# or if a private header is included outside its place.
#
# The table is the layering rule of src/README.

use strict;
use warnings FATAL => 'all';

use File::Find;

my %may_see = (
	base => [],
	vector => ['base'],
	device => [ 'base', 'vector' ],
	ecp => [ 'base', 'vector', 'device' ],
	betree => [ 'base', 'device' ],
	module => [ 'base', 'vector', 'device', 'ecp', 'betree' ]);    # src/*.c

# Headers that only some files may include: pattern of the header, pattern of
# the files, and why.
my @private = (
	[
		qr{^vector/vector_kernels\.h$},
		qr{^src/vector/},
		'kernels are reached through vector/vector_distance.h'
	],
	[
		qr{^(?:ecp|betree)/\w+_int\.h$}, qr{^src/(?:ecp|betree)/},
		'private to its folder'
	]);

my @files;
my $bad = 0;

find(
	sub {
		push @files, $File::Find::name if /\.[ch]$/;
	},
	'src');

foreach my $file (sort @files)
{
	my $folder = $file =~ m{^src/(\w+)/} ? $1 : 'module';
	next if $folder eq 'tools';
	die "$file: folder \"$folder\" is not in the table\n"
	  unless $may_see{$folder};
	my %ok = map { $_ => 1 } $folder, @{ $may_see{$folder} };
	my $is_page_header = $file =~ /_page\.h$/;

	open my $fh, '<', $file or die "could not open file \"$file\": $!\n";
	while (<$fh>)
	{
		next unless m{^\s*#\s*include\s+"((\w+)/\w+\.h)"} and $may_see{$2};
		my ($header, $from) = ($1, $2);

		if (!$ok{$from})
		{
			print "$file:$.: $folder may not include $from\n";
			$bad = 1;
		}
		if ($is_page_header && $from ne 'base')
		{
			print "$file:$.: a page format may include only base\n";
			$bad = 1;
		}
		foreach my $rule (@private)
		{
			my ($what, $where, $why) = @$rule;
			next unless $header =~ $what and $file !~ $where;
			print "$file:$.: may not include $header: $why\n";
			$bad = 1;
		}
	}
	close $fh;
}
exit $bad;
