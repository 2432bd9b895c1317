/*
 * slow_io.c: makes the temporary files of a server slow, for a test.
 *
 * To be preloaded.  A read of a file in a folder pgsql_tmp takes SLOW_READ_US
 * microseconds and its bytes at SLOW_MB_S; a write takes nothing; an fsync
 * takes SLOW_SYNC_US and, at the same rate, what this process has written to
 * such files since the last one.  Other files are as fast as they are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static double unsynced;

static double
figure(const char *name)
{
	const char *value = getenv(name);

	return value ? atof(value) : 0;
}

static int
is_slow(int fd)
{
	char		link[64];
	char		path[4096];
	ssize_t		length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return 0;
	path[length] = '\0';
	return strstr(path, "pgsql_tmp") != NULL;
}

static void
delay(double us, double bytes)
{
	usleep((useconds_t) (us + bytes / figure("SLOW_MB_S")));
}

ssize_t
pread(int fd, void *buffer, size_t bytes, off_t offset)
{
	ssize_t		(*real) (int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread");

	if (is_slow(fd))
		delay(figure("SLOW_READ_US"), bytes);
	return real(fd, buffer, bytes, offset);
}

ssize_t
pread64(int fd, void *buffer, size_t bytes, off_t offset)
{
	return pread(fd, buffer, bytes, offset);
}

ssize_t
pwrite(int fd, const void *buffer, size_t bytes, off_t offset)
{
	ssize_t		(*real) (int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, "pwrite");

	if (is_slow(fd))
		unsynced += bytes;
	return real(fd, buffer, bytes, offset);
}

ssize_t
pwrite64(int fd, const void *buffer, size_t bytes, off_t offset)
{
	return pwrite(fd, buffer, bytes, offset);
}

ssize_t
pwritev(int fd, const struct iovec *pieces, int n, off_t offset)
{
	ssize_t		(*real) (int, const struct iovec *, int, off_t) = dlsym(RTLD_NEXT, "pwritev");

	for (int i = 0; i < n && is_slow(fd); i++)
		unsynced += pieces[i].iov_len;
	return real(fd, pieces, n, offset);
}

ssize_t
pwritev64(int fd, const struct iovec *pieces, int n, off_t offset)
{
	return pwritev(fd, pieces, n, offset);
}

int
fsync(int fd)
{
	int			(*real) (int) = dlsym(RTLD_NEXT, "fsync");

	if (is_slow(fd))
	{
		delay(figure("SLOW_SYNC_US"), unsynced);
		unsynced = 0;
	}
	return real(fd);
}
