/*-------------------------------------------------------------------------
 *
 * betree_form.c
 *	  Forming index tuples, and the pivots between them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "betree/order/betree_order.h"
#include "betree/page/betree_image.h"
#include "betree/page/betree_page.h"
#include "utils/rel.h"

/*
 * betree_form_separator
 *		A pivot above "left" and not above "right", palloc'd.
 *
 * It has the attributes up to the first in which the two differ, and the
 * right one's heap TID if none does.  Child and marker are the caller's.
 */
IndexTuple
betree_form_separator(BetreeRel *bt, IndexTuple left, IndexTuple right)
{
	int			natts;
	bool		with_tid;
	IndexTuple	pivot;

	if (BetreeTupleIsPosting(right))
		right = betree_posting_form_row(right, &right->t_tid);
	for (natts = 1; natts <= bt->nkeyatts; natts++)
	{
		bool		lnull;
		bool		rnull;
		Datum		lvalue = betree_key_getattr(bt, left, natts, &lnull);
		Datum		rvalue = betree_key_getattr(bt, right, natts, &rnull);

		if (betree_key_compare_values(bt, natts - 1, bt->cmp[natts - 1],
									  lvalue, lnull, rvalue, rnull) != 0)
			break;
	}
	with_tid = natts > bt->nkeyatts;
	natts = Min(natts, bt->nkeyatts);

	pivot = index_truncate_tuple(bt->tupdesc, right, natts);
	if (with_tid)
	{
		Size		size = MAXALIGN(IndexTupleSize(pivot));
		IndexTuple	longer = palloc0(size + MAXALIGN(sizeof(ItemPointerData)));

		memcpy(longer, pivot, IndexTupleSize(pivot));
		longer->t_info &= ~INDEX_SIZE_MASK;
		longer->t_info |= size + MAXALIGN(sizeof(ItemPointerData));
		longer->t_info |= BETREE_PIVOT_TID_BIT;
		*BetreePivotGetTid(longer) = right->t_tid;
		pfree(pivot);
		pivot = longer;
	}
	BetreePivotSetChild(pivot, InvalidBlockNumber);
	BetreePivotSet(pivot, natts, 0);
	return pivot;
}

/*
 * betree_form_tuple
 *		Form an index tuple, palloc'd; complain if it is too large.
 *
 * "heap" is for the error message only and may be NULL.
 */
IndexTuple
betree_form_tuple(BetreeRel *bt, Datum *values, bool *isnull, ItemPointer tid,
				  Relation heap)
{
	IndexTuple	itup;

	Assert(ItemPointerIsValid(tid));

	itup = index_form_tuple(bt->tupdesc, values, isnull);
	itup->t_tid = *tid;
	if (unlikely(IndexTupleSize(itup) > BetreeMaxItemSize))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index row size %zu exceeds betree maximum %zu for index \"%s\"",
						IndexTupleSize(itup), (Size) BetreeMaxItemSize,
						RelationGetRelationName(bt->rel)),
				 heap == NULL ? 0 :
				 errdetail("Index row references tuple (%u,%u) in relation \"%s\".",
						   ItemPointerGetBlockNumber(tid),
						   ItemPointerGetOffsetNumber(tid),
						   RelationGetRelationName(heap)),
				 errhint("Values larger than 1/6 of a buffer page cannot be indexed by betree; btree takes those up to 1/3.\n"
						 "Consider a function index of an MD5 hash of the value, "
						 "or use full text indexing.")));
	return itup;
}
