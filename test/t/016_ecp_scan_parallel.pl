# One search by several processes, while rows are inserted, deleted and
# vacuumed and clusters are split and regrouped: each process reads other
# clusters of one version, and together they find all rows of the snapshot.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster(
	'main',
	conf => q(
fsync = off
max_wal_size = 1GB
deadlock_timeout = 100ms
max_worker_processes = 8
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
min_parallel_index_scan_size = 0
effective_cache_size = 1
enable_seqscan = off
enable_sort = off
ecp.approximate_radius = on
));

load_vecs($node, 'source', 'base.bvecs', limit => 6000);
$node->safe_psql(
	'postgres', q(
	CREATE TABLE t (id int, v bytea) WITH (parallel_workers = 2);
	INSERT INTO t SELECT id, v FROM source WHERE id < 1000;
	CREATE INDEX ti ON t USING ecp (v) WITH (cluster_size = 4);
	VACUUM ANALYZE t));

my $hex = unpack('H*', read_vecs('query.bvecs', limit => 1)->[0]);
my $all =
  "SELECT count(*) FROM (SELECT id FROM t ORDER BY v <-> '\\x$hex' LIMIT 10000000) r";
my $near = "SELECT count(*) FROM t WHERE v <-> '\\x$hex' < 10000";
foreach ([ ordered => $all ], [ radius => $near ])
{
	my ($what, $query) = @$_;

	like(
		$node->safe_psql('postgres', "EXPLAIN $query"),
		qr/Parallel Index Scan using ti/,
		"$what: planned for several processes");
}

# the settings are those of the plans
my $load = start_load(
	$node, qq(
\\set id random(0, 5999)
\\set probes random(1, 20)
\\set kind random(1, 20)
\\if :kind = 1
DELETE FROM t WHERE id BETWEEN :id AND :id + 300;
\\elif :kind = 2
VACUUM t;
\\elif :kind = 3
SELECT ecp_maintain('ti');
\\elif :kind < 7
BEGIN;
SET LOCAL ecp.probes = :probes;
SET LOCAL ecp.iterative_scan = relaxed_order;
SELECT 1 / (($all) = (SELECT count(*) FROM t))::int;
COMMIT;
\\elif :kind < 9
SELECT 1 / (($near) = (SELECT count(*) FROM t))::int;
\\else
INSERT INTO t SELECT id, v FROM source WHERE id BETWEEN :id AND :id + 9;
\\endif
),
	clients => 4,
	transactions => 120);
ok(finish_load($load), 'every search found all rows of its snapshot')
  or diag($load->{err});
index_ok($node, 'ti');
is( $node->safe_psql(
		'postgres',
		q(SELECT structure_version > 20 FROM ecp_index_stats('ti'))),
	't',
	'clusters were split meanwhile');

done_testing();
