/*-------------------------------------------------------------------------
 *
 * vector_halves.c
 *	  Proves that rows of float16 give what the same elements as float32 give,
 *	  to the last bit, with the kernels of every instruction set, and that
 *	  floats are rounded to the nearest half, of two the even one.
 *
 * Rows have subnormal elements and zeros of both signs among random ones, and
 * end at a page that cannot be read; queries are also so large or small that
 * sums leave the range of a float.
 *
 * link: src/vector/vector_parts.c
 * link: src/vector/vector_value.c src/vector/vector_dispatch.c
 * link: src/vector/vector_panel.c src/vector/vector_codes.c
 * link: src/vector/vector_nibbles.c src/vector/vector_kernels.c
 * link: src/vector/vector_kernels_scalar.c
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

#define ROWS_MAX		70
#define HALVES			65536

static bool
half_is_finite(uint16 half)
{
	return (half & HALF_EXPONENT) != HALF_EXPONENT;
}

/* What a half is, computed the obvious way. */
static float8
half_value(uint16 half)
{
	int			exponent = (half & HALF_EXPONENT) >> 10;
	float8		mantissa = half & 0x3FF;
	float8		value = exponent == 0 ? ldexp(mantissa, -24) :
		exponent == 31 ? (mantissa == 0 ? INFINITY : NAN) :
		ldexp(1024 + mantissa, exponent - 25);

	return (half & HALF_SIGN) ? -value : value;
}

/* Every half as a float, and back. */
static bool
halves_convert(void)
{
	static uint16 halves[HALVES];
	static uint16 back[HALVES];
	static float4 floats[HALVES];
	bool		ok = true;

	for (int i = 0; i < HALVES; i++)
		halves[i] = i;
	ecp_halves_to_floats(halves, HALVES, floats);
	ecp_floats_to_halves(floats, HALVES, back);
	for (int i = 0; i < HALVES; i++)
	{
		float8		value = half_value(i);

		if (isnan(value))
		{
			ok &= isnan(floats[i]) && !half_is_finite(back[i]) &&
				back[i] != HALF_EXPONENT;
			continue;
		}
		ok &= floats[i] == value && !signbit(floats[i]) == !signbit(value);
		ok &= back[i] == i;
	}
	return ok;
}

/*
 * Floats between each half and the next larger one, of both signs: the one in
 * the middle goes to the even half, and its neighbours to theirs.
 */
static bool
floats_round(void)
{
	bool		ok = true;

	for (int low = 0; low < HALF_EXPONENT; low++)
	{
		/* what comes after the largest would be 65536 */
		float8		next = low + 1 == HALF_EXPONENT ? 65536 :
			half_value(low + 1);
		float4		middle = (float4) ((half_value(low) + next) / 2);
		float4		floats[6] = {nextafterf(middle, 0), middle,
			nextafterf(middle, INFINITY)};
		uint16		expected[6] = {low, low + (low & 1), low + 1};
		uint16		halves[6];

		for (int i = 0; i < 3; i++)
		{
			floats[i + 3] = -floats[i];
			expected[i + 3] = expected[i] | HALF_SIGN;
		}
		for (int n = 1; n <= 6; n++)
		{
			memset(halves, 0x55, sizeof(halves));
			ecp_floats_to_halves(floats, n, halves);
			ok &= memcmp(halves, expected, n * sizeof(uint16)) == 0 &&
				(n == 6 || halves[n] == 0x5555);
		}
	}
	return ok;
}

/* Any floats, in any number, are rounded as by the scalar kernel. */
static bool
floats_round_equally(const char *isa)
{
	bool		ok = true;

	for (int n = 1; n < 300; n++)
	{
		float4		floats[300];
		uint16		halves[2][300] = {{0}};

		for (int i = 0; i < n; i++)
		{
			uint32		bits = random_u32();

			/* half of them in the range of halves; no NaN */
			if (i % 2)
				bits = (bits & 0x8FFFFFFF) | 0x30000000;
			memcpy(&floats[i], &bits, sizeof(bits));
			if (isnan(floats[i]))
				floats[i] = 1e-42f;
		}
		ecp_kernels_select("scalar");
		ecp_floats_to_halves(floats, n, halves[0]);
		ecp_kernels_select(isa);
		ecp_floats_to_halves(floats, n, halves[1]);
		ok &= memcmp(halves[0], halves[1], sizeof(halves[0])) == 0;
	}
	return ok;
}

/* Patterns of rows and of queries. */
#define NPATTERNS		4

static uint16
random_half(int pattern)
{
	uint16		half = random_u32() >> 16;

	switch (pattern)
	{
		case 0:					/* of the size of an embedding's elements */
			return (half & 0x83FF) | (random_u32() % 4 + 10) << 10;
		case 1:					/* subnormal ones, and zeros of both signs */
			return half & (random_u32() % 2 ? 0x83FF : HALF_SIGN);
		case 2:					/* the largest */
			return (half & 0x83FF) | 30 << 10;
		default:				/* any */
			return half_is_finite(half) ? half : HALF_SIGN;
	}
}

static float4
random_query(int pattern)
{
	static const float4 scale[NPATTERNS] = {1, 1e-25f, 3e38f, 65504};

	return (float4) random_number() * scale[pattern];
}

/*
 * Ranks and factors of rows of float16, by the kernels of "isa", are those of
 * the same rows as float32 by the scalar ones.
 */
static bool
rows_equal(const char *isa, EcpMetric metric, int dims, int n, int pattern)
{
	Size		bytes = ecp_vector_bytes(ECP_ELEM_FLOAT16, dims);
	uint16	   *halves = (uint16 *) guard_alloc(n * bytes);
	float4	   *floats = malloc((Size) n * dims * sizeof(float4));
	float4	   *query = malloc(dims * sizeof(float4));
	uint32		factors[2][ROWS_MAX] = {{0}};
	float8		ranks[2][ROWS_MAX];
	bool		ok = true;

	for (int i = 0; i < n * dims; i++)
	{
		halves[i] = random_half(pattern);
		floats[i] = ecp_half_to_float(halves[i]);
	}
	for (int i = 0; i < dims; i++)
		query[i] = pattern == 0 && random_u32() % 2 ? floats[i] :
			random_query(pattern);
	for (int half = 0; half < 2; half++)
	{
		EcpElem		elem = half ? ECP_ELEM_FLOAT16 : ECP_ELEM_FLOAT32;
		const char *rows = half ? (char *) halves : (char *) floats;
		Size		stride = ecp_vector_bytes(elem, dims);
		const uint32 *factor = factors[half];
		EcpQuery   *prepared;

		ecp_kernels_select(half ? isa : "scalar");
		prepared = ecp_query_create(elem, metric, dims, query);
		for (int i = 0; i < n; i++)
			ecp_factors_compute(elem, metric, dims, rows + i * stride,
								&factors[half][i]);
		ecp_query_rank_rows(prepared, rows, stride, &factor, n, ranks[half]);
		pfree(prepared);
	}
	for (int i = 0; i < n; i++)
		ok &= (isnan(ranks[0][i]) && isnan(ranks[1][i])) ||
			memcmp(&ranks[0][i], &ranks[1][i], sizeof(float8)) == 0;
	ok &= memcmp(factors[0], factors[1], sizeof(factors[0])) == 0;
	free(query);
	free(floats);
	guard_free(halves, n * bytes);
	return ok;
}

static void
test_isa(const char *isa)
{
	static const EcpMetric metrics[] = {ECP_METRIC_L2, ECP_METRIC_IP, ECP_METRIC_COSINE, ECP_METRIC_L1};
	static const char *const metric_names[] = {"L2", "IP", "cosine", "L1"};
	static const int long_dims[] = {384, 768, 1536, 1537, ECP_DIMS_MAX};

	random_state = 1;
	unit_ok(halves_convert(), "%s: halves as floats and back", isa);
	unit_ok(floats_round(), "%s: floats are rounded to the nearest half", isa);
	unit_ok(floats_round_equally(isa), "%s: any floats are rounded equally",
			isa);
	for (int m = 0; m < lengthof(metrics); m++)
	{
		EcpMetric	metric = metrics[m];
		bool		equal = true;

		for (int pattern = 0; pattern < NPATTERNS; pattern++)
		{
			for (int dims = 1; dims < 300; dims++)
				equal &= rows_equal(isa, metric, dims, 1 + dims % 9, pattern);
			for (int i = 0; i < lengthof(long_dims); i++)
				equal &= rows_equal(isa, metric, long_dims[i], 5, pattern);
			equal &= rows_equal(isa, metric, 100, ROWS_MAX, pattern);
		}
		unit_ok(equal, "%s, %s: rows equal those of float32", isa,
				metric_names[m]);
	}
}

int
main(void)
{
	unit_each_isa(test_isa);
	return unit_done();
}
