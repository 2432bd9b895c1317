#!/usr/bin/perl
#
# doc_links.pl: make the links of a package's documents lead to what it has.
#
#   packaging/doc_links.pl FOLDER            changes the files *.md in FOLDER
#   packaging/doc_links.pl --check FOLDER    fails if it would change one
#
# FOLDER has README.md, and more of the source tree at the same places.  A link to
# what is only in the sources becomes text that says so.

use strict;
use warnings;

use File::Basename qw(dirname);
use File::Find;
use File::Spec;

my $check = @ARGV && $ARGV[0] eq '--check' ? shift : 0;
my $folder = shift;
die "usage: see the head of $0\n" unless defined $folder && -d $folder;
my $failed = 0;

# "[text](path#anchor)" in the file at this place in the folder
sub link_in
{
	my ($file, $link, $text, $path) = @_;
	my $place = dirname($file) . "/$path";

	return $link if $path eq '' || $path =~ m!^\w+:! || -e "$folder/$place";
	$place                               =~ s!(^|/)\./!$1!g;
	1 while $place                       =~ s!(^|/)[^/.][^/]*/\.\./!$1!;
	print "$file: no $path\n" if $check;
	$failed = $check;
	return $text
	  . ($text eq $place ? ' (in the sources)' : " (in the sources: $place)");
}

sub mend
{
	my ($file) = @_;

	open my $in, '<:raw', "$folder/$file"
	  or die "could not open \"$folder/$file\": $!\n";
	my $old = do { local $/ = undef; <$in> };
	close $in;
	my $new = $old =~
	  s/(!?\[([^\]]*)\]\(([^)#\s]*)(?:#[^)\s]*)?\))/link_in($file, $1, $2, $3)/ger;
	return if $check || $new eq $old;
	open my $out, '>:raw', "$folder/$file"
	  or die "could not write \"$folder/$file\": $!\n";
	print $out $new;
	close $out or die "could not write \"$folder/$file\": $!\n";
}

find(
	{
		no_chdir => 1,
		wanted => sub { mend(File::Spec->abs2rel($_, $folder)) if /\.md$/ }
	},
	$folder);
exit($failed ? 1 : 0);
