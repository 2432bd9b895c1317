/*-------------------------------------------------------------------------
 *
 * vector_parts.c
 *	  Proves that every instruction set compares rows in PARTS as the scalar
 *	  kernels do, and that none of the rows that are within a limit is missed.
 *
 * The upper parts of rows give bounds of ranks, and only rows whose bounds are
 * within a limit are compared.  Rows are random, extreme, near the query, and such
 * that a bound is as close to the rank as it can be: all elements 15, which are the
 * farthest from their level, with a query far away in the same direction.  Rows
 * end where kernels may read no further.
 *
 * link: src/vector/vector_nibbles.c src/vector/vector_kernels.c
 * link: src/vector/vector_value.c src/vector/vector_dispatch.c
 * link: src/vector/vector_panel.c src/vector/vector_codes.c
 * link: src/vector/vector_parts.c src/vector/vector_kernels_scalar.c
 * link: src/vector/vector_kernels_avx2.c src/vector/vector_kernels_avx512.c
 * link: src/vector/vector_kernels_neon.c src/vector/vector_kernels_dotprod.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "vector/vector_kernels.h"

#include "server_shim.h"
#include "unit.h"
#include "unit_memory.h"

#define DIMS		ECP_PARTS_DIMS_MAX
#define ROWS		ECP_PASS_ROWS

/* How a query and its rows are made. */
typedef enum Pattern
{
	RANDOM,
	EXTREME,					/* 0 or 255 */
	CLOSE,						/* rows around the query */
	SMALL,						/* like SIFT: mostly small elements */
	TIGHT,						/* bounds close to ranks */
	PATTERNS
}			Pattern;

static const char *const pattern_names[] = {"random", "extreme", "close", "small", "tight"};

static uint8
element(Pattern pattern, bool of_query, uint8 query)
{
	uint32		r = random_u32() >> 24;

	switch (pattern)
	{
		case EXTREME:
			return r & 1 ? 255 : 0;
		case CLOSE:
			return of_query ? r : Max(Min(query + (int) (r % 9) - 4, 255), 0);
		case SMALL:
			return r * (random_u32() >> 24) * (random_u32() >> 24) >> 16;
		case TIGHT:
			return of_query ? 255 : r % 16 == 0 ? 31 : 15;
		default:
			return r;
	}
}

/* With the bytes that kernels may read behind the last row. */
static uint8 *
guarded(Size bytes)
{
	char	   *memory = guard_alloc(bytes + ECP_KERNEL_SLACK);

	memset(memory, 0xA5, bytes + ECP_KERNEL_SLACK);
	return (uint8 *) memory;
}

typedef struct Rows
{
	int			dims;
	int			n;
	uint8		query[DIMS];
	uint8		rows[ROWS][DIMS];
	uint8	   *upper;
	uint8	   *lower;
	uint32		factors[ROWS];
	float8		expected[ROWS];
}			Rows;

static bool
make_rows(Pattern pattern, int dims, int n, Rows * rows)
{
	Size		bytes = (Size) n * EcpPartsBytes(dims);
	bool		same = true;

	rows->dims = dims;
	rows->n = n;
	rows->upper = guarded(bytes);
	rows->lower = guarded(bytes);
	for (int i = 0; i < dims; i++)
		rows->query[i] = element(pattern, true, 0);
	for (int r = 0; r < n; r++)
	{
		uint8		back[DIMS];

		rows->expected[r] = 0;
		for (int i = 0; i < dims; i++)
		{
			float8		diff;

			rows->rows[r][i] = element(pattern, false, rows->query[i]);
			diff = (float8) rows->rows[r][i] - rows->query[i];
			rows->expected[r] += diff * diff;
		}
		ecp_parts_put(rows->upper, rows->lower, r, dims, rows->rows[r]);
		ecp_parts_get(rows->upper, rows->lower, r, dims, back);
		same &= memcmp(back, rows->rows[r], dims) == 0;
		rows->factors[r] = ecp_parts_factor(dims, rows->rows[r]);
	}
	return same;
}

static void
free_rows(Rows * rows)
{
	Size		bytes = (Size) rows->n * EcpPartsBytes(rows->dims);

	guard_free(rows->upper, bytes + ECP_KERNEL_SLACK);
	guard_free(rows->lower, bytes + ECP_KERNEL_SLACK);
}

typedef struct Result
{
	int			wrong;			/* sets of rows, or ranks */
	int			differ;			/* from the scalar kernels */
	int64		looked;			/* rows whose bounds were within a limit */
	int64		within;			/* rows that were */
} Result;

/* Compare the rows with one limit. */
static void
pass_rows(const char *isa, const Rows * rows, float8 limit, Result *result)
{
	EcpQuery   *query;
	EcpPartsQuery parts;
	float8		ranks[ROWS];
	uint64		all = rows->n < 64 ? (UINT64CONST(1) << rows->n) - 1 : PG_UINT64_MAX;
	uint64		wanted = all & (UINT64CONST(0xFDB97531ECA86420) | UINT64CONST(0x0123456789ABCDEF));
	uint64		expected = 0;
	uint64		passed;
	uint64		near[2];

	ecp_parts_query_init(&parts, rows->dims, rows->query);
	for (int i = 0; i < 2; i++)
	{
		ecp_kernels_select(i == 0 ? "scalar" : isa);
		near[i] = ecp_kernels->u8_parts_near(&parts, rows->upper,
											 (const int32 *) rows->factors,
											 rows->n, (float4) Min(limit, 16777216.0));
	}
	result->differ += near[0] != near[1];

	query = ecp_query_create(ECP_ELEM_UINT8, ECP_METRIC_L2, rows->dims, rows->query);
	passed = ecp_query_pass_parts(query, rows->upper, rows->lower, rows->factors,
								  wanted, limit, ranks);
	for (int r = 0; r < rows->n; r++)
	{
		uint64		bit = UINT64CONST(1) << r;

		if (rows->expected[r] <= limit)
			expected |= bit & wanted;
		if ((passed & bit) != 0 && ranks[r] != rows->expected[r])
			result->wrong++;
		result->looked += (near[1] & wanted & bit) != 0;
		result->within += (expected & bit) != 0;
	}
	result->wrong += passed != expected;
	pfree(query);
}

static void
test_pattern(const char *isa, Pattern pattern)
{
	Result		result = {0};
	bool		same = true;
	int64		rows_max = 0;
	static const int counts[] = {1, 3, 4, 7, 8, 9, 31, 58, 63, 64};

	for (int dims = ECP_PARTS_DIMS_MIN; dims <= ECP_PARTS_DIMS_MAX; dims++)
	{
		Rows		rows;

		same &= make_rows(pattern, dims, counts[dims % lengthof(counts)], &rows);
		pass_rows(isa, &rows, INFINITY, &result);
		pass_rows(isa, &rows, -1, &result);
		/* each rank, and what is right below it */
		result.looked = result.within = rows_max = 0;
		for (int r = 0; r < rows.n; r++)
		{
			pass_rows(isa, &rows, rows.expected[r], &result);
			pass_rows(isa, &rows, rows.expected[r] - 0.5, &result);
			rows_max += 2 * rows.n;
		}
		free_rows(&rows);
	}
	unit_ok(same && result.wrong == 0 && result.differ == 0,
			"%s, %s rows: those within a limit (%d wrong, %d unlike scalar)",
			isa, pattern_names[pattern], result.wrong, result.differ);

	/* of 64 rows; else all bounds might be 0 */
	if (pattern == RANDOM || pattern == SMALL)
		unit_ok(result.looked < rows_max * 9 / 10 && result.within > rows_max / 3,
				"%s, %s rows: " INT64_FORMAT " of " INT64_FORMAT " are looked at for " INT64_FORMAT,
				isa, pattern_names[pattern], result.looked, rows_max, result.within);
}

static void
test_isa(const char *isa)
{
	random_state = 1;
	for (int pattern = 0; pattern < PATTERNS; pattern++)
		test_pattern(isa, (Pattern) pattern);
}

int
main(void)
{
	unit_each_isa(test_isa);
	return unit_done();
}
