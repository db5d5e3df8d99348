/* SPDX-License-Identifier: MIT
 *
 * trace_process.h - the processes of a merged trace, and parents in other processes.
 */
#ifndef CRN_SPANS_TRACE_PROCESS_H
#define CRN_SPANS_TRACE_PROCESS_H

#include "capture/reader.h"
#include "profile/profile.h"
#include "spans/trace.h"

/* Limit on merged processes. */
enum { CRN_PROCESSES_MAX = 4096 };

/* Returns true if the capture is a merged one, with a list of its processes. */
bool crn_trace_is_merged(const crn_reader *reader);

/* Sets processes and origins: those of a merged capture, or the one process of an unmerged one.
 * `numbers`: lane numbers by index. */
bool crn_trace_processes_load(crn_trace *trace, const crn_reader *reader, crn_capture_texts *texts,
                              const uint32_t *numbers, crn_error *error);

/* Returns the index of the lane's process; 0 if the trace has none. */
uint32_t crn_trace_process_of(const crn_trace *trace, uint32_t lane);

/* Resolves remote parents: a remote parent that is in the trace becomes the span's parent, by hand-
 * off, in place of its local parent. Work is thus charged where it was requested, as with hand-offs
 * within a process. Call crn_trace_cut_circles afterwards. */
void crn_trace_resolve(crn_trace *trace);

/* Charges dangling edges that no process counts to the first process. */
void crn_trace_share_dangling(crn_trace *trace);

/* Cuts cycles of parents, which a damaged file can contain across lanes. Each cut counts as
 * dangling. */
void crn_trace_cut_circles(crn_trace *trace);

#endif
