#!/usr/bin/perl
#
# indent_post.pl: a filter for what pg_bsd_indent 2.1.1 leaves other than
# PostgreSQL's sources have it: indent.sh runs it.
#
# - Comments that begin with dashes and assembler, which indent.sh protected,
#   come back.
# - Two comments on a line are separated by a tab.
# - A function's result type has one space before the "*".
# - Of a declaration with an initializer, and of an assignment in a foreach
#   loop, the lines after the first are indented by one more tab (for the
#   former, pg_bsd_indent does it from 2.1.2 on).  Lines aligned to a
#   parenthesis that was opened on such a line move with it.

use strict;
use warnings FATAL => 'all';

my $start;               # indentation of the declaration we are in
my @opened;              # for each open parenthesis: was its line moved?
my $in_comment = 0;
my $in_directive = 0;    # a preprocessor line and what continues it

while (my $line = <STDIN>)
{
	$line =~ s{/\*---ASM (.*) \*/}{$1};
	$line =~ s{/\*---KEEP}{/* ---}g;
	$line =~ s{\*/(/\*.*\*/)$}{*/\t$1};
	$line =~ s{^([A-Za-z_]\S*)[ \t]+\*$}{$1 *};

	my $code = code_of($line);
	my $moved = 0;

	if ($code =~ /\S/ && defined $start)
	{
		my ($indent) = $line =~ /^(\s*)/;

		$moved =
		  @opened ? $opened[-1] : $indent eq $start && $code !~ /^\s*\{/;
		$line = "\t$line" if $moved;
	}
	elsif ($code =~ /^(\t+)\S.* =$/
		|| $code =~ /^(\t+)(?:\w+[ \t*]+)+\w+(?:\[[^\]]*\])* =(?: |$)/
		&& $code !~ /^\t+(?:return|goto|case|else)\b/)
	{
		$start = $1;
	}
	if (defined $start)
	{
		foreach my $sign ($code =~ /[()]/g)
		{
			if   ($sign eq '(') { push @opened, $moved }
			else                { pop @opened }
		}
		if ($code =~ /[;{}]\s*$/)
		{
			undef $start;
			@opened = ();
		}
	}
	print $line;
}

# A line without its comments, strings and character constants.
sub code_of
{
	my ($line) = @_;

	$line =~ s/"(?:[^"\\]|\\.)*"/""/g;
	$line =~ s/'(?:[^'\\]|\\.)*'/''/g;
	if ($in_comment)
	{
		return '' unless $line =~ s{^.*?\*/}{};
		$in_comment = 0;
	}
	$line =~ s{/\*.*?\*/}{}g;
	$in_comment = 1 if $line =~ s{/\*.*$}{};
	my $skip = $in_directive || $line =~ /^\s*#/;
	$in_directive = $skip && $line =~ /\\$/;
	return $skip ? '' : $line;
}
