
=pod

=head1 NAME

EcpTest - helpers for the TAP tests of ecp and betree

=head1 SYNOPSIS

  use EcpTest;
  use Test::More;

  my $node = ecp_cluster('main', conf => "shared_buffers = 16MB\n");
  load_vecs($node, 'items', 'base.bvecs', limit => 5000);
  load_vecs($node, 'queries', 'query.bvecs', limit => 50);
  $node->safe_psql('postgres', 'CREATE INDEX i ON items USING ecp (v)');
  my $recall = recall_at($node, table => 'items', queries => 'queries', k => 10);
  cmp_ok($recall, '>=', 0.9, 'recall floor');
  crash($node);
  index_ok($node, 'i');
  done_testing();

=head1 DESCRIPTION

Everything that more than one TAP test needs: clusters with the settings that
crash tests depend on, the shipped real vectors, recall by distance, a primary
and a standby that must answer alike, loops of immediate stop and check, and
damage to single blocks of a relation.

Each function that proves something calls Test::More itself; the others
return what they computed and die on any SQL error.

=cut

package EcpTest;

use strict;
use warnings;

use Exporter 'import';
use File::Basename qw(dirname);
use File::Spec;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  backend_pid
  ecp_cluster
  ecp_primary_and_standby
  has_pgvector
  replayed
  answers_alike
  ask_standby
  nearest_questions
  nearest_agree
  test_data
  read_vecs
  vec_literal
  load_vecs
  exact_answers
  recall_at
  plan_uses
  index_am
  index_ok
  index_refused
  crash
  start_after_panic
  restarted
  run_with_point
  start_load
  finish_load
  stop_load
  compare_on_scan
  none_wrong
  end_sessions
  held_build
  subscribe
  crash_under_load
  crash_rounds
  relation_path
  relation_blocks
  damage_block
  read_block
  write_block
  wal_bytes
  temp_files
  prng
);

my $data_folder =
  File::Spec->catdir(dirname(File::Spec->rel2abs(__FILE__)), '..', 'data');

=pod

=head1 CLUSTERS

=over

=item ecp_cluster($name, %options)

A started cluster with the extension in database postgres.  WAL is complete
(wal_level = replica), autovacuum is off so that tests decide when VACUUM
runs, page checksums are off so that damage reaches our code and not the
checksum, jit is off as in test/server.conf.  Options:

  conf       text appended to postgresql.conf, after everything else
  streaming  1: can be the primary of a standby
  checksums  1: initdb --data-checksums
  start      0: leave it stopped, and without the extension
  extension  0: do not create the extension
  storage    1: create ecp_storage, too

=cut

sub ecp_cluster
{
	my ($name, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);
	my @extra =
		$opt{checksums}         ? ('--data-checksums')
	  : $node->pg_version >= 18 ? ('--no-data-checksums')
	  :                           ();

	$node->init(
		allows_streaming => $opt{streaming} ? 1 : 0,
		extra => [ '--no-locale', '--encoding=UTF8', @extra ]);
	$node->append_conf('postgresql.conf', <<'CONF');
wal_level = replica
full_page_writes = on
autovacuum = off
jit = off
shared_buffers = 32MB
max_connections = 30
max_wal_size = 256MB
log_statement = ddl
log_min_messages = warning
CONF
	# a standby that is slow to connect must find all WAL
	$node->append_conf('postgresql.conf', "wal_keep_size = 2GB\n")
	  if $opt{streaming};
	$node->append_conf('postgresql.conf', $opt{conf}) if defined $opt{conf};
	return $node if defined $opt{start} && !$opt{start};
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION ecp')
	  if !defined $opt{extension} || $opt{extension};
	$node->safe_psql('postgres', 'CREATE EXTENSION ecp_storage')
	  if $opt{storage};
	return $node;
}

=pod

=item ecp_primary_and_standby($name, %options)

The two nodes of a streaming pair, both started; the options of ecp_cluster.

=cut

sub ecp_primary_and_standby
{
	my ($name, %opt) = @_;
	my $primary = ecp_cluster($name, %opt, streaming => 1);
	my $standby = PostgreSQL::Test::Cluster->new("${name}_standby");

	$primary->backup('for_standby');
	$standby->init_from_backup($primary, 'for_standby', has_streaming => 1);
	$standby->start;
	return ($primary, $standby);
}

=pod

=item replayed($primary, $standby)

Waits until the standby has replayed all that the primary has written.  Before
the first query of a standby: what was loaded need not be there yet.

=cut

sub replayed
{
	my ($primary, $standby) = @_;

	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
	return;
}

=pod

=item answers_alike($primary, $standby, $sql, $test_name)

Waits until the standby has replayed everything, then one test: both nodes
give the same text for $sql.  Returns that text.

=cut

sub answers_alike
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($primary, $standby, $sql, $test_name) = @_;

	replayed($primary, $standby);
	my $expected = $primary->safe_psql('postgres', $sql);
	my $got = $standby->safe_psql('postgres', $sql);
	is($got, $expected, $test_name || 'primary and standby answer alike');
	return $expected;
}

=pod

=item ask_standby($standby, %options)

Asks the standby again and again while its primary is under load.  Each answer
is right, or the query was cancelled for replay to go on; at least one is
right.  Tests: one for each that is not right, and the last.

  sql        a text, or sub($round) that gives one; it runs as one transaction
  right      sub($stdout, $round): is this right?
  rounds     default 40

=cut

sub ask_standby
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($standby, %opt) = @_;
	my ($right, $cancelled) = (0, 0);

	foreach my $round (1 .. ($opt{rounds} || 40))
	{
		my $sql = ref $opt{sql} eq 'CODE' ? $opt{sql}->($round) : $opt{sql};
		my ($stdout, $stderr);
		my $ret = $standby->psql(
			'postgres',
			"BEGIN ISOLATION LEVEL REPEATABLE READ; $sql; COMMIT",
			stdout => \$stdout,
			stderr => \$stderr);

		if ($ret != 0)
		{
			like(
				$stderr,
				qr/conflict with recovery/,
				"round $round: cancelled");
			$cancelled++;
		}
		elsif ($opt{right}->($stdout, $round)) { $right++ }
		else { is($stdout, 'right', "round $round: the standby is right") }
	}
	cmp_ok($right, '>', 0,
		"$right answers of the standby were right, $cancelled cancelled");
	return;
}

=pod

=item nearest_questions()

Two statements that ask for the ten rows of t (id, v) that are nearest to each row
of queries (id, v), with their distances: by an index, and exactly.

=item nearest_agree($stdout)

Have both, asked one after the other, the same distances?  Rows of equal distance
may be any.

=cut

sub nearest_questions
{
	my $answer = q(SELECT string_agg(a, ';' ORDER BY id) FROM
	(SELECT q.id, (SELECT string_agg(n.id || ':' || n.d, ',' ORDER BY n.d, n.id)
				   FROM (SELECT t.id, t.v <-> q.v AS d FROM t
						 ORDER BY t.v <-> q.v LIMIT 10) n) AS a
	 FROM queries q) all_answers);
	my $exact = $answer;

	# the index knows the order of every expression that rises with a distance
	$exact =~
	  s/(FROM \(SELECT )(t\.id, t\.v <-> q\.v AS d FROM t)\s+ORDER BY t\.v <-> q\.v/$1id, d FROM (SELECT $2 OFFSET 0) r ORDER BY d/
	  or die;
	return ($answer, $exact);
}

sub nearest_agree
{
	my ($stdout) = @_;
	my ($got, $expected) =
	  map { s/\d+:([^,;]*)/$1/gr } grep { /:/ } split /\n/, $stdout;

	return $got eq $expected;
}

=pod

=back

=head1 VECTORS

=over

=item test_data($file)

The path of a file of test/data: base.bvecs (25,391 x 128 uint8), query.bvecs
(500) and truth.ivecs (the 100 nearest rows, counted from 0, of each query).

=cut

sub test_data
{
	my ($file) = @_;
	my $path = File::Spec->catfile($data_folder, $file);

	die "no test data \"$path\"\n" unless -r $path;
	return $path;
}

=pod

=item read_vecs($file, %options)

Reads a TEXMEX file: for each vector a 32-bit length and the elements, uint8
in .bvecs, float32 in .fvecs, int32 in .ivecs.  $file is a name in test/data
or a path.  Returns a reference to a list of packed strings: unpack them with
'C*', 'f<*' or 'l<*'.  Options: limit, offset (vectors to skip).

=cut

sub read_vecs
{
	my ($file, %opt) = @_;
	my $path = -e $file ? $file : test_data($file);
	my $width = $path =~ /\.bvecs$/ ? 1 : 4;
	my $limit = $opt{limit};
	my @vecs;

	open my $fh, '<:raw', $path or die "could not open \"$path\": $!\n";
	while (!defined $limit || @vecs < $limit)
	{
		my $got = read($fh, my $header, 4);
		last unless $got;
		my $bytes = unpack('l<', $header) * $width;
		if (@vecs == 0 && $opt{offset})
		{
			seek($fh, $opt{offset} * (4 + $bytes), 0);
			delete $opt{offset};
			next;
		}
		$got = read($fh, my $vec, $bytes);
		die "\"$path\" ends within a vector\n" unless $got == $bytes;
		push @vecs, $vec;
	}
	close $fh;
	return \@vecs;
}

=pod

=item vec_literal($packed, $type, $elements)

The SQL text (without quotes) of a packed vector for a column of type bytea
or real[] (or pgvector's vector).  $elements is 'C*' (the default) or 'f<*'.

=cut

sub vec_literal
{
	my ($packed, $type, $elements) = @_;

	return '\\x' . unpack('H*', $packed) if $type eq 'bytea';
	my $list = join(',', unpack($elements || 'C*', $packed));
	return $type eq 'vector' ? "[$list]" : "{$list}";
}

=pod

=item load_vecs($node, $table, $file, %options)

Creates the table (id int, v <type>) and fills it by COPY with the vectors of
the file, numbered from 0 as in truth.ivecs.  Returns the number of rows.

  type      bytea (default for .bvecs), 'real[]' (default for .fvecs), vector
  limit, offset     as in read_vecs; ids start at offset
  copies    load the set this many times (ids go on)
  create    0: the table exists; or a CREATE TABLE statement of your own
  where     a sub($id) that says which rows to load

=cut

sub load_vecs
{
	my ($node, $table, $file, %opt) = @_;
	my $vecs =
	  read_vecs($file, limit => $opt{limit}, offset => $opt{offset});
	my $elements = $file =~ /\.bvecs$/ ? 'C*' : 'f<*';
	my $type = $opt{type} || ($elements eq 'C*' ? 'bytea' : 'real[]');
	my $create = $opt{create};
	my $id = $opt{offset} || 0;
	my $rows = 0;

	$create = "CREATE TABLE $table (id int, v $type)" unless defined $create;
	$node->safe_psql('postgres', $create) if $create;

	my $path =
	  File::Spec->catfile(PostgreSQL::Test::Utils::tempdir(), 'load.copy');
	open my $fh, '>', $path or die "could not create \"$path\": $!\n";
	for (1 .. ($opt{copies} || 1))
	{
		foreach my $vec (@$vecs)
		{
			if (!$opt{where} || $opt{where}->($id))
			{
				my $text = vec_literal($vec, $type, $elements);
				$text =~ s/\\/\\\\/;
				print $fh "$id\t$text\n";
				$rows++;
			}
			$id++;
		}
	}
	close $fh or die "could not write \"$path\": $!\n";
	$node->safe_psql('postgres', "COPY $table (id, v) FROM '$path'");
	unlink $path;
	return $rows;
}

=pod

=item exact_answers($node, %options)

Makes the table $exact (id, dk): for each query its id and the distance of
its k-th nearest row by a sequential scan.  Options as for recall_at, and
exact (the table's name, default 'exact').  Returns that name.

=cut

sub exact_answers
{
	my ($node, %opt) = _recall_options(@_);

	$node->safe_psql(
		'postgres', qq(
		SET enable_indexscan = off;
		SET enable_bitmapscan = off;
		CREATE TABLE $opt{exact} AS
		SELECT q.id, (SELECT max(d) FROM
					  (SELECT t.v $opt{op} q.v AS d FROM $opt{table} t
					   WHERE $opt{where}
					   ORDER BY t.v $opt{op} q.v LIMIT $opt{k}) near) AS dk
		FROM (SELECT * FROM $opt{queries}
			  ORDER BY id LIMIT $opt{nqueries}) q));
	return $opt{exact};
}

=pod

=item recall_at($node, %options)

Recall at k of the index, by distance: a row counts if it is no farther than
the exact k-th nearest, so that ties count.  Dies if the planner did not take
an index scan, for then the figure would mean nothing.

  table, queries   tables (id, v); default items and queries
  k                default 10
  op               operator, default <->
  set              SQL to run before, as 'SET ecp.probes = 8'
  nqueries         number of queries, the first ones of the file; default 100
  exact            table from exact_answers, made (and dropped) if not given
  where            a condition on the rows (alias t), default true

=cut

sub recall_at
{
	my ($node, %opt) = _recall_options(@_);
	my (undef, %given) = @_;
	my $made = !defined $given{exact};
	my $set = $opt{set} ? "$opt{set};" : '';
	my $near = qq(SELECT t.v $opt{op} q.v AS d FROM $opt{table} t
				  WHERE $opt{where} ORDER BY t.v $opt{op} q.v LIMIT $opt{k});

	if ($made)
	{
		$opt{exact} = 'exact_for_recall';
		exact_answers($node, %opt);
	}

	my $sql = qq(
		SELECT avg((SELECT count(*) FROM ($near) near
					WHERE d <= dk + 1e-5 * abs(dk)))::float8 / $opt{k}
		FROM $opt{exact} e JOIN $opt{queries} q USING (id));
	$set .= 'SET enable_seqscan = off;';
	my $plan = $node->safe_psql('postgres', "$set EXPLAIN (COSTS OFF) $sql");
	die "recall_at: no index scan in the plan:\n$plan\n"
	  unless $plan =~ /Index Scan using \S+ on $opt{table}\b/;
	my $recall = $node->safe_psql('postgres', "$set $sql");
	$node->safe_psql('postgres', "DROP TABLE $opt{exact}") if $made;
	return $recall;
}

sub _recall_options
{
	my ($node, %opt) = @_;
	my %default = (
		table => 'items',
		queries => 'queries',
		k => 10,
		op => '<->',
		nqueries => 100,
		exact => 'exact',
		where => 'true');

	return ($node, %default, %opt);
}

=pod

=back

=head1 PLANS AND CHECKS

=over

=item plan_uses($node, $sql, $index, %options)

One test: the plan of $sql scans $index (in any manner).  Option set: SQL to
run before.

=cut

sub plan_uses
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($node, $sql, $index, %opt) = @_;
	my $set = $opt{set} ? "$opt{set};" : '';
	my $plan = $node->safe_psql('postgres', "$set EXPLAIN (COSTS OFF) $sql");

	return like(
		$plan,
		qr/(?:Index (?:Only )?Scan (?:Backward )?using|Bitmap Index Scan on) \Q$index\E\b/,
		"plan uses $index");
}

=pod

=item index_am($node, $index)

The access method of an index: 'ecp' or 'betree'.

=cut

sub index_am
{
	my ($node, $index) = @_;

	return $node->safe_psql('postgres',
			"SELECT amname FROM pg_class c JOIN pg_am a ON a.oid = c.relam"
		  . " WHERE c.oid = '$index'::regclass");
}

=pod

=item has_pgvector($node)

Does the server have the extension vector, in a version with halfvec (0.7)?

=cut

sub has_pgvector
{
	my ($node) = @_;

	return $node->safe_psql(
		'postgres',
		q(SELECT count(*) FROM pg_available_extensions
		WHERE name = 'vector' AND default_version !~ '^0\.[0-6](\.|$)')) > 0;
}

=item index_ok($node, $index, $test_name)

One test: the checker of the index's access method, which also compares the
index with its table, finds nothing wrong.

=cut

sub index_ok
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($node, $index, $test_name) = @_;
	my ($ret, undef, $stderr) = _check_index($node, $index);

	$test_name ||= "checker finds $index sound";
	return is("$ret $stderr", '0 ', $test_name);
}

=pod

=item index_refused($node, $index, $test_name)

One test: the checker reports damage in $index, by an error with SQLSTATE
XX001 or XX002 and not by a crash.

=cut

sub index_refused
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($node, $index, $test_name) = @_;
	my (undef, undef, $stderr) = _check_index($node, $index);

	$test_name ||= "checker reports the damage of $index";
	return like($stderr, qr/ERROR:  XX00[12]/, $test_name);
}

sub _check_index
{
	my ($node, $index) = @_;
	my $am = index_am($node, $index);
	my ($stdout, $stderr);
	my $ret = $node->psql(
		'postgres',
		"\\set VERBOSITY verbose\n"
		  . "SELECT * FROM ${am}_index_check('$index', true)",
		stdout => \$stdout,
		stderr => \$stderr);

	return ($ret, $stdout, $stderr);
}

=pod

=back

=head1 CRASHES AND LOAD

=over

=item crash($node)

Immediate stop (no checkpoint) and start: WAL replay from the last checkpoint.

=cut

sub crash
{
	my ($node) = @_;

	$node->stop('immediate');
	$node->start;
	return;
}

=pod

=item start_after_panic($node)

The start of a server that a PANIC of one of its processes brought down, or
is about to.

=cut

sub start_after_panic
{
	my ($node) = @_;

	$node->stop('immediate', fail_ok => 1);
	$node->_update_pid(0);
	$node->start;
	return;
}

=pod

=item restarted($node, $logged)

Waits until a server that restarts itself after the death of a process
(restart_after_crash = on) takes connections again.  $logged is the size of its
log before that death: -s $node->logfile.  To connect is no way to find out:
for some time the server has not noticed the death, and lets one in.

=cut

sub restarted
{
	my ($node, $logged) = @_;

	$node->wait_for_log(
		qr/reinitializing.*database system is ready to accept connections/s,
		$logged);
	return;
}

=pod

=item run_with_point($node, $point, $sql)

Runs a statement in a session with a stop point set; returns whether it
succeeded, also when the server has died of it.

=cut

sub run_with_point
{
	my ($node, $point, $sql) = @_;

	# psql() dies when the server does
	my $ret = eval {
		$node->psql(
			'postgres',
			'',
			extra_params => [
				'-v', 'ON_ERROR_STOP=1', '-c', "LOAD 'ecp'",
				'-c', "SET ecp.debug_stop_at = '$point'",
				'-c', $sql
			]);
	};
	return defined $ret && $ret == 0;
}

=pod

=item start_load($node, $script, %options)

Starts pgbench in the background with the text $script and returns a handle
for finish_load.  Options: clients (2), seconds (600: until it is stopped),
transactions (instead of seconds), define (hash of pgbench variables), and
scripts: a reference to a list of further texts, mixed evenly.

=cut

sub start_load
{
	my ($node, $script, %opt) = @_;
	my $clients = $opt{clients} || 2;
	my @command = (
		'pgbench', '-n', '-h', $node->host, '-p', $node->port,
		'-c', $clients, '-j', $clients, '--random-seed=1');
	my $number = 0;
	my $load = { out => '', err => '' };

	push @command, $opt{transactions}
	  ? ('-t', $opt{transactions})
	  : ('-T', $opt{seconds} || 600);
	while (my ($name, $value) = each %{ $opt{define} || {} })
	{
		push @command, '-D', "$name=$value";
	}
	our $loads_started;
	$loads_started++;
	foreach my $text ($script, @{ $opt{scripts} || [] })
	{
		my $path = File::Spec->catfile(PostgreSQL::Test::Utils::tempdir(),
			sprintf('load_%d_%d.sql', $loads_started, $number++));
		append_to_file($path, $text);
		push @command, '-f', $path;
	}
	# stop_load() looks for it
	local $ENV{PGAPPNAME} = $load->{name} = "load $loads_started";
	$load->{run} = IPC::Run::start([ @command, 'postgres' ],
		'<', \undef, '>', \$load->{out}, '2>', \$load->{err});
	return $load;
}

=pod

=item finish_load($load)

Waits for the end of a load (which comes at once if its server has stopped).
Returns true if pgbench ended well; the texts are in $load->{out} and {err}.

=cut

sub finish_load
{
	my ($load) = @_;

	return $load->{run}->finish;
}

=pod

=item stop_load($node, $load)

Ends a load in the middle, and waits until the server has ended its sessions,
too: they go on with what they were told last.

=cut

sub stop_load
{
	my ($node, $load) = @_;

	$load->{run}->signal('TERM');
	finish_load($load);
	$node->poll_query_until('postgres',
			"SELECT count(*) = 0 FROM pg_stat_activity"
		  . " WHERE application_name = '$load->{name}'")
	  or die "the sessions of a load do not end\n";
	return;
}

=pod

=item compare_on_scan($node), none_wrong($node, $test_name)

Makes a function compare(q), which counts the rows of the table t by a scan of
its index from query q (of a table "queries") and by the table, under one
snapshot, and notes differences and rows that come twice; and one test that it
has noted none.

=cut

sub compare_on_scan
{
	my ($node) = @_;

	$node->safe_psql(
		'postgres', q(
		CREATE TABLE wrong (what text);
		CREATE FUNCTION compare(q int) RETURNS void LANGUAGE plpgsql
		SET enable_seqscan = off SET ecp.iterative_scan = relaxed_order AS $$
		DECLARE
			by_index bigint; different bigint; by_table bigint;
		BEGIN
			SELECT count(*), count(DISTINCT r.tid), (SELECT count(*) FROM t)
			INTO by_index, different, by_table
			FROM (SELECT ctid AS tid FROM t
				  ORDER BY v <-> (SELECT v FROM queries WHERE id = q)
				  LIMIT 10000000) r;
			IF by_index <> by_table OR different <> by_table THEN
				INSERT INTO wrong VALUES (format('%s, %s different, of %s',
												 by_index, different, by_table));
			END IF;
		END $$));
	return;
}

sub none_wrong
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($node, $test_name) = @_;

	return is(
		$node->safe_psql('postgres', 'SELECT count(*), min(what) FROM wrong'),
		'0|', $test_name);
}

=pod

=item end_sessions(@sessions)

Ends sessions of background_psql, whose server may have ended them before.

=cut

sub end_sessions
{
	foreach my $session (@_)
	{
		eval { $session->quit; };
	}
	return;
}

=pod

=item backend_pid($session)

The pid of the server process of a session of background_psql, as a number: before
some minor versions its answers end with a line feed.

=cut

sub backend_pid
{
	my ($session) = @_;

	return int($session->query_safe('SELECT pg_backend_pid()'));
}

=pod

=item held_build($node, $sql, $settings)

Starts a statement that builds an index with two workers, in a session with these
settings, if any, and waits until all three processes sleep, as they do in a
function that waits while the file "hold" of the data directory is there, which
this makes.  Returns the session, its pid and those of its workers.

=cut

sub held_build
{
	my ($node, $sql, $settings) = @_;
	my $build = $node->background_psql('postgres', on_error_stop => 0);

	append_to_file($node->data_dir . '/hold', '');
	my $pid = backend_pid($build);
	$build->query_safe($settings) if $settings;
	$build->query_until(qr/started/, "\\echo started\n$sql;\n");
	$node->poll_query_until('postgres',
		"SELECT count(*) = 3 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND $pid IN (pid, leader_pid)"
	) or die "the build does not wait\n";
	my @workers = split /\n/,
	  $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE leader_pid = $pid");
	return ($build, $pid, @workers);
}

=pod

=item subscribe($node, $table, $database)

Replicates what follows in a table of database postgres to the one in another
database of the same cluster.  Publication, slot and subscription bear the name
of the table.

=cut

sub subscribe
{
	my ($node, $table, $database) = @_;

	$node->safe_psql('postgres',
		"CREATE PUBLICATION $table FOR TABLE $table");
	$node->safe_psql('postgres',
		"SELECT pg_create_logical_replication_slot('$table', 'pgoutput')");
	$node->safe_psql(
		$database,
		"CREATE SUBSCRIPTION $table CONNECTION '"
		  . sprintf(
			'host=%s port=%d dbname=postgres', $node->host, $node->port)
		  . "' PUBLICATION $table WITH (create_slot = false, copy_data = false)"
	);
	return;
}

=pod

=item crash_rounds($node, %options), crash_under_load($node, $load)

Rounds of: start a load, let it make progress, stop the server at once, start
it, check.  Nothing sleeps for a fixed time: a round lasts until the query
"progress" (a number) has grown by "step".

  rounds     default 5
  load       script text, or sub($round) that returns one
  options    further options for start_load, as { clients => 4 }
  progress   SQL giving a number, default the transactions committed
  step       how far it must grow each round, default 200
  indexes    names: index_ok is called for each after each crash
  crash      sub($node, $load), which ends the server and sees that it runs
             again; default is to stop it at once, and to start it
  check      sub($node, $round, $crash), called after each restart, with what
             "crash" has returned
  checkpoint every how many rounds to run CHECKPOINT first, default 3

=cut

sub crash_rounds
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($node, %opt) = @_;
	my $progress = $opt{progress}
	  || "SELECT xact_commit FROM pg_stat_database"
	  . " WHERE datname = 'postgres'";
	my $step = $opt{step} || 200;
	my $every = $opt{checkpoint} || 3;

	foreach my $round (1 .. ($opt{rounds} || 5))
	{
		my $script =
		  ref $opt{load} eq 'CODE' ? $opt{load}->($round) : $opt{load};

		$node->safe_psql('postgres', 'CHECKPOINT') if $round % $every == 0;
		my $target = $node->safe_psql('postgres', $progress) + $step;
		my $load = start_load($node, $script, %{ $opt{options} || {} });
		$node->poll_query_until('postgres', "SELECT ($progress) >= $target")
		  or die "load made no progress: $load->{err}\n";
		my $crash = ($opt{crash} || \&crash_under_load)->($node, $load);
		index_ok($node, $_, "round $round: checker finds $_ sound")
		  foreach @{ $opt{indexes} || [] };
		$opt{check}->($node, $round, $crash) if $opt{check};
	}
	return;
}

sub crash_under_load
{
	my ($node, $load) = @_;

	$node->stop('immediate');
	finish_load($load);
	$node->start;
	return;
}

=pod

=back

=head1 DAMAGE AND MEASURES

=over

=item relation_path($node, $relation, $fork)

The file of a relation's fork (default main; or 'init', 'fsm'), for use while
the server is stopped: ask before stopping it.

=cut

sub relation_path
{
	my ($node, $relation, $fork) = @_;
	my $path = $node->safe_psql('postgres',
		"SELECT pg_relation_filepath('$relation')");

	$path .= "_$fork" if defined $fork && $fork ne 'main';
	return $node->data_dir . '/' . $path;
}

=pod

=item relation_blocks($node, $relation)

The number of blocks of the main fork.

=cut

sub relation_blocks
{
	my ($node, $relation) = @_;

	return $node->safe_psql('postgres',
			"SELECT pg_relation_size('$relation') /"
		  . " current_setting('block_size')::int");
}

=pod

=item read_block($path, $block), write_block($path, $block, $bytes)

One block of a relation file, the server being stopped.

=cut

sub read_block
{
	my ($path, $block) = @_;

	open my $fh, '<:raw', $path or die "could not open \"$path\": $!\n";
	seek($fh, $block * 8192, 0);
	read($fh, my $bytes, 8192) == 8192
	  or die "no block $block in \"$path\"\n";
	close $fh;
	return $bytes;
}

sub write_block
{
	my ($path, $block, $bytes) = @_;

	die "a block has 8192 bytes\n" unless length($bytes) == 8192;
	open my $fh, '+<:raw', $path or die "could not open \"$path\": $!\n";
	seek($fh, $block * 8192, 0);
	print $fh $bytes;
	close $fh or die "could not write \"$path\": $!\n";
	return;
}

=pod

=item damage_block($path, $block, %options)

Changes bytes of one block, the server being stopped.  Returns the list of
offsets changed.

  random   a prng() to draw from: flips "bytes" bytes (default 8) between
           offsets from (default 24, behind the page header) and to (8192)
  at       offset, with "with" the bytes to write there

=cut

sub damage_block
{
	my ($path, $block, %opt) = @_;
	my $page = read_block($path, $block);
	my @changed;

	if (defined $opt{at})
	{
		substr($page, $opt{at}, length $opt{with}) = $opt{with};
		@changed = ($opt{at} .. $opt{at} + length($opt{with}) - 1);
	}
	else
	{
		my $from = defined $opt{from} ? $opt{from} : 24;
		my $to = defined $opt{to} ? $opt{to} : 8192;

		for (1 .. ($opt{bytes} || 8))
		{
			my $offset = $from + $opt{random}->($to - $from);
			my $flip = 1 + $opt{random}->(255);
			my $byte = ord(substr($page, $offset, 1)) ^ $flip;

			substr($page, $offset, 1) = chr($byte);
			push @changed, $offset;
		}
	}
	write_block($path, $block, $page);
	return @changed;
}

=pod

=item prng($seed)

A small generator of its own (the same numbers on every Perl): a sub that
gives a whole number from 0 to n - 1 for n.

=cut

sub prng
{
	my ($state) = @_;

	$state = ($state * 2654435761 + 12345) & 0x7fffffff;
	return sub {
		my ($n) = @_;

		$state = ($state * 1103515245 + 12345) & 0x7fffffff;
		return ($state >> 8) % $n;
	};
}

=pod

=item wal_bytes($node, $sql)

Runs $sql and returns the number of bytes of WAL written meanwhile.

=cut

sub wal_bytes
{
	my ($node, $sql) = @_;
	my $before = $node->lsn('insert');

	$node->safe_psql('postgres', $sql);
	return $node->safe_psql('postgres',
		"SELECT pg_current_wal_insert_lsn() - '$before'::pg_lsn");
}

=pod

=item temp_files($node)

The paths of all temporary files of a cluster, in every tablespace.

=cut

sub temp_files
{
	my ($node) = @_;
	my $data = $node->data_dir;
	my @folders =
	  grep { -d } ("$data/base/pgsql_tmp",
		glob("$data/pg_tblspc/*/PG_*/pgsql_tmp"));
	my @files;

	while (my $folder = shift @folders)
	{
		foreach my $name (slurp_dir($folder))
		{
			next if $name eq '.' || $name eq '..';
			my $path = "$folder/$name";
			if   (-d $path) { push @folders, $path }
			else            { push @files, $path }
		}
	}
	return @files;
}

=pod

=back

=cut

1;
