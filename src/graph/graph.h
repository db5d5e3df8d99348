/* SPDX-License-Identifier: MIT
 *
 * graph.h - the graph of calling contexts, in canonical form.
 *
 * No sequence of blocks in a context's path is followed at once by itself. Appending a
 * block either follows an edge, or closes a cycle with a back edge to the context that
 * ends the earlier repetition, or adds a context. The path is free of squares before
 * each step, so at most one repeated suffix can exist.
 *
 * Records (see cairn/hot.h) are append-only, refer to each other by *unit* (8 bytes from
 * the base) and so can lie in a file. What only speeds look-ups up is private: the index
 * (a hash table of all edges), the ways (a direct-mapped table of edges, which the inlined
 * hot path reads) and the path last worked on.
 *
 * One thread at a time. Records may be read by others up to what is published.
 *
 * Sources: Ammons, Ball, Larus, "Exploiting hardware performance counters with flow and
 * context sensitive profiling" (1997), for the tree; fble's profile tree for compaction.
 */
#ifndef CRN_GRAPH_GRAPH_H
#define CRN_GRAPH_GRAPH_H

#include <cairn/hot.h>

enum {
    CRN_UNIT = 8,         /* bytes */
    CRN_EDGE_UNITS = 2,   /* sizeof(cairn_priv_edge) / CRN_UNIT */
    CRN_CONTEXT_UNITS = 6 /* sizeof(cairn_priv_context) / CRN_UNIT */
};
/* The base begins with the number of units in use (uint64_t, stored with release once a
 * record is whole) and space for what the owner of the graph wants to keep beside it. */
#define CRN_GRAPH_HEADER 256 /* bytes */
#define CRN_ROOT_UNIT ((uint32_t)CRN_GRAPH_HEADER / CRN_UNIT)

#define CRN_CALLS_FOLDED ((uint64_t)1 << 63) /* in edge.calls: made by a limit */
#define CRN_CALLS_MASK (CRN_CALLS_FOLDED - 1)

_Static_assert(sizeof(cairn_priv_edge) == CRN_EDGE_UNITS * CRN_UNIT, "on disk");
_Static_assert(sizeof(cairn_priv_context) == CRN_CONTEXT_UNITS * CRN_UNIT, "on disk");
_Static_assert(sizeof(cairn_priv_way) == 16, "the hot path scales by it");

typedef struct crn_graph crn_graph;

/* Makes zeroed record space of at least `bytes` from the base, setting hot.base and
 * capacity. The base may move. False: no more, ever. */
typedef bool crn_graph_grow(crn_graph *graph, uint64_t bytes);

struct crn_graph {
    cairn_priv_lane hot; /* base, ways, way_mask; the tick fields belong to the runtime */
    uint32_t used;       /* units; the next record begins here */
    uint32_t capacity;   /* units */
    crn_graph_grow *grow;
    void *storage; /* for grow */

    uint32_t path_limit, context_budget, edge_budget;
    uint32_t context_count;      /* the root included */
    uint32_t edge_count;         /* that are not tree edges */
    uint32_t folded;             /* unit of the context [folded], 0 before it is needed */
    bool full;                   /* storage or memory ended: new edges fold */

    uint64_t *index; /* hash << 32 | unit of the edge; 0 is free */
    uint64_t index_mask, index_count;

    uint32_t *path_blocks, *path_units; /* the path last worked on, root first */
    uint32_t path_length, path_capacity;
};

static inline cairn_priv_edge *crn_graph_edge(const crn_graph *graph, uint32_t unit)
{
    return (cairn_priv_edge *)(graph->hot.base + unit * (uint64_t)CRN_UNIT);
}

static inline cairn_priv_context *crn_graph_context(const crn_graph *graph, uint32_t unit)
{
    return (cairn_priv_context *)(graph->hot.base + unit * (uint64_t)CRN_UNIT);
}

/* Sets up a graph of a root context alone. The caller has filled in grow, storage,
 * path_limit (at least 4), context_budget and edge_budget in a zeroed struct.
 * False when there is no memory or space: then nothing is held. */
bool crn_graph_open(crn_graph *graph);

/* Frees what is private. Record space is the storage's. */
void crn_graph_close(crn_graph *graph);

/* The edge for `block` at `context`, made if need be: canonical, or folded by a limit.
 * Never fails: when there is no room at all it is the edge that leads to [folded]. */
uint32_t crn_graph_append(crn_graph *graph, uint32_t context, cairn_block block);

/* As append, and puts the edge into the ways for the hot path. */
uint32_t crn_graph_follow(crn_graph *graph, uint32_t context, cairn_block block);

/* The edge for `block` at `context`, or 0. */
uint32_t crn_graph_find(const crn_graph *graph, uint32_t context, cairn_block block);

/* As append, for a child that is known to be canonical or wanted as it is: no search for
 * cycles, no path limit. */
uint32_t crn_graph_graft(crn_graph *graph, uint32_t context, cairn_block block);

/* The edge for target's block at `context`: what is there already, or a new one to
 * `target`. */
uint32_t crn_graph_link(crn_graph *graph, uint32_t context, uint32_t target, bool folded);

/* Record space from malloc, for graphs that are not in a file. Its `grow`. */
crn_graph_grow crn_graph_grow_memory;
void crn_graph_free_memory(crn_graph *graph);

#endif
