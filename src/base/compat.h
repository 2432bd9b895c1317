/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  Every difference between the PostgreSQL versions that we build for.
 *
 * No other file of the repository looks at PG_VERSION_NUM (make lint checks
 * it).  Versions 15 to 19; the names here are those of the newest version
 * wherever that is possible.  Also, which machines we build for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_COMPAT_H
#define ECP_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "ecp needs PostgreSQL 15 or later"
#endif

/*
 * Counters of 8 bytes are passed as Datums by value and mapped memory may
 * exceed 4 GB; codes and bit vectors are read as words whose first byte is the
 * lowest.
 */
#if SIZEOF_VOID_P != 8
#error "ecp needs a 64-bit server"
#endif
#ifdef WORDS_BIGENDIAN
#error "ecp needs a little-endian machine: it has never been tested on another"
#endif

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* What a page may depend on that pg_upgrade takes to another version */
#define ECP_SERVER_MAJOR	(PG_VERSION_NUM / 10000)

/* 17: the state of transaction ids has another name */
#if PG_VERSION_NUM < 170000
#define TransamVariables ShmemVariableCache
#endif

/* 18: a function that does not return is marked in front of it */
#if PG_VERSION_NUM < 180000
#define pg_noreturn __attribute__((noreturn))
#endif

/* 18: vacuum_delay_point() takes "is_analyze" */
#if PG_VERSION_NUM >= 180000
#define ecp_vacuum_delay_point()	vacuum_delay_point(false)
#else
#define ecp_vacuum_delay_point()	vacuum_delay_point()
#endif

/* 16: a relation's file is named by a RelFileLocator */
#if PG_VERSION_NUM >= 160000
#define EcpRelFileLocator			RelFileLocator
#define ecp_relation_locator(rel)	((rel)->rd_locator)
#else
#define EcpRelFileLocator			RelFileNode
#define ecp_relation_locator(rel)	((rel)->rd_node)
#endif

/* 17, 18: amestimateparallelscan has more arguments */
#if PG_VERSION_NUM >= 180000
#define ECP_ESTIMATE_PARALLEL_SCAN_ARGS	Relation rel, int nkeys, int norderbys
#define ecp_ps_offset					ps_offset_am
#elif PG_VERSION_NUM >= 170000
#define ECP_ESTIMATE_PARALLEL_SCAN_ARGS	int nkeys, int norderbys
#define ecp_ps_offset					ps_offset
#else
#define ECP_ESTIMATE_PARALLEL_SCAN_ARGS	void
#define ecp_ps_offset					ps_offset
#endif

/* 16: blocks for direct I/O have an alignment of their own */
#if PG_VERSION_NUM < 160000
#define PGIOAlignedBlock			PGAlignedBlock
#endif

/* 18: the path of a relation's file comes in a struct */
#if PG_VERSION_NUM >= 180000
#define ecp_relation_path(rel) \
	pstrdup(relpathbackend((rel)->rd_locator, (rel)->rd_backend, \
						   MAIN_FORKNUM).str)
#else
#define ecp_relation_path(rel) \
	relpathbackend(ecp_relation_locator(rel), (rel)->rd_backend, MAIN_FORKNUM)
#endif

/* 18: index_beginscan() takes the instrumentation; 19: and flags */
#if PG_VERSION_NUM >= 190000
#define ecp_index_beginscan(heap, index, snapshot, nkeys, norderbys) \
	index_beginscan(heap, index, snapshot, NULL, nkeys, norderbys, SO_NONE)
#elif PG_VERSION_NUM >= 180000
#define ecp_index_beginscan(heap, index, snapshot, nkeys, norderbys) \
	index_beginscan(heap, index, snapshot, NULL, nkeys, norderbys)
#else
#define ecp_index_beginscan(heap, index, snapshot, nkeys, norderbys) \
	index_beginscan(heap, index, snapshot, nkeys, norderbys)
#endif

/* 19: so do the functions that begin to read a table */
#if PG_VERSION_NUM >= 190000
#define ecp_table_beginscan(heap, snapshot) \
	table_beginscan(heap, snapshot, 0, NULL, SO_NONE)
#define ecp_table_beginscan_parallel(heap, pscan) \
	table_beginscan_parallel(heap, pscan, SO_NONE)
#define ecp_table_fetch_begin(heap) table_index_fetch_begin(heap, SO_NONE)
#else
#define ecp_table_beginscan(heap, snapshot) \
	table_beginscan(heap, snapshot, 0, NULL)
#define ecp_table_beginscan_parallel(heap, pscan) \
	table_beginscan_parallel(heap, pscan)
#define ecp_table_fetch_begin(heap) table_index_fetch_begin(heap)
#endif

/* 18: the direction of a sort key is a comparison, not a strategy of btree */
#if PG_VERSION_NUM >= 180000
#define ecp_pathkey_is_ascending(key)	((key)->pk_cmptype == COMPARE_LT)
#else
#define ecp_pathkey_is_ascending(key) \
	((key)->pk_strategy == BTLessStrategyNumber)
#endif

/*
 * 18: what an equivalence class has of child relations, such as partitions,
 * is in lists of their own.
 */
#if PG_VERSION_NUM < 180000
typedef struct EquivalenceMemberIterator
{
	const struct List *members;
	int			next;
} EquivalenceMemberIterator;

#define setup_eclass_member_iterator(it, eclass, child_relids) \
	((it)->members = (eclass)->ec_members, (it)->next = 0)
#define eclass_member_iterator_next(it) \
	((it)->next < list_length((it)->members) ? \
	 list_nth_node(EquivalenceMember, (it)->members, (it)->next++) : NULL)
#endif

/*
 * 17: the planner knows which columns are NOT NULL, and which of these constraints
 * are valid, as those of the catalog always are before 18; until then a function
 * "catalog" looks there
 */
#if PG_VERSION_NUM >= 170000
#define ecp_column_is_not_null(rel, attno, relid, catalog) \
	((void) (relid), (void) (catalog), bms_is_member(attno, (rel)->notnullattnums))
#else
#define ecp_column_is_not_null(rel, attno, relid, catalog)	catalog(relid, attno)
#endif

/* 17: what the query around a window function asks of it is with the path */
#if PG_VERSION_NUM >= 170000
#define ecp_window_path_conditions(path)	((path)->runCondition)
#else
#define ecp_window_path_conditions(path)	((path)->winclause->runCondition)
#endif

/* 19: a nested loop is allowed by a mask */
#if PG_VERSION_NUM >= 190000
#define ecp_initial_cost_nestloop(root, workspace, type, outer, inner, extra) \
	initial_cost_nestloop(root, workspace, type, (extra)->pgs_mask, outer, \
						  inner, extra)
#else
#define ecp_initial_cost_nestloop(root, workspace, type, outer, inner, extra) \
	initial_cost_nestloop(root, workspace, type, outer, inner, extra)
#endif

/* 19: the index that makes a row unique is found by less */
#if PG_VERSION_NUM >= 190000
#define ecp_has_unique_index(root, rel) \
	relation_has_unique_index_for(root, rel, NIL, NULL)
#else
#define ecp_has_unique_index(root, rel) \
	relation_has_unique_index_for(root, rel, NIL, NIL, NIL)
#endif

/* 17: old_snapshot_threshold is gone */
#if PG_VERSION_NUM < 170000
#define ecp_test_for_old_snapshot(snapshot, rel, page) \
	TestForOldSnapshot(snapshot, rel, page)
#else
#define ecp_test_for_old_snapshot(snapshot, rel, page) ((void) 0)
#endif

/* 17: estimate_array_length() takes the planner's state, is a double */
#if PG_VERSION_NUM >= 170000
#define ecp_estimate_array_length(root, expr) estimate_array_length(root, expr)
#else
#define ecp_estimate_array_length(root, expr) \
	((double) estimate_array_length(expr))
#endif

/* 16: a failed assertion is of one kind only */
#if PG_VERSION_NUM >= 160000
#define ECP_FAILED_ASSERTION_ARGS \
	const char *conditionName, const char *fileName, int lineNumber
#else
#define ECP_FAILED_ASSERTION_ARGS \
	const char *conditionName, const char *errorType, const char *fileName, \
	int lineNumber
#endif

/*
 * 18: an index AM says that its order and equality are those of btree, and
 * what its strategies mean; the planner takes the order of its columns from
 * there.  Needs access/nbtree.h.
 */
#if PG_VERSION_NUM >= 180000
#define ECP_AM_ORDERING \
	.amconsistentequality = true, \
	.amconsistentordering = true, \
	.amtranslatestrategy = bttranslatestrategy, \
	.amtranslatecmptype = bttranslatecmptype,
#define ecp_count_index_search(scan) \
	do { if ((scan)->instrument) (scan)->instrument->nsearches++; } while (0)
#else
#define ECP_AM_ORDERING
#define ecp_count_index_search(scan) ((void) 0)
#endif

/* 18: the planner asks any index AM how high a tree is */
#if PG_VERSION_NUM >= 180000
#define ECP_AM_TREE_HEIGHT(function)	.amgettreeheight = function,
#else
#define ECP_AM_TREE_HEIGHT(function)
#endif

/* 19: the server keeps what a handler returns, and does not free it */
#if PG_VERSION_NUM >= 190000
#define ECP_RETURN_AM_ROUTINE(routine)	PG_RETURN_POINTER(&(routine))
#else
#define ECP_RETURN_AM_ROUTINE(routine) \
	do { \
		IndexAmRoutine *copy_ = palloc(sizeof(IndexAmRoutine)); \
		*copy_ = (routine); \
		PG_RETURN_POINTER(copy_); \
	} while (0)
#endif

/* 17: an extension gives its waits names */
#if PG_VERSION_NUM >= 170000
#define ecp_wait_event_new(name)	WaitEventExtensionNew(name)
#else
#define ecp_wait_event_new(name)	((void) (name), PG_WAIT_EXTENSION)
#endif

/* 16: palloc_array() is there for the backend, too */
#ifndef palloc_array
#define palloc_array(type, count)	((type *) palloc(sizeof(type) * (count)))
#define palloc0_array(type, count)	((type *) palloc0(sizeof(type) * (count)))
#endif

/* 16: one function checks privileges on any kind of object */
#if PG_VERSION_NUM >= 160000
#define ecp_tablespace_aclcheck(oid, role) \
	object_aclcheck(TableSpaceRelationId, oid, role, ACL_CREATE)
#else
#define ecp_tablespace_aclcheck(oid, role) \
	pg_tablespace_aclcheck(oid, role, ACL_CREATE)
#endif

/* 16: GiST's record of page reuse wants the table, too */
#if PG_VERSION_NUM >= 160000
#define ecp_gist_page_reuse(index, heap, blk, fxid) \
	gistXLogPageReuse(index, heap, blk, fxid)
#define ecp_vacuum_heap(info)	((info)->heaprel)
#else
#define ecp_gist_page_reuse(index, heap, blk, fxid) \
	((void) (heap), gistXLogPageReuse(index, blk, fxid))
#define ecp_vacuum_heap(info)	((Relation) NULL)
#endif

/*
 * 18: vacuum_truncate may be unset, and is a setting, too; 19: in one field of
 * three values
 */
#if PG_VERSION_NUM >= 190000
#define ecp_vacuum_truncates(options) \
	((options) != NULL && (options)->vacuum_truncate != PG_TERNARY_UNSET ? \
	 (options)->vacuum_truncate == PG_TERNARY_TRUE : vacuum_truncate)
#elif PG_VERSION_NUM >= 180000
#define ecp_vacuum_truncates(options) \
	((options) != NULL && (options)->vacuum_truncate_set ? \
	 (options)->vacuum_truncate : vacuum_truncate)
#else
#define ecp_vacuum_truncates(options) \
	((options) == NULL || (options)->vacuum_truncate)
#endif

/* 16: the reader of a datum sort says whether it wants a copy */
#if PG_VERSION_NUM >= 160000
#define ecp_tuplesort_getdatum(state, value, isnull) \
	tuplesort_getdatum(state, true, true, value, isnull, NULL)
#else
#define ecp_tuplesort_getdatum(state, value, isnull) \
	tuplesort_getdatum(state, true, value, isnull, NULL)
#endif

/* 17: pages that are not visible yet are written by storage/bulk_write.h */
#if PG_VERSION_NUM >= 170000
#define ECP_HAVE_BULK_WRITE
#endif

/* 17: blocks are read ahead by storage/read_stream.h */
#if PG_VERSION_NUM >= 170000
#define ECP_HAVE_READ_STREAM
#endif

/* 18: extensions add to what EXPLAIN says of a node */
#if PG_VERSION_NUM >= 180000
#define ECP_HAVE_EXPLAIN_HOOK
#endif

/*
 * 17: an index AM says that it builds in parallel, and the server computes
 * the number of workers
 */
#if PG_VERSION_NUM >= 170000
#define ECP_AM_PARALLEL_BUILD	.amcanbuildparallel = true,
#define ecp_index_core_workers(heap, index, info) \
	((info)->ii_ParallelWorkers)
#else
#define ECP_AM_PARALLEL_BUILD
#define ecp_index_core_workers(heap, index, info) \
	plan_create_index_workers(RelationGetRelid(heap), RelationGetRelid(index))
#endif

/* 16: one function checks ownership of any kind of object */
#if PG_VERSION_NUM >= 160000
#define ecp_relation_ownercheck(oid, role) \
	object_ownercheck(RelationRelationId, oid, role)
#else
#define ecp_relation_ownercheck(oid, role) pg_class_ownercheck(oid, role)
#endif

/* 17: maintenance runs functions of others with a search_path of its own */
#if PG_VERSION_NUM >= 170000
#define ecp_restrict_search_path()	RestrictSearchPath()
#else
#define ecp_restrict_search_path()	((void) 0)
#endif

/*
 * How core_wal.c registers pages: it knows the fragments of generic records up
 * to 19, and elsewhere logs images of whole pages.
 */
#if PG_VERSION_NUM < 200000
#define ECP_DELTA_REGBUF	REGBUF_STANDARD
#else
#define ECP_DELTA_REGBUF	(REGBUF_STANDARD | REGBUF_FORCE_IMAGE)
#endif

/* 17: asks whether a stronger lock will do */
#if PG_VERSION_NUM >= 170000
#define ecp_lock_held(tag, mode)	LockHeldByMe(tag, mode, false)
#else
#define ecp_lock_held(tag, mode)	LockHeldByMe(tag, mode)
#endif

/* 18: a library says its name and version */
#if PG_VERSION_NUM >= 180000
#define ECP_MODULE_MAGIC(module, module_version) \
	PG_MODULE_MAGIC_EXT(.name = module, .version = module_version)
#else
#define ECP_MODULE_MAGIC(module, module_version)	PG_MODULE_MAGIC
#endif

/*
 * 19: the content of a buffer has a lock of its own kind, whose holder can be
 * asked for
 */
#if PG_VERSION_NUM >= 190000
#define ecp_content_lock_held(buffer)	BufferIsLockedByMe(buffer)
#define ecp_content_lock_held_exclusively(buffer) \
	BufferIsLockedByMeInMode(buffer, BUFFER_LOCK_EXCLUSIVE)
#else
#define ecp_content_lock(buffer) \
	BufferDescriptorGetContentLock(GetBufferDescriptor((buffer) - 1))
#define ecp_content_lock_held(buffer) \
	LWLockHeldByMe(ecp_content_lock(buffer))
#define ecp_content_lock_held_exclusively(buffer) \
	LWLockHeldByMeInMode(ecp_content_lock(buffer), LW_EXCLUSIVE)
#endif

/* 19: a hook sees what the planner knows of a relation a little later */
#if PG_VERSION_NUM >= 190000
#define EcpRelationHook				build_simple_rel_hook_type
#define ecp_relation_hook			build_simple_rel_hook
#define ECP_RELATION_HOOK_ARGS \
	PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte
#define ECP_RELATION_HOOK_PASSED	root, rel, rte
#else
#define EcpRelationHook				get_relation_info_hook_type
#define ecp_relation_hook			get_relation_info_hook
#define ECP_RELATION_HOOK_ARGS \
	PlannerInfo *root, Oid relid, bool inhparent, RelOptInfo *rel
#define ECP_RELATION_HOOK_PASSED	root, relid, inhparent, rel
#endif

/* 16: the privileges that a query needs are in a list of their own */
#if PG_VERSION_NUM >= 160000
#define ecp_query_set_perminfos(query, pstate) \
	((query)->rteperminfos = (pstate)->p_rteperminfos)
#else
#define ecp_query_set_perminfos(query, pstate) ((void) 0)
#endif

/* 17: JSON_VALUE() and others check a domain without another node for it */
#if PG_VERSION_NUM >= 170000
#define ecp_is_json_expr(node)		IsA(node, JsonExpr)
#else
#define ecp_is_json_expr(node)		false
#endif

/* 19: the planner may be asked to explain itself */
#if PG_VERSION_NUM >= 190000
#define ecp_plan_query(query, text)	pg_plan_query(query, text, 0, NULL, NULL)
#else
#define ecp_plan_query(query, text)	pg_plan_query(query, text, 0, NULL)
#endif

/* 18: a query may be executed in pieces without saying so */
#if PG_VERSION_NUM >= 180000
#define ECP_EXECUTOR_RUN_ARGS		QueryDesc *desc, ScanDirection direction, uint64 count
#define ECP_EXECUTOR_RUN_PASSED		desc, direction, count
#define ecp_executor_run(desc, count) \
	ExecutorRun(desc, ForwardScanDirection, count)
#else
#define ECP_EXECUTOR_RUN_ARGS \
	QueryDesc *desc, ScanDirection direction, uint64 count, bool once
#define ECP_EXECUTOR_RUN_PASSED		desc, direction, count, once
#define ecp_executor_run(desc, count) \
	ExecutorRun(desc, ForwardScanDirection, count, false)
#endif

/* 19: a row type that we made is finished by a call */
#if PG_VERSION_NUM < 190000
#define TupleDescFinalize(desc)		((void) 0)
#endif

#endif							/* ECP_COMPAT_H */
