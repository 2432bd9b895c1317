/*-------------------------------------------------------------------------
 *
 * ecp_policy.h
 *	  Build policies and their files; processes of a build; entries of its nodes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ECP_POLICY_H
#define ECP_POLICY_H

#include "base/team.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "portability/instr_time.h"
#include "storage/dsm.h"
#include "storage/fd.h"

struct EcpBuild;
struct EcpInBuff;

/* Ranges of leaders are multiples of this. */
#define ECP_RANGE_LEADERS	128

/*
 * A policy keeps the assigned rows of one in-buff after the other, and gives
 * back the rows of one cluster after the other, in the order of their TIDs.
 * Every process of a build has a state of its own; what all have kept, any of
 * them can give back, a range of leaders at a time.
 */
typedef struct EcpPolicyRoutine
{
	const char *name;
	EcpBuildPolicy policy;

	/* Once, when the leaders are known; returns the policy's state. */
	void	   *(*begin) (struct EcpBuild *build);

	/* Keep the assigned rows of a participant's in-buff. */
	void		(*round) (struct EcpBuild *build, struct EcpInBuff *inbuff,
						  int participant);

	/*
	 * Can the rows of all in-buffs be read where they are, because none was
	 * full before the table ended?
	 */
	bool		keeps_in_memory;

	/*
	 * Once, by the backend, when all processes have kept all rows.  Returns
	 * whether several processes may read at the same time.
	 */
	bool		(*merge) (struct EcpBuild *build);

	/*
	 * This process, one of "readers", will read the leaders from .. upto - 1.
	 * Its ranges come in ascending order, and begin at multiples of
	 * ECP_RANGE_LEADERS.
	 */
	void		(*range) (struct EcpBuild *build, int readers, int from,
						  int upto);

	/*
	 * Up to max further rows of "leader"; returns their number, 0 when there
	 * are no more.  Those leaders of the range that have rows are asked for
	 * in ascending order, each until it has no more.
	 */
	int			(*read) (struct EcpBuild *build, int leader, int max,
						 ItemPointerData *tids, char *vectors);
} EcpPolicyRoutine;

extern const EcpPolicyRoutine ecp_policy_chunkfiles;
extern const EcpPolicyRoutine ecp_policy_tempfiles;

/* ---- ecp_files.c: intermediate files ---- */

typedef struct EcpFilesCount
{
	uint32		files;			/* created */
	uint64		opens;
	uint64		read_bytes;
	uint64		written_bytes;
	double		io_s;			/* spent in calls of the file system */
} EcpFilesCount;

typedef struct EcpFiles EcpFiles;

/*
 * Resolve ecp.build_tablespaces and check the privileges.  No file and no
 * shared memory exist before the first ecp_files_create().
 */
extern EcpFiles *ecp_files_begin(void);

/* Where the first file would go; InvalidOid is where the database is. */
extern Oid	ecp_files_tablespace(const EcpFiles *files);
extern EcpFilesCount *ecp_files_count(EcpFiles *files);
extern void ecp_files_count_add(EcpFilesCount *sum,
								const EcpFilesCount *part);

/* For a worker: the backend shares its files, the worker attaches them. */
extern dsm_handle ecp_files_share(EcpFiles *files);
extern EcpFiles *ecp_files_attach(dsm_handle handle);

/* Numbers that no other process gets, counted from 0; how many were given. */
extern uint32 ecp_files_new_number(EcpFiles *files);
extern uint32 ecp_files_numbers(const EcpFiles *files);

/*
 * Files are named by number; file i lies in the (i mod n)'th tablespace.
 * All are deleted at the end of the build, however it ends.
 */
extern File ecp_files_create(EcpFiles *files, uint32 number);
extern File ecp_files_open(EcpFiles *files, uint32 number);
extern void ecp_files_close(EcpFiles *files, File file);
extern void ecp_files_delete(EcpFiles *files, uint32 number, uint64 bytes);
extern void ecp_files_write(EcpFiles *files, File file, const void *data,
							Size bytes, uint64 offset);
extern void ecp_files_read(EcpFiles *files, File file, void *data,
						   Size bytes, uint64 offset);
extern void ecp_files_prefetch(EcpFiles *files, File file, Size bytes,
							   uint64 offset);
extern uint64 ecp_files_size(EcpFiles *files, File file);
extern void ecp_files_end(EcpFiles *files);

/*
 * A record of an intermediate file, all of one size: leader (int32), TID, and the
 * exact vector, without padding.
 */
#define ECP_RECORD_HEADER	(sizeof(int32) + sizeof(ItemPointerData))

/* A part of a file, whose records are in the order of leaders and TIDs. */
typedef struct EcpFilesPart
{
	File		file;
	uint32		number;			/* of the file */
	uint64		size;			/* the same; with "last" */
	uint64		offset;			/* of what is not in the buffer yet */
	uint64		end;			/* of the part */
	int			n;				/* records in the buffer */
	int			next;			/* the current one */
	char	   *buffer;
	const char *record;			/* the current one; and what it has: */
	int32		leader;
	ItemPointerData tid;
} EcpFilesPart;

/* Some parts, whose records are read in that order. */
typedef struct EcpFilesMerge
{
	EcpFiles   *files;
	Size		record;			/* bytes of one */
	int			max;			/* records of a part that are read at once */
	bool		last;			/* files are deleted when read */
	int			nparts;
	EcpFilesPart *parts;
	struct binaryheap *heap;	/* of those that have records left */
} EcpFilesMerge;

/*
 * For each part: open, then set its end, and where it begins if that is not 0;
 * start when all are open.  After it has been read to the end, it can be used again.
 */
extern EcpFilesMerge *ecp_files_merge_create(EcpFiles *files, Size record, int max,
											 int max_parts, bool last);
extern EcpFilesPart *ecp_files_merge_open(EcpFilesMerge *merge, uint32 number);
extern void ecp_files_merge_start(EcpFilesMerge *merge);

/* The part that has the first record left, or NULL; go on behind that record. */
extern const EcpFilesPart *ecp_files_merge_first(const EcpFilesMerge *merge);
extern void ecp_files_merge_advance(EcpFilesMerge *merge);

/* Go on to the records of a leader, and take at most "max" of them. */
extern int	ecp_files_merge_read(EcpFilesMerge *merge, int leader, int max,
								 ItemPointerData *tids, char *vectors);
extern void ecp_files_merge_free(EcpFilesMerge *merge);

/*
 * ecp_build_team.c: the processes of an index build: the backend and its parallel
 * workers.
 */

struct EcpBuild;

/*
 * Launch up to build->plan.nworkers workers; returns NULL if none started.  Up
 * to ecp_build_team_end() the backend is in parallel mode; the metapage and the
 * leaders may change between tasks.
 */
extern EcpTeam *ecp_build_team_begin(struct EcpBuild *build);
extern void ecp_build_team_end(EcpTeam *team);

/* Within a task: the build, which in a worker is a struct of its own. */
extern struct EcpBuild *ecp_build_team_build(EcpTeam *team);

/* ---- of the scan of the table ---- */

/* The scan of the table that a process joins. */
extern struct TableScanDescData *ecp_build_team_scan(EcpTeam *team);

/*
 * Where that scan of a heap is: blocks that this process alone has still to
 * read, and the block from which on no process was given any.
 */
extern void ecp_build_team_position(const EcpTeam *team, uint32 *own_blocks,
									uint64 *given_blocks);

/* How far the team has read ahead. */
extern pg_atomic_uint64 *ecp_build_team_ahead(EcpTeam *team);

/* Add what a process found to what the team found (besides ecp_index_team_add()). */
extern void ecp_build_team_add_rounds(EcpTeam *team, uint32 rounds);
extern uint32 ecp_build_team_rounds(EcpTeam *team);

extern PGDLLEXPORT void ecp_build_recall_task(EcpTeam *team, const void *args,
											  char **memories);

/*
 * ecp_layout.c: the entries that runs of a new index leave for the node above them.
 */

/* Leaders (or node centres) that are to become slots of a level's nodes. */
typedef struct EcpEntryList
{
	bool		fixed;			/* the arrays have a memory of their own */
	EcpMemory	memory;
	int			n;
	int			max;
	EcpChildData *children;
	int32	   *parents;		/* entry of the next level they are under */
	char	   *vectors;
	Size		vec_bytes;
	char	   *summaries;		/* of leaves; NULL if there are none */
	Size		summary_bytes;
} EcpEntryList;

/* Add the entry of a child; the summary, if there are any, is the caller's to fill. */
extern void ecp_entries_add(EcpEntryList *list, const EcpChildData *child,
							const void *vector, int32 parent);
extern void ecp_entries_free(EcpEntryList *list);

#endif							/* ECP_POLICY_H */
