/*-------------------------------------------------------------------------
 *
 * vector_kernels.c
 *	  Chooses the kernels for this CPU.
 *
 * Called when the library is loaded, and by the setting ecp.kernels.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "vector/vector_kernels.h"

/* Best first. */
static const EcpKernels *const all_kernels[] = {
#ifdef ECP_HAVE_X86_KERNELS
	&ecp_kernels_avx512,
	&ecp_kernels_avx2,
#endif
#ifdef ECP_HAVE_NEON_KERNELS
	&ecp_kernels_dotprod,
	&ecp_kernels_neon,
#endif
	&ecp_kernels_scalar
};

const EcpKernels *ecp_kernels = &ecp_kernels_scalar;

/* The kernels of that name, or the best ones for "auto"; NULL if this CPU cannot. */
static const EcpKernels *
kernels_find(const char *name)
{
	bool		best = strcmp(name, "auto") == 0;

	for (int i = 0; i < lengthof(all_kernels); i++)
	{
		if ((best || strcmp(all_kernels[i]->name, name) == 0) &&
			all_kernels[i]->supported())
			return all_kernels[i];
	}
	return NULL;
}

void
ecp_kernels_init(void)
{
	(void) ecp_kernels_select("auto");
}

const char *
ecp_kernels_name(void)
{
	Assert(ecp_kernels != NULL);
	return ecp_kernels->name;
}

bool
ecp_kernels_available(const char *name)
{
	Assert(name != NULL);
	return kernels_find(name) != NULL;
}

bool
ecp_kernels_select(const char *name)
{
	const EcpKernels *found;

	Assert(name != NULL);
	found = kernels_find(name);
	if (found != NULL)
		ecp_kernels = found;
	return found != NULL;
}
