/*-------------------------------------------------------------------------
 *
 * ecp_knn_read.c
 *	  Many queries at once: clusters read, each compared with all queries
 *	  that want it.
 *
 * Pages are read as a scan reads them (ecp_probe.c), and the same holds: what
 * the snapshot can see is in the clusters of the structure version that all
 * processes share, however long it takes.  Slots that are filled again
 * meanwhile have TIDs that the snapshot cannot see.
 *
 * A page is copied, so that it is locked no longer than by a scan, and a few of them
 * are compared with one query after the other (ecp_near.c).  With a condition that the
 * index knows, its filter is applied once for all queries, and the rows that pass are
 * gathered on such copies, so that only these are compared.  Where vectors are on
 * pages of their own, each of these is read once for many queries.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/bits.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_probe.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"

/* Pages that queries are compared with in one go. */
#define READER_PAGES		4

/* Queries that are compared together with vectors on pages of their own, and slots. */
#define READER_QUERIES		1024
#define READER_SLOTS		64

/* Queries ahead to fetch into the processor's cache. */
#define READER_AHEAD		4

/* Clusters that the probe is given at a time. */
#define READER_CLUSTERS		64

/* The copy of an entry page, or one on which rows were gathered. */
typedef struct ReaderPage
{
	char	   *page;
	EcpEntryView view;
	int			n;				/* slots */
} ReaderPage;

struct EcpKnnReader
{
	EcpProbe	probe;
	EcpKnn	   *knn;
	EcpKnnCluster *cluster;		/* that is being read */
	EcpSweep	sweep;			/* over those given to the probe */
	EcpSweepRange ranges[READER_CLUSTERS];
	int			npages;
	ReaderPage	pages[READER_PAGES];
	uint64	   *passed;			/* slots that the filter lets pass */
	EcpVectorPart *part;		/* if vectors are on pages of their own */
	EcpPageQueries queries;		/* that are compared together, */
	int			most;			/* and how many, at most */
	const EcpKnnPair *pairs;	/* of these */
};

/* ---- comparing ---- */

/* The next queries of the cluster from number "first" on; false if there are none. */
static bool
reader_take(EcpKnnReader *reader, uint32 first)
{
	EcpKnn	   *knn = reader->knn;
	EcpPageQueries *queries = &reader->queries;
	uint32		end = pg_atomic_read_u32(&reader->cluster->placed);

	reader->pairs = knn->pairs + reader->cluster->first + first;
	queries->n = 0;
	for (; first < end && queries->n < reader->most; first++)
	{
		uint32		q = reader->pairs[queries->n].query;

		if (first + READER_AHEAD < end)
		{
			uint32		ahead = reader->pairs[queries->n + READER_AHEAD].query;

			__builtin_prefetch(&knn->queries[ahead], 1);
			__builtin_prefetch(knn->prepared.queries[ahead]);
		}
		queries->limits[queries->n] = EcpKnnBound(knn, q);
		queries->exact[queries->n++] = ecp_knn_compare_query(knn, q);
	}
	return queries->n > 0;
}

/* Offer the rows of n slots that passed to those queries. */
static void
reader_offer(EcpKnnReader *reader, const ItemPointerData *tids, int n)
{
	EcpPageQueries *queries = &reader->queries;

	for (int q = 0; q < queries->n; q++)
	{
		const EcpNear *near = &queries->near[q];

		for (int from = 0; from < n; from += 64)
		{
			uint64		word = near->words[from / 64] & EcpLowBits(n - from);

			if (word != 0)
				ecp_knn_compare_offer(reader->knn, &reader->pairs[q], tids + from, word,
									  near->ranks + from);
		}
		queries->limits[q] = EcpKnnBound(reader->knn, reader->pairs[q].query);
	}
}

/* Compare the queries of the cluster with the pages that were read. */
static void
reader_compare(EcpKnnReader *reader)
{
	for (uint32 i = 0; reader->npages > 0 && reader_take(reader, i); i += reader->most)
	{
		CHECK_FOR_INTERRUPTS();
		for (int p = 0; p < reader->npages; p++)
		{
			const ReaderPage *page = &reader->pages[p];

			ecp_page_near_queries(&reader->queries, &page->view, page->view.live, page->n);
			reader_offer(reader, page->view.tids, page->n);
		}
	}
	reader->npages = 0;
}

/* The same with the vector part of n slots from "first" on. */
static void
reader_compare_part(EcpKnnReader *reader, const EcpProbeRun *run, uint32 first, int n)
{
	for (int from = 0; from < n; from += READER_SLOTS)
		for (uint32 i = 0; reader_take(reader, i); i += reader->most)
		{
			int			count = Min(n - from, READER_SLOTS);

			ecp_vector_part_near(&reader->probe, &reader->queries, reader->part, run,
								 first, from, count);
			reader_offer(reader, reader->part->tids + from, count);
		}
}

/* ---- pages ---- */

/* Count the bits among the first n of some words, and clear the others. */
static uint32
reader_count(uint64 *words, int n)
{
	uint32		count = 0;

	if (n % 64 != 0)
		words[n / 64] &= EcpLowBits(n % 64);
	for (int w = 0; w < (n + 63) / 64; w++)
		count += pg_popcount64(words[w]);
	return count;
}

/* Gather the slots of a page that pass. */
static void
reader_gather(EcpKnnReader *reader, const EcpEntryView *view, int n)
{
	const EcpGeometry *geo = &reader->knn->plan->state.leaf;

	for (int w = 0; w * 64 < n; w++)
	{
		for (uint64 word = reader->passed[w]; word != 0; word &= word - 1)
		{
			ReaderPage *page = &reader->pages[Max(reader->npages, 1) - 1];

			if (reader->npages == 0 || page->n == geo->slots)
			{
				if (reader->npages == READER_PAGES)
					reader_compare(reader);
				page = &reader->pages[reader->npages++];
				memset(page->view.live, 0xff, sizeof(uint64) * geo->live_words);
				page->n = 0;
			}
			ecp_entry_copy(geo, &page->view, page->n++, view,
						   w * 64 + pg_rightmost_one_pos64(word));
		}
	}
}

/* Callback of the probe, with each entry page: copy what is to be compared of it. */
static void
reader_read_page(void *arg, const EcpProbeRun *run, Buffer buffer,
				 const EcpEntryView *view, uint32 first, int n)
{
	EcpKnnReader *reader = arg;
	EcpKnnCluster *cluster = reader->cluster;
	const EcpAttrFilter *filter = reader->knn->filter;
	const EcpGeometry *geo = &reader->knn->plan->state.leaf;
	uint32		npassed;

	Assert(cluster != NULL);
	if (n > 0 && filter)
		cluster->nlive += ecp_attr_filter_page(filter, geo, view, n, reader->passed);
	else
		memcpy(reader->passed, view->live, sizeof(uint64) * geo->live_words);
	npassed = reader_count(reader->passed, n);
	cluster->npassed += npassed;
	if (filter == NULL)
		cluster->nlive += npassed;
	if (npassed > 0 && geo->stream)
	{
		ecp_vector_part_set(reader->part, geo, view, reader->passed, n);
		UnlockReleaseBuffer(buffer);
		reader_compare_part(reader, run, first, n);
		return;
	}
	if (filter)
		reader_gather(reader, view, n);
	else if (npassed > 0)
	{
		ReaderPage *page = &reader->pages[reader->npages++];

		memcpy(page->page, BufferGetPage(buffer), BLCKSZ);
		page->n = n;
	}
	UnlockReleaseBuffer(buffer);
	if (filter == NULL && reader->npages == READER_PAGES)
		reader_compare(reader);
}

/* ---- clusters ---- */

static EcpKnnReader *
reader_create(EcpKnn *knn)
{
	const EcpGeometry *geo = &knn->plan->state.leaf;
	MemoryContext old = MemoryContextSwitchTo(knn->context);
	EcpKnnReader *reader = palloc0(sizeof(EcpKnnReader));

	reader->knn = knn;
	reader->probe.index = knn->index;
	reader->probe.state = &knn->plan->state;
	reader->probe.snapshot = knn->snapshot;
	reader->probe.page = reader_read_page;
	reader->probe.page_arg = reader;
	ecp_probe_init(&reader->probe);
	reader->probe.prefetch = 0; /* the sweep does */
	ecp_sweep_init(&reader->sweep, knn->index);
	(void) ecp_probe_room(&reader->probe, READER_CLUSTERS);
	reader->passed = palloc(sizeof(uint64) * geo->live_words);
	reader->queries.state = &knn->plan->state;
	reader->most = geo->stream ? Min(knn->plan->max_queries, READER_QUERIES) :
		ECP_PASS_QUERIES;
	reader->queries.exact = palloc(reader->most * sizeof(EcpQuery *));
	reader->queries.limits = palloc(reader->most * sizeof(float8));
	reader->queries.near = palloc(reader->most * sizeof(EcpNear));
	for (int q = 0; q < reader->most; q++)
	{
		int			nslots = geo->stream ? READER_SLOTS :
			geo->live_words * 64 + ECP_KERNEL_SLACK;

		reader->queries.near[q].words = palloc(nslots / 8);
		reader->queries.near[q].ranks = palloc(nslots * sizeof(float8));
	}
	for (int p = 0; p < READER_PAGES; p++)
	{
		reader->pages[p].page = palloc(BLCKSZ + ECP_KERNEL_SLACK);
		ecp_entry_view(reader->pages[p].page, geo, 0, &reader->pages[p].view);
	}
	if (geo->stream)
		reader->part = ecp_vector_part_create(geo);
	MemoryContextSwitchTo(old);
	return reader;
}

/* Pass clusters from "c" on to the probe; returns the next one to pass. */
static int
reader_give(EcpKnnReader *reader, int c, int end)
{
	EcpKnn	   *knn = reader->knn;
	EcpClusterRef *refs = ecp_probe_room(&reader->probe, READER_CLUSTERS);
	int			n = Min(end - c, READER_CLUSTERS);
	int			nranges = 0;

	memset(refs, 0, n * sizeof(EcpClusterRef));
	for (int i = 0; i < n; i++)
	{
		EcpKnnCluster *cluster = &knn->clusters[knn->active[c + i].cluster];

		refs[i].child.ecpc_blk = knn->active[c + i].blk;
		refs[i].child.ecpc_run = cluster->run;
		refs[i].child.ecpc_npages = cluster->npages;
		refs[i].child.ecpc_nrows = cluster->nlive;
		refs[i].skip = cluster->skip;
		refs[i].recent = cluster->recent;
		refs[i].nrecent = Min(cluster->npages, ECP_KNN_RECENT);
		if (cluster->skip)
			continue;
		reader->ranges[nranges].blk = refs[i].child.ecpc_blk;
		reader->ranges[nranges++].npages = Min(cluster->npages, ECP_RUN_PAGES_MAX);
	}
	ecp_sweep_set(&reader->sweep, reader->ranges, nranges);
	ecp_probe_added(&reader->probe, n);
	return c + n;
}

/* Read clusters first .. end - 1 of the wave. */
void
ecp_knn_read(EcpKnn *knn, int first, int end)
{
	int			given = first;
	EcpKnnReader *reader;

	Assert(!knn->plan->exact);
	Assert(first >= 0 && end <= knn->shared->nactive);
	if (knn->reader == NULL)
		knn->reader = reader_create(knn);
	reader = knn->reader;
	for (int c = first; c < end; c++)
	{
		EcpKnnCluster *cluster = &knn->clusters[knn->active[c].cluster];

		if (c == given)
			given = reader_give(reader, c, end);
		if (cluster->skip)
		{
			(void) ecp_probe_next(&reader->probe);
			continue;
		}
		(void) ecp_sweep_next(&reader->sweep, ecp_probe_is_cold());
		reader->cluster = cluster;
		cluster->nlive = cluster->npassed = 0;
		(void) ecp_probe_next(&reader->probe);
		reader_compare(reader);
	}
}
