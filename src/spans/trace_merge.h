/* SPDX-License-Identifier: MIT
 *
 * trace_merge.h - merges the spans of several captures into one DAG on one clock.
 *
 * Lanes, and with them spans, are concatenated in the order of the traces; keys with the same name
 * become one. Merging in several steps gives the same result as in one.
 *
 * Clocks: captures of one boot of a machine are aligned by CLOCK_MONOTONIC, and keep this
 * alignment. Machines are aligned by CLOCK_REALTIME of the earliest capture of each, which can be
 * wrong. A child cannot begin before a parent on another machine, so machines are moved to later
 * times, by the least amount that ensures it (messages order events: Lamport 1978). If clocks run
 * at different speeds, no move can satisfy the messages of both directions; crn_trace_clocks_of
 * reports what remains.
 */
#ifndef CRN_SPANS_TRACE_MERGE_H
#define CRN_SPANS_TRACE_MERGE_H

#include "spans/trace.h"

/* Returns, by block of `from`, the block of `to` with the same name, file, line, column and lexical
 * parent; without such a block the root. Free it with crn_free. */
uint32_t *crn_blocks_match(const crn_profile *from, const crn_profile *to);

/* Replaces the blocks of spans, histograms and sample paths by blocks[block]; blocks >= count
 * become the root. */
void crn_trace_rename_blocks(crn_trace *trace, const uint32_t *blocks, uint32_t count);

/* Replaces block b by several, as for functions inlined into one another: blocks[first[b]] to
 * blocks[first[b + 1] - 1], the outermost first. A span gets the last of them, the root if there
 * are none. */
void crn_trace_replace_blocks(crn_trace *trace, const uint32_t *first, const uint32_t *blocks,
                              uint32_t count);

/* Merges traces with the blocks of one profile. Fails if spans, their details, lanes or processes
 * exceed their limits. */
bool crn_trace_merge(const crn_trace *const *traces, size_t count, crn_trace **merged,
                     crn_error *error);

/* The agreement between the clocks of the merged processes. */
typedef struct crn_trace_clocks {
    uint32_t machines; /* number of boot ids */
    uint32_t links;    /* spans with a remote parent */
    uint32_t missing;  /* of the links: the trace lacks the parent */
    uint32_t early;    /* of the links: the span begins before its parent */
    uint64_t earliest; /* ns, the most by which such a span begins too early */
    uint64_t shifted;  /* ns, the largest move of a machine */
} crn_trace_clocks;

crn_trace_clocks crn_trace_clocks_of(const crn_trace *trace);

#endif
