/*-------------------------------------------------------------------------
 *
 * ecp_rerank.h
 *	  Exact vectors, of the index or the table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_RERANK_H
#define ECP_RERANK_H

#include "access/genam.h"
#include "base/topk.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_probe.h"
#include "lib/pairingheap.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"
#include "vector/vector_distance.h"

/* Where the exact ranks of rows come from whose vectors only the table has. */
typedef struct EcpTableRow EcpTableRow;

/* For the rows of a scan; in the current memory context. */
extern EcpTableRow *ecp_table_row_create(IndexScanDesc scan);
extern void ecp_table_row_free(EcpTableRow *row);

/* An entry page whose rows were given numbers from "first" on. */
typedef struct EcpCodePage
{
	uint64		first;
	BlockNumber blk;			/* of its run */
	uint64		run;
	uint32		vector_page;	/* of the run */
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

/* Prefetching pages of the table before the executor fetches rows from them. */

/* Rows that are prefetched before they are fetched. */
#define ECP_HEAP_AHEAD		2

/* Are the row pointers of this table (or NULL) blocks in shared buffers? */
extern bool ecp_heap_prefetch_helps(Relation heap);

/*
 * The row of an EcpRanked's item will be fetched soon: prefetch its page, and a
 * little later, when that is in memory, the row.
 */
extern void ecp_heap_prefetch_page(Relation heap, uint64 item);
extern void ecp_heap_prefetch_row(uint64 item);
extern void ecp_heap_prefetch_next(Relation heap, const EcpRanked *next, Size n,
								   uint64 taken);

#endif							/* ECP_RERANK_H */
