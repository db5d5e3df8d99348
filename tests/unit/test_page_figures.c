/* SPDX-License-Identifier: MIT
 *
 * test_page_figures.c - figures of cairn view that no command prints, compared with references on
 * random profiles and traces: call graphs, inverted profiles, two profiles as one, bars,
 * iterations, span trees.
 */
#include <stdlib.h>
#include <string.h>

#include <cairn/span.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/random_profile.h"
#include "support/scratch.h"

enum { ROUNDS = 60, BLOCKS = 6, EVENTS = 1500, SPANS = 80, SPAN_BLOCKS = 4, LENGTH = 1000 };

/* ---- profiles ---- */

static uint8_t *random_kept(random_source *random, const crn_profile *profile)
{
    if (random_chance(random, 1, 2))
        return NULL;
    uint8_t *kept = crn_calloc(profile->context_count, 1);
    for (uint32_t c = 0; c < profile->context_count; c++)
        kept[c] = random_chance(random, 3, 4);
    return kept;
}

/* The arrows between some blocks are those among all, in the same order. */
static void check_between(const crn_profile *profile, const uint8_t *kept,
                          const crn_call_graph *graph, random_source *random)
{
    uint8_t *shown = crn_calloc(profile->block_count, 1);
    for (uint32_t b = 0; b < profile->block_count; b++)
        shown[b] = random_chance(random, 1, 2);
    crn_call_graph some = crn_call_graph_between(profile, CRN_METRIC_TICKS, kept, shown);
    uint32_t found = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        const crn_call_arrow *arrow = &graph->arrows[i];
        if (!shown[arrow->caller] || !shown[arrow->callee])
            continue;
        assert_true(found < some.count);
        assert_memory_equal(&some.arrows[found++], arrow, sizeof *arrow);
    }
    assert_int_equal(found, some.count);
    crn_call_graph_free(&some);
    crn_free(shown);
}

static void arrows_are_sequences(void **state)
{
    (void)state;
    random_source random = {7};
    for (int round = 0; round < (int)scale(ROUNDS); round++) {
        crn_profile *profile = random_profile(&random, BLOCKS, EVENTS, NULL);
        uint8_t *kept = random_kept(&random, profile);
        crn_call_graph graph = crn_call_graph_make(profile, CRN_METRIC_TICKS, kept);
        uint32_t found = 0;
        for (uint32_t pair = 0; pair < profile->block_count * profile->block_count; pair++) {
            uint32_t blocks[] = {pair / profile->block_count, pair % profile->block_count};
            crn_sequence sequence = {2, blocks};
            crn_sequence_cost cost =
                crn_sequence_measure(profile, &sequence, CRN_METRIC_TICKS, kept);
            crn_call_arrow its = {0};
            for (uint32_t i = 0; i < graph.count; i++)
                if (graph.arrows[i].caller == blocks[0] && graph.arrows[i].callee == blocks[1])
                    its = graph.arrows[i];
            assert_int_equal(its.calls, cost.calls);
            assert_int_equal(its.inclusive, cost.inclusive);
            found += cost.calls || cost.inclusive;
        }
        assert_int_equal(found, graph.count);
        check_between(profile, kept, &graph, &random);
        crn_call_graph_free(&graph);
        crn_free(kept);
        crn_profile_free(profile);
    }
}

/* By block: what the blocks right below the root cost. */
static void sum_top(const crn_profile *profile, uint64_t *totals, const char *name, uint64_t *sum)
{
    *sum = 0;
    for (uint32_t c = 1; c < profile->context_count; c++)
        if (profile->parent[c] == 0 && strcmp(profile->blocks[profile->block[c]].name, name) == 0)
            *sum += totals[c];
}

static void upside_down_is_all_there(void **state)
{
    (void)state;
    random_source random = {7};
    for (int round = 0; round < (int)scale(ROUNDS); round++) {
        crn_profile *profile = random_profile(&random, BLOCKS, EVENTS, NULL);
        uint8_t *kept = random_kept(&random, profile);
        crn_block_cost cost = crn_block_cost_make(profile, CRN_METRIC_TICKS, kept);
        uint64_t least = random_below(&random, 200);
        crn_profile *turned = crn_bottom_up(profile, CRN_METRIC_TICKS, kept, least);
        uint64_t *totals = crn_totals(turned, CRN_METRIC_TICKS, NULL), sum;
        assert_int_equal(totals[0], cost.total);
        for (uint32_t b = 1; b < profile->block_count; b++) {
            sum_top(turned, totals, profile->blocks[b].name, &sum);
            assert_int_equal(sum, cost.self[b]);
        }
        /* The second step is the self cost of the sequence of caller and callee. */
        for (uint32_t c = 1; c < turned->context_count && least == 0; c++) {
            uint32_t above = turned->parent[c];
            if (!above || turned->parent[above])
                continue;
            const char *names[] = {turned->blocks[turned->block[c]].name,
                                   turned->blocks[turned->block[above]].name};
            uint32_t blocks[2] = {0};
            for (uint32_t b = 1; b < profile->block_count; b++)
                for (int i = 0; i < 2; i++)
                    if (strcmp(profile->blocks[b].name, names[i]) == 0)
                        blocks[i] = b;
            crn_sequence sequence = {2, blocks};
            assert_int_equal(totals[c],
                             crn_sequence_measure(profile, &sequence, CRN_METRIC_TICKS, kept).self);
        }
        crn_free(totals);
        crn_free(kept);
        crn_block_cost_free(&cost);
        crn_profile_free(turned);
        crn_profile_free(profile);
    }
}

static bool same_path(const crn_profile *a, const uint32_t *left, const crn_profile *b,
                      const uint32_t *right, uint32_t length)
{
    for (uint32_t i = 1; i < length; i++)
        if (strcmp(a->blocks[left[i]].name, b->blocks[right[i]].name) != 0)
            return false;
    return true;
}

/* Returns the figures at the path of another profile's context. */
static uint64_t total_at(const crn_profile *profile, const crn_profile *other, uint32_t context)
{
    uint32_t *path = crn_calloc(other->context_count, sizeof *path);
    uint32_t *its = crn_calloc(profile->context_count, sizeof *its);
    uint32_t length = profile_path(other, context, path);
    uint64_t *totals = crn_totals(profile, CRN_METRIC_TICKS, NULL), found = 0;
    for (uint32_t c = 0; c < profile->context_count; c++)
        if (profile_path(profile, c, its) == length && same_path(profile, its, other, path, length))
            found = totals[c];
    crn_free(path);
    crn_free(its);
    crn_free(totals);
    return found;
}

static void two_are_one(void **state)
{
    (void)state;
    random_source random = {7};
    for (int round = 0; round < (int)scale(ROUNDS) / 10 + 1; round++) {
        crn_profile *before = random_profile(&random, BLOCKS, EVENTS / 20, NULL);
        crn_profile *after = random_profile(&random, BLOCKS, EVENTS / 20, &(profile_source){"", 7});
        crn_diff_input input = {{before, after}, {CRN_METRIC_TICKS, CRN_METRIC_TICKS}, 0};
        crn_profile *both = crn_diff_union(&input);
        int metrics[] = {crn_profile_metric(both, CRN_UNION_BEFORE),
                         crn_profile_metric(both, CRN_UNION_AFTER)};
        for (int side = 0; side < CRN_SIDES; side++) {
            assert_true(metrics[side] >= 0);
            uint64_t *totals = crn_totals(both, (uint32_t)metrics[side], NULL);
            for (uint32_t c = 0; c < both->context_count; c++)
                assert_int_equal(totals[c], total_at(input.profile[side], both, c));
            crn_free(totals);
        }
        crn_profile_free(both);
        crn_profile_free(before);
        crn_profile_free(after);
    }
}

/* Sampled stacks know no lexical parents: their blocks are those of the exact profile. */
static void kinds_are_one(void **state)
{
    (void)state;
    crn_profile *sides[CRN_SIDES];
    for (int side = 0; side < CRN_SIDES; side++) {
        crn_profile_builder *builder = crn_profile_builder_new();
        crn_block_info outer = {.name = "outer", .file = "a.lua", .line = 1};
        crn_block_info inner = {.name = "inner", .file = "a.lua", .line = 3};
        uint32_t a = crn_profile_builder_block(builder, &outer);
        inner.parent = side == CRN_BEFORE ? a : 0;
        uint32_t b = crn_profile_builder_block(builder, &inner);
        uint32_t context =
            crn_profile_builder_child(builder, crn_profile_builder_root(builder), a, 0);
        context = crn_profile_builder_child(builder, context, b, 0);
        crn_profile_builder_charge(builder, context, CRN_METRIC_TICKS, 5);
        sides[side] = crn_profile_builder_end(builder);
    }
    crn_diff_input input = {
        {sides[0], sides[1]}, {CRN_METRIC_TICKS, CRN_METRIC_TICKS}, CRN_DIFF_SELF};
    crn_profile *both = crn_diff_union(&input);
    assert_int_equal(both->context_count, 3);
    crn_profile_free(both);
    crn_profile_free(sides[0]);
    crn_profile_free(sides[1]);
}

/* ---- spans ---- */

static const char *lanes[] = {"a", "b", "c"};

/* By lane and begin, as a capture has them; parents anywhere before, children perhaps elsewhere. */
static crn_trace random_spans(random_source *random, crn_span *spans)
{
    crn_trace trace = {.spans = spans, .lanes = lanes, .lane_count = 3, .length = LENGTH};
    trace.span_count = random_below(random, SPANS);
    uint64_t start = 0;
    for (uint32_t s = 0; s < trace.span_count; s++) {
        uint32_t lane = s * 3 / trace.span_count;
        if (s && lane != spans[s - 1].lane)
            start = 0;
        start += random_below(random, 30);
        spans[s] = (crn_span){.start = start,
                              .end = start + random_below(random, 200),
                              .iteration = random_chance(random, 1, 3) ? CAIRN_ITERATION_NONE
                                                                       : random_below(random, 9),
                              .block = random_below(random, SPAN_BLOCKS),
                              .parent = CRN_SPAN_NONE,
                              .lane = lane,
                              .open = random_chance(random, 1, 9)};
        if (s && random_chance(random, 2, 3))
            spans[s].parent = random_below(random, s);
    }
    return trace;
}

static void bars_hold_everything(void **state)
{
    (void)state;
    random_source random = {7};
    crn_span spans[SPANS];
    for (int round = 0; round < (int)scale(ROUNDS) * 5; round++) {
        crn_trace trace = random_spans(&random, spans);
        crn_chart *chart = crn_chart_make(&trace);
        crn_chart_window window = {.from = random_below(&random, LENGTH),
                                   .pixels = random_below(&random, 2000),
                                   .lane_count = 3,
                                   .most_arrows = 10};
        window.to = window.from + 1 + random_below(&random, LENGTH);
        crn_chart_drawing look = crn_chart_draw(chart, &window);
        uint64_t busy = 0, count = 0, wanted = 0;
        for (uint32_t s = 0; s < trace.span_count; s++) {
            if (spans[s].start >= window.to || spans[s].end < window.from)
                continue;
            count++;
            wanted += spans[s].end - spans[s].start;
        }
        for (uint32_t i = 0; i < look.bar_count; i++) {
            busy += look.bars[i].busy;
            count -= look.bars[i].count;
            assert_true(look.bars[i].span < trace.span_count);
        }
        assert_int_equal(busy, wanted);
        assert_int_equal(count, 0);
        assert_true(look.arrow_count <= window.most_arrows);
        crn_chart_drawing_free(&look);
        crn_chart_free(chart);
    }
}

static void rows_do_not_overlap(void **state)
{
    (void)state;
    random_source random = {7};
    crn_span spans[SPANS];
    for (int round = 0; round < (int)scale(ROUNDS) * 5; round++) {
        crn_trace trace = random_spans(&random, spans);
        crn_chart *chart = crn_chart_make(&trace);
        for (uint32_t a = 0; a < trace.span_count; a++) {
            uint32_t parent = spans[a].parent;
            assert_true(chart->rows[a] < chart->row_counts[spans[a].lane]);
            if (parent != CRN_SPAN_NONE && spans[parent].lane == spans[a].lane)
                assert_true(chart->rows[a] > chart->rows[parent] ||
                            chart->rows[a] == CRN_CHART_ROWS - 1);
            for (uint32_t b = a + 1; b < trace.span_count; b++)
                if (spans[a].lane == spans[b].lane && chart->rows[a] == chart->rows[b] &&
                    chart->rows[a] < CRN_CHART_ROWS - 1)
                    assert_true(spans[a].end <= spans[b].start);
        }
        crn_chart_free(chart);
    }
}

static bool is_below(const crn_trace *trace, uint32_t span, const uint8_t *chosen)
{
    for (; span != CRN_SPAN_NONE; span = trace->spans[span].parent)
        if (chosen[span])
            return true;
    return false;
}

static void a_choice_keeps_descendants(void **state)
{
    (void)state;
    random_source random = {7};
    crn_span spans[SPANS];
    for (int round = 0; round < (int)scale(ROUNDS) * 5; round++) {
        crn_trace trace = random_spans(&random, spans);
        crn_spans *all = crn_spans_make(&trace, SPAN_BLOCKS);
        crn_iteration_choice choice = {.block = random_below(&random, SPAN_BLOCKS),
                                       .first = random_below(&random, 5),
                                       .longest = random_below(&random, 200)};
        choice.last = choice.first + random_below(&random, 5);
        uint8_t *kept = crn_iterations_choose(all, &choice), chosen[SPANS] = {0};
        bool numbered = false;
        for (uint32_t s = 0; s < trace.span_count; s++)
            numbered |=
                spans[s].block == choice.block && spans[s].iteration != CAIRN_ITERATION_NONE;
        int64_t order = 0;
        for (uint32_t s = 0; s < trace.span_count; s++) {
            if (spans[s].block != choice.block)
                continue;
            int64_t number = numbered ? spans[s].iteration : order++;
            chosen[s] = number >= choice.first && number <= choice.last &&
                        spans[s].end - spans[s].start <= choice.longest;
        }
        uint32_t *origins, count = 0;
        crn_trace *made = crn_trace_keep(&trace, kept, &origins);
        for (uint32_t s = 0; s < trace.span_count; s++) {
            assert_int_equal(kept[s] != 0, is_below(&trace, s, chosen));
            if (!kept[s])
                continue;
            assert_int_equal(origins[count], s);
            assert_int_equal(made->spans[count].start, spans[s].start);
            uint32_t parent = made->spans[count].parent;
            bool has = spans[s].parent != CRN_SPAN_NONE && kept[spans[s].parent];
            assert_int_equal(parent == CRN_SPAN_NONE ? CRN_SPAN_NONE : origins[parent],
                             has ? spans[s].parent : CRN_SPAN_NONE);
            count++;
        }
        assert_int_equal(count, made->span_count);
        crn_trace_free(made);
        crn_free(origins);
        crn_free(kept);
        crn_spans_free(all);
    }
}

static void points_are_iterations(void **state)
{
    (void)state;
    random_source random = {7};
    crn_span spans[SPANS];
    for (int round = 0; round < (int)scale(ROUNDS) * 5; round++) {
        crn_trace trace = random_spans(&random, spans);
        crn_spans *all = crn_spans_make(&trace, SPAN_BLOCKS);
        uint32_t block = random_below(&random, SPAN_BLOCKS), most = 1 + random_below(&random, 40);
        crn_iterations whole = crn_iterations_make(all, block, NULL, SPANS);
        crn_iterations thin = crn_iterations_make(all, block, NULL, most);
        uint64_t longest = 0, found = 0;
        uint32_t count = 0;
        assert_int_equal(whole.count, whole.span_count);
        for (uint32_t i = 0; i < whole.count; i++)
            longest = whole.points[i].duration > longest ? whole.points[i].duration : longest;
        for (uint32_t i = 0; i < thin.count; i++) {
            found = thin.points[i].duration > found ? thin.points[i].duration : found;
            count += thin.points[i].count;
            assert_int_equal(spans[thin.points[i].span].block, block);
        }
        assert_int_equal(count, whole.count);
        assert_int_equal(found, longest);
        assert_true(thin.count <= most || thin.count == whole.count);
        crn_iterations_free(&whole);
        crn_iterations_free(&thin);
        crn_spans_free(all);
    }
}

static void a_tree_has_all_self_time(void **state)
{
    (void)state;
    random_source random = {7};
    crn_span spans[SPANS];
    crn_block_info blocks[SPAN_BLOCKS] = {{.name = "[root]", .file = ""},
                                          {.name = "x", .file = ""},
                                          {.name = "y", .file = ""},
                                          {.name = "z", .file = ""}};
    crn_profile profile = {.block_count = SPAN_BLOCKS, .blocks = blocks};
    for (int round = 0; round < (int)scale(ROUNDS) * 5; round++) {
        crn_trace trace = random_spans(&random, spans);
        crn_spans *all = crn_spans_make(&trace, SPAN_BLOCKS);
        crn_profile *tree = crn_span_tree(all, &profile);
        crn_block_cost cost = crn_block_cost_make(tree, CRN_METRIC_WALL, NULL);
        uint64_t self[SPAN_BLOCKS] = {0}, total = 0;
        for (uint32_t s = 0; s < trace.span_count; s++) {
            self[crn_span_block(all, s)] += crn_span_self(all, s);
            total += crn_span_self(all, s);
        }
        assert_int_equal(cost.total, total);
        for (uint32_t b = 0; b < tree->block_count; b++)
            for (uint32_t name = 1; name < SPAN_BLOCKS; name++)
                if (strcmp(tree->blocks[b].name, blocks[name].name) == 0)
                    assert_int_equal(cost.self[b], self[name]);
        crn_block_cost_free(&cost);
        crn_profile_free(tree);
        crn_spans_free(all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrows_are_sequences),
        cmocka_unit_test(upside_down_is_all_there),
        cmocka_unit_test(two_are_one),
        cmocka_unit_test(kinds_are_one),
        cmocka_unit_test(bars_hold_everything),
        cmocka_unit_test(rows_do_not_overlap),
        cmocka_unit_test(a_choice_keeps_descendants),
        cmocka_unit_test(points_are_iterations),
        cmocka_unit_test(a_tree_has_all_self_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
