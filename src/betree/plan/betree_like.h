/*-------------------------------------------------------------------------
 *
 * betree_like.h
 *	  Index paths that core makes for btree only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_LIKE_H
#define BETREE_LIKE_H

extern void betree_like_init(void);

#endif							/* BETREE_LIKE_H */
