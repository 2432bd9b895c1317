# Who is no superuser creates the extension in a database that is his: it works
# for him, in any schema, and can be dumped and restored by him.  He gets nothing
# of it that is not his to have: what needs a superuser says so, and of what he
# has put into the schema beforehand nothing is replaced, used or called.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster(
	'trusted',
	extension => 0,
	conf => "allow_in_place_tablespaces = on\n");
$node->safe_psql(
	'postgres', q(
	CREATE ROLE proprietor LOGIN;
	CREATE ROLE reader LOGIN;
	CREATE DATABASE owned OWNER proprietor;
	CREATE DATABASE restored OWNER proprietor;
	CREATE DATABASE hostile OWNER proprietor;));

sub as_proprietor
{
	my ($database, $sql) = @_;

	return $node->safe_psql($database, $sql,
		extra_params => [ '-U', 'proprietor' ]);
}

# The error of a statement of the proprietor's
sub refused
{
	my ($database, $sql) = @_;
	my ($ret, undef, $stderr) =
	  $node->psql($database, $sql, extra_params => [ '-U', 'proprietor' ]);

	return $ret == 0 ? "not refused: $sql" : $stderr;
}

my ($ret, $stderr);

# A life as the proprietor's
as_proprietor(
	'owned', q(
	CREATE SCHEMA mine;
	GRANT USAGE ON SCHEMA mine TO reader;
	CREATE EXTENSION ecp SCHEMA mine;
	ALTER DATABASE owned SET search_path = public, mine;));
$node->safe_psql('owned', 'GRANT CREATE ON SCHEMA public TO proprietor');
as_proprietor(
	'owned', q(
	CREATE TABLE items AS SELECT g AS id, ARRAY[g % 7, g % 11, g % 13]::real[] AS v
		FROM generate_series(1, 2000) g;
	CREATE INDEX items_v ON items USING ecp (v, id);
	CREATE INDEX items_id ON items USING betree (id);
	INSERT INTO items SELECT g, ARRAY[g % 5, g % 3, g % 2]::real[]
		FROM generate_series(2001, 3000) g;
	VACUUM ANALYZE items;));
my $near = q(SET enable_seqscan = off; SET enable_sort = off;
	SELECT array_agg(d) FROM (SELECT v <-> '{1,2,3}'::real[] AS d FROM items
	ORDER BY v <-> '{1,2,3}'::real[] LIMIT 5) n);
my $near_before = as_proprietor('owned', $near);
isnt($near_before, '', 'rows are found');
foreach my $call (
	"ecp_index_check('items_v', true)",
	"betree_index_check('items_id', true)",
	"ecp_maintain('items_v')",
	"betree_flush('items_id')",
	"ecp_recall('items_v', samples => 100, store => true)",
	"ecp_index_stats('items_v')",
	"ecp_index_drift('items_v')",
	"betree_index_stats('items_id')",
	"ecp_clusters('items_v')",
	"ecp_metapage_info('items_v')",
	"betree_page_items('items_id', 1)",
	"ecp_build_report('items_v')",
	"ecp_knn_batch('items_v', 'SELECT v FROM items LIMIT 3')")
{
	isnt(as_proprietor('owned', "SELECT count(*) FROM $call"),
		'', "$call is his");
}
foreach my $call (
	"ecp_clusters('items_v')",
	"ecp_maintain('items_v')",
	"ecp_knn_batch('items_v', 'SELECT NULL::real[]')")
{
	($ret, undef, $stderr) = $node->psql(
		'owned',
		"SELECT * FROM $call",
		extra_params => [ '-U', 'reader' ]);
	like(
		$stderr,
		qr/must be owner of|permission denied for table/,
		"$call is not for others");
}
is( $node->safe_psql(
		'owned', q(SELECT DISTINCT r.rolsuper FROM pg_proc p
		JOIN pg_roles r ON r.oid = p.proowner WHERE p.proname ~ '^(ecp|betree)_')
	),
	't',
	'the functions are not, so he cannot alter them');

# What is left to superusers
as_proprietor('owned', 'CREATE EXTENSION citext');
like(
	refused('owned', "SELECT betree_adopt('citext_ops')"),
	qr/must be superuser to create an operator class.*HINT:  Ask a superuser to call betree_adopt/s,
	'adopting a class');
like(
	refused('owned', 'CREATE EXTENSION ecp_storage'),
	qr/permission denied to create extension "ecp_storage"/,
	'what measures devices');
like(
	refused(
		'owned', 'CREATE SCHEMA other; ALTER EXTENSION ecp SET SCHEMA other'),
	qr/must be owner of/,
	'moving objects that are a superuser\'s, as with all trusted extensions');

# A superuser's ecp_storage beside it; what it knows is used for his indexes
$node->safe_psql(
	'owned', q(
	CREATE SCHEMA storage;
	CREATE EXTENSION ecp_storage SCHEMA storage;
	INSERT INTO ecp_storage.ecp_device (tablespace, latency_us, read_mb_s, half_bandwidth)
		VALUES ('pg_default', 100, 500, 900000);));
as_proprietor('owned', 'CREATE INDEX items_id2 ON items USING betree (id)');
is( as_proprietor(
		'owned',
		"SELECT a.log_pages < b.log_pages FROM betree_index_stats('items_id') a, betree_index_stats('items_id2') b"
	),
	'f',
	'a profile holds for all indexes of the database');
like(
	refused(
		'owned', "SELECT count(*) FROM storage.ecp_calibrate('pg_default')"),
	qr/permission denied/,
	'and is not for him to measure');
$node->safe_psql('owned', 'DROP EXTENSION ecp_storage; DROP SCHEMA storage');

# Dumped and restored by him
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump.sql';
as_proprietor('owned', 'DROP EXTENSION citext');
$node->command_ok(
	[ 'pg_dump', '-U', 'proprietor', '-f', $dump, $node->connstr('owned') ],
	'pg_dump');
as_proprietor('restored',
	'ALTER DATABASE restored SET search_path = public, mine');
$node->safe_psql('restored', 'ALTER SCHEMA public OWNER TO proprietor');
$node->command_ok(
	[
		'psql', '-X', '-U', 'proprietor', '-v', 'ON_ERROR_STOP=1', '-f',
		$dump, $node->connstr('restored')
	],
	'restore');
is(as_proprietor('restored', $near), $near_before, 'the same rows are found');
as_proprietor('restored',
	"SELECT ecp_index_check('items_v', true), betree_index_check('items_id', true)"
);

# Dropped by him
like(
	refused('owned', 'DROP EXTENSION ecp'),
	qr/items_v depends on/,
	'not dropped under his indexes');
as_proprietor('owned',
	'SET client_min_messages = warning; DROP EXTENSION ecp CASCADE');
is( as_proprietor(
		'owned', "SELECT count(*) FROM pg_am WHERE amname ~ '^(ecp|betree)'"),
	'0',
	'and gone with them');

# An object of his in the place of one of the extension's: the extension is not
# created, and nothing is left of it.
as_proprietor(
	'hostile', q(
	CREATE SCHEMA trap;
	CREATE FUNCTION trap.planted(real[], real[]) RETURNS float8 RETURN 1;
	CREATE FUNCTION trap.planted_less(point, point) RETURNS boolean RETURN true;)
);
foreach (
	[
		'CREATE FUNCTION trap.ecp_l2_distance(real[], real[]) RETURNS float8 RETURN 1',
		'already exists'
	],
	[
		'CREATE FUNCTION trap.ecphandler(internal) RETURNS index_am_handler LANGUAGE internal AS $$bthandler$$',
		'already exists|permission denied'
	],
	[
		'CREATE OPERATOR trap.<-> (LEFTARG = real[], RIGHTARG = real[], FUNCTION = trap.planted)',
		'already exists'
	],
	[
		'CREATE OPERATOR trap.#># (LEFTARG = point, RIGHTARG = point, FUNCTION = trap.planted_less, COMMUTATOR = OPERATOR(trap.#<#))',
		'must be owner of operator|is not a member of extension'
	],
	[
		'CREATE TYPE trap.ecp_real_ball AS (centre text, radius text)',
		'already exists'
	])
{
	my ($planted, $error) = @$_;

	like(
		refused(
			'hostile', "BEGIN; $planted; CREATE EXTENSION ecp SCHEMA trap"),
		qr/$error/,
		"not beside $planted");
}
is( $node->safe_psql(
		'hostile', q(SELECT count(*) FROM pg_extension WHERE extname = 'ecp')
	),
	'0',
	'there is no extension');

# Operators and functions of his that fit better wherever an operand is not
# exactly of a type for which there is one in pg_catalog, in the schema of the
# extension and in public.
$node->safe_psql('hostile', 'ALTER SCHEMA public OWNER TO proprietor');
as_proprietor(
	'hostile', q(
	DO $$
	DECLARE
		types CONSTANT text[] := '{smallint,integer,bigint,real,float8,numeric,text,name,oid,regclass,boolean,"\\"char\\""}';
		body CONSTANT text := 'LANGUAGE plpgsql AS $p$ BEGIN RAISE EXCEPTION ''planted: called by %'', current_user; END $p$';
		s text;
		l text;
		r text;
		o text;
		f text;
	BEGIN
		FOREACH s IN ARRAY '{trap,public}'::text[] LOOP
			FOREACH l IN ARRAY types LOOP
				FOREACH f IN ARRAY '{ceil,ln,round,quote_ident,sum,count,min,max,unnest}'::text[] LOOP
					EXECUTE format('CREATE FUNCTION %s.%s(%s) RETURNS float8 %s', s, f, l, body);
				END LOOP;
				EXECUTE format('CREATE FUNCTION %s.cardinality(%s[]) RETURNS integer %s', s, l, body);
				EXECUTE format('CREATE FUNCTION %s.unnest(%s[]) RETURNS SETOF %s %s', s, l, l, body);
				FOREACH r IN ARRAY types LOOP
					EXECUTE format('CREATE FUNCTION %s.power(%s, %s) RETURNS float8 %s', s, l, r, body);
					EXECUTE format('CREATE FUNCTION %s.round(%s, %s) RETURNS numeric %s', s, l, r, body);
					EXECUTE format('CREATE FUNCTION %s.format(%s, %s) RETURNS text %s', s, l, r, body);
					EXECUTE format('CREATE FUNCTION %s.less(%s, %s) RETURNS boolean %s', s, l, r, body);
					FOREACH o IN ARRAY '{+,-,*,/,%}'::text[] LOOP
						EXECUTE format('CREATE OPERATOR %s.%s
							(LEFTARG = %s, RIGHTARG = %s, FUNCTION = %1$s.power)', s, o, l, r);
					END LOOP;
					FOREACH o IN ARRAY '{=,<>,<,<=,>,>=}'::text[] LOOP
						EXECUTE format('CREATE OPERATOR %s.%s
							(LEFTARG = %s, RIGHTARG = %s, FUNCTION = %1$s.less)', s, o, l, r);
					END LOOP;
					EXECUTE format('CREATE OPERATOR %s.||
						(LEFTARG = %s, RIGHTARG = %s, FUNCTION = %1$s.format)', s, l, r);
				END LOOP;
			END LOOP;
		END LOOP;
	END $$;
	CREATE EXTENSION ecp SCHEMA trap;));
$node->safe_psql('hostile', 'CREATE EXTENSION ecp_storage SCHEMA trap');
is( $node->safe_psql(
		'hostile', q(
		SET search_path = pg_catalog;
		WITH RECURSIVE ours AS (
			SELECT d.classid, d.objid FROM pg_depend d
				JOIN pg_extension e ON e.oid = d.refobjid
			WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
				AND e.extname ~ '^ecp'
			UNION
			-- rules of views, constraints, defaults
			SELECT d.classid, d.objid FROM ours
				JOIN pg_depend d ON d.refclassid = ours.classid AND d.refobjid = ours.objid
			WHERE d.deptype IN ('a', 'i'))
		SELECT pg_describe_object(d.classid, d.objid, 0) || ' uses ' ||
			pg_describe_object(d.refclassid, d.refobjid, 0)
		FROM ours JOIN pg_depend d USING (classid, objid)
		WHERE d.refclassid NOT IN ('pg_extension'::regclass, 'pg_namespace'::regclass)
			AND (d.refclassid, d.refobjid) NOT IN (SELECT * FROM ours)
			AND d.refobjid >= 16384
		ORDER BY 1)),
	'',
	'nothing of his is used');

# Nor does code of ours call it when a superuser uses the extension
($ret, undef, $stderr) = $node->psql(
	'hostile', q(
	CREATE TABLESPACE trapped LOCATION '';
	CREATE SCHEMA safe;
	CREATE TABLE safe.items AS SELECT g AS id, ARRAY[g, g, g]::real[] AS v, ARRAY[g, g] AS i
		FROM generate_series(1, 500) g;
	CREATE INDEX items_v ON safe.items USING ecp (v, id);
	CREATE INDEX items_id ON safe.items USING betree (id);
	ANALYZE safe.items;
	CREATE TABLE safe.land (k int) PARTITION BY LIST (k);
	CREATE TABLE safe.land_1 PARTITION OF safe.land FOR VALUES IN (1);
	CREATE TABLE safe.parts (id int, v real[]) PARTITION BY LIST (id);
	CREATE TABLE safe.parts_1 PARTITION OF safe.parts FOR VALUES IN (1);
	SET search_path = pg_catalog, trap;
	SELECT ecp_index_check('safe.items_v', true), betree_index_check('safe.items_id', true),
		ecp_maintain('safe.items_v'), betree_flush('safe.items_id'), ecp_misassigned('safe.items_v');
	SELECT * FROM ecp_recall('safe.items_v', samples => 100, store => true);
	SELECT * FROM ecp_index_stats('safe.items_v');
	SELECT * FROM ecp_index_drift('safe.items_v');
	SELECT * FROM ecp_knn_batch('safe.items_v', 'SELECT v FROM safe.items LIMIT 2', 3);
	SELECT * FROM ecp_knn_exact('safe.items_v', 'SELECT v FROM safe.items LIMIT 2', 3);
	SELECT * FROM ecp_vote('safe.items_v', 'SELECT v FROM safe.items LIMIT 2', 'id');
	SELECT '{1,2}'::smallint[] <-> '{1,2}'::smallint[], '{1,2}'::integer[] <=> '{1,2}'::integer[],
		'{1,2}'::bigint[] <#> '{1,2}'::bigint[], '{1,2}'::numeric[] <-> '{1,2}'::numeric[];
	SELECT '{1,2}'::real[] @<-> ROW('{1,2}', 1)::ecp_real_ball, '\x01'::bytea @<-> ROW('\x01', 1)::ecp_bytea_ball;
	SELECT id FROM safe.items WHERE v <-> '{1,1,1}'::real[] < 3::float8 ORDER BY v <-> '{1,1,1}'::real[] LIMIT 3;
	SELECT ecp_shard_query('safe.parts', 'v', 3);
	INSERT INTO ecp_storage.ecp_device (tablespace, latency_us, read_mb_s, half_bandwidth, seq_read_mb_s, seq_write_mb_s,
		rand_read_iops, rand_read_iops_max, rand_write_iops, rand_write_us, cached_mb_s, best_workers)
	SELECT spcname, 100, 500, 50000, 500, 400, 4000, 16000, 4000, 1000, 5000, 4 FROM pg_tablespace;
	SELECT * FROM ecp_advise('trapped');
	SELECT ecp_place_target('p', 'trapped', 100, '1GB');
	SELECT ecp_place_rule('safe.land', 'a', 'trapped'), ecp_place_rule('safe.land', '', place => 'p');
	CREATE TABLE safe.land_2 PARTITION OF safe.land FOR VALUES IN (2);
	CREATE TABLE safe.land_a PARTITION OF safe.land FOR VALUES IN (3);
	SELECT * FROM ecp_place_plan('safe.land', 'p');
	SELECT * FROM ecp_place_compare('safe.land', 'p');
	CALL ecp_place_apply('safe.land', 'p');
	SELECT * FROM ecp_plan_build('safe.items', 'v', '{trapped}');
	SELECT ecp_stripe('{1,2}', 4), ecp_stream_utilisation('{1,2}', 400000, 8, 8, 10, 4);
	SELECT * FROM ecp_admit('safe.land', '{1,2}');
	SELECT ecp_stripe_ddl('safe.frame', '{trapped,pg_default}', 2);));
is($ret, 0, 'nothing of his is called') or diag $stderr;

# The same of ecp_pgvector, where a superuser has created vector
SKIP:
{
	skip 'the server does not have pgvector 0.7', 8
	  if !has_pgvector($node);
	$node->safe_psql('postgres', 'CREATE DATABASE bridge OWNER proprietor');
	$node->safe_psql(
		'bridge', q(
		CREATE SCHEMA theirs;
		GRANT USAGE ON SCHEMA theirs TO PUBLIC;
		CREATE EXTENSION vector SCHEMA theirs;));
	as_proprietor(
		'bridge', q(
		CREATE SCHEMA mine;
		CREATE SCHEMA trap;
		CREATE EXTENSION ecp SCHEMA mine;));

	my $operators = q(
		CREATE FUNCTION trap.planted(%1$s, %1$s) RETURNS float8 RETURN 1;
		CREATE OPERATOR trap.<-> (LEFTARG = %1$s, RIGHTARG = %1$s, FUNCTION = trap.planted);
		CREATE OPERATOR trap.<#> (LEFTARG = %1$s, RIGHTARG = %1$s, FUNCTION = trap.planted);
		CREATE OPERATOR trap.<=> (LEFTARG = %1$s, RIGHTARG = %1$s, FUNCTION = trap.planted);
		CREATE OPERATOR trap.<+> (LEFTARG = %1$s, RIGHTARG = %1$s, FUNCTION = trap.planted));
	my $type = 'CREATE TYPE trap.halfvec AS (x int); '
	  . sprintf($operators, 'trap.halfvec');
	foreach (
		[ 'a type', $type, 'type halfvec' ],
		# its owner can make anything of his a member of an extension
		[
			'a member of ecp',
			"$type; ALTER EXTENSION ecp ADD TYPE trap.halfvec",
			'type halfvec'
		],
		[
			'operators of vectors',
			sprintf($operators, 'theirs.vector'),
			'operator'
		],
		[ 'operators of arrays', sprintf($operators, 'real[]'), 'operator' ],
		[
			'an operator of bits',
			q(CREATE FUNCTION trap.planted(bit, bit) RETURNS float8 RETURN 1;
			CREATE OPERATOR trap.<~> (LEFTARG = bit, RIGHTARG = bit, FUNCTION = trap.planted)),
			'operator'
		],
		[
			'an operator for a radius',
			q(CREATE TYPE trap.ecp_bit_ball AS (centre bit, radius float8);
			CREATE FUNCTION trap.planted(bit, trap.ecp_bit_ball) RETURNS boolean RETURN true;
			CREATE OPERATOR trap.@<-> (LEFTARG = bit, RIGHTARG = trap.ecp_bit_ball, FUNCTION = trap.planted);
			CREATE OPERATOR trap.@<&> (LEFTARG = bit, RIGHTARG = trap.ecp_bit_ball, FUNCTION = trap.planted)),
			'operator'
		])
	{
		my ($what, $planted, $found) = @$_;

		like(
			refused(
				'bridge',
				"BEGIN; $planted; CREATE EXTENSION ecp_pgvector SCHEMA trap"),
			qr/$found.* is in the place of an object of the extension ecp or vector/,
			"ecp_pgvector: not beside $what of his");
	}
	is( as_proprietor(
			'bridge', q(
			CREATE EXTENSION ecp_pgvector SCHEMA mine;
			SET search_path = mine, theirs;
			CREATE TABLE items AS SELECT g AS id, ARRAY[g, 1]::vector(2) AS v
				FROM generate_series(1, 100) g;
			CREATE INDEX items_v ON items USING ecp (v);
			SELECT ecp_index_check('items_v', true);
			SET enable_seqscan = off;
			SELECT id FROM items ORDER BY v <-> '[3,1]' LIMIT 1)),
		"\n3",
		'but in a schema without such');
	$node->safe_psql(
		'bridge',
		'DROP EXTENSION vector CASCADE',
		extra_params => ['-q']);
	is( as_proprietor(
			'bridge',
			q(SELECT string_agg(extname, ' ') FROM pg_extension WHERE extname ~ '^ecp')
		),
		'ecp',
		'dropped with vector');
}

$node->stop;
done_testing();
