/* SPDX-License-Identifier: MIT
 *
 * report.h - what `cairn report` was asked for, and the views that print it.
 */
#ifndef CRN_CLI_REPORT_H
#define CRN_CLI_REPORT_H

#include "analysis/figures.h"
#include "analysis/sequence.h"
#include "analysis/tree.h"
#include "table.h"

typedef enum crn_view_kind { CRN_VIEW_FLAT, CRN_VIEW_TREE, CRN_VIEW_SEQUENCE } crn_view_kind;

typedef enum crn_sort { CRN_SORT_SELF, CRN_SORT_INCLUSIVE, CRN_SORT_CALLS, CRN_SORT_NAME } crn_sort;

typedef struct crn_report {
    const char *path;
    const crn_profile *profile;
    crn_view_kind view;
    uint32_t metrics[CRN_METRIC_MAX], metric_count; /* the first one sorts */
    bool calls; /* calls were recorded, and are not what is sorted by: they get a column */
    crn_sort sort;
    uint32_t top;       /* most rows (of each part); 0 is any number */
    double threshold;   /* smallest share that is shown, 0 to 1 */
    bool before, after; /* of a sequence: what leads in, what it leads to */
    bool focused;
    crn_sequence focus;
    crn_sequence *drops;
    size_t drop_count;
    const char *given; /* the options that narrow, as a person wrote them */
} crn_report;

/* "self ms", "inclusive ticks": what stands over a column of a metric. */
void crn_report_column(crn_table *table, const crn_report *report, const char *what,
                       uint32_t metric, uint64_t largest);
void crn_report_title(char title[48], const crn_profile *profile, const char *what,
                      uint32_t metric);

void crn_report_summary(const crn_report *report);
void crn_report_flat(const crn_report *report);
void crn_report_tree(const crn_report *report);
void crn_report_sequence(const crn_report *report);

/* Writes the summary and the view as JSON: docs/REPORT_JSON.md. */
void crn_report_json(const crn_report *report);

/* The blocks that cost something or were called, sorted, and their figures. */
typedef struct crn_flat {
    uint32_t count;                             /* that are to be shown */
    uint32_t hidden;                            /* that top and threshold leave out */
    uint32_t *blocks;                           /* sorted */
    crn_block_cost calls, cost[CRN_METRIC_MAX]; /* cost by place in report->metrics */
} crn_flat;

/* The tree that was asked for: of the profile, of what lies below the sequence, or upside
 * down of what leads into it. */
typedef struct crn_tree_view {
    const crn_profile *profile; /* whose contexts the rows are */
    crn_profile *owned;         /* NULL when it is the report's */
    bool upside_down;           /* only totals mean something, of calls too */
    uint8_t *kept;
    uint64_t *cycles; /* calls by context that came back */
    uint64_t *calls;  /* by context, or their totals if upside down */
    crn_tree tree;
} crn_tree_view;

crn_tree_view crn_tree_view_make(const crn_report *report);
void crn_tree_view_free(crn_tree_view *view);

crn_flat crn_flat_make(const crn_report *report);
void crn_flat_free(crn_flat *flat, const crn_report *report);

#endif
