# Fault.pm: what is done to a server under load
#
# Each fault is a sub of the driver's object: it strikes, sees that the server
# has noticed, and lets it come up again.  A fault returns false if it could not
# strike (no such process came by).

package Torture::Fault;

use strict;
use warnings;

use Time::HiRes qw(sleep time);
use Torture::Check;
use Torture::Server;
use Torture::Table;

# name => what it is; "pair" needs a standby, "mount" a file system of its own
our %faults = (
	backend => { do => sub { kill_one($_[0], 'client') } },
	keeper => { do => sub { kill_one($_[0], 'keeper') } },
	checkpointer => { do => sub { kill_title($_[0], qr/: checkpointer/) } },
	bgwriter => { do => sub { kill_title($_[0], qr/: background writer/) } },
	walwriter => { do => sub { kill_title($_[0], qr/: walwriter/) } },
	autovacuum =>
	  { do => sub { kill_title($_[0], qr/: autovacuum worker/, 1) } },
	parallel => { do => \&kill_parallel },
	postmaster => { do => \&kill_postmaster },
	immediate => { do => \&immediate },
	fast => { do => \&fast },
	recovery => { do => \&kill_in_recovery },
	cancel => { do => sub { storm($_[0], 'pg_cancel_backend') } },
	terminate => { do => sub { storm($_[0], 'pg_terminate_backend') } },
	move => { do => \&move },
	full_tablespace => {
		do => \&full_tablespace,
		mount => 1,
		before => \&mount_small,
		after => \&unmount_small
	},
	full_wal => { do => \&full_wal, mount => 1 },
	walsender =>
	  { do => sub { kill_title($_[0], qr/: walsender/) }, pair => 1 },
	standby_process => { do => \&kill_standby_process, pair => 1 },
	standby_immediate => { do => \&standby_immediate, pair => 1 },
	basebackup => { do => \&basebackup, pair => 1 },
	promote => {
		do => \&promote,
		pair => 1,
		before => \&synchronous,
		ends => 1
	});

# False if there is no such process: it was looked for, and has ended meanwhile
sub strike
{
	my ($pid) = @_;

	return defined $pid && kill 'KILL', $pid;
}

# Kills one of the processes that "find" gives and waits until the server has
# started again.  A process may end by itself just before; then another one is
# looked for, until "seconds" have passed.
sub kill_found
{
	my ($torture, $find, $seconds) = @_;
	my $primary = $torture->{primary};
	my $offset = $primary->log_size;
	my $end = time + $seconds;

	while (1)
	{
		my @found = $find->();
		strike(Torture::Table::pick(@found)) if @found;
		my $noticed = time + (@found ? 2 : 0.01);
		do
		{
			if ($primary->log_since($offset) =~ /was terminated by signal 9/)
			{
				$primary->restarted($offset);
				return 1;
			}
			sleep 0.01;
		} until (time > $noticed);
		return 0 if time > $end;
	}
}

sub kill_one
{
	my ($torture, $who) = @_;
	my $primary = $torture->{primary};
	my $find = sub {
		my $session = $primary->connect(application_name => 'driver')
		  or return ();
		my $answer = $session->query(
			"SELECT pid FROM pg_stat_activity WHERE application_name = 'torture $who'"
			  . " ORDER BY state <> 'active', random() LIMIT 1");

		$session->close;
		return map { $_->[0] } @{ $answer->{rows} || [] };
	};

	return kill_found($torture, $find, 10);
}

sub kill_title
{
	my ($torture, $title, $patiently) = @_;

	return kill_found(
		$torture,
		sub { $torture->{primary}->find($title) },
		$patiently ? 20 : 10);
}

# A worker of a parallel build, scan or vacuum, which a helper makes meanwhile
sub kill_parallel
{
	my ($torture) = @_;
	my $primary = $torture->{primary};
	my ($table) = grep { $_->{kind} eq 'main' }
	  Torture::Table::shuffled(@{ $torture->{tables} });
	my $helper = fork;

	die "fork: $!\n" unless defined $helper;
	if (!$helper)
	{
		my $session = $primary->connect(application_name => 'torture helper')
		  or torture_exit();
		$session->query('SET lock_timeout = 3000;'
			  . 'SET max_parallel_maintenance_workers = 3; SET min_parallel_table_scan_size = 0;'
			  . 'SET min_parallel_index_scan_size = 0; SET parallel_setup_cost = 0;'
			  . 'SET max_parallel_workers_per_gather = 3; SET parallel_tuple_cost = 0'
		);
		for (1 .. 20)
		{
			last if $session->lost;
			my $number = int rand @{ $table->{definitions} };
			$session->query('BEGIN');
			$session->query($table->create_index($number, "p$$", 0));
			$session->rollback;
			# long enough to be met
			$session->query("SELECT count(*) FROM $table->{name}"
				  . " WHERE length(repeat(ver::text, 100000)) > 5");
			$session->query("VACUUM (PARALLEL 3) $table->{name}");
		}
		torture_exit();
	}
	my $done = kill_title($torture, qr/: parallel worker/, 1);
	kill 'KILL', $helper;
	waitpid $helper, 0;
	return $done;
}

# The end of a child that shares the parent's files and temporary folders
sub torture_exit
{
	require POSIX;
	POSIX::_exit(0);
}

sub kill_postmaster
{
	my ($torture) = @_;
	my $primary = $torture->{primary};

	strike($primary->postmaster) or return 0;
	$primary->ensure_up;
	return 1;
}

sub immediate
{
	my ($torture) = @_;

	$torture->{primary}->stop('immediate');
	$torture->{primary}->ensure_up;
	return 1;
}

sub fast
{
	my ($torture) = @_;

	$torture->{primary}->stop('fast');
	$torture->{primary}->ensure_up;
	return 1;
}

# A crash, and another one or two while the server recovers from it
sub kill_in_recovery
{
	my ($torture) = @_;
	my $primary = $torture->{primary};
	my $struck = 0;

	$primary->stop('immediate');
	for (1 .. 1 + int rand 3)
	{
		my $delay = rand() < 0.5 ? 0 : rand 0.15;
		$primary->bury;
		$primary->run('pg_ctl', '-D', $primary->{data}, '-l',
			$primary->{log}, '-W', 'start');
		my $end = time + 5;
		my @startup;
		until ((@startup = $primary->find(qr/: startup/)) || time > $end)
		{
			sleep 0.002;
		}
		next unless @startup;
		sleep $delay;
		if (rand() < 0.5) { $struck++ if strike($startup[0]) }
		else
		{
			my $postmaster = $primary->postmaster;
			$struck++ if $postmaster && strike($postmaster);
		}
		my $postmaster = $primary->postmaster;
		Torture::Server::wait_for(
			'the end of a recovery that was struck',
			sub {
				!$primary->postmaster
				  || $primary->connect(application_name => 'driver');
			});
		$primary->stop('immediate') if $primary->postmaster;
	}
	$primary->ensure_up;
	return $struck > 0;
}

sub storm
{
	my ($torture, $function) = @_;
	my $session = $torture->{primary}->session(application_name => 'driver');
	my $pause = rand 0.08;
	my $struck = 0;

	for (1 .. 30)
	{
		my $answer = $session->query(
				"SELECT count($function(pid)) FROM pg_stat_activity"
			  . " WHERE application_name LIKE 'torture%' AND random() < 0.5"
			  . ($function =~ /cancel/ ? " AND state = 'active'" : ''));
		$struck += $answer->{rows}[0][0] if $answer->{ok};
		sleep $pause;
	}
	# those that clean up after the tables
	$session->query(
		"SELECT count($function(pid)) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'"
	);
	$session->close;
	return $struck > 0;
}

# Indexes and tables change their tablespace, and then the server dies
sub move
{
	my ($torture) = @_;
	my $primary = $torture->{primary};
	my $session = $primary->session(application_name => 'driver');
	my $moved = 0;

	$session->must('SET lock_timeout = 3000');
	for (1 .. 3 + int rand 5)
	{
		my $table = Torture::Table::pick(@{ $torture->{tables} });
		my ($answer, @indexes) = Torture::Check::indexes($session, $table);
		my $place =
		  Torture::Table::pick('pg_default', 'ts_a', 'ts_b', 'pg_default');
		next unless @indexes;
		my $sql =
		  rand() < 0.75
		  ? 'ALTER INDEX ' . Torture::Table::pick(@indexes)->[0]
		  : "ALTER TABLE $table->{name}";
		$moved++ if $session->query("$sql SET TABLESPACE $place")->{ok};
	}
	$session->close;
	return 0 unless $moved;
	return immediate($torture);
}

# ---- full disks ----

# fill(folder): a file that takes what room there is
sub fill
{
	my ($folder) = @_;
	my $path = "$folder/filler";

	open my $file, '>', $path or die "$path: $!\n";
	my $bytes = 65536;
	while ($bytes >= 512)
	{
		$bytes /= 2 unless syswrite $file, "\0" x $bytes;
	}
	close $file;
	return $path;
}

sub full_wal
{
	my ($torture) = @_;
	my $primary = $torture->{primary};
	my $offset = $primary->log_size;
	my $path = fill($primary->{wal});
	my $end = time + 60;
	my $struck = 0;

	until (
		time > $end
		  || ($struck =
			$primary->log_since($offset) =~
			/PANIC: .*No space left on device/))
	{
		fill($primary->{wal}) if -s $path == 0;
		my $session = $primary->connect(application_name => 'driver');
		if ($session)
		{
			$session->query(
				"SELECT pg_logical_emit_message(false, 'torture', repeat('x', 1000000))"
			) for 1 .. 5;
			$session->close;
		}
		sleep 0.05;
	}
	# sometimes it tries to come up without room
	sleep rand 1 if rand() < 0.5;
	unlink $path;
	# it may be about to give up
	$primary->stop('immediate');
	$primary->ensure_up;
	return $struck;
}

# Puts a small file system under the tablespace "small", which is empty
sub mount_small
{
	my ($torture) = @_;
	my $primary = $torture->{primary};
	my $folder = "$primary->{spaces}/small";
	my $session;

	opendir my $dir, $folder or die "$folder: $!\n";
	my ($version) = grep { /^PG_/ } readdir $dir;
	closedir $dir;
	$primary->stop('fast');
	$primary->mount($folder, Torture::Server::SMALL_MEGABYTES());
	mkdir "$folder/$version" or die "$folder/$version: $!\n";
	Torture::Server::own("$folder/$version");
	$primary->start_or_die;
	$torture->{small} = $folder;
	$session = $primary->session(application_name => 'driver');

	foreach my $table (@{ $torture->{tables} })
	{
		my ($answer, @indexes) = Torture::Check::indexes($session, $table);
		foreach my $index (@indexes)
		{
			$session->query("ALTER INDEX $index->[0] SET TABLESPACE small")
			  if rand() < 0.7;
		}
		$session->query("ALTER TABLE $table->{name} SET TABLESPACE small")
		  if rand() < 0.2;
	}
	$session->close;
	return;
}

sub full_tablespace
{
	my ($torture) = @_;
	my $primary = $torture->{primary};
	my $offset = $primary->log_size;
	my $path = fill($torture->{small});
	my $end = time + 15;
	my $struck = 0;
	my $errors = 0;

	while (time < $end && $errors < 10)
	{
		$errors = () =
		  $primary->log_since($offset) =~ /No space left on device/g;
		sleep 0.05;
	}
	if (rand() < 0.4)
	{
		# recovery may have to extend files, and fail
		$primary->stop('immediate');
		$primary->start if rand() < 0.5;
	}
	unlink $path;
	# What is copied to another tablespace is in the WAL before it is found not
	# to fit there, so redo needs more room than there was
	$primary->enlarge($torture->{small},
		10 * Torture::Server::SMALL_MEGABYTES());
	$primary->ensure_up;
	return $errors > 0;
}

sub unmount_small
{
	my ($torture) = @_;
	my $primary = $torture->{primary};
	my $folder = $torture->{small};
	my $session = $primary->session(application_name => 'driver');

	$session->must(
		'ALTER INDEX ALL IN TABLESPACE small SET TABLESPACE pg_default');
	$session->must(
		'ALTER TABLE ALL IN TABLESPACE small SET TABLESPACE pg_default');
	$session->must('CHECKPOINT');
	$session->close;
	$primary->stop('fast');
	$primary->unmount($folder);
	$primary->start_or_die;
	return;
}

# ---- the standby ----

sub kill_standby_process
{
	my ($torture) = @_;
	my $standby = $torture->{standby};
	my @found =
	  rand() < 0.2
	  ? $standby->postmaster
	  : $standby->find(
		qr/startup|walreceiver|checkpointer|background writer/);

	return 0 unless @found && strike(Torture::Table::pick(@found));
	my $postmaster = $standby->postmaster;
	if (rand() < 0.3)
	{
		# and once more while it recovers
		$standby->ensure_up;
		@found = $standby->find(qr/startup/);
		strike($found[0]) if @found;
	}
	return 1;
}

sub standby_immediate
{
	my ($torture) = @_;

	$torture->{standby}->stop('immediate');
	$torture->{standby}->ensure_up;
	return 1;
}

sub basebackup
{
	my ($torture) = @_;

	$torture->{standby}->clone($torture->{primary});
	return 1;
}

# Waits until all that is acknowledged from now on is on the standby, too
sub synchronous
{
	my ($torture) = @_;
	my $primary = $torture->{primary};

	$torture->follow;
	$primary->configure(
			"synchronous_standby_names = '*'\nsynchronous_commit = "
		  . Torture::Table::pick('on', 'remote_apply')
		  . "\n");
	$primary->must('SELECT pg_reload_conf()');
	Torture::Server::wait_for(
		'a synchronous standby',
		sub {
			return $primary->value(
				"SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
			) > 0;
		});
	return;
}

# The primary dies, its standby takes over, and it follows that in turn
sub promote
{
	my ($torture) = @_;
	my ($primary, $standby) = @$torture{ 'primary', 'standby' };

	if (rand() < 0.4) { strike($primary->postmaster) }
	else { $primary->stop(Torture::Table::pick('immediate', 'fast')) }
	Torture::Server::wait_for('the primary is gone',
		sub { !$primary->postmaster });
	$torture->stop_load;
	$standby->run_or_die('pg_ctl', '-D', $standby->{data}, '-w', '-t', '300',
		'promote');
	@$torture{ 'primary', 'standby' } = ($standby, $primary);
	$standby->configure(
		"synchronous_standby_names = ''\nsynchronous_commit = on\n");
	$standby->must('SELECT pg_reload_conf()');
	$torture->{after_promotion} = sub {
		if ($primary->rewind($standby)) { $torture->{totals}{rewinds}++ }
		else
		{
			$torture->{totals}{'clones for rewinds'}++;
			$primary->clone($standby);
		}
	};
	return 1;
}

1;
