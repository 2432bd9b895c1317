/*-------------------------------------------------------------------------
 *
 * ecp_summary.c
 *	  Summaries: what the rows of a cluster have in their key attributes.
 *
 * A summary is a Bloom filter of the values of a cluster's rows: of a tag its
 * fingerprint, of another attribute its key, each with the number of the column;
 * that the attribute is NULL; and that a row has too many tags for its set to list them,
 * for which any tag may be there.  It has no bits of attributes that are never compared
 * for equality (floats, times), or that have both values in every cluster.
 *
 * Summaries are on pages of the node above their clusters (ecp_page.h); the README
 * says who writes them ("Key attributes").  Where a search uses them, it skips
 * clusters without a match (ecp_probe.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_run.h"
#include "storage/bufmgr.h"

/*
 * Bytes of the filter for each row of a cluster: 128 rows of five tags have about 365
 * different elements, eleven bits each, and 128 different keys ten.
 */
#define SUMMARY_TAGS_BYTES	4
#define SUMMARY_KEY_BYTES	1.25

#define SUMMARY_BYTES_MIN	64
#define SUMMARY_BYTES_MAX	2032	/* four on a page */

/* ---- format ---- */

/* Is a column of this kind compared for equality, and of more than two values? */
static bool
summary_has_kind(int kind, Oid type)
{
	switch (kind)
	{
		case ECP_ATTR_INT4:
			return type != DATEOID;
		case ECP_ATTR_INT8:
			return type != TIMEOID && type != TIMESTAMPOID &&
				type != TIMESTAMPTZOID;
		case ECP_ATTR_INT2:
		case ECP_ATTR_OID:
		case ECP_ATTR_UUID:
		case ECP_ATTR_HASH:
		case ECP_ATTR_TAGS:
		case ECP_ATTR_PATHS:
			return true;
	}
	return false;
}

uint8
ecp_summary_atts(Relation index, const EcpAttrDesc *desc)
{
	TupleDesc	tupdesc = RelationGetDescr(index);
	uint8		atts = 0;

	for (int a = 0; a < desc->natts; a++)
	{
		if (summary_has_kind(desc->kind[a],
							 TupleDescAttr(tupdesc, a + 1)->atttypid))
			atts |= 1 << a;
	}
	return atts;
}

uint16
ecp_summary_bytes(const EcpMetaPageData *meta)
{
	double		bytes = 0;

	if (meta->ecpm_summary_atts == 0)
		return 0;
	for (int a = 0; a < meta->ecpm_nkeyatts - 1; a++)
	{
		if ((meta->ecpm_summary_atts & (1 << a)) != 0)
			bytes += EcpAttrKindIsTags(meta->ecpm_attr_kind[a]) ?
				SUMMARY_TAGS_BYTES : SUMMARY_KEY_BYTES;
	}
	bytes *= meta->ecpm_leaf_target;
	bytes = Min(Max(bytes, SUMMARY_BYTES_MIN), SUMMARY_BYTES_MAX);
	return ECP_SUMMARY_HEADER + MAXALIGN((int) bytes);
}

bool
ecp_summary_meta_is_valid(const EcpMetaPageData *meta)
{
	return meta->ecpm_summary_atts >> (meta->ecpm_nkeyatts - 1) == 0 &&
		meta->ecpm_summary_bytes ==
		(meta->ecpm_dims > 0 ? ecp_summary_bytes(meta) : 0);
}

/* ---- bits ---- */

static void
summary_set(uint64 hash, uint32 bytes, char *summary)
{
	uint8	   *filter = EcpSummaryFilter(summary);

	for (int i = 0; i < ECP_SUMMARY_BITS; i++)
	{
		uint32		bit = ecp_summary_bit(hash, i, EcpSummaryFilterBits(bytes));

		filter[bit / 8] |= 1 << (bit % 8);
	}
}

void
ecp_summary_init(const EcpGeometry *node, uint64 run, char *summary)
{
	memset(summary, 0, node->summary_bytes);
	memcpy(summary, &run, sizeof(run));
}

void
ecp_summary_add(const EcpIndexState *state, const char *attrs, char *summary)
{
	const EcpMetaPageData *meta = &state->meta;
	const EcpGeometry *geo = &state->leaf;
	uint32		bytes = state->node.summary_bytes;
	uint8		nulls = *(const uint8 *) attrs;
	const char *from = attrs + 1;

	Assert(geo->natts > 0 && bytes > 0);
	for (int a = 0; a < geo->natts; from += geo->attr_width[a++])
	{
		uint16		fingerprints[ECP_TAGS_WIDTH_MAX];
		int			bits;
		int			n;

		if ((meta->ecpm_summary_atts & (1 << a)) == 0)
			continue;
		if (nulls & (1 << a))
			summary_set(ecp_summary_hash(a | ECP_SUMMARY_NULL, 0), bytes, summary);
		else if (!EcpAttrKindIsTags(meta->ecpm_attr_kind[a]))
			summary_set(ecp_summary_hash(a, ecp_attr_read_key(from, geo->attr_width[a])),
						bytes, summary);
		else if ((n = ecp_tags_list(from, geo->attr_width[a], fingerprints,
									&bits)) < 0)
			summary_set(ecp_summary_hash(a | ECP_SUMMARY_MANY, 0), bytes, summary);
		else
		{
			if (bits < ECP_TAGS_BITS)
				summary_set(ecp_summary_hash(a, EcpTagsKey(0, bits)), bytes, summary);
			for (int i = 0; i < n; i++)
				summary_set(ecp_summary_hash(a, EcpTagsKey(fingerprints[i], bits)),
							bytes, summary);
		}
	}
}

bool
ecp_summary_is_of(const char *summary, uint64 run)
{
	return memcmp(summary, &run, sizeof(run)) == 0;
}

bool
ecp_summary_has(const EcpGeometry *node, const char *summary, const char *part)
{
	const uint8 *bits = EcpSummaryFilter(summary);
	const uint8 *wanted = EcpSummaryFilter(part);

	for (Size i = 0; i < node->summary_bytes - ECP_SUMMARY_HEADER; i++)
	{
		if ((wanted[i] & ~bits[i]) != 0)
			return false;
	}
	return true;
}

bool
ecp_summary_read(Relation index, const EcpIndexState *state, BlockNumber blk,
				 uint64 run, const EcpRunHeaderData *header, uint32 slot,
				 char *summary)
{
	const EcpGeometry *node = &state->node;
	uint32		pageno = ecp_summary_page(node, EcpSummaryFirstPage(node, header),
										  slot);
	Buffer		buffer;

	Assert(slot < header->ecpr_nslots);
	buffer = ecp_run_page_get(index, ECP_PAGE_VECTOR, blk, run, pageno,
							  BUFFER_LOCK_SHARE);
	if (!BufferIsValid(buffer))
		return false;
	memcpy(summary, EcpPageGetStream(BufferGetPage(buffer)) +
		   EcpSummaryOffset(node, slot), node->summary_bytes);
	UnlockReleaseBuffer(buffer);
	return true;
}
