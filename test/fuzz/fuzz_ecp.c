/*-------------------------------------------------------------------------
 *
 * fuzz_ecp.c
 *	  A program of libFuzzer for the readers of ecp pages.
 *
 * link: src/ecp/page/ecp_page.c src/ecp/page/ecp_geometry.c
 * link: src/ecp/page/ecp_entry.c src/ecp/page/ecp_run.c src/ecp/page/ecp_cluster.c
 * link: src/ecp/page/ecp_node.c src/ecp/page/ecp_attr.c src/ecp/page/ecp_meta.c
 * link: src/ecp/page/ecp_prepare.c
 * link: src/vector/vector_codes.c src/vector/vector_nibbles.c
 * link: src/vector/vector_dispatch.c src/vector/vector_kernels.c
 * link: src/vector/vector_kernels_scalar.c src/vector/vector_kernels_avx2.c
 * link: src/vector/vector_kernels_avx512.c src/vector/vector_panel.c
 * link: src/vector/vector_value.c src/vector/vector_parts.c src/base/core_buffer.c
 *
 *-------------------------------------------------------------------------
 */
#include "fuzz.h"

#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "vector/vector_value.h"

/* Clusters that are read as a whole, of one run of the program. */
#define CLUSTERS_MAX	64

static FormData_pg_index index_form;
static EcpColumnType sound_form;
static EcpMetric sound_metric;

bool
fuzz_accepts(const char *name)
{
	return strncmp(name, "ecp_", 4) == 0;
}

/* The class and the columns, as the sound metapage has them. */
void
fuzz_define(void)
{
	EcpMetaPage meta = EcpPageGetMeta(fuzz_file->pages);

	index_form.indnkeyatts = meta->ecpm_nkeyatts;
	index_form.indnatts = meta->ecpm_nkeyatts + meta->ecpm_ninclude;
	fuzz_relation.rd_index = &index_form;
	sound_form = meta->ecpm_column_type;
	sound_metric = meta->ecpm_metric;
}

void
ecp_class_get(Relation index, EcpColumnType *form, EcpMetric *metric)
{
	*form = sound_form;
	*metric = sound_metric;
}

static EcpIndexState state;

static void
read_state(void *arg)
{
	ecp_meta_read_state(&fuzz_relation, &state);
}

static void
read_cluster(void *arg)
{
	EcpChild	child = arg;
	EcpClusterSize size;
	EcpRowSet	rows;

	(void) ecp_cluster_size(&fuzz_relation, &state, child, true, &size);
	ecp_cluster_rows_init(&rows, &state);
	(void) ecp_cluster_rows_read(&fuzz_relation, &state, child->ecpc_blk,
								 child->ecpc_run, InvalidBuffer, &rows);
}

static void
read_tree(void *arg)
{
	ListCell   *cell;
	int			nclusters = 0;

	if (state.meta.ecpm_root_level == 0)
		read_cluster(&state.meta.ecpm_root);
	foreach(cell, ecp_node_collect(&fuzz_relation, &state, -1))
	{
		EcpNodeRef *ref = lfirst(cell);
		EcpNodeImage *node = ecp_node_read(&fuzz_relation, &state, ref->level,
										   ref->child.ecpc_blk,
										   ref->child.ecpc_run, true);

		if (node == NULL)
			continue;
		if (node->level == 1)
			for (int i = 0; i < node->nchildren; i++)
				if (nclusters++ < CLUSTERS_MAX)
					read_cluster(&node->children[i]);
		ecp_node_image_free(node);
	}
}

/* The queue, which may be a ring: its readers know its length. */
static void
read_retired(void *arg)
{
	BlockNumber blk = state.meta.ecpm_retired_head;

	for (int i = 0; i < CLUSTERS_MAX && blk != InvalidBlockNumber; i++)
	{
		EcpRun		head;
		EcpRun	   *runs;

		ecp_cluster_retired_read(&fuzz_relation, &state, blk, &head);
		(void) ecp_cluster_runs(&fuzz_relation, &state, head.header.ecpr_level,
								blk, head.run, InvalidBuffer, &runs);
		blk = head.header.ecpr_retired_next;
	}
}

/* All pages of a run by themselves, as those do that come by a block number. */
static void
read_page(void *arg)
{
	BlockNumber blk = *(BlockNumber *) arg;
	Buffer		buffer = ecp_page_get(&fuzz_relation, blk, BUFFER_LOCK_SHARE);
	Page		page = BufferGetPage(buffer);
	EcpRunHeader header = EcpPageGetRunHeader(page);
	const EcpGeometry *geo;
	EcpEntryView view;
	char		attrs[ECP_ATTRS_MAX * 9 + 1 + ECP_INCLUDE_BYTES_MAX];

	ecp_page_check(&fuzz_relation, buffer, ECP_PAGE_ENTRY);
	geo = header->ecpr_level == 0 ? &state.leaf : &state.node;
	if (EcpPageGetOpaque(page)->ecpo_pageno == 0)
		ecp_run_check_header(&fuzz_relation, buffer, geo);
	ecp_entry_view(page, geo, header->ecpr_level, &view);
	(void) ecp_entry_count_live(geo, &view);
	if (header->ecpr_level == 0)
		for (int slot = 0; slot < geo->slots; slot++)
			ecp_entry_get_attrs(geo, &view, slot, attrs);
	UnlockReleaseBuffer(buffer);
}

void
fuzz_read(const uint8 *choices, size_t nchoices)
{
	if (!fuzz_try(read_state, NULL) || state.meta.ecpm_dims == 0 ||
		EcpIndexIsEmpty(&state))
		return;
	(void) fuzz_try(read_tree, NULL);
	(void) fuzz_try(read_retired, NULL);
	if (nchoices > 2)
	{
		BlockNumber blk = (choices[1] | choices[2] << 8) % fuzz_file->nblocks;

		(void) fuzz_try(read_page, &blk);
	}
}
