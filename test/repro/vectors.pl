#!/usr/bin/perl
#
# vectors.pl FILE.bvecs ROWS: rows of (int, bytea) for COPY ... (FORMAT
# binary), as many as wanted: the vectors of the file over and over, each time
# with other noise in the low bits, so that the clusters keep their shape and
# no two rows are alike.
#
use strict;
use warnings;

my ($file, $rows) = @ARGV;
die "usage: vectors.pl FILE.bvecs ROWS\n" unless defined $rows;

open(my $in, '<:raw', $file) or die "could not open \"$file\": $!\n";
my $data = do { local $/; <$in> };
close($in);

my $dims = unpack('l<', $data);
my $step = 4 + $dims;
my $n = int(length($data) / $step);
die "\"$file\" holds no vectors\n" if $n == 0;

# a pool of noise, of which each row gets a piece; none for the first pass
srand(7);
my $pool = pack('C*', map { int(rand(4)) } 1 .. 65536 + $dims);

binmode(STDOUT);
print "PGCOPY\n\xff\r\n\0", pack('NN', 0, 0);
for my $row (0 .. $rows - 1)
{
	my $vector = substr($data, ($row % $n) * $step + 4, $dims);
	$vector ^= substr($pool, int(rand(65536)), $dims) if $row >= $n;
	print pack('nNNN', 2, 4, $row, $dims), $vector;
}
print pack('n', 0xffff);
