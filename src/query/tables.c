/* SPDX-License-Identifier: MIT
 *
 * Tables about the profile; trace_tables.c has the tables about spans.
 */
#include <string.h>

#include "profile/profile.h"
#include "query/simple.h"

/* ---- blocks ---- */

static crn_value block_value(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, block, (uint32_t)row);
    uint32_t block = (uint32_t)row - capture->block;
    const crn_block_info *info = &capture->profile->blocks[block];
    (void)text;
    switch (column) {
    case 0:
        return crn_integer((int64_t)row);
    case 1:
        return (crn_value){
            .kind = CRN_VALUE_TEXT, .text = info->name, .size = (size_t)capture->name_size[block]};
    case 2:
        return *info->file ? crn_text(info->file) : (crn_value){0};
    case 3:
        return info->line ? crn_integer(info->line) : (crn_value){0};
    case 4:
        return info->column ? crn_integer(info->column) : (crn_value){0};
    case 5:
        return crn_id_or_null(capture->block, info->parent ? info->parent : UINT32_MAX);
    default:
        return crn_capture_number(query, capture);
    }
}

/* ---- summary ---- */

static crn_value summary_value(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, block, (uint32_t)row);
    if (column < 2)
        return block_value(query, row, column, text);
    crn_captures_summary(capture);
    const crn_summary_row *its = &capture->summary[(uint32_t)row - capture->block];
    bool ended = its->count > its->open;
    switch (column) {
    case 2:
        return crn_integer(its->count);
    case 3:
        return crn_integer(its->open);
    case 4:
        return crn_figure_value(its->total);
    case 5:
        crn_captures_self_times(capture);
        return crn_figure_value(its->self);
    case 6:
        return ended ? crn_figure_value(its->min) : (crn_value){0};
    case 7:
        crn_captures_quantiles(capture);
        return ended ? crn_figure_value(its->median) : (crn_value){0};
    case 8:
        crn_captures_quantiles(capture);
        return ended ? crn_figure_value(its->p90) : (crn_value){0};
    case 9:
        crn_captures_quantiles(capture);
        return ended ? crn_figure_value(its->p99) : (crn_value){0};
    case 10:
        return ended ? crn_figure_value(its->max) : (crn_value){0};
    default:
        return crn_capture_number(query, capture);
    }
}

/* ---- contexts ---- */

static crn_value context_value(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, context, (uint32_t)row);
    const crn_profile *profile = capture->profile;
    uint32_t context = (uint32_t)row - capture->context, block = profile->block[context];
    static const uint32_t metrics[] = {CRN_METRIC_TICKS, CRN_METRIC_WALL, CRN_METRIC_CPU};
    switch (column) {
    case 0:
        return crn_integer((int64_t)row);
    case 1:
        return crn_id_or_null(capture->context, context ? profile->parent[context] : UINT32_MAX);
    case 2:
        return block_value(query, (uint64_t)capture->block + block, 1, text);
    case 3:
        crn_captures_costs(capture);
        return crn_integer(capture->costs.depth[context]);
    case 4:
        return crn_figure_value(crn_self(profile, CRN_METRIC_CALLS, context));
    case 5:
    case 6:
    case 7:
        return crn_figure_value(crn_self(profile, metrics[column - 5], context));
    case 8:
    case 9:
    case 10: {
        crn_captures_costs(capture);
        const uint64_t *inclusive = capture->costs.inclusive[metrics[column - 8]];
        return crn_figure_value(inclusive ? inclusive[context] : 0);
    }
    case 11:
        return crn_integer(context && profile->previous[context] != CRN_CONTEXT_NONE);
    case 12:
        return crn_integer((int64_t)capture->block + block);
    default:
        return crn_capture_number(query, capture);
    }
}

/* ---- block_costs ---- */

static crn_value block_cost_value(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, block, (uint32_t)row);
    if (column < 2)
        return block_value(query, row, column, text);
    crn_captures_block_costs(capture);
    const crn_cost_row *its = &capture->block_costs[(uint32_t)row - capture->block];
    switch (column) {
    case 2:
        return crn_figure_value(its->calls);
    case 3:
    case 4:
    case 5:
        return crn_figure_value(its->self[column - 3]);
    case 6:
    case 7:
    case 8:
        return crn_figure_value(its->inclusive[column - 6]);
    case 9:
        return crn_integer(its->contexts);
    default:
        return crn_capture_number(query, capture);
    }
}

/* ---- costs: a row for each context and each metric with a column ---- */

static uint32_t charged(const crn_profile *profile, uint32_t metrics[CRN_METRIC_MAX])
{
    uint32_t count = 0;
    for (uint32_t m = 0; m < profile->metric_count; m++)
        if (profile->values[m])
            metrics[count++] = m;
    return count;
}

static uint64_t count_costs(crn_query *query)
{
    uint32_t metrics[CRN_METRIC_MAX];
    uint64_t count = 0;
    for (uint32_t i = 0; i < query->count; i++)
        count += (uint64_t)query->captures[i].profile->context_count *
                 charged(query->captures[i].profile, metrics);
    return count;
}

static crn_value cost_value(crn_query *query, uint64_t row, int column, char *text)
{
    uint32_t metrics[CRN_METRIC_MAX], count = 0;
    const crn_query_capture *capture = query->captures;
    (void)text;
    for (;; capture++) {
        count = charged(capture->profile, metrics);
        uint64_t rows = (uint64_t)capture->profile->context_count * count;
        if (row < rows)
            break;
        row -= rows;
    }
    uint32_t context = (uint32_t)(row / count), metric = metrics[row % count];
    switch (column) {
    case 0:
        return crn_integer((int64_t)capture->context + context);
    case 1:
        return crn_text(capture->profile->metrics[metric].name);
    case 2:
        return crn_text(capture->profile->metrics[metric].unit);
    case 3:
        return crn_figure_value(capture->profile->values[metric][context]);
    case 4:
        crn_captures_costs(capture);
        return crn_figure_value(capture->costs.inclusive[metric][context]);
    default:
        return crn_capture_number(query, capture);
    }
}

/* ---- edges: first tree edges, then aliases ---- */

static crn_value edge_value(crn_query *query, uint64_t row, int column, char *text)
{
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, edge, (uint32_t)row);
    const crn_profile *profile = capture->profile;
    uint32_t number = (uint32_t)row - capture->edge, contexts = profile->context_count - 1;
    crn_profile_edge edge;
    (void)text;
    if (number < contexts)
        edge = (crn_profile_edge){profile->parent[number + 1], number + 1,
                                  profile->calls_tree[number + 1], false};
    else
        edge = profile->edges[number - contexts];
    switch (column) {
    case 0:
        return crn_integer((int64_t)capture->context + edge.from);
    case 1:
        return crn_integer((int64_t)capture->context + edge.target);
    case 2:
        return crn_text(number < contexts ? "tree" : edge.folded ? "folded" : "cycle");
    case 3:
        return crn_figure_value(edge.calls);
    default:
        return crn_capture_number(query, capture);
    }
}

const crn_simple_table crn_profile_tables[] = {
    {"blocks",
     "id INTEGER, name TEXT, file TEXT, line INTEGER, \"column\" INTEGER, parent INTEGER, "
     "capture INTEGER",
     block_value, .ids = CRN_IDS(block)},
    {"block_figures",
     "block INTEGER, name TEXT, count INTEGER, open INTEGER, total INTEGER, self INTEGER, "
     "min INTEGER, median INTEGER, p90 INTEGER, p99 INTEGER, max INTEGER, capture INTEGER",
     summary_value, .ids = CRN_IDS(block)},
    {"block_costs",
     "block INTEGER, name TEXT, calls INTEGER, ticks INTEGER, wall INTEGER, cpu INTEGER, "
     "ticks_inclusive INTEGER, wall_inclusive INTEGER, cpu_inclusive INTEGER, contexts INTEGER, "
     "capture INTEGER",
     block_cost_value, .ids = CRN_IDS(block)},
    {"contexts",
     "id INTEGER, parent INTEGER, name TEXT, depth INTEGER, calls INTEGER, ticks INTEGER, "
     "wall INTEGER, cpu INTEGER, ticks_inclusive INTEGER, wall_inclusive INTEGER, "
     "cpu_inclusive INTEGER, recursive INTEGER, block INTEGER, capture INTEGER",
     context_value, .ids = CRN_IDS(context)},
    {"costs",
     "context INTEGER, metric TEXT, unit TEXT, self INTEGER, inclusive INTEGER, capture INTEGER",
     cost_value, .count = count_costs},
    {"edges", "source INTEGER, target INTEGER, kind TEXT, calls INTEGER, capture INTEGER",
     edge_value, .ids = CRN_IDS(edge)},
    {0},
};
