/* SPDX-License-Identifier: MIT
 *
 * test_small_captures.c - space in the capture, and helper threads, are taken only when needed.
 */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "runtime/runtime.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/scratch.h"

static cairn_options options_of(const char *path)
{
    cairn_options options = path_options(path);
    options.wall = CAIRN_WALL_SAMPLED;
    options.spans = true;
    return options;
}

static uint64_t size_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (uint64_t)status.st_size;
}

static int threads(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (struct dirent *thread; (thread = readdir(folder));)
        count += *thread->d_name != '.';
    closedir(folder);
    return count;
}

static void an_open_profile_is_small(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* the sanitizer has a thread of its own */
#endif
    char path[SCRATCH_PATH];
    const cairn_options options = options_of(scratch_path(path, "small.cairn"));
    int before = threads();
    setup s = setup_open(&options, 2);
    cairn_enter(s.strand, 1);
    cairn_leave(s.strand);
    assert_true(size_of(path) <= 48 * 1024);
    assert_true(threads() <= before + 1);
    setup_close(&s);
    assert_true(size_of(path) <= 48 * 1024);
}

/* Space for spans is made with the first one, so that none is lost. */
static void spans_find_space(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    const cairn_options options = options_of(scratch_path(path, "spans.cairn"));
    setup s = setup_open(&options, 2);
    for (int i = 0; i < 1000; i++) {
        cairn_span_begin(s.strand, 1, CAIRN_ITERATION_NONE);
        cairn_span_end(s.strand);
    }
    crn_disk_lane *disk = s.lane->disk;
    assert_int_equal(disk->spans_dropped, 0);
    setup_close(&s);
}

/* The preparer starts with the first span, however long the sampling period is. On a busy machine
 * it can be late, and then spans are dropped; until it has started, all are that do not fit into
 * the first chunk. */
static void spans_find_space_with_a_long_period(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = options_of(scratch_path(path, "period.cairn"));
    options.sample_period_ns = 1000000000000;
    setup s = setup_open(&options, 2);
    crn_disk_lane *disk = s.lane->disk;
    uint64_t begun = 0;
    for (int batch = 0; batch < 30000 && begun - disk->spans_dropped < 30000; batch++) {
        for (int i = 0; i < 100; i++, begun++) {
            cairn_span_begin(s.strand, 1, CAIRN_ITERATION_NONE);
            cairn_span_end(s.strand);
        }
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    assert_in_range(begun - disk->spans_dropped, 30000, 30099);
    setup_close(&s);
}

/* Many lanes that are open at once, with a few contexts each. */
static void lanes_are_small(void **state)
{
    (void)state;
    enum { LANES = 200 };
    char path[SCRATCH_PATH];
    const cairn_options options = options_of(scratch_path(path, "lanes.cairn"));
    setup s = setup_open(&options, 2);
    cairn_lane *lanes[LANES];
    for (int i = 0; i < LANES; i++) {
        lanes[i] = cairn_lane_open(s.profile, "lane");
        cairn_strand *strand = cairn_strand_open(lanes[i]);
        cairn_enter(strand, 1);
        cairn_leave(strand);
    }
    assert_true(size_of(path) <= LANES * 20 * 1024);
    for (int i = 0; i < LANES; i++)
        cairn_lane_close(lanes[i]);
    setup_close(&s);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(an_open_profile_is_small),
        cmocka_unit_test(spans_find_space),
        cmocka_unit_test(spans_find_space_with_a_long_period),
        cmocka_unit_test(lanes_are_small),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
