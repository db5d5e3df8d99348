/* SPDX-License-Identifier: MIT
 *
 * Traces: cycles of parents, lookups, freeing.
 */
#include "spans/trace.h"

#include <cairn/span.h>

#include "base/memory.h"
#include "base/search.h"
#include "spans/trace_histograms.h"
#include "spans/trace_process.h"

/* Returns true if some parent comes after its child, as one parent of each cycle does. */
static bool can_have_circles(const crn_trace *trace)
{
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (trace->spans[s].parent != CRN_SPAN_NONE && trace->spans[s].parent >= s)
            return true;
    return false;
}

/* Walks upwards from each span to the first visited one. If this walk itself visited that span,
 * removes the parent that closes the cycle. */
void crn_trace_cut_circles(crn_trace *trace)
{
    if (!can_have_circles(trace))
        return;
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

const char *crn_level_name(uint32_t level)
{
    static const char *const names[] = {[CAIRN_LEVEL_NONE] = "event",
                                        [CAIRN_LEVEL_DEBUG] = "debug",
                                        [CAIRN_LEVEL_INFO] = "info",
                                        [CAIRN_LEVEL_WARNING] = "warning",
                                        [CAIRN_LEVEL_ERROR] = "error"};
    return level <= CAIRN_LEVEL_ERROR ? names[level] : names[CAIRN_LEVEL_NONE];
}

const crn_attribute *crn_trace_attributes(const crn_trace *trace, uint32_t span, uint32_t *count)
{
    uint32_t low = CRN_BELOW(trace->attributes, trace->attribute_count, span, span);
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

void crn_trace_free(crn_trace *trace)
{
    if (!trace)
        return;
    crn_free(trace->spans);
    crn_free(trace->attributes);
    crn_free(trace->cpu);
    crn_free(trace->ready);
    crn_free(trace->weights);
    crn_free(trace->edges);
    crn_free(trace->counters);
    crn_free(trace->events);
    crn_free(trace->off_core);
    crn_samples_free(&trace->samples);
    crn_free(trace->threads);
    crn_free(trace->handoffs);
    crn_free(trace->remotes);
    crn_trace_histograms_free(trace);
    crn_free(trace->origins);
    crn_free(trace->processes);
    crn_free((void *)trace->lanes);
    crn_free((void *)trace->keys);
    crn_interning_free(trace->texts);
    crn_free(trace);
}
