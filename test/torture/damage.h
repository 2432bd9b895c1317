/*-------------------------------------------------------------------------
 *
 * damage.h
 *	  What the module for damage knows of pages.
 *
 *-------------------------------------------------------------------------
 */
#ifndef DAMAGE_H
#define DAMAGE_H

#include "storage/block.h"
#include "utils/rel.h"

#define DAMAGE_KINDS_MAX	24

/* The kind of each page of a sound index. */
typedef struct DamageMap
{
	BlockNumber nblocks;
	const char **kind;			/* of each block: one of "kinds" */
	const char *kinds[DAMAGE_KINDS_MAX];
	int			nkinds;
	bool		is_ecp;
	void	   *geometry;		/* EcpIndexState, or NULL if not known */
} DamageMap;

typedef enum DamageType
{
	DAMAGE_NUMBER,
	DAMAGE_BLOCK,				/* number of a block */
	DAMAGE_FLOAT
} DamageType;

/* Fields of one name stand together in a list. */
typedef struct DamageField
{
	const char *name;
	int			offset;
	int			bytes;			/* 1 to 8 */
	DamageType	type;
} DamageField;

typedef struct DamageFields
{
	DamageField *list;
	int			n;
	int			max;
} DamageFields;

extern void damage_map_init(DamageMap *map, Relation index, char *pages,
							BlockNumber nblocks);

/* The fields of a sound page. */
extern void damage_fields_list(const DamageMap *map, BlockNumber blk,
							   char *page, DamageFields *fields);

#endif							/* DAMAGE_H */
