/* SPDX-License-Identifier: MIT
 *
 * trace_clock.h - aligns the clocks of merged processes (see trace_merge.h).
 */
#ifndef CRN_SPANS_TRACE_CLOCK_H
#define CRN_SPANS_TRACE_CLOCK_H

#include "spans/trace.h"

/* Moves the spans of each process onto the trace's clock. Remote parents must be resolved before.
 * Sets `start` and `clock_shift` of processes, and the trace's `length`. */
void crn_trace_align(crn_trace *trace);

/* Ends open spans at the last moment in their process's capture, and sets the trace's length. */
void crn_trace_end_open(crn_trace *trace);

#endif
