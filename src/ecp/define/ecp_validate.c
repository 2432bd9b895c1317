/*-------------------------------------------------------------------------
 *
 * ecp_validate.c
 *	  Checks the operator classes of ecp (amvalidate); ecp_class.c says what
 *	  they must have.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "base/opclass.h"
#include "catalog/pg_type.h"
#include "ecp/define/ecp_define.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"

/* Each returns false after it has reported a fault. */
static bool
validate_function(const char *family, Form_pg_amproc form)
{
	const char *name = format_procedure(form->amproc);
	bool		converts = form->amprocnum == ECP_CONVERT_PROC;
	bool		ok = true;

	if ((form->amproclefttype != form->amprocrighttype) != converts)
		ok = ecp_opclass_fault("ecp", family,
							   psprintf(_("contains support function %s with wrong left and right input types"),
										name));
	if (form->amprocnum != ECP_CLASS_PROC && !converts)
		return ecp_opclass_fault("ecp", family,
								 psprintf(_("contains function %s with invalid support number %d"),
										  name, form->amprocnum));
	if (converts ?
		!check_amproc_signature(form->amproc, form->amprocrighttype, true, 1, 1,
								form->amproclefttype) :
		!check_amproc_signature(form->amproc, INT4OID, true, 1, 1, INTERNALOID))
		return ecp_opclass_fault("ecp", family,
								 psprintf(_("contains function %s with wrong signature for support number %d"),
										  name, form->amprocnum));
	return ok;
}

static bool
validate_operator(const char *family, Form_pg_amop form)
{
	const char *name = format_operator(form->amopopr);
	bool		ok = true;

	/* a condition on a key attribute, or the distance of a vector */
	bool		compares = form->amoppurpose == AMOP_SEARCH &&
		((form->amopstrategy >= BTLessStrategyNumber &&
		  form->amopstrategy <= BTGreaterStrategyNumber) ||
		 form->amopstrategy == ECP_TREE_STRATEGY);

	if (!compares && form->amopstrategy != ECP_DISTANCE_STRATEGY)
		ok = ecp_opclass_fault("ecp", family,
							   psprintf(_("contains operator %s with invalid strategy number %d"),
										name, form->amopstrategy));
	if (!compares &&
		(form->amoppurpose != AMOP_ORDER ||
		 !opfamily_can_sort_type(form->amopsortfamily, FLOAT8OID)))
		ok = ecp_opclass_fault("ecp", family,
							   psprintf(_("contains operator %s that does not order by double precision"),
										name));
	if (!check_amop_signature(form->amopopr, compares ? BOOLOID : FLOAT8OID,
							  form->amoplefttype, form->amoprighttype))
		ok = ecp_opclass_fault("ecp", family,
							   psprintf(_("contains operator %s with wrong signature"),
										name));
	return ok;
}

/*
 * Does the operator class have all that an index needs?  For a vector that is
 * the distance, for a key attribute (which has no ordering operator) equality.
 */
static bool
validate_complete(Form_pg_opclass class, const char *family, CatCList *operlist,
				  CatCList *proclist)
{
	int			strategy = BTEqualStrategyNumber;
	List	   *groups = identify_opfamily_groups(operlist, proclist);
	ListCell   *lc;

	for (int i = 0; i < operlist->n_members; i++)
	{
		Form_pg_amop form = (Form_pg_amop) GETSTRUCT(&operlist->members[i]->tuple);

		if (form->amoppurpose == AMOP_ORDER)
			strategy = ECP_DISTANCE_STRATEGY;
	}
	foreach(lc, groups)
	{
		OpFamilyOpFuncGroup *group = lfirst(lc);

		if (group->lefttype == class->opcintype &&
			group->righttype == class->opcintype &&
			(group->operatorset & (1 << strategy)) != 0 &&
			(group->functionset & (1 << ECP_CLASS_PROC)) != 0)
			return true;
	}

	ereport(INFO,
			(errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
			 errmsg("operator class \"%s\" of access method %s lacks operator %d or support function %d",
					NameStr(class->opcname), "ecp", strategy, ECP_CLASS_PROC)));
	return false;
}

bool
ecpvalidate(Oid opclassoid)
{
	static const EcpOpclassRules rules = {
		validate_function, validate_operator, validate_complete
	};

	return ecp_opclass_validate(opclassoid, &rules);
}
