#!/bin/bash
#
# InnoDB of MariaDB 10.11.19: of a buffer pool of 32 MB, innodb_lru_scan_depth's default
# keeps most empty, so that a table that fits in it is read and written again and again.
#
# Expected: 25 MB of pages stay in a pool of 32 MB, and are written by checkpoints.  What
# happens: the page cleaner evicts pages until innodb_lru_scan_depth of them are free, and
# 1,536 pages of 16 kB are 24 MB, whatever the size of the pool.  Inserts into a secondary
# index in random order then read pages that were there, and write pages that change again.
#
# To avoid it: innodb_lru_scan_depth=100, the least, where the pool is small.

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get -qq -o APT::Sandbox::User=root download mariadb-server-core=1:10.11.19-0+deb12u1 libaio1 libnuma1 liburing2
for package in *.deb; do
	dpkg-deb -x "$package" .
done
export LD_LIBRARY_PATH
LD_LIBRARY_PATH=$(echo "$work"/usr/lib/*-linux-gnu)

cat >sql <<'SQL'
CREATE DATABASE test;
USE test;
CREATE TABLE t (id BIGINT PRIMARY KEY, k BINARY(16), KEY (k)) ENGINE = InnoDB;
SQL
for first in {1..200000..1000}; do
	echo "INSERT INTO t SELECT seq, unhex(md5(seq)) FROM seq_${first}_to_$((first + 999));"
done >>sql
cat >>sql <<'SQL'
SELECT variable_value FROM information_schema.global_status WHERE variable_name IN ('innodb_buffer_pool_pages_free',
  'innodb_buffer_pool_pages_total', 'innodb_pages_read', 'innodb_pages_written') ORDER BY variable_name INTO OUTFILE 'status';
SQL

# insert [option]: free, total, read, written
insert()
{
	rm -rf data
	mkdir data
	usr/sbin/mariadbd --no-defaults --bootstrap --user="$(id -un)" --datadir="$work/data" \
		--lc-messages-dir="$work/usr/share/mysql" --innodb-buffer-pool-size=32M --innodb-log-file-size=512M \
		"$@" <sql >log 2>&1 || cat log
	mapfile -t status < <(find data -name status -exec cat {} +)
	echo "${1:-by default}: ${status[0]} of ${status[1]} pages are free, ${status[2]} read, ${status[3]} written"
}
insert
read=${status[2]} written=${status[3]}
insert --innodb-lru-scan-depth=100
if [ "$read" -lt 100 ] || [ "$written" -lt 500 ] || [ "${status[2]}" -gt 0 ] || [ "${status[3]}" -gt 0 ]; then
	echo "the behaviour has changed"
	exit 1
fi
