#!/usr/bin/perl
#
# check_readme.pl: fail if the pages for users leave out something that a user
# can call or set: functions and procedures (but for those that are only a part
# of an operator or of an access method), tables and views, configuration
# variables, storage parameters; if a link in them leads nowhere; if they give
# figures that the tables of test/bench/RESULTS.md do not have; or if
# README.md is longer than what is read in two minutes.
#
# The tables of functions in doc/reference.md, between the lines "<!-- functions
# of X -->" and "<!-- end -->", are made from the scripts of the extensions: with
# --update they are written, without it they must be as this would write them.
# Only their last column, the right that a caller needs, is written by hand.

use strict;
use warnings FATAL => 'all';

my $update = @ARGV && $ARGV[0] eq '--update';
my $sql = join '', map { slurp(script($_)) } glob('*.control');
my $page = 'doc/reference.md';
my $reference = slurp($page);
my $bad = 0;
my %wanted;
my %table;
my %right;

use constant README_LINES => 260;
use constant README_COLUMNS => 100;

while (
	$reference =~ /^\| `(?:CALL )?([\w.]+)(?:\(.*?\))?` \| .* \| (.+?) \|$/gm)
{
	$right{$1} = $2;
}

# Sections of the script begin with "-- ====", "-- name: what it is"
my $section = '';
my $code = $sql;
$code =~ s/^--(?! =+$| \w+: ).*$//gm;
while ($code =~
	/^(?:-- =+\n-- (\w+): |CREATE\s+(FUNCTION|PROCEDURE|TABLE|VIEW)\s+(?:(\w+)\.)?(\w+))/gm
  )
{
	if (defined $1)
	{
		$section = $1;
		next;
	}
	my ($kind, $schema, $name, $at) = ($2, $3, $4, pos $code);
	my $arguments = '';

	if ($kind eq 'FUNCTION' || $kind eq 'PROCEDURE')
	{
		$arguments = parenthesised($at);
		next if is_internal($name, $arguments);
	}
	push @{ $table{$section} },
	  row(
		$kind, $schema ? "$schema.$name" : $name,
		$arguments, comment($kind, $name, $at));
	$wanted{$name} = lc $kind;
}

foreach my $name (keys %table)
{
	my $rows = join('', @{ $table{$name} });
	my $text =
	  "| name | what it does | right that it needs |\n|---|---|---|\n$rows";

	next
	  if $reference =~
	  s/(<!-- functions of $name -->\n).*?(<!-- end -->)/$1$text$2/s;
	print "$page has no place for the functions of $name\n";
	$bad = 1;
}
if ($reference ne slurp($page))
{
	if ($update)
	{
		open my $fh, '>', $page or die "could not open $page: $!\n";
		print $fh $reference;
		close $fh;
	}
	else
	{
		print "the tables of functions in $page are not those of",
		  " the scripts: run src/tools/check_readme.pl --update\n";
		$bad = 1;
	}
}

foreach my $file (glob('src/*/*.c src/*/*/*.c'))
{
	my $text = slurp($file);

	$wanted{$1} = 'variable'
	  while $text =~ /DefineCustom\w+Variable\(\s*"((?!\w+\.debug)[\w.]+)"/g;
	$wanted{$1} = 'storage parameter'
	  while $text =~ /add_\w+_reloption\(\s*\w+,\s*"(\w+)"/g;
}
foreach my $name (sort keys %wanted)
{
	next if $reference =~ /`[^`\n]*\b\Q$name\E\b[^`\n]*`/;
	print "$page does not tell of the $wanted{$name} $name\n";
	$bad = 1;
}
check_length();
check_links($_) foreach 'README.md', glob('doc/*.md');
check_figures();

exit $bad;

# README.md is short, and its text fits a screen; tables and code may be wider.
sub check_length
{
	my @lines = split /\n/, slurp('README.md');

	if (@lines > README_LINES)
	{
		printf "README.md has %d lines, more than %d\n", scalar(@lines),
		  README_LINES;
		$bad = 1;
	}
	foreach my $i (0 .. $#lines)
	{
		my $line = $lines[$i];

		utf8::decode($line);
		next if $line =~ /^\|/ || length($line) <= README_COLUMNS;
		printf "README.md, line %d: longer than %d\n", $i + 1, README_COLUMNS;
		$bad = 1;
	}
}

# Links to files of the tree, and to headings of pages, lead somewhere.
sub check_links
{
	my ($file) = @_;
	my ($folder) = $file =~ m{^(.*/)} ? $1 : '';
	my $text = slurp($file);

	$text =~ s/^```.*?^```$//gms;
	while ($text =~ /\]\((?!\w+:)([^)#]*)(?:#([^)]*))?\)/g)
	{
		my ($to, $anchor) = ($1, $2);
		my $path = $to eq '' ? $file : "$folder$to";

		if (!-e $path)
		{
			print "$file: there is no $to\n";
			$bad = 1;
		}
		elsif (defined $anchor && !grep { $_ eq $anchor } anchors($path))
		{
			print "$file: $path has no heading for #$anchor\n";
			$bad = 1;
		}
	}
}

# What the headings of a page are called in links
sub anchors
{
	my ($path) = @_;
	my @found;

	foreach my $heading (slurp($path) =~ /^#+ (.*)$/gm)
	{
		my $anchor = lc $heading;

		$anchor =~ s/[^\w \-]//g;
		$anchor =~ s/ /-/g;
		push @found, $anchor;
	}
	return @found;
}

# The newest script that installs the extension of this control file.
sub script
{
	my ($extension) = $_[0] =~ /(\w+)\.control/;
	my ($newest) =
	  reverse sort grep { !/--.*--/ } glob("sql/$extension--*.sql");

	return $newest;
}

# The text between the parenthesis that follows position $at and its partner.
sub parenthesised
{
	my ($at) = @_;
	my $rest = substr($code, $at);

	return $rest =~ /^\s*(\((?:[^()]++|(?1))*\))/ ? substr($1, 1, -1) : '';
}

# What the first COMMENT ON the object says behind position $at.
sub comment
{
	my ($kind, $name, $at) = @_;
	my ($text) = substr($code, $at) =~
	  /^COMMENT\s+ON\s+$kind\s+(?:\w+\.)?$name\b[^;']*?\sIS\s+'((?:[^']|'')*)'/m;

	$text = '' unless defined $text;
	$text =~ s/''/'/g;
	$text =~ s/\|/\\|/g;
	return $text;
}

# Functions of operators, operator classes, access methods and triggers
sub is_internal
{
	my ($name, $arguments) = @_;

	return
		 $arguments =~ /\binternal\b/
	  || $name      =~ /^_/
	  || $code      =~ /\b(?:FUNCTION|PROCEDURE)\s*=\s*$name\b/
	  || $code      =~ /\bFUNCTION\s+\d+\s*(?:\([^)]*\)\s*)?$name\b/
	  || $code =~
	  /\bFUNCTION\s+(?:\w+\.)?$name\(\)\s+RETURNS\s+(?:event_)?trigger\b/;
}

# One row of a table: the call with its arguments, what it does, its columns.
sub row
{
	my ($kind, $name, $arguments, $text) = @_;
	my (@in, @out);

	if (!defined $right{$name})
	{
		print "$page does not say which right $name needs\n";
		$bad = 1;
	}
	my $right = defined $right{$name} ? $right{$name} : '';

	return "| `$name` | table: $text | $right |\n" if $kind eq 'TABLE';
	return "| `$name` | view: $text | $right |\n" if $kind eq 'VIEW';
	$arguments =~ s/\s+/ /g;
	foreach my $argument (
		$arguments =~ /((?:[^,(){}']++|'[^']*'|\([^)]*\)|\{[^}]*\})+)/g)
	{
		$argument =~ s/^\s+|\s+$//g;
		if ($argument =~ /^OUT (\w+|"[^"]+")/)
		{
			push @out, $1;
		}
		else
		{
			$argument =~ s/ DEFAULT NULL$/ = NULL/;
			$argument =~ s/ DEFAULT / = /;
			push @in, $argument;
		}
	}
	$text .= '; columns ' . join(', ', @out) if @out > 1;
	return
		"| `"
	  . ($kind eq 'PROCEDURE' ? 'CALL ' : '')
	  . "$name("
	  . join(', ', @in)
	  . ")` | $text | $right |\n";
}

sub slurp
{
	my ($path) = @_;

	local $/ = undef;
	open my $fh, '<', $path or die "could not open file \"$path\": $!\n";
	my $text = <$fh>;
	close $fh;
	return $text;
}

# Rows between a line "<!-- NAME -->", unless it is of functions, and "<!-- end -->"
# are of the tables of RESULTS.md between such a line and its end, and so are the figures
# of README.md, "How fast", but for those without a point or a comma.
sub check_figures
{
	my $results = slurp('test/bench/RESULTS.md');
	my $part = qr/<!-- ([\w ]+) -->\n(.*?)<!-- end -->/s;
	my %rows;

	while ($results =~ /$part/g)
	{
		$rows{$1}{$_} = 1 foreach split /\n/, $2;
	}
	foreach my $file (glob 'doc/*.md')
	{
		my $text = slurp($file);

		while ($text =~ /$part/g)
		{
			my ($name, $lines) = ($1, $2);

			next if $name =~ /^functions of /;
			foreach my $line (grep { !$rows{$name}{$_} } split /\n/, $lines)
			{
				print "$file: test/bench/RESULTS.md has no row \"$line\"\n";
				$bad = 1;
			}
		}
	}
	my ($fast) = slurp('README.md') =~ /^30 million random UUIDs(.*?)^## /ms;
	foreach my $figure ($fast =~ /\b\d+[.,][\d.,]*\d/g)
	{
		next if $results =~ /(?<![\d.,])\Q$figure\E/;
		print "README.md: test/bench/RESULTS.md has no figure $figure\n";
		$bad = 1;
	}
	return;
}
