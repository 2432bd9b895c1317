/*-------------------------------------------------------------------------
 *
 * ecp_handler.c
 *	  ecphandler(): the IndexAmRoutine of the ecp access method.
 *
 * Nothing but the table of what the method can do and where it is done.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "commands/vacuum.h"
#include "ecp/create/ecp_build.h"
#include "ecp/define/ecp_define.h"
#include "ecp/live/ecp_live.h"
#include "ecp/plan/ecp_plan.h"
#include "ecp/search/ecp_scan.h"
#include "fmgr.h"

PGDLLEXPORT Datum ecphandler(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecphandler);

static const IndexAmRoutine ecp_routine = {
	.type = T_IndexAmRoutine,
	.amsupport = ECP_NPROC,
	.amcanorderbyop = true,
	.amcanmulticol = true,
	.amoptionalkey = true,		/* NULL vectors are not indexed */
	.amsearcharray = true,		/* of key attributes */
	.amsearchnulls = true,
	.amcaninclude = true,
	/* workers could not truncate the file after a cleanup */
	.amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL,
	.amkeytype = InvalidOid,
	ECP_AM_PARALLEL_BUILD
	.ambuild = ecpbuild,
	.ambuildempty = ecpbuildempty,
	.aminsert = ecpinsert,
	.ambulkdelete = ecpbulkdelete,
	.amvacuumcleanup = ecpvacuumcleanup,
	.amcanreturn = ecpcanreturn,
	.amcostestimate = ecpcostestimate,
	.amoptions = ecpoptions,
	.amproperty = ecpproperty,
	.ambuildphasename = ecpbuildphasename,
	.amvalidate = ecpvalidate,
	.ambeginscan = ecpbeginscan,
	.amrescan = ecprescan,
	.amgettuple = ecpgettuple,
	.amendscan = ecpendscan,
};

Datum
ecphandler(PG_FUNCTION_ARGS)
{
	ecp_statement_check(fcinfo->flinfo->fn_oid);
	ECP_RETURN_AM_ROUTINE(ecp_routine);
}
