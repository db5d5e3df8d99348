/* SPDX-License-Identifier: MIT
 *
 * Establishes the invariants of a trace, whatever the file contained: sorted arrays, no
 * duplicates, no cycles. Lookups that rely on the order.
 */
#include "spans/trace_order.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "spans/span_store.h"
#include "spans/trace_process.h"

/* ---- order ---- */

static int compare_edges(const void *left, const void *right)
{
    const crn_span_edge *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

/* order_by_span reads the span number at offset 0. */
_Static_assert(offsetof(crn_attribute, span) == 0 && offsetof(crn_span_handoff, span) == 0 &&
                   offsetof(crn_span_weight, span) == 0 && offsetof(crn_span_remote, span) == 0,
               "by span");

static uint32_t span_of(const void *items, uint32_t i, size_t size)
{
    uint32_t span;
    memcpy(&span, (const char *)items + i * size, sizeof span);
    return span;
}

/* Sorts by span, stably. The array is nearly always sorted already. */
static void order_by_span(void *items, uint32_t count, size_t size)
{
    uint32_t sorted = 1;
    while (sorted < count && span_of(items, sorted - 1, size) <= span_of(items, sorted, size))
        sorted++;
    if (sorted >= count)
        return;
    uint64_t *keys = crn_calloc(count, sizeof *keys);
    uint32_t *order = crn_calloc(count, sizeof *order);
    char *ordered = crn_calloc(count, size);
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = span_of(items, i, size);
        order[i] = i;
    }
    crn_store_sort(order, count, keys);
    for (uint32_t i = 0; i < count; i++)
        memcpy(ordered + i * size, (const char *)items + order[i] * size, size);
    memcpy(items, ordered, count * size);
    crn_free(ordered);
    crn_free(order);
    crn_free(keys);
}

/* Keeps the last item of each span. Only damaged files have more than one. */
static uint32_t keep_last(void *items, uint32_t count, size_t size)
{
    char *at = items;
    uint32_t kept = 0;
    order_by_span(items, count, size);
    for (uint32_t i = 0; i < count; i++) {
        if (kept && span_of(items, kept - 1, size) == span_of(items, i, size))
            kept--;
        memmove(at + kept++ * size, at + i * size, size);
    }
    return kept;
}

void crn_trace_order(crn_trace *trace)
{
    trace->remote_count = keep_last(trace->remotes, trace->remote_count, sizeof *trace->remotes);
    trace->handoff_count =
        keep_last(trace->handoffs, trace->handoff_count, sizeof *trace->handoffs);
    trace->weight_count = keep_last(trace->weights, trace->weight_count, sizeof *trace->weights);
    order_by_span(trace->attributes, trace->attribute_count, sizeof *trace->attributes);
    if (trace->edge_count)
        qsort(trace->edges, trace->edge_count, sizeof *trace->edges, compare_edges);
}

/* ---- cycles ---- */

/* Visits each span by one walk upwards; a parent that the same walk has visited is cut off. */
void crn_trace_cut_circles(crn_trace *trace)
{
    uint32_t *walk = crn_calloc(trace->span_count, sizeof *walk); /* by span: number of the walk
                                                                     that visited it, + 1 */
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t at = s;
        while (!walk[at]) {
            walk[at] = s + 1;
            uint32_t parent = trace->spans[at].parent;
            if (parent == CRN_SPAN_NONE)
                break;
            if (walk[parent] == s + 1) {
                trace->spans[at].parent = CRN_SPAN_NONE;
                trace->dangling++;
                break;
            }
            at = parent;
        }
    }
    crn_free(walk);
}

/* ---- lookups ---- */

const crn_attribute *crn_trace_attributes(const crn_trace *trace, uint32_t span, uint32_t *count)
{
    uint32_t low = 0, high = trace->attribute_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (trace->attributes[middle].span < span)
            low = middle + 1;
        else
            high = middle;
    }
    *count = 0;
    while (low + *count < trace->attribute_count && trace->attributes[low + *count].span == span)
        ++*count;
    return trace->attributes ? &trace->attributes[low] : NULL;
}

double *crn_trace_weigh(const crn_trace *trace)
{
    if (!trace->weight_count)
        return NULL;
    double *weights = crn_calloc(trace->span_count, sizeof *weights);
    for (uint32_t w = 0; w < trace->weight_count; w++)
        weights[trace->weights[w].span] = trace->weights[w].weight;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t root = s;
        while (!weights[root] && trace->spans[root].parent != CRN_SPAN_NONE)
            root = trace->spans[root].parent;
        double weight = weights[root] ? weights[root] : 1;
        for (uint32_t at = s; !weights[at]; at = trace->spans[at].parent) {
            weights[at] = weight;
            if (at == root)
                break;
        }
    }
    return weights;
}
