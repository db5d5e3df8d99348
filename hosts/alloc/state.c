/* SPDX-License-Identifier: MIT
 *
 * State of the process and of its threads.
 */
#include "alloc.h"

_Thread_local crn_thread crn_here;
int crn_alloc_state_now = CRN_ALLOC_EARLY;
cairn_profile *crn_profile_here;
cairn_metric crn_metrics_here[CRN_METRICS];
const char *const crn_metric_names[CRN_METRICS][2] = {
    {"alloc bytes", "bytes"},   {"alloc objects", "count"}, {"freed bytes", "bytes"},
    {"freed objects", "count"}, {"peak bytes", "bytes"},
};

/* In a child of fork, another library's fork handler can allocate before libcairn's has run. Then
 * the process stays unseen here, and the state does not change. */
void crn_alloc_end_in_child(void)
{
    cairn_priv_process_begin_unseen();
    if (!cairn_priv_process_is_unseen())
        __atomic_store_n(&crn_alloc_state_now, CRN_ALLOC_OVER, __ATOMIC_RELEASE);
}

void crn_alloc_stop_if_full(void)
{
    int on = CRN_ALLOC_ON;
    cairn_error status = cairn_profile_status(crn_profile_here);
    if (status == CAIRN_E_SPACE || status == CAIRN_E_LOST)
        __atomic_compare_exchange_n(&crn_alloc_state_now, &on, CRN_ALLOC_FULL, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void crn_alloc_lose(crn_lane *lane)
{
    static cairn_profile *noted; /* atomic */
    if (lane)
        crn_alloc_lane_listen(lane);
    crn_alloc_stop_if_full();
    if ((lane && lane->off) ||
        __atomic_load_n(&crn_alloc_state_now, __ATOMIC_ACQUIRE) != CRN_ALLOC_ON)
        return;
    cairn_profile *profile = lane ? lane->calls->lane_profile(lane->lane) : crn_profile_here;
    if (!profile || __atomic_exchange_n(&noted, profile, __ATOMIC_RELAXED) == profile)
        return;
    (lane ? lane->calls->profile_note : cairn_profile_note)(
        profile, "alloc_lost", "memory ran out: some allocations or frees are not recorded");
}
