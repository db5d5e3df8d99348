/* SPDX-License-Identifier: MIT
 *
 * Sets the stack limits of strands: to those of the stack, or, if the strand is armed, to values
 * that send the next event to the slow path.
 */
#include "runtime/stack.h"

void crn_strand_arm(cairn_strand *strand)
{
    __atomic_store_n(&strand->hot.low, (uint32_t *)UINTPTR_MAX, __ATOMIC_RELEASE);
    __atomic_store_n(&strand->hot.leave_tag, CAIRN_PRIV_NO_TAG, __ATOMIC_RELEASE);
    __atomic_store_n(&strand->hot.inline_cache, crn_graph_empty_inline_cache(), __ATOMIC_RELEASE);
    __atomic_store_n(&strand->hot.exact_low, (uint32_t *)UINTPTR_MAX, __ATOMIC_RELEASE);
    __atomic_store_n(&strand->hot.exact_high, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&strand->hot.high, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&strand->only.high, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&strand->only.low, (cairn_block *)UINTPTR_MAX, __ATOMIC_RELEASE);
}

/* Returns true if a sample was requested or a change was announced. */
static bool is_pending(const cairn_lane *lane)
{
    return __atomic_load_n(&lane->pending.clock, __ATOMIC_RELAXED) ||
           __atomic_load_n(&lane->profile->changes, __ATOMIC_RELAXED) != lane->changes_seen;
}

void crn_stack_disarm(cairn_strand *strand)
{
    if (crn_profile_mode(crn_lane_of(strand)->profile) == CRN_MODE_EXACT || strand->lost) {
        crn_strand_arm(strand);
        return;
    }
    cairn_block *low = strand->only.blocks + strand->resolved;
    /* Exchanges, for the reason in crn_strand_disarm. */
    (void)__atomic_exchange_n(&strand->only.high, strand->end, __ATOMIC_ACQ_REL);
    (void)__atomic_exchange_n(&strand->only.low, low, __ATOMIC_ACQ_REL);
    if (is_pending(crn_lane_of(strand)))
        crn_strand_arm(strand);
}

/* Sets the limits that let events only charge exact time, unless the strand is not current, the
 * lane has no owner, or anything is pending. */
static void disarm_exact(cairn_strand *strand)
{
    const cairn_lane *lane = crn_lane_of(strand);
    crn_strand_arm(strand);
    if (lane->running != strand)
        return;
    /* Exchanges, for the reason in crn_strand_disarm. */
    (void)__atomic_exchange_n(&strand->hot.exact_high, strand->end, __ATOMIC_ACQ_REL);
    (void)__atomic_exchange_n(&strand->hot.exact_low, strand->stack, __ATOMIC_ACQ_REL);
    if (!__atomic_load_n(&lane->owner, __ATOMIC_RELAXED) ||
        __atomic_load_n(&lane->promises, __ATOMIC_RELAXED) || is_pending(lane))
        crn_strand_arm(strand);
}

void crn_strand_disarm(cairn_strand *strand)
{
    if (strand->records) {
        crn_stack_disarm(strand);
        return;
    }
    const cairn_lane *lane = crn_lane_of(strand);
    crn_strand_copy_addresses(strand);
    crn_mode mode = crn_profile_mode(lane->profile);
    bool off = mode == CRN_MODE_OFF && lane->running == strand && strand->stack;
    if (mode == CRN_MODE_EXACT && lane->profile->tsc && !strand->lost) {
        disarm_exact(strand);
        return;
    }
    if ((mode != CRN_MODE_COUNT && !off) || strand->lost) {
        crn_strand_arm(strand);
        return;
    }
    __atomic_store_n(&strand->hot.exact_low, (uint32_t *)UINTPTR_MAX, __ATOMIC_RELEASE);
    __atomic_store_n(&strand->hot.exact_high, NULL, __ATOMIC_RELEASE); /* of a stack before */
    cairn_priv_cache_entry *inline_cache = off ? NULL : lane->graph.hot.inline_cache;
    if (!inline_cache)
        inline_cache = crn_graph_empty_inline_cache();
    /* If another thread has armed the strand before, the exchange makes that thread's request
     * visible to the loads below. */
    (void)__atomic_exchange_n(&strand->hot.high, off ? CRN_HIGH_OFF : strand->end,
                              __ATOMIC_ACQ_REL);
    (void)__atomic_exchange_n(&strand->hot.low, strand->stack + strand->hot.floor,
                              __ATOMIC_ACQ_REL);
    (void)__atomic_exchange_n(&strand->hot.leave_tag, strand->hot.graph_tag, __ATOMIC_ACQ_REL);
    (void)__atomic_exchange_n(&strand->hot.inline_cache, inline_cache, __ATOMIC_ACQ_REL);
    if (is_pending(lane))
        crn_strand_arm(strand);
}

void crn_profile_announce_change(cairn_profile *profile)
{
    __atomic_store_n(&profile->changes, profile->changes + 1, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* a strand that begins to run is seen below, or its
                                                thread sees the change (crn_strand_disarm) */
    for (cairn_lane *lane = profile->lanes; lane; lane = lane->next) {
        cairn_strand *running = __atomic_load_n(&lane->running, __ATOMIC_ACQUIRE);
        __atomic_store_n(&lane->graph.hot.host_counters_end, 0, __ATOMIC_RELAXED);
        if (running)
            crn_strand_arm(running);
    }
}
