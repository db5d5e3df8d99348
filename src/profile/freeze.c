/* SPDX-License-Identifier: MIT
 *
 * Converts records into the arrays of a profile.
 */
#include "profile/freeze.h"

#include <stdlib.h>

#include "base/memory.h"
#include "capture/reader.h"

/* Returns `*place`, the number of the block `name`, which stands for missing blocks. Adds the block
 * if `*place` is 0. */
static uint32_t special_block(crn_profile *profile, uint32_t *place, const char *name)
{
    if (!*place)
        *place = crn_profile_put_block(profile, &(crn_block_info){.name = name, .file = ""});
    return *place;
}

static void put_contexts(crn_profile *profile, const crn_records *records)
{
    uint32_t known = profile->block_count, unknown = 0;
    for (uint32_t record = CRN_RECORD_ROOT, c = 0; record < records->used; record++) {
        if (!crn_records_is_context(records, record))
            continue;
        const crn_link *link = &records->links[record];
        uint32_t block = link->block;
        if (block == CAIRN_BLOCK_FOLDED)
            block = special_block(profile, &profile->folded_block, "[folded]");
        else if (block >= known)
            block = special_block(profile, &unknown, "[unknown]");
        profile->parent[c] = c ? records->numbers[link->from] : 0;
        profile->block[c++] = block;
    }
}

/* Sorts the aliases by `from` (counting sort); aliases of one context stay in the order of
 * creation. */
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

void crn_profile_put_paths(crn_profile *profile, const crn_records *records)
{
    uint32_t count = records->context_count;
    profile->context_count = count;
    profile->parent = crn_calloc(count, sizeof *profile->parent);
    profile->block = crn_calloc(count, sizeof *profile->block);
    put_contexts(profile, records);
    put_edges(profile, records);
}

/* ---- costs; an alias's costs count for its target ---- */

void crn_profile_put_wall(crn_profile *profile, const crn_records *records, double wall_scale)
{
    uint64_t any = 0, *wall;
    for (uint32_t record = CRN_RECORD_ROOT; record < records->used; record++)
        any |= records->links[record].wall;
    if (!any)
        return;
    wall = crn_calloc(records->context_count, sizeof *wall);
    for (uint32_t record = CRN_RECORD_ROOT; record < records->used; record++)
        wall[records->numbers[record]] += records->links[record].wall;
    for (uint32_t c = 0; wall_scale != 1 && c < records->context_count; c++)
        wall[c] = crn_clock_time(wall[c], wall_scale);
    crn_profile_put_column(profile, CRN_METRIC_WALL, wall);
}

/* Context numbers follow the order of records, and an alias comes after its target. So the first
 * record with a context's number is its tree edge. */
void crn_profile_put_counts(crn_profile *profile, const crn_records *records)
{
    uint64_t *calls = crn_calloc(records->context_count, sizeof *calls), *ticks = NULL, any = 0;
    profile->calls_tree = crn_calloc(records->context_count, sizeof *profile->calls_tree);
    for (uint32_t record = CRN_RECORD_ROOT, next = 0; record < records->used; record++) {
        uint32_t c = records->numbers[record];
        calls[c] += records->hot[record].calls;
        any |= records->hot[record].ticks;
        if (c == next)
            profile->calls_tree[next++] = records->hot[record].calls;
    }
    crn_profile_put_column(profile, CRN_METRIC_CALLS, calls);
    if (!any)
        return;
    ticks = crn_calloc(records->context_count, sizeof *ticks);
    for (uint32_t record = CRN_RECORD_ROOT; record < records->used; record++)
        ticks[records->numbers[record]] += records->hot[record].ticks;
    crn_profile_put_column(profile, CRN_METRIC_TICKS, ticks);
}

/* Finds each context's nearest ancestor with the same block: walks depth first and tracks each
 * block's nearest context on the path. */
void crn_profile_put_previous(crn_profile *profile)
{
    uint32_t count = profile->context_count;
    profile->previous = crn_calloc(count, sizeof *profile->previous);
    uint32_t *child = crn_calloc(count, sizeof *child);     /* first child; 0: no child */
    uint32_t *sibling = crn_calloc(count, sizeof *sibling); /* next sibling */
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
    crn_profile_put_paths(profile, records);
    crn_profile_put_wall(profile, records, wall_scale);
    crn_profile_put_counts(profile, records);
    crn_profile_put_previous(profile);
}
