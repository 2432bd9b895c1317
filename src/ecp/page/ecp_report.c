/*-------------------------------------------------------------------------
 *
 * ecp_report.c
 *	  Errors about damaged pages, and pages that are gone.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "ecp/page/ecp_page.h"

void
ecp_report_corrupt(Relation index, BlockNumber blk, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" contains a corrupted page at block %u",
					RelationGetRelationName(index), blk),
			 errdetail_internal("%s", detail),
			 errhint("Please REINDEX it.")));
}

/*
 * Report that a run to which structure version V refers is gone.  On a primary
 * it is not freed while a snapshot needs it; on a standby, the primary may free
 * it, as it may remove heap rows.
 */
void
ecp_report_moved(Relation index, BlockNumber blk)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("canceling statement due to conflict with recovery"),
				 errdetail("Block %u of index \"%s\" was reused by the primary.",
						   blk, RelationGetRelationName(index))));
	ecp_report_corrupt(index, blk,
					   "The page belongs to another run than its reference says.");
}
