/*-------------------------------------------------------------------------
 *
 * ecp_plan.h
 *	  Matching a query with an index, paths and costs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_PLAN_H
#define ECP_PLAN_H

#include "access/amapi.h"
#include "nodes/pathnodes.h"

/* ecp_match.c: what an ecp index can do for a query */

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

/* Is a path a scan of one of our indexes? */
extern bool ecp_match_is_scan(const Path *path);

/* What the operator class of a key column says; the first is column 0. */
extern int	ecp_match_class(const IndexOptInfo *index, int column);

/* Is the expression a column of the index, with the meaning that the index has? */
extern bool ecp_match_is_column(const EcpMatch *match, Node *node, int column);

/* "column operator value", also if the column is on the right; or NULL. */
extern Expr *ecp_match_operator(const EcpMatch *match, OpExpr *op, int column);

/* Is the expression constant during a scan? */
extern bool ecp_match_is_value(const EcpMatch *match, Node *node);
extern List *ecp_match_indexes(PlannerInfo *root, RelOptInfo *rel);

/*
 * The indexes of a table in whose order a query wants the rows for one row of
 * other tables, "outer", which are joined with it by these clauses.
 */
extern List *ecp_match_joined(PlannerInfo *root, RelOptInfo *rel, Relids outer,
							  List *join_clauses);

/*
 * The matches whose scans are worth a path: no other index does the same and checks
 * more; if "nearest", of those that the query wants the first rows of.
 */
extern List *ecp_match_best(List *matches, bool nearest);

/* Are a query's rows those of its FROM and WHERE, one for each, in any order? */
static inline bool
ecp_match_is_plain(const Query *parse)
{
	return parse->commandType == CMD_SELECT && !parse->hasAggs &&
		parse->groupClause == NIL && parse->groupingSets == NIL &&
		parse->distinctClause == NIL && parse->setOperations == NULL &&
		!parse->hasTargetSRFs;
}

/*
 * The window of a query for the nearest rows of which each group has a few, or NULL:
 *
 *	 SELECT ... FROM (SELECT ..., row_number() OVER (PARTITION BY g ORDER BY v <-> q)
 *		 FROM items) s WHERE ... ORDER BY what is v <-> q LIMIT ...
 *
 * "root" is that of the inner query.
 */
extern const WindowClause *ecp_match_numbered(const PlannerInfo *root);

/*
 * Of the query's order, what may be a distance, or NULL: the first, or, with such a
 * window, the last.
 */
extern PathKey *ecp_match_key(const PlannerInfo *root);

/*
 * ecp_condition.c: conditions on key columns that are no "column operator value".
 */

/*
 * A condition on a key column as "column operator value", "column operator ANY (array)"
 * or ALL, or a test of the column for NULL; NULL if it is another.  The operator has the
 * collation of the column, but need not be in its family; a test for NULL has none.
 */
extern Expr *ecp_condition_normal(const EcpMatch *match, Node *node, int column,
								  Oid *opno);

/* "x operator ANY (array)", of "x operator y". */
extern Expr *ecp_condition_any(const OpExpr *op, Node *array);

/*
 * What an index can check of a condition, whose first key column is "column",
 * or NULL.  *lossy is set if rows that it lets through must be checked again.
 */
extern Expr *ecp_condition_make(const EcpMatch *match, Node *clause,
								int column, bool *lossy);

/*
 * The conditions that "column LIKE 'x%'" and the like imply, of a column that keeps
 * the first bytes of a text; NIL if there are none.
 */
extern List *ecp_condition_make_prefix(const EcpMatch *match, Node *clause,
									   int column);

/* ecp_monotone.c: expressions that rise or fall with a distance */

/* How a bound of the value becomes one of the argument. */
typedef enum EcpMonotoneKind
{
	ECP_MONOTONE_PLUS,			/* argument + operand */
	ECP_MONOTONE_MINUS_FROM,	/* operand - argument */
	ECP_MONOTONE_TIMES,			/* argument * factor */
	ECP_MONOTONE_ROUND,			/* to the next multiple of a number */
	ECP_MONOTONE_INTO,			/* operand / argument, which must not be 0 */
	ECP_MONOTONE_OTHER			/* not at all */
} EcpMonotoneKind;

/* One step of a monotone function: "1 - x" of x. */
typedef struct EcpMonotoneStep
{
	Node	   *argument;
	bool		falls;			/* while the argument rises */
	EcpMonotoneKind kind;
	float8		number;			/* operand or factor; NaN if not known yet */
} EcpMonotoneStep;

extern bool ecp_monotone_step(PlannerInfo *root, Index relid, Node *node,
							  EcpMonotoneStep *step);
extern Node *ecp_monotone_bound(const EcpMonotoneStep *step, Node *bound,
								bool above);

/* ecp_cost.c: what a scan of an ecp index costs */

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

/* Probability that a gamma distributed number with this mean and shape exceeds n. */
extern double ecp_cost_gamma_above(double mean, double shape, double n);

extern List *ecp_cost_filters(const IndexOptInfo *index, List *indexclauses);
extern void ecp_cost_distance(const IndexOptInfo *index, Oid relid,
							  EcpDistanceCost *cost);
extern Cost ecp_cost_distances(PlannerInfo *root, const EcpDistanceCost *cost,
							   const Path *path, double count);
extern bool ecp_cost_batch(PlannerInfo *root, IndexPath *path, double n, Cost *search,
						   Cost *setup);
extern void ecp_cost_fetch(PlannerInfo *root, IndexPath *path);

/* ecp_radius.c: how many rows are within a radius */

/*
 * The share of the index's rows within the radius of a match, from leaders and
 * a few clusters; negative if the query or the radius is not known yet.
 */
extern double ecp_radius_share(const EcpMatch *match);

/* ecp_path.c: paths of ecp indexes that core does not make */

extern void ecp_path_init(void);

/*
 * Added to the cost of a path that drops rows of the query: more than other
 * paths cost, but less than what is switched off (disable_cost).
 */
#define ECP_COST_UNWANTED		5.0e9

/* ecp_path_joined.c: scans, and nested loops with one as their inner side */

/* The arguments of set_join_pathlist_hook. */
typedef struct EcpJoin
{
	PlannerInfo *root;
	RelOptInfo *rel;
	RelOptInfo *outer;
	RelOptInfo *inner;
	JoinType	type;
	JoinPathExtraData *extra;
} EcpJoin;

/* The scan of a match with these clauses, for which the loops above have rows of "outer". */
extern Path *ecp_path_scan(const EcpMatch *match, List *clauses, Relids outer,
						   bool index_only);

extern void ecp_path_joined_add(const EcpJoin *join);
extern bool ecp_path_is_joined(const Path *path);

/* Can a loop with one row of "other" give the query its order by a scan of "scan"? */
extern bool ecp_path_loop_fits(const EcpJoin *join, RelOptInfo *scan, RelOptInfo *other);
extern void ecp_path_add_loop(const EcpJoin *join, Path *outer, Path *inner, List *order);

/* ecp_path_batch.c */
extern void ecp_path_batch_add(const EcpJoin *join);

/* The same for the LIMIT above a scan that ecp_path_joined.c has made. */
extern void ecp_path_batch_add_limit(const EcpJoin *join, LimitPath *inner);

/* ecp_path_list.c */
extern void ecp_path_list_init(void);
extern void ecp_path_list_add(const EcpJoin *join);
extern const Path *ecp_path_list_of(const Path *path);

/* ecp_path_number.c */
extern void ecp_path_number_init(void);
extern void ecp_path_number_add(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output);

#endif							/* ECP_PLAN_H */
