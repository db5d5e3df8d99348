/* SPDX-License-Identifier: MIT
 *
 * test_capture.c - the data of a capture besides contexts; loading and saving changes nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cases.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"
#include "support/soundness.h"
#include "support/walker.h"

static void notes_and_labels_are_stored(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "notes.cairn"));
    options.command = "program --with 'arguments'";
    options.labels = "branch=main\ncolour=blue=green\nnonsense\n\nempty=\n";
    setup s = setup_open(&options, 1);
    assert_int_equal(cairn_profile_note(s.profile, "exit", "1"), CAIRN_OK);
    assert_int_equal(cairn_profile_note(s.profile, "exit", "0"), CAIRN_OK);
    setup_close(&s);
    crn_profile *profile = recorded_profile(path);
    assert_string_equal(crn_profile_note(profile, "command", ""), "program --with 'arguments'");
    assert_string_equal(crn_profile_note(profile, "branch", ""), "main");
    assert_string_equal(crn_profile_note(profile, "colour", ""), "blue=green");
    assert_string_equal(crn_profile_note(profile, "empty", "x"), "");
    assert_string_equal(crn_profile_note(profile, "exit", ""), "0"); /* the last one holds */
    assert_string_equal(crn_profile_note(profile, "nothing", "otherwise"), "otherwise");
    assert_string_equal(crn_profile_note(profile, "state", ""), "closed");
    assert_int_equal(profile->warning_count, 0);
    crn_profile_free(profile);
}

static void misuses_are_counted(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "misuse.cairn"));
    setup s = setup_open(&options, 3);
    cairn_leave(s.strand);
    cairn_leave(s.strand);
    cairn_enter(s.strand, 1);
    cairn_mark mark = cairn_strand_mark(s.strand);
    cairn_leave(s.strand);
    cairn_strand_unwind(s.strand, mark); /* its frame is gone */
    cairn_strand *other = cairn_strand_open(s.lane);
    cairn_replace(other, 2); /* the root's place is taken: found out when the strand ends */
    cairn_replace(other, 3);
    cairn_strand_close(other);
    setup_close(&s);
    assert_int_equal(note_of(path, "misuses"), 4);
    assert_int_equal(note_of(path, "strands"), 2);
    assert_int_equal(note_of(path, "dropped"), 0);
    crn_profile *profile = recorded_profile(path);
    assert_true(profile->warning_count > 0);
    crn_profile_free(profile);
}

static void metrics_of_one_name_add_up(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "metrics.cairn"));
    setup s = setup_open(&options, 2);
    cairn_metric first = cairn_metric_add(s.profile, "bytes", "byte");
    cairn_metric other = cairn_metric_add(s.profile, "other", "count");
    cairn_metric again = cairn_metric_add(s.profile, "bytes", "byte");
    cairn_enter(s.strand, 1);
    cairn_charge(s.strand, first, 3);
    cairn_charge(s.strand, again, 5);
    cairn_charge(s.strand, other, 1);
    cairn_enter(s.strand, 2);
    cairn_charge(s.strand, again, 100);
    cairn_charge(s.strand, CAIRN_METRIC_TICKS, 9);
    setup_close(&s);
    crn_profile *profile = recorded_profile(path);
    uint64_t bytes = 0;
    for (uint32_t m = CRN_METRIC_WALL + 1; m < profile->metric_count; m++)
        bytes +=
            strcmp(profile->metrics[m].name, "bytes") == 0 ? profile_total(profile, (int)m) : 0;
    assert_int_equal(bytes, 108);
    assert_int_equal(profile_total(profile, crn_profile_metric(profile, "other")), 1);
    assert_int_equal(profile_total(profile, CRN_METRIC_TICKS), 9);
    crn_profile_free(profile);
}

/* A host's metric name is one metric, however often it is defined. Cairn's own names are
 * refused. */
static void a_taken_metric_name_is_refused(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "taken.cairn"));
    setup s = setup_open(&options, 1);
    cairn_charge(s.strand, cairn_metric_add(s.profile, "calls", "count"), 5);
    cairn_metric bytes = cairn_metric_add(s.profile, "bytes", "byte");
    assert_int_equal(cairn_metric_add(s.profile, "bytes", "byte"), bytes);
    setup_close(&s);
    crn_profile *profile = recorded_profile(path);
    assert_int_equal(profile_total(profile, CRN_METRIC_CALLS), 1);
    assert_int_equal(profile->warning_count, 1);
    assert_non_null(strstr(profile->warnings[0], "calls"));
    crn_profile_free(profile);
}

static void assert_same(const crn_profile *one, const crn_profile *two)
{
    assert_int_equal(one->context_count, two->context_count);
    assert_int_equal(one->edge_count, two->edge_count);
    for (uint32_t c = 0; c < one->context_count; c++) {
        assert_int_equal(one->parent[c], two->parent[c]);
        assert_string_equal(one->blocks[one->block[c]].name, two->blocks[two->block[c]].name);
        assert_int_equal(one->calls_tree[c], two->calls_tree[c]);
    }
    for (uint32_t e = 0; e < one->edge_count; e++) {
        assert_int_equal(one->edges[e].from, two->edges[e].from);
        assert_int_equal(one->edges[e].target, two->edges[e].target);
        assert_int_equal(one->edges[e].calls, two->edges[e].calls);
        assert_int_equal(one->edges[e].folded, two->edges[e].folded);
    }
    for (uint32_t m = 0; m < one->metric_count; m++) {
        int other = crn_profile_metric(two, one->metrics[m].name);
        assert_true(other >= 0);
        for (uint32_t c = 0; c < one->context_count; c++)
            assert_int_equal(one->values[m] ? one->values[m][c] : 0,
                             two->values[other] ? two->values[other][c] : 0);
    }
}

static void saving_preserves_everything(void **state)
{
    (void)state;
    char path[SCRATCH_PATH], copy[SCRATCH_PATH];
    scratch_path(copy, "copy.cairn");
    for (uint64_t seed = 0; seed < scale(50); seed++) {
        cairn_options options = path_options(scratch_path(path, "original.cairn"));
        options.path_limit = seed % 2 ? 6 : 1024;
        options.wall = (cairn_wall)(seed % 3);
        setup s = setup_open(&options, 20);
        cairn_metric metric = cairn_metric_add(s.profile, "bytes", "byte");
        walker walk = {.strand = s.strand, .random = {seed}, .blocks = 20};
        for (int i = 0; i < 10; i++) {
            walker_walk(&walk, seed * 50);
            cairn_charge(s.strand, metric, 7);
        }
        setup_close(&s);
        crn_profile *original = recorded_profile(path);
        crn_error error = {0};
        if (!crn_profile_save(original, copy, &error))
            fail_msg("%s", error.message);
        crn_profile *loaded = recorded_profile(copy);
        assert_same(original, loaded);
        crn_profile_free(loaded);
        crn_profile_free(original);
    }
}

/* A reader that still has the old file open can read it completely. */
static void a_capture_replaces_an_old_one(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "again.cairn"));
    setup first = setup_open(&options, 2);
    cairn_enter(first.strand, 1);
    setup second = setup_open(&options, 2);
    for (int i = 0; i < 100; i++)
        cairn_enter(first.strand, 1 + (cairn_block)i % 2);
    cairn_enter(second.strand, 2);
    assert_int_equal(total_of(first.profile).calls, 102);
    setup_close(&first);
    setup_close(&second);
    crn_profile *profile = recorded_profile(path);
    assert_int_equal(profile_total(profile, CRN_METRIC_CALLS), 2);
    crn_profile_free(profile);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 077 & ~(mode_t)044, 0); /* no group or other permissions */
}

static void absurd_options_do_no_harm(void **state)
{
    (void)state;
    static const uint64_t extremes[] = {0, 1, 3, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    for (size_t i = 0; i < COUNT(extremes); i++) {
        cairn_options options = CAIRN_OPTIONS_DEFAULT;
        options.wall = CAIRN_WALL_SAMPLED;
        options.tick_period = extremes[i];
        options.sample_period_ns = extremes[i];
        options.seed = extremes[i];
        options.path_limit = (uint32_t)extremes[i];
        options.context_budget = (uint32_t)extremes[i];
        setup s = setup_open(&options, 5);
        walker walk = {.strand = s.strand, .random = {i}, .blocks = 5};
        walker_walk(&walk, 2000);
        cairn_tick(s.strand, UINT32_MAX / 64);
        assert_int_equal(total_of(s.profile).calls, walk.calls + 1);
        usleep(2000);
        setup_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(notes_and_labels_are_stored),
        cmocka_unit_test(misuses_are_counted),
        cmocka_unit_test(metrics_of_one_name_add_up),
        cmocka_unit_test(a_taken_metric_name_is_refused),
        cmocka_unit_test(saving_preserves_everything),
        cmocka_unit_test(a_capture_replaces_an_old_one),
        cmocka_unit_test(absurd_options_do_no_harm),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
