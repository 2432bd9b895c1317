/*-------------------------------------------------------------------------
 *
 * core_hint_page.h
 *	  A page of hints beside an index's pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CORE_HINT_PAGE_H
#define CORE_HINT_PAGE_H

#include "storage/buf.h"
#include "utils/relcache.h"

extern bool ecp_hint_page_exists(Relation index);
extern Buffer ecp_hint_page_get(Relation index, int lockmode);
extern void ecp_hint_page_make(Relation index);

#endif							/* CORE_HINT_PAGE_H */
