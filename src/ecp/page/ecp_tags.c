/*-------------------------------------------------------------------------
 *
 * ecp_tags.c
 *	  Key attributes that are sets of tags: "USING ecp (v, tags)".
 *
 * The tags of an array are its elements, those of a jsonb the hashed paths to
 * its values, as of jsonb_path_ops of GIN.  Of each tag a row has a fingerprint
 * of 16 bits, so that one row in 65,536 has a given one by chance, times its
 * number of tags.  A set has as many bytes as the storage parameter tags_width
 * says, in this order:
 *
 *	 head			0, or TAGS_MANY
 *	 fingerprints	ascending, each once, then zeros; no fingerprint is 0 or
 *					TAGS_MANY
 *
 * and if the row has more tags than fit, behind TAGS_MANY a byte with their number
 * and of each the first bits of its fingerprint, as many as there is room for but at
 * least TAGS_PACKED_MIN, ascending; or, if that is not enough, a byte of 0 and a
 * Bloom filter of the fingerprints, with TAGS_BITS bits each.
 *
 * A condition is a list of fingerprints, too, and true of each row whose tags may
 * fulfil it; the executor checks these again, NULL elements and the order of
 * elements included.  On a page, a fingerprint is compared with eight of a row at a
 * time, and four rows are asked together, since most conditions are true of few.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/bits.h"
#include "common/hashfn.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#define TAGS_MANY		0xFFFF
#define TAGS_BITS		4

/* Bits of a fingerprint at least, where sets have only its first ones. */
#define TAGS_PACKED_MIN		8

/* Behind the head of such a set: the number of tags, or 0; then the bits begin. */
#define TAGS_PACKED_AT		sizeof(uint16)
#define TAGS_MANY_AT		(TAGS_PACKED_AT + 1)

/* Eight fingerprints at a time, of which the first can be the head. */
#define TAGS_LANES		8

typedef uint16 TagsLanes __attribute__((vector_size(16), aligned(8)));
typedef uint64 TagsWords __attribute__((vector_size(16)));

/* Sets in which a fingerprint is looked for together. */
#define TAGS_TOGETHER	4

/* One of several conditions of which one must hold. */
typedef struct TagsTest
{
	int			strategy;		/* ECP_TAGS_* */
	int			n;				/* fingerprints, ascending */
	uint16	   *fingerprints;
	uint64	   *has;			/* a bit for each of these, if CONTAINED */
} TagsTest;

typedef struct TagsGroup
{
	int			ntests;
	TagsTest   *tests;
} TagsGroup;

struct EcpTagsCondition
{
	int			ngroups;
	TagsGroup  *groups;
};

/* ---- values to sets ---- */

EcpTagsSource *
ecp_tags_source_create(bool paths, Oid type, Oid collation)
{
	EcpTagsSource *source = palloc0(sizeof(EcpTagsSource));
	TypeCacheEntry *entry;

	source->paths = paths;
	source->collation = collation;
	if (paths)
		return source;
	source->elem_type = get_base_element_type(type);
	entry = lookup_type_cache(source->elem_type,
							  TYPECACHE_HASH_EXTENDED_PROC_FINFO);
	if (!OidIsValid(entry->hash_extended_proc))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify an extended hash function for type %s",
						format_type_be(source->elem_type))));
	source->hash = &entry->hash_extended_proc_finfo;
	source->typlen = entry->typlen;
	source->typbyval = entry->typbyval;
	source->typalign = entry->typalign;
	return source;
}

static uint16
tags_fingerprint(uint64 hash)
{
	return 1 + hash % (TAGS_MANY - 1);
}

static int
tags_compare(const void *a, const void *b)
{
	CHECK_FOR_INTERRUPTS();
	return (int) *(const uint16 *) a - (int) *(const uint16 *) b;
}

static int
tags_get_paths(Datum value, uint16 **fingerprints)
{
	int32		n = 0;
	Datum	   *hashes = (Datum *)
		DatumGetPointer(DirectFunctionCall2(gin_extract_jsonb_path, value,
											PointerGetDatum(&n)));

	*fingerprints = palloc(sizeof(uint16) * Max(n, 1));
	for (int i = 0; i < n; i++)
		(*fingerprints)[i] =
			tags_fingerprint(murmurhash32(DatumGetUInt32(hashes[i])));
	if (hashes)
		pfree(hashes);
	return n;
}

static int
tags_get_elements(const EcpTagsSource *source, Datum value,
				  uint16 **fingerprints, bool *has_null)
{
	ArrayType  *array = DatumGetArrayTypeP(value);
	Datum	   *values;
	bool	   *isnull;
	int			nvalues;
	int			n = 0;

	deconstruct_array(array, source->elem_type, source->typlen,
					  source->typbyval, source->typalign, &values, &isnull,
					  &nvalues);
	*fingerprints = palloc(sizeof(uint16) * Max(nvalues, 1));
	for (int i = 0; i < nvalues; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (isnull[i])
			*has_null = true;
		else
			(*fingerprints)[n++] =
				tags_fingerprint(DatumGetUInt64(FunctionCall2Coll(source->hash,
																  source->collation,
																  values[i],
																  Int64GetDatum(0))));
	}
	pfree(values);
	pfree(isnull);
	if ((Pointer) array != DatumGetPointer(value))
		pfree(array);
	return n;
}

/*
 * The fingerprints of a value, ascending and each once; NULL elements have none.
 * Returns their number.
 */
static int
tags_get(const EcpTagsSource *source, Datum value, uint16 **fingerprints,
		 bool *has_null)
{
	int			n;
	int			distinct = 0;

	*has_null = false;
	n = source->paths ? tags_get_paths(value, fingerprints) :
		tags_get_elements(source, value, fingerprints, has_null);
	qsort(*fingerprints, n, sizeof(uint16), tags_compare);
	for (int i = 0; i < n; i++)
	{
		if (i == 0 || (*fingerprints)[i] != (*fingerprints)[distinct - 1])
			(*fingerprints)[distinct++] = (*fingerprints)[i];
	}
	return distinct;
}

/* How many bits of each of n fingerprints a set has, if they do not all fit. */
static inline int
tags_packed_bits(int n, int width)
{
	return Min((width - TAGS_MANY_AT) * 8 / n, ECP_TAGS_BITS - 1);
}

/* The number of such fingerprints in a set behind TAGS_MANY; 0: it has a filter. */
static inline int
tags_packed_count(const uint8 *set)
{
	return set[TAGS_PACKED_AT];
}

/* The first bits of fingerprint i. */
static inline uint16
tags_packed_get(const uint8 *set, int i, int bits)
{
	int			at = TAGS_MANY_AT * 8 + i * bits;
	uint32		word = set[at / 8] << 16;

	/* nothing behind the set is read */
	if (at % 8 + bits > 8)
		word |= set[at / 8 + 1] << 8;
	if (at % 8 + bits > 16)
		word |= set[at / 8 + 2];
	return (word >> (24 - at % 8 - bits)) & ((1 << bits) - 1);
}

static void
tags_packed_put(uint16 value, int i, int bits, uint8 *set)
{
	int			at = TAGS_MANY_AT * 8 + i * bits;

	for (int b = 0; b < bits; b++)
	{
		if (value & (1 << (bits - 1 - b)))
			set[(at + b) / 8] |= 0x80 >> ((at + b) % 8);
	}
}

/* The number of a bit of a fingerprint in the filter of a set. */
static inline int
tags_bit(uint16 fingerprint, int i, int width)
{
	uint32		hash = murmurhash32(fingerprint + ((uint32) i << 16));
	const int	from = TAGS_MANY_AT * 8;

	Assert(i >= 0 && i < TAGS_BITS);
	return from + ((uint64) hash * (width * 8 - from) >> 32);
}

static void
tags_add_bits(uint16 fingerprint, int width, uint8 *set)
{
	for (int i = 0; i < TAGS_BITS; i++)
	{
		int			bit = tags_bit(fingerprint, i, width);

		set[bit / 8] |= 1 << (bit % 8);
	}
}

/* A set of these fingerprints. */
static void
tags_put(const uint16 *fingerprints, int n, int width, char *set)
{
	if (n < width / 2)
	{
		memcpy(set + sizeof(uint16), fingerprints, sizeof(uint16) * n);
		return;
	}
	memset(set, 0xFF, sizeof(uint16));
	if (tags_packed_bits(n, width) < TAGS_PACKED_MIN)
	{
		for (int i = 0; i < n; i++)
			tags_add_bits(fingerprints[i], width, (uint8 *) set);
		return;
	}
	set[TAGS_PACKED_AT] = n;
	for (int i = 0; i < n; i++)
	{
		int			bits = tags_packed_bits(n, width);

		tags_packed_put(fingerprints[i] >> (ECP_TAGS_BITS - bits), i, bits,
						(uint8 *) set);
	}
}

void
ecp_tags_form(const EcpTagsSource *source, Datum value, int width, char *set)
{
	uint16	   *fingerprints;
	bool		has_null;
	int			n = tags_get(source, value, &fingerprints, &has_null);

	tags_put(fingerprints, n, width, set);
	pfree(fingerprints);
}

/* Does a set behind TAGS_MANY obey the format? */
static bool
tags_packed_is_valid(const uint8 *set, int width)
{
	int			n = tags_packed_count(set);
	int			bits;

	if (n == 0)
		return true;
	bits = tags_packed_bits(n, width);
	if (n < width / 2 || bits < TAGS_PACKED_MIN)
		return false;
	for (int i = 1; i < n; i++)
	{
		if (tags_packed_get(set, i, bits) < tags_packed_get(set, i - 1, bits))
			return false;
	}
	return true;
}

bool
ecp_tags_is_valid(const char *set, int width)
{
	const uint16 *lanes = (const uint16 *) set;

	if (lanes[0] == TAGS_MANY)
		return tags_packed_is_valid((const uint8 *) set, width);
	for (int i = 1; i < width / 2; i++)
	{
		if (lanes[i] == TAGS_MANY ||
			(i > 1 && lanes[i] != 0 && lanes[i] <= lanes[i - 1]) ||
			(i > 1 && lanes[i] != 0 && lanes[i - 1] == 0))
			return false;
	}
	return lanes[0] == 0;
}

int
ecp_tags_list(const char *set, int width, uint16 *fingerprints, int *bits)
{
	int			n = 0;

	memcpy(fingerprints, set, sizeof(uint16));
	if (fingerprints[0] == TAGS_MANY)
	{
		n = tags_packed_count((const uint8 *) set);
		if (n == 0)
			return -1;
		*bits = tags_packed_bits(n, width);
		/* of a damaged page: there are more than "width" */
		if (*bits < TAGS_PACKED_MIN)
			return -1;
		for (int i = 0; i < n; i++)
			fingerprints[i] = tags_packed_get((const uint8 *) set, i, *bits);
		return n;
	}
	*bits = ECP_TAGS_BITS;
	memcpy(fingerprints, set + sizeof(uint16), width - sizeof(uint16));
	while (n < width / 2 - 1 && fingerprints[n] != 0)
		n++;
	return n;
}

/* ---- conditions ---- */

EcpTagsCondition *
ecp_tags_condition_create(void)
{
	return palloc0(sizeof(EcpTagsCondition));
}

/* A test for one value; false if it is true of no row. */
static bool
tags_test_init(const EcpTagsSource *source, int strategy, Datum value,
			   TagsTest *test)
{
	bool		has_null;

	test->strategy = strategy;
	test->n = tags_get(source, value, &test->fingerprints, &has_null);
	test->has = NULL;
	switch (strategy)
	{
		case ECP_TAGS_OVERLAP:
			return test->n > 0;
		case ECP_TAGS_CONTAINS:
			return !has_null;
		case ECP_TAGS_EQUAL:
			return true;
		case ECP_TAGS_CONTAINED:
			test->has = palloc0((TAGS_MANY + 1) / 8);
			for (int i = 0; i < test->n; i++)
				test->has[test->fingerprints[i] / 64] |=
					UINT64CONST(1) << (test->fingerprints[i] % 64);
			return true;
	}
	elog(ERROR, "unexpected strategy number: %d", strategy);
	return false;				/* keep the compiler quiet */
}

bool
ecp_tags_condition_add(EcpTagsCondition *condition,
					   const EcpTagsSource *source, const ScanKeyData *key)
{
	ArrayIterator values = NULL;
	Datum		value = key->sk_argument;
	bool		isnull = false;
	int			nvalues = 1;
	TagsGroup	group;

	Assert((key->sk_flags & SK_ISNULL) == 0);
	if (key->sk_flags & SK_SEARCHARRAY)
	{
		ArrayType  *array = DatumGetArrayTypeP(value);

		nvalues = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
		values = array_create_iterator(array, 0, NULL);
	}
	group.ntests = 0;
	group.tests = palloc_extended(mul_size(Max(nvalues, 1), sizeof(TagsTest)),
								  MCXT_ALLOC_HUGE);
	for (int i = 0; i < nvalues; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (values != NULL)
			array_iterate(values, &value, &isnull);
		if (!isnull &&
			tags_test_init(source, key->sk_strategy, value, &group.tests[group.ntests]))
			group.ntests++;
	}
	condition->groups = condition->groups == NULL ?
		palloc(sizeof(TagsGroup)) :
		repalloc(condition->groups,
				 sizeof(TagsGroup) * (condition->ngroups + 1));
	condition->groups[condition->ngroups++] = group;
	return group.ntests > 0;
}

/* Is a row that fulfils a test sure to have one of its fingerprints, or all? */
static bool
tags_test_asks(const TagsTest *test)
{
	return test->strategy != ECP_TAGS_CONTAINED && test->n > 0;
}

/* Ask for the fingerprints of a test, where rows have so many bits of them. */
static void
tags_test_ask(const TagsTest *test, int a, int bits, EcpSummaryTest *summary)
{
	ecp_summary_test_alternative(summary);
	for (int i = 0; i < test->n; i++)
	{
		if (test->strategy == ECP_TAGS_OVERLAP)
			ecp_summary_test_alternative(summary);
		/* few rows have less than all bits */
		if (bits < ECP_TAGS_BITS)
			ecp_summary_test_key(summary, a, EcpTagsKey(0, bits));
		ecp_summary_test_key(summary, a, EcpTagsKey(test->fingerprints[i] >>
													(ECP_TAGS_BITS - bits), bits));
	}
}

static void
tags_group_ask(const TagsGroup *group, int a, int bits, EcpSummaryTest *summary)
{
	for (int t = 0; t < group->ntests; t++)
		tags_test_ask(&group->tests[t], a, bits, summary);
}

void
ecp_tags_condition_ask(const EcpTagsCondition *condition, int a, int width,
					   EcpSummaryTest *summary)
{
	for (int g = 0; g < condition->ngroups; g++)
	{
		const TagsGroup *group = &condition->groups[g];
		int			last = ECP_TAGS_BITS;
		bool		asks = true;

		for (int t = 0; t < group->ntests; t++)
			asks &= tags_test_asks(&group->tests[t]);
		if (!asks)
			continue;
		ecp_summary_test_group(summary);
		tags_group_ask(group, a, ECP_TAGS_BITS, summary);
		/* a row has the same number of bits of all its fingerprints */
		for (int n = width / 2, bits; (bits = tags_packed_bits(n, width)) >= TAGS_PACKED_MIN; n++)
		{
			if (bits != last)
				tags_group_ask(group, a, bits, summary);
			last = bits;
		}
		ecp_summary_test_alternative(summary);
		ecp_summary_test_many(summary, a);
	}
}

/* ---- sets of a page ---- */

/*
 * Is a fingerprint among the lanes of a set, or the set one with a filter?  The
 * first of "wanted" is TAGS_MANY, all others and "rest" are the fingerprint.
 */
static inline TagsLanes
tags_compare_set(const TagsLanes *set, int parts, TagsLanes wanted,
				 TagsLanes rest)
{
	TagsLanes	equal = (TagsLanes) (set[0] == wanted);

	for (int p = 1; p < parts; p++)
		equal |= (TagsLanes) (set[p] == rest);
	return equal;
}

static inline bool
tags_any(TagsLanes equal)
{
	TagsWords	words = (TagsWords) equal;

	return (words[0] | words[1]) != 0;
}

/* Which of n sets of "parts" times eight lanes have a fingerprint, or a filter? */
static inline uint64
tags_find_parts(const TagsLanes *sets, int parts, uint16 fingerprint, int n)
{
	TagsLanes	rest = fingerprint - (TagsLanes) {0};
	TagsLanes	wanted = rest;
	uint64		bits = 0;
	int			i = 0;

	wanted[0] = TAGS_MANY;
	for (; i + TAGS_TOGETHER <= n; i += TAGS_TOGETHER)
	{
		TagsLanes	equal[TAGS_TOGETHER];
		TagsLanes	any = {0};

		for (int j = 0; j < TAGS_TOGETHER; j++)
		{
			equal[j] = tags_compare_set(sets + (i + j) * parts, parts, wanted, rest);
			any |= equal[j];
		}
		if (!tags_any(any))
			continue;
		for (int j = 0; j < TAGS_TOGETHER; j++)
			bits |= (uint64) tags_any(equal[j]) << (i + j);
	}
	for (; i < n; i++)
		bits |= (uint64) tags_any(tags_compare_set(sets + i * parts, parts,
												   wanted, rest)) << i;
	return bits;
}

/* The same, with code of its own for the usual widths. */
static uint64
tags_find(const char *sets, int width, uint16 fingerprint, int n)
{
	const TagsLanes *lanes = (const TagsLanes *) sets;

	switch (width)
	{
		case 16:
			return tags_find_parts(lanes, 1, fingerprint, n);
		case 32:
			return tags_find_parts(lanes, 2, fingerprint, n);
		default:
			return tags_find_parts(lanes, width / sizeof(TagsLanes),
								   fingerprint, n);
	}
}

/* Is a fingerprint in a set without a filter? */
static bool
tags_has(const uint16 *set, int width, uint16 fingerprint)
{
	for (int i = 1; i < width / 2; i++)
	{
		if (set[i] == fingerprint)
			return true;
	}
	return false;
}

/* May a set with many tags have one? */
static bool
tags_many_has(const uint8 *set, int width, uint16 fingerprint)
{
	int			n = tags_packed_count(set);

	if (n > 0)
	{
		int			bits = tags_packed_bits(n, width);

		for (int i = 0; i < n; i++)
		{
			if (tags_packed_get(set, i, bits) == fingerprint >> (ECP_TAGS_BITS - bits))
				return true;
		}
		return false;
	}
	for (int i = 0; i < TAGS_BITS; i++)
	{
		int			bit = tags_bit(fingerprint, i, width);

		if ((set[bit / 8] & (1 << (bit % 8))) == 0)
			return false;
	}
	return true;
}

/* Are the tags of a set with many among those of the test, as far as it tells? */
static bool
tags_many_contained(const TagsTest *test, const uint8 *set, int width)
{
	uint8		all[ECP_TAGS_WIDTH_MAX] = {0};
	int			n = tags_packed_count(set);

	if (n > 0)
	{
		int			bits = tags_packed_bits(n, width);
		int			t = 0;

		/* both ascend */
		for (int i = 0; i < n; i++)
		{
			uint16		value = tags_packed_get(set, i, bits);

			while (t < test->n &&
				   test->fingerprints[t] >> (ECP_TAGS_BITS - bits) < value)
				t++;
			if (t == test->n ||
				test->fingerprints[t] >> (ECP_TAGS_BITS - bits) != value)
				return false;
		}
		return true;
	}
	memset(all, 0xFF, sizeof(uint16));
	for (int i = 0; i < test->n; i++)
		tags_add_bits(test->fingerprints[i], width, all);
	for (int i = 0; i < width; i++)
	{
		if ((set[i] & ~all[i]) != 0)
			return false;
	}
	return true;
}

/* The same, or are they the same? */
static bool
tags_many_within(const TagsTest *test, const uint8 *set, int width)
{
	uint8		same[ECP_TAGS_WIDTH_MAX] = {0};

	if (test->strategy == ECP_TAGS_CONTAINED)
		return tags_many_contained(test, set, width);
	tags_put(test->fingerprints, test->n, width, (char *) same);
	return memcmp(set, same, width) == 0;
}

/* Are the tags of a set without a filter among those of the test, or the same? */
static bool
tags_within(const TagsTest *test, const uint16 *set, int width)
{
	int			n = 0;

	while (n + 1 < width / 2 && set[n + 1] != 0)
		n++;
	if (test->strategy == ECP_TAGS_EQUAL)
		return n == test->n &&
			memcmp(&set[1], test->fingerprints, sizeof(uint16) * n) == 0;
	for (int i = 1; i <= n; i++)
	{
		if ((test->has[set[i] / 64] & (UINT64CONST(1) << (set[i] % 64))) == 0)
			return false;
	}
	return true;
}

/* May a set fulfil a test? */
static bool
tags_matches(const TagsTest *test, const char *set, int width)
{
	const uint16 *lanes = (const uint16 *) set;
	bool		many = lanes[0] == TAGS_MANY;
	bool		overlap = test->strategy == ECP_TAGS_OVERLAP;

	if (test->strategy == ECP_TAGS_EQUAL ||
		test->strategy == ECP_TAGS_CONTAINED)
		return many ? tags_many_within(test, (const uint8 *) set, width) :
			tags_within(test, lanes, width);
	for (int i = 0; i < test->n; i++)
	{
		uint16		fingerprint = test->fingerprints[i];
		bool		has = many ?
			tags_many_has((const uint8 *) set, width, fingerprint) :
			tags_has(lanes, width, fingerprint);

		if (has == overlap)
			return overlap;
	}
	return !overlap;
}

/* Those of n sets that may fulfil a test, and some of the others. */
static uint64
tags_candidates(const TagsTest *test, const char *sets, int width, int n)
{
	uint64		bits = 0;

	if (test->strategy == ECP_TAGS_EQUAL ||
		test->strategy == ECP_TAGS_CONTAINED || test->n == 0)
		return EcpLowBits(n);
	if (test->strategy == ECP_TAGS_CONTAINS)
		return tags_find(sets, width, test->fingerprints[0], n);
	for (int i = 0; i < test->n; i++)
		bits |= tags_find(sets, width, test->fingerprints[i], n);
	return bits;
}

uint64
ecp_tags_match(const EcpTagsCondition *condition, const char *sets, int width,
			   int n)
{
	uint64		all = EcpLowBits(n);

	Assert(n > 0 && n <= 64 && width % sizeof(TagsLanes) == 0);
	for (int g = 0; g < condition->ngroups && all != 0; g++)
	{
		const TagsGroup *group = &condition->groups[g];
		uint64		bits = 0;

		for (int t = 0; t < group->ntests; t++)
		{
			const TagsTest *test = &group->tests[t];
			bool		sure = test->strategy == ECP_TAGS_OVERLAP ||
				(test->strategy == ECP_TAGS_CONTAINS && test->n == 1);

			for (uint64 left = tags_candidates(test, sets, width, n) & all;
				 left != 0; left &= left - 1)
			{
				int			i = pg_rightmost_one_pos64(left);
				const char *set = sets + i * width;

				/* of those with fingerprints some need no other look */
				if ((sure && *(const uint16 *) set != TAGS_MANY) ||
					tags_matches(test, set, width))
					bits |= UINT64CONST(1) << i;
			}
		}
		all &= bits;
	}
	return all;
}
