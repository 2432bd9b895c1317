/*-------------------------------------------------------------------------
 *
 * ecp_leaders.c
 *	  The leaders of a build and the tree over them.
 *
 * The number of leaders follows from the number of rows and the rows that a
 * cluster should have.  With leaders = random, as in the paper, they are
 * rows of the sample.  With leaders = kmeans they are its centres: by one
 * run of k-means over the whole sample when they are few, else in two levels,
 * first about sqrt(C) groups of the sample, then leaders within each group in
 * proportion to its size, which takes a twentieth of the time and is nearly as
 * good on descriptors.  Where vectors are floats, two steps of k-means follow, in
 * which rows move between groups, too.
 *
 * The tree is built bottom up: the entries of a level are grouped around
 * fewer centres, chosen in the same way, until few enough remain for the
 * root.  Then all levels are put in tree order, and packed into panels.
 *
 * Called by ecp_build.c between the sample and the scan that assigns rows;
 * what it returns is frozen.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/compat.h"
#include "base/stop_point.h"
#include "base/team.h"
#include "commands/progress.h"
#include "common/hashfn.h"
#include "ecp/create/ecp_build.h"
#include "ecp/create/ecp_policy.h"
#include "ecp/define/ecp_define.h"
#include "ecp/math/ecp_math.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/shmem.h"
#include "utils/memutils.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

#define KMEANS_ITERATIONS	10

/*
 * Below these numbers of leaders, of bytes and of floats, one run of k-means
 * finds them all.
 */
#define FLAT_KMEANS_MAX		2000
#define FLAT_FLOATS_MAX		4000

/* Rows per centre from which the groups of two-level k-means are learnt. */
#define GROUP_SAMPLE_FACTOR 256

/* Steps at the end in which rows move between groups, too. */
#define REFINE_STEPS	2

/* Entries above which a node splits, if the user did not choose the levels. */
#define TREE_NODE_MAX		1024

/* Notify the user if memory limits the number of leaders. */
static void
leaders_notice(const EcpBuild *build, double rows, double leaders)
{
	double		mean = ceil(rows / leaders);
	double		factor = mean / build->state.meta.ecpm_leaf_target;

	if (factor < 1.5)
		return;
	ereport(NOTICE,
			(errmsg("leaders of index \"%s\" do not all fit into maintenance_work_mem",
					RelationGetRelationName(build->index)),
			 errdetail("Its clusters will have about %.0f rows instead of %u.",
					   mean, build->state.meta.ecpm_leaf_target),
			 errhint("Set maintenance_work_mem to at least %.0f MB.",
					 ceil(build->budget * factor / (1024 * 1024)))));
}

/* Progress of k-means over the sample, whose rows it counts as done by share. */
static void
leaders_step(void *arg, double share_done)
{
	const EcpSample *sample = arg;

	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
								 (int64) (sample->n * share_done));
	ECP_STOP_POINT("build-leaders");
}

static void
sample_rows(const EcpBuild *build, EcpSample *sample, EcpRows *rows)
{
	rows->step = leaders_step;
	rows->step_arg = sample;
	rows->elem = build->state.meta.ecpm_leader_elem;
	rows->dims = build->state.meta.ecpm_dims;
	rows->stride = sample->stride;
	rows->n = sample->n;
	rows->shuffled = true;
	rows->rows = sample->rows;
	rows->memory = &sample->memory;
}

/* ---- two-level k-means ---- */

static int
leaders_groups(int nleaders)
{
	return Max(2, (int) rint(sqrt(nleaders)));
}

/*
 * Put rows in the order of their groups, in place: row i goes to position
 * to[i], cycle by cycle.
 */
static void
rows_permute(const EcpRows *rows, int32 *to)
{
	char	   *all = rows->memory->address;
	Size		stride = rows->stride;
	char	   *moving = palloc(stride);
	char	   *tmp = palloc(stride);

	Assert(rows->rows == all);
	for (int i = 0; i < rows->n; i++)
	{
		int32		pos = to[i];

		if (pos == i)
			continue;
		memcpy(moving, all + i * stride, stride);
		while (pos != i)
		{
			char	   *row = all + pos * stride;
			int32		next = to[pos];

			memcpy(tmp, row, stride);
			memcpy(row, moving, stride);
			memcpy(moving, tmp, stride);
			to[pos] = pos;
			pos = next;
		}
		memcpy(all + i * stride, moving, stride);
		to[i] = i;
	}
	pfree(moving);
	pfree(tmp);
}

/*
 * Sort rows by nearest of k group centres; first receives where each group
 * begins (k + 1 entries).
 */
static void
rows_group(const EcpRows *rows, const EcpMemory *centres, int k,
		   int32 *first)
{
	int32	   *to = MemoryContextAllocHuge(CurrentMemoryContext,
											sizeof(int32) * (Size) rows->n);
	int32	   *order = MemoryContextAllocHuge(CurrentMemoryContext,
											   sizeof(int32) * (Size) rows->n);

	ecp_kmeans_nearest(rows->elem, rows->dims, centres->address,
					   ecp_vector_bytes(rows->elem, rows->dims), k,
					   rows->rows, rows->stride, rows->n, to, NULL);
	ecp_kmeans_group(to, rows->n, k, first, order);
	for (int i = 0; i < rows->n; i++)
		to[order[i]] = i;
	pfree(order);
	rows_permute(rows, to);
	pfree(to);
}

/*
 * Leaders within the groups of a sample.  The memory of a task begins with
 * ngroups + 1 numbers that say where each group begins, and as many that say
 * where its leaders go; then there are the numbers of leaders found, and of each
 * row the number of its leader within the group.
 */
typedef struct GroupsShape
{
	EcpElem		elem;
	int			dims;
	Size		stride;
	int			ngroups;
	int			iterations;
	uint64		seed;
} GroupsShape;

#define GROUPS_BYTES(ngroups, nrows) \
	(sizeof(int32) * (3 * ((Size) (ngroups) + 1) + (nrows)))

/* Each group has random numbers of its own, whichever process does it. */
static void
leaders_of_group(const GroupsShape *shape, int g, const char *rows,
				 int32 *groups, char *leaders)
{
	const int32 *first = groups;
	const int32 *begin = groups + shape->ngroups + 1;
	int32	   *found = groups + 2 * (shape->ngroups + 1);
	Size		vec_bytes = ecp_vector_bytes(shape->elem, shape->dims);
	EcpRows		group = {0};
	pg_prng_state prng;

	Assert(g >= 0 && g < shape->ngroups);
	CHECK_FOR_INTERRUPTS();
	pg_prng_seed(&prng, hash_bytes_uint32_extended(g, shape->seed));
	group.elem = shape->elem;
	group.dims = shape->dims;
	group.stride = shape->stride;
	group.n = first[g + 1] - first[g];
	group.shuffled = true;
	group.rows = rows + first[g] * shape->stride;
	found[g] = 0;
	if (group.n == 0)
		return;
	found[g] = ecp_kmeans(NULL, &group, begin[g + 1] - begin[g],
						  shape->iterations, &prng,
						  leaders + begin[g] * vec_bytes, NULL);
	ecp_kmeans_nearest(shape->elem, shape->dims, leaders + begin[g] * vec_bytes,
					   vec_bytes, found[g], group.rows, group.stride, group.n,
					   found + shape->ngroups + 1 + first[g], NULL);
}

void
ecp_leaders_groups_task(EcpTeam *team, const void *args, char **memories)
{
	const EcpBuild *build = ecp_build_team_build(team);
	int64		from;
	int64		upto;

	while (ecp_team_claim(team, &from, &upto))
		for (int64 g = from; g < upto; g++)
		{
			const int32 *first = (int32 *) memories[1];

			leaders_of_group(args, g, memories[0], (int32 *) memories[1],
							 memories[2]);
			ecp_build_state_progress(build, first[g + 1] - first[g],
									 first[g + 1]);
		}
}

/*
 * How many leaders each group gets, in proportion to its rows; no group with
 * rows is left without.  Returns their number.
 */
static int
groups_share(int nrows, int ngroups, int nleaders, const int32 *first,
			 int32 *begin)
{
	double		share = 0;		/* leaders that the groups so far deserve */
	int			before = 0;

	begin[0] = 0;
	for (int g = 0; g < ngroups; g++)
	{
		int			rows = first[g + 1] - first[g];
		int			upto;

		share += (double) nleaders * rows / nrows;
		upto = (int) rint(share);
		begin[g + 1] = begin[g] + Min(Max(upto - before, rows > 0), rows);
		before = upto;
	}
	return begin[ngroups];
}

/*
 * "leaders" has room for nleaders and one more per group.  The rows, which lie
 * in memory of their own, are sorted by group.
 */
static int
leaders_two_level(EcpBuild *build, const EcpRows *rows, int nleaders,
				  pg_prng_state *prng, EcpMemory *leaders)
{
	int			ngroups = leaders_groups(nleaders);
	Size		vec_bytes = ecp_vector_bytes(rows->elem, rows->dims);
	EcpRows		some = *rows;
	EcpMemory	centres;
	EcpMemory	groups;
	int32	   *first;
	int32	   *begin;
	int32	   *found;
	int32	   *nearest;
	int			n = 0;
	GroupsShape shape = {0};

	/* rows are in random order, so a prefix of them is a sample */
	Assert(rows->shuffled && rows->memory);
	some.step = NULL;
	some.n = Min(rows->n, ngroups * GROUP_SAMPLE_FACTOR);
	ecp_team_memory_alloc(&centres, build->team != NULL, ngroups * vec_bytes);
	ngroups = ecp_kmeans(build->team, &some, ngroups, KMEANS_ITERATIONS,
						 prng, centres.address, &centres);

	ecp_team_memory_alloc(&groups, build->team != NULL, GROUPS_BYTES(ngroups, rows->n));
	first = (int32 *) groups.address;
	begin = first + ngroups + 1;
	found = begin + ngroups + 1;
	nearest = found + ngroups + 1;
	rows_group(rows, &centres, ngroups, first);
	ecp_team_memory_free(&centres);
	(void) groups_share(rows->n, ngroups, nleaders, first, begin);

	shape.elem = rows->elem;
	shape.dims = rows->dims;
	shape.stride = rows->stride;
	shape.ngroups = ngroups;
	shape.iterations = KMEANS_ITERATIONS;
	shape.seed = (uint64) build->options.seed;
	if (build->team)
	{
		EcpMemory  *memories[] = {rows->memory, &groups, leaders};

		ecp_team_run(build->team, EcpTaskOf(ecp_leaders_groups_task), &shape, sizeof(shape),
					 ngroups, 1, memories, lengthof(memories));
	}
	else
		for (int g = 0; g < ngroups; g++)
		{
			leaders_of_group(&shape, g, rows->rows, first, leaders->address);
			ecp_build_state_progress(build, first[g + 1] - first[g],
									 first[g + 1]);
		}

	/* close the gaps that equal centres left */
	for (int g = 0; g < ngroups; g++)
	{
		memmove(leaders->address + n * vec_bytes,
				leaders->address + begin[g] * vec_bytes, found[g] * vec_bytes);
		for (int i = first[g]; i < first[g + 1]; i++)
			nearest[i] += n;
		n += found[g];
	}
	if (build->state.meta.ecpm_leader_elem != ECP_ELEM_UINT8)
		n = ecp_kmeans_refine(build->team, rows, n, REFINE_STEPS, nearest,
							  leaders->address, leaders);
	ecp_team_memory_free(&groups);
	return n;
}

/* ---- the tree ---- */

/* A level while the tree is built: entries in any order. */
typedef struct TreeLevel
{
	int			n;
	char	   *vectors;
	int32	   *parent;			/* entry of the next level */
	int32	   *position;		/* in tree order */
} TreeLevel;

/*
 * Group the entries of "level" around about k of their centres, which become
 * the entries of "next".
 */
static void
tree_group(EcpBuild *build, const EcpLeaderTree *tree, TreeLevel *level,
		   TreeLevel *next, int k, pg_prng_state *prng)
{
	EcpElem		elem = tree->elem;
	int			dims = tree->dims;
	Size		vec_bytes = tree->vec_bytes;
	int			iterations = build->options.leaders == ECP_LEADERS_RANDOM ?
		0 : KMEANS_ITERATIONS;
	EcpRows		rows = {0};

	next->vectors = palloc_extended(k * vec_bytes, MCXT_ALLOC_HUGE);
	rows.elem = elem;
	rows.dims = dims;
	rows.stride = vec_bytes;
	rows.n = level->n;
	rows.rows = level->vectors;
	next->n = ecp_kmeans(NULL, &rows, k, iterations, prng, next->vectors,
						 NULL);
	ecp_kmeans_nearest(elem, dims, next->vectors, vec_bytes, next->n,
					   level->vectors, vec_bytes, level->n, level->parent, NULL);
}

/*
 * Where the entries of a level go, given where their parents go: grouped by
 * parent, in their own order else.  first (of the parents' level) receives
 * where the children of each parent begin.
 */
static void
tree_place(TreeLevel *level, const TreeLevel *parents, int32 *first)
{
	int32	   *order = palloc_extended(sizeof(int32) * level->n, MCXT_ALLOC_HUGE);

	for (int i = 0; i < level->n; i++)
		level->position[i] = parents->position[level->parent[i]];
	ecp_kmeans_group(level->position, level->n, parents->n, first, order);
	for (int i = 0; i < level->n; i++)
		level->position[order[i]] = i;
	pfree(order);
}

/* Levels for a number of leaders, and the fan-out that follows. */
static int
tree_levels(const EcpBuild *build, int nleaders, int *fanout)
{
	int			node_max = ecp_geometry_node_slots_max(&build->state.node);
	int			flat_max = Min(ECP_FLAT_LEADERS_MAX, node_max);
	int			nlevels = build->options.levels;

	if (nlevels == 0)
	{
		nlevels = nleaders <= flat_max ? 1 : 2;
		while (nlevels < ECP_LEVELS_MAX &&
			   pow(nleaders, 1.0 / nlevels) > node_max / 2)
			nlevels++;
	}
	*fanout = Max(2, (int) ceil(pow(nleaders, 1.0 / nlevels)));
	return nlevels;
}

/* The targets by which maintenance keeps nodes as the build made them. */
static void
tree_node_targets(EcpBuild *build, int nlevels, int fanout)
{
	EcpMetaPageData *meta = &build->state.meta;
	uint32		node_max = ecp_geometry_node_slots_max(&build->state.node);

	if (nlevels == 1)
	{
		/* as it is for an empty index, unless one level was asked for */
		if (build->options.levels == 1)
			meta->ecpm_node_max = Min(node_max, Max(meta->ecpm_node_max,
													2 * (uint32) fanout));
		meta->ecpm_node_target = Max(meta->ecpm_node_max / 2, 1);
		return;
	}
	meta->ecpm_node_target = Min((uint32) fanout, Max(node_max / 2, 1));
	meta->ecpm_node_max = Min(node_max,
							  Max(4 * (uint32) fanout,
								  build->options.levels == 0 ? TREE_NODE_MAX : 16));
}

/*
 * Make the tree over n leaders, which are bytes if "scale" is given, which is
 * copied.
 */
static EcpLeaderTree *
tree_create(EcpBuild *build, const EcpByteScale *scale, char *leaders, int n,
			pg_prng_state *prng)
{
	EcpElem		elem = scale ? ECP_ELEM_UINT8 :
		build->state.meta.ecpm_leader_elem;
	int			dims = build->state.meta.ecpm_dims;
	MemoryContext ctx = AllocSetContextCreate(build->ctx, "ecp leaders",
											  ALLOCSET_DEFAULT_SIZES);
	EcpLeaderTree *tree = MemoryContextAllocZero(ctx, sizeof(EcpLeaderTree));
	TreeLevel	levels[ECP_LEVELS_MAX];
	int			fanout;
	int			top;

	Assert(n > 0);
	tree->ctx = ctx;
	tree->elem = elem;
	tree->dims = dims;
	tree->vec_bytes = ecp_vector_bytes(elem, dims);
	if (scale)
	{
		tree->scale = MemoryContextAlloc(ctx, ecp_byte_copy_size(dims));
		memcpy(tree->scale, scale, ecp_byte_copy_size(dims));
	}
	tree->nlevels = tree_levels(build, n, &fanout);
	tree_node_targets(build, tree->nlevels, fanout);
	top = tree->nlevels - 1;

	levels[0].n = n;
	levels[0].vectors = leaders;
	for (int l = 0; l <= top; l++)
	{
		levels[l].parent = palloc_extended(sizeof(int32) * levels[l].n,
										   MCXT_ALLOC_HUGE);
		levels[l].position = palloc_extended(sizeof(int32) * levels[l].n,
											 MCXT_ALLOC_HUGE);
		if (l < top)
			tree_group(build, tree, &levels[l], &levels[l + 1],
					   (int) ceil(levels[l].n / (double) fanout), prng);
	}

	for (int l = top; l >= 0; l--)
	{
		TreeLevel  *level = &levels[l];

		if (l == top)
			for (int i = 0; i < level->n; i++)
				level->position[i] = i;
		else
		{
			tree->first[l + 1] =
				MemoryContextAllocHuge(ctx, sizeof(int32) * (levels[l + 1].n + 1));
			tree_place(level, &levels[l + 1], tree->first[l + 1]);
		}

		tree->n[l] = level->n;
		tree->panel[l] =
			ecp_panel_init(MemoryContextAllocHuge(ctx,
												  ecp_panel_bytes(elem, dims, level->n)),
						   elem, ECP_METRIC_L2, dims, level->n);
		for (int i = 0; i < level->n; i++)
			ecp_panel_set(tree->panel[l], level->position[i],
						  level->vectors + i * tree->vec_bytes);
	}
	return tree;
}

/* ---- sharing ---- */

/* How a tree lies in shared memory; offsets count from its start. */
typedef struct TreeImage
{
	EcpElem		elem;
	int			dims;
	Size		vec_bytes;
	int			nlevels;
	int			n[ECP_LEVELS_MAX];
	Size		panel[ECP_LEVELS_MAX];
	Size		first[ECP_LEVELS_MAX];	/* 0 = none */
	Size		scale;			/* the same */
	Size		lists;			/* the same */
} TreeImage;

/* Lay out a tree; returns its bytes. */
static Size
tree_layout(const EcpLeaderTree *tree, TreeImage *image)
{
	Size		offset = TYPEALIGN(64, sizeof(TreeImage));

	memset(image, 0, sizeof(TreeImage));
	image->elem = tree->elem;
	image->dims = tree->dims;
	image->vec_bytes = tree->vec_bytes;
	image->nlevels = tree->nlevels;
	for (int l = 0; l < tree->nlevels; l++)
	{
		image->n[l] = tree->n[l];
		image->panel[l] = offset;
		offset = add_size(offset,
						  TYPEALIGN(64, ecp_panel_bytes(tree->elem, tree->dims,
														tree->n[l])));
		if (tree->first[l])
		{
			image->first[l] = offset;
			offset = add_size(offset,
							  TYPEALIGN(64, sizeof(int32) *
										((Size) tree->n[l] + 1)));
		}
	}
	if (tree->lists)
	{
		image->lists = offset;
		offset = add_size(offset,
						  TYPEALIGN(64, ecp_leader_lists_bytes(tree->elem, tree->dims,
															   tree->n[0])));
	}
	if (tree->scale)
	{
		image->scale = offset;
		offset = add_size(offset,
						  TYPEALIGN(64, ecp_byte_copy_size(tree->dims)));
	}
	return offset;
}

EcpLeaderTree *
ecp_leaders_attach(char *memory)
{
	const TreeImage *image = (TreeImage *) memory;
	EcpLeaderTree *tree = palloc0(sizeof(EcpLeaderTree));

	Assert(image->nlevels > 0 && image->nlevels <= ECP_LEVELS_MAX);
	tree->elem = image->elem;
	tree->dims = image->dims;
	tree->vec_bytes = image->vec_bytes;
	tree->nlevels = image->nlevels;
	for (int l = 0; l < tree->nlevels; l++)
	{
		tree->n[l] = image->n[l];
		tree->panel[l] = (EcpPanel *) (memory + image->panel[l]);
		if (image->first[l] > 0)
			tree->first[l] = (int32 *) (memory + image->first[l]);
	}
	if (image->lists > 0)
		tree->lists = (EcpLeaderLists *) (memory + image->lists);
	if (image->scale > 0)
		tree->scale = (EcpByteScale *) (memory + image->scale);
	return tree;
}

/* Move a tree to shared memory; returns it there. */
static EcpLeaderTree *
tree_share(EcpLeaderTree *tree, EcpMemory *shared)
{
	TreeImage	image;
	char	   *memory;

	ecp_team_memory_alloc(shared, true, tree_layout(tree, &image));
	memory = shared->address;
	*(TreeImage *) memory = image;
	for (int l = 0; l < tree->nlevels; l++)
	{
		memcpy(memory + image.panel[l], tree->panel[l],
			   ecp_panel_bytes(tree->elem, tree->dims, tree->n[l]) - 64);
		if (tree->first[l])
			memcpy(memory + image.first[l], tree->first[l],
				   sizeof(int32) * ((Size) tree->n[l] + 1));
	}
	if (tree->lists)
		memcpy(memory + image.lists, tree->lists,
			   ecp_leader_lists_bytes(tree->elem, tree->dims, tree->n[0]));
	if (tree->scale)
		memcpy(memory + image.scale, tree->scale, ecp_byte_copy_size(tree->dims));
	MemoryContextDelete(tree->ctx);
	return ecp_leaders_attach(memory);
}

/* Make the lists of the leaders of a tree, if they are of use and fit. */
static void
tree_make_lists(const EcpBuild *build, EcpLeaderTree *tree)
{
	int			n = tree->n[0];
	Size		bytes = ecp_build_state_lists_bytes(build, tree->elem, n);
	void	   *memory;

	if (bytes == 0)
		return;
	memory = MemoryContextAllocHuge(tree->ctx, bytes + 64);
	tree->lists = (EcpLeaderLists *) TYPEALIGN(64, memory);
	ecp_leader_lists_init(tree->lists, tree->elem, tree->dims, tree->panel[0], n);
}

/* ---- the leaders of a build ---- */

/* Do so many leaders come from one run of k-means? */
static bool
leaders_are_flat(const EcpBuild *build, double wanted)
{
	return wanted < (build->state.meta.ecpm_leader_elem == ECP_ELEM_UINT8 ?
					 FLAT_KMEANS_MAX : FLAT_FLOATS_MAX);
}

double
ecp_leaders_compared(const EcpBuild *build, double rows)
{
	double		n = ecp_build_state_sample_rows(build, rows);
	double		wanted = ecp_build_state_leaders(build, rows);
	double		groups = sqrt(wanted);

	if (build->options.leaders == ECP_LEADERS_RANDOM)
		return 0;
	n = Min(n, build->budget * ECP_SHARE_SAMPLE / EcpBuildPrepBytes(build));
	if (leaders_are_flat(build, wanted))
		return ecp_kmeans_compared(n, wanted, KMEANS_ITERATIONS);
	return ecp_kmeans_compared(Min(n, groups * GROUP_SAMPLE_FACTOR), groups,
							   KMEANS_ITERATIONS) +
		groups * ecp_kmeans_compared(n / groups, groups, KMEANS_ITERATIONS) +
		2 * n * groups;
}

/* Learn leaders from rows in random order, which they may leave in another. */
static int
leaders_learn(EcpBuild *build, const EcpRows *rows, int wanted,
			  pg_prng_state *prng, EcpMemory *leaders)
{
	if (leaders_are_flat(build, wanted))
		return ecp_kmeans(build->team, rows, wanted, KMEANS_ITERATIONS, prng,
						  leaders->address, leaders);
	return leaders_two_level(build, rows, wanted, prng, leaders);
}

/*
 * Learn leaders from bytes made of the sample; returns their number, or 0 if
 * bytes do not serve.
 */
static int
leaders_by_bytes(EcpBuild *build, const EcpByteScale *scale,
				 const EcpRows *rows, int wanted, pg_prng_state *prng,
				 EcpMemory *leaders)
{
	EcpRows		bytes;
	EcpMemory	memory;
	int			n;

	ecp_byte_copy_rows(scale, rows, &bytes, &memory);
	n = leaders_learn(build, &bytes, wanted, prng, leaders);
	if (!ecp_byte_copy_serves(&bytes, leaders->address, n))
		n = 0;
	ecp_team_memory_free(&memory);
	return n;
}

/*
 * ecp_leaders_choose
 *		Leaders, the tree over them and their lists, from the sample, whose
 *		rows are freed.
 *
 * The sample has at least one row.  A team finds the tree in shared memory,
 * build->memory.tree.
 */
EcpLeaderTree *
ecp_leaders_choose(EcpBuild *build, EcpSample *sample)
{
	MemoryContext workctx = AllocSetContextCreate(build->ctx,
												  "ecp leaders, temporary",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldctx = MemoryContextSwitchTo(workctx);
	int			wanted = (int) ecp_build_state_leaders(build, sample->table_rows);
	bool		random = build->options.leaders == ECP_LEADERS_RANDOM;
	EcpMemory	leaders;
	EcpRows		rows = {0};
	EcpByteScale *scale = NULL;
	int			n = 0;
	EcpLeaderTree *tree;
	pg_prng_state prng;

	Assert(build->tree == NULL);
	Assert(sample->n > 0);
	pg_prng_seed(&prng, (uint64) build->options.seed);
	leaders_notice(build, sample->table_rows, wanted);
	wanted = Min(wanted, sample->n);
	ecp_team_memory_alloc(&leaders, build->team != NULL,
						  mul_size(wanted + leaders_groups(wanted),
								   EcpBuildPrepBytes(build)));
	sample_rows(build, sample, &rows);
	ecp_build_state_total(sample->n);
	if (!random)
		scale = ecp_byte_copy_scale(&rows);
	if (scale)
		n = leaders_by_bytes(build, scale, &rows, wanted, &prng, &leaders);
	if (n == 0)
	{
		scale = NULL;
		if (random)
			n = ecp_kmeans(build->team, &rows, wanted, 0, &prng,
						   leaders.address, &leaders);
		else
			n = leaders_learn(build, &rows, wanted, &prng, &leaders);
	}
	ecp_team_memory_free(&sample->memory);
	sample->rows = NULL;
	sample->n = 0;

	tree = tree_create(build, scale, leaders.address, n, &prng);
	ecp_team_memory_free(&leaders);

	MemoryContextSwitchTo(build->ctx);
	MemoryContextDelete(workctx);
	tree_make_lists(build, tree);
	if (build->team)
		tree = tree_share(tree, &build->memory.tree);
	MemoryContextSwitchTo(oldctx);
	return tree;
}

EcpLeaderTree *
ecp_leaders_single(EcpBuild *build, const void *leader)
{
	MemoryContext workctx = AllocSetContextCreate(build->ctx,
												  "ecp leaders, temporary",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldctx = MemoryContextSwitchTo(workctx);
	EcpLeaderTree *tree;
	pg_prng_state prng;

	Assert(leader != NULL);
	Assert(build->tree == NULL);
	pg_prng_seed(&prng, (uint64) build->options.seed);
	tree = tree_create(build, NULL, unconstify(void *, leader), 1, &prng);
	MemoryContextSwitchTo(oldctx);
	MemoryContextDelete(workctx);
	return tree;
}
