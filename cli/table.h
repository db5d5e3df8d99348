/* SPDX-License-Identifier: MIT
 *
 * table.h - tables of figures with what they belong to at the end of the line.
 *
 * Columns know the largest figure that they will hold, so rows are printed as they come
 * and a table of millions of rows takes no memory.
 */
#ifndef CRN_CLI_TABLE_H
#define CRN_CLI_TABLE_H

#include "analysis/profile.h"
#include "figure.h"

enum { CRN_TABLE_COLUMNS = 4 * CRN_METRIC_MAX };

typedef enum crn_column_kind {
    CRN_COLUMN_FIGURE,
    CRN_COLUMN_PERCENT, /* of `largest` */
    CRN_COLUMN_CHANGE   /* of a figure: two values */
} crn_column_kind;

typedef struct crn_column {
    crn_column_kind kind;
    crn_scale scale;
    uint64_t largest;
    char title[64];
    size_t width;
} crn_column;

typedef struct crn_table {
    size_t count;
    crn_column columns[CRN_TABLE_COLUMNS];
    size_t name_width; /* that names are padded to, so that places line up */
    size_t limit;      /* columns left for name and place; 0: as long as they are */
} crn_table;

/* Adds a figure's column, "self ms", and behind it the percentages of `largest`, unless
 * `percent` is false. `what` is "self", "inclusive", ... */
void crn_table_figure(crn_table *table, const char *what, const char *unit, uint64_t largest,
                      bool percent);
/* Adds a column of changes by at most `largest`, and of relative changes. */
void crn_table_change(crn_table *table, const char *what, const char *unit, uint64_t largest);

/* Prints the titles, then `name` over the names. */
void crn_table_head(crn_table *table, const char *name);

/* Prints the next row's cells, in the order of the columns that were added. */
typedef struct crn_row {
    const crn_table *table;
    size_t column;
} crn_row;

crn_row crn_row_begin(const crn_table *table);
void crn_row_figure(crn_row *row, uint64_t value); /* and its percentage, if that is next */
void crn_row_change(crn_row *row, uint64_t from, uint64_t to);
void crn_row_blank(crn_row *row); /* for all that are left */
/* Ends the row with a block: `prefix` as it is, its name, `suffix` as it is, its place. */
void crn_row_block(crn_row *row, const char *prefix, const crn_block_info *block,
                   const char *suffix);

/* Widens table->name_width for a block that will be shown. */
void crn_table_measure(crn_table *table, const char *prefix, const crn_block_info *block,
                       const char *suffix);

#endif
