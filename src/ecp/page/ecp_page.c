/*-------------------------------------------------------------------------
 *
 * ecp_page.c
 *	  Geometry, initialisation and checks of the pages of an ecp index.
 *
 * The formats are drawn in ecp_page.h.  Everything that another file needs
 * to know of a page goes through an EcpGeometry, computed here from the
 * metapage, and an EcpEntryView, which is a set of pointers into one page.
 * Nothing read from disk is believed before a check of this file has passed:
 * a damaged page is an error, and a page that was freed and used again by
 * another run is told apart from a damaged one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/smgr.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* COLUMNS pays when a page has at least as many slots as a kernel has lanes */
#define ECP_COLUMNS_SLOTS_MIN	16

/*
 * Vectors stay inline when they leave at most this share of a page unused;
 * otherwise (1,100 float32 elements: one vector a page) they go to the byte
 * stream of the vector part, which wastes nothing.
 */
#define ECP_INLINE_WASTE_MAX	0.16

/* Codes begin where the processor's lines do. */
#define ECP_CODE_ALIGN			64

/*
 * Least elements for which quantizer = auto makes codes, measured: uint8
 * vectors of 128 elements (two lines) are scanned as fast as codes with
 * their factors are, and exactly.
 */
#define ECP_AUTO_DIMS_UINT8		256
#define ECP_AUTO_DIMS_FLOAT		96

#define ECP_PAGE_START	MAXALIGN(SizeOfPageHeaderData)
#define ECP_ITEMS_START (ECP_PAGE_START + sizeof(EcpRunHeaderData))
#define ECP_PAGE_END	(ECP_PAGE_START + ECP_PAYLOAD_BYTES)

/* Bytes of an entry page with "slots" slots, and where its parts begin. */
static Size
ecp_geometry_place(EcpGeometry *geo, Size item_bytes, int nbitmaps, int slots)
{
	Size		pos = ECP_ITEMS_START;

	geo->slots = slots;
	geo->live_words = (slots + 63) / 64;
	geo->off_live = pos;
	pos += sizeof(uint64) * geo->live_words * nbitmaps;
	geo->off_items = pos;
	pos += item_bytes * slots;
	geo->off_bins = pos;
	pos += (Size) geo->bin_bytes * slots;
	if (geo->natts > 0)
	{
		geo->off_nulls = pos;
		pos += slots;
	}
	for (int a = 0; a < geo->natts; a++)
	{
		pos = TYPEALIGN(geo->attr_width[a], pos);
		geo->off_attr[a] = pos;
		pos += (Size) geo->attr_width[a] * slots;
	}
	geo->off_include = pos;
	pos += (Size) geo->include_bytes * slots;
	pos = INTALIGN(pos);
	geo->off_factors = pos;
	pos += sizeof(uint32) * geo->nfactors * slots;
	if (geo->quantizer != ECP_QUANTIZER_NONE)
		pos = TYPEALIGN(ECP_CODE_ALIGN, pos);
	geo->off_codes = pos;
	pos += (Size) geo->code_bytes * slots;
	geo->lower = pos;
	return pos;
}

/* Largest number of slots that fit an entry page. */
static void
ecp_geometry_fill(EcpGeometry *geo, Size item_bytes, int nbitmaps)
{
	Size		slot_bytes = item_bytes + sizeof(uint32) * geo->nfactors +
		geo->code_bytes + geo->include_bytes + geo->bin_bytes;
	int			slots;

	if (geo->natts > 0)
		slot_bytes++;
	for (int a = 0; a < geo->natts; a++)
		slot_bytes += geo->attr_width[a];
	slots = (ECP_PAGE_END - ECP_ITEMS_START) / slot_bytes;

	while (slots > 0 &&
		   ecp_geometry_place(geo, item_bytes, nbitmaps, slots) > ECP_PAGE_END)
		slots--;

	/* whole blocks of codes */
	if (geo->quantizer != ECP_QUANTIZER_NONE)
		slots -= slots % ECP_CODE_BLOCK;
	(void) ecp_geometry_place(geo, item_bytes, nbitmaps, slots);
}

/* What a leaf's slots have besides TID and vector. */
static void
ecp_geometry_attrs(EcpGeometry *geo, const EcpMetaPageData *meta)
{
	geo->attr_bytes = meta->ecpm_attr_bytes;
	geo->natts = meta->ecpm_nkeyatts - 1;
	for (int a = 0; a < geo->natts; a++)
		geo->attr_width[a] = ecp_attr_width(meta->ecpm_attr_kind[a]);
	geo->include_bytes = meta->ecpm_include_bytes;
	geo->bin_bytes = (meta->ecpm_flags & ECP_META_BINS) != 0 ? 1 : 0;
}

static void
ecp_geometry_level(EcpGeometry *geo, const EcpMetaPageData *meta, bool leaf)
{
	Size		item_bytes = leaf ? sizeof(ItemPointerData) : sizeof(EcpChildData);
	Size		payload = ECP_PAGE_END - ECP_ITEMS_START;
	Size		row_bytes;

	memset(geo, 0, sizeof(EcpGeometry));
	geo->elem = leaf ? meta->ecpm_elem : meta->ecpm_leader_elem;
	geo->dims = meta->ecpm_dims;
	geo->vec_bytes = ecp_vector_bytes(geo->elem, geo->dims);
	if (leaf)
		ecp_geometry_attrs(geo, meta);
	geo->row_bytes = geo->vec_bytes + geo->attr_bytes;
	geo->quantizer = leaf ? meta->ecpm_quantizer : ECP_QUANTIZER_NONE;
	if (geo->quantizer != ECP_QUANTIZER_NONE)
	{
		/* factors of the exact vectors are computed for the few needed */
		geo->nfactors = ECP_CODE_FACTORS;
		geo->code_bytes = EcpCodeBytes(geo->dims);
		geo->stream = true;
		ecp_geometry_fill(geo, item_bytes, meta->ecpm_nbitmaps);
		return;
	}
	geo->nfactors = leaf ? ecp_factors_count(geo->elem, meta->ecpm_metric) : 0;

	/* inline, unless vectors are too large to share pages well */
	row_bytes = item_bytes + geo->bin_bytes + geo->attr_bytes + sizeof(uint32) * geo->nfactors +
		INTALIGN(geo->vec_bytes);
	if (row_bytes <= payload &&
		payload % row_bytes <= payload * ECP_INLINE_WASTE_MAX)
		geo->code_bytes = INTALIGN(geo->vec_bytes);
	else
		geo->stream = true;
	ecp_geometry_fill(geo, item_bytes, meta->ecpm_nbitmaps);

	/*
	 * Nodes keep their leaders in rows: they are read one at a time, into a
	 * panel.  Float32 rows are long enough for a kernel to sum along them.
	 */
	geo->columns = leaf && geo->elem == ECP_ELEM_UINT8 &&
		geo->code_bytes > 0 && geo->slots >= ECP_COLUMNS_SLOTS_MIN;
}

/*
 * The quantiser for vectors of so many elements, when "wanted" is asked for:
 * none if their codes do not fit a page, or would not be shorter than they are.
 * AUTO uses one where the vectors are
 * so long that reading codes first saves more than it costs.
 */
uint8
ecp_quantizer_choose(uint8 wanted, const EcpMetaPageData *meta,
					 int dims)
{
	EcpGeometry geo = {0};
	int			least;

	if (dims > ECP_CODE_DIMS_MAX || wanted == ECP_QUANTIZER_NONE ||
		meta->ecpm_elem == ECP_ELEM_BIT)
		return ECP_QUANTIZER_NONE;
	least = meta->ecpm_elem == ECP_ELEM_UINT8 ?
		ECP_AUTO_DIMS_UINT8 : ECP_AUTO_DIMS_FLOAT;
	if (wanted == ECP_QUANTIZER_AUTO && dims < least)
		return ECP_QUANTIZER_NONE;

	geo.dims = dims;
	geo.quantizer = ECP_QUANTIZER_RABITQ;
	ecp_geometry_attrs(&geo, meta);
	geo.nfactors = ECP_CODE_FACTORS;
	geo.code_bytes = EcpCodeBytes(dims);
	ecp_geometry_fill(&geo, sizeof(ItemPointerData), meta->ecpm_nbitmaps);
	return geo.slots > 0 ? ECP_QUANTIZER_RABITQ : ECP_QUANTIZER_NONE;
}

void
ecp_geometry_init(EcpIndexState *state)
{
	if (state->meta.ecpm_dims == 0)
		return;
	ecp_geometry_level(&state->leaf, &state->meta, true);
	ecp_geometry_level(&state->node, &state->meta, false);
}

void
ecp_run_size(const EcpGeometry *geo, uint32 nslots, uint32 *entry_pages,
			 uint32 *npages)
{
	uint64		vector_pages = 0;

	*entry_pages = Max((nslots + geo->slots - 1) / geo->slots, 1);
	if (geo->stream)
		vector_pages = ((uint64) nslots * geo->vec_bytes +
						ECP_PAYLOAD_BYTES - 1) / ECP_PAYLOAD_BYTES;
	if (*entry_pages + vector_pages > PG_UINT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cluster of %u vectors of %u bytes is too large",
						nslots, geo->vec_bytes)));
	*npages = *entry_pages + (uint32) vector_pages;
}

uint32
ecp_slots_in_pages(const EcpGeometry *geo, uint32 npages)
{
	uint32		low = 1;
	uint32		high = npages * geo->slots;

	while (low < high)
	{
		uint32		middle = low + (high - low + 1) / 2;
		uint32		entry_pages;
		uint32		all_pages;

		ecp_run_size(geo, middle, &entry_pages, &all_pages);
		if (all_pages <= npages)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Header and opaque of any page; the payload is zero. */
static void
ecp_page_init(Page page, int kind, uint64 run, uint32 pageno, Size lower)
{
	EcpPageOpaque opaque;

	PageInit(page, BLCKSZ, sizeof(EcpPageOpaqueData));
	opaque = EcpPageGetOpaque(page);
	opaque->ecpo_run = run;
	opaque->ecpo_pageno = pageno;
	opaque->ecpo_kind = kind;
	opaque->ecpo_page_id = ECP_PAGE_ID;

	/*
	 * What lies between pd_lower and pd_upper is zeroed by generic WAL and
	 * left out of full-page images.
	 */
	Assert(lower <= ((PageHeader) page)->pd_upper);
	((PageHeader) page)->pd_lower = lower;
}

void
ecp_page_init_meta(Page page, const EcpMetaPageData *meta)
{
	ecp_page_init(page, ECP_PAGE_META, 0, 0,
				  ECP_PAGE_START + sizeof(EcpMetaPageData));
	memcpy(EcpPageGetMeta(page), meta, sizeof(EcpMetaPageData));
}

void
ecp_page_init_map(Page page, uint32 mapno)
{
	ecp_page_init(page, ECP_PAGE_MAP, 0, mapno,
				  ECP_PAGE_START + ECP_MAP_BYTES);
}

void
ecp_page_init_run(Page page, const EcpGeometry *geo, uint64 run,
				  uint32 pageno, uint32 entry_pages)
{
	if (pageno < entry_pages)
		ecp_page_init(page, ECP_PAGE_ENTRY, run, pageno, geo->lower);
	else
		ecp_page_init(page, ECP_PAGE_VECTOR, run, pageno, ECP_PAGE_END);
}

void
ecp_entry_view(Page page, const EcpGeometry *geo, int level,
			   EcpEntryView *view)
{
	char	   *base = (char *) page;

	view->live = (uint64 *) (base + geo->off_live);
	view->tids = level == 0 ? (ItemPointerData *) (base + geo->off_items) : NULL;
	view->children = level > 0 ? (EcpChild) (base + geo->off_items) : NULL;
	view->bins = geo->bin_bytes > 0 ? (uint8 *) (base + geo->off_bins) : NULL;
	view->nulls = geo->natts > 0 ? (uint8 *) (base + geo->off_nulls) : NULL;
	for (int a = 0; a < geo->natts; a++)
		view->attrs[a] = base + geo->off_attr[a];
	view->include = geo->include_bytes > 0 ? base + geo->off_include : NULL;
	for (int f = 0; f < ECP_ENTRY_FACTORS_MAX; f++)
		view->factors[f] = f < geo->nfactors ?
			(uint32 *) (base + geo->off_factors) + (Size) f * geo->slots : NULL;
	view->codes = geo->code_bytes > 0 ? base + geo->off_codes : NULL;
}

void
ecp_entry_get_binned(const EcpGeometry *geo, const EcpEntryView *view,
					 uint64 bins, uint64 *live)
{
	memcpy(live, view->live, geo->live_words * sizeof(uint64));
	if (view->bins == NULL)
		return;
	for (int first = 0; first < geo->slots; first += 64)
	{
		int			n = Min(geo->slots - first, 64);
		uint64		binned = 0;

		for (int i = 0; i < n; i++)
			binned |= (bins >> (view->bins[first + i] % ECP_BINS) & 1) << i;
		live[first / 64] &= binned;
	}
}

int
ecp_entry_count_live(const EcpGeometry *geo, const EcpEntryView *view)
{
	int			n = 0;

	for (int w = 0; w < geo->live_words; w++)
		n += pg_popcount64(view->live[w]);
	return n;
}

/* Code and factors that a quantiser makes of an item. */
static void
ecp_item_code(const EcpIndexState *state, const EcpSlotItem *item,
			  uint8 *code, uint32 *factors)
{
	const EcpMetaPageData *meta = &state->meta;
	float4		prepared[ECP_CODE_DIMS_MAX];
	EcpVector	vector = {0};

	vector.elem = meta->ecpm_elem;
	vector.dims = meta->ecpm_dims;
	vector.data = item->vector;
	if (!ecp_prepare(meta, &vector, prepared))
		memset(prepared, 0, state->node.vec_bytes);
	ecp_code_make(meta->ecpm_leader_elem, meta->ecpm_metric, meta->ecpm_dims,
				  meta->ecpm_rotation_seed, prepared, item->leader, code,
				  factors);
}

bool
ecp_entry_matches(const EcpIndexState *state, const EcpEntryView *view,
				  int slot, const EcpSlotItem *item)
{
	const EcpGeometry *geo = &state->leaf;
	uint32		factors[ECP_ENTRY_FACTORS_MAX];
	uint8		code[ECP_CODE_DIMS_MAX / 8];
	uint8		stored[ECP_CODE_DIMS_MAX / 8];

	if (geo->quantizer != ECP_QUANTIZER_NONE)
	{
		ecp_item_code(state, item, code, factors);
		ecp_code_get((uint8 *) view->codes, slot, geo->dims, stored);
		if (memcmp(code, stored, geo->code_bytes) != 0)
			return false;
	}
	else
		ecp_factors_compute(geo->elem, state->meta.ecpm_metric, geo->dims,
							item->vector, factors);
	for (int f = 0; f < geo->nfactors; f++)
	{
		if (view->factors[f][slot] != factors[f])
			return false;
	}
	return true;
}

/* The code of a slot that is the vector itself. */
static void
ecp_entry_put_vector(const EcpGeometry *geo, EcpEntryView *view, int slot,
					 const void *vector)
{
	char	   *code = view->codes + (Size) slot * geo->code_bytes;

	if (geo->columns)
		ecp_columns_put((uint8 *) view->codes, geo->slots, slot, geo->dims,
						vector);
	else
	{
		memcpy(code, vector, geo->vec_bytes);
		memset(code + geo->vec_bytes, 0, geo->code_bytes - geo->vec_bytes);
	}
}

static void
ecp_entry_put_attrs(const EcpGeometry *geo, EcpEntryView *view, int slot,
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

	if (level == 0)
		view->tids[slot] = item->tid;
	else
		view->children[slot] = item->child;
	if (view->bins)
		view->bins[slot] = item->bin;
	if (geo->attr_bytes > 0)
		ecp_entry_put_attrs(geo, view, slot,
							(const char *) item->vector + geo->vec_bytes);
	if (geo->quantizer != ECP_QUANTIZER_NONE)
	{
		ecp_item_code(state, item, code, factors);
		ecp_code_put((uint8 *) view->codes, slot, geo->dims, code);
	}
	else
	{
		if (!geo->stream)
			ecp_entry_put_vector(geo, view, slot, item->vector);
		if (geo->nfactors > 0)
			ecp_factors_compute(geo->elem, state->meta.ecpm_metric,
								geo->dims, item->vector, factors);
	}
	for (int f = 0; f < geo->nfactors; f++)
		view->factors[f][slot] = factors[f];
}

void
ecp_entry_get_attrs(const EcpGeometry *geo, const EcpEntryView *view,
					int slot, char *attrs)
{
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
	if (geo->columns)
		ecp_columns_get((const uint8 *) view->codes, geo->slots, slot,
						geo->dims, vector);
	else
		memcpy(vector, view->codes + (Size) slot * geo->code_bytes,
			   geo->vec_bytes);
}

int
ecp_entry_ranges_max(const EcpGeometry *geo)
{
	bool		scattered = geo->columns ||
		geo->quantizer != ECP_QUANTIZER_NONE;

	return 4 + (geo->natts > 0 ? 1 + geo->natts : 0) + geo->nfactors +
		(scattered ? EcpCodeDims(geo->dims) / 4 : 1);
}

int
ecp_entry_ranges(const EcpGeometry *geo, int level, int slot,
				 EcpByteRange *ranges)
{
	Size		item_bytes = level == 0 ? sizeof(ItemPointerData) : sizeof(EcpChildData);
	int			n = 0;

	ranges[n].offset = geo->off_live + slot / 64 * sizeof(uint64);
	ranges[n++].bytes = sizeof(uint64);
	ranges[n].offset = geo->off_items + slot * item_bytes;
	ranges[n++].bytes = item_bytes;
	if (geo->bin_bytes > 0)
	{
		ranges[n].offset = geo->off_bins + slot;
		ranges[n++].bytes = 1;
	}
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
	Assert(n <= ecp_entry_ranges_max(geo));
	return n;
}

void
ecp_stream_position(const EcpGeometry *geo, uint32 entry_pages, uint32 slot,
					uint32 *pageno, uint32 *offset)
{
	uint64		pos = (uint64) slot * geo->vec_bytes;

	*pageno = entry_pages + pos / ECP_PAYLOAD_BYTES;
	*offset = pos % ECP_PAYLOAD_BYTES;
}

void
ecp_report_corrupt(Relation index, BlockNumber blk, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" contains a corrupted page at block %u",
					RelationGetRelationName(index), blk),
			 errdetail_internal("%s", detail),
			 errhint("Please REINDEX it.")));
}

/*
 * A run that structure version V refers to is gone.  On a primary nothing
 * frees it while we may still read it; on a standby a maintainer's horizon
 * can pass us, as heap rows can.
 */
void
ecp_report_moved(Relation index, BlockNumber blk)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("canceling statement due to conflict with recovery"),
				 errdetail("Block %u of index \"%s\" was reused by the primary.",
						   blk, RelationGetRelationName(index))));
	ecp_report_corrupt(index, blk,
					   "The page belongs to another run than its reference says.");
}

bool
ecp_block_exists(Relation index, BlockNumber blk)
{
	BlockNumber known = RelationGetSmgr(index)->smgr_cached_nblocks[MAIN_FORKNUM];

	if (known != InvalidBlockNumber && blk < known)
		return true;
	return blk < RelationGetNumberOfBlocks(index);
}

/* Is the page one of ours, of this kind, and self-consistent? */
void
ecp_page_check(Relation index, Buffer buffer, int kind)
{
	Page		page = BufferGetPage(buffer);
	EcpPageOpaque opaque;

	if (PageIsNew(page))
		ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
						   "The page is all zeros.");
	if (!ecp_page_has_form(page))
		ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
						   "The page header is not that of an ecp page.");
	opaque = EcpPageGetOpaque(page);
	if (opaque->ecpo_page_id != ECP_PAGE_ID || opaque->ecpo_kind != kind)
		ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
						   psprintf("Page kind is %u with id %04X, expected %d with id %04X.",
									opaque->ecpo_kind, opaque->ecpo_page_id,
									kind, ECP_PAGE_ID));
}

bool
ecp_page_check_run(Relation index, Buffer buffer, int kind, uint64 run,
				   uint32 pageno)
{
	Page		page = BufferGetPage(buffer);
	EcpPageOpaque opaque;

	/* the common case first: identity proves the rest of the format */
	if (ecp_page_has_form(page))
	{
		opaque = EcpPageGetOpaque(page);
		if (opaque->ecpo_run == run && opaque->ecpo_pageno == pageno &&
			opaque->ecpo_kind == kind && opaque->ecpo_page_id == ECP_PAGE_ID)
		{
			/* of entry pages, ecp_entry_check_lower() knows where it is */
			if (kind == ECP_PAGE_VECTOR &&
				((PageHeader) page)->pd_lower != ECP_PAGE_END)
				ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
								   "The payload does not end where it should.");
			return true;
		}

		/* sound, but somebody else's: freed and used again */
		if (opaque->ecpo_page_id == ECP_PAGE_ID && opaque->ecpo_run != run &&
			(opaque->ecpo_kind == ECP_PAGE_ENTRY ||
			 opaque->ecpo_kind == ECP_PAGE_VECTOR))
			return false;
	}
	ecp_page_check(index, buffer, kind);
	ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
					   "The page number within the run is wrong.");
}

/*
 * Does pd_lower say that the whole of an entry page is in use?  What is behind
 * it would be zeroed by whoever changes the page.
 */
void
ecp_entry_check_lower(Relation index, Buffer buffer, const EcpGeometry *geo)
{
	if (((PageHeader) BufferGetPage(buffer))->pd_lower != geo->lower)
		ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
						   "The payload does not end where it should.");
}

/*
 * Bounds of the header of the run whose page 0 is in "buffer": everything
 * that a reader follows or multiplies.
 */
void
ecp_run_check_header(Relation index, Buffer buffer, const EcpGeometry *geo)
{
	EcpRunHeader header = EcpPageGetRunHeader(BufferGetPage(buffer));
	BlockNumber blk = BufferGetBlockNumber(buffer);
	uint32		entry_pages;
	uint32		npages;

	ecp_entry_check_lower(index, buffer, geo);
	if (header->ecpr_nslots == 0 ||
		(uint64) header->ecpr_nslots > (uint64) header->ecpr_entry_pages * geo->slots)
		ecp_report_corrupt(index, blk,
						   psprintf("A run of %u entry pages claims %u slots.",
									header->ecpr_entry_pages,
									header->ecpr_nslots));
	ecp_run_size(geo, header->ecpr_nslots, &entry_pages, &npages);
	if (header->ecpr_entry_pages != entry_pages ||
		header->ecpr_npages != npages ||
		header->ecpr_npages > ECP_RUN_PAGES_MAX ||
		header->ecpr_hw_page == 0 ||
		header->ecpr_hw_page > header->ecpr_entry_pages ||
		header->ecpr_free_hint > header->ecpr_hw_page ||
		blk + header->ecpr_npages < blk)
		ecp_report_corrupt(index, blk,
						   psprintf("A run of %u slots claims %u entry pages, %u of them used, of %u pages.",
									header->ecpr_nslots,
									header->ecpr_entry_pages,
									header->ecpr_hw_page,
									header->ecpr_npages));
}

/* The head of a node, of whatever level. */
void
ecp_node_check_header(Relation index, Buffer buffer,
					  const EcpIndexState *state)
{
	ecp_page_check(index, buffer, ECP_PAGE_ENTRY);
	ecp_run_check_header(index, buffer, &state->node);
	if (EcpPageGetRunHeader(BufferGetPage(buffer))->ecpr_level == 0)
		ecp_report_corrupt(index, BufferGetBlockNumber(buffer),
						   "A leaf was to be changed as a node.");
}
