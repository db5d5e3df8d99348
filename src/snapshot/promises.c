/* SPDX-License-Identifier: MIT */
#include "snapshot/promises.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "graph/graph.h"

static bool read_header(const crn_reader *reader, uint32_t lane, crn_disk_lane *header, bool *whole,
                        crn_error *error)
{
    crn_bytes bytes;
    if (!crn_reader_section(reader, CRN_SECTION_LANE, lane, 0, sizeof *header, &bytes, error))
        return false;
    *header = (crn_disk_lane){0};
    memcpy(header, bytes.data, bytes.size);
    *whole = bytes.whole;
    crn_free(bytes.data);
    return true;
}

static bool is_same_time(const crn_disk_lane *one, const crn_disk_lane *other)
{
    return one->settled == other->settled && one->promises_changed == other->promises_changed;
}

static bool is_at_rest(const crn_disk_lane *header)
{
    return header->settled % 2 == 0 && header->promises_changed % 2 == 0;
}

/* Waits a millisecond for the writer, which on a busy machine may not run for hundreds of ms; in
 * the first turns does not wait. Returns false to give up: after a second, after five seconds for
 * all lanes, or if the capture is not recording or its process has ended. */
static bool wait_for_writer(crn_reader *reader, int turn)
{
    enum { AT_ONCE = 100, MOST = 1100, WAITED_MOST = 5000 };
    if (turn < AT_ONCE)
        return true;
    if (turn == MOST || reader->waited == WAITED_MOST ||
        reader->header.state != CRN_STATE_RECORDING ||
        (kill((pid_t)reader->header.process, 0) != 0 && errno == ESRCH))
        return false;
    nanosleep(&(struct timespec){0, 1000000}, NULL);
    reader->waited++;
    return true;
}

/* The header is consistent if two reads agree and no write is in progress. If that does not come
 * about, as when the writer was killed during a write, drops the promises. */
bool crn_promises_header(crn_reader *reader, uint32_t lane, crn_disk_lane *header, bool *whole,
                         crn_error *error)
{
    crn_disk_lane again;
    if (!read_header(reader, lane, &again, whole, error))
        return false;
    for (int turn = 0; wait_for_writer(reader, turn); turn++) {
        *header = again;
        if (!*whole)
            return true;
        if (!read_header(reader, lane, &again, whole, error))
            return false;
        if (is_at_rest(header) && is_same_time(header, &again))
            return true;
    }
    memset(header->promises, 0, sizeof header->promises);
    return true;
}

uint64_t crn_promises_clock(const crn_disk_lane *header)
{
    uint64_t clock = header->stamp;
    for (int i = 0; i < 2; i++)
        clock = header->promises[i].clock > clock ? header->promises[i].clock : clock;
    return clock;
}

/* ---- corrections ---- */

static uint64_t place_of(cairn_metric metric, uint64_t record)
{
    if (metric == CAIRN_METRIC_WALL)
        return sizeof(crn_disk_lane) + record * sizeof(crn_link) + offsetof(crn_link, wall);
    return record * sizeof(uint64_t);
}

/* Reads a counter again. Called if the lane's owner has charged a promise meanwhile: the counter
 * read before may lack the promise. */
static bool read_again(const crn_reader *reader, uint32_t lane, uint64_t record,
                       cairn_metric metric, uint64_t *counter, crn_error *error)
{
    bool wall = metric == CAIRN_METRIC_WALL;
    uint64_t word = 0;
    if (!crn_reader_word(reader, wall ? CRN_SECTION_LANE : CRN_SECTION_COLUMN, lane,
                         (uint16_t)(wall ? 0 : metric), place_of(metric, record), &word, error))
        return false;
    if (word > *counter)
        *counter = word;
    return true;
}

bool crn_promises_add(crn_reader *reader, uint32_t lane, const crn_disk_lane *before,
                      cairn_metric metric, uint64_t *counters, size_t stride, uint64_t count,
                      crn_error *error)
{
    crn_disk_lane now;
    bool whole, wall = metric == CAIRN_METRIC_WALL;
    if (!before->promises[0].clock)
        return true;
    if (!crn_promises_header(reader, lane, &now, &whole, error))
        return false;
    bool paid = now.settled != before->settled;
    uint64_t from = wall ? now.stamp : now.cpu_stamp;
    for (int i = 0; i < 2; i++) {
        const crn_disk_promise *promise = paid ? &before->promises[i] : &now.promises[i];
        if (!promise->clock || promise->record < CRN_RECORD_ROOT || promise->record >= count)
            continue;
        uint64_t *counter = &counters[promise->record * stride];
        uint64_t until = wall ? promise->clock : promise->cpu;
        if (paid && !read_again(reader, lane, promise->record, metric, counter, error))
            return false;
        if (!paid && until > from) {
            *counter += until - from;
            from = until;
        }
    }
    return true;
}
