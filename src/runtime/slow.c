/* SPDX-License-Identifier: MIT
 *
 * The other side of the hot path's one branch.
 */
#include "base/limits.h"
#include "base/memory.h"
#include "runtime/runtime.h"

enum { STACK_FIRST = CRN_FIRST(32, 2) }; /* entries; the first is not used */

static void add_wall(cairn_lane *lane, uint32_t record, uint64_t amount)
{
    CAIRN_PRIV_ADD(lane->graph.links[record].wall, amount);
}

/* ---- stack limits ---- */

void crn_strand_arm(cairn_strand *strand)
{
    __atomic_store_n(&strand->hot.high, NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&strand->hot.low, (uint32_t *)UINTPTR_MAX, __ATOMIC_RELAXED);
}

void crn_strand_rest(cairn_strand *strand)
{
    if (crn_profile_mode(crn_lane_of(strand)->profile) != CRN_MODE_COUNT || strand->lost) {
        crn_strand_arm(strand);
        return;
    }
    __atomic_store_n(&strand->hot.high, strand->end, __ATOMIC_RELAXED);
    __atomic_store_n(&strand->hot.low, strand->stack, __ATOMIC_RELAXED);
}

/* False when there is no memory. */
bool crn_strand_grow(cairn_strand *strand)
{
    size_t used = strand->stack ? (size_t)(strand->hot.top - strand->stack) : 1;
    size_t size = strand->stack ? (size_t)(strand->end - strand->stack) * 3 / 2 : STACK_FIRST;
    uint32_t *stack = crn_try_realloc(strand->stack, size, sizeof *stack);
    if (!stack)
        return false;
    strand->stack = stack;
    strand->end = stack + size;
    strand->hot.top = stack + used;
    crn_strand_rest(strand);
    return true;
}

/* A frame that there is no memory for is only counted, and so are those above it. */
static bool push(cairn_strand *strand)
{
    if (strand->lost || (strand->hot.top >= strand->end && !crn_strand_grow(strand))) {
        strand->lost++;
        crn_strand_arm(strand);
        return false;
    }
    *strand->hot.top++ = (uint32_t)strand->hot.current;
    return true;
}

static void drop(cairn_lane *lane)
{
    lane->disk->dropped++;
    crn_profile_stop(lane->profile, CAIRN_E_MEMORY);
}

/* ---- what is due ---- */

/* Recording was switched on or off since the lane last looked: time counts up to the last
 * moment that it was on, and from the last moment that it was switched on. */
static void settle_turn(cairn_lane *lane, cairn_strand *running)
{
    cairn_profile *profile = lane->profile;
    uint64_t turned = __atomic_load_n(&profile->turned, __ATOMIC_ACQUIRE);
    if (turned == lane->turned)
        return;
    uint64_t off = __atomic_load_n(&profile->turned_at[0], __ATOMIC_RELAXED);
    uint64_t on = __atomic_load_n(&profile->turned_at[1], __ATOMIC_RELAXED);
    bool was_on = lane->turned % 2 == 0;
    if (was_on && running && profile->wall != CAIRN_WALL_OFF && off > lane->disk->stamp)
        add_wall(lane, crn_strand_record(running), off - lane->disk->stamp);
    lane->disk->stamp = on;
    lane->turned = turned;
    __atomic_store_n(&lane->due, 0, __ATOMIC_RELAXED);
}

void crn_lane_settle(cairn_lane *lane)
{
    cairn_profile *profile = lane->profile;
    cairn_strand *running = lane->running;
    if (__builtin_expect(__atomic_load_n(&profile->turned, __ATOMIC_RELAXED) != lane->turned, 0))
        settle_turn(lane, running);
    crn_mode mode = crn_profile_mode(profile);
    uint64_t now;
    if (mode == CRN_MODE_EXACT) {
        now = crn_clock_now(profile->tsc);
    } else {
        now = __atomic_load_n(&lane->due, __ATOMIC_RELAXED);
        if (now == 0 || mode == CRN_MODE_OFF)
            return;
        __atomic_store_n(&lane->due, 0, __ATOMIC_RELAXED);
        lane->disk->wall_samples++;
    }
    if (now <= lane->disk->stamp)
        return;
    if (running)
        add_wall(lane, crn_strand_record(running), now - lane->disk->stamp);
    lane->disk->stamp = now;
    lane->disk->current = running ? crn_strand_record(running) : 0;
}

void crn_lane_charge_rest(cairn_lane *lane)
{
    cairn_profile *profile = lane->profile;
    crn_lane_settle(lane);
    if (crn_profile_mode(profile) == CRN_MODE_OFF || profile->wall != CAIRN_WALL_SAMPLED)
        return;
    __atomic_store_n(&lane->due, crn_clock_now(profile->tsc), __ATOMIC_RELAXED);
    crn_lane_settle(lane);
    lane->disk->wall_samples--; /* the rest is not a sample */
}

/* ---- the verbs ---- */

/* Follows the edge for `block`, and counts. */
static inline void step(cairn_strand *strand, cairn_block block)
{
    crn_graph *graph = &crn_lane_of(strand)->graph;
    const cairn_priv_slot *slot =
        cairn_priv_slot_of(cairn_priv_record_at(&graph->hot, strand->hot.current), block);
    if (slot->block == block)
        strand->hot.current = slot->unit;
    else
        strand->hot.current =
            crn_graph_follow(graph, crn_strand_record(strand), block) * (uint64_t)CRN_RECORD_UNITS;
    CAIRN_PRIV_ADD(cairn_priv_record_at(&graph->hot, strand->hot.current)->calls, 1);
}

/* Whether events count. */
static inline bool attend(cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    crn_lane_settle(lane);
    crn_mode mode = crn_profile_mode(lane->profile);
    if (mode == CRN_MODE_COUNT && CAIRN_PRIV_READ(strand->hot.high) != strand->end)
        crn_strand_rest(strand);
    return mode != CRN_MODE_OFF;
}

/* Apart, so that what comes before a call of it needs no stack frame. */
__attribute__((noinline)) static void enter_attending(cairn_strand *strand, cairn_block block)
{
    bool on = attend(strand);
    if (!push(strand))
        drop(crn_lane_of(strand));
    else if (on)
        step(strand, block);
}

__attribute__((noinline)) static void replace_attending(cairn_strand *strand, cairn_block block)
{
    bool on = attend(strand);
    if (strand->lost)
        drop(crn_lane_of(strand));
    else if (on)
        step(strand, block);
}

/* Where `block` leads to when nothing is due and only the slot was another block's, as it is
 * by turns in a context that calls more than two; else 0. */
static inline uint32_t recall(cairn_strand *strand, cairn_block block)
{
    if (strand->hot.top >= CAIRN_PRIV_READ(strand->hot.high))
        return 0;
    return crn_graph_recall(&crn_lane_of(strand)->graph, crn_strand_record(strand), block);
}

static inline void go(cairn_strand *strand, uint32_t record)
{
    strand->hot.current = record * (uint64_t)CRN_RECORD_UNITS;
    CAIRN_PRIV_ADD(crn_graph_record(&crn_lane_of(strand)->graph, record)->calls, 1);
}

void cairn_priv_enter(cairn_priv_strand *priv, cairn_block block)
{
    cairn_strand *strand = (cairn_strand *)priv;
    uint32_t next = recall(strand, block);
    if (!next) {
        enter_attending(strand, block);
        return;
    }
    *strand->hot.top++ = (uint32_t)strand->hot.current;
    go(strand, next);
}

void cairn_priv_replace(cairn_priv_strand *priv, cairn_block block)
{
    cairn_strand *strand = (cairn_strand *)priv;
    uint32_t next = recall(strand, block);
    if (next)
        go(strand, next);
    else
        replace_attending(strand, block);
}

void cairn_priv_leave(cairn_priv_strand *priv)
{
    cairn_strand *strand = (cairn_strand *)priv;
    attend(strand);
    if (strand->lost)
        strand->lost--;
    else if (strand->hot.top > strand->stack + 1)
        strand->hot.current = *--strand->hot.top;
    else
        crn_lane_of(strand)->disk->misuses++;
}

/* ---- charges ---- */

static void charge(cairn_lane *lane, uint32_t record, cairn_metric metric, uint64_t amount)
{
    if (metric == CAIRN_METRIC_TICKS)
        CAIRN_PRIV_ADD(crn_graph_record(&lane->graph, record)->ticks, amount);
    else if (metric == CAIRN_METRIC_WALL)
        add_wall(lane, record, (uint64_t)((double)amount * lane->profile->clock_per_ns + 0.5));
    else if (metric < __atomic_load_n(&lane->profile->metric_count, __ATOMIC_RELAXED) &&
             metric != CAIRN_METRIC_CALLS)
        crn_lane_charge(lane, record, metric, amount);
}

void cairn_charge(cairn_strand *strand, cairn_metric metric, uint64_t amount)
{
    if (strand && crn_profile_mode(crn_lane_of(strand)->profile) != CRN_MODE_OFF)
        charge(crn_lane_of(strand), crn_strand_record(strand), metric, amount);
}

void cairn_sample(cairn_strand *strand, const cairn_block *path, size_t length, cairn_metric metric,
                  uint64_t amount)
{
    if (!strand || crn_profile_mode(crn_lane_of(strand)->profile) == CRN_MODE_OFF)
        return;
    cairn_lane *lane = crn_lane_of(strand);
    uint32_t record = CRN_RECORD_ROOT;
    for (size_t i = 0; i < length; i++)
        record = crn_graph_follow(&lane->graph, record, path[i]);
    charge(lane, record, metric, amount);
}
