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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/core.h"
#include "base/core_wal.h"
#include "base/stop_point.h"
#include "betree/log/betree_bloom_private.h"
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

/* What a page of kind BLOOM says of its slots; false if it cannot be so */
bool
betree_bloom_parse(BetreeBloomPage *bloom, Page page)
{
	int			used = ((PageHeader) page)->pd_lower -
		(betree_bloom_slot(page, 0, 0) - (char *) page);
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

/* The same of one that was read, or an error */
static void
bloom_parse(BetreeRel *bt, BetreeBloomPage *bloom)
{
	if (!betree_bloom_parse(bloom, BufferGetPage(bloom->buf)))
		betree_block_report(bt->rel, bloom->buf);
}

/* Read and lock a Bloom page */
void
betree_bloom_open(BetreeRel *bt, BlockNumber blkno, int lockmode, BetreeBloomPage *bloom)
{
	bloom->buf = betree_block_read(bt->rel, blkno, lockmode, BETREE_BLOOM);
	bloom_parse(bt, bloom);
}

/* The first slot of a leaf; or a free one, of InvalidBlockNumber */
char *
betree_bloom_find(BetreeBloomPage *bloom, BlockNumber leafblk)
{
	for (int i = 0; i < bloom->nslots; i++)
	{
		char	   *slot = betree_bloom_slot(bloom->page, bloom->bytes, i);

		if (*betree_bloom_slot_leaf(slot) == leafblk)
			return slot;
	}
	return NULL;
}

/*
 * Block of the Bloom page that has the slot of a leaf; InvalidBlockNumber if
 * the node has no Bloom pages.
 */
BlockNumber
betree_bloom_page_of(Page node, BlockNumber leafblk)
{
	int			nblooms = betree_node_nblooms(node);
	int			at;

	if (nblooms == 0)
		return InvalidBlockNumber;
	at = betree_node_find_dir(node, BETREE_DIR_BLOOM_NUMBER(leafblk % nblooms));
	if (at < 0)
		betree_page_report_item(node);
	return BetreeNodeGetDir(node)[at].bted_block;
}

/* The places of a key's bits, by double hashing */
static inline void
bit_places(uint64 hash, int bytes, uint32 *places)
{
	uint32		nbits = bytes * BITS_PER_BYTE;
	uint32		x = (uint32) hash % nbits;
	uint32		y = (uint32) (hash >> 32) % nbits;

	for (uint32 i = 0; i < NHASHES; i++)
	{
		places[i] = x;
		x = (x + y) % nbits;
		y = (y + i + 1) % nbits;
	}
}

void
betree_bloom_bits_add(uint8 *bits, int bytes, uint64 hash)
{
	uint32		places[NHASHES];

	bit_places(hash, bytes, places);
	for (int i = 0; i < NHASHES; i++)
		bits[places[i] / BITS_PER_BYTE] |= 1 << (places[i] % BITS_PER_BYTE);
}

static bool
bits_have(const uint8 *bits, int bytes, uint64 hash)
{
	uint32		places[NHASHES];

	bit_places(hash, bytes, places);
	for (int i = 0; i < NHASHES; i++)
	{
		if ((bits[places[i] / BITS_PER_BYTE] &
			 (1 << (places[i] % BITS_PER_BYTE))) == 0)
			return false;
	}
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
	BlockNumber blkno = betree_bloom_page_of(node, leafblk);
	BetreeBloomPage bloom;
	bool		excluded = false;

	Assert(BetreePageGetOpaque(node)->bteo_kind == BETREE_NODE);

	if (blkno == InvalidBlockNumber || leafblk == InvalidBlockNumber)
		return false;
	if (bloom_fits(bt, node))
		betree_bloom_open(bt, blkno, BUFFER_LOCK_SHARE, &bloom);
	else
	{
		bloom.buf = betree_block_read_passing(bt->rel, blkno, BUFFER_LOCK_SHARE,
											  BETREE_BLOOM);
		bloom_parse(bt, &bloom);
	}
	if (BetreePageGetOpaque(bloom.page)->bteo_hash_id == hash_id)
	{
		char	   *slot = betree_bloom_find(&bloom, leafblk);

		excluded = slot != NULL && !bits_have(betree_bloom_slot_bits(slot), bloom.bytes, hash);
	}
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
	BlockNumber blkno = betree_bloom_page_of(node, leafblk);
	BetreeBloomPage bloom;
	bool		found;

	if (blkno == InvalidBlockNumber)
		return false;
	betree_bloom_open(bt, blkno, BUFFER_LOCK_SHARE, &bloom);
	found = betree_bloom_find(&bloom, leafblk) != NULL;
	UnlockReleaseBuffer(bloom.buf);
	return found;
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
	BetreeBloomPage bloom;

	if (BetreePageGetOpaque(node)->bteo_level != 1 ||
		BetreeDirGetNumber(entry) >= nblooms ||
		betree_node_find_dir(node, entry->bted_kind) != at)
		return "The directory entry of a Bloom page is invalid.";
	betree_bloom_open(bt, entry->bted_block, BUFFER_LOCK_SHARE, &bloom);
	if (bloom.nslots > BetreeBloomPageSlots(bloom.bytes))
		complaint = "The Bloom page is too long.";
	for (int i = 0; i < bloom.nslots && complaint == NULL; i++)
	{
		char	   *slot = betree_bloom_slot(bloom.page, bloom.bytes, i);
		BlockNumber leafblk = *betree_bloom_slot_leaf(slot);

		if (leafblk == InvalidBlockNumber)
			continue;
		if (leafblk % nblooms != BetreeDirGetNumber(entry) ||
			!is_child(node, leafblk))
			complaint = "The Bloom page has a slot of a leaf that is not the node's.";
		else if (betree_bloom_find(&bloom, leafblk) != slot)
			complaint = "The Bloom page has two slots of the same leaf.";
	}
	UnlockReleaseBuffer(bloom.buf);
	return complaint;
}

/* How many slots of a Bloom page are in use? */
int
betree_bloom_count_slots(Page page)
{
	BetreeBloomPage bloom;
	int			used = 0;

	if (!betree_bloom_parse(&bloom, page))
		return 0;
	for (int i = 0; i < bloom.nslots; i++)
		used += *betree_bloom_slot_leaf(betree_bloom_slot(page, bloom.bytes, i)) != InvalidBlockNumber;
	return used;
}

/* Name a changed range of the record's page */
static void
log_range(EcpDelta *delta, Page page, const void *from, int length)
{
	ecp_delta_range(delta, 0, (const char *) from - (char *) page, length);
}

/* Replace the bits of a slot, in a record that has those that change */
static void
write_bits(BetreeRel *bt, BetreeBloomPage *bloom, uint8 *bits, const uint8 *wanted)
{
	int			at = 0;
	EcpDelta	delta;

	if (memcmp(bits, wanted, bloom->bytes) == 0)
		return;
	ecp_delta_begin(&delta, bt->rel, ECP_DELTA_BYTES);
	ecp_delta_buffer(&delta, bloom->buf);
	START_CRIT_SECTION();
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
			log_range(&delta, bloom->page, bits + at, end - at);
			at = end;
		}
		else
			at++;
	}
	ecp_delta_finish(&delta);
	END_CRIT_SECTION();
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
	BlockNumber blkno = betree_bloom_page_of(BufferGetPage(nodebuf), leafblk);
	BetreeHash *hash = betree_hash_get(bt);
	uint64	   *hashes;
	BetreeBloomPage bloom;
	char	   *slot = NULL;
	bool		same_hash;

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));

	if (blkno == InvalidBlockNumber)
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

	betree_bloom_open(bt, blkno, BUFFER_LOCK_EXCLUSIVE, &bloom);
	same_hash = BetreePageGetOpaque(bloom.page)->bteo_hash_id == hash->id;
	if (same_hash)
		slot = betree_bloom_find(&bloom, leafblk);
	if (slot != NULL)
	{
		uint8	   *bits = palloc(bloom.bytes);

		memcpy(bits, betree_bloom_slot_bits(slot), bloom.bytes);
		for (int i = 0; i < batch->nitems; i++)
			betree_bloom_bits_add(bits, bloom.bytes, hashes[i]);
		write_bits(bt, &bloom, betree_bloom_slot_bits(slot), bits);
		pfree(bits);
	}
	UnlockReleaseBuffer(bloom.buf);
	pfree(hashes);
	if (!same_hash)
		betree_bloom_forget(bt, nodebuf, leafblk);
	return slot != NULL;
}

/*
 * betree_bloom_forget
 *		Give up the slot of a leaf, if it has one; the node is exclusively
 *		locked.
 */
void
betree_bloom_forget(BetreeRel *bt, Buffer nodebuf, BlockNumber leafblk)
{
	BlockNumber blkno = betree_bloom_page_of(BufferGetPage(nodebuf), leafblk);
	BetreeBloomPage bloom;
	char	   *slot;

	Assert(ecp_buffer_is_exclusive_locked(nodebuf));
	Assert(leafblk != InvalidBlockNumber);

	if (blkno == InvalidBlockNumber)
		return;
	betree_bloom_open(bt, blkno, BUFFER_LOCK_EXCLUSIVE, &bloom);
	slot = betree_bloom_find(&bloom, leafblk);
	if (slot != NULL)
	{
		EcpDelta	delta;

		ecp_delta_begin(&delta, bt->rel, ECP_DELTA_BYTES);
		ecp_delta_buffer(&delta, bloom.buf);
		START_CRIT_SECTION();
		*betree_bloom_slot_leaf(slot) = InvalidBlockNumber;
		log_range(&delta, bloom.page, slot, sizeof(BlockNumber));
		ecp_delta_finish(&delta);
		END_CRIT_SECTION();
		ECP_STOP_POINT("bloom-forgotten");
	}
	UnlockReleaseBuffer(bloom.buf);
}

/*
 * Write the slot of a leaf; false if the page has no room for it.  Slots that
 * other hash functions have made are lost.
 */
static bool
write_slot(BetreeRel *bt, BetreeBloomPage *bloom, BetreeHash *hash,
		   BlockNumber leafblk, const uint64 *hashes, int nhashes)
{
	PageHeader	header = (PageHeader) bloom->page;
	BetreePageOpaque opaque = BetreePageGetOpaque(bloom->page);
	bool		same_hash = opaque->bteo_hash_id == hash->id;
	char	   *slot = NULL;
	bool		append;
	EcpDelta	delta;

	if (!same_hash)
		bloom->nslots = 0;
	slot = betree_bloom_find(bloom, leafblk);
	if (slot == NULL)
		slot = betree_bloom_find(bloom, InvalidBlockNumber);
	append = slot == NULL;
	if (append)
	{
		if (bloom->nslots >= BetreeBloomPageSlots(bloom->bytes))
			return false;
		slot = betree_bloom_slot(bloom->page, bloom->bytes, bloom->nslots++);
	}

	ecp_delta_begin(&delta, bt->rel, ECP_DELTA_BYTES);
	ecp_delta_buffer(&delta, bloom->buf);
	START_CRIT_SECTION();
	*betree_bloom_slot_leaf(slot) = leafblk;
	memset(betree_bloom_slot_bits(slot), 0, bloom->bytes);
	for (int i = 0; i < nhashes; i++)
		betree_bloom_bits_add(betree_bloom_slot_bits(slot), bloom->bytes, hashes[i]);
	opaque->bteo_hash_id = hash->id;
	if (append)
	{
		header->pd_lower = slot + BetreeBloomSlotSize(bloom->bytes) - (char *) bloom->page;
		log_range(&delta, bloom->page, &header->pd_lower, sizeof(LocationIndex));
	}
	log_range(&delta, bloom->page, slot, BetreeBloomSlotSize(bloom->bytes));
	if (!same_hash)
		log_range(&delta, bloom->page, &opaque->bteo_hash_id,
				  sizeof(opaque->bteo_hash_id));
	ecp_delta_finish(&delta);
	END_CRIT_SECTION();
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
		BlockNumber blkno = betree_bloom_page_of(BufferGetPage(nodebuf),
												 BufferGetBlockNumber(leafbuf));
		BetreeBloomPage bloom;

		if (blkno == InvalidBlockNumber)
			break;
		betree_bloom_open(bt, blkno, BUFFER_LOCK_EXCLUSIVE, &bloom);
		done = write_slot(bt, &bloom, hash, BufferGetBlockNumber(leafbuf), hashes,
						  nitems);
		UnlockReleaseBuffer(bloom.buf);
	} while (!done && betree_bloom_pages_add(bt, nodebuf));
	pfree(hashes);
}
