/*-------------------------------------------------------------------------
 *
 * ecp_probe.c
 *	  SEARCH: from the clusters that a descent gave to the pages of their
 *	  rows.
 *
 * A cluster is a list of runs; a run consists of entry pages and possibly
 * vector pages, which the callback reads as needed.  The entry pages are
 * pinned, locked and checked one after the other and passed to the callback.
 * Reading a page costs about as much as ranking 30 vectors of 128 bytes, so
 * work is done per cluster or per scan rather than per page where possible:
 *
 * - the node in the leader cache remembers the buffers that held the pages of
 *	 each cluster, which saves most look-ups in the buffer table;
 * - pages are fetched into the processor's cache a few pages ahead;
 * - clusters that are not in memory are prefetched if they are likely to be
 *	 read.
 *
 * Where conditions leave few rows, clusters without a match are skipped, by
 * their summaries.
 *
 * Clusters are read in the order of the descent, no matter which are in memory:
 * the end of a search and the order of equal ranks depend on it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/bits.h"
#include "base/compat.h"
#include "base/core.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "ecp/search/ecp_probe.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/pg_bitutils.h"
#include "utils/float.h"
#include "utils/snapmgr.h"
#include "utils/spccache.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"

/* Clusters to go on prefetching for, after one that was not in memory. */
#define ECP_PROBE_COLD			64

/* How many pages ahead to fetch into the processor's cache. */
#define ECP_PROBE_WARM			4

/* Summaries that are asked together. */
#define ECP_PROBE_ASK			16

/* One page visit in this many looks up the buffer table. */
#define ECP_PROBE_LOOKUP		32

/* Visits of pages that have a remembered buffer. */
static uint32 probe_lookups;

/* Clusters to go on prefetching for; shared by all indexes of the backend */
static int	probe_cold;

/*
 * Initialize a reader, in the memory context that it lives in.  The caller
 * sets the version to read before each search.
 */
void
ecp_probe_init(EcpProbe *probe)
{
	Relation	index = probe->index;

	Assert(RelationIsValid(index));

	probe->refs = NULL;
	probe->sure = PG_INT32_MAX;
	probe->whole = true;
	probe->keys = probe->sparse = false;
	probe->summary = NULL;
	probe->refs_max = probe->nrefs = probe->next_ref = 0;
	probe->prefetched = probe->warm_ref = probe->warm_page = probe->asked = 0;
	if (RelationUsesLocalBuffers(index))
	{
		probe->prefetch = 0;
		if (probe->page_copy == NULL)
			probe->page_copy = palloc(BLCKSZ + ECP_KERNEL_SLACK);
	}
	else if (ecp_prefetch >= 0)
		probe->prefetch = ecp_prefetch;
	else
		probe->prefetch =
			get_tablespace_io_concurrency(index->rd_rel->reltablespace);
}

/* One more than the last live slot among the first n; 0 if there is none. */
static int
probe_used_slots(const uint64 *live, int n)
{
	int			w = (n + 63) / 64 - 1;

	for (; w >= 0; w--)
	{
		uint64		word = live[w] & EcpLowBits(n - w * 64);

		if (word != 0)
			return w * 64 + pg_leftmost_one_pos64(word) + 1;
	}
	return 0;
}

/*
 * Stop prefetching the clusters that were taken and not read: the caller will
 * probably not read them.
 */
void
ecp_probe_pause(EcpProbe *probe)
{
	probe->warm_ref = probe->nrefs;
}

/* Pages of a cluster's first run that a scan reads and that have hints. */
static inline int
probe_scanned_pages(EcpProbe *probe, const EcpClusterRef *ref)
{
	const EcpGeometry *geo = &probe->state->leaf;

	if (ref->skip)
		return 0;
	if (geo->quantizer == ECP_QUANTIZER_NONE)
		return ref->nrecent;
	return Min(ref->nrecent,
			   (ref->child.ecpc_nrows + geo->slots - 1) / geo->slots);
}

/*
 * Fetch the page that will be read ECP_PROBE_WARM pages from now into the
 * processor's cache; without that, a third of the time is spent waiting for
 * memory.  Only for pages that have a remembered buffer.
 */
static void
probe_warm(EcpProbe *probe)
{
	const EcpGeometry *geo = &probe->state->leaf;
	const EcpClusterRef *ref;
	Buffer		buffer;
	const char *page;
	int			nrows;

	/* find the page; warm_ref lags if clusters had more than one run */
	if (probe->warm_ref < probe->next_ref)
	{
		probe->warm_ref = probe->next_ref;
		probe->warm_page = 0;
	}
	while (probe->warm_ref < probe->nrefs &&
		   probe->warm_page >= probe_scanned_pages(probe, &probe->refs[probe->warm_ref]))
	{
		probe->warm_ref++;
		probe->warm_page = 0;
	}
	if (probe->warm_ref >= probe->nrefs)
		return;
	ref = &probe->refs[probe->warm_ref];
	buffer = ref->recent[probe->warm_page];
	nrows = (int) ref->child.ecpc_nrows - probe->warm_page * geo->slots;
	if (geo->quantizer != ECP_QUANTIZER_NONE)
		nrows = TYPEALIGN(ECP_CODE_BLOCK, nrows);
	probe->warm_page++;
	if (buffer <= 0)
		return;

	ecp_buffer_warm(buffer);
	page = BufferGetPage(buffer);
	if (geo->parts && nrows > geo->slots)
		nrows = geo->slots;
	if ((nrows >= geo->slots && !geo->parts && !probe->sparse) ||
		geo->code_bytes == 0)
		ecp_memory_warm(page, BLCKSZ);
	else if (nrows > 0)
	{
		/* the parts of a page as far as they are used, but for lower parts */
		ecp_memory_warm(page, probe->keys ? geo->off_include :
						geo->off_items + nrows * sizeof(ItemPointerData));
		if (probe->sparse)
		{
			ecp_memory_warm(page + BLCKSZ - 1, 1);
			return;
		}
		for (int pos = geo->off_factors; pos < geo->off_codes;
			 pos += sizeof(uint32) * geo->slots)
			ecp_memory_warm(page + pos, sizeof(uint32) * nrows);
		if (geo->columns)
		{
			for (int pos = geo->off_codes; pos < geo->page_lower;
				 pos += ECP_GROUP * geo->slots)
				ecp_memory_warm(page + pos, ECP_GROUP * nrows);
		}
		else
			ecp_memory_warm(page + geo->off_codes, nrows * geo->code_bytes);
		/* of the first cluster all rows are among the nearest */
		if (geo->parts &&
			(probe->whole || (probe->clusters == 0 && probe->warm_ref == 0)))
			ecp_memory_warm(page + geo->off_lower, nrows * geo->lower_bytes);
		ecp_memory_warm(page + BLCKSZ - 1, 1);
	}
}

/* Pin a page by way of the buffer table. */
static Buffer
probe_read(Relation index, BlockNumber blk)
{
	if (!ecp_page_exists(index, blk))
		ecp_report_corrupt(index, blk, "The block of a run is invalid.");
	return ReadBuffer(index, blk);
}

/*
 * Pin a page, trying the remembered buffer first: a look-up in the
 * buffer table costs more than the rest of the visit.  ReadRecentBuffer() does
 * not raise the buffer's usage count, so one visit in ECP_PROBE_LOOKUP uses
 * ReadBuffer(), to keep the page from being evicted.
 */
static inline Buffer
probe_pin_recent(Relation index, BlockNumber blk, Buffer *recent)
{
	if (*recent > 0 &&			/* local buffers are looked up cheaply */
		++probe_lookups % ECP_PROBE_LOOKUP != 0 &&
		ReadRecentBuffer(ecp_relation_locator(index), MAIN_FORKNUM, blk,
						 *recent))
	{
		pgstat_count_buffer_read(index);
		pgstat_count_buffer_hit(index);
	}
	else
		*recent = probe_read(index, blk);
	return *recent;
}

/* The same with a page of a run, of which some are remembered. */
static inline Buffer
probe_pin(EcpProbe *probe, const EcpProbeRun *run, int kind, uint32 pageno)
{
	if (pageno >= run->nrecent)
		return probe_read(probe->index, run->blk + pageno);
	if (kind == ECP_PAGE_ENTRY)
		probe_warm(probe);
	return probe_pin_recent(probe->index, run->blk + pageno,
							&run->recent[pageno]);
}

/*
 * Pin, share-lock and check a page of a run.  The contents are to be read at
 * "*page", which may be a copy.
 */
Buffer
ecp_probe_buffer(EcpProbe *probe, const EcpProbeRun *run, int kind,
				 uint32 pageno, Page *page)
{
	Relation	index = probe->index;
	BlockNumber blk = run->blk + pageno;
	Buffer		buffer = probe_pin(probe, run, kind, pageno);

	Assert(kind == ECP_PAGE_ENTRY || kind == ECP_PAGE_VECTOR);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	*page = BufferGetPage(buffer);
	if (!ecp_page_check_run(index, buffer, kind, run->run, pageno))
		ecp_report_moved(index, blk);
	ecp_test_for_old_snapshot(probe->snapshot, index, *page);
	probe->pages++;

	/*
	 * Kernels may read beyond the end of a page; there may be no memory
	 * behind a local buffer.
	 */
	if (unlikely(probe->page_copy != NULL))
	{
		memcpy(probe->page_copy, *page, BLCKSZ);
		*page = probe->page_copy;
	}
	return buffer;
}

/* Pass an entry page, which is locked in "buffer", to the callback. */
static inline void
probe_page(EcpProbe *probe, const EcpProbeRun *run, Buffer buffer, Page page,
		   uint32 pageno)
{
	const EcpGeometry *geo = &probe->state->leaf;
	uint32		first = pageno * geo->slots;
	int			n = Min(geo->slots, run->header.ecpr_nslots - first);
	EcpEntryView view;

	ecp_entry_view(page, geo, 0, &view);
	probe->page(probe->page_arg, run, buffer, &view, first,
				probe_used_slots(view.live, n));
}

/*
 * Read one run of the cluster whose head run is "head", if it is visible at
 * the version of the search.  Sets run->header.
 */
static void
probe_read_run(EcpProbe *probe, EcpProbeRun *run, uint64 head)
{
	Relation	index = probe->index;
	const EcpGeometry *geo = &probe->state->leaf;
	Buffer		buffer;
	Page		page;

	if (run->blk + ECP_RUN_PAGES_MAX < run->blk)
		ecp_report_corrupt(index, run->blk, "The block of a run is invalid.");

	buffer = ecp_probe_buffer(probe, run, ECP_PAGE_ENTRY, 0, &page);
	ecp_run_check_header(index, buffer, geo);
	run->header = *EcpPageGetRunHeader(page);
	if (run->header.ecpr_level != 0 || run->header.ecpr_head_run != head)
		ecp_report_corrupt(index, run->blk,
						   "The run belongs to another cluster.");
	if (!EcpRunIsVisible(&run->header, probe->state->meta.ecpm_sversion))
	{
		UnlockReleaseBuffer(buffer);
		return;
	}
	probe_page(probe, run, buffer, page, 0);
	for (uint32 pageno = 1; pageno < run->header.ecpr_hw_page; pageno++)
	{
		buffer = ecp_probe_buffer(probe, run, ECP_PAGE_ENTRY, pageno, &page);
		probe_page(probe, run, buffer, page, pageno);
	}
}

/* Read all rows of a cluster. */
static void
probe_read_cluster(EcpProbe *probe, const EcpClusterRef *ref)
{
	const EcpChildData *child = &ref->child;
	EcpProbeRun run;
	uint64		nruns = 0;
	uint64		seen = 0;

	probe->ref = ref;
	run.blk = child->ecpc_blk;
	run.run = child->ecpc_run;
	run.recent = ref->recent;
	run.nrecent = ref->nrecent;
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		probe_read_run(probe, &run, child->ecpc_run);
		if (run.header.ecpr_next_run == 0)
			break;

		/* Brent's algorithm: compare with the run at each power of two */
		if ((nruns & (nruns + 1)) == 0)
			seen = run.run;
		nruns++;
		if (run.header.ecpr_next_run == seen)
			ecp_report_corrupt(probe->index, run.blk,
							   "The runs of a cluster form a loop.");
		run.blk = run.header.ecpr_next_blk;
		run.run = run.header.ecpr_next_run;
		run.nrecent = 0;
	}
	if (!ref->is_buffer)
		probe->clusters++;
}

/* ---- summaries ---- */

/* The page of the parent that has a cluster's summary, in its run. */
static inline uint32
summary_page(const EcpIndexState *state, const EcpClusterRef *ref)
{
	return ecp_summary_page(&state->node, ref->parent->summary_page,
							ref->parent_slot);
}

/* Where that page was seen. */
static inline Buffer *
summary_recent(const EcpIndexState *state, const EcpClusterRef *ref)
{
	return &ref->parent->summary_recent[summary_page(state, ref) -
										ref->parent->summary_page];
}

/*
 * Has a cluster no row that fulfils the conditions, by its summary?  A cluster that is
 * the root, and an insert buffer, have none.
 */
bool
ecp_probe_rules_out(Relation index, const EcpIndexState *state, Snapshot snapshot,
					const EcpSummaryTest *test, const EcpClusterRef *ref)
{
	const EcpGeometry *geo = &state->node;
	const EcpNode *node = ref->parent;
	uint32		pageno;
	Buffer		buffer;
	const char *summary;
	bool		result;

	if (ref->is_buffer || node == NULL)
		return false;
	pageno = summary_page(state, ref);
	buffer = probe_pin_recent(index, node->blk + pageno, summary_recent(state, ref));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!ecp_page_check_run(index, buffer, ECP_PAGE_VECTOR, node->run, pageno))
		ecp_report_moved(index, node->blk + pageno);
	ecp_test_for_old_snapshot(snapshot, index, BufferGetPage(buffer));
	summary = EcpPageGetStream(BufferGetPage(buffer)) +
		EcpSummaryOffset(geo, ref->parent_slot);
	result = ecp_summary_is_of(summary, ref->child.ecpc_run) &&
		!ecp_summary_test(test, summary, geo->summary_bytes);
	UnlockReleaseBuffer(buffer);
	return result;
}

/* Fetch a summary into the processor's cache. */
static void
probe_warm_summary(const EcpProbe *probe, const EcpClusterRef *ref)
{
	const EcpGeometry *geo = &probe->state->node;
	Buffer		buffer;
	const char *page;

	if (ref->is_buffer || ref->parent == NULL)
		return;
	buffer = *summary_recent(probe->state, ref);
	if (buffer <= 0)
		return;
	page = BufferGetPage(buffer);
	ecp_buffer_warm(buffer);
	ecp_memory_warm(page, 1);
	ecp_memory_warm(page + BLCKSZ - 1, 1);
	ecp_memory_warm(page + ECP_PAGE_START + EcpSummaryOffset(geo, ref->parent_slot),
					geo->summary_bytes);
}

/*
 * Ask the summaries of the clusters that come next, "ahead" of them or some more.
 * Only where few rows fulfil the conditions, since else most clusters have one.
 */
static void
probe_ask(EcpProbe *probe, int ahead)
{
	int			from = Max(probe->asked, probe->next_ref);
	int			end = Min(from + ECP_PROBE_ASK, probe->nrefs);

	if (probe->summary == NULL || !probe->sparse ||
		from >= Min(probe->next_ref + ahead, probe->nrefs))
		return;
	end = Max(end, Min(probe->next_ref + ahead, probe->nrefs));
	for (int i = from; i < end; i++)
		probe_warm_summary(probe, &probe->refs[i]);
	for (int i = from; i < end; i++)
		probe->refs[i].skip = ecp_probe_rules_out(probe->index, probe->state,
												  probe->snapshot, probe->summary,
												  &probe->refs[i]);
	probe->asked = end;
}

/* ---- clusters ---- */

/*
 * Allocate room for the next n clusters to read, in the current memory
 * context; those before must have been read.  The caller fills it and calls
 * ecp_probe_added().
 */
EcpClusterRef *
ecp_probe_room(EcpProbe *probe, int n)
{
	Assert(n >= 0 && EcpProbeWaiting(probe) <= 0);
	if (n > probe->refs_max)
	{
		if (probe->refs)
			pfree(probe->refs);
		probe->refs = palloc(sizeof(EcpClusterRef) * n);
		probe->refs_max = n;
	}
	probe->nrefs = probe->next_ref = probe->prefetched = 0;
	probe->warm_ref = probe->warm_page = probe->asked = 0;
	return probe->refs;
}

/* There are n to read now. */
void
ecp_probe_added(EcpProbe *probe, int n)
{
	Assert(n >= 0 && n <= probe->refs_max);
	probe->nrefs = n;
	/* from now on each page that is read fetches one more */
	for (int i = 0; i < ECP_PROBE_WARM; i++)
		probe_warm(probe);
}

/*
 * Take up to n more clusters from the descent, and the insert buffers with rows
 * for them.  They follow those that were taken before and not read yet.  Returns
 * the number of clusters and buffers, 0 if there are no more.  Allocates in
 * the current memory context.
 */
int
ecp_probe_take(EcpProbe *probe, EcpDescent *descent, uint64 n)
{
	int			waiting = EcpProbeWaiting(probe);
	int			prefetched = Max(probe->prefetched - probe->next_ref, 0);
	EcpClusterRef *refs;
	int			count = waiting;

	Assert(n > 0 || ecp_descent_at_buffer(descent));
	Assert(probe->warm_ref <= probe->nrefs && probe->prefetched <= probe->nrefs);
	n = Min(n, ECP_PROBE_REFS);
	if (waiting + n > probe->refs_max)
	{
		probe->refs_max = waiting + n;
		if (probe->refs)
			probe->refs = repalloc(probe->refs,
								   sizeof(EcpClusterRef) * probe->refs_max);
		else
			probe->refs = palloc(sizeof(EcpClusterRef) * probe->refs_max);
	}
	refs = probe->refs;
	if (waiting > 0)
		memmove(refs, refs + probe->next_ref,
				waiting * sizeof(EcpClusterRef));
	while (n > 0 || ecp_descent_at_buffer(descent))
	{
		if (count == probe->refs_max)
		{
			probe->refs_max *= 2;
			probe->refs = repalloc(probe->refs,
								   sizeof(EcpClusterRef) * probe->refs_max);
			refs = probe->refs;
		}
		if (!ecp_descent_next(descent, &refs[count]))
			break;
		if (!refs[count++].is_buffer)
			n--;
	}
	if (probe->warm_ref < probe->next_ref)
		probe->warm_page = 0;
	probe->warm_ref = Max(probe->warm_ref - probe->next_ref, 0);
	probe->prefetched = prefetched;
	probe->asked = Max(probe->asked - probe->next_ref, 0);
	probe->next_ref = 0;
	ecp_probe_added(probe, count);
	return count - waiting;
}

/*
 * Prefetch pages of a run.  Blocks that do not exist are skipped: reading will
 * report them if they are needed.
 */
void
ecp_probe_prefetch(Relation index, BlockNumber blk, uint32 npages)
{
	for (uint32 i = 0; i < npages && ecp_page_exists(index, blk + i); i++)
		PrefetchBuffer(index, MAIN_FORKNUM, blk + i);
}

/* The first pages of a cluster, which are read whatever its rows are. */
static uint32
probe_first_pages(const EcpGeometry *geo, const EcpChildData *child)
{
	uint32		npages = Min(child->ecpc_npages, ECP_RUN_PAGES_MAX);

	/* of the vector pages, only a few will be read */
	return geo->quantizer == ECP_QUANTIZER_NONE ? npages :
		Min(npages, child->ecpc_nrows / geo->slots + 1 +
			ecp_geometry_levels_pages(geo, child->ecpc_nrows));
}

/* Prefetch the pages of the clusters that are read next. */
static void
probe_prefetch(EcpProbe *probe)
{
	const EcpGeometry *geo = &probe->state->leaf;
	int			end = Min(probe->next_ref + probe->prefetch + 1,
						  probe->nrefs);

	probe_ask(probe, Min(end, probe->sure) - probe->next_ref);
	/* of the cluster that is read now, only levels are worth a prefetch */
	if (probe->prefetched <= probe->next_ref && geo->levels_bytes > 0)
	{
		const EcpChildData *child = &probe->refs[probe->next_ref].child;

		ecp_probe_prefetch(probe->index, child->ecpc_blk + 1,
						   probe_first_pages(geo, child) - 1);
	}
	probe->prefetched = Max(probe->prefetched, probe->next_ref + 1);
	for (; probe->prefetched < end; probe->prefetched++)
	{
		const EcpClusterRef *ref = &probe->refs[probe->prefetched];

		if (probe->prefetched >= probe->sure)
			break;
		if (!ref->skip)
			ecp_probe_prefetch(probe->index, ref->child.ecpc_blk,
							   probe_first_pages(geo, &ref->child));
	}
}

/* Was one of the clusters read recently not in shared buffers? */
bool
ecp_probe_is_cold(void)
{
	return probe_cold > 0;
}

/*
 * Read the next one of the clusters and buffers taken, or skip it; then its
 * rows are returned, as many as its leader says, else 0.
 */
uint32
ecp_probe_next(EcpProbe *probe)
{
	const EcpClusterRef *ref = &probe->refs[probe->next_ref];
	int64		missed = pgBufferUsage.shared_blks_read;

	Assert(EcpProbeWaiting(probe) > 0);
	probe_ask(probe, 1 + ECP_PROBE_WARM);
	if (ref->skip)
	{
		probe->next_ref++;
		probe->clusters++;
		probe->skipped++;
		return Max(ref->child.ecpc_nrows, 1);
	}
	if (probe_cold > 0 && probe->prefetch > 0)
		probe_prefetch(probe);
	probe_read_cluster(probe, &probe->refs[probe->next_ref++]);
	if (pgBufferUsage.shared_blks_read != missed)
		probe_cold = ECP_PROBE_COLD;
	else if (probe_cold > 0)
		probe_cold--;
	return 0;
}
