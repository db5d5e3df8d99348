/* SPDX-License-Identifier: MIT
 *
 * The slow path of ticks. The sequence of ticks is cut into intervals of N ticks (tick_period). In
 * each, one tick is chosen at random. Its context is charged N ticks when the next tick is chosen.
 * docs/SAMPLING.md shows that the method is unbiased for any program.
 */
#include "base/random.h"
#include "runtime/runtime.h"

static void charge_waiting(cairn_lane *lane, uint64_t amount)
{
    CAIRN_PRIV_ADD(crn_graph_record(&lane->graph, lane->tick_waiting)->ticks, amount);
    lane->tick_waiting = 0;
}

/* Skips intervals that lie within one call of cairn_tick: whichever of their ticks are chosen, they
 * fall on the current context. So a call with many ticks takes no longer than one with few. */
static void skip_whole(cairn_lane *lane, uint32_t record)
{
    uint64_t period = lane->profile->tick_period;
    uint64_t whole = (uint64_t) - (lane->graph.hot.tick_left + 1) / period;
    if (lane->graph.hot.tick_left >= 0 || whole < 2)
        return;
    if (lane->tick_waiting)
        charge_waiting(lane, period);
    lane->tick_waiting = record;
    CAIRN_PRIV_ADD(crn_graph_record(&lane->graph, record)->ticks, (whole - 1) * period);
    uint64_t point = crn_random_below(&lane->random, period); /* in the interval that begins within
                                                                 this call and goes on after it */
    lane->graph.hot.tick_left += (int64_t)(whole * period - lane->tick_point + point);
    lane->tick_point = point;
    lane->disk->tick_samples += whole;
    lane->tick_interval += whole;
}

/* Handles a tick that takes the slow path because changes were announced. If ticks are exact, or
 * the lane has the parent's graph, `tick_left` was -1 before the tick: so the number of ticks is
 * known, and is charged. */
static void apply_changes_at_tick(cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    bool counted = lane->forked || lane->profile->tick_period == 1;
    uint64_t count = (uint64_t)(-1 - lane->graph.hot.tick_left);
    if (counted)
        lane->graph.hot.tick_left = -1;
    crn_lane_apply_changes(lane);
    crn_lane_settle(lane);
    uint64_t mode = crn_ticks_mode(lane->profile);
    if (counted && mode == CAIRN_PRIV_TICKS_SAMPLED)
        lane->graph.hot.tick_left -= (int64_t)count;
    else if (counted && mode == CAIRN_PRIV_TICKS_EXACT)
        CAIRN_PRIV_ADD(crn_graph_record(&lane->graph, crn_strand_record(strand))->ticks, count);
}

void cairn_priv_tick(cairn_priv_strand *priv)
{
    cairn_strand *strand = (cairn_strand *)priv;
    cairn_lane *lane = crn_lane_of(strand);
    uint64_t period = lane->profile->tick_period;
    if (period == 1 ||
        __atomic_load_n(&lane->profile->changes, __ATOMIC_RELAXED) != lane->changes_seen)
        apply_changes_at_tick(strand);
    if (crn_ticks_mode(lane->profile) != CAIRN_PRIV_TICKS_SAMPLED)
        return;
    skip_whole(lane, crn_strand_record(strand));
    while (lane->graph.hot.tick_left < 0) {
        if (lane->tick_waiting)
            charge_waiting(lane, period);
        lane->tick_waiting = crn_strand_record(strand);
        lane->disk->tick_samples++;
        uint64_t point = crn_random_below(&lane->random, period);
        lane->graph.hot.tick_left += (int64_t)(period - lane->tick_point + point);
        lane->tick_point = point;
        lane->tick_interval++;
    }
}

void crn_ticks_finish(cairn_lane *lane)
{
    cairn_priv_lane *hot = &lane->graph.hot;
    uint64_t period = lane->profile->tick_period;
    if (period == 1)
        return;
    uint64_t seen = lane->tick_interval * period + lane->tick_point - (uint64_t)hot->tick_left;
    /* The interval of the last sample may be over or may still run. */
    uint64_t begun = lane->tick_interval ? (lane->tick_interval - 1) * period : 0;
    uint64_t rest = seen - begun;
    if (lane->tick_waiting) {
        uint64_t share = rest < period ? rest : period;
        charge_waiting(lane, share);
        rest -= share;
    }
    uint32_t record = lane->running ? crn_strand_record(lane->running) : CRN_RECORD_ROOT;
    CAIRN_PRIV_ADD(crn_graph_record(&lane->graph, record)->ticks, rest);
}
