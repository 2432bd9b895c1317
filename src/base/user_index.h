/*-------------------------------------------------------------------------
 *
 * user_index.h
 *	  What callers of SQL functions name: indexes, rows, arrays, conditions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_USER_INDEX_H
#define ECP_USER_INDEX_H

#include "access/amapi.h"
#include "access/tupdesc.h"
#include "fmgr.h"
#include "nodes/plannodes.h"
#include "parser/parse_node.h"
#include "storage/itemptr.h"
#include "utils/array.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* How we know the indexes of an access method, whatever it is called. */
typedef struct EcpIndexKind
{
	const char *name;			/* with its article, for messages */
	amoptions_function options; /* that only its access method has */
} EcpIndexKind;

/* What a user must be allowed to do. */
typedef enum EcpIndexRight
{
	ECP_INDEX_READ,				/* SELECT from the whole table */
	ECP_INDEX_OWN
} EcpIndexRight;

/* The caller, while we act as the owner of a table. */
typedef struct EcpCaller
{
	Oid			userid;
	int			sec_context;
	int			nestlevel;
} EcpCaller;

typedef struct EcpUserIndex
{
	Relation	heap;
	Relation	index;
	LOCKMODE	lockmode;
	EcpCaller	caller;
} EcpUserIndex;

extern Relation ecp_user_index_open(FunctionCallInfo fcinfo, LOCKMODE lockmode,
									EcpIndexRight right,
									const EcpIndexKind *kind, Relation *heap);
extern Relation ecp_user_index_open_monitored(FunctionCallInfo fcinfo,
											  const EcpIndexKind *kind);
extern void ecp_become_owner(EcpCaller *caller, Relation heap);
extern void ecp_become_caller(const EcpCaller *caller);
extern List *ecp_indexes_fold(Oid relid);
extern void ecp_indexes_close(List *indexes);
extern void ecp_user_index_begin(EcpUserIndex *user, FunctionCallInfo fcinfo,
								 LOCKMODE lockmode, const EcpIndexKind *kind);
extern void ecp_user_index_end(EcpUserIndex *user);

/* Rows that SQL functions return */

/*
 * The row of "n" columns that a function returns.  An error if it was declared
 * with another number of them, as by the script of another version.
 */
extern Datum ecp_user_row(FunctionCallInfo fcinfo, int n, const Datum *values,
						  const bool *nulls);

/*
 * Arrays that are arguments of SQL functions.
 *
 * Each function returns the elements of an array of at most one dimension and
 * their number in *n; there must be from "least" to "most" of them.  "what"
 * is their name in messages.
 */

/* NULL becomes NaN, which fails any comparison with a bound. */
extern double *ecp_user_array_float8(ArrayType *array, const char *what,
									 int least, int most, int *n);

/* NULL becomes 0; *nulls says which elements are NULL, unless nulls is NULL. */
extern int *ecp_user_array_int4(ArrayType *array, const char *what, int least,
								int most, int *n, bool **nulls);

/* NULL is an error. */
extern const char **ecp_user_array_name(ArrayType *array, const char *what,
										int least, int most, int *n);

/*
 * Tables that Citus distributes.  Such a table and its indexes are empty; the rows are
 * in the tables and indexes of its shards, which are ordinary ones on their nodes.  A
 * function that is given one refuses it, since it would report on an empty one;
 * doc/sharding.md has the calls for all shards.  Where the extension citus is absent,
 * all this is one lookup in a cache.
 */

/* Whether a table is distributed.  Reference and Citus local tables are, too. */
extern bool ecp_shards_exist(Oid table);

/* An error if the table is distributed. */
extern void ecp_shards_refuse(Oid table);

/*
 * render.c: values of a user's columns as text and JSON, without code of the user's.
 */

/* A value as text: as a cast to text has it, if the type is PostgreSQL's own. */
extern Datum ecp_render_text(Datum value, Oid type);

/* A row of these columns as jsonb. */
extern Datum ecp_render_row(TupleDesc desc, const Datum *values,
							const bool *nulls);

/* policy_scan.c: conditions on a table's columns that users give as texts */

/*
 * Add an open table to what a query reads, without its children, and return the
 * condition that is "text", as the parser makes it of a WHERE; NULL if that is
 * NULL.  It is an error if it is no boolean expression, or volatile.
 */
extern Node *ecp_condition_parse(ParseState *pstate, Relation rel,
								 const char *text);

/*
 * The same: the rows of a table that row-level security lets the current user see.
 */

typedef struct EcpPolicyScan EcpPolicyScan;

/*
 * Begin to read the TIDs of an open table's rows as the current user.  The table's
 * children are left out, and with a condition the rows for which it is not
 * true.
 */
extern EcpPolicyScan *ecp_policy_scan_begin(Relation rel, Snapshot snapshot,
											const char *condition);

/* The next TIDs, at most "max"; 0 in the end. */
extern int	ecp_policy_scan_next(EcpPolicyScan *scan, ItemPointerData *tids,
								 int max);

/*
 * Begin to ask for one row after the other, and: may the current user see the row
 * with this TID, and is the condition true of it?
 */
extern EcpPolicyScan *ecp_policy_scan_begin_rows(Relation rel,
												 Snapshot snapshot,
												 const char *condition);
extern bool ecp_policy_scan_has(EcpPolicyScan *scan,
								const ItemPointerData *tid);
extern void ecp_policy_scan_end(EcpPolicyScan *scan);

#endif							/* ECP_USER_INDEX_H */
