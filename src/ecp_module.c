/*-------------------------------------------------------------------------
 *
 * ecp_module.c
 *	  The loadable module: its magic block and _PG_init.
 *
 * Holds no logic.  Each folder of src/ has an init function that defines its
 * options and chooses its kernels; they run here in the order of the layers.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/stop_point.h"
#include "betree/define/betree_define.h"
#include "betree/ingest/betree_ingest.h"
#include "betree/order/betree_order.h"
#include "betree/plan/betree_plan.h"
#include "ecp/define/ecp_define.h"
#include "ecp/plan/ecp_plan.h"
#include "ecp/search/ecp_probe.h"
#include "ecp/search/ecp_scan.h"
#include "miscadmin.h"
#include "vector/vector_distance.h"

ECP_MODULE_MAGIC("ecp", "1.0");

void		_PG_init(void);

/*
 * A notice on the way takes a cancel or a termination, and what has been defined
 * by then cannot be defined again when the library is loaded the next time.
 */
void
_PG_init(void)
{
	HOLD_INTERRUPTS();

	/* base and vector */
	ecp_stop_point_init();
	ecp_kernels_init();
	ecp_kernels_options_init();

	/* ecp */
	ecp_options_init();
	ecp_cache_init();
	ecp_path_init();
	ecp_explain_init();
	ecp_limit_init();

	/* betree */
	betree_options_init();
	betree_rel_init();
	betree_held_init();
	betree_cost_init();

	RESUME_INTERRUPTS();
}
