/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "terminal.h"

enum {
    MARGIN = 2,
    NAME_PAD_MAX = 44,
    NAME_MIN = 16,
    PLACE_MIN = 20,
    PERCENT_WIDTH = 5,
    RELATIVE_WIDTH = 8
};
#define PERCENT_HOT 10.0
#define PERCENT_WARM 3.0

static crn_column *add(crn_table *table, crn_column_kind kind, const char *title)
{
    crn_column *column = &table->columns[table->count++];
    column->kind = kind;
    snprintf(column->title, sizeof column->title, "%s", title);
    column->width = crn_terminal_width(title);
    return column;
}

static crn_column *add_figure(crn_table *table, crn_column_kind kind, const char *what,
                              const char *unit, uint64_t largest)
{
    char title[64], text[CRN_FIGURE_SIZE];
    crn_scale scale = crn_scale_for(unit, largest);
    snprintf(title, sizeof title, "%s%s%s", what, *scale.unit ? " " : "", scale.unit);
    crn_column *column = add(table, kind, title);
    column->scale = scale;
    column->largest = largest;
    size_t length = crn_figure(text, scale, largest) + (kind == CRN_COLUMN_CHANGE);
    if (column->width < length)
        column->width = length;
    return column;
}

void crn_table_figure(crn_table *table, const char *what, const char *unit, uint64_t largest,
                      bool percent)
{
    add_figure(table, CRN_COLUMN_FIGURE, what, unit, largest);
    if (!percent)
        return;
    crn_column *column = add(table, CRN_COLUMN_PERCENT, "%");
    column->largest = largest;
    column->width = PERCENT_WIDTH;
}

void crn_table_change(crn_table *table, const char *what, const char *unit, uint64_t largest)
{
    add_figure(table, CRN_COLUMN_CHANGE, what, unit, largest);
    add(table, CRN_COLUMN_PERCENT, "%")->width = RELATIVE_WIDTH;
}

void crn_table_head(crn_table *table, const char *name)
{
    size_t used = 0;
    crn_terminal_style(CRN_STYLE_TITLE);
    for (size_t i = 0; i < table->count; i++) {
        const crn_column *column = &table->columns[i];
        size_t gap = i ? MARGIN : 0, width = crn_terminal_width(column->title);
        printf("%*s%s", (int)(gap + column->width - width), "", column->title);
        used += gap + column->width;
    }
    printf("%*s%s", MARGIN, "", name);
    crn_terminal_style(CRN_STYLE_PLAIN);
    putchar('\n');
    size_t width = crn_terminal_get()->width;
    if (width)
        table->limit = width > used + MARGIN + NAME_MIN ? width - used - MARGIN : NAME_MIN;
}

crn_row crn_row_begin(const crn_table *table)
{
    return (crn_row){table, 0};
}

static const crn_column *next_column(crn_row *row)
{
    const crn_column *column = &row->table->columns[row->column];
    printf("%*s", row->column ? MARGIN : 0, "");
    row->column++;
    return column;
}

static bool percent_is_next(const crn_row *row)
{
    return row->column < row->table->count &&
           row->table->columns[row->column].kind == CRN_COLUMN_PERCENT;
}

static void print_styled(crn_style style, size_t width, const char *text)
{
    if (style != CRN_STYLE_PLAIN)
        crn_terminal_style(style);
    printf("%*s", (int)width, text);
    if (style != CRN_STYLE_PLAIN)
        crn_terminal_style(CRN_STYLE_PLAIN);
}

void crn_row_figure(crn_row *row, uint64_t value)
{
    char text[CRN_FIGURE_SIZE] = "-";
    const crn_column *column = next_column(row);
    if (value)
        crn_figure(text, column->scale, value);
    print_styled(value ? CRN_STYLE_PLAIN : CRN_STYLE_DIM, column->width, text);
    if (!percent_is_next(row))
        return;
    column = next_column(row);
    double percent = crn_percent(value, column->largest);
    if (value)
        snprintf(text, sizeof text, "%.1f", percent);
    print_styled(!value                    ? CRN_STYLE_DIM
                 : percent >= PERCENT_HOT  ? CRN_STYLE_HOT
                 : percent >= PERCENT_WARM ? CRN_STYLE_WARM
                                           : CRN_STYLE_PLAIN,
                 column->width, text);
}

void crn_row_change(crn_row *row, uint64_t from, uint64_t to)
{
    char text[CRN_FIGURE_SIZE] = "-";
    const crn_column *column = next_column(row);
    if (from != to)
        crn_figure_change(text, column->scale, from, to);
    print_styled(from == to ? CRN_STYLE_DIM : CRN_STYLE_PLAIN, column->width, text);
    column = next_column(row);
    double percent = from ? 100.0 * ((double)to - (double)from) / (double)from : 0;
    if (!from && to)
        snprintf(text, sizeof text, "new");
    else if (from && !to)
        snprintf(text, sizeof text, "gone");
    else if (from != to)
        snprintf(text, sizeof text, fabs(percent) < 10000 ? "%+.1f" : "%+.2g", percent);
    print_styled(from == to     ? CRN_STYLE_DIM
                 : percent >= 5 ? CRN_STYLE_HOT
                                : CRN_STYLE_PLAIN,
                 column->width, text);
}

void crn_row_blank(crn_row *row)
{
    while (row->column < row->table->count) {
        const crn_column *column = next_column(row);
        printf("%*s", (int)column->width, "");
    }
}

void crn_table_measure(crn_table *table, const char *prefix, const crn_block_info *block,
                       const char *suffix)
{
    size_t width =
        crn_terminal_width(prefix) + crn_terminal_width(block->name) + crn_terminal_width(suffix);
    if (width > NAME_PAD_MAX)
        width = NAME_PAD_MAX;
    if (width > table->name_width)
        table->name_width = width;
}

static void place_of(const crn_block_info *block, char *place, size_t size)
{
    if (block->file[0] && block->line)
        snprintf(place, size, "%s:%u", block->file, block->line);
    else
        snprintf(place, size, "%s", block->file);
}

void crn_row_block(crn_row *row, const char *prefix, const crn_block_info *block,
                   const char *suffix)
{
    const crn_table *table = row->table;
    char place[512];
    place_of(block, place, sizeof place);
    size_t prefix_width = crn_terminal_width(prefix), suffix_width = crn_terminal_width(suffix);
    size_t name_limit = 0, place_limit = 0;
    if (table->limit) {
        size_t fixed = prefix_width + suffix_width;
        name_limit = table->limit > fixed + NAME_MIN ? table->limit - fixed : NAME_MIN;
    }
    printf("%*s", MARGIN, "");
    crn_terminal_text(prefix, 0, false);
    size_t printed =
        prefix_width + suffix_width + crn_terminal_text(block->name, name_limit, false);
    fputs(suffix, stdout);
    if (*place) {
        size_t name_width = table->name_width; /* gives way where the terminal is narrow */
        if (table->limit && name_width + PLACE_MIN > table->limit)
            name_width = table->limit > PLACE_MIN ? table->limit - PLACE_MIN : 0;
        size_t pad = MARGIN + (printed < name_width ? name_width - printed : 0);
        if (table->limit && printed + pad + 8 > table->limit) {
            putchar('\n'); /* no room for a useful part of the place */
            return;
        }
        place_limit = table->limit ? table->limit - printed - pad : 0;
        printf("%*s", (int)pad, "");
        crn_terminal_style(CRN_STYLE_DIM);
        crn_terminal_text(place, place_limit, true);
        crn_terminal_style(CRN_STYLE_PLAIN);
    }
    putchar('\n');
}
