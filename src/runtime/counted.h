/* SPDX-License-Identifier: MIT
 *
 * counted.h - a lane's counters of inlined functions.
 */
#ifndef CRN_RUNTIME_COUNTED_H
#define CRN_RUNTIME_COUNTED_H

#include "runtime/runtime.h"

/* Number of sizes that the lane's cache can have, each twice the one before. */
enum { CRN_COUNTED_SIZES = 8 };

/* An entry of a lane's hash table: the counters of a tree in a context. */
typedef struct crn_counted_entry {
    uint64_t key; /* tree << 32 | record; 0: free */
    uint64_t *counters;
    uint64_t count; /* number of counters */
} crn_counted_entry;

/* A group of counters: a section of a single chunk, because a section that grows may move. */
typedef struct crn_counted_group {
    char *base;      /* address, the same in each child of fork */
    uint64_t offset; /* offset of the chunk in this process's capture */
} crn_counted_group;

struct crn_counted {
    crn_counted_group *groups;
    uint32_t group_count;       /* at most 65,536: the file has 16 bits for a group's number */
    uint64_t in_group;          /* bytes used in the last group */
    crn_counted_entry *entries; /* hash table; NULL before the first counters */
    uint32_t mask, used;        /* number of entries - 1; number of used entries */
    crn_cached_edge *nodes;     /* the lane's cache of counters and nodes (host.h), in pairs */
    uint64_t put;               /* number of insertions into `nodes` */
    /* The smaller caches that `nodes` replaced. They are kept: a signal handler may replace the
     * cache while the interrupted code reads it. */
    crn_cached_edge *outgrown[CRN_COUNTED_SIZES];
    uint32_t outgrown_count;
};

static inline uint64_t crn_counted_key(uint32_t tree, uint32_t record)
{
    return (uint64_t)tree << 32 | record;
}

/* Returns the entry with this key; if there is none, the free entry where it belongs. The table
 * must exist. */
static inline crn_counted_entry *crn_counted_entry_of(const struct crn_counted *counted,
                                                      uint64_t key)
{
    uint64_t at = key * 0x9e3779b97f4a7c15u >> 32;
    while (counted->entries[at & counted->mask].key &&
           counted->entries[at & counted->mask].key != key)
        at++;
    return &counted->entries[at & counted->mask];
}

/* Returns the counters of a tree in the context `record`; NULL if they were not made yet or
 * `record` is 0. */
static inline uint64_t *crn_counted_known(const cairn_lane *lane, uint32_t tree, uint32_t record)
{
    return record && lane->counted && lane->counted->entries
               ? crn_counted_entry_of(lane->counted, crn_counted_key(tree, record))->counters
               : NULL;
}

/* Makes the counters of a tree in a context that has none yet, and sets `*counters` to them.
 * CAIRN_E_ARGUMENT: there is no such tree. */
cairn_error crn_counted_make(cairn_lane *lane, uint32_t tree, uint32_t record, uint64_t **counters);

#endif
