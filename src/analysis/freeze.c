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

static void put_contexts(crn_profile *profile, const crn_records *records)
{
    uint32_t known = profile->block_count, unknown = 0;
    for (uint32_t c = 0; c < records->context_count; c++) {
        uint32_t record = records->contexts[c];
        const crn_link *link = &records->links[record];
        uint32_t block = link->block;
        if (block == CAIRN_BLOCK_FOLDED)
            block = special_block(profile, &profile->folded_block, "[folded]");
        else if (block >= known)
            block = special_block(profile, &unknown, "[unknown]");
        profile->parent[c] = c ? records->numbers[link->from] : 0;
        profile->block[c] = block;
        profile->calls_tree[c] = records->hot[record].calls;
    }
}

/* What aliases were charged belongs to the context that they stand for. */
static void put_costs(crn_profile *profile, const crn_records *records, double wall_scale)
{
    uint64_t *calls = crn_calloc(records->context_count, sizeof *calls);
    uint64_t *ticks = crn_calloc(records->context_count, sizeof *ticks);
    uint64_t *wall = crn_calloc(records->context_count, sizeof *wall);
    for (uint32_t record = CRN_RECORD_ROOT; record < records->used; record++) {
        uint32_t c = records->numbers[record];
        calls[c] += records->hot[record].calls;
        ticks[c] += records->hot[record].ticks;
        wall[c] += records->links[record].wall;
    }
    for (uint32_t c = 0; wall_scale != 1 && c < records->context_count; c++)
        wall[c] = (uint64_t)((double)wall[c] * wall_scale + 0.5);
    crn_profile_put_column(profile, CRN_METRIC_CALLS, calls);
    crn_profile_put_column(profile, CRN_METRIC_TICKS, ticks);
    crn_profile_put_column(profile, CRN_METRIC_WALL, wall);
}

/* Counting sort by `from`, which keeps the order of creation within a context. */
static void put_edges(crn_profile *profile, const crn_records *records)
{
    profile->edge_count = records->alias_count;
    profile->edges = crn_calloc(records->alias_count, sizeof *profile->edges);
    uint32_t *place = crn_calloc((size_t)records->context_count + 1, sizeof *place);
    for (uint32_t record = CRN_RECORD_ROOT; record < records->used; record++)
        if (!crn_records_is_context(records, record))
            place[records->numbers[records->links[record].from] + 1]++;
    for (uint32_t c = 0; c < records->context_count; c++)
        place[c + 1] += place[c];
    for (uint32_t record = CRN_RECORD_ROOT; record < records->used; record++) {
        if (crn_records_is_context(records, record))
            continue;
        const crn_link *link = &records->links[record];
        uint32_t from = records->numbers[link->from];
        profile->edges[place[from]++] =
            (crn_profile_edge){from, records->numbers[record], records->hot[record].calls,
                               link->depth == CRN_ALIAS_FOLDED};
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
    put_contexts(profile, records);
    put_costs(profile, records, wall_scale);
    put_edges(profile, records);
    put_previous(profile);
}
