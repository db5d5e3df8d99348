/* SPDX-License-Identifier: MIT
 *
 * span_names.h - which lane a span's name leads to: for those that read a capture.
 */
#ifndef CRN_SPANS_SPAN_NAMES_H
#define CRN_SPANS_SPAN_NAMES_H

#include <stdbool.h>

#include "capture/format.h"

/* The index in `numbers`, which go up, of the lane in a name; `count` if it is not there. A lane
 * whose number does not fit into a name cannot be named. */
static inline uint32_t crn_lane_named(const uint32_t *numbers, uint32_t count, uint64_t name)
{
    uint32_t number = crn_span_name_lane(name), low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (numbers[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    bool there = low < count && numbers[low] == number && number != UINT32_MAX;
    return there ? low : count;
}

#endif
