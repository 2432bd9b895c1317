/*-------------------------------------------------------------------------
 *
 * ecp_tags.h
 *	  Key attributes that are sets of tags: arrays, and the paths of jsonb.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_TAGS_H
#define ECP_TAGS_H

#include "access/skey.h"
#include "ecp/page/ecp_summary_test.h"
#include "fmgr.h"

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
 * Of up to 64 sets that follow each other, a bit for each that may fulfil the
 * conditions.
 */
extern uint64 ecp_tags_match(const EcpTagsCondition *condition,
							 const char *sets, int width, int n);

/*
 * Add what they ask of a summary (ecp_summary.h), where they are those of
 * attribute a, whose sets have "width" bytes.
 */
extern void ecp_tags_condition_ask(const EcpTagsCondition *condition, int a, int width,
								   EcpSummaryTest *test);

#endif							/* ECP_TAGS_H */
