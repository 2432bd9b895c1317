#!/usr/bin/perl
#
# check_sizes.pl: fail if a file or a function of src/ is too long to read.
#
# A function is what stands between a "{" and a "}" in the first column, as
# pg_bsd_indent leaves them, behind its parameters: not a table or a struct.

use strict;
use warnings FATAL => 'all';

use File::Find;

use constant {
	FILE_MAX => 900,
	FUNCTION_MAX => 80,
	TEST_FUNCTION_MAX => 100,
};

my @files;
my $bad = 0;

find(
	sub {
		push @files, $File::Find::name if /\.[ch]$/;
	},
	'src',
	'test/unit');

foreach my $file (sort @files)
{
	my ($start, $name, $last) = (0, '', '');

	open my $fh, '<', $file or die "could not open file \"$file\": $!\n";
	while (<$fh>)
	{
		$name = $1 if /^(\w+)\(/;
		if (/^\{/ && $last =~ /\)\s*$/)
		{
			$start = $.;
		}
		elsif (/^\}/ && $start)
		{
			judge(
				"$file:$start: function $name",
				$. - $start - 1,
				$file =~ /^src/ ? FUNCTION_MAX : TEST_FUNCTION_MAX);
			$start = 0;
		}
		$last = $_;
	}
	judge("$file: file", $., FILE_MAX) if $.;
	close $fh;
}
exit $bad;

sub judge
{
	my ($what, $lines, $max) = @_;

	return if $lines <= $max;
	print "$what has $lines lines, at most $max are allowed\n";
	$bad = 1;
	return;
}
