/* SPDX-License-Identifier: MIT
 *
 * recorded.h - loads captures, and looks up their spans by block name.
 */
#ifndef TESTS_SUPPORT_RECORDED_H
#define TESTS_SUPPORT_RECORDED_H

#include "profile/profile.h"
#include "spans/spans.h"

typedef struct recorded {
    crn_profile *profile;
    crn_trace *trace;
} recorded;

/* Each loads a capture; fails the test if that fails or an invariant of the profile does not hold.
 */
crn_profile *recorded_profile(const char *path);
crn_trace *recorded_trace(const char *path);
recorded recorded_load(const char *path);
void recorded_free(recorded *recorded);

/* Returns the number of spans with this block, or with this path of blocks "main/render", outermost
 * first. */
uint32_t recorded_count(const recorded *recorded, const char *path);

/* Returns the first such span, CRN_SPAN_NONE if there is none. */
uint32_t recorded_find(const recorded *recorded, const char *path);

/* Returns the value of a span's attribute as text, "" if it has none. Static storage. */
const char *recorded_attribute(const recorded *recorded, uint32_t span, const char *key);

/* Returns the number of edges of this kind from one span to another. */
uint32_t recorded_edges(const recorded *recorded, uint32_t from, uint32_t to, crn_edge_kind kind);

/* Returns the calls of blocks with this name, over all contexts. */
uint64_t recorded_calls(const recorded *recorded, const char *name);

#endif
