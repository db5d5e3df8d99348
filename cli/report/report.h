/* SPDX-License-Identifier: MIT
 *
 * report.h - the request of `cairn report`, and its views.
 */
#ifndef CRN_CLI_REPORT_REPORT_H
#define CRN_CLI_REPORT_REPORT_H

#include <stdio.h>
#include <string.h>

#include "base/order.h"
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
    uint32_t metrics[CRN_METRIC_MAX], metric_count; /* the first decides the order */
    crn_sampling sampling[CRN_METRIC_MAX];          /* by position in `metrics` */
    bool waits;        /* both wall and cpu are shown: waiting gets a column */
    uint32_t ready;    /* with `waits`: metric of time while no core was free; 0: none */
    bool ready_column; /* `ready` gets a column: it is not in `metrics` */
    bool calls;        /* calls get a column: they were recorded, and are not the first metric */
    uint32_t small; /* metric of calls of functions that --small left out; gets a column; 0: none */
    crn_sort sort;
    uint32_t top;       /* limit on rows of each part; 0: none */
    double threshold;   /* smallest share to show, 0 to 1 */
    bool chains;        /* the tree view shows all contexts of chains */
    bool before, after; /* for a sequence: show its callers, its callees */
    bool focused;       /* `focus` is set */
    crn_sequence focus;
    crn_sequence *drops;
    size_t drop_count;
    uint8_t *shown;          /* by block: 1 if it may have a row; NULL: all may */
    const char *given;       /* the argument of --focus */
    const char *title;       /* of the graph for Graphviz; NULL: path and metric */
    bool gray;               /* shades the graph from white to black */
    const char *collector;   /* name of the garbage collector's blocks */
    crn_figure_cache *known; /* cache of figures; or NULL */
} crn_report;

/* Return figures of the report's profile, from the cache if possible. `kept` says by context what
 * counts; NULL: all. */
uint64_t crn_report_total(const crn_report *report, uint32_t metric);
crn_block_cost crn_report_cost(const crn_report *report, uint32_t metric, const uint8_t *kept);
/* Returns totals by context. Free `*owned` with crn_free; it is NULL if they are cached. */
const uint64_t *crn_report_totals(const crn_report *report, uint32_t metric, const uint8_t *kept,
                                  uint64_t **owned);

/* Adds the columns of a figure of metrics[place], such as "self ms" or "total ticks", and of its
 * percentage; also of intervals if it is `uncertain`: a shown figure has few samples. */
void crn_report_column(crn_table *table, const crn_report *report, const char *what, uint32_t place,
                       uint64_t largest, bool uncertain);
/* Returns true if a figure of metrics[place] needs an interval. */
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
/* Print the label of a line of the summary; print a whole line. */
void crn_report_label(FILE *out, crn_style style, const char *label);
void crn_report_line(FILE *out, const char *label, const char *text);

/* Receives lines of the summary. */
typedef struct crn_report_lines {
    void (*put)(void *to, const char *label, const char *text);
    void *to;
} crn_report_lines;

/* Put the summary's lines on how figures were measured: clocks and their samples; the cost of
 * profiling; waiting (wall without cpu time); allocations and their sampling; the garbage
 * collector's cost. Each puts its lines, or none; a second line has an empty label. */
void crn_report_clocks(const crn_report_lines *lines, const crn_profile *profile);
void crn_report_overhead(const crn_report_lines *lines, const crn_profile *profile);
void crn_report_waiting(const crn_report_lines *lines, const crn_profile *profile);
void crn_report_memory(const crn_report_lines *lines, const crn_report *report);
void crn_report_collector(const crn_report_lines *lines, const crn_report *report);

typedef enum crn_report_state {
    CRN_REPORT_ENDED,
    CRN_REPORT_RUNNING, /* the capture is still being written */
    CRN_REPORT_KILLED,  /* its program ended without closing it */
    CRN_REPORT_UNCLOSED /* of merged captures, at least one is running or killed */
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

/* Writes the page of cairn view with the whole profile. On an error prints a message. Returns the
 * exit status. */
int crn_report_html(const crn_report *report, const char *path);

/* Prints the summary and the view as JSON: docs/REPORT_JSON.md. */
void crn_report_json(FILE *out, const crn_report *report);

/* The flat view: blocks with cost or calls, sorted, and their figures. */
typedef struct crn_flat {
    uint32_t count;                             /* number of rows */
    crn_unshown rest;                           /* blocks without a row */
    uint32_t *blocks;                           /* sorted */
    crn_block_cost calls, cost[CRN_METRIC_MAX]; /* cost: by position in report->metrics */
    crn_block_cost small;                       /* with report->small */
    crn_block_cost ready;                       /* with report->ready */
} crn_flat;

/* The tree view: of the profile, of a sequence's callees, or bottom-up of its callers. */
typedef struct crn_tree_view {
    const crn_profile *profile; /* the rows are its contexts */
    crn_profile *owned;         /* NULL: `profile` is the report's */
    bool upside_down;           /* bottom-up: only totals have a meaning, also of calls */
    uint8_t *kept;              /* by context: 1 if it counts; NULL: all do */
    uint64_t *cycles;           /* by context: calls that came back over a cycle */
    uint64_t *calls;            /* by context; bottom-up: totals */
    crn_tree tree;
} crn_tree_view;

/* `chains`: each context of a chain has a row (crn_tree_options). */
crn_tree_view crn_tree_view_make(const crn_report *report, bool chains);
void crn_tree_view_free(crn_tree_view *view);

crn_flat crn_flat_make(const crn_report *report);
void crn_flat_free(crn_flat *flat, const crn_report *report);
/* Returns the block's self wall time off the processor; needs report->waits. */
uint64_t crn_flat_waited(const crn_report *report, const crn_flat *flat, uint32_t block);

/* The stack view: blocks that ran, or were on the stack, sorted. */
typedef struct crn_stack_view {
    crn_stack stack;
    uint64_t *inclusive; /* by block: `stack` plus `collector` */
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

/* Returns the contexts that the report is about, by context; NULL: all. Free it with crn_free. */
static inline uint8_t *crn_report_kept(const crn_report *report)
{
    return crn_sequence_select(report->profile, report->focused ? &report->focus : NULL,
                               report->drops, report->drop_count);
}

static inline int crn_report_compare_names(const crn_report *report, uint32_t a, uint32_t b)
{
    const crn_block_info *blocks = report->profile->blocks;
    return strcmp(blocks[a].name, blocks[b].name) ?: CRN_ORDER(a, b);
}

/* Returns true if the block may have a row. */
static inline bool crn_report_shows(const crn_report *report, uint32_t block)
{
    return !report->shown || report->shown[block];
}

/* The view of blocks without calls and cost, sorted by file, line and column. */
typedef struct crn_zero_view {
    uint32_t count, hidden;
    uint32_t *blocks;
    uint32_t ran, known; /* number of blocks: that ran; that may have a row */
    uint32_t file_count;
    struct crn_zero_file {
        const char *name;
        uint32_t ran, known;
    } * files; /* files with blocks that did not run, sorted by name */
} crn_zero_view;

crn_zero_view crn_zero_view_make(const crn_report *report);
void crn_zero_view_free(crn_zero_view *view);

/* The comparison of the report's two metrics: its first `count` rows are shown. */
typedef struct crn_compare_view {
    crn_compare compare;
    uint32_t count, hidden;
    uint64_t *calls; /* by block */
    uint64_t *ready; /* by block, with report->ready; else NULL */
} crn_compare_view;

crn_compare_view crn_compare_view_make(const crn_report *report);
/* Returns the time off the processor of a row, in either order of the metrics. */
uint64_t crn_compare_view_waited(const crn_report *report, const crn_compare_view *view,
                                 const crn_compare_row *row);
void crn_compare_view_free(crn_compare_view *view);

#endif
