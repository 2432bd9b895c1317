/*-------------------------------------------------------------------------
 *
 * stop_point.h
 *	  Named points between WAL records where tests stop a backend.
 *
 * Compiled only with assertions or -DECP_DEBUG; see stop_point.c for the setting.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_STOP_POINT_H
#define ECP_STOP_POINT_H

#if defined(ECP_DEBUG) || defined(USE_ASSERT_CHECKING)
extern void ecp_stop_point_init(void);
extern void ecp_stop_point(const char *name);
#define ECP_STOP_POINT(name)	ecp_stop_point(name)
#else
#define ecp_stop_point_init()	((void) 0)
#define ECP_STOP_POINT(name)	((void) 0)
#endif

#endif							/* ECP_STOP_POINT_H */
