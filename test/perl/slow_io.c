/*
 * slow_io.c: makes the temporary files of a server slow, for a test.
 *
 * To be preloaded.  A read of a file in a folder pgsql_tmp takes SLOW_READ_US
 * microseconds and its bytes at SLOW_MB_S; a write takes nothing; an fsync
 * takes SLOW_SYNC_US and, at the same rate, what this process has written to
 * such files since the last one.  Other files are as fast as they are.
 *
 * Reads take nothing between the SLOW_FAST-th time that some process asks for
 * such a file to be dropped from memory and the next one.  Processes count
 * these in the length of the file SLOW_COUNT.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static int
is_fast_now(void)
{
	struct stat status;

	return getenv("SLOW_COUNT") && stat(getenv("SLOW_COUNT"), &status) == 0 &&
		status.st_size == (off_t) figure("SLOW_FAST");
}

int
posix_fadvise(int fd, off_t offset, off_t bytes, int advice)
{
	int			(*real) (int, off_t, off_t, int) = dlsym(RTLD_NEXT, "posix_fadvise");

	if (advice == POSIX_FADV_DONTNEED && getenv("SLOW_COUNT") && is_slow(fd))
	{
		int			count = open(getenv("SLOW_COUNT"), O_WRONLY | O_APPEND | O_CREAT, 0600);

		if (count < 0 || write(count, ".", 1) != 1)
			abort();
		close(count);
	}
	return real(fd, offset, bytes, advice);
}

int
posix_fadvise64(int fd, off_t offset, off_t bytes, int advice)
{
	return posix_fadvise(fd, offset, bytes, advice);
}

ssize_t
pread(int fd, void *buffer, size_t bytes, off_t offset)
{
	ssize_t		(*real) (int, void *, size_t, off_t) = dlsym(RTLD_NEXT, "pread");

	if (is_slow(fd) && !is_fast_now())
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
