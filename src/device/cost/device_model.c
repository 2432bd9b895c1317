/*-------------------------------------------------------------------------
 *
 * device_model.c
 *	  The arithmetic behind "auto": seconds of a build before it is run.
 *
 * A build reads the raw vectors in pieces of in_buff, assigns each vector to
 * a cluster, and writes intermediate files that a merge turns into the index.
 * TempFiles appends to a file per cluster after each in_buff; ChunkFiles
 * sorts each in_buff and writes it as one run.
 *
 * Two laws give all the terms.
 *
 * Delay.  A piece of S bytes that is not next to the last one costs the
 * device's latency and S / throughput.  But if the next piece lies a little
 * further on, a disk need not seek: it can pass over what lies between, at no
 * more than distance / throughput.  TempFiles visits the clusters in order,
 * and its pieces are about a cluster apart; that bounds its cost on a disk,
 * while flash pays its latency.
 *
 * Coalescing.  The system keeps up to dirty_bytes of written data before it
 * starts to write them.  Appends to one cluster within that window reach the
 * device as one piece.  With v vectors for each cluster and in_buff the number
 * of appends is  rounds * C * (1 - e^-v), and the number of pieces the same
 * with the window in place of in_buff.  A burst waits for what exceeds
 * dirty_bytes.  Intermediate data of at most dirty_bytes in all stay in
 * memory: neither policy then waits for their device, and the policies differ
 * only by the files they open.
 *
 * Reading and writing the same device at a time disturb each other, which
 * MODEL_SHARED allows for; on two devices the slower one decides.  ChunkFiles
 * does not wait for what can be written while the CPU assigns; in TempFiles
 * opening and closing the files makes the writes synchronous.
 *
 * With Table 1 of the report "Impact of Storage Technology on Cluster-Based
 * High-Dimensional Indexing" and stated rates of small writes this gives its
 * Tables 2 and 3 in order, and most figures within a third; see the test
 * device_model.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <unistd.h>

#include "miscadmin.h"

#include "device/cost/device_model.h"

/*
 * Positioning costs this much more while the device is also used in the other
 * direction, unless that was measured.
 */
#define MODEL_SHARED			1.5

/* The least that a file system allocates, caches and reads. */
#define MODEL_BLOCK_BYTES		4096.0

/* A run is read in pieces of no less and no more than this. */
#define MODEL_PIECE_MIN			(16.0 * 1024)
#define MODEL_PIECE_MAX			(1024.0 * 1024)

/* CPU of one open, append and close. */
#define MODEL_OPEN_S			13e-6

/*
 * Linux starts to write back at this share of memory, and blocks writers when
 * MODEL_DIRTY_LIMIT times as much is waiting.
 */
#define MODEL_DIRTY_SHARE		0.1
#define MODEL_DIRTY_LIMIT		2.0

/*
 * ecp_model_device
 *		The four figures out of a measured profile.
 */
void
ecp_model_device(const EcpDeviceProfile *profile, EcpModelDevice *device)
{
	device->read_latency_s = profile->latency_us * 1e-6;
	device->read_bps = profile->seq_read_mb_s * 1e6;
	device->write_bps = profile->seq_write_mb_s * 1e6;
	device->small_write_s = 1.0 / profile->rand_write_iops;
	device->measured = true;
	device->step_read_s = profile->step_read_us * 1e-6;
	device->mixed_ratio = profile->mixed_ratio;
}

/*
 * ecp_model_dirty_bytes
 *		How much written data this machine keeps in memory.
 */
double
ecp_model_dirty_bytes(void)
{
	double		pages = sysconf(_SC_PHYS_PAGES);
	double		page_bytes = sysconf(_SC_PAGESIZE);

	if (pages <= 0 || page_bytes <= 0)
		return 400e6;
	return pages * page_bytes * MODEL_DIRTY_SHARE;
}

/*
 * Seconds to write a piece of "bytes" that lies "distance" after the last one.
 */
static double
model_write_piece(const EcpModelDevice *device, double bytes, double distance)
{
	double		seek = device->small_write_s + bytes / device->write_bps;

	/* small writes were measured in a burst, which the system also sorts */
	if (device->measured)
		return seek;
	return Min(seek, Max(distance, bytes) / device->write_bps);
}

/*
 * The same for reading, while the device is written to or is not.
 */
static double
model_read_piece(const EcpModelDevice *device, double bytes, double distance,
				 bool shared)
{
	double		seek = device->read_latency_s + bytes / device->read_bps;

	if (device->measured)
		return (device->step_read_s +
				Max(0.0, bytes - MODEL_BLOCK_BYTES) / device->read_bps) *
			(shared ? device->mixed_ratio : 1.0);
	return Min(seek, Max(distance, bytes) / device->read_bps) *
		(shared ? MODEL_SHARED : 1.0);
}

/* The number of in-buffs that the raw data fill. */
static double
model_rounds(const EcpBuildShape *shape)
{
	double		bytes = shape->vectors * shape->record_bytes;

	return Max(1.0, ceil(bytes / shape->in_buff_bytes));
}

/*
 * Appends if vectors are assigned in this many rounds: a cluster that gets no
 * vector in a round is not opened.
 */
static double
model_appends(const EcpBuildShape *shape, double rounds)
{
	double		per_cluster = shape->vectors / (rounds * shape->clusters);

	return rounds * shape->clusters * (1.0 - exp(-per_cluster));
}

/* Reading the raw data, with a seek for each piece. */
static double
model_raw_s(const EcpBuildShape *shape, const EcpBuildLayout *layout,
			double rounds)
{
	return shape->raw_bytes / layout->raw.read_bps +
		rounds * layout->raw.read_latency_s;
}

/*
 * ecp_model_tempfiles
 *		A file for each cluster.
 */
void
ecp_model_tempfiles(const EcpBuildShape *shape, const EcpBuildLayout *layout,
					EcpBuildCost *cost)
{
	double		bytes = shape->vectors * shape->record_bytes;
	double		leaf = bytes / shape->clusters;
	double		rounds = model_rounds(shape);
	double		window;
	double		piece;
	double		piece_s;
	double		waiting;
	double		read_s;
	double		write_s;

	Assert(shape->clusters > 0 && shape->in_buff_bytes > 0);
	memset(cost, 0, sizeof(*cost));
	cost->appends = model_appends(shape, rounds);

	/* in the cache, too, an append takes whole pages */
	window = shape->dirty_bytes /
		(cost->appends / rounds *
		 Max(bytes / cost->appends, MODEL_BLOCK_BYTES));
	cost->writes = model_appends(shape,
								 Max(1.0, rounds / Max(window, 1.0)));
	piece = bytes / cost->writes;

	cost->assign_wait_s = model_raw_s(shape, layout, rounds) +
		cost->appends * MODEL_OPEN_S;
	read_s = 0;
	waiting = 0;
	if (bytes > shape->dirty_bytes)
	{
		/*
		 * What still waits at the end is written during the merge.  (The
		 * published tables do not show this, so it is left out for devices
		 * given by figures.)
		 */
		piece_s = model_write_piece(&layout->temp, piece, leaf);
		if (layout->temp.measured)
			waiting = Min(cost->writes / 2,
						  MODEL_DIRTY_LIMIT * shape->dirty_bytes /
						  Max(piece, MODEL_BLOCK_BYTES));
		cost->assign_wait_s += (cost->writes - waiting) * piece_s;
		waiting *= piece_s;

		/* a piece was allocated where it was written: it is read as one */
		piece = Max(piece, MODEL_BLOCK_BYTES);
		read_s = bytes / piece *
			model_read_piece(&layout->temp, piece, leaf,
							 layout->temp_with_final);
	}
	write_s = bytes / layout->final.write_bps;
	cost->merge_wait_s = layout->temp_with_final ?
		read_s + write_s + waiting : Max(Max(read_s, write_s), waiting);
	cost->total_s = shape->cpu_assign_s + shape->cpu_merge_s +
		cost->assign_wait_s + cost->merge_wait_s;
}

/*
 * ecp_model_chunkfiles
 *		A sorted file for each in_buff.
 */
void
ecp_model_chunkfiles(const EcpBuildShape *shape, const EcpBuildLayout *layout,
					 EcpBuildCost *cost)
{
	double		bytes = shape->vectors * shape->record_bytes;
	double		rounds = model_rounds(shape);
	double		raw_s = model_raw_s(shape, layout, rounds);
	double		temp_s = bytes / layout->temp.write_bps;
	double		burst_s;
	double		piece;
	double		seeks;
	double		read_s;
	double		write_s;

	Assert(shape->clusters > 0 && shape->in_buff_bytes > 0);
	memset(cost, 0, sizeof(*cost));
	cost->runs = rounds;
	cost->writes = rounds;

	burst_s = rounds * Max(0.0, Min(shape->in_buff_bytes, bytes) -
						   shape->dirty_bytes) / layout->temp.write_bps;
	temp_s = Max(burst_s, temp_s - shape->cpu_assign_s);
	temp_s = Max(temp_s, 0.0);
	if (layout->temp_with_raw)
		temp_s += rounds * layout->temp.read_latency_s;
	if (bytes <= shape->dirty_bytes)
		temp_s = 0;

	/* the sum on one device, the larger one on two */
	cost->assign_wait_s = layout->temp_with_raw ?
		raw_s + temp_s : Max(raw_s, temp_s);

	/* each run has a share of the memory to read into */
	piece = shape->in_buff_bytes / rounds;
	if (shape->merge_bytes > 0)
		piece = Max(Min(shape->merge_bytes / rounds, MODEL_PIECE_MAX),
					MODEL_PIECE_MIN);
	seeks = Max(rounds, bytes / piece);
	if (layout->temp_with_final)
		seeks *= 2;				/* there, and back to the output */
	read_s = bytes <= shape->dirty_bytes ? 0 :
		bytes / layout->temp.read_bps + seeks * layout->temp.read_latency_s;
	write_s = bytes / layout->final.write_bps;
	cost->merge_wait_s = layout->temp_with_final ?
		read_s + write_s : Max(read_s, write_s);
	cost->total_s = shape->cpu_assign_s + shape->cpu_merge_s +
		cost->assign_wait_s + cost->merge_wait_s;
}

/*
 * ecp_model_choose_policy
 *		Choose the policy that is faster with the data in these tablespaces.
 *
 * InvalidOid is the default tablespace of the database.  Tablespaces that
 * were not measured count as the default profile, and choice->measured says so.
 * Returns choice->chunkfiles.
 */
bool
ecp_model_choose_policy(const EcpBuildShape *shape, Oid raw, Oid temp,
						Oid final, EcpBuildChoice *choice)
{
	EcpDeviceProfile profile;
	EcpBuildLayout layout;

	Assert(shape->vectors >= 0 && shape->in_buff_bytes > 0);
	raw = OidIsValid(raw) ? raw : MyDatabaseTableSpace;
	temp = OidIsValid(temp) ? temp : MyDatabaseTableSpace;
	final = OidIsValid(final) ? final : MyDatabaseTableSpace;
	choice->measured = ecp_device_profile_read(raw, &profile);
	ecp_model_device(&profile, &layout.raw);
	choice->measured &= ecp_device_profile_read(temp, &profile);
	ecp_model_device(&profile, &layout.temp);
	choice->measured &= ecp_device_profile_read(final, &profile);
	ecp_model_device(&profile, &layout.final);
	layout.temp_with_raw = temp == raw;
	layout.temp_with_final = temp == final;

	ecp_model_tempfiles(shape, &layout, &choice->tempfiles_cost);
	ecp_model_chunkfiles(shape, &layout, &choice->chunkfiles_cost);
	choice->chunkfiles = choice->chunkfiles_cost.total_s <=
		choice->tempfiles_cost.total_s;
	return choice->chunkfiles;
}
