/*-------------------------------------------------------------------------
 *
 * ecp_build.c
 *	  CREATE INDEX: from a table to a new ecp index.
 *
 *	 sample -> leaders -> assign -> merge
 *
 * A sample of the table gives the leaders (ecp_sample.c, ecp_leaders.c).
 * Then one scan of the table assigns all rows to leaders, and a policy keeps
 * them (ecp_assign.c, ecp_policy_*.c).  At the end the policy gives the rows
 * back by cluster and they become pages (ecp_merge.c).  A team of processes
 * (ecp_build_team.c) shares all of this but the sample.  The metapage is
 * written last, when everything it refers to is on disk: it carries the report
 * of the build, which ecp_build_report() shows.
 *
 * This file has the order of the phases, and the plan for all of them.
 *
 * Memory stays within maintenance_work_mem in every phase; ecp_build.h says
 * how it is divided.  The same seed and the same table give the same index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/page_writer.h"
#include "base/team.h"
#include "commands/progress.h"
#include "device/cost/device_model.h"
#include "device/cost/device_profile.h"
#include "ecp/create/ecp_build.h"
#include "ecp/create/ecp_policy.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/recall/ecp_recall_curve.h"
#include "ecp/search/ecp_stop.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/rel.h"

/*
 * The default in-buff: at least IN_BUFF_BYTES, and IN_BUFF_HALVES times the
 * size at which the device of the files reads at half of its bandwidth.  A
 * merge of 20 chunks then reads 20 times that size at once.
 */
#define IN_BUFF_BYTES		((Size) 128 * 1024 * 1024)
#define IN_BUFF_BYTES_MAX	((Size) 1024 * 1024 * 1024)
#define IN_BUFF_HALVES		400

/* Share of a build's time that measuring recall may take. */
#define RECALL_SHARE		0.25

/* What one processor does, for the prediction of a build's time. */
#define MUL_ADDS_PER_S		4e9
#define COPY_BYTES_PER_S	100e6

char *
ecpbuildphasename(int64 phasenum)
{
	switch (phasenum)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case ECP_PROGRESS_SAMPLE:
			return "sampling table";
		case ECP_PROGRESS_LEADERS:
			return "choosing leaders";
		case ECP_PROGRESS_ASSIGN:
			return "assigning rows";
		case ECP_PROGRESS_MERGE:
			return "merging clusters";
		case ECP_PROGRESS_NODES:
			return "writing leaders";
		case ECP_PROGRESS_RECALL:
			return "measuring recall";
		default:
			return NULL;
	}
}

/* ---- the clock ---- */

/* When the present phase began; the report is in the metapage to be. */
typedef struct BuildClock
{
	EcpBuild   *build;
	int			phase;			/* EcpBuildPhase, or -1 */
	instr_time	start;
	double		cpu_start;
	EcpFilesCount count_start;
} BuildClock;

/* Close the account of the phase that ends, open that of the next. */
static void
clock_phase(BuildClock *clock, int phase, int progress)
{
	EcpBuild   *build = clock->build;
	EcpFilesCount count = *ecp_files_count(build->files);
	double		cpu = ecp_team_process_cpu_s();
	instr_time	now;

	if (build->team)
		cpu += build->team->shared->cpu_s;
	INSTR_TIME_SET_CURRENT(now);
	if (clock->phase >= 0)
	{
		EcpBuildPhaseData *data =
			&build->state.meta.ecpm_report.ecpb_phase[clock->phase];
		const EcpFilesCount *start = &clock->count_start;
		instr_time	wall = now;

		INSTR_TIME_SUBTRACT(wall, clock->start);
		data->ecpb_wall_s = INSTR_TIME_GET_DOUBLE(wall);
		data->ecpb_cpu_s = cpu - clock->cpu_start;
		data->ecpb_io_s = count.io_s - start->io_s;
		data->ecpb_files = count.files - start->files;
		data->ecpb_opens = count.opens - start->opens;
		data->ecpb_read_bytes += count.read_bytes - start->read_bytes;
		data->ecpb_written_bytes = count.written_bytes - start->written_bytes;
	}
	elog(DEBUG1, "ecp build: %zu kB of memory, %zu kB allowed",
		 MemoryContextMemAllocated(build->ctx, true) / 1024,
		 build->budget / 1024);
	clock->phase = phase;
	clock->start = now;
	clock->cpu_start = cpu;
	clock->count_start = count;
	if (progress > 0)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, progress);
}

/* Seconds of the phases so far. */
static double
clock_seconds(const BuildClock *clock)
{
	const EcpBuildReportData *report = &clock->build->state.meta.ecpm_report;
	double		seconds = 0;

	for (int i = 0; i < ECP_BUILD_NPHASES; i++)
		seconds += report->ecpb_phase[i].ecpb_wall_s;
	return seconds;
}

/* ---- the plan ---- */

/* Bytes of the in-buff, before maintenance_work_mem limits them. */
static Size
plan_in_buff(const EcpBuild *build)
{
	EcpDeviceProfile profile;
	Size		bytes = IN_BUFF_BYTES;

	if (ecp_in_buff_kb > 0)
		return ecp_in_buff_kb * (Size) 1024;
	if (ecp_device_profile_read(ecp_files_tablespace(build->files), &profile))
		bytes = Max(bytes, IN_BUFF_HALVES * (double) profile.half_bandwidth_bytes);
	return Min(bytes, IN_BUFF_BYTES_MAX);
}

/* What is planned before anything is known of the table. */
static void
plan_init(EcpBuild *build)
{
	EcpBuildReportData *report = &build->state.meta.ecpm_report;

	build->plan.in_buff = plan_in_buff(build);
	build->plan.nworkers = ecp_index_workers(build->heap, build->index,
											 build->indexInfo,
											 &build->plan.read_blocks);
	build->plan.nparticipants = 1;
	build->plan.policy = ecp_policy_routine(ecp_build_policy)->policy;
	report->ecpb_policy = build->plan.policy;
	strlcpy(report->ecpb_why,
			ecp_build_policy == ECP_POLICY_AUTO ?
			"devices were not measured" : "ecp.build_policy",
			sizeof(report->ecpb_why));
}

/* Seconds that the assignment of all rows would take one process. */
static double
plan_assign_cpu_s(const EcpBuild *build)
{
	return build->plan.table_rows *
		ecp_assign_compared(build, build->plan.table_rows) *
		build->state.meta.ecpm_dims / MUL_ADDS_PER_S;
}

/*
 * Limit the processes that read a table larger than the caches to the number
 * that its tablespace serves best, as measured, unless the assignment would
 * then take longer than the reading.
 */
static void
plan_workers(EcpBuild *build)
{
	double		blocks = build->plan.read_blocks;
	EcpDeviceProfile profile;
	double		processes;

	if (build->plan.nworkers == 0 || blocks < effective_cache_size ||
		!ecp_device_profile_read(build->heap->rd_rel->reltablespace, &profile) ||
		profile.seq_read_mb_s <= 0)
		return;
	processes = ceil(plan_assign_cpu_s(build) /
					 (blocks * BLCKSZ / (profile.seq_read_mb_s * 1e6)));
	processes = Max(processes, profile.best_workers);
	build->plan.nworkers = Min(build->plan.nworkers, Max(processes, 1) - 1);
}

/*
 * With build_policy = auto, choose the policy that is faster by the profiles of
 * the tablespaces, and note the predicted time.
 *
 * The table must have been sampled, and parallel mode not begun.  Without a
 * profile of every tablespace used, the choice of plan_init() stands.
 */
static void
plan_policy(EcpBuild *build)
{
	EcpBuildReportData *report = &build->state.meta.ecpm_report;
	EcpBuildShape shape;
	EcpBuildChoice choice;
	const EcpBuildCost *cost;

	if (ecp_build_policy != ECP_POLICY_AUTO)
		return;
	shape.vectors = Max(build->plan.table_rows, 1.0);
	shape.record_bytes = ECP_RECORD_HEADER + EcpBuildRowBytes(build);
	shape.raw_bytes = build->plan.read_blocks * BLCKSZ;
	shape.clusters = ecp_build_state_leaders(build, build->plan.table_rows);
	shape.in_buff_bytes = (double) ecp_build_state_inbuff_rows(build) *
		ecp_build_state_inbuff_row_bytes(build);
	shape.merge_bytes = (double) build->budget * ECP_SHARE_IN_BUFF;
	shape.dirty_bytes = ecp_model_dirty_bytes();
	shape.cpu_assign_s = plan_assign_cpu_s(build) / (build->plan.nworkers + 1);
	shape.cpu_merge_s = shape.vectors * shape.record_bytes / COPY_BYTES_PER_S;

	ecp_model_choose_policy(&shape, build->heap->rd_rel->reltablespace,
							ecp_files_tablespace(build->files),
							build->index->rd_rel->reltablespace, &choice);
	if (!choice.measured)
		return;
	build->plan.policy = choice.chunkfiles ?
		ECP_POLICY_CHUNKFILES : ECP_POLICY_TEMPFILES;
	cost = choice.chunkfiles ?
		&choice.chunkfiles_cost : &choice.tempfiles_cost;
	report->ecpb_policy = build->plan.policy;
	report->ecpb_predicted_s = (float4) cost->total_s;
	snprintf(report->ecpb_why, sizeof(report->ecpb_why),
			 "predicted %.3g s of waiting, %.3g s with %s",
			 cost->assign_wait_s + cost->merge_wait_s,
			 choice.chunkfiles ?
			 choice.tempfiles_cost.assign_wait_s +
			 choice.tempfiles_cost.merge_wait_s :
			 choice.chunkfiles_cost.assign_wait_s +
			 choice.chunkfiles_cost.merge_wait_s,
			 choice.chunkfiles ? "tempfiles" : "chunkfiles");
}

/*
 * For an index larger than the caches, make clusters of the size that its
 * tablespace reads at half of its bandwidth: each probe is a read, and reading
 * fewer bytes costs nearly as much.  Not if cluster_size was given, or the
 * tablespace was not measured.
 */
static void
plan_clusters(EcpBuild *build, EcpSample *sample)
{
	const EcpGeometry *leaf = &build->state.leaf;
	EcpDeviceProfile profile;
	uint64		rows;

	if (build->options.cluster_size > 0 ||
		build->plan.table_rows * leaf->row_bytes <
		(double) effective_cache_size * BLCKSZ ||
		!ecp_device_profile_read(build->index->rd_rel->reltablespace,
								 &profile))
		return;
	rows = ecp_meta_cluster_rows(leaf, Max(profile.half_bandwidth_bytes, 0));
	ecp_meta_set_cluster_rows(&build->state.meta, leaf,
							  Max(rows, ECP_CLUSTER_ROWS));
	ecp_geometry_init(&build->state);

	/* fewer leaders need less of the sample, which is in random order */
	sample->n = Min(sample->n,
					ecp_build_state_sample_rows(build, sample->table_rows));
}

/*
 * Codes tell how far rows are apart by L2.  By L1 distance, there are some by default if
 * rows of the sample say that this is nearly in proportion, as of dense embeddings: the
 * relation of the two has a standard deviation of PLAN_L1_SPREAD at most, and of
 * PLAN_L1_SHARE of what the nearest of many rows is nearer than others.
 */
#define PLAN_L1_ROWS	256
#define PLAN_L1_LEAST	16
#define PLAN_L1_AMONG	4096
#define PLAN_L1_SPREAD	0.02
#define PLAN_L1_SHARE	0.05

/* How much nearer the nearest row is than others, as a share, in the mean of a few. */
static double
plan_contrast(const EcpMetaPageData *meta, const EcpSample *sample)
{
	int64		n = Min(sample->n, PLAN_L1_AMONG);
	double		share = 0;

	for (int64 i = 0; i < PLAN_L1_LEAST; i++)
	{
		const char *row = sample->rows + i * sample->stride;
		double		nearest = get_float8_infinity();
		double		sum = 0;

		for (int64 j = 0; j < n; j++)
		{
			double		l2 = ecp_leader_distance(meta, row, sample->rows + j * sample->stride);

			sum += l2;
			if (l2 > 0)
				nearest = Min(nearest, l2);
		}
		share += Max(1 - nearest * n / sum, 0) / PLAN_L1_LEAST;
	}
	return share;
}

static void
plan_codes(EcpBuild *build, const EcpSample *sample)
{
	EcpMetaPageData *meta = &build->state.meta;
	double		sum = 0;
	double		squares = 0;
	double		spread;
	int			n = 0;

	if (meta->ecpm_metric != ECP_METRIC_L1 || meta->ecpm_elem == ECP_ELEM_NIBBLES ||
		build->options.quantizer != ECP_QUANTIZER_AUTO)
		return;
	for (int64 i = 1; i < Min(sample->n, PLAN_L1_ROWS); i++)
	{
		const char *row = sample->rows + i * sample->stride;
		double		l2 = ecp_leader_distance(meta, row, row - sample->stride);
		double		times = l2 == 0 ? 0 : ecp_distance(meta->ecpm_leader_elem, ECP_METRIC_L1,
													   meta->ecpm_dims, row,
													   row - sample->stride) / l2;

		n += l2 > 0;
		sum += times;
		squares += times * times;
	}
	spread = n < PLAN_L1_LEAST ? 1 : sqrt(Max(squares * n / (sum * sum) - 1, 0));
	if (spread > PLAN_L1_SPREAD || spread > PLAN_L1_SHARE * plan_contrast(meta, sample))
		return;
	meta->ecpm_quantizer = ecp_geometry_quantizer(ECP_QUANTIZER_RABITQ, meta, meta->ecpm_dims);
	ecp_geometry_init(&build->state);
	if (build->options.cluster_size == 0)
		return;
	ecp_meta_set_cluster_rows(meta, &build->state.leaf,
							  ecp_meta_cluster_rows(&build->state.leaf,
													(uint64) build->options.cluster_size * 1024));
	ecp_geometry_init(&build->state);
}

/* ---- the build ---- */

/* Plan what follows from the sample, launch the workers, and read its rest. */
static void
build_begin_team(EcpBuild *build, EcpSample *sample)
{
	build->plan.table_rows = sample->table_rows;
	if (sample->n > 0)
	{
		plan_clusters(build, sample);
		plan_workers(build);
		plan_policy(build);
		if (build->plan.nworkers > 0)
			build->team = ecp_build_team_begin(build);
	}
	if (build->team)
		build->plan.nparticipants = build->team->nworkers + 1;
	ecp_sample_fetch(build, sample);
	plan_codes(build, sample);
	build->plan.table_rows = sample->table_rows;
	if (build->team && sample->n == 0)
	{
		/* none of them is to be indexed */
		ecp_build_team_end(build->team);
		build->team = NULL;
		build->plan.nparticipants = 1;
	}
	build->state.meta.ecpm_report.ecpb_workers =
		Min(build->plan.nparticipants - 1, PG_UINT8_MAX);
}

/* Assign all rows; returns the number of rows of the table. */
static double
build_assign(EcpBuild *build)
{
	EcpBuildReportData *report = &build->state.meta.ecpm_report;
	EcpAssignReport assign;

	ecp_assign(build, &assign);
	report->ecpb_rounds = assign.rounds;
	report->ecpb_in_buff = assign.in_buff;
	report->ecpb_phase[ECP_BUILD_ASSIGN].ecpb_read_bytes =
		(uint64) (build->plan.read_blocks * BLCKSZ);
	if (build->assigned.kept)
		strlcat(report->ecpb_why, "; all rows fit the in-buff, no file was needed",
				sizeof(report->ecpb_why));
	return assign.heap_tuples;
}

/* Measure what recall costs, within about these seconds. */
static void
build_recall_curve(EcpBuild *build, double seconds)
{
	EcpRecallCurve *curve = ecp_recall_curve_begin(build->index, &build->state,
												   ECP_RECALL_QUERIES);

	if (curve == NULL)
		return;
	ecp_recall_curve_report(curve, ecp_build_state_queries, build);
	if (build->team)
		ecp_recall_curve_set_team(curve, build->team, EcpTaskOf(ecp_build_recall_task));
	ecp_recall_curve_sample(curve, true, seconds);
	(void) ecp_recall_curve_choose(curve, build->assigned.rows);
	ecp_recall_curve_end(curve);
}

/* Write the metapage, after everything that it refers to. */
static void
build_write_meta(Relation index, ForkNumber fork, const EcpMetaPageData *meta)
{
	EcpPageWriter *writer = ecp_page_writer_begin(index, fork);
	Page		page = ecp_page_writer_get(writer);

	ecp_page_init_meta(page, meta);
	ecp_page_writer_put(writer, ECP_META_BLKNO, page);
	ecp_page_writer_end(writer, true, NULL, NULL);
}

IndexBuildResult *
ecpbuild(Relation heap, Relation index, IndexInfo *indexInfo)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	EcpBuild	build;
	BuildClock	clock = {.build = &build,.phase = -1};
	EcpSample  *sample;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));

	ecp_build_state_open(&build, heap, index, indexInfo, ecp_files_begin());
	ecp_meta_form(index, &build.state.meta);
	if (build.state.meta.ecpm_dims > 0)
		ecp_geometry_init(&build.state);
	plan_init(&build);

	clock_phase(&clock, ECP_BUILD_SAMPLE, ECP_PROGRESS_SAMPLE);
	sample = ecp_sample_take(&build);
	build_begin_team(&build, sample);

	clock_phase(&clock, ECP_BUILD_LEADERS, ECP_PROGRESS_LEADERS);
	if (sample->n > 0)
		build.tree = ecp_leaders_choose(&build, sample);

	clock_phase(&clock, ECP_BUILD_ASSIGN, ECP_PROGRESS_ASSIGN);
	ecp_build_state_total(build.plan.table_rows);
	result->heap_tuples = build_assign(&build);
	result->index_tuples = build.assigned.rows;

	clock_phase(&clock, ECP_BUILD_MERGE, ECP_PROGRESS_MERGE);
	ecp_build_state_total(build.assigned.rows);
	ecp_merge(&build);

	clock_phase(&clock, ECP_BUILD_RECALL, ECP_PROGRESS_RECALL);
	ecp_build_state_total(ECP_RECALL_QUERIES);
	build.state.meta.ecpm_build_tuples = build.assigned.rows;
	build_recall_curve(&build, clock_seconds(&clock) * RECALL_SHARE);
	clock_phase(&clock, -1, 0);
	ecp_target_tell(build.index, &build.state.meta);
	if (build.team)
		ecp_build_team_end(build.team);
	build_write_meta(index, MAIN_FORKNUM, &build.state.meta);

	ecp_files_end(build.files);
	ecp_assign_free(&build);
	MemoryContextDelete(build.ctx);
	return result;
}

/*
 * The init fork of an unlogged index: metapage and first map page.
 */
void
ecpbuildempty(Relation index)
{
	EcpMetaPageData meta;
	EcpPageWriter *writer;
	EcpLayoutMap map;
	Page		page;

	ecp_meta_form(index, &meta);
	writer = ecp_page_writer_begin(index, INIT_FORKNUM);

	page = ecp_page_writer_get(writer);
	ecp_page_init_meta(page, &meta);
	ecp_page_writer_put(writer, ECP_META_BLKNO, page);

	ecp_layout_map_begin(&map, writer);
	ecp_layout_map_end(&map);
	ecp_page_writer_end(writer, true, NULL, NULL);
}
