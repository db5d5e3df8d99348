/* SPDX-License-Identifier: MIT
 *
 * Opens, switches, unwinds and closes lanes and strands.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/runtime.h"
#include "runtime/siblings.h"
#include "runtime/span.h"
#include "runtime/stack.h"

enum {
    KEPT_STACK = 1024,   /* entries of the stack that a closed strand may keep for reuse */
    NAMES_LOOKED_AT = 64 /* closed lanes that are searched for one of the wanted name */
};

/* ---- lanes ---- */

/* Returns true if the lane has this name, or none yet. */
static bool may_be_called(const cairn_profile *profile, const cairn_lane *lane, const char *name)
{
    uint32_t own = lane->disk->name;
    return !own || strcmp(profile->strings.base + own, name ? name : "") == 0;
}

/* Returns a closed lane for reuse, or NULL. With reuse, thousands of short-lived threads need only
 * as many graphs as threads run at once. Prefers a lane of the same name, or without
 * a name, among the first closed ones: a lane's name stands for all that was ever recorded on it,
 * but threads that each have a name of their own must not search thousands of lanes. Call it with
 * the profile's lock held. */
static cairn_lane *reuse_lane(cairn_profile *profile, const char *name)
{
    cairn_lane *found = NULL;
    unsigned looked_at = 0;
    for (cairn_lane *lane = profile->lanes; lane && looked_at < NAMES_LOOKED_AT;
         lane = lane->next) {
        if (lane->open)
            continue;
        if (may_be_called(profile, lane, name))
            return lane;
        found = found ? found : lane;
        looked_at++;
    }
    return found;
}

static cairn_lane *open_lane(cairn_profile *profile, const char *name, bool reuse)
{
    if (!profile || !crn_profile_is_ready(profile))
        return NULL;
    int saved = errno;
    crn_profile_lock(profile);
    cairn_lane *lane = reuse ? reuse_lane(profile, name) : NULL;
    if (!lane)
        lane = crn_lane_new(profile);
    if (lane) {
        if (!lane->disk->name)
            lane->disk->name = crn_profile_string(profile, name);
        lane->open = true;
        __atomic_store_n(&lane->of_thread, false, __ATOMIC_RELAXED);
        lane->disk->open = 1;
        __atomic_store_n(&lane->turned, __atomic_load_n(&profile->turned, __ATOMIC_ACQUIRE),
                         __ATOMIC_RELAXED);
        lane->changes_seen = __atomic_load_n(&profile->changes, __ATOMIC_ACQUIRE);
    }
    crn_profile_unlock(profile);
    if (lane)
        crn_lane_own(lane);
    else
        crn_profile_stop(profile, CAIRN_E_MEMORY);
    errno = saved;
    return lane;
}

cairn_lane *cairn_lane_open(cairn_profile *profile, const char *name)
{
    return open_lane(profile, name, true);
}

cairn_lane *crn_lane_open_new(cairn_profile *profile, const char *name)
{
    return open_lane(profile, name, false);
}

void cairn_lane_close(cairn_lane *lane)
{
    if (!lane || !lane->open)
        return;
    cairn_lane *stand_ins = crn_redirect_end_lane(lane);
    for (cairn_lane *next; stand_ins; stand_ins = next) {
        next = stand_ins->next_stand_in;
        cairn_lane_close(stand_ins);
    }
    crn_lane_let_go(lane);
    while (lane->strands)
        cairn_strand_close(lane->strands);
    lane->disk->open = 0;
    crn_profile_lock(lane->profile);
    lane->open = false;
    crn_profile_unlock(lane->profile);
}

/* ---- strands ---- */

/* Returns a closed strand or a new one, with memory for its stack; NULL without memory. */
static cairn_strand *strand_memory(cairn_lane *lane)
{
    cairn_strand *strand = lane->spare;
    if (strand) {
        lane->spare = strand->next;
    } else {
        strand = crn_try_calloc(1, sizeof *strand);
        if (!strand)
            return NULL;
        strand->hot.lane = &lane->graph.hot;
        crn_strand_arm(strand);
    }
    if (!strand->stack && !crn_strand_grow(strand)) {
        strand->next = lane->spare;
        lane->spare = strand;
        return NULL;
    }
    return strand;
}

/* Puts the strand at the front of the lane's list of open strands. */
static void link_strand(cairn_lane *lane, cairn_strand *strand)
{
    strand->previous = NULL;
    strand->next = lane->strands;
    if (lane->strands)
        lane->strands->previous = strand;
    lane->strands = strand;
}

/* Moves the strand from the lane's list of open strands to that of closed ones. */
static void unlink_strand(cairn_lane *lane, cairn_strand *strand)
{
    if (strand->next)
        strand->next->previous = strand->previous;
    if (strand->previous)
        strand->previous->next = strand->next;
    else
        lane->strands = strand->next;
    strand->next = lane->spare;
    lane->spare = strand;
}

cairn_strand *cairn_strand_open(cairn_lane *lane)
{
    if (!lane)
        return NULL;
    cairn_strand *strand = strand_memory(lane);
    if (!strand) {
        crn_profile_stop(lane->profile, CAIRN_E_MEMORY);
        return NULL;
    }
    strand->hot.top = strand->hot.bottom = strand->stack + 1;
    strand->hot.floor = 0;
    crn_strand_spans_begin(strand);
    CAIRN_PRIV_PUT(strand->hot.current, CRN_RECORD_ROOT * CRN_RECORD_WORDS);
    strand->lost = 0;
    strand->open = true;
    crn_lane_own(lane);
    crn_lane_settle(lane);
    strand->hot.graph_tag = crn_graph_tag(lane); /* set after settling, which may have begun a new
                                                    graph */
    if (!lane->strands)                          /* the lane had no strand until now */
        crn_lane_begin_time(lane, crn_clock_now(lane->profile->tsc));
    link_strand(lane, strand);
    if (!lane->running && !crn_redirect_someone_runs(lane))
        crn_lane_run(lane, strand);
    crn_strand_disarm(strand);
    if (crn_profile_mode(lane->profile) != CRN_MODE_OFF) {
        CAIRN_PRIV_ADD(crn_graph_record(&lane->graph, CRN_RECORD_ROOT)->calls, 1);
        lane->disk->strands++;
    }
    return strand;
}

/* Returns true if a tail call replaced the root, which is misuse: then the bottom of the stack is
 * not the root context. */
static bool root_was_replaced(cairn_strand *strand)
{
    if (strand->records)
        return strand->at_root != CAIRN_BLOCK_ROOT;
    cairn_lane *lane = crn_lane_of(strand);
    if (crn_lane_is_buried(lane) || lane->graph.hot.inline_cache) /* a compiled host may have saved
                                                                     callers outside of the stack */
        return false;
    uint32_t bottom =
        cairn_strand_depth(strand) ? crn_record_at(strand->stack[1]) : crn_strand_record(strand);
    return crn_graph_target(&lane->graph, bottom) != CRN_RECORD_ROOT;
}

/* Closes a strand in whose place no other strand runs. */
static void close_strand(cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    if (strand->origin || strand->paused)
        crn_redirect_end(strand);
    bool last = !strand->next && !strand->previous;
    bool charged = !lane->owner || crn_lane_waits(lane); /* nothing is left to charge */
    if (!charged && last)
        crn_lane_charge_rest(lane);
    else if (!charged)
        crn_lane_settle(lane);
    if (lane->running == strand)
        __atomic_store_n(&lane->running, NULL, __ATOMIC_RELEASE);
    if (root_was_replaced(strand))
        lane->disk->misuses++;
    crn_spans_unwind(strand, 0);
    if (strand->records)
        crn_stack_end(strand);
    strand->open = false;
    if (strand->end - strand->stack > KEPT_STACK) {
        crn_free(strand->stack);
        strand->stack = strand->end = NULL;
    }
    crn_strand_arm(strand);
    unlink_strand(lane, strand);
}

void cairn_strand_close(cairn_strand *strand)
{
    if (!strand || !strand->open)
        return;
    while (strand->away)
        close_strand(crn_strand_innermost(strand));
    close_strand(strand);
}

void cairn_strand_switch(cairn_strand *strand)
{
    if (!strand)
        return;
    cairn_lane *lane = crn_lane_of(strand);
    if (lane->home || lane->silent || __atomic_load_n(&lane->stand_ins, __ATOMIC_RELAXED)) {
        crn_redirect_switch(strand);
        return;
    }
    if (lane->running == strand)
        return;
    crn_lane_own(lane);
    crn_lane_settle(lane);
    crn_lane_run(lane, strand);
    crn_strand_disarm(strand);
}

size_t cairn_strand_depth(const cairn_strand *strand)
{
    if (!strand)
        return 0;
    size_t held =
        strand->records ? crn_stack_held(strand) : (size_t)(strand->hot.top - strand->stack) - 1;
    return held + strand->lost;
}

cairn_mark cairn_strand_mark(const cairn_strand *strand)
{
    return cairn_strand_depth(strand);
}

void cairn_strand_unwind(cairn_strand *strand, cairn_mark mark)
{
    if (!strand)
        return;
    if (strand->records) {
        crn_stack_unwind(strand, mark);
        return;
    }
    size_t depth = cairn_strand_depth(strand);
    if (mark > depth)
        crn_lane_of(strand)->disk->misuses++;
    if (mark >= depth)
        return;
    crn_lane_settle(crn_lane_of(strand));
    crn_spans_unwind(strand, mark);
    size_t held = depth - strand->lost;
    if (mark >= held) {
        strand->lost = mark - held;
        return;
    }
    strand->lost = 0;
    strand->hot.top = strand->stack + 1 + mark;
    CAIRN_PRIV_PUT(strand->hot.current, *strand->hot.top);
}

cairn_stack *cairn_stack_open(cairn_lane *lane)
{
    cairn_strand *strand = cairn_strand_open(lane);
    if (!strand)
        return NULL;
    if (crn_stack_begin(strand))
        return (cairn_stack *)&strand->only;
    cairn_strand_close(strand);
    crn_profile_stop(lane->profile, CAIRN_E_MEMORY);
    return NULL;
}
