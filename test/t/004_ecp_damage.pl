# Bytes flipped at random in pages of every kind: each statement ends with an
# answer or with an error, and the server stays up.  Page checksums are off,
# so that the damage reaches us.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node =
  ecp_cluster('main', conf => "fsync = off\nstatement_timeout = 60s\n");

load_vecs($node, 'source', 'base.bvecs', limit => 2500);
load_vecs($node, 'queries', 'query.bvecs', limit => 3);
$node->safe_psql(
	'postgres', q(
	CREATE TABLE t (id int, v bytea);
	INSERT INTO t SELECT * FROM source WHERE id < 1500;
	CREATE INDEX ti ON t USING ecp (v) WITH (levels = 2, cluster_size = 16);
	INSERT INTO t SELECT * FROM source WHERE id >= 1500;
	DELETE FROM t WHERE id % 5 = 0;
	CREATE TABLE l (id int, v real[]);
	CREATE INDEX li ON l USING ecp (v);
	CREATE TABLE h (id int, v real[]);
	CREATE INDEX hi ON h USING ecp (v) WITH (vectors = half);
	INSERT INTO h
	SELECT g, array_agg(sin(g * e)::real ORDER BY e)
	FROM generate_series(1, 200) g, generate_series(1, 100) e GROUP BY g;
	INSERT INTO l
	SELECT g, array_agg(sin(g * e)::real ORDER BY e)
	FROM generate_series(1, 100) g, generate_series(1, 1400) e GROUP BY g;
	CREATE TABLE k AS
	SELECT id, v, NULLIF(id % 7, 0)::smallint AS tenant
	FROM t WHERE id < 1200;
	CREATE INDEX ki ON k USING ecp (v, id, tenant)
		WITH (quantizer = rabitq, levels = 2, cluster_size = 16)));
my @indexes = qw(ti li ki hi);
index_ok($node, $_, "$_ is sound before") for @indexes;

# the blocks of each kind, by the kind in their special space
my %path = map { $_ => relation_path($node, $_) } @indexes;
my %blocks = map { $_ => relation_blocks($node, $_) } @indexes;
$node->stop;
my @names = ('', 'meta', 'map', 'entry', 'vector');
my %kinds;
my %whole;
foreach my $index (@indexes)
{
	foreach my $block (0 .. $blocks{$index} - 1)
	{
		my $page = read_block($path{$index}, $block);
		my ($run, $pageno, $kind) = unpack('Q L S', substr($page, 8176, 16));

		$whole{$index}{$block} = $page;
		next unless $kind && $kind <= 4;
		my $name = $names[$kind];
		$name .= $pageno == 0 ? ' head' : ' further' if $kind == 3;
		push @{ $kinds{"$index $name"} }, $block;
	}
}
ok(exists $kinds{$_}, "there are pages of kind $_")
  for (
	'ti meta',
	'ti map',
	'ti entry head',
	'ti entry further',
	'li vector',
	'ki entry head',
	'ki vector',
	'hi vector');

# A metapage that belongs to another definition, or to codes that would not
# fit a page: an error for every reader.
my %fields = (metric => 13, leader_elem => 15, dims => 17, nkeyatts => 18);
foreach my $field (sort keys %fields)
{
	my $page = $whole{ki}{0};
	my $at = 24 + $fields{$field};
	my $errors = 0;

	# 1 becomes 2, 128 elements become 4,224, three columns two
	substr($page, $at, 1) ^= $field eq 'dims' ? "\x10" : "\x01";
	substr($page, $at, 1) ^= "\x02" if $field =~ /metric|elem/;
	write_block($path{ki}, 0, $page);
	$node->start;
	foreach my $sql (
		'SET enable_seqscan = off; SELECT id FROM k ORDER BY v <-> (SELECT v FROM queries LIMIT 1) LIMIT 3',
		'INSERT INTO k SELECT * FROM k LIMIT 1',
		q(SELECT ecp_maintain('ki')),
		q(SELECT ecp_index_check('ki')))
	{
		my (undef, undef, $stderr) =
		  $node->psql('postgres', "\\set VERBOSITY sqlstate\n$sql");
		$errors++ if $stderr =~ /ERROR:  XX002/;
	}
	is($errors, 4, "a metapage with another $field is refused");
	$node->stop;
	write_block($path{ki}, 0, $whole{ki}{0});
}

# A page of "hi" is another one: the checker reports it, searches do not fail.
sub reported
{
	my ($block, $page, $detail, $what, $count) = @_;

	write_block($path{hi}, $block, $page);
	$node->start;
	my (undef, undef, $stderr) =
	  $node->psql('postgres', q(SELECT ecp_index_check('hi')));
	like($stderr, qr/DETAIL:  .*$detail/, "$what reported");
	cmp_ok(
		$node->safe_psql(
			'postgres',
			'SET enable_seqscan = off; SELECT count(*) FROM (SELECT id FROM h'
			  . ' ORDER BY v <-> (SELECT v FROM h LIMIT 1) LIMIT 200) r'),
		'>=', $count,
		'a search goes on');
	$node->stop;
	write_block($path{hi}, $block, $whole{hi}{$block});
}

# levels, on the first page of a run behind its entry pages, of another vector
{
	my $block = $kinds{'hi vector'}[0];
	my $page = $whole{hi}{$block};

	substr($page, 24 + 12 + 20, 1) ^= "\x11";
	reported(
		$block, $page,
		qr/Levels of slot 0 do not belong to its vector/,
		'levels of another vector are', 200);
}

# a half that is infinite or NaN
foreach my $half ("\x00\x7c", "\x01\xfe")
{
	my $block = $kinds{'hi vector'}[1];
	my $page = $whole{hi}{$block};

	substr($page, 24 + 2 * $_, 2) = $half for (0, 50, 99);
	reported(
		$block, $page,
		qr/Slot \d+ has an element that is not finite/,
		'a half that is not finite is', 101);
}

my $random = prng(20261120);
my @statements = (
	q(SET enable_seqscan = off; SET ecp.iterative_scan = relaxed_order;
	  SELECT count(*) FROM (SELECT id FROM %s ORDER BY v <-> (SELECT v FROM %s LIMIT 1) LIMIT 100000) r),
	q(SELECT count(*) FROM (SELECT id FROM %s WHERE id BETWEEN 3 AND 900
	  ORDER BY v <-> (SELECT v FROM %s LIMIT 1) LIMIT 100000) r),
	q(INSERT INTO %1$s SELECT * FROM %1$s LIMIT 20),
	q(SELECT count(*) FROM ecp_clusters('%1$si')),
	q(SELECT * FROM ecp_index_stats('%1$si')),
	q(SELECT * FROM ecp_index_drift('%1$si')),
	q(DELETE FROM %1$s WHERE id %% 7 = 1),
	q(VACUUM %1$s),
	q(SELECT * FROM ecp_maintain('%1$si')),
	q(SELECT ecp_index_check('%1$si', true)));

my %errors;
my $rounds = 0;
foreach my $kind (sort keys %kinds)
{
	my ($index) = split / /, $kind;
	my $table = substr($index, 0, 1);
	my @candidates = @{ $kinds{$kind} };

	foreach my $round (1 .. 8)
	{
		# headers and the first fields in half of the rounds
		my $to = $round % 2 ? 8192 : 220;

		for (1 .. $kind =~ /meta|map/ ? 1 : 4)
		{
			damage_block(
				$path{$index}, $candidates[ $random->(scalar @candidates) ],
				random => $random,
				from => $round % 4 ? 24 : 0,
				to => $to,
				bytes => 6);
		}
		$node->start;
		my $script = "\\set VERBOSITY verbose\n";
		foreach my $statement (@statements)
		{
			my $sql = $statement;
			$sql =~ s/%1\$s/$table/g;
			$sql =~ s/%s/$table/g;
			$sql =~ s/%%/%/g;
			$script .= "$sql;\n";
		}
		my ($stdout, $stderr);
		$node->psql(
			'postgres', $script,
			stdout => \$stdout,
			stderr => \$stderr,
			on_error_stop => 0);
		$rounds++;
		if ($stderr =~ /server closed|terminated|PANIC|FATAL|XX000|57014/)
		{
			fail(
				"$kind, round $round: no crash, no internal error, no endless loop"
			);
			diag($stderr);
		}
		$errors{$kind}++ if $stderr =~ /XX00[12]/;
		is($node->safe_psql('postgres', 'SELECT 1'),
			'1', "$kind, round $round: the server is up");

		# WAL written meanwhile must not be replayed onto the old file
		$node->safe_psql('postgres', 'CHECKPOINT');
		$node->stop;
		my $path = $path{$index};
		open my $fh, '>:raw', $path or die "could not open \"$path\": $!\n";
		print $fh $whole{$index}{$_} foreach 0 .. $blocks{$index} - 1;
		close $fh or die "could not write \"$path\": $!\n";
	}
}
note("$_: damage reported in " . ($errors{$_} || 0) . ' of 8 rounds')
  foreach sort keys %kinds;
cmp_ok($errors{'ti meta'} || 0, '>', 0, 'damage of the metapage is seen');

$node->start;
$node->safe_psql('postgres',
	'REINDEX TABLE t; REINDEX TABLE l; REINDEX TABLE k; REINDEX TABLE h');
index_ok($node, $_, "$_ is sound after REINDEX") for @indexes;

# a table that has lost its end: its rows are still in the index
$node->safe_psql(
	'postgres', q(
	CREATE TABLE short AS SELECT * FROM source;
	CREATE INDEX short_i ON short USING ecp (v);
	CHECKPOINT));
my $short = relation_path($node, 'short');
$node->stop;
truncate($short, 8192) or die "could not truncate \"$short\": $!\n";
$node->start;
foreach (
	'SELECT id FROM short ORDER BY v <-> (SELECT v FROM queries LIMIT 1) LIMIT 100',
	q(SELECT tid FROM ecp_knn_batch('short_i', 'SELECT v FROM queries', 100)))
{
	my ($status, $out, $err) =
	  $node->psql('postgres', "SET enable_seqscan = off; $_");

	like($err, qr/row pointer beyond the end of its table/, "refused by: $_");
}
$node->stop;
done_testing();
