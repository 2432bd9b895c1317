/*-------------------------------------------------------------------------
 *
 * ecp_attr.h
 *	  Attributes: the columns of an ecp index besides the vector, which are
 *	  key attributes, whose conditions a scan checks in the index, and INCLUDE
 *	  columns (ecp_include.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_ATTR_H
#define ECP_ATTR_H

#include "access/skey.h"
#include "access/tupdesc.h"
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_summary_test.h"
#include "ecp/page/ecp_tags.h"
#include "fmgr.h"
#include "vector/vector_value.h"

/* Bytes of the attributes of a row at most. */
#define ECP_ATTR_BYTES_MAX \
	(8 + ECP_ATTRS_MAX * ECP_TAGS_WIDTH_MAX + ECP_INCLUDE_BYTES_MAX)

/* The attributes of an index. */
typedef struct EcpAttrDesc
{
	int			natts;			/* key attributes, besides the vector */
	Size		bytes;			/* of a row's attributes; 0 without any */
	int			ninclude;		/* INCLUDE columns */
	Size		include_bytes;	/* of these; 0 without any */
	TupleDesc	include;		/* these columns, or NULL */
	uint8		kind[ECP_ATTRS_MAX];
	Oid			type[ECP_ATTRS_MAX];	/* of the operator class */
	Oid			collation[ECP_ATTRS_MAX];
	FmgrInfo   *hash[ECP_ATTRS_MAX];	/* ECP_ATTR_HASH: the type's function */
	EcpTagsSource *tags[ECP_ATTRS_MAX]; /* if it is a set of tags */
	int			tags_width;		/* of these; 0 without any */
} EcpAttrDesc;

/*
 * Read the operator classes of the columns 2 .. n.  An error if one of them
 * is a vector, or there are too many.  The room for INCLUDE columns and sets of tags
 * is taken from "meta"; if that is NULL, as for an index to be built, from the
 * storage parameters.
 */
extern void ecp_attr_desc_init(Relation index, const EcpMetaPageData *meta,
							   EcpAttrDesc *desc);

/* Bytes of a key of this kind; 0 if there is no such kind. */
extern int	ecp_attr_width(int kind, int tags_width);

/* Name of this kind. */
extern const char *ecp_attr_kind_name(int kind);

/* The fields of a metapage that describe the attributes. */
extern void ecp_attr_meta_form(const EcpAttrDesc *desc, EcpMetaPageData *meta);
extern bool ecp_attr_meta_is_valid(const EcpMetaPageData *meta);

/*
 * The attributes of a row, desc->bytes of them, from all columns' values as
 * aminsert gets them; "vector" is what was read from the first one.
 */
extern void ecp_attr_form(const EcpAttrDesc *desc, const EcpVector *vector,
						  const Datum *values, const bool *isnull,
						  char *attrs);

/* Key of a value of the column's own type. */
extern uint64 ecp_attr_key(const EcpAttrDesc *desc, int a, Datum value);

/* Unsigned integers in the order of floats: NaN last, one zero. */
extern uint32 ecp_attr_float4_key(float4 value);
extern uint64 ecp_attr_float8_key(float8 value);

/* Can a key attribute of this kind be turned back into its value? */
extern bool ecp_attr_kind_is_exact(int kind);

/* Does it have the value of a row's key attribute a? */
extern bool ecp_attr_is_exact(const EcpAttrDesc *desc, int a, Datum value);

/* The value of a key, of such a kind. */
extern Datum ecp_attr_value(int kind, uint64 key);

/* A key of so many bytes, which need not be aligned, as in a row. */
extern uint64 ecp_attr_read_key(const char *from, int width);

/* The key of a slot's attribute a, which is not NULL and no set of tags. */
extern uint64 ecp_attr_slot_key(const EcpGeometry *geo,
								const EcpEntryView *view, int slot, int a);

/* What is wrong with a slot's attributes, for the checker; NULL if nothing. */
extern const char *ecp_attr_slot_fault(const EcpAttrDesc *desc,
									   const EcpGeometry *geo,
									   const EcpEntryView *view, int slot);

/* ---- conditions ---- */

typedef struct EcpAttrFilter EcpAttrFilter;

/*
 * The conditions of a scan on attributes, from its scan keys (those on the
 * vector are passed over), in the current memory context; NULL if there is
 * none.  *never is set if no row can fulfil them, *recheck if rows that do
 * must be checked by the executor.
 */
extern EcpAttrFilter *ecp_attr_filter_create(Relation index,
											 const ScanKeyData *keys,
											 int nkeys, bool *never,
											 bool *recheck);

/*
 * Of the first n slots of an entry page, those that are live and fulfil the
 * conditions; passed has geo->live_words words.  Returns how many were live.
 */
extern int	ecp_attr_filter_page(const EcpAttrFilter *filter,
								 const EcpGeometry *geo,
								 const EcpEntryView *view, int n,
								 uint64 *passed);

/*
 * What the conditions ask of a summary of an index with "meta", in the current
 * memory context; NULL if nothing.
 */
extern EcpSummaryTest *ecp_attr_filter_summary(const EcpAttrFilter *filter,
											   const EcpMetaPageData *meta);

/* ---- one condition, for ecp_attr_tree.c ---- */

typedef struct EcpAttrLeaf EcpAttrLeaf;

/*
 * What a scan key says of attribute a or, if "negated", the contrary; NULL: nothing.
 */
extern EcpAttrLeaf *ecp_attr_leaf_create(const EcpAttrDesc *desc, int a,
										 const ScanKeyData *key, bool negated);

/* Of n <= 64 slots of an entry page, those that fulfil it. */
extern uint64 ecp_attr_leaf_match(const EcpAttrLeaf *leaf,
								  const EcpGeometry *geo,
								  const EcpEntryView *view, int first, int n);

#endif							/* ECP_ATTR_H */
