/* SPDX-License-Identifier: MIT
 *
 * Rows of counters of functions that are counted without being entered (lean.cc).
 */
#include "fork_lock.h"
#include "runtime.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
CRN_LOCK_ACROSS_FORK(lock)

static const crn_lean_entry *at(const int32_t *distance)
{
    return (const crn_lean_entry *)(const void *)((const char *)distance + *distance);
}

static int32_t lowest_of(const crn_lean_entry *first, const crn_lean_entry *end)
{
    int32_t lowest = INT32_MAX;
    for (const crn_lean_entry *entry = first; entry < end; entry++)
        lowest = entry->place < lowest ? entry->place : lowest;
    return lowest;
}

static cairn_block block_of(const crn_lean_entry *entry, cairn_profile *profile)
{
    crn_site *site = (crn_site *)(uintptr_t)((const char *)&entry->site + entry->site);
    if (__atomic_load_n(&site->block, __ATOMIC_ACQUIRE) == CRN_SITE_NEW)
        crn_site_resolve(site, profile);
    return __atomic_load_n(&site->block, __ATOMIC_ACQUIRE);
}

static crn_lean_group *program;
uint32_t cairn_priv_lean_key[2];

/* Adds the group's tree. Called under the lock. Functions that the linker dropped leave gaps in the
 * row, which get block 0. */
static void add(crn_lean_group *group, cairn_profile *profile)
{
    const crn_lean_entry *first = at(&group->first), *end = at(&group->end);
    int32_t lowest = lowest_of(first, end);
    uint32_t count = 0;
    for (const crn_lean_entry *entry = first; entry < end; entry++) {
        uint32_t place = (uint32_t)(entry->place - lowest) / sizeof(uint64_t);
        count = place >= count ? place + 1 : count;
    }
    cairn_priv_node *nodes =
        count <= CAIRN_PRIV_NODES_MOST ? cairn_priv_calloc(count, sizeof *nodes) : NULL;
    if (!nodes) {
        cairn_profile_note(profile, "lean",
                           "no space for counters: calls of a program's or library's counted "
                           "functions are missing");
        return;
    }
    for (const crn_lean_entry *entry = first; entry < end; entry++)
        nodes[(uint32_t)(entry->place - lowest) / sizeof(uint64_t)].block =
            block_of(entry, profile);
    uint32_t number = cairn_priv_tree_add(profile, nodes, count);
    cairn_priv_free(nodes);
    if (!number)
        return;
    uint32_t key = CAIRN_PRIV_TREE_KEY | number;
    group->lowest = lowest;
    if (group == program) {
        __atomic_store_n(&cairn_priv_lean_key[1], key * 0x9e3779b1u, __ATOMIC_RELAXED);
        __atomic_store_n(&cairn_priv_lean_key[0], key, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&group->hash, key * 0x9e3779b1u, __ATOMIC_RELAXED);
    __atomic_store_n(&group->key, key, __ATOMIC_RELEASE);
}

/* Returns the number of the group's tree, 0 if there was no space. */
static uint32_t number_of(crn_lean_group *group, cairn_profile *profile)
{
    uint32_t key = __atomic_load_n(&group->key, __ATOMIC_ACQUIRE);
    if (key == CRN_SITE_NEW) {
        pthread_mutex_lock(&lock);
        if (group->key == CRN_SITE_NEW)
            add(group, profile);
        key = group->key;
        pthread_mutex_unlock(&lock);
    }
    return key == CRN_SITE_NEW ? 0 : key & ~CAIRN_PRIV_TREE_KEY;
}

/* Returns the distance in bytes from the lowest thread-local variable of a counted function to the
 * thread's state (site.h). */
static int64_t place_of(const crn_lean_group *group)
{
    return group->place - group->lowest;
}

/* Returns the counters of the tree with that number in the node's context; NULL without space. The
 * strand is held. */
static char *counters_at(cairn_priv_strand *strand, uint32_t number, uint64_t node_offset)
{
    uint64_t current = strand->current;
    CAIRN_PRIV_PUT(strand->current, node_offset);
    char *counters = (char *)cairn_priv_tree_counters((cairn_strand *)strand, number);
    CAIRN_PRIV_PUT(strand->current, current);
    return counters;
}

/* ---- shared objects ---- */

static char *find(cairn_priv_strand *strand, crn_lean_group *group)
{
    cairn_lane *lane = cairn_strand_lane((cairn_strand *)strand);
    if (strand->current & CRN_REPLACED) /* a tail call to code that turned out not to be profiled */
        CAIRN_PRIV_PUT(strand->current, *strand->top);
    uint32_t number = number_of(group, cairn_lane_profile(lane));
    char *counters =
        number ? (char *)cairn_priv_tree_counters((cairn_strand *)strand, number) : NULL;
    if (!counters)
        return NULL;
    char *row = counters + place_of(group);
    cairn_priv_tree_remember(lane, group->key + 1, (uint32_t)strand->current, (uintptr_t)row);
    return row;
}

char *crn_site_lean(crn_lean_group *group)
{
    cairn_strand *strand = crn_site_hold();
    if (!strand)
        return NULL;
    char *row = find((cairn_priv_strand *)strand, group);
    crn_site_release(strand);
    return row;
}

/* ---- the program ---- */

static int64_t state_place; /* offset of the program's state (site.h) from the thread pointer */

/* By block: true if its function was compiled with --lean, makes calls, and has been entered. The
 * contexts of such a block have rows of their own. A table that became too small is not freed,
 * because other threads may use it. */
static struct marks {
    uint32_t count;
    bool marked[];
} * marks;

/* Called under the lock. */
static void mark(cairn_block block)
{
    enum { FIRST = 1024 };
    if (!marks || block >= marks->count) {
        uint32_t count = marks ? marks->count : FIRST;
        while (count <= block)
            count *= 2;
        struct marks *made = cairn_priv_calloc(1, sizeof *made + count);
        if (!made)
            return;
        for (uint32_t i = 0; marks && i < marks->count; i++)
            made->marked[i] = marks->marked[i];
        made->count = count;
        __atomic_store_n(&marks, made, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&marks->marked[block], true, __ATOMIC_RELAXED);
}

static bool is_marked(cairn_block block)
{
    const struct marks *all = __atomic_load_n(&marks, __ATOMIC_ACQUIRE);
    return all && block < all->count && __atomic_load_n(&all->marked[block], __ATOMIC_RELAXED);
}

/* Returns the nearest context with a row, from the current one upwards. */
static uint64_t nearest(const cairn_priv_strand *strand)
{
    uint64_t at = strand->current & CRN_REPLACED ? *strand->top : strand->current;
    while (!is_marked(cairn_priv_record_at(strand->lane, at)->block)) {
        uint64_t above = cairn_priv_above(strand, at);
        if (!above)
            break;
        at = above;
    }
    return at;
}

static void follow(cairn_priv_strand *strand)
{
    crn_lean_group *group = program;
    uint32_t number =
        number_of(group, cairn_lane_profile(cairn_strand_lane((cairn_strand *)strand)));
    int64_t distance = 0;
    if (number) {
        cairn_priv_tree_known((cairn_strand *)strand, number); /* handles what is pending */
        char *counters = strand->current ? counters_at(strand, number, nearest(strand)) : NULL;
        char *own = (char *)__builtin_thread_pointer() + state_place - place_of(group);
        distance = counters ? counters - own : 0;
    }
    cairn_priv_thread_row = distance;
}

/* Sets the thread's row, and caches it for the stubs. `entered`: the current block has just been
 * entered, and is marked. */
static void set_row(bool entered)
{
    cairn_priv_strand *strand = (cairn_priv_strand *)crn_site_hold();
    if (!strand)
        return;
    cairn_block block = cairn_priv_record_at(strand->lane, strand->current)->block;
    /* [folded] stands for many functions and has no row. */
    if (entered && block != CAIRN_BLOCK_FOLDED && !is_marked(block)) {
        pthread_mutex_lock(&lock);
        mark(block);
        pthread_mutex_unlock(&lock);
    }
    follow(strand);
    if (cairn_priv_thread_row && !(strand->current & CRN_REPLACED))
        cairn_priv_tree_remember(cairn_strand_lane((cairn_strand *)strand), program->key,
                                 (uint32_t)strand->current, (uint64_t)cairn_priv_thread_row);
    crn_site_release((cairn_strand *)strand);
}

void crn_site_row(void)
{
    set_row(false);
}

void crn_site_row_entered(void)
{
    set_row(true);
}

void cairn_priv_lean_begin(crn_lean_group *group, int64_t state)
{
    state_place = state;
    cairn_priv_lean_key[0] = group->key;
    program = group;
    crn_site_follow_row = follow;
    crn_site_row();
}
