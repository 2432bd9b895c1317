#!/usr/bin/perl
#
# torture.pl: faults under load, and what must be true afterwards
#
# See test/torture/README.  "run" beside this file builds and installs the
# extension into a server of its own and calls this with --bin.

use strict;
use warnings;

use File::Basename qw(dirname);
use File::Path     qw(make_path remove_tree);
use File::Temp     qw(tempdir);
use FindBin;
use Getopt::Long;
use IO::Handle;
use IO::Select;
use POSIX ();
use Storable;
use Time::HiRes qw(sleep time);

use lib $FindBin::RealBin;
use Torture::Check;
use Torture::Client;
use Torture::Fault;
use Torture::Keeper;
use Torture::Server;
use Torture::Table;

my %opt = (
	am => 'both',
	minutes => 5,
	faults => 0,
	rounds => 0,
	seed => int(time) % 1_000_000,
	clients => 4,
	rows => 400,
	work => 60,
	port => 54320,
	steps => 4,
	conf => '',
	more => 5,
	standby => 1,
	stop => 5);
GetOptions(
	\%opt, 'am=s', 'minutes=f', 'faults=i',
	'rounds=i', 'seed=i', 'clients=i', 'rows=i',
	'work=i', 'port=i', 'steps=i', 'standby!',
	'stop=i', 'bin=s', 'folder=s', 'only=s@',
	'conf=s', 'more=i', 'keep!') or exit 2;
die "--am is ecp, betree or both\n"
  unless $opt{am} =~ /^(?:ecp|betree|both)$/;
die "--bin: the folder of the server's programs\n"
  unless $opt{bin} && -x "$opt{bin}/initdb";

STDOUT->autoflush(1);
my $began = time;
my $base = $opt{folder} || tempdir('/tmp/ecp-torture.XXXXXX');
make_path($base);
chmod 0755, $base;
Torture::Server::own($base);
$Torture::Server::can_mount = $Torture::Server::is_root && can_mount();

my %totals = map { $_ => 0 } (
	'rounds', 'faults',
	'acknowledged changes', 'committed transactions',
	'rows checked', 'comparisons',
	'lost', 'wrong',
	'checker', 'standby',
	'error', 'passed',
	'failed', 'promotions',
	'rewinds');
my %struck;
my $torture = bless { totals => \%totals, server_number => 0 },
  'Torture::Driver';
my $interrupted = 0;
local $SIG{INT} = local $SIG{TERM} = sub { $interrupted = 1 };

my @kinds = grep {
	my $fault = $Torture::Fault::faults{$_};
	(!$fault->{pair} || $opt{standby})
	  && (!$fault->{mount} || $Torture::Server::can_mount)
} sort keys %Torture::Fault::faults;
if ($opt{only})
{
	my %only = map { $_ => 1 } map { split /,/ } @{ $opt{only} };
	@kinds = grep { $only{$_} } @kinds;
	die "--only names no fault that can be had here\n" unless @kinds;
}
my $dropped = qr/could not open relation with OID/;

print
  "seed $opt{seed}, access method $opt{am}, $opt{clients} clients, folder $base\n";
print "faults: @kinds\n";
print "without full disks, for which root must run this\n"
  unless $Torture::Server::can_mount;

for (my $round = 0; !finished($round); $round++)
{
	$totals{rounds}++;
	my $failed = $totals{failed};
	my $ok = eval { $torture->round($opt{seed} + $round); 1 };
	$torture->verdict(0, 'error', "the driver: $@") unless $ok;
	if ($totals{failed} > $failed)
	{
		print "to repeat this round: --seed "
		  . ($opt{seed} + $round)
		  . " --rounds 1 --am $opt{am} --clients $opt{clients}\n";
		$torture->keep_failed($round);
	}
}
$torture->end;
summary();
exit($totals{failed} || !$totals{passed} ? 1 : 0);

sub can_mount
{
	my $path = "$base/mount";

	mkdir $path;
	my $can =
	  system("mount -t tmpfs -o size=1m torture $path 2>/dev/null") == 0;
	system('umount', $path) if $can;
	rmdir $path;
	return $can;
}

sub finished
{
	my ($round) = @_;

	return 1 if $interrupted;
	return 1
	  if $torture->{failures_kept} && $torture->{failures_kept} >= $opt{stop};
	return $round >= $opt{rounds} if $opt{rounds};
	return $totals{faults} >= $opt{faults} if $opt{faults};
	return time - $began > 60 * $opt{minutes};
}

sub summary
{
	my $minutes = sprintf '%.1f', (time - $began) / 60;

	print "\n";
	print "faults by kind: "
	  . join(', ', map { "$_ $struck{$_}" } sort keys %struck) . "\n";
	print
	  "rounds $totals{rounds}, faults $totals{faults}, $minutes minutes, seed $opt{seed}\n";
	print "promotions $totals{promotions}, by pg_rewind $totals{rewinds}"
	  . " of the old primaries followed\n";
	print "committed transactions $totals{'committed transactions'},"
	  . " acknowledged row changes $totals{'acknowledged changes'},"
	  . " rows checked $totals{'rows checked'},"
	  . " answers compared $totals{comparisons}"
	  . " (not asked, the planner having chosen another index: $totals{'passed over'})\n";
	print "rows lost $totals{lost}, wrong answers $totals{wrong},"
	  . " checker errors $totals{checker},"
	  . " standby differences $totals{standby},"
	  . " other errors $totals{error}\n";
	print "$totals{passed} passed, $totals{failed} failed\n";
	return;
}

# ----------------------------------------------------------------------

package Torture::Driver;

use Time::HiRes qw(sleep time);

# verdict(passed, kind, text): one of the things that are checked
sub verdict
{
	my ($torture, $passed, $kind, $text, $number) = @_;

	if ($passed)
	{
		$totals{passed}++;
		return 1;
	}
	$totals{failed}++;
	$totals{$kind} += $number || 1;
	chomp $text;
	print "FAILED ($kind): $text\n";
	return 0;
}

# ---- servers ----

sub make_servers
{
	my ($torture) = @_;
	my $number = ++$torture->{server_number};
	my @servers = map {
		Torture::Server->new("$_$number", $base, $opt{port} + ($_ eq 'b'),
			$opt{bin})
	} ('a', 'b');
	my $conf = join("\n",
		'wal_consistency_checking = '
		  . Torture::Table::pick("''", "'generic'"),
		'wal_recycle = ' . Torture::Table::pick('on', 'off'),
		'full_page_writes = ' . Torture::Table::pick('on', 'on', 'on'),
		'hot_standby_feedback = ' . Torture::Table::pick('on', 'off'),
		'bgwriter_delay = ' . Torture::Table::pick('10ms', '200ms'),
		'fsync = ' . Torture::Table::pick('off', 'off', 'on'),
		$opt{conf});

	$torture->{primary} = $servers[0];
	$torture->{servers} = \@servers;
	$servers[0]->init(conf => $conf, checksums => rand() < 0.5);
	$servers[0]->start_or_die;
	$servers[0]->must(
		'CREATE EXTENSION ecp',
		map { "CREATE TABLESPACE $_ LOCATION '$servers[0]{spaces}/$_'" }
		  Torture::Server::TABLESPACES);
	if ($opt{standby})
	{
		$torture->{standby} = $servers[1];
		$servers[1]->clone($servers[0]);
	}
	return;
}

# The standby follows and is up to date, or is made anew
sub follow
{
	my ($torture) = @_;
	my ($primary, $standby) = @$torture{ 'primary', 'standby' };

	return unless $standby;
	return if $standby->replayed($primary);
	$totals{'clones for lack of WAL'}++;
	$standby->clone($primary);
	$standby->{follow_log} = $standby->log_size;
	return $standby->replayed($primary);
}

# What a failure is to be understood by stays: data, logs, journals
sub keep_failed
{
	my ($torture, $round) = @_;

	$torture->{failures_kept}++;
	eval { $torture->stop_load(1); 1 } or warn $@;
	foreach my $server (@{ $torture->{servers} || [] })
	{
		eval { $server->stop('immediate') if $server->postmaster; 1 }
		  or warn $@;
		my ($wal) = $server->{wal};
		if ($server->{mounted}{$wal})
		{
			# what is in memory goes with the mount
			system("cp -a $wal $wal.kept");
		}
		foreach my $path (keys %{ $server->{mounted} })
		{
			system("cp -a $path $path.kept") unless $path eq $wal;
			$server->unmount($path);
		}
	}
	print "kept: $base (servers "
	  . join(', ', map { $_->{name} } @{ $torture->{servers} || [] }) . ")\n";
	delete @$torture{ 'primary', 'standby', 'servers', 'small', 'results' };
	return;
}

sub end
{
	my ($torture) = @_;

	foreach my $server (@{ $torture->{servers} || [] })
	{
		$server->remove;
	}
	if ($torture->{failures_kept} || $opt{keep} || $opt{folder})
	{
		print "logs: $base\n" if $torture->{failures_kept};
	}
	else
	{
		chdir '/';
		File::Path::remove_tree($base);
	}
	return;
}

# ---- a round: tables with new options, and some faults ----

sub round
{
	my ($torture, $seed) = @_;

	srand $seed;
	$torture->make_servers unless $torture->{servers};
	# not of what chance made of the servers
	srand $seed + 1;
	$torture->make_tables($seed);
	foreach my $plan (plan())
	{
		last if $interrupted;
		my $failed = $totals{failed};
		$torture->step($seed, $plan);
		return if $totals{failed} > $failed;
	}
	return;
}

sub make_tables
{
	my ($torture, $seed) = @_;
	my @ams = $opt{am} eq 'both' ? ('ecp', 'betree') : ($opt{am});
	my $session = $torture->{primary}->session(application_name => 'driver');

	$session->must("DROP TABLE IF EXISTS $_->{name}")
	  foreach @{ $torture->{tables} || [] };
	my $left = $session->must(
		"SELECT relname FROM pg_class WHERE relname ~ '^(ecp|betree)_(main|solo|unlogged)' AND relkind = 'r'"
	)->{rows};
	$session->must("DROP TABLE $_->[0]") foreach @$left;
	$torture->{tables} = [];
	foreach my $am (@ams)
	{
		foreach my $kind ('main', 'solo', 'unlogged')
		{
			my $table =
			  Torture::Table->new($am, "${am}_${kind}_$seed", $kind);
			push @{ $torture->{tables} }, $table;
			$session->must($table->create);
			$session->must($table->create_key);
			# some indexes are made on an empty table, others on rows
			my @numbers = Torture::Table::shuffled(0 .. 3);
			$session->must($table->create_index($numbers[0], 'e', 0));
			my $rows =
			  $kind eq 'main' ? $opt{rows} * $opt{clients} : $opt{rows};
			my @ids = map { $_ + $opt{clients} } 1 .. int rand $rows;
			# of the one writer, the first client
			@ids = map { $_ * $opt{clients} } @ids if $kind eq 'solo';
			if (@ids)
			{
				my $answer = $session->query("COPY $table->{name} FROM STDIN",
					join('', map { $table->copy_line($_, 1) } @ids));
				die "$answer->{error}{M}\n" unless $answer->{ok};
			}
			$table->{rows} = { map { $_ => 1 } @ids };
			my $next = $rows + $opt{clients};
			$table->{next_id} =
			  { map { $_ => $next } 0 .. $opt{clients} - 1 };
			$session->must($table->create_index($numbers[1], 'b', 0));
		}
	}
	$session->close;
	foreach my $table (@{ $torture->{tables} })
	{
		my @indexes = map {
			my $with = join(' ', @{ $_->{with} });
			$with =~ s/ = /=/g;
			"($with)"
		} @{ $table->{definitions} };
		print "  $table->{name}: "
		  . ($table->{vector} ? "$table->{vector} $table->{dims} " : '')
		  . "@indexes\n";
	}
	$torture->{versions} = { map { $_ => 10 } 0 .. $opt{clients} - 1 };
	return;
}

# ---- load ----

sub start_load
{
	my ($torture, %may) = @_;
	my ($read, $write);

	pipe $read, $write or die "pipe: $!\n";
	$torture->{progress} = $read;
	$read->blocking(0);
	$torture->{load} = [];
	my $number = ++$torture->{step_number};
	my $leave_prepared = rand() < 0.4;
	foreach my $who (0 .. $opt{clients} + 1)
	{
		my $class =
			$who < $opt{clients}  ? 'Torture::Client'
		  : $who == $opt{clients} ? 'Torture::Keeper'
		  :                         'Torture::Reader';
		next if $class eq 'Torture::Reader' && !$torture->{standby};
		my $srand = int rand 2**31;
		my $file = "$base/result_$who";
		my $worker = $class->new(
			number => $who,
			clients => $opt{clients},
			rows => $opt{rows},
			tables => $torture->{tables},
			server => $class eq 'Torture::Reader'
			? $torture->{standby}
			: $torture->{primary},
			step => $number,
			srand => $srand,
			may => \%may,
			leave_prepared => $leave_prepared,
			version => $torture->{versions}{$who},
			journal => "$base/journal_$who");
		unlink $file;
		my $pid = fork;
		die "fork: $!\n" unless defined $pid;

		if (!$pid)
		{
			local $SIG{INT} = 'IGNORE';
			my $ok = eval { $worker->load($write, $file); 1 };
			print STDERR "worker $who: $@" unless $ok;
			POSIX::_exit($ok ? 0 : 1);
		}
		push @{ $torture->{load} },
		  { pid => $pid, file => $file, number => $who };
	}
	close $write;
	return;
}

# Waits until the clients have done so much more; false if they do not get on
sub progress
{
	my ($torture, $count) = @_;
	my $select = IO::Select->new($torture->{progress});
	my $end = time + $Torture::Server::deadline;
	my $done = 0;

	while ($done < $count)
	{
		return 0 if time > $end;
		next unless $select->can_read(1);
		my $got = sysread $torture->{progress}, my $bytes, 4096;
		next unless defined $got;
		return 0 unless $got;
		$done += $got;
	}
	return 1;
}

# Ends the load and takes over what the clients know
sub stop_load
{
	my ($torture, $quietly) = @_;
	my $load = delete $torture->{load} or return;

	kill 'TERM', $_->{pid} foreach @$load;
	foreach my $worker (@$load)
	{
		my $end = time + 2 * $Torture::Server::deadline;
		my $gone = 0;
		my $status;
		until ($gone)
		{
			$gone = waitpid $worker->{pid}, POSIX::WNOHANG();
			$status = $?;
			last if $gone;
			sleep 0.02;
			if (time > $end)
			{
				kill 'KILL', $worker->{pid};
				$end = time + 10;
			}
		}
		if ($status != 0 || !-e $worker->{file})
		{
			$torture->verdict(0, 'error',
				"worker $worker->{number} ended with status $status: a hang?")
			  unless $quietly;
			next;
		}
		push @{ $torture->{results} }, Storable::retrieve($worker->{file});
	}
	close $torture->{progress};
	return;
}

# What clients were told becomes the model
sub take_results
{
	my ($torture) = @_;
	my %rows;

	$torture->{unknown} = [];
	$torture->{prepared} = {};
	my $results = delete $torture->{results} || [];
	foreach my $result (@$results)
	{
		my $counts = $result->{counts};
		$totals{'acknowledged changes'}   += $counts->{changes} || 0;
		$totals{'committed transactions'} += $counts->{committed} || 0;
		$totals{comparisons}              += $counts->{comparisons} || 0;
		foreach my $failure (@{ $result->{failures} })
		{
			$torture->verdict(0, @$failure);
		}
		foreach my $what (grep { /^(?:error|kept|failed) / } keys %$counts)
		{
			$torture->{seen}{$what} += $counts->{$what};
		}
		next unless $result->{rows};
		push @{ $torture->{unknown} }, @{ $result->{unknown} };
		%{ $torture->{prepared} } =
		  (%{ $torture->{prepared} }, %{ $result->{prepared} });
		$torture->{versions}{ $result->{number} } = $result->{version};
		foreach my $table (@{ $torture->{tables} })
		{
			my $name = $table->{name};
			$table->{next_id}{ $result->{number} } =
			  $result->{next_id}{$name};
			$rows{$name} =
			  { %{ $rows{$name} || {} }, %{ $result->{rows}{$name} } };
		}
	}
	$_->{rows} = $rows{ $_->{name} } || {} foreach @{ $torture->{tables} };
	return;
}

# ---- a step: load, fault, proof ----

# What a round will do.  All of it is chosen before the first load: what comes
# of that is chance, and draws as many random numbers as it happens to.
sub plan
{
	my @queue;

	return map {
		@queue = Torture::Table::shuffled(@kinds) unless @queue;
		my $kind = shift @queue;
		my @more =
		  $Torture::Fault::faults{$kind}{ends}
		  ? ()
		  : map { again() } 1 .. int rand($opt{more} + 1);
		{ srand => int rand 2**31, faults => [ $kind, @more ] }
	} 1 .. $opt{steps};
}

sub step
{
	my ($torture, $seed, $plan) = @_;
	my $kind = $plan->{faults}[0];
	my $fault = $Torture::Fault::faults{$kind};
	my $started = time;
	my @done;
	my $failed = $totals{failed};
	my $checked = $totals{'rows checked'};

	srand $plan->{srand};
	$torture->{log_offset} =
	  { map { $_->{name} => $_->log_size } @{ $torture->{servers} } };
	$torture->{name_of_primary} = $torture->{primary}{name};
	delete $torture->{after_promotion};
	$fault->{before}->($torture) if $fault->{before};
	$torture->{unlogged_offset} = $torture->{primary}->log_size;
	$torture->start_load(full => $kind =~ /^full/ ? 1 : 0);
	my $limit = $opt{work} + int rand $opt{work};
	my $moved = $torture->progress($limit);
	$torture->verdict($moved, 'error', 'the clients make no progress');

	foreach my $what (@{ $plan->{faults} })
	{
		last unless $moved;
		push @done, $what if $Torture::Fault::faults{$what}{do}->($torture);
		last if $fault->{ends};
		$moved = $torture->progress($limit / 3);
		$torture->verdict($moved, 'error',
			"the clients make no progress after \"$what\"");
	}
	$torture->stop_load;
	$torture->{primary}->ensure_up;
	$torture->check($kind);
	$fault->{after}->($torture) if $fault->{after};
	$struck{$_}++ foreach @done;
	$totals{faults}     += @done;
	$totals{promotions} += grep { $_ eq 'promote' } @done;
	printf
	  "%s seed %d step %d: %s; %d rows checked, %d faults so far, %.0f s\n",
	  $totals{failed} > $failed ? 'FAILED' : 'ok', $seed,
	  $torture->{step_number},
	  @done ? "@done" : "($kind did not come about)",
	  $totals{'rows checked'} - $checked, $totals{faults}, time - $started;
	return;
}

# Another fault for the same load: one that is done quickly
sub again
{
	my @quick = grep {
		/^(?:backend|keeper|checkpointer|bgwriter|walwriter|immediate|postmaster|recovery|cancel|terminate|standby_process)$/
	} @kinds;

	return @quick ? Torture::Table::pick(@quick) : ();
}

# ---- proof ----

sub crashed
{
	my ($torture) = @_;
	my $primary = $torture->{primary};

	return 1 if $primary->{name} ne $torture->{name_of_primary};
	return $primary->log_since($torture->{unlogged_offset}) =~
	  /was interrupted|not properly shut down|reinitializing/;
}

sub check
{
	my ($torture, $kind) = @_;
	my $primary = $torture->{primary};
	my $crashed = $torture->crashed;

	$torture->take_results;
	$torture->end_sessions;
	if ($crashed)
	{
		$_->{rows} = {}
		  foreach grep { $_->{kind} eq 'unlogged' } @{ $torture->{tables} };
	}
	$torture->{crashed} = $crashed;
	$torture->check_prepared;
	my $session = $primary->session(application_name => 'driver');
	$torture->check_rows($session, 1);
	if ($torture->finish_prepared($session))
	{
		$torture->check_rows($session, 0);

		# A standby keeps the locks of transactions that a crash has ended as
		# long as a prepared one is older, and until it reads of the running ones
		$session->must('CHECKPOINT') if $crashed;
	}
	$torture->drop_invalid($session);
	$torture->check_indexes($session, 'checker', 'wrong');
	$session->close;
	$torture->{after_promotion}->() if $torture->{after_promotion};
	$torture->check_standby if $torture->{standby};
	$torture->check_logs($kind);
	return;
}

# Sessions whose clients are gone may still work; all must end
sub end_sessions
{
	my ($torture) = @_;
	my $session = $torture->{primary}->session(application_name => 'driver');
	my $sessions =
	  "FROM pg_stat_activity WHERE application_name LIKE 'torture%'";

	$session->must("SELECT pg_terminate_backend(pid) $sessions");
	my $gone = eval {
		Torture::Server::wait_for('the sessions of the load end',
			sub { $session->value("SELECT count(*) $sessions") == 0 });
	};
	$torture->verdict(
		$gone, 'error',
		'sessions do not end: '
		  . (
			$gone
			? ''
			: $session->value(
				"SELECT string_agg(pid || ' ' || query, '; ') $sessions")));
	$session->close;
	return;
}

sub check_prepared
{
	my ($torture) = @_;
	my %there =
	  map { $_->[0] => 1 }
	  @{ $torture->{primary}->must('SELECT gid FROM pg_prepared_xacts')
		  ->{rows} };
	my $prepared = $torture->{prepared};

	foreach my $gid (sort keys %$prepared)
	{
		my $it = $prepared->{$gid};
		my $is_there = delete $there{$gid};
		next if $is_there;
		if ($it->{state} eq 'prepared')
		{
			$torture->verdict(0, 'lost',
				"transaction '$gid', which was prepared, is gone");
		}
		elsif ($it->{state} eq 'committing')
		{
			push @{ $torture->{unknown} }, $it->{changes};
			$it->{must} = 1;
		}
		delete $prepared->{$gid};
	}
	$torture->verdict(!%there, 'wrong',
		'prepared transactions that no client prepared: '
		  . join(', ', keys %there));
	return;
}

sub is_kept
{
	my ($torture, $table) = @_;

	return $table->{kind} ne 'unlogged' || !$torture->{crashed};
}

# Tables against the model; at first with what is unknown
sub check_rows
{
	my ($torture, $session, $first) = @_;
	my %heaps;
	my %twice;
	my %tables = map { $_->{name} => $_ } @{ $torture->{tables} };

	foreach my $table (values %tables)
	{
		my $name = $table->{name};
		($heaps{$name}, @{ $twice{$name} }) =
		  Torture::Check::heap($session, $table);
	}
	if ($first)
	{
		my %kept = map { $_->{name} => $heaps{ $_->{name} } }
		  grep { $torture->is_kept($_) } values %tables;
		foreach my $changes (@{ $torture->{unknown} })
		{
			$torture->verdict(
				Torture::Check::resolve(\%kept, \%tables, $changes),
				'lost',
				'a transaction is half there: '
				  . Torture::Client::text_of($changes));
		}
	}
	foreach my $table (values %tables)
	{
		my $name = $table->{name};
		$torture->judge($table, $heaps{$name}, @{ $twice{$name} });
	}
	return;
}

sub judge
{
	my ($torture, $table, $heap, @twice) = @_;
	my @wrong = Torture::Check::differences($table, $heap, @twice);

	$totals{'rows checked'} += keys %$heap;
	$torture->verdict(1) unless @wrong;
	if (@wrong)
	{
		my $number = @wrong;
		my $many = $number > 10 ? ' (the first 10 of them)' : '';
		$torture->verdict(
			0,
			$wrong[0][0],
			"$number differences$many: "
			  . join('; ', map { $_->[1] } splice @wrong, 0, 10),
			$number);
	}
	return;
}

# Prepared transactions that are left are ended, and the model follows
sub finish_prepared
{
	my ($torture, $session) = @_;
	my $prepared = $torture->{prepared};
	my %tables = map { $_->{name} => $_ } @{ $torture->{tables} };
	my $done = 0;

	foreach my $gid (sort keys %$prepared)
	{
		my $what = rand() < 0.6 ? 'COMMIT' : 'ROLLBACK';
		$session->must("$what PREPARED '$gid'");
		$done++;
		next unless $what eq 'COMMIT';
		foreach my $change (@{ $prepared->{$gid}{changes} })
		{
			my ($name, $id, undef, $new) = @$change;
			next unless $torture->is_kept($tables{$name});
			Torture::Check::set_version($tables{$name}, $id, $new);
		}
	}
	$torture->{prepared} = {};
	return $done;
}

sub drop_invalid
{
	my ($torture, $session) = @_;
	my $rows = $session->must(
		"SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
		  . " WHERE NOT i.indisvalid AND c.relname ~ '^(ecp|betree)_'")
	  ->{rows};

	$session->must("DROP INDEX $_->[0]") foreach @$rows;
	return;
}

# What a sub returns, asked again where a standby has cancelled a statement for
# what it had to replay: the primary's VACUUM goes on when the load has ended, and
# a standby that is late cancels at once
sub unless_cancelled
{
	my ($session, $sub) = @_;
	my ($answer, $died);

	foreach (1 .. 100)
	{
		$answer = eval { $sub->() };
		$died = $@;
		my $code = $died;
		$code = $answer->{error}{C} // ''
		  if ref $answer eq 'HASH' && $answer->{error};
		last if $code !~ /^40001/;
		$session->rollback;
		Time::HiRes::sleep(0.1);
	}
	die $died if $died;
	return $answer;
}

# Every index by its checker, and by questions
sub check_indexes
{
	my ($torture, $session, $checker, $wrong, $only_logged) = @_;

	foreach my $table (@{ $torture->{tables} })
	{
		next if $only_logged && $table->{kind} eq 'unlogged';
		my ($answer, @indexes) = Torture::Check::indexes($session, $table);
		die "indexes: $answer->{error}{M}\n" unless $answer->{ok};
		foreach my $index (@indexes)
		{
			my $check = unless_cancelled(
				$session,
				sub {
					$session->query(
						"SELECT $table->{am}_index_check('$index->[0]', true)"
					);
				});
			$torture->verdict(
				$check->{ok},
				$checker,
				"$index->[0]: "
				  . join(' ',
					map { $_ // '' }
					  @{ $check->{error} || {} }{ 'C', 'M', 'D' }));
			my @questions = Torture::Check::questions($table, $index);
			my $result = unless_cancelled(
				$session,
				sub {
					Torture::Check::ask($session, $table, $index,
						!$only_logged, @questions);
				});
			$totals{comparisons}   += $result->{compared};
			$totals{'passed over'} += $result->{passed_over} || 0;
			$torture->verdict(0, 'error',
				"$result->{error}{C} $result->{error}{M} in: $result->{sql}")
			  if $result->{error};
			$torture->verdict(!@{ $result->{wrong} },
				$wrong, join('; ', @{ $result->{wrong} }));
		}
	}
	return;
}

sub check_standby
{
	my ($torture) = @_;

	$torture->follow;
	my $session = $torture->{standby}->session(application_name => 'driver');
	foreach my $table (@{ $torture->{tables} })
	{
		next if $table->{kind} eq 'unlogged';
		my $heap = unless_cancelled($session,
			sub { [ Torture::Check::heap($session, $table) ] });
		my @wrong = Torture::Check::differences($table, @$heap);
		my $number = @wrong;
		$torture->verdict(!$number, 'standby',
			"$number differences: "
			  . join('; ', map { $_->[1] } splice @wrong, 0, 10));
	}
	$torture->check_indexes($session, 'standby', 'standby', 1);
	$session->close;
	return;
}

# Nothing in the logs that a fault does not explain
sub check_logs
{
	my ($torture, $kind) = @_;

	foreach my $server (@{ $torture->{servers} })
	{
		my $text =
		  $server->log_since($torture->{log_offset}{ $server->{name} } || 0);
		my @odd = grep {
			/TRAP:|PANIC: |inconsistent page|XX00[0-2] .*(?:ERROR|FATAL): /
			  && !/torture reader ERROR:  $dropped/
			  # core: of a worker whose leader was gone before it had started
			  && !/could not attach to per-session DSM segment/
		} split /\n/, $text;
		# On a server with assertions, core's own: the leader of a parallel
		# query gives up waiting for workers in the middle of its abort, and
		# its statistics find the transaction still there.
		@odd =
		  grep { !/TRAP: .*!IsTransactionOrTransactionBlock\(\).*pgstat/ }
		  @odd
		  if $text =~ /postmaster exited during a parallel transaction/;
		my @signals =
		  grep { /terminated by signal (?:6|11|7|4|8)\b/ } split /\n/, $text;
		if ($kind eq 'full_wal' || $kind eq 'full_tablespace')
		{
			@odd = grep { !/No space left/ } @odd;
			@signals = grep { !/signal 6/ } @signals;
		}
		push @odd, @signals;
		splice @odd, 6 if @odd > 6;
		$torture->verdict(!@odd, 'error',
			"the log of $server->{name}: " . join(' / ', @odd));
	}
	return;
}

# ----------------------------------------------------------------------
# A reader of the standby: index and table in one snapshot, again and again

package Torture::Reader;

use Time::HiRes qw(sleep);

sub new
{
	my ($class, %opt) = @_;

	return bless { %opt, counts => {}, failures => [] }, $class;
}

sub load
{
	my ($reader, undef, $file) = @_;

	local $SIG{TERM} = sub { $reader->{stop} = 1 };
	srand $reader->{srand};
	my @tables = grep { $_->{kind} ne 'unlogged' } @{ $reader->{tables} };
	my $session;
	until ($reader->{stop})
	{
		if (!$session || $session->lost)
		{
			$session =
			  $reader->{server}
			  ->connect(application_name => 'torture reader');
			sleep 0.05 unless $session;
			next;
		}
		my $table = Torture::Table::pick(@tables);
		my $result = Torture::Check::compare_one($session, $table, 2);
		$reader->{counts}{comparisons} += $result->{compared};
		push @{ $reader->{failures} }, [ 'standby', "under load: $_" ]
		  foreach @{ $result->{wrong} };
		my $error = $result->{error} or next;
		# an index that was dropped CONCURRENTLY takes no lock of a standby
		next
		  if Torture::Client::is_allowed($error, {})
		  || $error->{C} eq '42P01'
		  || $error->{M} =~ /$dropped/;
		push @{ $reader->{failures} },
		  [ 'standby', "$error->{C} $error->{M} in: $result->{sql}" ];
	}
	$session->close if $session;
	Storable::store(
		{ map { $_ => $reader->{$_} } qw(number counts failures) }, $file);
	return;
}
