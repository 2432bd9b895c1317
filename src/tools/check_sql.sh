#!/bin/bash
#
# check_sql.sh: fail if the text of a query names a function or operator of ours,
# a SQL function has its body as a string, or one in PL/pgSQL has no search_path.
#
# Such a name is looked up when the query runs, and whoever may create functions
# in the schema of the extension can add one that fits better, which then runs
# as the caller.  C calls C; a body with BEGIN ATOMIC or RETURN keeps what was
# found when the extension was created.  PL/pgSQL looks names up when it runs, in a
# search_path in which nobody else can put anything; a procedure that commits cannot
# have one, and qualifies names until it has set one.

cd "$(dirname "$0")/../.." || exit 1
status=0

# A literal of SQL: ours are named with a schema.  Exception: what is written for
# the user to execute (ecp_stripe_ddl).
found=$(grep -rnE '"[^"]*(%s|%I)\.(_?(ecp|betree)_[a-z0-9_]+\(|OPERATOR)' src --include='*.[ch]' |
	grep -vE 'device_extent\.c:[0-9]+:.*%s\.ecp_stripe\(ARRAY')
found+=$(grep -rnE '"[^"]*\b(FROM|JOIN|SELECT|LATERAL|CALL|WHERE|AND) +_?(ecp|betree)_[a-z0-9_]+ *\(' src --include='*.[ch]' |
	grep -v 'Ask each shard: SELECT')
if [ -n "$found" ]; then
	echo "$found"
	echo 'texts of queries that name functions of ours: call them by C'
	status=1
fi

# AS $$...$$ or AS '...' after LANGUAGE sql, or after plpgsql without a SET clause
for file in sql/*--1.0.sql; do
	perl -0777 -ne 'while (/CREATE (?:OR REPLACE )?FUNCTION ([\w.]+)([^;]*?)\bLANGUAGE (sql|plpgsql)\b([^;]*?)\bAS\b\s*[\$\x27]/gi) {
		print "$ARGV: $1\n" if lc $3 eq "sql" || $4 !~ /\bSET search_path = pg_catalog, pg_temp\s*$/ }' "$file"
done | grep . && { echo 'bodies of functions that are parsed when they run'; status=1; }

exit $status
