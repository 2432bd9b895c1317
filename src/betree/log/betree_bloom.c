/*-------------------------------------------------------------------------
 *
 * betree_bloom.c
 *	  Bloom filters of leaves, so that lookups of absent keys read none.
 *
 * A node of level 1 may have BLOOM pages.  They hold a slot for each of its
 * leaves: a Bloom filter (Bloom 1970) of the keys of the leaf, key columns
 * only.  Of B pages the one with number "block % B" has the slot of a leaf, if
 * any has: leaves of a built node have neighbouring blocks, so the pages fill
 * evenly.  "Absent" is never wrong; of a leaf without a slot nothing is known.
 *
 * Slots change, and items come into leaves that have slots, only under the exclusive
 * lock of their node, and a lookup holds a lock on it, so the answer is current.  All
 * changes are records of their own, made so that a crash leaves too many bits, no
 * slot, or new pages that nothing refers to, which VACUUM frees:
 *
 *   flush in place    the bits are set before the items come; a leaf without a slot
 *                     gets one from its contents, afterwards
 *   split, share,     the slots of all leaves concerned are forgotten before, and
 *   compaction        made from the leaves afterwards
 *   insertion past    if the leaf has a slot, as a flush; if it has none, the leaf
 *   the logs          is locked before the node is released: a slot is made only
 *                     under the lock of its leaf.  The last leaf of the index gets
 *                     none while it grows
 *   VACUUM            takes items away, which needs nothing; the slot of a leaf
 *                     that it frees is forgotten before, so the block, used again
 *                     under any node, has no slot that is not its own
 *   split of a node   the slots of the children of each half are copied; the node is
 *                     locked exclusively from the copy to the SPLIT
 *   more pages        a page without a free slot: all slots are copied to a quarter
 *                     more pages, and BLOOMSWAP publishes them
 *
 * On a standby the bits and the forgetting are replayed before the record of the
 * leaf.  A message that moves down from a log does so in a FLUSH, which waits for the
 * reader's lock on the node.  An insertion past the logs does not, but its row is of
 * a transaction that the reader does not see: its commit is replayed later.
 *
 * The hash functions are those of the filters of the log (betree_hash.c).  A
 * page bears their identity; if other functions are in use now, it says
 * nothing, and the next change of it begins anew.
 *
 * A node gets its first Bloom pages with a flush, more if a page has no free slot,
 * and others if it splits: new pages are written with the slots that are known,
 * then one record lets the node refer to them, and then those that it had are
 * freed one by one.  A build writes them with the nodes.
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

/* with 11 bits for each key this many are wrong once in 200 times */
#define NHASHES			6

#define BITS_MAX_BYTES	BLCKSZ

/* A node, its tail and two filter pages, which each insert below it needs */
#define NODE_PAGES		4

#define BITS_PER_KEY	11

/* The keys that slots are made for: a leaf this full, in percent */
#define LEAF_FILL		80

/* More slots than this many for each leaf do not help */
#define SLOTS_MAX		4

/* A Bloom page, mostly a locked one, and the slot of a leaf there, or NULL */
typedef struct BloomPage
{
	Buffer		buf;
	Page		page;
	int			bytes;			/* of a slot's bits */
	int			nslots;
	char	   *slot;
} BloomPage;

/* A slot: the leaf's block number, and the bits */
static inline char *
slot_at(Page page, int bytes, int i)
{
	return (char *) PageGetContents(page) + sizeof(BetreeBloomHeaderData) +
		i * BetreeBloomSlotSize(bytes);
}

#define SlotLeaf(slot)	(*(BlockNumber *) (slot))
#define SlotBits(slot)	((uint8 *) (slot) + sizeof(BlockNumber))

/* What a page of kind BLOOM says of its slots; false if it cannot be so */
static bool
parse_page(BloomPage *bloom, Page page)
{
	int			used = ((PageHeader) page)->pd_lower - (slot_at(page, 0, 0) - (char *) page);
	uint32		bytes;

	if (used < 0)
		return false;
	bytes = BetreeBloomGetHeader(page)->bteb_slot_bytes;
	if (bytes == 0 || bytes % 8 != 0 || bytes > BITS_MAX_BYTES ||
		used % BetreeBloomSlotSize(bytes) != 0)
		return false;
	bloom->page = page;
	bloom->bytes = (int) bytes;
	bloom->nslots = used / BetreeBloomSlotSize(bytes);
	return true;
}

/*
 * Do nodes, their tails and filters, and Bloom pages fit into the shared buffers
 * together?  Where they do not, a Bloom page that is asked for once would take the
 * place of a tail, which is written and read again for it.
 */
static bool
bloom_fits(BetreeRel *bt, Page node)
{
	double		nodes = (double) betree_block_last_count(bt->rel) /
		(BetreeNodeNumChildren(node) + 1);

	return nodes * (NODE_PAGES + betree_node_nblooms(node)) < NBuffers;
}

/* Find the slots of a Bloom page that has been read and locked */
static void
open_page(BetreeRel *bt, Buffer buf, BloomPage *bloom)
{
	bloom->buf = buf;
	if (!parse_page(bloom, BufferGetPage(buf)))
		betree_block_report(bt->rel, buf);
}

/* The first slot of a leaf; or a free one, of InvalidBlockNumber */
static char *
find_slot(BloomPage *bloom, BlockNumber leafblk)
{
	for (int i = 0; i < bloom->nslots; i++)
	{
		char	   *slot = slot_at(bloom->page, bloom->bytes, i);

		if (SlotLeaf(slot) == leafblk)
			return slot;
	}
	return NULL;
}

/*
 * Read and lock the Bloom page for a leaf, and find its slot; false if the node has
 * no Bloom pages.  A "lookup" takes no buffers that others need more.
 */
static bool
open_for_leaf(BetreeRel *bt, Page node, BlockNumber leafblk, int lockmode, bool lookup,
			  BloomPage *bloom)
{
	int			nblooms = betree_node_nblooms(node);
	BlockNumber blkno;

	if (nblooms == 0)
		return false;
	blkno = betree_node_get_dir(node, BETREE_DIR_BLOOM_NUMBER(leafblk % nblooms))->bted_block;
	open_page(bt, lookup && !bloom_fits(bt, node) ?
			  betree_block_read_passing(bt->rel, blkno, lockmode, BETREE_BLOOM) :
			  betree_block_read(bt->rel, blkno, lockmode, BETREE_BLOOM), bloom);
	bloom->slot = find_slot(bloom, leafblk);
	return true;
}

/* The positions of a key's bits, by double hashing */
static inline void
bit_positions(uint64 hash, int bytes, uint32 *positions)
{
	uint32		nbits = bytes * BITS_PER_BYTE;
	uint32		x = (uint32) hash % nbits;
	uint32		y = (uint32) (hash >> 32) % nbits;

	for (uint32 i = 0; i < NHASHES; i++)
	{
		positions[i] = x;
		x = (x + y) % nbits;
		y = (y + i + 1) % nbits;
	}
}

static void
add_bits(uint8 *bits, int bytes, uint64 hash)
{
	uint32		positions[NHASHES];

	bit_positions(hash, bytes, positions);
	for (int i = 0; i < NHASHES; i++)
		bits[positions[i] / BITS_PER_BYTE] |= 1 << (positions[i] % BITS_PER_BYTE);
}

static bool
bits_have(const uint8 *bits, int bytes, uint64 hash)
{
	uint32		positions[NHASHES];

	bit_positions(hash, bytes, positions);
	for (int i = 0; i < NHASHES; i++)
	{
		if ((bits[positions[i] / BITS_PER_BYTE] &
			 (1 << (positions[i] % BITS_PER_BYTE))) == 0)
			return false;
	}
	return true;
}

/*
 * betree_bloom_excludes
 *		Is a key absent from a leaf, by the Bloom filters of its node?
 *
 * "hash" is the key's, by functions of the identity "hash_id".  The node is
 * locked, in either mode.  False says nothing.
 */
bool
betree_bloom_excludes(BetreeRel *bt, Page node, BlockNumber leafblk,
					  uint32 hash_id, uint64 hash)
{
	BloomPage	bloom;
	bool		excluded;

	Assert(BetreePageGetOpaque(node)->bteo_kind == BETREE_NODE);

	if (leafblk == InvalidBlockNumber ||
		!open_for_leaf(bt, node, leafblk, BUFFER_LOCK_SHARE, true, &bloom))
		return false;
	excluded = BetreePageGetOpaque(bloom.page)->bteo_hash_id == hash_id &&
		bloom.slot != NULL && !bits_have(SlotBits(bloom.slot), bloom.bytes, hash);
	UnlockReleaseBuffer(bloom.buf);
	return excluded;
}

/*
 * betree_bloom_has_slot
 *		Has a leaf a slot?  Its node is locked, in either mode.
 */
bool
betree_bloom_has_slot(BetreeRel *bt, Page node, BlockNumber leafblk)
{
	BloomPage	bloom;

	if (!open_for_leaf(bt, node, leafblk, BUFFER_LOCK_SHARE, false, &bloom))
		return false;
	UnlockReleaseBuffer(bloom.buf);
	return bloom.slot != NULL;
}

/*
 * betree_bloom_lacks
 *		Does the Bloom filter of a leaf miss one of its tuples?  For the checker.
 */
bool
betree_bloom_lacks(BetreeRel *bt, Page node, BlockNumber leafblk,
				   BetreeHash *hash, IndexTuple itup)
{
	return betree_bloom_excludes(bt, node, leafblk, hash->id,
								 betree_hash_tuple(bt, hash, itup));
}

static bool
is_child(Page node, BlockNumber blkno)
{
	for (int child = 0; child < BetreeNodeNumChildren(node); child++)
	{
		if (BetreeNodeGetChild(node, child) == blkno)
			return true;
	}
	return false;
}

/*
 * betree_bloom_complaint
 *		What is wrong with a Bloom page, given by its directory entry; NULL if
 *		nothing is.  For the checker.
 */
const char *
betree_bloom_complaint(BetreeRel *bt, Page node, int at)
{
	BetreeDirEntry *entry = BetreeNodeGetDir(node) + at;
	int			nblooms = betree_node_nblooms(node);
	const char *complaint = NULL;
	BloomPage	bloom;

	if (BetreePageGetOpaque(node)->bteo_level != 1 ||
		BetreeDirGetNumber(entry) >= nblooms ||
		betree_node_find_dir(node, entry->bted_kind) != at)
		return "The directory entry of a Bloom page is invalid.";
	open_page(bt, betree_block_read(bt->rel, entry->bted_block, BUFFER_LOCK_SHARE,
									BETREE_BLOOM), &bloom);
	if (bloom.nslots > BetreeBloomPageSlots(bloom.bytes))
		complaint = "The Bloom page is too long.";
	for (int i = 0; i < bloom.nslots && complaint == NULL; i++)
	{
		char	   *slot = slot_at(bloom.page, bloom.bytes, i);
		BlockNumber leafblk = SlotLeaf(slot);

		if (leafblk == InvalidBlockNumber)
			continue;
		if (leafblk % nblooms != BetreeDirGetNumber(entry) ||
			!is_child(node, leafblk))
			complaint = "The Bloom page has a slot of a leaf that is not the node's.";
		else if (find_slot(&bloom, leafblk) != slot)
			complaint = "The Bloom page has two slots of the same leaf.";
	}
	UnlockReleaseBuffer(bloom.buf);
	return complaint;
}

/* How many slots of a Bloom page are in use? */
int
betree_bloom_count_slots(Page page)
{
	BloomPage	bloom;
	int			used = 0;

	if (!parse_page(&bloom, page))
		return 0;
	for (int i = 0; i < bloom.nslots; i++)
		used += SlotLeaf(slot_at(page, bloom.bytes, i)) != InvalidBlockNumber;
	return used;
}

/* ---- making Bloom pages, and freeing them ---- */

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
	((PageHeader) page)->pd_lower = slot_at(page, bytes, 0) - (char *) page;
}

/* Fill a slot of an image, if it has room for another */
static void
image_add(Page page, BlockNumber leafblk, const uint8 *bits)
{
	BloomPage	bloom;
	char	   *slot;

	if (!parse_page(&bloom, page) ||
		bloom.nslots >= BetreeBloomPageSlots(bloom.bytes))
		return;
	slot = slot_at(page, bloom.bytes, bloom.nslots);
	SlotLeaf(slot) = leafblk;
	memcpy(SlotBits(slot), bits, bloom.bytes);
	((PageHeader) page)->pd_lower += BetreeBloomSlotSize(bloom.bytes);
}

/* Copy the slot of a leaf, if it has one that is of use, to an image */
static void
copy_slot(BetreeRel *bt, Page node, BlockNumber leafblk, Page image)
{
	BloomPage	bloom;

	if (!open_for_leaf(bt, node, leafblk, BUFFER_LOCK_SHARE, false, &bloom))
		return;
	if (bloom.slot != NULL && BetreePageGetOpaque(bloom.page)->bteo_hash_id ==
		BetreePageGetOpaque(image)->bteo_hash_id &&
		bloom.bytes == BetreeBloomGetHeader(image)->bteb_slot_bytes)
		image_add(image, leafblk, SlotBits(bloom.slot));
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
static bool
add_pages(BetreeRel *bt, Buffer nodebuf)
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
	SlotLeaf(slot) = leafblk;
	memset(SlotBits(slot), 0, slots->bytes);
	for (int i = 0; i < nitems; i++)
		add_bits(SlotBits(slot), slots->bytes,
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

		if (SlotLeaf(slot) % npages == number)
			image_add(page, SlotLeaf(slot), SlotBits(slot));
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

/* ---- changing slots ---- */

/* Replace the bits of a slot, in a record that has those that change */
static void
write_bits(BetreeRel *bt, BloomPage *bloom, uint8 *bits, const uint8 *wanted)
{
	int			at = 0;
	EcpDelta	delta;

	if (memcmp(bits, wanted, bloom->bytes) == 0)
		return;
	ecp_delta_begin(&delta, bt->rel, ECP_DELTA_BYTES, bloom->buf, InvalidBuffer);
	while (at < bloom->bytes)
	{
		int			end = at;

		/* a gap that takes no more than the header of a range is no gap */
		for (int i = at; i < bloom->bytes && i < end + (int) ECP_DELTA_HEADER; i++)
		{
			if (bits[i] != wanted[i])
				end = i + 1;
		}
		if (end > at)
		{
			memcpy(bits + at, wanted + at, end - at);
			ecp_delta_bytes(&delta, 0, bits + at, end - at);
			at = end;
		}
		else
			at++;
	}
	ecp_delta_finish(&delta);
	ECP_STOP_POINT("bloomed");
}

/*
 * betree_bloom_add
 *		Tell the Bloom filter of a leaf what a batch will bring.
 *
 * For a merge in place, before it; the node is exclusively locked.  Returns
 * false if the leaf has no slot, so that it should get one afterwards.
 */
bool
betree_bloom_add(BetreeRel *bt, Buffer nodebuf, BlockNumber leafblk,
				 BetreeBatch *batch)
{
	BetreeHash *hash = betree_hash_get(bt);
	uint64	   *hashes;
	BloomPage	bloom;
	bool		same_hash;
	bool		known;

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));

	if (betree_node_nblooms(BufferGetPage(nodebuf)) == 0)
		return true;
	if (hash == NULL)
	{
		betree_bloom_forget(bt, nodebuf, leafblk);
		return true;
	}

	/* hash functions may throw: before anything is locked */
	hashes = palloc(batch->nitems * sizeof(uint64));
	for (int i = 0; i < batch->nitems; i++)
		hashes[i] = betree_hash_tuple(bt, hash, batch->items[i].itup);

	(void) open_for_leaf(bt, BufferGetPage(nodebuf), leafblk, BUFFER_LOCK_EXCLUSIVE, false,
						 &bloom);
	same_hash = BetreePageGetOpaque(bloom.page)->bteo_hash_id == hash->id;
	known = same_hash && bloom.slot != NULL;
	if (known)
	{
		uint8	   *bits = palloc(bloom.bytes);

		memcpy(bits, SlotBits(bloom.slot), bloom.bytes);
		for (int i = 0; i < batch->nitems; i++)
			add_bits(bits, bloom.bytes, hashes[i]);
		write_bits(bt, &bloom, SlotBits(bloom.slot), bits);
		pfree(bits);
	}
	UnlockReleaseBuffer(bloom.buf);
	pfree(hashes);
	if (!same_hash)
		betree_bloom_forget(bt, nodebuf, leafblk);
	return known;
}

/*
 * betree_bloom_forget
 *		Give up the slot of a leaf, if it has one; the node is exclusively
 *		locked.
 */
void
betree_bloom_forget(BetreeRel *bt, Buffer nodebuf, BlockNumber leafblk)
{
	BloomPage	bloom;

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));
	Assert(leafblk != InvalidBlockNumber);

	if (!open_for_leaf(bt, BufferGetPage(nodebuf), leafblk, BUFFER_LOCK_EXCLUSIVE, false,
					   &bloom))
		return;
	if (bloom.slot != NULL)
	{
		EcpDelta	delta;

		ecp_delta_begin(&delta, bt->rel, ECP_DELTA_BYTES, bloom.buf, InvalidBuffer);
		SlotLeaf(bloom.slot) = InvalidBlockNumber;
		ecp_delta_field(&delta, 0, SlotLeaf(bloom.slot));
		ecp_delta_finish(&delta);
		ECP_STOP_POINT("bloom-forgotten");
	}
	UnlockReleaseBuffer(bloom.buf);
}

/*
 * Write the slot of a leaf; false if the page has no room for it.  Slots that
 * other hash functions have made are lost.
 */
static bool
write_slot(BetreeRel *bt, BloomPage *bloom, BetreeHash *hash,
		   BlockNumber leafblk, const uint64 *hashes, int nhashes)
{
	PageHeader	header = (PageHeader) bloom->page;
	BetreePageOpaque opaque = BetreePageGetOpaque(bloom->page);
	bool		same_hash = opaque->bteo_hash_id == hash->id;
	char	   *slot = same_hash ? bloom->slot : NULL;
	bool		append;
	EcpDelta	delta;

	if (!same_hash)
		bloom->nslots = 0;
	if (slot == NULL)
		slot = find_slot(bloom, InvalidBlockNumber);
	append = slot == NULL;
	if (append)
	{
		if (bloom->nslots >= BetreeBloomPageSlots(bloom->bytes))
			return false;
		slot = slot_at(bloom->page, bloom->bytes, bloom->nslots++);
	}

	ecp_delta_begin(&delta, bt->rel, ECP_DELTA_BYTES, bloom->buf, InvalidBuffer);
	SlotLeaf(slot) = leafblk;
	memset(SlotBits(slot), 0, bloom->bytes);
	for (int i = 0; i < nhashes; i++)
		add_bits(SlotBits(slot), bloom->bytes, hashes[i]);
	opaque->bteo_hash_id = hash->id;
	if (append)
	{
		header->pd_lower = slot + BetreeBloomSlotSize(bloom->bytes) - (char *) bloom->page;
		ecp_delta_field(&delta, 0, header->pd_lower);
	}
	ecp_delta_bytes(&delta, 0, slot, BetreeBloomSlotSize(bloom->bytes));
	if (!same_hash)
		ecp_delta_field(&delta, 0, opaque->bteo_hash_id);
	ecp_delta_finish(&delta);
	ECP_STOP_POINT("bloom-set");
	return true;
}

/*
 * betree_bloom_set
 *		Make the slot of a leaf from its contents.
 *
 * Node and leaf are exclusively locked.  If the leaf's Bloom page is full, the
 * node gets more pages, or the leaf stays without.  Others who lock a Bloom
 * page hold no leaf without the node; so it may be locked here behind a leaf.
 */
void
betree_bloom_set(BetreeRel *bt, Buffer nodebuf, Buffer leafbuf)
{
	Page		leaf = BufferGetPage(leafbuf);
	BetreeHash *hash = betree_hash_get(bt);
	int			nitems = betree_page_nitems(leaf);
	uint64	   *hashes;
	bool		done = false;

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));
	Assert(ecp_buffer_is_exclusive_locked(leafbuf));

	if (hash == NULL)
		return;
	hashes = palloc(nitems * sizeof(uint64) + 1);
	for (int i = 0; i < nitems; i++)
		hashes[i] = betree_hash_tuple(bt, hash, BetreePageGetTuple(leaf, i + 1));
	do
	{
		BloomPage	bloom;

		if (!open_for_leaf(bt, BufferGetPage(nodebuf), BufferGetBlockNumber(leafbuf),
						   BUFFER_LOCK_EXCLUSIVE, false, &bloom))
			break;
		done = write_slot(bt, &bloom, hash, BufferGetBlockNumber(leafbuf), hashes,
						  nitems);
		UnlockReleaseBuffer(bloom.buf);
	} while (!done && add_pages(bt, nodebuf));
	pfree(hashes);
}
