/* SPDX-License-Identifier: MIT
 *
 * Graphs that a lane had in ancestor processes. Compiled hosts save callers as node offsets in
 * machine frames, which cannot be found at a fork. They are translated when such a frame is left;
 * only the paths of the old graph are needed for that.
 */
#include "base/memory.h"
#include "runtime/retrace.h"
#include "runtime/runtime.h"

struct crn_past {
    uint64_t mark; /* tag of the node offsets saved then */
    crn_section section;
    const crn_link *links;
    uint32_t used;
    crn_retrace retrace; /* maps to the present graph */
    struct crn_past *next;
};

uint64_t crn_past_mark(const cairn_lane *lane)
{
    return lane->serial << 32;
}

bool crn_past_add(cairn_lane *lane, uint64_t mark, const crn_graph *graph, const crn_section *links)
{
    for (struct crn_past *past = lane->past; past; past = past->next)
        crn_retrace_free(&past->retrace);
    if (!graph->hot.inline_cache && !lane->past) /* no compiled host */
        return false;
    struct crn_past *past = crn_try_calloc(1, sizeof *past);
    if (!past)
        return false;
    *past = (struct crn_past){.mark = mark,
                              .section = *links,
                              .links = graph->links,
                              .used = graph->used,
                              .next = lane->past};
    lane->past = past;
    return true;
}

void crn_past_free(cairn_lane *lane)
{
    for (struct crn_past *next; lane->past; lane->past = next) {
        next = lane->past->next;
        crn_retrace_free(&lane->past->retrace);
        crn_section_close(&lane->past->section);
        crn_free(lane->past);
    }
}

uint64_t cairn_priv_kept(cairn_priv_strand *strand, uint64_t kept)
{
    cairn_lane *lane = crn_lane_of((cairn_strand *)strand);
    uint64_t mark = kept & ~(uint64_t)UINT32_MAX, node_offset = kept & UINT32_MAX;
    if (mark != strand->mark)
        crn_lane_listen(lane); /* the graph may still be the parent's */
    if (mark == strand->mark)
        return node_offset;
    struct crn_past *past = lane->past;
    while (past && past->mark != mark)
        past = past->next;
    if (!past)
        return 0;
    uint32_t record = (uint32_t)(node_offset / CRN_RECORD_WORDS);
    return crn_retrace_record(&past->retrace, past->links, past->used, &lane->graph, record) *
           (uint64_t)CRN_RECORD_WORDS;
}
