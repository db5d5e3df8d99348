/* SPDX-License-Identifier: MIT */
#include "spans/iterations.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "base/order.h"

/* ---- points ---- */

typedef struct points {
    const crn_spans *spans;
    const uint8_t *kept;
    uint32_t block;
    bool numbered;
} points;

/* Returns true if a span of the block is shown as a point. */
static bool is_point(const points *points, const crn_span *its, uint32_t span)
{
    return !its->open && (!points->numbered || its->iteration != CAIRN_ITERATION_NONE) &&
           (!points->kept || points->kept[span]);
}

static bool has_numbers(const crn_spans *spans, uint32_t block)
{
    for (uint32_t s = 0; s < spans->trace->span_count; s++)
        if (crn_span_block(spans, s) == block &&
            spans->trace->spans[s].iteration != CAIRN_ITERATION_NONE)
            return true;
    return false;
}

/* Range of the points' numbers, and their longest duration. */
typedef struct extent {
    uint32_t count;
    int64_t first, last;
    uint64_t longest;
} extent;

static void extend(extent *extent, int64_t number, uint64_t duration)
{
    if (!extent->count++)
        extent->first = extent->last = number;
    extent->first = number < extent->first ? number : extent->first;
    extent->last = number > extent->last ? number : extent->last;
    extent->longest = duration > extent->longest ? duration : extent->longest;
}

/* Returns the points' extent, and sets points->numbered. */
static extent measure(points *points)
{
    extent extents[2] = {{0}, {0}}; /* [0]: all points, by index; [1]: numbered points */
    const crn_span *all = points->spans->trace->spans;
    int64_t order = 0;
    for (uint32_t s = 0; s < points->spans->trace->span_count; s++) {
        if (crn_span_block(points->spans, s) != points->block)
            continue;
        bool numbered = all[s].iteration != CAIRN_ITERATION_NONE;
        points->numbered |= numbered;
        if (!all[s].open && (!points->kept || points->kept[s])) {
            extend(&extents[0], order, all[s].end - all[s].start);
            if (numbered)
                extend(&extents[1], all[s].iteration, all[s].end - all[s].start);
        }
        order++;
    }
    return extents[points->numbered];
}

/* The grid of the plot. */
typedef struct grid {
    uint32_t columns, rows;
    int64_t first, last;
    double height; /* of the longest point, on the logarithmic scale */
} grid;

static uint32_t place_of(const grid *grid, const crn_iteration_point *point)
{
    double across = ((double)point->iteration - (double)grid->first) /
                    ((double)grid->last - (double)grid->first + 1);
    double up = log2((double)point->duration + 1) / grid->height;
    uint32_t column = (uint32_t)(across * grid->columns), row = (uint32_t)(up * grid->rows);
    column = column < grid->columns ? column : grid->columns - 1;
    row = row < grid->rows ? row : grid->rows - 1;
    return row * grid->columns + column;
}

static grid grid_of(const extent *extent, uint32_t most)
{
    uint32_t rows = (uint32_t)sqrt(most / 4.0);
    grid grid = {.rows = rows ? rows : 1, .first = extent->first, .last = extent->last};
    grid.columns = most / grid.rows ? most / grid.rows : 1;
    grid.height = log2((double)extent->longest + 2);
    return grid;
}

/* Adds a point to a cell. A cell shows its longest point, and of equally long ones the first. */
static void keep_longest(crn_iteration_point *at, crn_iteration_point point)
{
    uint32_t count = at->count + point.count;
    if (!at->count || point.duration > at->duration)
        *at = point;
    at->count = count;
}

static int compare_points(const void *left, const void *right)
{
    uint32_t a = ((const crn_iteration_point *)left)->span;
    uint32_t b = ((const crn_iteration_point *)right)->span;
    return CRN_ORDER(a, b);
}

/* Drops empty cells and sorts the points by span. */
static void pack(crn_iterations *all, uint32_t places)
{
    for (uint32_t i = 0; i < places; i++)
        if (all->points[i].count)
            all->points[all->count++] = all->points[i];
    qsort(all->points, all->count, sizeof *all->points, compare_points);
}

crn_iterations crn_iterations_make(const crn_spans *spans, uint32_t block, const uint8_t *kept,
                                   uint32_t most)
{
    points points = {.spans = spans, .kept = kept, .block = block};
    extent extent = measure(&points);
    grid grid = grid_of(&extent, most);
    bool thin = extent.count > most;
    uint32_t places = thin ? grid.columns * grid.rows : extent.count;
    crn_iterations all = {.numbered = points.numbered, .span_count = extent.count};
    all.points = crn_calloc((size_t)places + 1, sizeof *all.points);
    int64_t order = 0;
    for (uint32_t s = 0; extent.count && s < spans->trace->span_count; s++) {
        const crn_span *its = &spans->trace->spans[s];
        if (crn_span_block(spans, s) != block)
            continue;
        int64_t number = points.numbered ? its->iteration : order++;
        crn_iteration_point point = {number, its->end - its->start, s, 1};
        if (is_point(&points, its, s))
            keep_longest(&all.points[thin ? place_of(&grid, &point) : all.count++], point);
    }
    if (thin)
        pack(&all, places);
    return all;
}

void crn_iterations_free(crn_iterations *iterations)
{
    crn_free(iterations->points);
    *iterations = (crn_iterations){0};
}

uint32_t crn_iterations_block(const crn_spans *spans)
{
    typedef struct sum {
        uint64_t total;
        uint32_t count, numbered;
    } sum;
    uint32_t blocks = spans->block_count ? spans->block_count : 1, best = 0;
    sum *sums = crn_calloc(blocks, sizeof *sums);
    for (uint32_t s = 0; s < spans->trace->span_count; s++) {
        sum *sum = &sums[crn_span_block(spans, s)];
        sum->total += crn_span_duration(spans, s);
        sum->count++;
        sum->numbered += spans->trace->spans[s].iteration != CAIRN_ITERATION_NONE;
    }
    for (uint32_t b = 0; b < blocks; b++) {
        const sum *its = &sums[b], *most = &sums[best];
        int rank = its->numbered > 2 ? 2 : its->count > 2, best_rank;
        best_rank = most->numbered > 2 ? 2 : most->count > 2;
        if (rank > best_rank || (rank == best_rank && its->total > most->total))
            best = b;
    }
    crn_free(sums);
    return best;
}

/* ---- traces of chosen spans ---- */

/* Marks all descendants of kept spans. A stack holds spans to visit, because children may precede
 * their parents in the array. Most of its memory is never touched. */
static void keep_below(const crn_spans *spans, uint8_t *kept)
{
    uint32_t *pending = crn_calloc((size_t)spans->trace->span_count + 1, sizeof *pending);
    for (uint32_t s = 0; s < spans->trace->span_count; s++) {
        uint32_t height = kept[s] ? 1 : 0;
        pending[0] = s;
        while (height) {
            const uint32_t *children;
            uint32_t count = crn_span_children(spans, pending[--height], &children);
            for (uint32_t i = 0; i < count; i++) {
                if (kept[children[i]])
                    continue;
                kept[children[i]] = 1;
                pending[height++] = children[i];
            }
        }
    }
    crn_free(pending);
}

uint8_t *crn_iterations_choose(const crn_spans *spans, const crn_iteration_choice *choice)
{
    uint8_t *kept = crn_calloc((size_t)spans->trace->span_count + 1, sizeof *kept);
    bool numbered = has_numbers(spans, choice->block);
    int64_t order = 0;
    for (uint32_t s = 0; s < spans->trace->span_count; s++) {
        const crn_span *its = &spans->trace->spans[s];
        if (crn_span_block(spans, s) != choice->block)
            continue;
        int64_t number = numbered ? its->iteration : order++;
        uint64_t duration = crn_span_duration(spans, s);
        kept[s] = number >= choice->first && number <= choice->last &&
                  number != CAIRN_ITERATION_NONE && duration >= choice->shortest &&
                  duration <= choice->longest;
    }
    keep_below(spans, kept);
    return kept;
}

/* Maps kept spans to their numbers in the new trace. A span's number is the number of kept spans
 * before it. */
typedef struct numbering {
    const uint8_t *kept;
    uint32_t *before; /* by group of spans: kept spans before it */
} numbering;

enum { GROUP = 256 };

static numbering numbering_new(const uint8_t *kept, uint32_t count, uint32_t *kept_count)
{
    numbering numbers = {kept, crn_calloc(count / GROUP + (size_t)1, sizeof *numbers.before)};
    *kept_count = 0;
    for (uint32_t s = 0; s < count; s++) {
        if (s % GROUP == 0)
            numbers.before[s / GROUP] = *kept_count;
        *kept_count += kept[s] != 0;
    }
    return numbers;
}

static uint32_t renumbered(const numbering *numbers, uint32_t span)
{
    if (span == CRN_SPAN_NONE || !numbers->kept[span])
        return CRN_SPAN_NONE;
    uint32_t number = numbers->before[span / GROUP];
    for (uint32_t s = span - span % GROUP; s < span; s++)
        number += numbers->kept[s] != 0;
    return number;
}

/* Returns the entries of kept spans with new span numbers. An entry begins with its span number. */
static void *keep_entries(const void *entries, uint32_t count, size_t size,
                          const numbering *numbers, uint32_t *kept)
{
    char *made = crn_calloc((size_t)count + 1, size);
    for (uint32_t i = 0; i < count; i++) {
        const char *entry = (const char *)entries + i * size;
        uint32_t span;
        memcpy(&span, entry, sizeof span);
        span = renumbered(numbers, span);
        if (span == CRN_SPAN_NONE)
            continue;
        char *place = made + *kept * size;
        memcpy(place, entry, size);
        memcpy(place, &span, sizeof span);
        ++*kept;
    }
    return made;
}

_Static_assert(offsetof(crn_attribute, span) == 0 && offsetof(crn_counter, span) == 0 &&
                   offsetof(crn_span_event, span) == 0,
               "keep_entries");

static void keep_details(crn_trace *made, const crn_trace *trace, const numbering *numbers)
{
    made->attributes = keep_entries(trace->attributes, trace->attribute_count,
                                    sizeof *made->attributes, numbers, &made->attribute_count);
    made->counters = keep_entries(trace->counters, trace->counter_count, sizeof *made->counters,
                                  numbers, &made->counter_count);
    made->events = keep_entries(trace->events, trace->event_count, sizeof *made->events, numbers,
                                &made->event_count);
    made->edges = crn_calloc((size_t)trace->edge_count + 1, sizeof *made->edges);
    for (uint32_t i = 0; i < trace->edge_count; i++) {
        crn_span_edge edge = trace->edges[i];
        edge.from = renumbered(numbers, edge.from);
        edge.to = renumbered(numbers, edge.to);
        if (edge.from != CRN_SPAN_NONE && edge.to != CRN_SPAN_NONE)
            made->edges[made->edge_count++] = edge;
    }
    made->off_core = crn_calloc((size_t)trace->off_core_count + 1, sizeof *made->off_core);
    made->off_core_count = trace->off_core_count;
    if (trace->off_core_count)
        memcpy(made->off_core, trace->off_core, trace->off_core_count * sizeof *made->off_core);
}

/* Returns the kept spans' figures; NULL if `figures` is NULL. */
static uint64_t *kept_figures(const crn_trace *made, const crn_trace *trace,
                              const numbering *numbers, const uint64_t *figures)
{
    if (!figures)
        return NULL;
    uint64_t *kept = crn_calloc((size_t)made->span_count + 1, sizeof *kept);
    for (uint32_t s = 0, number = 0; s < trace->span_count; s++)
        if (numbers->kept[s])
            kept[number++] = figures[s];
    return kept;
}

/* Copies weights, hand-offs, processor and ready times. */
static void copy_details(crn_trace *made, const crn_trace *trace, const numbering *numbers)
{
    made->weights = crn_calloc((size_t)trace->weight_count + 1, sizeof *made->weights);
    for (uint32_t i = 0; i < trace->weight_count; i++) {
        crn_span_weight weight = trace->weights[i];
        weight.span = renumbered(numbers, weight.span);
        if (weight.span != CRN_SPAN_NONE)
            made->weights[made->weight_count++] = weight;
    }
    made->handoffs = crn_calloc((size_t)trace->handoff_count + 1, sizeof *made->handoffs);
    for (uint32_t i = 0; i < trace->handoff_count; i++) {
        crn_span_handoff handoff = trace->handoffs[i];
        handoff.span = renumbered(numbers, handoff.span);
        if (handoff.span != CRN_SPAN_NONE)
            made->handoffs[made->handoff_count++] = handoff;
    }
    made->cpu = kept_figures(made, trace, numbers, trace->cpu);
    made->ready = kept_figures(made, trace, numbers, trace->ready);
}

crn_trace *crn_trace_keep(const crn_trace *trace, const uint8_t *kept, uint32_t **origins)
{
    crn_trace *made = crn_calloc(1, sizeof *made);
    numbering numbers = numbering_new(kept, trace->span_count, &made->span_count);
    made->spans = crn_calloc((size_t)made->span_count + 1, sizeof *made->spans);
    *origins = crn_calloc((size_t)made->span_count + 1, sizeof **origins);
    for (uint32_t s = 0, number = 0; s < trace->span_count; s++) {
        if (!kept[s])
            continue;
        crn_span *span = &made->spans[number];
        *span = trace->spans[s];
        span->parent = renumbered(&numbers, span->parent);
        (*origins)[number++] = s;
    }
    keep_details(made, trace, &numbers);
    copy_details(made, trace, &numbers);
    crn_free(numbers.before);
    made->lane_count = trace->lane_count;
    made->lanes = crn_calloc((size_t)trace->lane_count + 1, sizeof *made->lanes);
    for (uint32_t i = 0; i < trace->lane_count; i++)
        made->lanes[i] = trace->lanes[i];
    made->key_count = trace->key_count;
    made->keys = crn_calloc((size_t)trace->key_count + 1, sizeof *made->keys);
    for (uint32_t i = 0; i < trace->key_count; i++)
        made->keys[i] = trace->keys[i];
    made->texts = crn_interning_new();
    made->length = trace->length;
    made->dropped = trace->dropped; /* users of the part have to know what is missing */
    made->details_dropped = trace->details_dropped;
    made->skipped = trace->skipped;
    return made;
}
