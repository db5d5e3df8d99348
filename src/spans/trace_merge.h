/* SPDX-License-Identifier: MIT
 *
 * trace_merge.h - the spans of several captures as one DAG, on one clock.
 *
 * Lanes, and with them spans, are those of the first trace, then those of the second, and so on;
 * keys of one name become one. A merge is no more than what the processes in it are: it does not
 * matter in which steps they were put together.
 *
 * Clocks: captures that were recorded while one machine ran (boot) share CLOCK_MONOTONIC, and are
 * put beside each other by it. Machines are by CLOCK_REALTIME, that of the capture which began
 * first on each. That may be wrong by as much as those clocks were; what cannot be is that a span
 * begins before the span of another machine that asked for it, so machines are moved towards later
 * times, by as little as it takes for none to. (Lamport 1978 orders by such messages alone.) Where
 * they go both ways and contradict each other, as clocks that run at different speeds do, what is
 * left is told by crn_trace_clocks_of. Within a machine nothing is moved.
 */
#ifndef CRN_SPANS_TRACE_MERGE_H
#define CRN_SPANS_TRACE_MERGE_H

#include "spans/trace.h"

/* By block of `from`, the block of `to` that is the same: by name, file, line, column and lexical
 * parent; the root where there is none. To be freed with crn_free. */
uint32_t *crn_blocks_match(const crn_profile *from, const crn_profile *to);

/* Spans are of `blocks[span's block]` then; others' than these `count` are of the root. */
void crn_trace_rename_blocks(crn_trace *trace, const uint32_t *blocks, uint32_t count);

/* The traces' blocks have to be those of one profile. False if there are too many of something:
 * spans, keys, processes. */
bool crn_trace_merge(const crn_trace *const *traces, size_t count, crn_trace **merged,
                     crn_error *error);

/* How well the clocks agree. */
typedef struct crn_trace_clocks {
    uint32_t machines; /* or rather, times that one was started */
    uint32_t links;    /* spans that another process, or their own by way of it, asked for */
    uint32_t missing;  /* spans that were asked for by something that is not there */
    uint32_t early;    /* spans that begin before what asked for them */
    uint64_t earliest; /* by at most so many ns */
    uint64_t shifted;  /* ns, of the machine that was moved the most */
} crn_trace_clocks;

crn_trace_clocks crn_trace_clocks_of(const crn_trace *trace);

#endif
