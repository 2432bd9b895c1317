# Wire.pm: a session with a server, in the protocol's own words
#
# A torture test must know exactly what a client was told: whether COMMIT was
# acknowledged, refused, or whether the connection died first.  So clients speak
# the protocol themselves (version 3, simple queries and COPY, over a Unix
# socket, no password) and need no driver.

package Torture::Wire;

use strict;
use warnings;

use IO::Select;
use IO::Socket::UNIX;

# A server that says nothing for so long hangs
our $patience = 600;

# new(host, port, name => value...): a session, or undef with $error set.
# Settings of the session follow: application_name, TimeZone and the like.
our $error;

sub new
{
	my ($class, $host, $port, %settings) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => "$host/.s.PGSQL.$port");

	$error = { S => 'FATAL', C => '08001', M => "no connection: $!" };
	return unless $socket;
	my $self = bless { socket => $socket, buffer => '' }, $class;
	my %startup = (user => 'postgres', database => 'postgres', %settings);
	my $body = pack('N', 196608)
	  . join('', map { "$_\0$startup{$_}\0" } sort keys %startup) . "\0";
	local $SIG{PIPE} = 'IGNORE';
	$self->put('', $body);
	my $answer = $self->answer;

	if (!$answer->{ok})
	{
		$error = $answer->{error};
		return;
	}
	return $self;
}

# The session's process
sub pid
{
	my ($self) = @_;

	return $self->{pid};
}

sub lost
{
	my ($self) = @_;

	return $self->{lost};
}

sub close
{
	my ($self) = @_;

	local $SIG{PIPE} = 'IGNORE';
	$self->put('X', '') unless $self->{lost};
	$self->{lost} = 1;
	CORE::close $self->{socket};
	return;
}

# query(sql): what came back, a hash:
#   ok      no error, and the server is ready again
#   tag     of the last command, as "COMMIT"
#   rows    of the last command that returned any
#   error   fields of the error, by their letters: S, C (SQLSTATE), M, D
#   lost    the connection died before the server was ready again
#   local   committed here, but without waiting for the synchronous standby
sub query
{
	my ($self, $sql, $copy) = @_;

	return {
		lost => 1,
		error => { S => 'FATAL', C => '08003', M => 'closed' }
	  }
	  if $self->{lost};
	local $SIG{PIPE} = 'IGNORE';
	$self->put('Q', "$sql\0");
	return $self->answer($copy);
}

# The first column of the first row; dies on an error
sub value
{
	my ($self, $sql) = @_;
	my $answer = $self->must($sql);

	return $answer->{rows} && @{ $answer->{rows} }
	  ? $answer->{rows}[0][0]
	  : undef;
}

sub must
{
	my ($self, $sql) = @_;
	my $answer = $self->query($sql);

	die "$answer->{error}{C}: $answer->{error}{M} in: "
	  . substr($sql, 0, 500) . "\n"
	  unless $answer->{ok};
	return $answer;
}

# Ends a transaction that is left open, by an error in it or in its COMMIT; a cancel
# may hit ROLLBACK as well
sub rollback
{
	my ($self) = @_;

	$self->query('ROLLBACK') until $self->{lost} || $self->{status} eq 'I';
	return;
}

sub put
{
	my ($self, $type, $body) = @_;
	my $message = $type . pack('N', length($body) + 4) . $body;

	while (length $message)
	{
		my $written = syswrite($self->{socket}, $message);
		if (!defined $written)
		{
			next if $!{EINTR};
			# what the server said before it went is still to be read
			return;
		}
		substr($message, 0, $written) = '';
	}
	return;
}

# One message, (type, body), or nothing if the connection is lost
sub message
{
	my ($self) = @_;
	my $select = IO::Select->new($self->{socket});

	while (1)
	{
		if (length $self->{buffer} >= 5)
		{
			my $length = unpack('N', substr($self->{buffer}, 1, 4));
			if (length $self->{buffer} >= $length + 1)
			{
				my $type = substr($self->{buffer}, 0, 1);
				my $body = substr($self->{buffer}, 5, $length - 4);
				substr($self->{buffer}, 0, $length + 1) = '';
				return ($type, $body);
			}
		}
		my $deadline = time + $patience;
		until ($select->can_read(5))
		{
			die "the server has not answered for $patience s\n"
			  if time > $deadline;
		}
		my $got = sysread($self->{socket},
			$self->{buffer}, 65536, length $self->{buffer});
		next if !defined $got && $!{EINTR};
		return unless $got;
	}
}

sub answer
{
	my ($self, $copy) = @_;
	my %answer;

	while (1)
	{
		my ($type, $body) = $self->message;
		if (!defined $type)
		{
			$self->{lost} = $answer{lost} = 1;
			$answer{error} ||=
			  { S => 'FATAL', C => '08006', M => 'connection lost' };
			return \%answer;
		}
		if ($type eq 'Z')
		{
			$answer{ok} = !$answer{error};
			$self->{status} = $body;
			return \%answer;
		}
		elsif ($type eq 'E') { $answer{error} = fields($body) }
		elsif ($type eq 'N')
		{
			my $notice = fields($body);
			$answer{local} = 1
			  if $notice->{M} =~ /synchronous replication/;
		}
		elsif ($type eq 'T') { $answer{rows} = [] }
		elsif ($type eq 'D')
		{
			push @{ $answer{rows} }, columns($body);
		}
		elsif ($type eq 'C') { $answer{tag} = substr($body, 0, -1) }
		elsif ($type eq 'K') { $self->{pid} = unpack('N', $body) }
		elsif ($type eq 'G')
		{
			$self->put('d', $copy);
			$self->put('c', '');
		}
		elsif ($type eq 'R')
		{
			die "the server wants a password\n" if unpack('N', $body) != 0;
		}
	}
}

sub columns
{
	my ($body) = @_;
	my $count = unpack('n', $body);
	my $at = 2;
	my @row;

	for (1 .. $count)
	{
		my $length = unpack('l>', substr($body, $at, 4));
		$at += 4;
		push @row, $length < 0 ? undef : substr($body, $at, $length);
		$at += $length if $length > 0;
	}
	return \@row;
}

sub fields
{
	my ($body) = @_;
	my %fields;

	foreach my $field (split /\0/, $body)
	{
		$fields{ substr($field, 0, 1) } = substr($field, 1);
	}
	return \%fields;
}

1;
