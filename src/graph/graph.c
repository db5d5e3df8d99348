/* SPDX-License-Identifier: MIT */
#include "graph/graph.h"

#include <cairn/host.h>

#include <string.h>

#include "base/limits.h"
#include "base/memory.h"

enum {
    /* Sizes of the edge cache, in entries, powers of two. */
    EDGES_FIRST = CRN_FIRST(1 << 11, 1), /* 32 KiB */
    EDGES_MOST = CRN_FIRST(1 << 15, 8),  /* 512 KiB */
    INLINE_CACHE_SIZE =
        CRN_FIRST(1 << 17, 32) * CAIRN_PRIV_INLINE_CACHE_ENTRIES * sizeof(cairn_priv_cache_entry),
    RECORDS_RESERVED = 1, /* records kept free for [folded] */
    PATH_FIRST = CRN_FIRST(64, 1)
};

/* ---- edges of a context ----
 *
 * A callee entry of a context is for a fifth of all blocks (cairn_priv_callee_index). It is empty
 * only if the context has no edge to such a block. If the context has one such edge, the entry
 * leads to it. If it has several, the entry leads to any of them, and all are in the index. So most
 * edges need no index entry: the context's record, which is in use anyway, finds them or shows that
 * they are new. Edges to [folded] are in the index alone: cairn_enter must not find them. */

static uint32_t *callee_entry(const crn_graph *graph, uint32_t from, cairn_block block)
{
    return &crn_graph_record(graph, from)->callees[cairn_priv_callee_index(block)];
}

uint32_t crn_graph_find(const crn_graph *graph, uint32_t from, cairn_block block)
{
    uint32_t callee = *callee_entry(graph, from, block);
    if (block != CAIRN_BLOCK_FOLDED) {
        if (crn_graph_is_no_callee(callee))
            return 0;
        if (crn_graph_record(graph, callee / CRN_RECORD_WORDS)->block == block)
            return callee / CRN_RECORD_WORDS;
    }
    return crn_index_find(&graph->index, graph->links, from, block);
}

/* Adds the edge in `entry`, a callee entry of the context `from`, to the index, unless the index
 * has the edge. Ignores an entry that leads to an edge of another context, as one can after fold.
 * Returns false without memory. */
static bool index_callee(crn_graph *graph, uint32_t from, const uint32_t *entry)
{
    const crn_link *links = graph->links;
    uint32_t callee = *entry / CRN_RECORD_WORDS;
    if (links[callee].from != from ||
        crn_index_find(&graph->index, links, from, links[callee].block))
        return true;
    if (!crn_index_reserve(&graph->index, links, graph->used))
        return false;
    crn_index_put(&graph->index, links, callee);
    return true;
}

/* Makes a new edge that shares its callee entry, or leads to [folded], known to crn_graph_find. The
 * index must have capacity for two edges: this one and the one in the entry. */
__attribute__((noinline)) static void add_shared_edge(crn_graph *graph, uint32_t record)
{
    const crn_link *link = &graph->links[record];
    if (link->block != CAIRN_BLOCK_FOLDED)
        index_callee(graph, link->from, callee_entry(graph, link->from, link->block));
    crn_index_put(&graph->index, graph->links, record);
}

/* ---- edge cache ---- */

static void edge_cache_put(crn_graph *graph, crn_cached_edge cached)
{
    *crn_graph_edge_entry(&graph->hot, (uint32_t)cached.key, (cairn_block)(cached.key >> 32)) =
        cached;
}

/* Makes the first edge cache. Of two edges that collide, one needs the index each time, so it has
 * many more entries than a small graph has edges. Its pages are not present at once: a small graph
 * writes few of them. */
static crn_cached_edge *first_edge_cache(void)
{
    return crn_try_sparse(EDGES_FIRST * sizeof(crn_cached_edge));
}

static void free_edge_cache(crn_cached_edge *edge_cache, uint64_t entries)
{
    if (entries == EDGES_FIRST)
        crn_free_sparse(edge_cache, entries * sizeof *edge_cache);
    else
        crn_free_table(edge_cache, entries * sizeof *edge_cache);
}

/* Returns true if the edge cache should grow. In large graphs memory matters more than edges that
 * collide. */
static bool edges_are_many(const crn_graph *graph)
{
    uint64_t entries = graph->hot.edge_cache_mask + 1;
    uint64_t edges = graph->hot.inline_cache ? graph->used : graph->index.count;
    return entries < EDGES_MOST && edges > entries * 4;
}

__attribute__((noinline)) static void edge_cache_grow(crn_graph *graph)
{
    uint64_t entries = graph->hot.edge_cache_mask + 1;
    crn_cached_edge *before = graph->hot.edge_cache,
                    *edge_cache = crn_try_table(entries * 2 * sizeof *edge_cache);
    if (!edge_cache)
        return; /* the old cache still works */
    graph->hot.edge_cache = edge_cache;
    graph->hot.edge_cache_mask = entries * 2 - 1;
    for (uint64_t i = 0; i < entries; i++)
        if (before[i].key)
            edge_cache_put(graph, before[i]);
    free_edge_cache(before, entries);
}

/* Caches a callee in the record. Also puts it into the edge cache if two callees share the entry,
 * which is rare, or for compiled hosts, which search there first. */
__attribute__((noinline)) static void cache_callee(crn_graph *graph, uint32_t record,
                                                   cairn_block block, uint32_t callee)
{
    uint32_t node_offset = callee * CRN_RECORD_WORDS, *entry = callee_entry(graph, record, block);
    bool shared = !crn_graph_is_no_callee(*entry) && *entry != node_offset;
    if (crn_graph_record(graph, callee)->block == CAIRN_BLOCK_FOLDED)
        return; /* cairn_enter must not find [folded] */
    if (shared && record == crn_graph_target(graph, record) && !index_callee(graph, record, entry))
        return; /* without memory for the index, the edge in the entry would not be found again */
    CAIRN_PRIV_PUT(*entry, node_offset);
    uint64_t from = record * (uint64_t)CRN_RECORD_WORDS;
    if (shared || graph->hot.inline_cache)
        edge_cache_put(graph,
                       (crn_cached_edge){crn_graph_edge_key(from, block), {block, node_offset}});
}

uint32_t crn_graph_follow(crn_graph *graph, uint32_t record, cairn_block block)
{
    uint64_t callee = crn_graph_recall(&graph->hot, record * (uint64_t)CRN_RECORD_WORDS, block);
    if (callee)
        return (uint32_t)(callee / CRN_RECORD_WORDS);
    return crn_graph_extend(graph, record, block);
}

void crn_graph_make_inline_cache(crn_graph *graph)
{
    cairn_priv_lane *hot = &graph->hot;
    if (hot->inline_cache)
        return;
    cairn_priv_cache_entry *made = crn_try_sparse(INLINE_CACHE_SIZE);
    if (made) {
        crn_zero_in_children(made, INLINE_CACHE_SIZE);
        /* Neither 0, which shows a child of fork, nor a node offset. */
        made[0] = (cairn_priv_cache_entry){.from = UINT32_MAX};
    }
    __atomic_store_n(&hot->inline_cache, made, __ATOMIC_RELEASE);
}

/* Empty inline caches of all blocks; without address space, of block 0 alone. The choice is
 * permanent, because sites have stored where their caches are. */
static cairn_priv_cache_entry *empty_inline_cache,
    no_inline_cache_of_one[CAIRN_PRIV_INLINE_CACHE_ENTRIES];

uint32_t cairn_priv_inline_cache_of(cairn_block block)
{
    uint64_t at =
        block * (uint64_t)CAIRN_PRIV_INLINE_CACHE_ENTRIES * sizeof(cairn_priv_cache_entry);
    const cairn_priv_cache_entry *none = crn_graph_empty_inline_cache();
    bool have = none && none != no_inline_cache_of_one;
    return have && at < INLINE_CACHE_SIZE ? (uint32_t)at : 0;
}

cairn_priv_cache_entry *crn_graph_empty_inline_cache(void)
{
    return __atomic_load_n(&empty_inline_cache, __ATOMIC_ACQUIRE);
}

static void make_empty_inline_cache(void)
{
    cairn_priv_cache_entry *none = NULL;
    if (crn_graph_empty_inline_cache())
        return;
    cairn_priv_cache_entry *made = crn_try_zeros(INLINE_CACHE_SIZE);
    if (!__atomic_compare_exchange_n(&empty_inline_cache, &none,
                                     made ? made : no_inline_cache_of_one, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        crn_free_sparse(made, INLINE_CACHE_SIZE);
}

/* ---- records ---- */

static bool reserve_record(crn_graph *graph)
{
    uint64_t needed = (uint64_t)graph->used + 1 + RECORDS_RESERVED;
    if (needed <= graph->capacity)
        return true;
    return needed <= UINT32_MAX / CRN_RECORD_WORDS && graph->grow(graph, needed);
}

static inline uint32_t put_record(crn_graph *graph, crn_link link)
{
    uint32_t record = graph->used;
    graph->links[record] = link;
    cairn_priv_record *hot = crn_graph_record(graph, record);
    hot->block = link.block;
    for (int i = 0; i < CAIRN_PRIV_CALLEES; i++)
        hot->callees[i] = 0;
    hot->callees[cairn_priv_callee_index(CAIRN_BLOCK_FOLDED)] = CRN_RECORD_ROOT * CRN_RECORD_WORDS;
    graph->used = record + 1;
    __atomic_store_n(graph->published, graph->used, __ATOMIC_RELEASE);
    return record;
}

static inline uint32_t put_context(crn_graph *graph, uint32_t from, cairn_block block)
{
    uint32_t depth = from ? graph->links[from].depth + 1 : 1;
    graph->context_count++;
    return put_record(graph, (crn_link){from, graph->used, block, depth, 0});
}

static inline bool has_room(crn_graph *graph)
{
    if (!graph->full && reserve_record(graph) &&
        crn_index_reserve(&graph->index, graph->links, graph->used + RECORDS_RESERVED))
        return true;
    graph->full = true;
    return false;
}

/* Makes the new edge `record` from `from` to `block` known to crn_graph_find. Returns `record`. */
static inline uint32_t put_edge(crn_graph *graph, uint32_t record, uint32_t from, cairn_block block)
{
    uint32_t *entry = callee_entry(graph, from, block);
    bool shared = block == CAIRN_BLOCK_FOLDED || !crn_graph_is_no_callee(*entry);
    if (!shared)
        CAIRN_PRIV_PUT(*entry, record * CRN_RECORD_WORDS);
    else
        add_shared_edge(graph, record);
    if ((shared || graph->hot.inline_cache) && edges_are_many(graph))
        edge_cache_grow(graph);
    return record;
}

/* Adds a context. Returns 0 without space. */
static inline uint32_t add_context(crn_graph *graph, uint32_t from, cairn_block block)
{
    return has_room(graph) ? put_edge(graph, put_context(graph, from, block), from, block) : 0;
}

/* Adds an alias of `target` of the kind `why`. Returns 0 at the limit on aliases or without
 * space. */
__attribute__((noinline)) static uint32_t add_alias(crn_graph *graph, uint32_t from,
                                                    uint32_t target, uint32_t why)
{
    if (graph->alias_count >= graph->alias_budget || !has_room(graph))
        return 0;
    graph->alias_count++;
    cairn_block block = graph->links[target].block;
    return put_edge(graph, put_record(graph, (crn_link){from, target, block, why, 0}), from, block);
}

/* ---- canonical form ---- */

enum { GROUP = 8 }; /* number of blocks that are compared at once */

/* Makes space for paths of `length` blocks. Allocates GROUP blocks before path_blocks, too, because
 * find_last may read them. Returns false without memory. */
__attribute__((noinline)) static bool path_reserve(crn_graph *graph, uint32_t length)
{
    uint64_t capacity = graph->path_capacity ? graph->path_capacity : PATH_FIRST;
    while (capacity < length)
        capacity *= 2;
    uint32_t *blocks = graph->path_blocks ? graph->path_blocks - GROUP : NULL;
    blocks = crn_try_realloc(blocks, capacity + GROUP, sizeof *blocks);
    if (blocks)
        graph->path_blocks = blocks + GROUP;
    uint32_t *contexts = crn_try_realloc(graph->path_contexts, capacity, sizeof *contexts);
    if (contexts)
        graph->path_contexts = contexts;
    if (!blocks || !contexts)
        return false;
    if (!graph->path_capacity)
        memset(blocks, 0, GROUP * sizeof *blocks);
    graph->path_capacity = (uint32_t)capacity;
    return true;
}

/* Loads the path of `context` into path_blocks and path_contexts. Keeps the beginning that this
 * path shares with the last loaded one, because new contexts are often close to each other. Returns
 * false without memory, and for a context of a lost capture (loss.h), whose depth is 0. */
static inline bool path_load(crn_graph *graph, uint32_t context)
{
    uint32_t at = graph->links[context].depth, kept = graph->path_length;
    if (!at || (at > graph->path_capacity && !path_reserve(graph, at)))
        return false;
    graph->path_length = at;
    for (; at && (at > kept || graph->path_contexts[at - 1] != context); at--) {
        graph->path_contexts[at - 1] = context;
        graph->path_blocks[at - 1] = graph->links[context].block;
        context = graph->links[context].from;
    }
    return true;
}

typedef uint32_t quad __attribute__((vector_size(16), aligned(4)));

/* Compares the four places from `at` on: sets all bits for each place that has `block` right after
 * `before`.
 */
static inline quad compare_four(const uint32_t *at, cairn_block before, cairn_block block)
{
    return (quad)((*(const quad *)at == block) & (*(const quad *)(at - 1) == before));
}

/* Finds the last place in [low, end) with `block` right after `before`. Returns the place + 1;
 * `low` if no place matches. Compares in groups, the last of which may reach below `low`. */
static inline uint32_t find_last(const uint32_t *blocks, uint32_t low, uint32_t end,
                                 cairn_block before, cairn_block block)
{
    for (;; end -= GROUP) {
        const uint32_t *group = blocks + (int64_t)end - GROUP;
        quad found =
            compare_four(group, before, block) | compare_four(group + GROUP / 2, before, block);
        uint64_t halves[2];
        memcpy(halves, &found, sizeof halves);
        if (halves[0] | halves[1])
            break;
        if (end <= low + GROUP)
            return low;
    }
    while (end > low && (blocks[end - 1] != block || blocks[end - 2] != before))
        end--;
    return end;
}

/* If the loaded path, followed by `block`, ends with two equal consecutive runs, returns the
 * context that ends the first run; otherwise 0. A run is at most half of the path. Compares the
 * last two blocks of both runs first, as they usually differ. */
static inline uint32_t find_cycle(const crn_graph *graph, cairn_block block)
{
    const uint32_t *blocks = graph->path_blocks;
    uint32_t length = graph->path_length, low = length / 2, end = length - 1;
    cairn_block before = blocks[end];
    if (before == block)
        return graph->path_contexts[end];
    while (low < end && (end = find_last(blocks, low, end, before, block)) > low) {
        uint32_t half = length + 1 - end;
        if (crn_is_same(blocks + end, blocks + end - half, (half - 1) * sizeof *blocks))
            return graph->path_contexts[end - 1];
        end--;
    }
    return 0;
}

static uint32_t find_ancestor(const crn_graph *graph, cairn_block block)
{
    for (uint32_t at = graph->path_length; at; at--)
        if (graph->path_blocks[at - 1] == block)
            return graph->path_contexts[at - 1];
    return 0;
}

static uint32_t folded_context(crn_graph *graph)
{
    if (!graph->folded)
        graph->folded = crn_graph_find(graph, CRN_RECORD_ROOT, CAIRN_BLOCK_FOLDED);
    if (!graph->folded) /* uses the record that RECORDS_RESERVED keeps free; needs no index entry,
                           because `folded` keeps it */
        graph->folded = put_context(graph, CRN_RECORD_ROOT, CAIRN_BLOCK_FOLDED);
    return graph->folded;
}

/* Returns a record for an edge that, because of a limit, cannot lead to a new context. The edge
 * leads to the nearest ancestor with the same block, as in GHC's cost centre stacks, or to the
 * context of the block below [folded]. Without space returns [folded] itself. */
__attribute__((noinline)) static uint32_t fold(crn_graph *graph, uint32_t from, cairn_block block)
{
    if (!graph->full && path_load(graph, from)) {
        uint32_t ancestor = find_ancestor(graph, block);
        uint32_t alias = ancestor ? add_alias(graph, from, ancestor, CRN_ALIAS_FOLDED) : 0;
        if (alias)
            return alias;
    }
    uint32_t folded = folded_context(graph);
    if (block == CAIRN_BLOCK_FOLDED)
        return folded;
    uint32_t child = crn_graph_find(graph, folded, block);
    if (!child)
        child = add_context(graph, folded, block);
    if (!child)
        return folded;
    uint32_t alias = 0;
    if (from != folded)
        alias = add_alias(graph, from, crn_graph_target(graph, child), CRN_ALIAS_FOLDED);
    return alias ? alias : child;
}

static inline uint32_t append(crn_graph *graph, uint32_t record, cairn_block block)
{
    uint32_t from = crn_graph_target(graph, record);
    uint32_t found = crn_graph_find(graph, from, block);
    if (found)
        return found;
    if (graph->full || !path_load(graph, from)) {
        graph->full = true;
        return fold(graph, from, block);
    }
    uint32_t cycle = find_cycle(graph, block);
    if (cycle)
        found = add_alias(graph, from, cycle, CRN_ALIAS_CYCLE);
    else if (graph->path_length < graph->path_limit && graph->context_count < graph->context_budget)
        found = add_context(graph, from, block);
    return found ? found : fold(graph, from, block);
}

uint32_t crn_graph_append(crn_graph *graph, uint32_t record, cairn_block block)
{
    return append(graph, record, block);
}

uint32_t crn_graph_extend(crn_graph *graph, uint32_t record, cairn_block block)
{
    uint32_t next = append(graph, record, block);
    if (*callee_entry(graph, record, block) != next * CRN_RECORD_WORDS || graph->hot.inline_cache)
        cache_callee(graph, record, block, next);
    return next;
}

uint32_t crn_graph_graft(crn_graph *graph, uint32_t from, cairn_block block)
{
    uint32_t found = crn_graph_find(graph, from, block);
    if (!found)
        found = add_context(graph, from, block);
    return found ? found : fold(graph, from, block);
}

uint32_t crn_graph_alias(crn_graph *graph, uint32_t from, uint32_t target, bool folded)
{
    cairn_block block = graph->links[target].block;
    uint32_t found = crn_graph_find(graph, from, block);
    if (!found)
        found = add_alias(graph, from, target, folded ? CRN_ALIAS_FOLDED : CRN_ALIAS_CYCLE);
    return found ? found : fold(graph, from, block);
}

/* ---- open and close ---- */

crn_cached_edge crn_graph_no_nodes[2];

bool crn_graph_open(crn_graph *graph)
{
    graph->used = CRN_RECORD_ROOT;
    graph->hot.edge_cache = first_edge_cache();
    graph->hot.edge_cache_mask = EDGES_FIRST - 1;
    graph->hot.nodes = crn_graph_no_nodes;
    make_empty_inline_cache();
    if (!crn_index_open(&graph->index) || !graph->hot.edge_cache || !reserve_record(graph)) {
        crn_graph_close(graph);
        return false;
    }
    crn_graph_record(graph, 0)->block = CAIRN_BLOCK_FOLDED;
    put_context(graph, 0, CAIRN_BLOCK_ROOT);
    return true;
}

void crn_graph_close(crn_graph *graph)
{
    crn_index_close(&graph->index);
    free_edge_cache(graph->hot.edge_cache, graph->hot.edge_cache_mask + 1);
    crn_free_sparse(graph->hot.inline_cache, INLINE_CACHE_SIZE);
    if (graph->path_blocks)
        crn_free(graph->path_blocks - GROUP);
    crn_free(graph->path_contexts);
    graph->hot.inline_cache = NULL;
    graph->hot.edge_cache = NULL;
    graph->path_blocks = graph->path_contexts = NULL;
}

bool crn_graph_grow_memory(crn_graph *graph, uint64_t records)
{
    uint64_t size = graph->capacity + graph->capacity / 2;
    if (size < records + 64)
        size = records + 64;
    char *base = crn_try_realloc(graph->hot.base, size, sizeof(cairn_priv_record));
    if (base)
        graph->hot.base = base;
    crn_link *links = base ? crn_try_realloc(graph->links, size, sizeof *links) : NULL;
    if (!links)
        return false;
    graph->links = links;
    uint64_t grown = size - graph->capacity;
    memset((cairn_priv_record *)base + graph->capacity, 0, grown * sizeof(cairn_priv_record));
    memset(links + graph->capacity, 0, grown * sizeof *links);
    graph->published = &links[0].wall; /* record 0 is unused otherwise */
    graph->capacity = (uint32_t)size;
    return true;
}

void crn_graph_free_memory(crn_graph *graph)
{
    crn_graph_close(graph);
    crn_free(graph->hot.base);
    crn_free(graph->links);
    graph->hot.base = NULL;
    graph->links = NULL;
}
