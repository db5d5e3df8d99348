/* SPDX-License-Identifier: MIT
 *
 * snapshot.h - a capture at one moment, with the figures of all lanes in one graph.
 *
 * The runtime's queries and the tool's analyses start from a snapshot.
 */
#ifndef CRN_SNAPSHOT_SNAPSHOT_H
#define CRN_SNAPSHOT_SNAPSHOT_H

#include "capture/reader.h"
#include "graph/records.h"

typedef struct crn_snapshot {
    crn_disk_header header;
    double clock_scale; /* ns per unit of wall */

    crn_bytes strings;
    crn_disk_block *blocks; /* entry 0 is the root */
    crn_disk_metric *metrics;
    crn_disk_note *notes;
    uint32_t block_count, metric_count, note_count;

    crn_records records;
    uint64_t *columns[CAIRN_METRIC_MAX]; /* by record; NULL: no such column */

    uint32_t lanes;
    uint32_t open_lanes; /* lanes in use by a thread, or in use when the program was killed */
    uint64_t strands, misuses, dropped, samples, tick_samples;
    uint64_t spans_dropped, spans_limited, spans_late, spans_recycled, spans_skipped;
    uint64_t cpu_samples, wall_squares, cpu_squares; /* sums over lanes, as in crn_disk_lane */
    uint64_t unaccounted; /* wall time of open lanes up to the newest recorded moment, neither
                             charged nor promised; in units of the clock */
    bool truncated;       /* the file is shorter than its header says */
    bool damaged;         /* the capture has invalid data, which the snapshot lacks */

    uint64_t left; /* bytes of the file that lanes may still take: all lanes together must not
                      exceed the file */

    /* Storage of the records: `graph` if lanes were merged, otherwise `links` and `hot`. */
    crn_graph graph;
    crn_bytes links, hot; /* sections of the only lane, not merged */
} crn_snapshot;

/* Reads a capture completely, and refreshes the reader of a live one. `indexed`: always merges, so
 * that crn_graph_find works on `graph`. Returns false and sets `*error` on an error. */
bool crn_snapshot_take(crn_snapshot *snapshot, crn_reader *reader, bool indexed, crn_error *error);
void crn_snapshot_free(crn_snapshot *snapshot);

/* Free parts of a snapshot early: crn_snapshot_free_links the links and records.contexts,
 * crn_snapshot_free_hot the hot records. */
void crn_snapshot_free_links(crn_snapshot *snapshot);
void crn_snapshot_free_hot(crn_snapshot *snapshot);

/* Returns the string at an offset into the strings; "" for an invalid offset. */
const char *crn_snapshot_string(const crn_snapshot *snapshot, uint32_t offset);

#endif
