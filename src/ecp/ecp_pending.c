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

#include "access/genam.h"
#include "fmgr.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define ECP_PENDING(name) \
	__attribute__((weak)) void name(void) \
	{ elog(ERROR, "%s is not available", #name); }

ECP_PENDING(ecpbeginscan)
ECP_PENDING(ecprescan)
ECP_PENDING(ecpgettuple)
ECP_PENDING(ecpendscan)
ECP_PENDING(ecpproperty)
ECP_PENDING(ecpcostestimate)

/* the code of support function 1: see EcpClassCode() in ecp.h */
__attribute__((weak))
void
ecp_class_get(Relation index, int *elem, int *metric)
{
	FmgrInfo   *proc = index_getprocinfo(index, 1, 1);
	int32		code = DatumGetInt32(FunctionCall1(proc, (Datum) 0));

	*elem = code / 256;
	*metric = code % 256;
}
