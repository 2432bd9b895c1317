/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Every difference between the PostgreSQL versions that we build for.
 *
 * No other file of the repository looks at PG_VERSION_NUM (make lint checks
 * it).  Versions 15 to 18; the names here are those of the newest version
 * wherever that is possible.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_COMPAT_H
#define ECP_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "ecp needs PostgreSQL 15 or later"
#endif

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* 18: vacuum_delay_point() takes "is_analyze" */
#if PG_VERSION_NUM >= 180000
#define ecp_vacuum_delay_point()	vacuum_delay_point(false)
#else
#define ecp_vacuum_delay_point()	vacuum_delay_point()
#endif

/* 16: a relation's file is named by a RelFileLocator */
#if PG_VERSION_NUM >= 160000
#define EcpRelFileLocator			RelFileLocator
#define ecp_relation_locator(rel)	((rel)->rd_locator)
#define ecp_locator_equals(a, b)	RelFileLocatorEquals(a, b)
#else
#define EcpRelFileLocator			RelFileNode
#define ecp_relation_locator(rel)	((rel)->rd_node)
#define ecp_locator_equals(a, b)	RelFileNodeEquals(a, b)
#endif

#endif							/* ECP_COMPAT_H */
