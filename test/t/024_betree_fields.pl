# 024_betree_fields.pl: damaged fields of betree pages are told, not followed
#
# Each table has its index damaged in one field that scans rely on.  The checker
# must say so; scans, inserts and VACUUM give a right answer or an error of the
# classes for corruption, end, and leave the server standing.  One damage only
# the checker can see, since a scan does not compare an item with the last.

use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('main',
	conf => "fsync = off\nrestart_after_crash = off\n"
	  . "statement_timeout = '30s'\nlog_statement = none\nwork_mem = 64kB\n");

# places in a page
my $special = 8192 - 32;
my %field = (
	seq => [ $special, 'V' ],
	drain => [ $special + 4, 'V' ],
	nlog => [ $special + 14, 'v' ],
	ndir => [ $special + 16, 'v' ],
	nsorted => [ $special + 18, 'v' ],
	level => [ $special + 25, 'C' ],
	pd_upper => [ 14, 'v' ],);

# Offset of an item, and of an entry of a node's directory
sub item
{
	my ($page, $number) = @_;
	return unpack('V', substr($page, 24 + 4 * ($number - 1), 4)) & 0x7fff;
}

sub entry
{
	my ($page, $number) = @_;
	return unpack('v', substr($page, 16, 2)) + 8 * $number;
}

sub field
{
	my ($name, $value) = @_;
	my ($at, $format) = @{ $field{$name} };
	return sub { return $at => pack($format, $value) };
}

# Offset of the entry of the last tail in the page, if it has several
sub tail_entry
{
	my ($page) = @_;
	return unless unpack('C', substr($page, $special + 24, 1)) == 2;
	my @tails =
	  grep { (unpack('v', substr($page, entry($page, $_) + 6, 2)) & 7) == 2 }
	  0 .. unpack('v', substr($page, $special + 16, 2)) - 1;

	return @tails > 2 ? entry($page, $tails[-1]) : undef;
}

# child's block, or TID of a row: two halves of a block number, then the offset
sub block
{
	my ($number, $value) = @_;
	return sub {
		return item($_[0], $number) =>
		  pack('vv', $value >> 16, $value & 0xffff);
	};
}

# name, kind of page, what of it becomes what
my @damages = (
	[ 'level of a leaf', 'leaf', field('level', 5) ],
	[ 'level of a node', 'node', field('level', 2) ],
	[
		'length of a value',
		'leaf', sub { return item($_[0], 3) + 8 => pack('V', 0x00f00000) }
	],
	[
		'length of a second value',
		'leaf', sub { return item($_[0], 3) + 8 + 124 => pack('C', 0xff) }
	],
	[
		'length of a compressed value',
		'leaf',
		sub {
			return item($_[0], 3) +
			  8 => pack('VV', (60 << 2) | 2, 0x3ffffff0);
		}
	],
	[
		'length of a value in a log',
		'log', sub { return item($_[0], 1) + 8 => pack('V', 0x00f00000) }
	],
	[
		'size of an item',
		'leaf', sub { return item($_[0], 3) + 6 => pack('v', 0x4008) }
	],
	[
		'a row as several',
		'leaf',
		sub {
			my $at = item($_[0], 3) + 6;
			return $at =>
			  pack('v', unpack('v', substr($_[0], $at, 2)) | 0x2000);
		}
	],
	[
		'a message as one of several rows',
		'log',
		sub {
			my $at = item($_[0], 1) + 6;
			return $at =>
			  pack('v', unpack('v', substr($_[0], $at, 2)) | 0x2000);
		}
	],
	[ 'block of a child', 'node', block(3, 0x7000000) ],
	[ 'no block of a child', 'node', block(3, 0xffffffff) ],
	[ 'block of a row', 'leaf', block(3, 0x7000000) ],
	[
		'no offset of a row',
		'leaf', sub { return item($_[0], 3) + 4 => pack('v', 0) }
	],
	[
		'offset of a row',
		'leaf', sub { return item($_[0], 3) + 4 => pack('v', 300) }
	],
	[
		'key of a node in its parent',
		'root',
		sub { return item($_[0], 3) + 8 + 32 => '!' }
	],
	[
		'marker of a child',
		'node',
		sub { return item($_[0], 3) + 4 => pack('v', (1 << 10) | 777) }
	],
	[
		'number of attributes',
		'node', sub { return item($_[0], 3) + 4 => pack('v', 40 << 10) }
	],
	[
		'block of a log page',
		'node', sub { return entry($_[0], 0) => pack('V', 0x7000000) }
	],
	[
		'kind of a log page',
		'node', sub { return entry($_[0], 0) + 6 => pack('v', 7) }
	],
	[
		'number of a log page',
		'node', sub { return entry($_[0], 0) + 4 => pack('v', 500) }
	],
	[
		'first child of a tail',
		'tail', sub { return tail_entry($_[0]) + 6 => pack('v', 2 | 1 << 3) }
	],
	[
		'no child of a tail',
		'tail',
		sub { return tail_entry($_[0]) + 6 => pack('v', 2 | 5000 << 3) }
	],
	[
		'a tail as a sealed page',
		'tail', sub { return tail_entry($_[0]) + 6 => pack('v', 1) }
	],
	[
		'number of a tail',
		'tail',
		sub {
			my $at = tail_entry($_[0]) + 4;
			return $at => pack('v', unpack('v', substr($_[0], $at, 2)) + 1);
		}
	],
	[
		'block of a tail',
		'tail', sub { return tail_entry($_[0]) => pack('V', 0) }
	],
	[ 'drain of a node', 'node', field('drain', 600) ],
	[ 'newest number of a node', 'node', field('seq', 1) ],
	[
		'newest number and drain of a node',
		'node',
		sub { return $special => pack('VV', 1, 400) }
	],
	[ 'no newest number of a node', 'node', field('seq', 0) ],
	[ 'length of a log', 'node', field('nlog', 1) ],
	[ 'free space', 'leaf', field('pd_upper', 7777) ],
	[
		'items on one another',
		'leaf',
		sub {
			return 24 => substr($_[0], 24, 4) x
			  ((unpack('v', substr($_[0], 12, 2)) - 24) / 4);
		}
	],);

# The first node with several tails
sub find_tails
{
	my ($relation) = @_;
	$node->safe_psql('postgres', 'CHECKPOINT');
	my $path = relation_path($node, $relation);
	foreach my $block (1 .. (-s $path) / 8192 - 1)
	{
		return $block if tail_entry(read_block($path, $block));
	}
	return '';
}

# The first tail with some items, of a node of level 1
sub find_tail_page
{
	my ($relation) = @_;
	$node->safe_psql('postgres', 'CHECKPOINT');
	my $path = relation_path($node, $relation);
	foreach my $block (1 .. (-s $path) / 8192 - 1)
	{
		my $page = read_block($path, $block);
		next
		  unless unpack('v', substr($page, $special + 24, 2)) == (1 << 8 | 2);
		foreach my $i (0 .. unpack('v', substr($page, $special + 16, 2)) - 1)
		{
			my ($tail, undef, $what) =
			  unpack('Vvv', substr($page, entry($page, $i), 8));
			next unless ($what & 7) == 2;
			my $lower =
			  unpack('v', substr(read_block($path, $tail), 12, 2));
			return $tail if $lower > 24 + 4 * 3;
		}
	}
	return '';
}

# the first page of this kind that has something to damage
sub find_page
{
	my ($relation, $kind) = @_;
	return 1 if $kind eq 'root';
	return find_tails($relation) if $kind eq 'tail';
	return find_tail_page($relation) if $kind eq 'log';
	my $where = $kind eq 'node' ? 'log_pages > 2 AND level = 1' : 'items > 3';

	return $node->safe_psql(
		'postgres', qq(
		SELECT b FROM generate_series(1,
			pg_relation_size('$relation') / 8192 - 1) b,
			LATERAL betree_node_info('$relation', b) i
		WHERE kind = '$kind' AND $where
		ORDER BY b LIMIT 1));
}

$node->safe_psql(
	'postgres', q(
	CREATE TABLE rows AS SELECT i AS id, rpad(md5(i::text), 120, 'x') AS k,
		left(md5((-i)::text), 9) AS v FROM generate_series(1, 8000) i;
	CREATE TABLE more AS SELECT i AS id, rpad(md5((i * 7)::text), 120, 'y') AS k,
		'v' AS v FROM generate_series(1, 800) i));
my $build = '';
foreach my $i (0 .. $#damages)
{
	$build .= qq(
		CREATE TABLE t$i (LIKE rows);
		ALTER TABLE t$i ALTER k TYPE text COLLATE "C", ALTER k SET STORAGE PLAIN;
		CREATE INDEX i$i ON t$i USING betree (k, v) WITH (log_pages = 12);
		INSERT INTO t$i SELECT * FROM rows;);
}
$node->safe_psql('postgres', $build);

my %change;
foreach my $i (0 .. $#damages)
{
	my ($name, $kind, $damage) = @{ $damages[$i] };
	my $block = find_page("i$i", $kind);

	die "no page to damage for $name" if $block eq '';
	$change{$i} = [ relation_path($node, "i$i"), $block, $damage ];
}
$node->safe_psql('postgres', 'CHECKPOINT');
$node->stop;
foreach my $i (keys %change)
{
	my ($path, $block, $damage) = @{ $change{$i} };
	my ($at, $bytes) = $damage->(read_block($path, $block));

	damage_block($path, $block, at => $at, with => $bytes);
}
$node->start;

# Runs a statement; returns its answer, "corrupted", or any other error.
my @item_errors;

sub outcome
{
	my ($sql) = @_;
	my ($out, $err) = ('', '');

	$node->psql(
		'postgres', "SET client_min_messages = error;\n$sql",
		stdout => \$out,
		stderr => \$err,
		extra_params => [ '-v', 'VERBOSITY=verbose', '-v', 'ON_ERROR_STOP=1' ]
	);
	push @item_errors, $err =~ /(.*damaged item.*)/;
	return 'corrupted' if $err =~ /ERROR:  XX00[12]:/;
	return $err eq '' ? $out : $err;
}

my $plan = 'SET enable_seqscan = off; SET enable_bitmapscan = off;'
  . ' SET enable_sort = off;';
my $right =
  $node->safe_psql('postgres', 'SELECT count(*), sum(id) FROM rows');
foreach my $i (0 .. $#damages)
{
	my $name = $damages[$i][0];

	is(outcome("SELECT betree_index_check('i$i', true)"),
		'corrupted', "$name: the checker tells");
	foreach my $order ('', 'DESC')
	{
		like(
			outcome(
					"$plan SELECT count(*), sum(id) FROM"
				  . " (SELECT id FROM t$i ORDER BY k $order, v $order) s"),
			qr/^(corrupted|\Q$right\E)$/,
			"$name: a scan $order tells or is right"
		) unless $name eq 'items on one another';
	}
	foreach my $sql (
		  "SET enable_bitmapscan = on; SET enable_indexscan = off;"
		. " SELECT count(*) >= 0 FROM t$i WHERE k > '0'",
		"SELECT count(k) >= 0 FROM (SELECT k FROM t$i ORDER BY k) s",
		"SELECT messages_in_logs >= 0 FROM betree_index_stats('i$i')",
		"INSERT INTO t$i SELECT * FROM more; SELECT true",
		"SELECT betree_flush('i$i'); SELECT true",
		"DELETE FROM t$i WHERE id % 3 = 0; VACUUM t$i; SELECT true")
	{
		like(outcome("$plan $sql"),
			qr/^(corrupted|\s*t)$/, "$name: $sql ends");
	}
}
is($node->safe_psql('postgres', 'SELECT 1'), 1, 'the server stands');
is( join("\n",
		grep { !/index "i\d+" contains a damaged item( at block \d+)?$/ }
		  @item_errors),
	'',
	'errors about an item name the index');
cmp_ok(
	scalar(grep { /at block \d+$/ } @item_errors),
	'>=',
	@item_errors / 2,
	'and most of them the block');

# Items that VACUUM has removed, there again: of rows that the table has no
# more, and then of others that have taken their places.
$node->safe_psql(
	'postgres', q(
	CREATE TABLE stale (k int8, id int);
	INSERT INTO stale SELECT hashint8extended(i, 1), i
		FROM generate_series(1, 3000) i;
	CREATE INDEX stale_k ON stale USING betree (k);
	CHECKPOINT));
my $path = relation_path($node, 'stale_k');
my $leaf = find_page('stale_k', 'leaf');
$node->stop;
my $old = read_block($path, $leaf);
$node->start;
$node->safe_psql('postgres',
	'DELETE FROM stale WHERE id % 10 = 0; VACUUM stale');
index_ok($node, 'stale_k', 'sound after VACUUM');
foreach my $reused (0, 1)
{
	$node->safe_psql(
		'postgres', q(
		INSERT INTO stale SELECT hashint8extended(i, 1), i
			FROM generate_series(3001, 3300) i)) if $reused;
	$node->safe_psql('postgres', 'CHECKPOINT');
	$node->stop;
	my $new = read_block($path, $leaf);
	write_block($path, $leaf, $old);
	$node->start;
	index_refused($node, 'stale_k',
		$reused ? 'items of other rows' : 'items of rows that are gone');
	$node->stop;
	write_block($path, $leaf, $new);
	$node->start;
}
index_ok($node, 'stale_k', 'sound again');

# A metapage of another version: whoever comes is refused, until REINDEX.
$node->stop;
damage_block($path, 0, at => 28, with => pack('V', 2));
$node->start;
foreach my $sql (
	"$plan SELECT count(*) FROM stale WHERE k > 0",
	'INSERT INTO stale VALUES (1, 1)',
	'DELETE FROM stale WHERE id = 1; VACUUM stale',
	"SELECT betree_flush('stale_k')",
	"SELECT betree_index_check('stale_k')")
{
	is(outcome($sql), 'corrupted', "version 2: refused by $sql");
}
my (undef, undef, $refusal) =
  $node->psql('postgres', "$plan SELECT count(*) FROM stale WHERE k > 0");
like(
	$refusal,
	qr/index "stale_k" has no valid betree metapage\nDETAIL: .* version 2\.\nHINT:  Please REINDEX it\./,
	'and told what to do');
$node->safe_psql('postgres', 'REINDEX INDEX stale_k');
index_ok($node, 'stale_k', 'sound after REINDEX');

# Values of types whose functions trust a header, with another one: the length
# of a numeric that leaves no header in a log page that is sealed next, which is
# to hash it; and what an item of a leaf begins with.  Keys descend where they are
# to go to a log: ascending ones go to the last leaves.
my @headers = (
	[ 'numeric', '-i / 10.0', 'tail', pack('C', (1 << 1) | 1) ],
	[ 'inet', "'10.0.0.0'::inet + i", 'leaf', pack('CCC', 15, 2, 200) ],
	[ 'inet', "'10.0.0.0'::inet + i", 'leaf', pack('CCC', 15, 3, 64) ],
	[ 'bit(32)', 'i::bit(32)', 'leaf', pack('C', (3 << 1) | 1) ],
	[ 'varbit', 'i::bit(32)::varbit', 'leaf', pack('C', (1 << 1) | 1) ],
	[
		'oidvector', "(i || ' ' || i)::oidvector",
		'leaf', pack('VVVVV', 32 << 2, 1, 0, 26, 0x7fffffff)
	],);
foreach my $i (0 .. $#headers)
{
	my ($type, $value, $kind, $bytes) = @{ $headers[$i] };
	my $n = $kind eq 'tail' ? 3000 : 300;

	$node->safe_psql(
		'postgres', qq(
		CREATE TABLE h$i (id int, k $type);
		INSERT INTO h$i SELECT i, $value FROM generate_series(1, $n) i;
		CREATE INDEX hi$i ON h$i USING betree (k) WITH (log_pages = 12);
		INSERT INTO h$i SELECT i, $value FROM generate_series($n + 1, $n + 300) i;
		CHECKPOINT));
	my $block = $node->safe_psql(
		'postgres', qq(
		SELECT b FROM generate_series(1,
			pg_relation_size('hi$i') / 8192 - 1) b,
			LATERAL betree_node_info('hi$i', b) i
		WHERE kind = '@{[$kind eq 'tail' ? 'log' : $kind]}' AND items > 3
		ORDER BY b DESC LIMIT 1));
	my $file = relation_path($node, "hi$i");

	$node->stop;
	damage_block(
		$file, $block,
		at => item(read_block($file, $block), 2) + 8,
		with => $bytes);
	$node->start;
	is(outcome("SELECT betree_index_check('hi$i')"),
		'corrupted', "header of $type: the checker tells");
	is( outcome(
			$kind eq 'tail'
			? "INSERT INTO h$i SELECT i, $value FROM generate_series($n + 301, $n + 2000) i"
			: "SET enable_seqscan = off; SET enable_sort = off;"
			  . " SELECT count(k) FROM (SELECT k FROM h$i ORDER BY k) s"),
		'corrupted',
		"header of $type: an error for every reader");
}

# Bloom pages.  Bits of a slot that are gone, or are looked for elsewhere, only
# the checker can tell from those of a leaf that does not have the keys.
my $slot = 24 + 8;
my @blooms = (
	[ 'size of a slot', sub { return 24 => pack('V', 12) } ],
	[ 'size of a large slot', sub { return 24 => pack('V', 0xfffffff8) } ],
	[ 'no size of a slot', sub { return 24 => pack('V', 0) } ],
	[
		'another size of a slot', sub { return 24 => pack('V', 8) },
		1, 'bloom'
	],
	[ 'length of a Bloom page', sub { return 12 => pack('v', 28) } ],
	[ 'odd length of a Bloom page', sub { return 12 => pack('v', 1001) } ],
	[ 'kind of a Bloom page', sub { return $special + 24 => pack('C', 5) } ],
	[ 'leaf of a slot', sub { return $slot => pack('V', 7777) } ],
	[
		'leaf of a second slot',
		sub {
			my $size = unpack('V', substr($_[0], 24, 4));
			return $slot + 4 + $size => substr($_[0], $slot, 4);
		}
	],
	[ 'bits of a slot', sub { return $slot + 4 => "\0" x 64 }, 1, 'bloom' ],
	[
		'block of a Bloom page',
		sub { return bloom_entry($_[0]) => pack('V', 0x7000000) },
		0, 'node'
	],
	[
		'block of a Bloom page is the node',
		sub { return bloom_entry($_[0]) => pack('V', $_[1]) },
		0, 'node'
	],
	[
		'number of a Bloom page',
		sub { return bloom_entry($_[0]) + 6 => pack('v', 6 | 99 << 8) },
		0, 'node'
	],);

# Offset of the first entry of a Bloom page in a node's directory
sub bloom_entry
{
	my ($page) = @_;
	my $ndir = unpack('v', substr($page, $special + 16, 2));

	foreach my $i (0 .. $ndir - 1)
	{
		my $at = entry($page, $i);
		return $at if unpack('C', substr($page, $at + 6, 1)) == 6;
	}
	die 'the node has no Bloom page';
}

# As hash_combine() and murmurhash32()
sub combine
{
	my ($a, $b) = @_;

	return ($a ^ (($b + 0x9e3779b9 + ($a << 6) + ($a >> 2)) & 0xffffffff));
}

sub murmur
{
	my ($h) = @_;
	use integer;    # without which a product may become a float

	$h ^= $h >> 16;
	$h = ($h * 0x85ebca6b) & 0xffffffff;
	$h ^= $h >> 13;
	$h = ($h * 0xc2b2ae35) & 0xffffffff;
	return $h ^ ($h >> 16);
}

# Identity of one hash function, of format 1
sub hash_identity
{
	my ($proc) = @_;

	return combine(combine(1, murmur(int($node->pg_version->major))),
		murmur($proc));
}

foreach my $i (0 .. $#blooms)
{
	my ($name, $damage, $blind, $kind) = (@{ $blooms[$i] }, 0, 'bloom');

	$node->safe_psql(
		'postgres', qq(
		CREATE TABLE b$i (LIKE rows);
		CREATE INDEX bi$i ON b$i USING betree (k) WITH (log_pages = 4, bloom = on);
		INSERT INTO b$i SELECT * FROM rows WHERE id <= 2500;
		SELECT betree_flush('bi$i');
		CHECKPOINT));
	index_ok($node, "bi$i", "$name: sound before");
	my $block = $node->safe_psql(
		'postgres', qq(
		SELECT b FROM generate_series(1,
			pg_relation_size('bi$i') / 8192 - 1) b,
			LATERAL betree_node_info('bi$i', b) i
		WHERE kind = '$kind' AND items > 1 AND level = 1 ORDER BY b LIMIT 1));
	my $file = relation_path($node, "bi$i");

	# pg_upgrade takes the pages to a server whose functions may compute other
	# values
	is( unpack('V', substr(read_block($file, $block), $special + 20, 4)),
		hash_identity(
			$node->safe_psql('postgres', "SELECT 'hashtext'::regproc::oid")),
		"the page's hash functions are those of this major version"
	) if $i == 0;

	$node->stop;
	my ($at, $bytes) = $damage->(read_block($file, $block), $block);
	damage_block($file, $block, at => $at, with => $bytes);
	$node->start;
	is(outcome("SELECT betree_index_check('bi$i', true)"),
		'corrupted', "$name: the checker tells");
	like(
		outcome(
				"$plan SET enable_hashjoin = off; SET enable_mergejoin = off;"
			  . " SELECT count(*) FROM (SELECT k FROM b$i OFFSET 0) a,"
			  . " LATERAL (SELECT v FROM b$i b WHERE b.k = a.k OFFSET 0) s"),
		qr/^(corrupted|2500)$/,
		"$name: lookups tell or are right") unless $blind;

	foreach my $sql (
		"SELECT messages_in_logs >= 0 FROM betree_index_stats('bi$i')",
		"SELECT kind <> '' FROM betree_node_info('bi$i', $block)",
		"INSERT INTO b$i SELECT * FROM rows WHERE id BETWEEN 2501 AND 5000;"
		. " SELECT betree_flush('bi$i'); SELECT true",
		"DELETE FROM b$i WHERE id % 3 = 0 OR k > '8'; VACUUM b$i; SELECT true"
	  )
	{
		like(outcome("$plan $sql"),
			qr/^(corrupted|\s*t)$/, "$name: $sql ends");
	}
}
is($node->safe_psql('postgres', 'SELECT 1'), 1, 'the server stands');

# Items of several rows.  Some damages make other rows of them, which scans do not
# see: then only the checker tells.
sub tail
{
	my ($page) = @_;
	my $at = item($page, 2);
	return $at + (unpack('v', substr($page, $at + 6, 2)) & 0x1fff) - 4;
}

my @postings = (
	[
		'several rows as one',
		sub {
			my $at = item($_[0], 2) + 6;
			return $at =>
			  pack('v', unpack('v', substr($_[0], $at, 2)) & ~0x2000);
		},
		1
	],
	[ 'key of a posting', sub { return tail($_[0]) => pack('v', 4096) } ],
	[ 'no key of a posting', sub { return tail($_[0]) => pack('v', 0) } ],
	[
		'rows of a posting',
		sub { return tail($_[0]) + 2 => pack('v', 9999) }
	],
	[
		'no rows of a posting',
		sub { return tail($_[0]) + 2 => pack('v', 0) }
	],
	[
		'a row more of a posting',
		sub {
			my $at = tail($_[0]) + 2;
			return $at => pack('v', unpack('v', substr($_[0], $at, 2)) + 1);
		}
	],
	[
		'a row less of a posting',
		sub {
			my $at = tail($_[0]) + 2;
			return $at => pack('v', unpack('v', substr($_[0], $at, 2)) - 1);
		}
	],
	[ 'no distance', sub { return item($_[0], 2) + 16 + 9 => "\0" } ],
	[
		'an endless distance',
		sub { return item($_[0], 2) + 16 => "\xff" x 8 }
	],
	[ 'a distance', sub { return item($_[0], 2) + 16 + 9 => "\3" }, 1 ],
	[ 'first row of a posting', sub { return item($_[0], 2) => "\xff" x 4 } ],
	[ 'no first row', sub { return item($_[0], 2) + 4 => "\0\0" } ],
	[
		'size of a posting',
		sub { return item($_[0], 2) + 6 => pack('v', 0x2010) }
	],);
foreach my $i (0 .. $#postings)
{
	$node->safe_psql(
		'postgres', qq(
		CREATE TABLE s$i AS SELECT i AS id, i / 2500 AS k FROM generate_series(1, 8000) i;
		CREATE INDEX si$i ON s$i USING betree (k) WITH (log_pages = 2)));
	index_ok($node, "si$i", "$postings[$i][0]: sound before");
}
my @files = map { relation_path($node, "si$_") } 0 .. $#postings;
$node->stop;
foreach my $i (0 .. $#postings)
{
	my ($at, $bytes) = $postings[$i][1]->(read_block($files[$i], 2));
	damage_block($files[$i], 2, at => $at, with => $bytes);
}
$node->start;
foreach my $i (0 .. $#postings)
{
	my ($name, undef, $blind) = @{ $postings[$i] };

	is(outcome("SELECT betree_index_check('si$i', true)"),
		'corrupted', "$name: the checker tells");
	foreach my $order ('', 'DESC')
	{
		like(
			outcome(
					"$plan SELECT count(*), sum(id) FROM"
				  . " (SELECT id FROM s$i ORDER BY k $order) s"),
			qr/^(corrupted|8000\|32004000)$/,
			"$name: a scan $order tells or is right") unless $blind;
	}
	foreach my $sql (
		  "SET enable_bitmapscan = on; SET enable_indexscan = off;"
		. " SELECT count(*) >= 0 FROM s$i WHERE k >= 0",
		"SELECT count(k) >= 0 FROM (SELECT k FROM s$i ORDER BY k) s",
		"SELECT count(*) >= 0 FROM betree_page_items('si$i', 2)",
		"UPDATE s$i SET k = k WHERE id < 1000; SELECT true",
		"INSERT INTO s$i SELECT i, i % 4 FROM generate_series(1, 4000) i;"
		. " SELECT betree_flush('si$i'); SELECT true",
		"DELETE FROM s$i WHERE id % 3 = 0; VACUUM s$i; SELECT true",
		"INSERT INTO s$i SELECT i, i % 4 FROM generate_series(1, 4000) i;"
		. " SELECT betree_flush('si$i'); SELECT true")
	{
		like(outcome("$plan $sql"),
			qr/^(corrupted|\s*t)$/, "$name: $sql ends");
	}
}
is($node->safe_psql('postgres', 'SELECT 1'), 1, 'the server stands');

# Bloom pages of other hash functions say nothing, and are begun anew.
$node->safe_psql(
	'postgres', q(
	CREATE TABLE other (LIKE rows);
	INSERT INTO other SELECT * FROM rows WHERE id <= 2500;
	CREATE INDEX other_k ON other USING betree (k) WITH (log_pages = 4, bloom = on);
	CREATE FUNCTION slots() RETURNS bigint
		RETURN (SELECT sum(items) FROM generate_series(1,
			pg_relation_size('other_k') / 8192 - 1) b,
			LATERAL betree_node_info('other_k', b) i WHERE kind = 'bloom');
	CHECKPOINT));
my @others = split /\n/, $node->safe_psql(
	'postgres', q(
	SELECT b FROM generate_series(1, pg_relation_size('other_k') / 8192 - 1) b,
		LATERAL betree_node_info('other_k', b) i WHERE kind = 'bloom'));
my $other = relation_path($node, 'other_k');
my $found =
	"$plan SET enable_hashjoin = off; SET enable_mergejoin = off;"
  . ' SELECT count(*) FROM (SELECT k FROM other OFFSET 0) a,'
  . ' LATERAL (SELECT v FROM other b WHERE b.k = a.k OFFSET 0) s';
$node->stop;
damage_block($other, $_, at => $special + 20, with => pack('V', 77))
  foreach @others;
$node->start;
index_ok($node, 'other_k', 'sound with Bloom pages of other hash functions');
is($node->safe_psql('postgres', $found), 2500, 'lookups find all');
my $slots = $node->safe_psql('postgres', 'SELECT slots()');
$node->safe_psql(
	'postgres', q(
	INSERT INTO other SELECT * FROM rows WHERE id = 2501;
	SELECT betree_flush('other_k')));
cmp_ok($node->safe_psql('postgres', 'SELECT slots()'),
	'<', $slots, 'a page has been begun anew');
$node->safe_psql(
	'postgres', q(
	INSERT INTO other SELECT * FROM rows WHERE id BETWEEN 2502 AND 5000;
	SELECT betree_flush('other_k')));
index_ok($node, 'other_k', 'sound with pages begun anew');
is($node->safe_psql('postgres', $found), 5000, 'lookups find all');

# Pivots of a root of eight children that compare in a circle: the fourth is
# 0.xxxx with a leading zero, which no numeric has, and so begins at the place
# of the ones; the seventh has a digit of -1 there, which makes it less than
# that, and more than all that begin behind the point.
$node->safe_psql(
	'postgres', q(
	CREATE TABLE circle AS SELECT i AS id, i / 10000.0 AS k
		FROM generate_series(1, 2800) i;
	UPDATE circle SET k = trim_scale(k);
	CREATE INDEX circle_k ON circle USING betree (k) WITH (log_pages = 0);
	CHECKPOINT));
my $circle = relation_path($node, 'circle_k');
is( $node->safe_psql(
		'postgres', "SELECT items FROM betree_node_info('circle_k', 1)"),
	8,
	'the root has eight children');
$node->stop;
my $root = read_block($circle, 1);
my $digit = substr($root, item($root, 6) + 8 + 3, 2);
my @at = map { item($root, $_) + 8 } (6, 9);
damage_block(
	$circle, 1,
	at => $at[0],
	with => pack('Cvv', 0x0f, 0x8200, 0) . $digit);
damage_block(
	$circle, 1,
	at => $at[1],
	with => pack('Cvv', 0x0b, 0x8200, 0xffff));
$node->start;

foreach my $sql (
	'SELECT count(*) FROM (SELECT k FROM circle ORDER BY k) s',
	"SELECT betree_index_check('circle_k')",
	'DELETE FROM circle WHERE id % 3 = 0; VACUUM circle')
{
	is(outcome("SET statement_timeout = '5s'; $plan $sql"),
		'corrupted', "pivots in a circle: $sql tells");
}

# Nodes whose first pivots lie far below what leads to them: where such a node
# is full, the way down to that pivot leads to another.
$node->safe_psql(
	'postgres', q(
	CREATE TABLE wide (id int, k text COLLATE "C");
	ALTER TABLE wide ALTER k SET STORAGE PLAIN;
	INSERT INTO wide SELECT i, rpad(md5(i::text), 1200, 'x')
		FROM generate_series(1, 400) i;
	CREATE INDEX wide_k ON wide USING betree (k) WITH (log_pages = 8);
	INSERT INTO wide SELECT i, rpad(md5(i::text), 1200, 'x')
		FROM generate_series(401, 800) i;
	CHECKPOINT));
my $wide = relation_path($node, 'wide_k');
my @nodes = split /\n/, $node->safe_psql(
	'postgres', q(
	SELECT b FROM generate_series(1,
		pg_relation_size('wide_k') / 8192 - 1) b,
		LATERAL betree_node_info('wide_k', b) i
	WHERE kind = 'node' AND level = 1 AND log_pages > 1 ORDER BY b));
cmp_ok(scalar @nodes, '>', 3, 'there are nodes to damage');
$node->stop;
foreach my $block (@nodes)
{
	my $page = read_block($wide, $block);
	my $key = item($page, 2) + 8 + 4;

	# no key in the leftmost one
	damage_block($wide, $block, at => $key, with => '!')
	  if substr($page, $key, 1) =~ /^[0-9a-f]/;
}
$node->start;
is(outcome("SET statement_timeout = '5s'; SELECT betree_flush('wide_k')"),
	'corrupted', 'pivots below their nodes: a flush tells');

$node->stop;
done_testing();
