/* SPDX-License-Identifier: MIT */
#include "explain/child_sums.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"

/* The interval of a child, relative to the begin of its parent. */
typedef struct crn_child_run {
    double start, end, from; /* from: the shared clock at `start` */
    uint32_t block;
} run;

static void add(crn_child_sums *sums, uint32_t block, double duration, double time)
{
    crn_child_sum *sum = &sums->sums[block];
    if (sum->number == 0)
        sums->blocks[sums->count++] = block;
    crn_child_sum_add(sum, &(crn_child_sum){1, duration, time});
}

static int compare_ends(const void *left, const void *right)
{
    const run *const *a = left, *const *b = right;
    return CRN_ORDER((*a)->end, (*b)->end);
}

/* Gives each child its share of the time. A shared clock advances at 1/k of the real rate while k
 * children run; a child's share is its advance from the child's start to its end. The children are
 * sorted by start. */
static void share_out(crn_child_sums *sums, uint32_t count)
{
    run *runs = sums->runs, **ends = crn_calloc(count, sizeof *ends);
    for (uint32_t i = 0; i < count; i++)
        ends[i] = &runs[i];
    qsort(ends, count, sizeof *ends, compare_ends);
    double clock = 0, at = 0;
    uint32_t running = 0, next = 0;
    for (uint32_t e = 0; e < count; e++) {
        for (;; running++, next++) {
            bool starts = next < count && runs[next].start <= ends[e]->end;
            double to = starts ? runs[next].start : ends[e]->end;
            clock += running ? (to - at) / running : 0;
            at = to;
            if (!starts)
                break;
            runs[next].from = clock;
        }
        running--;
        add(sums, ends[e]->block, ends[e]->end - ends[e]->start, clock - ends[e]->from);
    }
    crn_free(ends);
}

static void forget(crn_child_sums *sums)
{
    size_t blocks = sums->spans->block_count ? sums->spans->block_count : 1;
    if (!sums->sums) {
        sums->sums = crn_calloc(blocks, sizeof *sums->sums);
        sums->blocks = crn_calloc(blocks, sizeof *sums->blocks);
    }
    while (sums->count)
        sums->sums[sums->blocks[--sums->count]] = (crn_child_sum){0};
    sums->outside = 0;
}

/* Finds the intervals, clipped to the span, of spans that cover its time. Returns true if two
 * intervals overlap. */
static bool find_runs(crn_child_sums *sums, uint32_t span, uint32_t *count)
{
    const crn_spans *spans = sums->spans;
    const crn_span *all = spans->trace->spans, *its = &all[span];
    uint64_t upto = its->start;
    bool beside = false;
    crn_cover_walk walk = crn_span_covering(spans, span);
    *count = 0;
    for (uint32_t s; (s = crn_cover_walk_next(&walk)) != CRN_SPAN_NONE;) {
        const crn_span *child = &all[s];
        if (child->start > its->end || child->end < its->start) {
            sums->outside++;
            continue;
        }
        uint64_t start = child->start < its->start ? its->start : child->start;
        uint64_t end = child->end > its->end ? its->end : child->end;
        beside |= start < upto;
        upto = upto < end ? end : upto;
        sums->runs[(*count)++] = (run){(double)(start - its->start), (double)(end - its->start), 0,
                                       crn_span_block(spans, s)};
    }
    return beside;
}

void crn_child_sums_of(crn_child_sums *sums, uint32_t span)
{
    forget(sums);
    crn_cover_walk walk = crn_span_covering(sums->spans, span);
    uint32_t most = walk.child_count + walk.inner_count, count;
    if (most > sums->room) {
        sums->room = most;
        sums->runs = crn_realloc(sums->runs, most, sizeof *sums->runs);
    }
    if (find_runs(sums, span, &count)) {
        share_out(sums, count);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const run *one = &sums->runs[i];
        add(sums, one->block, one->end - one->start, one->end - one->start);
    }
}

void crn_child_sums_end(crn_child_sums *sums)
{
    crn_free(sums->blocks);
    crn_free(sums->sums);
    crn_free(sums->runs);
}

void crn_child_sum_add(crn_child_sum *to, const crn_child_sum *sum)
{
    to->number += sum->number;
    to->duration += sum->duration;
    to->time += sum->time;
}

/* ---- products ---- */

crn_product crn_product_of(const crn_child_sum *sum, double count, const crn_product *otherwise)
{
    crn_product product = *otherwise;
    product.number = count > 0 ? sum->number / count : 0;
    if (sum->number > 0)
        product.duration = sum->duration / sum->number;
    if (sum->duration > 0)
        product.overlap = sum->time / sum->duration;
    return product;
}

/* Returns the effect of a factor's change from `from` to `to`, averaged over all orders in which
 * it, b and c can change (Shapley value). */
static double effect(double from, double to, double b_from, double b_to, double c_from, double c_to)
{
    return (to - from) *
           ((b_from * c_from + b_to * c_to) / 3 + (b_from * c_to + b_to * c_from) / 6);
}

void crn_product_effects(const crn_product *from, const crn_product *to,
                         double by[CRN_EXPLAIN_KINDS])
{
    by[CRN_EXPLAIN_SELF] = by[CRN_EXPLAIN_WAITING] = by[CRN_EXPLAIN_READY] = 0;
    by[CRN_EXPLAIN_NUMBER] =
        effect(from->number, to->number, from->duration, to->duration, from->overlap, to->overlap);
    by[CRN_EXPLAIN_DURATION] =
        effect(from->duration, to->duration, from->number, to->number, from->overlap, to->overlap);
    by[CRN_EXPLAIN_OVERLAP] =
        effect(from->overlap, to->overlap, from->number, to->number, from->duration, to->duration);
}
