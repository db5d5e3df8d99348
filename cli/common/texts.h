/* SPDX-License-Identifier: MIT
 *
 * texts.h - tables of texts, for columns with figures of different kinds.
 */
#ifndef CRN_CLI_COMMON_TEXTS_H
#define CRN_CLI_COMMON_TEXTS_H

#include <stdio.h>

#include "table.h"

enum { CRN_TEXTS_COLUMNS = 10, CRN_TEXTS_CELL = 48, CRN_TEXTS_NAME = 512 };

typedef struct crn_texts_row {
    char cells[CRN_TEXTS_COLUMNS][CRN_TEXTS_CELL];
    char before[CRN_TEXTS_NAME]; /* printed before the block's name, or in place of it */
    crn_block_info block;        /* its name may be "" */
    crn_style styles[CRN_TEXTS_COLUMNS];
} crn_texts_row;

/* Zero it, except for the titles and their ranks. */
typedef struct crn_texts {
    size_t columns;
    const char *titles[CRN_TEXTS_COLUMNS];
    unsigned ranks[CRN_TEXTS_COLUMNS]; /* crn_table.rank */
    crn_texts_row *rows;
    size_t count, room;
} crn_texts;

/* Adds an empty row; valid until the next is added. */
crn_texts_row *crn_texts_add(crn_texts *texts);
void crn_texts_cell(crn_texts_row *row, size_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "82.1" in a colour by size, "-" for none; `share` is of 1. */
void crn_texts_share(crn_texts_row *row, size_t column, double share);

/* Prints the table with `name` over the names, and frees it. */
void crn_texts_print(FILE *out, crn_texts *texts, const char *name);

/* ---- fractional figures ---- */

/* "1.25 ms", "-0.3 ns"; "-" for NaN. Returns `text`. */
const char *crn_texts_time(char text[CRN_FIGURE_SIZE], double ns);
/* "1,234", "12.5"; "-" for NaN. Returns `text`. */
const char *crn_texts_number(char text[CRN_FIGURE_SIZE], double number);
/* "82 %", "0.4 %". Returns `text`. */
const char *crn_texts_percent(char text[CRN_FIGURE_SIZE], double share);

#endif
