/*-------------------------------------------------------------------------
 *
 * betree_hash.h
 *	  Hashes of keys.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_HASH_H
#define BETREE_HASH_H

#include "access/itup.h"
#include "betree/order/betree_rel.h"
#include "storage/block.h"

/* Hash functions of the key columns */
typedef struct BetreeHash
{
	uint32		id;				/* stands for all of them */
	FmgrInfo	proc[INDEX_MAX_KEYS];
} BetreeHash;

/*
 * Page number by which predicate locks name all keys with a hash: one that no
 * index reaches that has less than 16 terabytes
 */
#define BetreeHashGetLockBlock(hash)	((BlockNumber) (MaxBlockNumber - ((hash) >> 33)))

extern Oid	betree_hash_proc(BetreeRel *bt, int i, Oid subtype, Oid *arg_proc);
extern bool betree_hash_init(BetreeRel *bt, BetreeHash *hash);
extern BetreeHash *betree_hash_get(BetreeRel *bt);
extern uint64 betree_hash_add(BetreeRel *bt, FmgrInfo *proc, int i,
							  Datum value, bool isnull, uint64 hash);
extern uint64 betree_hash_tuple(BetreeRel *bt, BetreeHash *hash,
								IndexTuple itup);

#endif							/* BETREE_HASH_H */
