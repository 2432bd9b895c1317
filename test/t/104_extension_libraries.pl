# The two libraries in one backend: whichever is loaded first, or alone, each has
# its settings once and calls its own functions; workers load the library of
# the function that they run; both may be preloaded.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster(
	'libraries',
	storage => 1,
	conf =>
	  "allow_in_place_tablespaces = on\nmax_worker_processes = 8\nmax_parallel_workers = 4\n"
);
$node->safe_psql(
	'postgres', q(
	CREATE TABLESPACE disk LOCATION '';
	CREATE TABLE items AS SELECT g AS id, ARRAY[g % 100, g / 100]::real[] AS v
		FROM generate_series(1, 10000) g;
	INSERT INTO ecp_storage.ecp_device (tablespace, half_bandwidth) VALUES ('pg_default', 500000);
	CREATE TABLE land (k int) PARTITION BY LIST (k);
	CREATE TABLE frames AS SELECT 1 AS stream, now() AS t, 0 AS ext, '\x00'::bytea AS data;)
);

my $settings =
  q(SELECT count(*) > 10, count(*) = count(DISTINCT name) FROM pg_settings WHERE name ~ '^ecp\.');

# Storage alone.  Workers of a job, and the query of a table that is checked
my $use_storage = q(
	SELECT min(processes), max(processes), count(*) FROM ecp_models.ecp_bench('disk',
		tests => '{sort}', workers => '{2}', inputs => '{1}', file_bytes => 2000000, buffer_bytes => 262144);
	SELECT ecp_place_target('p', 'pg_default', 100);
	SELECT count(*) FROM ecp_place_groups('land');
	SELECT policy FROM ecp_models.ecp_build_model(1e6, 132, 1000, '{1,1,1,1}', '{1,1,1,1}', '{1,1,1,1}') LIMIT 1;
);
my $storage_answers = "2|2|3\n\n0\ntempfiles";

# The access methods: workers of a build, a default that follows a profile
my $use_ecp = q(
	SET min_parallel_table_scan_size = 0;
	CREATE INDEX items_v ON items USING ecp (v);
	SELECT max(workers) > 0 FROM ecp_build_report('items_v');
	CREATE INDEX items_id ON items USING betree (id);
	SELECT log_pages FROM betree_index_stats('items_id');
	SELECT id FROM items ORDER BY v <-> '{50,50}' LIMIT 1;
	DROP INDEX items_v, items_id;
);
my $ecp_answers = "t\n61\n5050";

# from 18 on the planner asks each access method with an operator "=" for its routine
my $asks = $node->pg_version >= 18 ? 'true' : 'false';
is( $node->safe_psql(
		'postgres',
		"$use_storage SELECT count(*) = 0 OR $asks FROM pg_settings WHERE name ~ '^ecp\\.'"
	),
	"$storage_answers\nt",
	'storage works without the other library');
is( $node->safe_psql('postgres', "$use_storage $use_ecp $settings"),
	"$storage_answers\n$ecp_answers\nt|t",
	'storage is used first');
is( $node->safe_psql('postgres', "$use_ecp $use_storage $settings"),
	"$ecp_answers\n$storage_answers\nt|t",
	'storage is used last');
is( $node->safe_psql(
		'postgres', "LOAD 'ecp_storage'; LOAD 'ecp'; $use_ecp $use_storage"),
	"$ecp_answers\n$storage_answers",
	'both are loaded, storage first');

# Created in a backend that has loaded both, and dropped and created again
is( $node->safe_psql(
		'postgres', "
		SET client_min_messages = warning;
		DROP EXTENSION ecp_storage;
		CREATE EXTENSION ecp_storage;
		$use_storage
		DROP EXTENSION ecp CASCADE;
		CREATE EXTENSION ecp_storage CASCADE;
		INSERT INTO ecp_storage.ecp_device (tablespace, half_bandwidth) VALUES ('pg_default', 500000);
		$use_ecp $use_storage"
	),
	"$storage_answers\n$ecp_answers\n$storage_answers",
	'dropped and created in one backend');

# A stop point of storage, whose setting is that of the other library
SKIP:
{
	my $stop = "LOAD 'ecp'; SET ecp.debug_stop_at = 'sql-select'";
	my $target = "SELECT ecp_place_target('q', 'pg_default', 100)";
	my $play = "SELECT ecp_stream_bench('frames', '{1}', slices => 1)";

	skip 'built without stop points', 2
	  if $node->psql('postgres', "LOAD 'ecp'; SHOW ecp.debug_stop_at") != 0;
	foreach my $order ("$stop; $play", "$target; $stop; $play")
	{
		like(
			($node->psql('postgres', $order))[2],
			qr/stop point "sql-select" reached/,
			'a stop point');
	}
}

# A library that is loaded before them has functions of the same names, as one of
# another version of ours would have: theirs are called.
SKIP:
{
	my $folder = PostgreSQL::Test::Utils::tempdir();
	my ($include) = run_command([ 'pg_config', '--includedir-server' ]);

	open my $fh, '>', "$folder/other.c" or die "$folder/other.c: $!\n";
	print $fh
	  qq(#include "postgres.h"\n#include "fmgr.h"\nPG_MODULE_MAGIC;\n);
	print $fh "PGDLLEXPORT void $_(void);\nvoid $_(void) { abort(); }\n"
	  foreach
	  qw(ecp_extent_relname ecp_extent_select ecp_model_choose_policy ecp_model_tempfiles
	  ecp_device_profile_read ecp_dsm_initialize ecp_wait_event ecp_user_array_float8
	  ecp_job_run ecp_placement_solve);
	close $fh;
	skip 'no compiler',
	  1
	  if $^O ne 'linux'
	  || system(
		'gcc', '-shared', '-fPIC',
		"-I$include", '-o', "$folder/other.so",
		"$folder/other.c") != 0;
	is( $node->safe_psql(
			'postgres', "LOAD '$folder/other.so'; $use_ecp $use_storage"),
		"$ecp_answers\n$storage_answers",
		'each library calls its own functions');
}

foreach my $both ('ecp, ecp_storage', 'ecp_storage, ecp')
{
	$node->append_conf('postgresql.conf',
		"shared_preload_libraries = '$both'");
	$node->restart;
	is( $node->safe_psql('postgres', "$use_ecp $use_storage $settings"),
		"$ecp_answers\n$storage_answers\nt|t",
		"preloaded: $both");
}

$node->stop;
done_testing();
