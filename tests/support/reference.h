/* SPDX-License-Identifier: MIT
 *
 * reference.h - a slow, obvious implementation of a profile, which the library is compared with.
 *
 * A context is an array of blocks, stored in a hash map by content. Canonical form follows the
 * definition: append the block; if the last k blocks equal the k before them, drop k. Nothing is
 * shared with the library's implementation: no parents, no index, no node offsets.
 */
#ifndef TESTS_SUPPORT_REFERENCE_H
#define TESTS_SUPPORT_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REFERENCE_USER_METRICS = 4 };
#define REFERENCE_ROOT 0u
#define REFERENCE_FOLDED 0xffffffffu

typedef struct reference_context {
    uint32_t *path; /* root first */
    uint32_t length;
    uint64_t calls; /* over all edges that lead here; for the root, strands opened */
    uint64_t ticks;
    uint64_t user[REFERENCE_USER_METRICS];
} reference_context;

typedef struct reference_edge {
    uint32_t from;
    uint32_t block;
    uint32_t target;
    bool folded; /* by a limit, not by a repetition */
    uint64_t calls;
} reference_edge;

/* A graph: that of a lane, or of all lanes together if no budget is reached. */
typedef struct reference_graph {
    uint32_t path_limit;
    /* Limit on contexts; beyond it only [folded] and its children are made. The same limit holds
     * for edges that do not lead to a child: further calls count for [folded]. */
    uint32_t budget;
    reference_context *contexts; /* 0 is the root */
    uint32_t context_count, context_room;
    uint32_t *context_slots; /* index + 1, 0 is free */
    uint32_t context_slot_count;
    reference_edge *edges;
    uint32_t edge_count, edge_room;
    uint32_t *edge_slots;
    uint32_t edge_slot_count;
    uint32_t cross_edges; /* edges that do not lead to a child */
    uint64_t folded_edges;
    const char *metrics[REFERENCE_USER_METRICS]; /* names in the capture; first user0, user1, ... */
} reference_graph;

typedef struct reference_strand {
    reference_graph *graph;
    uint32_t current;
    uint32_t *stack; /* saved callers */
    size_t depth, room;
} reference_strand;

/* Returns the length of the canonical form of the `length` blocks at `path`, all but the last of
 * which are canonical. The canonical form is a prefix of the path. */
uint32_t reference_canonical_length(const uint32_t *path, uint32_t length);

/* Returns true if no two consecutive runs of blocks in `path` are equal, checked everywhere. */
bool reference_is_canonical(const uint32_t *path, uint32_t length);

void reference_graph_start(reference_graph *graph, uint32_t path_limit, uint32_t budget);
void reference_graph_end(reference_graph *graph);

/* The context with this path, or NULL. */
const reference_context *reference_graph_find(const reference_graph *graph, const uint32_t *path,
                                              uint32_t length);
/* The edge for `block` from the context with this path, or NULL. */
const reference_edge *reference_graph_edge(const reference_graph *graph, const uint32_t *path,
                                           uint32_t length, uint32_t block);

/* With `recording` false (a disabled profile) stacks move and nothing is counted. */
void reference_strand_start(reference_strand *strand, reference_graph *graph, bool recording);
void reference_strand_end(reference_strand *strand);
/* Continues the stack in another graph, which gets its contexts without calls. */
void reference_strand_move(reference_strand *strand, reference_graph *to);
void reference_enter(reference_strand *strand, uint32_t block, bool recording);
void reference_replace(reference_strand *strand, uint32_t block, bool recording);
void reference_leave(reference_strand *strand);
void reference_unwind(reference_strand *strand, size_t mark);
/* Continues in a context of the graph up to a leave. Counts no call. */
void reference_adopt(reference_strand *strand, uint32_t context);
void reference_tick(reference_strand *strand, uint64_t count, bool recording);
/* Charges ticks to the context of a path from the root. Counts no calls. */
void reference_sample(reference_strand *strand, const uint32_t *blocks, uint32_t length,
                      uint64_t ticks, bool recording);
void reference_charge(reference_strand *strand, uint32_t user_metric, uint64_t amount,
                      bool recording);

#endif
