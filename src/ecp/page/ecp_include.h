/*-------------------------------------------------------------------------
 *
 * ecp_include.h
 *	  INCLUDE columns, and index-only scans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_INCLUDE_H
#define ECP_INCLUDE_H

#include "access/relscan.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "vector/vector_value.h"

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

#endif							/* ECP_INCLUDE_H */
