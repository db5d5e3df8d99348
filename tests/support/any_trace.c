/* SPDX-License-Identifier: MIT */
#include "support/any_trace.h"

static void make_spans(any_trace *any, random_source *random, uint32_t length)
{
    crn_trace *trace = &any->trace;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint64_t start = random_below(random, length);
        any->spans[s] = (crn_span){
            .start = start,
            .end = start + random_below(random, length),
            .block = random_below(random, ANY_BLOCKS + 2),
            .lane = random_below(random, ANY_LANES),
            .open = random_chance(random, 1, 9),
            .parent = s && random_chance(random, 3, 4) ? random_below(random, s) : CRN_SPAN_NONE};
        if (any->spans[s].parent == CRN_SPAN_NONE || random_chance(random, 1, 2))
            continue;
        any->spans[s].handed_off = true;
        if (random_chance(random, 4, 5))
            any->handoffs[trace->handoff_count++] =
                (crn_span_handoff){s, random_below(random, 3), random_below(random, 2 * length)};
    }
}

static void make_edges(any_trace *any, random_source *random, uint32_t length)
{
    any->trace.edge_count = random_below(random, ANY_EDGES);
    for (uint32_t e = 0; e < any->trace.edge_count; e++)
        any->edges[e] =
            (crn_span_edge){random_below(random, any->trace.span_count),
                            random_below(random, any->trace.span_count),
                            random_chance(random, 1, 2) ? CRN_EDGE_WAITS : CRN_EDGE_FOLLOWS,
                            random_below(random, 2 * length)};
}

void any_trace_make(any_trace *any, random_source *random)
{
    uint32_t length = 1 + random_below(random, ANY_LENGTH);
    *any = (any_trace){.trace = {.spans = any->spans,
                                 .span_count = 1 + random_below(random, ANY_SPANS),
                                 .handoffs = any->handoffs,
                                 .edges = any->edges,
                                 .lane_count = ANY_LANES,
                                 .lanes = any->lanes}};
    for (int lane = 0; lane < ANY_LANES; lane++)
        any->lanes[lane] = "";
    make_spans(any, random, length);
    make_edges(any, random, length);
    for (int b = 0; b < ANY_BLOCKS; b++) {
        any->capacity[b] = random_below(random, 3);
        any->threads[b] = random_below(random, 4);
        any->rest[b] = (uint8_t)(random_chance(random, 1, 4) ? random_below(random, 3) : 0);
        any->factor[b] = random_below(random, 3);
    }
    any->setup = (crn_replay_setup){.block_count = ANY_BLOCKS,
                                    .capacity = any->capacity,
                                    .rest = any->rest,
                                    .cores = random_below(random, 4),
                                    .fixed = random_chance(random, 1, 4),
                                    .no_guesses = random_chance(random, 1, 4),
                                    .every = true};
    any->scenario = (crn_scenario){.factor = any->factor,
                                   .cores = random_below(random, 3),
                                   .threads = any->threads,
                                   .capacity = any->capacity};
}
