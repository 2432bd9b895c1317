#!/usr/bin/perl
#
# check_packages.pl: fail if META.json is not what PGXN's Meta Spec 1.0 asks for,
# if the packages and the changelogs disagree about the version, if
# debian/control was not made from control.in, or if "make dist" would leave out
# a file that is installed.

use strict;
use warnings;

use File::Basename qw(basename dirname);
use JSON::PP;

chdir dirname(__FILE__) . '/../..' or die "no top folder: $!\n";
my $failed = 0;

sub complain
{
	print join('', @_), "\n";
	$failed = 1;
}

sub slurp
{
	my ($file) = @_;
	open(my $handle, '<', $file) or die "could not open $file: $!\n";
	local $/ = undef;
	return scalar <$handle>;
}

# 1.0 is 1.0.0
sub full_version
{
	my ($version) = @_;
	return $version =~ /^\d+\.\d+$/ ? "$version.0" : $version;
}

# ----------------------------------------------------------------------
# META.json

my $meta = eval { JSON::PP->new->utf8->decode(slurp('META.json')) };
if (!$meta)
{
	print "META.json: $@";
	exit 1;
}
my $semver = qr/^\d+\.\d+\.\d+(-[A-Za-z][-0-9A-Za-z]*)?$/;
my %terms = map { $_ => 1 } (
	qw(name version abstract description maintainer license provides prereqs
	  resources generated_by release_status meta-spec tags));

foreach
  my $term (qw(name version abstract maintainer license provides meta-spec))
{
	complain("META.json has no $term") if !$meta->{$term};
}
foreach my $term (sort keys %$meta)
{
	complain("META.json: unknown term $term")
	  if !$terms{$term} && $term !~ /^x_/i;
}
complain("META.json: the version is not a semantic one")
  if $meta->{version} !~ $semver;
complain("META.json: meta-spec is not 1.0.0")
  if $meta->{'meta-spec'}{version} ne '1.0.0';

my %provided = map { $_ => 1 } keys %{ $meta->{provides} };
foreach my $name (sort keys %provided)
{
	my $extension = $meta->{provides}{$name};

	complain("META.json: $name has no semantic version")
	  if ($extension->{version} // '') !~ $semver;
	foreach my $kind ('file', 'docfile')
	{
		complain("META.json: no $kind of $name")
		  if !$extension->{$kind} || !-e $extension->{$kind};
	}
	complain("META.json provides $name, which has no control file")
	  if !-e "$name.control";
}
foreach my $control (sort glob('*.control'))
{
	my $name = basename($control, '.control');
	my ($version) = slurp($control) =~ /^default_version = '(.*)'/m;

	if (!$provided{$name})
	{
		complain("META.json does not provide $name");
		next;
	}
	my $told = $meta->{provides}{$name}{version};
	complain("META.json has version $told of $name, and $control $version")
	  if $told !~ /^\Q$version\E(\.\d+)?$/;
}

# ----------------------------------------------------------------------
# The version of the whole, wherever it stands

my %places = (
	'CHANGELOG.md' => qr/^## (\S+)/m,
	'debian/changelog' => qr/^\S+ \(([^)]*)-[^-)]*\)/,
	'packaging/ecp.spec' => qr/^Version:\s*(\S+)/m,
	'packaging/ecp.spec ' => qr/^%changelog\n\* .* (\S+)-\d+$/m,
	'packaging/ecp.spec  ' => qr/build\/ecp-(\S+)\.tar\.gz/);
foreach my $place (sort keys %places)
{
	my $file = $place =~ s/ +$//r;
	my ($version) = slurp($file) =~ $places{$place};

	complain(
		"$file has version ",
		$version // 'none',
		", and META.json $meta->{version}"
	) if full_version($version // '') ne $meta->{version};
}

# as "pg_buildext updatecontrol" does for one version
my $control = slurp('debian/control');
my ($major) = $control =~ /^Package: postgresql-(\d+)-/m;
complain('debian/control is not control.in for one version of PostgreSQL')
  if !$major
  || $control ne slurp('debian/control.in') =~ s/PGVERSION/$major/gr;

# ----------------------------------------------------------------------
# The archive, where there is a repository to make it from

if (-e '.git')
{
	my @files = (
		glob('sql/*--*.sql *.control doc/*.md'),
		qw(META.json Makefile LICENSE README.md CHANGELOG.md));
	my %archived =
	  map { s/\n//r => 1 } `git ls-files -- @files 2>/dev/null`;

	foreach my $line (`git check-attr export-ignore -- @files 2>/dev/null`)
	{
		delete $archived{$1} if $line =~ /^(.*): export-ignore: set$/;
	}
	if (%archived)    # else a repository of another owner
	{
		foreach my $file (grep { !$archived{$_} } @files)
		{
			complain("$file would not be in the archive of \"make dist\"");
		}
	}
}

exit $failed;
