/* SPDX-License-Identifier: MIT
 *
 * texts.h - tables of texts, for columns whose rows have different units.
 */
#ifndef CRN_CLI_COMMON_TEXTS_H
#define CRN_CLI_COMMON_TEXTS_H

#include <stdio.h>

#include "table.h"

enum { CRN_TEXTS_COLUMNS = 10, CRN_TEXTS_CELL = 48, CRN_TEXTS_NAME = 512 };

typedef struct crn_texts_row {
    char cells[CRN_TEXTS_COLUMNS][CRN_TEXTS_CELL];
    char before[CRN_TEXTS_NAME]; /* printed before the block's name, or in place of it */
    crn_block_info block;        /* its name "": `before` stands alone */
    crn_style styles[CRN_TEXTS_COLUMNS];
} crn_texts_row;

/* A table. Set `columns`, `titles` and `ranks`; zero the rest. */
typedef struct crn_texts {
    size_t columns;
    const char *titles[CRN_TEXTS_COLUMNS];
    unsigned ranks[CRN_TEXTS_COLUMNS]; /* crn_table.rank */
    crn_texts_row *rows;
    size_t count, room;
} crn_texts;

/* Adds an empty row, valid until the next call. */
crn_texts_row *crn_texts_add(crn_texts *texts);
void crn_texts_cell(crn_texts_row *row, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Sets a cell to "82.1" for a share of 0.821, coloured by size; "-" below 0.05 %. */
void crn_texts_share(crn_texts_row *row, size_t column, double share);

/* Prints the table, with `name` as the title of names, and frees it. */
void crn_texts_print(FILE *out, crn_texts *texts, const char *name);

/* ---- fractional figures ---- */

/* Formats "1.25 ms", "-0.3 ns"; "-" for NaN and beyond 2^62 ns. Returns `text`. */
const char *crn_texts_time(char text[CRN_FIGURE_SIZE], double ns);
/* Formats "1,234", "12.5"; "-" for NaN and infinity. Returns `text`. */
const char *crn_texts_number(char text[CRN_FIGURE_SIZE], double number);
/* Formats "82 %", "0.4 %". Returns `text`. */
const char *crn_texts_percent(char text[CRN_FIGURE_SIZE], double share);

#endif
