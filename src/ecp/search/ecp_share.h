/*-------------------------------------------------------------------------
 *
 * ecp_share.h
 *	  One search by several processes: see ecp_share.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SHARE_H
#define ECP_SHARE_H

#include "base/compat.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_stat.h"
#include "ecp/search/ecp_descent.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_target.h"

/* What the processes share, in the memory of a parallel scan. */
typedef struct EcpShared EcpShared;

/*
 * A process that takes part in a search.  The caller fills in what stands
 * first; it lives until the search ends.
 */
typedef struct EcpShare
{
	EcpShared  *shared;
	EcpProbe   *probe;			/* gets the clusters */
	const EcpIndexState *state; /* as shared */
	const EcpSearchStats *stats;	/* rows that were compared and kept out */
	const uint64 *candidates;	/* rows that came to be candidates */
	EcpTopRanks *nearest;		/* their ranks; only in a plan.early */
	MemoryContext context;		/* that lives as long as the search */
	int			max_rows;		/* of all processes, to go on; -1 = any */

	int			number;			/* of the process, from 1 */
	uint64		taken;			/* clusters, in all */

	/* clusters that were taken last, and what was known before */
	int			held;
	uint64		held_end;		/* position behind them */
	uint64		noted_vectors;
	uint64		noted_filtered;
	uint64		noted_candidates;

	/* a descent of our own, if we have come to need one */
	void	   *prepared;
	int			expected;
	EcpDescent *descent;
	uint64		position;		/* clusters that it has given */
	uint64		fingerprint;	/* of them */
} EcpShare;

/* Why a process got no more clusters. */
typedef enum EcpShareEnd
{
	ECP_SHARE_WINDOW,			/* the first window was given out */
	ECP_SHARE_EARLY,			/* it ended where clusters are too far away */
	ECP_SHARE_CLUSTERS,			/* all clusters were */
	ECP_SHARE_RADIUS,			/* a window had no row within the radius */
	ECP_SHARE_ROWS				/* so many rows were read */
} EcpShareEnd;

/*
 * Take part.  Returns true if the caller is the first, who has to decide for
 * all and to call ecp_share_open(); the others wait until he has.
 */
extern bool ecp_share_enter(EcpShare *share);
extern void ecp_share_open(EcpShare *share, const EcpScanPlan *plan,
						   bool filtered, bool radius);

/* What the first one has decided. */
extern const EcpIndexState *ecp_share_state(const EcpShare *share);
extern const EcpScanPlan *ecp_share_plan(const EcpShare *share);

/* What descents begin with; "prepared" must live as long as the search. */
extern void ecp_share_set_query(EcpShare *share, void *prepared);

/*
 * Have the probe get some clusters to read, of the first window or, if not
 * "first", up to n of those behind it.  Returns their number; if that is 0,
 * *end says why.  Those taken before must have been read.
 */
extern int	ecp_share_take(EcpShare *share, bool first, uint64 n,
						   EcpShareEnd *end);

/*
 * Must be called when a process has read what it wants for now: it will do
 * nothing for the others until it takes clusters again.
 */
extern void ecp_share_pause(EcpShare *share);

/* Figures of all processes. */
extern bool ecp_share_is_late(EcpShare *share);
extern uint64 ecp_share_window(EcpShare *share);

/* Leave; touches nothing that is shared. */
extern void ecp_share_leave(EcpShare *share);

/* ---- the access method's functions ---- */

extern Size ecpestimateparallelscan(ECP_ESTIMATE_PARALLEL_ARGS);
extern void ecpinitparallelscan(void *target);
extern void ecpparallelrescan(IndexScanDesc scan);

#endif							/* ECP_SHARE_H */
