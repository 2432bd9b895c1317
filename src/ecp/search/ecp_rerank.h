/*-------------------------------------------------------------------------
 *
 * ecp_rerank.h
 *	  From bounds of ranks to rows in the order of their exact ranks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_RERANK_H
#define ECP_RERANK_H

#include "base/topk.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_table_row.h"
#include "lib/pairingheap.h"
#include "vector/vector_distance.h"

/* An entry page whose rows were given numbers from "first" on. */
typedef struct EcpCodePage
{
	uint64		first;
	BlockNumber blk;			/* of its run */
	uint64		run;
	uint32		entry_pages;
	uint32		slot;			/* its first, of the run */
	Buffer	   *recent;			/* hints of the run's pages */
	int			nrecent;
} EcpCodePage;

typedef struct EcpRerank
{
	EcpProbe   *probe;
	const EcpQuery *query;		/* of exact ranks; set before each search */
	MemoryContext context;		/* that it lives in */

	/* rows that were given numbers */
	uint64		nrows;
	uint64		rows_max;
	ItemPointerData *tids;
	int			npages;
	int			pages_max;
	EcpCodePage *pages;

	/* those whose exact rank is known and that wait */
	pairingheap *exact;
	uint64		nexact;
	struct EcpExactRow *unused;
	char	   *vector;			/* one that spans pages */
	uint32		vec_bytes_max;	/* room in it */
	EcpTableRow *table;			/* rows' exact vectors are there, and rows
								 * have no numbers; or NULL */
	Relation	heap;			/* rows will be fetched from it, or NULL */
	float8		near;			/* largest rank of rows to prefetch */
	bool		numbered;		/* rows taken keep their numbers */
	uint64		reranked;		/* rows compared exactly */
} EcpRerank;

extern void ecp_rerank_init(EcpRerank *rerank, EcpProbe *probe);
extern void ecp_rerank_reset(EcpRerank *rerank);
extern uint64 ecp_rerank_add_page(EcpRerank *rerank, const EcpProbeRun *run,
								  uint32 slot, int n,
								  const ItemPointerData *tids);
extern float8 ecp_rerank_rank(EcpRerank *rerank, uint64 number);

/*
 * Pin and share-lock the entry page of a row once more.  What is in the row's
 * slot may have changed since it got its number.
 */
extern Buffer ecp_rerank_entry(EcpRerank *rerank, uint64 number,
							   EcpEntryView *view, int *slot);

/* Copy the vector of a row, where it is not on the entry page. */
extern void ecp_rerank_vector(EcpRerank *rerank, uint64 number, void *vector);
extern bool ecp_rerank_take(EcpRerank *rerank, EcpTopk *bounds,
							EcpRanked *row);

/* A row that was taken waits again. */
extern void ecp_rerank_put_back(EcpRerank *rerank, const EcpRanked *row);

#endif							/* ECP_RERANK_H */
