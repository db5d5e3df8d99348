/* SPDX-License-Identifier: MIT
 *
 * Writes a closed capture of what was recorded so far, while the program goes on: reads the
 * profile's own file as any reader does, and writes what it read.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/search.h"
#include "capture/reader.h"
#include "capture/ring.h"
#include "runtime/runtime.h"
#include "snapshot/counts.h"
#include "snapshot/promises.h"

typedef struct copying {
    crn_reader reader;
    crn_capture capture;
    uint64_t generation;
    crn_trees trees;
    cairn_error error; /* first error of the reader or the new capture */
} copying;

/* Reads up to `most` bytes of a section; free them with crn_free. */
static crn_bytes take(copying *c, crn_section_kind kind, uint32_t lane, uint16_t metric,
                      uint64_t most)
{
    crn_bytes bytes = {0};
    crn_error error;
    if (!c->error && !crn_reader_section(&c->reader, kind, lane, metric, most, &bytes, &error))
        c->error = (cairn_error)error.code;
    return bytes;
}

static void put(copying *c, crn_section_kind kind, uint32_t lane, uint16_t metric,
                const void *bytes, uint64_t size)
{
    crn_section section;
    crn_section_open(&section, &c->capture, kind, metric, lane);
    if (!c->error && size)
        c->error = crn_section_grow(&section, size);
    if (!c->error && size)
        memcpy(section.base, bytes, size);
    crn_section_close(&section);
}

/* ---- lanes ---- */

/* Charges the lane's promises in the copy, because no owner will do it later. */
static void pay(copying *c, uint32_t lane, const crn_disk_lane *disk, cairn_metric metric,
                uint64_t *counters, size_t stride, uint64_t count)
{
    crn_error error;
    if (!c->error &&
        !crn_promises_add(&c->reader, lane, disk, metric, counters, stride, count, &error))
        c->error = (cairn_error)error.code;
}

static void copy_cpu(copying *c, uint32_t lane, const crn_disk_lane *disk)
{
    cairn_metric m = CAIRN_METRIC_CPU;
    crn_bytes column =
        take(c, CRN_SECTION_COLUMN, lane, (uint16_t)m, disk->used * sizeof(uint64_t));
    pay(c, lane, disk, m, (uint64_t *)column.data, 1, column.size / sizeof(uint64_t));
    put(c, CRN_SECTION_COLUMN, lane, (uint16_t)m, column.data, column.size);
    crn_free(column.data);
}

/* Returns true if the lane has carried out the last reset. */
static bool is_of_generation(copying *c, uint32_t lane)
{
    uint64_t generation;
    crn_error error;
    return crn_reader_word(&c->reader, CRN_SECTION_LANE, lane, 0,
                           offsetof(crn_disk_lane, generation), &generation, &error) &&
           generation == c->generation;
}

/* Copies the columns of the host's metrics, the last metric first and each of all lanes, so that
 * nothing is freed that was not allocated: see snapshot/snapshot.c. */
static void copy_columns(copying *c)
{
    for (cairn_metric m = CAIRN_METRIC_MAX; m-- > CAIRN_METRIC_USER;)
        for (uint32_t lane = 0; !c->error && crn_reader_lane(&c->reader, &lane); lane++) {
            if (!is_of_generation(c, lane))
                continue;
            crn_bytes column = take(c, CRN_SECTION_COLUMN, lane, (uint16_t)m, UINT64_MAX);
            put(c, CRN_SECTION_COLUMN, lane, (uint16_t)m, column.data, column.size);
            crn_free(column.data);
        }
}

/* Sets the copied figures to 0, of a lane that has not carried out the last reset yet. */
static void forget(crn_disk_lane *disk, uint64_t generation, char *links, char *records)
{
    *disk = (crn_disk_lane){.used = disk->used, .name = disk->name, .generation = generation};
    crn_link *link = (crn_link *)(links + sizeof *disk);
    cairn_priv_record *record = (cairn_priv_record *)records;
    for (uint64_t r = 0; r < disk->used; r++)
        link[r].wall = record[r].calls = record[r].ticks = 0;
}

/* Copies a whole section, such as spans, if the lane has it. */
static void copy_stream(copying *c, crn_section_kind kind, uint32_t lane)
{
    crn_bytes bytes = take(c, kind, lane, 0, c->reader.file_size);
    if (bytes.data && (kind == CRN_SECTION_SPAN_RING || kind == CRN_SECTION_DETAIL_RING))
        crn_ring_settle(&c->reader, kind, lane, &bytes);
    put(c, kind, lane, 0, bytes.data, bytes.size);
    crn_free(bytes.data);
}

/* Copies the moments of samples up to the first whose context the copy lacks: the program has made
 * it since the lane's header was read. Leaves out samples of earlier periods, but no change of
 * threads. `used`: number of the copy's next record. */
static void copy_samples(copying *c, uint32_t lane, uint64_t used)
{
    crn_bytes bytes = take(c, CRN_SECTION_SAMPLES, lane, 0, c->reader.file_size);
    crn_disk_sample *samples = (crn_disk_sample *)(void *)bytes.data;
    uint64_t most = bytes.size / sizeof *samples, count = 0;
    for (uint64_t i = 0; i < most && samples[i].at && samples[i].record < used; i++)
        if (!samples[i].record || samples[i].at >= c->reader.header.first.monotonic_ns)
            samples[count++] = samples[i];
    put(c, CRN_SECTION_SAMPLES, lane, 0, bytes.data, count * sizeof *samples);
    crn_free(bytes.data);
}

/* Copies the counters, which were read before the lane's header, so the copy has their records. */
static void put_counts(copying *c, uint32_t lane)
{
    const crn_trees *trees = &c->trees;
    size_t first = CRN_BELOW(trees->groups, trees->group_count, lane, lane);
    for (size_t at = first; at < trees->group_count && trees->groups[at].lane == lane; at++)
        put(c, CRN_SECTION_COUNTS, lane, (uint16_t)(at - first), trees->groups[at].bytes.data,
            trees->groups[at].bytes.size);
}

static void read_header(copying *c, uint32_t lane, crn_disk_lane *disk)
{
    crn_error error;
    bool whole;
    if (!crn_promises_header(&c->reader, lane, disk, &whole, &error))
        c->error = (cairn_error)error.code;
    else if (!whole)
        disk->used = 0;
}

/* Reads the counters and trees, and refreshes the reader. */
static bool read_trees(copying *c)
{
    crn_error error;
    if (crn_trees_read(&c->trees, &c->reader, &error))
        return true;
    c->error = (cairn_error)error.code;
    return false;
}

static crn_bytes take_records(copying *c, uint32_t lane, uint64_t used)
{
    crn_bytes bytes = {0};
    crn_error error;
    uint64_t left = UINT64_MAX;
    if (!c->error && !crn_reader_records(&c->reader, lane, used, &left, &bytes, &error))
        c->error = (cairn_error)error.code;
    return bytes;
}

/* Copies a lane, with as many records as it had when its header was read. */
static void copy_lane(copying *c, uint32_t lane)
{
    crn_disk_lane disk = {0};
    read_header(c, lane, &disk);
    if (c->error || !disk.used)
        return;
    crn_bytes links =
        take(c, CRN_SECTION_LANE, lane, 0, sizeof disk + disk.used * sizeof(crn_link));
    crn_bytes records = take_records(c, lane, disk.used);
    if (!c->error && links.size >= sizeof disk) {
        uint64_t whole = (links.size - sizeof disk) / sizeof(crn_link);
        uint64_t hot = records.size / sizeof(cairn_priv_record);
        disk.used = whole < hot ? whole : hot;
        bool old = disk.generation != c->generation;
        if (old)
            forget(&disk, c->generation, links.data, records.data);
        else
            pay(c, lane, &disk, CAIRN_METRIC_WALL, &((crn_link *)(links.data + sizeof disk))->wall,
                sizeof(crn_link) / sizeof(uint64_t), disk.used);
        crn_disk_lane copy = disk;
        copy.open = 0;
        copy.stamp = crn_promises_clock(&disk);
        memset(copy.promises, 0, sizeof copy.promises);
        memcpy(links.data, &copy, sizeof copy);
        put(c, CRN_SECTION_LANE, lane, 0, links.data, sizeof disk + disk.used * sizeof(crn_link));
        put(c, CRN_SECTION_RECORDS, lane, 0, records.data, disk.used * sizeof(cairn_priv_record));
        if (!old)
            copy_cpu(c, lane, &disk);
        copy_stream(c, CRN_SECTION_SPANS, lane);
        copy_stream(c, CRN_SECTION_SPAN_RING, lane);
        copy_stream(c, CRN_SECTION_DETAIL_RING, lane);
        copy_stream(c, CRN_SECTION_OFF_CORE, lane);
        copy_samples(c, lane, disk.used);
        if (!old) {
            copy_stream(c, CRN_SECTION_HISTOGRAMS, lane);
            put_counts(c, lane);
        }
    }
    crn_free(links.data);
    crn_free(records.data);
}

/* Copies the details, then the lanes: details name spans of other lanes, too. */
static void copy_lanes(copying *c)
{
    for (uint32_t lane = 0; !c->error && crn_reader_lane(&c->reader, &lane); lane++)
        copy_stream(c, CRN_SECTION_DETAILS, lane);
    if (c->error || !read_trees(c))
        return;
    copy_columns(c);
    for (uint32_t lane = 0; !c->error && crn_reader_lane(&c->reader, &lane); lane++)
        copy_lane(c, lane);
}

/* ---- tables ---- */

static void copy_table(copying *c, crn_section_kind kind)
{
    crn_bytes bytes = take(c, kind, 0, 0, c->reader.header.used[kind]);
    put(c, kind, 0, 0, bytes.data, bytes.size);
    c->capture.header->used[kind] = bytes.size;
    crn_free(bytes.data);
}

static void write_header(copying *c, const cairn_profile *profile)
{
    crn_disk_header *own = c->capture.header;
    crn_disk_header header = c->reader.header;
    header.generation = c->generation;
    header.state = own->state;
    header.directory = own->directory;
    header.size = own->size;
    memset(header.used, 0, sizeof header.used);
    header.last[0] = header.last[1] = crn_profile_read_moment(profile);
    *own = header;
}

static bool open_reader(copying *c, cairn_profile *profile)
{
    crn_error error;
    int file = crn_capture_file(&profile->capture);
    if (crn_reader_open_file(&c->reader, file, "the capture", &error))
        return true;
    c->error = (cairn_error)error.code;
    return false;
}

static void copy_tables(copying *c)
{
    crn_error error;
    if (!crn_reader_refresh(&c->reader, &error)) {
        c->error = (cairn_error)error.code;
        return;
    }
    copy_table(c, CRN_SECTION_STRINGS);
    copy_table(c, CRN_SECTION_BLOCKS);
    copy_table(c, CRN_SECTION_METRICS);
    copy_table(c, CRN_SECTION_NOTES);
    copy_table(c, CRN_SECTION_KEYS);
    put(c, CRN_SECTION_TREES, 0, 0, c->trees.bytes.data, c->trees.bytes.size);
}

/* Copies the lanes, then the tables, so that the tables have all blocks that the lanes refer to. */
static void copy_all(copying *c, cairn_profile *profile)
{
    if (!open_reader(c, profile))
        return;
    c->generation = c->reader.header.generation;
    write_header(c, profile);
    copy_lanes(c);
    if (!c->error)
        copy_tables(c);
    crn_trees_free(&c->trees);
    c->reader.file = -1; /* the profile keeps the file open */
    crn_reader_close(&c->reader);
}

static bool is_own(cairn_profile *profile, const char *path)
{
    struct stat own, other;
    return fstat(crn_capture_file(&profile->capture), &own) == 0 && stat(path, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* Writes the snapshot once. Sets `*again` if a reset came in between. */
static cairn_error write_once(cairn_profile *profile, const char *path, bool *again)
{
    copying c = {0};
    cairn_error error = crn_capture_create(&c.capture, path, UINT64_MAX);
    if (error)
        return error;
    copy_all(&c, profile);
    bool stopped = c.capture.header->stopped_by != CAIRN_OK;
    c.capture.header->state = stopped ? CRN_STATE_STOPPED : CRN_STATE_CLOSED;
    if (!c.error)
        c.error = crn_capture_publish(&c.capture);
    crn_capture_close(&c.capture, c.capture.header->state);
    *again = __atomic_load_n(&profile->generation, __ATOMIC_ACQUIRE) != c.generation;
    return c.error;
}

static cairn_error write_snapshot(cairn_profile *profile, const char *path)
{
    if (!crn_profile_is_ready(profile))
        return cairn_profile_status(profile);
    if (is_own(profile, path))
        return CAIRN_E_ARGUMENT;
    crn_profile_charge_own(profile);
    cairn_error error;
    bool again;
    do
        error = write_once(profile, path, &again);
    while (!error && again);
    return error;
}

cairn_error cairn_profile_snapshot(cairn_profile *profile, const char *path)
{
    if (!profile || !path)
        return CAIRN_E_ARGUMENT;
    int saved = errno, cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    cairn_error error = write_snapshot(profile, path);
    pthread_setcancelstate(cancelling, NULL);
    errno = saved;
    return error;
}
