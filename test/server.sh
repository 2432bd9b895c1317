# shellcheck shell=bash
#
# server.sh: what test/run and test/demo/run share, to be sourced: a copy of
# the sources and of the PostgreSQL installation in a folder of their own.
#
# PostgreSQL's programs find their files relative to themselves, so a copy at
# the same places below another root is an installation of its own.  Thus the
# extension can be built and installed by anyone, from a checkout that belongs
# to anyone, and no server of the machine sees any of it.

# Nothing of the caller's may decide what we talk to or what is printed.
clean_environment()
{
	local name

	for name in $(compgen -v PG | grep -v -e '^PG_CONFIG$' -e '^PG_TEST_'); do
		unset "$name"
	done
	# pg_regress unsets LC_ALL, so that LANG decides about the encoding
	export LC_ALL=C.UTF-8 LANG=C.UTF-8
	unset LANGUAGE MAKEFLAGS MAKELEVEL MFLAGS
}

# Fails, and says so, if CONFIG names nothing to build for.
check_config() # CONFIG
{
	[ -e "$("$1" --pgxs 2>/dev/null)" ] && return 0
	echo "\"$1\" names no PostgreSQL installation with development files: run \"make deps\""
	return 1
}

# Is pgvector there, in a version with halfvec?  The Makefile asks for the same file.
has_pgvector() # FOLDER of "pg_config --sharedir"
{
	[ -e "$1/extension/vector--0.6.2--0.7.0.sql" ]
}

# The sources without what was built from them, but for OBJECTS=1 (test/run).
copy_source() # FROM TO
{
	local objects=(--exclude='*.o' --exclude='*.so')

	[ "${OBJECTS:-0}" = 0 ] || objects=()
	mkdir -p "$2" &&
		tar -C "$1" -cf - --exclude=./.git --exclude=./build "${objects[@]}" \
			--exclude='*.bc' --exclude='*.gcda' \
			--exclude='*.gcno' --exclude=./results --exclude=./output_iso \
			--exclude=./tmp_check . |
		tar -C "$2" -xf -
}

copy_tree() # PATH ROOT
{
	[ -d "$1" ] || return 0
	[ -e "$2$1" ] && return 0
	mkdir -p "$2$1"
	tar -C "$1" -cf - --exclude=./bitcode . | tar -C "$2$1" -xf -
}

# The installation of CONFIG below ROOT.  Sets private_bin to its folder of
# programs, and LD_LIBRARY_PATH if its libraries are not the system's.
copy_server() # CONFIG ROOT
{
	local pgxs libdir library

	copy_tree "$("$1" --bindir)" "$2"
	copy_tree "$("$1" --pkglibdir)" "$2"
	copy_tree "$("$1" --sharedir)" "$2"
	copy_tree "$("$1" --includedir-server)" "$2"
	pgxs=$("$1" --pgxs)
	copy_tree "${pgxs%/src/makefiles/pgxs.mk}" "$2"
	# shellcheck disable=SC2034 # for the caller
	private_bin=$2$("$1" --bindir)

	libdir=$("$1" --libdir)
	[ -d "$2$libdir" ] || return 0
	for library in "$libdir"/libpq.so*; do
		[ -e "$library" ] && cp -a "$library" "$2$libdir"
	done
	export LD_LIBRARY_PATH="$2$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

# The upstream source, without Debian's patches: those fix the place of the
# library folder, and a second server would install over the first.
# FOLDER.apt takes apt's lists.
fetch_source() # MAJOR FOLDER
{
	local apt=$2.apt options version

	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/download" "$apt/parts"
	{
		find /etc/apt -name '*.list' -exec sed -n 's/^deb /deb-src /p' {} +
	} >"$apt/sources.list"
	for file in /etc/apt/sources.list.d/*.sources; do
		[ -e "$file" ] && sed 's/^Types:.*/Types: deb-src/' "$file" >"$apt/parts/$(basename "$file")"
	done
	options=(-o "Dir::Etc::SourceList=$apt/sources.list" -o "Dir::Etc::SourceParts=$apt/parts"
		-o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root)
	apt-get "${options[@]}" -qq update
	# not every mirror still has the newest version's source: take the first
	# that can be had
	for version in $(apt-cache "${options[@]}" showsrc "postgresql-$1" |
		sed -n 's/^Version: //p' | sort -Vru); do
		(cd "$apt/download" && apt-get "${options[@]}" -qq source --download-only --only-source \
			"postgresql-$1=$version") && compgen -G "$apt/download/*.orig.tar.*" >/dev/null && break
	done
	tar -C "$2" --strip-components=1 -xf "$(compgen -G "$apt/download/*.orig.tar.*" | head -n 1)" &&
		return 0
	echo "could not get the source package of PostgreSQL $1"
	return 1
}

# With what the tests need and little else.
build_server() # SOURCE PREFIX LOG [OPTION]...
{
	local source=$1 prefix=$2 log=$3

	shift 3
	# its makefiles generate headers only if they are not run by another make
	(unset MAKELEVEL MAKEFLAGS MFLAGS && cd "$source" &&
		./configure --prefix="$prefix" --enable-tap-tests --without-icu --without-readline \
			--without-zlib "$@" &&
		make -s -j"$(nproc)" world-bin && make -s install-world-bin) \
		>"$log" 2>&1 && return 0
	tail -n 30 "$log"
	echo "could not build PostgreSQL"
	return 1
}
