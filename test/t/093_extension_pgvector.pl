# The bridging extension as a whole: created with the others in schemas of
# their own, moved, dumped and restored, dropped alone.  Indexes on pgvector's
# types give the same answers after each step.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('pgvector', extension => 0);
if (!has_pgvector($node))
{
	$node->stop;
	plan skip_all => 'the server does not have pgvector 0.7';
}

$node->safe_psql(
	'postgres', q(
	CREATE SCHEMA theirs;
	CREATE SCHEMA ours;
	CREATE EXTENSION vector SCHEMA theirs;
	CREATE EXTENSION ecp SCHEMA ours;
	CREATE EXTENSION ecp_pgvector SCHEMA ours;
	ALTER DATABASE postgres SET search_path = public, theirs, ours;));
$node->safe_psql(
	'postgres', q(
	CREATE TABLE items AS
		SELECT g AS id, v::vector(4) AS v, v::vector(4)::halfvec(4) AS h
		FROM generate_series(1, 1000) g, LATERAL (SELECT
			ARRAY[g * 7 % 101, g * 13 % 103, g * 17 % 107, g * 31 % 109]) a(v);
	CREATE INDEX items_v ON items USING ecp (v);
	CREATE INDEX items_h ON items USING ecp (h halfvec_cosine_ops)
		WITH (levels = 2, seed = 7);
	CREATE INDEX items_hnsw ON items USING hnsw (v vector_l2_ops);
	VACUUM ANALYZE items;));

my $set = 'SET enable_seqscan = off; SET enable_sort = off;
	SET ecp.probes = 1000; SET ecp.approximate_radius = on;';
my $near = "$set SELECT array_agg(id ORDER BY d, id) FROM
	(SELECT id, h <=> '[50,40,30,20]' AS d FROM items
	 ORDER BY h <=> '[50,40,30,20]' LIMIT 10) n";
my $ball = "$set SELECT array_agg(id ORDER BY id) FROM items
	WHERE v <-> '[50,40,30,20]' < 30";

plan_uses($node,
	"SELECT id FROM items ORDER BY h <=> '[50,40,30,20]' LIMIT 10",
	'items_h', set => $set);
plan_uses($node, "SELECT id FROM items WHERE v <-> '[50,40,30,20]' < 30",
	'items_v', set => $set);
my $near_before = $node->safe_psql('postgres', $near);
my $ball_before = $node->safe_psql('postgres', $ball);
my $exact = 'SET enable_indexscan = off;';
is($node->safe_psql('postgres', $exact . ($ball =~ s/\Q$set\E//r)),
	$ball_before, 'the rows within a radius are those of the table');
isnt($ball_before, '', 'and there are some');

sub unchanged
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($when, $database) = @_;

	is($node->safe_psql($database, $near),
		$near_before, "$when: same neighbours");
	is($node->safe_psql($database, $ball),
		$ball_before, "$when: same rows within a radius");
	return;
}

# Moved
$node->safe_psql(
	'postgres', q(
	CREATE SCHEMA elsewhere;
	ALTER EXTENSION ecp_pgvector SET SCHEMA elsewhere;
	ALTER EXTENSION ecp SET SCHEMA elsewhere;
	ALTER DATABASE postgres SET search_path = public, theirs, elsewhere;));
unchanged('moved', 'postgres');
index_ok($node, $_) foreach qw(items_v items_h);

# Dumped and restored
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ],
	'pg_dump');
unlike(
	slurp_file($dump),
	qr/CREATE OPERATOR|_ball/,
	'the dump leaves the objects to CREATE EXTENSION');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->safe_psql('postgres',
	'ALTER DATABASE restored SET search_path = public, theirs, elsewhere');
$node->command_ok(
	[
		'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-f', $dump,
		$node->connstr('restored')
	],
	'restore');
unchanged('restored', 'restored');

# Dropped with its indexes, and without pgvector's
$node->safe_psql('postgres', 'DROP EXTENSION ecp_pgvector CASCADE');
is( $node->safe_psql(
		'postgres',
		"SELECT indexrelid::regclass FROM pg_index WHERE indrelid = 'items'::regclass"
	),
	'items_hnsw',
	'dropped: pgvector keeps its own index');
$node->stop;

done_testing();
