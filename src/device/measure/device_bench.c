/*-------------------------------------------------------------------------
 *
 * device_bench.c
 *	  Four microbenchmarks of data-intensive work, by number of workers.
 *
 * Those of "Threading Opportunities in High-Performance Flash-Memory
 * Storage", on files of vectors of 32 single-precision numbers:
 *
 *	block	n workers read or write one file, in order or at random, by size
 *			of block, misaligned on purpose; the figure is their total rate;
 *	knn		each worker reads its own section once and keeps the k nearest
 *			vectors to each of one or more inputs;
 *	sort	the workers read sections, sort them in memory and write runs, with
 *			one buffer of fixed size divided among them; then one process
 *			merges the runs into the sorted file, streaming;
 *	search	binary search on the sorted file, about log2(n) reads for each
 *			input, or fewer with an index in memory of every n-th vector.
 *
 * The published claim is that flash gains from more workers and hard disks
 * lose.  Each line of output has a check value, which must not depend on the
 * number of workers.
 *
 * Vector number i is computed from i, so the inputs that are in the file are
 * known without reading it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "funcapi.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/tuplestore.h"

#include "base/user_index.h"
#include "device/measure/device_measure.h"

#define BENCH_DIMS			32
#define BENCH_VECTOR_BYTES	(BENCH_DIMS * (int) sizeof(float4))
#define BENCH_READ_BYTES	(1024 * 1024)
#define BENCH_MISALIGN		4609
#define BENCH_INPUTS_MAX	1024
#define BENCH_K_MAX			100
#define BENCH_POINTS_MAX	64	/* numbers of workers, or of inputs */

/* inputs that are not in the file are numbered from here */
#define BENCH_ABSENT		(UINT64CONST(1) << 40)

extern PGDLLEXPORT void ecp_bench_knn(const EcpJobContext *context,
									  const void *task,
									  EcpJobResult *result);
extern PGDLLEXPORT void ecp_bench_sort(const EcpJobContext *context,
									   const void *task,
									   EcpJobResult *result);
extern PGDLLEXPORT void ecp_bench_search(const EcpJobContext *context,
										 const void *task,
										 EcpJobResult *result);

PG_FUNCTION_INFO_V1(ecp_bench);

typedef struct BenchVector
{
	float4		x[BENCH_DIMS];
} BenchVector;

typedef struct BenchTask
{
	char		path[MAXPGPATH];
	char		out_path[MAXPGPATH];
	int64		nvectors;
	int			ninputs;
	int			k;
	int64		buffer_bytes;	/* of all workers together */
	int			index_every;	/* search: 0 for no index */
} BenchTask;

typedef struct BenchState
{
	Oid			tablespace;
	EcpDeviceFile file;			/* of vectors */
	EcpDeviceFile sorted;		/* of no bytes until they have been sorted */
	bool		silent;			/* report nothing */
	int64		nvectors;
	int		   *workers;
	int			nworkers;
	int		   *inputs;
	int			ninputs;
	int			k;
	int64		buffer_bytes;
	double		seconds;
	ReturnSetInfo *rsinfo;
} BenchState;

static void
bench_vector(uint64 number, BenchVector *vector)
{
	pg_prng_state prng;

	pg_prng_seed(&prng, number);
	for (int i = 0; i < BENCH_DIMS; i++)
		vector->x[i] = (float4) pg_prng_double(&prng);
}

static int
bench_compare(const void *a, const void *b)
{
	const BenchVector *va = a;
	const BenchVector *vb = b;

	for (int i = 0; i < BENCH_DIMS; i++)
	{
		if (va->x[i] != vb->x[i])
			return va->x[i] < vb->x[i] ? -1 : 1;
	}
	return 0;
}

static void
bench_report(BenchState *state, const char *test, const char *variant,
			 int workers, int64 size, double seconds, const EcpJobResult *sum,
			 double check)
{
	Datum		values[8];
	bool		nulls[8] = {0};

	if (state->silent)
		return;
	values[0] = CStringGetTextDatum(test);
	values[1] = CStringGetTextDatum(variant);
	values[2] = Int32GetDatum(workers);
	values[3] = Int64GetDatum(size);
	values[4] = Float8GetDatum(seconds);
	values[5] = Float8GetDatum(seconds > 0 ? sum->bytes / seconds * 1e-6 : 0);
	values[6] = Float8GetDatum(sum->ops > 0 ? seconds / sum->ops * 1e6 : 0);
	values[7] = Float8GetDatum(check);
	tuplestore_putvalues(state->rsinfo->setResult, state->rsinfo->setDesc,
						 values, nulls);
	ereport(DEBUG1,
			(errmsg_internal("%s, %s, size " INT64_FORMAT ", %d workers: %.3f s",
							 test, variant, size, workers, seconds)));
}

/*
 * Run a job with the n-th number of workers, on a file that is cold.  Returns how
 * many there were.
 */
static int
bench_run(const BenchState *state, EcpJob job, const void *task, Size task_bytes,
		  int n, const EcpDeviceFile *file, Size shared_bytes, void *shared,
		  EcpJobResult *sum)
{
	EcpJobResult results[ECP_JOB_WORKERS_MAX];
	int			launched;

	Assert(n >= 0 && n < state->nworkers);
	ecp_device_file_forget(file, true);
	launched = ecp_job_run(job, task, task_bytes, state->workers[n],
						   shared_bytes, shared, results);
	ecp_job_sum(results, launched, sum);
	return launched;
}

/* What the jobs on vectors of a file have in common. */
static BenchTask
bench_task(const BenchState *state, const EcpDeviceFile *file)
{
	BenchTask	task = {.nvectors = state->nvectors,.k = state->k,.buffer_bytes = state->buffer_bytes};

	strlcpy(task.path, file->path, sizeof(task.path));
	return task;
}

/* The section of this worker: its first vector, and their number. */
static int64
bench_section(const EcpJobContext *context, int64 n, int64 *first)
{
	Assert(context->worker >= 0 && context->worker < context->nworkers);
	*first = n * context->worker / context->nworkers;
	return n * (context->worker + 1) / context->nworkers - *first;
}

/*
 * kNN
 */

/* Put a distance into an ascending list of k. */
static void
knn_push(float8 *best, int k, float8 distance)
{
	int			at = k - 1;

	Assert(k > 0);
	if (distance >= best[at])
		return;
	for (; at > 0 && best[at - 1] > distance; at--)
		best[at] = best[at - 1];
	best[at] = distance;
}

void
ecp_bench_knn(const EcpJobContext *context, const void *arg,
			  EcpJobResult *result)
{
	const BenchTask *task = arg;
	int			fd = ecp_job_open(task->path, O_RDONLY);
	BenchVector *inputs = palloc_array(BenchVector, task->ninputs);
	char	   *buffer = palloc(BENCH_READ_BYTES);
	float8	   *best;
	int64		first;
	int64		n = bench_section(context, task->nvectors, &first);

	Assert(context->shared != NULL && task->k > 0);
	/* the shared output has a part for each worker */
	best = (float8 *) context->shared +
		(Size) context->worker * task->ninputs * task->k;
	for (int i = 0; i < task->ninputs * task->k; i++)
		best[i] = get_float8_infinity();
	for (int i = 0; i < task->ninputs; i++)
		bench_vector(BENCH_ABSENT + i, &inputs[i]);

	for (int64 done = 0; done < n;)
	{
		int			count = (int) Min(n - done,
									  BENCH_READ_BYTES / BENCH_VECTOR_BYTES);
		const BenchVector *vectors = (const BenchVector *) buffer;
		double		before = ecp_job_seconds(context);

		CHECK_FOR_INTERRUPTS();
		ecp_job_read(fd, buffer, (size_t) count * BENCH_VECTOR_BYTES,
					 (first + done) * BENCH_VECTOR_BYTES, task->path);
		result->busy_s += ecp_job_seconds(context) - before;
		for (int v = 0; v < count; v++)
		{
			for (int i = 0; i < task->ninputs; i++)
			{
				float4		distance = 0;

				for (int d = 0; d < BENCH_DIMS; d++)
				{
					float4		diff = vectors[v].x[d] - inputs[i].x[d];

					distance += diff * diff;
				}
				knn_push(best + (Size) i * task->k, task->k, distance);
			}
		}
		done += count;
		result->bytes += (int64) count * BENCH_VECTOR_BYTES;
	}
	result->ops = n;
	CloseTransientFile(fd);
	pfree(inputs);
	pfree(buffer);
}

/* One pass; the workers' lists are merged into the first one's. */
static void
bench_knn_pass(BenchState *state, int w, int ninputs)
{
	BenchTask	task = bench_task(state, &state->file);
	EcpJobResult sum;
	Size		per_worker = mul_size(ninputs, task.k);
	Size		bytes = mul_size(mul_size(per_worker, state->workers[w]),
								 sizeof(float8));
	float8	   *shared = palloc0(bytes);
	double		check = 0;
	int			launched;

	task.ninputs = ninputs;
	launched = bench_run(state, EcpJobOf(ecp_bench_knn), &task, sizeof(task),
						 w, &state->file, bytes, shared, &sum);
	for (int input = 0; input < ninputs; input++)
	{
		float8	   *best = shared + (Size) input * task.k;

		for (int o = 1; o < launched; o++)
		{
			for (int at = 0; at < task.k; at++)
				knn_push(best, task.k, best[o * per_worker + at]);
		}
		for (int at = 0; at < task.k; at++)
			check += best[at];
	}
	bench_report(state, "knn", "pass", launched, ninputs, sum.finish_s, &sum,
				 check);
	pfree(shared);
}

static void
bench_knn(BenchState *state)
{
	for (int w = 0; w < state->nworkers; w++)
	{
		for (int i = 0; i < state->ninputs; i++)
			bench_knn_pass(state, w, state->inputs[i]);
	}
}

/*
 * Sort
 */

/* Vectors of a run; sorting and merging must agree on it. */
static int64
sort_run_vectors(const BenchTask *task, int nworkers)
{
	Assert(nworkers > 0);
	return Max(1, task->buffer_bytes / nworkers / BENCH_VECTOR_BYTES);
}

/*
 * First phase: each run goes to the offset in the intermediate file at which
 * its vectors were read.
 */
void
ecp_bench_sort(const EcpJobContext *context, const void *arg,
			   EcpJobResult *result)
{
	const BenchTask *task = arg;
	int			in = ecp_job_open(task->path, O_RDONLY);
	int			out = ecp_job_open(task->out_path, O_RDWR);
	int64		run = sort_run_vectors(task, context->nworkers);
	BenchVector *buffer = palloc_extended(run * BENCH_VECTOR_BYTES,
										  MCXT_ALLOC_HUGE);
	int64		first;
	int64		n = bench_section(context, task->nvectors, &first);

	for (int64 done = 0; done < n; done += run)
	{
		int64		count = Min(run, n - done);
		off_t		at = (first + done) * BENCH_VECTOR_BYTES;

		CHECK_FOR_INTERRUPTS();
		ecp_job_read(in, buffer, count * BENCH_VECTOR_BYTES, at, task->path);
		qsort(buffer, count, BENCH_VECTOR_BYTES, bench_compare);
		ecp_job_write(out, buffer, count * BENCH_VECTOR_BYTES, at,
					  task->out_path);
		result->ops += count;
		result->bytes += 2 * count * BENCH_VECTOR_BYTES;
	}
	CloseTransientFile(in);
	CloseTransientFile(out);
	pfree(buffer);
}

/* One run while it is merged. */
typedef struct SortRun
{
	int64		next;			/* vector to be read next */
	int64		end;
	int			count;			/* in the buffer */
	int			at;
	BenchVector *buffer;
} SortRun;

static bool
sort_run_fill(SortRun *run, int capacity, int fd, const char *path)
{
	Assert(capacity > 0 && run->next <= run->end);
	run->count = (int) Min((int64) capacity, run->end - run->next);
	run->at = 0;
	if (run->count == 0)
		return false;
	ecp_job_read(fd, run->buffer, (size_t) run->count * BENCH_VECTOR_BYTES,
				 run->next * BENCH_VECTOR_BYTES, path);
	run->next += run->count;
	return true;
}

static int
sort_run_compare(Datum a, Datum b, void *arg)
{
	const SortRun *ra = (const SortRun *) DatumGetPointer(a);
	const SortRun *rb = (const SortRun *) DatumGetPointer(b);

	/* the heap has its largest on top */
	return -bench_compare(&ra->buffer[ra->at], &rb->buffer[rb->at]);
}

/*
 * Second phase, in one process: merge into the output file.  Returns a check
 * value that depends on the order of all vectors.
 */
static double
bench_merge(const BenchTask *task, int nworkers, const char *runs_path,
			EcpDeviceFile *output)
{
	int64		run_vectors = sort_run_vectors(task, nworkers);
	int			nruns = 0;
	SortRun    *runs;
	binaryheap *heap;
	int			capacity;
	BenchVector *out;
	int			out_count = 0;
	int64		position = 0;
	double		check = 0;
	int			in_fd = ecp_job_open(runs_path, O_RDONLY);
	int			out_fd = ecp_job_open(output->path, O_RDWR);

	runs = palloc0_array(SortRun, task->nvectors / run_vectors + nworkers + 1);
	for (int w = 0; w < nworkers; w++)
	{
		EcpJobContext context = {.worker = w,.nworkers = nworkers};
		int64		first;
		int64		n = bench_section(&context, task->nvectors, &first);

		for (int64 done = 0; done < n; done += run_vectors)
		{
			runs[nruns].next = first + done;
			runs[nruns++].end = first + Min(done + run_vectors, n);
		}
	}

	capacity = (int) Min(Max(task->buffer_bytes / (nruns + 1) / BENCH_VECTOR_BYTES, 1),
						 BENCH_READ_BYTES / BENCH_VECTOR_BYTES);
	out = palloc(capacity * BENCH_VECTOR_BYTES);
	heap = binaryheap_allocate(nruns, sort_run_compare, NULL);
	for (int r = 0; r < nruns; r++)
	{
		runs[r].buffer = palloc(capacity * BENCH_VECTOR_BYTES);
		if (sort_run_fill(&runs[r], capacity, in_fd, runs_path))
			binaryheap_add_unordered(heap, PointerGetDatum(&runs[r]));
	}
	binaryheap_build(heap);
	while (!binaryheap_empty(heap))
	{
		SortRun    *run = (SortRun *) DatumGetPointer(binaryheap_first(heap));

		out[out_count] = run->buffer[run->at++];
		check += out[out_count].x[0] * (double) ((position + out_count) % 1000);
		out_count++;
		if (run->at < run->count ||
			sort_run_fill(run, capacity, in_fd, runs_path))
			binaryheap_replace_first(heap, PointerGetDatum(run));
		else
			(void) binaryheap_remove_first(heap);
		if (out_count == capacity || binaryheap_empty(heap))
		{
			CHECK_FOR_INTERRUPTS();
			ecp_job_write(out_fd, out, (size_t) out_count * BENCH_VECTOR_BYTES,
						  position * BENCH_VECTOR_BYTES, output->path);
			position += out_count;
			out_count = 0;
		}
	}
	output->bytes = position * BENCH_VECTOR_BYTES;
	CloseTransientFile(in_fd);
	CloseTransientFile(out_fd);
	binaryheap_free(heap);
	return check;
}

/*
 * Sort the file with the n-th number of workers into state->sorted.
 */
static void
bench_sort_once(BenchState *state, int w, const EcpDeviceFile *runs)
{
	BenchTask	task = bench_task(state, &state->file);
	EcpJobResult sum;
	EcpJobResult merged = {0};
	instr_time	start;
	double		merge_s;
	double		check;
	int			launched;

	strlcpy(task.out_path, runs->path, sizeof(task.out_path));
	launched = bench_run(state, EcpJobOf(ecp_bench_sort), &task, sizeof(task),
						 w, &state->file, 0, NULL, &sum);
	ecp_device_file_forget(runs, true);

	INSTR_TIME_SET_CURRENT(start);
	check = bench_merge(&task, launched, runs->path, &state->sorted);
	merge_s = ecp_job_elapsed(start);
	merged.ops = state->nvectors;
	merged.bytes = 2 * state->sorted.bytes;
	bench_report(state, "sort", "runs", launched, state->nvectors,
				 sum.finish_s, &sum, 0);
	bench_report(state, "sort", "merge", launched, state->nvectors,
				 merge_s, &merged, check);
	sum.bytes += merged.bytes;
	bench_report(state, "sort", "total", launched, state->nvectors,
				 sum.finish_s + merge_s, &sum, check);
}

/* Sort with each number of workers; where nothing is reported, with the last one. */
static void
bench_sort(BenchState *state)
{
	EcpDeviceFile runs;

	ecp_device_file_create(state->tablespace, &runs);
	ecp_device_file_fill(&runs, state->file.bytes, get_float8_infinity(), NULL, NULL);
	for (int w = state->silent ? state->nworkers - 1 : 0; w < state->nworkers; w++)
		bench_sort_once(state, w, &runs);
	ecp_device_file_close(&runs);
}

/*
 * Binary search
 */

/* Narrow the range to be searched by an index of every n-th vector. */
static void
search_narrow(const BenchVector *index, int64 nindex, int every,
			  const BenchVector *input, int64 *low, int64 *high)
{
	int64		a = 0;
	int64		b = nindex;

	Assert(nindex > 0 && every > 0);
	while (a < b)
	{
		int64		middle = (a + b) / 2;

		if (bench_compare(&index[middle], input) <= 0)
			a = middle + 1;
		else
			b = middle;
	}
	*low = Max(a - 1, 0) * every;
	*high = Min(*high, a * every);
}

void
ecp_bench_search(const EcpJobContext *context, const void *arg,
				 EcpJobResult *result)
{
	const BenchTask *task = arg;
	int			fd = ecp_job_open(task->path, O_RDONLY);
	BenchVector *index = NULL;
	int64		nindex = 0;
	int64		first;
	int64		n = bench_section(context, task->ninputs, &first);
	double		begin;

#if defined(USE_POSIX_FADVISE) && defined(POSIX_FADV_RANDOM)
	(void) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
#endif
	if (task->index_every > 0)
	{
		nindex = (task->nvectors + task->index_every - 1) / task->index_every;
		index = palloc_extended(nindex * BENCH_VECTOR_BYTES, MCXT_ALLOC_HUGE);
		for (int64 i = 0; i < nindex; i++)
			ecp_job_read(fd, &index[i], BENCH_VECTOR_BYTES,
						 i * task->index_every * BENCH_VECTOR_BYTES,
						 task->path);
	}

	begin = ecp_job_seconds(context);
	for (int64 i = first; i < first + n; i++)
	{
		BenchVector input;
		int64		low = 0;
		int64		high = task->nvectors;
		bool		found = false;

		CHECK_FOR_INTERRUPTS();
		/* every other input is in the file */
		bench_vector(i % 2 == 0 ?
					 (uint64) i * 7919 % (uint64) task->nvectors :
					 BENCH_ABSENT + i, &input);
		if (index)
			search_narrow(index, nindex, task->index_every, &input,
						  &low, &high);
		while (low < high && !found)
		{
			int64		middle = (low + high) / 2;
			BenchVector vector;
			int			compare;

			ecp_job_read(fd, &vector, BENCH_VECTOR_BYTES,
						 middle * BENCH_VECTOR_BYTES, task->path);
			result->bytes += BENCH_VECTOR_BYTES;
			compare = bench_compare(&vector, &input);
			if (compare == 0)
				found = true;
			else if (compare < 0)
				low = middle + 1;
			else
				high = middle;
		}
		result->ops++;
		result->found += found ? 1 : 0;
	}
	result->counted_s = ecp_job_seconds(context) - begin;
	CloseTransientFile(fd);
}

static void
bench_search(BenchState *state)
{
	static const int every[] = {0, 1024};

	state->silent = true;
	if (state->sorted.bytes == 0)
		bench_sort(state);
	state->silent = false;
	for (int e = 0; e < lengthof(every); e++)
	{
		for (int w = 0; w < state->nworkers; w++)
		{
			BenchTask	task = bench_task(state, &state->sorted);
			EcpJobResult sum;
			int			launched;

			task.ninputs = 256;
			task.index_every = every[e];
			launched = bench_run(state, EcpJobOf(ecp_bench_search), &task,
								 sizeof(task), w, &state->sorted, 0, NULL, &sum);
			bench_report(state, "search", every[e] ? "indexed" : "plain",
						 launched, task.ninputs, sum.counted_s, &sum,
						 sum.found);
		}
	}
}

/*
 * Block transfer, on another file than the vectors', since it overwrites it.
 */
static void
bench_block(BenchState *state)
{
	static const int sizes[] = {4096, 16384, 65536, 262144, 1048576};
	static const char *const variants[] = {
		"sequential read", "random read", "sequential write", "random write"
	};
	EcpDeviceFile file;

	ecp_device_file_create(state->tablespace, &file);
	ecp_device_file_fill(&file, state->file.bytes, get_float8_infinity(),
						 NULL, NULL);
	for (int i = 0; i < lengthof(variants) * lengthof(sizes) * state->nworkers; i++)
	{
		int			v = i / (lengthof(sizes) * state->nworkers);
		EcpTransferTask task = {.block_bytes = sizes[i / state->nworkers % lengthof(sizes)]};
		EcpJobResult sum;
		int			launched;

		strlcpy(task.path, file.path, sizeof(task.path));
		task.write = task.sync_end = v >= 2;
		task.random = v % 2 == 1;
		task.misalign = BENCH_MISALIGN;
		task.file_bytes = file.bytes;
		task.max_seconds = state->seconds;
		launched = bench_run(state, EcpJobOf(ecp_job_transfer), &task,
							 sizeof(task), i % state->nworkers, &file, 0, NULL, &sum);
		bench_report(state, "block", variants[v], launched, task.block_bytes,
					 sum.counted_s, &sum, 0);
	}
	ecp_device_file_close(&file);
}

static const struct
{
	const char *name;
	void		(*run) (BenchState *state);
}			bench_tests[] =

{
	{"block", bench_block},
	{"knn", bench_knn},
	{"sort", bench_sort},
	{"search", bench_search},
};

/* Write the vectors. */
static void
bench_fill(BenchState *state)
{
	const int	per_chunk = BENCH_READ_BYTES / BENCH_VECTOR_BYTES;
	BenchVector *chunk = palloc_array(BenchVector, per_chunk);

	for (int64 i = 0; i < state->nvectors; i += per_chunk)
	{
		int			count = (int) Min(per_chunk, state->nvectors - i);
		int			bytes = count * BENCH_VECTOR_BYTES;

		CHECK_FOR_INTERRUPTS();
		for (int v = 0; v < count; v++)
			bench_vector(i + v, &chunk[v]);
		ecp_device_file_append(&state->file, chunk, bytes);
	}
	pfree(chunk);
}

/* Numbers from 1 to "largest". */
static int *
bench_numbers(ArrayType *array, int *n, int largest, const char *what)
{
	int		   *values = ecp_user_array_int4(array, what, 1, BENCH_POINTS_MAX,
											 n, NULL);

	for (int i = 0; i < *n; i++)
	{
		if (values[i] < 1 || values[i] > largest)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must be from 1 to %d", what, largest)));
	}
	return values;
}

/* The arguments of ecp_bench(), but for the names of the benchmarks. */
static void
bench_arguments(FunctionCallInfo fcinfo, BenchState *state)
{
	state->tablespace = ecp_device_file_tablespace(NameStr(*PG_GETARG_NAME(0)),
												   "ecp_bench()");
	state->workers = bench_numbers(PG_GETARG_ARRAYTYPE_P(2), &state->nworkers,
								   ECP_JOB_WORKERS_MAX, "numbers of workers");
	state->nvectors = PG_GETARG_INT64(3) / BENCH_VECTOR_BYTES;
	state->seconds = PG_GETARG_FLOAT8(4);
	state->inputs = bench_numbers(PG_GETARG_ARRAYTYPE_P(5), &state->ninputs,
								  BENCH_INPUTS_MAX, "numbers of inputs");
	state->k = PG_GETARG_INT32(6);
	/* no more than the file has */
	state->buffer_bytes = Min(PG_GETARG_INT64(7), PG_GETARG_INT64(3));
	if (state->nvectors < 10000 || !(state->seconds > 0) || state->k < 1 ||
		state->k > BENCH_K_MAX || state->buffer_bytes < 65536)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("benchmark needs a file of 1.28 MB, a buffer of 64 kB, time, and k from 1 to %d",
						BENCH_K_MAX)));
}

/*
 * ecp_bench(tablespace, tests, workers, file_bytes, seconds, inputs, k,
 *			 buffer_bytes)
 */
Datum
ecp_bench(PG_FUNCTION_ARGS)
{
	BenchState	state = {0};
	Datum	   *tests;
	bool	   *nulls;
	int			ntests;

	bench_arguments(fcinfo, &state);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false,
					  TYPALIGN_INT, &tests, &nulls, &ntests);
	InitMaterializedSRF(fcinfo, 0);
	state.rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ecp_device_file_create(state.tablespace, &state.file);
	ecp_device_file_create(state.tablespace, &state.sorted);
	bench_fill(&state);
	for (int i = 0; i < ntests; i++)
	{
		char	   *name = nulls[i] ? pstrdup("null") :
			TextDatumGetCString(tests[i]);
		int			t = 0;

		while (t < lengthof(bench_tests) && strcmp(bench_tests[t].name, name) != 0)
			t++;
		if (t == lengthof(bench_tests))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("unrecognized benchmark \"%s\"", name),
					 errhint("Valid benchmarks are \"block\", \"knn\", \"sort\" and \"search\".")));
		bench_tests[t].run(&state);
	}
	ecp_device_file_close(&state.sorted);
	ecp_device_file_close(&state.file);
	return (Datum) 0;
}
