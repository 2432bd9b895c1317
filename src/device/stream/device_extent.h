/*-------------------------------------------------------------------------
 *
 * device_extent.h
 *	  Reading extents out of striped tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DEVICE_EXTENT_H
#define ECP_DEVICE_EXTENT_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "storage/block.h"

#define ECP_EXTENT_LEAVES_MAX	64

/* The partitions of a striped table and the devices that they are on. */
typedef struct EcpStripes
{
	int			nleaves;
	Oid			leaf[ECP_EXTENT_LEAVES_MAX];
	int			device[ECP_EXTENT_LEAVES_MAX];	/* from 0 */
	int			ndevices;
} EcpStripes;

/* A part of an image, in numbers of extents; both ends belong to it. */
typedef struct EcpExtentBox
{
	int32		x0,
				y0,
				x1,
				y1;
	int32		z;				/* the one plane, of three dimensions */
} EcpExtentBox;

typedef struct EcpExtentReader EcpExtentReader;
typedef void (*EcpExtentCallback) (int32 x, int32 y, const char *data,
								   Size bytes, void *arg);

extern char *ecp_extent_relname(Oid relid);
extern void ecp_extent_select(Oid relid, const char *text, SPIPlanPtr *plan,
							  int nargs, Oid *types, int options,
							  Datum *values);
extern int	ecp_extent_load_stripes(Oid parent, EcpStripes *stripes);
extern BlockNumber ecp_extent_warm(Oid leaf, BlockNumber room);
extern EcpExtentReader *ecp_extent_open(Oid leaf, int axes);
extern int64 ecp_extent_read(EcpExtentReader *reader, int32 stream,
							 TimestampTz t, const EcpExtentBox *box,
							 bool forget, EcpExtentCallback callback,
							 void *arg, int64 *nextents);

#endif							/* ECP_DEVICE_EXTENT_H */
