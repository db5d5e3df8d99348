/* SPDX-License-Identifier: MIT
 *
 * test_children.c - a child of fork continues in a capture of its own.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/cases.h"
#include "support/children.h"
#include "support/clock.h"
#include "support/compare.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"
#include "support/soundness.h"
#include "support/walker.h"

enum { BLOCKS = 10 };

static uint64_t captured(const char *path, int metric)
{
    crn_profile *profile = recorded_profile(path);
    uint64_t total = profile_total(profile, metric);
    crn_profile_free(profile);
    return total;
}

static void assert_captured(const char *path, const reference_graph *graph)
{
    difference found;
    if (!compare_capture(path, graph, &found))
        fail_msg("%s: %s", path, found.text);
}

/* ---- the child's capture, compared with the reference ---- */

/* The child's graph has only the contexts of its stack, without calls. */
static void move_reference(reference_strand *strand, reference_graph *to)
{
    reference_strand_move(strand, to);
    to->contexts[REFERENCE_ROOT].calls++;
}

/* A random walk that forks in its midst, again and again, each child the next's parent. */
static void parent_and_child_agree_with_the_reference(void **state)
{
    (void)state;
    enum { GENERATIONS = 4 };
    for (uint64_t seed = 1; seed <= 6; seed++) {
        char path[SCRATCH_PATH], other[SCRATCH_PATH];
        cairn_options options = path_options(scratch_path(path, "walk.cairn"));
        options.path_limit = seed % 2 ? 1024 : 6;
        setup s = setup_open(&options, BLOCKS);
        reference_graph graph, graphs[GENERATIONS];
        reference_strand reference;
        reference_graph_start(&graph, options.path_limit, UINT32_MAX);
        reference_strand_start(&reference, &graph, true);
        walker walk = {s.strand, &reference, {seed}, BLOCKS, 0, 0};
        walker_walk(&walk, scale(20000));
        pid_t own = getpid();
        int generation = 0;
        pid_t child = 0;
        while (generation < GENERATIONS && (child = fork()) == 0) {
            child_begin(120);
            reference_graph_start(&graphs[generation], options.path_limit, UINT32_MAX);
            move_reference(&reference, &graphs[generation]);
            generation++;
            walker_walk(&walk, scale(20000));
        }
        walker_walk(&walk, scale(5000));
        cairn_profile_close(s.profile);
        assert_captured(getpid() == own ? path : child_path(other, path, getpid()),
                        reference.graph);
        if (generation < GENERATIONS)
            child_await(child);
        if (generation)
            _exit(0);
        reference_strand_end(&reference);
        reference_graph_end(&graph);
    }
}

/* ---- stacks ---- */

static void deep_stacks_and_other_strands_continue(void **state)
{
    (void)state;
    char path[SCRATCH_PATH], other[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "deep.cairn"));
    setup s = setup_open(&options, BLOCKS);
    cairn_strand *coroutine = cairn_strand_open(s.lane);
    const uint64_t depth = scale(1000000);
    for (uint64_t i = 0; i < depth; i++)
        cairn_enter(s.strand, 1 + (cairn_block)(i & (i >> 3)) % BLOCKS);
    cairn_enter(coroutine, 3);
    cairn_mark mark = cairn_strand_mark(coroutine);
    cairn_enter(coroutine, 4);
    pid_t child = fork();
    if (child == 0) {
        child_begin(120);
        int wrong = cairn_strand_depth(s.strand) != depth;
        cairn_strand_switch(coroutine);
        cairn_tick(coroutine, 7);
        cairn_strand_unwind(coroutine, mark);
        cairn_enter(coroutine, 5);
        for (uint64_t i = 0; i < depth; i++)
            cairn_leave(s.strand);
        cairn_enter(s.strand, 6);
        wrong |= cairn_strand_depth(s.strand) != 1;
        wrong |= cost_at(s.profile, "3").calls != 0 || cost_at(s.profile, "3 4").calls != 0;
        wrong |= cost_at(s.profile, "3 4").ticks != 7;
        wrong |= cost_at(s.profile, "3 5").calls != 1 || cost_at(s.profile, "6").calls != 1;
        wrong |= total_of(s.profile).calls != 2 + 2; /* two roots */
        wrong |= cairn_profile_status(s.profile) != CAIRN_OK;
        cairn_profile_close(s.profile);
        _exit(wrong);
    }
    child_await(child);
    assert_int_equal(total_of(s.profile).calls, 2 + depth + 2);
    assert_int_equal(cost_at(s.profile, "3 4").ticks, 0);
    setup_close(&s);
    child_path(other, path, child);
    assert_int_equal(note_of(other, "misuses"), 0);
    assert_int_equal(note_of(other, "strands"), 2);
    assert_int_equal(note_of(other, "parent"), getpid());
    crn_profile *profile = recorded_profile(other);
    assert_string_equal(crn_profile_note(profile, "forked_from", ""), path);
    crn_profile_free(profile);
}

/* ---- no events, no file ---- */

static void a_child_without_events_leaves_no_file(void **state)
{
    (void)state;
    for (volatile int how = 0; how < 4; how++) {
        char path[SCRATCH_PATH], other[SCRATCH_PATH];
        cairn_options options = path_options(scratch_path(path, "none.cairn"));
        options.wall = how % 2 ? CAIRN_WALL_SAMPLED : CAIRN_WALL_EXACT;
        setup s = setup_open(&options, BLOCKS);
        cairn_enter(s.strand, 1);
        pid_t child = how == 1 ? vfork() : fork();
        if (child == 0) {
            if (how == 0)
                execl("/bin/true", "true", (char *)NULL);
            if (how == 2)
                cairn_strand_close(s.strand);
            if (how >= 2)
                cairn_lane_close(s.lane);
            if (how == 3)
                cairn_profile_close(s.profile);
            _exit(0);
        }
        child_await(child);
        if (how == 1) /* it closed the parent's own lane */
            assert_int_equal(cairn_profile_status(s.profile), CAIRN_OK);
        assert_false(scratch_exists(child_path(other, path, child)));
        setup_close(&s);
    }
}

/* The capture is made at any first event. */
static void each_kind_of_event_begins_it(void **state)
{
    (void)state;
    for (int kind = 0; kind < 9; kind++) {
        char path[SCRATCH_PATH], other[SCRATCH_PATH];
        cairn_options options = path_options(scratch_path(path, "first.cairn"));
        options.tick_period = kind == 8 ? 5 : 1;
        setup s = setup_open(&options, BLOCKS);
        cairn_metric bytes = cairn_metric_add(s.profile, "bytes", "byte");
        cairn_enter(s.strand, 1);
        cairn_enter(s.strand, 2);
        cairn_tick(s.strand, 10000);
        cairn_charge(s.strand, bytes, 99);
        pid_t child = fork();
        if (child == 0) {
            child_begin(120);
            if (kind == 0)
                cairn_enter(s.strand, 3);
            else if (kind == 1)
                cairn_replace(s.strand, 3);
            else if (kind == 2)
                cairn_leave(s.strand);
            else if (kind == 3 || kind == 8)
                cairn_tick(s.strand, 12);
            else if (kind == 4)
                cairn_charge(s.strand, bytes, 5);
            else if (kind == 5)
                cairn_strand_unwind(s.strand, 1);
            else if (kind == 6)
                cairn_block_add(s.profile, &(cairn_block_info){.name = "late"});
            else
                cairn_sample(s.strand, (cairn_block[]){4, 5}, 2, bytes, 6);
            cairn_enter(s.strand, 4);
            if (kind % 2 == 0)
                kill(getpid(), SIGKILL); /* nothing is lost by that */
            cairn_profile_close(s.profile);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        setup_close(&s);
        child_path(other, path, child);
        crn_profile *profile = recorded_profile(other);
        difference found;
        if (!profile_is_sound(profile, &found))
            fail_msg("%s", found.text);
        assert_int_equal(profile_total(profile, CRN_METRIC_CALLS), 2 + (kind < 2));
        if (kind != 8) /* sampled ones are charged when an interval ends */
            assert_int_equal(profile_total(profile, CRN_METRIC_TICKS), kind == 3 ? 12 : 0);
        int metric = crn_profile_metric(profile, "bytes");
        assert_true(metric > 0);
        uint64_t amount = profile->values[metric] ? profile_total(profile, metric) : 0;
        assert_int_equal(amount, kind == 4 ? 5 : kind == 7 ? 6 : 0);
        crn_profile_free(profile);
    }
}

/* ---- clocks ---- */

static void *turn_off_and_on(void *data)
{
    cairn_profile_disable(data);
    cairn_profile_enable(data);
    return NULL;
}

/* Another thread switches before the first event of the one that forked, whose clock is not yet
 * known in the child. */
static void a_switch_before_the_first_event_adds_no_cpu(void **state)
{
    (void)state;
    skip_where_emulated();
    for (int timer = 0; timer < 2; timer++) {
        cairn_options options = CAIRN_OPTIONS_DEFAULT;
        options.cpu = CAIRN_CPU_SAMPLED;
        options.sampler = timer ? CAIRN_SAMPLER_TIMER : CAIRN_SAMPLER_THREAD;
        setup s = setup_open(&options, BLOCKS);
        cairn_enter(s.strand, 1);
        pid_t child = fork();
        if (child == 0) {
            child_begin(120);
            pthread_t thread;
            pthread_create(&thread, NULL, turn_off_and_on, s.profile);
            pthread_join(thread, NULL);
            cairn_enter(s.strand, 2);
            uint64_t start = own_cpu();
            while (own_cpu() - start < 20000000)
                ;
            cairn_leave(s.strand);
            cairn_lane_hand_over(s.lane);
            uint64_t cpu = total_of(s.profile).cpu, most = own_cpu();
            _exit(cpu < 20000000 || cpu > most);
        }
        child_await(child);
        setup_close(&s);
    }
}

/* Costs between the fork and the end belong to the child; none from before do. */
static void time_begins_at_the_fork(void **state)
{
    (void)state;
    skip_where_emulated();
    for (int sampled = 0; sampled < 2; sampled++) {
        char path[SCRATCH_PATH], other[SCRATCH_PATH];
        cairn_options options = path_options(scratch_path(path, "time.cairn"));
        options.wall = sampled ? CAIRN_WALL_SAMPLED : CAIRN_WALL_EXACT;
        uint64_t begin = now_ns();
        setup s = setup_open(&options, BLOCKS);
        cairn_enter(s.strand, 1);
        sleep_ns(80000000);
        uint64_t before = now_ns();
        pid_t child = fork();
        if (child == 0) {
            child_begin(120);
            sleep_ns(30000000);
            cairn_leave(s.strand);
            cairn_enter(s.strand, 2);
            sleep_ns(20000000);
            uint64_t wall = cost_at(s.profile, "1").wall;
            cairn_profile_close(s.profile);
            uint64_t most = now_ns() - before;
            uint64_t total = captured(child_path(other, path, getpid()), CRN_METRIC_WALL);
            fflush(stdout);
            _exit(wall < 29000000 || wall > most || total < 49000000 || total > most + most / 50);
        }
        child_await(child);
        setup_close(&s);
        uint64_t total = captured(path, CRN_METRIC_WALL), most = now_ns() - begin;
        assert_in_range(total, 80000000 + 50000000, most + most / 50);
    }
}

/* ---- threads ---- */

typedef struct thread {
    cairn_profile *profile;
    atomic_bool *ended;
    atomic_int *ready;
    cairn_strand *_Atomic strand;
    uint64_t calls;
} thread;

static void *keep_busy(void *data)
{
    thread *t = data;
    cairn_lane *lane = cairn_lane_open(t->profile, "busy");
    t->strand = cairn_strand_open(lane);
    walker walk = {.strand = t->strand, .random = {5}, .blocks = BLOCKS};
    for (bool first = true; !*t->ended; first = false) {
        walker_walk(&walk, 100);
        *t->ready += first;
        cairn_block_add(t->profile, &(cairn_block_info){.name = "more"});
    }
    t->calls = walk.calls + 1;
    cairn_lane_close(lane);
    return NULL;
}

/* Their lanes are not the child's; to touch them does no harm. */
static void threads_of_the_parent_stay_there(void **state)
{
    (void)state;
    skip_where_emulated();
    enum { THREADS = 4, FORKS = 20 };
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return; /* The thread sanitizer takes the parent's threads for threads of the child; the
               address sanitizer's malloc stays locked in children of programs with several
               threads. */
#endif
    char path[SCRATCH_PATH], other[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "threads.cairn"));
    options.wall = CAIRN_WALL_SAMPLED;
    options.sample_period_ns = 100000;
    setup s = setup_open(&options, BLOCKS);
    atomic_bool ended = false;
    atomic_int ready = 0;
    thread threads[THREADS];
    pthread_t ids[THREADS];
    for (int i = 0; i < THREADS; i++) {
        threads[i] = (thread){.profile = s.profile, .ended = &ended, .ready = &ready};
        pthread_create(&ids[i], NULL, keep_busy, &threads[i]);
    }
    while (ready < THREADS)
        usleep(100);
    walker walk = {.strand = s.strand, .random = {7}, .blocks = BLOCKS};
    for (int i = 0; i < FORKS; i++) {
        walker_walk(&walk, 100);
        pid_t child = fork();
        if (child == 0) {
            child_begin(120);
            uint64_t before = walk.calls;
            for (int t = 0; t < THREADS; t++) {
                walker lost = {.strand = threads[t].strand, .random = {8}, .blocks = BLOCKS};
                walker_walk(&lost, 1000);
                cairn_strand_unwind(lost.strand, 0);
                walker_walk(&lost, 1000);
                cairn_strand_close(lost.strand);
            }
            walker_walk(&walk, 1000);
            int wrong = total_of(s.profile).calls != walk.calls - before + 1;
            cairn_lane *lane = cairn_lane_open(s.profile, "new");
            cairn_enter(cairn_strand_open(lane), 1);
            cairn_lane_close(lane);
            cairn_profile_close(s.profile);
            _exit(wrong);
        }
        child_await(child);
        child_path(other, path, child);
        assert_int_equal(note_of(other, "lanes"), 2);
        assert_int_equal(note_of(other, "state"), 0);
        unlink(other);
    }
    ended = true;
    uint64_t calls = walk.calls + 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(ids[i], NULL);
        calls += threads[i].calls;
    }
    assert_int_equal(total_of(s.profile).calls, calls);
    setup_close(&s);
}

/* ---- children without a capture of their own ---- */

static void without_a_capture_the_child_records_nothing(void **state)
{
    (void)state;
    char path[SCRATCH_PATH], folder[SCRATCH_PATH];
    scratch_path(folder, "gone");
    mkdir(folder, 0777);
    cairn_options options = path_options(scratch_path(path, "gone/x.cairn"));
    setup s = setup_open(&options, BLOCKS);
    cairn_enter(s.strand, 1);
    unlink(path);
    rmdir(folder);
    pid_t child = fork();
    if (child == 0) {
        child_begin(120);
        int wrong = cairn_profile_status(s.profile) != CAIRN_E_FORKED;
        walker walk = {.strand = s.strand, .random = {8}, .blocks = BLOCKS};
        walker_walk(&walk, 10000);
        wrong |= cairn_profile_status(s.profile) != CAIRN_E_OPEN;
        wrong |= cairn_lane_open(s.profile, "none") != NULL;
        wrong |= cairn_block_add(s.profile, &(cairn_block_info){.name = "none"}) != 0;
        cairn_view *view;
        wrong |= cairn_view_open(&view, s.profile) != CAIRN_E_OPEN;
        pid_t grandchild = fork();
        walker_walk(&walk, 1000);
        if (grandchild > 0)
            waitpid(grandchild, NULL, 0);
        cairn_profile_close(s.profile);
        _exit(wrong);
    }
    child_await(child);
    cairn_leave(s.strand);
    assert_int_equal(total_of(s.profile).calls, 2);
    setup_close(&s);
}

static void a_profile_in_memory_has_children_in_memory(void **state)
{
    (void)state;
    setup s = setup_open(NULL, BLOCKS);
    cairn_enter(s.strand, 1);
    pid_t child = fork();
    if (child == 0) {
        child_begin(120);
        cairn_enter(s.strand, 2);
        int wrong = total_of(s.profile).calls != 2 || cost_at(s.profile, "1 2").calls != 1;
        cairn_profile_close(s.profile);
        _exit(wrong);
    }
    child_await(child);
    assert_int_equal(total_of(s.profile).calls, 2);
    setup_close(&s);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(parent_and_child_agree_with_the_reference),
        cmocka_unit_test(deep_stacks_and_other_strands_continue),
        cmocka_unit_test(a_child_without_events_leaves_no_file),
        cmocka_unit_test(each_kind_of_event_begins_it),
        cmocka_unit_test(a_switch_before_the_first_event_adds_no_cpu),
        cmocka_unit_test(time_begins_at_the_fork),
        cmocka_unit_test(threads_of_the_parent_stay_there),
        cmocka_unit_test(without_a_capture_the_child_records_nothing),
        cmocka_unit_test(a_profile_in_memory_has_children_in_memory),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
