# Check.pm: what must be true after a fault
#
# Every row that was acknowledged is in the table with its values, and no other
# is.  Every index gives what a sequential scan gives: a betree in order, by
# ranges, by bitmap and index-only; an ecp index, told to read all clusters, the
# same rows and the same distances.  And the indexes' own checkers are silent.

package Torture::Check;

use strict;
use warnings;

use Torture::Table;

my $by_table = join('; ',
	map { "SET LOCAL $_" } 'enable_seqscan = on',
	'enable_indexscan = off',
	'enable_indexonlyscan = off',
	'enable_bitmapscan = off',
	'enable_sort = on');
my %by_index = (
	scan => join('; ',
		map { "SET LOCAL $_" } 'enable_seqscan = off',
		'enable_indexscan = on',
		'enable_indexonlyscan = off',
		'enable_bitmapscan = off',
		'enable_sort = off'),
	only => join('; ',
		map { "SET LOCAL $_" } 'enable_seqscan = off',
		'enable_indexscan = on',
		'enable_indexonlyscan = on',
		'enable_bitmapscan = off',
		'enable_sort = off'),
	bitmap => join('; ',
		map { "SET LOCAL $_" } 'enable_seqscan = off',
		'enable_indexscan = off',
		'enable_indexonlyscan = off',
		'enable_bitmapscan = on',
		'enable_sort = on'));
my $all_clusters = join('; ', map { "SET LOCAL $_" } 'ecp.probes = 1000000');

my $sum = 'count(*), coalesce(sum(hashint8extended(id, ver)), 0)';

# ---- questions about one index ----

sub rows_in_order
{
	my ($table, $where, $keys, $order) = @_;

	return
		"SELECT $sum, md5(coalesce(string_agg(x, '|'), ''))"
	  . " FROM (SELECT id, ver, ROW($keys)::text AS x FROM $table->{name}"
	  . " WHERE $where ORDER BY $order) z";
}

# Each question: mode (how the index is asked), sql, for the table another sql
# if need be, and whether distances are compared
sub betree_questions
{
	my ($table, $definition) = @_;
	my $where = $definition->{where} || 'true';
	my $keys = join(', ', @{ $definition->{keys} });
	my $order = join(', ', @{ $definition->{order} });
	my $reverse = join(', ', @{ $definition->{reverse} });
	my ($column) = $definition->{keys}[0] =~ /(c\d+)/;
	my ($position) =
	  grep { $table->{columns}[$_][0] eq $column }
	  0 .. $#{ $table->{columns} };
	my $first = $definition->{keys}[0];
	my @bounds;
	# expressions are never returned by the index alone
	my @columns = grep { !/^\(/ } @{ $definition->{keys} },
	  @{ $definition->{include} };
	my $only = join(', ', map { s/ COLLATE .*//r } @columns);

	while (@bounds < 2)
	{
		my $value =
		  ($table->row(int rand 5000, 1 + int rand 50000))[$position];
		next unless defined $value;
		my $literal = "'$value'::$table->{columns}[$position][1]";
		$literal = "abs($literal)" if $first =~ /abs/;
		push @bounds, $literal;
	}
	my $range =
	  "$where AND $first >= least($bounds[0], $bounds[1]) AND $first < greatest($bounds[0], $bounds[1])";
	# least() compares by the default collation
	$range = "$where AND $first > $bounds[0]" if $first =~ /COLLATE/;

	$only = 'NULL' if $only eq '';
	return (
		{
			mode => 'scan',
			sql => rows_in_order($table, $where, $keys, $order)
		},
		{
			mode => 'scan',
			sql => rows_in_order($table, $where, $keys, $reverse)
		},
		{
			mode => 'scan',
			sql => rows_in_order($table, $range, $keys, $order)
		},
		{
			mode => 'only',
			sql =>
			  "SELECT count(*), sum(hashtextextended(ROW($only)::text, 0))"
			  . " FROM (SELECT $only FROM $table->{name}"
			  . " WHERE $where ORDER BY $order) z"
		},
		{
			mode => 'bitmap',
			sql => "SELECT $sum FROM $table->{name} WHERE $range"
		},
		{
			mode => 'bitmap',
			sql =>
			  "SELECT $sum FROM $table->{name} WHERE $where AND $first IN ($bounds[0], $bounds[1])"
		});
}

sub ecp_questions
{
	my ($table, $definition) = @_;
	my $where = ($definition->{where} || 'true') . ' AND v IS NOT NULL';
	my $type = $table->{columns}[0][1];
	my $query = "'" . $table->query_vector . "'::$type";
	my $order = "v $definition->{operator} $query";
	my @keys = @{ $definition->{keys} };
	my @questions = (
		{
			mode => 'scan',
			set => 'SET LOCAL ecp.iterative_scan = relaxed_order',
			sql =>
			  "SELECT $sum FROM (SELECT id, ver FROM $table->{name} WHERE $where"
			  . " ORDER BY $order LIMIT 100000000) z",
			table => "SELECT $sum FROM $table->{name} WHERE $where"
		},
		{
			mode => 'scan',
			distances => 1,
			set => 'SET LOCAL ecp.iterative_scan = strict_order',
			sql => "SELECT string_agg(d::text, ' ' ORDER BY d) FROM"
			  . " (SELECT $order AS d FROM $table->{name} WHERE $where"
			  . " ORDER BY $order LIMIT "
			  . (1 + int rand 60) . ') z'
		});

	# of such codes a bound is wrong for one of the nearest in a thousand, unless
	# all rows are wanted
	pop @questions
	  if grep { /vectors = codes/ } @{ $definition->{with} };

	foreach my $key (@keys)
	{
		my ($position) =
		  grep { $table->{columns}[$_][0] eq $key }
		  0 .. $#{ $table->{columns} };
		my $column = $table->{columns}[$position];
		my $value;
		until (defined $value)
		{
			$value =
			  ($table->row(int rand 5000, 1 + int rand 50000))[$position];
		}
		my $operator =
		  $column->[1] =~ /text|numeric/
		  ? '='
		  : Torture::Table::pick('=', '<', '>=');
		my $condition = "$where AND $key $operator '$value'::$column->[1]";
		push @questions,
		  {
			mode => 'scan',
			set => 'SET LOCAL ecp.iterative_scan = relaxed_order',
			sql => "SELECT $sum FROM (SELECT id, ver FROM $table->{name}"
			  . " WHERE $condition ORDER BY $order LIMIT 100000000) z",
			table => "SELECT $sum FROM $table->{name} WHERE $condition"
		  };
	}
	# an index that may have rounded the vectors does not return them
	if (@{ $definition->{include} }
		&& !grep { $_ eq 'vectors = half' } @{ $definition->{with} })
	{
		my $only = join(', ', @{ $definition->{include} });
		my $hash =
		  "SELECT count(*), sum(hashtextextended(ROW($only)::text, 0))";
		push @questions,
		  {
			mode => 'only',
			set => 'SET LOCAL ecp.iterative_scan = relaxed_order',
			sql => "$hash FROM (SELECT $only FROM $table->{name} WHERE $where"
			  . " ORDER BY $order LIMIT 100000000) z",
			table => "$hash FROM $table->{name} WHERE $where"
		  };
	}
	return @questions;
}

sub same
{
	my ($question, $one, $other) = @_;
	my ($left, $right) =
	  map {
		join(' ', map { $_ // 'NULL' } @{ $_->[0] || [] })
	  } $one, $other;

	return 1 if $left eq $right;
	return 0 unless $question->{distances};
	my @left = split / /, $left;
	my @right = split / /, $right;
	return 0 if @left != @right;
	foreach my $at (0 .. $#left)
	{
		return 0
		  if abs($left[$at] - $right[$at]) > 1e-6 * (1 + abs $left[$at]);
	}
	return 1;
}

sub in_words
{
	my ($index, $question, @both) = @_;
	my ($by_index, $by_table) =
	  map {
		join(' ', map { $_ // 'NULL' } @{ $_->[0] || [] })
	  } @both;

	# of lists of distances: where they part
	if ($question->{distances})
	{
		my @left = split / /, $by_index;
		my @right = split / /, $by_table;
		my $at = 0;
		$at++ while $at < @left && $at < @right && $left[$at] == $right[$at];
		($by_index, $by_table) = map {
			my @tail = @$_[ $at .. $#$_ ];
			@$_ . " distances, from $at on @tail"
		} \@left, \@right;
	}
	return
	  "$index->[0] says $by_index, the table $by_table: $question->{mode} $question->{sql}";
}

# The valid indexes of a table: [name, number of its definition]
sub indexes
{
	my ($session, $table) = @_;
	my $answer = $session->query(
		"SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
		  . " WHERE i.indrelid = '$table->{name}'::regclass AND i.indisvalid"
		  . " AND c.relname ~ '_d[0-9]+_[a-z0-9]+\$' ORDER BY 1");

	return ($answer) unless $answer->{ok};
	return ($answer,
		map { [ $_->[0], $_->[0] =~ /_d(\d+)_/ ] } @{ $answer->{rows} });
}

# ask(session, table, index, questions): how many were compared, what was wrong.
# An error ends it.  Plans that use another index are passed over.  If no other
# session is at work, and rows of the catalog can be changed in a transaction
# that is rolled back, the planner sees no other index ("alone").
sub ask
{
	my ($session, $table, $index, $alone, @questions) = @_;
	my %result = (compared => 0, wrong => []);
	my $run = sub {
		my ($sql) = @_;
		my $answer = $session->query($sql);

		return $answer if $answer->{ok};
		$result{error} = $answer->{error};
		$result{sql} = $sql;
		$session->rollback;
		return;
	};

	$run->('BEGIN ISOLATION LEVEL REPEATABLE READ'
		  . ($alone ? '' : ' READ ONLY'))
	  or return \%result;
	if ($alone)
	{
		$run->( "UPDATE pg_index SET indisvalid = false"
			  . " WHERE indrelid = '$table->{name}'::regclass"
			  . " AND indexrelid <> '$index->[0]'::regclass")
		  or return \%result;
	}

	# The index that the snapshot has under this name, and its file.  On a standby,
	# one that was made since then, CONCURRENTLY or by REINDEX, which keeps the OID,
	# lacks rows which only old snapshots see: a build waits for no standby's
	# snapshot, with any access method.
	my $then =
	  $run->(
		"SELECT CASE WHEN pg_is_in_recovery() THEN c.oid || ' ' || c.relfilenode END"
		  . " FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid"
		  . " WHERE c.relname = '$index->[0]' AND i.indisvalid")
	  or return \%result;
	foreach my $question (@questions)
	{
		my $settings = join('; ',
			$by_index{ $question->{mode} },
			$all_clusters, $question->{set} || ());
		$run->($settings) or return \%result;
		# asked before and after: an index that was made CONCURRENTLY meanwhile
		# may take its place, and lack what only old snapshots see (below)
		my $uses = sub {
			my $plan = $run->("EXPLAIN (COSTS OFF) $question->{sql}")
			  or return;
			return
			  grep { $_->[0] =~ /\b\Q$index->[0]\E\b/ } @{ $plan->{rows} };
		};
		my $used = $uses->();
		return \%result if $result{error};
		my $by_index = $used ? $run->($question->{sql}) : undef;
		return \%result if $used && !$by_index;
		$used &&= $uses->();
		return \%result if $result{error};
		if (!$used)
		{
			$result{passed_over}++;
			next;
		}
		$run->($by_table) or return \%result;
		my $by_table = $run->($question->{table} || $question->{sql})
		  or return \%result;
		$result{compared}++;
		push @{ $result{wrong} },
		  in_words($index, $question, $by_index->{rows}, $by_table->{rows})
		  unless same($question, $by_index->{rows}, $by_table->{rows});
	}
	my $file = @{ $then->{rows} } ? $then->{rows}[0][0] : 'none';
	if (defined $file)
	{
		# a name is looked up in the catalog of now; the index may be gone
		my $now =
		  $run->("SELECT i || ' ' || pg_relation_filenode(i)"
			  . " FROM CAST(to_regclass('$index->[0]') AS oid) i")
		  or return \%result;
		$result{wrong} = [] if ($now->{rows}[0][0] // 'gone') ne $file;
	}
	$session->rollback;
	return \%result;
}

sub questions
{
	my ($table, $index) = @_;
	my $definition = $table->{definitions}[ $index->[1] ];

	return $table->{am} eq 'ecp'
	  ? ecp_questions($table, $definition)
	  : betree_questions($table, $definition);
}

# One index, some or all questions
sub compare_one
{
	my ($session, $table, $number) = @_;
	my ($answer, @indexes) = indexes($session, $table);

	return {
		compared => 0,
		wrong => [],
		error => $answer->{error},
		sql => 'indexes'
	  }
	  unless $answer->{ok};
	return { compared => 0, wrong => [] } unless @indexes;
	my $index = Torture::Table::pick(@indexes);
	my @questions = Torture::Table::shuffled(questions($table, $index));
	splice @questions, $number if $number;
	return ask($session, $table, $index, 0, @questions);
}

# ---- the table against the model ----

# The rows of a table: id => [ver, columns], and what came twice
sub heap
{
	my ($session, $table) = @_;
	my %heap;
	my @twice;

	$session->must('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
	$session->must($by_table);
	my $columns = join(', ', map { $_->[0] } @{ $table->{columns} });
	my $rows =
	  $session->must("SELECT id, ver, $columns FROM $table->{name}")->{rows};
	$session->must('COMMIT');
	foreach my $row (@$rows)
	{
		my ($id, @rest) = @$row;
		push @twice, $id if $heap{$id};
		$heap{$id} = \@rest;
	}
	return (\%heap, @twice);
}

# Transactions of unknown fate: all of their changes are there, or none.
# Returns false if neither is so.
sub resolve
{
	my ($heaps, $tables, $changes) = @_;
	my (%first, %last);

	foreach my $change (@$changes)
	{
		my ($name, $id, $old, $new) = @$change;
		next unless $heaps->{$name};
		$first{"$name $id"} = $old unless exists $first{"$name $id"};
		$last{"$name $id"} = $new;
	}
	my ($is_old, $is_new) = (1, 1);
	foreach my $key (keys %last)
	{
		my ($name, $id) = split / /, $key;
		my $there = $heaps->{$name}{$id};
		my $version = $there ? $there->[0] : -1;
		$is_old = 0 if $version != ($first{$key} // -1);
		$is_new = 0 if $version != ($last{$key} // -1);
	}
	return unless $is_old || $is_new;
	return 1 unless $is_new;
	foreach my $key (keys %last)
	{
		my ($name, $id) = split / /, $key;
		set_version($tables->{$name}, $id, $last{$key});
	}
	return 1;
}

sub set_version
{
	my ($table, $id, $version) = @_;

	if   (defined $version) { $table->{rows}{$id} = $version }
	else                    { delete $table->{rows}{$id} }
	return;
}

# Differences between a table and its model, in words: [kind, text]
sub differences
{
	my ($table, $heap, @twice) = @_;
	my $rows = $table->{rows};
	my @wrong =
	  map { [ 'wrong', "$table->{name}: row $_ comes twice" ] } @twice;

	foreach my $id (keys %$rows)
	{
		my $there = $heap->{$id};
		if (!$there || $there->[0] != $rows->{$id})
		{
			push @wrong,
			  [
				'lost',
				"$table->{name}: row $id, version $rows->{$id}, "
				  . ($there ? "has version $there->[0]" : 'is gone')
			  ];
			next;
		}
		my @expected = $table->row($id, $rows->{$id});
		my $expected = join("\t", map { $_ // '\\N' } @expected);
		my $got =
		  join("\t", map { $_ // '\\N' } @$there[ 1 .. $#$there ]);
		push @wrong,
		  [
			'lost',
			"$table->{name}: row $id, version $rows->{$id}, has other values: $got for $expected"
		  ]
		  if $expected ne $got;
	}
	foreach my $id (keys %$heap)
	{
		push @wrong,
		  [
			'wrong',
			"$table->{name}: row $id, version $heap->{$id}[0], was not committed"
		  ]
		  unless defined $rows->{$id};
	}
	return @wrong;
}

1;
