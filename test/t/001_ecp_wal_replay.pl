# What an ecp index is after a stop at any moment: sound, and with every row
# that was committed.
#
# First at each stop point between two WAL records (base/stop_point.c), by an
# error and by a crash; then by immediate stops of a server under mixed load.
# All with wal_consistency_checking, so that replay is compared page by page
# with what the running server had.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('main',
	conf => "wal_consistency_checking = 'generic'\nfsync = off\n");
my ($has_points, undef, undef) =
  $node->psql('postgres', 'LOAD \'ecp\'; SHOW ecp.debug_stop_at');

load_vecs($node, 'source', 'base.bvecs', limit => 4000);
$node->safe_psql(
	'postgres', q(
	CREATE FUNCTION reals(bytea) RETURNS real[] IMMUTABLE LANGUAGE SQL AS $$
		SELECT array_agg(get_byte($1, j)::real ORDER BY j)
		FROM generate_series(0, 99) j $$;
	CREATE TABLE long_source AS
	SELECT g AS id, array_agg(sin(g * e)::real ORDER BY e) AS v
	FROM generate_series(1, 60) g, generate_series(1, 3000) e GROUP BY g));

# Which statement passes which stop points, and what it needs before.  Each
# begins with tables t (bytea) and l (real[], a vector takes several pages) whose
# indexes are empty or have rows.
my $fill = 'INSERT INTO t SELECT * FROM source WHERE id < %d;';
my %cases = (
	'learn' => [ '', sprintf($fill, 1) ],
	'learn-done' => [ '', sprintf($fill, 1) ],
	'addrun' => [ '', sprintf($fill, 300) ],
	'addrun-done' => [ '', sprintf($fill, 300) ],
	'insert-summary' => [ sprintf($fill, 300), sprintf($fill, 600) ],
	'node-summaries' => [ '', sprintf($fill, 600) ],
	'vec' => [ '', 'INSERT INTO l SELECT id, v || v FROM long_source;' ],
	(   map { $_ => [ '', sprintf($fill, 1500) ] }
		  qw(replace-begin replace-alloc replace-fill replace-lock
		  replace-publish replace-published replace-stamp)),
	(   map { $_ => [ sprintf($fill, 1000), sprintf($fill, 3000) ] }
		  qw(replace-parent-add replace-parent-end)),
	(   map {
			$_ => [
				sprintf($fill, 2000) . 'DELETE FROM t WHERE id % 3 > 0;',
				'VACUUM t;'
			]
		} qw(vacuum-kill vacuum-hint)),
	(   map {
			$_ => [
				sprintf($fill, 2000) . 'DELETE FROM t WHERE id % 10 > 0;',
				'VACUUM t;'
			]
		} qw(purge purge-run truncate truncated)),
	(   map { $_ => [ sprintf($fill, 3000), q(SELECT ecp_maintain('ti');) ] }
		  qw(group-close group-closed group-publish)),);

# The indexes that the cases are tried with: of the vector alone; with a key
# column; with the codes of a quantiser in addition; and of floats of which less is
# kept.  Each point is passed in two ways, so their number is odd.
my %shapes = (
	plain => '(v)',
	keys => '(v, id)',
	rabitq => '(v, id) WITH (quantizer = rabitq)',
	half => '(reals(v)) WITH (vectors = half)',
	codes => '(reals(v)) WITH (vectors = codes)');
my @shapes = sort keys %shapes;

sub make_tables
{
	my ($shape) = @_;
	my $long = {
		plain => '(v)',
		keys => '(v, id)',
		rabitq => '(v, id) WITH (vectors = half)',
		half => '(v)',
		codes => '(v, id)'
	}->{$shape};

	$node->safe_psql(
		'postgres', qq(
		DROP TABLE IF EXISTS t, l;
		CREATE TABLE t (id int, v bytea);
		CREATE INDEX ti ON t USING ecp $shapes{$shape};
		CREATE TABLE l (id int, v real[]);
		ALTER TABLE l ALTER v SET STORAGE external;
		CREATE INDEX li ON l USING ecp $long));
	return;
}

# With a key column, a condition finds what the table has; the scan reads all
# clusters to see that nothing else is there.
sub conditions_ok
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($name) = @_;

	my $where = 'WHERE id BETWEEN 500 AND 620';
	my $set =
	  'SET enable_seqscan = off; SET ecp.iterative_scan = relaxed_order;';
	is( $node->safe_psql(
			'postgres', qq($set
			SELECT count(*) FROM (SELECT id FROM t $where
				ORDER BY v <-> (SELECT v FROM source WHERE id = 7)) r)),
		$node->safe_psql('postgres', "SELECT count(*) FROM t $where"),
		"$name: a condition finds the rows of the table");

	# of each value, those that its summaries point to
	is( $node->safe_psql(
			'postgres', qq($set
			SELECT count(*) FROM generate_series(3, 3000, 53) x, LATERAL (SELECT id FROM t WHERE id = x
				ORDER BY v <-> (SELECT v FROM source WHERE id = 7)) r)),
		$node->safe_psql(
			'postgres',
			'SELECT count(*) FROM t WHERE id % 53 = 3 AND id <= 3000'),
		"$name: so does one of a value");
	return;
}

sub run_statements
{
	my ($sql, $setting) = @_;
	my $stderr;

	# one transaction each, as VACUUM wants it
	my $text = $setting ? "SET ecp.debug_stop_at = '$setting';\n" : '';
	$text .= join(";\n", split(/;/, $sql));
	$node->psql('postgres', $text, stderr => \$stderr, on_error_stop => 0);
	return $stderr;
}

# after the stop: sound; the same again runs to its end; sound
sub check_after
{
	my ($name, $sql, $shape) = @_;

	index_ok($node, 'ti', "$name: ti is sound");
	index_ok($node, 'li', "$name: li is sound");
	run_statements($sql);
	index_ok($node, 'ti', "$name: ti is sound after the same again");
	conditions_ok($name) if $shapes{$shape} =~ /\(v, id\)/;
	is( $node->safe_psql(
			'postgres', q(SELECT unfinished FROM ecp_metapage_info('ti'))),
		'f',
		"$name: what was unfinished is undone");
	return;
}

SKIP:
{
	skip 'compiled without stop points', 1 if $has_points != 0;

	my $turn = 0;
	foreach my $point (sort keys %cases)
	{
		my ($before, $sql) = @{ $cases{$point} };

		foreach my $how ("$point:2", "$point:1:panic")
		{
			my $setting = $how;
			my $shape = $shapes[ $turn++ % @shapes ];
			$shape = 'keys' if $point =~ /-summary|-summaries/;

			# some are passed only once
			$setting = "$point:1"
			  if $point =~
			  /^(learn|purge$|truncate|learn-done|node-summaries|group-(closed|publish))/
			  && $how !~ /panic/;
			make_tables($shape);
			run_statements($before) if $before;
			my $stderr = run_statements($sql, $setting);
			like(
				$stderr,
				qr/stop point "$point" reached|server closed the connection/,
				"$how: was stopped");
			if ($how =~ /panic/)
			{
				start_after_panic($node);
			}
			check_after($how,
				$sql =~ /VACUUM|maintain/ ? $sql : sprintf($fill, 1800),
				$shape);
		}
	}
}

# an undo that is stopped itself
SKIP:
{
	skip 'compiled without stop points', 1 if $has_points != 0;

	foreach my $point (qw(undo-page undo-extent))
	{
		my $shape = $point eq 'undo-page' ? 'rabitq' : 'keys';
		make_tables($shape);
		run_statements(sprintf($fill, 1000));
		run_statements(sprintf($fill, 3000), 'replace-publish:1');
		is( $node->safe_psql(
				'postgres', q(SELECT unfinished FROM ecp_metapage_info('ti'))
			),
			't',
			"$point: a split is unfinished");
		run_statements('VACUUM t', "$point:1:panic");
		start_after_panic($node);
		check_after($point, 'VACUUM t', $shape);
	}
}

# the same of a group of leaves; an insert undoes it, too
SKIP:
{
	skip 'compiled without stop points', 1 if $has_points != 0;

	my $turn = 0;
	foreach my $point (qw(undo-page undo-close undo-written undo-extent))
	{
		my $shape = $shapes[ $turn++ % @shapes ];
		make_tables($shape);
		run_statements(sprintf($fill, 3000));
		run_statements(q(SELECT ecp_maintain('ti')), 'group-publish:1');
		index_ok($node, 'ti',
			"$point: a group is unfinished, which is sound");
		run_statements('INSERT INTO t SELECT * FROM source WHERE id % 20 = 0',
			"$point:1:panic");
		start_after_panic($node);
		run_statements(
			'INSERT INTO t SELECT * FROM source WHERE id % 20 = 0');
		is( $node->safe_psql(
				'postgres', q(SELECT unfinished FROM ecp_metapage_info('ti'))
			),
			'f',
			"$point: the insert has undone it");
		check_after($point, q(SELECT ecp_maintain('ti')), $shape);
	}
}

# mixed load
make_tables('plain');
$node->safe_psql(
	'postgres',
	"CREATE INDEX tk ON t USING ecp $shapes{rabitq};
	CREATE INDEX tc ON t USING ecp $shapes{codes};
	ALTER TABLE t ADD done int");
crash_rounds(
	$node,
	rounds => 6,
	options => { clients => 4 },
	load => q(
\set id random(0, 3999)
\set kind random(1, 21)
\if :kind = 21
SELECT ecp_maintain('ti');
\elif :kind = 1
DELETE FROM t WHERE id BETWEEN :id AND :id + 40;
\elif :kind = 2
VACUUM t;
\else
INSERT INTO t (id, v) SELECT id, v FROM source WHERE id BETWEEN :id AND :id + 4;
\endif
),
	step => 300,
	indexes => [ 'ti', 'tk', 'tc' ]);
conditions_ok('mixed load');

# an unlogged index is empty after a crash, and usable
$node->safe_psql(
	'postgres', q(
	CREATE UNLOGGED TABLE u (id int, v bytea);
	CREATE INDEX ui ON u USING ecp (v);
	INSERT INTO u SELECT * FROM source WHERE id < 2000));
index_ok($node, 'ui', 'unlogged: sound before a crash');
crash($node);
is( $node->safe_psql(
		'postgres',
		q(SELECT rows, dims FROM ecp_index_drift('ui'), ecp_metapage_info('ui'))
	),
	'0|0',
	'unlogged: empty after a crash');
$node->safe_psql('postgres',
	'INSERT INTO u SELECT * FROM source WHERE id < 500');
index_ok($node, 'ui', 'unlogged: takes rows again');

$node->stop;
done_testing();
