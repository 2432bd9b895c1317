/*-------------------------------------------------------------------------
 *
 * slowdisk.c
 *	  A disk that takes its time: latency + size / throughput a request.
 *
 *	slowdisk MOUNTPOINT FOLDER SPEEDFILE PIDFILE
 *
 * A throttle of the block layer limits a rate: while a device is asked for
 * less than that, each request is served at once.  A disk is busy for a time
 * with each request, whatever the rate, and that time is what the streams of
 * test/repro/streams have to wait for.  So this is a file system in user
 * space that shows FOLDER; each read or write of a file's data is answered
 * when the latency and the size over the throughput have passed since the
 * request before it was.  Above it is the page cache, as above any file
 * system; what it serves does not get here.
 *
 * SPEEDFILE holds "LATENCY_US MB_S" and is read at the start and when SIGHUP
 * comes.  It speaks the kernel's protocol itself (linux/fuse.h) and so needs
 * no library.  Requests are served one after the other by one process, which
 * goes to the background when the mount is there and ends when that is gone.
 * If the environment names a file SLOWDISK_TRACE, each read is noted in it:
 * seconds, file, offset and size, to see what a delay was made of.
 * There is as much of a file system as a tablespace needs: no links, no
 * attributes but owner, mode and size.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define TRANSFER_MAX	(1024 * 1024)
#define BUFFER_BYTES	(TRANSFER_MAX + 65536)
#define NODES_MAX		65536
#define PATH_BYTES		4096

typedef struct Request
{
	const struct fuse_in_header *head;
	const void *in;
	const char *path;			/* of the node that it is about */
} Request;

static int	channel;			/* /dev/fuse */
static const char *speed_file;
static double latency_s;
static double bytes_s = 1e12;
static double free_at;			/* when the last request was done */
static char *node_path[NODES_MAX];	/* by number; NULL: gone */
static uint64_t nnodes = FUSE_ROOT_ID + 1;
static char transfer[TRANSFER_MAX];
static volatile sig_atomic_t got_hangup = 1;
static FILE *trace;				/* NULL: not wanted */

static void
on_hangup(int signo)
{
	(void) signo;
	got_hangup = 1;
}

static void
fail(const char *what)
{
	perror(what);
	exit(1);
}

static void
read_speed(void)
{
	double		latency_us;
	double		mb_s;
	FILE	   *file = fopen(speed_file, "r");

	if (file == NULL)
		return;
	if (fscanf(file, "%lf %lf", &latency_us, &mb_s) == 2 && mb_s > 0)
	{
		latency_s = latency_us * 1e-6;
		bytes_s = mb_s * 1e6;
	}
	fclose(file);
}

/* Wait for as long as a transfer of these bytes takes. */
static void
disk_work(uint64_t bytes)
{
	struct timespec ts;
	double		now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec + ts.tv_nsec * 1e-9;
	if (free_at < now)
		free_at = now;
	free_at += latency_s + bytes / bytes_s;
	if (free_at - now < 50e-6)
		return;
	ts.tv_sec = (time_t) free_at;
	ts.tv_nsec = (long) ((free_at - ts.tv_sec) * 1e9);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* Answer a request with an error (negative) or with a body. */
static void
reply(const Request *request, int error, const void *body, size_t bytes)
{
	struct fuse_out_header head = {0};
	struct iovec iov[2];

	head.unique = request->head->unique;
	head.error = error;
	head.len = sizeof(head) + bytes;
	iov[0].iov_base = &head;
	iov[0].iov_len = sizeof(head);
	iov[1].iov_base = (void *) body;
	iov[1].iov_len = bytes;
	/* a request may have been interrupted meanwhile: ENOENT is no error */
	if (writev(channel, iov, 2) < 0 && errno != ENOENT)
		fail("slowdisk: could not answer");
}

/* The result of a system call that returns nothing but success. */
static void
reply_status(const Request *request, int result)
{
	reply(request, result < 0 ? -errno : 0, NULL, 0);
}

static void
child_path(const Request *request, const char *name, char *path)
{
	if (snprintf(path, PATH_BYTES, "%s/%s", request->path, name) >= PATH_BYTES)
		path[0] = '\0';			/* no such file */
}

static uint64_t
node_of(const char *path)
{
	for (uint64_t n = FUSE_ROOT_ID + 1; n < nnodes; n++)
	{
		if (node_path[n] && strcmp(node_path[n], path) == 0)
			return n;
	}
	if (nnodes == NODES_MAX)
	{
		fprintf(stderr, "slowdisk: too many files\n");
		exit(1);
	}
	node_path[nnodes] = strdup(path);
	return nnodes++;
}

static void
node_gone(const char *path)
{
	uint64_t	n = node_of(path);

	free(node_path[n]);
	node_path[n] = NULL;
}

static int
fill_attr(const char *path, uint64_t node, struct fuse_attr *attr)
{
	struct stat st;

	memset(attr, 0, sizeof(*attr));
	if (lstat(path, &st) != 0)
		return -1;
	attr->ino = node;
	attr->mode = st.st_mode;
	attr->nlink = st.st_nlink;
	attr->uid = st.st_uid;
	attr->gid = st.st_gid;
	attr->size = st.st_size;
	attr->blocks = st.st_blocks;
	attr->mtime = st.st_mtime;
	attr->blksize = 4096;
	return 0;
}

static int
fill_entry(const char *path, struct fuse_entry_out *entry)
{
	memset(entry, 0, sizeof(*entry));
	if (fill_attr(path, 0, &entry->attr) != 0)
		return -1;
	entry->nodeid = entry->attr.ino = node_of(path);
	/* what was made through us is ours to know about; what is missing, not */
	entry->entry_valid = entry->attr_valid = 3600;
	return 0;
}

static void
reply_entry(const Request *request, const char *path)
{
	struct fuse_entry_out entry;

	if (fill_entry(path, &entry) != 0)
		reply(request, -errno, NULL, 0);
	else
		reply(request, 0, &entry, sizeof(entry));
}

static void
answer_init(const Request *request)
{
	const struct fuse_init_in *in = request->in;
	struct fuse_init_out out = {0};

	out.major = FUSE_KERNEL_VERSION;
	out.minor = FUSE_KERNEL_MINOR_VERSION;
	out.max_readahead = in->max_readahead;
	out.flags = in->flags & (FUSE_BIG_WRITES | FUSE_MAX_PAGES | FUSE_ASYNC_READ);
	out.max_pages = TRANSFER_MAX / 4096;
	out.max_write = TRANSFER_MAX;
	out.max_background = 64;
	out.congestion_threshold = 64;
	reply(request, 0, &out, sizeof(out));
}

/* A file belongs to the user who makes it. */
static void
give_away(const Request *request, const char *path)
{
	if (lchown(path, request->head->uid, request->head->gid) != 0)
		perror(path);
}

static void
answer_create(const Request *request)
{
	const struct fuse_create_in *in = request->in;
	struct
	{
		struct fuse_entry_out entry;
		struct fuse_open_out open;
	}			out;
	char		path[PATH_BYTES];
	int			fd;

	memset(&out, 0, sizeof(out));
	child_path(request, (const char *) (in + 1), path);
	fd = open(path, O_RDWR | O_CREAT | (in->flags & (O_EXCL | O_TRUNC)),
			  in->mode & 07777);
	if (fd < 0)
	{
		reply(request, -errno, NULL, 0);
		return;
	}
	give_away(request, path);
	if (fill_entry(path, &out.entry) != 0)
		fail(path);
	out.open.fh = fd;
	out.open.open_flags = FOPEN_KEEP_CACHE;
	reply(request, 0, &out, sizeof(out));
}

static void
answer_open(const Request *request)
{
	const struct fuse_open_in *in = request->in;
	struct fuse_open_out out = {0};
	int			fd;

	fd = open(request->path, request->head->opcode == FUSE_OPENDIR ?
			  O_RDONLY | O_DIRECTORY : O_RDWR | (in->flags & O_TRUNC));
	if (fd < 0)
	{
		reply(request, -errno, NULL, 0);
		return;
	}
	out.fh = fd;
	out.open_flags = FOPEN_KEEP_CACHE;
	reply(request, 0, &out, sizeof(out));
}

static void
answer_setattr(const Request *request)
{
	const struct fuse_setattr_in *in = request->in;
	struct fuse_attr_out out = {0};

	if (((in->valid & FATTR_MODE) && chmod(request->path, in->mode & 07777) != 0) ||
		((in->valid & (FATTR_UID | FATTR_GID)) &&
		 lchown(request->path, in->valid & FATTR_UID ? in->uid : (uid_t) -1,
				in->valid & FATTR_GID ? in->gid : (gid_t) -1) != 0) ||
		((in->valid & FATTR_SIZE) && truncate(request->path, in->size) != 0) ||
		fill_attr(request->path, request->head->nodeid, &out.attr) != 0)
		reply(request, -errno, NULL, 0);
	else
	{
		out.attr_valid = 3600;
		reply(request, 0, &out, sizeof(out));
	}
}

/* All names, again from the beginning if the offset is 0. */
static void
answer_readdir(const Request *request)
{
	const struct fuse_read_in *in = request->in;
	DIR		   *dir = opendir(request->path);
	struct dirent *entry;
	size_t		used = 0;
	uint64_t	n = 0;

	while (dir && (entry = readdir(dir)) != NULL)
	{
		size_t		length = strlen(entry->d_name);
		size_t		bytes = FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + length);
		struct fuse_dirent *out = (struct fuse_dirent *) (transfer + used);

		if (++n <= in->offset)
			continue;
		if (used + bytes > in->size || used + bytes > sizeof(transfer))
			break;
		memset(out, 0, bytes);
		out->ino = entry->d_ino;
		out->off = n;
		out->namelen = length;
		out->type = entry->d_type;
		memcpy(out->name, entry->d_name, length);
		used += bytes;
	}
	if (dir)
		closedir(dir);
	reply(request, 0, transfer, used);
}

static void
answer_read(const Request *request)
{
	const struct fuse_read_in *in = request->in;
	ssize_t		got = pread(in->fh, transfer,
							in->size < sizeof(transfer) ? in->size : sizeof(transfer),
							in->offset);

	if (trace && got > 0)
	{
		struct timespec ts;

		clock_gettime(CLOCK_MONOTONIC, &ts);
		fprintf(trace, "%.6f %s %llu %zd\n", ts.tv_sec + ts.tv_nsec * 1e-9,
				request->path, (unsigned long long) in->offset, got);
	}
	if (got > 0)
		disk_work(got);
	reply(request, got < 0 ? -errno : 0, transfer, got < 0 ? 0 : got);
}

static void
answer_write(const Request *request)
{
	const struct fuse_write_in *in = request->in;
	struct fuse_write_out out = {0};
	ssize_t		put = pwrite(in->fh, in + 1, in->size, in->offset);

	if (put < 0)
	{
		reply(request, -errno, NULL, 0);
		return;
	}
	disk_work(put);
	out.size = put;
	reply(request, 0, &out, sizeof(out));
}

static void
answer_rename(const Request *request)
{
	const struct fuse_rename_in *in = request->in;
	const char *old_name = request->head->opcode == FUSE_RENAME2 ?
		(const char *) ((const struct fuse_rename2_in *) in + 1) :
		(const char *) (in + 1);
	const char *new_name = old_name + strlen(old_name) + 1;
	char		old_path[PATH_BYTES];
	char		new_path[PATH_BYTES];
	uint64_t	n;

	child_path(request, old_name, old_path);
	snprintf(new_path, sizeof(new_path), "%s/%s", node_path[in->newdir], new_name);
	if (rename(old_path, new_path) != 0)
	{
		reply(request, -errno, NULL, 0);
		return;
	}
	node_gone(new_path);
	n = node_of(old_path);
	free(node_path[n]);
	node_path[n] = strdup(new_path);
	reply(request, 0, NULL, 0);
}

static void
answer_remove(const Request *request)
{
	char		path[PATH_BYTES];
	int			result;

	child_path(request, request->in, path);
	result = request->head->opcode == FUSE_RMDIR ? rmdir(path) : unlink(path);
	if (result == 0)
		node_gone(path);
	reply_status(request, result);
}

static void
answer_statfs(const Request *request)
{
	struct fuse_statfs_out out = {0};
	struct statvfs fs;

	if (statvfs(request->path, &fs) != 0)
	{
		reply(request, -errno, NULL, 0);
		return;
	}
	out.st.bsize = fs.f_bsize;
	out.st.frsize = fs.f_frsize;
	out.st.blocks = fs.f_blocks;
	out.st.bfree = fs.f_bfree;
	out.st.bavail = fs.f_bavail;
	out.st.namelen = 255;
	reply(request, 0, &out, sizeof(out));
}

static void
answer(const Request *request)
{
	struct fuse_attr_out attr = {0};
	char		path[PATH_BYTES];

	switch (request->head->opcode)
	{
		case FUSE_INIT:
			answer_init(request);
			break;
		case FUSE_LOOKUP:
			child_path(request, request->in, path);
			reply_entry(request, path);
			break;
		case FUSE_GETATTR:
			attr.attr_valid = 3600;
			if (fill_attr(request->path, request->head->nodeid, &attr.attr) != 0)
				reply(request, -errno, NULL, 0);
			else
				reply(request, 0, &attr, sizeof(attr));
			break;
		case FUSE_SETATTR:
			answer_setattr(request);
			break;
		case FUSE_MKDIR:
			child_path(request, (const char *) request->in +
					   sizeof(struct fuse_mkdir_in), path);
			if (mkdir(path, ((const struct fuse_mkdir_in *) request->in)->mode & 07777) != 0)
				reply(request, -errno, NULL, 0);
			else
			{
				give_away(request, path);
				reply_entry(request, path);
			}
			break;
		case FUSE_UNLINK:
		case FUSE_RMDIR:
			answer_remove(request);
			break;
		case FUSE_RENAME:
		case FUSE_RENAME2:
			answer_rename(request);
			break;
		case FUSE_CREATE:
			answer_create(request);
			break;
		case FUSE_OPEN:
		case FUSE_OPENDIR:
			answer_open(request);
			break;
		case FUSE_RELEASE:
		case FUSE_RELEASEDIR:
			close(((const struct fuse_release_in *) request->in)->fh);
			reply(request, 0, NULL, 0);
			break;
		case FUSE_READDIR:
			answer_readdir(request);
			break;
		case FUSE_READ:
			answer_read(request);
			break;
		case FUSE_WRITE:
			answer_write(request);
			break;
		case FUSE_STATFS:
			answer_statfs(request);
			break;
		case FUSE_FLUSH:
		case FUSE_FSYNC:
		case FUSE_FSYNCDIR:
			reply(request, 0, NULL, 0);
			break;
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
		case FUSE_INTERRUPT:
			break;				/* take no answer */
		default:
			reply(request, -ENOSYS, NULL, 0);
			break;
	}
}

static void
serve(void)
{
	char	   *buffer = malloc(BUFFER_BYTES);

	if (buffer == NULL)
		fail("slowdisk");
	for (;;)
	{
		ssize_t		got = read(channel, buffer, BUFFER_BYTES);
		Request		request;

		if (got_hangup)
		{
			got_hangup = 0;
			read_speed();
		}
		if (got < 0)
		{
			if (errno == EINTR || errno == EAGAIN || errno == ENOENT)
				continue;
			exit(errno == ENODEV ? 0 : 1);	/* ENODEV: unmounted */
		}
		request.head = (const struct fuse_in_header *) buffer;
		request.in = request.head + 1;
		request.path = request.head->nodeid < nnodes ?
			node_path[request.head->nodeid] : NULL;
		if (request.path == NULL)
			request.path = "";
		answer(&request);
	}
}

int
main(int argc, char **argv)
{
	struct sigaction hangup = {0};
	char		options[128];
	FILE	   *file;
	pid_t		child;

	if (argc != 5)
	{
		fprintf(stderr, "usage: slowdisk MOUNTPOINT FOLDER SPEEDFILE PIDFILE\n");
		return 2;
	}
	node_path[FUSE_ROOT_ID] = argv[2];
	speed_file = argv[3];
	umask(0);
	/* before anyone can know our number */
	hangup.sa_handler = on_hangup;
	sigaction(SIGHUP, &hangup, NULL);

	if (getenv("SLOWDISK_TRACE"))
	{
		trace = fopen(getenv("SLOWDISK_TRACE"), "a");
		if (trace == NULL)
			fail(getenv("SLOWDISK_TRACE"));
		setvbuf(trace, NULL, _IOLBF, 0);
	}
	channel = open("/dev/fuse", O_RDWR);
	if (channel < 0)
		fail("/dev/fuse");
	snprintf(options, sizeof(options),
			 "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other,default_permissions",
			 channel);
	if (mount("slowdisk", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) != 0)
		fail(argv[1]);
	child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0)
	{
		setsid();
		serve();
	}
	/* tell the parent: the mount is there, and so is our process number */
	file = fopen(argv[4], "w");
	if (file == NULL || fprintf(file, "%d\n", (int) child) < 0 ||
		fclose(file) != 0)
		fail(argv[4]);
	return 0;
}
