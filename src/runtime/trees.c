/* SPDX-License-Identifier: MIT
 *
 * Counter trees of inlined functions, in the capture (cairn/host.h).
 */
#include <errno.h>

#include "runtime/counted.h"

static uint64_t size_of(uint32_t count)
{
    return sizeof(crn_disk_tree) + count * sizeof(crn_disk_node);
}

/* Appends a tree. Stores its count last: it makes the tree valid. The space behind it is 0, so
 * readers always find an end. */
static cairn_error put_tree(cairn_profile *profile, const cairn_priv_node *nodes, uint32_t count)
{
    uint64_t begin = profile->trees_used, end = begin + size_of(count);
    if (end / sizeof(uint64_t) >= CAIRN_PRIV_TREE_KEY)
        return CAIRN_E_LIMIT;
    cairn_error error = crn_section_grow(&profile->trees, end + sizeof(crn_disk_tree));
    if (error)
        return error;
    crn_disk_tree *tree = (crn_disk_tree *)(void *)(profile->trees.base + begin);
    crn_disk_node *to = (crn_disk_node *)(tree + 1);
    for (uint32_t i = 0; i < count; i++)
        to[i] = (crn_disk_node){nodes[i].above, nodes[i].same, nodes[i].block};
    __atomic_store_n(&tree->count, count, __ATOMIC_RELEASE);
    profile->trees_used = end;
    return CAIRN_OK;
}

static bool are_nodes(const cairn_priv_node *nodes, uint32_t count)
{
    if (!nodes || !count || count > CAIRN_PRIV_NODES_MOST)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i].above > i || nodes[i].same > i ||
            (nodes[i].same && nodes[nodes[i].same - 1].same))
            return false;
    return true;
}

uint32_t cairn_priv_tree_add(cairn_profile *profile, const cairn_priv_node *nodes, uint32_t count)
{
    if (!profile || !are_nodes(nodes, count) || !crn_profile_is_ready(profile))
        return 0;
    int saved = errno;
    crn_profile_lock(profile);
    if (!profile->trees_used)
        profile->trees_used = sizeof(crn_disk_tree);
    uint32_t number = (uint32_t)(profile->trees_used / sizeof(uint64_t));
    cairn_error error = put_tree(profile, nodes, count);
    crn_profile_unlock(profile);
    if (error)
        crn_profile_stop(profile, error);
    errno = saved;
    return error ? 0 : number;
}

/* Returns the number of the current record; 0 if nothing is counted. */
static uint32_t record_of(const cairn_strand *strand)
{
    const cairn_lane *lane = crn_lane_of(strand);
    uint32_t context = crn_record_at(strand->hot.current);
    if (crn_profile_mode(lane->profile) == CRN_MODE_OFF || strand->records ||
        context < CAIRN_CONTEXT_ROOT || context >= lane->graph.used)
        return 0;
    return context;
}

uint64_t *cairn_priv_tree_known(cairn_strand *strand, uint32_t tree)
{
    cairn_lane *lane = crn_lane_of(strand);
    crn_lane_listen(lane); /* in a child of fork this may change the current record */
    return crn_counted_known(lane, tree, record_of(strand));
}

uint64_t *cairn_priv_tree_counters(cairn_strand *strand, uint32_t tree)
{
    uint64_t *counters = cairn_priv_tree_known(strand, tree);
    uint32_t record = record_of(strand);
    if (counters || !record)
        return counters;
    cairn_lane *lane = crn_lane_of(strand);
    int saved = errno, cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    cairn_error error = crn_counted_make(lane, tree, record, &counters);
    pthread_setcancelstate(cancelling, NULL);
    if (error)
        crn_profile_stop(lane->profile, error);
    errno = saved;
    return counters;
}

void cairn_priv_enter_path(cairn_strand *strand, const cairn_block *path, size_t length)
{
    cairn_lane *lane = crn_lane_of(strand);
    crn_lane_settle(lane);
    cairn_context context = crn_record_at(strand->hot.current);
    if (crn_profile_mode(lane->profile) != CRN_MODE_OFF)
        for (size_t i = 0; i < length; i++)
            context = cairn_context_step(lane, context, path[i]);
    crn_strand_push(strand, context);
}
