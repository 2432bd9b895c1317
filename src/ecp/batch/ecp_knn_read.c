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
 * A page is copied, so that it is locked no longer than by a scan, and a few
 * of them are compared with one query after the other.  With a condition that the
 * index knows, its filter is applied once for all queries, and where vectors are on
 * the entry pages the rows that pass are gathered, so that only these are compared.
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

/* Rows of a block whose vectors come from the vector part of a run. */
#define READER_ROWS			64

/* Entry pages or blocks that queries are compared with in one go. */
#define READER_BLOCKS		4

/* Clusters that the probe is given at a time. */
#define READER_CLUSTERS		64

/* One block, with room for what it points to. */
typedef struct ReaderBlock
{
	char	   *page;			/* copy of an entry page */
	char	   *vectors;		/* rows out of the vector part */
	uint64	   *live;
	uint32	   *factors[ECP_FACTORS_MAX];
	char	   *lower;			/* the two are of rows gathered, */
	ItemPointerData *tids;		/* whose upper parts are in "page" */
} ReaderBlock;

struct EcpKnnReader
{
	EcpProbe	probe;
	EcpKnn	   *knn;
	EcpKnnCluster *cluster;		/* that is being read */
	MemoryContext context;
	int			nblocks;
	EcpKnnBlock blocks[READER_BLOCKS];
	ReaderBlock memory[READER_BLOCKS];
	uint64	   *passed;			/* slots that the filter lets pass */
	char	   *entry;			/* copy of an entry page without vectors */
	char	   *vector;			/* copy of a page of a vector part */
};

/* Compare the queries of the cluster with the blocks that were read. */
static void
reader_compare(EcpKnnReader *reader)
{
	EcpKnn	   *knn = reader->knn;
	EcpKnnCluster *cluster = reader->cluster;

	if (reader->nblocks > 0)
		ecp_knn_compare(knn, reader->blocks, reader->nblocks,
						knn->pairs + cluster->first,
						pg_atomic_read_u32(&cluster->placed));
	reader->nblocks = 0;
}

/* Count the live ones of the first n slots of a copy; no others are live then. */
static uint32
reader_count_live(uint64 *live, int n)
{
	uint32		nlive = 0;

	if (n % 64 != 0)
		live[n / 64] &= EcpLowBits(n % 64);
	for (int w = 0; w < (n + 63) / 64; w++)
		nlive += pg_popcount64(live[w]);
	return nlive;
}

/*
 * Copy the vectors of n slots from "slot" on out of the vector part of a
 * run; the pages of those that are not live are not touched, because they may
 * not be initialized.
 */
static void
reader_copy_vectors(EcpKnnReader *reader, const EcpProbeRun *run, uint32 slot,
					int n, uint64 live, char *vectors)
{
	const EcpGeometry *geo = &reader->knn->plan->state.leaf;
	uint32		have = 0;		/* page in reader->vector; 0 = none */

	Assert(geo->stream && n <= READER_ROWS);
	for (int i = 0; i < n; i++)
	{
		if ((live & (UINT64CONST(1) << i)) == 0)
			continue;
		ecp_stream_foreach(part, geo, run->header.ecpr_entry_pages, slot + i)
		{
			if (have != part.pageno)
			{
				Page		page;
				Buffer		buffer;

				CHECK_FOR_INTERRUPTS();
				buffer = ecp_probe_buffer(&reader->probe, run, ECP_PAGE_VECTOR,
										  part.pageno, &page);
				memcpy(reader->vector, page, BLCKSZ);
				UnlockReleaseBuffer(buffer);
			}
			have = part.pageno;
			memcpy(vectors + (Size) i * geo->vec_bytes + part.done,
				   EcpPageGetStream(reader->vector) + part.offset, part.bytes);
		}
	}
}

/* Rows whose vectors are in the vector part: READER_ROWS of them a block. */
static void
reader_add_stream(EcpKnnReader *reader, const EcpProbeRun *run,
				  const EcpEntryView *view, uint32 first, int n)
{
	const EcpMetaPageData *meta = &reader->knn->plan->state.meta;
	const EcpGeometry *geo = &reader->knn->plan->state.leaf;

	for (int slot = 0; slot < n; slot += READER_ROWS)
	{
		uint64		live = view->live[slot / 64];
		ReaderBlock *memory = &reader->memory[reader->nblocks];
		EcpKnnBlock *block = &reader->blocks[reader->nblocks];

		if (live == 0)
			continue;
		memset(block, 0, sizeof(EcpKnnBlock));
		block->n = pg_leftmost_one_pos64(live) + 1;
		block->stride = geo->vec_bytes;
		block->rows = memory->vectors;
		*memory->live = live;
		block->live = memory->live;
		/* the TIDs stay where they are: the page's copy goes with it */
		memcpy(memory->page, &view->tids[slot],
			   block->n * sizeof(ItemPointerData));
		block->tids = (ItemPointerData *) memory->page;
		reader_copy_vectors(reader, run, first + slot, block->n, live,
							memory->vectors);
		for (int i = 0; i < block->n; i++)
		{
			uint32		factors[ECP_FACTORS_MAX] = {0};

			if ((live & (UINT64CONST(1) << i)) != 0)
				ecp_factors_compute(meta->ecpm_elem, meta->ecpm_metric,
									meta->ecpm_dims,
									memory->vectors + (Size) i * geo->vec_bytes,
									factors);
			for (int f = 0; f < ECP_FACTORS_MAX; f++)
				memory->factors[f][i] = factors[f];
		}
		for (int f = 0; f < ECP_FACTORS_MAX; f++)
			block->factors[f] = memory->factors[f];
		if (++reader->nblocks == READER_BLOCKS)
			reader_compare(reader);
	}
}

/* The block to which the next row is gathered. */
static EcpKnnBlock *
reader_gather_block(EcpKnnReader *reader)
{
	const EcpGeometry *geo = &reader->knn->plan->state.leaf;
	ReaderBlock *memory;
	EcpKnnBlock *block;

	if (reader->nblocks > 0 && reader->blocks[reader->nblocks - 1].n < geo->slots)
		return &reader->blocks[reader->nblocks - 1];
	if (reader->nblocks == READER_BLOCKS)
		reader_compare(reader);
	memory = &reader->memory[reader->nblocks];
	block = &reader->blocks[reader->nblocks++];
	memset(block, 0, sizeof(EcpKnnBlock));
	block->columns = geo->columns;
	block->nslots = geo->slots;
	block->stride = geo->code_bytes;
	block->rows = memory->page;
	block->lower = geo->parts ? memory->lower : NULL;
	block->lower_stride = geo->rest_bytes;
	for (int f = 0; f < geo->nfactors; f++)
		block->factors[f] = memory->factors[f];
	block->live = geo->parts ? memory->live : NULL;
	block->tids = memory->tids;
	return block;
}

/* Gather a slot of an entry page. */
static void
reader_gather(EcpKnnReader *reader, const EcpEntryView *view, int slot)
{
	const EcpGeometry *geo = &reader->knn->plan->state.leaf;
	EcpKnnBlock *block = reader_gather_block(reader);
	ReaderBlock *memory = &reader->memory[reader->nblocks - 1];
	int			to = block->n++;

	if (geo->columns)
	{
		const uint32 *from_group = (const uint32 *) view->codes + slot;
		uint32	   *to_group = (uint32 *) memory->page + to;

		for (int byte = 0; byte < geo->code_bytes; byte += ECP_GROUP)
		{
			*to_group = *from_group;
			from_group += geo->slots;
			to_group += geo->slots;
		}
	}
	else
		memcpy(memory->page + to * geo->code_bytes,
			   view->codes + slot * geo->code_bytes, geo->code_bytes);
	if (geo->parts)
		memcpy(memory->lower + to * geo->rest_bytes,
			   view->rest + slot * geo->rest_bytes, geo->rest_bytes);
	for (int f = 0; f < geo->nfactors; f++)
		memory->factors[f][to] = view->factors[f][slot];
	memory->tids[to] = view->tids[slot];
}

/*
 * Apply the filter to an entry page, and gather the rows that pass.  Returns false
 * if they have to be read otherwise.
 */
static bool
reader_filter(EcpKnnReader *reader, const EcpEntryView *view, int n)
{
	const EcpGeometry *geo = &reader->knn->plan->state.leaf;
	int			npassed;

	reader->cluster->nlive += ecp_attr_filter_page(reader->knn->filter, geo, view, n,
												   reader->passed);
	npassed = reader_count_live(reader->passed, n);
	reader->cluster->npassed += npassed;
	if (npassed > 0 && geo->stream)
		return false;
	for (int w = 0; w < geo->live_words; w++)
	{
		for (uint64 word = reader->passed[w]; word != 0; word &= word - 1)
			reader_gather(reader, view, w * 64 + pg_rightmost_one_pos64(word));
	}
	return true;
}

/* Callback of the probe, with each entry page: copy it and add its rows. */
static void
reader_read_page(void *arg, const EcpProbeRun *run, Buffer buffer,
				 const EcpEntryView *locked, uint32 first, int n)
{
	EcpKnnReader *reader = arg;
	const EcpGeometry *geo = &reader->knn->plan->state.leaf;
	EcpKnnBlock *block = &reader->blocks[reader->nblocks];
	char	   *page = reader->entry;
	bool		filtered = reader->knn->filter != NULL && n > 0;
	bool		done = n == 0;
	EcpEntryView view;
	uint32		nlive;

	Assert(reader->cluster != NULL);
	if (filtered)
		done = reader_filter(reader, locked, n);
	if (done)
	{
		UnlockReleaseBuffer(buffer);
		return;
	}
	/* all blocks may be full only if rows are gathered, all of them */
	Assert(reader->nblocks < READER_BLOCKS);
	if (!geo->stream)
		page = reader->memory[reader->nblocks].page;
	memcpy(page, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	ecp_entry_view(page, geo, 0, &view);
	if (filtered)
		memcpy(view.live, reader->passed, sizeof(uint64) * geo->live_words);
	else
	{
		nlive = reader_count_live(view.live, n);
		reader->cluster->nlive += nlive;
		reader->cluster->npassed += nlive;
	}
	if (geo->stream)
	{
		reader_add_stream(reader, run, &view, first, n);
		return;
	}
	memset(block, 0, sizeof(EcpKnnBlock));
	block->n = n;
	block->columns = geo->columns;
	block->nslots = geo->slots;
	block->stride = geo->code_bytes;
	block->rows = view.codes;
	block->lower = view.rest;
	block->lower_stride = geo->rest_bytes;
	for (int f = 0; f < geo->nfactors; f++)
		block->factors[f] = view.factors[f];
	block->live = view.live;
	block->tids = view.tids;
	if (++reader->nblocks == READER_BLOCKS)
		reader_compare(reader);
}

/* Make room for rows that are gathered. */
static void
reader_gather_memory(ReaderBlock *memory, const EcpGeometry *geo)
{
	memory->lower = palloc0(mul_size(geo->rest_bytes, geo->slots) + ECP_KERNEL_SLACK);
	memory->tids = palloc(mul_size(sizeof(ItemPointerData), geo->slots));
	memory->live = palloc(sizeof(uint64) * geo->live_words);
	memset(memory->live, 0xff, sizeof(uint64) * geo->live_words);
	for (int f = 0; f < geo->nfactors; f++)
		memory->factors[f] = palloc0(sizeof(uint32) * geo->slots + ECP_KERNEL_SLACK);
}

static EcpKnnReader *
reader_create(EcpKnn *knn)
{
	const EcpGeometry *geo = &knn->plan->state.leaf;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ecp batch reader",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	EcpKnnReader *reader = palloc0(sizeof(EcpKnnReader));

	reader->context = context;
	reader->knn = knn;
	reader->probe.index = knn->index;
	reader->probe.state = &knn->plan->state;
	reader->probe.snapshot = knn->snapshot;
	reader->probe.page = reader_read_page;
	reader->probe.page_arg = reader;
	ecp_probe_init(&reader->probe);
	(void) ecp_probe_room(&reader->probe, READER_CLUSTERS);
	reader->entry = palloc(BLCKSZ);
	reader->vector = palloc(BLCKSZ);
	reader->passed = palloc(sizeof(uint64) * geo->live_words);
	for (int b = 0; b < READER_BLOCKS; b++)
	{
		ReaderBlock *memory = &reader->memory[b];

		memory->page = palloc(BLCKSZ + ECP_KERNEL_SLACK);
		if (!geo->stream && knn->filter != NULL)
			reader_gather_memory(memory, geo);
		if (!geo->stream)
			continue;
		memory->vectors = palloc(mul_size(geo->vec_bytes, READER_ROWS) +
								 ECP_KERNEL_SLACK);
		memory->live = palloc(sizeof(uint64));
		for (int f = 0; f < ECP_FACTORS_MAX; f++)
			memory->factors[f] = palloc0(sizeof(uint32) * READER_ROWS +
										 ECP_KERNEL_SLACK);
	}
	MemoryContextSwitchTo(old);
	return reader;
}

void
ecp_knn_read_end(EcpKnn *knn)
{
	if (knn->reader == NULL)
		return;
	MemoryContextDelete(knn->reader->context);
	knn->reader = NULL;
}

/* Pass clusters from "c" on to the probe; returns the next one to pass. */
static int
reader_give(EcpKnnReader *reader, int c, int end)
{
	EcpKnn	   *knn = reader->knn;
	EcpClusterRef *refs = ecp_probe_room(&reader->probe, READER_CLUSTERS);
	int			n = Min(end - c, READER_CLUSTERS);

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
	}
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
		reader->cluster = cluster;
		cluster->nlive = cluster->npassed = 0;
		(void) ecp_probe_next(&reader->probe);
		reader_compare(reader);
	}
}
