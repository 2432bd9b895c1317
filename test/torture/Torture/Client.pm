# Client.pm: a client that changes rows of its own and remembers what it was told
#
# What it was told is the model: rows that were acknowledged as committed;
# transactions whose fate is unknown because the connection died in COMMIT,
# PREPARE TRANSACTION or COMMIT PREPARED; and transactions that are prepared.
# It never touches a row again whose fate is unknown, until the driver has
# looked (Torture::Check).

package Torture::Client;

use strict;
use warnings;

use Storable;
use Time::HiRes qw(sleep time);
use Torture::Check;
use Torture::Table;

# Errors that a client of a healthy index may see: cancelled, terminated,
# crashed or starting, no connection, deadlock, lock timeout, too many
sub is_allowed
{
	my ($error, $may) = @_;
	my $code = $error->{C};

	return 1
	  if $code =~ /^(?:57014|57P0[1-5]|08...|40P01|40001|55P03|53300)$/;
	return 1 if $error->{M} =~ /queries are too few for a recall curve/;
	return 1 if $may->{full} && $code =~ /^(?:53100|58030|53200|58P01)$/;
	return 0;
}

# new(number, clients, tables, options)
sub new
{
	my ($class, %opt) = @_;
	my $client = bless {
		%opt,
		counts => {},
		unknown => [],
		prepared => {},
		frozen => {},
		failures => []
	}, $class;

	foreach my $table (@{ $client->{tables} })
	{
		my @live = grep { $_ % $opt{clients} == $opt{number} }
		  keys %{ $table->{rows} };
		$client->{live}{ $table->{name} } = [ sort { $a <=> $b } @live ];
	}
	return $client;
}

sub count
{
	my ($client, $what, $number) = @_;

	$client->{counts}{$what} += defined $number ? $number : 1;
	return;
}

sub failure
{
	my ($client, $kind, $text) = @_;

	push @{ $client->{failures} },
	  [ $kind, "client $client->{number}: $text" ]
	  if @{ $client->{failures} } < 20;
	return;
}

sub journal
{
	my ($client, @words) = @_;

	my $line = sprintf('%.3f ', time) . join(' ', @words) . "\n";
	syswrite $client->{journal_file}, $line;
	return;
}

# ---- the session ----

sub name { return 'torture client' }

sub connected
{
	my ($client) = @_;

	until ($client->{stop})
	{
		return 1 if $client->{session} && !$client->{session}->lost;
		if ($client->{session})
		{
			# of an unlogged table a crash leaves nothing; it may have been one
			$client->{had_loss} = 1;
			$client->count('lost connections');
		}
		$client->{session} =
		  $client->{server}->connect(application_name => $client->name);
		sleep 0.05 unless $client->{session};
	}
	return 0;
}

# Runs a statement within a transaction; false if it failed
sub did
{
	my ($client, $sql, $copy) = @_;
	my $answer = $client->{session}->query($sql, $copy);

	$client->{tag} = $answer->{tag};
	return 1 if $answer->{ok};
	$client->{error} = $answer->{error};
	$client->note_error($sql, $answer->{error});
	return 0;
}

sub note_error
{
	my ($client, $sql, $error) = @_;

	$client->count("error $error->{C}");
	$client->failure('error',
			"$error->{C} $error->{M}"
		  . ($error->{D} ? " ($error->{D})" : '') . " in: "
		  . substr($sql, 0, 200))
	  unless is_allowed($error, $client->{may})

	  # core's: the end of CREATE INDEX CONCURRENTLY, of any access method, writes
	  # pg_index under a lock that TRUNCATE does not wait for
	  || $sql =~ /^TRUNCATE/ && $error->{M} eq 'tuple concurrently updated';
	return;
}

# ---- a transaction ----

sub version_of
{
	my ($client, $table, $id) = @_;
	my $overlay = $client->{overlay}{ $table->{name} };

	return $overlay->{$id} if $overlay && exists $overlay->{$id};
	return $table->{rows}{$id};
}

sub change
{
	my ($client, $table, $id, $new) = @_;

	push @{ $client->{changes} },
	  [ $table->{name}, $id, version_of($client, $table, $id), $new ];
	$client->{overlay}{ $table->{name} }{$id} = $new;
	return;
}

sub undo_to
{
	my ($client, $length) = @_;

	while (@{ $client->{changes} } > $length)
	{
		my ($name, $id, $old) = @{ pop @{ $client->{changes} } };
		$client->{overlay}{$name}{$id} = $old;
	}
	return;
}

# An own row that may be changed
sub own_row
{
	my ($client, $table) = @_;
	my $live = $client->{live}{ $table->{name} };

	for (1 .. 5)
	{
		return unless @$live;
		my $at = int rand @$live;
		my $id = $live->[$at];
		if (!defined $table->{rows}{$id})
		{
			# gone since
			$live->[$at] = $live->[-1];
			pop @$live;
			next;
		}
		next if $client->{frozen}{ $table->{name} }{$id};
		return $id if defined version_of($client, $table, $id);
	}
	return;
}

sub new_version { return ++$_[0]{version} * $_[0]{clients} + $_[0]{number} }

sub new_id
{
	my ($client, $table) = @_;

	return ++$table->{next_id}{ $client->{number} } * $client->{clients} +
	  $client->{number};
}

sub insert
{
	my ($client, $table, $count) = @_;
	my @new =
	  map { [ $client->new_id($table), $client->new_version ] } 1 .. $count;

	if ($count > 3 && rand() < 0.5)
	{
		return 0
		  unless $client->did("COPY $table->{name} FROM STDIN",
			join('', map { $table->copy_line(@$_) } @new));
	}
	else
	{
		return 0
		  unless $client->did("INSERT INTO $table->{name} VALUES "
			  . join(', ', map { $table->values_list(@$_) } @new));
	}
	$client->change($table, @$_) foreach @new;
	return 1;
}

# The row that a statement changes must be there
sub hit
{
	my ($client, $table, $id, $sql) = @_;

	return 0 unless $client->did($sql);
	return 1 if $client->{tag} =~ / 1$/;
	$client->failure('lost',
			"row $id of $table->{name}, version "
		  . version_of($client, $table, $id)
		  . ", not found: $client->{tag} in "
		  . substr($sql, 0, 100));
	return 0;
}

sub update
{
	my ($client, $table) = @_;
	my $id = $client->own_row($table);

	return 1 unless defined $id;
	my $version = $client->new_version;
	return 0
	  unless $client->hit($table, $id,
			"UPDATE $table->{name} SET "
		  . $table->assignments($id, $version)
		  . " WHERE id = $id");
	$client->change($table, $id, $version);
	return 1;
}

sub delete_row
{
	my ($client, $table) = @_;
	my $id = $client->own_row($table);

	return 1 unless defined $id;
	return 0
	  unless $client->hit($table, $id,
		"DELETE FROM $table->{name} WHERE id = $id");
	$client->change($table, $id, undef);
	return 1;
}

sub truncate
{
	my ($client, $table) = @_;

	# a frozen row may be in a transaction that is prepared
	return 1 if %{ $client->{frozen}{ $table->{name} } || {} };
	return 0 unless $client->did("TRUNCATE $table->{name}");
	$client->{truncated} = 1;
	foreach my $id (keys %{ $table->{rows} })
	{
		$client->change($table, $id, undef)
		  if defined $client->version_of($table, $id);
	}
	my $overlay = $client->{overlay}{ $table->{name} } || {};
	foreach my $id (keys %$overlay)
	{
		$client->change($table, $id, undef) if defined $overlay->{$id};
	}
	$client->count('truncates');
	return 1;
}

sub step
{
	my ($client, $table) = @_;
	my $many = @{ $client->{live}{ $table->{name} } };
	my $dice = rand;

	return $client->truncate($table)
	  if $table->{kind} eq 'solo' && $dice < 0.02;
	$dice += 0.25 if $many > $client->{rows};
	$dice -= 0.25 if $many < $client->{rows} / 2;
	return $client->insert($table, 50 + int rand 150) if $dice < 0.03;
	return $client->insert($table, 1 + int rand 6) if $dice < 0.45;
	return $client->update($table) if $dice < 0.75;
	return $client->delete_row($table);
}

# Some steps, some of them in subtransactions; false after an error
sub steps
{
	my ($client, $table, $depth) = @_;

	for (1 .. 1 + int rand 5)
	{
		if ($depth < 3 && rand() < 0.12)
		{
			my $length = @{ $client->{changes} };
			my $truncated = $client->{truncated};
			return 0 unless $client->did("SAVEPOINT s$depth");
			return 0 unless $client->steps($table, $depth + 1);
			if (rand() < 0.5)
			{
				return 0
				  unless $client->did("ROLLBACK TO SAVEPOINT s$depth");
				$client->undo_to($length);
				$client->{truncated} = $truncated;
			}
			elsif (!$client->did("RELEASE SAVEPOINT s$depth")) { return 0 }
		}
		elsif (!$client->step($table)) { return 0 }
	}
	return 1;
}

# What is known of changes now: they are
sub apply
{
	my ($client, $changes) = @_;
	my %last;

	foreach my $change (@$changes)
	{
		my ($name, $id, undef, $new) = @$change;
		my $table = $client->{by_name}{$name};

		push @{ $client->{live}{$name} }, $id
		  if defined $new && !defined $table->{rows}{$id};
		if   (defined $new) { $table->{rows}{$id} = $new }
		else                { delete $table->{rows}{$id} }
		delete $client->{frozen}{$name}{$id};
	}
	$client->count('changes', scalar @$changes);
	return;
}

sub freeze
{
	my ($client, $changes) = @_;

	$client->{frozen}{ $_->[0] }{ $_->[1] } = 1 foreach @$changes;
	return;
}

sub thaw
{
	my ($client, $changes) = @_;

	delete $client->{frozen}{ $_->[0] }{ $_->[1] } foreach @$changes;
	return;
}

sub text_of
{
	my ($changes) = @_;

	return join(
		' ',
		map {
			"$_->[0]:$_->[1]:"
			  . join('>', map { $_ // '-' } @$_[ 2, 3 ])
		} @$changes);
}

sub transaction
{
	my ($client) = @_;
	my $session = $client->{session};
	my @tables = grep {
			 ($_->{kind} ne 'solo' || $client->{number} == 0)
		  && ($_->{kind} ne 'unlogged' || !$client->{had_loss})
	} @{ $client->{tables} };

	$client->{changes} = [];
	$client->{overlay} = {};
	$client->{truncated} = 0;
	return unless $client->did('BEGIN');
	my $ok = 1;
	for (1 .. 1 + (rand() < 0.3))
	{
		$ok &&= $client->steps(Torture::Table::pick(@tables), 0);
	}
	my $dice = rand;
	if    (!$ok || $dice < 0.1) { $client->count('rolled back') }
	elsif ($dice < 0.2
		&& !$client->{truncated}
		&& keys %{ $client->{prepared} } < 4)
	{
		$client->prepare;
	}
	else { $client->commit }
	$session->rollback;
	return;
}

sub commit
{
	my ($client) = @_;
	my $changes = $client->{changes};

	$client->journal('commit', text_of($changes));
	my $answer = $client->{session}->query('COMMIT');
	if ($answer->{ok} && $answer->{tag} eq 'COMMIT')
	{
		$client->journal('done');
		$client->apply($changes);
		$client->count('committed');
		return;
	}
	$client->note_error('COMMIT', $answer->{error}) if $answer->{error};
	if ($answer->{lost})
	{
		$client->journal('unknown');
		$client->freeze($changes);
		push @{ $client->{unknown} }, $changes if @$changes;
		$client->count('unknown');
	}
	else
	{
		$client->journal('refused');
		$client->count('rolled back');
	}
	return;
}

sub prepare
{
	my ($client) = @_;
	my $changes = $client->{changes};
	my $gid =
	  "torture $client->{step} $client->{number} " . ++$client->{gids};

	$client->journal("prepare '$gid'", text_of($changes));
	my $answer = $client->{session}->query("PREPARE TRANSACTION '$gid'");
	if ($answer->{ok} && $answer->{tag} eq 'PREPARE TRANSACTION')
	{
		$client->journal('done');
		$client->freeze($changes);
		$client->{prepared}{$gid} =
		  { state => 'prepared', changes => $changes };
		$client->count('prepared');
		$client->finish_prepared($gid)
		  unless $client->{leave_prepared} && rand() < 0.3;
		return;
	}
	$client->note_error('PREPARE', $answer->{error}) if $answer->{error};
	if ($answer->{lost})
	{
		$client->journal('unknown');
		$client->freeze($changes);
		$client->{prepared}{$gid} =
		  { state => 'unknown', changes => $changes };
	}
	else { $client->count('rolled back') }
	return;
}

sub finish_prepared
{
	my ($client, $gid) = @_;
	my $it = $client->{prepared}{$gid};
	my $what = rand() < 0.7 ? 'COMMIT' : 'ROLLBACK';

	$client->journal(lc $what, "'$gid'");
	my $answer = $client->{session}->query("$what PREPARED '$gid'");
	if ($answer->{ok})
	{
		$client->journal('done');
		$client->thaw($it->{changes});
		$client->apply($it->{changes}) if $what eq 'COMMIT';
		$client->count('finished prepared');
		delete $client->{prepared}{$gid};
		return;
	}
	$client->note_error("$what PREPARED", $answer->{error});
	if ($answer->{lost})
	{
		$client->journal('unknown');
		$it->{state} = $what eq 'COMMIT' ? 'committing' : 'rolling back';
	}
	return;
}

# ---- the load ----

# Index and table asked in one snapshot, while others write
sub compare
{
	my ($client) = @_;
	my $table = Torture::Table::pick(@{ $client->{tables} });

	return if $table->{kind} eq 'unlogged' && $client->{had_loss};
	my $result = Torture::Check::compare_one($client->{session}, $table, 1);
	$client->count('comparisons', $result->{compared});
	$client->note_error($result->{sql}, $result->{error}) if $result->{error};
	$client->failure('wrong', $_) foreach @{ $result->{wrong} };
	return;
}

# load(progress): changes until told to stop; then leaves what it knows in a file
sub load
{
	my ($client, $progress, $file) = @_;

	local $SIG{TERM} = sub { $client->{stop} = 1 };
	srand $client->{srand};
	$client->{by_name} = { map { $_->{name} => $_ } @{ $client->{tables} } };
	open $client->{journal_file}, '>>', $client->{journal} or die;
	while ($client->connected)
	{
		if   (rand() < 0.06) { $client->compare }
		else                 { $client->transaction }
		syswrite $progress, '.';
	}
	$client->{session}->close if $client->{session};
	store_result($client, $file);
	return;
}

sub store_result
{
	my ($client, $file) = @_;
	my %result = map { $_ => $client->{$_} }
	  qw(number counts unknown prepared failures version gids);

	foreach my $table (@{ $client->{tables} })
	{
		my $name = $table->{name};
		$result{next_id}{$name} = $table->{next_id}{ $client->{number} };
		my @own = grep { $_ % $client->{clients} == $client->{number} }
		  keys %{ $table->{rows} };
		$result{rows}{$name} = { map { $_ => $table->{rows}{$_} } @own };
	}
	store(\%result, "$file.new");
	rename "$file.new", $file or die "$file: $!\n";
	return;
}

1;
