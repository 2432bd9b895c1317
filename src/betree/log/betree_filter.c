/*-------------------------------------------------------------------------
 *
 * betree_filter.c
 *	  Fingerprints of the sealed log pages, for lookups by equality.
 *
 * A lookup would have to look for its key in every page of a node's log.  A
 * node with a long log therefore has FILTER pages: for each item of a sealed
 * page a fingerprint of 19 bits of the key's hash.  The hash also chooses which
 * of the node's F filter pages that is on.  The fingerprints of one sealed page
 * are a group; what is searched of it is the bucket that 3 of the bits choose,
 * so the entry of an item takes 16 bits.  A lookup with = on all key columns reads
 * one filter page, and then only the log pages that it names for its hash; and
 * the tail, which is not in the filter.  Of a hundred lookups one reads a log
 * page for nothing.
 *
 * A false fingerprint costs a page read, nothing else: so they are not
 * deleted one by one, and those of a seal are written page by page, in
 * records of their own, before the record of the seal.  None is missing for
 * the pages that a filter covers: those newer than the number in its directory
 * entry.  A seal whose fingerprints found no room raises that number, and so does
 * a drop, as it raises the markers of the children.  When a filter page is full,
 * the groups of pages that it does not cover are removed; these are most of
 * them, because a drain retires all pages of a log together.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "base/core.h"
#include "base/core_wal.h"
#include "base/stop_point.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"

/*
 * Number of sealed pages from which on filter pages pay; the root gets them
 * then.  Other nodes get theirs with their first seal, because a filter does
 * not have what was sealed before it was there.
 */
#define FILTER_MIN_LOG		2

#define PART_BITS			16

/* Which of "nfilters" filter pages has the fingerprints of this hash */
#define filter_number(hash, nfilters) \
	((int) (((hash) >> 32) % (nfilters)))

#define part_of(hash)	((uint16) (hash))
#define bucket_of(hash) \
	((int) (((hash) >> PART_BITS) % BETREE_FILTER_BUCKETS))

/* Bytes that "nparts" fingerprints of a log page take on a filter page */
static int
groups_size(int nparts)
{
	int			ngroups = (nparts + BETREE_FILTER_GROUP_MAX - 1) / BETREE_FILTER_GROUP_MAX;

	return ngroups * BetreeFilterGroupSize(0) + nparts * (int) sizeof(uint16);
}

/*
 * betree_filter_pages
 *		Filter pages that a node with the present options should have.
 *
 * Room for the log that starts a drain, and a page that is sealed meanwhile.
 */
int
betree_filter_pages(BetreeRel *bt)
{
	int			tuples = BetreePageCapacity /
		(MAXALIGN(bt->tuple_width) + (int) sizeof(ItemIdData));
	int			npages = 1;

	if (bt->log_pages <= FILTER_MIN_LOG)
		return 0;
	tuples = Min(tuples, BETREE_LOG_PAGE_MAX_ITEMS);
	while (npages < BETREE_FILTER_PAGES_MAX &&
		   (bt->log_pages + 1) * groups_size((tuples + npages - 1) / npages) >
		   BETREE_FILTER_MAX_BYTES)
		npages++;
	return npages;
}

/* The group of a filter page behind another, or the first; NULL at the end */
static BetreeFilterGroup
next_group(Page page, BetreeFilterGroup group)
{
	char	   *end = (char *) page + ((PageHeader) page)->pd_lower;
	char	   *next = PageGetContents(page);

	if (group != NULL)
		next = (char *) group +
			BetreeFilterGroupSize(group->btef_ends[BETREE_FILTER_BUCKETS - 1]);
	if (next == end)
		return NULL;
	group = (BetreeFilterGroup) next;
	if (end - next < BetreeFilterGroupSize(0) ||
		end - next < BetreeFilterGroupSize(group->btef_ends[BETREE_FILTER_BUCKETS - 1]))
		betree_page_report_item(end);
	return group;
}

/*
 * betree_filter_complaint
 *		What is wrong with a filter page; NULL if nothing is.  For the checker.
 */
const char *
betree_filter_complaint(Page page)
{
	BetreeFilterGroup group = NULL;

	if (((PageHeader) page)->pd_lower - SizeOfPageHeaderData > BETREE_FILTER_MAX_BYTES)
		return "The filter page is too long.";
	while ((group = next_group(page, group)) != NULL)
	{
		for (int i = 1; i < BETREE_FILTER_BUCKETS; i++)
		{
			if (group->btef_ends[i] < group->btef_ends[i - 1])
				return "The buckets of the filter page overlap.";
		}
	}
	return NULL;
}

/* Is no sealed page covered by any of the node's filter pages? */
static bool
covers_nothing(Page node)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeDirEntry *dir = BetreeNodeGetDir(node);

	if (opaque->bteo_nlog == 0)
		return true;
	for (int i = 0; i < opaque->bteo_ndir; i++)
	{
		if (BetreeDirIsFilter(&dir[i]) &&
			BetreeSeqNewer(opaque->bteo_seq, dir[i].bted_seq))
			return false;
	}
	return true;
}

/*
 * Give the exclusively locked node the filter pages that it should have.
 *
 * Their number decides where an entry belongs, so it changes only while they
 * cover nothing.  Each page is a record; a crash in between leaves fewer,
 * which is as good.
 */
static void
add_filter_pages(BetreeRel *bt, Buffer nodebuf, BetreeHash *hash)
{
	int			nchildren = BetreeNodeNumChildren(BufferGetPage(nodebuf));
	int			wanted = betree_rel_log_pages(bt, nchildren) <= FILTER_MIN_LOG ?
		0 : betree_filter_pages(bt);

	for (;;)
	{
		Page		node = BufferGetPage(nodebuf);
		BetreePageOpaque opaque = BetreePageGetOpaque(node);
		int			nfilters = betree_node_nfilters(node);
		BetreeDirEntry *dir;
		Buffer		buf;
		GenericXLogState *state;
		Page		page;

		/* the log must keep the room that the options promise */
		if (nfilters >= wanted ||
			betree_node_log_capacity(node) < bt->log_pages + 4 ||
			opaque->bteo_ndir + 2 > opaque->bteo_ncap ||
			!covers_nothing(node))
			return;

		buf = betree_block_alloc(bt->rel);
		state = GenericXLogStart(bt->rel);
		node = GenericXLogRegisterBuffer(state, nodebuf, 0);
		opaque = BetreePageGetOpaque(node);
		dir = BetreeNodeGetDir(node);
		betree_node_add_dir(node, BufferGetBlockNumber(buf),
							BETREE_DIR_FILTER_NUMBER(nfilters), 0);
		for (int i = 0; i < opaque->bteo_ndir; i++)
		{
			if (BetreeDirIsFilter(&dir[i]))
				dir[i].bted_seq = (uint16) opaque->bteo_seq;
		}
		page = GenericXLogRegisterBuffer(state, buf, GENERIC_XLOG_FULL_IMAGE);
		betree_page_init(page, BETREE_FILTER, opaque->bteo_level, 0);
		BetreePageGetOpaque(page)->bteo_owner = BufferGetBlockNumber(nodebuf);
		BetreePageGetOpaque(page)->bteo_hash_id = hash->id;
		GenericXLogFinish(state);
		ECP_STOP_POINT("filter-added");
		UnlockReleaseBuffer(buf);
	}
}

/*
 * betree_filter_trim
 *		Free filter pages that the exclusively locked node should not have, and
 *		Bloom pages that leave its log no room.
 *
 * They are more than the options ask for now, or a split gave them to a node
 * whose directory is too short for them and a log: the log must have its
 * BETREE_NCAP_MIN entries.  Their number changes only while they cover
 * nothing, which is the case at the latest when the log is empty.
 */
void
betree_filter_trim(BetreeRel *bt, Buffer nodebuf)
{
	int			wanted = betree_filter_pages(bt);

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));

	for (;;)
	{
		Page		node = BufferGetPage(nodebuf);
		int			nfilters = betree_node_nfilters(node);
		BetreeDirEntry *entry;
		BlockNumber blkno;
		Buffer		buf;

		if (nfilters == 0 ||
			(nfilters <= wanted &&
			 betree_node_log_capacity(node) >= BETREE_NCAP_MIN) ||
			!covers_nothing(node))
			break;

		entry = betree_node_get_dir(node, BETREE_DIR_FILTER_NUMBER(nfilters - 1));
		blkno = entry->bted_block;
		buf = betree_block_read(bt->rel, blkno, BUFFER_LOCK_EXCLUSIVE, BETREE_FILTER);
		betree_log_free_page(bt, nodebuf, entry - BetreeNodeGetDir(node), buf);
		ECP_STOP_POINT("filter-freed");
		UnlockReleaseBuffer(buf);
		betree_block_free(bt->rel, blkno);
	}
	if (betree_node_log_capacity(BufferGetPage(nodebuf)) < BETREE_NCAP_MIN &&
		betree_node_nblooms(BufferGetPage(nodebuf)) > 0)
		betree_bloom_pages_drop(bt, nodebuf);
}

/*
 * Groups of a filter page that still count: of pages newer than "from", and
 * not newer than "upto".  Copies them to "kept", returns their size.
 */
static int
live_groups(Page page, uint16 from, uint16 upto, char *kept)
{
	BetreeFilterGroup group = NULL;
	int			length = 0;

	while ((group = next_group(page, group)) != NULL)
	{
		int			size = BetreeFilterGroupSize(group->btef_ends[BETREE_FILTER_BUCKETS - 1]);

		if (!BetreeSeqNewer(group->btef_seq, from) ||
			BetreeSeqNewer(group->btef_seq, upto))
			continue;
		memcpy(kept + length, group, size);
		length += size;
	}
	return length;
}

/* Make a group of the hashes of log page "seq"; returns its size. */
static int
form_group(BetreeFilterGroup group, const uint64 *hashes, int nhashes, uint32 seq)
{
	int			next[BETREE_FILTER_BUCKETS] = {0};
	int			end = 0;

	Assert(nhashes <= BETREE_FILTER_GROUP_MAX);

	for (int i = 0; i < nhashes; i++)
		next[bucket_of(hashes[i])]++;
	for (int bucket = 0; bucket < BETREE_FILTER_BUCKETS; bucket++)
	{
		int			begin = end;

		end += next[bucket];
		next[bucket] = begin;
		group->btef_ends[bucket] = (uint8) end;
	}
	for (int i = 0; i < nhashes; i++)
		group->btef_parts[next[bucket_of(hashes[i])]++] = part_of(hashes[i]);
	group->btef_seq = seq & BETREE_MARKER_MASK;
	return BetreeFilterGroupSize(nhashes);
}

/*
 * Make the groups that filter page "number" of "nfilters" gets of the hashes
 * of log page "seq"; returns their size.
 */
static int
form_groups(char *groups, const uint64 *hashes, int nhashes, int number,
			int nfilters, uint32 seq)
{
	uint64		chosen[BETREE_FILTER_GROUP_MAX];
	int			nchosen = 0;
	int			length = 0;

	for (int i = 0; i < nhashes; i++)
	{
		if (filter_number(hashes[i], nfilters) != number)
			continue;
		chosen[nchosen++] = hashes[i];
		if (nchosen == BETREE_FILTER_GROUP_MAX)
		{
			length += form_group((BetreeFilterGroup) (groups + length), chosen,
								 nchosen, seq);
			nchosen = 0;
		}
	}
	if (nchosen > 0)
		length += form_group((BetreeFilterGroup) (groups + length), chosen, nchosen,
							 seq);
	return length;
}

/*
 * Write groups into one filter page, given by its directory entry, in a
 * record by hand.  "upto" is the newest sealed page.  Returns false if the
 * page cannot take them.
 */
static bool
add_groups(BetreeRel *bt, BetreeDirEntry *entry, uint16 upto,
		   BetreeHash *hash, const char *added, int nadded)
{
	Buffer		buf = betree_block_read(bt->rel, entry->bted_block,
										BUFFER_LOCK_EXCLUSIVE, BETREE_FILTER);
	Page		page = BufferGetPage(buf);
	BetreePageOpaque opaque = BetreePageGetOpaque(page);
	char	   *groups = PageGetContents(page);
	int			nold = ((PageHeader) page)->pd_lower - (int) SizeOfPageHeaderData;
	bool		same_hash = opaque->bteo_hash_id == hash->id;
	bool		rewrite = !same_hash || nold + nadded > BETREE_FILTER_MAX_BYTES;
	int			first = rewrite ? 0 : nold;
	PGAlignedBlock kept;
	bool		fits;
	EcpDelta	delta;

	if (rewrite)
		nold = live_groups(page, entry->bted_seq, upto, kept.data);

	/* only a filter that covers nothing may change its hash functions */
	fits = nold + nadded <= BETREE_FILTER_MAX_BYTES &&
		(same_hash || !BetreeSeqNewer(upto, entry->bted_seq));
	if (!fits || (!rewrite && nadded == 0))
	{
		UnlockReleaseBuffer(buf);
		return fits;
	}

	ecp_delta_begin(&delta, bt->rel, ECP_DELTA_BYTES, buf, InvalidBuffer);
	if (rewrite)
		memcpy(groups, kept.data, nold);
	memcpy(groups + nold, added, nadded);
	((PageHeader) page)->pd_lower = groups + nold + nadded - (char *) page;
	opaque->bteo_hash_id = hash->id;
	ecp_delta_field(&delta, 0, ((PageHeader) page)->pd_lower);
	ecp_delta_bytes(&delta, 0, groups + first, nold + nadded - first);
	if (!same_hash)
		ecp_delta_field(&delta, 0, opaque->bteo_hash_id);
	ecp_delta_finish(&delta);
	ECP_STOP_POINT("filtered");
	UnlockReleaseBuffer(buf);
	return true;
}

/* Append the hashes of the items of a sorted page; returns their new number */
static int
hash_items(BetreeRel *bt, BetreeHash *hash, Page page, uint64 *hashes, int nhashes)
{
	for (OffsetNumber off = 1; off <= betree_page_nitems(page); off++)
	{
		uint64		value = betree_hash_tuple(bt, hash, BetreePageGetTuple(page, off));

		/* equal keys are neighbours */
		if (nhashes == 0 || hashes[nhashes - 1] != value)
			hashes[nhashes++] = value;
	}
	return nhashes;
}

/*
 * betree_filter_seal
 *		Put the fingerprints of pages that are about to be sealed as number "seq"
 *		into the filter pages of their node.
 *
 * Node and pages are exclusively locked, and the pages are sorted.  Sets
 * covered[i] for each filter page: the record of the seal must set bted_seq to
 * "seq" where that is false.
 */
void
betree_filter_seal(BetreeRel *bt, Buffer nodebuf, Buffer *bufs, int nbufs,
				   uint32 seq, bool *covered)
{
	Page		node = BufferGetPage(nodebuf);
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	BetreeHash *hash;
	int			nitems = 0;
	int			nfilters = betree_node_nfilters(node);
	uint64	   *hashes;
	char	   *added;
	int			nhashes = 0;

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));
	Assert(opaque->bteo_kind == BETREE_NODE);
	Assert(seq != 0);

	memset(covered, 0, BETREE_FILTER_PAGES_MAX * sizeof(bool));
	if ((nfilters == 0 &&
		 ((BufferGetBlockNumber(nodebuf) == BETREE_ROOT_BLKNO &&
		   opaque->bteo_nlog < FILTER_MIN_LOG) ||
		  betree_filter_pages(bt) == 0)) ||
		(hash = betree_hash_get(bt)) == NULL)
		return;

	/* hash functions may throw: first of all */
	for (int i = 0; i < nbufs; i++)
		nitems += betree_page_nitems(BufferGetPage(bufs[i]));
	hashes = palloc(nitems * sizeof(uint64) + 1);
	added = palloc(groups_size(nitems) + 1);
	for (int i = 0; i < nbufs; i++)
		nhashes = hash_items(bt, hash, BufferGetPage(bufs[i]), hashes, nhashes);

	add_filter_pages(bt, nodebuf, hash);
	nfilters = betree_node_nfilters(node);
	for (int number = 0; number < nfilters; number++)
	{
		int			nadded = form_groups(added, hashes, nhashes, number, nfilters, seq);

		if (number >= BETREE_FILTER_PAGES_MAX)
			betree_page_report_item(node);
		covered[number] = add_groups(bt, betree_node_get_dir(node, BETREE_DIR_FILTER_NUMBER(number)),
									 (uint16) opaque->bteo_seq, hash, added, nadded);
	}
	pfree(added);
	pfree(hashes);
}

/*
 * betree_filter_probe
 *		Ask a locked node's filter for the log pages that may hold a key.
 *
 * "hash" is the key's, by functions of the identity "id".  Returns false if
 * there is no filter that could tell.  Otherwise pages newer than "*from" need
 * be read only if "hit" is set for their number.
 */
bool
betree_filter_probe(BetreeRel *bt, Page node, uint32 id, uint64 hash,
					uint16 *from, bool *hit)
{
	int			nfilters = betree_node_nfilters(node);
	int			bucket = bucket_of(hash);
	uint16		part = part_of(hash);
	BetreeDirEntry *entry;
	Buffer		buf;
	Page		page;
	bool		valid;

	Assert(BetreePageGetOpaque(node)->bteo_kind == BETREE_NODE);

	if (nfilters == 0)
		return false;
	entry = betree_node_get_dir(node, BETREE_DIR_FILTER_NUMBER(filter_number(hash, nfilters)));
	*from = entry->bted_seq;
	if (!BetreeSeqNewer(BetreePageGetOpaque(node)->bteo_seq, *from))
		return false;
	buf = betree_block_read(bt->rel, entry->bted_block, BUFFER_LOCK_SHARE, BETREE_FILTER);
	page = BufferGetPage(buf);
	valid = BetreePageGetOpaque(page)->bteo_hash_id == id;
	if (valid)
	{
		BetreeFilterGroup group = NULL;

		memset(hit, 0, BETREE_FILTER_HITS * sizeof(bool));
		while ((group = next_group(page, group)) != NULL)
		{
			int			end = Min(group->btef_ends[bucket],
								  group->btef_ends[BETREE_FILTER_BUCKETS - 1]);

			for (int i = bucket == 0 ? 0 : group->btef_ends[bucket - 1]; i < end; i++)
			{
				if (unlikely(group->btef_parts[i] == part))
					hit[group->btef_seq & BETREE_MARKER_MASK] = true;
			}
		}
	}
	UnlockReleaseBuffer(buf);
	return valid;
}

/*
 * betree_filter_excludes
 *		Does a filter say that log page "i" does not hold a key?
 *
 * "from" and "hit" are betree_filter_probe()'s.
 */
bool
betree_filter_excludes(Page node, int i, uint16 from, const bool *hit)
{
	uint16		seq = BetreeNodeGetDir(node)[i].bted_seq;

	Assert(i >= 0 && i < BetreePageGetOpaque(node)->bteo_nlog);

	return BetreeSeqNewer(seq, from) && !hit[seq & BETREE_MARKER_MASK];
}

/*
 * betree_filter_lacks
 *		Does a filter miss a tuple of log page "i" that it should know?  For the
 *		checker.
 */
bool
betree_filter_lacks(BetreeRel *bt, Page node, BetreeHash *hash,
					IndexTuple itup, int i)
{
	bool		hit[BETREE_FILTER_HITS];
	uint16		from;

	return betree_filter_probe(bt, node, hash->id, betree_hash_tuple(bt, hash, itup),
							   &from, hit) &&
		betree_filter_excludes(node, i, from, hit);
}
