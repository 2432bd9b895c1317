/*-------------------------------------------------------------------------
 *
 * ecp_stat.c
 *	  Cumulative statistics of an index over all sessions.
 *
 *	 counted		in memory of the backend, by index
 *	 flushed		added to a page of the index: by the first transaction that
 *					ends a second after the last flush or later, when the
 *					session ends, and before the session looks at them
 *	 read			ecp_stat_get(), the view ecp_stat_indexes
 *
 * PostgreSQL's cumulative statistics cannot be used: they have no custom kinds
 * before 18, and then only for libraries in shared_preload_libraries.  Named
 * shared memory exists from 17 on, and does not outlive the server.  All versions
 * have the index's own files: the page is in core_hint_page.c.
 *
 * The page is created with the index.  Searches and commits do not create it,
 * because they must not fail for it when the disk is full; without a page,
 * sessions keep their figures in memory.  An unlogged index has no page after a
 * crash until VACUUM or ecp_stat_reset() creates one.
 *
 * The figures survive a restart.  A crash may lose what was flushed since the
 * last checkpoint; a standby has at best those of its base backup, and its
 * sessions keep their own in memory; REINDEX starts from zero.
 *
 * A flush locks the page for a few additions only, so that many backends, each
 * of which flushes once a second, do not wait for each other.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "base/core_hint_page.h"
#include "base/shards.h"
#include "base/user_index.h"
#include "base/user_row.h"
#include "catalog/pg_class.h"
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_stat.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/timestamp.h"

/* Milliseconds between two flushes of a backend. */
#define STAT_INTERVAL		1000

#define STAT_MAGIC			0x31534345	/* "ECS1" */

typedef struct EcpStatPageData
{
	uint32		ecps_magic;
	uint32		ecps_ncounters;
	TimestampTz ecps_reset;
	uint64		ecps_counters[ECP_STAT_NCOUNTERS];
} EcpStatPageData;

typedef EcpStatPageData *EcpStatPage;

#define StatPageGet(page)	((EcpStatPage) PageGetContents(page))

/* Counted by this backend, and not flushed yet. */
typedef struct EcpStatPending
{
	Oid			index;			/* hash key */
	uint64		counters[ECP_STAT_NCOUNTERS];
} EcpStatPending;

static HTAB *stat_pending = NULL;
static EcpStatPending *stat_last = NULL;	/* the one counted in last */
static TimestampTz stat_flushed = 0;

PGDLLEXPORT Datum ecp_stat_get(PG_FUNCTION_ARGS);
PGDLLEXPORT Datum ecp_stat_reset(PG_FUNCTION_ARGS);

static void stat_xact_callback(XactEvent event, void *arg);
static void stat_exit_callback(int code, Datum arg);

/* ---- counting ---- */

static void
stat_init(void)
{
	HASHCTL		ctl = {0};

	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(EcpStatPending);
	stat_pending = hash_create("ecp statistics", 16, &ctl,
							   HASH_ELEM | HASH_BLOBS);
	RegisterXactCallback(stat_xact_callback, NULL);
	before_shmem_exit(stat_exit_callback, (Datum) 0);
}

/* Count n of something. */
void
ecp_stat_count(Relation index, EcpStatCounter counter, uint64 n)
{
	Oid			oid = RelationGetRelid(index);

	Assert(counter < ECP_STAT_NCOUNTERS);
	if (n == 0)
		return;
	if (stat_pending == NULL)
		stat_init();
	if (stat_last == NULL || stat_last->index != oid)
	{
		bool		found;

		stat_last = hash_search(stat_pending, &oid, HASH_ENTER, &found);
		if (!found)
			memset(stat_last->counters, 0, sizeof(stat_last->counters));
	}
	stat_last->counters[counter] += n;
}

/* Count what a search did. */
void
ecp_stat_count_search(Relation index, const EcpSearchStats *stats)
{
	ecp_stat_count(index, ECP_STAT_SCANS, 1);
	ecp_stat_count(index, ECP_STAT_EARLY_STOPS, stats->early ? 1 : 0);
	ecp_stat_count(index, ECP_STAT_CLUSTERS, stats->clusters);
	ecp_stat_count(index, ECP_STAT_PAGES, stats->pages);
	ecp_stat_count(index, ECP_STAT_VECTORS, stats->vectors);
	ecp_stat_count(index, ECP_STAT_RERANKED, stats->reranked);
	ecp_stat_count(index, ECP_STAT_FILTERED, stats->filtered);
	ecp_stat_count(index, ECP_STAT_RETURNED, stats->returned);
	ecp_stat_count(index, ECP_STAT_DROPPED, stats->dropped);
}

/* Add the figures of a search to those of others. */
void
ecp_stat_add_search(EcpSearchStats *totals, const EcpSearchStats *stats)
{
	totals->index = stats->index;
	totals->wanted = stats->wanted;
	totals->probes = stats->probes;
	totals->early |= stats->early;
	totals->recall = stats->recall;
	totals->stop = stats->stop;
	totals->windows += stats->windows;
	totals->clusters += stats->clusters;
	totals->skipped += stats->skipped;
	totals->pages += stats->pages;
	totals->vectors += stats->vectors;
	totals->filtered += stats->filtered;
	totals->reranked += stats->reranked;
	totals->returned += stats->returned;
	totals->dropped += stats->dropped;
}

static void
stat_forget(Oid index)
{
	stat_last = NULL;
	(void) hash_search(stat_pending, &index, HASH_REMOVE, NULL);
}

/* ---- the page ---- */

static void
stat_page_init(Page page, TimestampTz reset)
{
	EcpStatPage stat = StatPageGet(page);

	PageInit(page, BLCKSZ, 0);
	stat->ecps_magic = STAT_MAGIC;
	stat->ecps_ncounters = ECP_STAT_NCOUNTERS;
	stat->ecps_reset = reset;
	((PageHeader) page)->pd_lower += sizeof(EcpStatPageData);
}

static bool
stat_page_is_valid(Page page)
{
	return !PageIsNew(page) &&
		StatPageGet(page)->ecps_magic == STAT_MAGIC &&
		StatPageGet(page)->ecps_ncounters == ECP_STAT_NCOUNTERS;
}

/*
 * Create or reset the page, in a process that may extend files and fail.  It is
 * logged, so that a standby has it after promotion.
 */
static void
stat_page_create(Relation index, TimestampTz reset)
{
	Buffer		buffer;

	ecp_hint_page_make(index);
	buffer = ecp_hint_page_get(index, BUFFER_LOCK_EXCLUSIVE);
	START_CRIT_SECTION();
	stat_page_init(BufferGetPage(buffer), reset);
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(index))
		log_newpage_buffer(buffer, true);
	END_CRIT_SECTION();
	UnlockReleaseBuffer(buffer);
}

/* Create the page of a new index. */
void
ecp_stat_create(Relation index)
{
	stat_page_create(index, 0);
}

/* Create the page of an index that has lost it. */
void
ecp_stat_ensure(Relation index)
{
	if (!ecp_hint_page_exists(index))
		stat_page_create(index, 0);
}

/* Add to the page, which exists. */
static void
stat_page_add(Relation index, const uint64 *counters)
{
	Buffer		buffer = ecp_hint_page_get(index, BUFFER_LOCK_EXCLUSIVE);
	Page		page = BufferGetPage(buffer);
	EcpStatPage stat = StatPageGet(page);

	if (!stat_page_is_valid(page))
		stat_page_init(page, 0);
	if (stat->ecps_reset == 0)
		stat->ecps_reset = GetCurrentTimestamp();
	for (int i = 0; i < ECP_STAT_NCOUNTERS; i++)
		stat->ecps_counters[i] += counters[i];
	MarkBufferDirtyHint(buffer, true);
	UnlockReleaseBuffer(buffer);
}

/* ---- flushing ---- */

/*
 * Open an index.  Returns NULL if it is gone, or (with *busy) if it is locked
 * exclusively, since a flush does not wait for locks.
 */
static Relation
stat_open(Oid oid, bool *busy)
{
	Relation	index;

	*busy = !ConditionalLockRelationOid(oid, AccessShareLock);
	if (*busy)
		return NULL;
	index = try_relation_open(oid, NoLock);
	if (index && index->rd_rel->relkind == RELKIND_INDEX &&
		index->rd_indam->amoptions == ecpoptions &&
		!RELATION_IS_OTHER_TEMP(index))
		return index;
	if (index)
		relation_close(index, NoLock);
	UnlockRelationOid(oid, AccessShareLock);
	return NULL;
}

static void
stat_flush(void)
{
	HASH_SEQ_STATUS status;
	EcpStatPending *pending;

	/* a standby does not write files of the index */
	if (stat_pending == NULL || hash_get_num_entries(stat_pending) == 0 ||
		RecoveryInProgress())
		return;
	stat_flushed = GetCurrentTimestamp();
	hash_seq_init(&status, stat_pending);
	while ((pending = hash_seq_search(&status)) != NULL)
	{
		bool		busy;
		Relation	index = stat_open(pending->index, &busy);

		if (index)
		{
			/* without a page, the session keeps them */
			busy = !ecp_hint_page_exists(index);
			if (!busy)
				stat_page_add(index, pending->counters);
			relation_close(index, AccessShareLock);
		}
		if (!busy)
			stat_forget(pending->index);
	}
}

static void
stat_xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			if (hash_get_num_entries(stat_pending) > 0 &&
				TimestampDifferenceExceeds(stat_flushed,
										   GetCurrentTimestamp(),
										   STAT_INTERVAL))
				stat_flush();
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			/* a worker ends with its transaction */
			stat_flush();
			break;
		default:
			break;
	}
}

/* The session ends normally: one more transaction is possible. */
static void
stat_exit_callback(int code, Datum arg)
{
	if (code != 0 || hash_get_num_entries(stat_pending) == 0 ||
		IsParallelWorker() || RecoveryInProgress())
		return;
	AbortOutOfAnyTransaction();
	StartTransactionCommand();
	stat_flush();
	CommitTransactionCommand();
}

/* ---- SQL ---- */

PG_FUNCTION_INFO_V1(ecp_stat_get);

/* those of a distributed table */
static const char *const stat_merge =
"SELECT sum(scans), sum(batch_queries), sum(early_stops), sum(clusters),"
" sum(pages), sum(vectors), sum(reranked), sum(filtered), sum(returned),"
" sum(dropped), sum(inserts), sum(splits), sum(folds), sum(merges), sum(drops),"
" sum(regrouped), sum(flushes), sum(flushed_rows), sum(flushed_pages),"
" sum(purged_pages), min(stats_reset) FROM shards";

/*
 * ecp_stat_get(index regclass): the figures of the page, and those that this
 * session could not flush.  All NULL if the index is locked exclusively.
 */
Datum
ecp_stat_get(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	uint64		counters[ECP_STAT_NCOUNTERS] = {0};
	TimestampTz reset = 0;
	Datum		values[ECP_STAT_NCOUNTERS + 1];
	bool		nulls[ECP_STAT_NCOUNTERS + 1];
	Relation	index;
	bool		busy;
	Datum		result;

	if (ecp_shards_call(fcinfo, true, stat_merge, &result))
		return result;
	stat_flush();
	index = stat_open(oid, &busy);
	if (index && ecp_hint_page_exists(index))
	{
		Buffer		buffer = ecp_hint_page_get(index, BUFFER_LOCK_SHARE);
		Page		page = BufferGetPage(buffer);

		if (stat_page_is_valid(page))
		{
			memcpy(counters, StatPageGet(page)->ecps_counters,
				   sizeof(counters));
			reset = StatPageGet(page)->ecps_reset;
		}
		UnlockReleaseBuffer(buffer);
	}
	if (index && stat_pending)
	{
		EcpStatPending *pending = hash_search(stat_pending, &oid, HASH_FIND,
											  NULL);

		for (int i = 0; pending && i < ECP_STAT_NCOUNTERS; i++)
			counters[i] += pending->counters[i];
	}
	for (int i = 0; i < ECP_STAT_NCOUNTERS; i++)
	{
		values[i] = Int64GetDatum((int64) counters[i]);
		nulls[i] = index == NULL;
	}
	values[ECP_STAT_NCOUNTERS] = TimestampTzGetDatum(reset);
	nulls[ECP_STAT_NCOUNTERS] = reset == 0;
	if (index)
		relation_close(index, AccessShareLock);
	PG_RETURN_DATUM(ecp_user_row(fcinfo, ECP_STAT_NCOUNTERS + 1, values, nulls));
}

PG_FUNCTION_INFO_V1(ecp_stat_reset);

/* ecp_stat_reset(index regclass): set all counters to zero. */
Datum
ecp_stat_reset(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	Relation	index;
	Datum		result;

	if (ecp_shards_call(fcinfo, true, NULL, &result))
		return result;
	index = ecp_user_index_open(fcinfo, AccessShareLock, ECP_INDEX_OWN,
								&ecp_index_kind);
	PreventCommandDuringRecovery("ecp_stat_reset()");
	if (stat_pending)
		stat_forget(oid);
	stat_page_create(index, GetCurrentTimestamp());
	relation_close(index, AccessShareLock);
	PG_RETURN_VOID();
}
