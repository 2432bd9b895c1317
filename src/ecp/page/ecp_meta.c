/*-------------------------------------------------------------------------
 *
 * ecp_meta.c
 *	  The metapage: formed from the index's definition, checked against it.
 *
 * A metapage is formed when an index is created.  If neither the column nor a
 * storage parameter gives the dimensions, the first row does.  Every operation
 * on the index reads it first (ecp_meta_read_state()).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_prepare.h"
#include "ecp/page/ecp_run.h"
#include "utils/rel.h"
#include "vector/vector_value.h"

/* Limits of the rows of a cluster for any cluster_size. */
#define CLUSTER_ROWS_MIN	8
#define CLUSTER_ROWS_MAX	8192

/* So far below the limit that a fold does not cause a split. */
#define LeafTarget(leaf_max)	Max((leaf_max) / 2, 1)

/* Rows of a cluster of which a probe reads "bytes" bytes. */
uint64
ecp_meta_cluster_rows(const EcpGeometry *leaf, uint64 bytes)
{
	Assert(leaf->slots > 0);
	/* vectors, or codes instead of them */
	return bytes / ((leaf->quantizer != ECP_QUANTIZER_NONE ?
					 leaf->code_bytes + leaf->attr_bytes : leaf->row_bytes) +
					sizeof(ItemPointerData) + sizeof(uint32) * leaf->nfactors);
}

void
ecp_meta_set_cluster_rows(EcpMetaPageData *meta, const EcpGeometry *leaf,
						  uint64 rows)
{
	uint32		leaf_slots = ecp_geometry_slots(leaf, ECP_RUN_PAGES_MAX);
	EcpIndexState state;
	uint32		node_slots;

	rows = Min(Max(rows, CLUSTER_ROWS_MIN), CLUSTER_ROWS_MAX);
	leaf_slots = Max(leaf_slots - leaf_slots / 8, 2);
	meta->ecpm_leaf_max = Min(2 * rows, leaf_slots);
	meta->ecpm_leaf_target = LeafTarget(meta->ecpm_leaf_max);
	meta->ecpm_summary_bytes = ecp_summary_bytes(meta);

	state.meta = *meta;
	ecp_geometry_init(&state);
	node_slots = ecp_geometry_node_slots_max(&state.node);
	meta->ecpm_node_max = Min(ECP_FLAT_LEADERS_MAX, node_slots);
	meta->ecpm_node_target = Max(meta->ecpm_node_max / 2, 1);
}

void
ecp_meta_set_dims(Relation index, EcpMetaPageData *meta, int dims)
{
	EcpOptions	options = ecp_options_get(index);
	EcpIndexState state;
	uint64		rows = ECP_CLUSTER_ROWS;

	Assert(dims > 0 && dims <= ECP_DIMS_MAX);
	ecp_prepare_check_dims(meta, dims);
	meta->ecpm_dims = dims;
	meta->ecpm_quantizer = ecp_geometry_quantizer(options.quantizer, meta, dims);
	state.meta = *meta;
	ecp_geometry_init(&state);

	if (options.cluster_size > 0)
		rows = ecp_meta_cluster_rows(&state.leaf,
									 (uint64) options.cluster_size * 1024);
	ecp_meta_set_cluster_rows(meta, &state.leaf, rows);
}

/* What an index keeps of vectors of a column type, by the storage parameter. */
static EcpVectorsKind
meta_vectors(Relation index, EcpColumnType type, EcpMetric metric, int wanted)
{
	if (wanted == ECP_VECTORS_AUTO)
		return type == ECP_COLUMN_HALFVEC ? ECP_VECTORS_HALF : ECP_VECTORS_FULL;
	if (wanted != ECP_VECTORS_FULL &&
		ecp_column_type_elem(type) != ECP_ELEM_FLOAT32)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("storage parameter \"vectors\" of index \"%s\" cannot be \"%s\"",
						RelationGetRelationName(index),
						wanted == ECP_VECTORS_HALF ? "half" : "codes"),
				 errdetail("The elements of column \"%s\" take at most a byte each.",
						   NameStr(TupleDescAttr(RelationGetDescr(index), 0)->attname))));

	/*
	 * index-only scans are what such columns are for, and they have the
	 * vector
	 */
	if (wanted == ECP_VECTORS_CODES &&
		IndexRelationGetNumberOfAttributes(index) >
		IndexRelationGetNumberOfKeyAttributes(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" with the storage parameter vectors = codes cannot have INCLUDE columns",
						RelationGetRelationName(index)),
				 errdetail("They are for index-only scans, but exact distances come from the table.")));
	if (wanted == ECP_VECTORS_CODES && metric == ECP_METRIC_L1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" with the storage parameter vectors = codes cannot be by L1 distance",
						RelationGetRelationName(index)),
				 errdetail("Codes of four bits do not tell how far apart vectors are by that."),
				 errhint("Use vectors = half.")));
	return wanted;
}

/*
 * The kind of elements as an index stores them.  Those of a halfvec are float32
 * only while they are in memory.
 */
static EcpElem
meta_elem(EcpColumnType type, EcpVectorsKind vectors)
{
	if (vectors == ECP_VECTORS_CODES)
		return ECP_ELEM_NIBBLES;
	return vectors == ECP_VECTORS_HALF || type == ECP_COLUMN_HALFVEC ?
		ECP_ELEM_FLOAT16 : ecp_column_type_elem(type);
}

/* Can the metapage of an index on this column type say this of its vectors? */
static bool
meta_vectors_are_valid(EcpColumnType type, uint8 vectors)
{
	return vectors == ECP_VECTORS_FULL ||
		((vectors == ECP_VECTORS_HALF || vectors == ECP_VECTORS_CODES) &&
		 ecp_column_type_elem(type) == ECP_ELEM_FLOAT32);
}

void
ecp_meta_form(Relation index, EcpMetaPageData *meta)
{
	EcpOptions	options = ecp_options_get(index);
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(index), 0);
	int32		typmod = att->atttypmod;
	EcpAttrDesc attrs;
	EcpColumnType type;
	EcpMetric	metric;

	ecp_class_get(index, &type, &metric);
	ecp_attr_desc_init(index, NULL, &attrs);
	if (attrs.include_bytes > ECP_INCLUDE_BYTES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("INCLUDE columns of index \"%s\" take %zu bytes a row, at most %d are possible",
						RelationGetRelationName(index), attrs.include_bytes,
						ECP_INCLUDE_BYTES_MAX),
				 errhint("Include fewer columns, or reduce the storage parameter \"include_width\".")));

	memset(meta, 0, sizeof(EcpMetaPageData));
	meta->ecpm_magic = ECP_MAGIC;
	meta->ecpm_version = ECP_VERSION;
	meta->ecpm_min_reader = ECP_MIN_READER;
	meta->ecpm_column_type = type;
	meta->ecpm_vectors = meta_vectors(index, type, metric, options.vectors);
	meta->ecpm_elem = meta_elem(type, meta->ecpm_vectors);
	meta->ecpm_metric = metric;
	meta->ecpm_leader_elem = ecp_elem_for_leaders(meta->ecpm_elem, metric);
	ecp_attr_meta_form(&attrs, meta);
	if (options.summaries)
		meta->ecpm_summary_atts = ecp_summary_atts(index, &attrs);
	meta->ecpm_nbitmaps = 1;
	meta->ecpm_leaders = options.leaders;
	meta->ecpm_seed = options.seed;
	meta->ecpm_rotation_seed = options.seed;
	meta->ecpm_sversion = 1;
	meta->ecpm_next_run = 1;
	meta->ecpm_root.ecpc_blk = InvalidBlockNumber;
	meta->ecpm_retired_head = InvalidBlockNumber;
	meta->ecpm_retired_tail = InvalidBlockNumber;
	meta->ecpm_op.ecpi_parent = InvalidBlockNumber;

	/* the typmod is the length, but of varbit the maximum */
	if (att->atttypid == VARBITOID)
		typmod = -1;
	if (options.dims > 0 && typmod > 0 && typmod != options.dims)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("storage parameter \"dims\" is %d, but column \"%s\" has %d dimensions",
						options.dims,
						NameStr(att->attname), typmod)));
	if (typmod > ECP_DIMS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("column \"%s\" cannot have more than %d dimensions for an ecp index",
						NameStr(att->attname), ECP_DIMS_MAX),
				 errdetail("The column has %d dimensions.", typmod)));
	if (options.dims > 0 || typmod > 0)
		ecp_meta_set_dims(index, meta,
						  options.dims > 0 ? options.dims : typmod);
}

uint64
ecp_meta_take_runs(Relation index, EcpMetaPageData *meta, int n)
{
	uint64		first = meta->ecpm_next_run;

	Assert(n >= 0);
	if (first > ECP_RUN_END - n)
		ecp_report_corrupt(index, ECP_META_BLKNO,
						   "All ids of runs are given out.");
	meta->ecpm_next_run += n;
	return first;
}

void
ecp_meta_check_version(Relation index, const EcpMetaPageData *meta)
{
	if (meta->ecpm_sversion >= ECP_V_LAST)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" has run out of structure versions",
						RelationGetRelationName(index)),
				 errhint("Please REINDEX it.")));
}

/*
 * Arrays are allocated, and lists followed, for the numbers of clusters, buffers
 * and retired pages in the metapage.  Each of these has a block, except for the
 * unused pages of the last run.
 */
static bool
meta_counts_fit(Relation index, const EcpMetaPageData *meta)
{
	uint64		nruns = (uint64) meta->ecpm_nleaves + meta->ecpm_nbuffers;
	uint32		nretired = meta->ecpm_retired_pages;

	return nruns < InvalidBlockNumber &&
		ecp_page_exists(index, (BlockNumber) nruns) &&
		(nretired <= ECP_RUN_PAGES_MAX ||
		 ecp_page_exists(index, nretired - ECP_RUN_PAGES_MAX));
}

/*
 * Check the fields of the metapage from which everything else is computed.
 * Those that follow from the index's definition must agree with it, since the
 * definition determines the values that are passed to us.
 */
static void
meta_check(Relation index, const EcpMetaPageData *meta)
{
	int			nkeyatts = IndexRelationGetNumberOfKeyAttributes(index);
	EcpColumnType type;
	EcpMetric	metric;

	if (meta->ecpm_magic != ECP_MAGIC)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" has no valid ecp metapage",
						RelationGetRelationName(index)),
				 errdetail("Magic number is %08X, expected %08X.",
						   meta->ecpm_magic, ECP_MAGIC),
				 errhint("Please REINDEX it.")));
	if (meta->ecpm_min_reader > ECP_VERSION ||
		meta->ecpm_version < ECP_MIN_READER)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" has ecp format version %u, which this version does not read",
						RelationGetRelationName(index), meta->ecpm_version),
				 errhint("Please REINDEX it.")));
	ecp_class_get(index, &type, &metric);
	if (meta->ecpm_column_type != type || meta->ecpm_metric != metric ||
		!meta_vectors_are_valid(type, meta->ecpm_vectors) ||
		meta->ecpm_elem != meta_elem(type, meta->ecpm_vectors) ||
		meta->ecpm_leader_elem != ecp_elem_for_leaders(meta->ecpm_elem, metric) ||
		meta->ecpm_nkeyatts != nkeyatts ||
		meta->ecpm_ninclude != IndexRelationGetNumberOfAttributes(index) - nkeyatts)
		ecp_report_corrupt(index, ECP_META_BLKNO,
						   "The metapage is that of another definition.");
	/* also ids and versions that would wrap around */
	if (meta->ecpm_quantizer > ECP_QUANTIZER_RABITQ ||
		meta->ecpm_nbitmaps != 1 ||
		!ecp_attr_meta_is_valid(meta) || !ecp_summary_meta_is_valid(meta) ||
		meta->ecpm_dims > EcpMetaDimsMax(meta) ||
		meta->ecpm_root_level > 64 ||
		meta->ecpm_next_run == 0 || meta->ecpm_next_run > ECP_RUN_END ||
		meta->ecpm_sversion > ECP_V_LAST ||
		(meta->ecpm_dims == 0 && meta->ecpm_root.ecpc_run != 0) ||
		(meta->ecpm_root.ecpc_run != 0 && meta->ecpm_nleaves == 0) ||
		(meta->ecpm_root.ecpc_flags & ~ECP_CHILD_TRAINED) != 0 ||
		(meta->ecpm_dims > 0 &&
		 (meta->ecpm_leaf_max == 0 ||
		  meta->ecpm_leaf_target != LeafTarget(meta->ecpm_leaf_max) ||
		  meta->ecpm_node_target == 0 || meta->ecpm_node_max == 0)) ||
		!meta_counts_fit(index, meta))
		ecp_report_corrupt(index, ECP_META_BLKNO,
						   "A field of the metapage is out of range.");
}

void
ecp_meta_read_state(Relation index, EcpIndexState *state)
{
	Buffer		buffer = ReadBuffer(index, ECP_META_BLKNO);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	ecp_page_check(index, buffer, ECP_PAGE_META);
	memcpy(&state->meta, EcpPageGetMeta(BufferGetPage(buffer)),
		   sizeof(EcpMetaPageData));
	UnlockReleaseBuffer(buffer);

	meta_check(index, &state->meta);
	ecp_geometry_init(state);

	/* there are no codes of this number of elements, or they do not fit */
	if (state->meta.ecpm_dims > 0 &&
		ecp_geometry_quantizer(state->meta.ecpm_quantizer, &state->meta,
							   state->meta.ecpm_dims) != state->meta.ecpm_quantizer)
		ecp_report_corrupt(index, ECP_META_BLKNO,
						   psprintf("The quantizer cannot be that of %u dimensions.",
									state->meta.ecpm_dims));
}

/* The metapage, exclusively locked and checked. */
Buffer
ecp_meta_lock(Relation index)
{
	Buffer		buffer = ecp_page_get(index, ECP_META_BLKNO,
									  BUFFER_LOCK_EXCLUSIVE);

	ecp_page_check(index, buffer, ECP_PAGE_META);
	return buffer;
}
