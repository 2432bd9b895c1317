/*-------------------------------------------------------------------------
 *
 * ecp_define.h
 *	  What users declare: operator classes, storage parameters, settings.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_DEFINE_H
#define ECP_DEFINE_H

#include "access/reloptions.h"
#include "access/stratnum.h"
#include "base/user_index.h"
#include "nodes/parsenodes.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "vector/vector_distance.h"
#include "vector/vector_value.h"

/* ecp_class.c: what operator classes say about the columns of an index */

#define ECP_DISTANCE_STRATEGY	1
#define ECP_RADIUS_STRATEGY		2	/* search: within (query, radius) */
#define ECP_TREE_STRATEGY		20	/* search: conditions below AND and OR */
#define ECP_TREE_FIELDS_MAX		192 /* of its row: see ecp_attr_tree.c */
#define ECP_CLASS_PROC			1
#define ECP_CONVERT_PROC		2	/* from another type of the family */
#define ECP_NPROC				2

/*
 * What support function 1 (internal) returns int4 of a vector's operator class
 * returns: column type * 256 + metric.
 */
#define EcpClassCode(type, metric)	((type) * 256 + (metric))
#define EcpClassType(code)			((EcpColumnType) ((code) / 256))
#define EcpClassMetric(code)		((EcpMetric) ((code) % 256))

/*
 * How values of a key attribute become keys: returned by support function 1 of
 * its operator class, and stored in ecpm_attr_kind.  See attr_kinds[] in
 * ecp_attr.c.
 */
typedef enum EcpAttrKind
{
	ECP_ATTR_BOOL = 1,
	ECP_ATTR_CHAR,				/* "char" */
	ECP_ATTR_INT2,
	ECP_ATTR_INT4,				/* also date */
	ECP_ATTR_INT8,				/* also time and timestamps */
	ECP_ATTR_OID,				/* also enums, for equality only */
	ECP_ATTR_FLOAT4,
	ECP_ATTR_FLOAT8,
	ECP_ATTR_UUID,				/* first half; the executor rechecks */
	ECP_ATTR_HASH,				/* hash of any type: = only, rechecked */
	ECP_ATTR_PREFIX,			/* first bytes of a text; rechecked */
	ECP_ATTR_TAGS,				/* set of the elements of an array: ecp_tags.c */
	ECP_ATTR_PATHS				/* the same of the hashed paths of a jsonb */
} EcpAttrKind;

#define ECP_ATTR_KIND_MAX		ECP_ATTR_PATHS
#define EcpAttrKindIsTags(kind)	((kind) == ECP_ATTR_TAGS || (kind) == ECP_ATTR_PATHS)

/* Strategies of these; those of other attributes are btree's. */
#define ECP_TAGS_OVERLAP		1
#define ECP_TAGS_CONTAINS		2
#define ECP_TAGS_EQUAL			BTEqualStrategyNumber
#define ECP_TAGS_CONTAINED		4

/* Does a condition ask for certain values, or for some of many?  NULL aside. */
#define EcpAttrAsksForValues(kind, strategy) \
	((strategy) == BTEqualStrategyNumber || \
	 (EcpAttrKindIsTags(kind) && \
	  ((strategy) == ECP_TAGS_OVERLAP || (strategy) == ECP_TAGS_CONTAINS)))

/* Set in the code of an attribute's operator class, not of a vector's. */
#define ECP_ATTR_CLASS			0x10000
#define EcpClassIsAttr(code)	(((code) & ECP_ATTR_CLASS) != 0)
#define EcpClassAttrKind(code)	((EcpAttrKind) ((code) & 0xFF))

/* ecp_validate.c */
extern bool ecpvalidate(Oid opclassoid);

/* ecp_class.c */
extern void ecp_class_get(Relation index, EcpColumnType *type,
						  EcpMetric *metric);

/* The kind of the key attribute in a column, which is not the first (0). */
extern EcpAttrKind ecp_class_get_attr(Relation index, int column);

/* ecp_options.c: storage parameters and settings of the ecp access method */

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

/* ecp_tablespaces.c: the tablespaces that ecp.build_tablespaces names */

#define ECP_TABLESPACES_MAX		8

/* What is wrong with a list of tablespaces. */
typedef struct EcpTablespacesFault
{
	int			sqlerrcode;
	const char *message;
	const char *detail;			/* or NULL */
} EcpTablespacesFault;

/*
 * Look up the tablespaces in a list of names, in which the current user must be
 * allowed to create files; InvalidOid stands for the database's own.  Returns
 * their number, or -1 and what is wrong.
 */
extern int	ecp_tablespaces_resolve(const char *list,
									Oid oids[ECP_TABLESPACES_MAX],
									EcpTablespacesFault *fault);

/* Check hook of ecp.build_tablespaces. */
extern bool ecp_tablespaces_check(char **newval, void **extra, GucSource source);

/*
 * ecp_statement.c: CREATE INDEX with a column of a type that has no operator class: the
 * error says what to do.
 */

/* For a message about a column that is not a vector. */
#define ECP_VECTOR_TYPES_HINT \
	"Vectors are of type real[], double precision[], bytea or bit; or of pgvector's types, by the extension ecp_pgvector."

/* Called by the handler, with its own OID. */
extern void ecp_statement_check(Oid handler);

/* The same of a column, and an operator class if there is one, as the only column. */
extern void ecp_statement_check_vector(const IndexElem *element, Oid method, Oid table);

#endif							/* ECP_DEFINE_H */
