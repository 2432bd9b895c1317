/*-------------------------------------------------------------------------
 *
 * betree_like.c
 *	  LIKE and regular expressions with a fixed prefix, by a betree index.
 *
 * Core makes conditions for an index of "x LIKE 'a%'" (like_support.c) for the
 * operator families that it knows by their OIDs, those of btree, and of no
 * others.  Ours have the same operators under the same strategies.  So the
 * planner is told of the family of btree where our family is the counterpart
 * of one of these; the executor takes strategies from the index's own family,
 * and finds the same.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amapi.h"
#include "access/stratnum.h"
#include "base/compat.h"
#include "betree/plan/betree_plan.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/pathnodes.h"
#include "optimizer/pathnode.h"
#include "optimizer/plancat.h"
#include "utils/lsyscache.h"

/* core's families for patterns, known by type and < operator */
static const struct
{
	Oid			type;
	Oid			less;
	Oid			family;
}			families[] = {
	{TEXTOID, TextLessOperator, TEXT_BTREE_FAM_OID},
	{TEXTOID, TextPatternLessOperator, TEXT_PATTERN_BTREE_FAM_OID},
	{BPCHAROID, BpcharLessOperator, BPCHAR_BTREE_FAM_OID},
	{BPCHAROID, BpcharPatternLessOperator, BPCHAR_PATTERN_BTREE_FAM_OID},
	{BYTEAOID, ByteaLessOperator, BYTEA_BTREE_FAM_OID},
};

static EcpRelationHook previous_hook;

/* Core's counterpart of the family of an index's column, or the same */
static Oid
core_family(Oid family, Oid type)
{
	Oid			less = get_opfamily_member(family, type, type,
										   BTLessStrategyNumber);

	for (int i = 0; i < lengthof(families); i++)
	{
		if (families[i].type == type && families[i].less == less)
			return families[i].family;
	}
	return family;
}

static void
relation_info(ECP_RELATION_HOOK_ARGS)
{
	ListCell   *lc;

	if (previous_hook)
		previous_hook(ECP_RELATION_HOOK_PASSED);
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst_node(IndexOptInfo, lc);

		if ((amcostestimate_function) index->amcostestimate != betreecostestimate)
			continue;
		for (int i = 0; i < index->nkeycolumns; i++)
			index->opfamily[i] = core_family(index->opfamily[i],
											 index->opcintype[i]);
	}
}

/*
 * betree_like_init
 *		Set the hook; called once, by _PG_init.
 */
void
betree_like_init(void)
{
	previous_hook = ecp_relation_hook;
	ecp_relation_hook = relation_info;
}
