# 029_betree_reach.pl: a unique betree in what other programs and processes do
#
# Replication, whose subscribers look for rows by an index that they choose;
# dump and restore of foreign keys; pg_repack, if the server has it; and
# REPACK CONCURRENTLY from version 19 on.  What one session sees of unique
# indexes is in betree_reach, what two see in the isolation test of that name.

use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster(
	'main',
	streaming => 1,
	conf => "wal_level = logical\nmax_replication_slots = 20\n");
my $version = $node->pg_version->major;

$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION ecp');

# Does the subscriber "other" find updated and deleted rows of a table whose
# definition ends in $there, and how often does it ask the betree "rep_k"?
# $error is what its log says where it cannot; it retries until then.
sub replicates
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($what, $here, $there, $scans, $error) = @_;
	my $table = 'CREATE TABLE rep (k int NOT NULL, v text);';
	my $rows =
	  'SELECT count(*), md5(string_agg(k || v, NULL ORDER BY k)) FROM rep';
	my $logged = -s $node->logfile;

	$node->safe_psql('postgres', "$table $here");
	$node->safe_psql('other', "$table $there");
	subscribe($node, 'rep', 'other');
	$node->safe_psql(
		'postgres', q(
		INSERT INTO rep SELECT i * 7919 % 3001, 'new' FROM generate_series(1, 3000) i;
		UPDATE rep SET v = 'changed' WHERE k % 30 = 0;
		UPDATE rep SET k = k + 10000 WHERE k % 50 = 0;
		DELETE FROM rep WHERE k % 70 = 0));
	if ($error)
	{
		$node->wait_for_log($error, $logged);
		pass("$what: refused");
	}
	else
	{
		$node->wait_for_catchup('rep');
		is( $node->safe_psql('other', $rows),
			$node->safe_psql('postgres', $rows),
			"$what: UPDATE and DELETE are replicated");
		$node->poll_query_until('other',
			"SELECT (idx_scan > 0) = ($scans > 0) FROM pg_stat_user_indexes"
			  . " WHERE indexrelname = 'rep_k'");
		is( $node->safe_psql(
				'other',
				"SELECT idx_scan > 0 FROM pg_stat_user_indexes"
				  . " WHERE indexrelname = 'rep_k'"),
			$scans ? 't' : 'f',
			"$what: rows are found by " . ($scans ? 'betree' : 'others'));
		$node->safe_psql('other', "SELECT betree_index_check('rep_k', true)");
	}
	$node->safe_psql('other', $_)
	  foreach (
		'ALTER SUBSCRIPTION rep DISABLE',
		'ALTER SUBSCRIPTION rep SET (slot_name = NONE)',
		'DROP SUBSCRIPTION rep');
	$node->poll_query_until('postgres',
		"SELECT NOT active FROM pg_replication_slots WHERE slot_name = 'rep'"
	);
	$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('rep')");
	$node->safe_psql('postgres', 'DROP PUBLICATION rep');
	$node->safe_psql($_, 'DROP TABLE rep') foreach ('postgres', 'other');
	return;
}

my $betree =
  'CREATE UNIQUE INDEX rep_k ON rep USING betree (k) WITH (log_pages = 2);';
my $identity = "$betree ALTER TABLE rep REPLICA IDENTITY USING INDEX rep_k;";
my $key = 'ALTER TABLE rep ADD PRIMARY KEY (k);';
my $full = 'ALTER TABLE rep REPLICA IDENTITY FULL;';

replicates('identity of both',
	$identity, $identity, 1,
	$version == 17 ? qr/missing operator 0\(23,23\) in opfamily/ : undef);
replicates('primary key beside', $key, "$key $betree", 0);
replicates('identity here, primary key there', $identity, "$betree $key", 0);
# any index will do that has an equality, from 18 on; before that of btree, from
# 16 on, or none
replicates('all columns', $full, $betree, $version >= 18 ? 1 : 0);

# A foreign key is dumped with the names of its columns, and the key that it
# needs, which may then be younger than the betree, is made before any index
# that is none of a constraint.
$node->safe_psql(
	'postgres', q(
	CREATE TABLE parent (id int NOT NULL);
	CREATE UNIQUE INDEX a_parent_id ON parent USING betree (id);
	INSERT INTO parent SELECT g FROM generate_series(1, 1000) g;
	ALTER TABLE parent ADD CONSTRAINT z_parent_key PRIMARY KEY (id);
	CREATE TABLE child (id int REFERENCES parent);
	INSERT INTO child SELECT id FROM parent));
my $dump = $node->basedir . '/parent.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, 'postgres' ], 'dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok(
	[ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-f', $dump, 'restored' ],
	'a foreign key beside a betree is restored');
my ($ret, $out, $err) =
  $node->psql('restored', 'INSERT INTO child VALUES (1001)');
like($err, qr/violates foreign key constraint/, 'and holds');
$node->safe_psql('postgres', 'DROP TABLE child, parent');

# pg_repack takes a unique index for the key, and makes the indexes again
SKIP:
{
	my $has = $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_repack'"
	);
	skip 'the server does not have pg_repack', 4 if !$has;
	$node->safe_psql(
		'postgres', q(
		CREATE EXTENSION pg_repack;
		CREATE TABLE packed (id int NOT NULL, v text);
		CREATE UNIQUE INDEX packed_id ON packed USING betree (id) WITH (log_pages = 2);
		CREATE INDEX packed_v ON packed USING betree (v text_pattern_ops DESC) INCLUDE (id);
		INSERT INTO packed SELECT g * 7919 % 20011, 'new' FROM generate_series(1, 20000) g;
		DELETE FROM packed WHERE id % 2 = 0));
	my $definitions =
		"SELECT string_agg(pg_get_indexdef(indexrelid), '; ' ORDER BY 1)"
	  . " FROM pg_index WHERE indrelid = 'packed'::regclass";
	my $before = $node->safe_psql('postgres', $definitions);
	my $load = start_load(
		$node,
		"\\set i random(1, 20000)\nUPDATE packed SET v = 'changed' WHERE id = :i;\n"
		  . "DELETE FROM packed WHERE id = :i + 1;\nINSERT INTO packed SELECT :i + 1, 'more'"
		  . " WHERE NOT EXISTS (SELECT FROM packed WHERE id = :i + 1);\n",
		clients => 1,
		transactions => 3000);
	$node->command_ok(
		[
			'pg_repack', '-d',
			'postgres', '-t',
			'packed', '--no-superuser-check'
		],
		'pg_repack of a table whose key is a unique betree');
	ok(finish_load($load), 'while it is changed') or diag($load->{err});
	is($node->safe_psql('postgres', $definitions),
		$before, 'the definitions are as before');
	index_ok($node, 'packed_id');
	index_ok($node, 'packed_v');
}

# REPACK CONCURRENTLY looks for changed rows by the identity
SKIP:
{
	skip 'REPACK is of PostgreSQL 19', 3 if $version < 19;
	$node->safe_psql(
		'postgres', q(
		CREATE TABLE repacked (id int NOT NULL, v text);
		CREATE UNIQUE INDEX repacked_id ON repacked USING betree (id) WITH (log_pages = 2);
		CREATE INDEX repacked_v ON repacked USING betree (v);
		INSERT INTO repacked SELECT g * 7919 % 20011, 'new' FROM generate_series(1, 20000) g;
		DELETE FROM repacked WHERE id % 2 = 0));
	($ret, $out, $err) =
	  $node->psql('postgres', 'REPACK (CONCURRENTLY) repacked');
	like(
		$err,
		qr/has no identity index/,
		'REPACK CONCURRENTLY wants an identity');
	$node->safe_psql('postgres',
		'ALTER TABLE repacked REPLICA IDENTITY USING INDEX repacked_id');
	my $load = start_load(
		$node,
		"\\set i random(1, 20000)\nUPDATE repacked SET v = 'changed' WHERE id = :i;\n"
		  . "DELETE FROM repacked WHERE id = :i + 1;\n",
		clients => 1,
		transactions => 3000);
	$node->safe_psql('postgres', 'REPACK (CONCURRENTLY) repacked');
	ok(finish_load($load), 'REPACK CONCURRENTLY while the table is changed')
	  or diag($load->{err});
	index_ok($node, 'repacked_id');
	index_ok($node, 'repacked_v');
	$node->safe_psql('postgres', 'REPACK repacked USING INDEX repacked_id');
	index_ok($node, 'repacked_id');
}

$node->stop;
done_testing();
