/* SPDX-License-Identifier: MIT
 *
 * trace_process.h - the processes of a merged trace, and parents in other processes.
 */
#ifndef CRN_SPANS_TRACE_PROCESS_H
#define CRN_SPANS_TRACE_PROCESS_H

#include "capture/reader.h"
#include "profile/profile.h"
#include "spans/trace.h"

/* Limit on processes in a trace. */
enum { CRN_PROCESSES_MAX = 4096 };

/* Returns true for a merged capture, which has a list of processes. */
bool crn_trace_is_merged(const crn_reader *reader);

/* Sets `processes` and `origins` of the trace, also for an unmerged capture, which has one process.
 * `numbers` has the lanes' numbers in the capture. */
bool crn_trace_processes_load(crn_trace *trace, const crn_reader *reader, crn_capture_texts *texts,
                              const uint32_t *numbers, crn_error *error);

/* Returns the index of the lane's process; 0 if the trace has no processes. */
uint32_t crn_trace_process_of(const crn_trace *trace, uint32_t lane);

/* Resolves remote parents: a remote parent that is in the trace becomes the span's parent, by
 * hand-off, in place of a local one. Time is thus charged to the requester, as with hand-offs in a
 * process. Call crn_trace_cut_circles afterwards. */
void crn_trace_resolve(crn_trace *trace);

/* Charges dangling edges that no process counts to the first process. */
void crn_trace_share_dangling(crn_trace *trace);

/* Cuts cycles of parents, which a damaged file can contain across lanes. Counts each cut as
 * dangling. */
void crn_trace_cut_circles(crn_trace *trace);

#endif
