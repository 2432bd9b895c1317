# shellcheck shell=bash disable=SC2154
#
# devices.sh: two throttled disks for test/repro/run, to be sourced; speed,
# settings, work and the functions sql and refuse are its.
#
# The disks are images in memory, so that nothing below them is slower than
# they are.  Limits are set in the root group of the blkio controller: only
# there do they catch the kernel's write-back.  Both disks take the figures of
# any device of the report; the tablespaces on them are disk_a and disk_b.
#
# The server lives in a memory cgroup: else the page cache of a machine of
# today would hold all that the report's machine had to read.  How much written
# data may wait is limited for each disk.

blkio=/sys/fs/cgroup/blkio
memory_group=/sys/fs/cgroup/memory/ecp-repro.$$
declare -A disk_loop disk_number

need_devices()
{
	local program

	[ "$(id -u)" = 0 ] || refuse "loop devices need root; \"test/repro/run model\" does not"
	if ! [ -w $blkio/blkio.throttle.read_bps_device ] || ! [ -w /sys/fs/cgroup/memory/cgroup.procs ]; then
		refuse "no cgroup v1 blkio throttle and memory here; \"test/repro/run model\" needs none"
	fi
	for program in losetup mkfs.ext3 mount umount lsblk; do
		command -v $program >/dev/null || refuse "no $program"
	done
}

throttle() # DISK READ_BPS WRITE_BPS READ_IOPS WRITE_IOPS; 0 is no limit
{
	local number=${disk_number[$1]}

	echo "$number $2" >$blkio/blkio.throttle.read_bps_device
	echo "$number $3" >$blkio/blkio.throttle.write_bps_device
	echo "$number $4" >$blkio/blkio.throttle.read_iops_device
	echo "$number $5" >$blkio/blkio.throttle.write_iops_device
}

# Written data that may wait, in bytes; 0 is no limit but the system's.
dirty_limit() # DISK BYTES
{
	local bdi=/sys/class/bdi/${disk_number[$1]}

	[ -w "$bdi/strict_limit" ] && [ -w "$bdi/max_bytes" ] || return 0
	if [ "$2" -gt 0 ]; then
		echo "$2" >"$bdi/max_bytes" && echo 1 >"$bdi/strict_limit"
	else
		echo 0 >"$bdi/strict_limit"
		echo 100 >"$bdi/max_ratio"
	fi
}

# The largest read that counts as one operation.  It bounds what a limit of
# operations leaves of large reads; but of 120 runs that are merged, each has so
# much in memory.
read_ahead() # DISK KILOBYTES
{
	echo "$2" >"/sys/class/bdi/${disk_number[$1]}/read_ahead_kb"
}

# An image with a file system and the tablespace disk_NAME.  The report's file
# system was ext3, too; how it lays out small appends matters.
make_disk() # NAME MEGABYTES
{
	local image

	image=/dev/shm/$(basename "$work")/$1
	fallocate -l "${2}M" "$image" || return 1
	disk_loop[$1]=$(losetup -f --show "$image") || return 1
	disk_number[$1]=$(lsblk -ndo MAJ:MIN "${disk_loop[$1]}" | tr -d ' ')
	mkfs.ext3 -q -m 0 -N 60000 "${disk_loop[$1]}" || return 1
	mkdir "$work/$1"
	mount -o noatime "${disk_loop[$1]}" "$work/$1" || return 1
	mkdir "$work/$1/pg"
	chown postgres "$work/$1/pg"
	read_ahead "$1" 2560
	sql "CREATE TABLESPACE disk_$1 LOCATION '$work/$1/pg'"
}

# In every case, and in an order in which nothing is still in use.
remove_disks()
{
	local name

	lower_kernel

	for name in "${!disk_number[@]}"; do
		throttle "$name" 0 0 0 0
		dirty_limit "$name" 0
		if mountpoint -q "$work/$name"; then
			umount "$work/$name" || umount -l "$work/$name"
		fi
		losetup -d "${disk_loop[$name]}"
	done
	if [ -d "$memory_group" ]; then
		echo -1 >"$memory_group/memory.limit_in_bytes"
		for name in 1 2 3 4 5; do
			rmdir "$memory_group" 2>/dev/null && break
			sleep 1
		done
	fi
	[ -n "$work" ] && rm -rf "/dev/shm/$(basename "$work")"
}

# This process and what it starts from now on.
enter_memory_group()
{
	mkdir -p "$memory_group" && echo $BASHPID >"$memory_group/cgroup.procs"
}

# The kernel's workers, which carry requests from the throttle to the image, get
# the server's priority: on a loaded machine their turn would take longer than
# the device.  There are new ones all the time.
lift_kernel() # PRIORITY
{
	local pid

	while sleep 0.3; do
		for pid in $(pgrep '^kworker/'); do
			chrt -f -p "$1" "$pid"
		done
	done >/dev/null 2>&1 &
	lifter=$!
}

lower_kernel()
{
	local pid

	[ -n "${lifter:-}" ] || return 0
	kill "$lifter" 2>/dev/null
	for pid in $(pgrep '^kworker/'); do
		chrt -o -p 0 "$pid"
	done >/dev/null 2>&1
}

memory_limit() # BYTES; -1 is no limit
{
	echo "$1" >"$memory_group/memory.limit_in_bytes"
}

# Nothing of what lies on the disks is in memory afterwards.
cool_disks()
{
	local file

	sql 'CHECKPOINT'
	sync -f "$work/a" "$work/b"
	find "$work/a/pg" "$work/b/pg" -type f | while read -r file; do
		dd "if=$file" iflag=nocache count=0 status=none
	done
}

# The limits of a device of the report, as many times as fast.  Counts of
# operations are cut to tens, because the throttle gives them out in tenths of
# a second.
become() # DISK SETTING
{
	local read_mb write_mb read_iops write_iops

	read -r read_mb write_mb read_iops write_iops <<<"${settings[$2]}"
	throttle "$1" $((read_mb * speed * 1000000)) $((write_mb * speed * 1000000)) \
		$((read_iops * speed / 10 * 10)) $((write_iops * speed / 10 * 10))
}
