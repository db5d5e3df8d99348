/* SPDX-License-Identifier: MIT
 *
 * test_explain.c - explanations of durations: for traces with a known cause, and for random traces
 * compared with a reference.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "explain/explain.h"
#include "support/made_spans.h"
#include "support/random.h"

static void assert_whole(const crn_explain *explain)
{
    double sum = 0, extra = 0;
    for (uint32_t p = 0; p < explain->part_count; p++) {
        sum += explain->parts[p].share;
        extra += explain->parts[p].extra;
        assert_true(p == 0 || explain->parts[p - 1].share >= explain->parts[p].share);
    }
    if (explain->variance > 0)
        assert_near(sum, 1, 1e-9);
    if (explain->slow_count)
        assert_near(extra, explain->slow_mean - explain->typical_mean,
                    1e-9 * explain->slow_mean + 1e-6);
}

/* render calls g `number` times, each takes `took`, and works for `self` itself. */
static void render(made *made, uint64_t number, uint64_t took, uint64_t spread, uint64_t self,
                   random_source *random)
{
    uint32_t span = begin(made, RENDER, CRN_SPAN_NONE);
    for (uint64_t i = 0; i < number; i++) {
        made->now += 1;
        call(made, G, span,
             took + (spread ? random_below(random, (uint32_t)(2 * spread)) - spread : 0));
    }
    made->now += self;
    end(made, span);
}

/* The parts are large and even out: rounding of the mean must not add up to as much as the
 * variance. */
static void lengthy_spans_that_hardly_differ(void **state)
{
    (void)state;
    random_source random = {6};
    made *made = make();
    render(made, 1, 7425892, 0, 0, &random);
    render(made, 1, 7425945, 0, 0, &random);
    render(made, 0, 0, 0, 7425946, &random);
    crn_explain *explain = explain_block(&made->trace, RENDER, BLOCKS);
    assert_near(explain->variance, 624.0 + 2.0 / 9, 1e-9);
    assert_whole(explain);
    crn_explain_free(explain);
    crn_free(made);
}

/* ---- known causes ---- */

static void number_and_duration_are_distinguished(void **state)
{
    (void)state;
    random_source random = {5};
    made *often = make(), *lengthy = make(), *own = make();
    for (int i = 0; i < 300; i++) {
        render(often, random_below(&random, 40), 1000, 0, 50, &random);
        render(lengthy, 20, 500 + 100 * random_below(&random, 20), 0, 50, &random);
        render(own, 20, 100, 0, random_below(&random, 1000), &random);
    }
    crn_explain *explain = explain_block(&often->trace, RENDER, BLOCKS);
    assert_int_equal(explain->count, 300);
    assert_near(share_of(explain, CRN_EXPLAIN_NUMBER, G), 1, 0.01); /* each has 1 ns beside it */
    assert_near(share_of(explain, CRN_EXPLAIN_DURATION, G), 0, 1e-9);
    assert_whole(explain);
    crn_explain_free(explain);

    explain = explain_block(&lengthy->trace, RENDER, BLOCKS);
    assert_near(share_of(explain, CRN_EXPLAIN_DURATION, G), 1, 1e-9);
    assert_near(share_of(explain, CRN_EXPLAIN_NUMBER, G), 0, 1e-9);
    assert_whole(explain);
    crn_explain_free(explain);

    explain = explain_block(&own->trace, RENDER, BLOCKS);
    assert_near(share_of(explain, CRN_EXPLAIN_SELF, 0), 1, 1e-9);
    assert_int_equal(explain->parts[0].kind, CRN_EXPLAIN_SELF);
    assert_whole(explain);
    crn_explain_free(explain);
    crn_free(often);
    crn_free(lengthy);
    crn_free(own);
}

/* The variance of a sum of n independent durations: E(n) Var(g) for the duration, Var(n) E(g)^2 for
 * the number. */
static void a_random_sum_divides_as_is_known(void **state)
{
    (void)state;
    random_source random = {11};
    made *made = make();
    double numbers[1000], mean = 0, variance = 0;
    enum { TOOK = 1000, SPREAD = 900, RENDERS = 1000 };
    for (int i = 0; i < RENDERS; i++) {
        uint32_t number = 5 + random_below(&random, 7);
        numbers[i] = number;
        mean += numbers[i] / RENDERS;
        render(made, number, TOOK, SPREAD, 0, &random);
    }
    for (int i = 0; i < RENDERS; i++)
        variance += (numbers[i] - mean) * (numbers[i] - mean) / RENDERS;
    crn_explain *explain = explain_block(&made->trace, RENDER, BLOCKS);
    double of_number = variance * TOOK * TOOK, of_duration = mean * SPREAD * SPREAD / 3;
    double whole = of_number + of_duration;
    /* A sample of 1,000: within some hundredths. */
    assert_near(share_of(explain, CRN_EXPLAIN_NUMBER, G), of_number / whole, 0.05);
    assert_near(share_of(explain, CRN_EXPLAIN_DURATION, G), of_duration / whole, 0.05);
    assert_whole(explain);
    crn_explain_free(explain);
    crn_free(made);
}

/* Two that run side by side take half of the time of two that run one after the other. */
static void parallel_children_are_recognised(void **state)
{
    (void)state;
    made *made = make();
    for (int i = 0; i < 200; i++) {
        uint32_t span = begin(made, RENDER, CRN_SPAN_NONE), one = begin(made, G, span), two;
        if (i % 2) {
            two = begin(made, G, span);
            made->spans[two].lane = 1;
            made->now += 1000;
            end(made, one);
        } else {
            made->now += 1000;
            end(made, one);
            two = begin(made, G, span);
            made->now += 1000;
        }
        end(made, two);
        end(made, span);
        made->now += 10;
    }
    crn_explain *explain = explain_block(&made->trace, RENDER, BLOCKS);
    assert_near(share_of(explain, CRN_EXPLAIN_OVERLAP, G), 1, 1e-9);
    assert_whole(explain);
    crn_explain_free(explain);
    crn_free(made);
}

/* With known processor time, self time is work or waiting. */
static void waiting_and_work_are_distinguished(void **state)
{
    (void)state;
    random_source random = {41};
    made *made = make();
    uint64_t *cpu = made->trace.cpu = crn_calloc(MOST, sizeof *cpu);
    for (int i = 0; i < 200; i++) {
        uint32_t span = begin(made, RENDER, CRN_SPAN_NONE);
        uint64_t child = 50 + random_below(&random, 20), waits = random_below(&random, 1000);
        cpu[made->trace.span_count] = child;
        call(made, G, span, child);
        made->now += 300 + waits;
        cpu[span] = child + 300;
        end(made, span);
    }
    crn_explain *explain = explain_block(&made->trace, RENDER, BLOCKS);
    assert_true(explain->has_cpu);
    assert_near(share_of(explain, CRN_EXPLAIN_WAITING, 0), 1, 0.01);
    assert_near(share_of(explain, CRN_EXPLAIN_SELF, 0), 0, 1e-9);
    assert_whole(explain);
    crn_explain_free(explain);
    cpu[0] = UINT64_C(1) << 60; /* impossible times count as all of a span's time, or none */
    cpu[3] = UINT64_C(1) << 60;
    explain = explain_block(&made->trace, RENDER, BLOCKS);
    assert_near(share_of(explain, CRN_EXPLAIN_WAITING, 0), 1, 0.05);
    assert_whole(explain);
    crn_explain_free(explain);
    cpu[0] = UINT64_MAX; /* of one it is not known */
    explain = explain_block(&made->trace, RENDER, BLOCKS);
    assert_false(explain->has_cpu);
    assert_near(share_of(explain, CRN_EXPLAIN_SELF, 0), 1, 0.01);
    assert_whole(explain);
    crn_explain_free(explain);
    crn_free(cpu);
    crn_free(made);
}

/* ---- attributes ---- */

static void attributes_explain(void **state)
{
    (void)state;
    random_source random = {3};
    made *made = make();
    static const char *const images[] = {"foo.jpg", "bar.jpg", "baz.jpg"};
    for (int i = 0; i < 400; i++) {
        uint32_t width = random_below(&random, 1000), image = random_below(&random, 3);
        uint32_t span = begin(made, RENDER, CRN_SPAN_NONE);
        made->spans[span].iteration = i;
        made->spans[span].lane = random_below(&random, 2);
        give(made, span, 0, CRN_ATTRIBUTE_INTEGER, width, NULL);
        give(made, span, 1, CRN_ATTRIBUTE_TEXT, 0, images[image]);
        made->now += 5 * width + (image == 1 ? 4000 : 0) + random_below(&random, 100);
        end(made, span);
    }
    crn_explain *explain = explain_block(&made->trace, RENDER, BLOCKS);
    const crn_explain_factor *width = factor_of(explain, CRN_FACTOR_ATTRIBUTE, "width");
    const crn_explain_factor *image = factor_of(explain, CRN_FACTOR_ATTRIBUTE, "image");
    const crn_explain_factor *lane = factor_of(explain, CRN_FACTOR_LANE, "");
    const crn_explain_factor *iteration = factor_of(explain, CRN_FACTOR_ITERATION, "");
    assert_true(width && image && lane && iteration);
    /* 25 * 1000^2 / 12 against 4000^2 * 2 / 9 */
    assert_near(width->explained, 2.083 / (2.083 + 3.556), 0.06);
    assert_near(image->explained, 3.556 / (2.083 + 3.556), 0.06);
    assert_int_equal(width->verdict, CRN_VERDICT_EXPLAINS);
    assert_int_equal(image->verdict, CRN_VERDICT_EXPLAINS);
    assert_near(width->slope, 5, 0.7);
    assert_string_equal(image->slowest.text, "bar.jpg");
    assert_int_equal(image->values, 3);
    assert_int_equal(lane->verdict, CRN_VERDICT_CHANCE);
    assert_int_equal(iteration->verdict, CRN_VERDICT_CHANCE);
    assert_string_equal(image->common, "bar.jpg");
    assert_true(image->slow > 0.9);
    assert_whole(explain);
    crn_explain_free(explain);
    crn_free(made);
}

/* Without any real effect, at most one factor in a hundred is believed. */
static void chance_is_not_believed(void **state)
{
    (void)state;
    random_source random = {17};
    static char names[40][16];
    uint32_t believed = 0;
    made *made = make();
    for (int i = 0; i < 40; i++)
        snprintf(names[i], sizeof names[i], "n%d", i);
    for (int round = 0; round < 300; round++) {
        made->trace.span_count = made->trace.attribute_count = 0;
        made->now = 0;
        uint32_t count = 8 + random_below(&random, 120), values = 2 + random_below(&random, 38);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t span = begin(made, RENDER, CRN_SPAN_NONE);
            give(made, span, 0, CRN_ATTRIBUTE_NUMBER, random_below(&random, 1000), NULL);
            give(made, span, 1, CRN_ATTRIBUTE_TEXT, 0, names[random_below(&random, values)]);
            made->now += 100 + random_below(&random, 1000);
            end(made, span);
        }
        crn_explain *explain = explain_block(&made->trace, RENDER, BLOCKS);
        for (uint32_t f = 0; f < explain->factor_count; f++)
            believed += explain->factors[f].verdict == CRN_VERDICT_EXPLAINS;
        crn_explain_free(explain);
    }
    assert_true(believed <= 8);
    crn_free(made);
}

/* A duration that depends on an attribute, but not linearly: a regression line would be level. */
static void nonlinear_attributes_are_found(void **state)
{
    (void)state;
    made *made = make();
    for (int i = 0; i < 400; i++) {
        uint32_t span = begin(made, RENDER, CRN_SPAN_NONE);
        made->spans[span].iteration = i;
        made->now += 100 + (uint64_t)((i - 200) * (i - 200));
        end(made, span);
    }
    crn_explain *explain = explain_block(&made->trace, RENDER, BLOCKS);
    const crn_explain_factor *iteration = factor_of(explain, CRN_FACTOR_ITERATION, "");
    assert_non_null(iteration);
    assert_true(iteration->ranges);
    assert_int_equal(iteration->verdict, CRN_VERDICT_EXPLAINS);
    assert_true(iteration->explained > 0.9);
    crn_explain_free(explain);
    crn_free(made);
}

/* A rare value is a group of its own, not part of the next one. */
static void rare_values_are_found(void **state)
{
    (void)state;
    random_source random = {29};
    made *made = make();
    for (int i = 0; i < 300; i++) {
        uint32_t span = begin(made, RENDER, CRN_SPAN_NONE);
        int value = i % 60 == 0 ? 1 : i % 2 ? 2 : 3;
        give(made, span, 0, CRN_ATTRIBUTE_INTEGER, value, NULL);
        made->now += (value == 1 ? 5000 : 1000) + random_below(&random, 500);
        end(made, span);
    }
    crn_explain *explain = explain_block(&made->trace, RENDER, BLOCKS);
    const crn_explain_factor *width = factor_of(explain, CRN_FACTOR_ATTRIBUTE, "width");
    assert_non_null(width);
    assert_int_equal(width->values, 3);
    assert_true(width->ranges);
    assert_true(width->explained > 0.9);
    assert_near(width->slowest.low, 1, 0);
    assert_near(width->slowest.high, 1, 0);
    assert_int_equal(width->slowest.count, 5);
    crn_explain_free(explain);
    crn_free(made);
}

static void assert_same_number(double left, double right)
{
    assert_true(left == right || (isnan(left) && isnan(right)));
}

static void assert_same_group(const crn_factor_group *left, const crn_factor_group *right)
{
    assert_ptr_equal(left->text, right->text);
    assert_same_number(left->low, right->low);
    assert_same_number(left->high, right->high);
    assert_same_number(left->mean, right->mean);
    assert_int_equal(left->count, right->count);
}

static void assert_same_factor(const crn_explain_factor *left, const crn_explain_factor *right)
{
    assert_int_equal(left->verdict, right->verdict);
    assert_int_equal(left->count, right->count);
    assert_int_equal(left->values, right->values);
    assert_int_equal(left->ranges, right->ranges);
    assert_ptr_equal(left->common, right->common);
    assert_same_number(left->common_number, right->common_number);
    assert_same_number(left->explained, right->explained);
    assert_same_number(left->chance, right->chance);
    assert_same_number(left->slope, right->slope);
    assert_same_number(left->slow, right->slow);
    assert_same_number(left->typical, right->typical);
    assert_same_group(&left->slowest, &right->slowest);
    assert_same_group(&left->fastest, &right->fastest);
}

/* Attributes of parents explain as much as if the children had them. Also odd cases: a repeated
 * key, numbers in some spans and texts in others, spans without parents. */
static void attributes_of_parents_explain_children(void **state)
{
    (void)state;
    random_source random = {47};
    static const char *const texts[] = {"a", "b", "c"};
    uint32_t compared = 0, constant = 0;
    made *of_parents = make(), *of_children = make();
    of_parents->keys[2] = of_children->keys[2] = of_parents->keys[3] = of_children->keys[3] = "";
    of_parents->keys[2] = of_children->keys[2] = of_parents->keys[0]; /* of the same name */
    of_parents->trace.key_count = of_children->trace.key_count = 3;
    for (int round = 0; round < 200; round++) {
        made *both[] = {of_parents, of_children};
        uint32_t parents = 1 + random_below(&random, 6), children = random_below(&random, 60);
        uint32_t count[6] = {0};
        crn_attribute told[6][8];
        for (int b = 0; b < 2; b++)
            both[b]->trace.span_count = both[b]->trace.attribute_count = both[b]->now = 0;
        for (uint32_t p = 0; p < parents; p++) {
            for (int b = 0; b < 2; b++)
                begin(both[b], RENDER, CRN_SPAN_NONE);
            for (uint32_t a = random_below(&random, 8); a; a--) {
                bool text = random_chance(&random, 1, 3);
                double number = random_chance(&random, 1, 9) ? NAN : random_below(&random, 4);
                give(of_parents, p, (uint16_t)random_below(&random, 3),
                     text ? CRN_ATTRIBUTE_TEXT : CRN_ATTRIBUTE_NUMBER, number,
                     texts[random_below(&random, 3)]);
                told[p][count[p]++] = of_parents->attributes[of_parents->trace.attribute_count - 1];
            }
        }
        for (uint32_t c = 0; c < children; c++) {
            uint32_t parent = random_below(&random, parents), took = random_below(&random, 100);
            for (int b = 0; b < 2; b++)
                call(both[b], G, parent, took);
            for (uint32_t a = 0; a < count[parent]; a++) {
                crn_attribute *its = &of_children->attributes[of_children->trace.attribute_count++];
                *its = told[parent][a];
                its->span = parents + c;
            }
        }
        for (uint32_t p = 0; p < parents; p++)
            for (int b = 0; b < 2; b++)
                end(both[b], p);
        crn_explain *left = explain_block(&of_parents->trace, G, BLOCKS);
        crn_explain *right = explain_block(&of_children->trace, G, BLOCKS);
        assert_int_equal(left->factor_count, right->factor_count);
        for (uint32_t f = 0; f < right->factor_count; f++) {
            crn_explain_factor its = right->factors[f], *same = NULL;
            if (its.kind != CRN_FACTOR_ATTRIBUTE)
                continue;
            for (uint32_t g = 0; g < left->factor_count; g++)
                if (left->factors[g].kind == CRN_FACTOR_PARENT_ATTRIBUTE &&
                    left->factors[g].name == its.name && left->factors[g].number == its.number)
                    same = &left->factors[g];
            assert_non_null(same);
            its.kind = same->kind;
            assert_same_factor(same, &its);
            compared++;
            constant += its.verdict == CRN_VERDICT_CONSTANT;
        }
        crn_explain_free(left);
        crn_explain_free(right);
    }
    assert_true(constant > 50 && compared > constant + 50);
    crn_free(of_parents);
    crn_free(of_children);
}

/* ---- few spans, or many ---- */

static void odd_traces_are_explained(void **state)
{
    (void)state;
    random_source random = {9};
    made *made = make();
    crn_explain *explain = explain_block(&made->trace, RENDER, BLOCKS);
    assert_int_equal(explain->count, 0);
    crn_explain_free(explain);
    render(made, 3, 100, 0, 7, &random);
    explain = explain_block(&made->trace, RENDER, BLOCKS);
    assert_int_equal(explain->count, 1);
    assert_true(explain->variance == 0);
    assert_int_equal(explain->slow_count, 0);
    crn_explain_free(explain);
    for (int i = 0; i < 50; i++)
        render(made, 3, 100, 0, 7, &random);
    explain = explain_block(&made->trace, RENDER, BLOCKS); /* all alike */
    assert_int_equal(explain->count, 51);
    assert_true(explain->variance == 0 && explain->half == 0);
    assert_int_equal(explain->slow_count, 0);
    crn_explain_free(explain);

    /* Recursion, one that has not ended, and values that are no numbers or huge. */
    for (int i = 0; i < 40; i++) {
        uint32_t outer = begin(made, RENDER, CRN_SPAN_NONE), inner = begin(made, RENDER, outer);
        static const double odd[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 5e-324, 0};
        give(made, outer, 0, CRN_ATTRIBUTE_NUMBER, odd[i % 7], NULL);
        give(made, outer, 1, i % 2 ? CRN_ATTRIBUTE_TEXT : CRN_ATTRIBUTE_INTEGER, -1, "text");
        made->spans[outer].iteration = i % 2 ? INT64_MAX : INT64_MIN + 1;
        made->now += (uint64_t)i << 50;
        end(made, inner);
        end(made, outer);
    }
    uint32_t last = begin(made, RENDER, CRN_SPAN_NONE);
    made->spans[last].open = true;
    made->spans[last].end = made->now;
    explain = explain_block(&made->trace, RENDER, BLOCKS);
    assert_int_equal(explain->count, 91);
    assert_int_equal(explain->nested, 40);
    assert_int_equal(explain->open, 1);
    assert_true(isfinite(explain->variance) && explain->variance > 0);
    for (uint32_t p = 0; p < explain->part_count; p++)
        assert_true(isfinite(explain->parts[p].share));
    for (uint32_t f = 0; f < explain->factor_count; f++)
        assert_true(isfinite(explain->factors[f].explained) &&
                    isfinite(explain->factors[f].chance));
    assert_whole(explain);
    crn_explain_free(explain);
    crn_free(made);
}

/* ---- reference ---- */

enum { SPANS = 70, LENGTH = 60, CHILD_BLOCKS = 4 };

typedef struct figures {
    double self, number[CHILD_BLOCKS], duration[CHILD_BLOCKS], time[CHILD_BLOCKS], took;
} figures;

static bool is_later(const crn_trace *trace, uint32_t span, uint32_t other)
{
    const crn_span *its = &trace->spans[span], *before = &trace->spans[other];
    return its->lane == before->lane && its->end > its->start &&
           (its->start > before->start || (its->start == before->start && span > other));
}

/* Returns true if `part` is a child, or interrupts the span on its lane while no span between them
 * is open longer than either. */
static bool is_part(const crn_trace *trace, uint32_t part, uint32_t span)
{
    const crn_span *its = &trace->spans[part], *outer = &trace->spans[span];
    if (its->parent == span)
        return its->start <= outer->end && its->end >= outer->start;
    if (!is_later(trace, part, span) || its->start >= outer->end)
        return false;
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (is_later(trace, s, span) && is_later(trace, part, s) &&
            (trace->spans[s].end > its->end || trace->spans[s].end >= outer->end))
            return false;
    return true;
}

/* Moment by moment. */
static figures slow_figures(const crn_trace *trace, uint32_t span)
{
    const crn_span *its = &trace->spans[span];
    figures figures = {.took = (double)(its->end - its->start)};
    for (uint32_t c = 0; c < trace->span_count; c++)
        if (is_part(trace, c, span))
            figures.number[trace->spans[c].block]++;
    for (uint64_t t = its->start; t < its->end; t++) {
        double running = 0;
        for (int pass = 0; pass < 2; pass++)
            for (uint32_t c = 0; c < trace->span_count; c++) {
                const crn_span *child = &trace->spans[c];
                if (t < child->start || t >= child->end || !is_part(trace, c, span))
                    continue;
                if (pass == 0) {
                    running++;
                    figures.duration[child->block]++;
                } else {
                    figures.time[child->block] += 1 / running;
                }
            }
        figures.self += running == 0;
    }
    return figures;
}

/* Shapley values of the factors, over all six orders of change. */
static void slow_effects(const double from[3], const double to[3], double by[3])
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    by[0] = by[1] = by[2] = 0;
    for (int o = 0; o < 6; o++) {
        double now[3] = {from[0], from[1], from[2]};
        for (int i = 0; i < 3; i++) {
            double before = now[0] * now[1] * now[2];
            now[orders[o][i]] = to[orders[o][i]];
            by[orders[o][i]] += (now[0] * now[1] * now[2] - before) / 6;
        }
    }
}

static void assert_like_reference(const crn_trace *trace, const crn_explain *explain,
                                  uint32_t block)
{
    figures all[SPANS];
    uint32_t count = 0;
    double mean = 0, variance = 0, self = 0, self_share = 0;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        bool nested = false;
        for (uint32_t p = trace->spans[s].parent; p != CRN_SPAN_NONE; p = trace->spans[p].parent)
            nested |= trace->spans[p].block == block;
        if (trace->spans[s].block == block && !nested && !trace->spans[s].open)
            all[count++] = slow_figures(trace, s);
    }
    assert_int_equal(explain->count, count);
    for (uint32_t i = 0; i < count; i++) {
        mean += all[i].took / count;
        self += all[i].self / count;
    }
    for (uint32_t i = 0; i < count; i++) {
        variance += (all[i].took - mean) * (all[i].took - mean) / count;
        self_share += (all[i].self - self) * (all[i].took - mean) / count;
    }
    assert_near(explain->variance, variance, 1e-9 * variance + 1e-12);
    if (variance == 0)
        return;
    assert_near(share_of(explain, CRN_EXPLAIN_SELF, 0), self_share / variance, 1e-9);
    for (uint32_t b = 0; b < CHILD_BLOCKS; b++) {
        double number = 0, duration = 0, time = 0, share[3] = {0};
        for (uint32_t i = 0; i < count; i++) {
            number += all[i].number[b];
            duration += all[i].duration[b];
            time += all[i].time[b];
        }
        double means[3] = {number / count, number > 0 ? duration / number : 0,
                           duration > 0 ? time / duration : 1};
        for (uint32_t i = 0; i < count; i++) {
            double its[3] = {
                all[i].number[b],
                all[i].number[b] > 0 ? all[i].duration[b] / all[i].number[b] : means[1],
                all[i].duration[b] > 0 ? all[i].time[b] / all[i].duration[b] : means[2]};
            double by[3];
            slow_effects(means, its, by);
            for (int k = 0; k < 3; k++)
                share[k] += by[k] * (all[i].took - mean) / count / variance;
        }
        assert_near(share_of(explain, CRN_EXPLAIN_NUMBER, b), share[0], 1e-9);
        assert_near(share_of(explain, CRN_EXPLAIN_DURATION, b), share[1], 1e-9);
        assert_near(share_of(explain, CRN_EXPLAIN_OVERLAP, b), share[2], 1e-9);
    }
}

static void parts_equal_the_reference(void **state)
{
    (void)state;
    random_source random = {23};
    crn_span all[SPANS];
    const char *lanes[3] = {"", "", ""};
    uint32_t explained = 0;
    for (int round = 0; round < 600; round++) {
        crn_trace trace = {.spans = all,
                           .span_count = random_below(&random, SPANS + 1),
                           .length = LENGTH,
                           .lanes = lanes,
                           .lane_count = 3};
        for (uint32_t s = 0; s < trace.span_count; s++) {
            uint64_t start = random_below(&random, LENGTH);
            all[s] = (crn_span){
                .start = start,
                .end = start + random_below(&random, (uint32_t)(LENGTH - start) + 1),
                .block = random_below(&random, CHILD_BLOCKS),
                .lane = random_below(&random, 3),
                .open = random_chance(&random, 1, 20),
                .iteration = random_below(&random, 9),
                .parent = s && random_chance(&random, 4, 5) ? random_below(&random, s < 8 ? s : 8)
                                                            : CRN_SPAN_NONE};
        }
        crn_explain *explain = explain_block(&trace, 1, CHILD_BLOCKS);
        assert_like_reference(&trace, explain, 1);
        assert_whole(explain);
        explained += explain->part_count > 1;
        crn_explain_free(explain);
    }
    assert_true(explained > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_and_duration_are_distinguished),
        cmocka_unit_test(lengthy_spans_that_hardly_differ),
        cmocka_unit_test(a_random_sum_divides_as_is_known),
        cmocka_unit_test(parallel_children_are_recognised),
        cmocka_unit_test(waiting_and_work_are_distinguished),
        cmocka_unit_test(attributes_explain),
        cmocka_unit_test(chance_is_not_believed),
        cmocka_unit_test(nonlinear_attributes_are_found),
        cmocka_unit_test(rare_values_are_found),
        cmocka_unit_test(attributes_of_parents_explain_children),
        cmocka_unit_test(odd_traces_are_explained),
        cmocka_unit_test(parts_equal_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
