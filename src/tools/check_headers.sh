#!/bin/bash
#
# check_headers.sh: fail if a header of src/ does not compile by itself after
# postgres.h, so that the order of includes never matters.

set -u
cd "$(dirname "$0")/../.." || exit 1
config=${PG_CONFIG:-pg_config}
cc=${CC:-gcc}
status=0

while read -r header; do
	"$cc" -fsyntax-only -x c -Isrc -I"$("$config" --includedir-server)" \
		-D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
		-Wno-missing-field-initializers -Wno-unused-function -Werror \
		-include postgres.h "$header" || {
		echo "$header does not compile alone"
		status=1
	}
done < <(find src -name '*.h' | sort)
exit $status
