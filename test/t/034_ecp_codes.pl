# An index that has only codes, whose exact distances are those of the table's rows:
# each answer of a standby, while the primary inserts, updates, deletes and vacuums,
# is exact for the snapshot that it was given in, and so it is after a crash.  Some
# vectors are stored out of line.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($primary, $standby) = ecp_primary_and_standby('primary',
	conf =>
	  "wal_consistency_checking = 'generic'\nfsync = off\nautovacuum = off\n"
);

load_vecs($primary, 'source', 'base.bvecs', limit => 4000, type => 'real[]');
load_vecs($primary, 'queries', 'query.bvecs', limit => 10, type => 'real[]');
$primary->safe_psql(
	'postgres', q(
	ALTER TABLE source ALTER v SET STORAGE external;
	UPDATE source SET v = v || v || v || v || v;
	UPDATE queries SET v = v || v || v || v || v;
	CREATE TABLE t (id int, n int, v real[]);
	ALTER TABLE t ALTER v SET STORAGE external;
	INSERT INTO t SELECT id, 0, v FROM source WHERE id < 1500;
	CREATE INDEX ti ON t USING ecp (v) WITH (vectors = codes)));
cmp_ok(
	$primary->safe_psql(
		'postgres',
		q(SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = 't'::regclass)
	),
	'>',
	1500 * 2560,
	'vectors are out of line');

my $set = 'SET enable_seqscan = off; SET ecp.probes = 1000000;';
my ($answer, $exact) = nearest_questions();

plan_uses(
	$primary,
	'SELECT id FROM t ORDER BY v <-> (SELECT v FROM queries LIMIT 1) LIMIT 10',
	'ti',
	set => $set);

replayed($primary, $standby);
my $load = start_load(
	$primary, q(
\set id random(1500, 3999)
\set kind random(1, 12)
\if :kind = 1
DELETE FROM t WHERE id BETWEEN :id AND :id + 60;
\elif :kind = 2
VACUUM t;
\elif :kind = 3
UPDATE t SET n = n + 1 WHERE id BETWEEN :id - 1500 AND :id - 1400;
\elif :kind = 4
UPDATE t SET v = (SELECT v FROM source WHERE source.id = :id) WHERE id = :id - 1500;
\else
INSERT INTO t SELECT id, 0, v FROM source WHERE id BETWEEN :id AND :id + 4;
\endif
), clients => 2);
ask_standby(
	$standby,
	sql => "$set $answer; $exact",
	right => \&nearest_agree);
ok( nearest_agree(
		$primary->safe_psql(
			'postgres',
			"BEGIN ISOLATION LEVEL REPEATABLE READ; $set $answer; $exact")),
	'so is one of the primary');
$primary->poll_query_until('postgres',
	'SELECT count(*) > 2000 FROM t WHERE id >= 1500')
  or die 'the load makes no progress';
stop_load($primary, $load);

answers_alike($primary, $standby, "$set $answer");
index_ok($primary, 'ti', 'sound on the primary');
index_ok($standby, 'ti', 'sound on the standby');

# rows that were committed are there after a crash, others are not
$primary->safe_psql('postgres', 'CHECKPOINT');
$primary->safe_psql('postgres',
	'INSERT INTO t SELECT id + 10000, 0, v FROM queries');
$primary->psql('postgres',
	'BEGIN; INSERT INTO t SELECT id + 20000, 0, v FROM source; SELECT pg_terminate_backend(pg_backend_pid())'
);
$primary->stop('immediate');
$primary->start;
index_ok($primary, 'ti', 'sound after a crash');
my $after = $primary->safe_psql('postgres', "$set $answer; $exact");
ok(nearest_agree($after), 'exact after a crash');
is( $primary->safe_psql(
		'postgres',
		"$set SELECT count(*) FROM queries q, LATERAL (SELECT id, v <-> q.v AS d FROM t ORDER BY v <-> q.v LIMIT 1) n WHERE d = 0"
	),
	10,
	'with the last rows');
replayed($primary, $standby);
answers_alike($primary, $standby, "$set $answer");
$_->stop foreach $standby, $primary;
done_testing();
