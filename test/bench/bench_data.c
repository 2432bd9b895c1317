/*-------------------------------------------------------------------------
 *
 * bench_data.c
 *	  Vectors of ecpbench: files, exact search, recall.
 *
 * TEXMEX files (.bvecs, .fvecs, .ivecs): each vector is a little-endian int32
 * number of elements and then that many uint8, float32 or int32.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

/*
 * Rows by exact search that are ranked again in double precision: those
 * which float32 might have put in the wrong order around the k-th.
 */
#define SEARCH_EXTRA	16

static bool
has_suffix(const char *path, const char *suffix)
{
	size_t		path_length = strlen(path);
	size_t		suffix_length = strlen(suffix);

	return path_length >= suffix_length &&
		strcmp(path + path_length - suffix_length, suffix) == 0;
}

/* Read a TEXMEX file whose elements have "size" bytes. */
static void *
texmex_read(const char *path, size_t size, long limit, int *dims, long *rows)
{
	FILE	   *file = fopen(path, "rb");
	int32_t		first;
	long		bytes;
	char	   *data;

	if (file == NULL)
		die("could not open file \"%s\": %m", path);
	if (fread(&first, sizeof(first), 1, file) != 1 || first < 1 || first > 65535)
		die("file \"%s\" is not a file of vectors", path);
	fseek(file, 0, SEEK_END);
	bytes = ftell(file);
	rewind(file);

	*dims = first;
	*rows = bytes / (sizeof(first) + first * size);
	if (bytes % (sizeof(first) + first * size) != 0)
		die("file \"%s\" does not hold whole vectors of %d elements", path, first);
	if (limit > 0)
		*rows = Min(*rows, limit);

	data = allocate(*rows * first * size);
	for (long row = 0; row < *rows; row++)
	{
		int32_t		length;

		if (fread(&length, sizeof(length), 1, file) != 1 || length != first ||
			fread(data + row * first * size, size, first, file) != (size_t) first)
			die("could not read vector %ld of file \"%s\"", row, path);
	}

	fclose(file);
	return data;
}

void
matrix_read(Matrix *matrix, const char *path, long limit)
{
	matrix->is_bytes = has_suffix(path, ".bvecs");
	if (!matrix->is_bytes && !has_suffix(path, ".fvecs"))
		die("file \"%s\" is neither .bvecs nor .fvecs", path);

	matrix->data = texmex_read(path, matrix->is_bytes ? 1 : sizeof(float),
							   limit, &matrix->dims, &matrix->rows);
}

const void *
matrix_row(const Matrix *matrix, long row)
{
	return (const char *) matrix->data +
		row * matrix->dims * (matrix->is_bytes ? 1 : sizeof(float));
}

static double
element(const Matrix *matrix, const void *row, int i)
{
	return matrix->is_bytes ? ((const uint8_t *) row)[i] :
		((const float *) row)[i];
}

double
exact_rank(const Matrix *base, long row, const Matrix *queries, long query,
		   Metric metric)
{
	const void *a = matrix_row(base, row);
	const void *b = matrix_row(queries, query);
	double		aa = 0;
	double		ab = 0;
	double		bb = 0;
	double		l2 = 0;
	double		l1 = 0;

	for (int i = 0; i < base->dims; i++)
	{
		double		x = element(base, a, i);
		double		y = element(queries, b, i);

		aa += x * x;
		ab += x * y;
		bb += y * y;
		l2 += (x - y) * (x - y);
		l1 += fabs(x - y);
	}

	switch (metric)
	{
		case METRIC_L2:
			return l2;
		case METRIC_IP:
			return -ab;
		case METRIC_L1:
			return l1;
		default:
			return 1 - ab / sqrt(aa * bb);
	}
}

/* Fast and nearly exact: squared distance, L1 distance, or negative inner product. */
static float
quick_rank(const Matrix *base, const void *row, const void *query,
		   Metric metric)
{
	int			dims = base->dims;

	if (base->is_bytes)
	{
		const uint8_t *x = row;
		const uint8_t *y = query;
		int32_t		sum = 0;

		if (metric == METRIC_L2)
		{
			for (int i = 0; i < dims; i++)
				sum += (x[i] - y[i]) * (x[i] - y[i]);
			return sum;
		}
		if (metric == METRIC_L1)
		{
			for (int i = 0; i < dims; i++)
				sum += abs(x[i] - y[i]);
			return sum;
		}
		for (int i = 0; i < dims; i++)
			sum += x[i] * y[i];
		return -sum;
	}
	else
	{
		const float *x = row;
		const float *y = query;
		float		sum = 0;

		if (metric == METRIC_L2)
		{
			for (int i = 0; i < dims; i++)
				sum += (x[i] - y[i]) * (x[i] - y[i]);
			return sum;
		}
		if (metric == METRIC_L1)
		{
			for (int i = 0; i < dims; i++)
				sum += fabsf(x[i] - y[i]);
			return sum;
		}
		for (int i = 0; i < dims; i++)
			sum += x[i] * y[i];
		return -sum;
	}
}

int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

typedef struct Candidate
{
	float		rank;
	long		row;
} Candidate;

/* The k-th smallest exact rank of one query, by comparing it with all. */
static double
search_exactly(const Matrix *base, const Matrix *queries, long query,
			   Metric metric, int k, const float *norms)
{
	int			n = 0;
	int			room = k + SEARCH_EXTRA;
	Candidate	best[room];
	double		exact[room];

	for (long row = 0; row < base->rows; row++)
	{
		float		rank = quick_rank(base, matrix_row(base, row),
									  matrix_row(queries, query), metric);
		int			i;

		if (norms)
		{
			/* a zero vector has no cosine and is in no index */
			if (norms[row] == 0)
				continue;
			rank /= norms[row];
		}
		if (n == room && rank >= best[n - 1].rank)
			continue;
		if (n < room)
			n++;
		for (i = n - 1; i > 0 && best[i - 1].rank > rank; i--)
			best[i] = best[i - 1];
		best[i].rank = rank;
		best[i].row = row;
	}

	for (int i = 0; i < n; i++)
		exact[i] = exact_rank(base, best[i].row, queries, query, metric);
	qsort(exact, n, sizeof(double), compare_doubles);
	return exact[Min(k, n) - 1];
}

double *
truth_ranks(const Matrix *base, const Matrix *queries, Metric metric, int k,
			const char *path)
{
	double	   *ranks = allocate(queries->rows * sizeof(double));
	float	   *norms = NULL;

	if (path)
	{
		int			width;
		long		rows;
		int32_t    *neighbours = texmex_read(path, sizeof(int32_t), 0, &width,
											 &rows);

		if (rows < queries->rows || width < k)
			die("file \"%s\" has %d neighbours of %ld queries, %d of %ld are needed",
				path, width, rows, k, queries->rows);
		for (long q = 0; q < queries->rows; q++)
			ranks[q] = exact_rank(base, neighbours[q * width + k - 1],
								  queries, q, metric);
		free(neighbours);
		return ranks;
	}

	if (metric == METRIC_COSINE)
	{
		norms = allocate(base->rows * sizeof(float));
		for (long row = 0; row < base->rows; row++)
			norms[row] = sqrtf(-quick_rank(base, matrix_row(base, row),
										   matrix_row(base, row), METRIC_IP));
	}

	for (long q = 0; q < queries->rows; q++)
	{
		ranks[q] = search_exactly(base, queries, q, metric, k, norms);
		progress("exact search", q + 1, queries->rows);
	}

	free(norms);
	return ranks;
}

long *
shuffled_order(long n, uint64_t seed)
{
	long	   *order = allocate(n * sizeof(long));
	uint64_t	state = seed;

	for (long i = 0; i < n; i++)
		order[i] = i;
	if (seed == 0)
		return order;

	for (long i = n - 1; i > 0; i--)
	{
		long		j;
		long		swap;

		/* xorshift64*: the same order on every machine */
		state ^= state >> 12;
		state ^= state << 25;
		state ^= state >> 27;
		j = ((state * UINT64_C(2685821657736338717)) >> 16) % (i + 1);
		swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}

	return order;
}
