/*-------------------------------------------------------------------------
 *
 * damage_pages.c
 *	  A module for private servers only: damages pages of an index in shared
 *	  buffers, and puts them back.
 *
 * damage_save(index, "new") keeps the pages of an index and of its table in a
 * file of the data directory; damage_restore(index) writes those that differ
 * back, whatever statements have done to them since.  Neither is logged: a
 * server that ends in between is of no more use.
 * damage_apply(index, seed) damages what it chooses by the seed and says what:
 * a kind of page, one page of it, a kind of damage, and where it aims at a
 * field, one of those that damage_fields.c lists.  A page that core would
 * refuse on reading it, and a quarter of the others, is thrown out of the
 * buffers, so that core does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "damage.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/storage.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "storage/bufmgr.h"
#include "storage/fd.h"
#include "storage/smgr.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"

PG_MODULE_MAGIC;

/* 16: by another name */
#ifdef RelFileNodeEquals
#define DropRelationBuffers DropRelFileNodeBuffers
#endif

#define SAVED_FORKS 3			/* main, free space map, visibility map */

typedef struct SavedFork
{
	BlockNumber nblocks;
	char	   *pages;
} SavedFork;

/* The index (0) and its table (1), as they were. */
typedef struct SavedIndex
{
	Oid			index;
	SavedFork	now[2][SAVED_FORKS];
	SavedFork	old[2][SAVED_FORKS];
	DamageMap	map;
	struct SavedIndex *next;
} SavedIndex;

static SavedIndex *saved_indexes = NULL;

PG_FUNCTION_INFO_V1(damage_save);
PG_FUNCTION_INFO_V1(damage_restore);
PG_FUNCTION_INFO_V1(damage_apply);
PG_FUNCTION_INFO_V1(damage_kinds);

static char *
fork_page(const SavedFork *fork, BlockNumber blk)
{
	return fork->pages + (Size) blk * BLCKSZ;
}

static BlockNumber
fork_blocks(Relation rel, ForkNumber fork)
{
	return smgrexists(RelationGetSmgr(rel), fork) ?
		smgrnblocks(RelationGetSmgr(rel), fork) : 0;
}

static void
read_pages(Relation rel, ForkNumber fork, SavedFork *saved)
{
	saved->nblocks = fork_blocks(rel, fork);
	saved->pages = palloc0((Size) Max(saved->nblocks, 1) * BLCKSZ);
	for (BlockNumber blk = 0; blk < saved->nblocks; blk++)
	{
		Buffer		buffer = ReadBufferExtended(rel, fork, blk,
												RBM_ZERO_ON_ERROR, NULL);

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		memcpy(fork_page(saved, blk), BufferGetPage(buffer), BLCKSZ);
		UnlockReleaseBuffer(buffer);
	}
}

/* Overwrite a page, or add it to the fork's end.  True if it differed. */
static bool
write_page(Relation rel, ForkNumber fork, BlockNumber blk, const char *image)
{
	bool		exists = blk < fork_blocks(rel, fork);
	Buffer		buffer = ReadBufferExtended(rel, fork, exists ? blk : P_NEW,
											RBM_ZERO_ON_ERROR, NULL);
	bool		differs;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	differs = !exists || memcmp(BufferGetPage(buffer), image, BLCKSZ) != 0;
	if (differs)
	{
		memcpy(BufferGetPage(buffer), image, BLCKSZ);
		MarkBufferDirty(buffer);
	}
	UnlockReleaseBuffer(buffer);
	return differs;
}

static char *
saved_path(Oid index, const char *name)
{
	return psprintf("damage_%u.%s", index, name);
}

static void
transfer(FILE *file, bool write, void *data, Size bytes)
{
	if (bytes > 0 &&
		(write ? fwrite(data, bytes, 1, file) : fread(data, bytes, 1, file)) != 1)
		elog(ERROR, "could not transfer saved pages: %m");
}

static void
load_pages(Oid index, const char *name, SavedFork pages[2][SAVED_FORKS])
{
	FILE	   *file = AllocateFile(saved_path(index, name), PG_BINARY_R);

	if (file == NULL)
		elog(ERROR, "nothing is saved of index %u as \"%s\"", index, name);
	for (int i = 0; i < 2 * SAVED_FORKS; i++)
	{
		SavedFork  *fork = &pages[i / SAVED_FORKS][i % SAVED_FORKS];

		transfer(file, false, &fork->nblocks, sizeof(fork->nblocks));
		fork->pages = palloc((Size) Max(fork->nblocks, 1) * BLCKSZ);
		transfer(file, false, fork->pages, (Size) fork->nblocks * BLCKSZ);
	}
	FreeFile(file);
}

static SavedIndex *
saved_get(Relation index)
{
	SavedIndex *saved;
	MemoryContext before;

	for (saved = saved_indexes; saved != NULL; saved = saved->next)
		if (saved->index == RelationGetRelid(index))
			return saved;
	before = MemoryContextSwitchTo(TopMemoryContext);
	saved = palloc0(sizeof(SavedIndex));
	saved->index = RelationGetRelid(index);
	load_pages(saved->index, "new", saved->now);
	load_pages(saved->index, "old", saved->old);
	damage_map_init(&saved->map, index, saved->now[0][MAIN_FORKNUM].pages,
					saved->now[0][MAIN_FORKNUM].nblocks);
	saved->next = saved_indexes;
	saved_indexes = saved;
	MemoryContextSwitchTo(before);
	return saved;
}

/* damage_save(index regclass, name text): keep the pages as "old" or "new" */
Datum
damage_save(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	char	   *name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	FILE	   *file = AllocateFile(saved_path(oid, name), PG_BINARY_W);
	Relation	rels[2];

	if (file == NULL)
		elog(ERROR, "could not create \"%s\": %m", saved_path(oid, name));
	rels[1] = table_open(IndexGetRelation(oid, false), AccessExclusiveLock);
	rels[0] = index_open(oid, AccessExclusiveLock);
	for (int i = 0; i < 2 * SAVED_FORKS; i++)
	{
		SavedFork	fork;

		read_pages(rels[i / SAVED_FORKS], i % SAVED_FORKS, &fork);
		transfer(file, true, &fork.nblocks, sizeof(fork.nblocks));
		transfer(file, true, fork.pages, (Size) fork.nblocks * BLCKSZ);
		pfree(fork.pages);
	}
	if (FreeFile(file) != 0)
		elog(ERROR, "could not write \"%s\": %m", saved_path(oid, name));
	index_close(rels[0], NoLock);
	table_close(rels[1], NoLock);
	PG_RETURN_VOID();
}

static int
restore_relation(Relation rel, const SavedFork *saved)
{
	int			changed = 0;

	/* takes the other forks' ends along */
	if (fork_blocks(rel, MAIN_FORKNUM) > saved[MAIN_FORKNUM].nblocks)
		RelationTruncate(rel, saved[MAIN_FORKNUM].nblocks);
	for (int fork = 0; fork < SAVED_FORKS; fork++)
	{
		static PGAlignedBlock nothing;
		BlockNumber nblocks = fork_blocks(rel, fork);

		if (saved[fork].nblocks > 0 &&
			!smgrexists(RelationGetSmgr(rel), fork))
			smgrcreate(RelationGetSmgr(rel), fork, false);
		for (BlockNumber blk = 0; blk < saved[fork].nblocks; blk++)
			changed += write_page(rel, fork, blk, fork_page(&saved[fork], blk));
		for (BlockNumber blk = saved[fork].nblocks; blk < nblocks; blk++)
			changed += write_page(rel, fork, blk, nothing.data);
	}
	CacheInvalidateRelcache(rel);
	return changed;
}

/* damage_restore(index regclass): returns how many pages had changed */
Datum
damage_restore(PG_FUNCTION_ARGS)
{
	Oid			oid = PG_GETARG_OID(0);
	Relation	table = table_open(IndexGetRelation(oid, false),
								   AccessExclusiveLock);
	Relation	index = index_open(oid, AccessExclusiveLock);
	SavedIndex *saved = saved_get(index);
	int			changed = restore_relation(index, saved->now[0]);

	changed += restore_relation(table, saved->now[1]);
	index_close(index, NoLock);
	table_close(table, NoLock);
	PG_RETURN_INT32(changed);
}

/* ---- what is damaged, and how ---- */

typedef struct Damage
{
	SavedIndex *saved;
	const SavedFork *pages;		/* sound ones */
	pg_prng_state random;
	StringInfoData words;		/* what was done */
	BlockNumber blocks[4];		/* what was changed, and into what */
	PGAlignedBlock images[4];
	int			nblocks;
	BlockNumber cut;			/* cut the file here, or Invalid */
} Damage;

static uint64
choose(Damage *damage, uint64 n)
{
	return n < 2 ? 0 : pg_prng_uint64_range(&damage->random, 0, n - 1);
}

/* A page by its kind first, since there are few of some kinds. */
static BlockNumber
choose_block(Damage *damage)
{
	const DamageMap *map = &damage->saved->map;
	const char *kind = map->kinds[choose(damage, map->nkinds)];
	BlockNumber *list = palloc(sizeof(BlockNumber) * map->nblocks);
	int			n = 0;

	for (BlockNumber blk = 0; blk < map->nblocks; blk++)
		if (map->kind[blk] == kind)
			list[n++] = blk;
	return list[choose(damage, n)];
}

/* The image of a block, which begins as it is. */
static char *
image_of(Damage *damage, BlockNumber blk)
{
	for (int i = 0; i < damage->nblocks; i++)
		if (damage->blocks[i] == blk)
			return damage->images[i].data;
	Assert(damage->nblocks < lengthof(damage->blocks));
	damage->blocks[damage->nblocks] = blk;
	memcpy(damage->images[damage->nblocks].data,
		   fork_page(damage->pages, blk), BLCKSZ);
	return damage->images[damage->nblocks++].data;
}

static void
say(Damage *damage, BlockNumber blk, const char *what)
{
	appendStringInfo(&damage->words, "%s%s %u: %s",
					 damage->words.len > 0 ? "; " : "",
					 damage->saved->map.kind[blk], blk, what);
}

/* A value for a field of 1 to 8 bytes: what a reader may stumble over. */
static uint64
choose_value(Damage *damage, const DamageField *field, BlockNumber blk,
			 uint64 value)
{
	static const uint64 extremes[] = {
		0, 1, 2, 3, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff,
		0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
		UINT64CONST(0x7fffffffffffffff), UINT64CONST(0xffffffffffffffff)
	};
	static const uint32 floats[] = {
		0x7f800000, 0xff800000, 0x7fc00000, 0xbf800000, 0x7f7fffff, 1
	};
	BlockNumber nblocks = damage->saved->map.nblocks;

	if (field->type == DAMAGE_BLOCK && choose(damage, 4) > 0)
		switch (choose(damage, 10))
		{
			case 0:
				return blk;
			case 1:
				return InvalidBlockNumber;
			case 2:
				return nblocks;
			case 3:
				return nblocks + choose(damage, 100000);
			case 4:
				return MaxBlockNumber - choose(damage, 2);
			case 5:
				return choose(damage, 3);
			default:
				return choose_block(damage);
		}
	if (field->type == DAMAGE_FLOAT && choose(damage, 2) > 0)
		return floats[choose(damage, lengthof(floats))];
	switch (choose(damage, 6))
	{
		case 0:
			return value + 1;
		case 1:
			return value - 1;
		case 2:
			return value ^ (UINT64CONST(1) << choose(damage, 8 * field->bytes));
		case 3:
			return choose(damage, 2) ? value * 2 : value / 2;
		case 4:
			return choose(damage, PG_UINT64_MAX);
		default:
			return extremes[choose(damage, lengthof(extremes))];
	}
}

/* One field: its name first, since there are many of some names. */
static void
damage_field(Damage *damage, BlockNumber blk)
{
	char	   *image = image_of(damage, blk);
	DamageFields fields;
	DamageField *field;
	const char **names;
	int			nnames = 0;
	int			n = 0;
	const char *name;
	uint64		before = 0;
	uint64		after = 0;

	damage_fields_list(&damage->saved->map, blk, fork_page(damage->pages, blk),
					   &fields);
	names = palloc(sizeof(char *) * fields.n);
	for (int i = 0; i < fields.n; i++)
		if (nnames == 0 || strcmp(names[nnames - 1], fields.list[i].name) != 0)
			names[nnames++] = fields.list[i].name;
	name = names[choose(damage, nnames)];
	for (int i = 0; i < fields.n; i++)
		if (strcmp(fields.list[i].name, name) == 0)
			fields.list[n++] = fields.list[i];
	field = &fields.list[choose(damage, n)];
	memcpy(&before, image + field->offset, field->bytes);
	for (int i = 0; i < 20; i++)
	{
		after = choose_value(damage, field, blk, before);
		memcpy(image + field->offset, &after, field->bytes);
		after = 0;
		memcpy(&after, image + field->offset, field->bytes);
		if (after != before)
			break;
	}
	say(damage, blk, psprintf("%s at %d " UINT64_FORMAT " -> " UINT64_FORMAT,
							  field->name, field->offset, before, after));
}

/* Some bytes or aligned words, in the whole page or near its ends. */
static void
damage_bytes(Damage *damage, BlockNumber blk, int width)
{
	char	   *image = image_of(damage, blk);
	int			n = 1 + choose(damage, 6);
	int			from = 0;
	int			to = BLCKSZ;
	uint64		value;

	switch (choose(damage, 3))
	{
		case 0:
			to = 256;
			break;
		case 1:
			from = BLCKSZ - 256;
			break;
	}
	say(damage, blk, psprintf("%d x %d bytes of %d-%d", n, width, from, to));
	while (n-- > 0)
	{
		int			at = from + choose(damage, (to - from) / width) * width;

		value = choose(damage, 2) ? choose(damage, PG_UINT64_MAX) :
			choose(damage, 2) ? PG_UINT64_MAX : 0;
		memcpy(image + at, &value, width);
	}
}

/* A stretch of zeros, or of 0xff: a block of a device that was lost. */
static void
damage_stretch(Damage *damage, BlockNumber blk)
{
	char	   *image = image_of(damage, blk);
	bool		whole = choose(damage, 2) == 0;
	int			unit = choose(damage, 2) ? 512 : 4096;
	int			from = whole ? 0 : choose(damage, BLCKSZ / unit) * unit;
	int			bytes = whole ? BLCKSZ : unit;
	int			value = whole || choose(damage, 3) ? 0 : 0xff;

	memset(image + from, value, bytes);
	say(damage, blk, psprintf("%d bytes from %d are %d", bytes, from, value));
}

static void
damage_exchange(Damage *damage, BlockNumber blk)
{
	BlockNumber other = choose_block(damage);

	memcpy(image_of(damage, blk), fork_page(damage->pages, other), BLCKSZ);
	say(damage, blk, psprintf("the page of block %u", other));
	if (choose(damage, 2) && other != blk)
	{
		memcpy(image_of(damage, other), fork_page(damage->pages, blk), BLCKSZ);
		say(damage, other, psprintf("the page of block %u", blk));
	}
}

/* The page as it once was, or as it was in half. */
static void
damage_stale(Damage *damage)
{
	const SavedFork *old = &damage->saved->old[0][MAIN_FORKNUM];
	BlockNumber blk = 0;

	for (int i = 0; i < 50; i++)
	{
		blk = choose_block(damage);
		if (blk < old->nblocks &&
			memcmp(fork_page(old, blk), fork_page(damage->pages, blk), BLCKSZ) != 0)
			break;
	}
	if (blk < old->nblocks && choose(damage, 4) > 0)
	{
		memcpy(image_of(damage, blk), fork_page(old, blk), BLCKSZ);
		say(damage, blk, "stale");
	}
	else if (blk < old->nblocks)
	{
		int			bytes = 512 * (1 + choose(damage, 15));

		memcpy(image_of(damage, blk), fork_page(old, blk), bytes);
		say(damage, blk, psprintf("torn: %d bytes are stale", bytes));
	}
	else
	{
		memset(image_of(damage, blk), 0, BLCKSZ);
		say(damage, blk, "stale, which is new");
	}
}

static void
damage_choose(Damage *damage)
{
	BlockNumber blk = choose_block(damage);
	int			kind = choose(damage, 100);

	if (kind < 60)
		for (int n = choose(damage, 4) ? 1 : 2; n > 0; n--)
			damage_field(damage, choose(damage, 2) ? blk : choose_block(damage));
	else if (kind < 72)
		damage_bytes(damage, blk, 1);
	else if (kind < 80)
		damage_bytes(damage, blk, choose(damage, 2) ? 4 : 8);
	else if (kind < 86)
		damage_stretch(damage, blk);
	else if (kind < 91)
		damage_exchange(damage, blk);
	else if (kind < 97)
		damage_stale(damage);
	else
	{
		damage->cut = choose(damage, damage->saved->map.nblocks);
		say(damage, damage->cut, "the file is cut here");
	}
}

/* Would core refuse the page when it reads it? */
static bool
core_refuses(const char *image)
{
	PageHeader	header = (PageHeader) image;

	if (PageIsNew((Page) image))
		return false;
	return (header->pd_flags & ~PD_VALID_FLAG_BITS) != 0 ||
		header->pd_lower > header->pd_upper ||
		header->pd_upper > header->pd_special ||
		header->pd_special > BLCKSZ ||
		header->pd_special != MAXALIGN(header->pd_special);
}

/*
 * damage_apply(index regclass, seed bigint, forget boolean) returns text:
 * what was damaged.  Unless "forget", caches keep what they know.
 */
Datum
damage_apply(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), AccessExclusiveLock);
	Damage		damage = {.saved = saved_get(index)};
	bool		evict;

	damage.pages = &damage.saved->now[0][MAIN_FORKNUM];
	damage.cut = InvalidBlockNumber;
	initStringInfo(&damage.words);
	pg_prng_seed(&damage.random, PG_GETARG_INT64(1));
	evict = choose(&damage, 4) == 0;
	damage_choose(&damage);
	for (int i = 0; i < damage.nblocks; i++)
		if (core_refuses(damage.images[i].data))
			evict = true;
	if (evict)
	{
		ForkNumber	fork = MAIN_FORKNUM;
		BlockNumber first = 0;

		FlushRelationBuffers(index);
		DropRelationBuffers(RelationGetSmgr(index), &fork, 1, &first);
		appendStringInfoString(&damage.words, "; on disk");
	}
	for (int i = 0; i < damage.nblocks; i++)
		if (evict)
			smgrwrite(RelationGetSmgr(index), MAIN_FORKNUM, damage.blocks[i],
					  damage.images[i].data, true);
		else
			write_page(index, MAIN_FORKNUM, damage.blocks[i],
					   damage.images[i].data);
	if (damage.cut != InvalidBlockNumber)
		RelationTruncate(index, damage.cut);
	if (PG_GETARG_BOOL(2))
		CacheInvalidateRelcache(index);
	else
		appendStringInfoString(&damage.words, "; caches kept");
	index_close(index, NoLock);
	PG_RETURN_TEXT_P(cstring_to_text(damage.words.data));
}

/* damage_kinds(index regclass) returns text[]: the kinds of its pages */
Datum
damage_kinds(PG_FUNCTION_ARGS)
{
	Relation	index = index_open(PG_GETARG_OID(0), AccessShareLock);
	const DamageMap *map = &saved_get(index)->map;
	StringInfoData words;

	initStringInfo(&words);
	for (int i = 0; i < map->nkinds; i++)
	{
		int			n = 0;

		for (BlockNumber blk = 0; blk < map->nblocks; blk++)
			n += map->kind[blk] == map->kinds[i];
		appendStringInfo(&words, "%s%s %d", i > 0 ? ", " : "", map->kinds[i], n);
	}
	index_close(index, AccessShareLock);
	PG_RETURN_TEXT_P(cstring_to_text(words.data));
}
