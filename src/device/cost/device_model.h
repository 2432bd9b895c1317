/*-------------------------------------------------------------------------
 *
 * device_model.h
 *	  What a build of a cluster index costs, by policy and by devices.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DEVICE_MODEL_H
#define ECP_DEVICE_MODEL_H

#include "postgres.h"

#include "device/cost/device_profile.h"

/*
 * A device as the model sees it: four figures, and two more if it was
 * measured.
 */
typedef struct EcpModelDevice
{
	double		read_latency_s; /* of a read that is not sequential */
	double		read_bps;		/* bytes per second */
	double		write_bps;
	double		small_write_s;	/* one small write somewhere, sustained */
	bool		measured;
	double		step_read_s;	/* small read, a cluster after the last */
	double		mixed_ratio;	/* time of a read beside writes / alone */
} EcpModelDevice;

/* What is built. */
typedef struct EcpBuildShape
{
	double		vectors;
	double		record_bytes;	/* of one vector in an intermediate file */
	double		raw_bytes;		/* read from the table */
	double		clusters;
	double		in_buff_bytes;
	double		merge_bytes;	/* memory that the runs share; 0 for in_buff */
	double		dirty_bytes;	/* written data at which write-back begins */
	double		cpu_assign_s;
	double		cpu_merge_s;
} EcpBuildShape;

/* The devices of its three kinds of data. */
typedef struct EcpBuildLayout
{
	EcpModelDevice raw;
	EcpModelDevice temp;
	EcpModelDevice final;
	bool		temp_with_raw;	/* the same device */
	bool		temp_with_final;
} EcpBuildLayout;

typedef struct EcpBuildCost
{
	double		assign_wait_s;	/* waiting for devices, beside the CPU */
	double		merge_wait_s;
	double		total_s;
	double		appends;		/* TempFiles: cluster files opened */
	double		writes;			/* pieces that reach the device */
	double		runs;			/* ChunkFiles: files */
} EcpBuildCost;

/* Answer of ecp_model_choose_policy(). */
typedef struct EcpBuildChoice
{
	bool		chunkfiles;
	bool		measured;		/* every tablespace has a profile */
	EcpBuildCost tempfiles_cost;
	EcpBuildCost chunkfiles_cost;
} EcpBuildChoice;

extern void ecp_model_device(const EcpDeviceProfile *profile,
							 EcpModelDevice *device);
extern double ecp_model_dirty_bytes(void);
extern void ecp_model_tempfiles(const EcpBuildShape *shape,
								const EcpBuildLayout *layout,
								EcpBuildCost *cost);
extern void ecp_model_chunkfiles(const EcpBuildShape *shape,
								 const EcpBuildLayout *layout,
								 EcpBuildCost *cost);
extern bool ecp_model_choose_policy(const EcpBuildShape *shape,
									Oid raw, Oid temp, Oid final,
									EcpBuildChoice *choice);

#endif							/* ECP_DEVICE_MODEL_H */
