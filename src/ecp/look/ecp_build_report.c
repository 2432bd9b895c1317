/*-------------------------------------------------------------------------
 *
 * ecp_build_report.c
 *	  ecp_build_report(): what the build of an index cost, by phase.
 *
 * The build stores its report in the metapage.  The columns are those of Tables
 * 2 and 3 of the research report on build policies (wall time, time in I/O,
 * assignment and merging apart), and the counts of files, opens and bytes that
 * explain them.  Of a parallel build cpu_s and io_s are sums over its processes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "base/user_index.h"
#include "ecp/define/ecp_define.h"
#include "ecp/page/ecp_page.h"
#include "ecp/page/ecp_run.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

PGDLLEXPORT Datum ecp_build_report(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(ecp_build_report);

#define REPORT_COLUMNS	14

static const char *const report_phase_names[ECP_BUILD_NPHASES] = {
	[ECP_BUILD_SAMPLE] = "sample",
	[ECP_BUILD_LEADERS] = "leaders",
	[ECP_BUILD_ASSIGN] = "assignment",
	[ECP_BUILD_MERGE] = "merging",
	[ECP_BUILD_RECALL] = "recall"
};

static void
report_phase(ReturnSetInfo *rsinfo, const char *name,
			 const EcpBuildPhaseData *phase, const EcpBuildReportData *report)
{
	Datum		values[REPORT_COLUMNS];
	bool		nulls[REPORT_COLUMNS] = {false};
	int			i = 0;

	values[i++] = CStringGetTextDatum(name);
	values[i++] = Float8GetDatum(phase->ecpb_wall_s);
	values[i++] = Float8GetDatum(phase->ecpb_cpu_s);
	values[i++] = Float8GetDatum(phase->ecpb_io_s);
	values[i++] = Int64GetDatum(phase->ecpb_files);
	values[i++] = Int64GetDatum(phase->ecpb_opens);
	values[i++] = Int64GetDatum(phase->ecpb_read_bytes);
	values[i++] = Int64GetDatum(phase->ecpb_written_bytes);
	values[i++] = CStringGetTextDatum(report->ecpb_policy == ECP_POLICY_TEMPFILES ?
									  "tempfiles" : "chunkfiles");
	values[i++] = CStringGetTextDatum(pnstrdup(report->ecpb_why,
											   sizeof(report->ecpb_why)));
	values[i++] = Int64GetDatum(report->ecpb_rounds);
	values[i++] = Int64GetDatum(report->ecpb_in_buff);
	values[i] = Float8GetDatum(report->ecpb_predicted_s);
	nulls[i++] = report->ecpb_predicted_s == 0;
	values[i++] = Int32GetDatum(report->ecpb_workers);
	Assert(i == REPORT_COLUMNS);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

static void
report_add(EcpBuildPhaseData *total, const EcpBuildPhaseData *phase)
{
	Assert(total != phase);
	total->ecpb_wall_s += phase->ecpb_wall_s;
	total->ecpb_cpu_s += phase->ecpb_cpu_s;
	total->ecpb_io_s += phase->ecpb_io_s;
	total->ecpb_files += phase->ecpb_files;
	total->ecpb_opens += phase->ecpb_opens;
	total->ecpb_read_bytes += phase->ecpb_read_bytes;
	total->ecpb_written_bytes += phase->ecpb_written_bytes;
}

/*
 * ecp_build_report(index regclass)
 *		One row for each phase of the build, and one for the total.
 */
Datum
ecp_build_report(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	index = ecp_user_index_open_monitored(fcinfo, &ecp_index_kind);
	EcpIndexState *state = palloc(sizeof(EcpIndexState));
	const EcpBuildReportData *report = &state->meta.ecpm_report;
	EcpBuildPhaseData total = {0};

	InitMaterializedSRF(fcinfo, 0);
	if (index == NULL)
		return (Datum) 0;
	ecp_meta_read_state(index, state);
	for (int i = 0; i < ECP_BUILD_NPHASES; i++)
	{
		report_phase(rsinfo, report_phase_names[i], &report->ecpb_phase[i],
					 report);
		report_add(&total, &report->ecpb_phase[i]);
	}
	report_phase(rsinfo, "total", &total, report);

	index_close(index, AccessShareLock);
	return (Datum) 0;
}
