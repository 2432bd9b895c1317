/*-------------------------------------------------------------------------
 *
 * ecp_page.h
 *	  On-disk formats of the ecp index, and the functions that read and write
 *	  their fields.
 *
 * The relation contains the metapage (block 0), map pages (a bitmap of the
 * blocks in use) and runs.  A *run* is a
 * contiguous extent of pages with slots.  A *cluster* is a list of runs, the
 * first of which is its head: a bulk-built cluster is one run, inserts that
 * find no free slot add further ones, and so do flushes of buffers, whose runs
 * belong to the cluster from a version on.  A leaf (level 0) has rows in its
 * slots; a node (level >= 1) has leaders, each with a reference to the head
 * of its child: the node IS the directory of its children.  A node of level 1
 * may also have buffers among its children: leaves whose rows wait to be
 * moved to clusters of the node (ecp_insbuf.c).
 *
 *	 block 0		metapage
 *	 block 1		map page of blocks 0 .. ECP_MAP_BITS - 1
 *	 block 1 + k * ECP_MAP_BITS		map page k; a run never crosses one
 *	 all others		pages of runs, or free
 *
 * A run is entry_pages entry pages, then those of levels, then vector pages, and in
 * nodes those of the summaries of their children; all but the first are of the
 * kind of vector pages.  Entry pages all
 * have the same geometry, computed from the metapage (EcpGeometry):
 *
 *	 +------------------------+
 *	 | PageHeaderData	   24 |  pd_lower: end of the used payload
 *	 +------------------------+
 *	 | EcpRunHeaderData	   80 |  meaning only in page 0 of the run
 *	 | live bitmap			  |  8-byte words, bit = slot is live
 *	 | TIDs (leaf)			  |  6 bytes a slot
 *	 |   or children (node)	  |  32 bytes a slot
 *	 | key attributes (leaf)  |  a byte of NULL bits a slot, then an array of
 *	 |						  |  each attribute: see "Rows" below
 *	 | INCLUDE columns (leaf) |  include_bytes a slot
 *	 | factors				  |  nfactors arrays of 4 bytes a slot
 *	 | codes				  |  code_bytes a slot: rows, columns, blocks or
 *	 |						  |  the upper parts of rows
 *	 | lower parts of rows	  |  lower_bytes a slot
 *	 +------------------------+
 *	 | EcpPageOpaqueData   16 |
 *	 +------------------------+
 *
 * A probe computes ranks from codes.  Without a quantiser the code
 * of a row is the exact vector, or four bits of each element, which is all that such
 * an index has of it (or the upper part of either, with the lower part on its own,
 * since it is read of few rows: PARTS, vector_distance.h), unless vectors pack badly (see
 * ecp_geometry_init), in which case, as with a quantiser, the exact vectors
 * are in the vector part of the run: vector i begins at byte i * vec_bytes
 * of the concatenated payloads of its vector pages.
 *
 * A quantiser's codes and factors describe a row relative to the leader of
 * its cluster (to the origin in a root that is a leaf), and are in blocks of
 * ECP_CODE_BLOCK slots (vector_codes.h).  So do the levels that shorter vectors have
 * besides, which are read of rows that may be near: those of slot i are on page
 * i / levels_slots behind the entry pages, levels_bytes from
 * i % levels_slots * levels_bytes on.
 *
 * Rows: the exact vector of a row is followed in memory by its attr_bytes of
 * key attributes (columns 2 .. n of the index), as ecp_attr.c forms them: a
 * byte with a bit for each that is NULL, then their keys one after the other,
 * of 1, 2, 4 or 8 bytes each, or sets of tags (ecp_tags.c), and 0 where NULL,
 * then include_bytes of the values of INCLUDE columns, as ecp_include.c forms
 * them, and zeros up to a multiple of four.  Copying row_bytes instead of vec_bytes
 * includes them.  On the page, the keys of one attribute are adjacent and aligned
 * to their width or to 16 bytes, so that a condition is checked for all slots of a
 * page in one pass.
 *
 * Summaries (ecp_summary.c): that of the child in slot i of a node of level 1 is on
 * page i / summary_slots behind the vector part, summary_bytes from
 * i % summary_slots * summary_bytes on.
 *
 * The bytes of a slot change only while its live bit is 0.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_PAGE_H
#define ECP_PAGE_H

#include "access/genam.h"
#include "base/compat.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#define ECP_MAGIC			0x31504345	/* "ECP1" */
#define ECP_VERSION			1	/* format written */
#define ECP_MIN_READER		1	/* oldest format read */
#define ECP_PAGE_ID			0xFF9E	/* last two bytes of every page */

#define ECP_META_BLKNO		0
#define ECP_MAP_FIRST_BLKNO	1

/* Page kinds (ecpo_kind). */
#define ECP_PAGE_META		1
#define ECP_PAGE_MAP		2
#define ECP_PAGE_ENTRY		3
#define ECP_PAGE_VECTOR		4

typedef struct EcpPageOpaqueData
{
	uint64		ecpo_run;		/* owner; 0 for meta and map; never reused */
	uint32		ecpo_pageno;	/* within the run; number of the map page */
	uint16		ecpo_kind;		/* ECP_PAGE_* */
	uint16		ecpo_page_id;	/* ECP_PAGE_ID */
} EcpPageOpaqueData;

typedef EcpPageOpaqueData *EcpPageOpaque;

#define EcpPageGetOpaque(page) ((EcpPageOpaque) PageGetSpecialPointer(page))

#define ECP_PAYLOAD_BYTES \
	(BLCKSZ - MAXALIGN(SizeOfPageHeaderData) - MAXALIGN(sizeof(EcpPageOpaqueData)))

/* Where the payload begins and ends. */
#define ECP_PAGE_START	MAXALIGN(SizeOfPageHeaderData)
#define ECP_PAGE_END	(ECP_PAGE_START + ECP_PAYLOAD_BYTES)

/* A map page holds a whole number of 64-bit words. */
#define ECP_MAP_BYTES		((ECP_PAYLOAD_BYTES / 64) * 64)
#define ECP_MAP_BITS		(ECP_MAP_BYTES * 8)
#define EcpMapBlock(k)		((BlockNumber) (ECP_MAP_FIRST_BLKNO + (k) * ECP_MAP_BITS))
#define EcpBlockMap(blk)	((blk) / ECP_MAP_BITS)	/* which map page */
#define EcpBlockIsMap(blk)	((blk) % ECP_MAP_BITS == ECP_MAP_FIRST_BLKNO)

/* Columns of an index for conditions besides the vector. */
#define ECP_ATTRS_MAX		8

/* Bytes of the INCLUDE columns of a row at most. */
#define ECP_INCLUDE_BYTES_MAX	1024

/* Limits of a run: it must fit one map page and one rewrite in memory. */
#define ECP_RUN_PAGES_MAX	1024

/*
 * Reference to a cluster or node, as a leader's slot holds it (its "child")
 * and as the metapage holds the root.
 */
typedef struct EcpChildData
{
	BlockNumber ecpc_blk;		/* head page of the child */
	uint16		ecpc_npages;	/* pages of the head run, for prefetching */
	uint16		ecpc_flags;		/* ECP_CHILD_* */
	uint64		ecpc_run;		/* head run: identity of the child */
	uint32		ecpc_vfrom;		/* first structure version that has it */
	uint32		ecpc_vto;		/* first that has it no more, or ECP_V_NONE */
	float4		ecpc_radius;	/* largest distance to the leader, statistic */
	uint32		ecpc_nrows;		/* rows when written, statistic */
} EcpChildData;

typedef EcpChildData *EcpChild;

/* The leader comes from training over many clusters, not from a split. */
#define ECP_CHILD_TRAINED	0x0001

/* Not a cluster but a buffer of rows for clusters of the same node. */
#define ECP_CHILD_BUFFER	0x0002

#define ECP_V_NONE			0xFFFFFFFF

/* Last version of a structure: the next one is that of an operation. */
#define ECP_V_LAST			(ECP_V_NONE - 2)

/*
 * Ids of runs are below this.  Each run takes the write of a page: at one a
 * microsecond, they last for two thousand years.
 */
#define ECP_RUN_END			(UINT64CONST(1) << 56)

/* Is a leader's slot part of structure version v? */
#define EcpChildIsVisible(child, v) \
	((child)->ecpc_vfrom <= (v) && (v) < (child)->ecpc_vto)

/* Header of a run, in page 0. */
typedef struct EcpRunHeaderData
{
	uint64		ecpr_head_run;	/* run that heads the cluster */
	uint64		ecpr_next_run;	/* next run of the cluster, 0 = last */
	uint64		ecpr_retired_fxid;	/* horizon to free it at, 0 = unstamped */
	BlockNumber ecpr_next_blk;	/* page 0 of the next run */
	uint32		ecpr_npages;	/* entry and vector pages */
	uint32		ecpr_entry_pages;
	uint32		ecpr_nslots;	/* <= entry_pages * slots a page */
	uint32		ecpr_hw_page;	/* entry pages initialised so far */
	uint32		ecpr_free_hint; /* entry page to look for free slots from */
	uint32		ecpr_change;	/* bumped by every change of a node */
	uint32		ecpr_retired_v; /* version that dropped it */
	BlockNumber ecpr_retired_next;	/* next retired head, or Invalid */
	uint8		ecpr_level;		/* 0 = leaf */
	uint8		ecpr_flags;		/* ECP_RUN_* */
	uint16		ecpr_unused;
	uint32		ecpr_vfrom;		/* first version that has the run; 0 = all */
	BlockNumber ecpr_head_blk;	/* of a run that a flush wrote: the head */
	uint64		ecpr_reserved;
} EcpRunHeaderData;

typedef EcpRunHeaderData *EcpRunHeader;

/* Is a run part of its cluster in structure version v? */
#define EcpRunIsVisible(header, v)	((header)->ecpr_vfrom <= (v))

#define ECP_RUN_HEAD		0x01	/* first run of its cluster */
#define ECP_RUN_RETIRED		0x02	/* no longer part of the structure */
#define ECP_RUN_FREED		0x04	/* its blocks are free */

/* The unfinished operation (ecpm_op), which the next maintainer undoes. */
typedef struct EcpIntentData
{
	uint16		ecpi_kind;		/* 0 = nothing, else ECP_OP_* */
	uint8		ecpi_nold;
	uint8		ecpi_nnew;
	BlockNumber ecpi_parent;	/* head of the node that is changed */
	BlockNumber ecpi_old[2];
	BlockNumber ecpi_new[4];	/* InvalidBlockNumber until allocated */
	uint32		ecpi_new_npages[4];
	uint64		ecpi_first_run; /* of the ids that were reserved */
	/* GROUP: heads, linked by ecpr_retired_next, the last one first */
	BlockNumber ecpi_closed;	/* old ones that take no rows any more */
	BlockNumber ecpi_written;	/* new ones but that in ecpi_new[0] */
} EcpIntentData;

#define ECP_OP_NONE			0
#define ECP_OP_REPLACE		1
#define ECP_OP_GROUP		2

/* One phase of the build, as ecp_build_report() shows it. */
typedef struct EcpBuildPhaseData
{
	float4		ecpb_wall_s;
	float4		ecpb_cpu_s;
	float4		ecpb_io_s;		/* waiting for reads and writes of our files */
	uint32		ecpb_files;		/* intermediate files created */
	uint64		ecpb_opens;
	uint64		ecpb_read_bytes;
	uint64		ecpb_written_bytes;
} EcpBuildPhaseData;

typedef enum EcpBuildPhase
{
	ECP_BUILD_SAMPLE,
	ECP_BUILD_LEADERS,
	ECP_BUILD_ASSIGN,
	ECP_BUILD_MERGE,
	ECP_BUILD_RECALL
} EcpBuildPhase;

#define ECP_BUILD_NPHASES	5

typedef struct EcpBuildReportData
{
	EcpBuildPhaseData ecpb_phase[ECP_BUILD_NPHASES];
	uint64		ecpb_in_buff;	/* effective bytes of the in-buff */
	uint32		ecpb_rounds;	/* in-buffs filled */
	uint8		ecpb_policy;	/* EcpBuildPolicy that was used */
	uint8		ecpb_workers;	/* parallel workers, beside the backend */
	uint16		ecpb_unused;
	float4		ecpb_predicted_s;	/* of the chosen policy, 0 = not predicted */
	char		ecpb_why[124];	/* why this policy, NUL-terminated */
} EcpBuildReportData;

/*
 * What was measured about recall, for ecp_stop.c.  A query is
 * told to be of a class by its distances from the nearest leader and from the
 * ECP_PLACE_LEADER-th: where those of the class were, as a normal distribution.
 */
#define ECP_QUERY_CLASSES		5

typedef struct EcpQueryClassData
{
	float4		ecpm_mean[2];
	float4		ecpm_inverse[3];	/* of the covariances: 00, 01, 11 */
	float4		ecpm_log;		/* of the root of their determinant; infinity
								 * if there were no such queries */
} EcpQueryClassData;

/*
 * How far away the k-th row of the first clusters was for such queries, as a share of
 * the distance from the ECP_PLACE_LEADERS-th leader: on average, and the reciprocal
 * of the variance; 0 if that is not known.
 */
typedef struct EcpQueryRowsData
{
	float4		ecpm_mean;
	float4		ecpm_inverse;
} EcpQueryRowsData;

/* Numbers of rows asked for (ecp_target_ks) and recall targets. */
#define ECP_CURVE_KS		6
#define ECP_CURVE_TARGETS	12

/* Where a search for a target stops; see ecp_stop.c. */
typedef struct EcpRecallPointData
{
	float4		ecpm_margin[ECP_QUERY_CLASSES];
	float4		ecpm_clusters;	/* read on average, for queries like rows, */
	float4		ecpm_recall;	/* and what these found */
} EcpRecallPointData;

typedef struct EcpRecallCurveData
{
	uint32		ecpm_queries;	/* that it was measured with; 0 = none */
	uint32		ecpm_leaves;	/* clusters then */
	int64		ecpm_time;		/* TimestampTz */
	float8		ecpm_tuples;	/* rows then */
	float8		ecpm_removed;	/* rows that VACUUM has removed since */
	float4		ecpm_norm;		/* IP: largest square of a row's length; L1:
								 * distances of rows by L2 */
	float4		ecpm_spread;	/* of distances; see ecp_stop.c */
	float4		ecpm_excess;	/* of rows' ranks; see ecp_radius.c */
	float4		ecpm_excess_deviation;	/* from that on average */
	EcpQueryClassData ecpm_classes[ECP_QUERY_CLASSES];
	EcpQueryRowsData ecpm_rows[ECP_CURVE_KS][ECP_QUERY_CLASSES];
	EcpRecallPointData ecpm_points[ECP_CURVE_KS][ECP_CURVE_TARGETS];
} EcpRecallCurveData;

typedef struct EcpMetaPageData
{
	uint32		ecpm_magic;
	uint16		ecpm_version;
	uint16		ecpm_min_reader;
	uint32		ecpm_flags;		/* ECP_META_* */
	uint8		ecpm_elem;		/* EcpElem of its elements as stored here */
	uint8		ecpm_metric;	/* EcpMetric */
	uint8		ecpm_quantizer; /* EcpQuantizer, never AUTO */
	uint8		ecpm_leader_elem;	/* EcpElem of the leaders */
	uint16		ecpm_dims;		/* 0 = not known yet */
	uint16		ecpm_nkeyatts;
	uint16		ecpm_attr_bytes;	/* a row, INCLUDE columns and all */
	uint8		ecpm_nbitmaps;	/* bitmaps a page; 1 in version 1 */
	uint8		ecpm_leaders;	/* EcpLeadersKind the build used */
	uint32		ecpm_leaf_target;	/* rows that a new cluster should have */
	uint32		ecpm_leaf_max;	/* rows above which it is split */
	uint32		ecpm_node_target;	/* the same for leaders in a node */
	uint32		ecpm_node_max;
	uint64		ecpm_seed;
	uint64		ecpm_rotation_seed; /* of the quantiser */
	uint32		ecpm_sversion;	/* structure version V */
	uint32		ecpm_root_level;	/* level of the root's run */
	uint64		ecpm_next_run;	/* next run id to give, from 1 */
	EcpChildData ecpm_root;		/* ecpc_run 0 = no root yet */
	uint32		ecpm_map_hint;	/* map page to look for free blocks from */
	BlockNumber ecpm_retired_head;
	BlockNumber ecpm_retired_tail;
	uint32		ecpm_retired_pages;
	EcpIntentData ecpm_op;
	uint32		ecpm_nleaves;	/* clusters, kept by build and maintenance */
	uint8		ecpm_vectors;	/* EcpVectorsKind, never AUTO */
	uint8		ecpm_tags_width;	/* of key columns of tags; 0 without any */
	uint8		ecpm_unused[2];
	float8		ecpm_build_tuples;
	EcpBuildReportData ecpm_report;
	EcpRecallCurveData ecpm_curve;
	uint8		ecpm_attr_kind[ECP_ATTRS_MAX];	/* EcpAttrKind, see ecp_attr.h */
	uint8		ecpm_column_type;	/* EcpColumnType of the column */
	uint8		ecpm_ninclude;	/* INCLUDE columns */
	uint16		ecpm_include_bytes; /* a row; 0 without any */
	uint32		ecpm_nbuffers;	/* of the present version */
	uint16		ecpm_summary_bytes; /* of a cluster; 0 = none */
	uint8		ecpm_summary_atts;	/* bit i: it has key attribute i */
	uint8		ecpm_unused2[5];
	uint64		ecpm_reserved[13];
} EcpMetaPageData;

typedef EcpMetaPageData *EcpMetaPage;

#define ECP_META_DIMS_LEARNED	0x0001	/* dims came from the first row */

#define EcpPageGetMeta(page) ((EcpMetaPage) PageGetContents(page))
#define EcpPageGetRunHeader(page) ((EcpRunHeader) PageGetContents(page))
#define EcpPageGetMap(page) ((uint64 *) PageGetContents(page))
#define EcpPageGetStream(page) (PageGetContents(page))

StaticAssertDecl(sizeof(EcpPageOpaqueData) == 16, "page opaque size");
StaticAssertDecl(sizeof(EcpRunHeaderData) == 80, "run header size");
StaticAssertDecl(sizeof(EcpChildData) == 32, "child size");
StaticAssertDecl(sizeof(EcpMetaPageData) <= ECP_PAYLOAD_BYTES, "metapage size");

/*
 * Geometry of the entry pages of one level, in memory.  Offsets count from
 * the start of the page.
 */
typedef struct EcpGeometry
{
	uint16		slots;			/* a page */
	uint16		live_words;		/* 8-byte words of one bitmap */
	uint16		nfactors;
	uint16		attr_bytes;		/* a slot */
	uint16		code_bytes;		/* a slot; 0 = no codes on entry pages */
	bool		stream;			/* vectors are in the vector part */
	uint16		lower_bytes;	/* a slot; 0 unless "parts" */
	bool		columns;		/* codes are in COLUMNS, not ROWS */
	bool		parts;			/* codes and lower parts are PARTS */
	uint8		quantizer;		/* EcpQuantizer; else codes are vectors */
	uint8		elem;			/* EcpElem of the exact vectors */
	uint16		dims;
	uint16		levels_bytes;	/* of a slot's levels; 0 = none */
	uint16		levels_slots;	/* of these, on a page */
	uint32		vec_bytes;		/* of an exact vector */
	uint32		row_bytes;		/* the same and its key attributes */
	uint8		natts;			/* key attributes; 0 for nodes */
	uint8		attr_width[ECP_ATTRS_MAX];	/* bytes of a key */
	uint16		include_bytes;	/* a slot, of INCLUDE columns */
	uint16		summary_bytes;	/* of the child of a node's slot; 0 = none */
	uint16		summary_slots;	/* of these, on a page */
	uint16		off_live;
	uint16		off_items;		/* TIDs or children */
	uint16		off_nulls;		/* NULL bits of the attributes */
	uint16		off_attr[ECP_ATTRS_MAX];
	uint16		off_include;
	uint16		off_factors;
	uint16		off_codes;
	uint16		off_lower;
	uint16		page_lower;		/* pd_lower of every entry page */
} EcpGeometry;

/* A copy of the metapage, and the geometry that follows from it. */
typedef struct EcpIndexState
{
	EcpMetaPageData meta;
	EcpGeometry leaf;			/* valid when meta.ecpm_dims > 0 */
	EcpGeometry node;
} EcpIndexState;

/* Factors of a slot at most, with any quantiser. */
#define ECP_ENTRY_FACTORS_MAX	3

/* Pointers into an entry page. */
typedef struct EcpEntryView
{
	uint64	   *live;
	ItemPointerData *tids;		/* leaf */
	EcpChild	children;		/* node */
	uint8	   *nulls;			/* bit i = attribute i is NULL */
	char	   *attrs[ECP_ATTRS_MAX];
	char	   *include;		/* NULL without INCLUDE columns */
	uint32	   *factors[ECP_ENTRY_FACTORS_MAX];
	char	   *codes;			/* NULL if there are none */
	char	   *lower;			/* the same */
} EcpEntryView;

/*
 * What goes into a slot: a TID (leaf) or a child (node), and the vector.
 * "leader" is that of the row's cluster, as made by ecp_prepare(); only a
 * quantiser uses it, whose codes are relative to it.  NULL = the cluster is a
 * root.
 */
typedef struct EcpSlotItem
{
	ItemPointerData tid;
	EcpChildData child;
	const void *vector;			/* leaf: a row, see "Rows" above */
	const void *leader;
	char	   *levels;			/* receives those of a quantiser, levels_bytes */
} EcpSlotItem;

/* ---- ecp_geometry.c ---- */

/*
 * Geometry of leaves and nodes from elem, metric, leader_elem, quantizer,
 * dims, attributes and nbitmaps of state->meta.  Does nothing while dims is
 * 0.
 */
extern void ecp_geometry_init(EcpIndexState *state);
extern uint8 ecp_geometry_quantizer(uint8 wanted, const EcpMetaPageData *meta,
									int dims);

/* Pages that a run of nslots slots needs: entry pages and all pages. */
extern void ecp_geometry_run_size(const EcpGeometry *geo, uint32 nslots,
								  uint32 *entry_pages, uint32 *npages);

/* How many slots a run of npages pages can have; at least 1. */
extern uint32 ecp_geometry_slots(const EcpGeometry *geo, uint32 npages);

/* All slots that fit the pages of a run of nslots slots. */
extern uint32 ecp_geometry_full_slots(const EcpGeometry *geo, uint32 nslots);

/* Largest number of slots that a node's run may be filled to. */
extern int	ecp_geometry_node_slots_max(const EcpGeometry *geo);

/*
 * Where vector "slot" of a run begins in its vector part, the first page of which is
 * vector_page: page within the run and byte within that page's payload.
 */
extern void ecp_geometry_stream_position(const EcpGeometry *geo, uint32 vector_page,
										 uint32 slot, uint32 *pageno, uint32 *offset);

/* Pages of levels, and of the vector part, of a run with nslots slots. */
extern uint32 ecp_geometry_levels_pages(const EcpGeometry *geo, uint32 nslots);
extern uint32 ecp_geometry_vector_pages(const EcpGeometry *geo, uint32 nslots);

/* Where a run's vector part begins. */
#define EcpRunVectorPage(geo, header) \
	((header)->ecpr_entry_pages + ecp_geometry_levels_pages(geo, (header)->ecpr_nslots))

/* Where the levels of a slot are: page behind the entry pages, byte of its payload. */
#define EcpLevelsPage(geo, slot)	((slot) / (geo)->levels_slots)
#define EcpLevelsOffset(geo, slot)	((slot) % (geo)->levels_slots * (geo)->levels_bytes)

/* ---- ecp_page.c ---- */

/*
 * Initialise a page in memory: header, opaque, zeroed payload, pd_lower.
 * Run pages: the kind follows from pageno and entry_pages.
 */
extern void ecp_page_init_meta(Page page, const EcpMetaPageData *meta);
extern void ecp_page_init_map(Page page, uint32 mapno);
extern void ecp_page_init_run(Page page, const EcpGeometry *geo, uint64 run,
							  uint32 pageno, uint32 entry_pages);

/* ---- ecp_entry.c ---- */

/* Pointers into an entry page; level tells TIDs from children. */
extern void ecp_entry_view(Page page, const EcpGeometry *geo, int level,
						   EcpEntryView *view);

#define EcpSlotIsLive(view, slot) \
	(((view)->live[(slot) / 64] & (UINT64CONST(1) << ((slot) % 64))) != 0)
#define EcpSlotSetLive(view, slot) \
	((view)->live[(slot) / 64] |= (UINT64CONST(1) << ((slot) % 64)))
#define EcpSlotClearLive(view, slot) \
	((view)->live[(slot) / 64] &= ~(UINT64CONST(1) << ((slot) % 64)))

/* Check that pd_lower includes the whole payload. */
extern void ecp_entry_check_lower(Relation index, Buffer buffer,
								  const EcpGeometry *geo);

/* Live slots of an entry page, counted. */
extern int	ecp_entry_count_live(const EcpGeometry *geo, const EcpEntryView *view);

/*
 * Write what an item has on its entry page: TID or child, attributes, factors
 * and code.  The live bit is the caller's, and so is the vector
 * where geo->stream, with the levels.
 */
extern void ecp_entry_put(const EcpIndexState *state, int level,
						  EcpEntryView *view, int slot,
						  const EcpSlotItem *item);

/* Read the key attributes of a slot: attr_bytes, as ecp_attr_form() formed. */
extern void ecp_entry_get_attrs(const EcpGeometry *geo,
								const EcpEntryView *view, int slot,
								char *attrs);

/*
 * Does a leaf's slot have the factors and the code that ecp_entry_put() would
 * write?  Only item->vector and item->leader are looked at.
 */
extern bool ecp_entry_matches(const EcpIndexState *state,
							  const EcpEntryView *view, int slot,
							  const EcpSlotItem *item);

/* Read a vector that is on its entry page (not geo->stream). */
extern void ecp_entry_get_vector(const EcpGeometry *geo,
								 const EcpEntryView *view, int slot,
								 void *vector);

/*
 * The ranges of bytes of an entry page that change when a slot is filled
 * (live bit, item, attributes, factors, code).  Returns their number;
 * "ranges" has room for ECP_ENTRY_RANGES_MAX.
 */
#define ECP_ENTRY_RANGES_MAX \
	(6 + ECP_ATTRS_MAX + ECP_ENTRY_FACTORS_MAX + ECP_CODE_DIMS_MAX / 4)

typedef struct EcpByteRange
{
	uint16		offset;			/* from the start of the page */
	uint16		bytes;
} EcpByteRange;

extern int	ecp_entry_ranges(const EcpGeometry *geo, int level, int slot,
							 EcpByteRange *ranges);

/* Copy a leaf's slot, but for its live bit, to a page of the same geometry. */
extern void ecp_entry_copy(const EcpGeometry *geo, EcpEntryView *to, int to_slot,
						   const EcpEntryView *from, int from_slot);

/* What a page of the vector part has of one vector. */
typedef struct EcpStreamPart
{
	uint32		pageno;			/* in the run */
	uint32		offset;			/* in the page's payload */
	uint32		done;			/* bytes on pages before */
	uint32		bytes;			/* 0: that was all */
} EcpStreamPart;

static inline EcpStreamPart
ecp_stream_first(const EcpGeometry *geo, uint32 vector_page, uint32 slot)
{
	EcpStreamPart part = {0};

	ecp_geometry_stream_position(geo, vector_page, slot, &part.pageno, &part.offset);
	part.bytes = Min(geo->vec_bytes, ECP_PAYLOAD_BYTES - part.offset);
	return part;
}

static inline void
ecp_stream_next(const EcpGeometry *geo, EcpStreamPart *part)
{
	part->pageno++;
	part->offset = 0;
	part->done += part->bytes;
	part->bytes = Min(geo->vec_bytes - part->done, ECP_PAYLOAD_BYTES);
}

#define ecp_stream_foreach(part, geo, vector_page, slot) \
	for (EcpStreamPart part = ecp_stream_first(geo, vector_page, slot); \
		 part.bytes > 0; ecp_stream_next(geo, &part))

/* ---- ecp_page.c: checks ---- */

/*
 * Does the block exist?  A reference on a damaged page may name any block, and
 * PostgreSQL's error for one far beyond the end does not name the index.  Asks
 * for the length of the file only if the cached length is too small.
 */
extern bool ecp_page_exists(Relation index, BlockNumber blk);

/*
 * Checks that raise ERRCODE_INDEX_CORRUPTED with index and block; every page is
 * checked after it was locked and before it is used.  ecp_page_check_run()
 * returns false, without an error, if the page is sound but belongs to another
 * run or page number (it was freed and reused): a scan reports that with
 * ecp_report_moved(), an insert starts over.
 */
extern void ecp_page_check(Relation index, Buffer buffer, int kind);
extern bool ecp_page_check_run(Relation index, Buffer buffer, int kind,
							   uint64 run, uint32 pageno);

extern void ecp_page_lock(Relation index, Buffer buffer, int lockmode);
extern Buffer ecp_page_get(Relation index, BlockNumber blk, int lockmode);

/* Errors about them. */

pg_noreturn extern void ecp_report_moved(Relation index, BlockNumber blk);
pg_noreturn extern void ecp_report_corrupt(Relation index, BlockNumber blk,
										   const char *detail);

/* Is the page header that of an ecp page?  Generic WAL relies on it. */
static inline bool
ecp_page_has_form(Page page)
{
	PageHeader	header = (PageHeader) page;
	const uint16 end = BLCKSZ - MAXALIGN(sizeof(EcpPageOpaqueData));

	return header->pd_special == end && header->pd_upper == end &&
		header->pd_lower <= end &&
		header->pd_lower >= MAXALIGN(SizeOfPageHeaderData);
}

#define EcpLevelGeometry(state, level) \
	((level) == 0 ? &(state)->leaf : &(state)->node)

#endif							/* ECP_PAGE_H */
