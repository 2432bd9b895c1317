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
 * and freed when the last user releases it.  After an error, the end of the
 * transaction releases all nodes.
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
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_read.h"
#include "ecp/search/ecp_cache.h"
#include "ecp/search/ecp_insbuf_map.h"
#include "lib/ilist.h"
#include "miscadmin.h"
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
} EcpCacheKey;

StaticAssertDecl(sizeof(EcpCacheKey) == 24, "cache key without padding");

typedef struct EcpCachedNode
{
	EcpNode		node;			/* must be first */
	EcpCacheKey key;
	uint32		valid_from;		/* versions that the children serve, while */
	uint32		valid_until;	/* the change counter stands; exclusive end */
	bool		attached;		/* is in the table */
	MemoryContext context;		/* holds everything, this struct too */
	Size		bytes;
	dlist_node	list_node;		/* in cache_nodes */
} EcpCachedNode;

typedef struct EcpCacheEntry
{
	EcpCacheKey key;
	EcpCachedNode *cached;
} EcpCacheEntry;

static HTAB *cache_table = NULL;
static MemoryContext cache_context = NULL;
static dlist_head cache_nodes = DLIST_STATIC_INIT(cache_nodes); /* newest first */
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
	dlist_node *cur;

	if (cache_bytes <= limit)
		return;
	cur = dlist_tail_node(&cache_nodes);
	while (cache_bytes > limit)
	{
		EcpCachedNode *cached = dlist_container(EcpCachedNode, list_node, cur);
		bool		last = !dlist_has_prev(&cache_nodes, cur);

		if (!last)
			cur = dlist_prev_node(&cache_nodes, cur);
		if (cached->node.refcount == 0)
			cache_detach(cached);
		if (last)
			break;
	}
}

static void
cache_relcache_callback(Datum arg, Oid relid)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &cache_nodes)
	{
		EcpCachedNode *cached = dlist_container(EcpCachedNode, list_node,
												iter.cur);

		if (relid == InvalidOid || cached->key.relid == relid)
			cache_detach(cached);
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
	dlist_foreach_modify(iter, &cache_nodes)
	{
		EcpCachedNode *cached = dlist_container(EcpCachedNode, list_node,
												iter.cur);

		cached->node.refcount = 0;
		if (!cached->attached)
			cache_free(cached);
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

/*
 * Pin and share-lock page "pageno" of a node's run, checked.
 */
static Buffer
node_read_buffer(Relation index, const EcpNode *node, int kind, uint32 pageno)
{
	Buffer		buffer;

	if (node->blk + pageno < node->blk ||
		!ecp_block_exists(index, node->blk + pageno))
		ecp_report_corrupt(index, node->blk, "The block of a node is invalid.");

	buffer = ReadBuffer(index, node->blk + pageno);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!ecp_page_check_run(index, buffer, kind, node->run, pageno))
		ecp_report_moved(index, node->blk + pageno);
	return buffer;
}

/* Copy the header of a node's run, checked. */
static void
node_read_header(Relation index, const EcpGeometry *geo, const EcpNode *node,
				 EcpRunHeaderData *header)
{
	Buffer		buffer = node_read_buffer(index, node, ECP_PAGE_ENTRY, 0);

	ecp_run_check_header(index, buffer, geo);
	*header = *EcpPageGetRunHeader(BufferGetPage(buffer));
	UnlockReleaseBuffer(buffer);

	if (header->ecpr_level != node->level ||
		(header->ecpr_flags & ECP_RUN_HEAD) == 0)
		ecp_report_corrupt(index, node->blk,
						   psprintf("A run of level %u was found where level %d was expected.",
									header->ecpr_level, node->level));
}

/* Narrow the range of versions that see the same children as ours. */
static void
node_note_stamp(EcpCachedNode *cached, uint32 sversion, uint32 stamp)
{
	if (stamp <= sversion)
		cached->valid_from = Max(cached->valid_from, stamp);
	else
		cached->valid_until = Min(cached->valid_until, stamp);
}

static void
node_set_leader(EcpNode *node, int i, const void *leader)
{
	ecp_panel_set(node->panel, i, leader);
	if (node->ip_panel)
		ecp_panel_set(node->ip_panel, i, leader);
}

/* Add the children of one entry page; leaders that are on it, too. */
static void
node_read_page(Relation index, const EcpIndexState *state,
			   EcpCachedNode *cached, const EcpRunHeaderData *header,
			   uint32 pageno, void *leader)
{
	const EcpGeometry *geo = &state->node;
	uint32		sversion = state->meta.ecpm_sversion;
	EcpNode    *node = &cached->node;
	uint32		first = pageno * geo->slots;
	uint32		nslots = Min(geo->slots, header->ecpr_nslots - first);
	Buffer		buffer;
	EcpEntryView view;

	buffer = node_read_buffer(index, node, ECP_PAGE_ENTRY, pageno);
	ecp_entry_view(BufferGetPage(buffer), geo, node->level, &view);
	for (uint32 slot = 0; slot < nslots; slot++)
	{
		EcpChild	child = &view.children[slot];

		if (!EcpSlotIsLive(&view, slot))
			continue;
		node_note_stamp(cached, sversion, child->ecpc_vfrom);
		node_note_stamp(cached, sversion, child->ecpc_vto);
		if (!EcpChildIsVisible(child, sversion))
			continue;

		node->children[node->nchildren] = *child;
		node->slots[node->nchildren] = first + slot;
		if (!geo->stream)
		{
			ecp_entry_get_vector(geo, &view, slot, leader);
			node_set_leader(node, node->nchildren, leader);
		}
		node->nchildren++;
		if (child->ecpc_flags & ECP_CHILD_BUFFER)
			node->nbuffers++;
	}
	UnlockReleaseBuffer(buffer);
}

/* Copy the vector of a slot out of the vector part of a node. */
static void
node_read_vector(Relation index, const EcpGeometry *geo, const EcpNode *node,
				 uint32 entry_pages, uint32 slot, char *vector)
{
	ecp_stream_foreach(part, geo, entry_pages, slot)
	{
		Buffer		buffer = node_read_buffer(index, node, ECP_PAGE_VECTOR,
											  part.pageno);

		memcpy(vector + part.done,
			   EcpPageGetStream(BufferGetPage(buffer)) + part.offset,
			   part.bytes);
		UnlockReleaseBuffer(buffer);
	}
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

/*
 * Move the buffers behind the children, both in the order of slots, and find
 * out which takes the rows of which.
 */
static void
node_order_buffers(const EcpIndexState *state, EcpNode *node)
{
	int			n = node->nchildren;
	Size		stride = MAXALIGN(state->node.vec_bytes);
	char	   *leaders = palloc_extended(add_size(mul_size(n, stride), 64),
										  MCXT_ALLOC_HUGE);
	EcpChildData *children = palloc(n * sizeof(EcpChildData));
	uint32	   *slots = palloc(n * sizeof(uint32));
	int		   *places = ecp_children_order(node->children, n, node->nbuffers);

	Assert(node->level == 1 && node->nbuffers > 0 && node->nbuffers <= n);

	for (int i = 0; i < n; i++)
	{
		int			to = places[i];

		children[to] = node->children[i];
		slots[to] = node->slots[i];
		ecp_panel_get(node->panel, i, leaders + to * stride);
	}
	for (int i = 0; i < n; i++)
		node_set_leader(node, i, leaders + i * stride);
	pfree(places);
	pfree(node->children);
	pfree(node->slots);
	node->children = children;
	node->slots = slots;
	node->nchildren = n - node->nbuffers;
	ecp_insbuf_map(&state->meta, children, leaders, stride, node->nchildren,
				   node->nbuffers, &node->map);
	pfree(leaders);
}

static EcpPanel *
node_make_panel(const EcpIndexState *state, EcpMetric metric, int capacity)
{
	EcpElem		elem = state->meta.ecpm_leader_elem;
	int			dims = state->meta.ecpm_dims;

	return ecp_panel_init(palloc(ecp_panel_bytes(elem, dims, capacity)),
						  elem, metric, dims, capacity);
}

/*
 * Read a node at state's version.  The result is not in the table yet, and
 * belongs to the current memory context.
 */
static EcpCachedNode *
node_read(Relation index, const EcpIndexState *state, const EcpChildData *ref,
		  int level)
{
	const EcpGeometry *geo = &state->node;
	MemoryContext context;
	MemoryContext old;
	EcpRunHeaderData header;
	EcpCachedNode *cached;
	EcpNode    *node;
	char	   *leader;

	/* on error, it is deleted with its parent */
	context = AllocSetContextCreate(CurrentMemoryContext, "ecp node",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);

	cached = palloc0(sizeof(EcpCachedNode));
	cached->context = context;
	cached->valid_until = ECP_V_NONE;
	node = &cached->node;
	node->blk = ref->ecpc_blk;
	node->run = ref->ecpc_run;
	node->level = level;
	node->sversion = state->meta.ecpm_sversion;

	/* the counter first: if it is outdated, the node is read again */
	node_read_header(index, geo, node, &header);
	node->change = header.ecpr_change;
	node->children = palloc(mul_size(header.ecpr_nslots, sizeof(EcpChildData)));
	node->slots = palloc(mul_size(header.ecpr_nslots, sizeof(uint32)));
	node->panel = node_make_panel(state, ECP_METRIC_L2, header.ecpr_nslots);
	if (state->meta.ecpm_metric == ECP_METRIC_IP)
		node->ip_panel = node_make_panel(state, ECP_METRIC_IP,
										 header.ecpr_nslots);

	leader = palloc(geo->vec_bytes);
	for (uint32 pageno = 0; pageno < header.ecpr_hw_page; pageno++)
	{
		CHECK_FOR_INTERRUPTS();
		node_read_page(index, state, cached, &header, pageno, leader);
	}
	if (geo->stream)
	{
		for (int i = 0; i < node->nchildren; i++)
		{
			CHECK_FOR_INTERRUPTS();
			node_read_vector(index, geo, node, header.ecpr_entry_pages,
							 node->slots[i], leader);
			node_set_leader(node, i, leader);
		}
	}
	pfree(leader);
	if (level == 1 && node->nbuffers > 0)
		node_order_buffers(state, node);
	if (level == 1)
		node_make_recent(node);

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
	EcpRunHeaderData header;

	if (node->sversion == sversion)
		return true;
	if (sversion < cached->valid_from || sversion >= cached->valid_until)
		return false;
	node_read_header(index, &state->node, node, &header);
	if (header.ecpr_change != node->change)
		return false;
	node->sversion = sversion;
	return true;
}

EcpNode *
ecp_node_get(Relation index, const EcpIndexState *state,
			 const EcpChildData *ref, int level)
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
		dlist_move_head(&cache_nodes, &cached->list_node);
	}
	else
	{
		bool		found;

		cached = node_read(index, state, ref, level);
		cached->key = key;
		entry = hash_search(cache_table, &key, HASH_ENTER, &found);
		Assert(!found);
		entry->cached = cached;
		cached->attached = true;
		MemoryContextSetParent(cached->context, cache_context);
		dlist_push_head(&cache_nodes, &cached->list_node);
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
ecp_node_release(EcpNode *node)
{
	EcpCachedNode *cached = (EcpCachedNode *) node;

	Assert(node->refcount > 0 && cache_pins > 0);
	node->refcount--;
	cache_pins--;
	if (node->refcount == 0 && !cached->attached)
		cache_free(cached);
	else
		cache_trim();
}
