/* SPDX-License-Identifier: MIT
 *
 * graph.h - the graph of calling contexts, in canonical form.
 *
 * No sequence of blocks in a context's path is followed at once by itself. Appending a
 * block either follows an edge, or closes a cycle with an edge back to the context that
 * ends the earlier repetition, or adds a context. The path is free of squares before
 * each step, so at most one repeated suffix can exist.
 *
 * There is one record for each edge. The tree edge into a context is the context; any
 * other edge is an *alias* of the context that it leads to, with counters of its own.
 * What runs may be either, so following an edge has no cases. A record is two structs
 * with the same number in two arrays: what is hot (cairn/hot.h) and what is fixed.
 * Records are append-only and refer to each other by number, so they can lie in a file;
 * only the slots in them are hints that mean nothing to others. Private are the index (a
 * hash table of all edges), the ways (a direct-mapped table in front of it) and the path
 * last worked on.
 *
 * One thread at a time. Others may read records up to the number that is published.
 *
 * Sources: Ammons, Ball, Larus, "Exploiting hardware performance counters with flow and
 * context sensitive profiling" (1997), for the tree; fble's profile tree for compaction.
 */
#ifndef CRN_GRAPH_GRAPH_H
#define CRN_GRAPH_GRAPH_H

#include <cairn/hot.h>

#define CRN_RECORD_ROOT ((uint32_t)1) /* record 0 is nothing */

/* What never changes in a record, and wall time, which changes seldom. */
typedef struct crn_link {
    uint32_t from;   /* the context that the edge comes from; 0 for the root */
    uint32_t target; /* the context that it leads to: itself, but for an alias */
    uint32_t block;
    uint32_t depth; /* of a context: length of its path, root included; of an alias: why */
    uint64_t wall;
} crn_link;

enum { CRN_ALIAS_CYCLE = 0, CRN_ALIAS_FOLDED = 1 }; /* an alias's depth */

_Static_assert(sizeof(cairn_priv_record) == 32, "on disk");
_Static_assert(sizeof(crn_link) == 24, "on disk");

/* The hot path's name for a record. */
enum { CRN_RECORD_WORDS = sizeof(cairn_priv_record) / 8 };

typedef struct crn_graph crn_graph;

typedef cairn_priv_cached_edge crn_cached_edge;

/* Makes zeroed space for at least `records`, setting hot.base, links, published and
 * capacity. The arrays may move. False: no more, ever. */
typedef bool crn_graph_grow(crn_graph *graph, uint64_t records);

struct crn_graph {
    cairn_priv_lane hot; /* base; the tick fields belong to the runtime */
    crn_link *links;
    uint64_t *published; /* `used` is stored here once a record is whole */
    uint32_t used;       /* records; the next one's number */
    uint32_t capacity;   /* records */
    crn_graph_grow *grow;
    void *storage; /* for grow */

    uint32_t path_limit, context_budget, alias_budget;
    uint32_t context_count; /* the root included */
    uint32_t alias_count;
    uint32_t folded; /* the context [folded], 0 before it is needed */
    bool full;       /* storage or memory ended: new edges fold */

    uint32_t *index; /* records by (from, block); 0 is free */
    uint32_t index_mask;
    uint64_t index_count;

    uint32_t *path_blocks, *path_contexts; /* the path last worked on, root first */
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

/* The context that a record is or is an alias of. */
static inline uint32_t crn_graph_target(const crn_graph *graph, uint32_t record)
{
    return graph->links[record].target;
}

static inline uint64_t crn_graph_way_key(uint32_t record, cairn_block block)
{
    return (uint64_t)block << 32 | record * CRN_RECORD_WORDS;
}

static inline crn_cached_edge *crn_graph_way(const crn_graph *graph, uint32_t record,
                                             cairn_block block)
{
    uint64_t place = record + block * (uint64_t)0x9e3779b1u;
    return &graph->hot.edge_cache[place & graph->hot.edge_cache_mask];
}

/* Both words at once: code that is inlined in a program reads them so, also in a signal handler. */
static inline void crn_graph_slot_put(cairn_priv_edge *slot, cairn_block block,
                                      uint32_t node_offset)
{
    typedef uint64_t __attribute__((may_alias)) both;
    __atomic_store_n((both *)slot, (uint64_t)node_offset << 32 | block, __ATOMIC_RELAXED);
}

/* The record for `block` at `record`, if the ways know it, else 0. Then it is put into the
 * record's slot. */
static inline uint32_t crn_graph_recall(const crn_graph *graph, uint32_t record, cairn_block block)
{
    const crn_cached_edge *cached = crn_graph_way(graph, record, block);
    if (cached->key != crn_graph_way_key(record, block))
        return 0;
    uint32_t node_offset = cached->edge.node_offset;
    crn_graph_slot_put(cairn_priv_edge_of(crn_graph_record(graph, record), block), block,
                       node_offset);
    return node_offset / CRN_RECORD_WORDS;
}

/* Sets up a graph of a root context alone. The caller has filled in grow, storage,
 * path_limit (at least 4), context_budget and alias_budget in a zeroed struct.
 * False when there is no memory or space: then nothing is held. */
bool crn_graph_open(crn_graph *graph);

/* A pair of nodes (cairn/tree.h) for graphs that have none: nobody writes to it. */
extern crn_cached_edge crn_graph_no_nodes[2];

/* Frees what is private. Record space is the storage's. */
void crn_graph_close(crn_graph *graph);

/* The record for `block` at `record`, made if need be: canonical, or folded by a limit.
 * Never fails: when there is no room at all it is the context [folded]. */
uint32_t crn_graph_append(crn_graph *graph, uint32_t record, cairn_block block);

/* As append, for the hot path: remembered in the ways and in the record's slot. */
uint32_t crn_graph_follow(crn_graph *graph, uint32_t record, cairn_block block);

/* Room for guesses of the first blocks; where there is none, or no memory, that stays so. */
void crn_graph_make_inline_cache(crn_graph *graph);

/* As much room, in which there are none: nobody can write to it. There is some once a graph is
 * open; for block 0 alone if there is no address space, and then no block has guesses. */
cairn_priv_cache_entry *crn_graph_empty_inline_cache(void);

/* The record for `block` at the context `from`, or 0. */
uint32_t crn_graph_find(const crn_graph *graph, uint32_t from, cairn_block block);

/* As append, for a child that is known to be canonical or wanted as it is: no search for
 * cycles, no path limit. */
uint32_t crn_graph_graft(crn_graph *graph, uint32_t from, cairn_block block);

/* The record for target's block at the context `from`: what is there already, or a new
 * alias of the context `target`. */
uint32_t crn_graph_alias(crn_graph *graph, uint32_t from, uint32_t target, bool folded);

/* Record space from malloc, for graphs that are not in a file. Its `grow`. */
crn_graph_grow crn_graph_grow_memory;
void crn_graph_free_memory(crn_graph *graph);

#endif
