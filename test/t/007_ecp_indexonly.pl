# Index-only scans of ecp, while others insert, delete, VACUUM and let rows
# move to other clusters: every scan returns exactly the rows and values that
# its snapshot sees in the table, on the primary and on a standby, where replay
# waits for no reader.  A crash and a dump keep INCLUDE columns.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($primary, $standby) = ecp_primary_and_standby('primary',
	conf =>
	  "wal_consistency_checking = 'generic'\nfsync = off\nmax_standby_streaming_delay = -1\n"
);

load_vecs($primary, 'source', 'base.bvecs', limit => 4000);
load_vecs($primary, 'queries', 'query.bvecs', limit => 20);
$primary->safe_psql(
	'postgres', q(
	CREATE TABLE t (id int, v bytea, name text);
	INSERT INTO t SELECT id, v, 'row ' || id FROM source WHERE id < 1000;
	CREATE INDEX ti ON t USING ecp (v) INCLUDE (id, name);
	VACUUM t;
	CREATE TABLE wrong (what text);

	-- all rows and their values by the index and by the table
	CREATE FUNCTION compare(q int) RETURNS text LANGUAGE plpgsql
	SET ecp.iterative_scan = relaxed_order SET jit = off AS $$
	DECLARE
		query text := 'SELECT count(*) || '' rows, hash '' || coalesce(sum(hashtext(r::text)::bigint), 0)
			FROM (SELECT id, name, v FROM t ORDER BY v <-> (SELECT v FROM queries WHERE id = $1)
				  LIMIT 10000000) r';
		line text;
		plan text := '';
		by_index text;
		by_table text;
	BEGIN
		SET LOCAL enable_seqscan = off;
		SET LOCAL enable_sort = off;
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '$1', q::text) LOOP
			plan := plan || line;
		END LOOP;
		IF plan !~ 'Index Only Scan using ti' THEN
			RETURN plan;
		END IF;
		EXECUTE query INTO by_index USING q;
		SET LOCAL enable_indexscan = off;
		SET LOCAL enable_indexonlyscan = off;
		SET LOCAL enable_seqscan = on;
		SET LOCAL enable_sort = on;
		EXECUTE query INTO by_table USING q;
		IF by_index <> by_table THEN
			RETURN by_index || ' by the index, ' || by_table || ' by the table';
		END IF;
		RETURN '';
	END $$));
replayed($primary, $standby);

# each client changes rows of its own, see 005_ecp_concurrently.pl
my $load = start_load(
	$primary, q(
\set id 1000 * :client_id + random(0, 899)
\set q random(0, 19)
\set kind random(1, 20)
\if :kind < 3
DELETE FROM t WHERE id BETWEEN :id AND :id + 100;
\elif :kind < 6
VACUUM t;
\elif :kind = 6
SELECT ecp_maintain('ti');
\elif :kind = 7
UPDATE t SET name = repeat('longer ', 10) || id WHERE id BETWEEN :id AND :id + 20;
\elif :kind < 13
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO wrong SELECT compare FROM compare(:q) WHERE compare <> '';
COMMIT;
\else
INSERT INTO t SELECT id, v, 'new ' || id FROM source WHERE id BETWEEN :id AND :id + 30;
\endif
),
	clients => 4,
	transactions => 250);

# meanwhile on the standby
ask_standby(
	$standby,
	rounds => 60,
	sql => sub { "SELECT compare($_[0] % 20)" },
	right => sub { $_[0] eq '' });
ok(finish_load($load), 'the load ran to its end') or diag($load->{err});
none_wrong($primary, 'every scan found all rows of its snapshot');

# When all is quiet, no row is looked up in the table.  To freeze, VACUUM waits
# for pages that others are writing out, which it passes over else; and without
# INDEX_CLEANUP it leaves dead rows where they are on fewer than 2 % of the pages,
# which then are not all visible.
$primary->safe_psql('postgres', 'VACUUM (FREEZE, INDEX_CLEANUP ON) t');
my $fetches = q(SET enable_seqscan = off; SET ecp.probes = 10;
	EXPLAIN (ANALYZE, COSTS OFF) SELECT id FROM t
	ORDER BY v <-> (SELECT v FROM queries WHERE id = 1) LIMIT 50);
like(
	$primary->safe_psql('postgres', $fetches),
	qr/Heap Fetches: 0/,
	'no visits to the table after VACUUM');
is($primary->safe_psql('postgres', 'SELECT compare(1)'),
	'', 'all rows after VACUUM');
index_ok($primary, 'ti');
replayed($primary, $standby);
is($standby->safe_psql('postgres', 'SELECT compare(2)'),
	'', 'all rows on the standby');
like(
	$standby->safe_psql('postgres', $fetches),
	qr/Heap Fetches: 0/,
	'nor on the standby');
index_ok($standby, 'ti', 'sound on the standby');

# a crash, a promotion, a dump
crash($primary);
is($primary->safe_psql('postgres', 'SELECT compare(3)'),
	'', 'all rows after a crash');
index_ok($primary, 'ti', 'sound after a crash');
$standby->promote;
$standby->safe_psql('postgres',
	"INSERT INTO t SELECT id, v, 'promoted' FROM source WHERE id < 100");
is($standby->safe_psql('postgres', 'SELECT compare(4)'),
	'', 'all rows after promotion');
index_ok($standby, 'ti', 'sound after promotion');
$primary->safe_psql('postgres',
	"CREATE INDEX wide ON t USING ecp (v) INCLUDE (name) WITH (include_width='100')"
);
$primary->command_like(
	[ 'pg_dump', '--schema-only', $primary->connstr('postgres') ],
	qr/USING ecp \(v\) INCLUDE \(name\) WITH \(include_width='100'\)/,
	'pg_dump has INCLUDE and its width');

$standby->stop;
$primary->stop;
done_testing();
