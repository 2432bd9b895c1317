# What ecp_forecast() says from a sample of the shipped sets, beside the index that is
# then built: its size within 10 %, and the rows that searches compare within a factor
# of 1.5.  A standby refuses it.  Nothing is said of times.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Utils;
use Test::More;

my ($node, $standby) = ecp_primary_and_standby('primary',
	conf => "fsync = off\nautovacuum = off\n"
	  . "max_parallel_maintenance_workers = 0\n");

# Vectors so long that the sample does not have all: of a descriptor, several times the
# same; of a sentence, whose bytes are around 128, doubles.
load_vecs($node, 'source', 'base.bvecs');
load_vecs($node, 'float_source', 'base.bvecs', type => 'real[]');
load_vecs($node, 'sentence_source', 'sentences.bvecs', type => 'real[]');
$node->safe_psql(
	'postgres', q(
	CREATE TABLE sift AS SELECT id, v || v || v || v || v || v || v || v AS v FROM source;
	CREATE TABLE floats AS SELECT id, v || v || v || v || v AS v FROM float_source;
	CREATE TABLE sentences AS
		SELECT id, ARRAY(SELECT x::float8 - 128 FROM unnest(v) x) AS v FROM sentence_source)
);
$node->safe_psql('postgres', "VACUUM ANALYZE $_")
  for qw(sift floats sentences);

sub within
{
	my ($forecast, $real, $factor, $name) = @_;

	ok($forecast <= $real * $factor && $real <= $forecast * $factor,
		"$name: $forecast, and then $real");
	return;
}

sub forecasts
{
	my ($table, $class, @kinds) = @_;
	my @lines = split /\n/, $node->safe_psql(
		'postgres',
		"SELECT vectors, rows, bytes, compared_90, compared_95, compared_99
		 FROM ecp_forecast('$table', 'v', '$class')");
	my $rows = $node->safe_psql('postgres', "SELECT count(*) FROM $table");

	is_deeply([ map { /^(\w+)/ } @lines ], \@kinds, "$table: the kinds");
	foreach my $line (@lines)
	{
		my ($kind, $said, $bytes, @compared) = split /\|/, $line;

		within($said, $rows, 1.01, "$table: rows");
		$node->safe_psql('postgres',
			"CREATE INDEX i ON $table USING ecp (v $class) WITH (vectors = $kind)"
		);
		within($bytes,
			$node->safe_psql('postgres', "SELECT pg_relation_size('i')"),
			1.1, "$table, $kind: bytes");
		foreach my $target (0.9, 0.95, 0.99)
		{
			within(
				shift @compared,
				$node->safe_psql(
					'postgres',
					"SET ecp.target_recall = $target;
					 SELECT vectors FROM ecp_recall('i', 10, '{0}', 200)"),
				1.5,
				"$table, $kind: rows compared at $target");
		}
		$node->safe_psql('postgres', 'DROP INDEX i');
	}
	return;
}

forecasts('sift', 'bytea_l2_ops', 'full');
forecasts('floats', 'real_l2_ops', 'full', 'half', 'codes');
forecasts('sentences', 'double_cosine_ops', 'full', 'half', 'codes');

replayed($node, $standby);
my (undef, undef, $error) =
  $standby->psql('postgres', "SELECT * FROM ecp_forecast('sift', 'v')");
like(
	$error,
	qr/read-only transaction.*on the primary server/s,
	'a standby refuses it');
$node->stop('fast');
$standby->stop('fast');
done_testing();
