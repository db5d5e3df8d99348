/* SPDX-License-Identifier: MIT
 *
 * test_threads.c - lanes on several threads, read by others while they record. For the thread
 * sanitizer.
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "support/cases.h"
#include "support/compare.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"
#include "support/soundness.h"
#include "support/walker.h"

enum { THREADS = 8, BLOCKS = 12 };

/* Only the main thread may assert; the others count errors. */
typedef struct shared {
    cairn_profile *profile;
    atomic_bool ended;
    atomic_int wrong;
    uint64_t steps;
} shared;

typedef struct worker {
    shared *common;
    pthread_t thread;
    uint64_t seed;
} worker;

/* ---- the end of threads ---- */

/* Opens two lanes and leaves them open. */
static void *leave_lanes_open(void *data)
{
    cairn_lane **lanes = data;
    for (int i = 0; i < 2; i++)
        cairn_strand_open(lanes[i] = cairn_lane_open(lanes[2]->profile, "left open"));
    return NULL;
}

/* While the program has all keys of thread-specific data, no thread can be told of its end. Must be
 * the first case, because the library keeps the key that it gets. */
static void threads_release_their_lanes_once_a_key_is_free(void **state)
{
    (void)state;
    static pthread_key_t keys[PTHREAD_KEYS_MAX];
    int count = 0;
    while (count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[count], NULL) == 0)
        count++;
    setup s = setup_open(NULL, BLOCKS);
    cairn_enter(s.strand, 1);
    while (count)
        assert_int_equal(pthread_key_delete(keys[--count]), 0);
    cairn_lane *lanes[3] = {NULL, NULL, s.lane};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, leave_lanes_open, lanes), 0);
    pthread_join(thread, NULL);
    assert_null(lanes[0]->owner);
    assert_null(lanes[1]->owner);
    assert_non_null(s.lane->owner);
    setup_close(&s);
}

/* ---- names ---- */

static void lanes_are_reused_by_name(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = span_options(scratch_path(path, "names.cairn"));
    setup s = setup_open(&options, BLOCKS); /* its lane is "main" */
    cairn_lane *reader = cairn_lane_open(s.profile, "reader");
    cairn_lane *writer = cairn_lane_open(s.profile, "writer");
    cairn_lane *nameless = cairn_lane_open(s.profile, NULL);
    for (int i = 0; i < 2; i++) {
        cairn_lane_close(reader);
        cairn_lane_close(writer);
        cairn_lane *first = cairn_lane_open(s.profile, i ? "writer" : "reader");
        cairn_lane *second = cairn_lane_open(s.profile, i ? "reader" : "writer");
        assert_ptr_equal(first, i ? writer : reader);
        assert_ptr_equal(second, i ? reader : writer);
    }
    cairn_lane_close(reader);
    cairn_lane_close(nameless);
    assert_ptr_equal(cairn_lane_open(s.profile, "third"), nameless);
    assert_ptr_equal(cairn_lane_open(s.profile, "fourth"), reader); /* it keeps its name */
    assert_int_equal(s.profile->lane_count, 4);
    setup_close(&s);
    crn_trace *trace = recorded_trace(path);
    const char *const names[] = {"main", "reader", "writer", "third"};
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(trace->lanes[i], names[i]);
    crn_trace_free(trace);
}

/* ---- in parallel ---- */

static void run_workers(shared *common, void *(*work)(void *), uint64_t first_seed)
{
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.common = common, .seed = first_seed + (uint64_t)i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
}

static void *walk_on_a_lane(void *data)
{
    worker *w = data;
    cairn_lane *lane = cairn_lane_open(w->common->profile, "worker");
    walker walk = {.strand = cairn_strand_open(lane), .random = {w->seed}, .blocks = BLOCKS};
    w->common->wrong += !walk.strand;
    walker_walk(&walk, w->common->steps);
    cairn_lane_close(lane);
    return NULL;
}

/* Reads the profile again and again: sums never go down. */
static void *watch(void *data)
{
    shared *common = data;
    cairn_cost last = {0};
    while (!common->ended) {
        cairn_view *view;
        if (cairn_view_open(&view, common->profile)) {
            common->wrong++;
            continue;
        }
        cairn_cost total = view_total(view);
        common->wrong += total.calls < last.calls || total.ticks < last.ticks;
        last = total;
        cairn_view_close(view);
        usleep(500);
    }
    return NULL;
}

static void walk_again(reference_graph *graph, uint64_t seed, uint64_t steps)
{
    reference_strand strand;
    reference_strand_start(&strand, graph, true);
    walker walk = {.reference = &strand, .random = {seed}, .blocks = BLOCKS};
    walker_walk(&walk, steps);
    reference_strand_end(&strand);
}

static void lanes_in_parallel_add_up(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "threads.cairn"));
    options.path_limit = 8;
    shared common = {.steps = scale(100000)};
    assert_int_equal(cairn_profile_open(&common.profile, &options), CAIRN_OK);
    setup_blocks(common.profile, 1, BLOCKS);
    pthread_t watcher;
    pthread_create(&watcher, NULL, watch, &common);
    run_workers(&common, walk_on_a_lane, 100);
    run_workers(&common, walk_on_a_lane, 200); /* their graphs are carried on */
    common.ended = true;
    pthread_join(watcher, NULL);
    assert_int_equal(common.wrong, 0);

    reference_graph graph;
    difference found;
    reference_graph_start(&graph, options.path_limit, UINT32_MAX);
    for (uint64_t i = 0; i < THREADS; i++) {
        walk_again(&graph, 100 + i, common.steps);
        walk_again(&graph, 200 + i, common.steps);
    }
    cairn_view *view;
    assert_int_equal(cairn_view_open(&view, common.profile), CAIRN_OK);
    if (!compare_view(view, &graph, &found))
        fail_msg("%s", found.text);
    cairn_view_close(view);
    cairn_profile_close(common.profile);
    if (!compare_capture(path, &graph, &found))
        fail_msg("%s", found.text);
    reference_graph_end(&graph);
}

static void *come_and_go(void *data)
{
    worker *w = data;
    random_source random = {w->seed};
    for (uint64_t i = 0; i < w->common->steps; i++) {
        cairn_lane *lane = cairn_lane_open(w->common->profile, "short");
        cairn_block block = cairn_block_add(w->common->profile, &(cairn_block_info){.name = "x"});
        cairn_strand *strand = cairn_strand_open(lane);
        w->common->wrong += !strand || block == CAIRN_BLOCK_ROOT;
        cairn_enter(strand, 1);
        cairn_enter(strand, random_chance(&random, 1, 2) ? 2 : 3);
        cairn_tick(strand, 1);
        cairn_leave(strand);
        cairn_lane_close(lane);
    }
    return NULL;
}

static void lanes_open_and_close_in_parallel(void **state)
{
    (void)state;
    shared common = {.steps = scale(2000)};
    const cairn_options options = CAIRN_OPTIONS_DEFAULT;
    assert_int_equal(cairn_profile_open(&common.profile, &options), CAIRN_OK);
    setup_blocks(common.profile, 1, 3);
    run_workers(&common, come_and_go, 1);
    assert_int_equal(common.wrong, 0);
    uint64_t lanes = THREADS * common.steps;
    assert_int_equal(cost_at(common.profile, "").calls, lanes);
    assert_int_equal(cost_at(common.profile, "1").calls, lanes);
    assert_int_equal(cost_at(common.profile, "1 2").ticks + cost_at(common.profile, "1 3").ticks,
                     lanes);
    /* Graphs are carried on: the file of a server does not grow with its threads. */
    assert_int_equal(contexts_in(common.profile), 4);
    cairn_profile_close(common.profile);
}

static void *switch_on_and_off(void *data)
{
    shared *common = data;
    while (!common->ended) {
        cairn_profile_disable(common->profile);
        usleep(100);
        cairn_profile_enable(common->profile);
        usleep(100);
    }
    return NULL;
}

static void recording_is_switched_by_another_thread(void **state)
{
    (void)state;
    shared common = {.steps = scale(200000)};
    const cairn_options options = CAIRN_OPTIONS_DEFAULT;
    assert_int_equal(cairn_profile_open(&common.profile, &options), CAIRN_OK);
    setup_blocks(common.profile, 1, BLOCKS);
    pthread_t switcher, watcher;
    pthread_create(&switcher, NULL, switch_on_and_off, &common);
    pthread_create(&watcher, NULL, watch, &common);
    run_workers(&common, walk_on_a_lane, 1);
    common.ended = true;
    pthread_join(switcher, NULL);
    pthread_join(watcher, NULL);
    assert_int_equal(common.wrong, 0);
    uint64_t most = THREADS;
    for (uint64_t seed = 1; seed <= THREADS; seed++) {
        walker walk = {.random = {seed}, .blocks = BLOCKS};
        walker_walk(&walk, common.steps);
        most += walk.calls;
    }
    assert_in_range(total_of(common.profile).calls, 0, most);
    cairn_profile_close(common.profile);
}

static void *charge_what_is_new(void *data)
{
    worker *w = data;
    cairn_lane *lane = cairn_lane_open(w->common->profile, "charging");
    cairn_strand *strand = cairn_strand_open(lane);
    cairn_metric own = cairn_metric_add(w->common->profile, w->seed % 2 ? "odd" : "even", "count");
    for (uint64_t i = 0; i < w->common->steps; i++) {
        cairn_enter(strand, 1 + (cairn_block)(i % BLOCKS));
        cairn_charge(strand, own, 1);
        cairn_leave(strand);
    }
    cairn_lane_close(lane);
    return NULL;
}

static void metrics_are_added_while_others_charge(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "metrics.cairn"));
    shared common = {.steps = scale(5000)};
    assert_int_equal(cairn_profile_open(&common.profile, &options), CAIRN_OK);
    setup_blocks(common.profile, 1, BLOCKS);
    run_workers(&common, charge_what_is_new, 1);
    cairn_profile_close(common.profile);
    crn_profile *profile = recorded_profile(path);
    assert_int_equal(profile_total(profile, crn_profile_metric(profile, "odd")) +
                         profile_total(profile, crn_profile_metric(profile, "even")),
                     THREADS * common.steps);
    crn_profile_free(profile);
}

static void *charge_time(void *data)
{
    worker *w = data;
    cairn_lane *lane = cairn_lane_open(w->common->profile, "timed");
    cairn_strand *strand = cairn_strand_open(lane);
    walker walk = {.strand = strand, .random = {w->seed}, .blocks = BLOCKS};
    for (uint64_t i = 0; i < w->common->steps; i++) {
        walker_step(&walk);
        if (i % 1000 == 0)
            usleep(10);
    }
    cairn_lane_close(lane);
    return NULL;
}

static void time_is_sampled_from_beside(void **state)
{
    (void)state;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.wall = CAIRN_WALL_SAMPLED;
    options.sample_period_ns = 100000;
    shared common = {.steps = scale(100000)};
    assert_int_equal(cairn_profile_open(&common.profile, &options), CAIRN_OK);
    setup_blocks(common.profile, 1, BLOCKS);
    pthread_t watcher;
    pthread_create(&watcher, NULL, watch, &common);
    run_workers(&common, charge_time, 1);
    common.ended = true;
    pthread_join(watcher, NULL);
    assert_int_equal(common.wrong, 0);
    assert_true(total_of(common.profile).wall > 0);
    cairn_profile_close(common.profile);
}

static void *short_life(void *data)
{
    cairn_lane *lane = cairn_lane_open(((shared *)data)->profile, "short");
    cairn_strand *strand = cairn_strand_open(lane);
    for (cairn_block block = 1; block <= 3; block++) {
        cairn_enter(strand, block);
        cairn_tick(strand, block);
    }
    cairn_lane_close(lane);
    return NULL;
}

/* Each on a thread of its own, THREADS at once, while time is sampled. */
static void thousands_of_threads(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "short.cairn"));
    options.wall = CAIRN_WALL_SAMPLED;
    options.cpu = CAIRN_CPU_SAMPLED;
    options.sample_period_ns = 100000;
    options.sample_overhead = 0;
    shared common = {0};
    uint64_t count = scale(10000) / THREADS * THREADS;
    assert_int_equal(cairn_profile_open(&common.profile, &options), CAIRN_OK);
    setup_blocks(common.profile, 1, 3);
    pthread_t threads[THREADS];
    for (uint64_t i = 0; i < count; i++) {
        if (i >= THREADS)
            pthread_join(threads[i % THREADS], NULL);
        assert_int_equal(pthread_create(&threads[i % THREADS], NULL, short_life, &common), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    uint64_t size = scratch_size(path);
    cairn_cost total = total_of(common.profile);
    assert_int_equal(total.calls, 4 * count);
    assert_int_equal(total.ticks, 6 * count);
    assert_int_equal(cost_at(common.profile, "1 2 3").calls, count);
    cairn_profile_close(common.profile);
    assert_in_range(size, 1, (THREADS + 4) << 17); /* as many lanes as THREADS need at most */
    assert_true(note_of(path, "lanes") <= THREADS);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(threads_release_their_lanes_once_a_key_is_free),
        cmocka_unit_test(lanes_are_reused_by_name),
        cmocka_unit_test(lanes_in_parallel_add_up),
        cmocka_unit_test(lanes_open_and_close_in_parallel),
        cmocka_unit_test(recording_is_switched_by_another_thread),
        cmocka_unit_test(metrics_are_added_while_others_charge),
        cmocka_unit_test(time_is_sampled_from_beside),
        cmocka_unit_test(thousands_of_threads),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
