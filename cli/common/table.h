/* SPDX-License-Identifier: MIT
 *
 * table.h - tables of figures; each row ends with a name and a source location.
 *
 * Columns know their largest figure beforehand, so rows are printed at once: a table of millions of
 * rows takes no memory.
 *
 * On a narrow terminal columns are hidden, those of the highest rank first. If only the column of
 * intervals is hidden, intervals replace their figures. Callers pass every figure of a row, shown
 * or hidden.
 */
#ifndef CRN_CLI_COMMON_TABLE_H
#define CRN_CLI_COMMON_TABLE_H

#include <stdio.h>

#include "figure.h"
#include "profile/profile.h"
#include "terminal.h"

enum { CRN_TABLE_COLUMNS = 8 * CRN_METRIC_MAX, CRN_RANK_INTERVAL = 6 };
enum { CRN_TABLE_MARGIN = 2, CRN_TABLE_NAME_MIN = 16 }; /* columns of the terminal */

typedef enum crn_column_kind {
    CRN_COLUMN_FIGURE,
    CRN_COLUMN_INTERVAL, /* of the figure's column before it */
    CRN_COLUMN_PERCENT,  /* of the column's `largest` */
    CRN_COLUMN_CHANGE,   /* of a figure, and relative */
    CRN_COLUMN_POINTS,   /* difference of shares, in percentage points */
    CRN_COLUMN_TEXT      /* any text */
} crn_column_kind;

typedef struct crn_column {
    crn_column_kind kind;
    crn_scale scale;
    uint64_t largest;
    crn_sampling sampling; /* for intervals: how the figures were sampled */
    char title[64];
    size_t width;
    unsigned rank; /* as crn_table.rank */
    bool left_out; /* hidden */
    bool merged;   /* a figure whose interval is printed in its place */
} crn_column;

typedef struct crn_table {
    size_t count;
    crn_column columns[CRN_TABLE_COLUMNS];
    size_t name_width; /* names are padded to it, so that locations align */
    size_t name_least; /* columns are hidden until names have this width; 0: CRN_TABLE_NAME_MIN */
    size_t limit;      /* columns of the terminal left for name and location; 0: unlimited */
    unsigned rank;     /* rank of columns to be added; 0: never hidden */
    const crn_profile *profile; /* for lexical parents of its blocks (nesting.h); or NULL */
    const crn_profile *other;   /* the same, if blocks of two profiles are shown */
    uint32_t within;            /* lexical parent not to repeat, as it is the row above; 0: none */
    bool exact;                 /* locations have column numbers, too */
} crn_table;

/* Adds a column for a figure, titled "self ms", and with `percent` one for its percentage of
 * `largest`. `what` is "self", "total", ... */
void crn_table_figure(crn_table *table, const char *what, const char *unit, uint64_t largest,
                      bool percent);
/* Does the same for a sampled metric, with a column for intervals of figures with few samples;
 * without that column if `sampling` is NULL. */
void crn_table_sampled(crn_table *table, const char *what, const char *unit, uint64_t largest,
                       bool percent, const crn_sampling *sampling);
/* Adds a column for changes of figures up to `largest`, and one for relative changes. */
void crn_table_change(crn_table *table, const char *what, const char *unit, uint64_t largest);
/* Adds a column for differences of shares, in percentage points. */
void crn_table_points(crn_table *table, const char *what);

/* Adds a column for texts of at most `width` columns. */
void crn_table_text(crn_table *table, const char *title, size_t width);

/* Chooses the columns that fit, and prints the titles, `name` last. */
void crn_table_head(FILE *out, crn_table *table, const char *name);

/* Prints notes below the rows: what intervals mean, which columns are hidden. */
void crn_table_foot(FILE *out, const crn_table *table);

/* A row being printed, cell by cell in the order of the columns. */
typedef struct crn_row {
    const crn_table *table;
    size_t column;
    bool begun; /* something was printed */
} crn_row;

crn_row crn_row_begin(const crn_table *table);
/* Prints a figure, then its interval and percentage if the next columns are these. */
void crn_row_figure(FILE *out, crn_row *row, uint64_t value);
/* Does the same for an exact figure, without an interval. */
void crn_row_whole(FILE *out, crn_row *row, uint64_t value);
/* Prints a change. `chance`: sampling alone may have caused it. */
void crn_row_change(FILE *out, crn_row *row, uint64_t from, uint64_t to, bool chance);
void crn_row_points(FILE *out, crn_row *row, double difference, bool chance);
void crn_row_text(FILE *out, crn_row *row, crn_style style, const char *text);
void crn_row_blank(FILE *out, crn_row *row); /* leaves the remaining cells empty */
/* Ends the row with a block: `prefix`, name with lexical parents, `suffix`, location. If space is
 * short, omits the parents. */
void crn_row_block(FILE *out, crn_row *row, const char *prefix, const crn_block_info *block,
                   const char *suffix);
/* Ends a row without figures: `prefix`, and a remark in place of a block. */
void crn_row_remark(FILE *out, crn_row *row, const char *prefix, const char *text);

/* Widens table->name_width for a block to be shown. */
void crn_table_measure(crn_table *table, const char *prefix, const crn_block_info *block,
                       const char *suffix);
/* Returns true if name_width has reached its limit. */
bool crn_table_is_measured(const crn_table *table);

#endif
