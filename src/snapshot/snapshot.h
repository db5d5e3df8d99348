/* SPDX-License-Identifier: MIT
 *
 * snapshot.h - a capture as it is at one moment, all lanes in one graph.
 *
 * What the runtime's queries and the tool's analysis both begin with.
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
    uint64_t *columns[CAIRN_METRIC_MAX]; /* by record; NULL if there is none */

    uint32_t lanes;
    uint32_t open_lanes; /* that a thread has, or had when the writer was killed */
    uint64_t strands, misuses, dropped, samples, tick_samples;
    uint64_t spans_dropped, spans_limited, spans_late, spans_recycled, spans_skipped;
    uint64_t cpu_samples, wall_squares, cpu_squares; /* of the lanes: see crn_disk_lane */
    uint64_t unaccounted; /* wall of the open lanes that is not charged yet, in units of the clock:
                             from where each was last looked at to the newest moment */
    bool truncated;       /* the file is shorter than it says */
    bool damaged;         /* something in it was not valid and was left out */

    uint64_t left; /* bytes of the file that lanes can still have: no two of them have the same */

    /* What the records lie in. */
    crn_graph graph;      /* when lanes were merged, or an index was asked for */
    crn_bytes links, hot; /* of the only lane otherwise */
} crn_snapshot;

/* Reads all of it. With `indexed`, crn_graph_find works on `graph`. */
bool crn_snapshot_take(crn_snapshot *snapshot, const crn_reader *reader, bool indexed,
                       crn_error *error);
void crn_snapshot_free(crn_snapshot *snapshot);

/* Free some of it before the rest, for who is done with it: the links of its records, and which of
 * them are contexts; then the hot part. */
void crn_snapshot_free_links(crn_snapshot *snapshot);
void crn_snapshot_free_hot(crn_snapshot *snapshot);

/* The string at an offset into the strings; "" for one that is not there. */
const char *crn_snapshot_string(const crn_snapshot *snapshot, uint32_t offset);

#endif
