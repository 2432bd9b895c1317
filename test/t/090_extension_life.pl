# The extensions as a whole: created in a schema of their own, moved to another,
# dumped and restored, updated from every older version, dropped with all that
# depends on them.  Indexes of both kinds give the same answers after each step.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('life', extension => 0);

# In a schema that is not in the search path of everyone
$node->safe_psql(
	'postgres', q(
	CREATE SCHEMA vectors;
	CREATE EXTENSION ecp SCHEMA vectors;
	CREATE EXTENSION ecp_storage SCHEMA vectors;
	ALTER DATABASE postgres SET search_path = public, vectors;));
load_vecs($node, 'items', 'base.bvecs', limit => 3000);
load_vecs($node, 'reals', 'base.bvecs', limit => 1000, type => 'real[]');
load_vecs($node, 'queries', 'query.bvecs', limit => 10);
$node->safe_psql(
	'postgres', q(
	CREATE INDEX items_v ON items USING ecp (v);
	CREATE INDEX reals_v ON reals USING ecp (v real_cosine_ops)
		WITH (leaders = random, levels = 2, seed = 7);
	CREATE TABLE keys AS SELECT md5(g::text)::uuid AS k, g AS n
		FROM generate_series(1, 20000) g;
	CREATE INDEX keys_k ON keys USING betree (k) WITH (log_pages = 8);
	INSERT INTO keys SELECT md5(g::text)::uuid, g
		FROM generate_series(20001, 22000) g;
	CREATE TABLE land (k int) PARTITION BY LIST (k);
	SELECT ecp_place_rule('land', 'a', 'pg_default');
	INSERT INTO ecp_storage.ecp_device (tablespace, latency_us) VALUES ('pg_default', 77);
	VACUUM ANALYZE;));

my $near = q(SET enable_seqscan = off; SET enable_sort = off;
	SELECT q.id, array_agg(n.id ORDER BY n.d, n.id) FROM queries q, LATERAL
	(SELECT i.id, i.v <-> q.v AS d FROM items i ORDER BY i.v <-> q.v LIMIT 5) n
	GROUP BY q.id ORDER BY q.id);
my $range = q(SET enable_seqscan = off; SET enable_bitmapscan = off;
	SELECT count(*), min(k::text), max(k::text), sum(n) FROM keys
	WHERE k BETWEEN '20000000-0000-0000-0000-000000000000'
				AND '80000000-0000-0000-0000-000000000000');

plan_uses(
	$node,
	q(SELECT id FROM items ORDER BY v <-> (SELECT v FROM queries WHERE id = 0) LIMIT 5),
	'items_v',
	set => 'SET enable_seqscan = off');
plan_uses(
	$node, "SELECT * FROM keys WHERE k = md5('1')::uuid",
	'keys_k', set => 'SET enable_seqscan = off');
my $near_before = $node->safe_psql('postgres', $near);
my $range_before = $node->safe_psql('postgres', $range);

sub unchanged
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($when) = @_;

	is($node->safe_psql('postgres', $near),
		$near_before, "$when: same neighbours");
	is($node->safe_psql('postgres', $range),
		$range_before, "$when: same range");
	index_ok($node, $_, "$when: checker finds $_ sound")
	  foreach qw(items_v reals_v keys_k);
	return;
}
unchanged('in a schema of its own');
is( $node->safe_psql(
		'postgres',
		q(LOAD 'ecp';
		SELECT module_name, version = (SELECT extversion FROM pg_extension
				WHERE extname = 'ecp')
			FROM pg_get_loaded_modules() WHERE module_name = 'ecp')),
	'ecp|t',
	'the library says its name and version') if $node->pg_version >= 18;

# Moved
$node->safe_psql(
	'postgres', q(
	CREATE SCHEMA elsewhere;
	ALTER EXTENSION ecp SET SCHEMA elsewhere;
	ALTER DATABASE postgres SET search_path = public, elsewhere, vectors;));
unchanged('moved');

# Dumped and restored: definitions and answers are the same.  Nothing of the
# extension but its configuration is in the dump.
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
my $definitions = q(SELECT pg_get_indexdef(oid) FROM pg_class
	WHERE relkind = 'i' AND relnamespace = 'public'::regnamespace ORDER BY 1);
my $definitions_before = $node->safe_psql('postgres', $definitions);
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ],
	'pg_dump');
unlike(
	slurp_file($dump),
	qr/CREATE FUNCTION|CREATE ACCESS METHOD|CREATE EVENT TRIGGER|CREATE TABLE \S*ecp_/,
	'the dump leaves the objects to CREATE EXTENSION');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->safe_psql('postgres',
	'ALTER DATABASE restored SET search_path = public, elsewhere, vectors');
$node->command_ok(
	[
		'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-f', $dump,
		$node->connstr('restored')
	],
	'restore');
is($node->safe_psql('restored', $definitions),
	$definitions_before, 'restored: same indexes');
is($node->safe_psql('restored', $range),
	$range_before, 'restored: same range');
is($node->safe_psql('restored', $near),
	$near_before, 'restored: same neighbours');

is( $node->safe_psql(
		'restored',
		'SELECT latency_us, parent, prefix, evtname FROM ecp_storage.ecp_device, ecp_storage.ecp_place_rules, pg_event_trigger'
	),
	'77|land|a|ecp_place_new_partition',
	'restored: profile and rule, which has its event trigger again');

# Every older version comes to the same objects by ALTER EXTENSION UPDATE
my $objects = q(SELECT pg_describe_object(classid, objid, 0) FROM pg_depend
	WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
	AND refobjid IN (SELECT oid FROM pg_extension WHERE extname ~ '^ecp')
	ORDER BY 1);
my @versions = split /\n/, $node->safe_psql(
	'postgres', q(SELECT name || ' VERSION ' || quote_ident(version)
	FROM pg_available_extension_versions
	WHERE name IN ('ecp', 'ecp_storage') ORDER BY 1));
foreach my $version (@versions)
{
	my ($name) = split / /, $version;

	$node->safe_psql('postgres', 'CREATE DATABASE fresh');
	$node->safe_psql('fresh', "CREATE EXTENSION $name CASCADE");
	$node->safe_psql('postgres', 'CREATE DATABASE updated');
	$node->safe_psql('updated',
		"CREATE EXTENSION $version CASCADE; ALTER EXTENSION $name UPDATE");
	is( $node->safe_psql('updated', $objects),
		$node->safe_psql('fresh', $objects),
		"$version can be updated");
	$node->safe_psql('postgres', "DROP DATABASE $_")
	  foreach qw(fresh updated);
}

# Dropped: refused while indexes depend on it, and everything goes with CASCADE
my ($ret, undef, $stderr) =
  $node->psql('postgres', 'DROP EXTENSION ecp_storage; DROP EXTENSION ecp');
like($stderr, qr/items_v depends on/, 'DROP EXTENSION names the indexes');
$node->safe_psql('postgres',
	'SET client_min_messages = warning; DROP EXTENSION ecp CASCADE');
is( $node->safe_psql(
		'postgres', q(SELECT count(*) FROM pg_class
		WHERE relname IN ('items_v', 'reals_v', 'keys_k'))),
	0,
	'DROP EXTENSION CASCADE drops the indexes');
is($node->safe_psql('postgres', 'SELECT count(*) FROM items'),
	3000, 'and leaves the tables');
$node->safe_psql('postgres', 'CREATE EXTENSION ecp');
$node->stop;

done_testing();
