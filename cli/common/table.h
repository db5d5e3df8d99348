/* SPDX-License-Identifier: MIT
 *
 * table.h - tables of figures with what they belong to at the end of the line.
 *
 * Columns know the largest figure that they will hold, so rows are printed as they come
 * and a table of millions of rows takes no memory.
 *
 * On a terminal that is too narrow for all columns some are left out: those with the highest
 * rank first. Intervals that have no column of their own stand in place of their figures. Rows
 * are given all their figures, whichever are shown.
 */
#ifndef CRN_CLI_COMMON_TABLE_H
#define CRN_CLI_COMMON_TABLE_H

#include "figure.h"
#include "profile/profile.h"
#include "terminal.h"

enum { CRN_TABLE_COLUMNS = 8 * CRN_METRIC_MAX, CRN_RANK_INTERVAL = 6 };
enum { CRN_TABLE_MARGIN = 2, CRN_TABLE_NAME_MIN = 16 }; /* columns of the terminal */

typedef enum crn_column_kind {
    CRN_COLUMN_FIGURE,
    CRN_COLUMN_INTERVAL, /* of the figure before it */
    CRN_COLUMN_PERCENT,  /* of `largest` */
    CRN_COLUMN_CHANGE,   /* of a figure: two values */
    CRN_COLUMN_POINTS,   /* a difference of shares */
    CRN_COLUMN_TEXT      /* as it comes */
} crn_column_kind;

typedef struct crn_column {
    crn_column_kind kind;
    crn_scale scale;
    uint64_t largest;
    crn_sampling sampling; /* of an interval's figures */
    char title[64];
    size_t width;
    unsigned rank;
    bool left_out;
    bool merged; /* a figure: its interval stands in its place */
} crn_column;

typedef struct crn_table {
    size_t count;
    crn_column columns[CRN_TABLE_COLUMNS];
    size_t name_width; /* that names are padded to, so that places line up */
    size_t name_least; /* that names have room for, whatever is left out for it; 0: 16 */
    size_t limit;      /* columns left for name and place; 0: as long as they are */
    unsigned rank;     /* of the columns that are added next: those of rank 0 always show, and
                          intervals are of rank CRN_RANK_INTERVAL */
    const crn_profile *profile; /* whose blocks are shown with those that they are written inside
                                   of (nesting.h); NULL: by their own names */
    const crn_profile *other;   /* likewise, where blocks of two are shown */
    uint32_t within;            /* a block that need not be told: the row hangs below its row */
    bool exact;                 /* places have columns, too */
} crn_table;

/* Adds a figure's column, "self ms", and behind it the percentages of `largest`, unless
 * `percent` is false. `what` is "self", "inclusive", ... */
void crn_table_figure(crn_table *table, const char *what, const char *unit, uint64_t largest,
                      bool percent);
/* The same of a metric that was sampled, with a column for the intervals of figures that rest
 * on few samples. */
void crn_table_sampled(crn_table *table, const char *what, const char *unit, uint64_t largest,
                       bool percent, const crn_sampling *sampling);
/* Adds a column of changes by at most `largest`, and of relative changes. */
void crn_table_change(crn_table *table, const char *what, const char *unit, uint64_t largest);
/* Adds a column of differences between shares, in points of per cent. */
void crn_table_points(crn_table *table, const char *what);

/* Adds a column of texts of at most `width` columns. */
void crn_table_text(crn_table *table, const char *title, size_t width);

/* Prints the titles, then `name` over the names. */
void crn_table_head(crn_table *table, const char *name);

/* Prints, below the last row, what intervals mean and what was left out for want of room;
 * nothing if there is neither. */
void crn_table_foot(const crn_table *table);

/* Prints the next row's cells, in the order of the columns that were added. */
typedef struct crn_row {
    const crn_table *table;
    size_t column;
    bool begun; /* something was printed */
} crn_row;

crn_row crn_row_begin(const crn_table *table);
/* With its interval and its percentage, if those are next. */
void crn_row_figure(crn_row *row, uint64_t value);
/* The same of all that there is: it is known, however it is divided. */
void crn_row_whole(crn_row *row, uint64_t value);
/* `chance`: the figures were sampled, and their dice alone may have made the change. */
void crn_row_change(crn_row *row, uint64_t from, uint64_t to, bool chance);
void crn_row_points(crn_row *row, double difference, bool chance);
void crn_row_text(crn_row *row, crn_style style, const char *text);
void crn_row_blank(crn_row *row); /* for all that are left */
/* Ends the row with a block: `prefix` as it is, its name with what is around it, `suffix` as it is,
 * its place. Where there is no room for all names it is its own. */
void crn_row_block(crn_row *row, const char *prefix, const crn_block_info *block,
                   const char *suffix);

/* Widens table->name_width for a block that will be shown. */
void crn_table_measure(crn_table *table, const char *prefix, const crn_block_info *block,
                       const char *suffix);
/* It is as wide as it gets: no more need be measured. */
bool crn_table_is_measured(const crn_table *table);

#endif
