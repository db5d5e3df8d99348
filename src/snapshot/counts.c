/* SPDX-License-Identifier: MIT */
#include "snapshot/counts.h"

#include "base/memory.h"
#include "base/search.h"

static bool add_group(crn_trees *trees, uint32_t lane, crn_bytes *bytes, crn_error *error)
{
    crn_counts_group *groups =
        crn_try_realloc(trees->groups, trees->group_count + 1, sizeof *groups);
    if (!groups) {
        crn_free(bytes->data);
        return crn_error_set(error, CAIRN_E_MEMORY, "no memory for its counters");
    }
    trees->groups = groups;
    groups[trees->group_count++] = (crn_counts_group){lane, *bytes};
    return true;
}

/* Copies the groups of a lane. Subtracts their sizes from `*left`; a group that is larger is left
 * out, with those after it. */
static bool read_groups(crn_trees *trees, const crn_reader *reader, uint32_t lane, uint64_t *left,
                        crn_error *error)
{
    for (uint32_t group = 0; group <= UINT16_MAX; group++) {
        crn_bytes bytes;
        if (!crn_reader_section(reader, CRN_SECTION_COUNTS, lane, (uint16_t)group, CRN_COUNTS_GROUP,
                                &bytes, error))
            return false;
        bool any = bytes.size > 0, fits = bytes.size <= *left;
        if (!any || !fits) {
            crn_free(bytes.data);
            bytes = (crn_bytes){0};
        }
        *left -= bytes.size;
        if (any && !add_group(trees, lane, &bytes, error))
            return false;
        if (!bytes.size)
            break;
    }
    return true;
}

bool crn_trees_read(crn_trees *trees, crn_reader *reader, crn_error *error)
{
    *trees = (crn_trees){0};
    uint64_t left = reader->file_size; /* all groups together must not exceed the file */
    bool read = true;
    for (uint32_t lane = 0; read && crn_reader_lane(reader, &lane); lane++) {
        read = read_groups(trees, reader, lane, &left, error);
        if (lane == UINT32_MAX)
            break;
    }
    read = read && crn_reader_refresh(reader, error) &&
           crn_reader_section(reader, CRN_SECTION_TREES, 0, 0, reader->file_size, &trees->bytes,
                              error);
    if (!read)
        crn_trees_free(trees);
    return read;
}

void crn_trees_free(crn_trees *trees)
{
    for (size_t i = 0; i < trees->group_count; i++)
        crn_free(trees->groups[i].bytes.data);
    crn_free(trees->groups);
    crn_free(trees->bytes.data);
    *trees = (crn_trees){0};
}

static bool are_right(const crn_disk_node *nodes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i].above > i || nodes[i].same > i)
            return false;
    return true;
}

const crn_disk_node *crn_tree_nodes(const crn_trees *trees, uint32_t tree, uint64_t most,
                                    uint32_t *count)
{
    uint64_t words = trees->bytes.size / sizeof(crn_disk_tree);
    if (!tree || tree >= words)
        return NULL;
    const crn_disk_tree *head = (const crn_disk_tree *)(const void *)trees->bytes.data + tree;
    const crn_disk_node *nodes = (const crn_disk_node *)(head + 1);
    if (!head->count || head->count > words - tree - 1 || head->count > most ||
        !are_right(nodes, head->count))
        return NULL;
    *count = head->count;
    return nodes;
}

/* ---- counters ---- */

typedef struct visiting {
    const crn_trees *trees;
    crn_counts_visitor *visit;
    void *data;
    bool *whole;
} visiting;

static bool visit_group(const visiting *visiting, const char *bytes, uint64_t size)
{
    for (uint64_t at = 0; at + sizeof(crn_disk_counts) <= size;) {
        const crn_disk_counts *counts = (const crn_disk_counts *)(const void *)(bytes + at);
        if (!counts->tree)
            return true;
        uint32_t count;
        at += sizeof *counts;
        uint64_t most = (size - at) / sizeof(uint64_t);
        const crn_disk_node *nodes = crn_tree_nodes(visiting->trees, counts->tree, most, &count);
        if (!nodes) {
            *visiting->whole = false;
            return true;
        }
        const uint64_t *counters = (const uint64_t *)(counts + 1);
        if (counts->record &&
            !visiting->visit(visiting->data, counts->record, nodes, counters, count))
            return false;
        at += count * sizeof(uint64_t);
    }
    return true;
}

bool crn_counts_visit(const crn_trees *trees, uint32_t lane, crn_counts_visitor *visit, void *data,
                      bool *whole)
{
    visiting visiting = {trees, visit, data, whole};
    size_t at = CRN_BELOW(trees->groups, trees->group_count, lane, lane);
    for (; at < trees->group_count && trees->groups[at].lane == lane; at++) {
        const crn_bytes *bytes = &trees->groups[at].bytes;
        if (!bytes->data)
            *whole = false;
        else if (!visit_group(&visiting, bytes->data, bytes->size))
            return false;
    }
    return true;
}

/* ---- into a graph ---- */

static uint64_t calls_of(const crn_disk_node *nodes, const uint64_t *counters, uint32_t node)
{
    uint32_t same = nodes[node].same;
    return counters[same ? same - 1 : node];
}

/* Returns, by node, 1 if the node or a descendant has calls: other nodes get no context. Returns
 * NULL if out of memory. */
static uint32_t *nodes_called(const crn_disk_node *nodes, const uint64_t *counters, uint32_t count)
{
    uint32_t *called = crn_try_calloc(count, sizeof *called);
    for (uint32_t i = count; called && i-- > 0;) {
        if (calls_of(nodes, counters, i))
            called[i] = 1;
        if (called[i] && nodes[i].above)
            called[nodes[i].above - 1] = 1;
    }
    return called;
}

bool crn_counts_add(crn_graph *graph, uint32_t record, const crn_disk_node *nodes,
                    const uint64_t *counters, uint32_t count)
{
    uint32_t *records = nodes_called(nodes, counters, count);
    if (!records)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!records[i])
            continue;
        uint32_t above = nodes[i].above ? records[nodes[i].above - 1] : record;
        records[i] = crn_graph_append(graph, above, nodes[i].block);
        crn_graph_record(graph, records[i])->calls += calls_of(nodes, counters, i);
    }
    crn_free(records);
    return true;
}
