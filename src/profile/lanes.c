/* SPDX-License-Identifier: MIT */
#include "profile/lanes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "capture/reader.h"
#include "graph/graph.h"
#include "snapshot/counts.h"
#include "snapshot/promises.h"

/* ---- lanes ---- */

/* Returns the wall time since the lane's last charge, which a waiting thread has not charged yet,
 * in units of the capture's clock. 0 if wall time is off or no thread uses the lane. */
static uint64_t pending(const crn_disk_header *header, const crn_disk_lane *disk)
{
    uint64_t now = header->last[header->moments & 1].clock;
    bool counts = disk->open && header->wall != CAIRN_WALL_OFF;
    return counts && disk->stamp >= header->first.clock && disk->stamp < now ? now - disk->stamp
                                                                             : 0;
}

/* Returns the lane's current record as last published: that of its newest promise, which the
 * sampler writes if the lane has no event for long; without a promise, the thread's own. */
static uint64_t record_of(const crn_disk_lane *disk)
{
    return disk->promises[1].clock   ? disk->promises[1].record
           : disk->promises[0].clock ? disk->promises[0].record
                                     : disk->current;
}

static void add_links(crn_lane_info *info, const crn_disk_header *header, const crn_disk_lane *disk,
                      const crn_bytes *bytes, double scale)
{
    const crn_link *links = (const crn_link *)(bytes->data + sizeof *disk);
    uint64_t count = bytes->size < sizeof *disk ? 0 : (bytes->size - sizeof *disk) / sizeof *links;
    for (uint64_t r = CRN_RECORD_ROOT; r < count; r++)
        info->wall += links[r].wall;
    info->wall = crn_clock_time(info->wall + pending(header, disk), scale);
    uint64_t record = record_of(disk);
    info->current = record < count ? links[record].block : 0;
}

static void add_records(crn_lane_info *info, const crn_bytes *bytes)
{
    const cairn_priv_record *records = (const cairn_priv_record *)bytes->data;
    for (uint64_t r = CRN_RECORD_ROOT; r < bytes->size / sizeof *records; r++) {
        info->calls += records[r].calls;
        info->ticks += records[r].ticks;
    }
}

static void add_column(crn_lane_info *info, const crn_bytes *bytes)
{
    for (uint64_t r = CRN_RECORD_ROOT; r < bytes->size / sizeof(uint64_t); r++)
        info->cpu += ((const uint64_t *)bytes->data)[r];
}

static bool add_counts(void *data, uint32_t record, const crn_disk_node *nodes,
                       const uint64_t *counters, uint32_t count)
{
    crn_lane_info *info = data;
    (void)record;
    (void)nodes;
    for (uint32_t i = 0; i < count; i++)
        info->calls += counters[i];
    return true;
}

/* Reads a capture's lanes. */
typedef struct reading {
    crn_lanes *lanes;
    crn_reader *reader;
    uint64_t generation;
    crn_trees trees;
    uint64_t left;   /* bytes that the remaining lanes may have, as no two share bytes */
    uint32_t *names; /* by lane: its name's offset into the strings */
    crn_error *error;
} reading;

static uint64_t used_of(const crn_disk_lane *disk)
{
    return disk->used < UINT32_MAX ? disk->used : UINT32_MAX;
}

/* Reads the links until no time is charged meanwhile. If the thread charges between header and
 * links, that time is in a link, and would be added again as pending time. Sets `*disk` to the
 * header of after the links. A thread that charges each time has hardly any pending time. */
static bool read_links(reading *reading, crn_disk_lane *disk, crn_lane_info *info)
{
    enum { TRIES = 20 };
    crn_reader *reader = reading->reader;
    crn_bytes bytes = {0};
    bool same = false, whole;
    for (int i = 0; i < TRIES && !same; i++) {
        uint64_t left = reading->left, settled = disk->settled;
        crn_free(bytes.data);
        if (!crn_reader_lane_section(reader, CRN_SECTION_LANE, info->number, 0,
                                     sizeof *disk + used_of(disk) * sizeof(crn_link), &left, &bytes,
                                     reading->error))
            return false;
        if (!crn_promises_header(reader, info->number, disk, &whole, reading->error)) {
            crn_free(bytes.data);
            return false;
        }
        same = disk->settled == settled;
    }
    reading->left -= bytes.size < reading->left ? bytes.size : reading->left;
    add_links(info, &reader->header, disk, &bytes, crn_reader_clock_scale(reader));
    crn_free(bytes.data);
    return true;
}

static bool read_sections(reading *reading, crn_disk_lane *disk, crn_lane_info *info)
{
    crn_bytes bytes;
    const crn_reader *reader = reading->reader;
    if (!read_links(reading, disk, info))
        return false;
    uint64_t used = used_of(disk);
    if (!crn_reader_records(reader, info->number, used, &reading->left, &bytes, reading->error))
        return false;
    add_records(info, &bytes);
    crn_free(bytes.data);
    if (!crn_reader_lane_section(reader, CRN_SECTION_COLUMN, info->number, CAIRN_METRIC_CPU,
                                 used * sizeof(uint64_t), &reading->left, &bytes, reading->error))
        return false;
    add_column(info, &bytes);
    crn_free(bytes.data);
    bool whole = true;
    return crn_counts_visit(&reading->trees, info->number, add_counts, info, &whole);
}

/* Reads one lane, or the complete part of a truncated one, and adds it if a thread has used it.
 * Returns false if the capture cannot be read. */
static bool read_lane(reading *reading, uint32_t number)
{
    crn_disk_lane disk;
    bool whole;
    if (!crn_promises_header(reading->reader, number, &disk, &whole, reading->error))
        return false;
    if (!whole || !disk.used)
        return true;
    crn_lane_info info = {.number = number, .open = disk.open};
    if (disk.generation == reading->generation) { /* otherwise its figures are of before a reset */
        info.strands = disk.strands;
        info.samples = disk.samples;
        if (!read_sections(reading, &disk, &info))
            return false;
    }
    crn_lanes *lanes = reading->lanes;
    size_t count = (size_t)lanes->count + 1;
    lanes->lanes = crn_realloc(lanes->lanes, count, sizeof *lanes->lanes);
    reading->names = crn_realloc(reading->names, count, sizeof *reading->names);
    reading->names[lanes->count] = disk.name;
    lanes->lanes[lanes->count++] = info;
    return true;
}

/* Reads the strings after the lanes, which refer to them. */
static bool read_names(reading *reading)
{
    crn_bytes strings;
    const crn_reader *reader = reading->reader;
    if (!crn_reader_refresh(reading->reader, reading->error) ||
        !crn_reader_section(reader, CRN_SECTION_STRINGS, 0, 0,
                            reader->header.used[CRN_SECTION_STRINGS], &strings, reading->error))
        return false;
    for (uint32_t l = 0; l < reading->lanes->count; l++) {
        char *name = reading->lanes->lanes[l].name;
        int most = (int)sizeof reading->lanes->lanes[l].name;
        snprintf(name, (size_t)most, "%.*s", most - 1, crn_string_at(&strings, reading->names[l]));
    }
    crn_free(strings.data);
    return true;
}

static bool read_lanes(void *data, uint64_t generation, crn_error *error)
{
    reading *reading = data;
    crn_lanes_free(reading->lanes);
    reading->generation = generation;
    reading->names = NULL;
    bool read = crn_trees_read(&reading->trees, reading->reader, error);
    reading->left = reading->reader->file_size;
    for (uint32_t number = 0; read && crn_reader_lane(reading->reader, &number); number++) {
        read = read_lane(reading, number);
        if (number == UINT32_MAX)
            break;
    }
    read = read && read_names(reading);
    crn_trees_free(&reading->trees);
    crn_free(reading->names);
    return read;
}

bool crn_lanes_load(crn_lanes *lanes, const char *path, crn_error *error)
{
    *lanes = (crn_lanes){0};
    crn_reader reader;
    if (!crn_reader_open(&reader, path, error))
        return false;
    reading reading = {.lanes = lanes, .reader = &reader, .error = error};
    bool read = crn_reader_in_generation(&reader, read_lanes, &reading, error);
    crn_reader_close(&reader);
    if (!read)
        crn_lanes_free(lanes);
    return read;
}

void crn_lanes_free(crn_lanes *lanes)
{
    crn_free(lanes->lanes);
    *lanes = (crn_lanes){0};
}

/* ---- processes ---- */

/* Returns 2 if the file is a capture of process `pid`, 1 if of another process (perhaps its
 * parent), 0 if it is no capture. */
static int rank(const char *path, long pid)
{
    crn_reader reader;
    crn_error ignored;
    if (!crn_reader_open(&reader, path, &ignored))
        return 0;
    bool own = (long)reader.header.process == pid;
    crn_reader_close(&reader);
    return own ? 2 : 1;
}

/* Returns the path in a line of /proc/PID/maps; NULL if the line is no shared mapping of a file. */
static char *shared_file(char *line)
{
    char *path = strchr(line, '/');
    char access[8] = "";
    if (!path || sscanf(line, "%*s %7s", access) != 1 || access[3] != 's')
        return NULL;
    path[strcspn(path, "\n")] = 0;
    return path;
}

char *crn_capture_of(long pid, crn_error *error)
{
    char name[64], *line = NULL, *found = NULL, *last = NULL;
    snprintf(name, sizeof name, "/proc/%ld/maps", pid);
    FILE *maps = fopen(name, "re");
    if (!maps) {
        crn_error_set(error, CAIRN_E_READ, "process %ld: %s", pid,
                      errno == ENOENT ? "there is no such process" : strerror(errno));
        return NULL;
    }
    int best = 0;
    size_t size = 0;
    while (getline(&line, &size, maps) >= 0) {
        char *path = shared_file(line);
        if (!path || (last && strcmp(path, last) == 0))
            continue;
        free(last);
        last = strdup(path);
        int how = rank(path, pid);
        if (how > best) {
            best = how;
            crn_free(found);
            found = crn_calloc(strlen(path) + 1, 1);
            strcpy(found, path);
        }
    }
    free(last);
    free(line);
    fclose(maps);
    if (!found)
        crn_error_set(error, CAIRN_E_READ,
                      "process %ld: writes no capture; start it with 'cairn run' or link libcairn",
                      pid);
    return found;
}
