/* SPDX-License-Identifier: MIT
 *
 * test_kill.c - a profiled process is killed at any moment: its capture holds all events until
 * then.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cases.h"
#include "support/children.h"
#include "support/compare.h"
#include "support/profiles.h"
#include "support/scratch.h"
#include "support/shared_memory.h"
#include "support/soundness.h"
#include "support/walker.h"

enum { BLOCKS = 60 };

static void record(const cairn_options *options, shared_page *page, uint64_t seed)
{
    cairn_profile *profile;
    walker walk = walker_in_child(options, BLOCKS, seed, &profile);
    page->ready = 1;
    for (uint64_t done = 1;; done++) {
        walker_step(&walk);
        atomic_store_explicit(&page->done, done, memory_order_release);
        if (done % 5000 == 0)
            cairn_block_add(profile, &(cairn_block_info){.name = "more", .file = "f", .line = 1});
    }
}

static void walk_reference(reference_graph *graph, uint32_t path_limit, uint64_t seed,
                           uint64_t steps)
{
    reference_strand strand;
    reference_graph_start(graph, path_limit, UINT32_MAX);
    reference_strand_start(&strand, graph, true);
    walker walk = {.reference = &strand, .random = {seed}, .blocks = BLOCKS};
    walker_walk(&walk, steps);
    reference_strand_end(&strand);
}

/* The capture holds all finished steps, and at most the one that was under way. */
static void assert_holds(const char *path, uint32_t path_limit, uint64_t seed, uint64_t steps)
{
    reference_graph least, most;
    difference found;
    walk_reference(&least, path_limit, seed, steps);
    walk_reference(&most, path_limit, seed, steps + 1);
    if (!compare_capture_between(path, &least, &most, &found))
        fail_msg("after %llu steps: %s", (unsigned long long)steps, found.text);
    reference_graph_end(&least);
    reference_graph_end(&most);
}

static void kill_at_random(int how, cairn_wall wall, uint64_t times)
{
    random_source random = {(uint64_t)how + 1};
    for (uint64_t round = 0; round < times; round++) {
        char path[SCRATCH_PATH];
        cairn_options options = path_options(scratch_path(path, "killed.cairn"));
        options.path_limit = 10;
        options.wall = wall;
        options.sample_period_ns = 20000;
        shared_page *page = shared_page_open();
        pid_t child = fork();
        if (child == 0)
            record(&options, page, round);
        while (!page->ready)
            child_pause(child);
        usleep(random_below(&random, 1u << random_below(&random, 18)));
        kill(child, how);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), how);
        assert_holds(path, options.path_limit, round, page->done);
        shared_page_close(page);
        unlink(path);
    }
}

static uint64_t rounds(void)
{
    return scale_is_long() ? 100 : scale(10);
}

static void no_core(void)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
}

static void killed(void **state)
{
    (void)state;
    kill_at_random(SIGKILL, CAIRN_WALL_OFF, rounds());
}

static void killed_with_sampled_time(void **state)
{
    (void)state;
    kill_at_random(SIGKILL, CAIRN_WALL_SAMPLED, rounds());
}

static void killed_with_exact_time(void **state)
{
    (void)state;
    kill_at_random(SIGKILL, CAIRN_WALL_EXACT, rounds());
}

static void aborted(void **state)
{
    (void)state;
    no_core();
    kill_at_random(SIGABRT, CAIRN_WALL_OFF, 3);
}

/* Opens and closes a profile, traced by the parent. */
static void record_shortly(const cairn_options *options)
{
    enum { CANNOT = 77 };
    cairn_profile *profile;
    alarm(300);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(CANNOT);
    raise(SIGSTOP);
    if (cairn_profile_open(&profile, options))
        _exit(1);
    cairn_lane_close(cairn_lane_open(profile, "main"));
    cairn_profile_close(profile);
    _exit(0);
}

/* Runs the child until its n-th stop, before or after a system call, and kills it there. Returns
 * false if the child ended before. */
static bool kill_at(pid_t child, int stop)
{
    int status;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return false;
    for (int i = 0; i < stop; i++) {
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            return false;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return true;
}

static void assert_whole_or_not_there(const char *path, bool *there)
{
    crn_error error = {0};
    *there = access(path, F_OK) == 0;
    crn_profile *profile = *there ? crn_profile_load(path, &error) : NULL;
    if (*there && !profile)
        fail_msg("%s", error.message);
    crn_profile_free(profile);
    unlink(path);
}

static void killed_at_each_system_call(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "young.cairn"));
    int stops = 0, with_capture = 0;
    for (bool killed = true; killed; stops++) {
        bool there;
        pid_t child = fork();
        if (child == 0)
            record_shortly(&options);
        killed = kill_at(child, stops);
        if (!killed && stops == 0)
            skip(); /* the system does not allow ptrace */
        assert_whole_or_not_there(path, &there);
        with_capture += there;
    }
    assert_true(with_capture > 0 && with_capture < stops);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(killed),
        cmocka_unit_test(killed_with_sampled_time),
        cmocka_unit_test(killed_with_exact_time),
        cmocka_unit_test(aborted),
        cmocka_unit_test(killed_at_each_system_call),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
