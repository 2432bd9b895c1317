/*-------------------------------------------------------------------------
 *
 * ecp_batch.c
 *	  Many queries at once through an ecp index: which clusters they want,
 *	  and each of those read once for all of them.
 *
 * After DeCP's batch search (Gudmundsson, Amsaleg, Jonsson, Franklin:
 * "Towards Engineering a Web-Scale Multimedia Service", MMSys 2017):
 *
 *	 descend	every query gets the clusters that its scan would read first:
 *				by a descent of its own or, where all leaders are in one
 *				node, by comparing some leaders with many queries at a time
 *	 group		queries by cluster, clusters by block
 *	 clusters	pages are copied, and while they are in the processor's
 *				cache all queries that want them are compared with them
 *
 * A scan of a memory-resident index waits for memory and for its page
 * visits; here a page is visited once for dozens of queries.  On a disk the
 * clusters come in ascending order, each once.
 *
 * Pages are read as ecp_search.c reads them, and the same holds: what the
 * snapshot can see is in the clusters of the structure version that all
 * participants share, however long it takes.  Slots that are filled again
 * meanwhile have TIDs that the snapshot cannot see.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "ecp/ecp_knn.h"
#include "ecp/ecp_living.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

/* Rows of a block whose vectors come from the vector part of a run. */
#define READER_ROWS			64

/* Entry pages or blocks that queries are compared with in one go. */
#define READER_BLOCKS		4

/* Bytes that kernels may read behind the last row. */
#define READER_SLACK		64

/* Queries that are compared with leaders at a time, and leaders (of 16s). */
#define DESCEND_QUERIES		32
#define DESCEND_LEADERS		256

/* Leaders of which one tells how many are nearer. */
#define LEADERS_SAMPLE		256

/* One block, with room for what it points to. */
typedef struct ReaderBlock
{
	char	   *page;			/* copy of an entry page */
	char	   *vectors;		/* rows out of the vector part */
	uint64	   *live;
	uint32	   *factors[ECP_FACTORS_MAX];
} ReaderBlock;

struct EcpKnnReader
{
	MemoryContext context;
	EcpSweep	sweep;
	int			nblocks;
	EcpKnnBlock blocks[READER_BLOCKS];
	ReaderBlock memory[READER_BLOCKS];
	char	   *entry;			/* copy of an entry page without vectors */
	char	   *vector;			/* copy of a page of a vector part */
};

/* ---- descend ---- */

/* Has the query a place among the leaders? */
static inline bool
batch_has_place(const EcpKnnQuery *query)
{
	return (query->flags & (ECP_KNN_NULL | ECP_KNN_NO_PLACE)) == 0;
}

/* Bring a query into the form of leaders, if that is possible. */
static void
batch_prepare(EcpKnn *knn, int q, void *prepared)
{
	const EcpMetaPageData *meta = &knn->shared->state.meta;
	EcpVector	vector;

	knn->queries[q].nrefs = 0;
	if ((knn->queries[q].flags & ECP_KNN_NULL) != 0)
		return;
	vector.elem = meta->ecpm_elem;
	vector.dims = meta->ecpm_dims;
	vector.data = knn->elements + q * knn->shared->query_stride;
	vector.detoasted = NULL;
	if (!ecp_prepare(meta, &vector, prepared))
		knn->queries[q].flags |= ECP_KNN_NO_PLACE;
}

/* A query wants a cluster, or a buffer, besides those that it has. */
static inline void
batch_add_ref(EcpKnn *knn, int q, const EcpChildData *child)
{
	EcpKnnQuery *query = &knn->queries[q];
	EcpKnnRef  *ref;

	if (query->nrefs == knn->shared->max_refs)
	{
		query->flags |= ECP_KNN_CUT_OFF;
		return;
	}
	ref = knn->refs + (Size) q * knn->shared->max_refs + query->nrefs++;
	ref->blk = child->ecpc_blk;
	ref->npages = child->ecpc_npages;
	ref->run = child->ecpc_run;
}

/* The clusters of one query, by a descent as a scan has it. */
static void
batch_descend_query(EcpKnn *knn, int q, void *prepared)
{
	EcpKnnShared *shared = knn->shared;
	EcpKnnQuery *query = &knn->queries[q];
	EcpDescent *descent;
	EcpClusterRef ref;
	int			nclusters = 0;

	batch_prepare(knn, q, prepared);
	if (!batch_has_place(query))
		return;
	descent = ecp_descent_begin(knn->index, &shared->state, prepared, false,
								Min(shared->probes,
									shared->state.meta.ecpm_nleaves));
	while ((nclusters < shared->probes || ecp_descent_at_buffer(descent)) &&
		   ecp_descent_next(descent, &ref))
	{
		batch_add_ref(knn, q, &ref.child);
		if (!ref.is_buffer)
			nclusters++;
	}
	ecp_descent_end(descent);
	if (nclusters < shared->probes)
		query->flags |= ECP_KNN_ALL_READ;
}

/* A leader of the root, for choosing the nearest ones. */
typedef struct RankedLeader
{
	float4		rank;
	uint32		child;
} RankedLeader;

#define ST_SORT leaders_sort
#define ST_ELEMENT_TYPE RankedLeader
#define ST_COMPARE(a, b) \
	((a)->rank < (b)->rank ? -1 : (a)->rank > (b)->rank ? 1 : \
	 (a)->child < (b)->child ? -1 : (a)->child > (b)->child)
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * A rank that about "wanted" of n do not exceed, rather more than fewer: by
 * an evenly spaced sample, the lowest of which are kept in order.
 */
static float4
leaders_threshold(const float4 *ranks, int n, int wanted)
{
	float4		lowest[LEADERS_SAMPLE];
	int			nkeep = Min((int64) LEADERS_SAMPLE * wanted / n + 3,
							LEADERS_SAMPLE);
	int			nkept = 0;

	for (int i = 0; i < LEADERS_SAMPLE; i++)
	{
		float4		rank = ranks[(int64) i * n / LEADERS_SAMPLE];
		int			pos;

		if (nkept == nkeep && !(rank < lowest[nkept - 1]))
			continue;
		if (nkept < nkeep)
			nkept++;
		for (pos = nkept - 1; pos > 0 && lowest[pos - 1] > rank; pos--)
			lowest[pos] = lowest[pos - 1];
		lowest[pos] = rank;
	}
	return lowest[nkept - 1];
}

/*
 * Put the "wanted" nearest of n leaders into leaders[0 ..]; equal ranks: the
 * lower number, as a descent has it.  Returns how many there are.
 */
static int
leaders_choose(const float4 *ranks, int n, int wanted, RankedLeader *leaders)
{
	int			nfound = 0;

	if (n > LEADERS_SAMPLE && n > 2 * wanted)
	{
		float4		threshold = leaders_threshold(ranks, n, wanted);

		for (int i = 0; i < n; i++)
		{
			leaders[nfound].rank = ranks[i];
			leaders[nfound].child = i;
			nfound += ranks[i] <= threshold;
		}
	}
	if (nfound < wanted)
	{
		for (nfound = 0; nfound < n; nfound++)
		{
			leaders[nfound].rank = ranks[nfound];
			leaders[nfound].child = nfound;
		}
	}
	leaders_sort(leaders, nfound);
	return Min(nfound, wanted);
}

/* The buffers that follow the n clusters of a query, each once. */
static void
batch_add_buffers(EcpKnn *knn, int q, const EcpNode *root,
				  const RankedLeader *leaders, int n)
{
	bool	   *wanted = palloc0(root->nbuffers * sizeof(bool));

	for (int i = 0; i < n; i++)
	{
		int			b = root->map.buffer_of[leaders[i].child];

		for (; b >= 0 && !wanted[b]; b = root->map.next[b])
		{
			wanted[b] = true;
			batch_add_ref(knn, q, &root->children[root->nchildren + b]);
		}
	}
	pfree(wanted);
}

/*
 * The clusters of at most DESCEND_QUERIES queries under a root of level 1,
 * which a descent would compare with all of its leaders: some leaders at a
 * time, with all queries while they are in the processor's cache.
 */
static void
batch_descend_flat(EcpKnn *knn, EcpNode *root, int first, int end,
				   float4 *ranks, RankedLeader *leaders, char *prepared)
{
	EcpKnnShared *shared = knn->shared;
	const EcpMetaPageData *meta = &shared->state.meta;
	const EcpPanel *panel = meta->ecpm_metric == ECP_METRIC_IP ?
		root->ip_panel : root->panel;
	Size		stride = MAXALIGN(shared->state.node.vec_bytes);
	int			n = root->nchildren;

	for (int q = first; q < end; q++)
		batch_prepare(knn, q, prepared + (q - first) * stride);
	for (int done = 0; done < n; done += DESCEND_LEADERS)
	{
		CHECK_FOR_INTERRUPTS();
		for (int q = first; q < end; q++)
		{
			if (batch_has_place(&knn->queries[q]))
				ecp_panel_rank(panel, prepared + (q - first) * stride, done,
							   Min(n - done, DESCEND_LEADERS),
							   ranks + (Size) (q - first) * n + done);
		}
	}
	for (int q = first; q < end; q++)
	{
		EcpKnnQuery *query = &knn->queries[q];
		int			nclusters;

		if (!batch_has_place(query))
			continue;
		nclusters = leaders_choose(ranks + (Size) (q - first) * n, n,
								   shared->probes, leaders);
		for (int r = 0; r < nclusters; r++)
			batch_add_ref(knn, q, &root->children[leaders[r].child]);
		if (root->nbuffers > 0)
			batch_add_buffers(knn, q, root, leaders, nclusters);
		if (nclusters < shared->probes)
			query->flags |= ECP_KNN_ALL_READ;
	}
}

/* Find the clusters of queries first .. end - 1. */
void
ecp_knn_descend(EcpKnn *knn, int first, int end)
{
	EcpKnnShared *shared = knn->shared;
	const EcpMetaPageData *meta = &shared->state.meta;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ecp descent",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	char	   *prepared;

	prepared = palloc0(mul_size(DESCEND_QUERIES,
								MAXALIGN(shared->state.node.vec_bytes)));
	if (meta->ecpm_root_level == 1)
	{
		EcpNode    *root = ecp_node_get(knn->index, &shared->state,
										&meta->ecpm_root, 1);
		float4	   *ranks;
		RankedLeader *leaders;

		ranks = palloc_extended(mul_size(mul_size(DESCEND_QUERIES,
												  root->nchildren + 1),
										 sizeof(float4)), MCXT_ALLOC_HUGE);
		leaders = palloc_extended(mul_size(root->nchildren + 1,
										   sizeof(RankedLeader)),
								  MCXT_ALLOC_HUGE);
		for (int q = first; q < end; q += DESCEND_QUERIES)
			batch_descend_flat(knn, root, q, Min(q + DESCEND_QUERIES, end),
							   ranks, leaders, prepared);
		ecp_node_release(root);
	}
	else
	{
		for (int q = first; q < end; q++)
			batch_descend_query(knn, q, prepared);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* ---- group ---- */

typedef struct ClusterEntry
{
	uint64		run;
	uint32		cluster;
	char		status;
} ClusterEntry;

#define SH_PREFIX clusters
#define SH_ELEMENT_TYPE ClusterEntry
#define SH_KEY_TYPE uint64
#define SH_KEY run
#define SH_HASH_KEY(tb, key) murmurhash32((uint32) ((key) ^ (key) >> 32))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* The clusters that are wanted, in order of blocks. */
static int
batch_compare_clusters(const void *a, const void *b)
{
	BlockNumber x = ((const EcpKnnCluster *) a)->ref.blk;
	BlockNumber y = ((const EcpKnnCluster *) b)->ref.blk;

	return x < y ? -1 : x > y;
}

/*
 * Put the queries of the batch in order of clusters, and clusters in order
 * of blocks.
 */
void
ecp_knn_group(EcpKnn *knn)
{
	EcpKnnShared *shared = knn->shared;
	clusters_hash *table = clusters_create(CurrentMemoryContext,
										   shared->max_clusters, NULL);
	uint32		npairs = 0;

	shared->nclusters = 0;
	for (int q = 0; q < shared->nqueries; q++)
	{
		EcpKnnRef  *refs = knn->refs + (Size) q * shared->max_refs;

		for (int r = 0; r < knn->queries[q].nrefs; r++)
		{
			bool		found;
			ClusterEntry *entry = clusters_insert(table, refs[r].run, &found);

			if (!found)
			{
				EcpKnnCluster *cluster = &knn->clusters[shared->nclusters];

				if (shared->nclusters == shared->max_clusters)
					ecp_report_corrupt(knn->index, ECP_META_BLKNO,
									   "There are more clusters than the metapage says.");
				entry->cluster = shared->nclusters++;
				cluster->ref = refs[r];
				cluster->n = cluster->nlive = 0;
			}
			knn->clusters[entry->cluster].n++;
		}
	}

	qsort(knn->clusters, shared->nclusters, sizeof(EcpKnnCluster),
		  batch_compare_clusters);
	for (int c = 0; c < shared->nclusters; c++)
	{
		EcpKnnCluster *cluster = &knn->clusters[c];

		clusters_lookup(table, cluster->ref.run)->cluster = c;
		cluster->first = npairs;
		npairs += cluster->n;
		cluster->n = 0;
	}
	for (int q = 0; q < shared->nqueries; q++)
	{
		EcpKnnRef  *refs = knn->refs + (Size) q * shared->max_refs;

		for (int r = 0; r < knn->queries[q].nrefs; r++)
		{
			EcpKnnCluster *cluster;

			cluster = &knn->clusters[clusters_lookup(table,
													 refs[r].run)->cluster];
			knn->pairs[cluster->first + cluster->n++] = q;
		}
	}
	clusters_destroy(table);
}

/* ---- clusters ---- */

static EcpKnnReader *
reader_create(EcpKnn *knn)
{
	const EcpGeometry *geo = &knn->shared->state.leaf;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ecp batch reader",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	EcpKnnReader *reader = palloc0(sizeof(EcpKnnReader));

	reader->context = context;
	reader->entry = palloc(BLCKSZ);
	reader->vector = palloc(BLCKSZ);
	ecp_sweep_init(&reader->sweep, knn->index);
	for (int b = 0; b < READER_BLOCKS; b++)
	{
		ReaderBlock *memory = &reader->memory[b];

		memory->page = palloc(BLCKSZ + READER_SLACK);
		if (!geo->stream)
			continue;
		memory->vectors = palloc(mul_size(geo->vec_bytes, READER_ROWS) +
								 READER_SLACK);
		memory->live = palloc(sizeof(uint64));
		for (int f = 0; f < ECP_FACTORS_MAX; f++)
			memory->factors[f] = palloc0(sizeof(uint32) * READER_ROWS +
										 READER_SLACK);
	}
	MemoryContextSwitchTo(old);
	return reader;
}

void
ecp_knn_reader_free(EcpKnn *knn)
{
	if (knn->reader == NULL)
		return;
	ecp_sweep_end(&knn->reader->sweep);
	MemoryContextDelete(knn->reader->context);
	knn->reader = NULL;
}

/* Compare the queries of a cluster with the blocks that were read. */
static void
reader_compare(EcpKnn *knn, EcpKnnCluster *cluster)
{
	EcpKnnReader *reader = knn->reader;

	if (reader->nblocks > 0)
		ecp_knn_compare(knn, reader->blocks, reader->nblocks,
						knn->pairs + cluster->first, cluster->n);
	reader->nblocks = 0;
}

/* Slots up to the last live one, of the first n; counts the live ones. */
static int
reader_used_slots(uint64 *live, int n, uint32 *nlive)
{
	int			used = 0;

	for (int first = 0; first < n; first += 64)
	{
		uint64	   *word = &live[first / 64];

		if (n - first < 64)
			*word &= (UINT64CONST(1) << (n - first)) - 1;
		if (*word == 0)
			continue;
		used = first + pg_leftmost_one_pos64(*word) + 1;
		*nlive += pg_popcount64(*word);
	}
	return used;
}

/* Copy page "pageno" of a run, of which "blk" is the first block. */
static void
reader_copy_page(EcpKnn *knn, const EcpRun *run, int kind, uint32 pageno,
				 char *copy)
{
	Buffer		buffer;

	CHECK_FOR_INTERRUPTS();
	buffer = ecp_run_buffer(knn->index, kind, run->blk, run->run, pageno,
							BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buffer))
		ecp_report_moved(knn->index, run->blk + pageno);
	ecp_test_for_old_snapshot(knn->snapshot, knn->index,
							  BufferGetPage(buffer));
	memcpy(copy, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
}

/*
 * Copy the vectors of n slots from "slot" on out of the vector part of a
 * run; the pages of those that are not live are not touched, because nobody
 * may have initialised them.
 */
static void
reader_copy_vectors(EcpKnn *knn, const EcpRun *run, uint32 slot, int n,
					uint64 live, char *vectors)
{
	const EcpGeometry *geo = &knn->shared->state.leaf;
	char	   *copy = knn->reader->vector;
	uint32		have = 0;		/* page that "copy" is of; 0 is none's */

	for (int i = 0; i < n; i++)
	{
		uint32		done = 0;
		uint32		pageno;
		uint32		offset;

		if ((live & (UINT64CONST(1) << i)) == 0)
			continue;
		ecp_stream_position(geo, run->header.ecpr_entry_pages, slot + i,
							&pageno, &offset);
		while (done < geo->vec_bytes)
		{
			uint32		part = Min(geo->vec_bytes - done,
								   ECP_PAYLOAD_BYTES - offset);

			if (have != pageno)
				reader_copy_page(knn, run, ECP_PAGE_VECTOR, pageno, copy);
			have = pageno;
			memcpy(vectors + (Size) i * geo->vec_bytes + done,
				   EcpPageGetStream(copy) + offset, part);
			done += part;
			pageno++;
			offset = 0;
		}
	}
}

/* Rows whose vectors are in the vector part: READER_ROWS of them a block. */
static void
reader_add_stream(EcpKnn *knn, EcpKnnCluster *cluster, const EcpRun *run,
				  const EcpEntryView *view, uint32 first, int n)
{
	EcpKnnReader *reader = knn->reader;
	const EcpMetaPageData *meta = &knn->shared->state.meta;
	const EcpGeometry *geo = &knn->shared->state.leaf;

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
		reader_copy_vectors(knn, run, first + slot, block->n, live,
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
			reader_compare(knn, cluster);
	}
}

/* Rows of an entry page, which is copied. */
static void
reader_add_page(EcpKnn *knn, EcpKnnCluster *cluster, const EcpRun *run,
				uint32 pageno)
{
	EcpKnnReader *reader = knn->reader;
	const EcpGeometry *geo = &knn->shared->state.leaf;
	EcpKnnBlock *block = &reader->blocks[reader->nblocks];
	char	   *page = !geo->stream ?
		reader->memory[reader->nblocks].page : reader->entry;
	uint32		first = pageno * geo->slots;
	EcpEntryView view;
	int			n;

	reader_copy_page(knn, run, ECP_PAGE_ENTRY, pageno, page);
	ecp_entry_view(page, geo, 0, &view);
	n = reader_used_slots(view.live,
						  Min(geo->slots, run->header.ecpr_nslots - first),
						  &cluster->nlive);
	if (n == 0)
		return;
	if (geo->stream)
	{
		reader_add_stream(knn, cluster, run, &view, first, n);
		return;
	}
	memset(block, 0, sizeof(EcpKnnBlock));
	block->n = n;
	block->columns = geo->columns;
	block->nslots = geo->slots;
	block->stride = geo->code_bytes;
	block->rows = view.codes;
	for (int f = 0; f < geo->nfactors; f++)
		block->factors[f] = view.factors[f];
	block->live = view.live;
	block->tids = view.tids;
	if (++reader->nblocks == READER_BLOCKS)
		reader_compare(knn, cluster);
}

/* Read a cluster and compare its queries with all of its rows. */
static void
batch_read_cluster(EcpKnn *knn, EcpKnnCluster *cluster)
{
	EcpRun	   *runs;
	int			nruns;

	cluster->nlive = 0;
	nruns = ecp_cluster_runs(knn->index, &knn->shared->state, 0,
							 cluster->ref.blk, cluster->ref.run,
							 InvalidBuffer, &runs);
	if (nruns < 0)
		ecp_report_moved(knn->index, cluster->ref.blk);
	for (int r = 0; r < nruns; r++)
	{
		for (uint32 p = 0; p < runs[r].header.ecpr_hw_page; p++)
			reader_add_page(knn, cluster, &runs[r], p);
	}
	reader_compare(knn, cluster);
	pfree(runs);
}

/* Ask for the clusters from "*next" on that are read soon. */
static void
batch_prefetch(EcpKnn *knn, int current, int *next, int end)
{
	EcpSweep   *sweep = &knn->reader->sweep;

	*next = Max(*next, current + 1);
	for (; *next < Min(end, current + 1 + sweep->distance); (*next)++)
	{
		const EcpKnnRef *before = &knn->clusters[*next - 1].ref;
		const EcpKnnRef *ref = &knn->clusters[*next].ref;
		uint32		npages = Min(ref->npages, ECP_RUN_PAGES_MAX);

		if (ref->blk + npages < ref->blk ||
			!ecp_block_exists(knn->index, ref->blk))
			continue;			/* reading it will report it */
		if (!EcpSweepIsJump(sweep, before->blk + before->npages, ref->blk))
			continue;
		for (uint32 i = 0; i < npages; i++)
			PrefetchBuffer(knn->index, MAIN_FORKNUM, ref->blk + i);
	}
}

/* Read clusters first .. end - 1. */
void
ecp_knn_clusters(EcpKnn *knn, int first, int end)
{
	int			prefetched = first;

	if (knn->reader == NULL)
		knn->reader = reader_create(knn);
	for (int c = first; c < end; c++)
	{
		EcpKnnCluster *cluster = &knn->clusters[c];
		EcpSweep   *sweep = &knn->reader->sweep;

		ecp_sweep_to(sweep, cluster->ref.blk, cluster->ref.npages);
		if (EcpSweepIsCold(sweep))
			batch_prefetch(knn, c, &prefetched, end);
		batch_read_cluster(knn, cluster);
	}
}
