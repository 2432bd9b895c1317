# The same rows whatever is in memory: searches that stop early, pages of an
# answer and batches give in a cache that holds nearly nothing, with any
# reading ahead, what they give in one that holds the index.
use strict;
use warnings;

use EcpTest;
use Test::More;

my $node = ecp_cluster(
	'cold',
	conf => q(
fsync = off
shared_buffers = 64MB
enable_seqscan = off
max_parallel_workers_per_gather = 0
));
load_vecs($node, 'items', 'base.bvecs', limit => 10_000);
load_vecs($node, 'reals', 'base.bvecs', limit => 10_000, type => 'real[]');
load_vecs($node, 'queries', 'query.bvecs', limit => 60);
load_vecs(
	$node, 'real_queries', 'query.bvecs',
	limit => 60,
	type => 'real[]');
$node->safe_psql(
	'postgres', q(
	ALTER TABLE items ADD tenant int;
	UPDATE items SET tenant = id % 7;
	CREATE INDEX items_i ON items USING ecp (v, tenant);
	CREATE INDEX reals_i ON reals USING ecp (v);
	VACUUM ANALYZE));
plan_uses($node,
	"SELECT id FROM $_ ORDER BY v <-> (SELECT v FROM $_ LIMIT 1) LIMIT 10",
	"${_}_i")
  foreach ('items', 'reals');
is( $node->safe_psql(
		'postgres', q(SELECT quantizer FROM ecp_metapage_info('reals_i'))),
	'rabitq',
	'one index has codes');

my $nearest = q(SELECT %s(string_agg(q.id || ' ' || i.n || ' ' || i.id, ','
		ORDER BY q.id, i.n)) FROM %s q, LATERAL
	(SELECT row_number() OVER () AS n, id FROM
		(SELECT id FROM %s WHERE %s ORDER BY v <-> q.v %s) s) i);
my $pages = join ' UNION ALL ', map {
	my $offset = 10 * $_;
	"(SELECT $_ AS page, s.* FROM
		(SELECT row_number() OVER () AS n, id FROM
			(SELECT id FROM items ORDER BY v <-> (SELECT v FROM queries WHERE id = 3)
			 LIMIT 10 OFFSET $offset) x) s)"
} (0 .. 9);
my %asked = (
	bytes => sprintf($nearest, 'md5', 'queries', 'items', 'true', 'LIMIT 10'),
	many => sprintf($nearest, 'md5', 'queries', 'items', 'true', 'LIMIT 300'),
	condition =>
	  sprintf($nearest, 'md5', 'queries', 'items', 'tenant = 3', 'LIMIT 20'),
	codes =>
	  sprintf($nearest, 'md5', 'real_queries', 'reals', 'true', 'LIMIT 10'),
	pages => "SELECT md5(string_agg(id::text, ',' ORDER BY page, n))
		FROM ($pages) p",
	batch =>
	  q(SELECT md5(string_agg(n.query || ' ' || n.rank || ' ' || n.tid, ','
			ORDER BY n.query, n.rank))
		FROM ecp_knn_batch('items_i', 'SELECT id, v FROM queries', 10) n),
	limited => 'SET ecp.max_scan_tuples = 1000; SET ecp.probes = 30;'
	  . sprintf($nearest, 'md5', 'queries', 'items', 'true', 'LIMIT 400'));

# what all queries answer in a session of their own, and how they were searched
sub answers
{
	my ($set) = @_;

	return {
		map { $_ => $node->safe_psql('postgres', "$set $asked{$_}") }
		  keys %asked
	};
}

answers('');
my $warm = answers('');
$node->safe_psql(
	'postgres', q(
	CREATE FUNCTION early_stops(OUT n int) LANGUAGE plpgsql AS $$
	DECLARE
		q record;
	BEGIN
		n := 0;
		FOR q IN SELECT v FROM queries LOOP
			PERFORM id FROM items ORDER BY v <-> q.v LIMIT 10;
			n := n + (SELECT early::int FROM ecp_last_scan());
		END LOOP;
	END
	$$));
my $early = $node->safe_psql('postgres', 'SELECT early_stops()');
cmp_ok($early, '>', 0, 'searches stop early');

$node->append_conf('postgresql.conf', "shared_buffers = 1MB\n");
foreach my $prefetch (0, 1, 100)
{
	$node->restart;
	is_deeply(answers("SET ecp.prefetch = $prefetch;"),
		$warm, "ecp.prefetch = $prefetch in a small cache: the same rows");
}

# pages that a session reads in its second round of searches: how many were asked
# for before, and how many it waits for
sub pages_read
{
	my ($set, $query) = @_;
	my $trace = $node->basedir . '/trace';
	my %asked_for;
	my %n = (ahead => 0, waited => 0);

	unlink $trace;
	$node->safe_psql(
		'postgres', qq(
$set
$query;
SELECT pg_backend_pid() AS pid \\gset
\\setenv PID :pid
\\! strace -qq -p \$PID -e trace=pread64,fadvise64 -o $trace 2>/dev/null &
\\! timeout 10 sh -c 'while grep -q "TracerPid:.0\$" /proc/\$PID/status; do :; done'
$query;));
	open my $lines, '<', $trace or return;
	while (<$lines>)
	{
		if (/fadvise64\((\d+), (\d+), 8192, POSIX_FADV_WILLNEED/)
		{
			$asked_for{"$1 $2"} = 1;
		}
		elsif (/pread64\((\d+), .*, 8192, (\d+)\) += 8192/)
		{
			$n{ delete $asked_for{"$1 $2"} ? 'ahead' : 'waited' }++;
		}
	}
	close $lines;
	return $n{ahead} + $n{waited} > 0 ? \%n : undef;
}

SKIP:
{
	# the search of groups tests rows, and holds them back
	my %read = (
		'codes, exact vectors and rows of the table' => $asked{codes},
		'also rows that are held back' =>
		  q(SELECT md5(string_agg(q.id || ' ' || n.tid, ',' ORDER BY q.id, n.rank))
			FROM real_queries q, ecp_knn_groups('reals_i', q.v, 'id', 100) n));

	foreach my $what (sort keys %read)
	{
		my $none = pages_read('SET ecp.prefetch = 0;', $read{$what});
		my $some = pages_read('SET ecp.prefetch = 10;', $read{$what});

		skip 'no strace that may look at a backend', 2
		  if !defined $none || !defined $some;
		note
		  "without prefetching $none->{ahead} ahead, $none->{waited} waited for; ",
		  "with $some->{ahead} and $some->{waited}";
		is($none->{ahead}, 0, 'nothing is read ahead if that is off');

		# what is waited for is mostly the first page of each cluster, since a
		# search that stops early asks for few clusters before
		cmp_ok($some->{waited} * 4,
			'<', $none->{waited}, "$what are read ahead");
	}
}

$node->restart;
is($node->safe_psql('postgres', 'SELECT early_stops()'),
	$early, 'in a small cache as many stop early');
like(
	$node->safe_psql(
		'postgres',
		"SET ecp.prefetch = 0; EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) $asked{bytes}"
	),
	qr/Buffers: shared .*read=\d{3}/,
	'where clusters come from outside');

# pages of the index that a batch reads from outside: the clusters of five vectors
sub batch_reads
{
	my ($cost) = @_;
	my $batch = q(SELECT count(n.id) FROM five q,
		LATERAL (SELECT id FROM items ORDER BY v <-> q.v LIMIT 10) n);

	$node->restart;
	like(
		$node->safe_psql(
			'postgres', qq(
SET ecp.probes = 1;
SET enable_memoize = off;
SET random_page_cost = $cost;
EXPLAIN $batch;
$batch;
SELECT pg_stat_force_next_flush();)),
		qr/Custom Scan \(ecp batch\)/,
		"a page costs $cost: a batch");
	return $node->safe_psql(
		'postgres', q(
		SELECT idx_blks_read FROM pg_statio_user_indexes
		WHERE indexrelname = 'items_i'));
}

$node->safe_psql(
	'postgres', q(
	CREATE TABLE five AS SELECT v FROM (SELECT v FROM queries ORDER BY id LIMIT 5) q,
		generate_series(1, 200);
	ANALYZE five));
my $before = batch_reads(1);
my $seeks = batch_reads(1) - $before;
my $swept = batch_reads(1000) - $before - $seeks;
cmp_ok($seeks, '>', 0,
	"a batch reads $seeks pages where a seek costs nothing");
cmp_ok($swept, '>', 2 * $seeks,
	"and what lies between, $swept pages, where it costs much");
done_testing();
