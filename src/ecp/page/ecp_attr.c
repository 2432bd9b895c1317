/*-------------------------------------------------------------------------
 *
 * ecp_attr.c
 *	  Key attributes: "CREATE INDEX ... USING ecp (v, tenant, ts)".
 *
 * The columns after the vector are for conditions.  Each slot has their values,
 * so that a scan with "WHERE tenant = 42" skips other rows without computing
 * their distance or visiting the table.
 *
 *	 value		-> key: an unsigned integer of 1, 2, 4 or 8 bytes, in the
 *				   order of the values, as the kind of the column says
 *	 conditions	-> for each column a sorted list of ranges of keys, and
 *				   whether NULL is accepted: the intersection of all
 *	 page		-> for each column with conditions, one pass over the keys
 *				   of all slots of the page
 *
 * Conditions below OR are trees of such (ecp_attr_tree.c).
 *
 * A comparison costs a few instructions a row for all types and conditions (=, <,
 * BETWEEN, IN, IS NULL), without a function call.
 *
 * A key of some kinds represents several values (the first half of a uuid, the
 * hash or the first bytes of a text).  Then ranges include all values that may be
 * equal, and the executor rechecks the rows.
 *
 * ecp_build.c and ecp_insert.c call ecp_attr_form(); ecp_scan.c makes a filter of
 * the scan keys, and ecp_search_page.c applies it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "base/bits.h"
#include "catalog/pg_type_d.h"
#include "ecp/define/ecp_class.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_attr_tree.h"
#include "ecp/page/ecp_include.h"
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
	int			width;			/* bytes of a key */
	bool		lossy;			/* several values may have one key */
	bool		ordered;		/* keys are in the order of values */
} AttrKindInfo;

static const AttrKindInfo attr_kinds[] = {
	[ECP_ATTR_BOOL] = {"bool",.width = 1,.ordered = true},
	[ECP_ATTR_CHAR] = {"char",.width = 1,.ordered = true},
	[ECP_ATTR_INT2] = {"int2",.width = 2,.ordered = true},
	[ECP_ATTR_INT4] = {"int4",.width = 4,.ordered = true},
	[ECP_ATTR_INT8] = {"int8",.width = 8,.ordered = true},
	[ECP_ATTR_OID] = {"oid",.width = 4,.ordered = true},
	[ECP_ATTR_FLOAT4] = {"float4",.width = 4,.ordered = true},
	[ECP_ATTR_FLOAT8] = {"float8",.width = 8,.ordered = true},
	[ECP_ATTR_UUID] = {"uuid",.width = 8,.lossy = true,.ordered = true},
	[ECP_ATTR_HASH] = {"hash",.width = 4,.lossy = true},
	[ECP_ATTR_PREFIX] = {"prefix",.width = 8,.lossy = true,.ordered = true},
};

/* Keys from lo to hi, both included. */
typedef struct AttrRange
{
	uint64		lo;
	uint64		hi;
} AttrRange;

/* The condition on one column. */
typedef struct AttrCondition
{
	int			att;
	bool		used;			/* there is a condition at all */
	bool		nulls;			/* NULL is accepted */
	int			nranges;		/* sorted, apart from each other */
	AttrRange  *ranges;
} AttrCondition;

struct EcpAttrFilter
{
	int			nconditions;
	AttrCondition conditions[ECP_ATTRS_MAX];
	List	   *trees;			/* EcpAttrTrees */
};

/* ---- the attributes of an index ---- */

int
ecp_attr_width(int kind)
{
	if (kind < 1 || kind > ECP_ATTR_KIND_MAX)
		return 0;
	return attr_kinds[kind].width;
}

const char *
ecp_attr_kind_name(int kind)
{
	if (kind < 1 || kind > ECP_ATTR_KIND_MAX)
		return "unknown";
	return attr_kinds[kind].name;
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
		desc->collation[a] = index->rd_indcollation[a + 1];
		bytes += ecp_attr_width(desc->kind[a]);
		if (desc->kind[a] == ECP_ATTR_PREFIX &&
			!get_collation_isdeterministic(desc->collation[a]))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("nondeterministic collations are not supported for operator class \"%s\"",
							"text_pattern_ops")));
		if (desc->kind[a] == ECP_ATTR_HASH)
		{
			Oid			type = TupleDescAttr(tupdesc, a + 1)->atttypid;
			TypeCacheEntry *entry;

			entry = lookup_type_cache(type, TYPECACHE_HASH_PROC_FINFO);
			if (!OidIsValid(entry->hash_proc))
				ereport(ERROR,
						(errcode(ERRCODE_UNDEFINED_FUNCTION),
						 errmsg("could not identify a hash function for type %s",
								format_type_be(type))));
			desc->hash[a] = &entry->hash_proc_finfo;
		}
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
	meta->ecpm_ninclude = desc->ninclude;
	meta->ecpm_include_bytes = desc->include_bytes;
}

bool
ecp_attr_meta_is_valid(const EcpMetaPageData *meta)
{
	int			natts = meta->ecpm_nkeyatts - 1;
	Size		bytes = natts > 0 ? 1 : 0;

	if (natts < 0 || natts > ECP_ATTRS_MAX ||
		meta->ecpm_ninclude > INDEX_MAX_KEYS ||
		meta->ecpm_include_bytes > ECP_INCLUDE_BYTES_MAX ||
		(meta->ecpm_ninclude > 0) != (meta->ecpm_include_bytes > 0))
		return false;
	for (int a = 0; a < natts; a++)
	{
		int			width = ecp_attr_width(meta->ecpm_attr_kind[a]);

		if (width == 0)
			return false;
		bytes += width;
	}
	return meta->ecpm_attr_bytes == INTALIGN(bytes + meta->ecpm_include_bytes);
}

/* ---- values to keys ---- */

/* Unsigned integers in the order of floats: NaN last, one zero. */
static uint64
attr_float8_key(float8 value)
{
	uint64		bits;

	if (isnan(value))
		return PG_UINT64_MAX;
	value += 0.0;				/* -0 is 0 */
	memcpy(&bits, &value, sizeof(bits));
	return (bits >> 63) ? ~bits : bits | UINT64CONST(1) << 63;
}

static uint32
attr_float4_key(float4 value)
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

/* Key of a value of the column's own type. */
static uint64
attr_key(const EcpAttrDesc *desc, int a, Datum value)
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
			return attr_float4_key(DatumGetFloat4(value));
		case ECP_ATTR_FLOAT8:
			return attr_float8_key(DatumGetFloat8(value));
		case ECP_ATTR_UUID:
			memcpy(&prefix, DatumGetUUIDP(value)->data, sizeof(prefix));
			return pg_ntoh64(prefix);
		case ECP_ATTR_HASH:
			return DatumGetUInt32(FunctionCall1Coll(desc->hash[a],
													desc->collation[a], value));
		case ECP_ATTR_PREFIX:
			return attr_text_key(DatumGetTextPP(value));
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
		int			width = attr_kinds[desc->kind[a]].width;
		uint64		key;
		uint32		key4;
		uint16		key2;

		if (isnull[a + 1])
		{
			*nulls |= 1 << a;
			to += width;
			continue;
		}
		key = attr_key(desc, a, values[a + 1]);
		switch (width)
		{
			case 1:
				*(uint8 *) to = (uint8) key;
				break;
			case 2:
				key2 = (uint16) key;
				memcpy(to, &key2, sizeof(key2));
				break;
			case 4:
				key4 = (uint32) key;
				memcpy(to, &key4, sizeof(key4));
				break;
			default:
				memcpy(to, &key, sizeof(key));
				break;
		}
		to += width;
	}
	if (desc->ninclude > 0)
		ecp_include_form(desc, vector, values, isnull, to);
}

uint64
ecp_attr_slot_key(const EcpGeometry *geo, const EcpEntryView *view, int slot,
				  int a)
{
	const char *keys = view->attrs[a];

	Assert(a >= 0 && a < geo->natts);
	Assert(slot >= 0 && slot < geo->slots);
	switch (geo->attr_width[a])
	{
		case 1:
			return ((const uint8 *) keys)[slot];
		case 2:
			return ((const uint16 *) keys)[slot];
		case 4:
			return ((const uint32 *) keys)[slot];
		default:
			return ((const uint64 *) keys)[slot];
	}
}

bool
ecp_attr_slot_is_valid(const EcpGeometry *geo, const EcpEntryView *view,
					   int slot)
{
	Assert(slot >= 0 && slot < geo->slots);
	if (geo->natts == 0)
		return true;
	if ((view->nulls[slot] >> geo->natts) != 0)
		return false;
	for (int a = 0; a < geo->natts; a++)
	{
		const char *key = view->attrs[a] + slot * geo->attr_width[a];

		if ((view->nulls[slot] & (1 << a)) == 0)
			continue;
		for (int i = 0; i < geo->attr_width[a]; i++)
		{
			if (key[i] != 0)
				return false;
		}
	}
	return true;
}

/* ---- conditions to ranges ---- */

/* Position of a value of a condition among the keys of its column. */
typedef struct AttrPosition
{
	bool		below;			/* below all keys */
	bool		exact;			/* "key" is its key */
	uint64		key;			/* else the largest one below it */
} AttrPosition;

static void
attr_position_int(int width, int64 value, AttrPosition *pos)
{
	int64		max = width == 8 ? PG_INT64_MAX :
		(INT64CONST(1) << (width * 8 - 1)) - 1;
	int64		min = -max - 1;

	pos->below = value < min;
	pos->exact = value >= min && value <= max;
	if (value < min)
		value = min;
	if (value > max)
		value = max;
	pos->key = (uint64) value - (uint64) min;
}

/*
 * The value may be of another type than the column, within the family: of
 * another width.
 */
static void
attr_position(const EcpAttrDesc *desc, int a, Oid subtype, Datum value,
			  AttrPosition *pos)
{
	int			kind = desc->kind[a];
	bool		integer = kind == ECP_ATTR_INT2 || kind == ECP_ATTR_INT4 ||
		kind == ECP_ATTR_INT8;
	int			width = attr_kinds[kind].width;

	pos->below = false;
	pos->exact = true;
	if (integer && subtype == INT2OID)
		attr_position_int(width, DatumGetInt16(value), pos);
	else if (integer && subtype == INT4OID)
		attr_position_int(width, DatumGetInt32(value), pos);
	else if (integer && subtype == INT8OID)
		attr_position_int(width, DatumGetInt64(value), pos);
	else if (kind == ECP_ATTR_FLOAT8 && subtype == FLOAT4OID)
		pos->key = attr_float8_key(DatumGetFloat4(value));
	else if (kind == ECP_ATTR_FLOAT4 && subtype == FLOAT8OID)
	{
		float8		wide = DatumGetFloat8(value);
		float4		narrow = (float4) wide;

		/* round down */
		if ((float8) narrow > wide)
			narrow = nextafterf(narrow, -INFINITY);
		pos->exact = isnan(wide) || (float8) narrow == wide;
		pos->key = attr_float4_key(narrow);
	}
	else
		pos->key = attr_key(desc, a, value);
}

/*
 * The keys that "column <strategy> value" lets through; false if none.
 */
static bool
attr_range(const EcpAttrDesc *desc, int a, int strategy, Oid subtype,
		   Datum value, AttrRange *range)
{
	const AttrKindInfo *info = &attr_kinds[desc->kind[a]];
	AttrPosition pos;

	attr_position(desc, a, subtype, value, &pos);
	range->lo = 0;
	range->hi = info->width == 8 ? PG_UINT64_MAX :
		(UINT64CONST(1) << (info->width * 8)) - 1;

	switch (strategy)
	{
		case BTEqualStrategyNumber:
			range->lo = range->hi = pos.key;
			return pos.exact;
		case BTLessStrategyNumber:
		case BTLessEqualStrategyNumber:
			if (pos.below)
				return false;
			if (strategy == BTLessStrategyNumber && pos.exact && !info->lossy)
			{
				if (pos.key == 0)
					return false;
				pos.key--;
			}
			range->hi = pos.key;
			return true;
		case BTGreaterEqualStrategyNumber:
		case BTGreaterStrategyNumber:
			if (pos.below)
				return true;
			if ((strategy == BTGreaterStrategyNumber || !pos.exact) &&
				!info->lossy)
			{
				if (pos.key == range->hi)
					return false;
				pos.key++;
			}
			range->lo = pos.key;
			return true;
	}
	elog(ERROR, "unexpected strategy number: %d", strategy);
	return false;				/* keep the compiler quiet */
}

static int
attr_range_cmp(const void *a, const void *b)
{
	const AttrRange *x = a;
	const AttrRange *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Sort ranges and join those that touch; returns how many are left. */
static int
attr_ranges_unite(AttrRange *ranges, int n)
{
	int			last = 0;

	Assert(n >= 0);
	if (n == 0)
		return 0;
	qsort(ranges, n, sizeof(AttrRange), attr_range_cmp);
	for (int i = 1; i < n; i++)
	{
		if (ranges[last].hi == PG_UINT64_MAX ||
			ranges[i].lo <= ranges[last].hi + 1)
			ranges[last].hi = Max(ranges[last].hi, ranges[i].hi);
		else
			ranges[++last] = ranges[i];
	}
	return last + 1;
}

/* Intersect the ranges of a condition with others. */
static void
attr_ranges_intersect(AttrCondition *condition, const AttrRange *others,
					  int nothers)
{
	AttrRange  *both = palloc(sizeof(AttrRange) *
							  (condition->nranges + nothers + 1));
	int			n = 0;
	int			i = 0;
	int			j = 0;

	while (i < condition->nranges && j < nothers)
	{
		const AttrRange *x = &condition->ranges[i];
		const AttrRange *y = &others[j];

		both[n].lo = Max(x->lo, y->lo);
		both[n].hi = Min(x->hi, y->hi);
		if (both[n].lo <= both[n].hi)
			n++;
		if (x->hi < y->hi)
			i++;
		else
			j++;
	}
	condition->ranges = both;
	condition->nranges = n;
}

/* Add the condition of one scan key on attribute a. */
static void
attr_condition_add(const EcpAttrDesc *desc, int a, const ScanKeyData *key,
				   AttrCondition *condition)
{
	AttrRange  *ranges;
	Datum	   *values = NULL;
	bool	   *isnull = NULL;
	int			nvalues = 1;
	int			n = 0;

	condition->used = true;
	if (key->sk_flags & SK_SEARCHNULL)
	{
		condition->nranges = 0;
		return;
	}
	condition->nulls = false;
	if (key->sk_flags & SK_SEARCHNOTNULL)
		return;
	if (key->sk_flags & SK_ISNULL)
	{
		/* no operator of the class is true for NULL */
		condition->nranges = 0;
		return;
	}

	if (key->sk_flags & SK_SEARCHARRAY)
	{
		ArrayType  *array = DatumGetArrayTypeP(key->sk_argument);
		int16		typlen;
		bool		typbyval;
		char		typalign;

		get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval,
							 &typalign);
		deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval,
						  typalign, &values, &isnull, &nvalues);
	}
	ranges = palloc(sizeof(AttrRange) * Max(nvalues, 1));
	for (int i = 0; i < nvalues; i++)
	{
		if (isnull != NULL && isnull[i])
			continue;
		if (attr_range(desc, a, key->sk_strategy, key->sk_subtype,
					   values ? values[i] : key->sk_argument, &ranges[n]))
			n++;
	}
	attr_ranges_intersect(condition, ranges, attr_ranges_unite(ranges, n));
}

/* The condition that all rows fulfil. */
static void
attr_condition_init(AttrCondition *condition, int a)
{
	memset(condition, 0, sizeof(AttrCondition));
	condition->att = a;
	condition->nulls = true;
	condition->nranges = 1;
	condition->ranges = palloc0(sizeof(AttrRange));
	condition->ranges[0].hi = PG_UINT64_MAX;
}

/* The contrary of a condition that NULL does not fulfil; NULL does neither. */
static void
attr_condition_negate(AttrCondition *condition)
{
	AttrRange  *gaps = palloc(sizeof(AttrRange) * (condition->nranges + 1));
	uint64		lo = 0;
	int			n = 0;
	bool		open = true;

	Assert(!condition->nulls);
	for (int i = 0; i < condition->nranges; i++)
	{
		const AttrRange *range = &condition->ranges[i];

		if (range->lo > lo)
		{
			gaps[n].lo = lo;
			gaps[n++].hi = range->lo - 1;
		}
		open = range->hi < PG_UINT64_MAX;
		lo = range->hi + 1;
	}
	if (open)
	{
		gaps[n].lo = lo;
		gaps[n++].hi = PG_UINT64_MAX;
	}
	condition->ranges = gaps;
	condition->nranges = n;
}

/* ---- one condition ---- */

struct EcpAttrLeaf
{
	AttrCondition condition;
};

EcpAttrLeaf *
ecp_attr_leaf_create(const EcpAttrDesc *desc, int a, const ScanKeyData *key,
					 bool negated)
{
	EcpAttrLeaf *leaf = palloc(sizeof(EcpAttrLeaf));

	Assert(a >= 0 && a < desc->natts);
	Assert(!negated || !attr_kinds[desc->kind[a]].lossy);
	attr_condition_init(&leaf->condition, a);
	if (key == NULL)
		return leaf;
	attr_condition_add(desc, a, key, &leaf->condition);
	if (negated)
		attr_condition_negate(&leaf->condition);
	return leaf;
}

EcpAttrFilter *
ecp_attr_filter_create(Relation index, const ScanKeyData *keys, int nkeys,
					   bool *never, bool *recheck)
{
	EcpAttrFilter *filter = palloc0(sizeof(EcpAttrFilter));
	AttrCondition conditions[ECP_ATTRS_MAX];
	EcpAttrDesc desc;

	*never = *recheck = false;
	ecp_attr_desc_init(index, NULL, &desc);
	for (int a = 0; a < desc.natts; a++)
		attr_condition_init(&conditions[a], a);
	for (int i = 0; i < nkeys; i++)
	{
		int			a = keys[i].sk_attno - 2;

		if (a < 0)
			continue;
		Assert(a < desc.natts);
		if (keys[i].sk_strategy == ECP_TREE_STRATEGY)
		{
			filter->trees = lappend(filter->trees,
									ecp_attr_tree_create(&desc, &keys[i]));
			continue;
		}
		attr_condition_add(&desc, a, &keys[i], &conditions[a]);
		if (attr_kinds[desc.kind[a]].lossy &&
			(keys[i].sk_flags & (SK_SEARCHNULL | SK_SEARCHNOTNULL)) == 0)
			*recheck = true;
	}
	for (int a = 0; a < desc.natts; a++)
	{
		if (!conditions[a].used)
			continue;
		if (!conditions[a].nulls && conditions[a].nranges == 0)
			*never = true;
		filter->conditions[filter->nconditions++] = conditions[a];
	}
	if (filter->nconditions == 0 && filter->trees == NIL)
		return NULL;
	return filter;
}

/* ---- pages ---- */

/* Is a key in one of the ranges? */
static inline bool
attr_in_ranges(const AttrCondition *condition, uint64 key)
{
	const AttrRange *ranges = condition->ranges;
	int			low = 0;
	int			high = condition->nranges;

	/* the last range that does not begin behind the key */
	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (ranges[middle].lo <= key)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && key <= ranges[low - 1].hi;
}

/*
 * Of up to 64 slots, a bit for each whose key is in the condition's ranges.
 * One range, the common case, is one subtraction and comparison a key.
 */
#define ATTR_MATCH_FUNCTION(name, type) \
static uint64 \
name(const AttrCondition *condition, const char *keys, int n) \
{ \
	const type *key = (const type *) keys; \
	uint64		bits = 0; \
	if (condition->nranges == 1) \
	{ \
		type		lo = (type) condition->ranges[0].lo; \
		type		span = (type) (condition->ranges[0].hi - lo); \
		for (int i = 0; i < n; i++) \
			bits |= (uint64) ((type) (key[i] - lo) <= span) << i; \
	} \
	else if (condition->nranges > 1) \
	{ \
		for (int i = 0; i < n; i++) \
			bits |= (uint64) attr_in_ranges(condition, key[i]) << i; \
	} \
	return bits; \
} \
extern int no_such_variable

ATTR_MATCH_FUNCTION(attr_match_1, uint8);
ATTR_MATCH_FUNCTION(attr_match_2, uint16);
ATTR_MATCH_FUNCTION(attr_match_4, uint32);
ATTR_MATCH_FUNCTION(attr_match_8, uint64);

static uint64
attr_match(const AttrCondition *condition, const EcpGeometry *geo,
		   const EcpEntryView *view, int first, int n)
{
	int			width = geo->attr_width[condition->att];
	const char *keys = view->attrs[condition->att] + first * width;
	uint64		nulls = 0;
	uint64		bits;

	switch (width)
	{
		case 1:
			bits = attr_match_1(condition, keys, n);
			break;
		case 2:
			bits = attr_match_2(condition, keys, n);
			break;
		case 4:
			bits = attr_match_4(condition, keys, n);
			break;
		default:
			bits = attr_match_8(condition, keys, n);
			break;
	}
	for (int i = 0; i < n; i++)
		nulls |= (uint64) ((view->nulls[first + i] >> condition->att) & 1) << i;
	return condition->nulls ? bits | nulls : bits & ~nulls;
}

uint64
ecp_attr_leaf_match(const EcpAttrLeaf *leaf, const EcpGeometry *geo,
					const EcpEntryView *view, int first, int n)
{
	Assert(n > 0 && n <= 64);
	return attr_match(&leaf->condition, geo, view, first, n);
}

int
ecp_attr_filter_page(const EcpAttrFilter *filter, const EcpGeometry *geo,
					 const EcpEntryView *view, int n, uint64 *passed)
{
	int			nlive = 0;

	Assert(n >= 0 && n <= geo->slots);
	for (int w = 0; w < geo->live_words; w++)
	{
		int			first = w * 64;
		uint64		word = first < n ? view->live[w] & EcpLowBits(n - first) : 0;

		nlive += pg_popcount64(word);
		for (int c = 0; c < filter->nconditions && word != 0; c++)
			word &= attr_match(&filter->conditions[c], geo, view, first,
							   Min(64, n - first));
		for (int t = 0; t < list_length(filter->trees) && word != 0; t++)
			word &= ecp_attr_tree_match(list_nth(filter->trees, t), geo, view,
										first, Min(64, n - first));
		passed[w] = word;
	}
	return nlive;
}
