#!/bin/bash
#
# check_exports.sh: fail if a library of ours exports a symbol that is not ours by
# name.
#
# PostgreSQL 15 loads libraries with every symbol visible, so a function
# "l2_distance" of ours and one of another extension would be one function.

set -u
cd "$(dirname "$0")/../.." || exit 1
failed=0

[ $# -gt 0 ] || set -- ecp.so ecp_storage.so
for library; do
	[ -e "$library" ] || { echo "no $library: build first" && exit 1; }
	bad=$(nm -D --defined-only "$library" | awk '{ print $NF }' |
		grep -vE '^(ecp|betree|Ecp|Betree|pg_finfo_(ecp|betree)|_PG_init$|Pg_magic_func$)')
	[ -z "$bad" ] && continue
	echo "$library exports names that do not start with ecp or betree"
	echo "(make them static, or rename them):"
	echo "$bad"
	failed=1
done
exit $failed
