/* SPDX-License-Identifier: MIT
 *
 * grown.c - see grown.h.
 */
#include "support/grown.h"

#include <inttypes.h>
#include <stdlib.h>

/* Contexts of `after`, by parent. */
typedef struct children {
    uint32_t *first, *next;
} children;

static children children_of(const crn_profile *profile)
{
    children made = {calloc(profile->context_count, sizeof(uint32_t)),
                     calloc(profile->context_count, sizeof(uint32_t))};
    for (uint32_t c = 1; c < profile->context_count; c++) {
        made.next[c] = made.first[profile->parent[c]];
        made.first[profile->parent[c]] = c;
    }
    return made;
}

static uint64_t value(const crn_profile *profile, uint32_t metric, uint32_t context)
{
    return profile->values[metric] ? profile->values[metric][context] : 0;
}

static bool is_smaller(const crn_profile *before, uint32_t was, const crn_profile *after,
                       uint32_t is, difference *found)
{
    for (uint32_t metric = 0; metric < before->metric_count; metric++) {
        if (before->metrics[metric].is_level) /* it may fall */
            continue;
        uint64_t old = value(before, metric, was), new = value(after, metric, is);
        /* Wall time may decrease a little: the first calibration of the clock is rough. */
        if (metric == CRN_METRIC_WALL)
            new += old / 20 + 100;
        if (new < old) {
            difference_set(found, "%s of a context of %s went from %" PRIu64 " to %" PRIu64,
                           before->metrics[metric].name, before->blocks[before->block[was]].name,
                           old, new);
            return true;
        }
    }
    if (after->calls_tree[is] >= before->calls_tree[was])
        return false;
    difference_set(found, "calls over a tree edge went from %" PRIu64 " to %" PRIu64,
                   before->calls_tree[was], after->calls_tree[is]);
    return true;
}

bool profile_has_grown(const crn_profile *before, const crn_profile *after, difference *found)
{
    children of = children_of(after);
    uint32_t *now = calloc(before->context_count, sizeof *now);
    bool good = after->block_count >= before->block_count;
    if (!good)
        difference_set(found, "blocks are gone");
    for (uint32_t c = 0; good && c < before->context_count; c++) {
        uint32_t block = before->block[c];
        if (before->folded_block && block == before->folded_block)
            block = after->folded_block; /* it is the last block */
        now[c] = c ? of.first[now[before->parent[c]]] : 0;
        while (now[c] && after->block[now[c]] != block)
            now[c] = of.next[now[c]];
        good = c == 0 || now[c];
        if (!good)
            difference_set(found, "a context of %s is gone", before->blocks[before->block[c]].name);
        good = good && !is_smaller(before, c, after, now[c], found);
    }
    free(of.first);
    free(of.next);
    free(now);
    return good;
}
