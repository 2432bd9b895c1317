# A server with little dynamic shared memory: a container's /dev/shm has 64 MB.
# Parallel builds and batches then go on with less of it or without workers,
# say so, and find the same rows.
#
# The server runs where /dev/shm is a file system of 64 MB of its own, which
# the test fills with a file.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# As root of a user namespace, mount it; then, in another, be who we were, as
# the server refuses to run as root.
my $mounted = 'mount -t tmpfs -o size=64m tmpfs /dev/shm';
my @own_shm = (
	'unshare', '--user', '--map-root-user', '--mount', 'sh', '-c',
	"$mounted && exec unshare --user --map-user=$> \"\$@\"", 'sh');

plan skip_all => 'a /dev/shm of its own is not permitted here'
  if $^O ne 'linux'
  || system(join(' ', map { "'$_'" } @own_shm) . ' true >/dev/null 2>&1') !=
  0;

my $node = ecp_cluster('shm',
	conf =>
	  "dynamic_shared_memory_type = posix\nmaintenance_work_mem = '64MB'\n"
	  . "max_parallel_maintenance_workers = 2\nmax_parallel_workers_per_gather = 2\n"
	  . "work_mem = '64MB'\nparallel_setup_cost = 0\n");
load_vecs($node, 'items', 'base.bvecs', limit => 8000);
$node->safe_psql(
	'postgres', q(
	ALTER TABLE items SET (parallel_workers = 2);
	VACUUM ANALYZE items;));
$node->stop;
system_or_bail(@own_shm, 'pg_ctl', '-w', '-D', $node->data_dir, '-l',
	$node->logfile, 'start');
$node->_update_pid(1);

# Leave only so many kB in /dev/shm.
sub leave_kb
{
	my ($kb) = @_;
	my $rows = (64 * 1024 - $kb) * 1024 / 128;

	# no other way to leave nothing: it ends where the file system does
	$node->psql(
		'postgres',
		sprintf(
			q(COPY (SELECT repeat('x', 127) FROM generate_series(1, %d))
				TO '/dev/shm/ballast'), $rows));
	return;
}

# What is in /dev/shm, besides what the server has had since its start.
my $segments = q(SELECT count(*) FROM pg_ls_dir('/dev/shm') f
	WHERE f <> 'ballast');

# Build an index and ask it; returns the NOTICEs, and the workers of the build.
my $answers =
  q(SET max_parallel_workers_per_gather = 0; SET enable_seqscan = off;
	SELECT q.id, array_agg(n.id ORDER BY n.d, n.id) FROM items q, LATERAL
	(SELECT i.id, i.v <-> q.v AS d FROM items i ORDER BY i.v <-> q.v LIMIT 5) n
	WHERE q.id < 20 GROUP BY q.id ORDER BY q.id);

sub build
{
	my $notices;

	$node->psql('postgres', 'DROP INDEX IF EXISTS items_v',
		on_error_die => 1);
	$node->psql(
		'postgres',
		'CREATE INDEX items_v ON items USING ecp (v)',
		stderr => \$notices,
		on_error_die => 1);
	index_ok($node, 'items_v');
	return (
		$notices,
		$node->safe_psql(
			'postgres',
			"SELECT max(workers) FROM ecp_build_report('items_v')"));
}

# A batch of many queries; returns the NOTICEs, and a sum of the answers.
sub batch
{
	my ($notices, $sum);

	$node->psql(
		'postgres',
		q(SELECT count(*), sum(i.id * (n.query % 97 + 1)) FROM
			ecp_knn_batch('items_v', ARRAY(SELECT v FROM items), 10) n
			JOIN items i ON i.ctid = n.tid),
		stdout => \$sum,
		stderr => \$notices,
		on_error_die => 1);
	return ($notices, $sum);
}

my $short = qr/NOTICE: +there is too little dynamic shared memory/;
my ($notices, $workers) = build();

is($notices, '', 'a build with 64 MB fits');
is($workers, 2, 'it has workers');
my $expected = $node->safe_psql('postgres', $answers);
my ($batch_notices, $batch_expected) = batch();
is($batch_notices, '', 'a batch with 64 MB fits');
my $before = $node->safe_psql('postgres', $segments);

leave_kb(3 * 1024);
($notices, $workers) = build();
like($notices, $short, 'a build with 3 MB says that it is too little');
is($workers, 2, 'it has workers all the same');
is($node->safe_psql('postgres', $answers), $expected, 'the same answers');
($notices, my $sum) = batch();
like($notices, $short, 'a batch with 3 MB says that it is too little');
is($sum, $batch_expected, 'the same answers of the batch');

leave_kb(0);
($notices, $workers) = build();
like($notices, $short, 'a build with nothing says that it is too little');
is($workers, 0, 'it has no workers');
is($node->safe_psql('postgres', $answers), $expected, 'the same answers');
($notices, $sum) = batch();
like($notices, $short, 'a batch with nothing says that it is too little');
is($sum, $batch_expected, 'the same answers of the batch');

is($node->safe_psql('postgres', $segments), $before,
	'nothing is left behind');
unlike(slurp_file($node->logfile), qr/WARNING/, 'no warnings');

$node->stop;
done_testing();
