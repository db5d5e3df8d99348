/* SPDX-License-Identifier: MIT
 *
 * test_redirect.c - strands that are redirected to another profile for a while.
 */
#include <pthread.h>
#include <string.h>

#include "profile/profile.h"
#include "support/cases.h"
#include "support/clock.h"
#include "support/compare.h"
#include "support/profiles.h"
#include "support/scratch.h"
#include "support/walker.h"

enum { BLOCKS = 8 };

static cairn_profile *open_sibling(setup *s, cairn_wall wall, const char *path)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.blocks_of = s->profile;
    options.wall = wall;
    options.path = path;
    cairn_profile *other;
    assert_int_equal(cairn_profile_open(&other, &options), CAIRN_OK);
    return other;
}

static void the_stack_goes_along(void **state)
{
    (void)state;
    setup s = setup_open(NULL, BLOCKS);
    cairn_profile *other = open_sibling(&s, CAIRN_WALL_OFF, NULL);
    cairn_enter(s.strand, 1);
    cairn_enter(s.strand, 2);
    cairn_mark mark = cairn_strand_mark(s.strand);
    cairn_strand *away = cairn_strand_redirect(s.strand, other);
    assert_int_equal(cairn_strand_depth(away), 2);
    cairn_enter(away, 3);
    cairn_tick(away, 5);
    cairn_leave(away);
    assert_int_equal(cairn_strand_mark(away), mark);
    cairn_leave(away);
    cairn_enter(away, 4);
    cairn_enter(away, 5);
    cairn_strand_return(s.strand);
    assert_int_equal(cairn_strand_depth(s.strand), 3);
    cairn_tick(s.strand, 9);
    cairn_strand_unwind(s.strand, 1);
    cairn_tick(s.strand, 1);
    assert_int_equal(total_of(s.profile).calls, 3);
    assert_int_equal(total_of(s.profile).ticks, 10);
    assert_int_equal(cost_at(s.profile, "1 4 5").ticks, 9);
    assert_int_equal(cost_at(s.profile, "1").ticks, 1);
    assert_int_equal(total_of(other).calls, 1 + 3);
    assert_int_equal(cost_at(other, "1 2").calls, 0);
    assert_int_equal(cost_at(other, "1 2 3").calls, 1);
    assert_int_equal(cost_at(other, "1 2 3").ticks, 5);
    assert_int_equal(cost_at(other, "1 4 5").calls, 1);
    cairn_profile_close(other);
    setup_close(&s);
}

static void nothing_is_recorded_under_null(void **state)
{
    (void)state;
    setup s = setup_open(NULL, BLOCKS);
    cairn_profile *other = open_sibling(&s, CAIRN_WALL_OFF, NULL);
    cairn_enter(s.strand, 1);
    assert_null(cairn_strand_redirect(s.strand, NULL));
    cairn_enter(NULL, 2);
    cairn_strand *away = cairn_strand_redirect(s.strand, other); /* and back, within */
    assert_int_equal(cairn_strand_depth(away), 1);
    cairn_enter(away, 3);
    assert_null(cairn_strand_redirect(away, NULL));
    cairn_strand_return(s.strand);
    cairn_strand *again = cairn_strand_redirect(s.strand, s.profile);
    cairn_enter(again, 4);
    cairn_strand_return(away);
    cairn_strand_return(s.strand);
    cairn_strand_return(s.strand);
    cairn_enter(s.strand, 5);
    assert_int_equal(cairn_strand_depth(s.strand), 4);
    assert_int_equal(total_of(s.profile).calls, 2 + 3);
    assert_int_equal(cost_at(s.profile, "1 3 4").calls, 1);
    assert_int_equal(cost_at(s.profile, "1 3 4 5").calls, 1);
    assert_int_equal(total_of(other).calls, 2);
    setup stranger = setup_open(NULL, BLOCKS);
    assert_null(cairn_strand_redirect(s.strand, stranger.profile));
    cairn_strand_return(s.strand);
    cairn_strand_return(s.strand); /* nothing to return from */
    cairn_profile_close(stranger.profile);
    cairn_profile_close(other);
    setup_close(&s);
}

static void siblings_have_the_same_blocks(void **state)
{
    (void)state;
    setup s = setup_open(NULL, BLOCKS);
    cairn_profile *second = open_sibling(&s, CAIRN_WALL_OFF, NULL);
    setup other = {second, NULL, NULL};
    cairn_profile *third = open_sibling(&other, CAIRN_WALL_OFF, NULL);
    setup_blocks(third, BLOCKS + 1, BLOCKS + 3);
    setup_blocks(s.profile, BLOCKS + 4, BLOCKS + 5);
    cairn_profile_close(second);
    setup_blocks(third, BLOCKS + 6, BLOCKS + 6);
    cairn_profile *both[] = {s.profile, third};
    for (size_t i = 0; i < COUNT(both); i++) {
        cairn_view *view;
        assert_int_equal(cairn_view_open(&view, both[i]), CAIRN_OK);
        for (cairn_block b = 1; b <= BLOCKS + 6; b++) {
            char name[16];
            snprintf(name, sizeof name, "b%u", b);
            assert_string_equal(cairn_view_block(view, b)->name, name);
        }
        assert_null(cairn_view_block(view, BLOCKS + 7));
        cairn_view_close(view);
    }
    cairn_profile_close(third);
    setup_close(&s);
}

/* ---- at random, against the reference ---- */

static void calls_are_split_like_the_reference(void **state)
{
    (void)state;
    enum { PROFILES = 3 };
    for (uint64_t seed = 1; seed <= 10; seed++) {
        char paths[PROFILES][SCRATCH_PATH];
        reference_graph graphs[PROFILES];
        cairn_profile *profiles[PROFILES];
        cairn_options options = path_options(scratch_path(paths[0], "0.cairn"));
        setup s = setup_open(&options, BLOCKS);
        profiles[0] = s.profile;
        profiles[1] = open_sibling(&s, CAIRN_WALL_SAMPLED, scratch_path(paths[1], "1.cairn"));
        profiles[2] = open_sibling(&s, CAIRN_WALL_EXACT, scratch_path(paths[2], "2.cairn"));
        for (int i = 0; i < PROFILES; i++)
            reference_graph_start(&graphs[i], 1024, UINT32_MAX);
        reference_strand reference;
        reference_strand_start(&reference, &graphs[0], true);
        walker walk = {s.strand, &reference, {seed}, BLOCKS, 0, 0};
        int levels[16] = {0}, depth = 0;
        cairn_strand *strands[16] = {s.strand};
        for (int i = 0; i < 60; i++) {
            walker_walk(&walk, random_below(&walk.random, (uint32_t)scale(800) + 2));
            if (depth < 15 && random_below(&walk.random, 2)) {
                int to = (int)random_below(&walk.random, PROFILES);
                cairn_strand *from = strands[random_below(&walk.random, (uint32_t)depth + 1)];
                strands[++depth] = cairn_strand_redirect(from, profiles[to]);
                assert_non_null(strands[depth]);
                levels[depth] = to;
                graphs[to].contexts[REFERENCE_ROOT].calls++;
            } else if (depth > 0) {
                cairn_strand_return(strands[random_below(&walk.random, (uint32_t)depth)]);
                depth--;
            }
            if (reference.graph != &graphs[levels[depth]])
                reference_strand_move(&reference, &graphs[levels[depth]]);
            walk.strand = strands[depth];
        }
        walker_walk(&walk, 50);
        for (; depth > 0; depth--)
            cairn_strand_return(s.strand);
        if (reference.graph != &graphs[0])
            reference_strand_move(&reference, &graphs[0]);
        walk.strand = s.strand;
        walker_walk(&walk, 50);
        for (int i = PROFILES - 1; i >= 0; i--) {
            cairn_view *view;
            assert_int_equal(cairn_view_open(&view, profiles[i]), CAIRN_OK);
            uint64_t calls = 0;
            for (uint32_t c = 0; c < graphs[i].context_count; c++)
                calls += graphs[i].contexts[c].calls;
            assert_int_equal(view_total(view).calls, calls);
            for (uint32_t c = 0; c < graphs[i].context_count; c++) {
                const reference_context *context = &graphs[i].contexts[c];
                cairn_cost cost = {0, 0, 0, 0};
                bool is = cairn_view_find(view, context->path + 1, context->length - 1, &cost);
                if (!is && context->calls + context->ticks)
                    fail_msg("seed %d: a context of profile %d is not there", (int)seed, i);
                assert_int_equal(cost.calls, context->calls);
                assert_int_equal(cost.ticks, context->ticks);
            }
            cairn_view_close(view);
            cairn_profile_close(profiles[i]);
        }
        reference_strand_end(&reference);
        for (int i = 0; i < PROFILES; i++)
            reference_graph_end(&graphs[i]);
    }
}

/* ---- time ---- */

static void spin(uint64_t ns)
{
    uint64_t end = now_ns() + ns;
    while (now_ns() < end)
        ;
}

/* Both profiles together have all time, including coroutines and pauses. */
static void time_goes_to_one_or_the_other(void **state)
{
    (void)state;
    for (int sampled = 0; sampled < 2; sampled++) {
        cairn_options options = CAIRN_OPTIONS_DEFAULT;
        options.wall = sampled ? CAIRN_WALL_SAMPLED : CAIRN_WALL_EXACT;
        setup s = setup_open(&options, BLOCKS);
        cairn_profile *other = open_sibling(&s, options.wall, NULL);
        cairn_strand *coroutine = cairn_strand_open(s.lane);
        uint64_t begin = now_ns();
        cairn_profile_reset(s.profile);
        cairn_enter(s.strand, 1);
        uint64_t silent = 0, silent_at_most = 0;
        for (int i = 0; i < 50; i++) {
            cairn_strand *away = cairn_strand_redirect(s.strand, other);
            cairn_enter(away, 2);
            spin(200000);
            cairn_strand_switch(coroutine);
            cairn_enter(coroutine, 3);
            spin(100000);
            cairn_leave(coroutine);
            cairn_strand_switch(s.strand);
            cairn_leave(away);
            cairn_strand_return(s.strand);
            uint64_t before = now_ns();
            cairn_strand_redirect(s.strand, NULL);
            uint64_t within = now_ns();
            spin(50000);
            silent += now_ns() - within;
            cairn_strand_return(s.strand);
            silent_at_most += now_ns() - before;
        }
        cairn_lane_close(s.lane);
        uint64_t passed = now_ns() - begin;
        uint64_t wall = total_of(s.profile).wall + total_of(other).wall;
        assert_in_range(wall, passed - silent_at_most - passed / 50, passed - silent + passed / 50);
        assert_in_range(total_of(other).wall, 50 * 200000 / 10 * 9, passed);
        if (!sampled) /* else it goes to the context that is current at samples */
            assert_in_range(cost_at(s.profile, "3").wall, 50 * 100000 / 10 * 9, passed);
        assert_in_range(total_of(s.profile).wall, 50 * 100000 / 10 * 9, passed);
        cairn_profile_close(other);
        setup_close(&s);
    }
}

/* ---- ends ---- */

static void profiles_can_end_in_any_order(void **state)
{
    (void)state;
    for (int which = 0; which < 5; which++) {
        setup s = setup_open(NULL, BLOCKS);
        cairn_profile *other = open_sibling(&s, CAIRN_WALL_SAMPLED, NULL);
        cairn_enter(s.strand, 1);
        cairn_strand *away = cairn_strand_redirect(s.strand, other);
        cairn_enter(away, 2);
        if (which == 0)
            cairn_strand_close(s.strand);
        else if (which == 1)
            cairn_lane_close(s.lane);
        else if (which == 2)
            cairn_strand_close(away);
        else if (which == 3)
            cairn_profile_close(other);
        else
            setup_close(&s);
        if (which == 2 || which == 3) {
            cairn_strand_return(s.strand);
            assert_int_equal(cairn_strand_depth(s.strand), 1);
            cairn_enter(s.strand, 3);
            assert_int_equal(cost_at(s.profile, "1 3").calls, 1);
        }
        if (which != 3) {
            assert_int_equal(cost_at(other, "1 2").calls, 1);
            cairn_profile_close(other);
        }
        if (which != 4)
            setup_close(&s);
    }
}

typedef struct worker {
    cairn_profile *profiles[2];
    uint64_t seed, calls[2];
} worker;

static void *go_to_and_fro(void *data)
{
    worker *w = data;
    cairn_lane *lane = cairn_lane_open(w->profiles[0], "worker");
    cairn_strand *strand = cairn_strand_open(lane);
    walker walk = {.strand = strand, .random = {w->seed}, .blocks = 4};
    w->calls[0]++;
    for (int i = 0; i < 200; i++) {
        uint64_t before = walk.calls;
        walker_walk(&walk, 20);
        w->calls[0] += walk.calls - before;
        before = walk.calls;
        walk.strand = cairn_strand_redirect(strand, w->profiles[1]);
        walker_walk(&walk, 20);
        cairn_strand_return(strand);
        walk.strand = strand;
        w->calls[1] += walk.calls - before + 1;
    }
    cairn_lane_close(lane);
    return NULL;
}

static void threads_do_it_at_once(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    setup s = setup_open(NULL, BLOCKS);
    cairn_profile *other = open_sibling(&s, CAIRN_WALL_SAMPLED, NULL);
    worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){{s.profile, other}, (uint64_t)i, {0, 0}};
        pthread_create(&threads[i], NULL, go_to_and_fro, &workers[i]);
    }
    for (int i = 0; i < 20; i++) {
        cairn_block_add(i % 2 ? other : s.profile, &(cairn_block_info){.name = "more"});
        cairn_profile *third = open_sibling(&s, CAIRN_WALL_OFF, NULL);
        cairn_strand_redirect(s.strand, third);
        cairn_profile_close(third);
        cairn_strand_return(s.strand);
    }
    uint64_t calls[2] = {1, 0};
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        calls[0] += workers[i].calls[0];
        calls[1] += workers[i].calls[1];
    }
    assert_int_equal(total_of(s.profile).calls, calls[0]);
    assert_int_equal(total_of(other).calls, calls[1]);
    cairn_profile_close(other);
    setup_close(&s);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(the_stack_goes_along),
        cmocka_unit_test(nothing_is_recorded_under_null),
        cmocka_unit_test(siblings_have_the_same_blocks),
        cmocka_unit_test(calls_are_split_like_the_reference),
        cmocka_unit_test(time_goes_to_one_or_the_other),
        cmocka_unit_test(profiles_can_end_in_any_order),
        cmocka_unit_test(threads_do_it_at_once),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
