#!/usr/bin/perl
#
# check_sizes.pl: fail if a file or a function of src/ is too long to read, or if a
# room has more lines than src/README, "Lines", gives it.
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
my %lines;    # of a room

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
	$lines{$1} += $. if $file =~ m{^src/(\w+(?:/\w+)?)/};
	close $fh;
}
judge_rooms();
exit $bad;

# The table has lines "ROOM  NUMBER", and all rooms.
sub judge_rooms
{
	my ($section, $last) = ('', '');

	open my $fh, '<', 'src/README' or die "could not open src/README: $!\n";
	while (<$fh>)
	{
		chomp;
		$section = $last if /^-+$/;
		$last = $_;
		next unless $section eq 'Lines' && m{^  (\w+(?:/\w+)?) +(\d+)$};
		judge("src/$1", delete $lines{$1} // 0, $2);
	}
	close $fh;
	foreach my $room (sort keys %lines)
	{
		print "src/$room is not in the table of src/README, \"Lines\"\n";
		$bad = 1;
	}
	return;
}

sub judge
{
	my ($what, $lines, $max) = @_;

	return if $lines <= $max;
	print "$what has $lines lines, at most $max are allowed\n";
	$bad = 1;
	return;
}
