/* SPDX-License-Identifier: MIT
 *
 * test_stack_samples.c - contexts of samples on strands that record only their stack, and the cost
 * of a sample on a deep stack.
 */
#include <time.h>

#include "runtime/runtime.h"
#include "support/cases.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/reference.h"
#include "support/scratch.h"

/* A profile that is sampled so seldom that it takes only the samples of the test. */
static setup open_sampled(uint32_t blocks)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.wall = CAIRN_WALL_SAMPLED;
    options.sample_period_ns = (uint64_t)1 << 59;
    return setup_open(&options, blocks);
}

/* Requests a sample like the sampling thread: the next event charges `amount` to the context before
 * it. */
static void make_due(cairn_lane *lane, uint64_t amount)
{
    __atomic_store_n(&lane->pending.clock, lane->disk->stamp + amount, __ATOMIC_RELAXED);
    crn_strand_arm(lane->running);
}

static uint64_t wall_of(const cairn_lane *lane)
{
    uint64_t sum = 0;
    for (uint32_t record = 1; record < lane->graph.used; record++)
        sum += lane->graph.links[record].wall;
    return sum;
}

enum { DEPTH_MOST = 150, STRANDS = 3, BLOCKS = 7 };

typedef struct sampled {
    cairn_stack *stack;
    uint32_t blocks[DEPTH_MOST + 1]; /* the root first */
    uint32_t depth;
} sampled;

static void move_at_random(sampled *s, random_source *random, uint32_t calls_of_16)
{
    uint32_t pick = random_below(random, 16), block = 1 + random_below(random, BLOCKS);
    if (pick < calls_of_16 && s->depth < DEPTH_MOST) {
        cairn_stack_enter(s->stack, block);
        s->blocks[++s->depth] = block;
    } else if (pick == 15 && s->depth) {
        cairn_stack_replace(s->stack, block);
        s->blocks[s->depth] = block;
    } else if (pick == 14 && s->depth) {
        cairn_mark mark = s->depth - random_below(random, s->depth < 20 ? s->depth : 20);
        cairn_stack_unwind(s->stack, mark);
        s->depth = (uint32_t)mark;
    } else if (s->depth) {
        cairn_stack_leave(s->stack);
        s->depth--;
    }
}

/* Returns the canonical form of the stack, root first. */
static uint32_t canonical(const sampled *s, uint32_t *path)
{
    uint32_t length = 0;
    for (uint32_t i = 0; i <= s->depth; i++) {
        path[length] = s->blocks[i];
        length = reference_canonical_length(path, length + 1);
    }
    return length;
}

static void assert_context(const cairn_lane *lane, uint32_t record, const uint32_t *path,
                           uint32_t length)
{
    uint32_t context = crn_graph_target(&lane->graph, record);
    assert_int_equal(lane->graph.links[context].depth, length);
    for (uint32_t at = length; at > 0; at--) {
        assert_int_equal(lane->graph.links[context].block, path[at - 1]);
        context = lane->graph.links[context].from;
    }
}

/* Between two samples there are no events, some, or so many that the stack is a different one. The
 * sample is charged to the context that was current when it was requested, on its strand. */
static void samples_go_to_the_context_that_ran(void **state)
{
    (void)state;
    static sampled strands[STRANDS];
    static uint32_t path[DEPTH_MOST + 1];
    setup s = open_sampled(BLOCKS);
    cairn_strand_close(s.strand); /* so that no other runs */
    random_source random = {5};
    for (int i = 0; i < STRANDS; i++)
        strands[i] = (sampled){.stack = cairn_stack_open(s.lane)};
    sampled *running = &strands[0];
    uint32_t rounds = (uint32_t)scale(4000);
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t most = round % 3 ? 6 : 600, calls = round / 100 % 2 ? 6 : 9;
        for (uint32_t events = random_below(&random, most); events > 0; events--)
            move_at_random(running, &random, calls);
        uint64_t before = wall_of(s.lane), samples = s.lane->disk->samples;
        uint32_t length = canonical(running, path);
        make_due(s.lane, 1 + round);
        if (round % 7 == 0) { /* the next event, on any strand, takes the sample and charges the
                                 right context */
            running = &strands[random_below(&random, STRANDS)];
            cairn_strand_switch(cairn_stack_strand(running->stack));
        }
        while (s.lane->disk->samples == samples)
            move_at_random(running, &random, calls);
        assert_int_equal(wall_of(s.lane), before + 1 + round);
        assert_context(s.lane, (uint32_t)s.lane->disk->current, path, length);
    }
    setup_close(&s);
}

/* The work of a sample is proportional to the events since the last one, on a stack that grows a
 * million deep, sways and shrinks. */
static void a_sample_costs_the_events_since_the_last(void **state)
{
    (void)state;
    enum { DEEP = 1000000, BETWEEN = 500 };
    setup s = setup_open(NULL, 2);
    cairn_stack *stack = cairn_stack_open(s.lane);
    cairn_strand *strand = cairn_stack_strand(stack);
    uint64_t moves = 0, looked_up = 0, samples = 0;
    random_source random = {9};
    bool down = false;
    while (!down || cairn_strand_depth(strand) > 0) {
        down |= cairn_strand_depth(strand) == DEEP;
        uint32_t calls = down ? 7 : moves / 100000 % 2 ? 8 : 13; /* of 16 */
        if (random_below(&random, 16) < calls)
            cairn_stack_enter(stack, 1 + random_below(&random, 2));
        else if (cairn_strand_depth(strand) > 0)
            cairn_stack_leave(stack);
        if (++moves % BETWEEN)
            continue;
        looked_up += cairn_strand_depth(strand) - strand->resolved;
        assert_true(looked_up <= 3 * moves);
        cairn_charge(strand, CAIRN_METRIC_TICKS, 1);
        assert_int_equal(strand->resolved, cairn_strand_depth(strand));
        samples++;
    }
    assert_true(looked_up >= DEEP);
    assert_int_equal(total_of(s.profile).ticks, samples);
    setup_close(&s);
}

static void a_long_return_is_mostly_fast(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    cairn_stack *stack = cairn_stack_open(s.lane);
    cairn_strand *strand = cairn_stack_strand(stack);
    for (int i = 0; i < 1000000; i++)
        cairn_stack_enter(stack, 1 + (cairn_block)(i & 1));
    cairn_stack_tick(stack, 1);
    int slow = 0;
    while (cairn_strand_depth(strand) > 0) {
        size_t resolved = strand->resolved;
        cairn_stack_leave(stack);
        slow += strand->resolved != resolved;
    }
    assert_in_range(slow, 1, 21);
    assert_int_equal(cost_at(s.profile, "1 2").ticks, 1);
    setup_close(&s);
}

static void sampled_ticks_sum_to_the_total(void **state)
{
    (void)state;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.tick_period = 97;
    setup s = setup_open(&options, 5);
    cairn_stack *stack = cairn_stack_open(s.lane);
    cairn_strand_switch(cairn_stack_strand(stack));
    uint64_t ticks = 0;
    for (int i = 0; i < 97 * 1000; i++) {
        cairn_stack_enter(stack, 1 + (cairn_block)(i % 5));
        cairn_stack_tick(stack, 3);
        ticks += 3;
        cairn_stack_leave(stack);
    }
    uint64_t seen = total_of(s.profile).ticks;
    assert_true(seen <= ticks && seen + 2 * 97 >= ticks);
    for (cairn_block block = 1; block <= 5; block++) {
        char path[2] = {(char)('0' + block), 0};
        uint64_t share = cost_at(s.profile, path).ticks;
        assert_in_range(share, ticks / 5 - ticks / 20, ticks / 5 + ticks / 20);
    }
    setup_close(&s);
}

/* Every event reads the clock, and so every event has its context looked up. */
static void exact_time_is_right_though_not_cheap(void **state)
{
    (void)state;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.wall = CAIRN_WALL_EXACT;
    setup s = setup_open(&options, 3);
    cairn_stack *stack = cairn_stack_open(s.lane);
    cairn_strand_switch(cairn_stack_strand(stack));
    for (int i = 0; i < 20; i++) {
        cairn_stack_enter(stack, 1);
        cairn_stack_enter(stack, 2);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        cairn_stack_replace(stack, 3);
        cairn_stack_leave(stack);
        cairn_stack_leave(stack);
    }
    assert_true(cost_at(s.profile, "1 2").wall >= 19500000); /* the calibration is young */
    assert_true(cost_at(s.profile, "1").wall > 0);
    assert_true(cost_at(s.profile, "1 3").wall > 0);
    assert_true(cost_at(s.profile, "1 2").wall > cost_at(s.profile, "1").wall);
    setup_close(&s);
}

/* ---- off and on ---- */

static void frames_entered_while_off_are_there(void **state)
{
    (void)state;
    setup s = open_sampled(5);
    cairn_strand_close(s.strand);
    cairn_stack *stack = cairn_stack_open(s.lane);
    cairn_strand *strand = cairn_stack_strand(stack);
    cairn_stack_enter(stack, 1);
    cairn_profile_disable(s.profile);
    cairn_stack_enter(stack, 2);
    cairn_stack_enter(stack, 3);
    cairn_stack_tick(stack, 1000);
    cairn_charge(strand, CAIRN_METRIC_TICKS, 1000);
    assert_int_equal(cost_at(s.profile, "1 2").ticks, 0);
    assert_int_equal(contexts_in(s.profile), 2); /* 1 was charged time until then */
    assert_true(wall_of(s.lane) > 0);
    cairn_profile_enable(s.profile);
    cairn_stack_tick(stack, 1);
    cairn_stack_leave(stack);
    cairn_stack_tick(stack, 2);
    assert_int_equal(cost_at(s.profile, "1 2 3").ticks, 1);
    assert_int_equal(cost_at(s.profile, "1 2").ticks, 2);
    assert_int_equal(total_of(s.profile).ticks, 3);
    setup_close(&s);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(samples_go_to_the_context_that_ran),
        cmocka_unit_test(a_sample_costs_the_events_since_the_last),
        cmocka_unit_test(a_long_return_is_mostly_fast),
        cmocka_unit_test(sampled_ticks_sum_to_the_total),
        cmocka_unit_test(exact_time_is_right_though_not_cheap),
        cmocka_unit_test(frames_entered_while_off_are_there),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
