# Indexes that a released version wrote can be read, written and vacuumed by this
# one.  test/data/format/VERSION has the files of the indexes below, which take
# the place of those that this version builds on the same table: the same
# statements give the same TIDs.  What this version writes is read back in the
# same way, and kept for the releases to come with STORE_FORMAT=folder.
use strict;
use warnings;

use EcpTest;
use File::Basename         qw(basename dirname);
use IO::Compress::Gzip     qw(gzip);
use IO::Uncompress::Gunzip qw(gunzip);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Never change these for a version that has been released.
my @indexes = qw(items_v items_key items_real keys_k keys_t);

sub make_node
{
	my ($name) = @_;
	my $node = ecp_cluster($name);

	load_vecs($node, 'items', 'base.bvecs', limit => 600);
	$node->safe_psql(
		'postgres', q(
		CREATE TABLE reals AS SELECT id,
			(SELECT array_agg(get_byte(v, i)::real ORDER BY i)
			FROM generate_series(0, 127) i) AS v
		FROM items WHERE id < 300;
		CREATE TABLE keys AS
		SELECT md5(g::text)::uuid AS k, md5(g::text) COLLATE "C" AS t
		FROM generate_series(1, 2000) g;
		CREATE INDEX items_v ON items USING ecp (v);
		CREATE INDEX items_key ON items USING ecp (v, id) INCLUDE (id);
		CREATE INDEX items_real ON reals USING ecp (v) WITH (quantizer = rabitq);
		CREATE INDEX keys_k ON keys USING betree (k);
		CREATE INDEX keys_t ON keys USING betree (t);
		INSERT INTO items SELECT id + 10000, v FROM items WHERE id < 100;
		INSERT INTO reals SELECT id + 10000, v FROM reals WHERE id < 50;
		INSERT INTO keys SELECT md5(g::text)::uuid, md5(g::text)
		FROM generate_series(2001, 2300) g;));
	return $node;
}

# The file of an index, without the positions of WAL, which the next server's has
# not reached.
sub index_file
{
	my ($path) = @_;
	my $data = slurp_file($path);

	for (my $block = 0; $block < length($data); $block += 8192)
	{
		substr($data, $block, 8) = "\0" x 8;
	}
	return $data;
}

my $questions = q(
	SET enable_seqscan = off; SET enable_sort = off; SET ecp.probes = 1000;
	SELECT array_agg(id) FROM (SELECT id FROM items
		ORDER BY v <-> (SELECT v FROM items WHERE id = 77), id LIMIT 20) a;
	SELECT array_agg(id) FROM (SELECT id FROM items WHERE id BETWEEN 100 AND 300
		ORDER BY v <-> (SELECT v FROM items WHERE id = 77) LIMIT 20) a;
	SELECT array_agg(id) FROM (SELECT id FROM reals
		ORDER BY v <-> (SELECT v FROM reals WHERE id = 7), id LIMIT 20) a;
	SELECT count(*), min(k::text), max(k::text) FROM keys
	WHERE k < '40000000-0000-0000-0000-000000000000';
	SELECT count(*), min(t), max(t) FROM keys WHERE t >= '8' AND t < 'c');

my $node = make_node('writes');
my $version = $node->safe_psql('postgres',
	"SELECT extversion FROM pg_extension WHERE extname = 'ecp'");
my $answers = $node->safe_psql('postgres', $questions);
my %paths = map { $_ => relation_path($node, $_) } @indexes;
my $stored = dirname(__FILE__) . '/../data/format';
my $own = PostgreSQL::Test::Utils::tempdir() . '/this';

$node->stop;
mkdir $_ foreach $own, grep { defined } $ENV{STORE_FORMAT};
foreach
  my $folder ($own, map { "$_/$version" } grep { defined } $ENV{STORE_FORMAT})
{
	mkdir $folder;
	foreach my $index (@indexes)
	{
		my $data = index_file($paths{$index});

		gzip(\$data => "$folder/$index.gz", -Level => 9, Minimal => 1)
		  or die "could not write $folder/$index.gz";
	}
}

foreach my $folder ($own, sort glob("$stored/*"))
{
	my $name = basename($folder);
	my $reader = make_node("reads_$name");
	my %files = map { $_ => relation_path($reader, $_) } @indexes;

	$reader->stop;
	foreach my $index (@indexes)
	{
		my $data;

		gunzip("$folder/$index.gz" => \$data)
		  or die "could not read $folder/$index.gz";
		unlink glob("$files{$index}_*");
		open(my $file, '>:raw', $files{$index}) or die "$files{$index}: $!";
		print $file $data;
		close $file;
	}
	$reader->start;
	index_ok($reader, $_, "$name: checker finds $_ sound") foreach @indexes;
	is($reader->safe_psql('postgres', $questions), $answers,
		"$name: answers");
	$reader->safe_psql(
		'postgres', q(
		INSERT INTO items SELECT id + 20000, v FROM items WHERE id < 600;
		INSERT INTO reals SELECT id + 20000, v FROM reals WHERE id < 300;
		INSERT INTO keys SELECT md5(g::text)::uuid, md5(g::text)
		FROM generate_series(3001, 6000) g;
		DELETE FROM items WHERE id % 3 = 0;
		DELETE FROM reals WHERE id % 3 = 0;
		DELETE FROM keys WHERE k < '20000000-0000-0000-0000-000000000000';
		VACUUM;));
	index_ok($reader, $_, "$name: $_ is sound after writing")
	  foreach @indexes;
	$reader->stop;
}
SKIP:
{
	skip 'no released version has left its indexes', 1 if !glob("$stored/*");
}

done_testing();
