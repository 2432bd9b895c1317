/*-------------------------------------------------------------------------
 *
 * betree_posting.c
 *	  Postings: items of a leaf for several rows with the same key.
 *
 * Reading and making them, see betree_page.h for the format.  As in
 * betree_page.c the functions neither lock nor log.  What is read may come from
 * a damaged page: then it is reported.
 *
 * A posting is made of neighbours in the order of the index whose keys are the
 * same bit for bit, so it does not matter what the type means by equal: an
 * index-only scan returns what was stored.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"

StaticAssertDecl(MaxHeapTuplesPerPage < (1 << BETREE_POSTING_OFFSET_BITS),
				 "line pointers of a heap's page fit betree postings");
StaticAssertDecl(BetreeMaxItemSize > BETREE_POSTING_BYTES_MAX,
				 "a betree posting is an item");

/* bytes of a distance, seven bits in each */
#define DISTANCE_BYTES_MAX	((32 + BETREE_POSTING_OFFSET_BITS + 6) / 7)

/* What a posting says of its parts, which is credible */
typedef struct PostingParts
{
	int			key_size;
	int			nrows;
	const uint8 *bytes;			/* distances, and zeros */
	int			nbytes;
} PostingParts;

/* Find the parts of a posting; report one that cannot be sound */
static void
read_parts(IndexTuple itup, PostingParts *parts)
{
	int			size = IndexTupleSize(itup);
	BetreePostingTailData tail;

	if (size < (int) (sizeof(IndexTupleData) + sizeof(tail)) ||
		size != (int) MAXALIGN(size))
		betree_page_report_item(itup);
	memcpy(&tail, (char *) itup + size - sizeof(tail), sizeof(tail));
	parts->key_size = tail.btpt_key_size;
	parts->nrows = tail.btpt_nrows;
	parts->bytes = (uint8 *) itup + parts->key_size;
	parts->nbytes = size - parts->key_size - (int) sizeof(tail);
	if (parts->key_size < (int) sizeof(IndexTupleData) ||
		parts->key_size != (int) MAXALIGN(parts->key_size) ||
		parts->nrows < 2 || parts->nrows > BETREE_POSTING_MAX_ROWS ||
		parts->nbytes < parts->nrows - 1 ||
		parts->nbytes >= BETREE_POSTING_BYTES_MAX + MAXIMUM_ALIGNOF)
		betree_page_report_item(itup);
}

/* A TID as a number, in the same order; its offset is small enough */
static inline uint64
tid_number(ItemPointer tid)
{
	return ((uint64) ItemPointerGetBlockNumberNoCheck(tid) << BETREE_POSTING_OFFSET_BITS) |
		ItemPointerGetOffsetNumberNoCheck(tid);
}

static inline bool
tid_has_number(ItemPointer tid)
{
	return ItemPointerIsValid(tid) &&
		BlockNumberIsValid(ItemPointerGetBlockNumberNoCheck(tid)) &&
		ItemPointerGetOffsetNumberNoCheck(tid) < (1 << BETREE_POSTING_OFFSET_BITS);
}

/* The TID of a number that "itup" has */
static inline void
set_tid(ItemPointer tid, uint64 number, IndexTuple itup)
{
	uint64		block = number >> BETREE_POSTING_OFFSET_BITS;
	OffsetNumber off = number & ((1 << BETREE_POSTING_OFFSET_BITS) - 1);

	if (unlikely(block > MaxBlockNumber || off == InvalidOffsetNumber))
		betree_page_report_item(itup);
	ItemPointerSet(tid, (BlockNumber) block, off);
}

/* Read a distance that begins at "*at" and ends before "end"; moves "*at" on */
static inline uint64
read_distance(const uint8 **at, const uint8 *end)
{
	const uint8 *p = *at;
	uint64		distance = 0;

	for (int i = 0; i < DISTANCE_BYTES_MAX && p < end; i++)
	{
		uint8		byte = *p++;

		distance |= (uint64) (byte & 0x7F) << (7 * i);
		if (byte < 0x80)
		{
			if (unlikely(distance == 0))
				break;
			*at = p;
			return distance;
		}
	}
	betree_page_report_item(*at);
}

/*
 * betree_posting_read
 *		The TIDs of an item of a leaf, ascending; returns how many they are.
 *
 * "tids" has room for BETREE_POSTING_MAX_ROWS.
 */
int
betree_posting_read(IndexTuple itup, ItemPointerData *tids)
{
	PostingParts parts;
	const uint8 *at;
	const uint8 *end;
	uint64		number;

	tids[0] = itup->t_tid;
	if (!BetreeTupleIsPosting(itup))
		return 1;
	read_parts(itup, &parts);
	if (!tid_has_number(&itup->t_tid))
		betree_page_report_item(itup);
	number = tid_number(&itup->t_tid);
	at = parts.bytes;
	end = parts.bytes + parts.nbytes;
	for (int i = 1; i < parts.nrows; i++)
	{
		number += read_distance(&at, end);
		set_tid(&tids[i], number, itup);
	}
	if (end - at >= MAXIMUM_ALIGNOF)
		betree_page_report_item(itup);
	while (at < end)
	{
		if (*at++ != 0)
			betree_page_report_item(itup);
	}
	return parts.nrows;
}

/*
 * Number of the last TID of a posting, and how many bytes its distances take:
 * what betree_posting_read() checks but for numbers in between.
 */
static uint64
find_last(IndexTuple itup, const PostingParts *parts, int *nbytes)
{
	const uint8 *at = parts->bytes;
	const uint8 *end = parts->bytes + parts->nbytes;
	uint64		number = tid_number(&itup->t_tid);

	if (!tid_has_number(&itup->t_tid))
		betree_page_report_item(itup);
	for (int i = 1; i < parts->nrows; i++)
		number += read_distance(&at, end);
	if (end - at >= MAXIMUM_ALIGNOF)
		betree_page_report_item(itup);
	*nbytes = (int) (at - parts->bytes);
	return number;
}

/* The last TID of an item of a leaf */
ItemPointerData
betree_posting_last(IndexTuple itup)
{
	ItemPointerData tid = itup->t_tid;

	if (BetreeTupleIsPosting(itup))
	{
		PostingParts parts;
		int			nbytes;

		read_parts(itup, &parts);
		set_tid(&tid, find_last(itup, &parts, &nbytes), itup);
	}
	return tid;
}

/* Is an item a posting that may have no room for another row? */
bool
betree_posting_is_full(IndexTuple itup)
{
	PostingParts parts;

	if (!BetreeTupleIsPosting(itup))
		return false;
	read_parts(itup, &parts);
	return parts.nrows >= BETREE_POSTING_MAX_ROWS ||
		parts.nbytes + DISTANCE_BYTES_MAX > BETREE_POSTING_BYTES_MAX;
}

/* Size of the tuple that one of the item's rows would have */
int
betree_posting_key_size(IndexTuple itup)
{
	PostingParts parts;

	if (!BetreeTupleIsPosting(itup))
		return (int) IndexTupleSize(itup);
	read_parts(itup, &parts);
	return parts.key_size;
}

/* How many rows has an item of a leaf? */
int
betree_posting_nrows(IndexTuple itup)
{
	PostingParts parts;

	if (!BetreeTupleIsPosting(itup))
		return 1;
	read_parts(itup, &parts);
	return parts.nrows;
}

/* Have two items of a leaf the same key, bit for bit? */
bool
betree_posting_same_key(IndexTuple a, IndexTuple b)
{
	int			size = betree_posting_key_size(a);

	return betree_posting_key_size(b) == size &&
		((a->t_info ^ b->t_info) & ~(BETREE_POSTING_BIT | INDEX_SIZE_MASK)) == 0 &&
		memcmp((char *) a + sizeof(IndexTupleData),
			   (char *) b + sizeof(IndexTupleData),
			   size - sizeof(IndexTupleData)) == 0;
}

/* The tuple of one row with the key of an item, palloc'd */
IndexTuple
betree_posting_form_row(IndexTuple itup, ItemPointer tid)
{
	int			size = betree_posting_key_size(itup);
	IndexTuple	row = palloc0(MAXALIGN(size));

	memcpy(row, itup, size);
	row->t_tid = *tid;
	row->t_info &= ~(BETREE_POSTING_BIT | INDEX_SIZE_MASK);
	row->t_info |= size;
	return row;
}

/*
 * betree_posting_begin_row
 *		Begin to make a posting with one row and the key of an item.
 */
void
betree_posting_begin_row(BetreePosting *posting, IndexTuple key, ItemPointer tid)
{
	int			room;

	posting->key = key;
	posting->key_size = betree_posting_key_size(key);
	posting->first = *tid;
	posting->last = tid_number(tid);
	posting->nrows = 1;
	posting->nbytes = 0;

	room = (int) BetreeMaxItemSize - (int) sizeof(BetreePostingTailData) -
		posting->key_size;
	posting->max_bytes = Min(BETREE_POSTING_BYTES_MAX, room);
	if (room < BETREE_POSTING_BYTES_MIN || !tid_has_number(tid) ||
		posting->key_size != (int) MAXALIGN(posting->key_size))
		posting->max_bytes = 0;
}

/*
 * Add the rows of a posting behind its first one, which has been added last.
 * Returns false if there is no room.
 */
static bool
add_distances(BetreePosting *posting, IndexTuple itup)
{
	PostingParts parts;
	int			nbytes;
	uint64		last;

	read_parts(itup, &parts);
	last = find_last(itup, &parts, &nbytes);
	if (posting->nbytes + nbytes > posting->max_bytes ||
		posting->nrows + parts.nrows - 1 > BETREE_POSTING_MAX_ROWS)
		return false;
	memcpy(posting->bytes + posting->nbytes, parts.bytes, nbytes);
	posting->nbytes += nbytes;
	posting->nrows += parts.nrows - 1;
	posting->last = last;
	return true;
}

/*
 * betree_posting_begin
 *		Begin to make a posting with what an item has.
 */
void
betree_posting_begin(BetreePosting *posting, IndexTuple itup)
{
	betree_posting_begin_row(posting, itup, &itup->t_tid);
	if (BetreeTupleIsPosting(itup) && !add_distances(posting, itup))
		betree_page_report_item(itup);
}

/*
 * betree_posting_add_row
 *		Add a row that has the key.
 *
 * Returns false, having changed nothing, if there is no room for it, or if it
 * is not above the last one.
 */
bool
betree_posting_add_row(BetreePosting *posting, ItemPointer tid)
{
	uint64		number;
	uint64		distance;
	uint8		bytes[DISTANCE_BYTES_MAX];
	int			n = 0;

	if (!tid_has_number(tid) || posting->nrows >= BETREE_POSTING_MAX_ROWS)
		return false;
	number = tid_number(tid);
	if (number <= posting->last)
		return false;
	distance = number - posting->last;
	while (distance >= 0x80)
	{
		bytes[n++] = 0x80 | (distance & 0x7F);
		distance >>= 7;
	}
	bytes[n++] = distance;
	if (posting->nbytes + n > posting->max_bytes)
		return false;
	memcpy(posting->bytes + posting->nbytes, bytes, n);
	posting->nbytes += n;
	posting->nrows++;
	posting->last = number;
	return true;
}

/*
 * betree_posting_add
 *		Add the rows of another item of a leaf.
 *
 * Returns false, having changed nothing, if its key is another, or if they do
 * not fit, all of them.
 */
bool
betree_posting_add(BetreePosting *posting, IndexTuple itup)
{
	int			n = betree_posting_nrows(itup);
	int			old_nbytes = posting->nbytes;
	int			old_nrows = posting->nrows;
	uint64		old_last = posting->last;

	/* a distance takes a byte at least */
	if (posting->nrows + n > BETREE_POSTING_MAX_ROWS ||
		posting->nbytes + n > posting->max_bytes ||
		!betree_posting_same_key(posting->key, itup))
		return false;
	if (!betree_posting_add_row(posting, &itup->t_tid))
		return false;
	if (n > 1 && !add_distances(posting, itup))
	{
		posting->nbytes = old_nbytes;
		posting->nrows = old_nrows;
		posting->last = old_last;
		return false;
	}
	return true;
}

/*
 * betree_posting_form
 *		The item that has been made, palloc'd: a posting, or the tuple of one
 *		row.
 */
IndexTuple
betree_posting_form(BetreePosting *posting)
{
	BetreePostingTailData tail;
	IndexTuple	itup;
	int			size;

	if (posting->nrows == 1)
		return betree_posting_form_row(posting->key, &posting->first);

	tail.btpt_key_size = posting->key_size;
	tail.btpt_nrows = posting->nrows;
	size = MAXALIGN(posting->key_size + posting->nbytes + sizeof(tail));
	Assert(size <= MAXALIGN(BetreeMaxItemSize));
	itup = palloc0(size);
	memcpy(itup, posting->key, posting->key_size);
	itup->t_tid = posting->first;
	itup->t_info &= ~INDEX_SIZE_MASK;
	itup->t_info |= BETREE_POSTING_BIT | size;
	memcpy((char *) itup + posting->key_size, posting->bytes, posting->nbytes);
	memcpy((char *) itup + size - sizeof(tail), &tail, sizeof(tail));
	return itup;
}

/* ---- removing rows from pages: whole items, and rows of postings ---- */

/*
 * As in betree_page.c the functions neither lock nor log.
 */

/*
 * betree_posting_removal_add
 *		Remove rows of an item: those of its TIDs, in order, for which "dead" is
 *		set.  Items come in the order of the page.
 *
 * What is left of a posting is not longer than it was: the distance over a row
 * that is gone takes no more bytes than the two to and from it.
 */
void
betree_posting_removal_add(BetreeRemoval *removal, OffsetNumber off, IndexTuple itup,
						   const bool *dead)
{
	ItemPointerData tids[BETREE_POSTING_MAX_ROWS];
	BetreePosting posting;
	int			n = betree_posting_read(itup, tids);
	int			nleft = 0;

	Assert(removal->ndead + removal->nshrunk < MaxIndexTuplesPerPage);

	for (int i = 0; i < n; i++)
	{
		if (dead[i])
			continue;
		if (nleft++ == 0)
			betree_posting_begin_row(&posting, itup, &tids[i]);
		else if (!betree_posting_add_row(&posting, &tids[i]))
			betree_page_report_item(itup);
	}
	if (nleft == 0)
		removal->dead[removal->ndead++] = off;
	else if (nleft < n)
	{
		removal->shrunk[removal->nshrunk] = off;
		removal->left[removal->nshrunk++] = betree_posting_form(&posting);
	}
}

/* Remove the rows from a page image */
void
betree_posting_removal_apply(Page page, BetreeRemoval *removal)
{
	for (int i = 0; i < removal->nshrunk; i++)
		betree_page_shrink_item(page, removal->shrunk[i], removal->left[i]);
	if (removal->ndead > 0)
		betree_page_delete_items(page, removal->dead, removal->ndead);
}
