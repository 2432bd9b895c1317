/*-------------------------------------------------------------------------
 *
 * ecp_space.c
 *	  The block map of an ecp index, and the first touch of blocks.
 *
 * Which blocks are in use is known from a bitmap on map pages that is
 * WAL-logged together with whatever makes a block used or free (see the
 * README, "WAL records"): the free space map of core is a hint that a crash
 * may set back, and a run handed out twice would be two clusters on one
 * page.  A run lies within the blocks of one map page; the search is first
 * fit, so that the file stays short.
 *
 * A block may be marked as used and lie beyond the end of the file: a crash
 * can cut off what was extended before its WAL record was flushed, and
 * nothing needs to exist before it is first written.  ecp_space_new_buffer()
 * is the only way to the first write of a run's page.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "base/compat.h"
#include "base/core.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"

#define ECP_MAP_WORDS	(ECP_MAP_BITS / 64)

/* The file grows by 1/n of its length at a time, up to a number of blocks. */
#define ECP_EXTEND_BLOCKS_MAX	64
#define ECP_EXTEND_SHARE		64

/* Attempts to read a page that is locked, and the time between them. */
#define ECP_LOOK_TRIES			100
#define ECP_LOOK_SLEEP_US		10000

#ifdef HAVE_POSIX_FALLOCATE
/*
 * Have the filesystem reserve room for the blocks "from" to "to", which are in
 * one segment of the file, without writing them.  A full disk must be detected
 * here, in the process that needs the room.  If it were detected when a dirty
 * buffer is written, any process that needs a buffer would fail, and so would
 * checkpoints and recovery.
 */
static void
space_reserve(Relation index, BlockNumber from, BlockNumber to)
{
	char	   *path = ecp_relation_path(index);
	BlockNumber segment = from / RELSEG_SIZE;
	int			fd;
	int			error;

	Assert(from <= to);
	if (segment > 0)
		path = psprintf("%s.%u", path, segment);
	fd = OpenTransientFile(path, O_RDWR | PG_BINARY);
	if (fd < 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open file \"%s\": %m", path)));
	do
		error = posix_fallocate(fd, (off_t) (from % RELSEG_SIZE) * BLCKSZ,
								(off_t) (to - from + 1) * BLCKSZ);
	while (error == EINTR);
	CloseTransientFile(fd);

	/* filesystems that cannot reserve room are used without it */
	if (error != 0 && error != EINVAL && error != EOPNOTSUPP)
	{
		errno = error;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not extend file \"%s\": %m", path),
				 error == ENOSPC ? errhint("Check free disk space.") : 0));
	}
	pfree(path);
}
#endif

/*
 * Extend the main fork until it has block "blk".  The caller may hold content
 * locks, as nbtree's page splits do: the holder of the extension lock does not
 * wait for any of them.
 *
 * Only the last new block is written; room is reserved for those before it, and
 * they read as zeros.  Every block is written when it is initialised; writing
 * it here, too, would cost what insert buffers save.  It is written where no room
 * can be reserved (macOS).
 *
 * Returns true if no other process can have seen the block.
 */
static bool
space_extend(Relation index, BlockNumber blk)
{
	bool		need_lock = !RELATION_IS_LOCAL(index);
	BlockNumber nblocks;
	bool		extended;

	if (blk < RelationGetNumberOfBlocks(index))
		return false;
	if (need_lock)
		LockRelationForExtension(index, ExclusiveLock);
	nblocks = RelationGetNumberOfBlocks(index);
	extended = blk >= nblocks;
	if (extended)
	{
		PGAlignedBlock zeros;
		BlockNumber ahead = Min(nblocks / ECP_EXTEND_SHARE,
								ECP_EXTEND_BLOCKS_MAX);
		BlockNumber end = Max(blk + 1, nblocks + ahead);

		memset(zeros.data, 0, BLCKSZ);
		while (nblocks < end)
		{
			BlockNumber upto = nblocks + 1;

#ifdef HAVE_POSIX_FALLOCATE
			/* the first block of a segment makes its file */
			if (nblocks % RELSEG_SIZE != 0)
			{
				upto = Min(end, nblocks - nblocks % RELSEG_SIZE + RELSEG_SIZE);
				space_reserve(index, nblocks, upto - 1);
			}
#endif
			smgrextend(RelationGetSmgr(index), MAIN_FORKNUM, upto - 1,
					   zeros.data, false);
			nblocks = upto;
		}
	}
	if (need_lock)
		UnlockRelationForExtension(index, ExclusiveLock);
	return extended;
}

/* The run that a page says it belongs to, or 0. */
uint64
ecp_space_owner(Page page)
{
	if (!ecp_page_has_form(page) ||
		EcpPageGetOpaque(page)->ecpo_page_id != ECP_PAGE_ID)
		return 0;
	return EcpPageGetOpaque(page)->ecpo_run;
}

/* Is this page 0 of a run that is in use? */
static bool
space_is_run(Page page, uint64 run)
{
	return ecp_space_owner(page) == run &&
		EcpPageGetOpaque(page)->ecpo_pageno == 0 &&
		(EcpPageGetRunHeader(page)->ecpr_flags & ECP_RUN_FREED) == 0;
}

/*
 * The same for a block whose lock we may not wait for, because we hold locks
 * that come after it in the lock order.  The page is read without a lock.  If it
 * seems to be in use, it may be being initialised as page 0 of another run, and
 * is read again until it can be locked.  (A process that keeps it locked for
 * long waits for us, and does not write.)
 */
static bool
space_has_run(Relation index, BlockNumber blk, uint64 run)
{
	Buffer		buffer = ecp_page_get(index, blk, BUFFER_LOCK_UNLOCK);
	bool		in_use = space_is_run(BufferGetPage(buffer), run);

	for (int tries = 0; in_use && !ecp_buffer_is_locked(buffer) &&
		 tries < ECP_LOOK_TRIES; tries++)
	{
		if (ConditionalLockBuffer(buffer))
		{
			in_use = space_is_run(BufferGetPage(buffer), run);
			LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
			break;
		}
		pg_usleep(ECP_LOOK_SLEEP_US);
		in_use = space_is_run(BufferGetPage(buffer), run);
	}
	ReleaseBuffer(buffer);
	return in_use;
}

/*
 * ecp_space_check_free
 *		Check that a block, exclusively locked, may be overwritten.
 *
 * Damage to a map or a header must not destroy rows.  When the blocks of a run are
 * freed, its page 0 is marked, and keeps the mark until it is overwritten: a page
 * of a run whose page 0 exists without the mark is in use.
 */
void
ecp_space_check_free(Relation index, Buffer buffer)
{
	Page		page = BufferGetPage(buffer);
	BlockNumber blk = BufferGetBlockNumber(buffer);
	uint64		run = ecp_space_owner(page);
	uint32		pageno = run == 0 ? 0 : EcpPageGetOpaque(page)->ecpo_pageno;

	Assert(ecp_buffer_is_exclusive_locked(buffer));
	if (blk != ECP_META_BLKNO && !EcpBlockIsMap(blk) &&
		(run == 0 || pageno >= blk ||
		 (pageno == 0 ? !space_is_run(page, run) :
		  !space_has_run(index, blk - pageno, run))))
		return;
	ecp_report_corrupt(index, blk,
					   "The block is in use, but was to be overwritten.");
}

/*
 * ecp_space_new_buffer
 *		Return block "blk", exclusively locked, for initialisation.
 *
 * The caller owns the block by the map, and writes it by a full image.  Its old
 * contents are only checked not to be in use.
 */
Buffer
ecp_space_new_buffer(Relation index, BlockNumber blk)
{
	Buffer		buffer;

	if (space_extend(index, blk))
		return ReadBufferExtended(index, MAIN_FORKNUM, blk, RBM_ZERO_AND_LOCK,
								  NULL);
	buffer = ReadBufferExtended(index, MAIN_FORKNUM, blk, RBM_ZERO_ON_ERROR,
								NULL);
	ecp_page_lock(index, buffer, BUFFER_LOCK_EXCLUSIVE);
	ecp_space_check_free(index, buffer);
	return buffer;
}

/*
 * First fit of npages clear bits among the blocks of a map page.  Returns
 * the bit's number, or -1.
 */
static int64
map_search(const uint64 *words, uint32 npages)
{
	uint32		found = 0;

	Assert(npages > 0);
	for (uint32 w = 0; w < ECP_MAP_WORDS; w++)
	{
		if (words[w] == PG_UINT64_MAX)
		{
			found = 0;
			continue;
		}
		for (uint32 b = 0; b < 64; b++)
		{
			if (words[w] & (UINT64CONST(1) << b))
				found = 0;
			else if (++found == npages)
				return (int64) w * 64 + b - npages + 1;
		}
	}
	return -1;
}

/*
 * ecp_space_find
 *		Find npages free contiguous blocks, looking from map page "hint" on.
 *
 * Returns with the map page locked.  Nothing is changed yet: the caller
 * registers the map page by ecp_space_register() in the record that makes
 * the blocks used, and releases extent->map.  The caller may hold content
 * locks that come before the map in the lock order.
 */
void
ecp_space_find(Relation index, uint32 hint, uint32 npages, EcpExtent *extent)
{
	Assert(npages > 0 && npages <= ECP_RUN_PAGES_MAX);
	if ((uint64) hint * ECP_MAP_BITS >= RelationGetNumberOfBlocks(index))
		ecp_report_corrupt(index, ECP_META_BLKNO,
						   psprintf("Map page %u does not exist.", hint));

	for (uint32 mapno = hint;; mapno++)
	{
		Page		page;
		int64		bit;

		if ((uint64) mapno * ECP_MAP_BITS + ECP_MAP_BITS > MaxBlockNumber)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("index \"%s\" has no free blocks left",
							RelationGetRelationName(index))));

		/* exists if it was ever used; we lock it before we look */
		(void) space_extend(index, EcpMapBlock(mapno));
		extent->map = ecp_page_get(index, EcpMapBlock(mapno),
								   BUFFER_LOCK_EXCLUSIVE);
		extent->mapno = mapno;
		extent->npages = npages;
		page = BufferGetPage(extent->map);
		/* the first one is written with the metapage */
		extent->map_is_new = mapno > 0 && PageIsNew(page);
		if (extent->map_is_new)
		{
			/* bit 0 is an ordinary block, bit 1 the map page itself */
			extent->blk = EcpMapBlock(mapno) + 1;
			return;
		}

		ecp_page_check(index, extent->map, ECP_PAGE_MAP);
		bit = map_search(EcpPageGetMap(page), npages);
		if (bit >= 0)
		{
			extent->blk = mapno * ECP_MAP_BITS + bit;
			return;
		}
		UnlockReleaseBuffer(extent->map);
	}
}

/*
 * Register the extent's map page in a record and mark the extent as used
 * there.  Returns the copy, in case the caller has more to mark.
 */
Page
ecp_space_register(Relation index, GenericXLogState *xlog,
				   const EcpExtent *extent)
{
	Page		page;

	Assert(ecp_buffer_is_exclusive_locked(extent->map));
	page = GenericXLogRegisterBuffer(xlog, extent->map,
									 extent->map_is_new ?
									 GENERIC_XLOG_FULL_IMAGE : 0);
	if (extent->map_is_new)
	{
		ecp_page_init_map(page, extent->mapno);
		ecp_space_mark(index, page, EcpMapBlock(extent->mapno), 1, true);
	}
	ecp_space_mark(index, page, extent->blk, extent->npages, true);
	return page;
}

/* Set or clear the bits of an extent in (the copy of) its map page. */
void
ecp_space_mark(Relation index, Page map, BlockNumber blk, uint32 npages,
			   bool used)
{
	uint64	   *words = EcpPageGetMap(map);

	if (npages > ECP_RUN_PAGES_MAX ||
		blk % ECP_MAP_BITS + npages > ECP_MAP_BITS)
		ecp_report_corrupt(index, blk, "The run crosses a map page.");
	for (uint32 i = 0; i < npages; i++)
	{
		uint32		bit = (blk + i) % ECP_MAP_BITS;

		if (used)
			words[bit / 64] |= UINT64CONST(1) << (bit % 64);
		else
			words[bit / 64] &= ~(UINT64CONST(1) << (bit % 64));
	}
}

/* The map page that has the bit of "blk", locked and checked. */
Buffer
ecp_space_map_lock(Relation index, BlockNumber blk, int lockmode)
{
	Buffer		buffer;

	buffer = ecp_page_get(index, EcpMapBlock(EcpBlockMap(blk)), lockmode);
	ecp_page_check(index, buffer, ECP_PAGE_MAP);
	return buffer;
}

/* Blocks marked as used, in all map pages. */
uint64
ecp_space_count_used(Relation index)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(index);
	uint64		used = 0;

	for (uint32 mapno = 0; EcpMapBlock(mapno) < nblocks; mapno++)
	{
		Buffer		buffer = ecp_page_get(index, EcpMapBlock(mapno),
										  BUFFER_LOCK_SHARE);
		Page		page = BufferGetPage(buffer);

		if (mapno == 0 || !PageIsNew(page))
		{
			ecp_page_check(index, buffer, ECP_PAGE_MAP);
			used += pg_popcount((const char *) EcpPageGetMap(page),
								ECP_MAP_BYTES);
		}
		UnlockReleaseBuffer(buffer);
		CHECK_FOR_INTERRUPTS();
	}
	return used;
}

/* The last used block of a map page, other than itself, or InvalidBlockNumber. */
static BlockNumber
map_last_used(Page page, uint32 mapno)
{
	const uint64 *words = EcpPageGetMap(page);

	for (int w = ECP_MAP_WORDS - 1; w >= 0; w--)
	{
		uint64		used = words[w];

		if (w == 0)
			used &= ~(UINT64CONST(1) << (EcpMapBlock(mapno) % ECP_MAP_BITS));
		if (used != 0)
			return mapno * ECP_MAP_BITS + w * 64 + pg_leftmost_one_pos64(used);
	}
	return InvalidBlockNumber;
}

/*
 * ecp_space_end
 *		The number of blocks that the file must have.
 *
 * Behind them no block is in use; map page "hint" is before their end, and map
 * pages behind it have no used block but themselves.  May be more than the file
 * has.
 */
BlockNumber
ecp_space_end(Relation index, uint32 hint)
{
	uint32		mapno = EcpBlockMap(RelationGetNumberOfBlocks(index) - 1);

	for (;; mapno--)
	{
		BlockNumber last = InvalidBlockNumber;

		CHECK_FOR_INTERRUPTS();
		if (EcpMapBlock(mapno) < RelationGetNumberOfBlocks(index))
		{
			Buffer		buffer = ecp_page_get(index, EcpMapBlock(mapno),
											  BUFFER_LOCK_SHARE);

			if (mapno == 0 || !PageIsNew(BufferGetPage(buffer)))
			{
				ecp_page_check(index, buffer, ECP_PAGE_MAP);
				last = map_last_used(BufferGetPage(buffer), mapno);
			}
			UnlockReleaseBuffer(buffer);
		}
		if (last != InvalidBlockNumber || mapno <= hint)
			return Max(last == InvalidBlockNumber ? 0 : last + 1,
					   EcpMapBlock(mapno) + 1);
	}
}
