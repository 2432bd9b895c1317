/*-------------------------------------------------------------------------
 *
 * block_hint.c
 *	  Tells the operating system which blocks of a relation will be read.
 *
 * Unlike PrefetchBuffer(), of many blocks at once, which then come with few
 * requests to the device; and it does not look whether they are in shared
 * buffers.
 *
 * Used by the reading ahead of index builds and by readers of extents.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>

#include "base/block_stream.h"
#include "storage/fd.h"

void
ecp_block_hint(const char *path, BlockNumber first, BlockNumber nblocks,
			   bool needed)
{
#if defined(USE_POSIX_FADVISE) && defined(POSIX_FADV_WILLNEED) && defined(POSIX_FADV_DONTNEED)
	BlockNumber block = first;
	BlockNumber left = nblocks;

	while (left > 0)
	{
		BlockNumber segment = block / RELSEG_SIZE;
		BlockNumber here = Min(left, RELSEG_SIZE - block % RELSEG_SIZE);
		char		name[MAXPGPATH];
		int			fd;

		if (segment == 0)
			strlcpy(name, path, MAXPGPATH);
		else
			snprintf(name, MAXPGPATH, "%s.%u", path, segment);
		fd = OpenTransientFile(name, O_RDONLY | PG_BINARY);
		if (fd < 0)
			return;
		(void) posix_fadvise(fd, (off_t) (block % RELSEG_SIZE) * BLCKSZ,
							 (off_t) here * BLCKSZ,
							 needed ? POSIX_FADV_WILLNEED : POSIX_FADV_DONTNEED);
		CloseTransientFile(fd);
		block += here;
		left -= here;
	}
#endif
}
