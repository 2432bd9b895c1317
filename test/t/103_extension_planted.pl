# The owner of a database creates functions, operators and casts in the schema of
# the extensions that fit calls of ours better than ours do, of every name there.
# Code of ours never finds them: a superuser calls everything, and none of them
# runs.  The calls are views, made before, so that they are of our functions.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster(
	'planted',
	extension => 0,
	conf => "allow_in_place_tablespaces = on\nmax_parallel_workers = 8\n");
$node->safe_psql(
	'postgres', q(
	CREATE ROLE proprietor LOGIN;
	CREATE DATABASE hostile OWNER proprietor;
	CREATE TABLESPACE trapped LOCATION '';));

sub as_proprietor
{
	return $node->safe_psql('hostile', $_[0],
		extra_params => [ '-U', 'proprietor' ]);
}

sub answer { return $node->safe_psql('hostile', $_[0]) }

my $has_vector = has_pgvector($node);

as_proprietor('CREATE SCHEMA trap; CREATE EXTENSION ecp SCHEMA trap;');
# not beside a schema of his that has the name of one of ours
foreach my $schema (qw(ecp_models ecp_storage))
{
	as_proprietor("CREATE SCHEMA $schema");
	like(
		($node->psql('hostile', 'CREATE EXTENSION ecp_storage SCHEMA trap'))
		[2],
		qr/schema "$schema" already exists/,
		'a schema of another is not used');
	as_proprietor("DROP SCHEMA $schema");
}
answer('CREATE EXTENSION ecp_storage SCHEMA trap; CREATE EXTENSION citext;');
like(
	(   $node->psql(
			'hostile',
			'ALTER SCHEMA ecp_storage RENAME TO other',
			extra_params => [ '-U', 'proprietor' ]))[2],
	qr/must be owner of schema ecp_storage/,
	'nor can he rename ours');
if ($has_vector)
{
	answer(
		'CREATE SCHEMA theirs; GRANT USAGE ON SCHEMA theirs TO PUBLIC; CREATE EXTENSION vector SCHEMA theirs;'
	);
	answer(
		'SET search_path = trap, theirs; CREATE EXTENSION ecp_pgvector SCHEMA trap;'
	);
}

# Tables of his, with types and index expressions of his; what he plants says by
# whom it is called, and is harmless to himself.
my $body = q(LANGUAGE plpgsql %s AS $p$
	BEGIN
		IF current_user <> 'proprietor' THEN
			RAISE LOG 'planted: called by %%', current_user;
			RAISE EXCEPTION 'planted';
		END IF;
		%s
	END $p$);
as_proprietor(
	sprintf(
		q(CREATE TYPE trap.thing AS (a integer, b text);
	CREATE TYPE trap.kind AS ENUM ('x', 'y');
	CREATE FUNCTION trap.constant(integer) RETURNS integer %s;
	CREATE TABLE trap.items (id integer, v real[], i integer[], what trap.thing, kind trap.kind,
		things trap.thing[]);
	INSERT INTO trap.items SELECT g, ARRAY[g, g %% 7, 1]::real[], ARRAY[g, g],
			ROW(g %% 5, 'b')::trap.thing, 'x', ARRAY[ROW(g, 'c')::trap.thing]
		FROM generate_series(1, 500) g;
	CREATE INDEX items_p ON trap.items USING ecp (v) WHERE trap.constant(1) > 0;
	CREATE INDEX items_v ON trap.items USING ecp (v, id);
	CREATE INDEX items_id ON trap.items USING betree (id);
	CREATE TABLE trap.far AS SELECT * FROM trap.items;
	CREATE INDEX far_v ON trap.far USING ecp (v);
	CREATE INDEX far_id ON trap.far USING betree (id);
	CREATE TABLE trap.plain AS SELECT * FROM trap.items;
	CREATE INDEX plain_v ON trap.plain USING ecp (v, id);
	CREATE TABLE trap.land (k integer) PARTITION BY LIST (k);
	CREATE TABLE trap.land_1 PARTITION OF trap.land FOR VALUES IN (1);
	CREATE TABLE trap.parts (id integer, v real[]) PARTITION BY LIST (id);
	CREATE TABLE trap.parts_1 PARTITION OF trap.parts FOR VALUES IN (1);
	ANALYZE trap.items, trap.plain, trap.far;),
		sprintf($body, 'IMMUTABLE', 'RETURN 1;')));

answer(
	q(CREATE SCHEMA calls;
	CREATE TABLE calls.queries AS SELECT '{1,2,1}'::real[] AS v FROM generate_series(1, 2);
	SET search_path = trap, pg_catalog;
	SELECT ecp_place_target('p'::name, 'trapped'::name, 100::float8, '1GB'::text);
	INSERT INTO ecp_storage.ecp_device (tablespace, latency_us, read_mb_s, half_bandwidth, seq_read_mb_s,
		seq_write_mb_s, rand_read_iops, rand_read_iops_max, rand_write_iops, rand_write_us,
		cached_mb_s, best_workers)
	SELECT spcname, 100, 500, 50000, 500, 400, 4000, 16000, 4000, 1000, 5000, 4 FROM pg_tablespace;)
);
answer(
	answer(
		q(SELECT trap.ecp_stripe_ddl('trap.frames', '{pg_default,trapped}'::name[], 2, 'betree'))
	));
answer(
	q(INSERT INTO trap.frames SELECT s, 'epoch'::timestamptz + t * interval '1 s', x, y, decode(repeat('01', 64), 'hex')
	FROM generate_series(1, 2) s, generate_series(0, 9) t, generate_series(0, 1) x, generate_series(0, 1) y)
);

# ----------------------------------------------------------------------
# A call of each function

my %literal = (
	'anyelement' => '1',
	'record' => 'ROW(1)',
	'real[]' => q('{1,2}'::real[]),
	'double precision[]' => q('{1,2}'::float8[]),
	'smallint[]' => q('{1,2}'::smallint[]),
	'integer[]' => q('{1,2}'::integer[]),
	'bigint[]' => q('{1,2}'::bigint[]),
	'numeric[]' => q('{1,2}'::numeric[]),
	'bytea' => q('\x0102'::bytea),
	'bit' => q(B'10'),
	'point' => q('(1,2)'::point),
	'theirs.vector' => q('[1,2]'::theirs.vector),
	'theirs.halfvec' => q('[1,2]'::theirs.halfvec));
$literal{"trap.ecp_$$_[0]_ball"} =
  "ROW($literal{$$_[1]}, 3)::trap.ecp_$$_[0]_ball"
  foreach [ 'real', 'real[]' ], [ 'double', 'double precision[]' ],
  [ 'bytea', 'bytea' ], [ 'bit', 'bit' ], [ 'vector', 'theirs.vector' ],
  [ 'halfvec', 'theirs.halfvec' ];

my $queries = q('{{1,2,1},{9,3,1}}'::real[]);
my $query = q('SELECT v FROM calls.queries'::text);
my $condition = q('id OPERATOR(pg_catalog.>) 0'::text);
my $columns = q('{id,what,kind,things,ctid}'::name[]);
my $ecp = q('trap.items_v'::regclass);
# with a condition a table is planned, for which its owner's predicates are computed
my $plain = q('trap.plain_v'::regclass);
my $betree = q('trap.items_id'::regclass);
my $land = q('trap.land'::regclass);

# the arguments of one call, or of several
my %arguments = (
	'betree_adopt(text)' => "'public.citext_ops'::text",
	'betree_flush(regclass)' => $betree,
	'betree_index_check(regclass, boolean)' => "$betree, true",
	'betree_node_info(regclass, bigint)' => "$betree, 1::bigint",
	'betree_page_items(regclass, bigint)' => "$betree, 1::bigint",
	'ecp_admit(regclass, double precision[], double precision, double precision, double precision, double precision, double precision, double precision, double precision)'
	  => "$land, '{1,2}'::float8[]",
	'ecp_admit_extents(double precision[], double precision, double precision, double precision, double precision, double precision, double precision, double precision)'
	  => "'{1,2}'::float8[], 4e5::float8, 5e4::float8, 0.8::float8, 1e3::float8, 1e3::float8, 1e3::float8, 5::float8",
	'ecp_advise(name)' => "'trapped'::name",
	'ecp_bench(name, text[], integer[], bigint, double precision, integer[], integer, bigint)'
	  => "'trapped'::name, '{block,knn,sort,search}'::text[], '{1,2}'::integer[], 2000000::bigint, 0.01::float8, '{1}'::integer[], 3, 262144::bigint",
	'ecp_build_model(double precision, double precision, double precision, double precision[], double precision[], double precision[], boolean, double precision, double precision, double precision, double precision)'
	  => '1e6::float8, 132::float8, 1000::float8'
	  . ", '{1,1,1,1}'::float8[]" x 3,
	'ecp_calibrate(name, bigint, double precision, bigint, integer[], integer[], boolean)'
	  => "'trapped'::name, 16777216::bigint, 0.2::float8, 100000000::bigint, '{8192,65536}'::integer[], '{1}'::integer[], false",
	'ecp_delay_fit(double precision[], double precision[])' =>
	  "'{1,2}'::float8[], '{3,4}'::float8[]",
	'ecp_index_check(regclass, boolean)' => "$ecp, true",
	'ecp_index_stats(regclass)' => $ecp,
	'ecp_kernels()' => '',
	# plans a query of the table, which evaluates predicates of its indexes
	'ecp_knn_batch(regclass, anyarray, integer, text)' => [
		"$plain, $queries, 3, NULL::text", "$plain, $queries, 3, $condition"
	],
	'ecp_knn_batch(regclass, text, integer, text)' =>
	  [ "$plain, $query, 3, NULL::text", "$plain, $query, 3, $condition" ],
	'ecp_knn_exact(regclass, anyarray, integer, text)' =>
	  [ "$ecp, $queries, 3, NULL::text", "$plain, $queries, 3, $condition" ],
	'ecp_knn_exact(regclass, text, integer, text)' =>
	  [ "$ecp, $query, 3, NULL::text", "$plain, $query, 3, $condition" ],
	'ecp_knn_groups(regclass, anyelement, name, integer, text)' => [
		"$ecp, '{1,2,1}'::real[], 'kind'::name, 3, NULL::text",
		"$plain, '{1,2,1}'::real[], 'what'::name, 3, $condition"
	],
	'ecp_knn_max_sim(regclass, anyarray, name, integer, integer, integer, text)'
	  => [
		"$plain, $queries, 'kind'::name, 3, 20, 5, NULL::text",
		"$plain, $queries, 'what'::name, 3, 20, 5, $condition",
		"$plain, $queries, 'what'::name, 3, 20, NULL::integer, $condition"
	  ],
	'ecp_knn_max_sim(regclass, text, name, integer, integer, integer, text)'
	  => [
		"$plain, $query, 'kind'::name, 3, 20, 5, NULL::text",
		"$plain, $query, 'what'::name, 3, 20, 5, $condition"
	  ],
	'ecp_knn_fetch(regclass, anyarray, name[], integer, text)' => [
		"$plain, $queries, $columns, 3, NULL::text",
		"$plain, $queries, $columns, 3, $condition"
	],
	'ecp_last_scan()' => '',
	'ecp_maintain(regclass)' => $ecp,
	'ecp_misassigned(regclass, integer)' => "$ecp, 10",
	'ecp_page_items(regclass, bigint)' => "$ecp, 2::bigint",
	'ecp_memory_bench(double precision)' => '0.005::float8',
	'ecp_place_assign(double precision[], double precision[], text, double precision[], integer[], double precision, bigint, double precision[], text[])'
	  => "'{3,2,1}'::float8[], '{1,1}'::float8[], 'lpt'::text",
	'ecp_place_bound(double precision[], double precision[])' =>
	  "'{3,2,1}'::float8[], '{1,1}'::float8[]",
	'ecp_place_compare(regclass, name, text, double precision, bigint, bigint)'
	  => "$land, 'p'::name",
	'ecp_place_groups(regclass)' => $land,
	'ecp_place_makespan(double precision[], double precision[], integer[])'
	  => "'{3,2,1}'::float8[], '{1,1}'::float8[], '{1,2,2}'::integer[]",
	'ecp_place_plan(regclass, name, text, text, double precision, bigint)' =>
	  "$land, 'p'::name",
	'ecp_place_rule(regclass, text, name, name)' =>
	  "$land, 'a'::text, 'trapped'::name, NULL::name",
	'ecp_place_target(name, name, double precision, text)' =>
	  "'q'::name, 'trapped'::name, 100::float8, '1GB'::text",
	'_betree_adopt(text, oid)' =>
	  q('citext_ops'::text, (SELECT oid FROM pg_catalog.pg_opclass
		WHERE opcname OPERATOR(pg_catalog.=) 'citext_ops' AND opcmethod OPERATOR(pg_catalog.=) 403::oid)),
	'_ecp_build_model(double precision, double precision, double precision, double precision, double precision[], double precision[], double precision[], boolean, boolean, double precision, double precision, double precision, double precision, double precision)'
	  => '1e6::float8, 132::float8, 0::float8, 1000::float8, '
	  . "'{1,1,1,1}'::float8[], " x 3
	  . 'true, true, 1e8::float8, 0::float8, 1e9::float8, 0::float8, 0::float8',
	'_ecp_check_rising(integer[], integer, integer, text)' =>
	  "'{1,2}'::integer[], 1, 2, 'numbers'::text",
	'_ecp_transfers(integer, integer[], integer[], bigint)' =>
	  "2, '{512}'::integer[], '{1,2}'::integer[], 1::bigint",
	'_ecp_check_tablespaces(name[], integer)' => "'{trapped}'::name[], 1",
	'_ecp_object_name(text, text)' => "'a'::text, 'b'::text",
	'_ecp_place_free_bytes(oid)' => '1663::oid',
	'_ecp_place_groups(oid)' => "$land\::oid",
	'_ecp_place_move(oid, name)' => "$land\::oid, 'trapped'::name",
	'_ecp_place_new_tablespace(oid)' => "$land\::oid",
	'_ecp_place_problem(oid, name, text)' =>
	  "$land\::oid, 'p'::name, 'scans'::text",
	'_ecp_place_room(name)' => "'trapped'::name",
	'_ecp_place_script(oid, oid, text, name, boolean)' =>
	  "$land\::oid, 'trap.land_1'::regclass::oid, 'DEFAULT'::text, 'trapped'::name, true",
	'_ecp_place_targets(name)' => "'p'::name",
	'_ecp_table_distributed(oid)' => "$land\::oid",
	'_ecp_table_refuse_distributed(oid)' => "$land\::oid",
	'ecp_plan_build(regclass, name, name[], double precision, double precision, integer, double precision, double precision)'
	  => "'trap.items'::regclass, 'v'::name, '{trapped}'::name[]",
	'ecp_read_window(regclass, integer, timestamp with time zone, integer, integer, integer, integer, integer, integer, integer, integer, integer, integer)'
	  => "'trap.frames'::regclass, 1, 'epoch'::timestamptz, 0, 0, 16, 16, 8, 8, 1, 1",
	'ecp_forecast(regclass, name, text, text[], integer)' =>
	  "'trap.plain'::regclass, 'v'::name, NULL::text, '{seed=2}'::text[], 5",
	'ecp_recall(regclass, integer, integer[], integer, integer, text, boolean)'
	  => [
		"$ecp, 5, NULL::integer[], 20, 1, NULL::text, false",
		"$ecp, 5, NULL::integer[], 20, 1, $query, false"
	  ],
	'ecp_shard_query(regclass, name, integer, text)' =>
	  "'trap.parts'::regclass, 'v'::name, 3, 'trap.<->'::text",
	'ecp_stream_bench(regclass, double precision[], double precision, integer, boolean)'
	  => "'trap.frames'::regclass, '{20,20}'::float8[], 0.05::float8, 2, false",
	'ecp_stream_bench_files(name[], double precision[], integer, integer, double precision, integer, boolean, bigint)'
	  => "'{trapped}'::name[], '{20,20}'::float8[], 2, 5000, 0.05::float8, 2, false, 2000000::bigint",
	'ecp_stream_simulate(double precision[], double precision, double precision, integer, integer, integer, double precision, integer, boolean)'
	  => "'{2}'::float8[], 10::float8, 4::float8",
	'ecp_stream_utilisation(double precision[], double precision, double precision, double precision, double precision, double precision, double precision)'
	  => "'{1,2}'::float8[], 4e5::float8, 8::float8, 8::float8, 10::float8, 4::float8, 1::float8",
	'ecp_stripe(integer[], integer)' => "'{1,2}'::integer[], 4",
	'ecp_stripe_ddl(text, name[], integer, name)' =>
	  "'trap.f'::text, '{trapped}'::name[], 2, 'betree'::name",
	'ecp_vote(regclass, text, name, integer)' => [
		"$plain, $query, 'what'::name, 3", "$plain, $query, 'kind'::name, 3"
	]);
# called by their triggers, by ecp_calibrate(), and below by CALL
my %otherwise = map { $_ => 1 } (
	'_ecp_calibrate(name, bigint, double precision, bigint, integer[], integer[], boolean)',
	'_ecp_calibrate_fill(name, bigint, double precision)',
	'_ecp_calibrate_transfer(ecp_storage._ecp_transfer, double precision, double precision)',
	'ecp_place_new_partition()',
	'ecp_place_rules_changed()',
	'ecp_place_apply(regclass, name, text, text, text, text, double precision)'
);

my $ours = q(
	SELECT p.oid, p.pronamespace::regnamespace AS nsp, p.proname, p.prokind, p.proargtypes FROM pg_extension e
		JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
			AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
		JOIN pg_proc p ON p.oid = d.objid
	WHERE e.extname ~ '^ecp' AND NOT p.proargtypes::oid[] @> ARRAY['internal'::regtype::oid]);
my (@unknown, @calls);
foreach (
	split /\n/,
	answer(
		"SELECT nsp || '.' || proname || '(' || oidvectortypes(proargtypes) || ')' FROM ($ours) o ORDER BY 1"
	))
{
	my ($schema, $signature, $name, $types) = /^(\w+)\.((\w+)\((.*)\))$/;
	my $known = $arguments{$signature};

	next if $otherwise{$signature};
	if (!defined $known)
	{
		$known = join ', ', map {
			$_ eq 'regclass'
			  ? ($name =~ /betree/ ? $betree : $ecp)
			  : $literal{$_} // '?'
		} split /, /, $types;
		push @unknown, $_ if $known =~ /\?/;
	}
	push @calls, "$schema.$name($_)" foreach ref $known ? @$known : $known;
}
is(join("\n", @unknown), '', 'there is a call of every function');
my %is_void = map { $_ => 1 } split /\n/,
  answer("SELECT proname FROM pg_proc WHERE prorettype = 'void'::regtype");
foreach my $i (0 .. $#calls)
{
	my ($name) = $calls[$i] =~ /^\w+\.(\w+)/;

	answer( "CREATE VIEW calls.c$i AS SELECT "
		  . ($is_void{$name} ? 'count(*)' : '*')
		  . " FROM $calls[$i]");
}

# the operators, with operands of their types; a name may have |
my @operators = map { [ split /\|/, $_, 3 ] } split /\n/, answer(
	q(SELECT o.oprleft::regtype, o.oprright::regtype, o.oprname FROM pg_operator o
	WHERE o.oprnamespace = 'trap'::regnamespace ORDER BY 3, 1, 2));
my $n = @calls;
foreach (@operators)
{
	my ($left, $right, $name) = @$_;

	push @calls, "$name of $left and $right";
	answer(
		"CREATE VIEW calls.c$n AS SELECT $literal{$left} OPERATOR(trap.$name) $literal{$right} AS o"
	);
	$n++;
}
# searches
foreach my $search (
	q(ORDER BY v OPERATOR(trap.<->) '{1,1,1}'::real[] LIMIT 3),
	q(WHERE v OPERATOR(trap.@<->) ROW('{1,1,1}', 3)::trap.ecp_real_ball),
	q(WHERE id = 3))
{
	push @calls, $search;
	answer("CREATE VIEW calls.c$n AS SELECT id FROM trap.far $search");
	$n++;
}

# Call everything; those that fail.
sub call_all
{
	my $failures = '';

	foreach my $i (0 .. $#calls)
	{
		my ($ret, undef, $stderr) = $node->psql('hostile',
			"BEGIN; SET search_path = trap, pg_catalog; SELECT * FROM calls.c$i; ROLLBACK"
		);

		# casts that are planted make operators of the server's ambiguous
		$failures .= "$calls[$i]: $stderr\n"
		  if $ret != 0 && $stderr !~ /operator is not unique: (?:kind|thing)/;
	}
	return $failures;
}

sub planted_calls
{
	return
	  scalar(() = slurp_file($node->logfile) =~ /planted: called by \w/g);
}

is(call_all(), '', 'all calls work');

# ----------------------------------------------------------------------
# What is planted: of each function, those with other types of arguments, each
# place alone and all combinations of few; of each operator likewise

as_proprietor(
	sprintf(
		q(CREATE TABLE trap.planted_functions AS
	SELECT row_number() OVER () AS n, o.*, pg_get_function_result(o.oid) AS result,
		ARRAY(SELECT format('OUT %%I %%s', p.proargnames[a], format_type(p.proallargtypes[a], NULL))
			FROM pg_proc p, generate_subscripts(p.proargmodes, 1) a
			WHERE p.oid = o.oid AND p.proargmodes[a] = 'o') AS out
	FROM (%s) o;
	DO $do$
	DECLARE
		f record;
		arguments text[];
		n integer := 0;
		alternatives CONSTANT jsonb := '{
			"regclass": ["oid", "text", "name", "anyelement"],
			"anyarray": ["real[]", "double precision[]", "integer[]", "bytea[]", "text[]", "anyelement"],
			"text": ["name", "character varying", "anyelement"],
			"integer": ["bigint", "smallint", "numeric", "anyelement"],
			"bigint": ["integer", "numeric", "anyelement"],
			"double precision": ["real", "numeric", "integer", "anyelement"],
			"boolean": ["text", "anyelement"],
			"name": ["text", "anyelement"],
			"name[]": ["text[]", "anyarray"],
			"text[]": ["name[]", "anyarray"]}';
	BEGIN
		FOR f IN SELECT * FROM trap.planted_functions LOOP
			FOR arguments IN
				WITH RECURSIVE given AS (
					SELECT a.i, format_type(a.t, NULL) AS type
					FROM unnest(f.proargtypes::oid[]) WITH ORDINALITY AS a(t, i)
				), choice AS (
					SELECT i, type AS t, 0 AS changed FROM given
					UNION ALL
					SELECT i, jsonb_array_elements_text(coalesce(alternatives->type,
						CASE WHEN type ~ '\[' THEN '["anyarray"]' ELSE '["anyelement"]' END::jsonb)), 1
					FROM given
				), chosen AS (
					SELECT 0::bigint AS i, '{}'::text[] AS t, 0 AS changed
					UNION ALL
					SELECT c.i, h.t || c.t, h.changed + c.changed
					FROM chosen h JOIN choice c ON c.i = h.i + 1
					-- of many arguments one is changed, or the first two
					WHERE h.changed + c.changed <= CASE WHEN pg_catalog.array_length(f.proargtypes::oid[], 1) <= 3 THEN 9
						WHEN c.i <= 2 THEN 2 ELSE greatest(1, h.changed) END
				)
				SELECT t FROM chosen WHERE i = coalesce(pg_catalog.array_length(f.proargtypes::oid[], 1), 0) AND changed > 0
			LOOP
				BEGIN
					EXECUTE format('CREATE %%s trap.%%I(%%s) %%s %%s',
						CASE f.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, f.proname,
						array_to_string(arguments || f.out, ', '),
						CASE f.prokind WHEN 'p' THEN '' ELSE 'RETURNS ' || f.result END,
						$body$%s$body$);
					n := n + 1;
				EXCEPTION
					WHEN duplicate_function OR insufficient_privilege OR invalid_function_definition OR feature_not_supported
						OR ambiguous_function THEN NULL;
				END;
			END LOOP;
		END LOOP;
		RAISE NOTICE '%% functions are planted', n;
	END $do$;), $ours, sprintf($body, '', '')));
cmp_ok(
	answer(
		q(SELECT count(*) FROM pg_proc WHERE pronamespace = 'trap'::regnamespace AND proowner = 'proprietor'::regrole)
	),
	'>', 500,
	'functions are planted');
is( answer(
		"SELECT string_agg(DISTINCT o.proname, ' ') FROM ($ours) o
		WHERE cardinality(o.proargtypes::oid[]) > 0 AND NOT EXISTS (SELECT FROM pg_proc p
			WHERE p.proname = o.proname AND p.pronamespace = 'trap'::regnamespace
				AND p.proowner = 'proprietor'::regrole)"
	),
	'',
	'of every name that takes arguments');
as_proprietor(
	sprintf(
		q(CREATE FUNCTION trap.planted_cast(trap.thing) RETURNS text %1$s;
	CREATE FUNCTION trap.planted_json(trap.thing) RETURNS json %1$s;
	CREATE FUNCTION trap.planted_jsonb(trap.thing) RETURNS jsonb %1$s;
	CREATE FUNCTION trap.planted_cast(trap.kind) RETURNS text %1$s;
	CREATE FUNCTION trap.planted_json(trap.kind) RETURNS json %1$s;
	CREATE FUNCTION trap.planted_jsonb(trap.kind) RETURNS jsonb %1$s;
	CREATE CAST (trap.thing AS text) WITH FUNCTION trap.planted_cast(trap.thing) AS IMPLICIT;
	CREATE CAST (trap.thing AS json) WITH FUNCTION trap.planted_json(trap.thing) AS IMPLICIT;
	CREATE CAST (trap.thing AS jsonb) WITH FUNCTION trap.planted_jsonb(trap.thing) AS IMPLICIT;
	CREATE CAST (trap.kind AS text) WITH FUNCTION trap.planted_cast(trap.kind) AS IMPLICIT;
	CREATE CAST (trap.kind AS json) WITH FUNCTION trap.planted_json(trap.kind) AS IMPLICIT;
	CREATE CAST (trap.kind AS jsonb) WITH FUNCTION trap.planted_jsonb(trap.kind) AS IMPLICIT;
	CREATE FUNCTION trap.planted_operator(anyelement, anyelement) RETURNS boolean %2$s;
	CREATE FUNCTION trap.planted_operator(anyarray, anyarray) RETURNS float8 %3$s;
	CREATE OPERATOR trap.= (LEFTARG = anyelement, RIGHTARG = anyelement, FUNCTION = trap.planted_operator);
	CREATE OPERATOR trap.< (LEFTARG = anyelement, RIGHTARG = anyelement, FUNCTION = trap.planted_operator);
	CREATE OPERATOR trap.<-> (LEFTARG = anyarray, RIGHTARG = anyarray, FUNCTION = trap.planted_operator);
	CREATE OPERATOR trap.<#> (LEFTARG = anyarray, RIGHTARG = anyarray, FUNCTION = trap.planted_operator);
	CREATE OPERATOR trap.<=> (LEFTARG = anyarray, RIGHTARG = anyarray, FUNCTION = trap.planted_operator);),
		sprintf($body, 'IMMUTABLE', 'RETURN NULL;'),
		sprintf($body, 'IMMUTABLE', 'RETURN true;'),
		sprintf($body, 'IMMUTABLE', 'RETURN 1;')));

# A call by name finds one of them: this would be seen.
my $before = planted_calls();
my ($ret) = $node->psql('hostile',
	"SELECT * FROM trap.ecp_knn_batch('trap.items_v'::regclass, '{{1,2,1}}'::real[], 3, NULL::text)"
);
isnt($ret, 0, 'a call by name finds what is planted');
is(planted_calls(), $before + 1, 'and it is seen');

is(call_all(), '', 'all calls still work');
is( $node->psql(
		'hostile',
		"SET search_path = trap, pg_catalog;
		SELECT trap.ecp_place_rule('trap.land'::regclass, 'b'::text, NULL::name, 'p'::name);
		CREATE TABLE trap.land_2 PARTITION OF trap.land FOR VALUES IN (2);
		CREATE TABLE trap.land_b PARTITION OF trap.land FOR VALUES IN (3);
		CALL trap.ecp_place_apply('trap.land'::regclass, 'p'::name, 'lpt'::text, '1GB'::text, '1s'::text, 'bytes'::text, 1::float8);
		SET enable_seqscan = off;
		INSERT INTO trap.far SELECT id, v FROM trap.far;
		VACUUM trap.far;
		CREATE INDEX far_v2 ON trap.far USING ecp (v trap.real_l2_ops);
		REINDEX TABLE trap.far;"
	),
	0,
	'placement, inserts and maintenance work');
is(planted_calls(), $before + 1, 'nothing that was planted was called');

# ----------------------------------------------------------------------
# What an index can hold of its owner's: expressions, predicates, casts, operators,
# constraints of domains.  Whoever calls a function of ours, or searches, runs none of
# it; a plain query runs what the same query runs where the index is a btree.

$node->safe_psql('postgres',
	'CREATE DATABASE owned OWNER proprietor; CREATE ROLE reader LOGIN;');

sub as_owner
{
	return $node->safe_psql('owned', $_[0],
		extra_params => [ '-U', 'proprietor' ]);
}

# Run statements, each in a session of its own, so that nothing is known of an index;
# returns for each how often something planted was called, and its error.
sub run_all
{
	my ($role, @statements) = @_;
	my $script = join '', map {
		"\\c - $role\n\\warn #statement $_\nSET enable_seqscan = off;\n$statements[$_];\n"
	} 0 .. $#statements;
	my (undef, undef, $stderr) =
	  $node->psql('owned', $script, on_error_stop => 0);
	my (undef, @parts) = split /^#statement \d+(?:\n|\z)/m, $stderr, -1;

	is(scalar @parts, scalar @statements, "$role runs all statements");
	return map {
		{
			calls => scalar(() = /planted: \w+ called by (?!proprietor)/g),
			error => /ERROR:  (.*)/ ? $1 : ''
		}
	} @parts;
}

my $says = q(LANGUAGE plpgsql IMMUTABLE AS $p$
	BEGIN
		IF current_user <> 'proprietor' THEN
			RAISE WARNING 'planted: %1$s called by %%', current_user;
		END IF;
		RETURN %2$s;
	END $p$);
as_owner(
	sprintf(
		"CREATE SCHEMA trap; CREATE SCHEMA calls; CREATE EXTENSION ecp SCHEMA trap;
	GRANT USAGE ON SCHEMA trap, calls TO PUBLIC;
	CREATE TYPE trap.thing AS (a integer, b text);
	CREATE TYPE trap.kind AS ENUM ('x', 'y');
	CREATE TYPE trap.wrapped AS (v real[]);
	CREATE TYPE trap.other AS (a integer, b text);
	CREATE FUNCTION trap.p_other(trap.other) RETURNS trap.thing %s;
	CREATE CAST (trap.other AS trap.thing) WITH FUNCTION trap.p_other AS IMPLICIT;
	CREATE FUNCTION trap.p_small(integer) RETURNS boolean %s;
	CREATE DOMAIN trap.small AS integer CHECK (trap.p_small(VALUE));
	CREATE FUNCTION trap.p_vector(integer, real[]) RETURNS real[] %s;
	CREATE FUNCTION trap.p_unwrap(trap.wrapped) RETURNS real[] %s;
	CREATE FUNCTION trap.p_operator(real[], integer) RETURNS real[] %s;
	CREATE FUNCTION trap.p_key(integer) RETURNS integer %s;
	CREATE FUNCTION trap.p_true(integer) RETURNS boolean %s;
	CREATE FUNCTION trap.p_check(real[]) RETURNS boolean %s;
	CREATE CAST (trap.wrapped AS real[]) WITH FUNCTION trap.p_unwrap AS IMPLICIT;
	CREATE OPERATOR trap.### (LEFTARG = real[], RIGHTARG = integer, FUNCTION = trap.p_operator);
	CREATE DOMAIN trap.checked AS real[] CHECK (trap.p_check(VALUE));
	CREATE TABLE calls.queries AS SELECT '{1,2,1}'::real[] AS v FROM generate_series(1, 2);
	CREATE TABLE calls.some AS SELECT g AS id FROM generate_series(1, 100) g;",
		map { sprintf $says, @$_ }[ 'cast', 'ROW($1.a, $1.b)::trap.thing' ],
		[ 'domain', '$1 < 200' ],
		[ 'function', '$2' ],
		[ 'cast', '$1.v' ],
		[ 'operator', '$1' ],
		[ 'key', '$1' ],
		[ 'predicate', '$1 > 0' ],
		[ 'domain', 'true' ]));

# the columns of an index, its predicate, and the vector that a query names
my %places = (
	plain => [ 'v, id', '', 'v' ],
	function => [ 'trap.p_vector(id, v), id', '', 'trap.p_vector(id, v)' ],
	constant_function =>
	  [ "trap.p_vector(id, '{1,2,3}')", '', "trap.p_vector(id, '{1,2,3}')" ],
	operator =>
	  [ '(v OPERATOR(trap.###) id), id', '', '(v OPERATOR(trap.###) id)' ],
	cast => [ '(w::real[])', '', '(w::real[])' ],
	domain => [ 'd, id', '', 'd' ],
	to_domain => [ '(v::trap.checked)', '', '(v::trap.checked)' ],
	key => [ 'v, trap.p_key(id)', '', 'v' ],
	second_key => [ '(dv::real[]), trap.p_key(id)', '', '(dv::real[])' ],
	constant_key => [ 'v, trap.p_key(1)', '', 'v' ],
	tags => [ 'v, things, smalls', '', 'v' ],
	include => [ 'v) INCLUDE (d, w, id', '', 'v' ],
	predicate => [ 'v', 'trap.p_true(id)', 'v' ],
	constant_predicate => [ 'v', 'trap.p_true(1)', 'v' ],
	constant_part => [ 'v', 'trap.p_true(1) AND id > 0', 'v' ]);
my $search = q(OPERATOR(trap.<->) '{1,2,1}'::real[] LIMIT 3);

sub shapes
{
	my ($table, $vector, $predicate) = @_;

	return (
		"SELECT id FROM $table ORDER BY $vector $search",
		"SELECT id FROM $table WHERE id < 50 ORDER BY $vector $search",
		"SELECT id FROM $table WHERE id IN (SELECT id FROM calls.some) ORDER BY $vector $search",
		"SELECT id FROM $table WHERE $vector OPERATOR(trap.@<->) ROW('{1,1,1}', 3)::trap.ecp_real_ball",
		"SELECT q.v, n.id FROM calls.queries q, LATERAL (SELECT id FROM $table ORDER BY $vector OPERATOR(trap.<->) q.v LIMIT 3) n",
		"SELECT ROW(1, 'b')::trap.thing = ANY (things) FROM $table WHERE ROW(1, 'b')::trap.thing = ANY (things) ORDER BY $vector $search",
		"SELECT id FROM $table WHERE ROW(3, 'c')::trap.other = ANY (things) ORDER BY $vector $search",
		"SELECT id FROM $table WHERE 500 = ANY (smalls) ORDER BY $vector $search",
		$predicate
		? "SELECT id FROM $table WHERE $predicate ORDER BY $vector $search"
		: (),
		"SELECT count(*) FROM $table",
		"INSERT INTO $table SELECT * FROM $table WHERE id = 7",
		"UPDATE $table SET id = 500 WHERE id = 8",
		"VACUUM $table",
		"ANALYZE $table",
		"REINDEX TABLE $table");
}

# calls of ours about an index: those above, of this one
my @about_index =
  grep { /'trap\.(items_v|plain_v|items_id)'/ && !/trap\.far/ } @calls;
cmp_ok(scalar @about_index, '>=', 30, 'functions that take an index');

foreach my $method (qw(full half codes betree))
{
	foreach my $place (sort keys %places)
	{
		my ($columns, $predicate, $vector) = @{ $places{$place} };
		my ($ours, $core) =
		  map { "trap.${place}_${method}_$_" } qw(ours core);

		# what has no exact distances has no index-only scans
		next if $method eq 'codes' && $place eq 'include';
		# a betree is on keys
		next if $method eq 'betree' && $columns !~ /^v, |^v$/;
		$columns =~ s/^v, |^v$/id, / if $method eq 'betree';
		$columns =~ s/, $//;
		foreach ([ $ours, $method eq 'betree' ? 'betree' : 'ecp' ],
			[ $core, 'btree' ])
		{
			my ($table, $am) = @$_;

			as_owner(
				"CREATE TABLE $table (id integer, v real[], dv float8[], w trap.wrapped, d trap.checked,
					kind trap.kind, what trap.thing, things trap.thing[], smalls trap.small[]);
				INSERT INTO $table SELECT g, a, a, ROW(a)::trap.wrapped, a, 'x', ROW(g % 5, 'b')::trap.thing,
						ARRAY[ROW(g % 5, 'c')::trap.thing], ARRAY[g]::trap.small[]
					FROM (SELECT g, ARRAY[g, g % 7, 1]::real[] AS a FROM generate_series(1, 120) g) AS rows;
				CREATE INDEX ON $table USING $am ($columns)"
				  . ($am eq 'ecp' ? " WITH (vectors = $method)" : '')
				  . ($predicate   ? " WHERE $predicate"         : '')
				  . "; GRANT SELECT ON $table TO reader; ANALYZE $table;");
		}
		my $index = as_owner(
			"SELECT indexrelid::regclass FROM pg_index WHERE indrelid = '$ours'::regclass"
		);
		my $kind = $method eq 'betree' ? 'items_id' : '(?:items|plain)_v';
		my @about = map { s/'trap\.$kind'/'$index'/gr }
		  grep { /'trap\.$kind'/ } @about_index;

		foreach my $role (qw(postgres reader))
		{
			my @results = run_all($role, map { "SELECT * FROM $_" } @about);
			my @queries = shapes($ours, $vector, $predicate);
			my @with = run_all($role, @queries);
			my @without = run_all($role, shapes($core, $vector, $predicate));
			my $runs = '';

			foreach (0 .. $#about)
			{
				my ($calls, $error) = @{ $results[$_] }{qw(calls error)};

				$runs .= "$about[$_]: $calls calls\n" if $calls > 0;
				$runs .= "$about[$_]: $error\n"
				  if $error !~
				  /^$|permission denied|must be owner|cannot be searched by this function$|is constant$/;
			}
			foreach (0 .. $#queries)
			{
				$runs .=
				  "$queries[$_]: $with[$_]{calls} calls, $without[$_]{calls} by core\n"
				  if $with[$_]{calls} > $without[$_]{calls};
				$runs .= "$queries[$_]: $with[$_]{error}\n"
				  if $with[$_]{error} ne ''
				  && $with[$_]{error} !~ /permission denied|must be owner/;
			}
			is($runs, '', "$place, $method: nothing runs as $role");
		}
	}
}

# of a table of extents: types with casts of the owner's, and indexes
$node->safe_psql('owned',
	'CREATE EXTENSION ecp_storage SCHEMA trap; GRANT EXECUTE ON FUNCTION trap.ecp_stream_bench TO reader;'
);
as_owner(
	sprintf(
		q(CREATE TYPE trap.wrapped_stream AS (s integer);
	CREATE FUNCTION trap.p_stream(trap.wrapped_stream) RETURNS integer %s;
	CREATE CAST (trap.wrapped_stream AS integer) WITH FUNCTION trap.p_stream AS IMPLICIT;
	CREATE TABLE trap.cast_frames (stream trap.wrapped_stream, t timestamptz, x integer, y integer, data bytea);
	INSERT INTO trap.cast_frames VALUES (ROW(1), 'epoch', 0, 0, '\\x01');
	CREATE TABLE trap.frames (stream integer, t timestamptz, x integer, y integer, data bytea);
	INSERT INTO trap.frames VALUES (1, 'epoch', 0, 0, '\\x01');
	CREATE INDEX ON trap.frames USING betree (stream, trap.p_key(1)) WHERE trap.p_true(1) AND stream > 0;
	CREATE TABLE trap.constant_frames AS SELECT * FROM trap.frames;
	CREATE INDEX ON trap.constant_frames USING betree (stream) WHERE trap.p_true(1);
	GRANT SELECT ON trap.cast_frames, trap.frames, trap.constant_frames TO reader;),
		sprintf($says, 'cast', '$1.s')));
foreach my $role (qw(postgres reader))
{
	my $planted = () =
	  slurp_file($node->logfile) =~
	  /planted: \w+ called by (?!proprietor)\w/g;
	my @results = run_all(
		$role,
		map {
			(   "SELECT 1 / extents FROM trap.ecp_read_window('trap.$_', 1, 'epoch', 0, 0, 1, 1, 1, 1)",
				"SELECT 1 / frames FROM trap.ecp_stream_bench('trap.$_', '{1}', 0.01, 1)"
			)
		} qw(cast_frames frames constant_frames));

	is_deeply(
		[ map { $_->{error} =~ s/.*(integer|constant)$/$1/r } @results ],
		[ 'integer', 'integer', '', '', 'constant', 'constant' ],
		"tables of extents as $role");
	is( scalar(
			() =
			  slurp_file($node->logfile) =~
			  /planted: \w+ called by (?!proprietor)\w/g),
		$planted,
		'nothing that was planted was called');
}

$node->stop;
done_testing();
