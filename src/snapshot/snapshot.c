/* SPDX-License-Identifier: MIT */
#include "snapshot/snapshot.h"

#include <string.h>

#include "base/memory.h"
#include "snapshot/counts.h"
#include "snapshot/promises.h"

const char *crn_snapshot_string(const crn_snapshot *snapshot, uint32_t offset)
{
    return crn_string_at(&snapshot->strings, offset);
}

void crn_snapshot_free(crn_snapshot *snapshot)
{
    crn_free(snapshot->strings.data);
    crn_free(snapshot->blocks);
    crn_free(snapshot->metrics);
    crn_free(snapshot->notes);
    crn_records_free(&snapshot->records);
    for (int i = 0; i < (int)CAIRN_METRIC_MAX; i++)
        crn_free(snapshot->columns[i]);
    crn_graph_free_memory(&snapshot->graph);
    crn_free(snapshot->links.data);
    crn_free(snapshot->hot.data);
    *snapshot = (crn_snapshot){0};
}

void crn_snapshot_free_links(crn_snapshot *snapshot)
{
    crn_graph_close(&snapshot->graph);
    crn_free(snapshot->graph.links);
    crn_free(snapshot->links.data);
    crn_free(snapshot->records.contexts);
    snapshot->graph.links = NULL;
    snapshot->links.data = NULL;
    snapshot->records.links = NULL;
    snapshot->records.contexts = NULL;
}

void crn_snapshot_free_hot(crn_snapshot *snapshot)
{
    crn_free(snapshot->graph.hot.base);
    crn_free(snapshot->hot.data);
    snapshot->graph.hot.base = NULL;
    snapshot->hot.data = NULL;
    snapshot->records.hot = NULL;
}

static bool no_memory(crn_error *error)
{
    return crn_error_set(error, CAIRN_E_MEMORY, "no memory left to read it");
}

/* Reads a section that exists once, up to its used bytes. */
static bool read_table(crn_snapshot *snapshot, const crn_reader *reader, crn_section_kind kind,
                       crn_bytes *bytes, crn_error *error)
{
    if (!crn_reader_section(reader, kind, 0, 0, reader->header.used[kind], bytes, error))
        return false;
    snapshot->damaged |= !bytes->whole;
    return true;
}

static bool read_tables(crn_snapshot *snapshot, const crn_reader *reader, crn_error *error)
{
    crn_bytes blocks = {0}, metrics = {0}, notes = {0};
    bool read = read_table(snapshot, reader, CRN_SECTION_STRINGS, &snapshot->strings, error) &&
                read_table(snapshot, reader, CRN_SECTION_BLOCKS, &blocks, error) &&
                read_table(snapshot, reader, CRN_SECTION_METRICS, &metrics, error) &&
                read_table(snapshot, reader, CRN_SECTION_NOTES, &notes, error);
    snapshot->blocks = (crn_disk_block *)blocks.data;
    snapshot->metrics = (crn_disk_metric *)metrics.data;
    snapshot->notes = (crn_disk_note *)notes.data;
    snapshot->block_count = (uint32_t)(blocks.size / sizeof *snapshot->blocks);
    snapshot->metric_count = (uint32_t)(metrics.size / sizeof *snapshot->metrics);
    snapshot->note_count = (uint32_t)(notes.size / sizeof *snapshot->notes);
    return read;
}

/* ---- lanes ---- */

/* A copy of a lane's column. */
typedef struct column {
    struct column *next;
    cairn_metric metric;
    crn_bytes bytes;
} column;

/* The header of a lane, as read before the sections of all lanes. */
typedef struct lane_header {
    uint32_t number;
    bool whole;
    crn_disk_lane disk;
    column *columns; /* of the host's metrics, in a live capture */
} lane_header;

typedef struct lane_headers {
    lane_header *all;
    size_t count;
    bool copied; /* the columns are copied */
} lane_headers;

static void free_headers(lane_headers *headers)
{
    for (size_t i = 0; i < headers->count; i++)
        for (column *next, *at = headers->all[i].columns; at; at = next) {
            next = at->next;
            crn_free(at->bytes.data);
            crn_free(at);
        }
    crn_free(headers->all);
}

static bool read_headers(lane_headers *headers, crn_reader *reader, crn_error *error)
{
    *headers = (lane_headers){0};
    for (uint32_t number = 0; crn_reader_lane(reader, &number); number++) {
        if ((headers->count & (headers->count - 1)) == 0) { /* full: its size is a power of two */
            size_t room = headers->count ? headers->count * 2 : 1;
            lane_header *all = crn_try_realloc(headers->all, room, sizeof *all);
            if (!all)
                return no_memory(error);
            headers->all = all;
        }
        lane_header *header = &headers->all[headers->count++];
        *header = (lane_header){.number = number};
        if (!crn_promises_header(reader, number, &header->disk, &header->whole, error))
            return false;
        if (number == UINT32_MAX)
            break;
    }
    return true;
}

static bool copy_column(crn_snapshot *snapshot, crn_reader *reader, lane_header *header,
                        cairn_metric metric, crn_error *error)
{
    column *made = crn_try_calloc(1, sizeof *made);
    if (!made)
        return no_memory(error);
    made->metric = metric;
    made->next = header->columns;
    header->columns = made;
    uint64_t used = header->disk.used < UINT32_MAX ? header->disk.used : UINT32_MAX;
    return crn_reader_lane_section(reader, CRN_SECTION_COLUMN, header->number, (uint16_t)metric,
                                   used * sizeof(uint64_t), &snapshot->left, &made->bytes, error);
}

/* Copies the columns of the host's metrics of a live capture, of the metrics that were added last
 * first. A host adds a metric after those that it is a part of: what is freed after what is
 * allocated. Allocations of a lane may be freed in another, so a metric is read of all lanes before
 * the next. */
static bool copy_columns(crn_snapshot *snapshot, crn_reader *reader, lane_headers *headers,
                         crn_error *error)
{
    headers->copied = reader->header.state == CRN_STATE_RECORDING;
    for (cairn_metric m = CAIRN_METRIC_MAX; headers->copied && m-- > CAIRN_METRIC_USER;)
        for (size_t i = 0; i < headers->count; i++) {
            lane_header *header = &headers->all[i];
            if (crn_reader_size(reader, CRN_SECTION_COLUMN, header->number, (uint16_t)m) &&
                !copy_column(snapshot, reader, header, m, error))
                return false;
        }
    return true;
}

typedef struct lane {
    column *columns; /* as in lane_header */
    bool copied;     /* all columns of the host's metrics are there */
    uint32_t number;
    crn_disk_lane disk; /* the header as read before the sections */
    bool old; /* the lane has an older generation than the capture: its figures count as 0 */
    crn_bytes links, hot;
    crn_records records;
    uint32_t *map; /* maps the lane's contexts to records of the snapshot's graph */
} lane;

static void free_lane(lane *lane)
{
    crn_free(lane->links.data);
    crn_free(lane->hot.data);
    crn_records_free(&lane->records);
    crn_free(lane->map);
}

static void add_statistics(crn_snapshot *snapshot, const crn_disk_lane *disk)
{
    snapshot->lanes++;
    snapshot->strands += disk->strands;
    snapshot->misuses += disk->misuses;
    snapshot->dropped += disk->dropped;
    snapshot->samples += disk->samples;
    snapshot->tick_samples += disk->tick_samples;
    snapshot->spans_dropped += disk->spans_dropped;
    snapshot->spans_limited += disk->spans_limited;
    snapshot->spans_late += disk->spans_late;
    snapshot->spans_recycled += disk->spans_recycled;
    snapshot->spans_skipped += disk->spans_skipped;
    snapshot->cpu_samples += disk->cpu_samples;
    snapshot->wall_squares += disk->wall_squares;
    snapshot->cpu_squares += disk->cpu_squares;
    if (!disk->open)
        return;
    const crn_disk_header *header = &snapshot->header;
    uint64_t now = header->last[header->moments & 1].clock;
    snapshot->open_lanes++;
    uint64_t charged = crn_promises_clock(disk);
    if (header->wall != CAIRN_WALL_OFF && charged >= header->first.clock && charged < now)
        snapshot->unaccounted += now - charged;
}

/* Clears the statistics of a lane that lags behind a reset, as the lane's thread will at its next
 * event. */
static void forget_statistics(crn_disk_lane *disk)
{
    *disk = (crn_disk_lane){.used = disk->used, .name = disk->name, .open = disk->open};
}

static void forget_figures(lane *lane, uint64_t records)
{
    crn_link *links = (crn_link *)(lane->links.data + sizeof(crn_disk_lane));
    cairn_priv_record *hot = (cairn_priv_record *)lane->hot.data;
    for (uint64_t r = 0; r < records; r++)
        links[r].wall = hot[r].calls = hot[r].ticks = 0;
}

/* Reads a lane, with the records that have both a link and a hot record. A lane with a truncated
 * header gets no records. Returns false on an error. */
static bool read_lane(crn_snapshot *snapshot, crn_reader *reader, const lane_headers *headers,
                      size_t index, lane *lane, crn_error *error)
{
    const lane_header *header = &headers->all[index];
    uint32_t number = header->number;
    *lane = (struct lane){.number = number,
                          .disk = header->disk,
                          .columns = header->columns,
                          .copied = headers->copied};
    crn_disk_lane disk = header->disk;
    if (!header->whole) {
        snapshot->damaged = true;
        return true;
    }
    if (!disk.used) /* there was no space even for a root: the lane never ran */
        return true;
    lane->old = disk.generation != snapshot->header.generation;
    if (lane->old)
        forget_statistics(&disk);
    add_statistics(snapshot, &disk);
    uint64_t used = disk.used < UINT32_MAX ? disk.used : UINT32_MAX;
    if (!crn_reader_lane_section(reader, CRN_SECTION_LANE, number, 0,
                                 sizeof disk + used * sizeof(crn_link), &snapshot->left,
                                 &lane->links, error) ||
        !crn_reader_records(reader, number, used, &snapshot->left, &lane->hot, error))
        return false;
    uint64_t bytes = lane->links.size; /* fewer than the header if the file was cut meanwhile */
    uint64_t links = bytes < sizeof disk ? 0 : (bytes - sizeof disk) / sizeof(crn_link);
    uint64_t hot = lane->hot.size / sizeof(cairn_priv_record);
    uint64_t there = links < hot ? links : hot;
    crn_link *first = (crn_link *)(lane->links.data + sizeof disk);
    if (lane->old)
        forget_figures(lane, there);
    else if (!crn_promises_add(reader, number, &disk, CAIRN_METRIC_WALL, &first->wall,
                               sizeof *first / sizeof first->wall, there, error))
        return false;
    if (!crn_records_scan(&lane->records, (cairn_priv_record *)lane->hot.data,
                          (crn_link *)(lane->links.data + sizeof disk), (uint32_t)there))
        return no_memory(error);
    snapshot->damaged |= !lane->records.whole || there < used;
    return true;
}

/* Moves a column's copy, as far as the lane has records. */
static void take_copy(const lane *lane, cairn_metric metric, crn_bytes *bytes)
{
    for (column *at = lane->columns; at; at = at->next)
        if (at->metric == metric) {
            *bytes = at->bytes;
            at->bytes = (crn_bytes){0};
        }
    uint64_t most = lane->records.used * sizeof(uint64_t);
    bytes->size = bytes->size < most ? bytes->size : most;
}

/* Reads a metric column of a lane, by record; empty if the lane lacks it. */
static bool read_column(crn_snapshot *snapshot, crn_reader *reader, const lane *lane,
                        uint16_t metric, crn_bytes *bytes, crn_error *error)
{
    *bytes = (crn_bytes){0};
    if (lane->old)
        return true;
    if (lane->copied && metric >= CAIRN_METRIC_USER) {
        take_copy(lane, metric, bytes);
        return true;
    }
    if (!crn_reader_lane_section(reader, CRN_SECTION_COLUMN, lane->number, metric,
                                 lane->records.used * sizeof(uint64_t), &snapshot->left, bytes,
                                 error))
        return false;
    if (metric != CAIRN_METRIC_CPU || lane->disk.used == 0)
        return true;
    if (crn_promises_add(reader, lane->number, &lane->disk, metric, (uint64_t *)bytes->data, 1,
                         bytes->size / sizeof(uint64_t), error))
        return true;
    crn_free(bytes->data);
    return false;
}

static bool merge_columns(crn_snapshot *snapshot, crn_reader *reader, const lane *lane,
                          uint64_t *capacity, crn_error *error)
{
    for (cairn_metric m = CAIRN_METRIC_CPU; m < CAIRN_METRIC_MAX; m++) {
        crn_bytes bytes;
        if (!read_column(snapshot, reader, lane, (uint16_t)m, &bytes, error))
            return false;
        uint64_t count = bytes.size / sizeof(uint64_t);
        if (count && capacity[m] < snapshot->graph.used) {
            uint64_t *grown =
                crn_try_realloc(snapshot->columns[m], snapshot->graph.used, sizeof *grown);
            if (!grown) {
                crn_free(bytes.data);
                return no_memory(error);
            }
            memset(grown + capacity[m], 0, (snapshot->graph.used - capacity[m]) * sizeof *grown);
            snapshot->columns[m] = grown;
            capacity[m] = snapshot->graph.used;
        }
        for (uint32_t r = CRN_RECORD_ROOT; r < lane->records.used && r < count; r++)
            snapshot->columns[m][lane->map[lane->records.numbers[r]]] +=
                ((uint64_t *)bytes.data)[r];
        crn_free(bytes.data);
    }
    return true;
}

typedef struct adding {
    crn_snapshot *snapshot;
    const lane *lane;
} adding;

static bool add_counts(void *data, uint32_t record, const crn_disk_node *nodes,
                       const uint64_t *counters, uint32_t count)
{
    const adding *adding = data;
    const crn_records *records = &adding->lane->records;
    if (record >= records->used) {
        adding->snapshot->damaged = true;
        return true;
    }
    return crn_counts_add(&adding->snapshot->graph, adding->lane->map[records->numbers[record]],
                          nodes, counters, count);
}

/* Adds the calls of inlined functions, with contexts of paths up to the capture's path limit. */
static bool merge_counts(crn_snapshot *snapshot, const lane *lane, const crn_trees *trees,
                         crn_error *error)
{
    enum { PATH_LEAST = 4, PATH_MOST = 1 << 16 /* a search for a cycle walks the whole path */ };
    uint32_t limit = snapshot->header.path_limit;
    bool whole = true;
    if (lane->old || !trees->bytes.size || !lane->records.context_count)
        return true;
    snapshot->graph.path_limit = limit < PATH_LEAST  ? PATH_LEAST
                                 : limit > PATH_MOST ? PATH_MOST
                                                     : limit;
    bool added =
        crn_counts_visit(trees, lane->number, add_counts, &(adding){snapshot, lane}, &whole);
    snapshot->graph.path_limit = UINT32_MAX;
    snapshot->damaged |= !whole;
    return (added && !snapshot->graph.full) || no_memory(error);
}

static bool merge_lane(crn_snapshot *snapshot, crn_reader *reader, lane *lane,
                       const crn_trees *trees, uint64_t *capacity, crn_error *error)
{
    lane->map = crn_try_calloc(lane->records.context_count, sizeof *lane->map);
    if (!lane->map)
        return no_memory(error);
    crn_records_merge(&lane->records, &snapshot->graph, lane->map);
    if (snapshot->graph.full)
        return no_memory(error);
    return merge_counts(snapshot, lane, trees, error) &&
           merge_columns(snapshot, reader, lane, capacity, error);
}

/* Merges all lanes into the snapshot's own graph. */
static bool merge_lanes(crn_snapshot *snapshot, crn_reader *reader, const lane_headers *headers,
                        const crn_trees *trees, crn_error *error)
{
    uint64_t capacity[CAIRN_METRIC_MAX] = {0};
    snapshot->graph = (crn_graph){.grow = crn_graph_grow_memory,
                                  .path_limit = UINT32_MAX,
                                  .context_budget = UINT32_MAX,
                                  .alias_budget = UINT32_MAX};
    if (!crn_graph_open(&snapshot->graph))
        return no_memory(error);
    for (size_t i = 0; i < headers->count; i++) {
        lane lane;
        bool merged = read_lane(snapshot, reader, headers, i, &lane, error) &&
                      merge_lane(snapshot, reader, &lane, trees, capacity, error);
        free_lane(&lane);
        if (!merged)
            return false;
    }
    for (int m = 0; m < (int)CAIRN_METRIC_MAX; m++) { /* lengthens columns for contexts added
                                                         later */
        if (!snapshot->columns[m])
            continue;
        uint64_t *grown =
            crn_try_realloc(snapshot->columns[m], snapshot->graph.used, sizeof *grown);
        if (!grown)
            return no_memory(error);
        memset(grown + capacity[m], 0, (snapshot->graph.used - capacity[m]) * sizeof *grown);
        snapshot->columns[m] = grown;
    }
    return crn_records_scan(&snapshot->records, (cairn_priv_record *)snapshot->graph.hot.base,
                            snapshot->graph.links, snapshot->graph.used) ||
           no_memory(error);
}

/* Takes the only lane without merging it. */
static bool take_lane(crn_snapshot *snapshot, crn_reader *reader, const lane_headers *headers,
                      crn_error *error)
{
    lane lane;
    bool taken = read_lane(snapshot, reader, headers, 0, &lane, error);
    for (uint16_t m = CAIRN_METRIC_CPU; taken && m < CAIRN_METRIC_MAX; m++) {
        crn_bytes bytes;
        taken = read_column(snapshot, reader, &lane, m, &bytes, error);
        if (!taken || bytes.size < sizeof(uint64_t)) {
            if (taken)
                crn_free(bytes.data);
            continue;
        }
        snapshot->columns[m] = crn_try_calloc(lane.records.used, sizeof(uint64_t));
        if (snapshot->columns[m])
            memcpy(snapshot->columns[m], bytes.data, bytes.size / 8 * 8);
        else
            taken = no_memory(error);
        crn_free(bytes.data);
    }
    if (!taken) {
        free_lane(&lane);
        return false;
    }
    snapshot->links = lane.links;
    snapshot->hot = lane.hot;
    snapshot->records = lane.records;
    return true;
}

/* Takes the lanes: the only one as it is, unless it needs a graph, several merged. */
static bool take_lanes(crn_snapshot *snapshot, crn_reader *reader, const lane_headers *headers,
                       const crn_trees *trees, bool indexed, crn_error *error)
{
    indexed |= trees->bytes.size > 0; /* contexts of inlined functions need a graph */
    if (headers->count == 1 && !indexed) {
        crn_snapshot before = *snapshot;
        if (!take_lane(snapshot, reader, headers, error))
            return false;
        if (snapshot->records.context_count)
            return true;
        crn_snapshot_free(snapshot); /* the lane has no root: merging makes one */
        *snapshot = before;
    }
    return merge_lanes(snapshot, reader, headers, trees, error);
}

typedef struct taking {
    crn_snapshot *snapshot;
    crn_reader *reader;
    bool indexed;
} taking;

/* Reads counters before their trees, the lanes' headers before the chunks of their records, and the
 * lanes before the tables: see crn_reader_refresh. */
static bool take(void *data, uint64_t generation, crn_error *error)
{
    const taking *taking = data;
    crn_snapshot *snapshot = taking->snapshot;
    crn_reader *reader = taking->reader;
    crn_snapshot_free(snapshot);
    *snapshot = (crn_snapshot){.header = reader->header,
                               .clock_scale = crn_reader_clock_scale(reader),
                               .truncated = reader->truncated};
    snapshot->header.generation = generation;
    crn_trees trees;
    lane_headers headers = {0};
    bool taken = crn_trees_read(&trees, reader, error) && read_headers(&headers, reader, error) &&
                 crn_reader_refresh(reader, error);
    snapshot->left = reader->file_size;
    taken = taken && copy_columns(snapshot, reader, &headers, error) &&
            take_lanes(snapshot, reader, &headers, &trees, taking->indexed, error) &&
            crn_reader_refresh(reader, error) && read_tables(snapshot, reader, error);
    free_headers(&headers);
    crn_trees_free(&trees);
    if (!taken)
        crn_snapshot_free(snapshot);
    return taken;
}

bool crn_snapshot_take(crn_snapshot *snapshot, crn_reader *reader, bool indexed, crn_error *error)
{
    *snapshot = (crn_snapshot){0};
    return crn_reader_in_generation(reader, take, &(taking){snapshot, reader, indexed}, error);
}
