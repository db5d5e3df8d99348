/* SPDX-License-Identifier: MIT */
#include "texts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "terminal.h"

crn_texts_row *crn_texts_add(crn_texts *texts)
{
    CRN_GROW(texts->rows, texts->count, texts->room);
    crn_texts_row *row = &texts->rows[texts->count++];
    memset(row, 0, sizeof *row);
    row->block.name = row->block.file = "";
    return row;
}

void crn_texts_cell(crn_texts_row *row, size_t column, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(row->cells[column], CRN_TEXTS_CELL, format, arguments);
    va_end(arguments);
    if (strcmp(row->cells[column], "-") == 0)
        row->styles[column] = CRN_STYLE_DIM;
}

void crn_texts_share(crn_texts_row *row, size_t column, double share)
{
    double percent = 100 * share;
    if (!(fabs(percent) >= 0.05)) {
        crn_texts_cell(row, column, "-");
        return;
    }
    crn_texts_cell(row, column, "%.1f", percent);
    row->styles[column] = percent >= 10  ? CRN_STYLE_HOT
                          : percent >= 3 ? CRN_STYLE_WARM
                                         : CRN_STYLE_PLAIN;
}

void crn_texts_print(FILE *out, crn_texts *texts, const char *name)
{
    crn_table table = {0};
    for (size_t c = 0; c < texts->columns; c++) {
        size_t width = 0;
        for (size_t r = 0; r < texts->count; r++) {
            size_t its = crn_terminal_width(texts->rows[r].cells[c]);
            width = width < its ? its : width;
        }
        table.rank = texts->ranks[c];
        crn_table_text(&table, texts->titles[c], width);
    }
    for (size_t r = 0; r < texts->count; r++)
        if (*texts->rows[r].block.name)
            crn_table_measure(&table, texts->rows[r].before, &texts->rows[r].block, "");
    crn_table_head(out, &table, name);
    for (size_t r = 0; r < texts->count; r++) {
        crn_texts_row *its = &texts->rows[r];
        crn_row row = crn_row_begin(&table);
        for (size_t c = 0; c < texts->columns; c++)
            crn_row_text(out, &row, its->styles[c], its->cells[c]);
        if (*its->block.name)
            crn_row_block(out, &row, its->before, &its->block, "");
        else
            crn_row_block(out, &row, "", &(crn_block_info){.name = its->before, .file = ""}, "");
    }
    crn_table_foot(out, &table);
    crn_free(texts->rows);
    texts->rows = NULL;
    texts->count = texts->room = 0;
}

/* ---- figures ---- */

const char *crn_texts_time(char text[CRN_FIGURE_SIZE], double ns)
{
    double size = fabs(ns);
    if (!(size <= 0x1p62))
        return strcpy(text, "-");
    if (size > 0 && size < 9.995) {
        snprintf(text, CRN_FIGURE_SIZE, "%.3g ns", ns);
        return text;
    }
    char number[CRN_FIGURE_SIZE];
    crn_figure_alone(number, CRN_UNIT_TIME, (uint64_t)(size + 0.5));
    snprintf(text, CRN_FIGURE_SIZE, "%s%.60s", ns < 0 ? "-" : "", number);
    return text;
}

const char *crn_texts_number(char text[CRN_FIGURE_SIZE], double number)
{
    double size = fabs(number);
    if (!isfinite(number))
        return strcpy(text, "-");
    if (size >= 1e15 || (size > 0 && size < 0.01)) {
        snprintf(text, CRN_FIGURE_SIZE, "%.3g", number);
        return text;
    }
    char figure[CRN_FIGURE_SIZE];
    bool whole = size == floor(size);
    crn_figure_fixed(figure, size, whole || size >= 1000 ? 0 : size >= 10 ? 1 : 2);
    snprintf(text, CRN_FIGURE_SIZE, "%s%.60s", number < 0 ? "-" : "", figure);
    return text;
}

const char *crn_texts_percent(char text[CRN_FIGURE_SIZE], double share)
{
    double percent = 100 * share;
    if (fabs(percent) < 0.05)
        return strcpy(text, "0 %");
    snprintf(text, CRN_FIGURE_SIZE, fabs(percent) < 1 ? "%.1f %%" : "%.0f %%", percent);
    return text;
}
