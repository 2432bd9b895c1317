/*-------------------------------------------------------------------------
 *
 * ecp_geometry.c
 *	  Layout of the entry pages of an ecp index, and sizes of runs.
 *
 * Computed once from the metapage: see EcpGeometry in ecp_page.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "vector/vector_codes.h"

/* COLUMNS pays off from as many slots a page as a kernel has lanes. */
#define ECP_COLUMNS_SLOTS_MIN	16

/*
 * Vectors stay inline if they leave at most this fraction of a page unused;
 * otherwise (1,100 float32 elements: one vector a page) they go to the byte
 * stream of the vector part, without waste.
 */
#define ECP_INLINE_WASTE_MAX	0.16

/* Codes begin at a cache line. */
#define ECP_CODE_ALIGN			64

/*
 * Least elements for which quantizer = auto makes codes.  Measured: uint8
 * vectors of 128 elements (two cache lines) are compared as fast as codes with
 * their factors, and exactly.
 */
#define ECP_AUTO_DIMS_UINT8		256
#define ECP_AUTO_DIMS_FLOAT		96

/*
 * Of longer vectors one bit an element tells enough: levels, an eighth of the floats, saved
 * less than a tenth of a search for ten rows with 384 elements.
 */
#define ECP_LEVELS_DIMS_MAX		256

#define ECP_ITEMS_START (ECP_PAGE_START + sizeof(EcpRunHeaderData))

/* Bytes of an entry page with "slots" slots, and where its parts begin. */
static Size
geometry_place(EcpGeometry *geo, Size item_bytes, int nbitmaps, int slots)
{
	Size		pos = ECP_ITEMS_START;

	geo->slots = slots;
	geo->live_words = (slots + 63) / 64;
	geo->off_live = pos;
	pos += sizeof(uint64) * geo->live_words * nbitmaps;
	geo->off_items = pos;
	pos += item_bytes * slots;
	if (geo->natts > 0)
	{
		geo->off_nulls = pos;
		pos += slots;
	}
	for (int a = 0; a < geo->natts; a++)
	{
		pos = TYPEALIGN(Min(geo->attr_width[a], ECP_TAGS_ALIGN), pos);
		geo->off_attr[a] = pos;
		pos += (Size) geo->attr_width[a] * slots;
	}
	geo->off_include = pos;
	pos += (Size) geo->include_bytes * slots;
	pos = INTALIGN(pos);
	geo->off_factors = pos;
	pos += sizeof(uint32) * geo->nfactors * slots;
	if (geo->quantizer != ECP_QUANTIZER_NONE || geo->parts)
		pos = TYPEALIGN(ECP_CODE_ALIGN, pos);
	geo->off_codes = pos;
	pos += (Size) geo->code_bytes * slots;
	geo->off_lower = pos;
	pos += (Size) geo->lower_bytes * slots;
	geo->page_lower = pos;
	return pos;
}

/* Largest number of slots that fit an entry page. */
static void
geometry_fill(EcpGeometry *geo, Size item_bytes, int nbitmaps)
{
	Size		slot_bytes = item_bytes + sizeof(uint32) * geo->nfactors +
		geo->code_bytes + geo->lower_bytes + geo->include_bytes;
	int			slots;

	if (geo->natts > 0)
		slot_bytes++;
	for (int a = 0; a < geo->natts; a++)
		slot_bytes += geo->attr_width[a];
	slots = (ECP_PAGE_END - ECP_ITEMS_START) / slot_bytes;

	while (slots > 0 &&
		   geometry_place(geo, item_bytes, nbitmaps, slots) > ECP_PAGE_END)
		slots--;

	/* whole blocks of codes */
	if (geo->quantizer != ECP_QUANTIZER_NONE)
		slots -= slots % ECP_CODE_BLOCK;
	(void) geometry_place(geo, item_bytes, nbitmaps, slots);
}

/* Attributes of a leaf's slots. */
static void
geometry_attrs(EcpGeometry *geo, const EcpMetaPageData *meta)
{
	geo->attr_bytes = meta->ecpm_attr_bytes;
	geo->natts = meta->ecpm_nkeyatts - 1;
	for (int a = 0; a < geo->natts; a++)
		geo->attr_width[a] = ecp_attr_width(meta->ecpm_attr_kind[a],
											meta->ecpm_tags_width);
	geo->include_bytes = meta->ecpm_include_bytes;
}

static void
geometry_level(EcpGeometry *geo, const EcpMetaPageData *meta, bool leaf)
{
	Size		item_bytes = leaf ? sizeof(ItemPointerData) : sizeof(EcpChildData);
	Size		payload = ECP_PAGE_END - ECP_ITEMS_START;
	Size		row_bytes;

	memset(geo, 0, sizeof(EcpGeometry));
	geo->elem = leaf ? meta->ecpm_elem : meta->ecpm_leader_elem;
	geo->dims = meta->ecpm_dims;
	geo->vec_bytes = ecp_vector_bytes(geo->elem, geo->dims);
	if (leaf)
		geometry_attrs(geo, meta);
	else if (meta->ecpm_summary_bytes > 0)
	{
		geo->summary_bytes = meta->ecpm_summary_bytes;
		geo->summary_slots = ECP_PAYLOAD_BYTES / geo->summary_bytes;
	}
	geo->row_bytes = geo->vec_bytes + geo->attr_bytes;
	geo->quantizer = leaf ? meta->ecpm_quantizer : ECP_QUANTIZER_NONE;
	if (geo->quantizer != ECP_QUANTIZER_NONE)
	{
		/* factors of the exact vectors are computed for the few needed */
		geo->nfactors = ECP_CODE_FACTORS;
		geo->code_bytes = EcpCodeBytes(geo->dims);
		if (geo->dims <= ECP_LEVELS_DIMS_MAX)
		{
			geo->levels_bytes = EcpLevelsBytes(geo->dims);
			geo->levels_slots = ECP_PAYLOAD_BYTES / geo->levels_bytes;
		}
		geo->stream = true;
		geometry_fill(geo, item_bytes, meta->ecpm_nbitmaps);
		return;
	}
	geo->nfactors = leaf ? ecp_factors_count(geo->elem, meta->ecpm_metric) : 0;

	/*
	 * inline, unless vectors are too large to share pages well; codes never
	 * are
	 */
	row_bytes = item_bytes + geo->attr_bytes + sizeof(uint32) * geo->nfactors +
		INTALIGN(geo->vec_bytes);
	if (row_bytes <= payload &&
		(geo->elem == ECP_ELEM_NIBBLES ||
		 payload % row_bytes <= payload * ECP_INLINE_WASTE_MAX))
	{
		geo->code_bytes = INTALIGN(geo->vec_bytes);
		if (geo->elem == ECP_ELEM_NIBBLES)
		{
			geo->parts = true;
			geo->code_bytes = EcpNibblesUpper(geo->dims);
			geo->lower_bytes = EcpNibblesLower(geo->dims);
		}
		else if (leaf && ecp_parts_fit(geo->elem, meta->ecpm_metric, geo->dims))
		{
			geo->parts = true;
			geo->code_bytes = geo->lower_bytes = EcpPartsBytes(geo->dims);
		}
	}
	else
		geo->stream = true;
	geometry_fill(geo, item_bytes, meta->ecpm_nbitmaps);

	/*
	 * Nodes keep their leaders in rows: they are read one at a time, into a
	 * panel.  Float32 rows are long enough for a kernel to sum along them.
	 */
	geo->columns = leaf && geo->elem == ECP_ELEM_UINT8 && !geo->parts &&
		geo->code_bytes > 0 && geo->slots >= ECP_COLUMNS_SLOTS_MIN;
}

/*
 * The quantiser for vectors of "dims" elements if "wanted" is requested:
 * none if their codes do not fit a page, or would not be shorter than they are.
 * AUTO uses one where the vectors are
 * so long that reading codes first saves more than it costs; by L1 distance a build
 * decides, which knows some vectors.
 */
uint8
ecp_geometry_quantizer(uint8 wanted, const EcpMetaPageData *meta,
					   int dims)
{
	EcpGeometry geo = {0};
	int			least;

	Assert(dims > 0);
	if (dims > ECP_CODE_DIMS_MAX || wanted == ECP_QUANTIZER_NONE ||
		meta->ecpm_elem == ECP_ELEM_BIT || meta->ecpm_elem == ECP_ELEM_NIBBLES)
		return ECP_QUANTIZER_NONE;
	least = meta->ecpm_elem == ECP_ELEM_UINT8 ?
		ECP_AUTO_DIMS_UINT8 : ECP_AUTO_DIMS_FLOAT;
	if (wanted == ECP_QUANTIZER_AUTO &&
		(dims < least || meta->ecpm_metric == ECP_METRIC_L1))
		return ECP_QUANTIZER_NONE;

	geo.dims = dims;
	geo.quantizer = ECP_QUANTIZER_RABITQ;
	geometry_attrs(&geo, meta);
	geo.nfactors = ECP_CODE_FACTORS;
	geo.code_bytes = EcpCodeBytes(dims);
	geometry_fill(&geo, sizeof(ItemPointerData), meta->ecpm_nbitmaps);
	return geo.slots > 0 ? ECP_QUANTIZER_RABITQ : ECP_QUANTIZER_NONE;
}

void
ecp_geometry_init(EcpIndexState *state)
{
	if (state->meta.ecpm_dims == 0)
		return;
	geometry_level(&state->leaf, &state->meta, true);
	geometry_level(&state->node, &state->meta, false);
}

uint32
ecp_geometry_levels_pages(const EcpGeometry *geo, uint32 nslots)
{
	return geo->levels_bytes == 0 ? 0 :
		(nslots + geo->levels_slots - 1) / geo->levels_slots;
}

uint32
ecp_geometry_vector_pages(const EcpGeometry *geo, uint32 nslots)
{
	uint64		pages;

	if (!geo->stream)
		return 0;
	pages = ((uint64) nslots * geo->vec_bytes + ECP_PAYLOAD_BYTES - 1) /
		ECP_PAYLOAD_BYTES;
	if (pages > PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cluster of %u vectors of %u bytes is too large",
						nslots, geo->vec_bytes)));
	return pages;
}

void
ecp_geometry_run_size(const EcpGeometry *geo, uint32 nslots, uint32 *entry_pages,
					  uint32 *npages)
{
	Assert(geo->slots > 0);
	*entry_pages = Max((nslots + geo->slots - 1) / geo->slots, 1);
	*npages = *entry_pages + ecp_geometry_levels_pages(geo, nslots) +
		ecp_geometry_vector_pages(geo, nslots);
	if (geo->summary_bytes > 0)
		*npages += (nslots + geo->summary_slots - 1) / geo->summary_slots;
}

uint32
ecp_geometry_slots(const EcpGeometry *geo, uint32 npages)
{
	uint32		low = 1;
	uint32		high = npages * geo->slots;

	Assert(geo->slots > 0 && npages > 0);
	while (low < high)
	{
		uint32		middle = low + (high - low + 1) / 2;
		uint32		entry_pages;
		uint32		all_pages;

		ecp_geometry_run_size(geo, middle, &entry_pages, &all_pages);
		if (all_pages <= npages)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

uint32
ecp_geometry_full_slots(const EcpGeometry *geo, uint32 nslots)
{
	uint64		room;
	uint32		entry_pages;
	uint32		npages;

	ecp_geometry_run_size(geo, nslots, &entry_pages, &npages);
	room = (uint64) entry_pages * geo->slots;
	if (geo->levels_bytes > 0)
		room = Min(room, (uint64) ecp_geometry_levels_pages(geo, nslots) *
				   geo->levels_slots);
	if (geo->stream)
		room = Min(room, (uint64) ecp_geometry_vector_pages(geo, nslots) *
				   ECP_PAYLOAD_BYTES / geo->vec_bytes);
	return Min(room, ecp_geometry_slots(geo, ECP_RUN_PAGES_MAX));
}

void
ecp_geometry_stream_position(const EcpGeometry *geo, uint32 vector_page, uint32 slot,
							 uint32 *pageno, uint32 *offset)
{
	uint64		pos = (uint64) slot * geo->vec_bytes;

	Assert(geo->stream && geo->vec_bytes > 0);
	*pageno = vector_page + pos / ECP_PAYLOAD_BYTES;
	*offset = pos % ECP_PAYLOAD_BYTES;
}

int
ecp_geometry_node_slots_max(const EcpGeometry *geo)
{
	int			slots = ecp_geometry_slots(geo, ECP_RUN_PAGES_MAX);

	return Max(slots - slots / 8, 2);
}
