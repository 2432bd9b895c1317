/*-------------------------------------------------------------------------
 *
 * ecp_options.h
 *	  Storage parameters and settings of the ecp access method.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_OPTIONS_H
#define ECP_OPTIONS_H

#include "access/reloptions.h"
#include "base/user_index.h"

typedef enum EcpLeadersKind
{
	ECP_LEADERS_KMEANS,
	ECP_LEADERS_RANDOM
} EcpLeadersKind;

typedef enum EcpBuildPolicy
{
	ECP_POLICY_AUTO,
	ECP_POLICY_CHUNKFILES,
	ECP_POLICY_TEMPFILES
} EcpBuildPolicy;

typedef enum EcpIterativeScan
{
	ECP_ITERATIVE_OFF,
	ECP_ITERATIVE_STRICT,
	ECP_ITERATIVE_RELAXED
} EcpIterativeScan;

#define ECP_INSBUF_ROWS_DEFAULT		0	/* no buffers */
#define ECP_INSBUF_ROWS_MAX			10000
#define ECP_CLUSTER_SIZE_MIN		1	/* kB */
#define ECP_CLUSTER_SIZE_MAX		8192
#define ECP_CLUSTER_SIZE_DEFAULT	0	/* kB; 0 = about ECP_CLUSTER_ROWS rows */
#define ECP_CLUSTER_ROWS			128 /* rows of a cluster by default */
#define ECP_INCLUDE_WIDTH_MIN		4	/* bytes */
/* what the bits of NULLs leave of ECP_INCLUDE_BYTES_MAX to a single column */
#define ECP_INCLUDE_WIDTH_MAX		1023
#define ECP_INCLUDE_WIDTH_DEFAULT	40	/* a UUID as text */
#define ECP_LEVELS_MAX				5
#define ECP_TAGS_ALIGN				16	/* bytes, of which it is a multiple */
#define ECP_TAGS_WIDTH_MIN			16
#define ECP_TAGS_WIDTH_MAX			128
#define ECP_TAGS_WIDTH_DEFAULT		16	/* 7 tags */
#define ECP_SEED_DEFAULT			1
#define ECP_SAMPLE_FACTOR_MIN		8
#define ECP_SAMPLE_FACTOR_MAX		256
#define ECP_SAMPLE_FACTOR_DEFAULT	0	/* 0 = chosen by the build */
#define ECP_PROBES_MAX				1000000
#define ECP_MAX_MS_MAX				3600000.0
#define ECP_TARGET_RECALL_MIN		0.1
#define ECP_TARGET_RECALL_MAX		1.0
#define ECP_TARGET_RECALL_DEFAULT	0.95

/* Written to disk (ecpm_quantizer): never renumber. */
typedef enum EcpQuantizer
{
	ECP_QUANTIZER_NONE = 0,
	ECP_QUANTIZER_RABITQ = 1,	/* one bit an element */
	ECP_QUANTIZER_AUTO = 255	/* only as a storage parameter */
} EcpQuantizer;

/*
 * What an index keeps of the vectors.  Written to disk (ecpm_vectors): never
 * renumber.
 */
typedef enum EcpVectorsKind
{
	ECP_VECTORS_FULL = 1,		/* what the column has */
	ECP_VECTORS_HALF = 2,		/* floats of 16 bits */
	ECP_VECTORS_CODES = 3,		/* four bits an element, and what the table
								 * has */
	ECP_VECTORS_AUTO = 255		/* only as a storage parameter */
} EcpVectorsKind;

/* Storage parameters.  What a build has used is in the metapage. */
typedef struct EcpOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			dims;			/* 0 = from the data */
	int			cluster_size;	/* kB that a probe reads; 0 = by rows */
	int			levels;			/* 0 = by number of leaders */
	int			leaders;		/* EcpLeadersKind */
	int			seed;
	int			sample_factor;	/* rows sampled a leader */
	int			quantizer;		/* EcpQuantizer */
	int			buffer_rows;	/* that wait for each cluster; 0 = none */
	int			include_width;	/* bytes of a value of variable length */
	int			vectors;		/* EcpVectorsKind */
	int			tags_width;		/* bytes of a row's set of tags */
	bool		summaries;		/* of the key columns, a cluster */
	double		target_recall;
	double		max_ms;			/* of a search; 0 = no limit */
} EcpOptions;

extern void ecp_options_init(void);
extern bytea *ecpoptions(Datum reloptions, bool validate);
extern EcpOptions ecp_options_get(Relation index);	/* with defaults */

extern int	ecp_probes;			/* 0 = by the recall target */
extern double ecp_target_recall;	/* 0 = the index's */
extern bool ecp_target_changed; /* the session has set a target since its last
								 * search */
extern bool ecp_enable_batch_join;
extern bool ecp_approximate_radius; /* without ORDER BY and LIMIT */
extern int	ecp_iterative_scan; /* EcpIterativeScan */
extern double ecp_max_ms;		/* 0 = the index's, -1 = no limit */
extern int	ecp_max_scan_tuples;	/* -1 = no limit */
extern int	ecp_prefetch;		/* clusters; -1 = effective_io_concurrency */
extern int	ecp_leader_cache_kb;
extern int	ecp_in_buff_kb;
extern int	ecp_build_policy;	/* EcpBuildPolicy */
extern char *ecp_build_tablespaces;
extern bool ecp_insert_split;

/* How the functions of SQL know an index of ours. */
extern const EcpIndexKind ecp_index_kind;

#endif							/* ECP_OPTIONS_H */
