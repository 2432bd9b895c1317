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
#include "ecp/build/ecp_build.h"
#include "ecp/define/ecp_class.h"
#include "ecp/define/ecp_options.h"
#include "ecp/define/ecp_statement.h"
#include "ecp/live/ecp_insert.h"
#include "ecp/live/ecp_vacuum.h"
#include "ecp/plan/ecp_cost.h"
#include "ecp/search/ecp_index_only.h"
#include "ecp/search/ecp_scan.h"
#include "fmgr.h"

PGDLLEXPORT Datum ecphandler(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecphandler);

Datum
ecphandler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *amroutine = makeNode(IndexAmRoutine);

	ecp_statement_check(fcinfo->flinfo->fn_oid);

	amroutine->amstrategies = 0;
	amroutine->amsupport = ECP_NPROC;
	amroutine->amcanorderbyop = true;
	amroutine->amcanmulticol = true;
	amroutine->amoptionalkey = true;	/* NULL vectors are not indexed */
	amroutine->amsearcharray = true;	/* of key attributes */
	amroutine->amsearchnulls = true;
	amroutine->amcaninclude = true;
	/* workers could not truncate the file after a cleanup */
	amroutine->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL;
	amroutine->amkeytype = InvalidOid;

	ecp_am_set_parallel_build(amroutine);

	amroutine->ambuild = ecpbuild;
	amroutine->ambuildempty = ecpbuildempty;
	amroutine->aminsert = ecpinsert;
	amroutine->ambulkdelete = ecpbulkdelete;
	amroutine->amvacuumcleanup = ecpvacuumcleanup;
	amroutine->amcanreturn = ecpcanreturn;
	amroutine->amcostestimate = ecpcostestimate;
	amroutine->amoptions = ecpoptions;
	amroutine->amproperty = ecpproperty;
	amroutine->ambuildphasename = ecpbuildphasename;
	amroutine->amvalidate = ecpvalidate;
	amroutine->ambeginscan = ecpbeginscan;
	amroutine->amrescan = ecprescan;
	amroutine->amgettuple = ecpgettuple;
	amroutine->amendscan = ecpendscan;

	PG_RETURN_POINTER(amroutine);
}
