/* SPDX-License-Identifier: MIT
 *
 * test_analysis_sequence.c - sequences of blocks, compared with a search of explicit paths.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/random_profile.h"
#include "support/scratch.h"

enum { PROFILES = 40, BLOCKS = 4, EVENTS = 2000, LENGTH_MAX = 4 };

typedef struct fixture {
    crn_profile *profile;
    uint32_t *path; /* room for the longest, and a block more */
    uint8_t *kept;  /* or NULL */
    crn_sequence sequence;
} fixture;

static fixture fixture_make(random_source *random)
{
    fixture f = {.profile = random_profile(random, BLOCKS, EVENTS, NULL)};
    f.path = crn_calloc(f.profile->context_count + 1, sizeof *f.path);
    if (random_chance(random, 1, 2)) {
        f.kept = crn_calloc(f.profile->context_count, sizeof *f.kept);
        for (uint32_t c = 0; c < f.profile->context_count; c++)
            f.kept[c] = random_chance(random, 3, 4);
    }
    f.sequence.length = 1 + random_below(random, LENGTH_MAX);
    f.sequence.blocks = crn_calloc(f.sequence.length, sizeof(uint32_t));
    for (uint32_t i = 0; i < f.sequence.length; i++)
        f.sequence.blocks[i] = i ? 1 + random_below(random, BLOCKS)
                                 : random_below(random, BLOCKS + 1); /* perhaps the root */
    return f;
}

static void fixture_free(fixture *f)
{
    crn_profile_free(f->profile);
    crn_free(f->path);
    crn_free(f->kept);
    crn_sequence_free(&f->sequence);
}

static bool ends_with(const uint32_t *path, uint32_t length, const crn_sequence *sequence)
{
    return length >= sequence->length && memcmp(path + length - sequence->length, sequence->blocks,
                                                sequence->length * sizeof *path) == 0;
}

static bool contains(const uint32_t *path, uint32_t length, const crn_sequence *sequence)
{
    for (uint32_t end = 1; end <= length; end++)
        if (ends_with(path, end, sequence))
            return true;
    return false;
}

static crn_sequence_cost slow_measure(const fixture *f, const crn_sequence *sequence,
                                      uint32_t metric)
{
    const crn_profile *profile = f->profile;
    crn_sequence_cost cost = {0, 0, 0};
    for (uint32_t c = 0; c < profile->context_count; c++) {
        uint32_t length = profile_path(profile, c, f->path);
        if (f->kept && !f->kept[c])
            continue;
        if (ends_with(f->path, length, sequence)) {
            cost.calls += profile->calls_tree[c];
            cost.self += crn_self(profile, metric, c);
        }
        if (contains(f->path, length, sequence))
            cost.inclusive += crn_self(profile, metric, c);
    }
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        uint32_t length = profile_path(profile, edge->from, f->path);
        f->path[length++] = profile->block[edge->target];
        if ((!f->kept || f->kept[edge->target]) && ends_with(f->path, length, sequence))
            cost.calls += edge->calls;
    }
    return cost;
}

static void assert_costs_equal(crn_sequence_cost a, crn_sequence_cost b)
{
    assert_int_equal(a.calls, b.calls);
    assert_int_equal(a.self, b.self);
    assert_int_equal(a.inclusive, b.inclusive);
}

static void sequence_costs_are_sums_over_contexts(void **state)
{
    (void)state;
    random_source random = {1};
    for (int i = 0; i < 10 * PROFILES; i++) {
        fixture f = fixture_make(&random);
        crn_sequence_cost found =
            crn_sequence_measure(f.profile, &f.sequence, CRN_METRIC_TICKS, f.kept);
        assert_costs_equal(found, slow_measure(&f, &f.sequence, CRN_METRIC_TICKS));
        uint64_t *totals = crn_totals(f.profile, CRN_METRIC_TICKS, f.kept);
        assert_costs_equal(
            crn_sequence_measure_of(f.profile, &f.sequence, CRN_METRIC_TICKS, f.kept, totals),
            found);
        crn_free(totals);
        uint32_t ends = 0;
        for (uint32_t c = 0; c < f.profile->context_count; c++)
            ends += ends_with(f.path, profile_path(f.profile, c, f.path), &f.sequence);
        assert_int_equal(crn_sequence_count(f.profile, &f.sequence), ends);
        fixture_free(&f);
    }
}

static void selections_follow_paths(void **state)
{
    (void)state;
    random_source random = {2};
    for (int i = 0; i < PROFILES; i++) {
        fixture f = fixture_make(&random), drops = fixture_make(&random);
        const crn_sequence *focus = i % 3 ? &f.sequence : NULL;
        uint8_t *kept = crn_sequence_select(f.profile, focus, &drops.sequence, i % 2);
        for (uint32_t c = 0; c < f.profile->context_count; c++) {
            uint32_t length = profile_path(f.profile, c, f.path);
            bool expected = (!focus || contains(f.path, length, focus)) &&
                            !(i % 2 && contains(f.path, length, &drops.sequence));
            assert_int_equal(kept ? kept[c] : 1, expected);
        }
        crn_free(kept);
        fixture_free(&f);
        fixture_free(&drops);
    }
}

/* The neighbour for `block` is what the longer sequence costs; blocks that are not listed
 * cost nothing there. */
static void check_side(const fixture *f, const crn_neighbour *neighbours, uint32_t count,
                       bool before)
{
    uint32_t blocks[LENGTH_MAX + 1];
    crn_sequence longer = {f->sequence.length + 1, blocks};
    memcpy(blocks + before, f->sequence.blocks, f->sequence.length * sizeof *blocks);
    for (uint32_t b = 0; b < f->profile->block_count; b++) {
        blocks[before ? 0 : f->sequence.length] = b;
        crn_sequence_cost found = {0, 0, 0};
        for (uint32_t i = 0; i < count; i++)
            if (neighbours[i].block == b)
                found = neighbours[i].cost;
        assert_costs_equal(found, slow_measure(f, &longer, CRN_METRIC_TICKS));
    }
}

static void neighbours_have_the_cost_of_the_longer_sequence(void **state)
{
    (void)state;
    random_source random = {3};
    for (int i = 0; i < PROFILES; i++) {
        fixture f = fixture_make(&random);
        crn_neighbourhood near =
            crn_neighbourhood_make(f.profile, &f.sequence, CRN_METRIC_TICKS, f.kept);
        assert_costs_equal(near.cost, slow_measure(&f, &f.sequence, CRN_METRIC_TICKS));
        check_side(&f, near.before, near.before_count, true);
        check_side(&f, near.after, near.after_count, false);
        for (uint32_t n = 1; n < near.after_count; n++)
            assert_true(near.after[n - 1].cost.inclusive >= near.after[n].cost.inclusive);
        crn_neighbourhood_free(&near);
        fixture_free(&f);
    }
}

static void callees_are_all_paths_below_a_sequence(void **state)
{
    (void)state;
    random_source random = {4};
    for (int i = 0; i < 4 * PROFILES; i++) {
        fixture f = fixture_make(&random);
        crn_profile *below = crn_sequence_below(f.profile, &f.sequence, f.kept);
        for (uint32_t m = 0; m < f.profile->metric_count; m++) {
            assert_string_equal(below->metrics[m].name, f.profile->metrics[m].name);
            uint64_t within = slow_measure(&f, &f.sequence, m).inclusive;
            if (m != CRN_METRIC_CALLS)
                assert_int_equal(crn_metric_total(below, m), within);
        }
        fixture_free(&f);
        crn_profile_free(below);
    }
}

static void callers_are_all_paths_to_a_sequence(void **state)
{
    (void)state;
    random_source random = {5};
    for (int i = 0; i < 4 * PROFILES; i++) {
        fixture f = fixture_make(&random);
        if (!f.sequence.blocks[0]) /* nothing is above the root */
            f.sequence.blocks[0] = 1;
        crn_profile *above = crn_sequence_above(f.profile, &f.sequence, CRN_METRIC_TICKS, f.kept);
        crn_sequence_cost cost = slow_measure(&f, &f.sequence, CRN_METRIC_TICKS);
        assert_int_equal(crn_metric_total(above, CRN_METRIC_CALLS), cost.calls);
        uint64_t outermost = 0, *totals = crn_totals(f.profile, CRN_METRIC_TICKS, f.kept);
        uint8_t *within = crn_sequence_within(f.profile, &f.sequence);
        for (uint32_t c = 1; c < f.profile->context_count; c++)
            if (within[c] && !within[f.profile->parent[c]] && (!f.kept || f.kept[c]))
                outermost += totals[c];
        assert_int_equal(crn_metric_total(above, CRN_METRIC_TICKS), outermost);
        crn_free(totals);
        crn_free(within);
        crn_profile_free(above);
        fixture_free(&f);
    }
}

/* The library's own query and the tool's, of the same run. */
static void the_library_counts_the_same_calls(void **state)
{
    (void)state;
    random_source random = {6};
    for (int i = 0; i < PROFILES; i++) {
        char path[SCRATCH_PATH];
        scratch_path(path, "calls.cairn");
        cairn_options options = path_options(path);
        options.path_limit = i % 2 ? 6 : 1024; /* some fold */
        setup s = setup_open(&options, BLOCKS);
        for (int event = 0; event < EVENTS; event++) {
            uint32_t kind = random_below(&random, 5);
            if (kind < 2)
                cairn_enter(s.strand, 1 + random_below(&random, BLOCKS));
            else if (kind == 2)
                cairn_replace(s.strand, 1 + random_below(&random, BLOCKS));
            else if (cairn_strand_depth(s.strand))
                cairn_leave(s.strand);
        }
        uint32_t sequences[50][LENGTH_MAX], lengths[COUNT(sequences)];
        uint64_t calls[COUNT(sequences)];
        cairn_view *view;
        assert_int_equal(cairn_view_open(&view, s.profile), CAIRN_OK);
        for (size_t q = 0; q < COUNT(sequences); q++) {
            lengths[q] = 1 + random_below(&random, LENGTH_MAX);
            for (uint32_t j = 0; j < lengths[q]; j++)
                sequences[q][j] = 1 + random_below(&random, BLOCKS);
            calls[q] = cairn_view_calls(view, sequences[q], lengths[q]);
        }
        cairn_view_close(view);
        setup_close(&s);
        crn_error error;
        crn_profile *profile = crn_profile_load(path, &error);
        assert_non_null(profile);
        for (size_t q = 0; q < COUNT(sequences); q++) {
            crn_sequence sequence = {lengths[q], sequences[q]};
            crn_sequence_cost cost =
                crn_sequence_measure(profile, &sequence, CRN_METRIC_TICKS, NULL);
            assert_int_equal(cost.calls, calls[q]);
        }
        crn_profile_free(profile);
    }
}

/* In a path that is not canonical, as in a hostile capture, occurrences can overlap. */
static void occurrences_that_overlap_are_all_found(void **state)
{
    (void)state;
    crn_profile *profile = profile_chain(7, 2);
    const crn_sequence sequence = {3, (uint32_t[]){1, 2, 1}};
    assert_int_equal(crn_sequence_count(profile, &sequence), 3);
    crn_profile_free(profile);
}

/* Hand-made, so that the meaning is written down: main calls a twice, a calls b thrice
 * each time, b calls itself once more. */
static void an_example(void **state)
{
    (void)state;
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t main_block = crn_profile_builder_block(builder, &(crn_block_info){.name = "main"});
    uint32_t a = crn_profile_builder_block(builder, &(crn_block_info){.name = "a"});
    uint32_t b = crn_profile_builder_block(builder, &(crn_block_info){.name = "b"});
    uint32_t context = crn_profile_builder_root(builder);
    context = crn_profile_builder_child(builder, context, main_block, 1);
    context = crn_profile_builder_child(builder, context, a, 2);
    crn_profile_builder_charge(builder, context, CRN_METRIC_TICKS, 10);
    context = crn_profile_builder_child(builder, context, b, 6);
    context = crn_profile_builder_child(builder, context, b, 6);
    crn_profile_builder_charge(builder, context, CRN_METRIC_TICKS, 5);
    crn_profile *profile = crn_profile_builder_end(builder);
    crn_sequence_cost cost;
    cost =
        crn_sequence_measure(profile, &(crn_sequence){1, (uint32_t[]){b}}, CRN_METRIC_TICKS, NULL);
    assert_costs_equal(cost, (crn_sequence_cost){12, 5, 5});
    cost = crn_sequence_measure(profile, &(crn_sequence){2, (uint32_t[]){a, b}}, CRN_METRIC_TICKS,
                                NULL);
    assert_costs_equal(cost, (crn_sequence_cost){6, 5, 5});
    cost = crn_sequence_measure(profile, &(crn_sequence){2, (uint32_t[]){b, b}}, CRN_METRIC_TICKS,
                                NULL);
    assert_costs_equal(cost, (crn_sequence_cost){6, 0, 0});
    cost = crn_sequence_measure(profile, &(crn_sequence){2, (uint32_t[]){main_block, a}},
                                CRN_METRIC_TICKS, NULL);
    assert_costs_equal(cost, (crn_sequence_cost){2, 10, 15});
    crn_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequence_costs_are_sums_over_contexts),
        cmocka_unit_test(selections_follow_paths),
        cmocka_unit_test(neighbours_have_the_cost_of_the_longer_sequence),
        cmocka_unit_test(callees_are_all_paths_below_a_sequence),
        cmocka_unit_test(callers_are_all_paths_to_a_sequence),
        cmocka_unit_test(the_library_counts_the_same_calls),
        cmocka_unit_test(occurrences_that_overlap_are_all_found),
        cmocka_unit_test(an_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
