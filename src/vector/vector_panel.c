/*-------------------------------------------------------------------------
 *
 * vector_panel.c
 *	  Panels: leaders packed for comparison with many vectors.
 *
 * A panel is one piece of memory without pointers, so that it can lie in
 * shared memory that processes map at different addresses:
 *
 *	  EcpPanel	factors (uint8: one int32 a leader)  blocks of 16 leaders
 *
 * each part on a 64-byte boundary.  A block of uint8 leaders is COLUMNS of 16
 * slots; one of float32 leaders has 16 floats an element.  With the vector
 * broadcast, each lane of a register is another leader: no horizontal sums,
 * and one load of leaders serves all the vectors that a kernel works on.
 *
 * Called by the build to assign rows (ecp_panel_nearest), and by descents
 * through the leader tree (ecp_panel_rank, ecp_byte_panel_rank).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "vector/vector_kernels.h"

#define PANEL_ALIGN		64

struct EcpPanel
{
	EcpElem		elem;
	EcpMetric	metric;
	int			dims;
	int			capacity;
	Size		factors;		/* offset from the start of this struct */
	Size		data;			/* the same */
	Size		block_bytes;
};

/*
 * Fill in the sizes of a panel; returns its bytes without what alignment of
 * its start may take.
 */
static Size
panel_layout(EcpPanel *panel, EcpElem elem, int dims, int capacity)
{
	int			nblocks = (capacity + ECP_PANEL_BLOCK - 1) / ECP_PANEL_BLOCK;
	Size		lanes = (elem == ECP_ELEM_UINT8) ? EcpGroups(dims) : dims;

	Assert(dims >= 1 && capacity >= 0);
	panel->elem = elem;
	panel->dims = dims;
	panel->capacity = capacity;
	panel->block_bytes = lanes * sizeof(float4) * ECP_PANEL_BLOCK;
	panel->factors = TYPEALIGN(PANEL_ALIGN, sizeof(EcpPanel));
	panel->data = panel->factors;
	if (elem == ECP_ELEM_UINT8)
		panel->data += (Size) nblocks * ECP_PANEL_BLOCK * sizeof(int32);

	return panel->data + nblocks * panel->block_bytes;
}

Size
ecp_panel_bytes(EcpElem elem, int dims, int capacity)
{
	EcpPanel	panel;

	return panel_layout(&panel, elem, dims, capacity) + PANEL_ALIGN;
}

/*
 * Make an empty panel in memory of ecp_panel_bytes() bytes.  The result is
 * within "memory"; another process finds it by aligning its own address of
 * the same memory up to 64.
 */
EcpPanel *
ecp_panel_init(void *memory, EcpElem elem, EcpMetric metric, int dims,
			   int capacity)
{
	EcpPanel   *panel = (EcpPanel *) TYPEALIGN(PANEL_ALIGN, memory);

	Assert(elem == ECP_ELEM_UINT8 || elem == ECP_ELEM_FLOAT32);
	Assert(metric == ECP_METRIC_L2 || metric == ECP_METRIC_IP);

	memset(panel, 0, panel_layout(panel, elem, dims, capacity));
	(void) panel_layout(panel, elem, dims, capacity);
	panel->metric = metric;

	return panel;
}

static inline int32 *
panel_factors(const EcpPanel *panel)
{
	return (int32 *) ((char *) panel + panel->factors);
}

/* The block of leader i. */
static inline char *
panel_block(const EcpPanel *panel, int i)
{
	return (char *) panel + panel->data +
		i / ECP_PANEL_BLOCK * panel->block_bytes;
}

/* What a kernel sees of a panel, from leader "first" on. */
static void
panel_view(const EcpPanel *panel, int first, EcpPanelView *view)
{
	view->metric = panel->metric;
	view->dims = panel->dims;
	view->shift = (panel->metric == ECP_METRIC_L2) ? 1 : 0;
	view->factors = panel_factors(panel) + first;
	view->data = panel_block(panel, first);
}

void
ecp_panel_set(EcpPanel *panel, int i, const void *leader)
{
	int			slot = i % ECP_PANEL_BLOCK;

	Assert(i >= 0 && i < panel->capacity);

	if (panel->elem == ECP_ELEM_UINT8)
	{
		uint32		factors[ECP_FACTORS_MAX];

		ecp_columns_put((uint8 *) panel_block(panel, i), ECP_PANEL_BLOCK,
						slot, panel->dims, leader);
		ecp_factors_compute(ECP_ELEM_UINT8, panel->metric, panel->dims,
							leader, factors);
		/* IP: the kernels subtract, so the factor has the rank's sign */
		panel_factors(panel)[i] = (panel->metric == ECP_METRIC_L2) ?
			(int32) factors[0] : -(int32) factors[0];
	}
	else
	{
		const float4 *x = leader;
		float4	   *block = (float4 *) panel_block(panel, i);

		for (int d = 0; d < panel->dims; d++)
			block[d * ECP_PANEL_BLOCK + slot] = x[d];
	}
}

void
ecp_panel_get(const EcpPanel *panel, int i, void *leader)
{
	int			slot = i % ECP_PANEL_BLOCK;

	Assert(i >= 0 && i < panel->capacity);

	if (panel->elem == ECP_ELEM_UINT8)
		ecp_columns_get((const uint8 *) panel_block(panel, i),
						ECP_PANEL_BLOCK, slot, panel->dims, leader);
	else
	{
		float4	   *x = leader;
		const float4 *block = (const float4 *) panel_block(panel, i);

		for (int d = 0; d < panel->dims; d++)
			x[d] = block[d * ECP_PANEL_BLOCK + slot];
	}
}

/* ---- ranks that float32 cannot hold ---- */

/* Ranks from 2^126 on are scaled; no sum comes to 2^286. */
#define PANEL_RANK_MAX		8.507059173023462e37
#define PANEL_EXPONENT		126
#define PANEL_EXPONENT_MAX	286

/* Is a float32 rank too large, or the NaN of two infinite sums? */
static inline bool
panel_overflowed(float4 rank)
{
	return !(fabsf(rank) < PANEL_RANK_MAX);
}

/*
 * A rank that overflows, or nearly, in a float: computed in double precision, its
 * logarithm spread over the range from 2^126 to 2^128, so that ranks keep their
 * order.
 */
static float4
panel_wide_rank(const EcpPanel *panel, int i, const float4 *vector)
{
	const float4 *block = (const float4 *) panel_block(panel, i);
	int			slot = i % ECP_PANEL_BLOCK;
	float8		sum = 0;
	float8		exponent;

	for (int d = 0; d < panel->dims; d++)
	{
		float8		x = block[d * ECP_PANEL_BLOCK + slot];

		if (panel->metric == ECP_METRIC_L2)
			sum = fma(x - vector[d], x - vector[d], sum);
		else
			sum -= x * vector[d];
	}
	exponent = log2(fabs(sum)) - PANEL_EXPONENT;
	if (!(exponent > 0))
		return sum;
	return copysign(PANEL_RANK_MAX *
					(1 + 2.9 * exponent / (PANEL_EXPONENT_MAX - PANEL_EXPONENT)),
					sum);
}

/* The same for those of n ranks that need it. */
static void
panel_widen_ranks(const EcpPanel *panel, const float4 *vector, int first,
				  int n, float4 *ranks)
{
	for (int i = 0; i < n; i++)
	{
		if (unlikely(panel_overflowed(ranks[i])))
			ranks[i] = panel_wide_rank(panel, first + i, vector);
	}
}

/* The nearest of some leaders where the kernel has found none below infinity. */
static void
panel_wide_nearest(const EcpPanel *panel, int first, int n, const float4 *vector,
				   int32 *leader, float4 *rank)
{
	*leader = 0;
	*rank = INFINITY;
	for (int i = 0; i < n; i++)
	{
		float4		wide = panel_wide_rank(panel, first + i, vector);

		if (wide < *rank)
		{
			*rank = wide;
			*leader = i;
		}
	}
}

/*
 * Bring a uint8 vector into the form that the kernels take: minus 128, with
 * zeros up to whole groups.  Returns what has to be added to its ranks.
 */
static int32
panel_stage(const EcpPanel *panel, const uint8 *vector, int8 *staged)
{
	int32		sum;
	int32		norm2;

	ecp_kernels->u8_prepare(vector, panel->dims, staged, &sum, &norm2);

	return (panel->metric == ECP_METRIC_L2) ? norm2 : 0;
}

/* Ranks as floats, a block of them at a time. */
static inline void
panel_floats(int32 base, const int32 *sums, int n, float4 *ranks)
{
	int			i = 0;

	for (; i + ECP_PANEL_BLOCK <= n; i += ECP_PANEL_BLOCK)
	{
		for (int l = 0; l < ECP_PANEL_BLOCK; l++)
			ranks[i + l] = (float4) (base + sums[i + l]);
	}
	for (; i < n; i++)
		ranks[i] = (float4) (base + sums[i]);
}

void
ecp_panel_rank(const EcpPanel *panel, const void *vector, int first, int n,
			   float4 *ranks)
{
	EcpPanelView view;

	Assert(first >= 0 && n >= 0);
	Assert(first % ECP_PANEL_BLOCK == 0 && first + n <= panel->capacity);

	panel_view(panel, 0, &view);

	if (panel->elem == ECP_ELEM_UINT8)
	{
		pg_attribute_aligned(PANEL_ALIGN) int8 staged[ECP_DIMS_MAX];
		int32		base = panel_stage(panel, vector, staged);
		int32		sums[16 * ECP_PANEL_BLOCK];

		for (int done = 0; done < n; done += lengthof(sums))
		{
			int			count = Min(n - done, (int) lengthof(sums));

			ecp_kernels->u8_panel_rank(&view, staged, first + done, count,
									   sums);
			panel_floats(base, sums, count, ranks + done);
		}
	}
	else
	{
		ecp_kernels->f32_panel_rank(&view, vector, first, n, ranks);
		panel_widen_ranks(panel, vector, first, n, ranks);
	}
}

/* ---- float32 leaders as bytes ---- */

/* Ranges from here on are left as floats: their squares may be too large for one. */
#define BYTES_RANGE_MAX		1e15

/* Leaders by which the error of ranks is measured. */
#define BYTES_SAMPLE		8

struct EcpBytePanel
{
	int			dims;
	/* of each element's range, with zeros up to a multiple of 16 */
	float4	   *middle;			/* what 128 stands for */
	float4	   *step;
	float4	   *squares;		/* of each leader's distance from the middle */
	EcpPanel   *panel;			/* of bytes, with factors of 0 */
};

/* Set the ranges of the elements; false if one is too wide. */
static bool
bytes_set_ranges(EcpBytePanel *bytes, int n, const char *leaders, Size stride)
{
	/* the least, and the largest, before they are made of these */
	float4	   *least = bytes->middle;
	float4	   *largest = bytes->step;

	memcpy(least, leaders, bytes->dims * sizeof(float4));
	memcpy(largest, leaders, bytes->dims * sizeof(float4));
	for (int i = 1; i < n; i++)
	{
		const float4 *x = (const float4 *) (leaders + i * stride);

		for (int d = 0; d < bytes->dims; d++)
		{
			least[d] = Min(least[d], x[d]);
			largest[d] = Max(largest[d], x[d]);
		}
	}
	for (int d = 0; d < bytes->dims; d++)
	{
		if (!(least[d] > -BYTES_RANGE_MAX && largest[d] < BYTES_RANGE_MAX))
			return false;
		bytes->step[d] = (largest[d] - least[d]) / 255;
		bytes->middle[d] = least[d] + 128 * bytes->step[d];
	}
	return true;
}

/* Round the leaders by the ranges. */
static void
bytes_set(EcpBytePanel *bytes, int n, const char *leaders, Size stride)
{
	int			dims = bytes->dims;
	Size		padded = TYPEALIGN(16, dims);
	float4	   *inverse = palloc0(padded * sizeof(float4));
	uint8	   *rounded = palloc(padded);

	for (int d = 0; d < dims; d++)
		inverse[d] = isfinite(1 / bytes->step[d]) ? 1 / bytes->step[d] : 0;
	for (int i = 0; i < n; i++)
	{
		const float4 *x = (const float4 *) (leaders + i * stride);
		float4		most;
		float4		exact;
		float8		square = 0;

		ecp_kernels->f32_steps(x, bytes->middle, inverse, dims, true, 1, rounded, &most,
							   &exact);
		for (int d = 0; d < dims; d++)
		{
			float8		difference = (rounded[d] - 128) * bytes->step[d];

			square += difference * difference;
		}
		bytes->squares[i] = square;
		ecp_columns_put((uint8 *) panel_block(bytes->panel, i), ECP_PANEL_BLOCK,
						i % ECP_PANEL_BLOCK, dims, rounded);
	}
	pfree(rounded);
	pfree(inverse);
}

EcpBytePanel *
ecp_byte_panel_create(int dims, int n, const char *leaders, Size stride)
{
	Size		padded = TYPEALIGN(16, dims);
	Size		floats = (2 * padded + n) * sizeof(float4);
	EcpBytePanel *bytes = palloc0(sizeof(EcpBytePanel) + floats +
								  ecp_panel_bytes(ECP_ELEM_UINT8, dims, n));

	Assert(n > 0);
	bytes->dims = dims;
	bytes->middle = (float4 *) (bytes + 1);
	bytes->step = bytes->middle + padded;
	bytes->squares = bytes->step + padded;
	bytes->panel = ecp_panel_init((char *) (bytes + 1) + floats, ECP_ELEM_UINT8,
								  ECP_METRIC_IP, dims, n);
	if (!bytes_set_ranges(bytes, n, leaders, stride))
	{
		pfree(bytes);
		return NULL;
	}
	bytes_set(bytes, n, leaders, stride);
	return bytes;
}

float8
ecp_byte_panel_error(const EcpBytePanel *bytes, int n, const char *leaders, Size stride)
{
	float4	   *ranks = palloc(n * sizeof(float4) + ECP_KERNEL_SLACK);
	float8		error = 0;

	for (int s = 0; s < BYTES_SAMPLE && n > 1; s++)
	{
		int			i = (int64) n * s / BYTES_SAMPLE;
		int			nearest = i == 0 ? 1 : 0;
		const float4 *x = (const float4 *) (leaders + i * stride);
		float4		rank;

		ecp_byte_panel_rank(bytes, ECP_METRIC_L2, x, 0, n, ranks);
		for (int j = 0; j < n; j++)
		{
			if (j != i && ranks[j] < ranks[nearest])
				nearest = j;
		}
		ecp_kernels->f32_l2_rows(x, bytes->dims, leaders + nearest * stride, 0, 1, &rank);
		error += fabs(ranks[nearest] - rank) / BYTES_SAMPLE;
	}
	pfree(ranks);
	return error;
}

/*
 * With leaders c = middle + step * u and a vector q, L2 is
 *		|q - middle|^2 + |step * u|^2 - 2 (q - middle) * step * u
 * and IP
 *		-(q * middle) - q * step * u
 * where the elements that u is multiplied by are rounded to "scale" times a byte.
 */
void
ecp_byte_panel_rank(const EcpBytePanel *bytes, EcpMetric metric, const float4 *vector,
					int first, int n, float4 *ranks)
{
	pg_attribute_aligned(PANEL_ALIGN) int8 staged[ECP_DIMS_MAX + ECP_GROUP];
	uint8		steps[ECP_DIMS_MAX + 16];
	int32		sums[16 * ECP_PANEL_BLOCK];
	bool		l2 = metric != ECP_METRIC_IP;
	int			dims = bytes->dims;
	float4		most;
	float4		sum;
	float8		base;
	float8		scale;
	int32		steps_sum;
	int32		squares;
	EcpPanelView view;

	Assert(first % ECP_PANEL_BLOCK == 0 && first + n <= bytes->panel->capacity);
	ecp_kernels->f32_steps(vector, bytes->middle, bytes->step, dims, l2, 0, steps, &most,
						   &sum);
	ecp_kernels->u8_prepare(steps, dims, staged, &steps_sum, &squares);
	/* of a vector so far away all leaders are as far */
	scale = isfinite(most) ? (l2 ? 2 : 1) * (float8) most / 127 : 0;
	base = (l2 ? sum : -sum) + scale * 128 * (steps_sum - 128 * dims);

	panel_view(bytes->panel, 0, &view);
	for (int done = 0; done < n; done += lengthof(sums))
	{
		int			count = Min(n - done, (int) lengthof(sums));
		const float4 *squares = bytes->squares + first + done;

		ecp_kernels->u8_panel_rank(&view, staged, first + done, count, sums);
		for (int i = 0; i < count; i++)
		{
			float8		rank = base + scale * sums[i] + (l2 ? squares[i] : 0);

			ranks[done + i] = (float4) Min(Max(rank, l2 ? 0 : -PANEL_RANK_MAX),
										   PANEL_RANK_MAX);
		}
	}
}

/* A chunk of at most ECP_PANEL_VECTORS uint8 vectors, no larger than this. */
#define STAGED_BYTES	(32 * 1024)

static void
u8_panel_nearest(const EcpPanel *panel, const EcpPanelView *view, int n,
				 const char *vectors, Size stride, int nvectors,
				 int32 *leaders, float4 *ranks)
{
	Size		staged_stride = EcpGroups(panel->dims) * ECP_GROUP;
	int			chunk = Max(1, STAGED_BYTES / staged_stride);
	pg_attribute_aligned(PANEL_ALIGN) int8 staged[STAGED_BYTES];
	int32		bases[ECP_PANEL_VECTORS];
	int32		sums[ECP_PANEL_VECTORS];

	chunk = Min(chunk, ECP_PANEL_VECTORS);

	for (int done = 0; done < nvectors; done += chunk)
	{
		int			count = Min(nvectors - done, chunk);

		for (int i = 0; i < count; i++)
			bases[i] = panel_stage(panel,
								   (const uint8 *) vectors + (done + i) * stride,
								   staged + i * staged_stride);

		ecp_kernels->u8_panel_nearest(view, n, staged, staged_stride, count,
									  leaders + done, sums);

		for (int i = 0; i < count; i++)
			ranks[done + i] = (float4) (bases[i] + sums[i]);
	}
}

void
ecp_panel_nearest(const EcpPanel *panel, int first, int n, const void *vectors,
				  Size stride, int nvectors, int32 *leaders, float4 *ranks)
{
	EcpPanelView view;

	Assert(nvectors >= 0);
	Assert(n >= 1 && first % ECP_PANEL_BLOCK == 0 && first + n <= panel->capacity);

	panel_view(panel, first, &view);

	if (panel->elem == ECP_ELEM_UINT8)
		u8_panel_nearest(panel, &view, n, vectors, stride, nvectors,
						 leaders, ranks);
	else
	{
		for (int done = 0; done < nvectors; done += ECP_PANEL_VECTORS)
			ecp_kernels->f32_panel_nearest(&view, n,
										   (const char *) vectors + done * stride,
										   stride,
										   Min(nvectors - done, ECP_PANEL_VECTORS),
										   leaders + done, ranks + done);
		for (int v = 0; v < nvectors; v++)
		{
			if (unlikely(panel_overflowed(ranks[v])))
				panel_wide_nearest(panel, first, n,
								   (const float4 *) ((const char *) vectors + v * stride),
								   &leaders[v], &ranks[v]);
		}
	}
	for (int v = 0; v < nvectors && first > 0; v++)
		leaders[v] += first;
}
