# ALTER EXTENSION ... UPDATE from each earlier version gives the same objects, in
# the same words, as CREATE EXTENSION: signatures and bodies, columns, members of
# operator classes, privileges, comments.  Without an upgrade script in sql/ there
# is only one version, and nothing to compare.
use strict;
use warnings;

use EcpTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = ecp_cluster('upgrade', extension => 0);
my @versions = split /\n/, $node->safe_psql(
	'postgres',
	sprintf(
		q(
	SELECT v.name, v.version, e.default_version
	FROM pg_available_extensions e, pg_available_extension_versions v
	WHERE e.name ~ '^ecp' AND v.name = e.name
		AND v.version <> e.default_version
		AND EXISTS (SELECT FROM pg_extension_update_paths(e.name) p
			WHERE p.source = v.version AND p.target = e.default_version
				AND p.path IS NOT NULL)
		AND (NOT 'vector' = ANY (v.requires) OR v.requires IS NULL OR %s)
	ORDER BY 1, 2),
		has_pgvector($node) ? 'true' : 'false'));

# What an extension owns, one object a line
my $objects = q(
	SELECT i.type, i.identity, obj_description(d.objid, c.relname),
		CASE c.relname
		WHEN 'pg_proc' THEN
			(SELECT concat_ws(' ', CASE WHEN prokind <> 'a' THEN pg_get_functiondef(oid) END, proacl)
			FROM pg_proc WHERE oid = d.objid)
		WHEN 'pg_class' THEN
			(SELECT concat_ws(' ', relkind, relacl, reloptions,
				CASE relkind WHEN 'v' THEN pg_get_viewdef(r.oid) WHEN 'i' THEN pg_get_indexdef(r.oid) END,
				(SELECT string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull,
						pg_get_expr(adbin, adrelid), col_description(attrelid, attnum)), ', ' ORDER BY attnum)
				FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
				WHERE attrelid = r.oid AND attnum > 0 AND NOT attisdropped),
				(SELECT string_agg(conname || ' ' || pg_get_constraintdef(oid), ', ' ORDER BY conname)
				FROM pg_constraint WHERE conrelid = r.oid),
				(SELECT string_agg(pg_get_triggerdef(oid), ', ' ORDER BY tgname)
				FROM pg_trigger WHERE tgrelid = r.oid AND NOT tgisinternal))
			FROM pg_class r WHERE oid = d.objid)
		WHEN 'pg_operator' THEN
			(SELECT concat_ws(' ', oprcode::regprocedure, oprresult::regtype, oprcom::regoperator,
				oprnegate::regoperator, oprrest, oprjoin, oprcanhash, oprcanmerge)
			FROM pg_operator WHERE oid = d.objid)
		WHEN 'pg_opclass' THEN
			(SELECT concat_ws(' ', opcintype::regtype, opckeytype::regtype, opcdefault)
			FROM pg_opclass WHERE oid = d.objid)
		WHEN 'pg_opfamily' THEN
			(SELECT string_agg(m, ', ' ORDER BY m) FROM
				(SELECT concat_ws(' ', amopstrategy, amopopr::regoperator, amoppurpose) FROM pg_amop
				WHERE amopfamily = d.objid
				UNION ALL
				SELECT concat_ws(' ', amprocnum, amproc::regprocedure, amproclefttype::regtype) FROM pg_amproc
				WHERE amprocfamily = d.objid) f (m))
		WHEN 'pg_am' THEN (SELECT concat_ws(' ', amtype, amhandler) FROM pg_am WHERE oid = d.objid)
		END
	FROM pg_depend d JOIN pg_class c ON c.oid = d.classid,
		pg_identify_object(d.classid, d.objid, 0) i
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
		AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = '%1$s')
	UNION ALL
	SELECT 'extension', extname, obj_description(oid, 'pg_extension'),
		concat_ws(' ', extversion, extrelocatable, extcondition,
			(SELECT array_agg(t::regclass) FROM unnest(extconfig) t))
	FROM pg_extension WHERE extname = '%1$s'
	ORDER BY 1, 2);

foreach my $row (@versions)
{
	my ($name, $from, $to) = split /\|/, $row;
	my $query = sprintf($objects, $name);
	my %found;

	$node->safe_psql('postgres',
		'CREATE DATABASE updated; CREATE DATABASE created');
	$node->safe_psql('created', "CREATE EXTENSION $name CASCADE");
	$node->safe_psql('updated',
		"CREATE EXTENSION $name VERSION '$from' CASCADE; ALTER EXTENSION $name UPDATE"
	);
	$found{$_} = $node->safe_psql($_, $query) foreach ('created', 'updated');
	cmp_ok(length($found{created}), '>', 100, "$name has objects");

	# only what differs, or nobody will read it
	my (%updated, %created);
	$updated{$_} = 1 foreach split /\n/, $found{updated};
	$created{$_} = 1 foreach split /\n/, $found{created};
	is( join("\n", grep { !$created{$_} } sort keys %updated),
		join("\n", grep { !$updated{$_} } sort keys %created),
		"$name updated from $from is $to");
	$node->safe_psql('postgres',
		'DROP DATABASE updated; DROP DATABASE created');
}
SKIP:
{
	skip 'there is only one version of each extension', 1 if !@versions;
}
$node->stop;

done_testing();
