/* SPDX-License-Identifier: MIT
 *
 * report.h - the request of `cairn report`, and its views.
 */
#ifndef CRN_CLI_REPORT_REPORT_H
#define CRN_CLI_REPORT_REPORT_H

#include <stdio.h>
#include <string.h>

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
    uint32_t metrics[CRN_METRIC_MAX], metric_count; /* the first one determines the order */
    crn_sampling sampling[CRN_METRIC_MAX];          /* by index of metrics */
    bool waits;        /* wall and cpu are both among the metrics: waiting gets a column */
    uint32_t ready;    /* with `waits`: metric of time in which no core was free; 0 if none */
    bool ready_column; /* `ready` is not among the metrics: it gets a column */
    bool calls;        /* calls were recorded and do not determine the order: they get a column */
    uint32_t small;    /* metric of calls of functions left out by --small, which gets a column; 0
                          if none */
    crn_sort sort;
    uint32_t top;       /* limit on rows (of each part); 0: no limit */
    double threshold;   /* smallest share to show, 0 to 1 */
    bool before, after; /* of a sequence: show callers, show callees */
    bool focused;
    crn_sequence focus;
    crn_sequence *drops;
    size_t drop_count;
    uint8_t *shown;          /* by block: it gets a row; NULL is all */
    const char *given;       /* the options that narrow, as given */
    const char *title;       /* of the graph for Graphviz; NULL: path and metric */
    bool gray;               /* the graph is shaded from white to black */
    const char *collector;   /* name of the collector's blocks, for the stack view */
    crn_figure_cache *known; /* cache of the profile's figures; may be NULL */
} crn_report;

/* Return figures of the report's profile, or of its kept contexts, from the cache if possible. */
uint64_t crn_report_total(const crn_report *report, uint32_t metric);
crn_block_cost crn_report_cost(const crn_report *report, uint32_t metric, const uint8_t *kept);
/* By context. Free `owned`, unless it is NULL. */
const uint64_t *crn_report_totals(const crn_report *report, uint32_t metric, const uint8_t *kept,
                                  uint64_t **owned);

/* Adds the column "self ms", "inclusive ticks", ... of the report's metric at `place`; with
 * intervals if `uncertain`, which means that a shown figure needs one. */
void crn_report_column(crn_table *table, const crn_report *report, const char *what, uint32_t place,
                       uint64_t largest, bool uncertain);
/* Returns true if a figure of the report's metric at `place` needs an interval. */
static inline bool crn_report_is_uncertain(const crn_report *report, uint32_t place, uint64_t value)
{
    return !crn_sampling_is_sure(&report->sampling[place], value);
}
/* Blocks without a row, and their self cost. */
typedef struct crn_unshown {
    uint32_t hidden;   /* blocks hidden by top and threshold */
    uint32_t unwanted; /* blocks excluded by --keep */
    uint64_t hidden_self, unwanted_self;
} crn_unshown;

/* Prints "12 more functions with 3.1 % of self wall: --top 0 shows all", and what --keep excludes,
 * in a dim style. */
void crn_report_rest(FILE *out, const crn_report *report, const crn_unshown *rest, uint64_t total);
void crn_report_title(char title[48], const crn_profile *profile, const char *what,
                      uint32_t metric);

void crn_report_summary(FILE *out, const crn_report *report);
/* Print the label of a line of the summary; a line; those on clocks. */
void crn_report_label(FILE *out, crn_style style, const char *label);
void crn_report_line(FILE *out, const char *label, const char *text);

/* Receives lines of the summary. */
typedef struct crn_report_lines {
    void (*put)(void *to, const char *label, const char *text);
    void *to;
} crn_report_lines;

/* How the figures were measured: the clocks and their samples, the cost of profiling, what was
 * allocated and how it was sampled, waiting (wall without cpu time), and the cost of the collector.
 * Each puts its lines, or none; a further line of the same one has no label. */
void crn_report_clocks(const crn_report_lines *lines, const crn_profile *profile);
void crn_report_overhead(const crn_report_lines *lines, const crn_profile *profile);
void crn_report_waiting(const crn_report_lines *lines, const crn_profile *profile);
void crn_report_memory(const crn_report_lines *lines, const crn_report *report);
void crn_report_collector(const crn_report_lines *lines, const crn_report *report);

typedef enum crn_report_state {
    CRN_REPORT_ENDED,
    CRN_REPORT_RUNNING, /* the capture is still being written */
    CRN_REPORT_KILLED,  /* its writer has ended without closing it */
    CRN_REPORT_UNCLOSED /* of several merged captures, one is running or killed */
} crn_report_state;

crn_report_state crn_report_state_of(const crn_report *report);
void crn_report_flat(FILE *out, const crn_report *report);
void crn_report_tree(FILE *out, const crn_report *report);
void crn_report_sequence(FILE *out, const crn_report *report);
void crn_report_stack(FILE *out, const crn_report *report);
void crn_report_compare(FILE *out, const crn_report *report);
void crn_report_zero(FILE *out, const crn_report *report);
/* Prints the call graph for Graphviz. */
void crn_report_dot(FILE *out, const crn_report *report);

/* Writes the page of cairn view with the whole profile. Returns the exit status; prints a message
 * on an error. */
int crn_report_html(const crn_report *report, const char *path);

/* Prints the summary and the view as JSON: docs/REPORT_JSON.md. */
void crn_report_json(FILE *out, const crn_report *report);

/* Blocks with cost or calls, sorted, and their figures. */
typedef struct crn_flat {
    uint32_t count;                             /* number of shown ones */
    crn_unshown rest;                           /* hidden ones */
    uint32_t *blocks;                           /* sorted */
    crn_block_cost calls, cost[CRN_METRIC_MAX]; /* cost is by index of report->metrics */
    crn_block_cost small;                       /* if report->small */
    crn_block_cost ready;                       /* if report->ready */
} crn_flat;

/* The requested tree: of the profile, of the callees of a sequence, or of its callers (bottom-
 * up). */
typedef struct crn_tree_view {
    const crn_profile *profile; /* the rows are its contexts */
    crn_profile *owned;         /* NULL if it is the report's */
    bool upside_down;           /* bottom-up: only totals are meaningful, also of calls */
    uint8_t *kept;
    uint64_t *cycles; /* by context: calls that came back over cycles */
    uint64_t *calls;  /* by context; totals if bottom-up */
    crn_tree tree;
} crn_tree_view;

crn_tree_view crn_tree_view_make(const crn_report *report);
void crn_tree_view_free(crn_tree_view *view);

crn_flat crn_flat_make(const crn_report *report);
void crn_flat_free(crn_flat *flat, const crn_report *report);
/* Returns the block's self wall time off the processor, if report->waits. */
uint64_t crn_flat_waited(const crn_report *report, const crn_flat *flat, uint32_t block);

/* The stack view: blocks that ran or were on the stack, sorted. */
typedef struct crn_stack_view {
    crn_stack stack;
    uint64_t *inclusive; /* by block: stack and collector together */
    uint32_t count;
    crn_unshown rest;
    uint32_t *blocks;
} crn_stack_view;

crn_stack_view crn_stack_view_make(const crn_report *report);
void crn_stack_view_free(crn_stack_view *view);

/* Counts a block without a row. */
static inline void crn_unshown_add(crn_unshown *rest, bool unwanted, uint64_t self)
{
    *(unwanted ? &rest->unwanted : &rest->hidden) += 1;
    *(unwanted ? &rest->unwanted_self : &rest->hidden_self) += self;
}

/* For qsort: compares figures, the largest first; blocks by their names. */
static inline int crn_report_falling(uint64_t a, uint64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

static inline int crn_report_compare_names(const crn_report *report, uint32_t a, uint32_t b)
{
    int result = strcmp(report->profile->blocks[a].name, report->profile->blocks[b].name);
    return result ? result : a < b ? -1 : a > b;
}

/* Returns true if the block may have a row. */
static inline bool crn_report_shows(const crn_report *report, uint32_t block)
{
    return !report->shown || report->shown[block];
}

/* Blocks that were never called and have no cost, by file, line and column. */
typedef struct crn_zero_view {
    uint32_t count, hidden;
    uint32_t *blocks;
    uint32_t ran, known; /* number of blocks that may be shown */
    uint32_t file_count;
    struct crn_zero_file {
        const char *name;
        uint32_t ran, known;
    } * files; /* files with blocks that did not run, by name */
} crn_zero_view;

crn_zero_view crn_zero_view_make(const crn_report *report);
void crn_zero_view_free(crn_zero_view *view);

/* The comparison: `count` rows of it, for the report's two metrics. */
typedef struct crn_compare_view {
    crn_compare compare;
    uint32_t count, hidden;
    uint64_t *calls; /* by block */
    uint64_t *ready; /* the same, if report->ready; else NULL */
} crn_compare_view;

crn_compare_view crn_compare_view_make(const crn_report *report);
/* The same for a row of the comparison, in either order of the metrics. */
uint64_t crn_compare_view_waited(const crn_report *report, const crn_compare_view *view,
                                 const crn_compare_row *row);
void crn_compare_view_free(crn_compare_view *view);

#endif
