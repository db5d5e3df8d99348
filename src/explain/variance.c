/* SPDX-License-Identifier: MIT */
#include "explain/variance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "explain/child_sums.h"

/* Sums over spans, for their children of one block. */
typedef struct sums {
    double spans; /* number of spans with such children */
    crn_child_sum all;
    crn_child_sum slow, typical;
    double before;                     /* sum of these spans' deviations from the mean duration */
    double share[CRN_EXPLAIN_KINDS];   /* sums of products of deviations, for the covariances */
    double squares[CRN_EXPLAIN_KINDS]; /* sums of squared deviations from the mean */
    double figures[CRN_EXPLAIN_KINDS]; /* sums over spans, for means */
} sums;

enum { OWN = 3 /* parts of self time */ };

typedef struct working {
    const crn_spans *spans;
    crn_explain *explain;
    crn_explained explained;
    uint32_t count;                  /* number of explained spans */
    uint64_t *list, *slow, *typical; /* bitmaps by span */
    size_t block_count;
    sums *blocks;
    crn_child_sums children; /* of the current span */
    struct own {
        double mean, slow, typical, share, squares;
    } own[OWN]; /* times working, waiting and ready; unknown waiting counts as working, unknown
                   ready time as waiting */
} working;

/* ---- selection of spans ---- */

/* Returns true if an ancestor of the span is chosen, too. The bitmaps `known` and `nested` have
 * earlier results, so that each span is visited once. */
static bool is_nested(const crn_trace *trace, const uint64_t *chosen, uint32_t span,
                      uint64_t *known, uint64_t *nested)
{
    uint32_t top = span, parent;
    while ((parent = trace->spans[top].parent) != CRN_SPAN_NONE && !crn_bits_has(chosen, parent) &&
           !crn_bits_has(known, parent))
        top = parent;
    bool within =
        parent != CRN_SPAN_NONE && (crn_bits_has(chosen, parent) || crn_bits_has(nested, parent));
    for (uint32_t at = span; at != parent; at = trace->spans[at].parent) {
        crn_bits_set(known, at);
        if (within)
            crn_bits_set(nested, at);
    }
    return within;
}

static void choose(working *working, const uint64_t *chosen, uint64_t limit)
{
    const crn_trace *trace = working->spans->trace;
    crn_explain *explain = working->explain;
    uint32_t all = trace->span_count;
    uint64_t *known = crn_bits_new(all), *nested = crn_bits_new(all);
    working->list = crn_bits_new(all);
    for (uint32_t s = crn_bits_next(chosen, 0, all); s < all;
         s = crn_bits_next(chosen, s + 1, all)) {
        if (trace->spans[s].open) {
            explain->open++;
        } else if (is_nested(trace, chosen, s, known, nested)) {
            explain->nested++;
        } else if (crn_span_duration(working->spans, s) > limit) {
            explain->longer++;
        } else {
            crn_bits_set(working->list, s);
            working->count++;
        }
    }
    explain->count = working->count;
    crn_free(known);
    crn_free(nested);
}

static double deviation_of(const working *working, uint32_t span)
{
    return crn_explain_deviation(working->explain, crn_span_duration(working->spans, span));
}

/* ---- two passes ---- */

static crn_product mean_of(const working *working, const sums *sums)
{
    return crn_product_of(&sums->all, working->count, &(crn_product){.overlap = 1});
}

static void add_children(working *working, uint32_t span, double deviation)
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
        if (crn_bits_has(working->slow, span))
            crn_child_sum_add(&sums->slow, sum);
        if (crn_bits_has(working->typical, span))
            crn_child_sum_add(&sums->typical, sum);
    }
}

/* Computes a span's figure, such as processor time, without that of children on its lane. Returns
 * false if one of these figures is not known. */
static bool own_figure(const working *working, const uint64_t *figures, uint32_t span, double *time)
{
    const crn_spans *spans = working->spans;
    const crn_trace *trace = spans->trace;
    if (!figures || figures[span] == UINT64_MAX)
        return false;
    *time = (double)figures[span];
    const uint32_t *children;
    uint32_t count = crn_span_children(spans, span, &children);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t child = children[i];
        if (trace->spans[child].lane != trace->spans[span].lane)
            continue;
        if (figures[child] == UINT64_MAX)
            return false;
        *time -= (double)figures[child];
    }
    return true;
}

/* Divides self time into working, waiting and ready. Clamps these to the self time: clocks differ,
 * children can run in parallel with their parent, files can be damaged. */
static void own_times(const working *working, uint32_t span, double own[OWN])
{
    const crn_trace *trace = working->spans->trace;
    double cpu, ready, self = (double)crn_span_self(working->spans, span);
    bool known = working->explain->has_cpu && own_figure(working, trace->cpu, span, &cpu);
    own[0] = known ? fmax(0, fmin(cpu, self)) : self;
    own[1] = self - own[0];
    known = working->explain->has_ready && own_figure(working, trace->ready, span, &ready);
    own[2] = known ? fmax(0, fmin(ready, own[1])) : 0;
    own[1] -= own[2];
}

/* Returns true if own_figure knows the figure for all spans. */
static bool has_figure(const working *working, const uint64_t *figures)
{
    double time;
    CRN_EACH_EXPLAINED(s, &working->explained)
    if (!own_figure(working, figures, s, &time))
        return false;
    return true;
}

/* First pass: sums for the means. */
static void first_pass(working *working)
{
    uint32_t seen = 0;
    CRN_EACH_EXPLAINED(s, &working->explained)
    {
        double own[OWN];
        own_times(working, s, own);
        seen++;
        for (int w = 0; w < OWN; w++) {
            working->own[w].mean += (own[w] - working->own[w].mean) / seen;
            working->own[w].slow += crn_bits_has(working->slow, s) ? own[w] : 0;
            working->own[w].typical += crn_bits_has(working->typical, s) ? own[w] : 0;
        }
        crn_child_sums_of(&working->children, s);
        working->explain->outside += working->children.outside;
        add_children(working, s, deviation_of(working, s));
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

/* Second pass: covariances with the duration. Spans without children of a block deviate from the
 * mean only in the children's number; they are added at once at the end. */
static void second_pass(working *working)
{
    CRN_EACH_EXPLAINED(s, &working->explained)
    {
        double deviation = deviation_of(working, s);
        double own[OWN];
        own_times(working, s, own);
        for (int w = 0; w < OWN; w++) {
            own[w] -= working->own[w].mean;
            working->own[w].share += own[w] * deviation;
            working->own[w].squares += own[w] * own[w];
        }
        crn_child_sums_of(&working->children, s);
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

/* Returns the figure to show; NaN without spans or children. */
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
    /* If only slow or only typical spans have such children, they differ in the children's number
     * alone. */
    crn_product typical = crn_product_of(&sums->typical, explain->typical_count, &mean);
    if (sums->typical.number == 0)
        typical = crn_product_of(&sums->slow, 0, &mean);
    crn_product slow = crn_product_of(&sums->slow, explain->slow_count, &typical);
    double by[CRN_EXPLAIN_KINDS];
    crn_product_effects(&typical, &slow, by);
    for (int k = CRN_EXPLAIN_NUMBER; k <= CRN_EXPLAIN_OVERLAP; k++) {
        crn_explain_kind kind = (crn_explain_kind)k;
        bool number = kind == CRN_EXPLAIN_NUMBER;
        /* The children never overlap: no such part. */
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

static void make_parts(working *working)
{
    crn_explain *explain = working->explain;
    uint32_t blocks = 0;
    for (uint32_t b = 0; b < working->block_count; b++)
        blocks += working->blocks[b].spans > 0;
    explain->parts = crn_calloc((size_t)blocks * 3 + OWN, sizeof *explain->parts);
    static const crn_explain_kind kinds[OWN] = {CRN_EXPLAIN_SELF, CRN_EXPLAIN_WAITING,
                                                CRN_EXPLAIN_READY};
    for (int w = 0; w < 1 + explain->has_cpu + explain->has_ready; w++) {
        const struct own *own = &working->own[w];
        double slow = explain->slow_count ? own->slow / explain->slow_count : NAN;
        double typical = explain->slow_count ? own->typical / explain->typical_count : NAN;
        crn_explain_part part = {.kind = kinds[w],
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
    crn_explain_sort_parts(explain);
}

/* ---- entry ---- */

crn_explain *crn_explain_make(const crn_spans *spans, const uint64_t *chosen, uint64_t limit,
                              uint64_t slow)
{
    crn_explain *explain = crn_calloc(1, sizeof *explain);
    working working = {.spans = spans,
                       .explain = explain,
                       .children = {.spans = spans},
                       .block_count = spans->block_count ? spans->block_count : 1};
    choose(&working, chosen, limit);
    working.slow = crn_bits_new(spans->trace->span_count);
    working.typical = crn_bits_new(spans->trace->span_count);
    working.explained =
        (crn_explained){spans, working.count, working.list, working.slow, working.typical, NULL};
    crn_explain_lengths(explain, &working.explained, slow);
    if (working.count) {
        working.blocks = crn_calloc(working.block_count, sizeof *working.blocks);
        explain->has_cpu = has_figure(&working, spans->trace->cpu);
        explain->has_ready = explain->has_cpu && has_figure(&working, spans->trace->ready);
        first_pass(&working);
        second_pass(&working);
        make_parts(&working);
        crn_explain_factors(explain, &working.explained);
        explain->functions = crn_sampled_functions_make(spans, working.slow, explain->slow_count,
                                                        working.typical, explain->typical_count);
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
    crn_sampled_functions_free(&explain->functions);
    crn_free(explain);
}
