# 026_betree_concurrent.pl: many sessions on one betree
#
# Writers, readers and VACUUM at once on one index, with CREATE INDEX and
# REINDEX CONCURRENTLY among them; readers compare what the index gives with
# what they know must be there.  Then index-only scans against VACUUM that
# recycles TIDs.  BETREE_SECONDS makes the load longer.

use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('main',
	conf =>
	  "fsync = off\nmax_connections = 40\nvacuum_cost_delay = 0\nwork_mem = 64kB\n"
);
my $steps = ($ENV{BETREE_SECONDS} || 10) * 40;

# Rows with fixed = true are never touched: every reader must see all of them.
$node->safe_psql(
	'postgres', q(
	CREATE TABLE busy (k int8, id int8, fixed boolean);
	INSERT INTO busy SELECT hashint8extended(i, 1) % 1000000, i, true
		FROM generate_series(1, 5000) i;
	CREATE INDEX busy_k ON busy USING betree (k)
		WITH (log_pages = 2, bloom = on);
	CREATE SEQUENCE busy_id START 10001;
	CREATE TABLE progress (n int8);
	CREATE FUNCTION read_busy() RETURNS void LANGUAGE plpgsql AS $$
	DECLARE n int8; d int8; disorder int8;
	BEGIN
		SELECT count(*) FILTER (WHERE fixed),
			count(*) - count(DISTINCT id),
			count(*) FILTER (WHERE k < before)
		INTO n, d, disorder
		FROM (SELECT *, lag(k) OVER () AS before
			  FROM (SELECT * FROM busy ORDER BY k) s) t;
		IF n <> 5000 OR d <> 0 OR disorder <> 0 THEN
			RAISE 'saw % fixed rows, % twice, % out of order', n, d, disorder;
		END IF;
	END $$;
	CREATE FUNCTION look_up(i int8) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM FROM busy
			WHERE k = hashint8extended(i, 1) % 1000000 AND id = i AND fixed;
		IF NOT FOUND THEN
			RAISE 'row % is missing', i;
		END IF;
	END $$;
));
plan_uses($node, 'SELECT * FROM busy ORDER BY k', 'busy_k',
	set => 'SET enable_seqscan = off; SET enable_sort = off;'
	  . ' SET enable_bitmapscan = off');

my $writer = <<'SQL';
\set n random(1, 30)
\set old random(1, 20000)
INSERT INTO busy SELECT hashint8extended(i, 2) % 1000000, i, false
	FROM (SELECT nextval('busy_id') AS i FROM generate_series(1, :n)) s;
DELETE FROM busy WHERE NOT fixed AND k BETWEEN :old * 40 AND :old * 40 + 800;
SQL
my $reader = <<'SQL';
\set i random(1, 5000)
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_sort = off;
SELECT look_up(:i);
SELECT look_up(5001 - :i);
COMMIT;
SQL
my $scanner = <<'SQL';
BEGIN;
SET LOCAL enable_seqscan = off;
SET LOCAL enable_sort = off;
SET LOCAL enable_bitmapscan = off;
SELECT read_busy();
COMMIT;
SQL

my @loads = (
	start_load($node, $writer, clients => 8),
	start_load($node, $reader, clients => 2),
	start_load($node, $scanner, clients => 1));

# at each step some maintenance, until enough rows have been written
my $round = 0;
while ($node->safe_psql('postgres', 'SELECT last_value FROM busy_id') <
	10001 + $steps * 50)
{
	$round++;
	$node->safe_psql('postgres', 'VACUUM busy');
	$node->safe_psql('postgres', "SELECT betree_flush('busy_k')")
	  if $round % 3 == 0;
	if ($round % 4 == 0)
	{
		$node->safe_psql('postgres',
			'CREATE INDEX CONCURRENTLY busy_other ON busy USING betree (k)'
			  . ' WITH (log_pages = 0, bloom = on)');
		index_ok($node, 'busy_other',
			"round $round: CREATE INDEX CONCURRENTLY under load");
		$node->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY busy_other');
		index_ok($node, 'busy_other',
			"round $round: REINDEX CONCURRENTLY under load");
		$node->safe_psql('postgres', 'DROP INDEX busy_other');
	}
	index_ok($node, 'busy_k', "round $round: sound under load")
	  if $round % 5 == 0;
}
my @names = ('writers', 'lookups', 'scans');
foreach my $load (@loads)
{
	my $name = shift @names;

	stop_load($node, $load);
	unlike($load->{err}, qr/ERROR|FATAL|PANIC|aborted/, "$name met no error")
	  or diag($load->{err});
}
index_ok($node, 'busy_k', 'sound after the load');
is( $node->safe_psql(
		'postgres', q(
		SET enable_seqscan = off; SET enable_bitmapscan = off;
		SELECT count(*), sum(id) FROM (SELECT * FROM busy ORDER BY k) s)),
	$node->safe_psql(
		'postgres',
		'SET enable_indexscan = off; SET enable_bitmapscan = off;'
		  . ' SELECT count(*), sum(id) FROM busy'),
	'index and table agree');

# Index-only scans against VACUUM.  Every second row is dead when the cursor
# begins.  It has the TIDs of a leaf, the dead ones too, and the visibility map
# does not vouch for their pages yet.  If VACUUM went on now, it would free
# those TIDs and mark the pages all-visible, and the cursor would return the
# dead rows unseen.  So VACUUM must wait for the cursor to leave the leaf.
$node->safe_psql(
	'postgres', q(
	CREATE TABLE recycled (k int8);
	CREATE INDEX recycled_k ON recycled USING betree (k)
		WITH (log_pages = 1);
	INSERT INTO recycled SELECT i FROM generate_series(1, 4000) i;
	VACUUM (FREEZE) recycled;
	DELETE FROM recycled WHERE k % 2 = 0));
my $set = 'SET enable_seqscan = off; SET enable_bitmapscan = off;'
  . ' SET enable_sort = off';
like(
	$node->safe_psql(
		'postgres', "$set; EXPLAIN SELECT k FROM recycled ORDER BY k"),
	qr/Index Only Scan using recycled_k/,
	'the cursor will be an index-only scan');

my $cursor = $node->background_psql('postgres');
$cursor->query_safe(
	"BEGIN; $set; DECLARE c CURSOR FOR SELECT k FROM recycled ORDER BY k");
my $got = $cursor->query_safe('FETCH 1 FROM c');

my $vacuum = $node->background_psql('postgres');
$vacuum->query_until(qr/started/, "\\echo started\nVACUUM recycled;\n");
ok( $node->poll_query_until(
		'postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity"
		  . " WHERE query LIKE 'VACUUM recycled%' AND wait_event IN ('BufferPin', 'BufferCleanup')"
	),
	'VACUUM waits for the cursor');
$got .= "\n" . $cursor->query_safe('FETCH ALL FROM c');
$cursor->query_safe('COMMIT');
$vacuum->query_safe('SELECT 1');
my @rows = grep { /^\d+$/ } split /\n/, $got;
is(scalar(@rows), 2000, 'the cursor returns all rows of its snapshot');
is(scalar(grep { $_ % 2 == 0 } @rows), 0, 'and no dead one');
$node->safe_psql('postgres',
	'INSERT INTO recycled SELECT -i FROM generate_series(1, 2000) i');
is($node->safe_psql('postgres', "$set; SELECT count(k) FROM recycled"),
	4000, 'TIDs are used again');
index_ok($node, 'recycled_k');

# The same of rows that are in a log only, while the Bloom filter of their leaf
# excludes them.  They fill several pages of the table, of which the cursor pins
# the first.
$node->safe_psql(
	'postgres', q(
	CREATE TABLE logged (k int8, id int8);
	INSERT INTO logged SELECT i FROM generate_series(1, 4000) i WHERE i <> 500;
	CREATE INDEX logged_k ON logged USING betree (k)
		WITH (log_pages = 4, bloom = on);
	INSERT INTO logged SELECT 500, i FROM generate_series(1, 600) i;
	VACUUM (FREEZE) logged;
	DELETE FROM logged WHERE id % 2 = 0));
is( $node->safe_psql(
		'postgres',
		"SELECT messages_in_logs FROM betree_index_stats('logged_k')"),
	600,
	'the rows are in a log');
like(
	$node->safe_psql(
		'postgres', "$set; EXPLAIN SELECT k FROM logged WHERE k = 500"),
	qr/Index Only Scan using logged_k/,
	'the cursor will be an index-only scan');
$cursor->query_safe(
	'BEGIN; DECLARE c CURSOR FOR SELECT k FROM logged WHERE k = 500');
$got = $cursor->query_safe('FETCH 1 FROM c');
$vacuum->query_until(qr/started/, "\\echo started\nVACUUM logged;\n");
ok( $node->poll_query_until(
		'postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity"
		  . " WHERE query LIKE 'VACUUM logged%' AND wait_event IN ('BufferPin', 'BufferCleanup')"
	),
	'VACUUM waits for the cursor');
$got .= "\n" . $cursor->query_safe('FETCH ALL FROM c');
$cursor->query_safe('COMMIT');
$vacuum->query_safe('SELECT 1');
is(scalar(grep { /^500$/ } split /\n/, $got),
	300, 'the cursor returns the rows of its snapshot');
index_ok($node, 'logged_k');
$cursor->quit;
$vacuum->quit;

$node->stop;
done_testing();
