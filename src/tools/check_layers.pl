#!/usr/bin/perl
#
# check_layers.pl: fail if a file of src/ needs another that its room may not
# need, if files need each other in a circle, if there are too many headers, or
# if an exported name does not tell its file.
#
#   src/tools/check_layers.pl            check
#   src/tools/check_layers.pl --rooms    print which room needs which, by what
#
# A file needs the headers that it includes, and the files that define the
# symbols that its object file asks for, so that the sources must have been
# built.  The order of the rooms is the table of src/README, "Rooms", which is
# read here; so is its table of exceptions.  Of those there may only be fewer:
# one that is no longer needed is an error, and so is one too many.

use strict;
use warnings FATAL => 'all';

use File::Basename;
use File::Find;

use constant {
	EXCEPTIONS => 0,     # lower it with each exception that goes
	CIRCLE_MAX => 2,     # files that may need each other
	HEADERS_MAX => 66,   # one for each interface: lower it with those that go
	README => 'src/README',
};

# Headers that only some files may include: pattern of the header, pattern of
# the files, and why.
my @private = (
	[
		qr{^vector/vector_kernels\.h$},
		qr{^src/vector/},
		'kernels are reached through vector/vector_distance.h'
	],);

# Folders in which exported names tell their file
my %names_tell = (betree => 1);

my (%rank, %folder_needs, %exception);    # of src/README
my (%room, %needs);    # by file, without its folder: names are unique
my $bad = 0;

read_readme();
find_files();
add_includes($_) foreach sort keys %room;
add_symbols();

if (@ARGV && $ARGV[0] eq '--rooms')
{
	print_rooms();
	exit 0;
}

foreach my $from (sort keys %needs)
{
	foreach my $to (sort keys %{ $needs{$from} })
	{
		next if may_need($room{$from}, $room{$to});
		if (exists $exception{"$from -> $to"})
		{
			$exception{"$from -> $to"} = 1;
			next;
		}
		complain("$from ($room{$from}) may not need $to ($room{$to}): "
			  . $needs{$from}{$to});
	}
}

# An exception may also be a part of a circle.
foreach my $circle (circles(0))
{
	my %in = map { $_ => 1 } @$circle;

	foreach my $edge (keys %exception)
	{
		my ($from, $to) = split / -> /, $edge;

		$exception{$edge} = 1 if $in{$from} && $in{$to} && $needs{$from}{$to};
	}
}
foreach my $circle (circles(1))
{
	complain(
		scalar(@$circle) . " files need each other: " . join(' ', @$circle));
}
check_headers();
foreach my $edge (sort keys %exception)
{
	complain(README . ": the exception \"$edge\" is not needed any more")
	  unless $exception{$edge};
}
complain(
	sprintf(
		"%s lists %d exceptions, EXCEPTIONS in check_layers.pl says %d",
		README, scalar(keys %exception), EXCEPTIONS)
) if keys %exception != EXCEPTIONS;
exit $bad;

sub complain
{
	print "@_\n";
	$bad = 1;
	return;
}

# A folder's line names what all of its rooms may need besides each other; its
# rooms follow, lowest first.  Files that lie in a folder itself are above its
# rooms.
sub read_readme
{
	my ($section, $folder, $last) = ('', '', '');

	open my $fh, '<', README or die "could not open " . README . ": $!\n";
	while (<$fh>)
	{
		chomp;
		$section = $last if /^-+$/;
		$last = $_;
		if ($section eq 'Rooms' && m{^  (\w+)/ +(\w.*)$})
		{
			$folder = $1;
			$folder_needs{$folder} = [ split /,\s*/, $2 ];
			$rank{$folder} = 1000 + keys %rank;
		}
		elsif ($section eq 'Rooms' && m{^    (\w+) +\w})
		{
			$rank{"$folder/$1"} = 1 + keys %rank;
		}
		elsif ($section eq 'Exceptions' && /^  (\S+ -> \S+)/)
		{
			$exception{$1} = 0;
		}
	}
	close $fh;
	return;
}

sub find_files
{
	find(
		sub {
			return unless /\.[ch]$/;
			my $name = $_;
			my $where = $File::Find::dir =~ m{^src/(.*)} ? $1 : 'module';

			return if $where eq 'tools';
			die "$name: \"$where\" is not a room of " . README . "\n"
			  unless $where eq 'module' || $rank{$where};
			die "$name: there are two of this name\n" if $room{$name};
			$room{$name} = $where;
		},
		'src');
	return;
}

sub path_of
{
	my ($file) = @_;

	return $room{$file} eq 'module' ? "src/$file" : "src/$room{$file}/$file";
}

sub add_includes
{
	my ($file) = @_;
	my $path = path_of($file);

	open my $fh, '<', $path or die "could not open $path: $!\n";
	while (<$fh>)
	{
		next unless m{^\s*#\s*include\s+"((\w[\w/]*)/(\w+\.h))"};
		my ($header, $where, $name) = ($1, $2, $3);

		next unless $room{$name} && $room{$name} eq $where;
		$needs{$file}{$name} = 'include';
		complain("$path:$.: a page format may include only base")
		  if $file =~ /_page\.h$/ && $where ne 'base';
		complain("$path:$.: $name is private to $where")
		  if $name =~ /_(?:int|private)\.h$/ && $where ne $room{$file};
		foreach my $rule (@private)
		{
			my ($what, $for, $why) = @$rule;

			complain("$path:$.: may not include $header: $why")
			  if $header =~ $what && $path !~ $for;
		}
	}
	close $fh;
	return;
}

sub check_headers
{
	my $headers = grep { /\.h$/ } keys %room;

	complain("there are $headers headers, more than "
		  . HEADERS_MAX
		  . ": merge some")
	  if $headers > HEADERS_MAX;
	return;
}

sub add_symbols
{
	my (%defined_in, %asked_for);
	my @objects = map { s/\.c$/.o/r } map { path_of($_) } sources();
	my @missing = grep { !-e } @objects;

	die "$missing[0] is not there: build first\n" if @missing;
	open my $fh, '-|', 'nm', '-A', @objects or die "could not run nm: $!\n";
	while (<$fh>)
	{
		next unless /^(\S+)\.o:\w* +([A-Z]) (\w+)$/;
		my ($file, $type, $symbol) = (basename($1) . '.c', $2, $3);

		if ($type eq 'U')
		{
			push @{ $asked_for{$file} }, $symbol;
		}
		else
		{
			$defined_in{$symbol} = $file;
		}
	}
	close $fh or die "nm failed\n";
	check_prefixes(\%defined_in);
	foreach my $file (sort keys %asked_for)
	{
		foreach my $symbol (sort @{ $asked_for{$file} })
		{
			my $to = $defined_in{$symbol};

			next if !$to || $to eq $file;
			$needs{$file}{$to} .= $needs{$file}{$to} ? " $symbol" : $symbol;
		}
	}
	return;
}

# In these folders what a file exports begins with the file's name, but for
# callbacks of the access method and what SQL calls.
sub check_prefixes
{
	my ($defined_in) = @_;

	foreach my $symbol (sort keys %$defined_in)
	{
		my $file = $defined_in->{$symbol};
		my ($folder) = $room{$file} =~ m{^(\w+)};
		my ($prefix) = $file =~ /^(\w+)\.c$/;

		next if !$names_tell{$folder} || $symbol !~ /^${folder}_/;
		next if $symbol =~ /^${prefix}(?:_|$)/;
		next if exists $defined_in->{"pg_finfo_$symbol"};
		complain("$file defines $symbol, which does not begin with $prefix");
	}
	return;
}

sub sources
{
	return grep { /\.c$/ } sort keys %room;
}

sub may_need
{
	my ($from, $to) = @_;
	my ($from_folder, $to_folder) = ($from =~ m{^(\w+)}, $to =~ m{^(\w+)});

	return 1 if $from eq $to || $from eq 'module';
	return 0 if $to eq 'module';
	return $rank{$to} < $rank{$from} if $from_folder eq $to_folder;
	return
	  scalar grep { $_ eq $to || $_ eq $to_folder }
	  @{ $folder_needs{$from_folder} };
}

# Strongly connected components of files with more than CIRCLE_MAX (of headers:
# with more than one), with or without the exceptions; by Tarjan.
sub circles
{
	my ($without) = @_;
	my (%number, %low, @stack, %on_stack, @found);
	my $visit;

	$visit = sub {
		my ($file) = @_;

		$number{$file} = $low{$file} = 1 + keys %number;
		push @stack, $file;
		$on_stack{$file} = 1;
		foreach my $to (sort keys %{ $needs{$file} })
		{
			next if $without && exists $exception{"$file -> $to"};
			$visit->($to) unless $number{$to};
			$low{$file} = $low{$to}
			  if $on_stack{$to} && $low{$to} < $low{$file};
		}
		return if $low{$file} < $number{$file};

		my @circle;

		do
		{
			unshift @circle, pop @stack;
			delete $on_stack{ $circle[0] };
		} while ($circle[0] ne $file);
		push @found, \@circle
		  if @circle > ($file =~ /\.h$/ ? 1 : CIRCLE_MAX);
	};
	foreach my $file (sort keys %room)
	{
		$visit->($file) unless $number{$file};
	}
	return @found;
}

sub print_rooms
{
	my (%edges, %files);

	push @{ $files{ $room{$_} } }, $_ foreach sort keys %room;
	foreach my $from (sort keys %needs)
	{
		foreach my $to (sort keys %{ $needs{$from} })
		{
			push @{ $edges{ $room{$from} }{ $room{$to} } },
			  "    $from -> $to: $needs{$from}{$to}\n"
			  if $room{$from} ne $room{$to};
		}
	}
	foreach my $from (
		sort { ($rank{$a} // 9999) <=> ($rank{$b} // 9999) }
		keys %files)
	{
		print "$from: @{ $files{$from} }\n";
		foreach my $to (sort keys %{ $edges{$from} })
		{
			print may_need($from, $to) ? '  needs' : '  NEEDS', " $to\n",
			  @{ $edges{$from}{$to} };
		}
	}
	return;
}
