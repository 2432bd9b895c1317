/*-------------------------------------------------------------------------
 *
 * index_team.c
 *	  The backend and the parallel workers that build an index.
 *
 * What the builds of both access methods share of their teams (base/team.c): the
 * snapshot of the scan, the locks that workers take, sums over the processes.
 * As in the server's own builds, see _bt_begin_parallel().
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "base/compat.h"
#include "base/team.h"
#include "catalog/index.h"
#include "miscadmin.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

static void
team_forget_snapshot(EcpIndexTeam *team)
{
	if (IsMVCCSnapshot(team->snapshot))
		UnregisterSnapshot(team->snapshot);
}

bool
ecp_index_team_create(EcpIndexTeam *team, const char *entry, int nworkers,
					  Size bytes, Relation heap, Relation index,
					  IndexInfo *info)
{
	EcpIndexTeamShared *shared;

	Assert(bytes >= sizeof(EcpIndexTeamShared));
	team->team.memory_setting = "maintenance_work_mem";
	team->heap = heap;
	team->index = index;
	team->info = info;

	/*
	 * A concurrent build indexes what its snapshot sees; another one all rows
	 * that are not dead to everyone.
	 */
	if (info->ii_Concurrent)
		team->snapshot = RegisterSnapshot(GetTransactionSnapshot());
	else
		team->snapshot = SnapshotAny;
	if (!ecp_team_create(&team->team, entry, nworkers, bytes, heap,
						 team->snapshot, WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN))
	{
		team_forget_snapshot(team);
		return false;
	}
	shared = (EcpIndexTeamShared *) team->team.shared;
	memset((char *) shared + sizeof(EcpTeamShared), 0,
		   bytes - sizeof(EcpTeamShared));
	shared->heap = RelationGetRelid(heap);
	shared->index = RelationGetRelid(index);
	shared->concurrent = info->ii_Concurrent;
	SpinLockInit(&shared->mutex);
	return true;
}

bool
ecp_index_team_launch(EcpIndexTeam *team)
{
	ecp_team_launch(&team->team, true);
	if (team->team.nworkers > 0)
		return true;
	ecp_index_team_end(team);
	return false;
}

void
ecp_index_team_end(EcpIndexTeam *team)
{
	ecp_team_end(&team->team);
	team_forget_snapshot(team);
}

void
ecp_index_team_attach(EcpIndexTeam *team, shm_toc *toc)
{
	const EcpIndexTeamShared *shared;

	ecp_team_attach(&team->team, toc);
	shared = (const EcpIndexTeamShared *) team->team.shared;

	/* the locks that the backend is known to hold */
	team->heap_lock = shared->concurrent ? ShareUpdateExclusiveLock : ShareLock;
	team->index_lock = shared->concurrent ? RowExclusiveLock : AccessExclusiveLock;
	team->heap = table_open(shared->heap, team->heap_lock);
	team->index = index_open(shared->index, team->index_lock);
	team->info = BuildIndexInfo(team->index);
	team->info->ii_Concurrent = shared->concurrent;
}

void
ecp_index_team_detach(EcpIndexTeam *team)
{
	index_close(team->index, team->index_lock);
	table_close(team->heap, team->heap_lock);
}

void
ecp_index_team_add(EcpTeam *team, double heap_tuples, double index_tuples,
				   bool broken_hot_chain)
{
	EcpIndexTeamShared *shared = (EcpIndexTeamShared *) team->shared;

	SpinLockAcquire(&shared->mutex);
	shared->heap_tuples += heap_tuples;
	shared->index_tuples += index_tuples;
	shared->broken_hot_chain |= broken_hot_chain;
	SpinLockRelease(&shared->mutex);
}

void
ecp_index_team_sums(EcpTeam *team, IndexInfo *info, double *heap_tuples,
					double *index_tuples)
{
	const EcpIndexTeamShared *shared = (const EcpIndexTeamShared *) team->shared;

	*heap_tuples = shared->heap_tuples;
	*index_tuples = shared->index_tuples;
	if (shared->broken_hot_chain)
		info->ii_BrokenHotChain = true;
}

/* ---- how many parallel workers an index build asks for ---- */

/*
 * The server gives a btree workers by the number of blocks of the table.  Where
 * the indexed values are out of line that is a small part of what a build
 * reads: 60,000 vectors of 1,536 floats are in 500 blocks, and 60,000 of the
 * TOAST table.  Therefore the rules of plan_create_index_workers() are applied
 * again with the blocks of both, of the TOAST table those that indexed columns
 * take: other columns can be large, too.  That is learnt from the pointers in a
 * few blocks of the table, which detoasts nothing.
 */

/* Blocks of the table in which pointers are looked at. */
#define LOOK_BLOCKS		16

/* Memory of a process below which no worker is added, as the server has it. */
#define PROCESS_MIN_KB	32768

typedef struct OutOfLine
{
	const IndexInfo *info;
	TupleDesc	desc;			/* of the table */
	double		bytes;
} OutOfLine;

/* Columns only: what an expression reads is not seen in its result. */
static bool
column_varlena(const OutOfLine *look, int i)
{
	AttrNumber	attnum = look->info->ii_IndexAttrNumbers[i];

	return attnum > 0 && TupleDescAttr(look->desc, attnum - 1)->attlen == -1;
}

/* What a row has out of line. */
static void
look_row(OutOfLine *look, HeapTuple row)
{
	for (int i = 0; i < look->info->ii_NumIndexAttrs; i++)
	{
		struct varatt_external pointer;
		bool		isnull;
		Datum		value;

		if (!column_varlena(look, i))
			continue;
		value = heap_getattr(row, look->info->ii_IndexAttrNumbers[i], look->desc, &isnull);
		if (isnull || !VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value)))
			continue;
		VARATT_EXTERNAL_GET_POINTER(pointer, DatumGetPointer(value));
		look->bytes += VARATT_EXTERNAL_GET_EXTSIZE(pointer);
	}
}

/*
 * The rows of a block, whoever sees them, and without the index's expressions and
 * predicate: a scan for the build would call a user's functions for an estimate, and
 * before the build has its snapshot.
 */
static void
look_block(OutOfLine *look, Relation heap, BlockNumber block)
{
	Buffer		buffer = ReadBufferExtended(heap, MAIN_FORKNUM, block, RBM_NORMAL, NULL);
	Page		page = BufferGetPage(buffer);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	for (OffsetNumber o = FirstOffsetNumber; o <= PageGetMaxOffsetNumber(page); o++)
	{
		ItemId		item = PageGetItemId(page, o);
		HeapTupleData row = {0};

		if (!ItemIdIsNormal(item))
			continue;
		row.t_tableOid = RelationGetRelid(heap);
		row.t_len = ItemIdGetLength(item);
		row.t_data = (HeapTupleHeader) PageGetItem(page, item);
		ItemPointerSet(&row.t_self, block, o);
		look_row(look, &row);
	}
	UnlockReleaseBuffer(buffer);
}

/* Blocks that a scan for the build reads. */
static double
blocks_read(Relation heap, IndexInfo *info)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(heap);
	BlockNumber nlook = Min(nblocks, LOOK_BLOCKS);
	OutOfLine	look = {.info = info,.desc = RelationGetDescr(heap)};
	bool		varlena = false;

	for (int i = 0; i < info->ii_NumIndexAttrs; i++)
		varlena |= column_varlena(&look, i);
	if (!varlena || nlook == 0 ||
		!OidIsValid(heap->rd_rel->reltoastrelid) ||
		heap->rd_tableam != GetHeapamTableAmRoutine())
		return nblocks;
	for (BlockNumber i = 0; i < nlook; i++)
		look_block(&look, heap, (BlockNumber) ((uint64) nblocks * i / nlook));
	return nblocks + look.bytes / nlook * nblocks / BLCKSZ;
}

static bool
parallel_safe(Relation index)
{
	PlannerInfo *root = makeNode(PlannerInfo);

	root->glob = makeNode(PlannerGlobal);
	return is_parallel_safe(root, (Node *) RelationGetIndexExpressions(index)) &&
		is_parallel_safe(root, (Node *) RelationGetIndexPredicate(index));
}

int
ecp_index_workers(Relation heap, Relation index, IndexInfo *info,
				  double *read_blocks)
{
	int			workers = ecp_index_core_workers(heap, index, info);
	double		blocks = blocks_read(heap, info);
	RelOptInfo *rel;
	int			more;

	if (read_blocks)
		*read_blocks = blocks;
	if (workers >= max_parallel_maintenance_workers ||
		blocks <= RelationGetNumberOfBlocks(heap) ||
		RelationGetParallelWorkers(heap, -1) != -1 ||
		heap->rd_rel->relpersistence == RELPERSISTENCE_TEMP ||
		!parallel_safe(index))
		return workers;

	rel = makeNode(RelOptInfo);
	rel->reloptkind = RELOPT_BASEREL;
	rel->rel_parallel_workers = -1;
	more = compute_parallel_worker(rel, blocks, -1,
								   max_parallel_maintenance_workers);
	while (more > 0 && maintenance_work_mem / (more + 1) < PROCESS_MIN_KB)
		more--;
	return Max(workers, more);
}
