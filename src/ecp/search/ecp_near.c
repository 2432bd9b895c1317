/*-------------------------------------------------------------------------
 *
 * ecp_near.c
 *	  SEARCH: the rows of a page compared with a query.
 *
 * What a comparison gives depends on what the index has of the rows' vectors:
 *
 *	 vectors		exact ranks, by one kernel call for neighbouring slots
 *	 PARTS			exact ranks of those rows whose upper part does not say that
 *					they are above a limit
 *	 nibbles		the same with estimates and lower bounds of ranks
 *	 codes			lower bounds of ranks
 *	 levels			higher ones, and estimates, for those rows with codes that may be
 *					near
 *	 vector part	exact ranks, page after page of that: whole vectors where they
 *					stand, those that span pages in a copy
 *
 * Searches, batches and the measurement of recall compare rows of an index here and
 * nowhere else; nothing here knows what a row is compared for.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/bits.h"
#include "ecp/page/ecp_page.h"
#include "ecp/search/ecp_probe.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/float.h"
#include "vector/vector_codes.h"
#include "vector/vector_distance.h"

/* Slots that are compared together although some are not wanted. */
#define NEAR_GROUP	16
#define NEAR_MASK	((UINT64CONST(1) << NEAR_GROUP) - 1)

/* Exact ranks of n slots from slot "from" on. */
static inline void
near_slots(const EcpPageQuery *query, const EcpEntryView *view,
		   const uint32 *const *factors, int from, int n, float8 *ranks)
{
	const EcpGeometry *geo = &query->state->leaf;

	if (geo->columns)
		ecp_query_rank_columns(query->exact,
							   (const uint8 *) view->codes + from * ECP_GROUP,
							   geo->slots, factors, n, ranks + from);
	else
		ecp_query_rank_rows(query->exact, view->codes + from * geo->code_bytes,
							geo->code_bytes, factors, n, ranks + from);
}

/* Is there a live one among the slots that are compared together? */
static inline bool
near_has_live(const uint64 *live, int slot)
{
	return (live[slot / 64] >> (slot % 64) & NEAR_MASK) != 0;
}

/*
 * Exact ranks: in groups as wide as a kernel's registers, without the groups that
 * have no live slot.
 */
static pg_noinline void
near_some(const EcpPageQuery *query, const EcpEntryView *view, const uint64 *live,
		  int n, float8 *ranks)
{
	const uint32 *factors[ECP_FACTORS_MAX] = {NULL};
	int			upto;

	for (int from = 0; from < n; from = upto + NEAR_GROUP)
	{
		for (upto = from; upto < n && near_has_live(live, upto);)
			upto += NEAR_GROUP;
		if (upto == from)
			continue;
		for (int f = 0; f < query->state->leaf.nfactors; f++)
			factors[f] = view->factors[f] + from;
		near_slots(query, view, factors, from, Min(upto, n) - from, ranks);
	}
}

/* Rows in PARTS. */
static const uint64 *
near_parts(const EcpPageQuery *query, const EcpEntryView *view, const uint64 *live,
		   int n, float8 limit, const EcpNear *near)
{
	const EcpGeometry *geo = &query->state->leaf;

	StaticAssertStmt(ECP_PASS_ROWS == 64, "rows of a word");
	for (int at = 0; at < n; at += 64)
	{
		uint64		word = live[at / 64] & EcpLowBits(n - at);

		/* the kernels begin with the first row that there is */
		int			skip = word == 0 ? 0 :
			pg_rightmost_one_pos64(word) / NEAR_GROUP * NEAR_GROUP;
		int			from = at + skip;
		const char *upper = view->codes + from * geo->code_bytes;
		const char *lower = view->lower + from * geo->lower_bytes;

		word >>= skip;
		if (query->nibbles)
		{
			EcpNibblesRows rows = {upper, geo->code_bytes, lower, geo->lower_bytes};

			word = ecp_nibbles_query_rank(query->nibbles, &rows, word, limit,
										  near->estimates + from, near->ranks + from);
		}
		else
			word = ecp_query_pass_parts(query->exact, (const uint8 *) upper,
										(const uint8 *) lower,
										geo->nfactors > 0 ? view->factors[0] + from : NULL,
										word, limit, near->ranks + from);
		near->words[at / 64] = word << skip;
	}
	return near->words;
}

/* Bounds from codes. */
static pg_noinline void
near_codes(const EcpPageQuery *query, const EcpEntryView *view, float4 leader_rank,
		   const uint64 *live, int n, EcpNear *near)
{
	near->factors = near->levels ? NULL : (const uint32 *const *) view->factors;
	near->margin = ecp_code_query_margin(query->codes, leader_rank);
	for (int from = 0; from < n; from += 64)
	{
		int			count = Min(n - from, 64);
		const uint32 *factors[ECP_CODE_FACTORS];

		if ((live[from / 64] & EcpLowBits(count)) == 0)
			continue;
		for (int f = 0; f < ECP_CODE_FACTORS; f++)
			factors[f] = view->factors[f] + from;
		ecp_code_query_bounds(query->codes, leader_rank, (const uint8 *) view->codes +
							  from * query->state->leaf.code_bytes, factors, count,
							  EcpNearBounds(near, from));
	}
}

/* Refine the bounds of slots from "from" on, where their levels begin. */
static inline void
near_refine(const EcpPageQuery *query, float4 leader_rank, const char *levels, int from,
			uint64 which, EcpNear *near)
{
	/* the bounds of a word are half as long as its room */
	float4	   *bounds = EcpNearBounds(near, from / 64 * 64) + from % 64;

	ecp_code_query_refine(query->codes, leader_rank, levels,
						  query->state->leaf.levels_bytes, which, bounds,
						  near->estimates + from);
}

const uint64 *
ecp_page_near(const EcpPageQuery *query, const EcpEntryView *view, float4 leader_rank,
			  const uint64 *live, int n, float8 limit, EcpNear *near)
{
	int			slot = 0;

	if (query->state->leaf.parts)
		return near_parts(query, view, live, n, limit, near);
	while (slot < n && query->codes == NULL && near_has_live(live, slot))
		slot += NEAR_GROUP;
	if (query->codes)
		near_codes(query, view, leader_rank, live, n, near);
	else if (slot >= n)
		near_slots(query, view, (const uint32 *const *) view->factors, 0, n,
				   near->ranks);
	else
		near_some(query, view, live, n, near->ranks);
	if (limit != get_float8_infinity())
	{
		for (int from = 0; from < n; from += 64)
			near->words[from / 64] = live[from / 64] &
				ecp_near_passed(query, near, from, Min(n - from, 64), limit);
		live = near->words;
	}
	for (int from = 0; query->codes && near->levels && from < n; from += 64)
		near_refine(query, leader_rank, near->levels +
					(Size) from * query->state->leaf.levels_bytes, from,
					live[from / 64] & EcpLowBits(n - from), near);
	return live;
}

/* Keep the live slots that are not above a query's limit, by their ranks. */
static void
near_pass(EcpPageQueries *queries, int q, const uint64 *live, int n)
{
	const EcpNear *near = &queries->near[q];

	for (int from = 0; from < n; from += 64)
		near->words[from / 64] = live[from / 64] &
			ecp_ranks_passed(near->ranks + from, Min(n - from, 64), queries->limits[q]);
}

void
ecp_page_near_queries(EcpPageQueries *queries, const EcpEntryView *view,
					  const uint64 *live, int n)
{
	const EcpGeometry *geo = &queries->state->leaf;

	for (int q = 0; q < queries->n && !geo->columns; q++)
	{
		EcpPageQuery query = {queries->state, queries->exact[q]};
		const uint64 *words = ecp_page_near(&query, view, 0, live, n,
											queries->limits[q], &queries->near[q]);

		if (words == live)
			memcpy(queries->near[q].words, live, sizeof(uint64) * geo->live_words);
	}
	for (int from = 0; from < n && geo->columns; from += ECP_PASS_ROWS)
	{
		const uint32 *factors[ECP_FACTORS_MAX] = {NULL};
		uint64		passed[ECP_PASS_QUERIES];
		float8	   *ranks[ECP_PASS_QUERIES];

		for (int f = 0; f < geo->nfactors; f++)
			factors[f] = view->factors[f] + from;
		for (int q = 0; q < queries->n; q++)
			ranks[q] = queries->near[q].ranks + from;
		ecp_queries_pass_columns(queries->exact, queries->n, queries->limits,
								 (const uint8 *) view->codes + from * ECP_GROUP, geo->slots,
								 factors, Min(n - from, ECP_PASS_ROWS), passed, ranks);
		for (int q = 0; q < queries->n; q++)
			queries->near[q].words[from / 64] = passed[q] & live[from / 64];
	}
}

/* ---- levels ---- */

/* The slot behind those whose levels are on one page with those of slot i. */
static inline int
levels_end(const EcpGeometry *geo, uint32 first, int i)
{
	return i + geo->levels_slots - (int) ((first + i) % geo->levels_slots);
}

/* The page with the levels of slot i, share-locked, and where they begin. */
static Buffer
levels_buffer(EcpProbe *probe, const EcpProbeRun *run, uint32 first, int i,
			  const char **levels)
{
	const EcpGeometry *geo = &probe->state->leaf;
	Page		page;
	Buffer		buffer = ecp_probe_buffer(probe, run, ECP_PAGE_VECTOR,
										  run->header.ecpr_entry_pages +
										  EcpLevelsPage(geo, first + i), &page);

	*levels = EcpPageGetStream(page) + EcpLevelsOffset(geo, first + i);
	return buffer;
}

/* The first slot from i on that is in the words, or n. */
static inline int
levels_next(const uint64 *words, int i, int n)
{
	for (; i < n; i = (i / 64 + 1) * 64)
	{
		uint64		word = words[i / 64] >> i % 64;

		if (word != 0)
			return Min(i + pg_rightmost_one_pos64(word), n);
	}
	return n;
}

void
ecp_levels_near(EcpProbe *probe, const EcpPageQuery *query, const EcpProbeRun *run,
				uint32 first, float4 leader_rank, const uint64 *words, int n,
				EcpNear *near)
{
	const EcpGeometry *geo = &probe->state->leaf;
	int			i = levels_next(words, 0, n);

	near->factors = NULL;
	while (i < n)
	{
		int			end = Min(levels_end(geo, first, i), n);
		const char *levels;
		Buffer		buffer = levels_buffer(probe, run, first, i, &levels);
		int			upto;

		for (int from = i; from < end; from = upto)
		{
			upto = Min((from / 64 + 1) * 64, end);
			near_refine(query, leader_rank, levels + (Size) (from - i) * geo->levels_bytes,
						from, words[from / 64] >> from % 64 & EcpLowBits(upto - from), near);
		}
		UnlockReleaseBuffer(buffer);
		i = levels_next(words, end, n);
	}
}

/* Pages without a live slot are skipped, as they may not be initialised. */
void
ecp_levels_copy(EcpProbe *probe, const EcpProbeRun *run, uint32 first,
				const uint64 *live, int n, char *levels)
{
	const EcpGeometry *geo = &probe->state->leaf;

	for (int i = levels_next(live, 0, n); i < n;)
	{
		int			end = Min(levels_end(geo, first, i), n);
		const char *stored;
		Buffer		buffer = levels_buffer(probe, run, first, i, &stored);

		memcpy(levels + (Size) i * geo->levels_bytes, stored,
			   (Size) (end - i) * geo->levels_bytes);
		UnlockReleaseBuffer(buffer);
		i = levels_next(live, end, n);
	}
}

/* ---- the vector part ---- */

EcpVectorPart *
ecp_vector_part_create(const EcpGeometry *geo)
{
	EcpVectorPart *part = palloc0(sizeof(EcpVectorPart));

	part->live = palloc(sizeof(uint64) * geo->live_words);
	part->tids = palloc(sizeof(ItemPointerData) * geo->slots);
	for (int f = 0; f < ECP_FACTORS_MAX; f++)
		part->factors[f] = palloc(sizeof(uint32) * geo->slots + ECP_KERNEL_SLACK);
	part->vector = palloc(geo->vec_bytes + ECP_KERNEL_SLACK);
	part->page = palloc(BLCKSZ + ECP_KERNEL_SLACK);
	return part;
}

void
ecp_vector_part_set(EcpVectorPart *part, const EcpGeometry *geo,
					const EcpEntryView *view, const uint64 *live, int n)
{
	memcpy(part->live, live, sizeof(uint64) * geo->live_words);
	memcpy(part->tids, view->tids, sizeof(ItemPointerData) * n);
	for (int f = 0; f < geo->nfactors && geo->quantizer == ECP_QUANTIZER_NONE; f++)
		memcpy(part->factors[f], view->factors[f], sizeof(uint32) * n);
}

/* Ranks of slots i .. i + n - 1 of a page, whose vectors follow each other. */
static void
part_vectors(const EcpPageQueries *queries, const EcpVectorPart *part, int i,
			 const char *vectors, int n)
{
	const EcpGeometry *geo = &queries->state->leaf;
	const EcpMetaPageData *meta = &queries->state->meta;
	uint32	   *factors[ECP_FACTORS_MAX];
	bool		coded = geo->quantizer != ECP_QUANTIZER_NONE;

	for (int f = 0; f < ECP_FACTORS_MAX; f++)
		factors[f] = coded || f < geo->nfactors ? part->factors[f] + i : NULL;
	/* the entries of rows with codes have the factors of these */
	for (int row = 0; coded && row < n; row++)
	{
		uint32		computed[ECP_FACTORS_MAX];

		ecp_factors_compute(meta->ecpm_elem, meta->ecpm_metric, meta->ecpm_dims,
							vectors + row * geo->vec_bytes, computed);
		for (int f = 0; f < ECP_FACTORS_MAX; f++)
			factors[f][row] = computed[f];
	}
	for (int q = 0; q < queries->n; q++)
		ecp_query_rank_rows(queries->exact[q], vectors, geo->vec_bytes,
							(const uint32 *const *) factors, n, &queries->near[q].ranks[i]);
}

/*
 * Rank what one page of the vector part holds, from slot i on: "offset" is where its
 * vector begins or, if "copied" bytes of it are in part->vector already, continues.
 * Returns the next slot to rank; *copied is what was copied of its vector.
 */
static int
part_page(const EcpPageQueries *queries, const EcpVectorPart *part, const char *payload,
		  uint32 offset, int i, int n, uint32 *copied)
{
	uint32		vec_bytes = queries->state->leaf.vec_bytes;
	int			whole;

	Assert(offset < ECP_PAYLOAD_BYTES && *copied < vec_bytes);
	Assert(i < n);

	if (*copied > 0)
	{
		uint32		bytes = Min(vec_bytes - *copied, ECP_PAYLOAD_BYTES - offset);

		memcpy(part->vector + *copied, payload + offset, bytes);
		*copied += bytes;
		offset += bytes;
		if (*copied < vec_bytes)
			return i;
		part_vectors(queries, part, i, part->vector, 1);
		*copied = 0;
		i++;
	}

	whole = Min((int) ((ECP_PAYLOAD_BYTES - offset) / vec_bytes), n - i);
	if (whole > 0)
		part_vectors(queries, part, i, payload + offset, whole);
	i += whole;
	offset += whole * vec_bytes;

	/* one that continues on the next page */
	if (i < n && offset < ECP_PAYLOAD_BYTES)
	{
		*copied = ECP_PAYLOAD_BYTES - offset;
		memcpy(part->vector, payload + offset, *copied);
	}
	return i;
}

/*
 * Pages without a live vector are skipped, as they may not be initialised.
 */
void
ecp_vector_part_near(EcpProbe *probe, EcpPageQueries *queries,
					 const EcpVectorPart *whole, const EcpProbeRun *run,
					 uint32 first, int from, int n)
{
	const EcpGeometry *geo = &queries->state->leaf;
	EcpVectorPart part = *whole;
	int			i = 0;
	uint32		copied = 0;

	Assert(geo->stream && queries->n > 0 && from % 64 == 0);
	part.live += from / 64;
	for (int f = 0; f < ECP_FACTORS_MAX; f++)
		part.factors[f] += from;
	while (i < n)
	{
		uint32		pageno;
		uint32		offset;
		Buffer		buffer;
		Page		page;

		if ((part.live[i / 64] & (UINT64CONST(1) << (i % 64))) == 0)
		{
			copied = 0;
			i++;
			continue;
		}

		CHECK_FOR_INTERRUPTS();
		ecp_geometry_stream_position(geo, EcpRunVectorPage(geo, &run->header),
									 first + from + i,
									 &pageno, &offset);
		pageno += (offset + copied) / ECP_PAYLOAD_BYTES;
		offset = (offset + copied) % ECP_PAYLOAD_BYTES;
		buffer = ecp_probe_buffer(probe, run, ECP_PAGE_VECTOR, pageno, &page);
		if (queries->n == 1)
			i = part_page(queries, &part, EcpPageGetStream(page), offset, i, n, &copied);
		else
			memcpy(part.page, page, BLCKSZ);
		UnlockReleaseBuffer(buffer);
		/* not for so long under a lock */
		if (queries->n > 1)
			i = part_page(queries, &part, EcpPageGetStream(part.page), offset, i, n,
						  &copied);
	}
	for (int q = 0; q < queries->n; q++)
		near_pass(queries, q, part.live, n);
}
