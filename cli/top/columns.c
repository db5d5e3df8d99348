/* SPDX-License-Identifier: MIT
 *
 * Draws rows as text. Columns have fixed widths, so that nothing moves when figures change.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/common/figure.h"
#include "profile/profile.h"
#include "top.h"

/* ---- columns ---- */

typedef enum column_kind {
    SELF_SHARE,
    INCLUSIVE_SHARE,
    SELF,
    INCLUSIVE,
    CALLS,
    SELF_TOTAL,
    INCLUSIVE_TOTAL,
    CALLS_TOTAL,
    STRANDS,
    SPANS, /* number of spans; the following kinds are times, except MISSED, a number */
    MEDIAN,
    P99,
    LONGEST,
    MISSED,
    SPANS_TOTAL,
    KINDS
} column_kind;

enum {
    COLUMNS = 6,
    SHARE_WIDTH = 7,
    NAME_LEAST = 24,
    PLACE_LEAST = 52,
    LANE_WIDTH = 22,
    WIDE = 100,
    METER_WIDTH = 10
};

/* Columns of each view, in order. Columns of totals need a wide line. */
static const column_kind layouts[CRN_TOP_VIEWS][COLUMNS] = {
    [CRN_TOP_SELF] = {INCLUSIVE_SHARE, SELF_SHARE, SELF, CALLS, SELF_TOTAL, CALLS_TOTAL},
    [CRN_TOP_INCLUSIVE] = {INCLUSIVE_SHARE, SELF_SHARE, INCLUSIVE, CALLS, INCLUSIVE_TOTAL,
                           CALLS_TOTAL},
    [CRN_TOP_TREE] = {INCLUSIVE_SHARE, SELF_SHARE, INCLUSIVE, CALLS, INCLUSIVE_TOTAL, CALLS_TOTAL},
    [CRN_TOP_CALLERS] = {INCLUSIVE_SHARE, INCLUSIVE, CALLS, KINDS},
    [CRN_TOP_LANES] = {SELF_SHARE, SELF, CALLS, STRANDS, SELF_TOTAL, CALLS_TOTAL},
    [CRN_TOP_SOURCE] = {INCLUSIVE_SHARE, SELF_SHARE, SELF, CALLS, KINDS},
    [CRN_TOP_SPANS] = {SPANS, MEDIAN, P99, LONGEST, MISSED, SPANS_TOTAL},
    [CRN_TOP_FOCUS] = {INCLUSIVE_SHARE, SELF_SHARE, INCLUSIVE, CALLS, KINDS},
};

static size_t width_of(column_kind kind)
{
    return kind <= INCLUSIVE_SHARE ? SHARE_WIDTH : CRN_AMOUNT_WIDTH + 2;
}

static bool has(const crn_pen *pen, const crn_top_rows *rows, column_kind kind)
{
    bool total = kind >= SELF_TOTAL && kind <= CALLS_TOTAL;
    if (kind == KINDS || (total && (!rows->seconds || (pen->width && pen->width < 104))))
        return false;
    return (kind != CALLS && kind != CALLS_TOTAL) || rows->calls;
}

static const char *title_of(const crn_top_rows *rows, column_kind kind)
{
    bool rate = rows->seconds > 0, calls = rows->metric == CRN_METRIC_CALLS;
    const char *unit = rows->info->rate;
    switch (kind) {
    case SELF_SHARE:
        return rows->view == CRN_TOP_LANES ? "share" : "self%";
    case INCLUSIVE_SHARE:
        return "total%";
    case SELF:
        return !rate ? "self" : unit ? unit : calls ? "calls/s" : "self/s";
    case INCLUSIVE:
        return !rate ? "total" : unit ? unit : "total/s";
    case CALLS:
        return rate ? "calls/s" : "calls";
    case CALLS_TOTAL:
        return "calls";
    case STRANDS:
        return "strands";
    case SPANS:
        return rate ? "spans/s" : "spans";
    case MEDIAN:
        return "median";
    case P99:
        return "p99";
    case LONGEST:
        return "longest";
    case MISSED:
        return "missed";
    case SPANS_TOTAL:
        return rate ? "total/s" : "total";
    default:
        return "in all";
    }
}

static column_kind sorted_by(const crn_top_choice *choice)
{
    static const column_kind kinds[] = {SELF_SHARE, INCLUSIVE_SHARE, CALLS, KINDS};
    static const column_kind of_spans[] = {P99, SPANS_TOTAL, SPANS, KINDS};
    if (choice->view == CRN_TOP_SPANS)
        return of_spans[choice->sort];
    return choice->view == CRN_TOP_TREE || choice->view == CRN_TOP_CALLERS ? INCLUSIVE_SHARE
                                                                           : kinds[choice->sort];
}

static uint32_t meter_width(const crn_pen *pen)
{
    return !pen->width || pen->width >= WIDE ? METER_WIDTH : 1;
}

void crn_top_titles(crn_pen *pen, const crn_top_rows *rows, const crn_top_choice *choice)
{
    static const char *const names[CRN_TOP_VIEWS] = {"function",    "function", "context",
                                                     "called from", "lane",     "line  source",
                                                     "span name",   "function"};
    for (int i = 0; i < COLUMNS; i++) {
        column_kind kind = layouts[rows->view][i];
        if (kind == KINDS)
            break;
        if (!has(pen, rows, kind))
            continue;
        const char *title = title_of(rows, kind);
        crn_pen_to(pen, pen->used + width_of(kind) - strlen(title));
        crn_pen_text(pen, sorted_by(choice) == kind ? CRN_STYLE_TITLE : CRN_STYLE_DIM, title, 0,
                     false);
    }
    crn_pen_text(pen, CRN_STYLE_DIM, "  ", 0, false);
    size_t name = pen->used;
    crn_pen_text(pen, sorted_by(choice) == KINDS ? CRN_STYLE_TITLE : CRN_STYLE_DIM,
                 names[rows->view], 0, false);
    if (rows->view == CRN_TOP_LANES) {
        crn_pen_to(pen, name + meter_width(pen) + 1 + LANE_WIDTH);
        crn_pen_text(pen, CRN_STYLE_DIM, "last seen in", 0, false);
    }
}

static void put_share(crn_pen *pen, uint64_t part, uint64_t whole)
{
    double percent = crn_percent(part, whole);
    /* tells a share that is rounded to 0 from none */
    const char *text = !part ? "-" : percent < 0.05 ? "0.0" : NULL;
    char figure[32];
    if (!text)
        snprintf(figure, sizeof figure, "%.1f", percent);
    crn_style style = percent >= 10  ? CRN_STYLE_HOT
                      : percent >= 3 ? CRN_STYLE_WARM
                      : text         ? CRN_STYLE_DIM
                                     : CRN_STYLE_PLAIN;
    text = text ? text : figure;
    crn_pen_to(pen, pen->used + SHARE_WIDTH - strlen(text));
    crn_pen_text(pen, style, text, 0, false);
}

static void put_amount(crn_pen *pen, const char *unit, double amount)
{
    char text[CRN_AMOUNT_SIZE];
    crn_top_amount(text, unit, amount);
    size_t width = crn_terminal_width(text);
    crn_pen_to(pen, pen->used + CRN_AMOUNT_WIDTH + 2 - width);
    crn_pen_text(pen, *text == '-' ? CRN_STYLE_DIM : CRN_STYLE_PLAIN, text, 0, false);
}

/* Prints a rate. The rate of a time is the mean number of threads. */
static void put_rate(crn_pen *pen, const crn_top_rows *rows, uint64_t value)
{
    double rate = rows->seconds > 0 ? (double)value / rows->seconds : (double)value;
    if (!rows->info->rate || !rows->seconds) {
        put_amount(pen, rows->info->unit, rate);
        return;
    }
    char text[32] = "-";
    if (value)
        snprintf(text, sizeof text, "%.2f", rate / 1e9);
    crn_pen_to(pen, pen->used + CRN_AMOUNT_WIDTH + 2 - strlen(text));
    crn_pen_text(pen, *text == '-' ? CRN_STYLE_DIM : CRN_STYLE_PLAIN, text, 0, false);
}

/* Prints how many spans missed their deadline; nothing for a block without a deadline. */
static void put_missed(crn_pen *pen, const crn_top_row *row)
{
    char text[CRN_AMOUNT_SIZE] = "";
    if (row->span.deadline)
        crn_top_amount(text, "count", (double)row->span.missed);
    crn_pen_to(pen, pen->used + CRN_AMOUNT_WIDTH + 2 - crn_terminal_width(text));
    crn_pen_text(pen, row->span.missed ? CRN_STYLE_HOT : CRN_STYLE_DIM, text, 0, false);
}

static void put_span_cell(crn_pen *pen, const crn_top_row *row, column_kind kind, double seconds)
{
    if (kind == SPANS)
        put_amount(pen, "count", (double)row->calls / seconds);
    else if (kind == MISSED)
        put_missed(pen, row);
    else
        put_amount(pen, CRN_UNIT_TIME,
                   kind == MEDIAN    ? (double)row->span.median
                   : kind == P99     ? (double)row->self
                   : kind == LONGEST ? (double)row->span.most
                                     : (double)row->inclusive / seconds);
}

static void put_cell(crn_pen *pen, const crn_top_rows *rows, const crn_top_row *row,
                     column_kind kind)
{
    double seconds = rows->seconds > 0 ? rows->seconds : 1;
    switch (kind) {
    case SELF_SHARE:
        put_share(pen, row->self, rows->whole);
        return;
    case INCLUSIVE_SHARE:
        put_share(pen, row->inclusive, rows->whole);
        return;
    case SELF:
        put_rate(pen, rows, row->self);
        return;
    case INCLUSIVE:
        put_rate(pen, rows, row->inclusive);
        return;
    case CALLS:
        put_amount(pen, "count", (double)row->calls / seconds);
        return;
    case SELF_TOTAL:
        put_amount(pen, rows->info->unit, (double)row->self_total);
        return;
    case INCLUSIVE_TOTAL:
        put_amount(pen, rows->info->unit, (double)row->inclusive_total);
        return;
    case CALLS_TOTAL:
        put_amount(pen, "count", (double)row->calls_total);
        return;
    case SPANS:
    case MEDIAN:
    case P99:
    case LONGEST:
    case MISSED:
    case SPANS_TOTAL:
        put_span_cell(pen, row, kind, seconds);
        return;
    default:
        put_amount(pen, "count", row->lane ? (double)row->lane->strands : 0);
    }
}

/* ---- names ---- */

enum { LEVELS_DRAWN = 20 };

static void put_prefix(crn_pen *pen, const crn_top_row *row)
{
    const crn_glyphs *glyphs = crn_terminal_get()->glyphs;
    uint32_t bars = row->only ? row->level : row->level - 1;
    for (uint32_t level = 1; level <= bars && level <= LEVELS_DRAWN; level++)
        crn_pen_text(pen, CRN_STYLE_DIM,
                     row->bars & (uint64_t)1 << level ? glyphs->bar : glyphs->gap, 0, false);
    if (bars > LEVELS_DRAWN)
        crn_pen_format(pen, CRN_STYLE_DIM, "(%u more levels) ", bars - LEVELS_DRAWN);
    crn_pen_text(pen, CRN_STYLE_DIM,
                 row->only   ? glyphs->only
                 : row->last ? glyphs->last
                             : glyphs->branch,
                 0, false);
    if (!row->open && !row->leaf)
        crn_pen_text(pen, CRN_STYLE_PLAIN, "+ ", 0, false);
}

static void put_place(crn_pen *pen, const crn_block_info *block, size_t column)
{
    char place[512];
    if (!block->file[0])
        return;
    snprintf(place, sizeof place, block->line ? "%s:%u" : "%s", block->file, block->line);
    crn_pen_to(pen, column > pen->used + 2 ? column : pen->used + 2);
    if (pen->width && pen->width < pen->used + 8)
        return;
    crn_pen_text(pen, CRN_STYLE_DIM, place, 0, true);
}

/* Prints the lexical parents if they and the name fit. Returns the remaining columns. */
static size_t put_around(crn_pen *pen, const crn_top_rows *rows, const crn_block_info *block,
                         size_t limit)
{
    const crn_profile *profile =
        crn_profile_has(rows->owned, block) ? rows->owned : rows->looked_at;
    if (!crn_profile_has(profile, block))
        return limit;
    char *outer = crn_nesting_outer(profile, (uint32_t)(block - profile->blocks));
    size_t width = *outer ? crn_terminal_width(outer) + 1 : 0;
    bool fits = width && (!limit || width + crn_terminal_width(block->name) <= limit);
    if (fits) {
        crn_pen_text(pen, CRN_STYLE_DIM, outer, 0, false);
        crn_pen_text(pen, CRN_STYLE_DIM, ".", 0, false);
    }
    crn_free(outer);
    return fits && limit ? limit - width : limit;
}

static void put_block(crn_pen *pen, const crn_top_rows *rows, const crn_top_row *row)
{
    /* A location that hardly fits is left out; if it fits, it has the last two fifths of the
     * line. */
    size_t left = pen->width > pen->used ? pen->width - pen->used : 0;
    bool place = !pen->width || left >= PLACE_LEAST;
    size_t column = pen->width ? pen->used + left * 3 / 5 : pen->used + 40;
    bool tree = row->level || row->only;
    if (tree)
        put_prefix(pen, row);
    size_t limit = pen->width && place && column > pen->used + NAME_LEAST ? column - pen->used : 0;
    limit = put_around(pen, rows, row->block, limit);
    crn_pen_text(pen, CRN_STYLE_PLAIN, row->block->name, limit, false);
    if (row->cycles) {
        char figure[CRN_AMOUNT_SIZE];
        crn_pen_format(pen, CRN_STYLE_DIM, " %s %s", crn_terminal_get()->glyphs->cycle,
                       crn_top_amount(figure, "count", (double)row->cycles));
    }
    if (place)
        put_place(pen, row->block, column);
}

/* Prints a lane with a bar: for time its share of one processor, otherwise of all lanes' sum. */
static void put_lane(crn_pen *pen, const crn_top_rows *rows, const crn_top_row *row)
{
    bool time = rows->info->rate && rows->seconds > 0;
    double whole = time ? 1e9 * rows->seconds : (double)rows->whole;
    crn_top_meter(pen, whole > 0 ? (double)row->self / whole : 0, meter_width(pen));
    crn_pen_text(pen, CRN_STYLE_PLAIN, " ", 0, false);
    size_t column = pen->used;
    char name[96];
    snprintf(name, sizeof name, *row->lane->name ? "%u %s" : "%u", row->lane->number,
             row->lane->name);
    crn_pen_text(pen, row->lane->open ? CRN_STYLE_PLAIN : CRN_STYLE_DIM, name, LANE_WIDTH - 2,
                 false);
    crn_pen_to(pen, column + LANE_WIDTH);
    crn_pen_text(pen, row->lane->open ? CRN_STYLE_PLAIN : CRN_STYLE_DIM,
                 row->lane->open ? row->block->name : "(free)", 0, false);
}

static void put_line(crn_pen *pen, const crn_top_row *row)
{
    crn_pen_format(pen, CRN_STYLE_DIM, "%4u  ", row->line);
    crn_pen_text(pen, row->self ? CRN_STYLE_TITLE : CRN_STYLE_PLAIN, row->text, 0, false);
}

void crn_top_row_draw(crn_pen *pen, const crn_top_rows *rows, const crn_top_row *row)
{
    if (row->heading) {
        crn_pen_text(pen, CRN_STYLE_DIM, row->heading, 0, false);
        return;
    }
    for (int i = 0; i < COLUMNS; i++) {
        if (layouts[rows->view][i] == KINDS)
            break;
        if (has(pen, rows, layouts[rows->view][i]))
            put_cell(pen, rows, row, layouts[rows->view][i]);
    }
    crn_pen_text(pen, CRN_STYLE_PLAIN, "  ", 0, false);
    if (row->text)
        put_line(pen, row);
    else if (row->lane)
        put_lane(pen, rows, row);
    else
        put_block(pen, rows, row);
}
