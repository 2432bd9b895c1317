# Tables that Citus distributes.  Every function that is given such a table or an
# index of one refuses; this needs no Citus, but its catalog.  With it, a
# coordinator and two workers: the statements of doc/sharding.md work, shards are
# moved under load, and the checkers find nothing.
use strict;
use warnings;

use EcpTest;
use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# ----------------------------------------------------------------------
# Every function of the extensions that takes a table or an index

my $imitated = ecp_cluster('imitated', storage => 1);
$imitated->safe_psql(
	'postgres', q(
	CREATE TABLE items (id int, v bytea, kind int);
	CREATE INDEX items_v ON items USING ecp (v);
	CREATE INDEX items_k ON items USING betree (kind);
	CREATE TABLE parts (k int) PARTITION BY LIST (k);
	SELECT ecp_place_target('here', 'pg_default', 100, '1GB');
	SET allow_system_table_mods = on;
	INSERT INTO pg_extension VALUES (9999, 'citus', 10, 11, false, '1', NULL, NULL);
	CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass);
	INSERT INTO pg_dist_partition VALUES ('items'), ('parts');));

# further arguments, and the relation, unless it is items_v or items_k
my $batch = "ARRAY['\x0102'::bytea]";
my %arguments = (
	ecp_admit => [ ", '{1}'", 'parts' ],
	ecp_knn_batch => [", $batch"],
	ecp_knn_exact => [", $batch"],
	ecp_knn_fetch => [", $batch, '{id}'"],
	ecp_knn_groups => [", '\x0102'::bytea, 'kind'"],
	ecp_knn_max_sim => [", $batch, 'kind'"],
	ecp_page_items => [', 2'],
	ecp_forecast => [ ", 'v'", 'items' ],
	ecp_place_apply => [ ", 'here'", 'parts' ],
	ecp_place_compare => [ ", 'here'", 'parts' ],
	ecp_place_groups => [ '', 'parts' ],
	ecp_place_plan => [ ", 'here'", 'parts' ],
	ecp_place_rule => [ ", '', 'pg_default'", 'parts' ],
	ecp_plan_build => [ ", 'v', '{pg_default}'", 'items' ],
	ecp_read_window => [ ", 1, 'epoch', 0, 0, 1, 1, 1, 1", 'items' ],
	ecp_stream_bench => [ ", '{1}'", 'items' ],
	ecp_vote => [", 'SELECT ''\x0102''::bytea', 'kind'"],
	betree_node_info => [', 1'],
	betree_page_items => [', 1']);
# for a table's partitions, which may be on foreign servers
my %answers = (ecp_shard_query => 1);
foreach my $name (
	split /\n/,
	$imitated->safe_psql(
		'postgres',
		"SELECT DISTINCT proname FROM pg_extension e, pg_depend d, pg_proc p
		WHERE extname LIKE 'ecp%' AND d.refclassid = 'pg_extension'::regclass
			AND d.refobjid = e.oid AND d.classid = 'pg_proc'::regclass
			AND d.objid = p.oid AND proargtypes[0] = 'regclass'::regtype ORDER BY 1"
	))
{
	next if $answers{$name};
	my ($more, $relation) = @{ $arguments{$name} // [] };
	my $call = sprintf("%s('%s'%s)",
		$name,
		$relation // ($name =~ /^betree/ ? 'items_k' : 'items_v'),
		$more     // '');

	$imitated->psql(
		'postgres',
		$name eq 'ecp_place_apply' ? "CALL $call" : "SELECT * FROM $call",
		stderr => \my $stderr);
	like(
		$stderr,
		qr/ERROR:  table "(items|parts)" is distributed\nDETAIL:.*\nHINT:  Call the function for each shard by run_command_on_shards/,
		"$name() refuses");
}
$imitated->stop;

chomp(my $sharedir = `pg_config --sharedir`);

if (!-e "$sharedir/extension/citus.control")
{
	done_testing();
	exit;
}

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

answer(sprintf "SELECT citus_set_coordinator_host('%s', %d)",
	$node->host, $node->port);
answer(sprintf "SELECT citus_add_node('%s', %d)", $_->host, $_->port)
  foreach @workers;

# Citus installs them on the workers
answer("CREATE EXTENSION $_") foreach qw(ecp citext);
load_vecs($node, 'plain', 'base.bvecs', limit => $rows);
load_vecs($node, 'queries', 'query.bvecs', limit => 50);
answer(
	q(ALTER TABLE plain ADD kind int;
	UPDATE plain SET kind = id % 7;
	CREATE INDEX plain_v ON plain USING ecp (v);
	CREATE TABLE items (id int PRIMARY KEY, v bytea, kind int, title text);
	SELECT create_distributed_table('items', 'id');
	INSERT INTO items SELECT id, v, kind, 'Title ' || id FROM plain;
	CREATE INDEX items_k ON items USING betree (kind);
	DELETE FROM queries WHERE id NOT IN (SELECT id FROM queries ORDER BY id LIMIT 5);)
);
my $q = '\x' . ('21' x 128);

# ----------------------------------------------------------------------
# The statements of the documentation

my ($text) =
  slurp_file("$FindBin::Bin/../../doc/sharding.md") =~ /\n## Citus\n(.*)/s;
my @block = $text =~ /\n```\n(.*?)```\n/sg;

sub recipe
{
	my ($wanted) = @_;
	my ($sql, @more) = grep { /$wanted/ } @block;

	die "there is one statement with $wanted, not " . (@more + defined $sql)
	  if @more || !defined $sql;
	return answer(
		"\\set query '\\$q'\nSET client_min_messages = warning;\n$sql");
}

# the extension and the table are there
$_ =~ s/^CREATE EXTENSION.*\n.*create_distributed_table.*\n// foreach @block;
is(() = recipe('CREATE INDEX items_v') =~ /^\d+$/mg,
	10, 'an index, and a search');
answer('ANALYZE items, plain');
like(
	answer(
		"EXPLAIN (COSTS OFF) SELECT id FROM items ORDER BY v <-> '$q' LIMIT 10"
	),
	qr/Task Count: $shards.*Limit\n\s*->  Index Scan using items_v_\d+/s,
	'each shard answers from its index');

my @checked = split /\n/, recipe('ecp_index_check');
is(scalar(grep { /\|t\|$/ } @checked), $shards, 'every shard is checked')
  or diag("@checked");
like(recipe('ecp_index_stats'), qr/^\d+\|\d+\|/, 'figures of all shards');
my %recall = map { /^(\d+)\|([\d.]+)\|([\d.]+)/; $1 => [ $2, $3 ] }
  split /\n/, recipe('ecp_recall');
cmp_ok($recall{0}[0], '>', 0.9, 'recall of the shards');
is($recall{1}[1], $shards, 'clusters of all shards');
# all clusters are read, so the answer is exact
answer('ALTER DATABASE postgres SET ecp.probes = 10000');
my $found = recipe('ecp_knn_fetch');
answer('ALTER DATABASE postgres RESET ecp.probes');
is( join("\n", map { join '|', (split /\|/)[ 0 .. 2 ] } split /\n/, $found),
	answer(
		"SET ecp.probes = 10000;
		SELECT q.n, n.rank, n.d FROM (SELECT row_number() OVER (ORDER BY id) AS n, v FROM queries) AS q,
			LATERAL (SELECT v <-> q.v AS d, row_number() OVER (ORDER BY v <-> q.v) AS rank
				FROM plain ORDER BY v <-> q.v LIMIT 10) AS n ORDER BY 1, 2"),
	'batches on all shards');
like($found, qr/"title": "Title \d+"/, 'with columns of the rows');
is( answer(
		"SELECT count(*) FILTER (WHERE success), sum((result::json->>'splits')::int) IS NOT NULL
		FROM run_command_on_placements('items',
			\$\$SELECT to_json(m) FROM ecp_maintain(replace(%L, 'items_', 'items_v_')::regclass) AS m\$\$)"
	),
	"$shards|t",
	'maintenance of each shard');

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
# A reference table: one shard, with copies on all nodes

answer(
	q(CREATE TABLE refs (id int PRIMARY KEY, v real[]);
	SELECT create_reference_table('refs');
	INSERT INTO refs SELECT g, ARRAY[g, g % 5, g % 7] FROM generate_series(1, 500) g;
	CREATE INDEX refs_v ON refs USING ecp (v);));
is( answer(
		"SELECT string_agg(result, ' ') FROM run_command_on_placements('refs',
			\$\$SELECT rows FROM ecp_index_drift(replace(%L, 'refs_', 'refs_v_')::regclass)\$\$)"
	),
	'500 500 500',
	'each copy has the rows');

# ----------------------------------------------------------------------
# Objects that Citus distributes

answer(
	q(CREATE TABLE words (id int PRIMARY KEY, word citext);
	SELECT create_distributed_table('words', 'id');
	INSERT INTO words SELECT g, 'Word ' || g FROM generate_series(1, 20000) g;));
recipe('betree_adopt');
answer('ANALYZE words');
like(
	answer(
		"SET citus.explain_all_tasks = on;
		EXPLAIN (COSTS OFF) SELECT id FROM words WHERE word = 'wORD 17'"),
	qr/Scan (using|on) words_word_idx_\d+/,
	'the operator class of betree_adopt() is on all nodes');
is(answer("SELECT id FROM words WHERE word = 'wORD 17'"),
	17, 'and finds rows');

# ----------------------------------------------------------------------
# Shards move while rows are inserted, updated and deleted

my $load = start_load($node, <<'SQL');
\set id random(0, 5999)
INSERT INTO items SELECT id + 10000 * (1 + :client_id), v, kind, title FROM items WHERE id = :id ON CONFLICT DO NOTHING;
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
foreach (qw(items_v items_k))
{
	my $check = /_v/ ? 'ecp_index_check' : 'betree_index_check';

	is( answer(
			"SELECT count(*) FILTER (WHERE success) FROM run_command_on_placements('items',
				\$\$SELECT $check(replace(%L, 'items_', '${_}_')::regclass, true)\$\$)"
		),
		$shards,
		"the checker finds nothing in $_ after the move");
}
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
	join("\n", grep { /\|f\|/ } split /\n/, recipe('ecp_index_check')),
	qr/\|$shard\|f\|ERROR: /,
	'damage of one shard is reported');

$_->stop foreach $node, @workers;
done_testing();
