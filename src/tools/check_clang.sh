#!/bin/bash
#
# check_clang.sh CLANG: fail if clang does not compile src/vector, the folder
# that uses more than standard C.  A server with JIT has all sources compiled
# by it, too, as bitcode; gcc's own words stop "make install" there.

set -u
cd "$(dirname "$0")/../.." || exit 1
status=0

for source in src/vector/*.c; do
	"$1" -O2 -Isrc -I"$("${PG_CONFIG:-pg_config}" --includedir-server)" \
		-D_GNU_SOURCE -Wno-ignored-attributes -Werror -emit-llvm -c \
		-o /dev/null "$source" || status=1
done
exit $status
