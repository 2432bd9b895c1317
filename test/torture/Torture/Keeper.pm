# Keeper.pm: maintenance beside the clients, of every kind, at random

package Torture::Keeper;

use strict;
use warnings;

use Storable;
use Time::HiRes qw(sleep);
use Torture::Check;
use Torture::Client;
use Torture::Table;

our @ISA = ('Torture::Client');

sub pick { return Torture::Table::pick(@_) }

# A definition gets two indexes at most, and a table six
sub new_index
{
	my ($keeper, $table, @indexes) = @_;
	my $concurrently = rand() < 0.75;
	my $number = int rand @{ $table->{definitions} };
	my $sql =
	  $table->create_index($number, 'x' . ++$keeper->{made} . 'r' . $$,
		$concurrently);

	return $keeper->drop_index($table, @indexes) if @indexes > 5;
	return ($sql) if $concurrently || rand() < 0.6;
	return ('BEGIN', $sql, 'ROLLBACK');
}

sub drop_index
{
	my ($keeper, $table, @indexes) = @_;

	return if @indexes < 2;
	my $concurrently = rand() < 0.6 ? 'CONCURRENTLY ' : '';
	return ("DROP INDEX ${concurrently}IF EXISTS " . pick(@indexes)->[0]);
}

# What may be done, each with its weight
my @works = (
	[
		8,
		sub {
			my ($keeper, $table) = @_;
			return (
				'VACUUM '
				  . pick(
					'', '', '(FREEZE) ',
					'(INDEX_CLEANUP ON) ',
					'(PARALLEL 2) ',
					'(ANALYZE) ')
				  . $table->{name});
		}
	],
	[ 1, sub { return "VACUUM FULL $_[1]{name}" } ],
	[ 1, sub { return "ANALYZE $_[1]{name}" } ],
	[ 1, sub { return 'CHECKPOINT' } ],
	[ 4, \&new_index ],
	[ 2, \&drop_index ],
	[
		4,
		sub {
			my ($keeper, $table, @indexes) = @_;
			return
				'REINDEX INDEX '
			  . (rand() < 0.7 ? 'CONCURRENTLY ' : '')
			  . pick(@indexes)->[0];
		}
	],
	[ 1, sub { return "REINDEX TABLE $_[1]{name}" } ],
	[
		6,
		sub {
			my ($keeper, $table, @indexes) = @_;
			my $index = pick(@indexes)->[0];
			return "SELECT betree_flush('$index')"
			  if $table->{am} eq 'betree';
			return "SELECT ecp_maintain('$index')";
		}
	],
	[
		3,
		sub {
			my ($keeper, $table, @indexes) = @_;
			return
				'ALTER INDEX '
			  . pick(@indexes)->[0]
			  . ' SET ('
			  . $table->changed_option . ')';
		}
	],
	[
		3,
		sub {
			my ($keeper, $table, @indexes) = @_;
			return
				'ALTER INDEX '
			  . pick(@indexes)->[0]
			  . ' SET TABLESPACE '
			  . pick('pg_default', 'ts_a', 'ts_b');
		}
	],
	[
		1,
		sub {
			my ($keeper, $table) = @_;
			return "ALTER TABLE $table->{name} SET TABLESPACE "
			  . pick('pg_default', 'ts_a');
		}
	],
	[
		3,
		sub {
			my ($keeper, $table, @indexes) = @_;
			my $index = pick(@indexes)->[0];
			return "SELECT $table->{am}_index_check('$index', true)";
		}
	],
	[
		1,
		sub {
			my ($keeper, $table, @indexes) = @_;
			my $index = pick(@indexes)->[0];
			return "SELECT * FROM betree_index_stats('$index')"
			  if $table->{am} eq 'betree';
			return pick(
				"SELECT * FROM ecp_index_drift('$index')",
				"SELECT count(*) FROM ecp_recall('$index', samples => 100, store => true)",
				"SELECT ecp_misassigned('$index', 50)");
		}
	]);

sub name { return 'torture keeper' }

sub settings
{
	my ($keeper) = @_;

	return join('; ',
		'SET lock_timeout = 4000',
		'SET statement_timeout = 60000',
		'SET maintenance_work_mem = ' . pick("'1MB'", "'4MB'", "'64MB'"),
		'SET max_parallel_maintenance_workers = ' . pick(0, 1, 3),
		'SET min_parallel_table_scan_size = 0',
		'SET min_parallel_index_scan_size = 0',
		'SET ecp.build_policy = ' . pick('auto', 'chunkfiles', 'tempfiles'),
		'SET ecp.in_buff = ' . pick("'64kB'", "'1MB'", 0),
		'SET ecp.build_tablespaces = '
		  . pick("''", "'ts_a'", "'ts_a, ts_b'"));
}

sub works
{
	my ($keeper) = @_;
	my $session = $keeper->{session};
	my $table = pick(@{ $keeper->{tables} });
	my ($answer, @indexes) = Torture::Check::indexes($session, $table);

	if (!$answer->{ok})
	{
		$keeper->note_error('indexes', $answer->{error});
		return;
	}
	my $dice = int rand $keeper->{weights};
	my $work;
	foreach my $one (@works)
	{
		$work = $one->[1];
		last if ($dice -= $one->[0]) < 0;
	}
	return unless @indexes || $work == \&new_index;
	$keeper->did($keeper->settings) or return;
	foreach my $sql ($work->($keeper, $table, @indexes))
	{
		next unless defined $sql;
		$keeper->journal($sql);
		my $ok = $keeper->did($sql);
		my ($kind) = $sql =~ /^(SELECT \D*?_\w+|\w+ \w+)/;
		$keeper->count(($ok ? 'kept ' : 'failed ') . ($kind || $sql));
		if (!$ok)
		{
			$keeper->journal("$keeper->{error}{C} $keeper->{error}{M}");
			$keeper->failure('checker',
				"$keeper->{error}{C} $keeper->{error}{M} in: $sql")
			  if $sql =~ /_index_check/
			  && !Torture::Client::is_allowed($keeper->{error},
				$keeper->{may});
			$session->rollback;
			last;
		}
	}
	return;
}

sub load
{
	my ($keeper, $progress, $file) = @_;

	local $SIG{TERM} = sub { $keeper->{stop} = 1 };
	srand $keeper->{srand};
	$keeper->{weights} += $_->[0] foreach @works;
	open $keeper->{journal_file}, '>>', $keeper->{journal} or die;
	while ($keeper->connected)
	{
		$keeper->works;
	}
	$keeper->{session}->close if $keeper->{session};
	store({ map { $_ => $keeper->{$_} } qw(number counts failures) },
		"$file.new");
	rename "$file.new", $file or die "$file: $!\n";
	return;
}

1;
