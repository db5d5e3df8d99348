/* SPDX-License-Identifier: MIT
 *
 * made_spans.h - builds traces span by span, and explains them.
 */
#ifndef TESTS_SUPPORT_MADE_SPANS_H
#define TESTS_SUPPORT_MADE_SPANS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "explain/explain.h"
#include "support/near.h"

enum { RENDER = 1, G = 2, H = 3, BLOCKS = 5, MOST = 20000 };

/* ---- traces ---- */

typedef struct made {
    crn_trace trace;
    crn_span spans[MOST];
    crn_attribute attributes[MOST];
    const char *keys[4], *lanes[4];
    uint64_t now;
} made;

static inline made *make(void)
{
    made *made = crn_calloc(1, sizeof *made);
    made->keys[0] = "width";
    made->keys[1] = "image";
    made->lanes[0] = made->lanes[1] = "";
    made->trace = (crn_trace){.spans = made->spans,
                              .attributes = made->attributes,
                              .keys = made->keys,
                              .key_count = 2,
                              .lanes = made->lanes,
                              .lane_count = 2};
    return made;
}

static inline uint32_t begin(made *made, uint32_t block, uint32_t parent)
{
    uint32_t span = made->trace.span_count++;
    assert_true(span < MOST);
    made->spans[span] = (crn_span){
        .start = made->now, .block = block, .parent = parent, .iteration = CAIRN_ITERATION_NONE};
    return span;
}

static inline void end(made *made, uint32_t span)
{
    made->spans[span].end = made->trace.length = made->now;
}

static inline void give(made *made, uint32_t span, uint16_t key, crn_attribute_kind kind,
                        double number, const char *text)
{
    crn_attribute *attribute = &made->attributes[made->trace.attribute_count++];
    *attribute = (crn_attribute){.span = span, .key = key, .kind = (uint16_t)kind};
    if (kind == CRN_ATTRIBUTE_TEXT)
        attribute->value.text = text;
    else if (kind == CRN_ATTRIBUTE_NUMBER)
        attribute->value.number = number;
    else
        attribute->value.integer = (int64_t)number;
}

static inline void call(made *made, uint32_t block, uint32_t parent, uint64_t took)
{
    uint32_t span = begin(made, block, parent);
    made->now += took;
    end(made, span);
}

static inline crn_explain *explain_block(const crn_trace *trace, uint32_t block, uint32_t blocks)
{
    crn_spans *spans = crn_spans_make(trace, blocks);
    uint64_t *chosen = crn_bits_new(trace->span_count);
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (crn_span_block(spans, s) == block)
            crn_bits_set(chosen, s);
    crn_explain *explain = crn_explain_make(spans, chosen, UINT64_MAX, 0);
    crn_free(chosen);
    crn_spans_free(spans);
    return explain;
}

static inline double share_of(const crn_explain *explain, crn_explain_kind kind, uint32_t block)
{
    for (uint32_t p = 0; p < explain->part_count; p++)
        if (explain->parts[p].kind == kind && explain->parts[p].block == block)
            return explain->parts[p].share;
    return 0;
}

static inline const crn_explain_factor *factor_of(const crn_explain *explain, crn_factor_kind kind,
                                                  const char *name)
{
    for (uint32_t f = 0; f < explain->factor_count; f++)
        if (explain->factors[f].kind == kind && strcmp(explain->factors[f].name, name) == 0)
            return &explain->factors[f];
    return NULL;
}

#endif
