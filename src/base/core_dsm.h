/*-------------------------------------------------------------------------
 *
 * core_dsm.h
 *	  Dynamic shared memory where there may be too little of it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CORE_DSM_H
#define CORE_DSM_H

#include "access/parallel.h"
#include "storage/dsm.h"

/*
 * As dsm_create(), but returns NULL if there is no room for the segment, or
 * if there are too many.
 */
extern dsm_segment *ecp_dsm_create(Size bytes);

/*
 * As InitializeParallelDSM(), but returns false if there is no room.  The
 * context can then only be destroyed.
 */
extern bool ecp_dsm_initialize(ParallelContext *pcxt);

#endif							/* CORE_DSM_H */
