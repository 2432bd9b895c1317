/*-------------------------------------------------------------------------
 *
 * ecp_entry.c
 *	  Slots of an entry page: rows or leaders, with codes and attributes.
 *
 * A page is seen through an EcpEntryView, which is a set of pointers into it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/core.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "port/pg_bitutils.h"
#include "vector/vector_codes.h"

void
ecp_entry_view(Page page, const EcpGeometry *geo, int level,
			   EcpEntryView *view)
{
	char	   *base = (char *) page;

	Assert(geo->slots > 0);
	view->live = (uint64 *) (base + geo->off_live);
	view->tids = level == 0 ? (ItemPointerData *) (base + geo->off_items) : NULL;
	view->children = level > 0 ? (EcpChild) (base + geo->off_items) : NULL;
	view->nulls = geo->natts > 0 ? (uint8 *) (base + geo->off_nulls) : NULL;
	for (int a = 0; a < geo->natts; a++)
		view->attrs[a] = base + geo->off_attr[a];
	view->include = geo->include_bytes > 0 ? base + geo->off_include : NULL;
	for (int f = 0; f < ECP_ENTRY_FACTORS_MAX; f++)
		view->factors[f] = f < geo->nfactors ?
			(uint32 *) (base + geo->off_factors) + (Size) f * geo->slots : NULL;
	view->codes = geo->code_bytes > 0 ? base + geo->off_codes : NULL;
	view->lower = geo->lower_bytes > 0 ? base + geo->off_lower : NULL;
}

int
ecp_entry_count_live(const EcpGeometry *geo, const EcpEntryView *view)
{
	int			n = 0;

	for (int w = 0; w < geo->live_words; w++)
		n += pg_popcount64(view->live[w]);
	return n;
}

/* Code, factors and levels that a quantiser makes of an item. */
static void
item_code(const EcpIndexState *state, const EcpSlotItem *item,
		  uint8 *code, uint32 *factors)
{
	const EcpMetaPageData *meta = &state->meta;
	float4		prepared[ECP_CODE_DIMS_MAX];

	Assert(item->levels != NULL || state->leaf.levels_bytes == 0);

	if (!ecp_prepare_row(meta, item->vector, prepared))
		memset(prepared, 0, state->node.vec_bytes);
	ecp_code_make(meta->ecpm_leader_elem, meta->ecpm_metric, meta->ecpm_dims,
				  meta->ecpm_rotation_seed, prepared, item->leader, code,
				  factors, state->leaf.levels_bytes > 0 ? item->levels : NULL);
}

/* Factors of the exact vector of a leaf's slot. */
static void
entry_factors(const EcpIndexState *state, const void *vector, uint32 *factors)
{
	const EcpGeometry *geo = &state->leaf;

	if (geo->parts && geo->nfactors > 0)
		factors[0] = ecp_parts_factor(geo->dims, vector);
	else
		ecp_factors_compute(geo->elem, state->meta.ecpm_metric, geo->dims,
							vector, factors);
}

bool
ecp_entry_matches(const EcpIndexState *state, const EcpEntryView *view,
				  int slot, const EcpSlotItem *item)
{
	const EcpGeometry *geo = &state->leaf;
	uint32		factors[ECP_ENTRY_FACTORS_MAX];
	uint8		code[ECP_CODE_DIMS_MAX / 8];
	uint8		stored[ECP_CODE_DIMS_MAX / 8];

	Assert(slot >= 0 && slot < geo->slots);
	if (geo->quantizer != ECP_QUANTIZER_NONE)
	{
		item_code(state, item, code, factors);
		ecp_code_get((uint8 *) view->codes, slot, geo->dims, stored);
		if (memcmp(code, stored, geo->code_bytes) != 0)
			return false;
	}
	else
		entry_factors(state, item->vector, factors);
	for (int f = 0; f < geo->nfactors; f++)
	{
		if (view->factors[f][slot] != factors[f])
			return false;
	}
	return true;
}

/* The code of a slot that is the vector itself. */
static void
entry_put_vector(const EcpGeometry *geo, EcpEntryView *view, int slot,
				 const void *vector)
{
	char	   *code = view->codes + (Size) slot * geo->code_bytes;

	Assert(slot >= 0 && slot < geo->slots);
	if (geo->columns)
		ecp_columns_put((uint8 *) view->codes, geo->slots, slot, geo->dims,
						vector);
	else if (geo->elem == ECP_ELEM_NIBBLES)
	{
		memcpy(code, vector, geo->code_bytes);
		memcpy(view->lower + (Size) slot * geo->lower_bytes,
			   (const char *) vector + geo->code_bytes, geo->lower_bytes);
	}
	else if (geo->parts)
		ecp_parts_put((uint8 *) view->codes, (uint8 *) view->lower, slot,
					  geo->dims, vector);
	else
	{
		memcpy(code, vector, geo->vec_bytes);
		memset(code + geo->vec_bytes, 0, geo->code_bytes - geo->vec_bytes);
	}
}

static void
entry_put_attrs(const EcpGeometry *geo, EcpEntryView *view, int slot,
				const char *attrs)
{
	if (geo->natts > 0)
		view->nulls[slot] = *attrs++;
	for (int a = 0; a < geo->natts; a++)
	{
		int			width = geo->attr_width[a];

		memcpy(view->attrs[a] + slot * width, attrs, width);
		attrs += width;
	}
	if (geo->include_bytes > 0)
		memcpy(view->include + (Size) slot * geo->include_bytes, attrs,
			   geo->include_bytes);
}

void
ecp_entry_put(const EcpIndexState *state, int level, EcpEntryView *view,
			  int slot, const EcpSlotItem *item)
{
	const EcpGeometry *geo = level == 0 ? &state->leaf : &state->node;
	uint32		factors[ECP_ENTRY_FACTORS_MAX];
	uint8		code[ECP_CODE_DIMS_MAX / 8];

	Assert(slot >= 0 && slot < EcpLevelGeometry(state, level)->slots);
	Assert(level == 0 || view->children != NULL);
	if (level == 0)
		view->tids[slot] = item->tid;
	else
		view->children[slot] = item->child;
	if (geo->attr_bytes > 0)
		entry_put_attrs(geo, view, slot,
						(const char *) item->vector + geo->vec_bytes);
	if (geo->quantizer != ECP_QUANTIZER_NONE)
	{
		item_code(state, item, code, factors);
		ecp_code_put((uint8 *) view->codes, slot, geo->dims, code);
	}
	else
	{
		if (!geo->stream)
			entry_put_vector(geo, view, slot, item->vector);
		if (geo->nfactors > 0)
			entry_factors(state, item->vector, factors);
	}
	for (int f = 0; f < geo->nfactors; f++)
		view->factors[f][slot] = factors[f];
}

void
ecp_entry_get_attrs(const EcpGeometry *geo, const EcpEntryView *view,
					int slot, char *attrs)
{
	Assert(slot >= 0 && slot < geo->slots);
	if (geo->attr_bytes == 0)
		return;
	memset(attrs, 0, geo->attr_bytes);
	if (geo->natts > 0)
		*attrs++ = view->nulls[slot];
	for (int a = 0; a < geo->natts; a++)
	{
		int			width = geo->attr_width[a];

		memcpy(attrs, view->attrs[a] + slot * width, width);
		attrs += width;
	}
	if (geo->include_bytes > 0)
		memcpy(attrs, view->include + (Size) slot * geo->include_bytes,
			   geo->include_bytes);
}

void
ecp_entry_get_vector(const EcpGeometry *geo, const EcpEntryView *view,
					 int slot, void *vector)
{
	Assert(!geo->stream);
	Assert(slot >= 0 && slot < geo->slots);
	if (geo->columns)
		ecp_columns_get((const uint8 *) view->codes, geo->slots, slot,
						geo->dims, vector);
	else if (geo->elem == ECP_ELEM_NIBBLES)
	{
		memcpy(vector, view->codes + (Size) slot * geo->code_bytes,
			   geo->code_bytes);
		memcpy((char *) vector + geo->code_bytes,
			   view->lower + (Size) slot * geo->lower_bytes, geo->lower_bytes);
	}
	else if (geo->parts)
		ecp_parts_get((const uint8 *) view->codes, (const uint8 *) view->lower,
					  slot, geo->dims, vector);
	else
		memcpy(vector, view->codes + (Size) slot * geo->code_bytes,
			   geo->vec_bytes);
}

int
ecp_entry_ranges(const EcpGeometry *geo, int level, int slot,
				 EcpByteRange *ranges)
{
	Size		item_bytes = level == 0 ? sizeof(ItemPointerData) : sizeof(EcpChildData);
	int			n = 0;

	Assert(slot >= 0 && slot < geo->slots);
	ranges[n].offset = geo->off_live + slot / 64 * sizeof(uint64);
	ranges[n++].bytes = sizeof(uint64);
	ranges[n].offset = geo->off_items + slot * item_bytes;
	ranges[n++].bytes = item_bytes;
	if (geo->natts > 0)
	{
		ranges[n].offset = geo->off_nulls + slot;
		ranges[n++].bytes = 1;
	}
	for (int a = 0; a < geo->natts; a++)
	{
		ranges[n].offset = geo->off_attr[a] + slot * geo->attr_width[a];
		ranges[n++].bytes = geo->attr_width[a];
	}
	if (geo->include_bytes > 0)
	{
		ranges[n].offset = geo->off_include + slot * geo->include_bytes;
		ranges[n++].bytes = geo->include_bytes;
	}
	for (int f = 0; f < geo->nfactors; f++)
	{
		ranges[n].offset = geo->off_factors +
			((Size) f * geo->slots + slot) * sizeof(uint32);
		ranges[n++].bytes = sizeof(uint32);
	}
	if (geo->columns)
	{
		/* four elements a group, see vector_distance.h */
		for (int g = 0; g < (geo->dims + 3) / 4; g++)
		{
			ranges[n].offset = geo->off_codes + ((Size) g * geo->slots + slot) * 4;
			ranges[n++].bytes = 4;
		}
	}
	else if (geo->quantizer != ECP_QUANTIZER_NONE)
	{
		/* a byte a group, see vector_codes.h */
		for (int g = 0; g < EcpCodeDims(geo->dims) / 4; g++)
		{
			ranges[n].offset = geo->off_codes + g * 16 + slot % 16 +
				slot / ECP_CODE_BLOCK * ECP_CODE_BLOCK * geo->code_bytes;
			ranges[n++].bytes = 1;
		}
	}
	else if (geo->code_bytes > 0)
	{
		ranges[n].offset = geo->off_codes + (Size) slot * geo->code_bytes;
		ranges[n++].bytes = geo->code_bytes;
	}
	if (geo->lower_bytes > 0)
	{
		ranges[n].offset = geo->off_lower + (Size) slot * geo->lower_bytes;
		ranges[n++].bytes = geo->lower_bytes;
	}
	Assert(n <= ECP_ENTRY_RANGES_MAX);
	return n;
}

void
ecp_entry_copy(const EcpGeometry *geo, EcpEntryView *to, int to_slot,
			   const EcpEntryView *from, int from_slot)
{
	EcpByteRange to_ranges[ECP_ENTRY_RANGES_MAX];
	EcpByteRange from_ranges[ECP_ENTRY_RANGES_MAX];
	int			n = ecp_entry_ranges(geo, 0, from_slot, from_ranges);

	/* but for the live bits, which are first */
	(void) ecp_entry_ranges(geo, 0, to_slot, to_ranges);
	for (int i = 1; i < n; i++)
		memcpy((char *) to->live - geo->off_live + to_ranges[i].offset,
			   (char *) from->live - geo->off_live + from_ranges[i].offset,
			   from_ranges[i].bytes);
}

/*
 * Check that pd_lower includes the whole payload of an entry page.  The next
 * change of the page would zero what is behind it.
 */
void
ecp_entry_check_lower(Relation index, Buffer buffer, const EcpGeometry *geo)
{
	Assert(ecp_buffer_is_share_locked(buffer));
	if (((PageHeader) BufferGetPage(buffer))->pd_lower != geo->page_lower)
		ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
						   "The payload does not end where it should.");
}
