/* SPDX-License-Identifier: MIT
 *
 * Looks up the contexts of strands that keep only a stack of blocks; stack.c explains how.
 */
#include "runtime/stack.h"

static uint32_t step(cairn_lane *lane, uint32_t record, cairn_block block)
{
    crn_graph *graph = &lane->graph;
    if (block == CRN_BLOCK_UNKNOWN)
        return crn_graph_append(graph, record, CAIRN_BLOCK_FOLDED);
    uint64_t callee =
        cairn_priv_callee(graph->hot.base, record * (uint64_t)CRN_RECORD_WORDS, block);
    return cairn_priv_record_at(&graph->hot, callee)->block == block
               ? crn_record_at(callee)
               : crn_lane_follow(lane, record, block);
}

uint32_t crn_stack_root(cairn_strand *strand)
{
    if (strand->at_root == CAIRN_BLOCK_ROOT)
        return CRN_RECORD_ROOT;
    return step(crn_lane_of(strand), CRN_RECORD_ROOT, strand->at_root);
}

uint32_t crn_stack_resolve(cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    size_t top = crn_stack_held(strand), at = strand->resolved;
    uint32_t record = at ? strand->records[at - 1] : crn_stack_root(strand);
    for (; at < top; at++)
        record = strand->records[at] = step(lane, record, strand->only.blocks[at]);
    CAIRN_PRIV_PUT(strand->hot.current, record * (uint64_t)CRN_RECORD_WORDS);
    strand->stride = 1;
    if (strand->resolved != top) {
        strand->resolved = top;
        crn_stack_disarm(strand);
    }
    return record;
}

void crn_stack_forget(cairn_strand *strand)
{
    strand->resolved = 0;
    CAIRN_PRIV_PUT(strand->hot.current, CRN_RECORD_ROOT * CRN_RECORD_WORDS);
    crn_stack_disarm(strand);
}
