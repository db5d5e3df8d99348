/* SPDX-License-Identifier: MIT
 *
 * snapshot.h - a capture at one moment, all lanes merged into one graph.
 *
 * The runtime's queries and the tool's analyses start from it.
 */
#ifndef CRN_SNAPSHOT_SNAPSHOT_H
#define CRN_SNAPSHOT_SNAPSHOT_H

#include "capture/reader.h"
#include "graph/records.h"

typedef struct crn_snapshot {
    crn_disk_header header;
    double clock_scale; /* nanoseconds per unit of wall */

    crn_bytes strings;
    crn_disk_block *blocks; /* entry 0 is the root */
    crn_disk_metric *metrics;
    crn_disk_note *notes;
    uint32_t block_count, metric_count, note_count;

    crn_records records;
    uint64_t *columns[CAIRN_METRIC_MAX]; /* by record; NULL: no such column */

    uint32_t lanes;
    uint32_t open_lanes; /* lanes that a thread has, or had when the writer was killed */
    uint64_t strands, misuses, dropped, samples, tick_samples;
    uint64_t spans_dropped, spans_limited, spans_late, spans_recycled, spans_skipped;
    uint64_t cpu_samples, wall_squares, cpu_squares; /* sums over lanes: see crn_disk_lane */
    uint64_t unaccounted; /* wall time of open lanes up to the newest recorded moment that is not
                             charged yet, in units of the clock */
    bool truncated;       /* the file is shorter than its header says */
    bool damaged;         /* invalid data were found and left out */

    uint64_t left; /* bytes of the file not yet taken by a lane; no two lanes have the same bytes */

    /* Storage of the records: `graph` if lanes were merged or an index was requested, else `links`
     * and `hot`. */
    crn_graph graph;
    crn_bytes links, hot; /* sections of the only lane */
} crn_snapshot;

/* Reads a capture completely. With `indexed`, crn_graph_find works on `graph`. */
bool crn_snapshot_take(crn_snapshot *snapshot, const crn_reader *reader, bool indexed,
                       crn_error *error);
void crn_snapshot_free(crn_snapshot *snapshot);

/* Free parts that the caller no longer needs: the links and the numbering of contexts; then the hot
 * part. */
void crn_snapshot_free_links(crn_snapshot *snapshot);
void crn_snapshot_free_hot(crn_snapshot *snapshot);

/* Returns the string at an offset into the strings; "" for an invalid offset. */
const char *crn_snapshot_string(const crn_snapshot *snapshot, uint32_t offset);

#endif
