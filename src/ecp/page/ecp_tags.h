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
#include "fmgr.h"

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

#endif							/* ECP_TAGS_H */
