# A table whose partitions are on two servers, by postgres_fdw.  A search on
# the parent sends the ORDER BY to each shard and merges what comes back; a
# search that is written by ecp_shard_query() asks each shard for k rows.
# Either returns the exact merge of what the shards answer by themselves.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $k = 10;
my $fetch = 4;
my @shards = map { ecp_cluster("shard$_") } 1 .. 2;
my $main = $shards[0];

if ($main->safe_psql('postgres',
		"SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'"
	) eq '0')
{
	plan skip_all => 'no postgres_fdw';
}

# One half of the vectors on each.  Where processes that sort together cost
# little, as with many rows, they are what a shard finds cheapest for all rows
# in order, which is what it is asked to estimate.
for my $i (0 .. 1)
{
	load_vecs($shards[$i], 'base', 'base.bvecs', limit => 4000);
	$shards[$i]->safe_psql(
		'postgres', qq{
		CREATE TABLE items AS SELECT * FROM base WHERE id % 2 = $i;
		CREATE INDEX items_v ON items USING ecp (v);
		ANALYZE items;
		ALTER DATABASE postgres SET parallel_setup_cost = 0;
		ALTER DATABASE postgres SET parallel_tuple_cost = 0;
		ALTER DATABASE postgres SET min_parallel_table_scan_size = 0;
	});
	index_ok($shards[$i], 'items_v', "shard $i: the index is sound");
}
load_vecs($main, 'queries', 'query.bvecs', limit => 8);
my $type = $main->safe_psql('postgres',
	"SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'items'::regclass AND attname = 'v'"
);

# the table of tables, in another database of the first server
$main->safe_psql('postgres', 'CREATE DATABASE whole');
$main->safe_psql('whole',
		"CREATE EXTENSION ecp_storage CASCADE; CREATE EXTENSION postgres_fdw;"
	  . "CREATE TABLE items (id integer, v $type) PARTITION BY HASH (id)");
for my $i (0 .. 1)
{
	my ($host, $port) = ($shards[$i]->host, $shards[$i]->port);
	$main->safe_psql(
		'whole', qq{
		CREATE SERVER shard$i FOREIGN DATA WRAPPER postgres_fdw
			OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'ecp', use_remote_estimate 'true', fetch_size '$fetch',
				options '-c ecp.iterative_scan=relaxed_order -c enable_sort=off');
		CREATE USER MAPPING FOR CURRENT_USER SERVER shard$i;
		CREATE FOREIGN TABLE items_$i PARTITION OF items FOR VALUES WITH (MODULUS 2, REMAINDER $i)
			SERVER shard$i OPTIONS (table_name 'items');
	});
}

my @queries = map { "'$_'::$type" }
  split /\n/,
  $main->safe_psql('postgres', 'SELECT v FROM queries ORDER BY id');

# what a shard would do of its own accord, so that it has to be told not to
my $all =
  "SET ecp.iterative_scan = relaxed_order; EXPLAIN (COSTS OFF) SELECT id, v FROM items ORDER BY v <-> $queries[0]";
like($shards[1]->safe_psql('postgres', $all),
	qr/Sort/, 'a shard that is asked for all rows in order would sort');
like(
	$shards[1]->safe_psql('postgres', "SET enable_sort = off; $all"),
	qr/Index Scan using items_v/,
	'but not without sorts');

# what is sent, by EXPLAIN
my $search =
  "SELECT id, v <-> $queries[0] AS d FROM items ORDER BY v <-> $queries[0] LIMIT $k";
my $plan = $main->safe_psql('whole', "EXPLAIN (VERBOSE, COSTS OFF) $search");
like($plan, qr/Merge Append/, 'parent: the shards are merged');
is(scalar(() = $plan =~ /Remote SQL: SELECT .* ORDER BY .*<->/g),
	2, 'parent: ORDER BY is sent to both shards');
unlike(
	$plan,
	qr/Remote SQL: .* LIMIT/,
	'parent: LIMIT is not (PostgreSQL does not push it below a merge)');

my $template =
  $main->safe_psql('whole', "SELECT ecp_shard_query('items', 'v', $k)");

sub united
{
	my ($query) = @_;
	(my $sql = $template) =~ s/\$1/$query/g;
	return $sql;
}
$plan = $main->safe_psql('whole',
	'EXPLAIN (VERBOSE, COSTS OFF) ' . united($queries[0]));
my $sent = () = $plan =~ /Remote SQL: SELECT .* ORDER BY .*<->/g;
is($sent, 2, 'shard query: ORDER BY is sent to both shards');
# To send the LIMIT, or to stop after k rows of a cursor, costs about the same
my $limit_sent = () = $plan =~ /Remote SQL: .* LIMIT $k/g;
my $limit_kept = () =
  $plan =~ /Limit\n\s+Output:[^\n]*\n\s+->\s+Foreign Scan/g;
is($limit_sent + $limit_kept,
	2, 'shard query: each shard is asked for k rows');
$plan = $shards[1]->safe_psql('postgres',
	"EXPLAIN (COSTS OFF) SELECT id FROM items ORDER BY v <-> $queries[0] LIMIT $k"
);
like($plan, qr/Index Scan using items_v/, 'a shard answers by its index');

# Run a search, and return the most rows that any shard was asked for: the
# sum of its FETCHes, which it logs.
sub rows_fetched
{
	my ($sql) = @_;
	my $most = 0;
	my @begin = map { -s $_->logfile } @shards;

	$main->safe_psql('whole', $sql);
	for my $i (0 .. $#shards)
	{
		my $rows = 0;
		my $log = slurp_file($shards[$i]->logfile, $begin[$i]);

		$rows += $1 while $log =~ /statement: FETCH (\d+) FROM c\d+/g;
		# the result of a statement that was sent whole, with its LIMIT
		$most = $rows if $rows > $most;
	}
	return $most;
}

for my $shard (@shards)
{
	$shard->append_conf('postgresql.conf', 'log_statement = all');
	$shard->reload;
	$shard->poll_query_until('postgres',
		"SELECT current_setting('log_statement') = 'all'")
	  or die 'the setting did not arrive';
}

# the answers, and how many rows came over
my ($same_parent, $same_united, $most_parent, $most_united) = (0, 0, 0, 0);
for my $query (@queries)
{
	my @merged;
	for my $shard (@shards)
	{
		push @merged, map { [ split /\|/ ] } split /\n/,
		  $shard->safe_psql(
			'postgres',
			"SELECT id, v <-> $query FROM items ORDER BY v <-> $query LIMIT $k"
		  );
	}
	@merged = (sort { $a->[1] <=> $b->[1] } @merged)[ 0 .. $k - 1 ];
	my $expected = join("\n", map { sprintf '%.4f', $_->[1] } @merged);
	my $distances = sub {
		join "\n", map { sprintf '%.4f', $_ } split /\n/,
		  $main->safe_psql('whole', $_[0]);
	};
	$same_parent++
	  if $distances->(
		"SELECT v <-> $query FROM items ORDER BY v <-> $query LIMIT $k") eq
	  $expected;
	$same_united++
	  if $distances->(
		"SELECT v <-> $query FROM (" . united($query) . ") AS a ORDER BY 1")
	  eq $expected;

	my $rows =
	  rows_fetched("SELECT id FROM items ORDER BY v <-> $query LIMIT $k");
	$most_parent = $rows if $rows > $most_parent;
	$rows = rows_fetched(united($query));
	$most_united = $rows if $rows > $most_united;
}
is($same_parent, scalar(@queries),
	'parent: the exact merge of the shards\' answers');
is($same_united, scalar(@queries),
	'shard query: the exact merge of the shards\' answers');
cmp_ok($most_parent, '>', 0, 'parent: fetches are seen');
cmp_ok(
	$most_parent, '<=',
	$k + $fetch,
	"parent: no shard sent more than k and one fetch ($most_parent)");
cmp_ok(
	$most_united, '<=',
	$k + $fetch,
	"shard query: no shard sent more than k and one fetch ($most_united)");

# A partition whose columns stand in another order, as one that was attached,
# is united by names.
$main->safe_psql(
	'whole', q{
	CREATE TABLE mixed (id int, v bytea, note text) PARTITION BY LIST (id);
	CREATE TABLE mixed_1 PARTITION OF mixed FOR VALUES IN (1);
	CREATE TABLE mixed_2 (note text, v bytea, id int);
	ALTER TABLE mixed ATTACH PARTITION mixed_2 FOR VALUES IN (2);
	INSERT INTO mixed VALUES (1, '\x01', 'one'), (2, '\x02', 'two');
});
($template =
	  $main->safe_psql('whole', "SELECT ecp_shard_query('mixed', 'v', 2)"))
  =~ s/\$1/'\\x00'::bytea/g;
is($main->safe_psql('whole', "SELECT id, note FROM ($template) AS a"),
	"1|one\n2|two", 'shard query: columns by name');

# a placement may name servers: it says how, and does not do it
$main->safe_psql(
	'whole', q{
	CREATE TABLE big (k int, v text) PARTITION BY LIST (k);
	CREATE TABLE big_1 PARTITION OF big FOR VALUES IN (1);
	INSERT INTO big SELECT 1, repeat('x', 100) FROM generate_series(1, 1000);
	SELECT ecp_place_target('p', 'shard1', speed => 100, capacity => '1GB');
});
like(
	$main->safe_psql(
		'whole', "SELECT script FROM ecp_place_plan('big', 'p')"),
	qr/CREATE FOREIGN TABLE public\.big_1 PARTITION OF public\.big FOR VALUES IN \(1\) SERVER shard1/,
	'a plan for a foreign server is a script');
my ($rc, $out, $err) =
  $main->psql('whole', "CALL ecp_place_apply('big', 'p')");
like($err, qr/moved 0 groups/, 'which is not carried out');

# the script works
$shards[1]->safe_psql('postgres', 'CREATE TABLE big_1 (k int, v text)');
$main->safe_psql(
	'whole',
	$main->safe_psql(
		'whole', "SELECT script FROM ecp_place_plan('big', 'p')"));
is($main->safe_psql('whole', 'SELECT count(*) FROM big'),
	'1000', 'moved by the script');
is($shards[1]->safe_psql('postgres', 'SELECT count(*) FROM big_1'),
	'1000', 'to the other server');

$_->stop foreach @shards;
done_testing();
