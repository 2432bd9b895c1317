# Inserts, deletes, VACUUM, maintenance and searches at once lose nothing:
# each search finds all rows of its own snapshot, and in the end the index has
# the table's rows, each once.  Equal vectors, which no split can separate,
# do not stop inserts or let clusters grow without bound.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('main',
	conf => "fsync = off\nmax_wal_size = 1GB\ndeadlock_timeout = 100ms\n");

load_vecs($node, 'source', 'base.bvecs', limit => 6000);
load_vecs($node, 'queries', 'query.bvecs', limit => 50);
$node->safe_psql(
	'postgres', q(
	CREATE TABLE t (id int, v bytea);
	CREATE INDEX ti ON t USING ecp (v);));
compare_on_scan($node);
plan_uses(
	$node,
	'SELECT id FROM t ORDER BY v <-> (SELECT v FROM queries WHERE id = 1) LIMIT 10000000',
	'ti',
	set => 'SET enable_seqscan = off');

my $load = start_load(
	$node, q(
\set id random(0, 5999)
\set q random(0, 49)
\set kind random(1, 40)
\if :kind = 1
DELETE FROM t WHERE id BETWEEN :id AND :id + 300;
\elif :kind = 2
VACUUM t;
\elif :kind = 3
SELECT ecp_maintain('ti');
\elif :kind < 9
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT compare(:q);
COMMIT;
\else
INSERT INTO t SELECT id, v FROM source WHERE id BETWEEN :id AND :id + 9;
\endif
),
	clients => 6,
	transactions => 300);
ok(finish_load($load), 'the load ran to its end') or diag($load->{err});
none_wrong($node, 'every search found all rows of its snapshot');
index_ok($node, 'ti');
# of few dead rows VACUUM leaves the index alone
$node->safe_psql('postgres', 'VACUUM (INDEX_CLEANUP ON) t');
my $stats = $node->safe_psql(
	'postgres', q(
	SELECT clusters > 5, structure_version > 20, rows = (SELECT count(*) FROM t)
	FROM ecp_index_drift('ti')));
is($stats, 't|t|t', 'clusters were split, and all rows counted');

# splits off: clusters take runs, and VACUUM splits them
$node->safe_psql(
	'postgres', q(
	TRUNCATE t;
	SET ecp.insert_split = off;
	INSERT INTO t SELECT * FROM source));
is( $node->safe_psql(
		'postgres', q(SELECT clusters, rows FROM ecp_index_drift('ti'))),
	'1|6000',
	'no split with ecp.insert_split = off');
index_ok($node, 'ti', 'sound as one cluster');
$node->safe_psql('postgres', 'VACUUM t');
is( $node->safe_psql(
		'postgres', q(
	SELECT max_rows <= (SELECT leaf_max FROM ecp_metapage_info('ti')), rows
	FROM ecp_index_drift('ti'))),
	't|6000',
	'VACUUM splits what has grown too large');
index_ok($node, 'ti', 'sound after VACUUM');

# equal rows, and four inserters that all want the same cluster
$node->safe_psql(
	'postgres', q(
	CREATE TABLE same (id serial, v bytea);
	CREATE INDEX same_i ON same USING ecp (v)));
$load = start_load(
	$node, q(
INSERT INTO same (v) SELECT decode(repeat('2a', 128), 'hex') FROM generate_series(1, 100);
),
	clients => 4,
	transactions => 250);
ok(finish_load($load), '100,000 equal rows') or diag($load->{err});
my $bounded = q(
	SELECT rows, max_rows <= %d * (SELECT leaf_max FROM ecp_metapage_info('same_i'))
	FROM ecp_index_drift('same_i'));
is($node->safe_psql('postgres', sprintf($bounded, 16)),
	'100000|t', 'no cluster of equal rows is far too large');
$node->safe_psql('postgres', 'VACUUM same');
is($node->safe_psql('postgres', sprintf($bounded, 1)),
	'100000|t', 'and none is too large after VACUUM');
index_ok($node, 'same_i');

# many deletes and inserts: the file does not creep
$node->safe_psql(
	'postgres', q(
	CREATE TABLE c (id int, v bytea);
	INSERT INTO c SELECT * FROM source;
	CREATE INDEX ci ON c USING ecp (v)));
my $before = relation_blocks($node, 'ci');
for my $round (1 .. 10)
{
	$node->safe_psql('postgres',
		"DELETE FROM c WHERE (id * 7919 + $round * 31) % 101 < 50");
	$node->safe_psql('postgres', 'VACUUM c');
	$node->safe_psql(
		'postgres', "INSERT INTO c SELECT * FROM source s
		WHERE (id * 7919 + $round * 31) % 101 < 50");
}
my $after = relation_blocks($node, 'ci');
cmp_ok($after, '<=', 1.15 * $before,
	"ten times half of the rows deleted and inserted: $before, then $after blocks"
);
index_ok($node, 'ci');

$node->stop;
done_testing();
