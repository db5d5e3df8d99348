/* SPDX-License-Identifier: MIT
 *
 * test_analysis_whole.c - diff, merge and redaction preserve sums; every analysis handles a path
 * of a million blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "spans/spans.h"
#include "support/cases.h"
#include "support/random_profile.h"

enum { PROFILES = 30, BLOCKS = 12, EVENTS = 3000, CHAIN = 1000000 };

static void check_sums(const crn_diff *diff, const crn_profile *const profiles[CRN_SIDES])
{
    for (int side = 0; side < CRN_SIDES; side++) {
        uint64_t self = 0, calls = 0;
        for (uint32_t i = 0; i < diff->count; i++) {
            self += diff->rows[i].self[side];
            calls += diff->rows[i].calls[side];
        }
        assert_int_equal(self, diff->total[side]);
        assert_int_equal(self, crn_metric_total(profiles[side], CRN_METRIC_TICKS));
        assert_int_equal(calls, crn_metric_total(profiles[side], CRN_METRIC_CALLS));
    }
}

static void diffs_keep_the_sums_of_both_sides(void **state)
{
    (void)state;
    random_source random = {1};
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *before = random_profile(&random, BLOCKS, EVENTS, NULL);
        crn_profile *after = random_profile(&random, BLOCKS + i % 5, EVENTS, NULL);
        crn_diff_input input = {
            {before, after}, {CRN_METRIC_TICKS, CRN_METRIC_TICKS}, CRN_DIFF_SELF};
        crn_diff blocks = crn_diff_blocks(&input), contexts = crn_diff_contexts(&input);
        check_sums(&blocks, input.profile);
        check_sums(&contexts, input.profile);
        for (uint32_t r = 0; r < contexts.count; r++) {
            const crn_diff_row *row = &contexts.rows[r];
            if (row->id[CRN_BEFORE] != CRN_DIFF_NONE)
                assert_int_equal(row->self[CRN_BEFORE],
                                 crn_self(before, CRN_METRIC_TICKS, row->id[CRN_BEFORE]));
        }
        crn_diff_free(&blocks);
        crn_diff_free(&contexts);
        crn_profile_free(before);
        crn_profile_free(after);
    }
}

/* The same run of a program that was moved to another directory and had lines put in. */
static void moved_blocks_are_unchanged(void **state)
{
    (void)state;
    static const profile_source moved = {"/elsewhere/src/", 7};
    for (uint64_t seed = 1; seed <= PROFILES; seed++) {
        random_source first = {seed}, second = {seed};
        crn_profile *before = random_profile(&first, BLOCKS, EVENTS, NULL);
        crn_profile *after = random_profile(&second, BLOCKS, EVENTS, &moved);
        crn_diff_input input = {
            {before, after}, {CRN_METRIC_TICKS, CRN_METRIC_TICKS}, CRN_DIFF_SELF};
        crn_diff diffs[] = {crn_diff_blocks(&input), crn_diff_contexts(&input)};
        for (int i = 0; i < 2; i++) {
            assert_true(diffs[i].count > 0);
            for (uint32_t r = 0; r < diffs[i].count; r++) {
                const crn_diff_row *row = &diffs[i].rows[r];
                assert_int_equal(row->self[CRN_BEFORE], row->self[CRN_AFTER]);
                assert_int_equal(row->inclusive[CRN_BEFORE], row->inclusive[CRN_AFTER]);
                assert_int_equal(row->calls[CRN_BEFORE], row->calls[CRN_AFTER]);
            }
            crn_diff_free(&diffs[i]);
        }
        crn_profile_free(before);
        crn_profile_free(after);
    }
}

/* The same name in two files, in two outer blocks, and on lines that moved. */
static crn_profile *namesakes(const char *const files[2], uint32_t shift)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t root = crn_profile_builder_root(builder);
    if (shift) /* one more of that name, before the others and never called */
        crn_profile_builder_block(builder,
                                  &(crn_block_info){.name = "f", .file = "new.x", .line = 1});
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t outer = crn_profile_builder_block(
            builder, &(crn_block_info){.name = i ? "A" : "B", .file = files[i]});
        crn_block_info infos[] = {{.name = "f", .file = files[i], .line = 10 + shift},
                                  {.name = "g", .file = "g.x", .line = 10, .parent = outer},
                                  {.name = "h", .file = "h.x", .line = 10 * (i + 1) + shift}};
        for (uint32_t j = 0; j < COUNT(infos); j++) {
            uint32_t block = crn_profile_builder_block(builder, &infos[j]);
            uint32_t context = crn_profile_builder_child(builder, root, block, 1);
            crn_profile_builder_charge(builder, context, CRN_METRIC_TICKS, 1 + i + 10 * j);
        }
    }
    return crn_profile_builder_end(builder);
}

static void blocks_of_one_name_are_distinguished(void **state)
{
    (void)state;
    static const char *const here[] = {"x/one.x", "x/two.x"}, *const there[] = {"y/one.x",
                                                                                "y/two.x"};
    const char *const *const places[] = {here, there};
    for (int i = 0; i < 2; i++) {
        crn_profile *before = namesakes(here, 0), *after = namesakes(places[i], 3);
        crn_diff_input input = {
            {before, after}, {CRN_METRIC_TICKS, CRN_METRIC_TICKS}, CRN_DIFF_SELF};
        crn_diff diff = crn_diff_blocks(&input);
        assert_int_equal(diff.count, 7); /* the root, and three in each of two */
        for (uint32_t r = 0; r < diff.count; r++)
            assert_int_equal(diff.rows[r].self[CRN_BEFORE], diff.rows[r].self[CRN_AFTER]);
        crn_diff_free(&diff);
        crn_profile_free(before);
        crn_profile_free(after);
    }
}

static void merging_adds_up_and_the_order_does_not_matter(void **state)
{
    (void)state;
    random_source random = {3};
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *parts[] = {random_profile(&random, BLOCKS, EVENTS, NULL),
                                random_profile(&random, BLOCKS, EVENTS, NULL)};
        crn_profile *sums[2];
        for (int order = 0; order < 2; order++) {
            crn_merge *merge = crn_merge_new();
            crn_merge_add(merge, parts[order]);
            crn_merge_add(merge, parts[!order]);
            sums[order] = crn_merge_end(merge);
            assert_string_equal(crn_profile_note(sums[order], "merged", ""), "2");
        }
        for (uint32_t m = 0; m < parts[0]->metric_count; m++)
            assert_int_equal(crn_metric_total(sums[0], m),
                             crn_metric_total(parts[0], m) + crn_metric_total(parts[1], m));
        crn_diff_input input = {
            {sums[0], sums[1]}, {CRN_METRIC_TICKS, CRN_METRIC_TICKS}, CRN_DIFF_SELF};
        crn_diff diff = crn_diff_contexts(&input);
        for (uint32_t r = 0; r < diff.count; r++) {
            assert_int_equal(diff.rows[r].self[CRN_BEFORE], diff.rows[r].self[CRN_AFTER]);
            assert_int_equal(diff.rows[r].calls[CRN_BEFORE], diff.rows[r].calls[CRN_AFTER]);
        }
        crn_diff_free(&diff);
        for (int p = 0; p < 2; p++) {
            crn_profile_free(parts[p]);
            crn_profile_free(sums[p]);
        }
    }
}

static void redaction_changes_names_and_nothing_else(void **state)
{
    (void)state;
    random_source random = {4};
    crn_redact_map *map = crn_redact_map_new();
    crn_redact_map_keep(map, "b7");
    for (int i = 0; i < PROFILES; i++) {
        crn_profile *profile = random_profile(&random, BLOCKS, EVENTS, NULL);
        crn_profile *redacted = crn_redact(profile, map);
        assert_int_equal(redacted->context_count, profile->context_count);
        assert_int_equal(redacted->block_count, profile->block_count);
        for (uint32_t b = 1; b < profile->block_count; b++) {
            bool kept = strcmp(profile->blocks[b].name, "b7") == 0;
            assert_true((redacted->blocks[b].name[0] == 'f') == !kept);
            assert_null(strstr(redacted->blocks[b].file, "src"));
            assert_int_equal(redacted->blocks[b].line, profile->blocks[b].line);
        }
        for (uint32_t c = 0; c < profile->context_count; c++) {
            assert_int_equal(redacted->parent[c], profile->parent[c]);
            for (uint32_t m = 0; m < profile->metric_count; m++)
                assert_int_equal(crn_self(redacted, m, c), crn_self(profile, m, c));
        }
        crn_profile_free(profile);
        crn_profile_free(redacted);
    }
    crn_redact_map_free(map);
}

/* Names that would come out as one another's pseudonyms stay apart. */
static void redaction_never_joins_two_blocks(void **state)
{
    (void)state;
    static const char *const names[] = {"f1", "f2", "secret", "f3"};
    crn_profile_builder *builder = crn_profile_builder_new();
    for (size_t i = 0; i < COUNT(names); i++)
        crn_profile_builder_block(builder, &(crn_block_info){.name = names[i]});
    crn_profile *profile = crn_profile_builder_end(builder);
    crn_redact_map *map = crn_redact_map_new();
    crn_redact_map_keep(map, "f[12]");
    crn_profile *redacted = crn_redact(profile, map);
    assert_int_equal(redacted->block_count, COUNT(names) + 1);
    assert_string_equal(redacted->blocks[1].name, "f1");
    assert_string_equal(redacted->blocks[3].name, "f3");
    assert_string_equal(redacted->blocks[4].name, "f4");
    crn_redact_map_free(map);
    crn_profile_free(profile);
    crn_profile_free(redacted);
}

static void a_path_a_million_long(void **state)
{
    (void)state;
    crn_profile *profile = profile_chain(CHAIN, 1000);
    uint64_t total = crn_metric_total(profile, CRN_METRIC_TICKS);
    crn_block_cost cost = crn_block_cost_make(profile, CRN_METRIC_TICKS, NULL);
    assert_int_equal(cost.inclusive[0], total);
    crn_block_cost_free(&cost);

    crn_tree tree = crn_tree_make(profile, &(crn_tree_options){.metric = CRN_METRIC_TICKS});
    assert_int_equal(tree.count, CHAIN + 1);
    assert_int_equal(tree.levels, 1);
    crn_tree_free(&tree);

    crn_sequence sequence = {2, (uint32_t[]){5, 6}};
    crn_neighbourhood near = crn_neighbourhood_make(profile, &sequence, CRN_METRIC_TICKS, NULL);
    assert_int_equal(near.cost.calls, CHAIN / 1000);
    assert_int_equal(near.before[0].block, 4);
    assert_int_equal(near.after[0].block, 7);
    crn_neighbourhood_free(&near);

    crn_diff_input input = {
        {profile, profile}, {CRN_METRIC_TICKS, CRN_METRIC_TICKS}, CRN_DIFF_INCLUSIVE};
    crn_diff diff = crn_diff_contexts(&input);
    assert_int_equal(diff.count, CHAIN + 1);
    crn_diff_free(&diff);
    crn_profile_free(profile);
}

/* A warning may quote a note of a hostile capture. */
static void a_warning_is_one_line_without_control_characters(void **state)
{
    (void)state;
    crn_profile_builder *builder = crn_profile_builder_new();
    crn_profile_builder_warn(builder, "the program first %s", "left\n\x1b[2Jtotal");
    crn_profile *profile = crn_profile_builder_end(builder);
    assert_int_equal(profile->warning_count, 1);
    assert_string_equal(profile->warnings[0], "the program first left??[2Jtotal");
    crn_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(diffs_keep_the_sums_of_both_sides),
        cmocka_unit_test(moved_blocks_are_unchanged),
        cmocka_unit_test(blocks_of_one_name_are_distinguished),
        cmocka_unit_test(merging_adds_up_and_the_order_does_not_matter),
        cmocka_unit_test(redaction_changes_names_and_nothing_else),
        cmocka_unit_test(redaction_never_joins_two_blocks),
        cmocka_unit_test(a_path_a_million_long),
        cmocka_unit_test(a_warning_is_one_line_without_control_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
