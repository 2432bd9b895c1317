/*-------------------------------------------------------------------------
 *
 * ecp_cluster.c
 *	  Clusters: their runs, their size, copies of their rows; the retired queue.
 *
 * See ecp_run.c for what these functions have in common.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "vector/vector_distance.h"

/* Which slots of a run are in a row set. */
typedef struct EcpRowSetRun
{
	uint64		run;
	uint64	   *live;			/* live_words words for each */
} EcpRowSetRun;

/*
 * All runs that the cluster whose head is given has at state's version, as a
 * palloc'd array.  Returns their number.
 */
int
ecp_cluster_runs(Relation index, const EcpIndexState *state, int level,
				 BlockNumber blk, uint64 run, Buffer held, EcpRun **runs)
{
	int			max = 4;
	int			n = 0;
	uint64		head_run = run;

	*runs = palloc(max * sizeof(EcpRun));
	do
	{
		EcpRun	   *r;

		CHECK_FOR_INTERRUPTS();
		if (n == max)
		{
			max *= 2;
			*runs = repalloc(*runs, max * sizeof(EcpRun));
		}
		r = &(*runs)[n];
		if (!ecp_run_read(index, state, level, blk, run, held, r))
			ecp_report_moved(index, blk);

		/* run ids grow along the list, so that it cannot be a ring */
		if (r->header.ecpr_head_run != head_run ||
			((r->header.ecpr_flags & ECP_RUN_HEAD) != 0) != (n == 0) ||
			(r->header.ecpr_next_run != 0 && r->header.ecpr_next_run <= run))
			ecp_report_corrupt(index, blk,
							   "A run does not fit into the list of its cluster.");
		if (EcpRunIsVisible(&r->header, state->meta.ecpm_sversion))
			n++;
		blk = r->header.ecpr_next_blk;
		run = r->header.ecpr_next_run;
	} while (run != 0);

	return n;
}

/*
 * Rows of a run, by its header: those that it was written with, if that is
 * known, or the slots of the pages in use.
 */
static uint32
run_rows(const EcpRunHeaderData *header, const EcpGeometry *geo,
		 uint32 written)
{
	uint32		used = Min(header->ecpr_nslots,
						   header->ecpr_hw_page * geo->slots);

	return Min(Max(written, header->ecpr_free_hint * geo->slots), used);
}

/*
 * Runs, slots and pages of a leaf; live rows if count_live (reads all entry
 * pages).
 */
void
ecp_cluster_size(Relation index, const EcpIndexState *state,
				 const EcpChildData *child, bool count_live,
				 EcpClusterSize *size)
{
	const EcpGeometry *geo = &state->leaf;
	EcpRun	   *runs;

	memset(size, 0, sizeof(EcpClusterSize));
	size->nruns = ecp_cluster_runs(index, state, 0, child->ecpc_blk,
								   child->ecpc_run, InvalidBuffer, &runs);
	for (int r = 0; r < size->nruns; r++)
	{
		size->nslots += runs[r].header.ecpr_nslots;
		size->npages += runs[r].header.ecpr_npages;
		size->nrows_about += run_rows(&runs[r].header, geo,
									  r == 0 ? child->ecpc_nrows :
									  PG_UINT32_MAX);
		size->nrows_had += Max(r == 0 ? child->ecpc_nrows : 0,
							   (runs[r].header.ecpr_hw_page - 1) * geo->slots);
		if (runs[r].header.ecpr_hw_page == 1 ||
			runs[r].header.ecpr_free_hint + 1 < runs[r].header.ecpr_hw_page)
			size->has_holes = true;
		for (uint32 p = 0; count_live && p < runs[r].header.ecpr_hw_page; p++)
		{
			Buffer		buffer;
			EcpEntryView view;

			CHECK_FOR_INTERRUPTS();
			buffer = ecp_run_page_get(index, ECP_PAGE_ENTRY, runs[r].blk,
									  runs[r].run, p, BUFFER_LOCK_SHARE);
			if (!BufferIsValid(buffer))
				ecp_report_moved(index, runs[r].blk + p);
			ecp_entry_view(BufferGetPage(buffer), geo, 0, &view);
			size->nlive += ecp_entry_count_live(geo, &view);
			UnlockReleaseBuffer(buffer);
		}
	}
	pfree(runs);
}

/* Page 0 of a cluster in a list that is linked by blocks only. */
static void
linked_read(Relation index, const EcpIndexState *state, BlockNumber blk,
			EcpRun *out)
{
	Buffer		buffer = ecp_page_get(index, blk, BUFFER_LOCK_SHARE);
	Page		page = BufferGetPage(buffer);

	ecp_page_check(index, buffer, ECP_PAGE_ENTRY);
	out->blk = blk;
	out->run = EcpPageGetOpaque(page)->ecpo_run;
	out->header = *EcpPageGetRunHeader(page);
	ecp_run_check_header(index, buffer,
						 EcpLevelGeometry(state, out->header.ecpr_level));
	UnlockReleaseBuffer(buffer);
}

/*
 * Page 0 of a new leaf, or new run of a leaf, in the list of an unfinished
 * group.  The maintenance lock is held.
 */
void
ecp_cluster_written_read(Relation index, const EcpIndexState *state, BlockNumber blk,
						 EcpRun *out)
{
	bool		is_head;

	linked_read(index, state, blk, out);
	is_head = (out->header.ecpr_flags & ECP_RUN_HEAD) != 0;
	if ((out->header.ecpr_flags & (ECP_RUN_RETIRED | ECP_RUN_FREED)) != 0 ||
		out->header.ecpr_level != 0 ||
		is_head == (out->header.ecpr_vfrom == state->meta.ecpm_sversion + 1))
		ecp_report_corrupt(index, blk,
						   "A new leaf of an unfinished operation is not one.");
}

/* Page 0 of a cluster in the retired queue.  The maintenance lock is held. */
void
ecp_cluster_retired_read(Relation index, const EcpIndexState *state, BlockNumber blk,
						 EcpRun *out)
{
	const int	flags = ECP_RUN_HEAD | ECP_RUN_RETIRED;

	linked_read(index, state, blk, out);
	if ((out->header.ecpr_flags & (flags | ECP_RUN_FREED)) != flags ||
		!EcpRunIsVisible(&out->header, state->meta.ecpm_sversion))
		ecp_report_corrupt(index, blk,
						   "A run in the retired queue is not the head of a retired cluster.");
}

void
ecp_cluster_retired_begin(const EcpIndexState *state, EcpRetiredWalk *walk)
{
	memset(walk, 0, sizeof(EcpRetiredWalk));
	walk->next = state->meta.ecpm_retired_head;
}

/*
 * ecp_cluster_retired_next
 *		Page 0 of the next cluster in the retired queue; false at its end.
 *
 * Begin with ecp_cluster_retired_begin().  The maintenance lock is held since "state"
 * was read.  A queue that is a ring has more pages than the metapage says, or
 * goes back to an older version.
 */
bool
ecp_cluster_retired_next(Relation index, const EcpIndexState *state,
						 EcpRetiredWalk *walk, EcpRun *head)
{
	const EcpRunHeaderData *header = &head->header;

	CHECK_FOR_INTERRUPTS();
	if (walk->next == InvalidBlockNumber)
		return false;
	ecp_cluster_retired_read(index, state, walk->next, head);
	walk->npages += header->ecpr_npages;
	if (header->ecpr_retired_v < walk->version ||
		header->ecpr_retired_v > state->meta.ecpm_sversion)
		ecp_report_corrupt(index, walk->next,
						   "The retired queue is not in the order of versions.");
	if (walk->npages > state->meta.ecpm_retired_pages)
		ecp_report_corrupt(index, walk->next,
						   "The retired queue has more pages than the metapage says.");
	walk->version = header->ecpr_retired_v;
	walk->next = header->ecpr_retired_next;
	return true;
}

void
ecp_cluster_rows_init(EcpRowSet *rows, const EcpIndexState *state)
{
	Assert(state->leaf.slots > 0);
	memset(rows, 0, sizeof(EcpRowSet));
	rows->stride = MAXALIGN(state->leaf.row_bytes);
}

/* What we have of a run so far. */
static EcpRowSetRun *
rows_run(EcpRowSet *rows, const EcpRun *run, const EcpGeometry *geo)
{
	EcpRowSetRun *known;

	for (int i = 0; i < rows->nruns; i++)
	{
		if (rows->runs[i].run == run->run)
			return &rows->runs[i];
	}
	if (rows->runs == NULL)
	{
		rows->runs_max = 8;
		rows->runs = palloc(rows->runs_max * sizeof(EcpRowSetRun));
	}
	else if (rows->nruns == rows->runs_max)
	{
		rows->runs_max *= 2;
		rows->runs = repalloc(rows->runs,
							  rows->runs_max * sizeof(EcpRowSetRun));
	}
	known = &rows->runs[rows->nruns++];
	known->run = run->run;
	known->live = palloc0(mul_size((Size) run->header.ecpr_entry_pages *
								   geo->live_words, sizeof(uint64)));
	return known;
}

static void
rows_reserve(EcpRowSet *rows, int more)
{
	if (rows->nrows + more <= rows->max)
		return;
	rows->max = Max(rows->nrows + more, rows->max + rows->max / 2);
	if (rows->tids == NULL)
	{
		rows->tids = palloc_extended(mul_size(rows->max, sizeof(ItemPointerData)),
									 MCXT_ALLOC_HUGE);
		rows->vectors = palloc_extended(add_size(mul_size(rows->max,
														  rows->stride),
												 ECP_KERNEL_SLACK),
										MCXT_ALLOC_HUGE);
		return;
	}
	rows->tids = repalloc_huge(rows->tids,
							   mul_size(rows->max, sizeof(ItemPointerData)));
	rows->vectors = repalloc_huge(rows->vectors,
								  add_size(mul_size(rows->max, rows->stride),
										   ECP_KERNEL_SLACK));
}

/* Add the rows of one copied entry page that we do not have yet. */
static void
rows_add_page(Relation index, const EcpGeometry *geo, const EcpRun *run,
			  uint32 pageno, char *copy, uint64 *known, EcpRowSet *rows)
{
	uint32		nslots = ecp_run_page_slots(geo, run, pageno);
	EcpEntryView view;

	ecp_entry_view(copy, geo, 0, &view);
	rows_reserve(rows, nslots);
	for (uint32 slot = 0; slot < nslots; slot++)
	{
		char	   *row;

		if (!EcpSlotIsLive(&view, slot) ||
			(known[slot / 64] & (UINT64CONST(1) << (slot % 64))) != 0)
			continue;
		if (!ItemPointerIsValid(&view.tids[slot]))
			ecp_report_corrupt(index, run->blk + pageno,
							   "A live slot has no valid TID.");
		rows->tids[rows->nrows] = view.tids[slot];
		row = rows->vectors + rows->nrows * rows->stride;
		ecp_run_read_vector(index, geo, run, &view,
							pageno * geo->slots + slot, row);
		ecp_entry_get_attrs(geo, &view, slot, row + geo->vec_bytes);
		rows->nrows++;
	}
	for (int w = 0; w < geo->live_words; w++)
		known[w] |= view.live[w];
}

/*
 * ecp_cluster_rows_read
 *		Append the rows of a leaf that are live now and were not when the set
 *		was last read.
 *
 * The maintenance lock is held: rows come but none goes, so that reading
 * twice gives all of them, each once.  "held" may be the locked head.
 * Pages are added to rows->npages.
 */
void
ecp_cluster_rows_read(Relation index, const EcpIndexState *state, BlockNumber blk,
					  uint64 run, Buffer held, EcpRowSet *rows)
{
	const EcpGeometry *geo = &state->leaf;
	PGAlignedBlock copy;
	EcpRun	   *runs;
	int			nruns;

	Assert(rows->stride >= state->leaf.row_bytes);
	nruns = ecp_cluster_runs(index, state, 0, blk, run, held, &runs);
	for (int r = 0; r < nruns; r++)
	{
		EcpRowSetRun *known = rows_run(rows, &runs[r], geo);

		rows->npages += runs[r].header.ecpr_npages;
		for (uint32 p = 0; p < runs[r].header.ecpr_hw_page; p++)
		{
			ecp_run_copy_page(index, &runs[r], p, held, copy.data);
			rows_add_page(index, geo, &runs[r], p, copy.data,
						  known->live + (Size) p * geo->live_words, rows);
		}
	}
	pfree(runs);
}
