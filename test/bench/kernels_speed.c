/*-------------------------------------------------------------------------
 *
 * kernels_speed.c
 *	  What the kernels cost: nanoseconds a row, multiply-adds a second.
 *
 * A program of its own, without a server; "make kernels-speed" at the top
 * builds and runs it.  Rows and COLUMNS are read from about 256 kB, which is
 * what a second-level cache holds; panels are compared with 4800 vectors.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "vector/vector_kernels.h"

#include "server_shim.h"

#define SECONDS_MIN		0.2

static double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static void *
random_elements(EcpElem elem, Size n)
{
	char	   *result = malloc(ecp_vector_bytes(elem, n) + 64);

	for (Size i = 0; i < n; i++)
	{
		if (elem == ECP_ELEM_UINT8)
			((uint8 *) result)[i] = random();
		else
			((float4 *) result)[i] = random() / 2147483648.0;
	}

	return result;
}

/* ns of CPU a row; pages of "slots" rows, all of them about 256 kB */
static double
time_rows(EcpElem elem, EcpMetric metric, int dims, bool columns)
{
	Size		row_bytes = ecp_vector_bytes(elem, dims);
	int			slots = Max(1, 8000 / (row_bytes + 10));
	int			npages = Max(1, 256 * 1024 / (slots * row_bytes));
	Size		page_bytes = slots * TYPEALIGN(4, row_bytes);
	char	   *pages = random_elements(elem, npages * page_bytes / ecp_vector_bytes(elem, 1));
	uint32	   *factor = random_elements(ECP_ELEM_UINT8, slots * 8);
	const uint32 *factors[2] = {factor, factor + slots};
	EcpQuery   *query = ecp_query_create(elem, metric, dims, pages);
	float8	   *ranks = malloc(slots * sizeof(float8));
	int64		rows = 0;
	double		start;
	double		elapsed;

	/* with any norm, cosines of floats would be computed in double precision */
	for (int i = 0; i < slots && elem == ECP_ELEM_FLOAT32; i++)
	{
		uint32		computed[ECP_FACTORS_MAX] = {0};

		ecp_factors_compute(elem, metric, dims, pages + i * row_bytes, computed);
		factor[i] = computed[0];
	}

	start = now();
	do
	{
		for (int p = 0; p < npages; p++)
		{
			if (columns)
				ecp_query_rank_columns(query, (uint8 *) pages + p * page_bytes,
									   slots, factors, slots, ranks);
			else
				ecp_query_rank_rows(query, pages + p * page_bytes, row_bytes,
									factors, slots, ranks);
			rows += slots;
		}
	} while ((elapsed = now() - start) < SECONDS_MIN);

	free(pages);
	free(factor);
	free(ranks);
	free(query);
	return elapsed / rows * 1e9;
}

/* 10^9 multiply-adds a second */
static double
time_panel(EcpElem elem, EcpMetric metric, int dims, int n, bool nearest)
{
	int			nvectors = nearest ? 4800 : 100;
	Size		row_bytes = ecp_vector_bytes(elem, dims);
	EcpPanel   *panel = ecp_panel_init(malloc(ecp_panel_bytes(elem, dims, n)),
									   elem, metric, dims, n);
	char	   *leaders = random_elements(elem, (Size) n * dims);
	char	   *vectors = random_elements(elem, (Size) nvectors * dims);
	int32	   *best = malloc(nvectors * sizeof(int32));
	float4	   *ranks = malloc(Max(n, nvectors) * sizeof(float4));
	int64		comparisons = 0;
	double		start;
	double		elapsed;

	for (int i = 0; i < n; i++)
		ecp_panel_set(panel, i, leaders + i * row_bytes);

	start = now();
	do
	{
		if (nearest)
			ecp_panel_nearest(panel, 0, n, vectors, row_bytes, nvectors, best,
							  ranks);
		else
		{
			for (int v = 0; v < nvectors; v++)
				ecp_panel_rank(panel, vectors + v * row_bytes, 0, n, ranks);
		}
		comparisons += (int64) n * nvectors;
	} while ((elapsed = now() - start) < SECONDS_MIN);

	free(leaders);
	free(vectors);
	free(best);
	free(ranks);
	return comparisons * dims / elapsed / 1e9;
}

int
main(void)
{
	static const char *const names[] = {"scalar", "avx2", "avx512", "neon",
		"dotprod"};
	static const struct
	{
		EcpElem		elem;
		int			dims;
		const char *name;
	}			kinds[] =
	{
		{ECP_ELEM_UINT8, 128, "uint8"},
		{ECP_ELEM_UINT8, 784, "uint8"},
		{ECP_ELEM_FLOAT32, 128, "float32"},
		{ECP_ELEM_FLOAT32, 384, "float32"},
	};
	static const int panel_sizes[] = {64, 1000, 4000};

	for (int i = 0; i < lengthof(names); i++)
	{
		if (!ecp_kernels_select(names[i]))
			continue;
		for (int k = 0; k < lengthof(kinds); k++)
		{
			EcpElem		elem = kinds[k].elem;
			int			dims = kinds[k].dims;

			printf("%-7s %-8s x %4d: rows L2 %6.2f cosine %6.2f ns",
				   names[i], kinds[k].name, dims,
				   time_rows(elem, ECP_METRIC_L2, dims, false),
				   time_rows(elem, ECP_METRIC_COSINE, dims, false));
			if (elem == ECP_ELEM_UINT8)
				printf(", columns L2 %6.2f cosine %6.2f ns",
					   time_rows(elem, ECP_METRIC_L2, dims, true),
					   time_rows(elem, ECP_METRIC_COSINE, dims, true));
			printf("\n%28s", "");
			for (int p = 0; p < lengthof(panel_sizes); p++)
				printf("%s%d leaders: nearest %.1f rank %.1f GMAC/s",
					   p ? "; " : "", panel_sizes[p],
					   time_panel(elem, ECP_METRIC_L2, dims, panel_sizes[p], true),
					   time_panel(elem, ECP_METRIC_L2, dims, panel_sizes[p], false));
			printf("\n");
			fflush(stdout);
		}
	}

	return 0;
}
