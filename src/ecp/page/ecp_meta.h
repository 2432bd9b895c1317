/*-------------------------------------------------------------------------
 *
 * ecp_meta.h
 *	  The metapage: formed from the index's definition, checked against it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_META_H
#define ECP_META_H

#include "ecp/page/ecp_page.h"

/* Leaders compared with every row; above, rows descend the tree. */
#define ECP_FLAT_LEADERS_MAX	10000

/*
 * Copy the metapage (share lock, checks, released) and compute geometry.
 * state->meta.ecpm_sversion is the structure version that the caller then
 * uses for everything it reads.
 */
extern void ecp_meta_read_state(Relation index, EcpIndexState *state);

/* True when the index has no root (nothing was ever inserted). */
#define EcpIndexIsEmpty(state) ((state)->meta.ecpm_root.ecpc_run == 0)

/*
 * Form the metapage of an index without rows from its opclass and reloptions
 * (dims is 0 unless a reloption or typmod gives it).
 */
extern void ecp_meta_form(Relation index, EcpMetaPageData *meta);

/*
 * Set the dimensions and what follows from them: the sizes of clusters and nodes,
 * by the index's storage parameters.
 */
extern void ecp_meta_set_dims(Relation index, EcpMetaPageData *meta, int dims);

/*
 * Allocate n ids of runs and return the first; an error if there are no more.
 * The caller has locked the metapage exclusively and registered it.
 */
extern uint64 ecp_meta_take_runs(Relation index, EcpMetaPageData *meta, int n);

/* An error if no structure version can follow the present one. */
extern void ecp_meta_check_version(Relation index,
								   const EcpMetaPageData *meta);

/* Rows of a cluster of which a probe reads "bytes" bytes. */
extern uint64 ecp_meta_cluster_rows(const EcpGeometry *leaf, uint64 bytes);

/* Set the size of clusters in rows, within limits. */
extern void ecp_meta_set_cluster_rows(EcpMetaPageData *meta,
									  const EcpGeometry *leaf, uint64 rows);

/* The metapage, exclusively locked and checked. */
extern Buffer ecp_meta_lock(Relation index);

#endif							/* ECP_META_H */
