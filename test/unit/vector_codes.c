/*-------------------------------------------------------------------------
 *
 * vector_codes.c
 *	  Proves that no lower bound from a code is above the rank that a search
 *	  returns the row by.
 *
 * A search that reads all clusters wants all rows, so bounds are as wide there
 * as ECP_CODE_EPS_WIDE makes them.  With up to 16 elements that is wider than
 * any estimate can err; with more it is by chance, one in millions, and the
 * random numbers are always the same.  What may still lift a bound is rounding:
 * of a query's tables to bytes, and of floats.  That shows where the query is much
 * nearer to the leader, or to the row, than to the origin, which is the usual
 * thing with few elements or with vectors of which the mean is not zero.
 *
 * link: src/vector/vector_value.c src/vector/vector_dispatch.c
 * link: src/vector/vector_panel.c src/vector/vector_codes.c
 * link: src/vector/vector_nibbles.c src/vector/vector_kernels.c
 * link: src/vector/vector_parts.c
 * link: src/vector/vector_kernels_scalar.c
 * link: src/vector/vector_kernels_avx2.c src/vector/vector_kernels_avx512.c
 * link: src/vector/vector_kernels_neon.c src/vector/vector_kernels_dotprod.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/bits.h"
#include "vector/vector_codes.h"

#include "server_shim.h"
#include "unit.h"
#include "unit_memory.h"

#define ROWS			256
#define DIMS_MAX		1024

/* What an index of one kind of vectors makes of them. */
typedef struct Kind
{
	const char *name;
	EcpElem		elem;
	EcpMetric	metric;
	EcpElem		leader_elem;
} Kind;

static const Kind kinds[] = {
	{"bytea, L2", ECP_ELEM_UINT8, ECP_METRIC_L2, ECP_ELEM_UINT8},
	{"bytea, inner product", ECP_ELEM_UINT8, ECP_METRIC_IP, ECP_ELEM_UINT8},
	{"bytea, cosine", ECP_ELEM_UINT8, ECP_METRIC_COSINE, ECP_ELEM_FLOAT32},
	{"real[], L2", ECP_ELEM_FLOAT32, ECP_METRIC_L2, ECP_ELEM_FLOAT32},
	{"real[], inner product", ECP_ELEM_FLOAT32, ECP_METRIC_IP, ECP_ELEM_FLOAT32},
	{"real[], cosine", ECP_ELEM_FLOAT32, ECP_METRIC_COSINE, ECP_ELEM_FLOAT32},
	/* which is never below L2 */
	{"real[], L1", ECP_ELEM_FLOAT32, ECP_METRIC_L1, ECP_ELEM_FLOAT32}
};

/* How the vectors of a test lie: around one centre, each element within this. */
typedef struct Shape
{
	const char *name;
	float		centre;			/* share of the greatest element */
	float		spread;
	bool		sparse;			/* most elements are the centre's */
	enum
	{
		ANOTHER,
		LEADER,
		ZERO,
		ACROSS					/* at right angles to the leader, or nearly */
	}			query;
} Shape;

static const Shape shapes[] = {
	{"anywhere", 0, 1, false, ANOTHER},
	{"anywhere, of few elements", 0, 1, true, ANOTHER},
	{"around a centre", 1, 0.1f, false, ANOTHER},
	{"close together", 1, 0.01f, false, ANOTHER},
	{"very close together", 1, 0.0001f, false, ANOTHER},
	{"close together in few elements", 1, 0.01f, true, ANOTHER},
	{"around the query", 1, 0.01f, false, LEADER},
	{"around the query in few elements", 1, 0.01f, true, LEADER},
	{"far from the query", 1, 0.1f, false, ZERO},
	{"far from the query, close together", 1, 0.001f, false, ZERO},
	{"across the query, close together", 1, 0.0001f, false, ACROSS}
};

/* n vectors of a shape; as bytes, or as floats of this scale */
static void
fill(const Shape *shape, EcpElem elem, int dims, int n, float scale,
	 void *vectors)
{
	float		centre[DIMS_MAX];

	for (int d = 0; d < dims; d++)
		centre[d] = shape->centre * random_number();
	for (int i = 0; i < n * dims; i++)
	{
		double		x = centre[i % dims];

		if (!shape->sparse || random_number() > 1 - 4.0 / dims)
			x += shape->spread * random_number();
		if (elem == ECP_ELEM_UINT8)
			((uint8 *) vectors)[i] = (uint8) Min(Max(rint(128 + 127 * x), 0), 255);
		else
			((float4 *) vectors)[i] = x * scale;
	}
}

/* As ecp_prepare(); false if the vector has no direction. */
static bool
prepare(const Kind *kind, int dims, const void *vector, void *prepared)
{
	if (kind->elem == kind->leader_elem)
		memcpy(prepared, vector, ecp_vector_bytes(kind->elem, dims));
	else
	{
		for (int d = 0; d < dims; d++)
			((float4 *) prepared)[d] = ((const uint8 *) vector)[d];
	}
	return kind->metric != ECP_METRIC_COSINE ||
		ecp_unit_length(prepared, dims);
}

/* The mean of n prepared vectors, as the leader of a cluster is. */
static void
mean(EcpElem elem, int dims, int n, const void *vectors, void *leader)
{
	for (int d = 0; d < dims; d++)
	{
		double		sum = 0;

		for (int i = 0; i < n; i++)
			sum += elem == ECP_ELEM_UINT8 ?
				((const uint8 *) vectors)[i * dims + d] :
				((const float4 *) vectors)[i * dims + d];
		if (elem == ECP_ELEM_UINT8)
			((uint8 *) leader)[d] = (uint8) rint(sum / n);
		else
			((float4 *) leader)[d] = sum / n;
	}
}

/* A query at right angles to a leader. */
static void
turn(float4 *query, const float4 *leader, int dims)
{
	for (int d = 1; d < dims; d += 2)
	{
		query[d - 1] = leader[d];
		query[d] = -leader[d - 1];
	}
}

/*
 * Rows of a cluster whose bounds are above their ranks, *worst by how much; *refined_above
 * counts those whose bounds from levels are.
 */
static int
count_above(const Kind *kind, const Shape *shape, int dims, float scale,
			bool has_leader, double *worst, int *refined_above)
{
	static union
	{
		float4		floats[(ROWS + 2) * DIMS_MAX + 64];
		uint8		bytes[1];
	}			vectors, prepared;
	static uint8 blocks[ROWS * DIMS_MAX / 8];
	static char levels[ROWS * EcpLevelsBytes(DIMS_MAX)];
	static float8 estimates[ROWS];
	static uint32 factors[ECP_CODE_FACTORS][ROWS];
	static uint32 exact_factors[ECP_FACTORS_MAX][ROWS];
	const uint32 *fac[ECP_CODE_FACTORS];
	const uint32 *exact_fac[ECP_FACTORS_MAX];
	Size		bytes = ecp_vector_bytes(kind->elem, dims);
	Size		pbytes = ecp_vector_bytes(kind->leader_elem, dims);
	uint8	   *query = vectors.bytes + ROWS * bytes;
	uint8	   *pquery = prepared.bytes + ROWS * pbytes;
	uint8	   *leader = pquery + pbytes;
	EcpMetric	leader_metric = kind->metric == ECP_METRIC_IP ?
		ECP_METRIC_IP : ECP_METRIC_L2;
	float4		leader_rank;
	float4		bounds[ROWS];
	float4		refined[ROWS];
	float8		ranks[ROWS];
	EcpCodeQuery *codes;
	EcpQuery   *exact;
	int			above = 0;

	fill(shape, kind->elem, dims, ROWS + 1, scale, vectors.bytes);
	for (int i = 0; i < ROWS; i++)
	{
		if (!prepare(kind, dims, vectors.bytes + i * bytes,
					 prepared.bytes + i * pbytes))
			return 0;
	}
	mean(kind->leader_elem, dims, ROWS, prepared.bytes, leader);
	if (shape->query == LEADER && kind->elem == kind->leader_elem)
		memcpy(query, leader, bytes);
	else if (shape->query == ZERO)
		memset(query, 0, bytes);
	else if (shape->query == ACROSS && kind->elem == ECP_ELEM_FLOAT32)
		turn((float4 *) query, (const float4 *) leader, dims);
	if (!prepare(kind, dims, query, pquery))
		return 0;

	for (int i = 0; i < ROWS; i++)
	{
		uint8		code[DIMS_MAX / 8];
		uint32		row[ECP_CODE_FACTORS];

		ecp_code_make(kind->leader_elem, kind->metric, dims, dims,
					  prepared.bytes + i * pbytes, has_leader ? leader : NULL,
					  code, row, levels + i * EcpLevelsBytes(dims));
		ecp_code_put(blocks, i, dims, code);
		for (int f = 0; f < ECP_CODE_FACTORS; f++)
			factors[f][i] = row[f];
		ecp_factors_compute(kind->elem, kind->metric, dims,
							vectors.bytes + i * bytes, row);
		for (int f = 0; f < ECP_FACTORS_MAX; f++)
			exact_factors[f][i] = row[f];
	}
	for (int f = 0; f < ECP_CODE_FACTORS; f++)
		fac[f] = factors[f];
	for (int f = 0; f < ECP_FACTORS_MAX; f++)
		exact_fac[f] = exact_factors[f];

	codes = ecp_code_query_create(kind->leader_elem, kind->metric, dims, dims,
								  pquery, ECP_CODE_EPS_WIDE, true, 0);
	if (has_leader)
	{
		void	   *memory = malloc(ecp_panel_bytes(kind->leader_elem, dims, 1));
		EcpPanel   *panel = ecp_panel_init(memory, kind->leader_elem,
										   leader_metric, dims, 1);

		ecp_panel_set(panel, 0, leader);
		ecp_panel_rank(panel, pquery, 0, 1, &leader_rank);
		free(memory);
	}
	else
		leader_rank = ecp_code_query_origin(codes);
	ecp_code_query_bounds(codes, leader_rank, blocks, fac, ROWS, bounds);
	memcpy(refined, bounds, sizeof(bounds));
	for (int i = 0; i < ROWS; i += 64)
		ecp_code_query_refine(codes, leader_rank, levels + i * EcpLevelsBytes(dims),
							  EcpLevelsBytes(dims), EcpLowBits(ROWS - i), refined + i,
							  estimates + i);

	exact = ecp_query_create(kind->elem, kind->metric, dims, query);
	ecp_query_rank_rows(exact, vectors.bytes, bytes, exact_fac, ROWS, ranks);
	for (int i = 0; i < ROWS; i++)
	{
		*refined_above += refined[i] > ranks[i];
		if (!(bounds[i] > ranks[i]))
			continue;
		above++;
		*worst = Max(*worst, bounds[i] - ranks[i]);
	}
	pfree(codes);
	pfree(exact);
	return above;
}

static void
test_kind(const Kind *kind, const Shape *shape)
{
	static const int long_dims[] = {96, 128, 300, 784, 1024};
	static const float scales[] = {1, 1e4, 1e-4};
	int			above = 0;
	int			refined = 0;
	int			total = 0;
	double		worst = 0;

	for (int i = 0; i < 64 + lengthof(long_dims); i++)
	{
		int			dims = i < 64 ? i + 1 : long_dims[i - 64];

		for (int s = 0; s < (kind->elem == ECP_ELEM_UINT8 ? 1 : 3); s++)
		{
			above += count_above(kind, shape, dims, scales[s], true, &worst, &refined);
			above += count_above(kind, shape, dims, scales[s], false, &worst, &refined);
			total += 2 * ROWS;
		}
	}
	/* what levels lose of sparse vectors of few elements is not quite random */
	unit_ok(above == 0 && refined <= total / 50000,
			"%s, %s: %d of %d bounds are too high, by up to %g, and %d refined ones",
			kind->name, shape->name, above, total, worst, refined);
}

int
main(void)
{
	ecp_kernels_init();
	for (int k = 0; k < lengthof(kinds); k++)
	{
		for (int s = 0; s < lengthof(shapes); s++)
			test_kind(&kinds[k], &shapes[s]);
	}
	return unit_done();
}
