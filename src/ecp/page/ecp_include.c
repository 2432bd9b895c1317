/*-------------------------------------------------------------------------
 *
 * ecp_include.c
 *	  INCLUDE columns: "CREATE INDEX ... USING ecp (v, tenant) INCLUDE (id)".
 *
 * Their values are stored after a row's key attributes, so that a query that uses
 * only columns of the index need not visit the table (ecp_index_only.c).  Every
 * row has the same room for them, include_bytes:
 *
 *	 bits		one of ECP_INCLUDE_ABSENT, then one for each column that is
 *				NULL; whole bytes
 *	 values		as in a heap tuple: aligned from the first of them on, short
 *				headers, never compressed or out of line
 *	 zeros		up to include_bytes
 *
 * This is the size of the columns of fixed length plus, for each column of
 * variable length, the storage parameter include_width, or less if the type's
 * modifier limits its values.  For a row that does not fit, only the bit ABSENT
 * is set, and index-only scans read the row from the table.  The same holds for
 * rows whose vector or keys cannot be restored exactly from the entry: an array
 * whose subscripts do not begin with 1, a key column's -0.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "base/compat.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "utils/builtins.h"
#include "vector/vector_value.h"

#define ECP_INCLUDE_ABSENT		0x01

/* Bytes of the bits. */
#define EcpIncludeHead(ninclude)	(((ninclude) + 1 + 7) / 8)

StaticAssertDecl(EcpIncludeHead(1) + ECP_INCLUDE_WIDTH_MAX ==
				 ECP_INCLUDE_BYTES_MAX,
				 "a column of the largest include_width must just fit");

/* Is column i of them NULL? */
#define EcpIncludeIsNull(bits, i) \
	(((bits)[((i) + 1) / 8] & (1 << (((i) + 1) % 8))) != 0)

/* Room that one column has, behind those before it. */
static Size
include_place(Form_pg_attribute att, Size offset, int width)
{
	int32		most;

	if (att->attlen > 0)
		return att_align_nominal(offset, att->attalign) + att->attlen;
	most = type_maximum_size(att->atttypid, att->atttypmod);
	if (most > 0)
		width = Min(width, most);
	return offset + width;
}

void
ecp_include_desc_init(Relation index, const EcpMetaPageData *meta,
					  EcpAttrDesc *desc)
{
	TupleDesc	tupdesc = RelationGetDescr(index);
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	EcpOptions	options;
	Size		bytes = 0;

	desc->ninclude = tupdesc->natts - nkeys;
	if (desc->ninclude == 0)
		return;
	options = ecp_options_get(index);
	desc->include = CreateTemplateTupleDesc(desc->ninclude);
	for (int i = 0; i < desc->ninclude; i++)
	{
		TupleDescCopyEntry(desc->include, i + 1, tupdesc, nkeys + i + 1);
		bytes = include_place(TupleDescAttr(tupdesc, nkeys + i), bytes,
							  options.include_width);
	}
	TupleDescFinalize(desc->include);
	desc->include_bytes = EcpIncludeHead(desc->ninclude) + bytes;
	if (meta)
		desc->include_bytes = meta->ecpm_include_bytes;
}

/*
 * Can the row's vector and keys be restored exactly from the entry?
 */
static bool
include_keys_are_exact(const EcpAttrDesc *desc, const EcpVector *vector,
					   const Datum *values, const bool *isnull)
{
	if (!vector->plain)
		return false;
	for (int a = 0; a < desc->natts; a++)
	{
		if (!isnull[a + 1] && !ecp_attr_is_exact(desc, a, values[a + 1]))
			return false;
	}
	return true;
}

void
ecp_include_form(const EcpAttrDesc *desc, const EcpVector *vector,
				 const Datum *values, const bool *isnull, char *to)
{
	int			first = 1 + desc->natts;
	Size		head = EcpIncludeHead(desc->ninclude);
	bool		fits = include_keys_are_exact(desc, vector, values, isnull);
	Datum		columns[INDEX_MAX_KEYS];
	bool		nulls[INDEX_MAX_KEYS];
	uint8		bits[INDEX_MAX_KEYS / 8 + 1];
	uint16		infomask = 0;
	Size		size;

	Assert(desc->ninclude > 0);
	for (int i = 0; i < desc->ninclude; i++)
	{
		columns[i] = values[first + i];
		nulls[i] = isnull[first + i];
		if (nulls[i])
		{
			to[(i + 1) / 8] |= 1 << ((i + 1) % 8);
			continue;
		}
		if (TupleDescAttr(desc->include, i)->attlen != -1 || !fits)
			continue;
		/* nothing long is fetched or uncompressed */
		if (toast_raw_datum_size(columns[i]) - VARHDRSZ + VARHDRSZ_SHORT >
			desc->include_bytes)
			fits = false;
		else
			columns[i] = PointerGetDatum(PG_DETOAST_DATUM_PACKED(columns[i]));
	}

	if (fits)
	{
		size = heap_compute_data_size(desc->include, columns, nulls);
		fits = head + size <= desc->include_bytes;
	}
	if (fits)
	{
		char	   *data = palloc0(MAXALIGN(size) + MAXIMUM_ALIGNOF);

		heap_fill_tuple(desc->include, columns, nulls, data, size, &infomask,
						bits);
		memcpy(to + head, data, size);
		pfree(data);
	}
	else
	{
		memset(to, 0, head);
		*to = ECP_INCLUDE_ABSENT;
	}

	for (int i = 0; i < desc->ninclude; i++)
	{
		if (!nulls[i] && columns[i] != values[first + i])
			pfree(DatumGetPointer(columns[i]));
	}
}

/*
 * The column's value at "offset" of "size" bytes; returns the offset behind
 * it, or 0 if it would end behind the last byte.
 */
static Size
include_next(Form_pg_attribute att, const char *data, Size offset, Size size,
			 Datum *value)
{
	Size		length;

	if (att->attlen == -1)
	{
		if (offset >= size)
			return 0;
		offset = att_align_pointer(offset, att->attalign, -1, data + offset);
		if (offset >= size || VARATT_IS_EXTERNAL(data + offset))
			return 0;
		if (VARATT_IS_1B(data + offset))
			length = VARSIZE_1B(data + offset);
		else if (offset + VARHDRSZ > size || !VARATT_IS_4B_U(data + offset))
			return 0;
		else
			length = VARSIZE_4B(data + offset);
		if (length < VARHDRSZ_SHORT)
			return 0;
	}
	else if (att->attlen > 0)
	{
		offset = att_align_nominal(offset, att->attalign);
		length = att->attlen;
	}
	else
		return 0;
	if (offset > size || length > size - offset)
		return 0;
	*value = fetchatt(att, data + offset);
	return offset + length;
}

/* All columns; false if the bytes cannot be right. */
static bool
include_deform(const EcpAttrDesc *desc, const char *bits, const char *data,
			   Datum *values, bool *isnull)
{
	Size		size = desc->include_bytes - EcpIncludeHead(desc->ninclude);
	Size		offset = 0;

	for (int i = 0; i < desc->ninclude; i++)
	{
		isnull[i] = EcpIncludeIsNull(bits, i);
		values[i] = (Datum) 0;
		if (isnull[i])
			continue;
		offset = include_next(TupleDescAttr(desc->include, i), data, offset,
							  size, &values[i]);
		if (offset == 0)
			return false;
	}
	while (offset < size)
	{
		if (data[offset++] != 0)
			return false;
	}
	return true;
}

/* A copy of the values where they are aligned. */
static char *
include_copy(const EcpAttrDesc *desc, const char *bytes)
{
	Size		head = EcpIncludeHead(desc->ninclude);
	char	   *data = palloc0(desc->include_bytes + MAXIMUM_ALIGNOF);

	memcpy(data, bytes + head, desc->include_bytes - head);
	return data;
}

bool
ecp_include_read(Relation index, BlockNumber blk, const EcpAttrDesc *desc,
				 const char *bytes, Datum *values, bool *isnull)
{
	Assert(desc->ninclude > 0);
	if (*bytes & ECP_INCLUDE_ABSENT)
		return false;
	if (!include_deform(desc, bytes, include_copy(desc, bytes), values,
						isnull))
		ecp_report_corrupt(index, blk,
						   "The INCLUDE columns of a slot are damaged.");
	return true;
}

bool
ecp_include_is_valid(const EcpAttrDesc *desc, const char *bytes)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	char	   *data;
	bool		result;

	Assert(desc->ninclude > 0);
	if (desc->ninclude == 0)
		return true;
	if (*bytes & ECP_INCLUDE_ABSENT)
	{
		for (Size i = 0; i < desc->include_bytes; i++)
		{
			if (bytes[i] != (i == 0 ? ECP_INCLUDE_ABSENT : 0))
				return false;
		}
		return true;
	}
	data = include_copy(desc, bytes);
	result = include_deform(desc, bytes, data, values, isnull);
	pfree(data);
	return result;
}
