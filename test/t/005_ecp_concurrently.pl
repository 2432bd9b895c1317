# CREATE INDEX CONCURRENTLY and REINDEX CONCURRENTLY of an ecp index while
# rows come, go and change: no row is missing, none is there twice.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('main', conf => "fsync = off\nmax_wal_size = 1GB\n");

load_vecs($node, 'source', 'base.bvecs', limit => 6000);
$node->safe_psql(
	'postgres', q(
	CREATE TABLE t (id int, v bytea, n int DEFAULT 0);
	INSERT INTO t SELECT * FROM source WHERE id < 3000));

# Each client changes rows of its own: new versions of a row may lie anywhere,
# so two that change the same rows might wait for each other.
my $script = q(
\set id 2000 * :client_id + random(0, 1940)
\set kind random(1, 10)
\if :kind = 1
DELETE FROM t WHERE id BETWEEN :id AND :id + 50;
\elif :kind < 4
UPDATE t SET n = n + 1 WHERE id BETWEEN :id AND :id + 5;
\elif :kind = 4
UPDATE t SET v = (SELECT v FROM source s WHERE s.id = t.id + 1) WHERE id = :id;
\else
INSERT INTO t SELECT id, v FROM source WHERE id BETWEEN :id AND :id + 5;
\endif
);
my $load = start_load($node, $script, clients => 3);
my $progress = sub {
	my $n = $node->safe_psql('postgres',
		q(SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres')
	);
	$node->poll_query_until(
		'postgres', "SELECT xact_commit > $n + 100
		FROM pg_stat_database WHERE datname = 'postgres'") or die 'no progress';
};

$progress->();
$node->safe_psql('postgres',
	'CREATE INDEX CONCURRENTLY ti ON t USING ecp (v)');
index_ok($node, 'ti', 'sound after CREATE INDEX CONCURRENTLY');
for my $round (1 .. 3)
{
	$progress->();
	$node->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY ti');
	index_ok($node, 'ti', "round $round: sound after REINDEX CONCURRENTLY");
	$node->safe_psql('postgres', 'VACUUM t');
}

# of an empty table that is filled meanwhile
$node->safe_psql('postgres', 'CREATE TABLE e (id int, v bytea)');
my $filling = start_load(
	$node, q(
\set id random(0, 5999)
INSERT INTO e SELECT id, v FROM source WHERE id BETWEEN :id AND :id + 2;
),
	clients => 2,
	transactions => 400);
$node->safe_psql('postgres',
	'CREATE INDEX CONCURRENTLY ei ON e USING ecp (v)');
ok(finish_load($filling), 'the table was filled') or diag($filling->{err});
index_ok($node, 'ei', 'sound after filling');

stop_load($node, $load);
is($load->{err} =~ /ERROR/, '', 'no statement of the load failed')
  or diag($load->{err});
index_ok($node, 'ti', 'sound in the end');
is( $node->safe_psql(
		'postgres',
		q(SELECT rows - (SELECT count(*) FROM t) >= 0 FROM ecp_index_drift('ti'))
	),
	't',
	'rows of the index');

$node->stop;
done_testing();
