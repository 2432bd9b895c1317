/*-------------------------------------------------------------------------
 *
 * core_dsm.c
 *	  Dynamic shared memory where there may be too little of it.
 *
 * A container has 64 MB of /dev/shm unless it is told otherwise, and the
 * server raises an error for a segment that does not fit, which is the only
 * way to find out: what is free is not known on all platforms, and others may
 * take it before we do.  So we catch the error.
 *
 * In general only a subtransaction can clean up after an error.  None can be
 * started in parallel mode, where most segments are made.  But little is to be
 * cleaned up here: the operating system's call fails before the server holds a
 * lock, and the server has removed what it made of the segment when it raises
 * the error; the descriptor, and whatever else has been acquired, belongs to
 * the current resource owner.  That is one of our own for the time of the
 * call.  Any other error than that of a shortage is passed on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/core.h"
#include "utils/resowner.h"

typedef dsm_segment *(*DsmMake) (void *arg);

/* What make(arg) returns, or NULL if there is no room for it. */
static dsm_segment *
dsm_try(DsmMake make, void *arg)
{
	MemoryContext oldctx = CurrentMemoryContext;
	ResourceOwner oldowner = CurrentResourceOwner;
	ResourceOwner owner = ResourceOwnerCreate(oldowner, "ecp shared memory");
	dsm_segment *volatile seg = NULL;

	CurrentResourceOwner = owner;
	PG_TRY();
	{
		seg = make(arg);
		if (seg)
			dsm_pin_mapping(seg);
	}
	PG_CATCH();
	{
		CurrentResourceOwner = oldowner;
		if (ERRCODE_TO_CATEGORY(geterrcode()) != ERRCODE_INSUFFICIENT_RESOURCES)
			PG_RE_THROW();
		MemoryContextSwitchTo(oldctx);
		FlushErrorState();
	}
	PG_END_TRY();
	CurrentResourceOwner = oldowner;
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_BEFORE_LOCKS, seg != NULL, false);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_LOCKS, seg != NULL, false);
	ResourceOwnerRelease(owner, RESOURCE_RELEASE_AFTER_LOCKS, seg != NULL, false);
	ResourceOwnerDelete(owner);
	if (seg)
		dsm_unpin_mapping(seg);
	return seg;
}

static dsm_segment *
dsm_make(void *arg)
{
	return dsm_create(*(Size *) arg, DSM_CREATE_NULL_IF_MAXSEGMENTS);
}

dsm_segment *
ecp_dsm_create(Size bytes)
{
	Assert(bytes > 0);
	return dsm_try(dsm_make, &bytes);
}

static dsm_segment *
dsm_make_parallel(void *arg)
{
	ParallelContext *pcxt = arg;

	InitializeParallelDSM(pcxt);
	return pcxt->seg;
}

bool
ecp_dsm_initialize(ParallelContext *pcxt)
{
	Assert(pcxt->seg == NULL);
	return dsm_try(dsm_make_parallel, pcxt) != NULL;
}
