/*-------------------------------------------------------------------------
 *
 * vector_value.h
 *	  What a vector column holds: element kind, dimensions, elements.
 *
 * There is no vector type of our own.  A vector is a one-dimensional real[]
 * without NULLs (float32 elements) or a bytea (uint8 elements, one byte
 * each).  Every access to a column's Datum goes through this file, so that
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
	ECP_ELEM_FLOAT16 = 3		/* pgvector's halfvec, by the bridge extension */
} EcpElem;

/* Written to disk (ecp's metapage): never renumber. */
typedef enum EcpMetric
{
	ECP_METRIC_L2 = 1,
	ECP_METRIC_IP = 2,			/* negative inner product */
	ECP_METRIC_COSINE = 3		/* 1 - cosine similarity */
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
} EcpVector;

extern Size ecp_elem_size(EcpElem elem);

/*
 * Take the vector out of "value".  Raises an error when an array has more
 * than one dimension or NULL elements, or when an element is NaN or infinite
 * (ERRCODE_DATA_EXCEPTION), or when there are no or more than ECP_DIMS_MAX
 * elements (ERRCODE_PROGRAM_LIMIT_EXCEEDED).
 */
extern void ecp_vector_read(Datum value, EcpElem elem, EcpVector *vector);
extern void ecp_vector_release(EcpVector *vector);

/* The reverse: a palloc'd Datum of the column's type with these elements. */
extern Datum ecp_vector_form(EcpElem elem, int dims, const void *data);

/* Error of a vector of the wrong length, naming both lengths. */
extern void ecp_vector_check_dims(const EcpVector *vector, int dims,
								  const char *indexname);

#endif							/* VECTOR_VALUE_H */
