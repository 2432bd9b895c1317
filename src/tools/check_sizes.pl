#!/usr/bin/perl
#
# check_sizes.pl: fail if a file or a function of src/ is too long to read.
#
# A function is what stands between a "{" and a "}" in the first column, as
# pg_bsd_indent leaves them.  Tables (a brace after "=") are not functions.

use strict;
use warnings FATAL => 'all';

use File::Find;

use constant {
	FILE_WARN => 1000,
	FILE_MAX => 1500,
	FUNCTION_WARN => 120,
	FUNCTION_MAX => 200,
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
		if (/^\{/ && $last !~ /=\s*$/)
		{
			$start = $.;
		}
		elsif (/^\}/ && $start)
		{
			judge(
				"$file:$start: function $name",
				$. - $start - 1,
				FUNCTION_WARN, FUNCTION_MAX);
			$start = 0;
		}
		$last = $_;
	}
	judge("$file: file", $., FILE_WARN, FILE_MAX) if $.;
	close $fh;
}
exit $bad;

sub judge
{
	my ($what, $lines, $warn, $max) = @_;

	return if $lines <= $warn;
	print "$what has $lines lines, ",
	  $lines > $max ? "at most $max are allowed" : "aim below $warn", "\n";
	$bad = 1 if $lines > $max;
	return;
}
