/* SPDX-License-Identifier: MIT
 *
 * compare_capture.c - as compare.c, for captures that the tool loads.
 */
#include <stdlib.h>

#include "profile/profile.h"
#include "support/compare.h"

/* Returns the number of a block: the player names block 7 "b7". */
static uint32_t block_number(const crn_profile *profile, uint32_t block)
{
    if (block == 0)
        return REFERENCE_ROOT;
    if (profile->folded_block && block == profile->folded_block)
        return REFERENCE_FOLDED;
    return (uint32_t)strtoul(profile->blocks[block].name + 1, NULL, 10);
}

/* Returns for each context of the profile the reference's, UINT32_MAX if there is none. */
static uint32_t *match_contexts(const crn_profile *profile, const reference_graph *graph)
{
    uint32_t *match = malloc(profile->context_count * sizeof(*match));
    uint32_t *path = NULL;
    size_t room = 0;
    for (uint32_t c = 0; c < profile->context_count; c++) {
        uint32_t length = 0;
        for (uint32_t at = c;; at = profile->parent[at]) {
            if (length == room) {
                room = room * 2 + 64;
                path = realloc(path, room * sizeof(*path));
            }
            path[length++] = block_number(profile, profile->block[at]);
            if (at == 0)
                break;
        }
        for (uint32_t i = 0; i < length / 2; i++) {
            uint32_t other = path[i];
            path[i] = path[length - 1 - i];
            path[length - 1 - i] = other;
        }
        const reference_context *found = reference_graph_find(graph, path, length);
        match[c] = found ? (uint32_t)(found - graph->contexts) : UINT32_MAX;
    }
    free(path);
    return match;
}

static uint64_t value(const crn_profile *profile, int metric, uint32_t context)
{
    return metric >= 0 && profile->values[metric] ? profile->values[metric][context] : 0;
}

static bool same_costs(const crn_profile *profile, const reference_graph *graph,
                       const uint32_t *match, difference *found)
{
    for (uint32_t c = 0; c < profile->context_count; c++) {
        if (match[c] == UINT32_MAX) {
            difference_set(found, "capture: context %u must not exist", c);
            return false;
        }
        const reference_context *expected = &graph->contexts[match[c]];
        if (value(profile, CRN_METRIC_CALLS, c) != expected->calls ||
            value(profile, CRN_METRIC_TICKS, c) != expected->ticks) {
            difference_set(found, "capture: context %u: calls %llu, ticks %llu; not %llu, %llu", c,
                           (unsigned long long)value(profile, CRN_METRIC_CALLS, c),
                           (unsigned long long)value(profile, CRN_METRIC_TICKS, c),
                           (unsigned long long)expected->calls,
                           (unsigned long long)expected->ticks);
            return false;
        }
        for (uint32_t user = 0; user < REFERENCE_USER_METRICS; user++) {
            const char *name = graph->metrics[user];
            uint64_t amount = value(profile, crn_profile_metric(profile, name), c);
            if (amount != expected->user[user]) {
                difference_set(found, "capture: context %u: %s is %llu, not %llu", c, name,
                               (unsigned long long)amount,
                               (unsigned long long)expected->user[user]);
                return false;
            }
        }
    }
    return true;
}

static bool same_edges(const crn_profile *profile, const reference_graph *graph,
                       const uint32_t *match, difference *found)
{
    uint64_t edges = 0, expected_edges = 0;
    for (uint32_t i = 0; i < graph->edge_count; i++)
        expected_edges += graph->edges[i].calls > 0;
    for (uint32_t c = 1; c < profile->context_count; c++)
        edges += profile->calls_tree[c] > 0;
    for (uint32_t i = 0; i < profile->edge_count; i++) {
        const crn_profile_edge *edge = &profile->edges[i];
        const reference_context *from = &graph->contexts[match[edge->from]];
        const reference_context *target = &graph->contexts[match[edge->target]];
        const reference_edge *expected =
            reference_graph_edge(graph, from->path, from->length, target->path[target->length - 1]);
        edges += edge->calls > 0;
        if (!expected || expected->target != match[edge->target] ||
            expected->calls != edge->calls || expected->folded != edge->folded) {
            difference_set(found, "capture: edge %u -> %u, %llu calls, is not as it must be",
                           edge->from, edge->target, (unsigned long long)edge->calls);
            return false;
        }
    }
    if (edges != expected_edges)
        difference_set(found, "capture: %llu edges, must be %llu", (unsigned long long)edges,
                       (unsigned long long)expected_edges);
    return edges == expected_edges;
}

bool compare_capture(const char *path, const reference_graph *graph, difference *found)
{
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(path, &error);
    if (!profile) {
        difference_set(found, "capture: %.400s", error.message);
        return false;
    }
    bool same = profile->context_count == graph->context_count;
    if (!same)
        difference_set(found, "capture: %u contexts, must be %u", profile->context_count,
                       graph->context_count);
    uint32_t *match = match_contexts(profile, graph);
    same = same && same_costs(profile, graph, match, found) &&
           same_edges(profile, graph, match, found);
    free(match);
    crn_profile_free(profile);
    return same;
}

static bool context_is_between(const crn_profile *profile, uint32_t c, const reference_graph *least,
                               const reference_context *most, uint32_t *held)
{
    uint64_t calls = value(profile, CRN_METRIC_CALLS, c);
    uint64_t ticks = value(profile, CRN_METRIC_TICKS, c);
    const reference_context *low = reference_graph_find(least, most->path, most->length);
    *held += low != NULL;
    return calls <= most->calls && ticks <= most->ticks &&
           (!low || (calls >= low->calls && ticks >= low->ticks));
}

bool compare_capture_between(const char *path, const reference_graph *least,
                             const reference_graph *most, difference *found)
{
    crn_error error = {0};
    crn_profile *profile = crn_profile_load(path, &error);
    if (!profile) {
        difference_set(found, "capture: %.400s", error.message);
        return false;
    }
    uint32_t *match = match_contexts(profile, most);
    uint32_t held = 0;
    bool between = true;
    for (uint32_t c = 0; c < profile->context_count && between; c++) {
        between = match[c] != UINT32_MAX &&
                  context_is_between(profile, c, least, &most->contexts[match[c]], &held);
        if (!between)
            difference_set(found, "capture: context %u holds what it must not or too little", c);
    }
    if (between && held != least->context_count) {
        difference_set(found, "capture: %u contexts, must be %u", held, least->context_count);
        between = false;
    }
    free(match);
    crn_profile_free(profile);
    return between;
}
