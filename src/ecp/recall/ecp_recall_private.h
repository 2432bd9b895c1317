/*-------------------------------------------------------------------------
 *
 * ecp_recall_private.h
 *	  A measurement, for the files that make it: ecp_recall_curve.c takes the
 *	  queries, ecp_recall_search.c makes notes of them, ecp_recall_points.c draws
 *	  conclusions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_RECALL_PRIVATE_H
#define ECP_RECALL_PRIVATE_H

#include "ecp/page/ecp_page.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "ecp/search/ecp_estimate.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_rerank.h"
#include "ecp/search/ecp_target.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"

/*
 * Kinds of queries: rows; points half-way between two rows; each element
 * from any row; and points twice as far from where the rows are.
 */
typedef enum EcpQueryKind
{
	ECP_QUERY_ROW,
	ECP_QUERY_BETWEEN,
	ECP_QUERY_MIXED,
	ECP_QUERY_FAR
} EcpQueryKind;

StaticAssertDecl(ECP_QUERY_FAR + 1 == ECP_RATE_KINDS, "kinds of queries");

/* A look at a search after "n" clusters, for each k of the curve. */
typedef struct EcpRecallLook
{
	int			n;
	float4		excess[ECP_CURVE_KS];
	float4		estimate[ECP_CURVE_KS];
	float4		recall[ECP_CURVE_KS];
} EcpRecallLook;

/* The notes of one query. */
typedef struct EcpRecallNotes
{
	int			kind;			/* EcpQueryKind */
	bool		valid;
	int			nlooks;			/* after the last one all was found */

	/* shares of the nearest rows, and rows, by the distance of boundaries */
	float4		found[ECP_RATE_BINS];
	float4		rows[ECP_RATE_BINS];
	EcpRecallLook looks[FLEXIBLE_ARRAY_MEMBER];
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

/* Rates from the notes; kinds without any get those of rows. */
extern void ecp_recall_rates(const EcpRecallQueries *queries, EcpRates *rates);

/*
 * Points of the curve.  "loss" is the recall that is lost where these searches
 * do not see it.
 */
extern void ecp_recall_points(const EcpRecallQueries *queries, double loss,
							  EcpRecallPointData points[ECP_CURVE_KS][ECP_CURVE_TARGETS]);

/*
 * Recall of a plan for one of the ks, of queries like the rows, and its standard
 * error; or NaN.
 */
extern double ecp_recall_of_plan(const EcpRecallQueries *queries,
								 const EcpScanPlan *plan, double *error);

/* The largest k of the curve. */
#define ECP_RECALL_K_MOST	1000

/* A measurement: ecp_recall_curve.c's, but for the present query. */
struct EcpRecallCurve
{
	EcpProbe	probe;
	MemoryContext context;		/* of this struct and the notes */
	MemoryContext row_context;	/* of the cluster with the row */
	MemoryContext query_context;	/* of one query */
	EcpIndexState *state;
	EcpRecallCurveData before;	/* the metapage's when we began */
	EcpRerank	rerank;
	int			depth;			/* clusters read for a query, at most */
	bool		whole;			/* read as many */
	bool		prefetch;		/* pages may have to be waited for */

	/* where rows are taken from */
	EcpChildData *clusters;
	int			nclusters;
	uint32		largest;		/* rows of the largest */
	char	   *pool;			/* CURVE_POOL rows */

	/* the present query */
	const EcpQuery *query;
	const EcpCodeQuery *codes;
	ItemPointerData self;
	EcpEstimate estimate;
	EcpNearest	truth;
	EcpNearest	seen[ECP_CURVE_KS]; /* what a scan would know */
	float8	   *ranks;			/* of a page's rows */

	int			max_looks;
	int			max_queries;
	EcpRecallQueries queries;
};

/*
 * Search for a vector, a query of this kind, and, if it is a row of the index,
 * which one, and add the notes to the queries; there is room for another.
 */
extern void ecp_recall_search(EcpRecallCurve *curve, EcpQueryKind kind,
							  const void *row, ItemPointer self);
extern void ecp_recall_search_init(EcpRecallCurve *curve);

#endif							/* ECP_RECALL_PRIVATE_H */
