/* SPDX-License-Identifier: MIT
 *
 * test_analysis_figures.c - self and inclusive costs and the tree, compared with a computation on
 * explicit paths.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "support/cases.h"
#include "support/random_profile.h"

enum { PROFILES = 60, BLOCKS = 9, EVENTS = 3000 };

/* Each context is charged to each block on its path, once. */
static uint64_t *slow_inclusive(const crn_profile *profile, uint32_t metric, const uint8_t *kept)
{
    uint64_t *inclusive = crn_calloc(profile->block_count, sizeof *inclusive);
    uint32_t *path = crn_calloc(profile->context_count, sizeof *path);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        uint32_t length = profile_path(profile, c, path);
        for (uint32_t i = 0; i < length && (!kept || kept[c]); i++) {
            bool again = false;
            for (uint32_t j = 0; j < i; j++)
                again |= path[j] == path[i];
            inclusive[path[i]] += again ? 0 : crn_self(profile, metric, c);
        }
    }
    crn_free(path);
    return inclusive;
}

static void block_costs_are_sums_over_contexts(void **state)
{
    (void)state;
    random_source random = {1};
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = random_profile(&random, BLOCKS, EVENTS, NULL);
        uint8_t *kept = i % 2 ? random_contexts(&random, profile) : NULL;
        for (uint32_t m = 0; m < profile->metric_count; m++) {
            crn_block_cost cost = crn_block_cost_make(profile, m, kept);
            uint64_t *inclusive = slow_inclusive(profile, m, kept);
            uint64_t self = 0;
            for (uint32_t b = 0; b < profile->block_count; b++) {
                assert_int_equal(cost.inclusive[b], inclusive[b]);
                assert_true(cost.inclusive[b] <= cost.total);
                self += cost.self[b];
            }
            assert_int_equal(self, cost.total);
            crn_free(inclusive);
            crn_block_cost_free(&cost);
        }
        crn_free(kept);
        crn_profile_free(profile);
    }
}

static void cycles_and_folds_are_all_calls_that_are_not_tree_edges(void **state)
{
    (void)state;
    random_source random = {2};
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = random_profile(&random, 3, EVENTS, NULL);
        uint64_t *cycles = crn_cycle_calls(profile);
        uint64_t tree = 0, all = 0, back = crn_folded_calls(profile);
        for (uint32_t c = 0; c < profile->context_count; c++) {
            tree += profile->calls_tree[c];
            all += crn_self(profile, CRN_METRIC_CALLS, c);
            back += cycles[c];
        }
        assert_true(back > 0);
        assert_int_equal(tree + back, all);
        crn_free(cycles);
        crn_profile_free(profile);
    }
}

static void check_known_cost(const crn_profile *profile, uint32_t metric,
                             const crn_block_cost *known)
{
    crn_block_cost cost = crn_block_cost_make(profile, metric, NULL);
    size_t size = profile->block_count * sizeof *cost.self;
    assert_memory_equal(known->self, cost.self, size);
    assert_memory_equal(known->inclusive, cost.inclusive, size);
    assert_int_equal(known->total, cost.total);
    crn_block_cost_free(&cost);
}

/* Cached figures equal computed ones, whatever was requested before and whichever cache computed
 * it. */
static void cached_figures_equal_computed_ones(void **state)
{
    (void)state;
    random_source random = {5};
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = random_profile(&random, BLOCKS, EVENTS, NULL);
        crn_figure_cache known = {.profile = profile}, other = {.profile = profile};
        for (int step = 0; step < 12; step++) {
            crn_figure_cache *its = random_chance(&random, 1, 3) ? &other : &known;
            uint32_t metric = random_below(&random, profile->metric_count);
            check_known_cost(profile, metric, crn_figure_cache_cost(its, metric));
            metric = random_below(&random, profile->metric_count);
            uint64_t *totals = crn_totals(profile, metric, NULL);
            assert_memory_equal(crn_figure_cache_totals(its, metric), totals,
                                profile->context_count * sizeof *totals);
            crn_free(totals);
            if (step != 6)
                continue;
            crn_figure_cache_take(&known, &other);
            assert_null(other.profile);
            other.profile = profile;
        }
        crn_figure_cache_clear(&other);
        crn_figure_cache_clear(&known);
        crn_profile_free(profile);
    }
}

/* Parents come before their children and only children of one parent stand together. */
static void check_rows(const crn_profile *profile, const crn_tree *tree)
{
    uint32_t *place = crn_calloc(profile->context_count, sizeof *place);
    assert_int_equal(tree->rows[0].context, 0);
    for (uint32_t i = 1; i < tree->count; i++) {
        const crn_tree_row *row = &tree->rows[i];
        uint32_t parent = profile->parent[row->context];
        assert_true(parent == 0 || place[parent]);
        const crn_tree_row *above = &tree->rows[place[parent]];
        assert_int_equal(row->level, above->level + !row->only);
        assert_true(row->level < tree->levels);
        assert_true(tree->totals[row->context] <= tree->totals[parent]);
        assert_false(row->only && !row->last);
        assert_int_equal(place[row->context], 0);
        place[row->context] = i;
    }
    crn_free(place);
}

static void trees_show_the_costliest_contexts(void **state)
{
    (void)state;
    random_source random = {3};
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = random_profile(&random, BLOCKS, EVENTS, NULL);
        uint8_t *kept = i % 2 ? random_contexts(&random, profile) : NULL;
        crn_tree_options options = {.metric = CRN_METRIC_TICKS,
                                    .kept = kept,
                                    .threshold = 0.02 * (i % 5),
                                    .top = i % 3 ? 20 : 0};
        crn_tree tree = crn_tree_make(profile, &options);
        check_rows(profile, &tree);
        uint64_t *totals = crn_totals(profile, CRN_METRIC_TICKS, kept);
        uint64_t least = UINT64_MAX, most = 0, self = 0;
        uint8_t *shown = crn_calloc(profile->context_count, sizeof *shown);
        for (uint32_t r = 0; r < tree.count; r++) {
            uint32_t c = tree.rows[r].context;
            shown[c] = 1;
            least = totals[c] < least ? totals[c] : least;
            self += !kept || kept[c] ? crn_self(profile, CRN_METRIC_TICKS, c) : 0;
        }
        for (uint32_t c = 0; c < profile->context_count; c++)
            if (!shown[c] && totals[c] > most)
                most = totals[c];
        bool limited = options.top && tree.count == options.top;
        assert_true(most == 0 || (double)most < options.threshold * (double)totals[0] ||
                    (limited && most <= least));
        assert_int_equal(self, tree.shown);
        assert_true(!options.top || tree.count <= options.top);
        crn_free(shown);
        crn_free(totals);
        crn_tree_free(&tree);
        crn_free(kept);
        crn_profile_free(profile);
    }
}

static void the_whole_tree_has_every_context(void **state)
{
    (void)state;
    random_source random = {4};
    crn_profile *profile = random_profile(&random, BLOCKS, EVENTS, NULL);
    crn_tree tree = crn_tree_make(profile, &(crn_tree_options){.metric = CRN_METRIC_TICKS});
    check_rows(profile, &tree);
    assert_int_equal(tree.count, profile->context_count);
    assert_int_equal(tree.hidden, 0);
    crn_tree_free(&tree);
    crn_profile_free(profile);
}

/* Returns true if the row of a whole tree is between the ends of a chain. `next` is the row after
 * it. */
static bool is_between(const crn_profile *profile, const crn_tree_options *options,
                       const crn_tree_row *row, const crn_tree_row *next)
{
    uint32_t c = row->context, parent = profile->parent[c];
    uint64_t self = crn_self(profile, options->metric, c);
    uint64_t self_of_parent = crn_self(profile, options->metric, parent);
    return parent && row->only && next->only && profile->parent[next->context] == c &&
           (!self || !options->kept[c]) && (!self_of_parent || !options->kept[parent]) &&
           options->calls[c] == options->calls[parent] && !options->cycles[c];
}

/* The tree without the rows between the ends of chains, made from a tree with all rows. */
static void check_chains(const crn_profile *profile, crn_tree_options options)
{
    crn_tree shortened = crn_tree_make(profile, &options);
    uint32_t least = options.chain, at = 0;
    options.chain = 0;
    crn_tree whole = crn_tree_make(profile, &options);
    for (uint32_t i = 0; i < whole.count; i++) {
        uint32_t between = 0;
        while (
            i + between + 1 < whole.count &&
            is_between(profile, &options, &whole.rows[i + between], &whole.rows[i + between + 1]))
            between++;
        i += between >= least ? between : 0;
        assert_int_equal(shortened.rows[at].context, whole.rows[i].context);
        assert_int_equal(shortened.rows[at].level, whole.rows[i].level);
        assert_int_equal(shortened.rows[at].between, between >= least ? between : 0);
        for (uint32_t k = 0; between < least && k < between; k++) /* they have rows */
            assert_int_equal(shortened.rows[++at].context, whole.rows[++i].context);
        at++;
    }
    assert_int_equal(shortened.count, at);
    assert_int_equal(shortened.count + shortened.between, whole.count);
    assert_int_equal(shortened.hidden, whole.hidden);
    assert_int_equal(shortened.shown, whole.shown);
    crn_tree_free(&whole);
    crn_tree_free(&shortened);
}

static void long_chains_are_shortened(void **state)
{
    (void)state;
    random_source random = {5};
    uint32_t between = 0;
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = random_profile(&random, BLOCKS, EVENTS, NULL);
        uint8_t *kept = crn_calloc(profile->context_count, sizeof *kept);
        uint64_t *calls = crn_calloc(profile->context_count, sizeof *calls);
        uint64_t *cycles = crn_calloc(profile->context_count, sizeof *cycles);
        for (uint32_t c = 0; c < profile->context_count; c++) {
            kept[c] = random_chance(&random, 1, 20);
            calls[c] = random_chance(&random, 1, 20);
            cycles[c] = random_chance(&random, 1, 20);
        }
        crn_tree_options options = {.metric = CRN_METRIC_TICKS,
                                    .kept = kept,
                                    .threshold = 0.001 * (i % 5),
                                    .chain = 1 + (uint32_t)i % 4,
                                    .calls = calls,
                                    .cycles = cycles};
        check_chains(profile, options);
        crn_tree tree = crn_tree_make(profile, &options);
        options.top = 20;
        crn_tree limited = crn_tree_make(profile, &options);
        between += tree.between;
        assert_int_equal(limited.cut, tree.count > options.top);
        assert_int_equal(limited.count, tree.count > options.top ? options.top : tree.count);
        crn_tree_free(&limited);
        crn_tree_free(&tree);
        crn_free(calls);
        crn_free(cycles);
        crn_free(kept);
        crn_profile_free(profile);
    }
    assert_true(between > PROFILES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_costs_are_sums_over_contexts),
        cmocka_unit_test(cycles_and_folds_are_all_calls_that_are_not_tree_edges),
        cmocka_unit_test(cached_figures_equal_computed_ones),
        cmocka_unit_test(trees_show_the_costliest_contexts),
        cmocka_unit_test(the_whole_tree_has_every_context),
        cmocka_unit_test(long_chains_are_shortened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
