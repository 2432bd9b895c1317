/*-------------------------------------------------------------------------
 *
 * ecp_policy_tempfiles.c
 *	  The policy TempFiles: one intermediate file for each cluster.
 *
 * For each leader that has rows in the in-buff: open its file, append the
 * rows, close it.  At the end the files are read one after the other and
 * each is deleted once read.  With C leaders and v rows a leader and in-buff
 * that makes about C (1 - e^-v) appends per round: many small writes all over
 * the device.  This is the paper's simple policy, for devices that are good at
 * random writes; files are opened and closed for each append, as in the paper.
 *
 * Each process of a parallel build has files of its own, so that none waits
 * for another's append; the files of a cluster are merged by TID.  The
 * kernel reads the next cluster's while one is merged.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "ecp/create/ecp_build.h"
#include "ecp/create/ecp_policy.h"
#include "ecp/define/ecp_define.h"
#include "miscadmin.h"

/* Bytes that are collected for a write, or read at once. */
#define TEMPFILES_BUFFER	(64 * 1024)

/* The files of a leader, at most one per participant. */
typedef struct TempFilesLeader
{
	int			leader;			/* -1 = none */
	EcpFilesMerge *merge;
} TempFilesLeader;

typedef struct TempFiles
{
	Size		record;
	int			nbuffer;		/* records that a buffer holds */
	char	   *buffer;			/* for writing */

	int			upto;			/* end of the range that is being read */
	TempFilesLeader current;
	TempFilesLeader next;
} TempFiles;

static void *
tempfiles_begin(EcpBuild *build)
{
	TempFiles  *state = palloc0(sizeof(TempFiles));

	state->record = ECP_RECORD_HEADER + EcpBuildRowBytes(build);
	state->nbuffer = Max(1, TEMPFILES_BUFFER / state->record);
	state->buffer = palloc(state->nbuffer * state->record);
	state->current.leader = state->next.leader = -1;
	state->current.merge = ecp_files_merge_create(build->files, state->record, state->nbuffer,
												  build->plan.nparticipants, true);
	state->next.merge = ecp_files_merge_create(build->files, state->record, state->nbuffer,
											   build->plan.nparticipants, true);
	return state;
}

/* A participant's file of a leader. */
static uint32
tempfiles_number(const EcpBuild *build, int participant, int leader)
{
	uint64		number = (uint64) participant * build->tree->n[0] + leader;

	if (number > PG_UINT32_MAX)
		elog(ERROR, "too many clusters");
	return number;
}

/*
 * Append the rows first .. last - 1 (of the order) to the file of a leader,
 * which has "bytes" bytes, or does not exist when that is 0.
 */
static void
tempfiles_append(EcpBuild *build, TempFiles *state, const EcpInBuff *inbuff,
				 uint32 number, uint64 bytes, int32 first, int32 last)
{
	File		file;

	Assert(first < last);
	if (bytes == 0)
		file = ecp_files_create(build->files, number);
	else
		file = ecp_files_open(build->files, number);

	while (first < last)
	{
		int			n = Min(state->nbuffer, last - first);

		for (int i = 0; i < n; i++)
			ecp_record_write(inbuff, inbuff->order[first + i],
							 state->buffer + i * state->record);
		ecp_files_write(build->files, file, state->buffer, n * state->record,
						bytes);
		bytes += n * state->record;
		first += n;
	}
	ecp_files_close(build->files, file);
}

static void
tempfiles_round(EcpBuild *build, EcpInBuff *inbuff, int participant)
{
	TempFiles  *state = build->policy_state;
	const uint64 *counts = ecp_leader_rows_of(build, participant);

	Assert(inbuff->n > 0 && inbuff->n <= inbuff->max);
	for (int l = 0; l < build->tree->n[0]; l++)
	{
		int32		first = inbuff->first[l];
		int32		last = inbuff->first[l + 1];

		CHECK_FOR_INTERRUPTS();
		/* these rows have been counted */
		if (first < last)
			tempfiles_append(build, state, inbuff,
							 tempfiles_number(build, participant, l),
							 (counts[l] - (last - first)) * state->record,
							 first, last);
	}
}

/* ---- reading ---- */

/* Open the files of a leader, and ask the kernel to read their beginnings. */
static void
tempfiles_open(EcpBuild *build, const TempFiles *state, TempFilesLeader *files,
			   int leader)
{
	files->leader = leader;
	files->merge->nparts = 0;
	for (int p = 0; p < build->plan.nparticipants; p++)
	{
		uint64		rows = ecp_leader_rows_of(build, p)[leader];
		EcpFilesPart *part;

		if (rows == 0)
			continue;
		part = ecp_files_merge_open(files->merge, tempfiles_number(build, p, leader));
		part->size = part->end = rows * state->record;
		ecp_files_prefetch(build->files, part->file,
						   Min(part->end, state->nbuffer * state->record), 0);
	}
}

/* Go to a leader, and open the files of the one after it, too. */
static void
tempfiles_go(EcpBuild *build, TempFiles *state, int leader)
{
	TempFilesLeader files = state->current;
	const uint64 *counts = ecp_leader_rows(build);
	int			next = leader + 1;

	state->current = state->next;
	state->next = files;
	if (state->current.leader != leader)
		tempfiles_open(build, state, &state->current, leader);

	while (next < state->upto && counts[next] == 0)
		next++;
	if (next < state->upto)
		tempfiles_open(build, state, &state->next, next);

	ecp_files_merge_start(state->current.merge);
}

static void
tempfiles_range(EcpBuild *build, int readers, int from, int upto)
{
	TempFiles  *state = build->policy_state;

	Assert(from >= 0 && from <= upto);
	state->upto = upto;
	state->current.leader = state->next.leader = -1;
}

static bool
tempfiles_merge(EcpBuild *build)
{
	return true;
}

static int
tempfiles_read(EcpBuild *build, int leader, int max, ItemPointerData *tids,
			   char *vectors)
{
	TempFiles  *state = build->policy_state;

	Assert(leader < state->upto);
	if (state->current.leader != leader)
		tempfiles_go(build, state, leader);
	return ecp_files_merge_read(state->current.merge, leader, max, tids, vectors);
}

const EcpPolicyRoutine ecp_policy_tempfiles = {
	.name = "tempfiles",
	.policy = ECP_POLICY_TEMPFILES,
	.keeps_in_memory = false,
	.begin = tempfiles_begin,
	.round = tempfiles_round,
	.merge = tempfiles_merge,
	.range = tempfiles_range,
	.read = tempfiles_read
};
