/*-------------------------------------------------------------------------
 *
 * opclass.h
 *	  Whether an operator class is fit for an access method.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_OPCLASS_H
#define ECP_OPCLASS_H

#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_opclass.h"
#include "utils/catcache.h"

/* What an access method asks of an operator class; each reports what is wrong. */
typedef struct EcpOpclassRules
{
	bool		(*function) (const char *family, Form_pg_amproc form);
	bool		(*operator) (const char *family, Form_pg_amop form);
	/* are operators and functions of the family all that the class needs? */
	bool		(*complete) (Form_pg_opclass class, const char *family,
							 CatCList *operators, CatCList *functions);
} EcpOpclassRules;

/* amvalidate: report as INFO all that is wrong; true if that is nothing. */
extern bool ecp_opclass_validate(Oid oid, const EcpOpclassRules *rules);

/* Report a fault of a family as INFO; returns false, and the caller looks for more. */
extern bool ecp_opclass_fault(const char *method, const char *family, const char *fault);

#endif							/* ECP_OPCLASS_H */
