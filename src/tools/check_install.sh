#!/bin/bash
#
# check_install.sh: fail if "make install" leaves out a library or a file of an
# extension, or if "make uninstall" leaves anything behind.

set -u
cd "$(dirname "$0")/../.." || exit 1
unset MAKEFLAGS MAKELEVEL MFLAGS
work=$(mktemp -d "${TMPDIR:-/tmp}/ecp-install.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
to=$work/root
failed=0

make -s with_llvm=no DESTDIR="$to" install >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
for file in ecp.so ecp_storage.so ./*.control sql/*--*.sql doc/*.md; do
	[ -n "$(find "$to" -name "$(basename "$file")")" ] && continue
	echo "make install leaves out $(basename "$file")"
	failed=1
done
make -s with_llvm=no DESTDIR="$to" uninstall >"$work/log" 2>&1 || { cat "$work/log" && failed=1; }
left=$(find "$to" -type f | sed "s!^$to!!")
if [ -n "$left" ]; then
	echo "make uninstall leaves behind:"
	echo "$left"
	failed=1
fi
exit $failed
