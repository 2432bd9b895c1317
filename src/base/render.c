/*-------------------------------------------------------------------------
 *
 * render.c
 *	  Values of a user's columns as text and JSON, without code of the user's.
 *
 * to_jsonb() and a cast to text call the casts that the owner of a type has
 * made, and would run them as the user who reads the table.  Only a superuser
 * makes a cast of a type of PostgreSQL's own, or an output function; so values
 * of all other types are made text by these, arrays and rows element by
 * element, before core makes JSON of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "base/compat.h"
#include "base/user_index.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "storage/shmem.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

static Datum plain_value(Datum value, Oid type, Oid *plain);

static Datum
output_text(Datum value, Oid type)
{
	Oid			output;
	bool		isvarlena;

	getTypeOutputInfo(type, &output, &isvarlena);
	return CStringGetTextDatum(OidOutputFunctionCall(output, value));
}

Datum
ecp_render_text(Datum value, Oid type)
{
	Oid			base = getBaseType(type);
	Oid			cast;

	if (base < FirstNormalObjectId)
	{
		switch (find_coercion_pathway(TEXTOID, base, COERCION_EXPLICIT, &cast))
		{
			case COERCION_PATH_RELABELTYPE:
				return value;
			case COERCION_PATH_FUNC:
				return OidFunctionCall1(cast, value);
			default:
				break;
		}
	}
	return output_text(value, type);
}

/* An array of the same shape, of plain elements. */
static Datum
plain_array(ArrayType *array, Oid *plain)
{
	Oid			element = ARR_ELEMTYPE(array);
	Oid			plain_element = TEXTOID;
	int16		len;
	bool		byval;
	char		align;
	Datum	   *values;
	bool	   *nulls;
	int			n;

	get_typlenbyvalalign(element, &len, &byval, &align);
	deconstruct_array(array, element, len, byval, align, &values, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i])
			values[i] = plain_value(values[i], element, &plain_element);
	}
	get_typlenbyvalalign(plain_element, &len, &byval, &align);
	array = construct_md_array(values, nulls, ARR_NDIM(array), ARR_DIMS(array),
							   ARR_LBOUND(array), plain_element, len, byval,
							   align);
	*plain = plain_element == TEXTOID ? TEXTARRAYOID :
		plain_element == RECORDOID ? RECORDARRAYOID :
		get_array_type(plain_element);
	return PointerGetDatum(array);
}

/* A row of plain columns. */
static Datum
plain_row(TupleDesc desc, const Datum *values, const bool *nulls)
{
	TupleDesc	plain_desc = CreateTemplateTupleDesc(desc->natts);
	Datum	   *plain_values = palloc0(mul_size(Max(desc->natts, 1), sizeof(Datum)));
	bool	   *plain_nulls = palloc0(mul_size(Max(desc->natts, 1), sizeof(bool)));
	int			n = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Oid			type = TEXTOID;

		if (att->attisdropped)
			continue;
		plain_nulls[n] = nulls[i];
		if (!nulls[i])
			plain_values[n] = plain_value(values[i], att->atttypid, &type);
		TupleDescInitEntry(plain_desc, ++n, NameStr(att->attname), type, -1, 0);
	}
	plain_desc->natts = n;
	TupleDescFinalize(plain_desc);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(plain_desc),
											 plain_values, plain_nulls));
}

static Datum
plain_composite(HeapTupleHeader header)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header),
											  HeapTupleHeaderGetTypMod(header));
	HeapTupleData tuple;
	Datum	   *values = palloc(mul_size(Max(desc->natts, 1), sizeof(Datum)));
	bool	   *nulls = palloc(mul_size(Max(desc->natts, 1), sizeof(bool)));
	Datum		row;

	tuple.t_len = HeapTupleHeaderGetDatumLength(header);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = header;
	heap_deform_tuple(&tuple, desc, values, nulls);
	row = plain_row(desc, values, nulls);
	ReleaseTupleDesc(desc);
	return row;
}

/* The value, or one of a type of PostgreSQL's own that has the same JSON. */
static Datum
plain_value(Datum value, Oid type, Oid *plain)
{
	Oid			base = getBaseType(type);

	check_stack_depth();
	*plain = base;
	if (base < FirstNormalObjectId)
		return value;
	if (OidIsValid(get_element_type(base)))
		return plain_array(DatumGetArrayTypeP(value), plain);
	if (type_is_rowtype(base))
	{
		*plain = RECORDOID;
		return plain_composite(DatumGetHeapTupleHeader(value));
	}
	*plain = TEXTOID;
	return output_text(value, base);
}

Datum
ecp_render_row(TupleDesc desc, const Datum *values, const bool *nulls)
{
	Datum		json = DirectFunctionCall1(row_to_json,
										   plain_row(desc, values, nulls));

	return DirectFunctionCall1(jsonb_in,
							   CStringGetDatum(TextDatumGetCString(json)));
}
