/*-------------------------------------------------------------------------
 *
 * ecp_policy_tempfiles.c
 *	  The policy TempFiles: one intermediate file for each cluster.
 *
 * For each leader that has rows in the in-buff: open its file, append the
 * rows, close it.  At the end the files are read one after the other and
 * each is deleted once read.  With C leaders and v rows a leader and in-buff
 * that makes about C (1 - e^-v) appends a round: many small writes all over
 * the device.  This is the paper's simple policy, which a device that is
 * good at random writes forgives; opens and closes are real on purpose.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ecp/ecp_build.h"
#include "miscadmin.h"

/* Bytes that are collected for a write, or read at once. */
#define TEMPFILES_BUFFER	(64 * 1024)

typedef struct TempFiles
{
	uint64	   *bytes;			/* of each leader's file, 0 = no file yet */
	Size		record;
	int			nbuffer;		/* records that the buffer holds */
	char	   *buffer;

	/* the file that is being read */
	int			leader;			/* -1 = none */
	File		file;
	uint64		offset;
} TempFiles;

static void *
tempfiles_begin(EcpBuild *build)
{
	TempFiles  *state = palloc0(sizeof(TempFiles));

	state->bytes = palloc_extended(mul_size(sizeof(uint64), build->tree->n[0]),
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	state->record = ECP_RECORD_HEADER + build->vec_bytes;
	state->nbuffer = Max(1, TEMPFILES_BUFFER / state->record);
	state->buffer = palloc(state->nbuffer * state->record);
	state->leader = -1;
	return state;
}

/* Append the rows first .. last - 1 (of the order) to the leader's file. */
static void
tempfiles_append(EcpBuild *build, TempFiles *state, const EcpInBuff *inbuff,
				 int32 leader, int32 first, int32 last)
{
	File		file;

	if (state->bytes[leader] == 0)
		file = ecp_files_create(build->files, leader);
	else
		file = ecp_files_open(build->files, leader);

	while (first < last)
	{
		int			n = Min(state->nbuffer, last - first);

		for (int i = 0; i < n; i++)
			ecp_record_form(inbuff, inbuff->order[first + i],
							state->buffer + i * state->record);
		ecp_files_write(build->files, file, state->buffer, n * state->record,
						state->bytes[leader]);
		state->bytes[leader] += n * state->record;
		first += n;
	}
	ecp_files_close(build->files, file);
}

static bool
tempfiles_round(EcpBuild *build, EcpInBuff *inbuff, bool last)
{
	TempFiles  *state = build->policy_state;

	for (int l = 0; l < build->tree->n[0]; l++)
	{
		CHECK_FOR_INTERRUPTS();
		if (inbuff->first[l] < inbuff->first[l + 1])
			tempfiles_append(build, state, inbuff, l, inbuff->first[l],
							 inbuff->first[l + 1]);
	}
	return true;
}

static int
tempfiles_read(EcpBuild *build, int leader, int max, ItemPointerData *tids,
			   char *vectors)
{
	TempFiles  *state = build->policy_state;
	int			n = 0;

	if (state->leader != leader)
	{
		if (state->bytes[leader] == 0)
			return 0;
		state->leader = leader;
		state->file = ecp_files_open(build->files, leader);
		state->offset = 0;
	}

	while (n < max && state->offset < state->bytes[leader])
	{
		uint64		left = (state->bytes[leader] - state->offset) / state->record;
		int			k = Min(Min(state->nbuffer, max - n), left);

		CHECK_FOR_INTERRUPTS();
		ecp_files_read(build->files, state->file, state->buffer,
					   k * state->record, state->offset);
		for (int i = 0; i < k; i++, n++)
			ecp_record_read(state->buffer + i * state->record,
							build->vec_bytes, &tids[n],
							vectors + (Size) n * build->vec_bytes);
		state->offset += k * state->record;
	}

	if (state->offset == state->bytes[leader])
	{
		ecp_files_close(build->files, state->file);
		ecp_files_delete(build->files, leader, state->bytes[leader]);
		state->bytes[leader] = 0;
		state->leader = -1;
	}
	return n;
}

const EcpPolicyRoutine ecp_policy_tempfiles = {
	.name = "tempfiles",
	.policy = ECP_POLICY_TEMPFILES,
	.begin = tempfiles_begin,
	.round = tempfiles_round,
	.merge = NULL,
	.read = tempfiles_read
};
