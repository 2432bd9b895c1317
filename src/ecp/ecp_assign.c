/*-------------------------------------------------------------------------
 *
 * ecp_assign.c
 *	  Which cluster a row belongs to.
 *
 * A row belongs to the leader that is nearest to it in squared Euclidean
 * distance, between prepared vectors: rows as they are for L2 and inner
 * product, brought to unit length for cosine, where L2 ranks alike.
 *
 * A build assigns an in-buff at a time.  Up to ECP_FLAT_LEADERS_MAX leaders
 * every row is compared with all of them, which the blocked kernel makes
 * cheaper than anything cleverer; above, a row descends the tree of leaders,
 * at each level into the ECP_ASSIGN_BEAM nodes nearest to it (a single path
 * would put four rows out of ten into a wrong cluster).
 *
 * Called by ecp_build.c when the in-buff is full, after ecp_leaders.c has
 * frozen the tree; the policy keeps the result.  ecp_prepare() serves
 * inserts and searches, too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "ecp/ecp_build.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Rows that are prepared for one call of the kernel. */
#define ASSIGN_BLOCK	512

uint8
ecp_leader_elem_for(EcpElem elem, EcpMetric metric)
{
	/* a uint8 vector of unit length would be all zeros and ones */
	if (elem == ECP_ELEM_UINT8 && metric != ECP_METRIC_COSINE)
		return ECP_ELEM_UINT8;
	return ECP_ELEM_FLOAT32;
}

bool
ecp_prepare(const EcpMetaPageData *meta, const EcpVector *vector, void *dst)
{
	float4	   *x = dst;
	double		norm2 = 0;
	double		scale;

	Assert(vector->elem == meta->ecpm_elem);

	if (meta->ecpm_leader_elem == vector->elem)
		memcpy(dst, vector->data, ecp_elem_size(vector->elem) * vector->dims);
	else if (vector->elem == ECP_ELEM_UINT8)
	{
		const uint8 *data = vector->data;

		for (int d = 0; d < vector->dims; d++)
			x[d] = data[d];
	}
	else
		elog(ERROR, "unexpected element kind %d", vector->elem);

	if (meta->ecpm_metric != ECP_METRIC_COSINE)
		return true;

	for (int d = 0; d < vector->dims; d++)
		norm2 += (double) x[d] * x[d];
	if (norm2 == 0)
		return false;
	scale = 1 / sqrt(norm2);
	for (int d = 0; d < vector->dims; d++)
		x[d] = (float4) (x[d] * scale);
	return true;
}

/* ---- the in-buff ---- */

/* Bytes of a row in the in-buff. */
static Size
inbuff_row_bytes(const EcpBuild *build)
{
	return add_size(build->vec_bytes,
					sizeof(ItemPointerData) + 2 * sizeof(int32));
}

/* Bytes that the in-buff of a build has, whole rows. */
Size
ecp_inbuff_bytes(const EcpBuild *build)
{
	Size		row_bytes = inbuff_row_bytes(build);
	Size		bytes = Min(ecp_in_buff_kb * (Size) 1024,
							build->budget * ECP_SHARE_IN_BUFF);

	return Max(bytes / row_bytes, 1) * row_bytes;
}

EcpInBuff *
ecp_inbuff_create(EcpBuild *build)
{
	MemoryContext ctx = AllocSetContextCreate(build->ctx, "ecp in-buff",
											  ALLOCSET_DEFAULT_SIZES);
	EcpInBuff  *inbuff = MemoryContextAllocZero(ctx, sizeof(EcpInBuff));

	inbuff->ctx = ctx;
	inbuff->vec_bytes = build->vec_bytes;
	inbuff->max = ecp_inbuff_bytes(build) / inbuff_row_bytes(build);
	/* kernels may read 63 bytes behind the last row */
	inbuff->vectors =
		MemoryContextAllocHuge(ctx, add_size(mul_size(inbuff->vec_bytes,
													  inbuff->max), 64));
	inbuff->tids =
		MemoryContextAllocHuge(ctx, mul_size(sizeof(ItemPointerData),
											 inbuff->max));
	inbuff->leaders =
		MemoryContextAllocHuge(ctx, mul_size(sizeof(int32), inbuff->max));
	inbuff->order =
		MemoryContextAllocHuge(ctx, mul_size(sizeof(int32), inbuff->max));
	inbuff->first =
		MemoryContextAllocHuge(ctx, mul_size(sizeof(int32),
											 build->tree->n[0] + 1));
	return inbuff;
}

/* Entries of a level, the best few seen so far in ascending order of rank. */
typedef struct Beam
{
	int			n;
	int			max;
	int32		entry[ECP_ASSIGN_BEAM];
	float4		rank[ECP_ASSIGN_BEAM];
} Beam;

/* Equal ranks: whoever came first stays first. */
static inline void
beam_add(Beam *beam, int32 entry, float4 rank)
{
	int			i;

	if (beam->n == beam->max && !(rank < beam->rank[beam->n - 1]))
		return;
	if (beam->n < beam->max)
		beam->n++;
	for (i = beam->n - 1; i > 0 && rank < beam->rank[i - 1]; i--)
	{
		beam->entry[i] = beam->entry[i - 1];
		beam->rank[i] = beam->rank[i - 1];
	}
	beam->entry[i] = entry;
	beam->rank[i] = rank;
}

/* Rank entries from .. upto - 1 of a level and offer them to the beam. */
static void
beam_rank(const EcpLeaderTree *tree, int level, const void *row, int from,
		  int upto, float4 *ranks, Beam *beam)
{
	int			start = from - from % 16;	/* panels rank whole blocks */

	ecp_panel_rank(tree->panel[level], row, start, upto - start, ranks);
	for (int i = from; i < upto; i++)
		beam_add(beam, i, ranks[i - start]);
}

static int32
tree_nearest(const EcpLeaderTree *tree, const void *row, float4 *ranks)
{
	int			level = tree->nlevels - 1;
	Beam		beam = {0};

	beam.max = level > 0 ? ECP_ASSIGN_BEAM : 1;
	beam_rank(tree, level, row, 0, tree->n[level], ranks, &beam);
	while (level-- > 0)
	{
		Beam		next = {0};

		next.max = level > 0 ? ECP_ASSIGN_BEAM : 1;
		for (int i = 0; i < beam.n; i++)
		{
			int32		entry = beam.entry[i];

			beam_rank(tree, level, row, tree->first[level + 1][entry],
					  tree->first[level + 1][entry + 1], ranks, &next);
		}
		beam = next;
	}
	return beam.entry[0];
}

/* Leaders of prepared rows. */
static void
tree_assign(const EcpLeaderTree *tree, const char *rows, Size stride, int n,
			int32 *leaders)
{
	float4	   *ranks;

	if (tree->nlevels == 1 || tree->n[0] <= ECP_FLAT_LEADERS_MAX)
	{
		ecp_nearest(tree->panel[0], tree->n[0], tree->dims, rows, stride, n,
					leaders, NULL);
		return;
	}
	ranks = palloc_extended(sizeof(float4) * (tree->n[0] + 16),
							MCXT_ALLOC_HUGE);
	for (int i = 0; i < n; i++)
	{
		if (i % 64 == 0)
			CHECK_FOR_INTERRUPTS();
		leaders[i] = tree_nearest(tree, rows + i * stride, ranks);
	}
	pfree(ranks);
}

/* Rows by leader, in the order of their arrival. */
static void
inbuff_sort(EcpInBuff *inbuff, int nleaders)
{
	int32	   *first = inbuff->first;

	memset(first, 0, sizeof(int32) * ((Size) nleaders + 1));
	for (int i = 0; i < inbuff->n; i++)
		first[inbuff->leaders[i] + 1]++;
	for (int l = 0; l < nleaders; l++)
		first[l + 1] += first[l];
	for (int i = 0; i < inbuff->n; i++)
		inbuff->order[first[inbuff->leaders[i]]++] = i;
	for (int l = nleaders; l > 0; l--)
		first[l] = first[l - 1];
	first[0] = 0;
}

void
ecp_inbuff_assign(EcpBuild *build, EcpInBuff *inbuff)
{
	EcpLeaderTree *tree = build->tree;

	if (build->prep_same)
		tree_assign(tree, inbuff->vectors, inbuff->vec_bytes, inbuff->n,
					inbuff->leaders);
	else
	{
		char	   *block = palloc_extended(build->prep_bytes * ASSIGN_BLOCK + 64,
											MCXT_ALLOC_HUGE);

		for (int done = 0; done < inbuff->n; done += ASSIGN_BLOCK)
		{
			int			n = Min(ASSIGN_BLOCK, inbuff->n - done);

			for (int i = 0; i < n; i++)
			{
				EcpVector	vector;

				vector.elem = build->state.meta.ecpm_elem;
				vector.dims = build->state.meta.ecpm_dims;
				vector.data = inbuff->vectors + (Size) (done + i) * inbuff->vec_bytes;
				vector.detoasted = NULL;
				ecp_prepare(&build->state.meta, &vector,
							block + i * build->prep_bytes);
			}
			tree_assign(tree, block, build->prep_bytes, n,
						inbuff->leaders + done);
		}
		pfree(block);
	}

	inbuff_sort(inbuff, tree->n[0]);
	for (int l = 0; l < tree->n[0]; l++)
		build->counts[l] += inbuff->first[l + 1] - inbuff->first[l];
}
