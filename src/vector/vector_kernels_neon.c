/*-------------------------------------------------------------------------
 *
 * vector_kernels_neon.c
 *	  Kernels for NEON, which every aarch64 CPU has.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "vector/vector_kernels_neon.h"

#ifdef ECP_HAVE_NEON_KERNELS

static bool
kernels_supported(void)
{
	return true;
}

#include "vector/vector_kernels_floats.h"
#include "vector/vector_kernels_bytes.h"

#endif							/* ECP_HAVE_NEON_KERNELS */
