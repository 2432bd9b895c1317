/*-------------------------------------------------------------------------
 *
 * betree_form.h
 *	  Forming tuples and pivots.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_FORM_H
#define BETREE_FORM_H

#include "access/itup.h"
#include "betree/order/betree_rel.h"

extern IndexTuple betree_form_separator(BetreeRel *bt, IndexTuple left,
										IndexTuple right);
extern IndexTuple betree_form_tuple(BetreeRel *bt, Datum *values,
									bool *isnull, ItemPointer tid,
									Relation heap);

#endif							/* BETREE_FORM_H */
