/* SPDX-License-Identifier: MIT
 *
 * Counters of the calls of inlined functions. Each context of a function has an array of counters,
 * one for each node of the function's counter tree (trees.c).
 *
 * At each run a function looks up the address of its counters, by context and tree, and keeps it
 * while it runs. Hosts cache the address in the lane. So counters must never move: a group of
 * counters keeps its address until the lane is freed, and a child of fork maps other memory at the
 * same address. Behind each group is as much private memory, for the node offsets of the inlined
 * functions' contexts.
 */
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/memory.h"
#include "capture/loss.h"
#include "runtime/counted.h"
#include "runtime/translation.h"

enum {
    FIRST_ENTRIES = CRN_FIRST(64, 2),
    FIRST_PAIRS = CRN_FIRST(512, 1),    /* pairs of entries in the lane's first cache */
    LAST_PAIRS = CRN_FIRST(1 << 16, 8), /* pairs of entries in its largest cache: 2 MiB */
    GROUP_AND_OFFSETS = 2 * CRN_COUNTS_GROUP
};

_Static_assert(CAIRN_PRIV_TREE_NODE_OFFSETS == CRN_COUNTS_GROUP,
               "node offsets are kept behind their counters");

void crn_trees_move(cairn_profile *profile)
{
    crn_section before = profile->trees;
    crn_section_open(&profile->trees, &profile->capture, CRN_SECTION_TREES, 0, 0);
    uint64_t used = profile->trees_used;
    cairn_error error =
        used ? crn_section_grow(&profile->trees, used + sizeof(crn_disk_tree)) : CAIRN_OK;
    if (error)
        crn_profile_stop(profile, error);
    else if (used)
        memcpy(profile->trees.base, before.base, used);
    crn_section_close(&before);
}

/* Returns the number of nodes of a tree; 0 if `tree` is no tree's number. */
static uint32_t node_count(cairn_profile *profile, uint32_t tree)
{
    uint64_t place = tree * (uint64_t)sizeof(uint64_t);
    uint32_t count = 0;
    crn_profile_lock(profile);
    if (place && place < profile->trees_used && profile->trees_used <= profile->trees.mapped)
        count = ((crn_disk_tree *)(void *)(profile->trees.base + place))->count;
    crn_profile_unlock(profile);
    return count;
}

/* Allocates the table of counters, or doubles it if it is half full. Returns false without
 * memory. */
static bool make_room(struct crn_counted *counted)
{
    uint32_t size = counted->entries ? counted->mask + 1 : 0;
    if (counted->used * 2 < size)
        return true;
    uint32_t room = size ? size * 2 : FIRST_ENTRIES;
    crn_counted_entry *entries = crn_try_calloc(room, sizeof *entries), *old = counted->entries;
    if (!entries)
        return false;
    counted->entries = entries;
    counted->mask = room - 1;
    for (uint32_t i = 0; i < size; i++)
        if (old[i].key)
            *crn_counted_entry_of(counted, old[i].key) = old[i];
    crn_free(old);
    return true;
}

static struct crn_counted *counted_of(cairn_lane *lane)
{
    if (!lane->counted)
        lane->counted = crn_try_calloc(1, sizeof *lane->counted);
    return lane->counted;
}

/* Adds a chunk to the file, copies the group's first `used` bytes to the chunk, and maps the chunk
 * at the group's address. */
static cairn_error place_group(cairn_lane *lane, uint32_t number, crn_counted_group *group,
                               uint64_t used)
{
    crn_section section;
    crn_section_open(&section, &lane->profile->capture, CRN_SECTION_COUNTS, (uint16_t)number,
                     lane->number);
    cairn_error error = crn_section_grow(&section, CRN_COUNTS_GROUP);
    if (!error) {
        if (used)
            memcpy(section.base, group->base, used);
        group->offset = section.chunks[0].offset;
        int file = crn_capture_file(&lane->profile->capture);
        if (!crn_capture_map(group->base, 0, file, group->offset, CRN_COUNTS_GROUP))
            error = CAIRN_E_MAP;
    }
    crn_section_close(&section);
    return error;
}

static cairn_error add_group(cairn_lane *lane)
{
    struct crn_counted *counted = lane->counted;
    uint32_t number = counted->group_count;
    if (number > UINT16_MAX)
        return CAIRN_E_LIMIT;
    crn_counted_group *groups =
        crn_try_realloc(counted->groups, (uint64_t)number + 1, sizeof *groups);
    if (!groups)
        return CAIRN_E_MEMORY;
    counted->groups = groups;
    crn_counted_group made = {.base =
                                  crn_capture_reserve(&lane->profile->capture, GROUP_AND_OFFSETS)};
    if (!made.base ||
        !crn_address_fill(made.base + CAIRN_PRIV_TREE_NODE_OFFSETS, CRN_COUNTS_GROUP)) {
        crn_capture_release(made.base, GROUP_AND_OFFSETS);
        return CAIRN_E_MEMORY;
    }
    cairn_error error = place_group(lane, number, &made, 0);
    if (error) {
        crn_capture_release(made.base, GROUP_AND_OFFSETS);
        return error;
    }
    groups[number] = made;
    counted->group_count++;
    counted->in_group = 0;
    return CAIRN_OK;
}

/* Takes `size` bytes of the last group, or of a new group if the last one lacks space. */
static cairn_error take(cairn_lane *lane, uint64_t size, crn_disk_counts **counts)
{
    struct crn_counted *counted = lane->counted;
    if (!counted->group_count || counted->in_group + size > CRN_COUNTS_GROUP) {
        cairn_error error = add_group(lane);
        if (error)
            return error;
    }
    char *base = counted->groups[counted->group_count - 1].base;
    *counts = (crn_disk_counts *)(void *)(base + counted->in_group);
    counted->in_group += size;
    return CAIRN_OK;
}

cairn_error crn_counted_make(cairn_lane *lane, uint32_t tree, uint32_t record, uint64_t **counters)
{
    uint32_t count = node_count(lane->profile, tree);
    if (!count)
        return CAIRN_E_ARGUMENT;
    if (!counted_of(lane) || !make_room(lane->counted))
        return CAIRN_E_MEMORY;
    crn_disk_counts *counts;
    cairn_error error = take(lane, sizeof *counts + count * sizeof(uint64_t), &counts);
    if (error)
        return error;
    *counters = (uint64_t *)(counts + 1);
    crn_counted_entry *entry = crn_counted_entry_of(lane->counted, crn_counted_key(tree, record));
    entry->key = crn_counted_key(tree, record);
    entry->counters = *counters;
    entry->count = count;
    lane->counted->used++;
    counts->record = record;
    __atomic_store_n(&counts->tree, tree, __ATOMIC_RELEASE);
    return CAIRN_OK;
}

/* Makes the lane's cache of counters and nodes if it has none. A full cache is replaced: when as
 * many entries were inserted as the cache has, an empty cache of twice the size takes its place,
 * unless it has the largest size. Returns false if the lane has no cache, for lack of memory. */
static bool make_nodes(cairn_lane *lane)
{
    struct crn_counted *counted = lane->counted;
    uint64_t pairs = lane->graph.hot.node_mask + 1;
    if (counted->nodes && (counted->put < pairs * 2 || pairs >= LAST_PAIRS))
        return true;
    pairs = counted->nodes ? pairs * 2 : FIRST_PAIRS;
    crn_cached_edge *nodes = crn_try_calloc(pairs * 2, sizeof *nodes);
    if (!nodes)
        return counted->nodes != NULL;
    /* The mask is 0 meanwhile, because a signal handler may search the cache. */
    lane->graph.hot.node_mask = 0;
    lane->graph.hot.nodes = nodes;
    lane->graph.hot.node_mask = pairs - 1;
    if (counted->nodes)
        counted->outgrown[counted->outgrown_count++] = counted->nodes;
    counted->nodes = nodes;
    counted->put = 0;
    return true;
}

static void free_nodes(struct crn_counted *counted)
{
    crn_free(counted->nodes);
    counted->nodes = NULL;
    while (counted->outgrown_count)
        crn_free(counted->outgrown[--counted->outgrown_count]);
}

/* Writes an entry of the cache. The entry's key is 0 meanwhile, because a signal handler may read
 * the entry. */
static void put_entry(crn_cached_edge *cached, uint64_t key, uint64_t what)
{
    typedef uint64_t __attribute__((may_alias)) both;
    __atomic_store_n(&cached->key, 0, __ATOMIC_RELEASE);
    __atomic_store_n((both *)&cached->edge, what, __ATOMIC_RELEASE);
    __atomic_store_n(&cached->key, key, __ATOMIC_RELEASE);
}

void cairn_priv_tree_remember(cairn_lane *lane, uint32_t key, uint32_t node_offset, uint64_t what)
{
    typedef uint64_t __attribute__((may_alias)) both;
    if (!counted_of(lane) || !make_nodes(lane))
        return;
    uint64_t pair = node_offset + key * (uint64_t)0x9e3779b1u;
    crn_cached_edge *entries = &lane->counted->nodes[(pair & lane->graph.hot.node_mask) * 2];
    if (entries[0].key)
        put_entry(&entries[1], entries[0].key, *(const both *)&entries[0].edge);
    put_entry(&entries[0], (uint64_t)key << 32 | node_offset, what);
    lane->counted->put++;
}

void cairn_priv_tree_forget(cairn_lane *lane)
{
    const struct crn_counted *counted = lane->counted;
    uint64_t entries = counted && counted->nodes ? (lane->graph.hot.node_mask + 1) * 2 : 0;
    for (uint64_t i = 0; i < entries; i++)
        __atomic_store_n(&counted->nodes[i].key, 0, __ATOMIC_RELEASE);
}

/* ---- destruction ---- */

void crn_counted_free(struct crn_counted *counted)
{
    if (!counted)
        return;
    for (uint32_t i = 0; i < counted->group_count; i++)
        crn_capture_release(counted->groups[i].base, GROUP_AND_OFFSETS);
    crn_free(counted->groups);
    crn_free(counted->entries);
    free_nodes(counted);
    crn_free(counted);
}

void crn_counted_clear(struct crn_counted *counted)
{
    for (uint32_t i = 0; counted && counted->entries && i <= counted->mask; i++)
        if (counted->entries[i].key)
            memset(counted->entries[i].counters, 0, counted->entries[i].count * sizeof(uint64_t));
}

/* ---- in a child of fork ---- */

void crn_counted_detach(cairn_lane *lane)
{
    struct crn_counted *counted = lane->counted;
    int file = crn_capture_file(&lane->profile->capture);
    for (uint32_t i = 0; counted && i < counted->group_count; i++)
        crn_address_detach(counted->groups[i].base, file, counted->groups[i].offset,
                           CRN_COUNTS_GROUP);
    crn_counted_clear(counted);
}

/* Translates all entries to the child's graph, also those of contexts that are not active: it is
 * unknown which are, because compiled hosts save callers in their own frames. Returns false without
 * memory. */
static bool move_entries(cairn_lane *lane, crn_translation *translation, const crn_graph *before)
{
    struct crn_counted *counted = lane->counted, fresh = {0};
    bool moved = true;
    for (uint32_t i = 0; moved && counted->entries && i <= counted->mask; i++) {
        crn_counted_entry *old = &counted->entries[i];
        if (!old->key)
            continue;
        crn_disk_counts *counts = (crn_disk_counts *)(void *)old->counters - 1;
        counts->record = crn_translate_record(translation, before->links, before->used,
                                              &lane->graph, (uint32_t)old->key);
        moved = make_room(&fresh);
        if (!moved)
            break;
        uint64_t key = crn_counted_key(counts->tree, counts->record);
        *crn_counted_entry_of(&fresh, key) = (crn_counted_entry){key, old->counters, old->count};
        fresh.used++;
    }
    crn_free(counted->entries);
    counted->entries = fresh.entries;
    counted->mask = fresh.mask;
    counted->used = fresh.used;
    return moved;
}

/* Gives a group a place in the child's capture. Does not copy the bytes behind the last counters:
 * the parent may write them later, and untouched pages of a private mapping show its writes. */
static cairn_error move_group(cairn_lane *lane, uint32_t number)
{
    const struct crn_counted *counted = lane->counted;
    bool last = number + 1 == counted->group_count;
    return place_group(lane, number, &counted->groups[number],
                       last ? counted->in_group : CRN_COUNTS_GROUP);
}

void crn_counted_move(cairn_lane *lane, crn_translation *translation, const crn_graph *before)
{
    if (!lane->counted)
        return;
    free_nodes(lane->counted); /* the cached node offsets are of the lane's old graph */
    cairn_error error = move_entries(lane, translation, before) ? CAIRN_OK : CAIRN_E_MEMORY;
    for (uint32_t i = 0; !error && i < lane->counted->group_count; i++)
        error = move_group(lane, i);
    if (error)
        crn_profile_stop(lane->profile, error);
}
