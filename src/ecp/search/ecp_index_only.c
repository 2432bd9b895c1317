/*-------------------------------------------------------------------------
 *
 * ecp_index_only.c
 *	  SEARCH: rows of an index-only scan.
 *
 * A search knows rows by TID; the entry of each row to be returned is read a
 * second time, for its attributes and vector, and to see whether it still
 * exists.  The row is returned without a visit to the table if the visibility
 * map says, while the lock on the entry's page is held, that the table's page
 * is all-visible.
 *
 * The executor checks the visibility map again, after us and without a lock on
 * the entry.  Other access methods keep a pin until then, for which VACUUM
 * waits before it removes an entry.  We need none, because rows on a page that
 * was not all-visible at our check are looked up in the table here.  The
 * dangerous case is a row that was dead before our snapshot, whose entry and
 * line pointer are removed between the two checks, and whose page then becomes
 * all-visible.  But the page was not all-visible at our check, and the row was
 * not found in the table.  See "Index-only scans" in the README.
 *
 * So VACUUM never waits for an index-only scan, not even for an open cursor,
 * and standbys, where replay waits for no pin, need no special rule.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "ecp/search/ecp_scan.h"
#include "ecp/search/ecp_search.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "vector/vector_value.h"

struct EcpIndexOnly
{
	MemoryContext context;		/* of the row returned last */
	MemoryContext scan_context; /* of the scan */
	EcpAttrDesc attrs;			/* natts < 0: not read yet */
	Buffer		vm_buffer;
	TupleTableSlot *slot;		/* of the table; NULL until it is needed */
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
};

/* What an entry says of its row. */
typedef enum ReturnEntry
{
	RETURN_ENTRY_GONE,			/* dead for all snapshots */
	RETURN_ENTRY_TABLE,			/* unknown: look at the table */
	RETURN_ENTRY_VALUES			/* visible, and all values */
} ReturnEntry;

/* In the current memory context, which must be the scan's. */
EcpIndexOnly *
ecp_index_only_create(IndexScanDesc scan)
{
	EcpIndexOnly *ret = palloc0(sizeof(EcpIndexOnly));

	Assert(scan->xs_want_itup && scan->heapRelation != NULL);

	ret->scan_context = CurrentMemoryContext;
	ret->context = AllocSetContextCreate(CurrentMemoryContext,
										 "ecp index-only scan",
										 ALLOCSET_DEFAULT_SIZES);
	ret->attrs.natts = -1;
	ret->vm_buffer = InvalidBuffer;
	return ret;
}

void
ecp_index_only_free(EcpIndexOnly *ret)
{
	if (ret->slot)
		ExecDropSingleTupleTableSlot(ret->slot);
	if (BufferIsValid(ret->vm_buffer))
		ReleaseBuffer(ret->vm_buffer);
	MemoryContextDelete(ret->context);
	pfree(ret);
}

static bool
return_is_visible(EcpIndexOnly *ret, IndexScanDesc scan)
{
	return VM_ALL_VISIBLE(scan->heapRelation,
						  ItemPointerGetBlockNumber(&scan->xs_heaptid),
						  &ret->vm_buffer);
}

/* The values of the key attributes, and of the INCLUDE columns if it has them. */
static bool
return_read_attrs(EcpIndexOnly *ret, IndexScanDesc scan, const EcpGeometry *geo,
				  const EcpEntryView *view, BlockNumber blk, int slot)
{
	const EcpAttrDesc *attrs = &ret->attrs;

	for (int a = 0; a < attrs->natts; a++)
	{
		ret->isnull[a + 1] = (view->nulls[slot] & (1 << a)) != 0 ||
			!ecp_attr_kind_is_exact(attrs->kind[a]);
		if (!ret->isnull[a + 1])
			ret->values[a + 1] = ecp_attr_value(attrs->kind[a],
												ecp_attr_slot_key(geo, view,
																  slot, a));
	}
	return ecp_include_read(scan->indexRelation, blk, attrs,
							view->include + (Size) slot * geo->include_bytes,
							&ret->values[attrs->natts + 1],
							&ret->isnull[attrs->natts + 1]);
}

static ReturnEntry
return_read_entry(EcpIndexOnly *ret, IndexScanDesc scan, EcpSearch *search)
{
	const EcpIndexState *state = ecp_search_state(search);
	const EcpGeometry *geo = &state->leaf;
	char	   *vector = palloc(geo->vec_bytes);
	void	   *query;
	ReturnEntry result = RETURN_ENTRY_TABLE;
	EcpEntryView view;
	Buffer		buffer;
	int			slot;

	/* pin the map's page, so that it need not be read under the lock */
	(void) return_is_visible(ret, scan);

	buffer = ecp_search_entry(search, &view, &slot);
	if (!EcpSlotIsLive(&view, slot) ||
		!ItemPointerEquals(&view.tids[slot], &scan->xs_heaptid))
		result = RETURN_ENTRY_GONE;
	else if (return_is_visible(ret, scan) &&
			 return_read_attrs(ret, scan, geo, &view,
							   BufferGetBlockNumber(buffer), slot))
		result = RETURN_ENTRY_VALUES;
	if (result == RETURN_ENTRY_VALUES && !geo->stream)
		ecp_entry_get_vector(geo, &view, slot, vector);
	UnlockReleaseBuffer(buffer);
	if (result != RETURN_ENTRY_VALUES)
		return result;

	/* without a lock: it does not change while the row is visible to us */
	ret->isnull[0] = !EcpStoredIsExact(&state->meta);
	if (ret->isnull[0])
		return result;			/* the query has no use for it */
	if (geo->stream)
		ecp_search_vector(search, vector);
	query = palloc(ecp_vector_bytes(EcpMetaQueryElem(&state->meta), geo->dims));
	ecp_prepare_query(&state->meta, vector, query);
	ret->values[0] = ecp_vector_make(state->meta.ecpm_column_type, geo->dims, query);
	return result;
}

/*
 * Values of the index's columns from the table's row; false if it is not
 * visible.  They are valid as long as ret->slot is.
 */
static bool
return_read_table(EcpIndexOnly *ret, IndexScanDesc scan)
{
	Form_pg_index form = scan->indexRelation->rd_index;
	ItemPointerData tid = scan->xs_heaptid;
	bool		found;

	if (ret->slot == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(ret->scan_context);

		ret->slot = table_slot_create(scan->heapRelation, NULL);
		MemoryContextSwitchTo(old);
	}
	/* index_fetch_heap() moves the TID along a HOT chain: restore it */
	found = index_fetch_heap(scan, ret->slot);
	scan->xs_heaptid = tid;
	if (!found)
		return false;
	for (int i = 0; i < form->indnatts; i++)
	{
		/* the planner takes no expressions from index-only scans */
		ret->isnull[i] = true;
		if (form->indkey.values[i] != 0)
			ret->values[i] = slot_getattr(ret->slot, form->indkey.values[i],
										  &ret->isnull[i]);
	}
	return true;
}

bool
ecp_index_only_row(EcpIndexOnly *ret, IndexScanDesc scan, EcpSearch *search)
{
	TupleDesc	desc = RelationGetDescr(scan->indexRelation);
	MemoryContext old;
	ReturnEntry entry;
	bool		found;

	Assert(ItemPointerIsValid(&scan->xs_heaptid));

	if (ret->attrs.natts < 0)
	{
		old = MemoryContextSwitchTo(ret->scan_context);
		ecp_attr_desc_init(scan->indexRelation, &ecp_search_state(search)->meta,
						   &ret->attrs);
		MemoryContextSwitchTo(old);
	}
	MemoryContextReset(ret->context);
	old = MemoryContextSwitchTo(ret->context);
	entry = return_read_entry(ret, scan, search);
	found = entry == RETURN_ENTRY_VALUES ||
		(entry == RETURN_ENTRY_TABLE && return_read_table(ret, scan));
	if (found)
	{
		scan->xs_hitup = heap_form_tuple(desc, ret->values, ret->isnull);
		scan->xs_hitupdesc = desc;
	}
	if (ret->slot)
		ExecClearTuple(ret->slot);
	MemoryContextSwitchTo(old);
	return found;
}

/*
 * amcanreturn: an index without INCLUDE columns returns nothing, since its
 * entries do not show which vectors cannot be restored exactly.  Nor does one
 * return vectors that it has rounded.
 */
bool
ecpcanreturn(Relation index, int attno)
{
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	EcpAttrDesc desc;

	if (IndexRelationGetNumberOfAttributes(index) == nkeys)
		return false;
	if (attno > nkeys)
		return true;
	if (attno == 1)
	{
		EcpIndexState state;

		/* what was built; the storage parameter may have been set since */
		ecp_meta_read_state(index, &state);
		return EcpStoredIsExact(&state.meta);
	}
	ecp_attr_desc_init(index, NULL, &desc);
	return ecp_attr_kind_is_exact(desc.kind[attno - 2]);
}
