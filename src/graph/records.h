/* SPDX-License-Identifier: MIT
 *
 * records.h - read a graph's records, trusting nothing, and add them to another graph.
 */
#ifndef CRN_GRAPH_RECORDS_H
#define CRN_GRAPH_RECORDS_H

#include "graph/graph.h"

/* The records of a graph, found valid: every edge comes from a context that stands before
 * it; an alias's target does, too; depths are right. */
typedef struct crn_records {
    const cairn_priv_record *hot;
    const crn_link *links;
    uint32_t used;          /* records 1 to used - 1 are valid */
    uint32_t context_count; /* 0 when not even the root is valid */
    uint32_t alias_count;
    uint32_t *contexts; /* record of each context, in order */
    uint32_t *numbers;  /* by record: which context it is, or is an alias of */
    bool whole;         /* everything up to the `used` that was given is valid */
} crn_records;

/* Looks at records 1 to used - 1, up to the first that is not valid. False when there is
 * no memory. */
bool crn_records_scan(crn_records *records, const cairn_priv_record *hot, const crn_link *links,
                      uint32_t used);
void crn_records_free(crn_records *records);

static inline bool crn_records_is_context(const crn_records *records, uint32_t record)
{
    return records->links[record].target == record;
}

/* Adds all calls, ticks and wall to `graph`, whose blocks are the same. `map`, with room
 * for context_count, gets for each context its record in `graph`. */
void crn_records_merge(const crn_records *records, crn_graph *graph, uint32_t *map);

#endif
