# pg_upgrade takes the files of indexes over as they are: from one cluster to
# another (of the same version, which is all that one installation has), both
# kinds of index give the same answers and go on being written to.  Profiles and
# rules of placement are kept, and the rules are in force.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $old = ecp_cluster('old', storage => 1);
my $new = ecp_cluster('new', start => 0);

load_vecs($old, 'items', 'base.bvecs', limit => 2000);
$old->safe_psql(
	'postgres', q(
	CREATE INDEX items_v ON items USING ecp (v);
	CREATE INDEX items_only ON items USING ecp (v) INCLUDE (id);
	CREATE TABLE keys AS SELECT md5(g::text)::uuid AS k
		FROM generate_series(1, 20000) g;
	CREATE INDEX keys_k ON keys USING betree (k);
	INSERT INTO keys SELECT md5(g::text)::uuid
		FROM generate_series(20001, 21000) g;
	INSERT INTO ecp_storage.ecp_device (tablespace, latency_us) VALUES ('pg_default', 77);
	CREATE TABLE land (k int) PARTITION BY LIST (k);
	SELECT ecp_place_rule('land', 'a', 'pg_default');
	VACUUM ANALYZE;));

my $near = q(SET enable_seqscan = off; SET enable_sort = off;
	SELECT id FROM items
	ORDER BY v <-> (SELECT v FROM items WHERE id = 77) LIMIT 10);
my $range = q(SET enable_seqscan = off;
	SELECT count(*), min(k::text), max(k::text) FROM keys
	WHERE k < '40000000-0000-0000-0000-000000000000');
my $near_before = $old->safe_psql('postgres', $near);
my $range_before = $old->safe_psql('postgres', $range);
$old->stop;

my $bindir = $old->config_data('--bindir');
chdir PostgreSQL::Test::Utils::tempdir()
  or die "could not change folder: $!\n";
$new->command_ok(
	[
		'pg_upgrade', '--no-sync', '-d', $old->data_dir,
		'-D', $new->data_dir, '-b', $bindir,
		'-B', $bindir, '-s', $new->host,
		'-p', $old->port, '-P', $new->port
	],
	'pg_upgrade');
$new->start;
is($new->safe_psql('postgres', $near), $near_before, 'same neighbours');
is($new->safe_psql('postgres', $range), $range_before, 'same range');
$new->safe_psql(
	'postgres', q(
	INSERT INTO items SELECT id + 100000, v FROM items LIMIT 500;
	DELETE FROM items WHERE id < 500;
	INSERT INTO keys SELECT md5(g::text)::uuid FROM generate_series(30001, 31000) g;
	VACUUM;));
is( $new->safe_psql(
		'postgres',
		q(SELECT latency_us, parent, prefix, target, evtname FROM ecp_storage.ecp_device, ecp_storage.ecp_place_rules, pg_event_trigger)
	),
	'77|land|a|pg_default|ecp_place_new_partition',
	'profile, rule and event trigger');
$new->safe_psql('postgres',
	'CREATE TABLE land_a PARTITION OF land FOR VALUES IN (1); DELETE FROM ecp_storage.ecp_place_rules'
);
is($new->safe_psql('postgres', 'SELECT count(*) FROM pg_event_trigger'),
	'0', 'which goes with the rule');
index_ok($new, $_) foreach qw(items_v items_only keys_k);
$new->stop;

done_testing();
