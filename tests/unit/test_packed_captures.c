/* SPDX-License-Identifier: MIT
 *
 * test_packed_captures.c - the capture of a short process is packed when recording ends.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cairn/span.h>

#include "base/limits.h"
#include "base/memory.h"
#include "capture/reader.h"
#include "runtime/runtime.h"
#include "support/cases.h"
#include "support/compare.h"
#include "support/grown.h"
#include "support/host.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"
#include "support/soundness.h"

enum { SHORT_BLOCKS = 45 };

static setup setup_short(char path[SCRATCH_PATH], uint32_t paths)
{
    cairn_options options = path_options(scratch_path(path, "contexts.cairn"));
    options.wall = CAIRN_WALL_SAMPLED;
    options.spans = true;
    setup s = setup_open(&options, SHORT_BLOCKS);
    for (uint32_t i = 0; i < paths; i++) {
        cairn_enter(s.strand, 1 + i % SHORT_BLOCKS);
        cairn_enter(s.strand, 1 + i / SHORT_BLOCKS);
        cairn_leave(s.strand);
        cairn_leave(s.strand);
    }
    return s;
}

static void without_a_host_nothing_is_packed(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    setup s = setup_short(path, 110);
    assert_int_equal(s.profile->capture.packed_at, 0);
    uint64_t used = s.profile->capture.end;
    setup_close(&s);
    assert_int_equal(scratch_size(path), used);
    test_has_host = true;
}

/* A page for the header and the tables, one of counters, one of links. */
static void contexts_of_a_short_process_take_three_pages(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    setup s = setup_short(path, 110);
    assert_in_range(contexts_in(s.profile), 150, 158);
    setup_close(&s);
    assert_int_equal(scratch_size(path), 12 * 1024);
}

static void assert_same_calls(const crn_profile *before, const crn_profile *after)
{
    difference found;
    assert_int_equal(after->warning_count, 0);
    assert_int_equal(profile_total(after, CRN_METRIC_CALLS),
                     profile_total(before, CRN_METRIC_CALLS));
    if (!profile_has_grown(before, after, &found))
        fail_msg("%s", found.text);
}

/* The second page of links moves to the place of records. */
static void contexts_of_a_longer_process_take_four_pages(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    setup s = setup_short(path, 180);
    assert_in_range(contexts_in(s.profile), 200, 240);
    assert_true(scratch_size(path) > 24 * 1024);
    crn_profile *before = recorded_profile(path);
    setup_close(&s);
    assert_int_equal(scratch_size(path), 16 * 1024);
    crn_profile *after = recorded_profile(path);
    assert_same_calls(before, after);
    crn_profile_free(before);
    crn_profile_free(after);
}

/* More counters than fit into a page. */
static void more_contexts_are_not_packed(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    setup s = setup_short(path, 300);
    assert_in_range(contexts_in(s.profile), 257, 360);
    crn_profile *before = recorded_profile(path);
    setup_close(&s);
    crn_profile *after = recorded_profile(path);
    assert_same_calls(before, after);
    crn_profile_free(before);
    crn_profile_free(after);
}

static uint64_t calls_of(const crn_reader *reader, uint64_t used)
{
    crn_bytes bytes;
    crn_error error = {0};
    uint64_t left = UINT64_MAX, calls = 0;
    assert_true(crn_reader_records(reader, 0, used, &left, &bytes, &error));
    assert_true(bytes.whole);
    for (uint64_t r = 1; r < used; r++)
        calls += ((const cairn_priv_record *)(const void *)bytes.data)[r].calls;
    crn_free(bytes.data);
    return calls;
}

/* A reader that read the directories before the capture was packed finds links and records where
 * they are now. */
static void a_reader_looks_again_when_a_capture_is_packed(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    setup s = setup_short(path, 180);
    uint64_t used = s.lane->disk->used;
    crn_reader reader;
    crn_error error = {0};
    assert_true(crn_reader_open(&reader, path, &error));
    uint64_t calls = calls_of(&reader, used);
    crn_bytes before, after;
    uint64_t most = sizeof(crn_disk_lane) + used * sizeof(crn_link);
    assert_true(crn_reader_section(&reader, CRN_SECTION_LANE, 0, 0, most, &before, &error));
    setup_close(&s);
    assert_int_equal(calls_of(&reader, used), calls);
    assert_true(crn_reader_section(&reader, CRN_SECTION_LANE, 0, 0, most, &after, &error));
    assert_true(before.whole && after.whole);
    for (uint64_t r = 1; r < used; r++) {
        const crn_link *old = (const crn_link *)(const void *)(before.data + sizeof(crn_disk_lane));
        const crn_link *now = (const crn_link *)(const void *)(after.data + sizeof(crn_disk_lane));
        assert_int_equal(old[r].from, now[r].from);
        assert_int_equal(old[r].block, now[r].block);
    }
    crn_free(before.data);
    crn_free(after.data);
    crn_reader_close(&reader);
}

/* A child of fork may still read the records of its parent's capture. */
static void a_capture_with_children_is_not_packed(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    setup s = setup_short(path, 110);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    uint64_t used = s.profile->capture.end;
    setup_close(&s);
    assert_int_equal(scratch_size(path), used);
}

/* Also while other threads run: they do not use the space behind the last chunk, and when they need
 * it, the file grows again. With tiny limits a file has no such space. */
static void a_file_ends_with_its_last_chunk(void **state)
{
    (void)state;
    enum { BLOCKS = SHORT_BLOCKS };
    char path[SCRATCH_PATH];
    setup s = setup_short(path, 90); /* a second page of records, and space behind it */
    assert_true(s.profile->capture.allocated > s.profile->capture.end);
    crn_capture_shorten(&s.profile->capture, UINT64_MAX);
    assert_int_equal(scratch_size(path), s.profile->capture.end);
    for (uint32_t i = 0; i < BLOCKS * BLOCKS; i++) {
        cairn_enter(s.strand, 1 + i % BLOCKS);
        cairn_enter(s.strand, 1 + i / BLOCKS);
        cairn_leave(s.strand);
        cairn_leave(s.strand);
    }
    assert_true(contexts_in(s.profile) > BLOCKS * BLOCKS / 2);
    setup_close(&s);
    crn_profile_free(recorded_profile(path));
}

/* Even a write within the file raises SIGXFSZ, which would end the process. */
static void a_limit_on_files_leaves_the_capture_as_it_is(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    struct rlimit before, none;
    setup s = setup_short(path, 110);
    uint64_t used = s.profile->capture.end;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    setup_close(&s);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(scratch_size(path), used);
    crn_profile_free(recorded_profile(path));
}

/* Links and records come behind the space that the first span takes. */
static void space_for_spans_is_given_back(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    setup s = setup_short(path, 20);
    cairn_span_begin(s.strand, 1, 0);
    cairn_span_end(s.strand);
    for (cairn_block block = 1; block <= SHORT_BLOCKS; block++) {
        cairn_enter(s.strand, 1);
        cairn_enter(s.strand, block);
        cairn_leave(s.strand);
        cairn_leave(s.strand);
    }
    uint64_t used = s.profile->capture.end;
    setup_close(&s);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_true((uint64_t)status.st_blocks * 512 < used / 2);
    crn_trace *trace = recorded_trace(path);
    assert_int_equal(trace->span_count, 1);
    crn_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(without_a_host_nothing_is_packed), /* the first: a handler stays */
        cmocka_unit_test(more_contexts_are_not_packed),
        cmocka_unit_test(a_capture_with_children_is_not_packed),
        cmocka_unit_test(a_limit_on_files_leaves_the_capture_as_it_is),
        cmocka_unit_test(space_for_spans_is_given_back),
        cmocka_unit_test(a_file_ends_with_its_last_chunk),
        cmocka_unit_test(contexts_of_a_short_process_take_three_pages),
        cmocka_unit_test(contexts_of_a_longer_process_take_four_pages),
        cmocka_unit_test(a_reader_looks_again_when_a_capture_is_packed),
    };
    size_t left_out =
        CRN_FIRST(0, 4); /* with tiny limits files and tables of contexts are smaller */
    return _cmocka_run_group_tests("cases", cases, COUNT(cases) - left_out, NULL, NULL);
}
