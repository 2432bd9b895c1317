/*-------------------------------------------------------------------------
 *
 * betree_bloom_pages.c
 *	  Making the Bloom pages of a node, and freeing them.
 *
 * A node gets its first ones with a flush, more if a page has no free slot, and
 * others if it splits: new pages are written with the slots that are known,
 * then one record lets the node refer to them, and then those that it had are
 * freed one by one.  What a crash leaves behind, VACUUM frees.  A build writes
 * them with the nodes.  See betree_bloom.c for what they are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "base/core.h"
#include "base/stop_point.h"
#include "betree/log/betree_bloom_private.h"
#include "betree/log/betree_log.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_block.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "storage/bufmgr.h"

#define BITS_PER_KEY	11

/* The keys that slots are made for: a leaf this full, in percent */
#define LEAF_FILL		80

/* More slots than this many for each leaf do not help */
#define SLOTS_MAX		4

/* Bytes of bits that new slots get */
static int
slot_bytes(BetreeRel *bt)
{
	int			keys = BetreePageCapacity * LEAF_FILL / 100 /
		(MAXALIGN(bt->built_width) + (int) sizeof(ItemIdData));
	int			bytes = keys * BITS_PER_KEY / BITS_PER_BYTE;

	return Max(BETREE_BLOOM_BYTES_MIN, MAXALIGN_DOWN(bytes));
}

/*
 * betree_bloom_pages_wanted
 *		Bloom pages for a node of "nchildren": mostly six sevenths full.
 *
 * An odd number, since the blocks of a node's leaves may be all even.
 */
int
betree_bloom_pages_wanted(BetreeRel *bt, int nchildren)
{
	int			nslots = nchildren + nchildren / 6;
	int			page_slots = BetreeBloomPageSlots(slot_bytes(bt));

	Assert(nchildren > 0 && page_slots > 0);

	return Min(BETREE_BLOOM_PAGES_MAX,
			   ((nslots + page_slots - 1) / page_slots) | 1);
}

/*
 * betree_bloom_pages_reserved
 *		Directory entries that a new node of level 1 keeps for Bloom pages.
 */
int
betree_bloom_pages_reserved(BetreeRel *bt)
{
	int			nchildren = BetreePageCapacity /
		(MAXALIGN(bt->pivot_width) + (int) sizeof(ItemIdData));

	if (!bt->bloom || betree_hash_get(bt) == NULL)
		return 0;
	/* and some more, since they do not fill evenly */
	nchildren = Min(nchildren, BETREE_NODE_MAX_CHILDREN);
	return betree_bloom_pages_wanted(bt, nchildren + nchildren / 4);
}

/*
 * betree_bloom_pages_fit
 *		May the node have "npages" Bloom pages?
 *
 * The log keeps the room that the options promise.
 */
bool
betree_bloom_pages_fit(BetreeRel *bt, Page node, int npages)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(node);
	int			nblooms = betree_node_nblooms(node);
	int			log_room = bt->log_pages > 0 ? bt->log_pages + 4 : BETREE_NCAP_MIN;

	return npages <= BETREE_BLOOM_PAGES_MAX &&
		opaque->bteo_ndir - nblooms + npages <= opaque->bteo_ncap &&
		betree_node_log_capacity(node) + nblooms - npages >= log_room;
}

/* Make an empty Bloom page */
static void
init_page(Page page, int bytes, uint32 hash_id, BlockNumber owner)
{
	betree_page_init(page, BETREE_BLOOM, 1, 0);
	BetreePageGetOpaque(page)->bteo_owner = owner;
	BetreePageGetOpaque(page)->bteo_hash_id = hash_id;
	BetreeBloomGetHeader(page)->bteb_slot_bytes = bytes;
	BetreeBloomGetHeader(page)->bteb_unused = 0;
	((PageHeader) page)->pd_lower = betree_bloom_slot(page, bytes, 0) - (char *) page;
}

/* Fill a slot of an image, if it has room for another */
static void
image_add(Page page, BlockNumber leafblk, const uint8 *bits)
{
	BetreeBloomPage bloom;
	char	   *slot;

	if (!betree_bloom_parse(&bloom, page) ||
		bloom.nslots >= BetreeBloomPageSlots(bloom.bytes))
		return;
	slot = betree_bloom_slot(page, bloom.bytes, bloom.nslots);
	*betree_bloom_slot_leaf(slot) = leafblk;
	memcpy(betree_bloom_slot_bits(slot), bits, bloom.bytes);
	((PageHeader) page)->pd_lower += BetreeBloomSlotSize(bloom.bytes);
}

/* Copy the slot of a leaf, if it has one that is of use, to an image */
static void
copy_slot(BetreeRel *bt, Page node, BlockNumber leafblk, Page image)
{
	BlockNumber blkno = betree_bloom_page_of(node, leafblk);
	BetreeBloomPage bloom;

	if (blkno == InvalidBlockNumber)
		return;
	betree_bloom_open(bt, blkno, BUFFER_LOCK_SHARE, &bloom);
	if (BetreePageGetOpaque(bloom.page)->bteo_hash_id ==
		BetreePageGetOpaque(image)->bteo_hash_id &&
		bloom.bytes == BetreeBloomGetHeader(image)->bteb_slot_bytes)
	{
		char	   *slot = betree_bloom_find(&bloom, leafblk);

		if (slot != NULL)
			image_add(image, leafblk, betree_bloom_slot_bits(slot));
	}
	UnlockReleaseBuffer(bloom.buf);
}

/*
 * betree_bloom_pages_copy
 *		Write new Bloom pages with the slots of the children first..last-1 of an
 *		exclusively locked node.
 *
 * Nothing refers to them yet, and a crash loses them, until VACUUM frees them.
 * Their directory entries go to "entries"; returns their number, which is 0 if
 * the key cannot be hashed.
 */
int
betree_bloom_pages_copy(BetreeRel *bt, Buffer nodebuf, int first, int last,
						int npages, BetreeDirEntry *entries)
{
	Page		node = BufferGetPage(nodebuf);
	BetreeHash *hash = betree_hash_get(bt);
	int			bytes = slot_bytes(bt);
	char	   *images;

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));
	Assert(BetreePageGetOpaque(node)->bteo_level == 1);
	Assert(npages > 0 && npages <= BETREE_BLOOM_PAGES_MAX);

	if (hash == NULL)
		return 0;
	images = palloc(npages * BLCKSZ);
	for (int i = 0; i < npages; i++)
		init_page(images + i * BLCKSZ, bytes, hash->id,
				  BufferGetBlockNumber(nodebuf));
	for (int child = first; child < last; child++)
	{
		BlockNumber leafblk = BetreeNodeGetChild(node, child);

		copy_slot(bt, node, leafblk, images + (leafblk % npages) * BLCKSZ);
	}
	for (int i = 0; i < npages; i++)
	{
		Buffer		buf = betree_block_alloc(bt->rel);
		GenericXLogState *state = GenericXLogStart(bt->rel);

		memcpy(GenericXLogRegisterBuffer(state, buf, GENERIC_XLOG_FULL_IMAGE),
			   images + i * BLCKSZ, BLCKSZ);
		GenericXLogFinish(state);
		entries[i].bted_block = BufferGetBlockNumber(buf);
		entries[i].bted_seq = 0;
		entries[i].bted_kind = BETREE_DIR_BLOOM_NUMBER(i);
		UnlockReleaseBuffer(buf);
		ECP_STOP_POINT("bloom-made");
	}
	pfree(images);
	return npages;
}

/*
 * betree_bloom_pages_free
 *		Free the Bloom pages of a directory that is not in use any more.
 */
void
betree_bloom_pages_free(BetreeRel *bt, BetreeDirEntry *dir, int ndir)
{
	for (int i = 0; i < ndir; i++)
	{
		Buffer		buf;
		GenericXLogState *state;

		if (!BetreeDirIsBloom(&dir[i]))
			continue;
		buf = betree_block_read(bt->rel, dir[i].bted_block, BUFFER_LOCK_EXCLUSIVE,
								BETREE_BLOOM);
		state = GenericXLogStart(bt->rel);
		betree_page_init(GenericXLogRegisterBuffer(state, buf, 0), BETREE_FREE, 0, 0);
		GenericXLogFinish(state);
		UnlockReleaseBuffer(buf);
		betree_block_free(bt->rel, dir[i].bted_block);
		ECP_STOP_POINT("bloom-freed");
	}
}

/* Give an exclusively locked node these Bloom pages, and free those it had. */
static void
swap_pages(BetreeRel *bt, Buffer nodebuf, BetreeDirEntry *entries, int nentries)
{
	Page		node = BufferGetPage(nodebuf);
	int			ndir = BetreePageGetOpaque(node)->bteo_ndir;
	BetreeDirEntry old[BETREE_NCAP_MAX];
	GenericXLogState *state;

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));

	memcpy(old, BetreeNodeGetDir(node), ndir * sizeof(BetreeDirEntry));
	state = GenericXLogStart(bt->rel);
	node = GenericXLogRegisterBuffer(state, nodebuf, 0);
	for (int i = ndir - 1; i >= BetreePageGetOpaque(node)->bteo_nlog; i--)
	{
		if (BetreeDirIsBloom(&old[i]))
			betree_node_remove_dir(node, i);
	}
	for (int i = 0; i < nentries; i++)
		betree_node_add_dir(node, entries[i].bted_block, entries[i].bted_kind, 0);
	GenericXLogFinish(state);
	ECP_STOP_POINT("bloom-swapped");
	betree_bloom_pages_free(bt, old, ndir);
}

/*
 * betree_bloom_pages_drop
 *		Free all Bloom pages of an exclusively locked node.
 */
void
betree_bloom_pages_drop(BetreeRel *bt, Buffer nodebuf)
{
	swap_pages(bt, nodebuf, NULL, 0);
}

/* Let the node have "npages" Bloom pages, if it can; what it has is copied. */
static bool
remake_pages(BetreeRel *bt, Buffer nodebuf, int npages)
{
	Page		node = BufferGetPage(nodebuf);
	BetreeDirEntry entries[BETREE_BLOOM_PAGES_MAX];

	if (!betree_bloom_pages_fit(bt, node, npages) ||
		betree_bloom_pages_copy(bt, nodebuf, 0, BetreeNodeNumChildren(node), npages,
								entries) == 0)
		return false;
	swap_pages(bt, nodebuf, entries, npages);
	return true;
}

/*
 * A Bloom page of the node has no free slot: give it a quarter more pages, or
 * two, unless that is no use.
 */
bool
betree_bloom_pages_add(BetreeRel *bt, Buffer nodebuf)
{
	Page		node = BufferGetPage(nodebuf);
	int			nblooms = betree_node_nblooms(node);

	if (nblooms * BetreeBloomPageSlots(slot_bytes(bt)) >
		SLOTS_MAX * BetreeNodeNumChildren(node))
		return false;
	return remake_pages(bt, nodebuf, (nblooms + Max(1, nblooms / 4)) | 1);
}

/*
 * betree_bloom_pages_ensure
 *		Give the exclusively locked parent of leaves its first Bloom pages, if it
 *		should have some; returns whether it has.
 */
bool
betree_bloom_pages_ensure(BetreeRel *bt, Buffer nodebuf)
{
	Page		node = BufferGetPage(nodebuf);

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));
	Assert(BetreePageGetOpaque(node)->bteo_level == 1);

	return betree_node_nblooms(node) > 0 ||
		(bt->bloom &&
		 remake_pages(bt, nodebuf,
					  betree_bloom_pages_wanted(bt, BetreeNodeNumChildren(node))));
}

/*
 * betree_bloom_pages_collect
 *		Make the slot of a leaf that a build writes.
 */
void
betree_bloom_pages_collect(BetreeRel *bt, BetreeBloomSlots *slots,
						   BlockNumber leafblk, IndexTuple *items, int nitems)
{
	BetreeHash *hash = betree_hash_get(bt);
	char	   *slot;

	Assert(hash != NULL);

	if (slots->slots == NULL)
	{
		slots->bytes = slot_bytes(bt);
		slots->slots = MemoryContextAlloc(bt->context,
										  BETREE_BLOOM_BUILD_SLOTS *
										  BetreeBloomSlotSize(slots->bytes));
	}
	Assert(slots->nslots < BETREE_BLOOM_BUILD_SLOTS);
	slot = slots->slots + slots->nslots++ * BetreeBloomSlotSize(slots->bytes);
	*betree_bloom_slot_leaf(slot) = leafblk;
	memset(betree_bloom_slot_bits(slot), 0, slots->bytes);
	for (int i = 0; i < nitems; i++)
		betree_bloom_bits_add(betree_bloom_slot_bits(slot), slots->bytes,
							  betree_hash_tuple(bt, hash, items[i]));
}

/*
 * betree_bloom_pages_form
 *		Make the Bloom page "number" of the "npages" of a node that a build
 *		writes to "owner", of its children's slots, the first ones.
 */
void
betree_bloom_pages_form(BetreeRel *bt, Page page, BetreeBloomSlots *slots,
						int nchildren, int number, int npages, BlockNumber owner)
{
	Assert(number < npages);
	Assert(nchildren <= slots->nslots);

	init_page(page, slots->bytes, betree_hash_get(bt)->id, owner);
	for (int i = 0; i < nchildren; i++)
	{
		char	   *slot = slots->slots + i * BetreeBloomSlotSize(slots->bytes);

		if (*betree_bloom_slot_leaf(slot) % npages == number)
			image_add(page, *betree_bloom_slot_leaf(slot), betree_bloom_slot_bits(slot));
	}
}

/* Forget the first slots: their node has been written. */
void
betree_bloom_pages_pass(BetreeBloomSlots *slots, int nchildren)
{
	int			size = BetreeBloomSlotSize(slots->bytes);

	Assert(nchildren <= slots->nslots);

	slots->nslots -= nchildren;
	memmove(slots->slots, slots->slots + nchildren * size, slots->nslots * size);
}
