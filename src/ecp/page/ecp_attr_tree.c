/*-------------------------------------------------------------------------
 *
 * ecp_attr_tree.c
 *	  Conditions on key attributes below AND and OR: "owner = 7 OR public".
 *
 * A scan key cannot say that.  So the planner (ecp_condition.c) makes one of
 * an operator that all families of key attributes have at ECP_TREE_STRATEGY, whose
 * right side is a row of three fields for each part of the condition, operands
 * first:
 *
 *	 column		operator		value		a condition on this column of the index:
 *										=, <, <=, >, >=, <>, = ANY, <> ALL,
 *										IS NULL, IS NOT NULL; of sets of tags
 *										&&, @>, <@ in place of inequalities
 *	 count		AND, OR					of the last conditions, count of them
 *
 * Its left side is the column of the first condition, which decides nothing.
 *
 * A tree says which rows fulfil it, and not which do not: the planner leaves
 * NOT to operators.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_attr.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

typedef struct AttrTreeItem
{
	const EcpAttrLeaf *leaf;	/* NULL: AND or OR */
	int			count;			/* of its operands */
	bool		all;			/* AND */
} AttrTreeItem;

struct EcpAttrTree
{
	int			nitems;
	int			depth;			/* of the stack that is needed */
	AttrTreeItem items[FLEXIBLE_ARRAY_MEMBER];
};

#define TREE_ITEMS_MAX		(ECP_TREE_FIELDS_MAX / 3)

static const char *const tree_operators[BTMaxStrategyNumber + 1] = {
	[BTLessStrategyNumber] = "<",
	[BTLessEqualStrategyNumber] = "<=",
	[BTEqualStrategyNumber] = "=",
	[BTGreaterEqualStrategyNumber] = ">=",
	[BTGreaterStrategyNumber] = ">"
};

static const char *const tree_tags_operators[BTMaxStrategyNumber + 1] = {
	[ECP_TAGS_OVERLAP] = "&&",
	[ECP_TAGS_CONTAINS] = "@>",
	[ECP_TAGS_EQUAL] = "=",
	[ECP_TAGS_CONTAINED] = "<@"
};

const char *
ecp_attr_tree_operator(int kind, int strategy)
{
	if (strategy < 1 || strategy > BTMaxStrategyNumber)
		return NULL;
	return EcpAttrKindIsTags(kind) ? tree_tags_operators[strategy] :
		tree_operators[strategy];
}

static void
tree_refuse(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid condition for an ecp index"),
			 errdetail("Only the planner makes conditions with this operator.")));
}

/* The strategy of an operator of this name. */
static int
tree_strategy(int kind, const char *operator)
{
	for (int strategy = 1; strategy <= BTMaxStrategyNumber; strategy++)
	{
		const char *name = ecp_attr_tree_operator(kind, strategy);

		if (name != NULL && strcmp(operator, name) == 0)
			return strategy;
	}
	tree_refuse();
	return 0;					/* keep the compiler quiet */
}

/* A condition on one column. */
static EcpAttrLeaf *
tree_leaf(const EcpAttrDesc *desc, int column, const char *operator, Oid type,
		  Datum value, bool isnull)
{
	ScanKeyData key = {0};
	bool		negated = false;
	bool		all = false;

	if (column < 2 || column > desc->natts + 1)
		tree_refuse();
	key.sk_attno = column;
	key.sk_argument = value;
	key.sk_subtype = type;
	key.sk_flags = isnull ? SK_ISNULL : 0;
	key.sk_strategy = BTEqualStrategyNumber;
	if (strcmp(operator, "IS NULL") == 0)
		key.sk_flags |= SK_SEARCHNULL;
	else if (strcmp(operator, "IS NOT NULL") == 0)
		key.sk_flags |= SK_SEARCHNOTNULL;
	else if (strcmp(operator, "= ANY") == 0 || strcmp(operator, "<> ALL") == 0)
	{
		negated = operator[0] != '=';
		key.sk_flags |= SK_SEARCHARRAY;
		key.sk_subtype = get_element_type(type);

		if (negated && !isnull)
		{
			ArrayType  *array = DatumGetArrayTypeP(value);

			/* everything differs from nothing, and nothing for sure from NULL */
			all = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) == 0;
			if (array_contains_nulls(array))
				key.sk_flags |= SK_ISNULL;
		}
	}
	else if (strcmp(operator, "<>") == 0)
		negated = true;
	else
	{
		key.sk_strategy = tree_strategy(desc->kind[column - 2], operator);
	}
	/* what is compared with NULL is not true, nor is its contrary */
	if ((key.sk_flags & SK_ISNULL) != 0)
		negated = false;
	return ecp_attr_leaf_create(desc, column - 2, all ? NULL : &key, negated);
}

/* Read the fields of a row; "depth" follows the stack. */
static void
tree_add(const EcpAttrDesc *desc, EcpAttrTree *tree, TupleDesc tupdesc,
		 const Datum *values, const bool *isnull, int *depth)
{
	AttrTreeItem *item = &tree->items[tree->nitems];
	int			field = tree->nitems * 3;
	const char *operator;
	int			number;

	if (isnull[field] || isnull[field + 1] ||
		TupleDescAttr(tupdesc, field)->atttypid != INT4OID ||
		TupleDescAttr(tupdesc, field + 1)->atttypid != UNKNOWNOID)
		tree_refuse();
	number = DatumGetInt32(values[field]);
	operator = DatumGetCString(values[field + 1]);
	memset(item, 0, sizeof(AttrTreeItem));
	if (strcmp(operator, "AND") == 0 || strcmp(operator, "OR") == 0)
	{
		if (number < 1 || number > *depth)
			tree_refuse();
		item->all = operator[0] == 'A';
		item->count = number;
		*depth -= number;
	}
	else
		item->leaf = tree_leaf(desc, number, operator,
							   TupleDescAttr(tupdesc, field + 2)->atttypid,
							   values[field + 2], isnull[field + 2]);
	(*depth)++;
	tree->depth = Max(tree->depth, *depth);
	tree->nitems++;
}

EcpAttrTree *
ecp_attr_tree_create(const EcpAttrDesc *desc, const ScanKeyData *key)
{
	HeapTupleHeader row;
	HeapTupleData tuple;
	TupleDesc	tupdesc;
	EcpAttrTree *tree;
	Datum	   *values;
	bool	   *isnull;
	int			depth = 0;

	Assert(key->sk_strategy == ECP_TREE_STRATEGY);
	if ((key->sk_flags & (SK_ISNULL | SK_SEARCHARRAY)) != 0)
		tree_refuse();
	row = DatumGetHeapTupleHeader(key->sk_argument);
	tupdesc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row),
									 HeapTupleHeaderGetTypMod(row));
	if (tupdesc->natts % 3 != 0 || tupdesc->natts == 0 ||
		tupdesc->natts > ECP_TREE_FIELDS_MAX)
		tree_refuse();
	tuple.t_len = HeapTupleHeaderGetDatumLength(row);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = row;
	values = palloc_array(Datum, tupdesc->natts);
	isnull = palloc_array(bool, tupdesc->natts);
	heap_deform_tuple(&tuple, tupdesc, values, isnull);

	tree = palloc0(offsetof(EcpAttrTree, items) +
				   sizeof(AttrTreeItem) * (tupdesc->natts / 3));
	for (int i = 0; i < tupdesc->natts / 3; i++)
		tree_add(desc, tree, tupdesc, values, isnull, &depth);
	ReleaseTupleDesc(tupdesc);
	if (depth != 1)
		tree_refuse();
	return tree;
}

uint64
ecp_attr_tree_match(const EcpAttrTree *tree, const EcpGeometry *geo,
					const EcpEntryView *view, int first, int n)
{
	uint64		stack[TREE_ITEMS_MAX];
	int			depth = 0;

	Assert(tree->depth <= TREE_ITEMS_MAX);
	for (int i = 0; i < tree->nitems; i++)
	{
		const AttrTreeItem *item = &tree->items[i];
		uint64		bits;

		if (item->leaf)
			bits = ecp_attr_leaf_match(item->leaf, geo, view, first, n);
		else
		{
			bits = stack[--depth];
			for (int k = 1; k < item->count; k++)
			{
				depth--;
				bits = item->all ? bits & stack[depth] : bits | stack[depth];
			}
		}
		stack[depth++] = bits;
	}
	Assert(depth == 1);
	return stack[0];
}

PGDLLEXPORT Datum ecp_attr_tree_true(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_attr_tree_true);

/*
 * ecp_attr_tree_true(value, row) is true: where the executor checks a row again,
 * the condition of the query itself stands beside it, or nothing has been
 * left to check.
 */
Datum
ecp_attr_tree_true(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(true);
}
