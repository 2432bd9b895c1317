/*-------------------------------------------------------------------------
 *
 * ecp_vote.c
 *	  ecp_vote(): which image do these descriptors come from.
 *
 * A photograph has hundreds of local descriptors.  Their neighbours are more
 * often descriptors of another picture of the same scene than of any other, so
 * each descriptor of the query votes for the images that its k nearest
 * rows belong to, once for each image, and the image with the most votes
 * wins.  One wrong neighbour decides nothing, which is why an approximate
 * search is good enough here.
 *
 * The rows that ecp_knn_batch() would return are sorted by image and query, and
 * counted; what was counted is sorted by votes.  Both sorts use work_mem, and
 * files beyond it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/tableam.h"
#include "base/compat.h"
#include "base/render.h"
#include "base/user_index.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type.h"
#include "ecp/batch/ecp_knn.h"
#include "ecp/batch/ecp_user_table.h"
#include "ecp/define/ecp_options.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "parser/parse_oper.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

PGDLLEXPORT Datum ecp_vote(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_vote);

/* A column of a sort. */
typedef struct VoteKey
{
	Oid			type;
	Oid			collation;
	bool		descending;
} VoteKey;

/* Begin to sort rows of "desc" by the first nkeys of these. */
static Tuplesortstate *
vote_sort(TupleDesc *desc, int ncolumns, int nkeys, const VoteKey *keys)
{
	AttrNumber	attnums[4];
	Oid			operators[4];
	Oid			collations[4];
	bool		nulls_first[4] = {false};

	Assert(nkeys <= ncolumns && ncolumns <= 4);
	*desc = CreateTemplateTupleDesc(ncolumns);
	for (int i = 0; i < ncolumns; i++)
	{
		Oid			less;
		Oid			greater;

		TupleDescInitEntry(*desc, i + 1, "", keys[i].type, -1, 0);
		if (i >= nkeys)
			continue;
		get_sort_group_operators(keys[i].type, true, false, true,
								 &less, NULL, &greater, NULL);
		attnums[i] = i + 1;
		operators[i] = keys[i].descending ? greater : less;
		collations[i] = keys[i].collation;
	}
	TupleDescFinalize(*desc);
	return tuplesort_begin_heap(*desc, nkeys, attnums, operators, collations,
								nulls_first, work_mem, NULL, TUPLESORT_NONE);
}

static void
vote_sort_put(Tuplesortstate *sort, TupleTableSlot *slot, const Datum *values,
			  const bool *nulls)
{
	int			n = slot->tts_tupleDescriptor->natts;

	ExecClearTuple(slot);
	memcpy(slot->tts_values, values, n * sizeof(Datum));
	memcpy(slot->tts_isnull, nulls, n * sizeof(bool));
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(sort, slot);
}

/* The images of the rows that were found, sorted: image, query, distance. */
static Tuplesortstate *
vote_collect(Relation heap, const EcpUserColumn *image, EcpKnnAnswers *answers,
			 TupleDesc *desc)
{
	const VoteKey keys[] = {
		{image->type, image->collation, false},
		{INT8OID, InvalidOid, false},
		{FLOAT8OID, InvalidOid, false}
	};
	Tuplesortstate *sort = vote_sort(desc, 3, 2, keys);
	TupleTableSlot *answer = MakeSingleTupleTableSlot(answers->desc,
													  &TTSOpsMinimalTuple);
	TupleTableSlot *row = table_slot_create(heap, NULL);
	TupleTableSlot *out = MakeSingleTupleTableSlot(*desc, &TTSOpsVirtual);

	while (tuplestore_gettupleslot(answers->store, true, false, answer))
	{
		ItemPointerData tid;
		Datum		values[3];
		bool		nulls[3] = {false};

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(answer);
		tid = *(ItemPointer) DatumGetPointer(answer->tts_values[2]);
		if (!table_tuple_fetch_row_version(heap, &tid, GetActiveSnapshot(), row))
			continue;
		values[0] = ecp_user_table_column_value(image, row, &nulls[0]);
		values[1] = answer->tts_values[0];
		values[2] = answer->tts_values[3];
		vote_sort_put(sort, out, values, nulls);
	}
	ExecDropSingleTupleTableSlot(out);
	ExecDropSingleTupleTableSlot(row);
	ExecDropSingleTupleTableSlot(answer);
	tuplesort_performsort(sort);
	return sort;
}

/* An image, with what was counted of it. */
typedef struct Vote
{
	Datum		image;
	bool		isnull;
	int64		query;			/* the last */
	int64		votes;
	int64		matches;
	float8		nearest;
} Vote;

static void
vote_put(Tuplesortstate *sort, TupleTableSlot *slot, const Vote *vote, Oid type)
{
	Datum		values[4];
	bool		nulls[4] = {false};

	values[0] = Int64GetDatum(vote->votes);
	values[1] = Int64GetDatum(vote->matches);
	values[2] = Float8GetDatum(vote->nearest);
	nulls[3] = vote->isnull;
	values[3] = vote->isnull ? (Datum) 0 : ecp_render_text(vote->image, type);
	vote_sort_put(sort, slot, values, nulls);
}

/*
 * Count sorted rows into "sort", an image at a time.  Images are kept, and
 * compared, in a memory context that is reset with each new one.
 */
static void
vote_count(Tuplesortstate *rows, TupleDesc desc, const EcpUserColumn *image,
		   Tuplesortstate *sort, TupleDesc out_desc)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "ecp vote",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	TupleTableSlot *row = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	TupleTableSlot *out = MakeSingleTupleTableSlot(out_desc, &TTSOpsVirtual);
	MemoryContext group = AllocSetContextCreate(context, "ecp vote's image",
												ALLOCSET_DEFAULT_SIZES);
	FmgrInfo	equal;
	Oid			operator;
	Vote		vote = {0};

	get_sort_group_operators(image->type, false, true, false,
							 NULL, &operator, NULL, NULL);
	fmgr_info(get_opcode(operator), &equal);
	MemoryContextSwitchTo(group);
	while (tuplesort_gettupleslot(rows, true, false, row, NULL))
	{
		bool		isnull;
		int64		query;
		float8		distance;

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(row);
		isnull = row->tts_isnull[0];
		query = DatumGetInt64(row->tts_values[1]);
		distance = DatumGetFloat8(row->tts_values[2]);
		if (vote.matches > 0 &&
			(isnull != vote.isnull ||
			 (!isnull &&
			  !DatumGetBool(FunctionCall2Coll(&equal, image->collation,
											  vote.image, row->tts_values[0])))))
		{
			vote_put(sort, out, &vote, image->type);
			ExecClearTuple(out);
			MemoryContextReset(group);
			vote.matches = 0;
		}
		if (vote.matches == 0)
		{
			const FormData_pg_attribute *att = TupleDescAttr(desc, 0);

			vote.isnull = isnull;
			vote.image = isnull ? (Datum) 0 :
				datumCopy(row->tts_values[0], att->attbyval, att->attlen);
			vote.votes = 0;
			vote.nearest = distance;
		}
		if (vote.votes == 0 || query != vote.query)
			vote.votes++;
		vote.query = query;
		vote.matches++;
		vote.nearest = float8_lt(distance, vote.nearest) ? distance : vote.nearest;
	}
	if (vote.matches > 0)
		vote_put(sort, out, &vote, image->type);
	ExecDropSingleTupleTableSlot(out);
	ExecDropSingleTupleTableSlot(row);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	tuplesort_performsort(sort);
}

/* Return the images, the winner first. */
static void
vote_return(Tuplesortstate *sort, TupleDesc desc, ReturnSetInfo *rsinfo)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);

	while (tuplesort_gettupleslot(sort, true, false, slot, NULL))
	{
		Datum		values[4];
		bool		nulls[4] = {false};

		CHECK_FOR_INTERRUPTS();
		slot_getallattrs(slot);
		nulls[0] = slot->tts_isnull[3];
		values[0] = slot->tts_values[3];
		for (int i = 0; i < 3; i++)
			values[i + 1] = slot->tts_values[i];
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	ExecDropSingleTupleTableSlot(slot);
}

/*
 * ecp_vote(index regclass, queries text, image name, k int): a row for each
 * image that got a vote, the winner first.
 */
Datum
ecp_vote(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			heap_oid = ecp_user_index_table(fcinfo, ECP_INDEX_READ,
												&ecp_index_kind);
	Relation	heap = table_open(heap_oid, AccessShareLock);
	EcpUserColumn image;
	EcpKnnAnswers answers;
	TupleDesc	row_desc;
	TupleDesc	vote_desc;
	Tuplesortstate *rows;
	Tuplesortstate *votes;
	VoteKey		keys[] = {
		{INT8OID, InvalidOid, true},
		{INT8OID, InvalidOid, true},
		{FLOAT8OID, InvalidOid, false},
		{TEXTOID, DEFAULT_COLLATION_OID, false}
	};

	InitMaterializedSRF(fcinfo, 0);
	ecp_user_table_column(heap, NameStr(*PG_GETARG_NAME(2)), &image);
	if (OidIsValid(image.collation))
		keys[3].collation = image.collation;
	ecp_knn_answers_init(&answers);
	ecp_knn_answers_find(fcinfo, false, PG_GETARG_INT32(3), NULL, &answers);
	rows = vote_collect(heap, &image, &answers, &row_desc);
	tuplestore_end(answers.store);
	votes = vote_sort(&vote_desc, 4, 4, keys);
	vote_count(rows, row_desc, &image, votes, vote_desc);
	tuplesort_end(rows);
	vote_return(votes, vote_desc, rsinfo);
	tuplesort_end(votes);
	table_close(heap, AccessShareLock);
	return (Datum) 0;
}
