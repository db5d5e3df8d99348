/* SPDX-License-Identifier: MIT */
#include "graph/index.h"

#include "base/limits.h"
#include "base/memory.h"
#include "graph/graph.h"

enum {
    INDEX_FIRST = CRN_FIRST(64, 2), /* entries */
    PREFETCH_DISTANCE = 16          /* entries */
};

static uint32_t hash_of(uint32_t from, cairn_block block)
{
    return (uint32_t)((from * 0x85ebca6bu + block) * 0x9e3779b97f4a7c15u >> 32);
}

uint32_t crn_index_find(const crn_index *index, const crn_link *links, uint32_t from,
                        cairn_block block)
{
    uint32_t numbers = index->numbers, hash = hash_of(from, block);
    for (uint32_t at = hash;; at++) {
        uint32_t entry = index->entries[at & index->mask];
        if (!entry)
            return 0;
        if ((entry ^ hash) & ~numbers)
            continue;
        const crn_link *link = &links[entry & numbers];
        if (link->from == from && link->block == block)
            return entry & numbers;
    }
}

static void put(crn_index *index, const crn_link *links, uint32_t record)
{
    uint32_t hash = hash_of(links[record].from, links[record].block), at = hash;
    while (index->entries[at & index->mask])
        at++;
    index->entries[at & index->mask] = (hash & ~index->numbers) | record;
}

void crn_index_put(crn_index *index, const crn_link *links, uint32_t record)
{
    put(index, links, record);
    index->count++;
}

/* Makes record numbers one bit longer, hashes one bit shorter. */
static void lengthen_numbers(crn_index *index)
{
    uint32_t bit = index->numbers + 1;
    for (uint32_t at = 0; at <= index->mask; at++)
        index->entries[at] &= ~bit;
    index->numbers |= bit;
}

/* Returns false for a link of zeros. In a lost capture (loss.h) all links are such: their edges
 * have the same hash, so to put each would take a search through all others. */
static bool is_link(const crn_link *link)
{
    return link->from || link->block;
}

static bool double_size(crn_index *index, const crn_link *links)
{
    uint64_t size = (uint64_t)index->mask + 1;
    uint32_t *entries = crn_try_table(size * 2 * sizeof *entries), *before = index->entries;
    if (!entries)
        return false;
    index->entries = entries;
    index->mask = (uint32_t)(size * 2 - 1);
    for (uint64_t at = 0; at < size; at++) {
        if (at + PREFETCH_DISTANCE < size)
            __builtin_prefetch(&links[before[at + PREFETCH_DISTANCE] & index->numbers]);
        if (before[at] && is_link(&links[before[at] & index->numbers]))
            put(index, links, before[at] & index->numbers);
    }
    crn_free_table(before, size * sizeof *before);
    return true;
}

bool crn_index_grow(crn_index *index, const crn_link *links, uint32_t record)
{
    while (record > index->numbers)
        lengthen_numbers(index);
    while (((uint64_t)index->count + 2) * 4 > ((uint64_t)index->mask + 1) * 3) /* 3/4 full */
        if (!double_size(index, links))
            return false;
    return true;
}

bool crn_index_open(crn_index *index)
{
    *index = (crn_index){.entries = crn_try_table(INDEX_FIRST * sizeof *index->entries),
                         .mask = INDEX_FIRST - 1,
                         .numbers = INDEX_FIRST - 1};
    return index->entries;
}

void crn_index_close(crn_index *index)
{
    crn_free_table(index->entries, ((size_t)index->mask + 1) * sizeof *index->entries);
    index->entries = NULL;
}
