/* SPDX-License-Identifier: MIT
 *
 * test_stack_only.c - strands that record only their stack, by example: the verbs; stacks without
 * memory, in a child of fork, on threads.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "runtime/runtime.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/scratch.h"

/* ---- enter, replace, leave and marks ---- */

static void calls_are_not_counted_and_costs_find_their_context(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    cairn_stack *stack = cairn_stack_open(s.lane);
    for (int i = 0; i < 5; i++) {
        cairn_stack_enter(stack, 1);
        cairn_stack_enter(stack, 2);
        cairn_stack_tick(stack, 10);
        cairn_stack_leave(stack);
        cairn_stack_tick(stack, 1);
        cairn_stack_replace(stack, 3);
        cairn_stack_tick(stack, 100);
        cairn_stack_leave(stack);
    }
    cairn_stack_tick(stack, 1000);
    assert_int_equal(cost_at(s.profile, "1 2").ticks, 50);
    assert_int_equal(cost_at(s.profile, "1").ticks, 5);
    assert_int_equal(cost_at(s.profile, "3").ticks, 500); /* 1 left no trace */
    assert_int_equal(cost_at(s.profile, "").ticks, 1000);
    assert_int_equal(contexts_in(s.profile), 4);
    assert_int_equal(total_of(s.profile).calls, 2); /* the two strands' roots */
    assert_int_equal(cairn_strand_context(cairn_stack_strand(stack)), CAIRN_CONTEXT_ROOT);
    setup_close(&s);
}

static void marks_undo_what_came_after_them(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 5);
    cairn_stack *stack = cairn_stack_open(s.lane);
    cairn_strand *strand = cairn_stack_strand(stack);
    assert_int_equal(cairn_stack_enter(stack, 1), 0);
    cairn_mark mark = cairn_stack_enter(stack, 2);
    assert_int_equal(mark, 1);
    for (int i = 0; i < 100; i++)
        assert_int_equal(cairn_stack_enter(stack, 3), 2 + i);
    cairn_stack_tick(stack, 7);
    cairn_stack_unwind(stack, mark);
    assert_int_equal(cairn_strand_depth(strand), 1);
    cairn_stack_unwind(stack, mark); /* again: nothing happens */
    assert_int_equal(cairn_strand_depth(strand), 1);
    cairn_stack_enter(stack, 4);
    cairn_stack_tick(stack, 1);
    cairn_strand_unwind(strand, cairn_strand_mark(strand));
    assert_int_equal(cairn_strand_depth(strand), 2);
    assert_int_equal(s.lane->disk->misuses, 0);
    assert_int_equal(cost_at(s.profile, "1 2 3").ticks, 7);
    assert_int_equal(cost_at(s.profile, "1 4").ticks, 1);
    setup_close(&s);
}

static void misuse_is_defined_and_counted(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 5);
    cairn_stack *stack = cairn_stack_open(s.lane);
    cairn_stack_leave(stack);
    cairn_strand_unwind(cairn_stack_strand(stack), 1);
    cairn_stack_unwind(stack, 1000);
    cairn_stack_unwind(stack, SIZE_MAX);
    assert_int_equal(s.lane->disk->misuses, 4);
    assert_int_equal(cairn_strand_depth(cairn_stack_strand(stack)), 0);
    cairn_stack_replace(stack, 2); /* takes the root's place */
    cairn_stack_tick(stack, 3);
    cairn_stack_enter(stack, 1);
    cairn_stack_tick(stack, 4);
    cairn_stack_leave(stack);
    cairn_stack_leave(stack); /* nothing to leave */
    cairn_stack_tick(stack, 5);
    assert_int_equal(cost_at(s.profile, "2").ticks, 8);
    assert_int_equal(cost_at(s.profile, "2 1").ticks, 4);
    assert_int_equal(s.lane->disk->misuses, 5);
    cairn_strand_close(cairn_stack_strand(stack));
    assert_int_equal(s.lane->disk->misuses, 6);
    stack = cairn_stack_open(s.lane); /* another begins anew */
    cairn_stack_tick(stack, 1);
    assert_int_equal(cost_at(s.profile, "").ticks, 1);
    cairn_stack_enter(stack, CAIRN_BLOCK_FOLDED); /* "no block" was never added */
    cairn_stack_tick(stack, 1);
    assert_int_equal(s.lane->disk->misuses, 7);
    setup_close(&s);
}

static void without_a_profile_nothing_happens(void **state)
{
    (void)state;
    assert_null(cairn_stack_open(NULL));
    assert_null(cairn_stack_strand(NULL));
    assert_int_equal(cairn_stack_enter(NULL, 1), 0);
    cairn_stack_replace(NULL, 1);
    cairn_stack_tick(NULL, 1);
    cairn_stack_unwind(NULL, 0);
    cairn_stack_leave(NULL);
}

static void memory_of_one_kind_serves_the_other(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    for (int i = 0; i < 10; i++) {
        cairn_stack *stack = cairn_stack_open(s.lane);
        for (int j = 0; j < 500; j++)
            cairn_stack_enter(stack, 1 + (cairn_block)(j % 3));
        cairn_stack_tick(stack, 1);
        cairn_strand_close(cairn_stack_strand(stack));
        cairn_strand *strand = cairn_strand_open(s.lane);
        for (int j = 0; j < 500; j++)
            cairn_enter(strand, 1);
        cairn_tick(strand, 1);
        cairn_strand_close(strand);
    }
    assert_int_equal(cost_at(s.profile, "1 2 3 1 2").ticks, 10); /* 500 = 3 * 166 + 2 */
    assert_int_equal(cost_at(s.profile, "1").ticks, 10);
    assert_int_equal(cost_at(s.profile, "1").calls, 5000);
    setup_close(&s);
}

/* ---- without memory ---- */

static void frames_without_memory_are_still_frames(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    cairn_stack *stack = cairn_stack_open(s.lane);
    cairn_strand *strand = cairn_stack_strand(stack);
    cairn_stack_enter(stack, 1);
    cairn_stack_tick(stack, 1);
    cairn_stack_enter(stack, 2); /* so that there is room for two */
    cairn_stack_leave(stack);
    crn_memory_fail_at(1);
    cairn_mark mark = 0;
    for (size_t i = 1; i < 5000; i++) {
        assert_int_equal(cairn_stack_enter(stack, 2), i);
        if (i == 3000)
            mark = i;
    }
    crn_memory_fail_at(0);
    assert_int_equal(cairn_strand_depth(strand), 5000);
    assert_true(s.lane->disk->dropped > 4000);
    assert_int_equal(cairn_profile_status(s.profile), CAIRN_E_MEMORY);
    cairn_stack_replace(stack, 3); /* of a frame that is not held: dropped */
    cairn_stack_tick(stack, 10);
    cairn_stack_unwind(stack, mark);
    assert_int_equal(cairn_strand_depth(strand), 3000);
    for (size_t i = 3000; i > 1; i--)
        cairn_stack_leave(stack);
    cairn_stack_tick(stack, 100);
    cairn_stack_replace(stack, 3);
    cairn_stack_tick(stack, 1000);
    cairn_stack_leave(stack);
    assert_int_equal(cost_at(s.profile, "1").ticks, 101);
    assert_int_equal(cost_at(s.profile, "1 2").ticks, 10);
    assert_int_equal(cost_at(s.profile, "3").ticks, 1000);
    assert_int_equal(s.lane->disk->misuses, 0);
    setup_close(&s);
}

static void a_stack_that_cannot_be_opened_is_null(void **state)
{
    (void)state;
    for (uint64_t nth = 1; nth < 10; nth++) {
        setup s = setup_open(NULL, 3);
        crn_memory_fail_at(nth);
        cairn_stack *stack = cairn_stack_open(s.lane);
        crn_memory_fail_at(0);
        assert_true(stack || cairn_profile_status(s.profile) == CAIRN_E_MEMORY);
        assert_true(nth > 3 || !stack);
        cairn_stack_tick(stack, 1);
        cairn_tick(s.strand, 1);
        assert_int_equal(total_of(s.profile).ticks, 1 + (stack != NULL));
        setup_close(&s);
    }
}

/* ---- a child, threads ---- */

static void a_child_continues(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    cairn_stack *stack = cairn_stack_open(s.lane);
    cairn_strand *strand = cairn_stack_strand(stack);
    for (int i = 0; i < 100; i++)
        cairn_stack_enter(stack, 1 + (cairn_block)(i % 3));
    cairn_stack_tick(stack, 1);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        cairn_strand_unwind(strand, 50);
        for (int i = 0; i < 10000; i++)
            cairn_stack_enter(stack, 2);
        cairn_stack_tick(stack, 1000);
        cairn_charge(strand, CAIRN_METRIC_TICKS, 1000);
        bool right = cairn_strand_depth(strand) == 10050;
        for (int i = 0; i < 10050; i++)
            cairn_stack_leave(stack);
        _exit(right && cairn_strand_depth(strand) == 0 ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(cairn_strand_depth(strand), 100);
    assert_int_equal(total_of(s.profile).ticks, 1);
    setup_close(&s);
}

enum { THREADS = 4, BLOCKS = 7 };

typedef struct shared {
    cairn_profile *profile;
    atomic_bool ended;
    atomic_int wrong;
    atomic_ullong ticks;
} shared;

static void *work(void *data)
{
    shared *common = data;
    cairn_lane *lane = cairn_lane_open(common->profile, "worker");
    cairn_stack *stack = cairn_stack_open(lane);
    random_source random = {(uintptr_t)stack};
    size_t depth = 0;
    uint64_t ticks = 0;
    for (uint64_t i = 0, events = scale(2000000); i < events; i++) {
        if (random_below(&random, 64) < (i / 4096 % 2 ? 40u : 24u)) {
            depth++;
            cairn_stack_enter(stack, 1 + random_below(&random, BLOCKS) % 3);
        } else if (depth) {
            depth--;
            cairn_stack_leave(stack);
        }
        if (i % 1000 == 0) {
            cairn_stack_tick(stack, 3);
            ticks += 3;
        }
    }
    common->wrong += cairn_strand_depth(cairn_stack_strand(stack)) != depth;
    common->ticks += ticks;
    cairn_lane_close(lane);
    return NULL;
}

static void *read_on(void *data)
{
    shared *common = data;
    uint64_t last = 0;
    while (!common->ended) {
        cairn_view *view;
        if (cairn_view_open(&view, common->profile)) {
            common->wrong++;
            continue;
        }
        cairn_view_close(view);
        uint64_t now = total_of(common->profile).ticks;
        common->wrong += now < last;
        last = now;
    }
    return NULL;
}

static void threads_are_sampled_at_ten_kilohertz(void **state)
{
    (void)state;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.wall = CAIRN_WALL_SAMPLED;
    options.sample_period_ns = 100000;
    options.sample_overhead = 0;
    setup s = setup_open(&options, BLOCKS);
    shared common = {.profile = s.profile};
    pthread_t threads[THREADS], reader;
    assert_int_equal(pthread_create(&reader, NULL, read_on, &common), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &common), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    common.ended = true;
    pthread_join(reader, NULL);
    assert_int_equal(common.wrong, 0);
    assert_int_equal(total_of(s.profile).ticks, common.ticks);
    assert_true(total_of(s.profile).wall > 0);
    assert_int_equal(total_of(s.profile).calls, 1 + THREADS);
    setup_close(&s);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(calls_are_not_counted_and_costs_find_their_context),
        cmocka_unit_test(marks_undo_what_came_after_them),
        cmocka_unit_test(misuse_is_defined_and_counted),
        cmocka_unit_test(without_a_profile_nothing_happens),
        cmocka_unit_test(memory_of_one_kind_serves_the_other),
        cmocka_unit_test(frames_without_memory_are_still_frames),
        cmocka_unit_test(a_stack_that_cannot_be_opened_is_null),
        cmocka_unit_test(a_child_continues),
        cmocka_unit_test(threads_are_sampled_at_ten_kilohertz),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
