/*-------------------------------------------------------------------------
 *
 * ecp_summary_test.h
 *	  The elements and bits of summaries (ecp_summary.h), and what conditions ask
 *	  of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_SUMMARY_TEST_H
#define ECP_SUMMARY_TEST_H

/* In front of the filter: the head run of the child that it is of, or 0. */
#define ECP_SUMMARY_HEADER		sizeof(uint64)

#define EcpSummaryFilter(summary)	((uint8 *) (summary) + ECP_SUMMARY_HEADER)
#define EcpSummaryFilterBits(bytes) \
	((uint32) ((bytes) - ECP_SUMMARY_HEADER) * BITS_PER_BYTE)

/* Bits of an element. */
#define ECP_SUMMARY_BITS		5

/* Elements that are no key of attribute a: it is NULL, or has more tags than fit. */
#define ECP_SUMMARY_NULL		0x100
#define ECP_SUMMARY_MANY		0x200

/* The hash of an element: a key of attribute a. */
static inline uint64
ecp_summary_hash(int a, uint64 key)
{
	uint64		hash = key + (uint64) (a + 1) * UINT64CONST(0x9E3779B97F4A7C15);

	hash = (hash ^ (hash >> 33)) * UINT64CONST(0xFF51AFD7ED558CCD);
	hash = (hash ^ (hash >> 33)) * UINT64CONST(0xC4CEB9FE1A85EC53);
	return hash ^ (hash >> 33);
}

/* The number of its bit i among "bits". */
static inline uint32
ecp_summary_bit(uint64 hash, int i, uint32 bits)
{
	uint32		place = (uint32) (hash >> 32) + i * ((uint32) hash | 1);

	return (uint64) place * bits >> 32;
}

/*
 * What must be in a summary: of each group, one of its alternatives, with all
 * its elements.  A group, and then each alternative, is begun before its elements
 * are added.
 */
typedef struct EcpSummaryTest EcpSummaryTest;

extern EcpSummaryTest *ecp_summary_test_create(void);
extern void ecp_summary_test_group(EcpSummaryTest *test);
extern void ecp_summary_test_alternative(EcpSummaryTest *test);
extern void ecp_summary_test_key(EcpSummaryTest *test, int a, uint64 key);
extern void ecp_summary_test_null(EcpSummaryTest *test, int a);
extern void ecp_summary_test_many(EcpSummaryTest *test, int a);

/* Is there anything to ask for? */
extern bool ecp_summary_test_asks(const EcpSummaryTest *test);

/* Can the child of a summary of "bytes" have a row that fulfils the conditions? */
extern bool ecp_summary_test(const EcpSummaryTest *test, const char *summary,
							 uint32 bytes);

#endif							/* ECP_SUMMARY_TEST_H */
