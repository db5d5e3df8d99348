/* SPDX-License-Identifier: MIT
 *
 * recorded.h - what a capture holds of spans, by the names of their blocks.
 */
#ifndef TESTS_SUPPORT_RECORDED_H
#define TESTS_SUPPORT_RECORDED_H

#include "profile/profile.h"
#include "spans/spans.h"

typedef struct recorded {
    crn_profile *profile;
    crn_trace *trace;
} recorded;

/* Fails the test if the capture cannot be loaded, or is not sound. */
recorded recorded_load(const char *path);
void recorded_free(recorded *recorded);

/* How many spans have this block; or, of a path "main/render", these blocks from the outermost on.
 */
uint32_t recorded_count(const recorded *recorded, const char *path);

/* The first of those, CRN_SPAN_NONE if there is none. */
uint32_t recorded_find(const recorded *recorded, const char *path);

/* The value of a span's attribute, as text: "" if it has none. Static storage. */
const char *recorded_attribute(const recorded *recorded, uint32_t span, const char *key);

/* How many edges of this kind lead from one span to the other. */
uint32_t recorded_edges(const recorded *recorded, uint32_t from, uint32_t to, crn_edge_kind kind);

/* The calls of blocks of that name, over all contexts. */
uint64_t recorded_calls(const recorded *recorded, const char *name);

#endif
