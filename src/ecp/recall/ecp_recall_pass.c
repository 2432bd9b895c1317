/*-------------------------------------------------------------------------
 *
 * ecp_recall_pass.c
 *	  RECALL: clusters read for many searches at a time.
 *
 * A scan reads its clusters in the order of promise.  What is compared with 400
 * queries is read over and over that way, from memory, page by page; and most rows
 * are compared with a k-th row that is not yet near.  So searches advance
 * together, by passes: up to 2 clusters, 32, 512, and so on.  In a pass the clusters that
 * any of them wants are read once, in the order of blocks, and compared with one
 * search after the other.  Each is given the rows that are nearer than its k-th
 * before the pass (ecp_recall_search.c), which are at most about as many times k as a
 * pass goes farther than the one before.  Where a search may end follows from that
 * row, too, so that a pass reads little that the search does not need.
 *
 * Pages are copied, with the levels of their rows, and compared a cluster at a time
 * (ecp_near.c), so that a search has the estimates that a scan has.  With codes, exact
 * ranks are read in the end, in the order of blocks, for all searches: first of the rows
 * that are nearest by estimate, and then of those whose bounds are below the k-th of
 * these.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/bits.h"
#include "common/hashfn.h"
#include "ecp/page/ecp_page.h"
#include "ecp/recall/ecp_recall_private.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_rerank.h"
#include "ecp/search/ecp_stop.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"

/* Clusters read by the first pass. */
#define PASS_FIRST			2
#define PASS_FIRST_SOME		64	/* of searches that compare some rows */

/* So many times as many clusters a search knows when it needs more. */
#define PASS_KNOW_TIMES		3

/* Pages of which a search for some rows in PARTS compares one. */
#define PASS_PAGES			2

StaticAssertDecl(4 * PASS_PAGES == ECP_RECALL_SHARE, "a quarter of the rows of some");

/* Putting a leader in order takes as long as comparing so many bytes. */
#define PASS_ORDER_BYTES	4096.0

/* Clusters that the probe is given at a time. */
#define PASS_CLUSTERS		64

/* Pages of a cluster whose buffers are remembered. */
#define PASS_RECENT			4

/*
 * Pages of a cluster that are compared together: a search's tables for codes of 1,536
 * elements take as many bytes as the codes of a page, and come from farther away.
 */
#define PASS_PAGES_HELD		8

/* A search that wants a cluster, which has this number in its order. */
typedef struct RecallPair
{
	uint32		search;
	int			cluster;
	float4		rank;			/* of the leader */
} RecallPair;

/* A row whose exact rank is wanted. */
typedef struct RecallExact
{
	BlockNumber blk;			/* of its vector */
	uint32		search;
	uint32		row;
} RecallExact;

/* A page that is to be compared. */
typedef struct RecallHeld
{
	EcpProbeRun run;
	EcpEntryView view;
	char	   *levels;			/* of its rows, if they have any */
	uint32		first;
	uint32		seed;
	int			n;
	uint32		number;			/* in pass->pages, or PG_UINT32_MAX */
} RecallHeld;

struct RecallPass
{
	uint32	   *order;			/* clusters in the order of blocks */
	uint32	   *near_first;		/* of them, the first of each range of blocks */
	int			near_bits;		/* of a block's number, those within a range */
	Buffer	   *recent;			/* PASS_RECENT of each */

	EcpRecallSearch *searches;	/* of the batch */
	uint32	   *first;			/* pair of each cluster, and of one more */
	RecallPair *pairs;
	uint32		place;			/* cluster that is read */
	EcpNear		near;			/* of a page's rows */
	uint64	   *some;			/* of them, those that are looked at */

	/* pages of the cluster that were not compared yet, as copies */
	struct RecallHeld *held;
	int			nheld;
	char	   *copies;

	/* pages from which rows with codes were taken; in batch_context */
	EcpRecallPage *pages;
	int			npages;
	int			pages_max;
};

/* ---- clusters ---- */

static int
pass_compare_blocks(const void *a, const void *b, void *arg)
{
	const EcpChildData *clusters = arg;
	BlockNumber x = clusters[*(const uint32 *) a].ecpc_blk;
	BlockNumber y = clusters[*(const uint32 *) b].ecpc_blk;

	return (x > y) - (x < y);
}

/* The number of a cluster by its block, from where clusters near that begin. */
static uint32
pass_place(const EcpRecallCurve *curve, const EcpClusterRef *ref)
{
	const struct RecallPass *pass = curve->pass;
	BlockNumber blk = ref->child.ecpc_blk;
	uint32		near = Min(blk >> pass->near_bits, (uint32) curve->nplaces);

	for (uint32 i = pass->near_first[near]; i < pass->near_first[near + 1]; i++)
		if (curve->clusters[pass->order[i]].ecpc_blk == blk)
			return pass->order[i];
	ecp_report_corrupt(curve->index, blk, "A cluster is not in the tree.");
}

/* Set where the clusters near each block begin: for each cluster, a range of blocks. */
static void
pass_set_places(const EcpRecallCurve *curve)
{
	struct RecallPass *pass = curve->pass;
	uint32		n = curve->nplaces;
	uint32		i = 0;

	pass->near_first = palloc_extended(mul_size((Size) n + 2, sizeof(uint32)),
									   MCXT_ALLOC_HUGE);
	while (n > 0 &&
		   curve->clusters[pass->order[n - 1]].ecpc_blk >> pass->near_bits > n)
		pass->near_bits++;
	for (uint32 near = 0; near <= n; near++)
	{
		pass->near_first[near] = i;
		while (i < n && curve->clusters[pass->order[i]].ecpc_blk >> pass->near_bits == near)
			i++;
	}
	pass->near_first[n + 1] = n;
}

static void
pass_add_buffer(const EcpRecallCurve *curve, EcpRecallSearch *search,
				const EcpClusterRef *ref)
{
	EcpRecallRef buffer = {pass_place(curve, ref), ref->rank, search->nrefs - 1};

	search->buffers = ecp_recall_room(search->buffers, search->nbuffers,
									  &search->buffers_max, sizeof(EcpRecallRef));
	search->buffers[search->nbuffers++] = buffer;
}

/*
 * Have the search know its first n clusters and the leader after them.  What it
 * knows already comes again.
 */
static void
pass_take_refs(EcpRecallCurve *curve, EcpRecallSearch *search, int n)
{
	const EcpMetaPageData *meta = &curve->state->meta;
	int			expected = Min(ecp_target_rule_probes(meta->ecpm_nleaves),
							   curve->depth);
	EcpDescent *descent;
	EcpClusterRef ref;

	/* comparing all leaders again takes longer than putting so many in order */
	n = Max(n, (int) Min((double) curve->nclusters * curve->state->node.vec_bytes /
						 PASS_ORDER_BYTES, PG_INT32_MAX));
	n = Min(Max(n, ECP_PLACE_LEADERS), curve->nclusters);
	if (search->refs)
		pfree(search->refs);
	search->refs = palloc_extended(mul_size(n + 1, sizeof(EcpRecallRef)),
								   MCXT_ALLOC_HUGE);
	search->nrefs = search->nbuffers = 0;
	descent = ecp_descent_begin(curve->index, curve->state, search->prepared, false,
								expected);
	if (n > expected)
		ecp_descent_set_ahead(descent, n);
	while (search->nrefs <= n)
	{
		EcpRecallRef *to = &search->refs[search->nrefs];

		search->all = !ecp_descent_next(descent, &ref);
		if (search->all)
			break;
		if (ref.parent == NULL && search->codes)
			ref.rank = ecp_code_query_origin(search->codes);
		if (ref.is_buffer)
		{
			pass_add_buffer(curve, search, &ref);
			continue;
		}
		to->place = pass_place(curve, &ref);
		to->rank = ref.rank;
		to->cluster = search->nrefs++;
	}
	ecp_descent_end(descent);
	if (search->nrefs > 0)
		ecp_place_set_ranks(&search->notes->place, meta, search->prepared,
							search->refs[0].rank,
							search->refs[Min(ECP_PLACE_LEADERS, search->nrefs) - 1].rank);
}

/* ---- pages ---- */

/* Is this row the one that is searched for?  Then note where it was met. */
static inline bool
pass_is_self(EcpRecallSearch *search, ItemPointer tid, int cluster)
{
	/* not ItemPointerEquals(): a TID of a damaged page may be invalid */
	if (!ItemPointerIsValid(&search->self) ||
		ItemPointerCompare(tid, &search->self) != 0)
		return false;
	search->self_cluster = cluster;
	return true;
}

/* The number of the page in pass->pages. */
static uint32
pass_page_number(EcpRecallCurve *curve, RecallHeld *held)
{
	struct RecallPass *pass = curve->pass;
	EcpRecallPage *page;

	if (held->number != PG_UINT32_MAX)
		return held->number;
	pass->pages = ecp_recall_room(pass->pages, pass->npages, &pass->pages_max,
								  sizeof(EcpRecallPage));
	page = &pass->pages[pass->npages++];
	page->run = held->run.run;
	page->blk = held->run.blk;
	page->vector_page = EcpRunVectorPage(&curve->state->leaf, &held->run.header);
	page->first = held->first;
	held->number = pass->npages - 1;
	return held->number;
}

/*
 * Of the rows of a page, those that a search for some compares: of each 64 rows, 16
 * neighbours where the parts of rows are far apart, or else 8 at even distances.
 */
static const uint64 *
pass_some(EcpRecallCurve *curve, const RecallHeld *held)
{
	uint64	   *some = curve->pass->some;

	for (int w = 0; w * 64 < held->n; w++)
		some[w] = held->view.live[w] & (curve->state->leaf.parts ?
										UINT64CONST(0xFFFF) << held->seed / PASS_PAGES % 4 * 16 :
										UINT64CONST(0x0101010101010101) << (held->seed + w) % 8);
	return some;
}

/* Compare a page with a search, and give it the rows that may be among the nearest. */
static void
pass_compare_page(EcpRecallCurve *curve, EcpRecallSearch *search, const RecallPair *pair,
				  RecallHeld *held)
{
	const EcpEntryView *view = &held->view;
	EcpNear    *near = &curve->pass->near;
	EcpPageQuery query = {curve->state, search->query, search->codes};
	const uint64 *words;
	EcpRecallRow row = {0};

	near->levels = held->levels;
	words = ecp_page_near(&query, view, pair->rank, search->share > 1 ?
						  pass_some(curve, held) : view->live, held->n, search->limit,
						  near);
	row.cluster = pair->cluster;
	for (int from = 0; from < held->n; from += 64)
	{
		/* nearly all rows end here */
		for (uint64 word = words[from / 64] & EcpLowBits(held->n - from); word != 0;
			 word &= word - 1)
		{
			int			i = pg_rightmost_one_pos64(word);

			row.rank = search->codes ? EcpNearBounds(near, from)[i] :
				near->ranks[from + i];
			if (!(row.rank < search->limit) ||
				pass_is_self(search, &view->tids[from + i], pair->cluster))
				continue;
			if (search->codes)
			{
				row.bound = row.rank;
				row.slot = from + i;
				row.rank = ecp_near_estimate(&query, near, row.slot, row.bound);
				if (!(row.rank < search->limit))
					continue;
				row.page = pass_page_number(curve, held);
			}
			ecp_recall_search_add(search, &row);
		}
	}
}

/* Compare the pages that are held with all searches that want their cluster. */
static void
pass_compare(EcpRecallCurve *curve)
{
	struct RecallPass *pass = curve->pass;

	for (uint32 p = pass->first[pass->place];
		 pass->nheld > 0 && p < pass->first[pass->place + 1]; p++)
		for (int h = 0; h < pass->nheld; h++)
			pass_compare_page(curve, &pass->searches[pass->pairs[p].search],
							  &pass->pairs[p], &pass->held[h]);
	pass->nheld = 0;
}

/* Callback of the probe, with each entry page: hold a copy. */
static void
pass_page(void *arg, const EcpProbeRun *run, Buffer buffer,
		  const EcpEntryView *view, uint32 first, int n)
{
	EcpRecallCurve *curve = arg;
	struct RecallPass *pass = curve->pass;
	const EcpGeometry *geo = &curve->state->leaf;
	uint32		seed = hash_bytes_uint32(run->blk + first);
	RecallHeld *held = &pass->held[pass->nheld];
	char	   *copy = pass->copies + pass->nheld * (Size) BLCKSZ;

	/* comparing few rows of a page with a query takes as long as more of them */
	if (n > 0 && !(geo->parts && pass->searches[0].share > 1 &&
				   seed % PASS_PAGES != 0))
	{
		memcpy(copy, BufferGetPage(buffer), BLCKSZ);
		ecp_entry_view(copy, geo, 0, &held->view);
		held->run = *run;
		held->first = first;
		held->seed = seed;
		held->n = n;
		held->number = PG_UINT32_MAX;
		pass->nheld++;
	}
	UnlockReleaseBuffer(buffer);
	if (n > 0 && geo->levels_bytes > 0)
		ecp_levels_copy(&curve->probe, run, first, held->view.live, n, held->levels);
	if (pass->nheld == PASS_PAGES_HELD)
		pass_compare(curve);
}

/* ---- passes ---- */

/*
 * A search wants a cluster: count it, or add the pair.  While it is counted, first[c + 2]
 * is the number of those of c, and then first[c + 1] is where the next goes.
 */
static inline void
pass_want(struct RecallPass *pass, int s, const EcpRecallRef *ref, bool count)
{
	RecallPair	pair = {s, ref->cluster, ref->rank};

	if (count)
		pass->first[ref->place + 2]++;
	else
		pass->pairs[pass->first[ref->place + 1]++] = pair;
}

/* Find which of n searches want each cluster. */
static void
pass_set_pairs(EcpRecallCurve *curve, int n)
{
	struct RecallPass *pass = curve->pass;
	uint32	   *first = pass->first;

	memset(first, 0, (curve->nplaces + 2) * sizeof(uint32));
	for (int count = 1; count >= 0; count--)
	{
		for (int s = 0; s < n; s++)
		{
			EcpRecallSearch *search = &pass->searches[s];
			int			b = search->next_buffer;

			if (search->done)
				continue;
			for (int c = search->n; c < search->upto; c++)
				pass_want(pass, s, &search->refs[c], count);
			for (; b < search->nbuffers && search->buffers[b].cluster < search->upto; b++)
				pass_want(pass, s, &search->buffers[b], count);
			if (!count)
				search->next_buffer = b;
		}
		if (!count)
			return;
		for (int c = 0; c < curve->nplaces; c++)
			first[c + 2] += first[c + 1];
		pass->pairs = palloc_extended(mul_size(Max(first[curve->nplaces + 1], 1),
											   sizeof(RecallPair)), MCXT_ALLOC_HUGE);
	}
}

/* Pass clusters from order[*next] on to the probe, as many as are wanted. */
static int
pass_give(EcpRecallCurve *curve, int *next, uint32 *places)
{
	struct RecallPass *pass = curve->pass;
	EcpClusterRef *refs = ecp_probe_room(&curve->probe, PASS_CLUSTERS);
	int			n = 0;

	for (; *next < curve->nplaces && n < PASS_CLUSTERS; (*next)++)
	{
		uint32		place = pass->order[*next];
		EcpClusterRef *ref = &refs[n];

		if (pass->first[place] == pass->first[place + 1])
			continue;
		memset(ref, 0, sizeof(EcpClusterRef));
		ref->child = curve->clusters[place];
		ref->recent = pass->recent + (Size) place * PASS_RECENT;
		ref->nrecent = Min(ref->child.ecpc_npages, PASS_RECENT);
		places[n++] = place;
	}
	ecp_probe_added(&curve->probe, n);
	return n;
}

bool
ecp_recall_pass_is_late(const EcpRecallCurve *curve, double share)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, curve->start);
	return INSTR_TIME_GET_DOUBLE(now) > share * curve->seconds;
}

/* Read what the searches want; false if the time is up. */
static bool
pass_read(EcpRecallCurve *curve)
{
	uint32		places[PASS_CLUSTERS];
	int			next = 0;
	int			n;

	while ((n = pass_give(curve, &next, places)) > 0)
		for (int i = 0; i < n; i++)
		{
			if (ecp_recall_pass_is_late(curve, 1))
				return false;
			curve->pass->place = places[i];
			(void) ecp_probe_next(&curve->probe);
			pass_compare(curve);
		}
	return true;
}

/*
 * How far a search may go in a pass so that it keeps about ECP_RECALL_ROWS: all that
 * it meets until there are k, then the nearer ones.
 */
static int
pass_most(const EcpRecallCurve *curve, const EcpRecallSearch *search, int end)
{
	double		rows = ECP_RECALL_ROWS;
	double		most = search->n + Max(rows * search->share / curve->mean_rows, 1);

	if (!isinf(search->limit))
		most = Max(most, search->n * rows / search->seen[search->nks - 1].k);
	return (int) Min(most, Min(end, search->depth));
}

/*
 * Set how far each search goes in a pass that ends at cluster "end"; returns the
 * number of searches that go on.
 */
static int
pass_set_ends(EcpRecallCurve *curve, int n, int end)
{
	int			active = 0;

	for (int s = 0; s < n; s++)
	{
		EcpRecallSearch *search = &curve->pass->searches[s];
		int			upto = pass_most(curve, search, end);

		if (search->done)
			continue;
		CHECK_FOR_INTERRUPTS();
		while (!search->all && search->nrefs <= upto)
		{
			int			most = Min(upto, search->nrefs - 1);

			/* does it surely end within the clusters that it knows? */
			if (search->nrefs > 0 &&
				ecp_recall_search_end(curve, search, most) < most)
				break;
			pass_take_refs(curve, search, search->nrefs == 0 ?
						   Min(curve->ahead[search->notes->class], search->depth) :
						   PASS_KNOW_TIMES * search->nrefs);
		}
		upto = Min(upto, search->all ? search->nrefs : search->nrefs - 1);
		search->upto = ecp_recall_search_end(curve, search, upto);
		if (search->upto <= search->n)
			search->done = true;
		else
			active++;
	}
	return active;
}

/* ---- exact ranks ---- */

static int
pass_compare_exact(const void *a, const void *b)
{
	const RecallExact *x = a;
	const RecallExact *y = b;

	if (x->blk != y->blk)
		return x->blk < y->blk ? -1 : 1;
	if (x->search != y->search)
		return x->search < y->search ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* Read the exact rank of a row, and note it. */
static void
pass_exact_row(EcpRecallCurve *curve, const RecallExact *exact)
{
	EcpRecallSearch *search = &curve->pass->searches[exact->search];
	EcpRecallRow *row = &search->rows[exact->row];
	const EcpRecallPage *page = &curve->pass->pages[row->page];
	ItemPointerData tid = {0};
	EcpProbeRun run = {0};

	CHECK_FOR_INTERRUPTS();
	run.blk = page->blk;
	run.run = page->run;
	/* a run that begins with its vector part, as far as we need it */
	run.header.ecpr_entry_pages = page->vector_page;
	ecp_rerank_reset(&curve->rerank);
	curve->rerank.query = search->query;
	(void) ecp_rerank_add_page(&curve->rerank, &run, page->first + row->slot, 1,
							   &tid);
	ecp_recall_search_exact(search, row, ecp_rerank_rank(&curve->rerank, 0));
}

/*
 * Read the exact ranks of the rows that are nearest by estimate ("first"), or of
 * those, but these, that may be nearer.
 */
static bool
pass_exact(EcpRecallCurve *curve, int n, bool first)
{
	const EcpGeometry *geo = &curve->state->leaf;
	struct RecallPass *pass = curve->pass;
	Size		nexact = 0;
	RecallExact *exact;

	for (int s = 0; s < n; s++)
		nexact += pass->searches[s].nrows;
	exact = palloc_extended(mul_size(Max(nexact, 1), sizeof(RecallExact)),
							MCXT_ALLOC_HUGE);
	nexact = 0;
	for (int s = 0; s < n; s++)
	{
		const EcpRecallSearch *search = &pass->searches[s];

		for (int r = 0; r < search->nrows; r++)
		{
			const EcpRecallRow *row = &search->rows[r];
			const EcpRecallPage *page = &pass->pages[row->page];
			uint32		pageno;
			uint32		offset;

			if (!ecp_recall_search_wants(search, row, first))
				continue;
			ecp_geometry_stream_position(geo, page->vector_page,
										 page->first + row->slot, &pageno, &offset);
			exact[nexact++] = (RecallExact)
			{
				page->blk + pageno, s, r
			};
		}
	}
	qsort(exact, nexact, sizeof(RecallExact), pass_compare_exact);
	for (Size i = 0; i < nexact; i++)
	{
		if (ecp_recall_pass_is_late(curve, 1))
			return false;
		pass_exact_row(curve, &exact[i]);
	}
	pfree(exact);
	return true;
}

/* ---- searches ---- */

/* Allocates in curve->context; curve->clusters are known. */
void
ecp_recall_pass_init(EcpRecallCurve *curve)
{
	const EcpGeometry *geo = &curve->state->leaf;
	MemoryContext old = MemoryContextSwitchTo(curve->context);
	struct RecallPass *pass = palloc0(sizeof(struct RecallPass));
	Size		n = curve->nplaces;

	curve->pass = pass;
	pass->order = palloc_extended(mul_size(n, sizeof(uint32)), MCXT_ALLOC_HUGE);
	pass->first = palloc_extended(mul_size(n + 2, sizeof(uint32)), MCXT_ALLOC_HUGE);
	pass->recent = palloc_extended(mul_size(n, PASS_RECENT * sizeof(Buffer)),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 c = 0; c < n; c++)
		pass->order[c] = c;
	qsort_arg(pass->order, n, sizeof(uint32), pass_compare_blocks, curve->clusters);
	pass_set_places(curve);
	pass->near.words = palloc(sizeof(uint64) * geo->live_words);
	pass->near.ranks = palloc((geo->slots + ECP_KERNEL_SLACK) * sizeof(float8));
	pass->near.estimates = palloc(sizeof(float8) * 64 * geo->live_words);
	pass->some = palloc(sizeof(uint64) * geo->live_words);
	pass->held = palloc0(PASS_PAGES_HELD * sizeof(RecallHeld));
	for (int h = 0; h < PASS_PAGES_HELD && geo->levels_bytes > 0; h++)
		pass->held[h].levels = palloc((Size) geo->slots * geo->levels_bytes);
	pass->copies = (char *)
		TYPEALIGN(64, palloc(PASS_PAGES_HELD * (Size) BLCKSZ + 64 +
							 ECP_KERNEL_SLACK));
	curve->probe.index = curve->index;
	curve->probe.state = curve->state;
	curve->probe.page = pass_page;
	curve->probe.page_arg = curve;
	ecp_probe_init(&curve->probe);
	if (!curve->prefetch)
		curve->probe.prefetch = 0;
	(void) ecp_probe_room(&curve->probe, PASS_CLUSTERS);
	if (curve->has_codes)
		ecp_rerank_init(&curve->rerank, &curve->probe);
	MemoryContextSwitchTo(old);
}

bool
ecp_recall_pass_run(EcpRecallCurve *curve, EcpRecallSearch *searches, int n)
{
	MemoryContext old = MemoryContextSwitchTo(curve->batch_context);
	struct RecallPass *pass = curve->pass;
	bool		in_time = true;

	pass->searches = searches;
	pass->pages = NULL;
	pass->npages = pass->pages_max = 0;
	for (int64 end = searches[0].share > 1 ? PASS_FIRST_SOME : PASS_FIRST;
		 in_time && pass_set_ends(curve, n, Min(end, curve->depth)) > 0;
		 end *= ECP_RECALL_PASS_TIMES)
	{
		pass_set_pairs(curve, n);
		in_time = pass_read(curve);
		pfree(pass->pairs);
		for (int s = 0; s < n && in_time; s++)
		{
			if (searches[s].done)
				continue;
			ecp_recall_search_replay(curve, &searches[s]);
			if (searches[s].done && searches[s].first_k == 0)
				ecp_recall_curve_progress(curve);
		}
	}
	if (curve->has_codes)
		in_time = in_time && pass_exact(curve, n, true) && pass_exact(curve, n, false);
	for (int s = 0; s < n && in_time; s++)
		if (searches[s].nchecks > 0)
			ecp_recall_search_note(curve, &searches[s]);
	MemoryContextSwitchTo(old);
	return in_time;
}
