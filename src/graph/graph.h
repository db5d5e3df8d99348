/* SPDX-License-Identifier: MIT
 *
 * graph.h - the graph of calling contexts, in canonical form.
 *
 * The path of a context has no two equal consecutive runs of blocks. Appending a block follows an
 * edge, or closes a cycle with an edge back to the context that ends the earlier run, or adds a
 * context. The path is canonical before each step, so there is at most one repeated suffix.
 *
 * Each edge has a record. The record of the tree edge into a context is the context's record. Any
 * other edge is an *alias* of the context that it leads to, with counters of its own. A context or
 * an alias can be the current record. A record consists of two structs with the same number in two
 * arrays: hot ones and fixed ones (both in cairn/hot.h). Records are append-only and refer to
 * each other by number, so they can be in a file. Their cached callees are hints, which readers of
 * the file ignore. Private to the process are the index (a hash table of edges that share their
 * callee entry with another), the edge cache (a direct-mapped table in front of it) and the last
 * path.
 *
 * One thread at a time may change a graph. Others may read records below the published number.
 *
 * Sources: Ammons, Ball, Larus, "Exploiting hardware performance counters with flow and context
 * sensitive profiling" (1997), for the tree; fble's profile tree for compaction.
 */
#ifndef CRN_GRAPH_GRAPH_H
#define CRN_GRAPH_GRAPH_H

#include <cairn/hot.h>

#include "graph/index.h"

#define CRN_RECORD_ROOT ((uint32_t)1) /* record 0 is unused */

enum { CRN_ALIAS_CYCLE = 0, CRN_ALIAS_FOLDED = 1 }; /* kinds of aliases */

_Static_assert(sizeof(cairn_priv_record) == 40, "on disk");
_Static_assert(sizeof(crn_link) == 24, "on disk");

/* Words of 8 bytes in a record: node offset = record number * CRN_RECORD_WORDS. */
enum { CRN_RECORD_WORDS = sizeof(cairn_priv_record) / 8 };
_Static_assert(CRN_RECORD_WORDS == 5, "cairn_priv_record_number divides by it");

/* Returns the record at a node offset. */
static inline uint32_t crn_record_at(uint64_t node_offset)
{
    return cairn_priv_record_number(node_offset);
}

typedef struct crn_graph crn_graph;

typedef cairn_priv_cached_edge crn_cached_edge;

/* Makes zeroed space for at least `records` records; sets hot.base, links, published and capacity.
 * The arrays may move. Returns false without space. */
typedef bool crn_graph_grow(crn_graph *graph, uint64_t records);

struct crn_graph {
    cairn_priv_lane hot; /* base and caches; the other fields belong to the runtime */
    crn_link *links;
    uint64_t *published; /* `used` for other threads, stored when a record is complete */
    uint32_t used;       /* number of the next record */
    uint32_t capacity;   /* in records */
    crn_graph_grow *grow;
    void *storage; /* argument of grow */

    uint32_t path_limit, context_budget, alias_budget;
    uint32_t context_count; /* including the root */
    uint32_t alias_count;
    uint32_t folded; /* the context [folded]; 0: not made yet */
    bool full;       /* out of space or memory: new edges fold */

    crn_index index; /* of edges that share their callee entry with another */

    uint32_t *path_blocks, *path_contexts; /* the last path, root first */
    uint32_t path_length, path_capacity;
};

static inline cairn_priv_record *crn_graph_record(const crn_graph *graph, uint32_t record)
{
    return (cairn_priv_record *)graph->hot.base + record;
}

static inline crn_link *crn_graph_link_of(const crn_graph *graph, uint32_t record)
{
    return &graph->links[record];
}

/* Returns the context of a record: the record itself, or the target of an alias. */
static inline uint32_t crn_graph_target(const crn_graph *graph, uint32_t record)
{
    return graph->links[record].target;
}

/* Return the key for the edge to `block` from the record at `node_offset`, and the edge's entry in
 * the edge cache. */
static inline uint64_t crn_graph_edge_key(uint64_t node_offset, cairn_block block)
{
    return (uint64_t)block << 32 | node_offset;
}

static inline crn_cached_edge *crn_graph_edge_entry(const cairn_priv_lane *hot,
                                                    uint64_t node_offset, cairn_block block)
{
    uint64_t place = node_offset + block * (uint64_t)0x9e3779b1u;
    return &hot->edge_cache[place & hot->edge_cache_mask];
}

/* Returns true if a record's callee entry is empty: then no edge to a block with this entry was
 * ever followed. (An empty entry leads to record 0, which has the block CAIRN_BLOCK_FOLDED; in the
 * entry of that block, to the root. So the callee of an empty entry never has the block that is
 * looked for.) */
static inline bool crn_graph_is_no_callee(uint32_t callee)
{
    return callee <= CRN_RECORD_ROOT * CRN_RECORD_WORDS;
}

/* Looks up the callee for `block` of the record at `node_offset` in the edge cache, and caches it
 * in the record. Returns the callee's node offset; 0 if the edge cache lacks it. */
static inline uint64_t crn_graph_recall(const cairn_priv_lane *hot, uint64_t node_offset,
                                        cairn_block block)
{
    uint32_t *entry =
        &cairn_priv_record_at(hot, node_offset)->callees[cairn_priv_callee_index(block)];
    if (crn_graph_is_no_callee(*entry))
        return 0;
    const crn_cached_edge *cached = crn_graph_edge_entry(hot, node_offset, block);
    if (cached->key != crn_graph_edge_key(node_offset, block))
        return 0;
    uint32_t callee = cached->edge.node_offset;
    CAIRN_PRIV_PUT(*entry, callee);
    return callee;
}

/* Initialises a graph with a root context. The caller has set grow, storage, path_limit (at least
 * 4), context_budget and alias_budget in a zeroed struct. Returns false without memory or space,
 * and then has nothing allocated. */
bool crn_graph_open(crn_graph *graph);

/* An empty pair of entries for hot.nodes in graphs without counter trees (cairn/host.h); never
 * written to. */
extern crn_cached_edge crn_graph_no_nodes[2];

/* Frees caches, index and path. The records belong to `storage`. */
void crn_graph_close(crn_graph *graph);

/* Returns the record for `block` called from `record`, adding the record if needed. The record
 * leads to the context with the canonical path; at a limit, to another context in its place (fold
 * in graph.c). Never fails: without space the result is the context [folded]. */
uint32_t crn_graph_append(crn_graph *graph, uint32_t record, cairn_block block);

/* Like crn_graph_append, and caches the result in the record and, if useful, in the edge cache. */
uint32_t crn_graph_extend(crn_graph *graph, uint32_t record, cairn_block block);

/* Like crn_graph_extend, but searches the edge cache first. */
uint32_t crn_graph_follow(crn_graph *graph, uint32_t record, cairn_block block);

/* Allocates the graph's inline caches, for all blocks that can have one; without memory the graph
 * has no inline caches. */
void crn_graph_make_inline_cache(crn_graph *graph);

/* Returns empty read-only inline caches for all blocks that can have one; NULL before the first
 * graph is open. Without address space they are for block 0 alone, and no block has an inline
 * cache. */
cairn_priv_cache_entry *crn_graph_empty_inline_cache(void);

/* Returns the record for `block` called from the context `from`; 0 if the edge does not exist. */
uint32_t crn_graph_find(const crn_graph *graph, uint32_t from, cairn_block block);

/* Like crn_graph_append, but without search for cycles and without limits on paths and contexts:
 * for a path that is canonical, or wanted as it is. */
uint32_t crn_graph_graft(crn_graph *graph, uint32_t from, cairn_block block);

/* Returns the record for the block of `target` called from the context `from`: an existing record,
 * or a new alias of `target`. */
uint32_t crn_graph_alias(crn_graph *graph, uint32_t from, uint32_t target, bool folded);

/* `grow` for graphs in memory, which crn_graph_free_memory closes. */
crn_graph_grow crn_graph_grow_memory;
void crn_graph_free_memory(crn_graph *graph);

#endif
