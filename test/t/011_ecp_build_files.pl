# The intermediate files of an ecp build: they lie in the tablespaces that
# were asked for, by those who may, and are gone after every end of a build:
# success, error, cancel, a failing write, a killed backend.
#
# The builds are stopped in the middle by an index expression that waits for
# an advisory lock, or raises an error, once the progress view says that rows
# are being assigned and the row is one of the last.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('main',
	conf =>
	  "allow_in_place_tablespaces = on\nrestart_after_crash = on\necp.in_buff = '256kB'\n"
);
my $rows = load_vecs($node, 'items', 'base.bvecs', limit => 8000);
my $last = $rows - 100;
$node->safe_psql(
	'postgres', qq(
	CREATE TABLESPACE files LOCATION '';
	CREATE FUNCTION assigning(id int) RETURNS boolean LANGUAGE plpgsql AS
		'BEGIN
			IF id <> $last THEN RETURN false; END IF;
			PERFORM pg_stat_clear_snapshot();
			RETURN EXISTS (SELECT FROM pg_stat_progress_create_index
				WHERE pid = pg_backend_pid() AND phase ~ ''assigning rows'');
		END';
	CREATE FUNCTION waits(id int, v bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS
		'BEGIN IF public.assigning(id) THEN PERFORM pg_advisory_xact_lock(1); END IF; RETURN v; END';
	CREATE FUNCTION fails(id int, v bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS
		'BEGIN IF public.assigning(id) THEN PERFORM 1 / 0; END IF; RETURN v; END';
));

# The directory of the files of a build that is under way, or ''.
sub places
{
	my %seen;

	foreach my $path (temp_files($node))
	{
		$seen{ $path =~ /pg_tblspc/ ? 'files' : 'pg_default' } = 1;
	}
	return join ',', sort keys %seen;
}

# Start a build and wait until it waits; returns the session, its pid, and
# the session that holds the lock.
sub stopped_build
{
	my ($settings) = @_;
	my $holder = $node->background_psql('postgres');
	my $build = $node->background_psql('postgres', on_error_stop => 0);

	$holder->query_safe('SELECT pg_advisory_lock(1)');
	my $pid = backend_pid($build);
	$build->query_safe($settings);
	$build->query_until(qr/started/,
		"\\echo started\nCREATE INDEX i ON items USING ecp (waits(id, v));\n"
	);
	$node->poll_query_until('postgres',
		"SELECT wait_event = 'advisory' FROM pg_stat_activity WHERE pid = $pid"
	) or die "the build does not wait\n";
	return ($build, $pid, $holder);
}

foreach my $policy ('chunkfiles', 'tempfiles')
{
	my $settings = "SET ecp.build_policy = $policy";
	my ($build, $pid, $holder);
	my ($rc, $out, $err);

	# success
	$node->safe_psql('postgres',
		"$settings; CREATE INDEX i ON items USING ecp (v)");
	is( $node->safe_psql(
			'postgres',
			"SELECT files > 0 AND rounds > 3 FROM ecp_build_report('i') WHERE phase = 'total'"
		),
		't',
		"$policy: the build wrote files");
	is(places(), '', "$policy: no file after success");
	index_ok($node, 'i');
	$node->safe_psql('postgres', 'DROP INDEX i');

	# error
	($rc, $out, $err) = $node->psql('postgres',
		"$settings; CREATE INDEX i ON items USING ecp (fails(id, v))");
	like($err, qr/division by zero/, "$policy: error in an expression");
	is(places(), '', "$policy: no file after an error");

	# limit
	($rc, $out, $err) = $node->psql('postgres',
		"$settings; SET temp_file_limit = '300kB'; CREATE INDEX i ON items USING ecp (v)"
	);
	like(
		$err,
		qr/temporary file size exceeds temp_file_limit/,
		"$policy: temp_file_limit holds");
	is(places(), '', "$policy: no file after that");

	# cancel, with the files in a tablespace
	($build, $pid, $holder) =
	  stopped_build("$settings; SET ecp.build_tablespaces = files");
	is(places(), 'files', "$policy: files are in ecp.build_tablespaces");
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	$node->poll_query_until('postgres',
		"SELECT state ~ '^idle' FROM pg_stat_activity WHERE pid = $pid");
	is(places(), '', "$policy: no file after a cancel");
	end_sessions($build, $holder);

	# with the files in several places
	($build, $pid, $holder) = stopped_build(
		"$settings; SET ecp.build_tablespaces = 'files, pg_default'");
	is(places(), 'files,pg_default', "$policy: files in two tablespaces");

	# a write that fails
  SKIP:
	{
		skip 'prlimit is not there', 2
		  if system("prlimit --pid $pid --fsize=1000 2>/dev/null") != 0;
		$holder->query_safe('SELECT pg_advisory_unlock(1)');
		$node->poll_query_until('postgres',
			"SELECT state ~ '^idle' FROM pg_stat_activity WHERE pid = $pid");
		is(places(), '', "$policy: no file after a failed write");
		# the server cannot write to its log either, but to its client
		$build->query_until(qr/ended/, "\\echo ended\n");
		like(
			$build->{stderr},
			qr/could not write to file/,
			"$policy: the write failed");
	}
	end_sessions($build, $holder);

	# kill
	($build, $pid, $holder) = stopped_build($settings);
	is(places(), 'pg_default',
		"$policy: files are in the database's tablespace");
	my $logged = -s $node->logfile;
	kill 'KILL', $pid;
	restarted($node, $logged);
	end_sessions($build, $holder);
	is(places(), '', "$policy: no file after a kill");
	is( $node->safe_psql(
			'postgres', "SELECT count(*) FROM pg_class WHERE relname = 'i'"),
		'0',
		"$policy: and no index");
}

# privileges: those of the table's owner
$node->safe_psql(
	'postgres', q(
	CREATE ROLE someone;
	CREATE TABLE theirs AS SELECT * FROM items;
	ALTER TABLE theirs OWNER TO someone;
	GRANT CREATE ON SCHEMA public TO someone;
));
my $create =
  "SET ecp.build_tablespaces = files; CREATE INDEX ON theirs USING ecp (v)";
foreach my $role ('someone', $node->safe_psql('postgres', 'SELECT user'))
{
	my ($rc, $out, $err) = $node->psql('postgres', "SET ROLE $role; $create");
	like(
		$err,
		qr/permission denied for tablespace files/,
		"the owner may not create in the tablespace: $role");
}
$node->safe_psql('postgres', 'GRANT CREATE ON TABLESPACE files TO someone');
is($node->psql('postgres', "SET ROLE someone; $create"),
	0, 'and may when granted');

$node->stop;
done_testing();
