/* SPDX-License-Identifier: MIT
 *
 * What must hold of a trace, whatever was in the file, and what is found out of one by its order.
 */
#include "analysis/trace_order.h"

#include <stdlib.h>

#include "analysis/trace_process.h"
#include "base/memory.h"

/* ---- order ---- */

static int compare_attributes(const void *left, const void *right)
{
    const crn_attribute *a = left, *b = right;
    return a->span < b->span ? -1 : a->span > b->span;
}

static int compare_edges(const void *left, const void *right)
{
    const crn_span_edge *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

static int compare_handoffs(const void *left, const void *right)
{
    const crn_span_handoff *a = left, *b = right;
    return a->span < b->span ? -1 : a->span > b->span;
}

/* A span is handed off once; in a damaged file the first counts. */
static void order_handoffs(crn_trace *trace)
{
    uint32_t kept = 0;
    if (trace->handoff_count)
        qsort(trace->handoffs, trace->handoff_count, sizeof *trace->handoffs, compare_handoffs);
    for (uint32_t h = 0; h < trace->handoff_count; h++)
        if (!kept || trace->handoffs[kept - 1].span != trace->handoffs[h].span)
            trace->handoffs[kept++] = trace->handoffs[h];
    trace->handoff_count = kept;
}

static int compare_remotes(const void *left, const void *right)
{
    const crn_span_remote *a = left, *b = right;
    return a->span < b->span ? -1 : a->span > b->span;
}

/* Likewise. */
static void order_remotes(crn_trace *trace)
{
    uint32_t kept = 0;
    if (trace->remote_count)
        qsort(trace->remotes, trace->remote_count, sizeof *trace->remotes, compare_remotes);
    for (uint32_t r = 0; r < trace->remote_count; r++)
        if (!kept || trace->remotes[kept - 1].span != trace->remotes[r].span)
            trace->remotes[kept++] = trace->remotes[r];
    trace->remote_count = kept;
}

static int compare_weights(const void *left, const void *right)
{
    const crn_span_weight *a = left, *b = right;
    return a->span < b->span ? -1 : a->span > b->span;
}

static void order_weights(crn_trace *trace)
{
    uint32_t kept = 0;
    if (trace->weight_count)
        qsort(trace->weights, trace->weight_count, sizeof *trace->weights, compare_weights);
    for (uint32_t w = 0; w < trace->weight_count; w++)
        if (!kept || trace->weights[kept - 1].span != trace->weights[w].span)
            trace->weights[kept++] = trace->weights[w];
    trace->weight_count = kept;
}

void crn_trace_order(crn_trace *trace)
{
    order_remotes(trace);
    order_handoffs(trace);
    order_weights(trace);
    if (trace->attribute_count)
        qsort(trace->attributes, trace->attribute_count, sizeof *trace->attributes,
              compare_attributes);
    if (trace->edge_count)
        qsort(trace->edges, trace->edge_count, sizeof *trace->edges, compare_edges);
}

/* ---- circles ---- */

/* Each span is walked up from once, and what leads back to the walk's own spans is cut. */
void crn_trace_cut_circles(crn_trace *trace)
{
    uint32_t *walk = crn_calloc(trace->span_count, sizeof *walk); /* whose walk came by, + 1 */
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

/* ---- what is found by it ---- */

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
