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
#include "betree/create/betree_build.h"
#include "betree/define/betree_define.h"
#include "betree/ingest/betree_ingest.h"
#include "betree/plan/betree_plan.h"
#include "betree/scan/betree_scan.h"
#include "betree/upkeep/betree_upkeep.h"
#include "commands/vacuum.h"
#include "fmgr.h"

PG_FUNCTION_INFO_V1(betreehandler);

static const IndexAmRoutine betree_routine = {
	.type = T_IndexAmRoutine,
	.amstrategies = BETREE_STRATEGY_MAX,
	.amsupport = BETREE_NPROCS,
	.amoptsprocnum = BETREE_OPTIONS_PROC,
	.amcanorder = true,
	.amcanbackward = true,
	.amcanunique = true,
	.amcanmulticol = true,
	.amoptionalkey = true,
	.amsearcharray = true,
	.amsearchnulls = true,
	.amclusterable = true,
	.ampredlocks = true,
	.amcaninclude = true,
	.amcanparallel = true,
	.amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL,
	.amkeytype = InvalidOid,
	ECP_AM_PARALLEL_BUILD
	ECP_AM_ORDERING
	.ambuild = betreebuild,
	.ambuildempty = betreebuildempty,
	.aminsert = betreeinsert,
	.ambulkdelete = betreebulkdelete,
	.amvacuumcleanup = betreevacuumcleanup,
	.amcanreturn = betreecanreturn,
	.amcostestimate = betreecostestimate,
	ECP_AM_TREE_HEIGHT(betree_cost_height)
	.amoptions = betreeoptions,
	.ambuildphasename = betreebuildphasename,
	.amvalidate = betreevalidate,
	.ambeginscan = betreebeginscan,
	.amrescan = betreerescan,
	.amgettuple = betreegettuple,
	.amgetbitmap = betreegetbitmap,
	.amendscan = betreeendscan,
	.ammarkpos = betreemarkpos,
	.amrestrpos = betreerestrpos,
	.amestimateparallelscan = betreeestimateparallelscan,
	.aminitparallelscan = betreeinitparallelscan,
	.amparallelrescan = betreeparallelrescan,
};

Datum
betreehandler(PG_FUNCTION_ARGS)
{
	ECP_RETURN_AM_ROUTINE(betree_routine);
}
