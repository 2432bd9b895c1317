# 022_betree_differential.pl: betree answers as btree does
#
# For each kind of key two tables of the same shape get the same commands, one
# indexed by btree, the other by betree: inserts in batches and one by one,
# deletes, updates, VACUUM, and queries of every form; of unique indexes, also
# which rows they refuse, and what they say.  What the queries print must be equal, and after each round the checker must find the index sound.
# The commands come from a fixed seed; BETREE_SEED and BETREE_ROUNDS choose
# others.  In the build of "make test-tiny" pages hold few items, and the same
# rows make a tree of height 5 or more.

use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = $ENV{BETREE_SEED} || 22;
my $rounds = $ENV{BETREE_ROUNDS} || 2;
my $tiny = $ENV{BETREE_TINY};
my $random = prng($seed);

my $node = ecp_cluster('main', conf => "fsync = off\nwork_mem = 64MB\n");

my $icu = $node->safe_psql('postgres',
	"SELECT count(*) FROM pg_collation WHERE collname = 'und-x-icu'");
my $collation = $icu ? 'und-x-icu' : 'C';

# A number spread over the range of int4, the same for the same argument.
$node->safe_psql(
	'postgres', q(
	CREATE FUNCTION spread(bigint) RETURNS bigint IMMUTABLE
		RETURN hashint8extended($1, 7) % 1000000;
	CREATE TYPE pair AS (a int, b text);
	CREATE FUNCTION key_int8(bigint) RETURNS int8 IMMUTABLE
		RETURN spread($1) * 1000003;
	CREATE FUNCTION key_few(bigint) RETURNS int8 IMMUTABLE
		RETURN spread($1) % 5;
	CREATE FUNCTION key_text(bigint) RETURNS text IMMUTABLE
		RETURN CASE spread($1) % 3 WHEN 0 THEN 'Äh ' WHEN 1 THEN 'ah-' ELSE 'Zz' END
			   || md5($1::text) || repeat('x', abs(spread($1) % 60)::int);
	CREATE FUNCTION key_uuid(bigint) RETURNS uuid IMMUTABLE
		RETURN md5($1::text)::uuid;
	CREATE FUNCTION key_time(bigint) RETURNS timestamptz IMMUTABLE
		RETURN '2026-01-01 00:00+00'::timestamptz + spread($1) * interval '1 s';
	CREATE FUNCTION key_numeric(bigint) RETURNS numeric IMMUTABLE
		RETURN CASE WHEN spread($1) % 97 = 0 THEN 'NaN'
					ELSE round(spread($1) / 1000.0, abs(spread($1) % 4)::int) END;
	CREATE FUNCTION key_pair(bigint) RETURNS pair IMMUTABLE
		RETURN row((spread($1) % 50)::int, left(md5($1::text), 3))::pair;
	-- of the rows from 1,500 on a third want the key of an earlier one
	CREATE FUNCTION key_unique(bigint) RETURNS int8 IMMUTABLE
		RETURN ((CASE WHEN $1 > 1500 AND $1 % 3 = 0 THEN $1 / 2 ELSE $1 END * 7919)
				% 40009) * 1000003;
	-- items of leaves that have several rows
	CREATE FUNCTION postings(index regclass) RETURNS bigint
		RETURN (SELECT count(*) FROM generate_series(1, pg_relation_size(index) / 8192 - 1) b,
				LATERAL (SELECT kind FROM betree_node_info(index, b)) n,
				LATERAL betree_page_items(index, b) i
				WHERE n.kind = 'leaf' AND i.rows > 1);
	CREATE FUNCTION try(statement text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE said text;
	BEGIN
		EXECUTE statement;
		RETURN 'done';
	EXCEPTION WHEN unique_violation THEN
		GET STACKED DIAGNOSTICS said = PG_EXCEPTION_DETAIL;
		RETURN said;
	END $$;
));

# name, type of k, second key column if any, index definition
my @kinds = (
	{ name => 'int8', type => 'int8', index => '(k)' },
	{ name => 'few', type => 'int8', index => '(k)' },
	{
		name => 'text',
		type => "text COLLATE \"$collation\"",
		index => '(k)'
	},
	{ name => 'uuid', type => 'uuid', index => '(k DESC)' },
	{
		name => 'time',
		type => 'timestamptz',
		index => '(k NULLS FIRST) INCLUDE (payload)'
	},
	{ name => 'numeric', type => 'numeric', index => '(k DESC NULLS LAST)' },
	{ name => 'pair', type => 'pair', index => '(k)' },
	{ name => 'int8', type => 'int8', index => '(few, k DESC)', two => 1 },
	{ name => 'unique', type => 'int8', index => '(k)', unique => 1 },);

# a number for a key: mostly one that is in the table, at times another
my $rows;

sub some_key
{
	my ($kind) = @_;
	return "key_$kind->{name}(" . (1 + $random->($rows * 11 / 10)) . ')';
}

# a condition with arrays: of one column or, if the index has two, of any
sub some_arrays
{
	my ($kind) = @_;
	my $n = (3, 20, 200)[ $random->(3) ];
	my @keys = map { some_key($kind) } 1 .. 1 + $random->($n);
	my $op = ('=', '=', '=', '>', '<=')[ $random->(5) ];
	my $few = '';
	my $more = '';

	push @keys, 'NULL', $keys[0] if $random->(3) == 0;
	$few =
	  ('few = 2 AND ', "few = ANY ('{3,1,NULL,7,1}') AND ", '')
	  [ $random->(3) ]
	  if $kind->{two};
	return "few = ANY ('{4,0,2}')" if $kind->{two} && $random->(4) == 0;
	$more = ' AND k > ' . some_key($kind) if $random->(4) == 0;
	$more .= ' AND k = ANY (ARRAY[' . join(', ', @keys[ 0 .. 1 ]) . '])'
	  if @keys > 5 && $random->(4) == 0;
	return "${few}k $op ANY (ARRAY[" . join(', ', @keys) . "])$more";
}

sub some_range
{
	my ($kind) = @_;
	return some_arrays($kind) if $random->(4) == 0;
	my $low = some_key($kind);
	my $high = some_key($kind);
	my $from = ('>', '>=')[ $random->(2) ];
	my $to = ('<', '<=')[ $random->(2) ];
	my $few = $kind->{two} ? 'few = ' . $random->(5) . ' AND ' : '';

	return "${few}k $from $low" if $random->(5) == 0;
	return "${few}k $to $high" if $random->(5) == 0;
	return "${few}k $from least($low, $high) AND k $to greatest($low, $high)";
}

# One statement or a few that print the same for any correct index.  TABLE
# stands for the table, SHOWN for the key as text, the same for equal keys:
# their order is left open.
sub some_query
{
	my ($kind) = @_;
	my $order = $kind->{two} ? 'few, k DESC' : 'k';
	my $back = $kind->{two} ? 'few DESC, k' : 'k DESC';
	my $cond = some_range($kind);
	my $limit = 1 + $random->(300);
	my $what = $random->(11);
	my $ids = "SELECT count(*), md5(string_agg(id::text, ',' ORDER BY id))"
	  . " FROM TABLE WHERE";

	return "$ids k = " . some_key($kind) . ';' if $what == 0;
	return "$ids $cond;" if $what == 1;
	return "SELECT md5(string_agg(SHOWN, ',')) FROM"
	  . " (SELECT k FROM TABLE WHERE $cond ORDER BY $order LIMIT $limit) s;"
	  if $what == 2;
	return "SELECT md5(string_agg(SHOWN, ',')) FROM"
	  . " (SELECT k FROM TABLE WHERE $cond ORDER BY $back LIMIT $limit) s;"
	  if $what == 3;
	return "$ids k IS NULL; SELECT count(k) FROM TABLE WHERE k IS NOT NULL;"
	  if $what == 4;
	return
	  "$ids k = ANY (ARRAY["
	  . join(', ', map { some_key($kind) } 1 .. 1 + $random->(20)) . ']);'
	  if $what == 5;
	return "SET enable_indexscan = off; $ids $cond; RESET enable_indexscan;"
	  if $what == 6;
	return
	  "SET enable_bitmapscan = off; $ids $cond; RESET enable_bitmapscan;"
	  if $what == 7;
	return
		'SET enable_nestloop = off; SET enable_material = off;'
	  . ' SELECT count(*), sum(a.id + b.id)'
	  . " FROM TABLE a JOIN (SELECT * FROM TABLE WHERE $cond) b USING (k)"
	  . ' WHERE a.id % 7 = 0 AND b.id % 5 = 0;'
	  . ' RESET enable_nestloop; RESET enable_material;'
	  if $what == 8 && $kind->{name} ne 'few';
	return "SELECT min(k)::text, max(k)::text FROM TABLE WHERE $cond;"
	  if $what == 9 && $kind->{name} !~ /^(uuid|pair|numeric)$/;
	return some_cursor($kind, $order, $cond);
}

# A cursor that turns round while its table changes.
sub some_cursor
{
	my ($kind, $order, $cond) = @_;
	my $sql = "BEGIN; DECLARE c SCROLL CURSOR FOR"
	  . " SELECT SHOWN FROM TABLE WHERE $cond ORDER BY $order;\n";

	for (1 .. 4 + $random->(12))
	{
		my $n = 1 + $random->(120);
		$sql .=
		  ('FETCH FORWARD', 'FETCH FORWARD', 'FETCH BACKWARD')[ $random->(3) ]
		  . " $n FROM c;\n";
		$sql .= some_change($kind) . "\n" if $random->(4) == 0;
	}
	return $sql . "CLOSE c; COMMIT;";
}

sub insert
{
	my ($kind, $n) = @_;
	my $from = $rows + 1;

	$rows += $n;
	return
		"SELECT md5(string_agg(try(format('INSERT INTO TABLE SELECT %1\$s, 0,"
	  . " CASE WHEN mod(%1\$s, 20) <> 0 THEN key_unique(%1\$s) END, md5(%1\$s::text)',"
	  . " i)), ',')) FROM generate_series($from, $rows) i;"
	  if $kind->{unique} && $from > 1;
	return
		"INSERT INTO TABLE SELECT i, (hashint8(i) & 1023) % 5,"
	  . " CASE WHEN hashint8(i) % 20 <> 0 THEN key_$kind->{name}(i) END,"
	  . " md5(i::text) FROM generate_series($from, $rows) i;";
}

sub some_change
{
	my ($kind) = @_;
	my $what = $random->(8);
	my $i = 1 + $random->($rows);

	return insert($kind, 1 + $random->(20)) if $what < 4;
	return
	  "DELETE FROM TABLE WHERE id BETWEEN $i AND $i + "
	  . $random->(50) . ';'
	  if $what == 4;
	return
	  "SELECT try('UPDATE TABLE SET k = key_unique(id / 2 + 900) WHERE id = $i');"
	  if $what == 5 && $kind->{unique};
	return "UPDATE TABLE SET k = key_$kind->{name}(id + 1000000)"
	  . " WHERE id BETWEEN $i AND $i + 10;"
	  if $what == 5;
	return
		"DELETE FROM TABLE WHERE id IN (SELECT id FROM TABLE WHERE "
	  . some_range($kind)
	  . " ORDER BY id LIMIT 200);"
	  if $what == 6;
	return insert($kind, 100 + $random->(400));
}

# The script of one round: text with TABLE in place of the table's name.
sub some_round
{
	my ($kind) = @_;
	my @script;

	for (1 .. 60)
	{
		push @script, some_change($kind);
		push @script, some_query($kind) if $random->(2) == 0;
		push @script, 'VACUUM TABLE;' if $random->(12) == 0;
	}
	push @script, insert($kind, 3000), 'VACUUM TABLE;' if $random->(2) == 0;
	push @script, map { some_query($kind) } 1 .. 12;
	return join("\n", @script);
}

sub output_of
{
	my ($kind, $script, $table) = @_;
	my $shown = $kind->{name} eq 'numeric' ? 'trim_scale(k)' : 'k';
	my ($stdout, $stderr, $ret);

	$script =~ s/\bTABLE\b/$table/g;
	$script =~ s/\bSHOWN\b/($shown)::text/g;
	$ret = $node->psql(
		'postgres',
		'SET enable_seqscan = off; SET enable_sort = off;'
		  . " SET enable_hashjoin = off;\n$script",
		stdout => \$stdout,
		stderr => \$stderr,
		on_error_stop => 1);
	die "the script does not work: $stderr" if $ret && $table eq 't_btree';
	return "$stdout\n$stderr";
}

# First difference, for the report
sub same_output
{
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($got, $expected, $script, $name) = @_;

	return pass($name) if $got eq $expected;
	my @got = split /\n/, $got;
	my @expected = split /\n/, $expected;
	my $line = 0;
	$line++
	  while $line < @got
	  && $line < @expected
	  && $got[$line] eq $expected[$line];
	fail($name);
	diag(   "line $line: betree \"@{[$got[$line] // 'nothing']}\","
		  . " btree \"@{[$expected[$line] // 'nothing']}\"");
	my $file = "$PostgreSQL::Test::Utils::log_path/differential_$$.sql";
	append_to_file($file, "-- $name\n$script\n");
	diag("the script is in $file");
	return;
}

my $nth = $seed;
foreach my $kind (@kinds)
{
	# long logs, short ones, and none at all
	my @log_pages = (-1, 1, 2, 0);
	@log_pages = ($log_pages[ $nth++ % 4 ]) unless $ENV{BETREE_ROUNDS};

	# half of the kinds with Bloom filters of the leaves
	my @with = int($nth / 4) % 2 ? ('bloom = on') : ();

	foreach my $log_pages (@log_pages)
	{
		my @some = $log_pages < 0 ? () : ("log_pages = $log_pages");
		push @some, 'log_levels = 3' if $log_pages == 2;
		my $with = join ', ', @some, @with;
		$with = "WITH ($with)" if $with;
		my $name = "$kind->{name} $kind->{index} $with";
		my $unique = $kind->{unique} ? 'UNIQUE' : '';

		# half of the rows are there before the index
		$rows = 0;
		my $load = insert($kind, 1500);
		foreach my $am ('btree', 'betree')
		{
			my $options = $am eq 'betree' ? $with : '';
			(my $load_am = $load) =~ s/\bTABLE\b/t_$am/;
			$node->safe_psql(
				'postgres', qq(
				DROP TABLE IF EXISTS t_$am;
				CREATE TABLE t_$am (id int8, few int, k $kind->{type},
									payload text);
				$load_am
				CREATE INDEX ON t_$am (id);
				CREATE $unique INDEX i_$am ON t_$am USING $am $kind->{index} $options;
			));
		}
		plan_uses(
			$node,
			'SELECT * FROM t_betree WHERE k = '
			  . "key_$kind->{name}(7)"
			  . ($kind->{two} ? ' AND few = 1' : ''),
			'i_betree',
			set => 'SET enable_seqscan = off');
		plan_uses(
			$node,
			'SELECT k FROM t_betree ORDER BY '
			  . ($kind->{two} ? 'few, k DESC' : 'k'),
			'i_betree',
			set => 'SET enable_seqscan = off; SET enable_sort = off');
		plan_uses(
			$node,
			"SELECT k FROM t_betree WHERE k = ANY (ARRAY[key_$kind->{name}(7),"
			  . " key_$kind->{name}(8)])"
			  . ($kind->{two} ? ' AND few = ANY (ARRAY[1, 3])' : '')
			  . ($kind->{two} ? ' ORDER BY few' : ' ORDER BY k DESC'),
			'i_betree',
			set => 'SET enable_seqscan = off; SET enable_sort = off;'
			  . ' SET enable_bitmapscan = off');

		foreach my $round (1 .. $rounds)
		{
			my $script = some_round($kind);
			same_output(
				output_of($kind, $script, 't_betree'),
				output_of($kind, $script, 't_btree'),
				$script,
				"$name: round $round answers as btree");
			index_ok($node, 'i_betree',
				"$name: round $round leaves the index sound");
		}
		if ($tiny)
		{
			cmp_ok(
				$node->safe_psql(
					'postgres',
					"SELECT height FROM betree_index_stats('i_betree')"),
				'>=', 5,
				"$name: the tree is high");
		}
		cmp_ok($node->safe_psql('postgres', "SELECT postings('i_betree')"),
			'>', 50, "$name: rows share items")
		  if $kind->{name} eq 'few' && $tiny;
		$node->safe_psql('postgres', 'REINDEX INDEX i_betree');
		cmp_ok($node->safe_psql('postgres', "SELECT postings('i_betree')"),
			'>', 4, "$name: rows share items after REINDEX")
		  if $kind->{name} eq 'few';
		my $script = some_round($kind);
		same_output(
			output_of($kind, $script, 't_betree'),
			output_of($kind, $script, 't_btree'),
			$script, "$name: after REINDEX answers as btree");
		index_ok($node, 'i_betree', "$name: sound after REINDEX");
	}
}

# The classes that compare bytes, in a collation that does not.
SKIP:
{
	skip 'no ICU', 1 unless $icu;
	my $load = '';

	foreach my $am ('btree', 'betree')
	{
		$load .= qq(
			CREATE TABLE p_$am (id int8, t text COLLATE "$collation",
				v varchar(40) COLLATE "$collation", b char(40) COLLATE "$collation"););
		$load .=
		  qq(CREATE INDEX p_${am}_$_->[0] ON p_$am USING $am ($_->[0] $_->[1]_pattern_ops);)
		  foreach ([ 't', 'text' ], [ 'v', 'varchar' ], [ 'b', 'bpchar' ]);
		$load .= qq(
			INSERT INTO p_$am SELECT i, s, s, s FROM generate_series(1, 3000) i,
				LATERAL (SELECT (ARRAY['Ä', 'a', 'A', '-a', 'ß', 'z '])[1 + i % 6]
								|| md5(i::text) AS s) q;);
	}
	$node->safe_psql('postgres', $load);
	my $forced = 'SET enable_seqscan = off; SET enable_bitmapscan = off;'
	  . ' SET enable_sort = off;';
	foreach my $column ('t', 'v', 'b')
	{
		my $ids =
		  "SELECT count(*), md5(string_agg(id::text, ',' ORDER BY id)) FROM p_AM WHERE";
		my $shown =
		  "SELECT md5(string_agg($column, ',')) FROM (SELECT $column FROM p_AM";

		foreach my $query (
			(map { "$ids $column LIKE '$_%'" } 'a1', 'Ä', '-a', 'ß', 'z 1'),
			"$ids $column ~>=~ 'A' AND $column ~<~ 'a5'",
			"$shown ORDER BY $column USING ~<~) s",
			"$shown WHERE $column ~<=~ 'z' ORDER BY $column USING ~>~) s")
		{
			my @answers;

			foreach my $am ('btree', 'betree')
			{
				(my $sql = $query) =~ s/p_AM/p_$am/;
				plan_uses($node, $sql, "p_${am}_$column", set => $forced);
				push @answers, $node->safe_psql('postgres', "$forced $sql");
			}
			is($answers[1], $answers[0], "${column}_pattern_ops: $query");
		}
		index_ok($node, "p_betree_$column", "${column}_pattern_ops: sound");
	}
}

$node->stop;
done_testing();
