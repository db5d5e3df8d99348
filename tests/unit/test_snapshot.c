/* SPDX-License-Identifier: MIT
 *
 * test_snapshot.c - writing a capture of a running program.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cases.h"
#include "support/compare.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"
#include "support/soundness.h"
#include "support/walker.h"

enum { BLOCKS = 10, THREADS = 4 };

static crn_profile *load(const char *path)
{
    crn_profile *profile = recorded_profile(path);
    for (uint32_t i = 0; i < profile->warning_count; i++)
        if (!strstr(profile->warnings[i], "misuse"))
            fail_msg("%s", profile->warnings[i]);
    assert_string_equal(crn_profile_note(profile, "state", ""), "closed");
    return profile;
}

/* While the program pauses, the snapshot and the running capture agree with the reference. */
static void a_snapshot_has_everything_recorded(void **state)
{
    (void)state;
    for (int memory = 0; memory < 2; memory++) {
        char path[SCRATCH_PATH], copy[SCRATCH_PATH];
        difference found;
        cairn_options options = path_options(memory ? NULL : scratch_path(path, "on.cairn"));
        options.path_limit = 8;
        scratch_path(copy, "snapshot.cairn");
        setup s = setup_open(&options, BLOCKS);
        cairn_metric user = cairn_metric_add(s.profile, "user0", "byte");
        reference_graph graph;
        reference_strand reference;
        reference_graph_start(&graph, options.path_limit, UINT32_MAX);
        reference_strand_start(&reference, &graph, true);
        walker walk = {s.strand, &reference, {3}, BLOCKS, 0, 0};
        for (int i = 0; i < 10; i++) {
            walker_walk(&walk, scale(3000));
            cairn_charge(s.strand, user, 5);
            reference_charge(&reference, 0, 5, true);
            assert_int_equal(cairn_profile_snapshot(s.profile, copy), CAIRN_OK);
            if (!compare_capture(copy, &graph, &found))
                fail_msg("%s", found.text);
            crn_profile_free(load(copy));
        }
        setup_close(&s);
        if (!memory && !compare_capture(path, &graph, &found))
            fail_msg("%s", found.text);
        reference_strand_end(&reference);
        reference_graph_end(&graph);
    }
}

typedef struct worker {
    cairn_profile *profile;
    atomic_bool *ended;
    uint64_t seed, calls;
} worker;

static void *walk_on(void *data)
{
    worker *w = data;
    cairn_lane *lane = cairn_lane_open(w->profile, "worker");
    walker walk = {.strand = cairn_strand_open(lane), .random = {w->seed}, .blocks = 4};
    for (int i = 0; !*w->ended; i++) {
        walker_walk(&walk, 1000);
        if (i < 100)
            cairn_block_add(w->profile, &(cairn_block_info){.name = "more"});
    }
    w->calls = walk.calls + 1;
    cairn_lane_close(lane);
    return NULL;
}

/* Each is whole, and has no less than the one before. */
static void it_is_whole_while_others_record(void **state)
{
    (void)state;
    char path[SCRATCH_PATH], copy[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "busy.cairn"));
    options.path_limit = 5;
    options.wall = CAIRN_WALL_SAMPLED;
    scratch_path(copy, "snapshot.cairn");
    cairn_profile *profile;
    assert_int_equal(cairn_profile_open(&profile, &options), CAIRN_OK);
    setup_blocks(profile, 1, BLOCKS);
    atomic_bool ended = false;
    worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){profile, &ended, (uint64_t)i, 0};
        pthread_create(&threads[i], NULL, walk_on, &workers[i]);
    }
    uint64_t last = 0, total = 0;
    for (int i = 0; i < 30; i++) {
        usleep(2000);
        assert_int_equal(cairn_profile_snapshot(profile, copy), CAIRN_OK);
        crn_profile *taken = load(copy);
        total = profile_total(taken, CRN_METRIC_CALLS);
        assert_true(total >= last);
        last = total;
        crn_profile_free(taken);
    }
    ended = true;
    uint64_t calls = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        calls += workers[i].calls;
    }
    assert_int_equal(cairn_profile_snapshot(profile, copy), CAIRN_OK);
    crn_profile *taken = load(copy);
    assert_int_equal(profile_total(taken, CRN_METRIC_CALLS), calls);
    crn_profile_free(taken);
    cairn_profile_close(profile);
}

static void invalid_snapshots_are_refused(void **state)
{
    (void)state;
    char path[SCRATCH_PATH], other[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "own.cairn"));
    setup s = setup_open(&options, BLOCKS);
    assert_int_equal(cairn_profile_snapshot(NULL, path), CAIRN_E_ARGUMENT);
    assert_int_equal(cairn_profile_snapshot(s.profile, NULL), CAIRN_E_ARGUMENT);
    assert_int_equal(cairn_profile_snapshot(s.profile, path), CAIRN_E_ARGUMENT);
    assert_int_equal(cairn_profile_snapshot(s.profile, scratch_path(other, "no/x")), CAIRN_E_OPEN);
    assert_true(scratch_write(scratch_path(other, "letter"), "Dear", 4));
    assert_int_equal(cairn_profile_snapshot(s.profile, other), CAIRN_E_OPEN);
    size_t size;
    unsigned char *letter = scratch_read(other, &size);
    assert_int_equal(size, 4);
    free(letter);
    assert_int_equal(cairn_profile_status(s.profile), CAIRN_OK);
    setup_close(&s);
    assert_int_equal(note_of(path, "strands"), 1);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(a_snapshot_has_everything_recorded),
        cmocka_unit_test(it_is_whole_while_others_record),
        cmocka_unit_test(invalid_snapshots_are_refused),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
