#!/bin/bash
#
# check_libraries.sh: fail if one of the two libraries has code that is only for
# the other, or asks for a function of ours that it does not have.
#
#   src/tools/check_libraries.sh [ECP.SO ECP_STORAGE.SO]
#
# src/README, "Two libraries", says what is in which and why.

set -u
cd "$(dirname "$0")/../.." || exit 1
ecp=${1:-ecp.so}
storage=${2:-ecp_storage.so}
for library in "$ecp" "$storage"; do
	[ -e "$library" ] || { echo "no $library: build first" && exit 1; }
done
failed=0

# What the objects of FOLDERs define for others
of_folders() # FOLDER...
{
	find "$@" -name '*.o' -exec nm --extern-only --defined-only {} + | awk 'NF == 3 { print $3 }' | sort -u
}

# What LIBRARY defines, for others or not: since version 16 a server's extensions
# show only what SQL calls
of_library() # LIBRARY
{
	{ nm --defined-only "$1" 2>/dev/null; nm -D --defined-only "$1"; } | awk '{ print $NF }' | sort -u
}

complain() # TEXT NAMES
{
	[ -z "$2" ] && return
	echo "$1:"
	echo "$2"
	failed=1
}

of_storage=$(of_folders src/device/{measure,plan,place,stream})
[ -n "$of_storage" ] || { echo "no objects: build first" && exit 1; }
complain "$ecp has what is for $storage" \
	"$(comm -12 <(of_library "$ecp") <(echo "$of_storage"))"
# (link-time optimisation, with which Ubuntu compiles extensions, leaves out names)
case $("${PG_CONFIG:-pg_config}" --cflags) in
	*-flto*) ;;
	*) complain "$storage lacks what its rooms define" \
		"$(comm -13 <(of_library "$storage") <(echo "$of_storage"))" ;;
esac
complain "$storage has what is for $ecp" \
	"$(comm -12 <(of_library "$storage") <(of_folders src/{ecp,betree,vector}))"
for library in "$ecp" "$storage"; do
	complain "$library asks for what it does not have" \
		"$(nm -D --undefined-only "$library" | awk '$NF ~ /^(ecp|betree)_/ { print $NF }')"
done
exit $failed
