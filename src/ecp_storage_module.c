/*-------------------------------------------------------------------------
 *
 * ecp_storage_module.c
 *	  The loadable module of the extension ecp_storage: its magic block.
 *
 * It has no settings and needs no _PG_init.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "fmgr.h"

ECP_MODULE_MAGIC("ecp_storage", "1.0");
