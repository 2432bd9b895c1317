#!/bin/bash
#
# check_tests.sh: fail if a test has no expected answer, an answer no test, or
# a TAP test a number that another has.

set -u
cd "$(dirname "$0")/../.." || exit 1
status=0

complain()
{
	echo "$1"
	status=1
}

# pair TESTS SUFFIX ANSWERS: each file of one kind has one of the other
pair()
{
	local file name

	for file in "$1"/*."$2"; do
		[ -e "$file" ] || continue
		name=$(basename "$file" ".$2")
		case $name in *--*) continue ;; esac
		[ -e "$3/$name.out" ] || complain "$file has no $3/$name.out"
	done
	for file in "$3"/*.out; do
		[ -e "$file" ] || continue
		name=$(basename "$file" .out)
		# NAME_1.out is a second answer to NAME
		[ -e "$1/$name.$2" ] || [ -e "$1/${name%_[0-9]}.$2" ] ||
			complain "$file has no $1/$name.$2"
	done
}

pair sql sql expected
pair test/isolation/specs spec test/isolation/expected

for number in $(find test/t -name '*.pl' -printf '%f\n' | cut -d_ -f1 | sort | uniq -d); do
	complain "test/t: number $number is used twice: $(echo test/t/"$number"_*)"
done
while read -r file; do
	grep -q 'done_testing\|tests => ' "$file" || complain "$file has no done_testing"
	grep -nE '^[^#]*\bsleep\b *\(?[0-9$]' "$file" && complain "$file sleeps: poll instead"
done < <(find test/t -name '*.pl')
exit $status
