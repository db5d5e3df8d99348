/* SPDX-License-Identifier: MIT
 *
 * test_redirect.c - strands that are redirected to another profile for a while.
 */
#include <pthread.h>
#include <string.h>

#include <cairn/stack.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "runtime/runtime.h"
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

/* ---- stacks of blocks ---- */

static void charge_and_leave(cairn_strand *strand, uint64_t ticks)
{
    cairn_charge(strand, CAIRN_METRIC_TICKS, ticks);
    cairn_leave(strand);
}

static void a_stack_of_blocks_takes_over_the_frames(void **state)
{
    (void)state;
    setup s = setup_open(NULL, BLOCKS);
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.blocks_of = s.profile;
    options.path_limit = 3; /* folds most paths; frames keep their blocks */
    cairn_profile *other;
    assert_int_equal(cairn_profile_open(&other, &options), CAIRN_OK);
    cairn_strand *strand = cairn_stack_strand(cairn_stack_open(s.lane));
    for (cairn_block block = 1; block <= 5; block++)
        cairn_enter(strand, block);
    cairn_strand *away = cairn_strand_redirect(strand, other);
    cairn_leave(away);
    cairn_replace(away, 6); /* in place of 4 */
    cairn_enter(away, 7);
    cairn_enter(away, 1);
    cairn_replace(away, 8);
    cairn_strand_return(strand);
    assert_int_equal(cairn_strand_depth(strand), 6);
    for (uint64_t ticks = 1; cairn_strand_depth(strand) > 0; ticks *= 10)
        charge_and_leave(strand, ticks);
    assert_int_equal(cost_at(s.profile, "1 2 3 6 7 8").ticks, 1);
    assert_int_equal(cost_at(s.profile, "1 2 3 6 7").ticks, 10);
    assert_int_equal(cost_at(s.profile, "1 2 3 6").ticks, 100);
    assert_int_equal(cost_at(s.profile, "1 2 3").ticks, 1000);
    assert_int_equal(cost_at(s.profile, "1 2").ticks, 10000);
    assert_int_equal(cost_at(s.profile, "1").ticks, 100000);
    assert_int_equal(s.lane->disk->misuses, 0);
    cairn_profile_close(other);
    setup_close(&s);
}

static void frames_of_a_full_graph_come_back_without_misuse(void **state)
{
    (void)state;
    setup s = setup_open(NULL, BLOCKS);
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.blocks_of = s.profile;
    options.file_limit = 300000;
    cairn_profile *other;
    assert_int_equal(cairn_profile_open(&other, &options), CAIRN_OK);
    cairn_strand *strand = cairn_stack_strand(cairn_stack_open(s.lane));
    cairn_enter(strand, 1);
    cairn_strand *away = cairn_strand_redirect(strand, other);
    random_source random = {1};
    for (int i = 0; i < 1000000 && cairn_profile_status(other) == CAIRN_OK; i++) {
        cairn_enter(away, 1 + random_below(&random, BLOCKS));
        if (cairn_strand_depth(away) > 30)
            cairn_strand_unwind(away, 1);
    }
    assert_int_equal(cairn_profile_status(other), CAIRN_E_SPACE);
    cairn_strand_unwind(away, 1);
    for (int i = 0; i < 7; i++)
        cairn_enter(away, 1 + random_below(&random, BLOCKS));
    cairn_strand_return(strand);
    assert_int_equal(cairn_strand_depth(strand), 8);
    cairn_charge(strand, CAIRN_METRIC_TICKS, 1);
    cairn_enter(strand, 3); /* and again, on frames that are not known */
    away = cairn_strand_redirect(strand, other);
    cairn_enter(away, 4);
    cairn_strand_return(strand);
    for (uint64_t ticks = 10; cairn_strand_depth(strand) > 0; ticks *= 2)
        charge_and_leave(strand, ticks);
    assert_int_equal(cost_at(s.profile, "1").ticks, 10 << 9);
    assert_int_equal(total_of(s.profile).ticks, 1 + 10 * ((1 << 10) - 1));
    assert_int_equal(s.lane->disk->misuses, 0);
    cairn_profile_close(other);
    setup_close(&s);
}

/* Replacing the root is misuse. */
static void a_replaced_root_goes_along(void **state)
{
    (void)state;
    setup s = setup_open(NULL, BLOCKS);
    cairn_profile *other = open_sibling(&s, CAIRN_WALL_OFF, NULL);
    cairn_strand *strand = cairn_stack_strand(cairn_stack_open(s.lane));
    cairn_replace(strand, 3);
    cairn_enter(strand, 1);
    cairn_enter(strand, 2);
    cairn_strand *away = cairn_strand_redirect(strand, other);
    charge_and_leave(away, 1);
    charge_and_leave(away, 10);
    cairn_charge(away, CAIRN_METRIC_TICKS, 100);
    cairn_replace(away, 4);
    cairn_enter(away, 5);
    cairn_strand_return(strand);
    charge_and_leave(strand, 1000);
    cairn_charge(strand, CAIRN_METRIC_TICKS, 10000);
    assert_int_equal(cost_at(other, "3 1 2").ticks, 1);
    assert_int_equal(cost_at(other, "3 1").ticks, 10);
    assert_int_equal(cost_at(other, "3").ticks, 100);
    assert_int_equal(cost_at(s.profile, "4 5").ticks, 1000);
    assert_int_equal(cost_at(s.profile, "4").ticks, 10000);
    cairn_profile_close(other);
    setup_close(&s);
}

static void frames_without_memory_come_back_as_frames(void **state)
{
    (void)state;
    setup s = setup_open(NULL, BLOCKS);
    cairn_profile *other = open_sibling(&s, CAIRN_WALL_OFF, NULL);
    cairn_strand *strand = cairn_stack_strand(cairn_stack_open(s.lane));
    for (cairn_block block = 1; block <= 3; block++) /* so that there is room for three */
        cairn_enter(strand, block);
    cairn_strand_unwind(strand, 1);
    cairn_strand *away = cairn_strand_redirect(strand, other);
    for (cairn_block i = 0; i < 1000; i++)
        cairn_enter(away, 2 + i % 3);
    crn_memory_fail_at(1);
    for (int i = 0; i < 1000; i++)
        cairn_enter(away, 5);
    cairn_strand_return(strand);
    crn_memory_fail_at(0);
    assert_int_equal(cairn_strand_depth(strand), 2001);
    assert_int_equal(cairn_profile_status(s.profile), CAIRN_E_MEMORY);
    cairn_strand_unwind(strand, 3);
    charge_and_leave(strand, 1);
    charge_and_leave(strand, 10);
    charge_and_leave(strand, 100);
    assert_int_equal(cairn_strand_depth(strand), 0);
    assert_int_equal(cost_at(s.profile, "1 2 3").ticks, 1);
    assert_int_equal(cost_at(s.profile, "1 2").ticks, 10);
    assert_int_equal(cost_at(s.profile, "1").ticks, 100);
    assert_int_equal(s.lane->disk->misuses, 0);
    cairn_profile_close(other);
    setup_close(&s);
}

enum { DEEPEST = 80, REPLACED_MOST = 8 };

/* A plain stack: of each frame the block that was entered, and those that replaced it in turn. A
 * stack of blocks has only the last. */
typedef struct plain_stack {
    uint32_t blocks[DEEPEST][REPLACED_MOST], counts[DEEPEST];
    size_t depth;
} plain_stack;

static void plain_keep_last(plain_stack *plain)
{
    for (size_t i = 0; i < plain->depth; i++) {
        plain->blocks[i][0] = plain->blocks[i][plain->counts[i] - 1];
        plain->counts[i] = 1;
    }
}

static uint32_t plain_path(const plain_stack *plain, uint32_t *path)
{
    uint32_t length = 0;
    for (size_t i = 0; i < plain->depth; i++)
        for (uint32_t k = 0; k < plain->counts[i]; k++)
            path[length++] = plain->blocks[i][k];
    return length;
}

/* A strand of blocks, and what runs in its place: the innermost redirection is the last. */
typedef struct redirected {
    cairn_strand *strands[16]; /* NULL: nothing is recorded */
    int profiles[16];
    int depth;
    plain_stack plain;
    reference_graph graphs[2];
    reference_strand roots[2];
    random_source random;
} redirected;

static void charge_both(redirected *r)
{
    uint32_t path[DEEPEST * REPLACED_MOST], ticks = 1 + random_below(&r->random, 100);
    uint32_t length = plain_path(&r->plain, path);
    cairn_charge(r->strands[r->depth], CAIRN_METRIC_TICKS, ticks);
    reference_sample(&r->roots[r->profiles[r->depth]], path, length, ticks, true);
}

static void step_both(redirected *r)
{
    plain_stack *plain = &r->plain;
    cairn_strand *strand = r->strands[r->depth];
    uint32_t pick = random_below(&r->random, 16), block = 1 + random_below(&r->random, BLOCKS);
    size_t top = plain->depth - 1;
    if (pick < 6 && plain->depth < DEEPEST) {
        cairn_enter(strand, block);
        plain->blocks[plain->depth][0] = block;
        plain->counts[plain->depth++] = 1;
    } else if (pick < 8 && plain->depth && plain->counts[top] < REPLACED_MOST) {
        cairn_replace(strand, block);
        plain->blocks[top][plain->counts[top]++] = block;
    } else if (pick < 12 && plain->depth) {
        cairn_leave(strand);
        plain->depth--;
    } else if (pick < 13) {
        plain->depth -= random_below(&r->random, (uint32_t)plain->depth + 1) / 2;
        cairn_strand_unwind(strand, plain->depth);
    } else {
        charge_both(r);
    }
    if (!r->depth)
        plain_keep_last(plain);
}

static void redirect_both(redirected *r, cairn_profile *profiles[2])
{
    int to = (int)random_below(&r->random, 5) / 2; /* 2: nowhere */
    r->depth++;
    r->strands[r->depth] = cairn_strand_redirect(r->strands[0], to < 2 ? profiles[to] : NULL);
    r->profiles[r->depth] = to;
    assert_true(to == 2 ? !r->strands[r->depth] : r->strands[r->depth] != NULL);
}

static void return_both(redirected *r)
{
    cairn_strand_return(r->strands[0]);
    int below = --r->depth;
    while (!r->strands[below])
        below--;
    if (!below)
        plain_keep_last(&r->plain);
}

static void compare_ticks(cairn_profile *profile, const reference_graph *graph)
{
    cairn_view *view = view_of(profile);
    uint64_t ticks = 0;
    for (uint32_t c = 0; c < graph->context_count; c++) {
        const reference_context *context = &graph->contexts[c];
        cairn_cost cost = {0, 0, 0, 0};
        cairn_view_find(view, context->path + 1, context->length - 1, &cost);
        assert_int_equal(cost.ticks, context->ticks);
        ticks += context->ticks;
    }
    cairn_view_close(view);
    assert_int_equal(total_of(profile).ticks, ticks);
}

static void stacks_of_blocks_are_like_the_reference(void **state)
{
    (void)state;
    static const cairn_wall walls[] = {CAIRN_WALL_OFF, CAIRN_WALL_SAMPLED, CAIRN_WALL_EXACT};
    for (uint64_t seed = 1; seed <= scale(300); seed++) {
        cairn_options options = CAIRN_OPTIONS_DEFAULT;
        options.wall = walls[seed % 3];
        setup s = setup_open(&options, BLOCKS);
        cairn_profile *profiles[2] = {s.profile, open_sibling(&s, walls[seed / 3 % 3], NULL)};
        redirected r = {.random = {seed}};
        for (int i = 0; i < 2; i++) {
            reference_graph_start(&r.graphs[i], options.path_limit, UINT32_MAX);
            reference_strand_start(&r.roots[i], &r.graphs[i], false);
        }
        r.strands[0] = cairn_stack_strand(cairn_stack_open(s.lane));
        cairn_strand_switch(r.strands[0]);
        for (int i = 0; i < 60; i++) {
            for (uint32_t left = random_below(&r.random, 60); left && r.strands[r.depth]; left--)
                step_both(&r);
            if (r.depth < 15 && random_below(&r.random, 2))
                redirect_both(&r, profiles);
            else if (r.depth)
                return_both(&r);
        }
        while (r.depth)
            return_both(&r);
        assert_int_equal(cairn_strand_depth(r.strands[0]), r.plain.depth);
        for (charge_both(&r); r.plain.depth; charge_both(&r)) {
            cairn_leave(r.strands[0]);
            r.plain.depth--;
        }
        assert_int_equal(s.lane->disk->misuses, 0);
        for (int i = 0; i < 2; i++) {
            compare_ticks(profiles[i], &r.graphs[i]);
            reference_strand_end(&r.roots[i]);
            reference_graph_end(&r.graphs[i]);
        }
        cairn_profile_close(profiles[1]);
        setup_close(&s);
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
        cairn_enter(s.strand, 1); /* a reset lane begins its time at its next event */
        uint64_t begun = now_ns();
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
        uint64_t least = now_ns() - begun - silent_at_most;
        cairn_lane_close(s.lane);
        uint64_t passed = now_ns() - begin;
        uint64_t wall = total_of(s.profile).wall + total_of(other).wall;
        assert_in_range(wall, least - passed / 50, passed - silent + passed / 50);
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
        cmocka_unit_test(a_stack_of_blocks_takes_over_the_frames),
        cmocka_unit_test(frames_of_a_full_graph_come_back_without_misuse),
        cmocka_unit_test(a_replaced_root_goes_along),
        cmocka_unit_test(frames_without_memory_come_back_as_frames),
        cmocka_unit_test(stacks_of_blocks_are_like_the_reference),
        cmocka_unit_test(time_goes_to_one_or_the_other),
        cmocka_unit_test(profiles_can_end_in_any_order),
        cmocka_unit_test(threads_do_it_at_once),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
