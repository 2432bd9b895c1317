#!/bin/bash
#
# check_safety.sh: fail if a program of ours gives a temporary file a name that
# others can guess (root would write through a link that somebody has put there),
# or if a workflow of GitHub may do more than read the repository: what a tag of
# an action names can be changed by others, a hash cannot, and a token that
# checkout leaves in .git is every later step's.

cd "$(dirname "$0")/../.." || exit 1
status=0

complain()
{
	echo "$1"
	status=1
}

# shellcheck disable=SC2016 # a pattern
grep -rnIE '(/tmp|/dev/shm|TMPDIR|tmpdir\(?\)?)[^[:space:]"]*/[^[:space:]"]*(\$\$|\$\{?(BASHPID|RANDOM|PPID|UID)\b|\$PID|%d)' \
	.ci debian packaging src/tools test Makefile \
	--exclude-dir=data --exclude=check_safety.sh --exclude='*.sql' --exclude='*.out' &&
	complain 'names of temporary files that can be guessed: use mktemp'

for file in .github/workflows/*.yml; do
	grep -qzP '\npermissions:\n  contents: read\n(?! )' "$file" ||
		complain "$file: no \"permissions: contents: read\" for the whole workflow"
	# a release writes: its jobs say what, and only tags begin it
	case $file in
	*/release.yml)
		grep -qzP "\non:\n  push:\n    tags: \[[^]]*\]\n\npermissions" "$file" ||
			complain "$file: something else than a tag begins it" ;;
	*)
		grep -nE '^ +permissions:' "$file" && complain "$file: a job has permissions of its own" ;;
	esac
	grep -nE 'uses:' "$file" | grep -vE '@[0-9a-f]{40} # v[0-9.]+$' &&
		complain "$file: an action is not pinned to a commit, with its version as a comment"
	[ "$(grep -c 'uses: actions/checkout@' "$file")" = "$(grep -c 'persist-credentials: false' "$file")" ] ||
		complain "$file: checkout without \"persist-credentials: false\""
done
exit $status
