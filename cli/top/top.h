/* SPDX-License-Identifier: MIT
 *
 * top.h - the parts of `cairn top`: what is looked at, what a person has chosen to see of
 * it, the rows that follow from the two, and how they are drawn, on a terminal or as text.
 *
 *   source    the file, its program, and looks at it
 *   looker    a thread that looks
 *   model     rows from a look and a choice; no terminal in it
 *   input     keys to changes of the choice; no terminal in it either
 *   columns, header    rows and state to pieces of text with a style
 *   screen, batch      those pieces to ncurses, or to stdout
 */
#ifndef CRN_CLI_TOP_TOP_H
#define CRN_CLI_TOP_TOP_H

#include <pthread.h>

#include "cli/common/terminal.h"
#include "profile/profile.h"
#include "symbols/symbols.h"

/* ---- looks ---- */

typedef enum crn_top_state {
    CRN_TOP_WAITING, /* the file is not there yet */
    CRN_TOP_RUNNING,
    CRN_TOP_SUSPENDED, /* the program was stopped by a signal */
    CRN_TOP_STOPPED,   /* recording could not go on */
    CRN_TOP_ENDED,
    CRN_TOP_KILLED,    /* the program is gone, and did not close the file */
    CRN_TOP_UNREADABLE /* what was read before is still shown */
} crn_top_state;

/* One reading of the capture, and what has changed since the one before. */
typedef struct crn_top_look {
    crn_top_state state;
    double changed;       /* seconds since the file last changed, if killed */
    char problem[512];    /* why it cannot be read, or is waited for */
    unsigned run;         /* goes up when another run has taken the file's place */
    uint64_t taken_ns;    /* CLOCK_MONOTONIC, halfway through reading it */
    double interval;      /* seconds since the reading before; 0: there was none of this run */
    crn_profile *profile; /* NULL if nothing was read yet */
    crn_profile *read;    /* as it was read, if that was addresses and `profile` has names */
    crn_since since;      /* of `profile` */
    crn_lanes lanes, lanes_before;
    char children[256]; /* names of captures beside it that its forked children write */
    double cost;        /* processor seconds that this reading took */
    double helpers;     /* of these: of processes that read files for it */
    uint64_t samples;   /* taken since the reading before */
} crn_top_look;

void crn_top_look_free(crn_top_look *look);

/* Reads `path`; `before` is the last look that read something, or NULL. What `before`
 * holds is not taken over, and may be freed afterwards. `names` is for all looks at a path. */
crn_top_look crn_top_look_take(const char *path, const crn_top_look *before, bool lanes,
                               crn_symbols_cache *names);

/* A thread that takes looks when it is asked to. */
typedef struct crn_top_looker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool wanted, ending; /* under the lock, as all below */
    bool lanes;
    const crn_top_look *before;
    crn_top_look found;
    bool done;
    const char *path;
    crn_symbols_cache *names; /* the thread's own */
    int event;                /* readable when a look is there */
} crn_top_looker;

bool crn_top_looker_start(crn_top_looker *looker, const char *path);
/* One at a time. `before` must stay as it is until the look is there. */
void crn_top_looker_ask(crn_top_looker *looker, const crn_top_look *before, bool lanes);
/* True when the look that was asked for is there: it is the caller's then. */
bool crn_top_looker_take(crn_top_looker *looker, crn_top_look *found);
void crn_top_looker_end(crn_top_looker *looker);

/* ---- the choice ---- */

typedef enum crn_top_view {
    CRN_TOP_SELF,
    CRN_TOP_INCLUSIVE,
    CRN_TOP_TREE,
    CRN_TOP_CALLERS,
    CRN_TOP_LANES,
    CRN_TOP_FOCUS, /* a block, what leads into it and what it leads to */
    CRN_TOP_VIEWS
} crn_top_view;

typedef enum crn_top_sort {
    CRN_TOP_BY_SELF,
    CRN_TOP_BY_INCLUSIVE,
    CRN_TOP_BY_CALLS,
    CRN_TOP_BY_NAME,
    CRN_TOP_SORTS
} crn_top_sort;

extern const char *const crn_top_view_names[CRN_TOP_VIEWS];
extern const char *const crn_top_sort_names[CRN_TOP_SORTS];

/* Which contexts of a tree a person has opened or closed, and which opened by themselves;
 * contexts are known by a hash of their path, which is the same at each look. */
typedef struct crn_top_fold {
    uint64_t identity;
    bool open, chosen; /* by a person */
} crn_top_fold;

typedef struct crn_top_choice {
    crn_top_view view, back; /* back: where Esc leads to from a focus */
    char metric[64];         /* "" is what the capture is most about */
    crn_top_sort sort;
    bool total; /* since the start, instead of since the last look */
    bool paused, help, quit;
    double delay; /* seconds between looks */
    bool typing;  /* the filter is being written */
    char filter[128], filter_before[128];
    char focus[256];   /* block, as crn_reference_spell has it; "" is none */
    uint64_t selected; /* the row that the cursor stays with; 0: the first one, whatever it is */
    uint32_t cursor, first; /* row; first row that is shown */
    crn_top_fold *folds;    /* by identity, rising */
    uint32_t fold_count;
    uint32_t most; /* rows; 0 is as many as the views have */
} crn_top_choice;

/* ---- rows ---- */

typedef struct crn_top_row {
    uint64_t identity; /* of a block, a context's path or a lane; never 0, but for headings */
    const crn_block_info *block;
    const char *heading;             /* of a part of the table: no figures */
    const crn_lane_info *lane;       /* of the lanes' view */
    uint64_t self, inclusive, calls; /* in the interval, or since the start */
    uint64_t self_total, inclusive_total, calls_total;
    uint64_t cycles; /* calls that came back along cycles */
    uint64_t bars;   /* of a tree: bit l: more siblings follow at level l (to 62) */
    uint32_t level;
    bool last, only; /* as in analysis/tree.h */
    bool open, leaf;
} crn_top_row;

typedef struct crn_top_rows {
    crn_top_row *rows;
    uint32_t count;
    uint64_t hidden; /* rows that the limits left out */
    uint64_t small;  /* contexts of a tree that are too small a share to be shown */
    uint64_t whole;  /* of the metric, of which shares are */
    double seconds;  /* that the figures are of, when they are rates; 0 for totals */
    uint32_t metric;
    const crn_metric_info *info;
    bool calls; /* calls were counted and are not the metric */
    crn_top_view view;
    crn_profile *owned; /* what rows point into, beside the look */
    const crn_profile *looked_at;
    char remark[256]; /* why there is nothing, or "" */
} crn_top_rows;

/* The metric that is chosen. */
uint32_t crn_top_metric(const crn_top_look *look, const crn_top_choice *choice);
/* Sets choice->metric to the next one that holds something, or the one before. */
void crn_top_metric_step(const crn_top_look *look, crn_top_choice *choice, int step);

/* What is to be shown. Opens and closes contexts of the tree that do so by themselves, and
 * moves the cursor with the row that it is on. */
crn_top_rows crn_top_rows_make(const crn_top_look *look, crn_top_choice *choice);
void crn_top_rows_free(crn_top_rows *rows);

/* Parts of the model. */
void crn_top_tree_rows(crn_top_rows *rows, const crn_profile *shown, const crn_profile *totals,
                       crn_top_choice *choice, bool upside_down);
void crn_top_lane_rows(crn_top_rows *rows, const crn_top_look *look, const crn_top_choice *choice);
/* What is the same at each look: of a block in a context, or in any (0). Numbers are not. */
uint64_t crn_top_identity(uint64_t context, const crn_block_info *block);
crn_top_row *crn_top_rows_add(crn_top_rows *rows);
bool crn_top_matches(const crn_top_choice *choice, const crn_block_info *block);
/* Opens or closes a context. */
void crn_top_fold_set(crn_top_choice *choice, uint64_t identity, bool open, bool chosen);
const crn_top_fold *crn_top_fold_get(const crn_top_choice *choice, uint64_t identity);

/* ---- input ---- */

enum { /* beside characters */
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

/* Applies a key. `page` is how many rows are shown at once. False if it means nothing. */
bool crn_top_key(crn_top_choice *choice, const crn_top_look *look, const crn_top_rows *rows,
                 uint32_t page, int key);

/* What the keys do, for the help: NULL ends it. */
typedef struct crn_top_key_help {
    const char *keys, *what;
} crn_top_key_help;
extern const crn_top_key_help crn_top_help[];

/* ---- drawing ---- */

/* Puts safe text, with a style, at the end of the line that is being drawn. */
typedef struct crn_pen crn_pen;
struct crn_pen {
    void (*put)(crn_pen *pen, crn_style style, const char *text);
    size_t width; /* columns of a line; 0: any number */
    size_t used;  /* of this line */
    bool marked;  /* the line is the one that the cursor is on */
};

/* Any text, made safe, and cut at the end of the line or after `limit` columns (0: not). */
void crn_pen_text(crn_pen *pen, crn_style style, const char *text, size_t limit, bool keep_end);
void crn_pen_format(crn_pen *pen, crn_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Spaces up to a column. */
void crn_pen_to(crn_pen *pen, size_t column);

/* "12.3M", "1.23 s": three digits and at most eight columns. `unit` is a metric's. */
enum { CRN_AMOUNT_SIZE = 24, CRN_AMOUNT_WIDTH = 8 };
const char *crn_top_amount(char text[CRN_AMOUNT_SIZE], const char *unit, double amount);

enum { CRN_TOP_HEADER_LINES = 4 };
/* One of the lines above the table. False when there is nothing to be said in it. */
bool crn_top_header_line(crn_pen *pen, int line, const char *path, const crn_top_look *look,
                         const crn_top_choice *choice, const crn_top_rows *rows, double every);
void crn_top_titles(crn_pen *pen, const crn_top_rows *rows, const crn_top_choice *choice);
void crn_top_row_draw(crn_pen *pen, const crn_top_rows *rows, const crn_top_row *row);

/* ---- the two ways to show it ---- */

typedef struct crn_top_options {
    const char *path;
    uint64_t count; /* of looks; 0 is until it is ended */
} crn_top_options;

/* How long to wait after a look, in seconds: the delay, or longer where looking would take
 * more than a twentieth of a processor. */
double crn_top_wait(const crn_top_choice *choice, double cost);

int crn_top_batch(const crn_top_options *options, crn_top_choice *choice);
int crn_top_screen(const crn_top_options *options, crn_top_choice *choice);

#endif
