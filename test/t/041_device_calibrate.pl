# Measuring a tablespace leaves no file behind on any end, keeps within
# temp_file_limit, says so when there are too few workers, is refused on a
# standby; and the profile is where the planner of builds finds it.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster(
	'main',
	storage => 1,
	conf =>
	  "allow_in_place_tablespaces = on\nmax_worker_processes = 3\nmax_parallel_workers = 2\nrestart_after_crash = on\n"
);
$node->safe_psql('postgres', "CREATE TABLESPACE dev LOCATION ''");

sub temp_count
{
	return $node->safe_psql('postgres',
		"SELECT count(*) FROM pg_ls_tmpdir((SELECT oid FROM pg_tablespace WHERE spcname = 'dev'))"
	);
}

my $small = "file_bytes => 16777216, block_bytes => '{8192,65536}'";
my ($rc, $out, $err);

# too few workers
($rc, $out, $err) = $node->psql('postgres',
	"SELECT max(processes) FROM ecp_calibrate('dev', $small, seconds => 3, workers => '{1,16}', verbose => true)"
);
is($rc, 0, 'calibrated with fewer workers than asked for');
like($err, qr/only 2 of 16 workers could be started/, 'and that is said');
is($out, '2', 'the number of processes is that of those that ran');
like(
	$err,
	qr/INFO: +sequential write, .*\(\d+\.\d of 3\.0 s\)\n(?:.*\n)*.*INFO: +write, fsync in the end/,
	'figures are printed when they are known');

# limits and errors
($rc, $out, $err) = $node->psql('postgres',
	"SET temp_file_limit = '1MB'; SELECT count(*) FROM ecp_calibrate('dev', $small)"
);
like(
	$err,
	qr/temporary file size exceeds "?temp_file_limit/,
	'temp_file_limit holds');
is(temp_count(), '0', 'no file after an error');
foreach my $call (
	"ecp_calibrate('dev', seconds => 600)",
	"ecp_models.ecp_bench('dev', seconds => 600)",
	"ecp_models.ecp_stream_bench_files('{dev,dev}', '{1}', slices => 600)")
{
	($rc, $out, $err) = $node->psql('postgres',
		"SET statement_timeout = '1s'; SELECT count(*) FROM $call");
	like(
		$err,
		qr/canceling statement due to statement timeout/,
		"$call is cancelled");
	is(temp_count(), '0', 'no file after that');
}
is( $node->safe_psql(
		'postgres', 'SELECT count(*) FROM ecp_storage.ecp_device'),
	'1',
	'the profile is that of the calibration that ended');

# a backend is killed in the middle of it
my $h = IPC::Run::start(
	[
		'psql', '-X', '-d', $node->connstr('postgres'),
		'-c',
		"SELECT count(*) FROM ecp_calibrate('dev', $small, seconds => 600)"
	],
	'>',
	\my $killed_out,
	'2>',
	\my $killed_err);
$node->poll_query_until('postgres',
	"SELECT count(*) > 0 FROM pg_ls_tmpdir((SELECT oid FROM pg_tablespace WHERE spcname = 'dev'))"
) or die 'calibration did not begin';
my $pid = $node->safe_psql('postgres',
	"SELECT pid FROM pg_stat_activity WHERE query LIKE '%seconds => 600%' AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
);
my $logged = -s $node->logfile;
kill 'KILL', $pid;
IPC::Run::finish($h);
restarted($node, $logged);
is(temp_count(), '0', 'no file after a crash');

# the planner of builds reads the profile
$node->safe_psql('postgres',
	"SELECT count(*) FROM ecp_calibrate('dev', $small, seconds => 0.5, workers => '{1}')"
);
$node->safe_psql('postgres',
	'CREATE TABLE v (v real[]); INSERT INTO v SELECT array_fill(1::real, ARRAY[32]) FROM generate_series(1, 1000); ANALYZE v'
);
is( $node->safe_psql(
		'postgres',
		"SELECT count(*) FROM ecp_plan_build('v', 'v', '{dev}') WHERE total_s > 0"
	),
	'2',
	'builds are planned with it');

# A slow device cannot hold it up: a megabyte a second, of which 64 would wait
# for their sync if nothing looked ahead; and one whose every sync takes 1.5 s.
# Fewer points then, and a warning.
my $shim = PostgreSQL::Test::Utils::tempdir() . '/slow_io.so';
my $slow_io = ($ENV{ECP_TOP} || '.') . '/test/perl/slow_io.c';
SKIP:
{
	skip 'the shim is for Linux and needs a compiler', 12
	  unless $^O eq 'linux'
	  && !$ENV{REAL_POSTGRES}
	  && system('gcc', '-shared', '-fPIC', '-O', '-o', $shim, $slow_io,
		'-ldl') == 0;
	foreach my $slow ([ 1, 20_000, 0 ], [ 100, 100, 1_500_000 ])
	{
		local $ENV{SLOW_MB_S} = $slow->[0];
		local $ENV{SLOW_READ_US} = $slow->[1];
		local $ENV{SLOW_SYNC_US} = $slow->[2];
		local $ENV{LD_PRELOAD} = $shim;
		my $name = "at $slow->[0] MB/s and $slow->[2] us a sync";

		$node->restart;
		($rc, $out, $err) = $node->psql('postgres',
			"SELECT count(*) FROM ecp_calibrate('dev', seconds => 4, workers => '{1,2}')"
		);
		is($rc, 0, "calibrated $name");
		like(
			$err,
			qr/WARNING: +tablespace "dev" is too slow for a whole calibration in 4 s\nDETAIL: +\d+ measurements? w/,
			'and that is said');
		$out = $node->safe_psql('postgres',
			"SELECT round(wall_s::numeric, 2) FROM ecp_storage.ecp_device WHERE tablespace = 'dev'"
		);
		# without looking ahead, what is written would be waited for
		cmp_ok($out, '<', 15, "ends in time: $out s");
		is( $node->safe_psql(
				'postgres',
				"SELECT latency_us >= 0 AND read_mb_s > 0 AND seq_read_mb_s > 0 AND seq_write_mb_s > 0 AND rand_read_iops > 0 AND rand_read_iops_max > 0 AND rand_write_iops > 0 AND rand_write_us > 0 AND fsync_us > 0 AND cached_mb_s > 0 AND best_workers > 0 AND step_read_us > 0 AND mixed_ratio >= 1 FROM ecp_storage.ecp_device WHERE tablespace = 'dev'"
			),
			't',
			'every figure is one to reckon with');
	}

	# One pass that is much too fast, as where a process was held up and finds
	# what was read ahead meanwhile, changes no figure, but is reported.  Two
	# processes read 91 MB/s in order here, and 925 blocks a second at random.
	# The file is dropped for each pass; the eighth one is among those of reads
	# by workers.
	local $ENV{SLOW_MB_S} = 50;
	local $ENV{SLOW_READ_US} = 2000;
	local $ENV{SLOW_SYNC_US} = 0;
	local $ENV{SLOW_FAST} = 8;
	local $ENV{SLOW_COUNT} = PostgreSQL::Test::Utils::tempdir() . '/passes';
	local $ENV{LD_PRELOAD} = $shim;

	$node->restart;
	($rc, $out, $err) = $node->psql('postgres',
		"SELECT count(*) FROM ecp_calibrate('dev', $small, seconds => 8, workers => '{1,2}')"
	);
	cmp_ok(-s $ENV{SLOW_COUNT}, '>', 8, 'one pass was too fast');
	like(
		$err,
		qr/NOTICE: +figures of tablespace "dev" are uncertain/,
		'which is reported');
	$out = $node->safe_psql('postgres',
		"SELECT round(seq_read_mb_s), round(rand_read_iops_max) FROM ecp_storage.ecp_device WHERE tablespace = 'dev'"
	);
	my ($mb_s, $iops) = split /\|/, $out;
	ok($mb_s < 150 && $iops < 1400,
		"but is not believed: $mb_s MB/s, $iops reads/s");
	is( $node->safe_psql(
			'postgres',
			"SELECT bool_and(reason LIKE '%uncertain%') FROM ecp_advise('dev')"
		),
		't',
		'and advice is said to be uncertain');
}
$node->restart;

# the profile is kept with the database
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ],
	'pg_dump');
like(
	slurp_file($dump),
	qr/COPY ecp_storage\.ecp_device/,
	'the profile is dumped');

# a standby: no measuring, but the profile can be read
my ($primary, $standby) = ecp_primary_and_standby('pair', storage => 1);
$primary->safe_psql('postgres',
	"INSERT INTO ecp_storage.ecp_device (tablespace, latency_us, read_mb_s, seq_read_mb_s, seq_write_mb_s, rand_write_iops) VALUES ('pg_default', 1, 1, 1, 1, 1)"
);
$primary->wait_for_catchup($standby);
foreach my $call (
	"ecp_calibrate('pg_default')",
	"ecp_models.ecp_bench('pg_default')",
	"ecp_models.ecp_stream_bench_files('{pg_default}', '{1}')")
{
	($rc, $out, $err) =
	  $standby->psql('postgres', "SELECT count(*) FROM $call");
	like(
		$err,
		qr/cannot execute ecp_\w+\(\) during recovery/,
		"$call is refused on a standby");
}
is( $standby->safe_psql(
		'postgres', "SELECT count(*) > 0 FROM ecp_advise('pg_default')"),
	't',
	'advice on a standby');

$standby->stop;
$primary->stop;
$node->stop;
done_testing();
