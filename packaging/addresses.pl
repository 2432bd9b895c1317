#!/usr/bin/perl
#
# addresses.pl FOLDER HOME CONTACT: write into an unpacked archive where the project is
# and who answers, which the repository does not say, since forks have other ones.
#
# HOME is the address of the repository's page, CONTACT "Name <mail>"; either may
# be empty, and the files then say nothing of it.  "make dist" calls this.

use strict;
use warnings;

use JSON::PP;

die "usage: $0 FOLDER HOME CONTACT\n" if @ARGV != 3;
my ($folder, $home, $contact) = @ARGV;
die "$0: not the address of a page: $home\n"
  if $home ne '' && $home !~ m{^https://[^\s"]+[^/\s"]$};
die "$0: not of the form \"Name <mail>\": $contact\n"
  if $contact ne '' && $contact !~ /^[^<>"\n]+ <[^<>\s"]+\@[^<>\s"]+>$/;

sub edit
{
	my ($file, $change) = @_;
	my $path = "$folder/$file";

	open(my $in, '<', $path) or die "could not open $path: $!\n";
	local $/ = undef;
	my $text = <$in>;
	close $in;
	my $new = $change->($text);
	open(my $out, '>', $path) or die "could not write $path: $!\n";
	print $out $new;
	close $out or die "could not write $path: $!\n";
	return;
}

edit(
	'META.json',
	sub {
		my $meta = JSON::PP->new->utf8->decode(shift);

		$meta->{maintainer} = [$contact] if $contact ne '';
		$meta->{resources} = {
			homepage => $home,
			bugtracker => { web => "$home/issues" },
			repository =>
			  { url => "$home.git", web => $home, type => 'git' }
		  }
		  if $home ne '';
		return JSON::PP->new->utf8->canonical->pretty->encode($meta);
	});
my @files =
  qw(debian/changelog debian/control debian/control.in packaging/ecp.spec);
foreach my $file (@files)
{
	edit(
		$file,
		sub {
			my ($text) = @_;

			$text =~ s/the ecp authors <>/$contact/g if $contact ne '';
			$text =~ s/^(Rules-Requires-Root: .*)$/$1\nHomepage: $home/m
			  if $home ne '';
			$text =~ s/^(License: .*)$/$1\nURL:            $home/m
			  if $home ne '';
			return $text;
		});
}
