/* SPDX-License-Identifier: MIT
 *
 * index.h - a hash table of edges, by the caller's context and the callee's block.
 *
 * An entry has a record's number in its low bits and part of the edge's hash above them. The hash
 * tells most edges apart without a look at their records.
 */
#ifndef CRN_GRAPH_INDEX_H
#define CRN_GRAPH_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include <cairn/cairn.h>

typedef struct cairn_priv_link crn_link; /* cairn/hot.h */

typedef struct crn_index {
    uint32_t *entries; /* 0: a free entry */
    uint32_t mask;     /* number of entries, a power of two, - 1 */
    uint32_t numbers;  /* mask for the record number in an entry */
    uint32_t count;    /* number of edges */
} crn_index;

/* Open an index; close it. Open returns false without memory. An index of zeros may be closed. */
bool crn_index_open(crn_index *index);
void crn_index_close(crn_index *index);

/* Slow path of crn_index_reserve. */
bool crn_index_grow(crn_index *index, const crn_link *links, uint32_t record);

/* Makes capacity for two more edges and for records up to `record`. Returns false without
 * memory. */
static inline bool crn_index_reserve(crn_index *index, const crn_link *links, uint32_t record)
{
    bool has_capacity = record <= index->numbers &&
                        ((uint64_t)index->count + 2) * 4 <= ((uint64_t)index->mask + 1) * 3;
    return has_capacity || crn_index_grow(index, links, record);
}

/* Returns the record of the edge; 0 if the table lacks it. */
uint32_t crn_index_find(const crn_index *index, const crn_link *links, uint32_t from,
                        cairn_block block);

/* Adds an edge that is not in the table. */
void crn_index_put(crn_index *index, const crn_link *links, uint32_t record);

#endif
