/*-------------------------------------------------------------------------
 *
 * ecp_share.c
 *	  SEARCH: one search by several processes.
 *
 * The processes of a parallel scan read the clusters of one search, each
 * cluster by one of them, and each returns the rows of its clusters in order;
 * Gather Merge puts the streams together.  In shared memory, the descriptor
 * of the parallel scan, there are
 *
 * - what the first process has decided for all: the metapage as it was, whose
 *	 structure version says which clusters there are, and the plan of the
 *	 first window;
 * - a ring of clusters in order of promise, from which processes take a few
 *	 at a time; buffers are among them once, whatever rows wait there;
 * - sums over all of them, on which the end of a window depends.
 *
 * One process fills the ring from its descent.  That is usually the leader,
 * whose cache has the nodes, while a worker has yet to start.  A process that
 * returns rows may not be waited for, since nobody knows when it will be asked
 * for the next one; if that is the one who fills the ring, whoever needs more
 * takes over.  It makes a descent of its own and skips what was given out:
 * nodes at one version are the same for all, and so is the order in which
 * clusters come out of them.  (Should that ever not be so, fingerprints
 * differ, and it is an error.)
 *
 * The first window is common: a process returns no row before all clusters
 * of it are given out, and its own are read.  So the first rows of the merged
 * stream are those that one process alone would return; it may stop where
 * clusters are too far away (ecp_target.c), as the nearest rows that any of
 * them has read say, and be made larger by conditions on attributes, after
 * all have been read.  Later a process whose rows come to an end takes
 * further clusters, about as many as its share of a window would be.  With a
 * radius windows stay common: they are ranges of positions in the order of
 * clusters, and nobody enters one before there is a row within the radius in
 * the one before.
 *
 * Processes wait for each other only inside the reading of a window, where
 * nobody depends on the executor.  Who comes when the first window is given
 * out, and nobody has gone on, has nothing to return.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relscan.h"
#include "base/compat.h"
#include "common/hashfn.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_descent.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_share.h"
#include "ecp/search/ecp_target.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"

/* Clusters between being found and being taken. */
#define SHARE_RING			512

/* Clusters taken at a time, at most, and hints that go with one. */
#define SHARE_CHUNK			8
#define SHARE_CHUNK_COLD	16
#define SHARE_HINTS			8

typedef struct ShareCluster
{
	EcpChildData child;
	float4		rank;
	bool		is_buffer;
	int			producer;
	Buffer	   *recent;			/* in the memory of that process */
	int			nrecent;
	Buffer		hints[SHARE_HINTS]; /* a copy of the first of them */
} ShareCluster;

typedef enum SharePhase
{
	SHARE_NEW,
	SHARE_OPENING,				/* somebody is about to decide */
	SHARE_OPEN
} SharePhase;

struct EcpShared
{
	slock_t		mutex;			/* for all that follows but the ring's free
								 * places, and "state" and "plan" when open */
	ConditionVariable changed;
	SharePhase	phase;
	int			nprocesses;		/* that came so far */

	EcpIndexState state;
	EcpScanPlan plan;
	bool		filtered;
	bool		radius;

	/* clusters: positions in the order of promise */
	uint64		produced;
	uint64		claimed;
	uint64		fingerprint;	/* of those produced */
	bool		exhausted;		/* there are no others */
	int			producer;		/* whose descent is where "produced" is */
	bool		producer_reads; /* and will come back to fill the ring */
	bool		producing;		/* somebody is about to */

	uint64		end;			/* of the first window */
	bool		first_over;
	bool		early;			/* it ended before "end" */
	int			reading;		/* clusters taken and not read yet */
	uint64		last_hit;		/* position up to which there are candidates */

	/* of clusters that were read */
	uint64		clusters;
	uint64		vectors;
	uint64		filtered_rows;
	EcpTopRanks nearest;

	ShareCluster ring[SHARE_RING];
};

typedef enum ShareVerdict
{
	SHARE_TAKE,
	SHARE_PRODUCE,
	SHARE_WAIT,
	SHARE_END
} ShareVerdict;

Size
ecpestimateparallelscan(ECP_ESTIMATE_PARALLEL_ARGS)
{
	return sizeof(EcpShared);
}

/* A search that nobody has begun. */
static void
share_reset(EcpShared *shared)
{
	memset((char *) shared + offsetof(EcpShared, phase), 0,
		   offsetof(EcpShared, ring) - offsetof(EcpShared, phase));
	ecp_top_ranks_reset(&shared->nearest);
}

void
ecpinitparallelscan(void *target)
{
	EcpShared  *shared = target;

	SpinLockInit(&shared->mutex);
	ConditionVariableInit(&shared->changed);
	share_reset(shared);
}

void
ecpparallelrescan(IndexScanDesc scan)
{
	/* the workers have ended, and we have not begun */
	share_reset(ecp_parallel_scan_target(scan));
}

bool
ecp_share_enter(EcpShare *share)
{
	EcpShared  *shared = share->shared;
	SharePhase	phase;

	SpinLockAcquire(&shared->mutex);
	share->number = ++shared->nprocesses;
	phase = shared->phase;
	if (phase == SHARE_NEW)
		shared->phase = SHARE_OPENING;
	SpinLockRelease(&shared->mutex);
	if (phase == SHARE_NEW)
		return true;

	ConditionVariablePrepareToSleep(&shared->changed);
	for (;;)
	{
		SpinLockAcquire(&shared->mutex);
		phase = shared->phase;
		SpinLockRelease(&shared->mutex);
		if (phase == SHARE_OPEN)
			break;
		ConditionVariableSleep(&shared->changed, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
	return false;
}

void
ecp_share_open(EcpShare *share, const EcpScanPlan *plan, bool filtered,
			   bool radius)
{
	EcpShared  *shared = share->shared;

	shared->state = *share->state;
	shared->plan = *plan;
	shared->filtered = filtered;
	shared->radius = radius;
	shared->end = plan->early ? plan->most : plan->probes;

	/* buffers have places in the ring, at most one for each cluster or so */
	shared->end += Min(shared->state.meta.ecpm_nbuffers, shared->end);

	SpinLockAcquire(&shared->mutex);
	shared->phase = SHARE_OPEN;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
}

const EcpIndexState *
ecp_share_state(const EcpShare *share)
{
	return &share->shared->state;
}

const EcpScanPlan *
ecp_share_plan(const EcpShare *share)
{
	return &share->shared->plan;
}

void
ecp_share_set_query(EcpShare *share, void *prepared)
{
	const EcpShared *shared = share->shared;

	/* the same for all, since the descent depends on it */
	share->prepared = prepared;
	share->expected = Min(shared->plan.early ? shared->plan.most :
						  shared->plan.probes,
						  shared->state.meta.ecpm_nleaves);
}

/*
 * The next cluster of our descent, which counts from the first.
 */
static bool
share_descend(EcpShare *share, EcpClusterRef *cluster)
{
	if (!ecp_descent_next(share->descent, cluster))
		return false;
	share->position++;

	/* of the clusters, not of their order */
	share->fingerprint +=
		hash_bytes_uint32_extended((uint32) cluster->child.ecpc_run,
								   cluster->child.ecpc_run >> 32);
	return true;
}

/* Bring our descent to where the ring ends. */
static void
share_catch_up(EcpShare *share, uint64 position, uint64 fingerprint)
{
	EcpClusterRef cluster;

	if (share->descent == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(share->context);

		share->descent = ecp_descent_begin(share->probe->index, share->state,
										   share->prepared, false,
										   share->expected);
		ecp_descent_set_whole(share->descent);
		MemoryContextSwitchTo(old);
	}
	while (share->position < position && share_descend(share, &cluster))
		CHECK_FOR_INTERRUPTS();
	if (share->position != position || share->fingerprint != fingerprint)
		elog(ERROR, "processes disagree on the clusters of index \"%s\"",
			 RelationGetRelationName(share->probe->index));
}

/*
 * Fill the ring with up to n clusters.  shared->producing keeps others from
 * doing so, and nobody reads the places that we write to.
 */
static void
share_produce(EcpShare *share, uint64 n)
{
	EcpShared  *shared = share->shared;
	MemoryContext old = MemoryContextSwitchTo(share->context);
	uint64		produced;
	uint64		fingerprint;
	uint64		room;
	uint64		count = 0;
	EcpClusterRef *refs;

	SpinLockAcquire(&shared->mutex);
	produced = shared->produced;
	fingerprint = shared->fingerprint;
	room = SHARE_RING - (produced - shared->claimed);
	SpinLockRelease(&shared->mutex);

	share_catch_up(share, produced, fingerprint);
	n = Min(n, room);
	refs = palloc(sizeof(EcpClusterRef) * n);
	while (count < n && share_descend(share, &refs[count]))
		count++;
	for (uint64 i = 0; i < count; i++)
	{
		ShareCluster *place = &shared->ring[(produced + i) % SHARE_RING];

		place->child = refs[i].child;
		place->rank = refs[i].rank;
		place->is_buffer = refs[i].is_buffer;
		place->producer = share->number;
		place->recent = refs[i].recent;
		place->nrecent = refs[i].nrecent;
		if (place->nrecent > 0)
			memcpy(place->hints, place->recent,
				   sizeof(Buffer) * Min(place->nrecent, SHARE_HINTS));
	}
	pfree(refs);

	SpinLockAcquire(&shared->mutex);
	shared->produced = share->position;
	shared->fingerprint = share->fingerprint;
	shared->exhausted = count < n;
	shared->producing = false;
	shared->producer = share->number;
	shared->producer_reads = true;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
	MemoryContextSwitchTo(old);
}

/*
 * Note what was found in the clusters taken last, with the lock held.
 * Returns whether somebody may have waited for it.
 */
static bool
share_settle(EcpShare *share)
{
	EcpShared  *shared = share->shared;

	if (share->held == 0)
		return false;
	Assert(EcpProbeWaiting(share->probe) == 0);
	shared->reading -= share->held;
	shared->clusters += share->held;

	/* where there are no rows there might have been a candidate */
	if (*share->candidates > share->noted_candidates ||
		share->stats->vectors == share->noted_vectors)
		shared->last_hit = Max(shared->last_hit, share->held_end);
	shared->vectors += share->stats->vectors - share->noted_vectors;
	shared->filtered_rows += share->stats->filtered - share->noted_filtered;
	share->held = 0;
	share->noted_vectors = share->stats->vectors;
	share->noted_filtered = share->stats->filtered;
	share->noted_candidates = *share->candidates;

	if (shared->plan.early && !shared->first_over)
	{
		for (int i = 0; i < share->nearest->n; i++)
			(void) ecp_top_ranks_add(&shared->nearest, share->nearest->ranks[i]);
		share->nearest->n = 0;
		share->nearest->kth = shared->nearest.kth;
	}
	return shared->reading == 0;
}

/* Make the first window as large as the share of rows that pass calls for. */
static void
share_grow(EcpShared *shared)
{
	double		rows = shared->vectors + shared->filtered_rows;
	double		wanted = shared->clusters * 2.0;

	if (shared->clusters == 0)
		return;
	if (shared->vectors > 0)
		wanted = Min(wanted,
					 ecp_filter_probes(shared->plan.probes,
									   shared->vectors / rows,
									   rows / shared->clusters));
	shared->end = Max(shared->end, (uint64) wanted);
}

/*
 * With a radius: the window in which the next cluster is, and which it may
 * not be taken from before the one that ends where it begins had a row.
 */
static void
share_radius_window(const EcpShared *shared, uint64 *before, uint64 *end)
{
	uint64		size = Max(shared->end, 1);
	uint64		first = size;

	*before = 0;
	while (shared->claimed >= first + size * 2)
	{
		*before = first;
		size *= 2;
		first += size;
	}
	*end = first + size * 2;
}

/* May we take clusters behind the first window, up to *limit? */
static ShareVerdict
share_judge_more(const EcpShared *shared, uint64 *limit, EcpShareEnd *end)
{
	uint64		before;

	*limit = PG_UINT64_MAX;
	if (!shared->radius)
		return SHARE_TAKE;
	share_radius_window(shared, &before, limit);
	if (shared->last_hit > before)
		return SHARE_TAKE;
	*end = ECP_SHARE_RADIUS;
	return shared->reading > 0 ? SHARE_WAIT : SHARE_END;
}

/* And those of the first window? */
static ShareVerdict
share_judge_first(EcpShared *shared, uint64 *limit, EcpShareEnd *end)
{
	const EcpScanPlan *plan = &shared->plan;

	*end = shared->early ? ECP_SHARE_EARLY : ECP_SHARE_WINDOW;
	if (shared->first_over)
		return SHARE_END;
	if (shared->claimed >= shared->end && shared->filtered)
	{
		if (shared->reading > 0)
			return SHARE_WAIT;
		share_grow(shared);
	}
	*limit = shared->end;
	/* a buffer belongs to a cluster that was taken */
	if (plan->early && shared->claimed >= plan->least &&
		shared->claimed < shared->produced &&
		!shared->ring[shared->claimed % SHARE_RING].is_buffer &&
		ecp_target_reached(shared->state.meta.ecpm_metric,
						   shared->ring[shared->claimed % SHARE_RING].rank,
						   shared->nearest.kth, plan->slack))
	{
		shared->early = true;
		shared->end = shared->claimed;
		*end = ECP_SHARE_EARLY;
	}
	if (shared->claimed < shared->end)
		return SHARE_TAKE;
	shared->first_over = true;
	return SHARE_END;
}

/* What is to be done next; with the lock held. */
static ShareVerdict
share_judge(EcpShare *share, bool first, uint64 *limit, EcpShareEnd *end)
{
	EcpShared  *shared = share->shared;
	ShareVerdict verdict;

	verdict = first ? share_judge_first(shared, limit, end) :
		share_judge_more(shared, limit, end);
	if (verdict == SHARE_TAKE && share->max_rows >= 0 && shared->clusters > 0 &&
		shared->vectors + shared->filtered_rows >= share->max_rows)
	{
		*end = ECP_SHARE_ROWS;
		shared->first_over = true;
		return SHARE_END;
	}
	if (verdict != SHARE_TAKE || shared->claimed < shared->produced)
		return verdict;
	if (shared->exhausted)
	{
		*end = ECP_SHARE_CLUSTERS;
		shared->first_over = true;
		return SHARE_END;
	}
	if (shared->producing ||
		(shared->producer_reads && shared->producer != share->number))
		return SHARE_WAIT;
	shared->producing = true;
	return SHARE_PRODUCE;
}

/*
 * Copy the next clusters into "chunk", with the lock held; the last ones of a
 * window one by one, so that all processes come to its end together.
 */
static int
share_claim(EcpShare *share, uint64 limit, uint64 n, ShareCluster *chunk)
{
	EcpShared  *shared = share->shared;
	uint64		left = Min(limit, shared->produced) - shared->claimed;
	uint64		most = ecp_probe_is_cold() && !shared->plan.early ?
		SHARE_CHUNK_COLD : SHARE_CHUNK;

	most = Min(most, left / (2 * shared->nprocesses));
	if (share->max_rows >= 0)
		most = 1;
	n = Min(n, Max(most, 1));
	for (uint64 i = 0; i < n; i++)
		chunk[i] = shared->ring[(shared->claimed + i) % SHARE_RING];
	shared->claimed += n;
	shared->reading += n;
	share->held = n;
	share->held_end = shared->claimed;
	share->taken += n;
	return n;
}

/* Give a chunk to the probe. */
static void
share_fill_probe(EcpShare *share, const ShareCluster *chunk, int n)
{
	MemoryContext old = MemoryContextSwitchTo(share->context);
	EcpClusterRef *refs = ecp_probe_room(share->probe, n);

	memset(refs, 0, sizeof(EcpClusterRef) * n);
	for (int i = 0; i < n; i++)
	{
		refs[i].child = chunk[i].child;
		refs[i].rank = chunk[i].rank;
		refs[i].is_buffer = chunk[i].is_buffer;
		refs[i].bins = ECP_BINS_ALL;
		refs[i].parent_blk = InvalidBlockNumber;
		refs[i].recent = chunk[i].recent;
		refs[i].nrecent = chunk[i].nrecent;
		if (chunk[i].producer != share->number)
		{
			refs[i].nrecent = Min(refs[i].nrecent, SHARE_HINTS);
			refs[i].recent = palloc(sizeof(Buffer) * SHARE_HINTS);
			memcpy(refs[i].recent, chunk[i].hints,
				   sizeof(Buffer) * SHARE_HINTS);
		}
	}
	ecp_probe_added(share->probe, n);
	MemoryContextSwitchTo(old);
}

int
ecp_share_take(EcpShare *share, bool first, uint64 n, EcpShareEnd *end)
{
	EcpShared  *shared = share->shared;
	ShareCluster chunk[Max(SHARE_CHUNK, SHARE_CHUNK_COLD)];
	ShareVerdict verdict;
	uint64		limit;
	uint64		produced = 0;
	int			taken = 0;
	bool		wake;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		SpinLockAcquire(&shared->mutex);
		wake = share_settle(share);
		verdict = share_judge(share, first, &limit, end);
		if (verdict == SHARE_TAKE)
			taken = share_claim(share, limit, n, chunk);
		else
			produced = shared->produced;
		SpinLockRelease(&shared->mutex);

		if (wake)
			ConditionVariableBroadcast(&shared->changed);
		if (verdict == SHARE_TAKE || verdict == SHARE_END)
			break;
		if (verdict == SHARE_PRODUCE)
			share_produce(share, first ? limit - produced : n);
		else
		{
			/* what changed before we were in the queue has to be seen */
			ConditionVariablePrepareToSleep(&shared->changed);
			SpinLockAcquire(&shared->mutex);
			verdict = share_judge(share, first, &limit, end);
			if (verdict == SHARE_PRODUCE)
				shared->producing = false;	/* next time */
			SpinLockRelease(&shared->mutex);
			if (verdict == SHARE_WAIT)
				ConditionVariableSleep(&shared->changed, PG_WAIT_EXTENSION);
			ConditionVariableCancelSleep();
		}
	}
	if (taken > 0)
		share_fill_probe(share, chunk, taken);
	return taken;
}

void
ecp_share_pause(EcpShare *share)
{
	EcpShared  *shared = share->shared;
	bool		wake;

	SpinLockAcquire(&shared->mutex);
	wake = share_settle(share);
	if (shared->producer == share->number)
	{
		shared->producer_reads = false;
		wake = true;
	}
	SpinLockRelease(&shared->mutex);
	if (wake)
		ConditionVariableBroadcast(&shared->changed);
}

/* Has all work been done before we came? */
bool
ecp_share_is_late(EcpShare *share)
{
	EcpShared  *shared = share->shared;
	bool		late;

	SpinLockAcquire(&shared->mutex);
	late = share->taken == 0 && shared->claimed <= shared->end;
	SpinLockRelease(&shared->mutex);
	return late;
}

/* Our share of the clusters of the first window. */
uint64
ecp_share_window(EcpShare *share)
{
	EcpShared  *shared = share->shared;
	uint64		window;

	SpinLockAcquire(&shared->mutex);
	window = Max(shared->end, shared->plan.probes) / shared->nprocesses;
	SpinLockRelease(&shared->mutex);
	return Max(window, 1);
}

void
ecp_share_leave(EcpShare *share)
{
	if (share->descent)
		ecp_descent_end(share->descent);
	share->descent = NULL;
}
