/* SPDX-License-Identifier: MIT
 *
 * Writes to the capture's header why recording is incomplete, and moments by both clocks.
 */
#include "capture/loss.h"
#include "runtime/runtime.h"

void crn_profile_stop(cairn_profile *profile, cairn_error error)
{
    cairn_error none = CAIRN_OK;
    if (__atomic_compare_exchange_n(&profile->stopped, &none, error, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        profile->capture.header->stopped_by = error;
}

cairn_error cairn_profile_status(const cairn_profile *profile)
{
    if (!profile)
        return CAIRN_E_ARGUMENT;
    if (crn_capture_is_lost(&profile->capture))
        return CAIRN_E_LOST;
    return __atomic_load_n(&profile->stopped, __ATOMIC_RELAXED);
}

/* Reads both clocks repeatedly, and returns the fastest reading, which was probably not
 * interrupted. */
crn_disk_moment crn_profile_read_moment(const cairn_profile *profile)
{
    enum { READINGS = 4 };
    crn_disk_moment best = {0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        uint64_t before = crn_clock_now(profile->tsc);
        uint64_t monotonic = crn_clock_monotonic();
        uint64_t took = crn_clock_now(profile->tsc) - before;
        if (took < least) {
            least = took;
            best = (crn_disk_moment){before + took / 2, monotonic};
        }
    }
    return best;
}

void crn_profile_moment(cairn_profile *profile)
{
    crn_disk_header *header = profile->capture.header;
    header->last[(header->moments + 1) & 1] = crn_profile_read_moment(profile);
    __atomic_store_n(&header->moments, header->moments + 1, __ATOMIC_RELEASE);
}

void crn_lane_drop(cairn_lane *lane)
{
    lane->disk->dropped++;
    crn_profile_stop(lane->profile, CAIRN_E_MEMORY);
}
