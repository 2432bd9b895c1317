/*-------------------------------------------------------------------------
 *
 * ecp_assign.c
 *	  The scan of the table: each row to its leader, and to the policy.
 *
 * A row belongs to the leader that is nearest to it in squared Euclidean
 * distance, between prepared vectors (ecp_prepare.c).
 *
 * Rows are collected in the in-buff.  When it is full, leaders are found for
 * all of its rows, and the policy keeps them: this is a round.  A row is
 * compared with all leaders if they are few; up to ECP_FLAT_LEADERS_MAX of
 * them with those on a list (ecp_leader_lists.c), or all if there is no memory
 * for lists; above, rows descend the tree of leaders (ecp_leader_beam.c).  Meanwhile the kernel reads the rows of the
 * next round (ecp_readahead.c).
 *
 * In a parallel build each process has an in-buff and rounds of its own.  Rows
 * of a first round that is not full stay in the in-buff until all processes
 * have read the table: if no round of any process was full, and the policy can
 * give rows back from memory, no file is needed.
 *
 * Called by ecp_build.c after ecp_leaders.c has frozen the tree.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/tableam.h"
#include "base/team.h"
#include "base/topk.h"
#include "catalog/index.h"
#include "ecp/create/ecp_build.h"
#include "ecp/create/ecp_policy.h"
#include "ecp/math/ecp_math.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/*
 * Rows prepared and assigned at a time.  With lists or a tree of leaders, enough that
 * each gets some; where rows are copied, within a share of the memory.
 */
#define ASSIGN_BLOCK		512
#define ASSIGN_LISTED		8192
#define ASSIGN_SHARE		0.015

/* A process's part of the scan of the table. */
typedef struct AssignScan
{
	EcpBuild   *build;
	bool		ready;			/* the in-buff and the policy are */
	EcpInBuff	inbuff;
	EcpReadahead ahead;
	double		rows;			/* that were taken */
	uint32		rounds;
} AssignScan;

double
ecp_assign_compared(const EcpBuild *build, double rows)
{
	double		nleaders = ecp_build_state_leaders(build, rows);

	if (nleaders > ECP_FLAT_LEADERS_MAX)
		return ECP_ASSIGN_BEAM * sqrt(nleaders);
	return ecp_build_state_lists_bytes(build, ecp_build_compared_elem(build),
									   (int) nleaders) == 0 ?
		nleaders : ecp_leader_lists_compared(nleaders);
}

/* ---- the in-buff ---- */

/* Find the parts of an in-buff in its memory; returns its size. */
static Size
inbuff_layout(const EcpBuild *build, char *memory, EcpInBuff *inbuff)
{
	Size		max = build->assigned.inbuff_max;
	Size		offset = MAXALIGN(sizeof(int32));

	inbuff->max = max;
	inbuff->n = 0;
	inbuff->vec_bytes = EcpBuildRowBytes(build);
	inbuff->rows_left = (int32 *) memory;
	inbuff->tids = (ItemPointerData *) (memory + offset);
	offset = add_size(offset, MAXALIGN(mul_size(sizeof(ItemPointerData), max)));
	inbuff->leaders = (int32 *) (memory + offset);
	offset = add_size(offset, MAXALIGN(mul_size(sizeof(int32), max)));
	inbuff->order = (int32 *) (memory + offset);
	offset = add_size(offset, MAXALIGN(mul_size(sizeof(int32), max)));
	inbuff->first = (int32 *) (memory + offset);
	offset = add_size(offset, MAXALIGN(mul_size(sizeof(int32),
												build->tree->n[0] + 1)));
	/* kernels may read 63 bytes behind the last row */
	offset = TYPEALIGN(64, offset);
	inbuff->vectors = memory + offset;
	return add_size(offset,
					TYPEALIGN(64, add_size(mul_size(inbuff->vec_bytes, max),
										   64)));
}

static Size
inbuff_bytes(const EcpBuild *build)
{
	EcpInBuff	inbuff;

	return inbuff_layout(build, NULL, &inbuff);
}

void
ecp_assign_inbuff_open(const EcpBuild *build, int participant, EcpInBuff *inbuff)
{
	Assert(participant >= 0 && participant < build->plan.nparticipants);
	Assert(build->memory.inbuffs.address != NULL);
	(void) inbuff_layout(build,
						 build->memory.inbuffs.address +
						 participant * inbuff_bytes(build), inbuff);
	inbuff->n = *inbuff->rows_left;
}

/* Leave assigned rows in the in-buff; ecp_assign_inbuff_open() finds them there. */
static void
inbuff_leave(EcpInBuff *inbuff)
{
	*inbuff->rows_left = inbuff->n;
}

/* ---- the nearest leader ---- */

/* Without lists, are rows compared with all leaders? */
static bool
tree_is_flat(const EcpLeaderTree *tree)
{
	return tree->nlevels == 1 || tree->n[0] <= ECP_FLAT_LEADERS_MAX;
}

/* Leaders of prepared rows. */
static void
tree_assign(const EcpLeaderTree *tree, const char *rows, Size stride, int n,
			int32 *leaders)
{
	if (tree->lists)
	{
		ecp_leader_lists_nearest(tree->lists, rows, stride, n, leaders);
		return;
	}
	if (tree_is_flat(tree))
	{
		ecp_kmeans_assign(tree->panel[0], tree->n[0], tree->dims, rows, stride, n,
						  leaders, NULL);
		return;
	}
	ecp_leader_beam_nearest(tree, rows, stride, n, leaders);
}

/* ---- rounds ---- */

/*
 * Sort rows by leader, and by TID within a leader.  A scan returns rows by TID,
 * except members of HOT chains, which have the TID of the root.
 */
static void
inbuff_sort(EcpInBuff *inbuff, int nleaders)
{
	int32	   *first = inbuff->first;
	int32	   *order = inbuff->order;

	ecp_kmeans_group(inbuff->leaders, inbuff->n, nleaders, first, order);
	for (int l = 0; l < nleaders; l++)
		for (int i = first[l] + 1; i < first[l + 1]; i++)
			if (ecp_tid_order_cmp(&order[i - 1], &order[i], inbuff->tids) > 0)
			{
				qsort_arg(order + first[l], first[l + 1] - first[l],
						  sizeof(int32), ecp_tid_order_cmp, inbuff->tids);
				break;
			}
}

/*
 * Find leaders for all rows of the in-buff, and count them; fills leaders,
 * order and first.
 */
static void
assign_inbuff(AssignScan *scan)
{
	EcpBuild   *build = scan->build;
	EcpInBuff  *inbuff = &scan->inbuff;
	EcpLeaderTree *tree = build->tree;
	bool		copied = !ecp_build_compared_same(build);
	bool		flat = tree->lists == NULL && tree_is_flat(tree);
	int			step = flat ? ASSIGN_BLOCK : ASSIGN_LISTED;
	char	   *block = NULL;
	uint64	   *counts = ecp_leader_rows_of(build, build->participant);

	Assert(inbuff->n > 0 && inbuff->n <= inbuff->max);
	if (copied && !flat)
		step = Min(step, Max(build->budget * ASSIGN_SHARE / build->plan.nparticipants /
							 tree->vec_bytes, ASSIGN_BLOCK));

	/* with few rows, a list or a node would be read for one or two */
	if (flat)
		step = ecp_readahead_rows(&scan->ahead, build, step);
	if (copied)
		block = palloc_extended(tree->vec_bytes * step + 64, MCXT_ALLOC_HUGE);
	for (int done = 0; done < inbuff->n; done += step)
	{
		const char *rows = inbuff->vectors + (Size) done * inbuff->vec_bytes;
		int			n = Min(step, inbuff->n - done);

		ecp_readahead_step(&scan->ahead, build, done + step);
		for (int i = 0; block && i < n; i++)
			ecp_build_state_compared(build, rows + (Size) i * inbuff->vec_bytes,
									 build->prepared,
									 block + i * tree->vec_bytes);
		tree_assign(tree, block ? block : rows,
					block ? tree->vec_bytes : inbuff->vec_bytes, n,
					inbuff->leaders + done);
	}
	if (block)
		pfree(block);

	inbuff_sort(inbuff, tree->n[0]);
	for (int l = 0; l < tree->n[0]; l++)
		counts[l] += inbuff->first[l + 1] - inbuff->first[l];
}

/* Assign what the in-buff holds, and let the policy keep it. */
static void
assign_round(AssignScan *scan)
{
	EcpBuild   *build = scan->build;
	MemoryContext oldctx = MemoryContextSwitchTo(build->ctx);

	assign_inbuff(scan);
	ecp_policy_routine(build->plan.policy)->round(build, &scan->inbuff,
												  build->participant);
	scan->inbuff.n = 0;
	scan->rounds++;
	MemoryContextSwitchTo(oldctx);
}

/*
 * The in-buff is full.  Rows of the page that the next row comes from stay
 * for the next round: in-buffs are sorted by TID, and a page's rows come in
 * another order where there are HOT chains.  Policies can then give back each
 * cluster in the order of TIDs, whichever process read a page, and large
 * clusters are cut at the same rows.
 */
static void
assign_full_round(AssignScan *scan, ItemPointer next)
{
	EcpInBuff  *inbuff = &scan->inbuff;
	int			n = inbuff->n;
	int			first = n;

	Assert(n == inbuff->max);
	while (first > 0 &&
		   ItemPointerGetBlockNumber(&inbuff->tids[first - 1]) ==
		   ItemPointerGetBlockNumber(next))
		first--;
	if (first == 0)
		first = n;				/* a page of more rows than an in-buff */

	inbuff->n = first;
	assign_round(scan);
	inbuff->n = n - first;
	memmove(inbuff->tids, inbuff->tids + first,
			inbuff->n * sizeof(ItemPointerData));
	memmove(inbuff->vectors, inbuff->vectors + first * inbuff->vec_bytes,
			inbuff->n * inbuff->vec_bytes);
}

/*
 * The table has ended.  Rows of a first round that the policy could give back
 * from memory are left in the in-buff, for assign_finish() to decide.
 */
static void
assign_last_round(AssignScan *scan)
{
	const EcpPolicyRoutine *policy =
		ecp_policy_routine(scan->build->plan.policy);

	if (!scan->ready || scan->inbuff.n == 0)
		return;
	if (scan->rounds > 0 || !policy->keeps_in_memory)
		assign_round(scan);
	else
	{
		assign_inbuff(scan);
		inbuff_leave(&scan->inbuff);
		scan->rounds++;
	}
}

/* ---- the scan ---- */

/*
 * Shared in-buffs; smaller ones if there is no room for them.  Returns false if
 * there is none for small ones, either.
 */
static bool
assign_share_inbuffs(EcpBuild *build)
{
	int			max = build->assigned.inbuff_max;

	while (!ecp_team_memory_share(&build->memory.inbuffs,
								  mul_size(inbuff_bytes(build),
										   build->plan.nparticipants)))
	{
		ecp_team_tell_short(build->team);
		build->assigned.inbuff_max /= 2;
		if (build->assigned.inbuff_max < ASSIGN_BLOCK)
		{
			build->assigned.inbuff_max = max;
			return false;
		}
	}
	return true;
}

/*
 * Before the first row, in the backend: memory for all participants.  If one
 * of them cannot be shared, the counts are not, so that no worker takes part in
 * the assignment or in the merge, which needs what that leaves in a process.
 */
static void
assign_start(EcpBuild *build)
{
	MemoryContext oldctx = MemoryContextSwitchTo(build->ctx);
	EcpAssignMemory *memory = &build->memory;
	int			nparticipants = build->plan.nparticipants;
	bool		shared;
	Size		counts_bytes;

	Assert(build->participant == 0);
	if (build->tree == NULL)
		build->tree = ecp_leaders_single(build, build->prepared);

	build->assigned.inbuff_max = ecp_build_state_inbuff_rows(build);
	shared = memory->tree.seg != NULL && assign_share_inbuffs(build);
	if (!shared)
		ecp_team_memory_alloc(&memory->inbuffs, false,
							  mul_size(inbuff_bytes(build), nparticipants));
	counts_bytes = mul_size(mul_size(sizeof(uint64), build->tree->n[0]),
							nparticipants + 1);
	ecp_team_memory_alloc(&memory->counts, shared, counts_bytes);
	memset(memory->counts.address, 0, counts_bytes);
	for (int p = 0; p < nparticipants; p++)
	{
		EcpInBuff	inbuff;

		(void) inbuff_layout(build, memory->inbuffs.address +
							 p * inbuff_bytes(build), &inbuff);
		inbuff_leave(&inbuff);
	}
	MemoryContextSwitchTo(oldctx);
}

/* Before the first row, in each process, once the memory is there. */
static void
assign_scan_start(AssignScan *scan)
{
	EcpBuild   *build = scan->build;
	MemoryContext oldctx = MemoryContextSwitchTo(build->ctx);

	ecp_assign_inbuff_open(build, build->participant, &scan->inbuff);
	build->policy_state = ecp_policy_routine(build->plan.policy)->begin(build);
	scan->ready = true;
	MemoryContextSwitchTo(oldctx);
}

/* Callback of the scan: one row to the in-buff. */
static void
assign_add_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			   bool tupleIsAlive, void *arg)
{
	AssignScan *scan = arg;
	EcpBuild   *build = scan->build;
	EcpInBuff  *inbuff = &scan->inbuff;
	MemoryContext oldctx;
	EcpVector	vector;

	if (isnull[0])
		return;
	oldctx = MemoryContextSwitchTo(build->rowctx);
	if (ecp_build_state_row(build, tid, values[0], &vector))
	{
		Size		exact_bytes = build->state.leaf.vec_bytes;
		char	   *row;

		if (!scan->ready)
		{
			/* nothing was found when the table was sampled */
			assign_start(build);
			assign_scan_start(scan);
		}
		if (inbuff->n == inbuff->max)
		{
			ecp_readahead_begin(&scan->ahead, build, tid, values[0]);
			assign_full_round(scan, tid);
			ecp_readahead_end(&scan->ahead);
		}
		inbuff->tids[inbuff->n] = *tid;
		row = inbuff->vectors + (Size) inbuff->n * inbuff->vec_bytes;
		memcpy(row, vector.data, exact_bytes);
		ecp_attr_form(&build->attrs, &vector, values, isnull,
					  row + exact_bytes);
		inbuff->n++;
		if (fmod(++scan->rows, ECP_PROGRESS_ROWS) == 0)
			ecp_build_state_progress(build, ECP_PROGRESS_ROWS, scan->rows);
	}
	MemoryContextSwitchTo(oldctx);
	MemoryContextReset(build->rowctx);
}

/*
 * Scan the table, or this process's part of it ("parallel"); returns the
 * number of its rows.  The scan is not synchronized: the order of rows must
 * not depend on other scans.
 */
static double
assign_scan_table(AssignScan *scan, TableScanDesc parallel)
{
	EcpBuild   *build = scan->build;
	double		heap_tuples;

	heap_tuples = table_index_build_scan(build->heap, build->index,
										 build->indexInfo, parallel != NULL,
										 build->participant == 0,
										 assign_add_row, scan, parallel);
	assign_last_round(scan);
	elog(DEBUG1, "ecp build: asked for %llu blocks ahead",
		 (unsigned long long) scan->ahead.total);
	return heap_tuples;
}

/*
 * ecp_assign_task
 *		Read, assign and keep a part of the table, in each process of the
 *		team.
 */
void
ecp_assign_task(EcpTeam *team, const void *args, char **memories)
{
	EcpBuild   *build = ecp_build_team_build(team);
	AssignScan	scan = {.build = build};
	double		heap_tuples;

	Assert(team->shared != NULL);
	ecp_assign_attach(build, memories);
	assign_scan_start(&scan);
	heap_tuples = assign_scan_table(&scan, ecp_build_team_scan(team));
	ecp_build_team_add_rounds(team, scan.rounds);
	ecp_index_team_add(team, heap_tuples, scan.rows,
					   build->indexInfo->ii_BrokenHotChain);
}

void
ecp_assign_memories(EcpBuild *build,
					EcpMemory *memories[ECP_ASSIGN_MEMORIES])
{
	Assert(build->participant == 0);
	memories[0] = &build->memory.tree;
	memories[1] = &build->memory.inbuffs;
	memories[2] = &build->memory.counts;
}

void
ecp_assign_attach(EcpBuild *build, char **memories)
{
	if (build->participant == 0)
		return;
	build->tree = ecp_leaders_attach(memories[0]);
	build->memory.inbuffs.address = memories[1];
	build->memory.counts.address = memories[2];
}

void
ecp_assign_free(EcpBuild *build)
{
	ecp_team_memory_free(&build->memory.inbuffs);
	ecp_team_memory_free(&build->memory.counts);
	ecp_team_memory_free(&build->memory.tree);
}

/*
 * All processes have assigned their rows, which stay in the in-buffs only if
 * none of them was written to a file.
 */
static void
assign_finish(EcpBuild *build)
{
	const EcpPolicyRoutine *policy = ecp_policy_routine(build->plan.policy);
	int			nleaders = build->tree->n[0];
	uint64	   *counts = ecp_leader_rows(build);

	Assert(build->participant == 0);
	build->assigned.kept = policy->keeps_in_memory &&
		ecp_files_numbers(build->files) == 0;
	if (!build->assigned.kept)
	{
		for (int p = 0; p < build->plan.nparticipants; p++)
		{
			EcpInBuff	inbuff;

			ecp_assign_inbuff_open(build, p, &inbuff);
			if (inbuff.n > 0)
				policy->round(build, &inbuff, p);
		}
		ecp_team_memory_free(&build->memory.inbuffs);
	}
	for (int p = 0; p < build->plan.nparticipants; p++)
	{
		const uint64 *part = ecp_leader_rows_of(build, p);

		for (int l = 0; l < nleaders; l++)
			counts[l] += part[l];
	}
}

void
ecp_assign(EcpBuild *build, EcpAssignReport *report)
{
	Assert(build->participant == 0);
	Assert(build->team == NULL || build->tree != NULL);
	memset(report, 0, sizeof(EcpAssignReport));
	if (build->tree)
		assign_start(build);
	if (build->team)
	{
		EcpMemory  *memories[ECP_ASSIGN_MEMORIES];

		ecp_assign_memories(build, memories);
		ecp_team_run(build->team, EcpTaskOf(ecp_assign_task), NULL, 0, 0, 1,
					 memories, lengthof(memories));
		report->rounds = ecp_build_team_rounds(build->team);
		ecp_index_team_sums(build->team, build->indexInfo, &report->heap_tuples,
							&build->assigned.rows);
	}
	else
	{
		AssignScan	scan = {.build = build};

		if (build->tree)
			assign_scan_start(&scan);
		report->heap_tuples = assign_scan_table(&scan, NULL);
		report->rounds = scan.rounds;
		build->assigned.rows = scan.rows;
	}
	if (build->tree == NULL)
		return;
	assign_finish(build);
	report->in_buff = build->assigned.inbuff_max *
		ecp_build_state_inbuff_row_bytes(build) * build->plan.nparticipants;
}
