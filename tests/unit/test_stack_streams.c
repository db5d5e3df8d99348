/* SPDX-License-Identifier: MIT
 *
 * test_stack_streams.c - random and adversarial event streams, played to strands that record only
 * their stack and to plain arrays of blocks, which are walked from the bottom at each charge.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "support/cases.h"
#include "support/compare.h"
#include "support/profiles.h"
#include "support/scratch.h"
#include "support/streams.h"

/* ---- reference ---- */

enum { ROOM = 1 << 14, FRAMES_MOST = ROOM - 2 };

typedef struct plain_stack {
    uint32_t at_root; /* 0, or what replaced the root */
    uint32_t *blocks;
    size_t depth;
} plain_stack;

typedef struct pair {
    cairn_stack *stack;
    plain_stack plain;
    cairn_mark marks[STREAM_MARKS];
} pair;

static void plain_replace(plain_stack *plain, uint32_t block)
{
    if (plain->depth)
        plain->blocks[plain->depth - 1] = block;
    else
        plain->at_root = block;
}

/* The path in `path`, which has room for ROOM blocks. */
static uint32_t plain_path(const plain_stack *plain, uint32_t *path)
{
    uint32_t length = 0;
    if (plain->at_root)
        path[length++] = plain->at_root;
    memcpy(path + length, plain->blocks, plain->depth * sizeof(*path));
    return length + (uint32_t)plain->depth;
}

/* ---- streams of events ---- */

typedef struct player {
    const stream *played;
    cairn_profile *profile;
    cairn_lane *lanes[STREAM_SLOTS];
    pair pairs[STREAM_SLOTS];
    uint32_t block_count;
    bool recording;
    reference_graph graph;
    reference_strand root; /* whose root is sampled from */
    uint32_t path[ROOM];
    difference found;
} player;

static void open_pair(player *p, uint32_t slot)
{
    pair *t = &p->pairs[slot];
    t->stack = cairn_stack_open(p->lanes[slot % p->played->lanes]);
    assert_non_null(t->stack);
    if (!t->plain.blocks)
        t->plain.blocks = malloc(ROOM * sizeof(uint32_t));
    t->plain.depth = 0;
    t->plain.at_root = 0;
    memset(t->marks, 0, sizeof(t->marks));
    reference_strand another; /* the root's calls */
    reference_strand_start(&another, &p->graph, p->recording);
    reference_strand_end(&another);
}

static void charge(player *p, pair *t, uint32_t ticks, bool tick)
{
    if (tick)
        cairn_stack_tick(t->stack, ticks);
    else
        cairn_charge(cairn_stack_strand(t->stack), CAIRN_METRIC_TICKS, ticks);
    uint32_t length = plain_path(&t->plain, p->path);
    reference_sample(&p->root, p->path, length, ticks, p->recording);
}

static void check_view(player *p)
{
    cairn_view *view;
    assert_int_equal(cairn_view_open(&view, p->profile), CAIRN_OK);
    if (!compare_view(view, &p->graph, &p->found))
        fail_msg("stream %llu (%s): %s", (unsigned long long)p->played->seed, p->played->pattern,
                 p->found.text);
    cairn_view_close(view);
}

/* The cached context of the lower frames equals that of a walk. */
static void check_kept(pair *t)
{
    cairn_strand *strand = cairn_stack_strand(t->stack);
    assert_int_equal(cairn_strand_depth(strand), t->plain.depth);
    assert_true(strand->resolved <= t->plain.depth);
    cairn_context context = CAIRN_CONTEXT_ROOT;
    if (strand->resolved && t->plain.at_root)
        context = cairn_context_step(crn_lane_of(strand), context, t->plain.at_root);
    for (size_t i = 0; i < strand->resolved; i++) {
        context = cairn_context_step(crn_lane_of(strand), context, t->plain.blocks[i]);
        assert_int_equal(strand->records[i], context);
    }
}

/* One stream in four uses the verbs that count, which are to do the same. */
static void move(player *p, pair *t, const event *e, cairn_block block)
{
    cairn_strand *strand = cairn_stack_strand(t->stack);
    bool cast = p->played->seed % 4 == 3;
    if (e->kind == EVENT_ENTER && t->plain.depth < FRAMES_MOST) {
        cast ? cairn_enter(strand, block) : (void)cairn_stack_enter(t->stack, block);
        t->plain.blocks[t->plain.depth++] = block;
    } else if (e->kind == EVENT_REPLACE) {
        cast ? cairn_replace(strand, block) : cairn_stack_replace(t->stack, block);
        plain_replace(&t->plain, block);
    } else if (e->kind == EVENT_LEAVE) {
        cast ? cairn_leave(strand) : cairn_stack_leave(t->stack);
        t->plain.depth -= t->plain.depth > 0;
    } else if (e->kind == EVENT_UNWIND) {
        size_t mark = t->marks[e->value];
        cast ? cairn_strand_unwind(strand, mark) : cairn_stack_unwind(t->stack, mark);
        t->plain.depth = mark < t->plain.depth ? mark : t->plain.depth;
    }
}

static void reopen_lane(player *p, uint32_t lane)
{
    cairn_lane_close(p->lanes[lane]);
    p->lanes[lane] = cairn_lane_open(p->profile, "again");
    assert_non_null(p->lanes[lane]);
    for (uint32_t slot = lane; slot < STREAM_SLOTS; slot += p->played->lanes)
        p->pairs[slot].stack = NULL;
}

static void set_recording(player *p, bool recording)
{
    p->recording = recording;
    recording ? cairn_profile_enable(p->profile) : cairn_profile_disable(p->profile);
}

static void play(player *p, const event *e)
{
    pair *t = &p->pairs[e->slot];
    if (!t->stack)
        open_pair(p, e->slot);
    cairn_block block = e->value == STREAM_ROOT ? CAIRN_BLOCK_ROOT : 1 + e->value % p->block_count;
    switch ((event_kind)e->kind) {
    case EVENT_ENTER:
    case EVENT_REPLACE:
    case EVENT_LEAVE:
    case EVENT_UNWIND:
        move(p, t, e, block);
        return;
    case EVENT_TICK: /* few, so that much happens between two */
        if (e->value % 5 == 0)
            charge(p, t, e->value, true);
        return;
    case EVENT_CHARGE:
    case EVENT_SAMPLE:
        charge(p, t, e->value % 1000, false);
        return;
    case EVENT_MARK:
        t->marks[e->value] = cairn_strand_mark(cairn_stack_strand(t->stack));
        assert_int_equal(t->marks[e->value], t->plain.depth);
        return;
    case EVENT_OPEN:
        cairn_strand_close(cairn_stack_strand(t->stack));
        open_pair(p, e->slot);
        return;
    case EVENT_SWITCH:
        cairn_strand_switch(cairn_stack_strand(t->stack));
        return;
    case EVENT_LANE_CLOSE:
        reopen_lane(p, e->slot % p->played->lanes);
        return;
    case EVENT_BLOCK_ADD:
        p->block_count++;
        setup_blocks(p->profile, p->block_count, p->block_count);
        return;
    case EVENT_ENABLE:
    case EVENT_DISABLE:
        set_recording(p, e->kind == EVENT_ENABLE);
        return;
    case EVENT_CHECK:
        check_kept(t);
        check_view(p);
    }
}

static void play_stream(uint64_t seed, size_t limit)
{
    stream made;
    stream_make(&made, seed, limit);
    player *p = calloc(1, sizeof(*p));
    p->played = &made;
    p->recording = !made.disabled;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path_limit = made.path_limit;
    options.context_budget = made.budget;
    options.disabled = made.disabled;
    assert_int_equal(cairn_profile_open(&p->profile, &options), CAIRN_OK);
    setup_blocks(p->profile, 1, p->block_count = made.block_count);
    reference_graph_start(&p->graph, made.path_limit, made.budget);
    reference_strand_start(&p->root, &p->graph, false);
    for (uint32_t i = 0; i < made.lanes; i++)
        p->lanes[i] = cairn_lane_open(p->profile, "lane");
    for (size_t i = 0; i < made.count; i++)
        play(p, &made.events[i]);
    for (uint32_t i = 0; i < STREAM_SLOTS; i++)
        if (p->pairs[i].stack)
            check_kept(&p->pairs[i]);
    check_view(p);
    cairn_profile_close(p->profile);
    for (uint32_t i = 0; i < STREAM_SLOTS; i++)
        free(p->pairs[i].plain.blocks);
    reference_strand_end(&p->root);
    reference_graph_end(&p->graph);
    stream_free(&made);
    free(p);
}

static void streams_are_charged_like_the_reference(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= scale(6000); seed++)
        play_stream(seed, seed % 10 ? 300 : 10000);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(streams_are_charged_like_the_reference),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
