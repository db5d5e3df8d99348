/* SPDX-License-Identifier: MIT
 *
 * test_reset.c - resetting all figures during a run.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "profile/profile.h"
#include "support/cases.h"
#include "support/compare.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"
#include "support/walker.h"

enum { BLOCKS = 8 };

static void reset_reference(reference_graph *graph, uint64_t strands)
{
    for (uint32_t c = 0; c < graph->context_count; c++) {
        reference_context *context = &graph->contexts[c];
        context->calls = c == REFERENCE_ROOT ? strands : 0;
        context->ticks = 0;
        for (int u = 0; u < REFERENCE_USER_METRICS; u++)
            context->user[u] = 0;
    }
    for (uint32_t e = 0; e < graph->edge_count; e++)
        graph->edges[e].calls = 0;
    graph->folded_edges = 0;
}

/* Again and again in a random walk, in every mode of time, off and on. */
static void after_a_reset_the_reference_agrees(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 9; seed++) {
        char path[SCRATCH_PATH];
        difference found;
        cairn_options options = path_options(scratch_path(path, "reset.cairn"));
        options.wall = (cairn_wall)(seed % 3);
        options.path_limit = seed % 2 ? 1024 : 6;
        options.sample_period_ns = 100000;
        setup s = setup_open(&options, BLOCKS);
        cairn_metric user = cairn_metric_add(s.profile, "user0", "byte");
        reference_graph graph;
        reference_strand reference;
        reference_graph_start(&graph, options.path_limit, UINT32_MAX);
        reference_strand_start(&reference, &graph, true);
        walker walk = {s.strand, &reference, {seed}, BLOCKS, 0, 0};
        for (int i = 0; i < 8; i++) {
            walker_walk(&walk, scale(3000));
            cairn_charge(s.strand, user, 7);
            reference_charge(&reference, 0, 7, true);
            if (i == 4)
                cairn_profile_disable(s.profile);
            cairn_profile_reset(s.profile);
            reset_reference(&graph, 1);
            assert_int_equal(total_of(s.profile).calls, 1);
            assert_int_equal(total_of(s.profile).ticks, 0);
            if (i == 4)
                cairn_profile_enable(s.profile);
            if (i % 2)
                cairn_profile_reset(s.profile);
        }
        walker_walk(&walk, scale(3000));
        setup_close(&s);
        if (!compare_capture(path, &graph, &found))
            fail_msg("seed %d: %s", (int)seed, found.text);
        reference_strand_end(&reference);
        reference_graph_end(&graph);
    }
}

/* Sampled ticks add up to those since the reset. */
static void ticks_add_up(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "ticks.cairn"));
    options.tick_period = 100;
    setup s = setup_open(&options, BLOCKS);
    walker walk = {.strand = s.strand, .random = {3}, .blocks = BLOCKS};
    walker_walk(&walk, 10000);
    cairn_profile_reset(s.profile);
    uint64_t before = walk.ticks;
    walker_walk(&walk, 10000);
    setup_close(&s);
    crn_profile *profile = recorded_profile(path);
    uint64_t total = 0;
    for (uint32_t c = 0; c < profile->context_count; c++)
        total += profile->values[CRN_METRIC_TICKS][c];
    crn_profile_free(profile);
    assert_int_equal(total, walk.ticks - before);
}

/* A closed lane, one without an owner, and one that is opened later. */
static void lanes_that_are_closed(void **state)
{
    (void)state;
    setup s = setup_open(NULL, BLOCKS);
    cairn_lane *other = cairn_lane_open(s.profile, "other");
    cairn_strand *strand = cairn_strand_open(other);
    cairn_enter(strand, 1);
    cairn_lane_close(other);
    cairn_enter(s.strand, 2);
    cairn_lane_hand_over(s.lane);
    cairn_profile_reset(s.profile);
    assert_in_range(total_of(s.profile).calls, 0, 1); /* the root of a lane that may not know */
    cairn_leave(s.strand);
    assert_int_equal(total_of(s.profile).calls, 1);
    other = cairn_lane_open(s.profile, "again");
    strand = cairn_strand_open(other);
    cairn_enter(strand, 3);
    assert_int_equal(total_of(s.profile).calls, 3);
    assert_int_equal(cost_at(s.profile, "1").calls, 0);
    assert_int_equal(cost_at(s.profile, "3").calls, 1);
    setup_close(&s);
}

/* ---- threads ---- */

enum { THREADS = 4, GENERATIONS = 40 };

typedef struct shared {
    cairn_profile *profile;
    atomic_int turn, done; /* how many generations were begun; threads that did their part */
    atomic_bool ended;
    atomic_int mixed;
} shared;

/* In generation g only block g is entered. */
static void *work(void *data)
{
    shared *common = data;
    cairn_lane *lane = cairn_lane_open(common->profile, "worker");
    cairn_strand *strand = cairn_strand_open(lane);
    for (int turn = 1; turn <= GENERATIONS; turn++) {
        while (common->turn < turn)
            usleep(50);
        for (int i = 0; i < 1000; i++) {
            cairn_enter(strand, 1 + (cairn_block)turn % BLOCKS);
            cairn_tick(strand, 2);
            cairn_leave(strand);
        }
        common->done++;
    }
    while (!common->ended)
        usleep(50);
    cairn_lane_close(lane);
    return NULL;
}

static bool count_block(void *data, const cairn_block *sequence, size_t length,
                        const cairn_cost *cost)
{
    uint64_t *calls = data;
    if (length > 1)
        calls[sequence[1]] += cost->calls;
    return true;
}

static void *read_on(void *data)
{
    shared *common = data;
    while (!common->ended) {
        cairn_view *view;
        uint64_t calls[BLOCKS + 1] = {0};
        int blocks = 0;
        if (cairn_view_open(&view, common->profile)) {
            common->mixed += 1000;
            continue;
        }
        cairn_view_contexts(view, count_block, calls);
        cairn_view_close(view);
        for (int b = 1; b <= BLOCKS; b++)
            blocks += calls[b] > 0;
        common->mixed += blocks > 1;
    }
    return NULL;
}

static void no_reader_sees_two_generations(void **state)
{
    (void)state;
    char path[SCRATCH_PATH], copy[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "generations.cairn"));
    options.wall = CAIRN_WALL_SAMPLED;
    options.sample_period_ns = 100000;
    scratch_path(copy, "copy.cairn");
    shared common = {0};
    assert_int_equal(cairn_profile_open(&common.profile, &options), CAIRN_OK);
    setup_blocks(common.profile, 1, BLOCKS);
    pthread_t threads[THREADS], reader;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &common);
    pthread_create(&reader, NULL, read_on, &common);
    for (int turn = 1; turn <= GENERATIONS; turn++) {
        while (common.done < THREADS * (turn - 1))
            usleep(50);
        cairn_profile_reset(common.profile);
        if (turn > 1) { /* the threads have no event here: their figures are 0 all the same */
            assert_int_equal(total_of(common.profile).calls, 0);
            assert_int_equal(cairn_profile_snapshot(common.profile, copy), CAIRN_OK);
            assert_int_equal(note_of(copy, "strands"), 0);
        }
        common.turn++;
        while (common.done < THREADS * turn)
            usleep(50);
        cairn_cost total = total_of(common.profile);
        assert_int_equal(total.calls, THREADS * 1001);
        assert_int_equal(total.ticks, THREADS * 2000);
    }
    common.ended = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_join(reader, NULL);
    assert_int_equal(common.mixed, 0);
    cairn_profile_close(common.profile);
}

/* While a thread does nothing but tick, and no event of another kind comes. */
static void *only_tick(void *data)
{
    shared *common = data;
    cairn_lane *lane = cairn_lane_open(common->profile, "ticks");
    cairn_strand *strand = cairn_strand_open(lane);
    cairn_enter(strand, 1);
    while (!common->ended) {
        cairn_tick(strand, 1);
        common->done = 1;
    }
    cairn_lane_close(lane);
    return NULL;
}

static void a_lane_that_only_ticks_notices(void **state)
{
    (void)state;
    shared common = {0};
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    assert_int_equal(cairn_profile_open(&common.profile, &options), CAIRN_OK);
    setup_blocks(common.profile, 1, 1);
    pthread_t thread;
    pthread_create(&thread, NULL, only_tick, &common);
    for (int i = 0; i < 20; i++) {
        common.done = 0;
        while (!common.done || !total_of(common.profile).ticks)
            usleep(100);
        cairn_profile_reset(common.profile);
    }
    common.ended = true;
    pthread_join(thread, NULL);
    assert_int_equal(cost_at(common.profile, "1").calls, 0);
    cairn_profile_close(common.profile);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(after_a_reset_the_reference_agrees),
        cmocka_unit_test(ticks_add_up),
        cmocka_unit_test(lanes_that_are_closed),
        cmocka_unit_test(no_reader_sees_two_generations),
        cmocka_unit_test(a_lane_that_only_ticks_notices),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
