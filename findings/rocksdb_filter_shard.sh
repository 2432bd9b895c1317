#!/bin/bash
#
# RocksDB (MyRocks of MariaDB 10.11.19): a filter of 750 kB is never cached in a block
# cache of 16 or 32 MB: it is read whole for each lookup.
#
# Expected: with cache_index_and_filter_blocks, a block is in the cache once it has been
# read.  What happens: the cache is divided into shards, up to 64 of them but of 512 kB at
# least, so that those of 16 MB and of 32 MB have 512 kB alike; a block that is larger than
# its shard is dropped as soon as its reader is done.  A filter of 10 bits a key is larger
# from 420,000 keys in a file on.  Each row that is inserted then reads it to look its
# primary key up; and with a prefix extractor, which is for the unique index to use the
# filter too, it reads a larger one three times.
#
# To avoid it: partitioned filters (kTwoLevelIndexSearch, partition_filters).

set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
version=1:10.11.19-0+deb12u1
apt-get -qq -o APT::Sandbox::User=root download mariadb-server-core=$version mariadb-plugin-rocksdb=$version \
	libaio1 libnuma1 liburing2 liblz4-1 libsnappy1v5 libzstd1
for package in *.deb; do
	dpkg-deb -x "$package" .
done
export LD_LIBRARY_PATH
LD_LIBRARY_PATH=$(echo "$work"/usr/lib/*-linux-gnu)

status()
{
	echo "SELECT variable_value FROM information_schema.global_status WHERE variable_name IN
		('rocksdb_block_cache_filter_miss', 'rocksdb_block_cache_filter_bytes_insert') ORDER BY variable_name DESC INTO OUTFILE '$1';"
}
{
	cat <<-'SQL'
	CREATE DATABASE test;
	USE test;
	CREATE TABLE t (id BIGINT PRIMARY KEY, k BINARY(16) NOT NULL, UNIQUE KEY (k)) ENGINE = ROCKSDB;
	SQL
	for first in {1..300000..10000}; do
		echo "INSERT INTO t SELECT seq, unhex(md5(seq)) FROM seq_${first}_to_$((first + 9999));"
	done
	echo "SET GLOBAL rocksdb_force_flush_memtable_now = 1;"
	echo "SET GLOBAL rocksdb_compact_cf = 'default';"
	status before
	echo "INSERT INTO t SELECT seq, unhex(md5(seq)) FROM seq_300001_to_305000;"
	status after
} >sql

# insert what, cache, prefix extractor, options of tables: times a filter is read
insert()
{
	local options="$3block_based_table_factory={cache_index_and_filter_blocks=1;filter_policy=bloomfilter:10:false$4}"
	local before after

	rm -rf data
	mkdir data
	usr/sbin/mariadbd --no-defaults --bootstrap --user="$(id -un)" --datadir="$work/data" \
		--lc-messages-dir="$work/usr/share/mysql" --plugin-dir="$work/usr/lib/mysql/plugin" \
		--plugin-load-add=ha_rocksdb.so --innodb-buffer-pool-size=8M --rocksdb-block-cache-size="$2" \
		--rocksdb-default-cf-options="$options" <sql >log 2>&1 || cat log
	mapfile -t before < <(find data -name before -exec cat {} +)
	mapfile -t after < <(find data -name after -exec cat {} +)
	misses=$((after[0] - before[0]))
	echo "$2, $1: $misses reads of filters for 5000 rows, $(((after[1] - before[1]) >> 20)) MB"
}
parts=';index_type=kTwoLevelIndexSearch;partition_filters=1'
prefix='prefix_extractor=capped:20;'
insert 'whole filters' 16M '' ''
whole=$misses
insert 'whole filters' 32M '' ''
whole32=$misses
insert 'whole filters and a prefix extractor' 16M $prefix ''
whole_prefix=$misses
insert 'filters in parts and a prefix extractor' 16M $prefix "$parts"
if [ "$whole" -lt 5000 ] || [ "$whole32" -lt 5000 ] || [ "$whole_prefix" -lt 15000 ] || [ "$misses" -gt 500 ]; then
	echo "the behaviour has changed"
	exit 1
fi
