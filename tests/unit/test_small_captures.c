/* SPDX-License-Identifier: MIT
 *
 * test_small_captures.c - space in the capture, and helper threads, are taken only when needed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/memory.h"
#include "capture/reader.h"
#include "runtime/runtime.h"
#include "support/cases.h"
#include "support/compare.h"
#include "support/grown.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"
#include "support/soundness.h"

static cairn_options options_of(const char *path)
{
    cairn_options options = path_options(path);
    options.wall = CAIRN_WALL_SAMPLED;
    options.spans = true;
    return options;
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
    const uint64_t most = CRN_FIRST(16, 48) * 1024;
    int before = threads();
    setup s = setup_open(&options, 2);
    cairn_enter(s.strand, 1);
    cairn_leave(s.strand);
    assert_true(scratch_size(path) <= most);
    assert_true(threads() <= before + 1);
    setup_close(&s);
    assert_true(scratch_size(path) <= most);
}

/* ---- tables in the first page ---- */

enum { MANY = 1000, ENTERED = 900 };

static void check_blocks(const char *path)
{
    crn_profile *profile = recorded_profile(path);
    assert_int_equal(profile->warning_count, 0);
    bool found = false;
    for (uint32_t i = 0; i < profile->block_count; i++)
        found |= strcmp(profile->blocks[i].name, "b900") == 0;
    assert_true(found);
    crn_profile_free(profile);
}

/* Reads or writes the entry of the first directory. */
static void transfer_entry(int file, uint32_t i, crn_disk_chunk *chunk, bool writes)
{
    crn_disk_header header;
    assert_int_equal(pread(file, &header, sizeof header, 0), sizeof header);
    off_t at = (off_t)(header.directory + sizeof(crn_disk_directory) + i * sizeof *chunk);
    ssize_t done =
        writes ? pwrite(file, chunk, sizeof *chunk, at) : pread(file, chunk, sizeof *chunk, at);
    assert_int_equal(done, sizeof *chunk);
}

/* Blocks that do not fit into the first page, read while they are recorded and later. */
static void tables_leave_the_first_page(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    const cairn_options options = options_of(scratch_path(path, "tables.cairn"));
    setup s = setup_open(&options, MANY);
    cairn_enter(s.strand, ENTERED);
    check_blocks(path);
    setup_close(&s);
    check_blocks(path);
}

/* A writer that is killed while a table leaves the first page leaves two chunks in its place. */
static void a_chunk_replaces_a_smaller_one(void **state)
{
    (void)state;
    enum { FEW = 4 };
    char path[SCRATCH_PATH];
    const cairn_options options = options_of(scratch_path(path, "killed.cairn"));
    setup s = setup_open(&options, 1);
    crn_disk_chunk before[FEW], now;
    int file = open(path, O_RDWR | O_CLOEXEC);
    for (uint32_t i = 0; i < FEW; i++)
        transfer_entry(file, i, &before[i], false);
    setup_blocks(s.profile, 2, MANY);
    cairn_enter(s.strand, ENTERED);
    setup_close(&s);
    int again = 0;
    for (uint32_t i = 0; i < FEW; i++) {
        transfer_entry(file, i, &now, false);
        if (before[i].kind && !now.kind) {
            transfer_entry(file, i, &before[i], true);
            again++;
        }
    }
    close(file);
    assert_true(again > 0);
    check_blocks(path);
}

/* Blocks of two files, whose long names are not stored again with each block. */
static void names_of_files_are_stored_once(void **state)
{
    (void)state;
    enum { PAIRS = 100 };
    char path[SCRATCH_PATH], name[16];
    const cairn_options options = options_of(scratch_path(path, "files.cairn"));
    setup s = setup_open(&options, 1);
    uint64_t before = s.profile->capture.header->used[CRN_SECTION_STRINGS];
    for (int i = 0; i < PAIRS; i++) {
        cairn_block_info info = {.name = name, .file = "a/long/name/of/a/folder/left.c"};
        snprintf(name, sizeof name, "f%d", i);
        assert_int_not_equal(cairn_block_add(s.profile, &info), CAIRN_BLOCK_ROOT);
        info.file = "a/long/name/of/a/folder/right.c";
        assert_int_not_equal(cairn_block_add(s.profile, &info), CAIRN_BLOCK_ROOT);
    }
    uint64_t used = s.profile->capture.header->used[CRN_SECTION_STRINGS] - before;
    setup_close(&s);
    assert_in_range(used, 1, PAIRS * 2 * sizeof "f99" + 200);
    crn_profile *profile = recorded_profile(path);
    for (uint32_t i = 2; i < profile->block_count; i++)
        assert_string_equal(profile->blocks[i].file, i % 2 ? "a/long/name/of/a/folder/right.c"
                                                           : "a/long/name/of/a/folder/left.c");
    crn_profile_free(profile);
}

/* ---- helpers ---- */

static void *wait_for_the_end(void *data)
{
    while (crn_helper_wait(data, crn_clock_monotonic() + 100000000)) {
    }
    return NULL;
}

/* A helper gets its name without a file of /proc: the kernel would delay the end of the process. */
static void helpers_are_named_without_a_file(void **state)
{
    (void)state;
    struct rlimit before, none;
    crn_helper helper = {0};
    char name[16];
    getrlimit(RLIMIT_NOFILE, &before);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    bool started = crn_helper_start(&helper, "cairn-test", wait_for_the_end, &helper);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_true(started);
    assert_int_equal(pthread_getname_np(helper.thread, name, sizeof name), 0);
    crn_helper_stop(&helper);
    assert_string_equal(name, "cairn-test");
    assert_int_equal(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    assert_string_not_equal(name, "cairn-test");
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
    assert_true(scratch_size(path) <= LANES * 20 * 1024);
    for (int i = 0; i < LANES; i++)
        cairn_lane_close(lanes[i]);
    setup_close(&s);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(an_open_profile_is_small),
        cmocka_unit_test(tables_leave_the_first_page),
        cmocka_unit_test(a_chunk_replaces_a_smaller_one),
        cmocka_unit_test(names_of_files_are_stored_once),
        cmocka_unit_test(helpers_are_named_without_a_file),
        cmocka_unit_test(spans_find_space),
        cmocka_unit_test(spans_find_space_with_a_long_period),
        cmocka_unit_test(lanes_are_small),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
