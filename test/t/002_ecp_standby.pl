# A streaming standby answers as its primary does, under inserts, deletes,
# splits and VACUUM.  Its queries see a version of the structure that purges
# of the primary do not take from under them: they are cancelled if it is
# needed, and never wrong.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($primary, $standby) = ecp_primary_and_standby('primary',
	conf => "wal_consistency_checking = 'generic'\nfsync = off\n");

load_vecs($primary, 'source', 'base.bvecs', limit => 8000);
load_vecs($primary, 'queries', 'query.bvecs', limit => 20);
$primary->safe_psql(
	'postgres', q(
	CREATE TABLE t (id int, v bytea);
	INSERT INTO t SELECT * FROM source WHERE id < 2000;
	CREATE INDEX ti ON t USING ecp (v);
	CREATE TABLE e (id int, v bytea);
	CREATE INDEX ei ON e USING ecp (v);
	CREATE FUNCTION third(bytea) RETURNS real[] IMMUTABLE LANGUAGE SQL AS $$
		SELECT array_agg(get_byte($1, j) / 3.0::real ORDER BY j)
		FROM generate_series(0, 99) j $$;
	CREATE TABLE h (id int, v real[]);
	CREATE INDEX hi ON h USING ecp (v real_cosine_ops) WITH (vectors = half);
	CREATE INDEX hc ON h USING ecp (v real_ip_ops) WITH (vectors = codes)));

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
\set id random(2000, 7999)
\set kind random(1, 30)
\if :kind = 1
DELETE FROM t WHERE id BETWEEN :id AND :id + 60;
\elif :kind = 2
VACUUM t;
\elif :kind = 3
SELECT ecp_maintain('ei');
\else
INSERT INTO t SELECT id, v FROM source WHERE id BETWEEN :id AND :id + 4;
INSERT INTO e SELECT id, v FROM source WHERE id BETWEEN :id AND :id + 9;
INSERT INTO h SELECT id, third(v) FROM source WHERE id BETWEEN :id AND :id + 4;
\endif
), clients => 2);

# while it goes on, each answer of the standby is exact for its own snapshot
my $start = $primary->safe_psql('postgres', 'SELECT count(*) FROM e');
ask_standby(
	$standby,
	sql => "$set $answer; $exact",
	right => \&nearest_agree);
$primary->poll_query_until('postgres',
	"SELECT count(*) > $start + 2000 FROM e")
  or die 'the load makes no progress';
stop_load($primary, $load);

answers_alike($primary, $standby, "$set $answer");
answers_alike(
	$primary, $standby, q(
	SELECT cluster, block, run, runs, slots, rows FROM ecp_clusters('ti')));
answers_alike(
	$primary, $standby, q(
	SELECT cluster, block, run, runs, slots, rows FROM ecp_clusters('ei')));
answers_alike(
	$primary, $standby, qq($set
	SELECT string_agg(id::text, ',') FROM (SELECT id FROM h
		ORDER BY v $_ (SELECT third(v) FROM queries LIMIT 1) LIMIT 50) n)
) foreach qw(<=> <#>);
index_ok($primary, $_, "$_ is sound on the primary") for qw(ti ei hi hc);
index_ok($standby, $_, "$_ is sound on the standby") for qw(ti ei hi hc);

# An old query of the standby is cancelled before the blocks that it would
# read are used again.  What was replaced before that query began is freed
# first, for that would not disturb it.
$primary->safe_psql('postgres', "SELECT ecp_maintain('ti')");
replayed($primary, $standby);
$standby->append_conf('postgresql.conf',
	'max_standby_streaming_delay = 100ms');
$standby->reload;
my $cursor = $standby->background_psql('postgres', on_error_stop => 0);
$cursor->query("$set BEGIN ISOLATION LEVEL REPEATABLE READ");
$cursor->query(
	q(DECLARE c CURSOR FOR SELECT t.id FROM t
				 ORDER BY t.v <-> (SELECT v FROM queries LIMIT 1)));
is($cursor->query('FETCH 1 FROM c') =~ /^\d+$/, 1, 'the standby reads');
my $purged = 0;
for (1 .. 10)
{
	$primary->safe_psql('postgres',
		'INSERT INTO t SELECT s.id, s.v FROM source s');
	$purged = $primary->safe_psql('postgres',
		q(SELECT purged_pages FROM ecp_maintain('ti')));
	last if $purged > 0;
}
cmp_ok($purged, '>', 0, 'the primary frees pages');
$primary->safe_psql('postgres',
	'INSERT INTO t SELECT s.id, s.v FROM source s');
replayed($primary, $standby);
$standby->poll_query_until(
	'postgres', q(SELECT confl_snapshot > 0
	FROM pg_stat_database_conflicts WHERE datname = 'postgres')
) or die 'no conflict';
pass('the query on the standby was cancelled');
end_sessions($cursor);
answers_alike($primary, $standby, "$set $answer", 'alike after the purge');

# A transaction that changes nothing which is logged is unknown to the standby, so a
# record of page reuse with its id would end no query there.  The primary keeps the
# pages until it ends.
$primary->safe_psql('postgres',
	"DELETE FROM t WHERE id % 3 > 0; SELECT ecp_maintain('ti')");
replayed($primary, $standby);
my $conflicts =
  q(SELECT confl_snapshot FROM pg_stat_database_conflicts WHERE datname = 'postgres');
my $before = $standby->safe_psql('postgres', $conflicts);
my $reader = $standby->background_psql('postgres', on_error_stop => 0);
$reader->query("$set BEGIN ISOLATION LEVEL REPEATABLE READ");
my $count = $reader->query('SELECT count(*) FROM queries');
my $unlogged = $primary->background_psql('postgres');
$unlogged->query('BEGIN; SELECT pg_current_xact_id()');
$primary->safe_psql('postgres', 'VACUUM t');
my $maintain = q(SELECT purged_pages FROM ecp_maintain('ti'));
is($primary->safe_psql('postgres', $maintain),
	0, 'what was replaced since an unlogged transaction began stays');
cmp_ok(
	$primary->safe_psql(
		'postgres', q(SELECT retired_pages FROM ecp_index_stats('ti'))),
	'>', 0,
	'something was replaced');
replayed($primary, $standby);
is($reader->query('SELECT count(*) FROM queries'),
	$count, 'a transaction on the standby goes on');
end_sessions($unlogged);
cmp_ok($primary->safe_psql('postgres', $maintain),
	'>', 0, 'it is freed when that has ended');
$primary->safe_psql('postgres',
	'INSERT INTO t SELECT s.id, s.v FROM source s');
replayed($primary, $standby);
$standby->poll_query_until('postgres', "SELECT ($conflicts) > $before")
  or die 'no conflict';
pass('and the transaction on the standby is cancelled');
end_sessions($reader);
answers_alike($primary, $standby, "$set $answer", 'alike after that');

# and as a primary
$standby->promote;
index_ok($standby, $_, "$_ is sound after promotion") for qw(ti ei hi hc);
$standby->safe_psql('postgres',
	'INSERT INTO t SELECT id, v FROM source WHERE id < 500');
index_ok($standby, 'ti', 'ti takes rows after promotion');

$standby->stop;
$primary->stop;
done_testing();
