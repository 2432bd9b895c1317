/*-------------------------------------------------------------------------
 *
 * ecp_tablespaces.h
 *	  The tablespaces that ecp.build_tablespaces names.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_TABLESPACES_H
#define ECP_TABLESPACES_H

#include "utils/guc.h"

#define ECP_TABLESPACES_MAX		8

/* What is wrong with a list of tablespaces. */
typedef struct EcpTablespacesFault
{
	int			sqlerrcode;
	const char *message;
	const char *detail;			/* or NULL */
} EcpTablespacesFault;

/*
 * Look up the tablespaces in a list of names, in which the current user must be
 * allowed to create files; InvalidOid stands for the database's own.  Returns
 * their number, or -1 and what is wrong.
 */
extern int	ecp_tablespaces_resolve(const char *list,
									Oid oids[ECP_TABLESPACES_MAX],
									EcpTablespacesFault *fault);

/* Check hook of ecp.build_tablespaces. */
extern bool ecp_tablespaces_check(char **newval, void **extra, GucSource source);

#endif							/* ECP_TABLESPACES_H */
