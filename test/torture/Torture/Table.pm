# Table.pm: tables with indexes of random definition, and what their rows hold
#
# A row is known by its id and its version; all other columns follow from these
# two and from the table's seed.  So the model of a table is a version for each
# id, and a row that is read can be compared to the last byte.  Versions are
# never used again: an old one that comes back is seen.

package Torture::Table;

use strict;
use warnings;

use Digest::MD5 qw(md5 md5_hex);

sub pick { return $_[ int rand @_ ] }

sub chance { return rand() < $_[0] }

# ---- values, in the form in which the server prints them ----

my %values = (
	int8 => sub { my ($n) = @_; return $n->[0] % 2003 - 1000 },
	int4 => sub { my ($n) = @_; return $n->[1] % 50 },
	text => sub {
		my ($n, $hex) = @_;
		my $length = $n->[2] % 40 == 0 ? 300 : 1 + $n->[2] % 30;
		return substr($hex x 10, 0, $length);
	},
	uuid => sub {
		my ($n, $hex) = @_;
		return join('-', unpack('a8 a4 a4 a4 a12', $hex));
	},
	float8 => sub { my ($n) = @_; return ($n->[3] % 100000) / 4 - 9000 },
	numeric => sub {
		my ($n) = @_;
		return sprintf('%d.%03d', $n->[0] % 777, $n->[3] % 1000);
	},
	timestamptz => sub {
		my ($n) = @_;
		return sprintf(
			'2026-%02d-%02d %02d:%02d:00+00',
			1 + $n->[1] % 12,
			1 + $n->[0] % 28,
			$n->[2] % 24,
			$n->[3] % 60);
	},
	bytea => sub {
		my ($n, $hex) = @_;
		return '\\x' . substr($hex, 0, 2 + 2 * ($n->[0] % 15));
	},
	'int4[]' => sub {
		my ($n) = @_;
		return '{' . join(',', map { $_ % 9 } @$n) . '}';
	},);

# A vector near to one of some centres: clusters grow unevenly, and split
sub elements
{
	my ($table, $id, $version) = @_;
	my $dims = $table->{dims};
	my $seed = "$table->{seed} $id $version";
	my $first = unpack('N', md5($seed));
	my $centre = $table->{centres}[ $first % @{ $table->{centres} } ];
	my $noise = '';

	for (my $i = 0; length $noise < $dims; $i++)
	{
		$noise .= md5("$seed $i");
	}
	my @noise = unpack("C$dims", $noise);
	return map { $centre->[$_] + $noise[$_] % 32 } 0 .. $dims - 1;
}

sub vector_text
{
	my ($table, @elements) = @_;
	my $type = $table->{vector};

	return '{' . join(',', map { $_ / 4 } @elements) . '}'
	  if $type eq 'real[]';
	return '\\x' . unpack('H*', pack('C*', @elements)) if $type eq 'bytea';
	return join('', map { $_ % 3 == 0 ? 1 : 0 } @elements);
}

# row(id, version): the text of each column behind id and ver
sub row
{
	my ($table, $id, $version) = @_;
	my $digest = md5("$table->{seed} $id $version");
	my $hex = unpack('H*', $digest);
	my @n = unpack('N4', $digest);
	my @row;
	my $position = 0;

	foreach my $column (@{ $table->{columns} })
	{
		my ($name, $type) = @$column;
		$position++;
		if ($name eq 'v')
		{
			push @row, $n[1] % 40 == 0
			  ? undef
			  : vector_text($table, elements($table, $id, $version));
		}
		elsif (($n[0] >> 3) % 23 == $position) { push @row, undef }
		else { push @row, $values{$type}->(\@n, $hex) }
	}
	return @row;
}

sub quote
{
	my ($text) = @_;

	return defined $text ? "'$text'" : 'NULL';
}

sub values_list
{
	my ($table, $id, $version) = @_;

	return
	  "($id, $version, "
	  . join(', ', map { quote($_) } row($table, $id, $version)) . ')';
}

sub copy_line
{
	my ($table, $id, $version) = @_;

	return join("\t",
		$id, $version,
		map { defined $_ ? s/\\/\\\\/r : '\\N' } row($table, $id, $version))
	  . "\n";
}

sub assignments
{
	my ($table, $id, $version) = @_;
	my @row = row($table, $id, $version);

	return "ver = $version, "
	  . join(', ',
		map { "$table->{columns}[$_][0] = " . quote($row[$_]) } 0 .. $#row);
}

# A vector that may be asked for
sub query_vector
{
	my ($table) = @_;

	return vector_text($table,
		elements($table, int rand 100000, 1000000 + int rand 1000000));
}

# ---- definitions ----

my @betree_types = (
	'int8', 'int4', 'text', 'uuid',
	'float8', 'numeric', 'timestamptz', 'bytea',
	'int4[]');
my @key_types =
  ('int8', 'int4', 'float8', 'timestamptz', 'uuid', 'text', 'numeric');

# new(am, name, kind): kind is "main", "solo" (one writer, who also truncates)
# or "unlogged"
sub new
{
	my ($class, $am, $name, $kind) = @_;
	my $table = bless {
		am => $am,
		name => $name,
		kind => $kind,
		seed => int rand 1_000_000,
		rows => {}
	}, $class;
	my @types =
	  $am eq 'betree' ? @betree_types : @key_types[ 0, 1, 5, 2 + int rand 3 ];
	my $number = 0;

	if ($am eq 'ecp')
	{
		$table->{vector} = pick('real[]', 'bytea', 'bit');
		$table->{dims} =
		  $table->{vector} eq 'bit'
		  ? pick(32, 64, 100, 256)
		  : pick(2, 8, 17, 32, 64, 96, 128, 300);
		$table->{centres} = [
			map {
				[ map { int rand 200 } 1 .. $table->{dims} ]
			} 1 .. pick(3, 20, 60)
		];
		push @{ $table->{columns} },
		  [
			'v',
			$table->{vector} eq 'bit'
			? "bit($table->{dims})"
			: $table->{vector}
		  ];
	}
	push @{ $table->{columns} }, map { [ 'c' . ++$number, $_ ] } @types;
	$table->{definitions} =
	  [ map { $am eq 'ecp' ? $table->ecp_index : $table->betree_index }
		  1 .. 4 ];
	return $table;
}

sub create
{
	my ($table) = @_;
	my $unlogged = $table->{kind} eq 'unlogged' ? 'UNLOGGED ' : '';
	my $columns =
	  join(', ', map { "$_->[0] $_->[1]" } @{ $table->{columns} });

	return
		"CREATE ${unlogged}TABLE $table->{name} (id int8, ver int8, $columns)"
	  . " WITH (fillfactor = "
	  . pick(60, 90, 100) . ")";
}

# What finds a row to change: no part of the test
sub create_key
{
	my ($table) = @_;

	return
	  "CREATE UNIQUE INDEX $table->{name}_key ON $table->{name} (id) INCLUDE (ver)";
}

sub shuffled
{
	my @items = @_;

	for (my $i = $#items; $i > 0; $i--)
	{
		my $other = int rand($i + 1);
		@items[ $i, $other ] = @items[ $other, $i ];
	}
	return @items;
}

# A definition: order (expressions with directions), keys, include, where, with
sub betree_index
{
	my ($table) = @_;
	my @columns = shuffled(@{ $table->{columns} });
	my @keys = splice @columns, 0, pick(1, 1, 2, 3);
	my @include = splice @columns, 0, pick(0, 0, 1, 2);
	my (@order, @reverse, @names);

	foreach my $key (@keys)
	{
		my $expression = $key->[0];
		my $down = chance(0.35);
		my $nulls_first = chance(0.3) ? !$down : $down;

		$expression .= ' COLLATE "C"' if $key->[1] eq 'text' && chance(0.5);
		$expression = "(abs($expression))"
		  if $key->[1] eq 'int8' && chance(0.15);
		push @names, $expression;
		push @order,
			$expression
		  . ($down        ? ' DESC'        : '')
		  . ($nulls_first ? ' NULLS FIRST' : ' NULLS LAST');
		push @reverse,
			$expression
		  . ($down        ? ''            : ' DESC')
		  . ($nulls_first ? ' NULLS LAST' : ' NULLS FIRST');
	}
	return {
		keys => \@names,
		order => \@order,
		reverse => \@reverse,
		include => [ map { $_->[0] } @include ],
		where => chance(0.15) ? 'id % 3 <> 0' : undef,
		with => betree_options()
	};
}

sub betree_options
{
	my @options;

	push @options, 'log_pages = ' . pick(0, 1, 2, 2, 3, 8, 40, -1)
	  if chance(0.8);
	push @options, 'log_levels = ' . pick(1, 1, 2, 3, 16) if chance(0.6);
	push @options, 'flush_budget = ' . pick(0, 1, 2, 16, 500) if chance(0.5);
	push @options, 'fillfactor = ' . pick(10, 30, 50, 90, 100)
	  if chance(0.5);
	return \@options;
}

sub ecp_index
{
	my ($table) = @_;
	my @columns = shuffled(grep { $_->[0] ne 'v' } @{ $table->{columns} });
	my @keys = splice @columns, 0, pick(0, 0, 1, 2);
	my @include = splice @columns, 0, pick(0, 0, 1, 2);
	my $type = $table->{vector} eq 'real[]' ? 'real' : $table->{vector};
	my ($class, $operator) =
	  $table->{vector} eq 'bit'
	  ? ('bit_ops', '<->')
	  : @{
		pick(
			[ "${type}_l2_ops", '<->' ],
			[ "${type}_l2_ops", '<->' ],
			[ "${type}_ip_ops", '<#>' ],
			[ "${type}_cosine_ops", '<=>' ])
	  };

	return {
		class => $class,
		operator => $operator,
		keys => [ map { $_->[0] } @keys ],
		include => [ map { $_->[0] } @include ],
		where => chance(0.1) ? 'id % 3 <> 0' : undef,
		with => $table->ecp_options(scalar @include)
	};
}

sub ecp_options
{
	my ($table, $includes) = @_;
	my @options;

	push @options, 'buffer_rows = ' . pick(0, 1, 8, 32, 200) if chance(0.6);
	push @options, 'cluster_size = ' . pick(1, 8, 64) if chance(0.3);
	push @options, 'leaders = ' . pick('kmeans', 'random') if chance(0.5);
	push @options, 'levels = ' . pick(0, 1, 2, 3) if chance(0.5);
	push @options, 'quantizer = ' . pick('none', 'rabitq', 'auto')
	  if $table->{vector} ne 'bit' && chance(0.7);
	push @options, 'seed = ' . int rand 1000 if chance(0.5);
	push @options, 'sample_factor = ' . pick(1, 4, 64) if chance(0.3);
	push @options, 'target_recall = ' . pick(0.5, 0.9, 0.99, 1)
	  if chance(0.3);
	# their elements are such that halves hold them exactly
	push @options,
	  'vectors = '
	  . pick('half', 'half', 'full', $includes ? 'auto' : 'codes')
	  if $table->{vector} eq 'real[]' && chance(0.5);
	push @options, "dims = $table->{dims}" if chance(0.3);
	push @options, 'include_width = ' . pick(4, 16, 100) if chance(0.3);
	return \@options;
}

# ALTER INDEX … SET: an option that an index may get later
sub changed_option
{
	my ($table) = @_;

	return pick(
		'log_pages = ' . pick(0, 1, 2, 16),
		'log_levels = ' . pick(1, 2, 4),
		'flush_budget = ' . pick(0, 1, 16, 100),
		'fillfactor = ' . pick(20, 70, 100)) if $table->{am} eq 'betree';
	return pick(
		'buffer_rows = ' . pick(0, 4, 50),
		'target_recall = ' . pick(0.6, 0.95, 1));
}

# The statement that makes definition "number" under a name of its own
sub create_index
{
	my ($table, $number, $suffix, $concurrently) = @_;
	my $definition = $table->{definitions}[$number];
	my @columns =
	  $table->{am} eq 'ecp'
	  ? ("v $definition->{class}", @{ $definition->{keys} })
	  : @{ $definition->{order} };
	my $sql = 'CREATE INDEX ' . ($concurrently ? 'CONCURRENTLY ' : '');

	$sql .=
		"$table->{name}_d${number}_$suffix ON $table->{name}"
	  . " USING $table->{am} ("
	  . join(', ', @columns) . ')';
	$sql .= ' INCLUDE (' . join(', ', @{ $definition->{include} }) . ')'
	  if @{ $definition->{include} };
	$sql .= ' WITH (' . join(', ', @{ $definition->{with} }) . ')'
	  if @{ $definition->{with} };
	$sql .= " WHERE $definition->{where}" if $definition->{where};
	return $sql;
}

1;
