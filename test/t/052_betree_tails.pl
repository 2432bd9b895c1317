# One key in several tails: the rows of a key, by their TIDs, take so many leaves
# that several intervals of a node's children, with a log page each, have messages
# of it.  Scans, a unique index, VACUUM, splits and drains must find all of them, on
# a standby too.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../perl";
use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($primary, $standby) = ecp_primary_and_standby('main',
	conf => "wal_consistency_checking = 'generic'\nfsync = off\n"
	  . "max_standby_streaming_delay = -1\nwork_mem = 64kB\n");

# Log pages that take appends, and have messages of an int8
sub tails_with
{
	my ($index, $key) = @_;
	my $n = 0;

	$primary->safe_psql('postgres', 'CHECKPOINT');
	my $path = relation_path($primary, $index);
	for my $block (1 .. relation_blocks($primary, $index) - 1)
	{
		my $page = read_block($path, $block);
		my ($lower) = unpack('x12 S', $page);

		# a LOG without a number
		next unless unpack("x@{[8192 - 8]} C", $page) == 4;
		next unless unpack("x@{[8192 - 32]} L", $page) == 0;
		$n++
		  if grep { unpack("x@{[$_ & 0x7FFF]} x8 q", $page) == $key }
		  unpack("x24 L@{[($lower - 24) / 4]}", $page);
	}
	return $n;
}

# What the index finds, here and on the standby, is what the table has
sub answers
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($table, $index, $what) = @_;
	my $by_index = 'SET enable_seqscan = off; SET enable_bitmapscan = off;';

	index_ok($primary, $index, "$what: checker finds $index sound");
	for my $cond (
		'k = 500',
		'k BETWEEN 499 AND 501',
		'k >= 500 AND k < 600',
		'k = 500 AND id % 10 = 3')
	{
		my $select =
		  "SELECT count(*), sum(id), sum(n), min(ctid), max(ctid) FROM ";
		my $expected = $primary->safe_psql('postgres',
				"SET enable_indexscan = off; SET enable_bitmapscan = off;"
			  . "SET enable_indexonlyscan = off; $select $table WHERE $cond");
		my $got = answers_alike(
			$primary,
			$standby,
			"$by_index $select (SELECT *, ctid FROM $table WHERE $cond ORDER BY k OFFSET 0) s",
			"$what: standby, $cond");
		is($got, $expected, "$what: $cond");
		$got = $primary->safe_psql('postgres',
			"$by_index $select (SELECT *, ctid FROM $table WHERE $cond ORDER BY k DESC OFFSET 0) s"
		);
		is($got, $expected, "$what: $cond, backward");
	}
	index_ok($standby, $index, "$what: and on the standby");
}

# A new version has its place near the old one's, so the order of the updates is
# that of the TIDs: by id % 61, all over the key, each time.
my $update = q{
DO $$ BEGIN
	FOR i IN %d .. %d LOOP
		UPDATE t SET n = n + 1 WHERE hashint4(id) & 63 = i;
	END LOOP;
END $$;
};

$primary->safe_psql(
	'postgres', q{
CREATE TABLE t (k int8, id int, n int, pad text DEFAULT repeat('x', 56))
	WITH (fillfactor = 40, autovacuum_enabled = off);
INSERT INTO t SELECT CASE WHEN g % 5 < 4 THEN 500 ELSE g % 1000 END, g, 0 FROM generate_series(1, 16000) g;
-- wide items, so that the key takes many leaves
CREATE INDEX t_k ON t USING betree (k) INCLUDE (pad) WITH (log_pages = 40);
-- no update is HOT
CREATE INDEX t_n ON t (n);
});
$primary->safe_psql('postgres', sprintf($update, 0, 20));
cmp_ok(tails_with('t_k', 500), '>=', 3, 'a key is in several tails');
answers('t', 't_k', 'updates');

$primary->safe_psql('postgres',
	'DELETE FROM t WHERE hashint4(id) & 3 = 1; VACUUM t;');
answers('t', 't_k', 'VACUUM');
$primary->safe_psql('postgres', sprintf($update, 20, 40));
cmp_ok(tails_with('t_k', 500), '>=', 3, 'again in several tails');

my $nodes = $primary->safe_psql('postgres',
	"SELECT nodes FROM betree_index_stats('t_k')");
$primary->safe_psql('postgres',
	'INSERT INTO t SELECT 500, g, 0 FROM generate_series(16001, 46000) g;'
	  . sprintf($update, 0, 5));
cmp_ok(
	$primary->safe_psql(
		'postgres', "SELECT nodes FROM betree_index_stats('t_k')"),
	'>', $nodes,
	'a node has been split');
answers('t', 't_k', 'splits');
$primary->safe_psql('postgres', "SELECT betree_flush('t_k')");
answers('t', 't_k', 'drain');
$primary->safe_psql('postgres',
	'DELETE FROM t WHERE k = 500 AND id > 16000; VACUUM t;');
answers('t', 't_k', 'leaves freed');

# A unique index: one row has so many versions, which a snapshot may still see, that
# they take many leaves, of several tails.  A check looks at all of them.
$primary->safe_psql(
	'postgres', q{
CREATE TABLE q (k int8, id int, n int, pad text DEFAULT repeat('x', 56))
	WITH (autovacuum_enabled = off);
INSERT INTO q SELECT g, g, 0 FROM generate_series(1, 8000) g;
CREATE UNIQUE INDEX q_k ON q USING betree (k) INCLUDE (pad) WITH (log_pages = 40);
CREATE INDEX q_n ON q (n);
});
my $old = $primary->background_psql('postgres');
$old->query_safe(
	'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM q');
$primary->safe_psql(
	'postgres', q{
CREATE PROCEDURE touch(times int) LANGUAGE plpgsql AS $$ BEGIN
	FOR i IN 1 .. times LOOP
		UPDATE q SET n = n + 1 WHERE k = 600;
		UPDATE q SET n = n + 1 WHERE k = 1 + (i * 7919) % 7998;
		COMMIT;
	END LOOP;
END $$;
CALL touch(2500);
SELECT betree_flush('q_k');
CALL touch(800);
});
cmp_ok(tails_with('q_k', 600), '>=', 1, 'versions of a row are in tails');
for my $round ('many versions', 'dead versions')
{
	my ($ret, undef, $stderr) =
	  $primary->psql('postgres', 'INSERT INTO q VALUES (600, -1, 0)');
	like(
		$stderr,
		qr/duplicate key value violates unique constraint "q_k"/,
		"$round: a duplicate is refused");
	answers_alike(
		$primary, $standby,
		'SET enable_seqscan = off; SELECT id, n FROM q WHERE k = 600',
		"$round: standby finds the row");
	index_ok($primary, 'q_k', "$round: checker finds q_k sound");
	index_ok($standby, 'q_k', "$round: and on the standby");
	if ($round eq 'many versions')
	{
		$old->query_safe('COMMIT');
		$primary->safe_psql('postgres', 'VACUUM q; CALL touch(200);');
	}
}
$old->quit;
$primary->safe_psql('postgres',
	'DELETE FROM q WHERE k = 600; INSERT INTO q VALUES (600, 600, 0)');
index_ok($primary, 'q_k');

$standby->promote;
answers_promoted();

sub answers_promoted
{
	$standby->safe_psql('postgres', sprintf($update, 0, 2));
	index_ok($standby, 't_k', 'after promotion');
	return index_ok($standby, 'q_k', 'after promotion');
}

done_testing();
