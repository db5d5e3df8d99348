/* SPDX-License-Identifier: MIT
 *
 * span_ranks.h - median and 99th percentile of the spans of each block, exactly, without a copy of
 * all durations.
 */
#ifndef CRN_SPANS_SPAN_RANKS_H
#define CRN_SPANS_SPAN_RANKS_H

#include "spans/span_figures.h"

/* Fills in `median` and `p99` of rows by block, whose counts and `min` are there; 0 where none has
 * ended. `kept`: by block; NULL is all. Takes a byte a span, and 8 for those that are within a
 * sixty-fourth of a rank. */
void crn_span_ranks(const crn_spans *spans, const uint8_t *kept, crn_span_row *rows,
                    uint32_t blocks);

#endif
