/*-------------------------------------------------------------------------
 *
 * ecp_class.h
 *	  What operator classes say about the columns of an index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_CLASS_H
#define ECP_CLASS_H

#include "access/stratnum.h"
#include "utils/rel.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

#define ECP_DISTANCE_STRATEGY	1
#define ECP_RADIUS_STRATEGY		2	/* search: within (query, radius) */
#define ECP_TREE_STRATEGY		20	/* search: conditions below AND and OR */
#define ECP_TREE_FIELDS_MAX		192 /* of its row: see ecp_attr_tree.c */
#define ECP_CLASS_PROC			1
#define ECP_CONVERT_PROC		2	/* from another type of the family */
#define ECP_NPROC				2

/*
 * What support function 1 (internal) returns int4 of a vector's operator class
 * returns: column type * 256 + metric.
 */
#define EcpClassCode(type, metric)	((type) * 256 + (metric))
#define EcpClassType(code)			((EcpColumnType) ((code) / 256))
#define EcpClassMetric(code)		((EcpMetric) ((code) % 256))

/*
 * How values of a key attribute become keys: returned by support function 1 of
 * its operator class, and stored in ecpm_attr_kind.  See attr_kinds[] in
 * ecp_attr.c.
 */
typedef enum EcpAttrKind
{
	ECP_ATTR_BOOL = 1,
	ECP_ATTR_CHAR,				/* "char" */
	ECP_ATTR_INT2,
	ECP_ATTR_INT4,				/* also date */
	ECP_ATTR_INT8,				/* also time and timestamps */
	ECP_ATTR_OID,				/* also enums, for equality only */
	ECP_ATTR_FLOAT4,
	ECP_ATTR_FLOAT8,
	ECP_ATTR_UUID,				/* first half; the executor rechecks */
	ECP_ATTR_HASH,				/* hash of any type: = only, rechecked */
	ECP_ATTR_PREFIX,			/* first bytes of a text; rechecked */
	ECP_ATTR_TAGS,				/* set of the elements of an array: ecp_tags.c */
	ECP_ATTR_PATHS				/* the same of the hashed paths of a jsonb */
} EcpAttrKind;

#define ECP_ATTR_KIND_MAX		ECP_ATTR_PATHS
#define EcpAttrKindIsTags(kind)	((kind) == ECP_ATTR_TAGS || (kind) == ECP_ATTR_PATHS)

/* Strategies of these; those of other attributes are btree's. */
#define ECP_TAGS_OVERLAP		1
#define ECP_TAGS_CONTAINS		2
#define ECP_TAGS_EQUAL			BTEqualStrategyNumber
#define ECP_TAGS_CONTAINED		4

/* Does a condition ask for certain values, or for some of many?  NULL aside. */
#define EcpAttrAsksForValues(kind, strategy) \
	((strategy) == BTEqualStrategyNumber || \
	 (EcpAttrKindIsTags(kind) && \
	  ((strategy) == ECP_TAGS_OVERLAP || (strategy) == ECP_TAGS_CONTAINS)))

/* Set in the code of an attribute's operator class, not of a vector's. */
#define ECP_ATTR_CLASS			0x10000
#define EcpClassIsAttr(code)	(((code) & ECP_ATTR_CLASS) != 0)
#define EcpClassAttrKind(code)	((EcpAttrKind) ((code) & 0xFF))

/* ecp_validate.c */
extern bool ecpvalidate(Oid opclassoid);

/* ecp_class.c */
extern void ecp_class_get(Relation index, EcpColumnType *type,
						  EcpMetric *metric);

/* The kind of the key attribute in a column, which is not the first (0). */
extern EcpAttrKind ecp_class_get_attr(Relation index, int column);

#endif							/* ECP_CLASS_H */
