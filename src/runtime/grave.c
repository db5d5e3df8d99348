/* SPDX-License-Identifier: MIT
 *
 * The profile of abandoned lanes, which records nothing.
 */
#include "runtime/runtime.h"

static crn_disk_header header;
cairn_profile crn_grave = {.capture = {.header = &header, .detached = true},
                           .tick_period = 1,
                           .metric_count = CAIRN_METRIC_USER,
                           .mode = CRN_MODE_OFF,
                           .mode_on = CRN_MODE_OFF};

bool crn_lane_is_buried(const cairn_lane *lane)
{
    return lane->profile == &crn_grave;
}
