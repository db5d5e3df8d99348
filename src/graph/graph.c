/* SPDX-License-Identifier: MIT */
#include "graph/graph.h"

#include <string.h>

#include "base/memory.h"

enum {
    INDEX_FIRST = 64,                  /* entries */
    WAYS_FIRST = 256,                  /* entries */
    WAYS_LAST = 1 << 16,               /* entries: 1 MiB, what a core's L2 holds */
    RESERVE_UNITS = CRN_CONTEXT_UNITS, /* kept for [folded] */
    PATH_FIRST = 64
};

static uint32_t hash_of(uint32_t context, cairn_block block)
{
    uint64_t key = (uint64_t)context << 32 | block;
    return (uint32_t)((key ^ key >> 29) * 0x9e3779b97f4a7c15u >> 32);
}

/* ---- the index ---- */

uint32_t crn_graph_find(const crn_graph *graph, uint32_t context, cairn_block block)
{
    uint32_t hash = hash_of(context, block);
    for (uint64_t slot = hash & graph->index_mask;; slot = (slot + 1) & graph->index_mask) {
        uint64_t entry = graph->index[slot];
        if (!entry)
            return 0;
        if (entry >> 32 != hash)
            continue;
        const cairn_priv_edge *edge = crn_graph_edge(graph, (uint32_t)entry);
        if (edge->from == context && crn_graph_context(graph, edge->target)->block == block)
            return (uint32_t)entry;
    }
}

static void index_put(uint64_t *index, uint64_t mask, uint64_t entry)
{
    uint64_t slot = (entry >> 32) & mask;
    while (index[slot])
        slot = (slot + 1) & mask;
    index[slot] = entry;
}

/* At most 7 of 10 slots are taken. */
static bool index_reserve(crn_graph *graph)
{
    uint64_t size = graph->index_mask + 1;
    if ((graph->index_count + 1) * 10 <= size * 7)
        return true;
    uint64_t *index = crn_try_calloc(size * 2, sizeof *index);
    if (!index)
        return false;
    for (uint64_t slot = 0; slot < size; slot++)
        if (graph->index[slot])
            index_put(index, size * 2 - 1, graph->index[slot]);
    crn_free(graph->index);
    graph->index = index;
    graph->index_mask = size * 2 - 1;
    return true;
}

static void index_add(crn_graph *graph, uint32_t context, cairn_block block, uint32_t unit)
{
    index_put(graph->index, graph->index_mask, (uint64_t)hash_of(context, block) << 32 | unit);
    graph->index_count++;
}

/* ---- the ways ---- */

static void ways_grow(crn_graph *graph)
{
    uint64_t entries = graph->hot.way_mask / sizeof(cairn_priv_way) + 1;
    if (entries >= WAYS_LAST || graph->index_count * 2 <= entries)
        return;
    void *ways = crn_try_calloc(entries * 2, sizeof(cairn_priv_way));
    if (!ways)
        return; /* only slower */
    crn_free(graph->hot.ways);
    graph->hot.ways = ways;
    graph->hot.way_mask = (entries * 2 - 1) * sizeof(cairn_priv_way);
}

uint32_t crn_graph_follow(crn_graph *graph, uint32_t context, cairn_block block)
{
    uint32_t unit = crn_graph_append(graph, context, block);
    cairn_priv_way *way = cairn_priv_way_of(&graph->hot, context, block);
    way->key = cairn_priv_key(context, block);
    way->edge = unit;
    way->target = crn_graph_edge(graph, unit)->target;
    return unit;
}

/* ---- records ---- */

static bool reserve_units(crn_graph *graph, uint32_t units)
{
    uint64_t needed = (uint64_t)graph->used + units + RESERVE_UNITS;
    if (needed <= graph->capacity)
        return true;
    return needed <= UINT32_MAX && graph->grow(graph, needed * CRN_UNIT) &&
           needed <= graph->capacity;
}

static void publish(crn_graph *graph, uint32_t units)
{
    graph->used += units;
    __atomic_store_n((uint64_t *)graph->hot.base, graph->used, __ATOMIC_RELEASE);
}

static uint32_t put_context(crn_graph *graph, uint32_t from, cairn_block block)
{
    uint32_t unit = graph->used;
    cairn_priv_context *context = crn_graph_context(graph, unit);
    context->edge.from = from;
    context->edge.target = unit;
    context->block = block;
    context->number = graph->context_count++;
    context->depth = from ? crn_graph_context(graph, from)->depth + 1 : 1;
    publish(graph, CRN_CONTEXT_UNITS);
    return unit;
}

/* 0 when there is no room. */
static uint32_t add_context(crn_graph *graph, uint32_t from, cairn_block block)
{
    if (graph->full || !reserve_units(graph, CRN_CONTEXT_UNITS) || !index_reserve(graph)) {
        graph->full = true;
        return 0;
    }
    uint32_t unit = put_context(graph, from, block);
    index_add(graph, from, block, unit);
    ways_grow(graph);
    return unit;
}

static uint32_t add_edge(crn_graph *graph, uint32_t from, uint32_t target, bool folded)
{
    if (graph->edge_count >= graph->edge_budget)
        return 0;
    if (graph->full || !reserve_units(graph, CRN_EDGE_UNITS) || !index_reserve(graph)) {
        graph->full = true;
        return 0;
    }
    uint32_t unit = graph->used;
    *crn_graph_edge(graph, unit) =
        (cairn_priv_edge){from, target, folded ? CRN_CALLS_FOLDED : 0};
    graph->edge_count++;
    publish(graph, CRN_EDGE_UNITS);
    index_add(graph, from, crn_graph_context(graph, target)->block, unit);
    ways_grow(graph);
    return unit;
}

/* ---- canonical form ---- */

/* Brings the path of `context` into path_blocks and path_units. New contexts tend to be
 * close to each other, so only what differs from the last path is walked. */
static bool path_load(crn_graph *graph, uint32_t context)
{
    uint32_t length = crn_graph_context(graph, context)->depth;
    if (length > graph->path_capacity) {
        uint64_t capacity = graph->path_capacity ? graph->path_capacity : PATH_FIRST;
        while (capacity < length)
            capacity *= 2;
        uint32_t *blocks = crn_try_realloc(graph->path_blocks, capacity, sizeof *blocks);
        if (blocks)
            graph->path_blocks = blocks;
        uint32_t *units = crn_try_realloc(graph->path_units, capacity, sizeof *units);
        if (units)
            graph->path_units = units;
        if (!blocks || !units)
            return false;
        graph->path_capacity = (uint32_t)capacity;
    }
    uint32_t kept = graph->path_length;
    graph->path_length = length;
    for (uint32_t at = length; at; at--) {
        if (at <= kept && graph->path_units[at - 1] == context)
            break;
        const cairn_priv_context *record = crn_graph_context(graph, context);
        graph->path_units[at - 1] = context;
        graph->path_blocks[at - 1] = record->block;
        context = record->edge.from;
    }
    return true;
}

/* If the loaded path and `block` end in two equal halves, the unit of the context that
 * ends the first of them. */
static uint32_t find_cycle(const crn_graph *graph, cairn_block block)
{
    const uint32_t *blocks = graph->path_blocks;
    uint32_t length = graph->path_length;
    for (uint32_t half = 1; 2 * half - 1 <= length; half++) {
        if (blocks[length - half] != block)
            continue;
        const uint32_t *second = blocks + length - half + 1;
        if (!memcmp(second, second - half, (half - 1) * sizeof *second))
            return graph->path_units[length - half];
    }
    return 0;
}

static uint32_t find_ancestor(const crn_graph *graph, cairn_block block)
{
    for (uint32_t at = graph->path_length; at; at--)
        if (graph->path_blocks[at - 1] == block)
            return graph->path_units[at - 1];
    return 0;
}

static uint32_t folded_context(crn_graph *graph)
{
    if (!graph->folded)
        graph->folded = crn_graph_find(graph, CRN_ROOT_UNIT, CAIRN_BLOCK_FOLDED);
    if (!graph->folded) /* the reserve is for this; it needs no index entry */
        graph->folded = put_context(graph, CRN_ROOT_UNIT, CAIRN_BLOCK_FOLDED);
    return graph->folded;
}

/* A new edge that a limit does not let lead to a new context: to the nearest ancestor of
 * the same block, as GHC's cost centre stacks do, or to [folded]/block. */
static uint32_t fold(crn_graph *graph, uint32_t from, cairn_block block)
{
    if (!graph->full && path_load(graph, from)) {
        uint32_t ancestor = find_ancestor(graph, block);
        uint32_t unit = ancestor ? add_edge(graph, from, ancestor, true) : 0;
        if (unit)
            return unit;
    }
    uint32_t folded = folded_context(graph);
    if (block == CAIRN_BLOCK_FOLDED)
        return folded;
    uint32_t child = crn_graph_find(graph, folded, block);
    if (!child)
        child = add_context(graph, folded, block);
    if (!child)
        return folded;
    uint32_t unit = from == folded ? 0 : add_edge(graph, from, child, true);
    return unit ? unit : child;
}

uint32_t crn_graph_append(crn_graph *graph, uint32_t context, cairn_block block)
{
    uint32_t unit = crn_graph_find(graph, context, block);
    if (unit)
        return unit;
    if (graph->full || !path_load(graph, context)) {
        graph->full = true;
        return fold(graph, context, block);
    }
    uint32_t cycle = find_cycle(graph, block);
    if (cycle)
        unit = add_edge(graph, context, cycle, false);
    else if (graph->path_length < graph->path_limit &&
             graph->context_count < graph->context_budget)
        unit = add_context(graph, context, block);
    return unit ? unit : fold(graph, context, block);
}

uint32_t crn_graph_graft(crn_graph *graph, uint32_t context, cairn_block block)
{
    uint32_t unit = crn_graph_find(graph, context, block);
    if (!unit)
        unit = add_context(graph, context, block);
    return unit ? unit : fold(graph, context, block);
}

uint32_t crn_graph_link(crn_graph *graph, uint32_t context, uint32_t target, bool folded)
{
    cairn_block block = crn_graph_context(graph, target)->block;
    uint32_t unit = crn_graph_find(graph, context, block);
    if (!unit)
        unit = add_edge(graph, context, target, folded);
    return unit ? unit : fold(graph, context, block);
}

/* ---- life ---- */

bool crn_graph_open(crn_graph *graph)
{
    graph->used = CRN_ROOT_UNIT;
    graph->index = crn_try_calloc(INDEX_FIRST, sizeof *graph->index);
    graph->index_mask = INDEX_FIRST - 1;
    graph->hot.ways = crn_try_calloc(WAYS_FIRST, sizeof(cairn_priv_way));
    graph->hot.way_mask = (WAYS_FIRST - 1) * sizeof(cairn_priv_way);
    if (!graph->index || !graph->hot.ways || !reserve_units(graph, CRN_CONTEXT_UNITS)) {
        crn_graph_close(graph);
        return false;
    }
    put_context(graph, 0, CAIRN_BLOCK_ROOT);
    return true;
}

void crn_graph_close(crn_graph *graph)
{
    crn_free(graph->index);
    crn_free(graph->hot.ways);
    crn_free(graph->path_blocks);
    crn_free(graph->path_units);
    graph->index = NULL;
    graph->hot.ways = NULL;
    graph->path_blocks = graph->path_units = NULL;
}

bool crn_graph_grow_memory(crn_graph *graph, uint64_t bytes)
{
    uint64_t old = graph->capacity * (uint64_t)CRN_UNIT;
    uint64_t size = old + old / 2;
    if (size < bytes)
        size = bytes + 4096;
    if (size > UINT32_MAX * (uint64_t)CRN_UNIT)
        size = UINT32_MAX * (uint64_t)CRN_UNIT;
    char *base = crn_try_realloc(graph->hot.base, size, 1);
    if (!base)
        return false;
    memset(base + old, 0, size - old);
    graph->hot.base = base;
    graph->capacity = (uint32_t)(size / CRN_UNIT);
    return true;
}

void crn_graph_free_memory(crn_graph *graph)
{
    crn_graph_close(graph);
    crn_free(graph->hot.base);
    graph->hot.base = NULL;
}
