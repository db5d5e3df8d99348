/* SPDX-License-Identifier: MIT
 *
 * report.h - what `cairn report` was asked for, and the views that print it.
 */
#ifndef CRN_CLI_REPORT_REPORT_H
#define CRN_CLI_REPORT_REPORT_H

#include "cli/common/table.h"
#include "profile/profile.h"

typedef enum crn_view_kind {
    CRN_VIEW_FLAT,
    CRN_VIEW_TREE,
    CRN_VIEW_SEQUENCE,
    CRN_VIEW_STACK,
    CRN_VIEW_COMPARE,
    CRN_VIEW_ZERO,
    CRN_VIEW_DOT
} crn_view_kind;

typedef enum crn_sort { CRN_SORT_SELF, CRN_SORT_INCLUSIVE, CRN_SORT_CALLS, CRN_SORT_NAME } crn_sort;

typedef struct crn_report {
    const char *path;
    const crn_profile *profile;
    crn_view_kind view;
    uint32_t metrics[CRN_METRIC_MAX], metric_count; /* the first one sorts */
    crn_sampling sampling[CRN_METRIC_MAX];          /* by place in metrics */
    bool waits;     /* wall and cpu are both among the metrics: what was waited gets a column */
    bool calls;     /* calls were recorded, and are not what is sorted by: they get a column */
    uint32_t small; /* metric of calls of what was left out for being small: a column; 0 if none */
    crn_sort sort;
    uint32_t top;       /* most rows (of each part); 0 is any number */
    double threshold;   /* smallest share that is shown, 0 to 1 */
    bool before, after; /* of a sequence: what leads in, what it leads to */
    bool focused;
    crn_sequence focus;
    crn_sequence *drops;
    size_t drop_count;
    uint8_t *shown;          /* by block: what gets a row; NULL is all */
    const char *given;       /* the options that narrow, as a person wrote them */
    const char *collector;   /* name of the collector's blocks, for the stack view */
    crn_figure_cache *known; /* of the profile, where somebody asks more than once; NULL */
} crn_report;

/* Figures of the report's profile, or of what is kept of it: what is known is not added up again.
 */
uint64_t crn_report_total(const crn_report *report, uint32_t metric);
crn_block_cost crn_report_cost(const crn_report *report, uint32_t metric, const uint8_t *kept);
/* By context. What has to be freed is `owned`; NULL: nothing. */
const uint64_t *crn_report_totals(const crn_report *report, uint32_t metric, const uint8_t *kept,
                                  uint64_t **owned);

/* "self ms", "inclusive ticks": the column of the report's metric at `place`, with its
 * intervals if `uncertain`: a figure that will be shown needs one. */
void crn_report_column(crn_table *table, const crn_report *report, const char *what, uint32_t place,
                       uint64_t largest, bool uncertain);
/* Whether a figure of the report's metric at `place` does not stand alone. */
static inline bool crn_report_is_uncertain(const crn_report *report, uint32_t place, uint64_t value)
{
    return !crn_sampling_is_sure(&report->sampling[place], value);
}
/* What has no row, of what would have one, and what it cost itself. */
typedef struct crn_unshown {
    uint32_t hidden;   /* blocks: by top and threshold */
    uint32_t unwanted; /* by --keep */
    uint64_t hidden_self, unwanted_self;
} crn_unshown;

/* "12 more blocks with 3.1 % of self wall: --top 0 shows all", and what --keep leaves out, in the
 * dim style: nobody shall take the table for the whole. */
void crn_report_rest(const crn_report *report, const crn_unshown *rest, uint64_t total);
void crn_report_title(char title[48], const crn_profile *profile, const char *what,
                      uint32_t metric);

void crn_report_summary(const crn_report *report);
/* A line of the summary, and those on clocks. */
void crn_report_line(const char *label, const char *text);
void crn_report_clocks(const crn_profile *profile);
void crn_report_waiting(const crn_profile *profile);
/* And those on memory, of a profile of allocations; of any other nothing. */
void crn_report_memory(const crn_report *report);
/* And the one on the collector, if it cost anything. */
void crn_report_collector(const crn_report *report);

typedef enum crn_report_state {
    CRN_REPORT_ENDED,
    CRN_REPORT_RUNNING, /* the capture is still being written */
    CRN_REPORT_KILLED,  /* whoever wrote it is gone without having closed it */
    CRN_REPORT_UNCLOSED /* of several that were added up, one is running or killed */
} crn_report_state;

crn_report_state crn_report_state_of(const crn_report *report);
void crn_report_flat(const crn_report *report);
void crn_report_tree(const crn_report *report);
void crn_report_sequence(const crn_report *report);
void crn_report_stack(const crn_report *report);
void crn_report_compare(const crn_report *report);
void crn_report_zero(const crn_report *report);
/* The call graph, in Graphviz's language. */
void crn_report_dot(const crn_report *report);

/* Writes the page of cairn view with the whole profile in it. Returns the exit status; on error it
 * says why. */
int crn_report_html(const crn_report *report, const char *path);

/* Writes the summary and the view as JSON: docs/REPORT_JSON.md. */
void crn_report_json(const crn_report *report);

/* The blocks that cost something or were called, sorted, and their figures. */
typedef struct crn_flat {
    uint32_t count;                             /* that are to be shown */
    crn_unshown rest;                           /* that are not */
    uint32_t *blocks;                           /* sorted */
    crn_block_cost calls, cost[CRN_METRIC_MAX]; /* cost by place in report->metrics */
    crn_block_cost small;                       /* where report->small */
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
/* The block's own wall time that was not CPU time, where report->waits. */
uint64_t crn_flat_waited(const crn_report *report, const crn_flat *flat, uint32_t block);

/* What the stack view shows: blocks that ran or were on the stack, sorted. */
typedef struct crn_stack_view {
    crn_stack stack;
    uint64_t *inclusive; /* by block: the stack and the collector together */
    uint32_t count;
    crn_unshown rest;
    uint32_t *blocks;
} crn_stack_view;

crn_stack_view crn_stack_view_make(const crn_report *report);
void crn_stack_view_free(crn_stack_view *view);

/* Counts a block that has no row. */
static inline void crn_unshown_add(crn_unshown *rest, bool unwanted, uint64_t self)
{
    *(unwanted ? &rest->unwanted : &rest->hidden) += 1;
    *(unwanted ? &rest->unwanted_self : &rest->hidden_self) += self;
}

/* Whether a block may have a row. */
static inline bool crn_report_shows(const crn_report *report, uint32_t block)
{
    return !report->shown || report->shown[block];
}

/* Blocks that were never called and cost nothing, by file, line and column. */
typedef struct crn_zero_view {
    uint32_t count, hidden;
    uint32_t *blocks;
    uint32_t ran, known; /* of the blocks that may be shown */
    uint32_t file_count;
    struct crn_zero_file {
        const char *name;
        uint32_t ran, known;
    } * files; /* in which not all ran, by name */
} crn_zero_view;

crn_zero_view crn_zero_view_make(const crn_report *report);
void crn_zero_view_free(crn_zero_view *view);

/* What the comparison shows. `count` rows of it, the report's metrics being its two. */
typedef struct crn_compare_view {
    crn_compare compare;
    uint32_t count, hidden;
    uint64_t *calls; /* by block */
} crn_compare_view;

crn_compare_view crn_compare_view_make(const crn_report *report);
/* The same of a row of the comparison, whichever of the two metrics is named first. */
uint64_t crn_compare_view_waited(const crn_report *report, const crn_compare_row *row);
void crn_compare_view_free(crn_compare_view *view);

#endif
