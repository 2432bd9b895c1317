/*-------------------------------------------------------------------------
 *
 * ecp_layout.c
 *	  Where the runs of a new index go.
 *
 * Runs lie one after the other in the order in which they are written, with a
 * map page between two of them where its block comes.  The blocks of a run
 * follow from its rows, and a cluster of too many rows is cut into halves.  The
 * numbers of rows therefore determine where each cluster begins, before any row
 * is read, and several processes can write clusters at once.
 *
 * Used by ecp_merge.c, once to plan the leaves and again to write them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/page_writer.h"
#include "ecp/create/ecp_build.h"
#include "ecp/create/ecp_policy.h"
#include "ecp/page/ecp_page.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

/* Largest piece of a cluster, whatever the memory. */
#define CLUSTER_BYTES_MAX	(64 * 1024 * 1024)

/* Free slots of a new node, for later splits. */
#define NODE_SPARE(n)	((n) / 16 + 16)

uint32
ecp_layout_slots(const EcpGeometry *geo, int level, int n,
				 uint32 *entry_pages, uint32 *npages)
{
	uint32		nslots = level == 0 ? n : n + NODE_SPARE(n);

	Assert(level >= 0 && n > 0);
	ecp_geometry_run_size(geo, nslots, entry_pages, npages);
	if (*npages > ECP_RUN_PAGES_MAX)
		nslots = n;
	nslots = ecp_geometry_full_slots(geo, nslots);
	ecp_geometry_run_size(geo, nslots, entry_pages, npages);
	return nslots;
}

BlockNumber
ecp_layout_run(const EcpBuild *build, EcpLayout *at, uint32 npages)
{
	BlockNumber blk = at->blk;

	Assert(npages > 0);
	Assert(npages <= ECP_RUN_PAGES_MAX);
	if ((uint64) blk + npages + ECP_MAP_BITS > MaxBlockNumber)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" would have too many blocks",
						RelationGetRelationName(build->index))));

	if (EcpBlockMap(blk) == EcpBlockMap(blk + npages - 1))
	{
		BlockNumber map_blk = EcpMapBlock(EcpBlockMap(blk));

		if (blk <= map_blk && map_blk < blk + npages)
			blk = map_blk + 1;
	}
	else
		blk = EcpMapBlock(EcpBlockMap(blk) + 1) + 1;

	at->blk = blk + npages;
	at->run++;
	return blk;
}

int
ecp_layout_piece(const EcpBuild *build)
{
	Size		row_bytes = EcpBuildRowBytes(build) + sizeof(ItemPointerData) + 1 +
		(ecp_build_prep_same(build) ? 0 : EcpBuildPrepBytes(build));
	Size		rows = build->budget * ECP_SHARE_CLUSTER / row_bytes;

	return Max(Min(rows, CLUSTER_BYTES_MAX / row_bytes),
			   2 * (Size) build->state.meta.ecpm_leaf_max);
}

/* Skip the runs of n rows that are cut together. */
static void
layout_piece(const EcpBuild *build, EcpLayout *at, int n)
{
	uint32		entry_pages;
	uint32		npages;

	if (n > (int) build->state.meta.ecpm_leaf_max)
	{
		layout_piece(build, at, n / 2);
		layout_piece(build, at, n - n / 2);
		return;
	}
	(void) ecp_layout_slots(&build->state.leaf, 0, n, &entry_pages, &npages);
	(void) ecp_layout_run(build, at, npages);
}

void
ecp_layout_cluster(const EcpBuild *build, EcpLayout *at, uint64 rows)
{
	uint64		piece = ecp_layout_piece(build);

	while (rows > 0)
	{
		layout_piece(build, at, (int) Min(rows, piece));
		rows -= Min(rows, piece);
	}
}

/* ---- the map ---- */

static void
layout_map_set(EcpLayoutMap *map, BlockNumber blk)
{
	uint32		bit = blk % ECP_MAP_BITS;

	Assert(EcpBlockMap(blk) == map->mapno);
	EcpPageGetMap(map->page)[bit / 64] |= UINT64CONST(1) << (bit % 64);
}

static void
layout_map_start(EcpLayoutMap *map, uint32 mapno)
{
	map->mapno = mapno;
	map->page = ecp_page_writer_get(map->writer);
	ecp_page_init_map(map->page, mapno);
	layout_map_set(map, EcpMapBlock(mapno));
}

void
ecp_layout_map_begin(EcpLayoutMap *map, EcpPageWriter *writer)
{
	map->writer = writer;
	layout_map_start(map, 0);
	layout_map_set(map, ECP_META_BLKNO);
}

void
ecp_layout_map_run(EcpLayoutMap *map, BlockNumber blk, uint32 npages)
{
	Assert(EcpBlockMap(blk) >= map->mapno);
	if (EcpBlockMap(blk) != map->mapno)
	{
		ecp_layout_map_end(map);
		layout_map_start(map, EcpBlockMap(blk));
	}
	for (uint32 i = 0; i < npages; i++)
		layout_map_set(map, blk + i);
}

void
ecp_layout_map_end(EcpLayoutMap *map)
{
	ecp_page_writer_put(map->writer, EcpMapBlock(map->mapno), map->page);
}

/* ---- the entries that runs of a new index leave for the node above them ---- */

void
ecp_entries_add(EcpEntryList *list, const EcpChildData *child, const void *vector,
				int32 parent)
{
	if (list->n == list->max)
	{
		Size		max = Max(64, (Size) list->max + list->max / 2);

		if (max > PG_INT32_MAX || list->fixed)
			elog(ERROR, "too many clusters");
		if (list->max == 0)
		{
			list->children = palloc_array(EcpChildData, max);
			list->parents = palloc_array(int32, max);
			list->vectors = palloc(add_size(mul_size(max, list->vec_bytes), 64));
		}
		else
		{
			list->children = repalloc_huge(list->children,
										   mul_size(max, sizeof(EcpChildData)));
			list->parents = repalloc_huge(list->parents,
										  mul_size(max, sizeof(int32)));
			list->vectors = repalloc_huge(list->vectors,
										  add_size(mul_size(max, list->vec_bytes),
												   64));
		}
		list->max = max;
	}
	list->children[list->n] = *child;
	list->parents[list->n] = parent;
	memcpy(list->vectors + (Size) list->n * list->vec_bytes, vector,
		   list->vec_bytes);
	list->n++;
}

void
ecp_entries_free(EcpEntryList *list)
{
	if (list->fixed)
		ecp_team_memory_free(&list->memory);
	else if (list->max > 0)
	{
		pfree(list->children);
		pfree(list->parents);
		pfree(list->vectors);
	}
}
