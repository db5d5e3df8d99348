/* SPDX-License-Identifier: MIT
 *
 * trace_merge.h - merges the spans of several captures into one DAG on one clock.
 *
 * Lanes, and with them spans, are concatenated in the order of the traces; keys with the same name
 * become one. The result depends only on the processes that it contains: merging in several steps
 * gives the same.
 *
 * Clocks: captures of one boot of a machine share CLOCK_MONOTONIC and are aligned by it. Machines
 * are aligned by CLOCK_REALTIME, read from the earliest capture of each, which can be wrong. A
 * child cannot begin before a parent on another machine, so machines are moved to later times by
 * the least amount that ensures this (messages order events: Lamport 1978). If messages in both
 * directions contradict each other, because clocks run at different speeds, crn_trace_clocks_of
 * reports what remains. Nothing is moved within a machine.
 */
#ifndef CRN_SPANS_TRACE_MERGE_H
#define CRN_SPANS_TRACE_MERGE_H

#include "spans/trace.h"

/* Returns, by block of `from`, the block of `to` with the same name, file, line, column and lexical
 * parent; the root if there is none. Free it with crn_free. */
uint32_t *crn_blocks_match(const crn_profile *from, const crn_profile *to);

/* Sets each span's block to blocks[block]; blocks >= count become the root. Likewise in the paths
 * of samples. */
void crn_trace_rename_blocks(crn_trace *trace, const uint32_t *blocks, uint32_t count);

/* The same where several blocks may stand for block b, as for functions inlined into one another:
 * blocks[first[b]] to blocks[first[b + 1] - 1], the outermost first. A span gets the last of them.
 */
void crn_trace_replace_blocks(crn_trace *trace, const uint32_t *first, const uint32_t *blocks,
                              uint32_t count);

/* Merges traces whose blocks are those of one profile. Fails if spans, keys or processes exceed
 * their limits. */
bool crn_trace_merge(const crn_trace *const *traces, size_t count, crn_trace **merged,
                     crn_error *error);

/* How well the clocks of the merged processes agree. */
typedef struct crn_trace_clocks {
    uint32_t machines; /* boots, strictly speaking */
    uint32_t links;    /* spans with a parent in another process, or in their own by way of
                          another process */
    uint32_t missing;  /* spans with a remote parent that is not in the trace */
    uint32_t early;    /* spans that begin before their remote parent */
    uint64_t earliest; /* ns, by how much at most */
    uint64_t shifted;  /* ns, of the machine that was moved the most */
} crn_trace_clocks;

crn_trace_clocks crn_trace_clocks_of(const crn_trace *trace);

#endif
