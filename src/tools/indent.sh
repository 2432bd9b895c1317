#!/bin/bash
#
# indent.sh: format the C and Perl sources as PostgreSQL formats its own.
#
#   src/tools/indent.sh [FILE...]      rewrite the files (default: all)
#   src/tools/indent.sh --check-c      print what would change in C, and fail
#   src/tools/indent.sh --check-perl   the same for Perl
#   src/tools/indent.sh --typedefs     bring typedefs.list up to date
#
# C goes through pg_bsd_indent (from PostgreSQL 16 on part of the server's
# development files, before the Debian package pg-bsd-indent) with the options
# of PostgreSQL's pgindent; Perl through perltidy with perltidyrc.  The names
# of types, which pg_bsd_indent must be told, stand in typedefs.list; they come
# out of the compiler's debug information.

set -u
cd "$(dirname "$0")/../.." || exit 1
tools=src/tools
PATH=$PATH:$("${PG_CONFIG:-pg_config}" --bindir 2>/dev/null)
new=$(mktemp)
trap 'rm -f "$new" "$new".*' EXIT

c_files() { find src test -name '*.[ch]' -not -path '*/data/*' | sort; }
perl_files() { find src test \( -name '*.pl' -o -name '*.pm' \) | sort; }

# Comments that begin with dashes, and assembler, are kept from pg_bsd_indent;
# indent_post.pl brings them back, and does what else pg_bsd_indent does not do
# as PostgreSQL has it.
format_c() # FILE: the formatted text into $new
{
	perl -pe 's!/\* +---!/*---KEEP!g;
		s!^(\s*)(__asm__\(.*\);)$!$1/*---ASM $2 */!' "$1" >"$new.c"
	pg_bsd_indent -bad -bap -bbb -bc -bl -cli1 -cp33 -cdb -nce -d0 -di12 \
		-nfc1 -i4 -l79 -lp -lpl -nip -npro -sac -tpg -ts4 \
		-U$tools/typedefs.list <"$new.c" >"$new.out" 2>"$new.err"
	# its exit status is not to be relied on
	[ -s "$new.err" ] && return 1
	perl $tools/indent_post.pl <"$new.out" >"$new"
}

format_perl()
{
	perltidy --profile=$tools/perltidyrc --standard-output "$1" >"$new" 2>"$new.err" &&
		! [ -s "$new.err" ]
}

# each check|write FORMATTER FILE...
each()
{
	local mode=$1 formatter=$2 file status=0

	shift 2
	for file in "$@"; do
		if ! "$formatter" "$file"; then
			echo "could not format $file:"
			cat "$new.err"
			status=1
		elif [ "$mode" = check ]; then
			diff -u --label "$file" --label "$file, formatted" "$file" "$new" | head -n 40
			cmp -s "$file" "$new" || status=1
		elif ! cmp -s "$file" "$new"; then
			cat "$new" >"$file"
			echo "formatted $file"
		fi
	done
	return $status
}

# Types of the C library and of PostgreSQL that are also names of variables
# would make pg_bsd_indent take an expression for a declaration.
not_types='abs|date|digit|interval|iterator|other|pointer|reference|string|timestamp|type|wrap|bool'

# Each source file is compiled with the debug information of every type that
# its headers declare, used or not.  Programs of the tests may need headers that
# are not there, and NEON another machine, so there the file itself is searched.
typedefs()
{
	local config=${PG_CONFIG:-pg_config} file

	while read -r file; do
		gcc -g -O0 -w -fno-eliminate-unused-debug-types -c -o "$new.o" -Isrc \
			-I"$("$config" --includedir-server)" -D_GNU_SOURCE \
			-include postgres.h "$file" || return 1
		readelf --debug-dump=info "$new.o" 2>/dev/null |
			awk '/DW_TAG_typedef/ { typedef = 1; next }
				 /DW_TAG_/ { typedef = 0 }
				 typedef && /DW_AT_name/ { print $NF; typedef = 0 }'
	done < <(find src -name '*.c') >"$new.names" || return 1
	{
		find test src/vector -name '*.[ch]' -exec sed -nE \
			's/^\} (\w+);$/\1/p; s/^typedef .*\W(\w+);$/\1/p' {} +
		grep -ohE '\b(u?int|float)[0-9]+x[0-9]+_t\b' src/vector/*neon*
		printf '%s\n' PGconn PGresult PGcancel	# of libpq
		sed -nE 's|^#define ([A-Z_]+STATE)\s.*|\1|p' src/base/compat.h	# a macro
	} >>"$new.names"
	grep -E '^([A-Za-z]\w*|__m[0-9]+[di]?)$' "$new.names" |
		 grep -vxE "$not_types" | LC_ALL=C sort -u >"$new"
	[ -s "$new" ] && cat "$new" >$tools/typedefs.list
}

case ${1:-} in
	--check-c)
		mapfile -t files < <(c_files)
		each check format_c "${files[@]}"
		;;
	--check-perl)
		mapfile -t files < <(perl_files)
		each check format_perl "${files[@]}"
		;;
	--typedefs)
		typedefs
		;;
	*)
		files=("$@")
		[ ${#files[@]} -gt 0 ] || mapfile -t files < <(c_files && perl_files)
		status=0
		for file in "${files[@]}"; do
			case $file in
				*.[ch]) each write format_c "$file" || status=1 ;;
				*) each write format_perl "$file" || status=1 ;;
			esac
		done
		exit $status
		;;
esac
