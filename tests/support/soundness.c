/* SPDX-License-Identifier: MIT
 *
 * soundness.c - see soundness.h.
 */
#include "support/soundness.h"

#include <stdlib.h>
#include <string.h>

static bool is_wrong(difference *found, const char *what, uint64_t which)
{
    difference_set(found, "%s %llu is not sound", what, (unsigned long long)which);
    return false;
}

static bool blocks_are_sound(const crn_profile *profile, difference *found)
{
    if (profile->block_count == 0 || profile->folded_block >= profile->block_count)
        return is_wrong(found, "the number of blocks", profile->block_count);
    for (uint32_t b = 0; b < profile->block_count; b++) {
        const crn_block_info *block = &profile->blocks[b];
        if (!block->name || !block->file || block->parent >= profile->block_count)
            return is_wrong(found, "block", b);
    }
    return true;
}

static bool contexts_are_sound(const crn_profile *profile, difference *found)
{
    if (profile->context_count == 0 || profile->parent[0] != 0 || profile->block[0] != 0)
        return is_wrong(found, "the root of contexts", profile->context_count);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        uint32_t previous = profile->previous[c];
        if ((c > 0 && profile->parent[c] >= c) || profile->block[c] >= profile->block_count)
            return is_wrong(found, "context", c);
        if (previous != UINT32_MAX &&
            (previous >= c || profile->block[previous] != profile->block[c]))
            return is_wrong(found, "the previous of context", c);
    }
    return true;
}

/* Checks that the calls of each context are those of its tree edge and of the other edges to it. */
static bool edges_are_sound(const crn_profile *profile, difference *found)
{
    uint64_t *calls = malloc(profile->context_count * sizeof(*calls));
    memcpy(calls, profile->calls_tree, profile->context_count * sizeof(*calls));
    bool sound = true;
    for (uint32_t e = 0; e < profile->edge_count && sound; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        sound = edge->from < profile->context_count && edge->target < profile->context_count &&
                (e == 0 || edge[-1].from <= edge->from);
        if (sound)
            calls[edge->target] += edge->calls;
        else
            is_wrong(found, "edge", e);
    }
    const uint64_t *values = profile->values[CRN_METRIC_CALLS];
    for (uint32_t c = 0; c < profile->context_count && sound; c++) {
        sound = (values ? values[c] : 0) == calls[c];
        if (!sound)
            is_wrong(found, "the calls of context", c);
    }
    free(calls);
    return sound;
}

bool profile_is_sound(const crn_profile *profile, difference *found)
{
    if (!blocks_are_sound(profile, found) || !contexts_are_sound(profile, found) ||
        !edges_are_sound(profile, found))
        return false;
    if (profile->metric_count < 3 || profile->metric_count > CRN_METRIC_MAX)
        return is_wrong(found, "the number of metrics", profile->metric_count);
    for (uint32_t m = 0; m < profile->metric_count; m++) {
        if (!profile->metrics[m].name || !profile->metrics[m].unit)
            return is_wrong(found, "metric", m);
    }
    for (size_t n = 0; n < profile->note_count; n++) {
        if (!profile->notes[n].key || !profile->notes[n].value)
            return is_wrong(found, "note", n);
    }
    for (size_t w = 0; w < profile->warning_count; w++) {
        if (!profile->warnings[w] || strchr(profile->warnings[w], '\n'))
            return is_wrong(found, "warning", w);
    }
    return true;
}

uint64_t profile_total(const crn_profile *profile, int metric)
{
    uint64_t total = 0;
    for (uint32_t c = 0; c < profile->context_count && metric >= 0; c++)
        total += profile->values[metric] ? profile->values[metric][c] : 0;
    return total;
}
