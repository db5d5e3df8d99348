/* SPDX-License-Identifier: MIT
 *
 * reference.c - see reference.h. Obviously correct, not fast.
 */
#include "support/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grow(void *memory, size_t count, size_t size)
{
    void *grown = realloc(memory, count * size);
    if (!grown) {
        fprintf(stderr, "the test itself is out of memory\n");
        abort();
    }
    return grown;
}

uint32_t reference_canonical_length(const uint32_t *path, uint32_t length)
{
    for (uint32_t k = 1; 2 * k <= length; k++) {
        if (memcmp(path + length - k, path + length - 2 * k, k * sizeof(*path)) == 0)
            return length - k;
    }
    return length;
}

bool reference_is_canonical(const uint32_t *path, uint32_t length)
{
    for (uint32_t end = 2; end <= length; end++) {
        if (reference_canonical_length(path, end) != end)
            return false;
    }
    return true;
}

static uint64_t path_hash(const uint32_t *path, uint32_t length)
{
    uint64_t hash = length;
    for (uint32_t i = 0; i < length; i++)
        hash = (hash ^ path[i]) * 0x100000001b3u + (hash >> 29);
    return hash ^ hash >> 32;
}

static uint64_t edge_hash(uint32_t from, uint32_t block)
{
    uint64_t hash = ((uint64_t)from << 32 | block) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* Returns the slot of a context, or the free slot where it belongs. */
static uint32_t context_slot(const reference_graph *graph, const uint32_t *path, uint32_t length)
{
    uint32_t mask = graph->context_slot_count - 1;
    uint32_t slot = (uint32_t)path_hash(path, length) & mask;
    for (; graph->context_slots[slot]; slot = (slot + 1) & mask) {
        const reference_context *context = &graph->contexts[graph->context_slots[slot] - 1];
        if (context->length == length && memcmp(context->path, path, length * sizeof(*path)) == 0)
            break;
    }
    return slot;
}

static uint32_t edge_slot(const reference_graph *graph, uint32_t from, uint32_t block)
{
    uint32_t mask = graph->edge_slot_count - 1;
    uint32_t slot = (uint32_t)edge_hash(from, block) & mask;
    for (; graph->edge_slots[slot]; slot = (slot + 1) & mask) {
        const reference_edge *edge = &graph->edges[graph->edge_slots[slot] - 1];
        if (edge->from == from && edge->block == block)
            break;
    }
    return slot;
}

static void context_slots_grow(reference_graph *graph)
{
    graph->context_slot_count *= 2;
    free(graph->context_slots);
    graph->context_slots = grow(NULL, graph->context_slot_count, sizeof(uint32_t));
    memset(graph->context_slots, 0, graph->context_slot_count * sizeof(uint32_t));
    for (uint32_t i = 0; i < graph->context_count; i++) {
        const reference_context *context = &graph->contexts[i];
        graph->context_slots[context_slot(graph, context->path, context->length)] = i + 1;
    }
}

static void edge_slots_grow(reference_graph *graph)
{
    graph->edge_slot_count *= 2;
    free(graph->edge_slots);
    graph->edge_slots = grow(NULL, graph->edge_slot_count, sizeof(uint32_t));
    memset(graph->edge_slots, 0, graph->edge_slot_count * sizeof(uint32_t));
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const reference_edge *edge = &graph->edges[i];
        graph->edge_slots[edge_slot(graph, edge->from, edge->block)] = i + 1;
    }
}

static uint32_t context_add(reference_graph *graph, const uint32_t *path, uint32_t length)
{
    if (graph->context_count == graph->context_room) {
        graph->context_room = graph->context_room * 2 + 16;
        graph->contexts = grow(graph->contexts, graph->context_room, sizeof(*graph->contexts));
    }
    uint32_t index = graph->context_count++;
    reference_context *context = &graph->contexts[index];
    memset(context, 0, sizeof(*context));
    context->path = grow(NULL, length, sizeof(*path));
    memcpy(context->path, path, length * sizeof(*path));
    context->length = length;
    graph->context_slots[context_slot(graph, path, length)] = index + 1;
    if (2 * graph->context_count > graph->context_slot_count)
        context_slots_grow(graph);
    return index;
}

static uint32_t context_of(reference_graph *graph, const uint32_t *path, uint32_t length)
{
    uint32_t found = graph->context_slots[context_slot(graph, path, length)];
    return found ? found - 1 : context_add(graph, path, length);
}

/* Returns the context to which a limit sends `block`, which cannot be appended to `path`. */
static uint32_t fold(reference_graph *graph, const uint32_t *path, uint32_t length, uint32_t block)
{
    for (uint32_t end = length; end > 0; end--) {
        if (path[end - 1] == block)
            return context_of(graph, path, end);
    }
    uint32_t folded[3] = {REFERENCE_ROOT, REFERENCE_FOLDED, block};
    context_of(graph, folded, 2);
    return context_of(graph, folded, 3);
}

/* Returns the context to which `block` leads, by the definition. */
static uint32_t follow(reference_graph *graph, uint32_t from, uint32_t block, bool *folded)
{
    uint32_t length = graph->contexts[from].length;
    uint32_t *path = grow(NULL, length + 1, sizeof(*path));
    memcpy(path, graph->contexts[from].path, length * sizeof(*path));
    path[length] = block;
    *folded = false;
    uint32_t canonical = reference_canonical_length(path, length + 1);
    uint32_t found = graph->context_slots[context_slot(graph, path, canonical)];
    uint32_t target;
    if (found) {
        target = found - 1;
    } else if (canonical > graph->path_limit || graph->context_count >= graph->budget) {
        *folded = true;
        target = fold(graph, path, length, block);
    } else {
        target = context_add(graph, path, canonical);
    }
    free(path);
    return target;
}

static reference_edge *edge_add(reference_graph *graph, uint32_t from, uint32_t block,
                                uint32_t target, bool folded)
{
    if (graph->edge_count == graph->edge_room) {
        graph->edge_room = graph->edge_room * 2 + 16;
        graph->edges = grow(graph->edges, graph->edge_room, sizeof(*graph->edges));
    }
    uint32_t index = graph->edge_count++;
    graph->edges[index] = (reference_edge){from, block, target, folded, 0};
    graph->folded_edges += folded;
    graph->edge_slots[edge_slot(graph, from, block)] = index + 1;
    if (2 * graph->edge_count > graph->edge_slot_count)
        edge_slots_grow(graph);
    return &graph->edges[index];
}

static reference_edge *edge_of(reference_graph *graph, uint32_t from, uint32_t block)
{
    uint32_t slot = edge_slot(graph, from, block);
    if (graph->edge_slots[slot])
        return &graph->edges[graph->edge_slots[slot] - 1];
    bool folded;
    uint32_t target = follow(graph, from, block, &folded);
    uint32_t length = graph->contexts[from].length;
    bool to_child = graph->contexts[target].length == length + 1 &&
                    memcmp(graph->contexts[target].path, graph->contexts[from].path,
                           length * sizeof(uint32_t)) == 0;
    if (!to_child && graph->cross_edges == graph->budget) {
        uint32_t path[3] = {REFERENCE_ROOT, REFERENCE_FOLDED, block};
        from = context_of(graph, path, 2);
        target = context_of(graph, path, 3);
        slot = edge_slot(graph, from, block);
        if (graph->edge_slots[slot])
            return &graph->edges[graph->edge_slots[slot] - 1];
        return edge_add(graph, from, block, target, false);
    }
    graph->cross_edges += !to_child;
    return edge_add(graph, from, block, target, folded);
}

void reference_graph_start(reference_graph *graph, uint32_t path_limit, uint32_t budget)
{
    memset(graph, 0, sizeof(*graph));
    graph->path_limit = path_limit;
    graph->budget = budget;
    graph->context_slot_count = graph->edge_slot_count = 8;
    context_slots_grow(graph);
    edge_slots_grow(graph);
    uint32_t root = REFERENCE_ROOT;
    context_add(graph, &root, 1);
    static const char *const names[REFERENCE_USER_METRICS] = {"user0", "user1", "user2", "user3"};
    memcpy(graph->metrics, names, sizeof names);
}

void reference_graph_end(reference_graph *graph)
{
    for (uint32_t i = 0; i < graph->context_count; i++)
        free(graph->contexts[i].path);
    free(graph->contexts);
    free(graph->context_slots);
    free(graph->edges);
    free(graph->edge_slots);
    memset(graph, 0, sizeof(*graph));
}

const reference_context *reference_graph_find(const reference_graph *graph, const uint32_t *path,
                                              uint32_t length)
{
    uint32_t found = graph->context_slots[context_slot(graph, path, length)];
    return found ? &graph->contexts[found - 1] : NULL;
}

const reference_edge *reference_graph_edge(const reference_graph *graph, const uint32_t *path,
                                           uint32_t length, uint32_t block)
{
    uint32_t from = graph->context_slots[context_slot(graph, path, length)];
    if (!from)
        return NULL;
    uint32_t found = graph->edge_slots[edge_slot(graph, from - 1, block)];
    return found ? &graph->edges[found - 1] : NULL;
}

void reference_strand_start(reference_strand *strand, reference_graph *graph, bool recording)
{
    memset(strand, 0, sizeof(*strand));
    strand->graph = graph;
    graph->contexts[0].calls += recording;
}

void reference_strand_end(reference_strand *strand)
{
    free(strand->stack);
    memset(strand, 0, sizeof(*strand));
}

static void go(reference_strand *strand, uint32_t block)
{
    reference_edge *edge = edge_of(strand->graph, strand->current, block);
    edge->calls++;
    strand->graph->contexts[edge->target].calls++;
    strand->current = edge->target;
}

static void push(reference_strand *strand)
{
    if (strand->depth == strand->room) {
        strand->room = strand->room * 2 + 16;
        strand->stack = grow(strand->stack, strand->room, sizeof(*strand->stack));
    }
    strand->stack[strand->depth++] = strand->current;
}

void reference_enter(reference_strand *strand, uint32_t block, bool recording)
{
    push(strand);
    if (recording)
        go(strand, block);
}

void reference_replace(reference_strand *strand, uint32_t block, bool recording)
{
    if (recording)
        go(strand, block);
}

void reference_leave(reference_strand *strand)
{
    if (strand->depth > 0)
        strand->current = strand->stack[--strand->depth];
}

void reference_unwind(reference_strand *strand, size_t mark)
{
    while (strand->depth > mark)
        reference_leave(strand);
}

void reference_adopt(reference_strand *strand, uint32_t context)
{
    push(strand);
    strand->current = context;
}

void reference_tick(reference_strand *strand, uint64_t count, bool recording)
{
    if (recording)
        strand->graph->contexts[strand->current].ticks += count;
}

void reference_charge(reference_strand *strand, uint32_t user_metric, uint64_t amount,
                      bool recording)
{
    if (recording)
        strand->graph->contexts[strand->current].user[user_metric] += amount;
}

void reference_sample(reference_strand *strand, const uint32_t *blocks, uint32_t length,
                      uint64_t ticks, bool recording)
{
    uint32_t context = 0;
    for (uint32_t i = 0; i < length && recording; i++)
        context = edge_of(strand->graph, context, blocks[i])->target;
    if (recording)
        strand->graph->contexts[context].ticks += ticks;
}

static uint32_t context_in(reference_graph *graph, const reference_context *context)
{
    reference_strand strand;
    reference_strand_start(&strand, graph, false);
    reference_sample(&strand, context->path + 1, context->length - 1, 0, true);
    reference_strand_end(&strand);
    const reference_context *found = reference_graph_find(graph, context->path, context->length);
    return (uint32_t)(found - graph->contexts);
}

void reference_strand_move(reference_strand *strand, reference_graph *to)
{
    const reference_graph *from = strand->graph;
    for (size_t i = 0; i < strand->depth; i++)
        strand->stack[i] = context_in(to, &from->contexts[strand->stack[i]]);
    strand->current = context_in(to, &from->contexts[strand->current]);
    strand->graph = to;
}
