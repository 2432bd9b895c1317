# Tables that Citus distributes: a coordinator and two workers.  Every function
# that is given such a table or an index of one answers for all shards, or
# refuses and prints a statement that does it; none reports on the empty table.
# Shards are moved under load, and the checkers find nothing.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

chomp(my $sharedir = `pg_config --sharedir`);
plan skip_all => 'the server does not have the extension citus'
  unless -e "$sharedir/extension/citus.control";

my $rows = 6000;
my $shards = 4;
my ($node, @workers) = map {
	my $new = ecp_cluster(
		$_,
		extension => 0,
		conf => <<"CONF");
shared_preload_libraries = 'citus'
wal_level = logical
max_connections = 100
max_worker_processes = 20
max_wal_senders = 10
max_replication_slots = 10
max_prepared_transactions = 20
citus.shard_count = $shards
citus.node_conninfo = 'sslmode=prefer'
citus.enable_statistics_collection = off
CONF
	$new->append_conf('postgresql.conf',
		sprintf("citus.local_hostname = '%s'\n", $new->host));
	$new->reload;
	$new->safe_psql('postgres', 'CREATE EXTENSION citus');
	$new;
} qw(coordinator worker1 worker2);

sub answer { return $node->safe_psql('postgres', $_[0]) }

sub failure
{
	$node->psql('postgres', $_[0], stderr => \my $stderr);
	return $stderr;
}

answer(sprintf "SELECT citus_set_coordinator_host('%s', %d)",
	$node->host, $node->port);
answer(sprintf "SELECT citus_add_node('%s', %d)", $_->host, $_->port)
  foreach @workers;

# Citus installs them on the workers
answer("CREATE EXTENSION $_") foreach qw(ecp ecp_storage citext);
load_vecs($node, 'plain', 'base.bvecs', limit => $rows);
load_vecs($node, 'queries', 'query.bvecs', limit => 50);
answer(
	q(ALTER TABLE plain ADD kind int;
	UPDATE plain SET kind = id % 7;
	CREATE INDEX plain_v ON plain USING ecp (v);
	CREATE TABLE items (id int PRIMARY KEY, v bytea, kind int);
	SELECT create_distributed_table('items', 'id');
	INSERT INTO items SELECT id, v, kind FROM plain;
	CREATE INDEX items_v ON items USING ecp (v);
	CREATE INDEX items_k ON items USING betree (kind);
	ANALYZE items, plain;));
my $q = '\x' . ('21' x 128);

like(
	answer(
		"EXPLAIN (COSTS OFF) SELECT id FROM items ORDER BY v <-> '$q' LIMIT 10"
	),
	qr/Task Count: $shards.*Limit\n\s*->  Index Scan using items_v_\d+/s,
	'each shard answers from its index');

# ----------------------------------------------------------------------
# Every function of the extensions that takes a table or an index

my $batch = "ARRAY(SELECT v FROM queries ORDER BY id LIMIT 5)";

# what answers for all shards: a query, and its answer
my %works = (
	ecp_is_distributed => [
		"SELECT ecp_is_distributed('items'), ecp_is_distributed('items_v'),
			ecp_is_distributed('plain'), ecp_is_distributed('plain_v')",
		't|t|f|f'
	],
	ecp_run_on_shards => [
		"SELECT count(DISTINCT shardid), count(DISTINCT nodeport),
			sum((result->0->>'n')::int)
		FROM ecp_run_on_shards('items', 'SELECT count(*) AS n FROM %s')",
		"$shards|2|$rows"
	],
	ecp_index_check => [ "SELECT ecp_index_check('items_v', true)", '' ],
	betree_index_check =>
	  [ "SELECT betree_index_check('items_k', true)", '' ],
	betree_flush => [
		"SELECT betree_flush('items_k');
		SELECT sum((result->0->>'messages_in_logs')::int) FROM ecp_run_on_shards('items_k',
			'SELECT * FROM betree_index_stats(%L)')",
		"\n0"
	],
	ecp_index_stats => [
		"SELECT rows > 0, pages = (SELECT sum((result->0->>'n')::int)
			FROM ecp_run_on_shards('items_v', 'SELECT pg_relation_size(%L) / 8192 AS n')),
			measured IS NOT NULL
		FROM ecp_index_stats('items_v')",
		"t|t|t"
	],
	ecp_index_drift => [
		"SELECT rows, pages = (SELECT sum((result->0->>'n')::int)
			FROM ecp_run_on_shards('items_v', 'SELECT pg_relation_size(%L) / 8192 AS n')),
			mean_rows BETWEEN min_rows AND max_rows, measured IS NOT NULL
		FROM ecp_index_drift('items_v')",
		"$rows|t|t|t"
	],
	# more leaders for those of a cluster that is much too large
	ecp_maintain => [
		"INSERT INTO items SELECT 100000 + g, '$q', 0 FROM generate_series(1, 3000) g;
		SELECT splits + regrouped > 0 FROM ecp_maintain('items_v');
		DELETE FROM items WHERE id > 100000;
		VACUUM items",
		't'
	],
	ecp_recall => [
		"SET ecp.probes = 3;
		SELECT probes, clusters, recall BETWEEN 0.5 AND 1
		FROM ecp_recall('items_v') WHERE probes < 2 ORDER BY 1",
		join("\n", "0|" . 3 * $shards . '|t', "1|$shards|t")
	],
	ecp_misassigned =>
	  [ "SELECT ecp_misassigned('items_v') BETWEEN 0 AND 0.5", 't' ],
	# all clusters are read, so the answer is exact
	ecp_knn_fetch => [
		"SET ecp.probes = 10000;
		SELECT count(*), count(*) FILTER (WHERE d.distance = p.distance
			AND (d.data->>'kind')::int = (d.data->>'id')::int % 7
			AND p.data->'kind' IS NOT NULL)
		FROM ecp_knn_fetch('items_v', $batch, '{id,kind}', 20) AS d
			JOIN ecp_knn_fetch('plain_v', $batch, '{kind}', 20) AS p USING (query, rank)",
		'100|100'
	],
	# called by these two, on the nodes, for an index of a shard
	_ecp_knn_fetch => [
		"SELECT count(*) FROM _ecp_knn_fetch('plain_v', ARRAY['$q', NULL], '{id}', 3)",
		'3'
	],
	ecp_vote => [
		"SET ecp.probes = 10000;
		SELECT count(*), sum(d.votes), count(*) FILTER (WHERE (d.votes, d.matches, d.nearest)
				= (p.votes, p.matches, p.nearest))
		FROM ecp_vote('items_v', 'SELECT v FROM queries', 'kind', 1) AS d
			JOIN ecp_vote('plain_v', 'SELECT v FROM queries', 'kind', 1) AS p USING (image)",
		'7|50|7'
	],
	ecp_shard_query => [
		"SELECT ecp_shard_query('items', 'v', 3) AS query \\gset
		PREPARE nearest(bytea) AS :query;
		SET ecp.probes = 10000;
		CREATE TEMP TABLE found AS EXECUTE nearest('$q');
		SELECT array_agg(v <-> '$q' ORDER BY v <-> '$q')
			= ARRAY(SELECT v <-> '$q' FROM plain ORDER BY v <-> '$q' LIMIT 3) FROM found",
		't'
	]);

# what refuses: further arguments; the index, unless it is a table; what the
# hint says, unless it is a statement that asks each shard
my %refuses = (
	ecp_knn_batch => [ ", $batch", 'items_v', 'ecp_knn_fetch' ],
	ecp_knn_exact => [ ", $batch", 'items_v' ],
	ecp_build_report => [ '', 'items_v' ],
	ecp_metapage_info => [ '', 'items_v' ],
	ecp_clusters => [ '', 'items_v' ],
	ecp_page_items => [ ', 2', 'items_v' ],
	betree_metapage_info => [ '', 'items_k' ],
	betree_node_info => [ ', 1', 'items_k' ],
	betree_page_items => [ ', 1', 'items_k' ],
	betree_index_stats => [ '', 'items_k' ],
	ecp_place_groups => [ '', 'items', 'citus_rebalance_start' ],
	ecp_place_plan => [ ", 'here'", 'items', 'citus_rebalance_start' ],
	ecp_place_compare => [ ", 'here'", 'items', 'citus_rebalance_start' ],
	ecp_place_apply => [ ", 'here'", 'items', 'citus_rebalance_start' ],
	ecp_place_rule => [ ", '', 'pg_default'", 'items', 'default_tablespace' ],
	ecp_admit => [ ", '{1}'", 'items', 'citus_rebalance_start' ],
	ecp_plan_build =>
	  [ ", 'v', '{pg_default}'", 'items', 'ecp_run_on_shards' ],
	ecp_stream_bench => [ ", '{1}'", 'items', 'ecp_run_on_shards' ],
	ecp_read_window =>
	  [ ", 1, 'epoch', 0, 0, 1, 1, 1, 1", 'items', 'ecp_run_on_shards' ]);

is( answer(
		"SELECT string_agg(DISTINCT proname, ' ' ORDER BY proname)
		FROM pg_extension e, pg_depend d, pg_proc p
		WHERE extname LIKE 'ecp%' AND d.refclassid = 'pg_extension'::regclass
			AND d.refobjid = e.oid AND d.classid = 'pg_proc'::regclass
			AND d.objid = p.oid AND proargtypes[0] = 'regclass'::regtype"),
	join(' ', sort +(keys %works, keys %refuses)),
	'all functions that take a table or an index are tried here');

foreach my $name (sort keys %works)
{
	my ($sql, $expected) = @{ $works{$name} };

	like(
		answer($sql),
		ref $expected ? $expected : qr/^\Q$expected\E$/,
		"$name() answers for all shards");
}
answer("SELECT ecp_place_target('here', 'pg_default', 100)");
foreach my $name (sort keys %refuses)
{
	my ($arguments, $relation, $hint) = @{ $refuses{$name} };
	my $call = "$name('$relation'$arguments)";
	my $error =
	  failure(
		$name eq 'ecp_place_apply' ? "CALL $call" : "SELECT * FROM $call");

	like($error, qr/ERROR:  .*distributed/, "$name() refuses");
	like($error, qr/HINT:  .*$hint/, "$name() says what to do") if $hint;
	next if $hint;
	my ($statement) = $error =~ /HINT:  Ask each shard: (.*)/;
	# the hint leaves out long arguments
	is(answer("SELECT count(*), count(result) FROM ($statement) AS s"),
		"$shards|$shards", "the statement that $name() prints works")
	  unless $statement =~ /\.\.\./;
}
like(
	$workers[0]
	  ->safe_psql('postgres', "SELECT rows FROM ecp_index_drift('items_v')"),
	qr/^$rows$/,
	'a worker also answers for all shards');

# ----------------------------------------------------------------------
# Settings

my $search = "SELECT id FROM items ORDER BY v <-> '$q' LIMIT 1;
	SELECT (ecp_last_scan()).probes FROM items WHERE id = 5;";
like(
	answer(
		"BEGIN; SET LOCAL citus.propagate_set_commands = local;
		SET LOCAL ecp.probes = 9; $search COMMIT"),
	qr/\n9$/,
	'SET LOCAL reaches the shards');
answer("ALTER DATABASE postgres SET ecp.probes = 7");
like(answer("BEGIN; $search COMMIT"),
	qr/\n7$/, 'ALTER DATABASE SET reaches the shards');
answer('ALTER DATABASE postgres RESET ecp.probes');

# ----------------------------------------------------------------------
# Reference tables, local tables, names

answer(
	q(CREATE TABLE refs (id int PRIMARY KEY, v real[]);
	SELECT create_reference_table('refs');
	INSERT INTO refs SELECT g, ARRAY[g, g % 5, g % 7] FROM generate_series(1, 500) g;
	CREATE INDEX refs_v ON refs USING ecp (v);
	CREATE TABLE "it's 100% a rather long name, with what must be quoted in it" (id int PRIMARY KEY, v real[]);
	SELECT create_distributed_table('"it''s 100% a rather long name, with what must be quoted in it"', 'id');
	INSERT INTO "it's 100% a rather long name, with what must be quoted in it" SELECT id, v FROM refs;
	CREATE INDEX "100% of ""those"" vectors, whose index has as long a name as it"
		ON "it's 100% a rather long name, with what must be quoted in it" USING ecp (v);)
);
is( answer(
		"SELECT rows FROM ecp_index_drift('refs_v');
		SELECT count(*) FROM ecp_run_on_shards('refs_v', 'SELECT ecp_index_check(%L, true)', true);
		SELECT rank, data FROM ecp_knn_fetch('refs_v', '{{1,1,1}}'::real[], '{id}', 2)"
	),
	"500\n3\n1|{\"id\": 1}\n2|{\"id\": 2}",
	'a reference table has one shard, with copies on all nodes');
is( answer(
		"SELECT rows FROM ecp_index_drift('\"100% of \"\"those\"\" vectors, whose index has as long a name as it\"')"
	),
	500,
	'names are quoted');

# ----------------------------------------------------------------------
# Objects that Citus distributes

answer(
	q(SELECT run_command_on_all_nodes($$SELECT betree_adopt('citext_ops')$$);
	CREATE TABLE words (id int PRIMARY KEY, word citext);
	SELECT create_distributed_table('words', 'id');
	INSERT INTO words SELECT g, 'Word ' || g FROM generate_series(1, 20000) g;
	CREATE INDEX words_word ON words USING betree (word);
	ANALYZE words;));
like(
	answer(
		"SET citus.explain_all_tasks = on;
		EXPLAIN (COSTS OFF) SELECT id FROM words WHERE word = 'wORD 17'"),
	qr/Scan (using|on) words_word_\d+/,
	'the operator class of betree_adopt() is on all nodes');
is(answer("SELECT id FROM words WHERE word = 'wORD 17'"),
	17, 'and finds rows');

answer(
	q(CREATE TABLE parts (id int, d date, PRIMARY KEY (id, d)) PARTITION BY RANGE (d);
	SELECT ecp_place_rule('parts', '', 'pg_default');
	SELECT create_distributed_table('parts', 'id');
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');)
);
is(answer("SELECT ecp_is_distributed('parts_1')"),
	't', 'a placement rule leaves partitions to Citus');

# ----------------------------------------------------------------------
# Shards move while rows are inserted, updated and deleted

my $load = start_load($node, <<'SQL');
\set id random(0, 5999)
INSERT INTO items SELECT id + 10000 * (1 + :client_id), v, kind FROM items WHERE id = :id ON CONFLICT DO NOTHING;
UPDATE items SET kind = kind + 1 WHERE id = :id + 10000 * (1 + :client_id);
DELETE FROM items WHERE id = (:id + 1) % 6000 + 10000 * (1 + :client_id);
SQL
my @moved = split /\n/, answer(
	"SELECT format('SELECT citus_move_shard_placement(%s, %L, %s, %L, %s)', shardid,
		nodename, nodeport, '" . $workers[1]->host . "', " . $workers[1]->port . ")
	FROM citus_shards WHERE table_name = 'items'::regclass
		AND nodeport = " . $workers[0]->port);
is(scalar @moved, $shards / 2, 'half of the shards are to move');
answer($_) foreach @moved;
stop_load($node, $load);
unlike($load->{err}, qr/ERROR/, 'nobody noticed');
cmp_ok(answer('SELECT count(*) FROM items WHERE id >= 10000'),
	'>', 0, 'rows were inserted meanwhile');
is( answer(
		"SELECT count(DISTINCT nodeport) FROM citus_shards WHERE table_name = 'items'::regclass"
	),
	1,
	'all shards are on one worker');
index_ok($node, $_, "the checker finds nothing in $_ after the move")
  foreach qw(items_v items_k);
is( answer(
		"SET enable_seqscan = off;
		SELECT count(*) FROM items WHERE id < 6000"),
	$rows,
	'no row is lost');

# ----------------------------------------------------------------------
# The checker sees all shards

my ($shard, $index) = split /\|/, answer(
	"SELECT shardid, shard_name('items_v', shardid) FROM citus_shards
	WHERE table_name = 'items'::regclass ORDER BY shardid DESC LIMIT 1");
my $path = relation_path($workers[1], $index);
$workers[1]->stop;
damage_block($path, 2, at => 24, with => "\xff" x 64);
$workers[1]->start;
like(
	failure("SELECT ecp_index_check('items_v')"),
	qr/ERROR:  shard $shard of "items_v", on .*reports: /,
	'damage of one shard is reported');

$_->stop foreach $node, @workers;
done_testing();
