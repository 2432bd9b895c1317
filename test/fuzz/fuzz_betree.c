/*-------------------------------------------------------------------------
 *
 * fuzz_betree.c
 *	  A program of libFuzzer for the readers of betree pages.
 *
 * link: src/betree/page/betree_page.c src/betree/page/betree_node.c
 * link: src/betree/page/betree_block.c src/betree/tree/betree_walk.c
 * link: src/betree/order/betree_key.c src/betree/page/betree_entry.c
 * link: src/betree/tree/betree_descend.c src/betree/log/betree_log.c
 * link: src/betree/log/betree_log_cache.c
 * link: src/betree/order/betree_hash.c src/betree/log/betree_filter.c
 * link: src/betree/scan/betree_step.c src/betree/scan/betree_quals.c
 * link: src/betree/log/betree_bloom.c src/betree/scan/betree_merge.c
 * link: src/betree/page/betree_posting.c src/betree/scan/betree_collect.c
 * link: src/base/core_buffer.c
 *
 *-------------------------------------------------------------------------
 */
#include "fuzz.h"

#include "access/generic_xlog.h"
#include "access/tupmacs.h"
#include "base/core.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "betree/scan/betree_scan_private.h"
#include "betree/tree/betree_tree.h"
#include "catalog/pg_type.h"
#include "storage/predicate.h"
#include "utils/builtins.h"

/* Columns of the indexes of test/torture/damage_betree.sql that we know. */
static const struct
{
	const char *name;
	int			nkeys;
	Oid			types[3];		/* 0 behind the last */
}			definitions[] =

{
	{"betree_numbers_i", 1, {INT8OID}},
	{"betree_texts_i", 2, {TEXTOID, INT8OID}},
	{"betree_filtered_i", 1, {INT8OID, TEXTOID}},
	{"betree_bloomed_i", 1, {INT8OID}},
	{"betree_plain_i", 1, {TEXTOID}},
	{"betree_equal_i", 1, {INT2OID}},
	{"betree_long_i", 1, {TEXTOID}},
	{"betree_empty_i", 1, {INT8OID}}
};

static BetreeRel bt;
static FmgrInfo compare[INDEX_MAX_KEYS];
static int16 options[INDEX_MAX_KEYS];
static Oid	collations[INDEX_MAX_KEYS];

bool
fuzz_accepts(const char *name)
{
	for (int i = 0; i < lengthof(definitions); i++)
		if (strcmp(definitions[i].name, name) == 0)
			return true;
	return false;
}

static Datum fuzz_compare(PG_FUNCTION_ARGS);

void
fuzz_define(void)
{
	static TupleDesc tupdesc;
	static FormData_pg_index index;
	int			which = 0;
	int			natts = 0;

	while (strcmp(definitions[which].name, fuzz_file->name) != 0)
		which++;
	tupdesc = calloc(1, offsetof(struct TupleDescData, attrs) +
					 3 * sizeof(FormData_pg_attribute));
	while (natts < 3 && definitions[which].types[natts] != 0)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, natts);
		Oid			type = definitions[which].types[natts];

		att->atttypid = type;
		att->attlen = type == TEXTOID ? -1 : type == INT8OID ? 8 : 2;
		att->attbyval = type != TEXTOID;
		att->attalign = type == INT8OID ? TYPALIGN_DOUBLE :
			type == TEXTOID ? TYPALIGN_INT : TYPALIGN_SHORT;
		att->attcacheoff = -1;
		natts++;
	}
	tupdesc->natts = natts;
	memset(&bt, 0, sizeof(bt));
	bt.rel = &fuzz_relation;
	bt.tupdesc = tupdesc;
	bt.natts = natts;
	bt.nkeyatts = definitions[which].nkeys;
	bt.fillfactor = 90;
	bt.log_pages = 4;
	bt.log_levels = 2;
	bt.tuple_width = 32;
	for (int i = 0; i < natts; i++)
	{
		compare[i].fn_oid = definitions[which].types[i];
		compare[i].fn_addr = fuzz_compare;
		bt.cmp[i] = &compare[i];
	}
	fuzz_relation.rd_att = tupdesc;
	fuzz_relation.rd_index = &index;
	fuzz_relation.rd_indoption = options;
	fuzz_relation.rd_indcollation = collations;
}

/* ---- what the server has for tuples ---- */

Datum
FunctionCall2Coll(FmgrInfo *flinfo, Oid collation, Datum a, Datum b)
{
	struct varlena *s = (struct varlena *) DatumGetPointer(a);
	struct varlena *t = (struct varlena *) DatumGetPointer(b);
	int			order;

	if (flinfo->fn_oid != TEXTOID)
		return Int32GetDatum(DatumGetInt64(a) < DatumGetInt64(b) ? -1 :
							 DatumGetInt64(a) > DatumGetInt64(b));
	/* core's decompression is its own matter */
	if (VARATT_IS_EXTENDED(s) && !VARATT_IS_SHORT(s))
		return Int32GetDatum(-1);
	if (VARATT_IS_EXTENDED(t) && !VARATT_IS_SHORT(t))
		return Int32GetDatum(1);
	order = memcmp(VARDATA_ANY(s), VARDATA_ANY(t),
				   Min(VARSIZE_ANY_EXHDR(s), VARSIZE_ANY_EXHDR(t)));
	return Int32GetDatum(order != 0 ? order :
						 (int) VARSIZE_ANY_EXHDR(s) - (int) VARSIZE_ANY_EXHDR(t));
}

/* The same, for who calls the function itself */
static Datum
fuzz_compare(PG_FUNCTION_ARGS)
{
	return FunctionCall2Coll(fcinfo->flinfo, PG_GET_COLLATION(), PG_GETARG_DATUM(0),
							 PG_GETARG_DATUM(1));
}

/* As core has it, without offsets that are remembered. */
Datum
nocache_index_getattr(IndexTuple tup, int attnum, TupleDesc tupdesc)
{
	char	   *data = (char *) tup + IndexInfoFindDataOffset(tup->t_info);
	bits8	   *nulls = IndexTupleHasNulls(tup) ?
		(bits8 *) ((char *) tup + sizeof(IndexTupleData)) : NULL;
	int			offset = 0;

	for (int i = 0;; i++)
	{
		Form_pg_attribute att = TupleDescAttr(tupdesc, i);

		if (nulls && att_isnull(i, nulls))
			continue;
		if (att->attlen == -1)
			offset = att_align_pointer(offset, att->attalign, -1, data + offset);
		else
			offset = att_align_nominal(offset, att->attalign);
		if (i == attnum - 1)
			return fetchatt(att, data + offset);
		offset = att_addlength_pointer(offset, att->attlen, data + offset);
	}
}

IndexTuple
CopyIndexTuple(IndexTuple source)
{
	return memcpy(palloc(IndexTupleSize(source)), source, IndexTupleSize(source));
}

/* ---- what the server has for those functions that write ---- */

struct GenericXLogState
{
	int			npages;
	Buffer		buf[MAX_GENERIC_XLOG_PAGES];
	PGAlignedBlock page[MAX_GENERIC_XLOG_PAGES];
};

GenericXLogState *
GenericXLogStart(Relation relation)
{
	return palloc0(sizeof(GenericXLogState));
}

Page
GenericXLogRegisterBuffer(GenericXLogState *state, Buffer buffer, int flags)
{
	int			i = state->npages++;

	if (i >= MAX_GENERIC_XLOG_PAGES)
		fuzz_finding("more pages than a record takes");
	if (!ecp_buffer_is_locked(buffer))
		fuzz_finding("a page is written that is not locked");
	state->buf[i] = buffer;
	memcpy(state->page[i].data, BufferGetPage(buffer), BLCKSZ);
	return state->page[i].data;
}

XLogRecPtr
GenericXLogFinish(GenericXLogState *state)
{
	for (int i = 0; i < state->npages; i++)
		memcpy(BufferGetPage(state->buf[i]), state->page[i].data, BLCKSZ);
	pfree(state);
	return 1;
}

/* Every lookup asks the Bloom filter. */
bool
betree_rel_bloom_choose(Relation rel)
{
	return true;
}

void
betree_rel_bloom_learn(Relation rel, bool excluded)
{
}

/* No transaction is serializable. */
void
PredicateLockPage(Relation relation, BlockNumber blkno, Snapshot snapshot)
{
}

/* The file does not grow. */
BlockNumber
GetFreeIndexPage(Relation rel)
{
	betree_page_report_item(NULL);
}

void
PageInit(Page page, Size pageSize, Size specialSize)
{
	PageHeader	header = (PageHeader) page;

	memset(page, 0, pageSize);
	header->pd_lower = SizeOfPageHeaderData;
	header->pd_upper = header->pd_special = pageSize - MAXALIGN(specialSize);
	PageSetPageSizeAndVersion(page, pageSize, PG_PAGE_LAYOUT_VERSION);
}

/* Behind the last item */
OffsetNumber
PageAddItemExtended(Page page, Item item, Size size, OffsetNumber off, int flags)
{
	PageHeader	header = (PageHeader) page;

	if (header->pd_upper < header->pd_lower + sizeof(ItemIdData) + MAXALIGN(size))
		return InvalidOffsetNumber;
	header->pd_upper -= MAXALIGN(size);
	header->pd_lower += sizeof(ItemIdData);
	memcpy((char *) page + header->pd_upper, item, size);
	ItemIdSetNormal(PageGetItemId(page, off), header->pd_upper, size);
	return off;
}

/* ---- reading ---- */

/* VACUUM that finds every third row dead, but changes nothing. */
static void
remove_rows(IndexTuple itup)
{
	BetreeRemoval *removal = palloc(sizeof(BetreeRemoval));
	bool		dead[BETREE_POSTING_MAX_ROWS];

	for (int i = 0; i < BETREE_POSTING_MAX_ROWS; i++)
		dead[i] = i % 3 == 0;
	removal->ndead = removal->nshrunk = 0;
	betree_posting_removal_add(removal, 1, itup, dead);
	if (removal->nshrunk > 0 &&
		IndexTupleSize(removal->left[0]) > IndexTupleSize(itup))
		fuzz_finding("a posting grows by what is removed from it");
	pfree(removal);
}

/* All leaves with what the logs hold for them, level by level. */
static void
walk_level(int level, BetreeLogCache *cache, BetreeBatch *batch)
{
	IndexTuple	low = betree_node_infinite_pivot(false);

	for (int n = 0; n < fuzz_file->nblocks && BetreePivotGetNatts(low) != BETREE_NATTS_PLUSINF; n++)
	{
		BetreeKey	key;
		Buffer		nodebuf;
		Page		node;

		betree_key_from_pivot(&bt, low, &key);
		nodebuf = betree_descend(&bt, &key, false, level, BUFFER_LOCK_SHARE,
								 NULL, NULL);
		node = BufferGetPage(nodebuf);
		if (BetreePageGetOpaque(node)->bteo_level < level)
		{
			UnlockReleaseBuffer(nodebuf);
			return;
		}
		betree_log_check_order(node);
		for (int child = 0; child < BetreeNodeNumChildren(node); child++)
		{
			BlockNumber blkno = BetreePivotGetChild(BetreeNodeGetPivot(node, child));
			Buffer		buf;
			Page		page;

			betree_log_gather(&bt, node, child, BETREE_LOG_MAX_SPACE,
							  BETREE_LOG_MAX_ITEMS, cache, batch);
			if (level > 1)
				continue;
			if (blkno >= fuzz_file->nblocks)
				continue;
			buf = betree_block_read(bt.rel, blkno, BUFFER_LOCK_SHARE, BETREE_LEAF);
			page = BufferGetPage(buf);
			for (OffsetNumber off = 1; off <= PageGetMaxOffsetNumber(page); off++)
			{
				betree_key_verify_tuple(&bt, BetreePageGetTuple(page, off));
				(void) betree_key_item_complaint(&bt, page, off);
				remove_rows(BetreePageGetTuple(page, off));
			}
			UnlockReleaseBuffer(buf);
		}
		low = CopyIndexTuple(BetreeNodeGetHikey(node));
		betree_log_cache_release(cache);
		UnlockReleaseBuffer(nodebuf);
	}
}

static void
walk(void *arg)
{
	BetreeLogCache cache;
	BetreeBatch batch;
	Buffer		root = betree_block_read(bt.rel, BETREE_ROOT_BLKNO, BUFFER_LOCK_SHARE, BETREE_NODE);
	int			height = BetreePageGetOpaque(BufferGetPage(root))->bteo_level;

	UnlockReleaseBuffer(root);
	betree_log_cache_init(&cache);
	betree_log_batch_init(&batch, BETREE_NCAP_MAX);
	for (int level = height; level > 0; level--)
		walk_level(level, &cache, &batch);
}

/* How to scan: bits of a choice. */
#define SCAN_BACKWARD	0x80
#define SCAN_NOT_MVCC	0x01
#define SCAN_NO_TUPLES	0x02
#define SCAN_FROM		0x04	/* from an item of a page, or up to it */
#define SCAN_TO			0x08
#define SCAN_HASHED		0x10

typedef struct ScanChoice
{
	uint8		how;
	BlockNumber blk;			/* with the item */
}			ScanChoice;

static uint32 filter_id(void);

/* An item of a page as a bound, if it has any. */
static void
bound_from_page(BlockNumber blk, BetreeKey *key)
{
	Buffer		buf = ReadBuffer(bt.rel, blk);
	Page		page = BufferGetPage(buf);
	int			kind = BetreePageGetOpaque(page)->bteo_kind;

	if (kind == BETREE_LEAF || kind == BETREE_LOG)
	{
		betree_block_verify_page(bt.rel, buf, kind, -1);
		if (PageGetMaxOffsetNumber(page) > 0)
			betree_key_from_tuple(&bt, CopyIndexTuple(BetreePageGetTuple(page, (PageGetMaxOffsetNumber(page) + 1) / 2)),
								  key);
	}
	ReleaseBuffer(buf);
}

/* A scan, as betree_scan.c makes it, of everything or up to an item. */
static void
scan(void *arg)
{
	ScanChoice *choice = (ScanChoice *) arg;
	ScanDirection dir = choice->how & SCAN_BACKWARD ? BackwardScanDirection : ForwardScanDirection;
	BetreeScanOpaque so = palloc0(sizeof(BetreeScanOpaqueData));
	IndexTuple	from = NULL;

	so->bt = bt;
	so->mvcc = !(choice->how & SCAN_NOT_MVCC);
	so->interlock = !(choice->how & SCAN_NO_TUPLES);
	so->context = CurrentMemoryContext;
	so->quals.context = so->quals.hash_context = CurrentMemoryContext;
	so->reader.nodebuf = InvalidBuffer;
	so->reader.walk_dir = NoMovementScanDirection;
	so->reader.messages.guard = InvalidBuffer;
	so->reader.messages.context = CurrentMemoryContext;
	so->quals.upper.after = true;
	if (choice->how & SCAN_FROM)
		bound_from_page(choice->blk, &so->quals.lower);
	if (choice->how & SCAN_TO)
		bound_from_page(choice->blk, &so->quals.upper);
	/* only a scan for one key asks filters */
	so->quals.hashed = (choice->how & SCAN_HASHED) != 0 &&
		so->quals.lower.nkeys == bt.nkeyatts;
	so->quals.hash.own.id = filter_id();
	so->quals.hash_value = choice->blk * UINT64CONST(0x9E3779B97F4A7C15);
	betree_step_begin(so);
	so->begun = true;
	for (int n = 0; n < 4 * fuzz_file->nblocks; n++)
	{
		BetreeScanPage *page = palloc0(sizeof(BetreeScanPage));

		page->pin = page->guard = InvalidBuffer;
		page->context = CurrentMemoryContext;
		if (!betree_step_read(so, page, from, dir))
			break;
		betree_step_page_unpin(page);
		if (ScanDirectionIsForward(dir) ?
			BetreePivotGetNatts(page->high) == BETREE_NATTS_PLUSINF :
			BetreePivotGetNatts(page->low) == 0)
			break;
		from = ScanDirectionIsForward(dir) ? page->high : page->low;
	}
	betree_step_forget(so);
}

/* The identity of the hash functions that filters and Bloom pages were made with. */
static uint32
filter_id(void)
{
	for (BlockNumber blk = 0; blk < fuzz_file->nblocks; blk++)
	{
		BetreePageOpaque opaque = BetreePageGetOpaque(fuzz_file->pages + (Size) blk * BLCKSZ);

		if (opaque->bteo_kind == BETREE_FILTER || opaque->bteo_kind == BETREE_BLOOM)
			return opaque->bteo_hash_id;
	}
	return 0;
}

/* The filters of a node, and the Bloom filters of its leaves. */
static void
probe(void *arg)
{
	BlockNumber blk = *(BlockNumber *) arg;
	Buffer		buf = betree_block_read(bt.rel, blk, BUFFER_LOCK_SHARE, BETREE_NODE);
	uint32		id = filter_id();

	for (uint64 i = 0; i < 16; i++)
	{
		uint16		from;
		bool		hit[BETREE_FILTER_HITS];

		(void) betree_filter_probe(&bt, BufferGetPage(buf), id,
								   i * UINT64CONST(0x9E3779B97F4A7C15),
								   &from, hit);
		if (i < BetreeNodeNumChildren(BufferGetPage(buf)))
			(void) betree_bloom_excludes(&bt, BufferGetPage(buf),
										 BetreeNodeGetChild(BufferGetPage(buf), (int) i),
										 id, i * UINT64CONST(0x9E3779B97F4A7C15));
	}
	for (int at = 0; at < BetreePageGetOpaque(BufferGetPage(buf))->bteo_ndir; at++)
	{
		if (BetreeDirIsBloom(BetreeNodeGetDir(BufferGetPage(buf)) + at))
			(void) betree_bloom_complaint(&bt, BufferGetPage(buf), at);
	}
	UnlockReleaseBuffer(buf);
}

void
fuzz_read(const uint8 *choices, size_t nchoices)
{
	BlockNumber blk = BETREE_ROOT_BLKNO;
	ScanChoice	choice;

	(void) fuzz_try(walk, NULL);
	choice.how = choices[0];
	choice.blk = (choices[1] | choices[2] << 8) % fuzz_file->nblocks;
	(void) fuzz_try(scan, &choice);
	(void) fuzz_try(probe, &blk);
	blk = (choices[1] | choices[2] << 8) % fuzz_file->nblocks;
	(void) fuzz_try(probe, &blk);
}
