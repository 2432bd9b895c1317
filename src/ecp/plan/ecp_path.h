/*-------------------------------------------------------------------------
 *
 * ecp_path.h
 *	  Paths of ecp indexes that core does not make.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_PATH_H
#define ECP_PATH_H

extern void ecp_path_init(void);

#endif							/* ECP_PATH_H */
