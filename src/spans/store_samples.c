/* SPDX-License-Identifier: MIT
 *
 * Reads the samples of lanes when a store is opened.
 */
#include <string.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "graph/records.h"
#include "spans/store_opening.h"

/* A lane's contexts, which samples name by record number. */
struct crn_sampled_graph {
    crn_bytes bytes;
    const crn_link *links;
    uint64_t used;
    uint32_t *paths; /* by record: its path + 1; 0: not looked up yet */
};

static void graph_free(crn_sampled_graph *graph)
{
    crn_free(graph->bytes.data);
    crn_free(graph->paths);
    *graph = (crn_sampled_graph){0};
}

/* Reads the contexts of lane `number`. Returns false on an error. */
static bool graph_read(crn_store_opening *opening, uint32_t number, crn_sampled_graph *graph)
{
    if (!crn_reader_lane_section(opening->reader, CRN_SECTION_LANE, number, 0, UINT64_MAX,
                                 &opening->left, &graph->bytes, opening->error))
        return false;
    crn_disk_lane disk = {0};
    uint64_t size = graph->bytes.size;
    memcpy(&disk, graph->bytes.data, size < sizeof disk ? size : sizeof disk);
    uint64_t there = size > sizeof disk ? (size - sizeof disk) / sizeof(crn_link) : 0;
    graph->links = (const crn_link *)(const void *)(graph->bytes.data + sizeof disk);
    graph->used = disk.used < there ? disk.used : there;
    graph->paths = crn_calloc(graph->used + 1, sizeof *graph->paths);
    return true;
}

/* Returns the context of a record; 0 if the record is invalid or the root's. A valid context's
 * caller precedes it. */
static uint32_t context_of(const crn_sampled_graph *graph, uint32_t record)
{
    if (record <= CRN_RECORD_ROOT || record >= graph->used)
        return 0;
    uint32_t context = graph->links[record].target;
    bool valid = context > CRN_RECORD_ROOT && context <= record &&
                 graph->links[context].target == context && graph->links[context].from < context;
    return valid ? context : 0;
}

/* Returns the path of a record, without [folded]. */
static uint32_t path_of(crn_store_opening *opening, crn_sampled_graph *graph, uint32_t record)
{
    uint32_t length = 0, path = CRN_PATH_NONE;
    uint32_t context = context_of(graph, record), last = context;
    while (context && !graph->paths[context]) {
        CRN_GROW(opening->climb, length, opening->climb_room);
        opening->climb[length++] = context;
        context = context_of(graph, graph->links[context].from);
    }
    if (context)
        path = graph->paths[context] - 1;
    while (length) {
        context = opening->climb[--length];
        uint32_t block = graph->links[context].block;
        if (block != CAIRN_BLOCK_FOLDED)
            path = crn_samples_path(&opening->samples, path, block);
        graph->paths[context] = path + 1;
    }
    return last ? path : CRN_PATH_NONE;
}

static void add(crn_store_opening *opening, crn_sampled_graph *graph, uint32_t lane,
                const crn_disk_sample *disk)
{
    if (!disk->record) {
        crn_samples_change(
            &opening->samples,
            &(crn_thread_change){crn_store_monotonic(opening, disk->at), lane, disk->cpu});
        return;
    }
    crn_sample sample = {.at = crn_store_monotonic(opening, disk->at),
                         .cpu = disk->cpu,
                         .lane = lane,
                         .path = path_of(opening, graph, disk->record)};
    crn_samples_add(&opening->samples, &sample);
}

/* Returns the lane's graph, or the first lane's if the lane's is empty. NULL on an error. */
static crn_sampled_graph *graph_of(crn_store_opening *opening, uint32_t lane,
                                   crn_sampled_graph *own)
{
    const uint32_t *numbers = opening->store->lane_numbers;
    if (lane && !graph_read(opening, numbers[lane], own))
        return NULL;
    if (own->used)
        return own;
    if (!opening->first_graph) {
        opening->first_graph = crn_calloc(1, sizeof *opening->first_graph);
        if (!graph_read(opening, numbers[0], opening->first_graph))
            return NULL;
    }
    return opening->first_graph;
}

bool crn_store_read_samples(crn_store_opening *opening, uint32_t lane)
{
    const crn_lane_details *details = crn_store_details_of(opening, lane);
    if (!details || !details->samples.count)
        return true;
    const crn_parts *parts = &details->samples;
    crn_sampled_graph own = {0}, *graph = graph_of(opening, lane, &own);
    for (uint64_t i = 0; graph && i < parts->count; i++) {
        const crn_disk_sample *samples = (const void *)parts->parts[i].data;
        uint64_t at = 0;
        while (at < parts->parts[i].count && __atomic_load_n(&samples[at].at, __ATOMIC_ACQUIRE)) {
            add(opening, graph, lane, &samples[at++]);
            crn_store_touch(opening->store, sizeof *samples);
        }
        if (at < parts->parts[i].count)
            break;
    }
    graph_free(&own);
    return graph != NULL;
}

void crn_store_samples_end(crn_store_opening *opening)
{
    crn_samples_end(&opening->samples);
    if (opening->first_graph)
        graph_free(opening->first_graph);
    crn_free(opening->first_graph);
    crn_free(opening->climb);
    opening->first_graph = NULL;
    opening->climb = NULL;
}
