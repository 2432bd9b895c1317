/*-------------------------------------------------------------------------
 *
 * device_profile.h
 *	  The measured profile of a tablespace, from which the access methods, build
 *	  planning and placement compute their defaults.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DEVICE_PROFILE_H
#define ECP_DEVICE_PROFILE_H

#include "postgres.h"

/*
 * A transfer of S bytes takes  latency + S / throughput.  At the size
 * half_bandwidth_bytes = latency * throughput half of the time is latency:
 * smaller pieces waste the device, larger ones gain little.
 *
 * read_mb_s is the throughput of that fit; seq_read_mb_s and seq_write_mb_s
 * are what a long sequential transfer gets.  All in 10^6 bytes per second.
 */
typedef struct EcpDeviceProfile
{
	double		latency_us;		/* of a cold read */
	double		read_mb_s;
	double		r2;				/* of the fit */
	int64		half_bandwidth_bytes;
	double		seq_read_mb_s;
	double		seq_write_mb_s;
	double		rand_read_iops; /* 8 kB, cold, one worker */
	double		rand_read_iops_max; /* the same with best_workers */
	double		rand_write_iops;	/* small writes, synced in the end */
	double		rand_write_us;	/* one small write and its fsync */
	double		fsync_us;
	double		cached_mb_s;	/* reads from the page cache */
	int			best_workers;	/* 90 % of the best random-read rate */
	double		step_read_us;	/* small reads in order, each a cluster on */
	double		mixed_ratio;	/* delay of a read beside writes / alone */
} EcpDeviceProfile;

extern bool ecp_device_profile_read(Oid tablespace, EcpDeviceProfile *profile);

#endif							/* ECP_DEVICE_PROFILE_H */
