/*-------------------------------------------------------------------------
 *
 * ecp_attr.c
 *	  Key attributes: "CREATE INDEX ... USING ecp (v, tenant, ts)".
 *
 * The columns after the vector are for conditions.  Each slot has their values,
 * so that a scan with "WHERE tenant = 42" skips other rows without computing
 * their distance or visiting the table.
 *
 * For most kinds a row has a key, an unsigned integer of 1, 2, 4 or 8 bytes, in the
 * order of the values, as the kind of the column says.  A key of some kinds
 * represents several values (the first half of a uuid, the hash or the first bytes
 * of a text).  Arrays and jsonb are sets of tags instead (ecp_tags.c).
 *
 * ecp_build.c and ecp_insert.c call ecp_attr_form().  Conditions are
 * ecp_attr_filter.c's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/bits.h"
#include "catalog/pg_type_d.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"
#include "utils/uuid.h"
#include "vector/vector_value.h"

typedef struct AttrKindInfo
{
	const char *name;
	int			width;			/* bytes of a key; 0: tags_width */
	bool		lossy;			/* several values may have one key */
} AttrKindInfo;

static const AttrKindInfo attr_kinds[] = {
	[ECP_ATTR_BOOL] = {"bool",.width = 1},
	[ECP_ATTR_CHAR] = {"char",.width = 1},
	[ECP_ATTR_INT2] = {"int2",.width = 2},
	[ECP_ATTR_INT4] = {"int4",.width = 4},
	[ECP_ATTR_INT8] = {"int8",.width = 8},
	[ECP_ATTR_OID] = {"oid",.width = 4},
	[ECP_ATTR_FLOAT4] = {"float4",.width = 4},
	[ECP_ATTR_FLOAT8] = {"float8",.width = 8},
	[ECP_ATTR_UUID] = {"uuid",.width = 8,.lossy = true},
	[ECP_ATTR_HASH] = {"hash",.width = 4,.lossy = true},
	[ECP_ATTR_PREFIX] = {"prefix",.width = 8,.lossy = true},
	[ECP_ATTR_TAGS] = {"tags",.lossy = true},
	[ECP_ATTR_PATHS] = {"paths",.lossy = true},
};

/* ---- the attributes of an index ---- */

int
ecp_attr_width(int kind, int tags_width)
{
	if (kind < 1 || kind > ECP_ATTR_KIND_MAX)
		return 0;
	return EcpAttrKindIsTags(kind) ? tags_width : attr_kinds[kind].width;
}

const char *
ecp_attr_kind_name(int kind)
{
	if (kind < 1 || kind > ECP_ATTR_KIND_MAX)
		return "unknown";
	return attr_kinds[kind].name;
}

static FmgrInfo *
attr_hash(Oid type)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_HASH_PROC_FINFO);

	if (!OidIsValid(entry->hash_proc))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify a hash function for type %s",
						format_type_be(type))));
	return &entry->hash_proc_finfo;
}

void
ecp_attr_desc_init(Relation index, const EcpMetaPageData *meta,
				   EcpAttrDesc *desc)
{
	TupleDesc	tupdesc = RelationGetDescr(index);
	Size		bytes;

	memset(desc, 0, sizeof(EcpAttrDesc));
	desc->natts = IndexRelationGetNumberOfKeyAttributes(index) - 1;
	bytes = desc->natts > 0 ? 1 : 0;
	if (desc->natts > ECP_ATTRS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_COLUMNS),
				 errmsg("cannot use more than %d columns besides the vector in an ecp index",
						ECP_ATTRS_MAX)));
	for (int a = 0; a < desc->natts; a++)
	{
		desc->kind[a] = ecp_class_get_attr(index, a + 1);
		desc->type[a] = index->rd_opcintype[a + 1];
		desc->collation[a] = index->rd_indcollation[a + 1];
		if (desc->kind[a] == ECP_ATTR_PREFIX &&
			!get_collation_isdeterministic(desc->collation[a]))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("nondeterministic collations are not supported for operator class \"%s\"",
							"text_pattern_ops")));
		if (desc->kind[a] == ECP_ATTR_HASH)
			desc->hash[a] = attr_hash(TupleDescAttr(tupdesc, a + 1)->atttypid);
		if (EcpAttrKindIsTags(desc->kind[a]))
		{
			desc->tags[a] =
				ecp_tags_source_create(desc->kind[a] == ECP_ATTR_PATHS,
									   TupleDescAttr(tupdesc, a + 1)->atttypid,
									   desc->collation[a]);
			desc->tags_width = meta ? meta->ecpm_tags_width :
				TYPEALIGN(ECP_TAGS_ALIGN, ecp_options_get(index).tags_width);
		}
		bytes += ecp_attr_width(desc->kind[a], desc->tags_width);
	}
	ecp_include_desc_init(index, meta, desc);
	desc->bytes = INTALIGN(bytes + desc->include_bytes);
}

void
ecp_attr_meta_form(const EcpAttrDesc *desc, EcpMetaPageData *meta)
{
	meta->ecpm_nkeyatts = 1 + desc->natts;
	meta->ecpm_attr_bytes = desc->bytes;
	memcpy(meta->ecpm_attr_kind, desc->kind, sizeof(meta->ecpm_attr_kind));
	meta->ecpm_tags_width = desc->tags_width;
	meta->ecpm_ninclude = desc->ninclude;
	meta->ecpm_include_bytes = desc->include_bytes;
}

bool
ecp_attr_meta_is_valid(const EcpMetaPageData *meta)
{
	int			natts = meta->ecpm_nkeyatts - 1;
	Size		bytes = natts > 0 ? 1 : 0;
	bool		tags = false;

	if (natts < 0 || natts > ECP_ATTRS_MAX ||
		meta->ecpm_ninclude > INDEX_MAX_KEYS ||
		meta->ecpm_include_bytes > ECP_INCLUDE_BYTES_MAX ||
		(meta->ecpm_ninclude > 0) != (meta->ecpm_include_bytes > 0))
		return false;
	for (int a = 0; a < natts; a++)
	{
		int			width = ecp_attr_width(meta->ecpm_attr_kind[a],
										   meta->ecpm_tags_width);

		if (width == 0)
			return false;
		tags |= EcpAttrKindIsTags(meta->ecpm_attr_kind[a]);
		bytes += width;
	}
	return tags == (meta->ecpm_tags_width > 0) &&
		meta->ecpm_tags_width % ECP_TAGS_ALIGN == 0 &&
		meta->ecpm_tags_width <= ECP_TAGS_WIDTH_MAX &&
		meta->ecpm_attr_bytes == INTALIGN(bytes + meta->ecpm_include_bytes);
}

/* ---- values to keys ---- */

uint64
ecp_attr_float8_key(float8 value)
{
	uint64		bits;

	if (isnan(value))
		return PG_UINT64_MAX;
	value += 0.0;				/* -0 is 0 */
	memcpy(&bits, &value, sizeof(bits));
	return (bits >> 63) ? ~bits : bits | UINT64CONST(1) << 63;
}

uint32
ecp_attr_float4_key(float4 value)
{
	uint32		bits;

	if (isnan(value))
		return PG_UINT32_MAX;
	value += 0.0f;
	memcpy(&bits, &value, sizeof(bits));
	return (bits >> 31) ? ~bits : bits | 0x80000000;
}

/* Unsigned integers in the order of texts, by their bytes; no byte is 0. */
static uint64
attr_text_key(const text *value)
{
	uint64		prefix = 0;

	memcpy(&prefix, VARDATA_ANY(value),
		   Min(VARSIZE_ANY_EXHDR(value), sizeof(prefix)));
	return pg_ntoh64(prefix);
}

uint64
ecp_attr_key(const EcpAttrDesc *desc, int a, Datum value)
{
	uint64		prefix;

	Assert(a >= 0 && a < desc->natts);
	switch ((EcpAttrKind) desc->kind[a])
	{
		case ECP_ATTR_BOOL:
			return DatumGetBool(value) ? 1 : 0;
		case ECP_ATTR_CHAR:
			return (uint8) DatumGetChar(value);
		case ECP_ATTR_INT2:
			return (uint16) DatumGetInt16(value) ^ 0x8000;
		case ECP_ATTR_INT4:
			return (uint32) DatumGetInt32(value) ^ 0x80000000;
		case ECP_ATTR_INT8:
			return (uint64) DatumGetInt64(value) ^ UINT64CONST(1) << 63;
		case ECP_ATTR_OID:
			return DatumGetObjectId(value);
		case ECP_ATTR_FLOAT4:
			return ecp_attr_float4_key(DatumGetFloat4(value));
		case ECP_ATTR_FLOAT8:
			return ecp_attr_float8_key(DatumGetFloat8(value));
		case ECP_ATTR_UUID:
			memcpy(&prefix, DatumGetUUIDP(value)->data, sizeof(prefix));
			return pg_ntoh64(prefix);
		case ECP_ATTR_HASH:
			return DatumGetUInt32(FunctionCall1Coll(desc->hash[a],
													desc->collation[a], value));
		case ECP_ATTR_PREFIX:
			return attr_text_key(DatumGetTextPP(value));
		case ECP_ATTR_TAGS:
		case ECP_ATTR_PATHS:
			break;
	}
	elog(ERROR, "unexpected kind of attribute: %d", desc->kind[a]);
	return 0;					/* keep the compiler quiet */
}

bool
ecp_attr_kind_is_exact(int kind)
{
	return !attr_kinds[kind].lossy;
}

bool
ecp_attr_is_exact(const EcpAttrDesc *desc, int a, Datum value)
{
	float8		number;

	Assert(a >= 0 && a < desc->natts);
	/* -0 has the key of 0 */
	if (desc->kind[a] == ECP_ATTR_FLOAT4)
		number = DatumGetFloat4(value);
	else if (desc->kind[a] == ECP_ATTR_FLOAT8)
		number = DatumGetFloat8(value);
	else
		return true;
	return number != 0 || !signbit(number);
}

static Datum
attr_float8_value(uint64 key)
{
	float8		value;

	if (key == PG_UINT64_MAX)
		return Float8GetDatum(get_float8_nan());
	key = (key >> 63) ? key & ~(UINT64CONST(1) << 63) : ~key;
	memcpy(&value, &key, sizeof(value));
	return Float8GetDatum(value);
}

static Datum
attr_float4_value(uint32 key)
{
	float4		value;

	if (key == PG_UINT32_MAX)
		return Float4GetDatum(get_float4_nan());
	key = (key >> 31) ? key & 0x7FFFFFFF : ~key;
	memcpy(&value, &key, sizeof(value));
	return Float4GetDatum(value);
}

Datum
ecp_attr_value(int kind, uint64 key)
{
	switch ((EcpAttrKind) kind)
	{
		case ECP_ATTR_BOOL:
			return BoolGetDatum(key != 0);
		case ECP_ATTR_CHAR:
			return CharGetDatum((char) key);
		case ECP_ATTR_INT2:
			return Int16GetDatum((int16) (key ^ 0x8000));
		case ECP_ATTR_INT4:
			return Int32GetDatum((int32) (key ^ 0x80000000));
		case ECP_ATTR_INT8:
			return Int64GetDatum((int64) (key ^ UINT64CONST(1) << 63));
		case ECP_ATTR_OID:
			return ObjectIdGetDatum((Oid) key);
		case ECP_ATTR_FLOAT4:
			return attr_float4_value((uint32) key);
		case ECP_ATTR_FLOAT8:
			return attr_float8_value(key);
		case ECP_ATTR_UUID:
		case ECP_ATTR_HASH:
		case ECP_ATTR_PREFIX:
		case ECP_ATTR_TAGS:
		case ECP_ATTR_PATHS:
			break;
	}
	elog(ERROR, "unexpected kind of attribute: %d", kind);
	return (Datum) 0;			/* keep the compiler quiet */
}

void
ecp_attr_form(const EcpAttrDesc *desc, const EcpVector *vector,
			  const Datum *values, const bool *isnull, char *attrs)
{
	uint8	   *nulls = (uint8 *) attrs;
	char	   *to = desc->natts > 0 ? attrs + 1 : attrs;

	if (desc->bytes == 0)
		return;
	memset(attrs, 0, desc->bytes);
	for (int a = 0; a < desc->natts; a++)
	{
		int			width = ecp_attr_width(desc->kind[a], desc->tags_width);

		if (isnull[a + 1])
			*nulls |= 1 << a;
		else if (desc->tags[a] != NULL)
			ecp_tags_form(desc->tags[a], values[a + 1], width, to);
		else
		{
			uint64		key = ecp_attr_key(desc, a, values[a + 1]);

			/* the lower bytes come first */
			memcpy(to, &key, width);
		}
		to += width;
	}
	if (desc->ninclude > 0)
		ecp_include_form(desc, vector, values, isnull, to);
}

uint64
ecp_attr_read_key(const char *from, int width)
{
	uint64		key = 0;

	Assert(width <= sizeof(key));
	memcpy(&key, from, width);
	return key;
}

uint64
ecp_attr_slot_key(const EcpGeometry *geo, const EcpEntryView *view, int slot,
				  int a)
{
	int			width = geo->attr_width[a];

	Assert(a >= 0 && a < geo->natts);
	Assert(slot >= 0 && slot < geo->slots);
	return ecp_attr_read_key(view->attrs[a] + slot * width, width);
}

const char *
ecp_attr_slot_fault(const EcpAttrDesc *desc, const EcpGeometry *geo,
					const EcpEntryView *view, int slot)
{
	Assert(slot >= 0 && slot < geo->slots);
	if (geo->natts == 0)
		return NULL;
	if ((view->nulls[slot] >> geo->natts) != 0)
		return "a NULL attribute that does not exist";
	for (int a = 0; a < geo->natts; a++)
	{
		int			width = geo->attr_width[a];
		const char *key = view->attrs[a] + slot * width;

		if ((view->nulls[slot] & (1 << a)) == 0)
		{
			if (desc->tags[a] != NULL && !ecp_tags_is_valid(key, width))
				return "a set of tags that is none";
			continue;
		}
		for (int i = 0; i < width; i++)
		{
			if (key[i] != 0)
				return "a NULL attribute that is not empty";
		}
	}
	return NULL;
}
