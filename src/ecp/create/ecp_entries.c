/*-------------------------------------------------------------------------
 *
 * ecp_entries.c
 *	  The entries that runs of a new index leave for the node above them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/create/ecp_policy.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

void
ecp_entries_add(EcpEntryList *list, const EcpChildData *child, const void *vector,
				int32 parent)
{
	if (list->n == list->max)
	{
		Size		max = Max(64, (Size) list->max + list->max / 2);

		if (max > PG_INT32_MAX || list->fixed)
			elog(ERROR, "too many clusters");
		if (list->max == 0)
		{
			list->children = palloc_array(EcpChildData, max);
			list->parents = palloc_array(int32, max);
			list->vectors = palloc(add_size(mul_size(max, list->vec_bytes), 64));
		}
		else
		{
			list->children = repalloc_huge(list->children,
										   mul_size(max, sizeof(EcpChildData)));
			list->parents = repalloc_huge(list->parents,
										  mul_size(max, sizeof(int32)));
			list->vectors = repalloc_huge(list->vectors,
										  add_size(mul_size(max, list->vec_bytes),
												   64));
		}
		list->max = max;
	}
	list->children[list->n] = *child;
	list->parents[list->n] = parent;
	memcpy(list->vectors + (Size) list->n * list->vec_bytes, vector,
		   list->vec_bytes);
	list->n++;
}

void
ecp_entries_free(EcpEntryList *list)
{
	if (list->fixed)
		ecp_team_memory_free(&list->memory);
	else if (list->max > 0)
	{
		pfree(list->children);
		pfree(list->parents);
		pfree(list->vectors);
	}
}
