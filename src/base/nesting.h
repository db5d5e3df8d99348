/* SPDX-License-Identifier: MIT
 *
 * nesting.h - which spans of a lane run inside which others.
 *
 * One strand of a lane runs at a time, so at each moment the lane's innermost span is the open one
 * that began last. It interrupts the others: their self time excludes its time, whichever span is
 * its parent.
 */
#ifndef CRN_BASE_NESTING_H
#define CRN_BASE_NESTING_H

#include <stdint.h>

#include "base/cover.h"

/* Open spans of one lane, as a stack; each ends before the span below it. */
typedef struct crn_nesting {
    struct crn_open_span {
        uint64_t end;
        uint32_t span;
    } * open;        /* owned by the caller; has space for all spans of the lane */
    uint32_t height; /* 0 at the begin of a lane */
} crn_nesting;

/* Called when `inner` interrupts `outer`. */
typedef void crn_nesting_found(void *to, uint32_t outer, uint32_t inner);

/* Adds the lane's next span, unless it is empty. Spans come in the order of start and number. Calls
 * `found` for the open spans from the innermost outwards, up to the first that outlives the new
 * span. All calls together are at most two a span. */
static inline void crn_nesting_add(crn_nesting *nesting, uint32_t span, crn_period period,
                                   crn_nesting_found *found, void *to)
{
    if (period.end <= period.start)
        return;
    while (nesting->height && nesting->open[nesting->height - 1].end <= period.start)
        nesting->height--;
    /* A span that ends before the new span is never innermost again. */
    while (nesting->height && nesting->open[nesting->height - 1].end <= period.end)
        found(to, nesting->open[--nesting->height].span, span);
    if (nesting->height)
        found(to, nesting->open[nesting->height - 1].span, span);
    nesting->open[nesting->height++] = (struct crn_open_span){period.end, span};
}

#endif
