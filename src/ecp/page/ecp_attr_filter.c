/*-------------------------------------------------------------------------
 *
 * ecp_attr_filter.c
 *	  Conditions on key attributes: which rows of a page fulfil them.
 *
 *	 conditions	-> for each column a sorted list of ranges of keys, and
 *				   whether NULL is accepted: the intersection of all
 *	 page		-> for each column with conditions, one pass over the keys
 *				   of all slots of the page
 *
 * A comparison costs a few instructions a row for all types and conditions (=, <,
 * BETWEEN, IN, IS NULL), without a function call.
 *
 * Where a key represents several values, ranges include all values that may be
 * equal, and the executor rechecks the rows.  Sets of tags have conditions of their
 * own (ecp_tags.c).  Conditions below OR are trees of such (ecp_attr_tree.c).
 *
 * ecp_scan.c makes a filter of the scan keys, and ecp_candidates.c applies it.
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
#include "miscadmin.h"
#include "pgtime.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

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
	int			nranges;		/* sorted, apart; 0: only NULL, if anything */
	AttrRange  *ranges;
	EcpTagsCondition *tags;		/* of a set of tags, else NULL */
} AttrCondition;

struct EcpAttrFilter
{
	int			nconditions;
	AttrCondition conditions[ECP_ATTRS_MAX];
	List	   *trees;			/* EcpAttrTrees */
};

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
	int64		nearest = Min(Max(value, min), max);

	pos->below = value < min;
	pos->exact = nearest == value;
	pos->key = (uint64) nearest - (uint64) min;
}

/* A local time as timestamptz, as core compares them; may be out of its range. */
static TimestampTz
attr_local_time(Timestamp timestamp)
{
	struct pg_tm tm;
	fsec_t		fsec;

	if (timestamp2tm(timestamp, NULL, &tm, &fsec, NULL, NULL) != 0)
		return timestamp;
	return timestamp +
		DetermineTimeZoneOffset(&tm, session_timezone) * USECS_PER_SEC;
}

/* The day of a timestamp, in a column of dates. */
static void
attr_position_day(Timestamp timestamp, AttrPosition *pos)
{
	DateADT		date = timestamp / USECS_PER_DAY;
	bool		midnight = true;

	if (TIMESTAMP_NOT_FINITE(timestamp))
		date = TIMESTAMP_IS_NOBEGIN(timestamp) ? DATEVAL_NOBEGIN : DATEVAL_NOEND;
	else
	{
		if (date * USECS_PER_DAY > timestamp)
			date--;
		midnight = date * USECS_PER_DAY == timestamp;
	}
	attr_position_int(sizeof(DateADT), date, pos);
	pos->exact = midnight;
}

/*
 * Position of a date or timestamp in a column of another of these types; false if
 * they are none.  What is too late or too early for the column's type is beside
 * infinity.
 */
static bool
attr_position_time(Oid type, Oid subtype, Datum value, AttrPosition *pos)
{
	Timestamp	timestamp;
	bool		fits = true;

	if (type == subtype || (subtype != DATEOID && subtype != TIMESTAMPOID))
		return false;
	if (subtype == TIMESTAMPOID)
		timestamp = DatumGetTimestamp(value);
	else if (DATE_IS_NOBEGIN(DatumGetDateADT(value)))
		timestamp = DT_NOBEGIN;
	else if (DATE_IS_NOEND(DatumGetDateADT(value)))
		timestamp = DT_NOEND;
	else if (DatumGetDateADT(value) >= TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE)
		timestamp = END_TIMESTAMP;
	else
		timestamp = DatumGetDateADT(value) * USECS_PER_DAY;

	if (type == DATEOID)
	{
		attr_position_day(timestamp, pos);
		return true;
	}
	if (!TIMESTAMP_NOT_FINITE(timestamp))
	{
		if (type == TIMESTAMPTZOID && IS_VALID_TIMESTAMP(timestamp))
			timestamp = attr_local_time(timestamp);
		fits = IS_VALID_TIMESTAMP(timestamp);
		if (!fits)
			timestamp = timestamp < MIN_TIMESTAMP ? DT_NOBEGIN : END_TIMESTAMP - 1;
	}
	attr_position_int(sizeof(Timestamp), timestamp, pos);
	pos->exact = fits;
	return true;
}

/*
 * The value may be of another type than the column, within the family: of
 * another width, or a date or timestamp.
 */
static void
attr_position(const EcpAttrDesc *desc, int a, Oid subtype, Datum value,
			  AttrPosition *pos)
{
	int			kind = desc->kind[a];
	bool		integer = kind == ECP_ATTR_INT2 || kind == ECP_ATTR_INT4 ||
		kind == ECP_ATTR_INT8;
	int			width = ecp_attr_width(kind, desc->tags_width);

	pos->below = false;
	pos->exact = true;
	if (attr_position_time(desc->type[a], subtype, value, pos))
		return;
	if (integer && subtype == INT2OID)
		attr_position_int(width, DatumGetInt16(value), pos);
	else if (integer && subtype == INT4OID)
		attr_position_int(width, DatumGetInt32(value), pos);
	else if (integer && subtype == INT8OID)
		attr_position_int(width, DatumGetInt64(value), pos);
	else if (kind == ECP_ATTR_FLOAT8 && subtype == FLOAT4OID)
		pos->key = ecp_attr_float8_key(DatumGetFloat4(value));
	else if (kind == ECP_ATTR_FLOAT4 && subtype == FLOAT8OID)
	{
		float8		wide = DatumGetFloat8(value);
		float4		narrow = (float4) wide;

		/* round down */
		if ((float8) narrow > wide)
			narrow = nextafterf(narrow, -INFINITY);
		pos->exact = isnan(wide) || (float8) narrow == wide;
		pos->key = ecp_attr_float4_key(narrow);
	}
	else
		pos->key = ecp_attr_key(desc, a, value);
}

/* The largest key of an attribute; of a set of tags, which has none, anything. */
static uint64
attr_key_max(const EcpAttrDesc *desc, int a)
{
	int			width = ecp_attr_width(desc->kind[a], desc->tags_width);

	return width >= 8 ? PG_UINT64_MAX : (UINT64CONST(1) << (width * 8)) - 1;
}

/*
 * The keys that "column <strategy> value" lets through; false if none.
 */
static bool
attr_range(const EcpAttrDesc *desc, int a, int strategy, Oid subtype,
		   Datum value, AttrRange *range)
{
	bool		lossy = !ecp_attr_kind_is_exact(desc->kind[a]);
	AttrPosition pos;

	attr_position(desc, a, subtype, value, &pos);
	range->lo = 0;
	range->hi = attr_key_max(desc, a);

	switch (strategy)
	{
		case BTEqualStrategyNumber:
			range->lo = range->hi = pos.key;
			return pos.exact;
		case BTLessStrategyNumber:
		case BTLessEqualStrategyNumber:
			if (pos.below)
				return false;
			if (strategy == BTLessStrategyNumber && pos.exact && !lossy)
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
				!lossy)
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

	CHECK_FOR_INTERRUPTS();
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

/* Room for the ranges of as many values as an array can have. */
static AttrRange *
attr_ranges_alloc(int n)
{
	return palloc_extended(mul_size(Max(n, 1), sizeof(AttrRange)), MCXT_ALLOC_HUGE);
}

/*
 * Intersect the ranges of a condition with others.  What one range leaves of these takes
 * their place.
 */
static void
attr_ranges_intersect(AttrCondition *condition, AttrRange *others, int nothers)
{
	AttrRange  *both = condition->nranges == 1 ? others :
		attr_ranges_alloc(condition->nranges + nothers);
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
	ArrayIterator values = NULL;
	Datum		value = key->sk_argument;
	bool		isnull = false;
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

	if (condition->tags != NULL)
	{
		if (!ecp_tags_condition_add(condition->tags, desc->tags[a], key))
			condition->nranges = 0;
		return;
	}

	if (key->sk_flags & SK_SEARCHARRAY)
	{
		ArrayType  *array = DatumGetArrayTypeP(value);

		nvalues = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
		values = array_create_iterator(array, 0, NULL);
	}
	ranges = attr_ranges_alloc(nvalues);
	for (int i = 0; i < nvalues; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (values != NULL)
			array_iterate(values, &value, &isnull);
		if (!isnull &&
			attr_range(desc, a, key->sk_strategy, key->sk_subtype, value, &ranges[n]))
			n++;
	}
	attr_ranges_intersect(condition, ranges, attr_ranges_unite(ranges, n));
}

/* The condition that all rows fulfil. */
static void
attr_condition_init(const EcpAttrDesc *desc, AttrCondition *condition, int a)
{
	memset(condition, 0, sizeof(AttrCondition));
	condition->att = a;
	condition->nulls = true;
	condition->nranges = 1;
	condition->ranges = palloc0(sizeof(AttrRange));
	condition->ranges[0].hi = attr_key_max(desc, a);
	if (desc->tags[a] != NULL)
		condition->tags = ecp_tags_condition_create();
}

/*
 * The contrary of a condition that NULL does not fulfil; NULL does neither.  No gap
 * may end above the largest key: attr_match_1() and its like take the lower bytes.
 */
static void
attr_condition_negate(AttrCondition *condition, uint64 key_max)
{
	AttrRange  *gaps = attr_ranges_alloc(condition->nranges + 1);
	uint64		lo = 0;
	int			n = 0;

	Assert(!condition->nulls);
	for (int i = 0; i < condition->nranges; i++)
	{
		const AttrRange *range = &condition->ranges[i];

		if (range->lo > lo)
		{
			gaps[n].lo = lo;
			gaps[n++].hi = range->lo - 1;
		}
		lo = range->hi + 1;
	}
	if (condition->nranges == 0 ||
		condition->ranges[condition->nranges - 1].hi < key_max)
	{
		gaps[n].lo = lo;
		gaps[n++].hi = key_max;
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
	Assert(!negated || ecp_attr_kind_is_exact(desc->kind[a]));
	attr_condition_init(desc, &leaf->condition, a);
	if (key == NULL)
		return leaf;
	attr_condition_add(desc, a, key, &leaf->condition);
	if (negated)
		attr_condition_negate(&leaf->condition, attr_key_max(desc, a));
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
		attr_condition_init(&desc, &conditions[a], a);
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
		if (!ecp_attr_kind_is_exact(desc.kind[a]) &&
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

/* ---- summaries ---- */

/* What a condition on keys asks: one of a few values, or NULL. */
static void
attr_condition_ask(const AttrCondition *condition, EcpSummaryTest *test)
{
	for (int i = 0; i < condition->nranges; i++)
	{
		if (condition->ranges[i].hi != condition->ranges[i].lo)
			return;
	}
	ecp_summary_test_group(test);
	for (int i = 0; i < condition->nranges; i++)
	{
		ecp_summary_test_alternative(test);
		ecp_summary_test_key(test, condition->att, condition->ranges[i].lo);
	}
	if (condition->nulls)
	{
		ecp_summary_test_alternative(test);
		ecp_summary_test_null(test, condition->att);
	}
}

EcpSummaryTest *
ecp_attr_filter_summary(const EcpAttrFilter *filter, const EcpMetaPageData *meta)
{
	EcpSummaryTest *test;

	if (meta->ecpm_summary_bytes == 0)
		return NULL;
	test = ecp_summary_test_create();
	for (int c = 0; c < filter->nconditions; c++)
	{
		const AttrCondition *condition = &filter->conditions[c];

		if ((meta->ecpm_summary_atts & (1 << condition->att)) == 0)
			continue;
		if (condition->tags == NULL || condition->nulls)
			attr_condition_ask(condition, test);
		else
			ecp_tags_condition_ask(condition->tags, condition->att,
								   meta->ecpm_tags_width, test);
	}
	return ecp_summary_test_asks(test) ? test : NULL;
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
 * A bit for each of up to 64 slots whose key is in the condition's ranges.
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
attr_match_keys(const AttrCondition *condition, const char *keys, int width,
				int n)
{
	switch (width)
	{
		case 1:
			return attr_match_1(condition, keys, n);
		case 2:
			return attr_match_2(condition, keys, n);
		case 4:
			return attr_match_4(condition, keys, n);
		default:
			return attr_match_8(condition, keys, n);
	}
}

/* A bit for each of up to 64 slots where an attribute is NULL: mostly none. */
static uint64
attr_nulls(const uint8 *nulls, int att, int n)
{
	uint64		any = 0;
	uint64		bits = 0;
	int			i = 0;

	for (; i + sizeof(uint64) <= n; i += sizeof(uint64))
	{
		uint64		word;

		memcpy(&word, nulls + i, sizeof(word));
		any |= word;
	}
	for (; i < n; i++)
		any |= nulls[i];
	if ((any & UINT64CONST(0x0101010101010101) << att) == 0)
		return 0;
	for (i = 0; i < n; i++)
		bits |= (uint64) ((nulls[i] >> att) & 1) << i;
	return bits;
}

static uint64
attr_match(const AttrCondition *condition, const EcpGeometry *geo,
		   const EcpEntryView *view, int first, int n)
{
	int			width = geo->attr_width[condition->att];
	const char *keys = view->attrs[condition->att] + first * width;
	uint64		nulls = attr_nulls(view->nulls + first, condition->att, n);
	uint64		bits;

	if (condition->tags != NULL)
		bits = condition->nranges > 0 ?
			ecp_tags_match(condition->tags, keys, width, n) : 0;
	else
		bits = attr_match_keys(condition, keys, width, n);
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
