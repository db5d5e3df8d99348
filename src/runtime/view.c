/* SPDX-License-Identifier: MIT
 *
 * Queries on a snapshot of the profile's own capture.
 */
#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "runtime/runtime.h"
#include "snapshot/snapshot.h"

struct cairn_view {
    crn_snapshot snapshot;
    cairn_block_info *blocks;
    cairn_cost *costs; /* by number of the context */
    cairn_block *path; /* path of the visited context */
    uint32_t *loaded;  /* the path's length, then the record of each of its contexts */
    uint32_t path_room;
};

static void add_costs(cairn_view *view)
{
    const crn_records *records = &view->snapshot.records;
    const uint64_t *cpu = view->snapshot.columns[CAIRN_METRIC_CPU];
    for (uint32_t r = CRN_RECORD_ROOT; r < records->used; r++) {
        cairn_cost *cost = &view->costs[records->numbers[r]];
        cost->calls += records->hot[r].calls;
        cost->ticks += records->hot[r].ticks;
        cost->wall += records->links[r].wall;
        cost->cpu += cpu ? cpu[r] : 0;
    }
    for (uint32_t c = 0; c < records->context_count; c++) {
        double ns = (double)view->costs[c].wall * view->snapshot.clock_scale;
        view->costs[c].wall = (uint64_t)(ns + 0.5);
        uint32_t depth = records->links[records->contexts[c]].depth;
        if (depth > view->path_room)
            view->path_room = depth;
    }
}

static void add_blocks(cairn_view *view)
{
    for (uint32_t b = 0; b < view->snapshot.block_count; b++) {
        const crn_disk_block *block = &view->snapshot.blocks[b];
        view->blocks[b] =
            (cairn_block_info){.name = crn_snapshot_string(&view->snapshot, block->name),
                               .file = crn_snapshot_string(&view->snapshot, block->file),
                               .line = block->line,
                               .column = block->column,
                               .parent = block->parent,
                               .flags = block->flags};
    }
}

static cairn_error fill(cairn_view *view, cairn_profile *profile)
{
    crn_reader reader;
    crn_error error;
    if (!crn_profile_is_ready(profile))
        return cairn_profile_status(profile);
    if (!crn_reader_open_file(&reader, crn_capture_file(&profile->capture), "the capture", &error))
        return (cairn_error)error.code;
    bool taken = crn_snapshot_take(&view->snapshot, &reader, true, &error);
    reader.file = -1; /* the profile keeps the file open */
    crn_reader_close(&reader);
    if (!taken)
        return (cairn_error)error.code;
    view->costs = crn_try_calloc(view->snapshot.records.context_count, sizeof *view->costs);
    view->blocks = crn_try_calloc(view->snapshot.block_count, sizeof *view->blocks);
    if (!view->costs || !view->blocks)
        return CAIRN_E_MEMORY;
    add_costs(view);
    add_blocks(view);
    view->path = crn_try_calloc(view->path_room, sizeof *view->path);
    view->loaded = crn_try_calloc((size_t)view->path_room + 1, sizeof *view->loaded);
    return view->path && view->loaded ? CAIRN_OK : CAIRN_E_MEMORY;
}

cairn_error cairn_view_open(cairn_view **view, cairn_profile *profile)
{
    if (!view)
        return CAIRN_E_ARGUMENT;
    *view = NULL;
    if (!profile)
        return CAIRN_E_ARGUMENT;
    int saved = errno, cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    cairn_view *opened = crn_try_calloc(1, sizeof *opened);
    cairn_error error = opened ? fill(opened, profile) : CAIRN_E_MEMORY;
    pthread_setcancelstate(cancelling, NULL);
    if (error)
        cairn_view_close(opened);
    else
        *view = opened;
    errno = saved;
    return error;
}

void cairn_view_close(cairn_view *view)
{
    if (!view)
        return;
    crn_snapshot_free(&view->snapshot);
    crn_free(view->blocks);
    crn_free(view->costs);
    crn_free(view->path);
    crn_free(view->loaded);
    crn_free(view);
}

const cairn_block_info *cairn_view_block(const cairn_view *view, cairn_block block)
{
    return view && block < view->snapshot.block_count ? &view->blocks[block] : NULL;
}

/* Changes the path to that of a context, and returns its length. What it has in common with the
 * path before it stays: contexts are visited in the order in which they were made, mostly a callee
 * after its caller, and whole paths of a deep recursion would take quadratic time. */
static size_t load_path(const cairn_view *view, uint32_t context)
{
    const crn_records *records = &view->snapshot.records;
    uint32_t length = records->links[context].depth, before = view->loaded[0];
    for (uint32_t at = length; at && (at > before || view->loaded[at] != context); at--) {
        view->path[at - 1] = records->links[context].block;
        view->loaded[at] = context;
        context = records->links[context].from;
    }
    view->loaded[0] = length;
    return length;
}

void cairn_view_contexts(const cairn_view *view, cairn_context_visitor *visit, void *data)
{
    if (!view || !visit)
        return;
    const crn_records *records = &view->snapshot.records;
    for (uint32_t c = 0; c < records->context_count; c++) {
        size_t length = load_path(view, records->contexts[c]);
        if (!visit(data, view->path, length, &view->costs[c]))
            return;
    }
}

void cairn_view_edges(const cairn_view *view, cairn_edge_visitor *visit, void *data)
{
    if (!view || !visit)
        return;
    const crn_records *records = &view->snapshot.records;
    for (uint32_t r = CRN_RECORD_ROOT + 1; r < records->used; r++) {
        const crn_link *link = &records->links[r];
        size_t length = load_path(view, link->from);
        if (!visit(data, view->path, length, link->block, records->links[link->target].depth,
                   records->hot[r].calls))
            return;
    }
}

bool cairn_view_find(const cairn_view *view, const cairn_block *sequence, size_t length,
                     cairn_cost *cost)
{
    if (!view || (!sequence && length))
        return false;
    const crn_graph *graph = &view->snapshot.graph;
    uint32_t context = CRN_RECORD_ROOT;
    for (size_t i = 0; i < length; i++) {
        uint32_t record = crn_graph_find(graph, context, sequence[i]);
        if (!record)
            return false;
        context = crn_graph_target(graph, record);
    }
    if (cost)
        *cost = view->costs[view->snapshot.records.numbers[context]];
    return true;
}

/* Returns true if the path of `context` ends with `sequence`. */
static bool ends_in(const crn_records *records, uint32_t context, const cairn_block *sequence,
                    size_t length)
{
    for (; length; length--) {
        if (!context || records->links[context].block != sequence[length - 1])
            return false;
        context = records->links[context].from;
    }
    return true;
}

uint64_t cairn_view_calls(const cairn_view *view, const cairn_block *sequence, size_t length)
{
    if (!view || !sequence || !length)
        return 0;
    const crn_records *records = &view->snapshot.records;
    uint64_t calls = 0;
    for (uint32_t r = CRN_RECORD_ROOT; r < records->used; r++)
        if (records->links[r].block == sequence[length - 1] &&
            ends_in(records, records->links[r].from, sequence, length - 1))
            calls += records->hot[r].calls;
    return calls;
}
