/*-------------------------------------------------------------------------
 *
 * block_hint.h
 *	  Tells the operating system which blocks of a relation will be read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef BLOCK_HINT_H
#define BLOCK_HINT_H

#include "storage/block.h"

/*
 * These blocks of the fork whose first segment is "path" will be needed, or
 * will not be again.  Returns at once; without posix_fadvise(), or if the
 * file is not there, nothing happens.
 */
extern void ecp_block_hint(const char *path, BlockNumber first,
						   BlockNumber nblocks, bool needed);

#endif							/* BLOCK_HINT_H */
