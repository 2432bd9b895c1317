/*-------------------------------------------------------------------------
 *
 * ecp_pending.c
 *	  Weak definitions of what is not written yet, so that the module loads
 *	  while the folders grow.  Every real definition overrides one of these;
 *	  the file goes when the last has come.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define ECP_PENDING(name) \
	__attribute__((weak)) void name(void) \
	{ elog(ERROR, "%s is not available", #name); }

ECP_PENDING(ecp_elem_size)
ECP_PENDING(ecp_factors_count)
ECP_PENDING(ecp_factors_compute)
ECP_PENDING(ecp_columns_put)
ECP_PENDING(ecp_columns_get)
ECP_PENDING(ecpbuild)
ECP_PENDING(ecpbuildempty)
ECP_PENDING(ecpbuildphasename)
ECP_PENDING(ecpbeginscan)
ECP_PENDING(ecprescan)
ECP_PENDING(ecpgettuple)
ECP_PENDING(ecpendscan)
ECP_PENDING(ecpproperty)
ECP_PENDING(ecpcostestimate)
ECP_PENDING(ecpinsert)
ECP_PENDING(ecpbulkdelete)
ECP_PENDING(ecpvacuumcleanup)
ECP_PENDING(ecpvalidate)
