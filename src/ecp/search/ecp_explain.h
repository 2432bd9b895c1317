/*-------------------------------------------------------------------------
 *
 * ecp_explain.h
 *	  What EXPLAIN ANALYZE says of a scan.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_EXPLAIN_H
#define ECP_EXPLAIN_H

#include "base/compat.h"

#ifdef ECP_HAVE_EXPLAIN_HOOK
extern void ecp_explain_init(void);
#else
#define ecp_explain_init()	((void) 0)
#endif

#endif							/* ECP_EXPLAIN_H */
