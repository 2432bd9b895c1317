/*-------------------------------------------------------------------------
 *
 * ecp_entries.h
 *	  The entries that runs of a new index leave for the node above them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_ENTRIES_H
#define ECP_ENTRIES_H

#include "base/team.h"
#include "ecp/page/ecp_page.h"

/* Leaders (or node centres) that are to become slots of a level's nodes. */
typedef struct EcpEntryList
{
	bool		fixed;			/* the arrays have a memory of their own */
	EcpMemory	memory;
	int			n;
	int			max;
	EcpChildData *children;
	int32	   *parents;		/* entry of the next level they are under */
	char	   *vectors;
	Size		vec_bytes;
	char	   *summaries;		/* of leaves; NULL if there are none */
	Size		summary_bytes;
} EcpEntryList;

/* Add the entry of a child; the summary, if there are any, is the caller's to fill. */
extern void ecp_entries_add(EcpEntryList *list, const EcpChildData *child,
							const void *vector, int32 parent);
extern void ecp_entries_free(EcpEntryList *list);

#endif							/* ECP_ENTRIES_H */
