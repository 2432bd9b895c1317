/*-------------------------------------------------------------------------
 *
 * ecp_user_table.c
 *	  An index together with its table, for the SQL functions that compare
 *	  what the index finds with the rows: ecp_recall.c,
 *	  ecp_knn_table.c, ecp_knn_groups.c.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/heap.h"
#include "catalog/index.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_prepare.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/*
 * Begin to evaluate what an index has of rows.  Index expressions run as the
 * table's owner, which is the current user until ecp_user_table_rows_end().
 */
void
ecp_user_table_rows_begin(EcpUserTableRows *rows, Relation heap, Relation index)
{
	Assert(index->rd_index->indrelid == RelationGetRelid(heap));
	ecp_become_owner(&rows->caller, heap);
	rows->info = BuildIndexInfo(index);
	rows->estate = CreateExecutorState();
	rows->predicate = ExecPrepareQual(rows->info->ii_Predicate, rows->estate);
	rows->slot = table_slot_create(heap, NULL);
	GetPerTupleExprContext(rows->estate)->ecxt_scantuple = rows->slot;
}

void
ecp_user_table_rows_end(EcpUserTableRows *rows)
{
	ExecDropSingleTupleTableSlot(rows->slot);
	FreeExecutorState(rows->estate);
	ecp_become_caller(&rows->caller);
}

/*
 * What is indexed of the row in rows->slot; false if that is NULL, or the
 * predicate is not true.  It lasts until the next row.
 */
bool
ecp_user_table_row_value(EcpUserTableRows *rows, Datum *value)
{
	ExprContext *econtext = GetPerTupleExprContext(rows->estate);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	Assert(!TTS_EMPTY(rows->slot));
	CHECK_FOR_INTERRUPTS();
	ResetExprContext(econtext);
	if (rows->predicate != NULL && !ExecQual(rows->predicate, econtext))
		return false;
	FormIndexDatum(rows->info, rows->slot, rows->estate, values, isnull);
	*value = values[0];
	return !isnull[0];
}

bool
ecp_user_table_row_distance(EcpUserTableRows *rows, Relation index,
							const EcpMetaPageData *meta, const void *query,
							float8 *distance)
{
	EcpVector	vector;
	Datum		value;

	if (!ecp_user_table_row_value(rows, &value))
		return false;
	ecp_vector_read(value, meta->ecpm_column_type, &vector);
	ecp_vector_check_dims(&vector, meta->ecpm_dims, RelationGetRelationName(index));
	*distance = ecp_distance(vector.elem, meta->ecpm_metric, vector.dims,
							 vector.data, query);
	ecp_vector_release(&vector);
	return true;
}

void
ecp_user_table_vectors_init(EcpUserTableVectors *vectors, const EcpIndexState *state,
							int max)
{
	vectors->max = max;
	vectors->n = 0;
	vectors->stride = ecp_vector_bytes(EcpMetaQueryElem(&state->meta),
									   state->meta.ecpm_dims);
	vectors->vectors = palloc(mul_size(max, vectors->stride) + ECP_KERNEL_SLACK);
	for (int f = 0; f < ECP_FACTORS_MAX; f++)
		vectors->factors[f] = palloc0(max * sizeof(uint32) + ECP_KERNEL_SLACK);
	vectors->prepared = palloc(state->node.vec_bytes);
}

bool
ecp_user_table_vectors_add(EcpUserTableVectors *vectors, Relation index,
						   const EcpMetaPageData *meta, Datum value)
{
	uint32		factors[ECP_FACTORS_MAX] = {0};
	EcpVector	vector;
	bool		indexed;

	Assert(vectors->n < vectors->max);
	ecp_vector_read(value, meta->ecpm_column_type, &vector);
	ecp_vector_check_dims(&vector, meta->ecpm_dims, RelationGetRelationName(index));
	indexed = ecp_prepare(meta, &vector, vectors->prepared);
	if (indexed)
	{
		memcpy(vectors->vectors + vectors->n * vectors->stride, vector.data,
			   vectors->stride);
		ecp_factors_compute(vector.elem, meta->ecpm_metric, meta->ecpm_dims,
							vector.data, factors);
		for (int f = 0; f < ECP_FACTORS_MAX; f++)
			vectors->factors[f][vectors->n] = factors[f];
		vectors->n++;
	}
	ecp_vector_release(&vector);
	return indexed;
}

/* Call the visitor with the row in the slot, if the index has it. */
static void
table_rows_visit(EcpUserTableRows *rows, EcpUserTableVisitor visitor, void *arg)
{
	Datum		value;
	MemoryContext old;

	if (!ecp_user_table_row_value(rows, &value))
		return;
	old = MemoryContextSwitchTo(GetPerTupleMemoryContext(rows->estate));
	visitor(&rows->slot->tts_tid, value, arg);
	MemoryContextSwitchTo(old);
}

/*
 * ecp_user_table_scan
 *		Visit the rows of a scan that the index has.
 */
void
ecp_user_table_scan(Relation heap, Relation index, TableScanDesc scan,
					EcpUserTableVisitor visitor, void *arg)
{
	EcpUserTableRows rows;

	Assert(scan->rs_rd == heap);
	ecp_user_table_rows_begin(&rows, heap, index);
	while (table_scan_getnextslot(scan, ForwardScanDirection, rows.slot))
		table_rows_visit(&rows, visitor, arg);
	ecp_user_table_rows_end(&rows);
}

/*
 * ecp_user_table_fetch
 *		Visit rows by their TIDs, those that the snapshot sees.
 */
void
ecp_user_table_fetch(Relation heap, Relation index, Snapshot snapshot,
					 const ItemPointerData *tids, int ntids,
					 EcpUserTableVisitor visitor, void *arg)
{
	EcpUserTableRows rows;

	Assert(ntids >= 0);
	ecp_user_table_rows_begin(&rows, heap, index);
	for (int i = 0; i < ntids; i++)
	{
		ItemPointerData tid = tids[i];

		if (table_tuple_fetch_row_version(heap, &tid, snapshot, rows.slot))
			table_rows_visit(&rows, visitor, arg);
	}
	ecp_user_table_rows_end(&rows);
}

void
ecp_user_table_column(Relation heap, const char *name, EcpUserColumn *column)
{
	const FormData_pg_attribute *att;

	column->attnum = get_attnum(RelationGetRelid(heap), name);
	if (column->attnum == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						name, RelationGetRelationName(heap))));
	att = column->attnum < 0 ? SystemAttributeDefinition(column->attnum) :
		TupleDescAttr(RelationGetDescr(heap), column->attnum - 1);
	/* from 18 on a generated column may be computed when it is read */
	if (att->attgenerated != '\0' && att->attgenerated != ATTRIBUTE_GENERATED_STORED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of relation \"%s\" is not stored",
						name, RelationGetRelationName(heap)),
				 errdetail("It is a virtual generated column."),
				 errhint("Join the rows of ecp_knn_batch() with the table.")));
	column->type = att->atttypid;
	column->collation = att->attcollation;
}

/* The value of the row in the slot, which has its TID. */
Datum
ecp_user_table_column_value(const EcpUserColumn *column, TupleTableSlot *slot,
							bool *isnull)
{
	if (column->attnum < 0)
		return slot_getsysattr(slot, column->attnum, isnull);
	return slot_getattr(slot, column->attnum, isnull);
}

/*
 * See the header.  A column may be of a domain, or of bit varying for bit; see
 * ecp_class.c for types that are converted.
 */
Oid
ecp_user_table_conversion(Relation index, Oid type, bool missing_ok)
{
	Oid			wanted = index->rd_opcintype[0];
	Oid			convert;

	if (IsBinaryCoercible(type, wanted))
		return InvalidOid;
	convert = get_opfamily_proc(index->rd_opfamily[0], getBaseType(type), wanted,
								ECP_CONVERT_PROC);
	if (!OidIsValid(convert) && !missing_ok)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("queries must be vectors of type %s, not %s",
						format_type_be(wanted), format_type_be(type)),
				 errhint("Cast them to %s.", format_type_be(wanted))));
	return convert;
}
