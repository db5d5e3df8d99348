/* SPDX-License-Identifier: MIT
 *
 * span_readers.h - compares a span store with the trace that crn_trace_load makes of the same
 * capture, and the figures that each computes.
 */
#ifndef TESTS_SUPPORT_SPAN_READERS_H
#define TESTS_SUPPORT_SPAN_READERS_H

#include "spans/spans.h"
#include "support/difference.h"

/* Returns true if both have the same spans, edges, hand-offs, attributes and derived figures.
 * Otherwise `found` describes the first difference. */
bool store_is_trace(crn_span_store *store, const crn_trace *trace, difference *found);

/* Returns true if both readers read the same from a capture, or both reject it. `spans`, if not
 * NULL, becomes the number of spans. */
bool span_readers_agree(const char *path, uint32_t *spans, difference *found);

#endif
