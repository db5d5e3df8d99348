/* SPDX-License-Identifier: MIT
 *
 * test_live_reader.c - another process reads a live capture: no counter decreases, and while the
 * program pauses the figures are exact.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cases.h"
#include "support/compare.h"
#include "support/grown.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"
#include "support/shared_memory.h"
#include "support/soundness.h"
#include "support/walker.h"

enum { BLOCKS = 40, SEED = 21, AT_ONCE = 200 };

static void wait_for(const _Atomic uint64_t *value, uint64_t least)
{
    while (*value < least)
        usleep(50);
}

/* Records up to as many steps as the parent allows, with new blocks all the time. */
static void record(const cairn_options *options, shared_page *page, uint64_t steps)
{
    cairn_profile *profile;
    walker walk = walker_in_child(options, BLOCKS, SEED, &profile);
    page->ready = 1;
    for (uint64_t done = 0; done < steps; done += AT_ONCE) {
        wait_for(&page->allowed, done + AT_ONCE);
        walker_walk(&walk, AT_ONCE);
        cairn_block_add(profile, &(cairn_block_info){.name = "more", .file = "f", .line = 1});
        page->done = done + AT_ONCE;
    }
    wait_for(&page->allowed, UINT64_MAX);
    cairn_profile_close(profile);
    _exit(0);
}

static void assert_grown(const crn_profile *before, const crn_profile *after)
{
    difference found;
    if (!profile_has_grown(before, after, &found))
        fail_msg("%s", found.text);
}

static void watch(cairn_wall wall)
{
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "live.cairn"));
    options.path_limit = 12;
    options.wall = wall;
    options.sample_period_ns = 50000;
    uint64_t steps = scale(200000) / AT_ONCE * AT_ONCE + AT_ONCE;
    shared_page *page = shared_page_open();
    pid_t child = fork();
    if (child == 0)
        record(&options, page, steps);
    wait_for(&page->ready, 1);
    reference_graph graph;
    reference_strand strand;
    reference_graph_start(&graph, options.path_limit, UINT32_MAX);
    reference_strand_start(&strand, &graph, true);
    walker walk = {.reference = &strand, .random = {SEED}, .blocks = BLOCKS};
    crn_profile *last = recorded_profile(path);
    for (uint64_t paused = 0; paused < steps;) {
        uint64_t next = paused + (steps / 10 / AT_ONCE + 1) * AT_ONCE;
        next = next < steps ? next : steps;
        page->allowed = next;
        for (bool running = true; running;) {
            running = page->done < next;
            crn_profile *now = recorded_profile(path);
            assert_grown(last, now);
            crn_profile_free(last);
            last = now;
        }
        walker_walk(&walk, next - paused);
        difference found;
        if (wall == CAIRN_WALL_OFF && !compare_capture(path, &graph, &found))
            fail_msg("%s", found.text);
        assert_int_equal(profile_total(last, CRN_METRIC_CALLS), walk.calls + 1);
        assert_int_equal(profile_total(last, CRN_METRIC_TICKS), walk.ticks);
        paused = next;
    }
    page->allowed = UINT64_MAX;
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    crn_profile *now = recorded_profile(path);
    assert_grown(last, now);
    crn_profile_free(now);
    crn_profile_free(last);
    reference_strand_end(&strand);
    reference_graph_end(&graph);
    shared_page_close(page);
}

static void another_process_reads_along(void **state)
{
    (void)state;
    watch(CAIRN_WALL_OFF);
}

static void another_process_reads_along_sampled(void **state)
{
    (void)state;
    watch(CAIRN_WALL_SAMPLED);
}

static void another_process_reads_along_exact(void **state)
{
    (void)state;
    watch(CAIRN_WALL_EXACT);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(another_process_reads_along),
        cmocka_unit_test(another_process_reads_along_sampled),
        cmocka_unit_test(another_process_reads_along_exact),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
