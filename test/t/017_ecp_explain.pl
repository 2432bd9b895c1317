# From PostgreSQL 18 on EXPLAIN ANALYZE says of each scan of an ecp index what
# it read and why it ended: the same as ecp_last_scan() of one search, and of a
# node that searches many times the sum.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('explain', conf => "fsync = off\n");
if ($node->safe_psql('postgres', 'SHOW server_version_num') < 180000)
{
	$node->stop;
	plan skip_all => 'extensions add nothing to EXPLAIN before PostgreSQL 18';
}

load_vecs($node, 'items', 'base.bvecs', limit => 3000);
load_vecs($node, 'queries', 'query.bvecs', limit => 5);
$node->safe_psql(
	'postgres', q(
	CREATE INDEX items_v ON items USING ecp (v);
	VACUUM ANALYZE items;
	-- the properties of the index scan in a plan, as text
	CREATE FUNCTION scan_says(query text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		plan jsonb;
		node jsonb;
	BEGIN
		EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
		node := jsonb_path_query_first(plan,
			'$.** ? (@."Index Name" == "items_v")');
		RETURN concat_ws('|', node->>'Rows Wanted',
			round((node->>'Estimated Recall')::numeric, 2), node->>'Clusters Probed',
			node->>'Vectors Scanned', node->>'Vectors Reranked',
			node->>'Vectors Filtered', node->>'Rows Dropped',
			node->>'Search Ended By');
	END $$;));

my $set =
  "SET enable_seqscan = off;\nSET max_parallel_workers_per_gather = 0;\n";
my $last =
  "SELECT concat_ws('|', wanted, coalesce(round(estimated_recall::numeric, 2), 0.00),
	clusters, vectors, reranked, filtered,
	dropped, stop) FROM ecp_last_scan()";

sub says
{
	my ($query, $settings) = @_;
	my $out = $node->safe_psql('postgres',
			$set
		  . ($settings // '')
		  . "SELECT scan_says(\$q\$$query\$q\$);\n$last");

	return split(/\n/, $out);
}

my $nearest = "SELECT id FROM items
	ORDER BY v <-> (SELECT v FROM queries WHERE id = 3) LIMIT 10";
my ($explained, $counted) = says($nearest);
is($explained, $counted, 'of one search what ecp_last_scan() says');
like(
	$explained,
	qr/^10\|0\.[5-9]\d\|[1-9]\d*\|[1-9]\d*\|\d+\|0\|0\|limit$/,
	'which is something');

($explained, $counted) = says(
	$nearest =~ s/ORDER/WHERE id % 500 = 0 ORDER/r,
	'SET ecp.iterative_scan = off; SET ecp.probes = 2;');
is($explained, $counted, 'and of one that found too little');
like($explained, qr/\|iterative_scan = off$/, 'which says why it ended');

# each of the queries, and then all of them by one node
my $each = 0;
foreach my $id (0 .. 4)
{
	my ($one) = says($nearest =~ s/id = 3/id = $id/r);
	$each += (split(/\|/, $one))[3];
}
my ($all) = says(
	'SELECT n.id FROM queries q, LATERAL (SELECT id FROM items i
	 ORDER BY i.v <-> q.v LIMIT 10) n');
is((split(/\|/, $all))[3], $each, 'of many searches the sum');

# as text
my $text = $node->safe_psql('postgres',
	"$set EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF) $nearest");
like(
	$text,
	qr/Index Scan using items_v.*\n.*\bClusters Probed: [1-9]/s,
	'text has the clusters');
like($text, qr/^ *Search Ended By: limit$/m, 'and the reason');
unlike(
	$node->safe_psql('postgres', "$set EXPLAIN $nearest"),
	qr/Clusters Probed/,
	'nothing without ANALYZE');
$node->stop;

done_testing();
