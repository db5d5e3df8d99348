/* SPDX-License-Identifier: MIT
 *
 * top.h - the parts of `cairn top`:
 *
 *   source    the file, its program, and snapshots of it
 *   looker    a thread that takes snapshots
 *   model     rows from a snapshot and a choice; independent of the terminal
 *   input     from keys to changes of the choice; independent of the terminal
 *   columns, header    rows and state as pieces of styled text
 *   spans     durations of spans, and missed deadlines
 *   history   sparklines of the last snapshots
 *   pen       text, amounts and bars on a line
 *   screen, batch      these pieces on ncurses, or stdout
 */
#ifndef CRN_CLI_TOP_TOP_H
#define CRN_CLI_TOP_TOP_H

#include <pthread.h>
#include <stdio.h>

#include "cli/common/terminal.h"
#include "profile/profile.h"
#include "spans/spans.h"
#include "symbols/symbols.h"

/* ---- snapshots ---- */

typedef enum crn_top_view {
    CRN_TOP_SELF,
    CRN_TOP_INCLUSIVE,
    CRN_TOP_TREE,
    CRN_TOP_CALLERS,
    CRN_TOP_LANES,
    CRN_TOP_SOURCE, /* lines of a function */
    CRN_TOP_SPANS,  /* durations, by block */
    CRN_TOP_FOCUS,  /* a block with its callers and callees */
    CRN_TOP_VIEWS
} crn_top_view;

typedef enum crn_top_state {
    CRN_TOP_WAITING, /* the file does not exist yet */
    CRN_TOP_RUNNING,
    CRN_TOP_SUSPENDED, /* the program was stopped by a signal */
    CRN_TOP_STOPPED,   /* the program ended; recording had stopped before */
    CRN_TOP_ENDED,
    CRN_TOP_KILLED,    /* the program ended without closing the file */
    CRN_TOP_UNREADABLE /* the last good snapshot is still shown */
} crn_top_state;

/* Deadlines: how long spans of a name may take. */
enum { CRN_TOP_DEADLINES = 32 };
typedef struct crn_top_deadlines {
    uint32_t count;
    struct {
        const char *name;
        uint64_t time; /* ns */
    } all[CRN_TOP_DEADLINES];
} crn_top_deadlines;

/* The data that a snapshot reads besides the profile, chosen by the view. */
typedef struct crn_top_needs {
    crn_top_view view;
    const crn_top_deadlines *deadlines; /* NULL: none */
} crn_top_needs;

typedef struct crn_top_span_table {
    crn_span_table table; /* of spans that have ended */
    uint64_t *missed;     /* by block: of these spans, those beyond the deadline */
    uint32_t *row;        /* by block: index of its row in `table`, plus 1; 0: no row */
} crn_top_span_table;

/* The spans of a snapshot. Blocks are numbered as in the capture. */
typedef struct crn_top_spans {
    uint32_t block_count;
    uint64_t *deadlines; /* by block, ns; 0: none */
    uint64_t length;     /* ns, the last recorded moment */
    bool compared;       /* `since` has the spans that ended after the previous snapshot */
    crn_top_span_table all, since;
} crn_top_spans;

/* Measures the spans. `before` is the previous snapshot's of the same run, or NULL. */
crn_top_spans *crn_top_spans_make(const crn_trace *trace, const crn_profile *profile,
                                  const crn_top_spans *before, const crn_top_deadlines *deadlines);
void crn_top_spans_free(crn_top_spans *spans);

/* A snapshot of the capture, and its difference to the previous one. */
typedef struct crn_top_look {
    crn_top_state state;
    double changed;            /* seconds since the file's last change, if the program was killed */
    char problem[512];         /* why the capture cannot be read, or which file is waited for */
    unsigned run;              /* incremented when another run's capture replaces the file */
    uint64_t taken_ns;         /* CLOCK_MONOTONIC, halfway through reading */
    double interval;           /* seconds since the previous snapshot; 0: the first of this run */
    crn_profile *profile;      /* NULL: nothing was read */
    crn_profile *read;         /* as recorded, if `profile` has functions in place of addresses; or
                                  NULL */
    crn_symbols_place *places; /* by block of `read` */
    uint64_t *gained[CRN_METRIC_MAX]; /* source view: by block of `read`, new self cost */
    crn_since since;                  /* difference of `profile` to the previous snapshot's */
    crn_lanes lanes, lanes_before; /* with CRN_TOP_LANES; lanes_before: the previous snapshot's */
    crn_top_spans *spans;          /* with CRN_TOP_SPANS; otherwise NULL */
    char children[256];            /* file names of the captures of forked children */
    double cost;                   /* processor seconds of this snapshot */
    double helpers;                /* part of `cost` in child processes that read symbols */
    uint64_t samples;              /* number of samples since the previous snapshot */
    bool here;                     /* the process runs on this machine */
    double cpu;           /* processors used since the previous snapshot; below 0: unknown */
    double cpu_s, cpu_at; /* the program's processor seconds so far, below 0: unknown; when they
                             were read, CLOCK_MONOTONIC */
} crn_top_look;

void crn_top_look_free(crn_top_look *look);

/* Takes a snapshot of `path` with what `needs` asks for. `before` is the last readable snapshot, or
 * NULL; the caller keeps it. All snapshots of a path share `names`. */
crn_top_look crn_top_look_take(const char *path, const crn_top_look *before, crn_top_needs needs,
                               crn_symbols_cache *names);

/* A thread that takes snapshots on request. */
typedef struct crn_top_looker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool wanted, ending; /* these and the members down to `done`: under the lock */
    crn_top_needs needs;
    const crn_top_look *before;
    crn_top_look found;
    bool done; /* `found` has a snapshot that was not taken yet */
    const char *path;
    crn_symbols_cache *names; /* only the thread uses it */
    int event;                /* readable when a snapshot is available */
} crn_top_looker;

/* Starts the thread. Returns false if there is no thread or descriptor. */
bool crn_top_looker_start(crn_top_looker *looker, const char *path);
/* Requests a snapshot, one at a time. `before` must not change until the snapshot is available. */
void crn_top_looker_ask(crn_top_looker *looker, const crn_top_look *before, crn_top_needs needs);
/* Returns true if the requested snapshot is available; the caller then owns it. */
bool crn_top_looker_take(crn_top_looker *looker, crn_top_look *found);
void crn_top_looker_end(crn_top_looker *looker);

/* ---- choice ---- */

typedef enum crn_top_sort {
    CRN_TOP_BY_SELF,
    CRN_TOP_BY_INCLUSIVE,
    CRN_TOP_BY_CALLS,
    CRN_TOP_BY_NAME,
    CRN_TOP_SORTS
} crn_top_sort;

/* NULL-terminated. */
extern const char *const crn_top_view_names[CRN_TOP_VIEWS + 1];
extern const char *const crn_top_sort_names[CRN_TOP_SORTS + 1];

/* A context of the tree, opened or closed by the user or automatically. A hash of its path
 * identifies it. */
typedef struct crn_top_fold {
    uint64_t identity;
    bool open, chosen; /* chosen: by the user */
} crn_top_fold;

typedef struct crn_top_choice {
    crn_top_view view, back; /* back: view to which Esc returns from a focus or a source */
    char metric[64];         /* "": the capture's main metric */
    crn_top_sort sort;
    bool total; /* figures since the start, not since the previous snapshot */
    bool paused, help, quit;
    double delay; /* seconds between snapshots */
    bool typing;  /* the filter is being typed */
    char filter[128], filter_before[128];
    char focus[256];        /* block, as crn_reference_spell writes it; "": none */
    uint64_t selected;      /* identity of the row that the cursor follows; 0: the first row */
    uint32_t cursor, first; /* indices of rows; first: the first shown */
    crn_top_fold *folds;    /* sorted by identity */
    uint32_t fold_count;
    uint32_t most; /* limit on rows; 0: the view's */
} crn_top_choice;

/* ---- rows ---- */

typedef struct crn_top_span_figures {
    uint64_t median, most;     /* ns; `self` of the row is the 99th percentile */
    uint64_t missed, deadline; /* deadline: ns, 0: none */
} crn_top_span_figures;

typedef struct crn_top_row {
    uint64_t identity; /* of a block, a context's path or a lane; 0 only for headings */
    const crn_block_info *block;
    const char *heading;       /* heads a part of the table, without figures */
    const crn_lane_info *lane; /* with CRN_TOP_LANES */
    const char *text;          /* with CRN_TOP_SOURCE */
    crn_top_span_figures span; /* with CRN_TOP_SPANS */
    uint32_t line;
    uint64_t self, inclusive, calls; /* in the interval, or since the start */
    uint64_t self_total, inclusive_total, calls_total;
    uint64_t cycles; /* calls that came back over a cycle */
    uint64_t bars;   /* of a tree: bit l is set if siblings follow at level l, up to 62 */
    uint32_t level;
    bool last, only; /* of a tree: last of its siblings; has no siblings, and is drawn at its
                        parent's level */
    bool open, leaf;
} crn_top_row;

typedef struct crn_top_rows {
    crn_top_row *rows;
    uint32_t count;
    uint64_t hidden; /* number of rows beyond the limit */
    uint64_t small;  /* number of contexts of a tree whose share is too small */
    uint64_t whole;  /* total of the metric; shares are shares of it */
    double seconds;  /* length of the interval for rates; 0: figures are totals */
    uint32_t metric;
    const crn_metric_info *info;
    bool calls; /* calls were counted, and are not `metric` */
    crn_top_view view;
    crn_profile *owned;           /* derived profile that rows may point into; or NULL */
    char *source;                 /* text of the source view */
    const crn_profile *looked_at; /* the profile whose figures are shown */
    char remark[256];             /* why there are no rows, or "" */
} crn_top_rows;

/* Returns the chosen metric. */
uint32_t crn_top_metric(const crn_top_look *look, const crn_top_choice *choice);
/* Sets choice->metric to the next (`step` 1) or previous (-1) metric with any cost. */
void crn_top_metric_step(const crn_top_look *look, crn_top_choice *choice, int step);

/* Makes the rows. Opens and closes contexts of the tree automatically, and lets the cursor follow
 * its row. */
crn_top_rows crn_top_rows_make(const crn_top_look *look, crn_top_choice *choice);
void crn_top_rows_free(crn_top_rows *rows);

/* ---- internal to the model ---- */

/* Adds the rows of the tree of contexts. `totals`: the profile since the start; NULL: no totals.
 * `upside_down`: `shown` is a tree of callers. */
void crn_top_tree_rows(crn_top_rows *rows, const crn_profile *shown, const crn_profile *totals,
                       crn_top_choice *choice, bool upside_down);
void crn_top_span_rows(crn_top_rows *rows, const crn_top_look *look, const crn_top_choice *choice);
void crn_top_lane_rows(crn_top_rows *rows, const crn_top_look *look, const crn_top_choice *choice);
/* Adds the lines of a function's source with their costs; a remark if the source cannot be read. */
void crn_top_line_rows(crn_top_rows *rows, const crn_profile *shown, const crn_top_look *look,
                       uint32_t block);
/* Returns, by block, the self cost of a profile of addresses. The cost of allocation functions is
 * charged to their callers. Free it with crn_free. */
uint64_t *crn_top_address_costs(const crn_profile *profile, const crn_symbols_place *places,
                                uint32_t metric);
/* Returns the identity of a block below a context, or of the block alone (0). It is equal in all
 * snapshots. */
uint64_t crn_top_identity(uint64_t context, const crn_block_info *block);
crn_top_row *crn_top_rows_add(crn_top_rows *rows);
bool crn_top_matches(const crn_top_choice *choice, const crn_block_info *block);
/* Opens or closes a context. */
void crn_top_fold_set(crn_top_choice *choice, uint64_t identity, bool open, bool chosen);
const crn_top_fold *crn_top_fold_get(const crn_top_choice *choice, uint64_t identity);

/* ---- input ---- */

enum { /* codes beyond characters */
       CRN_KEY_UP = 0x110000,
       CRN_KEY_DOWN,
       CRN_KEY_LEFT,
       CRN_KEY_RIGHT,
       CRN_KEY_PAGE_UP,
       CRN_KEY_PAGE_DOWN,
       CRN_KEY_HOME,
       CRN_KEY_END,
       CRN_KEY_ENTER,
       CRN_KEY_ESCAPE,
       CRN_KEY_BACKSPACE
};

/* Handles a key. `page` is the number of shown rows. Returns false for unknown keys. */
bool crn_top_key(crn_top_choice *choice, const crn_top_look *look, const crn_top_rows *rows,
                 uint32_t page, int key);

/* Keys and their help texts, NULL-terminated. */
typedef struct crn_top_key_help {
    const char *keys, *what;
} crn_top_key_help;
extern const crn_top_key_help crn_top_help[];

/* ---- history ---- */

enum { CRN_TOP_HISTORY = 40 };

/* Figures of a run's last snapshots; each array ends with the newest. */
typedef struct crn_top_history {
    unsigned run;
    uint32_t count; /* number of snapshots, at most CRN_TOP_HISTORY */
    double cpu[CRN_TOP_HISTORY];
    double rates[CRN_METRIC_MAX][CRN_TOP_HISTORY]; /* by metric, a second; of a level its value */
} crn_top_history;

void crn_top_history_add(crn_top_history *history, const crn_top_look *look);

/* ---- drawing ---- */

/* Appends sanitised, styled text to the current line. */
typedef struct crn_pen crn_pen;
struct crn_pen {
    void (*put)(crn_pen *pen, crn_style style, const char *text);
    FILE *out;    /* in batch mode */
    size_t width; /* columns of a line; 0: unlimited */
    size_t used;  /* columns of the current line */
    bool marked;  /* the line is at the cursor */
};

/* Appends untrusted text, sanitised and cut to the line and to `limit` columns (0: no limit). */
void crn_pen_text(crn_pen *pen, crn_style style, const char *text, size_t limit, bool keep_end);
void crn_pen_format(crn_pen *pen, crn_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Appends spaces up to a column. */
void crn_pen_to(crn_pen *pen, size_t column);

/* Formats "12.3M", "1.23 s": three digits, at most eight columns. `unit` is the metric's. */
enum { CRN_AMOUNT_SIZE = 24, CRN_AMOUNT_WIDTH = 8 };
const char *crn_top_amount(char text[CRN_AMOUNT_SIZE], const char *unit, double amount);

/* Appends the last `width` of the history's `values` as a line of bars; nothing if all are 0. */
void crn_top_sparkline(crn_pen *pen, const crn_top_history *history, const double *values,
                       uint32_t width);
/* Returns the glyph of a bar that is `part` (0 to 1) of a line high. */
const char *crn_top_level(double part);
/* Appends a bar that fills `part` (0 to 1) of `width` columns; with one column it grows upwards. */
void crn_top_meter(crn_pen *pen, double part, uint32_t width);

typedef struct crn_top_header {
    const char *path;
    const crn_top_look *look;
    const crn_top_choice *choice;
    const crn_top_rows *rows;
    const crn_top_history *history; /* NULL: no sparklines */
    double every;                   /* seconds between snapshots */
} crn_top_header;

enum { CRN_TOP_HEADER_LINES = 5 };
/* Prints one line above the table. Returns false if it would be empty. */
bool crn_top_header_line(crn_pen *pen, int line, const crn_top_header *header);
void crn_top_titles(crn_pen *pen, const crn_top_rows *rows, const crn_top_choice *choice);
void crn_top_row_draw(crn_pen *pen, const crn_top_rows *rows, const crn_top_row *row);

/* ---- output ---- */

typedef struct crn_top_options {
    const char *path;
    uint64_t count; /* limit on snapshots; 0: no limit */
    crn_top_deadlines deadlines;
} crn_top_options;

/* Returns the seconds to wait after a snapshot: the delay, or longer, to use at most a twentieth of
 * a processor. */
double crn_top_wait(const crn_top_choice *choice, double cost);

int crn_top_batch(FILE *out, const crn_top_options *options, crn_top_choice *choice);
int crn_top_screen(const crn_top_options *options, crn_top_choice *choice);

#endif
