/*-------------------------------------------------------------------------
 *
 * ecp_look.h
 *	  Leaves, drift, and the recall of drift.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_LOOK_H
#define ECP_LOOK_H

#include "datatype/timestamp.h"
#include "ecp/page/ecp_page.h"

/*
 * ecp_leaves.c: the clusters and insert buffers of an index, one after the other.
 */

/* A cluster or an insert buffer, as its parent refers to it. */
typedef struct EcpLeafRef
{
	EcpChildData child;
	bool		is_buffer;
} EcpLeafRef;

/* All leaves of a version in the order of the tree, and its nodes. */
typedef struct EcpLeaves
{
	int			n;
	EcpLeafRef *refs;
	int64		nnodes;
	int64		node_pages;
	int64		dead_leaders;	/* slots of leaders that were replaced */
} EcpLeaves;

/* What to copy of the rows of a leaf. */
#define ECP_LEAF_TIDS		0x01
#define ECP_LEAF_VECTORS	0x02

/* The contents of a leaf. */
typedef struct EcpLeafRows
{
	int			nruns;
	uint32		nslots;
	uint32		npages;
	uint32		nrows;
	ItemPointerData *tids;		/* if wanted, else NULL */
	char	   *vectors;		/* the same; vec_bytes each, and
								 * ECP_KERNEL_SLACK bytes more */
	uint32		max;			/* rows that there is room for */
} EcpLeafRows;

extern void ecp_leaves_collect(Relation index, const EcpIndexState *state,
							   EcpLeaves *leaves);
extern void ecp_leaf_read(Relation index, const EcpIndexState *state,
						  const EcpLeafRef *ref, int want, EcpLeafRows *rows);
extern void ecp_leaf_rows_free(EcpLeafRows *rows);

/*
 * ecp_drift_recall.c: the present recall of an index, in one pass over its clusters.
 */

typedef struct EcpDriftRecall EcpDriftRecall;

/* The largest k of which it tells: nearest rows that are kept of a query. */
#define ECP_DRIFT_K_MOST	1000

/*
 * Take random rows of the leaves as queries, which reads some clusters.  Free
 * with ecp_drift_recall_end().
 */
extern EcpDriftRecall *ecp_drift_recall_begin(Relation index,
											  EcpIndexState *state,
											  const EcpLeaves *leaves);

/*
 * The rows of leaf number "leaf", with TIDs and vectors, if it was read to take
 * queries; or NULL.  Valid until ecp_drift_recall_end().
 */
extern const EcpLeafRows *ecp_drift_recall_kept(const EcpDriftRecall *recall,
												int leaf);

/* Compare a leaf with the queries whose searches may read it. */
extern void ecp_drift_recall_add(EcpDriftRecall *recall, const EcpLeafRef *ref,
								 const EcpLeafRows *rows);

/*
 * All leaves have been compared: mean recall at k of searches by the present
 * settings, and its standard error; NaN if there were no queries.
 */
extern double ecp_drift_recall_at(const EcpDriftRecall *recall, int k,
								  double *error);

/* Share of the queries that are strictly nearer to another cluster's leader. */
extern double ecp_drift_recall_misassigned(const EcpDriftRecall *recall);
extern void ecp_drift_recall_end(EcpDriftRecall *recall);

/*
 * ecp_drift.c: how inserts and deletes have changed an index since it was built.
 */

typedef struct EcpDrift
{
	int64		nrows;			/* -1 = not known */
	uint32		noverfull;		/* clusters that should be split */
	uint32		nsplit;			/* clusters made by splits */
	double		misassigned;	/* share of rows; statistic I11 */
	TimestampTz measured;		/* the recall curve; 0 = there is none */
	double		rows_then;
	double		change;			/* since then; see ecp_recall_curve_change() */
	double		target;			/* recall */
	double		expected;		/* recall; NaN = not known */
	double		lowest;			/* if known: that at the k with the lowest, */
	int			lowest_k;		/* within its error, and which that is */
	const char *advice;			/* NULL = nothing to do */
} EcpDrift;

/* What the metapage and pg_class tell. */
extern void ecp_drift_stored(Relation index, const EcpIndexState *state,
							 EcpDrift *drift);

/*
 * What a pass over all leaves tells, which have their present numbers of rows;
 * "recall" has compared all of them, or is NULL if there are none.
 */
extern void ecp_drift_measured(Relation index, const EcpIndexState *state,
							   const EcpLeaves *leaves,
							   const EcpDriftRecall *recall, EcpDrift *drift);

#endif							/* ECP_LOOK_H */
