/* SPDX-License-Identifier: MIT
 *
 * Prints `cairn spans` from histograms, with its usual columns: by block, and by value of an
 * attribute.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "cli/common/progress.h"
#include "cli/common/table.h"
#include "cli/common/terminal.h"
#include "profile/profile.h"
#include "spans.h"

enum { PICTURE_SIZE = CRN_SPAN_BINS * 4 + 4, WAITING_SIZE = 8, NAME_SIZE = 700 };

typedef struct line {
    const crn_spread *spread;
    uint64_t figure; /* sort key */
    uint64_t median, p99;
    uint64_t bins[CRN_SPAN_BINS];
} line;

typedef struct view {
    const char *path;
    crn_profile *profile;
    crn_spreads *spreads;
    line *lines;
    uint32_t count, shown;
    uint64_t self; /* sum over blocks' rows */
    bool cpu;
    double edges[CRN_SPAN_BINS + 1];
} view;

/* ---- lines ---- */

static uint64_t figure_of(const line *line, crn_span_sort sort)
{
    switch (sort) {
    case CRN_SPANS_BY_SELF:
        return line->spread->self;
    case CRN_SPANS_BY_COUNT:
        return line->spread->count;
    case CRN_SPANS_BY_MEDIAN:
        return line->median;
    case CRN_SPANS_BY_P99:
        return line->p99;
    case CRN_SPANS_BY_MAX:
        return line->spread->max;
    default:
        return line->spread->total;
    }
}

/* Orders lines: blocks before values of attributes, values by key; then the largest figure first.
 */
static int compare_lines(const void *left, const void *right)
{
    const line *a = left, *b = right;
    bool a_block = a->spread->kind == CRN_HISTOGRAM_BLOCK;
    bool b_block = b->spread->kind == CRN_HISTOGRAM_BLOCK;
    if (a_block != b_block)
        return a_block ? -1 : 1;
    if (!a_block && a->spread->key != b->spread->key)
        return a->spread->key < b->spread->key ? -1 : 1;
    return CRN_ORDER(b->figure, a->figure) ?: CRN_ORDER(a->spread, b->spread);
}

static uint32_t block_of(const view *view, const crn_spread *spread)
{
    return spread->block < view->profile->block_count ? spread->block : 0;
}

static void choose_lines(view *view, const char *block, crn_span_sort sort)
{
    view->lines = crn_calloc(view->spreads->count + (size_t)1, sizeof *view->lines);
    for (uint32_t s = 0; s < view->spreads->count; s++) {
        const crn_spread *spread = &view->spreads->all[s];
        if (block && strcmp(view->profile->blocks[block_of(view, spread)].name, block) != 0)
            continue;
        line line = {.spread = spread,
                     .median = crn_spread_at(spread, 0.5),
                     .p99 = crn_spread_at(spread, 0.99)};
        line.figure = figure_of(&line, sort);
        view->self += spread->kind == CRN_HISTOGRAM_BLOCK ? spread->self : 0;
        view->cpu |= spread->cpu_count > 0;
        view->lines[view->count++] = line;
    }
    if (view->count)
        qsort(view->lines, view->count, sizeof *view->lines, compare_lines);
}

/* Sums the histograms' bars into bins whose bounds, as in the table of spans, grow by a constant
 * factor. */
static void fill_bins(view *view)
{
    double low = 0x1p62, high = 1;
    for (uint32_t i = 0; i < view->count; i++) {
        low = fmin(low, (double)view->lines[i].spread->min);
        high = fmax(high, (double)view->lines[i].spread->max);
    }
    low = fmin(fmax(low, 1), high);
    for (int e = 0; e <= CRN_SPAN_BINS; e++)
        view->edges[e] = low * pow(high / low, (double)e / CRN_SPAN_BINS);
    for (uint32_t i = 0; i < view->count; i++) {
        const crn_spread *spread = view->lines[i].spread;
        int bin = 0;
        for (uint32_t b = 0; b < spread->bar_count; b++) {
            double middle = (spread->bars[b].low + spread->bars[b].high) / 2;
            while (bin < CRN_SPAN_BINS - 1 && middle >= view->edges[bin + 1])
                bin++;
            view->lines[i].bins[bin] += spread->bars[b].count;
        }
    }
}

/* Formats "convert_image" or "convert_image image=foo.jpg". */
static const char *name_of(char name[NAME_SIZE], const view *view, const crn_spread *spread)
{
    int used =
        snprintf(name, NAME_SIZE, "%.200s", view->profile->blocks[block_of(view, spread)].name);
    if (spread->kind == CRN_HISTOGRAM_BLOCK)
        return name;
    char *rest = name + used;
    size_t room = NAME_SIZE - (size_t)used;
    const char *key = view->spreads->keys[spread->key];
    double number;
    memcpy(&number, &spread->value, sizeof number);
    switch (spread->kind) {
    case CRN_HISTOGRAM_INTEGER:
        snprintf(rest, room, "  %.64s=%" PRId64, key, (int64_t)spread->value);
        break;
    case CRN_HISTOGRAM_NUMBER:
        snprintf(rest, room, "  %.64s=%g", key, number);
        break;
    case CRN_HISTOGRAM_TEXT:
        snprintf(rest, room, "  %.64s=%.200s", key, spread->text);
        break;
    default:
        snprintf(rest, room, "  %.64s: all others", key);
        break;
    }
    return name;
}

/* Returns a line's name, with the file and line of its block. */
static crn_block_info info_of(char name[NAME_SIZE], const view *view, const crn_spread *spread)
{
    crn_block_info info = view->profile->blocks[block_of(view, spread)];
    info.name = name_of(name, view, spread);
    return info;
}

/* ---- as text ---- */

static void make_table(crn_table *table, const view *view)
{
    uint64_t most[7] = {0};
    for (uint32_t i = 0; i < view->shown; i++) {
        const crn_spread *spread = view->lines[i].spread;
        const uint64_t figures[7] = {
            spread->count,      spread->total, spread->cpu, view->lines[i].median,
            view->lines[i].p99, spread->max,   spread->min};
        for (int f = 0; f < 7; f++)
            most[f] = most[f] < figures[f] ? figures[f] : most[f];
    }
    table->rank = 1;
    crn_table_figure(table, "total", CRN_UNIT_TIME, most[1], false);
    table->rank = 2;
    crn_table_figure(table, "self", CRN_UNIT_TIME, view->self, true);
    table->rank = 0;
    crn_table_figure(table, "count", "", most[0], false);
    if (view->cpu) {
        crn_table_figure(table, "cpu", CRN_UNIT_TIME, most[2], false);
        crn_table_text(table, "waiting", WAITING_SIZE - 1);
    }
    crn_table_figure(table, "median", CRN_UNIT_TIME, most[3], false);
    crn_table_figure(table, "p99", CRN_UNIT_TIME, most[4], false);
    crn_table_figure(table, "max", CRN_UNIT_TIME, most[5], false);
    table->rank = 3;
    crn_table_figure(table, "min", CRN_UNIT_TIME, most[6], false);
}

static void draw(char picture[PICTURE_SIZE], const line *line)
{
    const char *const *levels = crn_terminal_get()->glyphs->levels;
    uint64_t most = 1;
    for (int b = 0; b < CRN_SPAN_BINS; b++)
        most = most < line->bins[b] ? line->bins[b] : most;
    picture[0] = 0;
    for (int b = 0; b < CRN_SPAN_BINS; b++)
        strcat(picture, levels[(int)ceil((double)line->bins[b] * 8 / (double)most)]);
    strcat(picture, "  ");
}

static void print_line(FILE *out, const crn_table *table, const view *view, const line *line)
{
    const crn_spread *spread = line->spread;
    char picture[PICTURE_SIZE], name[NAME_SIZE], waiting[WAITING_SIZE] = "      -";
    crn_row row = crn_row_begin(table);
    crn_row_figure(out, &row, spread->total);
    crn_row_figure(out, &row, spread->self);
    crn_row_figure(out, &row, spread->count);
    if (view->cpu) {
        double share = (double)spread->cpu / fmax((double)spread->cpu_wall, 1);
        if (spread->cpu_count)
            snprintf(waiting, sizeof waiting, "%5.1f %%", 100 * fmax(0, 1 - share));
        crn_row_figure(out, &row, spread->cpu);
        crn_row_text(out, &row, CRN_STYLE_PLAIN, waiting);
    }
    crn_row_figure(out, &row, line->median);
    crn_row_figure(out, &row, line->p99);
    crn_row_figure(out, &row, spread->max);
    crn_row_figure(out, &row, spread->min);
    draw(picture, line);
    crn_block_info info = info_of(name, view, spread);
    crn_row_block(out, &row, picture, &info, "");
}

static void print(FILE *out, const view *view)
{
    crn_table table = {0};
    char low[CRN_FIGURE_SIZE], high[CRN_FIGURE_SIZE];
    make_table(&table, view);
    for (uint32_t i = 0; i < view->shown; i++) {
        char picture[PICTURE_SIZE], name[NAME_SIZE];
        draw(picture, &view->lines[i]);
        crn_block_info info = info_of(name, view, view->lines[i].spread);
        crn_table_measure(&table, picture, &info, "");
    }
    crn_table_head(out, &table, "durations           block");
    for (uint32_t i = 0; i < view->shown; i++)
        print_line(out, &table, view, &view->lines[i]);
    crn_table_foot(out, &table);
    crn_terminal_style(out, CRN_STYLE_DIM);
    fprintf(out,
            "from histograms: median and p99 are accurate to %.1f %%; self is without children on "
            "the same strand\n",
            100 * CRN_SPREAD_ERROR);
    fprintf(out, "durations: from %s to %s, columns grow by a constant factor\n",
            crn_figure_alone(low, CRN_UNIT_TIME, (uint64_t)view->edges[0]),
            crn_figure_alone(high, CRN_UNIT_TIME, (uint64_t)view->edges[CRN_SPAN_BINS]));
    if (view->shown < view->count)
        fprintf(out, "%" PRIu32 " more row%s: --top 0 shows all\n", view->count - view->shown,
                view->count - view->shown == 1 ? "" : "s");
    crn_terminal_style(out, CRN_STYLE_WARM);
    if (view->spreads->dropped)
        fprintf(out, "%" PRIu64 " times a span was in no histogram for lack of space\n",
                view->spreads->dropped);
    crn_terminal_style(out, CRN_STYLE_PLAIN);
}

/* ---- as JSON ---- */

static json_t *value_json(const crn_spread *spread)
{
    double number;
    memcpy(&number, &spread->value, sizeof number);
    switch (spread->kind) {
    case CRN_HISTOGRAM_INTEGER:
        return json_integer((int64_t)spread->value);
    case CRN_HISTOGRAM_NUMBER:
        return crn_json_real(number);
    case CRN_HISTOGRAM_TEXT:
        return crn_json_text(spread->text);
    default:
        return json_null();
    }
}

static json_t *line_json(const view *view, const line *line)
{
    const crn_spread *spread = line->spread;
    json_t *json = json_object(), *bars = json_array();
    json_object_set_new(json, "block", crn_json_block(view->profile, block_of(view, spread)));
    if (spread->kind != CRN_HISTOGRAM_BLOCK) {
        json_object_set_new(json, "key", crn_json_text(view->spreads->keys[spread->key]));
        json_object_set_new(json, "value", value_json(spread));
        json_object_set_new(json, "others", json_boolean(spread->kind == CRN_HISTOGRAM_OTHER));
    }
    crn_json_set_number(json, "count", spread->count);
    crn_json_set_number(json, "total", spread->total);
    crn_json_set_number(json, "self", spread->self);
    if (spread->cpu_count) {
        crn_json_set_number(json, "cpu", spread->cpu);
        crn_json_set_number(json, "cpu_wall", spread->cpu_wall);
    }
    crn_json_set_number(json, "min", spread->min);
    crn_json_set_number(json, "median", line->median);
    crn_json_set_number(json, "p99", line->p99);
    crn_json_set_number(json, "max", spread->max);
    for (uint32_t b = 0; b < spread->bar_count; b++)
        json_array_append_new(bars, json_pack("[f,f,I]", spread->bars[b].low, spread->bars[b].high,
                                              (json_int_t)spread->bars[b].count));
    json_object_set_new(json, "bars", bars);
    return json;
}

static void write_json(FILE *out, const view *view)
{
    fputs("{\"schema\":\"cairn-spans/1\"", out);
    crn_json_write_member(out, "file", crn_json_text(view->path));
    crn_json_write_member(out, "error", json_real(CRN_SPREAD_ERROR));
    crn_json_write_member(out, "dropped", crn_json_number(view->spreads->dropped));
    crn_json_write_member(out, "hidden", crn_json_number(view->count - view->shown));
    fputs(",\n\"histograms\":[", out);
    for (uint32_t i = 0; i < view->shown; i++) {
        crn_json_write_element(out, i, line_json(view, &view->lines[i]));
    }
    fputs("]}\n", out);
}

/* ---- entry ---- */

static bool load(view *view)
{
    crn_error error = {0};
    crn_progress_begin("%s: reading %s", crn_cli_name, view->path);
    view->spreads = crn_spreads_load(view->path, &error);
    if (view->spreads) /* read before the profile, which then has their blocks */
        view->profile = crn_profile_load(view->path, &error);
    crn_progress_end();
    if (!view->profile)
        crn_cli_fail("%s", error.message);
    return view->profile != NULL;
}

static int show(FILE *out, view *view, const char *block, crn_span_sort sort, uint32_t top,
                bool json)
{
    if (!view->spreads->count)
        return crn_cli_fail("%s: has no histograms; a program records them with the option "
                            "\"span_histograms\" of its profile, see cairn-spans(1)",
                            view->path);
    choose_lines(view, block, sort);
    if (!view->count)
        return crn_cli_fail("%s: there is no histogram of a block \"%s\"; leave out --block to see "
                            "all",
                            view->path, block);
    view->shown = view->count < top ? view->count : top;
    fill_bins(view);
    if (json)
        write_json(out, view);
    else
        print(out, view);
    return CRN_EXIT_OK;
}

int crn_spans_spread(FILE *out, const char *path, const char *block, crn_span_sort sort,
                     uint32_t top, bool json)
{
    view view = {.path = path};
    int status = load(&view) ? show(out, &view, block, sort, top, json) : CRN_EXIT_BAD;
    crn_free(view.lines);
    crn_spreads_free(view.spreads);
    crn_profile_free(view.profile);
    return status;
}
