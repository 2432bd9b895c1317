/*-------------------------------------------------------------------------
 *
 * vector_passed.c
 *	  Proves that in each instruction set the same ranks pass a limit.
 *
 * Among the ranks are the limit itself, infinity and NaN, which is not above any.
 *
 * link: src/vector/vector_parts.c
 * link: src/vector/vector_nibbles.c src/vector/vector_kernels.c
 * link: src/vector/vector_codes.c
 * link: src/vector/vector_value.c src/vector/vector_dispatch.c
 * link: src/vector/vector_kernels_scalar.c
 * link: src/vector/vector_kernels_avx2.c src/vector/vector_kernels_avx512.c
 * link: src/vector/vector_kernels_neon.c src/vector/vector_kernels_dotprod.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "vector/vector_distance.h"
#include "vector/vector_kernels.h"

#include "server_shim.h"
#include "unit.h"

#define LIMIT		3

/* Are those of the first n that pass the ones that shall, of 64? */
static bool
passes(int n, const float8 *ranks, const float4 *bounds)
{
	uint64		expected = 0;

	for (int i = 0; i < n; i++)
		expected |= (uint64) !(ranks[i] > LIMIT) << i;
	return ecp_ranks_passed(ranks, n, LIMIT) == expected &&
		ecp_bounds_passed(bounds, n, LIMIT) == expected;
}

static void
test_isa(const char *isa)
{
	static const float8 values[] = {0, LIMIT, LIMIT + 1, INFINITY, NAN, 2, -INFINITY};
	float8		ranks[64];
	float4		bounds[64];
	bool		ok = true;

	for (int n = 0; n <= 64; n++)
	{
		for (int i = 0; i < 64; i++)
			bounds[i] = ranks[i] = values[(i * 3 + i / 7 + n) % lengthof(values)];
		ok &= passes(n, ranks, bounds);
	}
	unit_ok(ok, "%s: ranks and bounds", isa);

	/* no bound up to the limit may fail because a float is not the limit */
	bounds[0] = nextafterf(LIMIT, INFINITY);
	unit_ok(ecp_bounds_passed(bounds, 1, bounds[0] - 1e-12) == 1 &&
			ecp_bounds_passed(bounds, 1, LIMIT + 1e-12) == 1 &&
			ecp_bounds_passed(bounds, 1, LIMIT) == 0, "%s: limits between floats",
			isa);
}

int
main(void)
{
	unit_each_isa(test_isa);
	return unit_done();
}
