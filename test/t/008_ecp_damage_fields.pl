# Fields of the metapage, of map pages and of the headers of runs, damaged one
# by one: each statement ends, with an answer or with an error that names the
# damage, and nothing that is in use is overwritten.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('main',
	conf => "fsync = off\nfull_page_writes = off\nautovacuum = off\n");

load_vecs($node, 'source', 'base.bvecs', limit => 1600);
$node->safe_psql(
	'postgres', q(
	CREATE TABLE t (id int, v bytea);
	INSERT INTO t SELECT * FROM source WHERE id < 1500;
	CREATE INDEX ti ON t USING ecp (v) WITH (cluster_size = 16);
	-- one that has grown by splits, and has not seen VACUUM
	CREATE TABLE q (id int, v bytea);
	CREATE INDEX qi ON q USING ecp (v) WITH (cluster_size = 16);
	INSERT INTO q SELECT * FROM source WHERE id < 1500;
	-- one with nodes above nodes
	CREATE TABLE l (id int, v bytea);
	INSERT INTO l SELECT * FROM source WHERE id < 1500;
	CREATE INDEX li ON l USING ecp (v) WITH (cluster_size = 1, levels = 2);
	CHECKPOINT));
my %path = map { $_ => relation_path($node, $_) } qw(ti qi li);
my %blocks = map { $_ => relation_blocks($node, $_) } qw(ti qi li);
index_ok($node, $_) for qw(ti qi li);
cmp_ok(
	$node->safe_psql(
		'postgres', q(SELECT retired_pages FROM ecp_metapage_info('qi'))),
	'>', 10,
	'splits have left clusters in the retired queue');
$node->stop;
my %whole;
foreach my $index (qw(ti qi li))
{
	$whole{$index} =
	  [ map { read_block($path{$index}, $_) } 0 .. $blocks{$index} - 1 ];
}

# where fields are: of the metapage, of the header of a run
my %meta = (
	map_hint => 24 + 104,
	retired_head => 24 + 108,
	nleaves => 24 + 184);
my %run = (
	next_run => 24 + 8,
	next_blk => 24 + 24,
	hw_page => 24 + 40,
	free_hint => 24 + 44,
	retired_next => 24 + 56,
	vfrom => 24 + 64);

sub field { return unpack('L', substr($_[0], $_[1], 4)); }

sub set_field
{
	substr($_[0], $_[1], 4) = pack('L', $_[2]);
	return;
}

# heads of clusters of a level, leaves if none is given, whose flag of a retired
# one is as asked for
sub heads
{
	my ($index, $retired, $wanted) = @_;
	my @heads;

	$wanted //= 0;

	foreach my $block (2 .. $blocks{$index} - 1)
	{
		my $page = $whole{$index}[$block];
		my ($run, $pageno, $kind) = unpack('Q L S', substr($page, 8176, 16));
		my ($level, $flags) = unpack('CC', substr($page, 24 + 60, 2));

		push @heads, $block
		  if $run
		  && $pageno == 0
		  && $kind == 3
		  && $level == $wanted
		  && ($flags & 3) == ($retired ? 3 : 1);
	}
	return @heads;
}

my $search =
	'SET enable_seqscan = off;'
  . ' SET ecp.iterative_scan = relaxed_order; SELECT count(*) FROM (SELECT id'
  . ' FROM %s ORDER BY v <-> (SELECT v FROM source WHERE id = 7) LIMIT 100000) r';
my %sql = (
	search => $search,
	batch =>
	  q(SELECT count(*) FROM ecp_knn_batch('%si', 'SELECT v FROM source LIMIT 20', 10)),
	insert =>
	  'INSERT INTO %s SELECT 2000 + i, v FROM source, generate_series(1, 500) i WHERE id = 7',
	insert_all => 'INSERT INTO %s SELECT 3000 + id, v FROM source',
	delete => 'DELETE FROM %s WHERE id % 3 = 0',
	vacuum => 'VACUUM %s',
	maintain => q(SELECT ecp_maintain('%si')),
	stats => q(SELECT * FROM ecp_index_drift('%si')),
	recall =>
	  q(SELECT * FROM ecp_recall('%si', samples => 100, store => true)),
	check => q(SELECT ecp_index_check('%si', true)));

# Damage an index by a sub that changes its pages; run statements, of which
# some must report the damage, and at last some that find nothing wrong.  Undo
# the damage: the rows are still there.
sub damaged
{
	my ($name, $index, $damage, $refuse, $others, $sound) = @_;
	my $table = substr($index, 0, 1);
	my @pages = @{ $whole{$index} };
	my %refuse = map { $_ => 1 } @$refuse;
	my %sound = map { $_ => 1 } @{ $sound || [] };

	$damage->(\@pages);
	my @changed = grep { $pages[$_] ne $whole{$index}[$_] } 0 .. $#pages;
	write_block($path{$index}, $_, $pages[$_]) foreach @changed;
	$node->start;
	foreach my $key (@$refuse, @{ $others || [] }, @{ $sound || [] })
	{
		my ($stdout, $stderr, $timed_out) = ('', '', 0);
		my $sql = $sql{$key};

		$sql =~ s/%s/$table/g;
		$node->psql(
			'postgres', "\\set VERBOSITY verbose\n$sql",
			stdout => \$stdout,
			stderr => \$stderr,
			timeout => $PostgreSQL::Test::Utils::timeout_default,
			timed_out => \$timed_out);
		BAIL_OUT("$name: $key does not end") if $timed_out;
		if ($refuse{$key})
		{
			like(
				$stderr,
				qr/ERROR:  (XX00[12]|54000)/,
				"$name: $key reports it");
		}
		elsif ($sound{$key})
		{
			is($stderr, '', "$name: $key finds nothing");
		}
		else
		{
			unlike(
				$stderr,
				qr/ERROR:  (?!XX00[12])|FATAL|PANIC|terminated/,
				"$name: $key, an answer or a report");
		}
	}
	cmp_ok(-s $path{$index},
		'<', 1 << 26, "$name: the file has not grown beyond all bounds");
	$node->stop;
	# but for bytes that the statements have written
	foreach my $block (@changed)
	{
		my $now = read_block($path{$index}, $block);

		foreach my $at (0 .. 8191)
		{
			substr($now, $at, 1) = substr($whole{$index}[$block], $at, 1)
			  if substr($now, $at, 1) eq substr($pages[$block], $at, 1);
		}
		write_block($path{$index}, $block, $now);
	}
	$node->start;
	is( $node->safe_psql(
			'postgres',
			"SET enable_seqscan = off; SET ecp.iterative_scan = relaxed_order;"
			  . " SELECT count(*) FROM (SELECT id FROM $table"
			  . " ORDER BY v <-> (SELECT v FROM source WHERE id = 7) LIMIT 100000) r WHERE id < 1500"
		),
		$node->safe_psql(
			'postgres',
			"SET enable_indexscan = off; SELECT count(*) FROM $table WHERE id < 1500"
		),
		"$name: no row is lost");
	$node->stop;

	# for the next one, the table too
	open my $fh, '>:raw', $path{$index} or die "could not open: $!\n";
	print $fh $_ foreach @{ $whole{$index} };
	close $fh or die "could not write: $!\n";
	return;
}

my @live = heads('ti', 0);
my $filled = (grep { field($whole{ti}[$_], $run{hw_page}) > 1 } @live)[0];

damaged(
	'map page of zeros',
	'ti',
	sub { $_[0][1] = "\0" x 8192 },
	[qw(insert insert_all stats check)]);
damaged(
	'map without bits',
	'ti', sub { substr($_[0][1], 24, 64) = "\0" x 64 },
	[qw(insert check)], [qw(insert_all maintain)]);
damaged(
	'hint beyond the last map page',
	'ti', sub { set_field($_[0][0], $meta{map_hint}, 1000) },
	[qw(insert check)]);
damaged(
	'no page of a run in use',
	'ti',
	sub { set_field($_[0][$_], $run{hw_page}, 0) foreach @live },
	[qw(search batch insert stats check)]);
damaged(
	'fewer pages of a run in use',
	'ti',
	sub {
		set_field($_[0][$filled], $run{hw_page}, 1);
		set_field($_[0][$filled], $run{free_hint}, 1);
	},
	['check'],
	['insert_all']);
damaged(
	'run that is followed by itself',
	'ti',
	sub {
		foreach my $head (@live)
		{
			set_field($_[0][$head], $run{next_run}, 1_000_000);
			set_field($_[0][$head], $run{next_blk}, $head);
		}
	},
	[qw(search insert_all check)]);
# what generic WAL goes by: VACUUM crashed, or zeroed the end of the page
foreach my $case ([ pd_upper => 14, 0 ], [ pd_lower => 12, 200 ])
{
	my ($name, $at, $value) = @$case;

	damaged(
		"heads with $name of $value",
		'ti',
		sub { substr($_[0][$_], $at, 2) = pack('S', $value) foreach @live },
		[qw(search insert check)],
		[qw(delete vacuum maintain)]);
}
# an insert would meet it
my ($free) =
  grep { !vec(substr($whole{qi}[1], 24), $_, 1) } 2 .. $blocks{qi} - 1;
damaged(
	'free page that the server refuses', 'qi',
	sub { substr($_[0][$free], 14, 2) = pack('S', 8175) }, ['check'],
	[qw(search insert_all vacuum maintain)]);
damaged(
	'more clusters than blocks',
	'ti',
	sub { set_field($_[0][0], $meta{nleaves}, 0x7fffffff) },
	[qw(search batch insert stats check)]);

damaged(
	'ids of runs at their end',
	'ti',
	sub { substr($_[0][0], 24 + 64, 8) = "\xff" x 8 },
	[qw(search batch insert stats check maintain vacuum)]);

damaged(
	'an id of a run that nothing can have',
	'ti',
	sub { substr($_[0][0], 24 + 64, 8) = pack('Q', (1 << 56) + 1) },
	[qw(search batch insert stats check maintain vacuum)]);
damaged(
	'zero, which says that there is no run, as the next id',
	'ti',
	sub { substr($_[0][0], 24 + 64, 8) = pack('Q', 0) },
	[qw(search batch insert stats check maintain vacuum)]);
damaged(
	'last id of a run given out',
	'ti', sub { substr($_[0][0], 24 + 64, 8) = pack('Q', 1 << 56) },
	['insert'], [], [qw(search check)]);
damaged(
	'last version of the structure',
	'ti', sub { set_field($_[0][0], 24 + 56, 0xfffffffd) },
	['insert_all'], [], [qw(search check)]);
damaged(
	'clusters split that folds would make',
	'ti',
	sub { set_field($_[0][0], 24 + 28, 1) },
	[qw(search insert check maintain vacuum)]);
damaged(
	'root that is a buffer',
	'ti',
	sub { substr($_[0][0], 24 + 78, 2) = pack('S', 2) },
	[qw(search insert check maintain vacuum)]);
damaged(
	'unfinished operation on a leaf as a node',
	'ti',
	sub {
		substr($_[0][0], 24 + 120, 2) = pack('S', 1);
		set_field($_[0][0], 24 + 124, $live[0]);
	},
	[qw(insert_all check maintain)]);

damaged(
	'node that says it is full',
	'li',
	sub {
		my $root = field($_[0][0], 24 + 72);

		set_field($_[0][$root], $run{free_hint}, 1);
	},
	[],
	[],
	[qw(insert_all maintain check)]);

# a flag that would have VACUUM look for the successor for ever
sub retire
{
	my ($pages, @blocks) = @_;

	substr($pages->[$_], 24 + 61, 1) |= "\2" foreach @blocks;
	return;
}

my @nodes = heads('li', 0, 1);
cmp_ok(@nodes, '>', 1, 'nodes below the root');
damaged(
	'node that is marked as retired',
	'li',
	sub { retire($_[0], $nodes[0]) },
	[qw(vacuum maintain check)],
	[qw(search batch insert stats delete)]);
damaged(
	'nodes that are marked as retired',
	'li',
	sub { retire($_[0], @nodes, heads('li', 0, 2)) },
	[qw(vacuum maintain check)],
	[qw(search batch insert insert_all stats delete)]);
damaged(
	'clusters that are marked as retired', 'li',
	sub { retire($_[0], heads('li', 0)) }, ['check'],
	[qw(search batch insert insert_all stats vacuum maintain)]);

my ($tail) = grep { field($whole{qi}[$_], $run{retired_next}) == 0xffffffff }
  heads('qi', 1);
damaged(
	'retired queue that is a ring',
	'qi',
	sub {
		set_field($_[0][$tail], $run{retired_next},
			field($whole{qi}[0], $meta{retired_head}));
	},
	[qw(maintain vacuum check)],
	[qw(search delete vacuum insert_all)]);

# one of a single run was never freed, and VACUUM waited for that at each step
damaged(
	'retired cluster of a version to come',
	'qi',
	sub {
		my ($pages) = @_;
		my $head = field($pages->[0], $meta{retired_head});

		substr($pages->[$head], $run{next_run}, 8) = "\0" x 8;
		set_field($pages->[$head], $run{vfrom}, 1534038756);
	},
	[qw(vacuum maintain check)],
	[qw(search delete insert_all)]);

# blocks that do not exist: of the next segment of the file, and behind it; the last
# number is that of no block, and as a count its successor is 0
foreach my $far (0x00020000, 0xfffffff0, 0xffffffff)
{
	damaged(
		sprintf('children at block %u', $far),
		'ti',
		sub {
			my ($pages) = @_;
			my $some = join('|', map { quotemeta(pack('L', $_)) } @live);

			# entries of the root, behind its header
			my $root = unpack('L', substr($pages->[0], 24 + 72, 4));
			substr($pages->[$root], 104) =~
			  s/(?:$some)(?=..[\0-\3]\0.{6}\0\0.{4}\xff{4})/pack('L', $far)/gse;
		},
		[qw(recall search batch insert_all stats check)],
		[qw(delete vacuum maintain)]);
	damaged(
		sprintf('rows at block %u of the table', $far),
		'ti',
		sub {
			my ($pages) = @_;

			# TIDs are behind the bitmap of less than a block's 64 slots
			foreach my $head (@live)
			{
				substr($pages->[$head], 112 + 6 * $_, 4) =
				  pack('SS', $far >> 16, $far & 0xffff)
				  foreach 0 .. 9;
			}
		},
		[qw(search batch)],
		['stats']);
}

# Entries that VACUUM has removed, live again: rows that the table has no more,
# and then such as are not indexed where those were.
$node->start;
$node->safe_psql('postgres', 'DELETE FROM t WHERE id % 10 = 0; VACUUM t');
index_ok($node, 'ti', 'sound after VACUUM');
foreach my $reused (0, 1)
{
	$node->safe_psql('postgres',
		'INSERT INTO t SELECT i, NULL FROM generate_series(1, 150) i')
	  if $reused;
	$node->stop;
	my %vacuumed = map { $_ => read_block($path{ti}, $_) } @live;
	foreach my $head (@live)
	{
		damage_block(
			$path{ti}, $head,
			at => 104,
			with => substr($whole{ti}[$head], 104, 8));
	}
	$node->start;
	index_refused($node, 'ti',
		$reused ? 'rows that are not indexed' : 'rows that are gone');
	$node->stop;
	write_block($path{ti}, $_, $vacuumed{$_}) foreach @live;
	$node->start;
}
index_ok($node, 'ti', 'sound as VACUUM left it');
$node->stop;
done_testing();
