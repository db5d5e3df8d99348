/* SPDX-License-Identifier: MIT
 *
 * trace_process.h - whose spans they are, when there are several processes, and which of them
 * asked another one for its work.
 */
#ifndef CRN_SPANS_TRACE_PROCESS_H
#define CRN_SPANS_TRACE_PROCESS_H

#include "capture/reader.h"
#include "profile/profile.h"
#include "spans/trace.h"

/* More than anyone merges. */
enum { CRN_PROCESSES_MAX = 4096 };

/* Whether a capture says which processes it is of. */
bool crn_trace_is_merged(const crn_reader *reader);

/* Fills in processes and origins: as they were merged, or of the one process that the capture is
 * of. `numbers`: of lanes, by index. */
bool crn_trace_processes_load(crn_trace *trace, const crn_reader *reader, crn_capture_texts *texts,
                              const uint32_t *numbers, crn_error *error);

/* The index of the process that a lane is of; 0 where there are none. */
uint32_t crn_trace_process_of(const crn_trace *trace, uint32_t lane);

/* Looks for the spans that asked from elsewhere. One that is there becomes the parent, by
 * hand-off, in place of what the span ran in: so that work counts where it was asked for, as with
 * hand-offs within a process. Circles are to be cut after it. */
void crn_trace_resolve(crn_trace *trace);

/* What the trace counts as dangling and no process does is the first one's. */
void crn_trace_share_dangling(crn_trace *trace);

/* Parents across lanes could go round in a circle, in a file that was made to: what closes one is
 * cut, and counts as dangling. */
void crn_trace_cut_circles(crn_trace *trace);

#endif
