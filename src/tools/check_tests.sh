#!/bin/bash
#
# check_tests.sh: fail if a test has no expected answer, an answer no test, a TAP
# test a number that another has, if the table of test/README is not that of
# the tests and of the rooms that there are, or if "make help" lacks a target.

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

# the table "Where a feature is tested": a room, then tests, over several lines
table=$(sed -n '/^Where a feature is tested/,/^Running/p' test/README | sed -n '/^  ---/,/^$/p' | tail -n +2)
named=$(cut -c19- <<<"$table" | tr -s ' ' '\n' | grep .)
exist=$({
	find sql -name '*.sql' -not -name '*--*' -printf '%f\n' | sed 's/\.sql$//'
	find test/t -name '*.pl' -printf '%f\n' | sed 's/\.pl$//'
	find test/isolation/specs -name '*.spec' -printf 'isolation:%f\n' | sed 's/\.spec$//'
	find test/pgtap -name '*.sql' -printf 'pgtap:%f\n' | sed 's/\.sql$//'
	find test/unit -name '*.c' -printf 'unit:%f\n' | sed 's/\.c$//'
})
for name in $(sort <<<"$named" | uniq -d); do
	complain "test/README: $name stands there twice"
done
while read -r side name; do
	[ "$side" = '<' ] && complain "test/README names $name, which does not exist"
	[ "$side" = '>' ] && complain "test/README does not name $name"
done < <(diff <(sort -u <<<"$named") <(sort -u <<<"$exist") | grep '^[<>]')
for room in src/*/*/; do
	room=${room#src/}
	room=${room%/}
	cut -c3-18 <<<"$table" | grep -qx "$room *" ||
		complain "test/README: no test for the room $room"
done

while read -r target; do
	grep -q "^#   make $target\( \|$\)" Makefile || complain "\"make help\" lacks $target"
done < <(sed -n 's/^\.PHONY: deps/deps/p' Makefile | tr ' ' '\n')
exit $status
