/*-------------------------------------------------------------------------
 *
 * user_index.h
 *	  Indexes that users name in calls of SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_USER_INDEX_H
#define ECP_USER_INDEX_H

#include "access/amapi.h"
#include "fmgr.h"
#include "utils/rel.h"

/* How we know the indexes of an access method, whatever it is called. */
typedef struct EcpIndexKind
{
	const char *name;			/* with its article, for messages */
	amoptions_function options; /* that only its access method has */
} EcpIndexKind;

/* What a user must be allowed to do. */
typedef enum EcpIndexRight
{
	ECP_INDEX_READ,				/* SELECT from the whole table */
	ECP_INDEX_OWN
} EcpIndexRight;

/* The caller, while we act as the owner of a table. */
typedef struct EcpCaller
{
	Oid			userid;
	int			sec_context;
	int			nestlevel;
} EcpCaller;

typedef struct EcpUserIndex
{
	Relation	heap;
	Relation	index;
	LOCKMODE	lockmode;
	EcpCaller	caller;
} EcpUserIndex;

extern Oid	ecp_user_index_table(FunctionCallInfo fcinfo, EcpIndexRight right,
								 const EcpIndexKind *kind);
extern Relation ecp_user_index_open(FunctionCallInfo fcinfo, LOCKMODE lockmode,
									EcpIndexRight right,
									const EcpIndexKind *kind);
extern Relation ecp_user_index_open_monitored(FunctionCallInfo fcinfo,
											  const EcpIndexKind *kind);
extern Relation ecp_user_index_open_with_table(FunctionCallInfo fcinfo,
											   LOCKMODE lockmode,
											   EcpIndexRight right,
											   const EcpIndexKind *kind,
											   Relation *heap);
extern void ecp_become_owner(EcpCaller *caller, Relation heap);
extern void ecp_become_caller(const EcpCaller *caller);
extern List *ecp_indexes_fold(Oid relid);
extern void ecp_indexes_close(List *indexes);
extern void ecp_user_index_begin(EcpUserIndex *user, FunctionCallInfo fcinfo,
								 LOCKMODE lockmode, const EcpIndexKind *kind);
extern void ecp_user_index_end(EcpUserIndex *user);

#endif							/* ECP_USER_INDEX_H */
