/*-------------------------------------------------------------------------
 *
 * damage_fields.c
 *	  Kinds of pages of both access methods, and the fields of each.
 *
 * Read from a sound index, so nothing is checked here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/page/betree_page.h"
#include "damage.h"
#include "ecp/page/ecp_page.h"

#include "commands/defrem.h"
#include "fmgr.h"

static void
add(DamageFields *fields, const char *name, int offset, int bytes,
	DamageType type)
{
	if (fields->n == fields->max)
	{
		fields->max = Max(256, 2 * fields->max);
		fields->list = fields->list == NULL ?
			palloc(sizeof(DamageField) * fields->max) :
			repalloc(fields->list, sizeof(DamageField) * fields->max);
	}
	fields->list[fields->n++] = (DamageField)
	{
		name, offset, bytes, type
	};
}

/* One field of a struct at "base". */
#define ADD(type, base, field, damage_type) \
	add(fields, #field, (base) + offsetof(type, field), \
		Min(8, sizeof(((type *) 0)->field)), damage_type)
#define NUMBER(type, base, field)	ADD(type, base, field, DAMAGE_NUMBER)
#define BLOCK(type, base, field)	ADD(type, base, field, DAMAGE_BLOCK)
#define FLOAT(type, base, field)	ADD(type, base, field, DAMAGE_FLOAT)

/* An array of "n" things of "width" bytes, in parts of up to "bytes". */
static void
add_array(DamageFields *fields, const char *name, int offset, int n, int width,
		  DamageType type)
{
	for (int i = 0; i < n; i++)
		for (int at = 0; at < width; at += 8)
			add(fields, name, offset + i * width + at, Min(8, width - at), type);
}

static void
page_header_fields(DamageFields *fields)
{
	NUMBER(PageHeaderData, 0, pd_lsn);
	NUMBER(PageHeaderData, 0, pd_flags);
	NUMBER(PageHeaderData, 0, pd_lower);
	NUMBER(PageHeaderData, 0, pd_upper);
	NUMBER(PageHeaderData, 0, pd_special);
	NUMBER(PageHeaderData, 0, pd_pagesize_version);
	NUMBER(PageHeaderData, 0, pd_prune_xid);
}

/* ---- ecp ---- */

#define PAYLOAD		MAXALIGN(SizeOfPageHeaderData)

static const char *
ecp_kind(const DamageMap *map, char *pages, BlockNumber blk, uint8 *level)
{
	char	   *page = pages + (Size) blk * BLCKSZ;
	EcpPageOpaque opaque;
	EcpRunHeader header = EcpPageGetRunHeader(page);

	/* an empty page has no special space, which assertions insist on */
	if (PageIsNew(page))
		return "new";
	opaque = EcpPageGetOpaque(page);
	switch (opaque->ecpo_kind)
	{
		case ECP_PAGE_META:
			return "meta";
		case ECP_PAGE_MAP:
			return "map";
		case ECP_PAGE_VECTOR:
			return "vector";
		case ECP_PAGE_ENTRY:
			break;
		default:
			return "other";
	}
	if (opaque->ecpo_pageno == 0)
	{
		level[blk] = header->ecpr_level;
		if (header->ecpr_flags & ECP_RUN_RETIRED)
			return "retired";
		if (!(header->ecpr_flags & ECP_RUN_HEAD))
			return "leaf run";
		return header->ecpr_level > 0 ? "node head" : "leaf head";
	}

	/* runs are contiguous, and their pages come in order */
	level[blk] = blk > 0 ? level[blk - 1] : 0;
	return level[blk] > 0 ? "node page" : "leaf page";
}

static void
child_fields(DamageFields *fields, int base, int n)
{
	for (int i = 0; i < n; i++)
		BLOCK(EcpChildData, base + i * sizeof(EcpChildData), ecpc_blk);
	for (int i = 0; i < n; i++)
		NUMBER(EcpChildData, base + i * sizeof(EcpChildData), ecpc_npages);
	for (int i = 0; i < n; i++)
		NUMBER(EcpChildData, base + i * sizeof(EcpChildData), ecpc_flags);
	for (int i = 0; i < n; i++)
		NUMBER(EcpChildData, base + i * sizeof(EcpChildData), ecpc_run);
	for (int i = 0; i < n; i++)
		NUMBER(EcpChildData, base + i * sizeof(EcpChildData), ecpc_vfrom);
	for (int i = 0; i < n; i++)
		NUMBER(EcpChildData, base + i * sizeof(EcpChildData), ecpc_vto);
	for (int i = 0; i < n; i++)
		FLOAT(EcpChildData, base + i * sizeof(EcpChildData), ecpc_radius);
	for (int i = 0; i < n; i++)
		NUMBER(EcpChildData, base + i * sizeof(EcpChildData), ecpc_nrows);
}

static void
ecp_meta_fields(DamageFields *fields)
{
#define META(field) NUMBER(EcpMetaPageData, PAYLOAD, field)
	META(ecpm_magic);
	META(ecpm_version);
	META(ecpm_min_reader);
	META(ecpm_flags);
	META(ecpm_elem);
	META(ecpm_metric);
	META(ecpm_quantizer);
	META(ecpm_vectors);
	META(ecpm_leader_elem);
	META(ecpm_dims);
	META(ecpm_nkeyatts);
	META(ecpm_attr_bytes);
	META(ecpm_nbitmaps);
	META(ecpm_leaders);
	META(ecpm_leaf_target);
	META(ecpm_leaf_max);
	META(ecpm_node_target);
	META(ecpm_node_max);
	META(ecpm_seed);
	META(ecpm_rotation_seed);
	META(ecpm_sversion);
	META(ecpm_root_level);
	META(ecpm_next_run);
	child_fields(fields, PAYLOAD + offsetof(EcpMetaPageData, ecpm_root), 1);
	META(ecpm_map_hint);
	BLOCK(EcpMetaPageData, PAYLOAD, ecpm_retired_head);
	BLOCK(EcpMetaPageData, PAYLOAD, ecpm_retired_tail);
	META(ecpm_retired_pages);
	META(ecpm_op.ecpi_kind);
	META(ecpm_op.ecpi_nold);
	META(ecpm_op.ecpi_nnew);
	BLOCK(EcpMetaPageData, PAYLOAD, ecpm_op.ecpi_parent);
	for (int i = 0; i < 2; i++)
		add(fields, "ecpm_op.ecpi_old", PAYLOAD + offsetof(EcpMetaPageData, ecpm_op.ecpi_old[i]),
			4, DAMAGE_BLOCK);
	for (int i = 0; i < 4; i++)
		add(fields, "ecpm_op.ecpi_new", PAYLOAD + offsetof(EcpMetaPageData, ecpm_op.ecpi_new[i]),
			4, DAMAGE_BLOCK);
	META(ecpm_op.ecpi_first_run);
	BLOCK(EcpMetaPageData, PAYLOAD, ecpm_op.ecpi_closed);
	BLOCK(EcpMetaPageData, PAYLOAD, ecpm_op.ecpi_written);
	META(ecpm_nleaves);
	META(ecpm_build_tuples);
	add_array(fields, "ecpm_report", PAYLOAD + offsetof(EcpMetaPageData, ecpm_report),
			  1, sizeof(EcpBuildReportData), DAMAGE_NUMBER);
	META(ecpm_curve.ecpm_queries);
	META(ecpm_curve.ecpm_leaves);
	META(ecpm_curve.ecpm_time);
	META(ecpm_curve.ecpm_tuples);
	FLOAT(EcpMetaPageData, PAYLOAD, ecpm_curve.ecpm_norm);
	FLOAT(EcpMetaPageData, PAYLOAD, ecpm_curve.ecpm_spread);
	FLOAT(EcpMetaPageData, PAYLOAD, ecpm_curve.ecpm_excess);
	FLOAT(EcpMetaPageData, PAYLOAD, ecpm_curve.ecpm_excess_deviation);
	add_array(fields, "ecpm_classes",
			  PAYLOAD + offsetof(EcpMetaPageData, ecpm_curve.ecpm_classes),
			  sizeof(((EcpMetaPageData *) 0)->ecpm_curve.ecpm_classes) / 4, 4,
			  DAMAGE_FLOAT);
	add_array(fields, "ecpm_points",
			  PAYLOAD + offsetof(EcpMetaPageData, ecpm_curve.ecpm_points),
			  sizeof(((EcpMetaPageData *) 0)->ecpm_curve.ecpm_points) / 4, 4,
			  DAMAGE_FLOAT);
	add_array(fields, "ecpm_attr_kind", PAYLOAD + offsetof(EcpMetaPageData, ecpm_attr_kind),
			  ECP_ATTRS_MAX, 1, DAMAGE_NUMBER);
	META(ecpm_column_type);
	META(ecpm_ninclude);
	META(ecpm_include_bytes);
	META(ecpm_nbuffers);
	META(ecpm_reserved);
}

static void
run_header_fields(DamageFields *fields)
{
	NUMBER(EcpRunHeaderData, PAYLOAD, ecpr_head_run);
	NUMBER(EcpRunHeaderData, PAYLOAD, ecpr_next_run);
	NUMBER(EcpRunHeaderData, PAYLOAD, ecpr_retired_fxid);
	BLOCK(EcpRunHeaderData, PAYLOAD, ecpr_next_blk);
	NUMBER(EcpRunHeaderData, PAYLOAD, ecpr_npages);
	NUMBER(EcpRunHeaderData, PAYLOAD, ecpr_entry_pages);
	NUMBER(EcpRunHeaderData, PAYLOAD, ecpr_nslots);
	NUMBER(EcpRunHeaderData, PAYLOAD, ecpr_hw_page);
	NUMBER(EcpRunHeaderData, PAYLOAD, ecpr_free_hint);
	NUMBER(EcpRunHeaderData, PAYLOAD, ecpr_change);
	NUMBER(EcpRunHeaderData, PAYLOAD, ecpr_retired_v);
	BLOCK(EcpRunHeaderData, PAYLOAD, ecpr_retired_next);
	NUMBER(EcpRunHeaderData, PAYLOAD, ecpr_level);
	NUMBER(EcpRunHeaderData, PAYLOAD, ecpr_flags);
	NUMBER(EcpRunHeaderData, PAYLOAD, ecpr_vfrom);
	BLOCK(EcpRunHeaderData, PAYLOAD, ecpr_head_blk);
}

static void
ecp_entry_fields(const DamageMap *map, bool leaf, DamageFields *fields)
{
	const EcpIndexState *state = map->geometry;
	const EcpGeometry *geo;

	run_header_fields(fields);
	if (state == NULL)
	{
		add_array(fields, "entries", PAYLOAD + sizeof(EcpRunHeaderData),
				  1000, 4, DAMAGE_BLOCK);
		return;
	}
	geo = leaf ? &state->leaf : &state->node;
	add_array(fields, "live", geo->off_live,
			  geo->live_words * Max(1, state->meta.ecpm_nbitmaps), 8, DAMAGE_NUMBER);
	if (leaf)
	{
		for (int i = 0; i < geo->slots; i++)
			add(fields, "tid block", geo->off_items + 6 * i, 4, DAMAGE_BLOCK);
		for (int i = 0; i < geo->slots; i++)
			add(fields, "tid offset", geo->off_items + 6 * i + 4, 2, DAMAGE_NUMBER);
		if (geo->natts > 0)
			add_array(fields, "attribute nulls", geo->off_nulls, geo->slots, 1,
					  DAMAGE_NUMBER);
		for (int att = 0; att < geo->natts; att++)
			add_array(fields, "attribute", geo->off_attr[att], geo->slots,
					  geo->attr_width[att], DAMAGE_NUMBER);
		if (geo->include_bytes > 0)
			add_array(fields, "include", geo->off_include, geo->slots,
					  geo->include_bytes, DAMAGE_NUMBER);
	}
	else
		child_fields(fields, geo->off_items, geo->slots);
	if (geo->nfactors > 0)
		add_array(fields, "factor", geo->off_factors, geo->nfactors * geo->slots,
				  4, DAMAGE_FLOAT);
	if (geo->code_bytes > 0)
		add_array(fields, "code", geo->off_codes, geo->slots, geo->code_bytes,
				  DAMAGE_FLOAT);
}

static void
ecp_fields(const DamageMap *map, BlockNumber blk, char *page,
		   DamageFields *fields)
{
	const char *kind = map->kind[blk];
	int			opaque = BLCKSZ - sizeof(EcpPageOpaqueData);

	NUMBER(EcpPageOpaqueData, opaque, ecpo_run);
	NUMBER(EcpPageOpaqueData, opaque, ecpo_pageno);
	NUMBER(EcpPageOpaqueData, opaque, ecpo_kind);
	NUMBER(EcpPageOpaqueData, opaque, ecpo_page_id);
	if (strcmp(kind, "meta") == 0)
		ecp_meta_fields(fields);
	else if (strcmp(kind, "map") == 0)
	{
		add_array(fields, "map of the file", PAYLOAD, map->nblocks / 64 + 1, 8,
				  DAMAGE_NUMBER);
		add_array(fields, "map", PAYLOAD, ECP_MAP_BYTES / 8, 8, DAMAGE_NUMBER);
	}
	else if (strcmp(kind, "vector") == 0 || strcmp(kind, "new") == 0 ||
			 strcmp(kind, "other") == 0)
		add_array(fields, "vector", PAYLOAD, ECP_PAYLOAD_BYTES / 4, 4,
				  DAMAGE_FLOAT);
	else
		ecp_entry_fields(map, strncmp(kind, "node", 4) != 0, fields);
}

/* ---- betree ---- */

static const char *
betree_kind(char *page, BlockNumber blk)
{
	BetreePageOpaque opaque = BetreePageGetOpaque(page);

	if (PageIsNew(page))
		return "new";
	if (blk == BETREE_ROOT_BLKNO)
		return "root";
	switch (opaque->bteo_kind)
	{
		case BETREE_META:
			return "meta";
		case BETREE_NODE:
			return opaque->bteo_level > 1 ? "upper node" :
				opaque->bteo_nlog > 0 ? "node with log" : "node";
		case BETREE_LEAF:
			return "leaf";
		case BETREE_LOG:
			return opaque->bteo_seq > 0 ? "sealed" : "tail";
		case BETREE_FILTER:
			return "filter";
		case BETREE_BLOOM:
			return "bloom";
		case BETREE_FREE:
			return "free";
		default:
			return "other";
	}
}

static void
item_fields(char *page, DamageFields *fields)
{
	int			nitems = PageGetMaxOffsetNumber(page);

	add_array(fields, "line pointer", SizeOfPageHeaderData, nitems, 4, DAMAGE_NUMBER);
	for (int i = 0; i < nitems; i++)
		add(fields, "lp_off and flag", SizeOfPageHeaderData + 4 * i, 2, DAMAGE_NUMBER);
	for (int i = 0; i < nitems; i++)
		add(fields, "lp_len and flag", SizeOfPageHeaderData + 4 * i + 2, 2, DAMAGE_NUMBER);
	for (int part = 0; part < 5; part++)
		for (int i = 1; i <= nitems; i++)
		{
			ItemId		id = PageGetItemId(page, i);
			int			at = ItemIdGetOffset(id);
			int			end = at + ItemIdGetLength(id);

			switch (part)
			{
				case 0:
					add(fields, "t_tid block", at, 4, DAMAGE_BLOCK);
					break;
				case 1:
					add(fields, "t_tid offset", at + 4, 2, DAMAGE_NUMBER);
					break;
				case 2:
					add(fields, "t_info", at + 6, 2, DAMAGE_NUMBER);
					break;
				case 3:
					/* headers of varlenas are among these */
					for (int byte = at + 8; byte < Min(end, at + 40); byte++)
						add(fields, "key byte", byte, 1, DAMAGE_NUMBER);
					break;
				case 4:
					for (int word = at + 8; word + 8 <= end; word += 8)
						add(fields, "key word", word, 8, DAMAGE_NUMBER);
					break;
			}
		}
}

static void
betree_fields(const DamageMap *map, BlockNumber blk, char *page,
			  DamageFields *fields)
{
	int			opaque = BLCKSZ - sizeof(BetreePageOpaqueData);
	int			kind = BetreePageGetOpaque(page)->bteo_kind;

	NUMBER(BetreePageOpaqueData, opaque, bteo_seq);
	NUMBER(BetreePageOpaqueData, opaque, bteo_drain);
	BLOCK(BetreePageOpaqueData, opaque, bteo_owner);
	NUMBER(BetreePageOpaqueData, opaque, bteo_ncap);
	NUMBER(BetreePageOpaqueData, opaque, bteo_nlog);
	NUMBER(BetreePageOpaqueData, opaque, bteo_ndir);
	NUMBER(BetreePageOpaqueData, opaque, bteo_nsorted);
	NUMBER(BetreePageOpaqueData, opaque, bteo_hash_id);
	NUMBER(BetreePageOpaqueData, opaque, bteo_kind);
	NUMBER(BetreePageOpaqueData, opaque, bteo_level);
	NUMBER(BetreePageOpaqueData, opaque, bteo_flags);
	NUMBER(BetreePageOpaqueData, opaque, bteo_page_id);
	if (PageIsNew(page))
		return;
	if (kind == BETREE_META)
	{
		NUMBER(BetreeMetaPageData, PAYLOAD, btem_magic);
		NUMBER(BetreeMetaPageData, PAYLOAD, btem_version);
		NUMBER(BetreeMetaPageData, PAYLOAD, btem_nkeyatts);
		NUMBER(BetreeMetaPageData, PAYLOAD, btem_natts);
		NUMBER(BetreeMetaPageData, PAYLOAD, btem_tuple_width);
	}
	else if (kind == BETREE_FILTER)
	{
		int			at = PAYLOAD;

		while (at + BetreeFilterGroupSize(0) <= ((PageHeader) page)->pd_lower)
		{
			BetreeFilterGroup group = (BetreeFilterGroup) (page + at);
			int			nparts = group->btef_ends[BETREE_FILTER_BUCKETS - 1];

			NUMBER(BetreeFilterGroupData, at, btef_seq);
			add_array(fields, "filter end", at + offsetof(BetreeFilterGroupData, btef_ends),
					  BETREE_FILTER_BUCKETS, 1, DAMAGE_NUMBER);
			add_array(fields, "filter part", at + BetreeFilterGroupSize(0), nparts, 2,
					  DAMAGE_NUMBER);
			at += BetreeFilterGroupSize(nparts);
		}
	}
	else if (kind == BETREE_BLOOM)
	{
		int			size = BetreeBloomSlotSize(BetreeBloomGetHeader(page)->bteb_slot_bytes);

		NUMBER(BetreeBloomHeaderData, PAYLOAD, bteb_slot_bytes);
		for (int at = PAYLOAD + sizeof(BetreeBloomHeaderData);
			 size > 0 && at + size <= ((PageHeader) page)->pd_lower; at += size)
		{
			add(fields, "slot_leaf", at, sizeof(BlockNumber), DAMAGE_BLOCK);
			add_array(fields, "slot bits", at + sizeof(BlockNumber),
					  (size - (int) sizeof(BlockNumber)) / 4, 4, DAMAGE_NUMBER);
		}
	}
	else if (kind != BETREE_FREE)
		item_fields(page, fields);
	if (kind == BETREE_NODE)
	{
		int			ncap = BetreePageGetOpaque(page)->bteo_ncap;
		int			dir = ((PageHeader) page)->pd_special;
		int			used = BetreePageGetOpaque(page)->bteo_ndir;
		int			size = sizeof(BetreeDirEntry);

		for (int i = 0; i < used; i++)
			BLOCK(BetreeDirEntry, dir + i * size, bted_block);
		for (int i = 0; i < used; i++)
			NUMBER(BetreeDirEntry, dir + i * size, bted_seq);
		for (int i = 0; i < used; i++)
			NUMBER(BetreeDirEntry, dir + i * size, bted_kind);
		if (ncap > 0)
			add_array(fields, "counters", opaque - sizeof(BetreeCountersData),
					  sizeof(BetreeCountersData) / 4, 4, DAMAGE_NUMBER);
	}
}

/* ---- both ---- */

void
damage_map_init(DamageMap *map, Relation index, char *pages, BlockNumber nblocks)
{
	uint8	   *level = palloc0(nblocks + 1);

	map->is_ecp = strcmp(get_am_name(index->rd_rel->relam), "ecp") == 0;
	map->nblocks = nblocks;
	map->kind = palloc(sizeof(char *) * Max(nblocks, 1));
	for (BlockNumber blk = 0; blk < nblocks; blk++)
	{
		const char *kind = map->is_ecp ? ecp_kind(map, pages, blk, level) :
			betree_kind(pages + (Size) blk * BLCKSZ, blk);
		int			i = 0;

		while (i < map->nkinds && strcmp(map->kinds[i], kind) != 0)
			i++;
		if (i == map->nkinds)
			map->kinds[map->nkinds++] = kind;
		map->kind[blk] = map->kinds[i];
	}
	pfree(level);
	if (map->is_ecp)
	{
		typedef void (*StateRead) (Relation, EcpIndexState *);
		StateRead	state_read = (StateRead) load_external_function("$libdir/ecp",
																	"ecp_meta_read_state",
																	false, NULL);

		if (state_read != NULL)
		{
			map->geometry = palloc(sizeof(EcpIndexState));
			state_read(index, map->geometry);
		}
	}
}

void
damage_fields_list(const DamageMap *map, BlockNumber blk, char *page,
				   DamageFields *fields)
{
	memset(fields, 0, sizeof(*fields));
	page_header_fields(fields);
	if (map->is_ecp)
		ecp_fields(map, blk, page, fields);
	else
		betree_fields(map, blk, page, fields);
}

/* What betree_page.h calls: not to be taken for the one of ecp.so. */
__attribute__((visibility("hidden")))
void
betree_page_report_item(const void *where)
{
	elog(ERROR, "damaged item");
}
