/* SPDX-License-Identifier: MIT
 *
 * span_groups.h - spans by what tells them apart: iteration, attribute, who asked for them, lane.
 *
 * n log n in the number of spans and attributes; nothing recurses.
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
    CRN_GROUP_NUMBERS, /* the range from `low` to `high`, which begins the next one if `open_end` */
    CRN_GROUP_TEXT,
    CRN_GROUP_BLOCK, /* `id` */
    CRN_GROUP_PATH,  /* `id`: a node; 0 is none */
    CRN_GROUP_LANE,  /* `id` */
    CRN_GROUP_OTHER, /* the values that there was no room for */
    CRN_GROUP_NONE   /* no value */
} crn_group_kind;

typedef struct crn_span_group {
    uint32_t block;
    crn_group_kind kind;
    double low, high;
    bool open_end;
    double least, most; /* of the numbers that there are */
    const char *text;
    uint32_t id;
    uint32_t values; /* that differ, in the group */
    uint32_t rank;   /* among all groups, by what is sorted by */
    crn_span_row row;
} crn_span_group;

typedef struct crn_span_groups {
    uint32_t count;
    crn_span_group *groups; /* block by block, the largest first; in a block numbers in order,
                               others by what is sorted by */
    uint32_t hidden_blocks; /* smaller ones, left out */
    uint64_t self, edges[CRN_SPAN_BINS + 1]; /* as in crn_span_table */
    crn_span_paths paths;
} crn_span_groups;

/* Of the chosen spans of blocks in `kept` (NULL: of all) that have any value; at most `most` groups
 * a block, but for those of OTHER and NONE, and as many blocks. `attribute` is a key's name. */
crn_span_groups crn_span_groups_make(const crn_spans *spans, const uint8_t *kept, crn_group_by by,
                                     const char *attribute, uint32_t most, crn_span_sort sort);
void crn_span_groups_free(crn_span_groups *groups);

#endif
