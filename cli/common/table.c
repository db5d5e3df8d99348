/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "terminal.h"

enum {
    MARGIN = CRN_TABLE_MARGIN,
    NAME_MIN = CRN_TABLE_NAME_MIN,
    PERCENT_WIDTH = 5,
    POINTS_WIDTH = 6,
    RELATIVE_WIDTH = 8
};
#define PERCENT_HOT 10.0
#define PERCENT_WARM 3.0

static crn_column *add(crn_table *table, crn_column_kind kind, const char *title)
{
    crn_column *column = &table->columns[table->count++];
    *column = (crn_column){.kind = kind, .rank = table->rank};
    crn_terminal_fit(column->title, sizeof column->title, title, 0, false);
    column->width = crn_terminal_width(column->title);
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

static void add_percent(crn_table *table, uint64_t largest)
{
    crn_column *column = add(table, CRN_COLUMN_PERCENT, "%");
    column->largest = largest;
    column->width = PERCENT_WIDTH;
}

/* Adds the column of intervals before its rows are known, as wide as the longest interval that
 * figures with few samples can have. */
static void add_interval(crn_table *table, crn_scale scale, const crn_sampling *sampling)
{
    crn_column *column = add(table, CRN_COLUMN_INTERVAL, "likely");
    column->scale = scale;
    column->sampling = *sampling;
    column->rank = CRN_RANK_INTERVAL;
    double hits = CRN_SAMPLING_SURE;
    while (hits > 0.01) {
        char text[CRN_FIGURE_SIZE];
        double value = hits * sampling->unit;
        hits *= 0.9;
        if (value >= sampling->total)
            continue;
        crn_figure_interval(text, scale, crn_sampling_interval(sampling, (uint64_t)value),
                            crn_terminal_get()->glyphs->to);
        size_t width = crn_terminal_width(text);
        if (column->width < width)
            column->width = width;
    }
}

void crn_table_sampled(crn_table *table, const char *what, const char *unit, uint64_t largest,
                       bool percent, const crn_sampling *sampling)
{
    crn_scale scale = add_figure(table, CRN_COLUMN_FIGURE, what, unit, largest)->scale;
    if (sampling)
        add_interval(table, scale, sampling);
    if (percent)
        add_percent(table, largest);
}

void crn_table_figure(crn_table *table, const char *what, const char *unit, uint64_t largest,
                      bool percent)
{
    crn_table_sampled(table, what, unit, largest, percent, NULL);
}

void crn_table_change(crn_table *table, const char *what, const char *unit, uint64_t largest)
{
    add_figure(table, CRN_COLUMN_CHANGE, what, unit, largest);
    add(table, CRN_COLUMN_PERCENT, "%")->width = RELATIVE_WIDTH;
}

void crn_table_points(crn_table *table, const char *what)
{
    crn_column *column = add(table, CRN_COLUMN_POINTS, what);
    if (column->width < POINTS_WIDTH)
        column->width = POINTS_WIDTH;
}

void crn_table_text(crn_table *table, const char *title, size_t width)
{
    crn_column *column = add(table, CRN_COLUMN_TEXT, title);
    if (column->width < width)
        column->width = width;
}

/* Returns the width of the shown columns with margins. */
static size_t used_width(const crn_table *table)
{
    size_t used = 0;
    for (size_t i = 0; i < table->count; i++)
        if (!table->columns[i].left_out)
            used += table->columns[i].width + (used ? MARGIN : 0);
    return used;
}

/* Hides a column, and with a figure its interval. If only the interval is hidden, its figure's
 * column gets room for it. */
static void leave_out(crn_table *table, size_t i)
{
    crn_column *column = &table->columns[i];
    column->left_out = true;
    if (column->kind == CRN_COLUMN_INTERVAL && !column[-1].left_out) {
        column[-1].merged = true;
        if (column[-1].width < column->width)
            column[-1].width = column->width;
    }
    for (i++; i < table->count && table->columns[i].kind == CRN_COLUMN_INTERVAL; i++)
        table->columns[i].left_out = true;
}

/* Hides columns by whole ranks until names fit. Returns the width in use. */
static size_t fit(crn_table *table, size_t width)
{
    size_t used = used_width(table), least = table->name_least ? table->name_least : NAME_MIN;
    while (width && used + MARGIN + least > width) {
        unsigned highest = 0;
        for (size_t i = 0; i < table->count; i++)
            if (!table->columns[i].left_out && highest < table->columns[i].rank)
                highest = table->columns[i].rank;
        if (!highest)
            break;
        for (size_t i = 0; i < table->count; i++)
            if (!table->columns[i].left_out && table->columns[i].rank == highest)
                leave_out(table, i);
        used = used_width(table);
    }
    return used;
}

void crn_table_head(FILE *out, crn_table *table, const char *name)
{
    size_t width = crn_terminal_get()->width, used = fit(table, width);
    bool begun = false;
    crn_terminal_style(out, CRN_STYLE_TITLE);
    for (size_t i = 0; i < table->count; i++) {
        const crn_column *column = &table->columns[i];
        if (column->left_out)
            continue;
        size_t pad = column->width - crn_terminal_width(column->title) + (begun ? MARGIN : 0);
        fprintf(out, "%*s%s", (int)pad, "", column->title);
        begun = true;
    }
    fprintf(out, "%*s%s", begun ? MARGIN : 0, "", name);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
    putc('\n', out);
    if (width)
        table->limit = width > used + MARGIN + NAME_MIN ? width - used - MARGIN : NAME_MIN;
}

static void explain_intervals(FILE *out, const crn_table *table)
{
    const crn_column *column = table->columns, *end = column + table->count;
    while (column < end && column->kind != CRN_COLUMN_INTERVAL)
        column++;
    if (column == end)
        return;
    crn_terminal_style(out, CRN_STYLE_DIM);
    if (column->left_out)
        fprintf(out, "a%sb", crn_terminal_get()->glyphs->to);
    else
        fputs(column->title, out);
    fprintf(out, ": 95 %% interval, shown below %d samples\n", CRN_SAMPLING_SURE);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

static void explain_left_out(FILE *out, const crn_table *table)
{
    const char *joint = "too narrow for: ";
    for (size_t i = 0; i < table->count; i++) {
        const crn_column *column = &table->columns[i];
        if (!column->left_out || column->kind == CRN_COLUMN_PERCENT ||
            column->kind == CRN_COLUMN_INTERVAL)
            continue;
        if (*joint == 'n')
            crn_terminal_style(out, CRN_STYLE_DIM);
        fprintf(out, "%s%s", joint, column->title);
        joint = ", ";
    }
    if (*joint == ',') {
        putc('\n', out);
        crn_terminal_style(out, CRN_STYLE_PLAIN);
    }
}

void crn_table_foot(FILE *out, const crn_table *table)
{
    explain_intervals(out, table);
    explain_left_out(out, table);
}

crn_row crn_row_begin(const crn_table *table)
{
    return (crn_row){table, 0, false};
}

static void print_spaces(FILE *out, size_t count)
{
    static const char spaces[] = "                                                                ";
    for (; count >= sizeof spaces; count -= sizeof spaces - 1)
        fwrite(spaces, 1, sizeof spaces - 1, out);
    fwrite(spaces, 1, count, out);
}

/* Prints a cell of the next column, unless it is hidden. */
static void print_cell(FILE *out, crn_row *row, crn_style style, const char *text)
{
    const crn_column *column = &row->table->columns[row->column++];
    if (column->left_out)
        return;
    size_t width = crn_terminal_width(text), gap = row->begun ? MARGIN : 0;
    row->begun = true;
    print_spaces(out, gap + (column->width > width ? column->width - width : 0));
    if (style != CRN_STYLE_PLAIN)
        crn_terminal_style(out, style);
    crn_terminal_text(out, text, 0, false);
    if (style != CRN_STYLE_PLAIN)
        crn_terminal_style(out, CRN_STYLE_PLAIN);
}

static const crn_column *column_if(const crn_row *row, crn_column_kind kind)
{
    if (row->column >= row->table->count || row->table->columns[row->column].kind != kind)
        return NULL;
    return &row->table->columns[row->column];
}

static void print_percent(FILE *out, crn_row *row, const crn_column *column, uint64_t value)
{
    char text[CRN_FIGURE_SIZE] = "-";
    double percent = crn_percent(value, column->largest);
    if (value)
        crn_figure_fixed(text, percent, 1);
    print_cell(out, row,
               !value                    ? CRN_STYLE_DIM
               : percent >= PERCENT_HOT  ? CRN_STYLE_HOT
               : percent >= PERCENT_WARM ? CRN_STYLE_WARM
                                         : CRN_STYLE_PLAIN,
               text);
}

static void print_figure(FILE *out, crn_row *row, uint64_t value, bool sure)
{
    char text[CRN_FIGURE_SIZE] = "-";
    const crn_column *column = &row->table->columns[row->column];
    const crn_column *interval =
        row->column + 1 < row->table->count && column[1].kind == CRN_COLUMN_INTERVAL ? &column[1]
                                                                                     : NULL;
    char range[CRN_FIGURE_SIZE] = "";
    if (interval && !sure && !crn_sampling_is_sure(&interval->sampling, value))
        crn_figure_interval(range, interval->scale,
                            crn_sampling_interval(&interval->sampling, value),
                            crn_terminal_get()->glyphs->to);
    if (value)
        crn_figure(text, column->scale, value);
    print_cell(out, row, value ? CRN_STYLE_PLAIN : CRN_STYLE_DIM,
               column->merged && *range ? range : text);
    if (interval)
        print_cell(out, row, CRN_STYLE_DIM, range);
    column = column_if(row, CRN_COLUMN_PERCENT);
    if (column)
        print_percent(out, row, column, value);
}

void crn_row_figure(FILE *out, crn_row *row, uint64_t value)
{
    print_figure(out, row, value, false);
}

void crn_row_whole(FILE *out, crn_row *row, uint64_t value)
{
    print_figure(out, row, value, true);
}

void crn_row_change(FILE *out, crn_row *row, uint64_t from, uint64_t to, bool chance)
{
    char text[CRN_FIGURE_SIZE] = "-";
    bool quiet = from == to || chance;
    if (from != to)
        crn_figure_change(text, row->table->columns[row->column].scale, from, to);
    print_cell(out, row, quiet ? CRN_STYLE_DIM : CRN_STYLE_PLAIN, text);
    double percent = from ? 100.0 * ((double)to - (double)from) / (double)from : 0;
    const char *sign = chance ? "~" : "";
    if (!from && to)
        snprintf(text, sizeof text, "%snew", sign);
    else if (from && !to)
        snprintf(text, sizeof text, "%sgone", sign);
    else if (from != to)
        snprintf(text, sizeof text, fabs(percent) < 10000 ? "%s%+.1f" : "%s%+.2g", sign, percent);
    print_cell(out, row,
               quiet          ? CRN_STYLE_DIM
               : percent >= 5 ? CRN_STYLE_HOT
                              : CRN_STYLE_PLAIN,
               text);
}

void crn_row_points(FILE *out, crn_row *row, double difference, bool chance)
{
    char text[CRN_FIGURE_SIZE];
    double points = 100 * difference;
    snprintf(text, sizeof text, "%s%+.1f", chance ? "~" : "", points);
    print_cell(out, row,
               chance                         ? CRN_STYLE_DIM
               : fabs(points) >= PERCENT_HOT  ? CRN_STYLE_HOT
               : fabs(points) >= PERCENT_WARM ? CRN_STYLE_WARM
                                              : CRN_STYLE_PLAIN,
               text);
}

void crn_row_text(FILE *out, crn_row *row, crn_style style, const char *text)
{
    print_cell(out, row, style, text);
}

void crn_row_blank(FILE *out, crn_row *row)
{
    while (row->column < row->table->count)
        print_cell(out, row, CRN_STYLE_PLAIN, "");
}
