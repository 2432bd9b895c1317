# 025_betree_hardship.pl: keys and pages that are hard on a betree
#
# Tuples of the largest size, one key for all rows, a comparison function that
# fails in the middle of a flush, and damaged pages: flipped bytes in pages of
# every kind give an error or a right answer, never a crash.

use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node =
  ecp_cluster('main',
	conf => "fsync = off\nrestart_after_crash = off\nwork_mem = 64kB\n");

# The largest tuple: find it by halving, fill a tree with such and smaller ones
$node->safe_psql(
	'postgres', q(
	CREATE TABLE wide (id int, k text);
	ALTER TABLE wide ALTER k SET STORAGE PLAIN;
	CREATE INDEX wide_k ON wide USING betree (k COLLATE "C");
));
my ($fits, $too_long) = (100, 8000);
while ($too_long - $fits > 1)
{
	my $middle = int(($fits + $too_long) / 2);
	my ($ret, undef, $stderr) = $node->psql('postgres',
		"INSERT INTO wide VALUES (0, repeat('x', $middle))");
	if ($ret == 0) { $fits = $middle }
	else
	{
		$too_long = $middle;
		like(
			$stderr,
			qr/index row.*exceeds|too (large|wide|long|big)/i,
			"a key of $middle bytes is refused by a clear error"
		) if $too_long - $fits < 4;
	}
}
cmp_ok($fits, '>=', 1000, "the largest key ($fits bytes) is not small");
$node->safe_psql(
	'postgres', qq(
	TRUNCATE wide;
	INSERT INTO wide SELECT i, rpad(md5(i::text),
		CASE WHEN i % 3 = 0 THEN 40 ELSE $fits - (i % 7) END, 'x')
		FROM generate_series(1, 4000) i;
	DELETE FROM wide WHERE id % 5 = 0;
	VACUUM wide;
	INSERT INTO wide SELECT i, rpad(md5(i::text), $fits, 'y')
		FROM generate_series(4001, 5000) i;
));
my $set = 'SET enable_seqscan = off; SET enable_bitmapscan = off';
plan_uses($node, 'SELECT k FROM wide ORDER BY k COLLATE "C"',
	'wide_k', set => $set);
is( $node->safe_psql(
		'postgres', qq(
		$set;
		SELECT count(*), count(*) FILTER (WHERE before > k COLLATE "C")
		FROM (SELECT k, lag(k) OVER () AS before
			  FROM (SELECT k FROM wide ORDER BY k COLLATE "C") s) t)),
	'4200|0',
	'keys of the largest size are found in order');
index_ok($node, 'wide_k');
$node->safe_psql('postgres', 'REINDEX INDEX wide_k');
index_ok($node, 'wide_k', 'the same after REINDEX');

# One key for all rows: pivots must tell them apart by TID
$node->safe_psql(
	'postgres', q(
	CREATE TABLE equal (k int8, id int);
	CREATE INDEX equal_k ON equal USING betree (k) WITH (log_pages = 2);
	INSERT INTO equal SELECT 7, i FROM generate_series(1, 60000) i;
	DELETE FROM equal WHERE id % 3 = 0;
	VACUUM equal;
	INSERT INTO equal SELECT 7, i FROM generate_series(60001, 80000) i;
));
is( $node->safe_psql(
		'postgres',
		"$set; SELECT count(*), count(DISTINCT id) FROM equal WHERE k = 7"),
	'60000|60000',
	'rows with equal keys are all found, each once');
index_ok($node, 'equal_k');

# A comparison that fails for one value, once it is told to
$node->safe_psql(
	'postgres', q(
	CREATE FUNCTION poison_cmp(int8, int8) RETURNS int LANGUAGE plpgsql
		IMMUTABLE STRICT AS $$
	BEGIN
		IF current_setting('test.poison', true)::int8 IN ($1, $2) THEN
			RAISE 'poison';
		END IF;
		RETURN btint8cmp($1, $2);
	END $$;
	CREATE OPERATOR CLASS poison_ops FOR TYPE int8 USING betree AS
		OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
		FUNCTION 1 poison_cmp(int8, int8);
	CREATE TABLE poisoned (k int8, id int);
	CREATE INDEX poisoned_k ON poisoned USING betree (k poison_ops)
		WITH (log_pages = 1);
	INSERT INTO poisoned SELECT hashint8extended(i, 1) % 1000000, i
		FROM generate_series(1, 3000) i;
));
my ($inserted, $failed) = (3000, 0);
foreach my $i (1 .. 60)
{
	# one that is in the tree, so that a flush or a split meets it
	my $poison = 1 + 40 * $i;
	my $from = 3001 + 100 * $i;
	my ($ret, undef, $stderr) = $node->psql(
		'postgres', qq(
		SELECT set_config('test.poison',
			(hashint8extended($poison, 1) % 1000000)::text, false);
		INSERT INTO poisoned SELECT hashint8extended(i, 1) % 1000000, i
			FROM generate_series($from, $from + 99) i));
	if ($ret == 0) { $inserted += 100 }
	else           { $failed++ }
}
cmp_ok($failed, '>', 0, "comparisons failed in $failed of 60 inserts");
index_ok($node, 'poisoned_k', 'nothing is lost or half done');
$node->safe_psql(
	'postgres', q(
	VACUUM poisoned;
	INSERT INTO poisoned SELECT hashint8extended(i, 1) % 1000000, i
		FROM generate_series(100001, 103000) i));
index_ok($node, 'poisoned_k', 'nothing stayed locked');
is( $node->safe_psql('postgres', 'SELECT count(*) FROM poisoned'),
	$inserted + 3000,
	'the rows of failed inserts are gone');

# Damage.  Every kind of page, again and again with other bytes; each time the
# undamaged file is put back.
$node->safe_psql(
	'postgres', q(
	CREATE TABLE damaged (k int8, t text, id int);
	CREATE INDEX damaged_k ON damaged USING betree (k, t)
		WITH (log_pages = 4);
	INSERT INTO damaged SELECT hashint8extended(i, 1), md5(i::text), i
		FROM generate_series(1, 60000) i;
	DELETE FROM damaged WHERE id % 10 = 0;
	VACUUM damaged;
	CHECKPOINT));
my $path = relation_path($node, 'damaged_k');
my %kinds;

# the blocks of each kind of page
sub collect_kinds
{
	my $last = relation_blocks($node, 'damaged_k') - 1;

	%kinds = ();
	foreach my $line (
		split /\n/,
		$node->safe_psql(
			'postgres',
			"SELECT b, (betree_node_info('damaged_k', b)).kind"
			  . " FROM generate_series(0, $last) b"))
	{
		my ($block, $kind) = split /\|/, $line;
		push @{ $kinds{$kind} }, $block;
	}
	return;
}

collect_kinds();
cmp_ok(scalar(keys %kinds),
	'>=', 4, 'pages of these kinds: ' . join(', ', sort keys %kinds));

my $random = prng(25);
my %found;
my $rounds = $ENV{BETREE_ROUNDS} || 6;
foreach my $round (1 .. $rounds)
{
	$node->stop;
	my %saved;
	foreach my $kind (sort keys %kinds)
	{
		my $block = $kinds{$kind}[ $random->(scalar @{ $kinds{$kind} }) ];
		$saved{$block} = read_block($path, $block);

		# the header, the item pointers or the special area, or anywhere
		my @part = ([ 8, 24 ], [ 24, 120 ], [ 7900, 8192 ], [ 24, 8192 ]);
		my ($from, $to) = @{ $part[ $round % 4 ] };
		damage_block(
			$path, $block,
			random => $random,
			from => $from,
			to => $to,
			bytes => 1 + $random->(6));
	}
	$node->start;
	foreach my $sql (
		  "SET enable_seqscan = off; SET enable_bitmapscan = off;"
		. ' SELECT count(*), sum(id) FROM damaged WHERE k IS NOT NULL',
		"SET enable_seqscan = off; SET enable_bitmapscan = off;"
		. ' SELECT count(*) FROM (SELECT k FROM damaged ORDER BY k DESC, t DESC) s',
		'SELECT * FROM betree_index_stats(\'damaged_k\')',
		"SELECT betree_index_check('damaged_k', true)",
		'BEGIN; INSERT INTO damaged SELECT hashint8extended(i, 2), md5(i::text), i'
		. ' FROM generate_series(1, 3000) i; ROLLBACK',
		'VACUUM damaged')
	{
		my ($stdout, $stderr);
		my $ret = $node->psql(
			'postgres', $sql,
			stdout => \$stdout,
			stderr => \$stderr,
			timeout => 60);
		if (!defined $ret || $ret == 2 || $stderr =~ /terminated|crash/)
		{
			fail("round $round: the server survives \"$sql\"");
			diag($stderr);
			BAIL_OUT('the server crashed or hung');
		}
		$found{ $ret == 0 ? 'answers' : 'errors' }++;
	}

	# the table is as it was but for what VACUUM and the insert did
	$node->stop('immediate');
	foreach my $block (keys %saved)
	{
		write_block($path, $block, $saved{$block});
	}
	$node->start;
	$node->safe_psql('postgres', 'REINDEX INDEX damaged_k; CHECKPOINT');
	$path = relation_path($node, 'damaged_k');
	$node->safe_psql('postgres',
		'INSERT INTO damaged SELECT hashint8extended(i, 3), md5(i::text), i'
		  . ' FROM generate_series(1, 4000) i');
	$node->safe_psql('postgres', 'CHECKPOINT');
	collect_kinds();
}
pass('no crash: ' . join(', ', map { "$found{$_} $_" } sort keys %found));
$node->safe_psql('postgres', 'REINDEX INDEX damaged_k');
index_ok($node, 'damaged_k', 'REINDEX heals it');

# Pointers back to a page that is locked: an error, not a wait for oneself.
$node->safe_psql(
	'postgres', q(
	CREATE TABLE loops (k int8);
	CREATE INDEX loops_k ON loops USING betree (k) WITH (log_pages = 4);
	INSERT INTO loops SELECT hashint8extended(i, 1)
		FROM generate_series(1, 3000) i;
	CHECKPOINT));
is( $node->safe_psql(
		'postgres',
		"SELECT kind, level, items > 3 FROM betree_node_info('loops_k', 1)"),
	'node|1|t',
	'a root above leaves');
$path = relation_path($node, 'loops_k');
my $root = read_block($path, 1);
my $special = unpack('S', substr($root, 16, 2));

# where a page has the item's pointer to a child
sub child_at
{
	my ($item) = @_;
	return unpack('L', substr($root, 24 + 4 * ($item - 1), 4)) & 0x7fff;
}

my $second = substr($root, child_at(3), 4);
my %loop = (
	'child is the node' =>
	  sub { substr($_[0], child_at(2), 4, pack('SS', 0, 1)) },
	'child is the one before' =>
	  sub { substr($_[0], child_at(4), 4, $second) },
	'log page is the node' => sub {
		foreach my $i (0 .. 4)
		{
			substr($_[0], $special + 8 * $i, 4, pack('L', 1));
		}
	},
	'log page is a child' => sub {
		foreach my $i (0 .. 4)
		{
			substr($_[0], $special + 8 * $i,
				4, pack('L', unpack('x2S', $second)));
		}
	});
foreach my $case (sort keys %loop)
{
	$node->stop;
	my $bad = $root;
	$loop{$case}->($bad);
	write_block($path, 1, $bad);
	$node->start;
	my $errors = 0;
	foreach my $sql (
		'SET enable_seqscan = off; SELECT count(k) FROM loops WHERE k > 0',
		'INSERT INTO loops SELECT hashint8extended(i, 2)'
		. ' FROM generate_series(1, 6000) i',
		"SELECT betree_flush('loops_k')",
		'VACUUM loops',
		"SELECT betree_index_check('loops_k', false)")
	{
		my ($stdout, $stderr) = ('', '');
		my $ret = $node->psql(
			'postgres',
			"\\set VERBOSITY sqlstate\n$sql",
			stdout => \$stdout,
			stderr => \$stderr,
			timeout => 60);
		BAIL_OUT("hang or crash where the $case: $sql")
		  if !defined $ret || $ret == 2 || $stderr =~ /terminated|crash/;
		$errors++ if $stderr =~ /XX002/;
		unlike($stderr, qr/ERROR:(?!\s+XX002)/, "$case: $sql");
	}
	cmp_ok($errors, '>=', 1, "$case: index corrupted");
	$node->stop('immediate');
	write_block($path, 1, $root);
	$node->start;
	$node->safe_psql('postgres', 'REINDEX INDEX loops_k; TRUNCATE loops');
	$node->safe_psql(
		'postgres', q(
		INSERT INTO loops SELECT hashint8extended(i, 1)
			FROM generate_series(1, 3000) i;
		CHECKPOINT));
	$path = relation_path($node, 'loops_k');
	$root = read_block($path, 1);
	$second = substr($root, child_at(3), 4);
}

$node->stop;
done_testing();
