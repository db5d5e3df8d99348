/* SPDX-License-Identifier: MIT
 *
 * test_checked.c - cairn_leave_block in a program compiled with CAIRN_CHECKED.
 */
#define CAIRN_CHECKED
#include "support/cases.h"
#include "support/profiles.h"
#include "support/scratch.h"

#include "profile/profile.h"

static setup open_at(char path[SCRATCH_PATH])
{
    cairn_options options = path_options(scratch_path(path, "checked.cairn"));
    return setup_open(&options, 4);
}

static void matching_leaves_are_no_misuse(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    setup s = open_at(path);
    for (int i = 0; i < 100; i++) {
        cairn_enter(s.strand, 1);
        cairn_enter(s.strand, 1); /* folds */
        cairn_enter(s.strand, 2);
        cairn_replace(s.strand, 3);
        cairn_leave_block(s.strand, 3);
        cairn_leave_block(s.strand, 1);
        cairn_leave_block(s.strand, 1);
    }
    cairn_stack *stack = cairn_stack_open(s.lane);
    cairn_strand_switch(cairn_stack_strand(stack));
    cairn_stack_enter(stack, 4);
    cairn_leave_block(cairn_stack_strand(stack), 4);
    cairn_leave_block(NULL, 4);
    setup_close(&s);
    assert_int_equal(note_of(path, "misuses"), 0);
}

static void a_mismatch_is_counted_and_the_first_is_named(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    setup s = open_at(path);
    cairn_enter(s.strand, 1);
    cairn_enter(s.strand, 2); /* whose leave was forgotten */
    cairn_leave_block(s.strand, 1);
    cairn_enter(s.strand, 3);
    cairn_leave_block(s.strand, 999);
    assert_int_equal(cairn_strand_depth(s.strand), 1);
    setup_close(&s);
    assert_int_equal(note_of(path, "misuses"), 2);
    crn_error error;
    crn_profile *profile = crn_profile_load(path, &error);
    assert_non_null(profile);
    assert_string_equal(crn_profile_note(profile, "mismatch", ""),
                        "left b1, but the current block was b2");
    assert_int_equal(profile->warning_count, 2);
    crn_profile_free(profile);
}

static void blocks_entered_while_off_are_not_checked(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    setup s = open_at(path);
    cairn_enter(s.strand, 1);
    cairn_profile_disable(s.profile);
    cairn_enter(s.strand, 2);
    cairn_profile_enable(s.profile);
    cairn_leave_block(s.strand, 2);
    cairn_leave_block(s.strand, 1);
    setup_close(&s);
    assert_int_equal(note_of(path, "misuses"), 0);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(matching_leaves_are_no_misuse),
        cmocka_unit_test(a_mismatch_is_counted_and_the_first_is_named),
        cmocka_unit_test(blocks_entered_while_off_are_not_checked),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
