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
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_rerank.h"
#include "ecp/search/ecp_stop.h"
#include "ecp/search/ecp_target.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"

/*
 * Kinds of queries: rows; points half-way between two rows; each element from any
 * row; points beyond the rows; and random elements of their range.
 */
typedef enum EcpQueryKind
{
	ECP_QUERY_ROW,
	ECP_QUERY_BETWEEN,
	ECP_QUERY_MIXED,
	ECP_QUERY_FAR,
	ECP_QUERY_RANDOM
} EcpQueryKind;

StaticAssertDecl(ECP_QUERY_RANDOM + 1 == ECP_QUERY_KINDS, "kinds of queries");

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
 * A look at a search after "n" clusters: the rank of the next leader, infinite if
 * there is none, and of each case the gap before it (ecp_stop.c), and the recall.
 */
typedef struct EcpRecallLook
{
	int			n;
	float4		next;
	float4		gap[ECP_RECALL_CASES];
	float4		recall[ECP_RECALL_CASES];
} EcpRecallLook;

/* The notes of one query. */
typedef struct EcpRecallNotes
{
	int			kind;			/* EcpQueryKind */
	bool		valid;
	int			nks;			/* ks of the curve that it tells of, the first */
	int			nlooks;			/* after the last one all was found */
	EcpPlace	place;
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

/*
 * The sum of gap and advance beyond which a search for a query of this kind finds
 * next to nothing for k number "k", by those that went on to the end; infinity if
 * there were none.  The spread is in *meta.
 */
extern double ecp_recall_sum_most(const EcpRecallQueries *queries,
								  const EcpMetaPageData *meta, int kind, int k);

/* The standard deviation of the gaps before rows' looks. */
extern double ecp_recall_spread(const EcpRecallQueries *queries);

/*
 * Set the spread, the kinds and the points of the curve in *meta.  "loss" is the
 * recall that is lost where these searches do not see it.
 */
extern void ecp_recall_points(const EcpRecallQueries *queries, double loss,
							  EcpMetaPageData *meta);

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
	/* where searches end before that */
	float4		sum_most[ECP_QUERY_KINDS][ECP_CURVE_KS];
	bool		prefetch;		/* pages may have to be waited for */

	/* where rows are taken from */
	EcpChildData *clusters;
	int			nclusters;
	uint32		largest;		/* rows of the largest */
	char	   *pool;			/* CURVE_POOL rows */

	/* the present query */
	int			nks;			/* for the first of the curve's ks */
	const EcpQuery *query;
	const EcpCodeQuery *codes;
	ItemPointerData self;
	int			self_cluster;	/* where it was met; PG_INT32_MAX if nowhere */
	EcpNearest	truth;
	EcpNearest	seen[ECP_CURVE_KS]; /* what a scan would know */
	float8	   *ranks;			/* of a page's rows */

	EcpRecallReport report;		/* NULL: none */
	void	   *report_arg;

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
