# The planner's choice beside the plans that can be forced: the ecp index, a
# sequential scan and a sort, the btree index of a filter and a sort.  It may do
# at most 1.5 times the work of the best.  Work is counted, not timed: a block
# is 1, a row that a scan reads 0.1, a distance that the executor computes 1, a
# vector or code that the index compares 0.01, a query 15.  (Over 640 plans of
# test/bench/ecp_oracle the logarithms of this sum and of the processor time
# correlate by 0.92.)
use strict;
use warnings;

use Cwd            qw(abs_path);
use File::Basename qw(dirname);
use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $oracle = abs_path(dirname(__FILE__) . '/../oracle.sql');
my $node = ecp_cluster('main',
	conf => "max_parallel_workers_per_gather = 0\nfsync = off\n");

$node->safe_psql('postgres', "\\i $oracle");

my $queries = 9;
foreach my $case (
	[ 16, 1000, 'v' ],
	[ 16, 10000, 'v' ],
	[ 64, 10000, 'v' ],
	[ 384, 10000, 'v' ],
	[ 768, 2000, 'v' ],
	[ 16, 10000, 'v, a' ],
	[ 768, 2000, 'v, a' ])
{
	my ($width, $rows, $columns) = @$case;
	my $table = 'oracle';

	$node->safe_psql(
		'postgres', qq{
		SELECT oracle_table('$table', 'real[]', $width, $rows);
		CREATE INDEX ON $table USING ecp ($columns);
		VACUUM ANALYZE $table;});
	foreach my $share (10000, 1000, 100, 1)
	{
		foreach my $limit (1, 10, 100, 1000)
		{
			my $got = $node->safe_psql(
				'postgres', qq{
				WITH o AS MATERIALIZED (
					SELECT forced, (r).plan AS plan,
						15 * $queries + (r).blocks + 0.1 * (r).nrows + (r).sorted +
						0.01 * (r).vectors AS work
					FROM oracle('SELECT id FROM $table WHERE a < $share ORDER BY v <-> \$1 LIMIT $limit',
						oracle_vectors('$table', $queries), false))
				SELECT c.work <= 1.5 * min(f.work),
					string_agg(f.forced || ' ' || f.work, ', ' ORDER BY f.forced), c.work
				FROM o c, o f WHERE c.forced = 'chosen' AND f.forced <> 'chosen' GROUP BY c.work}
			);

			like($got, qr/^t/,
				"$rows vectors of $width elements, index ($columns), $share of 10,000, LIMIT $limit"
			) or diag("works: $got");
		}
	}
	$node->safe_psql('postgres', "DROP TABLE $table");
}

done_testing();
