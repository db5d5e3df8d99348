/* SPDX-License-Identifier: MIT */
#include "analysis/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/child_sums.h"
#include "base/memory.h"

/* Sums over spans, by block of the children. */
typedef struct sums {
    double spans; /* that have any */
    crn_child_sum all;
    crn_child_sum slow, typical;
    double before; /* deviations from the mean of those spans' durations that have any, added up */
    double share[CRN_EXPLAIN_KINDS];   /* covariances with the duration, added up */
    double squares[CRN_EXPLAIN_KINDS]; /* of the figures' deviations from their means */
    double figures[CRN_EXPLAIN_KINDS]; /* added up */
} sums;

typedef struct working {
    const crn_spans *spans;
    crn_explain *explain;
    uint32_t count, *list;   /* the spans that are explained */
    uint8_t *slow, *typical; /* by place in the list */
    size_t block_count;
    sums *blocks;
    crn_child_sums children; /* of the span that is looked at */
    struct own {
        double mean, slow, typical, share, squares;
    } own[2]; /* time with a processor, and without one; all of it is the first where it is not
                 known which */
} working;

/* ---- which spans ---- */

/* Whether a span runs within another one that is chosen: from the top down, as parents can
 * come later than their children. */
static uint8_t *find_nested(const crn_spans *spans, const uint8_t *chosen)
{
    const crn_trace *trace = spans->trace;
    uint8_t *nested = crn_calloc(trace->span_count + (size_t)1, 1);
    uint32_t *stack = crn_calloc(trace->span_count + (size_t)1, sizeof *stack), height = 0;
    for (uint32_t root = 0; root < trace->span_count; root++) {
        if (trace->spans[root].parent == CRN_SPAN_NONE)
            stack[height++] = root;
        while (height) {
            const uint32_t *children;
            uint32_t s = stack[--height], count = crn_span_children(spans, s, &children);
            for (uint32_t i = 0; i < count; i++) {
                nested[children[i]] = nested[s] || chosen[s];
                stack[height++] = children[i];
            }
        }
    }
    crn_free(stack);
    return nested;
}

static void choose(working *working, const uint8_t *chosen, uint64_t limit)
{
    const crn_trace *trace = working->spans->trace;
    crn_explain *explain = working->explain;
    uint8_t *nested = find_nested(working->spans, chosen);
    working->list = crn_calloc(trace->span_count + (size_t)1, sizeof *working->list);
    for (uint32_t s = 0; s < trace->span_count; s++) {
        if (!chosen[s])
            continue;
        if (trace->spans[s].open)
            explain->open++;
        else if (nested[s])
            explain->nested++;
        else if (crn_span_duration(working->spans, s) > limit)
            explain->longer++;
        else
            working->list[working->count++] = s;
    }
    explain->count = working->count;
    crn_free(nested);
}

/* ---- their durations ---- */

static int compare_times(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

static int compare_far(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return *a > *b ? -1 : *a < *b;
}

static double duration_at(const working *working, uint32_t place)
{
    return (double)crn_span_duration(working->spans, working->list[place]);
}

static void find_variance(working *working)
{
    crn_explain *explain = working->explain;
    double *far = crn_calloc(working->count + (size_t)1, sizeof *far), sum = 0;
    for (uint32_t i = 0; i < working->count; i++)
        explain->mean += (duration_at(working, i) - explain->mean) / (i + 1);
    for (uint32_t i = 0; i < working->count; i++) {
        double deviation = duration_at(working, i) - explain->mean;
        far[i] = deviation * deviation;
        sum += far[i];
    }
    explain->variance = working->count ? sum / working->count : 0;
    explain->deviation = sqrt(explain->variance);
    qsort(far, working->count, sizeof *far, compare_far);
    double left = sum / 2;
    while (explain->half < working->count && left > 0)
        left -= far[explain->half++];
    crn_free(far);
}

static uint64_t at_rank(const uint64_t *sorted, uint32_t count, double share)
{
    double rank = ceil(share * count);
    return sorted[rank < 1 ? 0 : (uint32_t)rank - 1];
}

/* The mean of those that are marked. */
static double mean_where(const working *working, const uint8_t *marked, uint32_t *count)
{
    double mean = 0;
    *count = 0;
    for (uint32_t i = 0; i < working->count; i++)
        if (marked[i])
            mean += (duration_at(working, i) - mean) / ++*count;
    return mean;
}

static void find_slow(working *working)
{
    crn_explain *explain = working->explain;
    uint32_t count = working->count;
    uint64_t *times = crn_calloc(count + (size_t)1, sizeof *times);
    for (uint32_t i = 0; i < count; i++)
        times[i] = crn_span_duration(working->spans, working->list[i]);
    qsort(times, count, sizeof *times, compare_times);
    working->slow = crn_calloc(count + (size_t)1, 1);
    working->typical = crn_calloc(count + (size_t)1, 1);
    if (count) {
        explain->min = times[0];
        explain->median = at_rank(times, count, 0.5);
        explain->p95 = at_rank(times, count, 0.95);
        explain->p99 = explain->slow_from = at_rank(times, count, 0.99);
        explain->max = times[count - 1];
        explain->typical_from = at_rank(times, count, 0.25);
        explain->typical_to = at_rank(times, count, 0.75);
    }
    crn_free(times);
    if (explain->slow_from <= explain->typical_to)
        return;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t took = crn_span_duration(working->spans, working->list[i]);
        working->slow[i] = took >= explain->slow_from;
        working->typical[i] = took >= explain->typical_from && took <= explain->typical_to;
    }
    explain->slow_mean = mean_where(working, working->slow, &explain->slow_count);
    explain->typical_mean = mean_where(working, working->typical, &explain->typical_count);
}

/* ---- two passes ---- */

static crn_product mean_of(const working *working, const sums *sums)
{
    return crn_product_of(&sums->all, working->count, &(crn_product){.overlap = 1});
}

static void add_children(working *working, uint32_t place, double deviation)
{
    const crn_child_sums *children = &working->children;
    for (uint32_t i = 0; i < children->count; i++) {
        const crn_child_sum *sum = &children->sums[children->blocks[i]];
        sums *sums = &working->blocks[children->blocks[i]];
        sums->spans++;
        sums->before += deviation;
        sums->figures[CRN_EXPLAIN_DURATION] += sum->duration / sum->number;
        sums->figures[CRN_EXPLAIN_OVERLAP] += sum->duration > 0 ? sum->time / sum->duration : 1;
        crn_child_sum_add(&sums->all, sum);
        if (working->slow[place])
            crn_child_sum_add(&sums->slow, sum);
        if (working->typical[place])
            crn_child_sum_add(&sums->typical, sum);
    }
}

/* Processor time of the span itself: without the children that ran on its lane. False where some of
 * it is not known. */
static bool own_cpu(const working *working, uint32_t span, double *time)
{
    const crn_spans *spans = working->spans;
    const crn_trace *trace = spans->trace;
    if (!trace->cpu || trace->cpu[span] == UINT64_MAX)
        return false;
    *time = (double)trace->cpu[span];
    const uint32_t *children;
    uint32_t count = crn_span_children(spans, span, &children);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t child = children[i];
        if (trace->spans[child].lane != trace->spans[span].lane)
            continue;
        if (trace->cpu[child] == UINT64_MAX)
            return false;
        *time -= (double)trace->cpu[child];
    }
    return true;
}

static void own_times(const working *working, uint32_t span, double own[2])
{
    double cpu, self = (double)crn_span_self(working->spans, span);
    own[0] = working->explain->has_cpu && own_cpu(working, span, &cpu) ? cpu : self;
    own[1] = self - own[0];
}

static bool has_cpu(const working *working)
{
    double cpu;
    for (uint32_t i = 0; i < working->count; i++)
        if (!own_cpu(working, working->list[i], &cpu))
            return false;
    return true;
}

/* Sums: the means that the second pass takes deviations from. */
static void first_pass(working *working)
{
    for (uint32_t i = 0; i < working->count; i++) {
        double own[2];
        own_times(working, working->list[i], own);
        for (int w = 0; w < 2; w++) {
            working->own[w].mean += (own[w] - working->own[w].mean) / (i + 1);
            working->own[w].slow += working->slow[i] ? own[w] : 0;
            working->own[w].typical += working->typical[i] ? own[w] : 0;
        }
        crn_child_sums_of(&working->children, working->list[i]);
        working->explain->outside += working->children.outside;
        add_children(working, i, duration_at(working, i) - working->explain->mean);
    }
}

static void add_deviations(sums *sums, const crn_product *mean, const crn_product *its,
                           double deviation)
{
    const double figures[CRN_EXPLAIN_KINDS] = {0, its->number, its->duration, its->overlap, 0};
    double by[CRN_EXPLAIN_KINDS];
    crn_product_effects(mean, its, by);
    for (int k = CRN_EXPLAIN_NUMBER; k <= CRN_EXPLAIN_OVERLAP; k++) {
        double middle = k == CRN_EXPLAIN_NUMBER ? mean->number : sums->figures[k] / sums->spans;
        sums->share[k] += by[k] * deviation;
        sums->squares[k] += (figures[k] - middle) * (figures[k] - middle);
    }
}

/* Covariances with the duration. A span that has no child of a block differs from the mean in
 * their number alone: all those spans are added at the end, at once. */
static void second_pass(working *working)
{
    for (uint32_t i = 0; i < working->count; i++) {
        double deviation = duration_at(working, i) - working->explain->mean;
        double own[2];
        own_times(working, working->list[i], own);
        for (int w = 0; w < 2; w++) {
            own[w] -= working->own[w].mean;
            working->own[w].share += own[w] * deviation;
            working->own[w].squares += own[w] * own[w];
        }
        crn_child_sums_of(&working->children, working->list[i]);
        for (uint32_t c = 0; c < working->children.count; c++) {
            uint32_t block = working->children.blocks[c];
            sums *sums = &working->blocks[block];
            crn_product mean = mean_of(working, sums);
            crn_product its = crn_product_of(&working->children.sums[block], 1, &mean);
            add_deviations(sums, &mean, &its, deviation);
        }
    }
    for (size_t b = 0; b < working->block_count; b++) {
        sums *sums = &working->blocks[b];
        crn_product mean = mean_of(working, sums);
        sums->share[CRN_EXPLAIN_NUMBER] +=
            mean.number * mean.duration * mean.overlap * sums->before;
        sums->squares[CRN_EXPLAIN_NUMBER] +=
            mean.number * mean.number * (working->count - sums->spans);
    }
}

/* ---- parts ---- */

static void add_part(working *working, const crn_explain_part *part)
{
    working->explain->parts[working->explain->part_count++] = *part;
}

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static double figure_of(const crn_product *product, crn_explain_kind kind)
{
    return kind == CRN_EXPLAIN_NUMBER     ? product->number
           : kind == CRN_EXPLAIN_DURATION ? product->duration
                                          : product->overlap;
}

/* As it is shown: of what is not there nothing can be said. */
static double shown(const crn_child_sum *sum, double count, crn_explain_kind kind)
{
    if (count == 0 || (kind == CRN_EXPLAIN_DURATION && sum->number == 0) ||
        (kind == CRN_EXPLAIN_OVERLAP && !(sum->duration > 0)))
        return NAN;
    crn_product product = crn_product_of(sum, count, &(crn_product){0});
    return figure_of(&product, kind);
}

static void add_child_parts(working *working, uint32_t block)
{
    const crn_explain *explain = working->explain;
    const sums *sums = &working->blocks[block];
    crn_product mean = mean_of(working, sums);
    /* What only one of the two kinds of spans has differs in its number. */
    crn_product typical = crn_product_of(&sums->typical, explain->typical_count, &mean);
    if (sums->typical.number == 0)
        typical = crn_product_of(&sums->slow, 0, &mean);
    crn_product slow = crn_product_of(&sums->slow, explain->slow_count, &typical);
    double by[CRN_EXPLAIN_KINDS];
    crn_product_effects(&typical, &slow, by);
    for (int k = CRN_EXPLAIN_NUMBER; k <= CRN_EXPLAIN_OVERLAP; k++) {
        crn_explain_kind kind = (crn_explain_kind)k;
        bool number = kind == CRN_EXPLAIN_NUMBER;
        /* Children that never ran side by side: one line less to read. */
        if (kind == CRN_EXPLAIN_OVERLAP && mean.overlap >= 1)
            continue;
        double among = number ? working->count : sums->spans;
        crn_explain_part part = {.kind = kind,
                                 .block = block,
                                 .share = ratio(sums->share[k] / working->count, explain->variance),
                                 .mean = number ? mean.number : sums->figures[k] / sums->spans,
                                 .deviation = sqrt(sums->squares[k] / among),
                                 .slow = shown(&sums->slow, explain->slow_count, kind),
                                 .typical = shown(&sums->typical, explain->typical_count, kind),
                                 .extra = explain->slow_count ? by[k] : 0};
        add_part(working, &part);
    }
}

static int compare_parts(const void *left, const void *right)
{
    const crn_explain_part *a = left, *b = right;
    if (a->share != b->share)
        return a->share > b->share ? -1 : 1;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return (int)a->kind - (int)b->kind;
}

static void make_parts(working *working)
{
    crn_explain *explain = working->explain;
    uint32_t blocks = 0;
    for (uint32_t b = 0; b < working->block_count; b++)
        blocks += working->blocks[b].spans > 0;
    explain->parts = crn_calloc((size_t)blocks * 3 + 2, sizeof *explain->parts);
    for (int w = 0; w < 1 + explain->has_cpu; w++) {
        const struct own *own = &working->own[w];
        double slow = explain->slow_count ? own->slow / explain->slow_count : NAN;
        double typical = explain->slow_count ? own->typical / explain->typical_count : NAN;
        crn_explain_part part = {.kind = w ? CRN_EXPLAIN_WAITING : CRN_EXPLAIN_SELF,
                                 .share = ratio(own->share / working->count, explain->variance),
                                 .mean = own->mean,
                                 .deviation = sqrt(own->squares / working->count),
                                 .slow = slow,
                                 .typical = typical,
                                 .extra = explain->slow_count ? slow - typical : 0};
        add_part(working, &part);
    }
    for (uint32_t b = 0; b < working->block_count; b++)
        if (working->blocks[b].spans > 0)
            add_child_parts(working, b);
    qsort(explain->parts, explain->part_count, sizeof *explain->parts, compare_parts);
}

/* ---- all of it ---- */

crn_explain *crn_explain_make(const crn_spans *spans, const uint8_t *chosen, uint64_t limit)
{
    crn_explain *explain = crn_calloc(1, sizeof *explain);
    working working = {.spans = spans,
                       .explain = explain,
                       .children = {.spans = spans},
                       .block_count = spans->block_count ? spans->block_count : 1};
    choose(&working, chosen, limit);
    find_variance(&working);
    find_slow(&working);
    if (working.count) {
        working.blocks = crn_calloc(working.block_count, sizeof *working.blocks);
        explain->has_cpu = has_cpu(&working);
        first_pass(&working);
        second_pass(&working);
        make_parts(&working);
        crn_explain_factors(explain, &(crn_explained){spans, working.count, working.list,
                                                      working.slow, working.typical});
    }
    crn_free(working.list);
    crn_free(working.slow);
    crn_free(working.typical);
    crn_free(working.blocks);
    crn_child_sums_end(&working.children);
    return explain;
}

void crn_explain_free(crn_explain *explain)
{
    if (!explain)
        return;
    crn_free(explain->parts);
    crn_free(explain->factors);
    crn_free(explain);
}
