/*-------------------------------------------------------------------------
 *
 * betree_build.h
 *	  Building a betree index.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BETREE_BUILD_H
#define BETREE_BUILD_H

#include "access/genam.h"
#include "nodes/execnodes.h"

extern IndexBuildResult *betreebuild(Relation heap, Relation index,
									 IndexInfo *indexInfo);
extern void betreebuildempty(Relation index);
extern char *betreebuildphasename(int64 phasenum);

#endif							/* BETREE_BUILD_H */
