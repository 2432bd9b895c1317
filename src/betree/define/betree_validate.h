/*-------------------------------------------------------------------------
 *
 * betree_validate.h
 *	  Checking operator classes of betree.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_VALIDATE_H
#define BETREE_VALIDATE_H

extern bool betreevalidate(Oid opclassoid);

#endif							/* BETREE_VALIDATE_H */
