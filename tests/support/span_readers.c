/* SPDX-License-Identifier: MIT */
#include "support/span_readers.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "spans/spans.h"

/* Returns from the function, with a description, if two numbers differ. */
#define SAME(left, right, ...)                                                                     \
    do {                                                                                           \
        if ((left) != (right)) {                                                                   \
            difference_set(found, __VA_ARGS__);                                                    \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

static bool same_counts(const crn_span_store *store, const crn_trace *trace, difference *found)
{
    SAME(store->count, trace->span_count, "spans: %u, %u", store->count, trace->span_count);
    SAME(store->length, trace->length, "length: %llu, %llu", (unsigned long long)store->length,
         (unsigned long long)trace->length);
    SAME(store->lane_count, trace->lane_count, "lanes");
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        SAME(strcmp(store->lanes[lane], trace->lanes[lane]), 0, "name of lane %u", lane);
    SAME(store->key_count, trace->key_count, "keys");
    for (uint32_t key = 0; key < trace->key_count; key++)
        SAME(strcmp(store->keys[key], trace->keys[key]), 0, "name of key %u", key);
    SAME(store->dropped, trace->dropped, "dropped");
    SAME(store->skipped, trace->skipped, "skipped");
    SAME(store->recycled, trace->recycled, "recycled");
    SAME(store->details_dropped, trace->details_dropped, "details dropped");
    SAME(store->dangling, trace->dangling, "dangling: %llu, %llu",
         (unsigned long long)store->dangling, (unsigned long long)trace->dangling);
    return true;
}

static bool same_spans(const crn_span_store *store, const crn_trace *trace, difference *found)
{
    uint32_t open = 0;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        crn_span left = crn_store_span(store, s);
        const crn_span *right = &trace->spans[s];
        SAME(left.start, right->start, "start of span %u", s);
        SAME(left.end, right->end, "end of span %u: %llu, %llu", s, (unsigned long long)left.end,
             (unsigned long long)right->end);
        SAME(left.iteration, right->iteration, "iteration of span %u", s);
        SAME(left.block, right->block, "block of span %u", s);
        SAME(left.parent, right->parent, "parent of span %u: %u, %u", s, left.parent,
             right->parent);
        SAME(left.lane, right->lane, "lane of span %u", s);
        SAME(left.open, right->open, "whether span %u is open", s);
        SAME(left.handed_off, right->handed_off, "whether span %u was handed off", s);
        open += right->open;
    }
    SAME(store->open, open, "open spans: %u, %u", store->open, open);
    return true;
}

/* ---- edges ---- */

static int compare_edges(const void *left, const void *right)
{
    const crn_span_edge *a = left, *b = right;
    return CRN_ORDER(a->from, b->from)
               ?: CRN_ORDER(a->to, b->to)
               ?: CRN_ORDER(a->kind, b->kind)
               ?: CRN_ORDER(a->at, b->at);
}

/* Edges from one span to the same other have no order. */
static crn_span_edge *ordered_edges(const crn_span_edge *edges, uint32_t count)
{
    crn_span_edge *ordered = crn_calloc(count, sizeof *ordered);
    if (count) {
        memcpy(ordered, edges, count * sizeof *ordered);
        qsort(ordered, count, sizeof *ordered, compare_edges);
    }
    return ordered;
}

static bool same_edges(const crn_span_store *store, const crn_trace *trace, difference *found)
{
    uint32_t count = trace->edge_count, same = 0;
    SAME(store->edge_count, count, "edges: %u, %u", store->edge_count, count);
    for (uint32_t e = 1; e < count; e++)
        SAME(store->edges[e - 1].from <= store->edges[e].from, true, "order of edge %u", e);
    crn_span_edge *left = ordered_edges(store->edges, count);
    crn_span_edge *right = ordered_edges(trace->edges, count);
    while (same < count && compare_edges(&left[same], &right[same]) == 0)
        same++;
    crn_free(left);
    crn_free(right);
    SAME(same, count, "edge %u of all in order", same);
    return true;
}

static bool is_sample(const crn_sample *a, const crn_sample *b)
{
    return a->at == b->at && a->cpu == b->cpu && a->lane == b->lane && a->path == b->path;
}

/* Samples, and the spans that both readers find for them. */
static bool same_samples(const crn_span_store *store, const crn_trace *trace, difference *found)
{
    uint32_t count = trace->samples.count, same = 0;
    SAME(store->samples.count, count, "samples: %u, %u", store->samples.count, count);
    uint32_t *left = crn_store_samples_spans(store), *right = crn_samples_spans(trace);
    while (same < count && is_sample(&store->samples.list[same], &trace->samples.list[same]) &&
           left[same] == right[same])
        same++;
    crn_free(left);
    crn_free(right);
    SAME(same, count, "sample %u", same);
    SAME(store->samples.path_count, trace->samples.path_count, "paths of samples: %u, %u",
         store->samples.path_count, trace->samples.path_count);
    return true;
}

static bool same_handoffs(const crn_span_store *store, const crn_trace *trace, difference *found)
{
    for (uint32_t h = 0; h < trace->handoff_count; h++) {
        const crn_span_handoff *its = &trace->handoffs[h];
        const crn_span_move *move = crn_store_move(store, its->span);
        SAME(move && move->handed_off, true, "hand-off of span %u is missing", its->span);
        SAME(move->taken, its->taken, "when the token of span %u was taken", its->span);
    }
    return true;
}

/* ---- attributes ---- */

static bool same_attribute(crn_span_store *store, const crn_trace *trace, uint32_t a,
                           difference *found)
{
    char text[CAIRN_TEXT_MAX + 1];
    const crn_attribute *right = &trace->attributes[a];
    crn_attribute left = crn_store_attribute(store, a, text);
    SAME(left.span, right->span, "span of attribute %u", a);
    SAME(left.kind, right->kind, "kind of attribute %u", a);
    SAME(left.key, right->key, "key of attribute %u", a);
    SAME(crn_store_key(store, a), right->key, "key of attribute %u, alone", a);
    if (right->kind == CRN_ATTRIBUTE_TEXT)
        SAME(strcmp(left.value.text, right->value.text), 0, "text of attribute %u", a);
    else
        SAME(memcmp(&left.value, &right->value, sizeof left.value), 0, "value of attribute %u", a);
    return true;
}

static bool same_attributes(crn_span_store *store, const crn_trace *trace, difference *found)
{
    crn_store_attributes(store);
    SAME(store->attribute_count, trace->attribute_count, "attributes: %u, %u",
         store->attribute_count, trace->attribute_count);
    for (uint32_t a = 0; a < trace->attribute_count; a++)
        if (!same_attribute(store, trace, a, found))
            return false;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t left, right;
        const crn_attribute *first = crn_trace_attributes(trace, s, &right);
        uint32_t at = crn_store_attributes_of(store, s, &left);
        SAME(left, right, "attributes of span %u: %u, %u", s, left, right);
        if (left)
            SAME(at, first - trace->attributes, "first attribute of span %u", s);
    }
    return true;
}

/* ---- derived figures ---- */

static bool same_children(const crn_span_store *store, const crn_spans *spans, uint32_t span,
                          difference *found)
{
    const uint32_t *its;
    uint32_t count = crn_span_children(spans, span, &its), first = store->first_child[span];
    SAME(store->first_child[span + 1], first + count, "how many children span %u has", span);
    if (count) /* the trace's are ordered by start */
        qsort(spans->children + (its - spans->children), count, sizeof *its, crn_order_uint32);
    for (uint32_t i = 0; i < count; i++)
        SAME(store->children[first + i], its[i], "child %u of span %u", i, span);
    return true;
}

static bool same_times(crn_span_store *store, const crn_spans *spans, difference *found)
{
    crn_store_covered(store);
    crn_store_children(store);
    for (uint32_t s = 0; s < store->count; s++) {
        const crn_span_piece *piece = crn_store_piece(store, s);
        uint64_t left = crn_store_self(store, &piece->spans[s - piece->first], s);
        uint64_t right = crn_span_self(spans, s);
        SAME(left, right, "self of span %u: %llu, %llu", s, (unsigned long long)left,
             (unsigned long long)right);
        SAME(store->covered[s], crn_span_duration(spans, s) - right, "cover of span %u", s);
        if (!same_children(store, spans, s, found))
            return false;
    }
    return true;
}

static bool same_cpu(crn_span_store *store, const crn_trace *trace, difference *found)
{
    crn_store_cpu(store);
    SAME(!store->cpu, !trace->cpu, "whether processor time is known");
    for (uint32_t s = 0; store->cpu && s < store->count; s++)
        SAME(store->cpu[s], trace->cpu[s], "processor time of span %u", s);
    return true;
}

static bool same_weights(crn_span_store *store, const double *weights, difference *found)
{
    for (uint32_t s = store->count; s-- > 0;) {
        double weight = crn_store_weight(store, s);
        SAME(weight == (weights ? weights[s] : 1), true, "weight of span %u: %g, %g", s, weight,
             weights ? weights[s] : 1);
    }
    return true;
}

static bool same_figures(crn_span_store *store, const crn_trace *trace, difference *found)
{
    crn_spans *spans = crn_spans_make(trace, 1);
    double *weights = crn_trace_weigh(trace);
    bool same = same_times(store, spans, found) && same_cpu(store, trace, found) &&
                same_weights(store, weights, found);
    crn_free(weights);
    crn_spans_free(spans);
    return same;
}

bool store_is_trace(crn_span_store *store, const crn_trace *trace, difference *found)
{
    return same_counts(store, trace, found) && same_spans(store, trace, found) &&
           same_edges(store, trace, found) && same_handoffs(store, trace, found) &&
           same_samples(store, trace, found) && same_attributes(store, trace, found) &&
           same_figures(store, trace, found);
}

static bool both_refuse(const crn_error *left, const crn_error *right, difference *found)
{
    SAME(left->code, right->code, "one says \"%s\", the other \"%s\"", left->message,
         right->message);
    SAME(left->code != 0, true, "it is refused without an error");
    return true;
}

bool span_readers_agree(const char *path, uint32_t *spans, difference *found)
{
    crn_error left = {0}, right = {0};
    crn_trace *trace = crn_trace_load(path, &left);
    crn_span_store *store = crn_store_open(path, &right);
    bool same =
        trace && store ? store_is_trace(store, trace, found) : both_refuse(&left, &right, found);
    if (spans)
        *spans = trace ? trace->span_count : 0;
    crn_store_close(store);
    crn_trace_free(trace);
    return same;
}
