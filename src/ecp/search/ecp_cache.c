/*-------------------------------------------------------------------------
 *
 * ecp_cache.c
 *	  The leader cache: nodes of leader trees as panels, kept by a backend.
 *
 * A descent compares its query with every leader of the nodes that it opens.
 * On their pages leaders stand one after the other; compared many at a time
 * they must be arranged otherwise (see vector_distance.h, "panel"), and a
 * flat index of 4,000 clusters has 70 pages of them.  So the first descent
 * that opens a node copies it into a panel, and the following ones find it
 * here.
 *
 * For searches, leaders of floats are bytes there (ecp_byte_panel_create()): a quarter
 * of the memory, which is what a descent of many leaders waits for.  Rows are assigned
 * to leaders as they are, by nodes of their own.
 *
 * A node is found by index, file and head run (run ids are never given
 * twice within a file).  What it shows depends on the structure version V:
 *
 * - Two descents at the same V see the same children, whatever maintenance
 *	 does meanwhile: it prepares V + 1, and what it adds or ends is stamped
 *	 so.  No page is read then.
 * - For another V, the head's change counter tells whether any leader was
 *	 added or ended since we read the node: one page is read.  If none was,
 *	 the node still serves those versions between two neighbouring stamps in
 *	 it (valid_from, valid_until).  It may hold leaders that end at a version
 *	 which was still to come when it was read.
 *
 * A node that becomes invalid while it is in use is taken out of the table
 * and freed when the last user releases it.  After an error, a descent releases its
 * nodes when its memory goes (ecp_descent.c), and the end of the transaction releases
 * all.
 *
 * The memory of all nodes is bounded by ecp.leader_cache, least recently
 * used first, except for nodes in use.  A relcache invalidation drops the
 * index's nodes, which covers files that are truncated and rebuilt in place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "base/compat.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "ecp/search/ecp_probe.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Pages of a child whose buffers are remembered. */
#define ECP_RECENT_PAGES_MAX	64

/* No padding: it is hashed as bytes. */
typedef struct EcpCacheKey
{
	Oid			relid;
	EcpRelFileLocator locator;	/* three Oids */
	uint64		run;
	uint64		exact;			/* leaders as they are, or bytes */
} EcpCacheKey;

StaticAssertDecl(sizeof(EcpCacheKey) == 32, "cache key without padding");

typedef struct EcpCachedNode
{
	EcpNode		node;			/* must be first */
	EcpCacheKey key;
	uint32		valid_from;		/* versions that the children serve, while */
	uint32		valid_until;	/* the change counter stands; exclusive end */
	bool		attached;		/* is in the table */
	MemoryContext context;		/* holds everything, this struct too */
	Size		bytes;
	dlist_node	list_node;		/* in cache_used or cache_idle */
} EcpCachedNode;

typedef struct EcpCacheEntry
{
	EcpCacheKey key;
	EcpCachedNode *cached;
} EcpCacheEntry;

static HTAB *cache_table = NULL;
static MemoryContext cache_context = NULL;
static dlist_head cache_used = DLIST_STATIC_INIT(cache_used);
static dlist_head cache_idle = DLIST_STATIC_INIT(cache_idle);	/* newest first */
static Size cache_bytes = 0;
static uint64 cache_pins = 0;	/* sum of all refcounts */

static void
cache_free(EcpCachedNode *cached)
{
	Assert(!cached->attached && cached->node.refcount == 0);
	dlist_delete(&cached->list_node);
	cache_bytes -= cached->bytes;
	MemoryContextDelete(cached->context);
}

/* Take a node out of the table, and free it unless it is in use. */
static void
cache_detach(EcpCachedNode *cached)
{
	if (cached->attached)
	{
		(void) hash_search(cache_table, &cached->key, HASH_REMOVE, NULL);
		cached->attached = false;
	}
	if (cached->node.refcount == 0)
		cache_free(cached);
}

/* Free unused nodes, the oldest first, until the memory is in its bounds. */
static void
cache_trim(void)
{
	Size		limit = (Size) ecp_leader_cache_kb * 1024;

	while (cache_bytes > limit && !dlist_is_empty(&cache_idle))
		cache_detach(dlist_tail_element(EcpCachedNode, list_node, &cache_idle));
}

/* Take the nodes of an index, or of all, out of the table. */
static void
cache_forget(dlist_head *nodes, Oid relid)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, nodes)
	{
		EcpCachedNode *cached = dlist_container(EcpCachedNode, list_node,
												iter.cur);

		if (relid == InvalidOid || cached->key.relid == relid)
			cache_detach(cached);
	}
}

static void
cache_relcache_callback(Datum arg, Oid relid)
{
	cache_forget(&cache_used, relid);
	cache_forget(&cache_idle, relid);
}

/* A node is no longer in use. */
static void
cache_idled(EcpCachedNode *cached)
{
	Assert(cached->node.refcount == 0);
	if (!cached->attached)
		cache_free(cached);
	else
	{
		dlist_delete(&cached->list_node);
		dlist_push_head(&cache_idle, &cached->list_node);
	}
}

/*
 * At the end of a transaction no node is in use; references that are left were
 * not released because of an error.
 */
static void
cache_xact_callback(XactEvent event, void *arg)
{
	dlist_mutable_iter iter;

	if (event == XACT_EVENT_PRE_COMMIT ||
		event == XACT_EVENT_PARALLEL_PRE_COMMIT ||
		event == XACT_EVENT_PRE_PREPARE)
		return;
	if (cache_pins == 0)
		return;
	cache_pins = 0;
	dlist_foreach_modify(iter, &cache_used)
	{
		EcpCachedNode *cached = dlist_container(EcpCachedNode, list_node,
												iter.cur);

		cached->node.refcount = 0;
		cache_idled(cached);
	}
	cache_trim();
}

void
ecp_cache_init(void)
{
	CacheRegisterRelcacheCallback(cache_relcache_callback, (Datum) 0);
	RegisterXactCallback(cache_xact_callback, NULL);
}

static void
cache_create(void)
{
	HASHCTL		ctl;

	cache_context = AllocSetContextCreate(CacheMemoryContext,
										  "ecp leader cache",
										  ALLOCSET_SMALL_SIZES);
	memset(&ctl, 0, sizeof(ctl));
	ctl.keysize = sizeof(EcpCacheKey);
	ctl.entrysize = sizeof(EcpCacheEntry);
	ctl.hcxt = cache_context;
	cache_table = hash_create("ecp leader cache", 64, &ctl,
							  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* Allocate hints for the buffers of the children's pages. */
static void
node_make_recent(EcpNode *node)
{
	int			nall = node->nchildren + node->nbuffers;
	uint32		n = 0;

	node->recent_first = palloc(mul_size(nall + 1, sizeof(uint32)));
	for (int i = 0; i < nall; i++)
	{
		node->recent_first[i] = n;
		n += Min(node->children[i].ecpc_npages, ECP_RECENT_PAGES_MAX);
	}
	node->recent_first[nall] = n;
	node->recent = palloc0(mul_size(n, sizeof(Buffer)));
}

/* Where the summaries of the children are. */
static void
node_find_summaries(const EcpGeometry *geo, const EcpRunHeaderData *header,
					EcpNode *node)
{
	if (geo->summary_bytes == 0)
		return;
	node->summary_page = EcpSummaryFirstPage(geo, header);
	node->summary_recent = palloc0(mul_size(header->ecpr_npages - node->summary_page,
											sizeof(Buffer)));
}

/* The leaders of a node as a panel. */
static EcpPanel *
node_make_panel(const EcpIndexState *state, EcpMetric metric,
				const EcpNodeImage *image)
{
	EcpElem		elem = state->meta.ecpm_leader_elem;
	int			dims = state->meta.ecpm_dims;
	int			n = image->nchildren + image->nbuffers;
	EcpPanel   *panel = ecp_panel_init(palloc(ecp_panel_bytes(elem, dims, n)),
									   elem, metric, dims, n);

	for (int i = 0; i < n; i++)
		ecp_panel_set(panel, i, image->leaders + i * image->stride);
	return panel;
}

/* Of fewer elements, bytes would tell neighbouring leaders apart too badly. */
#define ECP_BYTE_LEADERS_DIMS	64

/* Do searches compare bytes in place of the leaders? */
static bool
node_has_bytes(const EcpIndexState *state)
{
	return state->meta.ecpm_leader_elem == ECP_ELEM_FLOAT32 &&
		state->meta.ecpm_dims >= ECP_BYTE_LEADERS_DIMS;
}

/*
 * Bounds of rows with codes follow from the rank of their leader.  Bytes serve if they
 * are off by no more than this share of the squared radii of clusters, a few aside.
 */
#define BYTE_LEADERS_ERROR	0.002
#define BYTE_LEADERS_ASIDE	0.1

/* Compare bytes in place of the leaders of an image, if they serve. */
static void
node_set_bytes(EcpNode *node, const EcpIndexState *state, const EcpNodeImage *image)
{
	int			n = image->nchildren + image->nbuffers;
	float8		error;
	int			aside = 0;

	node->bytes = ecp_byte_panel_create(state->meta.ecpm_dims, n, image->leaders,
										image->stride);
	if (node->bytes == NULL || node->level > 1)
		return;
	error = ecp_byte_panel_error(node->bytes, n, image->leaders, image->stride);
	for (int i = 0; i < image->nchildren; i++)
	{
		float8		radius = image->children[i].ecpc_radius;

		aside += radius > 0 && error > BYTE_LEADERS_ERROR * radius * radius;
	}
	if (aside > BYTE_LEADERS_ASIDE * image->nchildren)
	{
		pfree(node->bytes);
		node->bytes = NULL;
	}
}

void
ecp_node_rank(const EcpNode *node, EcpMetric metric, const void *prepared, int first,
			  int n, float4 *ranks)
{
	if (node->bytes)
		ecp_byte_panel_rank(node->bytes, metric, prepared, first, n, ranks);
	else
		ecp_panel_rank(metric == ECP_METRIC_IP ? node->ip_panel : node->panel,
					   prepared, first, n, ranks);
}

/*
 * Read a node at state's version.  The result is not in the table yet, and
 * belongs to the current memory context.
 */
static EcpCachedNode *
node_read(Relation index, const EcpIndexState *state, const EcpChildData *ref,
		  int level, bool exact)
{
	MemoryContext context;
	MemoryContext old;
	EcpNodeImage *image;
	EcpCachedNode *cached;
	EcpNode    *node;

	/* on error, it is deleted with its parent */
	context = AllocSetContextCreate(CurrentMemoryContext, "ecp node",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);

	image = ecp_node_read(index, state, level, ref->ecpc_blk, ref->ecpc_run,
						  true);

	cached = palloc0(sizeof(EcpCachedNode));
	cached->context = context;
	cached->valid_from = image->valid_from;
	cached->valid_until = image->valid_until;
	node = &cached->node;
	node->blk = ref->ecpc_blk;
	node->run = ref->ecpc_run;
	node->level = level;
	node->sversion = state->meta.ecpm_sversion;
	/* read first: if it is outdated, the node is read again */
	node->change = image->head.header.ecpr_change;
	node->nchildren = image->nchildren;
	node->nbuffers = image->nbuffers;
	node->children = image->children;
	node->slots = image->slots;
	if (!exact && image->nchildren > 0)
		node_set_bytes(node, state, image);
	if (node->bytes == NULL)
		node->panel = node_make_panel(state, ECP_METRIC_L2, image);
	if (node->bytes == NULL && state->meta.ecpm_metric == ECP_METRIC_IP)
		node->ip_panel = node_make_panel(state, ECP_METRIC_IP, image);
	if (level == 1 && node->nbuffers > 0)
		ecp_insbuf_map(&state->meta, image->leaders,
					   image->stride, node->nchildren, node->nbuffers,
					   &node->map);
	if (level == 1)
	{
		node_make_recent(node);
		node_find_summaries(&state->node, &image->head.header, node);
	}
	pfree(image->leaders);
	pfree(image);

	MemoryContextSwitchTo(old);
	cached->bytes = MemoryContextMemAllocated(context, true);
	return cached;
}

/* Are the children of a cached node those that are visible at state's version? */
static bool
node_is_valid(Relation index, const EcpIndexState *state,
			  EcpCachedNode *cached)
{
	EcpNode    *node = &cached->node;
	uint32		sversion = state->meta.ecpm_sversion;
	EcpRun		head;

	if (node->sversion == sversion)
		return true;
	if (sversion < cached->valid_from || sversion >= cached->valid_until)
		return false;
	if (!ecp_run_read(index, state, node->level, node->blk, node->run,
					  InvalidBuffer, &head))
		ecp_report_moved(index, node->blk);
	if (head.header.ecpr_change != node->change)
		return false;
	node->sversion = sversion;
	return true;
}

EcpNode *
ecp_cache_get(Relation index, const EcpIndexState *state,
			  const EcpChildData *ref, int level, bool exact)
{
	EcpCacheKey key;
	EcpCacheEntry *entry;
	EcpCachedNode *cached;

	Assert(level > 0 && level <= state->meta.ecpm_root_level);

	if (cache_table == NULL)
		cache_create();

	key.relid = RelationGetRelid(index);
	key.locator = ecp_relation_locator(index);
	key.run = ref->ecpc_run;
	exact |= !node_has_bytes(state);
	key.exact = exact;

	entry = hash_search(cache_table, &key, HASH_FIND, NULL);
	if (entry != NULL &&
		(entry->cached->node.blk != ref->ecpc_blk ||
		 entry->cached->node.level != level ||
		 !node_is_valid(index, state, entry->cached)))
	{
		cache_detach(entry->cached);
		entry = NULL;
	}

	if (entry != NULL)
	{
		cached = entry->cached;
		if (cached->node.refcount == 0)
		{
			dlist_delete(&cached->list_node);
			dlist_push_head(&cache_used, &cached->list_node);
		}
	}
	else
	{
		bool		found;

		cached = node_read(index, state, ref, level, exact);
		cached->key = key;
		entry = hash_search(cache_table, &key, HASH_ENTER, &found);
		Assert(!found);
		entry->cached = cached;
		cached->attached = true;
		MemoryContextSetParent(cached->context, cache_context);
		dlist_push_head(&cache_used, &cached->list_node);
		cache_bytes += cached->bytes;
	}

	Assert(cached->attached);
	Assert(cached->node.sversion == state->meta.ecpm_sversion);
	Assert(cached->node.sversion >= cached->valid_from &&
		   cached->node.sversion < cached->valid_until);
	cached->node.refcount++;
	cache_pins++;
	cache_trim();
	return &cached->node;
}

void
ecp_cache_release(EcpNode *node)
{
	EcpCachedNode *cached = (EcpCachedNode *) node;

	Assert(node->refcount > 0 && cache_pins > 0);
	node->refcount--;
	cache_pins--;
	if (node->refcount == 0)
		cache_idled(cached);
	cache_trim();
}
