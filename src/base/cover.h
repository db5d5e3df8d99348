/* SPDX-License-Identifier: MIT
 *
 * cover.h - the union of time intervals.
 *
 * The covered time of a span is the union of the intervals of its children, on any lane, and of the
 * spans that run inside it on its own lane (nesting.h), clipped to the span. The rest of the span
 * is its self time. Self time of a span whose children should account for all of its time is called
 * missing time.
 */
#ifndef CRN_BASE_COVER_H
#define CRN_BASE_COVER_H

#include <stdint.h>

/* The time from `start` up to, but not including, `end`; empty if end <= start. */
typedef struct crn_period {
    uint64_t start, end;
} crn_period;

/* Returns `time`, moved into the range if it is outside. */
static inline uint64_t crn_within(uint64_t time, uint64_t from, uint64_t to)
{
    return time < from ? from : time > to ? to : time;
}

/* Returns the time by which `part` extends the union of the parts before it, within `whole`. Parts
 * come in the order of `start`. `*reach` is the latest end of the parts so far, 0 before the first;
 * the function updates it. */
static inline uint64_t crn_cover(crn_period whole, crn_period part, uint64_t *reach)
{
    uint64_t start = part.start > whole.start ? part.start : whole.start;
    uint64_t end = part.end < whole.end ? part.end : whole.end;
    start = start > *reach ? start : *reach;
    *reach = part.end > *reach ? part.end : *reach;
    return end > start ? end - start : 0;
}

#endif
