/*-------------------------------------------------------------------------
 *
 * betree_build_sort.c
 *	  CREATE INDEX: the rows of the table in index order, by one process or
 *	  several.
 *
 * btree's own tuplesort is not open to other access methods before version
 * 18, so we use the heap-tuple kind, with the type's ordering operators.
 *
 * As in btree, the processes of a parallel build read the table together, and
 * each sorts the rows that it has read onto one tape, with its part of
 * maintenance_work_mem.  Then the backend merges the tapes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/tableam.h"
#include "access/tupmacs.h"
#include "base/compat.h"
#include "base/team.h"
#include "betree/create/betree_build.h"
#include "betree/order/betree_order.h"
#include "betree/page/betree_page.h"
#include "catalog/pg_index.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "commands/progress.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "storage/proc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"


/* ---- the processes of a parallel build, and what they share ---- */

/*
 * They read and sort the table together.  Then the backend merges what they have
 * sorted and packs leaves, while the first worker writes them and the nodes above
 * (betree_build.c); the other workers have left.  The two are joined by a queue of
 * leaves.
 */

/*
 * Queue of packed leaves between the backend and the writer, which stops receiving
 * while it writes a batch of 32 pages; meanwhile the backend packs twice as many
 * leaves, or more.
 */
#define QUEUE_BYTES		(128 * BLCKSZ)

/* In shared memory, followed by the queue and what the sort shares */
typedef struct BuildShared
{
	EcpIndexTeamShared team;	/* must be first; its mutex protects: */
	double		index_bytes;
} BuildShared;

#define BUILD_SHARED_SIZE	BUFFERALIGN(sizeof(BuildShared))

PGDLLEXPORT void betree_build_sort_task(EcpTeam *team, const void *args,
										char **memories);
PGDLLEXPORT void betree_build_sort_main(dsm_segment *seg, shm_toc *toc);

static inline shm_mq *
shared_queue(BetreeBuildTeam *team)
{
	return (shm_mq *) ((char *) team->index.team.shared + BUILD_SHARED_SIZE);
}

static Sharedsort *
team_sort(BetreeBuildTeam *team)
{
	return (Sharedsort *) ((char *) shared_queue(team) + QUEUE_BYTES);
}

bool
betree_build_sort_writes(void)
{
	return IsParallelWorker() && ParallelWorkerNumber == 0;
}

/* Fill what is shared before the workers start */
static void
share(BetreeBuildTeam *team, int nworkers)
{
	dsm_segment *seg = team->index.team.pcxt->seg;
	shm_mq	   *queue = shm_mq_create(shared_queue(team), QUEUE_BYTES);

	shm_mq_set_sender(queue, MyProc);
	team->leaves = shm_mq_attach(queue, seg, NULL);
	tuplesort_initialize_shared(team_sort(team), nworkers + 1, seg);
}

static BetreeBuildTeam *
team_begin(Relation heap, Relation index, IndexInfo *info)
{
	int			nworkers = ecp_index_workers(heap, index, info, NULL);
	BetreeBuildTeam *team;
	Size		bytes = BUILD_SHARED_SIZE + QUEUE_BYTES;

	if (nworkers == 0)
		return NULL;
	team = palloc0(sizeof(BetreeBuildTeam));
	bytes = add_size(bytes, tuplesort_estimate_shared(nworkers + 1));
	if (ecp_index_team_create(&team->index, "betree_build_sort_main", nworkers,
							  bytes, heap, index, info))
	{
		share(team, nworkers);
		if (ecp_index_team_launch(&team->index))
			return team;
	}
	pfree(team);
	return NULL;
}

/* The entry point of a worker */
void
betree_build_sort_main(dsm_segment *seg, shm_toc *toc)
{
	BetreeBuildTeam team = {0};

	ecp_index_team_attach(&team.index, toc);
	tuplesort_attach_shared(team_sort(&team), seg);
	if (betree_build_sort_writes())
	{
		shm_mq_set_receiver(shared_queue(&team), MyProc);
		team.leaves = shm_mq_attach(shared_queue(&team), seg, NULL);
	}
	ecp_team_work(&team.index.team);
	ecp_index_team_detach(&team.index);
}

static void
team_add(BetreeBuildTeam *team, double heap_tuples,
		 double index_tuples, double index_bytes)
{
	BuildShared *shared = (BuildShared *) team->index.team.shared;

	ecp_index_team_add(&team->index.team, heap_tuples, index_tuples,
					   team->index.info->ii_BrokenHotChain);
	SpinLockAcquire(&shared->team.mutex);
	shared->index_bytes += index_bytes;
	SpinLockRelease(&shared->team.mutex);
}

static void
team_sums(BetreeBuildTeam *team, IndexInfo *info,
		  double *heap_tuples, double *index_tuples,
		  double *index_bytes)
{
	ecp_index_team_sums(&team->index.team, info, heap_tuples, index_tuples);
	*index_bytes = ((BuildShared *) team->index.team.shared)->index_bytes;
}

/*
 * The queue fails only if the process at its other end has.  A worker's error
 * is on its way to the backend, and a backend's error ends its workers.
 */
pg_noreturn static void
report_lost(BetreeBuildTeam *team)
{
	if (!IsParallelWorker())
		WaitForParallelWorkersToFinish(team->index.team.pcxt);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("lost connection to a process of an index build")));
}

void
betree_build_sort_send(BetreeBuildTeam *team, IndexTuple high, char *items,
					   Size bytes)
{
	bool		last = BetreePivotGetNatts(high) == BETREE_NATTS_PLUSINF;
	shm_mq_iovec parts[] = {{(char *) high, IndexTupleSize(high)}, {items, bytes}};

	/* what follows it must be aligned */
	Assert(IndexTupleSize(high) == MAXALIGN(IndexTupleSize(high)));

	if (shm_mq_sendv(team->leaves, parts, lengthof(parts), false, last) != SHM_MQ_SUCCESS)
		report_lost(team);
}

void
betree_build_sort_receive(BetreeBuildTeam *team, IndexTuple *high,
						  char **items, Size *bytes)
{
	Size		size;
	void	   *data;

	if (shm_mq_receive(team->leaves, &size, &data, false) != SHM_MQ_SUCCESS)
		report_lost(team);
	*high = (IndexTuple) data;
	Assert(size >= IndexTupleSize(*high));
	*items = (char *) data + IndexTupleSize(*high);
	*bytes = size - IndexTupleSize(*high);
}

static void
report_phase(int phase)
{
	if (!IsParallelWorker())
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, phase);
}

/*
 * Start the sort: all attributes, the TID and, for a unique index, whether the
 * row is alive; by key attributes and TID.
 */
static void
begin_sort(BetreeBuildSort *sort, int memory_kb, SortCoordinate coordinate)
{
	BetreeRel  *bt = sort->bt;
	Relation	rel = bt->rel;
	int			natts = bt->natts;
	int			nkeys = bt->nkeyatts + 1;
	TupleDesc	desc = CreateTemplateTupleDesc(natts + (sort->unique ? 2 : 1));
	AttrNumber	attnums[INDEX_MAX_KEYS + 1];
	Oid			operators[INDEX_MAX_KEYS + 1];
	Oid			collations[INDEX_MAX_KEYS + 1];
	bool		nulls_first[INDEX_MAX_KEYS + 1];

	for (int i = 0; i < natts; i++)
		TupleDescCopyEntry(desc, i + 1, bt->tupdesc, i + 1);
	TupleDescInitEntry(desc, natts + 1, "ctid", TIDOID, -1, 0);
	if (sort->unique)
		TupleDescInitEntry(desc, natts + 2, "alive", BOOLOID, -1, 0);
	TupleDescFinalize(desc);

	for (int i = 0; i < bt->nkeyatts; i++)
	{
		int16		option = rel->rd_indoption[i];
		int			strategy = (option & INDOPTION_DESC) ?
			BTGreaterStrategyNumber : BTLessStrategyNumber;

		attnums[i] = i + 1;
		operators[i] = get_opfamily_member(rel->rd_opfamily[i],
										   rel->rd_opcintype[i],
										   rel->rd_opcintype[i], strategy);
		if (!OidIsValid(operators[i]))
			elog(ERROR, "missing operator %d(%u,%u) in opfamily %u", strategy,
				 rel->rd_opcintype[i], rel->rd_opcintype[i],
				 rel->rd_opfamily[i]);
		collations[i] = rel->rd_indcollation[i];
		nulls_first[i] = (option & INDOPTION_NULLS_FIRST) != 0;
	}
	attnums[nkeys - 1] = natts + 1;
	operators[nkeys - 1] = TIDLessOperator;
	collations[nkeys - 1] = InvalidOid;
	nulls_first[nkeys - 1] = false;

	sort->state = tuplesort_begin_heap(desc, nkeys, attnums, operators,
									   collations, nulls_first, memory_kb,
									   coordinate, TUPLESORT_NONE);
	sort->slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
}

/*
 * The row's attributes into the slot, out-of-line values fetched.  Forming the
 * index tuple checks its size while we know the row.
 */
static void
deform_row(BetreeBuildSort *sort, ItemPointer tid, Datum *values, bool *isnull)
{
	TupleTableSlot *slot = sort->slot;
	IndexTuple	itup = betree_form_tuple(sort->bt, values, isnull, tid, sort->heap);

	sort->index_bytes += IndexTupleSize(itup);
	index_deform_tuple(itup, sort->bt->tupdesc, slot->tts_values,
					   slot->tts_isnull);
}

static bool
has_nulls(const bool *isnull, int natts)
{
	for (int i = 0; i < natts; i++)
	{
		if (isnull[i])
			return true;
	}
	return false;
}

/* Row of the heap scan: into the sort */
static void
sort_callback(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			  bool tupleIsAlive, void *arg)
{
	BetreeBuildSort *sort = (BetreeBuildSort *) arg;
	int			natts = sort->bt->natts;
	MemoryContext oldcontext = MemoryContextSwitchTo(sort->row_context);
	TupleTableSlot *slot = sort->slot;

	ExecClearTuple(slot);
	if (sort->fixed && !has_nulls(isnull, natts))
	{
		sort->index_bytes += IndexTupleSize(sort->fixed);
		memcpy(slot->tts_values, values, natts * sizeof(Datum));
		memset(slot->tts_isnull, false, natts * sizeof(bool));
	}
	else
		deform_row(sort, tid, values, isnull);
	slot->tts_values[natts] = PointerGetDatum(tid);
	slot->tts_isnull[natts] = false;
	if (sort->unique)
	{
		slot->tts_values[natts + 1] = BoolGetDatum(tupleIsAlive);
		slot->tts_isnull[natts + 1] = false;
	}
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(sort->state, slot);
	sort->index_tuples++;

	MemoryContextSwitchTo(oldcontext);
	MemoryContextReset(sort->row_context);
}

static void
open_sort(BetreeBuildSort *sort, BetreeRel *bt, Relation heap, IndexInfo *info)
{
	sort->bt = bt;
	sort->heap = heap;
	sort->unique = info->ii_Unique;
	sort->row_context = AllocSetContextCreate(CurrentMemoryContext,
											  "betree build row",
											  ALLOCSET_DEFAULT_SIZES);
	if (bt->fixed_size > 0 && MAXALIGN(bt->fixed_size) <= BetreeMaxItemSize)
	{
		sort->fixed = palloc0(MAXALIGN(bt->fixed_size));
		sort->fixed->t_info = MAXALIGN(bt->fixed_size);
	}
}

static void
close_sort(BetreeBuildSort *sort)
{
	ExecDropSingleTupleTableSlot(sort->slot);
	tuplesort_end(sort->state);
	MemoryContextDelete(sort->row_context);
}

/* Read the table, or this process's part of it, into the sort */
static void
sort_rows(BetreeBuildSort *sort, IndexInfo *info, TableScanDesc scan)
{
	report_phase(BETREE_PROGRESS_SCAN);
	sort->heap_tuples = table_index_build_scan(sort->heap, sort->bt->rel, info, true,
											   !IsParallelWorker(), sort_callback,
											   sort, scan);
	report_phase(BETREE_PROGRESS_SORT);
	tuplesort_performsort(sort->state);
}

/* ---- several processes ---- */

/*
 * betree_build_sort_task
 *		A process's part: its rows onto a tape.  The argument is its memory in kB.
 */
void
betree_build_sort_task(EcpTeam *team, const void *args, char **memories)
{
	BetreeBuildTeam *build_team = (BetreeBuildTeam *) team;
	EcpIndexTeam *index_team = &build_team->index;
	SortCoordinateData coordinate = {
		.isWorker = true,
		.nParticipants = -1,
		.sharedsort = team_sort(build_team)
	};
	BetreeBuildSort part = {0};
	BetreeRel	bt;

	betree_rel_open(&bt, index_team->index);
	open_sort(&part, &bt, index_team->heap, index_team->info);
	begin_sort(&part, *(const int *) args, &coordinate);
	sort_rows(&part, index_team->info,
			  ecp_table_beginscan_parallel(index_team->heap, team->scan));
	close_sort(&part);

	team_add(build_team, part.heap_tuples, part.index_tuples,
			 part.index_bytes);
}

/* Have the team sort the table, and begin to merge its tapes */
static void
sort_by_team(BetreeBuildSort *sort, IndexInfo *info)
{
	EcpTeam    *team = &sort->team->index.team;
	int			nprocesses = team->nworkers + 1;
	int			memory_kb = maintenance_work_mem / nprocesses;
	SortCoordinateData coordinate = {
		.nParticipants = nprocesses,
		.sharedsort = team_sort(sort->team)
	};

	ecp_team_run(team, EcpTaskOf(betree_build_sort_task), &memory_kb,
				 sizeof(memory_kb), 0, 1, NULL, 0);
	team_sums(sort->team, info, &sort->heap_tuples,
			  &sort->index_tuples, &sort->index_bytes);
	begin_sort(sort, maintenance_work_mem, &coordinate);
	tuplesort_performsort(sort->state);
}

/* ---- the backend ---- */

void
betree_build_sort_begin(BetreeBuildSort *sort, BetreeRel *bt, Relation heap,
						IndexInfo *info)
{
	open_sort(sort, bt, heap, info);
	sort->team = team_begin(heap, bt->rel, info);
	if (sort->team)
		sort_by_team(sort, info);
	else
	{
		begin_sort(sort, maintenance_work_mem, NULL);
		sort_rows(sort, info, NULL);
	}
}

/*
 * The index tuple of a minimal tuple without NULLs whose values are of fixed
 * length: they lie alike in both, and the TID follows.
 */
static IndexTuple
copy_fixed(BetreeBuildSort *sort, MinimalTuple tuple)
{
	const char *values = (char *) tuple - MINIMAL_TUPLE_OFFSET + tuple->t_hoff;
	int			bytes = sort->bt->fixed_size - (int) sizeof(IndexTupleData);
	IndexTuple	itup = sort->fixed;

	memcpy((char *) itup + sizeof(IndexTupleData), values, bytes);
	memcpy(&itup->t_tid, values + att_align_nominal(bytes, TYPALIGN_SHORT),
		   sizeof(ItemPointerData));
	return itup;
}

/* The same of any tuple */
static IndexTuple
form_tuple(BetreeBuildSort *sort)
{
	TupleTableSlot *slot = sort->slot;
	MemoryContext oldcontext;
	ItemPointer tid;
	IndexTuple	itup;

	slot_getallattrs(slot);
	tid = (ItemPointer) DatumGetPointer(slot->tts_values[sort->bt->natts]);
	MemoryContextReset(sort->row_context);
	oldcontext = MemoryContextSwitchTo(sort->row_context);
	itup = betree_form_tuple(sort->bt, slot->tts_values, slot->tts_isnull, tid,
							 sort->heap);
	MemoryContextSwitchTo(oldcontext);
	return itup;
}

IndexTuple
betree_build_sort_next(BetreeBuildSort *sort)
{
	if (!tuplesort_gettupleslot(sort->state, true, false, sort->slot, NULL))
		return NULL;
	if (sort->fixed)
	{
		bool		owned;
		MinimalTuple tuple = ExecFetchSlotMinimalTuple(sort->slot, &owned);

		Assert(!owned);
		if ((tuple->t_infomask & HEAP_HASNULL) == 0)
			return copy_fixed(sort, tuple);
	}
	return form_tuple(sort);
}

void
betree_build_sort_end(BetreeBuildSort *sort)
{
	close_sort(sort);
	if (sort->team)
		ecp_index_team_end(&sort->team->index);
}
