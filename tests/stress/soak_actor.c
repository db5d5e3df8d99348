/* SPDX-License-Identifier: MIT
 *
 * soak_actor.c - a lane and its random events.
 */
#include "stress/soak.h"
#include "support/clock.h"

uint64_t soak_now(void)
{
    return now_ns();
}

static soak_time both_clocks(void)
{
    return (soak_time){soak_now(), own_cpu()};
}

/* ---- taking and giving lanes ---- */

void soak_actor_take(soak_actor *actor)
{
    actor->taken_before = both_clocks();
    actor->taking = true;
    if (actor->lane)
        soak_follow(actor, actor->strands[actor->active]);
}

static void is_taken(soak_actor *actor)
{
    actor->taken_after = both_clocks();
    actor->taking = false;
}

/* `let_go` gives the lane up: the time since it was taken lies between these clocks. */
static void give(soak_actor *actor, void (*let_go)(cairn_lane *lane), bool recording)
{
    soak_follow(actor, NULL);
    soak_time before = both_clocks();
    let_go(actor->lane);
    soak_time after = both_clocks();
    if (!recording)
        return;
    actor->did.most.wall += after.wall - actor->taken_before.wall;
    actor->did.most.cpu += after.cpu - actor->taken_before.cpu;
    if (actor->taking)
        return;
    actor->did.least.wall += before.wall - actor->taken_after.wall;
    actor->did.least.cpu += before.cpu - actor->taken_after.cpu;
}

void soak_actor_give(soak_actor *actor, bool recording)
{
    give(actor, cairn_lane_hand_over, recording);
}

/* ---- events ---- */

static void open_strand(soak_actor *actor, unsigned which, bool recording)
{
    if (actor->profile)
        actor->strands[which] = cairn_strand_open(actor->lane);
    else
        reference_strand_start(&actor->references[which], actor->graph, recording);
    actor->did.calls += recording;
    actor->did.roots += recording;
    actor->depth[which] = 0;
    for (unsigned i = 0; i < SOAK_MARKS; i++)
        actor->marks[which][i] = 0;
}

static void close_strand(soak_actor *actor, unsigned which)
{
    soak_spans_unwound(actor, which, 0);
    if (actor->profile)
        cairn_strand_close(actor->strands[which]);
    else
        reference_strand_end(&actor->references[which]);
}

void soak_actor_start(soak_actor *actor, bool recording)
{
    soak_actor_take(actor);
    if (actor->profile)
        actor->lane = cairn_lane_open(actor->profile, "soak");
    actor->active = 0;
    for (unsigned i = 0; i < SOAK_STRANDS; i++)
        open_strand(actor, i, recording);
    is_taken(actor);
    if (actor->profile)
        soak_follow(actor, actor->strands[0]);
    actor->did.lanes++;
}

void soak_actor_end(soak_actor *actor, bool recording)
{
    if (actor->profile) {
        give(actor, cairn_lane_close, recording);
        actor->lane = NULL;
    }
    for (unsigned i = 0; i < SOAK_STRANDS; i++) {
        if (!actor->profile)
            reference_strand_end(&actor->references[i]);
        soak_spans_unwound(actor, i, 0);
    }
}

static void run_another(soak_actor *actor, unsigned which)
{
    actor->active = which;
    if (!actor->profile)
        return;
    cairn_strand_switch(actor->strands[which]);
    soak_follow(actor, actor->strands[which]);
}

/* Closes a strand other than the current one, and opens one in its place. */
static void renew(soak_actor *actor, unsigned which, bool recording)
{
    if (which == actor->active)
        run_another(actor, (which + 1) % SOAK_STRANDS);
    close_strand(actor, which);
    open_strand(actor, which, recording);
}

void soak_enter(soak_actor *actor, uint32_t block, bool recording)
{
    actor->depth[actor->active]++;
    if (actor->profile)
        cairn_enter(actor->strands[actor->active], block);
    else
        reference_enter(&actor->references[actor->active], block, recording);
    actor->did.calls += recording;
    actor->verbs++;
}

static void replace(soak_actor *actor, uint32_t block, bool recording)
{
    if (actor->profile)
        cairn_replace(actor->strands[actor->active], block);
    else
        reference_replace(&actor->references[actor->active], block, recording);
    actor->did.calls += recording;
    actor->verbs++;
}

static void leave(soak_actor *actor)
{
    size_t *depth = &actor->depth[actor->active];
    if (*depth && *depth == soak_spans_height(actor)) {
        soak_span_end(actor);
        return;
    }
    if (actor->profile)
        cairn_leave(actor->strands[actor->active]);
    else
        reference_leave(&actor->references[actor->active]);
    actor->verbs++;
    *depth -= *depth > 0;
}

static void tick(soak_actor *actor, uint32_t count, bool recording)
{
    if (actor->profile)
        cairn_tick(actor->strands[actor->active], count);
    else
        reference_tick(&actor->references[actor->active], count, recording);
    actor->did.ticks += recording ? count : 0;
}

static void charge(soak_actor *actor, uint32_t which, uint32_t amount, bool recording)
{
    if (actor->profile)
        cairn_charge(actor->strands[actor->active], actor->metrics[which], amount);
    else
        reference_charge(&actor->references[actor->active], which, amount, recording);
    actor->did.user[which] += recording ? amount : 0;
}

static void mark(soak_actor *actor, uint32_t which)
{
    actor->marks[actor->active][which] = actor->profile
                                             ? cairn_strand_mark(actor->strands[actor->active])
                                             : actor->references[actor->active].depth;
}

void soak_unwind(soak_actor *actor, size_t mark)
{
    unsigned which = actor->active;
    if (actor->profile)
        cairn_strand_unwind(actor->strands[which], mark);
    else
        reference_unwind(&actor->references[which], mark);
    if (mark >= actor->depth[which])
        return;
    actor->depth[which] = mark;
    soak_spans_unwound(actor, which, mark);
}

static void move(soak_actor *actor, uint32_t pick, uint32_t value, bool recording)
{
    if (pick < 90)
        soak_enter(actor, 1 + value % SOAK_BLOCKS, recording);
    else if (pick < 105)
        replace(actor, 1 + value % SOAK_BLOCKS, recording);
    else if (pick < 195)
        leave(actor);
    else if (pick < 220)
        tick(actor, value, recording);
    else if (pick < 235)
        charge(actor, value % SOAK_CHARGED, value, recording);
    else if (pick < 242)
        mark(actor, value % SOAK_MARKS);
    else if (pick < 249)
        soak_unwind(actor, actor->marks[actor->active][value % SOAK_MARKS]);
    else if (pick < 254)
        run_another(actor, value % SOAK_STRANDS);
    else if (pick < 255 || value % 16 || !recording)
        renew(actor, value % SOAK_STRANDS, recording);
    else {
        soak_actor_end(actor, recording);
        soak_actor_start(actor, recording);
    }
}

/* Returns false if the step has to wait for another actor's. */
static bool step(soak_actor *actor, bool recording)
{
    random_source before = actor->random;
    uint32_t pick = random_below(&actor->random, 320);
    uint32_t value = random_below(&actor->random, 1 << 16);
    if (pick < 256)
        move(actor, pick, value, recording);
    else if (pick < 272)
        soak_span_begin(actor, recording);
    else if (pick < 288)
        soak_span_end(actor);
    else if (pick < 293)
        soak_token_take(actor, value);
    else if (pick < 299) {
        if (!soak_token_adopt(actor, value)) {
            actor->random = before;
            return false;
        }
    } else if (pick < 316)
        soak_allocate(actor, value, recording);
    else
        soak_pass_on(actor, value);
    return true;
}

unsigned soak_actor_walk(soak_actor *actor, unsigned steps, bool recording)
{
    for (; steps > 0; steps--) {
        uint64_t verbs = actor->verbs;
        if (!step(actor, recording))
            break;
        if (actor->taking && actor->verbs != verbs)
            is_taken(actor);
    }
    return steps;
}
