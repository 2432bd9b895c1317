#!/bin/bash
#
# lint.sh: all checks of the source's form, one "ok" or "not ok" line each.
#
# A check whose tool is not installed is passed over with a line that says so.
# src/tools/README says what each failure means and how to mend it.

cd "$(dirname "$0")/../.." || exit 1
PATH=$PATH:$("${PG_CONFIG:-pg_config}" --bindir 2>/dev/null) # for pg_bsd_indent
failed=0

# check NAME COMMAND...: what the command printed is shown
check()
{
	local name=$1 output

	shift
	if output=$("$@" 2>&1); then
		[ -z "$output" ] || echo "$output"
		echo "ok - $name"
	else
		echo "$output"
		echo "not ok - $name"
		failed=1
	fi
}

# check_with TOOL NAME COMMAND...
check_with()
{
	if command -v "$1" >/dev/null 2>&1; then
		shift
		check "$@"
	else
		echo "skipped - $2: no $1"
	fi
}

scripts()
{
	grep -rlE '^#!.*\b(ba)?sh$' .ci debian findings src/tools test --include='*' --exclude-dir=data
}

check layers perl src/tools/check_layers.pl
check exports src/tools/check_exports.sh
check libraries src/tools/check_libraries.sh
check install src/tools/check_install.sh
check headers src/tools/check_headers.sh
clang=$(compgen -c clang | grep -E '^clang(-[0-9]+)?$' | sort -uV | tail -n 1)
check_with "${clang:-clang}" clang src/tools/check_clang.sh "$clang"
check pages perl src/tools/check_pages.pl
check sizes perl src/tools/check_sizes.pl
check versions src/tools/check_version.sh
check packages perl src/tools/check_packages.pl
check tests src/tools/check_tests.sh
check mutants perl test/mutants/mutants.pl --check
check safety src/tools/check_safety.sh
check sql src/tools/check_sql.sh
check readme perl src/tools/check_readme.pl
mapfile -t shell < <(scripts && echo test/server.sh)
check_with shellcheck shellcheck shellcheck -x "${shell[@]}"
check_with codespell spelling codespell --ignore-words src/tools/spelling.txt \
	README.md CHANGELOG.md doc src sql test/README test/perl test/t test/bench \
	test/isolation/specs test/pgtap test/unit test/demo \
	--skip '*.svg,*.png,*.csv,*.o,*.bc,typedefs.list,*.tsv'
check_with pg_bsd_indent "format of C" src/tools/indent.sh --check-c
check_with perltidy "format of Perl" src/tools/indent.sh --check-perl
exit $failed
