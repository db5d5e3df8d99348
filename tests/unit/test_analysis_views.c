/* SPDX-License-Identifier: MIT
 *
 * test_analysis_views.c - the stack view and the comparison of clocks, compared with references
 * that write out every path.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "support/cases.h"
#include "support/random_profile.h"

enum { PROFILES = 60, BLOCKS = 9, EVENTS = 3000 };

/* Each context is charged to its block, and once to each block of its path: to the stack, or to
 * the collector if that is anywhere on the path. */
static crn_stack slow_stack(const crn_profile *profile, uint32_t metric, const char *collector,
                            const uint8_t *kept)
{
    crn_stack stack = {.current = crn_calloc(profile->block_count, sizeof(uint64_t)),
                       .stack = crn_calloc(profile->block_count, sizeof(uint64_t)),
                       .collector = crn_calloc(profile->block_count, sizeof(uint64_t))};
    uint32_t *path = crn_calloc(profile->context_count, sizeof *path);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        uint64_t value = !kept || kept[c] ? crn_self(profile, metric, c) : 0;
        uint32_t length = profile_path(profile, c, path);
        bool collects = false;
        for (uint32_t i = 0; i < length; i++)
            collects |= strcmp(profile->blocks[path[i]].name, collector) == 0;
        stack.current[profile->block[c]] += value;
        stack.total += value;
        stack.total_collector += collects ? value : 0;
        for (uint32_t i = 0; i < length; i++) {
            bool again = false;
            for (uint32_t j = 0; j < i; j++)
                again |= path[j] == path[i];
            if (!again)
                (collects ? stack.collector : stack.stack)[path[i]] += value;
        }
    }
    crn_free(path);
    return stack;
}

static void the_stack_view_sums_contexts(void **state)
{
    (void)state;
    random_source random = {1};
    uint64_t collected = 0;
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = random_profile(&random, BLOCKS, EVENTS, NULL);
        uint8_t *kept = i % 2 ? random_contexts(&random, profile) : NULL;
        const char *collector = i % 5 ? "b3" : "none of them";
        uint8_t *collectors = crn_stack_collectors(profile, collector);
        for (uint32_t m = 0; m < profile->metric_count; m++) {
            crn_stack found = crn_stack_make(profile, m, collectors, kept);
            crn_stack slow = slow_stack(profile, m, collector, kept);
            crn_block_cost cost = crn_block_cost_make(profile, m, kept);
            assert_int_equal(found.total, slow.total);
            assert_int_equal(found.total_collector, slow.total_collector);
            assert_int_equal(found.total, cost.total);
            for (uint32_t b = 0; b < profile->block_count; b++) {
                assert_int_equal(found.current[b], slow.current[b]);
                assert_int_equal(found.stack[b], slow.stack[b]);
                assert_int_equal(found.collector[b], slow.collector[b]);
                /* The two are the inclusive cost, divided. */
                assert_int_equal(found.stack[b] + found.collector[b], cost.inclusive[b]);
            }
            collected += found.total_collector;
            crn_block_cost_free(&cost);
            crn_stack_free(&slow);
            crn_stack_free(&found);
        }
        crn_free(collectors);
        crn_free(kept);
        crn_profile_free(profile);
    }
    assert_true(collected > 0);
}

/* fib calls itself, the collector runs at any depth, and a finalizer runs below it. */
static void a_recursion_with_a_collector_is_as_on_paper(void **state)
{
    (void)state;
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t main_block =
        crn_profile_builder_block(builder, &(crn_block_info){.name = "main", .file = ""});
    uint32_t fib = crn_profile_builder_block(builder, &(crn_block_info){.name = "fib", .file = ""});
    uint32_t gc = crn_profile_builder_block(builder, &(crn_block_info){.name = "<gc>", .file = ""});
    uint32_t close =
        crn_profile_builder_block(builder, &(crn_block_info){.name = "close", .file = ""});
    uint32_t add = crn_profile_builder_block(builder, &(crn_block_info){.name = "add", .file = ""});
    uint32_t context = crn_profile_builder_root(builder);
    uint32_t in_main = crn_profile_builder_child(builder, context, main_block, 1);
    uint32_t in_fib = crn_profile_builder_child(builder, in_main, fib, 1);
    uint32_t in_add = crn_profile_builder_child(builder, in_fib, add, 5);
    uint32_t again = crn_profile_builder_child(builder, in_add, fib, 4);
    uint32_t deep_gc = crn_profile_builder_child(builder, again, gc, 2);
    uint32_t closing = crn_profile_builder_child(builder, deep_gc, close, 1);
    uint32_t main_gc = crn_profile_builder_child(builder, in_main, gc, 1);
    const struct {
        uint32_t context;
        uint64_t ticks;
    } charges[] = {{in_main, 1},  {in_fib, 10},   {in_add, 100},  {again, 1000},
                   {deep_gc, 20}, {closing, 300}, {main_gc, 4000}};
    for (size_t i = 0; i < sizeof charges / sizeof *charges; i++)
        crn_profile_builder_charge(builder, charges[i].context, CRN_METRIC_TICKS, charges[i].ticks);
    crn_profile *profile = crn_profile_builder_end(builder);
    uint8_t *collectors = crn_stack_collectors(profile, "<gc>");
    crn_stack stack = crn_stack_make(profile, CRN_METRIC_TICKS, collectors, NULL);
    const struct {
        const char *name;
        uint64_t current, stack, collector;
    } expected[] = {{"main", 1, 1111, 4320},
                    {"fib", 1010, 1110, 320}, /* each once, at any depth */
                    {"add", 100, 1100, 320},
                    {"<gc>", 4020, 0, 4320},
                    {"close", 300, 0, 300}};
    assert_int_equal(stack.total, 5431);
    assert_int_equal(stack.total_collector, 4320);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        uint32_t b = 1;
        while (strcmp(profile->blocks[b].name, expected[i].name) != 0)
            b++;
        assert_int_equal(stack.current[b], expected[i].current);
        assert_int_equal(stack.stack[b], expected[i].stack);
        assert_int_equal(stack.collector[b], expected[i].collector);
    }
    crn_stack_free(&stack);
    crn_free(collectors);
    crn_profile_free(profile);
}

/* ---- clocks ---- */

/* Blocks 1 to `count` below the root, with what each costs in milliseconds. */
static crn_profile *clocks_of(const uint32_t (*costs)[2], uint32_t count, const char *sampled)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    for (uint32_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "block%u", i + 1);
        uint32_t block =
            crn_profile_builder_block(builder, &(crn_block_info){.name = name, .file = ""});
        uint32_t context =
            crn_profile_builder_child(builder, crn_profile_builder_root(builder), block, 1);
        crn_profile_builder_charge(builder, context, CRN_METRIC_WALL,
                                   costs[i][0] * UINT64_C(1000000));
        crn_profile_builder_charge(builder, context, CRN_METRIC_CPU,
                                   costs[i][1] * UINT64_C(1000000));
    }
    crn_profile_builder_note(builder, "wall", sampled);
    crn_profile_builder_note(builder, "cpu", sampled);
    crn_profile_builder_note(builder, "sample_period_ns", "1000000");
    crn_profile_builder_note(builder, "samples", "1000");
    return crn_profile_builder_end(builder);
}

static const uint32_t clocks[] = {CRN_METRIC_WALL, CRN_METRIC_CPU};

static void waiting_blocks_come_first(void **state)
{
    (void)state;
    const uint32_t costs[][2] = {{100, 95}, {600, 10}, {299, 294}, {1, 0}};
    crn_profile *profile = clocks_of(costs, 4, "exact");
    crn_compare compare = crn_compare_make(profile, clocks, false, NULL);
    assert_int_equal(compare.count, 4);
    assert_int_equal(compare.totals[0], 1000000000);
    /* 60 % of wall and 2.5 % of cpu. */
    assert_int_equal(compare.rows[0].block, 2);
    assert_true(fabs(compare.rows[0].apart - (0.6 - 10.0 / 399)) < 1e-12);
    assert_true(compare.rows[0].sure == compare.rows[0].apart); /* nothing was sampled */
    double sum = 0;
    for (uint32_t i = 0; i < compare.count; i++)
        sum += compare.rows[i].apart;
    assert_true(fabs(sum) < 1e-12);
    assert_int_equal(crn_compare_waited(600, 10, 0), 590);
    assert_int_equal(crn_compare_waited(600, 10, 500), 90);
    assert_int_equal(crn_compare_waited(600, 10, 591), 0);
    assert_int_equal(crn_compare_waited(10, 600, 0), 0);
    crn_compare_free(&compare);
    crn_profile_free(profile);
}

/* 4 ms of wall and none of cpu are four samples: they may be chance, and come last. */
static void few_samples_do_not_alarm(void **state)
{
    (void)state;
    const uint32_t costs[][2] = {{400, 400}, {4, 0}, {596, 590}, {0, 10}};
    crn_profile *profile = clocks_of(costs, 4, "sampled");
    crn_compare compare = crn_compare_make(profile, clocks, false, NULL);
    assert_int_equal(compare.count, 4);
    for (uint32_t i = 0; i < compare.count; i++) {
        const crn_compare_row *row = &compare.rows[i];
        assert_true(row->interval.low <= row->apart && row->apart <= row->interval.high);
        if (row->block == 4)
            assert_true(i == 0 && row->sure < 0 && row->apart < row->sure);
        else
            assert_true(row->sure == 0);
    }
    crn_compare_free(&compare);
    crn_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stack_view_sums_contexts),
        cmocka_unit_test(a_recursion_with_a_collector_is_as_on_paper),
        cmocka_unit_test(waiting_blocks_come_first),
        cmocka_unit_test(few_samples_do_not_alarm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
