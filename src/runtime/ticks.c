/* SPDX-License-Identifier: MIT
 *
 * Modes of ticks, and the begin of a lane's intervals of sampled ticks (sampled_tick.c).
 */
#include "base/random.h"
#include "runtime/runtime.h"

uint64_t crn_ticks_mode(const cairn_profile *profile)
{
    if (crn_profile_mode(profile) == CRN_MODE_OFF)
        return CAIRN_PRIV_TICKS_OFF;
    return profile->tick_period == 1 ? CAIRN_PRIV_TICKS_EXACT : CAIRN_PRIV_TICKS_SAMPLED;
}

void crn_ticks_begin(cairn_lane *lane)
{
    cairn_priv_lane *hot = &lane->graph.hot;
    __atomic_store_n(&hot->tick_mode, crn_ticks_mode(lane->profile), __ATOMIC_RELAXED);
    lane->random = lane->profile->seed + lane->number * 0x632be59bd9b4e019u +
                   lane->profile->child.forks * 0xd1342543de82ef95u;
    lane->tick_point = crn_random_below(&lane->random, lane->profile->tick_period);
    lane->tick_interval = 0;
    lane->tick_waiting = 0;
    hot->tick_left = lane->profile->tick_period == 1 ? -1 : (int64_t)lane->tick_point;
}

uint32_t cairn_tick_due(const cairn_strand *strand)
{
    if (!strand || strand->hot.lane->tick_mode == CAIRN_PRIV_TICKS_EXACT)
        return 0;
    int64_t left = strand->hot.lane->tick_left;
    if (left < 0)
        return 0;
    return left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
}
