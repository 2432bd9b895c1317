/*-------------------------------------------------------------------------
 *
 * ecp_summary.h
 *	  Summaries: what the rows of a cluster have in their key attributes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SUMMARY_H
#define ECP_SUMMARY_H

#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_summary_test.h"

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

#endif							/* ECP_SUMMARY_H */
