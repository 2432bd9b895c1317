/*-------------------------------------------------------------------------
 *
 * ecp_validate.h
 *	  Operator classes of ecp: what they say of their columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_VALIDATE_H
#define ECP_VALIDATE_H

#include "utils/rel.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* Support function 1 of an opclass: type and metric (see below). */
#define ECP_DISTANCE_STRATEGY	1
#define ECP_RADIUS_STRATEGY		2	/* search: within (query, radius) */
#define ECP_CLASS_PROC			1
#define ECP_NPROC				1

/*
 * What an opclass says of its column, returned by its support function 1
 * (internal) returns int4, as type * 256 + metric.
 */
#define EcpClassCode(type, metric)	((type) * 256 + (metric))
#define EcpClassType(code)			((EcpColumnType) ((code) / 256))
#define EcpClassMetric(code)		((EcpMetric) ((code) % 256))

/*
 * How values of a column become keys: what the column's operator class says
 * of it (support function 1), and what is in ecpm_attr_kind on disk.  See
 * attr_kinds[] in ecp_attr.c.
 */
typedef enum EcpAttrKind
{
	ECP_ATTR_BOOL = 1,
	ECP_ATTR_CHAR,				/* "char" */
	ECP_ATTR_INT2,
	ECP_ATTR_INT4,				/* also date */
	ECP_ATTR_INT8,				/* also time and timestamps */
	ECP_ATTR_OID,				/* also enumerations, which only compare equal */
	ECP_ATTR_FLOAT4,
	ECP_ATTR_FLOAT8,
	ECP_ATTR_UUID,				/* the first half: executor rechecks */
	ECP_ATTR_HASH				/* any type's hash: = only, rechecked */
} EcpAttrKind;

#define ECP_ATTR_KIND_MAX		ECP_ATTR_HASH

/* An operator class's code is that of an attribute, not of a vector. */
#define ECP_ATTR_CLASS			0x10000
#define EcpClassIsAttr(code)	(((code) & ECP_ATTR_CLASS) != 0)
#define EcpClassAttrKind(code)	((EcpAttrKind) ((code) & 0xFF))

extern bool ecpvalidate(Oid opclassoid);
extern void ecp_class_get(Relation index, EcpColumnType *type, EcpMetric *metric);

#endif							/* ECP_VALIDATE_H */
