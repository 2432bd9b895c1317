/*-------------------------------------------------------------------------
 *
 * ecp_match.h
 *	  What an ecp index can do for a query.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_MATCH_H
#define ECP_MATCH_H

#include "nodes/pathnodes.h"

/* How the distances that a query has match those of an index. */
typedef struct EcpMatch
{
	PlannerInfo *root;
	RelOptInfo *rel;
	IndexOptInfo *index;
	Relids		outer;			/* joined tables whose values q may have */
	List	   *join_clauses;	/* conditions with them */
	Expr	   *order;			/* v <-> q that the query orders by, or NULL */
	Node	   *order_query;	/* its q */
	List	   *clauses;		/* IndexClauses */
	RestrictInfo *radius;		/* v <-> q < r, or NULL */
	Node	   *radius_query;	/* its q */
	Node	   *radius_limit;	/* its r */
	bool		null_vector;	/* the query wants rows that are not indexed */
	bool		nearest;		/* it wants the first rows of the order */
	bool		all_within;		/* all within the radius: not in clauses */
	bool		loses_rows;		/* it wants all rows, a scan drops some */
	bool		usable;			/* a scan can answer the query */
} EcpMatch;

extern bool ecp_match_is_ours(const IndexOptInfo *index);

/* What the operator class of a key column says; the first is column 0. */
extern int	ecp_match_class(const IndexOptInfo *index, int column);

/* Is the expression a column of the index, with the meaning that the index has? */
extern bool ecp_match_is_column(const EcpMatch *match, Node *node, int column);

/* Is the expression constant during a scan? */
extern bool ecp_match_is_value(const EcpMatch *match, Node *node);
extern List *ecp_match_indexes(PlannerInfo *root, RelOptInfo *rel);

/*
 * The indexes of a table in whose order a query wants the rows for one row of
 * other tables, "outer", which are joined with it by these clauses.
 */
extern List *ecp_match_joined(PlannerInfo *root, RelOptInfo *rel, Relids outer,
							  List *join_clauses);
extern bool ecp_match_is_superseded(const EcpMatch *match, List *matches);

#endif							/* ECP_MATCH_H */
