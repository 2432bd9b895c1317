/*-------------------------------------------------------------------------
 *
 * ecp_attr.h
 *	  Attributes, tags and INCLUDE columns as bytes; conditions and summaries of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_ATTR_H
#define ECP_ATTR_H

#include "access/relscan.h"
#include "access/skey.h"
#include "access/tupdesc.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "fmgr.h"
#include "vector/vector_value.h"

/*
 * ecp_summary_test.c: the elements and bits of summaries, and what conditions ask of
 * them.
 */

/* In front of the filter: the head run of the child that it is of, or 0. */
#define ECP_SUMMARY_HEADER		sizeof(uint64)

#define EcpSummaryFilter(summary)	((uint8 *) (summary) + ECP_SUMMARY_HEADER)
#define EcpSummaryFilterBits(bytes) \
	((uint32) ((bytes) - ECP_SUMMARY_HEADER) * BITS_PER_BYTE)

/* Bits of an element. */
#define ECP_SUMMARY_BITS		5

/* Elements that are no key of attribute a: it is NULL, or has more tags than fit. */
#define ECP_SUMMARY_NULL		0x100
#define ECP_SUMMARY_MANY		0x200

/* The hash of an element: a key of attribute a. */
static inline uint64
ecp_summary_hash(int a, uint64 key)
{
	uint64		hash = key + (uint64) (a + 1) * UINT64CONST(0x9E3779B97F4A7C15);

	hash = (hash ^ (hash >> 33)) * UINT64CONST(0xFF51AFD7ED558CCD);
	hash = (hash ^ (hash >> 33)) * UINT64CONST(0xC4CEB9FE1A85EC53);
	return hash ^ (hash >> 33);
}

/* The number of its bit i among "bits". */
static inline uint32
ecp_summary_bit(uint64 hash, int i, uint32 bits)
{
	uint32		place = (uint32) (hash >> 32) + i * ((uint32) hash | 1);

	return (uint64) place * bits >> 32;
}

/*
 * What must be in a summary: of each group, one of its alternatives, with all
 * its elements.  A group, and then each alternative, is begun before its elements
 * are added.
 */
typedef struct EcpSummaryTest EcpSummaryTest;

extern EcpSummaryTest *ecp_summary_test_create(void);
extern void ecp_summary_test_group(EcpSummaryTest *test);
extern void ecp_summary_test_alternative(EcpSummaryTest *test);
extern void ecp_summary_test_key(EcpSummaryTest *test, int a, uint64 key);
extern void ecp_summary_test_null(EcpSummaryTest *test, int a);
extern void ecp_summary_test_many(EcpSummaryTest *test, int a);

/* Is there anything to ask for? */
extern bool ecp_summary_test_asks(const EcpSummaryTest *test);

/* Can the child of a summary of "bytes" have a row that fulfils the conditions? */
extern bool ecp_summary_test(const EcpSummaryTest *test, const char *summary,
							 uint32 bytes);

/*
 * ecp_tags.c: key attributes that are sets of tags: arrays, and the paths of jsonb.
 */

/* Bits of a fingerprint. */
#define ECP_TAGS_BITS			16

/* Where the tags of a column's values come from. */
typedef struct EcpTagsSource
{
	bool		paths;			/* of a jsonb; else the elements of an array */
	Oid			collation;
	Oid			elem_type;
	int16		typlen;
	bool		typbyval;
	char		typalign;
	FmgrInfo   *hash;			/* extended */
} EcpTagsSource;

/* For a column of this type. */
extern EcpTagsSource *ecp_tags_source_create(bool paths, Oid type,
											 Oid collation);

/* A row's set in "width" bytes, which are zero. */
extern void ecp_tags_form(const EcpTagsSource *source, Datum value, int width,
						  char *set);

/* Does a set obey the format? */
extern bool ecp_tags_is_valid(const char *set, int width);

/*
 * Its fingerprints, or the first *bits of them, fewer than "width"; returns their
 * number, or -1 of a filter.
 */
extern int	ecp_tags_list(const char *set, int width, uint16 *fingerprints,
						  int *bits);

/* What a summary has of one, and, as that of 0, of "bits" if they are not all. */
#define EcpTagsKey(fingerprint, bits)	((uint64) (bits) << 16 | (fingerprint))

/* The conditions on a column; all of them must hold. */
typedef struct EcpTagsCondition EcpTagsCondition;

extern EcpTagsCondition *ecp_tags_condition_create(void);

/* Add that of a scan key; false if it is true of no row. */
extern bool ecp_tags_condition_add(EcpTagsCondition *condition,
								   const EcpTagsSource *source,
								   const ScanKeyData *key);

/*
 * A bit for each of up to 64 sets that follow each other which may fulfil the
 * conditions.
 */
extern uint64 ecp_tags_match(const EcpTagsCondition *condition,
							 const char *sets, int width, int n);

/*
 * Add what they ask of a summary, where they are those of
 * attribute a, whose sets have "width" bytes.
 */
extern void ecp_tags_condition_ask(const EcpTagsCondition *condition, int a, int width,
								   EcpSummaryTest *test);

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

/* A key of this number of bytes, which need not be aligned, as in a row. */
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
 * vector are skipped), in the current memory context; NULL if there is
 * none.  *never is set if no row can fulfil them, *recheck if rows that do
 * must be checked by the executor.
 */
extern EcpAttrFilter *ecp_attr_filter_create(Relation index,
											 const ScanKeyData *keys,
											 int nkeys, bool *never,
											 bool *recheck);

/*
 * Those of the first n slots of an entry page that are live and fulfil the
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

/* Those of n <= 64 slots of an entry page that fulfil it. */
extern uint64 ecp_attr_leaf_match(const EcpAttrLeaf *leaf,
								  const EcpGeometry *geo,
								  const EcpEntryView *view, int first, int n);

/* ecp_attr_tree.c: conditions on key attributes below AND and OR */

typedef struct EcpAttrTree EcpAttrTree;

/* What the comparison of a strategy is called in a tree; NULL if there is none. */
extern const char *ecp_attr_tree_operator(int kind, int strategy);

extern EcpAttrTree *ecp_attr_tree_create(const EcpAttrDesc *desc,
										 const ScanKeyData *key);

/* Those of n <= 64 slots of an entry page that fulfil the condition. */
extern uint64 ecp_attr_tree_match(const EcpAttrTree *tree,
								  const EcpGeometry *geo,
								  const EcpEntryView *view, int first, int n);

/* ecp_include.c: INCLUDE columns, and index-only scans */

/*
 * The part of an EcpAttrDesc that tells of INCLUDE columns; for
 * ecp_attr_desc_init(), which says what "meta" is.
 */
extern void ecp_include_desc_init(Relation index, const EcpMetaPageData *meta,
								  EcpAttrDesc *desc);

/* Form desc->include_bytes at "to", which are zero; for ecp_attr_form(). */
extern void ecp_include_form(const EcpAttrDesc *desc, const EcpVector *vector,
							 const Datum *values, const bool *isnull,
							 char *to);

/*
 * Values of the INCLUDE columns from these bytes, in the current memory
 * context.  Returns false if the entry does not have the row's values: then
 * they must be read from the table.  Error if the bytes are damaged.
 */
extern bool ecp_include_read(Relation index, BlockNumber blk,
							 const EcpAttrDesc *desc, const char *bytes,
							 Datum *values, bool *isnull);

/* Do a slot's bytes obey the format?  For the checker. */
extern bool ecp_include_is_valid(const EcpAttrDesc *desc, const char *bytes);

/*
 * ecp_summary.c: summaries: what the rows of a cluster have in their key attributes.
 */

/* The key attributes of an index that summaries have, a bit each. */
extern uint8 ecp_summary_atts(Relation index, const EcpAttrDesc *desc);

/* Bytes of a summary, by the attributes and the rows of a cluster; 0 = none. */
extern uint16 ecp_summary_bytes(const EcpMetaPageData *meta);

extern bool ecp_summary_meta_is_valid(const EcpMetaPageData *meta);

/* Begin one of a child, of geo->summary_bytes. */
extern void ecp_summary_init(const EcpGeometry *node, uint64 run, char *summary);

/* Add what a row has; "attrs" as ecp_attr_form() formed them. */
extern void ecp_summary_add(const EcpIndexState *state, const char *attrs,
							char *summary);

/* Is it that of this run, and has it all that "part" has? */
extern bool ecp_summary_is_of(const char *summary, uint64 run);
extern bool ecp_summary_has(const EcpGeometry *node, const char *summary,
							const char *part);

/* Where the summary of a node's slot is: page of the run, and byte of its payload. */
static inline uint32
ecp_summary_page(const EcpGeometry *node, uint32 first_page, uint32 slot)
{
	return first_page + slot / node->summary_slots;
}

#define EcpSummaryOffset(node, slot) \
	((slot) % (node)->summary_slots * (node)->summary_bytes)

/* The first page of a run with summaries. */
#define EcpSummaryFirstPage(node, header) \
	((header)->ecpr_entry_pages + \
	 ecp_geometry_vector_pages(node, (header)->ecpr_nslots))

/*
 * Copy the summary of a slot of a run, as "run" says it is; false if the page
 * belongs to another run now or was never written.
 */
extern bool ecp_summary_read(Relation index, const EcpIndexState *state,
							 BlockNumber blk, uint64 run,
							 const EcpRunHeaderData *header, uint32 slot,
							 char *summary);

#endif							/* ECP_ATTR_H */
