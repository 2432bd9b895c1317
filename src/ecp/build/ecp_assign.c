/*-------------------------------------------------------------------------
 *
 * ecp_assign.c
 *	  Which cluster a row belongs to.
 *
 * A row belongs to the leader that is nearest to it in squared Euclidean
 * distance, between prepared vectors (ecp_prepare.c).
 *
 * A build assigns an in-buff at a time.  A row is compared with all leaders
 * if they are few; up to ECP_FLAT_LEADERS_MAX of them with those on a
 * list (ecp_leader_lists.c), or all if there is no memory for lists; above, a row
 * descends the tree of leaders, at each level into the ECP_ASSIGN_BEAM nodes
 * nearest to it (a single path would put four rows out of ten into a wrong
 * cluster).
 *
 * Called by ecp_build.c when the in-buff is full, after ecp_leaders.c has
 * frozen the tree; the policy keeps the result.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/build/ecp_build.h"
#include "ecp/cluster/ecp_byte_copy.h"
#include "ecp/cluster/ecp_kmeans.h"
#include "ecp/cluster/ecp_leader_lists.h"
#include "ecp/page/ecp_meta.h"
#include "ecp/page/ecp_prepare.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/*
 * Rows that are prepared and assigned at a time: with leader lists so many
 * that each list gets some, within a share of memory where they are copied.
 */
#define ASSIGN_BLOCK		512
#define ASSIGN_LISTED		8192
#define ASSIGN_SHARE		0.015

/* ---- the in-buff ---- */

/* Bytes of a row in the in-buff. */
Size
ecp_inbuff_row_bytes(const EcpBuild *build)
{
	return add_size(build->vec_bytes,
					sizeof(ItemPointerData) + 2 * sizeof(int32));
}

int
ecp_inbuff_rows(const EcpBuild *build)
{
	Size		bytes = Min(build->in_buff, build->budget * ECP_SHARE_IN_BUFF);
	Size		rows = bytes / build->nparticipants /
		ecp_inbuff_row_bytes(build);

	return Min(Max(rows, 1), PG_INT32_MAX / 2);
}

/* Find the parts of an in-buff in its memory; returns its size. */
static Size
inbuff_layout(const EcpBuild *build, char *memory, EcpInBuff *inbuff)
{
	Size		max = build->inbuff_max;
	Size		offset = MAXALIGN(sizeof(int32));

	inbuff->max = max;
	inbuff->n = 0;
	inbuff->vec_bytes = build->vec_bytes;
	inbuff->left = (int32 *) memory;
	inbuff->tids = (ItemPointerData *) (memory + offset);
	offset = add_size(offset, MAXALIGN(mul_size(sizeof(ItemPointerData), max)));
	inbuff->leaders = (int32 *) (memory + offset);
	offset = add_size(offset, MAXALIGN(mul_size(sizeof(int32), max)));
	inbuff->order = (int32 *) (memory + offset);
	offset = add_size(offset, MAXALIGN(mul_size(sizeof(int32), max)));
	inbuff->first = (int32 *) (memory + offset);
	offset = add_size(offset, MAXALIGN(mul_size(sizeof(int32),
												build->tree->n[0] + 1)));
	/* kernels may read 63 bytes behind the last row */
	offset = TYPEALIGN(64, offset);
	inbuff->vectors = memory + offset;
	return add_size(offset,
					TYPEALIGN(64, add_size(mul_size(inbuff->vec_bytes, max),
										   64)));
}

Size
ecp_inbuff_bytes(const EcpBuild *build)
{
	EcpInBuff	inbuff;

	return inbuff_layout(build, NULL, &inbuff);
}

void
ecp_inbuff_map(const EcpBuild *build, int participant, char *memory,
			   EcpInBuff *inbuff)
{
	(void) inbuff_layout(build,
						 memory + participant * ecp_inbuff_bytes(build),
						 inbuff);
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

	if (tree->lists)
	{
		ecp_leader_lists_nearest(tree->lists, rows, stride, n, leaders);
		return;
	}
	if (tree->nlevels == 1 || tree->n[0] <= ECP_FLAT_LEADERS_MAX)
	{
		ecp_kmeans_assign(tree->panel[0], tree->n[0], tree->dims, rows, stride, n,
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

/* Of two rows of the in-buff, that with the lower TID first. */
static int
inbuff_tid_cmp(const void *a, const void *b, void *arg)
{
	ItemPointerData *tids = arg;

	return ItemPointerCompare(&tids[*(const int32 *) a],
							  &tids[*(const int32 *) b]);
}

/*
 * Rows by leader, and by TID within a leader.  A scan comes upon them in that
 * order, but for the members of HOT chains, which have the TID of the root.
 */
static void
inbuff_sort(EcpInBuff *inbuff, int nleaders)
{
	int32	   *first = inbuff->first;
	int32	   *order = inbuff->order;

	memset(first, 0, sizeof(int32) * ((Size) nleaders + 1));
	for (int i = 0; i < inbuff->n; i++)
		first[inbuff->leaders[i] + 1]++;
	for (int l = 0; l < nleaders; l++)
		first[l + 1] += first[l];
	for (int i = 0; i < inbuff->n; i++)
		order[first[inbuff->leaders[i]]++] = i;
	for (int l = nleaders; l > 0; l--)
		first[l] = first[l - 1];
	first[0] = 0;

	for (int l = 0; l < nleaders; l++)
		for (int i = first[l] + 1; i < first[l + 1]; i++)
			if (inbuff_tid_cmp(&order[i - 1], &order[i], inbuff->tids) > 0)
			{
				qsort_arg(order + first[l], first[l + 1] - first[l],
						  sizeof(int32), inbuff_tid_cmp, inbuff->tids);
				break;
			}
}

/* A row of the in-buff in the form in which it is compared with leaders. */
static void
assign_prepare(EcpBuild *build, const EcpLeaderTree *tree, const char *row,
			   char *dst)
{
	const void *prepared = row;

	if (!build->prep_same)
	{
		EcpVector	vector;

		vector.elem = build->state.meta.ecpm_elem;
		vector.dims = build->state.meta.ecpm_dims;
		vector.data = row;
		vector.detoasted = NULL;
		prepared = tree->scale ? build->prepared : dst;
		ecp_prepare(&build->state.meta, &vector,
					unconstify(void *, prepared));
	}
	if (tree->scale)
		ecp_byte_copy_put(tree->scale, prepared, (uint8 *) dst);
}

void
ecp_inbuff_assign(EcpBuild *build, EcpInBuff *inbuff)
{
	EcpLeaderTree *tree = build->tree;
	bool		copied = !build->prep_same || tree->scale;
	int			step = tree->lists ? ASSIGN_LISTED : ASSIGN_BLOCK;
	char	   *block = NULL;
	uint64	   *counts;

	if (copied && tree->lists)
		step = Min(step, Max(build->budget * ASSIGN_SHARE / build->nparticipants /
							 tree->vec_bytes, ASSIGN_BLOCK));
	step = ecp_readahead_rows(build, step);
	if (copied)
		block = palloc_extended(tree->vec_bytes * step + 64, MCXT_ALLOC_HUGE);
	for (int done = 0; done < inbuff->n; done += step)
	{
		const char *rows = inbuff->vectors + (Size) done * inbuff->vec_bytes;
		int			n = Min(step, inbuff->n - done);

		ecp_readahead_step(build, done);
		for (int i = 0; block && i < n; i++)
			assign_prepare(build, tree, rows + (Size) i * inbuff->vec_bytes,
						   block + i * tree->vec_bytes);
		tree_assign(tree, block ? block : rows,
					block ? tree->vec_bytes : inbuff->vec_bytes, n,
					inbuff->leaders + done);
	}
	if (block)
		pfree(block);

	inbuff_sort(inbuff, tree->n[0]);
	counts = build->part_counts + (Size) build->participant * tree->n[0];
	for (int l = 0; l < tree->n[0]; l++)
		counts[l] += inbuff->first[l + 1] - inbuff->first[l];
}
