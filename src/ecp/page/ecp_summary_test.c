/*-------------------------------------------------------------------------
 *
 * ecp_summary_test.c
 *	  What conditions ask of summaries (ecp_summary.c).
 *
 * A test is a list of elements.  Some begin a group, of which one alternative must
 * be there, and some an alternative, all of whose elements must be; so a summary is
 * asked in one pass.  ecp_attr_filter.c and ecp_tags.c make tests of conditions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/page/ecp_attr.h"

/* Elements of a test at most; a group that has no room is not asked. */
#define SUMMARY_ELEMENTS_MAX	512

/* What an element begins. */
#define TEST_GROUP			1
#define TEST_ALTERNATIVE	2

struct EcpSummaryTest
{
	int			n;
	bool		full;			/* the last group is one that is not asked */
	int			group;			/* where the last group begins */
	uint8		next;			/* what the next element begins */
	uint8		begins[SUMMARY_ELEMENTS_MAX];	/* TEST_*, or 0 */
	uint64		hashes[SUMMARY_ELEMENTS_MAX];
};

static bool
summary_has(uint64 hash, const char *summary, uint32 bytes)
{
	const uint8 *filter = EcpSummaryFilter(summary);

	for (int i = 0; i < ECP_SUMMARY_BITS; i++)
	{
		uint32		bit = ecp_summary_bit(hash, i, EcpSummaryFilterBits(bytes));

		if ((filter[bit / 8] & (1 << (bit % 8))) == 0)
			return false;
	}
	return true;
}

EcpSummaryTest *
ecp_summary_test_create(void)
{
	return palloc0(sizeof(EcpSummaryTest));
}

void
ecp_summary_test_group(EcpSummaryTest *test)
{
	test->full = false;
	test->group = test->n;
	test->next = TEST_GROUP;
}

void
ecp_summary_test_alternative(EcpSummaryTest *test)
{
	if (test->next != TEST_GROUP)
		test->next = TEST_ALTERNATIVE;
}

static void
test_add(EcpSummaryTest *test, uint64 hash)
{
	if (test->full)
		return;
	if (test->n == SUMMARY_ELEMENTS_MAX)
	{
		/* what was asked before stands */
		test->full = true;
		test->n = test->group;
		return;
	}
	test->begins[test->n] = test->next;
	test->hashes[test->n++] = hash;
	test->next = 0;
}

void
ecp_summary_test_key(EcpSummaryTest *test, int a, uint64 key)
{
	test_add(test, ecp_summary_hash(a, key));
}

void
ecp_summary_test_null(EcpSummaryTest *test, int a)
{
	test_add(test, ecp_summary_hash(a | ECP_SUMMARY_NULL, 0));
}

void
ecp_summary_test_many(EcpSummaryTest *test, int a)
{
	test_add(test, ecp_summary_hash(a | ECP_SUMMARY_MANY, 0));
}

bool
ecp_summary_test_asks(const EcpSummaryTest *test)
{
	return test->n > 0;
}

bool
ecp_summary_test(const EcpSummaryTest *test, const char *summary, uint32 bytes)
{
	bool		group = true;	/* an alternative of the group is there */
	bool		alternative = false;	/* this one is, so far */

	for (int i = 0; i < test->n; i++)
	{
		if (test->begins[i] == TEST_GROUP)
		{
			if (!group && !alternative)
				return false;
			group = false;
			alternative = true;
		}
		else if (test->begins[i] == TEST_ALTERNATIVE)
		{
			group |= alternative;
			alternative = true;
		}
		if (alternative && !group)
			alternative = summary_has(test->hashes[i], summary, bytes);
	}
	return group || alternative;
}
