/* SPDX-License-Identifier: MIT
 *
 * span_names.h - finds the lane of a span name while a capture is read. A span name is the number
 * that identifies a span within its capture: its lane and its position there.
 */
#ifndef CRN_SPANS_SPAN_NAMES_H
#define CRN_SPANS_SPAN_NAMES_H

#include <stdbool.h>

#include "base/search.h"
#include "capture/format.h"

/* Returns the index in the sorted `numbers` of the lane in a span name; `count` if they lack it.
 * Does not find lanes whose numbers are too large for a name. */
static inline uint32_t crn_lane_named(const uint32_t *numbers, uint32_t count, uint64_t name)
{
    uint32_t number = crn_span_name_lane(name), low = CRN_NUMBERS_BELOW(numbers, count, number);
    bool there = low < count && numbers[low] == number && number != UINT32_MAX;
    return there ? low : count;
}

#endif
