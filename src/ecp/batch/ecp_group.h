/*-------------------------------------------------------------------------
 *
 * ecp_group.h
 *	  Groups of a table's rows: those with the same value in a column.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_GROUP_H
#define ECP_GROUP_H

#include "ecp/batch/ecp_user_table.h"

/* The groups that have been met, which are numbered from 0 on. */
typedef struct EcpRowGroups
{
	EcpUserColumn column;
	FmgrInfo	hash;			/* fn_oid is InvalidOid if the type has none */
	FmgrInfo	equal;
	int16		typlen;
	bool		typbyval;
	uint32		n;
	struct groups_hash *table;
	MemoryContext context;		/* of the groups' values */
	MemoryContext row_context;	/* of one row */
} EcpRowGroups;

extern void ecp_group_init(EcpRowGroups *groups, Relation heap, const char *column);

/*
 * The number of the group of the row in a slot, which is added if it has not been met.
 * Rows whose value is NULL are one group.
 */
extern uint32 ecp_group_number(EcpRowGroups *groups, TupleTableSlot *slot);

#endif							/* ECP_GROUP_H */
