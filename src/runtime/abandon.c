/* SPDX-License-Identifier: MIT
 *
 * Abandons a lane: gives it a static graph of a root and [folded], so that events on its strands do
 * no harm and record nothing.
 */
#include "runtime/span.h"

static bool grow_nothing(crn_graph *graph, uint64_t records)
{
    (void)graph;
    (void)records;
    return false;
}

static void bury_graph(crn_graph *graph)
{
    static cairn_priv_record records[4] = {{.block = CAIRN_BLOCK_FOLDED}};
    static crn_link links[4] = {[CRN_RECORD_ROOT] = {.target = CRN_RECORD_ROOT, .depth = 1}};
    static uint64_t published;
    static uint32_t index[1];
    static crn_cached_edge edge_cache[1];
    *graph = (crn_graph){.hot = {.base = (char *)records,
                                 .tick_mode = CAIRN_PRIV_TICKS_OFF,
                                 .edge_cache = edge_cache,
                                 .nodes = crn_graph_no_nodes},
                         .links = links,
                         .published = &published,
                         .used = CRN_RECORD_ROOT + 1,
                         .grow = grow_nothing,
                         .full = true,
                         .index = {.entries = index}};
}

/* Takes the lane from its owner, if it has one: the calling thread, or a thread of the parent that
 * does not exist in this child of fork. */
static void forget_thread(cairn_lane *lane)
{
    if (lane->owner == crn_thread_self())
        crn_thread_remove(lane);
    crn_timer_forget(lane);
    lane->owner = NULL;
    __atomic_store_n(&lane->thread_clock, 0, __ATOMIC_RELAXED);
}

/* Makes the lane record nothing. Never uses or frees its memory again: another thread may have been
 * changing it at the fork. */
void crn_lane_abandon(cairn_lane *lane)
{
    static crn_disk_lane disk;
    static uint32_t stack[8];
    bury_graph(&lane->graph);
    lane->disk = &disk;
    for (cairn_strand *strand = lane->strands; strand; strand = strand->next) {
        strand->stack = strand->end = stack;
        strand->hot.top = stack + 1;
        CAIRN_PRIV_PUT(strand->hot.current, CRN_RECORD_ROOT * CRN_RECORD_WORDS);
        strand->only =
            (cairn_priv_stack){.top = stack + 1, .blocks = stack + 1, .lane = &lane->graph.hot};
        strand->hot.graph_tag = 0;
        strand->hot.floor = 0;
        crn_strand_copy_addresses(strand);
        strand->records = NULL;
        strand->resolved = 0;
        strand->lost = SIZE_MAX / 2;
        strand->away = strand->origin = NULL;
        strand->paused = 0;
        crn_strand_spans_bury(strand);
        crn_strand_arm(strand);
    }
    lane->profile = &crn_grave;
    lane->spans = lane->details = (crn_stream){0};
    lane->histograms = NULL;
    lane->samples = NULL;
    lane->counted = NULL;
    lane->old_graphs = NULL;
    lane->follower = NULL;
    lane->foreign = NULL;
    lane->changes_seen = 0;
    lane->turned = 0;
    forget_thread(lane);
    lane->locked = false;
    lane->running = NULL;
    lane->spare = NULL;
    lane->home = lane->stand_ins = NULL;
    lane->silent = NULL;
    lane->forked = false;
}
