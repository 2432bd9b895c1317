/*-------------------------------------------------------------------------
 *
 * betree_inspect.c
 *	  What is in an index, as SQL rows.
 *
 * betree_metapage_info, betree_node_info and betree_page_items show single
 * pages; betree_index_stats adds up all nodes; betree_flush moves all
 * messages to the leaves.  All read under share locks, page by page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "base/compat.h"
#include "base/user_index.h"
#include "betree/define/betree_define.h"
#include "betree/ingest/betree_ingest.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/tree/betree_tree.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

/* Open an index for a function's caller; false if it is monitored and not valid */
static bool
open_index(FunctionCallInfo fcinfo, LOCKMODE lockmode, bool monitored, BetreeRel *bt)
{
	Relation	index = monitored ?
		ecp_user_index_open_monitored(fcinfo, &betree_options_index_kind) :
		ecp_user_index_open(fcinfo, lockmode, ECP_INDEX_OWN, &betree_options_index_kind,
							NULL);

	if (index != NULL)
	{
		betree_held_send(RelationGetRelid(index));
		betree_rel_open(bt, index);
	}
	return index != NULL;
}

static const char *
kind_name(int kind)
{
	static const char *const names[] = {
		"unknown", "meta", "node", "leaf", "log", "filter", "free", "bloom"
	};

	return kind > 0 && kind < lengthof(names) ? names[kind] : names[0];
}

/* Read a block that the user named; share-locked */
static Buffer
read_user_block(BetreeRel *bt, int64 blkno)
{
	Buffer		buf;
	Page		page;

	if (blkno < 0 || blkno >= RelationGetNumberOfBlocks(bt->rel))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("block number %lld is out of range",
						(long long) blkno)));
	buf = ReadBuffer(bt->rel, (BlockNumber) blkno);
	LockBuffer(buf, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buf);
	if (!PageIsNew(page))
		betree_block_verify_page(bt->rel, buf, BetreePageGetOpaque(page)->bteo_kind, -1);
	return buf;
}

PG_FUNCTION_INFO_V1(betree_metapage_info);

/* betree_metapage_info(index) returns record */
Datum
betree_metapage_info(PG_FUNCTION_ARGS)
{
	BetreeRel	bt;
	BetreeMetaPageData meta;
	Buffer		buf;
	Datum		values[6];
	bool		nulls[6] = {0};
	Datum		row;

	if (!open_index(fcinfo, AccessShareLock, true, &bt))
		PG_RETURN_NULL();
	buf = betree_block_read(bt.rel, BETREE_META_BLKNO, BUFFER_LOCK_SHARE, BETREE_META);
	meta = *BetreePageGetMeta(BufferGetPage(buf));
	UnlockReleaseBuffer(buf);
	values[0] = CStringGetTextDatum(psprintf("%08X", meta.btem_magic));
	values[1] = Int32GetDatum(meta.btem_version);
	values[2] = Int32GetDatum(meta.btem_nkeyatts);
	values[3] = Int32GetDatum(meta.btem_natts);
	values[4] = Int32GetDatum(meta.btem_tuple_width);
	values[5] = Int32GetDatum(betree_descend_height(&bt));
	row = ecp_user_row(fcinfo, lengthof(values), values, nulls);
	relation_close(bt.rel, AccessShareLock);
	PG_RETURN_DATUM(row);
}

PG_FUNCTION_INFO_V1(betree_node_info);

/* betree_node_info(index, blkno) returns record */
Datum
betree_node_info(PG_FUNCTION_ARGS)
{
	BetreeRel	bt;
	Buffer		buf;
	Page		page;
	Datum		values[10] = {0};
	bool		nulls[10];
	Datum		row;

	(void) open_index(fcinfo, AccessShareLock, false, &bt);
	buf = read_user_block(&bt, PG_GETARG_INT64(1));
	page = BufferGetPage(buf);
	memset(nulls, true, sizeof(nulls));
	values[0] = CStringGetTextDatum("new");
	nulls[0] = false;
	if (!PageIsNew(page))
	{
		BetreePageOpaque opaque = BetreePageGetOpaque(page);

		values[0] = CStringGetTextDatum(kind_name(opaque->bteo_kind));
		values[1] = Int32GetDatum(opaque->bteo_level);
		values[2] = Int32GetDatum(opaque->bteo_kind == BETREE_NODE ?
								  BetreeNodeNumChildren(page) :
								  opaque->bteo_kind == BETREE_BLOOM ?
								  betree_bloom_count_slots(page) :
								  betree_page_nitems(page));
		values[3] = Int32GetDatum(PageGetExactFreeSpace(page));
		values[4] = Int64GetDatum(opaque->bteo_seq);
		nulls[1] = nulls[2] = nulls[3] = nulls[4] = false;
		if (opaque->bteo_kind == BETREE_LOG)
		{
			values[5] = Int32GetDatum(opaque->bteo_nsorted);
			nulls[5] = false;
		}
		if (opaque->bteo_kind == BETREE_NODE)
		{
			values[6] = Int32GetDatum(opaque->bteo_ncap);
			values[7] = Int32GetDatum(opaque->bteo_nlog);
			values[8] = Int32GetDatum(opaque->bteo_ndir);
			values[9] = Int64GetDatum(opaque->bteo_drain);
			nulls[6] = nulls[7] = nulls[8] = nulls[9] = false;
		}
	}
	UnlockReleaseBuffer(buf);
	row = ecp_user_row(fcinfo, lengthof(values), values, nulls);
	relation_close(bt.rel, AccessShareLock);
	PG_RETURN_DATUM(row);
}

/* The key attributes of a tuple as text, as pageinspect would say */
static char *
tuple_text(BetreeRel *bt, IndexTuple itup, int natts)
{
	StringInfoData str;

	initStringInfo(&str);
	for (int i = 0; i < natts; i++)
	{
		bool		isnull;
		Datum		value = betree_key_getattr(bt, itup, i + 1, &isnull);
		Oid			typoutput;
		bool		isvarlena;

		if (i > 0)
			appendStringInfoString(&str, ", ");
		if (isnull)
		{
			appendStringInfoString(&str, "null");
			continue;
		}
		getTypeOutputInfo(TupleDescAttr(bt->tupdesc, i)->atttypid, &typoutput,
						  &isvarlena);
		appendStringInfoString(&str, OidOutputFunctionCall(typoutput, value));
	}
	return str.data;
}

/* One row of betree_page_items */
static void
put_item(BetreeRel *bt, ReturnSetInfo *rsinfo, Page page, OffsetNumber off)
{
	IndexTuple	itup = BetreePageGetTuple(page, off);
	Datum		values[8] = {0};
	bool		nulls[8] = {0};

	values[0] = Int32GetDatum(off);
	values[1] = Int32GetDatum(IndexTupleSize(itup));
	if (BetreePageGetOpaque(page)->bteo_kind == BETREE_NODE)
	{
		int			natts = betree_key_pivot_natts(bt, itup);

		values[2] = Int64GetDatum(BetreePivotGetChild(itup));
		nulls[2] = off == BETREE_HIKEY;
		values[3] = Int32GetDatum(BetreePivotGetMarker(itup));
		nulls[3] = off == BETREE_HIKEY;
		values[4] = Int32GetDatum(natts);
		nulls[4] = natts == BETREE_NATTS_PLUSINF;
		if (BetreePivotHasTid(itup))
			values[5] = PointerGetDatum(BetreePivotGetTid(itup));
		else
			nulls[5] = true;
		nulls[6] = true;
		values[7] = natts == BETREE_NATTS_PLUSINF ?
			CStringGetTextDatum("infinity") :
			CStringGetTextDatum(tuple_text(bt, itup, natts));
	}
	else
	{
		nulls[2] = nulls[3] = true;
		values[4] = Int32GetDatum(bt->natts);
		values[5] = PointerGetDatum(&itup->t_tid);
		values[6] = Int32GetDatum(betree_posting_nrows(itup));
		values[7] = CStringGetTextDatum(tuple_text(bt, itup, bt->natts));
	}
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

PG_FUNCTION_INFO_V1(betree_page_items);

/* betree_page_items(index, blkno) returns setof record */
Datum
betree_page_items(PG_FUNCTION_ARGS)
{
	BetreeRel	bt;
	Buffer		buf;
	PGAlignedBlock copy;
	int			kind;

	(void) open_index(fcinfo, AccessShareLock, false, &bt);
	buf = read_user_block(&bt, PG_GETARG_INT64(1));

	/* output functions run without the page's lock */
	memcpy(copy.data, BufferGetPage(buf), BLCKSZ);
	UnlockReleaseBuffer(buf);

	InitMaterializedSRF(fcinfo, 0);
	if (!PageIsNew(copy.data))
	{
		kind = BetreePageGetOpaque(copy.data)->bteo_kind;
		if (kind == BETREE_NODE || kind == BETREE_LEAF || kind == BETREE_LOG)
		{
			for (OffsetNumber off = 1; off <= betree_page_nitems(copy.data);
				 off++)
				put_item(&bt, (ReturnSetInfo *) fcinfo->resultinfo, copy.data,
						 off);
		}
	}
	relation_close(bt.rel, AccessShareLock);
	return (Datum) 0;
}

typedef struct IndexStats
{
	int64		nodes;
	int64		leaves;
	int64		pages_in_logs;	/* sealed and tails */
	int64		spare_pages;
	int64		messages_in_logs;	/* messages in logs */
	int64		draining;		/* nodes with a drain under way */
	int64		messages;		/* moved so far */
	int64		flushes;
	int64		leaf_messages;	/* of these, by nodes of level 1 */
	int64		leaf_flushes;
	int64		histogram[BETREE_HISTOGRAM_SIZE];
	int64		lost_pages;		/* in a crash, until VACUUM frees them */
	int64		bloom_pages;
	BetreeBlockSet visited;
} IndexStats;

/* Add up one node, which is share-locked */
static void
add_node(BetreeRel *bt, Buffer nodebuf, IndexStats *stats,
		 BetreeLogCache *cache, BetreeBatch *batch)
{
	Page		node = BufferGetPage(nodebuf);
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeCounters counters = BetreeNodeGetCounters(node);
	BetreeDirEntry *tail = BetreeNodeGetDir(node) + opaque->bteo_nlog;

	stats->nodes++;
	betree_block_set_add(&stats->visited, BufferGetBlockNumber(nodebuf));
	for (int i = 0; i < opaque->bteo_ndir; i++)
		betree_block_set_add(&stats->visited,
							 BetreeNodeGetDir(node)[i].bted_block);
	stats->pages_in_logs += opaque->bteo_nlog;
	stats->spare_pages += opaque->bteo_ndir - opaque->bteo_nlog -
		betree_node_nfilters(node) - betree_node_nblooms(node);
	stats->bloom_pages += betree_node_nblooms(node);
	stats->draining += opaque->bteo_drain != 0;
	stats->messages += counters->btec_messages;
	for (int i = 0; i < BETREE_HISTOGRAM_SIZE; i++)
	{
		stats->flushes += counters->btec_flushes[i];
		if (opaque->bteo_level == 1)
		{
			stats->histogram[i] += counters->btec_flushes[i];
			stats->leaf_flushes += counters->btec_flushes[i];
		}
	}
	if (opaque->bteo_level == 1)
	{
		stats->leaves += BetreeNodeNumChildren(node);
		stats->leaf_messages += counters->btec_messages;
	}
	betree_log_check_order(node);
	for (int child = 0; child < BetreeNodeNumChildren(node); child++)
	{
		betree_block_set_add(&stats->visited,
							 BetreeNodeGetChild(node, child));
		betree_log_gather(bt, node, child, BETREE_LOG_MAX_SPACE,
						  BETREE_LOG_MAX_ITEMS, cache, batch);
		stats->messages_in_logs += batch->nitems;
	}
	for (int i = 0; i < betree_node_ntails(node); i++)
	{
		Buffer		buf = betree_block_read(bt->rel, tail[i].bted_block,
											BUFFER_LOCK_SHARE, BETREE_LOG);

		stats->messages_in_logs += betree_page_nitems(BufferGetPage(buf));
		stats->pages_in_logs++;
		stats->spare_pages--;
		UnlockReleaseBuffer(buf);
	}
}

/* Add up all nodes of a level */
static void
add_level(BetreeRel *bt, int level, IndexStats *stats)
{
	BetreeLevelWalk nodes;
	BetreeLogCache cache;
	BetreeBatch batch;
	Buffer		nodebuf;

	betree_log_cache_init(&cache);
	betree_log_batch_init(&batch, BETREE_NCAP_MAX);
	betree_walk_level(&nodes, level);
	while ((nodebuf = betree_walk_node(bt, &nodes, BUFFER_LOCK_SHARE)) != InvalidBuffer)
	{
		add_node(bt, nodebuf, stats, &cache, &batch);
		betree_walk_past(bt, &nodes, nodebuf);
		UnlockReleaseBuffer(nodebuf);
	}
	betree_log_cache_release(&cache);
}

/* Count pages that nothing refers to and that are older than "start" */
static void
count_lost_pages(BetreeRel *bt, IndexStats *stats, XLogRecPtr start)
{
	for (BlockNumber blkno = 1; blkno < stats->visited.nblocks; blkno++)
	{
		Buffer		buf;

		CHECK_FOR_INTERRUPTS();
		if (betree_block_set_has(&stats->visited, blkno))
			continue;
		buf = ReadBuffer(bt->rel, blkno);
		LockBuffer(buf, BUFFER_LOCK_SHARE);
		if (betree_page_is_lost(bt->rel, BufferGetPage(buf), start))
			stats->lost_pages++;
		UnlockReleaseBuffer(buf);
	}
}

PG_FUNCTION_INFO_V1(betree_index_stats);

/* betree_index_stats(index) returns record */
Datum
betree_index_stats(PG_FUNCTION_ARGS)
{
	BetreeRel	bt;
	IndexStats	stats = {0};
	int			height;
	Datum		buckets[BETREE_HISTOGRAM_SIZE];
	XLogRecPtr	start = RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) :
		GetXLogInsertRecPtr();
	Datum		values[16];
	bool		nulls[16] = {0};
	Datum		row;

	if (!open_index(fcinfo, AccessShareLock, true, &bt))
		PG_RETURN_NULL();
	height = betree_descend_height(&bt);
	betree_block_set_init(&stats.visited, RelationGetNumberOfBlocks(bt.rel));
	betree_entry_begin(bt.rel);
	for (int level = height; level >= 1; level--)
		add_level(&bt, level, &stats);
	betree_entry_end(bt.rel);
	count_lost_pages(&bt, &stats, start);
	for (int i = 0; i < BETREE_HISTOGRAM_SIZE; i++)
		buckets[i] = Int64GetDatum(stats.histogram[i]);

	values[0] = Int32GetDatum(height);
	values[1] = Int64GetDatum(stats.nodes);
	values[2] = Int64GetDatum(stats.leaves);
	values[3] = Int64GetDatum(stats.pages_in_logs);
	values[4] = Int64GetDatum(stats.spare_pages);
	values[5] = Int64GetDatum(stats.visited.nblocks);
	values[6] = Int64GetDatum(stats.messages_in_logs);
	values[7] = Int64GetDatum(stats.draining);
	values[8] = Int64GetDatum(stats.messages);
	values[9] = Int64GetDatum(stats.flushes);
	values[10] = Float8GetDatum(stats.leaf_flushes == 0 ? 0.0 :
								(double) stats.leaf_messages / stats.leaf_flushes);
	nulls[10] = stats.leaf_flushes == 0;
	values[11] = PointerGetDatum(construct_array(buckets, BETREE_HISTOGRAM_SIZE,
												 INT8OID, sizeof(int64),
												 FLOAT8PASSBYVAL,
												 TYPALIGN_DOUBLE));
	/* pages written to the leaves for each page of messages that got there */
	values[12] = Float8GetDatum(stats.leaf_messages == 0 ? 0.0 :
								(double) stats.leaf_flushes * BLCKSZ /
								((double) stats.leaf_messages * bt.tuple_width));
	nulls[12] = stats.leaf_messages == 0;
	values[13] = Int32GetDatum(bt.log_pages);
	values[14] = Int64GetDatum(stats.lost_pages);
	values[15] = Int64GetDatum(stats.bloom_pages);
	row = ecp_user_row(fcinfo, lengthof(values), values, nulls);
	relation_close(bt.rel, AccessShareLock);
	PG_RETURN_DATUM(row);
}

PG_FUNCTION_INFO_V1(betree_flush);

/* betree_flush(index) returns void */
Datum
betree_flush(PG_FUNCTION_ARGS)
{
	BetreeRel	bt;

	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("recovery is in progress"),
				 errhint("Messages cannot be moved during recovery.")));
	(void) open_index(fcinfo, RowExclusiveLock, false, &bt);
	betree_entry_begin(bt.rel);
	betree_drain_all(&bt);
	betree_entry_end(bt.rel);
	relation_close(bt.rel, RowExclusiveLock);
	PG_RETURN_VOID();
}
