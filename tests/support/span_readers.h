/* SPDX-License-Identifier: MIT
 *
 * span_readers.h - the two that read spans, held against each other: crn_trace_load, which copies
 * them, and crn_store_open, which reads them in place.
 */
#ifndef TESTS_SUPPORT_SPAN_READERS_H
#define TESTS_SUPPORT_SPAN_READERS_H

#include "spans/spans.h"
#include "support/difference.h"

/* Whether the two hold the same: spans, edges, hand-offs, attributes, and what is made of them.
 * Else `found` says what differs first. */
bool store_is_trace(crn_span_store *store, const crn_trace *trace, difference *found);

/* Whether a capture is the same to both, or refused by both. `spans`, if it is not NULL, becomes
 * how many there are. */
bool span_readers_agree(const char *path, uint32_t *spans, difference *found);

#endif
