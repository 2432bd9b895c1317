/*-------------------------------------------------------------------------
 *
 * ecp_path.h
 *	  Paths of ecp indexes that core does not make.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_PATH_H
#define ECP_PATH_H

#include "ecp/plan/ecp_match.h"
#include "nodes/pathnodes.h"

extern void ecp_path_init(void);

/* ecp_path_joined.c */
extern void ecp_path_joined_init(void);
extern bool ecp_path_is_joined(const Path *path);

/*
 * Offer the nested loop of "outer", which is one row, and the scan of a match in its
 * order, with these clauses, which need "outer_relids".
 */
extern void ecp_path_add_loop(PlannerInfo *root, RelOptInfo *joinrel, Path *outer,
							  const EcpMatch *match, List *clauses,
							  Relids outer_relids, JoinPathExtraData *extra);

/* ecp_path_batch.c */
extern void ecp_path_batch_init(void);

/* ecp_path_list.c */
extern void ecp_path_list_init(void);
extern const Path *ecp_path_list_of(const Path *path);

#endif							/* ECP_PATH_H */
