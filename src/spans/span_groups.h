/* SPDX-License-Identifier: MIT
 *
 * span_groups.h - groups the spans of a block by iteration, attribute, parent, path or lane, with
 * figures for each group.
 *
 * Time: n log n in the number of spans and attributes. Nothing recurses.
 */
#ifndef CRN_SPANS_SPAN_GROUPS_H
#define CRN_SPANS_SPAN_GROUPS_H

#include "spans/span_paths.h"

typedef enum crn_group_by {
    CRN_GROUP_BY_ITERATION,
    CRN_GROUP_BY_PARENT_ITERATION,
    CRN_GROUP_BY_PARENT, /* the parent's block */
    CRN_GROUP_BY_PATH,   /* the blocks of all ancestors */
    CRN_GROUP_BY_LANE,
    CRN_GROUP_BY_ATTRIBUTE
} crn_group_by;

typedef enum crn_group_kind {
    CRN_GROUP_NUMBERS, /* numbers from `low` to `high`, without `high` if `open_end` */
    CRN_GROUP_TEXT,
    CRN_GROUP_BLOCK, /* `id` */
    CRN_GROUP_PATH,  /* `id`: node of `paths` */
    CRN_GROUP_LANE,  /* `id` */
    CRN_GROUP_OTHER, /* all values beyond the limit on groups */
    CRN_GROUP_NONE   /* spans without a value */
} crn_group_kind;

typedef struct crn_span_group {
    uint32_t block;
    crn_group_kind kind;
    double low, high;
    bool open_end;
    double least, most; /* smallest and largest number in the group */
    const char *text;
    uint32_t id;
    uint32_t values; /* number of distinct values */
    uint32_t rank;   /* index in the order of the sort key */
    crn_span_row row;
} crn_span_group;

typedef struct crn_span_groups {
    uint32_t count;
    crn_span_group *groups; /* by block, the largest total first; in a block first ascending
                               numbers, then other groups by the sort key, then OTHER and NONE */
    uint32_t hidden_blocks; /* number of blocks left out, those with least total */
    uint64_t self, edges[CRN_SPAN_BINS + 1]; /* as in crn_span_table */
    crn_span_paths paths;
} crn_span_groups;

/* Groups the chosen spans of the blocks in `kept` (NULL: all blocks) by `by`; `attribute` is the
 * key for grouping by attribute. A block gets about `most` groups besides OTHER and NONE; the
 * `most` largest blocks are returned. */
crn_span_groups crn_span_groups_make(const crn_spans *spans, const uint8_t *kept, crn_group_by by,
                                     const char *attribute, uint32_t most, crn_span_sort sort);
void crn_span_groups_free(crn_span_groups *groups);

#endif
