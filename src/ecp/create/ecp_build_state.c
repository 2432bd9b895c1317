/*-------------------------------------------------------------------------
 *
 * ecp_build_state.c
 *	  What each process of an index build knows, and all phases need.
 *
 * A process knows the table and the index from the start
 * (ecp_build_state_open()), the number of dimensions from the first row
 * (ecp_build_state_row()), and what was planned and assigned from copies made
 * at the start of each task (ecp_build_team.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/heap_row.h"
#include "base/stop_point.h"
#include "base/team.h"
#include "commands/progress.h"
#include "ecp/create/ecp_build.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "vector/vector_value.h"

/* Rows sampled for each leader that k-means is to find. */
#define SAMPLE_FACTOR		64

void
ecp_build_state_open(EcpBuild *build, Relation heap, Relation index,
					 IndexInfo *indexInfo, EcpFiles *files)
{
	Assert(index->rd_index->indrelid == RelationGetRelid(heap));
	Assert(files != NULL);
	memset(build, 0, sizeof(EcpBuild));
	build->heap = heap;
	build->index = index;
	build->indexInfo = indexInfo;
	build->options = ecp_options_get(index);
	ecp_attr_desc_init(index, NULL, &build->attrs);
	build->budget = maintenance_work_mem * (Size) 1024;
	build->ctx = AllocSetContextCreate(CurrentMemoryContext, "ecp build",
									   ALLOCSET_DEFAULT_SIZES);
	build->rowctx = AllocSetContextCreate(build->ctx, "ecp build, one row",
										  ALLOCSET_DEFAULT_SIZES);
	build->files = files;
}

bool
ecp_build_state_row(EcpBuild *build, const ItemPointerData *tid, Datum value,
					EcpVector *vector)
{
	EcpMetaPageData *meta = &build->state.meta;
	EcpErrorRow row;

	ecp_error_row_begin(&row, build->heap, build->index, tid);
	ecp_vector_read(value, meta->ecpm_column_type, vector);
	if (meta->ecpm_dims == 0)
	{
		meta->ecpm_flags |= ECP_META_DIMS_LEARNED;
		ecp_meta_set_dims(build->index, meta, vector->dims);
		ecp_geometry_init(&build->state);
	}
	if (build->prepared == NULL)
		build->prepared = MemoryContextAlloc(build->ctx,
											 EcpBuildPrepBytes(build) + 64);
	ecp_vector_check_dims(vector, meta->ecpm_dims,
						  RelationGetRelationName(build->index));
	if (vector->elem != meta->ecpm_elem)
	{
		void	   *stored = palloc(build->state.leaf.vec_bytes);

		ecp_prepare_stored(meta, vector, stored);
		vector->elem = meta->ecpm_elem;
		vector->data = stored;
	}
	ecp_error_row_end(&row);
	return ecp_prepare(meta, vector, build->prepared);
}

void
ecp_build_state_compared(const EcpBuild *build, const char *row, void *space,
						 char *dst)
{
	const EcpLeaderTree *tree = build->tree;
	const void *prepared = row;

	if (!ecp_build_prep_same(build))
	{
		prepared = tree->scale ? space : dst;
		(void) ecp_prepare_row(&build->state.meta, row, unconstify(void *, prepared));
	}
	if (tree->scale)
		ecp_byte_copy_put(tree->scale, prepared, (uint8 *) dst);
}

double
ecp_build_state_leaders(const EcpBuild *build, double rows)
{
	double		leaders = ceil(rows / build->state.meta.ecpm_leaf_target);
	Size		bytes = EcpBuildPrepBytes(build) + sizeof(EcpChildData) +
		sizeof(int32) + build->state.node.summary_bytes;
	double		fit = build->budget * ECP_SHARE_LEADERS / bytes;

	Assert(rows >= 0);
	if (build->state.meta.ecpm_dims > 0)
		leaders = Min(leaders, Max(fit, 1));
	return Max(leaders, 1);
}

double
ecp_build_state_sample_rows(const EcpBuild *build, double rows)
{
	int			factor = build->options.sample_factor;

	Assert(rows >= 0);
	if (build->state.meta.ecpm_dims == 0)
		return Max(rows, 1);
	if (build->options.leaders == ECP_LEADERS_RANDOM)
		factor = 1;
	else if (factor == 0)
		factor = SAMPLE_FACTOR;
	return Max(Min(ecp_build_state_leaders(build, rows) * factor, rows), 1);
}

Size
ecp_build_state_inbuff_row_bytes(const EcpBuild *build)
{
	return add_size(EcpBuildRowBytes(build),
					sizeof(ItemPointerData) + 2 * sizeof(int32));
}

int
ecp_build_state_inbuff_rows(const EcpBuild *build)
{
	Size		bytes = Min(build->plan.in_buff,
							build->budget * ECP_SHARE_IN_BUFF);
	Size		rows = bytes / build->plan.nparticipants /
		ecp_build_state_inbuff_row_bytes(build);

	Assert(build->plan.nparticipants >= 1);
	return Min(Max(rows, 1), PG_INT32_MAX / 2);
}

Size
ecp_build_state_lists_bytes(const EcpBuild *build, EcpElem elem, int n)
{
	Size		bytes = ecp_leader_lists_bytes(elem, build->state.meta.ecpm_dims, n);

	return bytes > build->budget * ECP_SHARE_GUIDE ||
		n > ECP_FLAT_LEADERS_MAX ? 0 : bytes;
}

/*
 * The larger of two phases: the sample with what k-means keeps of it, and the
 * assignment, with what searches for leaders and the in-buff.
 */
double
ecp_build_state_memory(const EcpBuild *build, double rows)
{
	const EcpMetaPageData *meta = &build->state.meta;
	double		leaders = ecp_build_state_leaders(build, rows);
	double		prep = EcpBuildPrepBytes(build);
	double		sample;
	double		assign;

	if (meta->ecpm_dims == 0)
		return 0;
	sample = Min(ecp_build_state_sample_rows(build, rows) * prep,
				 build->budget * ECP_SHARE_SAMPLE);
	if (ecp_build_compared_elem(build) != meta->ecpm_leader_elem)
		sample += sample / sizeof(float4);
	assign = (double) ecp_build_state_inbuff_rows(build) *
		ecp_build_state_inbuff_row_bytes(build) +
		ecp_build_state_lists_bytes(build, ecp_build_compared_elem(build), (int) leaders);
	return Max(sample, assign) + 2 * leaders * prep;
}

void
ecp_build_state_total(double rows)
{
	const int	index[] = {
		PROGRESS_CREATEIDX_TUPLES_DONE,
		PROGRESS_CREATEIDX_TUPLES_TOTAL
	};
	const int64 values[] = {0, (int64) rows};

	Assert(rows >= 0);
	pgstat_progress_update_multi_param(lengthof(index), index, values);
}

void
ecp_build_state_progress(const EcpBuild *build, uint64 more, uint64 rows)
{
	Assert(more <= rows);
	if (build->team)
		rows = ecp_team_count_rows(build->team, more);
	if (build->participant == 0)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, rows);
	ECP_STOP_POINT("build-rows");
}

void
ecp_build_state_queries(void *arg, uint64 done)
{
	const EcpBuild *build = arg;

	if (build->participant == 0)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, done);
	ECP_STOP_POINT("build-recall");
}
