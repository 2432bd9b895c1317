/*-------------------------------------------------------------------------
 *
 * ecp_probe.h
 *	  Reading the pages of clusters.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_PROBE_H
#define ECP_PROBE_H

#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_summary.h"
#include "ecp/search/ecp_descent.h"
#include "utils/snapshot.h"

/* Clusters taken from the descent at a time. */
#define ECP_PROBE_REFS			4096

/* The run that is being read. */
typedef struct EcpProbeRun
{
	BlockNumber blk;
	uint64		run;
	Buffer	   *recent;			/* hints for its first pages */
	int			nrecent;
	EcpRunHeaderData header;
} EcpProbeRun;

/*
 * Called with page_arg and each initialised entry page of a cluster, pinned
 * and share-locked in "buffer", which the callback releases.  Slots first ..
 * first + n - 1 of the run are on the page; later ones are not live, and n may
 * be 0.  At least ECP_KERNEL_SLACK bytes behind the page may be read.
 */
typedef void (*EcpProbePage) (void *arg, const EcpProbeRun *run,
							  Buffer buffer, const EcpEntryView *view,
							  uint32 first, int n);

/*
 * A reader of clusters.  The caller sets the fields up to "page_arg" and calls
 * ecp_probe_init().
 */
typedef struct EcpProbe
{
	Relation	index;
	const EcpIndexState *state; /* the version to read */
	Snapshot	snapshot;
	EcpProbePage page;			/* the callback */
	void	   *page_arg;
	const EcpClusterRef *ref;	/* cluster that is being read */
	uint64		clusters;		/* figures: read, or passed over */
	uint64		skipped;		/* of them, without a match by their summaries */
	uint64		pages;

	/* clusters to read, up to next_ref done */
	EcpClusterRef *refs;
	int			refs_max;
	int			nrefs;
	int			next_ref;
	int			prefetched;		/* refs prefetched */
	int			sure;			/* those before it will be read */
	int			asked;			/* those before it, their summaries */
	int			warm_ref;		/* where probe_warm() is */
	int			warm_page;
	bool		whole;			/* lower parts of rows will be read, too */
	bool		keys;			/* key attributes will be read */
	bool		sparse;			/* and decide that few vectors are */
	const EcpSummaryTest *summary;	/* what clusters must have then, or NULL */
	int			prefetch;		/* how many ahead; 0 = off */
	char	   *page_copy;		/* of a temporary table's page, or NULL */
} EcpProbe;

extern void ecp_probe_init(EcpProbe *probe);
extern EcpClusterRef *ecp_probe_room(EcpProbe *probe, int n);
extern void ecp_probe_added(EcpProbe *probe, int n);
extern int	ecp_probe_take(EcpProbe *probe, EcpDescent *descent, uint64 n);
extern void ecp_probe_prefetch(Relation index, BlockNumber blk,
							   uint32 npages);
extern bool ecp_probe_rules_out(Relation index, const EcpIndexState *state,
								Snapshot snapshot, const EcpSummaryTest *test,
								const EcpClusterRef *ref);
extern uint32 ecp_probe_next(EcpProbe *probe);
extern void ecp_probe_pause(EcpProbe *probe);
extern bool ecp_probe_is_cold(void);
extern Buffer ecp_probe_buffer(EcpProbe *probe, const EcpProbeRun *run,
							   int kind, uint32 pageno, Page *page);

/* Clusters and buffers taken and not read yet; is a buffer the next? */
#define EcpProbeWaiting(probe)	((probe)->nrefs - (probe)->next_ref)
#define EcpProbeAtBuffer(probe) \
	(EcpProbeWaiting(probe) > 0 && (probe)->refs[(probe)->next_ref].is_buffer)

#endif							/* ECP_PROBE_H */
