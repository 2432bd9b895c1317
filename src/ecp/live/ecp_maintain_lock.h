/*-------------------------------------------------------------------------
 *
 * ecp_maintain_lock.h
 *	  The lock of the one process that changes an index's structure.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_MAINTAIN_LOCK_H
#define ECP_MAINTAIN_LOCK_H

#include "utils/rel.h"

extern void ecp_maintain_lock_take(Relation index);

/* Without waiting; false if another process has it. */
extern bool ecp_maintain_lock_try(Relation index);
extern void ecp_maintain_lock_release(Relation index);

/* For assertions. */
extern bool ecp_maintain_lock_held(Relation index);

#endif							/* ECP_MAINTAIN_LOCK_H */
