# Server.pm: a private server that may be killed in every way
#
# Two of them make a pair, whose parts of primary and standby change with each
# promotion.  All is below one folder; sockets only.  Where root runs this, the
# servers run as user postgres, and pg_wal lies on a small file system in memory
# that can be filled up; others go without the full disks.

package Torture::Server;

use strict;
use warnings;

use File::Path  qw(make_path remove_tree);
use Time::HiRes qw(sleep time);
use Torture::Wire;

our $is_root = $> == 0;
our $can_mount;

# How long a state is waited for before its absence is an error
our $deadline = 300;

use constant WAL_MEGABYTES => 320;
use constant SMALL_MEGABYTES => 40;
use constant TABLESPACES => ('ts_a', 'ts_b', 'small');

# new(name, folder, port, bin)
sub new
{
	my ($class, $name, $folder, $port, $bin) = @_;

	return bless {
		name => $name,
		folder => "$folder/$name",
		data => "$folder/$name/data",
		wal => "$folder/$name/wal",
		spaces => "$folder/$name/spaces",
		log => "$folder/$name/log",
		sockets => $folder,
		port => $port,
		bin => $bin,
		mounted => {}
	}, $class;
}

# run(program, arguments): true if it succeeded; what it printed is kept
sub run
{
	my ($self, $program, @arguments) = @_;
	my @command = ("$self->{bin}/$program", @arguments);

	unshift @command, 'runuser', '-u', 'postgres', '--' if $is_root;
	my $pid = fork;
	die "fork: $!\n" unless defined $pid;
	if (!$pid)
	{
		open STDIN, '<', '/dev/null';
		open STDOUT, '>>', "$self->{folder}/commands";
		open STDERR, '>&', \*STDOUT;
		chdir '/';
		print "@command\n";
		STDOUT->flush;
		exec @command or exit 127;
	}
	waitpid $pid, 0;
	return $? == 0;
}

sub run_or_die
{
	my ($self, @command) = @_;

	$self->run(@command)
	  or die "$self->{name}: \"@command\" failed: see $self->{folder}\n";
	return;
}

sub own
{
	my (@paths) = @_;

	if ($is_root)
	{
		my (undef, undef, $uid, $gid) = getpwnam 'postgres';
		chown $uid, $gid, @paths;
	}
	return;
}

# mount(path, megabytes): a file system of its own, if root may
sub mount
{
	my ($self, $path, $megabytes) = @_;

	return unless $can_mount;
	system('mount', '-t', 'tmpfs', '-o', "size=${megabytes}m,mode=0700",
		'torture', $path) == 0
	  or die "could not mount on $path\n";
	own($path);
	$self->{mounted}{$path} = 1;
	return;
}

# More room on such a file system
sub enlarge
{
	my ($self, $path, $megabytes) = @_;

	system('mount', '-o', "remount,size=${megabytes}m", $path) == 0
	  or die "could not enlarge $path\n";
	return;
}

sub unmount
{
	my ($self, $path) = @_;

	return unless delete $self->{mounted}{$path};
	system('umount', $path) == 0
	  or system('umount', '-l', $path) == 0
	  or warn "could not unmount $path\n";
	return;
}

sub make_folders
{
	my ($self) = @_;

	my @folders = (
		@$self{ 'folder', 'wal', 'spaces' },
		map { "$self->{spaces}/$_" } TABLESPACES);

	make_path(@folders);
	own(@folders);
	$self->mount($self->{wal}, WAL_MEGABYTES)
	  unless $self->{mounted}{ $self->{wal} };
	return;
}

sub init
{
	my ($self, %opt) = @_;

	$self->make_folders;
	$self->run_or_die(
		'initdb',
		'-D',
		$self->{data},
		'-U',
		'postgres',
		'-A',
		'trust',
		'-N',
		'--no-locale',
		'--encoding=UTF8',
		'--wal-segsize=4',
		"--waldir=$self->{wal}/pg_wal",
		$opt{checksums} ? '--data-checksums' : ());
	$self->configure(<<"CONF");
listen_addresses = ''
unix_socket_directories = '$self->{sockets}'
log_line_prefix = '%m [%p] %e %q%a '
log_min_messages = warning
log_statement = none
fsync = off
wal_level = replica
wal_log_hints = on
wal_keep_size = 64MB
max_wal_size = 64MB
min_wal_size = 16MB
max_wal_senders = 10
max_replication_slots = 4
max_prepared_transactions = 100
max_connections = 60
max_worker_processes = 16
max_parallel_workers = 12
shared_buffers = 16MB
checkpoint_timeout = 30s
wal_sender_timeout = 0
wal_receiver_timeout = 0
wal_retrieve_retry_interval = 100ms
max_standby_streaming_delay = 3s
hot_standby = on
restart_after_crash = on
autovacuum_naptime = 1s
autovacuum_vacuum_cost_delay = 10ms
autovacuum_vacuum_cost_limit = 50
autovacuum_vacuum_threshold = 50
autovacuum_vacuum_scale_factor = 0.05
lock_timeout = 30s
$opt{conf}
CONF
	$self->configure("port = $self->{port}\n");
	return;
}

sub configure
{
	my ($self, $text) = @_;

	open my $conf, '>>', "$self->{data}/postgresql.conf"
	  or die "could not open postgresql.conf: $!\n";
	print $conf $text;
	close $conf;
	return;
}

sub start
{
	my ($self) = @_;

	$self->bury;
	return $self->run(
		'pg_ctl', '-D', $self->{data}, '-l',
		$self->{log}, '-w', '-t', $deadline,
		'start');
}

sub start_or_die
{
	my ($self) = @_;

	$self->start or die "$self->{name} does not start: see $self->{log}\n";
	return;
}

sub stop
{
	my ($self, $mode) = @_;

	$self->run(
		'pg_ctl', '-D', $self->{data}, '-m',
		$mode, '-w', '-t', $deadline,
		'stop');
	wait_for("$self->{name} stopped", sub { !$self->postmaster });
	return;
}

# The postmaster's process, if it lives
sub postmaster
{
	my ($self) = @_;

	my $pid = first_line("$self->{data}/postmaster.pid");
	return unless defined $pid && $pid =~ /^(\d+)/;
	$pid = $1;
	open my $name, '<', "/proc/$pid/cmdline" or return;
	my $command = <$name>;
	return defined $command && $command =~ /postgres/ ? $pid : undef;
}

# A postmaster that was killed stays in the table of processes until init has
# waited for it, and the server takes the process that its lock files name for
# a living one that long.  An init that never waits is no reason to fail.
sub bury
{
	my ($self) = @_;

	foreach my $lock ("$self->{data}/postmaster.pid",
		"$self->{sockets}/.s.PGSQL.$self->{port}.lock")
	{
		my $end = time + 10;

		while (is_zombie(first_line($lock)))
		{
			if (time > $end)
			{
				unlink $lock;
				last;
			}
			sleep 0.05;
		}
	}
	return;
}

sub is_zombie
{
	my ($pid) = @_;

	return ($pid || '') =~ /^(\d+)/
	  && (first_line("/proc/$1/stat") || '') =~ /\) Z /;
}

# The first line of a file, if there is one
sub first_line
{
	my ($path) = @_;

	open my $file, '<', $path or return;
	my $line = <$file>;
	close $file;
	return $line;
}

# children(): process => title, as "postgres: checkpointer"
sub children
{
	my ($self) = @_;
	my $postmaster = $self->postmaster or return;
	my %children;

	foreach
	  my $line (split /\n/, `ps -o pid=,args= --ppid $postmaster 2>/dev/null`)
	{
		$children{$1} = $2 if $line =~ /^\s*(\d+)\s+(.*)/;
	}
	return %children;
}

# Processes whose titles match
sub find
{
	my ($self, $pattern) = @_;
	my %children = $self->children;

	return
	  grep { $children{$_} =~ $pattern } sort { $a <=> $b } keys %children;
}

sub connect
{
	my ($self, %settings) = @_;

	return Torture::Wire->new(
		$self->{sockets}, $self->{port},
		TimeZone => 'UTC',
		%settings);
}

# A session, as soon as the server takes one
sub session
{
	my ($self, %settings) = @_;
	my $session;

	wait_for("$self->{name} takes connections",
		sub { $session = $self->connect(%settings) });
	return $session;
}

# must(sql), value(sql): in a session of their own
sub must
{
	my ($self, @sql) = @_;
	my $session = $self->session(application_name => 'driver');
	my $answer;

	$answer = $session->must($_) foreach @sql;
	$session->close;
	return $answer;
}

sub value
{
	my ($self, $sql) = @_;
	my $rows = $self->must($sql)->{rows};

	return $rows && @$rows ? $rows->[0][0] : undef;
}

# Waits until the sub is true; dies after the deadline
sub wait_for
{
	my ($what, $sub, $limit) = @_;
	my $end = time + ($limit || $deadline);

	while (1)
	{
		my $result = $sub->();
		return $result if $result;
		die "waited in vain for: $what\n" if time > $end;
		sleep 0.05;
	}
}

# The server after a fault: running, with recovery finished
sub ensure_up
{
	my ($self) = @_;
	my $end = time + $deadline;

	while (1)
	{
		if (!$self->postmaster)
		{
			$self->start;
		}
		elsif (my $session = $self->connect(application_name => 'driver'))
		{
			my $answer = $session->query('SELECT 1');
			$session->close;
			return if $answer->{ok};
		}
		die "$self->{name} does not come up: see $self->{log}\n"
		  if time > $end;
		sleep 0.05;
	}
}

sub log_size
{
	my ($self) = @_;

	return -s $self->{log} || 0;
}

sub log_since
{
	my ($self, $offset) = @_;

	open my $log, '<', $self->{log} or return '';
	seek $log, $offset, 0;
	local $/ = undef;
	my $text = <$log>;
	close $log;
	return defined $text ? $text : '';
}

# After the death of a process: the server has noticed it and is up again
sub restarted
{
	my ($self, $offset) = @_;

	wait_for(
		"$self->{name} restarts",
		sub {
			return 1 unless $self->postmaster;
			return $self->log_since($offset) =~
			  /reinitializing.*database system is ready to accept/s;
		});
	$self->ensure_up;
	return;
}

# ---- standby ----

# A copy of the primary, by pg_basebackup, that follows it
sub clone
{
	my ($self, $primary) = @_;

	$self->stop('immediate') if $self->postmaster;
	remove_tree($self->{data}, $self->{spaces}, "$self->{wal}/pg_wal");
	$self->make_folders;
	$self->run_or_die(
		'pg_basebackup',
		'-D',
		$self->{data},
		'-h',
		$primary->{sockets},
		'-p',
		$primary->{port},
		'-U',
		'postgres',
		'-X', 'stream', '-c', 'fast', '-R',
		'--no-sync',
		"--waldir=$self->{wal}/pg_wal",
		map {
			"--tablespace-mapping=$primary->{spaces}/$_=$self->{spaces}/$_"
		} TABLESPACES);
	$self->configure("port = $self->{port}\n");
	$self->follow($primary);
	return;
}

sub follow
{
	my ($self, $primary) = @_;

	$self->configure("primary_conninfo = 'host=$primary->{sockets}"
		  . " port=$primary->{port} user=postgres"
		  . " application_name=$self->{name}'\n"
		  . "synchronous_standby_names = ''\nsynchronous_commit = on\n");
	# what pg_basebackup wrote there has precedence
	open my $auto, '>', "$self->{data}/postgresql.auto.conf"
	  or die "postgresql.auto.conf: $!\n";
	close $auto;
	open my $signal, '>', "$self->{data}/standby.signal"
	  or die "standby.signal: $!\n";
	close $signal;
	own("$self->{data}/standby.signal");
	$self->start_or_die;
	return;
}

# A former primary becomes the standby of the new one; false if pg_rewind
# cannot, for want of WAL
sub rewind
{
	my ($self, $primary) = @_;

	# without a checkpoint it does not know the new timeline
	$primary->must('CHECKPOINT');
	$self->bury;
	# pg_rewind brings the other's configuration with it
	my $done = $self->run(
		'pg_rewind',
		'--no-sync',
		'-D',
		$self->{data},
		'--source-server',
		"host=$primary->{sockets} port=$primary->{port} user=postgres dbname=postgres"
	);
	return 0 unless $done;
	$self->configure("port = $self->{port}\n");
	$self->follow($primary);
	return 1;
}

# Waits until the standby has replayed all that the primary has written;
# false if it no longer can
sub replayed
{
	my ($self, $primary) = @_;
	my $lsn = $primary->value('SELECT pg_current_wal_flush_lsn()');
	my $offset = $self->{follow_log} || 0;
	my $broken = 0;

	wait_for(
		"$self->{name} replays to $lsn",
		sub {
			$self->ensure_up;
			my $session = $self->connect or return 0;
			my $answer =
			  $session->query("SELECT pg_last_wal_replay_lsn() >= '$lsn'");
			$session->close;
			return 1 if $answer->{ok} && ($answer->{rows}[0][0] || '') eq 't';
			$broken = $self->log_since($offset) =~
			  /requested WAL segment \S+ has already been removed/;
			return $broken;
		});
	return !$broken;
}

sub remove
{
	my ($self) = @_;

	$self->stop('immediate') if $self->postmaster;
	$self->unmount($_) foreach keys %{ $self->{mounted} };
	return;
}

1;
