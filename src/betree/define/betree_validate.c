/*-------------------------------------------------------------------------
 *
 * betree_validate.c
 *	  amvalidate: is an operator class fit for betree?
 *
 * Checks what a scan relies on: for every pair of types that a family mentions,
 * the five operators of an order and the comparison function that agrees with
 * them, all with the right signatures.  Unlike btree we do not ask
 * for all pairs of the family's types: only the planner would profit, and it
 * looks at btree's families.
 *
 * Strategies above 5 are quals that do not follow the order, such as "point <@
 * box" in Z-order.  A scan tests them on every key that it meets; support
 * function 7 tells it which keys it need not meet (BetreeSkip), and a type
 * with such operators must have one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amvalidate.h"
#include "base/opclass.h"
#include "betree/define/betree_define.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"

#define ORDER_STRATEGIES \
	((1 << BTLessStrategyNumber) | (1 << BTLessEqualStrategyNumber) | \
	 (1 << BTEqualStrategyNumber) | (1 << BTGreaterEqualStrategyNumber) | \
	 (1 << BTGreaterStrategyNumber))

static bool
check_function(const char *family, Form_pg_amproc form)
{
	bool		ok;

	switch (form->amprocnum)
	{
		case BETREE_ORDER_PROC:
			ok = check_amproc_signature(form->amproc, INT4OID, true, 2, 2,
										form->amproclefttype,
										form->amprocrighttype);
			break;
		case BETREE_SORTSUPPORT_PROC:
			ok = check_amproc_signature(form->amproc, VOIDOID, true, 1, 1,
										INTERNALOID);
			break;
		case BETREE_EQUALIMAGE_PROC:
			ok = check_amproc_signature(form->amproc, BOOLOID, true, 1, 1,
										OIDOID);
			break;
		case BETREE_OPTIONS_PROC:
			ok = check_amoptsproc_signature(form->amproc);
			break;
		case BETREE_SKIP_PROC:
			ok = check_amproc_signature(form->amproc, BOOLOID, true, 1, 1,
										INTERNALOID);
			break;
		default:
			return ecp_opclass_fault("betree", family,
									 psprintf(_("contains function %s with invalid support number %d"),
											  format_procedure(form->amproc),
											  form->amprocnum));
	}

	if (!ok)
		return ecp_opclass_fault("betree", family,
								 psprintf(_("contains function %s with wrong signature for support number %d"),
										  format_procedure(form->amproc),
										  form->amprocnum));
	return true;
}

static bool
check_operator(const char *family, Form_pg_amop form)
{
	bool		ok = true;

	if (form->amopstrategy < 1 || form->amopstrategy > BETREE_STRATEGY_MAX)
		ok = ecp_opclass_fault("betree", family,
							   psprintf(_("contains operator %s with invalid strategy number %d"),
										format_operator(form->amopopr),
										form->amopstrategy));

	if (form->amoppurpose != AMOP_SEARCH || OidIsValid(form->amopsortfamily))
		ok = ecp_opclass_fault("betree", family,
							   psprintf(_("contains invalid ORDER BY specification for operator %s"),
										format_operator(form->amopopr)));

	if (!check_amop_signature(form->amopopr, BOOLOID,
							  form->amoplefttype, form->amoprighttype))
		ok = ecp_opclass_fault("betree", family,
							   psprintf(_("contains operator %s with wrong signature"),
										format_operator(form->amopopr)));
	return ok;
}

/*
 * Check what the family has for one pair of types.  *found is set if the pair
 * is (opcintype, opcintype).
 */
static bool
check_group(Oid familyoid, const char *family, OpFamilyOpFuncGroup *group,
			Oid opcintype, bool *found)
{
	uint64		order = group->operatorset & ORDER_STRATEGIES;
	uint64		quals = group->operatorset & ~ORDER_STRATEGIES;
	bool		ok = true;

	if (quals != 0 &&
		!OidIsValid(get_opfamily_proc(familyoid, group->lefttype,
									  group->lefttype, BETREE_SKIP_PROC)))
		ok = ecp_opclass_fault("betree", family,
							   psprintf(_("is missing support function %d for type %s"),
										BETREE_SKIP_PROC,
										format_type_be(group->lefttype)));

	/* "point <@ box" does not make the order one of points and boxes */
	if (order == 0 && group->functionset == 0)
		return ok;

	if (group->lefttype == opcintype && group->righttype == opcintype)
		*found = true;

	if (order != ORDER_STRATEGIES)
		ok = ecp_opclass_fault("betree", family,
							   psprintf(_("is missing operator(s) for types %s and %s"),
										format_type_be(group->lefttype),
										format_type_be(group->righttype)));
	if ((group->functionset & (1 << BETREE_ORDER_PROC)) == 0)
		ok = ecp_opclass_fault("betree", family,
							   psprintf(_("is missing support function for types %s and %s"),
										format_type_be(group->lefttype),
										format_type_be(group->righttype)));
	return ok;
}

static bool
check_complete(Form_pg_opclass class, const char *family, CatCList *operators,
			   CatCList *functions)
{
	bool		result = true;
	bool		found = false;
	ListCell   *lc;

	foreach(lc, identify_opfamily_groups(operators, functions))
		result &= check_group(class->opcfamily, family, lfirst(lc), class->opcintype,
							  &found);
	if (!found)
		ereport(INFO,
				(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				 errmsg("operator class \"%s\" of access method %s is missing operator(s)",
						NameStr(class->opcname), "betree")));
	return result && found;
}

bool
betreevalidate(Oid opclassoid)
{
	static const EcpOpclassRules rules = {check_function, check_operator, check_complete};

	return ecp_opclass_validate(opclassoid, &rules);
}
