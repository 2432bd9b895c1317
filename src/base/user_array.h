/*-------------------------------------------------------------------------
 *
 * user_array.h
 *	  Arrays that are arguments of SQL functions.
 *
 * Each function returns the elements of an array of at most one dimension and
 * their number in *n; there must be from "least" to "most" of them.  "what"
 * is their name in messages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_USER_ARRAY_H
#define ECP_USER_ARRAY_H

#include "utils/array.h"

/* NULL becomes NaN, which fails any comparison with a bound. */
extern double *ecp_user_array_float8(ArrayType *array, const char *what,
									 int least, int most, int *n);

/* NULL becomes 0; *nulls says which elements are NULL, unless nulls is NULL. */
extern int *ecp_user_array_int4(ArrayType *array, const char *what, int least,
								int most, int *n, bool **nulls);

/* NULL is an error. */
extern const char **ecp_user_array_name(ArrayType *array, const char *what,
										int least, int most, int *n);

#endif							/* ECP_USER_ARRAY_H */
