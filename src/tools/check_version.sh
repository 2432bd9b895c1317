#!/bin/bash
#
# check_version.sh: fail if a file other than src/base/compat.h looks at the
# version of PostgreSQL, or if no script makes an extension's version.

set -u
cd "$(dirname "$0")/../.." || exit 1
status=0

if grep -rnE 'PG_(VERSION|MAJORVERSION|CATALOG_VERSION)' src test --include='*.[ch]' |
	grep -v '^src/base/compat\.h:'; then
	echo "only src/base/compat.h may look at PostgreSQL's version"
	status=1
fi

for extension in *.control; do
	extension=${extension%.control}
	version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" "$extension.control")
	if ! [ -e "sql/$extension--$version.sql" ] && ! compgen -G "sql/$extension--*--$version.sql" >/dev/null; then
		echo "$extension.control says version $version, and no script in sql/ makes it"
		status=1
	fi
done
version=$(sed -n "s/^default_version = '\(.*\)'/\1/p" ecp.control)
if ! grep -qF "ECP_MODULE_MAGIC(\"ecp\", \"$version\");" src/ecp_module.c; then
	echo "src/ecp_module.c does not say version $version"
	status=1
fi
exit $status
