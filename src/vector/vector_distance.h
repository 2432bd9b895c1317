/*-------------------------------------------------------------------------
 *
 * vector_distance.h
 *	  How far apart two vectors are: the public face of the kernels.
 *
 * A *rank* is a number that orders rows as the metric does and is cheap:
 * the squared distance for L2, the negative inner product for IP, 1 - cos
 * for cosine, and the number of bits that differ for Hamming; for L1 and Jaccard it
 * is the distance.  ecp_rank_distance() turns it into what the SQL operator returns.  Ranks are
 * float8: for uint8 elements they are exact integers (L2, IP) for every number
 * of dimensions that we allow.
 *
 * The same kernels serve the SQL operators, the index build and the search,
 * in every instruction set with the same answer to the last bit: uint8 and
 * bits are integer arithmetic; float32 sums in 16 lanes (lane i takes the elements
 * i, i + 16, ...; fused multiply-add) that are added pairwise in one fixed
 * order.  float16 rows give what the same elements as float32 give.
 *
 * Rows come in three arrangements.  ROWS: one vector after the other, "stride"
 * bytes apart.  COLUMNS (uint8 only): groups of four elements, for each group
 * the four bytes of slot 0, of slot 1, ... of slot nslots - 1; dims is padded
 * with zeros to a multiple of four.  COLUMNS needs no horizontal sums.  PARTS
 * (uint8 and L2 only): the upper four bits of all elements of a row, row after
 * row, and elsewhere the lower ones.  With n bytes for either half of a row, byte i
 * has those of element i in its lower bits and those of element i + n in its upper
 * ones, and zeros for what there is not.  The upper parts and a factor of the row
 * tell of most rows that they are beyond a limit (vector_parts.c).  Rows of four bits
 * an element are in PARTS of their own: vector_codes.h.
 *
 * Factors are 4-byte constants a row that the kernels would otherwise have
 * to compute on the way: ecp_factors_count() of them, computed once by
 * ecp_factors_compute() when the row is stored, kept as one array a factor.
 *	  uint8:   L2 {|x|^2 - 256 sum(x)}, IP {128 sum(x)},
 *			   cosine {128 sum(x), |x|^2}, all int32
 *			   (PARTS {ecp_parts_factor()})
 *	  float32, float16: L2 none, IP none, L1 none, cosine {|x|^2 as float4}
 *	  bit:	   none
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_DISTANCE_H
#define VECTOR_DISTANCE_H

#include "vector/vector_value.h"

#define ECP_FACTORS_MAX		2

/* uint8 elements of a group of COLUMNS, which one 4-byte lane takes at once. */
#define ECP_GROUP			4

/* Leaders of a panel's block: the 4-byte lanes of the widest register. */
#define ECP_PANEL_BLOCK		16

/* Bytes that kernels may read behind the last row. */
#define ECP_KERNEL_SLACK	64

/* Chooses the best kernels for this CPU; called by _PG_init. */
extern void ecp_kernels_init(void);

/* Defines the setting ecp.kernels; called by _PG_init. */
extern void ecp_kernels_options_init(void);

/* Kernels by name, or the best ones by "auto"; false if this CPU has them not. */
extern bool ecp_kernels_available(const char *name);
extern bool ecp_kernels_select(const char *name);

/*
 * Name of the chosen instruction set: "scalar", "avx2", "avx512", "neon", or
 * "dotprod" (NEON with products of bytes).
 */
extern const char *ecp_kernels_name(void);

extern int	ecp_factors_count(EcpElem elem, EcpMetric metric);
extern void ecp_factors_compute(EcpElem elem, EcpMetric metric, int dims,
								const void *row, uint32 *factors);

/*
 * One query vector, prepared for many rows of element kind "rows".  The elements
 * are copied; they are of the kind that ecp_elem_for_query() says.  palloc'd in
 * one chunk in the current memory context; free with pfree().
 */
typedef struct EcpQuery EcpQuery;

extern EcpQuery *ecp_query_create(EcpElem rows, EcpMetric metric, int dims,
								  const void *elements);

/*
 * Ranks of n rows.  factors[f] is the array of factor f (NULL if there are
 * none).  The kernels survive any bytes (slots that another process is filling
 * are computed too, and their ranks ignored) and may read ECP_KERNEL_SLACK
 * bytes behind the last row: the caller's buffer must have them.
 */
extern void ecp_query_rank_rows(const EcpQuery *query, const void *rows,
								Size stride, const uint32 *const *factors,
								int n, float8 *ranks);
extern void ecp_query_rank_columns(const EcpQuery *query,
								   const uint8 *columns, int nslots,
								   const uint32 *const *factors,
								   int n, float8 *ranks);

/*
 * The same for at most ECP_PASS_QUERIES queries and ECP_PASS_ROWS rows, where only
 * small ranks are of use: bit i of passed[q] says that the rank of row i for
 * query q is not above limits[q]; such ranks are ranks[q][i].  The bytes of a row are
 * read once for all.
 */
#define ECP_PASS_ROWS		64
#define ECP_PASS_QUERIES	4

extern void ecp_queries_pass_columns(const EcpQuery *const *queries,
									 int nqueries, const float8 *limits,
									 const uint8 *columns, int nslots,
									 const uint32 *const *factors, int n,
									 uint64 *passed, float8 *const *ranks);

/*
 * Which of n <= 64 ranks, or bounds of ranks, are not above a limit, NaN included:
 * bit i is for the i-th.  Of bounds, some next to the limit may be among them that are
 * above it.  Reads a multiple of 16 of them.
 */
extern uint64 ecp_ranks_passed(const float8 *ranks, int n, float8 limit);
extern uint64 ecp_bounds_passed(const float4 *bounds, int n, float8 limit);

/* Put one uint8 row into, or take it out of, slot "slot" of COLUMNS. */
extern void ecp_columns_put(uint8 *columns, int nslots, int slot, int dims,
							const uint8 *row);
extern void ecp_columns_get(const uint8 *columns, int nslots, int slot,
							int dims, uint8 *row);

/* Elements of rows in PARTS, and bytes of either half of a row. */
#define ECP_PARTS_DIMS_MIN	64
#define ECP_PARTS_DIMS_MAX	255
#define EcpPartsBytes(dims)	(((dims) + 7) / 8 * 4)

/* Can such rows be in PARTS? */
static inline bool
ecp_parts_fit(EcpElem elem, EcpMetric metric, int dims)
{
	return elem == ECP_ELEM_UINT8 && metric == ECP_METRIC_L2 &&
		dims >= ECP_PARTS_DIMS_MIN && dims <= ECP_PARTS_DIMS_MAX;
}

/*
 * Returns those of at most ECP_PASS_ROWS rows in PARTS, given by the bits of "rows",
 * whose ranks are not above the limit, and sets their ranks.  The query is of L2, or
 * rows are of four bits an element: then some are above the limit, and a few that
 * are not are missing, see ecp_nibbles_query_rank().
 */
extern uint64 ecp_query_pass_parts(const EcpQuery *query, const uint8 *upper,
								   const uint8 *lower, const uint32 *factor,
								   uint64 rows, float8 limit, float8 *ranks);

/* Put a row into, or take it out of, slot "slot" of PARTS. */
extern void ecp_parts_put(uint8 *upper, uint8 *lower, int slot, int dims,
						  const uint8 *row);
extern void ecp_parts_get(const uint8 *upper, const uint8 *lower, int slot,
						  int dims, uint8 *row);
extern uint32 ecp_parts_factor(int dims, const uint8 *row);

/*
 * What the squared distance of the uint8 vectors is that ecp_vector_convert()
 * makes of two bit strings, for each bit in which they differ.
 */
#define ECP_BIT_L2		(255 * 255)

/* Add the elements of some rows to sums, one row after the other. */
extern void ecp_add_bytes(const uint8 *const *rows, int nrows, int dims,
						  uint32 *sums);
extern void ecp_add_floats(const float4 *const *rows, int nrows, int dims,
						   float8 *sums);

/*
 * (vector - lows) * scale, truncated; values out of uint8's range become 0 or
 * 255.
 */
extern void ecp_floats_to_bytes(const float4 *vector, const float4 *lows,
								float4 scale, int dims, uint8 *bytes);

/*
 * float16 elements as float32; and the reverse: to the nearest, of two the even
 * one, and to infinity from 65520 on.
 */
extern void ecp_halves_to_floats(const uint16 *halves, int dims,
								 float4 *floats);
extern void ecp_floats_to_halves(const float4 *floats, int dims,
								 uint16 *halves);

/*
 * Scale a vector to unit length; false, without a change, if it is zero.
 */
extern bool ecp_unit_length(float4 *vector, int dims);

/* From rank to what the SQL operator returns (sqrt for L2). */
extern float8 ecp_rank_distance(EcpMetric metric, float8 rank);

/*
 * Distance of two vectors, as the SQL operators return it; not of float16, which
 * no operator has.
 */
extern float8 ecp_distance(EcpElem elem, EcpMetric metric, int dims,
						   const void *a, const void *b);

/*
 * A panel: leaders packed for fast comparison with many vectors (blocks of
 * ECP_PANEL_BLOCK leaders, COLUMNS within the block: one load serves them all).
 *
 * The metric of a panel is L2 or IP.  Elements are uint8 or float32.
 * ecp_panel_bytes() says how much memory the panel takes in all; the caller
 * provides it (palloc'd, shared memory), 64-byte alignment is made inside.
 */
typedef struct EcpPanel EcpPanel;

extern Size ecp_panel_bytes(EcpElem elem, int dims, int capacity);
extern EcpPanel *ecp_panel_init(void *memory, EcpElem elem, EcpMetric metric,
								int dims, int capacity);
extern void ecp_panel_set(EcpPanel *panel, int i, const void *leader);
extern void ecp_panel_get(const EcpPanel *panel, int i, void *leader);

/*
 * Ranks (as float4, exact enough to choose clusters by) of leaders
 * first .. first + n - 1 against one vector of the panel's element kind.
 * "first" is a multiple of ECP_PANEL_BLOCK.  Ranks too large for a float are in
 * order, and finite.
 */
extern void ecp_panel_rank(const EcpPanel *panel, const void *vector,
						   int first, int n, float4 *ranks);

/*
 * Float32 leaders as bytes, for searches: a quarter of the memory to read.  Each element
 * has a range of its own, from the least to the largest of the leaders', in 255 steps,
 * and ranks are those of the leaders so rounded: off by about a thousandth.  Palloc'd in
 * one chunk; NULL if ranges are too wide for that.  Leaders are "stride" bytes apart.
 */
typedef struct EcpBytePanel EcpBytePanel;

extern EcpBytePanel *ecp_byte_panel_create(int dims, int n, const char *leaders,
										   Size stride);

/* By how much ranks by L2 are off where they are low, in the mean of a sample. */
extern float8 ecp_byte_panel_error(const EcpBytePanel *panel, int n, const char *leaders,
								   Size stride);

/*
 * As ecp_panel_rank() with a panel of IP, or, for any other metric, of L2; ranks too large
 * are the largest.
 */
extern void ecp_byte_panel_rank(const EcpBytePanel *panel, EcpMetric metric,
								const float4 *vector, int first, int n,
								float4 *ranks);

/*
 * For each of nvectors vectors ("stride" bytes apart) its nearest leader among
 * first .. first + n - 1 (equal ranks: the lower number; "first" is a multiple of
 * ECP_PANEL_BLOCK) and that rank: the
 * squared distance for L2.  Blocked: several vectors against a block of
 * leaders held in cache.  This is where a build spends its CPU time.
 */
extern void ecp_panel_nearest(const EcpPanel *panel, int first, int n,
							  const void *vectors, Size stride, int nvectors,
							  int32 *leaders, float4 *ranks);

#endif							/* VECTOR_DISTANCE_H */
