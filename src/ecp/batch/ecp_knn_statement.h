/*-------------------------------------------------------------------------
 *
 * ecp_knn_statement.h
 *	  Many queries at once: the statement that a user would write.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_KNN_STATEMENT_H
#define ECP_KNN_STATEMENT_H

#include "access/skey.h"
#include "ecp/batch/ecp_knn.h"
#include "fmgr.h"

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

#endif							/* ECP_KNN_STATEMENT_H */
