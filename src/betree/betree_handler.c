/*-------------------------------------------------------------------------
 *
 * betree_handler.c
 *	  The IndexAmRoutine of the betree access method.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/nbtree.h"
#include "base/compat.h"
#include "betree/build/betree_build.h"
#include "betree/define/betree_opclass.h"
#include "betree/define/betree_options.h"
#include "betree/define/betree_validate.h"
#include "betree/ingest/betree_insert.h"
#include "betree/plan/betree_cost.h"
#include "betree/scan/betree_parallel.h"
#include "betree/scan/betree_scan.h"
#include "betree/upkeep/betree_vacuum.h"
#include "commands/vacuum.h"
#include "fmgr.h"

PG_FUNCTION_INFO_V1(betreehandler);

Datum
betreehandler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *amroutine = makeNode(IndexAmRoutine);

	amroutine->amstrategies = BETREE_STRATEGY_MAX;
	amroutine->amsupport = BETREE_NPROCS;
	amroutine->amoptsprocnum = BETREE_OPTIONS_PROC;
	amroutine->amcanorder = true;
	amroutine->amcanbackward = true;
	amroutine->amcanunique = true;
	amroutine->amcanmulticol = true;
	amroutine->amoptionalkey = true;
	amroutine->amsearcharray = true;
	amroutine->amsearchnulls = true;
	amroutine->amclusterable = true;
	amroutine->ampredlocks = true;
	amroutine->amcaninclude = true;
	amroutine->amcanparallel = true;
	amroutine->amparallelvacuumoptions = VACUUM_OPTION_NO_PARALLEL;
	amroutine->amkeytype = InvalidOid;
	ecp_am_set_ordering(amroutine);

	amroutine->ambuild = betreebuild;
	amroutine->ambuildempty = betreebuildempty;
	amroutine->aminsert = betreeinsert;
	amroutine->ambulkdelete = betreebulkdelete;
	amroutine->amvacuumcleanup = betreevacuumcleanup;
	amroutine->amcanreturn = betreecanreturn;
	amroutine->amcostestimate = betreecostestimate;
	amroutine->amoptions = betreeoptions;
	amroutine->amvalidate = betreevalidate;
	amroutine->ambeginscan = betreebeginscan;
	amroutine->amrescan = betreerescan;
	amroutine->amgettuple = betreegettuple;
	amroutine->amgetbitmap = betreegetbitmap;
	amroutine->amendscan = betreeendscan;
	amroutine->ammarkpos = betreemarkpos;
	amroutine->amrestrpos = betreerestrpos;
	amroutine->amestimateparallelscan = betreeestimateparallelscan;
	amroutine->aminitparallelscan = betreeinitparallelscan;
	amroutine->amparallelrescan = betreeparallelrescan;

	PG_RETURN_POINTER(amroutine);
}
