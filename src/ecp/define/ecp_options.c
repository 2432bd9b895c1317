/*-------------------------------------------------------------------------
 *
 * ecp_options.c
 *	  Storage parameters and settings of the ecp access method.
 *
 * Both lists are alphabetical; README.md repeats their sentences.  Storage
 * parameters of a build are copied to the metapage and afterwards read only
 * from there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "base/core.h"
#include "base/user_index.h"
#include "ecp/define/ecp_define.h"
#include "utils/guc.h"
#include "vector/vector_value.h"

bool		ecp_approximate_radius;
int			ecp_build_policy;
char	   *ecp_build_tablespaces;
bool		ecp_enable_batch_join;
int			ecp_in_buff_kb;
bool		ecp_insert_split;
int			ecp_iterative_scan;
int			ecp_leader_cache_kb;
double		ecp_max_ms;
int			ecp_max_scan_tuples;
int			ecp_prefetch;
int			ecp_probes;
double		ecp_target_recall;
bool		ecp_target_changed;

static relopt_kind options_kind;

static relopt_enum_elt_def leaders_values[] =
{
	{"kmeans", ECP_LEADERS_KMEANS},
	{"random", ECP_LEADERS_RANDOM},
	{(const char *) NULL}
};

static relopt_enum_elt_def quantizer_values[] =
{
	{"auto", ECP_QUANTIZER_AUTO},
	{"none", ECP_QUANTIZER_NONE},
	{"rabitq", ECP_QUANTIZER_RABITQ},
	{(const char *) NULL}
};

static relopt_enum_elt_def vectors_values[] =
{
	{"auto", ECP_VECTORS_AUTO},
	{"full", ECP_VECTORS_FULL},
	{"half", ECP_VECTORS_HALF},
	{"codes", ECP_VECTORS_CODES},
	{(const char *) NULL}
};

static const struct config_enum_entry build_policy_values[] = {
	{"auto", ECP_POLICY_AUTO, false},
	{"chunkfiles", ECP_POLICY_CHUNKFILES, false},
	{"tempfiles", ECP_POLICY_TEMPFILES, false},
	{NULL, 0, false}
};

static const struct config_enum_entry iterative_scan_values[] = {
	{"off", ECP_ITERATIVE_OFF, false},
	{"relaxed_order", ECP_ITERATIVE_RELAXED, false},
	{"strict_order", ECP_ITERATIVE_STRICT, false},
	{NULL, 0, false}
};

/* Define the storage parameters. */
static void
options_init_storage(void)
{
	options_kind = add_reloption_kind();

	add_int_reloption(options_kind, "buffer_rows",
					  "Inserted rows that wait for each cluster in a buffer, so that many are moved to it at a time; 0 inserts into the clusters",
					  ECP_INSBUF_ROWS_DEFAULT, 0, ECP_INSBUF_ROWS_MAX,
					  ShareUpdateExclusiveLock);
	add_int_reloption(options_kind, "cluster_size",
					  "Kilobytes that a probe reads; 0 makes clusters of about 128 rows, or of what the measured tablespace reads at half of its bandwidth where the index exceeds effective_cache_size",
					  ECP_CLUSTER_SIZE_DEFAULT, 0, ECP_CLUSTER_SIZE_MAX,
					  AccessExclusiveLock);
	add_int_reloption(options_kind, "dims",
					  "Dimensions of every vector; 0 takes the number from the data",
					  0, 0, ECP_DIMS_MAX, AccessExclusiveLock);
	add_int_reloption(options_kind, "include_width",
					  "Bytes of each INCLUDE column of variable length; rows with longer values are read from the table",
					  ECP_INCLUDE_WIDTH_DEFAULT, ECP_INCLUDE_WIDTH_MIN,
					  ECP_INCLUDE_WIDTH_MAX, AccessExclusiveLock);
	add_enum_reloption(options_kind, "leaders",
					   "How leaders are chosen: by k-means or at random",
					   leaders_values, ECP_LEADERS_KMEANS,
					   "Valid values are \"kmeans\" and \"random\".",
					   AccessExclusiveLock);
	add_int_reloption(options_kind, "levels",
					  "Levels of leaders; 0 chooses by their number",
					  0, 0, ECP_LEVELS_MAX, AccessExclusiveLock);
	add_real_reloption(options_kind, "max_ms",
					   "Milliseconds that a search may read clusters for; 0 sets no limit",
					   0, 0, ECP_MAX_MS_MAX, ShareUpdateExclusiveLock);
	add_enum_reloption(options_kind, "quantizer",
					   "Codes of vectors that are scanned before the vectors",
					   quantizer_values, ECP_QUANTIZER_AUTO,
					   "Valid values are \"auto\", \"none\" and \"rabitq\".",
					   AccessExclusiveLock);
	add_int_reloption(options_kind, "sample_factor",
					  "Rows sampled for each leader of a k-means build; 0 chooses by the type",
					  ECP_SAMPLE_FACTOR_DEFAULT, 0, ECP_SAMPLE_FACTOR_MAX,
					  AccessExclusiveLock);
	add_int_reloption(options_kind, "seed",
					  "Seed of every random choice of a build",
					  ECP_SEED_DEFAULT, 0, PG_INT32_MAX, AccessExclusiveLock);
	add_bool_reloption(options_kind, "summaries",
					   "Whether clusters have summaries of their key columns, so that those without a row that fulfils a condition are not read",
					   true, AccessExclusiveLock);
	add_int_reloption(options_kind, "tags_width",
					  "Bytes of a row for each key column of arrays or jsonb, rounded up to a multiple of 16: two for each tag and two more",
					  ECP_TAGS_WIDTH_DEFAULT, ECP_TAGS_WIDTH_MIN,
					  ECP_TAGS_WIDTH_MAX, AccessExclusiveLock);
	add_real_reloption(options_kind, "target_recall",
					   "Share of the ten nearest rows that a scan is to find",
					   ECP_TARGET_RECALL_DEFAULT, ECP_TARGET_RECALL_MIN,
					   ECP_TARGET_RECALL_MAX,
					   ShareUpdateExclusiveLock);
	add_enum_reloption(options_kind, "vectors",
					   "What is kept of the vectors: all of them, floats of half precision, or codes of four bits",
					   vectors_values, ECP_VECTORS_AUTO,
					   "Valid values are \"auto\", \"full\", \"half\" and \"codes\".",
					   AccessExclusiveLock);
}

/* 0, or a target within the range of the storage parameter */
static bool
options_check_target(double *value, void **extra, GucSource source)
{
	static double last = 0;		/* SET LOCAL in each transaction says it once */

	if (*value == 0 || *value >= ECP_TARGET_RECALL_MIN)
	{
		if (*value > 0 && *value != last && source >= PGC_S_SESSION &&
			!InitializingParallelWorker)
			ecp_target_changed = true;
		last = *value;
		return true;
	}
	GUC_check_errdetail("Valid values are between \"%f\" and \"%f\", and 0 for the storage parameter of the index.",
						ECP_TARGET_RECALL_MIN, ECP_TARGET_RECALL_MAX);
	return false;
}

/* Define storage parameters and settings; called by _PG_init(). */
void
ecp_options_init(void)
{
	options_init_storage();

	DefineCustomBoolVariable("ecp.approximate_radius",
							 "Lets an index answer queries for all rows within a radius, approximately.",
							 "Otherwise it answers those that also ask for a number of rows, by ORDER BY and LIMIT.",
							 &ecp_approximate_radius, false, PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("ecp.build_policy",
							 "How an index build keeps its intermediate data.",
							 "\"tempfiles\" keeps a file a cluster, \"chunkfiles\" a sorted file an in-buff; \"auto\" chooses by the measured tablespaces.",
							 &ecp_build_policy, ECP_POLICY_AUTO,
							 build_policy_values, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomStringVariable("ecp.build_tablespaces",
							   "Tablespaces for the intermediate files of index builds.",
							   "An empty list uses temp_tablespaces.",
							   &ecp_build_tablespaces, "", PGC_USERSET,
							   GUC_LIST_INPUT,
							   ecp_tablespaces_check, NULL, NULL);
	DefineCustomBoolVariable("ecp.enable_batch_join",
							 "Lets the planner answer the searches of a LATERAL join in batches.",
							 NULL, &ecp_enable_batch_join, true, PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("ecp.in_buff",
							"Memory in which vectors are assigned to clusters before they are written to a file.",
							"0 chooses by the measured tablespace of the files.  At most 0.4 of maintenance_work_mem is used.",
							&ecp_in_buff_kb, 0, 0, 1024 * 1024,
							PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomBoolVariable("ecp.insert_split",
							 "Lets an insert split a cluster that has grown too large.",
							 "Otherwise VACUUM and ecp_maintain() split it.",
							 &ecp_insert_split, true, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("ecp.iterative_scan",
							 "What a scan does when its first probes did not give enough rows.",
							 "\"strict_order\" reads enough for all before it returns one, \"relaxed_order\" returns rows as it reads them, \"off\" stops.",
							 &ecp_iterative_scan, ECP_ITERATIVE_STRICT,
							 iterative_scan_values, PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("ecp.leader_cache",
							"Memory for leaders kept across scans in a backend.",
							NULL, &ecp_leader_cache_kb, 32 * 1024, 0,
							1024 * 1024, PGC_USERSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomRealVariable("ecp.max_ms",
							 "Time in which a search for the nearest rows finds as many of them as it can.",
							 "0 uses the storage parameter of the index, -1 sets no limit.",
							 &ecp_max_ms, 0, -1, ECP_MAX_MS_MAX,
							 PGC_USERSET, GUC_UNIT_MS | GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("ecp.max_scan_tuples",
							"Rows after which a scan stops reading further clusters.",
							"The cluster that reaches it is read to its end.  -1 sets no limit.",
							&ecp_max_scan_tuples, -1, -1, PG_INT32_MAX,
							PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomIntVariable("ecp.prefetch",
							"Clusters that a scan asks for ahead of reading them.",
							"-1 uses effective_io_concurrency.",
							&ecp_prefetch, -1, -1, 1000, PGC_USERSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("ecp.probes",
							"Clusters that a scan reads before it returns the first row.",
							"0 chooses by the recall target.",
							&ecp_probes, 0, 0, ECP_PROBES_MAX, PGC_USERSET, GUC_EXPLAIN,
							NULL, NULL, NULL);
	DefineCustomRealVariable("ecp.target_recall",
							 "Share of the ten nearest rows that a scan is to find.",
							 "0 uses the storage parameter of the index, which is 0.95 by default.",
							 &ecp_target_recall, 0, 0, ECP_TARGET_RECALL_MAX,
							 PGC_USERSET, GUC_EXPLAIN, options_check_target, NULL, NULL);

	MarkGUCPrefixReserved("ecp");
}

const EcpIndexKind ecp_index_kind = {"an ecp index", ecpoptions};

static const relopt_parse_elt options_table[] = {
	{"buffer_rows", RELOPT_TYPE_INT, offsetof(EcpOptions, buffer_rows)},
	{"cluster_size", RELOPT_TYPE_INT, offsetof(EcpOptions, cluster_size)},
	{"dims", RELOPT_TYPE_INT, offsetof(EcpOptions, dims)},
	{"include_width", RELOPT_TYPE_INT, offsetof(EcpOptions, include_width)},
	{"leaders", RELOPT_TYPE_ENUM, offsetof(EcpOptions, leaders)},
	{"levels", RELOPT_TYPE_INT, offsetof(EcpOptions, levels)},
	{"max_ms", RELOPT_TYPE_REAL, offsetof(EcpOptions, max_ms)},
	{"quantizer", RELOPT_TYPE_ENUM, offsetof(EcpOptions, quantizer)},
	{"sample_factor", RELOPT_TYPE_INT, offsetof(EcpOptions, sample_factor)},
	{"seed", RELOPT_TYPE_INT, offsetof(EcpOptions, seed)},
	{"summaries", RELOPT_TYPE_BOOL, offsetof(EcpOptions, summaries)},
	{"tags_width", RELOPT_TYPE_INT, offsetof(EcpOptions, tags_width)},
	{"target_recall", RELOPT_TYPE_REAL, offsetof(EcpOptions, target_recall)},
	{"vectors", RELOPT_TYPE_ENUM, offsetof(EcpOptions, vectors)}
};

/* Those that are in force without a build. */
static const char *const options_live[] = {"buffer_rows", "max_ms", "target_recall"};

/* What other access methods for vectors have in the place of a target. */
static const char *const options_foreign[] = {
	"ef_construction", "ef_search", "lists", "m", "nlist", "num_neighbors",
	"probes", "search_list_size"
};

static bool
options_name_in(const char *name, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static bool
options_is_known(const char *name)
{
	for (int i = 0; i < lengthof(options_table); i++)
	{
		if (strcmp(options_table[i].optname, name) == 0)
			return true;
	}
	return false;
}

/* Names of all storage parameters, for a hint. */
static char *
options_names(void)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < lengthof(options_table); i++)
		appendStringInfo(&names, "%s\"%s\"", i == 0 ? "" :
						 i == lengthof(options_table) - 1 ? " and " : ", ",
						 options_table[i].optname);
	return names.data;
}

/* Report a name that is not a storage parameter's; core would without a hint. */
static void
options_check_names(Datum reloptions)
{
	ListCell   *lc;

	foreach(lc, untransformRelOptions(reloptions))
	{
		const char *name = lfirst_node(DefElem, lc)->defname;

		if (options_is_known(name))
			continue;
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unrecognized parameter \"%s\"", name),
				 options_name_in(name, options_foreign,
								 lengthof(options_foreign)) ?
				 errhint("Set \"target_recall\" instead: the share of the nearest rows that searches are to find.") :
				 errhint("Storage parameters of an ecp index are %s.",
						 options_names())));
	}
}

/*
 * Does the session set a storage parameter that only a build reads?  Tell.  The next
 * search tells of target_recall.
 */
static void
options_tell_build(void)
{
	ListCell   *lc;

	foreach(lc, ecp_core_set_options())
	{
		const char *name = lfirst_node(DefElem, lc)->defname;

		if (strcmp(name, "target_recall") == 0)
			ecp_target_changed = true;
		if (options_is_known(name) &&
			!options_name_in(name, options_live, lengthof(options_live)))
			ereport(NOTICE,
					(errmsg("storage parameter \"%s\" will take effect when the index is rebuilt",
							name),
					 errhint("Use REINDEX INDEX CONCURRENTLY.")));
	}
}

static bytea *
options_build(Datum reloptions, bool validate)
{
	return (bytea *) build_reloptions(reloptions, validate, options_kind,
									  sizeof(EcpOptions), options_table,
									  lengthof(options_table));
}

bytea *
ecpoptions(Datum reloptions, bool validate)
{
	bytea	   *result;

	if (validate)
		options_check_names(reloptions);
	result = options_build(reloptions, validate);
	if (validate)
		options_tell_build();
	return result;
}

/* The storage parameters of an index, with defaults filled in. */
EcpOptions
ecp_options_get(Relation index)
{
	static EcpOptions defaults;

	Assert(index->rd_rel->relkind == RELKIND_INDEX);
	if (index->rd_options)
		return *(EcpOptions *) index->rd_options;
	if (defaults.vl_len_ == 0)
		defaults = *(EcpOptions *) options_build((Datum) 0, false);
	return defaults;
}
