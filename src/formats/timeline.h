/* SPDX-License-Identifier: MIT
 *
 * timeline.h - what formats of time lines share: rows that spans fit into, arrows between
 * spans, names.
 *
 * Such formats draw a row's spans inside of each other, so on one row a span must end before
 * what is around it does. Strands that take turns on a lane do not keep to that, nor does a
 * file that was made to; such spans get further rows of their lane, as few as it takes.
 * Linear in the number of spans but for one logarithm; 12 bytes a span.
 */
#ifndef CRN_FORMATS_TIMELINE_H
#define CRN_FORMATS_TIMELINE_H

#include "spans/spans.h"

typedef struct crn_row {
    uint32_t lane;
    uint32_t number; /* within its lane, from 0 */
} crn_row;

/* Points the way that time goes. */
typedef struct crn_arrow {
    uint32_t from, to; /* spans */
    crn_arrow_kind kind;
    uint64_t taken; /* of a hand-off: when its token was, 0 if not known */
} crn_arrow;

typedef struct crn_timeline {
    const crn_profile *profile; /* not owned, nor is the trace */
    const crn_trace *trace;

    uint32_t row_count;
    crn_row *rows;
    uint32_t *row;   /* by span: index of rows */
    uint32_t *order; /* spans: those of a lane together, by their start */

    uint32_t arrow_count;
    crn_arrow *arrows; /* hand-offs first; each part by where they lead to */
    uint32_t handoff_count;
    uint32_t *leaving_first; /* by span, and one more: index of leaving */
    uint32_t *leaving;       /* arrows, by where they come from */

    char **names;      /* by block, UTF-8; NULL where no span is of it */
    char **keys;       /* as the trace's, UTF-8 */
    char **row_names;  /* by row */
    uint32_t *process; /* by lane: index of processes */

    uint32_t process_count; /* at least one */
    char **process_names;
    uint32_t *process_numbers; /* no two are the same */
} crn_timeline;

void crn_timeline_open(crn_timeline *timeline, const crn_profile *profile, const crn_trace *trace);
void crn_timeline_close(crn_timeline *timeline);

/* Never NULL: a span of a block that is not there counts as the root's. */
const char *crn_timeline_name(const crn_timeline *timeline, uint32_t span);
uint32_t crn_timeline_block(const crn_timeline *timeline, uint32_t span);

/* The processor time of a span in ns; false where it is not known. */
bool crn_timeline_cpu(const crn_timeline *timeline, uint32_t span, uint64_t *cpu);

/* Calls `begin` for each span, and `end` for each that has ended, in the order of time on each
 * row, the innermost first where spans end at once. */
typedef void crn_timeline_event(void *data, uint32_t span);
void crn_timeline_walk(const crn_timeline *timeline, crn_timeline_event *begin,
                       crn_timeline_event *end, void *data);

/* The arrows that lead to a span: of its hand-off, and others. Returns how many; `first` is
 * the index of the first, the rest follow. */
uint32_t crn_timeline_handoff(const crn_timeline *timeline, uint32_t span, uint32_t *arrow);
uint32_t crn_timeline_arriving(const crn_timeline *timeline, uint32_t span, uint32_t *first);

/* How many lanes have a span open, each time that this changes, process by process. */
typedef void crn_timeline_level(void *data, uint32_t process, uint64_t time, uint32_t level);
void crn_timeline_levels(const crn_timeline *timeline, crn_timeline_level *level, void *data);

#endif
