/* SPDX-License-Identifier: MIT */
#include "profile/since.h"

#include <string.h>

#include "base/memory.h"
#include "base/search.h"
#include "profile/figures.h"

/* A new calibration reduces a clock's total by at most 1 / CALIBRATION of it. */
enum { CALIBRATION = 1000 };

static bool same_block(const crn_block_info *a, const crn_block_info *b)
{
    return a->line == b->line && strcmp(a->name, b->name) == 0 && strcmp(a->file, b->file) == 0;
}

/* Returns, by block of `before`, its number in `now`; UINT32_MAX: not found. Blocks of the file
 * keep their numbers; "[folded]" and "[unknown]" come last and move. */
static uint32_t *map_blocks(const crn_profile *before, const crn_profile *now)
{
    uint32_t *map = crn_calloc(before->block_count, sizeof *map);
    for (uint32_t b = 1; b < before->block_count; b++) {
        bool same = b < now->block_count && same_block(&before->blocks[b], &now->blocks[b]);
        map[b] = b == before->folded_block ? now->folded_block : same ? b : UINT32_MAX;
    }
    return map;
}

static uint32_t slot_of(uint32_t parent, uint32_t block, uint32_t mask)
{
    uint64_t hash = ((uint64_t)parent << 32 | block) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(hash >> 32) & mask;
}

/* Finds the contexts of `now` from number `from` on among the contexts of `before` from there
 * on. */
static void join_rest(const crn_profile *before, const crn_profile *now, const uint32_t *blocks,
                      uint32_t from, uint32_t *origins)
{
    uint32_t mask = 1;
    while (mask < 2 * (uint64_t)(before->context_count - from) && mask < UINT32_MAX / 2)
        mask = mask * 2 + 1;
    uint32_t *table = crn_calloc((size_t)mask + 1, sizeof *table); /* contexts by hash; 0: free */
    for (uint32_t c = from; c < before->context_count; c++) {
        uint32_t slot = slot_of(before->parent[c], blocks[before->block[c]], mask);
        while (table[slot])
            slot = (slot + 1) & mask;
        table[slot] = c;
    }
    for (uint32_t c = from; c < now->context_count; c++) {
        uint32_t parent = origins[now->parent[c]], block = now->block[c];
        if (parent == CRN_CONTEXT_NONE)
            continue;
        uint32_t slot = slot_of(parent, block, mask);
        while (table[slot] && (before->parent[table[slot]] != parent ||
                               blocks[before->block[table[slot]]] != block))
            slot = (slot + 1) & mask;
        if (table[slot])
            origins[c] = table[slot];
    }
    crn_free(table);
}

/* Returns, by context of `now`, its number in `before`. Lanes only append contexts, so numbers
 * usually agree. */
static uint32_t *join(const crn_profile *before, const crn_profile *now)
{
    uint32_t *origins = crn_calloc(now->context_count, sizeof *origins);
    uint32_t *blocks = map_blocks(before, now), c = 1;
    for (; c < now->context_count && c < before->context_count; c++) {
        if (now->parent[c] != before->parent[c] || now->block[c] != blocks[before->block[c]])
            break;
        origins[c] = c;
    }
    for (uint32_t rest = c; rest < now->context_count; rest++)
        origins[rest] = CRN_CONTEXT_NONE;
    if (c < before->context_count && c < now->context_count)
        join_rest(before, now, blocks, c, origins);
    crn_free(blocks);
    return origins;
}

/* ---- gains ---- */

static bool began_anew(const crn_profile *before, const crn_profile *now)
{
    for (uint32_t m = CRN_METRIC_CALLS; m < CRN_METRIC_FIXED; m++) {
        bool clock = crn_metric_is_time(&now->metrics[m]);
        uint64_t was = crn_metric_total(before, m);
        if (crn_metric_total(now, m) < was - (clock ? was / CALIBRATION : 0))
            return true;
    }
    return false;
}

static uint64_t gain(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

static uint64_t *gains(const crn_since *since, const uint64_t *before, const uint64_t *now)
{
    uint32_t count = since->profile.context_count;
    uint64_t *gained = crn_calloc(count, sizeof *gained);
    for (uint32_t c = 0; c < count; c++) {
        uint32_t origin = since->origins[c];
        gained[c] = gain(before && origin != CRN_CONTEXT_NONE ? before[origin] : 0, now[c]);
    }
    return gained;
}

/* Returns the first edge of `profile` from context `from` or a later context. */
static uint32_t first_edge(const crn_profile *profile, uint32_t from)
{
    uint32_t low = CRN_BELOW(profile->edges, profile->edge_count, from, from);
    return low;
}

static uint64_t calls_before(const crn_since *since, const crn_profile *before,
                             const crn_profile_edge *edge)
{
    uint32_t from = since->origins[edge->from], target = since->origins[edge->target];
    if (from == CRN_CONTEXT_NONE || target == CRN_CONTEXT_NONE)
        return 0;
    uint32_t e = first_edge(before, from);
    for (; e < before->edge_count && before->edges[e].from == from; e++)
        if (before->edges[e].target == target && before->edges[e].folded == edge->folded)
            return before->edges[e].calls;
    return 0;
}

crn_since crn_since_make(const crn_profile *before, const crn_profile *now)
{
    crn_since since = {.profile = *now};
    if (before) {
        since.origins = join(before, now);
        since.began_anew = began_anew(before, now);
    } else {
        since.origins = crn_calloc(now->context_count, sizeof *since.origins);
        for (uint32_t c = 1; c < now->context_count; c++)
            since.origins[c] = CRN_CONTEXT_NONE;
    }
    const crn_profile *base = since.began_anew ? NULL : before;
    since.profile.calls_tree = gains(&since, base ? base->calls_tree : NULL, now->calls_tree);
    for (uint32_t m = 0; m < now->metric_count; m++) {
        bool counts = base && m < base->metric_count && !now->metrics[m].is_level;
        if (now->values[m])
            since.profile.values[m] =
                gains(&since, counts ? base->values[m] : NULL, now->values[m]);
    }
    since.profile.edges = crn_calloc(now->edge_count, sizeof *now->edges);
    for (uint32_t e = 0; e < now->edge_count; e++) {
        since.profile.edges[e] = now->edges[e];
        if (base)
            since.profile.edges[e].calls =
                gain(calls_before(&since, base, &now->edges[e]), now->edges[e].calls);
    }
    return since;
}

static bool same_shape(const crn_profile *one, const crn_profile *other)
{
    return one->context_count == other->context_count && one->edge_count == other->edge_count &&
           one->metric_count == other->metric_count && one->block_count == other->block_count;
}

bool crn_since_rename(crn_since *since, const crn_profile *now, crn_profile *gained)
{
    bool same = same_shape(now, gained);
    if (same) {
        crn_since renamed = {.profile = *now, .began_anew = since->began_anew};
        renamed.profile.calls_tree = gained->calls_tree;
        renamed.profile.edges = gained->edges;
        memcpy(renamed.profile.values, gained->values, sizeof gained->values);
        gained->calls_tree = NULL;
        gained->edges = NULL;
        memset(gained->values, 0, sizeof gained->values);
        crn_since_free(since);
        *since = renamed;
    }
    crn_profile_free(gained);
    return same;
}

void crn_since_free(crn_since *since)
{
    crn_free(since->profile.calls_tree);
    crn_free(since->profile.edges);
    for (uint32_t m = 0; m < since->profile.metric_count; m++)
        crn_free(since->profile.values[m]);
    crn_free(since->origins);
    *since = (crn_since){0};
}
