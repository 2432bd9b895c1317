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
 * A run that structure version V refers to is gone.  On a primary nothing
 * frees it while we may still read it; on a standby a maintainer's horizon
 * can pass us, as heap rows can.
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
