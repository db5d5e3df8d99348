/* SPDX-License-Identifier: MIT
 *
 * records.h - validates untrusted records of a graph, and adds them to another graph.
 */
#ifndef CRN_GRAPH_RECORDS_H
#define CRN_GRAPH_RECORDS_H

#include "graph/graph.h"

/* Valid records: the caller's context precedes each record, the target precedes each alias, and
 * depths are consistent. */
typedef struct crn_records {
    const cairn_priv_record *hot;
    const crn_link *links;
    uint32_t used;          /* records 1 to used - 1 are valid */
    uint32_t context_count; /* 0 if the root is invalid */
    uint32_t alias_count;
    uint32_t *contexts; /* the records that are contexts */
    uint32_t *numbers;  /* by record: position in `contexts` of its context or alias target */
    bool whole;         /* all records that were scanned are valid */
} crn_records;

/* Checks records 1 to used - 1, up to the first invalid record. Returns false without memory. */
bool crn_records_scan(crn_records *records, const cairn_priv_record *hot, const crn_link *links,
                      uint32_t used);
void crn_records_free(crn_records *records);

static inline bool crn_records_is_context(const crn_records *records, uint32_t record)
{
    return records->links[record].target == record;
}

/* Adds calls, ticks and wall to `graph`, which has the same blocks. Sets `map`, an array of
 * context_count entries, to the context in `graph` for each context. */
void crn_records_merge(const crn_records *records, crn_graph *graph, uint32_t *map);

#endif
