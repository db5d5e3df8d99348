/* SPDX-License-Identifier: MIT
 *
 * trace_clock.h - on which clock merged processes are: see trace_merge.h.
 */
#ifndef CRN_SPANS_TRACE_CLOCK_H
#define CRN_SPANS_TRACE_CLOCK_H

#include "spans/trace.h"

/* Moves the spans of each process to where they belong beside the others'. Who asked for them
 * is resolved before. Sets start and clock_shift of the processes, and the trace's length. */
void crn_trace_align(crn_trace *trace);

/* Sets the ends of open spans to the last moment that their process's capture knows of, and the
 * trace's length. */
void crn_trace_end_open(crn_trace *trace);

#endif
