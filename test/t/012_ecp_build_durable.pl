# A build is durable when CREATE INDEX returns, and costs no more WAL than the
# index is large: an immediate stop right after it, at wal_level minimal and
# replica, with page checksums; unlogged indexes come back empty and usable
# after a crash and whole after a clean stop; a standby has the same clusters;
# and a crash in the middle of a build leaves nothing.  Inserts find out at once
# whether the disk has room.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $clusters =
  "SELECT md5(string_agg(cluster || ' ' || tid, ',' ORDER BY cluster, tid)) FROM (SELECT cluster, unnest(tids) AS tid FROM ecp_clusters('i')) c";
my $build = 'CREATE INDEX i ON items USING ecp (v)';

my $node = ecp_cluster('main', streaming => 1, checksums => 1);
load_vecs($node, 'items', 'base.bvecs', limit => 8000);
# hint bits are written now, not by the scan of the build
$node->safe_psql('postgres', 'VACUUM items');
$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;

# WAL, and replay of all of it on a standby and after a crash
my $wal = wal_bytes($node, $build);
my $size = $node->safe_psql('postgres', "SELECT pg_relation_size('i')");
# and of changes to catalogs, which count with an index as small as this
cmp_ok(
	$wal, '<=',
	1.1 * $size + 65536,
	'a build writes WAL of the size of the index');
answers_alike($node, $standby, $clusters,
	'the standby has the same clusters');
$standby->stop;
crash($node);
index_ok($node, 'i', 'the index is whole after a crash');

# unlogged: also a checkpoint between build and crash must not lose pages
$node->safe_psql(
	'postgres', q(
	CREATE UNLOGGED TABLE passing AS SELECT * FROM items;
	CREATE INDEX pi ON passing USING ecp (v);
	CHECKPOINT));
$node->restart;
index_ok($node, 'pi', 'an unlogged index is whole after a clean stop');
crash($node);
is( $node->safe_psql(
		'postgres', q(SELECT coalesce(sum(rows), 0) FROM ecp_clusters('pi'))),
	'0',
	'and empty after a crash');
$node->safe_psql('postgres',
	'INSERT INTO passing SELECT * FROM items LIMIT 500');
index_ok($node, 'pi', 'and takes rows');

# a crash in the middle
$node->safe_psql(
	'postgres', q(
	DROP INDEX i;
	CREATE FUNCTION waits(id int, v bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS
	'BEGIN IF id = 7000 THEN PERFORM pg_advisory_xact_lock(1); END IF; RETURN v; END')
);
my $holder = $node->background_psql('postgres');
$holder->query_safe('SELECT pg_advisory_lock(1)');
my $builder = $node->background_psql('postgres', on_error_stop => 0);
$builder->query_until(qr/started/,
	"\\echo started\nCREATE INDEX i ON items USING ecp (waits(id, v));\n");
$node->poll_query_until('postgres',
	"SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'advisory'"
);
$node->stop('immediate');
end_sessions($holder, $builder);
$node->start;
is($node->safe_psql('postgres', q(SELECT to_regclass('i') IS NULL)),
	't', 'a crash in the middle of a build leaves no index');
$node->safe_psql('postgres', $build);
index_ok($node, 'i', 'and the next build is whole');

# without WAL
$node->append_conf('postgresql.conf',
	"wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0");
$node->restart;
$wal = wal_bytes($node, 'REINDEX INDEX i');
cmp_ok($wal, '<', 0.1 * $size, 'wal_level minimal: next to no WAL');
crash($node);
index_ok($node, 'i', 'wal_level minimal: whole after a crash');

# What inserts make the file longer by has room on disk at once, though not
# written yet; where the filesystem says how much room files have.
$node->safe_psql(
	'postgres', q(
	CREATE TABLE grown (id int, v bytea);
	CREATE INDEX gi ON grown USING ecp (v);
	INSERT INTO grown SELECT * FROM items WHERE id < 3000));
my $path = relation_path($node, 'gi');
my $written = PostgreSQL::Test::Utils::tempdir() . '/zeros';
append_to_file($written, "\0" x 1_000_000);
SKIP:
{
	skip 'the filesystem does not say what room files have', 1
	  if (stat $written)[12] * 512 < 1_000_000;
	cmp_ok((stat $path)[12] * 512,
		'>=', -s $path, 'no block of a grown index is without room on disk');
}
index_ok($node, 'gi');

$node->stop;
done_testing();
