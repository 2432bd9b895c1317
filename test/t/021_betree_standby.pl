# A standby replays the records of a betree index while it answers queries.
# wal_consistency_checking makes redo compare every page with the primary's.
# Both must answer alike, at the end and after promotion.  The checker, too, has
# to do with rows that come while it reads.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($primary, $standby) = ecp_primary_and_standby('main',
	conf =>
	  "wal_consistency_checking = 'generic'\nfsync = off\nmax_standby_streaming_delay = -1\n"
	  . "work_mem = 64kB\n");

$primary->safe_psql(
	'postgres', q{
CREATE TABLE t (k int8, s text);
CREATE INDEX t_k ON t USING betree (k) WITH (log_pages = 2, log_levels = 2);
CREATE INDEX t_s ON t USING betree (s, k DESC);
CREATE INDEX t_e ON t USING betree (reverse(s)) WITH (log_pages = 12, bloom = on);
INSERT INTO t SELECT (g * 7919) % 100003, md5(g::text) FROM generate_series(1, 20000) g;
-- rows share items of the leaves
CREATE INDEX t_d ON t USING betree ((k % 10)) WITH (log_pages = 2);
-- entries of its old versions leave the index without VACUUM
CREATE TABLE o (id int, n int);
CREATE UNIQUE INDEX o_id ON o USING betree (id) WITH (log_pages = 1);
CREATE INDEX o_n ON o (n);
INSERT INTO o SELECT g, 0 FROM generate_series(1, 1000) g;
CREATE UNLOGGED TABLE u (k int8, v bytea);
CREATE INDEX u_k ON u USING betree (k);
CREATE INDEX u_v ON u USING ecp (v);
});

replayed($primary, $standby);
my $load = start_load(
	$primary, q{
\set k random(1, 100000)
INSERT INTO t SELECT (:k + g * 37) % 100000, md5((:k + g)::text) FROM generate_series(1, 40) g;
DELETE FROM t WHERE k BETWEEN :k AND :k + 50;
UPDATE o SET n = n + 1 WHERE id / 100 = :k % 10;
},
	transactions => 150,
	clients => 2,
	scripts => [
		"VACUUM t;\nSELECT count(*) FROM t WHERE k < 1000;\n",

		# short ranges, which merge the pages of the logs that they read
		"SET enable_seqscan = off;\n"
		  . "SELECT count(*) FROM generate_series(0, 255) g, LATERAL (SELECT FROM t"
		  . " WHERE reverse(s) BETWEEN lpad(to_hex(g), 2, '0')"
		  . " AND lpad(to_hex(g), 2, '0') || '3' OFFSET 0) l;\n"
	]);

# Each snapshot must see the same rows through the index as without it
my $wrong = 0;
my $alarms = '';
my $rounds = 0;
while ($load->{run}->pumpable && $rounds < 60)
{
	my $low = ($rounds * 1601) % 100000;
	my $out = $standby->safe_psql(
		'postgres', qq{
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;
SELECT count(*), sum(k), min(s), max(s) FROM t WHERE k BETWEEN $low AND $low + 3000;
SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off;
SELECT count(*), sum(k), min(s), max(s) FROM t WHERE k BETWEEN $low AND $low + 3000;
COMMIT;});
	my @lines = split /\n/, $out;
	$wrong++ if $lines[0] ne $lines[1];

	$out = $standby->safe_psql(
		'postgres', qq{
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM t;
SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off;
SELECT count(*), sum(n) FROM o WHERE id > 0;
SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off;
SELECT count(*), sum(n) FROM o WHERE id > 0;
COMMIT;});
	@lines = split /\n/, $out;
	$wrong++ if $lines[1] ne $lines[2];

	# lookups, through the filters of the logs and those of the leaves; of
	# these keys some are there
	$out = $standby->safe_psql(
		'postgres', qq{
BEGIN ISOLATION LEVEL REPEATABLE READ;
SET LOCAL enable_seqscan = off;
SELECT count(*) FROM generate_series($low, $low + 300) g,
	LATERAL (SELECT FROM t WHERE reverse(s) = reverse(md5(g::text)) OFFSET 0) l;
SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = off;
SET LOCAL enable_bitmapscan = off;
SELECT count(*) FROM t WHERE s IN
	(SELECT md5(g::text) FROM generate_series($low, $low + 300) g);
COMMIT;});
	@lines = split /\n/, $out;
	$wrong++ if $lines[0] ne $lines[1];

	$standby->psql(
		'postgres',
		"SELECT betree_index_check('t_k', true)",
		stderr => \my $stderr);
	$alarms .= $stderr;
	$rounds++;
	$load->{run}->pump_nb;
}
finish_load($load);
ok($rounds > 0, 'queries ran on the standby while it replayed');
is($wrong, 0, 'index and sequential scans agree there');
is($alarms, '', 'and the checker raises no false alarm');

my $plan = $standby->safe_psql(
	'postgres', q{
SET enable_seqscan = off; SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT k FROM t WHERE k BETWEEN 5 AND 50});
like($plan, qr/Index Scan using t_k/, 'no index-only scan in recovery');
cmp_ok(
	$primary->safe_psql(
		'postgres',
		"SELECT sum(n_tup_upd) / max(leaves) FROM pg_stat_user_tables,"
		  . " betree_index_stats('o_id') WHERE relname = 'o'"),
	'>', 400,
	'old versions have left the index');

# A snapshot there needs versions that are dead to everyone here.  All of them are
# on one page of the table, which is not pruned: only the index forgets them.
$primary->safe_psql(
	'postgres', q{
CREATE TABLE h (id int, n int) WITH (autovacuum_enabled = off);
INSERT INTO h SELECT g, 0 FROM generate_series(1, 50) g;
CREATE UNIQUE INDEX h_id ON h USING betree (id);
CREATE INDEX h_n ON h (n)});
replayed($primary, $standby);
my $old = $standby->background_psql('postgres');
my $seven = 'SELECT n FROM h WHERE id = 7';
$old->query_safe('SET enable_seqscan = off; SET enable_bitmapscan = off;'
	  . ' BEGIN ISOLATION LEVEL REPEATABLE READ');
cmp_ok($old->query_safe($seven), '==', 0, 'a snapshot of the standby');
my $entries = $primary->safe_psql(
	'postgres', q{
DO $$ BEGIN FOR i IN 1..60 LOOP UPDATE h SET n = i WHERE id = 7; COMMIT; END LOOP; END $$;
SELECT sum(items) FROM generate_series(1, pg_relation_size('h_id') /
	current_setting('block_size')::int - 1) b, betree_node_info('h_id', b)
WHERE kind IN ('leaf', 'log')});
cmp_ok($entries, '<', 90, 'dead versions have left the index of the primary');
ok( $standby->poll_query_until(
		'postgres',
		"SELECT count(*) > 0 FROM pg_stat_activity"
		  . " WHERE wait_event = 'RecoveryConflictSnapshot'"),
	'redo waits for the snapshot');
cmp_ok($old->query_safe($seven), '==', 0, 'which still sees its version');
$old->query_safe('COMMIT');
$old->quit;
answers_alike(
	$primary, $standby,
	"SET enable_seqscan = off; $seven",
	'then both see the last one');

foreach my $sql (
	'SELECT count(*), sum(k) FROM t WHERE k BETWEEN 1000 AND 90000',
	'SELECT md5(string_agg(s || k, NULL ORDER BY s, k DESC)) FROM t WHERE s > \'5\'',
	'SELECT count(*), sum(k), md5(min(s)) FROM t WHERE k % 10 = 3',
	'SELECT k FROM t ORDER BY k DESC LIMIT 100')
{
	answers_alike($primary, $standby,
		"SET enable_seqscan = off; SET enable_bitmapscan = off; $sql", $sql);
}
index_ok($primary, $_) foreach ('t_k', 't_s', 't_e', 't_d', 'o_id', 'h_id');
index_ok($standby, $_, "checker on the standby finds $_ sound")
  foreach ('t_k', 't_s', 't_e', 't_d', 'o_id', 'h_id');

foreach my $call ("betree_index_check('u_k')", "ecp_index_check('u_v')")
{
	my ($ret, undef, $stderr) = $standby->psql('postgres', "SELECT $call");

	like(
		$stderr,
		qr/unlogged relations during recovery/,
		"$call is refused on a standby");
}

$standby->promote;
$standby->safe_psql(
	'postgres', q{
INSERT INTO t SELECT g, 'after' FROM generate_series(1, 5000) g;
VACUUM t});
index_ok($standby, $_, "checker after promotion finds $_ sound")
  foreach ('t_k', 't_s', 't_e', 't_d', 'o_id', 'h_id');

$standby->stop;
$primary->stop;
done_testing();
