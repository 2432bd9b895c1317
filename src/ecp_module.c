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

#include "ecp/ecp.h"
#include "fmgr.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	/* base and vector */

	/* device */

	/* ecp */
	ecp_options_init();

	/* betree */
}
