/*-------------------------------------------------------------------------
 *
 * ecp_knn_keys.c
 *	  Many queries at once: the keys that all of their scans have.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "ecp/batch/ecp_knn.h"
#include "storage/shmem.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* Does a scan key compare with a value, and how is its type stored? */
static bool
key_has_value(Relation index, const ScanKeyData *key, int16 *typlen, bool *byval)
{
	Oid			type = OidIsValid(key->sk_subtype) ? key->sk_subtype :
		index->rd_opcintype[key->sk_attno - 1];

	*typlen = sizeof(Datum);
	*byval = true;
	if ((key->sk_flags & (SK_ISNULL | SK_SEARCHNULL | SK_SEARCHNOTNULL)) != 0)
		return false;
	/* of any type: arrays are all alike here */
	get_typlenbyval((key->sk_flags & SK_SEARCHARRAY) != 0 ? ANYARRAYOID : type,
					typlen, byval);
	return true;
}

/*
 * Copy the keys of a scan, in the current memory context, but for those that say
 * that the vector is not NULL, which is true of all rows.  False if one is a radius.
 */
bool
ecp_knn_keys_copy(Relation index, const ScanKeyData *from, int nfrom, ScanKeyData *to,
				  int *nto)
{
	bool		copied = true;

	*nto = 0;
	for (int i = 0; i < nfrom; i++)
	{
		ScanKey		key = &to[*nto];
		int16		typlen;
		bool		byval;

		*key = from[i];
		if (key->sk_attno == 1)
		{
			copied &= (key->sk_flags & SK_SEARCHNOTNULL) != 0;
			continue;
		}
		if (key_has_value(index, key, &typlen, &byval))
		{
			if (typlen == -1)
				key->sk_argument = PointerGetDatum(PG_DETOAST_DATUM(key->sk_argument));
			key->sk_argument = datumCopy(key->sk_argument, byval, typlen);
		}
		(*nto)++;
	}
	return copied;
}

/* Do two keys demand the same? */
static bool
key_equals(Relation index, const ScanKeyData *a, const ScanKeyData *b)
{
	int16		typlen;
	bool		byval;

	if (a->sk_flags != b->sk_flags || a->sk_attno != b->sk_attno ||
		a->sk_strategy != b->sk_strategy || a->sk_subtype != b->sk_subtype ||
		a->sk_collation != b->sk_collation)
		return false;
	return !key_has_value(index, a, &typlen, &byval) ||
		datum_image_eq(a->sk_argument, b->sk_argument, byval, typlen);
}

/* Would ecp_knn_keys_copy() make this copy of the keys of a scan? */
bool
ecp_knn_keys_equal(Relation index, const ScanKeyData *keys, int nkeys,
				   const ScanKeyData *copy, int ncopy)
{
	int			n = 0;

	for (int i = 0; i < nkeys; i++)
	{
		if (keys[i].sk_attno == 1 && (keys[i].sk_flags & SK_SEARCHNOTNULL) != 0)
			continue;
		if (n == ncopy || !key_equals(index, &keys[i], &copy[n++]))
			return false;
	}
	return n == ncopy;
}

/* ---- scan keys for other processes ---- */

Size
ecp_knn_keys_bytes(Relation index, const ScanKeyData *keys, int nkeys)
{
	Size		bytes = mul_size(nkeys, sizeof(ScanKeyData));

	for (int i = 0; i < nkeys; i++)
	{
		int16		typlen;
		bool		byval;
		bool		isnull = !key_has_value(index, &keys[i], &typlen, &byval);

		bytes += datumEstimateSpace(keys[i].sk_argument, isnull, byval, typlen);
	}
	return MAXALIGN(bytes);
}

void
ecp_knn_keys_write(Relation index, const ScanKeyData *keys, int nkeys, char *to)
{
	char	   *value = to + mul_size(nkeys, sizeof(ScanKeyData));

	memcpy(to, keys, nkeys * sizeof(ScanKeyData));
	for (int i = 0; i < nkeys; i++)
	{
		int16		typlen;
		bool		byval;
		bool		isnull = !key_has_value(index, &keys[i], &typlen, &byval);

		datumSerialize(keys[i].sk_argument, isnull, byval, typlen, &value);
	}
}

/*
 * They compare nothing themselves (ecp_attr_filter.c does), so their functions stay
 * behind.
 */
ScanKeyData *
ecp_knn_keys_read(char *from, int nkeys)
{
	ScanKeyData *keys = palloc_array(ScanKeyData, Max(nkeys, 1));
	char	   *value = from + mul_size(nkeys, sizeof(ScanKeyData));

	memcpy(keys, from, nkeys * sizeof(ScanKeyData));
	for (int i = 0; i < nkeys; i++)
	{
		bool		isnull;

		keys[i].sk_argument = datumRestore(&value, &isnull);
		memset(&keys[i].sk_func, 0, sizeof(FmgrInfo));
	}
	return keys;
}
