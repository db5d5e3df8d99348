/* SPDX-License-Identifier: MIT
 *
 * any_trace.h - random spans, hand-offs and edges that a file can contain but no program could
 * record, and random scenarios for replaying them.
 */
#ifndef TESTS_SUPPORT_ANY_TRACE_H
#define TESTS_SUPPORT_ANY_TRACE_H

#include "replay/replay.h"
#include "support/random.h"

enum { ANY_SPANS = 80, ANY_LANES = 5, ANY_EDGES = 60, ANY_LENGTH = 100, ANY_BLOCKS = 8 };

typedef struct any_trace {
    crn_trace trace;
    crn_span spans[ANY_SPANS];
    crn_span_edge edges[ANY_EDGES];
    crn_span_handoff handoffs[ANY_SPANS];
    const char *lanes[ANY_LANES];
    uint32_t capacity[ANY_BLOCKS], threads[ANY_BLOCKS];
    uint8_t rest[ANY_BLOCKS];
    double factor[ANY_BLOCKS]; /* 0, 1 or 2 */
    crn_replay_setup setup;    /* latencies of all spans */
    crn_scenario scenario;
} any_trace;

/* The result contains pointers into itself. */
void any_trace_make(any_trace *any, random_source *random);

#endif
