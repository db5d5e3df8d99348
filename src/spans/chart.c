/* SPDX-License-Identifier: MIT */
#include "spans/chart.h"

#include "base/memory.h"

/* Spans per stretch. Drawing skips a stretch outside of the window as a whole. */
enum { STRETCH = 1024 };

/* ---- rows ---- */

/* Returns the first row >= `least` that is free at time `start`. */
static uint8_t free_row(const uint64_t ends[CRN_CHART_ROWS], uint32_t least, uint64_t start)
{
    while (least < CRN_CHART_ROWS - 1 && ends[least] > start)
        least++;
    return (uint8_t)(least < CRN_CHART_ROWS ? least : CRN_CHART_ROWS - 1);
}

static void lay_lane(crn_chart *chart, uint32_t lane)
{
    const crn_span *spans = chart->trace->spans;
    uint64_t ends[CRN_CHART_ROWS] = {0};
    uint32_t first = chart->first[lane];
    for (uint32_t s = first; s < chart->first[lane + 1]; s++) {
        uint32_t parent = spans[s].parent, least = 0;
        if (parent >= first && parent < s)
            least = chart->rows[parent] + (uint32_t)1;
        uint8_t row = free_row(ends, least, spans[s].start);
        chart->rows[s] = row;
        if (ends[row] < spans[s].end)
            ends[row] = spans[s].end;
        if (chart->row_counts[lane] <= row)
            chart->row_counts[lane] = (uint8_t)(row + 1);
    }
}

static void find_stretches(crn_chart *chart)
{
    const crn_trace *trace = chart->trace;
    uint32_t count = trace->span_count / STRETCH + 1;
    chart->stretches = crn_calloc((size_t)count * 2, sizeof *chart->stretches);
    for (uint32_t i = 0; i < count; i++)
        chart->stretches[2 * (size_t)i] = UINT64_MAX;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint64_t *stretch = &chart->stretches[2 * (size_t)(s / STRETCH)];
        if (trace->spans[s].start < stretch[0])
            stretch[0] = trace->spans[s].start;
        if (trace->spans[s].end > stretch[1])
            stretch[1] = trace->spans[s].end;
    }
}

crn_chart *crn_chart_make(const crn_trace *trace)
{
    crn_chart *chart = crn_calloc(1, sizeof *chart);
    chart->trace = trace;
    chart->first = crn_calloc((size_t)trace->lane_count + 2, sizeof *chart->first);
    chart->rows = crn_calloc((size_t)trace->span_count + 1, sizeof *chart->rows);
    chart->row_counts = crn_calloc((size_t)trace->lane_count + 1, sizeof *chart->row_counts);
    for (uint32_t s = 0; s < trace->span_count; s++)
        chart->first[trace->spans[s].lane + 1]++;
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        chart->first[lane + 1] += chart->first[lane];
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        lay_lane(chart, lane);
    find_stretches(chart);
    return chart;
}

void crn_chart_free(crn_chart *chart)
{
    if (!chart)
        return;
    crn_free(chart->first);
    crn_free(chart->rows);
    crn_free(chart->row_counts);
    crn_free(chart->stretches);
    crn_free(chart);
}

/* ---- draw a window ---- */

/* The bar of a row's pixel while spans are added. bar.block is the candidate of a Boyer-Moore
 * majority vote, weighted by time: the right one if a block has more than half of the bar's
 * time. */
typedef struct pixel_sum {
    crn_chart_bar bar;
    uint64_t pixel, longest, votes;
    bool wide; /* the span is wide enough for a bar of its own */
} pixel_sum;

typedef struct drawing {
    const crn_chart *chart;
    const crn_chart_window *window;
    crn_chart_drawing look;
    uint32_t bar_room, arrow_room;
    pixel_sum rows[CRN_CHART_ROWS];
} drawing;

static void put_bar(drawing *drawing, pixel_sum *row)
{
    crn_chart_drawing *look = &drawing->look;
    if (row->bar.count == 0)
        return;
    CRN_GROW(look->bars, look->bar_count, drawing->bar_room);
    look->bars[look->bar_count++] = row->bar;
    row->bar.count = 0;
}

static void put_arrow(drawing *drawing, crn_chart_arrow arrow)
{
    crn_chart_drawing *look = &drawing->look;
    if (look->arrow_count >= drawing->window->most_arrows) {
        look->arrows_left_out++;
        return;
    }
    CRN_GROW(look->arrows, look->arrow_count, drawing->arrow_room);
    look->arrows[look->arrow_count++] = arrow;
}

static uint64_t pixel_of(const crn_chart_window *window, uint64_t moment)
{
    if (moment <= window->from)
        return 0;
    double part = (double)(moment - window->from) / (double)(window->to - window->from);
    uint32_t pixels = window->pixels ? window->pixels : 1;
    return part >= 1 ? pixels : (uint64_t)(part * pixels);
}

static uint64_t narrowest(const crn_chart_window *window)
{
    uint32_t pixels = window->pixels ? window->pixels : 1;
    return (window->to - window->from) / pixels;
}

static void gather(pixel_sum *row, uint32_t block, uint64_t busy, uint32_t span, uint64_t end)
{
    row->bar.count++;
    row->bar.busy += busy;
    if (row->bar.end < end)
        row->bar.end = end;
    if (busy > row->longest) {
        row->longest = busy;
        row->bar.span = span;
    }
    if (block == row->bar.block) {
        row->votes += busy;
    } else if (row->votes >= busy) {
        row->votes -= busy;
    } else {
        row->votes = busy - row->votes;
        row->bar.block = block;
    }
}

static void show_span(drawing *drawing, uint32_t span)
{
    const crn_chart_window *window = drawing->window;
    const crn_span *its = &drawing->chart->trace->spans[span];
    uint64_t busy = its->end - its->start, pixel = pixel_of(window, its->start);
    uint8_t at = drawing->chart->rows[span];
    pixel_sum *row = &drawing->rows[at];
    bool wide = busy > narrowest(window);
    if (row->bar.count && !wide && !row->wide && row->pixel == pixel) {
        gather(row, its->block, busy, span, its->end);
        return;
    }
    put_bar(drawing, row);
    *row = (pixel_sum){.bar = {.start = its->start,
                               .end = its->end,
                               .busy = busy,
                               .span = span,
                               .block = its->block,
                               .lane = its->lane,
                               .row = at,
                               .count = 1},
                       .pixel = pixel,
                       .longest = busy,
                       .votes = busy,
                       .wide = wide};
    const crn_span *parent =
        its->parent == CRN_SPAN_NONE ? NULL : &drawing->chart->trace->spans[its->parent];
    if (wide && parent && parent->lane != its->lane && its->start >= window->from)
        put_arrow(drawing,
                  (crn_chart_arrow){.from = its->parent,
                                    .to = span,
                                    .left = parent->end < its->start ? parent->end : its->start,
                                    .arrives = its->start,
                                    .kind = CRN_ARROW_HANDOFF});
}

static bool stretch_is_beside(const crn_chart *chart, const crn_chart_window *window,
                              uint32_t stretch)
{
    const uint64_t *its = &chart->stretches[2 * (size_t)stretch];
    return its[0] >= window->to || its[1] < window->from;
}

static bool is_within(const crn_chart *chart, const crn_chart_window *window, uint32_t span)
{
    const crn_span *its = &chart->trace->spans[span];
    return (!window->kept || window->kept[span]) && its->start < window->to &&
           its->end >= window->from;
}

static void show_lane(drawing *drawing, uint32_t lane)
{
    const crn_chart *chart = drawing->chart;
    const crn_chart_window *window = drawing->window;
    uint32_t end = chart->first[lane + 1];
    for (uint32_t s = chart->first[lane]; s < end; s++) {
        if (s % STRETCH == 0 && stretch_is_beside(chart, window, s / STRETCH)) {
            s += STRETCH - 1;
            continue;
        }
        if (is_within(chart, window, s))
            show_span(drawing, s);
    }
    for (int row = 0; row < CRN_CHART_ROWS; row++)
        put_bar(drawing, &drawing->rows[row]);
}

static bool is_shown(const drawing *drawing, uint32_t span)
{
    const crn_chart_window *window = drawing->window;
    const crn_span *its = &drawing->chart->trace->spans[span];
    return its->lane >= window->first_lane && its->lane - window->first_lane < window->lane_count &&
           its->end - its->start > narrowest(window) && is_within(drawing->chart, window, span);
}

/* Adds the arrows of edges, from the end of the span that was awaited or is followed. */
static void show_edges(drawing *drawing)
{
    const crn_trace *trace = drawing->chart->trace;
    for (uint32_t e = 0; e < trace->edge_count; e++) {
        const crn_span_edge *edge = &trace->edges[e];
        if (!is_shown(drawing, edge->from) && !is_shown(drawing, edge->to))
            continue;
        const crn_span *from = &trace->spans[edge->from], *to = &trace->spans[edge->to];
        bool waits = edge->kind == CRN_EDGE_WAITS;
        uint64_t arrives = waits && to->end > from->start ? to->end : from->start;
        put_arrow(drawing, (crn_chart_arrow){.from = edge->to,
                                             .to = edge->from,
                                             .left = to->end,
                                             .arrives = arrives < from->end ? arrives : from->end,
                                             .kind = waits ? CRN_ARROW_WAITS : CRN_ARROW_FOLLOWS});
    }
}

crn_chart_counts crn_chart_count(const crn_chart *chart, const crn_chart_window *window)
{
    const crn_trace *trace = chart->trace;
    crn_chart_counts counts = {0};
    for (uint32_t s = 0; s < trace->span_count; s++) {
        if (s % STRETCH == 0 && stretch_is_beside(chart, window, s / STRETCH)) {
            s += STRETCH - 1;
            continue;
        }
        bool within = is_within(chart, window, s);
        counts.spans += within;
        counts.handoffs +=
            within && trace->spans[s].handed_off && trace->spans[s].start >= window->from;
    }
    for (uint32_t e = 0; e < trace->edge_count; e++)
        if (is_within(chart, window, trace->edges[e].from))
            *(trace->edges[e].kind == CRN_EDGE_WAITS ? &counts.waits : &counts.follows) += 1;
    return counts;
}

crn_chart_drawing crn_chart_draw(const crn_chart *chart, const crn_chart_window *window)
{
    drawing *drawing = crn_calloc(1, sizeof *drawing);
    drawing->chart = chart;
    drawing->window = window;
    for (uint32_t i = 0; i < window->lane_count; i++) {
        uint64_t lane = (uint64_t)window->first_lane + i;
        if (lane < chart->trace->lane_count)
            show_lane(drawing, (uint32_t)lane);
    }
    show_edges(drawing);
    crn_chart_drawing look = drawing->look;
    crn_free(drawing);
    return look;
}

void crn_chart_drawing_free(crn_chart_drawing *look)
{
    crn_free(look->bars);
    crn_free(look->arrows);
    *look = (crn_chart_drawing){0};
}
