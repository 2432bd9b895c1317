# Whatever goes over many rows or clusters, or over the values of a condition, ends
# by statement_timeout: none of these statements has a loop that does not look at
# interrupts and after which there is nothing that does.  Each takes ten times as
# long or more if it is not cancelled.
use strict;
use warnings;

use EcpTest;
use Test::More;

my $node = ecp_cluster('main', conf => "fsync = off\nautovacuum = off\n");
$node->safe_psql(
	'postgres', q(
	CREATE TABLE t (id int, v real[], a int, doc int, tags int[]);
	INSERT INTO t SELECT i, (SELECT array_agg((hashint8extended(i * 8 + j, 0) & 1023)::real)
			FROM generate_series(1, 8) j), i % 1000, i / 4, ARRAY[i % 7, i % 11]
		FROM generate_series(1, 100000) i;
	CREATE INDEX t_v ON t USING ecp (v, a, tags);
	CREATE INDEX t_plain ON t USING ecp (v) INCLUDE (id);
	CREATE INDEX t_b ON t USING betree (a, id);
	CREATE TABLE b AS SELECT i % 1000 AS a, i AS id FROM generate_series(1, 1000000) i;
	CREATE INDEX b_b ON b USING betree (a, id);
	-- with work to do
	CREATE TABLE w AS SELECT * FROM t;
	CREATE INDEX w_v ON w USING ecp (v) WITH (cluster_size = 1);
	CREATE INDEX w_b ON w USING betree (doc) WITH (log_pages = 1);
	INSERT INTO w SELECT * FROM t;
	DELETE FROM w WHERE id % 3 = 0;
	VACUUM ANALYZE t, b;
	ALTER SYSTEM SET enable_seqscan = off;
	ALTER SYSTEM SET enable_sort = off;
	SELECT pg_reload_conf()));

my $q = "(SELECT v FROM t WHERE id = 7)";
my $no = "md5(id::text || v::text) = ''";

# conditions that no row fulfils, so that nothing comes after the loop; md5() does not
# look at interrupts
plan_uses($node, "SELECT id FROM t WHERE $no ORDER BY v <-> $q LIMIT 3",
	't_plain');
my $long = "md5(lpad(id::text, 20000, 'x')) = ''";
my @statements = (
	# all clusters are read in a moment, and then rows are tested
	"SET ecp.probes = 100000; SET statement_timeout = '200ms'; SELECT id FROM t WHERE $long ORDER BY v <-> $q LIMIT 3",
	"SELECT id FROM t WHERE $no ORDER BY v <-> $q LIMIT 3",
	"SELECT id FROM t WHERE a < 900 AND $no ORDER BY v <-> $q LIMIT 3",
	"SELECT id FROM t WHERE tags && '{3}' AND $no ORDER BY v <-> $q LIMIT 3",
	"SELECT id FROM t WHERE $no ORDER BY v <-> $q",
	"SET ecp.iterative_scan = relaxed_order; SELECT id FROM t WHERE $no ORDER BY v <-> $q LIMIT 3",
	"SELECT count(*) FROM (SELECT id FROM t ORDER BY v <-> $q OFFSET 0) r",
	"SELECT id FROM t WHERE a = ANY (ARRAY(SELECT i + (1::int8 << 40) FROM generate_series(1, 1000000) i)) ORDER BY v <-> $q LIMIT 3",
	"SELECT id FROM t WHERE tags && ARRAY(SELECT hashint4(i) FROM generate_series(1, 1000000) i) ORDER BY v <-> $q LIMIT 3",
	"SELECT id FROM t WHERE a = ANY (ARRAY(SELECT -i FROM generate_series(1, 1000000) i))",
	(   map { "SELECT * FROM $_" }
		  "ecp_knn_batch('t_plain', 'SELECT v FROM t LIMIT 1000', 100)",
		"ecp_knn_batch('t_v', 'SELECT v FROM t LIMIT 1000', 10, 'a = 5')",
		"ecp_knn_batch('t_v', 'SELECT v FROM t LIMIT 1000', 10, 'doc < 100')",
		"ecp_knn_exact('t_plain', 'SELECT v FROM t LIMIT 1000', 10)",
		"ecp_knn_exact('t_plain', 'SELECT v FROM t LIMIT 1000', 10, 'doc < 100000')",
		"ecp_knn_fetch('t_plain', (SELECT array_agg(v) FROM (SELECT v FROM t LIMIT 1000) r), '{id}', 100)",
		"ecp_knn_groups('t_plain', $q, 'doc', 10000)",
		"ecp_knn_max_sim('t_plain', 'SELECT v FROM t LIMIT 100', 'doc', 10, 1000)",
		"ecp_knn_max_sim('t_plain', 'SELECT v FROM t LIMIT 100', 'doc', candidates => NULL)",
		"ecp_vote('t_plain', 'SELECT v FROM t LIMIT 1000', 'doc', 100)",
		"ecp_recall('t_plain', samples => 1000)",
		"ecp_forecast('t', 'v')",
		"ecp_recall('t_plain', samples => 1000, store => true)",
		"ecp_index_check('t_v', true)",
		"ecp_index_check('t_plain')",
		"ecp_index_drift('t_plain')",
		"ecp_clusters('t_plain')",
		"ecp_misassigned('t_plain', 100000)",
		"ecp_maintain('w_v')",
		"betree_index_check('t_b', true)"),
	"SELECT count(*) FROM b WHERE a >= 0 AND id = -3",
	"SET enable_indexscan = off; SET enable_indexonlyscan = off; SELECT count(*) FROM t WHERE a >= 0 AND id > 0 AND $no",
	"SELECT count(*) FROM (SELECT v FROM t LIMIT 3000) q, LATERAL (SELECT id FROM t ORDER BY t.v <-> q.v LIMIT 10) r",
	'INSERT INTO w SELECT * FROM t',
	'VACUUM (INDEX_CLEANUP ON) w',
	'REINDEX INDEX t_v',
	'CREATE INDEX ON t USING ecp (v) WITH (vectors = codes)',
	"SET ecp.build_policy = tempfiles; CREATE INDEX ON t USING ecp (v)",
	'CREATE INDEX ON t USING betree (v)');

foreach my $sql (@statements)
{
	my @parts = split /; /, $sql;
	my $last = pop @parts;
	my ($stdout, $stderr, $timed_out) = ('', '', 0);

	$node->psql(
		'postgres',
		join('',
			map { "$_;\n" } "SET statement_timeout = '10ms'", @parts,
			$last),
		stdout => \$stdout,
		stderr => \$stderr,
		timeout => $PostgreSQL::Test::Utils::timeout_default,
		timed_out => \$timed_out);
	like($timed_out ? 'it does not end' : $stderr,
		qr/canceling statement due to statement timeout/, $sql);
}
index_ok($node, $_) foreach qw(t_v t_plain t_b b_b w_v w_b);
done_testing();
