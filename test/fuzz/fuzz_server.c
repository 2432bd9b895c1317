/*-------------------------------------------------------------------------
 *
 * fuzz_server.c
 *	  What a program of libFuzzer has instead of a server: buffers, memory,
 *	  errors; and the entry points of libFuzzer.
 *
 * The folder of the environment variable FUZZ_FILES has files of sound
 * indexes, as damage_save() of test/torture writes them.  An input chooses one
 * of them by its first byte, and then damages it: two bytes for a block, two
 * for an offset, one for a number of bytes, and the bytes.  The pages are in an
 * array with a page of poisoned memory behind each, and are poisoned themselves
 * while they are not pinned, so that the address sanitizer reports reads beyond
 * a page or without a pin.  An error of the classes of damage ends the
 * reading; XX000, a wait for oneself, and a block that no file can have are
 * findings.
 *
 * What the code under test calls and is not here is at address 0.
 *
 *-------------------------------------------------------------------------
 */
#include "fuzz.h"

#include <dirent.h>
#include <sanitizer/asan_interface.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/buf_internals.h"
#include "storage/smgr.h"
#include "utils/memutils.h"

#undef printf
#undef fprintf
#undef vfprintf
#undef snprintf
#undef vsnprintf
#undef vasprintf

#define FILES_MAX		64
#define BLOCKS_MAX		4096
#define DAMAGES_MAX		32

/* Core looks for a block beyond this in another file, and does not find it. */
#define FIRST_FILE_BLOCKS	131072

static FuzzFile files[FILES_MAX];
static int	nfiles;

RelationData fuzz_relation;
const FuzzFile *fuzz_file;
static FormData_pg_class relation_form;
static SMgrRelationData relation_smgr;

/* ---- memory: all of a run is freed at its end ---- */

typedef struct Chunk
{
	struct Chunk *next;
	struct Chunk *prev;
} Chunk;

static Chunk chunks = {&chunks, &chunks};
static MemoryContextData only_context;
MemoryContext CurrentMemoryContext = &only_context;
MemoryContext TopMemoryContext = &only_context;

static void *
chunk_link(Chunk *chunk)
{
	chunk->next = chunks.next;
	chunk->prev = &chunks;
	chunk->next->prev = chunk;
	chunks.next = chunk;
	return chunk + 1;
}

static void
chunk_unlink(Chunk *chunk)
{
	chunk->next->prev = chunk->prev;
	chunk->prev->next = chunk->next;
}

void *
palloc_extended(Size size, int flags)
{
	Chunk	   *chunk;

	if (!((flags & MCXT_ALLOC_HUGE) ? AllocHugeSizeIsValid(size) : AllocSizeIsValid(size)))
		fuzz_finding("invalid memory alloc request size %zu", size);
	chunk = (flags & MCXT_ALLOC_ZERO) ? calloc(1, sizeof(Chunk) + size) : malloc(sizeof(Chunk) + size);
	return chunk_link(chunk);
}

void *
palloc(Size size)
{
	return palloc_extended(size, 0);
}

void *
palloc0(Size size)
{
	return palloc_extended(size, MCXT_ALLOC_ZERO);
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return palloc(size);
}

void *
MemoryContextAllocZero(MemoryContext context, Size size)
{
	return palloc0(size);
}

void *
MemoryContextAllocZeroAligned(MemoryContext context, Size size)
{
	return palloc0(size);
}

void *
MemoryContextAllocExtended(MemoryContext context, Size size, int flags)
{
	return palloc_extended(size, flags);
}

void
pfree(void *pointer)
{
	Chunk	   *chunk = (Chunk *) pointer - 1;

	chunk_unlink(chunk);
	free(chunk);
}

void *
repalloc_huge(void *pointer, Size size)
{
	Chunk	   *chunk = (Chunk *) pointer - 1;

	chunk_unlink(chunk);
	return chunk_link(realloc(chunk, sizeof(Chunk) + size));
}

void *
repalloc(void *pointer, Size size)
{
	if (!AllocSizeIsValid(size))
		fuzz_finding("invalid memory alloc request size %zu", size);
	return repalloc_huge(pointer, size);
}

char *
pstrdup(const char *text)
{
	return strcpy(palloc(strlen(text) + 1), text);
}

Size
add_size(Size a, Size b)
{
	return a + b;
}

Size
mul_size(Size a, Size b)
{
	return a * b;
}

MemoryContext
AllocSetContextCreateInternal(MemoryContext parent, const char *name, Size min,
							  Size init, Size max)
{
	return &only_context;
}

void
MemoryContextReset(MemoryContext context)
{
}

void
MemoryContextDelete(MemoryContext context)
{
}

void
MemoryContextRegisterResetCallback(MemoryContext context, MemoryContextCallback *callback)
{
}

/* ---- errors ---- */

sigjmp_buf *PG_exception_stack = NULL;
ErrorContextCallback *error_context_stack = NULL;
static int	error_code;
static char error_text[512];
volatile sig_atomic_t InterruptPending = false;
volatile uint32 CritSectionCount = 0;

void
fuzz_finding(const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

bool
errstart(int elevel, const char *domain)
{
	error_code = ERRCODE_INTERNAL_ERROR;
	error_text[0] = '\0';
	return elevel >= ERROR;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return errstart(elevel, domain);
}

int
errcode(int sqlerrcode)
{
	error_code = sqlerrcode;
	return 0;
}

#define ERROR_WORDS(function) \
int \
function(const char *fmt,...) \
{ \
	va_list		args; \
 \
	va_start(args, fmt); \
	vsnprintf(error_text, sizeof(error_text), fmt, args); \
	va_end(args); \
	return 0; \
}
ERROR_WORDS(errmsg)
ERROR_WORDS(errmsg_internal)

int
errdetail(const char *fmt,...)
{
	return 0;
}

int
errdetail_internal(const char *fmt,...)
{
	return 0;
}

int
errhint(const char *fmt,...)
{
	return 0;
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	if (error_code == ERRCODE_INTERNAL_ERROR)
		fuzz_finding("internal error: %s (%s:%d)", error_text, filename, lineno);
	if (getenv("FUZZ_VERBOSE"))
		fprintf(stderr, "%s (%s:%d)\n", error_text, filename, lineno);
	siglongjmp(*PG_exception_stack, 1);
}

void
pg_re_throw(void)
{
	siglongjmp(*PG_exception_stack, 1);
}

void
ProcessInterrupts(void)
{
}

/* What is to be done when an error ends a run */
static XactCallback xact_callback = NULL;

void
RegisterXactCallback(XactCallback callback, void *arg)
{
	xact_callback = callback;
}

void
RegisterSubXactCallback(SubXactCallback callback, void *arg)
{
}

int
GetCurrentTransactionNestLevel(void)
{
	return 1;
}

char *
psprintf(const char *fmt,...)
{
	va_list		args;
	char	   *text = palloc(1024);

	va_start(args, fmt);
	vsnprintf(text, 1024, fmt, args);
	va_end(args);
	return text;
}

/* ---- buffers: that of block b is number 2 b + 1 ---- */

char	   *BufferBlocks;
Block	   *LocalBufferBlockPointers;
BufferDescPadded *BufferDescriptors;
int			NBuffers = 1000;
int			NLocBuffer = 0;
int			MaxBackends = 100;
static int	pins[BLOCKS_MAX];
static int	locks[BLOCKS_MAX];	/* 0 none, n > 0 shared, -1 exclusive */

static char *
block_page(BlockNumber blk)
{
	return BufferBlocks + (Size) 2 * blk * BLCKSZ;
}

BlockNumber
BufferGetBlockNumber(Buffer buffer)
{
	if (buffer <= 0 || (buffer - 1) / 2 >= BLOCKS_MAX)
		fuzz_finding("bad buffer ID: %d", buffer);
	return (buffer - 1) / 2;
}

void
IncrBufferRefCount(Buffer buffer)
{
	BlockNumber blk = BufferGetBlockNumber(buffer);

	if (pins[blk] == 0)
		fuzz_finding("block %u is not pinned", blk);
	pins[blk]++;
}

Buffer
ReadBuffer(Relation rel, BlockNumber blk)
{
	if (blk == P_NEW)
		fuzz_finding("a reader extends the file");
	if (blk >= FIRST_FILE_BLOCKS)
		fuzz_finding("block %u is beyond any file", blk);
	if (blk >= fuzz_file->nblocks)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("could not read block %u", blk)));
	if (pins[blk]++ == 0)
		ASAN_UNPOISON_MEMORY_REGION(block_page(blk), BLCKSZ);
	return 2 * blk + 1;
}

Buffer
ReadBufferExtended(Relation rel, ForkNumber fork, BlockNumber blk,
				   ReadBufferMode mode, BufferAccessStrategy strategy)
{
	return ReadBuffer(rel, blk);
}

void
ReleaseBuffer(Buffer buffer)
{
	BlockNumber blk = BufferGetBlockNumber(buffer);

	if (pins[blk] == 0)
		fuzz_finding("block %u is released and not pinned", blk);
	if (--pins[blk] == 0)
		ASAN_POISON_MEMORY_REGION(block_page(blk), BLCKSZ);
}

Buffer
ReleaseAndReadBuffer(Buffer buffer, Relation rel, BlockNumber blk)
{
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	return ReadBuffer(rel, blk);
}

PrefetchBufferResult
PrefetchBuffer(Relation rel, ForkNumber fork, BlockNumber blk)
{
	PrefetchBufferResult nothing = {0};

	return nothing;
}

void
LockBuffer(Buffer buffer, int mode)
{
	BlockNumber blk = BufferGetBlockNumber(buffer);

	if (pins[blk] == 0)
		fuzz_finding("block %u is locked and not pinned", blk);
	if (mode == BUFFER_LOCK_UNLOCK)
	{
		if (locks[blk] == 0)
			fuzz_finding("block %u is unlocked and not locked", blk);
		locks[blk] = locks[blk] > 0 ? locks[blk] - 1 : 0;
	}
	else if (locks[blk] != 0)
		fuzz_finding("a wait for oneself at block %u", blk);
	else
		locks[blk] = mode == BUFFER_LOCK_SHARE ? 1 : -1;
}

bool
ConditionalLockBuffer(Buffer buffer)
{
	if (locks[BufferGetBlockNumber(buffer)] != 0)
		return false;
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	return true;
}

bool
LWLockHeldByMe(LWLock *lock)
{
	BufferDescPadded *desc = (BufferDescPadded *) ((char *) lock - offsetof(BufferDesc, content_lock));

	return locks[(desc - BufferDescriptors) / 2] != 0;
}

void
UnlockReleaseBuffer(Buffer buffer)
{
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	ReleaseBuffer(buffer);
}

BlockNumber
RelationGetNumberOfBlocksInFork(Relation rel, ForkNumber fork)
{
	return fuzz_file->nblocks;
}

bool
RecoveryInProgress(void)
{
	return false;
}

int
ItemPointerCompare(ItemPointer a, ItemPointer b)
{
	BlockNumber ablk = ItemPointerGetBlockNumberNoCheck(a);
	BlockNumber bblk = ItemPointerGetBlockNumberNoCheck(b);

	if (ablk != bblk)
		return ablk < bblk ? -1 : 1;
	return (int) ItemPointerGetOffsetNumberNoCheck(a) -
		(int) ItemPointerGetOffsetNumberNoCheck(b);
}

static int
popcount64(uint64 word)
{
	return __builtin_popcountll(word);
}

int			(*pg_popcount64) (uint64 word) = popcount64;

void
pg_qsort(void *base, size_t n, size_t width,
		 int (*compare) (const void *, const void *))
{
	(qsort) (base, n, width, compare);	/* not the macro */
}

/* ---- lists ---- */

List *
list_make1_impl(NodeTag type, ListCell element)
{
	List	   *list = palloc0(sizeof(List));

	list->type = type;
	list->max_length = 8;
	list->elements = palloc(8 * sizeof(ListCell));
	list->elements[0] = element;
	list->length = 1;
	return list;
}

List *
lappend(List *list, void *datum)
{
	if (list == NIL)
		return list_make1_impl(T_List, list_make_ptr_cell(datum));
	if (list->length == list->max_length)
	{
		list->max_length *= 2;
		list->elements = repalloc(list->elements, list->max_length * sizeof(ListCell));
	}
	list->elements[list->length++] = list_make_ptr_cell(datum);
	return list;
}

List *
list_concat(List *a, const List *b)
{
	for (int i = 0; b != NIL && i < b->length; i++)
		a = lappend(a, b->elements[i].ptr_value);
	return a;
}

/* ---- the runs ---- */

bool
fuzz_try(void (*function) (void *), void *arg)
{
	sigjmp_buf	here;
	bool		done = false;

	if (sigsetjmp(here, 0) == 0)
	{
		PG_exception_stack = &here;
		function(arg);
		done = true;
	}
	PG_exception_stack = NULL;
	CurrentMemoryContext = &only_context;
	if (!done && xact_callback != NULL)
		xact_callback(XACT_EVENT_ABORT, NULL);
	for (BlockNumber blk = 0; blk < fuzz_file->nblocks; blk++)
	{
		if (done && locks[blk] != 0)
			fuzz_finding("block %u is left locked", blk);
		if (pins[blk] > 0)
			ASAN_POISON_MEMORY_REGION(block_page(blk), BLCKSZ);
		pins[blk] = locks[blk] = 0;
	}
	return done;
}

static void
load_file(const char *folder, const char *name)
{
	char		path[1024];
	FILE	   *file;
	FuzzFile   *f = &files[nfiles];
	uint32		nblocks = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	if (file == NULL || fread(&nblocks, sizeof(nblocks), 1, file) != 1 ||
		nblocks > BLOCKS_MAX)
		fuzz_finding("could not read \"%s\"", path);
	f->name = strdup(name);
	f->nblocks = nblocks;
	f->pages = malloc((Size) nblocks * BLCKSZ);
	if (fread(f->pages, BLCKSZ, nblocks, file) != nblocks)
		fuzz_finding("\"%s\" is short", path);
	fclose(file);
	nfiles++;
}

int			LLVMFuzzerInitialize(int *argc, char ***argv);
int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *folder = getenv("FUZZ_FILES");
	DIR		   *dir = folder ? opendir(folder) : NULL;
	struct dirent *entry;
	char	   *names[FILES_MAX];
	int			n = 0;

	while (dir && (entry = readdir(dir)) != NULL && n < FILES_MAX)
		if (entry->d_name[0] != '.' && fuzz_accepts(entry->d_name))
			names[n++] = strdup(entry->d_name);
	if (n == 0)
		fuzz_finding("no files for this program in FUZZ_FILES");
	/* in the same order each time */
	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++)
			if (strcmp(names[j], names[i]) < 0)
			{
				char	   *name = names[i];

				names[i] = names[j];
				names[j] = name;
			}
	for (int i = 0; i < n; i++)
		load_file(folder, names[i]);
	BufferBlocks = malloc((Size) 2 * BLOCKS_MAX * BLCKSZ);
	BufferDescriptors = calloc(2 * BLOCKS_MAX, sizeof(BufferDescPadded));
	ASAN_POISON_MEMORY_REGION(BufferBlocks, (Size) 2 * BLOCKS_MAX * BLCKSZ);
	return 0;
}

/* Put the file into the buffers, unless it is there. */
static void
use_file(const FuzzFile *file)
{
	if (fuzz_file == file)
		return;
	fuzz_file = file;
	for (BlockNumber blk = 0; blk < file->nblocks; blk++)
	{
		ASAN_UNPOISON_MEMORY_REGION(block_page(blk), BLCKSZ);
		memcpy(block_page(blk), file->pages + (Size) blk * BLCKSZ, BLCKSZ);
		ASAN_POISON_MEMORY_REGION(block_page(blk), BLCKSZ);
	}
	memset(&relation_smgr, 0, sizeof(relation_smgr));
	relation_smgr.smgr_cached_nblocks[MAIN_FORKNUM] = file->nblocks;
	memset(&fuzz_relation, 0, sizeof(fuzz_relation));
	strcpy(NameStr(relation_form.relname), "fuzzed");
	relation_form.relpersistence = RELPERSISTENCE_PERMANENT;
	relation_form.relkind = RELKIND_INDEX;
	fuzz_relation.rd_rel = &relation_form;
	fuzz_relation.rd_smgr = &relation_smgr;
	fuzz_define();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	BlockNumber damaged[DAMAGES_MAX];
	int			ndamaged = 0;
	size_t		at = 1;

	if (size < 6)
		return 0;
	use_file(&files[data[0] % nfiles]);
	while (ndamaged < DAMAGES_MAX && at + 5 < size)
	{
		BlockNumber blk = (data[at] | data[at + 1] << 8) % fuzz_file->nblocks;
		int			offset = (data[at + 2] | data[at + 3] << 8) % BLCKSZ;
		int			bytes = Min(Min(1 + data[at + 4] % 32, size - at - 5), BLCKSZ - offset);

		ASAN_UNPOISON_MEMORY_REGION(block_page(blk), BLCKSZ);
		memcpy(block_page(blk) + offset, data + at + 5, bytes);
		ASAN_POISON_MEMORY_REGION(block_page(blk), BLCKSZ);
		damaged[ndamaged++] = blk;
		at += 5 + bytes;
	}
	fuzz_read(data, size);
	while (chunks.next != &chunks)
		pfree(chunks.next + 1);
	while (ndamaged-- > 0)
	{
		BlockNumber blk = damaged[ndamaged];

		ASAN_UNPOISON_MEMORY_REGION(block_page(blk), BLCKSZ);
		memcpy(block_page(blk), fuzz_file->pages + (Size) blk * BLCKSZ, BLCKSZ);
		ASAN_POISON_MEMORY_REGION(block_page(blk), BLCKSZ);
	}
	return 0;
}
