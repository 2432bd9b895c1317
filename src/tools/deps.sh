#!/bin/bash
#
# deps.sh: see that everything is there which a build, the tests or the demo
# need, and install what is missing from Debian's packages.
#
#   src/tools/deps.sh build    compiler, server, its development files
#   src/tools/deps.sh lint     the same, and what "make lint" uses
#   src/tools/deps.sh test     the same, and what "make test" uses
#   src/tools/deps.sh extra    the same, and what builds for finding more take:
#                              valgrind, lcov, other compilers, qemu
#
# Packages that not every release of Debian has are installed where it has
# them; without them, tests are passed over that say so.
#
# A server that is installed here gets no cluster "main", which would run on port
# 5432 from then on and after each boot; unless the administrator has said in
# /etc/postgresql-common whether there is to be one.
#
# Does nothing when all is there.  Only root can install; for anyone else, and
# where there is no apt-get, the script says what is missing and ends with
# status 1.  PG_CONFIG names the PostgreSQL installation to look at.

set -u
what=${1:-test}
config=${PG_CONFIG:-pg_config}
missing=()
optional=()

# need PACKAGE COMMAND...: PACKAGE is missing unless COMMAND succeeds.
need()
{
	local package=$1

	shift
	"$@" >/dev/null 2>&1 || missing+=("$package")
}

# The same for a PACKAGE that is done without where the release has none.
use()
{
	local package=$1

	shift
	"$@" >/dev/null 2>&1 && return
	apt-cache policy "$package" 2>/dev/null | grep -q 'Candidate: [^(]' &&
		optional+=("$package")
}

has() { command -v "$1"; }
has_clang() { compgen -c clang | grep -qxE 'clang(-[0-9]+)?'; }
has_fuzzer() { compgen -G '/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*'; }
has_perl() { perl -M"$1" -e 1; }
has_python() { python3 -c "import $1" || /usr/bin/python3 -c "import $1"; }
has_server() { [ -x "$("$config" --bindir)/postgres" ]; }
has_headers()
{
	[ -e "$("$config" --pgxs)" ] &&
		[ -e "$("$config" --includedir-server)/postgres.h" ]
}
# a package until Debian 12, then in the server's development files
has_indent() { has pg_bsd_indent || has "$("$config" --bindir)/pg_bsd_indent"; }
# of the server, or of Debian's, which test/run takes pgTAP from
has_extension()
{
	[ -e "$("$config" --sharedir)/extension/$1.control" ] ||
		[ -e "/usr/share/postgresql/$version/extension/$1.control" ]
}

# The major version of the server that is there, else of the one that Debian
# would install.
find_version()
{
	version=$("$config" --version 2>/dev/null | sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p')
	[ -n "$version" ] ||
		version=$(apt-cache show postgresql 2>/dev/null |
			sed -n 's/^Depends:.*postgresql-\([0-9]*\).*/\1/p' | head -n 1)
}

find_missing()
{
	missing=()
	optional=()
	need make has make
	need gcc has gcc
	need libc6-dev test -e /usr/include/stdio.h
	need "postgresql-${version:-15}" has_server
	need "postgresql-server-dev-${version:-15}" has_headers
	[ "$what" = build ] && return
	need perl has_perl Test::More
	use pg-bsd-indent has_indent
	need perltidy has perltidy
	need shellcheck has shellcheck
	need codespell has codespell
	[ "$what" = lint ] && return
	need libipc-run-perl has_perl IPC::Run
	need "postgresql-${version:-15}-pgtap" has_extension pgtap
	use "postgresql-${version:-15}-pgvector" has_extension vector
	need libtap-parser-sourcehandler-pgtap-perl has pg_prove
	use python3-psycopg has_python psycopg
	use python3-numpy has_python numpy
	[ "$what" = test ] && return
	need valgrind has valgrind
	need lcov has lcov
	need dpkg-dev has dpkg-source
	need flex has flex
	need bison has bison
	need clang has_clang
	use libclang-rt-dev has_fuzzer
	need gcc-aarch64-linux-gnu has aarch64-linux-gnu-gcc
	need libc6-dev-arm64-cross test -e /usr/aarch64-linux-gnu/include/stdio.h
	need qemu-user-static has qemu-aarch64-static
}

# The setting is for the installation only, in a file that nobody else has.
common=/etc/postgresql-common
refused=
refuse_cluster()
{
	case " ${missing[*]} " in *" postgresql-$version "*) ;; *) return 0 ;; esac
	grep -rqs '^[[:space:]]*create_main_cluster' $common/createcluster.conf $common/createcluster.d && return 0
	mkdir -p $common/createcluster.d || return 0
	refused=$common/createcluster.d/ecp-deps.conf
	echo 'create_main_cluster = off' >"$refused"
}

# The folders are removed if the installation has failed and left them empty.
allow_cluster()
{
	[ -n "$refused" ] || return 0
	rm -f "$refused"
	rmdir --ignore-fail-on-non-empty $common/createcluster.d
	[ ! -e $common ] || rmdir --ignore-fail-on-non-empty $common
}

find_version
find_missing
[ ${#missing[@]} -eq 0 ] && [ ${#optional[@]} -eq 0 ] && exit 0
[ ${#missing[@]} -eq 0 ] && [ "$(id -u)" != 0 ] && exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "missing, and there is no apt-get to install it with (Debian's names):"
	printf '    %s\n' "${missing[@]}"
	exit 1
fi

# Lists older than a day, or none at all, would name packages that are gone.
if [ "$(id -u)" = 0 ] &&
	[ -z "$(find /var/lib/apt/lists -maxdepth 1 -name '*_Packages*' -mtime -1 -print -quit)" ]; then
	echo "apt-get update ..."
	apt-get -qq update || echo "apt-get update failed; going on with the lists that are there"
	find_version
	find_missing
fi

if [ "$(id -u)" != 0 ]; then
	echo "missing; install it as root, then run this again:"
	echo "    apt-get install -y --no-install-recommends ${missing[*]}"
	exit 1
fi

packages=("${missing[@]}" "${optional[@]}")
echo "installing ${packages[*]} ..."
log=$(mktemp)
trap 'rm -f "$log"; allow_cluster' EXIT
trap 'exit 130' INT TERM
refuse_cluster
while sleep 5 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
	echo "    $(grep -c '^Get:' "$log") packages fetched, $(grep -c '^Unpacking' "$log") unpacked, $(grep -c '^Setting up' "$log") set up"
done &
watcher=$!
if ! LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
	-o Dpkg::Use-Pty=0 "${packages[@]}" >"$log" 2>&1; then
	tail -n 20 "$log"
	echo "could not install: ${packages[*]}"
fi
kill $watcher 2>/dev/null
wait $watcher 2>/dev/null
grep -q '^Setting up' "$log" && echo "installed $(grep -c '^Setting up' "$log") packages$(sed -n 's/^After this operation, \(.*\) of additional disk.*/, \1/p' "$log"), which stay; to remove them:
    apt-get purge --auto-remove ${packages[*]}"
[ -z "$refused" ] || echo "no cluster was made: to have one, run \"pg_createcluster $version main --start\""

find_version
find_missing
if [ ${#missing[@]} -ne 0 ]; then
	echo "still missing after the installation: ${missing[*]}"
	exit 1
fi
