/*-------------------------------------------------------------------------
 *
 * ecp_knn_condition.h
 *	  Many queries at once: the rows that satisfy a condition.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_KNN_CONDITION_H
#define ECP_KNN_CONDITION_H

#include "access/skey.h"
#include "base/topk.h"
#include "nodes/plannodes.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

typedef struct EcpKnnConditionRun EcpKnnConditionRun;

/* What is known of a condition, in the main process. */
typedef struct EcpKnnCondition
{
	const char *text;
	Relation	heap;
	Relation	index;
	Snapshot	snapshot;
	PlannedStmt *plan;			/* of a search with the condition, for one
								 * query */
	Oid			type;			/* of its vector */
	int			k;
	MemoryContext context;		/* of searches */
	EcpKnnConditionRun *run;	/* that goes on with the next one, or NULL */

	/* what the plan says if it is a scan of the index */
	bool		indexed;		/* the index knows which rows satisfy it, */
	bool		recheck;		/* or may */
	bool		never;			/* none can */
	double		rows;			/* that the planner expects */
	int			nkeys;
	ScanKeyData *keys;
} EcpKnnCondition;

extern EcpKnnCondition *ecp_knn_condition_create(const char *text);
extern void ecp_knn_condition_plan(EcpKnnCondition *condition, Relation heap,
								   Relation index, Snapshot snapshot, int k);
extern void ecp_knn_condition_free(EcpKnnCondition *condition);

/*
 * With its plan, search for the rows nearest to a vector of the index's type; puts their
 * distances and TIDs, and returns how many there are, at most k.
 */
extern int	ecp_knn_condition_search(EcpKnnCondition *condition, Datum vector,
									 EcpRanked *rows, ItemPointerData *tids);

extern bool ecp_knn_keys_copy(Relation index, const ScanKeyData *from, int nfrom,
							  ScanKeyData *to, int *nto);
extern bool ecp_knn_keys_equal(Relation index, const ScanKeyData *keys, int nkeys,
							   const ScanKeyData *copy, int ncopy);

/* Scan keys in a piece of memory for other processes. */
extern Size ecp_knn_keys_bytes(Relation index, const ScanKeyData *keys, int nkeys);
extern void ecp_knn_keys_write(Relation index, const ScanKeyData *keys, int nkeys,
							   char *to);
extern ScanKeyData *ecp_knn_keys_read(char *from, int nkeys);

#endif							/* ECP_KNN_CONDITION_H */
