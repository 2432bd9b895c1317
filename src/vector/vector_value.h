/*-------------------------------------------------------------------------
 *
 * vector_value.h
 *	  What a vector column holds: element kind, dimensions, elements.
 *
 * There is no vector type of our own.  A vector is a one-dimensional real[] or
 * double precision[] without NULLs (float32 elements), a bytea (uint8 elements,
 * one byte each), a bit string (elements of one bit), or of pgvector's type
 * vector or halfvec.  Every access to a column's Datum goes through this file, so that
 * nothing above it is written once per type.
 *
 *-------------------------------------------------------------------------
 */
#ifndef VECTOR_VALUE_H
#define VECTOR_VALUE_H

/* Written to disk (ecp's metapage): never renumber. */
typedef enum EcpElem
{
	ECP_ELEM_UINT8 = 1,
	ECP_ELEM_FLOAT32 = 2,
	ECP_ELEM_BIT = 3,			/* eight in a byte, the first is its highest */
	/* only of stored rows: columns are not read so */
	ECP_ELEM_FLOAT16 = 4,
	ECP_ELEM_NIBBLES = 5		/* four bits each; see vector_codes.h */
} EcpElem;

/*
 * How a column's type stores its elements.  Those of a halfvec and of a double
 * precision[] become float32 when they are read.  A half loses nothing by it, a
 * double is rounded, by the operators, too.
 *
 * Written to disk (ecp's metapage): never renumber.
 */
typedef enum EcpColumnType
{
	ECP_COLUMN_BYTEA = 1,
	ECP_COLUMN_ARRAY = 2,		/* real[] */
	ECP_COLUMN_VECTOR = 3,		/* pgvector's, by the bridging extension */
	ECP_COLUMN_HALFVEC = 4,
	ECP_COLUMN_BIT = 5,			/* bit(n) */
	ECP_COLUMN_DOUBLES = 6		/* double precision[] */
} EcpColumnType;

/* Written to disk (ecp's metapage): never renumber. */
typedef enum EcpMetric
{
	ECP_METRIC_L2 = 1,
	ECP_METRIC_IP = 2,			/* negative inner product */
	ECP_METRIC_COSINE = 3,		/* 1 - cosine similarity */
	ECP_METRIC_HAMMING = 4,		/* bits that differ; of bits only */
	ECP_METRIC_L1 = 5,			/* sum of absolute differences; of floats only */
	ECP_METRIC_JACCARD = 6		/* 1 - bits in both / bits in either; of bits
								 * only */
} EcpMetric;

#define ECP_DIMS_MAX	16000

/*
 * A vector taken from a Datum.  "data" points to "dims" elements; it may
 * point into "detoasted", which ecp_vector_release() frees if it is not the
 * Datum's own memory.
 */
typedef struct EcpVector
{
	EcpElem		elem;
	int			dims;
	const void *data;
	void	   *detoasted;		/* memory to free, or NULL */
	bool		plain;			/* ecp_vector_make() gives the same value */
} EcpVector;

extern const char *ecp_elem_name(EcpElem elem);

/* The kind of elements that the leaders of such rows have. */
extern EcpElem ecp_elem_for_leaders(EcpElem elem, EcpMetric metric);

/* The kind of elements of a query that is compared with such rows. */
extern EcpElem ecp_elem_for_query(EcpElem elem);

/* Bytes of the elements of a vector; bits behind the last one are zero. */
extern Size ecp_vector_bytes(EcpElem elem, int dims);

/* The kind of elements that vectors of this column type are read as. */
extern EcpElem ecp_column_type_elem(EcpColumnType type);

/*
 * Take the vector out of "value".  Raises an error when an array has more than
 * one dimension (ERRCODE_ARRAY_SUBSCRIPT_ERROR) or NULL elements
 * (ERRCODE_NULL_VALUE_NOT_ALLOWED), when there are no elements
 * (ERRCODE_DATA_EXCEPTION) or more than ECP_DIMS_MAX
 * (ERRCODE_PROGRAM_LIMIT_EXCEEDED), or when one is NaN or infinite
 * (ERRCODE_DATA_EXCEPTION) or too large for a float32
 * (ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE).
 */
extern void ecp_vector_read(Datum value, EcpColumnType type, EcpVector *vector);
extern void ecp_vector_release(EcpVector *vector);

/*
 * The reverse: a palloc'd Datum of the column's type with these elements,
 * which came out of such a Datum.
 */
extern Datum ecp_vector_make(EcpColumnType type, int dims, const void *data);

/*
 * Write the elements as another kind to "dst": as the same, or as the one that
 * queries or leaders have; bits become 0 and 255.
 */
extern void ecp_vector_convert(const EcpVector *vector, EcpElem elem,
							   void *dst);

/*
 * Write float32 elements as float16 to "dst", rounded to the nearest.  If "scaled",
 * a power of two brings the largest one near to the end of float16's range, so
 * that only elements which are much smaller lose digits to its least exponent;
 * otherwise an element above ECP_HALF_MAX in magnitude is an error
 * (ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE).
 */
#define ECP_HALF_MAX	65504

extern void ecp_vector_halve(const EcpVector *vector, bool scaled,
							 uint16 *dst);

/* What stored elements have that they cannot have, for a message; or NULL. */
extern const char *ecp_elements_fault(EcpElem elem, int dims,
									  const void *elements);

/* Can a value that is not toasted be read as a vector with that number of dimensions? */
extern bool ecp_vector_is_readable(Datum value, EcpColumnType type, int dims);

/* Error of a vector of the wrong length, naming both lengths. */
extern void ecp_vector_check_dims(const EcpVector *vector, int dims,
								  const char *indexname);

/*
 * For the error of a vector that has another length than expected: if it is a
 * bytea that looks like an array, the hint (in ereport()) how to write a bytea.
 */
extern int	ecp_vector_errhint(const EcpVector *vector);

#endif							/* VECTOR_VALUE_H */
