#!/usr/bin/perl
#
# check_pages.pl: fail if a page is changed or logged in a file of src/ that
# src/README, "Changes of pages", does not list, or if that lists one too many.
#
# What changes a page: the server's functions that do, the bounds in its header,
# and the fields that only pages have, by their prefixes.  (Structs of ecp that
# are on pages are also copied and made in memory, so only those of its opaque
# data count.)  What logs a change: the beginning of a record.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use File::Find;

use constant README => 'src/README';

my %pattern = (
	image => qr{
		\b(?:PageInit|PageAddItem|PageIndexTupleDelete|PageIndexMultiDelete)\(
		| (?:->|\.)(?:pd_lower|pd_upper|ecpo_\w+|(?:bteo|bted|btec|btem|bteb|btef)_\w+)
		  (?:\[\w+\])?\s*(?:[-+|&]?=(?!=)|\+\+|--)
	}x,
	log => qr{\b(?:GenericXLogStart|ecp_delta_begin|log_newpage\w*)\(},
	build => qr{\becp_page_writer_(?:begin|get|put)\(});
my (%listed, %found, %path);
my $bad = 0;

sub complain
{
	print "@_\n";
	$bad = 1;
	return;
}

sub read_readme
{
	my ($section, $last, $kinds) = ('', '', undef);

	open my $fh, '<', README or die "could not open " . README . ": $!\n";
	while (<$fh>)
	{
		chomp;
		$section = $last if /^-+$/;
		$last = $_;
		next if $section ne 'Changes of pages';
		$kinds = "$1 $2" if /^  (ecp|betree) (image|log|build) /;
		$kinds = undef if /^\s*$/;
		next if !defined $kinds;
		$listed{$kinds}{$_} = 0 foreach /(\w+\.c)/g;
	}
	close $fh;
	return;
}

# What a file does, with the first place of it
sub look_at
{
	my ($file) = @_;

	open my $fh, '<', $file or die "could not open $file: $!\n";
	while (<$fh>)
	{
		foreach my $kind (keys %pattern)
		{
			$found{$file}{$kind} //= "$file:$." if /$pattern{$kind}/;
		}
	}
	close $fh;
	return;
}

read_readme();
find({ wanted => sub { look_at($_) if /\.c$/ }, no_chdir => 1 },
	'src/ecp', 'src/betree');
foreach my $file (sort keys %found)
{
	my ($am) = $file =~ m{^src/(\w+)/};
	my $name = basename($file);

	foreach my $kind (sort keys %{ $found{$file} })
	{
		my @may = $kind eq 'image' ? qw(image log build) : ($kind);

		if (my @lists = grep { exists $listed{"$am $_"}{$name} } @may)
		{
			$listed{"$am $_"}{$name} = 1 foreach @lists;
			next;
		}
		complain("$found{$file}{$kind}: "
			  . ($kind eq 'image' ? 'changes a page' : "$kind of a page")
			  . ", but is not in "
			  . README
			  . ", \"Changes of pages\"");
	}
}
foreach my $kinds (sort keys %listed)
{
	complain(README . ": $_ is listed as \"$kinds\", and is not")
	  foreach grep { !$listed{$kinds}{$_} } sort keys %{ $listed{$kinds} };
}
complain(README . ': no list of the files that change pages') if !%listed;
exit $bad;
