/*-------------------------------------------------------------------------
 *
 * ecp_probe.h
 *	  From a query to pages: the cache of nodes, the order of clusters, their pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_PROBE_H
#define ECP_PROBE_H

#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "utils/snapshot.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"

/* ecp_cache.c: nodes of the leader tree, cached by the backend */

/* A node of the leader tree, copied from its pages into a panel. */
typedef struct EcpNode
{
	BlockNumber blk;			/* head page */
	uint64		run;
	uint32		change;			/* of the head when it was read */
	uint32		sversion;		/* version for which children were chosen */
	int			level;
	int			nchildren;
	int			nbuffers;		/* in the same arrays, behind the children */
	EcpChildData *children;
	uint32	   *slots;			/* slot of each child within the run */
	EcpInsbufMap map;			/* if there are buffers */

	/*
	 * Where pages of the children were found in shared buffers: those of
	 * child i from recent[recent_first[i]] on, as many as up to the next
	 * child's.  A hint that the scan keeps here; InvalidBuffer = not known.
	 * NULL above level 1.
	 */
	Buffer	   *recent;
	uint32	   *recent_first;
	uint32		summary_page;	/* of the run: the first with summaries */
	Buffer	   *summary_recent; /* the same hint for each of these, or NULL */
	EcpBytePanel *bytes;		/* their leaders, for searches only; or */
	EcpPanel   *panel;			/* as they are, metric L2, */
	EcpPanel   *ip_panel;		/* and the same ranked by IP, or NULL */
	int			refcount;
} EcpNode;

/*
 * The children of a node that are visible at state's version.  Returned
 * pinned (refcount); release with ecp_cache_release().  Pins are forgotten
 * at the end of the transaction.  The cache lives as long as the backend,
 * keyed by index file and run, bounded by ecp.leader_cache.  Unless "exact", the leaders
 * may be bytes, and then there is no panel.
 */
extern EcpNode *ecp_cache_get(Relation index, const EcpIndexState *state,
							  const EcpChildData *ref, int level, bool exact);

/* Ranks of leaders first .. first + n - 1 of a node, by IP or by L2; see ecp_panel_rank(). */
extern void ecp_node_rank(const EcpNode *node, EcpMetric metric, const void *prepared,
						  int first, int n, float4 *ranks);
extern void ecp_cache_release(EcpNode *node);
extern void ecp_cache_init(void);

/* ecp_descent.c: clusters in order of promise */

/* A cluster that a descent found. */
typedef struct EcpClusterRef
{
	EcpChildData child;			/* head of the cluster */
	float4		rank;			/* of its leader */
	bool		is_buffer;		/* an insert buffer, of the cluster before */
	bool		skip;			/* it has no row that counts: ecp_probe.c */
	/* where its leader stands, for maintenance: valid at the same version */
	BlockNumber parent_blk;		/* head of the parent node, Invalid = root */
	uint64		parent_run;
	uint32		parent_slot;	/* slot within the parent's run */
	/* and in memory, until the descent ends; NULL = root */
	const EcpPanel *panel;
	uint32		panel_child;
	const struct EcpNode *parent;
	/* buffers of the head run's first pages, as last seen: see EcpNode */
	Buffer	   *recent;
	int			nrecent;
} EcpClusterRef;

/*
 * Clusters of structure version state->meta.ecpm_sversion in order of
 * promise, from best-first search over the nodes with a beam that follows
 * the number of clusters asked for (at least 40 leaders are compared for
 * each cluster returned); all clusters come out in the end, each once.
 * A cluster is followed by its insert buffer if that may have rows for it that
 * were not returned before; buffers are not counted in "expected".
 *
 * Uses the leader cache; no lock and no pin is held between calls.
 * "prepared" is the query as ecp_prepare() gives it (copied).  For IP the
 * leaders are ranked by the inner product, else by L2; "assigning" ranks by
 * L2 always (build, insert, split).
 */
typedef struct EcpDescent EcpDescent;

extern EcpDescent *ecp_descent_begin(Relation index,
									 const EcpIndexState *state,
									 const void *prepared, bool assigning,
									 int expected);

/* The first n clusters will be taken; called before that, for speed only. */
extern void ecp_descent_set_ahead(EcpDescent *descent, int n);
extern bool ecp_descent_next(EcpDescent *descent, EcpClusterRef *cluster);

/*
 * Descend to the cluster that a row belongs to, whose parent stays valid until
 * ecp_descent_end().  The root is a node.
 */
extern EcpDescent *ecp_descent_nearest(Relation index,
									   const EcpIndexState *state,
									   const void *prepared,
									   EcpClusterRef *cluster);

/* Will ecp_descent_next() return an insert buffer? */
extern bool ecp_descent_at_buffer(const EcpDescent *descent);

extern void ecp_descent_end(EcpDescent *descent);

/* Clusters taken from the descent at a time. */
#define ECP_PROBE_REFS			4096

/* The run that is being read. */
typedef struct EcpProbeRun
{
	BlockNumber blk;
	uint64		run;
	Buffer	   *recent;			/* hints for its first pages */
	int			nrecent;
	EcpRunHeaderData header;
} EcpProbeRun;

/*
 * Called with page_arg and each initialised entry page of a cluster, pinned
 * and share-locked in "buffer", which the callback releases.  Slots first ..
 * first + n - 1 of the run are on the page; later ones are not live, and n may
 * be 0.  At least ECP_KERNEL_SLACK bytes behind the page may be read.
 */
typedef void (*EcpProbePage) (void *arg, const EcpProbeRun *run,
							  Buffer buffer, const EcpEntryView *view,
							  uint32 first, int n);

/*
 * A reader of clusters.  The caller sets the fields up to "page_arg" and calls
 * ecp_probe_init().
 */
typedef struct EcpProbe
{
	Relation	index;
	const EcpIndexState *state; /* the version to read */
	Snapshot	snapshot;
	EcpProbePage page;			/* the callback */
	void	   *page_arg;
	const EcpClusterRef *ref;	/* cluster that is being read */
	uint64		clusters;		/* figures: read, or skipped */
	uint64		skipped;		/* of them, without a match by their summaries */
	uint64		pages;

	/* clusters to read, up to next_ref done */
	EcpClusterRef *refs;
	int			refs_max;
	int			nrefs;
	int			next_ref;
	int			prefetched;		/* refs prefetched */
	int			sure;			/* those before it will be read */
	int			asked;			/* those before it, their summaries */
	int			warm_ref;		/* where probe_warm() is */
	int			warm_page;
	bool		whole;			/* lower parts of rows will be read, too */
	bool		keys;			/* key attributes will be read */
	bool		sparse;			/* and decide that few vectors are */
	const EcpSummaryTest *summary;	/* what clusters must have then, or NULL */
	int			prefetch;		/* how many ahead; 0 = off */
	char	   *page_copy;		/* of a temporary table's page, or NULL */
} EcpProbe;

extern void ecp_probe_init(EcpProbe *probe);
extern EcpClusterRef *ecp_probe_room(EcpProbe *probe, int n);
extern void ecp_probe_added(EcpProbe *probe, int n);
extern int	ecp_probe_take(EcpProbe *probe, EcpDescent *descent, uint64 n);
extern void ecp_probe_prefetch(Relation index, BlockNumber blk,
							   uint32 npages);
extern bool ecp_probe_rules_out(Relation index, const EcpIndexState *state,
								Snapshot snapshot, const EcpSummaryTest *test,
								const EcpClusterRef *ref);
extern uint32 ecp_probe_next(EcpProbe *probe);
extern void ecp_probe_pause(EcpProbe *probe);
extern bool ecp_probe_is_cold(void);
extern Buffer ecp_probe_buffer(EcpProbe *probe, const EcpProbeRun *run,
							   int kind, uint32 pageno, Page *page);

/* ecp_near.c: rows of a page compared with a query */

/* A query, by what an index has of the vectors of rows. */
typedef struct EcpPageQuery
{
	const EcpIndexState *state;
	const EcpQuery *exact;
	const EcpCodeQuery *codes;	/* or NULL: rows have exact vectors, */
	const EcpNibblesQuery *nibbles; /* or this: codes of four bits are all */
} EcpPageQuery;

/* Where to put what is found; room for whole words of slots. */
typedef struct EcpNear
{
	uint64	   *words;			/* slots that are not above the limit */
	float8	   *ranks;			/* or lower bounds of them */
	float8	   *estimates;		/* of nibbles, or from levels */
	const char *levels;			/* of the slots, if they are at hand */
	const uint32 *const *factors;	/* with codes but no levels, by which and
									 * the */
	EcpCodeMargin margin;		/* margin estimates follow from bounds */
} EcpNear;

/* With codes: bounds of the word that begins with this slot. */
#define EcpNearBounds(near, slot)	((float4 *) ((near)->ranks + (slot)))

/* Of n <= 64 slots from "from" on, those that are not above a limit. */
static inline uint64
ecp_near_passed(const EcpPageQuery *query, const EcpNear *near, int from, int n,
				float8 limit)
{
	return query->codes ? ecp_bounds_passed(EcpNearBounds(near, from), n, limit) :
		ecp_ranks_passed(near->ranks + from, n, limit);
}

/*
 * Compare the live ones of the first n slots of a page with a query.  Returns the words
 * of those that are not above the limit, which have ranks; with bounds, or ranks that
 * are estimates, a few others may be among them.  Only codes need the rank of the
 * cluster's leader.
 */
extern const uint64 *ecp_page_near(const EcpPageQuery *query, const EcpEntryView *view,
								   float4 leader_rank, const uint64 *live, int n,
								   float8 limit, EcpNear *near);

/* The estimate of a slot's rank, of which this is the bound, or the rank itself. */
static inline float8
ecp_near_estimate(const EcpPageQuery *query, const EcpNear *near, int slot, float8 bound)
{
	if (query->codes && near->factors)
		return ecp_code_estimate(near->margin, near->factors, slot, bound);
	return query->codes || query->nibbles ? near->estimates[slot] : bound;
}

/*
 * Levels are on pages of their own.  Of n slots, the first of which is "first" of a run,
 * the bounds of some are refined, or the levels of the live ones copied, for EcpNear.
 */
extern void ecp_levels_near(EcpProbe *probe, const EcpPageQuery *query,
							const EcpProbeRun *run, uint32 first, float4 leader_rank,
							const uint64 *words, int n, EcpNear *near);
extern void ecp_levels_copy(EcpProbe *probe, const EcpProbeRun *run, uint32 first,
							const uint64 *live, int n, char *levels);

/* Some queries that exact vectors are compared with: each has a limit, and room. */
typedef struct EcpPageQueries
{
	const EcpIndexState *state;
	int			n;
	const EcpQuery **exact;
	float8	   *limits;
	EcpNear    *near;			/* words and ranks are set */
} EcpPageQueries;

/* At most ECP_PASS_QUERIES; in COLUMNS, the bytes of a row are read once for all. */
extern void ecp_page_near_queries(EcpPageQueries *queries, const EcpEntryView *view,
								  const uint64 *live, int n);

/* What an entry page has of its rows, while their vectors are read from others. */
typedef struct EcpVectorPart
{
	uint64	   *live;
	ItemPointerData *tids;
	uint32	   *factors[ECP_FACTORS_MAX];
	char	   *vector;			/* one that spans pages */
	char	   *page;			/* a copy */
} EcpVectorPart;

extern EcpVectorPart *ecp_vector_part_create(const EcpGeometry *geo);
extern void ecp_vector_part_set(EcpVectorPart *part, const EcpGeometry *geo,
								const EcpEntryView *view, const uint64 *live, int n);

/*
 * Compare n slots from "from" on, a multiple of 64, of the part, whose first slot is
 * "first" of the run, with some queries.  No page is locked; each is read once.
 */
extern void ecp_vector_part_near(EcpProbe *probe, EcpPageQueries *queries,
								 const EcpVectorPart *part, const EcpProbeRun *run,
								 uint32 first, int from, int n);

/* Clusters and buffers taken and not read yet; is a buffer the next? */
#define EcpProbeWaiting(probe)	((probe)->nrefs - (probe)->next_ref)
#define EcpProbeAtBuffer(probe) \
	(EcpProbeWaiting(probe) > 0 && (probe)->refs[(probe)->next_ref].is_buffer)

#endif							/* ECP_PROBE_H */
