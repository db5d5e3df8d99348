/* SPDX-License-Identifier: MIT
 *
 * test_disk_full.c - the disk fills up, or file sizes are limited: the program goes on, and
 * everything recorded before can be read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/span.h>

#include "base/limits.h"
#include "support/cases.h"
#include "support/compare.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"
#include "support/shared_memory.h"
#include "support/soundness.h"
#include "support/walker.h"

enum { BLOCKS = 200, STEPS = 400000 };

/* Records more contexts than there is space for. Exits with the reason that the profile gives. */
static void record(const char *path, shared_page *page)
{
    cairn_options options = path_options(path);
    cairn_profile *profile;
    alarm(120);
    cairn_error error = cairn_profile_open(&profile, &options);
    if (!error) {
        for (cairn_block block = 1; block <= BLOCKS; block++)
            cairn_block_add(profile, &(cairn_block_info){.name = "b"});
        cairn_lane *lane = cairn_lane_open(profile, "main");
        walker walk = {.strand = cairn_strand_open(lane), .random = {1}, .blocks = BLOCKS};
        walker_walk(&walk, STEPS);
        for (int i = 0; i < 20000; i++)
            cairn_block_add(profile, &(cairn_block_info){.name = "a name that takes room"});
        cairn_profile_note(profile, "note", "when there is no room");
        cairn_lane_close(cairn_lane_open(profile, "late"));
        walker_walk(&walk, STEPS);
        page->done = walk.strand ? walk.calls + 1 : 0;
        cairn_view *view;
        if (!cairn_view_open(&view, profile)) {
            page->ready = 1;
            page->allowed = view_total(view).calls;
            cairn_view_close(view);
        }
        error = cairn_profile_status(profile);
        cairn_profile_close(profile);
    }
    _exit((int)error);
}

/* Runs the recorder with files limited to `most` bytes; 0: no limit. */
static int run(const char *path, rlim_t most, shared_page *page)
{
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {most, most};
        if (most)
            setrlimit(RLIMIT_FSIZE, &limit);
        record(path, page);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        fail_msg("the program was killed by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static void assert_readable(const char *path, const shared_page *page)
{
    crn_profile *profile = recorded_profile(path);
    assert_true(profile->warning_count > 0); /* the loss is reported */
    uint64_t calls = profile_total(profile, CRN_METRIC_CALLS);
    if (page->ready)
        assert_int_equal(calls, page->allowed);
    assert_true(calls <= page->done);
    crn_profile_free(profile);
}

static void try_room(const char *path, rlim_t most)
{
    shared_page *page = shared_page_open();
    int error = run(path, most, page);
    assert_int_equal(error, CAIRN_E_SPACE);
    if (page->done)
        assert_readable(path, page);
    unlink(path);
    shared_page_close(page);
}

static void files_may_not_grow(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    scratch_path(path, "limited.cairn");
    static const rlim_t limits[] = {1, 4096, 5000, 65536, 300000, 1 << 20, 5 << 20};
    for (size_t i = 0; i < COUNT(limits); i++)
        try_room(path, limits[i]);
}

/* Records more spans than fit into a file of `most` bytes, or into `limit`. */
static void drop_spans(const char *path, rlim_t most, uint64_t limit)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    const struct rlimit files = {most, most};
    cairn_profile *profile;
    options.path = path;
    options.spans = true;
    options.file_limit = limit ? limit : options.file_limit;
    alarm(120);
    if (most)
        setrlimit(RLIMIT_FSIZE, &files);
    if (cairn_profile_open(&profile, &options))
        _exit(1);
    cairn_block block = cairn_block_add(profile, &(cairn_block_info){.name = "dropped"});
    cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "main"));
    for (int i = 0; i < 100; i++) {
        cairn_span_begin(strand, block, i);
        cairn_span_end(strand);
    }
    cairn_profile_close(profile);
    _exit(0);
}

static void assert_refused_by(const char *by, rlim_t most, uint64_t limit)
{
    char path[SCRATCH_PATH];
    crn_error error = {0};
    int status;
    scratch_path(path, "refused.cairn");
    pid_t child = fork();
    if (child == 0)
        drop_spans(path, most, limit);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    crn_profile *profile = crn_profile_load(path, &error);
    if (!profile)
        fail_msg("%s", error.message);
    assert_string_equal(crn_profile_note(profile, "spans_limited", ""), "100");
    assert_string_equal(crn_profile_note(profile, "out_of_space", ""), by);
    crn_profile_free(profile);
    unlink(path);
}

static void it_is_said_who_had_no_space(void **state)
{
    (void)state;
    enum { TOO_FEW = 100000 }; /* bytes: less than a chunk of spans */
    assert_refused_by("disk", TOO_FEW, 0);
    assert_refused_by("file_limit", 0, TOO_FEW);
}

/* Mounts a file system of about a megabyte. Needs the right to mount. */
static bool mount_disk(const char *folder, const char *size)
{
    char options[32];
    snprintf(options, sizeof(options), "size=%s", size);
    return mount("none", folder, "tmpfs", 0, options) == 0;
}

static void the_disk_is_full(void **state)
{
    char path[SCRATCH_PATH + 32];
    static const char *const sizes[] = {"4k", "8k", "64k", "260k", "1m", "3m"};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        assert_true(mount_disk(*state, sizes[i]));
        snprintf(path, sizeof(path), "%s/full.cairn", (char *)*state);
        try_room(path, 0);
        assert_int_equal(umount(*state), 0);
    }
}

int main(void)
{
    char folder[SCRATCH_PATH];
    bool allowed = mkdir(scratch_path(folder, "disk"), 0700) == 0 && mount_disk(folder, "4k") &&
                   umount(folder) == 0;
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(files_may_not_grow),
        cmocka_unit_test_prestate(the_disk_is_full, folder),
        cmocka_unit_test(it_is_said_who_had_no_space),
    };
    const struct CMUnitTest without_mounting[] = {
        cmocka_unit_test(files_may_not_grow),
        cmocka_unit_test(it_is_said_who_had_no_space),
    };
    size_t left_out = CRN_FIRST(0, 1); /* with tiny limits there is space for spans */
    if (!allowed)
        fprintf(stderr, "the_disk_is_full is left out: not allowed to mount a small disk\n");
    int failed = _cmocka_run_group_tests(
        "cases", allowed ? cases : without_mounting,
        (allowed ? COUNT(cases) : COUNT(without_mounting)) - left_out, NULL, NULL);
    rmdir(folder);
    return failed;
}
