/* SPDX-License-Identifier: MIT
 *
 * From records to the arrays that analysis works on.
 */
#include "analysis/freeze.h"

#include <stdlib.h>

#include "base/memory.h"

/* The block that stands for one that the table does not hold. */
static uint32_t special_block(crn_profile *profile, uint32_t *place, const char *name)
{
    if (!*place)
        *place = crn_profile_put_block(profile, &(crn_block_info){.name = name, .file = ""});
    return *place;
}

static void put_contexts(crn_profile *profile, const crn_records *records, double wall_scale)
{
    uint32_t count = records->context_count, known = profile->block_count, unknown = 0;
    uint64_t *calls = crn_calloc(count, sizeof *calls);
    uint64_t *ticks = crn_calloc(count, sizeof *ticks);
    uint64_t *wall = crn_calloc(count, sizeof *wall);
    for (uint32_t c = 0; c < count; c++) {
        const cairn_priv_context *context = crn_records_context(records, records->units[c]);
        uint32_t from = context->edge.from;
        profile->parent[c] = from ? crn_records_number(records, from) : 0;
        uint32_t block = context->block;
        if (block == CAIRN_BLOCK_FOLDED)
            block = special_block(profile, &profile->folded_block, "[folded]");
        else if (block >= known)
            block = special_block(profile, &unknown, "[unknown]");
        profile->block[c] = block;
        calls[c] = profile->calls_tree[c] = context->edge.calls & CRN_CALLS_MASK;
        ticks[c] = context->ticks;
        wall[c] = wall_scale == 1 ? context->wall
                                  : (uint64_t)((double)context->wall * wall_scale + 0.5);
    }
    profile->values[CRN_METRIC_CALLS] = calls;
    crn_profile_put_column(profile, CRN_METRIC_TICKS, ticks);
    crn_profile_put_column(profile, CRN_METRIC_WALL, wall);
}

/* Counting sort by `from`, which keeps the order of creation within a context. */
static void put_edges(crn_profile *profile, const crn_records *records)
{
    profile->edge_count = records->edge_count;
    profile->edges = crn_calloc(records->edge_count, sizeof *profile->edges);
    uint32_t *place = crn_calloc((size_t)records->context_count + 1, sizeof *place);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t unit = 0; (unit = crn_records_next(records, unit));) {
            if (crn_records_is_context(records, unit))
                continue;
            const cairn_priv_edge *edge = crn_records_edge(records, unit);
            uint32_t from = crn_records_number(records, edge->from);
            if (pass == 0) {
                place[from + 1]++;
                continue;
            }
            uint32_t target = crn_records_number(records, edge->target);
            uint64_t calls = edge->calls & CRN_CALLS_MASK;
            profile->edges[place[from]++] = (crn_profile_edge){
                from, target, calls, (edge->calls & CRN_CALLS_FOLDED) != 0};
            profile->values[CRN_METRIC_CALLS][target] += calls;
        }
        for (uint32_t c = 0; pass == 0 && c < records->context_count; c++)
            place[c + 1] += place[c];
    }
    crn_free(place);
}

/* A depth-first walk that keeps, for each block, its occurrence nearest to the context. */
static void put_previous(crn_profile *profile)
{
    uint32_t count = profile->context_count;
    uint32_t *child = crn_calloc(count, sizeof *child);     /* 0 is none: the root is nobody's */
    uint32_t *sibling = crn_calloc(count, sizeof *sibling); /* child */
    uint32_t *nearest = crn_calloc(profile->block_count, sizeof *nearest); /* context + 1 */
    for (uint32_t c = count; c-- > 1;) {
        sibling[c] = child[profile->parent[c]];
        child[profile->parent[c]] = c;
    }
    for (uint32_t c = 0;;) {
        uint32_t block = profile->block[c];
        profile->previous[c] = nearest[block] ? nearest[block] - 1 : CRN_CONTEXT_NONE;
        nearest[block] = c + 1;
        if (child[c]) {
            c = child[c];
            continue;
        }
        for (;; c = profile->parent[c]) {
            uint32_t outer = profile->previous[c];
            nearest[profile->block[c]] = outer == CRN_CONTEXT_NONE ? 0 : outer + 1;
            if (!c || sibling[c])
                break;
        }
        if (!c)
            break;
        c = sibling[c];
    }
    crn_free(child);
    crn_free(sibling);
    crn_free(nearest);
}

void crn_profile_put_records(crn_profile *profile, const crn_records *records, double wall_scale)
{
    uint32_t count = records->context_count;
    profile->context_count = count;
    profile->parent = crn_calloc(count, sizeof *profile->parent);
    profile->block = crn_calloc(count, sizeof *profile->block);
    profile->previous = crn_calloc(count, sizeof *profile->previous);
    profile->calls_tree = crn_calloc(count, sizeof *profile->calls_tree);
    put_contexts(profile, records, wall_scale);
    put_edges(profile, records);
    put_previous(profile);
}
