/* SPDX-License-Identifier: MIT
 *
 * soak_actor.c - a lane and its random events.
 */
#include <time.h>

#include "stress/soak.h"

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t soak_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static soak_time both_clocks(void)
{
    return (soak_time){soak_now(), read_clock(CLOCK_THREAD_CPUTIME_ID)};
}

/* ---- taking and giving lanes ---- */

void soak_actor_take(soak_actor *actor)
{
    actor->taken_before = both_clocks();
    actor->taking = true;
}

static void is_taken(soak_actor *actor)
{
    actor->taken_after = both_clocks();
    actor->taking = false;
}

/* `let_go` gives the lane up: the time since it was taken lies between these clocks. */
static void give(soak_actor *actor, void (*let_go)(cairn_lane *lane), bool recording)
{
    soak_time before = both_clocks();
    let_go(actor->lane);
    soak_time after = both_clocks();
    if (!recording)
        return;
    actor->most.wall += after.wall - actor->taken_before.wall;
    actor->most.cpu += after.cpu - actor->taken_before.cpu;
    if (actor->taking)
        return;
    actor->least.wall += before.wall - actor->taken_after.wall;
    actor->least.cpu += before.cpu - actor->taken_after.cpu;
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
    actor->calls += recording;
    actor->roots += recording;
    for (unsigned i = 0; i < SOAK_MARKS; i++)
        actor->marks[which][i] = 0;
}

static void close_strand(soak_actor *actor, unsigned which)
{
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
    actor->lanes++;
}

void soak_actor_end(soak_actor *actor, bool recording)
{
    if (actor->profile)
        give(actor, cairn_lane_close, recording);
    else
        for (unsigned i = 0; i < SOAK_STRANDS; i++)
            close_strand(actor, i);
}

static void run_another(soak_actor *actor, unsigned which)
{
    actor->active = which;
    if (actor->profile)
        cairn_strand_switch(actor->strands[which]);
}

/* Closes a strand other than the current one, and opens one in its place. */
static void renew(soak_actor *actor, unsigned which, bool recording)
{
    if (which == actor->active)
        run_another(actor, (which + 1) % SOAK_STRANDS);
    close_strand(actor, which);
    open_strand(actor, which, recording);
}

static void enter(soak_actor *actor, uint32_t block, bool recording)
{
    if (actor->profile)
        cairn_enter(actor->strands[actor->active], block);
    else
        reference_enter(&actor->references[actor->active], block, recording);
    actor->calls += recording;
}

static void replace(soak_actor *actor, uint32_t block, bool recording)
{
    if (actor->profile)
        cairn_replace(actor->strands[actor->active], block);
    else
        reference_replace(&actor->references[actor->active], block, recording);
    actor->calls += recording;
}

static void leave(soak_actor *actor)
{
    if (actor->profile)
        cairn_leave(actor->strands[actor->active]);
    else
        reference_leave(&actor->references[actor->active]);
}

static void tick(soak_actor *actor, uint32_t count, bool recording)
{
    if (actor->profile)
        cairn_tick(actor->strands[actor->active], count);
    else
        reference_tick(&actor->references[actor->active], count, recording);
    actor->ticks += recording ? count : 0;
}

static void charge(soak_actor *actor, uint32_t which, uint32_t amount, bool recording)
{
    if (actor->profile)
        cairn_charge(actor->strands[actor->active], actor->metrics[which], amount);
    else
        reference_charge(&actor->references[actor->active], which, amount, recording);
    actor->user[which] += recording ? amount : 0;
}

static void mark(soak_actor *actor, uint32_t which)
{
    actor->marks[actor->active][which] = actor->profile
                                             ? cairn_strand_mark(actor->strands[actor->active])
                                             : actor->references[actor->active].depth;
}

static void unwind(soak_actor *actor, uint32_t which)
{
    if (actor->profile)
        cairn_strand_unwind(actor->strands[actor->active], actor->marks[actor->active][which]);
    else
        reference_unwind(&actor->references[actor->active], actor->marks[actor->active][which]);
}

static void step(soak_actor *actor, bool recording)
{
    uint32_t pick = random_below(&actor->random, 256);
    uint32_t value = random_below(&actor->random, 1 << 16);
    actor->verbs += pick < 195;
    if (pick < 90)
        enter(actor, 1 + value % SOAK_BLOCKS, recording);
    else if (pick < 105)
        replace(actor, 1 + value % SOAK_BLOCKS, recording);
    else if (pick < 195)
        leave(actor);
    else if (pick < 220)
        tick(actor, value, recording);
    else if (pick < 235)
        charge(actor, value % REFERENCE_USER_METRICS, value, recording);
    else if (pick < 242)
        mark(actor, value % SOAK_MARKS);
    else if (pick < 249)
        unwind(actor, value % SOAK_MARKS);
    else if (pick < 254)
        run_another(actor, value % SOAK_STRANDS);
    else if (pick < 255 || value % 16 || !recording)
        renew(actor, value % SOAK_STRANDS, recording);
    else {
        soak_actor_end(actor, recording);
        soak_actor_start(actor, recording);
    }
}

void soak_actor_walk(soak_actor *actor, unsigned steps, bool recording)
{
    while (steps-- > 0) {
        uint64_t verbs = actor->verbs;
        step(actor, recording);
        if (actor->taking && actor->verbs != verbs)
            is_taken(actor);
    }
}
