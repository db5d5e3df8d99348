/* SPDX-License-Identifier: MIT
 *
 * timeline.h - shared by timeline formats: rows for spans, arrows between spans, names.
 *
 * In timeline formats the spans of a row must nest. Spans of strands that alternate on a lane, and
 * those of damaged files, may overlap: they get further rows of their lane, as few as possible.
 * Rows take O(n log n) time and 12 bytes a span.
 */
#ifndef CRN_FORMATS_TIMELINE_H
#define CRN_FORMATS_TIMELINE_H

#include "spans/spans.h"

typedef struct crn_row {
    uint32_t lane;
    uint32_t number; /* within its lane, from 0 */
} crn_row;

/* An arrow, forward in time. */
typedef struct crn_arrow {
    uint32_t from, to; /* spans */
    crn_arrow_kind kind;
    uint64_t taken; /* of a hand-off: when its token was taken, ns, 0 if not known */
} crn_arrow;

typedef struct crn_timeline {
    const crn_profile *profile; /* profile and trace are not owned */
    const crn_trace *trace;

    uint32_t row_count;
    crn_row *rows;
    uint32_t *row;   /* by span: index into rows */
    uint32_t *order; /* spans grouped by lane and sorted by start */

    uint32_t arrow_count;
    crn_arrow *arrows; /* hand-offs, then edges; both sorted by `to` */
    uint32_t handoff_count;
    uint32_t *leaving_first; /* by span: its first index into leaving; span_count + 1 entries */
    uint32_t *leaving;       /* indices of arrows, sorted by `from` */

    char **names;      /* by block, UTF-8; NULL for blocks without spans */
    char **keys;       /* the trace's keys, as UTF-8 */
    char **row_names;  /* by row */
    uint32_t *process; /* by lane: index into processes */

    uint32_t process_count; /* at least one */
    char **process_names;
    uint32_t *process_numbers; /* unique pids */

    uint32_t *threads;     /* by lane: unique thread ids. The first lane of a known thread has the
                              kernel's id, as in other traces of the machine */
    uint32_t *same_thread; /* by lane: the first lane of its thread; the lane itself if the thread
                              is not known */
} crn_timeline;

void crn_timeline_open(crn_timeline *timeline, const crn_profile *profile, const crn_trace *trace);
void crn_timeline_close(crn_timeline *timeline);

/* Returns the name of a span's block, never NULL. Of an unknown block: the root's. */
const char *crn_timeline_name(const crn_timeline *timeline, uint32_t span);
uint32_t crn_timeline_block(const crn_timeline *timeline, uint32_t span);

/* Returns the names of lanes by number, those of the lanes' first rows; NULL for a lane without
 * spans. Free the array with crn_free; the timeline keeps the names. */
const char **crn_timeline_lane_names(const crn_timeline *timeline);

/* Sets the processor time of a span in ns; returns false if not known. */
bool crn_timeline_cpu(const crn_timeline *timeline, uint32_t span, uint64_t *cpu);

/* Calls `begin` for each span, and `end` for each that has ended, in the order of time within a
 * row; innermost first if spans end together. */
typedef void crn_timeline_event(void *data, uint32_t span);
void crn_timeline_walk(const crn_timeline *timeline, crn_timeline_event *begin,
                       crn_timeline_event *end, void *data);

/* Return the number of arrows that lead to a span: of hand-offs, 0 or 1; of edges. `*arrow` and
 * `*first` are the index of the first one. */
uint32_t crn_timeline_handoff(const crn_timeline *timeline, uint32_t span, uint32_t *arrow);
uint32_t crn_timeline_arriving(const crn_timeline *timeline, uint32_t span, uint32_t *first);

/* Reports, process by process, each change of the number of lanes with open spans. */
typedef void crn_timeline_level(void *data, uint32_t process, uint64_t time, uint32_t level);
void crn_timeline_levels(const crn_timeline *timeline, crn_timeline_level *level, void *data);

/* Assigns spans to rows and orders them by time: sets rows, row and order. */
void crn_timeline_find_rows(crn_timeline *timeline);

#endif
