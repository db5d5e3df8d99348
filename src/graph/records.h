/* SPDX-License-Identifier: MIT
 *
 * records.h - read a graph's records, trusting nothing, and add them to another graph.
 */
#ifndef CRN_GRAPH_RECORDS_H
#define CRN_GRAPH_RECORDS_H

#include "graph/graph.h"

/* The records of a graph, found valid: every context's parent and every edge's ends are
 * contexts that stand before it, depths and numbers are right. */
typedef struct crn_records {
    const char *base;
    uint32_t used;          /* units that hold valid records */
    uint32_t context_count; /* 0 when not even the root is valid */
    uint32_t edge_count;
    uint32_t *units; /* by number */
    bool whole;      /* everything up to the `used` that was given is valid */
} crn_records;

/* Walks `used` units at `base`, up to the first record that is not valid. False when
 * there is no memory. */
bool crn_records_scan(crn_records *records, const char *base, uint32_t used);
void crn_records_free(crn_records *records);

/* Walks all records in order. Pass 0 to begin; 0 is returned at the end. */
uint32_t crn_records_next(const crn_records *records, uint32_t unit);

static inline const cairn_priv_edge *crn_records_edge(const crn_records *records, uint32_t unit)
{
    return (const cairn_priv_edge *)(records->base + unit * (uint64_t)CRN_UNIT);
}

static inline const cairn_priv_context *crn_records_context(const crn_records *records,
                                                            uint32_t unit)
{
    return (const cairn_priv_context *)(records->base + unit * (uint64_t)CRN_UNIT);
}

static inline bool crn_records_is_context(const crn_records *records, uint32_t unit)
{
    return crn_records_edge(records, unit)->target == unit;
}

/* The number of the context at `unit`, which an edge's `from` or `target` gave. */
static inline uint32_t crn_records_number(const crn_records *records, uint32_t unit)
{
    return crn_records_context(records, unit)->number;
}

/* Adds every context, edge, call, tick and wall of `records` to `graph`. `blocks`, if not
 * NULL, maps blocks below `block_count` to those of the graph. `map` gets, by number, the
 * unit in `graph` of each context. */
void crn_records_merge(const crn_records *records, crn_graph *graph, const cairn_block *blocks,
                       uint32_t block_count, uint32_t *map);

#endif
