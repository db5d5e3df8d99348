/* SPDX-License-Identifier: MIT
 *
 * span_ranks.h - exact median and 99th percentile of the durations of each block, without a copy
 * of all durations.
 */
#ifndef CRN_SPANS_SPAN_RANKS_H
#define CRN_SPANS_SPAN_RANKS_H

#include "spans/span_figures.h"

/* Sets `median` and `p99` of `rows`, which are by block and have `count` and `min`; 0 where no span
 * has ended. `kept`: by block; NULL is all. Memory: one byte a span, and 8 for each value within
 * 1/64 of a rank. */
void crn_span_ranks(const crn_spans *spans, const uint8_t *kept, crn_span_row *rows,
                    uint32_t blocks);

#endif
