/*-------------------------------------------------------------------------
 *
 * user_row.c
 *	  Rows that SQL functions return.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "base/user_index.h"
#include "funcapi.h"

Datum
ecp_user_row(FunctionCallInfo fcinfo, int n, const Datum *values,
			 const bool *nulls)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE ||
		desc->natts != n)
		elog(ERROR, "return type must be a row type of %d columns", n);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc),
											 (Datum *) values, (bool *) nulls));
}
