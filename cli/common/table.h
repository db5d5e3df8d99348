/* SPDX-License-Identifier: MIT
 *
 * table.h - tables of figures, with a name and a place at the end of each row.
 *
 * Columns know the largest figure that they will hold, so rows are printed immediately, and a
 * table of millions of rows takes no memory.
 *
 * On a narrow terminal, columns are hidden: those with the highest rank first. Intervals without a
 * column of their own replace their figures. Callers pass all figures of a row, whichever are
 * shown.
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
    CRN_COLUMN_INTERVAL, /* of the figure before it */
    CRN_COLUMN_PERCENT,  /* of `largest` */
    CRN_COLUMN_CHANGE,   /* of a figure: two values */
    CRN_COLUMN_POINTS,   /* a difference of shares */
    CRN_COLUMN_TEXT      /* any text */
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
    bool merged; /* a figure: its interval replaces it */
} crn_column;

typedef struct crn_table {
    size_t count;
    crn_column columns[CRN_TABLE_COLUMNS];
    size_t name_width; /* names are padded to this width, so that places are aligned */
    size_t name_least; /* minimum width for names, for which columns are hidden; 0: 16 */
    size_t limit;      /* columns left for name and place; 0: unlimited */
    unsigned rank;     /* rank of columns added from now on: rank 0 is always shown, intervals
                          have CRN_RANK_INTERVAL */
    const crn_profile *profile; /* profile whose blocks are shown with their lexical parents
                                   (nesting.h); NULL: by their own names */
    const crn_profile *other;   /* the same, if blocks of two profiles are shown */
    uint32_t within;            /* a lexical parent to leave out, because the row is below its
                                   row */
    bool exact;                 /* show columns of places, too */
} crn_table;

/* Adds a figure's column, "self ms", and unless `percent` is false one for its percentage of
 * `largest`. `what` is "self", "inclusive", ... */
void crn_table_figure(crn_table *table, const char *what, const char *unit, uint64_t largest,
                      bool percent);
/* The same for a sampled metric, with a column for the intervals of figures with few samples. */
void crn_table_sampled(crn_table *table, const char *what, const char *unit, uint64_t largest,
                       bool percent, const crn_sampling *sampling);
/* Adds columns for changes of at most `largest`, and for relative changes. */
void crn_table_change(crn_table *table, const char *what, const char *unit, uint64_t largest);
/* Adds a column for differences of shares, in percentage points. */
void crn_table_points(crn_table *table, const char *what);

/* Adds a column for texts of at most `width` columns. */
void crn_table_text(crn_table *table, const char *title, size_t width);

/* Prints the titles, then `name` over the names. */
void crn_table_head(FILE *out, crn_table *table, const char *name);

/* Prints below the last row what intervals mean and what was hidden; nothing if there is
 * neither. */
void crn_table_foot(FILE *out, const crn_table *table);

/* A row being printed, cell by cell in the order of the columns. */
typedef struct crn_row {
    const crn_table *table;
    size_t column;
    bool begun; /* something was printed */
} crn_row;

crn_row crn_row_begin(const crn_table *table);
/* Prints a figure, its interval and its percentage, as far as those are next. */
void crn_row_figure(FILE *out, crn_row *row, uint64_t value);
/* The same for a total, which is known exactly. */
void crn_row_whole(FILE *out, crn_row *row, uint64_t value);
/* `chance`: sampling alone may have caused the change. */
void crn_row_change(FILE *out, crn_row *row, uint64_t from, uint64_t to, bool chance);
void crn_row_points(FILE *out, crn_row *row, double difference, bool chance);
void crn_row_text(FILE *out, crn_row *row, crn_style style, const char *text);
void crn_row_blank(FILE *out, crn_row *row); /* leaves the remaining cells empty */
/* Ends the row with a block: `prefix`, its name with lexical parents, `suffix`, its place. Without
 * space, its own name alone. */
void crn_row_block(FILE *out, crn_row *row, const char *prefix, const crn_block_info *block,
                   const char *suffix);

/* Widens table->name_width for a block that will be shown. */
void crn_table_measure(crn_table *table, const char *prefix, const crn_block_info *block,
                       const char *suffix);
/* Returns true if name_width cannot grow any more. */
bool crn_table_is_measured(const crn_table *table);

#endif
