/* SPDX-License-Identifier: MIT
 *
 * test_manners.c - side effects on the program: every function accepts NULL, preserves errno,
 * prints nothing, leaks no descriptor.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/profile.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/recorded.h"
#include "support/scratch.h"

static bool visit_context(void *data, const cairn_block *sequence, size_t length,
                          const cairn_cost *cost)
{
    (void)sequence;
    (void)length;
    (void)cost;
    ++*(int *)data;
    return true;
}

static bool visit_edge(void *data, const cairn_block *sequence, size_t length, cairn_block block,
                       size_t target_length, uint64_t calls)
{
    (void)sequence;
    (void)length;
    (void)block;
    (void)target_length;
    (void)calls;
    ++*(int *)data;
    return true;
}

static void null_does_nothing(void **state)
{
    (void)state;
    const cairn_block one = 1;
    const cairn_block_info info = {.name = "x"};
    cairn_view *view = (cairn_view *)&view;
    cairn_cost cost;
    int visits = 0;
    errno = 4242;
    cairn_profile_close(NULL);
    cairn_profile_enable(NULL);
    cairn_profile_disable(NULL);
    cairn_profile_status(NULL);
    assert_int_equal(cairn_profile_note(NULL, "a", "b"), CAIRN_E_ARGUMENT);
    cairn_metric_add(NULL, "a", "b");
    assert_int_equal(cairn_block_add(NULL, &info), CAIRN_BLOCK_ROOT);
    assert_null(cairn_lane_open(NULL, "lane"));
    cairn_lane_close(NULL);
    assert_null(cairn_strand_open(NULL));
    cairn_strand_close(NULL);
    cairn_strand_switch(NULL);
    assert_int_equal(cairn_strand_depth(NULL), 0);
    assert_int_equal(cairn_strand_mark(NULL), 0);
    cairn_strand_unwind(NULL, 7);
    cairn_charge(NULL, CAIRN_METRIC_TICKS, 1);
    cairn_sample(NULL, &one, 1, CAIRN_METRIC_TICKS, 1);
    cairn_enter(NULL, 1);
    cairn_replace(NULL, 1);
    cairn_leave(NULL);
    cairn_tick(NULL, 1);
    assert_int_equal(cairn_view_open(&view, NULL), CAIRN_E_ARGUMENT);
    assert_null(view);
    cairn_view_close(NULL);
    assert_null(cairn_view_block(NULL, 1));
    cairn_view_contexts(NULL, visit_context, &visits);
    cairn_view_edges(NULL, visit_edge, &visits);
    assert_false(cairn_view_find(NULL, &one, 1, &cost));
    assert_int_equal(cairn_view_calls(NULL, &one, 1), 0);
    assert_int_equal(visits, 0);
    assert_int_equal(errno, 4242);
}

/* Runs `call` and fails if errno was touched. */
#define KEEPS_ERRNO(call)                                                                          \
    do {                                                                                           \
        errno = 4242;                                                                              \
        call;                                                                                      \
        assert_int_equal(errno, 4242);                                                             \
    } while (0)

static void use_everything(const cairn_options *options)
{
    cairn_profile *profile = NULL;
    cairn_lane *lane, *second;
    cairn_strand *strand, *other;
    cairn_metric metric;
    cairn_view *view;
    cairn_cost cost;
    const cairn_block path[] = {1, 2, 3};
    int visits = 0;
    KEEPS_ERRNO(cairn_profile_open(&profile, options));
    for (int i = 0; i < 3000; i++)
        KEEPS_ERRNO(cairn_block_add(profile, &(cairn_block_info){.name = "b", .line = 1}));
    KEEPS_ERRNO(metric = cairn_metric_add(profile, "bytes", "byte"));
    KEEPS_ERRNO(cairn_profile_note(profile, "key", "value"));
    KEEPS_ERRNO(lane = cairn_lane_open(profile, "main"));
    KEEPS_ERRNO(second = cairn_lane_open(profile, "second"));
    KEEPS_ERRNO(strand = cairn_strand_open(lane));
    KEEPS_ERRNO(other = cairn_strand_open(lane));
    random_source random = {1};
    for (int i = 0; i < 8000; i++) {
        KEEPS_ERRNO(cairn_enter(strand, 1 + random_below(&random, 3000)));
        KEEPS_ERRNO(cairn_tick(strand, 3));
        if (random_chance(&random, 1, 3))
            KEEPS_ERRNO(cairn_replace(strand, 1 + random_below(&random, 3000)));
        if (random_chance(&random, 1, 2))
            KEEPS_ERRNO(cairn_leave(strand));
        if (random_chance(&random, 1, 100)) {
            KEEPS_ERRNO(cairn_charge(strand, metric, 5));
            KEEPS_ERRNO(cairn_sample(strand, path, 3, CAIRN_METRIC_TICKS, 1));
            KEEPS_ERRNO(cairn_strand_switch(other));
            KEEPS_ERRNO(cairn_strand_switch(strand));
        }
    }
    KEEPS_ERRNO(cairn_strand_unwind(strand, cairn_strand_mark(strand) / 2));
    KEEPS_ERRNO(cairn_strand_unwind(strand, SIZE_MAX));
    KEEPS_ERRNO(cairn_strand_unwind(strand, 0));
    KEEPS_ERRNO(cairn_leave(strand));
    KEEPS_ERRNO(cairn_profile_disable(profile));
    KEEPS_ERRNO(cairn_enter(strand, 1));
    KEEPS_ERRNO(cairn_profile_enable(profile));
    KEEPS_ERRNO(cairn_view_open(&view, profile));
    KEEPS_ERRNO(cairn_view_block(view, 1));
    KEEPS_ERRNO(cairn_view_contexts(view, visit_context, &visits));
    KEEPS_ERRNO(cairn_view_edges(view, visit_edge, &visits));
    KEEPS_ERRNO(cairn_view_find(view, path, 3, &cost));
    KEEPS_ERRNO(cairn_view_calls(view, path, 3));
    KEEPS_ERRNO(cairn_view_close(view));
    KEEPS_ERRNO(cairn_strand_close(other));
    KEEPS_ERRNO(cairn_lane_close(second));
    KEEPS_ERRNO(cairn_lane_close(lane));
    KEEPS_ERRNO(cairn_profile_status(profile));
    KEEPS_ERRNO(cairn_error_text(CAIRN_E_SPACE));
    KEEPS_ERRNO(cairn_profile_close(profile));
}

/* All ways to run, good and bad: `name` is used for the capture where one works. */
static void use_everything_in_every_way(const char *path)
{
    static const cairn_wall walls[] = {CAIRN_WALL_OFF, CAIRN_WALL_SAMPLED, CAIRN_WALL_EXACT};
    for (size_t i = 0; i < COUNT(walls); i++) {
        cairn_options options = CAIRN_OPTIONS_DEFAULT;
        options.wall = walls[i];
        options.tick_period = i == 1 ? 100 : 1;
        use_everything(&options);
        options.path = path;
        options.command = "test";
        options.labels = "key=value\nother=one";
        use_everything(&options);
        options.file_limit = 300000;
        use_everything(&options);
    }
    cairn_options options = path_options("/nowhere/at/all.cairn");
    use_everything(&options);
    options.path = "/";
    use_everything(&options);
}

static void errno_is_left_alone(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    use_everything_in_every_way(scratch_path(path, "errno.cairn"));
}

static void nothing_is_printed(void **state)
{
    (void)state;
    char printed[SCRATCH_PATH], path[SCRATCH_PATH];
    scratch_path(printed, "printed");
    scratch_path(path, "silent.cairn");
    fflush(NULL);
    int out = dup(1), err = dup(2);
    int file = open(printed, O_CREAT | O_RDWR | O_TRUNC, 0600);
    dup2(file, 1);
    dup2(file, 2);
    use_everything_in_every_way(path);
    fflush(NULL);
    dup2(out, 1);
    dup2(err, 2);
    off_t size = lseek(file, 0, SEEK_END);
    close(out);
    close(err);
    close(file);
    assert_int_equal(size, 0);
}

static int count_entries(const char *path)
{
    int count = 0;
    DIR *listing = opendir(path);
    if (!listing)
        return -1;
    while (readdir(listing))
        count++;
    closedir(listing);
    return count;
}

static void nothing_is_left_open(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    scratch_path(path, "open.cairn");
    use_everything_in_every_way(path);
    int files = count_entries("/proc/self/fd"), threads = count_entries("/proc/self/task");
    assert_true(files > 0 && threads > 0);
    use_everything_in_every_way(path);
    assert_int_equal(count_entries("/proc/self/fd"), files);
    assert_int_equal(count_entries("/proc/self/task"), threads);
}

/* Descriptors do not leak into programs that the profiled one starts. */
static void descriptors_close_on_exec(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "exec.cairn"));
    bool before[1024];
    for (int file = 0; file < 1024; file++)
        before[file] = fcntl(file, F_GETFD) >= 0;
    setup s = setup_open(&options, 3);
    for (int file = 0; file < 1024; file++) {
        if (!before[file] && fcntl(file, F_GETFD) >= 0)
            assert_true(fcntl(file, F_GETFD) & FD_CLOEXEC);
    }
    setup_close(&s);
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    cairn_profile *profile = (cairn_profile *)&options;
    assert_int_equal(cairn_profile_open(NULL, &options), CAIRN_E_ARGUMENT);
    options.path = "/nowhere/at/all.cairn";
    assert_int_equal(cairn_profile_open(&profile, &options), CAIRN_E_OPEN);
    assert_null(profile);
    setup s = setup_open(NULL, 3);
    assert_int_equal(cairn_view_open(NULL, s.profile), CAIRN_E_ARGUMENT);
    cairn_enter(s.strand, 77); /* a block that was not added */
    cairn_enter(s.strand, CAIRN_BLOCK_FOLDED);
    cairn_enter(s.strand, CAIRN_BLOCK_ROOT);
    cairn_charge(s.strand, CAIRN_METRIC_MAX, 1);
    cairn_charge(s.strand, CAIRN_METRIC_USER + 3, 1); /* not defined */
    cairn_charge(s.strand, 12345, 1);
    assert_int_equal(cairn_strand_depth(s.strand), 3);
    assert_int_equal(total_of(s.profile).calls, 4);
    setup_close(&s);
}

static void metrics_have_an_end(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 1);
    char name[16];
    for (cairn_metric metric = CAIRN_METRIC_USER; metric < CAIRN_METRIC_MAX; metric++) {
        snprintf(name, sizeof name, "m%u", metric);
        assert_int_equal(cairn_metric_add(s.profile, name, "u"), metric);
    }
    assert_int_equal(cairn_metric_add(s.profile, "m", "u"), CAIRN_METRIC_MAX);
    cairn_charge(s.strand, CAIRN_METRIC_MAX - 1, 3);
    setup_close(&s);
}

enum { OPENERS = 8, OPENER_CALLS = 1000 };

static pthread_barrier_t all_there;

/* Returns the error of opening the profile. */
static void *open_and_record(void *path)
{
    cairn_options options = path_options(path);
    cairn_profile *profile;
    pthread_barrier_wait(&all_there);
    cairn_error error = cairn_profile_open(&profile, &options);
    cairn_block block = cairn_block_add(profile, &(cairn_block_info){.name = "x"});
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "opener"));
    for (int i = 0; i < OPENER_CALLS; i++) {
        cairn_enter(strand, block);
        cairn_leave(strand);
    }
    pthread_barrier_wait(&all_there); /* all of them record at once */
    cairn_profile_close(profile);
    return (void *)(uintptr_t)error;
}

/* Several profiles open one path at once: the file is one complete capture. */
static void several_profiles_open_one_path(void **state)
{
    char path[SCRATCH_PATH];
    (void)state;
    scratch_path(path, "several.cairn");
    pthread_barrier_init(&all_there, NULL, OPENERS);
    for (uint64_t round = 0; round < scale(40); round++) {
        pthread_t threads[OPENERS];
        int opened = 0;
        for (int i = 0; i < OPENERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, open_and_record, path), 0);
        for (int i = 0; i < OPENERS; i++) {
            void *error;
            pthread_join(threads[i], &error);
            assert_true((uintptr_t)error == CAIRN_OK || (uintptr_t)error == CAIRN_E_OPEN);
            opened += (uintptr_t)error == CAIRN_OK;
        }
        assert_true(opened > 0);
        crn_profile *profile = recorded_profile(path);
        uint64_t calls = 0;
        for (uint32_t c = 0; c < profile->context_count; c++)
            calls += profile->values[CAIRN_METRIC_CALLS][c];
        assert_int_equal(calls, OPENER_CALLS + 1);
        crn_profile_free(profile);
    }
    pthread_barrier_destroy(&all_there);
}

/* A signal that the program blocks stays pending while Cairn's threads begin and end. It would end
 * the process. */
static void blocked_signals_stay_blocked(void **state)
{
    sigset_t set;
    struct timespec none = {0, 0};
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    char path[SCRATCH_PATH];
    (void)state;
    scratch_path(path, "blocked.cairn");
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    for (int off_core = 0; off_core < 2; off_core++) {
        cairn_profile *profile;
        options.path = path;
        options.wall = CAIRN_WALL_SAMPLED;
        options.cpu = CAIRN_CPU_SAMPLED;
        options.off_core = off_core;
        assert_int_equal(cairn_profile_open(&profile, &options), CAIRN_OK);
        assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
        assert_int_equal(kill(getpid(), SIGUSR1), 0);
        cairn_profile_close(profile);
        assert_int_equal(sigtimedwait(&set, NULL, &none), SIGUSR1);
        assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(null_does_nothing),
        cmocka_unit_test(errno_is_left_alone),
        cmocka_unit_test(nothing_is_printed),
        cmocka_unit_test(nothing_is_left_open),
        cmocka_unit_test(descriptors_close_on_exec),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(metrics_have_an_end),
        cmocka_unit_test(several_profiles_open_one_path),
        cmocka_unit_test(blocked_signals_stay_blocked),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
