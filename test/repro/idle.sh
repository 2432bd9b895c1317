# shellcheck shell=bash
#
# idle.sh: refuse to measure on a machine that has other work; to be sourced.

need_idle() # HIGHEST_LOAD_AVERAGE
{
	awk -v max="$1" '{ exit !($1 <= max) }' /proc/loadavg && return 0
	echo "load average $(cut -d' ' -f1 /proc/loadavg) is above $1: figures would mean nothing (REPRO_LOAD_MAX)"
	exit 2
}
