/*-------------------------------------------------------------------------
 *
 * ecp_recall_private.h
 *	  A measurement, for the files that make it: ecp_recall_curve.c takes queries,
 *	  which ecp_recall_query.c chooses, ecp_recall_pass.c reads clusters for them,
 *	  ecp_recall_search.c makes notes, ecp_recall_classes.c and ecp_recall_points.c draw
 *	  conclusions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_RECALL_PRIVATE_H
#define ECP_RECALL_PRIVATE_H

#include "ecp/page/ecp_page.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_rerank.h"
#include "ecp/search/ecp_stop.h"
#include "portability/instr_time.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"

/*
 * Query classes: rows; points half-way between two rows; elements of any rows, some
 * of them of one; points beyond the rows; and random elements of their range.
 */
typedef enum EcpQueryClass
{
	ECP_QUERY_ROW,
	ECP_QUERY_BETWEEN,
	ECP_QUERY_MIXED,
	ECP_QUERY_FAR,
	ECP_QUERY_RANDOM
} EcpQueryClass;

StaticAssertDecl(ECP_QUERY_RANDOM + 1 == ECP_QUERY_CLASSES, "query classes");

/*
 * A search has notes for several cases: as many for k = 1 as ECP_RECALL_FIRSTS,
 * where the rows nearer than the first, second ... are not there, then two for each
 * other k of the curve: without the row that is searched for, and with it.  For
 * k = 1 a query alone says too little: all or nothing.
 */
#define ECP_RECALL_FIRSTS	5
#define ECP_RECALL_CASES	(ECP_RECALL_FIRSTS + 2 * (ECP_CURVE_KS - 1))

/* The first case of a k by its number, and how many there are. */
#define EcpRecallCaseOf(k)	((k) == 0 ? 0 : ECP_RECALL_FIRSTS + 2 * ((k) - 1))
#define EcpRecallCasesOf(k)	((k) == 0 ? ECP_RECALL_FIRSTS : 2)

/* The case with the row that is searched for; k is not 0. */
#define EcpRecallCaseWithSelf(k) (EcpRecallCaseOf(k) + 1)

/*
 * A stop check of a search after "n" clusters: the rank of the next leader, infinite if
 * there is none, and of each case the gap before it (ecp_stop.c), and the recall.
 */
typedef struct EcpRecallCheck
{
	int			n;
	float4		next;
	float4		gap[ECP_RECALL_CASES];
	float4		recall[ECP_RECALL_CASES];
} EcpRecallCheck;

/*
 * By how much rows' ranks exceed their leaders', e, in units of ecp_stop_unit(), and the
 * square of the cluster's radius, s, in the same: sums, from which a follows, so that e
 * is near a s, and the deviation from that.
 */
typedef struct EcpRecallExcess
{
	float8		rows;
	float8		ee;
	float8		es;
	float8		ss;
} EcpRecallExcess;

/* The notes of one query. */
typedef struct EcpRecallNotes
{
	int			class;			/* EcpQueryClass */
	bool		valid;
	int			nks;			/* ks of the curve that it tells of, the first */
	int			nchecks;		/* after the last one all was found */
	EcpPlace	place;			/* without the k-th row, which is for each k */
	float4		kth[ECP_CURVE_KS];	/* as in EcpPlace */
	EcpRecallExcess excess;
	EcpRecallCheck checks[FLEXIBLE_ARRAY_MEMBER];
} EcpRecallNotes;

/* The notes of all queries; "stride" bytes each. */
typedef struct EcpRecallQueries
{
	int			n;
	Size		stride;
	char	   *notes;
} EcpRecallQueries;

#define EcpRecallNotesOf(queries, q) \
	((EcpRecallNotes *) ((queries)->notes + (q) * (queries)->stride))

/*
 * The sum of gap and advance beyond which a search for a query of this class finds
 * next to nothing for k number "k", by those that went on to the end; infinity if
 * there were none.  The spread is in *meta.
 */
extern double ecp_recall_sum_most(const EcpRecallQueries *queries,
								  const EcpMetaPageData *meta, int class, int k);

/*
 * How many clusters a search for a query of this class takes on average to have these
 * sums for all of the first nks ks, by those that went on to the end.
 */
extern int	ecp_recall_ahead(const EcpRecallQueries *queries,
							 const EcpMetaPageData *meta, int class,
							 const float4 *most, int nks);

/* After how many clusters a search has nearly all of the nearest for k number "k". */
extern int	ecp_recall_depth(const EcpRecallNotes *notes, int k);

/* The standard deviation of the gaps before rows' checks. */
extern double ecp_recall_spread(const EcpRecallQueries *queries);

/*
 * Set the spread, the classes and the points of the curve in *meta.  "loss" is the
 * recall that is lost where these searches do not see it.
 */
extern void ecp_recall_points(const EcpRecallQueries *queries, double loss,
							  EcpMetaPageData *meta);

/* ---- ecp_recall_classes.c ---- */

/* Set where the queries of a class are. */
extern void ecp_recall_class(const EcpRecallQueries *queries, int class,
							 EcpQueryClassData *data);

/* Set how far the k-th row is from queries of each class. */
extern void ecp_recall_classes_rows(const EcpRecallQueries *queries, int k,
									EcpRecallCurveData *curve);

/* A cluster that a search reads, or the insert buffer after such a cluster. */
typedef struct EcpRecallRef
{
	uint32		place;			/* its number in curve->clusters */
	float4		rank;			/* of its leader */
	int			cluster;		/* number in the order of promise */
} EcpRecallRef;

/* A row that may be among the nearest. */
typedef struct EcpRecallRow
{
	float8		rank;			/* or an estimate */
	float4		bound;			/* of the exact rank, if that is an estimate */
	int			cluster;		/* number in the order of promise */
	uint32		page;			/* number in curve->pages, and its slot there, */
	uint32		slot;			/* if the rank is an estimate */
} EcpRecallRow;

/*
 * A pass goes so many times as far as the one before, and a search keeps so many rows
 * of it, or a few more.
 */
#define ECP_RECALL_PASS_TIMES	16
#define ECP_RECALL_ROWS			8192

/* An entry page from which rows with codes were taken. */
typedef struct EcpRecallPage
{
	uint64		run;
	BlockNumber blk;			/* of the run */
	uint32		vector_page;	/* of the run */
	uint32		first;			/* slot of the run */
} EcpRecallPage;

/* A search that compares some of the rows compares one in so many. */
#define ECP_RECALL_SHARE	8

/*
 * Of so many rows, one's exact rank may be read, where 100 are looked for, and rows are
 * so many that thousands are told of by a share of them: where they are few, so are the
 * clusters with the nearest, and 25 of a hundred tell too little.
 */
#define ECP_RECALL_SOME		4
#define EcpRecallIsSome(search, row) ((row)->slot % (search)->some == 0)

/*
 * A search for k number "first_k" to nks - 1.  It has read n clusters, and rows are
 * kept of those up to "upto", which it reads next.
 */
typedef struct EcpRecallSearch
{
	EcpRecallNotes *notes;
	const void *row;			/* the vector */
	int			first_k;
	int			nks;
	int			share;			/* one row in so many is looked at */
	int			some;			/* ECP_RECALL_SOME, or 1: all */
	int			depth;			/* clusters read, at most */
	bool		done;
	ItemPointerData self;
	int			self_cluster;	/* where it was met; PG_INT32_MAX if nowhere */
	char	   *prepared;
	const EcpQuery *query;
	const EcpCodeQuery *codes;

	/*
	 * clusters in the order of promise, "all" if there are no more, and
	 * buffers
	 */
	EcpRecallRef *refs;
	int			nrefs;
	bool		all;
	EcpRecallRef *buffers;
	int			nbuffers;
	int			buffers_max;
	int			next_buffer;	/* those before it were read */
	int			n;
	int			upto;
	int			next_check;		/* the clusters after which it is */
	int			nchecks;

	/* rows: the first nkept were in clusters before n */
	EcpRecallRow *rows;
	int			nkept;
	int			nrows;
	int			rows_max;
	float8		limit;			/* others are not among the nearest */
	EcpNearest	seen[ECP_CURVE_KS]; /* what a scan would know */
	EcpNearest	truth;			/* by exact ranks */

	/*
	 * With codes: estimates of the truth's k nearest, and of those whose
	 * exact ranks may be read; and of one row in ECP_RECALL_SOME the same,
	 * for 100 rows.
	 */
	float8		truth_kth;
	EcpNearest	near;
	EcpNearest	some_truth;
	EcpNearest	some_seen;
	EcpNearest	some_near;
} EcpRecallSearch;

/* A measurement. */
struct EcpRecallCurve
{
	Relation	index;
	MemoryContext context;		/* of this struct and the notes */
	MemoryContext row_context;	/* of the cluster with the row */
	MemoryContext batch_context;	/* of searches */
	EcpIndexState *state;
	EcpRecallCurveData before;	/* the metapage's when we began */
	int			depth;			/* clusters read for a query, at most */
	/* where searches end before that, and how many clusters that may take */
	float4		sum_most[ECP_QUERY_CLASSES][ECP_CURVE_KS];
	int			ahead[ECP_QUERY_CLASSES];
	bool		prefetch;		/* pages may have to be waited for */
	int			most;			/* queries that are searched for together, at
								 * most */
	bool		has_codes;
	bool		few;			/* few queries, and no time to wait */
	instr_time	start;			/* of what is measured now, and the seconds */
	double		seconds;		/* that it may take */

	/* the clusters, from which rows are taken, and then insert buffers */
	EcpChildData *clusters;
	int			nclusters;
	int			nplaces;		/* of both */
	uint32		largest;		/* rows of the largest cluster */
	double		mean_rows;		/* rows of a cluster */
	int			share;			/* of rows that tell of thousands, one in so
								 * many */
	int			known[ECP_CURVE_KS];	/* as in EcpScanPlan */
	char	   *pool;			/* CURVE_POOL rows */

	/* reading for many searches: ecp_recall_pass.c */
	EcpProbe	probe;
	EcpRerank	rerank;
	struct RecallPass *pass;

	EcpRecallReport report;		/* NULL: none */
	void	   *report_arg;
	EcpTeam    *team;			/* NULL: none */
	EcpTask		task;			/* that it runs */
	uint64		ndone;			/* queries; of a team, before this task */

	int			max_checks;
	int			max_queries;
	EcpRecallQueries queries;
};

/* ---- ecp_recall_curve.c ---- */

/* One more search has ended: report it. */
extern void ecp_recall_curve_progress(EcpRecallCurve *curve);

/* ---- ecp_recall_query.c ---- */

/* Rows that queries unlike them are made of; rows that are not there are zeros. */
#define ECP_RECALL_POOL		64

/* Bytes of a query, of which the pool has many. */
extern Size ecp_recall_query_bytes(const EcpRecallCurve *curve);

/*
 * Set a query, and its TID, to a random row; false if there is none.  The choice
 * follows from its number and the index's seed.  Of rows at one place, which
 * fill clusters of their own, only the first of each cluster is taken: the rest
 * are found by one query, and would hide what others miss.
 */
extern bool ecp_recall_query_row(EcpRecallCurve *curve, int number, char *query,
								 ItemPointer tid);

/*
 * How many times as large as their L2 distance the L1 distance of rows near to each other
 * is: on average; with codes, at least, but for few.
 */
extern float4 ecp_recall_query_l1(EcpRecallCurve *curve);

/* Make a query of this class, which is not that of a row; "vector" has zeros. */
extern void ecp_recall_query_other(const EcpRecallCurve *curve, EcpQueryClass class,
								   int number, char *vector);

/* ---- ecp_recall_search.c ---- */

/*
 * Prepare to search for search->row.  The caller has zeroed the struct and set
 * notes, row, first_k, nks, share and depth, and self if that is a row.  False if it
 * is not possible.  Allocates in the current memory context.
 */
extern bool ecp_recall_search_begin(EcpRecallCurve *curve,
									EcpRecallSearch *search);

/* Beyond which cluster, of at most "most", the search surely does not go. */
extern int	ecp_recall_search_end(const EcpRecallCurve *curve,
								  const EcpRecallSearch *search, int most);

/* An array of n, or NULL, with room for one more, in the current memory context. */
extern void *ecp_recall_room(void *array, int n, int *max, Size bytes);

/* A row of a cluster before search->upto that is nearer than search->limit. */
extern void ecp_recall_search_add(EcpRecallSearch *search,
								  const EcpRecallRow *row);

/* All clusters before search->upto have been read: go on to there. */
extern void ecp_recall_search_replay(EcpRecallCurve *curve,
									 EcpRecallSearch *search);

/*
 * Is the exact rank of a row wanted, which is not known yet: of those that are
 * nearest by estimate ("first"), or, when these are known, of others that may be
 * nearer?  And note it.
 */
extern bool ecp_recall_search_wants(const EcpRecallSearch *search,
									const EcpRecallRow *row, bool first);
extern void ecp_recall_search_exact(EcpRecallSearch *search, EcpRecallRow *row,
									float8 rank);

/* The nearest rows are known: note the recall at all checks. */
extern void ecp_recall_search_note(EcpRecallCurve *curve,
								   EcpRecallSearch *search);

/* ---- ecp_recall_pass.c ---- */

extern void ecp_recall_pass_init(EcpRecallCurve *curve);

/* Is this share of the time up? */
extern bool ecp_recall_pass_is_late(const EcpRecallCurve *curve, double share);

/* Search, and make notes.  Returns false, without notes, if the time was up before. */
extern bool ecp_recall_pass_run(EcpRecallCurve *curve, EcpRecallSearch *searches, int n);

#endif							/* ECP_RECALL_PRIVATE_H */
