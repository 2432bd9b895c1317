
=pod

=head1 NAME

EcpArguments - statements with absurd arguments

=head1 SYNOPSIS

  my $generator = EcpArguments->new(catalog => \@functions, ...);
  my $sql = $generator->statement($seed, $number);

=head1 DESCRIPTION

What test/torture/arguments executes.  The same seed and number give the same
statement.  A statement is tame, wild or in between: tame arguments get past
the checks, so that wild ones are not all refused by the first of them.

=cut

package EcpArguments;

use strict;
use warnings;

my @names = (
	"'", '"', "\n", "a'b",
	"x\n;DROP TABLE vec;--",
	"\x{e4}" x 31,
	"\x{20ac}" x 21,
	'%s%n%.50s', '\\', 'a.b.c.d', ' ', '');

# of each type: what is reasonable, and what is not
my %values = (
	int2 => [ [ 1 .. 5 ], [ 0, -1, 32767, -32768 ] ],
	int4 => [
		[ 1 .. 10, 64, 100 ],
		[
			0, -1, 1000, 16000,
			16001, 32768, 65535, 65536,
			1000000, 1 << 30, 2147483646, 2147483647,
			-2147483647, -2147483648
		]
	],
	int8 => [
		[ 1 .. 10, 1000, 1 << 20 ],
		[
			0, -1,
			'2147483647', '2147483648',
			'-2147483649', '4294967295',
			'4294967296', '4611686018427387904',
			'9223372036854775807', '-9223372036854775807',
			'-9223372036854775808'
		]
	],
	oid => [ [1259], [ 0, '999999999', '4294967295' ] ],
	float4 => [
		[ 0, 0.5, 1, 1.5, 2, 3, 10, 100 ],
		[
			'-0', -1, '1e-40', '1e38',
			'3.4e38', '-3.4e38', 'inf', '-inf',
			'nan', '16777217'
		]
	],
	float8 => [
		[ 0.1, 0.5, 0.95, 1, 1.05, 2, 3, 10, 100, 1000, 50000 ],
		[
			0, '-0', -1, '5e-324',
			'1e-300', '1e18', '9.3e18', '1e300',
			'1e308', '1.7e308', '-1e308', 'inf',
			'-inf', 'nan', '2147483648'
		]
	],
	numeric => [
		[ 1, 2.5, 1000 ],
		[ 'nan', 'inf', '-inf', '1e-300', '9' x 500, '-' . '9' x 60 ]
	],
	bool => [ [ 't', 'f' ], [ 't', 'f' ] ],
	name => [ [ 'v', 'a', 'p', 'pg_default' ], \@names ],
	text => [
		[ 'a', 'vec', 'public.vec', 'SELECT v FROM vec LIMIT 3' ],
		[
			@names, 'NULL', '-1', '1e400', '1GB', '-1GB', '9EB', 'nan',
			'SELECT', 'SELECT 1', 'SELECT v FROM vec; DROP TABLE vec',
			'SELECT pg_sleep(30)', 'SELECT NULL::real[]',
			q(SELECT '{}'::real[]), 'SELECT v, v FROM vec',
			'SELECT array_fill(1e38::real, ARRAY[16000]) FROM vec',
			'DELETE FROM vec', 'COMMIT', "\x{1f600}", 'x' x 5000
		]
	],
	timestamptz => [
		[ 'epoch', '2020-01-01' ],
		[
			'infinity', '-infinity',
			'4714-11-24 00:00:00+00 BC', '294276-12-31 23:59:59+00'
		]
	],
	uuid => [
		['11111111-2222-3333-4444-555555555555'],
		[
			'00000000-0000-0000-0000-000000000000',
			'ffffffff-ffff-ffff-ffff-ffffffffffff'
		]
	],
	point => [
		[ '(0,0)', '(1,2)', '(-3,0.5)' ],
		[
			'(nan,0)', '(inf,-inf)',
			'(1e308,-1e308)', '(5e-324,-0)',
			'(nan,nan)'
		]
	],);

# what other words the catalogs have for these
my %alias = (
	smallint => 'int2',
	integer => 'int4',
	bigint => 'int8',
	real => 'float4',
	'double precision' => 'float8',
	boolean => 'bool',
	'timestamp with time zone' => 'timestamptz');

# what gets past the first check, by the name of the argument
my %by_name = (
	strategy => [qw(lpt online rebalance rebalance random optimal current)],
	weight => [qw(bytes scans)],
	lock_timeout => [qw(1ms 10ms)],
	operator => [ '<->', '<#>', '<=>', 'OPERATOR(public.<->)' ],
	col => [qw(v a b)],
	image => ['a'],
	place => ['p'],
	target => ['pg_default'],
	tablespace => ['pg_default'],
	method => [qw(betree btree)],
	relname => [qw(frame s.frame)],
	opclass => [qw(int4_ops real_ops public.thing_ops)],
	queries => [ 'SELECT v FROM vec LIMIT 2', 'SELECT g FROM bits LIMIT 2' ],
	capacity => ['1GB'],
	max_bytes => ['1MB']);

=pod

=head1 METHODS

=over

=item new(%options)

  functions   list of {name, kind, types, arguments, defaults, set}
  operators   list of {name, left, right}
  composites  {type => list of the types of its attributes}
  relations   names of relations
  indexes     names of indexes
  settings    list of {name, min, max, words}
  options     {access method => list of names of storage parameters}

=cut

sub new
{
	my ($class, %self) = @_;

	return bless \%self, $class;
}

# rand() of the call

sub one_in
{
	my ($n) = @_;

	return rand($n) < 1;
}

sub any_of
{
	return $_[ int rand @_ ];
}

sub literal
{
	my ($text) = @_;

	return "'$text'" unless $text =~ /[\\'\n]/;
	$text                         =~ s/([\\'])/\\$1/g;
	$text                         =~ s/\n/\\n/g;
	return "E'$text'";
}

sub access_method
{
	my ($index) = @_;

	return $index =~ /^sorted/ ? 'betree' : 'ecp';
}

sub is_wild
{
	my ($self) = @_;

	return rand() < $self->{wildness};
}

# An expression of this type, without NULL.
sub scalar_value
{
	my ($self, $type, $argument) = @_;
	my $short = $alias{$type} || $type;
	my $wild = $self->is_wild;

	return literal(any_of(@{ $by_name{$argument} })) . "::$type"
	  if !$wild
	  && defined $argument
	  && $by_name{$argument}
	  && $short =~ /^(?:text|name)$/;
	if ($type eq 'regclass')
	{
		my @wanted =
		  ($argument || '') eq 'index'
		  ? grep { access_method($_) eq $self->{am} } @{ $self->{indexes} }
		  : @{ $self->{relations} };
		return literal(any_of(@wanted)) . '::regclass' unless $wild;
		return literal(any_of(@{ $self->{relations} }, 0, '4000000000'))
		  . '::regclass';
	}
	return $self->bytea($wild) if $type eq 'bytea';
	return $self->bits($wild) . "::$type" if $type =~ /^bit/;
	if (my $attributes = $self->{composites}{$type})
	{
		return
			'ROW('
		  . join(', ', map { $self->value($_) } @$attributes)
		  . ")::$type";
	}
	my $pool = $values{$short} || $values{text};
	return literal(any_of(@{ $pool->[ $wild ? 1 : 0 ] })) . "::$type";
}

sub bytea
{
	my ($self, $wild) = @_;

	return literal(
		'\\x' . unpack('H*', join('', map { chr(int rand 256) } 1 .. 8)))
	  . '::bytea'
	  unless $wild;
	return any_of(
		"'\\x'::bytea",
		"'\\x00'::bytea",
		"'\\xff'::bytea",
		"decode(repeat('ff', 16001), 'hex')",
		"decode(repeat('00', 16000), 'hex')",
		"decode(repeat('80', 1000000), 'hex')");
}

sub bits
{
	my ($self, $wild) = @_;

	return "B'" . join('', map { int rand 2 } 1 .. 16) . "'" unless $wild;
	return any_of(
		"B''",
		"B'1'",
		"repeat('10', 32000)::bit(64000)",
		"repeat('1', 64001)::bit(64001)",
		"B'" . '0' x 16 . "'",
		"repeat('0', 1000000)::bit(1000000)");
}

sub array_value
{
	my ($self, $type, $argument) = @_;
	my $element = $type =~ s/\[\]$//r;
	my @counts = (9, 16, 17, 33, 65);
	my $shape = $self->is_wild ? 1 + int rand 8 : 0;
	my $n = any_of(1, 2, 3, 3, 4, 8, 8);
	my $list = sub {
		return
		  join(', ', map { $self->value($element, $argument) } 1 .. $_[0]);
	};

	# of long elements fewer: the server itself takes seconds, and a gigabyte,
	# to make an array of half of that
	push @counts, 1000, 16000, 16001, 65536, 100000
	  unless $element =~ /^(?:text|numeric|bytea|bit)/;
	return "'{}'::$type" if $shape == 1;
	return "ARRAY[NULL, " . $list->(2) . "]::$type" if $shape == 2;
	return 'ARRAY[[' . $list->(2) . '], [' . $list->(2) . "]]::$type"
	  if $shape == 3;
	return "ARRAY[[[" . $list->(1) . "]]]::$type" if $shape == 4;
	# far from the usual bounds
	return
		'array_fill('
	  . $self->scalar_value($element, $argument)
	  . ', ARRAY['
	  . any_of(1, 2, 8)
	  . '], ARRAY['
	  . any_of(-2147483648, -1, 0, 2, 2147483639) . '])'
	  if $shape == 5;
	return
		'array_fill('
	  . $self->scalar_value($element, $argument)
	  . ', ARRAY['
	  . any_of(@counts) . '])'
	  if $shape == 6 || $shape == 7;
	return
		'array_fill('
	  . $self->scalar_value($element, $argument)
	  . ', ARRAY['
	  . any_of(2, 8) . ', '
	  . any_of(@counts) . '])'
	  if $shape == 8;
	return 'ARRAY[' . $list->($n) . "]::$type";
}

# An expression of this type.
sub value
{
	my ($self, $type, $argument) = @_;

	$type = any_of('real[]', 'real[]', 'bytea[]', 'bit[]', 'integer[]')
	  if $type eq 'anyarray';
	return "NULL::$type" if $self->is_wild && one_in(6);
	return $type =~ /\[\]$/
	  ? $self->array_value($type, $argument)
	  : $self->scalar_value($type, $argument);
}

# A vector of a column that is searched.
sub vector
{
	my ($self, $column) = @_;

	return $self->value('bytea') if $column eq 'w';
	return $self->value('bit(16)') if $column eq 'g';
	return $self->value('real[]') if $self->is_wild;
	return 'ARRAY[' . join(',', map { int rand 10 } 1 .. 8) . ']::real[]';
}

sub call
{
	my ($self) = @_;
	my $function = any_of(@{ $self->{functions} });
	my @types = @{ $function->{types} };
	my $required = @types - $function->{defaults};
	my @arguments;

	$self->{am} = $function->{name} =~ /betree/ ? 'betree' : 'ecp';
	foreach my $i (0 .. $#types)
	{
		my $name = $function->{arguments}[$i];
		my $value;

		next if $i >= $required && $name && one_in(2);
		$value = $self->value($types[$i], $name);
		push @arguments, $name ? "$name => $value" : $value;
	}
	my $text = "$function->{name}(" . join(', ', @arguments) . ')';
	return "CALL $text" if $function->{kind} eq 'p';
	return "SELECT * FROM $text" if $function->{set} || one_in(2);
	return "SELECT $text";
}

sub operator
{
	my ($self) = @_;
	my $operator = any_of(@{ $self->{operators} });

	return
		'SELECT '
	  . $self->value($operator->{left})
	  . " OPERATOR($operator->{name}) "
	  . $self->value($operator->{right});
}

# the columns that are searched: table, column, type of the ball, operators
my @searched = (
	[ 'vec', 'v', 'ecp_real_ball', '<->', '<#>', '<=>' ],
	[ 'vec', 'v', 'ecp_real_ball', '<->', '<->', '<->' ],
	[ 'coded', 'v', 'ecp_real_ball', '<->', '<->', '<->' ],
	[ 'nibbles', 'v', 'ecp_real_ball', '<->', '<->', '<->' ],
	[ 'bytes', 'w', 'ecp_bytea_ball', '<->', '<->', '<->' ],
	[ 'bits', 'g', 'ecp_bit_ball', '<->', '<->', '<->' ]);

sub search
{
	my ($self) = @_;
	my ($table, $column, $ball, @operators) = @{ any_of(@searched) };
	my $operator = any_of(@operators);
	my @where;
	my $order = " ORDER BY $column $operator " . $self->vector($column);

	push @where,
		"$column $operator "
	  . $self->vector($column) . ' < '
	  . $self->value('double precision')
	  if one_in(3);
	push @where,
		"$column \@$operator ROW("
	  . $self->vector($column) . ', '
	  . $self->value('double precision')
	  . ")::$ball"
	  if one_in(4);
	push @where,
		"$column \@$operator ANY(ARRAY[ROW("
	  . $self->vector($column) . ', '
	  . $self->value('double precision')
	  . ")::$ball])"
	  if one_in(8);
	push @where,
	  'a ' . any_of(qw(< <= = >= >)) . ' ' . $self->value('integer')
	  if $table eq 'vec' && one_in(3);
	push @where, 'a = ANY(' . $self->value('integer[]') . ')'
	  if $table eq 'vec' && one_in(4);
	push @where, 't = ' . $self->value('text')
	  if $table eq 'vec' && one_in(6);
	push @where, any_of('a IS NULL', 'a IS NOT NULL')
	  if $table eq 'vec' && one_in(10);
	$order = '' if @where && one_in(3);
	$order .= ' LIMIT ' . any_of(1, 10, 10, $self->value('bigint'))
	  if !one_in(5);
	$order .= ' OFFSET ' . $self->value('bigint') if one_in(10);
	return "SELECT ctid FROM $table"
	  . (
		@where
		? ' WHERE ' . join(any_of(' AND ', ' AND ', ' OR '), @where)
		: '') . $order;
}

# the columns of table sorted
my %sorted = (
	i => 'integer',
	j => 'bigint',
	f => 'double precision',
	t => 'text',
	n => 'numeric',
	p => 'point',
	z => 'timestamp with time zone',
	b => 'bytea',
	u => 'uuid');

sub lookup
{
	my ($self) = @_;
	my $column = any_of(sort keys %sorted);
	my $type = $sorted{$column};
	my @operators =
	  $column eq 'p'
	  ? ('~=', '<@')
	  : qw(< <= = >= >);
	my @where;

	foreach (0 .. int rand 3)
	{
		my $operator = any_of(@operators);

		if ($operator eq '<@')
		{
			push @where,
				"p <\@ box("
			  . $self->value('point') . ', '
			  . $self->value('point') . ')';
		}
		elsif ($column ne 'p' && one_in(4))
		{
			push @where,
			  "$column $operator ANY(" . $self->value("${type}[]") . ')';
		}
		else
		{
			push @where, "$column $operator " . $self->value($type);
		}
	}
	push @where, any_of("$column IS NULL", "$column IS NOT NULL")
	  if one_in(6);
	push @where,
		'(i, j) '
	  . any_of('<', '>=') . ' ('
	  . $self->value('integer') . ', '
	  . $self->value('bigint') . ')'
	  if one_in(8);
	return
		"SELECT ctid FROM sorted WHERE "
	  . join(any_of(' AND ', ' AND ', ' OR '), @where)
	  . ($column ne 'p'
		  && one_in(2) ? " ORDER BY $column" . any_of('', ' DESC') : '')
	  . (one_in(2) ? ' LIMIT ' . $self->value('bigint') : '');
}

sub change
{
	my ($self) = @_;
	my ($table, $column) = @{ any_of(@searched) };

	if (one_in(2))
	{
		my @columns = sort keys %sorted;

		return
			'INSERT INTO sorted ('
		  . join(', ', @columns)
		  . ') SELECT '
		  . join(', ', map { $self->value($sorted{$_}) } @columns)
		  . ' FROM generate_series(1, '
		  . any_of(1, 1, 10, 100) . ')';
	}
	return
	  "DELETE FROM $table WHERE ctid IN (SELECT ctid FROM $table LIMIT 5)"
	  if one_in(6);
	return
		"UPDATE $table SET $column = "
	  . $self->vector($column)
	  . " WHERE ctid IN (SELECT ctid FROM $table LIMIT 3)"
	  if one_in(4);
	return
		"INSERT INTO $table ($column) SELECT "
	  . $self->vector($column)
	  . ' FROM generate_series(1, '
	  . any_of(1, 1, 5, 40) . ')';
}

# A value for a setting or a storage parameter.
sub number
{
	my ($self, $setting) = @_;
	my ($min, $max) = @{$setting}{qw(min max)};
	my @pool = (
		0, 1,
		2, 10,
		-1, '0.5',
		'2147483647', '2147483648',
		'-2147483648', '9223372036854775808',
		'1e300', 'nan',
		'inf', '',
		'on', "'",
		"\n", '1TB',
		'1ms', "\x{e4}",
		'a,"b', 'x' x 200);

	push @pool, ($min, $max) x 4, $min - 1, $max + 1
	  if defined $min && length $min;
	push @pool, (split /,/, $setting->{words}) x 4 if $setting->{words};
	return literal(any_of(@pool));
}

sub setting
{
	my ($self) = @_;
	my $setting = any_of(@{ $self->{settings} });

	return "SET $setting->{name} = " . $self->number($setting);
}

sub option
{
	my ($self, $am) = @_;

	return
	  any_of(@{ $self->{options}{$am} }) . ' = '
	  . (
		  $self->is_wild
		? $self->number({})
		: any_of(
			0, 1, 2, 5, 10, 64,
			100, 128, 1000, '0.9', 'auto', 'none',
			'half', 'codes'));
}

my @builds = (
	[ 'ecp', 'vec', 'v' ],
	[ 'ecp', 'vec', 'v real_ip_ops', 'v real_cosine_ops, a' ],
	[ 'ecp', 'vec', 'v, a, t', 'v, a) INCLUDE (a, t' ],
	[ 'ecp', 'bytes', 'w', 'w bytea_ip_ops', 'w bytea_cosine_ops' ],
	[ 'ecp', 'bits', 'g' ],
	[ 'ecp', 'empty', 'v' ],
	[ 'betree', 'sorted', 'i', 'j DESC, t', 'n', 'p', 'b, u', 'f, z', 't' ]);

sub build
{
	my ($self) = @_;
	my ($am, $table, @columns) = @{ any_of(@builds) };
	my $options = join(', ', map { $self->option($am) } 1 .. any_of(1, 1, 2));

	if (one_in(3))
	{
		my $index = any_of(@{ $self->{indexes} });
		my $of = access_method($index);

		return "ALTER INDEX $index SET (" . $self->option($of) . ')'
		  if one_in(2);
		return any_of(
			"REINDEX INDEX $index",
			"ALTER INDEX $index RESET ("
			  . any_of(@{ $self->{options}{$of} }) . ')');
	}
	return
		"CREATE INDEX ON $table USING $am ("
	  . any_of(@columns)
	  . ") WITH ($options)";
}

sub maintenance
{
	my ($self) = @_;
	my $table = any_of(qw(vec coded bytes bits sorted));

	return any_of(
		"VACUUM $table",
		"VACUUM (INDEX_CLEANUP on) $table",
		"ANALYZE $table");
}

=pod

=item statement($seed, $number)

The statement of this number.

=cut

my %kinds = (
	call => 60,
	search => 12,
	lookup => 8,
	change => 7,
	setting => 5,
	build => 4,
	operator => 3,
	maintenance => 1);

sub statement
{
	my ($self, $seed, $number) = @_;
	my $which;

	srand($seed * 1_000_003 + $number);
	# seeds that are close to each other begin alike
	rand() foreach 1 .. 5;
	$self->{wildness} = any_of(0.05, 0.15, 0.3, 1);
	$which = rand 100;
	foreach my $kind (sort keys %kinds)
	{
		return $self->$kind() if ($which -= $kinds{$kind}) < 0;
	}
	return $self->call;
}

=pod

=back

=cut

1;
