/*-------------------------------------------------------------------------
 *
 * ecp.h
 *	  Private header of the ecp access method: options, structures shared by
 *	  its files, and prototypes grouped by file in the direction of the
 *	  data's way.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_H
#define ECP_H

#include "access/amapi.h"
#include "access/genam.h"
#include "access/generic_xlog.h"
#include "access/reloptions.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"

#include "base/compat.h"
#include "base/user_index.h"
#include "ecp/page/ecp_page.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Support function 1 of an opclass: form and metric (see below). */
#define ECP_DISTANCE_STRATEGY	1
#define ECP_RADIUS_STRATEGY		2	/* search: within (query, radius) */
#define ECP_CLASS_PROC			1
#define ECP_NPROC				1

/*
 * What an opclass says of its column, returned by its support function 1
 * (internal) returns int4, as form * 256 + metric.
 */
#define EcpClassCode(form, metric)	((form) * 256 + (metric))
#define EcpClassForm(code)			((EcpForm) ((code) / 256))
#define EcpClassMetric(code)		((EcpMetric) ((code) % 256))

/* ---- options: ecp_options.c ---- */

typedef enum EcpLeadersKind
{
	ECP_LEADERS_KMEANS,
	ECP_LEADERS_RANDOM
} EcpLeadersKind;

typedef enum EcpBuildPolicy
{
	ECP_POLICY_AUTO,
	ECP_POLICY_CHUNKFILES,
	ECP_POLICY_TEMPFILES
} EcpBuildPolicy;

typedef enum EcpIterativeScan
{
	ECP_ITERATIVE_OFF,
	ECP_ITERATIVE_STRICT,
	ECP_ITERATIVE_RELAXED
} EcpIterativeScan;

#define ECP_BUFFER_ROWS_DEFAULT		0	/* no buffers */
#define ECP_BUFFER_ROWS_MAX			10000
#define ECP_CLUSTER_SIZE_MIN		1	/* kB */
#define ECP_CLUSTER_SIZE_MAX		8192
#define ECP_CLUSTER_SIZE_DEFAULT	0	/* kB; 0 = about ECP_CLUSTER_ROWS rows */
#define ECP_CLUSTER_ROWS			128 /* rows of a cluster by default */
#define ECP_INCLUDE_WIDTH_MIN		4	/* bytes */
/* what the bits of NULLs leave to a single column */
#define ECP_INCLUDE_WIDTH_MAX		(ECP_INCLUDE_BYTES_MAX - 1)
#define ECP_INCLUDE_WIDTH_DEFAULT	40	/* a UUID as text */
#define ECP_LEVELS_MAX				5
#define ECP_SEED_DEFAULT			1
#define ECP_SAMPLE_FACTOR_MIN		8
#define ECP_SAMPLE_FACTOR_MAX		256
#define ECP_SAMPLE_FACTOR_DEFAULT	0	/* 0 = chosen by the build */
#define ECP_PROBES_MAX				1000000
#define ECP_TARGET_RECALL_DEFAULT	0.95

/* Reloptions: what a build is asked for; used values are in the metapage. */
typedef struct EcpOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			dims;			/* 0 = from the data */
	int			cluster_size;	/* kB that a probe reads; 0 = by rows */
	int			levels;			/* 0 = by number of leaders */
	int			leaders;		/* EcpLeadersKind */
	int			seed;
	int			sample_factor;	/* rows sampled a leader */
	int			quantizer;		/* EcpQuantizer */
	int			buffer_rows;	/* that wait for each cluster; 0 = none */
	int			include_width;	/* bytes of a value of variable length */
	double		target_recall;
} EcpOptions;

extern void ecp_options_init(void);
extern bytea *ecpoptions(Datum reloptions, bool validate);
extern EcpOptions ecp_options_get(Relation index);	/* with defaults */

extern int	ecp_probes;			/* 0 = by the target of recall */
extern double ecp_target_recall;	/* 0 = the index's */
extern bool ecp_early_stop;
extern bool ecp_approximate_radius; /* without ORDER BY and LIMIT */
extern int	ecp_iterative_scan; /* EcpIterativeScan */
extern int	ecp_max_scan_tuples;	/* -1 = no limit */
extern int	ecp_prefetch;		/* clusters; -1 = effective_io_concurrency */
extern int	ecp_leader_cache_kb;
extern int	ecp_in_buff_kb;
extern int	ecp_build_policy;	/* EcpBuildPolicy */
extern char *ecp_build_tablespaces;
extern bool ecp_insert_split;

/* ---- handler and validation ---- */

extern const EcpIndexKind ecp_index_kind;

extern bool ecpvalidate(Oid opclassoid);
extern void ecp_class_get(Relation index, EcpForm *form, EcpMetric *metric);

/* ---- ecp_build.c and its followers (BUILD) ---- */

extern IndexBuildResult *ecpbuild(Relation heap, Relation index,
								  IndexInfo *indexInfo);
extern void ecpbuildempty(Relation index);
extern char *ecpbuildphasename(int64 phasenum);

/* ---- ecp_assign.c (BUILD, INSERT and SEARCH) ---- */

/*
 * The form of a column's vector in which it is compared with leaders: the
 * element kind is meta.ecpm_leader_elem; cosine is made unit length.  dst
 * has room for dims elements of that kind.  Returns false for a vector that
 * is not indexed (zero norm under cosine).
 */
extern bool ecp_prepare(const EcpMetaPageData *meta, const EcpVector *vector,
						void *dst);
extern uint8 ecp_leader_elem_for(EcpElem elem, EcpMetric metric);

/* A cluster that a descent found. */
typedef struct EcpClusterRef
{
	EcpChildData child;			/* head of the cluster */
	float4		rank;			/* of its leader */
	bool		is_buffer;		/* one that the cluster before it calls for */
	uint64		bins;			/* whose rows are wanted of a buffer */
	int		   *place;			/* of a buffer: see EcpBufferTaken */
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
 * A cluster is followed by its buffer, if the buffer has rows for it that were
 * not read before; that does not count as one of those wanted.
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
extern bool ecp_descent_next(EcpDescent *descent, EcpClusterRef *cluster);

/* Is what ecp_descent_next() gives next a buffer? */
extern bool ecp_descent_at_buffer(const EcpDescent *descent);

/* From the beginning on, give each buffer once, with all of its rows. */
extern void ecp_descent_set_whole(EcpDescent *descent);
extern void ecp_descent_end(EcpDescent *descent);

/* ---- ecp_cache.c (INSERT and SEARCH) ---- */

/*
 * Which buffer of a node takes the rows of which cluster (ecp_buffer.c): that
 * with the nearest leader.  A buffer without clusters follows another one.
 */
typedef struct EcpBufferMap
{
	int32	   *buffer_of;		/* each child */
	int32	   *nmembers;		/* children of each buffer */
	int32	   *next;			/* of each buffer, one that follows it, or -1 */
	int32	   *keeper;			/* of a buffer without clusters: the nearest */
	uint64	   *bins;			/* of the children of each buffer */
} EcpBufferMap;

/* What a search has taken of a buffer. */
typedef struct EcpBufferTaken
{
	uint64		bins;			/* whose rows */
	int			place;			/* a number that the taker keeps here */
} EcpBufferTaken;

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
	EcpBufferMap map;			/* if there are buffers */

	/*
	 * Where pages of the children were found in shared buffers: those of
	 * child i from recent[recent_first[i]] on, as many as up to the next
	 * child's.  A hint that the scan keeps here; InvalidBuffer = not known.
	 * NULL above level 1.
	 */
	Buffer	   *recent;
	uint32	   *recent_first;
	EcpPanel   *panel;			/* their leaders, metric L2 */
	EcpPanel   *ip_panel;		/* the same ranked by IP, or NULL */
	int			refcount;
} EcpNode;

/*
 * The children of a node that are visible at state's version.  Returned
 * pinned (refcount); release with ecp_node_release().  Pins are forgotten
 * at the end of the transaction.  The cache lives as long as the backend,
 * keyed by index file and run, bounded by ecp.leader_cache.
 */
extern EcpNode *ecp_node_get(Relation index, const EcpIndexState *state,
							 const EcpChildData *ref, int level);
extern void ecp_node_release(EcpNode *node);
extern void ecp_cache_init(void);

/* ---- ecp_buffer.c (INSERT and SEARCH) ---- */

extern int *ecp_children_order(const EcpChildData *children, int n,
							   int nbuffers);
extern void ecp_buffer_map(const EcpMetaPageData *meta,
						   const EcpChildData *children, const char *leaders,
						   Size stride, int nchildren, int nbuffers,
						   EcpBufferMap *map);
extern uint64 ecp_buffer_take(const EcpIndexState *state,
							  const EcpNode *node, uint32 child,
							  EcpBufferTaken *taken);

/* ---- ecp_scan.c, ecp_search.c (SEARCH) ---- */

/*
 * Probes by the settings: ecp.probes, or what the target of recall takes
 * (ecp_target.c).
 */
extern int	ecp_default_probes(Relation index, const EcpMetaPageData *meta);

/* The same when only a share of the rows fulfils the scan's conditions. */
extern double ecp_filter_probes(double probes, double share,
								double cluster_rows);

/* Rows read for each one returned, before more clusters are read. */
#define ECP_SEARCH_AHEAD		8

extern IndexScanDesc ecpbeginscan(Relation index, int nkeys, int norderbys);
extern void ecprescan(IndexScanDesc scan, ScanKey keys, int nkeys,
					  ScanKey orderbys, int norderbys);
extern bool ecpgettuple(IndexScanDesc scan, ScanDirection dir);
extern void ecpendscan(IndexScanDesc scan);
extern void ecp_tid_from_item(Relation index, uint64 item, ItemPointer tid);
extern void ecp_check_tid(Relation index, Relation heap,
						  const ItemPointerData *tid,
						  BlockNumber *heap_blocks);

/* ---- ecp_explain.c ---- */

#ifdef ECP_HAVE_EXPLAIN_HOOK
extern void ecp_explain_init(void);
#else
#define ecp_explain_init()	((void) 0)
#endif

/* ---- ecp_include.c ---- */

extern bool ecpcanreturn(Relation index, int attno);

/* ---- ecp_path.c ---- */

extern void ecp_path_init(void);

/* ---- ecp_cost.c ---- */

extern bool ecpproperty(Oid index_oid, int attno, IndexAMProperty prop,
						const char *propname, bool *res, bool *isnull);
extern void ecpcostestimate(PlannerInfo *root, IndexPath *path,
							double loop_count, Cost *startup, Cost *total,
							Selectivity *selectivity, double *correlation,
							double *pages);

/* What a distance costs that the executor computes from a row of the table. */
typedef struct EcpDistanceCost
{
	Cost		cpu;
	double		vector_pages;	/* pages of the TOAST table a vector */
	double		toast_pages;	/* all of them; 0: vectors are in the rows */
	double		random_page_cost;
	double		seq_page_cost;
} EcpDistanceCost;

extern List *ecp_cost_filters(const IndexOptInfo *index, List *indexclauses);
extern void ecp_cost_distance(const IndexOptInfo *index, Oid relid,
							  EcpDistanceCost *cost);
extern Cost ecp_cost_distances(PlannerInfo *root, const EcpDistanceCost *cost,
							   const Path *path, double count);
extern void ecp_cost_fetch(PlannerInfo *root, IndexPath *path);
extern void ecp_cost_partial(PlannerInfo *root, IndexPath *path);

/* ---- ecp_insert.c (INSERT) ---- */

extern bool ecpinsert(Relation index, Datum *values, bool *isnull,
					  ItemPointer heap_tid, Relation heap,
					  IndexUniqueCheck checkUnique, bool indexUnchanged,
					  IndexInfo *indexInfo);

/* ---- ecp_space.c: the block map and the first touch of pages ---- */

/*
 * Allocate npages contiguous blocks within one map page (first fit from the
 * hint) in a generic record that the caller has started and in which it has
 * registered the metapage; see the README, "WAL".
 */

/*
 * Return "blk" of the main fork, exclusively locked and to be initialised by
 * the caller with a full image: extends the relation when it is too short
 * (under the extension lock), never reads the old bytes.
 */
extern Buffer ecp_space_new_buffer(Relation index, BlockNumber blk);

/* ---- ecp_maintain.c ---- */

/* ---- ecp_vacuum.c ---- */

extern IndexBulkDeleteResult *ecpbulkdelete(IndexVacuumInfo *info,
											IndexBulkDeleteResult *stats,
											IndexBulkDeleteCallback callback,
											void *callback_state);
extern IndexBulkDeleteResult *ecpvacuumcleanup(IndexVacuumInfo *info,
											   IndexBulkDeleteResult *stats);

#endif							/* ECP_H */
