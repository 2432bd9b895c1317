# shellcheck shell=bash
#
# lab.sh: what test/repro/streams and test/repro/placement share, to be
# sourced: a private server, slow disks, and the end of all of it.  Refuses on
# a machine with a load average above REPRO_LOAD_MAX (0.5); REPRO_PRIORITY is a
# real-time priority for server, clients and disks (default 0: none).  Sets $top, $bin, $work and $out.  REPRO_INSTALLED=1 takes the
# installation that PG_CONFIG names as it is, with the extension in it.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=test/server.sh disable=SC1091
. "$top/test/server.sh"
out=${REPRO_OUT:-$top/build/repro}
blkio=/sys/fs/cgroup/blkio
bin=
work=
images=
lab_loops=()
lab_mounts=()
lab_rt=()
lab_failed=0

# shellcheck source=test/repro/idle.sh disable=SC1091
. "$top/test/repro/idle.sh"

lab_refuse()
{
	echo "$1"
	exit 2
}

# What there must be, before anything is made.
lab_require() # PROGRAM...
{
	local program

	[ "$(id -u)" = 0 ] || lab_refuse "loop devices need root"
	for program in losetup lsblk mkfs.ext4 mount umount runuser "$@"; do
		command -v "$program" >/dev/null || lab_refuse "no $program"
	done
	clean_environment
	check_config "${PG_CONFIG:-pg_config}" || exit 2
	need_idle "${REPRO_LOAD_MAX:-0.5}"
	# what else computes here must not delay what is measured
	if [ "${REPRO_PRIORITY:-0}" -gt 0 ] && command -v chrt >/dev/null &&
		chrt -f "$REPRO_PRIORITY" true 2>/dev/null; then
		lab_rt=(chrt -f "$REPRO_PRIORITY")
	fi
	mkdir -p "$out"
	rm -f "$out/$(basename "$0")_checks.txt"
}

lab_sql() # QUERY [PSQL OPTION...]
{
	local query=$1

	shift
	"${lab_rt[@]}" runuser -u postgres -- "$bin/psql" -X -q -v ON_ERROR_STOP=1 \
		-h "$work" -p 65434 -U postgres -d postgres "$@" -c "$query"
}

lab_value() # QUERY
{
	lab_sql "$1" -At
}

# A private server; every argument is a line of its configuration.
lab_start()
{
	work=$(mktemp -d /tmp/ecp-lab.XXXXXX) || exit 1
	images=/dev/shm/$(basename "$work")
	mkdir "$images" "$work/data" || exit 1
	chmod 755 "$work"
	trap lab_finish EXIT
	trap 'exit 130' INT TERM
	if [ "${REPRO_INSTALLED:-0}" = 1 ]; then
		bin=$("${PG_CONFIG:-pg_config}" --bindir)
	else
		copy_source "$top" "$work/src" && copy_server "${PG_CONFIG:-pg_config}" "$work/pg" || exit 1
		# shellcheck disable=SC2154 # set by copy_server
		bin=$private_bin
		chown -R postgres "$work"
		runuser -u postgres -- make -s -j"$(nproc)" -C "$work/src" "PG_CONFIG=$bin/pg_config" \
			with_llvm=no install >"$work/build.log" 2>&1 || { tail "$work/build.log"; exit 1; }
	fi
	chown -R postgres "$work"
	runuser -u postgres -- "$bin/initdb" -D "$work/data" -U postgres -A trust -N \
		>"$work/initdb.log" 2>&1 || exit 1
	printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$work'" \
		'port = 65434' 'autovacuum = off' 'max_wal_size = 8GB' 'fsync = off' \
		'max_worker_processes = 24' 'max_parallel_workers = 16' "$@" >>"$work/data/postgresql.conf"
	"${lab_rt[@]}" runuser -u postgres -- "$bin/pg_ctl" -D "$work/data" -w -l "$work/server.log" \
		start >/dev/null </dev/null || exit 1
	lab_sql 'CREATE EXTENSION ecp_storage CASCADE' 2>/dev/null
}

lab_create_tablespace() # NAME
{
	mkdir "$work/$1/pg"
	chown postgres "$work/$1/pg"
	lab_sql "CREATE TABLESPACE $1 LOCATION '$work/$1/pg'"
}

# A disk that is busy with each request for a time, none at first, and a
# tablespace NAME on it.
lab_slowdisk() # NAME
{
	[ -x "$work/slowdisk" ] ||
		gcc -O2 -Wall -o "$work/slowdisk" "$top/test/repro/slowdisk.c" || exit 1
	mkdir "$images/$1" "$work/$1"
	echo 0 100000 >"$images/$1.speed"
	"${lab_rt[@]}" "$work/slowdisk" "$work/$1" "$images/$1" "$images/$1.speed" "$images/$1.pid" || exit 1
	lab_mounts+=("$work/$1")
	lab_create_tablespace "$1"
}

lab_slow() # NAME LATENCY_US MB_S
{
	echo "$2 $3" >"$images/$1.speed"
	kill -HUP "$(cat "$images/$1.pid")"
}

# A file system in memory on a loop device, to be throttled by lab_throttle,
# and a tablespace NAME on it.  Without a journal: nothing but what is read is
# to reach the device.
lab_loopdisk() # NAME MEGABYTES
{
	local loop

	truncate -s "${2}M" "$images/$1"
	loop=$(losetup -f --show "$images/$1") || exit 1
	lab_loops+=("$loop")
	lsblk -ndo MAJ:MIN "$loop" | tr -d ' ' >"$work/$1.number"
	mkfs.ext4 -q -m 0 -O ^has_journal -E lazy_itable_init=0,nodiscard "$loop" || exit 1
	mkdir "$work/$1"
	mount -o noatime "$loop" "$work/$1" || exit 1
	lab_mounts+=("$work/$1")
	lab_create_tablespace "$1"
}

lab_throttle() # NAME READ_BPS READ_IOPS; 0 is no limit
{
	local number

	number=$(cat "$work/$1.number")
	echo "$number $2" >$blkio/blkio.throttle.read_bps_device
	echo "$number $3" >$blkio/blkio.throttle.read_iops_device
}

# Prints "holds" or "VIOLATED", the claim, and what was measured; CONDITION and
# FIGURES are values of SQL, the latter one of text.
lab_check() # CLAIM CONDITION [FIGURES]
{
	local holds=holds figures=

	[ -z "${3:-}" ] || figures=": $(lab_value "SELECT $3")"
	if [ "$(lab_value "SELECT $2")" != t ]; then
		holds=VIOLATED
		# shellcheck disable=SC2034 # the status that the caller ends with
		lab_failed=1
	fi
	printf '%-9s %s%s\n' $holds "$1" "$figures" | tee -a "$out/$(basename "$0")_checks.txt"
}

# In every case, and in an order in which nothing is still in use.
lab_finish()
{
	local i number

	[ -e "$work/data/postmaster.pid" ] &&
		runuser -u postgres -- "$bin/pg_ctl" -D "$work/data" -m immediate -w stop >/dev/null 2>&1
	for number in "$work"/*.number; do
		[ -e "$number" ] && lab_throttle "$(basename "$number" .number)" 0 0
	done
	for i in "$images"/*.speed; do
		[ -e "$i" ] && lab_slow "$(basename "$i" .speed)" 0 100000
	done
	for ((i = 0; i < ${#lab_mounts[@]}; i++)); do
		umount "${lab_mounts[i]}" || umount -l "${lab_mounts[i]}"
	done
	for ((i = 0; i < ${#lab_loops[@]}; i++)); do
		losetup -d "${lab_loops[i]}"
	done
	rm -rf "$work" "$images"
}
