/*-------------------------------------------------------------------------
 *
 * ecp_stop_point.h
 *	  Named stop points between WAL records, for crash tests.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_STOP_POINT_H
#define ECP_STOP_POINT_H


/*
 * Named stop points between WAL records, for crash tests.  Compiled only
 * with assertions or -DECP_DEBUG; see the README, "Tests".
 */
#if defined(ECP_DEBUG) || defined(USE_ASSERT_CHECKING)
extern void ecp_stop_point_init(void);
extern void ecp_stop_point(const char *name);
#define ECP_STOP_POINT(name)	ecp_stop_point(name)
#else
#define ecp_stop_point_init()	((void) 0)
#define ECP_STOP_POINT(name)	((void) 0)
#endif

#endif							/* ECP_STOP_POINT_H */
