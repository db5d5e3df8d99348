/* SPDX-License-Identifier: MIT
 *
 * test_fork.c - a profiled process that forks: the child continues and never writes the parent's
 * capture.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cases.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"
#include "support/soundness.h"
#include "support/walker.h"

static uint64_t captured_calls(const char *path)
{
    crn_profile *profile = recorded_profile(path);
    uint64_t calls = profile_total(profile, CRN_METRIC_CALLS);
    crn_profile_free(profile);
    return calls;
}

/* Runs in the child: everything that a program may do. */
static void go_on(setup *s, uint64_t seed)
{
    walker walk = {.strand = s->strand, .random = {seed}, .blocks = 10};
    walker_walk(&walk, 100000);
    cairn_block_add(s->profile, &(cairn_block_info){.name = "late"});
    cairn_profile_note(s->profile, "child", "yes");
    cairn_strand *strand = cairn_strand_open(s->lane);
    cairn_enter(strand, 1);
    cairn_strand_close(strand);
    cairn_lane *lane = cairn_lane_open(s->profile, "child");
    walk.strand = cairn_strand_open(lane);
    walker_walk(&walk, 1000);
    cairn_lane_close(lane);
    cairn_profile_disable(s->profile);
    cairn_profile_enable(s->profile);
    walker_walk(&walk, 0);
    cairn_view *view;
    if (!cairn_view_open(&view, s->profile))
        cairn_view_close(view);
    cairn_profile_status(s->profile);
}

/* Not a byte of the parent's file changes while only the child runs. */
static void the_child_writes_nothing(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "untouched.cairn"));
    setup s = setup_open(&options, 10);
    cairn_metric metric = cairn_metric_add(s.profile, "bytes", "byte");
    cairn_enter(s.strand, 1);
    cairn_charge(s.strand, metric, 1);
    size_t size, later;
    unsigned char *before = scratch_read(path, &size);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        cairn_leave(s.strand);
        cairn_leave(s.strand); /* a misuse: that is not the parent's, either */
        cairn_strand_unwind(s.strand, 9);
        cairn_charge(s.strand, metric, 5);
        cairn_sample(s.strand, &(const cairn_block){2}, 1, CAIRN_METRIC_TICKS, 3);
        go_on(&s, 4);
        cairn_profile_close(s.profile);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    unsigned char *after = scratch_read(path, &later);
    assert_int_equal(later, size);
    assert_memory_equal(before, after, size);
    free(before);
    free(after);
    setup_close(&s);
    assert_int_equal(note_of(path, "misuses"), 0);
}

static void run_child(setup *s, bool close)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        go_on(s, 77);
        if (close)
            cairn_profile_close(s->profile);
        _exit(42);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
}

static void the_parents_capture_is_the_parents(void **state)
{
    (void)state;
    skip_where_emulated();
    static const cairn_wall walls[] = {CAIRN_WALL_OFF, CAIRN_WALL_SAMPLED, CAIRN_WALL_EXACT};
    for (size_t i = 0; i < 2 * COUNT(walls); i++) {
        char path[SCRATCH_PATH];
        cairn_options options = path_options(scratch_path(path, "parent.cairn"));
        options.wall = walls[i / 2];
        options.sample_period_ns = 100000;
        setup s = setup_open(&options, 10);
        walker walk = {.strand = s.strand, .random = {1}, .blocks = 10};
        walker_walk(&walk, 10000);
        uint64_t before = total_of(s.profile).calls;
        assert_int_equal(before, walk.calls + 1);
        run_child(&s, i % 2);
        assert_int_equal(captured_calls(path), before);
        assert_int_equal(total_of(s.profile).calls, before);
        walker_walk(&walk, 10000); /* the parent continues, too */
        assert_int_equal(total_of(s.profile).calls, walk.calls + 1);
        assert_int_equal(cairn_profile_status(s.profile), CAIRN_OK);
        setup_close(&s);
        assert_int_equal(captured_calls(path), walk.calls + 1);
    }
}

static void a_child_can_open_its_own_profile(void **state)
{
    (void)state;
    char path[SCRATCH_PATH], own[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "parent.cairn"));
    scratch_path(own, "child.cairn");
    setup s = setup_open(&options, 10);
    cairn_enter(s.strand, 1);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        options.path = own;
        cairn_profile *profile;
        if (cairn_profile_open(&profile, &options))
            _exit(1);
        cairn_block block = cairn_block_add(profile, &(cairn_block_info){.name = "own"});
        cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "own"));
        for (int i = 0; i < 1000; i++) {
            cairn_enter(strand, block);
            cairn_leave(strand);
            cairn_leave(s.strand);
            cairn_enter(s.strand, 2);
        }
        cairn_profile_close(profile);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(captured_calls(own), 1001);
    assert_int_equal(captured_calls(path), 2);
    setup_close(&s);
}

/* A child of a child of a disabled profile. */
static void generations(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "old.cairn"));
    options.disabled = true;
    setup s = setup_open(&options, 10);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        cairn_profile_enable(s.profile);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            go_on(&s, 5);
            cairn_profile_close(s.profile);
            _exit(0);
        }
        int status = 1;
        go_on(&s, 6);
        waitpid(grandchild, &status, 0);
        _exit(status ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    uint64_t calls = total_of(s.profile).calls;
    assert_in_range(calls, 0, 1);
    setup_close(&s);
    assert_int_equal(captured_calls(path), calls);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(the_child_writes_nothing),
        cmocka_unit_test(the_parents_capture_is_the_parents),
        cmocka_unit_test(a_child_can_open_its_own_profile),
        cmocka_unit_test(generations),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
