# Carrying out a placement while others use the tables: a group that stays
# locked is passed over and moved by the next call; what was moved before an
# interruption stays moved; profiles, targets and rules survive dump and restore.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster(
	'main',
	storage => 1,
	conf =>
	  "max_prepared_transactions = 2\nallow_in_place_tablespaces = on\n");

sub moved
{
	return $node->safe_psql('postgres',
		q{SELECT string_agg(grp::text, ' ' ORDER BY grp::text) FROM ecp_place_plan('land', 'p') WHERE NOT move}
	);
}

$node->safe_psql(
	'postgres', q{
	CREATE TABLESPACE one LOCATION '';
	CREATE TABLESPACE two LOCATION '';
	CREATE TABLE land (k int, v text) PARTITION BY LIST (k);
	CREATE TABLE land_1 PARTITION OF land FOR VALUES IN (1);
	CREATE TABLE land_2 PARTITION OF land FOR VALUES IN (2);
	CREATE TABLE land_3 PARTITION OF land FOR VALUES IN (3);
	CREATE INDEX ON land (v);
	INSERT INTO land SELECT k, repeat('v', 100) FROM generate_series(1, 3) AS k, generate_series(1, 2000 - 500 * k);
	SELECT ecp_place_target('p', 'one', speed => 100);
	SELECT ecp_place_target('p', 'two', speed => 100);
});

# a prepared transaction keeps its locks without a session
$node->safe_psql('postgres',
	"BEGIN; LOCK TABLE land_1 IN ACCESS SHARE MODE; PREPARE TRANSACTION 'reader'"
);
my ($rc, $out, $err) = $node->psql(
	'postgres',
	"DO \$\$ BEGIN CALL ecp_place_apply('land', 'p', lock_timeout => '10ms');
	RAISE NOTICE 'then %, %', current_setting('lock_timeout'), current_setting('search_path'); END \$\$"
);
is($rc, 0, 'a locked group is no error');
like(
	$err,
	qr/group "land_1" was not moved: canceling statement due to lock timeout/,
	'the locked group is reported');
like($err, qr/moved 2 groups/, 'the others are moved');
is(moved(), 'land_2 land_3', 'what is locked is left to be moved');
like($err, qr/then 0, "\$user", public/, 'settings are as before');

$node->safe_psql('postgres', "COMMIT PREPARED 'reader'");
($rc, $out, $err) =
  $node->psql('postgres', "CALL ecp_place_apply('land', 'p')");
like($err, qr/moved group "land_1"/, 'the next call moves it');
is(moved(), 'land_1 land_2 land_3', 'the plan is carried out');

# an interruption: the second group waits for a lock and is cancelled
$node->safe_psql(
	'postgres', q{
	ALTER TABLE land_1 SET TABLESPACE pg_default;
	ALTER TABLE land_2 SET TABLESPACE pg_default;
	BEGIN; LOCK TABLE land_2 IN ACCESS SHARE MODE; PREPARE TRANSACTION 'reader';
});
my $session = $node->background_psql('postgres', on_error_stop => 0);
$session->query_until(qr/started/,
	"\\echo started\nCALL ecp_place_apply('land', 'p', lock_timeout => '0');\n"
);
my $waits =
  "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query ~ '^CALL'";
$node->poll_query_until('postgres', "SELECT count(*) = 1 $waits")
  or die 'the call does not wait';
$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) $waits");
$session->query_until(qr/ended/, "\\echo ended\n");
like($session->{stderr}, qr/canceling statement/, 'the call is cancelled');
$session->quit;
is(moved(), 'land_1 land_3', 'what was moved before stays moved');
$node->safe_psql('postgres', "ROLLBACK PREPARED 'reader'");
$node->safe_psql('postgres', "CALL ecp_place_apply('land', 'p')");
is(moved(), 'land_1 land_2 land_3', 'resumed');

# crash after the moves
crash($node);
is($node->safe_psql('postgres', 'SELECT count(*) FROM land'),
	'3000', 'all rows after a crash');
is(moved(), 'land_1 land_2 land_3', 'and in their places');

# profiles, targets and rules are dumped
$node->safe_psql('postgres',
	"SELECT ecp_place_rule('land', '9', 'two'), ecp_place_rule('land', '', place => 'p')"
);
$node->safe_psql('postgres',
	"INSERT INTO ecp_storage.ecp_device (tablespace, latency_us) VALUES ('one', 77)"
);
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ],
	'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok(
	[
		'psql', '-X', '-v', 'ON_ERROR_STOP=1', '-f', $dump,
		$node->connstr('restored')
	],
	'restore');
is( $node->safe_psql(
		'restored',
		'SELECT parent, prefix, target, place FROM ecp_storage.ecp_place_rules ORDER BY prefix'
	),
	"land|||p\nland|9|two|",
	'rules restored');
is( $node->safe_psql(
		'restored',
		'SELECT tablespace, latency_us FROM ecp_storage.ecp_device'),
	'one|77',
	'profiles restored');
$node->safe_psql('restored',
	'CREATE TABLE land_91 PARTITION OF land FOR VALUES IN (91)');
is( $node->safe_psql(
		'restored',
		"SELECT spcname FROM pg_class JOIN pg_tablespace AS t ON t.oid = reltablespace WHERE relname = 'land_91'"
	),
	'two',
	'and in force');

# the extension may live in any schema, whose name may change
$node->safe_psql('postgres', 'ALTER SCHEMA public RENAME TO "other place"');
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM "other place".ecp_place_plan('"other place".land', 'p')}
	),
	'3',
	'in another schema');
$node->safe_psql('postgres',
	'SET search_path = "other place"; CREATE TABLE land_92 PARTITION OF land FOR VALUES IN (92)'
);
is( $node->safe_psql(
		'postgres',
		"SELECT spcname FROM pg_class JOIN pg_tablespace AS t ON t.oid = reltablespace WHERE relname = 'land_92'"
	),
	'two',
	'the event trigger finds its rules there');

$node->stop;
done_testing();
