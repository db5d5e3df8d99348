/* SPDX-License-Identifier: MIT
 *
 * compare.c - see compare.h.
 */
#include "support/compare.h"

#include <stdio.h>
#include <stdlib.h>

static const char *path_text(const uint32_t *path, size_t length)
{
    static char text[160];
    size_t used = 0;
    size_t skipped = length > 12 ? length - 12 : 0;
    text[0] = 0;
    if (skipped)
        used += (size_t)snprintf(text, sizeof(text), "...%zu", skipped);
    for (size_t i = skipped; i < length && used < sizeof(text) - 12; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, " %d", (int)path[i]);
    return text;
}

/* The state of a comparison of contexts and edges. */
typedef struct comparison {
    const reference_graph *graph;
    difference *found;
    bool *seen; /* by the reference's context */
    uint32_t contexts;
    uint64_t edges;
    bool same;
} comparison;

static bool differs(comparison *c)
{
    c->same = false;
    return false;
}

static bool check_context(void *data, const cairn_block *path, size_t length,
                          const cairn_cost *cost)
{
    comparison *c = data;
    const reference_context *expected = reference_graph_find(c->graph, path, (uint32_t)length);
    if (!expected) {
        difference_set(c->found, "context [%s] must not exist", path_text(path, length));
        return differs(c);
    }
    size_t index = (size_t)(expected - c->graph->contexts);
    if (c->seen[index]) {
        difference_set(c->found, "context [%s] is visited twice", path_text(path, length));
        return differs(c);
    }
    const reference_context *parent =
        length > 1 ? reference_graph_find(c->graph, path, (uint32_t)length - 1) : NULL;
    if (length > 1 && (!parent || !c->seen[parent - c->graph->contexts])) {
        difference_set(c->found, "context [%s] comes before its parent", path_text(path, length));
        return differs(c);
    }
    c->seen[index] = true;
    c->contexts++;
    if (cost->calls != expected->calls || cost->ticks != expected->ticks || cost->wall != 0) {
        difference_set(c->found,
                       "context [%s]: calls %llu, ticks %llu, wall %llu; must be %llu, %llu, 0",
                       path_text(path, length), (unsigned long long)cost->calls,
                       (unsigned long long)cost->ticks, (unsigned long long)cost->wall,
                       (unsigned long long)expected->calls, (unsigned long long)expected->ticks);
        return differs(c);
    }
    return true;
}

static bool check_edge(void *data, const cairn_block *path, size_t length, cairn_block block,
                       size_t target_length, uint64_t calls)
{
    comparison *c = data;
    if (calls == 0)
        return true;
    const reference_edge *expected = reference_graph_edge(c->graph, path, (uint32_t)length, block);
    if (!expected) {
        difference_set(c->found, "edge [%s] -> %d must not exist", path_text(path, length),
                       (int)block);
        return differs(c);
    }
    uint32_t target = c->graph->contexts[expected->target].length;
    if (expected->calls != calls || target != target_length) {
        difference_set(c->found, "edge [%s] -> %d: calls %llu to length %zu; must be %llu to %u",
                       path_text(path, length), (int)block, (unsigned long long)calls,
                       target_length, (unsigned long long)expected->calls, target);
        return differs(c);
    }
    c->edges++;
    return true;
}

static uint64_t edges_called(const reference_graph *graph)
{
    uint64_t called = 0;
    for (uint32_t i = 0; i < graph->edge_count; i++)
        called += graph->edges[i].calls > 0;
    return called;
}

/* Calls per block and per pair of blocks. */
static bool check_call_counts(const cairn_view *view, const reference_graph *graph,
                              difference *found)
{
    enum { BLOCKS = 16, PAIRS = 5 };
    uint64_t per_block[BLOCKS] = {0}, per_pair[PAIRS][PAIRS] = {{0}};
    for (uint32_t i = 0; i < graph->context_count; i++) {
        const reference_context *context = &graph->contexts[i];
        uint32_t block = context->path[context->length - 1];
        if (block < BLOCKS)
            per_block[block] += context->calls;
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const reference_edge *edge = &graph->edges[i];
        const reference_context *from = &graph->contexts[edge->from];
        uint32_t caller = from->path[from->length - 1];
        if (caller < PAIRS && edge->block < PAIRS)
            per_pair[caller][edge->block] += edge->calls;
    }
    for (cairn_block block = 0; block < BLOCKS; block++) {
        uint64_t calls = cairn_view_calls(view, &block, 1);
        if (calls != per_block[block]) {
            difference_set(found, "block %u has %llu calls; must have %llu", block,
                           (unsigned long long)calls, (unsigned long long)per_block[block]);
            return false;
        }
    }
    for (uint32_t i = 0; i < PAIRS * PAIRS; i++) {
        cairn_block pair[2] = {i / PAIRS, i % PAIRS};
        uint64_t calls = cairn_view_calls(view, pair, 2);
        if (calls != per_pair[pair[0]][pair[1]]) {
            difference_set(found, "%u -> %u has %llu calls; must have %llu", pair[0], pair[1],
                           (unsigned long long)calls,
                           (unsigned long long)per_pair[pair[0]][pair[1]]);
            return false;
        }
    }
    return true;
}

bool compare_view(const cairn_view *view, const reference_graph *graph, difference *found)
{
    comparison c = {.graph = graph, .found = found, .same = true};
    c.seen = calloc(graph->context_count, sizeof(*c.seen));
    cairn_view_contexts(view, check_context, &c);
    if (c.same && c.contexts != graph->context_count) {
        uint32_t missing = 0;
        while (c.seen[missing])
            missing++;
        const reference_context *context = &graph->contexts[missing];
        difference_set(found, "%u contexts, must be %u; the first that is missing is [%s]",
                       c.contexts, graph->context_count, path_text(context->path, context->length));
        c.same = false;
    }
    if (c.same)
        cairn_view_edges(view, check_edge, &c);
    if (c.same && c.edges != edges_called(graph)) {
        difference_set(found, "%llu edges, must be %llu", (unsigned long long)c.edges,
                       (unsigned long long)edges_called(graph));
        c.same = false;
    }
    free(c.seen);
    return c.same && check_call_counts(view, graph, found);
}

static bool add_cost(void *data, const cairn_block *path, size_t length, const cairn_cost *cost)
{
    (void)path;
    (void)length;
    cairn_cost *total = data;
    total->calls += cost->calls;
    total->ticks += cost->ticks;
    total->wall += cost->wall;
    total->cpu += cost->cpu;
    return true;
}

cairn_cost view_total(const cairn_view *view)
{
    cairn_cost total = {0};
    cairn_view_contexts(view, add_cost, &total);
    return total;
}

static bool count_context(void *data, const cairn_block *path, size_t length,
                          const cairn_cost *cost)
{
    (void)path;
    (void)length;
    (void)cost;
    ++*(uint32_t *)data;
    return true;
}

uint32_t view_context_count(const cairn_view *view)
{
    uint32_t count = 0;
    cairn_view_contexts(view, count_context, &count);
    return count;
}
