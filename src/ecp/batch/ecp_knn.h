/*-------------------------------------------------------------------------
 *
 * ecp_knn.h
 *	  Batches of queries.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_KNN_H
#define ECP_KNN_H

#include "access/skey.h"
#include "access/tableam.h"
#include "base/team.h"
#include "base/topk.h"
#include "base/user_index.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_scan.h"
#include "ecp/search/ecp_stop.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "nodes/plannodes.h"
#include "port/atomics.h"
#include "storage/bufmgr.h"
#include "storage/spin.h"
#include "utils/array.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"
#include "utils/tuplestore.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"

/* ecp_user_table.c: an index together with its table, for SQL functions */

/* What evaluates what an index has of a row. */
typedef struct EcpUserTableRows
{
	EcpCaller	caller;
	IndexInfo  *info;
	EState	   *estate;
	ExprState  *predicate;
	TupleTableSlot *slot;		/* for the row */
} EcpUserTableRows;

/*
 * Called with each row that the index has, or should have: its TID and what
 * is indexed, which is not NULL.  The memory context is reset after each.
 */
typedef void (*EcpUserTableVisitor) (const ItemPointerData *tid, Datum value,
									 void *arg);

extern void ecp_user_table_rows_begin(EcpUserTableRows *rows, Relation heap,
									  Relation index);
extern bool ecp_user_table_row_value(EcpUserTableRows *rows, Datum *value);

/*
 * The distance of the row in rows->slot from a query, as the operator returns it;
 * false if the index does not have the row.  "query" are the query's elements.
 */
extern bool ecp_user_table_row_distance(EcpUserTableRows *rows, Relation index,
										const EcpMetaPageData *meta,
										const void *query, float8 *distance);
extern void ecp_user_table_rows_end(EcpUserTableRows *rows);
extern void ecp_user_table_scan(Relation heap, Relation index, TableScanDesc scan,
								EcpUserTableVisitor visitor, void *arg);
extern void ecp_user_table_fetch(Relation heap, Relation index, Snapshot snapshot,
								 const ItemPointerData *tids, int ntids,
								 EcpUserTableVisitor visitor, void *arg);

/* Vectors of rows, gathered as kernels compare them. */
typedef struct EcpUserTableVectors
{
	int			max;
	int			n;
	Size		stride;
	char	   *vectors;
	uint32	   *factors[ECP_FACTORS_MAX];
	void	   *prepared;		/* scratch for ecp_prepare() */
} EcpUserTableVectors;

/* Room for "max" vectors, in the current memory context. */
extern void ecp_user_table_vectors_init(EcpUserTableVectors *vectors,
										const EcpIndexState *state, int max);

/* Add what is indexed of a row, if there is room; false if the index leaves it out. */
extern bool ecp_user_table_vectors_add(EcpUserTableVectors *vectors, Relation index,
									   const EcpMetaPageData *meta, Datum value);

/* A column that a user names, as SELECT would find it: also a system column. */
typedef struct EcpUserColumn
{
	AttrNumber	attnum;
	Oid			type;
	Oid			collation;
} EcpUserColumn;

extern void ecp_user_table_column(Relation heap, const char *name,
								  EcpUserColumn *column);
extern Datum ecp_user_table_column_value(const EcpUserColumn *column,
										 TupleTableSlot *slot, bool *isnull);

/*
 * The function that makes vectors of the index out of values of a type;
 * InvalidOid if they are vectors of the index.  It is an error if there is no
 * such function, or, if "missing_ok", InvalidOid too.
 */
extern Oid	ecp_user_table_conversion(Relation index, Oid type, bool missing_ok);

/*
 * ecp_group.c: groups of a table's rows: those with the same value in a column.
 */

/* The groups that have been met, which are numbered from 0 on. */
typedef struct EcpRowGroups
{
	EcpUserColumn column;
	FmgrInfo	hash;			/* fn_oid is InvalidOid if the type has none */
	FmgrInfo	equal;
	int16		typlen;
	bool		typbyval;
	uint32		n;
	struct groups_hash *table;
	MemoryContext context;		/* of the groups' values */
	MemoryContext row_context;	/* of one row */
} EcpRowGroups;

extern void ecp_group_init(EcpRowGroups *groups, EcpUserColumn column);

/*
 * The number of the group of the row in a slot, which is added if it has not been met.
 * Rows whose value is NULL are one group.
 */
extern uint32 ecp_group_number(EcpRowGroups *groups, TupleTableSlot *slot);

/* The row that a group is told by, and the group's distance. */
typedef struct EcpGroupRow
{
	float8		distance;
	ItemPointerData tid;
} EcpGroupRow;

/* In ascending order of distance. */
extern void ecp_group_rows_sort(EcpGroupRow *rows, size_t n);

/* Sort n rows, and add at most k to the result: rank, TID and distance. */
extern void ecp_group_rows_return(ReturnSetInfo *rsinfo, EcpGroupRow *rows, int n,
								  int k);

/* ecp_sweep.c: blocks of a relation that is not in memory, read in ascending order */

typedef struct EcpSweepRange
{
	BlockNumber blk;
	uint32		npages;
} EcpSweepRange;

typedef struct EcpSweep
{
	Relation	rel;
	BufferAccessStrategy strategy;	/* for blocks between those wanted */
	BlockNumber gap;			/* blocks to read rather than to skip */
	int			distance;		/* ranges to prefetch */
	const EcpSweepRange *ranges;
	Size		n;
	Size		next;			/* to be read */
	Size		ahead;			/* to be prefetched, or not */
	BlockNumber end;			/* behind the range before */
} EcpSweep;

extern void ecp_sweep_init(EcpSweep *sweep, Relation rel);

/* The next n ranges, which stay where they are. */
extern void ecp_sweep_set(EcpSweep *sweep, const EcpSweepRange *ranges, Size n);

/*
 * The range that the caller reads next.  If pages are being read from the device
 * ("cold"), what lies before it is read where that costs less than a seek, and ranges
 * behind other gaps are prefetched.
 */
extern const EcpSweepRange *ecp_sweep_next(EcpSweep *sweep, bool cold);

extern void ecp_sweep_read(Relation rel, EcpSweepRange *ranges, Size n);

/*
 * ecp_knn.c: many queries at once: what batches through an index and comparisons with a whole table share.
 *
 * Queries are taken in batches that fit work_mem.  A batch goes through
 * phases, each a number of items that the main process and its workers take
 * from one counter:
 *
 *	 DESCEND	which clusters each query may want		items: queries
 *	 PLACE		which of them want a cluster now		items: queries
 *	 CLUSTERS	each cluster read once, compared with	items: clusters in
 *				all queries that want it now			block order
 *	 DECIDE		which queries have read enough			items: queries
 *	 TABLE		the table compared with all queries		items: processes
 *
 * PLACE, CLUSTERS and DECIDE are a wave (ecp_knn_wave.c), of which there are
 * several where a scan would end as soon as it has found enough.
 *
 * What a batch knows is one piece of memory without pointers, in a DSM
 * segment when there are workers; every query has a bounded heap there.
 */

#define ECP_KNN_K_MAX		10000

typedef enum EcpKnnPhase
{
	ECP_KNN_DESCEND,
	ECP_KNN_PLACE,
	ECP_KNN_CLUSTERS,
	ECP_KNN_DECIDE,
	ECP_KNN_TABLE
} EcpKnnPhase;

/* A cluster, or buffer, that a query wants. */
typedef struct EcpKnnRef
{
	uint32		cluster;		/* its number in clusters; ECP_KNN_BUFFER */
	float4		rank;			/* of its leader */
} EcpKnnRef;

#define ECP_KNN_BUFFER		0x80000000
#define EcpKnnRefCluster(ref)	((ref)->cluster & ~ECP_KNN_BUFFER)
#define EcpKnnRefIsBuffer(ref)	(((ref)->cluster & ECP_KNN_BUFFER) != 0)

/* Pages of a cluster whose buffers are remembered. */
#define ECP_KNN_RECENT		4

/*
 * A cluster of the batch, in a hash table that processes fill at the same
 * time.  Its queries are pairs[first .. first + placed - 1].
 */
typedef struct EcpKnnCluster
{
	pg_atomic_uint32 blk;		/* of its head; 0 = nothing is here */
	uint32		npages;
	uint64		run;
	pg_atomic_uint32 wanted;	/* queries, in the wave that is prepared */
	pg_atomic_uint32 placed;	/* in the wave that goes on */
	uint32		first;
	uint32		nlive;			/* rows there; first, as its leader says */
	uint32		npassed;		/* of them compared: those that pass the
								 * filter */
	bool		skip;			/* none of them does, by the summary */
	Buffer		recent[ECP_KNN_RECENT]; /* of its first pages, as last seen */
} EcpKnnCluster;

/* A cluster that is wanted in this wave. */
typedef struct EcpKnnOrder
{
	BlockNumber blk;
	uint32		cluster;
} EcpKnnOrder;

/* A query that wants a cluster, and which one of its refs that is. */
typedef struct EcpKnnPair
{
	uint32		query;
	uint32		ref;
} EcpKnnPair;

typedef struct EcpKnnQuery
{
	slock_t		mutex;			/* of the heaps and what belongs to them */
	uint8		flags;			/* ECP_KNN_* */
	int32		nrefs;
	int32		first;			/* refs of this wave: from here on */
	int32		end;			/* up to here */
	int32		nheap;
	float8		bound;			/* a rank above it is of no use */
	float8		kth;			/* rank of the k-th row after plan->known
								 * clusters */
	uint64		vectors;		/* compared with it */
	uint64		filtered;		/* not compared, as they did not pass */
	int64		id;				/* what the user calls it */
} EcpKnnQuery;

#define ECP_KNN_NULL		0x01	/* NULL: has no neighbours */
#define ECP_KNN_NO_PLACE	0x02	/* no direction: near to nothing */
#define ECP_KNN_ALL_READ	0x04	/* it wants all the clusters there are */
#define ECP_KNN_CUT_OFF		0x08	/* it is left to a scan */

/*
 * The item of a candidate in a heap: its TID, and above it the ref of the
 * query that it came by.  In this order items of equal rank are compared.
 */
#define ECP_KNN_REFS_MAX	0x7FFF
#define ECP_KNN_TID_MASK	(ECP_RANKED_NAN | UINT64CONST(0xFFFFFFFFFFFF))
#define EcpKnnItemRef(item)	((int) (((item) & ~ECP_RANKED_NAN) >> 48))
#define EcpKnnRefItem(ref)	((uint64) (ref) << 48)

/* What holds for all batches of a call; ecp_knn.c makes it. */
typedef struct EcpKnnPlan
{
	Oid			heap_oid;
	Oid			index_oid;
	EcpIndexState state;		/* the structure version that all read */
	bool		exact;
	bool		by_scans;		/* a scan for each query */
	bool		filtered;		/* with a condition, of which these are the
								 * keys: */
	int			nkeys;
	Size		key_bytes;
	int			k;
	int			room;			/* for so many candidates of a query: k, or
								 * more if decisions need it */
	EcpScanPlan scan;
	int			probes;			/* clusters known of a query, at most */
	int			max_refs;		/* the same and insert buffers after them */
	int			max_read;		/* refs that are read, at most */
	int			first;			/* clusters read in two waves */
	int			max_queries;	/* of a batch */
	int			max_clusters;
	uint32		nslots;			/* of the hash table, a power of two */
	Size		query_bytes;	/* of a query's elements */
	Size		query_stride;	/* from one query to the next */
	Size		bytes;			/* of the shared memory */
} EcpKnnPlan;

/* In the segment, followed by the arrays. */
typedef struct EcpKnnShared
{
	EcpTeamShared team;			/* must be first */
	EcpKnnPlan	plan;

	/* the batch; constant while a phase goes on */
	uint32		batch;			/* its number, from 1 */
	int			nqueries;
	int			nactive;		/* clusters that are wanted in this wave */
} EcpKnnShared;

typedef struct EcpKnnStop EcpKnnStop;
typedef struct EcpKnnReader EcpKnnReader;
typedef struct EcpKnnTable EcpKnnTable;

/* Queries of a batch in the form that kernels take. */
typedef struct EcpKnnPrepared
{
	uint32		batch;			/* its number */
	MemoryContext context;
	EcpQuery  **queries;		/* made when first used, in context */
} EcpKnnPrepared;

/* What a process has of its own. */
typedef struct EcpKnn
{
	EcpTeam		team;			/* must be first; without workers, all zeros */
	EcpKnnShared *shared;
	const EcpKnnPlan *plan;		/* in shared */
	Relation	heap;
	Relation	index;
	Snapshot	snapshot;
	bool		checked;		/* candidates may yet be discarded; if exact,
								 * by a query */
	const char *condition;		/* that it has, or NULL */

	/* what the index knows of the rows that are wanted */
	double		keys_rows;		/* that the planner expects */
	int			nkeys;
	ScanKeyData *keys;
	EcpAttrFilter *filter;
	EcpSummaryTest *summary;	/* what it asks of summaries, or NULL */

	/* the arrays in shared memory */
	char	   *elements;
	EcpKnnQuery *queries;
	EcpRanked  *heaps;			/* room for each query */
	EcpKnnRef  *refs;			/* max_refs for each query */
	EcpKnnCluster *clusters;	/* nslots */
	EcpKnnOrder *active;		/* in the order of blocks */
	EcpKnnPair *pairs;			/* by cluster */
	char	   *key_memory;

	/* made when first used, in the first */
	MemoryContext context;
	EcpKnnPrepared prepared;	/* ecp_knn_compare.c */
	EcpKnnReader *reader;		/* ecp_knn_read.c */
	EcpKnnStop *stop;			/* ecp_knn_stop.c */
	EcpKnnTable *table;			/* ecp_knn_table.c */
} EcpKnn;

/* A rank above this is of no use to a query; others may lower it meanwhile. */
#define EcpKnnBound(knn, q)	(*(volatile float8 *) &(knn)->queries[q].bound)

/* What query number "q" of the batch has in the arrays. */
static inline EcpKnnRef *
ecp_knn_refs(const EcpKnn *knn, uint32 q)
{
	Assert(q < knn->plan->max_queries);
	return knn->refs + (Size) q * knn->plan->max_refs;
}

static inline EcpRanked *
ecp_knn_heap(const EcpKnn *knn, uint32 q)
{
	Assert(q < knn->plan->max_queries);
	return knn->heaps + (Size) q * knn->plan->room;
}

/* A query of the batch that is new, but for its elements. */
static inline void
ecp_knn_query_begin(EcpKnnQuery *query, int64 id)
{
	query->id = id;
	query->flags = 0;
	query->nrefs = query->nheap = 0;
	query->vectors = query->filtered = 0;
	query->bound = get_float8_infinity();
}

/* ---- ecp_knn_input.c ---- */

/* An argument that is a number of rows or the like. */
extern int	ecp_knn_check_number(int n, const char *name);

/* An argument that is a condition, or NULL. */
extern const char *ecp_knn_condition(FunctionCallInfo fcinfo, int arg);

/*
 * Begin the result of a function.  False if one of its first n arguments is NULL, so
 * that it stays empty.
 */
extern bool ecp_knn_result_begin(FunctionCallInfo fcinfo, int n);

/* Queries, which are all taken before the first is answered. */
typedef struct EcpKnnInput
{
	Tuplestorestate *store;		/* what the user calls it, vector, number */
	TupleDesc	desc;
	int64		n;
	Relation	index;
	const EcpMetaPageData *meta;	/* that vectors must fit, or NULL */
	FmgrInfo	convert;		/* what is added into vectors of the index, or
								 * with InvalidOid */
} EcpKnnInput;

/* Errors name the query that they are about. */
typedef struct EcpKnnErrorQuery
{
	ErrorContextCallback callback;
	int64		id;
} EcpKnnErrorQuery;

extern void ecp_knn_error_begin(EcpKnnErrorQuery *query, int64 id);
extern void ecp_knn_error_end(EcpKnnErrorQuery *query);
extern void ecp_knn_input_init(EcpKnnInput *input, Relation index);
extern void ecp_knn_input_add(EcpKnnInput *input, int64 id, Datum value,
							  bool isnull);
extern void ecp_knn_input_read(EcpKnnInput *input, Datum argument, Oid type);

/* ---- ecp_knn.c ---- */

/*
 * Called with a query's number and elements, and the rows nearest to it: distances, and
 * TIDs as numbers.
 */
typedef void (*EcpKnnVisitor) (int64 id, const void *elements,
							   const EcpRanked *nearest, int n, void *arg);

/* Called with a query's number, and what answers its scan. */
typedef void (*EcpKnnAnswerVisitor) (int64 id, const EcpScanAnswer *answer, void *arg);

extern uint64 ecp_knn_truth(Relation heap, Relation index,
							const EcpIndexState *state, EcpKnnInput *input,
							int k, EcpKnnVisitor visitor, void *arg);
extern bool ecp_knn_find(Relation heap, Relation index, Snapshot snapshot,
						 ScanKeyData *keys, int nkeys, double rows, bool checked,
						 EcpKnnInput *input, int k, EcpKnnAnswerVisitor visitor,
						 void *arg);

/* ---- ecp_knn_compare.c ---- */

extern const EcpQuery *ecp_knn_compare_query(EcpKnn *knn, uint32 q);
extern void ecp_knn_compare_offer(EcpKnn *knn, const EcpKnnPair *pair,
								  const ItemPointerData *tids, uint64 word,
								  const float8 *ranks);
extern bool ecp_knn_prepare(const EcpKnn *knn, int q, void *prepared);
extern void ecp_knn_compare_sort(EcpRanked *candidates, int n);
extern void ecp_knn_compare_keep(EcpKnnQuery *query, EcpRanked *heap, int keep,
								 float8 kth);

/* ---- ecp_knn_workers.c ---- */

extern void ecp_knn_workers_layout(EcpKnnPlan *plan, Size memory);
extern void ecp_knn_workers_start(EcpKnn *knn, EcpKnnPlan *plan, int nworkers);
extern void ecp_knn_workers_run(EcpKnn *knn, EcpKnnPhase phase, int nitems, int step);
extern int	ecp_knn_workers_processes(const EcpKnn *knn);
extern void ecp_knn_workers_stop(EcpKnn *knn);
extern PGDLLEXPORT void ecp_knn_workers_task(EcpTeam *team, const void *args,
											 char **memories);
extern PGDLLEXPORT void ecp_knn_workers_main(dsm_segment *seg, shm_toc *toc);

/* ---- ecp_knn_read.c ---- */

extern void ecp_knn_read(EcpKnn *knn, int first, int end);

/* ---- ecp_knn_wave.c ---- */

extern void ecp_knn_descent(EcpKnn *knn, int first, int end);
extern bool ecp_knn_wave_next(EcpKnn *knn);
extern void ecp_knn_wave_place(EcpKnn *knn, int first, int end);
extern void ecp_knn_wave_decide(EcpKnn *knn, int first, int end);

/* ---- ecp_knn_stop.c ---- */

/* What ecp_knn_stop_replay() returns if there is no end in what was read. */
#define ECP_KNN_STOP_LATER	(-1)	/* it is farther on */
#define ECP_KNN_STOP_UNKNOWN	(-2)	/* that cannot be told */

extern EcpKnnStop *ecp_knn_stop_create(EcpKnn *knn);
extern int	ecp_knn_stop_end(const EcpKnn *knn, int q, int n);
extern int	ecp_knn_stop_replay(EcpKnnStop *stop, int q, float8 *kth);
extern int	ecp_knn_stop_ahead(EcpKnnStop *stop, int q);

/* ---- ecp_knn_table.c ---- */

extern void ecp_knn_table(EcpKnn *knn);
extern uint64 ecp_knn_table_rows(const EcpKnn *knn);

/* ---- ecp_knn_keys.c ---- */

extern bool ecp_knn_keys_copy(Relation index, const ScanKeyData *from, int nfrom,
							  ScanKeyData *to, int *nto);
extern bool ecp_knn_keys_equal(Relation index, const ScanKeyData *keys, int nkeys,
							   const ScanKeyData *copy, int ncopy);

/* Scan keys in a piece of memory for other processes. */
extern Size ecp_knn_keys_bytes(Relation index, const ScanKeyData *keys, int nkeys);
extern void ecp_knn_keys_write(Relation index, const ScanKeyData *keys, int nkeys,
							   char *to);
extern ScanKeyData *ecp_knn_keys_read(char *from, int nkeys);

/*
 * ecp_knn_statement.c: many queries at once: the statement that a user would write.
 */

/* Parts of statements about an index and its table. */
typedef struct EcpKnnStatement
{
	Relation	heap;
	Relation	index;
	EcpIndexState state;		/* when it was opened */
	List	   *folded;			/* indexes of the table, open */
	List	   *indexes;		/* the same, their OIDs */
	bool		by_index;		/* rather than by comparing the table */
	const char *table;			/* in a FROM */
	const char *name;			/* by which that qualifies columns */
	const char *queries;		/* and the queries theirs */
	const char *vector;			/* what is indexed */
	const char *operator;		/* its distance */
	const char *where;			/* is it in the index, and the condition true
								 * of it? */
} EcpKnnStatement;

/* That is being planned, or NULL: of its table's ecp indexes it sees its own alone. */
extern const EcpKnnStatement *ecp_knn_statement_planned;

extern void ecp_knn_statement_begin(EcpKnnStatement *statement, Relation heap,
									Relation index, const char *condition);
extern void ecp_knn_statement_open(EcpKnnStatement *statement, FunctionCallInfo fcinfo,
								   const char *condition, EcpKnnInput *input);
extern void ecp_knn_statement_end(EcpKnnStatement *statement);
extern void ecp_knn_statement_close(EcpKnnStatement *statement, EcpKnnInput *input);

/*
 * SELECT number of the row, query, tid, distance and these columns of the k nearest rows
 * of each query; the distance may be left to ecp_knn_statement_run().
 */
extern char *ecp_knn_statement_search(const EcpKnnStatement *statement, int k,
									  int ncolumns, char *const *columns,
									  bool distance);

/* An operator as a statement names it. */
extern char *ecp_knn_operator(Oid op);

/* Called with each row of a statement. */
typedef void (*EcpKnnRowVisitor) (TupleDesc desc, const Datum *values,
								  const bool *nulls, void *arg);
extern void ecp_knn_statement_run(const EcpKnnStatement *statement, EcpKnnInput *input,
								  const char *sql, EcpKnnRowVisitor visitor, void *arg);
extern void ecp_knn_statement_run_search(const EcpKnnStatement *statement,
										 EcpKnnInput *input, int k, int ncolumns,
										 char *const *columns,
										 EcpKnnRowVisitor visitor, void *arg);
extern bool ecp_knn_statement_keys(const EcpKnnStatement *statement, Datum vector, int k,
								   ScanKeyData **keys, int *nkeys);

/* ecp_batch_node.c: the node of a plan that reads query vectors ahead */

/* For fewer outer rows, scans are as fast. */
#define ECP_BATCH_ROWS_MIN	8

/*
 * A plan that returns the rows of "outer", of which "vector" is what scans of an index,
 * for the k nearest, will be asked about; k = 0 if the LIMIT is not known yet.
 */
extern CustomScan *ecp_batch_node_create(Plan *outer, Node *vector, Oid index, int k);
extern void ecp_batch_node_init(void);

#endif							/* ECP_KNN_H */
