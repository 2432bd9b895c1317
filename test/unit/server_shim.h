/*-------------------------------------------------------------------------
 *
 * server_shim.h
 *	  The few functions of a PostgreSQL server that src/vector calls, so that
 *	  its files link into a program of their own.  Included by that program's
 *	  one file; errors end it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SERVER_SHIM_H
#define SERVER_SHIM_H

#include <stdio.h>
#include <stdlib.h>

/* whose argument is constant from PostgreSQL 19 on */
#define array_contains_nulls	declared_array_contains_nulls
#include "utils/array.h"
#undef array_contains_nulls
#include "base/compat.h"

#undef fprintf
#undef printf
#undef vfprintf
#undef vprintf
#undef snprintf

void *
palloc(Size size)
{
	return malloc(size);
}

void *
palloc0(Size size)
{
	return calloc(1, size);
}

void
pfree(void *pointer)
{
	free(pointer);
}

bool
errstart(int elevel, const char *domain)
{
	return elevel >= ERROR;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

int
errmsg_internal(const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	return 0;
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	fprintf(stderr, " (%s:%d)\n", filename, lineno);
	abort();
}

void
ExceptionalCondition(ECP_FAILED_ASSERTION_ARGS)
{
	fprintf(stderr, "%s (%s:%d)\n", conditionName, fileName, lineNumber);
	abort();
}

int
errmsg(const char *fmt,...)
{
	return 0;
}

int
errdetail(const char *fmt,...)
{
	return 0;
}


int
errhint(const char *fmt,...)
{
	return 0;
}

char *
format_type_be(Oid type_oid)
{
	return "";
}

int
errcode(int sqlerrcode)
{
	return 0;
}

/* Datums are never stored out of line here. */
struct varlena *
pg_detoast_datum(struct varlena *datum)
{
	return datum;
}

struct varlena *
pg_detoast_datum_packed(struct varlena *datum)
{
	return datum;
}

bool
array_contains_nulls(ArrayType *array)
{
	return ARR_HASNULL(array);
}

int
ArrayGetNItems(int ndim, const int *dims)
{
	return ndim == 0 ? 0 : dims[0];
}

#endif							/* SERVER_SHIM_H */
