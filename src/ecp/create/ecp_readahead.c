/*-------------------------------------------------------------------------
 *
 * ecp_readahead.c
 *	  The second buffer of an index build: what its scan will read next.
 *
 * A build alternates between reading rows into the in-buff and assigning
 * them, and the server's scan reads nothing while we assign.  So we ask the
 * kernel, between the steps of the assignment, for the blocks of the next
 * in-buff: the device works while we do, and the scan finds them in the
 * kernel's cache.  The second in-buff is that cache; it takes nothing of
 * maintenance_work_mem.
 *
 * How many blocks there are follows from the rows of the table and of the
 * in-buff.  Which ones:
 *
 * - a process alone reads on from the block that it is at;
 * - a process of a team reads on in the chunk of blocks that the parallel
 *	 scan gave it.  The blocks behind all chunks given so far will be read
 *	 soon by one process or another, so they are taken from a common counter.
 *
 * Vectors stored out of line lie in the TOAST table in about the order of
 * the rows.  Both tables are then read ahead at the same pace, each by its
 * share.
 *
 * We ask for pieces of many blocks, as the kernel does when it reads ahead
 * by itself.  A request for each block, as by PrefetchBuffer(), makes a device
 * that can do few requests a second slower than no reading ahead at all.
 *
 * All of this is a hint.  A wrong guess costs a read, and nothing depends on
 * a right one.  maintenance_io_concurrency of the table's tablespace is the
 * number of blocks asked for at a time, if it is more than AHEAD_BLOCKS; 0
 * turns reading ahead off.
 *
 * Called by ecp_assign.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "base/block_stream.h"
#include "base/compat.h"
#include "ecp/create/ecp_build.h"
#include "ecp/create/ecp_policy.h"
#include "utils/rel.h"
#include "utils/spccache.h"

/* Rows that kernels compare at once, and the fewest they are efficient with. */
#define AHEAD_ROWS_UNIT	96
#define AHEAD_ROWS_MIN	16

/* Blocks to ask for at once, unless more are configured: half a megabyte. */
#define AHEAD_BLOCKS	64

void
ecp_readahead_begin(EcpReadahead *ahead, const EcpBuild *build,
					ItemPointer tid, Datum value)
{
	uint64		total = ahead->total;
	BlockNumber blk = ItemPointerGetBlockNumber(tid);
	int			concurrency;
	double		share;
	double		positions;
	uint64		own;

	Assert(ItemPointerIsValid(tid));
	Assert(build->assigned.inbuff_max > 0);
	memset(ahead, 0, sizeof(EcpReadahead));
	ahead->total = total;
	ahead->heap_blocks = RelationGetNumberOfBlocks(build->heap);
	if (build->heap->rd_tableam != GetHeapamTableAmRoutine() ||
		blk + 1 >= ahead->heap_blocks)
		return;
	concurrency =
		get_tablespace_maintenance_io_concurrency(build->heap->rd_rel->reltablespace);
	if (concurrency == 0)
		return;
	ahead->piece = Max(concurrency, AHEAD_BLOCKS);
	ahead->heap_path = ecp_relation_path(build->heap);

	if (VARATT_IS_EXTERNAL(DatumGetPointer(value)) &&
		OidIsValid(build->heap->rd_rel->reltoastrelid))
	{
		Relation	toast = table_open(build->heap->rd_rel->reltoastrelid,
									   AccessShareLock);

		ahead->toast_blocks = RelationGetNumberOfBlocks(toast);
		ahead->toast_path = ecp_relation_path(toast);
		table_close(toast, AccessShareLock);
	}
	positions = Max(ahead->heap_blocks, ahead->toast_blocks);
	ahead->scale = positions / ahead->heap_blocks;

	share = build->assigned.inbuff_max /
		Max(build->plan.table_rows, build->assigned.inbuff_max);
	ahead->window = (uint64) (positions * share) + 1;
	ahead->next = (uint64) ((blk + 1) * ahead->scale);
	own = ahead->window;
	if (build->team)
	{
		uint32		own_blocks;
		uint64		given;

		ecp_build_team_position(build->team, &own_blocks, &given);
		own = Min(own, (uint64) (own_blocks * ahead->scale));
	}
	ahead->end = Min(ahead->next + own, (uint64) positions);
}

void
ecp_readahead_end(EcpReadahead *ahead)
{
	ahead->piece = 0;
}

/*
 * Rows of a step at most "most", and if possible few enough that one piece is
 * requested between two steps.
 */
int
ecp_readahead_rows(const EcpReadahead *ahead, const EcpBuild *build, int most)
{
	int			rows;

	Assert(most > 0);
	if (ahead->piece == 0)
		return most;
	rows = Min((double) ahead->piece * build->assigned.inbuff_max /
			   ahead->window, most);
	if (rows > AHEAD_ROWS_UNIT)
		rows -= rows % AHEAD_ROWS_UNIT;
	return Max(rows, AHEAD_ROWS_MIN);
}

/*
 * Claim at most *n positions behind those that processes of the team were
 * given.
 */
static bool
ahead_claim(const EcpReadahead *ahead, const EcpBuild *build,
			uint64 *position, int *n)
{
	pg_atomic_uint64 *counter = ecp_build_team_ahead(build->team);
	uint64		seen = pg_atomic_read_u64(counter);
	uint64		positions = Max(ahead->heap_blocks, ahead->toast_blocks);
	uint32		own_blocks;
	uint64		given;
	uint64		limit;

	ecp_build_team_position(build->team, &own_blocks, &given);
	given = (uint64) (given * ahead->scale);
	limit = Min(given + ahead->window * build->plan.nparticipants, positions);
	do
	{
		*position = Max(seen, given);
		if (*position >= limit)
			return false;
		*n = Min(*n, limit - *position);
	} while (!pg_atomic_compare_exchange_u64(counter, &seen, *position + *n));
	return true;
}

/* Ask for the blocks of a relation that begin at n positions. */
static void
ahead_ask(const char *path, BlockNumber blocks, uint64 position, int n,
		  uint64 positions)
{
	uint64		first = position == 0 ? 0 :
		(position - 1) * blocks / positions + 1;
	uint64		last = (position + n - 1) * blocks / positions;

	if (first <= last)
		ecp_block_hint(path, first, last - first + 1, true);
}

/* Before the step that ends after "upto" rows of the in-buff. */
void
ecp_readahead_step(EcpReadahead *ahead, const EcpBuild *build, int upto)
{
	uint64		positions = Max(ahead->heap_blocks, ahead->toast_blocks);
	double		due;

	Assert(upto > 0);
	if (ahead->piece == 0)
		return;

	/* one step early, so that the last has an effect, too */
	due = Min((double) ahead->window,
			  (double) ahead->window * upto / build->assigned.inbuff_max);
	while (ahead->asked < due)
	{
		uint64		position = ahead->next;
		int			n = Min(ahead->piece, ahead->window - ahead->asked);

		if (ahead->next < ahead->end)
		{
			n = Min(n, ahead->end - ahead->next);
			ahead->next += n;
		}
		else if (build->team == NULL || !ahead_claim(ahead, build, &position, &n))
			return;
		ahead_ask(ahead->heap_path, ahead->heap_blocks, position, n,
				  positions);
		if (ahead->toast_path)
			ahead_ask(ahead->toast_path, ahead->toast_blocks, position, n,
					  positions);
		ahead->asked += n;
		ahead->total += n;
	}
}
