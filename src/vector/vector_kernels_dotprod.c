/*-------------------------------------------------------------------------
 *
 * vector_kernels_dotprod.c
 *	  Kernels for NEON with products of bytes (Armv8.2, Neoverse N1, Apple M1 and
 *	  later).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#ifdef __linux__
#include <sys/auxv.h>
#endif

#define DOTPROD

#include "vector/vector_kernels_neon.h"

#ifdef ECP_HAVE_NEON_KERNELS

static bool
kernels_supported(void)
{
#if defined(__ARM_FEATURE_DOTPROD)
	return true;				/* the compiler was told so */
#elif defined(HWCAP_ASIMDDP)
	return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
	return false;
#endif
}

#include "vector/vector_kernels_floats.h"
#include "vector/vector_kernels_bytes.h"

#endif							/* ECP_HAVE_NEON_KERNELS */
