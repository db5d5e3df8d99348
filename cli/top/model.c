/* SPDX-License-Identifier: MIT
 *
 * Makes rows from a snapshot and a choice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "profile/profile.h"
#include "top.h"

const char *const crn_top_view_names[CRN_TOP_VIEWS + 1] = {"self",  "total",  "tree",  "callers",
                                                           "lanes", "source", "spans", "focus"};
const char *const crn_top_sort_names[CRN_TOP_SORTS + 1] = {"self", "total", "calls", "name"};

void crn_top_look_free(crn_top_look *look)
{
    crn_since_free(&look->since);
    crn_profile_free(look->profile);
    crn_profile_free(look->read);
    crn_free(look->places);
    for (uint32_t m = 0; m < CRN_METRIC_MAX; m++)
        crn_free(look->gained[m]);
    crn_lanes_free(&look->lanes);
    crn_top_spans_free(look->spans);
    crn_lanes_free(&look->lanes_before);
    *look = (crn_top_look){0};
}

/* ---- metrics ---- */

static bool shows(const crn_profile *profile, uint32_t metric)
{
    return metric == CRN_METRIC_CALLS ? crn_calls_counted(profile)
                                      : !crn_metric_empty(profile, metric);
}

uint32_t crn_top_metric(const crn_top_look *look, const crn_top_choice *choice)
{
    int chosen = *choice->metric ? crn_profile_metric(look->profile, choice->metric) : -1;
    return chosen >= 0 ? (uint32_t)chosen : crn_metric_default(look->profile);
}

void crn_top_metric_step(const crn_top_look *look, crn_top_choice *choice, int step)
{
    if (!look->profile)
        return;
    uint32_t count = look->profile->metric_count, metric = crn_top_metric(look, choice);
    for (uint32_t i = 0; i < count; i++) {
        metric = (metric + count + (uint32_t)step) % count;
        if (shows(look->profile, metric))
            break;
    }
    snprintf(choice->metric, sizeof choice->metric, "%s", look->profile->metrics[metric].name);
}

/* ---- rows ---- */

static void heading(crn_top_rows *rows, const char *text)
{
    crn_top_rows_add(rows)->heading = text;
}

/* ---- flat views ---- */

typedef struct order {
    crn_top_sort sort;
    bool rates; /* compares amounts as shown; otherwise exactly */
    uint64_t whole;
} order;

static int falling(uint64_t a, uint64_t b)
{
    return CRN_ORDER(b, a);
}

/* Rounds to a tenth of a percent, as shown, so that rows which look equal keep their order. */
static uint64_t shown(const order *order, uint64_t amount)
{
    if (!order->rates || !order->whole || order->sort == CRN_TOP_BY_CALLS)
        return amount;
    return (uint64_t)(1000 * (double)amount / (double)order->whole + 0.5);
}

static int compare_amounts(const crn_top_row *a, const crn_top_row *b, const order *order)
{
    crn_top_sort sort = order->sort;
    const uint64_t amounts[][2] = {
        {a->self, b->self}, {a->inclusive, b->inclusive}, {a->calls, b->calls}};
    const uint64_t totals[][2] = {{a->self_total, b->self_total},
                                  {a->inclusive_total, b->inclusive_total},
                                  {a->calls_total, b->calls_total}};
    int result = falling(shown(order, amounts[sort][0]), shown(order, amounts[sort][1]));
    /* equal rates: by totals */
    if (!result && order->rates)
        result = falling(totals[sort][0], totals[sort][1]);
    for (int i = 0; !result && i < 3; i++)
        result = falling(amounts[i][0], amounts[i][1]);
    return result;
}

static int compare_rows(const void *left, const void *right, void *data)
{
    const crn_top_row *a = left, *b = right;
    const order *order = data;
    int result = order->sort == CRN_TOP_BY_NAME ? strcmp(a->block->name, b->block->name)
                                                : compare_amounts(a, b, order);
    return result ?: strcmp(a->block->name, b->block->name) ?: CRN_ORDER(a->identity, b->identity);
}

/* Sorts the rows from `first` on, and drops those beyond choice->most. */
static void sort_rows(crn_top_rows *rows, uint32_t first, const crn_top_choice *choice)
{
    order order = {choice->sort, rows->seconds > 0 && rows->view != CRN_TOP_SPANS, rows->whole};
    if (rows->count > first)
        qsort_r(rows->rows + first, rows->count - first, sizeof *rows->rows, compare_rows, &order);
    if (choice->most && rows->count - first > choice->most) {
        rows->hidden += rows->count - first - choice->most;
        rows->count = first + choice->most;
    }
}

static void flat_rows(crn_top_rows *rows, const crn_profile *shown, const crn_profile *whole,
                      const crn_top_choice *choice)
{
    crn_block_cost cost = crn_block_cost_make(shown, rows->metric, NULL);
    crn_block_cost calls = crn_block_cost_make(shown, CRN_METRIC_CALLS, NULL);
    crn_block_cost total = crn_block_cost_make(whole, rows->metric, NULL);
    crn_block_cost calls_total = crn_block_cost_make(whole, CRN_METRIC_CALLS, NULL);
    for (uint32_t b = 0; b < whole->block_count; b++) {
        /* The root has a row only with self cost. */
        bool ran = b ? total.inclusive[b] || calls_total.self[b] : total.self[0] > 0;
        if (!ran || !crn_top_matches(choice, &whole->blocks[b]))
            continue;
        crn_top_row *row = crn_top_rows_add(rows);
        row->identity = crn_top_identity(0, &whole->blocks[b]);
        row->block = &whole->blocks[b];
        row->self = cost.self[b];
        row->inclusive = cost.inclusive[b];
        row->calls = calls.self[b];
        row->self_total = total.self[b];
        row->inclusive_total = total.inclusive[b];
        row->calls_total = calls_total.self[b];
    }
    crn_block_cost_free(&cost);
    crn_block_cost_free(&calls);
    crn_block_cost_free(&total);
    crn_block_cost_free(&calls_total);
    sort_rows(rows, 0, choice);
}

/* ---- focus ---- */

static void neighbour_rows(crn_top_rows *rows, const char *title, const crn_profile *profile,
                           const crn_neighbour *neighbours, uint32_t count, uint64_t side,
                           const crn_top_choice *choice)
{
    heading(rows, title);
    uint32_t first = rows->count;
    for (uint32_t i = 0; i < count; i++) {
        const crn_neighbour *neighbour = &neighbours[i];
        if (!crn_top_matches(choice, &profile->blocks[neighbour->block]))
            continue;
        crn_top_row *row = crn_top_rows_add(rows);
        row->identity = crn_top_identity(side, &profile->blocks[neighbour->block]);
        row->block = &profile->blocks[neighbour->block];
        row->self = neighbour->cost.self;
        row->inclusive = neighbour->cost.inclusive;
        row->calls = neighbour->cost.calls;
    }
    sort_rows(rows, first, choice);
}

static void focus_rows(crn_top_rows *rows, const crn_profile *shown, const crn_profile *whole,
                       uint32_t block, const crn_top_choice *choice)
{
    crn_sequence sequence = {1, &block};
    crn_neighbourhood around = crn_neighbourhood_make(shown, &sequence, rows->metric, NULL);
    crn_sequence_cost total = crn_sequence_measure(whole, &sequence, rows->metric, NULL);
    neighbour_rows(rows, "callers", shown, around.before, around.before_count, 1, choice);
    heading(rows, "the function");
    crn_top_row *row = crn_top_rows_add(rows);
    row->identity = crn_top_identity(0, &shown->blocks[block]);
    row->block = &shown->blocks[block];
    row->self = around.cost.self;
    row->inclusive = around.cost.inclusive;
    row->calls = around.cost.calls;
    row->self_total = total.self;
    row->inclusive_total = total.inclusive;
    row->calls_total = total.calls;
    neighbour_rows(rows, "callees", shown, around.after, around.after_count, 2, choice);
    crn_neighbourhood_free(&around);
}

static void caller_rows(crn_top_rows *rows, const crn_profile *shown, uint32_t block,
                        crn_top_choice *choice)
{
    crn_sequence sequence = {1, &block};
    rows->owned = crn_sequence_above(shown, &sequence, rows->metric, NULL);
    crn_top_tree_rows(rows, rows->owned, NULL, choice, true);
    rows->whole = crn_metric_total(shown, rows->metric);
}

/* ---- cursor ---- */

static void place_cursor(const crn_top_rows *rows, crn_top_choice *choice)
{
    if (choice->selected) {
        for (uint32_t i = 0; i < rows->count; i++) {
            if (rows->rows[i].identity == choice->selected) {
                choice->cursor = i;
                return;
            }
        }
        /* The row is gone: the cursor stays where it is. */
        choice->selected = 0;
    } else if (rows->view != CRN_TOP_FOCUS) {
        choice->cursor = 0;
    }
    if (choice->cursor >= rows->count)
        choice->cursor = rows->count ? rows->count - 1 : 0;
    while (choice->cursor + 1 < rows->count && rows->rows[choice->cursor].heading)
        choice->cursor++;
}

/* ---- remarks ---- */

static void remark(crn_top_rows *rows, const crn_top_look *look, const crn_top_choice *choice)
{
    const char *why = rows->count                                         ? ""
                      : rows->view == CRN_TOP_LANES && !look->lanes.count ? "looking"
                      : rows->view == CRN_TOP_SPANS && !look->spans       ? "looking"
                      : *choice->filter             ? "no name or file matches the filter"
                      : rows->view == CRN_TOP_SPANS ? "no span has ended"
                      : rows->seconds > 0           ? "nothing ran since the last refresh"
                      : look->state < CRN_TOP_ENDED ? "nothing has run yet"
                                                    : "nothing was recorded";
    if (!*rows->remark)
        snprintf(rows->remark, sizeof rows->remark, "%s", why);
}

static void view_rows(crn_top_rows *rows, const crn_profile *shown, const crn_top_look *look,
                      crn_top_choice *choice)
{
    const crn_profile *whole = look->profile;
    uint32_t block = 0;
    crn_error error = {0};
    switch (rows->view) {
    case CRN_TOP_TREE:
        crn_top_tree_rows(rows, shown, whole, choice, false);
        return;
    case CRN_TOP_LANES:
        crn_top_lane_rows(rows, look, choice);
        sort_rows(rows, rows->count ? 1 : 0, choice);
        return;
    case CRN_TOP_SPANS:
        crn_top_span_rows(rows, look, choice);
        sort_rows(rows, 0, choice);
        return;
    case CRN_TOP_CALLERS:
    case CRN_TOP_SOURCE:
    case CRN_TOP_FOCUS:
        if (!*choice->focus)
            snprintf(rows->remark, sizeof rows->remark,
                     "select a function in another view first, or give --focus");
        else if (!crn_reference_block(whole, choice->focus, strlen(choice->focus), &block, &error))
            snprintf(rows->remark, sizeof rows->remark, "%.250s", error.message);
        else if (rows->view == CRN_TOP_FOCUS)
            focus_rows(rows, shown, whole, block, choice);
        else if (rows->view == CRN_TOP_SOURCE)
            crn_top_line_rows(rows, shown, look, block);
        else
            caller_rows(rows, shown, block, choice);
        return;
    default:
        flat_rows(rows, shown, whole, choice);
    }
}

crn_top_rows crn_top_rows_make(const crn_top_look *look, crn_top_choice *choice)
{
    crn_top_rows rows = {.view = choice->view};
    if (!look->profile) {
        snprintf(rows.remark, sizeof rows.remark, "%.250s", look->problem);
        return rows;
    }
    rows.metric = crn_top_metric(look, choice);
    rows.info = &look->profile->metrics[rows.metric];
    rows.calls = rows.metric != CRN_METRIC_CALLS && crn_calls_counted(look->profile);
    bool ended = look->state >= CRN_TOP_STOPPED && look->state <= CRN_TOP_KILLED;
    /* An ended program without new figures is shown with totals. */
    bool spans = rows.view == CRN_TOP_SPANS;
    bool total = choice->total || !look->interval || (!spans && rows.info->is_level) ||
                 (spans && (ended || !look->spans || !look->spans->compared)) ||
                 (rows.view == CRN_TOP_LANES && !look->lanes_before.count) ||
                 (ended && crn_metric_empty(&look->since.profile, rows.metric));
    rows.seconds = total ? 0 : look->interval;
    const crn_profile *shown = total ? look->profile : &look->since.profile;
    rows.looked_at = shown;
    rows.whole = crn_metric_total(shown, rows.metric);
    view_rows(&rows, shown, look, choice);
    remark(&rows, look, choice);
    place_cursor(&rows, choice);
    return rows;
}

/* ---- lanes ---- */

static uint64_t of_lane(const crn_lane_info *lane, uint32_t metric)
{
    switch (metric) {
    case CRN_METRIC_CALLS:
        return lane->calls;
    case CRN_METRIC_TICKS:
        return lane->ticks;
    case CRN_METRIC_CPU:
        return lane->cpu;
    default:
        return metric == CRN_METRIC_WALL ? lane->wall : 0;
    }
}

static uint64_t since(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

void crn_top_lane_rows(crn_top_rows *rows, const crn_top_look *look, const crn_top_choice *choice)
{
    uint32_t at = 0;
    uint64_t sum = 0;
    static const crn_lane_info none;
    heading(rows, "a lane (thread or interpreter) runs one strand (stack of calls) at a time");
    for (uint32_t i = 0; i < look->lanes.count; i++) {
        const crn_lane_info *lane = &look->lanes.lanes[i], *before = &none;
        const crn_lanes *earlier = &look->lanes_before;
        while (at < earlier->count && earlier->lanes[at].number < lane->number)
            at++;
        if (rows->seconds > 0 && at < earlier->count && earlier->lanes[at].number == lane->number)
            before = &earlier->lanes[at];
        uint32_t block = lane->current < look->profile->block_count ? lane->current : 0;
        const crn_block_info *info = &look->profile->blocks[block];
        uint64_t total = of_lane(lane, rows->metric);
        uint64_t self = since(of_lane(before, rows->metric), total);
        sum += self;
        if (!crn_top_matches(choice, info) && !strcasestr(lane->name, choice->filter))
            continue;
        crn_top_row *row = crn_top_rows_add(rows);
        row->identity = lane->number + (uint64_t)1;
        row->lane = lane;
        row->block = info;
        row->self_total = row->inclusive_total = total;
        row->calls_total = lane->calls;
        row->self = row->inclusive = self;
        row->calls = since(before->calls, lane->calls);
    }
    rows->whole = sum;
    if (rows->count == 1)
        rows->count = 0; /* the heading alone */
}
