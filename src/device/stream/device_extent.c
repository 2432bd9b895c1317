/*-------------------------------------------------------------------------
 *
 * device_extent.c
 *	  Striped tables: reading extents, windows of images.
 *
 * A striped table (ecp_stripe_ddl) has a row for each extent of an image,
 * and a partition in each tablespace; neighbours lie in different ones.  One
 * worker for each device looks up in its partitions, by their indexes, the
 * extents that are wanted; workers do not communicate.
 *
 * The bytes of an extent are in the partition's TOAST table, in consecutive
 * blocks if it was written by one statement.  Read block by block, each would
 * be a request to the device, with its own latency; so the worker first looks
 * up where an extent begins and tells the operating system about the whole
 * range.  That is only a hint: the extent is then read through shared buffers
 * like any other row, wherever its chunks are.
 *
 * What leads to an extent (its row, the table's index, the TOAST table's
 * index) is about 500 bytes for 48 kB, but unless it is in memory it is read
 * block by block, each with the device's latency.  Extents that pass through
 * shared buffers displace it; ecp_extent_warm() makes that less likely.
 *
 * ecp_read_window() returns a part of a two-dimensional image, or of one plane
 * of a three-dimensional one, optionally reduced.  Each worker reduces the
 * extents that it reads, and writes the result to its place in the picture,
 * which is in shared memory.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <unistd.h>

#include "access/detoast.h"
#include "access/genam.h"
#include "access/heaptoast.h"
#include "access/skey.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/toast_internals.h"
#include "base/user_index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "common/relpath.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/block_stream.h"
#include "base/compat.h"
#include "base/stop_point.h"
#include "base/user_index.h"
#include "device/measure/device_measure.h"
#include "device/stream/device_extent.h"

#define EXTENT_SIDE_MAX		65536

/* A picture exists more than once: in shared memory, and in the result. */
#define WINDOW_BYTES_MAX	(256 * 1024 * 1024)

/* uses of a buffer that the clock sweep counts at most */
#define EXTENT_WARM_USES	5

extern PGDLLEXPORT void ecp_extent_window(const EcpJobContext *context,
										  const void *task,
										  EcpJobResult *result);

PG_FUNCTION_INFO_V1(ecp_read_window);

struct EcpExtentReader
{
	Oid			leaf;
	char	   *text;			/* of the query */
	SPIPlanPtr	plan;
	int			axes;
};

/* Where the chunks of an extent are expected. */
typedef struct ExtentRange
{
	char	   *path;			/* of the TOAST table's first segment */
	BlockNumber first;			/* InvalidBlockNumber: not known */
	BlockNumber blocks;
} ExtentRange;

/* A window that is being read; all sizes in pixels. */
typedef struct WindowTask
{
	EcpStripes	stripes;
	int32		stream;
	TimestampTz t;
	int			x,
				y,
				width,
				height;
	int			z;
	int			axes;			/* of the table: 2, or 3 with a column "z" */
	int			extent_width,
				extent_height,
				extent_depth;
	int			pixel_bytes;
	int			reduce;
} WindowTask;

/* The schema-qualified, quoted name of a relation; an error if there is none. */
char *
ecp_extent_relname(Oid relid)
{
	char	   *relname = get_rel_name(relid);
	char	   *nspname = get_namespace_name(get_rel_namespace(relid));

	if (relname == NULL || nspname == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	return quote_qualified_identifier(nspname, relname);
}

/* Is this the first relation of the query that was analyzed? */
static bool
plan_reads(SPIPlanPtr plan, Oid relid)
{
	CachedPlanSource *source = linitial(SPI_plan_get_plan_sources(plan));
	Query	   *query = linitial_node(Query, source->query_list);
	RangeTblEntry *rte = linitial_node(RangeTblEntry, query->rtable);

	return rte->rtekind == RTE_RELATION && rte->relid == relid;
}

/*
 * ecp_extent_select
 *		Execute a SELECT whose first relation is "relid", which the caller has
 *		locked, by the name that ecp_extent_relname() gave.
 *
 * *plan is NULL at first, and is kept for the next call.  The search path is one
 * that others cannot change, and the text names no functions of ours, which could
 * have overloads that fit better (tools/check_sql.sh).  But the schema of a user's
 * table may be renamed before the text is analyzed, and another take its place,
 * where a view could run functions of its owner as the caller: so what the name has
 * been found to be is looked at before anything is executed.
 */
void
ecp_extent_select(Oid relid, const char *text, SPIPlanPtr *plan, int nargs,
				  Oid *types, int options, Datum *values)
{
	int			rc;

	while (*plan == NULL || !SPI_plan_is_valid(*plan))
	{
		if (*plan != NULL)
			SPI_freeplan(*plan);
		ECP_STOP_POINT("sql-select");
		*plan = SPI_prepare_cursor(text, nargs, types, options);
		if (*plan == NULL)
			elog(ERROR, "could not prepare \"%s\": %s", text,
				 SPI_result_code_string(SPI_result));
	}
	if (!plan_reads(*plan, relid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("schema \"%s\" was renamed concurrently",
						get_namespace_name(get_rel_namespace(relid)))));

	/*
	 * A valid plan is not analyzed again: nothing waits for a lock, and so
	 * learns of changes, before that is decided.
	 */
	rc = SPI_execute_plan(*plan, values, NULL, true, 0);
	if (rc != SPI_OK_SELECT)
		elog(ERROR, "could not execute \"%s\": %s", text,
			 SPI_result_code_string(rc));
}

/*
 * Does the table have this column?  Complains if it does, but of another type: the
 * query would cast it, by functions of the table's owner where the type is one of his.
 */
static bool
extent_column(Oid parent, const char *column, Oid type)
{
	AttrNumber	attnum = get_attnum(parent, column);

	if (attnum == InvalidAttrNumber)
		return false;
	if (get_atttype(parent, attnum) != type)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of a table of extents must be of type %s",
						column, format_type_be(type))));
	return true;
}

/*
 * Check that a table has the columns of all tables of extents, and return how
 * many of the columns x, y and z it has.
 */
static int
extent_axes(Oid parent)
{
	static const struct
	{
		const char *name;
		Oid			type;
	}			columns[] = {
		{"stream", INT4OID}, {"t", TIMESTAMPTZOID}, {"data", BYTEAOID}
	};
	static const char *const axes[] = {"x", "y", "z"};
	int			n = 0;

	for (int i = 0; i < lengthof(columns); i++)
	{
		if (!extent_column(parent, columns[i].name, columns[i].type))
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not a table of extents",
							get_rel_name(parent)),
					 errdetail("It has no column \"%s\".", columns[i].name),
					 errhint("ecp_stripe_ddl() writes the statements for a table of extents.")));
	}
	while (n < lengthof(axes) && extent_column(parent, axes[n], INT4OID))
		n++;
	return n;
}

/*
 * ecp_extent_load_stripes
 *		The partitions of a table, and on which device each of them is.
 *
 * Partitions in the same tablespace are on the same device.  Locks them
 * against being dropped until the end of the transaction, and returns the
 * number of axes that the extents are numbered by: 0 if they have one number,
 * "ext".
 */
int
ecp_extent_load_stripes(Oid parent, EcpStripes *stripes)
{
	List	   *relids;
	ListCell   *lc;

	(void) ecp_extent_relname(parent);	/* an error if there is none */
	/* before locking, so that a user cannot block the tables of others */
	if (pg_class_aclcheck(parent, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(parent));
	/* find_all_inheritors() locks the children only */
	LockRelationOid(parent, AccessShareLock);
	relids = find_all_inheritors(parent, AccessShareLock, NULL);
	memset(stripes, 0, sizeof(*stripes));
	foreach(lc, relids)
	{
		Relation	rel = table_open(lfirst_oid(lc), NoLock);
		Oid			tablespace = rel->rd_rel->reltablespace;
		char		relkind = rel->rd_rel->relkind;
		char		persistence = rel->rd_rel->relpersistence;
		int			same = -1;

		table_close(rel, NoLock);
		if (relkind != RELKIND_RELATION)
			continue;
		if (persistence == RELPERSISTENCE_TEMP)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("extents of temporary table \"%s\" cannot be read by workers",
							get_rel_name(lfirst_oid(lc)))));
		if (stripes->nleaves == ECP_EXTENT_LEAVES_MAX)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("table \"%s\" has more than %d partitions",
							get_rel_name(parent), ECP_EXTENT_LEAVES_MAX)));
		for (int i = 0; i < stripes->nleaves; i++)
		{
			if (get_rel_tablespace(stripes->leaf[i]) == tablespace)
				same = stripes->device[i];
		}
		stripes->device[stripes->nleaves] =
			same >= 0 ? same : stripes->ndevices++;
		stripes->leaf[stripes->nleaves++] = lfirst_oid(lc);
	}
	if (stripes->nleaves == 0)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table with data of its own or in partitions",
						get_rel_name(parent)),
				 errhint("ecp_stripe_ddl() writes the statements for a table of extents.")));
	return extent_axes(parent);
}

/*
 * Read at most "room" blocks of a relation into shared buffers, so that they
 * stay while extents pass.  Returns the room that is left.
 */
static BlockNumber
extent_warm(Relation rel, BlockNumber room)
{
	BlockNumber blocks = Min(RelationGetNumberOfBlocks(rel), room);

	for (BlockNumber block = 0; block < blocks; block++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < EXTENT_WARM_USES; i++)
			ReleaseBuffer(ReadBuffer(rel, block));
	}
	return room - blocks;
}

/*
 * ecp_extent_warm
 *		Bring into memory what leads to the extents of a partition, as it
 *		would be where streams have been played for a while.
 *
 * These are the indexes, and the rows unless the extents themselves are in
 * them; and in this process what the system catalogs say about them.  Takes
 * "room" of the shared buffers at most, and returns what is left of it.
 */
BlockNumber
ecp_extent_warm(Oid leaf, BlockNumber room)
{
	Relation	rel = table_open(leaf, AccessShareLock);
	List	   *indexes = RelationGetIndexList(rel);
	ListCell   *lc;

	Assert(OidIsValid(leaf));
	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		room = extent_warm(index, room);
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
	if (OidIsValid(rel->rd_rel->reltoastrelid))
	{
		Relation	toast = table_open(rel->rd_rel->reltoastrelid,
									   AccessShareLock);
		Relation   *toast_indexes;
		int			nindexes;
		int			valid = toast_open_indexes(toast, AccessShareLock,
											   &toast_indexes, &nindexes);

		room = extent_warm(toast_indexes[valid], room);
		if (RelationGetNumberOfBlocks(rel) <= RelationGetNumberOfBlocks(toast))
			room = extent_warm(rel, room);
		toast_close_indexes(toast_indexes, nindexes, AccessShareLock);
		table_close(toast, AccessShareLock);
	}
	table_close(rel, AccessShareLock);
	return room;
}

/*
 * ecp_extent_open
 *		Prepare to read extents of this partition: all of a frame, if "axes" is
 *		0, or those in a box of it.
 *
 * The caller is connected to SPI, and remains so while it reads.
 */
EcpExtentReader *
ecp_extent_open(Oid leaf, int axes)
{
	EcpExtentReader *reader = palloc0_object(EcpExtentReader);
	char	   *relname = ecp_extent_relname(leaf);

	Assert(OidIsValid(leaf));
	Assert(axes == 0 || axes == 2 || axes == 3);
	reader->leaf = leaf;
	reader->axes = axes;
	reader->text = psprintf("SELECT data%s FROM ONLY %s"
							" WHERE stream OPERATOR(pg_catalog.=) $1"
							" AND t OPERATOR(pg_catalog.=) $2%s%s",
							axes > 0 ? ", x, y" : "", relname,
							axes > 0 ?
							" AND x OPERATOR(pg_catalog.>=) $3"
							" AND y OPERATOR(pg_catalog.>=) $4"
							" AND x OPERATOR(pg_catalog.<=) $5"
							" AND y OPERATOR(pg_catalog.<=) $6" : "",
							axes > 2 ?
							" AND z OPERATOR(pg_catalog.=) $7" : "");
	return reader;
}

/*
 * Find the first chunk of a value in the TOAST table's index.  The number of
 * blocks assumes that the chunks follow each other.
 */
static void
extent_locate(const struct varlena *value, ExtentRange *range)
{
	struct varatt_external pointer;
	Relation	toast;
	Relation   *indexes;
	ScanKeyData key;
	IndexScanDesc scan;
	ItemPointer tid;
	int			nindexes;
	int			valid;
	int64		chunks;

	Assert(value != NULL);
	range->first = InvalidBlockNumber;
	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return;
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	toast = table_open(pointer.va_toastrelid, AccessShareLock);
	valid = toast_open_indexes(toast, AccessShareLock, &indexes, &nindexes);
	ScanKeyInit(&key, (AttrNumber) 1, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(pointer.va_valueid));
	/* visible or not does not matter to a hint */
	scan = ecp_index_beginscan(toast, indexes[valid], SnapshotAny, 1, 0);
	index_rescan(scan, &key, 1, NULL, 0);
	tid = index_getnext_tid(scan, ForwardScanDirection);
	if (tid != NULL)
	{
		chunks = (VARATT_EXTERNAL_GET_EXTSIZE(pointer) +
				  TOAST_MAX_CHUNK_SIZE - 1) / TOAST_MAX_CHUNK_SIZE;
		range->path = ecp_relation_path(toast);
		range->first = ItemPointerGetBlockNumber(tid);
		range->blocks = (BlockNumber)
			((chunks + ItemPointerGetOffsetNumber(tid) - 1 +
			  EXTERN_TUPLES_PER_PAGE - 1) / EXTERN_TUPLES_PER_PAGE);
	}
	index_endscan(scan);
	toast_close_indexes(indexes, nindexes, AccessShareLock);
	table_close(toast, AccessShareLock);
}

/* Tell the operating system that a value is needed, or not any more. */
static void
extent_hint(const ExtentRange *range, bool needed)
{
	if (range->first != InvalidBlockNumber)
		ecp_block_hint(range->path, range->first, range->blocks, needed);
}

/*
 * ecp_extent_read
 *		Read the extents of a frame that are in the partition.
 *
 * "box" belongs to a reader that was opened for one, else it is NULL.  The
 * callback gets each extent, decompressed; it may be NULL.  "forget" asks the
 * operating system to drop what was read from its cache, so that reading it
 * again reads the device again.  Returns the bytes, and adds to *nextents.
 */
int64
ecp_extent_read(EcpExtentReader *reader, int32 stream, TimestampTz t,
				const EcpExtentBox *box, bool forget,
				EcpExtentCallback callback, void *arg, int64 *nextents)
{
	Oid			argtypes[7] = {INT4OID, TIMESTAMPTZOID, INT4OID, INT4OID,
		INT4OID, INT4OID, INT4OID};
	Datum		values[7];
	List	   *indexes;
	ExtentRange *ranges;
	SPITupleTable *table;
	int64		bytes = 0;
	int			n;

	Assert((box != NULL) == (reader->axes > 0));
	Assert(callback == NULL || box != NULL);
	values[0] = Int32GetDatum(stream);
	values[1] = TimestampTzGetDatum(t);
	if (box)
	{
		values[2] = Int32GetDatum(box->x0);
		values[3] = Int32GetDatum(box->y0);
		values[4] = Int32GetDatum(box->x1);
		values[5] = Int32GetDatum(box->y1);
		values[6] = Int32GetDatum(box->z);
	}
	indexes = ecp_indexes_fold(reader->leaf);
	/* all frames are alike: not planned anew for the first five */
	ecp_extent_select(reader->leaf, reader->text, &reader->plan,
					  box ? 4 + reader->axes : 2, argtypes,
					  box ? 0 : CURSOR_OPT_GENERIC_PLAN, values);
	ecp_indexes_close(indexes);
	table = SPI_tuptable;
	n = (int) SPI_processed;

	/* all hints before the first read, so that the device sees them together */
	ranges = palloc0_array(ExtentRange, Max(n, 1));
	for (int i = 0; i < n; i++)
	{
		bool		isnull;
		Datum		datum = SPI_getbinval(table->vals[i], table->tupdesc, 1,
										  &isnull);

		ranges[i].first = InvalidBlockNumber;
		if (!isnull)
			extent_locate((struct varlena *) DatumGetPointer(datum),
						  &ranges[i]);
		extent_hint(&ranges[i], true);
	}
	for (int i = 0; i < n; i++)
	{
		struct varlena *value;
		bool		isnull;
		Datum		datum = SPI_getbinval(table->vals[i], table->tupdesc, 1,
										  &isnull);

		CHECK_FOR_INTERRUPTS();
		if (isnull)
			continue;			/* its range has no path either */
		value = pg_detoast_datum_packed((struct varlena *) DatumGetPointer(datum));
		bytes += VARSIZE_ANY_EXHDR(value);
		(*nextents)++;
		if (callback)
		{
			int32		x = DatumGetInt32(SPI_getbinval(table->vals[i],
														table->tupdesc, 2,
														&isnull));
			int32		y = DatumGetInt32(SPI_getbinval(table->vals[i],
														table->tupdesc, 3,
														&isnull));

			callback(x, y, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value), arg);
		}
		if ((Pointer) value != DatumGetPointer(datum))
			pfree(value);
		if (forget)
			extent_hint(&ranges[i], false);
		if (ranges[i].path)
			pfree(ranges[i].path);
	}
	pfree(ranges);
	SPI_freetuptable(table);
	return bytes;
}

/*
 * Windows
 */

/* Argument of window_place(). */
typedef struct WindowTarget
{
	const WindowTask *task;
	unsigned char *picture;
} WindowTarget;

/*
 * Put the part of an extent that is in the window in its place, each square of
 * "reduce" by "reduce" pixels as their mean.  No square crosses the border of
 * an extent.  Of an extent with depth only one plane is in the window.
 */
static void
window_place(int32 x, int32 y, const char *data, Size bytes, void *arg)
{
	const WindowTarget *target = arg;
	const WindowTask *task = target->task;
	Size		plane = (Size) task->extent_width * task->extent_height *
		task->pixel_bytes;
	const unsigned char *pixels = (const unsigned char *) data +
		task->z % task->extent_depth * plane;
	int			columns = task->width / task->reduce;
	int			bpp = task->pixel_bytes;
	int64		left = (int64) x * task->extent_width;
	int64		top = (int64) y * task->extent_height;
	int64		from_x = Max(left, task->x);
	int64		from_y = Max(top, task->y);
	int64		to_x = Min(left + task->extent_width, task->x + task->width);
	int64		to_y = Min(top + task->extent_height, task->y + task->height);
	uint32		area = task->reduce * task->reduce;

	Assert(task->reduce > 0 && task->width % task->reduce == 0);
	if (bytes != plane * task->extent_depth)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("extent (%d, %d) has %zu bytes instead of %zu",
						x, y, bytes, plane * task->extent_depth)));
	for (int64 py = from_y; py < to_y; py += task->reduce)
	{
		unsigned char *out = target->picture +
			((py - task->y) / task->reduce * columns +
			 (from_x - task->x) / task->reduce) * bpp;

		CHECK_FOR_INTERRUPTS();
		for (int64 px = from_x; px < to_x; px += task->reduce)
		{
			for (int channel = 0; channel < bpp; channel++)
			{
				uint64		sum = 0;

				for (int r = 0; r < task->reduce; r++)
				{
					const unsigned char *row = pixels +
						((py - top + r) * task->extent_width +
						 px - left) * bpp + channel;

					for (int c = 0; c < task->reduce; c++)
						sum += row[c * bpp];
				}
				*out++ = (unsigned char) ((sum + area / 2) / area);
			}
		}
	}
}

/*
 * ecp_extent_window
 *		Read what this worker's devices have of the window, and reduce it.
 */
void
ecp_extent_window(const EcpJobContext *context, const void *arg,
				  EcpJobResult *result)
{
	const WindowTask *task = arg;
	WindowTarget target = {task, context->shared};
	EcpExtentBox box;

	Assert(context->shared != NULL);
	box.x0 = task->x / task->extent_width;
	box.y0 = task->y / task->extent_height;
	box.x1 = (task->x + task->width - 1) / task->extent_width;
	box.y1 = (task->y + task->height - 1) / task->extent_height;
	box.z = task->z / task->extent_depth;
	SPI_connect();
	for (int i = 0; i < task->stripes.nleaves; i++)
	{
		EcpExtentReader *reader;

		if (task->stripes.device[i] % context->nworkers != context->worker)
			continue;
		reader = ecp_extent_open(task->stripes.leaf[i], task->axes);
		result->bytes += ecp_extent_read(reader, task->stream, task->t, &box,
										 false, window_place, &target,
										 &result->ops);
	}
	SPI_finish();
}

static int
window_side(int value, int least, const char *what)
{
	if (value < least || value > EXTENT_SIDE_MAX * 1024)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be at least %d and at most %d", what, least,
						EXTENT_SIDE_MAX * 1024)));
	return value;
}

/* The arguments of ecp_read_window(), but for the table. */
static void
window_arguments(FunctionCallInfo fcinfo, WindowTask *task)
{
	task->stream = PG_GETARG_INT32(1);
	task->t = PG_GETARG_TIMESTAMPTZ(2);
	task->x = window_side(PG_GETARG_INT32(3), 0, "x");
	task->y = window_side(PG_GETARG_INT32(4), 0, "y");
	task->width = window_side(PG_GETARG_INT32(5), 1, "width");
	task->height = window_side(PG_GETARG_INT32(6), 1, "height");
	task->extent_width = window_side(PG_GETARG_INT32(7), 1, "extent_width");
	task->extent_height = window_side(PG_GETARG_INT32(8), 1, "extent_height");
	task->pixel_bytes = PG_GETARG_INT32(9);
	task->reduce = PG_GETARG_INT32(10);
	task->z = window_side(PG_GETARG_INT32(11), 0, "z");
	task->extent_depth = window_side(PG_GETARG_INT32(12), 1, "extent_depth");
	if (task->extent_width > EXTENT_SIDE_MAX ||
		task->extent_height > EXTENT_SIDE_MAX ||
		task->extent_depth > EXTENT_SIDE_MAX ||
		task->pixel_bytes < 1 || task->pixel_bytes > 16 ||
		(double) task->extent_width * task->extent_height *
		task->extent_depth * task->pixel_bytes > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("an extent must have sides of at most %d pixels, of 1 to 16 bytes each",
						EXTENT_SIDE_MAX)));
	if (task->reduce < 1 || task->reduce > 4096 ||
		task->x % task->reduce != 0 || task->y % task->reduce != 0 ||
		task->width % task->reduce != 0 || task->height % task->reduce != 0 ||
		task->extent_width % task->reduce != 0 ||
		task->extent_height % task->reduce != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("place and sizes of the window and sizes of extents must be multiples of \"reduce\" (%d)",
						task->reduce)));
	if ((double) (task->width / task->reduce) *
		(task->height / task->reduce) * task->pixel_bytes >
		WINDOW_BYTES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("window of %d by %d pixels is too large",
						task->width, task->height),
				 errhint("Ask for a smaller window, or reduce it.")));
}

/* The partitions of a table whose extents are numbered so that it has windows. */
static void
window_table(Oid parent, WindowTask *task)
{
	task->axes = ecp_extent_load_stripes(parent, &task->stripes);
	if (task->axes < 2)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" has no windows", get_rel_name(parent)),
				 errdetail("A window needs extents that are numbered by columns \"x\" and \"y\"."),
				 errhint("Create the table with ecp_stripe_ddl(dimensions => 2), or 3.")));
	if (task->axes == 2 && (task->z != 0 || task->extent_depth != 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("images of table \"%s\" have only one plane",
						get_rel_name(parent)),
				 errdetail("\"z\" and \"extent_depth\" are for tables with a column \"z\".")));
}

/*
 * ecp_read_window(parent, stream, t, x, y, width, height, extent_width,
 *				   extent_height, pixel_bytes, reduce, z, extent_depth)
 *		A part of an image, as bytes, row by row.
 *
 * Extents that are not in the table leave zeros.
 */
Datum
ecp_read_window(PG_FUNCTION_ARGS)
{
	WindowTask *task = palloc0_object(WindowTask);
	EcpJobResult results[ECP_JOB_WORKERS_MAX];
	EcpJobResult sum;
	Datum		values[6];
	bool		nulls[6] = {0};
	bytea	   *picture;
	Size		bytes;
	int			launched;

	ecp_shards_refuse(PG_GETARG_OID(0));
	window_arguments(fcinfo, task);
	bytes = (Size) (task->width / task->reduce) *
		(task->height / task->reduce) * task->pixel_bytes;

	window_table(PG_GETARG_OID(0), task);
	picture = palloc0(VARHDRSZ + bytes);
	SET_VARSIZE(picture, VARHDRSZ + bytes);
	launched = ecp_job_run(EcpJobOf(ecp_extent_window), task, sizeof(*task),
						   task->stripes.ndevices, bytes, VARDATA(picture),
						   results);
	ecp_job_sum(results, launched, &sum);

	values[0] = Int32GetDatum(task->width / task->reduce);
	values[1] = Int32GetDatum(task->height / task->reduce);
	values[2] = PointerGetDatum(picture);
	values[3] = Int64GetDatum(sum.ops);
	values[4] = Int64GetDatum(sum.bytes);
	values[5] = Int32GetDatum(launched);
	PG_RETURN_DATUM(ecp_user_row(fcinfo, lengthof(values), values, nulls));
}
