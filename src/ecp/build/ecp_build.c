/*-------------------------------------------------------------------------
 *
 * ecp_build.c
 *	  CREATE INDEX: from a table to a new ecp index.
 *
 *	 sample -> leaders -> assign -> merge
 *
 * A sample of the table gives the leaders (ecp_sample.c, ecp_leaders.c).
 * Then one scan of the table reads all rows into the in-buff; whenever it is
 * full, its rows are assigned to leaders (ecp_assign.c) and the policy puts
 * them away (ecp_policy_*.c).  A team of processes (ecp_build_team.c) shares the
 * choice of leaders and the scan, each process with an in-buff of its own.
 * While an in-buff is assigned, the kernel reads the rows of the next one
 * (ecp_readahead.c).  At the end the policy gives the rows back by cluster and
 * they become pages (ecp_merge.c).  The metapage is written last, when
 * everything it refers to is on disk: it carries the report of the build,
 * which ecp_build_report() shows.
 *
 * Memory stays within maintenance_work_mem in every phase; ecp_build.h says
 * how it is divided.  The same seed and the same table give the same index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/tableam.h"
#include "base/compat.h"
#include "base/page_writer.h"
#include "catalog/index.h"
#include "commands/progress.h"
#include "device/cost/device_model.h"
#include "device/cost/device_profile.h"
#include "ecp/build/ecp_build.h"
#include "ecp/build/ecp_build_team.h"
#include "ecp/build/ecp_policy.h"
#include "ecp/cluster/ecp_team.h"
#include "ecp/define/ecp_options.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_meta.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_stat.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "pgstat.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "vector/vector_value.h"

/*
 * The in-buff that nobody asked for: at least this, and the second for each
 * byte of the size at which a device of the files reads at half of its
 * bandwidth.  A merge of 20 chunks then reads 20 times that size at once.
 */
#define IN_BUFF_BYTES		((Size) 128 * 1024 * 1024)
#define IN_BUFF_BYTES_MAX	((Size) 1024 * 1024 * 1024)
#define IN_BUFF_HALVES		400

/* Rows between two reports of progress. */
#define PROGRESS_ROWS		4096

/* Share of a build's time in which the recall is measured, at most. */
#define ECP_SHARE_CALIBRATE		0.25

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

/* Close the account of the phase that ends, open that of the next. */
void
ecp_build_phase(EcpBuild *build, int phase, int progress)
{
	EcpFilesCount count = *ecp_files_count(build->files);
	double		cpu = ecp_cpu_seconds();
	instr_time	now;

	cpu += build->team ? ecp_team_cpu_s(build->team) : build->workers_cpu_s;

	INSTR_TIME_SET_CURRENT(now);
	if (build->phase >= 0)
	{
		EcpBuildPhaseData *data =
			&build->state.meta.ecpm_report.ecpb_phase[build->phase];
		const EcpFilesCount *start = &build->phase_count_start;
		instr_time	wall = now;

		INSTR_TIME_SUBTRACT(wall, build->phase_start);
		data->ecpb_wall_s = INSTR_TIME_GET_DOUBLE(wall);
		data->ecpb_cpu_s = cpu - build->phase_cpu_start;
		data->ecpb_io_s = count.io_s - start->io_s;
		data->ecpb_files = count.files - start->files;
		data->ecpb_opens = count.opens - start->opens;
		data->ecpb_read_bytes += count.read_bytes - start->read_bytes;
		data->ecpb_written_bytes = count.written_bytes - start->written_bytes;
	}
	elog(DEBUG1, "ecp build: %zu kB of memory, %zu kB allowed",
		 MemoryContextMemAllocated(build->ctx, true) / 1024,
		 build->budget / 1024);
	build->phase = phase;
	build->phase_start = now;
	build->phase_cpu_start = cpu;
	build->phase_count_start = count;
	if (progress > 0)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, progress);
}

/* ---- rows ---- */

/* What follows from the dimensions once they are known. */
static void
build_set_dims(EcpBuild *build)
{
	EcpMetaPageData *meta = &build->state.meta;

	ecp_geometry_init(&build->state);
	build->vec_bytes = build->state.leaf.row_bytes;
	build->prep_bytes = build->state.node.vec_bytes;
	build->prep_same = meta->ecpm_leader_elem == meta->ecpm_elem &&
		meta->ecpm_metric != ECP_METRIC_COSINE && build->attrs.bytes == 0;
	build->prepared = MemoryContextAlloc(build->ctx, build->prep_bytes + 64);
}

bool
ecp_build_row(EcpBuild *build, Datum value, EcpVector *vector)
{
	EcpMetaPageData *meta = &build->state.meta;

	ecp_vector_read(value, meta->ecpm_column_type, vector);
	if (meta->ecpm_dims == 0)
	{
		meta->ecpm_flags |= ECP_META_DIMS_LEARNED;
		ecp_meta_set_dims(build->index, meta, vector->dims);
		build_set_dims(build);
	}
	ecp_vector_check_dims(vector, meta->ecpm_dims,
						  RelationGetRelationName(build->index));
	return ecp_prepare(meta, vector, build->prepared);
}

static const EcpPolicyRoutine *
build_policy(EcpBuildPolicy policy)
{
	return policy == ECP_POLICY_TEMPFILES ?
		&ecp_policy_tempfiles : &ecp_policy_chunkfiles;
}

/*
 * What a process needs to read rows: its in-buff, its counts, the state of
 * its policy.  The leaders must be there.
 */
static void
build_join(EcpBuild *build, char *inbuffs, char *counts)
{
	MemoryContext oldctx = MemoryContextSwitchTo(build->ctx);

	build->part_counts = (uint64 *) counts;
	build->inbuff = palloc0(sizeof(EcpInBuff));
	ecp_inbuff_map(build, build->participant, inbuffs, build->inbuff);
	*build->inbuff->left = 0;
	build->policy_state = build->policy->begin(build);
	MemoryContextSwitchTo(oldctx);
}

/* Before the first row: memory for all participants. */
static void
build_start_rounds(EcpBuild *build)
{
	MemoryContext oldctx = MemoryContextSwitchTo(build->ctx);
	bool		shared = build->team != NULL;
	Size		counts_bytes;

	if (build->tree == NULL)
		build->tree = ecp_leaders_single(build, build->prepared);
	ecp_tree_leader_lists(build);
	if (shared)
		ecp_tree_share(build);

	counts_bytes = mul_size(mul_size(sizeof(uint64), build->tree->n[0]),
							build->nparticipants + 1);
	ecp_memory_alloc(&build->counts_memory, shared, counts_bytes);
	memset(build->counts_memory.address, 0, counts_bytes);

	build->inbuff_max = ecp_inbuff_rows(build);
	ecp_memory_alloc(&build->inbuff_memory, shared,
					 mul_size(ecp_inbuff_bytes(build), build->nparticipants));
	build->state.meta.ecpm_report.ecpb_in_buff =
		build->inbuff_max * ecp_inbuff_row_bytes(build) * build->nparticipants;
	MemoryContextSwitchTo(oldctx);
}

/* Put away what the in-buff holds. */
static void
build_round(EcpBuild *build)
{
	EcpInBuff  *inbuff = build->inbuff;
	MemoryContext oldctx = MemoryContextSwitchTo(build->ctx);

	ecp_inbuff_assign(build, inbuff);
	build->rounds++;
	build->policy->round(build, inbuff, build->participant);
	inbuff->n = 0;
	MemoryContextSwitchTo(oldctx);
}

/*
 * The in-buff is full.  Rows of the page that the next row comes from stay
 * for the next round: in-buffs are sorted by TID, and a page's rows come in
 * another order where there are HOT chains.  So policies give back each
 * cluster in the order of TIDs, by whatever process a page was read, and
 * large clusters are cut at the same rows.
 */
static void
build_full_round(EcpBuild *build, ItemPointer next)
{
	EcpInBuff  *inbuff = build->inbuff;
	int			n = inbuff->n;
	int			first = n;

	while (first > 0 &&
		   ItemPointerGetBlockNumber(&inbuff->tids[first - 1]) ==
		   ItemPointerGetBlockNumber(next))
		first--;
	if (first == 0)
		first = n;				/* a page of more rows than an in-buff */

	inbuff->n = first;
	build_round(build);
	inbuff->n = n - first;
	memmove(inbuff->tids, inbuff->tids + first,
			inbuff->n * sizeof(ItemPointerData));
	memmove(inbuff->vectors, inbuff->vectors + first * inbuff->vec_bytes,
			inbuff->n * inbuff->vec_bytes);
}

/*
 * The table has ended.  Rows of a first round that the policy could give
 * back from memory wait there: build_end_rounds() decides.
 */
static void
build_last_round(EcpBuild *build)
{
	EcpInBuff  *inbuff = build->inbuff;

	if (inbuff->n == 0)
		return;
	if (build->rounds > 0 || !build->policy->keeps_in_memory)
		build_round(build);
	else
	{
		ecp_inbuff_assign(build, inbuff);
		build->rounds++;
		*inbuff->left = inbuff->n;
	}
}

/*
 * When all processes are done with their rows: rows wait in memory only if
 * all of them do.
 */
static void
build_end_rounds(EcpBuild *build)
{
	int			nleaders = build->tree->n[0];

	if (build->policy->keeps_in_memory && ecp_files_numbers(build->files) == 0)
		build->kept = true;
	else
	{
		for (int p = 0; p < build->nparticipants; p++)
		{
			EcpInBuff	inbuff;

			ecp_inbuff_map(build, p, build->inbuff_memory.address, &inbuff);
			inbuff.n = *inbuff.left;
			if (inbuff.n > 0)
				build->policy->round(build, &inbuff, p);
		}
		ecp_memory_free(&build->inbuff_memory);
	}

	build->counts = build->part_counts + (Size) build->nparticipants * nleaders;
	for (int l = 0; l < nleaders; l++)
	{
		build->counts[l] = 0;
		for (int p = 0; p < build->nparticipants; p++)
			build->counts[l] += build->part_counts[(Size) p * nleaders + l];
	}
}

/* Say how many rows there are in in-buffs and files. */
static void
build_progress(EcpBuild *build)
{
	uint64		rows = build->index_tuples;

	if (build->team)
		rows = ecp_team_count_rows(build->team, PROGRESS_ROWS);
	if (build->participant == 0)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, rows);
}

/* Callback of the scan: one row to the in-buff. */
static void
build_add_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
			  bool tupleIsAlive, void *arg)
{
	EcpBuild   *build = arg;
	MemoryContext oldctx;
	EcpVector	vector;

	if (isnull[0])
		return;
	oldctx = MemoryContextSwitchTo(build->rowctx);
	if (ecp_build_row(build, values[0], &vector))
	{
		Size		exact_bytes = build->state.leaf.vec_bytes;
		EcpInBuff  *inbuff;
		char	   *row;

		if (build->inbuff == NULL)
		{
			/* nothing was found when the table was sampled */
			build_start_rounds(build);
			build_join(build, build->inbuff_memory.address,
					   build->counts_memory.address);
		}
		inbuff = build->inbuff;
		if (inbuff->n == inbuff->max)
		{
			ecp_readahead_begin(build, tid, values[0]);
			build_full_round(build, tid);
			ecp_readahead_end(build);
		}
		inbuff->tids[inbuff->n] = *tid;
		row = inbuff->vectors + (Size) inbuff->n * inbuff->vec_bytes;
		memcpy(row, vector.data, exact_bytes);
		ecp_attr_form(&build->attrs, &vector, values, isnull,
					  row + exact_bytes);
		inbuff->n++;
		if (fmod(++build->index_tuples, PROGRESS_ROWS) == 0)
			build_progress(build);
	}
	MemoryContextSwitchTo(oldctx);
	MemoryContextReset(build->rowctx);
}

/* What workers need to know for the scan, beside the metapage. */
typedef struct ScanArgs
{
	int			inbuff_max;
	int			nparticipants;
	EcpBuildPolicy policy;
	double		table_rows;
} ScanArgs;

/*
 * ecp_build_scan_task
 *		Read, assign and put away a part of the table, in each process of the
 *		team.
 */
void
ecp_build_scan_task(EcpTeam *team, const void *args, char **memories)
{
	EcpBuild   *build = ecp_team_build(team);
	const ScanArgs *scan = args;
	double		heap_tuples;

	if (build->participant > 0)
	{
		build_set_dims(build);
		build->inbuff_max = scan->inbuff_max;
		build->nparticipants = scan->nparticipants;
		build->table_rows = scan->table_rows;
		build->policy = build_policy(scan->policy);
		build->tree = ecp_tree_attach(memories[0]);
	}
	build_join(build, memories[1], memories[2]);
	/* the scan knows that it is not synchronized: see ecp_build_team_begin() */
	heap_tuples = table_index_build_scan(build->heap, build->index,
										 build->indexInfo, true,
										 build->participant == 0,
										 build_add_row, build,
										 ecp_build_team_scan(build->team));
	build_last_round(build);
	elog(DEBUG1, "ecp build: asked for %llu blocks ahead",
		 (unsigned long long) build->ahead.total);
	ecp_build_team_add(build->team, heap_tuples, build->index_tuples, build->rounds,
					   build->indexInfo->ii_BrokenHotChain);
}

/* ---- the build ---- */

/* Bytes of the in-buff, before maintenance_work_mem limits them. */
static Size
build_in_buff(EcpBuild *build)
{
	EcpDeviceProfile profile;
	Size		bytes = IN_BUFF_BYTES;

	if (ecp_in_buff_kb > 0)
		return ecp_in_buff_kb * (Size) 1024;
	if (ecp_device_profile_read(ecp_files_tablespace(build->files), &profile))
		bytes = Max(bytes, IN_BUFF_HALVES * (double) profile.half_bandwidth_bytes);
	return Min(bytes, IN_BUFF_BYTES_MAX);
}

static void
build_choose_policy(EcpBuild *build)
{
	EcpBuildReportData *report = &build->state.meta.ecpm_report;

	build->policy = build_policy(ecp_build_policy);
	report->ecpb_policy = build->policy->policy;
	strlcpy(report->ecpb_why,
			ecp_build_policy == ECP_POLICY_AUTO ?
			"devices were not measured" : "ecp.build_policy",
			sizeof(report->ecpb_why));
}

/* Seconds that the assignment of all rows would take one process. */
static double
build_assign_cpu_s(EcpBuild *build)
{
	double		nleaders = ecp_leaders_wanted(build, build->table_rows);

	if (nleaders > ECP_FLAT_LEADERS_MAX)
		nleaders = ECP_ASSIGN_BEAM * 2 * sqrt(nleaders);
	return build->table_rows * nleaders * build->state.meta.ecpm_dims /
		MUL_ADDS_PER_S;
}

/*
 * Of a table that exceeds the caches, let no more processes read than its
 * tablespace serves best, as measured, unless the assignment would take
 * longer than the reading with so few.
 */
static void
build_limit_workers(EcpBuild *build)
{
	double		blocks = RelationGetNumberOfBlocks(build->heap);
	EcpDeviceProfile profile;
	double		processes;

	if (build->workers == 0 || blocks < effective_cache_size ||
		!ecp_device_profile_read(build->heap->rd_rel->reltablespace, &profile) ||
		profile.seq_read_mb_s <= 0)
		return;
	processes = ceil(build_assign_cpu_s(build) /
					 (blocks * BLCKSZ / (profile.seq_read_mb_s * 1e6)));
	processes = Max(processes, profile.best_workers);
	build->workers = Min(build->workers, Max(processes, 1) - 1);
}

/*
 * With build_policy = auto, take the policy that the profiles of the
 * tablespaces say is faster, and note what it should take.
 *
 * The table must have been sampled, and parallel mode not begun.  Without a
 * profile of every tablespace that is used, the choice of
 * build_choose_policy() stands.
 */
static void
build_plan_policy(EcpBuild *build)
{
	EcpBuildReportData *report = &build->state.meta.ecpm_report;
	EcpBuildShape shape;
	EcpBuildChoice choice;
	const EcpBuildCost *cost;

	if (ecp_build_policy != ECP_POLICY_AUTO)
		return;
	shape.vectors = Max(build->table_rows, 1.0);
	shape.record_bytes = ECP_RECORD_HEADER + build->vec_bytes;
	shape.raw_bytes = (double) RelationGetNumberOfBlocks(build->heap) * BLCKSZ;
	shape.clusters = ecp_leaders_wanted(build, build->table_rows);
	shape.in_buff_bytes = (double) ecp_inbuff_rows(build) *
		ecp_inbuff_row_bytes(build);
	shape.merge_bytes = (double) build->budget * ECP_SHARE_IN_BUFF;
	shape.dirty_bytes = ecp_model_dirty_bytes();
	shape.cpu_assign_s = build_assign_cpu_s(build) / (build->workers + 1);
	shape.cpu_merge_s = shape.vectors * shape.record_bytes / COPY_BYTES_PER_S;

	ecp_model_choose_policy(&shape, build->heap->rd_rel->reltablespace,
							ecp_files_tablespace(build->files),
							build->index->rd_rel->reltablespace, &choice);
	if (!choice.measured)
		return;
	build->policy = build_policy(choice.chunkfiles ?
								 ECP_POLICY_CHUNKFILES : ECP_POLICY_TEMPFILES);
	cost = choice.chunkfiles ?
		&choice.chunkfiles_cost : &choice.tempfiles_cost;
	report->ecpb_policy = build->policy->policy;
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
 * Clusters as large as the tablespace reads them at half of its bandwidth,
 * for an index that is larger than the caches: where a probe is a read, that
 * of fewer bytes costs nearly as much.  Unless cluster_size was given, or
 * nobody measured the tablespace.
 */
static void
build_fit_clusters(EcpBuild *build, EcpSample *sample)
{
	const EcpGeometry *leaf = &build->state.leaf;
	EcpDeviceProfile profile;
	uint64		rows;

	if (build->options.cluster_size > 0 ||
		build->table_rows * leaf->row_bytes <
		(double) effective_cache_size * BLCKSZ ||
		!ecp_device_profile_read(build->index->rd_rel->reltablespace,
								 &profile))
		return;
	rows = ecp_meta_cluster_rows(leaf, Max(profile.half_bandwidth_bytes, 0));
	ecp_meta_set_cluster_rows(&build->state.meta, leaf,
							  Max(rows, ECP_CLUSTER_ROWS));

	/* fewer leaders need less of the sample, which is in random order */
	sample->n = Min(sample->n,
					ecp_leaders_sample_rows(build, sample->table_rows));
}

static void
build_init(EcpBuild *build, Relation heap, Relation index,
		   IndexInfo *indexInfo)
{
	memset(build, 0, sizeof(EcpBuild));
	build->heap = heap;
	build->index = index;
	build->indexInfo = indexInfo;
	build->options = ecp_options_get(index);
	build->budget = maintenance_work_mem * (Size) 1024;
	build->phase = -1;
	build->workers = ecp_index_build_workers(heap, index, indexInfo);
	build->nparticipants = 1;
	build->readers = 1;
	pg_prng_seed(&build->prng, (uint64) build->options.seed);
	build->ctx = AllocSetContextCreate(CurrentMemoryContext, "ecp build",
									   ALLOCSET_DEFAULT_SIZES);
	build->rowctx = AllocSetContextCreate(build->ctx, "ecp build, one row",
										  ALLOCSET_DEFAULT_SIZES);
	ecp_attr_desc_init(index, NULL, &build->attrs);
	ecp_meta_form(index, &build->state.meta);
	if (build->state.meta.ecpm_dims > 0)
		build_set_dims(build);
	build->files = ecp_files_begin();
	build->in_buff = build_in_buff(build);
	build_choose_policy(build);
}

/* All rows by one process; returns the number of rows of the table. */
static double
build_assign_alone(EcpBuild *build)
{
	double		heap_tuples;

	if (build->tree)
	{
		build_start_rounds(build);
		build_join(build, build->inbuff_memory.address,
				   build->counts_memory.address);
	}
	/* not synchronized: the order of rows must not depend on others */
	heap_tuples = table_index_build_scan(build->heap, build->index,
										 build->indexInfo, false, true,
										 build_add_row, build, NULL);
	if (build->inbuff)
		build_last_round(build);
	elog(DEBUG1, "ecp build: asked for %llu blocks ahead",
		 (unsigned long long) build->ahead.total);
	return heap_tuples;
}

/* The same by the team. */
static double
build_assign_team(EcpBuild *build)
{
	EcpMemory  *memories[] = {&build->tree_memory, &build->inbuff_memory,
		&build->counts_memory};
	ScanArgs	args = {0};
	double		heap_tuples;
	bool		broken_hot_chain;

	build_start_rounds(build);
	args.inbuff_max = build->inbuff_max;
	args.nparticipants = build->nparticipants;
	args.policy = build->policy->policy;
	args.table_rows = build->table_rows;
	ecp_team_run(build->team, EcpTaskOf(ecp_build_scan_task), &args, sizeof(args), 0, 1,
				 memories, lengthof(memories));
	ecp_build_team_sums(build->team, &heap_tuples, &build->index_tuples,
						&build->rounds, &broken_hot_chain);
	if (broken_hot_chain)
		build->indexInfo->ii_BrokenHotChain = true;
	return heap_tuples;
}

/* The scan that reads all rows; returns the number of rows of the table. */
static double
build_assign(EcpBuild *build)
{
	EcpBuildReportData *report = &build->state.meta.ecpm_report;
	double		heap_tuples;

	if (build->team)
		heap_tuples = build_assign_team(build);
	else
		heap_tuples = build_assign_alone(build);
	if (build->inbuff)
		build_end_rounds(build);

	report->ecpb_rounds = build->rounds;
	report->ecpb_phase[ECP_BUILD_ASSIGN].ecpb_read_bytes =
		(uint64) RelationGetNumberOfBlocks(build->heap) * BLCKSZ;
	if (build->kept)
		strlcat(report->ecpb_why, "; all rows fit the in-buff, no file was needed",
				sizeof(report->ecpb_why));
	return heap_tuples;
}

/* The workers go. */
static void
build_end_team(EcpBuild *build)
{
	if (build->team == NULL)
		return;
	build->workers_cpu_s = ecp_team_cpu_s(build->team);
	ecp_build_team_end(build->team);
	build->team = NULL;
}

/* The metapage, after everything that it refers to. */
static void
build_write_meta(Relation index, ForkNumber fork, const EcpMetaPageData *meta)
{
	EcpPageWriter *writer = ecp_page_writer_begin(index, fork);
	Page		page = ecp_page_writer_get(writer);

	ecp_page_init_meta(page, meta);
	ecp_page_writer_put(writer, ECP_META_BLKNO, page);
	ecp_page_writer_end(writer, NULL, NULL);
}

/* What the phases took so far. */
static double
build_seconds(const EcpBuild *build)
{
	const EcpBuildReportData *report = &build->state.meta.ecpm_report;
	double		seconds = 0;

	for (int i = 0; i < ECP_BUILD_NPHASES; i++)
		seconds += report->ecpb_phase[i].ecpb_wall_s;
	return seconds;
}

IndexBuildResult *
ecpbuild(Relation heap, Relation index, IndexInfo *indexInfo)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	EcpBuild	build;
	EcpSample  *sample;

	if (RelationGetNumberOfBlocks(index) != 0)
		elog(ERROR, "index \"%s\" already contains data",
			 RelationGetRelationName(index));

	build_init(&build, heap, index, indexInfo);

	ecp_build_phase(&build, ECP_BUILD_SAMPLE, ECP_PROGRESS_SAMPLE);
	sample = ecp_sample_take(&build);
	build.table_rows = sample->table_rows;
	if (sample->n > 0)
	{
		build_fit_clusters(&build, sample);
		build_limit_workers(&build);
		build_plan_policy(&build);
	}
	if (sample->n > 0 && build.workers > 0)
		build.team = ecp_build_team_begin(&build);
	if (build.team)
		build.nparticipants = build.team->nworkers + 1;
	build.state.meta.ecpm_report.ecpb_workers =
		Min(build.nparticipants - 1, PG_UINT8_MAX);

	ecp_build_phase(&build, ECP_BUILD_LEADERS, ECP_PROGRESS_LEADERS);
	if (sample->n > 0)
		build.tree = ecp_leaders_choose(&build, sample);

	ecp_build_phase(&build, ECP_BUILD_ASSIGN, ECP_PROGRESS_ASSIGN);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL,
								 (int64) sample->table_rows);
	result->heap_tuples = build_assign(&build);
	result->index_tuples = build.index_tuples;

	ecp_build_phase(&build, ECP_BUILD_MERGE, ECP_PROGRESS_MERGE);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_TOTAL,
								 (int64) build.index_tuples);
	if (build.tree && build.index_tuples == 0)
		build.tree = NULL;
	if (build.tree && build.policy->merge(&build) && build.team)
		build.readers = build.nparticipants;
	ecp_merge(&build);

	ecp_build_phase(&build, ECP_BUILD_RECALL, ECP_PROGRESS_RECALL);
	build.state.meta.ecpm_build_tuples = build.index_tuples;
	ecp_recall_curve_build(&build, build_seconds(&build) * ECP_SHARE_CALIBRATE);
	ecp_build_phase(&build, -1, 0);
	build_end_team(&build);
	ecp_stat_create(index);
	build_write_meta(index, MAIN_FORKNUM, &build.state.meta);

	ecp_files_end(build.files);
	ecp_memory_free(&build.inbuff_memory);
	ecp_memory_free(&build.counts_memory);
	ecp_memory_free(&build.tree_memory);
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
	Page		page;

	ecp_meta_form(index, &meta);
	writer = ecp_page_writer_begin(index, INIT_FORKNUM);

	page = ecp_page_writer_get(writer);
	ecp_page_init_meta(page, &meta);
	ecp_page_writer_put(writer, ECP_META_BLKNO, page);

	page = ecp_page_writer_get(writer);
	ecp_page_init_map(page, 0);
	EcpPageGetMap(page)[0] = (UINT64CONST(1) << ECP_META_BLKNO) |
		(UINT64CONST(1) << ECP_MAP_FIRST_BLKNO);
	ecp_page_writer_put(writer, ECP_MAP_FIRST_BLKNO, page);

	ecp_page_writer_end(writer, NULL, NULL);
}
