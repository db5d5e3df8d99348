/* SPDX-License-Identifier: MIT
 *
 * Figures of spans by block.
 */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "spans/span_figures.h"

static void add_extremes(crn_span_row *row, const crn_spans *spans, uint32_t span)
{
    uint64_t duration = crn_span_duration(spans, span);
    if (spans->trace->spans[span].open)
        return;
    if (row->count - row->open == 1 || duration < row->min)
        row->min = duration;
    if (duration > row->max)
        row->max = duration;
}

static void add_up(const crn_spans *spans, const uint8_t *kept, crn_span_row *rows)
{
    const uint64_t *cpu = spans->trace->cpu;
    double *weights = crn_trace_weigh(spans->trace);
    for (uint32_t s = 0; s < spans->trace->span_count; s++) {
        crn_span_row *row = &rows[crn_span_block(spans, s)];
        if (!crn_span_is_chosen(spans, s) || (kept && !kept[crn_span_block(spans, s)]))
            continue;
        row->count++;
        row->open += spans->trace->spans[s].open;
        row->total += crn_span_duration(spans, s);
        row->self += crn_span_self(spans, s);
        row->weight += weights ? weights[s] : 1;
        add_extremes(row, spans, s);
        if (cpu && cpu[s] != UINT64_MAX) {
            row->cpu += cpu[s];
            row->cpu_wall += crn_span_duration(spans, s);
        }
    }
    crn_free(weights);
}

/* Sets the bin edges: a geometric series from the shortest to the longest duration of all rows. */
static void choose_edges(crn_span_table *table, uint32_t blocks)
{
    uint64_t low = UINT64_MAX, high = 1;
    for (uint32_t i = 0; i < blocks; i++) {
        const crn_span_row *row = &table->rows[i];
        if (row->count > row->open && row->min < low)
            low = row->min;
        if (row->max > high)
            high = row->max;
    }
    low = low > high ? high : low < 1 ? 1 : low;
    double ratio = log((double)high / (double)low) / CRN_SPAN_BINS;
    for (int i = 0; i <= CRN_SPAN_BINS; i++)
        table->edges[i] = (uint64_t)((double)low * exp(ratio * i));
    table->edges[0] = low;
    table->edges[CRN_SPAN_BINS] = high;
}

/* Returns the last bin whose lower edge is <= duration. */
static int bin_of(uint64_t duration, const uint64_t *edges)
{
    int bin = 0;
    for (int i = 1; i < CRN_SPAN_BINS; i++)
        bin += duration >= edges[i];
    return bin;
}

static void count_bins(const crn_spans *spans, const uint8_t *kept, const uint64_t *edges,
                       crn_span_row *rows)
{
    const crn_trace *trace = spans->trace;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        uint32_t block = crn_span_block(spans, s);
        if (!trace->spans[s].open && crn_span_is_chosen(spans, s) && (!kept || kept[block]))
            rows[block].bins[bin_of(crn_span_duration(spans, s), edges)]++;
    }
}

/* ---- order ---- */

static uint64_t figure_of(const crn_span_row *row, crn_span_sort sort)
{
    switch (sort) {
    case CRN_SPANS_BY_SELF:
        return row->self;
    case CRN_SPANS_BY_COUNT:
        return row->count;
    case CRN_SPANS_BY_MEDIAN:
        return row->median;
    case CRN_SPANS_BY_P99:
        return row->p99;
    case CRN_SPANS_BY_MAX:
        return row->max;
    default:
        return row->total;
    }
}

/* Sort key and index of a row. */
typedef struct place {
    uint64_t figure;
    uint32_t block, row;
} place;

static int compare_places(const void *left, const void *right)
{
    const place *a = left, *b = right;
    return CRN_ORDER(b->figure, a->figure) ?: CRN_ORDER(a->block, b->block);
}

crn_span_table crn_span_table_sorted(const crn_span_table *table, crn_span_sort sort)
{
    crn_span_table made = *table;
    place *places = crn_calloc(table->count + (size_t)1, sizeof *places);
    made.rows = crn_calloc(table->count + (size_t)1, sizeof *made.rows);
    for (uint32_t i = 0; i < table->count; i++)
        places[i] = (place){figure_of(&table->rows[i], sort), table->rows[i].block, i};
    qsort(places, table->count, sizeof *places, compare_places);
    for (uint32_t i = 0; i < table->count; i++)
        made.rows[i] = table->rows[places[i].row];
    crn_free(places);
    return made;
}

crn_span_table crn_span_table_make(const crn_spans *spans, const uint8_t *kept, crn_span_sort sort)
{
    uint32_t blocks = spans->block_count ? spans->block_count : 1;
    crn_span_table table = {.rows = crn_calloc(blocks, sizeof *table.rows)};
    add_up(spans, kept, table.rows);
    choose_edges(&table, blocks);
    count_bins(spans, kept, table.edges, table.rows);
    crn_span_ranks(spans, kept, table.rows, blocks);
    for (uint32_t b = 0; b < blocks; b++) {
        crn_span_row row = table.rows[b];
        if (!row.count)
            continue;
        row.block = b;
        table.self += row.self;
        table.rows[table.count++] = row;
    }
    crn_span_table sorted = crn_span_table_sorted(&table, sort);
    crn_span_table_free(&table);
    return sorted;
}

void crn_span_table_free(crn_span_table *table)
{
    crn_free(table->rows);
    *table = (crn_span_table){0};
}
