# The helpers of EcpTest.pm do what their documentation says: a recall figure,
# a crash loop or a damaged page that proves nothing would make every other
# test worthless.  Only core PostgreSQL and the empty extension are used.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The shipped vectors, and the exact answers that came with them
my $base = read_vecs('base.bvecs');
my $truth = read_vecs('truth.ivecs', limit => 3);
is(scalar @$base, 25391, 'all base vectors are read');
is_deeply(
	read_vecs('base.bvecs', offset => 7, limit => 2),
	[ @$base[ 7, 8 ] ],
	'offset and limit');
is(scalar(() = unpack('l<*', $truth->[0])), 100, 'truth has 100 rows each');
is(vec_literal("\x01\xff", 'bytea'), '\\x01ff', 'bytea literal');
is(vec_literal(pack('f<*', 1, -2.5), 'real[]', 'f<*'),
	'{1,-2.5}', 'real[] literal');

my $random = prng(42);
my @drawn = map { $random->(1000) } 1 .. 5;
$random = prng(42);
is_deeply([ map { $random->(1000) } 1 .. 5 ], \@drawn, 'prng repeats');

# What "test/run" says was skipped
my $logs = PostgreSQL::Test::Utils::tempdir();
my %logs = (
	prove => <<'END',
[09:33:22] test/t/017_ecp_explain.pl ...... skipped: not before PostgreSQL 18
[09:33:25] test/t/043_device_repro.pl .. ok     2322 ms ( 0.00 usr  0.00 sys)
/tmp/ecp-test.x/unit_vector_kernels .. 
ok 1 - plain
ok 2 - avx512 # SKIP not on this machine
ok
END
	lint => "ok - sizes\nskipped - clang: no clang\n",
	regress_log_043_device_repro => <<'END');
ok 1 - orders hold
ok 2 # skip running as root
[10:00:00.123](0.001s) ok 3 # skip running as root
not ok 4 # skip
END
append_to_file("$logs/$_", $logs{$_}) foreach keys %logs;
my $skipped = ($ENV{ECP_TOP} || '.') . '/test/skipped';
is_deeply(
	[
		map { `$skipped $_` } "$logs/lint",
		"$logs/prove $logs/regress_log_043_device_repro"
	],
	[
		"1\tclang: no clang\n",
		"1\t017_ecp_explain: not before PostgreSQL 18\n",
		"1\tunit_vector_kernels: avx512: not on this machine\n",
		"2\t043_device_repro: running as root\n"
	],
	'what was skipped, and why');

# Loading
my $node = ecp_cluster('helpers');
is(load_vecs($node, 'items', 'base.bvecs', limit => 100, copies => 2),
	200, 'load_vecs counts its rows');
is( $node->safe_psql('postgres', 'SELECT v FROM items WHERE id = 99'),
	vec_literal($base->[99], 'bytea'),
	'a loaded row is the vector of the file');
load_vecs(
	$node, 'reals', 'base.bvecs',
	type => 'real[]',
	limit => 10,
	where => sub { $_[0] % 2 == 0 });
is( $node->safe_psql(
		'postgres', q(SELECT string_agg(id::text, ',' ORDER BY id),
		min(v[1]) FILTER (WHERE id = 8) FROM reals)),
	'0,2,4,6,8|' . unpack('C', $base->[8]),
	'load_vecs with real[] and a condition');

# Crash rounds: what was committed is there
$node->safe_psql('postgres', 'CREATE TABLE t (k serial PRIMARY KEY)');
crash_rounds(
	$node,
	rounds => 2,
	load => 'INSERT INTO t DEFAULT VALUES;',
	progress => 'SELECT count(*) FROM t',
	check => sub {
		my ($after, $round) = @_;
		cmp_ok(
			$after->safe_psql('postgres', 'SELECT count(*) FROM t'),
			'>=',
			200 * $round,
			"round $round: rows are there");
	});
cmp_ok(wal_bytes($node, 'INSERT INTO t DEFAULT VALUES'),
	'>', 0, 'WAL is counted');
is_deeply([ temp_files($node) ], [], 'no temporary files');

# Damage reaches the page that was meant
my $blocks = relation_blocks($node, 'items');
my $path = relation_path($node, 'items');
$node->stop;
my $before = read_block($path, 1);
my @offsets = damage_block($path, 1, random => prng(1), bytes => 3);
isnt(read_block($path, 1), $before, 'bytes were changed');
is(scalar(grep { $_ < 24 || $_ >= 8192 } @offsets), 0, 'within bounds');
write_block($path, 1, $before);
damage_block($path, 1, at => 12, with => "\xff\xff");
is(-s $path, $blocks * 8192, 'the file kept its size');
$node->start;
my ($ret, undef, $stderr) =
  $node->psql('postgres', 'SELECT count(v) FROM items');
like($stderr, qr/invalid page in block 1/, 'the server sees the damage');
$node->stop;

# A pair
my ($primary, $standby) = ecp_primary_and_standby('pair');
$primary->safe_psql('postgres',
	'CREATE TABLE r AS SELECT g FROM generate_series(1, 10) g');
is(answers_alike($primary, $standby, 'SELECT sum(g) FROM r'),
	55, 'the common answer is returned');
$standby->stop;
$primary->stop;

done_testing();
