/*-------------------------------------------------------------------------
 *
 * ecp_path.h
 *	  Paths of ecp indexes that core does not make.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_PATH_H
#define ECP_PATH_H

#include "nodes/pathnodes.h"

extern void ecp_path_init(void);

/* ecp_path_joined.c */
extern void ecp_path_joined_init(void);
extern bool ecp_path_is_joined(const Path *path);

/* ecp_path_batch.c */
extern void ecp_path_batch_init(void);

/* ecp_path_list.c */
extern void ecp_path_list_init(void);

#endif							/* ECP_PATH_H */
