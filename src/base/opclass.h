/*-------------------------------------------------------------------------
 *
 * opclass.h
 *	  An operator class as the system catalogs have it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_OPCLASS_H
#define ECP_OPCLASS_H

#include "access/htup.h"
#include "catalog/pg_opclass.h"

/* The pointers are valid until it is released. */
typedef struct EcpOpclass
{
	Form_pg_opclass form;
	char	   *family;			/* name of its operator family */
	HeapTuple	class_tuple;
	HeapTuple	family_tuple;
} EcpOpclass;

extern void ecp_opclass_get(EcpOpclass *opclass, Oid oid);
extern void ecp_opclass_release(EcpOpclass *opclass);

/* Report a fault of a family as INFO; returns false, and the caller looks for more. */
extern bool ecp_opclass_fault(const char *method, const char *family, const char *fault);

#endif							/* ECP_OPCLASS_H */
