/*-------------------------------------------------------------------------
 *
 * ecp_prepare.h
 *	  How a vector is compared; numbers of rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_PREPARE_H
#define ECP_PREPARE_H

#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "storage/itemptr.h"
#include "utils/relcache.h"
#include "vector/vector_distance.h"
#include "vector/vector_codes.h"
#include "vector/vector_value.h"

/*
 * ecp_prepare.c: the forms of a vector: as its column has it, as the index stores it, and as it is compared with leaders.
 *
 *	 column		ecp_vector_read(): as the column type is read; queries, too
 *	 stored		meta.ecpm_elem: rows on pages, in files of a build and in memory
 *	 prepared	meta.ecpm_leader_elem: leaders, and what is compared with them
 *
 * A row is prepared from what is stored of it, so that it belongs to the same
 * leader whenever that is computed.
 */

/*
 * Bring a row's vector into the form in which it is stored.  "dst" has room for
 * dims elements of meta.ecpm_elem.
 */
extern void ecp_prepare_stored(const EcpMetaPageData *meta,
							   const EcpVector *vector, void *dst);

/* Dimensions that vectors can have, as they are stored; and the error of more. */
#define EcpMetaDimsMax(meta) \
	((meta)->ecpm_elem == ECP_ELEM_NIBBLES ? ECP_NIBBLES_DIMS_MAX : ECP_DIMS_MAX)

extern void ecp_prepare_check_dims(const EcpMetaPageData *meta, int dims);

/* The kind of elements that queries have, and columns are read as. */
#define EcpMetaQueryElem(meta)	ecp_elem_for_query((meta)->ecpm_elem)

/* A stored row as a query: "dst" has room for dims elements of that kind. */
extern void ecp_prepare_query(const EcpMetaPageData *meta, const void *row,
							  void *dst);

/* Does the index have the column's vectors without a loss? */
#define EcpStoredIsExact(meta) \
	((meta)->ecpm_vectors == ECP_VECTORS_FULL || \
	 ((meta)->ecpm_vectors == ECP_VECTORS_HALF && \
	  (meta)->ecpm_column_type == ECP_COLUMN_HALFVEC))

/* Are distances that scans return those of the column's vectors? */
#define EcpDistancesAreExact(meta) \
	(EcpStoredIsExact(meta) || (meta)->ecpm_vectors == ECP_VECTORS_CODES)

/* Do the column's operators give what the kernels do, to the last bit? */
#define EcpOperatorsAreOurs(meta) \
	((meta)->ecpm_column_type != ECP_COLUMN_VECTOR && \
	 (meta)->ecpm_column_type != ECP_COLUMN_HALFVEC)

/*
 * The form of a vector, stored or a query, in which it is compared with leaders: the
 * element kind is meta.ecpm_leader_elem; cosine is made unit length.  dst
 * has room for dims elements of that kind.  Returns false for a vector that
 * is not indexed (zero norm under cosine).
 */
extern bool ecp_prepare(const EcpMetaPageData *meta, const EcpVector *vector,
						void *dst);

/* The same of a row as it is stored. */
static inline bool
ecp_prepare_row(const EcpMetaPageData *meta, const void *row, void *dst)
{
	EcpVector	vector = {.elem = meta->ecpm_elem,.dims = meta->ecpm_dims,.data = row};

	return ecp_prepare(meta, &vector, dst);
}

/* Distance of two vectors in that form: of leaders, or a row and a leader. */
static inline float8
ecp_leader_distance(const EcpMetaPageData *meta, const void *a, const void *b)
{
	return ecp_distance(meta->ecpm_leader_elem, ECP_METRIC_L2,
						meta->ecpm_dims, a, b);
}

/* Do rows compare with leaders as they are? */
#define EcpRowsArePrepared(meta) \
	((meta)->ecpm_elem == (meta)->ecpm_leader_elem && \
	 (meta)->ecpm_metric != ECP_METRIC_COSINE)

/* ecp_tid.c: TIDs that come from an index */

/* A TID as an item of an EcpRanked. */
static inline uint64
ecp_tid_item(const ItemPointerData *tid)
{
	return (uint64) tid->ip_blkid.bi_hi << 32 |
		(uint64) tid->ip_blkid.bi_lo << 16 | tid->ip_posid;
}

#define EcpItemBlock(item)	((BlockNumber) ((item) >> 16))
#define EcpItemOffset(item) ((OffsetNumber) (item))

/* Set a TID from such an item, or report that it is none. */
extern void ecp_tid_from_item(Relation index, uint64 item, ItemPointer tid);

/* Report a TID that is beyond the end of the table. */
extern void ecp_tid_check(Relation index, Relation heap,
						  const ItemPointerData *tid,
						  BlockNumber *heap_blocks);

#endif							/* ECP_PREPARE_H */
